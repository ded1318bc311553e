// fascia/drive.h: a face driven by markers: an actor's, or virtual ones from a camera or from another face.
//
// A take, offline:   fa_markers_load, fa_marker_map_new, fa_drive_open (stabilises the head, looks at the fit,
// decides),
//                    fa_drive_sequence -> fa_sequence_save; fa_drive_clip goes with it; fa_drive_report;
//                    fa_drive_close.
// Frame by frame:    fa_method_open("blendforces", ...) and fa_method_step (fascia/method.h): the same solve, causal.
//
// Four ways to solve (thesis 001): BF, blendforces (eq. 4.3-4.8, algorithm 1); SBS, weights of shapes by non-negative
// least squares (eq. 3.4); RSBS, the same with an L1 term (eq. 3.5); AUTO, shapes or forces by what the markers say of
// the fit. Each of them with or without a rigid jaw frame, and with or without the residual pass, which spreads what
// the markers still miss over the surface.
#ifndef FASCIA_DRIVE_H
#define FASCIA_DRIVE_H

#include "fascia/face.h"
#include "fascia/markers.h"
#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum FaDriveKind { FA_DRIVE_AUTO, FA_DRIVE_BF, FA_DRIVE_SBS, FA_DRIVE_RSBS, FA_DRIVE_KINDS } FaDriveKind;
FA_API const char *fa_drive_kind_name(FaDriveKind kind); // "auto", "bf", "sbs", "rsbs"

typedef struct FaDriveOptions {
    FaDriveKind kind;
    bool literal;     // BF: algorithm 1 as the thesis prints it: no jaw frame, no residual pass, relinearisation
    bool no_jaw;      // jawOpen and the like are linear shapes as any other
    bool no_residual; // leave what the markers miss
    bool refine;     // SBS, RSBS: as AUTO uses shapes: on arcs, and found together with the residual (which must be on)
    double smooth;   // frames: width of the residual's filter in time; 0: by the take; < 0: none
    int relinearise; // literal: times per frame; 0: 2
    const float *trust;     // weight of each marker of the map, >= 0; NULL: all 1                  (map->count)
    bool head_frame;        // the markers are in the rig's own frame, the head held still: no stabilisation
    double fps;             // nominal rate; 0: the take's
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaDriveOptions;
FA_API FaDriveOptions fa_drive_options_default(void); // relinearise; the rest 0: by the take

// --- a take -------------------------------------------------------------------------------------------------------

typedef struct FaDrive FaDrive;

/// Per-frame arrays belong to the drive; filled for frames that were read.
typedef struct FaDriveReport {
    FaDriveKind asked, kind; // kind: never AUTO
    const char *why;         // one sentence: what decided it
    bool jaw, residual;      // was the jaw's frame used, was the residual pass: AUTO may leave the first out
    int nframe, nmarker;
    int missing;                  // samples of mapped markers that the take does not have
    int lost;                     // frames without a usable marker
    double before_mm, after_mm;   // mean over frames and markers
    double inside_mm, outside_mm; // rms
    double held_out_mm; // of the kind used: error at markers left out in turn, the figure that AUTO decides by; NAN:
                        // not measured
    double held_out_shapes_mm, held_out_forces_mm; // the two candidates'; NAN: not measured
    double smooth;                                 // frames: width of the residual's filter that was used; 0: none
    const double *frame_before_mm, *frame_after_mm, *frame_inside_mm, *frame_outside_mm; // (nframe)
    double seconds;                                                                      // of the frames made
} FaDriveReport;

/// Map must outlive it, as rig and face; the take need not. Markers are found by their names in the map. The take is
/// brought to the rig (map->rig_from_take), its head motion taken out (unless head_frame) and kept for the clip; AUTO
/// is decided (shapes or forces, with the jaw's frame or without it); weights are found for every frame. With a jaw's
/// frame the take teaches how far its jaw turns and slides. With AUTO, BF and `refine` and the residual pass it also
/// teaches which shapes move skin on arcs, how far they are to be trusted, and how noisy its markers are: noisy ones
/// are smoothed in time first, unless `smooth` is given (fa_drive_markers has them so). The residual is filtered by a
/// centred Gaussian, none to 1.5 frames wide by the noise that the take shows.
FA_API FaCode fa_drive_open(const FaRig *rig, const FaFace *face, const FaMarkerTake *take, const FaMarkerMap *map,
                            const FaDriveOptions *options, FaDrive **drive, FaError *err);
FA_API void fa_drive_close(FaDrive *drive); // NULL is fine
/// The frames, made when read; forward is cheap, going back starts again. Borrowed from the drive.
FA_API FaSequence *fa_drive_sequence(FaDrive *drive);
/// Weights per shape and head motion of every frame. Borrowed.
FA_API const FaClip *fa_drive_clip(const FaDrive *drive);
/// The mapped markers in the head frame, as the solver sees them (to be drawn). Borrowed.
FA_API const FaMarkerTake *fa_drive_markers(const FaDrive *drive);
FA_API FaDriveReport fa_drive_report(const FaDrive *drive);
FA_API const FaNotes *fa_drive_notes(const FaDrive *drive);

#ifdef __cplusplus
}
#endif
#endif

// fascia/retarget.h: a take of one face brought to the proportions of another, of any topology.
//
// A take of an actor:       fa_markers_load, fa_retarget (points on the target by a map, by names v123, or the
// nearest), then
//                           fa_drive_open(target, face, out, map, {.head_frame = true}).
// An animation of a rig:    fa_markers_choose (or a map) on the source, fa_markers_sample, fa_retarget with `source`:
// the
//                           source's neutral is laid over the target's, which says where each marker belongs.
//
// Space is warped so that the source's neutral points come to the target's (radial basis functions, thesis 001 section
// 5.2.2.3), and every sample goes through the warp, the head's motion taken out first.
#ifndef FASCIA_RETARGET_H
#define FASCIA_RETARGET_H

#include "fascia/markers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaRetargetOptions {
    const FaRig *source;     // the rig that the take's points are on; nullable
    const FaMarkerMap *from; // where they are on it, by name; needed with source
    const FaMarkerMap *to;   // where they are on the target, by name; NULL: found
    int frame;               // the take's neutral frame without a source; -1: found, as in FaMapOptions
    bool head_frame;         // the take holds the head still: no stabilisation (so too where it has head poses)
    double smooth;           // of the warp, >= 0 (FaRbfOptions.lambda); 0: 5; < 0: exact
    double reach;            // m: how far a found point may be from the target's surface; 0: 30 mm
} FaRetargetOptions;
FA_API FaRetargetOptions fa_retarget_options_default(void); // frame -1, smooth, reach

typedef struct FaRetargetReport {
    const char *how;    // "by the map", "by vertex names", "through the source rig", "by the nearest points"
    int markers, used;  // of the take; with a place on both faces and a neutral position
    double scale, turn; // of the similarity from source to target; turn in degrees
    double shape_mm;    // rms distance of the points after that similarity: how different the proportions are
    double before_mm;   // rms motion of the used markers against the neutral, source
    double after_mm;    // the same, retargeted
} FaRetargetReport;

/// The same points on another face: its neutral is laid over the other's (similarity, then a warp towards the closest
/// points; same vertices and triangles: the very same points), and each goes to the nearest point of the other's
/// outside that faces the same way. reach: m, how far that may be; 0: 30 mm. Points without one are not mapped. Both
/// faces look the same way, within some 30 degrees. Names and order are the map's. Fails with FA_E_MESH where the faces
/// are too unlike.
FA_API FaCode fa_marker_map_move(const FaMarkerMap *map, const FaRig *from, const FaRig *to, double reach,
                                 FaMarkerMap **out, FaError *err);

/// *out: the used markers in the target's frame, the head held still, its poses in `head` (NULL: none were known or
/// found). *map: their points on the target, in the same order; at the neutral frame markers and points agree. options,
/// report are nullable. Fails with FA_E_FORMAT where fewer than 4 markers can be used, FA_E_ARG on options out of
/// range. Both are NULL on failure; free with fa_markers_free and fa_marker_map_free.
FA_API FaCode fa_retarget(const FaMarkerTake *take, const FaRig *target, const FaRetargetOptions *options,
                          FaMarkerTake **out, FaMarkerMap **map, FaRetargetReport *report, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

// fascia/sequence.h: exact vertex positions over time, read one frame at a time, and written to any output format.
//
// Reading:  fa_sequence_open (or fa_sequence_of_clip), fa_sequence_read per frame, fa_sequence_close.
// Writing:  fa_sink_open, fa_sink_push per frame, fa_sink_finish. Or fa_sequence_save for all at once.
#ifndef FASCIA_SEQUENCE_H
#define FASCIA_SEQUENCE_H

#include "fascia/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaSequence FaSequence;

/// What a path holds, by its name and first bytes. A folder of OBJ files is a cache when they are numbered frames of
/// one name, a rig else. A path that does not exist is judged by its name.
typedef enum FaKind { FA_KIND_RIG, FA_KIND_CLIP, FA_KIND_CACHE } FaKind;
FA_API FaKind fa_file_kind(const char *path);

/// Open .pc2, .mdd, a folder of numbered OBJ files, or a rig with animation (.glb, ...: its shapes and weights are
/// evaluated). A rig without animation is one frame. Positions come in metres, in the mesh's own frame.
/// options (nullable) is for rigs; for caches its unit is used (auto: metres).
FA_API FaCode fa_sequence_open(const char *path, const FaRigOptions *options, FaSequence **seq, FaError *err);
/// Frames of a rig under a clip, evaluated when read. clip NULL: the rig's own, or its rest as one frame.
/// The rig must outlive the sequence; the clip too.
FA_API FaCode fa_sequence_of_clip(const FaRig *rig, const FaClip *clip, FaSequence **seq, FaError *err);
/// Frames made by the caller: read(user, frame, x) fills nvert x 3.
typedef FaCode FaSequenceReadFn(void *user, int frame, float *x, FaError *err);
FA_API FaCode fa_sequence_custom(int nvert, int nframe, double fps, FaSequenceReadFn *read, void *user,
                                 FaSequence **seq, FaError *err);

/// Frames first..last of another sequence, which must outlive it.
FA_API FaCode fa_sequence_slice(FaSequence *inner, int first, int last, FaSequence **seq, FaError *err);
/// The same frames with the clip's head motion applied: world positions, y up. The rig (NULL: the frames' axes are
/// canonical) tells which way the frames' own axes are. All three must outlive it; frames are matched by time.
FA_API FaCode fa_sequence_world(FaSequence *inner, const FaRig *rig, const FaClip *clip, FaSequence **seq,
                                FaError *err);

/// From now on every point read is multiplied by m (row-major): another unit, or the coordinates of the mesh in the
/// rig's file (fa_rig_to_file), as the caches of other programs are.
FA_API void fa_sequence_transform(FaSequence *seq, const double m[9]);

FA_API int fa_sequence_nvert(const FaSequence *seq);
FA_API int fa_sequence_nframe(const FaSequence *seq);
FA_API double fa_sequence_fps(const FaSequence *seq);             // 0: the format does not say (PC2, OBJ files)
FA_API double fa_sequence_time(const FaSequence *seq, int frame); // s from the first frame
FA_API const FaRig *fa_sequence_rig(const FaSequence *seq);       // the rig behind it, NULL for caches
FA_API const FaClip *fa_sequence_clip(const FaSequence *seq);     // the clip behind it, NULL for caches
FA_API FaCode fa_sequence_read(FaSequence *seq, int frame, float *x, FaError *err);
FA_API void fa_sequence_close(FaSequence *seq); // NULL is fine

/// How a baked GLB came out.
typedef struct FaBakeReport {
    int targets;   // morph targets added
    double max_mm; // largest distance between baked and exact positions over all vertices and frames
    double mean_mm;
    size_t bytes; // added to the file
} FaBakeReport;

typedef struct FaSinkOptions {
    const FaRig *rig;   // needed by .glb (materials, shapes) and by .obj/.usda/.html (faces); may be NULL for .pc2 .mdd
    const FaClip *clip; // weights and head motion that go with the frames; nullable
    double fps;         // > 0
    double start;       // s of the first frame
    double bake_error_mm;   // .glb: largest error allowed; 0: 0.05
    int max_targets;        // .glb: at most this many added targets; 0: 512
    const char *generator;  // recorded in the output: program, parameters, seed; nullable
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaSinkOptions;
FA_API FaSinkOptions fa_sink_options_default(void); // bake_error_mm and max_targets; a sink needs fps too

typedef struct FaSink FaSink;
/// The format follows the extension: .glb .gltf .pc2 .mdd .usda, or a folder / name_####.obj for an OBJ sequence.
FA_API FaCode fa_sink_open(const char *path, int nvert, const FaSinkOptions *options, FaSink **sink, FaError *err);
FA_API FaCode fa_sink_push(FaSink *sink, const float *x, FaError *err);
/// Complete and rename into place; frees the sink also on failure. report is nullable (filled for .glb).
FA_API FaCode fa_sink_finish(FaSink *sink, FaBakeReport *report, FaError *err);
FA_API void fa_sink_abandon(FaSink *sink);
FA_API FaCode fa_sequence_save(FaSequence *seq, const char *path, const FaSinkOptions *options, FaBakeReport *report,
                               FaError *err);

/// Write a rig (and a clip; NULL: the rig's own, as it stands in the file) as .glb/.gltf, a folder of OBJ, or .usda.
/// A rig that came from glTF is written with every byte it did not have to change.
FA_API FaCode fa_rig_save(const FaRig *rig, const FaClip *clip, const char *path, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

// fascia/report.h: the rig doctor and the comparison of two animations.
#ifndef FASCIA_REPORT_H
#define FASCIA_REPORT_H

#include "fascia/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaShapeInfo {
    const char *name;          // borrowed from the rig
    const char *arkit;         // matched ARKit name or NULL
    int half;                  // as in FaShape
    int nonzero;               // vertices it moves
    double max_mm;             // largest displacement
    double locality_mm;        // radius about its peak that holds 90 % of its area-weighted squared motion
    double symmetry_mm;        // rms distance to the mirrored partner (or to itself when unpaired); -1 unknown
    double used_min, used_max; // range of its weight in the clip, 0 0 without one
} FaShapeInfo;

/// What is in a rig file, and what is wrong with it.
typedef struct FaInfo {
    const char *kind; // "rig", "clip", "cache"
    int vertices, triangles, polygons, quads;
    int components, boundary_edges, nonmanifold_edges, coincident_vertices;
    double height_m, width_m, depth_m; // of the whole mesh
    double head_m;                     // of the head: from the lowest that shapes move up to its top; 0: no shapes
    double unit;                       // metres per file unit
    char unit_name[16];                // "m", "cm", "mm", or the factor
    char up[4], front[4];              // "+y", "+z" in the file's axes
    int frames;
    double fps, seconds;
    bool head_motion;
    int nshape;
    FaShapeInfo *shape;     // (nshape)
    int matched;            // shapes matched to ARKit
    int arkit_covered;      // of the 52, how many have a shape
    int intersections;      // self-intersecting triangle pairs at neutral; -1 not tested
    int channels;           // of a clip file
    int nmesh;              // meshes of the file
    const FaFileMesh *mesh; // borrowed from the rig                        (nmesh)
    FaNotes notes;          // every defect, with its remedy
} FaInfo;

/// Examine a rig (with its clip, if any). `deep` adds the self-intersection test. Free with fa_info_free.
FA_API FaCode fa_info_of_rig(const FaRig *rig, bool deep, FaInfo *info, FaError *err);
FA_API FaCode fa_info_of_clip(const FaClip *clip, FaInfo *info, FaError *err);
FA_API FaCode fa_info_of_sequence(FaSequence *seq, FaInfo *info, FaError *err);
FA_API void fa_info_free(FaInfo *info);
/// Whether a note of a rig may change what a simulation of it looks like: what every verb says unasked.
FA_API bool fa_note_important(const FaNote *note);
FA_API FaCode fa_info_json(const FaInfo *info, char **json, FaError *err); // free with fa_free
FA_API FaCode fa_info_text(const FaInfo *info, bool all_shapes, char **text, FaError *err);

typedef struct FaCompare {
    int frames, vertices;
    int first;    // the frame of a that the arrays below begin with
    bool by_time; // the rates differ: frames were matched by time, not by number
    double max_mm, mean_mm, p99_mm;
    int worst_frame, worst_vertex;                       // the frame: of all of a's
    double *frame_max_mm, *frame_mean_mm, *frame_p99_mm; // (frames)
    int intersections_a,
        intersections_b; // worst count of self-intersecting triangle pairs over the frames; -1: no faces known
    int *frame_intersections_a,
        *frame_intersections_b; // that count in every frame; NULL: not counted, or no faces known  (frames)
    double stretch; // largest length of an edge in b against its length in a, or against a third of that at rest where
                    // a crushes it more; 0: no faces known
    int stretch_frame, stretch_vertex; // the frame: of all of a's
    double volume_change_a,
        volume_change_b; // largest relative change of a closed part's volume against the first frame; 0 if none is
                         // closed
} FaCompare;

typedef struct FaCompareOptions {
    const FaRig *rig;   // faces for intersections and volumes when both are caches; nullable
    bool intersections; // count them (slower)
    int first, count;   // frames of a to compare; count 0: to the end
    FaProgressFn *progress;
    void *progress_user;
} FaCompareOptions;
FA_API FaCompareOptions fa_compare_options_default(void); // all 0

/// Distance of b from a, frame by frame. Vertex counts must agree; frames are matched by time at a's frames when the
/// rates differ, by number when they agree; the shorter one decides the length.
FA_API FaCode fa_compare(FaSequence *a, FaSequence *b, const FaCompareOptions *options, FaCompare *out, FaError *err);
FA_API void fa_compare_free(FaCompare *c);
FA_API FaCode fa_compare_json(const FaCompare *c, char **json, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

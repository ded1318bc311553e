// Dense ground truth for faces driven by markers, and how far a result is from it.
//
// A truth is a face's surface over time that no solver made: the shipped head's nonlinear evaluation, or a rig's flesh
// under physics with head motion and contact. Both leave the span of the shapes. Markers are sampled from it; a result
// is judged on the vertices that carry none, as in section 5.2.2.2 of thesis 001.
//
// Typical order: fai_truth_of_head or fai_truth_of_physics, fa_markers_choose on its rig, fai_truth_markers, solve;
// then fai_dense_new, fai_dense_frame per frame in order, fai_dense_figures, fai_dense_free; fai_truth_free.
#ifndef FAI_DENSE_TRUTH_H
#define FAI_DENSE_TRUTH_H

#include "face/face.h"
#include "fascia/head.h"
#include "fascia/markers.h"

typedef struct FaTruth {
    char name[64];
    int nvert, nframe;
    double fps;
    FaRig *rig;   // the face's own rig: its shapes are exact
    FaFace *face; // built from it, for the regions
    float *x;     // head frame, m                                          (nframe x nvert x 3)
} FaTruth;

// A stretch of a clip: frames first .. first + count * step, every step-th; count 0: to the end.
typedef struct FaStretch {
    int first, count, step;
} FaStretch;

// The shipped head under one of its clips, by fa_head_truth. params->shapes is ignored: the rig always has them.
FaCode fai_truth_of_head(const FaHeadParams *params, const char *clip, FaStretch stretch, FaTruth **truth,
                         FaError *err);
// The same of any clip whose channels are the 52 shapes in ARKit's order.
FaCode fai_truth_of_clip(const FaHeadParams *params, const FaClip *clip, const char *name, FaStretch stretch,
                         FaTruth **truth, FaError *err);
// A rig's flesh under the clip (weights and head motion) by the method `projective`, with parameters other than any
// default: softer, slower to follow, at rest in the neutral, contact and sticky lips on. The rig is copied by reference
// and stays the caller's.
FaCode fai_truth_of_physics(const FaRig *rig, const FaClip *clip, FaTruth **truth, FaError *err);
void fai_truth_free(FaTruth *truth); // NULL is fine; a rig that was given is not freed

// The markers of the map over the truth, head frame; noise: standard deviation per coordinate, m, seeded.
FaCode fai_truth_markers(const FaTruth *truth, const FaMarkerMap *map, double noise, uint64_t seed, FaMarkerTake **take,
                         FaError *err);

// Shapes of another identity, moved over to the truth's face by deformation transfer: the thesis's case. level < 0: the
// same topology; else the source has this level, and only closeness tells what corresponds. error (nullable): relative
// rms difference from the own shapes.
FaCode fai_truth_transferred(const FaTruth *truth, uint64_t seed, int level, FaRig **rig, double *error, FaError *err);
// How much of the truth's motion (rms share, 0..1) no combination of a rig's shapes makes, signed weights allowed, all
// vertices seen.
FaCode fai_truth_outside(const FaTruth *truth, const FaRig *rig, double *share, FaError *err);
// Relative rms difference of two sets of shapes on the same vertices, by name.
double fai_shapes_difference(const FaRig *rig, const FaRig *own);

// --- error --------------------------------------------------------------------------------------------------------

typedef enum FaDensePart {
    FA_DENSE_ALL, // every vertex below
    FA_DENSE_LIPS,
    FA_DENSE_LIDS,
    FA_DENSE_CHEEKS,
    FA_DENSE_JAW,    // what goes with the mandible: chin, lower jaw
    FA_DENSE_INSIDE, // lining behind the lips, where no marker can be
    FA_DENSE_REST,
    FA_DENSE_PARTS
} FaDensePart;
extern const char *const fai_dense_part_name[FA_DENSE_PARTS]; // "all", "lips", ...

typedef struct FaDenseFigures {
    int nvert[FA_DENSE_PARTS];   // vertices judged
    double mean[FA_DENSE_PARTS]; // mm, over vertices and frames
    double p95[FA_DENSE_PARTS];  // mm
    double jitter;               // mm: rms second difference in time of the error, over all
    double marked;               // mm: mean on the vertices that carry markers
} FaDenseFigures;

typedef struct FaDense FaDense;
// Judged: vertices of the simulated skin that some own shape moves by 0.1 mm or more, those of the map left out.
FaCode fai_dense_new(const FaTruth *truth, const FaMarkerMap *map, FaDense **dense, FaError *err);
void fai_dense_free(FaDense *dense); // NULL is fine
void fai_dense_reset(FaDense *dense);
void fai_dense_frame(FaDense *dense, int frame, const float *x); // frames in order from 0
FaDenseFigures fai_dense_figures(const FaDense *dense);

#endif

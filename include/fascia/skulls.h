// fascia/skulls.h: from skins to the depth of the skull below them, learnt from pairs of both (paper 004 section 3.5).
//
//     for each pair: fa_rig_load, fa_face_get (bones of the rig's own file or of FaFaceOptions.bone)
//     fa_skulls_fit(n, rigs, faces, &options, &skulls, &report, &err);   fa_skulls_save(skulls, "adults.skulls", &err);
//     fa_skulls_paint(skulls, rig, "new.json", &err);     then fascia build RIG --paint: a face for a skin without
//     bones
//
// All skins have the same vertices in the same order. Linear, between principal components of skins and of depths.
#ifndef FASCIA_SKULLS_H
#define FASCIA_SKULLS_H

#include "fascia/face.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaSkulls FaSkulls;

typedef struct FaSkullsOptions {
    int components; // of skins and of depths, at most; 0: 12
    double floor;   // m: no depth is less, so that skull and skin do not meet; 0: 1.5 mm
    bool no_check;  // do not leave each pair out in turn
} FaSkullsOptions;

typedef struct FaSkullsReport {
    int pairs, vertices, components; // vertices whose depth all faces know
    double spread_mm;                // standard deviation of the depth at a vertex, mean
    double mean_mm;                  // error of guessing the mean of the others, each pair left out in turn; mean
    double left_out_mm;              // error of the regressor, likewise; 0: not checked
    double worst_mm;                 // of the pair that it does worst
    double fit_mm;                   // on the pairs that it was made of
} FaSkullsReport;

/// At least 3 pairs. options, report nullable. *skulls is NULL on failure. FA_E_ARG: other vertices, or faces without
/// bones.
FA_API FaCode fa_skulls_fit(int n, const FaRig *const *rig, const FaFace *const *face, const FaSkullsOptions *options,
                            FaSkulls **skulls, FaSkullsReport *report, FaError *err);
FA_API void fa_skulls_free(FaSkulls *skulls);                                         // NULL is fine
FA_API FaCode fa_skulls_save(const FaSkulls *skulls, const char *path, FaError *err); // atomic, with a check sum
FA_API FaCode fa_skulls_load(const char *path, FaSkulls **skulls, FaError *err);
/// Depth below each vertex, m; NAN where no pair had any (nvert). FA_E_ARG: a rig of other vertices.
FA_API FaCode fa_skulls_depth(const FaSkulls *skulls, const FaRig *rig, float *depth, FaError *err);
/// The same as a paint file of fascia build (docs/guide/face.md), atomic.
FA_API FaCode fa_skulls_paint(const FaSkulls *skulls, const FaRig *rig, const char *path, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

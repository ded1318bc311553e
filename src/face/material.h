// Blendmaterials (paper 000, section 6.2): how stiff the flesh is, and how each shape changes that. Given on the skin,
// by a painter or by how much each shape compresses it, and spread through the flesh by the heat equation.
//
//     {"version": 1,
//      "base":   {"mu": 3000, "lambda": 2500},
//      "shapes": {"mouthSmileLeft": {"mu": {"shape": "mouthSmileLeft", "all": 3000, "scale": 9000}},
//                 "jawOpen":        {"mu": {"ranges": [[0, 499]], "value": 8000}, "regions": {"cheeks": {"mu":
//                 12000}}}},
//      "others": "auto"}
//
// Pa at weight 1 of a shape; fields and strokes as skin_paint.h has them ("values" takes what a tool painted as vertex
// colours). What is not painted has the base's value. "regions" mixes a value in by the face's own regions. Shapes that
// are not named keep the base's, or with "others": "auto" their automatic one; "base": "auto" is the automatic neutral.
//
// A mu or lambda may be a picture laid on by the mesh's UVs (texture.h), as 0 to 1 between two stiffnesses:
//     {"mu": {"texture": "stiff.png", "scale": "grey|red|green|blue|hue", "from": 3000, "to": 20000}}
//
// Vertex colours (vertex_color.h) paint the same without JSON: black is flesh at rest, red stiffens, green resists
// changes of volume:
//     mu = 3000 + 17000 red Pa,    lambda = 2500 + 22500 green Pa,
// of the whole face as the base, of a shape at its weight 1. Shapes that are not painted have the base's. With
// "colors": FILE in the JSON (beside it, or a whole path) colours come first and the rest paints over them.
#ifndef FAI_MATERIAL_H
#define FAI_MATERIAL_H

#include "face/face.h"
#include "math/csr.h"

static const float FA_MU = 3000, FA_MU_MOST = 20000, FA_LAMBDA = 2500,
                   FA_LAMBDA_MOST = 25000; // Pa, paper 000 section 7

// Fill face->mu0, lambda0 and materials. path: JSON, or a file or folder with vertex colours. path NULL: automatic, mu
// of the neutral by anatomy, 0.75 to 3 times FA_MU (FA_MU everywhere where eyes and mouth are not found); it rises with
// the share of its area that the skin loses in a shape, to FA_MU_MOST at 40 %. The face is as it was after a failure.
FaCode fai_materials_build(FaFace *face, const FaRig *rig, const char *path, FaError *err);
FaCode fai_materials_parse(FaFace *face, const FaRig *rig, const char *text, size_t size, const char *dir,
                           FaError *err); // dir: of "colors"; NULL: none

// Values on the skin continued into the flesh: each inner node gets what conduction gives it, never more than the
// most on the skin nor less than the least. skin: nfield x nskin; node: nfield x nnode (the skin's own first).
FaCode fai_conduction(const FaFace *face, FaCsr *inner, FaCsr *skin, FaError *err); // K of inner nodes: K_ii, K_is
FaCode fai_diffuse(const FaFace *face, int nfield, const float *skin, float *node, FaError *err);

// P(w) = P0 + B_P w, each within what the base and single shapes span (several stiff shapes at once are as stiff as
// one, weights beyond 1 do no more): fai_materials_range gives that once; then no allocation. weights NULL: P0.
typedef struct FaMaterialRange {
    double mu[2], lambda[2]; // least, most, Pa
} FaMaterialRange;
FaMaterialRange fai_materials_range(const FaFace *face);
void fai_materials_at(const FaFace *face, const FaMaterialRange *range, const float *weights, double *mu,
                      double *lambda,
                      double *work); // mu, lambda: ntet; work: ntet x 2

#endif

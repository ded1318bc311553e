// A parametric face as the camera's fit needs it: the rows of eq. 6.1 (thesis 001) that landmarks see.
//
//     s_i(id, exp) = mean_i + sum over k of id_k psi_ik + sum over j of exp_j b_ij         i: a landmark, m, head frame
//
// Everything else of the model is only for showing the face that was found. See fascia/camera.h.
#ifndef FAI_FACE_MODEL_H
#define FAI_FACE_MODEL_H

#include "base/base.h"
#include "fascia/camera.h"

#define FA_EXP_SD 0.5   // prior standard deviation of an expression's weight
#define FA_EXP_RATE 3.0 // and the rate of its L1 term, both over the noise squared

typedef struct FaModelRows {
    int count;            // points of the table: 68, 468 or 478
    FaMarkerPoint *point; //                                                    (count)
    int n;                // those that the model has, with trust over 0
    int *index;           // landmark of each, increasing                       (n)
    double *trust;        // of each; the largest is 1                          (n)
    double *mean;         // m                                                  (n x 3)
    double *id;           // m per standard deviation                           (n x nid x 3)
    int *start;           // expressions that move each                         (n + 1)
    int *shape;           // increasing within a landmark                       (start[n])
    double *b;            // m                                                  (start[n] x 3)
    double centre[3];     // of the means, by trust, m
    double size;          // twice their root mean square distance from it, m
} FaModelRows;

const FaModelRows *fai_model_rows(const FaFaceModel *model, FaLandmarkLayout layout); // NULL: it has none

// Where row i is at this identity and expression (nullable: 0), m, head frame.
void fai_model_landmark(const FaFaceModel *model, const FaModelRows *rows, int i, const float *identity,
                        const float *weight, double x[3]);

// A landmark off the rig's mesh: an iris, on an eyeball of its own.
typedef struct FaModelExtra {
    int index;      // of the layout, above all others
    double trust;   // the others' largest is 1
    double mean[3]; // m
    double *id;     // m per standard deviation                          (nid x 3)
    int nmove;      // expressions that move it
    int shape[4];   // increasing
    double b[4][3]; // m
} FaModelExtra;
FaCode fai_model_add(FaFaceModel *model, FaLandmarkLayout layout, int n, const FaModelExtra *extra, FaError *err);

// A point of the mean's surface, m, and its motion with each identity (nid x 3).
void fai_model_point(const FaFaceModel *model, const FaMarkerPoint *point, double mean[3], double *id);

#endif

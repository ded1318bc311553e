// Lids that close on each other. Their edges are thin and coarse, so rows between vertices and triangles that face each
// other (contact/nearby.c) miss each other there, and near the corners of the eye, where both lids are one skin, they
// are left out. But seen from the front neither lid may go past the other: over each place along the slit the upper
// lid's vertices stay above the highest edge of the lower lid, and the lower lid's below the lowest of the upper.
//
// A row joins a vertex and the edge that it meets first. Nothing pushes at rest. Same bits always.
#ifndef FAI_SEAM_H
#define FAI_SEAM_H

#include "contact/rows.h"
#include "face/face.h"
#include "muscle/place.h"

typedef struct FaSeam {
    double along[3], up[3]; // of the slit, unit
    int nnode, *node;       // skin nodes of both lids
    signed char *side;      // 1: upper, -1: lower                                             (nnode)
    int nedge, (*edge)[2];  // skin nodes
    signed char *edge_side; //                                                                 (nedge)
    FaArena *arena;
} FaSeam;

// Of one eye, 1: left, -1: right. Empty where the face has no lids there.
FaCode fai_seam_new(const FaMuscleGround *ground, const FaFace *face, int eye, FaSeam *seam, FaError *err);
void fai_seam_free(FaSeam *seam);
// Rows where lids are within `reach` of each other at x (skin, nskin x 3), in skin nodes, the vertex first; offsets are
// of x0. Gap, stiffness and softness are the caller's. Returns how many.
int fai_seam_rows(const FaSeam *seam, const float *x0, const float *x, double reach, int most, FaRow *row);

#endif

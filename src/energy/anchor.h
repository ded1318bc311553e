// Anchors: springs of zero length from a node to a target displacement. Skull springs (thesis 001 eq. 5.1), attachment
// to skull and jaw, goals of the drive. E = w/2 |u - a|^2; several may share a node.
#ifndef FAI_ANCHOR_H
#define FAI_ANCHOR_H

#include "energy/elastic.h"

typedef struct FaAnchors FaAnchors;

FaCode fai_anchors_new(const FaElastic *e, FaAnchors **anchors, FaError *err);
void fai_anchors_free(FaAnchors *a); // NULL is fine
// Energy at u (nnode x 4), summed in double; adds the gradient to g where it is given. target: nanchor x 4; NULL: 0.
double fai_anchors_eval(FaAnchors *a, const float *target, const float *u, float *g);
double fai_anchor_energy_ref(double w, const double u[3], const double target[3], double gradient[3]); // target NULL: 0
void fai_anchor_triplets(const FaElastic *e, FaTriplet *t); // nanchor of them: its share of A

#endif

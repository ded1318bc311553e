// Edge springs (thesis 001 eq. 5.2-5.5): each edge keeps its rest length; a second spring joins beyond 10 % elongation.
//
// Deviation: eq. 5.5 prints the second spring's projection as the edge at its rest length, so that its force would jump
// from nothing to full at 10 %, and the energy with it; no solver can descend over such a step, and figure 5.2 shows a
// continuous curve. Ours has the rest length 1.1 |x0|: stress and energy are continuous, the slope is the figure's.
#ifndef FAI_EDGE_H
#define FAI_EDGE_H

#include "energy/elastic.h"
#include "energy/stretch.h"

typedef FaStretch FaEdges;

FaCode fai_edges_new(const FaElastic *e, FaEdges **edges,
                     FaError *err); // free with fai_stretch_free; eval and gather: stretch.h
// One edge in double at displacements u; rest: m, of the frame. gradient nullable.
double fai_edge_energy_ref(const FaElastic *e, int edge, double rest, const double u[2][3], double gradient[2][3]);
double fai_edge_rest(const FaElastic *e, int edge); // its length at x0, m
size_t fai_edge_triplet_count(const FaElastic *e);
void fai_edge_triplets(const FaElastic *e, FaTriplet *t); // its share of A: (w + w2) G'G

#endif

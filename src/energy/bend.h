// Bending (thesis 001 eq. 5.6-5.7): each row of the cotan Laplacian keeps its length, turned to where it points now.
//
// The projection knows no sign: a dent as deep as the rest's bump costs nothing, as in the thesis.
// FaElasticFrame.bend_rest counts by its magnitude.
#ifndef FAI_BEND_H
#define FAI_BEND_H

#include "energy/elastic.h"
#include "energy/stretch.h"

typedef FaStretch FaBends;

// The bending rows of e (from its arena) out of a cotan Laplacian l (integrated, nnode x nnode) with the area of each
// node (nnode): row i is l_i / area_i, the node itself first, of weight `stiffness` area_i. None where there is no
// area, no ring around it, or without[i].
FaCode fai_bend_rows(FaElastic *e, const FaCsr *l, const double *area, const unsigned char *without, double stiffness,
                     FaError *err);
FaCode fai_bends_new(const FaElastic *e, FaBends **bends,
                     FaError *err); // free with fai_stretch_free; eval and gather: stretch.h
// One row in double. u: of all nodes (nnode x 3); gradient (nullable): with respect to the row's entries, (entries x
// 3).
double fai_bend_energy_ref(const FaElastic *e, int bend, double rest, const double *u, double *gradient);
double fai_bend_force_ref(const FaElastic *e, int bend, double rest, const double *u, double r[3]); // r = dE/d(Lx)
double fai_bend_rest(const FaElastic *e, int bend);                                                 // |L x0|, 1/m
size_t fai_bend_triplet_count(const FaElastic *e);
void fai_bend_triplets(const FaElastic *e, FaTriplet *t); // its share of A: w L'L

#endif

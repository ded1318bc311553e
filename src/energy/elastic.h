// The elastic body that solvers move: its nodes and the constant part of every energy on them. Built once, read only.
//
// Unknowns are displacements u from the rest positions x0, in the head frame, one quadruple of floats per node (x, y, z
// and a spare that stays 0): what rests has u = 0 to the last bit, and a float keeps 1e-9 m of a displacement of
// centimetres.
//
// Each energy is  w/2 |G x - p(x)|^2  with a projection p (thesis 001 eq. 3.10), so that all of them share one constant
// matrix
//     A = inertia * M + sum of w G'G          (eq. 3.15)
// which acts on the three coordinates alike. What changes from frame to frame are targets: FaElasticFrame.
//
// energy     file            projection                                                     thesis
// anchor     anchor.h        a target displacement: skull spring, bone attachment, goal      5.1
// edge       edge.h          the edge at its rest length; a second spring beyond 10 %        5.2-5.5
// bend       bend.h          the rest Laplacian's length along the current one               5.6-5.7
// tet        tet.h           strain: rotated rest F; volume: closest F of the rest's det     5.10-5.13
// membrane   membrane.h      the rest triangle, turned                                      paper 004 eq. 14-17
// contact    push_pull.h     push and pull rows (contact/rows.h is the data)                 5.14-5.17
#ifndef FAI_ELASTIC_H
#define FAI_ELASTIC_H

#include "base/base.h"
#include "math/csr.h"

typedef struct FaElastic {
    int nnode;
    double *x0;   // rest positions, m                                                      (nnode x 3)
    double *mass; // kg, positive                                                           (nnode)

    int nanchor;
    int *anchor_node;      //                                                               (nanchor)
    double *anchor_weight; // N/m                                                           (nanchor)

    int nedge;
    int (*edge)[2];       //                                                               (nedge)
    double *edge_weight;  // N/m                                                           (nedge)
    double *edge_weight2; // N/m: the biphasic spring                                      (nedge)
    double biphasic;      // elongation where it starts: 0.1

    int nbend;           // one per surface node that bends
    int *bend_start;     // its row of the cotan Laplacian: entries                        (nbend + 1)
    int *bend_node;      // the first of each row is the node itself
    double *bend_coef;   // L_ij / area_i, 1/m2
    double *bend_weight; // N m3 (times |1/m|^2 gives J)                                   (nbend)

    int ntet;
    int (*tet)[4];      // positive volume at x0                                          (ntet)
    double *tet_strain; // w_strain, J (= Pa times rest volume)                           (ntet)
    double *tet_volume; // w_vol, J                                                       (ntet)

    int nmembrane;           // triangles that keep their shape: skin, bone                  (membrane.h)
    int (*membrane)[3];      //                                                               (nmembrane)
    double *membrane_weight; // w, J (= Pa times thickness times rest area)                  (nmembrane)

    FaArena *arena; // owns the arrays
} FaElastic;

// What the targets are in one frame. All float arrays as the solver has them. NULL = as at rest.
typedef struct FaElasticFrame {
    const float *anchor;    // target displacement of each anchor                            (nanchor x 4); NULL: 0
    const float *tet_rest;  // F_g: deformation gradient of the posed rest shape against x0, so that strain and volume
                            // vanish there: p_strain = R F_g, det p_vol = det F_g.  9 rows of `tet_stride`, row-major
                            // entries, SoA; NULL: identity
    const float *edge_rest; // lengths, m                                                    (nedge)
    const float *bend_rest; // |L x|, 1/m: the sign does not count (bend.h)                  (nbend)
    int tet_stride;         // ntet rounded up to 8
} FaElasticFrame;

FaCode fai_elastic_check(const FaElastic *e,
                         FaError *err); // indices, positive masses, volumes and weights, finite numbers
// A = inertia * M + sum of w G'G, nnode x nnode, full pattern. Rows of contact are not part of it. Free with
// fai_csr_free.
FaCode fai_elastic_matrix(const FaElastic *e, double inertia, FaCsr *a, FaError *err);

#endif

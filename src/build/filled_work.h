// What the stages of the mesher share: points (filled_lattice.c, filled_refine.c), which tets between them stay
// (filled_keep.c), and how the surface follows (filled_ride.c). Driven by filled.c.
#ifndef FAI_FILLED_WORK_H
#define FAI_FILLED_WORK_H

#include "build/filled_domain.h"
#include "mesh/delaunay.h"

// Skin nodes of the face first, then points on the skin between them where it is coarse, then those of the lattice.
typedef struct FaFilledPoints {
    int n, nskin, nsurface; // nsurface: those on the skin
    int free;               // beside the skin nodes
    int room;
    float *x;            // m                                                   (n x 3)
    unsigned char *kind; // FaFilledKind                                        (n)
    int *near;           // nearest skin node; of a skin node itself            (n)
    signed char *lip;    // 1: of the upper lip, -1: of the lower, 0: of none   (n)
    signed char *lid;    // likewise                                            (n)
    float *wall;         // m to the nearest wall                               (n)
    float *opening;      // of those on the skin: FaFilledDomain.opening there  (nsurface x 3)
} FaFilledPoints;

// spacing: m around the mouth. Replaces what was there; free with fai_filled_points_free.
FaCode fai_filled_points(const FaFilledDomain *domain, double spacing, FaFilledPoints *points, FaError *err);
void fai_filled_points_free(FaFilledPoints *points);

// Edges that tets were left out for: they leave the flesh, or join lips or lids.
typedef struct FaFilledLeft {
    int n;
    int (*edge)[2]; // points, the smaller one first                              (n)
} FaFilledLeft;

// keep: which tets are flesh (ntet, out). Sets kind of points that are set free; adds to the report.
FaCode fai_filled_keep(const FaFilledDomain *domain, FaFilledPoints *points, const FaDelaunay *tets,
                       unsigned char *keep, FaFilledReport *report, FaError *err);
// The edges for which it would leave tets out. Free left->edge.
FaCode fai_filled_left(const FaFilledDomain *domain, FaFilledPoints *points, const FaDelaunay *tets, FaFilledLeft *left,
                       FaError *err);
// Points on the skin around the mouth for such edges; spacing: m there. added: how many.
FaCode fai_filled_refine(const FaFilledDomain *domain, double spacing, const FaFilledLeft *left, FaFilledPoints *points,
                         int *added, FaError *err);
// How every vertex of the rig follows the nodes; nodes, tets and the maps are there.
FaCode fai_filled_ride_find(const FaFilledDomain *domain, FaFilled *filled, FaError *err);

#endif

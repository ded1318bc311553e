// Which part of a rig is simulated: the skin among its parts, and of the skin what the shapes move, with a margin.
#ifndef FAI_PATCH_H
#define FAI_PATCH_H

#include "base/base.h"
#include "fascia/rig.h"
#include "mesh/mesh.h"

typedef struct FaPatchOptions {
    bool whole;                  // all of the skin
    double margin;               // m around what moves
    const unsigned char *banned; // triangles of the rig that must not be in it; NULL: none          (ntri of the rig)
} FaPatchOptions;

typedef struct FaPatch {
    int part;      // the part of the rig's topology that is skin
    float *motion; // how far any shape moves each vertex, m                                     (nvert of the rig)
    int nskin, ntri;
    int *skin_vertex; // as in FaFace                                                               (nskin)
    int *
        node_of_vertex; //                                                                            (nvert of the rig)
    int *tri;           // node indices, facing outwards                                              (ntri x 3)
    int *rig_tri;       // triangle of the rig                                                        (ntri)
    unsigned char *rim; //                                                                            (nskin)
    int flipped;        // triangles turned round to face outwards
    int dropped;        // triangles of the region left out: no area, or more than two at an edge
    double area, part_area; // m2 of the patch, of the whole skin
} FaPatch;

// Arrays come from the arena. FA_E_MESH: there is no skin that shapes move.
FaCode fai_patch_find(const FaRig *rig, const FaTopology *topo, const FaPatchOptions *options, FaArena *arena,
                      FaPatch *patch, FaError *err);

// Shortest ways along edges: dist in (0 at sources, INFINITY elsewhere, or any start values) and out (n). Entries only
// fall. start, around: neighbours of each vertex; x: positions; slope: cost per metre.
FaCode fai_spread_min(int n, const int *start, const int *around, const float *x, double slope, double *dist,
                      FaError *err);

#endif

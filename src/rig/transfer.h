// Blendshapes moved to another face: deformation transfer between neutrals of the same or of different topology.
//
// Same topology (same vertices and polygons): each triangle of the target deforms as its counterpart does (Sumner and
// Popovic 2004), one sparse system for all shapes. Different topology: the source's neutral is first warped onto the
// target's surface (similarity, then radial basis functions towards the closest points), given its shapes by the same
// transfer, and the target's triangles then deform as the warped surface does at the closest point that faces the same
// way; the few without one follow their neighbours.
//
// The result is a rig with the target's mesh and the source's shape names, in the source's order. Same bits for any
// thread count.
#ifndef FAI_TRANSFER_H
#define FAI_TRANSFER_H

#include "fascia/rig.h"
#include "math/procrustes.h"

typedef struct FaTransferOptions {
    int npair; // corresponding vertices, where the caller knows some; needed for faces that are far apart or turned
    const int *from, *to; // of the source, of the target                                      (npair)
    double screen;        // m: mismatched deformation is forgotten over this length; 0: 0.1 of the target's extent
    double drop;          // m: displacements below this are left out of the rig; 0: 1e-7 of the target's extent
    double reach; // m: how far a corresponding surface may be (different topology); 0: 0.05 of the target's extent
    bool force_closest; // treat meshes as of different topology even where they are the same
} FaTransferOptions;

typedef struct FaTransferReport {
    bool same_topology;
    double scale, turn;      // of the similarity from source to target; turn in rad
    int fixed;               // vertices that no shape moves: kept still (of the mesh the system was solved on)
    int unmatched;           // different topology: target vertices without a counterpart, filled in
    double fit_rms, fit_max; // different topology: distance from the target's matched vertices to the warped source, m
} FaTransferReport;

// options, report nullable. Source and target face the same way, within some 30 degrees, unless the topology is the
// same or three pairs are given. FA_E_MESH: a mesh without area, or nothing of the surfaces corresponds; FA_E_ARG:
// pairs out of range. Free with fa_rig_free.
FaCode fai_transfer(const FaRig *source, const FaMesh *target, const FaTransferOptions *options, FaRig **rig,
                    FaTransferReport *report, FaError *err);

// The same for one deformation of a small closed surface: source at rest and where each of its vertices goes (n x 3,
// m), target: the same triangles elsewhere (n x 3, m). How the surface as a whole moves is the source's motion, turned
// and scaled. align (nullable): from source to target; NULL: the similarity that fits best. out: of the target (n x 3,
// m); may be delta.
FaCode fai_transfer_surface(const FaMesh *source, const double *delta, const float *target, const FaAlign *align,
                            double *out, FaError *err);

#endif

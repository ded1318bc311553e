// The physical face: what a rig becomes so that it can be simulated. Built once, const, one file (.face).
//
// Nodes: the simulated skin vertices first (layer 0), then layer after layer inwards, nskin nodes each: node l * nskin
// + i lies below skin node i. Tets are the prisms between neighbouring layers, three each, conforming by the
// global-index rule.
//
//     skin   o---o---o      layer 0, nodes 0 .. nskin-1: rig vertices
//            |\  |\  |
//            | \ | \ |      tets
//     deep   o---o---o      layer `layers`: hypodermis, attached to skull or jaw, or free
#ifndef FAI_FACE_H
#define FAI_FACE_H

#include "base/base.h"
#include "fascia/rig.h"

typedef enum FaRegion {
    FA_REGION_LIP_UPPER,
    FA_REGION_LIP_LOWER,
    FA_REGION_MOUTH, // what may touch: lips and the lining just behind them
    FA_REGION_EYELIDS,
    FA_REGION_CHEEKS,
    FA_REGION_FREE, // held by no bone: lips, pouches of the cheeks, tentacles
    FA_REGIONS
} FaRegion;
extern const char *const fai_region_name[FA_REGIONS]; // "lip_upper", ...

typedef enum FaBoneKind {
    FA_BONE_SKULL,
    FA_BONE_JAW,
    FA_BONE_TEETH_UPPER,
    FA_BONE_TEETH_LOWER,
    FA_BONE_EYE,
    FA_BONE_OTHER,
    FA_BONE_KINDS
} FaBoneKind;
extern const char *const fai_bone_kind_name[FA_BONE_KINDS]; // "skull", ...
enum { FA_FACE_LAYERS = 16 };                               // at most
#define FA_STIFF_LEAST 1e-4f                                // relative stiffness that a face may have
#define FA_STIFF_MOST 1e4f

typedef struct FaBone {
    char name[64];
    FaBoneKind kind;
    bool with_jaw; // moves with the jaw; else with the skull
    bool closed;
    int nvert, ntri;
    float *x; // head frame, neutral, m          (nvert x 3)
    int *tri; //                                 (ntri x 3)
} FaBone;

// The jaw's motion as the rig's shapes have it, rigid: its pose at weight 1 of each shape; composed for a frame by
// fai_jaw_pose.
typedef struct FaJaw {
    bool found;
    int shape[4];         // jawOpen, jawForward, jawLeft, jawRight in the rig; -1 = none
    double hinge[3];      // a point on the axis, m, head frame
    double axis[3];       // unit; opening turns by the right hand about it
    double open_angle;    // rad at jawOpen = 1
    double open_slide[3]; // m at jawOpen = 1, added after the turn about the hinge
    double slide[4][3];   // m at weight 1 of shape[1..3] ([0] unused)
    double turn[4][3];    // rotation vector about the hinge at weight 1 of shape[1..3] ([0] unused)
    double residual;      // m, rms of the fit on the chin
} FaJaw;

// What each shape adds at weight 1 to numbers of nodes or of tets, sparse (columns.h).
typedef struct FaColumns {
    int nshape;   // of the rig; 0: there are none
    int width;    // numbers per entry
    int *first;   // entries of each shape, then how many there are                           (nshape + 1)
    int *item;    // node or tet, increasing within a shape                                   (first[nshape])
    float *value; //                                                                          (first[nshape] x width)
} FaColumns;

// What making the volumes found, for the report; version 0: not known (made by an earlier fascia).
enum { FA_VOLUMES_VERSION = 3 };
typedef struct FaVolumesMade {
    int version;
    uint64_t key;   // of all that they were made from
    int inverted;   // tets, over all shapes, as measured on what is kept: 0
    int left_out;   // triangles of the skin that were left out, since some shape folds them
    char worst[64]; // shape with the smallest singular value of a tet, and that value
    double least;
    char folded[64];  // shape that folds most of them, "" if there are none
    char swollen[64]; // shape whose flesh changes its volume most, and to what share of the neutral's
    double volume;
} FaVolumesMade;

// What the stiffness below is worth (FaEquilibriumReport); nshape 0: not known.
typedef struct FaStiffMade {
    int nshape, iterations;
    float before, uniform, after; // mm
    float mean[3];                // relative, of anchors, edges, bending
} FaStiffMade;

typedef struct FaFace {
    // what it was built from
    uint64_t rig_hash;    // fai_face_rig_hash of the rig: neutral, topology, shapes' names
    int nvert;            // of the rig
    const char *rig_path; // the rig's file as it can be opened from here; NULL or "": unknown
    // nodes
    int nskin, layers, nnode; // nnode = nskin * (layers + 1)
    int *skin_vertex;         // rig vertex of each skin node (welded representative)                     (nskin)
    int *node_of_vertex;      // skin node of each rig vertex (its weld's), -1 = not simulated            (nvert)
    float *x0;                // rest positions, head frame, m                                            (nnode x 3)
    float *mass;              // kg, rho V / 4                                                            (nnode)
    int ntri, ntet;
    int *tri;               // skin triangles, node indices, facing outwards                            (ntri x 3)
    int *tet;               // positive volume                                                          (ntet x 4)
    float *thickness;       // skin to deepest node as built, m                                         (nskin)
    float *thickness_asked; // before clamping                                                       (nskin)
    unsigned char
        *rim; // 1: on an open boundary of the simulated skin (neck, mask edge): held to the linear surface   (nskin)
    // attachment of the deepest layer, each 0..1, sum <= 1; the rest is free
    float *to_skull;           //                                                                          (nskin)
    float *to_jaw;             //                                                                          (nskin)
    float *region[FA_REGIONS]; // 0..1 per skin node                                                (nskin)
    // vertices of the rig that are not simulated but ride on the skin (lashes, brows): three skin nodes each, -1 =
    // linear alone
    int *ride_node;     //                                                                          (nvert x 3)
    float *ride_weight; //                                                                          (nvert x 3)
    // stiffness of the surface model, each relative to what it would be: full shapes rest under unit force
    // (build/equilibrium.h). All NULL: 1 everywhere
    int stiff_edges;     // edges of the skin, in the order of fai_topology_build
    float *stiff_anchor; //                                                                          (nskin)
    float *stiff_bend;   //                                                                          (nskin)
    float *stiff_edge;   //                                                                          (stiff_edges)
    FaStiffMade stiff_made;
    FaJaw jaw;
    int nbone;
    FaBone *bone; //                                                                          (nbone)
    // how shapes change the flesh (paper 000, section 6); absent until they are made
    FaColumns volumes; // B_X: rest position of the nodes, m                                       (width 3, nodes)
    FaVolumesMade volumes_made;
    float *mu0, *lambda0; // P_0, Pa; NULL: uniform                                                  (ntet)
    FaColumns materials;  // B_P: mu, lambda, Pa                                                      (width 2, tets)
    FaNotes notes;        // what was clamped, guessed, left out
    FaArena *arena;       // owns the arrays
} FaFace;

uint64_t fai_face_rig_hash(const FaRig *rig);
FaCode fai_face_check(const FaFace *face, FaError *err); // indices, positive volumes, weights, finite
// Rigid motion of the jaw against the skull for these weights: turn about the hinge, then slide; identity if no jaw was
// found.
FaPose fai_jaw_pose(const FaJaw *jaw, const float *weights);

#endif

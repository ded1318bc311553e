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
//
// Filled flesh (layers 0, build/filled.h): the skin nodes first too, then nodes inside in any number and place, each of
// them free or carried by skull or jaw; every skin node is a corner of a tet. What differs between the two is asked
// below (fai_face_above, ...), nowhere else.
#ifndef FAI_FACE_H
#define FAI_FACE_H

#include "face/face_arrays.h"
#include "fascia/face.h"
#include "rig/jaw.h"

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
typedef enum FaCarrier { FA_CARRIER_NONE, FA_CARRIER_SKULL, FA_CARRIER_JAW, FA_CARRIERS } FaCarrier;
enum { FA_FACE_LAYERS = 16 };                           // at most
enum { FA_FLESH_SIZE = 6000, FA_FLESH_MOST = 1000000 }; // free nodes of filled flesh: by default, at most

typedef struct FaBone {
    char name[64];
    FaBoneKind kind;
    bool with_jaw; // moves with the jaw; else with the skull
    bool closed;
    int nvert, ntri;
    float *x; // head frame, neutral, m          (nvert x 3)
    int *tri; //                                 (ntri x 3)
} FaBone;

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

struct FaFace {
    // what it was built from
    uint64_t rig_hash;    // fai_face_rig_hash of the rig: neutral, topology, shapes' names
    int nvert;            // of the rig
    const char *rig_path; // the rig's file as it can be opened from here; NULL or "": unknown
    // counts
    int nskin, layers, nnode; // nnode = nskin * (layers + 1); layers 0: filled flesh, any number
    int ntri, ntet;
    int stiff_edges; // edges of the skin; 0: no stiffness of the surface model
    // arrays: one row each in face_arrays.h
#define X(tag, field, type, per, width, values, stage, what) type *field;
    FA_FACE_ARRAYS(X)
#undef X
    float *region[FA_REGIONS]; // 0..1 per skin node                                                        (nskin)
    // how shapes change the flesh, likewise
#define X(tag, field, per, width, most, stage, what) FaColumns field;
    FA_FACE_COLUMNS(X)
#undef X
    FaVolumesMade volumes_made;
    FaStiffMade stiff_made;
    int flesh_size;               // it has muscles: free nodes of the flesh that they stand in; 0: it has none
    const unsigned char *muscles; // flesh and muscles as made, for who knows them (muscle/muscle_file.h)
    size_t muscles_size;          // bytes of them
    const unsigned char *shapes;  // muscles of the rig's shapes, likewise (muscle/blendmuscle.h); NULL: none
    size_t shapes_size;           // bytes of them
    FaJaw jaw;
    int nbone;
    FaBone *bone;   //                                                                                     (nbone)
    FaNotes notes;  // what was clamped, guessed, left out
    FaArena *arena; // owns the arrays
};

uint64_t fai_face_rig_hash(const FaRig *rig);
// Prisms below the skin: what fa_face_build (build/filled_face.c) begins with. options as there.
FaCode fai_face_build_prisms(const FaRig *rig, const FaFaceOptions *options, FaFace **face, FaError *err);
FaCode fai_face_weigh(FaFace *face, double density, FaError *err); // mass = rho V / 4 of each tet at its corners

// --- prisms or filled ---

typedef struct FaHold {
    float skull, jaw; // each 0..1, sum <= 1; the rest is free
} FaHold;
static inline bool fai_face_filled(const FaFace *f) { return f->layers == 0; }
// The skin node that a node goes with: the one above it.
static inline int fai_face_above(const FaFace *f, int node) {
    return fai_face_filled(f) ? f->above[node] : node % f->nskin;
}
// What holds a node below the skin.
static inline FaHold fai_face_hold(const FaFace *f, int node) {
    FaHold hold = {0, 0};
    if (node < f->nskin) return hold;
    if (fai_face_filled(f))
        hold = (FaHold){f->carrier[node] == FA_CARRIER_SKULL, f->carrier[node] == FA_CARRIER_JAW};
    else if (node >= f->nskin * f->layers)
        hold = (FaHold){f->to_skull[node % f->nskin], f->to_jaw[node % f->nskin]};
    return hold;
}
// On the cut edge: skin, and of prisms all below it.
static inline bool fai_face_on_rim(const FaFace *f, int node) {
    return fai_face_filled(f) ? node < f->nskin && f->rim[node] : f->rim[node % f->nskin];
}
// Tets that stand or fall together, in a row: those below a triangle, or each by itself. Such a row is a piece.
static inline int fai_face_piece(const FaFace *f) { return fai_face_filled(f) ? 1 : 3 * f->layers; }
static inline int fai_face_pieces(const FaFace *f) { return f->ntet / fai_face_piece(f); }
// Mass of the flesh that goes with each skin node, its own included, kg (nskin): of prisms its column; of filled flesh
// each node's mass is handed on evenly to its neighbours that are nearer to the skin, from tet to tet.
FaCode fai_face_column_mass(const FaFace *face, double *mass, FaError *err);

// Everything is there and sound: the table's ranges, positive volumes, what belongs together.
FaCode fai_face_check(const FaFace *face, FaError *err);

#endif

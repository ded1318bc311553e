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
enum { FA_FACE_LAYERS = 16 };                               // at most
enum { FA_FLESH_SIZE = 6000, FA_FLESH_MOST = 1000000 };     // free nodes of filled flesh: by default, at most

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
    int nskin, layers, nnode; // nnode = nskin * (layers + 1)
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
    FaJaw jaw;
    int nbone;
    FaBone *bone;   //                                                                                     (nbone)
    FaNotes notes;  // what was clamped, guessed, left out
    FaArena *arena; // owns the arrays
};

uint64_t fai_face_rig_hash(const FaRig *rig);
// Everything is there and sound: the table's ranges, positive volumes, what belongs together.
FaCode fai_face_check(const FaFace *face, FaError *err);

#endif

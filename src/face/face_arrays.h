// The table of the face's arrays. A row is all there is to write for a new array: it yields the field of FaFace,
// allocation, the .face file, the check, leaving out, the fingerprint, and the tests of all of these
// (tests/test_face_arrays.c).
//
//   tag     chunk of the file. Rows that follow each other with the same tag share a chunk. Capitals: part of every
//           face (stage FACE), and a reader that does not know it refuses the file; small: optional, passed over
//   field   of FaFace, and its type: int, float or unsigned char
//   per     what there is one entry of (FA_FACE_COUNTS), and numbers per entry
//   values  FA_RANGE(least, most), or FA_INDEX(count, least) for numbers of vertices, nodes, ...: they are renumbered
//           where triangles are left out. least -1: none is allowed
//   stage   FA_NEED_...: the rows of a stage are there together or not at all. FILLED: of filled flesh, and only there
//   what    an entry, in messages
#ifndef FAI_FACE_ARRAYS_H
#define FAI_FACE_ARRAYS_H

#include "base/base.h"
#include "fascia/face.h"

enum { FA_NEED_FILLED = 16, FA_STAGES = 31 }; // nobody asks for FILLED as a need: it is an option of the builder

#define FA_STIFF_LEAST 1e-4f // relative stiffness that a face may have
#define FA_STIFF_MOST 1e4f
#define FA_STIFF_RANGE FA_RANGE(FA_STIFF_LEAST, FA_STIFF_MOST)

// What arrays have entries for, and the field that counts it. A count that is not in the file's HEAD stands at the
// beginning of a chunk (HEADS in face_file.c).
#define FA_FACE_COUNTS(X)                                                                                              \
    X(VERT, nvert)                                                                                                     \
    X(SKIN, nskin)                                                                                                     \
    X(NODE, nnode)                                                                                                     \
    X(TRI, ntri)                                                                                                       \
    X(TET, ntet)                                                                                                       \
    X(EDGE, stiff_edges)

// clang-format off
#define FA_FACE_ARRAYS(X)                                                                                              \
    /* rig vertex of each skin node (welded representative) */                                                         \
    X("SKIN", skin_vertex,     int,           SKIN, 1, FA_INDEX(VERT, 0),      FACE, "skin vertex")                    \
    /* skin node of each rig vertex (its weld's), -1 = not simulated */                                                \
    X("NODE", node_of_vertex,  int,           VERT, 1, FA_INDEX(SKIN, -1),     FACE, "node of vertex")                 \
    /* rest positions, head frame, m */                                                                                \
    X("REST", x0,              float,         NODE, 3, FA_RANGE(-1e3f, 1e3f),  FACE, "coordinate")                     \
    /* kg, rho V / 4 */                                                                                                \
    X("MASS", mass,            float,         NODE, 1, FA_RANGE(1e-15f, 1e6f), FACE, "mass")                           \
    /* skin triangles, facing outwards; tets of positive volume */                                                     \
    X("TRIS", tri,             int,           TRI,  3, FA_INDEX(SKIN, 0),      FACE, "corner of the skin")             \
    X("TETS", tet,             int,           TET,  4, FA_INDEX(NODE, 0),      FACE, "corner of a tet")                \
    /* skin to deepest node, m: as built, and before clamping */                                                       \
    X("THIC", thickness,       float,         SKIN, 1, FA_RANGE(0, 1),         FACE, "thickness")                      \
    X("ASKD", thickness_asked, float,         SKIN, 1, FA_RANGE(0, 1),         FACE, "thickness asked")                \
    /* attachment of the deepest layer, each 0..1, sum <= 1; the rest is free */                                       \
    X("SKUL", to_skull,        float,         SKIN, 1, FA_RANGE(0, 1),         FACE, "attachment to the skull")        \
    X("TJAW", to_jaw,          float,         SKIN, 1, FA_RANGE(0, 1),         FACE, "attachment to the jaw")          \
    /* vertices that are not simulated but ride on three skin nodes (lashes, brows), -1 = linear alone */              \
    X("RIDN", ride_node,       int,           VERT, 3, FA_INDEX(SKIN, -1),     FACE, "rider")                          \
    X("RIDW", ride_weight,     float,         VERT, 3, FA_RANGE(0, 1.001f),    FACE, "weight of a rider")              \
    /* 1: on an open boundary of the simulated skin (neck, mask edge): held to the linear surface */                   \
    X("RIM ", rim,             unsigned char, SKIN, 1, FA_RANGE(0, 1),         FACE, "rim flag")                       \
    /* filled flesh: the skin node that a node goes with (the nearest); what carries it: FaCarrier */                  \
    X("fill", above,           int,           NODE, 1, FA_INDEX(SKIN, 0),      FILLED, "skin above")                   \
    X("fill", carrier,         unsigned char, NODE, 1, FA_RANGE(0, 2),         FILLED, "carrier of a node")            \
    /* P_0, Pa; absent: uniform */                                                                                     \
    X("mat0", mu0,             float,         TET,  1, FA_RANGE(1, 1e9f),      MATERIALS, "mu")                        \
    X("mat0", lambda0,         float,         TET,  1, FA_RANGE(0, 1e9f),      MATERIALS, "lambda")                    \
    /* stiffness of the surface model, each relative to what it would be: full shapes rest under unit force            \
       (build/equilibrium.h); edges in the order of fai_topology_build. Absent: 1 everywhere */                        \
    X("stif", stiff_anchor,    float,         SKIN, 1, FA_STIFF_RANGE,         EQUILIBRIUM, "stiffness of an anchor")  \
    X("stif", stiff_bend,      float,         SKIN, 1, FA_STIFF_RANGE,         EQUILIBRIUM, "stiffness of bending")    \
    X("stif", stiff_edge,      float,         EDGE, 1, FA_STIFF_RANGE,         EQUILIBRIUM, "stiffness of an edge")

// Parts of the face: float *region[FA_REGIONS], 0..1 per skin node, each a chunk REGN with its name.
#define FA_FACE_REGIONS(X)                                                                                             \
    X(LIP_UPPER, "lip_upper")                                                                                          \
    X(LIP_LOWER, "lip_lower")                                                                                          \
    X(MOUTH,     "mouth") /* what may touch: lips and the lining just behind them */                                   \
    X(EYELIDS,   "eyelids")                                                                                            \
    X(CHEEKS,    "cheeks")                                                                                             \
    X(FREE,      "free") /* held by no bone: lips, pouches of the cheeks, tentacles */

// How shapes change the flesh (paper 000, section 6), sparse (columns.h); values within +-most. Absent: not made.
#define FA_FACE_COLUMNS(X)                                                                                             \
    X("vols", volumes,   NODE, 3, 10,   VOLUMES,   "volumes")   /* B_X: rest position of the nodes, m */               \
    X("mats", materials, TET,  2, 1e9f, MATERIALS, "materials") /* B_P: mu, lambda, Pa */
// clang-format on

typedef enum FaPer {
#define X(per, field) FA_PER_##per,
    FA_FACE_COUNTS(X)
#undef X
        FA_PERS,
    FA_PER_NONE = FA_PERS
} FaPer;

typedef enum FaRegion {
#define X(region, name) FA_REGION_##region,
    FA_FACE_REGIONS(X)
#undef X
        FA_REGIONS
} FaRegion;
extern const char *const fai_region_name[FA_REGIONS]; // "lip_upper", ...

// What each shape adds at weight 1 to numbers of nodes or of tets, sparse (columns.h).
typedef struct FaColumns {
    int nshape;   // of the rig; 0: there are none
    int width;    // numbers per entry
    int *first;   // entries of each shape, then how many there are                           (nshape + 1)
    int *item;    // node or tet, increasing within a shape                                   (first[nshape])
    float *value; //                                                                          (first[nshape] x width)
} FaColumns;

// What the table says, to walk over: its rows, then the regions.
typedef enum FaArrayType { FA_ARRAY_INT, FA_ARRAY_FLOAT, FA_ARRAY_BYTE } FaArrayType;
typedef struct FaArrayValues {
    FaPer of;          // index of these; FA_PER_NONE: numbers
    float least, most; // of numbers; of indices least, 0 or -1
} FaArrayValues;
#define FA_INDEX(per, least)                                                                                           \
    { FA_PER_##per, least, 0 }
#define FA_RANGE(least, most)                                                                                          \
    { FA_PER_NONE, least, most }

typedef struct FaFaceArray {
    char tag[5];
    size_t at; // of the pointer, in FaFace
    FaArrayType type;
    size_t size; // of a number
    FaPer per;
    int width; // numbers per entry
    FaArrayValues values;
    unsigned stage;
    const char *what;
} FaFaceArray;
typedef struct FaFaceColumns {
    char tag[5];
    size_t at; // of the FaColumns, in FaFace
    FaPer per;
    int width;
    float most;
    unsigned stage;
    const char *what;
} FaFaceColumns;

enum {
#define X(...) +1
    FA_FACE_NARRAY = 0 FA_FACE_ARRAYS(X) + FA_REGIONS,
    FA_FACE_NCOLUMNS = 0 FA_FACE_COLUMNS(X)
#undef X
};
extern const FaFaceArray fai_face_array[FA_FACE_NARRAY];
extern const FaFaceColumns fai_face_columns[FA_FACE_NCOLUMNS];

int fai_face_count(const FaFace *face, FaPer per);
size_t fai_face_numbers(const FaFace *face, const FaFaceArray *array); // entries x width
void *fai_face_array_get(const FaFace *face, const FaFaceArray *array);
void fai_face_array_set(FaFace *face, const FaFaceArray *array, void *data);
FaColumns *fai_face_columns_get(const FaFace *face, const FaFaceColumns *columns);

// All arrays of a stage, zeroed, from the face's arena; its counts are set. They appear together or not at all.
FaCode fai_face_allocate(FaFace *face, unsigned stage, FaError *err);
// Stages are whole; indices and numbers are what the table says.
FaCode fai_face_check_arrays(const FaFace *face, FaError *err);
// Everything that a simulation on the face depends on: arrays, columns, jaw and bones; not notes, reports or paths.
uint64_t fai_face_hash(const FaFace *face);

#endif

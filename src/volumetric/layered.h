// The layered head (paper 004 section 3.1): skin, muscle and skull layers of one triangulation, prisms between them cut
// into tets. Node i is of the skin, nskin + i the one below it on the muscle layer, 2 nskin + i on the skull layer.
//
//     skin     o---o---o      rig vertices
//              |\  |\  |      soft tissue
//     muscle   o---o---o
//              |\  |\  |      muscle tissue
//     skull    o---o---o      carried by skull or jaw, or free
//
// The skin's own triangulation, so that nothing has to be wrapped: columns are those of the face, whose builder leaves
// no tet inverted (face/tetra.h).
#ifndef FAI_LAYERED_H
#define FAI_LAYERED_H

#include "energy/elastic.h"
#include "face/face.h"

typedef struct FaLayered {
    const FaFace *face;
    int nskin, nnode, ntet; // nnode = 3 nskin
    double *x0;             // m                                                    (nnode x 3)
    int (*tet)[4];          // positive volume                                      (ntet)
    int *triangle;          // of the skin above each tet                           (ntet)
    unsigned char *muscle;  // 1: between muscle and skull layer                    (ntet)
    double *volume;         // m3                                                   (ntet)
    double *area;           // of the skin around each of its nodes, m2             (nskin)
    double *depth;          // skin to skull layer, m                               (nskin)
    double *share;          // of it that is above the muscle layer, 0..1           (nskin)
    double *held;           // of the skull layer, by skull and jaw together, 0..1  (nskin)
    int evened;             // columns whose muscle layer was moved so that no tet is inverted
    int left_out;           // prisms without tets: there is no room for two layers
    FaArena *arena;
} FaLayered;

// face: of prisms; borrowed. Filled flesh is refused: it has no layers.
FaCode fai_layered_new(const FaFace *face, FaLayered **layered, FaError *err);
void fai_layered_free(FaLayered *layered); // NULL is fine

// Stiffness of a body made of it: moduli in Pa, springs in 1/m, each of the area that it holds times `strain`.
typedef struct FaLayeredBody {
    double strain;                // Pa, of soft tissue
    double volume;                // of eq. 12: against strain's
    double muscle, muscle_volume; // of muscle tissue: strain and volume, against soft tissue's strain and volume
    const double *skin;           // 1/m: what draws each skin node to its target                    (nskin)
    double bone;                  // 1/m: what draws the skull layer to its target, where it is held
} FaLayeredBody;

// Anchors: skin nodes first, then the skull layer's, nskin each. Free with fai_arena_free(e->arena).
FaCode fai_layered_elastic(const FaLayered *layered, const FaLayeredBody *body, FaElastic *e, FaError *err);

#endif

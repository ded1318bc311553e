// The zoo: the shipped head turned into rigs with the traits that strangers' files have (fascia/head.h lists them).
//
// An animal begins as a plain copy of the head's parts that can be edited: dense shapes, one array each. Traits change
// it one after the other in a fixed order (zoo.c), and zoo_file.c writes what is left as a file. Coordinates are
// canonical and metres until the very end, where `file` turns them into what the file holds. All arrays belong to the
// arena; what an edit replaces is left there.
#ifndef FAI_HEAD_ZOO_H
#define FAI_HEAD_ZOO_H

#include "base/base.h"
#include "fascia/head.h"

typedef struct FaZooShape {
    const char *name;
    int drive;    // ARKit number of the channel that moves it in the file's own clip, -1 = none does
    float *delta; // m                                                             (nvert x 3)
} FaZooShape;

typedef struct FaZooMesh {
    const char *name;
    int nvert, nface;
    float *x;              // m                                                    (nvert x 3)
    int *face_start;       //                                                      (nface + 1)
    int *face_vert;        // counter-clockwise from outside                       (face_start[nface])
    int *face_region;      // index into region                                    (nface)
    const char *region[8]; // materials, as the head's parts have them
    int nregion;           //
    int *spot;             // vertex of the head's skin that each was, -1 = none   (nvert)
    int nshape;
    FaZooShape *shape;    //                                                       (nshape)
    int head;             // which of the file's heads it belongs to
    unsigned char *joint; // two joints per vertex; NULL: not skinned              (nvert x 2)
    float *share;         // weight of the first                                   (nvert)
} FaZooMesh;

enum { FAI_ZOO_MESHES = 24, FAI_ZOO_JOINTS = 9, FAI_ZOO_HEAD_JOINT = 4 };

typedef struct FaZoo {
    const FaHead *head; // the first one
    int nhead;          // 1 or 2
    int nmesh;          // the first head's skin comes first until `skin_last`
    FaZooMesh mesh[FAI_ZOO_MESHES];
    double place[2][3]; // where each head stands, m
    double file[9];     // file coordinates = file * canonical, row-major: axes and unit
    bool node_undoes;   // the node turns or scales it back
    bool skinned;       // the meshes hang on joints (zoo_body.c)
    FaClip *clip;       // over ARKit's channels, canonical
    FaArena *arena;
} FaZoo;

typedef struct FaZooJoint {
    const char *name;
    int parent; // -1: the root
    double at[3];
} FaZooJoint;
extern const FaZooJoint fai_zoo_joints[FAI_ZOO_JOINTS]; // parents first

// --- zoo_mesh.c: editing ------------------------------------------------------------------------------------------
FaCode fai_zoo_add_part(FaZoo *zoo, const FaHead *head, int part, int which, FaError *err);
// Only the faces kept, and the vertices they use.
FaCode fai_zoo_keep_faces(FaZoo *zoo, FaZooMesh *m, const bool *keep, FaError *err);
// More vertices and faces (corners count from 0 at the first new vertex; negative ones, -1 - v, are old vertices).
// from: the old vertex whose motion each takes, -1 = still. All of one region.
typedef struct FaZooExtra {
    int nvert, nface;
    const float *x;        // (nvert x 3)
    const int *from;       // (nvert)
    const int *face_start; // (nface + 1)
    const int *face_vert;
    const char *region;
} FaZooExtra;
FaCode fai_zoo_append(FaZoo *zoo, FaZooMesh *m, const FaZooExtra *extra, FaError *err);
FaCode fai_zoo_join(FaZoo *zoo, FaZooMesh *to, const FaZooMesh *from, FaError *err); // shapes go by their driver
void fai_zoo_remove_mesh(FaZoo *zoo, int mesh);
// A new shape, zero everywhere, at the end of the list; NULL: no memory.
FaZooShape *fai_zoo_add_shape(FaZoo *zoo, FaZooMesh *m, const char *name, int drive);
FaZooShape *fai_zoo_driven(FaZooMesh *m, int drive); // the first that this channel moves, NULL = none
// The mesh with triangles, borrowed from the animal's arena.
FaCode fai_zoo_triangles(FaZoo *zoo, const FaZooMesh *m, FaMesh *mesh, FaError *err);

// --- traits -------------------------------------------------------------------------------------------------------
// zoo_mouth.c
FaCode fai_zoo_cross_lips(FaZoo *zoo, int least, FaError *err); // until so many pairs of triangles cross at rest
FaCode fai_zoo_touch_lips(FaZoo *zoo, FaError *err);            // facing vertices of the lips share their places
FaCode fai_zoo_cut_bag(FaZoo *zoo, double row, FaError *err);   // beyond this row of the mouth's chart (CAGE_MOUTH_V)
void fai_zoo_flat_bag(FaZoo *zoo);                              // its walls lie on each other; no teeth, no tongue
void fai_zoo_loose_jaw(FaZoo *zoo);                             // jawOpen goes straight down, by as much as before
void fai_zoo_weak_jaw(FaZoo *zoo);
void fai_zoo_mouth_open(FaZoo *zoo); // jawOpen is called mouthOpen, and there is no other shape of the jaw
// zoo_form.c
FaCode fai_zoo_low(FaZoo *zoo, int vertices, FaError *err);
void fai_zoo_stylise(FaZoo *zoo);                   // huge eyes, a snout
void fai_zoo_creature(FaZoo *zoo);                  // zoo_creature.c
FaCode fai_zoo_tentacles(FaZoo *zoo, FaError *err); // zoo_tentacles.c
FaCode fai_zoo_one_mesh(FaZoo *zoo, bool teeth_in_skin, FaError *err);
FaCode fai_zoo_seam(FaZoo *zoo, FaError *err);     // vertices split in the middle plane, as at a texture's seam
FaCode fai_zoo_cards(FaZoo *zoo, FaError *err);    // strands of hair, front and back on the same places
FaCode fai_zoo_hair_cap(FaZoo *zoo, FaError *err); // with fins that stand on its edges: three triangles at one edge
FaCode fai_zoo_body(FaZoo *zoo, FaError *err);     // a body below the head, one mesh, skinned to joints
// zoo_names.c
FaCode fai_zoo_families(FaZoo *zoo, FaError *err); // AK_01_BrowDownLeft ... and AU_12_L_LipCornerPuller ...
FaCode fai_zoo_vroid(FaZoo *zoo, FaError *err);    // beside ARKit's names Fcl_MTH_A, Fcl_EYE_Close, Fcl_EYE_Close_L ...
FaCode fai_zoo_pairs(FaZoo *zoo, FaError *err);    // mouthSmile beside mouthSmileLeft and mouthSmileRight
void fai_zoo_swap_sides(FaZoo *zoo);               // Left is what the viewer has on the left
FaCode fai_zoo_same_names(FaZoo *zoo, FaError *err); // every mesh has all 52, most of them empty; skin last

// --- zoo_file.c ---------------------------------------------------------------------------------------------------
FaCode fai_zoo_glb(FaZoo *zoo, const char *generator, const char *path, FaError *err);
FaCode fai_zoo_obj(FaZoo *zoo, const char *dir, FaError *err); // a folder of the first mesh; the clip as dir.json

#endif

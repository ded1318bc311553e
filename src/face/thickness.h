// How thick the flesh is: what is asked for (uniform, painted, by the bones or by anatomy), and what the walls allow.
#ifndef FAI_THICKNESS_H
#define FAI_THICKNESS_H

#include "face/face.h"
#include "mesh/mesh.h"

#define FA_LIP_FOLD 1.5e-3 // m

typedef struct FaThicknessInput {
    const FaRig *rig;
    const FaTopology *topo; // of the rig
    int part;               // of the skin
    int nskin;
    const int *skin_vertex;     //                                                          (nskin)
    const float *x, *normal;    // of the skin nodes; unit, outwards                        (nskin x 3)
    const int *start, *around;  // neighbours of the skin nodes
    const float *const *region; // FA_REGIONS arrays, or NULL                               (nskin)
    const float *painted;       // m per rig vertex, NAN = not painted; or NULL             (nvert)
    int nbone;
    const FaBone *bone;
    double uniform, lip; // m; 0: by bones and anatomy, FA_LIP_FOLD
} FaThicknessInput;

// Why a column is shorter than asked.
enum { FA_CLAMP_NONE, FA_CLAMP_WALL, FA_CLAMP_BONE, FA_CLAMP_NEAR };

// asked, thickness: m; clamp: one of the above (each nskin).
FaCode fai_thickness_find(const FaThicknessInput *in, float *asked, float *thickness, unsigned char *clamp,
                          FaError *err);

// Typical size of the head against the mean adult's, by its eyes and mouth, else its height: 1 for a mean adult.
double fai_face_scale(const FaRig *rig);
// Depth of soft tissue at a place of the mean adult's head (mm, x left, y up, z front, origin between the condyles), m.
double fai_anatomy_depth(const double mm[3]);

#endif

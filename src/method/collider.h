// Rigid meshes of the user's that push the skin: a hand, a ball, a pillow, a mask.
//
// Penalties as in paper 000 section 5: k/2 d^2 for every piece of skin that is d deep inside, spread over the skin by
// sample points (its nodes and points between them some 2 mm apart), so that neither a fine mesh is stiffer nor a small
// collider slips through a coarse one. Inside is told by the collider's own surface and not by where the skin was
// before: nothing that came in is kept in.
//
// Use, per step: fai_colliders_begin with the pose at its end; fai_colliders_collect and fai_colliders_late wherever
// the solver asks for rows. A sample that got a row keeps it, as it is, until the step ends. No state between steps:
// poses follow from the time alone. Same bits for any number of threads. No allocation after fai_colliders_new.
#ifndef FAI_COLLIDER_H
#define FAI_COLLIDER_H

#include "contact/rows.h"
#include "face/face.h"
#include "fascia/enrich.h"

enum { FA_COLLIDERS = 16, FA_COLLIDER_ROWS = 4096 };

typedef struct FaColliders FaColliders;

// stiffness: N/m per mm2 of skin. *key: fingerprint of meshes and motions. *colliders is NULL where options name none.
FaCode fai_colliders_new(const FaFace *face, const FaRig *rig, const FaEnrichOptions *options, double stiffness,
                         FaColliders **colliders, uint64_t *key, FaNotes *notes, FaError *err);
void fai_colliders_free(FaColliders *c); // NULL is fine

// head: world from the rig's frame at that time; not read where the input has none (the head is still).
void fai_colliders_begin(FaColliders *c, const FaInput *in, double time, const FaPose *head);
FaPose fai_colliders_pose(const FaColliders *c, int i); // of the last begin: rig's frame from collider i's vertices
// Rows of what is inside or nearly so at x (m, nnode x 3), displacements from the face's x0. The first call of a step
// decides how many there are (at most FA_COLLIDER_ROWS), later ones give the same again; what they find besides is what
// fai_colliders_late gives.
int fai_colliders_collect(FaColliders *c, const double *x, FaRow *row);
int fai_colliders_late(const FaColliders *c, FaRow *row); // together with the others at most FA_COLLIDER_ROWS

typedef struct FaColliderStats {
    double depth;  // m: how deep skin is in a collider; 0: it is not
    double inside; // share of the skin's area that is
} FaColliderStats;
FaColliderStats fai_colliders_measure(FaColliders *c, const double *X,
                                      const double *d); // at X + d, the pose of the last begin

#endif

// Rigid meshes of the user's that push the skin: a hand, a ball, a pillow, a mask.
//
// Penalties as in paper 000 section 5: k/2 d^2 for every piece of skin that is d deep inside, spread over the skin by
// sample points (its nodes and points between them some 2 mm apart), so that neither a fine mesh is stiffer nor a small
// collider slips through a coarse one. Inside is told by the collider's own surface and not by where the skin was
// before: nothing that came in is kept in.
//
// Friction is Coulomb's. A sample that touched when the last step ended sticks to the place of the collider that it
// touched (by bristles, a quarter as stiff as the push) until that takes more than `friction` times its normal force;
// then the place is dragged along behind it. The normal force is the last step's, so that the step has a potential
// (rows.h). Places and not speeds: what sticks does not creep, however long it is held, and steps of any length agree.
//
// Algorithm 1 (solve/rebalance.h): friction is a part of what is carried, as the push is: the balance f is taken with
// it, the static solve has it, and where the rest shape stays both agree and nothing moves. In the static solve alone
// it would count twice, f holding what it carries already. As a dead load (in neither) it would let go of the skin
// while the rest shape moves: a pressed block whose stiffness swings by a fifth creeps back by a fifth of its shear
// that way, and not at all this way (test_enrich_collider). So a hand holds skin against a change of expression, up to
// what it can.
//
// Use, per step: fai_colliders_begin with the pose at its end; fai_colliders_collect and fai_colliders_late wherever
// the solver asks for rows; fai_colliders_end where the step ended. A sample that got a row keeps it, as it is, until
// then. State between steps: what sticks where, and how hard; poses follow from the time alone. Same bits for any
// number of threads. No allocation after fai_colliders_new.
#ifndef FAI_COLLIDER_H
#define FAI_COLLIDER_H

#include "contact/rows.h"
#include "face/face.h"
#include "fascia/enrich.h"

enum { FA_COLLIDERS = 16, FA_COLLIDER_ROWS = 4096 };

typedef struct FaColliders FaColliders;

// stiffness: N/m per mm2 of skin; friction: Coulomb's coefficient, 0: none. *key: fingerprint of meshes and motions.
// *colliders is NULL where options name none.
FaCode fai_colliders_new(const FaFace *face, const FaMethodSetup *setup, double stiffness, double friction,
                         FaColliders **colliders, uint64_t *key, FaNotes *notes, FaError *err);
void fai_colliders_free(FaColliders *c); // NULL is fine

// head: world from the rig's frame at that time; NULL: the head is still.
void fai_colliders_begin(FaColliders *c, double time, const FaPose *head);
FaPose fai_colliders_pose(const FaColliders *c, int i); // of the last begin: rig's frame from collider i's vertices
// Rows of what is inside or nearly so at x (m, nnode x 3), displacements from the face's x0. The first call of a step
// decides how many there are (at most FA_COLLIDER_ROWS), later ones give the same again; what they find besides is what
// fai_colliders_late gives.
int fai_colliders_collect(FaColliders *c, const double *x, FaRow *row);
int fai_colliders_late(const FaColliders *c, FaRow *row); // together with the others at most FA_COLLIDER_ROWS

// The step ended at X + d: what touches there, and how hard, is what the next one's friction holds.
void fai_colliders_end(FaColliders *c, const double *X, const double *d);
void fai_colliders_reset(FaColliders *c); // nothing sticks

// The state as one block; its size is 0 without friction.
size_t fai_colliders_state_size(const FaColliders *c);
void fai_colliders_save(const FaColliders *c, void *state);
bool fai_colliders_load(FaColliders *c, const void *state);             // false: no such state was saved here
double fai_colliders_distance(const FaColliders *c, const void *state); // m: how far from a saved one

// Of the step that ended last, all samples together.
typedef struct FaColliderForce {
    double normal, friction; // N: sums of sizes
    double limit;            // N: what friction could have been at most
    double push[3], drag[3]; // N, on the skin, rig's frame: along the normals, and across
    int touching, sliding;   // samples
} FaColliderForce;
FaColliderForce fai_colliders_force(const FaColliders *c);

typedef struct FaColliderStats {
    double depth;  // m: how deep skin is in a collider; 0: it is not
    double inside; // share of the skin's area that is
} FaColliderStats;
FaColliderStats fai_colliders_measure(FaColliders *c, const double *X,
                                      const double *d); // at X + d, the pose of the last begin

#endif

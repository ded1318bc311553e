// What filled flesh touches while muscles pull: itself (lips, lids, lining of the mouth), teeth and eyes.
//
// Rows of skin near skin, or near a collider, come from where the flesh is (fai_contact_nearby). Nothing pushes at
// rest: a vertex that lies closer than the gap there, or even inside, may come back to where it was and no farther.
// Rows are springs, which give way where muscles pull hard, so each vertex remembers how far it was pushed in and is
// held so much farther out in the next solve (the multipliers of an augmented Lagrangian): in a few solves nothing is
// in, with springs soft enough for conjugate gradients.
//
// Rows are of vertices. What crosses in spite of them, edges of coarse skin, is stopped at the end of a step.
//
// Use: fai_muscle_touch_begin for a pose; in each step fai_muscle_touch_step, then fai_muscle_touch_collect, a solve
// with its rows and fai_muscle_touch_settle, again until nothing is deep; fai_muscle_touch_stop. Same bits for any
// number of threads. No allocation after fai_muscle_touch_new.
#ifndef FAI_MUSCLE_TOUCH_H
#define FAI_MUSCLE_TOUCH_H

#include "build/filled.h"
#include "contact/rows.h"
#include "muscle/place.h"

enum { FA_MUSCLE_ROWS = 12288 };

typedef struct FaMuscleTouch FaMuscleTouch;

// filled: of the face; both are copied as far as they are needed. *touch is NULL where the face has no mouth.
// axes: left, up and front of the head, unit, each a row. A face without teeth gets a wall in their place: the inside
// of its lips goes back no farther than 1 mm, or pursed lips would fold into the mouth. NULL: none.
FaCode fai_muscle_touch_new(const FaFace *face, const FaFilled *filled, const double axes[9], FaMuscleTouch **touch,
                            FaError *err);
bool fai_muscle_touch_walled(const FaMuscleTouch *touch); // it has that wall
// Lids, found by how the ground's landmarks lie on the face, close on each other (muscle/seam.h).
FaCode fai_muscle_touch_lids(FaMuscleTouch *touch, const FaMuscleGround *ground, const FaFace *face, FaError *err);
// More to touch: the face with other bones, from the next pose on. What lies in those at rest is pushed out.
FaCode fai_muscle_touch_collide(FaMuscleTouch *touch, const FaFace *face, FaError *err);
void fai_muscle_touch_free(FaMuscleTouch *touch); // NULL is fine

void fai_muscle_touch_begin(FaMuscleTouch *touch, const double *x); // forgets what was pushed in
// A step from x; colliders of the jaw go along with the jaw's nodes to fixed_at (both nnode x 3, m).
void fai_muscle_touch_step(FaMuscleTouch *touch, const double *x, const double *fixed_at);
// Rows at x; displacements are from rest.
int fai_muscle_touch_collect(FaMuscleTouch *touch, const double *x, const FaRow **row);
// After a solve with the rows collected last, at x: how deep the deepest vertex is beyond where it may be, m.
double fai_muscle_touch_settle(FaMuscleTouch *touch, const double *x);
// The end of a step: what would cross on the way from its beginning is stopped short of that. How many nodes.
int fai_muscle_touch_stop(FaMuscleTouch *touch, double *x);
// The same for a frame, in a tenth of the time: what crosses at its end goes back towards its beginning by up to 1 mm,
// until it does not. What that does not help is left. How many nodes.
int fai_muscle_touch_part(FaMuscleTouch *touch, double *x);

// What is remembered from one frame to the next, as bytes.
size_t fai_muscle_touch_state_size(const FaMuscleTouch *touch);
void fai_muscle_touch_save(const FaMuscleTouch *touch, void *state);
FaCode fai_muscle_touch_load(FaMuscleTouch *touch, const void *state, FaError *err);

#endif

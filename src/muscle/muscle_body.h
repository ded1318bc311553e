// Flesh with muscles in it, at rest for given activations and places of the bones: Mooney-Rivlin tets (energy/solid.h)
// and fibres (energy/fibre.h), minimised by Newton.
//
// Nodes that bones carry are where the caller says. Where they moved far since the last pose, they go there in steps,
// and before each the flesh is predicted: H_ff dx = -H_fb dx_b. A jump of the jaw by 25 degrees would cost minutes.
//
// Flesh of a face is made with what it touches (muscle/muscle_touch.h) and slides on (muscle/slide.h). Lips that are
// pulled through each other have to be stopped on the way, so activations go in steps too; in each, rows are collected
// and the flesh is solved again until nothing is deep.
//
// Typical order: fai_muscle_body_new, fai_muscle_body_pose for each pose (from the one before), fai_muscle_body_free.
// One thread uses one body; calls are parallel inside, and give the same bits for any number of threads.
#ifndef FAI_MUSCLE_BODY_H
#define FAI_MUSCLE_BODY_H

#include "muscle/muscle_touch.h"
#include "muscle/place.h"
#include "muscle/sample.h"
#include "solve/newton.h"

typedef struct FaMuscleStuff {
    double mu, bulk; // of flesh, Pa. Linear tets lock beyond a bulk modulus of 20 mu
    double sigma;    // largest stress of a fibre, Pa
    FaNewtonKind kind;
    FaCholBackend backend; // of FA_NEWTON_CHOL
    bool apart;            // nothing touches
    double step;           // m: bones move at most so far at once
    double tolerance;      // of the gradient, against the pull of an average muscle at full activation
    int iterations;        // of Newton, per step
    // where something may touch
    double ramp; // activations rise at most so much at once
    int passes;  // solves at most of the last step, with rows collected before each
    bool manual; // frames keep the factor of fai_muscle_body_prepare, so that what they depend on can be saved
} FaMuscleStuff;
FaMuscleStuff fai_muscle_stuff_default(void); // 5 kPa, 100 kPa, 300 kPa, pcg, 6 mm, 1e-3, 60; 0.5, 8

typedef struct FaMuscleReport {
    int steps;      // of the bones
    int iterations; // of Newton, of all steps
    int inverted;   // tets, in the end
    double residual, seconds;
    double volume;         // of the flesh against that at rest
    FaNewtonStatus status; // of the last step
    int solves;            // of all steps
    int rows, active;      // of contact in the last solve, and those that push in the end
    double deep;           // m: how much deeper than it may be anything is in the end
    int stopped;           // nodes of the skin that were stopped short of crossing in the last step
    int rises;             // steps of Newton in which the energy rose: 0
    int cg;                // iterations of conjugate gradients, of all solves
} FaMuscleReport;

typedef struct FaMuscleBody FaMuscleBody;

// fixed: nonzero for nodes that bones carry (nnode). All is copied. nmuscle: of the samples. stuff NULL: default.
FaCode fai_muscle_body_new(const FaMuscleFlesh *flesh, const unsigned char *fixed, int nmuscle,
                           const FaMuscleSamples *samples, const FaMuscleStuff *stuff, FaMuscleBody **body,
                           FaError *err);

// How the flesh is held beside its fixed nodes; all zero: by those alone.
typedef struct FaMuscleHold {
    int nspring;
    const FaSpring *spring; // copied                                               (nspring)
    FaMuscleTouch *touch;   // its own from then on, also after failure; NULL: nothing touches
    bool anatomy;           // muscles are those of the template, in its order: strength and slack are as it says
} FaMuscleHold;
FaCode fai_muscle_body_new_held(const FaMuscleFlesh *flesh, const unsigned char *fixed, const FaMuscleHold *hold,
                                int nmuscle, const FaMuscleSamples *samples, const FaMuscleStuff *stuff,
                                FaMuscleBody **body, FaError *err);
// The flesh of a face, as it should be: held by its bones, sliding on the forehead, yielding in the throat, touching
// itself, teeth and eyes. filled: of the face; ground: as its muscles were placed.
FaCode fai_muscle_body_of_face(const FaMuscleGround *ground, const FaFace *face, const FaFilled *filled, int nmuscle,
                               const FaMuscleSamples *samples, const FaMuscleStuff *stuff, FaMuscleBody **body,
                               FaError *err);
void fai_muscle_body_free(FaMuscleBody *body); // NULL is fine

// Springs from the places of the samples to y (muscle/tracks.h), for the poses that follow. k: N/m (n of the samples);
// y: m (n x 3). NULL: none.
void fai_muscle_body_pull(FaMuscleBody *body, const double *k, const double *y);
void fai_muscle_body_contact(FaMuscleBody *body,
                             bool on); // does anything touch, in the poses that follow; at first: on

// More to touch (muscle/muscle_touch.h); nothing where the flesh touches nothing.
FaCode fai_muscle_body_collide(FaMuscleBody *body, const FaFace *face, FaError *err);

// activation: 0..1 (nmuscle). fixed_at: where fixed nodes are, NULL: at rest; others are not read (nnode x 3, m).
// x: where the flesh is in, and where it comes to rest out (nnode x 3, m). FA_STALLED: not quite at rest, usable.
// FA_E_NUMERIC: x is untouched. No allocation.
FaCode fai_muscle_body_pose(FaMuscleBody *body, const double *activation, const double *fixed_at, double *x,
                            FaMuscleReport *report, FaError *err);
// The same for the next frame of a sequence: x is where the last pose or frame ended. What was pushed in stays pushed,
// the factor is kept, and the way is short; so a frame depends on those before it.
FaCode fai_muscle_body_frame(FaMuscleBody *body, const double *activation, const double *fixed_at, double *x,
                             FaMuscleReport *report, FaError *err);

// The factor that frames of a body made `manual` are solved on: of the flesh at x with these activations and the
// springs set last. Without one, or after a frame that had to make its own, the body is worn.
FaCode fai_muscle_body_prepare(FaMuscleBody *body, const double *activation, const double *x, FaError *err);
bool fai_muscle_body_worn(const FaMuscleBody *body);

// What the next frame depends on beside x, its input and the factor: activations, what touches (muscle_body_state.c).
// Springs are not part of it: set those of the last frame before it is loaded.
size_t fai_muscle_body_state_size(const FaMuscleBody *body);
void fai_muscle_body_save(const FaMuscleBody *body, void *state);
FaCode fai_muscle_body_load(FaMuscleBody *body, const void *state, const double *x, FaError *err);
void fai_muscle_body_rest(FaMuscleBody *body); // the last pose was rest: nothing pulls, nothing was pushed in

// How the flesh at rest, x of the last pose, would move: by the activation of each muscle, then as bones move. bone:
// how fixed nodes go (nbone x nnode x 3, m per unit). out: (nmuscle + nbone) x nnode x 3, m per unit. FA_STALLED:
// roughly. FA_E_NUMERIC: the flesh is not in a stable rest.
FaCode fai_muscle_body_slopes(FaMuscleBody *body, const double *x, int nbone, const double *bone, double *out,
                              FaError *err);
// How the flesh at rest, x of the last pose, would move by forces f: out = H^-1 f (nnode x 3, N and m; may be the
// same). ready: the factor was made here at this x. Codes as above.
FaCode fai_muscle_body_yields(FaMuscleBody *body, const double *x, const double *f, bool ready, double *out,
                              FaError *err);
// The same if the ends of the springs that were set last move by dy (n of the samples x 3, m).
FaCode fai_muscle_body_follow(FaMuscleBody *body, const double *x, const double *dy, bool ready, double *out,
                              FaError *err);
// Rows of contact that push at x, of the last solve: node (of the flesh) and normal that it is pushed along. Returns
// how many of `most` were filled.
typedef struct FaMusclePush {
    int node;
    double normal[3];
} FaMusclePush;
int fai_muscle_body_pushes(const FaMuscleBody *body, const double *x, int most, FaMusclePush *push);

#endif

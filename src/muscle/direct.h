// Directing muscles: what is known of a model once, for all poses that are asked of it: which skin is looked at,
// tracks, and the morph that carries what the skin lacks to the muscles.
#ifndef FAI_DIRECT_H
#define FAI_DIRECT_H

#include "muscle/morph.h"
#include "muscle/muscle_model.h"
#include "muscle/tracks.h"

typedef struct FaMuscleDirector {
    FaMuscleModel *model; // borrowed
    FaMuscleTracks tracks;
    FaMorph *morph;       // known: nodes of the skin and of bones
    int nseen;            // vertices of the rig that are outside, move with some shape, and are nodes of the flesh
    int *seen;            //                                                             (nseen)
    int *seen_node;       // of the flesh                                                (nseen)
    int nlandmark;        // the first of `seen`, far from each other
    unsigned char *known; //                                                           (nnode)
    FaArena *arena;
} FaMuscleDirector;

// landmarks: how many at most; 0: 480 (paper 002, section 4). All zero after failure. Free with
// fai_muscle_director_free.
FaCode fai_muscle_director_new(FaMuscleModel *model, int landmarks, FaMuscleDirector *out, FaError *err);
void fai_muscle_director_free(FaMuscleDirector *director);

// --- inverse activations ------------------------------------------------------------------------------------------

typedef struct FaMuscleInverse {
    int steps;            // of Gauss-Newton
    double before, after; // m: rms of the landmarks at rest with this jaw, and in the end
    double seconds;
} FaMuscleInverse;

// Activations in 0..1, and the jaw, by which landmarks come nearest to goal (m, rig's vertices, nvert x 3): bounded
// Gauss-Newton, sensitivities from the kept factor. jaw: where it begins and is drawn to, in; where it is, out. x: the
// flesh at rest in, posed out (nnode x 3). activation: out. report is nullable. FA_STALLED: what the last solve gave.
FaCode fai_muscle_inverse(FaMuscleDirector *d, const float *goal, FaPose *jaw, double *activation, double *x,
                          FaMuscleInverse *report, FaError *err);

// rms over what is seen of goal - x, m.
double fai_muscle_snap(const FaMuscleDirector *d, const float *goal, const double *x);

// --- expression targeting -----------------------------------------------------------------------------------------

enum { FA_MUSCLE_ROUNDS = FA_MUSCLE_ROUNDS_MOST };
typedef struct FaMuscleAim {
    int rounds;     // at most; 0: 5
    double spring;  // N/m4 of the tracks; 0: 5e9
    bool untouched; // without contact
    FaProgressFn *progress;
    void *progress_user;
} FaMuscleAim;

typedef struct FaMuscleHit {
    FaPose jaw;
    double neutral;                   // m: rms of what is seen, at rest against the goal
    double rms[FA_MUSCLE_ROUNDS + 1]; // raw, then after each round
    int rounds, best;
    int inverted;
    double volume; // of the flesh against that at rest
    FaMuscleInverse raw;
    double seconds;
} FaMuscleHit;

// Muscles that bring the skin to goal: inverse activations, then rounds of: what the skin lacks, spread to the muscles
// by a morph of the deformed flesh, is added to the ends of their tracks, and the flesh is simulated again. The best
// round is kept. jaw as above; activation, track (tracks.npoint x 3, m) and x: out.
FaCode fai_muscle_target(FaMuscleDirector *d, const FaMuscleAim *aim, const float *goal, const FaPose *jaw,
                         double *activation, double *track, double *x, FaMuscleHit *hit, FaError *err);

#endif

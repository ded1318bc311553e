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
    const FaMuscleJawLimits *limits; // of the jaw in inverse activations; NULL: none
    // scratch of solves with tracks
    double *at;            // of the nodes                                               (nnode x 3)
    double *y, *moved, *k; // of the samples: goals, displacements, N/m                  (nsample x 3, x 3, x 1)
    double *track;         //                                                            (npoint x 3)
    FaArena *arena;
} FaMuscleDirector;

// landmarks: how many at most; 0: 480 (paper 002, section 4). All zero after failure. Free with
// fai_muscle_director_free.
FaCode fai_muscle_director_new(FaMuscleModel *model, int landmarks, FaMuscleDirector *out, FaError *err);
void fai_muscle_director_free(FaMuscleDirector *director);
// The model's own, made when first asked for.
FaCode fai_muscle_director(FaMuscleModel *model, FaMuscleDirector **director, FaError *err);

// The place among what is seen of the vertex nearest to a point of the face at rest, m; -1: none is within reach.
int fai_muscle_seen_near(const FaMuscleDirector *director, const double at[3], double reach);
// The same director for goals that are known at some vertices only (known: nvert, NULL: everywhere), or for other
// landmarks (vertices, n of them; 0: the first of what is seen, far from each other): it shares the rest with d, which
// must outlive it. Arrays from the arena; free view->morph where it differs from d's. FA_E_ARG: a landmark that is not
// on the face, or too little that is known.
FaCode fai_muscle_director_view(const FaMuscleDirector *d, const unsigned char *known, int n, const int *landmark,
                                FaArena *arena, FaMuscleDirector *view, FaError *err);

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
#define FA_MUSCLE_SPRING 5e9 // N/m4: of tracks; 5e8 does not hold, 5e10 turns tets inside out
typedef struct FaMuscleAim {
    int rounds;     // at most; 0: 5
    double spring;  // N/m4 of the tracks; 0: 5e9
    bool untouched; // without contact
    FaMuscleBones bones;
    const FaMuscleJawLimits *limits; // with bones limited; NULL: what the rig's shapes do
    int nlandmark;                   // 0: the director's own
    const int *landmark;             // vertices                                          (nlandmark)
    const unsigned char *known;      // where the goal is known; NULL: everywhere         (nvert)
    FaProgressFn *progress;
    void *progress_user;
} FaMuscleAim;

typedef struct FaMuscleHit {
    double neutral;                   // m: rms of what is seen, at rest against the goal
    double rms[FA_MUSCLE_ROUNDS + 1]; // raw, then after each round
    double played;                    // of the pose as it is made from rest: what the result has
    int rounds, best;
    int inverted;
    double volume; // of the flesh against that at rest
    int seen;      // vertices that rms is over
    FaMuscleInverse raw;
    double seconds;
} FaMuscleHit;

// Muscles that bring the skin to goal: inverse activations, then rounds of: what the skin lacks, spread to the muscles
// by a morph of the deformed flesh, is added to the ends of their tracks, and the flesh is simulated again. The best
// round is kept. pose: of fai_directed_new; its jaw is where the search begins; out: all of it, with the snap that is
// left and no weight on it. x: the flesh, out (nnode x 3).
FaCode fai_muscle_target(FaMuscleDirector *d, const FaMuscleAim *aim, const float *goal, FaDirected *pose, double *x,
                         FaMuscleHit *hit, FaError *err);

#endif

// fascia/analytic.h: closed-form dynamics of blendshapes: every shape (or vertex) is a mass on a spring with a damper.
//
// Clips:    fa_method_open("analytic", ...) of fascia/method.h, with maps of your own in its setup.
// Stills:   fa_analytic_response and fa_analytic_slider turn (weight, time) into weights for fa_rig_blend.
// Choosing: fa_candidates_new streams all (or random) combinations of some targets; fa_candidates_save writes those you
//           picked as new shapes of the rig.
// Fitting:  fa_analytic_estimate finds the oscillator from a captured performance.
// Equations and symbols: docs/method/analytic.md.
#ifndef FASCIA_ANALYTIC_H
#define FASCIA_ANALYTIC_H

#include "fascia/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/// m x'' + c x' + k x = f. m > 0, c >= 0, k >= 0.
typedef struct FaOscillator {
    double mass;      // kg
    double damping;   // kg/s
    double stiffness; // kg/s2
} FaOscillator;

/// By what is heard and seen of it: undamped frequency (Hz) and damping ratio (1: critical, below: it overshoots).
FA_API FaOscillator fa_oscillator_of(double mass, double frequency, double ratio);
FA_API double fa_oscillator_frequency(const FaOscillator *o);
FA_API double fa_oscillator_ratio(const FaOscillator *o);               // INFINITY without a spring
FA_API FaCode fa_oscillator_check(const FaOscillator *o, FaError *err); // the ranges above
/// soft, heavy, snappy, firm, jelly: for clips, in seconds. False if there is no such preset.
FA_API bool fa_oscillator_preset(const char *name, FaOscillator *o);

// --- stills: the boundary value problem, at rest in the source at t = 0, in the target at t = 1 ---------------------

/// s(t) = g(t) / g(1), g the response to a force switched on at t = 0; s(0) = s'(0) = 0, s(1) = 1. t >= 0.
/// Refuses (FA_E_NUMERIC) what has no stable answer, |g(1)| below 1/1000 of the largest g on [0, 1], and names a
/// damping nearby that has one.
FA_API FaCode fa_analytic_response(const FaOscillator *o, double t, double *s, FaError *err);
/// The largest s on [0, 1]: 1 where it does not overshoot. 0 if the problem is refused.
FA_API double fa_analytic_overshoot(const FaOscillator *o);

/// One source and n targets, each with its own weight and time: out[i] = weight[i] * s(time[i]), to be blended
/// linearly.
FA_API FaCode fa_analytic_slider(const FaOscillator *o, int n, const double *weight, const double *time, float *out,
                                 FaError *err);

/// The same, prepared for speed: targets laid out flat. x (nvert x 3, m) = source + sum of weight[i] s(time[i]) (target
/// i - source); the same bits as fa_rig_blend with the weights of fa_analytic_slider. The rig must outlive it. No
/// allocation in eval; any thread.
typedef struct FaSlider FaSlider;
FA_API FaCode fa_slider_new(const FaRig *rig, const FaOscillator *o, int n, const int *target, FaSlider **slider,
                            FaError *err);
FA_API void fa_slider_eval(const FaSlider *slider, const double *weight, const double *time, float *x); // n of each
FA_API void fa_slider_free(FaSlider *slider);                                                           // NULL is fine

typedef enum FaForceKind { FA_FORCE_CONSTANT, FA_FORCE_LINEAR, FA_FORCE_SINE } FaForceKind;
/// A sculpting force, in units of the stiffness: a constant one of size 1 comes to rest at displacement 1.
typedef struct FaForce {
    FaForceKind kind;
    double size;  // constant: the force; linear: its growth per s; sine: its amplitude
    double rate;  // sine: Hz
    double phase; // sine: rad
} FaForce;
/// Displacement at time t >= 0 under a force that sets in at t = 0, from rest. Closed form, exact at resonance too.
/// With stiffness 0 the force is taken as it is.
FA_API double fa_analytic_force(const FaOscillator *o, const FaForce *force, double t);
/// "constant:0.3", "linear:0.1", "sine:0.2:4" (amplitude, Hz) or "sine:0.2:4:90" (phase in degrees).
FA_API FaCode fa_force_parse(const char *text, FaForce *force, FaError *err);

// --- clips --------------------------------------------------------------------------------------------------------

/// A push on a place: the force in a direction, on each vertex as much as it reaches it.
typedef struct FaHandle {
    FaForce force;       // a constant one of size 1 comes to rest at 1 m
    double direction[3]; // of length 1; canonical: x the subject's left, y up, z front
    float *reach;        // 0..1                                                       (nvert)
} FaHandle;

/// What differs over the face; all nullable. `shape` and `vertex` exclude each other.
typedef struct FaMaps {
    FaOscillator *shape;  // one per shape                                             (nshape)
    FaOscillator *vertex; // one per vertex                                            (nvert)
    float *gain;          // how much of the head's acceleration a vertex feels, 0..1  (nvert)
    FaHandle *handle;     //                                                           (nhandle)
    int nhandle;
} FaMaps;

/// Read maps (JSON, docs/guide/blend.md) for a rig; what they leave open is `base`. Free with fa_analytic_maps_free.
/// Saving writes springs and gains, no handles.
FA_API FaCode fa_analytic_maps_load(const char *path, const FaRig *rig, const FaOscillator *base, FaMaps *maps,
                                    FaError *err);
FA_API FaCode fa_analytic_maps_save(const FaMaps *maps, const FaRig *rig, const char *path, FaError *err);
FA_API void fa_analytic_maps_free(FaMaps *maps);
/// The gain used where none is given: how far the soft shapes of the rig (not eyes, not tongue) move a vertex, 0..1.
/// (nvert)
FA_API void fa_analytic_gain(const FaRig *rig, float *gain);

/// A still under maps and forces: every target has its own weight and moment, forces have acted for `time`.
typedef struct FaStill {
    int n;
    const int *shape;     // n of each; a shape may come several times
    const double *weight; //
    const double *moment; // >= 0
    const char *sculpt;   // "NAME=FORCE,..." as the method's parameter; nullable
    const FaMaps *maps;   // nullable
    double time;          // of sculpt and the maps' handles, >= 0
} FaStill;
/// weights (nshape): what the shapes come to; x (nvert x 3, m, rig's frame): the surface, with springs by vertex and
/// handles, too. Refuses as fa_analytic_response does.
FA_API FaCode fa_analytic_still(const FaRig *rig, const FaOscillator *o, const FaStill *still, float *weights, float *x,
                                FaError *err);

// --- choosing -----------------------------------------------------------------------------------------------------

/// Combinations of n targets on `levels` levels, without the empty one: levels^n - 1; 0 if that passes 2^63.
FA_API uint64_t fa_explore_count(int n, int levels);
/// Weights of combination i (from 0), first target fastest. Divided by their sum unless raw. weight: n.
FA_API void fa_explore_weights(int n, int levels, uint64_t i, bool raw, double *weight);

/// Partial permutations of 1..n, r = 1..n of them: sum of n!/(n-r)!; 0 for n < 1 and n > 20.
FA_API uint64_t fa_permutation_count(int n);
/// Permutation i (from 1, in the paper's order), never from a table. number: n, 0 where nothing is taken.
FA_API void fa_permutation_at(int n, uint64_t i, int *number);
/// Draw `i` (from 0) of a seeded sequence without repetitions over 1..count.
FA_API uint64_t fa_draw(uint64_t seed, uint64_t count, uint64_t i);

typedef struct FaCandidateOptions {
    const int *target; // shapes to combine                                           (ntarget)
    int ntarget;
    const int *slider; // which of them are one, such as two halves of a shape: numbers from 0 on, rising by at most 1;
                       // NULL: each is its own                                      (ntarget)
    const char *const *name; // of sliders, for labels; borrowed as long as candidates live; NULL: their first shapes'
    int levels;              // 2..1000: all combinations; 0: random ones
    bool raw;                // do not divide the weights of a combination by their sum
    uint64_t seed;           // of random ones
    uint64_t draws;          // how many random ones; 0: 50
    const double *time;      // moments, 0..1; NULL: only 1                                 (ntime)
    int ntime;
    uint64_t limit; // refuse more than this; 0: 1,000,000
} FaCandidateOptions;
FA_API FaCandidateOptions fa_candidate_options_default(void); // draws and limit; targets are the caller's

typedef struct FaCandidates FaCandidates;
/// Blended shapes, made one at a time: memory does not grow with their number. The rig must outlive them.
FA_API FaCode fa_candidates_new(const FaRig *rig, const FaOscillator *o, const FaCandidateOptions *options,
                                FaCandidates **c, FaError *err);
FA_API void fa_candidates_free(FaCandidates *c);
FA_API uint64_t fa_candidates_count(const FaCandidates *c);                           // combinations times moments
FA_API void fa_candidates_weights(const FaCandidates *c, uint64_t i, float *weights); // per shape of the rig (nshape)
/// "17: jawOpen 0.50, cheekPuff 0.50, t 0.20, order 2 1": its number, the weights that are not 0; the moment if it is
/// not 1 for all; of random ones the permutation that the weights come from.
FA_API void fa_candidates_label(const FaCandidates *c, uint64_t i, char *text, size_t size);
FA_API double fa_candidates_time(const FaCandidates *c, uint64_t i); // its moment
/// Sliders: their number, the name of one, its weight before the response, and its number in a random candidate's
/// permutation (0: not in it, or not a random one).
FA_API int fa_candidates_sliders(const FaCandidates *c);
FA_API const char *fa_candidates_slider(const FaCandidates *c, int slider);
FA_API void fa_candidates_mixture(const FaCandidates *c, uint64_t i, double *weight, int *order);
/// One frame each, for sheets, pages and caches; borrowed from c.
FA_API FaSequence *fa_candidates_sequence(FaCandidates *c);
/// Write the rig with the picked ones as further shapes ("blend_17"). .glb, .gltf, .usda or a folder of OBJ. Atomic.
FA_API FaCode fa_candidates_save(const FaCandidates *c, const uint64_t *pick, int npick, const char *path,
                                 FaError *err);

// --- fitting ------------------------------------------------------------------------------------------------------

typedef struct FaEstimateOptions {
    double mass; // only c/m and k/m show in a motion; 0: 1 kg
    bool per_vertex;
    bool everywhere; // lids, lips and teeth lag too: the capture is of a face without regions (blend --regions off)
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaEstimateOptions;
FA_API FaEstimateOptions fa_estimate_options_default(void); // mass 1 kg

typedef struct FaEstimate {
    FaOscillator oscillator;             // of the whole face
    double frequency, ratio;             // the same, Hz and damping ratio
    double frequency_error, ratio_error; // relative, one standard deviation
    double residual_mm;                  // rms distance of the capture from the fitted motion
    double linear_mm;                    // ... from the rig without dynamics
    double explained;                    // share of the difference to linear that the fit explains, 0..1
    int frames, vertices;                // used
    FaOscillator *vertex; // per vertex; where it cannot be told: the whole face's; NULL unless asked for (nvert)
    unsigned char *known; // 1 where it was told                                                          (nvert)
    int vertices_known;
} FaEstimate;

/// Fit the oscillator by least squares to captured frames of the rig under the clip's weights (frames are matched by
/// time). Fails with FA_E_NUMERIC where the capture does not tell: nothing moves, it moves as the rig alone does, or
/// the motion is too slow.
FA_API FaCode fa_analytic_estimate(const FaRig *rig, const FaClip *clip, FaSequence *captured,
                                   const FaEstimateOptions *options, FaEstimate *out, FaError *err);
FA_API void fa_estimate_free(FaEstimate *e);
FA_API FaCode fa_estimate_json(const FaEstimate *e, char **json, FaError *err); // free with fa_free

#ifdef __cplusplus
}
#endif
#endif

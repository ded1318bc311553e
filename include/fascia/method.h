// fascia/method.h: one interface for every way to move a face: linear blending, analytic dynamics, and those to come.
//
// Typical order, offline:
//     FaParams *params;  fa_params_new("analytic", &params, &err);  fa_params_set(params, "preset", "soft", &err);
//     FaMethod *method;  fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = params}, &method, &err);
//     FaRun    *run;     fa_run_new(method, clip, &run, &err);
//     fa_sequence_save(fa_run_sequence(run), "out.glb", &options, &report, &err);
//     fa_run_free(run);  fa_method_close(method);  fa_params_free(params);
// Live: fa_method_step per frame, whatever the input comes from: weights, markers (fa_marker_map_bind once, and the
// method "blendforces"), or a camera (fascia/camera.h).
// Nothing is allocated in a step. The result does not depend on the number of threads. One thread per method.
#ifndef FASCIA_METHOD_H
#define FASCIA_METHOD_H

#include "fascia/face.h"
#include "fascia/markers.h"
#include "fascia/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- parameters ---------------------------------------------------------------------------------------------------

typedef enum FaParamType {
    FA_PARAM_NUMBER,
    FA_PARAM_INT,
    FA_PARAM_FLAG,   // 0 or 1; "on", "off" in text
    FA_PARAM_CHOICE, // one of `choices`; the value is its index
    FA_PARAM_TEXT,   // free text, e.g. a file's path
} FaParamType;

/// One row of a method's table: it yields the default, the check, --help, the JSON and the documentation.
typedef struct FaParamInfo {
    const char *name;
    FaParamType type;
    double value;        // default; NAN: not given, the help says what happens then
    double min, max;     // of numbers; inclusive
    const char *unit;    // "kg", "1/s", "" if none
    const char *choices; // "soft|heavy|..."; of a text: what it holds, "FILE.json"; NULL else
    const char *help;
} FaParamInfo;

/// The rows of a method, ended by a NULL name; NULL if there is no such method.
FA_API const FaParamInfo *fa_method_params(const char *method);
/// Stages of a face that it simulates, FA_NEED_... together, for fa_face_get; 0: it needs none, or there is no such
/// method.
FA_API unsigned fa_method_needs(const char *method);

typedef struct FaParams FaParams;
FA_API FaCode fa_params_new(const char *method, FaParams **params, FaError *err); // all at their defaults
FA_API void fa_params_free(FaParams *params);                                     // NULL is fine
/// Set by text, as from the command line. Fails on an unknown name (the nearest is named) and on a value out of range.
FA_API FaCode fa_params_set(FaParams *params, const char *name, const char *text, FaError *err);
FA_API FaCode fa_params_set_number(FaParams *params, const char *name, double value, FaError *err);
/// The value of a number, flag or choice; NAN for an unknown name and for what was not given.
FA_API double fa_params_get(const FaParams *params, const char *name);
FA_API const char *fa_params_text(const FaParams *params, const char *name); // of a text; "" if not given
/// All values as one JSON object, and back: members that the method does not know fail with their name.
FA_API FaCode fa_params_json(const FaParams *params, char **json, FaError *err); // free with fa_free
FA_API FaCode fa_params_read(FaParams *params, const char *json, FaError *err);

// --- methods ------------------------------------------------------------------------------------------------------

/// What drives one frame, from a file or from a tracker alike.
typedef struct FaInput {
    double time;              // s, increasing
    const float *weights;     // per shape of the rig; of "blendforces" nullable           (nshape)
    FaPose head;              // world from head, canonical as in clips; all 0: the head is still
    const FaMarkers *markers; // of "blendforces": they drive instead of weights; nullable
    const float *target; // the surface wanted in place of the rig's at these weights, m, head frame (nvert x 3): of
                         // "projective"; weights still move the jaw; nullable
} FaInput;

/// What a step did.
typedef struct FaStats {
    double seconds; // of this step
    int iterations; // of a solver; 0 for closed forms
    double residual;
    int clamped;    // things limited on the way
    int limited;    // vertices that were beyond what a face can do, or tore, and were blended back towards linear
    double worst;   // m: how far from linear they would have been; 0: none
    double skipped; // s: of a gap between this input and the last, over 5 s, that was not simulated
    int held;       // steps in which the skin would go too far for contact to follow: it stayed where it was
    int unsolved;   // of a solver: solves that ended before their goal
} FaStats;

typedef struct FaMethod FaMethod;

FA_API const char *const *fa_method_names(void);     // NULL-terminated: "linear", "analytic", ...
FA_API const char *fa_method_help(const char *name); // one line; NULL if there is no such method

typedef enum FaColliderFrame {
    FA_COLLIDER_AUTO,  // with a motion: the world; without: the head
    FA_COLLIDER_HEAD,  // poses are against the head, which carries the collider along: a mask, glasses
    FA_COLLIDER_WORLD, // the head moves and the collider does not follow: a hand, a pillow
} FaColliderFrame;

/// A rigid mesh that pushes the skin.
typedef struct FaCollider {
    const FaRig *mesh;    // of fa_collider_load: in the rig's frame and unit, faces outwards; best closed
    const FaClip *motion; // its pose over time, `head` of a clip; NULL: it stands still. Poses are canonical, as heads
                          // have them, and say how it moves from its own place, which is the pose 0
    bool in_file;         // poses are where its vertices are in the world of the rig's file (fa_rig_pose of a .glb's
                          // clip): a node's animation has its place in it, and what it carries need not have a front
    FaColliderFrame frame;
} FaCollider;

/// The mesh of a collider, .obj, .glb, ...: read in the rig's unit, whatever its size. Free with fa_rig_free, any time
/// after the method is open.
FA_API FaCode fa_collider_load(const char *path, const FaRig *rig, FaRig **mesh, FaError *err);

/// Everything a method may be opened with. What a method has no use for is refused by its name, not passed over.
typedef struct FaMethodSetup {
    const FaRig *rig;           // borrowed, must outlive the method
    const FaFace *face;         // borrowed likewise; NULL: by the parameter `face`, or built with what the method needs
    const FaParams *params;     // made for this method; read while opening; NULL: defaults
    const FaCollider *collider; // at most 16; read while opening                              (ncollider)
    int ncollider;
    const struct FaMaps *maps;  // values by shape or vertex (fascia/analytic.h); copied; NULL: by the parameter `maps`
    const FaMarkerMap *markers; // where an input's markers sit on the rig (fa_marker_map_bind); borrowed, must outlive
                                // the method; NULL: by the parameter `map`
} FaMethodSetup;

/// *method is NULL on failure. Close with fa_method_close.
FA_API FaCode fa_method_open(const char *name, const FaMethodSetup *setup, FaMethod **method, FaError *err);
FA_API void fa_method_close(FaMethod *method); // NULL is fine
FA_API const char *fa_method_name(const FaMethod *method);
FA_API const FaRig *fa_method_rig(const FaMethod *method);
FA_API const FaNotes *fa_method_notes(const FaMethod *method); // what was odd in its set-up

/// Come to rest under this input: the state and the surface (nvert x 3, m, head frame) if it had lasted for ever.
FA_API FaCode fa_method_reset(FaMethod *method, const FaInput *in, float *surface, FaError *err);
/// Advance to this input's time. stats is nullable. Without a reset before, the first step is one. A time that is not
/// later than the last fails with FA_E_ARG and changes nothing.
FA_API FaCode fa_method_step(FaMethod *method, const FaInput *in, float *surface, FaStats *stats, FaError *err);

/// What the last step found, as the input of a method that comes after this one: its surface becomes the target, and
/// weights and head are those that go with it (of "blendforces" driven by markers what it found in them, else those of
/// `in`, its own input). Valid until the next step:
///     fa_method_step(control, &in, goal, NULL, &err);
///     FaInput then = fa_method_next(control, &in, goal);
///     fa_method_step(flesh, &then, surface, NULL, &err);
FA_API FaInput fa_method_next(const FaMethod *method, const FaInput *in, const float *surface);

/// The state between two steps: its size (constant once open), a copy out, a copy in, and its fingerprint. What was
/// saved by a method may be loaded into any that was opened with the same rig and parameters.
FA_API size_t fa_method_state_size(const FaMethod *method);
FA_API void fa_method_save(const FaMethod *method, void *state);
FA_API FaCode fa_method_load(FaMethod *method, const void *state, size_t size, FaError *err);
FA_API uint64_t fa_method_hash(const FaMethod *method);

// --- a method driven by a clip ------------------------------------------------------------------------------------

typedef struct FaRun FaRun;

typedef struct FaRunStats {
    int frames;     // steps made, those made again after going back included
    double seconds; // spent in them
    double slowest; // s, of one step
    int clamped;    // sum over the steps
    int worst_iterations;
    int limited, first_limited;   // frames with vertices that were blended back (FaStats), and the first of them
    double worst_limited;         // m: how far off one would have been
    int gaps, first_gap;          // frames after a gap that was not simulated, and the first of them
    double longest_gap;           // s
    int held, first_held;         // frames with steps in which the skin was held (FaStats), and the first of them
    int unsolved, first_unsolved; // frames with solves that ended before their goal, and the first of them
} FaRunStats;

/// Play a clip (NULL: the rig's own, or its rest as one frame) through a method. Method and clip must outlive the run.
FA_API FaCode fa_run_new(FaMethod *method, const FaClip *clip, FaRun **run, FaError *err);
/// The same with a surface for each frame (FaInput.target): as many frames as the clip has, of the rig's vertices. It
/// is borrowed and must outlive the run, and is read forwards but after going back.
FA_API FaCode fa_run_new_target(FaMethod *method, const FaClip *clip, FaSequence *target, FaRun **run, FaError *err);
/// At another rate than the clip's: weights are sampled between its frames, the head's motion is still the clip's own.
/// fps 0: its own.
FA_API FaCode fa_run_new_fps(FaMethod *method, const FaClip *clip, double fps, FaRun **run, FaError *err);
FA_API void fa_run_free(FaRun *run); // and its sequence; NULL is fine
/// The frames, made when read, in any order: going back restores a stored state and repeats from there, to the same
/// bits. Borrowed from the run.
FA_API FaSequence *fa_run_sequence(FaRun *run);
FA_API const FaClip *fa_run_clip(const FaRun *run); // NULL if the rig is at rest
FA_API FaRunStats fa_run_stats(const FaRun *run);
/// What its user should know of the frames made so far: those that were limited. Borrowed from the run.
FA_API const FaNotes *fa_run_notes(FaRun *run);

#ifdef __cplusplus
}
#endif
#endif

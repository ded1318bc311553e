// Inside of methods: the table that each of them fills, its parameters, and its state as one stream.
#ifndef FAI_METHOD_H
#define FAI_METHOD_H

#include "base/base.h"
#include "fascia/method.h"

// The state of a method, walked once by its `state` function: measured, saved, loaded or hashed.
typedef enum FaStreamMode { FA_STREAM_SIZE, FA_STREAM_SAVE, FA_STREAM_LOAD, FA_STREAM_HASH } FaStreamMode;
typedef struct FaStream {
    FaStreamMode mode;
    unsigned char *at; // saving, loading: the next byte
    size_t size;       // bytes walked
    uint64_t hash;
} FaStream;
void fai_stream(FaStream *s, void *data, size_t size);

// Of a setup, what a method has a use for; the rest is refused.
enum { FA_TAKES_FACE = 1, FA_TAKES_COLLIDERS = 2, FA_TAKES_MAPS = 4, FA_TAKES_MARKERS = 8 };

typedef struct FaMethodOps {
    const char *name;
    const char *help;          // one line
    const FaParamInfo *params; // ended by a NULL name
    unsigned needs;            // stages of the face, FA_NEED_... (fascia/face.h); 0: it has no face
    size_t size;               // of the method's own struct, which begins with FaMethod
    unsigned takes;            // FA_TAKES_* of the setup
    // Prepare m (zeroed, head filled in); setup->params is there. On failure close is called.
    FaCode (*open)(FaMethod *m, const FaMethodSetup *setup, FaError *err);
    FaCode (*reset)(FaMethod *m, const FaInput *in, float *surface, FaError *err);
    FaCode (*step)(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err);
    void (*state)(FaMethod *m, FaStream *s);
    // Weights and head (canonical) that the last step found in its input, where that is more than what it was given;
    // nullable.
    void (*found)(const FaMethod *m, FaInput *next);
    // How far the present state is from a saved one, m: positions, and what velocities make in a step. NULL: only equal
    // bytes are near.
    double (*distance)(const FaMethod *m, const void *state);
    // The rig's own surface at the last input, m (nvert x 3), where the method has it at hand. NULL: it is blended
    // anew.
    const float *(*linear)(const FaMethod *m);
    // The frame was limited (method/bounds.h): of its way from linear each vertex keeps a share, 0..1 (nvert). NULL:
    // the state stays as it is.
    void (*limited)(FaMethod *m, const float *keep);
    void (*close)(FaMethod *m); // what open allocated, not m itself
} FaMethodOps;

struct FaMethod {
    const FaMethodOps *ops;
    const FaRig *rig;
    FaNotes notes;
    bool started; // there is a state to step from
    double time;  // of the last input
    // the head's motion as a whole, while a run that knows it steps (method/run.h); NULL: differences of the poses so
    // far
    const struct FaPoseCurve *motion;
    const FaFace *face;      // of fai_method_face; NULL: none
    FaFace *own_face;        // the same where it was loaded or made here; closing frees it
    struct FaBounds *bounds; // of its frames
    FaStats rested;          // of the last reset
    uint64_t inputs;         // fingerprint of what it was opened with beside parameters (face, colliders); 0: nothing
};

extern const FaMethodOps fai_method_linear, fai_method_analytic, fai_method_projective, fai_method_enrich,
    fai_method_blendforces, fai_method_muscle, fai_method_volumetric, fai_method_neural;

const FaMethodOps *fai_method_ops(const char *name); // NULL: there is no such method
// One more method, for those that are not part of the library. ops must stay; at most 8.
FaCode fai_method_add(const FaMethodOps *ops, FaError *err);

// Infinite where the bytes differ and the method does not know a distance.
double fai_method_distance(FaMethod *m, const void *state);

// The method's face: the setup's, else the file named by parameter `at`, else made with what the method needs. flesh:
// the parameter that asks for filled flesh, -1: none; a face that is given must have it then. It fits the rig, and is
// part of `inputs`.
FaCode fai_method_face(FaMethod *m, const FaMethodSetup *setup, int at, int flesh, FaError *err);

const FaParamInfo *fai_params_table(const FaParams *params); // whose they are
// A method's parameters, written once: LIST is a macro of rows X(type, name, value, min, max, unit, choices, help). It
// yields the rows (table) and their positions (P_name).
#define FAI_PARAM_PLACE(type, name, value, min, max, unit, choices, help) P_##name,
#define FAI_PARAM_ROW(type, name, value, min, max, unit, choices, help)                                                \
    {#name, FA_PARAM_##type, value, min, max, unit, choices, help},
#define FAI_PARAMS(table, LIST)                                                                                        \
    enum { LIST(FAI_PARAM_PLACE) };                                                                                    \
    static const FaParamInfo table[] = {LIST(FAI_PARAM_ROW){0}}
// By position in the table: what a method's open reads.
double fai_params_at(const FaParams *params, int i);
const char *fai_params_text_at(const FaParams *params, int i); // "" if not given

#endif

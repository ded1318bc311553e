// A clip through a method and into a file: what the verbs that simulate share, options and all.
#ifndef FASCIA_SIMULATE_H
#define FASCIA_SIMULATE_H

#include "load.h"

#include "fascia/method.h"

typedef struct OutOptions {
    double bake_error;
    int max_targets;
    bool world, check;
} OutOptions;
extern OutOptions out_options;

#define OUT_OPTIONS                                                                                                    \
    {"world", 0, OPT_FLAG, &out_options.world, NULL, 0, 0, "point caches in world space: the head's motion applied"},  \
        {"bake-error", 0,    OPT_NUM, &out_options.bake_error,                                                         \
         "MM",         1e-6, 1000,    "largest error of motion baked into a .glb (0.05)"},                             \
        {"max-targets", 0, OPT_INT, &out_options.max_targets,                                                          \
         "N",           1, 2000,    "at most this many morph targets added to a .glb (512)"},                          \
    {                                                                                                                  \
        "check", 0, OPT_FLAG, &out_options.check, NULL, 0, 0, "count intersecting triangles too (slower)"              \
    }

bool path_has_ext(const char *path, const char *ext);
bool path_is_picture(const char *path);
FaCode load_rig(const char *path, FaRig **rig, FaError *err);

// Write frames in the format of the path: caches, glb, pictures, pages. `before` (nullable) is shown beside it in
// pages.
typedef struct OutFrames {
    const FaRig *rig;
    FaSequence *seq, *before;
    const FaClip *clip; // goes with the frames; nullable
    const char *name;   // of the track: "analytic"
    const char *verb;   // "blend"
    const char *generator;
    bool sheet; // a picture shows all frames, not one
} OutFrames;
// Frames that cost time, made once: in a file beside the output that recording_free removes.
typedef struct Recording {
    char path[4096]; // "" if none
    FaSequence *seq; // reads it
} Recording;
FaCode recording_make(FaSequence *frames, const FaRig *rig, const FaClip *clip, Recording *rec, FaError *err);
void recording_free(Recording *rec);

FaCode out_save(const OutFrames *frames, const char *path, FaBakeReport *bake, FaError *err);

// clip_path is nullable: the rig's own animation. params are made for the method.
typedef struct Simulation {
    const char *verb, *method;
    const char *rig_path, *clip_path;
    FaParams *params;
    bool slow;           // frames cost time: simulated once, into a file beside the output that is removed at the end
    const char *no_clip; // what to give when there is neither clip nor animation
} Simulation;
int simulate_clip(const Simulation *s); // the program's exit code

#endif

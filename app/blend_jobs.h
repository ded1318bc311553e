// What `fascia blend` can do, one function each; its options.
#ifndef FASCIA_BLEND_JOBS_H
#define FASCIA_BLEND_JOBS_H

#include "simulate.h"

#include "fascia/analytic.h"

typedef struct BlendOptions {
    const char *weights, *time, *targets, *pick, *estimate;
    const char *preset, *mass, *damping, *stiffness, *frequency, *ratio, *head, *gravity, *maps, *sculpt;
    int slider, explore, random, limit;
    bool raw, per_vertex;
} BlendOptions;
extern BlendOptions blend;

// Each returns the program's exit code. clip_path is nullable: the rig's own animation.
int blend_clip(const char *rig_path, const char *clip_path);
int blend_still(const char *rig_path);
int blend_choose(const char *rig_path);
int blend_estimate(const char *rig_path, const char *clip_path);

// Shared: a shape by name; the oscillator of a still; text of a number list.
int blend_shape(const FaRig *rig, const char *name, size_t n); // -1, and a message, if there is none
bool blend_number(const char *text, size_t n, double *v);
bool blend_oscillator(FaOscillator *o); // false, and a message, if it is wrong
FaParams *blend_params(FaError *err);   // of the method; NULL on failure

#endif

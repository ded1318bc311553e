// What `fascia blend` can do, one function each; its options.
#ifndef FASCIA_BLEND_JOBS_H
#define FASCIA_BLEND_JOBS_H

#include "job.h"

typedef struct BlendOptions {
    const char *weights, *time, *targets, *pick, *estimate, *head;
    int slider, explore, random, limit, every, tiles, page;
    bool raw, per_vertex;
} BlendOptions;
extern BlendOptions blend;

// Each returns the program's exit code. clip_path is nullable: the rig's own animation.
int blend_still(const char *rig_path);
int blend_choose(const char *rig_path);
int blend_sliders(const char *rig_path);
int blend_estimate(const char *rig_path, const char *clip_path);

// The shapes that a name means (fa_rig_shapes_named); a number; the oscillator of a still, in its time of 0 to 1.
FaCode blend_shapes(const FaRig *rig, const char *name, size_t n, int shape[FA_NAMED_MOST], int *count, FaError *err);
bool blend_number(const char *text, size_t n, double *v);
void blend_oscillator(FaOscillator *o);
bool blend_spring_given(void); // by number or map: where it cannot show, that is said
// One frame per set of weights (frame x shape, to be filled), of the rig's shapes.
FaCode blend_clip_new(const FaRig *rig, int nframe, FaClip **clip, FaError *err);

#endif

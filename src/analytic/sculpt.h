// Sculpting forces on shapes, as a user writes them.
#ifndef FAI_SCULPT_H
#define FAI_SCULPT_H

#include "base/base.h"
#include "fascia/analytic.h"

typedef struct FaSculpt {
    int shape;
    FaForce force;
} FaSculpt;

typedef struct FaSculpts {
    FaSculpt *sculpt;
    int count, room;
} FaSculpts;

// "jawOpen=constant:0.3,cheekPuff=sine:0.2:4"; "" is none. Shapes by their own name, then by their ARKit name.
FaCode fai_sculpts_parse(const char *text, const FaRig *rig, FaSculpts *out, FaError *err);
void fai_sculpts_free(FaSculpts *s);
int fai_shape_find(const FaRig *rig, const char *name, size_t n); // -1 if there is none

#endif

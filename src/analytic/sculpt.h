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

// "jawOpen=constant:0.3,cheekPuff=sine:0.2:4"; "" is none. A name is all shapes that it means.
FaCode fai_sculpts_parse(const char *text, const FaRig *rig, FaSculpts *out, FaError *err);
void fai_sculpts_free(FaSculpts *s);

#endif

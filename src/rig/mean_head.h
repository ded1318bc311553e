// Where a rig's points would be on the mean adult's head, and what anatomy says of places there.
#ifndef FAI_MEAN_HEAD_H
#define FAI_MEAN_HEAD_H

#include "base/base.h"
#include "fascia/rig.h"

// From the rig's frame to the mean head: canonical axes, then scale and offset from eyes and mouth.
typedef struct FaMeanHead {
    bool found;                          // eyes and mouth are; else there is only the size
    double axes[9], scale[3], offset[3]; // mm = scale * (axes * x) + offset
    double size;                         // of the head against the mean adult's: by eyes and mouth, else its height
} FaMeanHead;
FaMeanHead fai_mean_head_find(const FaRig *rig);
// mm on the mean head (x left, y up, z front, origin between the condyles) of a point of the rig, m. False if not
// found.
bool fai_mean_head_mm(const FaMeanHead *head, const float x[3], double mm[3]);

// What is known at places of the left side, mm, holds for both; smooth between them.
typedef struct FaMeanValue {
    float x, y, z, value;
} FaMeanValue;
double fai_mean_head_mix(const FaMeanValue *known, int n, const double mm[3]);

#endif

// The skin of the mean head at one level of subdivision, with the charts that shapes are written in.
#ifndef FAI_HEAD_SKIN_H
#define FAI_HEAD_SKIN_H

#include "head/cage.h"
#include "head/subdivide.h"

// The left eye of the mean head, mm.
#define EYE_X 31.5
#define EYE_Y 28.0
#define EYE_Z 61.5
#define EYE_R 12.1
#define LID_GAP 0.25 // between the inner lid and the eye

typedef struct FaiSkin {
    FaiQuads mesh; // val: limit positions (mm) and channels, see CAGE_*
} FaiSkin;

// level 0, 1, 2: one, two, three subdivisions of the cage.
FaCode fai_skin_build(FaArena *arena, int level, FaiSkin *skin, FaError *err);

// Radius of the eye at cos_gaze = cosine of the angle from its axis: a sphere with the cornea's bulge.
double fai_eye_radius(double cos_gaze);

// The crease of the open upper lid and the fold over it: mm outward from the eye, by place in the lid's chart.
double fai_lid_crease(double row, double up);

// Height of the face in which the lips of the mean head meet, mm.
double fai_seam_y(double x);

static inline double fai_smooth(double a, double b, double x) {
    double t = (x - a) / (b - a);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

#endif

// Who it is: a smooth warp of space that takes the mean head to one person's.
#ifndef FAI_HEAD_IDENTITY_H
#define FAI_HEAD_IDENTITY_H

#include "base/base.h"
#include "fascia/head.h"

typedef struct FaiWarp {
    double value[FA_HEAD_IDENTITY_COUNT];
    double shift[3];  // brings the condyles back onto the x axis, mm
    double eye[3];    // centre of the left eye after the warp, mm
    double eye_scale; // eyes and lids keep their form: a similarity about that centre
    double eye_turn;  // radians about z, left eye
    double joint;     // x of the left condyle, mm
    double reach;     // joints to lower incisors against the mean head's: how far its jaw slides
    bool mean;        // all values are 0
} FaiWarp;

void fai_warp_begin(FaiWarp *warp, const double value[FA_HEAD_IDENTITY_COUNT]);
// Where a point of the mean head goes, mm. bone: flesh-only parameters are left out. inner: how far it lies inside the
// mouth, which goes with the bones. ear: share of the ear's own motion.
void fai_warp_point(const FaiWarp *warp, const double p[3], bool bone, double inner, double ear, double out[3]);
// How much fat lies under the skin there, in standard deviations beyond the mean.
double fai_warp_fat(const FaiWarp *warp, const double p[3]);
// The mean head's eye frame to this person's: similarity about the eye (side +1 left, -1 right).
void fai_warp_eye(const FaiWarp *warp, int side, const double p[3], double out[3]);

#endif

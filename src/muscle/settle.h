// A muscle that the warp left partly in bone, in the eye or in front of the skin, moved into the flesh.
//
// Points of the solid that are in no tet are drawn to the nearest flesh, those that are in it stay, and the lattice
// follows both smoothly. Where flesh is thinner than the muscle it becomes thinner. What would fold it, or leave less
// than a third of it, is not done.
#ifndef FAI_SETTLE_H
#define FAI_SETTLE_H

#include "muscle/bspline.h"
#include "muscle/flesh_inside.h"

typedef struct FaMuscleSettled {
    double before, after; // share of it in flesh
} FaMuscleSettled;

size_t fai_muscle_settle_work(const FaBspline *solid); // doubles of scratch
// unit: m of the face for a millimetre of an adult's; held: origin and insertion are on bone, and stay; longer: share
// of its length that moving its edges may add or take. Thread-safe, no allocation; same bits every time.
void fai_muscle_settle(const FaFleshInside *flesh, double unit, const bool held[2], double longer, FaBspline *solid,
                       double *work, FaMuscleSettled *out);
// Share of the solid that is in flesh.
double fai_muscle_share(const FaFleshInside *flesh, const FaBspline *solid);
// What is inside out; lattices of one side and the other differ in sense, so it is the lesser part.
double fai_muscle_folded(const FaBspline *solid);

#endif

// Is a point in the flesh, and where is the nearest flesh? For muscles, which should lie in it (place.c, sample.c).
#ifndef FAI_FLESH_INSIDE_H
#define FAI_FLESH_INSIDE_H

#include "base/base.h"

typedef struct FaMuscleFlesh {
    int nnode, ntet;
    const double *x; // rest, m                                                    (nnode x 3)
    const int *tet;  // of positive volume                                         (ntet x 4)
} FaMuscleFlesh;

typedef struct FaFleshInside FaFleshInside;

// The flesh is borrowed. *inside is NULL after failure: FA_E_MEMORY. Free with fai_flesh_inside_free (NULL is fine).
FaCode fai_flesh_inside_new(const FaMuscleFlesh *flesh, FaFleshInside **inside, FaError *err);
void fai_flesh_inside_free(FaFleshInside *inside);
bool fai_flesh_has(const FaFleshInside *inside, const double x[3]); // thread-safe, as the next one
// The nearest point of the flesh's surface and the way to it, m; INFINITY: none within reach.
double fai_flesh_near(const FaFleshInside *inside, const double x[3], double reach, double on[3]);

#endif

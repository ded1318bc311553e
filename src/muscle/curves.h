// How long a muscle is for how strongly it pulls (paper 002, section 4): a track that was edited says how long its
// muscle is, and this how strongly it pulls then.
#ifndef FAI_CURVES_H
#define FAI_CURVES_H

#include "base/text.h"
#include "muscle/directed.h"

enum { FA_CURVE_LEVELS = 6 }; // poses of one muscle alone, beside rest

// The solid of a muscle whose control points are `track` (its own, points x 3) away from rest; c: room for them.
FaBspline fai_muscle_posed_solid(const FaMuscle *muscle, const double *track, double *c);
double fai_muscle_posed_length(const FaMuscle *muscle, const double *track, double *c); // m: of the fibre in its middle

// --- tables -------------------------------------------------------------------------------------------------------

// Curves by name, as a file has them.
typedef struct FaCurveTable {
    int n;
    char (*name)[48];
    FaMuscleCurve *curve;
    FaArena *arena;
} FaCurveTable;
// All zero after failure. Free with fai_curve_table_free.
FaCode fai_curve_table_parse(const char *json, size_t size, FaCurveTable *out, FaError *err);
void fai_curve_table_free(FaCurveTable *table);

#endif

// Sparse columns, one per shape: what its weight adds to numbers of nodes (blendvolumes) or tets (blendmaterials), as
// a rig's deltas are for vertices. y(w) = y0 + B w.
#ifndef FAI_COLUMNS_H
#define FAI_COLUMNS_H

#include "face/face.h"

// Builds columns from dense ones, one after the other; arrays end up in an arena.
typedef struct FaColumnsMaker {
    int width, room, count, nshape;
    int *first; // grows with the shapes
    int first_room;
    int *item;
    float *value;
} FaColumnsMaker;

// dense: n x width. Rows whose numbers are all within `least` of 0 are dropped.
FaCode fai_columns_push(FaColumnsMaker *maker, int n, const float *dense, float least, FaError *err);
FaCode fai_columns_finish(FaColumnsMaker *maker, FaArena *arena, FaColumns *columns, FaError *err); // frees the maker
void fai_columns_drop(FaColumnsMaker *maker);

// y += B w in the order of the shapes; y: items x width. NULL weights: nothing. No allocation.
void fai_columns_add(const FaColumns *columns, const float *weights, double *y);
// One column, dense: out is overwritten (n x width).
void fai_columns_dense(const FaColumns *columns, int shape, int n, float *out);
// Starts, items in 0..n-1 and sorted, values finite and within +-most.
FaCode fai_columns_check(const FaColumns *columns, const char *what, int width, int n, float most, FaError *err);

#endif

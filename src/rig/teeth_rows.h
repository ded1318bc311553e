// Upper and lower teeth in one mesh: which of its pieces are the lower row.
//
// Teeth are pieces that hang together. Each row lies along a plane that leans a little to the front, the same for both.
// Near the height of the lips a plane that leans so cuts few pieces where there are two rows, one above the other; a
// lone row it cuts in the middle, or not at all.
#ifndef FAI_TEETH_ROWS_H
#define FAI_TEETH_ROWS_H

#include "base/base.h"

typedef enum FaRows {
    FA_ROWS_ONE,   // a lone row, a tongue
    FA_ROWS_TWO,   // two that can be told apart
    FA_ROWS_JOINED // two, it seems, that hang together
} FaRows;

typedef struct FaTeeth {
    int n, ntri;
    const float *x; // canonical (x left, y up, z front), m         (n x 3)
    const int *tri; //                                              (ntri x 3)
    double lips;    // y where the lips meet
    double size;    // m, the width of the face: what is near follows from it
} FaTeeth;

// lower (n): 1 = of the lower row, where there are two.
FaCode fai_teeth_rows(const FaTeeth *teeth, unsigned char *lower, FaRows *rows, FaError *err);

#endif

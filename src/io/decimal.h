// Floats as the shortest decimal text that reads back to the same value, fast enough for millions of vertices.
#ifndef FAI_DECIMAL_H
#define FAI_DECIMAL_H

#include "base/number.h"
#include "base/text.h"

int fai_decimal_float(char text[FA_NUMBER_SIZE], float v); // returns the length; reads back with any correct reader
// n numbers with `between` between them, and `before` and `after` around them.
void fai_decimal_row(FaText *t, const char *before, const float *v, int n, const char *between, const char *after);

#endif

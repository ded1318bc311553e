// Order statistics of plain arrays.
#ifndef FAI_STATS_H
#define FAI_STATS_H

#include <stddef.h>

// The k-th smallest of n floats (k from 0), in linear time on average; reorders them. No NaN.
float fai_select(float *a, size_t n, size_t k);

#endif

#include "rig/stats.h"

#include "base/base.h"

static void swap(float *a, size_t i, size_t j) {
    float t = a[i];
    a[i] = a[j];
    a[j] = t;
}

// Quickselect with a random pivot, three ways, so that neither an order nor many equal values make it quadratic.
float fai_select(float *a, size_t n, size_t k) {
    size_t lo = 0, hi = n; // the k-th lies in [lo, hi)
    for (uint64_t step = 0; hi - lo > 1; step++) {
        float pivot = a[lo + fai_random_u64(n, step) % (hi - lo)];
        size_t less = lo, i = lo, more = hi;
        while (i < more) {
            if (a[i] < pivot)
                swap(a, less++, i++);
            else if (a[i] > pivot)
                swap(a, i, --more);
            else
                i++;
        }
        if (k < less)
            hi = less;
        else if (k >= more)
            lo = more;
        else
            return pivot;
    }
    return a[lo];
}

// STL: what is accepted has corners in range, none twice in a triangle, all places finite and different.
#include "fuzz.h"

#include "base/base.h"
#include "io/stl.h"

#include <math.h>
#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    FaArena *arena = fai_arena_new(0);
    FaError err = {0};
    FaMesh m;
    if (!arena) abort();
    if (fai_stl_parse(data, size, arena, &m, &err) < 0) {
        if (!err.what[0]) abort();
    } else {
        for (int i = 0; i < 3 * m.nvert; i++)
            if (!isfinite(m.x[i])) abort();
        for (int t = 0; t < m.ntri; t++) {
            const int *v = m.tri + 3 * (size_t)t;
            for (int k = 0; k < 3; k++)
                if (v[k] < 0 || v[k] >= m.nvert || v[k] == v[(k + 1) % 3]) abort();
        }
    }
    fai_arena_free(arena);
}

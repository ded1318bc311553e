// PC2 and MDD: whatever the header says, nothing is read past the end and nothing is allocated that is not there.
#include "fuzz.h"

#include "base/base.h"
#include "io/pointcache.h"

#include <math.h>
#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    FuzzFile file = fuzz_file(data, size);
    FaError err = {0};
    FaPointCache *c;
    if (fai_cache_open(file.path, &c, &err) >= 0) {
        if (c->nvert <= 0 || c->nframe <= 0 || 12.0 * c->nvert * c->nframe > (double)size) abort();
        if (!(c->fps >= 0) || !isfinite(c->fps)) abort();
        for (int i = 1; c->time && i < c->nframe; i++)
            if (!(c->time[i] > c->time[i - 1])) abort();
        float *x = malloc(12 * (size_t)c->nvert);
        if (!x) abort();
        for (int f = 0; f < c->nframe; f += 1 + c->nframe / 8) {
            FaError bad = {0};
            if (fai_cache_read(c, f, x, &bad) < 0 && !bad.place[0]) abort();
        }
        free(x);
        fai_cache_close(c);
    } else if (!err.what[0])
        abort();
    fuzz_file_close(&file);
}

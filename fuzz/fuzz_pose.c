// Poses of muscles: what is accepted is finite and in range, and says the same when it is written and read again.
#include "fuzz.h"
#include "json_mutator.h"

#include "muscle/directed.h"

#include <math.h>
#include <stdlib.h>

static void check(const FaDirected *d) {
    for (size_t i = 0; i < 3 * (size_t)d->npoint * (size_t)d->nlevel; i++)
        if (!(fabs(d->track[i]) <= 1)) abort();
    for (int i = 0; i < d->nmuscle; i++)
        if (!d->name[i][0] || !(d->activation[i] >= 0 && d->activation[i] <= 1) || d->start[i] >= d->start[i + 1])
            abort();
    if (d->start[d->nmuscle] != d->npoint) abort();
    for (size_t v = 0; v < (size_t)d->nvert; v++)
        if (!(d->snap_weight[v] >= 0 && d->snap_weight[v] <= 1) || !isfinite(d->snap[3 * v])) abort();
}

void fuzz_one(const uint8_t *data, size_t size) {
    FaDirected *d;
    FaError err = {0};
    FaText once = {0}, twice = {0};
    FaCode rc = fai_directed_parse((const char *)data, size, NULL, &d, &err);
    if (rc < 0 ? d || !err.what[0] : !d) abort();
    if (rc < 0) return;
    check(d);
    if (fai_directed_write(d, fa_directed_face(d), &once, &err) < 0) abort();
    fa_directed_free(d);
    if (fai_directed_parse(once.data, once.size, NULL, &d, &err) < 0) abort();
    if (fai_directed_write(d, fa_directed_face(d), &twice, &err) < 0) abort();
    if (once.size != twice.size || memcmp(once.data, twice.data, once.size) != 0) abort();
    fa_directed_free(d);
    fai_text_free(&once);
    fai_text_free(&twice);
}

// Edits of poses: what is accepted is finite and in range; what is not is told.
#include "fuzz.h"
#include "json_mutator.h"

#include "muscle/edits.h"

#include <math.h>
#include <stdlib.h>

static void check(const FaEdit *e) {
    if (!(e->u >= 0 && e->u <= 1) || !(e->key > 0 && e->key <= 1) || e->nretime > FA_RETIME_MOST) abort();
    for (int k = 0; k < 3; k++)
        if (!(fabs(e->move[k]) <= 0.21)) abort();
    for (int k = 1; k < e->nretime; k++)
        if (!(e->retime[k][0] > e->retime[k - 1][0])) abort();
    if (!(e->activation >= 0 && e->activation <= 1) || !(fabs(e->open) <= 45) || !(fabs(e->side) <= 0.031)) abort();
    if (!e->muscle[0] && !e->jaw[0] && !e->jaw[1] && !e->jaw[2]) abort();
    if (!(e->from >= 0 && e->to >= e->from && e->to <= 1e7 && e->ease >= 0 && e->ease <= 1e7)) abort();
    if (e->fall == FA_FALL_WIDTH && !(e->width > 0)) abort();
}

void fuzz_one(const uint8_t *data, size_t size) {
    FaEdits edits;
    FaError err = {0};
    FaCode rc = fai_edits_parse((const char *)data, size, &edits, &err);
    if (rc < 0 ? edits.arena || !err.what[0] : !edits.arena) abort();
    for (int i = 0; i < edits.n; i++) check(&edits.edit[i]);
    fai_edits_free(&edits);
}

// CSV: the plain reader, Live Link takes and our clip CSV on the same bytes. What is accepted must hold the clip's
// invariants, and survive being written and read again.
#include "fuzz.h"

#include "base/base.h"
#include "io/clip_csv.h"
#include "io/csv.h"
#include "io/livelink.h"

#include <stdlib.h>

static void same_weights(const FaClip *a, const FaClip *b) {
    if (a->nframe != b->nframe || a->nchan != b->nchan) abort();
    if (memcmp(a->weight, b->weight, (size_t)a->nframe * (size_t)a->nchan * sizeof *a->weight)) abort();
}

static void check(FaClip *clip, FaCode rc, const FaError *err) {
    if (rc < 0 && (clip || !err->what[0])) abort();
    if (rc < 0) return;
    FaError bad = {0};
    if (fa_clip_check(clip, &bad) < 0) abort();
    FaText text = {0};
    FaClip *again = NULL;
    if (fai_clip_csv_write(clip, &text, &bad) >= 0) {
        FaError reread = {0};
        if (fai_clip_csv_parse(text.data, text.size, &again, &reread) >= 0)
            same_weights(clip, again);
        else if (!strstr(reread.what, "marker positions"))
            abort();
    }
    fai_text_free(&text);
    fa_clip_free(again);
    fa_clip_free(clip);
}

void fuzz_one(const uint8_t *data, size_t size) {
    FaCsv csv;
    FaError err = {0};
    bool more = true;
    FaCode rc = fai_csv_open(&csv, data, size, &err);
    while (rc >= 0 && more) rc = fai_csv_row(&csv, &more, &err);
    fai_csv_close(&csv);

    FaClip *clip;
    err = (FaError){0};
    rc = fai_clip_csv_parse(data, size, &clip, &err);
    check(clip, rc, &err);
    for (int unit = FA_HEAD_AUTO; unit <= FA_HEAD_DEG; unit += FA_HEAD_DEG) {
        err = (FaError){0};
        rc = fai_livelink_parse(data, size, &(FaClipOptions){.head_units = (FaHeadUnits)unit}, &clip, &err);
        check(clip, rc, &err);
    }
}

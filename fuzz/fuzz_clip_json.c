// Clip JSON: what is accepted must hold the clip's invariants, and come back unchanged when it is written and read
// again.
#include "fuzz.h"

#include "base/base.h"
#include "io/clip_json.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    FaClip *a, *b;
    FaError err = {0};
    FaCode rc = fai_clip_json_parse(data, size, &a, &err);
    if (rc < 0 && (a || !err.what[0])) abort();
    if (rc < 0) return;
    FaText text = {0};
    if (fa_clip_check(a, &err) < 0 || fai_clip_json_write(a, &text, &err) < 0) abort();
    if (fai_clip_json_parse(text.data, text.size, &b, &err) < 0) abort();
    if (a->nframe != b->nframe || a->nchan != b->nchan || a->fps != b->fps || a->start != b->start) abort();
    if (memcmp(a->weight, b->weight, (size_t)a->nframe * (size_t)a->nchan * sizeof *a->weight)) abort();
    if (memcmp(a->time, b->time, (size_t)a->nframe * sizeof *a->time)) abort();
    if (!a->head != !b->head || (a->head && memcmp(a->head, b->head, (size_t)a->nframe * sizeof *a->head))) abort();
    for (int c = 0; c < a->nchan; c++)
        if (strcmp(a->name[c], b->name[c])) abort();
    fai_text_free(&text);
    fa_clip_free(a);
    fa_clip_free(b);
}

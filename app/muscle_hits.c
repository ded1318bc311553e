#include "muscle_hits.h"

#include "job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

FaCode muscle_hits_read(const char *text, int last, MuscleHits *h, FaError *err) {
    int n = 0;
    char **item = split_list(text, &n);
    h->frame = malloc(((size_t)n + 2) * sizeof *h->frame);
    if (!item || !h->frame) {
        free(item);
        return cli_no_memory(err);
    }
    FaCode rc = FA_OK;
    for (int i = 0; i < n && rc >= 0; i++) {
        char *end;
        const long f = strtol(item[i], &end, 10);
        if (end == item[i] || *end || f < 0 || f > last)
            rc = cli_wrong(err, "--hit: '%s' is none of the frames 0 to %d", item[i], last);
        else
            h->frame[i] = (int)f;
    }
    free(item);
    TRY(rc);
    h->frame[n] = 0, h->frame[n + 1] = last;
    qsort(h->frame, (size_t)n + 2, sizeof *h->frame, by_number);
    for (int i = 0; i < n + 2; i++)
        if (!h->count || h->frame[h->count - 1] != h->frame[i]) h->frame[h->count++] = h->frame[i];
    return FA_OK;
}

static FaCode read_added(void *user, int frame, float *x, FaError *err) {
    const MuscleHits *h = user;
    TRY(fa_sequence_read(h->of, frame, x, err));
    int i = 0;
    while (i + 2 < h->count && frame > h->frame[i + 1]) i++;
    const int next = i + 1 < h->count ? i + 1 : i, between = h->frame[next] - h->frame[i];
    const float part = between ? (float)(frame - h->frame[i]) / (float)between : 0;
    for (int k = 0; k < 3 * fa_sequence_nvert(h->of); k++)
        x[k] += (1 - part) * h->lacks[i][k] + part * h->lacks[next][k];
    return FA_OK;
}

FaCode muscle_hits_add(MuscleHits *h, FaSequence *goal, FaSequence *of, FaSequence **out, FaError *err) {
    h->of = of;
    const int nvert = fa_sequence_nvert(of);
    const size_t n = 3 * (size_t)nvert;
    float *is = malloc((n + 1) * sizeof *is);
    h->lacks = calloc((size_t)h->count, sizeof *h->lacks);
    FaCode rc = is && h->lacks ? FA_OK : cli_no_memory(err);
    for (int i = 0; i < h->count && rc >= 0; i++) {
        if (!(h->lacks[i] = malloc((n + 1) * sizeof **h->lacks))) rc = cli_no_memory(err);
        if (rc >= 0) rc = fa_sequence_read(goal, h->frame[i], h->lacks[i], err);
        if (rc >= 0) rc = fa_sequence_read(of, h->frame[i], is, err);
        for (size_t k = 0; k < n && rc >= 0; k++) h->lacks[i][k] -= is[k];
        for (size_t k = 0; k < n && rc >= 0; k += 3) {
            const float *d = h->lacks[i] + k;
            h->worst = fmax(h->worst, 1000 * sqrt((double)(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])));
        }
    }
    free(is);
    TRY(rc);
    return fa_sequence_custom(nvert, fa_sequence_nframe(of), fa_sequence_fps(of), read_added, h, out, err);
}

void muscle_hits_free(MuscleHits *h) {
    for (int i = 0; i < h->count && h->lacks; i++) free(h->lacks[i]);
    free(h->lacks);
    free(h->frame);
    *h = (MuscleHits){0};
}

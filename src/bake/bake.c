// The order of a bake:
//
//     frames --bake_basis--> basis, coefficients --bake_shrink--> coefficients of small rank --bake_store--> targets
//                            left[k]: truncation            ^ vertices that were missed |
//                            as the way back                +---------------------------+
//
// Memory: the basis (at most 2 x targets + 64 fields), three blocks of up to 64 frames, the frames at a sample of the
// vertices (at most 128 MB, twice), and the coefficients.
#include "bake/bake.h"

#include "bake/bake_work.h"

#include <math.h>

enum { BLOCK_BYTES = 64 << 20, SAMPLE_BYTES = 128 << 20, ROUNDS = 8 };

void fai_bake_free(FaBake *bake) {
    if (!bake) return;
    fa_free(bake->first);
    fa_free(bake->row);
    fa_free(bake->delta);
    fa_free(bake->weight);
    fa_free(bake);
}

static FaCode work_init(FaBakeWork *w, const FaBakeSource *source, const FaBakeParams *params, FaError *err) {
    *w = (FaBakeWork){.source = source, .params = params, .nvert = source->nvert, .nframe = source->nframe};
    w->goal = (float)params->max_error;
    size_t bytes = 12 * (size_t)w->nvert;
    w->block = (int)FA_MIN(FA_MAX(BLOCK_BYTES / bytes, 16), 64);
    w->frame = FA_NEW(3 * (size_t)w->nvert, float);
    w->span2 = FA_NEW(w->nvert, float);
    w->rows = FA_NEW(w->block, float);
    if (!w->frame || !w->span2 || !w->rows) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_stack_init(&w->frames, w->nvert, w->block, err));
    FA_TRY(fai_stack_init(&w->spare, w->nvert, w->block, err));
    return fai_stack_init(&w->basis, w->nvert, 0, err);
}

static void work_free(FaBakeWork *w) {
    fai_stack_free(&w->frames);
    fai_stack_free(&w->spare);
    fai_stack_free(&w->basis);
    fa_free(w->frame);
    fa_free(w->span2);
    fa_free(w->coef);
    fa_free(w->rows);
}

// --- the sample ---------------------------------------------------------------------------------------------------

// Where each basis vector is longest, so that the sample sees all of them, and every so many of the vertices that move.
static FaCode first_sample(FaBakeWork *w, char *mark, FaError *err) {
    int *vert = FA_NEW(w->nbasis, int), moving = 0;
    float *max2 = FA_NEW(w->nbasis, float), still = 0.9f * w->goal;
    FaCode rc = vert && max2 ? fai_stack_peaks(&w->basis, w->nbasis, max2, vert, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int i = 0; i < w->nbasis; i++) mark[vert[i]] = 1;
        for (int v = 0; v < w->nvert; v++) moving += w->span2[v] > still * still;
        size_t room = SAMPLE_BYTES / 12 / (size_t)w->nframe;
        int want = (int)FA_MIN((size_t)FA_MIN(FA_MAX(moving / 8, 1000), 2048), FA_MAX(room, 512)), seen = 0;
        for (int v = 0; v < w->nvert; v++) {
            if (w->span2[v] <= still * still) continue;
            // the i-th of `moving` is taken where i * want / moving steps to the next integer
            if ((int64_t)(seen + 1) * want / moving > (int64_t)seen * want / moving) mark[v] = 1;
            seen++;
        }
    }
    fa_free(vert);
    fa_free(max2);
    return rc;
}

static int list_sample(const FaBakeWork *w, const char *mark, int *sample) {
    int n = 0;
    for (int v = 0; v < w->nvert; v++)
        if (mark[v]) sample[n++] = v;
    return n;
}

// --- as few as can be ---------------------------------------------------------------------------------------------

typedef struct Search {
    FaBakeWork *w;
    char *mark;    // vertices of the sample, then also those that were missed               (nvert)
    int *sample;   //                                                                        (nvert)
    float *coef;   // the candidate                                                          (nbasis x nframe)
    float *left;   // what a truncation leaves                                               (nbasis + 1)
    int truncated; // components that a truncation needs; nbasis where not even all do
    int limit;     // components allowed: one target is the offset
} Search;

static FaCode shrink(Search *s, int from, bool lower, int *rank, FaError *err) {
    int n = list_sample(s->w, s->mark, s->sample);
    return fai_bake_shrink(s->w, n, s->sample, from, lower, s->coef, rank, err);
}

// The smallest rank that stands the test on all vertices, starting from what the sample says. *bake is NULL if the
// sample promised too much every time, or if more components are needed than are allowed.
static FaCode lowest(Search *s, FaBake **bake, FaError *err) {
    int rank = 0;
    fai_bake_leading(s->w, s->truncated, s->coef);
    if (s->truncated > 0) FA_TRY(shrink(s, s->truncated, true, &rank, err));
    for (int round = 0; round < ROUNDS && rank <= s->limit; round++) {
        FA_TRY(fai_bake_store(s->w, s->coef, rank, false, s->mark, bake, err));
        if (*bake) return FA_OK;
        // the vertices that were missed are in the sample now: again, at first with the same rank
        int more = FA_MAX(1, rank / 32);
        if (round >= 2) rank += more;
        for (int found = 0; !found; rank += found ? 0 : more) {
            if (rank >= s->truncated || fai_bake_tired(s->w)) return FA_OK;
            FA_TRY(shrink(s, rank, false, &found, err));
        }
    }
    return FA_OK;
}

// Plain truncation, from where it should do.
static FaCode truncate_from(Search *s, int rank, FaBake **bake, FaError *err) {
    int top = FA_MIN(s->limit, s->w->nbasis);
    for (; rank <= top && !*bake; rank += FA_MAX(1, rank / 12)) {
        fai_bake_leading(s->w, rank, s->coef);
        FA_TRY(fai_bake_store(s->w, s->coef, rank, false, s->mark, bake, err));
    }
    return FA_OK;
}

// What the components allowed can do at best when they cannot keep the goal: halve the ratio between what is known to
// be too hard and what a truncation achieves, a few times.
static FaCode nearest(Search *s, FaBake **bake, FaError *err) {
    FaBakeWork *w = s->w;
    int rank = FA_MIN(s->limit, w->nbasis), plain = 0;
    for (int k = 1; k <= rank; k++)
        if (s->left[k] < s->left[plain]) plain = k;
    float hard = w->goal, easy = FA_MAX(s->left[plain] * 1.02f, hard), truncated = easy;
    size_t bytes = (size_t)w->nbasis * (size_t)w->nframe * sizeof(float);
    float *best = fai_alloc_array(bytes, 1);
    if (!best) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    fai_bake_leading(w, plain, best);
    for (int i = 0; i < 4 && rank > 0 && rc >= 0 && easy > 1.1f * hard; i++) {
        int found = 0;
        w->goal = sqrtf(hard * easy);
        memcpy(s->coef, best, bytes);
        rc = shrink(s, rank, false, &found, err);
        if (found) memcpy(best, s->coef, bytes);
        *(found ? &easy : &hard) = w->goal;
    }
    w->goal = easy;
    if (rc >= 0) rc = fai_bake_store(w, best, easy < truncated ? rank : plain, true, s->mark, bake, err);
    if (rc >= 0 && easy < truncated && (*bake)->max_error > (double)truncated) {
        // the sample promised too much
        fai_bake_free(*bake);
        *bake = NULL;
        w->goal = truncated;
        fai_bake_leading(w, plain, best);
        rc = fai_bake_store(w, best, plain, true, s->mark, bake, err);
    }
    fa_free(best);
    return rc;
}

static FaCode search(FaBakeWork *w, FaBake **bake, FaError *err) {
    size_t m = (size_t)w->nbasis;
    Search s = {.w = w, .limit = w->params->max_targets - 1};
    s.mark = FA_NEW(w->nvert, char);
    s.sample = FA_NEW(w->nvert, int);
    s.coef = FA_NEW(m * (size_t)w->nframe, float);
    s.left = FA_NEW(m + 1, float);
    FaCode rc = s.mark && s.sample && s.coef && s.left ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_bake_left(w, s.left, err);
    if (rc >= 0) rc = first_sample(w, s.mark, err);
    while (rc >= 0 && s.truncated < w->nbasis && s.left[s.truncated] > 0.9f * w->goal) s.truncated++;
    if (rc >= 0) rc = lowest(&s, bake, err);
    if (rc >= 0 && !*bake) rc = truncate_from(&s, s.truncated, bake, err);
    if (rc >= 0 && !*bake) rc = nearest(&s, bake, err);
    fa_free(s.mark);
    fa_free(s.sample);
    fa_free(s.coef);
    fa_free(s.left);
    return rc;
}

FaCode fai_bake(const FaBakeSource *source, const FaBakeParams *params, FaBake **bake, FaError *err) {
    *bake = NULL;
    if (source->nvert < 1 || source->nframe < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "give at least one frame", "there is nothing to bake");
    if (!(params->max_error > 0) || !isfinite(params->max_error) || params->max_targets < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a distance above 0 and room for at least one target",
                       "the bake error must be above 0 and the number of targets at least 1");
    FaBakeWork w;
    FaCode rc = work_init(&w, source, params, err);
    if (rc >= 0) rc = fai_bake_basis(&w, err);
    if (rc >= 0) {
        float far = 0;
        for (int v = 0; v < w.nvert; v++) far = FA_MAX(far, w.span2[v]);
        if (sqrtf(far) <= w.goal) {
            // nothing moves far enough to matter
            w.nbasis = 0;
            rc = fai_bake_store(&w, NULL, 0, true, NULL, bake, err);
        } else {
            rc = search(&w, bake, err);
        }
    }
    work_free(&w);
    if (rc >= 0 && (*bake)->max_error > params->max_error) rc = FA_STALLED;
    return rc;
}

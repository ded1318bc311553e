// Many blended shapes to choose from: all combinations of weights on levels, or random ones from the partial
// permutations. Nothing is tabulated: combination i is unranked when it is asked for.
//
// Based on: [A03] You, Tian, Tang: section 4.2 (exponentiation; (25) normalises by the sum of the weights) and 4.3
// (random). Deviation: levels are l/(L-1), so that 0 and 1 are among them as in the paper's figures (its text says
// l/L); draws do not repeat.
#include "analytic/picks.h"
#include "base/base.h"
#include "base/number.h"
#include "base/text.h"
#include "fascia/analytic.h"

#include <math.h>
#include <strings.h>

// --- counting -----------------------------------------------------------------------------------------------------

uint64_t fa_explore_count(int n, int levels) {
    uint64_t count = 1;
    if (n < 1 || levels < 2) return 0;
    for (int i = 0; i < n; i++) {
        if (count > ((uint64_t)1 << 63) / (uint64_t)levels) return 0;
        count *= (uint64_t)levels;
    }
    return count - 1;
}

void fa_explore_weights(int n, int levels, uint64_t i, bool raw, double *weight) {
    double sum = 0;
    i++; // the empty combination is left out
    for (int t = 0; t < n; t++, i /= (uint64_t)levels) {
        weight[t] = (double)(i % (uint64_t)levels) / (levels - 1);
        sum += weight[t];
    }
    for (int t = 0; t < n && !raw; t++) weight[t] /= sum;
}

// n! / (n - r)!
static uint64_t arrangements(int n, int r) {
    uint64_t p = 1;
    for (int i = 0; i < r; i++) p *= (uint64_t)(n - i);
    return p;
}

uint64_t fa_permutation_count(int n) {
    uint64_t sum = 0;
    if (n < 1 || n > 20) return 0;
    for (int r = 1; r <= n; r++) sum += arrangements(n, r);
    return sum;
}

// The paper's order: first the single numbers, each in its own place; then r = 2, 3, ... numbers in the first r places,
// in lexicographic order.
void fa_permutation_at(int n, uint64_t i, int *number) {
    memset(number, 0, (size_t)n * sizeof *number);
    if (i < 1 || i > fa_permutation_count(n)) return;
    i--;
    if (i < (uint64_t)n) {
        number[i] = (int)i + 1;
        return;
    }
    int r = 1;
    while (i >= arrangements(n, r)) i -= arrangements(n, r++);
    uint32_t used = 0;
    for (int k = 0; k < r; k++) {
        uint64_t block = arrangements(n - k - 1, r - k - 1);
        int skip = (int)(i / block), at = 0;
        i %= block;
        for (; (used >> at & 1) || skip > 0; at++) skip -= !(used >> at & 1);
        used |= 1u << at;
        number[k] = at + 1;
    }
}

// A keyed one-to-one map of 0..count-1 onto itself: four Feistel rounds on the next even number of bits, walked until
// the result is in range (at most 4 times on average).
uint64_t fa_draw(uint64_t seed, uint64_t count, uint64_t i) {
    int half = 1;
    while (half < 32 && (uint64_t)1 << (2 * half) < count) half++;
    uint64_t mask = ((uint64_t)1 << half) - 1;
    if (count < 2) return 1;
    i %= count;
    do {
        uint64_t a = i >> half, b = i & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t t = a ^ (fai_random_u64(seed + round * 0x9E3779B97F4A7C15u, b) & mask);
            a = b;
            b = t;
        }
        i = a << half | b;
    } while (i >= count);
    return i + 1;
}

// --- candidates ---------------------------------------------------------------------------------------------------

struct FaCandidates {
    const FaRig *rig;
    FaBlender *blender;
    FaSequence *seq;
    int *target;             // (ntarget)
    int *slider;             // that moves it                           (ntarget)
    const char *const *name; // of sliders; NULL: their first shape's
    int ntarget, nslider, levels, ntime;
    double *s;      // the response at each moment          (ntime)
    double *time;   // (ntime)
    float *weights; // of read                              (nshape)
    bool raw;
    uint64_t seed, space, count;
};

enum { MOST_TARGETS = 256 };

FaCandidateOptions fa_candidate_options_default(void) { return (FaCandidateOptions){.draws = 50, .limit = 1000000}; }

static FaCode check_options(const FaRig *rig, const FaCandidateOptions *o, FaError *err) {
    if (o->ntarget < 1 || o->ntarget > MOST_TARGETS)
        return FA_FAIL(err, FA_E_ARG, NULL, "name between 1 and 256 shapes", "%d targets cannot be combined",
                       o->ntarget);
    for (int i = 0; i < o->ntarget; i++) {
        if (o->target[i] < 0 || o->target[i] >= rig->nshape)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("target %d", i), NULL, "the rig has no shape %d", o->target[i]);
        for (int j = 0; j < i; j++)
            if (o->target[i] == o->target[j])
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("target %d", i), "name each shape once", "%s is named twice",
                               rig->shape[o->target[i]].name);
    }
    if (o->levels != 0 && (o->levels < 2 || o->levels > 1000))
        return FA_FAIL(err, FA_E_ARG, NULL, "give 2 (off, on) to 1000", "%d levels are not possible", o->levels);
    for (int i = 0; o->slider && i < o->ntarget; i++)
        if (o->slider[i] < 0 || o->slider[i] > (i ? o->slider[i - 1] + 1 : 0) || (i && o->slider[i] < o->slider[i - 1]))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("target %d", i), "number them from 0 on, each once or more",
                           "%d is no slider here", o->slider[i]);
    return FA_OK;
}

static FaCode count_them(FaCandidates *c, const FaCandidateOptions *o, FaError *err) {
    const FaCandidateOptions usual = fa_candidate_options_default();
    uint64_t limit = o->limit ? o->limit : usual.limit, draws = o->draws ? o->draws : usual.draws;
    if (o->levels == 0 && c->nslider > 20)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "name at most 20 shapes",
                       "the permutations of %d shapes cannot be counted", c->nslider);
    c->space = o->levels ? fa_explore_count(c->nslider, o->levels) : fa_permutation_count(c->nslider);
    uint64_t combinations = o->levels ? c->space : FA_MIN(draws, c->space);
    if (combinations == 0 || combinations > limit / (uint64_t)c->ntime ||
        combinations * (uint64_t)c->ntime > INT32_MAX) {
        char number[32] = "more than 2^63";
        if (combinations) snprintf(number, sizeof number, "%llu", (unsigned long long)combinations);
        return FA_FAIL(err, FA_E_LIMIT, NULL,
                       FA_PLACE("take fewer shapes, levels or moments, draw random ones, or raise the limit (%llu)",
                                (unsigned long long)limit),
                       "%s combinations at %d moments are too many", number, c->ntime);
    }
    c->count = combinations * (uint64_t)c->ntime;
    return FA_OK;
}

static FaCode read_candidate(void *user, int frame, float *x, FaError *err) {
    (void)err;
    FaCandidates *c = user;
    fa_candidates_weights(c, (uint64_t)frame, c->weights);
    fa_blender_eval(c->blender, c->weights, x);
    return FA_OK;
}

static FaCode fill(FaCandidates *c, const FaOscillator *osc, const FaCandidateOptions *o, FaError *err) {
    FA_TRY(check_options(c->rig, o, err));
    c->ntarget = o->ntarget;
    c->levels = o->levels;
    c->raw = o->raw;
    c->seed = o->seed;
    c->ntime = o->time ? FA_MAX(o->ntime, 1) : 1;
    c->target = FA_NEW(c->ntarget, int);
    c->s = FA_NEW(c->ntime, double);
    c->time = FA_NEW(c->ntime, double);
    c->slider = FA_NEW(c->ntarget, int);
    c->weights = FA_NEW(c->rig->nshape, float);
    if (!c->target || !c->s || !c->time || !c->slider || !c->weights) return FA_FAIL_MEMORY(err);
    memcpy(c->target, o->target, (size_t)c->ntarget * sizeof *c->target);
    for (int i = 0; i < c->ntarget; i++) c->slider[i] = o->slider ? o->slider[i] : i;
    c->nslider = c->slider[c->ntarget - 1] + 1;
    c->name = o->name;
    for (int i = 0; i < c->ntime; i++) {
        c->time[i] = o->time ? o->time[i] : 1;
        FA_TRY(fa_analytic_response(osc, c->time[i], &c->s[i], err));
    }
    FA_TRY(count_them(c, o, err));
    FA_TRY(fa_blender_new(c->rig, &c->blender, err));
    return fa_sequence_custom(c->rig->mesh.nvert, (int)c->count, 0, read_candidate, c, &c->seq, err);
}

FaCode fa_candidates_new(const FaRig *rig, const FaOscillator *o, const FaCandidateOptions *options, FaCandidates **out,
                         FaError *err) {
    *out = NULL;
    FaCandidates *c = FA_NEW(1, FaCandidates);
    if (!c) return FA_FAIL_MEMORY(err);
    c->rig = rig;
    FaCode rc = fill(c, o, options, err);
    if (rc < 0)
        fa_candidates_free(c);
    else
        *out = c;
    return rc;
}

void fa_candidates_free(FaCandidates *c) {
    if (!c) return;
    fa_sequence_close(c->seq);
    fa_blender_free(c->blender);
    fa_free(c->target);
    fa_free(c->s);
    fa_free(c->time);
    fa_free(c->slider);
    fa_free(c->weights);
    fa_free(c);
}

uint64_t fa_candidates_count(const FaCandidates *c) { return c->count; }
FaSequence *fa_candidates_sequence(FaCandidates *c) { return c->seq; }

double fa_candidates_time(const FaCandidates *c, uint64_t i) { return c->time[i % (uint64_t)c->ntime]; }
int fa_candidates_sliders(const FaCandidates *c) { return c->nslider; }

const char *fa_candidates_slider(const FaCandidates *c, int slider) {
    int t = 0;
    while (c->slider[t] != slider) t++;
    return c->name ? c->name[slider] : c->rig->shape[c->target[t]].name;
}

// Weights of the sliders, before the response.
void fa_candidates_mixture(const FaCandidates *c, uint64_t i, double *w, int *order) {
    int number[20] = {0}, sum = 0;
    uint64_t combination = i / (uint64_t)c->ntime;
    for (int t = 0; order && t < c->nslider; t++) order[t] = 0;
    if (c->levels) {
        fa_explore_weights(c->nslider, c->levels, combination, c->raw, w);
        return;
    }
    fa_permutation_at(c->nslider, fa_draw(c->seed, c->space, combination), number);
    for (int t = 0; t < c->nslider; t++) sum += number[t];
    for (int t = 0; t < c->nslider; t++) w[t] = (double)number[t] / sum;
    if (order) memcpy(order, number, (size_t)c->nslider * sizeof *order);
}

void fa_candidates_weights(const FaCandidates *c, uint64_t i, float *weights) {
    double w[MOST_TARGETS];
    memset(weights, 0, (size_t)c->rig->nshape * sizeof *weights);
    if (i >= c->count) return;
    fa_candidates_mixture(c, i, w, NULL);
    double s = c->s[i % (uint64_t)c->ntime];
    for (int t = 0; t < c->ntarget; t++) weights[c->target[t]] = (float)(s * w[c->slider[t]]);
}

// "t 0.20", where it tells something; "order 2 1", the numbers that a random mixture was drawn as.
static void label_rest(const FaCandidates *c, uint64_t i, const int *order, FaText *text) {
    double t = fa_candidates_time(c, i);
    int last = c->nslider;
    int hundredths = (int)(100 * t + 0.5);
    if (c->ntime > 1 || t != 1) fai_text_printf(text, ", t %d.%02d", hundredths / 100, hundredths % 100);
    if (c->levels) return;
    while (last > 1 && !order[last - 1]) last--;
    fai_text_str(text, ", order");
    for (int k = 0; k < last; k++) fai_text_printf(text, " %d", order[k]);
}

void fa_candidates_label(const FaCandidates *c, uint64_t i, char *text, size_t size) {
    double w[MOST_TARGETS];
    int order[MOST_TARGETS];
    FaText all = {0};
    const char *comma = "";
    fai_text_printf(&all, "%llu:", (unsigned long long)i);
    if (i < c->count) {
        fa_candidates_mixture(c, i, w, order);
        for (int t = 0; t < c->nslider; t++) {
            if (w[t] == 0) continue;
            int hundredths = (int)(100 * w[t] + 0.5);
            fai_text_printf(&all, "%s %s %d.%02d", comma, fa_candidates_slider(c, t), hundredths / 100,
                            hundredths % 100);
            comma = ",";
        }
        label_rest(c, i, order, &all);
    }
    snprintf(text, size, "%s", all.failed ? "" : all.data);
    fai_text_free(&all);
}

// Files of shapes may lie where capitals do not count.
static bool has_shape(const FaRig *rig, const char *name) {
    for (int s = 0; s < rig->nshape; s++)
        if (!strcasecmp(rig->shape[s].name, name)) return true;
    return false;
}

// "blend_17"; "blend_17_2" where the rig has one from an earlier pick. There are more names than a rig has shapes.
static void name_candidate(const FaRig *rig, uint64_t i, char name[32]) {
    snprintf(name, 32, "blend_%llu", (unsigned long long)i);
    for (int k = 2; has_shape(rig, name); k++)
        snprintf(name, 32, "blend_%llu_%d", (unsigned long long)i % 1000000000u, k);
}

FaCode fa_candidates_save(const FaCandidates *c, const uint64_t *pick, int npick, const char *path, FaError *err) {
    float *weights = FA_NEW((size_t)FA_MAX(npick, 1) * (size_t)c->rig->nshape, float);
    char(*name)[32] = fai_alloc_array((size_t)FA_MAX(npick, 1), sizeof *name);
    FaCode rc = weights && name ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < npick; i++) {
        if (pick[i] >= c->count)
            rc = FA_FAIL(err, FA_E_ARG, NULL, FA_PLACE("they are 0 to %llu", (unsigned long long)c->count - 1),
                         "there is no candidate %llu", (unsigned long long)pick[i]);
        else
            fa_candidates_weights(c, pick[i], weights + (size_t)i * (size_t)c->rig->nshape);
        for (int k = 0; rc >= 0 && k < i; k++)
            if (pick[k] == pick[i])
                rc = FA_FAIL(err, FA_E_ARG, NULL, "name each once", "candidate %llu is picked twice",
                             (unsigned long long)pick[i]);
        name_candidate(c->rig, pick[i], name[i]);
    }
    if (rc >= 0 && npick < 1) rc = FA_FAIL(err, FA_E_ARG, NULL, "name some, e.g. 3,17,40", "nothing is picked");
    if (rc >= 0) rc = fai_save_with_shapes(c->rig, npick, (const char(*)[32])name, weights, path, err);
    fa_free(weights);
    fa_free(name);
    return rc;
}

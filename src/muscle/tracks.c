#include "muscle/tracks.h"

#include "math/dense.h"
#include "math/mat3.h"

#include <math.h>
#include <string.h>

static const double SMOOTH = 1e-2;  // second differences against samples
static const double COUPLED = 1e-4; // of both sides of its thickness
static const double RIDGE = 1e-9;   // for lattices that nothing tells of

static double tet_volume(const FaMuscleFlesh *flesh, int tet) {
    const int *v = flesh->tet + 4 * (size_t)tet;
    double d[9];
    for (int k = 0; k < 9; k++)
        d[k] = flesh->x[3 * (size_t)v[k / 3 + 1] + (size_t)(k % 3)] - flesh->x[3 * (size_t)v[0] + (size_t)(k % 3)];
    return fabs(fai_m3_det(d)) / 6;
}

static FaCode fill_samples(FaMuscleTracks *t, const FaMuscleFlesh *flesh, const FaMuscles *muscles,
                           const FaMuscleSamples *samples, FaError *err) {
    size_t n = (size_t)t->nsample + 1;
    t->entry = FA_PUSH(t->arena, n, int);
    t->point = FA_PUSH(t->arena, FA_BSPLINE_WEIGHTS * n, int);
    t->weight = FA_PUSH(t->arena, FA_BSPLINE_WEIGHTS * n, double);
    t->volume = FA_PUSH(t->arena, n, double);
    t->corner = FA_PUSH(t->arena, 4 * n, int);
    t->bary = FA_PUSH(t->arena, 4 * n, double);
    if (!t->entry || !t->point || !t->weight || !t->volume || !t->corner || !t->bary) return FA_FAIL_MEMORY(err);
    int at = 0;
    for (int s = 0; s < t->nsample; s++) {
        const FaFibreSample *f = &samples->fibre[s];
        t->entry[s] = at;
        double uvw[3];
        fai_v3_load(samples->uvw, s, uvw);
        int count = fai_bspline_weights(&muscles->muscle[f->muscle].solid, uvw, t->point + at, t->weight + at);
        for (int k = at; k < at + count; k++) t->point[k] += t->start[f->muscle];
        at += count;
        t->volume[s] = f->share * tet_volume(flesh, f->tet);
        memcpy(t->corner + 4 * (size_t)s, flesh->tet + 4 * (size_t)f->tet, 4 * sizeof *t->corner);
        for (int c = 4 * s; c < 4 * s + 4; c++) t->bary[c] = (double)samples->bary[c];
    }
    t->entry[t->nsample] = at;
    return FA_OK;
}

static FaCode factor_muscle(FaMuscleTracks *t, const FaBspline *s, int muscle, const FaMuscleSamples *samples,
                            FaError *err) {
    int n = t->start[muscle + 1] - t->start[muscle];
    double trace = 0;
    if (samples->start[muscle] == samples->start[muscle + 1]) return FA_OK;
    double *a = t->factor[muscle] = FA_PUSH(t->arena, (size_t)n * (size_t)n, double);
    if (!a) return FA_FAIL_MEMORY(err);
    for (int k = samples->start[muscle]; k < samples->start[muscle + 1]; k++)
        for (int i = t->entry[k]; i < t->entry[k + 1]; i++)
            for (int j = t->entry[k]; j < t->entry[k + 1]; j++)
                a[(size_t)(t->point[i] - t->start[muscle]) * (size_t)n + (size_t)(t->point[j] - t->start[muscle])] +=
                    t->volume[k] * t->weight[i] * t->weight[j];
    for (int i = 0; i < n; i++) trace += a[(size_t)i * (size_t)n + (size_t)i] / n;
    for (int axis = 0; axis < 2; axis++) fai_bspline_bends(s, axis, SMOOTH * trace, a);
    fai_bspline_couples(s, COUPLED * trace, a);
    for (int i = 0; i < n; i++) a[(size_t)i * (size_t)n + (size_t)i] += RIDGE * trace;
    if (!fai_dense_cholesky(n, n, a)) t->factor[muscle] = NULL; // no volume to speak of
    return FA_OK;
}

static FaCode build(FaMuscleTracks *t, const FaMuscleFlesh *flesh, const FaMuscles *muscles,
                    const FaMuscleSamples *samples, FaError *err) {
    t->nsample = samples->n, t->nmuscle = muscles->n;
    if (!(t->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    t->start = FA_PUSH(t->arena, t->nmuscle + 1, int);
    t->first = FA_PUSH(t->arena, t->nmuscle + 1, int);
    t->factor = FA_PUSH(t->arena, t->nmuscle + 1, double *);
    if (!t->start || !t->first || !t->factor) return FA_FAIL_MEMORY(err);
    memcpy(t->first, samples->start, ((size_t)t->nmuscle + 1) * sizeof *t->first);
    for (int m = 0; m < t->nmuscle; m++) t->start[m + 1] = t->start[m] + fai_bspline_points(&muscles->muscle[m].solid);
    t->npoint = t->start[t->nmuscle];
    t->scratch = FA_PUSH(t->arena, t->npoint + 1, double);
    if (!t->scratch) return FA_FAIL_MEMORY(err);
    FA_TRY(fill_samples(t, flesh, muscles, samples, err));
    for (int m = 0; m < t->nmuscle; m++) FA_TRY(factor_muscle(t, &muscles->muscle[m].solid, m, samples, err));
    return FA_OK;
}

FaCode fai_muscle_tracks_new(const FaMuscleFlesh *flesh, const FaMuscles *muscles, const FaMuscleSamples *samples,
                             FaMuscleTracks *out, FaError *err) {
    *out = (FaMuscleTracks){0};
    FaCode rc = build(out, flesh, muscles, samples, err);
    if (rc < 0) fai_muscle_tracks_free(out);
    return rc;
}

void fai_muscle_tracks_free(FaMuscleTracks *t) {
    fai_arena_free(t->arena);
    *t = (FaMuscleTracks){0};
}

void fai_muscle_tracks_sample(const FaMuscleTracks *t, const double *field, double *at) {
    for (int s = 0; s < t->nsample; s++)
        for (int i = 0; i < 3; i++) {
            double sum = 0;
            for (int c = 4 * s; c < 4 * s + 4; c++) sum += t->bary[c] * field[3 * (size_t)t->corner[c] + (size_t)i];
            at[3 * (size_t)s + (size_t)i] = sum;
        }
}

void fai_muscle_tracks_fit_one(const FaMuscleTracks *t, int m, const double *d, double *c) {
    const int n = t->start[m + 1] - t->start[m];
    double *b = t->scratch;
    memset(c, 0, 3 * (size_t)n * sizeof *c);
    for (int i = 0; i < 3 && t->factor[m]; i++) {
        memset(b, 0, (size_t)n * sizeof *b);
        for (int s = t->first[m]; s < t->first[m + 1]; s++)
            for (int k = t->entry[s]; k < t->entry[s + 1]; k++)
                b[t->point[k] - t->start[m]] += t->volume[s] * t->weight[k] * d[3 * (size_t)s + (size_t)i];
        fai_dense_forward(n, n, t->factor[m], b);
        fai_dense_backward(n, n, t->factor[m], b);
        for (int p = 0; p < n; p++) c[3 * (size_t)p + (size_t)i] = b[p];
    }
}

void fai_muscle_tracks_fit(const FaMuscleTracks *t, const double *d, double *c) {
    for (int m = 0; m < t->nmuscle; m++) fai_muscle_tracks_fit_one(t, m, d, c + 3 * (size_t)t->start[m]);
}

void fai_muscle_tracks_at(const FaMuscleTracks *t, const double *c, double *d) {
    for (int s = 0; s < t->nsample; s++)
        for (int i = 0; i < 3; i++) {
            double sum = 0;
            for (int k = t->entry[s]; k < t->entry[s + 1]; k++)
                sum += t->weight[k] * c[3 * (size_t)t->point[k] + (size_t)i];
            d[3 * (size_t)s + (size_t)i] = sum;
        }
}

#include "energy/fibre.h"

#include "base/task.h"
#include "energy/tet_points.h"
#include "math/mat3.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 256 };

struct FaFibre {
    int nsample, nmuscle;
    FaTetPoints points; // d = F f of each sample: w_c = grad_c . f, 1/m
    double *size;       // volume q sigma, J                                          (nsample)
    int *muscle;        //                                                            (nsample)
    double *activation;
    double *slack; //                                                                 (nmuscle)
    // scratch
    double *part;    // energy and its size, of chunks
    int *changed;    // of chunks
    const double *x; // of the call under way
    bool definite;
    FaArena *arena;
};

// --- curves -------------------------------------------------------------------------------------------------------

FaFibreCurve fai_fibre_active(double e) {
    double size = fabs(e), sign = e < 0 ? -1 : 1, past = size - 0.6;
    if (size < 0.4) return (FaFibreCurve){e * (1 - 25.0 / 18 * e * e), 1 - 25.0 / 6 * e * e, -25.0 / 3 * e};
    if (size < 0.6)
        return (FaFibreCurve){sign * (25.0 / 9 * past * past * past + 1.0 / 3), 25.0 / 3 * past * past,
                              sign * 50.0 / 3 * past};
    return (FaFibreCurve){sign / 3, 0, 0};
}

FaFibreCurve fai_fibre_passive(double e) {
    const double scale = 0.05, rate = 6.6, last = 0.4;
    if (!(e > 0)) return (FaFibreCurve){0};
    double at = fmin(e, last), grown = exp(rate * at), past = e - at;
    FaFibreCurve c = {.value = scale * (grown - rate * at - 1), .slope = scale * rate * (grown - 1)};
    c.integral =
        scale * ((grown - 1) / rate - 0.5 * rate * at * at - at) + c.value * past + 0.5 * c.slope * past * past;
    c.value += c.slope * past;
    return c;
}

// --- making -------------------------------------------------------------------------------------------------------

static FaCode fill_sample(FaFibre *f, const FaFibreBody *body, int s, const FaFibreSample *from, FaError *err) {
    double length = sqrt(fai_v3_dot(from->direction, from->direction)), dm[9], inverse[9];
    if (from->tet < 0 || from->tet >= body->ntet || from->muscle < 0 || from->muscle >= body->nmuscle ||
        !(from->share >= 0 && from->share <= 1) || !(length > 0 && isfinite(length)))
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("fibre %d", s), "sample the muscles again",
                       "a fibre that makes no sense: tet %d, muscle %d, share %g, length %g", from->tet, from->muscle,
                       from->share, length);
    const int *tet = body->tet + 4 * (size_t)from->tet;
    for (int k = 0; k < 4; k++) {
        if (tet[k] < 0 || tet[k] >= body->nnode)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", from->tet), "rebuild the flesh", "node %d of %d", tet[k],
                           body->nnode);
        f->points.node[4 * (size_t)s + (size_t)k] = tet[k];
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            dm[3 * i + k] = body->X[3 * (size_t)tet[k + 1] + (size_t)i] - body->X[3 * (size_t)tet[0] + (size_t)i];
    double volume = fai_m3_det(dm) / 6;
    if (!(volume > 0) || !fai_m3_inverse(dm, inverse))
        return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", from->tet), "rebuild the flesh",
                       "a tet has no positive volume at rest");
    double *w = f->points.weight + 4 * (size_t)s;
    w[0] = 0;
    for (int k = 0; k < 3; k++) {
        w[k + 1] = fai_v3_dot(inverse + 3 * k, from->direction) / length;
        w[0] -= w[k + 1];
    }
    f->size[s] = volume * from->share * body->sigma[from->muscle];
    f->muscle[s] = from->muscle;
    return FA_OK;
}

static FaCode build(FaFibre *f, const FaFibreBody *body, const FaFibreSample *sample, FaError *err) {
    f->arena = fai_arena_new(0);
    if (!f->arena) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)f->nsample + 1, chunks = (size_t)fai_chunks(f->nsample, SAMPLES) + 1;
    FA_TRY(fai_tet_points_new(&f->points, body->nnode, f->nsample, f->arena, err));
    f->size = FA_PUSH(f->arena, n, double);
    f->muscle = FA_PUSH(f->arena, n, int);
    f->activation = FA_PUSH(f->arena, (size_t)f->nmuscle + 1, double);
    f->slack = FA_PUSH(f->arena, (size_t)f->nmuscle + 1, double);
    f->part = FA_PUSH(f->arena, 2 * chunks, double);
    f->changed = FA_PUSH(f->arena, chunks, int);
    if (!f->size || !f->muscle || !f->activation || !f->slack || !f->part || !f->changed) return FA_FAIL_MEMORY(err);
    for (int m = 0; m < f->nmuscle; m++)
        if (!(body->sigma[m] >= 0 && body->sigma[m] < 1e12))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("muscle %d", m), "stresses are Pa, 0 or more", "a stress of %g",
                           body->sigma[m]);
    for (int s = 0; s < f->nsample; s++) FA_TRY(fill_sample(f, body, s, &sample[s], err));
    return fai_tet_points_connect(&f->points, f->arena, err);
}

FaCode fai_fibre_new(const FaFibreBody *body, int nsample, const FaFibreSample *sample, FaFibre **fibre, FaError *err) {
    *fibre = NULL;
    if (nsample > INT32_MAX / 128)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "%d fibres are too many", nsample);
    FaFibre *f = FA_NEW(1, FaFibre);
    if (!f) return FA_FAIL_MEMORY(err);
    f->nsample = nsample, f->nmuscle = body->nmuscle;
    FaCode rc = build(f, body, sample, err);
    if (rc < 0)
        fai_fibre_free(f);
    else
        *fibre = f;
    return rc;
}

void fai_fibre_free(FaFibre *f) {
    if (!f) return;
    fai_arena_free(f->arena);
    fa_free(f);
}

void fai_fibre_activate(FaFibre *f, const double *activation) {
    for (int m = 0; m < f->nmuscle; m++) f->activation[m] = fmin(fmax(activation[m], 0), 1);
}

void fai_fibre_slack(FaFibre *f, const double *slack) {
    if (f->nmuscle > 0) memcpy(f->slack, slack, (size_t)f->nmuscle * sizeof *slack);
}

// --- samples ------------------------------------------------------------------------------------------------------

static FaFibreCurve curve_of(const FaFibre *f, int s, double e) {
    FaFibreCurve a = fai_fibre_active(e), q = fai_fibre_passive(e - f->slack[f->muscle[s]]);
    double share = f->activation[f->muscle[s]];
    return (FaFibreCurve){share * a.integral + q.integral, share * a.value + q.value, share * a.slope + q.slope};
}

static void energy_chunk(void *ctx, int begin, int end, int chunk) {
    FaFibre *f = ctx;
    double sum = 0, size = 0;
    for (int s = begin; s < end; s++) {
        double d[3], *pull = f->points.pull + 3 * (size_t)s;
        fai_tet_point(&f->points, s, f->x, d);
        double l = sqrt(fai_v3_dot(d, d));
        FaFibreCurve c = curve_of(f, s, l - 1);
        sum += f->size[s] * c.integral, size += f->size[s] * fabs(c.integral);
        // a fibre of no length has no force either
        for (int i = 0; i < 3; i++) pull[i] = l > 0 ? f->size[s] * c.value / l * d[i] : 0;
    }
    f->part[2 * chunk] = sum, f->part[2 * chunk + 1] = size;
}

// T' along d and T / l across it, T the curve's value: never negative.
static void second_chunk(void *ctx, int begin, int end, int chunk) {
    FaFibre *f = ctx;
    int changed = 0;
    for (int s = begin; s < end; s++) {
        double d[3], *m = f->points.matrix + 6 * (size_t)s;
        fai_tet_point(&f->points, s, f->x, d);
        double l = sqrt(fai_v3_dot(d, d)), over = l > 0 ? 1 / l : 0;
        FaFibreCurve c = curve_of(f, s, l - 1);
        changed += c.slope < 0;
        double across = f->size[s] * c.value * over,
               along = f->size[s] * (f->definite ? fmax(c.slope, 0) : c.slope) - across;
        for (int i = 0; i < 3; i++) d[i] *= over;
        m[0] = across + along * d[0] * d[0], m[3] = across + along * d[1] * d[1], m[5] = across + along * d[2] * d[2];
        m[1] = along * d[0] * d[1], m[2] = along * d[0] * d[2], m[4] = along * d[1] * d[2];
    }
    f->changed[chunk] = changed;
}

// --- the term -----------------------------------------------------------------------------------------------------

static void fibre_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    FaFibre *f = self;
    f->x = x;
    fai_parallel(f->nsample, SAMPLES, energy_chunk, f);
    if (g) fai_tet_points_gather(&f->points, g);
    for (int c = 0; c < fai_chunks(f->nsample, SAMPLES); c++)
        sum->energy += f->part[2 * c], sum->size += f->part[2 * c + 1];
}

static int fibre_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    FaFibre *f = self;
    f->x = x, f->definite = kind != FA_HESSIAN_TRUE;
    fai_parallel(f->nsample, SAMPLES, second_chunk, f);
    fai_tet_points_blocks(&f->points, blocks);
    if (!f->definite) return -1;
    int changed = 0;
    for (int c = 0; c < fai_chunks(f->nsample, SAMPLES); c++) changed += f->changed[c];
    return changed;
}

static void fibre_product(void *self, const double *x, const double *p, double *y) {
    FaFibre *f = self;
    f->x = x, f->definite = false;
    fai_parallel(f->nsample, SAMPLES, second_chunk, f);
    fai_tet_points_step(&f->points, p);
    fai_tet_points_gather(&f->points, y);
}

void fai_fibre_slope(const FaFibre *f, int muscle, const double *x, double *g) {
    for (int s = 0; s < f->nsample; s++) {
        if (f->muscle[s] != muscle) continue;
        double d[3];
        fai_tet_point(&f->points, s, x, d);
        double l = sqrt(fai_v3_dot(d, d)), pull = l > 0 ? f->size[s] * fai_fibre_active(l - 1).value / l : 0;
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3; i++)
                g[3 * (size_t)f->points.node[4 * s + c] + (size_t)i] += f->points.weight[4 * s + c] * pull * d[i];
    }
}

FaTerm fai_fibre_term(FaFibre *f) {
    return (FaTerm){.name = "fibres",
                    .self = f,
                    .curve = FA_TERM_PROJECTED,
                    .energy = fibre_energy,
                    .second = fibre_second,
                    .product = fibre_product};
}

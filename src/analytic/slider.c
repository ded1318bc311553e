// One source and n targets, for time sliders: the targets' displacements lie flat in the mesh's own order, so that a
// frame is one pass over the source and each target that has a weight. (FaBlender reorders vertices to skip what sparse
// shapes do not move; whole expressions move everything, and there its reordering costs half the time.)
//
// Per coordinate: x = source; x = fma(weight, delta, x) for each target with a weight, in shape order; x + 0. See
// rig/blend.h.
#include "base/simd.h"
#include "base/task.h"
#include "fascia/analytic.h"
#include "math/oscillator.h"
#include "method/method.h"
#include "rig/blend.h"

#include <math.h>

enum { CHUNK = 8192, MOST = 512 }; // floats of a chunk; targets

struct FaSlider {
    int n;
    size_t size;   // floats: 3 nvert
    size_t stride; // from target to target
    FaOscillator o;
    double one; // g(1)
    const float *source;
    float *delta; // (n x stride)
    void *delta_base;
    int *order; // targets in the order of their shapes     (n)
    bool avx2;
};

static FaCode fill(FaSlider *s, const FaRig *rig, const int *target, FaError *err) {
    double unused;
    FA_TRY(fa_analytic_response(&s->o, 1, &unused, err));
    s->one = fai_oscillator_response(s->o.mass, s->o.damping, s->o.stiffness, 1);
    s->size = 3 * (size_t)rig->mesh.nvert;
    s->stride = (s->size + 15) / 16 * 16;
    s->source = rig->mesh.x;
    s->order = FA_NEW(s->n, int);
    s->delta = fai_huge_alloc((size_t)s->n * s->stride * sizeof(float), &s->delta_base);
    if (!s->order || !s->delta) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < s->n; i++) {
        if (target[i] < 0 || target[i] >= rig->nshape)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("target %d", i), NULL, "the rig has no shape %d", target[i]);
        int at = i;
        for (; at > 0 && target[s->order[at - 1]] > target[i]; at--) s->order[at] = s->order[at - 1];
        s->order[at] = i;
        const FaShape *shape = &rig->shape[target[i]];
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memcpy(s->delta + (size_t)i * s->stride + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e,
                   3 * sizeof(float));
    }
    return FA_OK;
}

FaCode fa_slider_new(const FaRig *rig, const FaOscillator *o, int n, const int *target, FaSlider **slider,
                     FaError *err) {
    *slider = NULL;
    if (n < 1 || n > MOST) return FA_FAIL(err, FA_E_ARG, NULL, "give 1 to 512", "%d targets cannot be blended", n);
    FaSlider *s = FA_NEW(1, FaSlider);
    if (!s) return FA_FAIL_MEMORY(err);
    s->n = n;
    s->o = *o;
    s->avx2 = fai_simd_wanted();
    FaCode rc = fill(s, rig, target, err);
    if (rc < 0)
        fa_slider_free(s);
    else
        *slider = s;
    return rc;
}

void fa_slider_free(FaSlider *s) {
    if (!s) return;
    fa_free(s->order);
    fa_free(s->delta_base);
    fa_free(s);
}

typedef struct Eval {
    const FaSlider *s;
    float *x;
    int n; // targets with a weight
    float w[MOST];
    const float *d[MOST];
} Eval;

static inline __attribute__((always_inline)) void eval_floats(const Eval *e, int begin, int end) {
    const float *restrict source = e->s->source;
    float *restrict x = e->x;
    if (e->n == 0) {
        for (int i = begin; i < end; i++) x[i] = source[i] + 0.0f;
        return;
    }
    // the first target with the source, the others in pairs: a chunk of results stays in the cache meanwhile
    const float *restrict d = e->d[0];
    float w = e->w[0];
    for (int i = begin; i < end; i++) x[i] = __builtin_fmaf(w, d[i], source[i]) + 0.0f;
    int t = 1;
    for (; t + 1 < e->n; t += 2) {
        const float *restrict a = e->d[t], *restrict b = e->d[t + 1];
        float wa = e->w[t], wb = e->w[t + 1];
        for (int i = begin; i < end; i++) x[i] = __builtin_fmaf(wb, b[i], __builtin_fmaf(wa, a[i], x[i])) + 0.0f;
    }
    for (; t < e->n; t++) {
        const float *restrict a = e->d[t];
        for (int i = begin; i < end; i++) x[i] = __builtin_fmaf(e->w[t], a[i], x[i]) + 0.0f;
    }
}

static void eval_ref(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    eval_floats(ctx, begin, end);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void eval_avx2(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    eval_floats(ctx, begin, end);
}
#else
#define eval_avx2 eval_ref
#endif

void fa_slider_eval(const FaSlider *s, const double *weight, const double *time, float *x) {
    Eval e;
    e.s = s;
    e.x = x;
    e.n = 0;
    for (int j = 0; j < s->n; j++) {
        int i = s->order[j];
        if (weight[i] == 0 || !(time[i] >= 0)) continue;
        float w =
            (float)(weight[i] * fai_oscillator_response(s->o.mass, s->o.damping, s->o.stiffness, time[i]) / s->one);
        if (w == 0 || !isfinite(w)) continue;
        e.w[e.n] = w;
        e.d[e.n++] = s->delta + (size_t)i * s->stride;
    }
    fai_parallel((int)s->size, CHUNK, s->avx2 ? eval_avx2 : eval_ref, &e);
}

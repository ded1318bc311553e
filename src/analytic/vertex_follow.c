// Layout: one array per quantity and coordinate, so that neighbouring vertices share a vector register. The same C code
// is compiled twice, for any processor and for AVX2; without fused operations both give the same bits.
#include "analytic/vertex_follow.h"

#include "analytic/follow.h"
#include "base/simd.h"
#include "base/task.h"

#include <math.h>

enum { CHUNK = 512, NCOEF = 10 };

struct FaVertexFollow {
    int n;
    bool moving; // some vertex feels the head's motion
    double h;    // the step that coef is for; part of the state, so that a resumed run has the same bits
    double coef_h;
    FaOscillator *o;     // (n)
    double *coef[NCOEF]; // in the order of FaFollow             (n)
    double *gain;        // (n)
    double *rest[3];     // neutral positions, m                 (n)
    double *e[3], *v[3]; // distance to the target and velocity  (n)
    float *p;            // last target                          (n x 3)
    double *block;       // all doubles above
    bool avx2;
};

FaCode fai_vertex_follow_new(const FaRig *rig, const FaOscillator *vertex, const float *gain, FaVertexFollow **out,
                             FaError *err) {
    *out = NULL;
    size_t n = (size_t)rig->mesh.nvert;
    FaVertexFollow *f = FA_NEW(1, FaVertexFollow);
    if (!f) return FA_FAIL_MEMORY(err);
    f->n = rig->mesh.nvert;
    f->avx2 = fai_simd_wanted();
    f->o = FA_NEW(n, FaOscillator);
    f->p = FA_NEW(3 * n, float);
    f->block = FA_NEW((NCOEF + 1 + 9) * n, double);
    if (!f->o || !f->p || !f->block) {
        fai_vertex_follow_free(f);
        return FA_FAIL_MEMORY(err);
    }
    double *next = f->block;
    for (int i = 0; i < NCOEF; i++, next += n) f->coef[i] = next;
    for (int i = 0; i < 3; i++) f->rest[i] = next, f->e[i] = next + n, f->v[i] = next + 2 * n, next += 3 * n;
    f->gain = next;
    memcpy(f->o, vertex, n * sizeof *f->o);
    for (size_t v = 0; v < n; v++) {
        f->gain[v] = gain ? (double)gain[v] : 0;
        f->moving |= f->gain[v] != 0;
        for (int k = 0; k < 3; k++) f->rest[k][v] = (double)rig->mesh.x[3 * v + (size_t)k];
    }
    *out = f;
    return FA_OK;
}

void fai_vertex_follow_free(FaVertexFollow *f) {
    if (!f) return;
    fa_free(f->o);
    fa_free(f->p);
    fa_free(f->block);
    fa_free(f);
}

// --- coefficients -------------------------------------------------------------------------------------------------

static void prepare_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    FaVertexFollow *f = ctx;
    FaFollow c = {0};
    for (int v = begin; v < end; v++) {
        // painted maps have large areas of one value
        if (v == begin || memcmp(&f->o[v], &f->o[v - 1], sizeof *f->o)) c = fai_follow(&f->o[v], f->h);
        const double all[NCOEF] = {c.xx, c.xv, c.lag, c.vx, c.vv, c.push, c.x0, c.x1, c.v0, c.v1};
        for (int i = 0; i < NCOEF; i++) f->coef[i][v] = all[i];
    }
}

void fai_vertex_follow_prepare(FaVertexFollow *f, double h) {
    // times of even frames differ in their last digits; that must not cost new coefficients
    if (!(fabs(h - f->h) <= 1e-11 * f->h)) f->h = h;
    if (f->coef_h == f->h) return;
    f->coef_h = f->h;
    fai_parallel(f->n, CHUNK, prepare_chunk, f);
}

// --- steps --------------------------------------------------------------------------------------------------------

typedef struct Step {
    FaVertexFollow *f;
    const float *target;
    float *surface;
    const FaAffine *a;
    int n;
} Step;

static inline __attribute__((always_inline)) void step_chunk(const Step *s, int begin, int end) {
    FaVertexFollow *f = s->f;
    const double *restrict xx = f->coef[0], *restrict xv = f->coef[1], *restrict lag = f->coef[2],
                           *restrict vx = f->coef[3], *restrict vv = f->coef[4], *restrict push = f->coef[5],
                           *restrict x0 = f->coef[6], *restrict x1 = f->coef[7], *restrict v0 = f->coef[8],
                           *restrict v1 = f->coef[9], *restrict gain = f->gain;
    const double *restrict rx = f->rest[0], *restrict ry = f->rest[1], *restrict rz = f->rest[2];
    double d[CHUNK], share = 1.0 / s->n;
    int count = end - begin;
    for (int k = 0; k < 3; k++) {
        double *restrict e = f->e[k] + begin, *restrict v = f->v[k] + begin;
        float *restrict p = f->p + 3 * (size_t)begin + k;
        const float *target = s->target + 3 * (size_t)begin + k;
        float *surface = s->surface + 3 * (size_t)begin + k;
        for (int i = 0; i < count; i++) d[i] = share * ((double)target[3 * i] - (double)p[3 * i]);
        for (int j = 0; j < s->n; j++) {
            if (!s->a) {
                for (int i = 0; i < count; i++) {
                    double ei = e[i], vi = v[i];
                    e[i] = xx[begin + i] * ei + xv[begin + i] * vi - lag[begin + i] * d[i];
                    v[i] = vx[begin + i] * ei + vv[begin + i] * vi + push[begin + i] * d[i];
                }
                continue;
            }
            const double *fa = s->a[j].f, *fb = s->a[j + 1].f;
            double a0 = fa[k], ax = fa[3 + 3 * k], ay = fa[4 + 3 * k], az = fa[5 + 3 * k];
            double b0 = fb[k] - a0, bx = fb[3 + 3 * k] - ax, by = fb[4 + 3 * k] - ay, bz = fb[5 + 3 * k] - az;
            for (int i = 0; i < count; i++) {
                int at = begin + i;
                double ei = e[i], vi = v[i];
                double acc = gain[at] * (a0 + ax * rx[at] + ay * ry[at] + az * rz[at]);
                double rise = gain[at] * (b0 + bx * rx[at] + by * ry[at] + bz * rz[at]);
                e[i] = xx[at] * ei + xv[at] * vi - lag[at] * d[i] + (x0[at] * acc + x1[at] * rise);
                v[i] = vx[at] * ei + vv[at] * vi + push[at] * d[i] + (v0[at] * acc + v1[at] * rise);
            }
        }
        for (int i = 0; i < count; i++) {
            p[3 * i] = target[3 * i];
            surface[3 * i] = (float)((double)p[3 * i] + e[i]);
        }
    }
}

static void step_ref(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    step_chunk(ctx, begin, end);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void step_avx2(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    step_chunk(ctx, begin, end);
}
#else
#define step_avx2 step_ref
#endif

void fai_vertex_follow_step(FaVertexFollow *f, const float *target, int n, const FaAffine *a, float *surface) {
    Step s = {f, target, surface, f->moving ? a : NULL, n};
    fai_parallel(f->n, CHUNK, f->avx2 ? step_avx2 : step_ref, &s);
}

void fai_vertex_follow_rest(FaVertexFollow *f, const float *target, const FaAffine *a, float *surface) {
    for (int v = 0; v < f->n; v++) {
        double give = f->o[v].stiffness > 0 ? f->gain[v] * f->o[v].mass / f->o[v].stiffness : 0;
        for (int k = 0; k < 3; k++) {
            size_t at = 3 * (size_t)v + (size_t)k;
            double acc = a ? a->f[k] + a->f[3 + 3 * k] * f->rest[0][v] + a->f[4 + 3 * k] * f->rest[1][v] +
                                 a->f[5 + 3 * k] * f->rest[2][v]
                           : 0;
            f->e[k][v] = give * acc;
            f->v[k][v] = 0;
            f->p[at] = target[at];
            surface[at] = (float)((double)target[at] + f->e[k][v]);
        }
    }
}

typedef struct Push {
    const FaVertexFollow *f;
    const FaRig *rig;
    int first; // entry of the rig
    const FaForce *force;
    double t;
    float *surface;
} Push;

static void push_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Push *p = ctx;
    const FaOscillator *last = NULL;
    double answer = 0;
    for (int i = p->first + begin; i < p->first + end; i++) {
        const FaOscillator *o = &p->f->o[p->rig->row[i]];
        if (!last || memcmp(o, last, sizeof *o)) answer = fa_analytic_force(o, p->force, p->t);
        last = o;
        for (int k = 0; k < 3; k++)
            p->surface[3 * p->rig->row[i] + k] += (float)(answer * (double)p->rig->delta[3 * i + k]);
    }
}

void fai_vertex_follow_push(const FaVertexFollow *f, const FaRig *rig, int shape, const FaForce *force, double t,
                            float *surface) {
    Push p = {f, rig, rig->shape[shape].first, force, t, surface};
    fai_parallel(rig->shape[shape].count, CHUNK, push_chunk, &p);
}

const FaOscillator *fai_vertex_follow_springs(const FaVertexFollow *f) { return f->o; }

void fai_vertex_follow_calm(FaVertexFollow *f, const float *keep) {
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < 3 && keep[i] < 1; k++) {
            f->e[k][i] *= (double)keep[i];
            f->v[k][i] *= (double)keep[i];
        }
}

void fai_vertex_follow_state(FaVertexFollow *f, FaStream *s) {
    size_t n = (size_t)f->n;
    fai_stream(s, &f->h, sizeof f->h);
    for (int k = 0; k < 3; k++) {
        fai_stream(s, f->e[k], n * sizeof(double));
        fai_stream(s, f->v[k], n * sizeof(double));
    }
    fai_stream(s, f->p, 3 * n * sizeof(float));
}

// Energies that only this test knows, minimised together with the solid: wires between far nodes (blocks that no tet
// has; they buckle), a pouch of tets that keeps its volume (outside of the blocks), a hill that cannot be projected, a
// wall of infinite energy. Derivatives are held against complex steps; so is the dense Hessian that solves with the
// kept factor are compared with.
// labels: unit hash
#include "base/task.h"
#include "energy/term.h"
#include "solve/newton.h"

#include "test_solve_body.h"

#include <complex.h>

typedef double complex C;

// --- wires: k/8 L^2 (|d|^2 / L^2 - 1)^2 ---------------------------------------------------------------------------

enum { WIRES = 6, FEW = 2, HEAVY = 10000 }; // HEAVY: what a changed wire counts, so that the report tells it from tets
typedef struct Wires {
    double k, length[WIRES]; // N/m; m
    int pair[2 * WIRES];
    double pull[WIRES][3], energy[WIRES]; // scratch
    const double *x;
} Wires;

// Parallel: each wire writes its own; summed below in order.
static void wires_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Wires *w = ctx;
    for (int i = begin; i < end; i++) {
        double d[3], L2 = w->length[i] * w->length[i];
        fai_v3_sub(w->x + 3 * w->pair[2 * i + 1], w->x + 3 * w->pair[2 * i], d);
        double e = fai_v3_dot(d, d) / L2 - 1;
        w->energy[i] = w->k / 8 * L2 * e * e;
        for (int a = 0; a < 3; a++) w->pull[i][a] = w->k / 2 * e * d[a];
    }
}

static void wires_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    Wires *w = self;
    w->x = x;
    fai_parallel(WIRES, FEW, wires_chunk, w);
    for (int i = 0; i < WIRES; i++) {
        sum->energy += w->energy[i], sum->size += w->energy[i];
        for (int a = 0; g && a < 3; a++)
            g[3 * w->pair[2 * i] + a] -= w->pull[i][a], g[3 * w->pair[2 * i + 1] + a] += w->pull[i][a];
    }
}

// The 3x3 matrix of a wire: k/2 (e + 2 d d' / L^2). Its eigenvalues are k/2 e, twice, and k/2 (e + 2 |d|^2 / L^2).
static bool wire_matrix(const Wires *w, int i, const double *x, bool definite, double m[9]) {
    double d[3], L2 = w->length[i] * w->length[i];
    fai_v3_sub(x + 3 * w->pair[2 * i + 1], x + 3 * w->pair[2 * i], d);
    double d2 = fai_v3_dot(d, d), e = d2 / L2 - 1, along = e + 2 * d2 / L2;
    bool bad = e < 0;
    if (definite) e = fmax(e, 0), along = fmax(along, 0);
    for (int a = 0; a < 9; a++)
        m[a] = w->k / 2 * (e * (a % 4 == 0) + (d2 > 0 ? (along - e) * d[a / 3] * d[a % 3] / d2 : 0));
    return bad;
}

static int wires_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    Wires *w = self;
    int changed = 0;
    for (int i = 0; i < WIRES; i++) {
        double m[9], minus[9];
        changed += wire_matrix(w, i, x, kind != FA_HESSIAN_TRUE, m);
        for (int a = 0; a < 9; a++) minus[a] = -m[a];
        fai_blocks_add(blocks, w->pair[2 * i], w->pair[2 * i], m);
        fai_blocks_add(blocks, w->pair[2 * i + 1], w->pair[2 * i + 1], m);
        fai_blocks_add(blocks, w->pair[2 * i], w->pair[2 * i + 1], minus);
    }
    return kind == FA_HESSIAN_TRUE ? -1 : HEAVY * changed;
}

static void wires_product(void *self, const double *x, const double *p, double *y) {
    const Wires *w = self;
    for (int i = 0; i < WIRES; i++) {
        double m[9], d[3], f[3];
        wire_matrix(w, i, x, false, m);
        fai_v3_sub(p + 3 * w->pair[2 * i + 1], p + 3 * w->pair[2 * i], d);
        fai_m3_mulv(m, d, f);
        for (int a = 0; a < 3; a++) y[3 * w->pair[2 * i] + a] -= f[a], y[3 * w->pair[2 * i + 1] + a] += f[a];
    }
}

static void wires_count(void *self, const double *x, FaTermCount *count) {
    (void)self, (void)x;
    count->active += WIRES;
}

// The same once more, written in complex numbers.
static C wires_complex(const Wires *w, const C *x, C *g) {
    C sum = 0;
    for (int i = 0; i < WIRES; i++) {
        const C *p = x + 3 * w->pair[2 * i], *q = x + 3 * w->pair[2 * i + 1];
        C d2 = (q[0] - p[0]) * (q[0] - p[0]) + (q[1] - p[1]) * (q[1] - p[1]) + (q[2] - p[2]) * (q[2] - p[2]);
        double L = w->length[i];
        sum += w->k / 8 * (d2 / L - L) * (d2 / L - L);
        for (int a = 0; g && a < 3; a++) {
            C f = w->k / 2 * (d2 / (L * L) - 1) * (q[a] - p[a]);
            g[3 * w->pair[2 * i] + a] -= f, g[3 * w->pair[2 * i + 1] + a] += f;
        }
    }
    return sum;
}

static FaTerm wires_term(Wires *w) {
    return (FaTerm){.name = "wires",
                    .self = w,
                    .curve = FA_TERM_PROJECTED,
                    .npair = WIRES,
                    .pair = w->pair,
                    .energy = wires_energy,
                    .second = wires_second,
                    .product = wires_product,
                    .count = wires_count};
}

// --- pouch: K/2 (V - V0)^2 / V0 over some tets; K/V0 grad V grad V' stays outside of the blocks --------------------

typedef struct Pouch {
    int ntet, nnode;
    const int *tet;
    double K, V0;             // Pa; m3
    double *grad, *grad_next; // of V, m2                                                (nnode x 3)
    int accepted;
} Pouch;

static const int face_of[4][3] = {
    {1, 3, 2}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}}; // seen from outside, by the corner across

static double pouch_volume(const Pouch *q, const double *x, double *grad) {
    double V = 0;
    if (grad) memset(grad, 0, 3 * (size_t)q->nnode * sizeof *grad);
    for (int e = 0; e < q->ntet; e++) {
        const int *v = q->tet + 4 * e;
        double d[3][3], n[3];
        for (int a = 0; a < 3; a++) fai_v3_sub(x + 3 * v[a + 1], x + 3 * v[0], d[a]);
        fai_v3_cross(d[0], d[1], n);
        V += fai_v3_dot(n, d[2]) / 6;
        for (int c = 0; grad && c < 4; c++) {
            fai_v3_sub(x + 3 * v[face_of[c][1]], x + 3 * v[face_of[c][0]], d[0]);
            fai_v3_sub(x + 3 * v[face_of[c][2]], x + 3 * v[face_of[c][0]], d[1]);
            fai_v3_cross(d[0], d[1], n);
            for (int a = 0; a < 3; a++) grad[3 * v[c] + a] += n[a] / 6;
        }
    }
    return V;
}

static void pouch_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    Pouch *q = self;
    double V = pouch_volume(q, x, q->grad_next), e = q->K / 2 * (V - q->V0) * (V - q->V0) / q->V0;
    sum->energy += e, sum->size += e;
    for (int i = 0; g && i < 3 * q->nnode; i++) g[i] += q->K * (V - q->V0) / q->V0 * q->grad_next[i];
}

static void pouch_accept(void *self) {
    Pouch *q = self;
    double *swap = q->grad;
    q->grad = q->grad_next, q->grad_next = swap;
    q->accepted++;
}

static void pouch_outside(void *self, const FaBlocks *b, const float *p, float *y) {
    const Pouch *q = self;
    double along = 0;
    for (int i = 0; i < b->nfree; i++)
        for (int a = 0; a < 3; a++) along += q->grad[3 * b->node[i] + a] * (double)p[4 * i + a];
    along *= q->K / q->V0;
    for (int i = 0; i < b->nfree; i++)
        for (int a = 0; a < 3; a++) y[4 * i + a] += (float)(along * q->grad[3 * b->node[i] + a]);
}

static void pouch_product(void *self, const double *x, const double *p, double *y) {
    Pouch *q = self;
    double V = pouch_volume(q, x, q->grad_next), along = 0, push = q->K * (V - q->V0) / q->V0;
    for (int i = 0; i < 3 * q->nnode; i++) along += q->grad_next[i] * p[i];
    for (int i = 0; i < 3 * q->nnode; i++) y[i] += q->K / q->V0 * along * q->grad_next[i];
    for (int e = 0; e < q->ntet; e++) {
        const int *v = q->tet + 4 * e;
        for (int c = 0; c < 4; c++) {
            double d[2][3], t[2][3], n[3], m[3];
            for (int k = 0; k < 2; k++) {
                fai_v3_sub(x + 3 * v[face_of[c][k + 1]], x + 3 * v[face_of[c][0]], d[k]);
                fai_v3_sub(p + 3 * v[face_of[c][k + 1]], p + 3 * v[face_of[c][0]], t[k]);
            }
            fai_v3_cross(t[0], d[1], n);
            fai_v3_cross(d[0], t[1], m);
            for (int a = 0; a < 3; a++) y[3 * v[c] + a] += push * (n[a] + m[a]) / 6;
        }
    }
}

static C det_complex(const C *p, const C *q, const C *r, const C *s) {
    C a[3], b[3], c[3];
    for (int i = 0; i < 3; i++) a[i] = q[i] - p[i], b[i] = r[i] - p[i], c[i] = s[i] - p[i];
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

// The gradient by replacing a corner: a volume is linear in each of its coordinates.
static C pouch_complex(const Pouch *q, const C *x, C *g) {
    C V = 0;
    for (int e = 0; e < q->ntet; e++) {
        const int *v = q->tet + 4 * e;
        V += det_complex(x + 3 * v[0], x + 3 * v[1], x + 3 * v[2], x + 3 * v[3]) / 6;
    }
    for (int e = 0; g && e < q->ntet; e++)
        for (int k = 0; k < 12; k++) {
            const int *v = q->tet + 4 * e;
            C at[4][3], more, less;
            for (int i = 0; i < 12; i++) at[i / 3][i % 3] = x[3 * v[i / 3] + i % 3];
            at[k / 3][k % 3] = 1, more = det_complex(at[0], at[1], at[2], at[3]) / 6;
            at[k / 3][k % 3] = 0, less = det_complex(at[0], at[1], at[2], at[3]) / 6;
            g[3 * v[k / 3] + k % 3] += q->K * (V - q->V0) / q->V0 * (more - less);
        }
    return q->K / 2 * (V - q->V0) * (V - q->V0) / q->V0;
}

static FaTerm pouch_term(Pouch *q) {
    return (FaTerm){.name = "pouch",
                    .self = q,
                    .curve = FA_TERM_CONVEX, // of what it gives
                    .energy = pouch_energy,
                    .accept = pouch_accept,
                    .outside = pouch_outside,
                    .product = pouch_product};
}

// --- the scene ----------------------------------------------------------------------------------------------------

typedef struct Scene {
    Body b;
    Wires wires;
    Pouch pouch;
    FaTerm term[2];
    FaSpring spring[2];
    FaRow row[6];
    double *y;
    FaNewtonInput in;
} Scene;

// Flesh on a plate that is shaken, wires from corner to corner of its top (half of them too long, so that they are
// compressed), a pouch in the middle that wants to be larger; with springs and rows where `full`.
static void scene_new(Scene *s, FaSolidLaw law, bool full) {
    *s = (Scene){.b = body_new(6, 5, 3, (double[]){0.06, 0.05, 0.03}, law, 3000, 2500, 1100, 0.2)};
    Body *b = &s->b;
    size_t n = 3 * (size_t)b->nnode;
    uint64_t r = 70;
    s->y = calloc(n, sizeof(double));
    for (int v = 0; v < b->nnode; v++) b->fixed[v] = b->x0[3 * v + 2] == 0;
    for (size_t i = 0; i < n; i++) {
        s->y[i] = b->x0[i] + 0.002 * uniform(&r);
        b->at[i] = b->x0[i] + (i % 3 == 1 ? 0.002 : 0);
        b->force[i] = 2e-3 * uniform(&r);
    }
    s->wires = (Wires){.k = 8};
    for (int i = 0; i < WIRES; i++) {
        int p = node_of(b, i, i % 3, 3), q = node_of(b, 6 - i, 5 - i % 2, 2 + i % 2);
        double d[3];
        fai_v3_sub(b->x0 + 3 * p, b->x0 + 3 * q, d);
        s->wires.pair[2 * i] = p, s->wires.pair[2 * i + 1] = q;
        s->wires.length[i] = (i % 2 ? 0.8 : 1.2) * sqrt(fai_v3_dot(d, d));
    }
    s->pouch = (Pouch){.ntet = 30, .nnode = b->nnode, .tet = b->tet + 4 * 200, .K = 4000};
    s->pouch.grad = calloc(n, sizeof(double)), s->pouch.grad_next = calloc(n, sizeof(double));
    s->pouch.V0 = 1.1 * pouch_volume(&s->pouch, b->x0, NULL);
    s->term[0] = wires_term(&s->wires), s->term[1] = pouch_term(&s->pouch);
    s->in = (FaNewtonInput){.rest = b->rest,
                            .inertia = 2e4,
                            .y = s->y,
                            .fixed_at = b->at,
                            .force = b->force,
                            .tolerance = 1e-11,
                            .iterations = 300};
    if (!full) return;
    for (int i = 0; i < 2; i++)
        s->spring[i] = (FaSpring){.node = node_of(b, 2 + i, 3, 3),
                                  .stiffness = 20,
                                  .to = {0.02, 0.03, 0.033},
                                  .normal = {0, 0, i},
                                  .one_sided = i};
    for (int i = 0; i < 6; i++)
        s->row[i] = (FaRow){.node = {node_of(b, i, 2, 3), node_of(b, i + 1, 3, 3), -1, -1},
                            .weight = {0.6f, 0.4f},
                            .normal = {0, 0, -1},
                            .gap = 0.0005f,
                            .stiffness = 200,
                            .soft = i % 2 ? 0.004f : 0,
                            .kind = i < 4 ? FA_ROW_PUSH : FA_ROW_PULL,
                            .offset = {0.001f, 0, i == 1 ? 0.004f : -0.001f},
                            .friction = i % 2 ? 0.05f : 0,
                            .slip = 0.004f};
    s->in.damping = (FaSolidDamping){0.3, b->x0};
    s->in.drag = 3e3;
    s->in.nspring = 2, s->in.spring = s->spring, s->in.nrow = 6, s->in.row = s->row, s->in.row_base = b->x0;
}

static void scene_free(Scene *s) {
    free(s->y), free(s->pouch.grad), free(s->pouch.grad_next);
    body_free(&s->b);
}

static const FaNewtonKind kinds[] = {FA_NEWTON_PCG, FA_NEWTON_JACOBI, FA_NEWTON_LBFGS, FA_NEWTON_CHOL};

static FaNewton *newton_of(const Scene *s, FaNewtonKind kind, int nterm) {
    FaNewton *n;
    FaError err = {0};
    FaNewtonOptions o = {.kind = kind, .max_rows = 6, .max_springs = 2, .nterm = nterm, .term = s->term};
    CHECK_OK(fai_newton_new(s->b.solid, s->b.fixed, s->b.mass, &o, &n, &err), &err);
    return n;
}

static void check_falls(const FaNewtonReport *r) {
    assert_true(r->iterations > 0 && r->iterations < FA_NEWTON_LOG);
    for (int i = 1; i <= r->iterations; i++) assert_true(r->energy[i] <= r->energy[i - 1]);
    assert_true(r->energy[r->iterations] < r->energy[0]);
}

// --- derivatives --------------------------------------------------------------------------------------------------

// Gradients of both terms against complex steps of the energy, to rounding, in many states; products against
// differences of gradients; blocks and what is outside against products.
static void test_derivatives(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, FA_SOLID_STVK, false);
    size_t n = 3 * (size_t)s.b.nnode;
    double *x = calloc(n, 8), *g = calloc(n, 8), *g2 = calloc(n, 8), *p = calloc(n, 8), *y = calloc(n, 8);
    C *z = calloc(n, sizeof(C));
    uint64_t r = 5;
    double worst_g[2] = {0}, worst_p[2] = {0};
    for (int trial = 0; trial < 60; trial++)
        for (int t = 0; t < 2; t++) {
            const FaTerm *term = &s.term[t];
            FaTermSum sum = {0}, more = {0};
            double size = 0, h = 1e-6;
            for (size_t i = 0; i < n; i++) x[i] = s.b.x0[i] + 0.01 * uniform(&r), p[i] = uniform(&r), g[i] = y[i] = 0;
            term->energy(term->self, x, g, &sum);
            assert_true(sum.energy > 0 && sum.size >= sum.energy);
            term->energy(term->self, x, NULL, &more); // without a gradient, the same bits
            assert_true(more.energy == sum.energy);
            for (size_t i = 0; i < n; i++) z[i] = x[i], size = fmax(size, fabs(g[i]));
            for (size_t i = 0; i < n; i++) {
                z[i] = x[i] + 1e-30 * I;
                C e = t ? pouch_complex(&s.pouch, z, NULL) : wires_complex(&s.wires, z, NULL);
                z[i] = x[i];
                worst_g[t] = fmax(worst_g[t], fabs(cimag(e) / 1e-30 - g[i]) / size);
            }
            term->product(term->self, x, p, y);
            memset(g, 0, n * 8), memset(g2, 0, n * 8);
            for (size_t i = 0; i < n; i++) x[i] += h * p[i];
            term->energy(term->self, x, g, &sum);
            for (size_t i = 0; i < n; i++) x[i] -= 2 * h * p[i];
            term->energy(term->self, x, g2, &sum);
            size = 0;
            for (size_t i = 0; i < n; i++) size = fmax(size, fabs(y[i]));
            for (size_t i = 0; i < n; i++) worst_p[t] = fmax(worst_p[t], fabs((g[i] - g2[i]) / (2 * h) - y[i]) / size);
        }
    printf("gradients: wires %.1e, pouch %.1e; products: %.1e, %.1e\n", worst_g[0], worst_g[1], worst_p[0], worst_p[1]);
    CHECK_NEAR(fmax(worst_g[0], worst_g[1]), 0, 1e-12);
    CHECK_NEAR(fmax(worst_p[0], worst_p[1]), 0, 1e-6);
    free(x), free(g), free(g2), free(p), free(y), free(z);
    scene_free(&s);
}

// Blocks of the wires, and what the pouch gives outside of them, against their products.
static void test_blocks(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, FA_SOLID_STVK, false);
    size_t n = 3 * (size_t)s.b.nnode;
    FaBlocks *b;
    FaError err = {0};
    CHECK_OK(fai_blocks_new(s.b.solid, s.b.fixed, WIRES, s.wires.pair, &b, &err), &err);
    double *x = calloc(n, 8), *p = calloc(n, 8), *y = calloc(n, 8);
    size_t quads = (size_t)b->nfree * 4;
    float *pf = calloc(quads + 16, 4), *yf = calloc(quads + 16, 4);
    uint64_t r = 9;
    for (int trial = 0; trial < 20; trial++)
        for (int t = 0; t < 2; t++) {
            for (size_t i = 0; i < n; i++) x[i] = s.b.x0[i] + 0.005 * uniform(&r), y[i] = 0;
            for (size_t i = 0; i < n; i++) p[i] = s.b.fixed[i / 3] ? 0 : (double)(float)uniform(&r);
            // where the pouch has the volume it wants, its matrix is of rank one
            if (t) s.pouch.V0 = pouch_volume(&s.pouch, x, NULL);
            for (int i = 0; i < b->nfree; i++)
                for (int a = 0; a < 3; a++) pf[4 * i + a] = (float)p[3 * b->node[i] + a];
            memset(b->val, 0, 9 * (size_t)b->start[b->nfree] * sizeof(float));
            memset(yf, 0, quads * sizeof(float));
            s.term[t].product(s.term[t].self, x, p, y);
            FaTermSum sum = {0};
            s.term[t].energy(s.term[t].self, x, NULL, &sum);
            if (t) {
                pouch_accept(&s.pouch);
                pouch_outside(&s.pouch, b, pf, yf);
            } else {
                wires_second(&s.wires, x, FA_HESSIAN_TRUE, b);
                fai_blocks_mul(b, pf, yf);
            }
            double size = 0, worst = 0;
            for (int i = 0; i < b->nfree; i++)
                for (int a = 0; a < 3; a++) {
                    double want = y[3 * b->node[i] + a];
                    size = fmax(size, fabs(want)), worst = fmax(worst, fabs(want - (double)yf[4 * i + a]));
                }
            assert_true(size > 0);
            CHECK_NEAR(worst / size, 0, 1e-5);
        }
    free(x), free(p), free(y), free(pf), free(yf);
    fai_blocks_free(b);
    scene_free(&s);
}

// The gradient of everything against differences of the energy, in many states.
static void test_total_gradient(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, FA_SOLID_NEO, true);
    FaNewton *n = newton_of(&s, FA_NEWTON_JACOBI, 2);
    size_t count = 3 * (size_t)s.b.nnode;
    double *g = calloc(count, 8), *x = s.b.x, size;
    uint64_t r = 15;
    for (int trial = 0; trial < 20; trial++) {
        for (size_t i = 0; i < count; i++) x[i] = s.b.x0[i] + 0.001 * uniform(&r);
        fai_newton_energy(n, &s.in, x, g, &size);
        for (size_t i = (size_t)trial; i < count; i += 23) {
            double h = 2e-7, keep = x[i], up, down;
            x[i] = keep + h, up = fai_newton_energy(n, &s.in, x, NULL, NULL);
            x[i] = keep - h, down = fai_newton_energy(n, &s.in, x, NULL, NULL);
            x[i] = keep;
            CHECK_NEAR((up - down) / (2 * h) / size, g[i] / size, 1e-6);
            if (s.b.fixed[i / 3]) assert_true(g[i] == 0); // wires and the pouch pull at fixed nodes as well
        }
    }
    free(g);
    fai_newton_free(n);
    scene_free(&s);
}

// --- minima -------------------------------------------------------------------------------------------------------

// One minimum for all kinds, lower at every step, the same bits for any number of threads, nothing allocated.
static void test_minimum(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 3, 8};
    for (int law = 0; law < FA_SOLID_LAWS; law++) {
        double *first = NULL;
        for (int q = 0; q < FA_COUNT(kinds); q++) {
            uint64_t hash[4] = {0};
            for (int t = 0; t < FA_COUNT(threads); t++) {
                fa_threads_set(threads[t]);
                Scene s;
                scene_new(&s, law, true);
                FaNewton *n = newton_of(&s, kinds[q], 2);
                FaNewtonReport r;
                FaError err = {0};
                test_fail_alloc(1);
                FaCode rc = fai_newton_solve(n, &s.in, s.b.x, &r, &err);
                assert_false(test_alloc_failed());
                test_fail_alloc(0);
                CHECK_OK(rc, &err);
                check_falls(&r);
                assert_true(s.pouch.accepted == r.iterations + 1);
                assert_true(r.active > WIRES && r.active < WIRES + 6); // rows, and what the wires count
                size_t count = 3 * (size_t)s.b.nnode;
                hash[t] = fai_hash64(s.b.x, count * sizeof(double), 0);
                assert_true(hash[t] == hash[0]);
                if (!first) {
                    first = malloc(count * sizeof(double));
                    memcpy(first, s.b.x, count * sizeof(double));
                }
                double worst = 0;
                for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs(first[i] - s.b.x[i]));
                CHECK_NEAR(worst, 0, 1e-9);
                fai_newton_free(n);
                scene_free(&s);
            }
            printf("law %d %-6s %016llx\n", law, fai_newton_kind_name[kinds[q]], (unsigned long long)hash[0]);
        }
        // without each of the terms it is another one
        for (int left = 0; left < 2; left++) {
            Scene s;
            scene_new(&s, law, true);
            FaNewton *n = newton_of(&s, FA_NEWTON_PCG, left);
            FaError err = {0};
            CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, NULL, &err), &err);
            double away = 0;
            for (int i = 0; i < 3 * s.b.nnode; i++) away = fmax(away, fabs(first[i] - s.b.x[i]));
            assert_true(away > 1e-4);
            fai_newton_free(n);
            scene_free(&s);
        }
        free(first);
    }
    fa_threads_set(0);
}

// --- energies that bend downwards ---------------------------------------------------------------------------------

// Stiff wires much too long: compressed, their matrices are negative across. Static, so that nothing else holds. All
// kinds find a minimum, and the report tells that they were made definite.
static void test_projected(void **state) {
    (void)state;
    for (int q = 0; q < FA_COUNT(kinds); q++) {
        Scene s;
        scene_new(&s, FA_SOLID_NEO, false);
        s.in.inertia = 0, s.in.tolerance = 1e-8;
        s.wires.k = 300;
        for (int i = 0; i < WIRES; i++) s.wires.length[i] *= 1.6;
        FaNewton *n = newton_of(&s, kinds[q], 2);
        FaNewtonReport r;
        FaError err = {0};
        CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, &r, &err), &err);
        check_falls(&r);
        assert_true(r.status == FA_NEWTON_CONVERGED);
        assert_true(r.negative > 0 && r.projected >= HEAVY && r.projected % HEAVY <= s.b.ntet);
        printf("%-6s compressed wires: %d steps, negative %d, projected %d, proximal %d\n",
               fai_newton_kind_name[kinds[q]], r.iterations, r.negative, r.projected, r.proximal);
        fai_newton_free(n);
        scene_free(&s);
    }
}

// A hill between two nodes: -a/2 |d|^2 + b/4 |d|^4. Nothing makes its matrix definite; the solver has to.
typedef struct Hill {
    double a, b;
    int pair[2];
    int kinds; // bits of what it was asked for
} Hill;

static void hill_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    const Hill *h = self;
    double d[3];
    fai_v3_sub(x + 3 * h->pair[1], x + 3 * h->pair[0], d);
    double d2 = fai_v3_dot(d, d);
    sum->energy += -0.5 * h->a * d2 + 0.25 * h->b * d2 * d2, sum->size += 0.5 * h->a * d2 + 0.25 * h->b * d2 * d2;
    for (int i = 0; g && i < 3; i++) {
        double f = (h->b * d2 - h->a) * d[i];
        g[3 * h->pair[0] + i] -= f, g[3 * h->pair[1] + i] += f;
    }
}

static int hill_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    Hill *h = self;
    double d[3], m[9], minus[9];
    h->kinds |= 1 << kind;
    fai_v3_sub(x + 3 * h->pair[1], x + 3 * h->pair[0], d);
    for (int a = 0; a < 9; a++) {
        m[a] = (h->b * fai_v3_dot(d, d) - h->a) * (a % 4 == 0) + 2 * h->b * d[a / 3] * d[a % 3];
        minus[a] = -m[a];
    }
    fai_blocks_add(blocks, h->pair[0], h->pair[0], m);
    fai_blocks_add(blocks, h->pair[1], h->pair[1], m);
    fai_blocks_add(blocks, h->pair[0], h->pair[1], minus);
    return -1;
}

static void test_indefinite(void **state) {
    (void)state;
    for (int q = 0; q < FA_COUNT(kinds); q++) {
        Scene s;
        scene_new(&s, FA_SOLID_NEO, false);
        s.in.inertia = 0, s.in.tolerance = 1e-8;
        s.in.forcing = 1e-4; // conjugate gradients that stop early may not meet it
        Hill hill = {.a = 2000, .b = 6e5, .pair = {node_of(&s.b, 1, 1, 3), node_of(&s.b, 5, 4, 3)}};
        s.term[0] = (FaTerm){.name = "hill",
                             .self = &hill,
                             .curve = FA_TERM_INDEFINITE,
                             .npair = 1,
                             .pair = hill.pair,
                             .energy = hill_energy,
                             .second = hill_second};
        FaNewton *n = newton_of(&s, kinds[q], 2);
        FaNewtonReport r;
        FaError err = {0};
        CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, &r, &err), &err);
        check_falls(&r);
        assert_true(r.status == FA_NEWTON_CONVERGED);
        printf("%-6s hill: %d steps, negative %d, proximal %d\n", fai_newton_kind_name[kinds[q]], r.iterations,
               r.negative, r.proximal);
        assert_true(r.negative > 0 && r.proximal > 0);
        assert_int_equal(hill.kinds, 1 << FA_HESSIAN_TRUE);
        // sensitivities need its product, and say so
        double *x = calloc(3 * (size_t)s.b.nnode, 8);
        assert_int_equal(
            fai_newton_kept_solve(n, &s.in, s.b.x, &(FaNewtonKept){.nrhs = 1, .rhs = s.b.force, .out = x}, &err),
            FA_E_UNSUPPORTED);
        free(x);
        fai_newton_free(n);
        scene_free(&s);
    }
}

// A wall: -k log(top - z) of one node, infinite beyond. A force pushes through it; the line search does not.
typedef struct Wall {
    int node;
    double top, k;
} Wall;

static void wall_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    const Wall *w = self;
    double gap = w->top - x[3 * w->node + 2], e = gap > 0 ? -w->k * log(gap) : INFINITY;
    sum->energy += e, sum->size += fabs(e);
    if (g) g[3 * w->node + 2] += w->k / gap;
}

static int wall_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    const Wall *w = self;
    double gap = w->top - x[3 * w->node + 2];
    assert_int_equal(kind, FA_HESSIAN_TRUE); // all that convex terms are asked for
    fai_blocks_add(blocks, w->node, w->node, (double[]){0, 0, 0, 0, 0, 0, 0, 0, w->k / (gap * gap)});
    return 0;
}

static void test_wall(void **state) {
    (void)state;
    for (int q = 0; q < FA_COUNT(kinds); q++) {
        double z[2];
        for (int with = 0; with < 2; with++) {
            Scene s;
            scene_new(&s, FA_SOLID_NEO, false);
            s.in.tolerance = 1e-8;
            Wall wall = {node_of(&s.b, 3, 3, 3), 0.031, 1e-6};
            s.b.force[3 * wall.node + 2] = 0.5;
            s.term[0] = (FaTerm){.name = "wall", .self = &wall, .energy = wall_energy, .second = wall_second};
            FaNewton *n = newton_of(&s, kinds[q], with);
            FaNewtonReport r;
            FaError err = {0};
            CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, &r, &err), &err);
            check_falls(&r);
            if (with) assert_true(r.backtracks > 0);
            z[with] = s.b.x[3 * wall.node + 2];
            fai_newton_free(n);
            scene_free(&s);
        }
        assert_true(z[0] > 0.0315 && z[1] < 0.031 && z[1] > 0.0305);
    }
}

// --- the kept factor ----------------------------------------------------------------------------------------------

// Second derivatives of the scene without springs, rows and damping, dense, from the reference of single elements and
// complex steps; 1 on the diagonal of fixed nodes.
static double *dense_hessian(const Scene *s, const double *x) {
    const Body *b = &s->b;
    size_t n = 3 * (size_t)b->nnode;
    double *H = calloc(n * n, sizeof(double));
    for (int e = 0; e < b->ntet; e++) {
        const int *v = b->tet + 4 * e;
        double D[9], U[9], inv[9], G[9], h[81], grad[4][3] = {{0}};
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) {
                D[3 * i + k] = b->x0[3 * v[k + 1] + i] - b->x0[3 * v[0] + i];
                U[3 * i + k] = x[3 * v[k + 1] + i] - x[3 * v[0] + i] - D[3 * i + k];
            }
        double volume = fai_m3_det(D) / 6;
        assert_true(fai_m3_inverse(D, inv));
        fai_m3_mul(U, inv, G);
        fai_solid_density_hessian(b->law, b->mu[e], b->lambda[e], G, FA_HESSIAN_TRUE, h);
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++) grad[k + 1][i] = inv[3 * k + i], grad[0][i] -= inv[3 * k + i];
        for (int p = 0; p < 12; p++)
            for (int q = 0; q < 12; q++)
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < 3; j++)
                        H[(size_t)(3 * v[p / 3] + p % 3) * n + (size_t)(3 * v[q / 3] + q % 3)] +=
                            volume * grad[p / 3][i] * h[9 * (3 * (p % 3) + i) + 3 * (q % 3) + j] * grad[q / 3][j];
    }
    C *z = calloc(n, sizeof(C)), *g = calloc(n, sizeof(C));
    for (size_t i = 0; i < n; i++) z[i] = x[i];
    for (size_t i = 0; i < n; i++) {
        memset(g, 0, n * sizeof(C));
        z[i] = x[i] + 1e-30 * I;
        wires_complex(&s->wires, z, g);
        pouch_complex(&s->pouch, z, g);
        z[i] = x[i];
        for (size_t j = 0; j < n; j++) H[j * n + i] += cimag(g[j]) / 1e-30;
        H[i * n + i] += s->in.inertia * b->mass[i / 3];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (b->fixed[i / 3] || b->fixed[j / 3]) H[i * n + j] = i == j;
    free(z), free(g);
    return H;
}

// b = H^-1 b by Cholesky; H is replaced the first time.
static void dense_solve(double *H, size_t n, bool factored, double *b) {
    for (size_t j = 0; !factored && j < n; j++) {
        for (size_t i = j; i < n; i++) {
            double sum = H[i * n + j];
            for (size_t k = 0; k < j; k++) sum -= H[i * n + k] * H[j * n + k];
            if (i == j) assert_true(sum > 0);
            H[i * n + j] = i == j ? sqrt(sum) : sum / H[j * n + j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) b[i] -= H[i * n + k] * b[k];
        b[i] /= H[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++) b[i] -= H[k * n + i] * b[k];
        b[i] /= H[i * n + i];
    }
}

static void test_kept(void **state) {
    (void)state;
    enum { RHS = 3 };
    for (int law = 0; law < FA_SOLID_LAWS; law++)
        for (int q = 0; q < FA_COUNT(kinds); q++) {
            uint64_t hash[2];
            for (int t = 0; t < 2; t++) {
                fa_threads_set(t ? 3 : 1);
                Scene s;
                scene_new(&s, law, false);
                FaNewton *n = newton_of(&s, kinds[q], 2);
                FaError err = {0};
                FaNewtonReport r;
                CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, &r, &err), &err);
                size_t count = 3 * (size_t)s.b.nnode;
                double *rhs = calloc(RHS * count, 8), *out = calloc(RHS * count, 8);
                uint64_t c = 31;
                for (size_t i = 0; i < RHS * count; i++) rhs[i] = uniform(&c);
                for (size_t i = 0; i < count; i++) rhs[count + i] = i == 3 * (size_t)node_of(&s.b, 3, 3, 3) ? 1e-9 : 0;
                FaNewtonKept kept = {.nrhs = RHS, .rhs = rhs, .out = out, .tolerance = 1e-12};
                test_fail_alloc(1);
                FaCode rc = fai_newton_kept_solve(n, &s.in, s.b.x, &kept, &err);
                assert_false(test_alloc_failed());
                test_fail_alloc(0);
                CHECK_OK(rc, &err);
                assert_int_equal(rc, FA_OK);
                assert_true(kept.residual <= 1e-12 && kept.products > RHS);
                if (r.status == FA_NEWTON_CONVERGED) assert_int_equal(kept.refreshes, 0);
                hash[t] = fai_hash64(out, RHS * count * 8, 0);
                if (t == 0) {
                    double *H = dense_hessian(&s, s.b.x), worst = 0;
                    for (int k = 0; k < RHS; k++) {
                        double *x = rhs + (size_t)k * count, size = 0, off = 0;
                        for (size_t i = 0; i < count; i++)
                            if (s.b.fixed[i / 3]) x[i] = 0;
                        dense_solve(H, count, k > 0, x);
                        for (size_t i = 0; i < count; i++) {
                            size = fmax(size, fabs(x[i]));
                            off = fmax(off, fabs(x[i] - out[(size_t)k * count + i]));
                            if (s.b.fixed[i / 3]) assert_true(out[(size_t)k * count + i] == 0);
                        }
                        assert_true(size > 0);
                        worst = fmax(worst, off / size);
                    }
                    printf("law %d %-6s kept: %d products for %d right-hand sides, off by %.1e\n", law,
                           fai_newton_kind_name[kinds[q]], kept.products, RHS, worst);
                    CHECK_NEAR(worst, 0, 1e-8);
                    free(H);
                }
                free(rhs), free(out);
                fai_newton_free(n);
                scene_free(&s);
            }
            assert_true(hash[0] == hash[1]);
        }
    fa_threads_set(0);
}

// With springs, rows that push, rub and pull, drag and damping: H out is what the gradient changes by along out. In
// place.
static void test_kept_full(void **state) {
    (void)state;
    for (int q = 0; q < FA_COUNT(kinds); q++) {
        Scene s;
        scene_new(&s, FA_SOLID_STVK, true);
        FaNewton *n = newton_of(&s, kinds[q], 2);
        FaError err = {0};
        FaNewtonReport r;
        CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, &r, &err), &err);
        size_t count = 3 * (size_t)s.b.nnode;
        double *rhs = calloc(count, 8), *x = calloc(count, 8), *g = calloc(count, 8), *g2 = calloc(count, 8), h = 1e-7;
        uint64_t c = 3;
        for (size_t i = 0; i < count; i++) rhs[i] = x[i] = s.b.fixed[i / 3] ? 0 : uniform(&c);
        CHECK_OK(fai_newton_kept_solve(n, &s.in, s.b.x,
                                       &(FaNewtonKept){.nrhs = 1, .rhs = x, .out = x, .tolerance = 1e-12}, &err),
                 &err);
        double big = 0, worst = 0;
        for (size_t i = 0; i < count; i++) big = fmax(big, fabs(x[i]));
        h /= big;
        double *at = calloc(count, 8);
        for (size_t i = 0; i < count; i++) at[i] = s.b.x[i] + h * x[i];
        fai_newton_energy(n, &s.in, at, g, NULL);
        for (size_t i = 0; i < count; i++) at[i] = s.b.x[i] - h * x[i];
        fai_newton_energy(n, &s.in, at, g2, NULL);
        for (size_t i = 0; i < count; i++) worst = fmax(worst, fabs((g[i] - g2[i]) / (2 * h) - rhs[i]));
        CHECK_NEAR(worst, 0, 1e-5);
        free(rhs), free(x), free(g), free(g2), free(at);
        fai_newton_free(n);
        scene_free(&s);
    }
}

// Asking changes nothing: the next solve has the bits that it would have had, as long as no factor was made.
static void test_kept_aside(void **state) {
    (void)state;
    for (int q = 0; q < FA_COUNT(kinds); q++) {
        uint64_t hash[2];
        for (int ask = 0; ask < 2; ask++) {
            Scene s;
            scene_new(&s, FA_SOLID_STVK, true);
            s.in.tolerance = 1e-6;
            FaNewton *n = newton_of(&s, kinds[q], 2);
            FaError err = {0};
            double *out = calloc(3 * (size_t)s.b.nnode, 8);
            FaNewtonKept kept = {.nrhs = 1, .rhs = s.b.force, .out = out};
            CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, NULL, &err), &err);
            if (ask) CHECK_OK(fai_newton_kept_solve(n, &s.in, s.b.x, &kept, &err), &err);
            assert_int_equal(kept.refreshes, 0);
            for (int i = 0; i < 3 * s.b.nnode; i++) s.y[i] += 0.001 * (i % 3);
            CHECK_OK(fai_newton_solve(n, &s.in, s.b.x, NULL, &err), &err);
            hash[ask] = fai_hash64(s.b.x, 3 * (size_t)s.b.nnode * 8, 0);
            free(out);
            fai_newton_free(n);
            scene_free(&s);
        }
        assert_true(hash[0] == hash[1]);
    }
}

// dx/dq against differences of minima that were solved anew: q the length of a wire (as an activation would set it),
// and a force on one node.
static void test_sensitivities(void **state) {
    (void)state;
    for (int q = 0; q < 2; q++) {
        Scene s;
        scene_new(&s, FA_SOLID_NEO, true);
        s.in.tolerance = 1e-14;
        FaNewton *n = newton_of(&s, FA_NEWTON_CHOL, 2);
        size_t count = 3 * (size_t)s.b.nnode;
        double *x[3], *rhs = calloc(count, 8), *dx = calloc(count, 8);
        double *value = q ? &s.b.force[3 * node_of(&s.b, 3, 2, 3)] : &s.wires.length[1], keep = *value,
               h = q ? 1e-4 : 1e-5;
        FaError err = {0};
        for (int k = 0; k < 3; k++) {
            x[k] = calloc(count, 8);
            memcpy(x[k], s.b.x0, count * 8);
            *value = keep + h * ((int[]){0, 1, -1})[k];
            CHECK_OK(fai_newton_solve(n, &s.in, x[k], NULL, &err), &err);
        }
        *value = keep;
        // -dg/dq
        if (q) {
            rhs[value - s.b.force] = 1;
        } else {
            double d[3], L = keep;
            int a = s.wires.pair[2], b = s.wires.pair[3];
            fai_v3_sub(x[0] + 3 * b, x[0] + 3 * a, d);
            for (int i = 0; i < 3; i++) {
                double f = s.wires.k * fai_v3_dot(d, d) / (L * L * L) * d[i]; // -d/dL of k/2 (d.d / L^2 - 1) d
                rhs[3 * b + i] += f, rhs[3 * a + i] -= f;
            }
        }
        CHECK_OK(fai_newton_kept_solve(n, &s.in, x[0],
                                       &(FaNewtonKept){.nrhs = 1, .rhs = rhs, .out = dx, .tolerance = 1e-12}, &err),
                 &err);
        double size = 0, worst = 0;
        for (size_t i = 0; i < count; i++) {
            size = fmax(size, fabs(dx[i]));
            worst = fmax(worst, fabs((x[1][i] - x[2][i]) / (2 * h) - dx[i]));
        }
        printf("sensitivity to %s: off by %.1e\n", q ? "a force" : "a length", worst / size);
        assert_true(size > 0);
        CHECK_NEAR(worst / size, 0, 1e-5);
        for (int k = 0; k < 3; k++) free(x[k]);
        free(rhs), free(dx);
        fai_newton_free(n);
        scene_free(&s);
    }
}

// --- misuse -------------------------------------------------------------------------------------------------------

static void test_bad_input(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, FA_SOLID_NEO, false);
    FaNewton *n;
    FaError err = {0};
    FaNewtonOptions o = {.nterm = 2, .term = s.term};
    s.wires.pair[3] = s.b.nnode;
    assert_int_equal(fai_newton_new(s.b.solid, s.b.fixed, s.b.mass, &o, &n, &err), FA_E_ARG);
    assert_non_null(strstr(err.place, "wires"));
    assert_null(n);
    s.wires.pair[3] = 0, s.term[1].energy = NULL, err = (FaError){0};
    assert_int_equal(fai_newton_new(s.b.solid, s.b.fixed, s.b.mass, &o, &n, &err), FA_E_ARG);
    s.term[1] = pouch_term(&s.pouch);
    // at a point that is no minimum: the wires are long and stiff, the sum is not definite
    s.in.inertia = 0, s.wires.k = 3e4;
    for (int i = 0; i < WIRES; i++) s.wires.length[i] *= 2;
    n = newton_of(&s, FA_NEWTON_CHOL, 2);
    double *out = calloc(3 * (size_t)s.b.nnode, 8);
    err = (FaError){0};
    assert_int_equal(
        fai_newton_kept_solve(n, &s.in, s.b.x0, &(FaNewtonKept){.nrhs = 1, .rhs = s.b.force, .out = out}, &err),
        FA_E_NUMERIC);
    free(out);
    fai_newton_free(n);
    scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives), cmocka_unit_test(test_blocks),        cmocka_unit_test(test_total_gradient),
        cmocka_unit_test(test_minimum),     cmocka_unit_test(test_projected),     cmocka_unit_test(test_indefinite),
        cmocka_unit_test(test_wall),        cmocka_unit_test(test_kept),          cmocka_unit_test(test_kept_full),
        cmocka_unit_test(test_kept_aside),  cmocka_unit_test(test_sensitivities), cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests_name("solve_terms", tests, NULL, NULL);
}

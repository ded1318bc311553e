#include "energy/solid_work.h"

#include "base/simd.h"
#include "base/task.h"
#include "math/mat3.h"
#include "math/svd_kernels.h"

enum { NODES = 2048 }; // of a task

// --- topology -----------------------------------------------------------------------------------------------------

static FaCode check_nodes(const FaSolid *s, FaError *err) {
    for (int k = 0; k < 4 * s->ntet; k++)
        if (s->tet[k] < 0 || s->tet[k] >= s->nnode)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", k / 4), "rebuild the face", "node %d of %d", s->tet[k],
                           s->nnode);
    return FA_OK;
}

static FaCode fill_inverses(FaSolid *s, const double *x0, FaError *err) {
    for (int e = 0; e < s->ntet; e++) {
        FaSolidPatch *p = &s->patch[e / FA_SOLID_PATCH];
        int l = e % FA_SOLID_PATCH;
        double dm[9], inverse[9];
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < 3; i++)
                dm[3 * i + k] =
                    x0[3 * (size_t)p->node[k + 1][l] + (size_t)i] - x0[3 * (size_t)p->node[0][l] + (size_t)i];
        bool good = fai_m3_inverse(dm, inverse) && fai_m3_det(dm) > 0;
        for (int i = 0; good && i < 9; i++) good = fabs(inverse[i]) < 1e15;
        if (!good)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", s->order[e]),
                           "rebuild the face with a finite thickness everywhere",
                           "a tet has no positive volume at rest");
        for (int i = 0; i < 9; i++) p->inverse0[i][l] = inverse[i];
    }
    return FA_OK;
}

static FaCode build(FaSolid *s, const int *tet, const double *x0, FaError *err) {
    s->arena = fai_arena_new(0);
    if (!s->arena) return FA_FAIL_MEMORY(err);
    s->npatch = (s->ntet + FA_SOLID_PATCH - 1) / FA_SOLID_PATCH;
#if defined(__x86_64__)
    s->avx2 = fai_simd_wanted();
#endif
    s->tet = FA_PUSH(s->arena, 4 * (size_t)s->ntet, int);
    s->patch = FA_PUSH(s->arena, s->npatch, FaSolidPatch);
    s->ntile = fai_chunks(s->npatch, FA_SOLID_CHUNK);
    s->order = FA_PUSH(s->arena, s->ntet, int);
    s->tile = FA_PUSH(s->arena, (size_t)s->ntile + 1, int);
    s->start = FA_PUSH(s->arena, (size_t)s->nnode + 1, int);
    s->place = FA_PUSH(s->arena, 4 * (size_t)s->ntet, int);
    if (!s->tet || !s->order || !s->patch || !s->tile || !s->start || !s->place) return FA_FAIL_MEMORY(err);
    memcpy(s->tet, tet, 4 * (size_t)s->ntet * sizeof *tet);
    FA_TRY(check_nodes(s, err));
    FA_TRY(fai_solid_layout(s, x0, err));
    return fill_inverses(s, x0, err);
}

FaCode fai_solid_new(int nnode, int ntet, const int *tet, const double *x0, FaSolidLaw law, FaSolid **solid,
                     FaError *err) {
    *solid = NULL;
    if (nnode < 1 || ntet < 1)
        return FA_FAIL(err, FA_E_MESH, NULL, "give it a body", "%d nodes and %d tets", nnode, ntet);
    if (ntet > INT32_MAX / 128 || nnode > INT32_MAX / 16)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "%d tets are too many", ntet);
    for (int i = 0; i < 3 * nnode; i++)
        if (!isfinite(x0[i]))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("node %d", i / 3), "rebuild the face",
                           "a position is not a number");
    FaSolid *s = FA_NEW(1, FaSolid);
    if (!s) return FA_FAIL_MEMORY(err);
    s->nnode = nnode;
    s->ntet = ntet;
    s->law = law;
    FaCode rc = build(s, tet, x0, err);
    if (rc < 0)
        fai_solid_free(s);
    else
        *solid = s;
    return rc;
}

void fai_solid_free(FaSolid *s) {
    if (!s) return;
    fai_arena_free(s->arena);
    fa_free(s);
}

int fai_solid_nodes(const FaSolid *s) { return s->nnode; }
int fai_solid_tets(const FaSolid *s) { return s->ntet; }

const FaSolidKernels *fai_solid_kernels(const FaSolid *s) {
#if defined(__x86_64__)
    if (s->avx2) return &fai_solid_kernels_avx2;
#else
    (void)s;
#endif
    return &fai_solid_kernels_ref;
}

// --- rest shapes --------------------------------------------------------------------------------------------------

FaCode fai_solid_rest_new(const FaSolid *solid, FaSolidRest **rest, FaError *err) {
    *rest = NULL;
    FaSolidRest *r = FA_NEW(1, FaSolidRest);
    if (!r) return FA_FAIL_MEMORY(err);
    r->solid = solid;
    r->arena = fai_arena_new(0);
    size_t n = (size_t)solid->nnode, tiles = (size_t)solid->ntile, places = (size_t)solid->tile[tiles] + 1;
    bool ok = r->arena && (r->X = FA_PUSH(r->arena, 3 * n, double)) &&
              (r->volume = FA_PUSH(r->arena, solid->ntet, double)) &&
              (r->patch = FA_PUSH(r->arena, solid->npatch, FaSolidRestPatch)) &&
              (r->u = FA_PUSH(r->arena, 4 * n, double)) && (r->from = FA_PUSH(r->arena, 4 * n, double)) &&
              (r->step = FA_PUSH(r->arena, 4 * n, double)) && (r->u_f = FA_PUSH(r->arena, 4 * n, float)) &&
              (r->from_f = FA_PUSH(r->arena, 4 * n, float)) && (r->sum = FA_PUSH(r->arena, 4 * places, double)) &&
              (r->part = FA_PUSH(r->arena, tiles, double)) && (r->count = FA_PUSH(r->arena, tiles, int));
    if (!ok) {
        fai_solid_rest_free(r);
        return FA_FAIL_MEMORY(err);
    }
    *rest = r;
    return FA_OK;
}

void fai_solid_rest_free(FaSolidRest *r) {
    if (!r) return;
    fai_arena_free(r->arena);
    fa_free(r);
}

const double *fai_solid_rest_x(const FaSolidRest *r) { return r->X; }
const double *fai_solid_rest_volume(const FaSolidRest *r) { return r->volume; }

typedef struct SetJob {
    FaSolidRest *r;
    const double *mu, *lambda;
} SetJob;

// A crushed element: its F against x0 with singular values raised to the floor. Returns whether one was.
static bool raise_element(const FaSolidPatch *p, const double *X, FaSolidRestPatch *out, int l) {
    double dm[9], inverse0[9], F[9], U[9], s[3], V[9], m[9], inverse[9];
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            dm[3 * i + k] = X[3 * (size_t)p->node[k + 1][l] + (size_t)i] - X[3 * (size_t)p->node[0][l] + (size_t)i];
    for (int i = 0; i < 9; i++) inverse0[i] = p->inverse0[i][l];
    fai_m3_mul(dm, inverse0, F);
    fai_m3_svd(F, U, s, V);
    if (s[2] >= FA_SOLID_FLOOR) return false;
    // Dm^-1 = Dm0^-1 F^-1 = Dm0^-1 V 1/s U'
    double volume = 1;
    for (int k = 0; k < 3; k++) s[k] = fmax(s[k], FA_SOLID_FLOOR), volume *= s[k];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[3 * i + j] =
                V[3 * i] * U[3 * j] / s[0] + V[3 * i + 1] * U[3 * j + 1] / s[1] + V[3 * i + 2] * U[3 * j + 2] / s[2];
    fai_m3_mul(inverse0, m, inverse);
    for (int i = 0; i < 9; i++) out->inverse[i][l] = inverse[i];
    out->volume[l] = volume / (6 * fai_m3_det(inverse0));
    return true;
}

static void set_chunk(void *ctx, int begin, int end, int chunk) {
    SetJob *job = ctx;
    FaSolidRest *r = job->r;
    const FaSolid *s = r->solid;
    const FaSolidKernels *kernel = fai_solid_kernels(s);
    int raised = 0;
    for (int q = begin; q < end; q++) {
        FaSolidRestPatch *out = &r->patch[q];
        unsigned char bad[FA_SOLID_PATCH];
        kernel->rest(&s->patch[q], r->X, out, bad);
        int n = FA_MIN(FA_SOLID_PATCH, s->ntet - q * FA_SOLID_PATCH);
        for (int l = 0; l < n; l++) {
            int e = s->order[q * FA_SOLID_PATCH + l];
            if (bad[l]) raised += raise_element(&s->patch[q], r->X, out, l);
            r->volume[e] = out->volume[l];
            out->mu[l] = job->mu[e] * out->volume[l];
            out->lambda[l] = job->lambda[e] * out->volume[l];
        }
        for (int l = n; l < FA_SOLID_PATCH; l++) {
            for (int i = 0; i < 9; i++) out->inverse[i][l] = 0;
            out->mu[l] = out->lambda[l] = out->volume[l] = 0;
        }
        for (int i = 0; i < 9; i++)
            for (int l = 0; l < FA_SOLID_PATCH; l++) out->inverse_f[i][l] = (float)out->inverse[i][l];
        for (int l = 0; l < FA_SOLID_PATCH; l++)
            out->mu_f[l] = (float)out->mu[l], out->lambda_f[l] = (float)out->lambda[l];
    }
    r->count[chunk] = raised;
}

FaCode fai_solid_rest_set(FaSolidRest *r, const double *X, const double *mu, const double *lambda, int *clamped,
                          FaError *err) {
    const FaSolid *s = r->solid;
    for (int i = 0; i < 3 * s->nnode; i++)
        if (!(fabs(X[i]) < 1e6)) {
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("node %d", i / 3),
                           "check the shapes and the weights of this frame",
                           "a rest position is not a number, or farther than 1000 km");
        }
    for (int e = 0; e < s->ntet; e++)
        if (!(mu[e] >= 0 && mu[e] < 1e15 && lambda[e] >= 0 && lambda[e] < 1e15))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("tet %d", e), "materials are Pa, 0 or more",
                           "mu %g and lambda %g make no material", mu[e], lambda[e]);
    memcpy(r->X, X, 3 * (size_t)s->nnode * sizeof *X);
    SetJob job = {r, mu, lambda};
    fai_parallel(s->npatch, FA_SOLID_CHUNK, set_chunk, &job);
    int sum = 0;
    for (int c = 0; c < s->ntile; c++) sum += r->count[c];
    if (clamped) *clamped = sum;
    r->set = true;
    return FA_OK;
}

// --- energy and force ---------------------------------------------------------------------------------------------

typedef struct Prepare {
    FaSolidRest *r;
    const double *x, *from;
    bool singles;
} Prepare;

static void prepare_nodes(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Prepare *p = ctx;
    FaSolidRest *r = p->r;
    for (size_t v = (size_t)begin; v < (size_t)end; v++)
        for (size_t k = 0; k < 3; k++) {
            double u = p->x[3 * v + k] - r->X[3 * v + k];
            r->u[4 * v + k] = u;
            if (p->singles) r->u_f[4 * v + k] = (float)u;
            if (!p->from) continue;
            double from = p->from[3 * v + k] - r->X[3 * v + k];
            r->from[4 * v + k] = from;
            r->step[4 * v + k] = p->x[3 * v + k] - p->from[3 * v + k];
            if (p->singles) r->from_f[4 * v + k] = (float)from;
        }
}

void fai_solid_prepare(FaSolidRest *r, const double *x, const FaSolidDamping *damping, bool singles) {
    FA_ASSERT(r->set);
    Prepare p = {r, x, damping && damping->share > 0 ? damping->from : NULL, singles};
    fai_parallel(r->solid->nnode, NODES, prepare_nodes, &p);
}

typedef struct ForceJob {
    FaSolidRest *r;
    double share;
    bool gradient;
    double *g;
} ForceJob;

static void force_chunk(void *ctx, int begin, int end, int chunk) {
    const ForceJob *job = ctx;
    FaSolidRest *r = job->r;
    const FaSolid *s = r->solid;
    const FaSolidKernels *kernel = fai_solid_kernels(s);
    FaSolidForce f;
    double sum = 0, *forces = r->sum + 4 * (size_t)s->tile[chunk];
    if (job->gradient) memset(forces, 0, 4 * (size_t)(s->tile[chunk + 1] - s->tile[chunk]) * sizeof *forces);
    for (int q = begin; q < end; q++) {
        const FaSolidPatch *p = &s->patch[q];
        kernel->force(s->law, p, &r->patch[q], r->u, &f);
        if (job->share > 0) kernel->damp(p, &r->patch[q], job->share, r->from, r->step, &f);
        for (int l = 0; l < FA_SOLID_PATCH; l++) sum += f.energy[l];
        if (job->gradient) kernel->scatter(p, &f, forces);
    }
    r->part[chunk] = sum;
}

static void gather_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const ForceJob *job = ctx;
    fai_solid_kernels(job->r->solid)->gather(job->r->solid, job->r->sum, begin, end, job->g);
}

double fai_solid_energy(FaSolidRest *r, const double *x, const FaSolidDamping *damping, double *g) {
    fai_solid_prepare(r, x, damping, false);
    ForceJob job = {r, damping ? damping->share : 0, g != NULL, g};
    fai_parallel(r->solid->npatch, FA_SOLID_CHUNK, force_chunk, &job);
    if (g) fai_parallel(r->solid->nnode, NODES, gather_chunk, &job);
    double sum = 0;
    for (int c = 0; c < r->solid->ntile; c++) sum += r->part[c];
    return sum;
}

static void step_nodes(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Prepare *p = ctx;
    for (size_t v = (size_t)begin; v < (size_t)end; v++)
        for (size_t k = 0; k < 3; k++) p->r->step[4 * v + k] = p->x[3 * v + k];
}

static void product_chunk(void *ctx, int begin, int end, int chunk) {
    const ForceJob *job = ctx;
    FaSolidRest *r = job->r;
    const FaSolid *s = r->solid;
    const FaSolidKernels *kernel = fai_solid_kernels(s);
    FaSolidForce f;
    double *forces = r->sum + 4 * (size_t)s->tile[chunk];
    memset(forces, 0, 4 * (size_t)(s->tile[chunk + 1] - s->tile[chunk]) * sizeof *forces);
    for (int q = begin; q < end; q++) {
        const FaSolidPatch *p = &s->patch[q];
        kernel->product(s->law, p, &r->patch[q], r->u, r->step, &f);
        // damping is quadratic in the step from `from`: its force of another step is its product with that
        if (job->share > 0) kernel->damp(p, &r->patch[q], job->share, r->from, r->step, &f);
        kernel->scatter(p, &f, forces);
    }
}

void fai_solid_product(FaSolidRest *r, const double *x, const FaSolidDamping *damping, const double *p, double *y) {
    fai_solid_prepare(r, x, damping, false);
    Prepare step = {.r = r, .x = p};
    fai_parallel(r->solid->nnode, NODES, step_nodes, &step);
    ForceJob job = {r, damping ? damping->share : 0, true, y};
    fai_parallel(r->solid->npatch, FA_SOLID_CHUNK, product_chunk, &job);
    fai_parallel(r->solid->nnode, NODES, gather_chunk, &job);
}

static void inverted_chunk(void *ctx, int begin, int end, int chunk) {
    FaSolidRest *r = ctx;
    const FaSolid *s = r->solid;
    int count = 0;
    for (int q = begin; q < end; q++) {
        double J[FA_SOLID_PATCH];
        fai_solid_kernels(s)->volume_ratio(&s->patch[q], &r->patch[q], r->u, J);
        for (int l = 0; l < FA_MIN(FA_SOLID_PATCH, s->ntet - q * FA_SOLID_PATCH); l++) count += !(J[l] > 0);
    }
    r->count[chunk] = count;
}

int fai_solid_inverted(FaSolidRest *r, const double *x) {
    fai_solid_prepare(r, x, NULL, false);
    fai_parallel(r->solid->npatch, FA_SOLID_CHUNK, inverted_chunk, r);
    int sum = 0;
    for (int c = 0; c < r->solid->ntile; c++) sum += r->count[c];
    return sum;
}

// --- physics for callers ------------------------------------------------------------------------------------------

double fai_damping_beta(double ratio, double hz) { return ratio / (3.14159265358979323846 * hz); }
double fai_layer_frequency(double mu, double rho, double thickness) { return sqrt(mu / rho) / (4 * thickness); }
double fai_layer_deflection(double mu, double rho, double thickness, double accel) {
    return rho * accel * thickness * thickness / (2 * mu);
}

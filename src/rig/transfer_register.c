// Registration for deformation transfer: closest points that face the same way, first for a similarity, then as centres
// of a warp that is finer and softer in each round.
#include "rig/transfer_register.h"

#include "base/task.h"
#include "math/mat3.h"
#include "math/rbf.h"
#include "mesh/mesh.h"

#include <math.h>

enum { RIGID_ROUNDS = 70, RIGID_SAMPLES = 1500, WARP_ROUNDS = 5 };

double fai_mesh_extent(const FaMesh *mesh) {
    double sum[3] = {0}, square = 0, n = 3.0 * mesh->ntri;
    if (mesh->ntri < 1) return 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t c = 0; c < 3 * (size_t)mesh->ntri; c++) {
            double p[3];
            fai_v3_load(mesh->x, mesh->tri[c], p);
            if (pass == 0) {
                fai_v3_mad(sum, 1 / n, p, sum);
            } else {
                fai_v3_sub(p, sum, p);
                square += fai_v3_dot(p, p) / n;
            }
        }
    return 2 * sqrt(square);
}

FaCode fai_register_same(const FaMesh *source, const FaMesh *target, FaArena *work, FaAlign *align, FaError *err) {
    size_t n = (size_t)source->nvert;
    double *a = FA_PUSH(work, 3 * n, double), *b = FA_PUSH(work, 3 * n, double), *w = FA_PUSH(work, n, double);
    if (!a || !b || !w) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < 3 * n; i++) a[i] = (double)source->x[i], b[i] = (double)target->x[i];
    for (size_t c = 0; c < 3 * (size_t)source->ntri; c++) w[source->tri[c]] = 1;
    *align = fai_align(source->nvert, a, b, w, true);
    return FA_OK;
}

typedef struct Reg {
    const FaRegisterInput *in;
    FaArena *work;
    int n;             // source vertices
    FaClosest *target; // the target's surface
    float *x, *normal; // the source where it is now                          (n x 3)
    double *from, *to; // pairs                                               (n x 3)
    double *own;       // scratch                                             (n)
} Reg;

static void triangle_normal(const FaMesh *mesh, const float *x, int t, double out[3]) {
    double p[3][3], e[3], f[3];
    for (int k = 0; k < 3; k++) fai_v3_load(x, mesh->tri[3 * (size_t)t + (size_t)k], p[k]);
    fai_v3_sub(p[1], p[0], e);
    fai_v3_sub(p[2], p[0], f);
    fai_v3_cross(e, f, out);
    fai_v3_normalize(out);
}

// A surface right behind (the other lip) may be nearer: then look from ever deeper inside.
FaHit fai_facing(const FaClosest *tree, const FaMesh *mesh, const float *x, const float p[3], const float n[3],
                 float reach) {
    for (int depth = 0; depth < 4; depth++) {
        float in = depth ? reach * 0.1f * (float)(1 << (depth - 1)) : 0, q[3];
        for (int k = 0; k < 3; k++) q[k] = p[k] - in * n[k];
        FaHit hit = fai_closest_point(tree, q, reach + in);
        if (hit.tri < 0) continue;
        double m[3], d[3], a[3] = {(double)n[0], (double)n[1], (double)n[2]};
        triangle_normal(mesh, x, hit.tri, m);
        for (int k = 0; k < 3; k++) d[k] = (double)hit.point[k] - (double)p[k];
        if (fai_v3_dot(a, m) < 0.3 || fai_v3_norm(d) > (double)reach) continue;
        hit.distance = (float)fai_v3_norm(d);
        return hit;
    }
    return (FaHit){.tri = -1};
}

typedef struct Query {
    const FaClosest *tree;
    const FaMesh *mesh; // of the tree
    const float *x;     // its positions
    const float *p, *n; // points and normals                                    (n x 3)
    float reach;
    FaHit *hit;
} Query;

static void query(void *ctx, int begin, int end, int chunk) {
    const Query *q = ctx;
    (void)chunk;
    for (int i = begin; i < end; i++)
        q->hit[i] = fai_facing(q->tree, q->mesh, q->x, q->p + 3 * (size_t)i, q->n + 3 * (size_t)i, q->reach);
}

static void place(Reg *r, const FaAlign *a) {
    for (int v = 0; v < r->n; v++) {
        double p[3], q[3];
        fai_v3_load(r->in->source->x, v, p);
        fai_align_apply(a, p, q);
        for (int k = 0; k < 3; k++) r->x[3 * (size_t)v + (size_t)k] = (float)q[k];
    }
    fai_mesh_normals(r->in->source, r->x, r->normal);
}

// First guess: the caller's pairs, or centre and size with no turn.
static FaAlign first_guess(Reg *r) {
    const FaRegisterInput *in = r->in;
    for (int i = 0; i < in->npair && i < r->n; i++) {
        fai_v3_load(in->source->x, in->from[i], r->from + 3 * (size_t)i);
        fai_v3_load(in->target->x, in->to[i], r->to + 3 * (size_t)i);
    }
    FaAlign a = fai_align(FA_MIN(in->npair, r->n), r->from, r->to, NULL, true);
    if (a.kind == FA_ALIGN_FULL) return a;
    a = (FaAlign){.kind = FA_ALIGN_FULL, .scale = fai_mesh_extent(in->target) / fai_mesh_extent(in->source)};
    fai_m3_identity(a.rotation);
    double c[2][3] = {{0}};
    for (int side = 0; side < 2; side++) {
        const FaMesh *m = side ? in->target : in->source;
        for (size_t k = 0; k < 3 * (size_t)m->ntri; k++) {
            double p[3];
            fai_v3_load(m->x, m->tri[k], p);
            fai_v3_mad(c[side], 1.0 / (3.0 * m->ntri), p, c[side]);
        }
    }
    fai_v3_mad(c[1], -a.scale, c[0], a.translation);
    return a;
}

// Similarity by closest points. Heads are round and slide slowly: many rounds of plain least squares with a long reach
// find the turn, a few with outliers suppressed settle it.
static FaAlign rigid(Reg *r, FaAlign a) {
    int step = FA_MAX(r->n / RIGID_SAMPLES, 1);
    for (int round = 0; round < RIGID_ROUNDS; round++) {
        place(r, &a);
        float reach = (float)(r->in->reach * (round < 60 ? 6 : 3));
        int n = 0;
        for (int v = 0; v < r->n; v += step) {
            FaHit hit = fai_facing(r->target, r->in->target, r->in->target->x, r->x + 3 * (size_t)v,
                                   r->normal + 3 * (size_t)v, reach);
            if (hit.tri < 0) continue;
            fai_v3_load(r->in->source->x, v, r->from + 3 * (size_t)n);
            for (int k = 0; k < 3; k++) r->to[3 * (size_t)n + (size_t)k] = (double)hit.point[k];
            n++;
        }
        FaAlign next = round < 60 ? fai_align(n, r->from, r->to, NULL, true)
                                  : fai_align_robust(n, r->from, r->to, NULL, true, r->in->reach, r->own);
        if (next.kind != FA_ALIGN_FULL || n < 12) break;
        a = next;
    }
    return a;
}

// Well spread vertices: each the farthest from those before it. Deterministic: the first of equals.
static int spread(const Reg *r, int want, const unsigned char *usable, int *pick, double *far) {
    int count = 0, next = -1;
    for (int v = 0; v < r->n; v++) {
        far[v] = usable[v] ? INFINITY : -1;
        if (usable[v] && next < 0) next = v;
    }
    while (next >= 0 && count < want && far[next] > 0) {
        pick[count++] = next;
        double p[3], q[3];
        fai_v3_load(r->x, next, p);
        int best = -1;
        for (int v = 0; v < r->n; v++) {
            if (far[v] < 0) continue;
            fai_v3_load(r->x, v, q);
            fai_v3_sub(q, p, q);
            far[v] = fmin(far[v], fai_v3_dot(q, q));
            if (best < 0 || far[v] > far[best]) best = v;
        }
        next = best;
    }
    return count;
}

// Centres at well spread vertices that found a facing point, then the warp from the aligned source; finer and softer
// each round.
static FaCode warp(Reg *r, const FaAlign *a, FaError *err) {
    static const int count[WARP_ROUNDS] = {60, 120, 240, 400, 600};
    static const double lambda[WARP_ROUNDS] = {1, 0.3, 0.1, 0.03, 0.01};
    const FaRegisterInput *in = r->in;
    FaHit *hit = FA_PUSH(r->work, r->n, FaHit);
    unsigned char *usable = FA_PUSH(r->work, r->n, unsigned char);
    int *pick = FA_PUSH(r->work, r->n, int);
    float *base = FA_PUSH(r->work, 3 * (size_t)r->n, float);
    if (!hit || !usable || !pick || !base) return FA_FAIL_MEMORY(err);
    place(r, a);
    memcpy(base, r->x, 3 * (size_t)r->n * sizeof *base);
    for (int round = 0; round < WARP_ROUNDS; round++) {
        Query q = {r->target, in->target, in->target->x, r->x, r->normal, (float)(in->reach * (round < 2 ? 1 : 0.5)),
                   hit};
        fai_parallel(r->n, 256, query, &q);
        for (int v = 0; v < r->n; v++) usable[v] = hit[v].tri >= 0;
        int n = spread(r, FA_MIN(count[round], r->n), usable, pick, r->own), m = 0;
        for (int i = 0; i < FA_MIN(in->npair, r->n); i++, m++) {
            fai_v3_load(base, in->from[i], r->from + 3 * (size_t)m);
            fai_v3_load(in->target->x, in->to[i], r->to + 3 * (size_t)m);
        }
        for (int i = 0; i < n && m < r->n; i++, m++) {
            fai_v3_load(base, pick[i], r->from + 3 * (size_t)m);
            for (int k = 0; k < 3; k++) r->to[3 * (size_t)m + (size_t)k] = (double)hit[pick[i]].point[k];
        }
        if (m < 4)
            return FA_FAIL(err, FA_E_MESH, NULL, "give corresponding vertices, or bring the meshes together first",
                           "the two surfaces have almost nothing in common");
        FaRbf *rbf;
        FA_TRY(fai_rbf_new(FA_MIN(m, FA_RBF_MAX), r->from, r->to, &(FaRbfOptions){.lambda = lambda[round]}, &rbf, err));
        fai_rbf_points(rbf, r->n, base, r->x);
        fai_rbf_free(rbf);
        fai_mesh_normals(in->source, r->x, r->normal);
    }
    return FA_OK;
}

// Middles and normals of the target's triangles.
static void middles(const FaMesh *t, float *middle, float *normal) {
    for (int f = 0; f < t->ntri; f++) {
        double n[3];
        triangle_normal(t, t->x, f, n);
        for (int k = 0; k < 3; k++) {
            double sum = 0;
            for (int c = 0; c < 3; c++) sum += (double)t->x[3 * (size_t)t->tri[3 * (size_t)f + (size_t)c] + (size_t)k];
            middle[3 * (size_t)f + (size_t)k] = (float)(sum / 3);
            normal[3 * (size_t)f + (size_t)k] = (float)n[k];
        }
    }
}

static FaCode match(Reg *r, FaRegister *out, FaError *err) {
    const FaMesh *t = r->in->target;
    FaClosest *tree = NULL;
    size_t most = (size_t)FA_MAX(t->nvert, t->ntri);
    out->hit = FA_PUSH(r->work, t->nvert, FaHit);
    out->tri = FA_PUSH(r->work, t->ntri, int);
    FaHit *hit = FA_PUSH(r->work, t->ntri, FaHit);
    float *normal = FA_PUSH(r->work, 3 * most, float), *middle = FA_PUSH(r->work, 3 * (size_t)t->ntri, float);
    if (!out->hit || !out->tri || !hit || !normal || !middle) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_closest_new(r->in->source, r->x, &tree, err));
    Query q = {tree, r->in->source, r->x, t->x, normal, (float)r->in->reach, out->hit};
    fai_mesh_normals(t, t->x, normal);
    fai_parallel(t->nvert, 256, query, &q);
    middles(t, middle, normal);
    q.p = middle;
    q.hit = hit;
    fai_parallel(t->ntri, 256, query, &q);
    for (int f = 0; f < t->ntri; f++) out->tri[f] = hit[f].tri;
    fai_closest_free(tree);

    double sum = 0;
    for (int v = 0; v < t->nvert; v++) {
        double d = (double)out->hit[v].distance;
        out->unmatched += out->hit[v].tri < 0;
        if (out->hit[v].tri < 0) continue;
        sum += d * d;
        out->worst = fmax(out->worst, d);
    }
    int found = t->nvert - out->unmatched;
    if (2 * found < t->nvert)
        return FA_FAIL(err, FA_E_MESH, NULL, "give corresponding vertices, or bring the meshes together first",
                       "only %d of %d vertices have a counterpart on the other face", found, t->nvert);
    out->rms = sqrt(sum / found);
    return FA_OK;
}

FaCode fai_register(const FaRegisterInput *in, FaArena *work, FaRegister *out, FaError *err) {
    size_t n = (size_t)in->source->nvert;
    Reg r = {.in = in, .work = work, .n = in->source->nvert};
    r.x = FA_PUSH(work, 3 * n, float);
    r.normal = FA_PUSH(work, 3 * n, float);
    r.from = FA_PUSH(work, 3 * n, double);
    r.to = FA_PUSH(work, 3 * n, double);
    r.own = FA_PUSH(work, n, double);
    if (!r.x || !r.normal || !r.from || !r.to || !r.own) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_closest_new(in->target, NULL, &r.target, err));
    out->align = in->similarity ? *in->similarity : rigid(&r, first_guess(&r));
    FaCode rc = warp(&r, &out->align, err);
    out->x = r.x;
    if (rc >= 0 && !in->lay_only) rc = match(&r, out, err);
    fai_closest_free(r.target);
    return rc;
}

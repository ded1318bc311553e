// The field u on the full skin minimises u' (K M^-1 K + t K) u, K the cotangent Laplacian and M its lumped mass, with u
// given at the simulated vertices: as little bending as possible, and a little tension against overshoots between
// vertices that lie far apart. Unknowns are the vertices that decimation left out (they ride, and are of the skin).
#include "face/restore.h"

#include "base/task.h"
#include "fascia/face.h"
#include "math/chol.h"
#include "mesh/laplacian.h"
#include "mesh/mesh.h"

#include <math.h>

static const double TENSION = 0.02; // of t, in units of one over the mean area of a vertex
static const double LEAST_WEIGHT = 0.2, MOST_WEIGHT = 2;
static const double LEAST_MASS = 0.2; // of the mean
enum { CHUNK = 1024 };

struct FaRestore {
    int nvert, nskin, nfree;
    int *node;         // of each vertex, -1 = none                                            (nvert)
    int *unknown;      // of each vertex, -1 = none                                            (nvert)
    int *ride;         // of vertices that are neither, -1 = linear alone                      (nvert x 3)
    float *weight;     //                                                                      (nvert x 3)
    int *start, *from; // right-hand sides: skin nodes around each unknown                     (nfree + 1)
    float *factor;     //
    float *b, *u;      //                                                                      (nfree x 4)
    FaChol *chol;      // NULL: nothing to solve
    const float *d;    // of the present call
    float *x;
    FaArena *arena;
};

// --- building -------------------------------------------------------------------------------------------------------

// Which vertices of the skin were left out and lie in a triangle of what follows; and those triangles.
static FaCode find_domain(const FaRig *rig, const FaFace *f, const FaTopology *topo, FaRestore *r, FaMesh *mesh,
                          FaArena *scratch, FaError *err) {
    const FaMesh *m = &rig->mesh;
    const int part = topo->part[fai_weld(m, f->skin_vertex[0])];
    unsigned char *in = FA_PUSH(scratch, m->nvert, unsigned char);
    *mesh = (FaMesh){.nvert = m->nvert, .x = m->x, .tri = FA_PUSH(scratch, 3 * (size_t)m->ntri, int)};
    if (!in || !mesh->tri) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < m->nvert; v++)
        in[v] = fai_weld(m, v) == v && topo->part[v] == part &&
                (f->node_of_vertex[v] >= 0 || f->ride_node[3 * (size_t)v] >= 0);
    for (int t = 0; t < m->ntri; t++) {
        int v[3];
        for (int k = 0; k < 3; k++) v[k] = fai_weld(m, m->tri[3 * (size_t)t + (size_t)k]);
        if (!in[v[0]] || !in[v[1]] || !in[v[2]] || v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        memcpy(mesh->tri + 3 * (size_t)mesh->ntri++, v, sizeof v);
        for (int k = 0; k < 3; k++)
            if (f->node_of_vertex[v[k]] < 0) in[v[k]] = 2;
    }
    for (int v = 0; v < m->nvert; v++) r->unknown[v] = in[v] == 2 ? r->nfree++ : -1;
    for (int v = 0; v < m->nvert; v++) r->unknown[v] = r->unknown[fai_weld(m, v)];
    return FA_OK;
}

// Rows of K M^-1 K + t K, for unknowns; columns over vertices. entry NULL: count.
static int bending(const FaCsr *k, const double *mass, double tension, const int *unknown, FaTriplet *entry) {
    int n = 0;
    for (int v = 0; v < k->nrow; v++) {
        if (unknown[v] < 0) continue;
        for (int a = k->start[v]; a < k->start[v + 1]; a++) {
            int j = k->col[a];
            if (entry) entry[n] = (FaTriplet){unknown[v], j, tension * k->val[a]};
            n++;
            for (int c = k->start[j]; c < k->start[j + 1]; c++) {
                if (entry) entry[n] = (FaTriplet){unknown[v], k->col[c], k->val[a] * k->val[c] / mass[j]};
                n++;
            }
        }
    }
    return n;
}

// Split the rows into unknowns (factored) and skin nodes (kept for the right-hand sides).
static FaCode split(FaRestore *r, const FaCsr *q, FaError *err) {
    const int total = q->start[q->nrow];
    FaTriplet *entry = FA_NEW(total, FaTriplet);
    r->start = FA_PUSH(r->arena, r->nfree + 1, int);
    r->from = FA_PUSH(r->arena, total, int);
    r->factor = FA_PUSH(r->arena, total, float);
    FaCsr a = {0};
    FaCode rc = entry && r->start && r->from && r->factor ? FA_OK : FA_FAIL_MEMORY(err);
    int n = 0, m = 0;
    for (int i = 0; rc >= 0 && i < q->nrow; i++) {
        for (int e = q->start[i]; e < q->start[i + 1]; e++) {
            int j = r->unknown[q->col[e]];
            if (j >= 0)
                entry[n++] = (FaTriplet){i, j, q->val[e] * (j == i ? 1 + 1e-9 : 1)};
            else if (r->node[q->col[e]] >= 0)
                r->from[m] = r->node[q->col[e]], r->factor[m++] = (float)q->val[e];
        }
        r->start[i + 1] = m;
    }
    const FaCholOptions how = {.single = true};
    if (rc >= 0) rc = fai_csr_from_triplets(r->nfree, r->nfree, n, entry, &a, err);
    fa_free(entry);
    if (rc >= 0) rc = fai_chol_analyze(&a, &how, &r->chol, err);
    if (rc >= 0) rc = fai_chol_factor(r->chol, &a, err);
    fai_csr_free(&a);
    return rc;
}

// Needles and flat triangles have weights of any size and sign, which lets a field overshoot many times over where the
// shapes tear at them (the lining of the mouth). The weights need not be exact here: bounded ones do not overshoot.
static void bound_weights(FaCsr *k) {
    for (int v = 0; v < k->nrow; v++) {
        double sum = 0;
        int own = -1;
        for (int e = k->start[v]; e < k->start[v + 1]; e++) {
            if (k->col[e] == v)
                own = e;
            else
                sum += k->val[e] = -fmin(fmax(-k->val[e], LEAST_WEIGHT), MOST_WEIGHT);
        }
        if (own >= 0) k->val[own] = -sum;
    }
}

static FaCode prepare(FaRestore *r, const FaMesh *mesh, FaArena *scratch, FaError *err) {
    FaCsr k = {0}, q = {0};
    double *mass = FA_PUSH(scratch, mesh->nvert, double), mean = 0;
    int used = 0;
    if (!mass) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_laplacian_build(mesh, NULL, &k, mass, NULL, err));
    bound_weights(&k);
    for (int v = 0; v < mesh->nvert; v++) mean += mass[v], used += mass[v] > 0;
    mean /= FA_MAX(used, 1);
    for (int v = 0; v < mesh->nvert; v++) mass[v] = fmax(mass[v] / mean, LEAST_MASS);
    int n = bending(&k, mass, TENSION, r->unknown, NULL);
    FaTriplet *entry = n < INT32_MAX / 2 ? FA_NEW(n, FaTriplet) : NULL;
    FaCode rc = entry ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) bending(&k, mass, TENSION, r->unknown, entry);
    if (rc >= 0) rc = fai_csr_from_triplets(r->nfree, mesh->nvert, n, entry, &q, err);
    fa_free(entry);
    fai_csr_free(&k);
    if (rc >= 0) rc = split(r, &q, err);
    fai_csr_free(&q);
    return rc;
}

static FaCode build(FaRestore *r, const FaRig *rig, const FaFace *f, FaTopology *topo, FaArena *scratch, FaError *err) {
    const size_t n = (size_t)f->nvert;
    FaMesh mesh;
    r->nvert = f->nvert;
    r->nskin = f->nskin;
    r->node = FA_PUSH(r->arena, n, int);
    r->unknown = FA_PUSH(r->arena, n, int);
    r->ride = FA_PUSH(r->arena, 3 * n, int);
    r->weight = FA_PUSH(r->arena, 3 * n, float);
    if (!r->node || !r->unknown || !r->ride || !r->weight) return FA_FAIL_MEMORY(err);
    memcpy(r->node, f->node_of_vertex, n * sizeof(int));
    memcpy(r->ride, f->ride_node, 3 * n * sizeof(int));
    memcpy(r->weight, f->ride_weight, 3 * n * sizeof(float));
    FA_TRY(fai_topology_build(&rig->mesh, topo, err));
    FA_TRY(find_domain(rig, f, topo, r, &mesh, scratch, err));
    r->b = FA_PUSH(r->arena, 4 * (size_t)r->nfree, float);
    r->u = FA_PUSH(r->arena, 4 * (size_t)r->nfree, float);
    if (!r->b || !r->u) return FA_FAIL_MEMORY(err);
    return r->nfree ? prepare(r, &mesh, scratch, err) : FA_OK;
}

FaCode fai_restore_new(const FaRig *rig, const FaFace *face, FaRestore **restore, FaError *err) {
    *restore = NULL;
    FA_TRY(fa_face_fits(face, rig, err));
    FaTopology topo = {0};
    FaArena *scratch = fai_arena_new(0);
    FaRestore *r = FA_NEW(1, FaRestore);
    if (r) r->arena = fai_arena_new(0);
    FaCode rc = r && r->arena && scratch ? build(r, rig, face, &topo, scratch, err) : FA_FAIL_MEMORY(err);
    fai_topology_free(&topo);
    fai_arena_free(scratch);
    if (rc < 0)
        fai_restore_free(r);
    else
        *restore = r;
    return rc;
}

void fai_restore_free(FaRestore *r) {
    if (!r) return;
    fai_chol_free(r->chol);
    fai_arena_free(r->arena);
    fa_free(r);
}

int fai_restore_free_count(const FaRestore *r) { return r->nfree; }

// --- a frame --------------------------------------------------------------------------------------------------------

static void right_hand_sides(void *ctx, int begin, int end, int chunk) {
    FaRestore *r = ctx;
    (void)chunk;
    for (int i = begin; i < end; i++) {
        float sum[3] = {0};
        for (int e = r->start[i]; e < r->start[i + 1]; e++) {
            const float *d = r->d + 3 * (size_t)r->from[e];
            for (int k = 0; k < 3; k++) sum[k] -= r->factor[e] * d[k];
        }
        for (int k = 0; k < 3; k++) r->b[4 * (size_t)i + (size_t)k] = sum[k];
    }
}

static void add(void *ctx, int begin, int end, int chunk) {
    const FaRestore *r = ctx;
    (void)chunk;
    for (int v = begin; v < end; v++) {
        const int *ride = r->ride + 3 * (size_t)v;
        float u[3] = {0};
        if (r->node[v] >= 0)
            memcpy(u, r->d + 3 * (size_t)r->node[v], sizeof u);
        else if (r->unknown[v] >= 0)
            memcpy(u, r->u + 4 * (size_t)r->unknown[v], sizeof u);
        else if (ride[0] >= 0)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++)
                    u[k] += r->weight[3 * (size_t)v + (size_t)j] * r->d[3 * (size_t)ride[j] + (size_t)k];
        for (int k = 0; k < 3; k++)
            if (u[k] != 0) r->x[3 * (size_t)v + (size_t)k] += u[k];
    }
}

void fai_restore_add(FaRestore *r, const float *displacement, float *x) {
    bool any = false;
    for (size_t i = 0; !any && i < 3 * (size_t)r->nskin; i++) any = displacement[i] != 0;
    if (!any) return;
    r->d = displacement;
    r->x = x;
    if (r->chol) {
        fai_parallel(r->nfree, CHUNK, right_hand_sides, r);
        fai_chol_solve_f(r->chol, r->b, r->u);
    }
    fai_parallel(r->nvert, CHUNK, add, r);
}

// Based on: [SP04] Sumner, Popovic, Deformation transfer for triangle meshes, 2004. [Bot06] Botsch et al., Deformation
// transfer for detail-preserving surface editing, 2006: with the fourth vertices eliminated, [SP04] is a Poisson
// equation with cotangent weights. Symbols: S -> deformation gradient of a source triangle (3x3, normal included), L ->
// cotangent Laplacian of the target.
//
// Solved for displacements d, per shape:   (L + M / screen^2) d = sum over triangles of cot/2 (S - I) edge + M /
// screen^2 d0 Deviation: the screening term. Gradients of another face cannot all be met, and without it a misfit at
// the mouth would tilt the forehead; d0 is the source's displacement, turned and scaled. It also holds parts that no
// fixed vertex holds (eyeballs). Vertices that no shape moves are fixed.
#include "rig/transfer.h"

#include "base/task.h"
#include "math/chol.h"
#include "math/mat3.h"
#include "math/procrustes.h"
#include "mesh/mesh.h"
#include "rig/rig_build.h"
#include "rig/transfer_register.h"

#include <math.h>

typedef struct Poisson {
    const FaRig *source; // NULL: all of the mesh moves
    const FaMesh *mesh;  // the source's: topology
    const float *x;      // target positions                                         (nvert x 3)
    int n;
    FaAlign align;       // source to target
    double screen;       // 1/m2
    double *inverse;     // of each source triangle's frame; all 0 where it has none  (ntri x 9)
    double *cot;         // of the target's corners, halved                          (ntri x 3)
    double *mass;        // (n)
    unsigned char *held; // fixed, or a copy at a seam, or in no triangle            (n)
    FaChol *chol;
} Poisson;

static void corner(const FaMesh *mesh, int t, int v[3]) {
    for (int k = 0; k < 3; k++) v[k] = fai_weld(mesh, mesh->tri[3 * (size_t)t + (size_t)k]);
}

// Columns e1, e2 and the normal scaled so that it grows as lengths do [SP04 eq. 1]; row-major.
static void frame(const double a[3], const double b[3], const double c[3], double m[9]) {
    double e[3], f[3], n[3];
    fai_v3_sub(b, a, e);
    fai_v3_sub(c, a, f);
    fai_v3_cross(e, f, n);
    double size = fai_v3_norm(n);
    fai_v3_scale(size > 0 ? 1 / sqrt(size) : 0, n, n);
    for (int k = 0; k < 3; k++) m[3 * k] = e[k], m[3 * k + 1] = f[k], m[3 * k + 2] = n[k];
}

// Cotangents of a triangle's corners, halved; slivers count as at least 1e-5 of their squared sides, as in the
// Laplacian.
static double half_cotangents(const double p[3][3], double cot[3]) {
    double e[3][3], n[3], sides = 0;
    for (int k = 0; k < 3; k++) {
        fai_v3_sub(p[(k + 2) % 3], p[(k + 1) % 3], e[k]);
        sides += fai_v3_dot(e[k], e[k]);
    }
    fai_v3_cross(e[0], e[1], n);
    double area = fai_v3_norm(n) / 2, use = fmax(area, 1e-5 * sides);
    for (int k = 0; k < 3; k++) cot[k] = use > 0 ? -fai_v3_dot(e[(k + 1) % 3], e[(k + 2) % 3]) / (4 * use) : 0;
    return area;
}

static void prepare_triangles(Poisson *p) {
    for (int t = 0; t < p->mesh->ntri; t++) {
        int v[3];
        double s[3][3], x[3][3], m[9];
        corner(p->mesh, t, v);
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        for (int k = 0; k < 3; k++) {
            fai_v3_load(p->mesh->x, v[k], s[k]);
            fai_v3_load(p->x, v[k], x[k]);
        }
        frame(s[0], s[1], s[2], m);
        if (!fai_m3_inverse(m, p->inverse + 9 * (size_t)t)) memset(p->inverse + 9 * (size_t)t, 0, 9 * sizeof(double));
        double area = half_cotangents(x, p->cot + 3 * (size_t)t);
        for (int k = 0; k < 3; k++) p->mass[v[k]] += area / 3;
    }
}

// The vertices to solve for: moved by some shape, in a triangle with area, first of their copies.
static int find_held(Poisson *p) {
    int still = 0;
    memset(p->held, p->source ? 2 : 0, (size_t)p->n);
    for (int i = 0; p->source && i < p->source->nentry; i++) p->held[fai_weld(p->mesh, p->source->row[i])] = 0;
    for (int v = 0; v < p->n; v++) {
        still += p->held[v] == 2;
        if (fai_weld(p->mesh, v) != v || !(p->mass[v] > 0)) p->held[v] = 1;
    }
    return still;
}

static FaCode assemble(const Poisson *p, FaCsr *a, FaError *err) {
    size_t room = 12 * (size_t)p->mesh->ntri + (size_t)p->n;
    if (room > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a smaller mesh", "the mesh has too many triangles: %d",
                       p->mesh->ntri);
    FaTriplet *e = FA_NEW(room, FaTriplet);
    if (!e) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int v = 0; v < p->n; v++) e[n++] = (FaTriplet){v, v, p->held[v] ? 1 : p->screen * p->mass[v]};
    for (int t = 0; t < p->mesh->ntri; t++) {
        int v[3];
        corner(p->mesh, t, v);
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        for (int k = 0; k < 3; k++) {
            int i = v[(k + 1) % 3], j = v[(k + 2) % 3];
            double w = p->cot[3 * (size_t)t + (size_t)k];
            if (!p->held[i]) e[n++] = (FaTriplet){i, i, w};
            if (!p->held[j]) e[n++] = (FaTriplet){j, j, w};
            if (p->held[i] || p->held[j]) continue;
            e[n++] = (FaTriplet){i, j, -w};
            e[n++] = (FaTriplet){j, i, -w};
        }
    }
    FaCode rc = fai_csr_from_triplets(p->n, p->n, n, e, a, err);
    fa_free(e);
    return rc;
}

static FaCode factor(const FaCsr *a, FaChol **chol, FaError *err) {
    FA_TRY(fai_chol_analyze(a, NULL, chol, err));
    return fai_chol_factor(*chol, a, err);
}

static FaCode poisson_open(Poisson *p, FaArena *work, int *fixed, FaError *err) {
    size_t nt = (size_t)p->mesh->ntri;
    p->inverse = FA_PUSH(work, 9 * nt, double);
    p->cot = FA_PUSH(work, 3 * nt, double);
    p->mass = FA_PUSH(work, p->n, double);
    p->held = FA_PUSH(work, p->n, unsigned char);
    if (!p->inverse || !p->cot || !p->mass || !p->held) return FA_FAIL_MEMORY(err);
    prepare_triangles(p);
    *fixed = find_held(p);
    FaCsr a = {0};
    FaCode rc = assemble(p, &a, err);
    if (rc >= 0) rc = factor(&a, &p->chol, err);
    fai_csr_free(&a);
    return rc;
}

// (S - I) of a triangle in the target's frame: R (V' - V) V^-1 R'. False: the source triangle has no area.
static bool gradient(const Poisson *p, int t, const double s[3][3], const double d[3][3], double m[9]) {
    const double *inv = p->inverse + 9 * (size_t)t, *r = p->align.rotation;
    bool any = false;
    for (int k = 0; k < 9; k++) any |= inv[k] != 0;
    if (!any) return false;
    double rest[9], moved[9], b[3][3], rt[9];
    for (int k = 0; k < 3; k++) fai_v3_add(s[k], d[k], b[k]);
    frame(s[0], s[1], s[2], rest);
    frame(b[0], b[1], b[2], moved);
    for (int k = 0; k < 9; k++) moved[k] -= rest[k];
    fai_m3_mul(moved, inv, m);
    fai_m3_transpose(r, rt);
    fai_m3_mul(r, m, m);
    fai_m3_mul(m, rt, m);
    return true;
}

// One shape: source deltas (n x 3, welded vertices filled) to target displacements. b, d: n x 4.
static void poisson_shape(Poisson *p, const double *delta, double *b, double *d) {
    memset(b, 0, 4 * (size_t)p->n * sizeof *b);
    for (int v = 0; v < p->n; v++) {
        double y[3];
        fai_m3_mulv(p->align.rotation, delta + 3 * (size_t)v, y);
        for (int k = 0; k < 3; k++) {
            d[4 * (size_t)v + (size_t)k] = p->align.scale * y[k]; // what the source does
            b[4 * (size_t)v + (size_t)k] += p->screen * p->mass[v] * p->align.scale * y[k];
        }
    }
    for (int t = 0; t < p->mesh->ntri; t++) {
        int v[3];
        double s[3][3], x[3][3], e[3][3], m[9];
        corner(p->mesh, t, v);
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        bool moves = false;
        for (int k = 0; k < 3; k++) {
            memcpy(e[k], delta + 3 * (size_t)v[k], sizeof e[k]);
            for (int c = 0; c < 3; c++) moves |= e[k][c] != 0;
        }
        if (!moves) continue;
        for (int k = 0; k < 3; k++) {
            fai_v3_load(p->mesh->x, v[k], s[k]);
            fai_v3_load(p->x, v[k], x[k]);
        }
        bool good = gradient(p, t, s, e, m);
        for (int k = 0; k < 3; k++) {
            int i = v[(k + 1) % 3], j = v[(k + 2) % 3];
            double edge[3], g[3], w = p->cot[3 * (size_t)t + (size_t)k];
            fai_v3_sub(x[(k + 1) % 3], x[(k + 2) % 3], edge);
            if (good)
                fai_m3_mulv(m, edge, g);
            else
                fai_v3_sub(d + 4 * (size_t)i, d + 4 * (size_t)j, g);
            for (int c = 0; c < 3; c++) {
                b[4 * (size_t)i + (size_t)c] += w * g[c];
                b[4 * (size_t)j + (size_t)c] -= w * g[c];
            }
        }
    }
    for (int v = 0; v < p->n; v++)
        if (p->held[v] && p->mass[v] > 0)
            memset(b + 4 * (size_t)v, 0, 4 * sizeof *b); // fixed
        else if (p->held[v])
            memcpy(b + 4 * (size_t)v, d + 4 * (size_t)v, 3 * sizeof *b); // in no triangle
    fai_chol_solve_d(p->chol, b, d);
    for (int v = 0; v < p->n; v++) {
        int w = fai_weld(p->mesh, v);
        if (w != v) memcpy(d + 4 * (size_t)v, d + 4 * (size_t)w, 4 * sizeof *d);
    }
}

// --- the rig ------------------------------------------------------------------------------------------------------

static FaCode copy_mesh(const FaMesh *from, FaRigDraft *draft, FaError *err) {
    FaArena *arena = fai_draft_arena(draft);
    FaMesh m = {.nvert = from->nvert, .nface = from->nface, .nuv = from->nuv};
    bool faces = from->nface > 0;
    if (!faces) m.nface = from->ntri;
    size_t nv = (size_t)m.nvert, nf = (size_t)m.nface, nc = faces ? (size_t)from->face_start[nf] : 3 * nf,
           nu = (size_t)m.nuv;
    m.x = FA_PUSH(arena, 3 * nv, float);
    m.face_start = FA_PUSH(arena, nf + 1, int);
    m.face_vert = FA_PUSH(arena, nc, int);
    bool uv = faces && from->face_uv;
    if (uv) m.face_uv = FA_PUSH(arena, nc, int);
    if (uv) m.uv = FA_PUSH(arena, 2 * nu, float);
    if (!m.x || !m.face_start || !m.face_vert || (uv && (!m.face_uv || !m.uv))) return FA_FAIL_MEMORY(err);
    if (!uv) m.nuv = 0;
    memcpy(m.x, from->x, 3 * nv * sizeof *m.x);
    for (size_t i = 0; i <= nf; i++) m.face_start[i] = faces ? from->face_start[i] : 3 * (int)i;
    if (nc) memcpy(m.face_vert, faces ? from->face_vert : from->tri, nc * sizeof *m.face_vert);
    if (uv && nc) memcpy(m.face_uv, from->face_uv, nc * sizeof *m.face_uv);
    if (uv && nu) memcpy(m.uv, from->uv, 2 * nu * sizeof *m.uv);
    fai_draft_mesh(draft, &m);
    return FA_OK;
}

typedef struct Reader {
    double *hold;     // of each target vertex to what it reads off                        (target nvert)
    double *cot;      // of the target's corners, halved                                   (target ntri x 3)
    double *inverse;  // frames of the warped source's triangles, inverse                  (source ntri x 9)
    double *gradient; // what they do in the shape at hand                                 (source ntri x 9)
    FaChol *chol;
} Reader;

typedef struct Job {
    const FaRig *source;
    const FaMesh *target;
    FaTransferOptions o;
    FaTransferReport rep;
    FaArena *work;
    double extent;    // root mean square distance of the target's vertices from their centre, times 2
    FaRegister match; // different topology
    Reader reader;    // different topology
} Job;

// Source deltas of a shape, dense; copies at seams follow their first.
static void dense_shape(const FaRig *rig, int s, double *delta) {
    memset(delta, 0, 3 * (size_t)rig->mesh.nvert * sizeof *delta);
    const FaShape *shape = &rig->shape[s];
    for (int i = shape->first; i < shape->first + shape->count; i++)
        for (int k = 0; k < 3; k++)
            delta[3 * (size_t)fai_weld(&rig->mesh, rig->row[i]) + (size_t)k] =
                (double)rig->delta[3 * (size_t)i + (size_t)k];
}

// --- another topology ---------------------------------------------------------------------------------------------
//
// The target's triangles deform as the warped source does at their middles, and its vertices are held, weakly, to what
// they read off there. Gradients forgive a wrong match (the other lip) where displacements would tear; the weak hold
// over READ_LENGTH sets the level. Vertices without a match follow their neighbours.

#define READ_LENGTH 0.05 // of the extent

static FaCode open_reader(Job *job, FaError *err) {
    const FaMesh *m = job->target, *src = &job->source->mesh;
    Reader *r = &job->reader;
    r->hold = FA_PUSH(job->work, m->nvert, double);
    r->cot = FA_PUSH(job->work, 3 * (size_t)m->ntri, double);
    r->inverse = FA_PUSH(job->work, 9 * (size_t)src->ntri, double);
    r->gradient = FA_PUSH(job->work, 9 * (size_t)src->ntri, double);
    size_t room = 12 * (size_t)m->ntri + (size_t)m->nvert;
    FaTriplet *e = room <= INT32_MAX ? FA_NEW(room, FaTriplet) : NULL;
    FaCsr a = {0};
    if (!r->hold || !r->cot || !r->inverse || !r->gradient || !e) {
        fa_free(e);
        return FA_FAIL_MEMORY(err);
    }
    int n = 0;
    for (int t = 0; t < m->ntri; t++) {
        int v[3];
        double p[3][3], *cot = r->cot + 3 * (size_t)t;
        corner(m, t, v);
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        for (int k = 0; k < 3; k++) fai_v3_load(m->x, v[k], p[k]);
        double area = half_cotangents(p, cot);
        for (int k = 0; k < 3; k++) {
            int i = v[(k + 1) % 3], j = v[(k + 2) % 3];
            r->hold[v[k]] += area / 3;
            e[n++] = (FaTriplet){i, i, cot[k]};
            e[n++] = (FaTriplet){j, j, cot[k]};
            e[n++] = (FaTriplet){i, j, -cot[k]};
            e[n++] = (FaTriplet){j, i, -cot[k]};
        }
    }
    double length = READ_LENGTH * job->extent;
    for (int v = 0; v < m->nvert; v++) {
        bool alone = fai_weld(m, v) != v || !(r->hold[v] > 0), matched = job->match.hit[v].tri >= 0;
        double hold = alone ? 1 : r->hold[v] / (length * length);
        e[n++] = (FaTriplet){v, v, matched || alone ? hold : 1e-6 * hold};
        r->hold[v] = matched ? hold : 0;
    }
    for (int t = 0; t < src->ntri; t++) {
        double p[3][3], f[9];
        for (int k = 0; k < 3; k++) fai_v3_load(job->match.x, src->tri[3 * (size_t)t + (size_t)k], p[k]);
        frame(p[0], p[1], p[2], f);
        if (!fai_m3_inverse(f, r->inverse + 9 * (size_t)t)) memset(r->inverse + 9 * (size_t)t, 0, 9 * sizeof(double));
    }
    FaCode rc = fai_csr_from_triplets(m->nvert, m->nvert, n, e, &a, err);
    if (rc >= 0) rc = factor(&a, &r->chol, err);
    fai_csr_free(&a);
    fa_free(e);
    return rc;
}

// (S - I) of every triangle of the warped source; 0 where it has no area. d: n x 4.
static void warped_gradients(Job *job, const double *d) {
    const FaMesh *src = &job->source->mesh;
    for (int t = 0; t < src->ntri; t++) {
        double p[3][3], q[3][3], rest[9], moved[9];
        for (int k = 0; k < 3; k++) {
            int v = src->tri[3 * (size_t)t + (size_t)k];
            fai_v3_load(job->match.x, v, p[k]);
            fai_v3_add(p[k], d + 4 * (size_t)v, q[k]);
        }
        frame(p[0], p[1], p[2], rest);
        frame(q[0], q[1], q[2], moved);
        for (int k = 0; k < 9; k++) moved[k] -= rest[k];
        fai_m3_mul(moved, job->reader.inverse + 9 * (size_t)t, job->reader.gradient + 9 * (size_t)t);
    }
}

// d: displacements of the warped source (n x 4); out: of the target (n x 4), b is scratch of that size.
static void read_off(Job *job, const double *d, double *b, double *out) {
    const FaMesh *m = job->target;
    Reader *r = &job->reader;
    warped_gradients(job, d);
    for (int v = 0; v < m->nvert; v++) {
        const FaHit *hit = &job->match.hit[v];
        double *to = b + 4 * (size_t)v;
        memset(to, 0, 4 * sizeof *to);
        for (int c = 0; hit->tri >= 0 && c < 3; c++) {
            const double *from = d + 4 * (size_t)job->source->mesh.tri[3 * (size_t)hit->tri + (size_t)c];
            for (int k = 0; k < 3; k++) to[k] += (double)hit->bary[c] * from[k] * r->hold[v];
        }
    }
    for (int t = 0; t < m->ntri; t++) {
        int v[3], from = job->match.tri[t];
        double x[3][3];
        corner(m, t, v);
        if (from < 0 || v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        for (int k = 0; k < 3; k++) fai_v3_load(m->x, v[k], x[k]);
        for (int k = 0; k < 3; k++) {
            double edge[3], g[3], w = r->cot[3 * (size_t)t + (size_t)k];
            fai_v3_sub(x[(k + 1) % 3], x[(k + 2) % 3], edge);
            fai_m3_mulv(r->gradient + 9 * (size_t)from, edge, g);
            for (int c = 0; c < 3; c++) {
                b[4 * (size_t)v[(k + 1) % 3] + (size_t)c] += w * g[c];
                b[4 * (size_t)v[(k + 2) % 3] + (size_t)c] -= w * g[c];
            }
        }
    }
    fai_chol_solve_d(r->chol, b, out);
    for (int v = 0; v < m->nvert; v++) {
        int w = fai_weld(m, v);
        if (w != v) memcpy(out + 4 * (size_t)v, out + 4 * (size_t)w, 4 * sizeof *out);
    }
}

static FaCode add_shapes(Job *job, Poisson *p, FaRigDraft *draft, FaError *err) {
    size_t n = (size_t)job->source->mesh.nvert, m = (size_t)job->target->nvert, most = FA_MAX(n, m);
    double *delta = FA_PUSH(job->work, 3 * n, double), *b = FA_PUSH(job->work, 4 * most, double);
    double *d = FA_PUSH(job->work, 4 * n, double), *e = FA_PUSH(job->work, 4 * m, double);
    float *out = FA_PUSH(job->work, 3 * m, float);
    if (!delta || !b || !d || !e || !out) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < job->source->nshape; s++) {
        dense_shape(job->source, s, delta);
        poisson_shape(p, delta, b, d);
        if (!job->rep.same_topology) read_off(job, d, b, e);
        const double *from = job->rep.same_topology ? d : e;
        for (size_t v = 0; v < m; v++) {
            bool keep = fai_v3_norm(from + 4 * v) > job->o.drop;
            for (size_t k = 0; k < 3; k++) out[3 * v + k] = keep ? (float)from[4 * v + k] : 0;
        }
        FA_TRY(fai_draft_shape_dense(draft, job->source->shape[s].name, out, job->source->weight[s], err));
    }
    return FA_OK;
}

static FaCode run(Job *job, FaRigDraft *draft, FaError *err) {
    const FaMesh *src = &job->source->mesh;
    Poisson p = {.source = job->source,
                 .mesh = src,
                 .n = src->nvert,
                 .x = job->target->x,
                 .screen = 1 / (job->o.screen * job->o.screen)};
    FaCode rc = FA_OK;
    if (job->rep.same_topology) {
        rc = fai_register_same(src, job->target, job->work, &p.align, err);
    } else {
        FaRegisterInput in = {.source = src,
                              .target = job->target,
                              .npair = job->o.npair,
                              .from = job->o.from,
                              .to = job->o.to,
                              .reach = job->o.reach};
        rc = fai_register(&in, job->work, &job->match, err);
        p.align = job->match.align;
        p.x = job->match.x;
        job->rep.unmatched = job->match.unmatched;
        job->rep.fit_rms = job->match.rms;
        job->rep.fit_max = job->match.worst;
    }
    double q[4], turn[3];
    fai_q_from_m3(p.align.rotation, q);
    fai_q_log(q, turn);
    job->rep.scale = p.align.scale;
    job->rep.turn = fai_v3_norm(turn);
    if (rc >= 0) rc = poisson_open(&p, job->work, &job->rep.fixed, err);
    if (rc >= 0 && !job->rep.same_topology) rc = open_reader(job, err);
    if (rc >= 0) rc = copy_mesh(job->target, draft, err);
    if (rc >= 0) rc = add_shapes(job, &p, draft, err);
    fai_chol_free(p.chol);
    fai_chol_free(job->reader.chol);
    return rc;
}

static FaCode check(const FaRig *source, const FaMesh *target, const FaTransferOptions *o, FaError *err) {
    FA_TRY(fa_rig_check(source, err));
    FA_TRY(fai_mesh_check(target, err));
    if (source->mesh.ntri < 1 || target->ntri < 1)
        return FA_FAIL(err, FA_E_MESH, NULL, "give meshes with faces",
                       "a mesh without triangles cannot pass on or take over shapes");
    for (int i = 0; i < o->npair; i++)
        if (o->from[i] < 0 || o->from[i] >= source->mesh.nvert || o->to[i] < 0 || o->to[i] >= target->nvert)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("pair %d", i), "give vertices of the source and of the target",
                           "vertex %d or %d does not exist", o->from[i], o->to[i]);
    if (!(o->screen >= 0) || !(o->drop >= 0) || !(o->reach >= 0))
        return FA_FAIL(err, FA_E_ARG, NULL, "give 0 for the defaults",
                       "a length of the transfer's options is negative or not a number");
    return FA_OK;
}

// Polygons decide: which diagonal cuts a quadrilateral depends on positions. The source's cut is used on both.
static bool same_topology(const FaMesh *a, const FaMesh *b) {
    if (a->nvert != b->nvert || a->nface != b->nface) return false;
    if (a->nface == 0) return a->ntri == b->ntri && !memcmp(a->tri, b->tri, 3 * (size_t)a->ntri * sizeof *a->tri);
    return !memcmp(a->face_start, b->face_start, ((size_t)a->nface + 1) * sizeof *a->face_start) &&
           !memcmp(a->face_vert, b->face_vert, (size_t)a->face_start[a->nface] * sizeof *a->face_vert);
}

FaCode fai_transfer(const FaRig *source, const FaMesh *target, const FaTransferOptions *options, FaRig **rig,
                    FaTransferReport *report, FaError *err) {
    *rig = NULL;
    Job job = {.source = source, .target = target};
    if (options) job.o = *options;
    FA_TRY(check(source, target, &job.o, err));
    const FaMesh *src = &source->mesh;
    job.rep.same_topology = !job.o.force_closest && same_topology(src, target);
    job.extent = fai_mesh_extent(target);
    if (!(job.extent > 0) || !(fai_mesh_extent(src) > 0))
        return FA_FAIL(err, FA_E_MESH, NULL, "give meshes with a surface", "all vertices of a mesh are in one place");
    if (job.o.screen == 0) job.o.screen = 0.1 * job.extent;
    if (job.o.drop == 0) job.o.drop = 1e-7 * job.extent;
    if (job.o.reach == 0) job.o.reach = 0.05 * job.extent;
    job.work = fai_arena_new(0);
    FaRigDraft *draft = NULL;
    FaCode rc = job.work ? fai_draft_new(&draft, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = run(&job, draft, err);
    if (rc >= 0) {
        // positions are metres already, and the target may be of any size
        FaRigHints hints = {.unit = 1, .splits_seams = target->weld != NULL, .name = source->name};
        rc = fai_draft_finish(draft, &hints, &(FaRigOptions){.unit = FA_UNIT_M, .any_size = true}, rig, err);
    } else {
        fai_draft_free(draft);
    }
    fai_arena_free(job.work);
    if (report) *report = job.rep;
    return rc;
}

// --- a small surface ----------------------------------------------------------------------------------------------

// What the gradients leave open, where it is as a whole, is the source's motion: a screen much longer than the surface.
#define LOOSE 10.0

static FaCode transfer_surface(Poisson *p, const double *delta, const FaAlign *align, FaArena *work, double *out,
                               FaError *err) {
    const FaMesh target = {.nvert = p->n, .ntri = p->mesh->ntri, .x = (float *)p->x, .tri = p->mesh->tri};
    const double extent = LOOSE * fai_mesh_extent(&target);
    double *b = FA_PUSH(work, 4 * (size_t)p->n, double), *d = FA_PUSH(work, 4 * (size_t)p->n, double);
    int fixed;
    if (!b || !d) return FA_FAIL_MEMORY(err);
    if (!(extent > 0))
        return FA_FAIL(err, FA_E_MESH, NULL, "give meshes with a surface", "all vertices of a mesh are in one place");
    p->screen = 1 / (extent * extent);
    if (align)
        p->align = *align;
    else
        FA_TRY(fai_register_same(p->mesh, &target, work, &p->align, err));
    FA_TRY(poisson_open(p, work, &fixed, err));
    poisson_shape(p, delta, b, d);
    for (int v = 0; v < p->n; v++) memcpy(out + 3 * (size_t)v, d + 4 * (size_t)v, 3 * sizeof *out);
    return FA_OK;
}

FaCode fai_transfer_surface(const FaMesh *source, const double *delta, const float *target, const FaAlign *align,
                            double *out, FaError *err) {
    Poisson p = {.mesh = source, .n = source->nvert, .x = target};
    FaArena *work = fai_arena_new(0);
    FaCode rc = work ? transfer_surface(&p, delta, align, work, out, err) : FA_FAIL_MEMORY(err);
    fai_chol_free(p.chol);
    fai_arena_free(work);
    return rc;
}

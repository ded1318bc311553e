// Teeth and gums that hang together with the skin, as some rigs have them: one surface from the lips' lining over the
// gums to the teeth. Left soft they would be kneaded like lips, and regions take them for lips.
//
// What is hard is told by the shapes: the upper row moves in none, the lower one moves with the jaw and hardly
// stretches. Looked for behind the lips, where no light comes, beginning with what looks to the front just behind them.
// Rigs with teeth of their own, as bones or as loose pieces in the mouth, keep what they have.
#include "build/filled_domain.h"
#include "math/mat3.h"
#include "mesh/mesh.h"

#include <math.h>

static const double STILL = 1e-4;             // m, of an adult: what moves less in every shape is still
static const double STRETCH = 0.02;           // of an edge
static const double FEW = 0.1;                // of all edges in all shapes, which may stretch: no sculpt is exact
static const float WITH = 0.9f, APART = 0.1f; // of the jaw's motion
// Of half the width of the lips, from their middle: how far to the side, up and down, and back teeth and palate reach.
static const double ASIDE = 1.7, HIGH = 1.5, BACK = 4;
static const double BEHIND = 1e-3, FIRST = 14e-3; // m: behind the foremost of the lips; where the teeth's front is
static const double FRONT = 0.3;                  // cosine, of what looks to the front
static const double ROW = 0.8;                    // of half the width of the lips, from side to side: less is no row

typedef struct Teeth {
    FaFilledDomain *d;
    double middle[3], front, wide; // of the lips, canonical axes, m
    double *q;                     // canonical                                               (nskin x 3)
    double *most;                  // m: in any shape                                         (nskin)
    int *stretched;                // edges that shapes stretch, summed over shapes           (nskin)
    float *delta;                  // of a shape                                               (nvert x 3)
    int *stack;                    //                                                         (nskin)
    unsigned char *hard;           // out of place: FaFilledKind it could be                   (nskin)
} Teeth;

static const float *motion_of(const Teeth *t, int i) { return t->delta + 3 * (size_t)t->d->face->skin_vertex[i]; }

// How far nodes go in any shape, and how many of their edges change their length.
static void ask_shapes(Teeth *t) {
    const FaRig *rig = t->d->rig;
    const FaTopology *topo = t->d->topo;
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memcpy(t->delta + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *t->delta);
        for (int i = 0; i < t->d->face->nskin; i++) {
            double a[3], m[3];
            fai_v3_load(motion_of(t, i), 0, m);
            fai_v3_load(t->d->face->x0, i, a);
            t->most[i] = fmax(t->most[i], fai_v3_norm(m));
            for (int k = topo->around_start[i]; k < topo->around_start[i + 1]; k++) {
                double b[3], n[3];
                fai_v3_load(t->d->face->x0, topo->around[k], b);
                fai_v3_load(motion_of(t, topo->around[k]), 0, n);
                fai_v3_sub(b, a, b);
                fai_v3_sub(n, m, n);
                const double before = fai_v3_norm(b);
                fai_v3_add(b, n, b);
                t->stretched[i] += fabs(fai_v3_norm(b) - before) > STRETCH * before + 0.5 * STILL * t->d->size;
            }
        }
        for (int e = shape->first; e < shape->first + shape->count; e++)
            memset(t->delta + 3 * (size_t)rig->row[e], 0, 3 * sizeof *t->delta);
    }
}

// Those that shapes move: what regions take for lips may be teeth.
static bool find_lips(Teeth *t) {
    const FaFace *f = t->d->face;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < f->nskin; i++) {
        if (f->region[FA_REGION_LIP_UPPER][i] < 0.5f && f->region[FA_REGION_LIP_LOWER][i] < 0.5f) continue;
        if (t->most[i] < STILL * t->d->size) continue;
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], t->q[3 * i + k]), hi[k] = fmax(hi[k], t->q[3 * i + k]);
    }
    for (int k = 0; k < 3; k++) t->middle[k] = 0.5 * (lo[k] + hi[k]);
    t->front = hi[2], t->wide = 0.5 * (hi[0] - lo[0]);
    return t->wide > 0 && isfinite(t->wide);
}

static bool in_mouth(const Teeth *t, const double q[3]) {
    return fabs(q[0] - t->middle[0]) < ASIDE * t->wide && fabs(q[1] - t->middle[1]) < HIGH * t->wide &&
           q[2] < t->front - BEHIND * t->d->size && q[2] > t->front - BACK * t->wide;
}

// Teeth as bones of the face, or a piece of the mesh that lies in the mouth as a whole.
static FaCode has_own(const Teeth *t, bool *own, FaError *err) {
    const FaFace *f = t->d->face;
    const FaMesh *mesh = &t->d->rig->mesh;
    FaTopology topo;
    *own = false;
    for (int i = 0; i < f->nbone; i++)
        *own |= f->bone[i].kind == FA_BONE_TEETH_UPPER || f->bone[i].kind == FA_BONE_TEETH_LOWER;
    if (*own) return FA_OK;
    FA_TRY(fai_topology_build(mesh, &topo, err));
    unsigned char *out = FA_NEW(topo.nparts + 1, unsigned char);
    for (int i = 0; i < f->nskin && out; i++)
        if (topo.part[fai_weld(mesh, f->skin_vertex[i])] >= 0) out[topo.part[fai_weld(mesh, f->skin_vertex[i])]] = 1;
    for (int v = 0; v < mesh->nvert && out; v++) {
        double x[3], q[3];
        if (topo.part[v] < 0) continue;
        fai_v3_load(mesh->x, v, x);
        fai_m3_mulv(t->d->rig->axes, x, q);
        if (!in_mouth(t, q)) out[topo.part[v]] = 1;
    }
    for (int p = 0; p < topo.nparts && out; p++) *own |= !out[p];
    fai_topology_free(&topo);
    const bool good = out != NULL;
    fa_free(out);
    return good ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaFilledKind kind_of(const Teeth *t, int i) {
    const FaFilledDomain *d = t->d;
    const int edges = d->topo->around_start[i + 1] - d->topo->around_start[i];
    if (d->exposed[i] || !in_mouth(t, t->q + 3 * (size_t)i)) return FA_FILLED_FREE;
    if (t->most[i] < STILL * d->size && d->with_jaw[i] < APART) return FA_FILLED_SKULL;
    const bool rigid = t->stretched[i] <= FEW * edges * d->rig->nshape;
    return d->with_jaw[i] > WITH && rigid ? FA_FILLED_JAW : FA_FILLED_FREE;
}

static bool is_first(const Teeth *t, int i) {
    const double *q = t->q + 3 * (size_t)i;
    double n[3];
    fai_v3_load(t->d->normal, i, n);
    return fabs(q[0] - t->middle[0]) < 0.6 * t->wide && q[2] > t->front - FIRST * t->d->size &&
           fai_v3_dot(t->d->rig->axes + 6, n) > FRONT;
}

// What hangs together with the front of a row, if it is one.
static void take_row(Teeth *t, FaFilledKind kind) {
    FaFilledDomain *d = t->d;
    double lo = INFINITY, hi = -INFINITY;
    int n = 0, done = 0;
    for (int i = 0; i < d->face->nskin; i++) {
        if (t->hard[i] != kind || !is_first(t, i)) continue;
        d->hard[i] = (unsigned char)kind, t->stack[n++] = i;
    }
    for (; done < n; done++) {
        const int at = t->stack[done];
        lo = fmin(lo, t->q[3 * at]), hi = fmax(hi, t->q[3 * at]);
        for (int k = d->topo->around_start[at]; k < d->topo->around_start[at + 1]; k++) {
            const int to = d->topo->around[k];
            if (t->hard[to] != kind || d->hard[to]) continue;
            d->hard[to] = (unsigned char)kind, t->stack[n++] = to;
        }
    }
    for (int k = 0; k < n && hi - lo < ROW * t->wide; k++) d->hard[t->stack[k]] = FA_FILLED_FREE;
}

FaCode fai_filled_teeth(FaFilledDomain *d, FaError *err) {
    const size_t n = (size_t)d->face->nskin;
    Teeth t = {.d = d};
    bool own;
    if (!(d->hard = FA_PUSH(d->arena, n, unsigned char))) return FA_FAIL_MEMORY(err);
    t.q = FA_PUSH(d->arena, 3 * n, double);
    t.most = FA_PUSH(d->arena, n, double);
    t.stretched = FA_PUSH(d->arena, n, int);
    t.stack = FA_PUSH(d->arena, n, int);
    t.hard = FA_PUSH(d->arena, n, unsigned char);
    t.delta = FA_PUSH(d->arena, 3 * (size_t)d->rig->mesh.nvert, float);
    if (!t.q || !t.most || !t.stretched || !t.stack || !t.hard || !t.delta) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) {
        double p[3];
        fai_v3_load(d->face->x0, (int)i, p);
        fai_m3_mulv(d->rig->axes, p, t.q + 3 * i);
    }
    ask_shapes(&t);
    if (!find_lips(&t)) return FA_OK;
    FA_TRY(has_own(&t, &own, err));
    if (own) return FA_OK;
    for (int i = 0; i < (int)n; i++) t.hard[i] = (unsigned char)kind_of(&t, i);
    take_row(&t, FA_FILLED_SKULL);
    take_row(&t, FA_FILLED_JAW);
    return FA_OK;
}

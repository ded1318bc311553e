// Points added to the skin around the mouth where tets were left out, so that the next ones need not bridge anything.
//
//   upper  o-------o---x----o      lips that touch: each node gets a partner (x) on the other lip, so that no edge goes
//   lower  o---x-------o----o      from one to the other
//
// An edge that leaves the flesh where the skin is hollow gets a point on the skin beside its middle.
#include "build/filled_work.h"
#include "math/mat3.h"

static const double MOUTH = 17e-3; // m, of an adult: around the box of the lips
static const double NEAR = 0.25;   // spacings: nearer to others nothing is added
static const double BESIDE = 0.4;  // lengths of an edge: as near the other lip is where lips touch
enum { POINTS = 1500 };            // at most

typedef struct Extra {
    float x[3], opening[3];
    int near;
    signed char lip, lid;
} Extra;

typedef struct Refine {
    const FaFilledDomain *d;
    const FaFilledPoints *p;
    double spacing;
    FaClosest *lip[2]; // skin of the upper and of the lower lip; NULL: there is none
    int *tri[2];       // skin triangle of each of theirs
    Extra *extra;
    int n;
} Refine;

static signed char same(const signed char *side, const int *v) {
    return side[v[0]] == side[v[1]] && side[v[1]] == side[v[2]] ? side[v[0]] : 0;
}

// Triangles of the skin with a corner of this lip and none of the other.
static FaCode find_lip(Refine *r, int which, FaError *err) {
    const FaFace *f = r->d->face;
    const int side = which ? -1 : 1;
    int n = 0, *tri = FA_NEW(3 * (size_t)f->ntri, int);
    r->tri[which] = FA_NEW(f->ntri, int);
    FaCode rc = tri && r->tri[which] ? FA_OK : FA_FAIL_MEMORY(err);
    for (int t = 0; t < f->ntri && rc >= 0; t++) {
        const int *v = f->tri + 3 * (size_t)t;
        bool own = false, other = false;
        for (int k = 0; k < 3; k++) own |= r->d->lip[v[k]] == side, other |= r->d->lip[v[k]] == -side;
        if (!own || other) continue;
        r->tri[which][n] = t;
        memcpy(tri + 3 * (size_t)n++, v, 3 * sizeof(int));
    }
    const FaMesh mesh = {.nvert = f->nskin, .x = f->x0, .ntri = n, .tri = tri};
    if (rc >= 0 && n) rc = fai_closest_new(&mesh, NULL, &r->lip[which], err);
    fa_free(tri);
    return rc;
}

// Of another lip is not in the way: lips may touch.
static bool blocks(const float *x, signed char lip, const float *y, signed char other, double least) {
    double d = 0;
    if (lip * other < 0) return false;
    for (int k = 0; k < 3; k++) d += ((double)x[k] - (double)y[k]) * ((double)x[k] - (double)y[k]);
    return d < least * least;
}

// tri: of the face.
static void add(Refine *r, int tri, const FaHit *hit, int side) {
    const FaFilledDomain *d = r->d;
    const FaFilledPoints *p = r->p;
    const int *v = d->face->tri + 3 * (size_t)tri;
    const double least = NEAR * r->spacing;
    if (r->n == POINTS || d->held[v[0]] || d->held[v[1]] || d->held[v[2]]) return;
    Extra e = {.lip = (signed char)(side ? side : same(d->lip, v)), .lid = same(d->lid, v)};
    int best = 0;
    for (int k = 0; k < 3; k++) {
        e.x[k] = hit->point[k];
        if (hit->bary[k] > hit->bary[best]) best = k;
        for (int c = 0; c < 3; c++) e.opening[k] += hit->bary[c] * d->opening[3 * (size_t)v[c] + (size_t)k];
    }
    e.near = v[best];
    for (int i = 0; i < p->nsurface; i++)
        if (blocks(e.x, e.lip, p->x + 3 * (size_t)i, p->lip[i], least)) return;
    for (int i = 0; i < r->n; i++)
        if (blocks(e.x, e.lip, r->extra[i].x, r->extra[i].lip, least)) return;
    r->extra[r->n++] = e;
}

// Returns false where that lip is farther than `reach`.
static bool add_on_lip(Refine *r, int side, const float *x, double reach) {
    const int which = side < 0;
    if (!r->lip[which]) return false;
    FaHit hit = fai_closest_point(r->lip[which], x, (float)reach);
    if (hit.tri >= 0) add(r, r->tri[which][hit.tri], &hit, side);
    return hit.tri >= 0;
}

static void mend(Refine *r, int a, int b) {
    const FaFilledPoints *p = r->p;
    const float *xa = p->x + 3 * (size_t)a, *xb = p->x + 3 * (size_t)b;
    double mid[3], q[3], far = 0, size = 0;
    float x[3];
    for (int k = 0; k < 3; k++) {
        mid[k] = 0.5 * ((double)xa[k] + (double)xb[k]), x[k] = (float)mid[k];
        size += ((double)xa[k] - (double)xb[k]) * ((double)xa[k] - (double)xb[k]);
    }
    size = sqrt(size);
    fai_m3_mulv(r->d->rig->axes, mid, q);
    for (int k = 0; k < 3; k++) {
        double out = fmax(fmax(r->d->lip_lo[k] - q[k], q[k] - r->d->lip_hi[k]), 0);
        far += out * out;
    }
    if (!(sqrt(far) < MOUTH * r->d->size) || size > 4 * r->spacing) return;
    if (p->lip[a] * p->lip[b] < 0) {
        bool beside = a < p->nsurface && add_on_lip(r, p->lip[b], xa, BESIDE * size);
        beside |= b < p->nsurface && add_on_lip(r, p->lip[a], xb, BESIDE * size);
        if (beside) return;
    }
    FaHit hit = fai_closest_point(r->d->wall, x, (float)(0.5 * size));
    if (hit.tri >= 0 && hit.tri < r->d->face->ntri) add(r, hit.tri, &hit, 0);
}

// Those of the lattice come after those on the skin.
static FaCode insert(FaFilledPoints *p, const Extra *extra, int n, FaError *err) {
    const size_t all = (size_t)p->n + (size_t)n, at = (size_t)p->nsurface, rest = (size_t)(p->n - p->nsurface);
    FaFilledPoints q = *p;
    q.x = FA_NEW(3 * all, float), q.opening = FA_NEW(3 * (at + (size_t)n), float);
    q.kind = FA_NEW(all, unsigned char), q.near = FA_NEW(all, int), q.wall = FA_NEW(all, float);
    q.lip = FA_NEW(all, signed char), q.lid = FA_NEW(all, signed char);
    q.n = (int)all, q.nsurface = p->nsurface + n, q.free += n;
    if (!q.x || !q.opening || !q.kind || !q.near || !q.wall || !q.lip || !q.lid) {
        fai_filled_points_free(&q);
        return FA_FAIL_MEMORY(err);
    }
    memcpy(q.opening, p->opening, 3 * at * sizeof *q.opening);
    for (int part = 0; part < 2; part++) {
        const size_t from = part ? at : 0, to = part ? at + (size_t)n : 0, count = part ? rest : at;
        memcpy(q.x + 3 * to, p->x + 3 * from, 3 * count * sizeof *q.x);
        memcpy(q.kind + to, p->kind + from, count * sizeof *q.kind);
        memcpy(q.near + to, p->near + from, count * sizeof *q.near);
        memcpy(q.wall + to, p->wall + from, count * sizeof *q.wall);
        memcpy(q.lip + to, p->lip + from, count * sizeof *q.lip);
        memcpy(q.lid + to, p->lid + from, count * sizeof *q.lid);
    }
    for (int i = 0; i < n; i++) {
        memcpy(q.x + 3 * (at + (size_t)i), extra[i].x, sizeof extra[i].x);
        memcpy(q.opening + 3 * (at + (size_t)i), extra[i].opening, sizeof extra[i].opening);
        q.kind[at + (size_t)i] = FA_FILLED_FREE, q.near[at + (size_t)i] = extra[i].near;
        q.lip[at + (size_t)i] = extra[i].lip, q.lid[at + (size_t)i] = extra[i].lid;
    }
    fai_filled_points_free(p);
    *p = q;
    return FA_OK;
}

FaCode fai_filled_refine(const FaFilledDomain *d, double spacing, const FaFilledLeft *left, FaFilledPoints *points,
                         int *added, FaError *err) {
    Refine r = {.d = d, .p = points, .spacing = spacing, .extra = FA_NEW(POINTS, Extra)};
    FaCode rc = r.extra ? FA_OK : FA_FAIL_MEMORY(err);
    for (int k = 0; k < 2 && rc >= 0; k++) rc = find_lip(&r, k, err);
    for (int e = 0; e < left->n && rc >= 0; e++) mend(&r, left->edge[e][0], left->edge[e][1]);
    if (rc >= 0 && r.n) rc = insert(points, r.extra, r.n, err);
    *added = rc >= 0 ? r.n : 0;
    for (int k = 0; k < 2; k++) {
        fai_closest_free(r.lip[k]);
        fa_free(r.tri[k]);
    }
    fa_free(r.extra);
    return rc;
}

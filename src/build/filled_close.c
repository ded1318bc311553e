// The skin, closed: every hole of its triangles gets a cap, so that winding numbers are whole. Edges of one triangle
// are gathered into holes by their common nodes; a cap is a fan over a hole's edges, whatever its form.
#include "build/filled_close.h"

#include "math/mat3.h"

// A mouth without a bag: the cap goes back as far as a bag would, m of an adult, and narrows.
static const struct { double back, wide, high; } RINGS[] = {{10e-3, 1, 1}, {22e-3, 0.8, 0.8}, {32e-3, 0.5, 0.5}};
static const double OPEN = 0.8e-3; // m from the middle of the bag to its roof and floor, at least
static const double BULGE = 0.3;   // radii of a cut by which its cap bulges
enum { NRING = FA_COUNT(RINGS) };

typedef enum Hole { HOLE_WALL, HOLE_MOUTH, HOLE_EYE, HOLE_CUT } Hole;

typedef struct Close {
    FaFilledDomain *d;
    int (*edge)[2]; // of one triangle, as that runs                    (nedge)
    int nedge;
    int *hole;   // smallest node of the hole, -1: not on an edge     (nskin)
    double *sum; // per hole: x y z, count, mouth, lids, rim; area   (nskin x 10)
    int *first;  // first vertex made for a node, or for a hole       (nskin)
} Close;

static void find_edges(Close *c) {
    const FaFace *f = c->d->face;
    const FaTopology *topo = c->d->topo;
    for (int e = 0; e < topo->nedge; e++) {
        if (topo->edge_tris[e] != 1) continue;
        int a = topo->edge[e][0], b = topo->edge[e][1];
        const int *t = f->tri + 3 * (size_t)topo->edge_tri[2 * (size_t)e];
        bool along = (t[0] == a && t[1] == b) || (t[1] == a && t[2] == b) || (t[2] == a && t[0] == b);
        c->edge[c->nedge][0] = along ? a : b;
        c->edge[c->nedge++][1] = along ? b : a;
    }
    for (int i = 0; i < f->nskin; i++) c->hole[i] = -1;
    for (int e = 0; e < c->nedge; e++)
        for (int k = 0; k < 2; k++) c->hole[c->edge[e][k]] = c->edge[e][k];
    for (bool changed = true; changed;) {
        changed = false;
        for (int e = 0; e < 2 * c->nedge; e++) {
            const int *ab = c->edge[e < c->nedge ? e : 2 * c->nedge - 1 - e];
            int least = FA_MIN(c->hole[ab[0]], c->hole[ab[1]]);
            changed |= c->hole[ab[0]] != least || c->hole[ab[1]] != least;
            c->hole[ab[0]] = c->hole[ab[1]] = least;
        }
    }
}

static void measure_holes(Close *c) {
    const FaFace *f = c->d->face;
    for (int i = 0; i < f->nskin; i++) {
        if (c->hole[i] < 0) continue;
        double *s = c->sum + 10 * (size_t)c->hole[i];
        for (int k = 0; k < 3; k++) s[k] += (double)f->x0[3 * (size_t)i + (size_t)k];
        s[3]++;
        s[4] += (double)fmaxf(f->region[FA_REGION_MOUTH][i],
                              fmaxf(f->region[FA_REGION_LIP_UPPER][i], f->region[FA_REGION_LIP_LOWER][i]));
        s[5] += (double)f->region[FA_REGION_EYELIDS][i];
        s[6] += f->rim[i] && c->d->exposed[i];
    }
}

// The area of a hole as a vector out of the body, by its edges as the cap runs along them.
static void measure_areas(Close *c) {
    for (int e = 0; e < c->nedge; e++) {
        double *s = c->sum + 10 * (size_t)c->hole[c->edge[e][0]], mid[3], a[3], b[3], n[3];
        fai_v3_scale(1 / s[3], s, mid);
        fai_v3_load(c->d->face->x0, c->edge[e][0], a);
        fai_v3_load(c->d->face->x0, c->edge[e][1], b);
        fai_v3_sub(a, mid, a);
        fai_v3_sub(b, mid, b);
        fai_v3_cross(b, a, n);
        fai_v3_mad(s + 7, 0.5, n, s + 7);
    }
}

static Hole kind_of(const Close *c, int hole) {
    const double *s = c->sum + 10 * (size_t)hole;
    if (s[4] > 0.35 * s[3]) return HOLE_MOUTH;
    if (s[5] > 0.35 * s[3]) return HOLE_EYE;
    return s[6] > 0.5 * s[3] ? HOLE_CUT : HOLE_WALL;
}

// The vertices of the caps: the middle of each hole; of a mouth first its nodes moved back, ring by ring.
static void make_points(Close *c, bool count) {
    FaFilledDomain *d = c->d;
    const FaFace *f = d->face;
    d->nvert = f->nskin;
    for (int i = 0; i < f->nskin; i++) {
        if (c->hole[i] < 0) continue;
        const double *s = c->sum + 10 * (size_t)c->hole[i];
        const bool mouth = kind_of(c, c->hole[i]) == HOLE_MOUTH;
        const int n = (mouth ? NRING : 0) + (c->hole[i] == i); // the hole's own point comes last
        c->first[i] = d->nvert;
        for (int k = 0; k < n && !count; k++) {
            double p[3], q[3], mid[3], m[3];
            fai_v3_scale(1 / s[3], s, mid);
            fai_m3_mulv(d->rig->axes, mid, m);
            fai_v3_load(f->x0, i, p);
            fai_m3_mulv(d->rig->axes, p, q);
            if (mouth && k < NRING) {
                q[0] = m[0] + RINGS[k].wide * (q[0] - m[0]);
                q[1] = m[1] + RINGS[k].high * (q[1] - m[1]);
                // lips may cross: the roof of the bag stays above its floor
                if (d->lip[i]) q[1] = m[1] + d->lip[i] * fmax(d->lip[i] * (q[1] - m[1]), OPEN * d->size);
                q[2] -= RINGS[k].back * d->size;
            } else {
                memcpy(q, m, sizeof q);
                if (mouth) q[2] -= 1.1 * RINGS[NRING - 1].back * d->size;
            }
            fai_m3_tmulv(d->rig->axes, q, p);
            double size = fai_v3_norm(s + 7);
            if (kind_of(c, c->hole[i]) == HOLE_CUT && size > 0) // out a bit: edges of necks run over shoulders
                fai_v3_mad(p, BULGE * sqrt(size / 3.14159265358979) / size, s + 7, p);
            for (int j = 0; j < 3; j++) d->x[3 * (size_t)(d->nvert + k) + (size_t)j] = (float)p[j];
            d->skin_of[d->nvert + k] = i;
        }
        d->nvert += n;
    }
}

static void add(FaFilledDomain *d, int a, int b, int c) {
    int *t = d->tri + 3 * (size_t)d->ntri++;
    t[0] = a, t[1] = b, t[2] = c;
}

static void add_caps(Close *c, Hole kind) {
    FaFilledDomain *d = c->d;
    for (int e = 0; e < c->nedge; e++) {
        int a = c->edge[e][0], b = c->edge[e][1], hole = c->hole[a];
        if (kind_of(c, hole) != kind) continue;
        int mid = c->first[hole] + (kind == HOLE_MOUTH ? NRING : 0);
        for (int k = 0; k < NRING && kind == HOLE_MOUTH; k++) {
            int a1 = c->first[c->edge[e][0]] + k, b1 = c->first[c->edge[e][1]] + k;
            add(d, b, a, a1);
            add(d, b, a1, b1);
            a = a1, b = b1;
        }
        add(d, b, a, mid);
    }
}

static FaCode close_skin(Close *c, FaError *err) {
    FaFilledDomain *d = c->d;
    const FaFace *f = d->face;
    find_edges(c);
    measure_holes(c);
    measure_areas(c);
    make_points(c, true);
    d->x = FA_PUSH(d->arena, 3 * (size_t)d->nvert, float);
    d->skin_of = FA_PUSH(d->arena, d->nvert, int);
    d->tri = FA_PUSH(d->arena, 3 * ((size_t)f->ntri + (size_t)c->nedge * (2 * NRING + 1)), int);
    if (!d->x || !d->skin_of || !d->tri) return FA_FAIL_MEMORY(err);
    memcpy(d->x, f->x0, 3 * (size_t)f->nskin * sizeof(float));
    for (int i = 0; i < f->nskin; i++) d->skin_of[i] = i;
    make_points(c, false);
    memcpy(d->tri, f->tri, 3 * (size_t)f->ntri * sizeof(int));
    d->ntri = f->ntri;
    add_caps(c, HOLE_WALL);
    add_caps(c, HOLE_MOUTH);
    d->nwall = d->ntri;
    add_caps(c, HOLE_EYE);
    int cut = d->ntri;
    add_caps(c, HOLE_CUT);
    d->ncap = d->ntri - cut;
    for (int i = 0; i < f->nskin; i++) d->held[i] = c->hole[i] >= 0 && kind_of(c, c->hole[i]) == HOLE_CUT;
    return FA_OK;
}

FaCode fai_filled_close(FaFilledDomain *d, FaError *err) {
    const int n = d->face->nskin;
    Close c = {.d = d,
               .edge = (int(*)[2])fai_arena_push(d->arena, (size_t)d->topo->nedge, sizeof *c.edge),
               .hole = FA_PUSH(d->arena, n, int),
               .sum = FA_PUSH(d->arena, 10 * (size_t)n, double),
               .first = FA_PUSH(d->arena, n, int)};
    d->held = FA_PUSH(d->arena, n, unsigned char);
    if (!c.edge || !c.hole || !c.sum || !c.first || !d->held) return FA_FAIL_MEMORY(err);
    return close_skin(&c, err);
}

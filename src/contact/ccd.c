#include "contact/ccd.h"

#include <math.h>
#include <string.h>

// ROUNDING: a witness's projections are dot products of differences of coordinates up to `size`; each of the at most
// eight roundings is worth 1.2e-16 of 2 sqrt(3) size; UNDERFLOW is what products of tiny numbers may lose. NEAR: of the
// gap, which is close enough to call it contact. MAX_STEPS: where corners translate, the walk is Newton's method on a
// distance and takes about five; where an edge turns about its closest point, each step goes a share of the way left,
// or of the distance that is left, so that steps grow with the digits wanted only.
#define ROUNDING 4e-15
#define UNDERFLOW 1e-290
#define NEAR 1e-3
#define MIN_STEP 0x1p-52
enum { MAX_STEPS = 200 };

typedef struct Closest {
    double d[3];   // from the triangle to the vertex; from b to a
    double square; // of its length
    double bary[4];
    bool inside;
} Closest;

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void sub(const double a[3], const double b[3], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] - b[k];
}

static void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

// False for a vector without direction.
static bool unit(const double a[3], double out[3]) {
    double big = fabs(a[0]) > fabs(a[1]) ? fabs(a[0]) : fabs(a[1]);
    if (fabs(a[2]) > big) big = fabs(a[2]);
    if (!(big > 0) || !(big < 1e200)) return false;
    double s[3] = {a[0] / big, a[1] / big, a[2] / big}, length = sqrt(dot(s, s));
    for (int k = 0; k < 3; k++) out[k] = s[k] / length;
    return true;
}

// --- closest points -----------------------------------------------------------------------------------------------

static double least_of(double a, double b) { return a < b ? a : b; }

static double clamp(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

// Parameter of the point of a segment (at 0, along e) that is closest to r.
static double on_segment(const double e[3], const double r[3]) {
    double length = dot(e, e);
    return length > 0 ? clamp(dot(e, r) / length) : 0;
}

// Keep the closer of what is known and the point of edge i j of the triangle.
static void try_edge(const double p[4][3], int i, int j, Closest *best) {
    double e[3], r[3], d[3];
    sub(p[1 + j], p[1 + i], e);
    sub(p[0], p[1 + i], r);
    double s = on_segment(e, r);
    for (int k = 0; k < 3; k++) d[k] = r[k] - s * e[k];
    double square = dot(d, d);
    if (!(square < best->square)) return;
    memset(best->bary, 0, sizeof best->bary);
    best->bary[i] = 1 - s;
    best->bary[j] = s;
    best->bary[3] = 1;
    memcpy(best->d, d, sizeof d);
    best->square = square;
}

static void closest_triangle(const double p[4][3], Closest *c) {
    double u[3], v[3], r[3];
    sub(p[2], p[1], u);
    sub(p[3], p[1], v);
    sub(p[0], p[1], r);
    double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), ru = dot(r, u), rv = dot(r, v);
    double det = uu * vv - uv * uv, b = vv * ru - uv * rv, a = uu * rv - uv * ru;
    c->inside = det > 1e-14 * uu * vv && b >= 0 && a >= 0 && a + b <= det;
    if (c->inside) {
        b /= det;
        a /= det;
        c->bary[0] = 1 - a - b;
        c->bary[1] = b;
        c->bary[2] = a;
        c->bary[3] = 1;
        for (int k = 0; k < 3; k++) c->d[k] = r[k] - b * u[k] - a * v[k];
        c->square = dot(c->d, c->d);
        return;
    }
    c->square = HUGE_VAL;
    try_edge(p, 0, 1, c);
    try_edge(p, 1, 2, c);
    try_edge(p, 2, 0, c);
}

// Keep the closer of what is known and the points at s of a and t of b.
static void try_points(const double ea[3], const double eb[3], const double r[3], double s, double t, Closest *best) {
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = r[k] + s * ea[k] - t * eb[k];
    double square = dot(d, d);
    if (!(square < best->square)) return;
    best->bary[0] = 1 - s;
    best->bary[1] = s;
    best->bary[2] = 1 - t;
    best->bary[3] = t;
    memcpy(best->d, d, sizeof d);
    best->square = square;
}

static void closest_edges(const double p[4][3], Closest *c) {
    double ea[3], eb[3], r[3];
    sub(p[1], p[0], ea);
    sub(p[3], p[2], eb);
    sub(p[0], p[2], r);
    double aa = dot(ea, ea), ab = dot(ea, eb), bb = dot(eb, eb), ra = dot(r, ea), rb = dot(r, eb);
    double det = aa * bb - ab * ab, s = ab * rb - bb * ra, t = aa * rb - ab * ra;
    c->square = HUGE_VAL;
    c->inside = det > 1e-12 * aa * bb && s >= 0 && s <= det && t >= 0 && t <= det;
    if (c->inside) {
        try_points(ea, eb, r, s / det, t / det, c);
        return;
    }
    // an end of one of them is closest: each end against the other edge, which also holds for parallel edges and points
    double r1[3], q0[3], q1[3];
    for (int k = 0; k < 3; k++) {
        r1[k] = r[k] + ea[k];
        q0[k] = -r[k];
        q1[k] = eb[k] - r[k];
    }
    try_points(ea, eb, r, 0, on_segment(eb, r), c);
    try_points(ea, eb, r, 1, on_segment(eb, r1), c);
    try_points(ea, eb, r, on_segment(ea, q0), 0, c);
    try_points(ea, eb, r, on_segment(ea, q1), 1, c);
}

static void closest(FaPairKind kind, const double p[4][3], Closest *c) {
    memset(c, 0, sizeof *c);
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        closest_triangle(p, c);
    } else {
        closest_edges(p, c);
    }
    if (c->square < HUGE_VAL) return;
    // overflow or NaN on the way: any point will do
    c->bary[0] = 1;
    c->bary[kind == FA_PAIR_VERTEX_TRIANGLE ? 3 : 2] = 1;
    c->square = 0;
}

// The direction that is exact where the closest points are too close to tell: of the triangle's normal, or of both
// edges'.
static bool flat_normal(FaPairKind kind, const double p[4][3], double out[3]) {
    double u[3], v[3], n[3];
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        sub(p[2], p[1], u);
        sub(p[3], p[1], v);
    } else {
        sub(p[1], p[0], u);
        sub(p[3], p[2], v);
    }
    cross(u, v, n);
    if (!(dot(n, n) > 1e-20 * dot(u, u) * dot(v, v))) return false;
    return unit(n, out);
}

// --- the walk -----------------------------------------------------------------------------------------------------

// Differences corner - corner whose projections a witness must keep above the limit: 3 for vertex-triangle, 4 for
// edges.
typedef struct Path {
    int n;
    double d0[4][3], d1[4][3];
    double limit; // gap and rounding
} Path;

static inline __attribute__((always_inline)) void set_path(FaPairKind kind, const double p0[4][3],
                                                           const double p1[4][3], Path *path) {
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        path->n = 3;
        for (int k = 0; k < 3; k++) {
            sub(p0[0], p0[1 + k], path->d0[k]);
            sub(p1[0], p1[1 + k], path->d1[k]);
        }
    } else {
        path->n = 4;
        for (int k = 0; k < 4; k++) {
            sub(p0[k >> 1], p0[2 + (k & 1)], path->d0[k]);
            sub(p1[k >> 1], p1[2 + (k & 1)], path->d1[k]);
        }
    }
}

// How far from t does the witness n (or -n, if n points the wrong way) separate? Less than t: not even there.
static double separates_until(const Path *path, const double n[3], double t) {
    double until = 1;
    for (int k = 0; k < path->n; k++) {
        double e0 = dot(n, path->d0[k]), e1 = dot(n, path->d1[k]);
        if (!(e0 + t * (e1 - e0) >= path->limit)) return -1;
        if (e1 >= path->limit) continue;
        // falls through the limit between t and 1; the limit's share for rounding covers that of this quotient
        double at = (e0 - path->limit) / (e0 - e1);
        until = least_of(until, at);
    }
    return until;
}

// Does the direction that turns from a at time t to b at time s separate all the way? n(t) . d(t) is quadratic in t, so
// it lies above the least of its three Bernstein coefficients; |n(t)| <= 1.
static bool separates_turning(const Path *path, const double a[3], const double b[3], double t, double s) {
    for (int k = 0; k < path->n; k++) {
        double dt[3], ds[3];
        for (int i = 0; i < 3; i++) {
            double d0 = path->d0[k][i], step = path->d1[k][i] - d0;
            dt[i] = d0 + t * step;
            ds[i] = d0 + s * step;
        }
        if (!(dot(a, dt) >= path->limit && dot(b, ds) >= path->limit)) return false;
        if (!(0.5 * (dot(a, ds) + dot(b, dt)) >= path->limit)) return false;
    }
    return true;
}

// How far do the two obvious witnesses go, along the closest points and across the flat? The better one in `witness`,
// unless neither separates at t.
static double best_witness(FaPairKind kind, const Path *path, const double p[4][3], const Closest *c, double t,
                           double witness[3]) {
    double n[3], until = -1;
    if (unit(c->d, n)) {
        until = separates_until(path, n, t);
        if (until >= t) memcpy(witness, n, sizeof n);
        if (until >= 1) return until;
    }
    if (flat_normal(kind, p, n)) {
        double side = dot(n, c->d);
        for (int k = 0; k < 3; k++) n[k] = side < 0 ? -n[k] : n[k];
        double at = separates_until(path, n, t);
        if (at >= t && at > until) {
            until = at;
            memcpy(witness, n, sizeof n);
        }
    }
    return until;
}

static void move_to(const double p0[4][3], const double p1[4][3], double t, double p[4][3]) {
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) p[i][k] = p0[i][k] + t * (p1[i][k] - p0[i][k]);
}

// The largest coordinate; NAN if one is beyond 1e100 or no number.
static double largest(const double p0[4][3], const double p1[4][3]) {
    double most[4], sum[4]; // four chains: this is most of the cost of an easy pair
    for (int i = 0; i < 4; i++) {
        double a = fabs(p0[i][0]), b = fabs(p0[i][1]), c = fabs(p0[i][2]), d = fabs(p1[i][0]), e = fabs(p1[i][1]),
               f = fabs(p1[i][2]);
        sum[i] = (a + b) + (c + d) + (e + f);
        a = a > b ? a : b;
        c = c > d ? c : d;
        e = e > f ? e : f;
        a = a > c ? a : c;
        most[i] = a > e ? a : e;
    }
    if (!(sum[0] + sum[1] + sum[2] + sum[3] <= 1e100)) return NAN;
    double a = most[0] > most[1] ? most[0] : most[1], b = most[2] > most[3] ? most[2] : most[3];
    return a > b ? a : b;
}

// A normal for an impact at the closest points c of p: exact where it matters, on the side that was shown last.
static void set_normal(FaPairKind kind, const double p[4][3], const double p0[4][3], const double p1[4][3],
                       const Closest *c, double rounding, const double *shown, double out[3]) {
    double flat[3], direct[3];
    bool has_flat = c->inside && flat_normal(kind, p, flat);
    bool has_direct = c->square > 100 * rounding * rounding && unit(c->d, direct);
    if (has_flat) {
        double side = has_direct ? dot(flat, direct) : 0;
        if (shown && !(fabs(side) > 0.5)) side = dot(flat, shown);
        if (side == 0) { // touching from the start: against the motion
            double w[4] = {1, -c->bary[0], -c->bary[1], -c->bary[2]};
            if (kind == FA_PAIR_EDGE_EDGE)
                for (int i = 0; i < 4; i++) w[i] = i < 2 ? c->bary[i] : -c->bary[i];
            for (int i = 0; i < 4; i++)
                for (int k = 0; k < 3; k++) side -= w[i] * (p1[i][k] - p0[i][k]) * flat[k];
        }
        for (int k = 0; k < 3; k++) out[k] = side < 0 ? -flat[k] : flat[k];
    } else if (has_direct) {
        memcpy(out, direct, sizeof direct);
    } else if (shown) {
        memcpy(out, shown, 3 * sizeof *out);
    } else if (!flat_normal(kind, p, out)) {
        out[0] = out[1] = 0;
        out[2] = 1;
    }
}

bool fai_ccd_pair(FaPairKind kind, const double p0[4][3], const double p1[4][3], double min_gap, double keep,
                  FaImpact *impact) {
    double size = largest(p0, p1);
    Closest c;
    if (!(size <= 1e100) || !(min_gap <= 1e100)) {
        *impact = (FaImpact){.normal = {0, 0, 1}, .bary = {1, 0, 0, 1}};
        if (kind == FA_PAIR_EDGE_EDGE) impact->bary[2] = 1, impact->bary[3] = 0;
        return true;
    }
    Path path;
    set_path(kind, p0, p1, &path);
    double rounding = ROUNDING * size + UNDERFLOW, t = 0, reach = 1, shown[3] = {0}, p[4][3];
    bool any_shown = false;
    min_gap = min_gap > 0 ? min_gap : 0;
    path.limit = min_gap * (1 + 1e-14) + rounding;
    memcpy(p, p0, sizeof p);
    closest(kind, (const double(*)[3])p, &c);
    if (keep < 1) path.limit = least_of(min_gap, keep * sqrt(c.square)) * (1 + 1e-14) + rounding;
    double near = path.limit * (1 + NEAR);
    for (int step = 0; step < MAX_STEPS && (step == 0 || c.square > near * near); step++) {
        double until = best_witness(kind, &path, (const double(*)[3])p, &c, t, shown), next = least_of(t + reach, 1);
        if (until >= 1) return false;
        any_shown = any_shown || until > t;
        if (until > t && next > until) {
            // no fixed witness goes as far as hoped: one that turns?
            Closest there;
            double q[4][3], n[3];
            move_to(p0, p1, next, q);
            closest(kind, (const double(*)[3])q, &there);
            if (unit(there.d, n) && separates_turning(&path, shown, n, t, next)) {
                if (next >= 1) return false;
                reach = 2 * (next - t);
                t = next;
                c = there;
                memcpy(p, q, sizeof p);
                memcpy(shown, n, sizeof shown);
                continue;
            }
            reach = 0.5 * (next - t);
        } else {
            reach = 2 * (until - t);
        }
        if (!(until > t + MIN_STEP)) break;
        t = until;
        move_to(p0, p1, t, p);
        closest(kind, (const double(*)[3])p, &c);
    }
    impact->t = t;
    memcpy(impact->bary, c.bary, sizeof c.bary);
    set_normal(kind, (const double(*)[3])p, p0, p1, &c, rounding, any_shown ? shown : NULL, impact->normal);
    return true;
}

bool fai_ccd_vertex_triangle(const double p0[4][3], const double p1[4][3], double min_gap, FaImpact *impact) {
    return fai_ccd_pair(FA_PAIR_VERTEX_TRIANGLE, p0, p1, min_gap, 1, impact);
}

bool fai_ccd_edge_edge(const double p0[4][3], const double p1[4][3], double min_gap, FaImpact *impact) {
    return fai_ccd_pair(FA_PAIR_EDGE_EDGE, p0, p1, min_gap, 1, impact);
}

double fai_pair_distance(FaPairKind kind, const double p[4][3], double bary[4], double normal[3], bool *inside) {
    Closest c;
    closest(kind, p, &c);
    memcpy(bary, c.bary, sizeof c.bary);
    if (!unit(c.d, normal) && !flat_normal(kind, p, normal)) {
        normal[0] = normal[1] = 0;
        normal[2] = 1;
    }
    if (inside) *inside = c.inside;
    return sqrt(c.square);
}

#include "muscle/place.h"

#include "base/task.h"
#include "math/mat3.h"
#include "math/rbf.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"

#include <math.h>

// Lattices: 7 x 4 x 2 control points, rings 14 x 4 x 2.
enum { ALONG = 7, AROUND = 14, ACROSS = 4, DEEP = 2, TRIS = 512 };
static const double REACH = 30;     // mm to bone at most
static const double ON_BONE = 6;    // mm to a point on bone: as far as nodes of flesh are apart
static const double ABOUT = 4;      // mm: points of bone that are so much farther than the nearest count too
static const double FOLDED = 0.003; // of a muscle that may be inside out
static const double LONGER = 1;     // of its length that may change as its edges go in,
static const double EVEN = 0.02;    // and where left and right would then differ by more than:
static const double UNLIKE = 0.08;

typedef struct Work {
    const FaMuscleGround *ground;
    FaRbf *warp;
    double unit;      // m per mm
    double axis[3];   // inside the head, m
    double up[3];     // unit
    FaClosest *all;   // the whole skin
    FaClosest *outer; // what light reaches
    int nouter;
    unsigned char *lit;    // (ntri)
    int *tri;              // of the outer skin              (nouter x 3)
    double *centre;        // of its triangles               (nouter x 3)
    double *normal;        // times area                     (nouter x 3)
    FaFleshInside *inside; // NULL: the flesh is not known
    double **scratch;      // for each muscle
    double *middle;        // the skin's normal above the middle of each   (nmuscle x 3)
    FaMuscles *out;
} Work;

// --- the skin -----------------------------------------------------------------------------------------------------

static void warp_mm(const Work *w, double x, double y, double z, double out[3]) {
    fai_rbf_point(w->warp, (double[]){x, y, z}, out);
}

static bool escapes(const Work *w, const double from[3], const double way[3]) {
    float o[3], d[3];
    for (int k = 0; k < 3; k++) o[k] = (float)(from[k] + 0.3 * w->unit * way[k]), d[k] = (float)way[k];
    return fai_closest_ray(w->all, o, d, 0, (float)(300 * w->unit)).tri < 0;
}

// Light from straight ahead of a triangle, or level from outside, and from below for the chin.
static void light_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Work *w = ctx;
    const FaMesh *m = w->ground->skin;
    for (int t = begin; t < end; t++) {
        double c[3] = {0}, n[3], out[3], low[3];
        for (int k = 0; k < 9; k++) c[k % 3] += (double)m->x[3 * (size_t)m->tri[3 * t + k / 3] + (size_t)(k % 3)] / 3;
        fai_v3_tri_cross(m->x, m->tri + 3 * (size_t)t, n);
        if (!fai_v3_normalize(n)) continue;
        fai_v3_sub(c, w->axis, out);
        fai_v3_mad(out, -fai_v3_dot(out, w->up), w->up, out);
        if (!fai_v3_normalize(out)) continue;
        fai_v3_mad(out, -1, w->up, low);
        fai_v3_normalize(low);
        w->lit[t] = (fai_v3_dot(n, out) > -0.3 && escapes(w, c, n)) ||
                    (fai_v3_dot(n, out) > 0.1 && escapes(w, c, out)) ||
                    (fai_v3_dot(n, low) > 0.1 && escapes(w, c, low));
    }
}

static FaCode find_outer(Work *w, FaArena *arena, FaError *err) {
    const FaMesh *m = w->ground->skin;
    FA_TRY(fai_closest_new(m, NULL, &w->all, err));
    w->lit = FA_PUSH(arena, (size_t)m->ntri + 1, unsigned char);
    w->tri = FA_PUSH(arena, 3 * (size_t)m->ntri + 1, int);
    w->centre = FA_PUSH(arena, 3 * (size_t)m->ntri + 1, double);
    w->normal = FA_PUSH(arena, 3 * (size_t)m->ntri + 1, double);
    if (!w->lit || !w->tri || !w->centre || !w->normal) return FA_FAIL_MEMORY(err);
    fai_parallel(m->ntri, TRIS, light_chunk, w);
    for (int t = 0; t < m->ntri; t++) {
        if (!w->lit[t]) continue;
        size_t at = 3 * (size_t)w->nouter++;
        for (int k = 0; k < 9; k++)
            w->centre[at + (size_t)(k % 3)] += (double)m->x[3 * (size_t)m->tri[3 * t + k / 3] + (size_t)(k % 3)] / 3;
        memcpy(w->tri + at, m->tri + 3 * (size_t)t, 3 * sizeof(int));
        fai_v3_tri_cross(m->x, w->tri + at, w->normal + at);
    }
    if (w->nouter == 0)
        return FA_FAIL(err, FA_E_MESH, NULL, "turn its normals outwards in the tool that made it",
                       "no triangle of the skin faces outwards");
    FaMesh outer = *m;
    outer.tri = w->tri, outer.ntri = w->nouter, outer.tri_face = NULL, outer.nface = 0;
    return fai_closest_new(&outer, NULL, &w->outer, err);
}

static void nearest(const Work *w, const double p[3], double on[3]) {
    float q[3] = {(float)p[0], (float)p[1], (float)p[2]};
    FaHit hit = fai_closest_point(w->outer, q, INFINITY);
    for (int k = 0; k < 3; k++) on[k] = hit.tri < 0 ? p[k] : (double)hit.point[k];
}

// Outward normal of the skin around a point, over some millimetres: wrinkles and the edge of a lip do not count.
static void normal_at(const Work *w, const double p[3], double mm, double out[3]) {
    double sum[3] = {0}, r = mm * w->unit, d[3];
    for (int tries = 0; tries < 6 && !(fai_v3_dot(sum, sum) > 0); tries++, r *= 2)
        for (int t = 0; t < w->nouter; t++) {
            fai_v3_sub(w->centre + 3 * (size_t)t, p, d);
            double near = 1 - fai_v3_dot(d, d) / (r * r);
            if (near > 0) fai_v3_mad(sum, near * near, w->normal + 3 * (size_t)t, sum);
        }
    if (!fai_v3_normalize(sum)) {
        fai_v3_sub(p, w->axis, sum);
        fai_v3_normalize(sum);
    }
    memcpy(out, sum, sizeof sum);
}

// --- the line of a muscle -----------------------------------------------------------------------------------------

typedef struct Line {
    int n; // places, in order
    FaMusclePlace at[2 * FA_MUSCLE_PLACES];
} Line;

static Line line_of(const FaMuscleEntry *e, int side) {
    Line l = {.n = e->nplace};
    for (int k = 0; k < e->nplace; k++) {
        l.at[k] = e->place[k];
        if (side < 0) l.at[k].x = -l.at[k].x;
    }
    if (e->form == FA_MUSCLE_HALF_RING)
        for (int k = e->nplace - 2; k >= 0; k--) {
            l.at[l.n] = e->place[k];
            l.at[l.n++].x = -e->place[k].x;
        }
    return l;
}

static void spread(const FaMusclePlace *p, double out[4]) {
    out[0] = p->x, out[1] = p->y, out[2] = p->z, out[3] = p->depth;
}

// Through the places, smooth (Catmull and Rom), u by the lengths between them: x, y, z, depth in mm.
static void line_at(const Line *l, double u, double out[4]) {
    double far[2 * FA_MUSCLE_PLACES] = {0}, p[4][4];
    for (int k = 1; k < l->n; k++) {
        const FaMusclePlace *a = &l->at[k - 1], *b = &l->at[k];
        far[k] = far[k - 1] +
                 sqrt((a->x - b->x) * (a->x - b->x) + (a->y - b->y) * (a->y - b->y) + (a->z - b->z) * (a->z - b->z));
    }
    double at = u * far[l->n - 1];
    int k = 0;
    while (k < l->n - 2 && at > far[k + 1]) k++;
    double f = (at - far[k]) / (far[k + 1] - far[k]), f2 = f * f, f3 = f2 * f;
    for (int i = 0; i < 4; i++) spread(&l->at[FA_MAX(0, FA_MIN(k - 1 + i, l->n - 1))], p[i]);
    for (int i = 0; i < 4; i++) {
        double before = k > 0 ? p[0][i] : 2 * p[1][i] - p[2][i], after = k + 2 < l->n ? p[3][i] : 2 * p[2][i] - p[1][i];
        double m1 = 0.5 * (p[2][i] - before), m2 = 0.5 * (after - p[1][i]);
        out[i] =
            (2 * f3 - 3 * f2 + 1) * p[1][i] + (f3 - 2 * f2 + f) * m1 + (3 * f2 - 2 * f3) * p[2][i] + (f3 - f2) * m2;
    }
}

// A ring's point, seen from the front.
static void ring_at(const Work *w, const FaMuscleEntry *e, int side, double u, double on[3]) {
    const double *eye = w->ground->eye;
    double a = 2 * M_PI * u, wide = eye[0] > 0 ? eye[0] : 1, high = eye[1] > 0 ? eye[1] : 1;
    double x = e->place[0].x + wide * e->place[1].x * cos(a), y = e->place[0].y + high * e->place[1].y * sin(a);
    double from[3], to[3], way[3];
    if (side < 0) x = -x;
    warp_mm(w, x, y, 140, from);
    warp_mm(w, x, y, 20, to);
    fai_v3_sub(to, from, way);
    double far = fai_v3_norm(way);
    fai_v3_normalize(way);
    float o[3], d[3];
    for (int k = 0; k < 3; k++) o[k] = (float)from[k], d[k] = (float)way[k];
    FaHit hit = fai_closest_ray(w->outer, o, d, 0, (float)far);
    if (hit.tri >= 0)
        fai_v3_mad(from, (double)hit.distance, way, on);
    else
        warp_mm(w, x, y, 70, on);
}

typedef struct Row {
    double on[3], normal[3]; // skin, outwards
    double depth;            // mm
    double across[3];        // along v, unit
    double deep[3];          // along w: inwards, across the fibre, unit
} Row;

// Frames from the line below the skin: what goes straight inwards has its thickness along the skin.
static void fill_frames(const Work *w, bool ring, int n, Row *row) {
    double under[AROUND][3];
    for (int i = 0; i < n; i++) fai_v3_mad(row[i].on, -row[i].depth * w->unit, row[i].normal, under[i]);
    for (int i = 0; i < n; i++) {
        int before = ring ? (i + n - 1) % n : FA_MAX(i - 1, 0), after = ring ? (i + 1) % n : FA_MIN(i + 1, n - 1);
        double along[3];
        fai_v3_sub(under[after], under[before], along);
        fai_v3_cross(row[i].normal, along, row[i].across);
        if (i > 0 && fai_v3_dot(row[i].across, row[i - 1].across) < 0) fai_v3_scale(-1, row[i].across, row[i].across);
        if (!fai_v3_normalize(row[i].across) && i > 0) memcpy(row[i].across, row[i - 1].across, sizeof row[i].across);
        fai_v3_cross(along, row[i].across, row[i].deep);
        if (!fai_v3_normalize(row[i].deep)) fai_v3_scale(-1, row[i].normal, row[i].deep);
        if (i > 0 ? fai_v3_dot(row[i].deep, row[i - 1].deep) < 0 : fai_v3_dot(row[i].deep, row[i].normal) > 0)
            fai_v3_scale(-1, row[i].deep, row[i].deep);
    }
}

// Returns how far its ends were from the skin, m.
static double fill_rows(const Work *w, const FaMuscleEntry *e, int side, int n, Row *row) {
    Line line = line_of(e, side);
    bool ring = e->form == FA_MUSCLE_RING;
    double off = 0, d[3];
    for (int i = 0; i < n; i++) {
        double at[4], p[3], u = fai_bspline_greville(n, ring, i);
        if (ring) {
            ring_at(w, e, side, u, p);
            row[i].depth = e->place[0].depth;
        } else {
            line_at(&line, u, at);
            warp_mm(w, at[0], at[1], at[2], p);
            row[i].depth = at[3];
        }
        nearest(w, p, row[i].on);
        normal_at(w, row[i].on, 7, row[i].normal);
        fai_v3_sub(p, row[i].on, d);
        if (ring || i == 0 || i == n - 1) off = fmax(off, fai_v3_norm(d)); // between its ends a line may pass below
    }
    fill_frames(w, ring, n, row);
    return off;
}

// --- lattices -----------------------------------------------------------------------------------------------------

// Below the skin beside a row: the skin's height there is taken, its place is not, so that nothing slips to another
// lip.
static void sink(const Work *w, const Row *row, double aside, double deeper, double out[3]) {
    double p[3], on[3], d[3], n[3], most = 0.6 * fabs(aside) * w->unit;
    fai_v3_mad(row->on, aside * w->unit, row->across, p);
    nearest(w, p, on);
    fai_v3_sub(on, p, d);
    fai_v3_mad(p, fmin(fmax(fai_v3_dot(d, row->normal), -most), most), row->normal, p);
    normal_at(w, p, 9, n);
    if (fai_v3_dot(n, row->normal) < 0.5) memcpy(n, row->normal, sizeof n);
    fai_v3_add(n, row->normal, n);
    fai_v3_normalize(n);
    fai_v3_mad(p, -row->depth * w->unit, n, out);
    fai_v3_mad(out, deeper * w->unit, row->deep, out);
}

// The nearest bone, and the mean of its points that are about as near: the very nearest of a lattice's points jumps,
// and differs from one side of the face to the other.
static double bone_near(const Work *w, FaMuscleBone kind, const double p[3], double on[3]) {
    const FaMuscleGround *g = w->ground;
    double best = INFINITY, sum = 0, d[3], mean[3] = {0};
    memcpy(on, p, 3 * sizeof *on);
    for (int b = 0; b < g->nbone; b++) {
        if (g->kind[b] != kind) continue;
        fai_v3_sub(g->bone + 3 * (size_t)b, p, d);
        best = fmin(best, fai_v3_norm(d));
    }
    if (!isfinite(best)) return best;
    for (int b = 0; b < g->nbone; b++) {
        if (g->kind[b] != kind) continue;
        fai_v3_sub(g->bone + 3 * (size_t)b, p, d);
        double near = 1 - (fai_v3_norm(d) - best) / (ABOUT * w->unit);
        if (!(near > 0)) continue;
        fai_v3_mad(mean, near * near, g->bone + 3 * (size_t)b, mean);
        sum += near * near;
    }
    fai_v3_scale(1 / sum, mean, on);
    return best;
}

static void end_centre(const FaBspline *s, int i, int j, double out[3]) {
    int first = j < 0 ? 0 : j, last = j < 0 ? s->n[1] - 1 : j;
    fai_v3_set(out, 0, 0, 0);
    for (int k = 0; k < s->n[2]; k++)
        for (int v = first; v <= last; v++)
            fai_v3_mad(out, 1.0 / (s->n[2] * (last - first + 1)), fai_bspline_point(s, i, v, k), out);
}

// How far each strip across has to go: half with the middle, half to the bone nearest to it. Returns the middle's way.
static double way_to_bone(const Work *w, const FaBspline *s, FaMuscleBone kind, int end, double move[][3]) {
    double middle[3], bone[3], to[3];
    end_centre(s, end, -1, middle);
    double far = bone_near(w, kind, middle, bone);
    if (!(far <= REACH * w->unit)) return INFINITY;
    fai_v3_sub(bone, middle, to);
    for (int j = 0; j < s->n[1]; j++) {
        double at[3], own[3], d[3];
        end_centre(s, end, j, at);
        double near = bone_near(w, kind, at, own);
        fai_v3_sub(own, at, d);
        if (near > 1.5 * far + 3 * w->unit) memcpy(d, to, sizeof d);
        for (int k = 0; k < 3; k++) move[j][k] = 0.5 * (to[k] + d[k]);
    }
    return far;
}

// Straight from one end to the other, with the width and thickness that the template has: never folded.
static void straighten(const Work *w, FaBspline *s, const FaMuscleEntry *e, const double normal[3]) {
    double a[3], b[3], along[3], across[3], deep[3];
    end_centre(s, 0, -1, a);
    end_centre(s, s->n[0] - 1, -1, b);
    fai_v3_sub(b, a, along);
    fai_v3_cross(normal, along, across);
    fai_v3_cross(along, across, deep);
    if (!fai_v3_normalize(deep) || !fai_v3_normalize(across)) return;
    for (int i = 0; i < fai_bspline_points(s); i++) {
        double *x = s->c + 3 * (size_t)i, u = fai_bspline_greville(s->n[0], false, i % s->n[0]),
               v = fai_bspline_greville(s->n[1], false, i / s->n[0] % s->n[1]),
               z = fai_bspline_greville(s->n[2], false, i / (s->n[0] * s->n[1]));
        fai_v3_mad(a, u, along, x);
        fai_v3_mad(x, (2 * v - 1) * e->half_width * w->unit, across, x);
        fai_v3_mad(x, (z - 0.5) * e->thickness * w->unit, deep, x);
    }
}

// The end of a muscle bent to bone, over half of its length; where that folds it, all of it leans over. Returns how far
// the middle went.
static double bend(const Work *w, FaBspline *s, const FaMuscleEntry *e, bool last) {
    double move[FA_BSPLINE_MAX][3] = {{0}}, before[3 * AROUND * ACROSS * DEEP], folded = 1;
    double far = way_to_bone(w, s, last ? e->insertion : e->origin, last ? s->n[0] - 1 : 0, move);
    if (!isfinite(far)) return far;
    size_t bytes = 3 * (size_t)fai_bspline_points(s) * sizeof *before;
    memcpy(before, s->c, bytes);
    for (int lean = 0; lean < 2 && folded > 0.01; lean++) {
        memcpy(s->c, before, bytes);
        for (int i = 0; i < s->n[0]; i++) {
            double u = fai_bspline_greville(s->n[0], false, i), away = last ? 1 - u : u;
            double share = lean ? 1 - away : away < 0.5 ? (1 - 2 * away) * (1 - 2 * away) : 0;
            for (int j = 0; j < s->n[1]; j++)
                for (int k = 0; k < s->n[2]; k++) {
                    double *x = fai_bspline_point(s, i, j, k);
                    fai_v3_mad(x, share, move[j], x);
                }
        }
        folded = fai_muscle_folded(s);
    }
    return far;
}

static void place_one(const Work *w, FaMuscle *m) {
    const FaMuscleEntry *e = fai_muscle_entry(m->id.entry);
    FaBspline *s = &m->solid;
    Row row[AROUND] = {0};
    m->off = fill_rows(w, e, m->id.side, s->n[0], row);
    for (int k = 0; k < s->n[2]; k++)
        for (int j = 0; j < s->n[1]; j++)
            for (int i = 0; i < s->n[0]; i++) {
                double v = fai_bspline_greville(s->n[1], false, j), deep = fai_bspline_greville(s->n[2], false, k);
                sink(w, &row[i], (2 * v - 1) * e->half_width, (deep - 0.5) * e->thickness,
                     fai_bspline_point(s, i, j, k));
            }
    FaMuscleBone bone[2] = {e->origin, e->insertion};
    for (int end = 0; end < 2; end++) {
        if (bone[end] == FA_MUSCLE_SOFT || w->ground->nbone == 0) continue;
        m->moved[end] = bend(w, s, e, end);
    }
    memcpy(w->middle + 3 * (size_t)(m - w->out->muscle), row[s->n[0] / 2].normal, 3 * sizeof(double));
}

// Through its points; where that folds it, near them, and where it still does (a crease of the skin, a bone far away)
// straight.
static FaCode fit_one(const Work *w, FaMuscle *m, FaError *err) {
    const FaMuscleEntry *e = fai_muscle_entry(m->id.entry);
    FaBspline *s = &m->solid;
    double at[3 * AROUND * ACROSS * DEEP];
    size_t bytes = 3 * (size_t)fai_bspline_points(s) * sizeof *at;
    memcpy(at, s->c, bytes);
    FA_TRY(fai_bspline_fit(s, at, err));
    if (fai_muscle_folded(s) <= FOLDED) return FA_OK;
    memcpy(s->c, at, bytes);
    if (e->form <= FA_MUSCLE_STRAP && fai_muscle_folded(s) > FOLDED)
        straighten(w, s, e, w->middle + 3 * (size_t)(m - w->out->muscle));
    return FA_OK;
}

static void place_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Work *w = ctx;
    for (int m = begin; m < end; m++) place_one(w, &w->out->muscle[m]);
}

// From each strip across an end to bone, the least: fibres that begin there pull.
static void measure_ends(const Work *w, FaMuscle *m) {
    const FaMuscleEntry *e = fai_muscle_entry(m->id.entry);
    FaMuscleBone bone[2] = {e->origin, e->insertion};
    for (int end = 0; end < 2; end++) {
        if (bone[end] == FA_MUSCLE_SOFT) continue;
        m->gap[end] = INFINITY;
        for (int j = 0; j < m->solid.n[1]; j++) {
            double at[3], on[3];
            end_centre(&m->solid, end ? m->solid.n[0] - 1 : 0, j, at);
            m->gap[end] = fmin(m->gap[end], bone_near(w, bone[end], at, on));
        }
        m->held[end] = m->gap[end] <= ON_BONE * w->unit;
    }
}

// The start of its scratch holds the lattice that it begins with.
static void settle_one(const Work *w, int m, double longer) {
    FaMuscle *muscle = &w->out->muscle[m];
    size_t n = 3 * (size_t)fai_bspline_points(&muscle->solid);
    memcpy(muscle->solid.c, w->scratch[m], n * sizeof(double));
    measure_ends(w, muscle);
    fai_muscle_settle(w->inside, w->unit, muscle->held, longer, &muscle->solid, w->scratch[m] + n, &muscle->settled);
}

static void settle_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    for (int m = begin; m < end; m++) settle_one(ctx, m, LONGER);
}

// Flesh is not the same left and right, tet by tet: a muscle whose edges went in shorter on one side and longer on the
// other is settled again, both of it, at nearly the length that it had.
static void settle_pairs(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Work *w = ctx;
    for (int m = begin; m < FA_MIN(end, w->out->n - 1); m++) {
        const FaMuscle *left = &w->out->muscle[m], *right = left + 1;
        if (left->id.side <= 0 || right->id.entry != left->id.entry) continue;
        double a = fai_bspline_length(&left->solid), b = fai_bspline_length(&right->solid);
        if (fabs(a - b) <= UNLIKE * fmin(a, b)) continue;
        settle_one(w, m, EVEN);
        settle_one(w, m + 1, EVEN);
    }
}

static FaCode settle_all(Work *w, FaArena *arena, FaError *err) {
    w->scratch = FA_PUSH(arena, w->out->n, double *);
    if (!w->scratch) return FA_FAIL_MEMORY(err);
    for (int m = 0; m < w->out->n; m++) {
        const FaBspline *s = &w->out->muscle[m].solid;
        size_t n = 3 * (size_t)fai_bspline_points(s);
        if (!(w->scratch[m] = FA_PUSH(arena, n + fai_muscle_settle_work(s), double))) return FA_FAIL_MEMORY(err);
        memcpy(w->scratch[m], s->c, n * sizeof(double));
    }
    FA_TRY(fai_flesh_inside_new(w->ground->flesh, &w->inside, err));
    fai_parallel(w->out->n, 1, settle_chunk, w);
    fai_parallel(w->out->n, 1, settle_pairs, w);
    return FA_OK;
}

static FaCode place_all(Work *w, FaArena *arena, FaError *err) {
    const FaMuscleGround *g = w->ground;
    FaMuscles *out = w->out;
    FA_TRY(fai_rbf_new(g->npair, g->from, g->to, &(FaRbfOptions){.lambda = g->noise}, &w->warp, err));
    double a[3], b[3], d[3];
    warp_mm(w, 30, 0, 60, a), warp_mm(w, -30, 0, 60, b);
    fai_v3_sub(a, b, d);
    w->unit = out->unit = fai_v3_norm(d) / 60;
    warp_mm(w, 0, 0, 10, w->axis), warp_mm(w, 0, 60, 10, a);
    fai_v3_sub(a, w->axis, w->up);
    if (!(w->unit > 1e-9) || !fai_v3_normalize(w->up))
        return FA_FAIL(err, FA_E_ARG, NULL, "give landmarks that are apart", "the landmarks are at one place");
    FA_TRY(find_outer(w, arena, err));
    out->n = fai_muscle_count();
    out->muscle = FA_PUSH(out->arena, out->n, FaMuscle);
    w->middle = FA_PUSH(arena, 3 * (size_t)out->n, double);
    if (!out->muscle || !w->middle) return FA_FAIL_MEMORY(err);
    for (int m = 0; m < out->n; m++) {
        FaMuscle *muscle = &out->muscle[m];
        muscle->id = fai_muscle_id(m);
        bool ring = fai_muscle_entry(muscle->id.entry)->form == FA_MUSCLE_RING;
        muscle->solid = (FaBspline){{ring ? AROUND : ALONG, ACROSS, DEEP}, ring, NULL};
        muscle->solid.c = FA_PUSH(out->arena, 3 * (size_t)fai_bspline_points(&muscle->solid), double);
        if (!muscle->solid.c) return FA_FAIL_MEMORY(err);
    }
    fai_parallel(out->n, 1, place_chunk, w);
    for (int m = 0; m < out->n; m++) FA_TRY(fit_one(w, &out->muscle[m], err));
    if (g->flesh) FA_TRY(settle_all(w, arena, err));
    for (int m = 0; m < out->n; m++) {
        FaMuscle *muscle = &out->muscle[m];
        measure_ends(w, muscle);
        muscle->length = fai_bspline_length(&muscle->solid);
        muscle->volume = fai_bspline_volume(&muscle->solid, NULL);
        muscle->folded = fai_muscle_folded(&muscle->solid);
    }
    return FA_OK;
}

FaCode fai_muscles_place(const FaMuscleGround *ground, FaMuscles *out, FaError *err) {
    *out = (FaMuscles){0};
    if (ground->npair < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "give landmarks, or use a rig with ARKit shapes",
                       "muscles cannot be placed: nothing tells where eyes and mouth are");
    out->arena = fai_arena_new(0);
    FaArena *arena = fai_arena_new(0);
    Work w = {.ground = ground, .out = out};
    FaCode rc = out->arena && arena ? place_all(&w, arena, err) : FA_FAIL_MEMORY(err);
    fai_rbf_free(w.warp);
    fai_closest_free(w.all);
    fai_closest_free(w.outer);
    fai_flesh_inside_free(w.inside);
    fai_arena_free(arena);
    if (rc < 0) fai_muscles_free(out);
    return rc;
}

void fai_muscles_free(FaMuscles *muscles) {
    fai_arena_free(muscles->arena);
    *muscles = (FaMuscles){0};
}

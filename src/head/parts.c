// Every part is made of tubes: rings of points from one pole to the other, capped by fans.
#include "head/parts.h"

#include "base/task.h"

#include <math.h>
#include <stdlib.h>

typedef struct Vec {
    double x, y, z;
} Vec;
static Vec vec(double x, double y, double z) { return (Vec){x, y, z}; }
static Vec along(Vec a, Vec d, double s) { return (Vec){a.x + s * d.x, a.y + s * d.y, a.z + s * d.z}; }
static Vec cross(Vec a, Vec b) { return (Vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
static Vec unit(Vec a) {
    double l = sqrt(a.x * a.x + a.y * a.y + a.z * a.z);
    return l > 0 ? (Vec){a.x / l, a.y / l, a.z / l} : a;
}

static FaCode part_room(FaArena *arena, FaiPart *p, int verts, int faces, int corners, FaError *err) {
    p->x = FA_PUSH(arena, 3 * verts, double);
    p->face_start = FA_PUSH(arena, faces + 1, int);
    p->face_region = FA_PUSH(arena, faces, int);
    p->face_vert = FA_PUSH(arena, corners, int);
    p->room_vert = verts, p->room_face = faces, p->room_corner = corners;
    return p->x && p->face_start && p->face_region && p->face_vert ? FA_OK : FA_FAIL_MEMORY(err);
}

static int put(FaiPart *p, Vec a) {
    FA_ASSERT(p->nvert < p->room_vert);
    p->x[3 * p->nvert] = a.x, p->x[3 * p->nvert + 1] = a.y, p->x[3 * p->nvert + 2] = a.z;
    return p->nvert++;
}

static void face_of(FaiPart *p, int n, const int *v, int region) {
    FA_ASSERT(p->nface < p->room_face && p->ncorner + n <= p->room_corner);
    for (int k = 0; k < n; k++) p->face_vert[p->ncorner++] = v[k];
    p->face_region[p->nface] = region;
    p->face_start[++p->nface] = p->ncorner;
}

// Tubes: `begin` is the pole before the first ring, `first` the first vertex of `rings` rings of n points each (running
// counter-clockwise seen from the end pole), `end` the pole behind them. region (nullable): one per band, rings + 1.
static void tube(FaiPart *p, int begin, int first, int rings, int n, int end, const int *region) {
    for (int i = 0; i < n; i++) {
        int j = (i + 1) % n, last = first + (rings - 1) * n;
        face_of(p, 3, (int[]){begin, first + j, first + i}, region ? region[0] : 0);
        for (int r = 0; r + 1 < rings; r++) {
            int a = first + r * n;
            face_of(p, 4, (int[]){a + i, a + j, a + n + j, a + n + i}, region ? region[r + 1] : 0);
        }
        face_of(p, 3, (int[]){last + i, last + j, end}, region ? region[rings] : 0);
    }
}

// A closed tube over a list of sections: centre, two half-axes, and how square the section is (2: ellipse).
typedef struct Section {
    Vec c, a, b;
    double power, taper;
} Section; // taper: how much narrower (in a) the side -b is

static void ring(FaiPart *p, const Section *s, int n) {
    for (int i = 0; i < n; i++) {
        double t = 2 * M_PI * i / n, ct = cos(t), st = sin(t);
        double ca = copysign(pow(fabs(ct), 2 / s->power), ct), sb = copysign(pow(fabs(st), 2 / s->power), st);
        ca *= 1 - s->taper * 0.5 * (1 - sb);
        put(p, along(along(s->c, s->a, ca), s->b, sb));
    }
}

static void loft(FaiPart *p, Vec begin, const Section *s, int count, Vec end, int n) {
    int b = put(p, begin), first = p->nvert;
    for (int i = 0; i < count; i++) ring(p, s + i, n);
    tube(p, b, first, count, n, put(p, end), NULL);
}

// --- eyes -----------------------------------------------------------------------------------------------------------

static FaCode build_eye(FaArena *arena, int level, int side, FaiPart *p, FaError *err) {
    static const double ring_deg[] = {5, 10.4, 16, 22.5, 28.5, 31, 37, 46, 57, 70, 84, 98, 112, 126, 140, 154, 167};
    enum { RINGS = FA_COUNT(ring_deg) };
    int n = 16 << (level > 1 ? 1 : level), region[RINGS + 1];
    p->name = side > 0 ? "eye_left" : "eye_right";
    p->follow = side > 0 ? FOLLOW_EYE_L : FOLLOW_EYE_R;
    p->region[0] = "pupil", p->region[1] = "iris", p->region[2] = "sclera", p->nregion = 3;
    FA_TRY(part_room(arena, p, RINGS * n + 2, (RINGS + 1) * n, 4 * (RINGS + 1) * n, err));
    Vec c = vec(side * EYE_X, EYE_Y, EYE_Z);
    // from the back pole forward, so that bands run towards +z
    int b = put(p, along(c, vec(0, 0, 1), -fai_eye_radius(-1))), first = p->nvert;
    for (int r = RINGS - 1; r >= 0; r--) {
        double g = ring_deg[r] * M_PI / 180, rad = fai_eye_radius(cos(g));
        Section s = {along(c, vec(0, 0, 1), rad * cos(g)), vec(rad * sin(g), 0, 0), vec(0, rad * sin(g), 0), 2, 0};
        ring(p, &s, n);
    }
    for (int band = 0; band <= RINGS; band++) {
        int inner = RINGS - band; // rings left before the front pole
        region[band] = inner <= 1 ? 0 : inner <= 4 ? 1 : 2;
    }
    region[RINGS] = region[RINGS - 1] = 0;
    tube(p, b, first, RINGS, n, put(p, along(c, vec(0, 0, 1), fai_eye_radius(1))), region);
    return FA_OK;
}

// --- teeth ----------------------------------------------------------------------------------------------------------

// The arch of the biting edges seen from above, left half: x, z by length from the middle.
static const double arch_knots[][2] = {{0, 84.6},  {4, 84.0}, {8.6, 82.4},  {13, 79.4}, {17, 74.8},
                                       {19.4, 68}, {21, 61},  {22.5, 52.5}, {24.6, 44}, {26.4, 36}};

static Vec arch_at(double s, double inward, Vec *tangent) {
    inward += 0.7;
    double sign = s < 0 ? -1 : 1, left = fabs(s);
    int k = 0, last = FA_COUNT(arch_knots) - 2;
    double dx = 0, dz = 0, len = 0;
    for (;; k++) {
        dx = arch_knots[k + 1][0] - arch_knots[k][0], dz = arch_knots[k + 1][1] - arch_knots[k][1];
        len = sqrt(dx * dx + dz * dz);
        if (left <= len || k == last) break;
        left -= len;
    }
    Vec t = vec(dx / len, 0, dz / len), p = vec(arch_knots[k][0] + left * t.x, 0, arch_knots[k][1] + left * t.z);
    // tangents turn at the knots: smooth them over the neighbouring pieces
    double f = left / len;
    int j = f < 0.5 ? FA_MAX(k - 1, 0) : FA_MIN(k + 1, last);
    double ex = arch_knots[j + 1][0] - arch_knots[j][0], ez = arch_knots[j + 1][1] - arch_knots[j][1],
           el = sqrt(ex * ex + ez * ez);
    double w = fabs(f - 0.5);
    if (k == 0 && f < 0.5) ex = len, ez = 0, el = len; // across the middle the arch is level
    t = unit(vec((1 - w) * t.x + w * ex / el, 0, (1 - w) * t.z + w * ez / el));
    Vec out = vec(-t.z, 0, t.x);
    if (out.z < 0 && out.x < 0) out = vec(t.z, 0, -t.x);
    p = along(p, out, -inward);
    p.x *= sign, t.x *= sign;
    if (sign < 0) t = vec(-t.x, 0, -t.z);
    *tangent = t;
    return p;
}

// Height of the plane in which the rows meet; it rises backwards.
static double bite_y(double z) { return -42.55 + 0.096 * (83 - z); }

typedef struct Tooth {
    double width, height, depth, edge;
} Tooth; // mm; edge: thickness at the biting end / depth

static void build_tooth(FaiPart *p, const Tooth *t, double s, double inward, int upper, int level) {
    Vec tan, c = arch_at(s, inward, &tan), out = unit(cross(tan, vec(0, 1, 0)));
    if (out.z * c.z + out.x * c.x < 0) out = vec(-out.x, 0, -out.z);
    double dir = upper ? 1 : -1, clear = upper ? 0.12 : -0.12,
           lap = t->edge < 0.6 && upper ? -0.35
                 : t->edge < 0.6        ? 0.1
                                        : 0;
    double y0 = bite_y(c.z) + clear + lap;
    // profile from the biting edge to the root: shares of height, width and depth
    static const double prof[6][3] = {{0.03, 0.84, 0},    {0.14, 0.96, 0.16}, {0.38, 1, 0.5},
                                      {0.66, 0.92, 0.86}, {0.95, 0.74, 1},    {1.18, 0.6, 0.85}};
    Section sec[6];
    for (int i = 0; i < 6; i++) {
        double half = 0.5 * t->depth * (t->edge + (1 - t->edge) * prof[i][2]) * (i == 5 ? 0.85 : 1),
               w = 0.452 * t->width * prof[i][1];
        // the outer face stays in line while the inner one thickens
        double shift = t->edge < 0.6 ? -(half - 0.5 * t->depth * t->edge) + 0.05 * t->depth * prof[i][2] : 0;
        Vec m = along(vec(c.x, y0 + dir * t->height * prof[i][0], c.z), out, shift - 0.5);
        sec[i] = (Section){m, vec(tan.x * w, 0, tan.z * w), vec(out.x * half, 0, out.z * half), 2.6, 0.3};
    }
    Vec tip = sec[0].c, root = sec[5].c;
    tip.y = y0 - (t->edge > 0.6 ? -dir * 0.35 : 0), root.y += dir * 0.8;
    // rings must run counter-clockwise seen from the root
    Vec turn = cross(sec[0].a, sec[0].b);
    if (turn.y * dir < 0)
        for (int i = 0; i < 6; i++) sec[i].a = vec(-sec[i].a.x, 0, -sec[i].a.z);
    loft(p, tip, sec, 6, root, level == 0 ? 8 : 12);
}

static FaCode build_teeth(FaArena *arena, int level, int upper, FaiPart *p, FaError *err) {
    static const Tooth row[2][7] = {
        {{5.3, 8.6, 6, 0.3},
         {5.8, 9, 6.3, 0.3},
         {6.8, 10, 7.2, 0.4},
         {7, 8.2, 7.6, 0.8},
         {7.1, 7.8, 8, 0.85},
         {10.8, 7, 10, 0.9},
         {10.2, 6.6, 9.8, 0.9}},
        {{8.5, 10.2, 7, 0.3},
         {6.6, 9, 6.4, 0.3},
         {7.5, 10, 8, 0.4},
         {7, 8, 8.6, 0.8},
         {6.8, 7.6, 9, 0.85},
         {10.2, 7, 10.6, 0.9},
         {9.6, 6.6, 10.4, 0.9}},
    };
    int n = level == 0 ? 8 : 12;
    p->name = upper ? "teeth_upper" : "teeth_lower";
    p->follow = upper ? FOLLOW_SKULL : FOLLOW_JAW;
    p->region[0] = "teeth", p->nregion = 1;
    FA_TRY(part_room(arena, p, 14 * (6 * n + 2), 14 * 7 * n, 14 * 28 * n, err));
    for (int side = 1; side >= -1; side -= 2) {
        double s = 0;
        for (int i = 0; i < 7; i++) {
            const Tooth *t = &row[upper][i];
            // the lower arch lies inside the upper one in front and under it behind
            double inward = upper ? 0 : i < 3 ? 2.6 : i == 3 ? 1.6 : 0.8;
            // inside a curve there is less room: places are counted along the outer arch
            double place = t->width * (upper ? 1 : i < 3 ? 1.16 : 1.04);
            build_tooth(p, t, side * (s + 0.5 * place), inward, upper, level);
            s += place;
        }
    }
    return FA_OK;
}

static FaCode build_gum(FaArena *arena, int level, int upper, FaiPart *p, FaError *err) {
    enum { COUNT = 41 };
    int n = level == 0 ? 8 : 12;
    p->name = upper ? "gum_upper" : "gum_lower";
    p->follow = upper ? FOLLOW_SKULL : FOLLOW_JAW;
    p->region[0] = "gum", p->nregion = 1;
    FA_TRY(part_room(arena, p, COUNT * n + 2, (COUNT + 1) * n, 4 * (COUNT + 1) * n, err));
    Section sec[COUNT];
    double reach = upper ? 55.5 : 52.5, dir = upper ? 1 : -1;
    for (int i = 0; i < COUNT; i++) {
        double s = reach * (1 - 2.0 * i / (COUNT - 1)), front = fai_smooth(26, 10, fabs(s));
        Vec tan, c = arch_at(s, upper ? 2.3 + 1.2 * front : 2.5 + 2.5 * front, &tan),
                 out = unit(cross(tan, vec(0, 1, 0)));
        if (out.z * c.z + out.x * c.x < 0) out = vec(-out.x, 0, -out.z);
        double h = upper ? 9.0 + 1.2 * front : 8.6 + 1.2 * front, half = 4.8 - 1.4 * front;
        c.y = bite_y(c.z) + dir * h;
        sec[i] = (Section){c, vec(out.x * half, 0, out.z * half), vec(0, 3.0, 0), 2.4, 0};
    }
    Vec first = sec[0].c, last = sec[COUNT - 1].c;
    first.z -= 2, last.z -= 2;
    loft(p, first, sec, COUNT, last, n);
    return FA_OK;
}

static FaCode build_tongue(FaArena *arena, int level, FaiPart *p, FaError *err) {
    // z, y of the middle, half width, half height from root to tip
    static const double body[][4] = {{22, -50.5, 12, 5.4},   {28, -50, 16, 7.2},     {36, -49, 17, 7.4},
                                     {44, -48.4, 16.6, 7},   {52, -48.2, 16, 6.2},   {59, -48.4, 15, 5.2},
                                     {65, -48.8, 13.4, 4.2}, {70, -49.2, 11.2, 3.2}, {73.6, -49.6, 8.4, 2.4},
                                     {75.6, -49.9, 5, 1.6}};
    enum { COUNT = FA_COUNT(body) };
    int n = 12 << (level > 0);
    p->name = "tongue", p->follow = FOLLOW_TONGUE;
    p->region[0] = "tongue", p->nregion = 1;
    FA_TRY(part_room(arena, p, COUNT * n + 2, (COUNT + 1) * n, 4 * (COUNT + 1) * n, err));
    Section sec[COUNT];
    for (int i = 0; i < COUNT; i++)
        sec[i] = (Section){vec(0, body[i][1], body[i][0]), vec(body[i][2], 0, 0), vec(0, body[i][3], 0), 2.3, 0};
    loft(p, vec(0, -51, 19), sec, COUNT, vec(0, -50, 76.3), n);
    // a shallow groove along the back
    for (int v = 0; v < p->nvert; v++) {
        double *x = p->x + 3 * v, top = fai_smooth(-49.5, -46, x[1]);
        x[1] -= top * 0.9 * exp(-x[0] * x[0] / 9) * fai_smooth(20, 30, x[2]) * fai_smooth(76, 68, x[2]);
    }
    return FA_OK;
}

// --- bones ----------------------------------------------------------------------------------------------------------

// How far out the skin lies from the middle of the skull in each direction of a grid: the farthest outer skin triangle
// hit.
static const Vec skull_middle = {0, 42, -8};

static double ray_skin(const FaiSkin *skin, Vec d) {
    const FaiQuads *m = &skin->mesh;
    double far = 0;
    for (int f = 0; f < m->nface; f++) {
        const int *q = m->face_vert + (size_t)f * 4;
        const double *v0 = m->val + (size_t)q[0] * m->nchan;
        // the ear stands off the head: its faces would carry the bone along
        if (v0[CAGE_EAR] > 0.02) continue;
        // no face is wider than 40 mm: most lie off the ray
        double px = v0[0] - skull_middle.x, py = v0[1] - skull_middle.y, pz = v0[2] - skull_middle.z,
               on = px * d.x + py * d.y + pz * d.z;
        if (on < -40 || px * px + py * py + pz * pz - on * on > 40 * 40) continue;
        for (int k = 0; k < 2; k++) {
            const double *a = v0, *b = m->val + (size_t)q[1 + k] * m->nchan, *c = m->val + (size_t)q[2 + k] * m->nchan;
            Vec e1 = vec(b[0] - a[0], b[1] - a[1], b[2] - a[2]), e2 = vec(c[0] - a[0], c[1] - a[1], c[2] - a[2]);
            Vec pv = cross(d, e2), tv = vec(skull_middle.x - a[0], skull_middle.y - a[1], skull_middle.z - a[2]);
            double det = e1.x * pv.x + e1.y * pv.y + e1.z * pv.z;
            if (fabs(det) < 1e-12) continue;
            double u = (tv.x * pv.x + tv.y * pv.y + tv.z * pv.z) / det;
            if (u < -1e-9 || u > 1 + 1e-9) continue;
            Vec qv = cross(tv, e1);
            double w = (d.x * qv.x + d.y * qv.y + d.z * qv.z) / det,
                   t = (e2.x * qv.x + e2.y * qv.y + e2.z * qv.z) / det;
            if (w < -1e-9 || u + w > 1 + 1e-9) continue;
            far = fmax(far, t);
        }
    }
    return far;
}

// Tissue between skin and bone along those rays, mm, by place on the skin; after Stephan and Simpson, 2008 (means of
// adults), with the aperture of the nose, the temple and the hollow under the cheekbone added.
// clang-format off
static const double tissue[][4] = {
    {0, 44, -109, 6.5}, {0, 137, -22, 5}, {0, 100, 66, 5}, {0, 70, 80, 5}, {0, 47, 85.5, 5.5},
    {0, 34, 84.5, 6.5}, {0, 22, 90.5, 6}, {0, 13, 97, 4.9}, {0, 9, 100, 5.2}, {0, 3, 105, 20}, {0, -7, 109, 34}, {0, -22, 93.5, 15},
    {6, 18, 90, 6}, {13, -10, 96, 26}, {19, -12, 82, 9.5}, {12, 12, 83, 7}, {30, 52, 80, 5}, {55, 47, 60, 6},
    {33, 9, 72.5, 6}, {50, 4, 65, 7}, {73, 7, 17.5, 4.5}, {71, 8, 30, 5}, {62, 8, 53, 6}, {66, 38, 40, 12},
    {72, 40, 14, 13}, {79, 52, -23, 7.5}, {70, 80, -10, 6}, {55, -22, 60, 26}, {65, -25, 30, 26},
    {17, -27, 86, 10.5}, {30, -22, 78, 13}, {70, 0, -48, 13}, {40, 15, -92, 8}, {0, -5, -95, 14}, {45, -25, -62, 16},
    {60, -30, -30, 20}, {66, -5, -40, 14},
};
// clang-format on

static double tissue_at(Vec p) {
    double sum = 0, all = 0;
    for (int i = 0; i < FA_COUNT(tissue); i++) {
        double dx = fabs(p.x) - tissue[i][0], dy = p.y - tissue[i][1], dz = p.z - tissue[i][2];
        double d2 = dx * dx + dy * dy + dz * dz + 9, w = 1 / (d2 * d2);
        sum += w * tissue[i][3], all += w;
    }
    return sum / all;
}

// The skull ends in front at the palate, which lies on the roof of the mouth, and at the ridge that bears the upper
// teeth; above the joints in the middle, at the base behind.
static double skull_floor(double x, double z) {
    double front = fai_smooth(14, 34, z), back = fai_smooth(-14, -40, z), ridge = fai_smooth(61, 75, z + 0.3 * fabs(x));
    double side = fai_smooth(30, 40, fabs(x)), palate = -18.9 - 0.08 * fabs(x) - (3 + 0.12 * fabs(x)) * ridge;
    return (1 - front) * (1 - back) * (2 + 7 * side) + front * (palate + side * (-15 - palate)) + back * -14;
}

// Where a ray enters the ball about the eye on its side; far away if it misses.
static double orbit_wall(Vec d, double ball) {
    Vec e = vec((d.x < 0 ? -EYE_X : EYE_X) - skull_middle.x, EYE_Y - skull_middle.y, EYE_Z - skull_middle.z);
    double ed = e.x * d.x + e.y * d.y + e.z * d.z, miss2 = e.x * e.x + e.y * e.y + e.z * e.z - ed * ed;
    return ed > 0 && miss2 < ball * ball ? ed - sqrt(ball * ball - miss2) : 1e9;
}

static double skull_radius(const FaiSkin *skin, Vec d) {
    double r = ray_skin(skin, d);
    if (r < 50) r = fabs(d.x) > 0.35 ? 73.5 / fabs(d.x) : 160; // through the root of the ear, or down the neck
    r -= tissue_at(along(skull_middle, d, r));
    // orbits: stop before a ball about the eye; the rim is rounded
    double side = d.x < 0 ? -1 : 1, ball = 17.8;
    Vec e = vec(side * EYE_X - skull_middle.x, EYE_Y - skull_middle.y, EYE_Z - skull_middle.z);
    double ed = e.x * d.x + e.y * d.y + e.z * d.z, miss = sqrt(fmax(0, e.x * e.x + e.y * e.y + e.z * e.z - ed * ed));
    if (ed > 0 && miss < 18.5) {
        double m = fmin(miss, 14), in = ed - sqrt(ball * ball - m * m);
        r += (fmin(r, in) - r) * fai_smooth(18.5, 14, miss);
    }
    if (d.y < -0.02) {
        double t = 20; // the floor has steps: walk until the ray is below it
        while (t < r && skull_middle.y + t * d.y > skull_floor(t * d.x, skull_middle.z + t * d.z)) t += 0.25;
        r = fmin(r, t);
    }
    return r;
}

typedef struct SkullJob {
    const FaiSkin *skin;
    double *r;
    int rings, n;
} SkullJob;

static Vec skull_dir(int i, int j, int rings, int n) {
    // closer together in front, where bones are finer
    double v = (i + 1.0) / (rings + 1), u = 2 * M_PI * j / n;
    double th = M_PI * v + 0.2 * sin(2 * M_PI * v), ph = u - 0.5 * sin(u);
    return vec(sin(th) * sin(ph), cos(th), sin(th) * cos(ph));
}

static void skull_rays(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    SkullJob *job = ctx;
    for (int k = begin; k < end; k++) {
        int i = k / job->n, j = k % job->n;
        if (2 * j <= job->n) job->r[k] = skull_radius(job->skin, skull_dir(i, j, job->rings, job->n));
    }
}

static FaCode build_skull(FaArena *arena, const FaiSkin *skin, FaiPart *p, FaError *err) {
    enum { rings = 55, n = 80, count = rings * n }; // bones are fine at every level: flesh hangs on them
    p->name = "skull", p->follow = FOLLOW_SKULL;
    p->region[0] = "bone", p->nregion = 1;
    FA_TRY(part_room(arena, p, count + 2, (rings + 1) * n, 4 * (rings + 1) * n, err));
    double *r = FA_PUSH(arena, count, double), *s = FA_PUSH(arena, count, double), *raw = FA_PUSH(arena, count, double);
    if (!r || !s || !raw) return FA_FAIL_MEMORY(err);
    fai_parallel(count, 64, skull_rays, &(SkullJob){skin, r, rings, n});
    for (int i = 0; i < rings; i++)
        for (int j = 1; j < n / 2; j++) r[i * n + n - j] = r[i * n + j];
    memcpy(raw, r, count * sizeof *r);
    // the grid is coarser than the edges of the holes: three rounds of smoothing
    for (int it = 0; it < 3; it++) {
        for (int i = 0; i < rings; i++) {
            for (int j = 0; j < n; j++) {
                double up = r[FA_MAX(i - 1, 0) * n + j], down = r[FA_MIN(i + 1, rings - 1) * n + j];
                double left = r[i * n + (j + n - 1) % n], right = r[i * n + (j + 1) % n];
                s[i * n + j] = 0.5 * r[i * n + j] + 0.125 * (up + down + left + right);
            }
        }
        double *t = r;
        r = s, s = t;
    }
    // smoothing must not fill the orbits, nor wear the nasal bones away
    for (int k = 0; k < count; k++) {
        Vec d = skull_dir(k / n, k % n, rings, n), at = along(skull_middle, d, raw[k]);
        double nasal =
            fai_smooth(6, 2.5, fabs(at.x)) * fai_smooth(7, 9.5, at.y) * fai_smooth(34, 28, at.y) * (at.z > 60);
        r[k] += nasal * (raw[k] - r[k]);
        r[k] = fmin(r[k], orbit_wall(d, 17.2));
    }
    // mirror exactly
    for (int i = 0; i < rings; i++)
        for (int j = 1; j < n / 2; j++) r[i * n + n - j] = r[i * n + j];
    double top = 0, base = 0;
    for (int j = 0; j < n; j++) top += r[j] / n, base += r[(rings - 1) * n + j] / n;
    int b = put(p, along(skull_middle, vec(0, -1, 0), base)), first = p->nvert;
    for (int i = rings - 1; i >= 0; i--)
        for (int j = 0; j < n; j++) {
            Vec d = skull_dir(i, j, rings, n);
            if (j == 0 || 2 * j == n) d.x = 0;
            if (2 * j > n) d = skull_dir(i, n - j, rings, n), d.x = -d.x;
            put(p, along(skull_middle, d, r[i * n + j]));
        }
    tube(p, b, first, rings, n, put(p, along(skull_middle, vec(0, 1, 0), top)), NULL);
    return FA_OK;
}

// The mandible is one tube from condyle to condyle: path, half-axes of its sections, left half from the middle outward.
// tall: the section's long half-axis, turned from the vertical by tilt (degrees); wide: across the bone.
// clang-format off
static const struct { double x, y, z, tall, tilt, wide; } jaw_path[] = {
    {0, -71.8, 71.5, 10, 2, 5.6}, {9, -71.5, 69.4, 9.8, 2, 5.4}, {17.4, -70.2, 64, 9.4, 4, 5.0},
    {25, -68.2, 55, 8.3, 4, 4.8}, {32, -65.8, 45, 7.9, 0, 4.6}, {39, -61, 34, 8.4, -8, 4.6},
    {44.6, -52, 23.4, 11, -24, 4.2}, {47.4, -42, 15, 13, -50, 4}, {47, -31, 12, 13.5, -72, 3.6},
    {47.2, -20, 9, 12, -82, 3.6}, {47.6, -11, 5, 8, -88, 3.8}, {47.9, -5.5, 2, 5, -90, 5},
    {48, -1.5, 0.4, 4, -90, 7.2}, {48, 2.2, 0, 2.6, -90, 6},
};
// clang-format on

static Section jaw_section(int k, double side) {
    double t = jaw_path[k].tilt * M_PI / 180;
    Vec long_dir = vec(0, cos(t), -sin(t)), c = vec(side * jaw_path[k].x, jaw_path[k].y, jaw_path[k].z);
    int a = FA_MAX(k - 1, 0), b = FA_MIN(k + 1, FA_COUNT(jaw_path) - 1);
    Vec path =
        unit(vec(side * (jaw_path[b].x - jaw_path[a].x), jaw_path[b].y - jaw_path[a].y, jaw_path[b].z - jaw_path[a].z));
    if (k == 0) path = vec(side, 0, 0);
    Vec across = unit(cross(long_dir, path));
    if (side < 0) across = vec(-across.x, -across.y, -across.z);
    double tall = jaw_path[k].tall, wide = jaw_path[k].wide;
    return (Section){c, vec(long_dir.x * tall, long_dir.y * tall, long_dir.z * tall),
                     vec(across.x * wide, across.y * wide, across.z * wide), 2.4, 0};
}

static FaCode build_mandible(FaArena *arena, FaiPart *p, FaError *err) {
    enum { KNOTS = FA_COUNT(jaw_path), STEP = 3, HALF = (KNOTS - 1) * STEP, COUNT = 2 * HALF + 1 };
    const int n = 16;
    p->name = "mandible", p->follow = FOLLOW_JAW;
    p->region[0] = "bone", p->nregion = 1;
    FA_TRY(part_room(arena, p, COUNT * n + 2, (COUNT + 1) * n, 4 * (COUNT + 1) * n, err));
    Section sec[COUNT];
    for (int i = 0; i < COUNT; i++) {
        // Catmull-Rom between the knots; from the left condyle to the right one
        double side = i <= HALF ? 1 : -1, at = fabs((double)(HALF - i)) / STEP;
        int k = FA_MIN((int)at, KNOTS - 2);
        double t = at - k, w[4] = {-0.5 * t + t * t - 0.5 * t * t * t, 1 - 2.5 * t * t + 1.5 * t * t * t,
                                   0.5 * t + 2 * t * t - 1.5 * t * t * t, -0.5 * t * t + 0.5 * t * t * t};
        Section s = {.power = 2.4};
        for (int j = 0; j < 4; j++) {
            int q = k - 1 + j;
            Section o = jaw_section(FA_MIN(abs(q), KNOTS - 1), q < 0 ? -side : side);
            s.c = along(s.c, o.c, w[j]), s.a = along(s.a, o.a, w[j]), s.b = along(s.b, o.b, w[j]);
        }
        sec[i] = s;
    }
    Vec first = sec[0].c, last = sec[COUNT - 1].c;
    first.y += 1.2, last.y += 1.2;
    loft(p, first, sec, COUNT, last, n);
    return FA_OK;
}

// Faces must look outward: a tube whose volume came out negative is turned inside out.
static void face_outward(FaiPart *p) {
    double volume = 0;
    for (int f = 0; f < p->nface; f++) {
        int s = p->face_start[f], e = p->face_start[f + 1];
        const double *a = p->x + 3 * p->face_vert[s];
        for (int k = s + 1; k + 1 < e; k++) {
            const double *b = p->x + 3 * p->face_vert[k], *c = p->x + 3 * p->face_vert[k + 1];
            volume += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                      a[2] * (b[0] * c[1] - b[1] * c[0]);
        }
    }
    if (volume >= 0) return;
    for (int f = 0; f < p->nface; f++) {
        for (int i = p->face_start[f], j = p->face_start[f + 1] - 1; i < j; i++, j--) {
            int t = p->face_vert[i];
            p->face_vert[i] = p->face_vert[j], p->face_vert[j] = t;
        }
    }
}

FaCode fai_parts_build(FaArena *arena, const FaiSkin *skin, int level, FaiPart part[FAI_PARTS], FaError *err) {
    memset(part, 0, FAI_PARTS * sizeof *part);
    FA_TRY(build_eye(arena, level, 1, &part[0], err));
    FA_TRY(build_eye(arena, level, -1, &part[1], err));
    FA_TRY(build_teeth(arena, level, 1, &part[2], err));
    FA_TRY(build_teeth(arena, level, 0, &part[3], err));
    FA_TRY(build_gum(arena, level, 1, &part[4], err));
    FA_TRY(build_gum(arena, level, 0, &part[5], err));
    FA_TRY(build_tongue(arena, level, &part[6], err));
    FA_TRY(build_skull(arena, skin, &part[7], err));
    FA_TRY(build_mandible(arena, &part[8], err));
    for (int i = 0; i < FAI_PARTS; i++) face_outward(&part[i]);
    return FA_OK;
}

// The mouth. Its slit is where the two lips face each other: skin of the upper side (stays when the jaw opens) within
// reach of skin of the lower side (goes with it), or an open edge of the mesh that has both. Of the surfaces that face
// each other only the front counts: what light reaches from outside, and a little behind.
//
//      exposed  ___                 lips grow from the facing nodes: outwards by the height of the
//          ____/   \  upper         vermilion, inwards by depth below the last exposed node
//         (  facing )____ inside
//          ----slit------ bag ...
#include "face/region_work.h"
#include "mesh/closest.h"
#include "rig/jaw.h"
#include "rig/jaw_opener.h"

// Reach of things on an average adult, m; all are scaled.
#define AROUND 0.050      // of the mouth's surroundings, from its centre
#define FACING 0.0035     // lips that face each other at rest, first try
#define FACING_MOST 0.016 // and last
#define DEEP 0.007        // how far behind the front two lips are still lips
#define LIP_FULL 0.0075   // vermilion and a bit around
#define LIP_END 0.0125
#define MOUTH_FULL 0.011 // what may touch
#define MOUTH_END 0.017
#define CORNER 0.006 // where upper and lower join: within this, how the skin follows the jaw decides

typedef struct Mouth {
    FaRegionWork *w;
    bool *near;        // around the mouth                                  (n)
    bool *facing;      // faces the other lip                               (n)
    bool *exposed;     // light from the front reaches it                   (n)
    bool *mark;        // scratch                                           (n)
    int *vote;         // partners below minus partners above               (n)
    int *loop;         // piece of the open edge, -1 = none                 (n)
    double *depth;     // below what is exposed, m                          (n)
    double *dist;      // from the slit, m                                  (n)
    double *up, *down; // from the upper and the lower side of it, m       (n)
    FaByKey *order;    // near nodes by x                                   (nnear)
    int nnear;
    double fold; // smallest share of parting that tells the sides
} Mouth;

static const char *const uppers[] = {"mouthUpperUpLeft", "mouthUpperUpRight", "mouthRollUpper", "mouthShrugUpper"};
static const char *const lowers[] = {"mouthLowerDownLeft", "mouthLowerDownRight", "mouthRollLower", "mouthShrugLower"};

static void note(FaRegionWork *w, const char *code, const char *remedy, const char *text) {
    if (w->notes) fai_note(w->notes, code, NULL, remedy, "%s", text);
}

// --- which side ---------------------------------------------------------------------------------------------------

// With the jaw: how much each node follows it. Without: which of the two lips' own shapes move it more.
static FaCode sides(Mouth *m, bool *known) {
    FaRegionWork *w = m->w;
    FaJaw jaw;
    float *with_jaw = FA_PUSH(w->arena, w->rig->mesh.nvert, float);
    if (!with_jaw) return FA_FAIL_MEMORY(w->err);
    FA_TRY(fai_fit_jaw(w->rig, &jaw, with_jaw, NULL, w->err));
    *known = true;
    if (jaw.found) {
        for (int i = 0; i < w->n; i++) w->lower[i] = (double)with_jaw[w->vertex[i]];
        return FA_OK;
    }
    double *up = FA_PUSH(w->arena, w->n, double);
    if (!up) return FA_FAIL_MEMORY(w->err);
    bool has_up = fai_region_motion(w, uppers, FA_COUNT(uppers));
    double most = fai_region_most(w), floor_up = 0.02 * most;
    for (int i = 0; i < w->n; i++) up[i] = most > 0 ? fai_region_length(w->move, i) / most : 0;
    bool has_down = fai_region_motion(w, lowers, FA_COUNT(lowers));
    double most_down = fai_region_most(w);
    if (!has_up || !has_down || !(most > 0) || !(most_down > 0)) {
        *known = false;
        return FA_OK;
    }
    note(w, "lips-by-lip-shapes", "add a shape jawOpen, or paint the lips",
         "no jaw: upper and lower lip are told apart by mouthUpperUp, mouthLowerDown, mouthRoll and mouthShrug");
    for (int i = 0; i < w->n; i++) {
        double d = fai_region_length(w->move, i) / most_down, u = up[i] + floor_up / most;
        w->lower[i] = d / (d + u);
    }
    return FA_OK;
}

// --- where it is --------------------------------------------------------------------------------------------------

// Middle of what the lips' own shapes move; without them, of what jawOpen parts in front.
static bool find_centre(Mouth *m) {
    static const char *const lips[] = {"mouthPucker", "mouthRollUpper", "mouthRollLower", "mouthFunnel"};
    static const char *const more[] = {"mouthUpperUpLeft",    "mouthUpperUpRight", "mouthLowerDownLeft",
                                       "mouthLowerDownRight", "mouthSmileLeft",    "mouthSmileRight"};
    FaRegionWork *w = m->w;
    if (fai_region_motion(w, lips, FA_COUNT(lips)) && fai_region_centre(w, NULL, w->centre)) return true;
    if (fai_region_motion(w, more, FA_COUNT(more)) && fai_region_centre(w, NULL, w->centre)) return true;
    if (fai_jaw_opener(w->rig) < 0) return false;
    // no lip shape at all: around the front of where following changes fastest over a triangle
    double sum = 0, at[3] = {0};
    for (int t = 0; t < w->skin.ntri; t++) {
        const int *c = w->skin.tri + 3 * (size_t)t;
        double lo = fmin(w->lower[c[0]], fmin(w->lower[c[1]], w->lower[c[2]]));
        double hi = fmax(w->lower[c[0]], fmax(w->lower[c[1]], w->lower[c[2]])), g = (hi - lo) * (hi - lo);
        if (w->skin.normal[3 * (size_t)c[0] + 2] < 0.2) continue;
        fai_v3_mad(at, g, w->x + 3 * (size_t)c[0], at);
        sum += g;
    }
    if (!(sum > 0)) return false;
    fai_v3_scale(1 / sum, at, w->centre);
    return true;
}

static void gather_near(Mouth *m) {
    FaRegionWork *w = m->w;
    double reach = AROUND * w->scale;
    for (int i = 0; i < w->n; i++) {
        double d[3];
        fai_v3_sub(w->x + 3 * (size_t)i, w->centre, d);
        m->near[i] = fai_v3_norm(d) < reach;
        if (m->near[i]) m->order[m->nnear++] = (FaByKey){w->x[3 * (size_t)i], i};
    }
    fai_sort_keys(m->order, m->nnear);
}

// --- what faces what ----------------------------------------------------------------------------------------------

// Lips that face each other: one follows the jaw clearly more, normals are opposed, the gap lies on their outer sides.
static bool faces(const Mouth *m, int up, int down, double reach) {
    const FaRegionWork *w = m->w;
    const double *nu = w->skin.normal + 3 * (size_t)up, *nd = w->skin.normal + 3 * (size_t)down;
    if (w->lower[down] - w->lower[up] < m->fold) return false;
    double gap[3];
    fai_v3_sub(w->x + 3 * (size_t)down, w->x + 3 * (size_t)up, gap);
    double size = fai_v3_norm(gap);
    if (size > reach || nu[1] > 0.3 || nd[1] < -0.3) return false;
    if (size < 0.3 * reach) return true; // in touch: normals of a sharp rim say nothing
    return fai_v3_dot(nu, nd) < -0.2 && fai_v3_dot(gap, nu) > 0.3 * size && fai_v3_dot(gap, nd) < -0.3 * size;
}

static int mark_facing(Mouth *m, double reach) {
    const FaRegionWork *w = m->w;
    int count = 0;
    for (int i = 0; i < w->n; i++) m->facing[i] = false, m->vote[i] = 0;
    for (int a = 0; a < m->nnear; a++)
        for (int b = a + 1; b < m->nnear; b++) {
            int i = m->order[a].i, j = m->order[b].i;
            if (m->order[b].key - m->order[a].key > reach) break;
            int up = w->lower[i] < w->lower[j] ? i : j, down = up == i ? j : i;
            if (!faces(m, up, down, reach)) continue;
            m->facing[up] = m->facing[down] = true;
            m->vote[up]++;
            m->vote[down]--;
        }
    for (int i = 0; i < w->n; i++) count += m->facing[i];
    return count;
}

// Pieces of the open edge: nodes joined by triangles of the edge take the smallest number among them.
static void number_loops(Mouth *m) {
    const FaSurface *s = &m->w->skin;
    for (int i = 0; i < s->n; i++) m->loop[i] = s->border[i] ? i : -1;
    for (bool changed = true; changed;) {
        changed = false;
        for (int t = 0; t < 2 * s->ntri; t++) { // there and back: numbers run along an edge in few rounds
            const int *c = s->tri + 3 * (size_t)(t < s->ntri ? t : 2 * s->ntri - 1 - t);
            for (int k = 0; k < 3; k++) {
                int a = c[k], b = c[(k + 1) % 3];
                if (m->loop[a] < 0 || m->loop[b] < 0 || m->loop[a] == m->loop[b]) continue;
                m->loop[a] = m->loop[b] = FA_MIN(m->loop[a], m->loop[b]);
                changed = true;
            }
        }
    }
}

// An open edge around the mouth (a mask without a bag) is the slit itself: a piece that is wholly near, has both sides
// on it, and is not the edge of the neck.
static int mark_rim(Mouth *m) {
    const FaRegionWork *w = m->w;
    int count = 0;
    for (int first = 0; first < w->n; first++) {
        if (m->loop[first] != first || !m->near[first]) continue;
        int up = 0, down = 0, away = 0;
        for (int i = first; i < w->n; i++) {
            if (m->loop[i] != first) continue;
            away += !m->near[i];
            up += w->lower[i] < 0.4;
            down += w->lower[i] > 0.6;
        }
        if (away || up < 2 || down < 2) continue;
        for (int i = first; i < w->n; i++) {
            if (m->loop[i] != first) continue;
            m->facing[i] = true;
            m->vote[i] += w->lower[i] < 0.5 ? 1 : -1;
            count++;
        }
    }
    return count;
}

// Ends of the slit.
static double facing_width(const Mouth *m, double *lo, double *hi) {
    *lo = INFINITY, *hi = -INFINITY;
    for (int i = 0; i < m->w->n; i++)
        if (m->facing[i]) {
            *lo = fmin(*lo, m->w->x[3 * (size_t)i]);
            *hi = fmax(*hi, m->w->x[3 * (size_t)i]);
        }
    return *hi > *lo ? *hi - *lo : 0;
}

// As wide as a mouth, and without a gap: of lips that are open at rest the corners face each other first.
static bool slit_is_whole(const Mouth *m) {
    enum { BINS = 8 };
    bool seen[BINS] = {false};
    double lo, hi, width = facing_width(m, &lo, &hi);
    if (width < 0.030 * m->w->scale) return false;
    for (int i = 0; i < m->w->n; i++)
        if (m->facing[i]) seen[FA_MIN(BINS - 1, (int)(BINS * (m->w->x[3 * (size_t)i] - lo) / width))] = true;
    for (int b = 0; b < BINS; b++)
        if (!seen[b]) return false;
    return true;
}

// --- what is seen from outside ------------------------------------------------------------------------------------

// A fan of directions to the front; a node is exposed if at least an eighth of them leave it unhindered.
static FaCode mark_exposed(Mouth *m) {
    enum { RINGS = 3, AROUND_RING = 8, RAYS = RINGS * AROUND_RING };
    FaRegionWork *w = m->w;
    float dir[RAYS][3];
    for (int r = 0; r < RAYS; r++) {
        double tilt = (12 + 24 * (r / AROUND_RING)) * M_PI / 180,
               turn = (r % AROUND_RING + 0.5) * 2 * M_PI / AROUND_RING;
        dir[r][0] = (float)(sin(tilt) * cos(turn));
        dir[r][1] = (float)(sin(tilt) * sin(turn));
        dir[r][2] = (float)cos(tilt);
    }
    float *x = FA_PUSH(w->arena, 3 * (size_t)w->n, float);
    int *tri = FA_PUSH(w->arena, 3 * (size_t)w->skin.ntri, int);
    if (!x || !tri) return FA_FAIL_MEMORY(w->err);
    for (int i = 0; i < 3 * w->n; i++) x[i] = (float)w->x[i];
    memcpy(tri, w->skin.tri, 3 * (size_t)w->skin.ntri * sizeof *tri);
    FaMesh mesh = {.nvert = w->n, .ntri = w->skin.ntri, .x = x, .tri = tri};
    FaClosest *rays;
    FA_TRY(fai_closest_new(&mesh, NULL, &rays, w->err));
    float lift = (float)(2e-4 * w->scale), far = (float)(0.3 * w->scale);
    for (int a = 0; a < m->nnear; a++) {
        int i = m->order[a].i, clear = 0;
        const double *n = w->skin.normal + 3 * (size_t)i;
        float from[3];
        for (int k = 0; k < 3; k++) from[k] = x[3 * (size_t)i + k] + lift * (float)n[k];
        for (int r = 0; r < RAYS; r++) {
            if ((double)dir[r][0] * n[0] + (double)dir[r][1] * n[1] + (double)dir[r][2] * n[2] < 0.05) continue;
            clear += fai_closest_ray(rays, from, dir[r], 0, far).tri < 0;
        }
        m->exposed[i] = clear >= RAYS / 8;
    }
    fai_closest_free(rays);
    return FA_OK;
}

// --- the lips -----------------------------------------------------------------------------------------------------

// Keep what faces the other lip and is not deep inside.
static FaCode keep_front(Mouth *m) {
    FaRegionWork *w = m->w;
    FA_TRY(fai_geodesic(&w->skin, m->exposed, 2 * AROUND * w->scale, m->depth, w->err));
    for (int i = 0; i < w->n; i++) m->facing[i] = m->facing[i] && (m->depth[i] < DEEP * w->scale || w->skin.border[i]);
    return FA_OK;
}

// Mean of following on the two sides of the slit: what counts as halfway differs from rig to rig.
static void side_means(const Mouth *m, double *up, double *down) {
    double sum[2] = {0}, area[2] = {0};
    for (int i = 0; i < m->w->n; i++) {
        if (!m->facing[i] || !m->vote[i]) continue;
        int k = m->vote[i] < 0;
        sum[k] += m->w->skin.area[i] * m->w->lower[i];
        area[k] += m->w->skin.area[i];
    }
    *up = area[0] > 0 ? sum[0] / area[0] : 0;
    *down = area[1] > 0 ? sum[1] / area[1] : 1;
}

static FaCode fill_lips(Mouth *m) {
    FaRegionWork *w = m->w;
    double s = w->scale, reach = 0.06 * s;
    FA_TRY(fai_geodesic(&w->skin, m->facing, reach, m->dist, w->err));
    // sides: from where they are sure, along the surface; across the slit is a long way round, except at the corners
    double low, high;
    side_means(m, &low, &high);
    for (int i = 0; i < w->n; i++) m->mark[i] = m->facing[i] && m->vote[i] > 0;
    FA_TRY(fai_geodesic(&w->skin, m->mark, reach, m->up, w->err));
    for (int i = 0; i < w->n; i++) m->mark[i] = m->facing[i] && m->vote[i] < 0;
    FA_TRY(fai_geodesic(&w->skin, m->mark, reach, m->down, w->err));
    for (int i = 0; i < w->n; i++) {
        if (!(m->dist[i] < reach)) continue;
        double d = m->exposed[i] ? m->dist[i] : fmax(m->dist[i], m->depth[i]);
        double lip = 1 - fai_ramp(LIP_FULL * s, LIP_END * s, d), mouth = 1 - fai_ramp(MOUTH_FULL * s, MOUTH_END * s, d);
        double u = m->up[i], v = m->down[i];
        double upper = v > u;
        if (fabs(v - u) < CORNER * s && high > low)
            upper = 1 - fai_ramp(0.47, 0.53, (w->lower[i] - low) / (high - low));
        w->region[FA_REGION_LIP_UPPER][i] = (float)(lip * upper);
        w->region[FA_REGION_LIP_LOWER][i] = (float)(lip * (1 - upper));
        w->region[FA_REGION_MOUTH][i] = (float)mouth;
    }
    return FA_OK;
}

static FaCode open_mouth(Mouth *m) {
    FaRegionWork *w = m->w;
    m->near = FA_PUSH(w->arena, w->n, bool);
    m->facing = FA_PUSH(w->arena, w->n, bool);
    m->exposed = FA_PUSH(w->arena, w->n, bool);
    m->mark = FA_PUSH(w->arena, w->n, bool);
    m->vote = FA_PUSH(w->arena, w->n, int);
    m->loop = FA_PUSH(w->arena, w->n, int);
    m->depth = FA_PUSH(w->arena, w->n, double);
    m->dist = FA_PUSH(w->arena, w->n, double);
    m->up = FA_PUSH(w->arena, w->n, double);
    m->down = FA_PUSH(w->arena, w->n, double);
    m->order = FA_PUSH(w->arena, w->n, FaByKey);
    bool ok = m->near && m->facing && m->exposed && m->mark && m->vote && m->loop && m->depth && m->dist && m->up &&
              m->down && m->order;
    return ok ? FA_OK : FA_FAIL_MEMORY(w->err);
}

FaCode fai_find_mouth(FaRegionWork *w) {
    Mouth m = {.w = w, .fold = 0.25};
    bool known;
    FA_TRY(open_mouth(&m));
    FA_TRY(sides(&m, &known));
    if (!known || !find_centre(&m)) {
        note(w, "no-mouth", "add the shape jawOpen (names.json maps other names), or paint the lips",
             "no shape parts the lips: the face is built without them");
        return FA_OK;
    }
    gather_near(&m);
    number_loops(&m);
    // lips closed, nearly, or open at rest: widen the reach until the slit is as wide as a mouth
    int rim = 0;
    double reach = fmax(FACING * w->scale, 1.2 * w->skin.edge);
    for (;; reach *= 1.4) {
        mark_facing(&m, reach);
        rim = mark_rim(&m);
        if (rim || slit_is_whole(&m) || reach > FACING_MOST * w->scale) break;
    }
    FA_TRY(mark_exposed(&m));
    FA_TRY(keep_front(&m));
    double lo, hi;
    if (!(facing_width(&m, &lo, &hi) > 0.015 * w->scale)) {
        note(w, "no-lips", "check jawOpen, or paint the regions lip_upper, lip_lower and mouth",
             "no slit was found between what follows the jaw and what does not: the face is built without lips");
        return FA_OK;
    }
    w->mouth = true;
    w->centre[0] = 0.5 * (lo + hi);
    w->half_width = 0.5 * (hi - lo);
    return fill_lips(&m);
}

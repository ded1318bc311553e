#include "face/tetra.h"

#include "face/patch.h"
#include "math/mat3.h"

static const double VOLUME_LEFT =
    0.02; // of a third of the prism over its skin triangle: less is a tet about to turn over
static const double QUALITY_LEFT = 0.02; // of a tall tet: less is a needle
static const double POLISH_BELOW = 0.12; // quality that is worth the while of polishing
enum { POLISH_PASSES = 24 };
static const double SHORTEN = 0.8; // per round
static const double RECOVER =
    12e-3; // m along the skin over which a column that shrank to nothing grows to its full length
static const double SHORTEST = 0.03e-3; // m: a prism that is bad with a column this short is given up

void fai_prism_tets(int nskin, int layers, int ntri, const int *tri, int *tet) {
    for (int t = 0; t < ntri; t++) {
        const int *v = tri + 3 * (size_t)t;
        int a = v[0], b = v[1], c = v[2], swap;
        bool odd = false; // does the order by number run against the triangle
        if (a > b) swap = a, a = b, b = swap, odd = !odd;
        if (b > c) swap = b, b = c, c = swap, odd = !odd;
        if (a > b) swap = a, a = b, b = swap, odd = !odd;
        for (int l = 0; l < layers; l++) {
            const int top = l * nskin, low = top + nskin;
            const int cut[3][4] = {{top + a, top + b, top + c, low + c},
                                   {top + a, top + b, low + c, low + b},
                                   {top + a, low + a, low + b, low + c}};
            for (int k = 0; k < 3; k++) {
                int *out = tet + 4 * (3 * ((size_t)t * (size_t)layers + (size_t)l) + (size_t)k);
                out[0] = cut[k][0];
                out[1] = cut[k][1];
                out[2] = cut[k][odd ? 2 : 3];
                out[3] = cut[k][odd ? 3 : 2];
            }
        }
    }
}

double fai_tet_volume(const float *x, const int tet[4]) {
    double o[3], e[3][3], n[3];
    fai_v3_load(x, tet[0], o);
    for (int k = 0; k < 3; k++) {
        fai_v3_load(x, tet[k + 1], e[k]);
        fai_v3_sub(e[k], o, e[k]);
    }
    fai_v3_cross(e[0], e[1], n);
    return fai_v3_dot(n, e[2]) / 6;
}

double fai_tet_quality(const float *x, const int tet[4]) {
    double volume = fai_tet_volume(x, tet), sides = 0;
    for (int i = 0; i < 4; i++)
        for (int j = i + 1; j < 4; j++) {
            double p[3], q[3];
            fai_v3_load(x, tet[i], p);
            fai_v3_load(x, tet[j], q);
            fai_v3_sub(p, q, p);
            sides += fai_v3_dot(p, p);
        }
    if (!(sides > 0)) return 0;
    double r = cbrt(3 * fabs(volume));
    return (volume < 0 ? -12 : 12) * r * r / sides;
}

// --- repair ---------------------------------------------------------------------------------------------------------

typedef struct Repair {
    int nskin, layers, ntri;
    const int *tri, *start, *around;
    int *tri_start, *tri_at; // triangles around each node
    const float *x;
    float *node;     // the nodes of one prism at a time are enough: skin and deepest   (2 nskin x 3)
    double *d;       // columns at full length                                          (nskin x 3)
    double *scale;   //                                                                 (nskin)
    double *inwards; // the direction that most triangles around a node agree with      (nskin x 3)
    unsigned char *mark;
    unsigned char *gone; // triangles given up: they no longer drag their neighbours along    (ntri)
} Repair;

// Seen from inside: the direction whose angle to the normals of all triangles around the node is smallest, found by
// pulling the mean normal towards the worst one.
static void find_inwards(const Repair *r, double *normals /* ntri x 3 */) {
    for (int t = 0; t < r->ntri; t++) {
        const int *v = r->tri + 3 * (size_t)t;
        fai_v3_tri_cross(r->x, v, normals + 3 * (size_t)t);
        fai_v3_normalize(normals + 3 * (size_t)t);
        for (int k = 0; k < 3; k++)
            fai_v3_sub(r->inwards + 3 * (size_t)v[k], normals + 3 * (size_t)t, r->inwards + 3 * (size_t)v[k]);
    }
    double *worst = r->d + 3 * (size_t)r->nskin; // and how bad it is                    (nskin x 4)
    for (int pass = 0; pass < 24; pass++) {
        double step = 1.0 / (pass + 2);
        for (int i = 0; i < r->nskin; i++) {
            fai_v3_normalize(r->inwards + 3 * (size_t)i);
            worst[4 * (size_t)i + 3] = 2;
        }
        for (int t = 0; t < r->ntri; t++)
            for (int k = 0; k < 3; k++) {
                int i = r->tri[3 * (size_t)t + k];
                double agree = -fai_v3_dot(r->inwards + 3 * (size_t)i, normals + 3 * (size_t)t);
                if (agree >= worst[4 * (size_t)i + 3]) continue;
                memcpy(worst + 4 * (size_t)i, normals + 3 * (size_t)t, 3 * sizeof(double));
                worst[4 * (size_t)i + 3] = agree;
            }
        for (int i = 0; i < r->nskin; i++)
            if (worst[4 * (size_t)i + 3] < 0.5)
                fai_v3_mad(r->inwards + 3 * (size_t)i, -step, worst + 4 * (size_t)i, r->inwards + 3 * (size_t)i);
    }
    for (int i = 0; i < r->nskin; i++) fai_v3_normalize(r->inwards + 3 * (size_t)i);
}

static void place(Repair *r) {
    float *deep = r->node + 3 * (size_t)r->nskin;
    for (size_t i = 0; i < 3 * (size_t)r->nskin; i++) deep[i] = (float)((double)r->x[i] + r->scale[i / 3] * r->d[i]);
}

// The prism below triangle t, its columns in the order of their numbers: local[k] is the place of corner k.
typedef struct Prism {
    double top[3][3], low[3][3];
    int tet[12];
} Prism;

static void load_prism(const Repair *r, int t, Prism *p) {
    const int *v = r->tri + 3 * (size_t)t;
    const float *deep = r->node + 3 * (size_t)r->nskin;
    int local[3];
    for (int k = 0; k < 3; k++) {
        local[k] = 0;
        for (int j = 0; j < 3; j++) local[k] += v[j] < v[k];
        fai_v3_load(r->x, v[k], p->top[local[k]]);
        fai_v3_load(deep, v[k], p->low[local[k]]);
    }
    fai_prism_tets(3, 1, 1, local, p->tet);
}

// Corners of slice l of the prism, rounded as the face stores them.
static void slice(const Prism *p, int l, int layers, float x[6][3]) {
    double from = (double)l / layers, to = (double)(l + 1) / layers;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++) {
            x[k][j] = (float)(p->top[k][j] + from * (p->low[k][j] - p->top[k][j]));
            x[3 + k][j] =
                l + 1 == layers ? (float)p->low[k][j] : (float)(p->top[k][j] + to * (p->low[k][j] - p->top[k][j]));
        }
}

// Is a slice of the prism below triangle t inverted, nearly so, or a needle? *shortest: of its columns, m.
static bool bad_prism(const Repair *r, int t, double *shortest) {
    Prism p;
    float x[6][3];
    double n[3], b[3], c[3], height = INFINITY, tall = 0, side = 0;
    load_prism(r, t, &p);
    for (int k = 0; k < 3; k++) {
        double column[3], edge[3];
        fai_v3_sub(p.low[k], p.top[k], column);
        fai_v3_sub(p.top[(k + 1) % 3], p.top[k], edge);
        height = fmin(height, fai_v3_norm(column));
        tall = fmax(tall, fai_v3_norm(column));
        side = fmax(side, fai_v3_norm(edge));
    }
    fai_v3_sub(p.top[1], p.top[0], b);
    fai_v3_sub(p.top[2], p.top[0], c);
    fai_v3_cross(b, c, n);
    *shortest = height;
    height /= r->layers;
    tall /= r->layers;
    // measured by the shortest column, so that one that had to shrink does not drag its neighbours along
    double full = fai_v3_norm(n) / 2 * height / 3;
    for (int l = 0; l < r->layers; l++) {
        slice(&p, l, r->layers, x);
        for (int k = 0; k < 3; k++) {
            if (!(fai_tet_volume(x[0], p.tet + 4 * k) > VOLUME_LEFT * full)) return true;
            if (tall > side && fai_tet_quality(x[0], p.tet + 4 * k) < QUALITY_LEFT) return true;
        }
    }
    return false;
}

// One round: mark the columns of bad prisms. Returns how many prisms are bad.
static int find_bad(Repair *r) {
    int bad = 0;
    memset(r->mark, 0, (size_t)r->nskin);
    for (int t = 0; t < r->ntri; t++) {
        double shortest;
        if (r->gone[t] || !bad_prism(r, t, &shortest)) continue;
        if (shortest < SHORTEST) {
            r->gone[t] = 1;
            continue;
        }
        bad++;
        for (int k = 0; k < 3; k++) r->mark[r->tri[3 * (size_t)t + k]] = 1;
    }
    return bad;
}

static FaCode repair_rounds(Repair *r, FaRepair *report, FaError *err) {
    for (; report->rounds < FA_REPAIR_ROUNDS; report->rounds++) {
        place(r);
        if (find_bad(r) == 0) break;
        for (int i = 0; i < r->nskin; i++) {
            if (!r->mark[i]) continue;
            r->scale[i] *= SHORTEN;
            // shortening alone does not help a column that leans over a neighbouring triangle
            double *d = r->d + 3 * (size_t)i, length = fai_v3_norm(d), to[3];
            if (report->rounds < 2) continue;
            fai_v3_scale(1 / fmax(length, 1e-12), d, to);
            fai_v3_mad(to, 0.5, r->inwards + 3 * (size_t)i, to);
            if (fai_v3_normalize(to)) fai_v3_scale(length, to, d);
        }
        FA_TRY(fai_spread_min(r->nskin, r->start, r->around, r->x, 1 / RECOVER, r->scale, err));
    }
    return FA_OK;
}

// --- polish ---------------------------------------------------------------------------------------------------------

// Least quality of the slices below triangle t.
static double prism_quality(const Repair *r, int t) {
    Prism p;
    float x[6][3];
    double least = 1;
    load_prism(r, t, &p);
    for (int l = 0; l < r->layers; l++) {
        slice(&p, l, r->layers, x);
        for (int k = 0; k < 3; k++) least = fmin(least, fai_tet_quality(x[0], p.tet + 4 * k));
    }
    return least;
}

static double quality_around(const Repair *r, int i) {
    double least = 1;
    for (int k = r->tri_start[i]; k < r->tri_start[i + 1]; k++) least = fmin(least, prism_quality(r, r->tri_at[k]));
    return least;
}

// Try places for the deep end of column i; keep the one with the best least quality. longest: m.
static bool polish_node(Repair *r, int i, double longest) {
    float *deep = r->node + 3 * ((size_t)r->nskin + (size_t)i), was[3], best[3];
    double x[3], c[3], mean[3] = {0}, side[3], other[3], length, now = quality_around(r, i), most = now;
    memcpy(was, deep, sizeof was);
    fai_v3_load(r->x, i, x);
    for (int k = 0; k < 3; k++) c[k] = (double)was[k] - x[k];
    length = fai_v3_norm(c);
    for (int e = r->start[i]; e < r->start[i + 1]; e++) {
        double p[3];
        fai_v3_load(r->node + 3 * (size_t)r->nskin, r->around[e], p);
        fai_v3_mad(mean, 1.0 / (r->start[i + 1] - r->start[i]), p, mean);
    }
    const double *in = r->inwards + 3 * (size_t)i;
    fai_v3_cross(c, fabs(c[0]) < fabs(c[1]) ? (const double[3]){1, 0, 0} : (const double[3]){0, 1, 0}, side);
    if (!fai_v3_normalize(side) || !(length > 0)) return false;
    fai_v3_cross(c, side, other);
    fai_v3_normalize(other);
    for (int try = 0; try < 9; try++) {
        double p[3];
        switch (try) {
        case 0: fai_v3_scale(1.3, c, p); break;
        case 1: fai_v3_scale(0.75, c, p); break;
        case 2: fai_v3_mad(c, 0.5 * length, in, p); break;
        case 3: fai_v3_mad(c, -0.3 * length, in, p); break;
        case 4:
            for (int k = 0; k < 3; k++) p[k] = c[k] + 0.4 * (mean[k] - x[k] - c[k]);
            break;
        default: fai_v3_mad(c, (try % 2 ? 0.3 : -0.3) * length, try < 7 ? side : other, p); break;
        }
        if (fai_v3_norm(p) > longest) continue;
        for (int k = 0; k < 3; k++) deep[k] = (float)(x[k] + p[k]);
        double q = quality_around(r, i);
        if (q > most) most = q, memcpy(best, deep, sizeof best);
    }
    bool better = most > now * 1.01;
    memcpy(deep, better ? best : was, sizeof was);
    return better;
}

// Triangles around each node.
static FaCode list_triangles(Repair *r, FaArena *scratch, FaError *err) {
    int *start = r->tri_start = FA_PUSH(scratch, r->nskin + 1, int),
        *at = r->tri_at = FA_PUSH(scratch, 3 * (size_t)r->ntri, int);
    if (!start || !at) return FA_FAIL_MEMORY(err);
    for (size_t k = 0; k < 3 * (size_t)r->ntri; k++) start[r->tri[k] + 1]++;
    for (int i = 0; i < r->nskin; i++) start[i + 1] += start[i];
    for (int k = 3 * r->ntri - 1; k >= 0; k--) at[--start[r->tri[k] + 1]] = k / 3;
    for (int i = 0; i < r->nskin; i++) start[i] = start[i + 1];
    start[r->nskin] = 3 * r->ntri;
    return FA_OK;
}

static FaCode polish(Repair *r, FaRepair *report, FaArena *scratch, FaError *err) {
    unsigned char *moved = FA_PUSH(scratch, r->nskin, unsigned char), *poor = r->gone; // nothing is given up any more
    if (!moved) return FA_FAIL_MEMORY(err);
    FA_TRY(list_triangles(r, scratch, err));
    for (int pass = 0; pass < POLISH_PASSES; pass++) {
        int better = 0;
        memset(r->mark, 0, (size_t)r->nskin);
        for (int t = 0; t < r->ntri; t++) {
            if (pass > 0 && !poor[t]) continue;
            poor[t] = prism_quality(r, t) < POLISH_BELOW;
            for (int k = 0; poor[t] && k < 3; k++) r->mark[r->tri[3 * (size_t)t + k]] = 1;
        }
        for (int i = 0; i < r->nskin; i++) {
            if (!r->mark[i]) continue;
            double longest = fmax(fai_v3_norm(r->d + 3 * (size_t)i), SHORTEST);
            if (polish_node(r, i, longest)) better++, moved[i] = 1;
        }
        if (!better) break;
    }
    for (int i = 0; i < r->nskin; i++) report->polished += moved[i];
    return FA_OK;
}

static FaCode repair(Repair *r, float *deep, float *scale, unsigned char *hopeless, FaRepair *report, FaArena *scratch,
                     FaError *err) {
    r->node = FA_PUSH(scratch, 6 * (size_t)r->nskin, float);
    r->d = FA_PUSH(scratch, 7 * (size_t)r->nskin, double);
    r->scale = FA_PUSH(scratch, r->nskin, double);
    r->inwards = FA_PUSH(scratch, 3 * (size_t)r->nskin, double);
    r->mark = FA_PUSH(scratch, r->nskin, unsigned char);
    r->gone = FA_PUSH(scratch, r->ntri, unsigned char);
    double *normals = FA_PUSH(scratch, 3 * (size_t)r->ntri, double);
    if (!r->node || !r->d || !r->scale || !r->inwards || !r->mark || !r->gone || !normals) return FA_FAIL_MEMORY(err);
    find_inwards(r, normals);
    memcpy(r->node, r->x, 3 * (size_t)r->nskin * sizeof(float));
    for (size_t i = 0; i < 3 * (size_t)r->nskin; i++) r->d[i] = (double)deep[i] - (double)r->x[i], r->scale[i / 3] = 1;
    FA_TRY(repair_rounds(r, report, err));
    place(r);
    for (int t = 0; t < r->ntri; t++) {
        double shortest;
        report->hopeless += hopeless[t] = r->gone[t] || bad_prism(r, t, &shortest);
    }
    if (report->hopeless == 0) FA_TRY(polish(r, report, scratch, err));
    for (int i = 0; i < r->nskin; i++) {
        report->shrunk += r->scale[i] < 0.999;
        if (scale) scale[i] = (float)r->scale[i];
    }
    memcpy(deep, r->node + 3 * (size_t)r->nskin, 3 * (size_t)r->nskin * sizeof(float));
    return FA_OK;
}

FaCode fai_layer_repair(const FaMesh *skin, const FaTopology *near, int layers, float *deep, float *scale,
                        unsigned char *hopeless, FaRepair *report, FaError *err) {
    *report = (FaRepair){0};
    FaArena *scratch = fai_arena_new(0);
    if (!scratch) return FA_FAIL_MEMORY(err);
    Repair r = {.nskin = skin->nvert,
                .layers = layers,
                .ntri = skin->ntri,
                .tri = skin->tri,
                .start = near->around_start,
                .around = near->around,
                .x = skin->x};
    FaCode rc = repair(&r, deep, scale, hopeless, report, scratch, err);
    fai_arena_free(scratch);
    return rc;
}

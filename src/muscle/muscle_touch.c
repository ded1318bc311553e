#include "muscle/muscle_touch.h"

#include "math/mat3.h"
#include "method/touching.h"
#include "muscle/seam.h"
#include "muscle/skin_cross.h"

#include <math.h>
#include <stdlib.h>

static const double STIFFNESS = 50;              // N/m per mm2 of skin
static const double GAP = 1.5e-4, SOFT = 1.5e-4; // m: held apart by so much; from GAP + SOFT on it is felt
static const double REACH = 4e-3;                // m
static const double WALL = 3e-4;                 // m: skin that faces other skin from so far behind is its own wall
static const double FARTHEST = 1e-3;             // m: what would be stopped farther back is left, or flesh is torn
static const double BACK_BY[] = {5e-5, 1e-4, 2e-4, 3.5e-4, 6e-4, 1e-3}; // m: in these steps, what crosses in a frame
static const double HARD = 4;                                           // times as stiff with teeth and eyes
static const double ARCH = 0.022;                                       // m: radius of the arch of teeth in front
static const double LIDS = 3e-3;                                        // m: lids that are closer than this have rows
static const double BACK = 1e-3; // m: how far lips are in front of teeth that the face does not have
static const double MOST = 4e-3; // m: what a vertex remembers at most

enum { CROSSING = 1024 };      // pairs that are looked at
enum { DENSE_ROWS = 1 << 17 }; // of contact where teeth and eyes have so many triangles that rows do not fit

// All rows of a vertex with colliders, as one.
typedef struct Sum {
    double stiffness, normal[3], along; // the last two times stiffness
    FaRow row;                          // one of them
} Sum;

// A row of skin with skin at rest, and n . s there.
typedef struct Rest {
    int node[4];
    double along;
} Rest;

// A skin node behind a lip, and the direction in which teeth would hold it.
typedef struct Wall {
    int skin;
    bool jaw;
    double normal[3];
} Wall;

struct FaMuscleTouch {
    int nnode, nskin;
    FaTouching touching;
    FaSkinCross *cross;
    float *x0;          // rest of the skin's nodes                                           (nskin x 3)
    double *rest;       // and of the flesh's                                                 (nnode x 3)
    int *node;          // of the flesh, of each skin node; -1: lost                          (nskin)
    int *ride_start;    // what lost ones ride on; empty for others                           (nskin + 1)
    int *ride_node;     //
    float *ride_weight; //
    float *normal;      // of the skin at rest, unit                                          (nskin x 3)
    signed char *lip;   // as FaFilled has it                                                 (nskin)
    signed char *lid;   // 1: upper, -1: lower, 0: none                                      (nskin)
    FaSeam seam[2];     // of both eyes
    int njaw, *jaw;     // nodes that the jaw carries                                         (njaw)
    float *from, *skin; // where the skin was when the step began, and is                     (nskin x 3)
    float *solved;      // and is as solved                                                  (nskin x 3)
    signed char *back;  // how many steps back from there                                    (nskin)
    int *tri;           //                                                                   (ntri x 3)
    int (*crossing)[2]; //                                                                   (CROSSING)
    double *least;      // m: n . s that a vertex has at rest with colliders; at most GAP + SOFT (nskin)
    int nresting;
    Rest *resting;       // by nodes                                                              (FA_MUSCLE_ROWS)
    double (*pushed)[2]; // m: how far it is held out beyond that                              (nskin)
    double (*sum)[2][2]; // of the rows of a vertex: stiffness, and stiffness times depth      (nskin)
    bool dense;          // rows of a vertex with colliders are one
    Sum *one;            // of each vertex; NULL where not dense                                        (nskin)
    int nwall;
    Wall *wall;           // in the place of teeth                                                        (nwall)
    float wall_stiffness; // N/m
    FaPose jaw_at;
    int nrow;
    FaRow *row;   //                                                                              (FA_MUSCLE_ROWS)
    int *vertex;  // 2 skin node + 1 with a collider, of each row                                 (FA_MUSCLE_ROWS)
    double *base; // m: gap of each row, without what was pushed                                 (FA_MUSCLE_ROWS)
    FaArena *arena;
};

// --- making -------------------------------------------------------------------------------------------------------

static FaCode copy_rides(FaMuscleTouch *t, const FaFace *face, const FaFilled *f, FaError *err) {
    int n = 0;
    for (int i = 0; i < t->nskin; i++) {
        int v = face->skin_vertex[i];
        t->ride_start[i] = n;
        if (f->node_of_skin[i] < 0) n += f->ride_start[v + 1] - f->ride_start[v];
    }
    t->ride_start[t->nskin] = n;
    t->ride_node = FA_PUSH(t->arena, n + 1, int);
    t->ride_weight = FA_PUSH(t->arena, n + 1, float);
    if (!t->ride_node || !t->ride_weight) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < t->nskin; i++) {
        int from = f->ride_start[face->skin_vertex[i]];
        for (int k = t->ride_start[i]; k < t->ride_start[i + 1]; k++, from++)
            t->ride_node[k] = f->ride_node[from], t->ride_weight[k] = f->ride_weight[from];
    }
    return FA_OK;
}

static void find_normals(FaMuscleTouch *t, const FaFace *face) {
    for (int i = 0; i < face->ntri; i++) {
        const int *v = face->tri + 3 * (size_t)i;
        double cross[3];
        fai_v3_tri_cross(face->x0, v, cross);
        for (int j = 0; j < 9; j++) t->normal[3 * (size_t)v[j / 3] + (size_t)(j % 3)] += (float)cross[j % 3];
    }
    for (int i = 0; i < t->nskin; i++) {
        double n[3], size;
        fai_v3_load(t->normal, i, n);
        size = fai_v3_norm(n);
        for (int k = 0; k < 3; k++) t->normal[3 * (size_t)i + (size_t)k] = size > 0 ? (float)(n[k] / size) : 0;
    }
}

static FaCode copy_flesh(FaMuscleTouch *t, const FaFace *face, const FaFilled *f, FaError *err) {
    size_t skin = (size_t)t->nskin, n = 3 * (size_t)t->nnode;
    t->x0 = FA_PUSH(t->arena, 3 * skin, float);
    t->skin = FA_PUSH(t->arena, 3 * skin, float);
    t->from = FA_PUSH(t->arena, 3 * skin, float);
    t->solved = FA_PUSH(t->arena, 3 * skin, float);
    t->back = FA_PUSH(t->arena, skin, signed char);
    t->tri = FA_PUSH(t->arena, 3 * (size_t)face->ntri + 1, int);
    t->crossing = fai_arena_push(t->arena, CROSSING, sizeof *t->crossing);
    t->normal = FA_PUSH(t->arena, 3 * skin, float);
    t->lip = FA_PUSH(t->arena, skin, signed char);
    t->lid = FA_PUSH(t->arena, skin, signed char);
    t->rest = FA_PUSH(t->arena, n, double);
    t->node = FA_PUSH(t->arena, skin, int);
    t->ride_start = FA_PUSH(t->arena, skin + 1, int);
    t->jaw = FA_PUSH(t->arena, t->nnode, int);
    t->least = FA_PUSH(t->arena, skin, double);
    t->base = FA_PUSH(t->arena, FA_MUSCLE_ROWS, double);
    t->resting = FA_PUSH(t->arena, FA_MUSCLE_ROWS, Rest);
    t->pushed = fai_arena_push(t->arena, skin, sizeof *t->pushed);
    t->sum = fai_arena_push(t->arena, skin, sizeof *t->sum);
    t->row = FA_PUSH(t->arena, FA_MUSCLE_ROWS, FaRow);
    t->vertex = FA_PUSH(t->arena, FA_MUSCLE_ROWS, int);
    if (!t->solved || !t->back || !t->tri || !t->crossing) return FA_FAIL_MEMORY(err);
    if (!t->x0 || !t->skin || !t->from || !t->normal || !t->lip || !t->lid || !t->rest || !t->node || !t->ride_start ||
        !t->jaw || !t->least || !t->base || !t->resting || !t->pushed || !t->sum || !t->row || !t->vertex)
        return FA_FAIL_MEMORY(err);
    memcpy(t->tri, face->tri, 3 * (size_t)face->ntri * sizeof *t->tri);
    memcpy(t->x0, face->x0, 3 * skin * sizeof *t->x0);
    memcpy(t->node, f->node_of_skin, skin * sizeof *t->node);
    for (int i = 0; i < t->nskin; i++) t->lip[i] = t->node[i] >= 0 ? f->lip[t->node[i]] : 0;
    for (size_t i = 0; i < n; i++) t->rest[i] = (double)f->x[i];
    find_normals(t, face);
    for (int i = 0; i < t->nnode; i++)
        if (f->kind[i] == FA_FILLED_JAW) t->jaw[t->njaw++] = i;
    return copy_rides(t, face, f, err);
}

// --- rows ---------------------------------------------------------------------------------------------------------

// Displacement of a lost skin node.
static void ride(const FaMuscleTouch *t, int i, const double *x, double d[3]) {
    d[0] = d[1] = d[2] = 0;
    for (int k = t->ride_start[i]; k < t->ride_start[i + 1]; k++)
        for (int j = 0; j < 3; j++) {
            size_t at = 3 * (size_t)t->ride_node[k] + (size_t)j;
            d[j] += (double)t->ride_weight[k] * (x[at] - t->rest[at]);
        }
}

static void find_skin(const FaMuscleTouch *t, const double *x, float *skin) {
    for (int i = 0; i < t->nskin; i++) {
        double d[3];
        if (t->node[i] < 0) ride(t, i, x, d);
        for (int k = 0; k < 3; k++) {
            size_t at = 3 * (size_t)i + (size_t)k;
            skin[at] =
                t->node[i] < 0 ? (float)((double)t->x0[at] + d[k]) : (float)x[3 * (size_t)t->node[i] + (size_t)k];
        }
    }
}

// How the jaw moved: the rigid motion that fits its nodes best.
static FaPose jaw_pose(const FaMuscleTouch *t, const double *at) {
    double from[3] = {0}, to[3] = {0}, a[9] = {0}, r[9], back[3];
    FaPose pose = fai_pose_identity();
    if (t->njaw < 3) return pose;
    for (int i = 0; i < t->njaw; i++)
        for (int k = 0; k < 3; k++) {
            from[k] += t->rest[3 * (size_t)t->jaw[i] + (size_t)k] / t->njaw;
            to[k] += at[3 * (size_t)t->jaw[i] + (size_t)k] / t->njaw;
        }
    for (int i = 0; i < t->njaw; i++)
        for (int k = 0; k < 9; k++)
            a[k] += (at[3 * (size_t)t->jaw[i] + (size_t)(k / 3)] - to[k / 3]) *
                    (t->rest[3 * (size_t)t->jaw[i] + (size_t)(k % 3)] - from[k % 3]);
    fai_m3_polar(a, r, NULL);
    fai_q_from_m3(r, pose.q);
    fai_q_rotate(pose.q, from, back);
    fai_v3_sub(to, back, pose.p);
    return pose;
}

// Both sides of one wall: outer skin and lining face each other as lips do, but with flesh between them.
static bool is_wall(const FaMuscleTouch *t, const FaRow *row) {
    double n[3] = {0}, s[3], facing = 0, deep = 0;
    int v = row->node[0];
    if (row->node[1] < 0 || row->node[3] < 0) return false;
    fai_v3_load(t->x0, v, s);
    for (int j = 1; j < 4; j++) {
        int c = row->node[j];
        if (t->lip[v] * t->lip[c] < 0) return false;
        for (int k = 0; k < 3; k++) {
            size_t at = 3 * (size_t)c + (size_t)k;
            n[k] -= (double)row->weight[j] * (double)t->normal[at];
            s[k] += (double)row->weight[j] * (double)t->x0[at];
        }
    }
    for (int k = 0; k < 3; k++) deep -= n[k] * s[k], facing -= n[k] * (double)t->normal[3 * (size_t)v + (size_t)k];
    return facing > 0 && deep > WALL;
}

// One lid with the other: seams see to that.
static bool is_slit(const FaMuscleTouch *t, const FaRow *row) {
    for (int j = 1; j < 4; j++)
        if (row->node[j] >= 0 && t->lid[row->node[0]] * t->lid[row->node[j]] < 0) return true;
    return false;
}

// The row in nodes of the flesh; false: its vertex is lost, or
// it is none.
static bool translate(const FaMuscleTouch *t, const double *x, const FaRow *from, FaRow *row, int *vertex) {
    int v = from->node[0];
    if (v < 0 || t->node[v] < 0 || is_wall(t, from)) return false;
    *row = *from;
    *vertex = 2 * v + (from->node[1] < 0);
    for (int j = 0; j < 4; j++) {
        if (from->node[j] < 0) continue;
        row->node[j] = t->node[from->node[j]];
        if (row->node[j] >= 0) continue;
        double d[3];
        ride(t, from->node[j], x, d);
        for (int k = 0; k < 3; k++) row->offset[k] += (float)((double)row->weight[j] * d[k]);
        row->weight[j] = 0;
    }
    return true;
}

static double along(const FaMuscleTouch *t, const FaRow *row, const double *x) {
    double out = 0;
    for (int k = 0; k < 3; k++) {
        double s = (double)row->offset[k];
        for (int j = 0; j < 4; j++)
            if (row->node[j] >= 0) {
                size_t at = 3 * (size_t)row->node[j] + (size_t)k;
                s += (double)row->weight[j] * (x[at] - t->rest[at]);
            }
        out += (double)row->normal[k] * s;
    }
    return out;
}

static int by_nodes(const void *p, const void *q) {
    const Rest *a = p, *b = q;
    return memcmp(a->node, b->node, sizeof a->node);
}

// What a row of skin with skin may not go below: where it was at rest, or the gap.
static double along_at_rest(const FaMuscleTouch *t, const FaRow *row) {
    Rest key;
    memcpy(key.node, row->node, sizeof key.node);
    const Rest *found = bsearch(&key, t->resting, (size_t)t->nresting, sizeof key, by_nodes);
    return found ? fmin(found->along, GAP + SOFT) : GAP + SOFT;
}

// A row with a collider at x is added to those of its vertex.
static void merge(FaMuscleTouch *t, const double *x, const FaRow *row, int v) {
    Sum *one = &t->one[v];
    const double k = (double)row->stiffness;
    if (one->stiffness == 0) one->row = *row;
    one->stiffness += k;
    one->along += k * along(t, row, x);
    for (int i = 0; i < 3; i++) one->normal[i] += k * (double)row->normal[i];
}

// One row of each vertex: the mean of its planes, at the mean height that x has over them.
static void add_merged(FaMuscleTouch *t, const double *x) {
    for (int v = 0; v < t->nskin && t->nrow < FA_MUSCLE_ROWS; v++) {
        const Sum *one = &t->one[v];
        const double size = fai_v3_norm(one->normal);
        if (!(one->stiffness > 0) || !(size > 0)) continue;
        FaRow *row = &t->row[t->nrow];
        *row = one->row;
        row->stiffness = (float)(HARD * one->stiffness);
        for (int k = 0; k < 3; k++) {
            const size_t at = 3 * (size_t)row->node[0] + (size_t)k;
            const double n = one->normal[k] / size;
            row->normal[k] = (float)n;
            row->offset[k] = (float)(n * one->along / one->stiffness - (x[at] - t->rest[at]));
        }
        t->vertex[t->nrow] = 2 * v + 1;
        t->base[t->nrow] = t->least[v];
        row->gap = (float)(t->least[v] + t->pushed[v][1]);
        t->nrow++;
    }
}

// Rows of a wall that goes with skull and jaw.
static void add_walls(FaMuscleTouch *t) {
    for (int i = 0; i < t->nwall && t->nrow < FA_MUSCLE_ROWS; i++) {
        const Wall *w = &t->wall[i];
        const int node = t->node[w->skin];
        const double *x = t->rest + 3 * (size_t)node;
        double at[3], n[3];
        memcpy(at, x, sizeof at);
        memcpy(n, w->normal, sizeof n);
        if (w->jaw) fai_pose_apply(&t->jaw_at, x, at), fai_q_rotate(t->jaw_at.q, w->normal, n);
        FaRow *row = &t->row[t->nrow];
        *row = (FaRow){.node = {node, -1, -1, -1},
                       .weight = {1},
                       .soft = (float)SOFT,
                       .stiffness = t->wall_stiffness,
                       .kind = FA_ROW_PUSH};
        for (int k = 0; k < 3; k++) row->offset[k] = (float)(x[k] - at[k]), row->normal[k] = (float)n[k];
        t->vertex[t->nrow] = 2 * w->skin + 1;
        t->base[t->nrow] = -BACK;
        row->gap = (float)(-BACK + t->pushed[w->skin][1]);
        t->nrow++;
    }
}

// Rows of lids, at the skin's place. A vertex that is past an edge at rest may be.
static void add_seams(FaMuscleTouch *t, const double *x) {
    for (int eye = 0; eye < 2; eye++) {
        FaRow *row = t->row + t->nrow;
        int room = FA_MUSCLE_ROWS - t->nrow;
        int n = fai_seam_rows(&t->seam[eye], t->x0, t->skin, LIDS, room, row);
        for (int i = 0; i < n; i++) {
            FaRow one = row[i], *to = &t->row[t->nrow];
            double at_rest = 0;
            for (int k = 0; k < 3; k++) at_rest += (double)one.normal[k] * (double)one.offset[k];
            one.soft = (float)SOFT, one.stiffness = t->wall_stiffness;
            if (!translate(t, x, &one, to, &t->vertex[t->nrow])) continue;
            t->vertex[t->nrow] -= t->vertex[t->nrow] % 2;
            t->base[t->nrow] = fmin(SOFT, at_rest - 1e-7);
            to->gap = (float)(t->base[t->nrow] + t->pushed[t->vertex[t->nrow] / 2][0]);
            t->nrow++;
        }
    }
}

void fai_muscle_touch_begin(FaMuscleTouch *t, const double *x) {
    memset(t->pushed, 0, (size_t)t->nskin * sizeof *t->pushed);
    find_skin(t, x, t->from);
    fai_contact_reset(t->touching.contact, t->from);
}

void fai_muscle_touch_step(FaMuscleTouch *t, const double *x, const double *fixed_at) {
    FaPose pose[FA_TOUCH_COLLIDERS], jaw = jaw_pose(t, fixed_at);
    for (int i = 0; i < t->touching.ncollider; i++) pose[i] = t->touching.with_jaw[i] ? jaw : fai_pose_identity();
    find_skin(t, x, t->from);
    t->jaw_at = jaw;
    fai_contact_begin(t->touching.contact, 1.0 / 60, t->from, pose);
}

int fai_muscle_touch_collect(FaMuscleTouch *t, const double *x, const FaRow **row) {
    find_skin(t, x, t->skin);
    fai_contact_nearby(t->touching.contact, t->skin);
    int n;
    const FaRow *found = fai_contact_rows(t->touching.contact, &n);
    t->nrow = 0;
    if (t->dense) memset(t->one, 0, (size_t)t->nskin * sizeof *t->one);
    for (int i = 0; i < n && t->nrow < FA_MUSCLE_ROWS; i++) {
        FaRow *to = &t->row[t->nrow];
        if (is_slit(t, &found[i]) || !translate(t, x, &found[i], to, &t->vertex[t->nrow])) continue;
        int v = t->vertex[t->nrow] / 2, with = t->vertex[t->nrow] % 2;
        if (with && t->dense) {
            merge(t, x, to, v);
            continue;
        }
        t->base[t->nrow] = with ? t->least[v] : along_at_rest(t, to);
        if (with) to->stiffness *= (float)HARD;
        to->gap = (float)(t->base[t->nrow] + t->pushed[v][with]);
        t->nrow++;
    }
    if (t->dense) add_merged(t, x);
    add_walls(t);
    add_seams(t, x);
    *row = t->row;
    return t->nrow;
}

// Sums over the rows of each vertex, at x.
static void add_up(FaMuscleTouch *t, const double *x) {
    memset(t->sum, 0, (size_t)t->nskin * sizeof *t->sum);
    for (int i = 0; i < t->nrow; i++) {
        double *sum = t->sum[t->vertex[i] / 2][t->vertex[i] % 2], k = (double)t->row[i].stiffness;
        sum[0] += k;
        sum[1] += k * (fmin(t->base[i], GAP) - along(t, &t->row[i], x));
    }
}

double fai_muscle_touch_settle(FaMuscleTouch *t, const double *x) {
    double worst = 0;
    add_up(t, x);
    for (int v = 0; v < t->nskin; v++)
        for (int with = 0; with < 2; with++) {
            if (!(t->sum[v][with][0] > 0)) {
                t->pushed[v][with] = 0;
                continue;
            }
            double deep = t->sum[v][with][1] / t->sum[v][with][0];
            t->pushed[v][with] = fmin(fmax(t->pushed[v][with] + deep, 0), MOST);
            worst = fmax(worst, deep);
        }
    return worst;
}

int fai_muscle_touch_stop(FaMuscleTouch *t, double *x) {
    find_skin(t, x, t->skin);
    if (fai_skin_cross_count(t->cross, t->skin, NULL, 0) == 0) return 0;
    if (fai_contact_limit(t->touching.contact, t->from, t->skin) == 0) return 0;
    int stopped = 0;
    for (int i = 0; i < t->nskin; i++) {
        double back[3] = {0}, now[3];
        if (t->node[i] < 0) continue;
        double *to = x + 3 * (size_t)t->node[i];
        fai_v3_load(t->skin, i, now);
        for (int k = 0; k < 3; k++) back[k] = now[k] - (double)(float)to[k];
        double far = fai_v3_norm(back);
        if (!(far > 0)) continue;
        stopped++;
        if (far < FARTHEST) memcpy(to, now, sizeof now);
    }
    return stopped;
}

// Nodes of the triangles that cross go one step farther back; false: none can.
static bool go_back(FaMuscleTouch *t, int npair) {
    bool moved = false;
    for (int i = 0; i < 6 * npair; i++) {
        int v = t->tri[3 * (size_t)t->crossing[i / 6][i % 6 / 3] + (size_t)(i % 3)];
        if (t->node[v] >= 0 && t->back[v] >= 0 && t->back[v] < FA_COUNT(BACK_BY))
            t->back[v] = (signed char)(-1 - t->back[v]);
    }
    for (int v = 0; v < t->nskin; v++) {
        double to[3], from[3];
        if (t->back[v] >= 0) continue;
        t->back[v] = (signed char)-t->back[v]; // once in a round, however many cross it
        fai_v3_load(t->solved, v, to);
        fai_v3_load(t->from, v, from);
        fai_v3_sub(from, to, from);
        double way = fai_v3_norm(from), share = way > 0 ? fmin(BACK_BY[t->back[v] - 1] / way, 1) : 0;
        for (int k = 0; k < 3; k++) t->skin[3 * (size_t)v + (size_t)k] = (float)(to[k] + share * from[k]);
        moved = moved || share > 0;
    }
    return moved;
}

int fai_muscle_touch_part(FaMuscleTouch *t, double *x) {
    find_skin(t, x, t->skin);
    int npair = fai_skin_cross_count(t->cross, t->skin, t->crossing, CROSSING), stopped = 0;
    if (npair == 0) return 0;
    memcpy(t->solved, t->skin, 3 * (size_t)t->nskin * sizeof *t->skin);
    memset(t->back, 0, (size_t)t->nskin);
    while (npair > 0 && go_back(t, FA_MIN(npair, CROSSING)))
        npair = fai_skin_cross_count(t->cross, t->skin, t->crossing, CROSSING);
    for (int i = 0; i < 6 * FA_MIN(npair, CROSSING); i++) // to no avail
        t->back[t->tri[3 * (size_t)t->crossing[i / 6][i % 6 / 3] + (size_t)(i % 3)]] = 0;
    for (int v = 0; v < t->nskin; v++) {
        if (!t->back[v]) continue;
        stopped++;
        for (int k = 0; k < 3; k++) x[3 * (size_t)t->node[v] + (size_t)k] = (double)t->skin[3 * (size_t)v + (size_t)k];
    }
    return stopped;
}

// At rest nothing may push: each row of skin with skin has its own n . s there, each vertex that of all colliders.
static void find_least(FaMuscleTouch *t) {
    const FaRow *row;
    for (int v = 0; v < t->nskin; v++) t->least[v] = GAP + SOFT;
    fai_muscle_touch_begin(t, t->rest);
    fai_muscle_touch_step(t, t->rest, t->rest);
    fai_muscle_touch_collect(t, t->rest, &row);
    for (int i = 0; i < t->nrow; i++) {
        double there = along(t, &row[i], t->rest) - 1e-7, *least = &t->least[t->vertex[i] / 2];
        Rest *to = &t->resting[t->nresting];
        if (t->vertex[i] % 2) {
            *least = fmin(*least, there);
            continue;
        }
        memcpy(to->node, row[i].node, sizeof to->node);
        to->along = there;
        t->nresting++;
    }
    qsort(t->resting, (size_t)t->nresting, sizeof *t->resting, by_nodes);
}

// Of skin per vertex, mm2.
static double face_area(const FaFace *face) {
    double sum = 0;
    for (int i = 0; i < face->ntri; i++) {
        double cross[3];
        fai_v3_tri_cross(face->x0, face->tri + 3 * (size_t)i, cross);
        sum += 0.5e6 * fai_v3_norm(cross);
    }
    return sum / FA_MAX(face->nskin, 1);
}

static bool has_teeth(const FaFace *face) {
    for (int i = 0; i < face->nbone; i++)
        if (face->bone[i].kind == FA_BONE_TEETH_UPPER || face->bone[i].kind == FA_BONE_TEETH_LOWER) return true;
    return false;
}

// What lies behind the lips and does not look out of the mouth; directions of an arch about the middle of the lips.
static FaCode find_walls(FaMuscleTouch *t, const double axes[9], FaError *err) {
    const double *left = axes, *front = axes + 6;
    double middle[3] = {0};
    int n = 0;
    for (int i = 0; i < t->nskin; i++)
        for (int k = 0; t->lip[i] && k < 3; k++) middle[k] += (double)t->x0[3 * i + k], n += k == 0;
    if (!(t->wall = FA_PUSH(t->arena, n + 1, Wall))) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < t->nskin; i++) {
        double d[3], normal[3];
        if (!t->lip[i] || t->node[i] < 0) continue;
        for (int k = 0; k < 3; k++) d[k] = (double)t->x0[3 * i + k] - middle[k] / n;
        double aside = fai_v3_dot(d, left) / ARCH;
        Wall *w = &t->wall[t->nwall];
        for (int k = 0; k < 3; k++) w->normal[k] = (front[k] + aside * left[k]) / sqrt(1 + aside * aside);
        fai_v3_load(t->normal, i, normal);
        if (fai_v3_dot(normal, w->normal) > 0.3) continue;
        w->skin = i, w->jaw = t->lip[i] < 0;
        t->nwall++;
    }
    return FA_OK;
}

static FaTouchOptions touch_options(const FaMuscleTouch *t) {
    return (FaTouchOptions){.what = FA_TOUCH_FACE,
                            .teeth = true,
                            .stiffness = STIFFNESS,
                            .nearby = REACH,
                            .soft = SOFT,
                            .max_rows = t->dense ? DENSE_ROWS : FA_MUSCLE_ROWS};
}

FaCode fai_muscle_touch_collide(FaMuscleTouch *t, const FaFace *face, FaError *err) {
    const FaTouchOptions o = touch_options(t);
    FaTouching touching = {0};
    FaCode rc = fai_touching_new(face, &o, &touching, NULL, err);
    if (rc < 0) {
        fai_touching_free(&touching);
        return rc;
    }
    fai_touching_free(&t->touching);
    t->touching = touching;
    return FA_OK;
}

// Where rows do not fit at rest, lips would pass through teeth whose rows were left out.
static FaCode thin_out(FaMuscleTouch *t, const FaFace *face, FaError *err) {
    int n;
    fai_contact_rows(t->touching.contact, &n);
    if (n < FA_MUSCLE_ROWS * 3 / 4) return FA_OK;
    t->dense = true, t->nresting = 0;
    if (!(t->one = FA_PUSH(t->arena, t->nskin, Sum))) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_muscle_touch_collide(t, face, err));
    find_least(t);
    return FA_OK;
}

static FaCode build(FaMuscleTouch *t, const FaFace *face, const FaFilled *filled, const double axes[9], FaError *err) {
    t->arena = fai_arena_new(0);
    if (!t->arena) return FA_FAIL_MEMORY(err);
    const FaTouchOptions o = touch_options(t);
    FA_TRY(fai_touching_new(face, &o, &t->touching, NULL, err));
    FA_TRY(copy_flesh(t, face, filled, err));
    FA_TRY(fai_skin_cross_new(t->nskin, face->ntri, face->tri, t->x0, &t->cross, err));
    find_least(t);
    FA_TRY(thin_out(t, face, err));
    t->wall_stiffness = (float)(HARD * STIFFNESS * face_area(face));
    return axes && !has_teeth(face) ? find_walls(t, axes, err) : FA_OK;
}

FaCode fai_muscle_touch_new(const FaFace *face, const FaFilled *filled, const double axes[9], FaMuscleTouch **touch,
                            FaError *err) {
    *touch = NULL;
    FaMuscleTouch *t = FA_NEW(1, FaMuscleTouch);
    if (!t) return FA_FAIL_MEMORY(err);
    t->nnode = filled->nnode, t->nskin = filled->nskin;
    FaCode rc = build(t, face, filled, axes, err);
    if (rc < 0)
        fai_muscle_touch_free(t);
    else
        *touch = t;
    return rc;
}

bool fai_muscle_touch_walled(const FaMuscleTouch *t) { return t->nwall > 0; }

FaCode fai_muscle_touch_lids(FaMuscleTouch *t, const FaMuscleGround *ground, const FaFace *face, FaError *err) {
    for (int eye = 0; eye < 2; eye++) {
        FaSeam *seam = &t->seam[eye];
        FA_TRY(fai_seam_new(ground, face, eye ? -1 : 1, seam, err));
        for (int i = 0; i < seam->nnode; i++) t->lid[seam->node[i]] = seam->side[i];
    }
    return FA_OK;
}

void fai_muscle_touch_free(FaMuscleTouch *t) {
    if (!t) return;
    for (int eye = 0; eye < 2; eye++) fai_seam_free(&t->seam[eye]);
    fai_touching_free(&t->touching);
    fai_skin_cross_free(t->cross);
    fai_arena_free(t->arena);
    fa_free(t);
}

// --- the state ----------------------------------------------------------------------------------------------------

size_t fai_muscle_touch_state_size(const FaMuscleTouch *t) {
    return (size_t)t->nskin * sizeof *t->pushed + fai_contact_state_size(t->touching.contact);
}

void fai_muscle_touch_save(const FaMuscleTouch *t, void *state) {
    const size_t pushed = (size_t)t->nskin * sizeof *t->pushed;
    memcpy(state, t->pushed, pushed);
    fai_contact_save(t->touching.contact, (unsigned char *)state + pushed);
}

FaCode fai_muscle_touch_load(FaMuscleTouch *t, const void *state, FaError *err) {
    const size_t pushed = (size_t)t->nskin * sizeof *t->pushed;
    memcpy(t->pushed, state, pushed);
    return fai_contact_load(t->touching.contact, (const unsigned char *)state + pushed, err);
}

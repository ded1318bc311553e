// Where flesh is.
//
// Bones: those of the face where there are any within REACH. Elsewhere they are estimated: flesh is as deep as anatomy
// has it below skin that light reaches. What lies between such skin and the lining of the mouth is flesh all through;
// what lies behind the bag (seen from the skin) is gum, then bone.
#include "build/filled_domain.h"

#include "base/task.h"
#include "build/filled_close.h"
#include "face/thickness.h"
#include "math/mat3.h"
#include "mesh/mesh.h"
#include "rig/jaw.h"

// m, for an adult
static const double REACH = 25e-3;   // of given bones: beyond, they are estimated
static const double GUM = 2e-3;      // behind the bag of the mouth
static const double CHEEK = 6e-3;    // from the lining of the mouth nothing is bone, seen from outside
static const double PLAIN = 4e-3;    // nearer to skin that light reaches there is no gum
static const double THROAT = 30e-3;  // floor of the mouth and neck
static const double DEEPEST = 45e-3; // nothing is flesh below
static const double BALL = -0.5e-3;  // around the eyeballs: lids are thin, and their insides touch
static const double OPENING = 0.244; // rad: the jaw opened by 14 degrees
static const float SKULL_MOST = 0.4f, JAW_LEAST = 0.6f; // shares of the jaw's motion: between, nobody knows

static double smooth(double a, double b, double v) {
    double t = fmin(fmax((v - a) / (b - a), 0), 1);
    return t * t * (3 - 2 * t);
}

// --- what light reaches ---------------------------------------------------------------------------------------------

enum { RAYS = 24 };
typedef struct Light {
    FaFilledDomain *d;
    const FaClosest *skin;
} Light;

// Directions around +z, even by golden angles, not flatter than 75 degrees.
static void ray_of(int i, const double n[3], float out[3]) {
    double z = 1 - 0.74 * (i + 0.5) / RAYS, r = sqrt(1 - z * z), a = 2.39996322972865332 * i;
    double side[3] = {0}, up[3], dir[3];
    side[fabs(n[0]) < 0.6 ? 0 : 1] = 1;
    fai_v3_cross(n, side, up);
    fai_v3_normalize(up);
    fai_v3_cross(up, n, side);
    fai_v3_scale(z, n, dir);
    fai_v3_mad(dir, r * cos(a), side, dir);
    fai_v3_mad(dir, r * sin(a), up, dir);
    for (int k = 0; k < 3; k++) out[k] = (float)dir[k];
}

static void light(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Light *l = ctx;
    for (int i = begin; i < end; i++) {
        double n[3];
        int free = 0;
        fai_v3_load(l->d->normal, i, n);
        if (!fai_v3_normalize(n)) continue;
        for (int k = 0; k < RAYS; k++) {
            float dir[3];
            ray_of(k, n, dir);
            free +=
                fai_closest_ray(l->skin, l->d->face->x0 + 3 * (size_t)i, dir, 2e-4f, (float)(80e-3 * l->d->size)).tri <
                0;
        }
        l->d->exposed[i] = free >= RAYS * 3 / 10;
    }
}

static FaCode find_light(FaFilledDomain *d, FaError *err) {
    const FaMesh skin = {.nvert = d->face->nskin, .x = d->face->x0, .ntri = d->face->ntri, .tri = d->face->tri};
    FaClosest *closest = NULL;
    d->normal = FA_PUSH(d->arena, 3 * (size_t)skin.nvert, float);
    d->exposed = FA_PUSH(d->arena, skin.nvert, unsigned char);
    if (!d->normal || !d->exposed) return FA_FAIL_MEMORY(err);
    fai_mesh_normals(&skin, skin.x, d->normal);
    FA_TRY(fai_closest_new(&skin, NULL, &closest, err));
    fai_parallel(skin.nvert, 64, light, &(Light){d, closest});
    fai_closest_free(closest);
    return FA_OK;
}

// --- what is known of skin nodes ------------------------------------------------------------------------------------

// Which bone lies below the skin at places of the mean head, mm: 0 skull .. 1 jaw.
static const FaMeanValue jaws[] = {
    {0, -83, 82, 1},  {0, -70, 88, 1},     {16, -81, 80, 1},    {30, -77, 65, 1},    {43, -70, 51, 1},
    {57, -53, 40, 1}, {62, -47, 8, 1},     {20, -57, 82, 1},    {0, -52, 93, 1},     {40, -55, 68, 1},
    {65, -32, 29, 1}, {68, -20, 14, 0.6f}, {73, 7, 17, 0},      {48, -6, 70, 0},     {55, -20, 60, 0.2f},
    {0, -34, 95, 0},  {20, -30, 84, 0},    {40, -28, 76, 0.1f}, {26, -43, 80, 0.5f}, {33, 9, 73, 0},
    {0, -8, 105, 0},  {0, 47, 85, 0},      {58, 44, 57, 0},     {74, 30, 0, 0},      {60, -60, -30, 0},
    {0, 110, 57, 0},  {0, -93, 43, 0},     {0, -115, 30, 0},    {40, -100, 20, 0},   {48, -85, 0, 0},
};

// What goes with the jaw, given its motion and share of each rig vertex.
static void set_jaw(FaFilledDomain *d, const FaJaw *jaw, const float *with, const float *motion) {
    const double part = jaw->open_angle > 0 ? fmin(OPENING / jaw->open_angle, 1) : 0;
    for (int i = 0; i < d->face->nskin; i++) {
        const size_t v = (size_t)d->face->skin_vertex[i];
        double mm[3];
        d->with_jaw[i] = d->jaw_below[i] = with[v];
        for (size_t k = 0; k < 3; k++) d->opening[3 * (size_t)i + k] = (float)(part * (double)motion[3 * v + k]);
        // skin near the jaw's angle hardly follows it, but the bone below does; below the chin it is the other way
        // round
        if (fai_mean_head_mm(&d->mean, d->face->x0 + 3 * (size_t)i, mm))
            d->jaw_below[i] =
                (float)(0.35 * (double)d->with_jaw[i] + 0.65 * fai_mean_head_mix(jaws, FA_COUNT(jaws), mm));
    }
}

static FaCode find_jaw(FaFilledDomain *d, FaError *err) {
    const size_t n = (size_t)d->rig->mesh.nvert, nskin = (size_t)d->face->nskin;
    FaJaw jaw;
    float *with = FA_NEW(n, float), *motion = FA_NEW(3 * n, float);
    d->with_jaw = FA_PUSH(d->arena, nskin, float);
    d->jaw_below = FA_PUSH(d->arena, nskin, float);
    d->opening = FA_PUSH(d->arena, 3 * nskin, float);
    FaCode rc = FA_OK;
    if (!with || !motion || !d->with_jaw || !d->jaw_below || !d->opening) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, fai_fit_jaw(d->rig, &jaw, with, NULL, err));
    if (jaw.found && fai_jaw_motion(d->rig, motion)) set_jaw(d, &jaw, with, motion);
done:
    fa_free(with);
    fa_free(motion);
    return rc;
}

// Flesh below a skin node where no bone tells: as asked of the face; through the cheeks, the tip of the nose, and from
// below the chin as deep as it goes. Places on the mean head, mm.
static double depth_at(const FaFilledDomain *d, int i) {
    const FaFace *f = d->face;
    const float *x = f->x0 + 3 * (size_t)i;
    double mm[3], depth = (double)f->thickness_asked[i];
    if (!fai_mean_head_mm(&d->mean, x, mm)) return depth;
    double lip = fmax((double)f->region[FA_REGION_LIP_UPPER][i], (double)f->region[FA_REGION_LIP_LOWER][i]);
    if (lip > 0.05) depth = fmax(depth, d->size * fai_anatomy_depth(mm)); // asked less in the folds of the lips
    depth += 8e-3 * d->size * (double)f->region[FA_REGION_CHEEKS][i];
    double tip = hypot(hypot(mm[0], mm[1] + 6), mm[2] - 104);
    depth = fmax(depth, 22e-3 * d->size * (1 - smooth(14, 24, tip)));
    // behind the jaw's lower border, a parabola through chin and angle
    double behind = 82 - 0.0168 * mm[0] * mm[0] - mm[2];
    double under = smooth(8, 18, behind) * smooth(-58, -68, mm[1]);
    return fmax(depth, THROAT * d->size * under);
}

// Upper or lower: lips by their regions, the lining behind them by how it follows the jaw.
static int lip_of(const FaFilledDomain *d, int i) {
    const FaFace *f = d->face;
    float up = f->region[FA_REGION_LIP_UPPER][i], low = f->region[FA_REGION_LIP_LOWER][i];
    if (d->hard[i]) return 0;
    if (fmaxf(up, low) > 0.2f) return up > low ? 1 : -1;
    if (f->region[FA_REGION_MOUTH][i] < 0.2f) return 0;
    return d->with_jaw[i] < 0.35f ? 1 : d->with_jaw[i] > 0.65f ? -1 : 0;
}

// Lids: above or below the line between the corners of the eye, left and right on their own.
static void find_lids(FaFilledDomain *d, const double (*q)[3]) {
    const FaFace *f = d->face;
    const float *lid = f->region[FA_REGION_EYELIDS];
    double middle = 0, all = 0;
    for (int i = 0; i < f->nskin; i++) middle += (double)lid[i] * q[i][0], all += (double)lid[i];
    if (!(all > 0)) return;
    middle /= all;
    for (int eye = -1; eye < 2; eye += 2) {
        int lo = -1, hi = -1;
        for (int i = 0; i < f->nskin; i++) {
            if (lid[i] < 0.9f || (q[i][0] - middle) * eye <= 0) continue;
            if (lo < 0 || q[i][0] < q[lo][0]) lo = i;
            if (hi < 0 || q[i][0] > q[hi][0]) hi = i;
        }
        for (int i = 0; i < f->nskin && hi >= 0 && q[hi][0] > q[lo][0]; i++) {
            if (lid[i] < 0.3f || (q[i][0] - middle) * eye <= 0) continue;
            double t = (q[i][0] - q[lo][0]) / (q[hi][0] - q[lo][0]), y = q[lo][1] + t * (q[hi][1] - q[lo][1]);
            d->lid[i] = q[i][1] > y ? 1 : -1;
        }
    }
}

static FaCode find_nodes(FaFilledDomain *d, FaError *err) {
    const int n = d->face->nskin;
    double(*q)[3] = (double(*)[3])fai_arena_push(d->arena, (size_t)n, sizeof *q);
    d->lip = FA_PUSH(d->arena, n, signed char);
    d->lid = FA_PUSH(d->arena, n, signed char);
    d->depth = FA_PUSH(d->arena, n, float);
    if (!q || !d->lip || !d->lid || !d->depth) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < 3; k++) d->lip_lo[k] = INFINITY, d->lip_hi[k] = -INFINITY;
    for (int i = 0; i < n; i++) {
        double p[3];
        fai_v3_load(d->face->x0, i, p);
        fai_m3_mulv(d->rig->axes, p, q[i]);
        d->lip[i] = (signed char)lip_of(d, i);
        d->depth[i] = (float)depth_at(d, i);
        for (int k = 0; k < 3 && d->lip[i]; k++) {
            d->lip_lo[k] = fmin(d->lip_lo[k], q[i][k]);
            d->lip_hi[k] = fmax(d->lip_hi[k], q[i][k]);
        }
    }
    find_lids(d, (const double(*)[3])q);
    return FA_OK;
}

// --- eyes -----------------------------------------------------------------------------------------------------------

static void add_eye(FaFilledDomain *d, const double at[3], double r) {
    if (d->neye == FA_FILLED_EYES || !(r > 4e-3 * d->size) || r > 30e-3 * d->size) return;
    d->eye[d->neye].r = r + BALL * d->size;
    fai_m3_tmulv(d->rig->axes, at, d->eye[d->neye++].at);
}

// The ball of an eye's mesh, which may lack its back: as wide as that is, touching it in front. side: only what lies
// left (1) or right (-1) of `middle`; 0: all.
static void eye_of(FaFilledDomain *d, const FaBone *b, double middle, int side) {
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, p[3], q[3];
    for (int v = 0; v < b->nvert; v++) {
        fai_v3_load(b->x, v, p);
        fai_m3_mulv(d->rig->axes, p, q);
        if (side * (q[0] - middle) < 0) continue;
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], q[k]), hi[k] = fmax(hi[k], q[k]);
    }
    double r = 0.5 * fmax(hi[0] - lo[0], hi[1] - lo[1]);
    if (side == 0 && hi[0] - lo[0] > 1.8 * (hi[1] - lo[1])) { // two in one mesh
        eye_of(d, b, 0.5 * (lo[0] + hi[0]), 1);
        eye_of(d, b, 0.5 * (lo[0] + hi[0]), -1);
    } else
        add_eye(d, (double[3]){0.5 * (lo[0] + hi[0]), 0.5 * (lo[1] + hi[1]), hi[2] - r}, r);
}

static void find_eyes(FaFilledDomain *d) {
    for (int i = 0; i < d->face->nbone; i++)
        if (d->face->bone[i].kind == FA_BONE_EYE) eye_of(d, &d->face->bone[i], 0, 0);
    if (d->neye || !d->mean.found) return;
    for (int side = -1; side < 2; side += 2) {
        double at[3] = {31.5 * side, 28, 61.5};
        for (int k = 0; k < 3; k++) at[k] = (at[k] - d->mean.offset[k]) / d->mean.scale[k];
        add_eye(d, at, 12.1e-3 * d->size);
    }
}

bool fai_filled_in_eye(const FaFilledDomain *d, const double p[3]) {
    for (int i = 0; i < d->neye; i++) {
        double to[3];
        fai_v3_sub(p, d->eye[i].at, to);
        if (fai_v3_norm(to) < d->eye[i].r) return true;
    }
    return false;
}

// --- trees ----------------------------------------------------------------------------------------------------------

static FaCode find_bones(FaFilledDomain *d, bool jaw, FaError *err) {
    const FaFace *f = d->face;
    int nvert = 0, ntri = 0, v = 0, t = 0;
    bool any = false;
    for (int i = 0; i < f->nbone; i++) any |= f->bone[i].kind == FA_BONE_SKULL || f->bone[i].kind == FA_BONE_JAW;
    if (!any) return FA_OK;
    for (int i = 0; i < f->nbone; i++)
        if (f->bone[i].kind != FA_BONE_EYE && f->bone[i].kind != FA_BONE_OTHER && f->bone[i].with_jaw == jaw)
            nvert += f->bone[i].nvert, ntri += f->bone[i].ntri;
    float *x = FA_PUSH(d->arena, 3 * (size_t)nvert, float);
    int *tri = FA_PUSH(d->arena, 3 * (size_t)ntri, int);
    if (!x || !tri) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nbone && ntri; i++) {
        const FaBone *b = &f->bone[i];
        if (b->kind == FA_BONE_EYE || b->kind == FA_BONE_OTHER || b->with_jaw != jaw) continue;
        memcpy(x + 3 * (size_t)v, b->x, 3 * (size_t)b->nvert * sizeof(float));
        for (size_t k = 0; k < 3 * (size_t)b->ntri; k++) tri[3 * (size_t)t + k] = b->tri[k] + v;
        v += b->nvert, t += b->ntri;
    }
    if (!ntri) return FA_OK;
    FA_TRY(fai_winding_new(x, ntri, tri, &d->bone_winding[jaw], err));
    return fai_closest_new(&(FaMesh){.nvert = nvert, .x = x, .ntri = ntri, .tri = tri}, NULL, &d->bone[jaw], err);
}

static FaCode find_trees(FaFilledDomain *d, FaError *err) {
    int nouter = 0, *outer = FA_PUSH(d->arena, 3 * (size_t)d->nwall, int);
    d->outer_tri = FA_PUSH(d->arena, d->nwall, int);
    if (!outer || !d->outer_tri) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < d->face->ntri; t++) {
        const int *v = d->tri + 3 * (size_t)t;
        if (d->exposed[v[0]] + d->exposed[v[1]] + d->exposed[v[2]] < 2) continue;
        memcpy(outer + 3 * (size_t)nouter, v, 3 * sizeof(int));
        d->outer_tri[nouter++] = t;
    }
    FaMesh all = {.nvert = d->nvert, .x = d->x, .ntri = d->nwall, .tri = d->tri}, mesh = all;
    FA_TRY(fai_winding_new(d->x, d->ntri, d->tri, &d->winding, err));
    FA_TRY(fai_closest_new(&all, NULL, &d->wall, err));
    if (nouter) mesh.ntri = nouter, mesh.tri = outer;
    if (!nouter)
        for (int t = 0; t < d->nwall; t++) d->outer_tri[t] = t;
    FA_TRY(fai_closest_new(&mesh, NULL, &d->outer, err));
    mesh.ntri = d->ncap, mesh.tri = d->tri + 3 * (size_t)(d->ntri - d->ncap);
    if (d->ncap) FA_TRY(fai_closest_new(&mesh, NULL, &d->cut, err));
    FA_TRY(find_bones(d, false, err));
    return find_bones(d, true, err);
}

// --- asking ---------------------------------------------------------------------------------------------------------

bool fai_filled_crosses(const FaFilledDomain *d, const float a[3], const float b[3], double from, double to) {
    const float dir[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]}; // hits count in shares of the way
    return fai_closest_ray(d->wall, a, dir, (float)from, (float)to).tri >= 0;
}

static double mixed(const float *value, const int *v, const float *bary) {
    return (double)value[v[0]] * (double)bary[0] + (double)value[v[1]] * (double)bary[1] +
           (double)value[v[2]] * (double)bary[2];
}

// Deeper in the given bones than `bone` says so far?
static bool given_bone(const FaFilledDomain *d, const double p[3], FaFilledPlace *at) {
    const float q[3] = {(float)p[0], (float)p[1], (float)p[2]};
    bool near = false;
    for (int b = 0; b < 2; b++) {
        if (!d->bone[b]) continue;
        FaHit hit = fai_closest_point(d->bone[b], q, (float)(REACH * d->size));
        bool in = fabs(fai_winding_at(d->bone_winding[b], p)) > 0.5;
        if (hit.tri < 0 && !in) continue;
        double deep = hit.tri < 0 ? REACH * d->size : in ? (double)hit.distance : -(double)hit.distance;
        near = true;
        if (deep < at->bone) continue;
        at->bone = deep;
        at->kind = b ? FA_FILLED_JAW : FA_FILLED_SKULL;
        for (int k = 0; k < 3; k++) at->on_bone[k] = hit.tri < 0 ? p[k] : (double)hit.point[k];
    }
    return near;
}

// What carries skin or bone that goes with the jaw by so much.
static FaFilledKind carrier(double with_jaw) {
    return with_jaw < (double)SKULL_MOST  ? FA_FILLED_SKULL
           : with_jaw > (double)JAW_LEAST ? FA_FILLED_JAW
                                          : FA_FILLED_FREE;
}

// Nothing of it is free: flesh would hang on nothing there. A head with a jaw of its own ends at its neck.
FaFilledKind fai_filled_edge(const FaFilledDomain *d, int skin) {
    return !d->bone[1] && carrier((double)d->with_jaw[skin]) == FA_FILLED_JAW ? FA_FILLED_JAW : FA_FILLED_SKULL;
}

static void set_bone(FaFilledPlace *at, const double p[3], const float from[3], double now, double want,
                     double with_jaw) {
    at->bone = now - want;
    at->kind = carrier(with_jaw);
    for (int k = 0; k < 3; k++)
        at->on_bone[k] = now > 1e-9 ? (double)from[k] + (p[k] - (double)from[k]) * want / now : p[k];
}

// Near the arch of the lower teeth, on the mean head.
static bool carries_teeth(const FaFilledDomain *d, const float p[3]) {
    double mm[3];
    return !fai_mean_head_mm(&d->mean, p, mm) || (82 - 0.0168 * mm[0] * mm[0] - mm[2] < 32 && mm[1] > -75);
}

// Without bones near: below skin that light reaches, and not near the lining of the mouth.
static void guess_bone(const FaFilledDomain *d, const double p[3], const FaHit *wall, bool given, FaFilledPlace *at) {
    const float q[3] = {(float)p[0], (float)p[1], (float)p[2]};
    FaHit out = fai_closest_point(d->outer, q, INFINITY);
    const int *vo = d->tri + 3 * (size_t)d->outer_tri[out.tri], *vw = d->tri + 3 * (size_t)wall->tri;
    const int sw[3] = {d->skin_of[vw[0]], d->skin_of[vw[1]], d->skin_of[vw[2]]};
    const double deep = (double)out.distance, depth = mixed(d->depth, vo, out.bary), near = (double)wall->distance;
    // a bag that was made up has no lining to be kept
    const bool lining = near < 0.99 * deep && wall->tri < d->face->ntri;
    // in a corner of the mouth the nearest outer skin may be hidden by a fold: so near to it there is no gum
    const bool behind = lining && deep > PLAIN * d->size && fai_filled_crosses(d, q, out.point, 0.01, 0.98);
    const double soft = (behind ? GUM : CHEEK) * d->size;
    FaFilledPlace guess = {0};
    if (given && !behind && deep < DEEPEST * d->size) return;
    if (behind || (lining && near - soft < deep - depth))
        set_bone(&guess, p, wall->point, near, soft, mixed(d->jaw_below, sw, wall->bary));
    else
        set_bone(&guess, p, out.point, deep, depth, mixed(d->jaw_below, vo, out.bary));
    // of the jaw's own bone only what carries teeth lies behind the lining: the floor of the mouth and the throat are
    // free
    if (guess.kind == FA_FILLED_JAW && (d->bone[1] || (lining && !carries_teeth(d, q)))) guess.kind = FA_FILLED_FREE;
    if (guess.bone < at->bone) return;
    at->bone = guess.bone, at->kind = guess.kind;
    memcpy(at->on_bone, guess.on_bone, sizeof at->on_bone);
}

FaHit fai_filled_wall(const FaFilledDomain *d, const double p[3], double reach) {
    const float q[3] = {(float)p[0], (float)p[1], (float)p[2]};
    return fai_closest_point(d->wall, q, (float)reach);
}

// The skin node nearest to where a wall is hit.
static int corner_of(const FaFilledDomain *d, int tri, const float bary[3]) {
    int best = 0;
    for (int k = 1; k < 3; k++)
        if (bary[k] > bary[best]) best = k;
    return d->skin_of[d->tri[3 * (size_t)tri + (size_t)best]];
}

// One of 26 ways from a place.
static void way_of(int i, float way[3]) {
    i += i >= 13; // all of 27 but the middle
    for (int k = 0; k < 3; k++) way[k] = (float)(i % 3 - 1), i /= 3;
}

// The nearest wall is seen from outside: there is a crease, or lips cross and the wall is the other's. Whose place it
// is tells the nearest of the walls that ways out of it leave by.
static int own_wall(const FaFilledDomain *d, const float p[3], int near) {
    double least = INFINITY;
    for (int way = 0; way < 26; way++) {
        float to[3];
        way_of(way, to);
        const double size = sqrt((double)(to[0] * to[0] + to[1] * to[1] + to[2] * to[2]));
        double from = 0, n[3];
        for (int tries = 0; tries < 4; tries++) {
            FaHit hit = fai_closest_ray(d->wall, p, to, (float)from, (float)(fmin(least, DEEPEST * d->size) / size));
            if (hit.tri < 0) break;
            fai_v3_tri_cross(d->x, d->tri + 3 * (size_t)hit.tri, n);
            from = (double)hit.distance + 1e-5;
            if (n[0] * (double)to[0] + n[1] * (double)to[1] + n[2] * (double)to[2] <= 0) continue;
            least = size * (double)hit.distance;
            near = corner_of(d, hit.tri, hit.bary);
            break;
        }
    }
    return near;
}

FaFilledPlace fai_filled_place(const FaFilledDomain *d, const double p[3], const FaHit *wall) {
    const float q[3] = {(float)p[0], (float)p[1], (float)p[2]};
    FaFilledPlace at = {.bone = -INFINITY, .cut = INFINITY, .eye = INFINITY, .wall = (double)wall->distance};
    double w = fai_winding_at(d->winding, p);
    at.inside = w > 0.5 && w < 1.5;
    at.near = corner_of(d, wall->tri, wall->bary);
    double n[3], out[3];
    fai_v3_tri_cross(d->x, d->tri + 3 * (size_t)wall->tri, n);
    for (int k = 0; k < 3; k++) out[k] = p[k] - (double)wall->point[k];
    // at edges normals say nothing
    if (at.inside && fai_v3_dot(n, out) > 0.5 * fai_v3_norm(n) * at.wall) at.near = own_wall(d, q, at.near);
    for (int i = 0; i < d->neye; i++) {
        double to[3];
        fai_v3_sub(p, d->eye[i].at, to);
        at.eye = fmin(at.eye, fai_v3_norm(to) - d->eye[i].r);
    }
    at.inside &= at.eye > 0;
    if (!at.inside) return at;
    if (d->cut) {
        FaHit cut = fai_closest_point(d->cut, q, (float)(20e-3 * d->size));
        if (cut.tri >= 0) at.cut = (double)cut.distance;
    }
    bool given = given_bone(d, p, &at);
    guess_bone(d, p, wall, given, &at);
    return at;
}

double fai_filled_bone(const FaFilledDomain *d, const double p[3]) {
    FaFilledPlace at = {.bone = -INFINITY};
    FaHit wall = fai_filled_wall(d, p, INFINITY);
    bool given = given_bone(d, p, &at);
    guess_bone(d, p, &wall, given, &at);
    return at.bone;
}

// Dijkstra's way, within a few edges.
bool fai_filled_near(const FaFilledDomain *d, int a, int b, double reach) {
    int node[FA_FILLED_REACH], n = 1;
    double dist[FA_FILLED_REACH];
    bool done[FA_FILLED_REACH];
    node[0] = a, dist[0] = 0, done[0] = false;
    for (;;) {
        int at = -1;
        for (int i = 0; i < n; i++)
            if (!done[i] && (at < 0 || dist[i] < dist[at])) at = i;
        if (at < 0) return false;
        if (node[at] == b) return true;
        done[at] = true;
        double p[3], q[3];
        fai_v3_load(d->face->x0, node[at], p);
        for (int e = d->topo->around_start[node[at]]; e < d->topo->around_start[node[at] + 1]; e++) {
            int to = d->topo->around[e], i = 0;
            fai_v3_load(d->face->x0, to, q);
            fai_v3_sub(q, p, q);
            double far = dist[at] + fai_v3_norm(q);
            if (far > reach) continue;
            while (i < n && node[i] != to) i++;
            if (i == n && n == FA_FILLED_REACH) continue;
            if (i == n) node[n] = to, dist[n] = far, done[n++] = false;
            dist[i] = fmin(dist[i], far);
        }
    }
}

// --- building -------------------------------------------------------------------------------------------------------

static FaCode build(FaFilledDomain *d, FaError *err) {
    const FaFace *f = d->face;
    if (!(d->topo = FA_PUSH(d->arena, 1, FaTopology))) return FA_FAIL_MEMORY(err);
    const FaMesh skin = {.nvert = f->nskin, .x = f->x0, .ntri = f->ntri, .tri = f->tri};
    FA_TRY(fai_topology_build(&skin, d->topo, err));
    FA_TRY(find_light(d, err));
    FA_TRY(find_jaw(d, err));
    FA_TRY(fai_filled_teeth(d, err));
    FA_TRY(find_nodes(d, err));
    FA_TRY(fai_filled_close(d, err));
    find_eyes(d);
    return find_trees(d, err);
}

// Without eyes and mouth: by the simulated skin, since the rig may be a whole body. A face is about 0.2 m high.
static double size_of(const FaFilledDomain *d) {
    double lo = INFINITY, hi = -INFINITY;
    for (int i = 0; i < d->face->nskin; i++) {
        double p[3];
        fai_v3_load(d->face->x0, i, p);
        double y = fai_v3_dot(d->rig->axes + 3, p);
        lo = fmin(lo, y), hi = fmax(hi, y);
    }
    return fmin(d->mean.size, fmax((hi - lo) / 0.2, 0.05));
}

FaCode fai_filled_domain(const FaRig *rig, const FaFace *face, FaFilledDomain *d, FaError *err) {
    *d = (FaFilledDomain){.rig = rig, .face = face, .mean = fai_mean_head_find(rig), .arena = fai_arena_new(0)};
    d->size = d->mean.found ? d->mean.size : size_of(d);
    FaCode rc = d->arena ? build(d, err) : FA_FAIL_MEMORY(err);
    if (rc < 0) fai_filled_domain_free(d);
    return rc;
}

void fai_filled_domain_free(FaFilledDomain *d) {
    fai_winding_free(d->winding);
    fai_closest_free(d->wall);
    fai_closest_free(d->outer);
    fai_closest_free(d->cut);
    for (int b = 0; b < 2; b++) {
        fai_closest_free(d->bone[b]);
        fai_winding_free(d->bone_winding[b]);
    }
    if (d->topo) fai_topology_free(d->topo);
    fai_arena_free(d->arena);
    *d = (FaFilledDomain){0};
}

// Thickness of the flesh.
//
// Asked: what is painted, else the uniform value, else the distance to the bone below (less half a millimetre), else
// the depth that anatomy gives for the place. Allowed: nothing may cross the middle between two walls. A ball that
// touches the skin from inside and grows until it touches the skin elsewhere tells where that middle is, for parallel
// walls (lips, lids, nostrils, the lining of the mouth, ears) as well as for sharp ridges; 0.9 of its radius is 45 % of
// the distance.
#include "face/thickness.h"

#include "base/task.h"
#include "face/patch.h"
#include "math/mat3.h"
#include "mesh/closest.h"
#include "rig/mean_head.h"

static const double WALL = 0.45;                         // of the distance to the opposite wall
static const double THICKEST = 40e-3;                    // m
static const double BONE_GAP = 0.5e-3;                   // m between the deepest layer and the bone
static const double BONE_NEAR = 12e-3, BONE_FAR = 20e-3; // m: between these bone gives way to anatomy
static const double SLOPE = 0.5;                         // how fast the thickness may grow beside a thin place, m per m
static const double THINNEST = 0.15e-3;                  // m

// --- anatomy --------------------------------------------------------------------------------------------------------

// Soft-tissue depth of adults (Stephan & Simpson's pooled means, later shifts applied), mm, at places of the mean head,
// the left side for both; cheeks are cut at 15: deeper lie fat pads and muscles that slide, not one layer.
static const FaMeanValue depths[] = {
    {0, 137, -22, 5},    {0, 44, -109, 6.5f},  {79, 52, -24, 6},  {0, 110, 57, 5},    {0, 90, 73, 5},
    {40, 90, 58, 5.5f},  {30, 70, 76, 6},      {0, 47, 85, 5.5f}, {0, 34, 84, 6.5f},  {0, 20, 92, 4},
    {0, 8, 101, 3},      {0, -7, 109, 5},      {12, -12, 95, 5},  {31, 52, 80, 6},    {58, 44, 57, 6.5f},
    {70, 40, 20, 8},     {33, 9, 73, 7},       {52, 10, 64, 8},   {48, -6, 70, 12},   {19, -11, 85, 9.5f},
    {73, 7, 17, 7.5f},   {65, 5, 45, 8},       {0, -21, 93, 11},  {0, -28, 94, 11},   {0, -36, 95, 11.5f},
    {0, -52, 93, 12},    {0, -61, 87, 11},     {0, -70, 88, 11},  {0, -83, 82, 8.5f}, {0, -88, 73, 7},
    {20, -33, 84, 9.5f}, {20, -57, 82, 10.5f}, {40, -30, 76, 13}, {55, -25, 60, 15},  {53, -48, 52, 15},
    {68, -25, 18, 14},   {62, -47, 8, 12.5f},  {43, -70, 51, 11}, {30, -77, 65, 10},  {16, -81, 80, 9},
    {0, -93, 43, 8},     {48, -75, 10, 9},     {58, -70, -20, 9}, {31, 28, 73, 4},
};

double fai_anatomy_depth(const double mm[3]) { return 1e-3 * fai_mean_head_mix(depths, FA_COUNT(depths), mm); }

double fai_face_scale(const FaRig *rig) { return fai_mean_head_find(rig).size; }

static double anatomy_at(const FaMeanHead *p, const float *x) {
    double mm[3];
    return fai_mean_head_mm(p, x, mm) ? p->size * fai_anatomy_depth(mm) : 8e-3 * p->size;
}

// --- walls and bones ------------------------------------------------------------------------------------------------

typedef struct Work {
    const FaThicknessInput *in;
    FaMeanHead place;
    FaClosest *skin, *hold, *hard; // all of the skin; skull and jaw; eyes, teeth and others too. NULL: none
    float *asked;
    double *limit;
    unsigned char *clamp;
} Work;

static double smooth(double a, double b, double v) {
    double t = fmin(fmax((v - a) / (b - a), 0), 1);
    return t * t * (3 - 2 * t);
}

// Distance to a bone that lies on the inner side of the skin; INFINITY if none is within reach.
static double bone_below(const FaClosest *bone, const float *x, const float *n, double reach) {
    if (!bone) return INFINITY;
    FaHit hit = fai_closest_point(bone, x, (float)reach);
    if (hit.tri < 0) return INFINITY;
    double d = (double)hit.distance, in = 0;
    for (int k = 0; k < 3; k++) in -= (double)(hit.point[k] - x[k]) * (double)n[k];
    if (d > 0 && in > 0.5 * d) return d;
    const float inwards[3] = {-n[0], -n[1], -n[2]};
    hit = fai_closest_ray(bone, x, inwards, 1e-5f, (float)reach);
    return hit.tri >= 0 ? (double)hit.distance : INFINITY;
}

// Largest ball inside, tangent at x: shrink it to each point found in it. A point seen from the centre at less than 60
// degrees from x belongs to the same wall, or to the other side of a blunt ridge, and does not count.
static double ball_at(const FaClosest *skin, const float *x, const float *n, double most) {
    double r = most;
    for (int round = 0; round < 12; round++) {
        float c[3];
        for (int k = 0; k < 3; k++) c[k] = (float)((double)x[k] - r * (double)n[k]);
        FaHit hit = fai_closest_point(skin, c, (float)(r * 0.999));
        if (hit.tri < 0) break;
        double to[3], dd = 0, along = 0, cosine = 0;
        for (int k = 0; k < 3; k++) {
            to[k] = (double)x[k] - (double)hit.point[k];
            dd += to[k] * to[k];
            along += to[k] * (double)n[k];
            cosine += ((double)hit.point[k] - (double)c[k]) * (double)n[k];
        }
        cosine /= fmax((double)hit.distance, 1e-9);
        if (cosine > 0.65 || !(along > 1e-9)) break;
        double smaller = dd / (2 * along);
        if (!(smaller < r * 0.999)) break;
        r = smaller;
    }
    return r;
}

static void measure(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Work *w = ctx;
    const FaThicknessInput *in = w->in;
    for (int i = begin; i < end; i++) {
        const float *x = in->x + 3 * (size_t)i, *n = in->normal + 3 * (size_t)i;
        double held = bone_below(w->hold, x, n, BONE_FAR);
        double asked = in->uniform > 0 ? in->uniform : anatomy_at(&w->place, x);
        if (in->uniform <= 0 && held < BONE_FAR) {
            double far = smooth(BONE_NEAR, BONE_FAR, held);
            asked = (1 - far) * fmax(held - BONE_GAP, THINNEST) + far * asked;
        }
        float painted = in->painted ? in->painted[in->skin_vertex[i]] : NAN;
        if (isfinite(painted) && painted > 0) asked = (double)painted;
        asked = fmin(fmax(asked, THINNEST), THICKEST);

        // folds of the lips: where one faces the other, or the lining, across a gap
        double lip = 0;
        if (in->region)
            lip = fmax((double)in->region[FA_REGION_LIP_UPPER][i], (double)in->region[FA_REGION_LIP_LOWER][i]);
        if (lip > 0 && !(isfinite(painted) && painted > 0)) {
            FaHit gap = fai_closest_ray(w->skin, x, n, 2e-5f, 4e-3f);
            double fold = lip * (gap.tri >= 0 ? 1 - smooth(1.5e-3, 4e-3, (double)gap.distance) : 0);
            asked += fold * (fmin(asked, in->lip) - asked);
        }
        w->asked[i] = (float)asked;

        const float inwards[3] = {-n[0], -n[1], -n[2]};
        double room = asked / WALL, limit = 2 * WALL * ball_at(w->skin, x, n, 0.5 * room); // more room is no use
        double hard = fmin(held, bone_below(w->hard, x, n, asked + 2 * BONE_GAP));
        FaHit wall = fai_closest_ray(w->skin, x, inwards, 2e-5f, (float)room);
        if (wall.tri >= 0) limit = fmin(limit, WALL * (double)wall.distance);
        w->clamp[i] = FA_CLAMP_WALL;
        if (hard < INFINITY && fmax(hard - BONE_GAP, 0.6 * hard) < limit)
            limit = fmax(hard - BONE_GAP, 0.6 * hard), w->clamp[i] = FA_CLAMP_BONE;
        w->limit[i] = fmax(limit, THINNEST);
    }
}

// --- putting together -----------------------------------------------------------------------------------------------

// Triangles of the skin's part as a mesh of its own for queries.
static FaCode skin_queries(const FaThicknessInput *in, FaClosest **out, FaError *err) {
    const FaMesh *mesh = &in->rig->mesh;
    int *tri = FA_NEW(3 * (size_t)mesh->ntri, int), n = 0;
    if (!tri) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < mesh->ntri; t++) {
        int v = fai_weld(mesh, mesh->tri[3 * (size_t)t]);
        if (in->topo->part[v] != in->part) continue;
        for (int k = 0; k < 3; k++) tri[3 * (size_t)n + k] = mesh->tri[3 * (size_t)t + k];
        n++;
    }
    FaMesh skin = {.nvert = mesh->nvert, .x = mesh->x, .ntri = n, .tri = tri};
    FaCode rc = fai_closest_new(&skin, NULL, out, err);
    fa_free(tri);
    return rc;
}

// Bones as one mesh: those that hold the flesh, or the others.
static FaCode bone_queries(const FaThicknessInput *in, bool holding, FaClosest **out, FaError *err) {
    int nvert = 0, ntri = 0, v = 0, t = 0;
    *out = NULL;
    for (int i = 0; i < in->nbone; i++) {
        bool holds = in->bone[i].kind == FA_BONE_SKULL || in->bone[i].kind == FA_BONE_JAW;
        if (holds == holding) nvert += in->bone[i].nvert, ntri += in->bone[i].ntri;
    }
    if (ntri == 0) return FA_OK;
    float *x = FA_NEW(3 * (size_t)nvert, float);
    int *tri = FA_NEW(3 * (size_t)ntri, int);
    FaCode rc = FA_OK;
    if (!x || !tri) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    for (int i = 0; i < in->nbone; i++) {
        const FaBone *b = &in->bone[i];
        if ((b->kind == FA_BONE_SKULL || b->kind == FA_BONE_JAW) != holding) continue;
        memcpy(x + 3 * (size_t)v, b->x, 3 * (size_t)b->nvert * sizeof(float));
        for (size_t k = 0; k < 3 * (size_t)b->ntri; k++) tri[3 * (size_t)t + k] = b->tri[k] + v;
        v += b->nvert;
        t += b->ntri;
    }
    rc = fai_closest_new(&(FaMesh){.nvert = nvert, .x = x, .ntri = ntri, .tri = tri}, NULL, out, err);
done:
    fa_free(x);
    fa_free(tri);
    return rc;
}

FaCode fai_thickness_find(const FaThicknessInput *in, float *asked, float *thickness, unsigned char *clamp,
                          FaError *err) {
    FaThicknessInput input = *in;
    if (!(input.lip > 0)) input.lip = FA_LIP_FOLD;
    Work w = {.in = &input, .place = fai_mean_head_find(in->rig), .asked = asked, .clamp = clamp};
    FaCode rc = FA_OK;
    double *own = FA_NEW(in->nskin, double);
    w.limit = FA_NEW(in->nskin, double);
    if (!own || !w.limit) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, skin_queries(in, &w.skin, err));
    FA_TRY_GOTO(done, rc, bone_queries(in, true, &w.hold, err));
    FA_TRY_GOTO(done, rc, bone_queries(in, false, &w.hard, err));
    fai_parallel(in->nskin, 256, measure, &w);
    memcpy(own, w.limit, (size_t)in->nskin * sizeof(double));
    // beside a thin place the flesh grows thicker gradually
    for (int i = 0; i < in->nskin; i++) w.limit[i] = fmin(w.limit[i], (double)asked[i]);
    FA_TRY_GOTO(done, rc, fai_spread_min(in->nskin, in->start, in->around, in->x, SLOPE, w.limit, err));
    for (int i = 0; i < in->nskin; i++) {
        thickness[i] = (float)w.limit[i];
        if (thickness[i] > 0.999f * asked[i])
            clamp[i] = FA_CLAMP_NONE;
        else if (own[i] > 1.001 * w.limit[i])
            clamp[i] = FA_CLAMP_NEAR;
    }
done:
    fai_closest_free(w.skin);
    fai_closest_free(w.hold);
    fai_closest_free(w.hard);
    fa_free(w.limit);
    fa_free(own);
    return rc;
}

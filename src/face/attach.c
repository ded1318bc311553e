#include "face/attach.h"

#include "math/mat3.h"
#include "mesh/closest.h"

// For an adult, m: from the deepest node to bone, held fully .. not at all. Between lie muscle and fat, which hold too.
static const double HELD = 4e-3, LOOSE = 30e-3;
// What no bone is near still is no balloon: cartilage, muscle and the neck below hold at least so much.
static const float BODY = 0.4f;

static double smooth(double a, double b, double v) {
    double t = fmin(fmax((v - a) / (b - a), 0), 1);
    return t * t * (3 - 2 * t);
}

// --- attachment -----------------------------------------------------------------------------------------------------

// All bones of one side that can hold flesh, as one mesh to ask distances of. NULL: none.
static FaCode holders(const FaAttachInput *in, bool with_jaw, FaClosest **out, FaError *err) {
    int nvert = 0, ntri = 0, v = 0, t = 0;
    *out = NULL;
    for (int i = 0; i < in->nbone; i++) {
        const FaBone *b = &in->bone[i];
        if ((b->kind == FA_BONE_SKULL || b->kind == FA_BONE_JAW) && b->with_jaw == with_jaw)
            nvert += b->nvert, ntri += b->ntri;
    }
    if (ntri == 0) return FA_OK;
    FaCode rc = FA_OK;
    float *x = FA_NEW(3 * (size_t)nvert, float);
    int *tri = FA_NEW(3 * (size_t)ntri, int);
    if (!x || !tri) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    for (int i = 0; i < in->nbone; i++) {
        const FaBone *b = &in->bone[i];
        if (!((b->kind == FA_BONE_SKULL || b->kind == FA_BONE_JAW) && b->with_jaw == with_jaw)) continue;
        memcpy(x + 3 * (size_t)v, b->x, 3 * (size_t)b->nvert * sizeof(float));
        for (size_t k = 0; k < 3 * (size_t)b->ntri; k++) tri[3 * (size_t)t + k] = b->tri[k] + v;
        v += b->nvert, t += b->ntri;
    }
    rc = fai_closest_new(&(FaMesh){.nvert = nvert, .x = x, .ntri = ntri, .tri = tri}, NULL, out, err);
done:
    fa_free(x);
    fa_free(tri);
    return rc;
}

// How far the flesh is from each bone: 1 held .. 0 loose.
static void by_bones(const FaAttachInput *in, const FaClosest *skull, const FaClosest *jaw, FaHit *hit, float *to_skull,
                     float *to_jaw) {
    const FaClosest *bone[2] = {skull, jaw};
    float *to[2] = {to_skull, to_jaw};
    double far = LOOSE * in->scale;
    for (int b = 0; b < 2; b++) {
        if (bone[b]) fai_closest_points(bone[b], in->nskin, in->deep, (float)far, hit);
        for (int i = 0; i < in->nskin; i++)
            to[b][i] =
                !bone[b] || hit[i].tri < 0 ? 0 : (float)(1 - smooth(HELD * in->scale, far, (double)hit[i].distance));
    }
}

// The final weights of one node: what no bone may hold is free, what is painted is as painted, and the sum is 1 at
// most.
static void settle(const FaAttachInput *in, const float *const *region, int i, float *to_skull, float *to_jaw) {
    static const FaRegion loose[] = {FA_REGION_FREE, FA_REGION_LIP_UPPER, FA_REGION_LIP_LOWER, FA_REGION_MOUTH,
                                     FA_REGION_EYELIDS};
    float free_part = 0, *to[2] = {to_skull, to_jaw};
    int v = in->skin_vertex[i];
    for (int k = 0; k < FA_COUNT(loose); k++) free_part = fmaxf(free_part, region[loose[k]][i]);
    free_part = fminf(fmaxf(free_part, 0), 1);
    const float *paint[2] = {in->paint_skull, in->paint_jaw};
    for (int b = 0; b < 2; b++) {
        *to[b] *= 1 - free_part;
        if (paint[b] && isfinite(paint[b][v])) *to[b] = fminf(fmaxf(paint[b][v], 0), 1);
    }
    float sum = *to_skull + *to_jaw;
    if (sum > 1) *to_skull /= sum, *to_jaw /= sum;
    if (*to_skull + *to_jaw > 1) *to_jaw = 1 - *to_skull; // the last bit
}

FaCode fai_attach_find(const FaAttachInput *in, const float *const *region, float *to_skull, float *to_jaw,
                       FaError *err) {
    FaClosest *skull = NULL, *jaw = NULL;
    FaCode rc = FA_OK;
    FaHit *hit = FA_NEW(in->nskin, FaHit);
    if (!hit) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, holders(in, false, &skull, err));
    FA_TRY_GOTO(done, rc, holders(in, true, &jaw, err));
    if (skull || jaw) by_bones(in, skull, jaw, hit, to_skull, to_jaw);
    for (int i = 0; i < in->nskin; i++) {
        float with_jaw = in->jaw_found ? fminf(fmaxf(in->with_jaw[in->skin_vertex[i]], 0), 1) : 0;
        if (!skull && !jaw) {
            // no bones: the deepest layer stands for them
            to_skull[i] = 1 - with_jaw;
            to_jaw[i] = with_jaw;
        } else if (!jaw) {
            // a skull that has the jaw in it, or none was given: what is held is shared by the shapes
            to_jaw[i] = to_skull[i] * with_jaw;
            to_skull[i] *= 1 - with_jaw;
        }
        float missing = fmaxf(0, BODY - to_skull[i] - to_jaw[i]);
        to_skull[i] += missing * (1 - with_jaw);
        to_jaw[i] += missing * with_jaw;
        settle(in, region, i, &to_skull[i], &to_jaw[i]);
    }
done:
    fai_closest_free(skull);
    fai_closest_free(jaw);
    fa_free(hit);
    return rc;
}

// --- riders ---------------------------------------------------------------------------------------------------------

static const double RIDE_NEAR = 12e-3; // m from the skin
static const double RIDE_SAME = 0.45;  // mean difference of motion, of the larger of the two

// How well each part moves as the skin below it: sum over its vertices and shapes of |difference| / larger motion.
typedef struct Likeness {
    double *sum, *count; // (nparts)
} Likeness;

static void compare_shape(const FaRig *rig, const FaShape *s, const int *part, int skin_part, const int *ride,
                          const float *weight, float *dense, Likeness *like) {
    int n = rig->mesh.nvert;
    memset(dense, 0, 3 * (size_t)n * sizeof(float));
    for (int e = s->first; e < s->first + s->count; e++)
        memcpy(dense + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof(float));
    for (int v = 0; v < n; v++) {
        const int *r = ride + 3 * (size_t)v;
        if (r[0] < 0 || part[v] < 0 || part[v] == skin_part) continue;
        double own[3], below[3] = {0}, other[3];
        fai_v3_load(dense, v, own);
        for (int k = 0; k < 3; k++) {
            fai_v3_load(dense, r[k], other);
            fai_v3_mad(below, (double)weight[3 * (size_t)v + k], other, below);
        }
        double larger = fmax(fai_v3_norm(own), fai_v3_norm(below));
        if (larger < 0.5e-3) continue;
        fai_v3_sub(own, below, own);
        like->sum[part[v]] += fai_v3_norm(own) / larger;
        like->count[part[v]]++;
    }
}

FaCode fai_ride_find(const FaRig *rig, const FaTopology *topo, int skin_part, FaFace *f, FaError *err) {
    const FaMesh skin = {.nvert = f->nskin, .ntri = f->ntri, .x = f->x0, .tri = f->tri};
    const int n = rig->mesh.nvert;
    int *ride_node = f->ride_node;
    float *ride_weight = f->ride_weight;
    FaClosest *closest = NULL;
    FaHit *hit = FA_NEW(n, FaHit);
    int *near = FA_NEW(3 * (size_t)n, int), *part = FA_NEW(n, int);
    float *dense = FA_NEW(3 * (size_t)n, float);
    Likeness like = {FA_NEW(topo->nparts, double), FA_NEW(topo->nparts, double)};
    FaCode rc = FA_OK;
    for (size_t i = 0; i < 3 * (size_t)n; i++) ride_node[i] = -1, ride_weight[i] = 0;
    if (!hit || !near || !part || !dense || !like.sum || !like.count) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    if (topo->nparts < 2) goto done;
    FA_TRY_GOTO(done, rc, fai_closest_new(&skin, NULL, &closest, err));
    fai_closest_points(closest, n, rig->mesh.x, (float)RIDE_NEAR, hit);
    for (int v = 0; v < n; v++) {
        part[v] = topo->part[fai_weld(&rig->mesh, v)];
        for (int k = 0; k < 3; k++) {
            near[3 * (size_t)v + k] = hit[v].tri < 0 ? -1 : f->skin_vertex[f->tri[3 * (size_t)hit[v].tri + k]];
            ride_weight[3 * (size_t)v + k] = hit[v].tri < 0 ? 0 : hit[v].bary[k];
        }
    }
    for (int s = 0; s < rig->nshape; s++)
        compare_shape(rig, &rig->shape[s], part, skin_part, near, ride_weight, dense, &like);
    for (int v = 0; v < n; v++) {
        bool rides = f->node_of_vertex[v] < 0 && hit[v].tri >= 0 && part[v] >= 0 && part[v] != skin_part &&
                     like.count[part[v]] > 0 && like.sum[part[v]] < RIDE_SAME * like.count[part[v]];
        for (int k = 0; k < 3; k++) {
            if (rides)
                ride_node[3 * (size_t)v + k] = f->tri[3 * (size_t)hit[v].tri + k];
            else
                ride_weight[3 * (size_t)v + k] = 0;
        }
    }
done:
    fai_closest_free(closest);
    fa_free(hit);
    fa_free(near);
    fa_free(part);
    fa_free(dense);
    fa_free(like.sum);
    fa_free(like.count);
    return rc;
}

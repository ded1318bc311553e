#include "muscle/inner.h"

#include "math/mat3.h"
#include "mesh/mesh.h"
#include "render/subject.h"

#include <math.h>

static const float WITH = 0.9f, STILL = 0.1f; // of the jaw's motion: more, less than this is hard
static const double SLACK = 0.03;             // of the jaw's motion: what is told from none
// Of half the width of the lips, seen from their middle: how far to the side, up, down and back hard parts reach.
static const double ASIDE = 1.7, HIGH = 1.5, BACK = 4;
static const double ROUND = 1.2;   // of the same: where the middle of the arch is
static const double OUTWARD = 0.1; // cosine: triangles that look there less are not met by lips
static const double BEHIND = 1e-3; // m: how far they stay behind the foremost of the lips

typedef struct Finder {
    const FaRig *rig;
    const FaFace *face;
    FaTopology topo;
    unsigned char *skin;     // parts that are of the face                                  (nparts)
    unsigned char *inside;   // parts that lie in the mouth                                 (nparts)
    unsigned char *material; // by form                                                      (ntri)
    float *share;            // of the jaw's motion                                         (nvert)
    int *id;                 //                                                             (nvert)
    double centre[3];        // of the arch that hard parts stand on, canonical, m
} Finder;

static void canonical(const Finder *f, const float *x, double at[3]) {
    fai_m3_mulv(f->rig->axes, (double[]){(double)x[0], (double)x[1], (double)x[2]}, at);
}

// Middle and foremost of the lips, and half their width, m; false: there are none.
static bool find_lips(const Finder *f, double middle[3], double *front, double *wide) {
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < f->face->nskin; i++) {
        double at[3];
        if (f->face->region[FA_REGION_LIP_UPPER][i] < 0.5f && f->face->region[FA_REGION_LIP_LOWER][i] < 0.5f) continue;
        canonical(f, f->face->x0 + 3 * (size_t)i, at);
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], at[k]), hi[k] = fmax(hi[k], at[k]);
    }
    for (int k = 0; k < 3; k++) middle[k] = 0.5 * (lo[k] + hi[k]);
    *front = hi[2], *wide = 0.5 * (hi[0] - lo[0]);
    return *wide > 0 && isfinite(*wide);
}

// Parts all of whose vertices lie behind the lips. A moustache does not.
static void find_inside(Finder *f) {
    double middle[3], front, wide;
    if (!find_lips(f, middle, &front, &wide)) return;
    memcpy(f->centre, middle, sizeof middle);
    f->centre[2] = front - ROUND * wide;
    for (int p = 0; p < f->topo.nparts; p++) f->inside[p] = !f->skin[p];
    for (int v = 0; v < f->rig->mesh.nvert; v++) {
        int p = f->topo.part[v];
        double at[3];
        if (p < 0 || !f->inside[p]) continue;
        canonical(f, f->rig->mesh.x + 3 * (size_t)v, at);
        if (fabs(at[0] - middle[0]) > ASIDE * wide || fabs(at[1] - middle[1]) > HIGH * wide || at[2] > front - BEHIND ||
            at[2] < front - BACK * wide)
            f->inside[p] = 0;
    }
}

static bool has_teeth(const FaFace *face) {
    for (int i = 0; i < face->nbone; i++)
        if (face->bone[i].kind == FA_BONE_TEETH_UPPER || face->bone[i].kind == FA_BONE_TEETH_LOWER) return true;
    return false;
}

// Does a triangle look away from the middle of the arch, to lips and cheeks? Rows with what looks to the tongue, to the
// palate or back would only cost time.
static bool is_outward(const Finder *f, int t) {
    const FaMesh *mesh = &f->rig->mesh;
    const int *v = mesh->tri + 3 * (size_t)t;
    double cross[3], n[3], at[3];
    fai_v3_tri_cross(mesh->x, v, cross);
    fai_m3_mulv(f->rig->axes, cross, n);
    canonical(f, mesh->x + 3 * (size_t)v[0], at);
    fai_v3_sub(at, f->centre, at);
    at[1] = 0;
    return fai_v3_dot(n, at) > OUTWARD * fai_v3_norm(n) * fai_v3_norm(at);
}

// 1: a triangle goes with the skull, 2: with the jaw, 0: it is soft, of the skin, or known already.
static int side_of(const Finder *f, bool teeth, int t) {
    const FaMesh *mesh = &f->rig->mesh;
    bool with = true, still = true;
    for (int k = 0; k < 3; k++) {
        int v = fai_weld(mesh, mesh->tri[3 * (size_t)t + (size_t)k]), p = f->topo.part[v];
        if (p < 0 || !f->inside[p]) return 0;
        with = with && f->share[v] >= WITH, still = still && f->share[v] <= STILL;
    }
    if (f->material[t] == FA_RENDER_EYE || (teeth && f->material[t] == FA_RENDER_TEETH)) return 0;
    if (!is_outward(f, t)) return 0;
    return still ? 1 : with ? 2 : 0;
}

static FaCode take(Finder *f, int side, FaArena *arena, FaMuscleInner *inner, FaError *err) {
    const FaMesh *mesh = &f->rig->mesh;
    const bool teeth = has_teeth(f->face);
    FaBone b = {.kind = FA_BONE_OTHER, .with_jaw = side == 2};
    snprintf(b.name, sizeof b.name, "%s", b.with_jaw ? "mouth_lower" : "mouth_upper");
    memset(f->id, 0, (size_t)mesh->nvert * sizeof *f->id);
    for (int t = 0; t < mesh->ntri; t++) b.ntri += side_of(f, teeth, t) == side;
    if (b.ntri == 0) return FA_OK;
    if (!(b.tri = FA_PUSH(arena, 3 * (size_t)b.ntri, int))) return FA_FAIL_MEMORY(err);
    for (int t = 0, n = 0; t < mesh->ntri; t++) {
        if (side_of(f, teeth, t) != side) continue;
        for (int k = 0; k < 3; k++) {
            int v = fai_weld(mesh, mesh->tri[3 * (size_t)t + (size_t)k]);
            if (!f->id[v]) f->id[v] = ++b.nvert;
            b.tri[n++] = f->id[v] - 1;
        }
    }
    if (!(b.x = FA_PUSH(arena, 3 * (size_t)b.nvert, float))) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++)
        if (f->id[v]) memcpy(b.x + 3 * (size_t)(f->id[v] - 1), mesh->x + 3 * (size_t)v, 3 * sizeof *b.x);
    inner->bone[inner->nbone++] = b;
    return FA_OK;
}

static FaCode find_riders(const Finder *f, const FaFilled *flesh, FaArena *arena, FaMuscleInner *inner, FaError *err) {
    const FaMesh *mesh = &f->rig->mesh;
    inner->vertex = FA_PUSH(arena, mesh->nvert + 1, int);
    inner->share = FA_PUSH(arena, mesh->nvert + 1, float);
    if (!inner->vertex || !inner->share) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++) {
        int w = fai_weld(mesh, v), p = f->topo.part[w];
        if (p < 0 || f->skin[p] || flesh->ride_start[v] != flesh->ride_start[v + 1]) continue;
        if ((double)f->share[w] < SLACK) continue;
        inner->vertex[inner->n] = v, inner->share[inner->n++] = f->share[w];
    }
    return FA_OK;
}

static FaCode find(Finder *f, const FaFilled *flesh, FaArena *arena, FaMuscleInner *inner, FaError *err) {
    const FaMesh *mesh = &f->rig->mesh;
    FaJaw jaw;
    if (f->topo.nparts < 2) return FA_OK;
    f->skin = FA_NEW(f->topo.nparts, unsigned char);
    f->inside = FA_NEW(f->topo.nparts, unsigned char);
    f->material = FA_NEW(mesh->ntri, unsigned char);
    f->share = FA_NEW(mesh->nvert, float);
    f->id = FA_NEW(mesh->nvert, int);
    if (!f->skin || !f->inside || !f->material || !f->share || !f->id) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->face->nskin; i++) {
        int p = f->topo.part[fai_weld(mesh, f->face->skin_vertex[i])];
        if (p >= 0) f->skin[p] = 1;
    }
    FA_TRY(fai_fit_jaw(f->rig, &jaw, f->share, NULL, err));
    FA_TRY(fai_material_guess(mesh, f->rig->axes, f->material, err));
    find_inside(f);
    for (int side = 1; side <= FA_INNER_BONES; side++) FA_TRY(take(f, side, arena, inner, err));
    if (inner->nbone == FA_INNER_BONES) // both rows; a tongue alone is no teeth
        for (int i = 0; i < inner->nbone; i++)
            inner->bone[i].kind = inner->bone[i].with_jaw ? FA_BONE_TEETH_LOWER : FA_BONE_TEETH_UPPER;
    return find_riders(f, flesh, arena, inner, err);
}

FaCode fai_inner_find(const FaRig *rig, const FaFace *face, const FaFilled *flesh, FaArena *arena, FaMuscleInner *inner,
                      FaError *err) {
    Finder f = {.rig = rig, .face = face};
    *inner = (FaMuscleInner){0};
    FA_TRY(fai_topology_build(&rig->mesh, &f.topo, err));
    FaCode rc = find(&f, flesh, arena, inner, err);
    fa_free(f.skin);
    fa_free(f.inside);
    fa_free(f.material);
    fa_free(f.share);
    fa_free(f.id);
    fai_topology_free(&f.topo);
    return rc;
}

FaCode fai_inner_face(const FaMuscleInner *inner, const FaFace *face, int nmore, const FaBone *more, FaFace *out,
                      FaError *err) {
    FaBone *bone = FA_NEW((size_t)nmore + (size_t)inner->nbone + (size_t)face->nbone + 1, FaBone);
    int n = 0;
    if (!bone) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < nmore; i++) bone[n++] = more[i];
    for (int i = 0; i < face->nbone; i++) bone[n++] = face->bone[i];
    for (int i = 0; i < inner->nbone; i++) bone[n++] = inner->bone[i];
    *out = *face;
    out->bone = bone, out->nbone = n;
    return FA_OK;
}

void fai_inner_ride(const FaMuscleInner *inner, const FaPose *jaw, float *x) {
    static const FaPose none = {{0, 0, 0, 1}, {0, 0, 0}};
    if (memcmp(jaw, &none, sizeof none) == 0) return;
    for (int i = 0; i < inner->n; i++) {
        double p[3], q[3];
        fai_v3_load(x, inner->vertex[i], p);
        fai_pose_apply(jaw, p, q);
        for (int k = 0; k < 3; k++)
            x[3 * (size_t)inner->vertex[i] + (size_t)k] = (float)(p[k] + (double)inner->share[i] * (q[k] - p[k]));
    }
}

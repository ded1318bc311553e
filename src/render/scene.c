#include "render/scene.h"

#include "mesh/mesh.h"

#include <math.h>

static FaRenderMaterial material_of(const FaRenderPart *part, int t) {
    int m = part->tri_material ? part->tri_material[t] : (int)part->material;
    return m >= 0 && m < FA_RENDER_MATERIALS ? (FaRenderMaterial)m : FA_RENDER_OTHER;
}

// --- building -----------------------------------------------------------------------------------------------------

static FaVec to_scene(const FaScene *s, const float *p) {
    const double *a = s->axes;
    return fai_vec((float)(a[0] * p[0] + a[1] * p[1] + a[2] * p[2]), (float)(a[3] * p[0] + a[4] * p[1] + a[5] * p[2]),
                   (float)(a[6] * p[0] + a[7] * p[1] + a[8] * p[2]));
}

static void copy_positions(const FaScene *s, const float *x, int n, float *out) {
    for (int i = 0; i < n; i++) {
        FaVec p = to_scene(s, x + 3 * (size_t)i);
        out[3 * i] = p.x, out[3 * i + 1] = p.y, out[3 * i + 2] = p.z;
    }
}

// Which edges of the triangles are edges of the polygons they were cut from. `next` is scratch: the vertex that follows
// each one in the polygon at hand, valid where `mark` names that polygon.
static void mark_edges(const FaMesh *mesh, int *next, int *mark, unsigned char *edges_of_tri) {
    for (int v = 0; v < mesh->nvert; v++) mark[v] = -1;
    int face = -1;
    for (int t = 0; t < mesh->ntri; t++) {
        const int *v = mesh->tri + 3 * t;
        if (mesh->tri_face[t] != face) {
            face = mesh->tri_face[t];
            int begin = mesh->face_start[face], end = mesh->face_start[face + 1];
            for (int k = begin; k < end; k++) {
                next[mesh->face_vert[k]] = mesh->face_vert[k + 1 < end ? k + 1 : begin];
                mark[mesh->face_vert[k]] = face;
            }
        }
        for (int k = 0; k < 3; k++)
            if (mark[v[k]] == face && next[v[k]] == v[(k + 1) % 3]) edges_of_tri[t] |= (unsigned char)(1 << k);
    }
}

static FaCode add_part(FaScene *s, int p, int *ntri, FaError *err) {
    const FaMesh *mesh = s->part[p].mesh;
    int base = s->part_vert[p];
    int *next = FA_NEW(mesh->nvert, int), *mark = FA_NEW(mesh->nvert, int);
    unsigned char *edges = FA_NEW(mesh->ntri, unsigned char);
    FaCode rc = FA_OK;
    if (!next || !mark || !edges) {
        rc = FA_FAIL_MEMORY(err);
        goto done;
    }
    if (mesh->face_start && mesh->tri_face)
        mark_edges(mesh, next, mark, edges);
    else
        memset(edges, 7, (size_t)mesh->ntri);
    copy_positions(s, mesh->x, mesh->nvert, s->rest + 3 * base);
    for (int v = 0; v < mesh->nvert && s->across; v++)
        s->across[base + v] = s->part[p].uvw ? s->part[p].uvw[3 * v + 1] : 0;
    for (int t = 0; t < mesh->ntri; t++) {
        FaRenderMaterial m = material_of(&s->part[p], t);
        if (m == FA_RENDER_HIDDEN) continue;
        int n = (*ntri)++;
        for (int k = 0; k < 3; k++) {
            s->tri[3 * n + k] = base + mesh->tri[3 * t + k];
            s->welded[3 * n + k] = base + fai_weld(mesh, mesh->tri[3 * t + k]);
        }
        s->material[n] = (unsigned char)m;
        s->edges[n] = edges[t];
        s->pull[n] = (unsigned char)lround(255 * fmin(fmax(s->part[p].pull, 0), 1));
        s->eyeball[n] = -1;
    }
done:
    fa_free(next);
    fa_free(mark);
    fa_free(edges);
    return rc;
}

static FaCode allocate(FaScene *s, const FaRenderPart *parts, int nparts, FaError *err) {
    FaRenderPart *copy = FA_PUSH(s->arena, nparts, FaRenderPart);
    s->part_vert = FA_PUSH(s->arena, nparts + 1, int);
    if (!copy || !s->part_vert) return FA_FAIL_MEMORY(err);
    int64_t nvert = 0, ntri = 0;
    bool fibres = false;
    for (int p = 0; p < nparts; p++) {
        copy[p] = parts[p];
        fibres |= parts[p].uvw != NULL;
        s->part_vert[p] = (int)nvert;
        nvert += parts[p].mesh->nvert;
        for (int t = 0; t < parts[p].mesh->ntri; t++) ntri += material_of(&parts[p], t) != FA_RENDER_HIDDEN;
        if (nvert > INT32_MAX / 8 || ntri > INT32_MAX / 8)
            return FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "too many vertices or triangles to render");
    }
    s->part_vert[nparts] = (int)nvert;
    s->part = copy;
    s->nparts = nparts;
    s->nvert = (int)nvert;
    s->ntri = (int)ntri;
    s->x = FA_PUSH(s->arena, 3 * nvert + 4, float);
    s->rest = FA_PUSH(s->arena, 3 * nvert + 4, float);
    s->heat = FA_PUSH(s->arena, nvert, float);
    s->tri = FA_PUSH(s->arena, 3 * ntri, int);
    s->welded = FA_PUSH(s->arena, 3 * ntri, int);
    s->corner_normal = FA_PUSH(s->arena, 3 * ntri, int);
    s->material = FA_PUSH(s->arena, ntri, unsigned char);
    s->edges = FA_PUSH(s->arena, ntri, unsigned char);
    s->pull = FA_PUSH(s->arena, ntri, unsigned char);
    s->eyeball = FA_PUSH(s->arena, ntri, short);
    if (fibres && !(s->across = FA_PUSH(s->arena, nvert, float))) return FA_FAIL_MEMORY(err);
    if (!s->x || !s->rest || !s->heat || !s->tri || !s->welded || !s->corner_normal || !s->material || !s->edges ||
        !s->pull || !s->eyeball)
        return FA_FAIL_MEMORY(err);
    return FA_OK;
}

FaCode fai_scene_new(const FaRenderPart *parts, int nparts, const double axes[9], FaScene **scene, FaError *err) {
    *scene = NULL;
    FaCode rc = FA_OK;
    FaScene *s = FA_NEW(1, FaScene);
    if (!s) return FA_FAIL_MEMORY(err);
    s->arena = fai_arena_new(0);
    if (!s->arena) FA_TRY_GOTO(fail, rc, FA_FAIL_MEMORY(err));
    bool given = false;
    for (int i = 0; i < 9; i++) given |= axes[i] != 0;
    for (int i = 0; i < 9; i++) s->axes[i] = given ? axes[i] : i % 4 == 0;
    FA_TRY_GOTO(fail, rc, allocate(s, parts, nparts, err));
    int ntri = 0;
    for (int p = 0; p < nparts; p++) FA_TRY_GOTO(fail, rc, add_part(s, p, &ntri, err));
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 3 * s->ntri; i++)
        for (int k = 0; k < 3; k++) {
            float v = s->rest[3 * s->tri[i] + k];
            lo[k] = FA_MIN(lo[k], v), hi[k] = FA_MAX(hi[k], v);
        }
    if (s->ntri > 0) s->size = 0.5f * fai_len(fai_sub(fai_vec_of(hi), fai_vec_of(lo)));
    if (!(s->size > 0) || !isfinite(s->size)) s->size = 0.1f;
    FA_TRY_GOTO(fail, rc, fai_scene_find_creases(s, err));
    FA_TRY_GOTO(fail, rc, fai_scene_find_eyes(s, err));
    FA_TRY_GOTO(fail, rc, fai_rays_new(&s->rays, err));
    FA_TRY_GOTO(fail, rc, fai_rays_set(s->rays, s->x, s->nvert, s->tri, s->ntri, err));
    *scene = s;
    return FA_OK;
fail:
    fai_scene_free(s);
    return rc;
}

void fai_scene_free(FaScene *s) {
    if (!s) return;
    fai_rays_free(s->rays);
    fai_arena_free(s->arena);
    fa_free(s);
}

// --- posing -------------------------------------------------------------------------------------------------------

FaCode fai_scene_pose(FaScene *s, const float *const *x, const float *const *heat, FaError *err) {
    s->has_heat = false;
    for (int p = 0; p < s->nparts; p++) {
        int base = s->part_vert[p], n = s->part_vert[p + 1] - base;
        if (x && x[p])
            copy_positions(s, x[p], n, s->x + 3 * base);
        else
            memcpy(s->x + 3 * base, s->rest + 3 * base, 3 * (size_t)n * sizeof(float));
        for (int i = 0; i < 3 * n; i++)
            if (!isfinite(s->x[3 * base + i]))
                return FA_FAIL(err, FA_E_MESH, FA_PLACE("mesh %d, vertex %d", p, i / 3), NULL,
                               "a position is not finite");
        if (heat && heat[p]) {
            memcpy(s->heat + base, heat[p], (size_t)n * sizeof(float));
            s->has_heat = true;
        } else {
            memset(s->heat + base, 0, (size_t)n * sizeof(float));
        }
    }
    fai_scene_normals(s);
    return fai_rays_build(s->rays, err);
}

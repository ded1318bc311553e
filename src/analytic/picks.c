#include "analytic/picks.h"

#include "base/file.h"
#include "io/gltf/gltf_edit.h"
#include "math/mat3.h"

#include <math.h>

static void more_free(FaMoreShapes *m) {
    fa_free(m->first);
    fa_free(m->row);
    fa_free(m->delta);
}

static FaCode mix(const FaRig *rig, int n, const float *weights, FaMoreShapes *m, FaError *err) {
    size_t nvert = (size_t)rig->mesh.nvert;
    double *sum = FA_NEW(3 * nvert, double);
    *m = (FaMoreShapes){.n = n, .first = FA_NEW(n + 1, int), .row = FA_NEW(1, int), .delta = FA_NEW(1, float)};
    FaCode rc = sum && m->first && m->row && m->delta ? FA_OK : FA_FAIL_MEMORY(err);
    int count = 0, room = 0, room3 = 0;
    for (int i = 0; i < n && rc >= 0; i++) {
        memset(sum, 0, 3 * nvert * sizeof *sum);
        for (int s = 0; s < rig->nshape; s++) {
            double w = (double)weights[(size_t)i * (size_t)rig->nshape + (size_t)s];
            for (int e = rig->shape[s].first; w != 0 && e < rig->shape[s].first + rig->shape[s].count; e++)
                for (int k = 0; k < 3; k++)
                    sum[3 * (size_t)rig->row[e] + (size_t)k] += w * (double)rig->delta[3 * (size_t)e + (size_t)k];
        }
        for (int v = 0; v < rig->mesh.nvert; v++) {
            const double *d = sum + 3 * (size_t)v;
            if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
            if (count >= INT32_MAX / 3 - 1) {
                rc = FA_FAIL(err, FA_E_LIMIT, NULL, "pick fewer", "the new shapes have too many vertices");
                break;
            }
            int *row = fai_grow_array(m->row, &room, count + 1, sizeof *row);
            if (row) m->row = row;
            float *delta = row ? fai_grow_array(m->delta, &room3, 3 * (count + 1), sizeof *delta) : NULL;
            if (!delta) {
                rc = FA_FAIL_MEMORY(err);
                break;
            }
            m->delta = delta;
            row[count] = v;
            for (int k = 0; k < 3; k++) delta[3 * (size_t)count + (size_t)k] = (float)d[k];
            count++;
        }
        m->first[i + 1] = count;
    }
    fa_free(sum);
    return rc;
}

// --- into the user's own glTF -------------------------------------------------------------------------------------

static void name_list(FaGltfOut *out, FaJson *owner, int nuser, int n, const char (*name)[32]) {
    FaJson *extras = fai_json_get(owner, "extras"), *old = fai_json_get(extras, "targetNames");
    if (!fai_json_is(old, FA_JSON_ARRAY) || old->count != nuser + n) return;
    FaJson *list = fai_json_new_array(out->json);
    int i = 0;
    for (const FaJson *v = old->first; v && list; v = v->next, i++) {
        FaJson *add = i < nuser ? fai_json_copy(out->json, v) : fai_json_new_str(out->json, name[i - nuser]);
        out->failed |= !add || !fai_json_append(out->json, list, add);
    }
    out->failed |= !list || !fai_json_set(out->json, extras, "targetNames", list);
}

// Targets are added as a bake's are, which names them fascia_000...; here they become the user's own.
static FaCode rename_targets(const char *path, int mesh_at, int n, const char (*name)[32], FaError *err) {
    FaGltf *doc = NULL;
    FaGltfOut out;
    FA_TRY(fai_gltf_load(path, &doc, err));
    FaCode rc = fai_gltf_out_open(&out, doc, path, err);
    if (rc >= 0) {
        int nuser = doc->mesh[mesh_at].ntarget - n;
        FaJson *mesh = fai_json_at(fai_json_get(out.root, "meshes"), mesh_at);
        name_list(&out, mesh, nuser, n, name);
        FaJson *prims = fai_json_get(mesh, "primitives");
        for (FaJson *p = prims ? prims->first : NULL; p; p = p->next) name_list(&out, p, nuser, n, name);
        FaJson *record = fai_json_get(fai_json_get(fai_json_get(out.root, "asset"), "extras"), "fascia");
        if (record) {
            fai_json_remove(record, "bake");
            fai_json_remove(record, "added");
        }
        rc = fai_gltf_out_write(&out, err);
    }
    fai_gltf_out_close(&out);
    fai_gltf_free(doc);
    return rc;
}

static FaCode save_gltf(const FaRig *rig, const FaMoreShapes *m, const char (*name)[32], const char *path,
                        FaError *err) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    double back[9];
    if (!fai_m3_inverse(rig->local, back))
        return FA_FAIL(err, FA_E_MESH, NULL, "give the node a scale that is not 0", "the face's node is flat");
    for (int i = 0; i < m->first[m->n]; i++) {
        double d[3];
        fai_v3_load(m->delta, i, d);
        fai_m3_mulv(back, d, d);
        for (int k = 0; k < 3; k++) m->delta[3 * (size_t)i + (size_t)k] = (float)d[k];
    }
    FaBake bake = {.nvert = rig->mesh.nvert, .ntarget = m->n, .first = m->first, .row = m->row, .delta = m->delta};
    FaGltfMotion motion = {.bake = &bake, .generator = "fascia " FA_VERSION_TEXT " blend"};
    FA_TRY(fai_gltf_save_motion(doc, rig, &motion, path, NULL, err));
    return rename_targets(path, doc->face.mesh, m->n, name, err);
}

// --- into a new file ----------------------------------------------------------------------------------------------

static FaCode save_new(const FaRig *rig, const FaMoreShapes *m, const char (*name)[32], const char *path,
                       FaError *err) {
    size_t old = (size_t)rig->nentry, add = (size_t)m->first[m->n], nshape = (size_t)rig->nshape + (size_t)m->n;
    FaRig more = *rig;
    more.source = NULL;
    more.source_free = NULL;
    more.shape = FA_NEW(nshape, FaShape);
    more.weight = FA_NEW(nshape, float);
    more.row = FA_NEW(old + add, int);
    more.delta = FA_NEW(3 * (old + add), float);
    FaCode rc = more.shape && more.weight && more.row && more.delta ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && old + add > INT32_MAX / 3)
        rc = FA_FAIL(err, FA_E_LIMIT, NULL, "pick fewer", "the new shapes have too many vertices");
    if (rc >= 0) {
        memcpy(more.shape, rig->shape, (size_t)rig->nshape * sizeof *more.shape);
        memcpy(more.weight, rig->weight, (size_t)rig->nshape * sizeof *more.weight);
        memcpy(more.row, rig->row, old * sizeof *more.row);
        memcpy(more.delta, rig->delta, 3 * old * sizeof *more.delta);
        memcpy(more.row + old, m->row, add * sizeof *more.row);
        memcpy(more.delta + 3 * old, m->delta, 3 * add * sizeof *more.delta);
        for (int i = 0; i < m->n; i++)
            more.shape[rig->nshape + i] =
                (FaShape){name[i], -1, 0, rig->nentry + m->first[i], m->first[i + 1] - m->first[i], FA_SAID_NOTHING};
        more.nshape = (int)nshape;
        more.nentry = (int)(old + add);
        rc = fa_rig_save(&more, NULL, path, err);
    }
    fa_free(more.shape);
    fa_free(more.weight);
    fa_free(more.row);
    fa_free(more.delta);
    return rc;
}

FaCode fai_save_more_shapes(const FaRig *rig, const FaMoreShapes *more, const char (*name)[32], const char *path,
                            FaError *err) {
    bool gltf = fai_path_has_ext(path, "glb") || fai_path_has_ext(path, "gltf") || fai_path_has_ext(path, "vrm");
    return gltf && fai_gltf_of_rig(rig) ? save_gltf(rig, more, name, path, err) : save_new(rig, more, name, path, err);
}

FaCode fai_save_with_shapes(const FaRig *rig, int n, const char (*name)[32], const float *weights, const char *path,
                            FaError *err) {
    FaMoreShapes m;
    FaCode rc = mix(rig, n, weights, &m, err);
    if (rc >= 0) rc = fai_save_more_shapes(rig, &m, name, path, err);
    more_free(&m);
    return fai_fail_in(err, rc, path);
}

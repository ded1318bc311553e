// Face models from what there is: the shipped head made linear, and the user's own files.
#include "base/file.h"
#include "base/json.h"
#include "head/head_landmarks.h"
#include "head/identity.h"
#include "head/skin.h"
#include "io/obj.h"
#include "math/mat3.h"
#include "track/face_model.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

enum { HEAD_LEVEL = 0 };

// --- the shipped head ---------------------------------------------------------------------------------------------

// Half the difference of the skins at +1 and -1 standard deviation: the head's own warp of the mean, without the rest
// of the head.
static void differ(const FaiSkin *skin, int k, float *row) {
    double value[FA_HEAD_IDENTITY_COUNT] = {0};
    FaiWarp warp[2];
    for (int side = 0; side < 2; side++) {
        value[k] = side ? -1 : 1;
        fai_warp_begin(&warp[side], value);
    }
    for (int v = 0; v < skin->mesh.nvert; v++) {
        const double *c = skin->mesh.val + (size_t)v * CAGE_CHANNELS;
        double inner = c[CAGE_MOUTH] * fai_smooth(5, 6.2, c[CAGE_MOUTH_V]), x[2][3];
        for (int side = 0; side < 2; side++) fai_warp_point(&warp[side], c, false, inner, c[CAGE_EAR], x[side]);
        for (int a = 0; a < 3; a++) row[3 * (size_t)v + (size_t)a] = (float)(0.5e-3 * (x[0][a] - x[1][a]));
        if (c[CAGE_X] == 0) row[3 * (size_t)v] = 0;
    }
}

static FaCode head_basis(int nvert, float *basis, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    FaiSkin skin;
    FaCode rc = arena ? fai_skin_build(arena, HEAD_LEVEL, &skin, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        FA_ASSERT(skin.mesh.nvert == nvert);
        for (int k = 0; k < FA_HEAD_IDENTITY_COUNT; k++) differ(&skin, k, basis + 3 * (size_t)nvert * (size_t)k);
    }
    fai_arena_free(arena);
    return rc;
}

// --- irises -------------------------------------------------------------------------------------------------------

// The ring where an eye's iris meets its white; its middle is what trackers call the iris' centre. Returns how many
// vertices.
static int iris_ring(const FaHeadPart *eye, int *ring, int room) {
    const FaMesh *m = &eye->mesh;
    int n = 0;
    for (int v = 0; v < m->nvert && n < room; v++) {
        bool iris = false, white = false;
        for (int f = 0; f < m->nface; f++)
            for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++) {
                if (m->face_vert[c] != v) continue;
                iris = iris || !strcmp(eye->region[eye->face_region[f]], "iris");
                white = white || !strcmp(eye->region[eye->face_region[f]], "sclera");
            }
        if (iris && white) ring[n++] = v;
    }
    return n;
}

// Where the vertex of a shape is among its rows; -1: it stays.
static int shape_row(const FaHeadShape *s, int v) {
    for (int k = 0; k < s->count; k++)
        if (s->row[k] == v) return k;
    return -1;
}

// One iris landmark from n vertices of the eye: place, motion with identity (warp: both sides of each), motion with the
// gaze.
static void iris_point(const FaFaceModel *m, const FaHeadPart *eye, int side, const int *vert, int n,
                       const FaiWarp *warp, FaModelExtra *e) {
    for (int i = 0; i < n; i++) {
        double x[3], mm[3], to[2][3];
        fai_v3_load(eye->mesh.x, vert[i], x);
        fai_v3_mad(e->mean, 1.0 / n, x, e->mean);
        fai_v3_scale(1e3, x, mm);
        for (int k = 0; k < m->nid; k++) {
            for (int s = 0; s < 2; s++) fai_warp_eye(&warp[2 * k + s], side, mm, to[s]);
            for (int a = 0; a < 3; a++) e->id[3 * k + a] += 0.5e-3 * (to[0][a] - to[1][a]) / n;
        }
    }
    for (int j = 0; j < m->nexp && e->nmove < 4; j++)
        for (int s = 0; s < eye->nshape; s++) {
            const FaHeadShape *shape = &eye->shape[s];
            if (shape->arkit != m->rig->shape[j].arkit) continue;
            double *b = e->b[e->nmove];
            for (int i = 0; i < n; i++) {
                int at = shape_row(shape, vert[i]);
                for (int a = 0; at >= 0 && a < 3; a++) b[a] += (double)shape->delta[3 * at + a] / n;
            }
            e->shape[e->nmove++] = j;
        }
}

// The five landmarks of one eye: centre, outwards, up, inwards, down. False: the part is no eye.
static bool eye_irises(const FaFaceModel *m, const FaHeadPart *eye, const FaiWarp *warp, double *id,
                       FaModelExtra extra[10]) {
    static const int LEFT[5] = {473, 474, 475, 476, 477}, RIGHT[5] = {468, 471, 470, 469, 472};
    static const double WAY[5][2] = {{0, 0}, {1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    int side = !strcmp(eye->name, "eye_left") ? 1 : !strcmp(eye->name, "eye_right") ? -1 : 0, ring[64], n;
    if (!side || (n = iris_ring(eye, ring, FA_COUNT(ring))) < 8) return false;
    for (int i = 0; i < 5; i++) {
        int at = (side > 0 ? LEFT : RIGHT)[i], best = 0;
        double far = -INFINITY;
        for (int k = 0; k < n; k++) {
            const float *x = eye->mesh.x + 3 * (size_t)ring[k];
            double d = side * WAY[i][0] * (double)x[0] + WAY[i][1] * (double)x[1];
            if (d > far + 1e-7) far = d, best = k;
        }
        FaModelExtra *e = &extra[at - 468];
        *e = (FaModelExtra){.index = at, .trust = 1, .id = id + 3 * (size_t)(at - 468) * (size_t)m->nid};
        iris_point(m, eye, side, i ? &ring[best] : ring, i ? 1 : n, warp, e);
    }
    return true;
}

static FaCode head_irises(FaFaceModel *m, const FaHead *head, FaArena *arena, FaError *err) {
    FaModelExtra extra[10];
    FaiWarp *warp = FA_PUSH(arena, 2 * (size_t)m->nid, FaiWarp);
    double *id = FA_PUSH(arena, 30 * (size_t)m->nid, double);
    int eyes = 0;
    if (!warp || !id) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < 2 * m->nid; k++) {
        double value[FA_HEAD_IDENTITY_COUNT] = {0};
        value[k / 2] = k % 2 ? -1 : 1;
        fai_warp_begin(&warp[k], value);
    }
    for (int p = 0; p < head->npart; p++) eyes += eye_irises(m, &head->part[p], warp, id, extra);
    return eyes == 2 ? fai_model_add(m, FA_LANDMARKS_478, 10, extra, err) : FA_OK;
}

static FaCode head_landmarks(FaFaceModel *m, const FaHead *head, FaError *err) {
    static const FaLandmarkLayout LAYOUT[] = {FA_LANDMARKS_68, FA_LANDMARKS_478};
    FaMarkerPoint point[478];
    float weight[478];
    for (int i = 0; i < FA_COUNT(LAYOUT); i++) {
        FA_TRY(fai_head_landmarks(head, LAYOUT[i], point, weight, err));
        // irises turn with the gaze, which the skin does not show: they come from the eyes
        for (int l = 468; i == 1 && l < 478; l++) weight[l] = 0;
        FA_TRY(fa_face_model_landmarks(m, LAYOUT[i], point, weight, err));
    }
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? head_irises(m, head, arena, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(arena);
    return rc;
}

static FaCode head_model(const FaHead *head, FaFaceModel **model, FaError *err) {
    FaRig *rig = NULL;
    FA_TRY(fa_head_rig(head, 0, &rig, err));
    int nid = FA_HEAD_IDENTITY_COUNT, nvert = rig->mesh.nvert;
    const char *name[FA_HEAD_IDENTITY_COUNT];
    float *basis = FA_NEW(3 * (size_t)nvert * (size_t)nid, float);
    FaCode rc = basis ? FA_OK : FA_FAIL_MEMORY(err);
    for (int k = 0; k < nid; k++) name[k] = fa_head_identity(k).name;
    if (rc >= 0) rc = head_basis(nvert, basis, err);
    if (rc >= 0) rc = fa_face_model_new(rig, nid, name, basis, model, err);
    fa_free(basis);
    if (rc < 0) {
        fa_rig_free(rig);
        return rc;
    }
    FaFaceModel *m = *model;
    m->own = rig;
    m->name = "the shipped head";
    float *lo = (float *)m->id_lo, *hi = (float *)m->id_hi;
    for (int k = 0; k < nid; k++) {
        lo[k] = (float)fa_head_identity(k).min;
        hi[k] = (float)fa_head_identity(k).max;
    }
    return head_landmarks(m, head, err);
}

FaCode fa_face_model_head(FaFaceModel **model, FaError *err) {
    FA_ASSERT(model);
    *model = NULL;
    FaHeadParams mean = fa_head_params_default();
    mean.level = HEAD_LEVEL;
    FaHead *head = NULL;
    FA_TRY(fa_head_new(&mean, &head, err));
    FaCode rc = head_model(head, model, err);
    fa_head_free(head);
    if (rc < 0) {
        fa_face_model_free(*model);
        *model = NULL;
    }
    return rc;
}

// --- the user's own -----------------------------------------------------------------------------------------------

// Displacements of one identity file against the rig's neutral; `like` is the first file, read whole.
static FaCode read_identity(const char *path, const FaRig *rig, FaArena *arena, FaObj *like, double *x, float *row,
                            FaError *err) {
    int n = rig->mesh.nvert;
    if (!like->x) {
        FaCode rc = fai_obj_load(path, arena, like, err);
        if (rc < 0) return fai_fail_in(err, rc, path);
        if (like->nvert != n)
            return fai_fail_in(err,
                               FA_FAIL(err, FA_E_MESH, NULL,
                                       "identities need the vertices of the neutral, in its order",
                                       "it has %d vertices, the rig %d", like->nvert, n),
                               path);
        memcpy(x, like->x, 3 * (size_t)n * sizeof *x);
    } else {
        FaBytes bytes = {0};
        FA_TRY(fai_file_read(path, 0, &bytes, err));
        FaCode rc = fai_obj_read_like(&bytes, like, "the first identity", x, err);
        fai_bytes_free(&bytes);
        if (rc < 0) return fai_fail_in(err, rc, path);
    }
    for (int v = 0; v < n; v++)
        for (int k = 0; k < 3; k++) {
            const double *p = x + 3 * (size_t)v, *m = rig->local + 3 * k;
            row[3 * (size_t)v + (size_t)k] =
                (float)(m[0] * p[0] + m[1] * p[1] + m[2] * p[2] - (double)rig->mesh.x[3 * (size_t)v + (size_t)k]);
        }
    return FA_OK;
}

typedef struct Identities {
    int count;
    char **path;
    char **name;
    float *basis;
    FaNames names;
} Identities;

static void identities_free(Identities *id) {
    for (int i = 0; id->path && id->name && i < id->count; i++) {
        fa_free(id->path[i]);
        fa_free(id->name[i]);
    }
    fa_free(id->path);
    fa_free(id->name);
    fa_free(id->basis);
    fai_names_free(&id->names);
}

static FaCode list_identities(const FaFaceModelOptions *o, const FaRig *rig, Identities *id, FaError *err) {
    bool folder = fai_dir_exists(o->identities);
    if (folder) FA_TRY(fai_obj_list(o->identities, &id->names, err));
    int count = folder ? id->names.count : 1;
    if (o->max_identities > 0) count = FA_MIN(count, o->max_identities);
    if (count < 1 || count > 400)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a folder with 1 to 400 .obj files", "'%s' has %d identities",
                       o->identities, count);
    id->path = FA_NEW(count, char *);
    id->name = FA_NEW(count, char *);
    id->basis = FA_NEW(3 * (size_t)rig->mesh.nvert * (size_t)count, float);
    if (!id->path || !id->name || !id->basis) return FA_FAIL_MEMORY(err);
    id->count = count;
    for (int i = 0; i < count; i++) {
        const char *tail = folder ? id->names.name[i] : "";
        size_t size = strlen(o->identities) + strlen(tail) + 2;
        id->path[i] = FA_NEW(size, char);
        if (!id->path[i]) return FA_FAIL_MEMORY(err);
        snprintf(id->path[i], size, "%s%s%s", o->identities, folder ? "/" : "", tail);
        const char *slash = strrchr(id->path[i], '/'), *stem = slash ? slash + 1 : id->path[i];
        id->name[i] = fai_strndup(stem, strcspn(stem, "."));
        if (!id->name[i]) return FA_FAIL_MEMORY(err);
    }
    return FA_OK;
}

static FaCode read_identities(const FaFaceModelOptions *o, const FaRig *rig, Identities *id, FaError *err) {
    FA_TRY(list_identities(o, rig, id, err));
    size_t n = 3 * (size_t)rig->mesh.nvert;
    FaArena *arena = fai_arena_new(0);
    FaObj like = {0};
    double *x = FA_NEW(n, double);
    FaCode rc = arena && x ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < id->count; i++)
        rc = read_identity(id->path[i], rig, arena, &like, x, id->basis + n * (size_t)i, err);
    fai_obj_free(&like);
    fai_arena_free(arena);
    fa_free(x);
    return rc;
}

// --- tables of landmarks ------------------------------------------------------------------------------------------

static void set_vertex(FaMarkerPoint *p, int v) {
    *p = (FaMarkerPoint){.tri = -1, .vert = {v, v, v}, .bary = {1, 0, 0}};
}

// ICT-FaceKit's list of vertices, or a plain array. *known: it is one of these.
static FaCode read_list(const char *path, const FaRig *rig, int count, FaMarkerPoint *point, bool *known,
                        FaError *err) {
    FaBytes bytes = {0};
    FaJsonDoc *doc = NULL;
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    FaCode rc = fai_json_parse((const char *)bytes.data, bytes.size, &doc, NULL, err);
    fai_bytes_free(&bytes);
    if (rc < 0) return fai_fail_in(err, rc, path);
    const FaJson *list =
        fai_json_is(doc->root, FA_JSON_ARRAY) ? doc->root : fai_json_get(doc->root, "idx_to_landmark_verts");
    *known = fai_json_is(list, FA_JSON_ARRAY);
    if (*known && fai_json_count(list) != count)
        rc = FA_FAIL(err, FA_E_FORMAT, fai_json_path(list).text, "give one vertex per landmark",
                     "%d landmarks, the layout has %d", fai_json_count(list), count);
    int i = 0;
    for (const FaJson *v = *known ? list->first : NULL; v && rc >= 0; v = v->next, i++) {
        bool fine = fai_json_is(v, FA_JSON_NUMBER) && v->number >= 0 && v->number < rig->mesh.nvert &&
                    v->number == floor(v->number);
        if (fine)
            set_vertex(&point[i], (int)v->number);
        else if (!fai_json_is(v, FA_JSON_NULL))
            rc = FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text,
                         FA_PLACE("the rig has vertices 0 to %d", rig->mesh.nvert - 1),
                         "no vertex of the rig has this number");
    }
    fai_json_free(doc);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

static FaCode read_map(const char *path, const FaRig *rig, int count, FaMarkerPoint *point, FaError *err) {
    FaMarkerMap *map = NULL;
    FA_TRY(fa_marker_map_load(path, rig, &map, err));
    FaCode rc = FA_OK;
    for (int i = 0; i < map->count && rc >= 0; i++) {
        const char *digits = map->name[i];
        while (*digits && !isdigit((unsigned char)*digits)) digits++;
        char *end = NULL;
        long at = *digits ? strtol(digits, &end, 10) : -1;
        if (at < 0 || at >= count || *end)
            rc = fai_fail_in(err,
                             FA_FAIL(err, FA_E_FORMAT, FA_PLACE("'%s'", map->name[i]),
                                     FA_PLACE("names end in a landmark's number, 0 to %d", count - 1),
                                     "it is no landmark"),
                             path);
        else
            point[at] = map->point[i];
    }
    fa_marker_map_free(map);
    return rc;
}

static FaCode load_landmarks(FaFaceModel *m, const char *path, FaLandmarkLayout layout, FaError *err) {
    FaMarkerPoint point[478];
    int count = fai_landmark_count(layout);
    bool known = false;
    for (int i = 0; i < count; i++) point[i] = (FaMarkerPoint){.tri = -1, .vert = {-1, -1, -1}};
    FA_TRY(read_list(path, m->rig, count, point, &known, err));
    if (!known) FA_TRY(read_map(path, m->rig, count, point, err));
    float weight[478];
    // the outline of the jaw slides over the skin as the head turns
    for (int i = 0; i < count; i++) weight[i] = layout == FA_LANDMARKS_68 && i < 17 ? 0.3F : 1;
    FaCode rc = fa_face_model_landmarks(m, layout, point, weight, err);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

static FaCode build(const FaFaceModelOptions *o, FaRig *rig, FaFaceModel **model, FaError *err) {
    Identities id = {0};
    FaCode rc = o->identities ? read_identities(o, rig, &id, err) : FA_OK;
    if (rc >= 0) rc = fa_face_model_new(rig, id.count, (const char *const *)id.name, id.basis, model, err);
    identities_free(&id);
    if (rc < 0) {
        fa_rig_free(rig);
        return rc;
    }
    (*model)->own = rig;
    if (o->landmarks) FA_TRY(load_landmarks(*model, o->landmarks, o->layout, err));
    if (o->landmarks2)
        FA_TRY(load_landmarks(*model, o->landmarks2, o->layout == FA_LANDMARKS_68 ? FA_LANDMARKS_478 : FA_LANDMARKS_68,
                              err));
    return FA_OK;
}

FaFaceModelOptions fa_face_model_options_default(void) { return (FaFaceModelOptions){0}; }

FaCode fa_face_model_load(const FaFaceModelOptions *options, FaFaceModel **model, FaError *err) {
    FA_ASSERT(options && options->rig && model);
    *model = NULL;
    FaRig *rig = NULL;
    FA_TRY(fa_rig_load(options->rig, options->how, &rig, err));
    FaCode rc = build(options, rig, model, err);
    if (rc < 0) {
        fa_face_model_free(*model);
        *model = NULL;
    }
    return rc;
}

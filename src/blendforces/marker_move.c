// Points of one face on another of any topology (fascia/retarget.h).
#include "blendforces/retarget.h"
#include "io/markers.h"
#include "math/mat3.h"
#include "rig/transfer_register.h"
#include "track/markers_face.h"

#include <math.h>

static const double REACH = 0.03;      // m
static const double REGISTER = 0.05;   // of the target's extent: how far a corresponding surface may be
static const double FACES_ALIKE = 0.2; // cosine of normals

FaCode fai_marker_nearest(const FaRig *rig, int n, const double *x, const unsigned char *has, bool aligned,
                          double reach, FaMarkerMap **map, FaError *err) {
    *map = NULL;
    FaMarkerTake *take = NULL;
    char(*text)[16] = fai_alloc_array((size_t)n, sizeof *text);
    const char **name = FA_NEW(n, const char *);
    FaCode rc = text && name ? FA_OK : FA_FAIL_MEMORY(err);
    for (int m = 0; rc >= 0 && m < n; m++) {
        snprintf(text[m], sizeof text[m], "p%d", m);
        name[m] = text[m];
    }
    if (rc >= 0) rc = fa_markers_new(1, n, name, 30, &take, err);
    for (int m = 0; rc >= 0 && m < n; m++) {
        if (!has[m]) continue;
        take->ok[m] = 1;
        for (size_t k = 0; k < 3; k++) take->x[3 * (size_t)m + k] = (float)x[3 * (size_t)m + k];
    }
    FaMapOptions o = {.frame = 0, .reach = reach, .aligned = aligned, .no_offset = true};
    if (rc >= 0) rc = fa_marker_map_new(take, rig, &o, map, err);
    fa_markers_free(take);
    fa_free(name);
    fa_free(text);
    return rc;
}

// --- through registration -----------------------------------------------------------------------------------------

typedef struct Move {
    const FaMarkerMap *map;
    const FaRig *from, *to;
    FaArena *arena;
    double reach;
    double *x;          // the points on the source's surface, laid over the target               (count x 3)
    unsigned char *has; //                                                                         (count)
} Move;

static bool same_faces(const FaMesh *a, const FaMesh *b) {
    return a->nvert == b->nvert && a->ntri == b->ntri && !memcmp(a->tri, b->tri, 3 * (size_t)a->ntri * sizeof *a->tri);
}

static void tri_normal(const FaMesh *mesh, const float *x, int tri, double n[3]) {
    double p[3][3], a[3], b[3];
    for (int k = 0; k < 3; k++) fai_v3_load(x, mesh->tri[3 * (size_t)tri + (size_t)k], p[k]);
    fai_v3_sub(p[1], p[0], a);
    fai_v3_sub(p[2], p[0], b);
    fai_v3_cross(a, b, n);
    double length = sqrt(fai_v3_dot(n, n));
    if (length > 0) fai_v3_scale(1 / length, n, n);
}

// The nearest vertex of the outside that faces this way; -1: none within reach.
static int nearest_facing(const FaMesh *mesh, const FaMarkerFace *face, const double x[3], const double want[3],
                          double reach, double *distance) {
    int best = -1;
    double least = reach * reach, p[3], n[3];
    for (int v = 0; v < mesh->nvert; v++) {
        if (!face->open[v]) continue;
        fai_v3_load(mesh->x, v, p);
        fai_v3_sub(p, x, p);
        double d = fai_v3_dot(p, p);
        if (d >= least) continue;
        fai_v3_load(face->normal, v, n);
        if (fai_v3_dot(n, want) < FACES_ALIKE) continue;
        least = d;
        best = v;
    }
    *distance = sqrt(least);
    return best;
}

// Lips that touch: the nearest skin may be the other lip's.
static FaCode face_alike(const Move *w, const float *laid, FaMarkerMap *out, FaError *err) {
    const FaMesh *mesh = &w->to->mesh;
    FaMarkerFace face = {0};
    int *first = fai_first_triangles(mesh);
    FaCode rc = first ? fai_marker_face(w->to, &face, err) : FA_FAIL_MEMORY(err);
    for (int m = 0; rc >= 0 && m < w->map->count; m++) {
        if (!w->has[m] || w->map->point[m].tri < 0) continue;
        double want[3], got[3] = {0}, distance;
        tri_normal(&w->from->mesh, laid, w->map->point[m].tri, want);
        if (out->point[m].vert[0] >= 0) tri_normal(mesh, mesh->x, out->point[m].tri, got);
        if (fai_v3_dot(want, got) > 0) continue;
        int v = nearest_facing(mesh, &face, w->x + 3 * (size_t)m, want, w->reach, &distance);
        if (v < 0) continue;
        out->point[m] = fai_marker_vertex(mesh, first, v);
        out->distance[m] = (float)distance;
    }
    if (rc >= 0) fai_marker_face_free(&face);
    fa_free(first);
    return rc;
}

static FaCode lay_over(Move *w, FaMarkerMap *out, FaError *err) {
    int n = w->map->count;
    FaRegisterInput in = {
        .source = &w->from->mesh, .target = &w->to->mesh, .reach = REGISTER * fai_mesh_extent(&w->to->mesh)};
    FaRegister reg = {0};
    FaMarkerMap *near = NULL;
    w->x = FA_PUSH(w->arena, 3 * (size_t)n, double);
    w->has = FA_PUSH(w->arena, (size_t)n, unsigned char);
    if (!w->x || !w->has) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_register(&in, w->arena, &reg, err));
    for (int m = 0; m < n; m++) {
        w->has[m] = w->map->point[m].vert[0] >= 0;
        if (w->has[m]) fa_marker_point_at(&w->map->point[m], reg.x, false, w->x + 3 * (size_t)m);
    }
    FA_TRY(fai_marker_nearest(w->to, n, w->x, w->has, true, w->reach, &near, err));
    memcpy(out->point, near->point, (size_t)n * sizeof *out->point);
    memcpy(out->distance, near->distance, (size_t)n * sizeof *out->distance);
    fa_marker_map_free(near);
    return face_alike(w, reg.x, out, err);
}

FaCode fa_marker_map_move(const FaMarkerMap *map, const FaRig *from, const FaRig *to, double reach, FaMarkerMap **out,
                          FaError *err) {
    FA_ASSERT(map && from && to && out);
    *out = NULL;
    if (!isfinite(reach) || reach < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give metres above 0", "the reach is no length");
    FaMarkerMap *made;
    FA_TRY(fai_marker_map_new(map->count, map->name, &made, err));
    FaCode rc = FA_OK;
    if (same_faces(&from->mesh, &to->mesh))
        memcpy(made->point, map->point, (size_t)map->count * sizeof *map->point);
    else {
        Move w = {.map = map, .from = from, .to = to, .arena = fai_arena_new(0), .reach = reach > 0 ? reach : REACH};
        rc = w.arena ? lay_over(&w, made, err) : FA_FAIL_MEMORY(err);
        fai_arena_free(w.arena);
    }
    double sum = 0;
    for (int m = 0; m < map->count; m++) {
        if (made->point[m].vert[0] < 0) continue;
        made->mapped++;
        sum += (double)made->distance[m] * (double)made->distance[m];
    }
    if (rc >= 0 && !made->mapped)
        rc = FA_FAIL(err, FA_E_FORMAT, NULL, "give a map of the other face",
                     "none of the %d points has a place on the other face", map->count);
    made->rms = made->mapped ? sqrt(sum / made->mapped) : 0;
    if (rc < 0)
        fa_marker_map_free(made);
    else
        *out = made;
    return rc;
}

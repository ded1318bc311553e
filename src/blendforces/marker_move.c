// Points of one face on another of any topology (fascia/retarget.h).
#include "blendforces/retarget.h"
#include "io/markers.h"
#include "math/mat3.h"
#include "mesh/mesh.h"
#include "rig/transfer_register.h"
#include "track/markers_face.h"

#include <math.h>

static const double REACH = 0.03;      // m
static const double REGISTER = 0.05;   // of the target's extent: how far a corresponding surface may be
static const double FACES_ALIKE = 0.2; // cosine of normals
// Of the head: what is laid over, and what it is laid onto. Ears, neck and hair differ most; and what is at the rim of
// the target would draw the source together.
static const double FRONT = 0.7, AROUND = 1.5;
static const double PLACES = 0.01;    // m: how far apart shapes of one name act on two faces of one size
static const double FAINT = 0.03;     // of the largest motion
static const double ENOUGH = 6;       // of them
static const double LEAST_SIZE = 0.3; // of one face against the other
// Of the most that the shape which opens them moves: skin that goes along, and skin that stays. And how far the right
// lip or lid may be, m.
static const float ALONG = 0.5f, STAYS = 0.25f;
static const double OTHER_SIDE = 0.01;

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

typedef struct Head {
    const FaRig *rig;
    FaMarkerFace face;
    FaMesh mesh; // its triangles only
} Head;

typedef struct Move {
    const FaMarkerMap *map;
    Head source, target;
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
    const FaMesh *mesh = &w->target.rig->mesh;
    const FaMarkerFace *face = &w->target.face;
    int *first = fai_first_triangles(mesh);
    if (!first) return FA_FAIL_MEMORY(err);
    for (int m = 0; m < w->map->count; m++) {
        if (!w->has[m] || w->map->point[m].tri < 0) continue;
        double want[3], got[3] = {0}, distance;
        tri_normal(&w->source.rig->mesh, laid, w->map->point[m].tri, want);
        if (out->point[m].vert[0] >= 0) tri_normal(mesh, mesh->x, out->point[m].tri, got);
        if (fai_v3_dot(want, got) > 0) continue;
        int v = nearest_facing(mesh, face, w->x + 3 * (size_t)m, want, w->reach, &distance);
        if (v < 0) continue;
        out->point[m] = fai_marker_vertex(mesh, first, v);
        out->distance[m] = (float)distance;
    }
    fa_free(first);
    return FA_OK;
}

// --- the right side of an opening ---------------------------------------------------------------------------------

// How far a shape moves each vertex, of the most that it moves the outside; false: the rig has no such shape.
static bool motion_shares(const Head *h, const char *name, float *share) {
    const FaRig *rig = h->rig;
    float most = 0;
    int s = 0, arkit = fa_arkit_match(name, NULL);
    while (s < rig->nshape && (rig->shape[s].arkit != arkit || !rig->shape[s].count)) s++;
    if (s == rig->nshape) return false;
    memset(share, 0, (size_t)rig->mesh.nvert * sizeof *share);
    for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
        double d[3];
        fai_v3_load(rig->delta, e, d);
        share[rig->row[e]] = (float)fai_v3_norm(d);
        if (h->face.open[rig->row[e]]) most = fmaxf(most, share[rig->row[e]]);
    }
    for (int v = 0; v < rig->mesh.nvert && most > 0; v++) share[v] /= most;
    return most > 0;
}

static float share_at(const FaMarkerPoint *p, const float *share) {
    float sum = 0;
    for (int k = 0; k < 3; k++) sum += p->bary[k] * share[p->vert[k]];
    return sum;
}

// The nearest vertex of the outside that moves along, or does not; -1: none near.
static int nearest_moving(const Head *h, const float *share, bool along, const double x[3], double *distance) {
    int best = -1;
    double least = OTHER_SIDE * OTHER_SIDE, p[3];
    for (int v = 0; v < h->rig->mesh.nvert; v++) {
        if (!h->face.open[v] || (along ? share[v] < ALONG : share[v] > STAYS)) continue;
        fai_v3_load(h->rig->mesh.x, v, p);
        fai_v3_sub(p, x, p);
        double d = fai_v3_dot(p, p);
        if (d >= least) continue;
        least = d;
        best = v;
    }
    *distance = sqrt(least);
    return best;
}

// Lips and lids that touch face the same way, so the nearest skin may be that of the other one: the shape that opens
// them tells them apart. A point that it moves on one face and not on the other is on the wrong side.
static FaCode move_alike(const Move *w, FaMarkerMap *out, FaError *err) {
    static const char *const opens[] = {"jawOpen", "eyeBlinkLeft", "eyeBlinkRight"};
    const FaMesh *mesh = &w->target.rig->mesh;
    float *from = FA_PUSH(w->arena, w->source.rig->mesh.nvert, float), *to = FA_PUSH(w->arena, mesh->nvert, float);
    int *first = fai_first_triangles(mesh);
    if (!from || !to || !first) {
        fa_free(first);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < FA_COUNT(opens); i++) {
        if (!motion_shares(&w->source, opens[i], from) || !motion_shares(&w->target, opens[i], to)) continue;
        for (int m = 0; m < w->map->count; m++) {
            if (!w->has[m] || out->point[m].vert[0] < 0) continue;
            float a = share_at(&w->map->point[m], from), b = share_at(&out->point[m], to);
            bool along = a > ALONG;
            double distance;
            if (!(along && b < STAYS) && !(a < STAYS && b > ALONG)) continue;
            int v = nearest_moving(&w->target, to, along, w->x + 3 * (size_t)m, &distance);
            if (v < 0) continue;
            out->point[m] = fai_marker_vertex(mesh, first, v);
            out->distance[m] = (float)distance;
        }
    }
    fa_free(first);
    return FA_OK;
}

// Where each ARKit shape acts: the mean of the outside by its motion, over all shapes that are (half of) it.
static void shape_places(const Head *h, double place[FA_ARKIT_COUNT][3], double weight[FA_ARKIT_COUNT]) {
    const FaRig *rig = h->rig;
    memset(weight, 0, FA_ARKIT_COUNT * sizeof *weight);
    memset(place, 0, FA_ARKIT_COUNT * sizeof *place);
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        if (shape->arkit < 0) continue;
        for (int e = shape->first; e < shape->first + shape->count; e++) {
            double d[3], x[3];
            if (!h->face.open[rig->row[e]]) continue;
            fai_v3_load(rig->delta, e, d);
            fai_v3_load(rig->mesh.x, rig->row[e], x);
            if (fai_v3_norm(d) < FAINT * (double)h->face.most) continue; // an exporter's rounding is everywhere
            weight[shape->arkit] += fai_v3_dot(d, d);
            fai_v3_mad(place[shape->arkit], fai_v3_dot(d, d), x, place[shape->arkit]);
        }
    }
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        if (weight[i] > 0) fai_v3_scale(1 / weight[i], place[i], place[i]);
}

// A similarity by meaning: shapes of the same name act at the same places of a face. Closest points would slide and
// shrink: a mask has no back of the head, a body goes on below it. False: too few shapes are alike.
static bool by_shapes(const Head *from, const Head *to, FaAlign *out) {
    double a[FA_ARKIT_COUNT][3], b[FA_ARKIT_COUNT][3], wa[FA_ARKIT_COUNT], wb[FA_ARKIT_COUNT], own[FA_ARKIT_COUNT];
    double believed = 0;
    shape_places(from, a, wa);
    shape_places(to, b, wb);
    for (int i = 0; i < FA_ARKIT_COUNT; i++) wa[i] = wa[i] > 0 && wb[i] > 0;
    *out = fai_align_robust(FA_ARKIT_COUNT, a[0], b[0], wa, true, PLACES, own);
    for (int i = 0; i < FA_ARKIT_COUNT; i++) believed += own[i];
    return out->kind == FA_ALIGN_FULL && believed >= ENOUGH && out->scale > LEAST_SIZE && out->scale < 1 / LEAST_SIZE;
}

// The middles and sizes of what moves, both faces upright and seen from the front.
static FaAlign by_size(const Head *from, const Head *to) {
    FaAlign out = {.kind = FA_ALIGN_FULL, .scale = 1};
    if (from->face.radius > 0 && to->face.radius > 0) out.scale = to->face.radius / from->face.radius;
    double back[9], c[3];
    fai_m3_transpose(to->rig->axes, back);
    fai_m3_mul(back, from->rig->axes, out.rotation);
    fai_m3_mulv(out.rotation, from->face.centre, c);
    fai_v3_mad(to->face.centre, -out.scale, c, out.translation);
    return out;
}

// The triangles of the head, or of more than it; vertices keep their numbers.
static FaCode cut_head(Head *h, double more, FaArena *arena, FaError *err) {
    const FaMesh *mesh = &h->rig->mesh;
    int *tri = FA_PUSH(arena, 3 * FA_MAX((size_t)mesh->ntri, 1), int), n = 0;
    if (!tri) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < mesh->ntri; t++) {
        const int *v = mesh->tri + 3 * (size_t)t;
        bool on = true;
        for (int k = 0; k < 3; k++)
            on &= fai_on_head(h->face.centre, more * h->face.radius, mesh->x + 3 * (size_t)v[k]);
        if (on) memcpy(tri + 3 * (size_t)n++, v, 3 * sizeof *v);
    }
    h->mesh = (FaMesh){.nvert = mesh->nvert, .x = mesh->x, .ntri = n, .tri = tri};
    return FA_OK;
}

static FaCode register_heads(Move *w, float **laid, FaError *err) {
    FaRegister reg = {0};
    FA_TRY(cut_head(&w->source, FRONT, w->arena, err));
    FA_TRY(cut_head(&w->target, AROUND, w->arena, err));
    FaAlign start;
    if (!by_shapes(&w->source, &w->target, &start)) start = by_size(&w->source, &w->target);
    FaRegisterInput in = {.source = &w->source.mesh,
                          .target = &w->target.mesh,
                          .reach = REGISTER * fai_mesh_extent(&w->target.mesh),
                          .similarity = &start,
                          .lay_only = true};
    FA_TRY(fai_register(&in, w->arena, &reg, err));
    *laid = reg.x;
    return FA_OK;
}

static FaCode lay_over(Move *w, FaMarkerMap *out, FaError *err) {
    int n = w->map->count;
    FaMarkerMap *near = NULL;
    float *laid = NULL;
    w->x = FA_PUSH(w->arena, 3 * (size_t)n, double);
    w->has = FA_PUSH(w->arena, (size_t)n, unsigned char);
    if (!w->x || !w->has) return FA_FAIL_MEMORY(err);
    FA_TRY(register_heads(w, &laid, err));
    for (int m = 0; m < n; m++) {
        w->has[m] = w->map->point[m].vert[0] >= 0;
        if (w->has[m]) fa_marker_point_at(&w->map->point[m], laid, false, w->x + 3 * (size_t)m);
    }
    FA_TRY(fai_marker_nearest(w->target.rig, n, w->x, w->has, true, w->reach, &near, err));
    memcpy(out->point, near->point, (size_t)n * sizeof *out->point);
    memcpy(out->distance, near->distance, (size_t)n * sizeof *out->distance);
    fa_marker_map_free(near);
    FA_TRY(face_alike(w, laid, out, err));
    return move_alike(w, out, err);
}

static FaCode move_points(Move *w, FaMarkerMap *out, FaError *err) {
    w->arena = fai_arena_new(0);
    FaCode rc = w->arena ? fai_marker_face(w->source.rig, &w->source.face, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_marker_face(w->target.rig, &w->target.face, err);
    if (rc >= 0) rc = lay_over(w, out, err);
    fai_marker_face_free(&w->source.face);
    fai_marker_face_free(&w->target.face);
    fai_arena_free(w->arena);
    return rc;
}

FaCode fa_marker_map_move(const FaMarkerMap *map, const FaRig *from, const FaRig *to, double reach, FaMarkerMap **out,
                          FaError *err) {
    FA_ASSERT(map && from && to && out);
    *out = NULL;
    if (!isfinite(reach) || reach < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give metres above 0", "the reach is no length");
    FaMarkerMap *made;
    FA_TRY(fai_marker_map_new(map->count, map->name, &made, err));
    made->mesh = fai_mesh_print(&to->mesh);
    made->named = map->named;
    FaCode rc = FA_OK;
    if (same_faces(&from->mesh, &to->mesh))
        memcpy(made->point, map->point, (size_t)map->count * sizeof *map->point);
    else {
        Move w = {.map = map, .source.rig = from, .target.rig = to, .reach = reach > 0 ? reach : REACH};
        rc = move_points(&w, made, err);
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

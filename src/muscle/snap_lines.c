#include "muscle/snap_lines.h"

#include "base/file.h"
#include "base/json.h"
#include "face/skin_paint.h"
#include "math/mat3.h"
#include "math/rbf.h"
#include "muscle/directed.h"
#include "muscle/snap_weights.h"

#include <math.h>
#include <string.h>

enum { FILE_MOST = 1 << 26, POINTS_MOST = 4096 };
static const double AROUND = 0.012; // m
static const float PAINTED = 1e-4f; // less than this is not painted
static const float NAMED = 0.25f;   // of a region of the face: where it begins

typedef struct Reader {
    const FaSnapPlaces *at;
    const FaMesh *mesh;
    FaTopology topology;
    unsigned char *line;    // (nvert, welded)
    unsigned char *painted; // triangles                      (ntri)
    float *dim;             // (nvert)
    double *far;            // m                              (nvert)
    int points;             // of lines so far
    bool drawn;             // there are lines
    FaFalloff falloff;
    FaError *err;
} Reader;

static FaCode wrong(const Reader *r, const FaJson *v, const char *remedy, const char *what) {
    return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(v).text, remedy, "%s, found %s", what, fai_json_show(v).text);
}

// --- names --------------------------------------------------------------------------------------------------------

// Weights of a region of the face into r->dim; false: there is none of that name.
static bool region_named(const Reader *r, const char *name) {
    for (int i = 0; r->at->face && i < FA_REGIONS; i++)
        if (strcmp(fa_face_region_name(i), name) == 0) {
            fa_face_region(r->at->face, i, r->dim);
            return true;
        }
    return false;
}

static FaCode landmark(const Reader *r, const FaJson *name, int *vertex) {
    for (int i = 0; i < r->at->nname; i++) {
        if (strcmp(r->at->name[i], name->string) != 0) continue;
        *vertex = r->at->vertex[i];
        return *vertex >= 0 ? FA_OK
                            : FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(name).text, "write the number of a vertex",
                                      "the landmark %.40s was not found on this rig", name->string);
    }
    return wrong(r, name, "use the number of a vertex, or corner_left, brow_right, lip_upper, chin, lid_left, ...",
                 "there is no such landmark");
}

// --- lines --------------------------------------------------------------------------------------------------------

static FaCode vertex_of(const Reader *r, const FaJson *v, int *vertex) {
    if (fai_json_is(v, FA_JSON_STRING)) return landmark(r, v, vertex);
    if (!fai_json_is(v, FA_JSON_NUMBER) || v->number != floor(v->number))
        return wrong(r, v, "write the number of a vertex, from 0, or a landmark", "expected a vertex");
    if (!(v->number >= 0 && v->number < r->mesh->nvert))
        return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(v).text,
                       "vertices count from 0, in the order of the rig's file", "there is no vertex %s: the rig has %d",
                       fai_json_show(v).text, r->mesh->nvert);
    *vertex = (int)v->number;
    return FA_OK;
}

static FaCode count_point(Reader *r, const FaJson *at) {
    if (++r->points <= POINTS_MOST) return FA_OK;
    return FA_FAIL(r->err, FA_E_LIMIT, fai_json_path(at).text, "leave out points: lines follow the shortest edges",
                   "more than %d points of lines", (int)POINTS_MOST);
}

static FaCode polyline(Reader *r, const FaJson *line) {
    int last = -1, v;
    if (!line->first) return wrong(r, line, "write [vertex, vertex, ...]", "the line has no points");
    for (const FaJson *c = line->first; c; c = c->next, last = v) {
        FA_TRY(vertex_of(r, c, &v));
        FA_TRY(count_point(r, c));
        if (r->mesh->weld ? r->topology.part[fai_weld(r->mesh, v)] < 0 : r->topology.part[v] < 0)
            return wrong(r, c, "draw lines on the skin", "the vertex is in no triangle");
        FA_TRY(fai_snap_path(r->mesh, &r->topology, last < 0 ? v : last, v, r->line, r->err));
    }
    return FA_OK;
}

// "nasolabial", "nasolabial.L": false where it is none of these.
static FaCode fold(Reader *r, const FaJson *name, bool *is) {
    const char *side = name->string + strlen("nasolabial");
    *is = strncmp(name->string, "nasolabial", strlen("nasolabial")) == 0 &&
          (!*side || !strcmp(side, ".L") || !strcmp(side, ".R"));
    for (int s = 0; *is && s < 2; s++) {
        const int *v = r->at->fold[s];
        if (*side && (side[1] == 'L') != (s == 0)) continue;
        for (int k = 0; k < FA_SNAP_FOLD; k++) {
            if (v[k] < 0) return wrong(r, name, "draw it: [vertex, vertex, ...]", "the fold is not found on this rig");
            FA_TRY(fai_snap_path(r->mesh, &r->topology, v[k ? k - 1 : 0], v[k], r->line, r->err));
        }
    }
    return FA_OK;
}

static FaCode named_line(Reader *r, const FaJson *name) {
    bool is;
    FA_TRY(count_point(r, name));
    FA_TRY(fold(r, name, &is));
    if (is) return FA_OK;
    if (!region_named(r, name->string))
        return wrong(r, name, "use nasolabial, nasolabial.L, lip_upper, lip_lower, mouth, eyelids, cheeks, or vertices",
                     "there is no such line");
    for (int v = 0; v < r->mesh->nvert; v++)
        if (r->dim[v] > 2 * NAMED) r->line[fai_weld(r->mesh, v)] = 1;
    return FA_OK;
}

static FaCode read_lines(Reader *r, const FaJson *lines) {
    if (!lines) return FA_OK;
    if (!fai_json_is(lines, FA_JSON_ARRAY) || !lines->first)
        return wrong(r, lines, "write [[vertex, vertex, ...], \"nasolabial\", ...]", "expected lines");
    for (const FaJson *c = lines->first; c; c = c->next) {
        if (fai_json_is(c, FA_JSON_STRING))
            FA_TRY(named_line(r, c));
        else if (fai_json_is(c, FA_JSON_ARRAY))
            FA_TRY(polyline(r, c));
        else
            return wrong(r, c, "write [vertex, vertex, ...] or a name", "expected a line");
    }
    r->drawn = true;
    return FA_OK;
}

// --- region -------------------------------------------------------------------------------------------------------

static FaCode paint_triangles(Reader *r, const FaJson *list) {
    memset(r->dim, 0, (size_t)r->mesh->nvert * sizeof *r->dim);
    if (!fai_json_is(list, FA_JSON_ARRAY)) return wrong(r, list, "write [triangle, ...]", "expected triangles");
    for (const FaJson *c = list->first; c; c = c->next) {
        if (!fai_json_is(c, FA_JSON_NUMBER) || !(c->number >= 0 && c->number < r->mesh->ntri) ||
            c->number != floor(c->number))
            return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(c).text, "triangles count from 0",
                           "there is no triangle %s: the rig has %d", fai_json_show(c).text, r->mesh->ntri);
        const int t = (int)c->number;
        r->painted[t] = 1;
        for (int k = 3 * t; k < 3 * t + 3; k++) r->dim[fai_weld(r->mesh, r->mesh->tri[k])] = 1;
    }
    return FA_OK;
}

// Triangles all of whose corners are painted.
static void triangles_of_paint(Reader *r) {
    for (int t = 0; t < r->mesh->ntri; t++) {
        r->painted[t] = 1;
        for (int k = 3 * t; k < 3 * t + 3; k++)
            if (!(r->dim[fai_weld(r->mesh, r->mesh->tri[k])] > PAINTED)) r->painted[t] = 0;
    }
}

static FaCode paint_around(Reader *r, const FaJson *mm) {
    double reach = AROUND;
    if (mm && (!fai_json_is(mm, FA_JSON_NUMBER) || !(mm->number >= 0.5 && mm->number <= 200)))
        return wrong(r, mm, "write 0.5 to 200 mm", "expected a distance");
    if (mm) reach = 1e-3 * mm->number;
    if (!r->drawn)
        return FA_FAIL(r->err, FA_E_FORMAT, mm ? fai_json_path(mm).text : "/region",
                       "draw lines, or paint the region by vertices", "there are no lines to be around of");
    FA_TRY(fai_snap_far(r->mesh, &r->topology, r->line, r->far, r->err));
    for (int v = 0; v < r->mesh->nvert; v++) r->dim[v] = r->far[v] <= reach ? 1.f : 0.f;
    return FA_OK;
}

static FaCode paint_vertices(Reader *r, const FaJson *list) {
    int v;
    memset(r->dim, 0, (size_t)r->mesh->nvert * sizeof *r->dim);
    for (const FaJson *c = list->first; c; c = c->next) {
        FA_TRY(vertex_of(r, c, &v));
        r->dim[fai_weld(r->mesh, v)] = 1;
    }
    return FA_OK;
}

static FaCode read_region(Reader *r, const FaJson *region) {
    const FaJson *around = fai_json_get(region, "around_mm"), *triangles = fai_json_get(region, "triangles");
    if ((around || triangles) && region->count != 1)
        return wrong(r, region, "say one of around_mm, triangles, vertices", "the region is said twice");
    if (triangles) return paint_triangles(r, triangles);
    if (fai_json_is(region, FA_JSON_STRING)) {
        if (!region_named(r, region->string))
            return wrong(r, region, "use lip_upper, lip_lower, mouth, eyelids or cheeks", "there is no such region");
        for (int v = 0; v < r->mesh->nvert; v++) r->dim[v] = r->dim[v] > NAMED ? 1.f : 0.f;
    } else if (!region || around)
        FA_TRY(paint_around(r, around));
    else if (fai_json_is(region, FA_JSON_ARRAY) && region->first &&
             (region->first->type == FA_JSON_NUMBER || region->first->type == FA_JSON_STRING))
        FA_TRY(paint_vertices(r, region));
    else {
        memset(r->dim, 0, (size_t)r->mesh->nvert * sizeof *r->dim);
        FA_TRY(fai_paint_field(region, r->at->rig, "0 to 1", "use a number from 0 to 1", 0, 1, r->dim, r->err));
    }
    triangles_of_paint(r);
    return FA_OK;
}

// --- falloff and all of it ----------------------------------------------------------------------------------------

static FaCode read_falloff(Reader *r, const FaJson *list) {
    double point[FA_FALLOFF_MOST][2];
    const char *example = "write [[0, 0], [0.5, 0.8], [1, 1]]";
    int n = 0;
    if (!list) return FA_OK;
    if (!fai_json_is(list, FA_JSON_ARRAY) || list->count > FA_FALLOFF_MOST)
        return wrong(r, list, example, "expected up to 32 points");
    for (const FaJson *c = list->first; c; c = c->next, n++)
        for (int k = 0; k < 2; k++) {
            const FaJson *v = fai_json_at(c, k);
            if (!fai_json_is(c, FA_JSON_ARRAY) || c->count != 2 || !fai_json_is(v, FA_JSON_NUMBER) ||
                !isfinite(v->number))
                return wrong(r, c, example, "expected [x, y]");
            point[n][k] = v->number;
        }
    const char *what = fai_falloff_set(&r->falloff, n, (const double(*)[2])point);
    return what ? FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(list).text, example, "%s", what) : FA_OK;
}

static FaCode check_keys(const Reader *r, const FaJson *root) {
    if (!fai_json_is(root, FA_JSON_OBJECT)) return wrong(r, root, "write {\"lines\": [...]}", "expected an object");
    for (const FaJson *c = root->first; c; c = c->next)
        if (strcmp(c->key, "lines") && strcmp(c->key, "region") && strcmp(c->key, "falloff"))
            return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(c).text, "use lines, region and falloff",
                           "\"%.40s\" means nothing here", c->key);
    return FA_OK;
}

// What was drawn and painted as weights; without lines the paint itself.
static FaCode weigh(Reader *r, float *weight, FaMuscleSnapReport *report) {
    const FaMesh *mesh = r->mesh;
    int inside = 0, lines = 0;
    for (int v = 0; v < mesh->nvert; v++) lines += r->line[v];
    if (r->drawn)
        FA_TRY(fai_snap_weights(mesh, &r->topology, r->line, r->painted, &r->falloff, weight, &inside, r->err));
    if (r->drawn && !inside)
        return FA_FAIL(r->err, FA_E_FORMAT, "/lines", "paint triangles around the lines, or give {\"around_mm\": 12}",
                       "no line is inside the region");
    report->line = inside, report->outside = lines - inside;
    for (int v = 0; v < mesh->nvert; v++) {
        const double dim = (double)r->dim[fai_weld(mesh, v)];
        weight[v] = r->drawn ? (float)((double)weight[v] * dim) : (float)fai_falloff_at(&r->falloff, dim);
        report->touched += weight[v] > 0;
    }
    return FA_OK;
}

static FaCode read(Reader *r, const FaJson *root, FaArena *arena, float *weight, FaMuscleSnapReport *report) {
    const size_t n = (size_t)r->mesh->nvert + 1;
    r->line = FA_PUSH(arena, n, unsigned char), r->painted = FA_PUSH(arena, r->mesh->ntri + 1, unsigned char);
    r->dim = FA_PUSH(arena, n, float), r->far = FA_PUSH(arena, n, double);
    if (!r->line || !r->painted || !r->dim || !r->far) return FA_FAIL_MEMORY(r->err);
    FA_TRY(check_keys(r, root));
    FA_TRY(fai_topology_build(r->mesh, &r->topology, r->err));
    FA_TRY(read_falloff(r, fai_json_get(root, "falloff")));
    FA_TRY(read_lines(r, fai_json_get(root, "lines")));
    FA_TRY(read_region(r, fai_json_get(root, "region")));
    return weigh(r, weight, report);
}

FaCode fai_snap_parse(const char *text, size_t size, const FaSnapPlaces *places, float *weight,
                      FaMuscleSnapReport *report, FaError *err) {
    FaJsonDoc *doc = NULL;
    FaMuscleSnapReport made = {0};
    Reader r = {.at = places, .mesh = &places->rig->mesh, .err = err};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? fai_json_parse(text, size, &doc, NULL, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = read(&r, doc->root, arena, weight, &made);
    if (report) *report = made;
    fai_topology_free(&r.topology);
    fai_json_free(doc);
    fai_arena_free(arena);
    return rc;
}

// --- of a model ---------------------------------------------------------------------------------------------------

// The left fold on the mean head, mm: from the wing of the nose, past the corner of the mouth.
static const double FOLD_REACH = 0.02; // m
static const double FOLD[FA_SNAP_FOLD][3] = {{19, -11, 86}, {25, -20, 83}, {31, -31, 79}, {35, -43, 74}, {35, -53, 70}};

static FaCode find_folds(const FaMuscleDirector *d, FaSnapPlaces *places, FaError *err) {
    const FaMuscleGround *g = &d->model->ground;
    FaRbf *warp;
    FA_TRY(fai_rbf_new(g->npair, g->from, g->to, &(FaRbfOptions){.lambda = g->noise}, &warp, err));
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < FA_SNAP_FOLD; k++) {
            double at[3];
            fai_rbf_point(warp, (double[]){side ? -FOLD[k][0] : FOLD[k][0], FOLD[k][1], FOLD[k][2]}, at);
            const int seen = fai_muscle_seen_near(d, at, FOLD_REACH);
            places->fold[side][k] = seen < 0 ? -1 : d->seen[seen];
        }
    fai_rbf_free(warp);
    return FA_OK;
}

FaCode fa_muscle_snap_load(FaMuscleModel *m, const char *path, float *weight, FaMuscleSnapReport *report,
                           FaError *err) {
    const char *name[FA_MUSCLE_MARKS];
    for (int i = 0; i < FA_MUSCLE_MARKS; i++) name[i] = fa_muscle_mark_name((FaMuscleMark)i);
    FaSnapPlaces places = {.rig = m->rig, .face = m->face, .nname = FA_MUSCLE_MARKS, .name = name, .vertex = m->mark};
    FaMuscleDirector *d;
    FaBytes bytes;
    FA_TRY(fai_muscle_director(m, &d, err));
    FA_TRY(find_folds(d, &places, err));
    FA_TRY(fai_file_read(path, FILE_MOST, &bytes, err));
    FaCode rc = fai_snap_parse((const char *)bytes.data, bytes.size, &places, weight, report, err);
    fai_bytes_free(&bytes);
    return fai_fail_in(err, rc, path);
}

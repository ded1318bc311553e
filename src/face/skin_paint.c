// Reading a painted face. Strict: every key is known, every number in its range, every vertex there.
#include "face/skin_paint.h"

#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "mesh/mesh.h"
#include "rig/jaw.h"

#include <math.h>

enum { FILE_MOST = 1 << 28 }; // bytes

typedef struct Field {
    const char *unit, *remedy; // for messages
    double min, max;           // as in the file
    double factor;             // to what is stored
    bool has_default;          // a missing "value" is 1, a missing "all" is 0
    float *out;                // (nvert)
} Field;

typedef struct Reader {
    const FaRig *rig;
    float *motion; // of a shape, scratch                      (nvert x 3)
    int64_t left;  // vertices that may still be painted: overlapping ranges must not take for ever
    FaError *err;
} Reader;

static const Field thickness = {"mm", "use millimetres, 0.05 to 100", 0.05, 100, 1e-3, false, NULL};
static const Field share = {"0 to 1", "use a number from 0 to 1", 0, 1, 1, true, NULL};

static FaCode wrong(const Reader *r, const FaJson *v, const char *remedy, const char *what) {
    return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(v).text, remedy, "%s, found %.*s", what, FA_MIN(v->src_size, 40),
                   v->src ? v->src : "");
}

// --- numbers ------------------------------------------------------------------------------------------------------

static FaCode read_value(const Reader *r, const Field *f, const FaJson *v, double *out) {
    if (!fai_json_is(v, FA_JSON_NUMBER) || !isfinite(v->number))
        return wrong(r, v, "write a number", "expected a number");
    if (v->number < f->min || v->number > f->max)
        return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(v).text, f->remedy, "%.*s is out of range (%s)",
                       FA_MIN(v->src_size, 40), v->src ? v->src : "it", f->unit);
    *out = v->number;
    return FA_OK;
}

static FaCode read_vertex(const Reader *r, const FaJson *v, int *out) {
    if (!fai_json_is(v, FA_JSON_NUMBER) || v->number != floor(v->number))
        return wrong(r, v, "write the number of a vertex, from 0", "expected a whole number");
    if (!(v->number >= 0 && v->number < r->rig->mesh.nvert))
        return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(v).text,
                       "vertices count from 0, in the order of the rig's file",
                       "there is no vertex %.*s: the rig has %d", FA_MIN(v->src_size, 20), v->src ? v->src : "",
                       r->rig->mesh.nvert);
    *out = (int)v->number;
    return FA_OK;
}

static FaCode spend(Reader *r, const FaJson *at, int64_t n) {
    r->left -= n;
    if (r->left >= 0) return FA_OK;
    return FA_FAIL(r->err, FA_E_LIMIT, fai_json_path(at).text, "paint each vertex once",
                   "the same vertices are painted more than 256 times on average");
}

// Painting one copy of a vertex that is split at a seam paints the vertex.
static void put(const Reader *r, const Field *f, int v, double value) {
    f->out[fai_weld(&r->rig->mesh, v)] = (float)(f->factor * fmin(f->max, fmax(f->min, value)));
}

// --- parts of a stroke --------------------------------------------------------------------------------------------

static FaCode shape_motion(Reader *r, const FaJson *name) {
    const FaRig *rig = r->rig;
    if (!fai_json_is(name, FA_JSON_STRING)) return wrong(r, name, "write the name of a shape", "expected a string");
    for (int s = 0; s < rig->nshape; s++) {
        if (strcmp(rig->shape[s].name, name->string)) continue;
        memset(r->motion, 0, 3 * (size_t)rig->mesh.nvert * sizeof *r->motion);
        for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++)
            memcpy(r->motion + 3 * (size_t)rig->row[i], rig->delta + 3 * (size_t)i, 3 * sizeof *r->motion);
        return FA_OK;
    }
    if (fai_arkit_motion(rig, name->string, r->motion)) return FA_OK;
    return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(name).text, "`fascia info` lists the shapes of a rig",
                   "the rig has no shape \"%.60s\"", name->string);
}

static FaCode paint_shape(Reader *r, const Field *f, const FaJson *stroke, const FaJson *name, double base) {
    int nvert = r->rig->mesh.nvert;
    double scale = 1, most = 0;
    const FaJson *s = fai_json_get(stroke, "scale");
    if (s && (!fai_json_is(s, FA_JSON_NUMBER) || !isfinite(s->number)))
        return wrong(r, s, "write a number", "expected a number");
    if (s) scale = s->number;
    FA_TRY(spend(r, name, 2 * (int64_t)nvert));
    FA_TRY(shape_motion(r, name));
    for (int pass = 0; pass < 2; pass++)
        for (int v = 0; v < nvert; v++) {
            const float *d = r->motion + 3 * (size_t)v;
            double len = sqrt((double)d[0] * (double)d[0] + (double)d[1] * (double)d[1] + (double)d[2] * (double)d[2]);
            if (pass == 0)
                most = fmax(most, len);
            else
                put(r, f, v, base + scale * (most > 0 ? len / most : 0));
        }
    return FA_OK;
}

static FaCode paint_values(Reader *r, const Field *f, const FaJson *values) {
    int v = 0;
    if (!fai_json_is(values, FA_JSON_ARRAY))
        return wrong(r, values, "write one number, or null, per vertex", "expected an array");
    if (values->count != r->rig->mesh.nvert)
        return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(values).text,
                       "write one number, or null, per vertex of the rig", "%d values for %d vertices", values->count,
                       r->rig->mesh.nvert);
    FA_TRY(spend(r, values, values->count));
    for (const FaJson *c = values->first; c; c = c->next, v++) {
        double x;
        if (c->type == FA_JSON_NULL) continue;
        FA_TRY(read_value(r, f, c, &x));
        put(r, f, v, x);
    }
    return FA_OK;
}

static FaCode paint_ranges(Reader *r, const Field *f, const FaJson *ranges, double value) {
    if (!fai_json_is(ranges, FA_JSON_ARRAY))
        return wrong(r, ranges, "write [[first, last], ...]", "expected an array of pairs");
    for (const FaJson *c = ranges->first; c; c = c->next) {
        int a, b;
        if (!fai_json_is(c, FA_JSON_ARRAY) || c->count != 2)
            return wrong(r, c, "write [first, last]", "expected a pair of vertices");
        FA_TRY(read_vertex(r, c->first, &a));
        FA_TRY(read_vertex(r, c->first->next, &b));
        if (a > b) return wrong(r, c, "write the smaller number first", "the range runs backwards");
        FA_TRY(spend(r, c, (int64_t)b - a + 1));
        for (int v = a; v <= b; v++) put(r, f, v, value);
    }
    return FA_OK;
}

static FaCode paint_map(Reader *r, const Field *f, const FaJson *map) {
    for (const FaJson *c = map->first; c; c = c->next) {
        const char *end = c->key + strlen(c->key);
        int64_t v;
        double x;
        if (!(c->key[0] >= '0' && c->key[0] <= '9') || fai_parse_int(c->key, end, &v) != end)
            return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(c).text, "write {\"12\": 3.5}",
                           "\"%.40s\" is not the number of a vertex", c->key);
        if (v < 0 || v >= r->rig->mesh.nvert)
            return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(c).text,
                           "vertices count from 0, in the order of the rig's file",
                           "there is no vertex %.20s: the rig has %d", c->key, r->rig->mesh.nvert);
        FA_TRY(read_value(r, f, c, &x));
        put(r, f, (int)v, x);
    }
    return FA_OK;
}

static FaCode paint_vertices(Reader *r, const Field *f, const FaJson *list, double value) {
    if (fai_json_is(list, FA_JSON_OBJECT)) return paint_map(r, f, list);
    if (!fai_json_is(list, FA_JSON_ARRAY))
        return wrong(r, list, "write [12, 13] or {\"12\": 3.5}", "expected vertices");
    for (const FaJson *c = list->first; c; c = c->next) {
        int v;
        FA_TRY(read_vertex(r, c, &v));
        put(r, f, v, value);
    }
    return FA_OK;
}

// --- strokes and fields -------------------------------------------------------------------------------------------

enum { ALL, SHAPE, SCALE, VALUES, RANGES, VERTICES, VALUE, STROKE_KEYS };
static const char *const stroke_key[STROKE_KEYS] = {"all", "shape", "scale", "values", "ranges", "vertices", "value"};

// The members of an object by a list of keys; each once, no others.
static FaCode members(const Reader *r, const FaJson *object, const char *const *key, int n, const FaJson **out,
                      const char *remedy) {
    for (int i = 0; i < n; i++) out[i] = NULL;
    for (const FaJson *c = object->first; c; c = c->next) {
        int i = 0;
        while (i < n && strcmp(key[i], c->key)) i++;
        if (i == n) return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(c).text, remedy, "unknown key \"%.60s\"", c->key);
        if (out[i])
            return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(c).text, "keep one of them",
                           "the key \"%.60s\" is there twice", c->key);
        out[i] = c;
    }
    return FA_OK;
}

static FaCode paint_stroke(Reader *r, const Field *f, const FaJson *stroke) {
    const FaJson *m[STROKE_KEYS];
    double all = 0, value = 1;
    FA_TRY(members(r, stroke, stroke_key, STROKE_KEYS, m,
                   "a stroke has all, shape, scale, values, ranges, vertices, value"));
    bool by_value = m[RANGES] || fai_json_is(m[VERTICES], FA_JSON_ARRAY);
    if (m[ALL]) FA_TRY(read_value(r, f, m[ALL], &all));
    if (m[VALUE]) FA_TRY(read_value(r, f, m[VALUE], &value));
    if (by_value && !m[VALUE] && !f->has_default)
        return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(stroke).text,
                       f->factor == 1 ? "add \"value\"" : "add \"value\" in millimetres", "\"value\" is missing");
    if (m[SHAPE] && !m[ALL] && !f->has_default)
        return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(stroke).text,
                       f->factor == 1 ? "add \"all\", the value where the shape does not move"
                                      : "add \"all\", the thickness where the shape does not move",
                       "\"all\" is missing");
    if ((m[VALUE] && !by_value) || (m[SCALE] && !m[SHAPE]))
        return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(stroke).text,
                       "\"value\" goes with vertices or ranges, \"scale\" with shape", "\"%s\" without what it is for",
                       m[SCALE] && !m[SHAPE] ? "scale" : "value");
    if (m[ALL] && !m[SHAPE]) {
        FA_TRY(spend(r, m[ALL], r->rig->mesh.nvert));
        for (int v = 0; v < r->rig->mesh.nvert; v++) put(r, f, v, all);
    }
    if (m[SHAPE]) FA_TRY(paint_shape(r, f, stroke, m[SHAPE], all));
    if (m[VALUES]) FA_TRY(paint_values(r, f, m[VALUES]));
    if (m[RANGES]) FA_TRY(paint_ranges(r, f, m[RANGES], value));
    return m[VERTICES] ? paint_vertices(r, f, m[VERTICES], value) : FA_OK;
}

static FaCode paint_field(Reader *r, const Field *kind, float *out, const FaJson *v) {
    Field f = *kind;
    f.out = out;
    if (!v) return FA_OK;
    if (v->type == FA_JSON_NUMBER) {
        double all = 0;
        FA_TRY(read_value(r, &f, v, &all));
        FA_TRY(spend(r, v, r->rig->mesh.nvert));
        for (int i = 0; i < r->rig->mesh.nvert; i++) put(r, &f, i, all);
        return FA_OK;
    }
    if (v->type == FA_JSON_OBJECT) return paint_stroke(r, &f, v);
    if (v->type != FA_JSON_ARRAY)
        return wrong(r, v, "write a number, a stroke, or an array of strokes", "expected paint");
    for (const FaJson *c = v->first; c; c = c->next) {
        if (c->type != FA_JSON_OBJECT)
            return wrong(r, c, "write {\"values\": [...]} for one number per vertex", "expected a stroke");
        FA_TRY(paint_stroke(r, &f, c));
    }
    return FA_OK;
}

static FaCode paint_all(Reader *r, const FaJson *root, FaPaint *paint) {
    static const char *const keys[] = {"version", "thickness_mm", "skull", "jaw", "regions"};
    const FaJson *m[FA_COUNT(keys)], *region[FA_REGIONS];
    if (!fai_json_is(root, FA_JSON_OBJECT)) return wrong(r, root, "start from {\"version\": 1}", "expected an object");
    FA_TRY(members(r, root, keys, FA_COUNT(keys), m, "known are version, thickness_mm, skull, jaw, regions"));
    int64_t version;
    FA_TRY(fai_json_int(root, "version", 1, 1, &version, r->err));
    FA_TRY(paint_field(r, &thickness, paint->thickness, m[1]));
    FA_TRY(paint_field(r, &share, paint->skull, m[2]));
    FA_TRY(paint_field(r, &share, paint->jaw, m[3]));
    if (!m[4]) return FA_OK;
    if (m[4]->type != FA_JSON_OBJECT) return wrong(r, m[4], "write {\"lip_upper\": ...}", "expected an object");
    FA_TRY(members(r, m[4], fai_region_name, FA_REGIONS, region,
                   "regions are lip_upper, lip_lower, mouth, eyelids, cheeks, free"));
    for (int i = 0; i < FA_REGIONS; i++) FA_TRY(paint_field(r, &share, paint->region[i], region[i]));
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode open_paint(FaPaint *paint, Reader *r) {
    size_t nvert = (size_t)r->rig->mesh.nvert;
    float **field[3 + FA_REGIONS] = {&paint->thickness, &paint->skull, &paint->jaw};
    for (int i = 0; i < FA_REGIONS; i++) field[3 + i] = &paint->region[i];
    if (!(paint->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(r->err);
    for (int i = 0; i < FA_COUNT(field); i++) {
        if (!(*field[i] = FA_PUSH(paint->arena, nvert, float))) return FA_FAIL_MEMORY(r->err);
        for (size_t v = 0; v < nvert; v++) (*field[i])[v] = NAN;
    }
    r->motion = FA_NEW(3 * nvert, float);
    return r->motion ? FA_OK : FA_FAIL_MEMORY(r->err);
}

// What was painted on the vertex that stands for a seam's copies goes to all of them.
static void spread_seams(const FaMesh *mesh, FaPaint *paint) {
    float *field[3 + FA_REGIONS] = {paint->thickness, paint->skull, paint->jaw};
    for (int i = 0; i < FA_REGIONS; i++) field[3 + i] = paint->region[i];
    for (int i = 0; i < FA_COUNT(field); i++)
        for (int v = 0; v < mesh->nvert; v++) field[i][v] = field[i][fai_weld(mesh, v)];
}

FaCode fai_paint_parse(const char *text, size_t size, const FaRig *rig, FaPaint *paint, FaError *err) {
    *paint = (FaPaint){0};
    Reader r = {.rig = rig, .left = 256 * (int64_t)rig->mesh.nvert + 1024, .err = err};
    FaJsonDoc *doc;
    FA_TRY(fai_json_parse(text, size, &doc, NULL, err));
    FaCode rc = open_paint(paint, &r);
    if (rc >= 0) rc = paint_all(&r, doc->root, paint);
    if (rc >= 0)
        spread_seams(&rig->mesh, paint);
    else
        fai_paint_free(paint);
    fa_free(r.motion);
    fai_json_free(doc);
    return rc;
}

FaCode fai_paint_field(const FaJson *value, const FaRig *rig, const char *unit, const char *remedy, double min,
                       double max, float *out, FaError *err) {
    Reader r = {.rig = rig, .left = 256 * (int64_t)rig->mesh.nvert + 1024, .err = err};
    const Field f = {unit, remedy, min, max, 1, false, NULL};
    if (!(r.motion = FA_NEW(3 * (size_t)rig->mesh.nvert, float))) return FA_FAIL_MEMORY(err);
    FaCode rc = paint_field(&r, &f, out, value);
    for (int v = 0; v < rig->mesh.nvert; v++) out[v] = out[fai_weld(&rig->mesh, v)];
    fa_free(r.motion);
    return rc;
}

FaCode fai_paint_load(const char *path, const FaRig *rig, FaPaint *paint, FaError *err) {
    *paint = (FaPaint){0};
    FaBytes bytes;
    FA_TRY(fai_file_read(path, FILE_MOST, &bytes, err));
    FaCode rc = fai_paint_parse((const char *)bytes.data, bytes.size, rig, paint, err);
    fai_bytes_free(&bytes);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

void fai_paint_free(FaPaint *paint) {
    fai_arena_free(paint->arena);
    *paint = (FaPaint){0};
}

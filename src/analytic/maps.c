// Maps: mass, damping, stiffness and gain that differ over the face, from JSON (docs/guide/blend.md) and back.
//
// A region blends between what the map says and what was there before it by its weight at a vertex, in logarithms:
// halfway between 2 and 8 Hz is 4 Hz.
#include "analytic/handle.h"
#include "base/file.h"
#include "base/json.h"
#include "fascia/analytic.h"
#include "io/gltf/gltf.h"
#include "math/mat3.h"

#include <math.h>

void fa_analytic_maps_free(FaMaps *maps) {
    fa_free(maps->shape);
    fa_free(maps->vertex);
    fa_free(maps->gain);
    for (int i = 0; i < maps->nhandle; i++) fa_free(maps->handle[i].reach);
    fa_free(maps->handle);
    *maps = (FaMaps){0};
}

// --- gain ---------------------------------------------------------------------------------------------------------

static bool soft_shape(const FaShape *shape) {
    const char *name = shape->arkit >= 0 ? fa_arkit_name(shape->arkit) : "";
    return strncmp(name, "eye", 3) && strcmp(name, "tongueOut");
}

void fa_analytic_gain(const FaRig *rig, float *gain) {
    int n = rig->mesh.nvert;
    memset(gain, 0, (size_t)n * sizeof *gain);
    double top = 0;
    for (int s = 0; s < rig->nshape; s++)
        for (int i = rig->shape[s].first; soft_shape(&rig->shape[s]) && i < rig->shape[s].first + rig->shape[s].count;
             i++) {
            double d[3];
            fai_v3_load(rig->delta, i, d);
            double size = fai_v3_norm(d);
            gain[rig->row[i]] = (float)fmax((double)gain[rig->row[i]], size);
            top = fmax(top, size);
        }
    // 1 from 60 % of the largest motion on; smooth towards 0, so that the skull stands and nothing tears
    for (int v = 0; v < n; v++) {
        double u = top > 0 ? fmin((double)gain[v] / (0.6 * top), 1) : 0;
        gain[v] = (float)(u * u * (3 - 2 * u));
    }
}

// --- reading ------------------------------------------------------------------------------------------------------

typedef struct Reader {
    const FaRig *rig;
    FaOscillator base;
    FaMaps *maps;
    double *weight; // of the region at hand         (nvert)
    FaError *err;
} Reader;

static FaCode bad(Reader *r, const FaJson *v, const char *remedy, const char *what) {
    return FA_FAIL(r->err, FA_E_FORMAT, fai_json_path(v).text, remedy, "%s", what);
}

// An oscillator: "soft", or an object with frequency/ratio or mass/damping/stiffness on top of `base`. *given: any of
// them.
static FaCode read_oscillator(Reader *r, const FaJson *v, const FaOscillator *base, FaOscillator *o, bool *given) {
    *o = *base;
    *given = true;
    if (fai_json_is(v, FA_JSON_STRING)) {
        if (!fa_oscillator_preset(v->string, o))
            return bad(r, v, "use soft, heavy, snappy, firm or jelly", "there is no such preset");
        return FA_OK;
    }
    if (!fai_json_is(v, FA_JSON_OBJECT))
        return bad(r, v, "give a preset's name or {\"frequency\": 4, \"ratio\": 0.3}", "this is no spring");
    const char *preset;
    FA_TRY(fai_json_str_or(v, "preset", NULL, &preset, r->err));
    if (preset && !fa_oscillator_preset(preset, o))
        return bad(r, fai_json_get(v, "preset"), "use soft, heavy, snappy, firm or jelly", "there is no such preset");
    double f, ratio, m, c, k;
    FA_TRY(fai_json_num_or(v, "frequency", NAN, &f, r->err));
    FA_TRY(fai_json_num_or(v, "ratio", NAN, &ratio, r->err));
    FA_TRY(fai_json_num_or(v, "mass", NAN, &m, r->err));
    FA_TRY(fai_json_num_or(v, "damping", NAN, &c, r->err));
    FA_TRY(fai_json_num_or(v, "stiffness", NAN, &k, r->err));
    *given = preset || !isnan(f) || !isnan(ratio) || !isnan(m) || !isnan(c) || !isnan(k);
    if (!isnan(m)) o->mass = m;
    if (!isnan(f) || !isnan(ratio))
        *o = fa_oscillator_of(o->mass, isnan(f) ? fa_oscillator_frequency(o) : f,
                              isnan(ratio) ? fa_oscillator_ratio(o) : ratio);
    if (!isnan(c)) o->damping = c;
    if (!isnan(k)) o->stiffness = k;
    if (fa_oscillator_check(o, NULL) < 0 || !(o->stiffness > 0))
        return bad(r, v, "mass and stiffness must be above 0, damping not below 0", "these numbers make no spring");
    return FA_OK;
}

static FaCode shapes_named(Reader *r, const FaJson *v, const char *name, int shape[FA_NAMED_MOST], int *n) {
    FaCode rc = fa_rig_shapes_named(r->rig, name, shape, FA_NAMED_MOST, n, NULL);
    if (rc == FA_E_ARG) return bad(r, v, "fascia info --shapes lists them", "the rig has no such shape");
    return rc < 0 ? FA_FAIL_MEMORY(r->err) : FA_OK;
}

static FaCode read_shapes(Reader *r, const FaJson *shapes) {
    if (!shapes) return FA_OK;
    r->maps->shape = FA_NEW(r->rig->nshape, FaOscillator);
    if (!r->maps->shape) return FA_FAIL_MEMORY(r->err);
    for (int s = 0; s < r->rig->nshape; s++) r->maps->shape[s] = r->base;
    for (const FaJson *v = shapes->first; v; v = v->next) {
        int shape[FA_NAMED_MOST], n;
        bool given;
        FA_TRY(shapes_named(r, v, v->key, shape, &n));
        for (int i = 0; i < n; i++) FA_TRY(read_oscillator(r, v, &r->base, &r->maps->shape[shape[i]], &given));
    }
    return FA_OK;
}

static FaCode vertex_maps(Reader *r) {
    if (r->maps->vertex) return FA_OK;
    r->maps->vertex = FA_NEW(r->rig->mesh.nvert, FaOscillator);
    if (!r->maps->vertex) return FA_FAIL_MEMORY(r->err);
    for (int v = 0; v < r->rig->mesh.nvert; v++) r->maps->vertex[v] = r->base;
    return FA_OK;
}

static FaCode gain_map(Reader *r) {
    if (r->maps->gain) return FA_OK;
    r->maps->gain = FA_NEW(r->rig->mesh.nvert, float);
    if (!r->maps->gain) return FA_FAIL_MEMORY(r->err);
    fa_analytic_gain(r->rig, r->maps->gain);
    return FA_OK;
}

// How far the shapes of a name move each vertex, 1 where they move most.
static FaCode weight_of_shape(Reader *r, const FaJson *name) {
    const FaRig *rig = r->rig;
    int shape[FA_NAMED_MOST], n;
    double most = 1e-12;
    FA_TRY(shapes_named(r, name, name->string, shape, &n));
    for (int i = 0; i < n; i++)
        for (int e = rig->shape[shape[i]].first; e < rig->shape[shape[i]].first + rig->shape[shape[i]].count; e++) {
            double d[3], *to = &r->weight[rig->row[e]];
            fai_v3_load(rig->delta, e, d);
            *to = fmax(*to, fai_v3_norm(d));
            most = fmax(most, *to);
        }
    for (int v = 0; v < rig->mesh.nvert; v++) r->weight[v] /= most;
    return FA_OK;
}

// Numbers and [first, last] pairs.
static FaCode weight_of_list(Reader *r, const FaJson *list) {
    int nvert = r->rig->mesh.nvert;
    for (const FaJson *v = list->first; v; v = v->next) {
        bool pair = fai_json_is(v, FA_JSON_ARRAY);
        const FaJson *a = pair ? fai_json_at(v, 0) : v, *b = pair ? fai_json_at(v, 1) : v;
        bool good = fai_json_is(a, FA_JSON_NUMBER) && fai_json_is(b, FA_JSON_NUMBER) && (!pair || v->count == 2) &&
                    a->number >= 0 && b->number < nvert && a->number <= b->number && a->number == floor(a->number) &&
                    b->number == floor(b->number);
        if (!good)
            return bad(r, v, "give numbers of vertices, counted from 0, or [first, last]",
                       "this is no vertex of the rig");
        for (int i = (int)a->number; i <= (int)b->number; i++) r->weight[i] = 1;
    }
    return FA_OK;
}

// A channel of the colours painted on the vertices of a glTF file (COLOR_0).
static FaCode weight_of_color(Reader *r, const FaJson *color) {
    static const char *const names[] = {"red", "green", "blue", "alpha"};
    const FaGltf *doc = fai_gltf_of_rig(r->rig);
    int channel = 0, found = 0;
    while (channel < 4 && strcmp(names[channel], color->string)) channel++;
    if (channel == 4) return bad(r, color, "use red, green, blue or alpha", "there is no such channel");
    for (int i = 0; doc && i < doc->face.nprim; i++) {
        const FaGltfFacePrim *p = &doc->face.prim[i];
        const FaJson *at = fai_json_get(fai_json_get(doc->mesh[doc->face.mesh].prim[i].json, "attributes"), "COLOR_0");
        if (p->first < 0 || p->owner != i || !fai_json_is(at, FA_JSON_NUMBER)) continue;
        if (at->number < 0 || at->number >= doc->naccessor) continue;
        const FaGltfAccessor *accessor = &doc->accessor[(int)at->number];
        if (accessor->count != p->count || channel >= accessor->width) continue;
        float *x = FA_NEW((size_t)accessor->count * (size_t)accessor->width, float);
        if (!x) return FA_FAIL_MEMORY(r->err);
        FaCode rc = fai_gltf_floats(doc, (int)at->number, x, r->err);
        for (int v = 0; rc >= 0 && v < p->count; v++) {
            double u = (double)x[(size_t)v * (size_t)accessor->width + (size_t)channel];
            r->weight[p->first + v] = u > 0 ? fmin(u, 1) : 0;
        }
        fa_free(x);
        FA_TRY(rc);
        found++;
    }
    if (!found)
        return bad(r, color, "paint vertex colours (COLOR_0) in a glTF file, or name a shape or vertices",
                   "the rig has no such colours");
    return FA_OK;
}

static FaCode region_weight(Reader *r, const FaJson *region) {
    const FaJson *shape = fai_json_get(region, "shape"), *color = fai_json_get(region, "color");
    FaJson *list;
    memset(r->weight, 0, (size_t)r->rig->mesh.nvert * sizeof *r->weight);
    FA_TRY(fai_json_array_or_null(region, "vertices", &list, r->err));
    if ((shape != NULL) + (color != NULL) + (list != NULL) != 1)
        return bad(r, region, "say one of \"shape\": name, \"color\": \"red\", \"vertices\": [1, 2, [10, 20]]",
                   "the region has no place, or several");
    if (shape && !fai_json_is(shape, FA_JSON_STRING)) return bad(r, shape, "give a shape's name", "this is no name");
    if (color && !fai_json_is(color, FA_JSON_STRING))
        return bad(r, color, "use red, green, blue or alpha", "this is no channel");
    return shape ? weight_of_shape(r, shape) : color ? weight_of_color(r, color) : weight_of_list(r, list);
}

static double between(double a, double b, double u) {
    return a > 0 && b > 0 ? exp((1 - u) * log(a) + u * log(b)) : (1 - u) * a + u * b;
}

// How much of the head's motion is felt: 1 is all of it, and beyond a hundred times nobody means it.
static FaCode check_gain(Reader *r, const FaJson *v) {
    if (v && !(fabs(v->number) <= 100))
        return bad(r, v, "give -100 to 100; 1 is all of the head's motion", "this is no gain");
    return FA_OK;
}

static FaCode read_region(Reader *r, const FaJson *region) {
    if (!fai_json_is(region, FA_JSON_OBJECT))
        return bad(r, region, "write {\"shape\": \"cheekPuff\", \"preset\": \"jelly\"}", "a region is an object");
    FA_TRY(region_weight(r, region));
    FaOscillator o;
    bool given;
    double gain;
    FA_TRY(read_oscillator(r, region, &r->base, &o, &given));
    FA_TRY(fai_json_num_or(region, "gain", NAN, &gain, r->err));
    if (given) FA_TRY(vertex_maps(r));
    if (!isnan(gain)) FA_TRY(check_gain(r, fai_json_get(region, "gain")));
    if (!isnan(gain)) FA_TRY(gain_map(r));
    for (int v = 0; v < r->rig->mesh.nvert; v++) {
        double u = r->weight[v];
        if (u <= 0) continue;
        if (given) {
            FaOscillator *to = &r->maps->vertex[v];
            *to = (FaOscillator){between(to->mass, o.mass, u), between(to->damping, o.damping, u),
                                 between(to->stiffness, o.stiffness, u)};
        }
        if (!isnan(gain)) r->maps->gain[v] = (float)((1 - u) * (double)r->maps->gain[v] + u * gain);
    }
    return FA_OK;
}

// "direction": [0, 0, 1], of any length.
static FaCode read_direction(Reader *r, const FaJson *force, double d[3]) {
    FaJson *list;
    FA_TRY(fai_json_array_or_null(force, "direction", &list, r->err));
    bool good = list && list->count == 3;
    int k = 0;
    for (const FaJson *v = good ? list->first : NULL; v; v = v->next, k++) {
        good &= fai_json_is(v, FA_JSON_NUMBER) && fabs(v->number) < 1e100;
        d[k] = good ? v->number : 0;
    }
    if (!good || !fai_v3_normalize(d))
        return bad(r, list ? list : force, "write \"direction\": [0, 0, 1]: the subject's left, up, front",
                   "the force has no direction");
    return FA_OK;
}

// {"vertices": [120], "radius": 12, "force": "constant:4", "direction": [0, 0, 1]}: millimetres.
static FaCode read_force(Reader *r, const FaJson *v) {
    if (!fai_json_is(v, FA_JSON_OBJECT))
        return bad(r, v, "write {\"shape\": \"cheekPuff\", \"force\": \"constant:3\", \"direction\": [0, 0, 1]}",
                   "a force is an object");
    FaHandle h = {0};
    const char *text;
    double radius;
    FA_TRY(region_weight(r, v));
    FA_TRY(fai_json_str_or(v, "force", "", &text, r->err));
    FA_TRY(fai_json_num_or(v, "radius", 0, &radius, r->err));
    FA_TRY(read_direction(r, v, h.direction));
    if (fa_force_parse(text, &h.force, NULL) < 0 || fabs(h.force.size) > 1000)
        return bad(r, v, "write \"force\": \"constant:3\", \"linear:3\" or \"sine:2:4\": at most 1000 mm, Hz",
                   "this is no force");
    if (!(radius >= 0 && radius <= 1000)) return bad(r, v, "give 0 to 1000 mm", "this is no radius");
    h.force.size *= 1e-3;
    if (radius > 0) FA_TRY(fai_handle_reach(r->rig, 1e-3 * radius, r->weight, r->err));
    if (!(h.reach = FA_NEW(r->rig->mesh.nvert, float))) return FA_FAIL_MEMORY(r->err);
    for (int i = 0; i < r->rig->mesh.nvert; i++) h.reach[i] = (float)r->weight[i];
    r->maps->handle[r->maps->nhandle++] = h;
    return FA_OK;
}

static FaCode read_forces(Reader *r, const FaJson *forces) {
    if (!forces) return FA_OK;
    if (forces->count > 64) return bad(r, forces, "give 64 at most", "these are too many forces");
    r->maps->handle = FA_NEW(forces->count + 1, FaHandle);
    if (!r->maps->handle) return FA_FAIL_MEMORY(r->err);
    for (const FaJson *v = forces->first; v; v = v->next) FA_TRY(read_force(r, v));
    return FA_OK;
}

// One number per vertex of the member `key`; *list is NULL if it is absent.
static FaCode vertex_numbers(Reader *r, const FaJson *vertices, const char *key, FaJson **list) {
    FA_TRY(fai_json_array_or_null(vertices, key, list, r->err));
    if (!*list) return FA_OK;
    if ((*list)->count != r->rig->mesh.nvert)
        return bad(r, *list, "give one number per vertex of the rig", "the map has another number of vertices");
    for (const FaJson *v = (*list)->first; v; v = v->next)
        if (!fai_json_is(v, FA_JSON_NUMBER) || !isfinite(v->number)) return bad(r, v, NULL, "this is no number");
    return FA_OK;
}

static FaCode read_vertices(Reader *r, const FaJson *vertices) {
    static const char *const keys[] = {"mass", "damping", "stiffness"};
    if (!vertices) return FA_OK;
    FaJson *list;
    for (int i = 0; i < 3; i++) {
        FA_TRY(vertex_numbers(r, vertices, keys[i], &list));
        if (!list) continue;
        FA_TRY(vertex_maps(r));
        int v = 0;
        for (const FaJson *j = list->first; j; j = j->next, v++)
            *(i == 0   ? &r->maps->vertex[v].mass
              : i == 1 ? &r->maps->vertex[v].damping
                       : &r->maps->vertex[v].stiffness) = j->number;
    }
    FA_TRY(vertex_numbers(r, vertices, "gain", &list));
    if (list) FA_TRY(gain_map(r));
    int v = 0;
    for (const FaJson *j = list ? list->first : NULL; j; j = j->next) {
        FA_TRY(check_gain(r, j));
        r->maps->gain[v++] = (float)j->number;
    }
    for (v = 0; r->maps->vertex && v < r->rig->mesh.nvert; v++)
        if (fa_oscillator_check(&r->maps->vertex[v], NULL) < 0)
            return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/vertices, vertex %d", v),
                           "mass must be above 0, the others not below", "these numbers make no spring");
    return FA_OK;
}

static FaCode read_all(Reader *r, const FaJson *root) {
    static const char *const known[] = {"version", "generator", "shapes", "regions", "vertices", "forces"};
    if (!fai_json_is(root, FA_JSON_OBJECT))
        return bad(r, root, "write {\"regions\": [...]}", "the maps are no JSON object");
    for (const FaJson *v = root->first; v; v = v->next) {
        bool found = false;
        for (int i = 0; i < FA_COUNT(known); i++) found |= !strcmp(v->key, known[i]);
        if (!found) return bad(r, v, "known are: shapes, regions, vertices, forces", "there is no such member");
    }
    FaJson *shapes, *regions, *vertices, *forces;
    FA_TRY(fai_json_object_or_null(root, "shapes", &shapes, r->err));
    FA_TRY(fai_json_array_or_null(root, "regions", &regions, r->err));
    FA_TRY(fai_json_object_or_null(root, "vertices", &vertices, r->err));
    FA_TRY(fai_json_array_or_null(root, "forces", &forces, r->err));
    FA_TRY(read_shapes(r, shapes));
    FA_TRY(read_vertices(r, vertices));
    for (const FaJson *v = regions ? regions->first : NULL; v; v = v->next) FA_TRY(read_region(r, v));
    return read_forces(r, forces);
}

FaCode fa_analytic_maps_load(const char *path, const FaRig *rig, const FaOscillator *base, FaMaps *maps, FaError *err) {
    *maps = (FaMaps){0};
    FaBytes bytes = {0};
    FaJsonDoc *doc = NULL;
    Reader r = {.rig = rig, .base = *base, .maps = maps, .err = err};
    FaCode rc = fai_file_read(path, 0, &bytes, err);
    if (rc >= 0) rc = fai_json_parse((const char *)bytes.data, bytes.size, &doc, NULL, err);
    if (rc >= 0 && !(r.weight = FA_NEW(rig->mesh.nvert, double))) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = read_all(&r, doc->root);
    fai_json_free(doc);
    fai_bytes_free(&bytes);
    fa_free(r.weight);
    if (rc < 0) fa_analytic_maps_free(maps);
    return fai_fail_in(err, rc, path);
}

// --- writing ------------------------------------------------------------------------------------------------------

static void write_numbers(FaJsonWriter *w, const char *key, const FaOscillator *o, int n, int which) {
    fai_jw_open(w, key, '[');
    for (int i = 0; i < n; i++)
        fai_jw_num(w, NULL, which == 0 ? o[i].mass : which == 1 ? o[i].damping : o[i].stiffness);
    fai_jw_close(w);
}

FaCode fa_analytic_maps_save(const FaMaps *maps, const FaRig *rig, const char *path, FaError *err) {
    FaText text = {0};
    FaJsonWriter w = {.text = &text};
    fai_jw_open(&w, NULL, '{');
    fai_jw_str(&w, "generator", "fascia " FA_VERSION_TEXT);
    if (maps->shape) {
        fai_jw_open(&w, "shapes", '{');
        for (int s = 0; s < rig->nshape; s++) {
            fai_jw_open(&w, rig->shape[s].name, '{');
            fai_jw_num(&w, "mass", maps->shape[s].mass);
            fai_jw_num(&w, "damping", maps->shape[s].damping);
            fai_jw_num(&w, "stiffness", maps->shape[s].stiffness);
            fai_jw_close(&w);
        }
        fai_jw_close(&w);
    }
    if (maps->vertex || maps->gain) fai_jw_open(&w, "vertices", '{');
    if (maps->vertex) {
        write_numbers(&w, "mass", maps->vertex, rig->mesh.nvert, 0);
        write_numbers(&w, "damping", maps->vertex, rig->mesh.nvert, 1);
        write_numbers(&w, "stiffness", maps->vertex, rig->mesh.nvert, 2);
    }
    if (maps->gain) {
        fai_jw_open(&w, "gain", '[');
        for (int v = 0; v < rig->mesh.nvert; v++) fai_jw_float(&w, NULL, maps->gain[v]);
        fai_jw_close(&w);
    }
    if (maps->vertex || maps->gain) fai_jw_close(&w);
    fai_jw_close(&w);
    fai_text_str(&text, "\n");
    FaCode rc = text.failed ? FA_FAIL_MEMORY(err) : fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    return fai_fail_in(err, rc, path);
}

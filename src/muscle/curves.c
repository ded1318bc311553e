#include "muscle/curves.h"

#include "base/file.h"
#include "base/json.h"
#include "math/mat3.h"

#include <math.h>
#include <string.h>

static const double LONGEST = 1; // m
static const char WRITE_AGAIN[] = "write it again: fascia muscle list FACE --curves curves.json";

FaBspline fai_muscle_posed_solid(const FaMuscle *muscle, const double *track, double *c) {
    FaBspline s = muscle->solid;
    const int n = 3 * fai_bspline_points(&s);
    for (int i = 0; i < n; i++) c[i] = s.c[i] + track[i];
    s.c = c;
    return s;
}

double fai_muscle_posed_length(const FaMuscle *muscle, const double *track, double *c) {
    const FaBspline s = fai_muscle_posed_solid(muscle, track, c);
    return fai_bspline_length(&s);
}

// --- finding them -------------------------------------------------------------------------------------------------

// One muscle alone, from rest on in steps. What pulls more is not longer: where noise of the flesh says so, the length
// before is kept.
static FaCode find_curve(FaMuscleDirector *d, int muscle, FaArena *arena, FaMuscleCurve *out, FaError *err) {
    FaMuscleModel *m = d->model;
    const FaMuscle *a = &m->muscles.muscle[muscle];
    const FaPose still = fai_pose_identity();
    const unsigned char none[FA_MUSCLES_MOST] = {0};
    double activation[FA_MUSCLES_MOST] = {0};
    double *x = FA_PUSH(arena, 3 * (size_t)m->flesh.nnode + 1, double);
    double *c = FA_PUSH(arena, 3 * (size_t)fai_bspline_points(&a->solid) + 1, double);
    double *track = FA_PUSH(arena, 3 * (size_t)d->tracks.npoint + 1, double);
    if (!x || !c || !track) return FA_FAIL_MEMORY(err);
    out->n = FA_CURVE_LEVELS + 1;
    out->activation[0] = 0, out->length[0] = fai_bspline_length(&a->solid);
    for (int k = 1; k < out->n; k++) {
        out->activation[k] = activation[muscle] = (double)k / FA_CURVE_LEVELS;
        FA_TRY(fai_directed_solve(d, activation, &still, track, none, 0, k > 1, x, NULL, err));
        fai_directed_flesh_track(d, x, track);
        out->length[k] =
            fmin(fai_muscle_posed_length(a, track + 3 * (size_t)d->tracks.start[muscle], c), out->length[k - 1]);
    }
    return FA_OK;
}

static FaCode room_for_curves(FaMuscleModel *m, FaError *err) {
    if (!m->curve) m->curve = FA_PUSH(m->arena, m->muscles.n + 1, FaMuscleCurve);
    return m->curve ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fa_muscle_curve(FaMuscleModel *m, int muscle, FaMuscleCurve *curve, FaError *err) {
    FA_ASSERT(muscle >= 0 && muscle < m->muscles.n);
    FaMuscleDirector *d;
    FA_TRY(room_for_curves(m, err));
    if (!m->curve[muscle].n) {
        FA_TRY(fai_muscle_director(m, &d, err));
        FaArena *arena = fai_arena_new(0);
        FaMuscleCurve found = {0};
        FaCode rc = arena ? find_curve(d, muscle, arena, &found, err) : FA_FAIL_MEMORY(err);
        fai_muscle_body_pull(m->body, NULL, NULL);
        m->posed = false; // the body has been elsewhere
        fai_arena_free(arena);
        if (rc < 0) return rc;
        m->curve[muscle] = found;
    }
    *curve = m->curve[muscle];
    return FA_OK;
}

double fa_muscle_curve_activation(const FaMuscleCurve *curve, double length) {
    for (int k = 1; k < curve->n; k++)
        if (length > curve->length[k]) {
            const double span = curve->length[k - 1] - curve->length[k];
            const double share = span > 0 ? fmin(fmax((curve->length[k - 1] - length) / span, 0), 1) : 0;
            return curve->activation[k - 1] + share * (curve->activation[k] - curve->activation[k - 1]);
        }
    return curve->activation[curve->n - 1];
}

// --- tables -------------------------------------------------------------------------------------------------------

static void write_curve(FaJsonWriter *w, const char *name, const FaMuscleCurve *c) {
    fai_jw_open(w, name, '[');
    w->pretty = false;
    for (int k = 0; k < c->n; k++) {
        fai_jw_open(w, NULL, '[');
        fai_jw_num(w, NULL, round(1e6 * c->activation[k]) * 1e-6);
        fai_jw_num(w, NULL, 1e3 * c->length[k]);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    w->pretty = true;
}

FaCode fa_muscle_curves_save(FaMuscleModel *m, FaProgressFn *progress, void *user, const char *path, FaError *err) {
    FaText text = {0};
    FaJsonWriter w = {.text = &text, .pretty = true};
    FaMuscleCurve c;
    FaCode rc = FA_OK;
    fai_jw_open(&w, NULL, '{');
    fai_jw_str(&w, "format", "fascia curves");
    fai_jw_str(&w, "unit", "mm");
    fai_jw_open(&w, "muscles", '{');
    for (int i = 0; i < m->muscles.n && rc >= 0; i++) {
        rc = fai_progress(progress, user, "curves", (double)i / m->muscles.n, "nothing is kept", err);
        if (rc >= 0) rc = fa_muscle_curve(m, i, &c, err);
        if (rc >= 0) write_curve(&w, m->muscles.muscle[i].id.name, &c);
    }
    fai_jw_close(&w);
    fai_jw_close(&w);
    fai_text_str(&text, "\n");
    if (rc >= 0) rc = text.failed ? FA_FAIL_MEMORY(err) : fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    return fai_fail_in(err, rc, path);
}

static FaCode read_pair(const FaJson *v, FaMuscleCurve *c, FaError *err) {
    const FaJson *a = fai_json_at(v, 0), *l = fai_json_at(v, 1);
    const int k = c->n;
    if (!fai_json_is(v, FA_JSON_ARRAY) || v->count != 2 || !fai_json_is(a, FA_JSON_NUMBER) ||
        !fai_json_is(l, FA_JSON_NUMBER) || !(a->number >= 0 && a->number <= 1) ||
        !(l->number > 0 && l->number <= 1e3 * LONGEST))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give [activation 0 to 1, length in mm]",
                       "%s is no pair of a curve", fai_json_show(v).text);
    c->activation[k] = a->number, c->length[k] = 1e-3 * l->number;
    if (k && !(c->activation[k] > c->activation[k - 1] && c->length[k] <= c->length[k - 1]))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text,
                       "activations rise from pair to pair, and lengths do not",
                       "%s does not follow the pair before it", fai_json_show(v).text);
    c->n++;
    return FA_OK;
}

static FaCode read_curve(const FaJson *v, FaMuscleCurve *c, FaError *err) {
    if (!fai_json_is(v, FA_JSON_ARRAY) || v->count < 2 || v->count > FA_MUSCLE_CURVE_MOST)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give [[0, 41.2], [0.5, 36], [1, 30.5]]",
                       "a curve is a list of 2 to %d pairs", (int)FA_MUSCLE_CURVE_MOST);
    for (const FaJson *p = v->first; p; p = p->next) FA_TRY(read_pair(p, c, err));
    return FA_OK;
}

static FaCode read_table(const FaJson *root, FaCurveTable *out, FaError *err) {
    const FaJson *list = fai_json_get(root, "muscles");
    const char *unit;
    if (!fai_json_is(root, FA_JSON_OBJECT) || !fai_json_is(list, FA_JSON_OBJECT) || list->count > FA_MUSCLES_MOST)
        return FA_FAIL(err, FA_E_FORMAT, NULL, WRITE_AGAIN, "this is no table of curves");
    FA_TRY(fai_json_str_or(root, "unit", "mm", &unit, err));
    if (strcmp(unit, "mm") != 0)
        return FA_FAIL(err, FA_E_FORMAT, "/unit", "give lengths in mm", "lengths in '%.20s'", unit);
    out->name = (char(*)[48])fai_arena_push(out->arena, (size_t)list->count + 1, sizeof *out->name);
    out->curve = FA_PUSH(out->arena, list->count + 1, FaMuscleCurve);
    if (!out->name || !out->curve) return FA_FAIL_MEMORY(err);
    for (const FaJson *v = list->first; v; v = v->next, out->n++) {
        const size_t n = strlen(v->key);
        if (n < 1 || n >= sizeof *out->name)
            return FA_FAIL(err, FA_E_FORMAT, "/muscles", WRITE_AGAIN, "no muscle has a name of %zu letters", n);
        memcpy(out->name[out->n], v->key, n + 1);
        FA_TRY(read_curve(v, &out->curve[out->n], err));
    }
    return FA_OK;
}

FaCode fai_curve_table_parse(const char *json, size_t size, FaCurveTable *out, FaError *err) {
    FaJsonDoc *doc = NULL;
    *out = (FaCurveTable){0};
    FA_TRY(fai_json_parse(json, size, &doc, NULL, err));
    FaCode rc = (out->arena = fai_arena_new(0)) ? read_table(doc->root, out, err) : FA_FAIL_MEMORY(err);
    fai_json_free(doc);
    if (rc < 0) fai_curve_table_free(out);
    return rc;
}

void fai_curve_table_free(FaCurveTable *table) {
    fai_arena_free(table->arena);
    *table = (FaCurveTable){0};
}

static FaCode take_table(FaMuscleModel *m, const FaCurveTable *t, FaError *err) {
    FA_TRY(room_for_curves(m, err));
    for (int k = 0; k < t->n; k++) {
        int found = 0;
        for (int i = 0; i < m->muscles.n; i++)
            if (fai_muscle_id_named(&m->muscles.muscle[i].id, t->name[k])) m->curve[i] = t->curve[k], found++;
        if (!found) return fai_muscle_unknown(FA_PLACE("/muscles/%s", t->name[k]), t->name[k], err);
    }
    return FA_OK;
}

FaCode fa_muscle_curves_load(FaMuscleModel *m, const char *path, FaError *err) {
    FaBytes bytes = {0};
    FaCurveTable table = {0};
    FaCode rc = fai_file_read(path, (size_t)1 << 26, &bytes, err);
    if (rc >= 0) rc = fai_curve_table_parse((const char *)bytes.data, bytes.size, &table, err);
    if (rc >= 0) rc = take_table(m, &table, err);
    fai_curve_table_free(&table);
    fai_bytes_free(&bytes);
    return fai_fail_in(err, rc, path);
}

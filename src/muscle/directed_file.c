// Directed poses as files: JSON of our own, version 1, metres.
//
//     {"format": "fascia pose", "version": 1, "face": "head.face", "rig": "rig#...", "vertices": 5000, "levels": 4,
//      "spring": 5e9, "jaw": {"q": [x, y, z, w], "p": [x, y, z]}, "cranium": {...},
//      "muscles": [{"name": "zygomaticus_major.L", "activation": 0.7, "sprung": true, "points": 56,
//                   "track": [[x, y, z, ...], ...]}],                          one list to a level, from the neutral on
//      "snap": [...], "snap_weight": [...], "sum": "0123456789abcdef"}
// What is all 0 is left out: tracks, the snap; the cranium at rest. Other members are not read. The sum is of the
// values, not of their text; without it nothing is checked, so that a pose may be written by hand.
#include "base/file.h"
#include "base/json.h"
#include "io/markers.h"
#include "math/mat3.h"
#include "muscle/directed.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "fascia pose";
enum { VERSION = 1, MUSCLE_POINTS_MOST = FA_BSPLINE_MAX * FA_BSPLINE_MAX * FA_BSPLINE_MAX };
static const size_t LARGEST = (size_t)1 << 30; // bytes
static const double FAR = 1;                   // m: nothing of a face goes so far
static const double UNIT = 1e-6;               // quaternions are of length 1, nearly
static const char WRITE_AGAIN[] = "write it again: fascia muscle target|pose|edit ... -o x.pose";

// --- the check sum ------------------------------------------------------------------------------------------------

static uint64_t sum_doubles(const double *v, size_t n, uint64_t h) {
    for (size_t i = 0; i < n; i++) {
        const double x = v[i] + 0.0; // -0 may be left out of the file
        h = fai_hash64(&x, sizeof x, h);
    }
    return h;
}

static uint64_t sum_floats(const float *v, size_t n, uint64_t h) {
    for (size_t i = 0; i < n; i++) {
        const float x = v[i] + 0.0f;
        h = fai_hash64(&x, sizeof x, h);
    }
    return h;
}

static uint64_t sum_pose(const FaPose *p, uint64_t h) { return sum_doubles(p->p, 3, sum_doubles(p->q, 4, h)); }

// face: as the file names it; nullable
static uint64_t sum_of(const FaDirected *d, const char *face) {
    const int sizes[] = {d->nmuscle, d->npoint, d->nlevel, d->nvert};
    const size_t n = (size_t)d->nmuscle;
    uint64_t h = fai_hash64(sizes, sizeof sizes, d->mesh);
    if (face) h = fai_hash64(face, strlen(face), h);
    for (size_t i = 0; i < n; i++) h = fai_hash64(d->name[i], strlen(d->name[i]), h);
    h = fai_hash64(d->start, (n + 1) * sizeof *d->start, h);
    h = fai_hash64(d->sprung, n * sizeof *d->sprung, h);
    h = sum_doubles(d->activation, n, sum_doubles(&d->spring, 1, h));
    h = sum_pose(&d->cranium, sum_pose(&d->jaw, h));
    h = sum_doubles(d->track, 3 * (size_t)d->npoint * (size_t)d->nlevel, h);
    h = sum_floats(d->snap, 3 * (size_t)d->nvert, h);
    return sum_floats(d->snap_weight, (size_t)d->nvert, h);
}

static FaCode check_sum(const FaJson *root, const FaDirected *d, FaError *err) {
    const char *said, *face;
    char sum[20];
    FA_TRY(fai_json_str_or(root, "sum", "", &said, err));
    FA_TRY(fai_json_str_or(root, "face", "", &face, err));
    snprintf(sum, sizeof sum, "%016" PRIx64, sum_of(d, *face ? face : NULL));
    if (!*said || strcmp(said, sum) == 0) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, "/sum",
                   "take it from a copy, or write it again; if you changed it by hand, remove \"sum\"",
                   "a value is not what was written: the check sum does not fit");
}

// --- writing ------------------------------------------------------------------------------------------------------

static bool all_zero(const double *v, size_t n) {
    while (n > 0 && v[n - 1] == 0) n--;
    return n == 0;
}

static void write_doubles(FaJsonWriter *w, const char *key, const double *v, size_t n) {
    fai_jw_open(w, key, '[');
    w->pretty = false;
    for (size_t i = 0; i < n; i++) fai_jw_num(w, NULL, v[i]);
    fai_jw_close(w);
    w->pretty = true;
}

static void write_floats(FaJsonWriter *w, const char *key, const float *v, size_t n) {
    bool any = false;
    for (size_t i = 0; i < n && !any; i++) any = v[i] != 0;
    if (!any) return;
    fai_jw_open(w, key, '[');
    w->pretty = false;
    for (size_t i = 0; i < n; i++) fai_jw_float(w, NULL, v[i]);
    fai_jw_close(w);
    w->pretty = true;
}

static void write_pose(FaJsonWriter *w, const char *key, const FaPose *p) {
    fai_jw_open(w, key, '{');
    write_doubles(w, "q", p->q, 4);
    write_doubles(w, "p", p->p, 3);
    fai_jw_close(w);
}

static void write_muscle(FaJsonWriter *w, const FaDirected *d, int i) {
    const size_t n = 3 * (size_t)(d->start[i + 1] - d->start[i]);
    bool any = false;
    for (int l = 0; l < d->nlevel; l++)
        any |= !all_zero(d->track + 3 * ((size_t)l * (size_t)d->npoint + (size_t)d->start[i]), n);
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "name", d->name[i]);
    fai_jw_num(w, "activation", d->activation[i]);
    fai_jw_bool(w, "sprung", d->sprung[i]);
    fai_jw_int(w, "points", d->start[i + 1] - d->start[i]);
    if (any) fai_jw_open(w, "track", '[');
    for (int l = 0; l < d->nlevel && any; l++)
        write_doubles(w, NULL, d->track + 3 * ((size_t)l * (size_t)d->npoint + (size_t)d->start[i]), n);
    if (any) fai_jw_close(w);
    fai_jw_close(w);
}

FaCode fai_directed_write(const FaDirected *d, const char *face, FaText *text, FaError *err) {
    FaJsonWriter w = {.text = text, .pretty = true};
    const FaPose still = fai_pose_identity();
    char tag[FA_RIG_TAG + 1], sum[20];
    fai_jw_open(&w, NULL, '{');
    fai_jw_str(&w, "format", FORMAT);
    fai_jw_int(&w, "version", VERSION);
    if (face && *face) fai_jw_str(&w, "face", face);
    fai_rig_tag(d->mesh, tag);
    if (d->mesh) fai_jw_str(&w, "rig", tag);
    fai_jw_int(&w, "vertices", d->nvert);
    fai_jw_int(&w, "levels", d->nlevel);
    fai_jw_num(&w, "spring", d->spring);
    write_pose(&w, "jaw", &d->jaw);
    if (memcmp(&d->cranium, &still, sizeof still) != 0) write_pose(&w, "cranium", &d->cranium);
    fai_jw_open(&w, "muscles", '[');
    for (int i = 0; i < d->nmuscle; i++) write_muscle(&w, d, i);
    fai_jw_close(&w);
    write_floats(&w, "snap", d->snap, 3 * (size_t)d->nvert);
    write_floats(&w, "snap_weight", d->snap_weight, (size_t)d->nvert);
    snprintf(sum, sizeof sum, "%016" PRIx64, sum_of(d, face && *face ? face : NULL));
    fai_jw_str(&w, "sum", sum);
    fai_jw_close(&w);
    fai_text_str(text, "\n");
    return text->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

// From folder `from` to `to`, both whole: "../faces/head.face". Where they share nothing: `to`.
static void relative(const char *from, const char *to, char out[PATH_MAX]) {
    size_t same = 0, used = 0;
    for (size_t i = 0;; i++) {
        const bool end_from = !from[i] || from[i] == '/', end_to = !to[i] || to[i] == '/';
        if (end_from && end_to) same = i;
        if (!from[i] || from[i] != to[i]) break;
    }
    snprintf(out, PATH_MAX, "%s", to);
    if (same == 0) return;
    char text[PATH_MAX] = "";
    for (const char *at = from + same; *at; at++)
        if (*at == '/' && used + 4 < sizeof text) memcpy(text + used, "../", 4), used += 3;
    if (to[same] && (size_t)snprintf(text + used, sizeof text - used, "%s", to + same + 1) < sizeof text - used)
        memcpy(out, text, sizeof text);
}

FaCode fa_directed_save(const FaDirected *d, const char *face, const char *path, FaError *err) {
    FA_ASSERT(d && path);
    char from[PATH_MAX], to[PATH_MAX], said[PATH_MAX] = "";
    char *dir = fai_path_dir(path);
    const char *of = face ? face : fa_directed_face(d);
    FaText text = {0};
    if (!dir) return FA_FAIL_MEMORY(err);
    if (*of && realpath(of, to) && realpath(dir, from)) // a face that is not there has no place to name
        relative(from, to, said);
    FaCode rc = fai_directed_write(d, said, &text, err);
    if (rc >= 0) rc = fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    fa_free(dir);
    return fai_fail_in(err, rc, path);
}

const char *fa_directed_face(const FaDirected *d) { return d->face ? d->face : ""; }

// --- reading ------------------------------------------------------------------------------------------------------

static FaCode number_of(const FaJson *v, double lo, double hi, double *out, FaError *err) {
    if (!fai_json_is(v, FA_JSON_NUMBER) || !(v->number >= lo && v->number <= hi))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, WRITE_AGAIN, "a number from %g to %g is needed, not %s",
                       lo, hi, fai_json_show(v).text);
    *out = v->number;
    return FA_OK;
}

static FaCode array_of(const FaJson *v, size_t n, FaError *err) {
    if (fai_json_is(v, FA_JSON_ARRAY) && (size_t)v->count == n) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, WRITE_AGAIN, "a list of %zu is needed, not %s of %d", n,
                   fai_json_is(v, FA_JSON_ARRAY) ? "one" : "another value", fai_json_count(v));
}

static FaCode read_doubles(const FaJson *v, size_t n, double *out, FaError *err) {
    FA_TRY(array_of(v, n, err));
    for (const FaJson *c = v->first; c; c = c->next) FA_TRY(number_of(c, -FAR, FAR, out++, err));
    return FA_OK;
}

static FaCode read_floats(const FaJson *root, const char *key, size_t n, double lo, float *out, FaError *err) {
    const FaJson *v = fai_json_get(root, key);
    if (!v) return FA_OK;
    FA_TRY(array_of(v, n, err));
    for (const FaJson *c = v->first; c; c = c->next) {
        double number;
        FA_TRY(number_of(c, lo, FAR, &number, err));
        *out++ = (float)number;
    }
    return FA_OK;
}

static FaCode read_pose(const FaJson *root, const char *key, FaPose *out, FaError *err) {
    FaJson *v = NULL;
    FaPose p = fai_pose_identity();
    FA_TRY(fai_json_object_or_null(root, key, &v, err));
    if (!v) return FA_OK;
    const FaJson *q = fai_json_get(v, "q"), *at = fai_json_get(v, "p");
    if (!q || !at) return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, WRITE_AGAIN, "a bone needs \"q\" and \"p\"");
    FA_TRY(read_doubles(q, 4, p.q, err));
    FA_TRY(read_doubles(at, 3, p.p, err));
    if (!(fabs(fai_q_dot(p.q, p.q) - 1) < UNIT))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(q).text, WRITE_AGAIN, "a quaternion has length 1");
    *out = p;
    return FA_OK;
}

static bool sound_name(const FaJson *v) {
    const size_t room = sizeof *((FaDirected *)NULL)->name;
    if (!fai_json_is(v, FA_JSON_STRING) || v->string_size < 1 || (size_t)v->string_size >= room) return false;
    for (int i = 0; i < v->string_size; i++)
        if ((unsigned char)v->string[i] <= ' ' || (unsigned char)v->string[i] > 126) return false;
    return true;
}

static FaCode read_muscle(const FaJson *v, FaDirected *d, int i, FaError *err) {
    const FaJson *name = fai_json_get(v, "name"), *sprung = fai_json_get(v, "sprung"), *level;
    FaJson *track = NULL;
    const size_t n = 3 * (size_t)(d->start[i + 1] - d->start[i]);
    double *to = d->track + 3 * (size_t)d->start[i];
    if (!sound_name(name))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, WRITE_AGAIN,
                       "a muscle needs a name of at most 47 letters");
    memcpy(d->name[i], name->string, (size_t)name->string_size + 1);
    FA_TRY(fai_json_num_or(v, "activation", 0, &d->activation[i], err));
    if (!(d->activation[i] >= 0 && d->activation[i] <= 1))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give 0 to 1", "an activation of %g", d->activation[i]);
    if (sprung && sprung->type != FA_JSON_TRUE && sprung->type != FA_JSON_FALSE)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(sprung).text, "give true or false", "sprung is %s",
                       fai_json_show(sprung).text);
    d->sprung[i] = fai_json_is(sprung, FA_JSON_TRUE);
    FA_TRY(fai_json_array_or_null(v, "track", &track, err));
    if (!track) return FA_OK;
    FA_TRY(array_of(track, (size_t)d->nlevel, err));
    for (level = track->first; level; level = level->next, to += 3 * (size_t)d->npoint)
        FA_TRY(read_doubles(level, n, to, err));
    return FA_OK;
}

// How many control points there are in all.
static FaCode count_points(const FaJson *muscles, int *npoint, FaError *err) {
    *npoint = 0;
    for (const FaJson *v = muscles->first; v; v = v->next) {
        int64_t n;
        if (v->type != FA_JSON_OBJECT)
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, WRITE_AGAIN, "a muscle is an object");
        FA_TRY(fai_json_int(v, "points", 8, MUSCLE_POINTS_MOST, &n, err));
        *npoint += (int)n;
        if (*npoint > FA_DIRECTED_POINTS_MOST)
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, WRITE_AGAIN, "more than %d control points",
                           (int)FA_DIRECTED_POINTS_MOST);
    }
    return FA_OK;
}

static FaCode check_format(const FaJson *root, FaError *err) {
    const char *format;
    int64_t version;
    if (!fai_json_is(root, FA_JSON_OBJECT) || !fai_json_get(root, "format"))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "give a .pose, of fascia muscle target|pose|edit ... -o x.pose",
                       "this is no pose of muscles");
    FA_TRY(fai_json_str_or(root, "format", "", &format, err));
    if (strcmp(format, FORMAT) != 0)
        return FA_FAIL(err, FA_E_FORMAT, "/format", "give a .pose, of fascia muscle target|pose|edit ... -o x.pose",
                       "this is '%.40s', no pose of muscles", format);
    FA_TRY(fai_json_int(root, "version", 1, INT_MAX, &version, err));
    if (version > VERSION)
        return FA_FAIL(err, FA_E_FORMAT, "/version", "use a newer fascia", "version %d; this fascia reads up to %d",
                       (int)version, (int)VERSION);
    return FA_OK;
}

static FaCode read_face(const FaJson *root, const char *folder, FaDirected *d, FaError *err) {
    const char *face, *tag;
    FA_TRY(fai_json_str_or(root, "face", "", &face, err));
    FA_TRY(fai_json_str_or(root, "rig", "", &tag, err));
    d->mesh = fai_rig_tag_read(tag, strlen(tag));
    if (!*face) return FA_OK;
    if (strlen(face) >= PATH_MAX)
        return FA_FAIL(err, FA_E_FORMAT, "/face", "give a shorter path", "a path of %zu letters", strlen(face));
    char *whole = folder && *face != '/' ? fai_path_join(folder, face) : fai_strdup(face);
    d->face = whole ? fai_arena_strndup(d->arena, whole, strlen(whole)) : NULL;
    fa_free(whole);
    return d->face ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode read_all(const FaJson *root, const char *folder, FaDirected **out, FaError *err) {
    FaJson *muscles = NULL;
    int64_t nvert, nlevel;
    int npoint, i = 0;
    FA_TRY(check_format(root, err));
    FA_TRY(fai_json_int(root, "vertices", 1, FA_DIRECTED_VERTICES_MOST, &nvert, err));
    FA_TRY(fai_json_int(root, "levels", 1, FA_DIRECTED_LEVELS_MOST, &nlevel, err));
    FA_TRY(fai_json_array_or_null(root, "muscles", &muscles, err));
    if (!muscles || muscles->count < 1 || muscles->count > FA_MUSCLES_MOST)
        return FA_FAIL(err, FA_E_FORMAT, "/muscles", WRITE_AGAIN, "%d muscles; 1 to %d are needed",
                       fai_json_count(muscles), (int)FA_MUSCLES_MOST);
    FA_TRY(count_points(muscles, &npoint, err));
    FA_TRY(fai_directed_sized(muscles->count, npoint, (int)nlevel, (int)nvert, out, err));
    FaDirected *d = *out;
    for (const FaJson *v = muscles->first; v; v = v->next, i++)
        d->start[i + 1] = d->start[i] + (int)fai_json_get(v, "points")->number;
    i = 0;
    for (const FaJson *v = muscles->first; v; v = v->next) FA_TRY(read_muscle(v, d, i++, err));
    FA_TRY(fai_json_num_or(root, "spring", FA_MUSCLE_SPRING, &d->spring, err));
    if (!(d->spring >= 0 && d->spring <= 1e13))
        return FA_FAIL(err, FA_E_FORMAT, "/spring", "give 0 to 1e13 N/m4", "springs of %g N/m4", d->spring);
    FA_TRY(read_pose(root, "jaw", &d->jaw, err));
    FA_TRY(read_pose(root, "cranium", &d->cranium, err));
    FA_TRY(read_floats(root, "snap", 3 * (size_t)nvert, -FAR, d->snap, err));
    FA_TRY(read_floats(root, "snap_weight", (size_t)nvert, 0, d->snap_weight, err));
    FA_TRY(read_face(root, folder, d, err));
    return check_sum(root, d, err);
}

FaCode fai_directed_parse(const char *json, size_t size, const char *folder, FaDirected **out, FaError *err) {
    FaJsonDoc *doc = NULL;
    *out = NULL;
    FA_TRY(fai_json_parse(json, size, &doc, NULL, err));
    FaCode rc = read_all(doc->root, folder, out, err);
    fai_json_free(doc);
    if (rc >= 0) return rc;
    if (err && !err->remedy[0]) snprintf(err->remedy, sizeof err->remedy, "%s", WRITE_AGAIN);
    fa_directed_free(*out);
    *out = NULL;
    return rc;
}

FaCode fa_directed_load(const char *path, FaDirected **pose, FaError *err) {
    FA_ASSERT(path && pose);
    FaBytes bytes = {0};
    char *folder = fai_path_dir(path);
    *pose = NULL;
    FaCode rc = folder ? fai_file_read(path, LARGEST, &bytes, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_directed_parse((const char *)bytes.data, bytes.size, folder, pose, err);
    fai_bytes_free(&bytes);
    fa_free(folder);
    return fai_fail_in(err, rc, path);
}

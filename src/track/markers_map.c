// Which surface point each marker is: from a file, from names, or by nearness.
#include "base/file.h"
#include "base/json.h"
#include "base/number.h"
#include "io/clip_tools.h"
#include "io/decimal.h"
#include "io/markers.h"
#include "math/mat3.h"
#include "math/procrustes.h"
#include "mesh/mesh.h"
#include "track/markers_align.h"
#include "track/markers_neutral.h"

#include <math.h>

static const double REACH = 0.01;        // m
static const double SHEET = 0.002;       // m: another sheet of skin that is nearly as near ...
static const double SHEET_APART = 0.008; // m: ... and moves this far from the first one makes a marker ambiguous
static const double RIVAL_RATIO = 1.3;   // an alignment this much worse than the best is a rival
static const double NAMES_FIT = 0.012;   // m rms: vertices named v123 that lie further off are another mesh's ...
static const double NAMES_SIZE = 0.6;    // ... and so if they need to be scaled by more than this
static const double EXPRESSION = 0.001;  // m rms that the shapes move the markers by: less is a neutral face
static const double HALVED = 0.5;        // of the distance to the neutral: what an expression must leave of it
static const double POOR = 0.006;        // m rms: an alignment that should be looked at

FaMapOptions fa_map_options_default(void) { return (FaMapOptions){.frame = -1, .reach = REACH}; }

// --- JSON ---------------------------------------------------------------------------------------------------------

static FaCode read_offset(const FaJson *v, FaMarkerPoint *p, FaError *err) {
    double o[3];
    bool present;
    FA_TRY(fai_json_nums(v, "offset", 3, o, &present, err));
    for (int k = 0; present && k < 3; k++) {
        p->offset[k] = (float)o[k];
        if (!(fabs(o[k]) < 1))
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "offsets are metres",
                           "the marker is over a metre off the surface");
    }
    return FA_OK;
}

static FaCode read_bary(const FaJson *v, FaMarkerPoint *p, FaError *err) {
    double b[3] = {1 / 3.0, 1 / 3.0, 1 / 3.0};
    bool present;
    FA_TRY(fai_json_nums(v, "bary", 3, b, &present, err));
    double sum = b[0] + b[1] + b[2];
    if (!(fabs(sum - 1) <= 1e-3) || b[0] < -1e-3 || b[1] < -1e-3 || b[2] < -1e-3)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give three weights from 0 to 1 that sum to 1",
                       "the marker is outside of its triangle");
    // numbers that we wrote come back to the bit
    bool exact = fabs(sum - 1) <= 1e-6;
    for (int k = 0; k < 3; k++) p->bary[k] = (float)(exact ? b[k] : b[k] / sum);
    return FA_OK;
}

static FaCode read_point(const FaRig *rig, const int *first, const FaJson *v, FaMarkerPoint *p, FaError *err) {
    int64_t i = -1, t = -1;
    *p = (FaMarkerPoint){.tri = -1, .vert = {-1, -1, -1}};
    if (fai_json_is(v, FA_JSON_NULL)) return FA_OK;
    if (fai_json_is(v, FA_JSON_NUMBER)) {
        if (!(v->number >= 0) || v->number >= rig->mesh.nvert || v->number != floor(v->number))
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text,
                           FA_PLACE("the rig has vertices 0 to %d", rig->mesh.nvert - 1),
                           "no vertex of the rig has this number");
        *p = fai_marker_vertex(&rig->mesh, first, (int)v->number);
        return FA_OK;
    }
    if (!fai_json_is(v, FA_JSON_OBJECT))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give 123, {\"tri\": 12, \"bary\": [a, b, c]} or null",
                       "a marker is neither a vertex nor a point of a triangle");
    FA_TRY(fai_json_int_or(v, "vertex", 0, rig->mesh.nvert - 1, -1, &i, err));
    FA_TRY(fai_json_int_or(v, "tri", 0, rig->mesh.ntri - 1, -1, &t, err));
    if ((i < 0) == (t < 0))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "give one of vertex and tri",
                       i < 0 ? "neither a vertex nor a triangle is named" : "both a vertex and a triangle are named");
    if (i >= 0)
        *p = fai_marker_vertex(&rig->mesh, first, (int)i);
    else {
        p->tri = (int)t;
        memcpy(p->vert, rig->mesh.tri + 3 * t, sizeof p->vert);
        FA_TRY(read_bary(v, p, err));
    }
    return read_offset(v, p, err);
}

// "v123": the vertex; -1 if the name is another; -2 if it is out of range.
static int named_vertex(const char *name, int nvert) {
    int64_t v;
    size_t n = strlen(name);
    if (n < 2 || name[0] != 'v' || name[1] < '0' || name[1] > '9') return -1;
    for (size_t i = 1; i < n; i++)
        if (name[i] < '0' || name[i] > '9') return -1;
    if (!fai_parse_int(name + 1, name + n, &v)) return -2;
    return v < nvert ? (int)v : -2;
}

// Of which mesh a map is; its names v123 are of the same one if they are where they say.
static void set_mesh(FaMarkerMap *map, const FaRig *rig) {
    map->mesh = map->named = fai_mesh_print(&rig->mesh);
    for (int i = 0; i < map->count; i++) {
        int v = named_vertex(map->name[i], rig->mesh.nvert);
        const FaMarkerPoint *p = &map->point[i];
        if (v != -1 && p->vert[0] >= 0 && (p->vert[0] != v || p->bary[0] != 1)) map->named = 0;
    }
}

// {"#rig": "rig#0123..", ...}: the mesh whose vertices the numbers are.
static const char RIG_KEY[] = "#rig";
static bool is_rig(const FaJson *v) { return fai_json_is(v, FA_JSON_STRING) && !strcmp(v->key, RIG_KEY); }

static FaCode check_rig(const FaJson *root, const FaRig *rig, FaError *err) {
    const FaJson *v = fai_json_is(root, FA_JSON_OBJECT) ? fai_json_get(root, RIG_KEY) : NULL;
    if (!v || !is_rig(v) || fai_rig_tag_read(v->string, v->string_size) == fai_mesh_print(&rig->mesh)) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, NULL,
                   "make it again with fascia markers RIG TAKE -o map.json; if its numbers are of this rig all the "
                   "same, take out the line \"#rig\"",
                   "the map is of another rig: its vertices and triangles are not those of %s", rig->path);
}

static FaCode parse_map(const FaBytes *bytes, const FaRig *rig, const int *first, FaMarkerMap **map, FaError *err) {
    FaJsonDoc *doc = NULL;
    FA_TRY(fai_json_parse((const char *)bytes->data, bytes->size, &doc, NULL, err));
    int n = fai_json_count(doc->root);
    FaCode rc = check_rig(doc->root, rig, err);
    const char **name = FA_PUSH(doc->arena, FA_MAX(n, 1), const char *);
    if (rc >= 0 && !name)
        rc = FA_FAIL_MEMORY(err);
    else if (rc >= 0 && (!fai_json_is(doc->root, FA_JSON_OBJECT) || !n))
        rc = FA_FAIL(err, FA_E_FORMAT, NULL, "a map is {\"marker\": 123, ...}", "the file names no markers");
    int i = 0;
    for (const FaJson *v = rc >= 0 ? doc->root->first : NULL; v; v = v->next)
        if (!is_rig(v)) name[i++] = v->key;
    int one = -1, other = -1;
    if (rc >= 0) rc = fai_equal_names(name, i, &one, &other, err);
    if (rc >= 0 && one >= 0)
        rc = FA_FAIL(err, FA_E_FORMAT, NULL, "keep one of them", "the map names '%.80s' twice", name[one]);
    if (rc >= 0) rc = fai_marker_map_new(i, name, map, err);
    i = 0;
    for (const FaJson *v = rc >= 0 ? doc->root->first : NULL; v && rc >= 0; v = v->next) {
        if (is_rig(v)) continue;
        rc = read_point(rig, first, v, &(*map)->point[i], err);
        if (rc >= 0) (*map)->mapped += (*map)->point[i++].vert[0] >= 0;
    }
    if (rc >= 0) set_mesh(*map, rig);
    fai_json_free(doc);
    return rc;
}

FaCode fa_marker_map_load(const char *path, const FaRig *rig, FaMarkerMap **map, FaError *err) {
    FA_ASSERT(path && rig && map);
    *map = NULL;
    FaBytes bytes = {0};
    FaCode rc = fai_file_read(path, 64 << 20, &bytes, err);
    int *first = rc >= 0 ? fai_first_triangles(&rig->mesh) : NULL;
    if (rc >= 0) rc = first ? parse_map(&bytes, rig, first, map, err) : FA_FAIL_MEMORY(err);
    fa_free(first);
    fai_bytes_free(&bytes);
    if (rc >= 0) return rc;
    fa_marker_map_free(*map);
    *map = NULL;
    return fai_fail_in(err, rc, path);
}

static void write_floats(FaJsonWriter *w, const char *key, const float v[3]) {
    fai_jw_open(w, key, '[');
    for (int k = 0; k < 3; k++) fai_jw_float(w, NULL, v[k]);
    fai_jw_close(w);
}

FaCode fa_marker_map_save(const FaMarkerMap *map, const char *path, FaError *err) {
    FA_ASSERT(map && path);
    FaText text = {0};
    FaJsonWriter w = {.text = &text, .pretty = true};
    fai_jw_open(&w, NULL, '{');
    char tag[FA_RIG_TAG + 1];
    fai_rig_tag(map->mesh, tag);
    if (map->mesh) fai_jw_str(&w, RIG_KEY, tag);
    for (int i = 0; i < map->count; i++) {
        const FaMarkerPoint *p = &map->point[i];
        bool vertex = p->bary[0] == 1 && p->bary[1] == 0 && p->bary[2] == 0;
        bool off = p->offset[0] != 0 || p->offset[1] != 0 || p->offset[2] != 0;
        if (p->vert[0] < 0)
            fai_jw_raw(&w, map->name[i], "null", 4);
        else if (vertex && !off)
            fai_jw_int(&w, map->name[i], p->vert[0]);
        else {
            fai_jw_open(&w, map->name[i], '{');
            fai_jw_int(&w, vertex ? "vertex" : "tri", vertex ? p->vert[0] : p->tri);
            if (!vertex) write_floats(&w, "bary", p->bary);
            if (off) write_floats(&w, "offset", p->offset);
            fai_jw_close(&w);
        }
    }
    fai_jw_close(&w);
    fai_text_str(&text, "\n");
    FaCode rc = text.failed ? FA_FAIL_MEMORY(err) : fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    return fai_fail_in(err, rc, path);
}

// --- by nearness --------------------------------------------------------------------------------------------------

enum { OPEN_MARKER, NAMED, LEFT_OUT };

typedef struct Work {
    const FaMarkerTake *take;
    const FaRig *rig;
    FaMapOptions options;
    FaArena *arena;
    FaMarkerMap *map;
    FaMarkerFace face;
    FaClosest *outside;   // hits' tri: places in face.tri
    int *first;           // first triangle of each vertex
    unsigned char *state; // OPEN_MARKER ..                                             (nmarker)
    double *at;           // positions at the neutral frame, take's frame               (nmarker x 3)
    unsigned char *known; // at is known                                                (nmarker)
    double *pair;         // scratch                                                    (nmarker x 6)
    const float *x;       // the face at the neutral frame: the rig's neutral, unless that frame shows an expression
    int frame;
} Work;

static const float *sample(const FaMarkerTake *t, int f, int m) {
    return t->x + 3 * ((size_t)f * (size_t)t->nmarker + (size_t)m);
}
static bool seen(const FaMarkerTake *t, int f, int m) { return t->ok[(size_t)f * (size_t)t->nmarker + (size_t)m]; }

static FaCode map_by_file(Work *w, FaError *err) {
    const FaMarkerTake *t = w->take;
    FaMarkerMap *file = NULL;
    if (w->options.file) FA_TRY(fa_marker_map_load(w->options.file, w->rig, &file, err));
    int unused = 0;
    const char *first_unused = "";
    for (int i = 0; file && i < file->count; i++) {
        int m = fa_markers_find(t, file->name[i]);
        if (m < 0) {
            if (!unused++) first_unused = file->name[i];
            continue;
        }
        w->map->point[m] = file->point[i];
        w->state[m] = file->point[i].vert[0] >= 0 ? NAMED : LEFT_OUT;
    }
    fai_note_count(&w->map->notes, unused, "map-unused", first_unused, "check the names",
                   "%d marker%s of the map not in the take, the first is '%.60s'", unused,
                   unused == 1 ? " is" : "s are", first_unused);
    fa_marker_map_free(file);
    return FA_OK;
}

// Do the vertices that the names name lie as the markers do? In the frame that shows most of them, whatever the pose
// and the size. Fewer than four: nobody can say, and the names are believed.
static bool names_fit(Work *w) {
    const FaMarkerTake *t = w->take;
    double *p = w->pair, *q = p + 3 * (size_t)t->nmarker;
    int frame = 0, most = 0, n = 0;
    for (int f = 0; f < t->nframe; f++) {
        int shown = 0;
        for (int m = 0; m < t->nmarker; m++) shown += seen(t, f, m) && named_vertex(t->name[m], INT32_MAX) >= 0;
        if (shown > most) most = shown, frame = f;
    }
    for (int m = 0; m < t->nmarker; m++) {
        int v = named_vertex(t->name[m], w->rig->mesh.nvert);
        if (v < 0 || !seen(t, frame, m)) continue;
        fai_v3_load(sample(t, frame, m), 0, p + 3 * (size_t)n);
        fai_v3_load(w->rig->mesh.x, v, q + 3 * (size_t)n++);
    }
    if (n < 4) return true;
    FaAlign a = fai_align(n, p, q, NULL, true);
    return a.kind != FA_ALIGN_FULL || (a.rms <= NAMES_FIT && a.scale > NAMES_SIZE && a.scale < 1 / NAMES_SIZE);
}

// Names v123, if they are of this rig's mesh: as the take's fingerprint says, else as the places tell.
static FaCode map_by_name(Work *w, FaError *err) {
    const FaMarkerTake *t = w->take;
    int named = 0, beyond = 0, first = -1;
    for (int m = 0; m < t->nmarker; m++) {
        int v = w->state[m] == OPEN_MARKER ? named_vertex(t->name[m], w->rig->mesh.nvert) : -1;
        named += v >= 0, beyond += v == -2;
        if (v != -1 && first < 0) first = m;
    }
    if (first < 0) return FA_OK;
    bool known = t->mesh != 0, ours = known ? t->mesh == fai_mesh_print(&w->rig->mesh) : !beyond && names_fit(w);
    for (int m = 0; ours && m < t->nmarker; m++) {
        int v = w->state[m] == OPEN_MARKER ? named_vertex(t->name[m], w->rig->mesh.nvert) : -1;
        if (v < 0) continue;
        w->map->point[m] = fai_marker_vertex(&w->rig->mesh, w->first, v);
        w->state[m] = NAMED;
    }
    if (ours && w->map->mesh) w->map->named = w->map->mesh;
    if (!ours && t->nmarker < 4)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("marker '%.80s'", t->name[first]),
                       "use the rig that the markers were taken from, or give their places with --map",
                       "the name is a vertex of another rig");
    if (!ours)
        fai_note_count(&w->map->notes, named + beyond, "marker-names-other", t->name[first],
                       "--retarget fits them to this face; --from RIG2 tells which rig they are of",
                       "names like '%.30s' are vertices of another rig (%s): the markers are placed by where they are",
                       t->name[first],
                       known    ? "the take says so"
                       : beyond ? "this one has not as many"
                                : "its vertices of these numbers lie elsewhere");
    return FA_OK;
}

static FaCode find_neutral(Work *w, FaError *err) {
    const FaMarkerTake *t = w->take;
    if (w->options.frame >= t->nframe)
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", w->options.frame), "give one of its frames with --neutral",
                       "the take has %d frames", t->nframe);
    w->frame = w->options.frame;
    if (w->frame >= 0) return FA_OK;
    int first = w->frame = fai_first_frame(t), named = 0;
    for (int m = 0; m < t->nmarker; m++) named += w->state[m] == NAMED;
    if (named >= 4) return FA_OK; // they tell the pose, and the expression does not matter
    FA_TRY(fai_neutral_frame(t, w->rig, w->options.aligned, &w->frame, err));
    if (w->frame != first)
        fai_note(&w->map->notes, "neutral-found", FA_PLACE("frame %d", w->frame), "name another with --neutral",
                 "the take does not begin with a neutral face: frame %d is the nearest to one", w->frame);
    return FA_OK;
}

// Where a marker that is not seen at the neutral frame would be there: carried over by the rigid motion of the markers
// that both frames show, from the nearest frame that shows it.
static bool carry(Work *w, int m) {
    const FaMarkerTake *t = w->take;
    int f = -1;
    for (int gap = 1; gap < t->nframe && f < 0; gap++) {
        if (w->frame - gap >= 0 && seen(t, w->frame - gap, m))
            f = w->frame - gap;
        else if (w->frame + gap < t->nframe && seen(t, w->frame + gap, m))
            f = w->frame + gap;
    }
    if (f < 0) return false;
    double *p = w->pair, *q = p + 3 * (size_t)t->nmarker, x[3];
    int n = 0;
    for (int i = 0; i < t->nmarker; i++) {
        if (!seen(t, f, i) || !seen(t, w->frame, i)) continue;
        fai_v3_load(sample(t, f, i), 0, p + 3 * (size_t)n);
        fai_v3_load(sample(t, w->frame, i), 0, q + 3 * (size_t)n++);
    }
    FaPose pose;
    if (!fai_procrustes(n, p, q, &pose)) return false;
    fai_v3_load(sample(t, f, m), 0, x);
    fai_pose_apply(&pose, x, w->at + 3 * (size_t)m);
    return true;
}

// A list of names for a note: "a, b, c, ...".
typedef struct List {
    char text[220];
    int size, count;
    const char *first;
} List;

static void list_add(List *l, const char *name) {
    if (!l->count++) l->first = name;
    if (l->size < 170)
        l->size += snprintf(l->text + l->size, sizeof l->text - (size_t)l->size, "%s%.30s", l->size ? ", " : "", name);
    else if (l->text[l->size - 1] != '.')
        l->size += snprintf(l->text + l->size, sizeof l->text - (size_t)l->size, ", ...");
}

static void note_list(Work *w, const List *l, const char *code, const char *remedy, const char *what) {
    fai_note_count(&w->map->notes, l->count, code, l->first, remedy, "%d marker%s %s: %s", l->count,
                   l->count == 1 ? "" : "s", what, l->text);
}

static void find_positions(Work *w) {
    const FaMarkerTake *t = w->take;
    List never = {0}, carried = {0};
    for (int m = 0; m < t->nmarker; m++) {
        if (seen(t, w->frame, m)) {
            fai_v3_load(sample(t, w->frame, m), 0, w->at + 3 * (size_t)m);
            w->known[m] = 1;
        } else {
            w->known[m] = carry(w, m);
            if (w->state[m] == OPEN_MARKER) list_add(w->known[m] ? &carried : &never, t->name[m]);
        }
    }
    note_list(w, &carried, "marker-carried", "name another frame with --neutral if they are misplaced",
              "not seen at the neutral frame, placed by the nearest frame that shows them");
    note_list(w, &never, "marker-unplaced", "leave them out", "never seen together with enough others, not mapped");
}

// "jawOpen 0.62, mouthSmileLeft 0.40": the strongest shapes.
static void strongest(const FaRig *rig, const double *weight, char *text, size_t size) {
    enum { NAMED_SHAPES = 3 };
    int used[NAMED_SHAPES], n = 0;
    for (size_t at = 0; n < NAMED_SHAPES && at < size; n++) {
        int best = -1;
        for (int s = 0; s < rig->nshape; s++) {
            bool old = false;
            for (int k = 0; k < n; k++) old |= used[k] == s;
            if (!old && weight[s] > 0.05 && (best < 0 || weight[s] > weight[best])) best = s;
        }
        if (best < 0) return;
        used[n] = best;
        at +=
            (size_t)snprintf(text + at, size - at, "%s%.30s %.2f", n ? ", " : "", rig->shape[best].name, weight[best]);
    }
}

// A take without any neutral face: where the markers lie on this rig's own face in some expression, and clearly not on
// its neutral, they are placed with that expression. A face of other proportions fits neither, and stays as it is.
static FaCode with_expression(Work *w, int n, const double *p, double *rms, FaError *err) {
    FaExpression fit = {.pose = w->map->rig_from_take};
    if (w->rig->nshape < 1 || n < 8) return FA_OK;
    FA_TRY(fai_expression_fit(w->rig, &w->face, n, p, w->arena, &fit, err));
    if (fit.moved < EXPRESSION || !(fit.rms < HALVED * fit.before)) return FA_OK;
    FaMesh now = w->rig->mesh;
    char shapes[160] = "";
    now.x = fit.x;
    fai_closest_free(w->outside);
    w->outside = NULL;
    FA_TRY(fai_closest_of(&now, w->face.tri, w->face.ntri, &w->outside, err));
    w->map->rig_from_take = fit.pose;
    w->x = fit.x;
    *rms = fit.rms;
    strongest(w->rig, fit.weight, shapes, sizeof shapes);
    fai_note(&w->map->notes, "neutral-expression", FA_PLACE("frame %d", w->frame),
             "if a frame of the take is neutral, name it with --neutral",
             "no frame shows a neutral face: the markers were placed with the expression of frame %d (%s)", w->frame,
             shapes);
    return FA_OK;
}

static FaCode align(Work *w, FaError *err) {
    const FaMarkerTake *t = w->take;
    double *p = w->pair, *q = p + 3 * (size_t)t->nmarker;
    int n = 0;
    if (w->options.aligned) return FA_OK;
    // those that are placed already tell the pose
    for (int m = 0; m < t->nmarker; m++) {
        if (w->state[m] != NAMED || !w->known[m]) continue;
        memcpy(p + 3 * (size_t)n, w->at + 3 * (size_t)m, 3 * sizeof *p);
        fa_marker_point_at(&w->map->point[m], w->rig->mesh.x, true, q + 3 * (size_t)n++);
    }
    if (n >= 4 && fai_procrustes(n, p, q, &w->map->rig_from_take)) return FA_OK;
    n = 0;
    for (int m = 0; m < t->nmarker; m++)
        if (w->known[m] && w->state[m] != LEFT_OUT) memcpy(p + 3 * (size_t)n++, w->at + 3 * (size_t)m, 3 * sizeof *p);
    FaAlignment a;
    FA_TRY(fai_markers_align(w->rig, &w->face, w->outside, n, p, &a, err));
    w->map->rig_from_take = a.pose;
    if (w->options.frame < 0) FA_TRY(with_expression(w, n, p, &a.rms, err));
    if (a.rival_rms < RIVAL_RATIO * a.rms + 2e-4)
        fai_note(&w->map->notes, "alignment-ambiguous", FA_PLACE("frame %d", w->frame),
                 "give a map of a few markers with --map",
                 "the markers fit the face nearly as well turned by %d degrees (%d and %d hundredths of a mm rms)",
                 (int)(a.rival_turn + 0.5), (int)(a.rms * 1e5 + 0.5), (int)(a.rival_rms * 1e5 + 0.5));
    if (a.rms > POOR)
        fai_note(&w->map->notes, "alignment-poor", FA_PLACE("frame %d", w->frame),
                 "name the take's neutral frame with --neutral; if it is another face, --retarget; or --map",
                 "the markers are %d.%d mm rms off the face", (int)(a.rms * 1e3), (int)(a.rms * 1e4) % 10);
    return FA_OK;
}

// Is there another sheet of skin nearly as near, which moves away from this one (the other lip, the other lid)?
static bool ambiguous(const Work *w, const double x[3], const FaHit *hit, int tri) {
    const FaMesh *mesh = &w->rig->mesh;
    double reach = (double)hit->distance + SHEET;
    int own = 0;
    for (int k = 1; k < 3; k++)
        if (hit->bary[k] > hit->bary[own]) own = k;
    own = fai_weld(mesh, mesh->tri[3 * (size_t)tri + own]);
    for (int v = 0; v < mesh->nvert; v++) {
        if (!w->face.open[v]) continue;
        double d[3];
        fai_v3_load(w->x, v, d);
        fai_v3_sub(d, x, d);
        if (fai_v3_dot(d, d) > reach * reach) continue;
        if (fai_marker_apart2(w->rig, &w->face, own, v) > SHEET_APART * SHEET_APART) return true;
    }
    return false;
}

// How far off the surface it was, in the triangle's own frame: its axes are what unit offsets add.
static void set_offset(const float *skin, FaMarkerPoint *p, const double x[3]) {
    double surface[3], d[3], along[3];
    fa_marker_point_at(p, skin, false, surface);
    fai_v3_sub(x, surface, d);
    for (int k = 0; k < 3; k++) {
        FaMarkerPoint unit = *p;
        double e[3];
        for (int j = 0; j < 3; j++) unit.offset[j] = j == k;
        fa_marker_point_at(&unit, skin, true, e);
        fai_v3_sub(e, surface, e);
        along[k] = fai_v3_dot(d, e);
    }
    for (int k = 0; k < 3; k++) p->offset[k] = (float)along[k];
}

static void map_by_nearness(Work *w) {
    const FaMesh *mesh = &w->rig->mesh;
    List far = {0}, two = {0};
    double sum = 0;
    int n = 0;
    for (int m = 0; m < w->take->nmarker; m++) {
        if (w->state[m] != OPEN_MARKER || !w->known[m]) continue;
        double x[3];
        fai_pose_apply(&w->map->rig_from_take, w->at + 3 * (size_t)m, x);
        float f[3] = {(float)x[0], (float)x[1], (float)x[2]};
        FaHit hit = fai_closest_point(w->outside, f, INFINITY);
        w->map->distance[m] = hit.distance;
        if (hit.tri < 0 || !((double)hit.distance <= w->options.reach)) {
            list_add(&far, w->take->name[m]);
            continue;
        }
        int tri = w->face.tri[hit.tri];
        FaMarkerPoint *p = &w->map->point[m];
        *p = (FaMarkerPoint){.tri = tri};
        memcpy(p->vert, mesh->tri + 3 * (size_t)tri, sizeof p->vert);
        memcpy(p->bary, hit.bary, sizeof p->bary);
        if (!w->options.no_offset) set_offset(w->x, p, x);
        if (ambiguous(w, x, &hit, tri)) list_add(&two, w->take->name[m]);
        sum += (double)hit.distance * (double)hit.distance;
        n++;
    }
    w->map->rms = n ? sqrt(sum / n) : 0;
    note_list(w, &far, "marker-far", "raise --reach, or give their places with --map",
              "too far from the face, not mapped");
    note_list(w, &two, "marker-ambiguous",
              "check them with fascia markers RIG TAKE --picture look.png, or give their places with --map",
              "between two sheets of skin that move apart, mapped to the nearer one");
}

// Two markers on one point of the surface are one too many, or a mistake.
static void note_shared(Work *w) {
    List shared = {0};
    const double near = 2e-4;
    for (int i = 0; i < w->map->count; i++) {
        double a[3], b[3];
        if (w->map->point[i].vert[0] < 0) continue;
        fa_marker_point_at(&w->map->point[i], w->rig->mesh.x, false, a);
        for (int j = 0; j < i; j++) {
            if (w->map->point[j].vert[0] < 0) continue;
            fa_marker_point_at(&w->map->point[j], w->rig->mesh.x, false, b);
            fai_v3_sub(b, a, b);
            if (fai_v3_dot(b, b) > near * near) continue;
            list_add(&shared, w->map->name[i]);
            break;
        }
    }
    note_list(w, &shared, "marker-shared", "leave one of each out", "where another one is");
}

static FaCode make(Work *w, FaError *err) {
    const FaMarkerTake *t = w->take;
    int n = t->nmarker;
    w->state = FA_PUSH(w->arena, n, unsigned char);
    w->known = FA_PUSH(w->arena, n, unsigned char);
    w->at = FA_PUSH(w->arena, 3 * (size_t)n, double);
    w->pair = FA_PUSH(w->arena, 6 * (size_t)n, double);
    w->first = fai_first_triangles(&w->rig->mesh);
    if (!w->state || !w->known || !w->at || !w->pair || !w->first) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_marker_map_new(n, t->name, &w->map, err));
    w->map->mesh = fai_mesh_print(&w->rig->mesh);
    w->map->named = t->mesh;
    w->x = w->rig->mesh.x;
    FA_TRY(map_by_file(w, err));
    FA_TRY(map_by_name(w, err));
    int open = 0;
    for (int m = 0; m < n; m++) open += w->state[m] == OPEN_MARKER;
    if (open && !w->options.names_only) {
        FA_TRY(find_neutral(w, err));
        w->map->frame = w->frame;
        FA_TRY(fai_marker_face(w->rig, &w->face, err));
        FA_TRY(fai_closest_of(&w->rig->mesh, w->face.tri, w->face.ntri, &w->outside, err));
        find_positions(w);
        FA_TRY(align(w, err));
        map_by_nearness(w);
    } else if (open) {
        List list = {0};
        for (int m = 0; m < n; m++)
            if (w->state[m] == OPEN_MARKER) list_add(&list, t->name[m]);
        note_list(w, &list, "marker-unnamed", "add them to the map", "in no map, left out");
    }
    for (int m = 0; m < n; m++) w->map->mapped += w->map->point[m].vert[0] >= 0;
    if (!w->map->mapped)
        return FA_FAIL(err, FA_E_FORMAT, NULL,
                       "give their places with --map, another neutral frame with --neutral, the unit with --unit, or "
                       "raise --reach",
                       "none of the %d markers has a place on the face", n);
    note_shared(w);
    return FA_OK;
}

FaCode fa_marker_map_new(const FaMarkerTake *take, const FaRig *rig, const FaMapOptions *options, FaMarkerMap **map,
                         FaError *err) {
    FA_ASSERT(take && rig && map);
    *map = NULL;
    Work w = {.take = take, .rig = rig, .options = options ? *options : fa_map_options_default()};
    if (!isfinite(w.options.reach) || w.options.reach < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give metres above 0", "the reach is no length");
    if (w.options.reach == 0) w.options.reach = REACH;
    w.arena = fai_arena_new(0);
    FaCode rc = w.arena ? make(&w, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0)
        *map = w.map;
    else
        fa_marker_map_free(w.map);
    fai_closest_free(w.outside);
    fai_marker_face_free(&w.face);
    fa_free(w.first);
    fai_arena_free(w.arena);
    return take->path ? fai_fail_in(err, rc, take->path) : rc;
}

FaCode fa_marker_map_bind(const FaMarkers *neutral, const FaRig *rig, const FaMapOptions *options, FaMarkerMap **map,
                          FaError *err) {
    FA_ASSERT(neutral && rig && map);
    *map = NULL;
    if (neutral->count < 1 || !neutral->name)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the tracker's names with its first frame",
                       "there are no names to bind to the rig");
    FaMarkerTake *take;
    FA_TRY(fa_markers_new(1, neutral->count, neutral->name, 60, &take, err));
    for (int i = 0; i < neutral->count; i++) {
        const float *x = neutral->x + 3 * (size_t)i;
        take->ok[i] = (!neutral->ok || neutral->ok[i]) && isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
        if (take->ok[i]) memcpy(take->x + 3 * (size_t)i, x, 3 * sizeof *x);
    }
    FaCode rc = fa_marker_map_new(take, rig, options, map, err);
    fa_markers_free(take);
    return rc;
}

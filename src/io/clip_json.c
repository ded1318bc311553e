#include "io/clip_json.h"

#include "base/json.h"
#include "base/json_walk.h"
#include "base/number.h"
#include "io/clip_tools.h"
#include "io/decimal.h"

#include <math.h>

enum { MAX_NAMES = 65536, POSE = 7 };

enum Key {
    KEY_FASCIA,
    KEY_VERSION,
    KEY_GENERATOR,
    KEY_FPS,
    KEY_START,
    KEY_NAMES,
    KEY_TIMES,
    KEY_WEIGHTS,
    KEY_HEAD,
    KEYS
};
static const char *const key_name[KEYS] = {"fascia", "version", "generator", "fps", "start",
                                           "names",  "times",   "weights",   "head"};

typedef struct Reader {
    FaJsonWalk w;
    FaJsonSpan value[KEYS]; // found in the first pass
    int unknown;
    FaPlace first_unknown;
} Reader;

// --- first pass: what is there ------------------------------------------------------------------------------------

static FaCode wrong(const Reader *r, enum Key key, const char *what) {
    return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/%s", key_name[key]), "see the clip format in the manual", "%s",
                   what);
}

// The number of a key, KEYS if it is none of ours.
static int find_key(const char *at, int size) {
    for (int k = 0; k < KEYS; k++)
        if (strlen(key_name[k]) == (size_t)size && !memcmp(at, key_name[k], (size_t)size)) return k;
    return KEYS;
}

static FaCode read_member(Reader *r) {
    const char *at;
    int size;
    FaJsonSpan span;
    FA_TRY(fai_json_skip_key(&r->w, &at, &size));
    FA_TRY(fai_json_skip_value(&r->w, &span));
    int key = find_key(at, size);
    if (key == KEYS) {
        if (!r->unknown++) r->first_unknown = fai_place("/%.*s", FA_MIN(size, 60), at);
    } else if (r->value[key].at)
        return wrong(r, (enum Key)key, "the key is there twice");
    else
        r->value[key] = span;
    return FA_OK;
}

static FaCode read_members(Reader *r) {
    if (fai_json_peek(&r->w) != '{') return fai_json_syntax(&r->w, "a clip starts with {");
    r->w.p++;
    for (bool first = true, more;; first = false) {
        FA_TRY(fai_json_next(&r->w, first, '}', &more));
        if (!more) break;
        FA_TRY(read_member(r));
    }
    r->w.p++;
    if (fai_json_peek(&r->w)) return fai_json_syntax(&r->w, "text after the end of the clip");
    if (r->w.p < r->w.end) return fai_json_syntax(&r->w, "a zero byte after the end of the clip");
    return FA_OK;
}

static bool is_array(const FaJsonSpan *s) { return s->at && *s->at == '['; }

// The marks of a clip, and arrays where arrays belong.
static FaCode check_members(Reader *r) {
    const FaJsonSpan *v = r->value;
    const FaJsonSpan *mark = &v[KEY_FASCIA], *version = &v[KEY_VERSION];
    if (!mark->at || mark->end - mark->at != 6 || memcmp(mark->at, "\"clip\"", 6))
        return FA_FAIL(r->w.err, FA_E_FORMAT, "/fascia",
                       "a clip says \"fascia\": \"clip\"; a glTF file must end in .gltf", "this JSON file is no clip");
    if (!version->at) return wrong(r, KEY_VERSION, "the version is missing");
    if (version->end - version->at != 1 || *version->at != '1')
        return FA_FAIL(r->w.err, FA_E_UNSUPPORTED, "/version", "use a newer fascia", "version %.*s is not known, 1 is",
                       (int)FA_MIN(version->end - version->at, 20), version->at);
    for (int k = KEY_NAMES; k <= KEY_HEAD; k++)
        if (v[k].at && !is_array(&v[k])) return wrong(r, (enum Key)k, "an array must stand here");
    if (v[KEY_WEIGHTS].at && !v[KEY_NAMES].at) return wrong(r, KEY_NAMES, "weights need names");
    if (v[KEY_NAMES].count > 0 && !v[KEY_WEIGHTS].at) return wrong(r, KEY_WEIGHTS, "names need weights");
    if (v[KEY_NAMES].count > MAX_NAMES) return wrong(r, KEY_NAMES, "more than 65536 channels");
    if (!v[KEY_TIMES].at && !v[KEY_FPS].at) return wrong(r, KEY_TIMES, "times or fps must be there");
    return FA_OK;
}

// All arrays with one element per frame agree.
static FaCode count_frames(Reader *r, int *nframe) {
    static const enum Key per_frame[] = {KEY_WEIGHTS, KEY_TIMES, KEY_HEAD};
    enum Key first = KEYS;
    for (int i = 0; i < FA_COUNT(per_frame); i++) {
        const FaJsonSpan *v = &r->value[per_frame[i]];
        if (!v->at) continue;
        if (first == KEYS) first = per_frame[i];
        if (v->count != r->value[first].count)
            return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/%s", key_name[per_frame[i]]), "one element per frame",
                           "%d elements where /%s has %d", v->count, key_name[first], r->value[first].count);
    }
    *nframe = first == KEYS ? 0 : r->value[first].count;
    if (*nframe < 1)
        return FA_FAIL(r->w.err, FA_E_FORMAT, "/weights", "a clip needs at least one frame", "the clip has no frames");
    return FA_OK;
}

// --- second pass: numbers into place ------------------------------------------------------------------------------

// Over '[' or ',' before element i of an array that the first pass has checked; false after the last.
static bool next_element(Reader *r) {
    char c = fai_json_peek(&r->w);
    if (c == ']') return false;
    if (c == '[' || c == ',') r->w.p++;
    return fai_json_peek(&r->w) != ']';
}

// A number at r->w.p; false, without moving, if something else stands there.
static bool get_number(Reader *r, double *value) {
    char c = fai_json_peek(&r->w);
    if (c != '-' && (c < '0' || c > '9')) return false;
    r->w.p = fai_parse_double(r->w.p, r->w.end, value); // the first pass has checked its form
    return true;
}

static FaCode bad_number(Reader *r, const char *place, bool too_large) {
    if (too_large) return FA_FAIL(r->w.err, FA_E_FORMAT, place, "check the export", "this number is too large");
    return FA_FAIL(r->w.err, FA_E_FORMAT, place, "a number must stand there", "this is no number");
}

static FaCode read_scalar(Reader *r, enum Key key, double *value) {
    r->w.p = r->value[key].at;
    bool number = get_number(r, value);
    if (!number || !isfinite(*value)) return bad_number(r, FA_PLACE("/%s", key_name[key]), number);
    return FA_OK;
}

// Element i of the array `key`: an array of exactly n numbers, into floats or into doubles.
static FaCode read_row(Reader *r, enum Key key, int i, int n, float *f, double *d) {
    if (fai_json_peek(&r->w) != '[')
        return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/%s/%d", key_name[key], i), NULL, "an array must stand here");
    int k = 0;
    for (; next_element(r) && k < n; k++) {
        double v = 0;
        bool number = get_number(r, &v);
        if (!number || !isfinite(f ? (float)v : v))
            return bad_number(r, FA_PLACE("/%s/%d/%d", key_name[key], i, k), number);
        if (f) f[k] = (float)v;
        if (d) d[k] = v;
    }
    if (k != n || fai_json_peek(&r->w) != ']')
        return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/%s/%d", key_name[key], i),
                       "one number per name, seven for the head", "%s than %d numbers", k < n ? "fewer" : "more", n);
    r->w.p++;
    return FA_OK;
}

static FaCode read_times(Reader *r, FaClip *clip) {
    r->w.p = r->value[KEY_TIMES].at;
    for (int f = 0; next_element(r) && f < clip->nframe; f++) {
        double *t = &clip->time[f];
        bool number = get_number(r, t);
        if (!number || !isfinite(*t)) return bad_number(r, FA_PLACE("/times/%d", f), number);
        if (f > 0 && !(t[0] > t[-1]))
            return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/times/%d", f), "sort the frames by time",
                           "the time is not after the one before");
    }
    return FA_OK;
}

static FaCode read_weights(Reader *r, FaClip *clip) {
    r->w.p = r->value[KEY_WEIGHTS].at;
    for (int f = 0; next_element(r) && f < clip->nframe; f++)
        FA_TRY(read_row(r, KEY_WEIGHTS, f, clip->nchan, clip->weight + (size_t)f * (size_t)clip->nchan, NULL));
    return FA_OK;
}

static FaCode read_head(Reader *r, FaClip *clip) {
    r->w.p = r->value[KEY_HEAD].at;
    clip->head = FA_NEW(clip->nframe, FaPose);
    if (!clip->head) return FA_FAIL_MEMORY(r->w.err);
    for (int f = 0; next_element(r) && f < clip->nframe; f++) {
        double v[POSE];
        FaPose *pose = &clip->head[f];
        FA_TRY(read_row(r, KEY_HEAD, f, POSE, NULL, v));
        memcpy(pose->q, v, sizeof pose->q);
        memcpy(pose->p, v + 4, sizeof pose->p);
        if (!fai_pose_unit(pose, &clip->notes, FA_PLACE("/head/%d", f)))
            return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/head/%d", f),
                           "the first four numbers are a unit quaternion", "the quaternion has no direction");
    }
    return FA_OK;
}

// --- all together -------------------------------------------------------------------------------------------------

// The names are few: the ordinary JSON reader decodes them. *doc owns them.
static FaCode read_names(Reader *r, FaJsonDoc **doc, const char ***name) {
    const FaJsonSpan *v = &r->value[KEY_NAMES];
    *name = FA_NEW(v->count, const char *);
    if (!*name) return FA_FAIL_MEMORY(r->w.err);
    if (!v->at) return FA_OK;
    FaError inner = {0};
    FaCode rc = fai_json_parse(v->at, (size_t)(v->end - v->at), doc, NULL, &inner);
    if (rc < 0) return FA_FAIL(r->w.err, rc, "/names", inner.remedy, "%s", inner.what);
    for (int i = 0; i < v->count; i++) {
        const FaJson *s = fai_json_at((*doc)->root, i);
        if (!fai_json_is(s, FA_JSON_STRING) || strlen(s->string) != (size_t)s->string_size)
            return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/names/%d", i), NULL, "a name must stand here");
        (*name)[i] = s->string;
    }
    return FA_OK;
}

static FaCode read_rate(Reader *r, FaClip *clip) {
    double fps = clip->fps; // as stated, if it was
    if (r->value[KEY_START].at) FA_TRY(read_scalar(r, KEY_START, &clip->start));
    if (!r->value[KEY_TIMES].at) return FA_OK;
    FA_TRY(read_times(r, clip));
    FA_TRY(fai_clip_from_zero(clip, r->w.err));
    FA_TRY(fai_clip_find_fps(clip, fps, r->w.err));
    if (!r->value[KEY_FPS].at) return FA_OK;
    if (fabs(clip->fps / fps - 1) > 0.005)
        fai_note(&clip->notes, "fps-mismatch", "/fps", "correct fps, or leave times out",
                 "fps and times disagree; the times were taken");
    clip->fps = fps;
    return FA_OK;
}

static FaCode parse_clip(Reader *r, size_t size, FaJsonDoc **doc, const char ***name, FaClip **out) {
    int nframe = 0;
    double fps = 30;
    FA_TRY(read_members(r));
    FA_TRY(check_members(r));
    FA_TRY(count_frames(r, &nframe));
    if (r->value[KEY_FPS].at) FA_TRY(read_scalar(r, KEY_FPS, &fps));
    if (!(fps > 0) || !isfinite(1 / fps)) return wrong(r, KEY_FPS, "the frame rate must be above 0");
    FA_TRY(read_names(r, doc, name));
    int nchan = r->value[KEY_NAMES].count;
    FA_TRY(fai_clip_room(size, nframe, nchan, is_array(&r->value[KEY_HEAD]), r->w.err));
    FA_TRY(fa_clip_new(nframe, nchan, *name, fps, out, r->w.err));
    FaClip *clip = *out;
    FA_TRY(read_rate(r, clip));
    if (r->value[KEY_WEIGHTS].at) FA_TRY(read_weights(r, clip));
    if (r->value[KEY_HEAD].at) FA_TRY(read_head(r, clip));
    fai_note_count(&clip->notes, r->unknown, "unknown-keys", r->first_unknown.text, "", "%d unknown key%s skipped",
                   r->unknown, r->unknown == 1 ? " was" : "s were");
    fai_clip_note_weights(clip);
    return fai_clip_note_names(clip, r->w.err);
}

FaCode fai_clip_json_parse(const void *data, size_t size, FaClip **clip, FaError *err) {
    *clip = NULL;
    FaClip *made = NULL;
    FaJsonDoc *doc = NULL;
    const char **name = NULL, *text = size ? data : "";
    if (size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) text += 3, size -= 3;
    Reader r = {.w = {text, text, text + size, err}};
    FaCode rc = parse_clip(&r, size, &doc, &name, &made);
    if (rc >= 0)
        *clip = made;
    else
        fa_clip_free(made);
    fa_free(name);
    fai_json_free(doc);
    return rc;
}

FaCode fai_clip_json_write(const FaClip *clip, FaText *out, FaError *err) {
    fai_text_str(out,
                 "{\"fascia\": \"clip\", \"version\": 1, \"generator\": \"fascia " FA_VERSION_TEXT "\",\n \"fps\": ");
    fai_text_double(out, clip->fps);
    fai_text_str(out, ", \"start\": ");
    fai_text_double(out, clip->start);
    fai_text_str(out, ",\n \"names\": [");
    for (int c = 0; c < clip->nchan; c++) {
        fai_text_str(out, c ? ", " : "");
        fai_text_json_string(out, clip->name[c], strlen(clip->name[c]));
    }
    fai_text_str(out, "],\n \"times\": [");
    for (int f = 0; f < clip->nframe; f++) {
        fai_text_str(out, f ? ", " : "");
        fai_text_double(out, clip->time[f]);
    }
    fai_text_str(out, "],\n \"weights\": [");
    for (int f = 0; f < clip->nframe; f++)
        fai_decimal_row(out, f ? ",\n  [" : "\n  [", clip->weight + (size_t)f * (size_t)clip->nchan, clip->nchan, ", ",
                        "]");
    fai_text_str(out, "]");
    if (clip->head) fai_text_str(out, ",\n \"head\": [");
    for (int f = 0; clip->head && f < clip->nframe; f++)
        for (int i = 0; i < POSE; i++) {
            fai_text_str(out, i ? ", " : f ? ",\n  [" : "\n  [");
            fai_text_double(out, i < 4 ? clip->head[f].q[i] : clip->head[f].p[i - 4]);
            if (i == POSE - 1) fai_text_str(out, "]");
        }
    fai_text_str(out, clip->head ? "]}\n" : "}\n");
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

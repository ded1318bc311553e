#include "io/clip_json.h"

#include "base/json.h"
#include "base/number.h"
#include "io/clip_tools.h"
#include "io/decimal.h"

#include <math.h>

enum { MAX_DEPTH = 64, MAX_NAMES = 65536, POSE = 7 };

enum Key { KEY_FASCIA, KEY_VERSION, KEY_GENERATOR, KEY_FPS, KEY_START, KEY_NAMES, KEY_TIMES, KEY_WEIGHTS, KEY_HEAD,
           KEYS };
static const char *const key_name[KEYS] = {"fascia", "version", "generator", "fps", "start",
                                           "names",  "times",   "weights",   "head"};

// A value found in the first pass.
typedef struct Span {
    const char *at, *end;  // NULL: absent
    int count;             // elements of an array
} Span;

typedef struct Reader {
    const char *text, *p, *end;
    Span value[KEYS];
    int unknown;
    FaPlace first_unknown;
    FaError *err;
} Reader;

// --- walking over JSON text ---------------------------------------------------------------------------------------

static FaCode syntax(const Reader *r, const char *what) {
    int line = 1, column = 1;
    for (const char *c = r->text; c < r->p; c++) {
        column = *c == '\n' ? 1 : column + (((unsigned char)*c & 0xC0) != 0x80);
        line += *c == '\n';
    }
    return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("line %d, column %d", line, column),
                   "check that it is complete, strict JSON", "%s", what);
}

// The next byte that is no space, 0 at the end.
static char peek(Reader *r) {
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t')) r->p++;
    return r->p < r->end ? *r->p : 0;
}

static FaCode skip_string(Reader *r) {
    const char *start = r->p++;
    for (; r->p < r->end && *r->p != '"'; r->p++) {
        if ((unsigned char)*r->p < 0x20) return syntax(r, "a control character inside a string");
        if (*r->p == '\\') r->p++;
    }
    if (r->p >= r->end) {
        r->p = start;
        return syntax(r, "a string is not closed");
    }
    r->p++;
    return FA_OK;
}

static bool skip_digits(Reader *r) {
    const char *start = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
    return r->p > start;
}

// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
static FaCode skip_number(Reader *r) {
    const char *start = r->p;
    if (*r->p == '-') r->p++;
    const char *first = r->p;
    bool good = skip_digits(r) && (*first != '0' || r->p - first == 1);
    if (good && r->p < r->end && *r->p == '.') {
        r->p++;
        good = skip_digits(r);
    }
    if (good && r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
        r->p++;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-')) r->p++;
        good = skip_digits(r);
    }
    if (good) return FA_OK;
    r->p = start;
    return syntax(r, "this is no number");
}

static FaCode skip_word(Reader *r) {
    static const char *const word[] = {"true", "false", "null"};
    for (int i = 0; i < FA_COUNT(word); i++) {
        size_t n = strlen(word[i]);
        if ((size_t)(r->end - r->p) < n || memcmp(r->p, word[i], n)) continue;
        r->p += n;
        return FA_OK;
    }
    return syntax(r, r->p < r->end ? "a value must stand here" : "the text ends too early");
}

// Over one value of any kind; *count (nullable) gets the number of elements.
static FaCode skip_value(Reader *r, int depth, int *count) {
    int n = 0;
    char open = peek(r);
    if (open == '"') return skip_string(r);
    if (open == '-' || (open >= '0' && open <= '9')) return skip_number(r);
    if (open != '[' && open != '{') return skip_word(r);
    if (depth >= MAX_DEPTH) return syntax(r, "values are nested too deeply");
    char close = open == '[' ? ']' : '}';
    r->p++;
    if (peek(r) != close)
        for (;; r->p++) {
            if (open == '{') {
                if (peek(r) != '"') return syntax(r, "a key in quotes must stand here");
                FA_TRY(skip_string(r));
                if (peek(r) != ':') return syntax(r, "a colon must follow the key");
                r->p++;
            }
            FA_TRY(skip_value(r, depth + 1, NULL));
            if (n < INT32_MAX) n++;
            char c = peek(r);
            if (c == close) break;
            if (c != ',') return syntax(r, c ? "a comma is missing" : "the text ends too early");
        }
    r->p++;
    if (count) *count = n;
    return FA_OK;
}

// --- first pass: what is there ------------------------------------------------------------------------------------

static FaCode wrong(const Reader *r, enum Key key, const char *what) {
    return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/%s", key_name[key]), "see the clip format in the manual", "%s",
                   what);
}

// The key at r->p (quotes and all): its number, KEYS if it is none of ours.
static int find_key(const char *at, const char *end) {
    size_t n = (size_t)(end - at) - 2;
    for (int k = 0; k < KEYS; k++)
        if (strlen(key_name[k]) == n && !memcmp(at + 1, key_name[k], n)) return k;
    return KEYS;
}

static FaCode read_member(Reader *r) {
    if (peek(r) != '"') return syntax(r, "a key in quotes must stand here");
    const char *at = r->p;
    FA_TRY(skip_string(r));
    int key = find_key(at, r->p), length = (int)FA_MIN(r->p - at - 2, 60);
    if (peek(r) != ':') return syntax(r, "a colon must follow the key");
    r->p++;
    peek(r);
    Span span = {.at = r->p};
    FA_TRY(skip_value(r, 1, &span.count));
    span.end = r->p;
    if (key == KEYS) {
        if (!r->unknown++) r->first_unknown = fai_place("/%.*s", length, at + 1);
    } else if (r->value[key].at) return wrong(r, (enum Key)key, "the key is there twice");
    else r->value[key] = span;
    return FA_OK;
}

static FaCode read_members(Reader *r) {
    if (peek(r) != '{') return syntax(r, "a clip starts with {");
    r->p++;
    if (peek(r) != '}')
        for (;; r->p++) {
            FA_TRY(read_member(r));
            char c = peek(r);
            if (c == '}') break;
            if (c != ',') return syntax(r, c ? "a comma is missing" : "the text ends too early");
        }
    r->p++;
    if (peek(r)) return syntax(r, "text after the end of the clip");
    if (r->p < r->end) return syntax(r, "a zero byte after the end of the clip");
    return FA_OK;
}

static bool is_array(const Span *s) { return s->at && *s->at == '['; }

// The marks of a clip, and arrays where arrays belong.
static FaCode check_members(Reader *r) {
    const Span *v = r->value;
    const Span *mark = &v[KEY_FASCIA], *version = &v[KEY_VERSION];
    if (!mark->at || mark->end - mark->at != 6 || memcmp(mark->at, "\"clip\"", 6))
        return FA_FAIL(r->err, FA_E_FORMAT, "/fascia",
                       "a clip says \"fascia\": \"clip\"; a glTF file must end in .gltf", "this JSON file is no clip");
    if (!version->at) return wrong(r, KEY_VERSION, "the version is missing");
    if (version->end - version->at != 1 || *version->at != '1')
        return FA_FAIL(r->err, FA_E_UNSUPPORTED, "/version", "use a newer fascia", "version %.*s is not known, 1 is",
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
        const Span *v = &r->value[per_frame[i]];
        if (!v->at) continue;
        if (first == KEYS) first = per_frame[i];
        if (v->count != r->value[first].count)
            return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/%s", key_name[per_frame[i]]), "one element per frame",
                           "%d elements where /%s has %d", v->count, key_name[first], r->value[first].count);
    }
    *nframe = first == KEYS ? 0 : r->value[first].count;
    if (*nframe < 1)
        return FA_FAIL(r->err, FA_E_FORMAT, "/weights", "a clip needs at least one frame", "the clip has no frames");
    return FA_OK;
}

// --- second pass: numbers into place ------------------------------------------------------------------------------

// Over '[' or ',' before element i of an array that the first pass has checked; false after the last.
static bool next_element(Reader *r) {
    char c = peek(r);
    if (c == ']') return false;
    if (c == '[' || c == ',') r->p++;
    return peek(r) != ']';
}

// A number at r->p; false, without moving, if something else stands there.
static bool get_number(Reader *r, double *value) {
    char c = peek(r);
    if (c != '-' && (c < '0' || c > '9')) return false;
    r->p = fai_parse_double(r->p, r->end, value);  // the first pass has checked its form
    return true;
}

static FaCode bad_number(Reader *r, const char *place, bool too_large) {
    if (too_large) return FA_FAIL(r->err, FA_E_FORMAT, place, "check the export", "this number is too large");
    return FA_FAIL(r->err, FA_E_FORMAT, place, "a number must stand there", "this is no number");
}

static FaCode read_scalar(Reader *r, enum Key key, double *value) {
    r->p = r->value[key].at;
    bool number = get_number(r, value);
    if (!number || !isfinite(*value)) return bad_number(r, FA_PLACE("/%s", key_name[key]), number);
    return FA_OK;
}

// Element i of the array `key`: an array of exactly n numbers, into floats or into doubles.
static FaCode read_row(Reader *r, enum Key key, int i, int n, float *f, double *d) {
    if (peek(r) != '[')
        return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/%s/%d", key_name[key], i), NULL, "an array must stand here");
    int k = 0;
    for (; next_element(r) && k < n; k++) {
        double v = 0;
        bool number = get_number(r, &v);
        if (!number || !isfinite(f ? (float)v : v))
            return bad_number(r, FA_PLACE("/%s/%d/%d", key_name[key], i, k), number);
        if (f) f[k] = (float)v;
        else d[k] = v;
    }
    if (k != n || peek(r) != ']')
        return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/%s/%d", key_name[key], i),
                       "one number per name, seven for the head", "%s than %d numbers", k < n ? "fewer" : "more", n);
    r->p++;
    return FA_OK;
}

static FaCode read_times(Reader *r, FaClip *clip) {
    r->p = r->value[KEY_TIMES].at;
    for (int f = 0; next_element(r) && f < clip->nframe; f++) {
        double *t = &clip->time[f];
        bool number = get_number(r, t);
        if (!number || !isfinite(*t)) return bad_number(r, FA_PLACE("/times/%d", f), number);
        if (f > 0 && !(t[0] > t[-1]))
            return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/times/%d", f), "sort the frames by time",
                           "the time is not after the one before");
    }
    return FA_OK;
}

static FaCode read_weights(Reader *r, FaClip *clip) {
    r->p = r->value[KEY_WEIGHTS].at;
    for (int f = 0; next_element(r) && f < clip->nframe; f++)
        FA_TRY(read_row(r, KEY_WEIGHTS, f, clip->nchan, clip->weight + (size_t)f * (size_t)clip->nchan, NULL));
    return FA_OK;
}

static FaCode read_head(Reader *r, FaClip *clip) {
    r->p = r->value[KEY_HEAD].at;
    clip->head = FA_NEW(clip->nframe, FaPose);
    if (!clip->head) return FA_FAIL_MEMORY(r->err);
    for (int f = 0; next_element(r) && f < clip->nframe; f++) {
        double v[POSE];
        FaPose *pose = &clip->head[f];
        FA_TRY(read_row(r, KEY_HEAD, f, POSE, NULL, v));
        memcpy(pose->q, v, sizeof pose->q);
        memcpy(pose->p, v + 4, sizeof pose->p);
        if (!fai_pose_unit(pose, &clip->notes, FA_PLACE("/head/%d", f)))
            return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/head/%d", f), "the first four numbers are a unit quaternion",
                           "the quaternion has no direction");
    }
    return FA_OK;
}

// --- all together -------------------------------------------------------------------------------------------------

// The names are few: the ordinary JSON reader decodes them. *doc owns them.
static FaCode read_names(Reader *r, FaJsonDoc **doc, const char ***name) {
    const Span *v = &r->value[KEY_NAMES];
    *name = FA_NEW(v->count, const char *);
    if (!*name) return FA_FAIL_MEMORY(r->err);
    if (!v->at) return FA_OK;
    FaError inner = {0};
    FaCode rc = fai_json_parse(v->at, (size_t)(v->end - v->at), doc, NULL, &inner);
    if (rc < 0) return FA_FAIL(r->err, rc, "/names", inner.remedy, "%s", inner.what);
    for (int i = 0; i < v->count; i++) {
        const FaJson *s = fai_json_at((*doc)->root, i);
        if (!fai_json_is(s, FA_JSON_STRING) || strlen(s->string) != (size_t)s->string_size)
            return FA_FAIL(r->err, FA_E_FORMAT, FA_PLACE("/names/%d", i), NULL, "a name must stand here");
        (*name)[i] = s->string;
    }
    return FA_OK;
}

static FaCode read_rate(Reader *r, FaClip *clip) {
    double fps = clip->fps;  // as stated, if it was
    if (r->value[KEY_START].at) FA_TRY(read_scalar(r, KEY_START, &clip->start));
    if (!r->value[KEY_TIMES].at) return FA_OK;
    FA_TRY(read_times(r, clip));
    FA_TRY(fai_clip_from_zero(clip, r->err));
    FA_TRY(fai_clip_find_fps(clip, fps, r->err));
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
    FA_TRY(fai_clip_room(size, nframe, nchan, is_array(&r->value[KEY_HEAD]), r->err));
    FA_TRY(fa_clip_new(nframe, nchan, *name, fps, out, r->err));
    FaClip *clip = *out;
    FA_TRY(read_rate(r, clip));
    if (r->value[KEY_WEIGHTS].at) FA_TRY(read_weights(r, clip));
    if (r->value[KEY_HEAD].at) FA_TRY(read_head(r, clip));
    fai_note_count(&clip->notes, r->unknown, "unknown-keys", r->first_unknown.text, "", "%d unknown key%s skipped",
                   r->unknown, r->unknown == 1 ? " was" : "s were");
    fai_clip_note_weights(clip);
    return fai_clip_note_names(clip, r->err);
}

FaCode fai_clip_json_parse(const void *data, size_t size, FaClip **clip, FaError *err) {
    *clip = NULL;
    FaClip *made = NULL;
    FaJsonDoc *doc = NULL;
    const char **name = NULL, *text = size ? data : "";
    if (size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) text += 3, size -= 3;
    Reader r = {.text = text, .p = text, .end = text + size, .err = err};
    FaCode rc = parse_clip(&r, size, &doc, &name, &made);
    if (rc >= 0) *clip = made;
    else fa_clip_free(made);
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

// Landmark JSON: ours, and what people dump from MediaPipe.
//
//     {"layout": "mediapipe478", "width": 640, "height": 480, "fps": 30, "units": "pixels",
//      "frames": [{"time": 0, "points": [[x, y, z], ...], "visibility": [1, ...]}, null, ...]}
//     [[{"x": .5, "y": .4, "z": -.02}, ...], ...]     one list of points per frame; a single list is one frame
//     {"faceLandmarks": [[{...}, ...]]}               a result of FaceLandmarker (multiFaceLandmarks: of FaceMesh), or
//     a
//                                                     list of such results
// A frame is its list of points, or an object that has one under points, landmarks, faceLandmarks, face_landmarks,
// multiFaceLandmarks, multi_face_landmarks or keypoints; a list of lists is several faces. Times: time (s),
// timestamp_ms, timestampMs (ms), timestamp (s, or ms where the steps are at least 1).
//
// Frames are parsed one at a time, so that memory does not grow with the text.
#include "base/json.h"
#include "base/json_walk.h"
#include "io/clip_tools.h"
#include "io/decimal.h"
#include "io/landmarks.h"

#include <math.h>
#include <strings.h>

typedef struct Reader {
    FaJsonWalk w;
    size_t size;
    const FaLandmarkOptions *options;
    FaJsonSpan frames; // the array of frames; at NULL: `single` is the only one
    FaJsonSpan single;
    FaLandmarkTake *take;
    FaLandmarkFacts facts;
    int timed, stamps; // frames with a time, with one of unknown unit
    bool stream;       // one frame, maybe without a face
} Reader;

// The next element of an array; *more false at its end. r->w.p stands after the opening bracket or after an element.
static FaCode next_element(Reader *r, bool first, FaJsonSpan *span, bool *more) {
    FA_TRY(fai_json_next(&r->w, first, ']', more));
    return *more ? fai_json_skip_value(&r->w, span) : FA_OK;
}

// The value of a span as a document of its own.
static FaCode parse_span(Reader *r, FaJsonSpan span, int frame, FaJsonDoc **doc) {
    FaError inner = {0};
    FaCode rc = fai_json_parse(span.at, (size_t)(span.end - span.at), doc, NULL, &inner);
    if (rc >= 0) return rc;
    if (rc == FA_E_MEMORY) return FA_FAIL_MEMORY(r->w.err);
    r->w.p = span.at;
    return FA_FAIL(r->w.err, rc, frame >= 0 ? FA_PLACE("frame %d, %.100s", frame, inner.place) : inner.place,
                   inner.remedy, "%s", inner.what);
}

// --- points -------------------------------------------------------------------------------------------------------

static bool is_number(const FaJson *v) { return fai_json_is(v, FA_JSON_NUMBER); }

// [x, y], [x, y, z] or {"x":, "y":, ...}
static bool is_point(const FaJson *v) {
    if (fai_json_is(v, FA_JSON_OBJECT)) return is_number(fai_json_get(v, "x")) && is_number(fai_json_get(v, "y"));
    if (!fai_json_is(v, FA_JSON_ARRAY) || v->count < 2 || v->count > 4) return false;
    return is_number(fai_json_at(v, 0)) && is_number(fai_json_at(v, 1));
}

// The first that is not null tells.
static bool is_list(const FaJson *v) {
    if (!fai_json_is(v, FA_JSON_ARRAY)) return false;
    for (const FaJson *e = v->first; e; e = e->next)
        if (!fai_json_is(e, FA_JSON_NULL)) return is_point(e);
    return false;
}

static const char *const list_key[] = {"points",         "landmarks",          "faceLandmarks",
                                       "face_landmarks", "multiFaceLandmarks", "multi_face_landmarks",
                                       "keypoints"};

static const FaJson *list_of(const FaJson *frame) {
    for (int i = 0; i < FA_COUNT(list_key); i++) {
        const FaJson *v = fai_json_get(frame, list_key[i]);
        if (v) return v;
    }
    return NULL;
}

// The list of points of a frame; NULL: no face. *faces: how many there are.
static FaCode find_points(Reader *r, const FaJson *frame, int f, const FaJson **points, int *faces) {
    const FaJson *v = frame;
    *points = NULL;
    *faces = 0;
    if (fai_json_is(frame, FA_JSON_OBJECT)) {
        v = list_of(frame);
        if (!v)
            return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("frame %d", f), "name the list of points \"points\"",
                           "a frame has no points");
    }
    for (int depth = 0; depth < 3; depth++) {
        if (fai_json_is(v, FA_JSON_NULL)) return FA_OK;
        if (is_list(v)) {
            *points = v;
            *faces = FA_MAX(*faces, 1);
            return FA_OK;
        }
        if (fai_json_is(v, FA_JSON_OBJECT) && list_of(v))
            v = list_of(v);
        else if (fai_json_is(v, FA_JSON_ARRAY)) {
            if (!v->count) return FA_OK;
            *faces = FA_MAX(*faces, v->count);
            v = v->first;
        } else
            break;
    }
    return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("frame %d%.100s", f, fai_json_path(v).text),
                   "a frame is a list of [x, y, z] or {\"x\":, \"y\":, \"z\":}", "these are no landmarks");
}

static FaCode read_point(Reader *r, const FaJson *v, int f, int i) {
    FaLandmarkTake *t = r->take;
    size_t at = (size_t)f * (size_t)t->count + (size_t)i;
    static const char *const key[3] = {"x", "y", "z"};
    if (fai_json_is(v, FA_JSON_NULL)) return FA_OK;
    bool object = fai_json_is(v, FA_JSON_OBJECT);
    FaPlace place = fai_place("frame %d, point %d", f, i);
    if (!is_point(v))
        return FA_FAIL(r->w.err, FA_E_FORMAT, place.text, "a point is [x, y, z], {\"x\":, \"y\":, \"z\":} or null",
                       "this is no point");
    FA_ASSERT(t->dims <= FA_COUNT(key));
    for (int k = 0; k < t->dims; k++) {
        const FaJson *c = object ? fai_json_get(v, key[k]) : fai_json_at(v, k);
        float x = is_number(c) ? (float)c->number : NAN;
        if (!isfinite(x))
            return FA_FAIL(r->w.err, FA_E_FORMAT, place.text, "every point needs the same coordinates, finite numbers",
                           c ? "%s is no finite number" : "there is no %s", key[k]);
        t->x[at * (size_t)t->dims + (size_t)k] = x;
    }
    const FaJson *seen = object ? fai_json_get(v, "visibility") : NULL;
    // FaceLandmarker writes 0, or nothing, for all points of a face: that says nothing
    t->visibility[at] = is_number(seen) && seen->number > 0 ? (float)fmin(seen->number, 1) : 1;
    return FA_OK;
}

static FaCode read_visibility(Reader *r, const FaJson *frame, int f) {
    const FaJson *v = fai_json_get(frame, "visibility");
    FaLandmarkTake *t = r->take;
    if (!v) return FA_OK;
    int i = 0;
    for (const FaJson *e = fai_json_is(v, FA_JSON_ARRAY) && v->count == t->count ? v->first : NULL; e;
         e = e->next, i++) {
        float *to = &t->visibility[(size_t)f * (size_t)t->count + (size_t)i];
        if (!is_number(e) || !(e->number >= 0) || !(e->number <= 1)) break;
        if (*to > 0) *to = (float)e->number;
    }
    if (i < t->count)
        return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("frame %d/visibility", f), "give a number from 0 to 1 per point",
                       "the visibility does not fit the points");
    return FA_OK;
}

static FaCode read_time(Reader *r, const FaJson *frame, int f) {
    static const struct {
        const char *key;
        double scale;
        bool stamp;
    } known[] = {
        {"time", 1, false}, {"timestamp_ms", 0.001, false}, {"timestampMs", 0.001, false}, {"timestamp", 1, true}};
    for (int i = 0; i < FA_COUNT(known) && fai_json_is(frame, FA_JSON_OBJECT); i++) {
        const FaJson *v = fai_json_get(frame, known[i].key);
        if (!v) continue;
        if (!is_number(v) || !isfinite(v->number))
            return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("frame %d/%s", f, known[i].key), "give seconds",
                           "the time is no finite number");
        r->take->time[f] = v->number * known[i].scale;
        r->timed++;
        r->stamps += known[i].stamp;
        return FA_OK;
    }
    return FA_OK;
}

// The first frame with a face tells the layout.
static FaCode make_take(Reader *r, const FaJson *points, int f, int nframe) {
    FaLandmarkLayout layout;
    if (!fai_landmark_layout(points->count, &layout))
        return FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("frame %d", f), "give 68, 468 or 478 points",
                       "%d points are in no layout that is known", points->count);
    const FaJson *first = points->first;
    while (fai_json_is(first, FA_JSON_NULL)) first = first->next;
    int dims = fai_json_is(first, FA_JSON_OBJECT) ? 2 + is_number(fai_json_get(first, "z")) : FA_MIN(first->count, 3);
    FA_TRY(fai_landmarks_room(r->size, nframe, points->count, dims, r->w.err));
    return fa_landmarks_new(layout, dims, nframe, 30, &r->take, r->w.err);
}

static FaCode read_frame(Reader *r, FaJsonSpan span, int f, int nframe, double *early) {
    FaJsonDoc *doc = NULL;
    FA_TRY(parse_span(r, span, f, &doc));
    const FaJson *points;
    int faces;
    bool made = r->take != NULL;
    FaCode rc = find_points(r, doc->root, f, &points, &faces);
    if (rc >= 0 && points && !made) rc = make_take(r, points, f, nframe);
    if (rc >= 0 && points && points->count != r->take->count)
        rc = FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("frame %d", f), "every frame needs the same points",
                     "%d points after %d", points->count, r->take->count);
    if (rc >= 0 && !points && !r->facts.lost++) r->facts.first_lost = f;
    r->facts.several += faces > 1;
    // frames before the first face have times too
    FaLandmarkTake before = {.time = early};
    FaLandmarkTake *keep = r->take;
    if (rc >= 0 && !keep) r->take = &before;
    if (rc >= 0) rc = read_time(r, doc->root, f);
    r->take = keep;
    if (rc >= 0 && keep && !made) memcpy(keep->time, early, (size_t)f * sizeof *early);
    int i = 0;
    for (const FaJson *e = points && rc >= 0 ? points->first : NULL; e && rc >= 0; e = e->next, i++)
        rc = read_point(r, e, f, i);
    if (rc >= 0 && points && fai_json_is(doc->root, FA_JSON_OBJECT)) rc = read_visibility(r, doc->root, f);
    fai_json_free(doc);
    return rc;
}

// --- what stands around the frames --------------------------------------------------------------------------------

static FaCode read_head(Reader *r, const char *key, size_t size, FaJsonSpan value) {
    static const char *const known[] = {"width", "height", "fps", "units"};
    int k = 0;
    while (k < FA_COUNT(known) && (strlen(known[k]) != size || memcmp(known[k], key, size))) k++;
    if (k == FA_COUNT(known)) return FA_OK;
    FaJsonDoc *doc = NULL;
    FA_TRY(parse_span(r, value, -1, &doc));
    const FaJson *v = doc->root;
    FaCode rc = FA_OK;
    if (k <= 2) {
        bool good = is_number(v) && v->number > 0 && isfinite(v->number) && v->number < 1e6 && v->number > 1e-6;
        if (!good && !(k == 2 && r->options && r->options->fps > 0))
            rc = FA_FAIL(r->w.err, FA_E_FORMAT, FA_PLACE("/%s", known[k]), "give a number above 0", "this is no %s",
                         k == 2 ? "frame rate" : "size of an image");
        double number = good ? v->number : 0;
        *(k == 0 ? &r->facts.width : k == 1 ? &r->facts.height : &r->facts.fps) = number;
    } else {
        const char *s = fai_json_is(v, FA_JSON_STRING) ? v->string : "";
        r->facts.normalized = !strncasecmp(s, "norm", 4)  ? 1
                              : !strncasecmp(s, "pix", 3) ? 0
                              : !strcasecmp(s, "m")       ? 2
                                                          : -1;
        if (r->facts.normalized < 0)
            rc = FA_FAIL(r->w.err, FA_E_FORMAT, "/units", "give \"pixels\", \"normalized\" or \"m\"",
                         "the units are not known");
    }
    fai_json_free(doc);
    return rc;
}

// An object: its members, and where the frames are. Without "frames" it is itself the only frame.
static FaCode read_object(Reader *r) {
    const char *start = r->w.p++;
    for (bool first = true;; first = false) {
        const char *key;
        int size;
        bool more;
        FaJsonSpan value;
        FA_TRY(fai_json_next(&r->w, first, '}', &more));
        if (!more) break;
        FA_TRY(fai_json_skip_key(&r->w, &key, &size));
        FA_TRY(fai_json_skip_value(&r->w, &value));
        if (size == 6 && !memcmp(key, "frames", 6)) {
            if (*value.at != '[') {
                r->w.p = value.at;
                return fai_json_syntax(&r->w, "the frames must be a list");
            }
            r->frames = value;
        } else
            FA_TRY(read_head(r, key, (size_t)size, value));
    }
    r->w.p++;
    if (!r->frames.at) r->single = (FaJsonSpan){start, r->w.p, 0};
    return FA_OK;
}

// A list: of frames, or the points of one.
static FaCode read_array(Reader *r) {
    FaJsonSpan whole, first;
    bool more;
    FA_TRY(fai_json_skip_value(&r->w, &whole));
    const char *after = r->w.p;
    r->w.p = whole.at + 1;
    FA_TRY(next_element(r, true, &first, &more));
    bool points = false;
    if (more) {
        FaJsonDoc *doc = NULL;
        FA_TRY(parse_span(r, first, 0, &doc));
        points = is_point(doc->root);
        fai_json_free(doc);
    }
    *(points ? &r->single : &r->frames) = whole;
    r->w.p = after;
    return FA_OK;
}

static FaCode count_frames(Reader *r, int *nframe) {
    *nframe = 1;
    if (!r->frames.at) return FA_OK;
    r->w.p = r->frames.at + 1;
    int64_t n = 0;
    for (bool more = true;; n++) {
        FaJsonSpan span;
        FA_TRY(next_element(r, n == 0, &span, &more));
        if (!more) break;
    }
    if (n < 1) return FA_FAIL(r->w.err, FA_E_FORMAT, NULL, "give at least one frame", "there are no frames");
    if (n > INT32_MAX) return FA_FAIL(r->w.err, FA_E_LIMIT, NULL, "split the file", "too many frames");
    *nframe = (int)n;
    return FA_OK;
}

static FaCode read_frames(Reader *r, int nframe) {
    double *early = FA_NEW(nframe, double);
    if (!early) return FA_FAIL_MEMORY(r->w.err);
    FaCode rc = FA_OK;
    if (r->frames.at) r->w.p = r->frames.at + 1;
    for (int f = 0; f < nframe && rc >= 0; f++) {
        FaJsonSpan span = r->single;
        bool more;
        if (r->frames.at) rc = next_element(r, f == 0, &span, &more);
        if (rc >= 0) rc = read_frame(r, span, f, nframe, early);
    }
    fa_free(early);
    if (rc >= 0 && !r->take && !r->stream)
        rc = FA_FAIL(r->w.err, FA_E_FORMAT, NULL, "check that the tracker saw the face",
                     "there is no face in any of the %d frame%s", nframe, nframe == 1 ? "" : "s");
    return rc;
}

static FaCode parse(Reader *r) {
    int nframe;
    char c = fai_json_peek(&r->w);
    if (c != '{' && c != '[') return fai_json_syntax(&r->w, "landmarks are an object or a list");
    FA_TRY(c == '{' ? read_object(r) : read_array(r));
    if (fai_json_peek(&r->w) || r->w.p < r->w.end) return fai_json_syntax(&r->w, "text after the end");
    FA_TRY(count_frames(r, &nframe));
    if (r->stream && nframe != 1)
        return FA_FAIL(r->w.err, FA_E_FORMAT, NULL, "write one frame per line", "%d frames in one", nframe);
    FA_TRY(read_frames(r, nframe));
    if (!r->take) return FA_OK;
    if (r->timed && r->timed != nframe)
        return FA_FAIL(r->w.err, FA_E_FORMAT, NULL, "give all frames a time, or none", "%d of %d frames have a time",
                       r->timed, nframe);
    r->facts.timed = r->timed > 0;
    r->facts.stamps = r->stamps == nframe;
    r->take->metric = r->facts.normalized == 2;
    return fai_landmarks_finish(r->take, &r->facts, r->options, r->w.err);
}

static FaCode parse_text(const void *data, size_t size, const FaLandmarkOptions *options, bool stream,
                         FaLandmarkTake **take, FaError *err) {
    *take = NULL;
    const char *text = size ? data : "";
    Reader r = {.w = {text, text, text + size, err}, .size = size, .options = options, .stream = stream};
    r.facts.normalized = -1;
    if (size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) r.w.p += 3;
    FaCode rc = parse(&r);
    if (rc >= 0)
        *take = r.take;
    else
        fa_landmarks_free(r.take);
    return rc;
}

FaCode fai_landmarks_json_parse(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                                FaError *err) {
    return parse_text(data, size, options, false, take, err);
}

FaCode fai_landmarks_json_frame(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                                FaError *err) {
    return parse_text(data, size, options, true, take, err);
}

// --- writing ------------------------------------------------------------------------------------------------------

FaCode fai_landmarks_json_write(const FaLandmarkTake *take, FaText *out, FaError *err) {
    static const char *const layout[] = {"ibug68", "mediapipe468", "mediapipe478"};
    fai_text_printf(out, "{\"layout\": \"%s\", \"units\": \"%s\"", layout[take->layout], take->metric ? "m" : "pixels");
    if (take->width != 1 || take->height != 1) {
        fai_text_str(out, ", \"width\": ");
        fai_text_double(out, take->width);
        fai_text_str(out, ", \"height\": ");
        fai_text_double(out, take->height);
    }
    fai_text_str(out, ", \"fps\": ");
    fai_text_double(out, take->fps);
    fai_text_str(out, ",\n \"frames\": [");
    for (int f = 0; f < take->nframe; f++) {
        fai_text_str(out, f ? ",\n  {\"time\": " : "\n  {\"time\": ");
        fai_text_double(out, take->time[f]);
        fai_text_str(out, ", \"points\": [");
        const float *seen = take->visibility + (size_t)f * (size_t)take->count;
        bool any = false, all = true;
        for (int i = 0; i < take->count; i++) any |= seen[i] > 0, all &= seen[i] == 1;
        for (int i = 0; any && i < take->count; i++) {
            if (i) fai_text_str(out, ",");
            const float *x = take->x + ((size_t)f * (size_t)take->count + (size_t)i) * (size_t)take->dims;
            if (seen[i] > 0)
                fai_decimal_row(out, "[", x, take->dims, ",", "]");
            else
                fai_text_str(out, "null");
        }
        fai_text_str(out, "]");
        if (any && !all) fai_decimal_row(out, ", \"visibility\": [", seen, take->count, ",", "]");
        fai_text_str(out, "}");
    }
    fai_text_str(out, "\n ]}\n");
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

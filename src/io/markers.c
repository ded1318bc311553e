// Takes of markers: making, checking, finishing what a reader has read, files.
#include "io/markers.h"

#include "base/file.h"
#include "base/number.h"
#include "io/clip_tools.h"
#include "io/csv.h"

#include <math.h>
#include <strings.h>

static const double FACE_LOW = 0.08 - 1e-7, FACE_HIGH = 0.25 + 1e-7; // m: how large a face's marker cloud is
static const double METRES_HIGH = 0.5;                               // m: above this nobody means metres by convention
static const double DROPOUT = 0.02; // m: a jump to 0 0 0 longer than this is a lost marker

static size_t at(const FaMarkerTake *t, int frame, int marker) {
    return (size_t)frame * (size_t)t->nmarker + (size_t)marker;
}

// --- making and checking ------------------------------------------------------------------------------------------

// The names live behind their own pointers, in one block.
static const char **copy_names(int n, const char *const *names) {
    size_t bytes = (size_t)n * sizeof *names;
    for (int i = 0; i < n; i++) bytes += strlen(names[i]) + 1;
    const char **copy = fai_alloc_array(bytes, 1);
    if (!copy) return NULL;
    char *to = (char *)(copy + n);
    for (int i = 0; i < n; i++) {
        size_t size = strlen(names[i]) + 1;
        copy[i] = memcpy(to, names[i], size);
        to += size;
    }
    return copy;
}

FaCode fa_markers_new(int nframe, int nmarker, const char *const *names, double fps, FaMarkerTake **take,
                      FaError *err) {
    *take = NULL;
    if (nframe < 1 || nmarker < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "give at least one of each", "a take of %d frames and %d markers", nframe,
                       nmarker);
    if (!(fps > 0) || !isfinite(fps))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0", "the frame rate is no rate");
    FaMarkerTake *t = FA_NEW(1, FaMarkerTake);
    if (!t) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)nframe * (size_t)nmarker; // below 2^62
    t->nframe = nframe;
    t->nmarker = nmarker;
    t->fps = fps;
    t->unit = 1;
    t->unit_how = "given";
    t->time = FA_NEW(nframe, double);
    t->name = copy_names(nmarker, names);
    t->x = fai_alloc_array(n, 3 * sizeof *t->x);
    t->ok = FA_NEW(n, unsigned char);
    if (!t->time || !t->name || !t->x || !t->ok) {
        fa_markers_free(t);
        return FA_FAIL_MEMORY(err);
    }
    for (int f = 0; f < nframe; f++) t->time[f] = f / fps;
    for (size_t i = 0; i < 3 * n; i++) t->x[i] = NAN;
    *take = t;
    return FA_OK;
}

void fa_markers_free(FaMarkerTake *take) {
    if (!take) return;
    fa_free(take->time);
    fa_free(take->name);
    fa_free(take->x);
    fa_free(take->ok);
    fa_free(take->head);
    fa_free(take->path);
    fai_notes_free(&take->notes);
    fa_free(take);
}

int fa_markers_find(const FaMarkerTake *take, const char *name) {
    for (int m = 0; m < take->nmarker; m++)
        if (!strcmp(take->name[m], name)) return m;
    return -1;
}

static FaCode check_frame(const FaMarkerTake *t, int f, FaError *err) {
    for (int m = 0; m < t->nmarker; m++) {
        const float *x = t->x + 3 * at(t, f, m);
        bool finite = isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]),
             gone = isnan(x[0]) && isnan(x[1]) && isnan(x[2]);
        int ok = t->ok[at(t, f, m)];
        if (ok > 1 || !(ok ? finite : gone))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d, marker '%.80s'", f, t->name[m]), NULL,
                           ok ? "a marker that is seen has no finite position" : "a missing sample is not NAN");
    }
    if (!t->head) return FA_OK;
    const FaPose *p = &t->head[f];
    double n = p->q[0] * p->q[0] + p->q[1] * p->q[1] + p->q[2] * p->q[2] + p->q[3] * p->q[3];
    if (!(fabs(n - 1) <= 1e-5) || !isfinite(p->p[0]) || !isfinite(p->p[1]) || !isfinite(p->p[2]))
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), NULL, "the head's pose is no pose");
    return FA_OK;
}

FaCode fa_markers_check(const FaMarkerTake *take, FaError *err) {
    if (take->nframe < 1 || take->nmarker < 1)
        return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the take has no frames or no markers");
    if (!take->time || !take->name || !take->x || !take->ok)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the take has counts but no arrays");
    if (!(take->fps > 0) || !isfinite(take->fps))
        return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the frame rate is no rate");
    if (!isfinite(take->start)) return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the start is not a finite number");
    for (int m = 0; m < take->nmarker; m++)
        if (!take->name[m] || !take->name[m][0])
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("marker %d", m), NULL, "the marker has no name");
    int i, j;
    FA_TRY(fai_equal_names(take->name, take->nmarker, &i, &j, err));
    if (i >= 0)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("markers %d and %d", i, j), "rename one of them",
                       "two markers are called '%.80s'", take->name[i]);
    for (int f = 0; f < take->nframe; f++) {
        double t = take->time[f];
        if (!isfinite(t) || (f == 0 ? t != 0 : !(t > take->time[f - 1])))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), NULL, "times must start at 0 and increase");
        FA_TRY(check_frame(take, f, err));
    }
    return FA_OK;
}

// --- of which mesh ------------------------------------------------------------------------------------------------

void fai_rig_tag(uint64_t mesh, char tag[FA_RIG_TAG + 1]) {
    snprintf(tag, FA_RIG_TAG + 1, "rig#%016llx", (unsigned long long)mesh);
}

uint64_t fai_rig_tag_read(const char *text, size_t size) {
    uint64_t mesh = 0;
    if (size != FA_RIG_TAG || memcmp(text, "rig#", 4)) return 0;
    for (int i = 4; i < FA_RIG_TAG; i++) {
        const char *digits = "0123456789abcdef", *at = text[i] ? strchr(digits, text[i]) : NULL;
        if (!at) return 0;
        mesh = mesh << 4 | (uint64_t)(at - digits);
    }
    return mesh;
}

// --- for the readers ----------------------------------------------------------------------------------------------

FaMarkerOptions fa_marker_options_default(void) { return (FaMarkerOptions){0}; }

double fai_markers_unit(const FaMarkerOptions *options, double declared) {
    return options && options->unit > 0 ? options->unit : declared;
}

double fai_unit_named(const char *name, size_t size) {
    static const struct {
        const char *name;
        double metres;
    } known[] = {{"m", 1},
                 {"meter", 1},
                 {"meters", 1},
                 {"metre", 1},
                 {"metres", 1},
                 {"cm", 0.01},
                 {"centimeter", 0.01},
                 {"centimeters", 0.01},
                 {"centimetres", 0.01},
                 {"mm", 0.001},
                 {"millimeter", 0.001},
                 {"millimeters", 0.001},
                 {"millimetres", 0.001},
                 {"in", 0.0254},
                 {"inch", 0.0254},
                 {"inches", 0.0254},
                 {"ft", 0.3048},
                 {"feet", 0.3048},
                 {"dm", 0.1},
                 {"um", 1e-6}};
    while (size && (*name == ' ' || *name == '"')) name++, size--;
    while (size && (name[size - 1] == ' ' || name[size - 1] == '"' || name[size - 1] == '\r')) size--;
    for (int i = 0; i < FA_COUNT(known); i++)
        if (strlen(known[i].name) == size && !strncasecmp(known[i].name, name, size)) return known[i].metres;
    return 0;
}

FaUnit fa_unit_named(const char *text) {
    const char *end = text + strlen(text);
    double unit = fai_unit_named(text, strlen(text));
    if (unit > 0) return unit;
    return fai_parse_double(text, end, &unit) == end && unit > 0 && isfinite(unit) ? unit : -1;
}

FaCode fai_markers_room(size_t file_size, int64_t nframe, int64_t nmarker, FaError *err) {
    if (nframe > INT32_MAX || nmarker > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "split the file", "more than %d frames or markers", INT32_MAX);
    // positions, mask, time and pose; two scratch numbers per frame
    double bytes = (double)nframe * ((double)nmarker * (3 * sizeof(float) + 1) + 24) + 64 * (double)nmarker;
    if (bytes <= 4.0 * (double)file_size + 0x1p26) return FA_OK;
    return FA_FAIL(err, FA_E_LIMIT, NULL, "check that the file is complete, or split it",
                   "%lld frames of %lld markers are more than the file can hold", (long long)nframe,
                   (long long)nmarker);
}

static FaCode check_times(const FaMarkerTake *t, FaError *err) {
    for (int f = 0; f < t->nframe; f++)
        if (!isfinite(t->time[f]) || (f > 0 && !(t->time[f] > t->time[f - 1])))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), "times are seconds",
                           "the frames are too close in time, or too far apart");
    return FA_OK;
}

FaCode fai_markers_rate(FaMarkerTake *take, double stated, const FaMarkerOptions *options, FaError *err) {
    double step, first = take->time[0], asked = options ? options->fps : 0;
    for (int f = 0; f < take->nframe; f++) take->time[f] -= first;
    take->start += first;
    FA_TRY(check_times(take, err));
    FA_TRY(fai_median_step(take->time, take->nframe, &step, err));
    double seen = step > 0 ? 1 / step : stated > 0 ? stated : asked > 0 ? asked : 30;
    if (!isfinite(seen) || !isfinite(take->start))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "times are in seconds",
                       "the frames are too close to each other in time");
    take->fps = stated > 0 && fabs(seen / stated - 1) <= 0.02 ? stated : fai_fps_snap(seen);
    if (stated > 0 && take->fps != stated) {
        char a[FA_NUMBER_SIZE], b[FA_NUMBER_SIZE];
        fai_format_double(a, (double)(float)stated);
        fai_format_double(b, (double)(float)take->fps);
        fai_note(&take->notes, "fps-mismatch", "", "give the rate if the times are wrong",
                 "the file says %s frames per second, its times %s; the times count", a, b);
    }
    if (!(asked > 0)) return FA_OK;
    double scale = take->fps / asked;
    for (int f = 0; f < take->nframe && scale != 1; f++) take->time[f] *= scale;
    take->fps = asked;
    return check_times(take, err);
}

// Open addressing by name: the slot where it is, or where it would go.
static size_t slot_of(const int *slot, uint64_t mask, const char *const *name, const char *key) {
    uint64_t h = fai_hash64(key, strlen(key), 0) & mask;
    while (slot[h] && strcmp(name[slot[h] - 1], key)) h = (h + 1) & mask;
    return (size_t)h;
}

FaCode fai_markers_names(FaArena *arena, const char **name, int n, FaNotes *notes, FaError *err) {
    uint64_t mask = 15;
    while (mask < 2 * (uint64_t)n) mask = 2 * mask + 1;
    int *slot = FA_PUSH(arena, mask + 1, int); // marker + 1, 0: free
    if (!slot) return FA_FAIL_MEMORY(err);
    int unnamed = 0, first_unnamed = 0, again = 0, first_again = 0;
    // those that have a name of their own keep it, whatever the made-up names of others would be
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            bool has = name[i] && name[i][0];
            if (pass == 0 && !has) continue;
            if (pass == 0) {
                size_t s = slot_of(slot, mask, name, name[i]);
                if (!slot[s]) slot[s] = i + 1;
                continue;
            }
            if (has && slot[slot_of(slot, mask, name, name[i])] == i + 1) continue;
            if (has ? !again++ : !unnamed++) *(has ? &first_again : &first_unnamed) = i;
            const char *made = NULL;
            size_t s = 0;
            // hostile files could ask for n tries per name: the number of the marker ends that
            for (int k = 2; k < 10 && !made; k++) {
                made = has ? fai_arena_printf(arena, "%s#%d", name[i], k < 9 ? k : i + 1)
                           : fai_arena_printf(arena, "marker_%d%s", i + 1, k > 2 ? "_" : "");
                if (!made) return FA_FAIL_MEMORY(err);
                s = slot_of(slot, mask, name, made);
                if (slot[s]) made = NULL;
            }
            for (int k = n; !made; k++) {
                if (!(made = fai_arena_printf(arena, "marker_%d_%d", i + 1, k))) return FA_FAIL_MEMORY(err);
                s = slot_of(slot, mask, name, made);
                if (slot[s]) made = NULL;
            }
            name[i] = made;
            slot[s] = i + 1;
        }
    fai_note_count(notes, unnamed, "unnamed-markers", FA_PLACE("marker %d", first_unnamed + 1), "name them",
                   "%d marker%s no name; the first is called %.60s now", unnamed, unnamed == 1 ? " has" : "s have",
                   unnamed ? name[first_unnamed] : "");
    fai_note_count(notes, again, "duplicate-names", FA_PLACE("marker %d", first_again + 1), "rename them",
                   "%d marker%s the name of an earlier one; the first is called %.60s now", again,
                   again == 1 ? " has" : "s have", again ? name[first_again] : "");
    return FA_OK;
}

// --- finishing: missing samples -----------------------------------------------------------------------------------

static void set_missing(FaMarkerTake *t, size_t i) {
    t->ok[i] = 0;
    for (int k = 0; k < 3; k++) t->x[3 * i + k] = NAN;
}

static void find_missing(FaMarkerTake *t, int nan_cells) {
    int64_t partial = 0;
    FaPlace first = {""};
    for (int f = 0; f < t->nframe; f++)
        for (int m = 0; m < t->nmarker; m++) {
            size_t i = at(t, f, m);
            const float *x = t->x + 3 * i;
            int have = !isnan(x[0]) + !isnan(x[1]) + !isnan(x[2]);
            t->ok[i] = have == 3;
            if (have == 3) continue;
            if (have && !partial++) first = fai_place("frame %d, marker '%.60s'", f, t->name[m]);
            set_missing(t, i);
        }
    int count = (int)FA_MIN(partial, INT32_MAX);
    fai_note_count(&t->notes, count, "partial-samples", first.text, "check the export",
                   "%d sample%s only some of the three coordinates; taken as missing", count,
                   count == 1 ? " has" : "s have");
    fai_note_count(&t->notes, nan_cells, "nan-cells", "", "", "%d coordinate%s NaN; taken as missing", nan_cells,
                   nan_cells == 1 ? " is" : "s are");
}

static bool is_zero(const FaMarkerTake *t, int f, int m) {
    const float *x = t->x + 3 * at(t, f, m);
    return t->ok[at(t, f, m)] && x[0] == 0 && x[1] == 0 && x[2] == 0;
}

// 0 0 0 is how many programs write a lost marker. It is one if the marker is far from there when last and next seen.
static void drop_zeros(FaMarkerTake *t, double unit) {
    int dropped = 0;
    FaPlace first = {""};
    for (int m = 0; m < t->nmarker; m++) {
        for (int f = 0; f < t->nframe;) {
            if (!is_zero(t, f, m)) {
                f++;
                continue;
            }
            int from = f, before = f - 1, to = f;
            while (to < t->nframe && (is_zero(t, to, m) || !t->ok[at(t, to, m)])) to++;
            while (before >= 0 && !t->ok[at(t, before, m)]) before--;
            f = to;
            bool near = false;
            int side[2] = {before, to};
            for (int s = 0; s < 2; s++) {
                if (side[s] < 0 || side[s] >= t->nframe) continue;
                const float *x = t->x + 3 * at(t, side[s], m);
                double d2 = (double)x[0] * x[0] + (double)x[1] * x[1] + (double)x[2] * x[2];
                near |= d2 * unit * unit <= DROPOUT * DROPOUT;
            }
            if (near) continue;
            for (int g = from; g < to; g++) {
                if (!t->ok[at(t, g, m)]) continue;
                if (!dropped++) first = fai_place("frame %d, marker '%.60s'", g, t->name[m]);
                set_missing(t, at(t, g, m));
            }
        }
    }
    fai_note_count(&t->notes, dropped, "zero-samples", first.text, "",
                   "%d sample%s 0 0 0, far from where the marker is before and after; taken as missing", dropped,
                   dropped == 1 ? " is" : "s are");
}

// The longest run of frames without the marker.
static int longest_gap(const FaMarkerTake *t, int m, int *from, int *missing) {
    int best = 0, run = 0;
    *from = *missing = 0;
    for (int f = 0; f < t->nframe; f++) {
        run = t->ok[at(t, f, m)] ? 0 : run + 1;
        *missing += !t->ok[at(t, f, m)];
        if (run > best) best = run, *from = f - run + 1;
    }
    return best;
}

static void note_missing(FaMarkerTake *t) {
    enum { NAMED = 3 };
    int worst[NAMED] = {0}, worst_missing[NAMED] = {0}, never = 0, first_never = 0, touched = 0;
    int gap = 0, gap_from = 0, gap_marker = 0;
    int64_t total = 0;
    for (int m = 0; m < t->nmarker; m++) {
        int from, missing, run = longest_gap(t, m, &from, &missing);
        if (missing == t->nframe) {
            if (!never++) first_never = m;
            continue;
        }
        total += missing;
        touched += missing > 0;
        if (run > gap) gap = run, gap_from = from, gap_marker = m;
        for (int k = 0; k < NAMED; k++) {
            if (missing <= worst_missing[k]) continue;
            for (int j = NAMED - 1; j > k; j--) worst[j] = worst[j - 1], worst_missing[j] = worst_missing[j - 1];
            worst[k] = m, worst_missing[k] = missing;
            break;
        }
    }
    fai_note_count(&t->notes, never, "markers-never-seen", t->name[first_never], "leave them out of the export",
                   "%d marker%s never seen, the first is '%.60s'", never, never == 1 ? " is" : "s are",
                   t->name[first_never]);
    if (!total) return;
    char list[160] = "";
    for (int k = 0, n = 0; k < NAMED && worst_missing[k]; k++)
        n += snprintf(list + n, sizeof list - (size_t)n, "%s%.30s (%d)", n ? ", " : "", t->name[worst[k]],
                      worst_missing[k]);
    int count = (int)FA_MIN(total, INT32_MAX);
    fai_note_count(&t->notes, count, "missing-samples",
                   FA_PLACE("frames %d-%d, marker '%.60s'", gap_from, gap_from + gap - 1, t->name[gap_marker]),
                   "nothing is filled in: they do not count",
                   "%d sample%s of %d marker%s missing: %s%s; the longest gap is %d frame%s", count,
                   count == 1 ? "" : "s", touched, touched == 1 ? " is" : "s are", list, touched > NAMED ? ", ..." : "",
                   gap, gap == 1 ? "" : "s");
}

static int frame_count(const FaMarkerTake *t, int f) {
    int n = 0;
    for (int m = 0; m < t->nmarker; m++) n += t->ok[at(t, f, m)];
    return n;
}

// A fingerprint of where a marker is over time; 0 for one that is never seen.
static uint64_t track_hash(const FaMarkerTake *t, int m) {
    uint64_t h = 0;
    bool seen = false;
    for (int f = 0; f < t->nframe; f++) {
        size_t i = at(t, f, m);
        h = t->ok[i] ? fai_hash64(t->x + 3 * i, 3 * sizeof(float), h) : h * 0x9E3779B97F4A7C15u + 1;
        seen |= t->ok[i];
    }
    return seen ? h | 1 : 0;
}

static FaCode note_same(FaMarkerTake *t, FaError *err) {
    enum { MANY = 4096 }; // comparisons grow with the square
    if (t->nmarker > MANY) return FA_OK;
    uint64_t *hash = FA_NEW(t->nmarker, uint64_t);
    if (!hash) return FA_FAIL_MEMORY(err);
    int count = 0, a = 0, b = 0;
    for (int i = 0; i < t->nmarker; i++) {
        hash[i] = track_hash(t, i);
        for (int j = 0; hash[i] && j < i; j++) {
            if (hash[i] != hash[j]) continue;
            if (!count++) a = j, b = i;
            break;
        }
    }
    fa_free(hash);
    fai_note_count(&t->notes, count, "same-markers", t->name[a], "leave one of them out",
                   "%d marker%s where another is in every frame: '%.60s' and '%.60s'", count,
                   count == 1 ? " is" : "s are", t->name[a], t->name[b]);
    return FA_OK;
}

static FaCode check_seen(const FaMarkerTake *t, FaError *err) {
    size_t n = (size_t)t->nframe * (size_t)t->nmarker;
    if (memchr(t->ok, 1, n)) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, NULL, "check the export", "no marker is seen in any of the %d frame%s", t->nframe,
                   t->nframe == 1 ? "" : "s");
}

static void note_empty(FaMarkerTake *t) {
    int empty = 0, first = 0;
    for (int f = 0; f < t->nframe; f++)
        if (!frame_count(t, f) && !empty++) first = f;
    fai_note_count(&t->notes, empty, "empty-frames", FA_PLACE("frame %d", first), "", "%d frame%s no marker at all",
                   empty, empty == 1 ? " shows" : "s show");
}

// --- finishing: the unit ------------------------------------------------------------------------------------------

// The longest side of the box around the frame that shows most markers, in units of x; one in twenty left out at each
// end, since one stray marker must not decide.
static FaCode cloud_size(const FaMarkerTake *t, double *size, FaError *err) {
    int best = 0, most = -1;
    for (int f = 0; f < t->nframe; f++) {
        int n = frame_count(t, f);
        if (n > most) best = f, most = n;
    }
    *size = 0;
    double *v = FA_NEW(FA_MAX(most, 1), double);
    if (!v) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < 3; k++) {
        int n = 0;
        for (int m = 0; m < t->nmarker; m++)
            if (t->ok[at(t, best, m)]) v[n++] = t->x[3 * at(t, best, m) + (size_t)k];
        fai_sort_doubles(v, n);
        *size = fmax(*size, v[n - 1 - n / 20] - v[n / 20]);
    }
    fa_free(v);
    return FA_OK;
}

static void scale_take(FaMarkerTake *t, double unit) {
    size_t n = 3 * (size_t)t->nframe * (size_t)t->nmarker;
    for (size_t i = 0; unit != 1 && i < n; i++) t->x[i] = (float)((double)t->x[i] * unit);
    for (int f = 0; t->head && unit != 1 && f < t->nframe; f++)
        for (int k = 0; k < 3; k++) t->head[f].p[k] *= unit;
    t->unit = unit;
}

static const struct {
    double metres;
    const char *name;
} known_unit[] = {{1, "metres"}, {0.01, "centimetres"}, {0.001, "millimetres"}};

// In which of them a cloud of this many units is a face; -1: in none.
static int unit_by_size(double size) {
    for (int i = 0; i < FA_COUNT(known_unit); i++)
        if (size * known_unit[i].metres >= FACE_LOW && size * known_unit[i].metres <= FACE_HIGH) return i;
    return -1;
}

static FaCode find_unit(FaMarkerTake *t, const FaMarkerFacts *facts, const FaMarkerOptions *o, FaError *err) {
    double given = fai_markers_unit(o, 0), size;
    FA_TRY(cloud_size(t, &size, err));
    char number[FA_NUMBER_SIZE];
    fai_format_double(number, (double)(float)size);
    bool face = size >= FACE_LOW && size <= FACE_HIGH;
    if (given > 0 || facts->declared > 0) {
        t->unit = given > 0 ? given : facts->declared;
        t->unit_how = given > 0 ? "given" : "declared by the file";
        // a body, or a few markers on the lips, may well be meant: only what no person can be is odd
        bool odd = (size > 3 || (size < 0.005 && size > 0)) && !(o && o->any_size);
        int other = odd && given > 0 ? unit_by_size(size / given) : -1; // --unit may be meant for the rig alone
        if (other >= 0) {
            scale_take(t, known_unit[other].metres / given);
            t->unit = known_unit[other].metres;
            t->unit_how = "by size";
            fai_note(&t->notes, "marker-unit", "", "none needed if the unit given is that of the rig",
                     "in the unit given the markers would be %s m large: positions were taken as %s", number,
                     known_unit[other].name);
        } else if (odd) {
            fai_note(&t->notes, "unit-suspect", "", "give the unit if it is another",
                     "in the unit %s the markers are %s m large, which no face is",
                     given > 0 ? "given" : "the file declares", number);
        }
        return FA_OK;
    }
    int by_size = unit_by_size(size);
    if (by_size >= 0) {
        t->unit_how = "by size";
        if (by_size > 0)
            fai_note(&t->notes, "marker-unit", "", "give the unit if it is another",
                     "positions were taken as %s: the markers are %s units large", known_unit[by_size].name, number);
        scale_take(t, known_unit[by_size].metres);
        return FA_OK;
    }
    if ((facts->metres && size <= METRES_HIGH) || (o && o->any_size)) {
        t->unit = 1;
        t->unit_how = "metres by convention";
        if (!face)
            fai_note(&t->notes, "marker-unit", "", "give the unit if it is another",
                     "positions were taken as metres: the markers are %d mm large", (int)(1e3 * size + 0.5));
        return FA_OK;
    }
    return FA_FAIL(err, FA_E_FORMAT, NULL, "give the unit: --unit m|cm|mm|in|ft, or metres per unit",
                   "the markers are %s units large: a face (0.08 to 0.25 m) neither in m, cm nor mm", number);
}

FaCode fai_markers_finish(FaMarkerTake *take, const FaMarkerFacts *facts, const FaMarkerOptions *options,
                          FaError *err) {
    find_missing(take, facts->nan_cells);
    FA_TRY(check_seen(take, err));
    if (facts->zero_missing) {
        // where no unit is known, a face is taken to be 15 cm large
        double unit = 1, size;
        if (!(fai_markers_unit(options, facts->declared) > 0)) {
            FA_TRY(cloud_size(take, &size, err));
            unit = size > 0 ? 0.15 / size : 1;
        }
        drop_zeros(take, unit);
        FA_TRY(check_seen(take, err));
    }
    FA_TRY(find_unit(take, facts, options, err));
    note_missing(take);
    note_empty(take);
    return note_same(take, err);
}

// --- files --------------------------------------------------------------------------------------------------------

FaCode fai_markers_parse(const void *data, size_t size, const char *name, const FaMarkerOptions *options,
                         FaMarkerTake **take, FaError *err) {
    *take = NULL;
    if (!size) return FA_FAIL(err, FA_E_FORMAT, NULL, "check that it was saved", "the file is empty");
    if (options && (!isfinite(options->fps) || options->fps < 0))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0", "the frame rate is not a rate");
    if (options && (!isfinite(options->unit) || options->unit < 0))
        return FA_FAIL(err, FA_E_ARG, NULL, "give metres per unit, above 0", "the unit of length is no length");
    bool trc = name && fai_path_has_ext(name, "trc"), c3d = name && fai_path_has_ext(name, "c3d");
    if (fai_markers_c3d_sniff(data, size) || c3d) return fai_markers_c3d_parse(data, size, options, take, err);
    if (fai_markers_trc_sniff(data, size) || trc) return fai_markers_trc_parse(data, size, options, take, err);
    return fai_markers_csv_parse(data, size, options, take, err);
}

FaCode fa_markers_load(const char *path, const FaMarkerOptions *options, FaMarkerTake **take, FaError *err) {
    FA_ASSERT(path && take);
    *take = NULL;
    FaBytes bytes = {0};
    FaCode rc = fai_file_read(path, 0, &bytes, err);
    if (rc >= 0) rc = fai_markers_parse(bytes.data, bytes.size, path, options, take, err);
    fai_bytes_free(&bytes);
    if (rc >= 0 && !((*take)->path = fai_strdup(path))) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fa_markers_check(*take, err);
    if (rc >= 0) rc = fai_times_apart((*take)->time, (*take)->nframe, err);
    if (rc >= 0) return rc;
    fa_markers_free(*take);
    *take = NULL;
    return fai_fail_in(err, rc, path);
}

FaCode fa_markers_save(const FaMarkerTake *take, const char *path, FaError *err) {
    FA_ASSERT(take && path);
    FaText text = {0};
    FaCode rc = fa_markers_check(take, err);
    if (rc < 0) return fai_fail_in(err, rc, path);
    if (fai_path_has_ext(path, "csv"))
        rc = fai_markers_csv_write(take, &text, err);
    else if (fai_path_has_ext(path, "trc"))
        rc = fai_markers_trc_write(take, &text, err);
    else if (fai_path_has_ext(path, "c3d"))
        rc = fai_markers_c3d_write(take, &text, err);
    else
        rc = FA_FAIL(err, FA_E_ARG, NULL, "end the name in .csv, .trc or .c3d",
                     "markers are saved as .csv, .trc or .c3d, not .%s", fai_path_ext(path));
    if (rc >= 0) rc = fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    return fai_fail_in(err, rc, path);
}

// --- which kind a file is -----------------------------------------------------------------------------------------

// A CSV whose columns are mostly NAME.x, NAME.y, NAME.z holds markers; one that has x_0 holds landmarks.
static FaMotionKind csv_kind(const char *text, size_t size) {
    FaCsv csv;
    bool more = false;
    int coordinates = 0, plain = 0, ncell = 0;
    if (fai_csv_open(&csv, text, size, NULL) >= 0 && fai_csv_row(&csv, &more, NULL) >= 0) ncell = csv.ncell;
    for (int i = 0; i < ncell; i++) {
        const FaCsvCell *c = &csv.cell[i];
        int n = c->size;
        while (n > 0 && (c->text[n - 1] == ' ' || c->text[n - 1] == '\t')) n--;
        coordinates +=
            n >= 3 && c->text[n - 2] == '.' && (c->text[n - 1] | 0x20) >= 'x' && (c->text[n - 1] | 0x20) <= 'z';
        static const char *const first[] = {"x_0", "x0", "x_1", "x1"};
        for (int k = 0; k < FA_COUNT(first); k++) plain += fai_csv_is(c, first[k]);
    }
    fai_csv_close(&csv);
    if (plain) return FA_MOTION_LANDMARKS;
    return coordinates >= 3 && 2 * coordinates >= ncell ? FA_MOTION_MARKERS : FA_MOTION_OTHER;
}

static FaMotionKind json_kind(const char *text) {
    static const char *const key[] = {"\"points\"",         "\"landmarks\"",          "\"faceLandmarks\"",
                                      "\"face_landmarks\"", "\"multiFaceLandmarks\"", "\"multi_face_landmarks\"",
                                      "\"keypoints\""};
    if (*text == '[') return FA_MOTION_LANDMARKS;
    for (int k = 0; k < FA_COUNT(key); k++)
        if (strstr(text, key[k])) return FA_MOTION_LANDMARKS;
    return FA_MOTION_OTHER;
}

FaMotionKind fa_motion_kind(const char *path) {
    enum { START = 1 << 18 };
    if (fai_path_has_ext(path, "trc") || fai_path_has_ext(path, "c3d")) return FA_MOTION_MARKERS;
    char *text = fai_dir_exists(path) ? NULL : FA_NEW(START + 1, char);
    size_t n = text ? fai_file_start(path, text, START) : 0;
    FaMotionKind kind = FA_MOTION_OTHER;
    const char *s = n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3) ? text + 3 : text;
    while (n && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n')) s++;
    if (n && (fai_markers_c3d_sniff(text, n) || fai_markers_trc_sniff(text, n)))
        kind = FA_MOTION_MARKERS;
    else if (n && (*s == '{' || *s == '['))
        kind = json_kind(s);
    else if (n && fai_path_has_ext(path, "csv"))
        kind = csv_kind(text, n);
    fa_free(text);
    return kind;
}

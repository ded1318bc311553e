// Landmark CSV. OpenFace: frame, face_id, timestamp, confidence, success, ..., x_0 .. x_67, y_0 .. y_67 (pixels), X_0
// .. Z_67 (mm in the camera's frame); its gaze_0_x, eye_lmk_x_0 and so on are others. Elsewhere, if no column is
// plainly x_0 or x0: any whose name is a coordinate (x, y, z, v or visibility) and one number, in any order and
// spelling: 0_x, lm12.y, "landmark 12 z". Numbers may start at 0 or at 1.
#include "base/number.h"
#include "io/clip_tools.h"
#include "io/csv.h"
#include "io/decimal.h"
#include "io/landmarks.h"

#include <math.h>
#include <strings.h>

// What a column holds: 4 * point + coordinate (x y z visibility), or one of these.
enum { COL_SKIP = -1, COL_TIME = -2, COL_STAMP = -3, COL_SUCCESS = -4, COL_CONFIDENCE = -5, COL_FACE = -6 };
enum { VISIBLE = 3, MOST = 478 };

typedef struct Set {
    unsigned char have[MOST + 1]; // bit per coordinate
    int low, high, points;        // numbers seen
} Set;

typedef struct Table {
    FaCsv csv;
    size_t size;
    const FaLandmarkOptions *options;
    FaArena *arena;
    int ncolumn, nrow;
    int *column;     // (ncolumn)
    bool *upper;     // the coordinate is spelled large                  (ncolumn)
    bool special[8]; // by -code: the column is there
    int base, count, dims;
    double face; // OpenFace: the face taken
    bool has_visibility;
    FaLandmarkTake *take;
    FaLandmarkFacts facts;
    bool comma, cut;
} Table;

// --- the header ---------------------------------------------------------------------------------------------------

// Letters and digits of a column's name: exactly one number and a coordinate that stands alone between others. *plain:
// nothing but the two, the coordinate first.
static bool coordinate(const FaCsvCell *cell, int *point, int *which, bool *upper, bool *plain) {
    int numbers = 0, found = -1, words = 0;
    int64_t n = 0;
    const char *s = cell->text, *end = s + cell->size;
    while (s < end) {
        const char *a = s;
        if (*s >= '0' && *s <= '9') {
            while (s < end && *s >= '0' && *s <= '9') s++;
            if (numbers++ || s - a > 4 || !fai_parse_int(a, s, &n)) return false;
        } else if ((*s | 0x20) >= 'a' && (*s | 0x20) <= 'z') {
            while (s < end && (*s | 0x20) >= 'a' && (*s | 0x20) <= 'z') s++;
            int size = (int)(s - a), w = -1;
            words += 1 + numbers;
            if (size == 1 && (*a | 0x20) >= 'x' && (*a | 0x20) <= 'z')
                w = (*a | 0x20) - 'x';
            else if ((size == 1 && (*a | 0x20) == 'v') || (size == 10 && !strncasecmp(a, "visibility", 10)))
                w = VISIBLE;
            if (w >= 0 && found >= 0) return false;
            if (w >= 0) found = w, *upper = *a >= 'A' && *a <= 'Z';
        } else
            s++;
    }
    if (numbers != 1 || found < 0 || n > MOST) return false;
    *point = (int)n;
    *which = found;
    *plain = words == 1;
    return true;
}

static int special_column(const FaCsvCell *cell) {
    static const struct {
        const char *name;
        int code;
    } known[] = {{"time", COL_TIME},
                 {"timestamp", COL_STAMP},
                 {"success", COL_SUCCESS},
                 {"confidence", COL_CONFIDENCE},
                 {"face_id", COL_FACE}};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (fai_csv_is(cell, known[i].name)) return known[i].code;
    return COL_SKIP;
}

static FaCode read_header(Table *t, Set set[2], FaError *err) {
    bool more;
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    t->ncolumn = t->csv.ncell;
    t->column = FA_PUSH(t->arena, FA_MAX(t->ncolumn, 1), int);
    t->upper = FA_PUSH(t->arena, FA_MAX(t->ncolumn, 1), bool);
    if (!t->column || !t->upper) return FA_FAIL_MEMORY(err);
    int point, which;
    bool plain, any_plain = false;
    for (int i = 0; i < t->ncolumn && !any_plain; i++)
        any_plain = coordinate(&t->csv.cell[i], &point, &which, &t->upper[i], &plain) && plain;
    for (int i = 0; i < t->ncolumn; i++) {
        const FaCsvCell *cell = &t->csv.cell[i];
        t->column[i] = special_column(cell);
        bool *seen = t->column[i] != COL_SKIP ? &t->special[-t->column[i]] : NULL, twice = seen && *seen;
        if (seen)
            *seen = true;
        else if (coordinate(cell, &point, &which, &t->upper[i], &plain) && plain >= any_plain) {
            Set *s = &set[t->upper[i]];
            twice = s->have[point] & 1 << which;
            if (!s->have[point]) s->points++;
            s->low = s->points == 1 ? point : FA_MIN(s->low, point);
            s->high = FA_MAX(s->high, point);
            s->have[point] |= (unsigned char)(1 << which);
            t->column[i] = 4 * point + which;
        }
        if (twice) return fai_csv_twice(cell, err);
    }
    return FA_OK;
}

// Which of x_ and X_ to take, how many points there are and of how many dimensions.
static FaCode choose_points(Table *t, const Set set[2], FaError *err) {
    bool openface = t->special[-COL_SUCCESS] || t->special[-COL_CONFIDENCE];
    int upper = set[0].points == 0 || (set[1].points && t->options && t->options->metric);
    const Set *s = &set[upper];
    if (!s->points)
        return FA_FAIL(err, FA_E_FORMAT, "line 1", "columns are x_0, y_0, ... or x_0 .. x_67, y_0 .. y_67",
                       "the header names no landmarks");
    FaLandmarkLayout layout;
    if (s->low > 1 || s->high - s->low + 1 != s->points || !fai_landmark_layout(s->points, &layout))
        return FA_FAIL(err, FA_E_FORMAT, "line 1", "give 68, 468 or 478 points, numbered from 0",
                       "the columns name %d landmarks, from %d to %d", s->points, s->low, s->high);
    t->base = s->low;
    t->count = s->points;
    t->dims = 3;
    t->has_visibility = true;
    for (int i = s->low; i <= s->high; i++) {
        if ((s->have[i] & 3) != 3)
            return FA_FAIL(err, FA_E_FORMAT, "line 1", "give x and y of every point", "landmark %d has no %c", i,
                           s->have[i] & 1 ? 'y' : 'x');
        if (!(s->have[i] & 4)) t->dims = 2;
        if (!(s->have[i] & 1 << VISIBLE)) t->has_visibility = false;
    }
    bool metric = upper && t->dims == 3 && (openface || set[0].points);
    for (int i = 0; i < t->ncolumn; i++) {
        if (t->column[i] < 0) continue;
        int which = t->column[i] % 4;
        bool use = t->upper[i] == upper && (which != 2 || t->dims == 3) && (which != VISIBLE || t->has_visibility);
        t->column[i] = use ? t->column[i] - 4 * t->base : COL_SKIP;
    }
    FA_TRY(fai_landmarks_room(t->size, t->nrow, t->count, t->dims, err));
    FA_TRY(fa_landmarks_new(layout, t->dims, t->nrow, 30, &t->take, err));
    t->take->metric = metric;
    return FA_OK;
}

// --- rows ---------------------------------------------------------------------------------------------------------

static FaCode read_number(Table *t, const FaCsvCell *cell, double *v, FaError *err) {
    *v = NAN;
    if (fai_csv_blank(cell)) return FA_OK;
    if (!fai_csv_number(&t->csv, cell, v, &t->comma) || isinf(*v))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, NULL).text, "a number must stand there, or nothing",
                       "'%s' is no finite number", fai_csv_show(cell).text);
    return FA_OK;
}

// The value of a special column in the row just read; absent if there is none.
static FaCode special(Table *t, int code, double absent, double *v, FaError *err) {
    *v = absent;
    for (int i = 0; t->special[-code] && i < t->ncolumn; i++)
        if (t->column[i] == code) return read_number(t, &t->csv.cell[i], v, err);
    return FA_OK;
}

// Count the rows; of several faces (OpenFace) the one that was seen most, the lower number if equally.
static FaCode count_rows(Table *t, FaError *err) {
    enum { FACES = 64 };
    int rows[FACES] = {0}, total = 0;
    for (bool more = true;;) {
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        if (!more) break;
        if (t->csv.ncell < t->ncolumn && !t->csv.ended && total) {
            t->cut = true;
            break;
        }
        if (t->csv.ncell != t->ncolumn) return fai_csv_ragged(&t->csv, t->ncolumn, err);
        if (++total == INT32_MAX) return FA_FAIL(err, FA_E_LIMIT, NULL, "split the file", "too many rows");
        double face;
        FA_TRY(special(t, COL_FACE, 0, &face, err));
        if (face >= 0 && face < FACES) rows[(int)face]++;
    }
    int best = 0;
    for (int i = 1; i < FACES; i++)
        if (rows[i] > rows[best]) best = i;
    t->face = best;
    t->nrow = rows[best];
    t->facts.several = total - rows[best];
    if (!total)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", t->csv.line), "add a row per frame",
                       "there are no frames");
    if (!t->nrow)
        return FA_FAIL(err, FA_E_FORMAT, "column face_id", "number the faces from 0",
                       "no row is of a face from 0 to %d", FACES - 1);
    return FA_OK;
}

static FaCode read_row(Table *t, int frame, FaError *err) {
    FaLandmarkTake *take = t->take;
    double success, confidence, time, v;
    int timed = t->special[-COL_TIME] ? COL_TIME : COL_STAMP;
    FA_TRY(special(t, COL_SUCCESS, 1, &success, err));
    FA_TRY(special(t, COL_CONFIDENCE, 1, &confidence, err));
    FA_TRY(special(t, timed, 0, &time, err));
    if (isnan(time))
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", t->csv.cell[0].line), "every row needs its time",
                       "no time");
    take->time[frame] = time;
    float sure = confidence > 0 && confidence <= 1 ? (float)confidence : 1;
    size_t row = (size_t)frame * (size_t)t->count;
    if (success == 0 || isnan(success)) {
        if (!t->facts.lost++) t->facts.first_lost = frame;
        return FA_OK;
    }
    if (!t->has_visibility)
        for (int i = 0; i < t->count; i++) take->visibility[row + (size_t)i] = sure;
    bool any = false;
    for (int i = 0; i < t->ncolumn; i++) {
        if (t->column[i] < 0) continue;
        size_t at = row + (size_t)(t->column[i] / 4);
        int which = t->column[i] % 4;
        FA_TRY(read_number(t, &t->csv.cell[i], &v, err));
        if (which == VISIBLE) {
            take->visibility[at] = v > 0 ? (float)fmin(v, 1) : 0;
            continue;
        }
        if (isnan(v)) continue;
        float x = (float)(take->metric ? 0.001 * v : v);
        if (!isfinite(x))
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(&t->csv.cell[i], NULL).text, "check the export",
                           "'%s' is too large", fai_csv_show(&t->csv.cell[i]).text);
        take->x[at * (size_t)t->dims + (size_t)which] = x;
        any = true;
    }
    if (!any && !t->facts.lost++) t->facts.first_lost = frame;
    return FA_OK;
}

static FaCode parse_table(Table *t, FaError *err) {
    Set set[2] = {{{0}, 0, 0, 0}, {{0}, 0, 0, 0}};
    bool more;
    FA_TRY(read_header(t, set, err));
    FA_TRY(count_rows(t, err));
    FA_TRY(choose_points(t, set, err));
    fai_csv_rewind(&t->csv);
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    for (int f = 0; f < t->nrow;) {
        double face;
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        FA_TRY(special(t, COL_FACE, 0, &face, err));
        if (face >= 0 && (int)fmin(face, 1e6) == (int)t->face) FA_TRY(read_row(t, f++, err));
    }
    if (t->comma) fai_note(&t->take->notes, "decimal-comma", "", "", "numbers with a decimal comma were read");
    if (t->cut)
        fai_note(&t->take->notes, "last-row-cut", FA_PLACE("line %d", t->csv.line), "check that the file is complete",
                 "the last row is cut; it was left out");
    t->facts.timed = t->special[-COL_TIME] || t->special[-COL_STAMP];
    t->facts.stamps = !t->special[-COL_TIME];
    t->facts.normalized = -1;
    return fai_landmarks_finish(t->take, &t->facts, t->options, err);
}

FaCode fai_landmarks_csv_parse(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                               FaError *err) {
    *take = NULL;
    Table t = {.size = size, .options = options, .arena = fai_arena_new(0)};
    if (!t.arena) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_csv_open(&t.csv, data, size, err);
    if (rc >= 0) rc = parse_table(&t, err);
    if (rc >= 0)
        *take = t.take;
    else
        fa_landmarks_free(t.take);
    fai_csv_close(&t.csv);
    fai_arena_free(t.arena);
    return rc;
}

FaCode fai_landmarks_csv_write(const FaLandmarkTake *take, FaText *out, FaError *err) {
    fai_text_str(out, "time");
    for (int i = 0; i < take->count; i++) {
        for (int k = 0; k < take->dims; k++) fai_text_printf(out, ",%c_%d", 'x' + k, i);
        fai_text_printf(out, ",v_%d", i);
    }
    fai_text_str(out, "\n");
    for (int f = 0; f < take->nframe; f++) {
        fai_text_double(out, take->time[f]);
        for (int i = 0; i < take->count; i++) {
            size_t at = (size_t)f * (size_t)take->count + (size_t)i;
            if (take->visibility[at] > 0)
                fai_decimal_row(out, ",", take->x + at * (size_t)take->dims, take->dims, ",", "");
            else
                fai_text_str(out, take->dims == 3 ? ",,," : ",,");
            fai_decimal_row(out, ",", &take->visibility[at], 1, "", "");
        }
        fai_text_str(out, "\n");
    }
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

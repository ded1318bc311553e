#include "io/clip_csv.h"

#include "io/csv_pose.h"
#include "io/decimal.h"

#include <math.h>

// What a column holds: a channel (its number, from 0), or one of these.
enum { COL_TIME = -1, COL_SKIP = -2, COL_POSE = -10 }; // -10 .. -4: the pose's numbers

typedef struct Table {
    FaCsv csv;
    size_t size;
    FaArena *arena;
    int ncolumn, nchan, nrow;
    int *column;       //                                  (ncolumn)
    const char **name; // of the channels                  (ncolumn)
    bool has[FA_CSV_POSE];
    FaClip *clip;
    int empty;
    FaPlace first_empty;
    bool comma;
} Table;

// --- the header ---------------------------------------------------------------------------------------------------

// NAME.x, NAME.y, NAME.z throughout: markers, not weights.
static bool is_marker_file(const Table *t) {
    for (int c = 0; c < t->nchan; c++) {
        size_t n = strlen(t->name[c]);
        if (n < 3 || t->name[c][n - 2] != '.' || t->name[c][n - 1] < 'x' || t->name[c][n - 1] > 'z') return false;
    }
    return t->nchan >= 3 && t->nchan % 3 == 0;
}

static FaCode read_header(Table *t, FaError *err) {
    bool more, timed = false;
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    t->ncolumn = t->csv.ncell;
    t->column = FA_PUSH(t->arena, t->ncolumn, int);
    t->name = FA_PUSH(t->arena, t->ncolumn, const char *);
    if (!t->column || !t->name) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < t->ncolumn; i++) {
        const FaCsvCell *cell = &t->csv.cell[i];
        int pose = fai_csv_pose_column(cell);
        if (fai_csv_is(cell, "time")) {
            if (timed) return fai_csv_twice(cell, err);
            timed = true;
            t->column[i] = COL_TIME;
        } else if (pose >= 0) {
            if (t->has[pose]) return fai_csv_twice(cell, err);
            t->has[pose] = true;
            t->column[i] = COL_POSE + pose;
        } else if (fai_csv_blank(cell)) {
            t->column[i] = COL_SKIP;
        } else {
            if (memchr(cell->text, 0, (size_t)cell->size))
                return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, NULL).text, "save it as plain text",
                               "a zero byte in a column's name");
            char *name = fai_clip_name(t->arena, cell->text, (size_t)cell->size, !cell->quoted);
            if (!name) return FA_FAIL_MEMORY(err);
            t->column[i] = t->nchan;
            t->name[t->nchan++] = name;
        }
    }
    if (!timed)
        return FA_FAIL(err, FA_E_FORMAT, "line 1",
                       "a clip has a column `time` (s), a Live Link take a column `Timecode`",
                       "the header has no column of times");
    if (is_marker_file(t))
        return FA_FAIL(err, FA_E_FORMAT, "line 1", "use it where markers are asked for",
                       "these are marker positions, not weights");
    return fai_csv_pose_whole(t->has, err);
}

// --- rows ---------------------------------------------------------------------------------------------------------

static FaCode count_rows(Table *t, FaError *err) {
    for (bool more = true;;) {
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        if (!more) return FA_OK;
        if (t->csv.ncell != t->ncolumn) return fai_csv_ragged(&t->csv, t->ncolumn, err);
        if (++t->nrow == INT32_MAX) return FA_FAIL(err, FA_E_LIMIT, NULL, "split the file", "too many rows");
    }
}

// A finite number. *empty: there is none.
static FaCode read_number(Table *t, const FaCsvCell *cell, const char *name, double *value, bool *empty, FaError *err) {
    *empty = false;
    if (!fai_csv_number(&t->csv, cell, value, &t->comma)) {
        *empty = fai_csv_blank(cell);
        if (*empty) return FA_OK;
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "a number must stand there",
                       "'%s' is no number", fai_csv_show(cell).text);
    }
    if (!isfinite(*value))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "mend the cell", "'%s' is no finite number",
                       fai_csv_show(cell).text);
    return FA_OK;
}

static FaCode read_time(Table *t, int frame, const FaCsvCell *cell, FaError *err) {
    bool empty;
    double *time = t->clip->time;
    FA_TRY(read_number(t, cell, "time", &time[frame], &empty, err));
    if (empty)
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "time").text, "every row needs its time", "no time");
    if (frame > 0 && !(time[frame] > time[frame - 1]))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "time").text, "sort the rows by time, one row per time",
                       "the time %s is not after the row before", fai_csv_show(cell).text);
    return FA_OK;
}

static FaCode read_value(Table *t, int frame, int code, const FaCsvCell *cell, FaError *err) {
    FaClip *clip = t->clip;
    int pose = code - COL_POSE;
    const char *name = code >= 0 ? t->name[code] : fai_csv_pose_name[pose];
    double v;
    bool empty;
    FA_TRY(read_number(t, cell, name, &v, &empty, err));
    if (empty && !t->empty++) t->first_empty = fai_csv_place(cell, name);
    if (code >= 0) {
        float *w = clip->weight + (size_t)frame * (size_t)clip->nchan + (size_t)code;
        *w = !empty ? (float)v : frame > 0 ? w[-clip->nchan] : 0;
        if (!isfinite(*w))
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "faces use 0 to 1", "'%s' is too large",
                           fai_csv_show(cell).text);
        return FA_OK;
    }
    FaPose *p = &clip->head[frame];
    if (!empty)
        *(pose < FA_CSV_QUAT ? &p->q[pose] : &p->p[pose - FA_CSV_QUAT]) = v; // empty: the pose before was copied
    return FA_OK;
}

static FaCode read_rows(Table *t, FaError *err) {
    FaClip *clip = t->clip;
    bool more;
    fai_csv_rewind(&t->csv);
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    for (int f = 0; f < t->nrow; f++) {
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        if (clip->head) clip->head[f] = f ? clip->head[f - 1] : (FaPose){{0, 0, 0, 1}, {0}};
        for (int i = 0; i < t->ncolumn; i++) {
            if (t->column[i] == COL_SKIP) continue;
            if (t->column[i] == COL_TIME)
                FA_TRY(read_time(t, f, &t->csv.cell[i], err));
            else
                FA_TRY(read_value(t, f, t->column[i], &t->csv.cell[i], err));
        }
        if (clip->head) FA_TRY(fai_csv_pose_unit(&clip->head[f], t->csv.cell[0].line, &clip->notes, err));
    }
    return FA_OK;
}

// --- all together -------------------------------------------------------------------------------------------------

static FaCode parse_table(Table *t, FaError *err) {
    FA_TRY(read_header(t, err));
    FA_TRY(count_rows(t, err));
    if (t->nrow == 0)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", t->csv.line), "add a row per frame",
                       "the clip has a header and no frames");
    FA_TRY(fai_clip_room(t->size, t->nrow, t->nchan, t->has[0] || t->has[FA_CSV_QUAT], err));
    FA_TRY(fa_clip_new(t->nrow, t->nchan, t->name, 30, &t->clip, err));
    FaClip *clip = t->clip;
    if ((t->has[0] || t->has[FA_CSV_QUAT]) && !(clip->head = FA_NEW(t->nrow, FaPose))) return FA_FAIL_MEMORY(err);
    FA_TRY(read_rows(t, err));
    FA_TRY(fai_clip_from_zero(clip, err));
    FA_TRY(fai_clip_find_fps(clip, 30, err));
    if (t->comma) fai_note(&clip->notes, "decimal-comma", "", "", "numbers with a decimal comma were read");
    fai_note_count(&clip->notes, t->empty, "empty-cells", t->first_empty.text, "fill them in if it matters",
                   "%d cell%s empty; the value before was held", t->empty, t->empty == 1 ? " is" : "s are");
    fai_clip_note_weights(clip);
    return fai_clip_note_names(clip, err);
}

FaCode fai_clip_csv_parse(const void *data, size_t size, FaClip **clip, FaError *err) {
    *clip = NULL;
    Table t = {.size = size, .arena = fai_arena_new(0)};
    if (!t.arena) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_csv_open(&t.csv, data, size, err);
    if (rc >= 0) rc = parse_table(&t, err);
    if (rc >= 0)
        *clip = t.clip;
    else
        fa_clip_free(t.clip);
    fai_csv_close(&t.csv);
    fai_arena_free(t.arena);
    return rc;
}

FaCode fai_clip_csv_write(const FaClip *clip, FaText *out, FaError *err) {
    fai_text_str(out, "time");
    for (int c = 0; c < clip->nchan; c++) {
        FaCsvCell cell = {.text = clip->name[c], .size = (int)strlen(clip->name[c])};
        if (fai_csv_pose_column(&cell) >= 0 || fai_csv_is(&cell, "time") || fai_csv_blank(&cell))
            return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("channel %d", c), "save it as .json, or rename the channel",
                           "a channel called '%s' cannot be told from the clip's own columns",
                           fai_csv_show(&cell).text);
        fai_text_bytes(out, ",", 1);
        fai_csv_write(out, clip->name[c]);
    }
    if (clip->head) fai_csv_pose_header(out);
    fai_text_bytes(out, "\n", 1);
    for (int f = 0; f < clip->nframe; f++) {
        fai_text_double(out, clip->time[f]);
        if (clip->nchan)
            fai_decimal_row(out, ",", clip->weight + (size_t)f * (size_t)clip->nchan, clip->nchan, ",", "");
        if (clip->head) fai_csv_pose_write(&clip->head[f], out);
        fai_text_bytes(out, "\n", 1);
    }
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

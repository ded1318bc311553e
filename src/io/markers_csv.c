// Marker CSV: one column per coordinate, one row per frame. See markers.h for what is decided.
#include "io/csv_pose.h"
#include "io/decimal.h"
#include "io/markers.h"

#include <math.h>
#include <strings.h>

// What a column holds: 3 * marker + coordinate, or one of these.
enum { COL_TIME = -1, COL_SKIP = -2, COL_FRAME = -3, COL_POSE = -20 }; // -20 .. -14: the pose's numbers

typedef struct Table {
    FaCsv csv;
    size_t size;
    const FaMarkerOptions *options;
    FaArena *arena;
    int ncolumn, nmarker, nrow;
    int *column;         //                                                     (ncolumn)
    const char **name;   // of the markers                                      (ncolumn)
    unsigned char *have; // bit k: the marker's coordinate k has a column       (ncolumn)
    bool has[FA_CSV_POSE];
    bool timed, counted; // there is a column `time`, `frame`
    FaMarkerTake *take;
    double unit;
    int nan_cells;
    bool comma, cut;
    int unknown;
    FaPlace first_unknown;
    uint64_t mesh;
} Table;

// --- the header ---------------------------------------------------------------------------------------------------

// "NAME.x": the coordinate, and the name before it; -1 if it is none.
static int coordinate(const char *name, size_t *base) {
    size_t n = strlen(name);
    if (n < 3 || name[n - 2] != '.') return -1;
    char c = name[n - 1] | 0x20;
    if (c < 'x' || c > 'z') return -1;
    *base = n - 2;
    return c - 'x';
}

// Names by hash: the marker of this name, made if it is new.
typedef struct Names {
    int *slot; // marker + 1, 0: free      (mask + 1)
    uint64_t mask;
} Names;

static int marker_of(Table *t, Names *names, const char *name) {
    uint64_t h = fai_hash64(name, strlen(name), 0) & names->mask;
    while (names->slot[h] && strcmp(t->name[names->slot[h] - 1], name)) h = (h + 1) & names->mask;
    if (!names->slot[h]) {
        t->name[t->nmarker] = name;
        names->slot[h] = ++t->nmarker;
    }
    return names->slot[h] - 1;
}

static FaCode read_name(Table *t, Names *names, int i, FaError *err) {
    const FaCsvCell *cell = &t->csv.cell[i];
    if (memchr(cell->text, 0, (size_t)cell->size))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, NULL).text, "save it as plain text",
                       "a zero byte in a column's name");
    char *name = fai_clip_name(t->arena, cell->text, (size_t)cell->size, !cell->quoted);
    if (!name) return FA_FAIL_MEMORY(err);
    size_t base;
    int k = coordinate(name, &base);
    if (k < 0) {
        t->column[i] = COL_SKIP;
        if (!t->unknown++) t->first_unknown = fai_csv_place(cell, name);
        return FA_OK;
    }
    name[base] = 0;
    int m = marker_of(t, names, name);
    if (t->have[m] & 1 << k) return fai_csv_twice(cell, err);
    t->have[m] |= (unsigned char)(1 << k);
    t->column[i] = 3 * m + k;
    return FA_OK;
}

static FaCode check_header(Table *t, FaError *err) {
    if (!t->nmarker)
        return FA_FAIL(err, FA_E_FORMAT, "line 1", "the header is time,NAME.x,NAME.y,NAME.z,...",
                       "the header names no markers");
    for (int m = 0; m < t->nmarker; m++)
        for (int k = 0; k < 3; k++)
            if (!(t->have[m] & 1 << k))
                return FA_FAIL(err, FA_E_FORMAT, "line 1", "give .x, .y and .z", "the marker '%.80s' has no column .%c",
                               t->name[m], 'x' + k);
    if (!t->timed && !(t->counted && t->options && t->options->fps > 0))
        return FA_FAIL(err, FA_E_FORMAT, "line 1",
                       t->counted ? "give the frame rate (--fps), or a column `time` in seconds"
                                  : "markers have a column `time` in seconds",
                       "the header has no column of times");
    return fai_csv_pose_whole(t->has, err);
}

static FaCode read_header(Table *t, FaError *err) {
    bool more;
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    t->ncolumn = t->csv.ncell;
    Names names = {.mask = 15};
    while (names.mask < 2 * (uint64_t)t->ncolumn) names.mask = 2 * names.mask + 1;
    names.slot = FA_PUSH(t->arena, names.mask + 1, int);
    t->column = FA_PUSH(t->arena, t->ncolumn, int);
    t->name = FA_PUSH(t->arena, t->ncolumn, const char *);
    t->have = FA_PUSH(t->arena, t->ncolumn, unsigned char);
    if (!names.slot || !t->column || !t->name || !t->have) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < t->ncolumn; i++) {
        const FaCsvCell *cell = &t->csv.cell[i];
        int pose = fai_csv_pose_column(cell);
        uint64_t tag = 0;
        bool *seen = pose >= 0                   ? &t->has[pose]
                     : fai_csv_is(cell, "time")  ? &t->timed
                     : fai_csv_is(cell, "frame") ? &t->counted
                                                 : NULL;
        if (seen && *seen) return fai_csv_twice(cell, err);
        if (seen) {
            *seen = true;
            t->column[i] = pose >= 0 ? COL_POSE + pose : seen == &t->timed ? COL_TIME : COL_FRAME;
        } else if (fai_csv_blank(cell) || (tag = fai_rig_tag_read(cell->text, (size_t)cell->size))) {
            t->column[i] = COL_SKIP;
            if (tag) t->mesh = tag;
        } else
            FA_TRY(read_name(t, &names, i, err));
    }
    return check_header(t, err);
}

// --- rows ---------------------------------------------------------------------------------------------------------

static FaCode count_rows(Table *t, FaError *err) {
    for (bool more = true;;) {
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        if (!more) return FA_OK;
        if (t->csv.ncell < t->ncolumn && !t->csv.ended && t->nrow) {
            t->cut = true; // the file ends inside it
            return FA_OK;
        }
        if (t->csv.ncell != t->ncolumn) return fai_csv_ragged(&t->csv, t->ncolumn, err);
        if (++t->nrow == INT32_MAX) return FA_FAIL(err, FA_E_LIMIT, NULL, "split the file", "too many rows");
    }
}

// A number; *empty: there is none. NaN comes out as such, Inf is an error.
static FaCode read_number(Table *t, const FaCsvCell *cell, const char *name, double *value, bool *empty, FaError *err) {
    *empty = false;
    if (!fai_csv_number(&t->csv, cell, value, &t->comma)) {
        *empty = fai_csv_blank(cell);
        if (*empty) return FA_OK;
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "a number must stand there, or nothing",
                       "'%s' is no number", fai_csv_show(cell).text);
    }
    if (isinf(*value))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "leave the cell empty if the marker is lost",
                       "'%s' is no finite number", fai_csv_show(cell).text);
    return FA_OK;
}

static FaCode read_time(Table *t, int frame, const FaCsvCell *cell, double scale, FaError *err) {
    bool empty;
    double *time = t->take->time;
    FA_TRY(read_number(t, cell, "time", &time[frame], &empty, err));
    if (empty || isnan(time[frame]))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "time").text, "every row needs its time", "no time");
    time[frame] *= scale;
    if (!isfinite(time[frame]) || (frame > 0 && !(time[frame] > time[frame - 1])))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "time").text, "sort the rows by time, one row per time",
                       "the time %s is not after the row before", fai_csv_show(cell).text);
    return FA_OK;
}

static FaCode read_coordinate(Table *t, int frame, int code, const FaCsvCell *cell, FaError *err) {
    const char *name = t->name[code / 3];
    double v = NAN;
    bool empty;
    FA_TRY(read_number(t, cell, name, &v, &empty, err));
    if (empty) return FA_OK; // NAN is there already
    if (isnan(v)) {
        t->nan_cells += t->nan_cells < INT32_MAX;
        return FA_OK;
    }
    float *x = t->take->x + 3 * (size_t)frame * (size_t)t->nmarker + (size_t)code;
    *x = (float)(t->unit > 0 ? t->unit * v : v);
    if (!isfinite(*x))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "positions are metres", "'%s' is too large",
                       fai_csv_show(cell).text);
    return FA_OK;
}

static FaCode read_pose(Table *t, int frame, int pose, const FaCsvCell *cell, FaError *err) {
    double v;
    bool empty;
    FA_TRY(read_number(t, cell, fai_csv_pose_name[pose], &v, &empty, err));
    if (empty || isnan(v))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, fai_csv_pose_name[pose]).text,
                       "the head's pose must be whole in every row", "no number");
    FaPose *p = &t->take->head[frame];
    if (pose < FA_CSV_QUAT)
        p->q[pose] = v;
    else
        p->p[pose - FA_CSV_QUAT] = t->unit > 0 ? t->unit * v : v;
    return FA_OK;
}

static FaCode read_rows(Table *t, FaError *err) {
    FaMarkerTake *take = t->take;
    bool more;
    fai_csv_rewind(&t->csv);
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    for (int f = 0; f < t->nrow; f++) {
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        if (take->head) take->head[f] = (FaPose){{0, 0, 0, 1}, {0}};
        for (int i = 0; i < t->ncolumn; i++) {
            const FaCsvCell *cell = &t->csv.cell[i];
            int code = t->column[i];
            if (code >= 0)
                FA_TRY(read_coordinate(t, f, code, cell, err));
            else if (code == COL_TIME)
                FA_TRY(read_time(t, f, cell, 1, err));
            else if (code == COL_FRAME && !t->timed)
                FA_TRY(read_time(t, f, cell, 1 / t->options->fps, err));
            else if (code < COL_FRAME)
                FA_TRY(read_pose(t, f, code - COL_POSE, cell, err));
        }
        if (take->head) FA_TRY(fai_csv_pose_unit(&take->head[f], t->csv.cell[0].line, &take->notes, err));
    }
    return FA_OK;
}

// --- all together -------------------------------------------------------------------------------------------------

static FaCode parse_table(Table *t, FaError *err) {
    FA_TRY(read_header(t, err));
    FA_TRY(count_rows(t, err));
    if (t->nrow == 0)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", t->csv.line), "add a row per frame",
                       "the take has a header and no frames");
    FA_TRY(fai_markers_room(t->size, t->nrow, t->nmarker, err));
    FA_TRY(fa_markers_new(t->nrow, t->nmarker, t->name, 30, &t->take, err));
    FaMarkerTake *take = t->take;
    if ((t->has[0] || t->has[FA_CSV_QUAT]) && !(take->head = FA_NEW(t->nrow, FaPose))) return FA_FAIL_MEMORY(err);
    take->mesh = t->mesh;
    t->unit = fai_markers_unit(t->options, 0);
    FA_TRY(read_rows(t, err));
    FA_TRY(fai_markers_rate(take, 0, t->options, err));
    if (t->comma) fai_note(&take->notes, "decimal-comma", "", "", "numbers with a decimal comma were read");
    if (t->cut)
        fai_note(&take->notes, "last-row-cut", FA_PLACE("line %d", t->csv.line), "check that the file is complete",
                 "the last row is cut; it was left out");
    fai_note_count(&take->notes, t->unknown, "unknown-columns", t->first_unknown.text, "",
                   "%d column%s no marker's coordinate; left out", t->unknown, t->unknown == 1 ? " is" : "s are");
    return fai_markers_finish(take, &(FaMarkerFacts){.metres = true, .nan_cells = t->nan_cells}, t->options, err);
}

FaCode fai_markers_csv_parse(const void *data, size_t size, const FaMarkerOptions *options, FaMarkerTake **take,
                             FaError *err) {
    *take = NULL;
    Table t = {.size = size, .options = options, .arena = fai_arena_new(0)};
    if (!t.arena) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_csv_open(&t.csv, data, size, err);
    if (rc >= 0) rc = parse_table(&t, err);
    if (rc >= 0)
        *take = t.take;
    else
        fa_markers_free(t.take);
    fai_csv_close(&t.csv);
    fai_arena_free(t.arena);
    return rc;
}

FaCode fai_markers_csv_write(const FaMarkerTake *take, FaText *out, FaError *err) {
    fai_text_str(out, "time");
    for (int m = 0; m < take->nmarker; m++) {
        FaText name = {0};
        for (int k = 0; k < 3; k++) {
            name.size = 0;
            fai_text_printf(&name, "%s.%c", take->name[m], 'x' + k);
            fai_text_bytes(out, ",", 1);
            fai_csv_write(out, name.failed ? "" : name.data);
        }
        out->failed |= name.failed;
        fai_text_free(&name);
    }
    if (take->head) fai_csv_pose_header(out);
    char tag[FA_RIG_TAG + 1] = "";
    if (take->mesh) fai_rig_tag(take->mesh, tag);
    fai_text_printf(out, "%s%s\n", take->mesh ? "," : "", tag);
    for (int f = 0; f < take->nframe; f++) {
        fai_text_double(out, take->time[f]);
        for (int m = 0; m < take->nmarker; m++) {
            size_t i = (size_t)f * (size_t)take->nmarker + (size_t)m;
            if (take->ok[i])
                fai_decimal_row(out, ",", take->x + 3 * i, 3, ",", "");
            else
                fai_text_str(out, ",,,");
        }
        if (take->head) fai_csv_pose_write(&take->head[f], out);
        fai_text_str(out, take->mesh ? ",\n" : "\n");
    }
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

// TRC, "track row column": what Motion Analysis' programs and OpenSim exchange. See markers.h for what is decided.
//
//     PathFileType  4  (X/Y/Z)  take.trc
//     DataRate  CameraRate  NumFrames  NumMarkers  Units  OrigDataRate  OrigDataStartFrame  OrigNumFrames
//     120       120         2          2           mm     120           1                   2
//     Frame#  Time  brow            chin                      names stand every third column; some programs close ranks
//                   X1    Y1    Z1  X2    Y2    Z2
//                                                             an empty line, which some programs leave out
//     1       0     1.5   2.5   3.5
//     2       0.008 1.5   2.5   3.5 4.5   5.5   6.5           tabs between all of them
#include "base/number.h"
#include "io/clip_tools.h"
#include "io/markers.h"

#include <math.h>
#include <strings.h>

typedef struct Cell {
    const char *text;
    int size;
} Cell;

typedef struct Trc {
    const char *p, *end;
    size_t size;
    int line;   // of the row in `cell`, from 1
    Cell *cell; // without spaces around                        (ncell)
    int ncell, room;
    bool ended; // the row was closed by a line end
    const FaMarkerOptions *options;
    FaArena *arena;
    FaError *err;

    double rate, declared;   // 0: not stated
    int64_t frames, markers; // announced; -1: not
    const char **name;
    int nmarker, nrow;
    bool has_x_row; // the row X1 Y1 Z1 was there
    FaNotes notes;  // until there is a take
    FaMarkerTake *take;
    int nan_cells;
    bool cut, comma;
} Trc;

// --- rows of cells ------------------------------------------------------------------------------------------------

static bool is_space(char c) { return c == ' ' || c == '\r' || c == '\v' || c == '\f'; }

static FaCode add_cell(Trc *t, const char *a, const char *b) {
    enum { MAX_CELLS = 3 * 65536 };
    if (t->ncell >= MAX_CELLS)
        return FA_FAIL(t->err, FA_E_LIMIT, FA_PLACE("line %d", t->line), NULL, "more than %d cells in a row",
                       MAX_CELLS);
    if (t->ncell == t->room) {
        Cell *grown = fai_grow_array(t->cell, &t->room, t->ncell + 1, sizeof *grown);
        if (!grown) return FA_FAIL_MEMORY(t->err);
        t->cell = grown;
    }
    while (a < b && is_space(*a)) a++;
    while (b > a && is_space(b[-1])) b--;
    if (b - a > INT32_MAX) return FA_FAIL(t->err, FA_E_LIMIT, FA_PLACE("line %d", t->line), NULL, "a cell is too long");
    t->cell[t->ncell++] = (Cell){a, (int)(b - a)};
    return FA_OK;
}

// The next line as cells; *more false: there is none.
static FaCode next_row(Trc *t, bool *more) {
    t->ncell = 0;
    *more = t->p < t->end;
    if (!*more) return FA_OK;
    t->line++;
    const char *from = t->p, *stop = memchr(t->p, '\n', (size_t)(t->end - t->p));
    t->ended = stop != NULL;
    if (!stop) stop = t->end;
    for (const char *tab; (tab = memchr(from, '\t', (size_t)(stop - from))); from = tab + 1)
        FA_TRY(add_cell(t, from, tab));
    FA_TRY(add_cell(t, from, stop));
    t->p = t->ended ? stop + 1 : stop;
    return FA_OK;
}

static bool row_blank(const Trc *t) {
    for (int i = 0; i < t->ncell; i++)
        if (t->cell[i].size) return false;
    return true;
}

static FaPlace show(Cell c) {
    FaPlace shown = {{0}};
    int n = FA_MIN(c.size, 32);
    for (int i = 0; i < n; i++) shown.text[i] = (unsigned char)c.text[i] < 0x20 ? '?' : c.text[i];
    return shown;
}

static FaPlace place(const Trc *t, int cell, const char *name) {
    return name ? fai_place("line %d, cell %d (%.60s)", t->line, cell + 1, name)
                : fai_place("line %d, cell %d", t->line, cell + 1);
}

// A number, perhaps with a decimal comma (cells are apart by tabs); false: none.
static bool number_of(Trc *t, Cell c, double *v) {
    if (fai_parse_double(c.text, c.text + c.size, v) == c.text + c.size) return true;
    char copy[64];
    const char *comma = memchr(c.text, ',', (size_t)c.size);
    if (!comma || c.size >= (int)sizeof copy || memchr(c.text, '.', (size_t)c.size)) return false;
    memcpy(copy, c.text, (size_t)c.size);
    copy[comma - c.text] = '.';
    if (fai_parse_double(copy, copy + c.size, v) != copy + c.size) return false;
    t->comma = true;
    return true;
}

// --- the header ---------------------------------------------------------------------------------------------------

static bool cell_is(Cell c, const char *word) {
    return (size_t)c.size == strlen(word) && !strncasecmp(c.text, word, (size_t)c.size);
}

static FaCode read_value(Trc *t, Cell key, int i) {
    Cell v = t->cell[i];
    double number = NAN;
    bool is_number = number_of(t, v, &number);
    if (cell_is(key, "Units")) {
        t->declared = fai_unit_named(v.text, (size_t)v.size);
        if (!(t->declared > 0))
            fai_note(&t->notes, "unit-unknown", place(t, i, "Units").text, "give the unit",
                     "the file's unit '%s' is not known; it was found by size", show(v).text);
    } else if (cell_is(key, "DataRate")) {
        bool asked = t->options && t->options->fps > 0;
        if ((!is_number || !(number > 0) || !isfinite(number) || !isfinite(1 / number)) && !asked)
            return FA_FAIL(t->err, FA_E_FORMAT, place(t, i, "DataRate").text, "give the frame rate (--fps)",
                           "'%s' is no frame rate", show(v).text);
        t->rate = is_number && number > 0 && isfinite(number) && isfinite(1 / number) ? number : 0;
    } else if (cell_is(key, "NumFrames") || cell_is(key, "NumMarkers")) {
        // rows and names are counted; a wrong number here is noted
        int64_t count = is_number && number >= 0 && number < 0x1p53 ? (int64_t)number : -1;
        *(cell_is(key, "NumFrames") ? &t->frames : &t->markers) = count;
    }
    return FA_OK;
}

// Lines 2 and 3: what is said, and its values below. Line 1 may be missing.
static FaCode read_values(Trc *t) {
    bool more;
    Cell *keys;
    int nkey;
    do {
        FA_TRY(next_row(t, &more));
        if (!more || t->line > 4)
            return FA_FAIL(t->err, FA_E_FORMAT, FA_PLACE("line %d", t->line), "check that it is a TRC file",
                           "no line that starts with DataRate");
    } while (!cell_is(t->cell[0], "DataRate"));
    nkey = t->ncell;
    keys = FA_PUSH(t->arena, nkey, Cell);
    if (!keys) return FA_FAIL_MEMORY(t->err);
    memcpy(keys, t->cell, (size_t)nkey * sizeof *keys);
    FA_TRY(next_row(t, &more));
    if (!more)
        return FA_FAIL(t->err, FA_E_FORMAT, FA_PLACE("line %d", t->line), "check that the file is complete",
                       "the values below DataRate are missing");
    for (int i = 0; i < FA_MIN(nkey, t->ncell); i++) FA_TRY(read_value(t, keys[i], i));
    return FA_OK;
}

static FaCode take_name(Trc *t, int marker, int i) {
    Cell c = t->cell[i];
    if (memchr(c.text, 0, (size_t)c.size))
        return FA_FAIL(t->err, FA_E_FORMAT, place(t, i, NULL).text, "save it as plain text", "a zero byte in a name");
    t->name[marker] = fai_clip_name(t->arena, c.text, (size_t)c.size, true);
    return t->name[marker] ? FA_OK : FA_FAIL_MEMORY(t->err);
}

// Line 4: Frame#, Time, then names, every third column or side by side. What is not named may yet have columns.
static FaCode read_names(Trc *t) {
    bool more;
    do FA_TRY(next_row(t, &more));
    while (more && row_blank(t));
    if (!more || t->ncell < 3)
        return FA_FAIL(t->err, FA_E_FORMAT, FA_PLACE("line %d", t->line),
                       "the fourth line is Frame#, Time and the markers' names, with tabs between",
                       "the line of names is missing");
    int named = 0, last = 1;
    bool close = false;
    for (int i = 2; i < t->ncell; i++) {
        if (!t->cell[i].size) continue;
        named++;
        last = i;
        close |= (i - 2) % 3 != 0;
    }
    t->nmarker = close ? named : (last + 1) / 3;
    t->name = FA_PUSH(t->arena, t->ncell, const char *);
    if (!t->name) return FA_FAIL_MEMORY(t->err);
    if (close)
        for (int i = 2, m = 0; i < t->ncell; i++) {
            if (t->cell[i].size) FA_TRY(take_name(t, m++, i));
        }
    else
        for (int m = 0; m < t->nmarker; m++) FA_TRY(take_name(t, m, 2 + 3 * m));
    if (!t->nmarker)
        return FA_FAIL(t->err, FA_E_FORMAT, FA_PLACE("line %d", t->line), "name the markers", "there are no markers");
    return FA_OK;
}

// --- rows ---------------------------------------------------------------------------------------------------------

// Go over the line X1 Y1 Z1, which some programs leave out, and empty lines. The first row of numbers stays unread.
static FaCode skip_to_rows(Trc *t) {
    for (;;) {
        const char *start = t->p;
        int line = t->line;
        bool more;
        FA_TRY(next_row(t, &more));
        if (!more) return FA_OK;
        Cell c = t->cell[0];
        if (c.size && (c.text[0] == '-' || c.text[0] == '+' || (c.text[0] >= '0' && c.text[0] <= '9'))) {
            t->p = start;
            t->line = line;
            return FA_OK;
        }
        if (row_blank(t)) continue;
        if (t->has_x_row)
            return FA_FAIL(t->err, FA_E_FORMAT, place(t, 0, NULL).text, "a row starts with the frame's number",
                           "'%s' is no frame number", show(c).text);
        t->has_x_row = true;
    }
}

static FaCode count_rows(Trc *t) {
    for (bool more = true;;) {
        FA_TRY(next_row(t, &more));
        if (!more) return FA_OK;
        if (row_blank(t)) continue;
        // a last line without end whose numbers may be cut anywhere
        t->cut = !t->ended && t->ncell < 2 + 3 * t->nmarker && t->nrow > 0;
        if (t->cut) return FA_OK;
        if (++t->nrow == INT32_MAX) return FA_FAIL(t->err, FA_E_LIMIT, NULL, "split the file", "too many rows");
    }
}

static FaCode read_time(Trc *t, int frame) {
    double v;
    double *time = t->take->time;
    if (t->ncell < 2 || !number_of(t, t->cell[1], &v) || !isfinite(v))
        return FA_FAIL(t->err, FA_E_FORMAT, place(t, 1, "Time").text, "every row needs its time in seconds",
                       "'%s' is no time", t->ncell < 2 ? "" : show(t->cell[1]).text);
    time[frame] = v;
    if (frame > 0 && !(v > time[frame - 1]))
        return FA_FAIL(t->err, FA_E_FORMAT, place(t, 1, "Time").text, "sort the rows by time, one row per time",
                       "the time %s is not after the row before", show(t->cell[1]).text);
    return FA_OK;
}

static FaCode read_row(Trc *t, int frame, double unit) {
    FA_TRY(read_time(t, frame));
    for (int i = 2; i < t->ncell; i++) {
        Cell c = t->cell[i];
        if (!c.size) continue;
        int m = (i - 2) / 3;
        if (m >= t->nmarker)
            return FA_FAIL(t->err, FA_E_FORMAT, place(t, i, NULL).text, "name every marker in the fourth line",
                           "the row has numbers for more than %d markers", t->nmarker);
        double v;
        if (!number_of(t, c, &v) || isinf(v))
            return FA_FAIL(t->err, FA_E_FORMAT, place(t, i, t->name[m]).text, "a number must stand there, or nothing",
                           "'%s' is no finite number", show(c).text);
        if (isnan(v)) {
            t->nan_cells += t->nan_cells < INT32_MAX;
            continue;
        }
        float *x = &t->take->x[3 * (size_t)frame * (size_t)t->nmarker + (size_t)(i - 2)];
        *x = (float)(unit > 0 ? unit * v : v);
        if (!isfinite(*x))
            return FA_FAIL(t->err, FA_E_FORMAT, place(t, i, t->name[m]).text, "check the export", "'%s' is too large",
                           show(c).text);
    }
    return FA_OK;
}

static void note_counts(Trc *t) {
    FaNotes *n = &t->take->notes;
    if (t->frames >= 0 && t->frames > t->nrow)
        fai_note(n, "frames-missing", "", "check that the file is complete", "%lld frames are announced, %d are there",
                 (long long)t->frames, t->nrow);
    if (t->frames >= 0 && t->frames < t->nrow)
        fai_note(n, "frames-extra", "", "correct NumFrames", "%lld frames are announced, %d are there and were read",
                 (long long)t->frames, t->nrow);
    if (t->markers >= 0 && t->markers != t->nmarker)
        fai_note(n, "marker-count", "", "correct NumMarkers", "%lld markers are announced, %d are named",
                 (long long)t->markers, t->nmarker);
    if (t->comma) fai_note(n, "decimal-comma", "", "", "numbers with a decimal comma were read");
    if (t->cut)
        fai_note(n, "last-row-cut", FA_PLACE("line %d", t->line), "check that the file is complete",
                 "the last row is cut; it was left out");
}

// The tag among the fields of the first line, 0: none.
static uint64_t first_line_tag(const char *p, const char *end) {
    for (const char *field = p; p < end && *p != '\n' && *p != '\r'; p++)
        if (*p == '\t')
            field = p + 1;
        else if (p + 1 - field == FA_RIG_TAG && fai_rig_tag_read(field, FA_RIG_TAG))
            return fai_rig_tag_read(field, FA_RIG_TAG);
    return 0;
}

static FaCode parse(Trc *t) {
    uint64_t mesh = first_line_tag(t->p, t->end);
    FA_TRY(read_values(t));
    FA_TRY(read_names(t));
    FA_TRY(fai_markers_names(t->arena, t->name, t->nmarker, &t->notes, t->err));
    FA_TRY(skip_to_rows(t));
    const char *rows = t->p;
    int line = t->line;
    FA_TRY(count_rows(t));
    if (!t->nrow)
        return FA_FAIL(t->err, FA_E_FORMAT, FA_PLACE("line %d", t->line), "add a row per frame", "there are no frames");
    FA_TRY(fai_markers_room(t->size, t->nrow, t->nmarker, t->err));
    FA_TRY(fa_markers_new(t->nrow, t->nmarker, t->name, 30, &t->take, t->err));
    fai_notes_copy(&t->take->notes, &t->notes);
    t->take->mesh = mesh;
    t->p = rows;
    t->line = line;
    double unit = fai_markers_unit(t->options, t->declared);
    for (int f = 0; f < t->nrow;) {
        bool more;
        FA_TRY(next_row(t, &more));
        FA_ASSERT(more);
        if (!row_blank(t)) FA_TRY(read_row(t, f++, unit));
    }
    FA_TRY(fai_markers_rate(t->take, t->rate, t->options, t->err));
    note_counts(t);
    FaMarkerFacts facts = {.declared = t->declared, .zero_missing = true, .nan_cells = t->nan_cells};
    return fai_markers_finish(t->take, &facts, t->options, t->err);
}

bool fai_markers_trc_sniff(const void *data, size_t size) {
    const char *s = data;
    if (size >= 3 && !memcmp(s, "\xEF\xBB\xBF", 3)) s += 3, size -= 3;
    return (size >= 12 && !strncasecmp(s, "PathFileType", 12)) || (size >= 9 && !strncasecmp(s, "DataRate\t", 9));
}

FaCode fai_markers_trc_parse(const void *data, size_t size, const FaMarkerOptions *options, FaMarkerTake **take,
                             FaError *err) {
    *take = NULL;
    const char *text = size ? data : "";
    Trc t = {.p = text, .end = text + size, .size = size, .options = options, .err = err, .frames = -1, .markers = -1};
    if (size >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) t.p += 3;
    t.arena = fai_arena_new(0);
    FaCode rc = t.arena ? parse(&t) : FA_FAIL_MEMORY(err);
    if (rc >= 0)
        *take = t.take;
    else
        fa_markers_free(t.take);
    fai_notes_free(&t.notes);
    fa_free(t.cell);
    fai_arena_free(t.arena);
    return rc;
}

// --- writing ------------------------------------------------------------------------------------------------------

FaCode fai_markers_trc_write(const FaMarkerTake *take, FaText *out, FaError *err) {
    for (int m = 0; m < take->nmarker; m++)
        if (strpbrk(take->name[m], "\t\r\n\v\f") || take->name[m][0] == ' ' ||
            take->name[m][strlen(take->name[m]) - 1] == ' ')
            return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("marker %d", m), "save it as .csv, or rename the marker",
                           "a name with tabs, line ends or spaces around it cannot stand in a TRC file");
    char rate[FA_NUMBER_SIZE];
    fai_format_double(rate, take->fps);
    char tag[FA_RIG_TAG + 1] = "";
    if (take->mesh) fai_rig_tag(take->mesh, tag);
    fai_text_printf(out, "PathFileType\t4\t(X/Y/Z)\tmarkers.trc%s%s\n", take->mesh ? "\t" : "", tag);
    fai_text_str(
        out, "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n");
    fai_text_printf(out, "%s\t%s\t%d\t%d\tmm\t%s\t1\t%d\nFrame#\tTime", rate, rate, take->nframe, take->nmarker, rate,
                    take->nframe);
    for (int m = 0; m < take->nmarker; m++)
        fai_text_printf(out, "\t%s%s", take->name[m], m + 1 < take->nmarker ? "\t\t" : "");
    fai_text_str(out, "\n\t");
    for (int m = 1; m <= take->nmarker; m++) fai_text_printf(out, "\tX%d\tY%d\tZ%d", m, m, m);
    fai_text_str(out, "\n\n");
    for (int f = 0; f < take->nframe; f++) {
        fai_text_printf(out, "%d\t", f + 1);
        fai_text_double(out, take->time[f]);
        for (int m = 0; m < take->nmarker; m++) {
            size_t i = (size_t)f * (size_t)take->nmarker + (size_t)m;
            for (int k = 0; k < 3; k++) {
                fai_text_bytes(out, "\t", 1);
                if (take->ok[i]) fai_text_double(out, 1000 * (double)take->x[3 * i + (size_t)k]);
            }
        }
        fai_text_bytes(out, "\n", 1);
    }
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

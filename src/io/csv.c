#include "io/csv.h"

#include "base/number.h"

#include <strings.h>

// Columns count characters, not bytes: what an editor shows.
static int column_of(const char *line_start, const char *at) {
    int column = 1;
    for (const char *c = line_start; c < at; c++) column += ((unsigned char)*c & 0xC0) != 0x80;
    return column;
}

// --- opening: marks, encodings, the separator ---------------------------------------------------------------------

// "sep=;" alone on the first line: the separator, and where the rows start; NULL if it is not there.
static const char *skip_sep_line(const char *s, const char *end, char *separator) {
    if (end - s < 5 || strncasecmp(s, "sep=", 4)) return NULL;
    if (s[4] != ',' && s[4] != ';' && s[4] != '\t') return NULL;
    const char *after = s + 5;
    if (after < end && *after != '\r' && *after != '\n') return NULL;
    *separator = s[4];
    if (after < end && *after == '\r') after++;
    if (after < end && *after == '\n') after++;
    return after;
}

// The separator that the header row has most of, outside quotes; a comma when in doubt.
static char sniff_separator(const char *s, const char *end) {
    static const char candidate[] = {',', ';', '\t'};
    int count[3] = {0};
    bool quoted = false, seen = false;
    for (; s < end; s++) {
        if (*s == '"') quoted = !quoted;
        if (quoted) continue;
        if (*s == '\n' || *s == '\r') {
            if (seen) break;
            continue; // empty lines before the header
        }
        seen = true;
        for (int i = 0; i < 3; i++) count[i] += *s == candidate[i];
    }
    int best = 0;
    for (int i = 1; i < 3; i++)
        if (count[i] > count[best]) best = i;
    return candidate[best];
}

FaCode fai_csv_open(FaCsv *csv, const void *data, size_t size, FaError *err) {
    const char *text = size ? data : ""; // data may be NULL then
    *csv = (FaCsv){.data = text, .end = text + size};
    const unsigned char *b = data;
    if (size >= 2 && ((b[0] == 0xFF && b[1] == 0xFE) || (b[0] == 0xFE && b[1] == 0xFF)))
        return FA_FAIL(err, FA_E_FORMAT, "line 1", "save it as UTF-8", "the text is UTF-16");
    if (size > PTRDIFF_MAX / 2) return FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "the text is too long");
    csv->bom = size >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF;
    fai_csv_rewind(csv);
    return FA_OK;
}

void fai_csv_rewind(FaCsv *csv) {
    csv->at = csv->data + (csv->bom ? 3 : 0);
    csv->line = 1;
    const char *rows = skip_sep_line(csv->at, csv->end, &csv->separator);
    if (rows) {
        csv->at = rows;
        csv->line = 2;
    } else
        csv->separator = sniff_separator(csv->at, csv->end);
    csv->line_start = csv->at;
    csv->ncell = 0;
    csv->ended = false;
}

void fai_csv_close(FaCsv *csv) {
    fa_free(csv->cell);
    fa_free(csv->plain);
    *csv = (FaCsv){0};
}

// --- rows ---------------------------------------------------------------------------------------------------------

static void next_line(FaCsv *csv, const char *start) {
    csv->line++;
    csv->line_start = start;
}

// Step over one line end at csv->at.
static void skip_line_end(FaCsv *csv) {
    if (*csv->at == '\r' && csv->at + 1 < csv->end && csv->at[1] == '\n') csv->at++;
    csv->at++;
    next_line(csv, csv->at);
}

// A quoted cell, from its opening quote to the byte after its closing one. Doubled quotes make it need a copy; the
// copy is addressed by offset until the row is complete, since its room may move.
static FaCode read_quoted(FaCsv *csv, FaCsvCell *cell, ptrdiff_t *plain_at, FaError *err) {
    const char *start = csv->at + 1, *s = start, *from = start;
    *plain_at = -1;
    for (;; s++) {
        if (s >= csv->end)
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, NULL).text,
                           "close the quotes, or check that the file is complete", "a quoted cell is never closed");
        if (*s == '\n' || (*s == '\r' && (s + 1 >= csv->end || s[1] != '\n'))) next_line(csv, s + 1);
        if (*s != '"') continue;
        bool doubled = s + 1 < csv->end && s[1] == '"';
        if (!doubled && *plain_at < 0) break;
        // copy up to here, with one quote of two
        size_t n = (size_t)(s - from) + doubled;
        if (*plain_at < 0) *plain_at = (ptrdiff_t)csv->plain_size;
        if (csv->plain_size + n > csv->plain_room) {
            size_t room = FA_MAX(2 * csv->plain_room, csv->plain_size + n + 64);
            char *grown = fai_resize(csv->plain, room);
            if (!grown) return FA_FAIL_MEMORY(err);
            csv->plain = grown;
            csv->plain_room = room;
        }
        if (n) memcpy(csv->plain + csv->plain_size, from, n);
        csv->plain_size += n;
        if (!doubled) break;
        s++;
        from = s + 1;
    }
    size_t size = *plain_at < 0 ? (size_t)(s - start) : csv->plain_size - (size_t)*plain_at;
    if (size > INT32_MAX || csv->plain_size > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, FA_PLACE("line %d", cell->line), NULL, "a row is too long");
    cell->text = start;
    cell->size = (int)size;
    csv->at = s + 1;
    if (csv->at < csv->end && *csv->at != csv->separator && *csv->at != '\n' && *csv->at != '\r')
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d, column %d", csv->line, column_of(csv->line_start, csv->at)),
                       "double the quotes inside a quoted cell", "text after the closing quote of a cell");
    return FA_OK;
}

static FaCode read_cell(FaCsv *csv, ptrdiff_t *plain_at, FaError *err) {
    if (csv->ncell >= FA_CSV_COLUMNS)
        return FA_FAIL(err, FA_E_LIMIT, FA_PLACE("line %d", csv->line), NULL, "more than %d cells in a row",
                       FA_CSV_COLUMNS);
    if (csv->ncell == csv->room) {
        FaCsvCell *grown = fai_grow_array(csv->cell, &csv->room, csv->ncell + 1, sizeof *grown);
        if (!grown) return FA_FAIL_MEMORY(err);
        csv->cell = grown;
    }
    FaCsvCell *cell = &csv->cell[csv->ncell];
    *cell = (FaCsvCell){.text = csv->at, .line = csv->line, .at = csv->at, .line_start = csv->line_start};
    *plain_at = -1;
    if (csv->at < csv->end && *csv->at == '"') {
        cell->quoted = true;
        FA_TRY(read_quoted(csv, cell, plain_at, err));
    } else {
        const char *s = csv->at;
        while (s < csv->end && *s != csv->separator && *s != '\n' && *s != '\r') s++;
        if (s - csv->at > INT32_MAX)
            return FA_FAIL(err, FA_E_LIMIT, FA_PLACE("line %d", csv->line), NULL, "a cell is too long");
        cell->size = (int)(s - csv->at);
        csv->at = s;
    }
    csv->ncell++;
    return FA_OK;
}

FaCode fai_csv_row(FaCsv *csv, bool *more, FaError *err) {
    csv->ncell = 0;
    csv->plain_size = 0;
    csv->ended = false;
    while (csv->at < csv->end && (*csv->at == '\n' || *csv->at == '\r')) skip_line_end(csv);
    *more = csv->at < csv->end;
    if (!*more) return FA_OK;
    ptrdiff_t plain_at = -1;
    for (;;) {
        FA_TRY(read_cell(csv, &plain_at, err));
        FaCsvCell *cell = &csv->cell[csv->ncell - 1];
        if (plain_at >= 0) cell->text = NULL, cell->size = -1 - (int)plain_at; // resolved below
        if (csv->at >= csv->end) break;
        if (*csv->at != csv->separator) {
            skip_line_end(csv);
            csv->ended = true;
            break;
        }
        csv->at++;
    }
    // cells that were copied: each runs to the start of the next copied one
    size_t plain_end = csv->plain_size;
    for (int i = csv->ncell - 1; i >= 0; i--) {
        FaCsvCell *cell = &csv->cell[i];
        if (cell->text) continue;
        size_t start = (size_t)(-1 - cell->size);
        cell->text = csv->plain + start;
        cell->size = (int)(plain_end - start);
        plain_end = start;
    }
    return FA_OK;
}

// --- cells --------------------------------------------------------------------------------------------------------

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static void trim(const FaCsvCell *cell, const char **from, const char **to) {
    const char *a = cell->text, *b = a + cell->size;
    while (a < b && is_space(*a)) a++;
    while (b > a && is_space(b[-1])) b--;
    *from = a;
    *to = b;
}

bool fai_csv_is(const FaCsvCell *cell, const char *text) {
    const char *a, *b;
    trim(cell, &a, &b);
    size_t n = strlen(text);
    return (size_t)(b - a) == n && !strncasecmp(a, text, n);
}

bool fai_csv_blank(const FaCsvCell *cell) {
    const char *a, *b;
    trim(cell, &a, &b);
    return a == b;
}

FaPlace fai_csv_place(const FaCsvCell *cell, const char *name) {
    int column = column_of(cell->line_start, cell->at);
    if (!name || !name[0]) return fai_place("line %d, column %d", cell->line, column);
    return fai_place("line %d, column %d (%.60s)", cell->line, column, name);
}

bool fai_csv_number(const FaCsv *csv, const FaCsvCell *cell, double *value, bool *comma) {
    const char *a, *b;
    trim(cell, &a, &b);
    if (a == b) return false;
    const char *after = fai_parse_double(a, b, value);
    if (after == b) return true;
    if (csv->separator == ',' && !cell->quoted) return false;
    // one comma and no point: a decimal comma
    char copy[64];
    size_t n = (size_t)(b - a);
    const char *c = memchr(a, ',', n);
    if (!c || n >= sizeof copy || memchr(a, '.', n) || memchr(c + 1, ',', (size_t)(b - c - 1))) return false;
    memcpy(copy, a, n);
    copy[c - a] = '.';
    if (fai_parse_double(copy, copy + n, value) != copy + n) return false;
    if (comma) *comma = true;
    return true;
}

FaPlace fai_csv_show(const FaCsvCell *cell) {
    FaPlace shown = {{0}};
    int n = FA_MIN(cell->size, 32);
    while (n > 0 && n < cell->size && ((unsigned char)cell->text[n] & 0xC0) == 0x80) n--; // whole characters
    for (int i = 0; i < n; i++) {
        char c = cell->text[i];
        shown.text[i] = (unsigned char)c < 0x20 || c == 0x7F ? '?' : c;
    }
    if (n < cell->size) memcpy(shown.text + n, "...", 3);
    return shown;
}

FaCode fai_csv_ragged(const FaCsv *csv, int ncolumn, FaError *err) {
    int line = csv->ncell ? csv->cell[0].line : csv->line;
    const char *remedy = "check that the file is complete, or remove the line";
    if (csv->separator == ',' && csv->ncell > ncolumn)
        remedy = "remove the extra cells; numbers with decimal commas need semicolons between cells";
    return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", line), remedy, "the row has %d cell%s, the header has %d",
                   csv->ncell, csv->ncell == 1 ? "" : "s", ncolumn);
}

FaCode fai_csv_twice(const FaCsvCell *cell, FaError *err) {
    return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, NULL).text, "keep one of them", "two columns are called %s",
                   fai_csv_show(cell).text);
}

void fai_csv_write(FaText *out, const char *text) {
    size_t n = strlen(text);
    bool plain = n > 0 && !is_space(text[0]) && !is_space(text[n - 1]) && !strpbrk(text, "\",;\t\r\n");
    if (plain) {
        fai_text_bytes(out, text, n);
        return;
    }
    fai_text_bytes(out, "\"", 1);
    for (const char *s = text; *s; s++) {
        if (*s == '"') fai_text_bytes(out, "\"", 1);
        fai_text_bytes(out, s, 1);
    }
    fai_text_bytes(out, "\"", 1);
}

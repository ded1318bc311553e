// Comma-separated values as RFC 4180 has them, one row at a time, so that memory does not depend on the file's size.
//
// What is read beyond the RFC, because real files have it: a UTF-8 byte order mark; LF, CRLF and CR line ends;
// semicolons or tabs instead of commas (seen from the header row, or from a first line "sep=;" as Excel writes it);
// empty lines, which are skipped; a quote inside a cell that does not start with one, which is kept as it is. What is
// refused: a quoted cell that is never closed, text between a closing quote and the separator, UTF-16, more than
// FA_CSV_COLUMNS cells in a row. A row of another length than the header is the caller's to judge (fai_csv_ragged).
//
// Order: fai_csv_open, fai_csv_row until *more is false, fai_csv_close.
#ifndef FAI_CSV_H
#define FAI_CSV_H

#include "base/text.h"

enum { FA_CSV_COLUMNS = 65536 };

// Valid until the next row is read. Not terminated.
typedef struct FaCsvCell {
    const char *text;
    int size;
    int line; // from 1
    bool quoted;
    const char *at;         // in the file: its first byte, or its opening quote
    const char *line_start; // and the start of that line
} FaCsvCell;

typedef struct FaCsv {
    const char *data, *at, *end;
    const char *line_start;
    FaCsvCell *cell; // the row                                     (ncell)
    int ncell, room;
    char separator; // ',' ';' or '\t'
    bool ended;     // the row just read was closed by a line end, not by the end of the file
    bool bom;
    int line;    // of the next byte
    char *plain; // quoted cells of the row without their doubled quotes
    size_t plain_size, plain_room;
} FaCsv;

FaCode fai_csv_open(FaCsv *csv, const void *data, size_t size, FaError *err); // data must outlive it
FaCode fai_csv_row(FaCsv *csv, bool *more, FaError *err);                     // *more false: no row left
void fai_csv_rewind(FaCsv *csv);                                              // back to the first row
void fai_csv_close(FaCsv *csv);

bool fai_csv_is(const FaCsvCell *cell, const char *text);       // equal but for ASCII case and spaces around
bool fai_csv_blank(const FaCsvCell *cell);                      // empty but for spaces
FaPlace fai_csv_place(const FaCsvCell *cell, const char *name); // "line 12, column 3 (jawOpen)"; name nullable

// The cell's number; NaN and Inf come out as such. A decimal comma is understood where it cannot be a separator: in a
// quoted cell, or between semicolons or tabs; then *comma (nullable) is set. False: not a number.
bool fai_csv_number(const FaCsv *csv, const FaCsvCell *cell, double *value, bool *comma);

// The cell as it may be shown in a message: short, without control characters.
FaPlace fai_csv_show(const FaCsvCell *cell);

// The failure of a row that has another number of cells than the header.
FaCode fai_csv_ragged(const FaCsv *csv, int ncolumn, FaError *err);

// The failure of a column whose name is there already.
FaCode fai_csv_twice(const FaCsvCell *cell, FaError *err);

// Append a cell, quoted where it has to be.
void fai_csv_write(FaText *out, const char *text);

#endif

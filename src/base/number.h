// Numbers to text and back, the same in every locale.
#ifndef FAI_NUMBER_H
#define FAI_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Parse a decimal number at s (before end), correctly rounded. Accepts [+-]digits[.digits][e[+-]digits] and, as
// files hold them, nan, inf, infinity in any case (check with isfinite). Returns the byte after it, or NULL.
const char *fai_parse_double(const char *s, const char *end, double *value);
const char *fai_parse_int(const char *s, const char *end, int64_t *value); // NULL also on overflow

enum { FA_NUMBER_SIZE = 32 };
// Shortest text that reads back to the same value; "null" never, NaN and Inf as nan, inf. Returns its length.
int fai_format_double(char text[FA_NUMBER_SIZE], double value);
int fai_format_float(char text[FA_NUMBER_SIZE], float value);

#endif

#include "io/decimal.h"

#include <math.h>

// Room for a row: longer ones are added piece by piece.
enum { ROW = 512 };

// Powers of ten that doubles hold exactly.
static const double pow10_exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
// And down to where scaling to 9 digits still needs no other: 10^-13 .. 10^8.
static const double pow10_near[] = {1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                    1e-2,  1e-1,  1e0,   1e1,   1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8};

static int put_digits(char *text, uint64_t m) {
    char reversed[24];
    int n = 0;
    do reversed[n++] = (char)('0' + m % 10);
    while (m /= 10);
    for (int i = 0; i < n; i++) text[i] = reversed[n - 1 - i];
    return n;
}

// m x 10^-k without trailing zeros: plain down to 0.0001, with an exponent below.
static int put_decimal(char *text, uint64_t m, int k) {
    while (k > 0 && m % 10 == 0) m /= 10, k--;
    for (; k < 0; k++) m *= 10;
    char digits[24];
    int n = put_digits(digits, m), at = 0;
    if (n - k < -3) { // d.ddde-x
        text[at++] = digits[0];
        if (n > 1) text[at++] = '.';
        memcpy(text + at, digits + 1, (size_t)(n - 1));
        at += n - 1;
        text[at++] = 'e';
        text[at++] = '-';
        return at + put_digits(text + at, (uint64_t)(k - n + 1));
    }
    if (n <= k) { // 0.00ddd
        memcpy(text, "0.", 2);
        at = 2;
        for (int i = n; i < k; i++) text[at++] = '0';
        memcpy(text + at, digits, (size_t)n);
        return at + n;
    }
    memcpy(text, digits, (size_t)(n - k));
    if (k == 0) return n;
    text[n - k] = '.';
    memcpy(text + n - k + 1, digits + n - k, (size_t)k);
    return n + 1;
}

// Rounds v to 6, 7, 8 and 9 digits and takes the first that lies clearly inside v's rounding interval. Both the scaling
// and the check are one correctly rounded double operation on exact operands, so their error is under 2^-52 of v while
// the interval is 2^-25 wide: a margin of 2^-50 makes the answer certain. Fewer than 6 digits show as trailing zeros.
int fai_decimal_float(char text[FA_NUMBER_SIZE], float v) {
    float a = fabsf(v);
    if (!(a >= 1e-12f && a < 1e9f)) return fai_format_float(text, v);
    uint32_t bits;
    memcpy(&bits, &a, 4);
    float below, above;
    memcpy(&below, &(uint32_t){bits - 1}, 4);
    memcpy(&above, &(uint32_t){bits + 1}, 4);
    double x = (double)a, margin = x * 0x1p-50;
    double low = 0.5 * (x + (double)below) + margin, high = 0.5 * (x + (double)above) - margin;

    int e = x >= 1 ? 0 : -13; // 10^e <= x < 10^(e + 1)
    if (x < 1 && x >= 1e-4) e = -4;
    while (e < 8 && x >= pow10_near[e + 14]) e++;
    int sign = v < 0;
    text[0] = '-';
    for (int digits = 6; digits <= 9; digits++) {
        int k = digits - 1 - e;
        double m = rint(k >= 0 ? x * pow10_exact[k] : x / pow10_exact[-k]);
        double back = k >= 0 ? m / pow10_exact[k] : m * pow10_exact[-k];
        if (back > low && back < high) return sign + put_decimal(text + sign, (uint64_t)m, k);
    }
    return fai_format_float(text, v);
}

void fai_decimal_row(FaText *t, const char *before, const float *v, int n, const char *between, const char *after) {
    char row[ROW];
    size_t used = 0, gap = strlen(between);
    fai_text_str(t, before);
    for (int i = 0; i < n; i++) {
        if (used + gap + FA_NUMBER_SIZE > sizeof row) {
            fai_text_bytes(t, row, used);
            used = 0;
        }
        if (i) memcpy(row + used, between, gap), used += gap;
        used += (size_t)fai_decimal_float(row + used, v[i]);
    }
    fai_text_bytes(t, row, used);
    fai_text_str(t, after);
}

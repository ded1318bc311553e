#include "base/number.h"

#include "base/base.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

// The C locale, whatever the host program set; made once, shared by all threads.
static locale_t c_locale(void) {
    static locale_t shared;
    locale_t l = __atomic_load_n(&shared, __ATOMIC_ACQUIRE);
    if (l) return l;
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0), none = (locale_t)0;
    if (!made) return (locale_t)0;
    if (__atomic_compare_exchange_n(&shared, &none, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
    freelocale(made);
    return none;
}

// The slow, exact path: strtod on a bounded copy.
static double parse_slow(const char *s, const char *end) {
    char stack[128], *copy = stack;
    size_t n = (size_t)(end - s);
    if (n >= sizeof stack) {
        copy = fai_strndup(s, n);
        if (!copy) { // digits past the 120th cannot matter to more than the last place
            n = sizeof stack - 1;
            copy = stack;
            memcpy(copy, s, n);
        }
    } else
        memcpy(copy, s, n);
    copy[n] = 0;
    locale_t l = c_locale();
    double v = l ? strtod_l(copy, NULL, l) : strtod(copy, NULL);
    if (copy != stack) fa_free(copy);
    return v;
}

static const char *parse_special(const char *s, const char *end, bool negative, double *value) {
    static const struct {
        const char *word;
        int n;
        double v;
    } special[] = {{"infinity", 8, INFINITY}, {"inf", 3, INFINITY}, {"nan", 3, NAN}};
    for (int i = 0; i < FA_COUNT(special); i++) {
        if (end - s < special[i].n || strncasecmp(s, special[i].word, (size_t)special[i].n)) continue;
        *value = negative ? -special[i].v : special[i].v;
        return s + special[i].n;
    }
    return NULL;
}

const char *fai_parse_double(const char *s, const char *end, double *value) {
    static const double pow10[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *start = s;
    bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;

    // digits with at most one point; m holds the first 19 significant ones
    uint64_t m = 0;
    int digits = 0, kept = 0, scale = 0;
    bool exact = true;
    for (bool point = false; s < end; s++) {
        if (*s == '.' && !point) {
            point = true;
            continue;
        }
        if (*s < '0' || *s > '9') break;
        digits++;
        if (kept < 19) {
            m = m * 10 + (uint64_t)(*s - '0');
            if (m) kept++;
            if (point) scale--;
        } else {
            exact = false;
        }
    }
    if (!digits) return parse_special(s, end, negative, value);

    // exponent, only if at least one digit follows
    if (s < end && (*s == 'e' || *s == 'E')) {
        const char *e = s + 1;
        bool eneg = e < end && *e == '-';
        if (e < end && (*e == '-' || *e == '+')) e++;
        int x = 0;
        const char *first = e;
        for (; e < end && *e >= '0' && *e <= '9'; e++)
            if (x < 100000) x = x * 10 + (*e - '0');
        if (e > first) {
            scale += eneg ? -x : x;
            s = e;
        }
    }
    // both m and the power of ten are exact doubles: one correctly rounded operation (Clinger's fast path)
    if (exact && m < (1ull << 53) && scale >= -22 && scale <= 22) {
        double v = scale < 0 ? (double)m / pow10[-scale] : (double)m * pow10[scale];
        *value = negative ? -v : v;
    } else
        *value = parse_slow(start, s);
    return s;
}

const char *fai_parse_int(const char *s, const char *end, int64_t *value) {
    bool negative = s < end && *s == '-';
    if (s < end && (*s == '-' || *s == '+')) s++;
    const char *first = s;
    int64_t v = 0;
    for (; s < end && *s >= '0' && *s <= '9'; s++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, *s - '0', &v)) return NULL;
    if (s == first || (!negative && v == INT64_MIN)) return NULL;
    *value = negative ? v : -v;
    return s;
}

static int format(char text[FA_NUMBER_SIZE], double v, int from, int to, bool single) {
    if (isnan(v)) return snprintf(text, FA_NUMBER_SIZE, "nan");
    if (isinf(v)) return snprintf(text, FA_NUMBER_SIZE, v < 0 ? "-inf" : "inf");
    locale_t old = uselocale(c_locale());
    int n = 0;
    for (int p = from; p <= to; p++) {
        n = snprintf(text, FA_NUMBER_SIZE, "%.*g", p, v);
        double back = strtod(text, NULL);
        if (single ? strtof(text, NULL) == (float)v : back == v) break;
    }
    uselocale(old);
    return n;
}

int fai_format_double(char text[FA_NUMBER_SIZE], double v) {
    if (v == 0) return snprintf(text, FA_NUMBER_SIZE, signbit(v) ? "-0" : "0");
    if (fabs(v) < 1e15 && v == (double)(int64_t)v) return snprintf(text, FA_NUMBER_SIZE, "%lld", (long long)v);
    return format(text, v, 15, 17, false);
}

int fai_format_float(char text[FA_NUMBER_SIZE], float v) {
    if (v == 0) return snprintf(text, FA_NUMBER_SIZE, signbit(v) ? "-0" : "0");
    if (fabsf(v) < 1e7f && v == (float)(int64_t)v) return snprintf(text, FA_NUMBER_SIZE, "%lld", (long long)v);
    return format(text, (double)v, 6, 9, true);
}

#include "base/json_walk.h"

#include <string.h>

enum { MAX_DEPTH = 64 };

FaCode fai_json_syntax(const FaJsonWalk *w, const char *what) {
    int line = 1, column = 1;
    for (const char *c = w->text; c < w->p; c++) {
        column = *c == '\n' ? 1 : column + (((unsigned char)*c & 0xC0) != 0x80);
        line += *c == '\n';
    }
    return FA_FAIL(w->err, FA_E_FORMAT, FA_PLACE("line %d, column %d", line, column),
                   "check that it is complete, strict JSON", "%s", what);
}

char fai_json_peek(FaJsonWalk *w) {
    while (w->p < w->end && (*w->p == ' ' || *w->p == '\n' || *w->p == '\r' || *w->p == '\t')) w->p++;
    return w->p < w->end ? *w->p : 0;
}

FaCode fai_json_skip_string(FaJsonWalk *w) {
    const char *start = w->p++;
    for (; w->p < w->end && *w->p != '"'; w->p++) {
        if ((unsigned char)*w->p < 0x20) return fai_json_syntax(w, "a control character inside a string");
        if (*w->p == '\\') w->p++;
    }
    if (w->p >= w->end) {
        w->p = start;
        return fai_json_syntax(w, "a string is not closed");
    }
    w->p++;
    return FA_OK;
}

static bool skip_digits(FaJsonWalk *w) {
    const char *start = w->p;
    while (w->p < w->end && *w->p >= '0' && *w->p <= '9') w->p++;
    return w->p > start;
}

// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
static FaCode skip_number(FaJsonWalk *w) {
    const char *start = w->p;
    if (*w->p == '-') w->p++;
    const char *first = w->p;
    bool good = skip_digits(w) && (*first != '0' || w->p - first == 1);
    if (good && w->p < w->end && *w->p == '.') {
        w->p++;
        good = skip_digits(w);
    }
    if (good && w->p < w->end && (*w->p == 'e' || *w->p == 'E')) {
        w->p++;
        if (w->p < w->end && (*w->p == '+' || *w->p == '-')) w->p++;
        good = skip_digits(w);
    }
    if (good) return FA_OK;
    w->p = start;
    return fai_json_syntax(w, "this is no number");
}

static FaCode skip_word(FaJsonWalk *w) {
    static const char *const word[] = {"true", "false", "null"};
    for (int i = 0; i < FA_COUNT(word); i++) {
        size_t n = strlen(word[i]);
        if ((size_t)(w->end - w->p) < n || memcmp(w->p, word[i], n)) continue;
        w->p += n;
        return FA_OK;
    }
    return fai_json_syntax(w, w->p < w->end ? "a value must stand here" : "the text ends inside of a value");
}

FaCode fai_json_skip_key(FaJsonWalk *w, const char **at, int *size) {
    if (fai_json_peek(w) != '"') return fai_json_syntax(w, "a key in quotes must stand here");
    *at = w->p + 1;
    FA_TRY(fai_json_skip_string(w));
    *size = (int)FA_MIN(w->p - 1 - *at, INT32_MAX);
    if (fai_json_peek(w) != ':') return fai_json_syntax(w, "a colon must follow the key");
    w->p++;
    return FA_OK;
}

FaCode fai_json_next(FaJsonWalk *w, bool first, char close, bool *more) {
    char c = fai_json_peek(w);
    *more = c != close;
    if (!*more || first) return FA_OK;
    if (c != ',')
        return fai_json_syntax(w, c || w->p < w->end ? "a comma is missing" : "the text ends inside of a value");
    w->p++;
    return FA_OK;
}

static FaCode skip_value(FaJsonWalk *w, int depth, int *count) {
    char open = fai_json_peek(w);
    *count = 0;
    if (open == '"') return fai_json_skip_string(w);
    if (open == '-' || (open >= '0' && open <= '9')) return skip_number(w);
    if (open != '[' && open != '{') return skip_word(w);
    if (depth >= MAX_DEPTH) return fai_json_syntax(w, "values are nested too deeply");
    char close = open == '[' ? ']' : '}';
    w->p++;
    for (bool first = true;; first = false) {
        const char *key;
        int size, inner;
        bool more;
        FA_TRY(fai_json_next(w, first, close, &more));
        if (!more) break;
        if (open == '{') FA_TRY(fai_json_skip_key(w, &key, &size));
        FA_TRY(skip_value(w, depth + 1, &inner));
        if (*count < INT32_MAX) ++*count;
    }
    w->p++;
    return FA_OK;
}

FaCode fai_json_skip_value(FaJsonWalk *w, FaJsonSpan *span) {
    fai_json_peek(w);
    span->at = w->p;
    FA_TRY(skip_value(w, 0, &span->count));
    span->end = w->p;
    return FA_OK;
}

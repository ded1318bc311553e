#include "base/json.h"

#include "base/number.h"

#include <math.h>

enum {
    MAX_DEPTH = 256,       // far beyond any real document; bounds the recursion
    MAX_VALUES = 20000000, // two gigabytes of values; real clips hold half a million
    SLAB = 64,             // values are allocated this many at a time
};

typedef struct Parser {
    const char *text, *p, *end;
    FaJsonDoc *doc;
    char *strings; // room for decoded strings: never longer than their source
    FaError *err;
    int depth, values;
} Parser;

// Length of the well-formed UTF-8 sequence at s (RFC 3629: no overlong forms, no surrogates), 0 if ill-formed.
static int utf8_length(const unsigned char *s, const unsigned char *end) {
    static const struct {
        unsigned char lo, hi, lo2, hi2;
        int n;
    } form[] = {{0x00, 0x7F, 0, 0, 1},       {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
                {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
                {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4}};
    for (int i = 0; i < FA_COUNT(form); i++) {
        if (*s < form[i].lo || *s > form[i].hi) continue;
        if (end - s < form[i].n) return 0;
        if (form[i].n > 1 && (s[1] < form[i].lo2 || s[1] > form[i].hi2)) return 0;
        for (int k = 2; k < form[i].n; k++)
            if ((s[k] & 0xC0) != 0x80) return 0;
        return form[i].n;
    }
    return 0;
}

// The line around a place, as it may be shown: short, what is no UTF-8 as '?'.
static FaPlace quote_line(const Parser *ps, const char *at) {
    enum { BEFORE = 24, AFTER = 16 };
    FaPlace quote;
    size_t n = 0;
    const char *from = at, *to = at;
    while (from > ps->text && at - from < BEFORE && from[-1] != '\n' && from[-1] != '\r') from--;
    while (to < ps->end && to - at < AFTER && *to != '\n' && *to != '\r') to++;
    while (from < at && ((unsigned char)*from & 0xC0) == 0x80) from++; // begin with a whole character
    while (from < to) {
        int bytes = utf8_length((const unsigned char *)from, (const unsigned char *)to);
        if (!bytes && ((unsigned char)*from & 0xC0) != 0x80) quote.text[n++] = '?';
        for (int i = 0; i < bytes; i++) quote.text[n++] = from[i] ? from[i] : ' ';
        from += bytes ? bytes : 1;
    }
    quote.text[n] = 0;
    return quote;
}

static FaCode fail(Parser *ps, const char *at, const char *what) {
    int line = 1, column = 1;
    for (const char *c = ps->text; c < at; c++) {
        if (*c == '\n') {
            line++;
            column = 1;
        } else
            column += ((unsigned char)*c & 0xC0) != 0x80;
    }
    FaPlace quote = quote_line(ps, at);
    bool any = quote.text[strspn(quote.text, " \t")] != 0;
    return FA_FAIL(ps->err, FA_E_FORMAT, FA_PLACE("line %d, column %d", line, column),
                   "check that it is complete, strict JSON", "%s%s%s%s", what, any ? ", at '" : "",
                   any ? quote.text : "", any ? "'" : "");
}

static void skip_space(Parser *ps) {
    while (ps->p < ps->end && (*ps->p == ' ' || *ps->p == '\n' || *ps->p == '\r' || *ps->p == '\t')) ps->p++;
}

// --- strings ------------------------------------------------------------------------------------------------------

static int put_utf8(char *to, uint32_t c) {
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return to[0] = (char)(0xE0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
    to[0] = (char)(0xF0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 63));
    to[2] = (char)(0x80 | (c >> 6 & 63)), to[3] = (char)(0x80 | (c & 63));
    return 4;
}

static bool hex4(const char *s, const char *end, uint32_t *out) {
    if (end - s < 4) return false;
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0) return false;
        v = v << 4 | (uint32_t)d;
    }
    *out = v;
    return true;
}

// One escape at ps->p (after the backslash); appends to *to. A lone surrogate has no UTF-8 form and is refused.
static FaCode parse_escape(Parser *ps, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (ps->p >= ps->end) return fail(ps, ps->p, "the text ends inside a string");
    const char *hit = *ps->p ? strchr(from, *ps->p) : NULL;
    if (hit) {
        *(*to)++ = into[hit - from];
        ps->p++;
        return FA_OK;
    }
    uint32_t c, low;
    if (*ps->p != 'u' || !hex4(ps->p + 1, ps->end, &c)) return fail(ps, ps->p, "unknown escape in a string");
    ps->p += 5;
    if (c >= 0xD800 && c < 0xDC00) {
        if (ps->end - ps->p < 6 || ps->p[0] != '\\' || ps->p[1] != 'u' || !hex4(ps->p + 2, ps->end, &low) ||
            low < 0xDC00 || low > 0xDFFF)
            return fail(ps, ps->p, "half a surrogate pair in a string");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        ps->p += 6;
    } else if (c >= 0xDC00 && c < 0xE000)
        return fail(ps, ps->p, "half a surrogate pair in a string");
    *to += put_utf8(*to, c);
    return FA_OK;
}

static FaCode parse_string(Parser *ps, const char **out, int *size) {
    const char *start = ++ps->p;
    // the decoded text is never longer than the source: find the closing quote first
    const char *q = start;
    while (q < ps->end && *q != '"') q += *q == '\\' && q + 1 < ps->end ? 2 : 1;
    if (q >= ps->end) return fail(ps, start - 1, "a string is not closed");
    char *text = ps->strings, *to = text; // with its quotes the source is two longer: there is room for the zero
    while (ps->p < q) {
        unsigned char c = (unsigned char)*ps->p;
        if (c == '\\') {
            ps->p++;
            FA_TRY(parse_escape(ps, &to));
            continue;
        }
        if (c < 0x20) return fail(ps, ps->p, "a control character inside a string");
        int n = utf8_length((const unsigned char *)ps->p, (const unsigned char *)q);
        if (!n) return fail(ps, ps->p, "a string is not UTF-8");
        memcpy(to, ps->p, (size_t)n);
        to += n;
        ps->p += n;
    }
    ps->p = q + 1;
    *to = 0;
    ps->strings = to + 1;
    *out = text;
    *size = (int)(to - text);
    return FA_OK;
}

// --- values -------------------------------------------------------------------------------------------------------

static FaCode parse_number(Parser *ps, FaJson *v) {
    const char *s = ps->p, *e = ps->end;
    if (s < e && *s == '-') s++;
    if (s >= e || *s < '0' || *s > '9') return fail(ps, ps->p, "unexpected character");
    if (*s == '0' && s + 1 < e && s[1] >= '0' && s[1] <= '9') return fail(ps, s, "a number starts with a zero");
    while (s < e && *s >= '0' && *s <= '9') s++;
    if (s < e && *s == '.') {
        if (++s >= e || *s < '0' || *s > '9') return fail(ps, s, "digits are missing after the point");
        while (s < e && *s >= '0' && *s <= '9') s++;
    }
    if (s < e && (*s == 'e' || *s == 'E')) {
        if (++s < e && (*s == '+' || *s == '-')) s++;
        if (s >= e || *s < '0' || *s > '9') return fail(ps, s, "digits are missing in the exponent");
        while (s < e && *s >= '0' && *s <= '9') s++;
    }
    fai_parse_double(ps->p, s, &v->number);
    ps->p = s;
    v->type = FA_JSON_NUMBER;
    return FA_OK;
}

static FaCode parse_word(Parser *ps, FaJson *v) {
    static const struct {
        const char *word;
        FaJsonType type;
    } words[] = {{"null", FA_JSON_NULL}, {"false", FA_JSON_FALSE}, {"true", FA_JSON_TRUE}};
    for (int i = 0; i < FA_COUNT(words); i++) {
        size_t n = strlen(words[i].word);
        if ((size_t)(ps->end - ps->p) < n || memcmp(ps->p, words[i].word, n)) continue;
        v->type = words[i].type;
        ps->p += n;
        return FA_OK;
    }
    return parse_number(ps, v);
}

static void attach(FaJson *parent, FaJson *child) {
    child->parent = parent;
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

static FaJson *new_value(FaJsonDoc *doc, FaJsonType type) {
    if (!doc->slab_left) {
        doc->slab = FA_PUSH(doc->arena, SLAB, FaJson);
        if (!doc->slab) return NULL;
        doc->slab_left = SLAB;
    }
    doc->slab_left--;
    FaJson *v = doc->slab++;
    v->type = (unsigned char)type;
    return v;
}

// The table behind fai_json_at. Room grows by doubling: full whenever the count is a power of two.
static bool index_child(FaJsonDoc *doc, FaJson *array, FaJson *child) {
    int n = array->count;
    if ((n & (n - 1)) == 0) {
        FaJson **grown = FA_PUSH(doc->arena, n ? 2 * (size_t)n : 1, FaJson *);
        if (!grown) return false;
        if (n) memcpy(grown, array->index, (size_t)n * sizeof *grown);
        array->index = grown;
    }
    array->index[n] = child;
    return true;
}

static FaCode parse_value(Parser *ps, FaJson *v);

static FaCode parse_key(Parser *ps, FaJson *child) {
    if (ps->p >= ps->end || *ps->p != '"') return fail(ps, ps->p, "a key in quotes is missing");
    child->src_key = ps->p;
    int size;
    FA_TRY(parse_string(ps, &child->key, &size));
    const char *key_end = ps->p;
    child->src_key_size = (int)(key_end - child->src_key);
    skip_space(ps);
    if (ps->p >= ps->end || *ps->p != ':') return fail(ps, ps->p, "a colon is missing after a key");
    ps->p++;
    skip_space(ps);
    child->gap = (int)(ps->p - key_end);
    return FA_OK;
}

static FaCode parse_children(Parser *ps, FaJson *v, char closer) {
    if (++ps->depth > MAX_DEPTH) return fail(ps, ps->p, "values are nested deeper than 256 levels");
    ps->p++;
    skip_space(ps);
    if (ps->p < ps->end && *ps->p == closer) {
        ps->p++;
        ps->depth--;
        return FA_OK;
    }
    for (;;) {
        if (++ps->values > MAX_VALUES) return fail(ps, ps->p, "more than 20 million values");
        FaJson *child = new_value(ps->doc, FA_JSON_NULL);
        if (!child) return FA_FAIL_MEMORY(ps->err);
        child->from = ps->p;
        if (closer == '}') FA_TRY(parse_key(ps, child));
        FA_TRY(parse_value(ps, child));
        child->to = ps->p;
        if (closer == ']' && !index_child(ps->doc, v, child)) return FA_FAIL_MEMORY(ps->err);
        attach(v, child);
        skip_space(ps);
        if (ps->p >= ps->end)
            return fail(ps, ps->p, closer == '}' ? "an object is not closed" : "an array is not closed");
        char c = *ps->p++;
        if (c == closer) break;
        if (c != ',') return fail(ps, ps->p - 1, "a comma or a closing bracket is missing");
        skip_space(ps);
    }
    ps->depth--;
    return FA_OK;
}

static FaCode parse_value(Parser *ps, FaJson *v) {
    skip_space(ps);
    if (ps->p >= ps->end) return fail(ps, ps->p, "the text ends where a value should be");
    v->src = ps->p;
    switch (*ps->p) {
    case '{':
        v->type = FA_JSON_OBJECT;
        FA_TRY(parse_children(ps, v, '}'));
        break;
    case '[':
        v->type = FA_JSON_ARRAY;
        FA_TRY(parse_children(ps, v, ']'));
        break;
    case '"':
        v->type = FA_JSON_STRING;
        FA_TRY(parse_string(ps, &v->string, &v->string_size));
        break;
    default: FA_TRY(parse_word(ps, v));
    }
    v->src_size = (int)(ps->p - v->src);
    return FA_OK;
}

FaCode fai_json_parse(const char *text, size_t size, FaJsonDoc **out, bool *bom, FaError *err) {
    *out = NULL;
    if (bom) *bom = false;
    if (size > INT32_MAX) return FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "JSON text over 2 GiB");
    FaJsonDoc *doc = FA_NEW(1, FaJsonDoc);
    char *strings = NULL;
    if (doc) {
        doc->text = fai_strndup(text, size);
        doc->arena = fai_arena_new(0);
        doc->size = size;
        if (doc->arena) strings = FA_PUSH(doc->arena, size + 1, char);
    }
    if (!doc || !doc->text || !strings || !(doc->root = new_value(doc, FA_JSON_NULL))) {
        fai_json_free(doc);
        return FA_FAIL_MEMORY(err);
    }
    Parser ps = {doc->text, doc->text, doc->text + size, doc, strings, err, 0, 0};
    if (size >= 3 && !memcmp(ps.p, "\xEF\xBB\xBF", 3)) {
        ps.p += 3;
        if (bom) *bom = true;
    }
    FaCode rc = parse_value(&ps, doc->root);
    skip_space(&ps);
    if (rc >= 0 && ps.p < ps.end) rc = fail(&ps, ps.p, "something follows the end of the document");
    if (rc < 0) {
        fai_json_free(doc);
        return rc;
    }
    *out = doc;
    return FA_OK;
}

void fai_json_free(FaJsonDoc *doc) {
    if (!doc) return;
    fai_arena_free(doc->arena);
    fa_free(doc->text);
    fa_free(doc);
}

// --- look-ups -----------------------------------------------------------------------------------------------------

FaJson *fai_json_get(const FaJson *object, const char *key) {
    if (!fai_json_is(object, FA_JSON_OBJECT)) return NULL;
    for (FaJson *c = object->first; c; c = c->next)
        if (c->key[0] == key[0] && !strcmp(c->key, key)) return c;
    return NULL;
}

int fai_json_count(const FaJson *v) { return v ? v->count : 0; }

FaJson *fai_json_at(const FaJson *array, int i) {
    if (!fai_json_is(array, FA_JSON_ARRAY) || i < 0 || i >= array->count) return NULL;
    return array->index[i];
}

static void append_path(const FaJson *v, FaPlace *place) {
    if (!v->parent) return;
    append_path(v->parent, place);
    size_t n = strlen(place->text);
    if (v->key) {
        snprintf(place->text + n, sizeof place->text - n, "/%s", v->key);
        return;
    }
    int i = 0;
    for (const FaJson *c = v->parent->first; c && c != v; c = c->next) i++;
    snprintf(place->text + n, sizeof place->text - n, "/%d", i);
}

FaPlace fai_json_path(const FaJson *v) {
    FaPlace place = {""};
    if (v) append_path(v, &place);
    return place;
}

FaPlace fai_json_show(const FaJson *v) {
    enum { MOST = 40 };
    FaPlace shown = {""};
    int n = 0, i = 0, size = v->src ? v->src_size : 0;
    for (; i < size && n < MOST; i++) {
        bool space = (unsigned char)v->src[i] <= ' ';
        if (!space || (n > 0 && shown.text[n - 1] != ' ')) shown.text[n++] = space ? ' ' : v->src[i];
    }
    if (i == size) return shown;
    while (n > 0 && ((unsigned char)v->src[i] & 0xC0) == 0x80) i--, n--; // whole characters
    memcpy(shown.text + n, "...", 4);
    return shown;
}

static FaCode wrong(const FaJson *v, FaError *err, const char *expected) {
    return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, NULL, "expected %s, found %s", expected,
                   fai_json_show(v).text);
}

static FaCode missing(const FaJson *object, const char *key, FaError *err) {
    return FA_FAIL(err, FA_E_FORMAT, fai_json_path(object).text, NULL, "\"%s\" is missing", key);
}

FaCode fai_json_int_or(const FaJson *object, const char *key, int64_t min, int64_t max, int64_t absent, int64_t *value,
                       FaError *err) {
    *value = absent;
    const FaJson *v = fai_json_get(object, key);
    if (!v) return FA_OK;
    if (v->type != FA_JSON_NUMBER || v->number != floor(v->number) || fabs(v->number) > 0x1p53)
        return wrong(v, err, "an integer");
    if (v->number < (double)min || v->number > (double)max)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, NULL, "%s is out of range (%lld to %lld)",
                       fai_json_show(v).text, (long long)min, (long long)max);
    *value = (int64_t)v->number;
    return FA_OK;
}

FaCode fai_json_int(const FaJson *object, const char *key, int64_t min, int64_t max, int64_t *value, FaError *err) {
    if (!fai_json_get(object, key)) return missing(object, key, err);
    return fai_json_int_or(object, key, min, max, 0, value, err);
}

FaCode fai_json_num_or(const FaJson *object, const char *key, double absent, double *value, FaError *err) {
    *value = absent;
    const FaJson *v = fai_json_get(object, key);
    if (!v) return FA_OK;
    if (v->type != FA_JSON_NUMBER || !isfinite(v->number)) return wrong(v, err, "a finite number");
    *value = v->number;
    return FA_OK;
}

FaCode fai_json_str_or(const FaJson *object, const char *key, const char *absent, const char **value, FaError *err) {
    *value = absent;
    const FaJson *v = fai_json_get(object, key);
    if (!v) return FA_OK;
    if (v->type != FA_JSON_STRING) return wrong(v, err, "a string");
    *value = v->string;
    return FA_OK;
}

static FaCode typed_or_null(const FaJson *object, const char *key, FaJsonType type, const char *expected,
                            FaJson **value, FaError *err) {
    *value = fai_json_get(object, key);
    if (*value && (*value)->type != type) return wrong(*value, err, expected);
    return FA_OK;
}

FaCode fai_json_array_or_null(const FaJson *object, const char *key, FaJson **value, FaError *err) {
    return typed_or_null(object, key, FA_JSON_ARRAY, "an array", value, err);
}

FaCode fai_json_object_or_null(const FaJson *object, const char *key, FaJson **value, FaError *err) {
    return typed_or_null(object, key, FA_JSON_OBJECT, "an object", value, err);
}

FaCode fai_json_nums(const FaJson *object, const char *key, int n, double *out, bool *present, FaError *err) {
    FaJson *a;
    FA_TRY(fai_json_array_or_null(object, key, &a, err));
    if (present) *present = a != NULL;
    if (!a) return present ? FA_OK : missing(object, key, err);
    if (a->count != n)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(a).text, NULL, "expected %d numbers, found %d", n, a->count);
    int i = 0;
    for (const FaJson *c = a->first; c; c = c->next) {
        if (c->type != FA_JSON_NUMBER || !isfinite(c->number)) return wrong(c, err, "a finite number");
        out[i++] = c->number;
    }
    return FA_OK;
}

// --- changes ------------------------------------------------------------------------------------------------------

static void touch(FaJson *v) {
    for (; v && !v->changed; v = v->parent) v->changed = true;
}

// A new value's text lives in the arena and is written verbatim, like text that came from a file.
static FaJson *new_scalar(FaJsonDoc *doc, FaJsonType type, const char *text, int n) {
    FaJson *v = new_value(doc, type);
    if (!v || !(v->src = fai_arena_strndup(doc->arena, text, (size_t)n))) return NULL;
    v->src_size = n;
    return v;
}

FaJson *fai_json_new_num(FaJsonDoc *doc, double x) {
    char s[FA_NUMBER_SIZE];
    FaJson *v = new_scalar(doc, FA_JSON_NUMBER, s, fai_format_double(s, x));
    if (v) v->number = x;
    return v;
}

FaJson *fai_json_new_float(FaJsonDoc *doc, float x) {
    char s[FA_NUMBER_SIZE];
    FaJson *v = new_scalar(doc, FA_JSON_NUMBER, s, fai_format_float(s, x));
    if (v) v->number = (double)x;
    return v;
}

FaJson *fai_json_new_int(FaJsonDoc *doc, int64_t x) {
    char s[FA_NUMBER_SIZE];
    FaJson *v = new_scalar(doc, FA_JSON_NUMBER, s, snprintf(s, sizeof s, "%lld", (long long)x));
    if (v) v->number = (double)x;
    return v;
}

FaJson *fai_json_new_bool(FaJsonDoc *doc, bool v) {
    return new_scalar(doc, v ? FA_JSON_TRUE : FA_JSON_FALSE, v ? "true" : "false", v ? 4 : 5);
}

FaJson *fai_json_new_str(FaJsonDoc *doc, const char *s) {
    size_t n = strlen(s);
    FaText t = {0};
    fai_text_json_string(&t, s, n);
    FaJson *v = t.failed ? NULL : new_scalar(doc, FA_JSON_STRING, t.data, (int)t.size);
    fai_text_free(&t);
    if (v && !(v->string = fai_arena_strndup(doc->arena, s, n))) return NULL;
    if (v) v->string_size = (int)n;
    return v;
}

FaJson *fai_json_new_array(FaJsonDoc *doc) {
    FaJson *v = new_value(doc, FA_JSON_ARRAY);
    if (v) v->changed = true;
    return v;
}

FaJson *fai_json_new_object(FaJsonDoc *doc) {
    FaJson *v = new_value(doc, FA_JSON_OBJECT);
    if (v) v->changed = true;
    return v;
}

FaJson *fai_json_set(FaJsonDoc *doc, FaJson *object, const char *key, FaJson *value) {
    if (!fai_json_is(object, FA_JSON_OBJECT) || !value) return NULL;
    FaJson *prev = NULL, *old = object->first;
    while (old && strcmp(old->key, key)) prev = old, old = old->next;
    if (!old) {
        if (!(value->key = fai_arena_strndup(doc->arena, key, strlen(key)))) return NULL;
        attach(object, value);
        touch(object);
        return value;
    }
    // take the old one's place and spelling of the key
    value->key = old->key;
    value->src_key = old->src_key;
    value->src_key_size = old->src_key_size;
    value->gap = old->gap;
    value->from = old->from;
    value->to = old->to;
    value->parent = object;
    value->next = old->next;
    *(prev ? &prev->next : &object->first) = value;
    if (object->last == old) object->last = value;
    old->parent = NULL;
    touch(object);
    return value;
}

FaJson *fai_json_append(FaJsonDoc *doc, FaJson *array, FaJson *value) {
    if (!fai_json_is(array, FA_JSON_ARRAY) || !value || !index_child(doc, array, value)) return NULL;
    attach(array, value);
    touch(array);
    return value;
}

bool fai_json_remove(FaJson *object, const char *key) {
    if (!fai_json_is(object, FA_JSON_OBJECT)) return false;
    FaJson *prev = NULL, *old = object->first;
    while (old && strcmp(old->key, key)) prev = old, old = old->next;
    if (!old) return false;
    *(prev ? &prev->next : &object->first) = old->next;
    if (object->last == old) object->last = prev;
    object->count--;
    old->parent = NULL;
    touch(object);
    return true;
}

FaJson *fai_json_copy(FaJsonDoc *doc, const FaJson *from) {
    FaJson *v = from ? new_value(doc, from->type) : NULL;
    if (!v) return NULL;
    *v = *from;
    v->first = v->last = v->next = v->parent = NULL;
    v->index = NULL;
    v->count = 0;
    v->key = v->src_key = v->from = v->to = NULL;
    for (const FaJson *c = from->first; c; c = c->next) {
        FaJson *child = fai_json_copy(doc, c);
        if (!child) return NULL;
        child->key = c->key;
        child->src_key = c->src_key;
        child->src_key_size = c->src_key_size;
        child->gap = c->gap;
        child->from = c->from;
        child->to = c->to;
        if (v->type == FA_JSON_ARRAY && !index_child(doc, v, child)) return NULL;
        attach(v, child);
    }
    return v;
}

// --- writing ------------------------------------------------------------------------------------------------------

static bool is_space(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\n' || *s == '\r' || *s == '\t')) s++;
    return s == end;
}

// What stood between two children that were neighbours in the source: one comma and spaces. False if they were not.
static bool write_between(const FaJson *a, const FaJson *b, FaText *out) {
    if (!a->to || !b->from || a->to >= b->from) return false;
    const char *comma = memchr(a->to, ',', (size_t)(b->from - a->to));
    if (!comma || !is_space(a->to, comma) || !is_space(comma + 1, b->from)) return false;
    fai_text_bytes(out, a->to, (size_t)(b->from - a->to));
    return true;
}

void fai_json_write(const FaJson *v, FaText *out) {
    if (!v->changed && v->src) {
        fai_text_bytes(out, v->src, (size_t)v->src_size);
        return;
    }
    bool object = v->type == FA_JSON_OBJECT;
    FA_ASSERT(object || v->type == FA_JSON_ARRAY);

    // spaces before the first child of the source: new children are laid out like it
    const char *open = v->src ? v->src + 1 : "", *space = open;
    const char *end = v->src ? v->src + v->src_size - 1 : open;
    while (space < end && is_space(space, space + 1)) space++;
    size_t n = (size_t)(space - open);
    if (space == end) n = 0; // it was empty

    fai_text_bytes(out, object ? "{" : "[", 1);
    for (const FaJson *c = v->first, *before = NULL; c; before = c, c = c->next) {
        if (!before)
            fai_text_bytes(out, open, n);
        else if (!write_between(before, c, out)) {
            fai_text_bytes(out, ",", 1);
            fai_text_bytes(out, open, n);
        }
        if (object && c->src_key)
            fai_text_bytes(out, c->src_key, (size_t)(c->src_key_size + c->gap));
        else if (object) {
            fai_text_json_string(out, c->key, strlen(c->key));
            fai_text_str(out, n ? ": " : ":");
        }
        fai_json_write(c, out);
    }
    // spaces before the closing bracket
    const char *tail = end;
    while (tail > open && is_space(tail - 1, tail)) tail--;
    if (v->first && tail > open) fai_text_bytes(out, tail, (size_t)(end - tail));
    fai_text_bytes(out, object ? "}" : "]", 1);
}

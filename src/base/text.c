#include "base/text.h"

#include "base/number.h"

#include <math.h>

static bool reserve(FaText *t, size_t more) {
    if (t->failed) return false;
    if (more > PTRDIFF_MAX - t->size - 1) goto fail;
    if (t->size + more + 1 <= t->room) return true;
    size_t room = FA_MAX(t->room * 2, t->size + more + 1);
    room = FA_MAX(room, (size_t)256);
    char *data = fai_resize(t->data, room);
    if (!data) goto fail;
    t->data = data;
    t->room = room;
    return true;
fail:
    t->failed = true;
    return false;
}

void fai_text_bytes(FaText *t, const void *data, size_t size) {
    if (!reserve(t, size)) return;
    if (size) memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = 0;
}

void fai_text_str(FaText *t, const char *s) { fai_text_bytes(t, s, strlen(s)); }

void fai_text_printf(FaText *t, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    if (n >= 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->data + t->size, (size_t)n + 1, fmt, again);
        t->size += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void fai_text_double(FaText *t, double v) {
    char s[FA_NUMBER_SIZE];
    fai_text_bytes(t, s, (size_t)fai_format_double(s, v));
}

void fai_text_float(FaText *t, float v) {
    char s[FA_NUMBER_SIZE];
    fai_text_bytes(t, s, (size_t)fai_format_float(s, v));
}

void fai_text_json_string(FaText *t, const char *s, size_t n) {
    fai_text_bytes(t, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        fai_text_bytes(t, s + from, i - from);
        from = i + 1;
        if (c == '"' || c == '\\')
            fai_text_printf(t, "\\%c", c);
        else if (c == '\n')
            fai_text_str(t, "\\n");
        else if (c == '\t')
            fai_text_str(t, "\\t");
        else
            fai_text_printf(t, "\\u%04x", c);
    }
    fai_text_bytes(t, s + from, n - from);
    fai_text_bytes(t, "\"", 1);
}

void fai_text_json_number(FaText *t, double v) {
    if (isfinite(v))
        fai_text_double(t, v);
    else
        fai_text_str(t, "null");
}

void fai_text_free(FaText *t) {
    fa_free(t->data);
    *t = (FaText){0};
}

// --- JSON writer --------------------------------------------------------------------------------------------------

static void begin_value(FaJsonWriter *w, const char *key) {
    if (w->depth > 0) {
        if (w->comma[w->depth - 1]) fai_text_bytes(w->text, ",", 1);
        w->comma[w->depth - 1] = true;
        if (w->pretty) {
            fai_text_bytes(w->text, "\n", 1);
            for (int i = 0; i < w->depth; i++) fai_text_bytes(w->text, "  ", 2);
        }
    }
    if (!key) return;
    fai_text_json_string(w->text, key, strlen(key));
    fai_text_str(w->text, w->pretty ? ": " : ":");
}

void fai_jw_open(FaJsonWriter *w, const char *key, char bracket) {
    FA_ASSERT(w->depth < FA_COUNT(w->comma) && (bracket == '{' || bracket == '['));
    begin_value(w, key);
    fai_text_bytes(w->text, &bracket, 1);
    w->comma[w->depth] = false;
    w->closer[w->depth++] = bracket == '{' ? '}' : ']';
}

void fai_jw_close(FaJsonWriter *w) {
    FA_ASSERT(w->depth > 0);
    bool any = w->comma[--w->depth];
    if (any && w->pretty) {
        fai_text_bytes(w->text, "\n", 1);
        for (int i = 0; i < w->depth; i++) fai_text_bytes(w->text, "  ", 2);
    }
    fai_text_bytes(w->text, &w->closer[w->depth], 1);
}

void fai_jw_str(FaJsonWriter *w, const char *key, const char *value) {
    begin_value(w, key);
    if (value)
        fai_text_json_string(w->text, value, strlen(value));
    else
        fai_text_str(w->text, "null");
}

void fai_jw_num(FaJsonWriter *w, const char *key, double value) {
    begin_value(w, key);
    fai_text_json_number(w->text, value);
}

void fai_jw_float(FaJsonWriter *w, const char *key, float value) {
    begin_value(w, key);
    if (isfinite(value))
        fai_text_float(w->text, value);
    else
        fai_text_str(w->text, "null");
}

void fai_jw_int(FaJsonWriter *w, const char *key, int64_t value) {
    begin_value(w, key);
    fai_text_printf(w->text, "%lld", (long long)value);
}

void fai_jw_bool(FaJsonWriter *w, const char *key, bool value) {
    begin_value(w, key);
    fai_text_str(w->text, value ? "true" : "false");
}

void fai_jw_raw(FaJsonWriter *w, const char *key, const char *json, size_t n) {
    begin_value(w, key);
    fai_text_bytes(w->text, json, n);
}

void fai_jw_notes(FaJsonWriter *w, const char *key, const FaNotes *notes) {
    fai_jw_open(w, key, '[');
    for (int i = 0; i < notes->count; i++) {
        const FaNote *n = &notes->note[i];
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "code", n->code);
        fai_jw_str(w, "text", n->text);
        fai_jw_str(w, "where", n->where);
        fai_jw_str(w, "remedy", n->remedy);
        fai_jw_int(w, "count", n->count);
        fai_jw_close(w);
    }
    fai_jw_close(w);
}

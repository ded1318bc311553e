// The JSON writer as the public header has it: a writer that owns its text.
#include "base/text.h"
#include "fascia/json.h"

typedef struct OwnWriter {
    FaJsonWriter w; // first: the pointers handed out are to it
    FaText text;
} OwnWriter;

FaCode fa_json_new(FaJsonWriter **writer, FaError *err) {
    OwnWriter *own = FA_NEW(1, OwnWriter);
    *writer = NULL;
    if (!own) return FA_FAIL_MEMORY(err);
    own->w.text = &own->text;
    *writer = &own->w;
    return FA_OK;
}

void fa_json_begin(FaJsonWriter *w, const char *key, char bracket) { fai_jw_open(w, key, bracket); }
void fa_json_end(FaJsonWriter *w) { fai_jw_close(w); }
void fa_json_text(FaJsonWriter *w, const char *key, const char *value) { fai_jw_str(w, key, value); }
void fa_json_number(FaJsonWriter *w, const char *key, double value) { fai_jw_num(w, key, value); }
void fa_json_int(FaJsonWriter *w, const char *key, int64_t value) { fai_jw_int(w, key, value); }
void fa_json_bool(FaJsonWriter *w, const char *key, bool value) { fai_jw_bool(w, key, value); }
void fa_json_raw(FaJsonWriter *w, const char *key, const char *json) { fai_jw_raw(w, key, json, strlen(json)); }

void fa_json_members(FaJsonWriter *w, const char *object) {
    const char *from = object + strspn(object, " \t\r\n"), *end = object + strlen(object);
    while (end > from && strchr(" \t\r\n", end[-1])) end--;
    FA_ASSERT(end - from >= 2 && *from == '{' && end[-1] == '}');
    from += 1 + strspn(from + 1, " \t\r\n");
    end--;
    if (from < end) fai_jw_raw(w, NULL, from, (size_t)(end - from));
}

FaCode fa_json_finish(FaJsonWriter *w, char **json, FaError *err) {
    OwnWriter *own = (OwnWriter *)w;
    FA_ASSERT(w->depth == 0);
    *json = own->text.failed ? NULL : own->text.data;
    if (*json) own->text = (FaText){0};
    fa_json_free(w);
    return *json ? FA_OK : FA_FAIL_MEMORY(err);
}

void fa_json_free(FaJsonWriter *w) {
    if (!w) return;
    fai_text_free(&((OwnWriter *)w)->text);
    fa_free(w);
}

// fascia/json.h: writing JSON; commas, nesting and escapes are kept for you.
//
//     FaJsonWriter *w;  fa_json_new(&w, &err);
//     fa_json_begin(w, NULL, '{');  fa_json_text(w, "name", "x");  fa_json_number(w, "ms", 1.5);  fa_json_end(w);
//     char *json;  fa_json_finish(w, &json, &err);  puts(json);  fa_free(json);
// A failed allocation is kept and told by fa_json_finish: nothing in between has to be checked.
#ifndef FASCIA_JSON_H
#define FASCIA_JSON_H

#include "fascia/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaJsonWriter FaJsonWriter;

FA_API FaCode fa_json_new(FaJsonWriter **writer, FaError *err);
/// key: NULL inside arrays and at the top. bracket: '{' or '['.
FA_API void fa_json_begin(FaJsonWriter *writer, const char *key, char bracket);
FA_API void fa_json_end(FaJsonWriter *writer);
FA_API void fa_json_text(FaJsonWriter *writer, const char *key, const char *value); // NULL value: null
FA_API void fa_json_number(FaJsonWriter *writer, const char *key, double value);    // NaN and infinity: null
FA_API void fa_json_int(FaJsonWriter *writer, const char *key, int64_t value);
FA_API void fa_json_bool(FaJsonWriter *writer, const char *key, bool value);
FA_API void fa_json_raw(FaJsonWriter *writer, const char *key, const char *json); // a value that is JSON already
/// The members of an object that is JSON already, inside the object that is open.
FA_API void fa_json_members(FaJsonWriter *writer, const char *object);
/// The text (free with fa_free), and the writer is freed, also on failure. Everything begun must have ended.
FA_API FaCode fa_json_finish(FaJsonWriter *writer, char **json, FaError *err);
FA_API void fa_json_free(FaJsonWriter *writer); // of a writer that is not finished; NULL is fine

#ifdef __cplusplus
}
#endif
#endif

// A growing text: what writers and JSON printers append to. A failed allocation sets `failed` and drops the rest,
// so that callers check once, at the end.
#ifndef FAI_TEXT_H
#define FAI_TEXT_H

#include "base/base.h"
#include "fascia/json.h"

typedef struct FaText {
    char *data; // always terminated once something was added (size + 1)
    size_t size;
    size_t room;
    bool failed;
} FaText;

void fai_text_bytes(FaText *t, const void *data, size_t size);
void fai_text_str(FaText *t, const char *s);
void fai_text_printf(FaText *t, const char *fmt, ...) FA_PRINTF(2, 3); // no %f/%g: use the two below
void fai_text_double(FaText *t, double v);                             // shortest round trip
void fai_text_float(FaText *t, float v);
void fai_text_json_string(FaText *t, const char *s, size_t n); // quoted and escaped
void fai_text_json_number(FaText *t, double v);                // NaN and Inf become null
void fai_text_free(FaText *t);

// --- writing JSON: commas and nesting are kept for you ---
// fai_jw_open(&w, NULL, '{'); fai_jw_str(&w, "name", "x"); fai_jw_num(&w, "ms", 1.5); fai_jw_close(&w);
struct FaJsonWriter { // the public type, fascia/json.h
    FaText *text;
    int depth;
    bool comma[32];
    char closer[32];
    bool pretty;
};

void fai_jw_open(FaJsonWriter *w, const char *key, char bracket); // key NULL inside arrays and at the top
void fai_jw_close(FaJsonWriter *w);
void fai_jw_str(FaJsonWriter *w, const char *key, const char *value); // NULL value: null
void fai_jw_num(FaJsonWriter *w, const char *key, double value);
void fai_jw_float(FaJsonWriter *w, const char *key, float value);
void fai_jw_int(FaJsonWriter *w, const char *key, int64_t value);
void fai_jw_bool(FaJsonWriter *w, const char *key, bool value);
void fai_jw_raw(FaJsonWriter *w, const char *key, const char *json, size_t n);
void fai_jw_notes(FaJsonWriter *w, const char *key, const FaNotes *notes); // an array of them

#endif

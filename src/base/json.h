// JSON with its spelling kept: a value that was not changed is written back byte for byte (numbers keep their
// digits, objects their order, whitespace its place). Strict RFC 8259, UTF-8, bounded depth.
//
// Why not a library: the ones at hand re-spell numbers (0.1 -> 0.10000000000000001), which would change every byte
// of a user's glTF, and they cannot name the place of a value that is well-formed but wrong.
#ifndef FAI_JSON_H
#define FAI_JSON_H

#include "base/text.h"

typedef enum FaJsonType {
    FA_JSON_NULL,
    FA_JSON_FALSE,
    FA_JSON_TRUE,
    FA_JSON_NUMBER,
    FA_JSON_STRING,
    FA_JSON_ARRAY,
    FA_JSON_OBJECT
} FaJsonType;

typedef struct FaJson FaJson;
struct FaJson {
    const char *src;       // source text of the value; made here: its text, or NULL for arrays and objects
    const char *key;       // decoded, terminated; NULL outside objects
    const char *src_key;   // the key as spelled, with quotes, or NULL if added here
    const char *from, *to; // its place in the container's source, key included; kept when the value is replaced
    const char *string;    // decoded, terminated; may hold zero bytes, see string_size
    double number;
    FaJson *first, *last; // children in order
    FaJson *next;         // sibling
    FaJson *parent;
    FaJson **index; // children of an array by position
    int src_size;
    int src_key_size;
    int gap; // bytes from the end of src_key to the value: colon and spaces
    int string_size;
    int count;          // children
    unsigned char type; // FaJsonType
    bool changed;       // this value or one inside it no longer equals its source text
};

typedef struct FaJsonDoc {
    FaJson *root;
    FaArena *arena;
    char *text; // owned copy of the source
    size_t size;
    FaJson *slab; // room for the next values
    int slab_left;
} FaJsonDoc;

// Parse; the text is copied. A UTF-8 byte order mark is skipped and reported in *bom (nullable). Errors give line and
// column.
FaCode fai_json_parse(const char *text, size_t size, FaJsonDoc **doc, bool *bom, FaError *err);
void fai_json_free(FaJsonDoc *doc);

// Look-ups; NULL-safe, so they chain: fai_json_get(fai_json_at(fai_json_get(root, "nodes"), 3), "mesh").
FaJson *fai_json_get(const FaJson *object, const char *key); // first with this key; NULL if absent
FaJson *fai_json_at(const FaJson *array, int i);             // NULL out of range
int fai_json_count(const FaJson *value);                     // 0 for anything but arrays and objects
static inline bool fai_json_is(const FaJson *v, FaJsonType type) { return v && v->type == type; }
FaPlace fai_json_path(const FaJson *value); // "/meshes/0/primitives/1"

FaPlace fai_json_show(const FaJson *value); // its text as a message may quote it: short, and one line

// Typed reads that fail with the JSON path. `absent` forms accept a missing key.
FaCode fai_json_int(const FaJson *object, const char *key, int64_t min, int64_t max, int64_t *value, FaError *err);
FaCode fai_json_int_or(const FaJson *object, const char *key, int64_t min, int64_t max, int64_t absent, int64_t *value,
                       FaError *err);
FaCode fai_json_num_or(const FaJson *object, const char *key, double absent, double *value, FaError *err); // finite
FaCode fai_json_str_or(const FaJson *object, const char *key, const char *absent, const char **value, FaError *err);
FaCode fai_json_array_or_null(const FaJson *object, const char *key, FaJson **value, FaError *err);
FaCode fai_json_object_or_null(const FaJson *object, const char *key, FaJson **value, FaError *err);
FaCode fai_json_nums(const FaJson *object, const char *key, int n, double *out, bool *present,
                     FaError *err); // array of exactly n finite numbers

// Changes. New values live in the document's arena; all return NULL on no memory.
FaJson *fai_json_new_int(FaJsonDoc *doc, int64_t v);
FaJson *fai_json_new_num(FaJsonDoc *doc, double v);
FaJson *fai_json_new_float(FaJsonDoc *doc, float v);
FaJson *fai_json_new_bool(FaJsonDoc *doc, bool v);
FaJson *fai_json_new_str(FaJsonDoc *doc, const char *s);
FaJson *fai_json_new_array(FaJsonDoc *doc);
FaJson *fai_json_new_object(FaJsonDoc *doc);
FaJson *fai_json_set(FaJsonDoc *doc, FaJson *object, const char *key, FaJson *value); // add or replace; returns value
FaJson *fai_json_append(FaJsonDoc *doc, FaJson *array, FaJson *value);                // returns value
bool fai_json_remove(FaJson *object, const char *key);
FaJson *fai_json_copy(FaJsonDoc *doc, const FaJson *value); // deep, unattached

// Append the value's text; unchanged parts come out as they were spelled.
void fai_json_write(const FaJson *value, FaText *out);

#endif

// Walking over JSON text without making values of it: for files whose frames are parsed one at a time, so that memory
// does not grow with the text. Strict: what is walked over is well-formed but for escapes inside of strings.
#ifndef FAI_JSON_WALK_H
#define FAI_JSON_WALK_H

#include "base/base.h"

typedef struct FaJsonWalk {
    const char *text, *p, *end; // all of it, the place, its end
    FaError *err;
} FaJsonWalk;

// A value's text.
typedef struct FaJsonSpan {
    const char *at, *end; // NULL: absent
    int count;            // elements, if it is an array or an object
} FaJsonSpan;

char fai_json_peek(FaJsonWalk *w);                             // the next byte that is no space; 0 at the end
FaCode fai_json_syntax(const FaJsonWalk *w, const char *what); // the failure at w->p
FaCode fai_json_skip_string(FaJsonWalk *w);                    // w->p at its opening quote
FaCode fai_json_skip_value(FaJsonWalk *w, FaJsonSpan *span);   // over one value of any kind
FaCode fai_json_skip_key(FaJsonWalk *w, const char **at,
                         int *size); // "key": and spaces; what stands between the quotes
FaCode fai_json_next(FaJsonWalk *w, bool first, char close, bool *more); // to the next element or member of a container

#endif

// Parameters of every method: what is accepted can be written and read again, and then says the same.
#include "fuzz.h"
#include "json_mutator.h"

#include "base/base.h"
#include "fascia/method.h"

#include <stdlib.h>

static void one_method(const char *method, const char *json) {
    FaParams *a, *b;
    FaError err = {0};
    if (fa_params_new(method, &a, &err) < 0 || fa_params_new(method, &b, &err) < 0) abort();
    FaCode rc = fa_params_read(a, json, &err);
    if (rc < 0 && !err.what[0]) abort();
    char *once = NULL, *twice = NULL;
    err = (FaError){0};
    if (fa_params_json(a, &once, &err) < 0) abort();
    if (rc >= 0 && (fa_params_read(b, once, &err) < 0 || fa_params_json(b, &twice, &err) < 0 || strcmp(once, twice)))
        abort();
    fa_free(once);
    fa_free(twice);
    fa_params_free(a);
    fa_params_free(b);
}

void fuzz_one(const uint8_t *data, size_t size) {
    char *json = malloc(size + 1);
    if (!json) abort();
    if (size) memcpy(json, data, size);
    json[size] = 0;
    static const char *const method[] = {"analytic", "projective", "blendforces", "enrich"};
    for (int i = 0; i < FA_COUNT(method); i++) one_method(method[i], json);
    free(json);
}

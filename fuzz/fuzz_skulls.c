// Regressors of skulls, sum and size made right first: what is taken gives finite depths, and is the same again.
#include "fuzz.h"

#include "base/file.h"
#include "fascia/skulls.h"

#include <stdlib.h>

enum { HEADER = 24 };

static void use(const uint8_t *data, size_t size) {
    FaSkulls *s;
    FaError err = {0};
    FuzzFile file = fuzz_file(data, size);
    FaCode rc = fa_skulls_load(file.path, &s, &err);
    fuzz_file_close(&file);
    if (rc < 0) {
        if (!err.what[0] || s) abort();
        return;
    }
    const char *path = fuzz_named_file("again.skulls", NULL, 0);
    FaBytes bytes;
    if (fa_skulls_save(s, path, &err) < 0 || fai_file_read(path, 0, &bytes, &err) < 0) abort();
    if (bytes.size != size || memcmp(bytes.data, data, size)) abort();
    fai_bytes_free(&bytes);
    fa_skulls_free(s);
}

static void mend(uint8_t *data, size_t size) {
    const uint64_t total = size, sum = fai_hash64(data + HEADER, size - HEADER, 4);
    memcpy(data, "FASKL1\n\x1a", 8);
    memcpy(data + 8, &total, 8);
    memcpy(data + 16, &sum, 8);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, HEADER, mend, use); }

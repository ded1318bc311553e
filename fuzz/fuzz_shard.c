// Shards of training samples, sum and size made right first: what is taken is finite and is the same again.
#include "fuzz.h"

#include "neural/shard.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>

enum { HEADER = 24 };

static void use(const uint8_t *data, size_t size) {
    FaShard s;
    FaError err = {0};
    FuzzFile file = fuzz_file(data, size);
    FaCode rc = fai_shard_read(file.path, &s, &err);
    fuzz_file_close(&file);
    if (rc < 0) {
        if (!err.what[0] || s.neutral || s.correction) abort();
        return;
    }
    const size_t n = 3 * (size_t)s.nvert * (size_t)s.npose;
    for (size_t i = 0; i < n; i++)
        if (!isfinite(fai_half_float(s.difference[i]) + fai_half_float(s.correction[i]))) abort();
    const char *path = fuzz_named_file("again.shard", NULL, 0);
    FaBytes bytes;
    if (fai_shard_write(path, &s, &err) < 0 || fai_file_read(path, 0, &bytes, &err) < 0) abort();
    if (bytes.size != size || memcmp(bytes.data, data, size)) abort();
    fai_bytes_free(&bytes);
    fai_shard_free(&s);
}

static void mend(uint8_t *data, size_t size) {
    const uint64_t total = size, sum = fai_hash64(data + HEADER, size - HEADER, 4);
    memcpy(data, "FASHD1\n\x1a", 8);
    memcpy(data + 8, &total, 8);
    memcpy(data + 16, &sum, 8);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, HEADER, mend, use); }

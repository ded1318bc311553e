// Templates of sets of samples, sum and size made right first: what is taken is sound, and is the same again.
#include "fuzz.h"

#include "neural/net_template.h"

#include "base/file.h"

#include <stdlib.h>

enum { HEADER = 24 };

static void use(const uint8_t *data, size_t size) {
    FaTemplate m, again;
    FaError err = {0};
    FuzzFile file = fuzz_file(data, size);
    FaCode rc = fai_template_read(file.path, &m, &err);
    fuzz_file_close(&file);
    if (rc < 0) {
        if (!err.what[0] || m.mean || m.clip) abort();
        return;
    }
    for (int i = 0; i < 3 * m.ntri; i++)
        if (m.tri[i] < 0 || m.tri[i] >= m.nvert) abort();
    const char *path = fuzz_named_file("template", NULL, 0);
    if (fai_template_write(path, &m, &err) < 0 || fai_template_read(path, &again, &err) < 0) abort();
    if (again.nvert != m.nvert || again.nclip != m.nclip || strcmp(again.made, m.made)) abort();
    if (memcmp(again.mean, m.mean, 3 * (size_t)m.nvert * sizeof(float))) abort();
    fai_template_free(&again);
    fai_template_free(&m);
}

static void mend(uint8_t *data, size_t size) {
    const uint64_t total = size, sum = fai_hash64(data + HEADER, size - HEADER, 4);
    memcpy(data, "FATPL1\n\x1a", 8);
    memcpy(data + 8, &total, 8);
    memcpy(data + 16, &sum, 8);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, HEADER, mend, use); }

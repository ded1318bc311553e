// Networks, sum and size made right first: what is taken is sound, plays, and is the same again.
#include "fuzz.h"

#include "neural/net.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>

enum { HEADER = 24 };

static void play(const FaNet *net) {
    const size_t n3 = 3 * (size_t)net->nvert;
    float *work = FA_NEW(fai_net_work(net), float), *d = FA_NEW(n3, float), *c = FA_NEW(n3, float);
    if (!work || !d || !c) abort();
    fai_net_apply(net, d, net->mean, c, work);
    for (size_t i = 0; i < n3; i++)
        if (c[i] != 0 && !isnan(c[i])) abort(); // f(0, n) = 0; infinite in between: odd weights
    fa_free(work), fa_free(d), fa_free(c);
}

static void use(const uint8_t *data, size_t size) {
    FaNet net, again;
    FaError err = {0};
    FaCode rc = fai_net_parse(data, size, "net", &net, &err);
    if (rc < 0) {
        if (!err.what[0] || net.mean || net.u) abort();
        return;
    }
    play(&net);
    const char *path = fuzz_named_file("again.net", NULL, 0);
    FaBytes first, second;
    if (fai_net_save(&net, path, &err) < 0 || fai_net_load(path, &again, &err) < 0) abort();
    if (fai_file_read(path, 0, &first, &err) < 0 || fai_net_save(&again, path, &err) < 0) abort();
    if (fai_file_read(path, 0, &second, &err) < 0) abort();
    if (first.size != second.size || memcmp(first.data, second.data, first.size)) abort();
    fai_bytes_free(&first), fai_bytes_free(&second);
    fai_net_free(&again);
    fai_net_free(&net);
}

static void mend(uint8_t *data, size_t size) {
    const uint64_t total = size, sum = fai_hash64(data + HEADER, size - HEADER, 4);
    memcpy(data, "FANET1\n\x1a", 8);
    memcpy(data + 8, &total, 8);
    memcpy(data + 16, &sum, 8);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, HEADER, mend, use); }

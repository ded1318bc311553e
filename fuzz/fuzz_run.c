// Run files. The header and the sums of the records are made right first, or no change would get past them. What is
// there is read in full; appending to it and opening it again gives one frame more.
#include "fuzz.h"

#include "method/run_store.h"

#include <stdlib.h>

enum { VERTS = 3, SHAPES = 2, STATE = 24, HEADER = 48 };
enum { PLAIN = 16 + 8 + (int)sizeof(FaMotion) + 4 * SHAPES + 12 * VERTS };
static const FaRunStoreShape shape = {.key = 7, .nvert = VERTS, .nshape = SHAPES, .state = STATE};

static void read_all(FaRunStore *run) {
    for (int f = 0; f < fai_run_store_count(run); f++) {
        FaRunStoreInput in;
        FaError err = {0};
        float surface[3 * VERTS];
        unsigned char state[STATE];
        bool has = fai_run_store_has_state(run, f);
        if (fai_run_store_read(run, f, &in, surface, has ? state : NULL, &err) < 0) abort();
        if (fai_run_store_read(run, f, &in, NULL, NULL, &err) < 0 || !in.weights) abort();
    }
}

static void use(const uint8_t *data, size_t size) {
    FuzzFile file = fuzz_file(data, size);
    for (int append = 0; append < 2; append++) {
        FaRunStore *run;
        const char *why;
        FaError err = {0};
        if (fai_run_store_open(file.path, &shape, append, &run, &why, &err) < 0 || (!run && !why[0])) abort();
        if (!run) break;
        read_all(run);
        if (append) {
            const float weights[SHAPES] = {0.5f, 1}, surface[3 * VERTS] = {0};
            const FaRunStoreInput in = {.time = 1, .weights = weights};
            int count = fai_run_store_count(run);
            if (fai_run_store_append(run, &in, surface, NULL, &err) < 0) abort();
            fai_run_store_close(run);
            if (fai_run_store_open(file.path, &shape, false, &run, &why, &err) < 0 || !run) abort();
            if (fai_run_store_count(run) != count + 1) abort();
            read_all(run);
        }
        fai_run_store_close(run);
    }
    fuzz_file_close(&file);
}

static void mend(uint8_t *data, size_t size) {
    memcpy(data, "FATAKE01", 8);
    memcpy(data + 8, &shape, 32);
    uint64_t sum = fai_hash64(data, HEADER - 8, 0);
    memcpy(data + HEADER - 8, &sum, 8);
    for (size_t at = HEADER; at + PLAIN + 8 <= size;) {
        size_t n = PLAIN + (data[at + 8] ? STATE : 0);
        if (at + n + 8 > size) break;
        sum = fai_hash64(data + at, n, shape.key);
        memcpy(data + at + n, &sum, 8);
        at += n + 8;
    }
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, HEADER, mend, use); }

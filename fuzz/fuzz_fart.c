// Bound faces (.fart), sum and size made right first: what is taken plays without reading outside of the file.
#include "fuzz.h"

#include "base/base.h"
#include "fascia_rt.h"
#include "neural/rt_layout.h"

#include <stdlib.h>

static void play(FaRt *face) {
    size_t n = 3 * (size_t)fa_rt_vertices(face), m = (size_t)fa_rt_shapes(face) + 1;
    if (n > 1 << 22) return; // the test's memory
    float *x = malloc(n * sizeof *x), *w = malloc(m * sizeof *w);
    if (!x || !w) abort();
    for (size_t s = 0; s < m; s++) w[s] = (float)(s % 4) / 4;
    for (int simd = 0; simd < 2; simd++) {
        fa_rt_simd(face, simd);
        fa_rt_frame(face, w, x);
    }
    if (fa_rt_spring(face, 1, 1, 50) < 0) abort();
    fa_rt_soften(face, 0.02, w, w);
    fa_rt_soften(face, 0.02, w, w);
    if (fa_rt_find(face, "jawOpen") >= fa_rt_shapes(face)) abort();
    free(x);
    free(w);
}

static void use(const uint8_t *data, size_t size) {
    void *copy = aligned_alloc(64, (size + 64) / 64 * 64); // what comes in need not be aligned
    if (!copy) abort();
    memcpy(copy, data, size);
    size_t room = fa_rt_room(copy, size);
    if (room && room < (size_t)1 << 28) {
        char why[FA_RT_TEXT] = "";
        void *memory = aligned_alloc(64, (room + 63) / 64 * 64);
        FaRt *face;
        if (!memory) abort();
        int rc = fa_rt_place(copy, size, memory, room, &face, why);
        if (rc < 0 ? face || !why[0] : !face) abort();
        if (rc >= 0) play(face);
        free(memory);
    }
    free(copy);
}

static void mend(uint8_t *data, size_t size) {
    const uint64_t head[2] = {FA_RT_SIGNATURE, size}, sum = fa_rt_sum(data + FA_RT_HEAD, size - FA_RT_HEAD);
    memcpy(data, head, sizeof head);
    memcpy(data + 16, &sum, sizeof sum);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, FA_RT_HEAD, mend, use); }

// The partial file of the volumes, its size and sum made right first: all of it is taken, or nothing.
#include "fuzz.h"

#include "build/volume_part.h"

#include <math.h>
#include <stdlib.h>

enum { SHAPES = 3, NODES = 40, HEADER = 32 };
static const uint64_t KEY = 11;

static void use(const uint8_t *data, size_t size) {
    FaVolumeColumn column[SHAPES] = {0};
    int taken = fai_volume_part_unpack(data, size, KEY, SHAPES, NODES, column), done = 0;
    for (int s = 0; s < SHAPES; s++) {
        const FaVolumeColumn *c = &column[s];
        done += c->done;
        if (c->done ? !c->node || !c->value : c->node || c->value || c->count) abort();
        for (int i = 0; i < c->count; i++)
            if (c->node[i] < 0 || c->node[i] >= NODES || !isfinite(c->value[3 * i])) abort();
    }
    if (done != taken) abort();
    FaText text = {0};
    FaVolumeColumn again[SHAPES] = {0};
    fai_volume_part_pack(KEY, SHAPES, column, &text);
    if (text.failed || fai_volume_part_unpack(text.data, text.size, KEY, SHAPES, NODES, again) != taken) abort();
    fai_text_free(&text);
    fai_volume_columns_free(SHAPES, column);
    fai_volume_columns_free(SHAPES, again);
}

static void mend(uint8_t *data, size_t size) {
    const uint64_t total = size, sum = fai_hash64(data + HEADER, size - HEADER, KEY);
    memcpy(data, "FAVOL\r\n\x1a", 8);
    memcpy(data + 8, &KEY, 8);
    memcpy(data + 16, &total, 8);
    memcpy(data + 24, &sum, 8);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, HEADER, mend, use); }

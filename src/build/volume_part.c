#include "build/volume_part.h"

#include <math.h>

enum { HEADER = 32 };
static const char SIGNATURE[8] = {'F', 'A', 'V', 'O', 'L', '\r', '\n', 0x1a};

void fai_volume_part_pack(uint64_t key, int nshape, const FaVolumeColumn *column, FaText *out) {
    size_t from = out->size;
    uint64_t head[4] = {0};
    memcpy(head, SIGNATURE, 8);
    head[1] = key;
    fai_text_bytes(out, head, sizeof head);
    for (int s = 0; s < nshape; s++) {
        const FaVolumeColumn *c = &column[s];
        const int pair[2] = {s, c->count};
        if (!c->done) continue;
        fai_text_bytes(out, pair, sizeof pair);
        fai_text_bytes(out, c->node, (size_t)c->count * sizeof(int));
        fai_text_bytes(out, c->value, 3 * (size_t)c->count * sizeof(float));
    }
    if (out->failed) return;
    head[2] = out->size - from;
    head[3] = fai_hash64(out->data + from + HEADER, out->size - from - HEADER, key);
    memcpy(out->data + from, head, sizeof head);
}

static bool take(FaVolumeColumn *c, int nnode, int count, const unsigned char *at) {
    c->node = FA_NEW(count, int);
    c->value = FA_NEW(3 * (size_t)count, float);
    if (!c->node || !c->value) return false;
    memcpy(c->node, at, (size_t)count * sizeof(int));
    memcpy(c->value, at + (size_t)count * sizeof(int), 3 * (size_t)count * sizeof(float));
    for (int i = 0; i < count; i++)
        if (c->node[i] < 0 || c->node[i] >= nnode || (i && c->node[i] <= c->node[i - 1])) return false;
    for (int i = 0; i < 3 * count; i++)
        if (!isfinite(c->value[i])) return false;
    c->count = count;
    c->done = c->resumed = true;
    return true;
}

int fai_volume_part_unpack(const void *data, size_t size, uint64_t key, int nshape, int nnode, FaVolumeColumn *column) {
    const unsigned char *byte = data;
    uint64_t head[4];
    if (size < HEADER) return 0;
    memcpy(head, byte, sizeof head);
    bool good = !memcmp(head, SIGNATURE, 8) && head[1] == key && head[2] == size &&
                head[3] == fai_hash64(byte + HEADER, size - HEADER, key);
    int taken = 0;
    size_t at = HEADER;
    while (good && at < size) {
        int pair[2];
        good = size - at >= sizeof pair;
        if (!good) break;
        memcpy(pair, byte + at, sizeof pair);
        at += sizeof pair;
        good = pair[0] >= 0 && pair[0] < nshape && pair[1] >= 0 && pair[1] <= nnode && !column[pair[0]].done &&
               (size - at) / 16 >= (size_t)pair[1] && take(&column[pair[0]], nnode, pair[1], byte + at);
        if (good) at += 16 * (size_t)pair[1], taken++;
    }
    if (good) return taken;
    fai_volume_columns_free(nshape, column);
    return 0;
}

void fai_volume_columns_free(int nshape, FaVolumeColumn *column) {
    for (int s = 0; column && s < nshape; s++) {
        fa_free(column[s].node);
        fa_free(column[s].value);
        column[s] = (FaVolumeColumn){0};
    }
}

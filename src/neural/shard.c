#include "neural/shard.h"

#include "base/file.h"

#include <float.h>
#include <math.h>

enum { VERTS = 1 << 24, POSES = 1 << 24, WEIGHTS = 4096 };
static const char SIGNATURE[8] = {'F', 'A', 'S', 'H', 'D', '1', '\n', 0x1a};

FaCode fai_shard_write(const char *path, const FaShard *s, FaError *err) {
    const uint64_t long_number[2] = {s->key, s->identity};
    const int number[4] = {s->nvert, s->nweight, s->npose, s->dropped};
    const size_t n3 = 3 * (size_t)s->nvert, np = (size_t)s->npose;
    FaText t = {0};
    fai_pack_begin(&t, SIGNATURE);
    fai_text_bytes(&t, long_number, sizeof long_number);
    fai_text_bytes(&t, number, sizeof number);
    fai_text_bytes(&t, s->neutral, n3 * sizeof(float));
    fai_text_bytes(&t, s->kind, np * sizeof(int));
    fai_text_bytes(&t, s->clip, np * sizeof(int));
    fai_text_bytes(&t, s->weight, np * (size_t)s->nweight * sizeof(float));
    fai_text_bytes(&t, s->difference, np * n3 * sizeof(uint16_t));
    fai_text_bytes(&t, s->correction, np * n3 * sizeof(uint16_t));
    return fai_pack_write(&t, path, err);
}

static void take_halfs(FaUnpack *u, uint16_t **to, size_t n) {
    *to = fai_unpack_array(u, n, sizeof **to);
    for (size_t i = 0; *to && i < n; i++)
        if (((*to)[i] & 0x7c00) == 0x7c00) u->bad = true; // infinite, or no number
}

static void take_all(FaUnpack *u, FaShard *s) {
    s->key = fai_unpack_u64(u);
    s->identity = fai_unpack_u64(u);
    s->nvert = fai_unpack_int(u, 1, VERTS);
    s->nweight = fai_unpack_int(u, 0, WEIGHTS);
    s->npose = fai_unpack_int(u, 0, POSES);
    s->dropped = fai_unpack_int(u, 0, INT32_MAX);
    const size_t n3 = 3 * (size_t)s->nvert, np = (size_t)s->npose;
    s->neutral = fai_unpack_floats(u, n3, -FLT_MAX, FLT_MAX);
    s->kind = fai_unpack_array(u, np, sizeof(int));
    s->clip = fai_unpack_array(u, np, sizeof(int));
    for (size_t i = 0; s->kind && s->clip && i < np; i++)
        if (s->kind[i] < FA_SAMPLE_CLIP || s->kind[i] > FA_SAMPLE_RANDOM || s->clip[i] < -1) u->bad = true;
    s->weight = fai_unpack_floats(u, np * (size_t)s->nweight, -FLT_MAX, FLT_MAX);
    take_halfs(u, &s->difference, np * n3);
    take_halfs(u, &s->correction, np * n3);
}

FaCode fai_shard_read(const char *path, FaShard *shard, FaError *err) {
    FaBytes bytes;
    FaUnpack u;
    *shard = (FaShard){0};
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    if (fai_unpack_begin(&u, bytes.data, bytes.size, SIGNATURE)) take_all(&u, shard);
    FaCode rc =
        fai_unpack_end(&u, "a shard of samples", "remove it, and run fascia dataset again: it makes it anew", err);
    fai_bytes_free(&bytes);
    if (rc < 0) fai_shard_free(shard);
    return fai_fail_in(err, rc, path);
}

void fai_shard_free(FaShard *s) {
    void *const array[] = {s->neutral, s->kind, s->clip, s->weight, s->difference, s->correction};
    for (int i = 0; i < FA_COUNT(array); i++) fa_free(array[i]);
    *s = (FaShard){0};
}

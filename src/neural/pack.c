#include "neural/pack.h"

#include "base/file.h"

#include <float.h>
#include <math.h>

enum { HEADER = 24, SEED = 4 };

// --- halfs --------------------------------------------------------------------------------------------------------

uint16_t fai_half(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    const uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
    b &= 0x7fffffff;
    if (b > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (b >= 0x477ff000) return (uint16_t)(sign | 0x7c00); // 65520 and up
    if (b < 0x38800000) {                                  // below 2^-14: steps of 2^-24
        if (b < 0x33000000) return sign;                   // below 2^-25
        const int shift = 126 - (int)(b >> 23);            // 14 .. 24
        const uint32_t m = (b & 0x7fffff) | 0x800000, half = 1u << (shift - 1), odd = m >> shift & 1;
        return (uint16_t)(sign | ((m + half - 1 + odd) >> shift));
    }
    return (uint16_t)(sign | ((b - 0x38000000 + 0xfff + (b >> 13 & 1)) >> 13));
}

float fai_half_float(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    float x;
    if (!e) {
        x = (float)m * 0x1p-24f;
        return sign ? -x : x;
    }
    const uint32_t b = sign | (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13;
    memcpy(&x, &b, sizeof x);
    return x;
}

// --- writing ------------------------------------------------------------------------------------------------------

void fai_pack_begin(FaText *t, const char signature[8]) {
    char head[HEADER] = {0};
    memcpy(head, signature, 8);
    fai_text_bytes(t, head, sizeof head);
}

FaCode fai_pack_end(FaText *t, FaError *err) {
    if (t->failed) return FA_FAIL_MEMORY(err);
    const uint64_t head[2] = {t->size, fai_hash64(t->data + HEADER, t->size - HEADER, SEED)};
    memcpy(t->data + 8, head, sizeof head);
    return FA_OK;
}

FaCode fai_pack_write(FaText *t, const char *path, FaError *err) {
    FaCode rc = fai_pack_end(t, err);
    if (rc >= 0) rc = fai_file_write(path, t->data, t->size, err);
    fai_text_free(t);
    return rc;
}

void fai_pack_halfs(FaText *t, const float *x, size_t n) {
    uint16_t part[256];
    for (size_t at = 0; at < n;) {
        size_t k = 0;
        while (k < 256 && at < n) part[k++] = fai_half(x[at++]);
        fai_text_bytes(t, part, k * sizeof *part);
    }
}

void fai_pack_name(FaText *t, const char *text, size_t room) {
    const char zero[64] = {0};
    const size_t n = FA_MIN(strlen(text), room - 1);
    fai_text_bytes(t, text, n);
    for (size_t left = room - n; left;) {
        const size_t k = FA_MIN(left, sizeof zero);
        fai_text_bytes(t, zero, k);
        left -= k;
    }
}

// --- reading ------------------------------------------------------------------------------------------------------

bool fai_unpack_begin(FaUnpack *u, const void *data, size_t size, const char signature[8]) {
    uint64_t head[2];
    *u = (FaUnpack){.bad = true};
    if (size < HEADER || memcmp(data, signature, 8)) return false;
    memcpy(head, (const char *)data + 8, sizeof head);
    if (head[0] != size || head[1] != fai_hash64((const char *)data + HEADER, size - HEADER, SEED)) return false;
    *u = (FaUnpack){.at = (const unsigned char *)data + HEADER, .end = (const unsigned char *)data + size};
    return true;
}

static const unsigned char *take(FaUnpack *u, size_t count, size_t size) {
    if (u->bad || (size_t)(u->end - u->at) / size < count) {
        u->bad = true;
        return NULL;
    }
    const unsigned char *at = u->at;
    u->at += count * size;
    return at;
}

uint64_t fai_unpack_u64(FaUnpack *u) {
    uint64_t v = 0;
    const unsigned char *at = take(u, 1, sizeof v);
    if (at) memcpy(&v, at, sizeof v);
    return v;
}

int fai_unpack_int(FaUnpack *u, int least, int most) {
    int32_t v = 0;
    const unsigned char *at = take(u, 1, sizeof v);
    if (at) memcpy(&v, at, sizeof v);
    if (!at || v < least || v > most) {
        u->bad = true;
        return least;
    }
    return v;
}

void *fai_unpack_array(FaUnpack *u, size_t count, size_t size) {
    const unsigned char *at = u->memory ? NULL : take(u, count, size);
    if (!at) return NULL;
    void *p = fai_alloc_array(count, size);
    if (p && count) memcpy(p, at, count * size);
    u->memory = !p;
    return p;
}

float *fai_unpack_floats(FaUnpack *u, size_t count, float least, float most) {
    float *x = fai_unpack_array(u, count, sizeof *x);
    for (size_t i = 0; x && i < count; i++)
        if (!(x[i] >= least && x[i] <= most)) u->bad = true;
    return x;
}

float *fai_unpack_halfs(FaUnpack *u, size_t count) {
    const unsigned char *at = u->memory ? NULL : take(u, count, sizeof(uint16_t));
    if (!at) return NULL;
    float *x = fai_alloc_array(count, sizeof *x);
    u->memory = !x;
    for (size_t i = 0; x && i < count; i++) {
        uint16_t h;
        memcpy(&h, at + 2 * i, sizeof h);
        if ((h & 0x7c00) == 0x7c00) u->bad = true;
        x[i] = fai_half_float(h);
    }
    return x;
}

void fai_unpack_name(FaUnpack *u, char *text, size_t room) {
    const unsigned char *at = take(u, room, 1);
    text[0] = 0;
    if (!at) return;
    if (!memchr(at, 0, room))
        u->bad = true;
    else
        memcpy(text, at, room);
}

FaCode fai_unpack_end(const FaUnpack *u, const char *kind, const char *remedy, FaError *err) {
    if (u->memory) return FA_FAIL_MEMORY(err);
    if (u->bad || u->at != u->end)
        return FA_FAIL(err, FA_E_FORMAT, NULL, remedy, "not %s: damaged, cut off, or of another version", kind);
    return FA_OK;
}

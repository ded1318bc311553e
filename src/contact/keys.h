// A set of pairs with a number each, in memory of a fixed size: open addressing, no removal but all at once.
#ifndef FAI_KEYS_H
#define FAI_KEYS_H

#include "base/base.h"
#include "contact/ccd.h"

typedef struct FaKeys {
    uint64_t *key; // 0 = empty                                  (size, a power of two)
    int *value;    //                                            (size)
    int size, count;
} FaKeys;

// Never 0. Vertex-triangle: point and triangle; edge-edge: both edges, the smaller first.
static inline uint64_t fai_pair_key(FaPairKind kind, int a, int b) {
    return ((uint64_t)1 << 63) | ((uint64_t)kind << 62) | ((uint64_t)(uint32_t)a << 31) | (uint64_t)(uint32_t)b;
}

// Room for n keys with half the table empty.
static inline bool fai_keys_new(FaKeys *s, int n) {
    s->size = 16;
    while (s->size < 2 * (int64_t)n && s->size < 1 << 30) s->size *= 2;
    s->count = 0;
    s->key = FA_NEW(s->size, uint64_t);
    s->value = FA_NEW(s->size, int);
    return s->key && s->value;
}

static inline void fai_keys_free(FaKeys *s) {
    fa_free(s->key);
    fa_free(s->value);
    *s = (FaKeys){0};
}

static inline void fai_keys_clear(FaKeys *s) {
    if (s->count) memset(s->key, 0, (size_t)s->size * sizeof *s->key);
    s->count = 0;
}

static inline int fai_keys_slot(const FaKeys *s, uint64_t key) {
    uint64_t h = key * 0x9E3779B97F4A7C15u;
    int i = (int)((h >> 32) & (uint64_t)(s->size - 1));
    while (s->key[i] && s->key[i] != key) i = (i + 1) & (s->size - 1);
    return i;
}

// Its number, or -1.
static inline int fai_keys_find(const FaKeys *s, uint64_t key) {
    if (!s->count) return -1;
    int i = fai_keys_slot(s, key);
    return s->key[i] ? s->value[i] : -1;
}

// Add, or change the number. False: full (more than half), nothing is changed.
static inline bool fai_keys_put(FaKeys *s, uint64_t key, int value) {
    int i = fai_keys_slot(s, key);
    if (!s->key[i]) {
        if (2 * (int64_t)(s->count + 1) > s->size) return false;
        s->count++;
        s->key[i] = key;
    }
    s->value[i] = value;
    return true;
}

#endif

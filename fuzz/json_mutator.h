// A mutator that knows a little JSON: besides libFuzzer's own changes it replaces numbers by telling ones, swaps words
// of the text for each other, and drops or doubles the parts between commas. Random bytes alone rarely keep JSON valid.
#ifndef FASCIA_FUZZ_JSON_MUTATOR_H
#define FASCIA_FUZZ_JSON_MUTATOR_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) __attribute__((weak)); // only with libFuzzer
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static uint32_t mutator_random(uint32_t *state) { return *state = *state * 1664525u + 1013904223u, *state >> 8; }

// Replace [at, at + old) by text; the size is unchanged if it does not fit.
static size_t splice(uint8_t *data, size_t size, size_t max_size, size_t at, size_t old, const void *text, size_t n) {
    if (size - old + n > max_size) return size;
    memmove(data + at + n, data + at + old, size - at - old);
    memcpy(data + at, text, n);
    return size - old + n;
}

static size_t change_number(uint8_t *data, size_t size, size_t max_size, uint32_t *r) {
    static const char *const telling[] = {
        "0",    "1",          "2",          "3",          "4",          "5",     "7",        "8",
        "12",   "16",         "36",         "255",        "256",        "65535", "-1",       "0.5",
        "1e30", "2147483647", "2147483648", "4294967295", "4294967296", "5120",  "5121",     "5122",
        "5123", "5125",       "5126",       "34963",      "1e400",      "-0.25", "16777217", "9007199254740993"};
    for (size_t start = mutator_random(r) % size, k = 0; k < size; k++) {
        size_t at = (start + k) % size, end = at;
        if (data[at] < '0' || data[at] > '9' || (at && data[at - 1] >= '0' && data[at - 1] <= '9')) continue;
        while (end < size && data[end] >= '0' && data[end] <= '9') end++;
        const char *text = telling[mutator_random(r) % (sizeof telling / sizeof *telling)];
        return splice(data, size, max_size, at, end - at, text, strlen(text));
    }
    return size;
}

// The n-th quoted word from a place on: its inside.
static int find_word(const uint8_t *data, size_t size, size_t from, size_t *at, size_t *n) {
    const uint8_t *a = from < size ? memchr(data + from, '"', size - from) : NULL;
    const uint8_t *b = a ? memchr(a + 1, '"', (size_t)(data + size - a - 1)) : NULL;
    if (!b || b - a > 40) return 0;
    *at = (size_t)(a + 1 - data);
    *n = (size_t)(b - a - 1);
    return 1;
}

static size_t change_word(uint8_t *data, size_t size, size_t max_size, uint32_t *r) {
    size_t at, n, from, m;
    char copy[48];
    if (!find_word(data, size, mutator_random(r) % size, &at, &n)) return size;
    if (!find_word(data, size, mutator_random(r) % size, &from, &m)) return size;
    memcpy(copy, data + from, m);
    return splice(data, size, max_size, at, n, copy, m);
}

static size_t change_item(uint8_t *data, size_t size, size_t max_size, uint32_t *r) {
    size_t from = mutator_random(r) % size;
    const uint8_t *a = memchr(data + from, ',', size - from);
    const uint8_t *b = a ? memchr(a + 1, ',', (size_t)(data + size - a - 1)) : NULL;
    char copy[512];
    if (!b || (size_t)(b - a) > sizeof copy) return size;
    size_t at = (size_t)(a - data), n = (size_t)(b - a);
    memcpy(copy, a, n);
    return mutator_random(r) % 2 ? splice(data, size, max_size, at, n, "", 0)
                                 : splice(data, size, max_size, at, 0, copy, n);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    uint32_t r = seed;
    if (!size || !LLVMFuzzerMutate) return size;
    switch (mutator_random(&r) % 5) {
    case 0:
    case 1: return change_number(data, size, max_size, &r);
    case 2: return change_word(data, size, max_size, &r);
    case 3: return change_item(data, size, max_size, &r);
    default: return LLVMFuzzerMutate(data, size, max_size);
    }
}

#endif

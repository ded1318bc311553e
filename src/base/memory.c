// The allocator hook, checked arrays, and arenas.
#include "base/base.h"

#include <stdlib.h>

static void *default_resize(void *user, void *old, size_t size) {
    (void)user;
    if (size) return realloc(old, size);
    free(old);
    return NULL;
}

static FaAllocator allocator = {default_resize, NULL};

void fa_allocator_set(const FaAllocator *alloc) { allocator = alloc ? *alloc : (FaAllocator){default_resize, NULL}; }

void *fai_resize(void *old, size_t size) { return allocator.resize(allocator.user, old, size); }

void fa_free(void *data) {
    if (data) fai_resize(data, 0);
}

void *fai_alloc_array(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX) return NULL;
    if (bytes == 0) bytes = 1;
    void *p = fai_resize(NULL, bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

void *fai_grow_array(void *old, int *room, int need, size_t size) {
    if (need <= *room && old) return old;
    int64_t want = FA_MAX((int64_t)need, (int64_t)*room + *room / 2 + 8);
    if (want > INT32_MAX) want = INT32_MAX;
    if (want < need || (size_t)want > PTRDIFF_MAX / size) return NULL;
    void *p = fai_resize(old, (size_t)want * size);
    if (p) *room = (int)want;
    return p;
}

char *fai_strndup(const char *s, size_t n) {
    char *p = s ? fai_alloc_array(n + 1, 1) : NULL;
    if (p) memcpy(p, s, n);
    return p;
}

char *fai_strdup(const char *s) { return s ? fai_strndup(s, strlen(s)) : NULL; }

// --- arenas: a list of blocks, newest first; released blocks beyond the first are given back ----------------------

enum { ALIGN = 64, DEFAULT_BLOCK = 64 * 1024 };

typedef struct Block {
    struct Block *older;
    char *data; // aligned start
    size_t room, used;
} Block;

struct FaArena {
    Block *block;
    size_t block_size, total, peak;
};

FaArena *fai_arena_new(size_t block_size) {
    FaArena *a = FA_NEW(1, FaArena);
    if (a) a->block_size = block_size ? block_size : DEFAULT_BLOCK;
    return a;
}

static void drop_block(FaArena *a) {
    Block *b = a->block;
    a->block = b->older;
    a->total -= b->used;
    fa_free(b);
}

void fai_arena_free(FaArena *a) {
    if (!a) return;
    while (a->block) drop_block(a);
    fa_free(a);
}

void *fai_arena_push(FaArena *a, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX / 2) return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes == 0) bytes = ALIGN;
    Block *b = a->block;
    if (!b || b->room - b->used < bytes) {
        size_t room = FA_MAX(bytes, a->block_size);
        b = fai_resize(NULL, sizeof *b + room + ALIGN);
        if (!b) return NULL;
        uintptr_t start = ((uintptr_t)(b + 1) + ALIGN - 1) / ALIGN * ALIGN;
        *b = (Block){a->block, (char *)start, room, 0};
        a->block = b;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    a->total += bytes;
    a->peak = FA_MAX(a->peak, a->total);
    return memset(p, 0, bytes);
}

char *fai_arena_strndup(FaArena *a, const char *s, size_t n) {
    char *p = n < SIZE_MAX ? FA_PUSH(a, n + 1, char) : NULL;
    if (p && n) memcpy(p, s, n);
    return p;
}

char *fai_arena_printf(FaArena *a, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    char *p = n >= 0 ? FA_PUSH(a, (size_t)n + 1, char) : NULL;
    if (p) vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(args);
    return p;
}

FaMark fai_arena_mark(FaArena *a) { return (FaMark){a->block, a->block ? a->block->used : 0}; }

void fai_arena_release(FaArena *a, FaMark mark) {
    while (a->block && a->block != mark.block) drop_block(a);
    if (!a->block) return;
    a->total -= a->block->used - mark.used;
#ifndef NDEBUG
    memset(a->block->data + mark.used, 0xDB, a->block->used - mark.used); // poison: stale reads show
#endif
    a->block->used = mark.used;
}

size_t fai_arena_peak(const FaArena *a) { return a->peak; }

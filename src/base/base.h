// The ground: failing, allocating, arenas, notes. Internal to the library; knows nothing of faces.
#ifndef FAI_BASE_H
#define FAI_BASE_H

#include "fascia/base.h"

#include <stdarg.h>
#include <string.h>

#define FA_COUNT(a) ((int)(sizeof(a) / sizeof(*(a))))
#define FA_MIN(a, b) ((a) < (b) ? (a) : (b))
#define FA_MAX(a, b) ((a) > (b) ? (a) : (b))
#define FA_PRINTF(f, a) __attribute__((format(printf, f, a)))

// A caller's bug, not bad data: stops at once, in release builds too (the cost is one compare).
#define FA_ASSERT(cond) ((cond) ? (void)0 : fai_assert_failed(#cond, __FILE__, __LINE__))
_Noreturn void fai_assert_failed(const char *cond, const char *file, int line);

#define FA_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        FaCode c_ = (expr);                                                                                            \
        if (c_ < 0) return c_;                                                                                         \
    } while (0)
#define FA_TRY_GOTO(label, rc, expr)                                                                                   \
    do {                                                                                                               \
        (rc) = (expr);                                                                                                 \
        if ((rc) < 0) goto label;                                                                                      \
    } while (0)

// return FA_FAIL(err, FA_E_FORMAT, "line 12", "save it as UTF-8", "unexpected byte 0x%02x", c);
// place and remedy are strings or NULL. Returns the code; keeps the first failure.
#ifdef __clang_analyzer__ // sees one file at a time: here it learns what fai_fail returns, so that FA_TRY ends the path
#define FA_FAIL(err, code, place, remedy, ...)                                                                         \
    (fai_fail((err), (code), __func__, __LINE__, (place), (remedy), __VA_ARGS__), (code))
#else
#define FA_FAIL(err, code, place, remedy, ...)                                                                         \
    fai_fail((err), (code), __func__, __LINE__, (place), (remedy), __VA_ARGS__)
#endif
FaCode fai_fail(FaError *err, FaCode code, const char *func, int line, const char *place, const char *remedy,
                const char *fmt, ...) FA_PRINTF(7, 8);
#define FA_FAIL_MEMORY(err)                                                                                            \
    FA_FAIL((err), FA_E_MEMORY, NULL, "close other programs, or use a smaller file", "out of memory")
// Tell how far a long job is (fn is nullable): FA_E_CANCELLED where the caller says stop. kept: what is left of the
// work then, as half a sentence.
FaCode fai_progress(FaProgressFn *fn, void *user, const char *stage, double done, const char *kept, FaError *err);
void fai_error_name(FaError *err, const char *path);
// Name the file of a failure noticed further down, unless it is named already. Returns code.
static inline FaCode fai_fail_in(FaError *err, FaCode code, const char *path) {
    if (code < 0) fai_error_name(err, path);
    return code;
}

// A formatted place for FA_FAIL, valid until the end of the full expression that makes it.
typedef struct FaPlace {
    char text[160];
} FaPlace;
FaPlace fai_place(const char *fmt, ...) FA_PRINTF(1, 2);
#define FA_PLACE(...) (fai_place(__VA_ARGS__).text)

// --- memory -------------------------------------------------------------------------------------------------------
void *fai_resize(void *old, size_t size); // realloc's contract; size 0 frees
void *fai_alloc_array(size_t count,
                      size_t size); // zeroed; NULL on overflow or no memory; count 0 gives a valid pointer
void *fai_grow_array(void *old, int *room, int need, size_t size); // amortised growth; NULL (old kept) on failure
#define FA_NEW(count, T) ((T *)fai_alloc_array((size_t)(count), sizeof(T)))
char *fai_strdup(const char *s); // NULL for NULL or no memory
char *fai_strndup(const char *s, size_t n);

// Memory that is freed all at once: what is built once and lives long (a rig, a document), or scratch in a loop.
typedef struct FaArena FaArena;
typedef struct FaMark {
    void *block;
    size_t used;
} FaMark;
FaArena *fai_arena_new(size_t block_size);                       // NULL on no memory; block_size 0: default
void fai_arena_free(FaArena *arena);                             // NULL is fine
void *fai_arena_push(FaArena *arena, size_t count, size_t size); // zeroed, 64-byte aligned; NULL on failure
#define FA_PUSH(arena, count, T) ((T *)fai_arena_push((arena), (size_t)(count), sizeof(T)))
char *fai_arena_strndup(FaArena *arena, const char *s, size_t n);
char *fai_arena_printf(FaArena *arena, const char *fmt, ...) FA_PRINTF(2, 3);
FaMark fai_arena_mark(FaArena *arena);
void fai_arena_release(FaArena *arena, FaMark mark);
size_t fai_arena_peak(const FaArena *arena);

// --- notes --------------------------------------------------------------------------------------------------------
// Add a note, or raise the count of the one with this code. Running out of memory drops the note, never the work.
void fai_note(FaNotes *notes, const char *code, const char *where, const char *remedy, const char *fmt, ...)
    FA_PRINTF(5, 6);
// The same for something counted beforehand: the text names the count, nothing is added for count 0.
void fai_note_count(FaNotes *notes, int count, const char *code, const char *where, const char *remedy, const char *fmt,
                    ...) FA_PRINTF(6, 7);
const FaNote *fai_note_find(const FaNotes *notes, const char *code); // NULL if absent
void fai_notes_copy(FaNotes *to, const FaNotes *from);
void fai_notes_free(FaNotes *notes);

// --- log ----------------------------------------------------------------------------------------------------------
void fai_log(FaLevel level, const char *topic, int frame, const char *fmt, ...) FA_PRINTF(4, 5);

// --- time and chance ----------------------------------------------------------------------------------------------
double fai_seconds(void); // monotonic
// Counter-based random numbers: the same (seed, counter) gives the same bits anywhere, in any order.
uint64_t fai_random_u64(uint64_t seed, uint64_t counter);
double fai_random_unit(uint64_t seed, uint64_t counter);           // [0, 1)
double fai_random_normal(uint64_t seed, uint64_t counter);         // mean 0, sd 1
uint64_t fai_hash64(const void *data, size_t size, uint64_t seed); // a fast fingerprint, not cryptographic

#endif

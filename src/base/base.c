// Failing, logging, notes, time and chance.
#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

const char *fa_version(void) { return FA_VERSION_TEXT; }

const char *fa_code_name(FaCode code) {
    switch (code) {
    case FA_OK: return "ok";
    case FA_STALLED: return "stalled";
    case FA_CLAMPED: return "clamped";
    case FA_E_ARG: return "bad argument";
    case FA_E_MEMORY: return "out of memory";
    case FA_E_FILE: return "file error";
    case FA_E_FORMAT: return "bad input";
    case FA_E_UNSUPPORTED: return "unsupported";
    case FA_E_LIMIT: return "limit passed";
    case FA_E_MESH: return "bad geometry";
    case FA_E_NUMERIC: return "numeric failure";
    case FA_E_CANCELLED: return "cancelled";
    }
    return "unknown";
}

_Noreturn void fai_assert_failed(const char *cond, const char *file, int line) {
    fprintf(stderr, "fascia: %s:%d: internal error, please report it: %s\n", file, line, cond);
    abort();
}

// Copy a string that may be longer than its room; cut at a UTF-8 boundary.
static void copy_text(char *to, size_t room, const char *from) {
    size_t n = from ? strlen(from) : 0;
    if (n >= room) {
        n = room - 1;
        while (n > 0 && ((unsigned char)from[n] & 0xC0) == 0x80) n--;
    }
    if (n) memcpy(to, from, n);
    to[n] = 0;
}

FaCode fai_fail(FaError *err, FaCode code, const char *func, int line, const char *place, const char *remedy,
                const char *fmt, ...) {
    if (!err || err->code != FA_OK) return code;
    err->code = code;
    err->func = func;
    err->line = line;
    copy_text(err->place, sizeof err->place, place);
    copy_text(err->remedy, sizeof err->remedy, remedy);
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->what, sizeof err->what, fmt, args);
    va_end(args);
    return code;
}

FaCode fai_progress(FaProgressFn *fn, void *user, const char *stage, double done, const char *kept, FaError *err) {
    if (!fn || fn(user, stage, done)) return FA_OK;
    return FA_FAIL(err, FA_E_CANCELLED, FA_PLACE("%s, %.0f %%", stage, 100 * done), NULL, "cancelled: %s", kept);
}

void fai_error_name(FaError *err, const char *path) {
    if (err && !err->path[0]) copy_text(err->path, sizeof err->path, path);
}

FaPlace fai_place(const char *fmt, ...) {
    FaPlace place;
    va_list args;
    va_start(args, fmt);
    vsnprintf(place.text, sizeof place.text, fmt, args);
    va_end(args);
    return place;
}

int fa_error_text(const FaError *err, char *text, size_t size) {
    return snprintf(text, size, "%s%s%s%s%s%s%s%s", err->path, err->path[0] ? ": " : "", err->place,
                    err->place[0] ? ": " : "", err->what[0] ? err->what : fa_code_name(err->code),
                    err->remedy[0] ? " (" : "", err->remedy, err->remedy[0] ? ")" : "");
}

void fa_error_print(const FaError *err, FILE *out) {
    char text[1200];
    fa_error_text(err, text, sizeof text);
    fprintf(out, "fascia: %s\n", text);
}

// --- notes --------------------------------------------------------------------------------------------------------

static void free_note(FaNote *n) {
    fa_free((void *)n->code);
    fa_free((void *)n->text);
    fa_free((void *)n->where);
    fa_free((void *)n->remedy);
}

static void add_note(FaNotes *notes, const char *code, const char *text, const char *where, const char *remedy,
                     int count) {
    FaNote *grown = fai_grow_array(notes->note, &notes->room, notes->count + 1, sizeof *grown);
    if (!grown) return;
    notes->note = grown;
    FaNote n = {fai_strdup(code), fai_strdup(text), fai_strdup(where ? where : ""), fai_strdup(remedy ? remedy : ""),
                count};
    if (n.code && n.text && n.where && n.remedy)
        notes->note[notes->count++] = n;
    else
        free_note(&n);
}

static void note_args(FaNotes *notes, int count, const char *code, const char *where, const char *remedy,
                      const char *fmt, va_list args) {
    if (!notes || count <= 0) return;
    for (int i = 0; i < notes->count; i++) {
        if (strcmp(notes->note[i].code, code)) continue;
        notes->note[i].count += count;
        return;
    }
    char text[400];
    vsnprintf(text, sizeof text, fmt, args);
    add_note(notes, code, text, where, remedy, count);
}

void fai_note(FaNotes *notes, const char *code, const char *where, const char *remedy, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    note_args(notes, 1, code, where, remedy, fmt, args);
    va_end(args);
}

void fai_note_count(FaNotes *notes, int count, const char *code, const char *where, const char *remedy, const char *fmt,
                    ...) {
    va_list args;
    va_start(args, fmt);
    note_args(notes, count, code, where, remedy, fmt, args);
    va_end(args);
}

const FaNote *fai_note_find(const FaNotes *notes, const char *code) {
    for (int i = 0; i < notes->count; i++)
        if (!strcmp(notes->note[i].code, code)) return &notes->note[i];
    return NULL;
}

void fai_notes_copy(FaNotes *to, const FaNotes *from) {
    for (int i = 0; i < from->count; i++) {
        const FaNote *n = &from->note[i];
        if (!fai_note_find(to, n->code)) add_note(to, n->code, n->text, n->where, n->remedy, n->count);
    }
}

void fa_notes_free(FaNotes *notes) { fai_notes_free(notes); }

void fai_notes_free(FaNotes *notes) {
    for (int i = 0; i < notes->count; i++) free_note(&notes->note[i]);
    fa_free(notes->note);
    *notes = (FaNotes){0};
}

// --- log ----------------------------------------------------------------------------------------------------------

static void default_log(void *user, const FaLogRec *rec) {
    (void)user;
    if (rec->level <= FA_LOG_WARN) fprintf(stderr, "fascia: %s: %s\n", rec->topic, rec->text);
}

static FaLogFn *log_fn = default_log;
static void *log_user;

void fa_log_set(FaLogFn *fn, void *user) {
    log_fn = fn ? fn : default_log;
    log_user = user;
}

void fai_log(FaLevel level, const char *topic, int frame, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    log_fn(log_user, &(FaLogRec){level, topic, text, frame});
}

// --- time and chance ----------------------------------------------------------------------------------------------

double fai_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// Two rounds of a 64-bit finaliser (xor-shift-multiply) over seed and counter.
static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t fai_random_u64(uint64_t seed, uint64_t counter) {
    return mix(mix(seed + 0x9E3779B97F4A7C15u) + (counter + 1) * 0x9E3779B97F4A7C15u);
}

double fai_random_unit(uint64_t seed, uint64_t counter) {
    return (double)(fai_random_u64(seed, counter) >> 11) * 0x1p-53;
}

double fai_random_normal(uint64_t seed, uint64_t counter) {
    double u = 1.0 - fai_random_unit(seed, 2 * counter), v = fai_random_unit(seed, 2 * counter + 1);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

uint64_t fai_hash64(const void *data, size_t size, uint64_t seed) {
    const unsigned char *p = data;
    uint64_t h = mix(seed ^ (0x9E3779B97F4A7C15u * (uint64_t)size));
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = mix(h ^ w) + 0x9E3779B97F4A7C15u;
    }
    uint64_t tail = 0;
    if (size) memcpy(&tail, p, size);
    return mix(h ^ tail ^ ((uint64_t)size << 56));
}

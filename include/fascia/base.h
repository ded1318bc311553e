// fascia/base.h: error codes, errors that carry a sentence and a place, notes, logging, threads, memory.
//
// Every call that can fail returns an FaCode and takes a nullable FaError as its last argument:
//     FaError err = {0};
//     FaRig  *rig = NULL;
//     if (fa_rig_load("head.glb", NULL, &rig, &err) < 0) { fa_error_print(&err, stderr); return 1; }
// Negative codes are failures; positive codes are results that are usable but not perfect.
#ifndef FASCIA_BASE_H
#define FASCIA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FA_VERSION_MAJOR 0
#define FA_VERSION_MINOR 1
#define FA_VERSION_PATCH 0
#define FA_VERSION_TEXT "0.1.0"

#if defined(_WIN32)
#define FA_API __declspec(dllexport)
#else
#define FA_API __attribute__((visibility("default")))
#endif

typedef enum FaCode {
    FA_OK = 0,
    FA_STALLED = 1,        // the result is usable, the goal was missed
    FA_CLAMPED = 2,        // the result is usable, something was limited on the way
    FA_E_ARG = -1,         // a value given by the caller makes no sense
    FA_E_MEMORY = -2,      // out of memory
    FA_E_FILE = -3,        // a file cannot be opened, read or written
    FA_E_FORMAT = -4,      // a file's content is wrong
    FA_E_UNSUPPORTED = -5, // a file uses a feature that fascia does not read
    FA_E_LIMIT = -6,       // a stated limit would be passed
    FA_E_MESH = -7,        // geometry that cannot be used
    FA_E_NUMERIC = -8,     // a computation broke down
    FA_E_CANCELLED = -9,   // the progress callback said stop
} FaCode;

/// What went wrong, where, and what to do. Zero it before the first use; the first failure is kept.
typedef struct FaError {
    FaCode code;
    char what[320];   // the sentence
    char path[320];   // the file, or empty
    char place[160];  // "line 12, column 3", "/meshes/0/primitives/1", "frame 17", or empty
    char remedy[240]; // what to do about it, or empty
    const char *func; // where in fascia it was noticed
    int line;
} FaError;

FA_API const char *fa_version(void);
FA_API const char *fa_code_name(FaCode code); // "bad input", never NULL

/// Write "path: place: what (remedy)" as one line, always terminated. Returns the length needed, as snprintf does.
FA_API int fa_error_text(const FaError *err, char *text, size_t size);
FA_API void fa_error_print(const FaError *err, FILE *out);

/// Something seen in a file that did not stop the work. `code` is stable and meant for programs, e.g. "weights-over-1".
typedef struct FaNote {
    const char *code;
    const char *text;   // a sentence, with the count where there are several
    const char *where;  // place of the first one, or ""
    const char *remedy; // or ""
    int count;
} FaNote;

/// A list of notes; a note added again under the same code only raises its count.
typedef struct FaNotes {
    FaNote *note; // (count)
    int count;
    int room;
} FaNotes;

FA_API void fa_notes_free(FaNotes *notes); // of a list that is the caller's own

typedef enum FaLevel { FA_LOG_ERROR, FA_LOG_WARN, FA_LOG_INFO, FA_LOG_DEBUG } FaLevel;
typedef struct FaLogRec {
    FaLevel level;
    const char *topic; // the folder that speaks: "io", "rig", ...
    const char *text;
    int frame; // -1 where it does not apply
} FaLogRec;
typedef void FaLogFn(void *user, const FaLogRec *rec);

/// Where log lines go; NULL restores the default (warnings and errors to stderr). Call before other threads start.
FA_API void fa_log_set(FaLogFn *fn, void *user);

/// Long jobs call this between chunks of work: done in 0..1. Return false to cancel: the job then fails with
/// FA_E_CANCELLED, and its error says what is kept.
typedef bool FaProgressFn(void *user, const char *stage, double done);

/// How many threads fascia may use (0: all cores). Results do not depend on it.
FA_API void fa_threads_set(int count);
FA_API int fa_threads(void);

/// All of fascia's memory comes from here. `resize` has realloc's contract; NULL restores the C library's.
typedef struct FaAllocator {
    void *(*resize)(void *user, void *old, size_t size); // size 0 frees and returns NULL
    void *user;
} FaAllocator;
FA_API void fa_allocator_set(const FaAllocator *alloc);

/// Free a buffer that fascia handed out ("free with fa_free").
FA_API void fa_free(void *data);

#ifdef __cplusplus
}
#endif
#endif

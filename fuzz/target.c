// What all targets share: libFuzzer's door, one thread, no log, and the two promises about memory.
#include "fuzz.h"

#include "fascia/base.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t live, peak; // bytes of the library

static void *counting_resize(void *user, void *old, size_t size) {
    (void)user;
    size_t before = old ? malloc_usable_size(old) : 0;
    void *now = NULL;
    if (size)
        now = realloc(old, size);
    else
        free(old);
    if (size && !now) return NULL;
    live = live - before + (now ? malloc_usable_size(now) : 0);
    if (live > peak) peak = live;
    return now;
}

static void silent(void *user, const FaLogRec *rec) { (void)user, (void)rec; }

static void broken(const char *what, size_t bytes, size_t size) {
    fprintf(stderr, "fuzz: %s: %zu bytes for an input of %zu\n", what, bytes, size);
    abort();
}

static size_t grown(const uint8_t *data, size_t size) {
    size_t before = live;
    peak = live;
    fuzz_one(data, size);
    if (peak - before > 4 * size + (64u << 20)) broken("too much memory", peak - before, size);
    return live > before ? live - before : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const FaAllocator counting = {.resize = counting_resize};
    fa_allocator_set(&counting);
    fa_log_set(silent, NULL);
    fa_threads_set(1);
    // a table that is made once is no leak: what stays a second time is
    if (grown(data, size)) {
        size_t again = grown(data, size);
        if (again) broken("a leak", again, size);
    }
    return 0;
}

void fuzz_mended(const uint8_t *data, size_t size, size_t least, void (*mend)(uint8_t *data, size_t size),
                 FuzzUse *use) {
    use(data, size);
    if (size < least) return;
    uint8_t *copy = malloc(size);
    if (!copy) abort();
    memcpy(copy, data, size);
    mend(copy, size);
    use(copy, size);
    free(copy);
}

FuzzFile fuzz_file(const uint8_t *data, size_t size) {
    FuzzFile file = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};
    if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size) abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

void fuzz_file_close(FuzzFile *file) { close(file->fd); }

enum { NAMED_FILES = 4 };
static char folder[256], named[NAMED_FILES][320];
static int nnamed;

static void remove_folder(void) {
    for (int i = 0; i < nnamed; i++) unlink(named[i]);
    rmdir(folder);
}

const char *fuzz_named_file(const char *name, const uint8_t *data, size_t size) {
    char path[sizeof *named];
    if (!nnamed) {
        const char *tmp = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/fascia-fuzz-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        if (!mkdtemp(folder) || atexit(remove_folder)) abort();
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int i = 0;
    while (i < nnamed && strcmp(named[i], path)) i++;
    if (i == NAMED_FILES) abort();
    if (i == nnamed) memcpy(named[nnamed++], path, sizeof path);
    if (!data) return named[i];
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f)) abort();
    return named[i];
}

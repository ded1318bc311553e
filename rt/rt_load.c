// libfascia-rt's only call that allocates: a file, and the face, in one piece of memory.
#include "fascia_rt.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(char *why, int code, const char *what) {
    if (why) snprintf(why, FA_RT_TEXT, "%s", what);
    return code;
}

static size_t up(size_t n) { return (n + 63) / 64 * 64; }

static int read_all(FILE *file, void **data, size_t *size, char *why) {
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (end < 0 || fseek(file, 0, SEEK_SET) != 0) return fail(why, FA_RT_FILE, "the file cannot be read");
    *size = (size_t)end;
    *data = aligned_alloc(64, up(*size + 1));
    if (!*data) return fail(why, FA_RT_MEMORY, "no memory");
    return fread(*data, 1, *size, file) == *size ? FA_RT_OK : fail(why, FA_RT_FILE, "the file cannot be read");
}

// The face first, so that its address is that of the memory; the file's bytes follow.
int fa_rt_load(const char *path, FaRt **face, char why[FA_RT_TEXT]) {
    void *data = NULL, *memory = NULL;
    size_t size = 0;
    *face = NULL;
    FILE *file = fopen(path, "rb");
    if (!file) return fail(why, FA_RT_FILE, "the file cannot be opened");
    int rc = read_all(file, &data, &size, why);
    fclose(file);
    if (rc == FA_RT_OK) {
        size_t room = up(fa_rt_room(data, size));
        memory = aligned_alloc(64, room + up(size) + 64);
        if (!memory) rc = fail(why, FA_RT_MEMORY, "no memory");
        if (memory) {
            unsigned char *copy = (unsigned char *)memory + room;
            memcpy(copy, data, size);
            rc = fa_rt_place(copy, size, memory, room, face, why);
        }
    }
    free(data);
    if (rc < 0) free(memory);
    return rc;
}

void fa_rt_free(FaRt *face) { free(face); }

#include "base/file.h"

#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static FaCode read_all(const char *path, size_t max, bool input, FaBytes *bytes, FaError *err) {
    *bytes = (FaBytes){0};
    FaCode rc = FA_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe that nobody writes to must not stop us
    if (fd < 0) return fai_fail_errno(err, path, "open");
    struct stat st;
    if (fstat(fd, &st) < 0) {
        rc = fai_fail_errno(err, path, "read");
        goto done;
    }
    if (input) fai_input_read(fd);
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        rc = fai_fail_errno(err, path, "read");
        goto done;
    }
    if (!S_ISREG(st.st_mode)) {
        rc = fai_fail_in(err,
                         FA_FAIL(err, FA_E_FILE, NULL, "save what it gives to a file, and name that",
                                 "cannot read: a pipe or a device, not a file"),
                         path);
        goto done;
    }
    size_t size = (size_t)st.st_size;
    if (max && size > max) {
        rc = fai_fail_in(
            err, FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "the file has %zu bytes, at most %zu are read", size, max), path);
        goto done;
    }
    unsigned char *data = fai_resize(NULL, size + 1);
    if (!data) {
        rc = fai_fail_in(err, FA_FAIL_MEMORY(err), path);
        goto done;
    }
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, data + got, size - got);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            rc = fai_fail_errno(err, path, "read");
            fa_free(data);
            goto done;
        }
        if (n == 0) break; // shorter than it said: take what is there, the parser will judge
        got += (size_t)n;
    }
    data[got] = 0;
    *bytes = (FaBytes){data, got};
done:
    close(fd);
    return rc;
}

FaCode fai_file_read(const char *path, size_t max, FaBytes *bytes, FaError *err) {
    return read_all(path, max, true, bytes, err);
}

FaCode fai_file_read_own(const char *path, FaBytes *bytes, FaError *err) {
    return read_all(path, 0, false, bytes, err);
}

size_t fai_file_start(const char *path, void *start, size_t room) {
    size_t got = 0;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    for (ssize_t n = 1; n > 0 && got < room && fstat(fd, &st) == 0 && S_ISREG(st.st_mode); got += n > 0 ? (size_t)n : 0)
        n = read(fd, (char *)start + got, room - got);
    close(fd);
    return got;
}

void fai_bytes_free(FaBytes *bytes) {
    fa_free(bytes->data);
    *bytes = (FaBytes){0};
}

bool fai_file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool fai_dir_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// --- output -------------------------------------------------------------------------------------------------------

enum { BUFFER = 256 * 1024 };

struct FaOutput {
    FaScratch file;
    size_t used; // bytes waiting in the buffer
    unsigned char buffer[BUFFER];
};

FaCode fai_output_open(const char *path, FaOutput **out, FaError *err) {
    *out = NULL;
    FaOutput *o = FA_NEW(1, FaOutput);
    if (!o) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_scratch_open(path, &o->file, err);
    if (rc < 0)
        fa_free(o);
    else
        *out = o;
    return rc;
}

static FaCode write_all(FaOutput *o, const unsigned char *p, size_t size, FaError *err) {
    while (size) {
        ssize_t n = write(o->file.fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fai_fail_errno(err, o->file.path, "write");
        p += n;
        size -= (size_t)n;
    }
    return FA_OK;
}

static FaCode flush(FaOutput *o, FaError *err) {
    size_t n = o->used;
    o->used = 0;
    return write_all(o, o->buffer, n, err);
}

FaCode fai_output_write(FaOutput *o, const void *data, size_t size, FaError *err) {
    if (size > BUFFER - o->used) FA_TRY(flush(o, err));
    if (size >= BUFFER) return write_all(o, data, size, err);
    if (size) memcpy(o->buffer + o->used, data, size);
    o->used += size;
    return FA_OK;
}

FaCode fai_output_seek(FaOutput *o, uint64_t offset, FaError *err) {
    FA_TRY(flush(o, err));
    if (lseek(o->file.fd, (off_t)offset, SEEK_SET) < 0) return fai_fail_errno(err, o->file.path, "write");
    return FA_OK;
}

FaCode fai_output_finish(FaOutput *o, FaError *err) {
    FaCode rc = flush(o, err);
    if (rc >= 0)
        rc = fai_scratch_finish(&o->file, err);
    else
        fai_scratch_drop(&o->file);
    fa_free(o);
    return rc;
}

void fai_output_abandon(FaOutput *o) {
    if (!o) return;
    fai_scratch_drop(&o->file);
    fa_free(o);
}

FaCode fai_file_write(const char *path, const void *data, size_t size, FaError *err) {
    FaOutput *o;
    FA_TRY(fai_output_open(path, &o, err));
    FaCode rc = fai_output_write(o, data, size, err);
    if (rc >= 0) return fai_output_finish(o, err);
    fai_output_abandon(o);
    return rc;
}

// --- paths --------------------------------------------------------------------------------------------------------

const char *fai_path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *fai_path_ext(const char *path) {
    const char *base = fai_path_base(path), *dot = strrchr(base, '.');
    return dot && dot != base ? dot + 1 : "";
}

bool fai_path_has_ext(const char *path, const char *ext) { return !strcasecmp(fai_path_ext(path), ext); }

char *fai_path_join(const char *dir, const char *name) {
    size_t nd = strlen(dir), nn = strlen(name);
    while (nd > 1 && dir[nd - 1] == '/') nd--;
    char *p = FA_NEW(nd + nn + 2, char);
    if (!p) return NULL;
    memcpy(p, dir, nd);
    size_t at = nd;
    if (nd && p[nd - 1] != '/') p[at++] = '/';
    memcpy(p + at, name, nn);
    return p;
}

char *fai_path_dir(const char *path) {
    const char *base = fai_path_base(path);
    if (base == path) return fai_strdup(".");
    size_t n = (size_t)(base - path);
    while (n > 1 && path[n - 1] == '/') n--;
    return fai_strndup(path, n);
}

char *fai_path_stem(const char *path) {
    const char *base = fai_path_base(path), *dot = strrchr(base, '.');
    return fai_strndup(base, dot && dot != base ? (size_t)(dot - base) : strlen(base));
}

// A library to preload: the N-th call that changes files does not happen. FASCIA_KILL_AT=N: the process is killed
// before it, as by a power cut. FASCIA_FAIL_AT=N: it and all that follow fail as on a full disk (removing and closing
// still work there). Calls on stdout and stderr do not count. FASCIA_COUNT_TO=FILE: how many there were, at the end.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;

static long wanted(const char *name) {
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

// Whether the call must fail. room: it needs disk space.
static int is_faulty(int room) {
    long n = ++calls, kill_at = wanted("FASCIA_KILL_AT"), fail_at = wanted("FASCIA_FAIL_AT");
    if (kill_at && n >= kill_at) raise(SIGKILL);
    if (!fail_at || n < fail_at || !room) return 0;
    errno = ENOSPC;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAULTY(type, name, room, cond, params, args)                                                                   \
    type name params {                                                                                                 \
        if ((cond) && is_faulty(room)) return (type)-1;                                                                \
        return NEXT(name) args;                                                                                        \
    }

FAULTY(ssize_t, write, 1, fd > 2, (int fd, const void *data, size_t size), (fd, data, size))
FAULTY(ssize_t, pwrite, 1, fd > 2, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
FAULTY(ssize_t, pwrite64, 1, fd > 2, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
FAULTY(int, rename, 1, 1, (const char *from, const char *to), (from, to))
FAULTY(int, unlink, 0, 1, (const char *path), (path))
FAULTY(int, remove, 0, 1, (const char *path), (path))
FAULTY(int, rmdir, 0, 1, (const char *path), (path))
FAULTY(int, mkdir, 1, 1, (const char *path, mode_t mode), (path, mode))
FAULTY(int, fsync, 1, 1, (int fd), (fd))
FAULTY(int, syncfs, 0, 1, (int fd), (fd))
FAULTY(int, ftruncate, 0, 1, (int fd, off_t size), (fd, size))
FAULTY(int, ftruncate64, 0, 1, (int fd, off64_t size), (fd, size))
FAULTY(int, mkstemp, 1, 1, (char *name), (name))
FAULTY(int, mkostemp, 1, 1, (char *name, int flags), (name, flags))

char *mkdtemp(char *name) { return is_faulty(1) ? NULL : NEXT(mkdtemp)(name); }

size_t fwrite(const void *data, size_t size, size_t count, FILE *f) {
    if (f != stdout && f != stderr && is_faulty(1)) return 0;
    return NEXT(fwrite)(data, size, count, f);
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_list args;
        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    if ((flags & O_CREAT) && is_faulty(1)) return -1;
    return NEXT(open)(path, flags, mode);
}

__attribute__((destructor)) static void say_count(void) {
    const char *path = getenv("FASCIA_COUNT_TO");
    int fd = path ? NEXT(open)(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    if (fd >= 0) dprintf(fd, "%ld\n", atomic_load(&calls));
}

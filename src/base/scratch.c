#include "base/scratch.h"

#include "base/file.h"
#include "fascia/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

FaCode fai_fail_errno(FaError *err, const char *path, const char *verb) {
    int e = errno;
    const char *remedy = e == ENOENT                  ? "check the name and the folder"
                         : e == EACCES || e == EROFS  ? "check the permissions"
                         : e == ENOSPC || e == EDQUOT ? "free some disk space; the old file is untouched"
                         : e == EISDIR                ? "name a file, not a folder"
                         : e == ESPIPE                ? "name a file: this format cannot be written to a pipe"
                                                      : NULL;
    return fai_fail_in(err, FA_FAIL(err, FA_E_FILE, NULL, remedy, "cannot %s: %s", verb, strerror(e)), path);
}

// --- what is under way, for fa_scratch_remove ---------------------------------------------------------------------

enum { SLOTS = 64, LONGEST = 4096, ENDING = 12 }; // ENDING: of ".part-XXXXXX"
enum { EMPTY, A_FILE, A_FOLDER };

static struct {
    _Atomic int kind;
    _Atomic int count; // of a folder's files
    char path[LONGEST];
} slots[SLOTS];

// -1: no room, or a name too long: then a signal leaves it for the next run to remove.
static int slot_take(const char *path, int kind) {
    int got = -1;
    if (strlen(path) >= LONGEST - 16) return -1;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < SLOTS && got < 0; i++)
        if (slots[i].kind == EMPTY) got = i;
    if (got >= 0) {
        strcpy(slots[got].path, path);
        slots[got].count = 0;
        slots[got].kind = kind;
    }
    pthread_mutex_unlock(&mutex);
    return got;
}

static void slot_free(const char *path) {
    for (int i = 0; i < SLOTS; i++)
        if (slots[i].kind != EMPTY && !strcmp(slots[i].path, path)) slots[i].kind = EMPTY;
}

// Only calls that a signal handler may make.
static void remove_folder(char *path, int count) {
    size_t n = strlen(path);
    for (int i = 0; i < count; i++) {
        char digits[12];
        size_t at = sizeof digits;
        digits[--at] = 0;
        for (int v = i; at > 1 && (v || digits[at] == 0); v /= 10) digits[--at] = (char)('0' + v % 10);
        path[n] = '/';
        memcpy(path + n + 1, digits + at, sizeof digits - at);
        unlink(path);
    }
    path[n] = 0;
    rmdir(path);
}

void fa_scratch_remove(void) {
    for (int i = 0; i < SLOTS; i++) {
        int kind = slots[i].kind;
        slots[i].kind = EMPTY;
        if (kind == A_FILE) unlink(slots[i].path);
        if (kind == A_FOLDER) remove_folder(slots[i].path, slots[i].count);
    }
}

// --- what dead runs left ------------------------------------------------------------------------------------------

static void remove_all_in(const char *path) {
    DIR *dir = opendir(path);
    if (!dir) return;
    for (struct dirent *e; (e = readdir(dir));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(path);
}

static void remove_if_dead(const char *path) {
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0) return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0) {
        if (S_ISREG(st.st_mode))
            unlink(path);
        else if (S_ISDIR(st.st_mode))
            remove_all_in(path);
    }
    close(fd);
}

// Frames that a verb keeps while it runs, .fascia-PID-N.pc2, have a number in their name that no later run repeats:
// they are known by their beginning.
static bool is_left(const char *name, const char *base, size_t n) {
    if (!strncmp(name, ".fascia-", 8) && strstr(name, ".part-")) return true;
    return strlen(name) == n && strncmp(name, base, n - 6) == 0;
}

// pattern: "DIR/NAME.part-XXXXXX"
static void sweep(const char *pattern) {
    char *folder = fai_path_dir(pattern);
    const char *base = fai_path_base(pattern);
    size_t n = strlen(base);
    DIR *dir = folder ? opendir(folder) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_left(e->d_name, base, n)) continue;
        char *path = fai_path_join(folder, e->d_name);
        if (path) remove_if_dead(path);
        fa_free(path);
    }
    if (dir) closedir(dir);
    fa_free(folder);
}

// --- inputs -------------------------------------------------------------------------------------------------------

typedef struct Seen {
    dev_t dev;
    ino_t ino;
    bool ours;
} Seen;
static Seen *seen;
static int nseen, seen_room;
static bool protect;

void fa_inputs_protect(bool on) { protect = on; }

static void see(int fd, bool ours) {
    struct stat st;
    if (!protect || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) return;
    pthread_mutex_lock(&mutex);
    int at = 0;
    while (at < nseen && (seen[at].dev != st.st_dev || seen[at].ino != st.st_ino)) at++;
    if (at == nseen) {
        Seen *grown = nseen < seen_room ? seen : realloc(seen, (size_t)(2 * nseen + 64) * sizeof *grown);
        if (grown && nseen == seen_room) seen_room = 2 * nseen + 64;
        if (grown) (seen = grown)[nseen++] = (Seen){st.st_dev, st.st_ino, ours};
    } else if (ours)
        seen[at].ours = true;
    pthread_mutex_unlock(&mutex);
}

void fai_input_read(int fd) { see(fd, false); }
void fai_input_written(int fd) { see(fd, true); }

static bool is_input(const struct stat *st) {
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < nseen && !found; i++)
        found = protect && seen[i].dev == st->st_dev && seen[i].ino == st->st_ino && !seen[i].ours;
    pthread_mutex_unlock(&mutex);
    return found;
}

// --- one file -----------------------------------------------------------------------------------------------------

// Through links, so that they stay; also those that point to nothing yet.
static char *resolve(const char *path) {
    char link[LONGEST], *at = fai_strdup(path);
    for (int hops = 0; at && hops < 40; hops++) {
        ssize_t n = readlink(at, link, sizeof link - 1);
        if (n < 0) return at;
        link[n] = 0;
        char *dir = link[0] == '/' ? NULL : fai_path_dir(at);
        char *next = link[0] == '/' ? fai_strdup(link) : dir ? fai_path_join(dir, link) : NULL;
        fa_free(dir);
        fa_free(at);
        at = next;
    }
    return at;
}

static FaCode make_name(FaScratch *s, const struct stat *old, FaError *err) {
    size_t n = strlen(s->path);
    s->name = FA_NEW(n + ENDING + 1, char);
    if (!s->name) return FA_FAIL_MEMORY(err);
    snprintf(s->name, n + ENDING + 1, "%s.part-XXXXXX", s->path);
    sweep(s->name);
    s->fd = mkostemp(s->name, O_CLOEXEC);
    if (s->fd < 0) {
        fa_free(s->name);
        s->name = NULL;
        return fai_fail_errno(err, s->path, "write");
    }
    flock(s->fd, LOCK_EX | LOCK_NB); // nobody else knows the name
    slot_take(s->name, A_FILE);
    // mkostemp gives 0600: use what an ordinary new file, or the old one, would have
    mode_t mask = umask(0);
    umask(mask);
    fchmod(s->fd, old ? old->st_mode & 0777 : 0666 & ~mask);
    return FA_OK;
}

FaCode fai_scratch_open(const char *path, FaScratch *s, FaError *err) {
    struct stat st;
    *s = (FaScratch){.fd = -1, .path = resolve(path)};
    if (!s->path) return FA_FAIL_MEMORY(err);
    bool there = stat(s->path, &st) == 0;
    FaCode rc;
    if (there && is_input(&st))
        rc = fai_fail_in(
            err, FA_FAIL(err, FA_E_ARG, NULL, "name another file", "this run reads it, so it is not replaced"), path);
    else if (there && S_ISDIR(st.st_mode))
        errno = EISDIR, rc = fai_fail_errno(err, path, "write");
    else if (there && !S_ISREG(st.st_mode)) {
        s->fd = open(s->path, O_WRONLY | O_CLOEXEC);
        rc = s->fd < 0 ? fai_fail_errno(err, path, "write") : FA_OK;
    } else
        rc = make_name(s, there ? &st : NULL, err);
    if (rc < 0) fai_scratch_drop(s);
    return rc;
}

void fai_scratch_drop(FaScratch *s) {
    if (s->name) {
        unlink(s->name);
        slot_free(s->name);
    }
    if (s->path && s->fd >= 0) close(s->fd);
    fa_free(s->name);
    fa_free(s->path);
    *s = (FaScratch){.fd = -1};
}

// The rename itself must reach the disk too.
static void sync_folder(const char *path) {
    char *dir = fai_path_dir(path);
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    fa_free(dir);
}

static FaCode give_name(const char *name, const char *path, FaError *err) {
    if (rename(name, path) < 0) return fai_fail_errno(err, path, "write");
    slot_free(name);
    sync_folder(path);
    return FA_OK;
}

// Finished, but not to have its name before others are (fa_outputs_begin). It stays open, and by that locked.
enum { TOGETHER = 8 };
static FaScratch waiting[TOGETHER];
static int nwaiting;
static bool together;

void fa_outputs_begin(void) { together = true; }

FaCode fa_outputs_end(bool keep, FaError *err) {
    FaCode rc = FA_OK;
    // a kill between two names must not leave a new file beside an old one: the old ones go first, but for one that is
    // replaced at once
    for (int i = 1; i < nwaiting && keep; i++) unlink(waiting[i].path);
    for (int i = 0; i < nwaiting; i++) {
        FaScratch *s = &waiting[i];
        if (keep && rc >= 0) rc = give_name(s->name, s->path, err);
        if (keep && rc >= 0) {
            fa_free(s->name);
            s->name = NULL;
        }
        fai_scratch_drop(s);
    }
    nwaiting = 0;
    together = false;
    return rc;
}

FaCode fai_scratch_finish(FaScratch *s, FaError *err) {
    FaCode rc = FA_OK;
    if (fsync(s->fd) < 0 && errno != EINVAL && errno != EROFS) rc = fai_fail_errno(err, s->path, "write");
    if (rc >= 0) fai_input_written(s->fd);
    if (rc >= 0 && s->name && together && nwaiting < TOGETHER) {
        waiting[nwaiting++] = *s;
        *s = (FaScratch){.fd = -1};
        return FA_OK;
    }
    if (close(s->fd) < 0 && rc >= 0) rc = fai_fail_errno(err, s->path, "write");
    s->fd = -1;
    if (rc >= 0 && s->name && (rc = give_name(s->name, s->path, err)) >= 0) {
        fa_free(s->name);
        s->name = NULL;
    }
    fai_scratch_drop(s);
    return rc;
}

// --- a folder -----------------------------------------------------------------------------------------------------

FaCode fai_scratch_folder_open(const char *pattern, FaScratchFolder *s, FaError *err) {
    *s = (FaScratchFolder){.fd = -1, .name = fai_strdup(pattern), .slot = -1};
    if (!s->name) return FA_FAIL_MEMORY(err);
    sweep(s->name);
    if (!mkdtemp(s->name)) {
        FaCode rc = fai_fail_errno(err, pattern, "write");
        fa_free(s->name);
        *s = (FaScratchFolder){.fd = -1, .slot = -1};
        return rc;
    }
    s->fd = open(s->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->fd >= 0) flock(s->fd, LOCK_EX | LOCK_NB);
    s->slot = slot_take(s->name, A_FOLDER);
    return FA_OK;
}

void fai_scratch_folder_count(FaScratchFolder *s, int count) {
    if (s->slot >= 0) slots[s->slot].count = count;
}

void fai_scratch_folder_keep(FaScratchFolder *s) {
    if (s->slot >= 0) slots[s->slot].kind = EMPTY;
    s->slot = -1;
}

void fai_scratch_folder_close(FaScratchFolder *s) {
    if (s->slot >= 0) slots[s->slot].kind = EMPTY;
    if (s->name && s->fd >= 0) close(s->fd);
    fa_free(s->name);
    *s = (FaScratchFolder){.fd = -1, .slot = -1};
}

// --- claims -------------------------------------------------------------------------------------------------------

struct FaClaim {
    int fd;
    char *name; // of the lock
};

static char *lock_name(const char *path) {
    char *dir = fai_path_dir(path), *file = NULL, *name = NULL;
    size_t n = strlen(fai_path_base(path));
    if (dir && (file = FA_NEW(n + 8, char))) {
        snprintf(file, n + 8, ".%s.lock", fai_path_base(path));
        name = fai_path_join(dir, file);
    }
    fa_free(dir);
    fa_free(file);
    return name;
}

static FaCode fail_taken(int fd, const char *path, FaError *err) {
    char owner[120] = "";
    ssize_t n = pread(fd, owner, sizeof owner - 1, 0);
    owner[n > 0 ? n : 0] = 0;
    for (char *c = owner; *c; c++)
        if ((unsigned char)*c < ' ') *c = 0;
    return fai_fail_in(err,
                       FA_FAIL(err, FA_E_FILE, NULL, "wait until that has ended, or name another output",
                               "another run is writing it: %s", owner[0] ? owner : "it does not say which"),
                       path);
}

static void sign(int fd, const char *who) {
    char text[120], when[16] = "";
    time_t now = time(NULL);
    struct tm tm;
    if (localtime_r(&now, &tm)) strftime(when, sizeof when, "%H:%M:%S", &tm);
    int n = snprintf(text, sizeof text, "process %ld, %s, since %s\n", (long)getpid(), who, when);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)FA_MIN(n, (int)sizeof text - 1), 0) < 0) return; // only words
}

FaCode fa_claim_new(const char *path, const char *who, FaClaim **claim, FaError *err) {
    bool taken;
    return fai_claim_new(path, who, claim, &taken, err);
}

FaCode fai_claim_new(const char *path, const char *who, FaClaim **claim, bool *taken, FaError *err) {
    struct stat at, have;
    char *real = resolve(path), *name = real ? lock_name(real) : NULL;
    FaClaim *c = name ? FA_NEW(1, FaClaim) : NULL;
    *claim = NULL;
    *taken = false;
    FaCode rc = c ? FA_OK : FA_FAIL_MEMORY(err);
    bool needed = c && !(stat(real, &at) == 0 && !S_ISREG(at.st_mode) && !S_ISDIR(at.st_mode));
    // a holder that ends removes its lock: what was locked must still be what is called so
    for (bool done = !needed; rc >= 0 && !done;) {
        int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (fd < 0 && errno == ENOENT) break; // no such folder: whoever makes it will see
        if (fd < 0)
            rc = fai_fail_errno(err, path, "write");
        else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
            *taken = true, rc = fail_taken(fd, path, err);
        else if (fstat(fd, &have) == 0 && stat(name, &at) == 0 && at.st_ino == have.st_ino &&
                 at.st_dev == have.st_dev) {
            sign(fd, who);
            slot_take(name, A_FILE);
            *c = (FaClaim){fd, name};
            *claim = c;
            done = true;
            fd = -1;
        }
        if (fd >= 0) close(fd);
    }
    if (!*claim) {
        fa_free(name);
        fa_free(c);
    }
    fa_free(real);
    return rc;
}

void fa_claim_free(FaClaim *c) {
    if (!c) return;
    unlink(c->name);
    slot_free(c->name);
    close(c->fd);
    fa_free(c->name);
    fa_free(c);
}

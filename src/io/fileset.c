// While it is made, the i-th file is called i in a folder of its own:
//     frames.part-x7Gk2a/0, 1, 2, ...      the folder did not exist: one rename makes it appear whole
//     frames/.part-x7Gk2a/0, 1, 2, ...     it did: each file is renamed into place
// The disk is synced once, before the renames: syncing each of thousands of files would take minutes.
#include "io/fileset.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 1000000 };

struct FaFileSet {
    char *dir;   // final folder
    char *temp;  // folder until finished; "" when gone
    char **name; // final names
    int count, room;
    bool fresh; // dir did not exist
};

static FaCode fail_errno(FaError *err, const char *path) {
    int e = errno;
    const char *remedy = e == ENOSPC                 ? "free some disk space; what was there before is untouched"
                         : e == EACCES || e == EROFS ? "check the permissions of the folder"
                         : e == ENOENT               ? "make the folder it is in first"
                                                     : NULL;
    return fai_fail_in(err, FA_FAIL(err, FA_E_FILE, NULL, remedy, "cannot write: %s", strerror(e)), path);
}

static bool temp_path(const FaFileSet *s, int i, char *path, size_t size) {
    return snprintf(path, size, "%s/%d", s->temp, i) < (int)size;
}

FaCode fai_fileset_open(const char *dir, FaFileSet **set, FaError *err) {
    *set = NULL;
    FaFileSet *s = FA_NEW(1, FaFileSet);
    if (!s) return FA_FAIL_MEMORY(err);
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/') n--;
    s->dir = fai_strndup(dir, n);
    s->temp = FA_NEW(n + 16, char);
    if (!s->dir || !s->temp) {
        if (s->temp) s->temp[0] = 0;
        fai_fileset_abandon(s);
        return FA_FAIL_MEMORY(err);
    }
    s->fresh = !fai_dir_exists(s->dir);
    snprintf(s->temp, n + 16, s->fresh ? "%s.part-XXXXXX" : "%s/.part-XXXXXX", s->dir);
    if (!mkdtemp(s->temp)) {
        s->temp[0] = 0;
        FaCode rc = fail_errno(err, s->dir);
        fai_fileset_abandon(s);
        return rc;
    }
    mode_t mask = umask(0); // mkdtemp gives 0700
    umask(mask);
    if (s->fresh) chmod(s->temp, 0777 & ~mask);
    *set = s;
    return FA_OK;
}

static FaCode write_fd(int fd, const void *data, size_t size, const char *path, FaError *err) {
    for (const unsigned char *p = data; size;) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_errno(err, path);
        p += n;
        size -= (size_t)n;
    }
    return FA_OK;
}

static FaCode write_temp(const FaFileSet *s, int i, int flags, const void *data, size_t size, FaError *err) {
    char path[4200];
    errno = ENAMETOOLONG;
    int fd = temp_path(s, i, path, sizeof path) ? open(path, O_WRONLY | O_CLOEXEC | flags, 0666) : -1;
    if (fd < 0) return fail_errno(err, s->dir);
    FaCode rc = write_fd(fd, data, size, s->dir, err);
    if (close(fd) < 0 && rc >= 0) rc = fail_errno(err, s->dir);
    return rc;
}

FaCode fai_fileset_add(FaFileSet *s, const char *name, const void *data, size_t size, FaError *err) {
    FA_ASSERT(name[0] && !strchr(name, '/'));
    if (s->count == MAX_FILES)
        return fai_fail_in(err, FA_FAIL(err, FA_E_LIMIT, NULL, "write a .pc2 instead", "more than %d files", MAX_FILES),
                           s->dir);
    char **grown = fai_grow_array(s->name, &s->room, s->count + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(err);
    s->name = grown;
    s->name[s->count] = fai_strdup(name);
    if (!s->name[s->count]) return FA_FAIL_MEMORY(err);
    s->count++; // from here on abandon removes it
    return write_temp(s, s->count - 1, O_CREAT | O_EXCL, data, size, err);
}

FaCode fai_fileset_append(FaFileSet *s, const void *data, size_t size, FaError *err) {
    FA_ASSERT(s->count > 0);
    return write_temp(s, s->count - 1, O_APPEND, data, size, err);
}

FaCode fai_fileset_rename(FaFileSet *s, int i, const char *name, FaError *err) {
    FA_ASSERT(i >= 0 && i < s->count && !strchr(name, '/'));
    char *copy = fai_strdup(name);
    if (!copy) return FA_FAIL_MEMORY(err);
    fa_free(s->name[i]);
    s->name[i] = copy;
    return FA_OK;
}

int fai_fileset_count(const FaFileSet *s) { return s->count; }
const char *fai_fileset_dir(const FaFileSet *s) { return s->dir; }

// Move the files to their names below `dir`.
static FaCode move_all(FaFileSet *s, const char *dir, FaError *err) {
    char from[4200];
    for (int i = 0; i < s->count; i++) {
        char *to = fai_path_join(dir, s->name[i]);
        if (!to) return FA_FAIL_MEMORY(err);
        errno = ENAMETOOLONG;
        FaCode rc = temp_path(s, i, from, sizeof from) && rename(from, to) == 0 ? FA_OK : fail_errno(err, to);
        fa_free(to);
        FA_TRY(rc);
    }
    return FA_OK;
}

static void sync_path(const char *path, bool whole) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    if (whole)
        syncfs(fd);
    else
        fsync(fd);
    close(fd);
}

static FaCode commit(FaFileSet *s, FaError *err) {
    sync_path(s->temp, true);
    if (s->fresh) {
        FA_TRY(move_all(s, s->temp, err)); // final names, still aside
        if (rename(s->temp, s->dir) < 0) return fail_errno(err, s->dir);
    } else {
        FA_TRY(move_all(s, s->dir, err));
        rmdir(s->temp);
    }
    s->temp[0] = 0;
    sync_path(s->dir, false);
    return FA_OK;
}

FaCode fai_fileset_finish(FaFileSet *s, FaError *err) {
    FaCode rc = commit(s, err);
    fai_fileset_abandon(s);
    return rc;
}

void fai_fileset_abandon(FaFileSet *s) {
    if (!s) return;
    char path[4200];
    for (int i = 0; i < s->count; i++) {
        if (s->temp[0]) {
            if (temp_path(s, i, path, sizeof path)) unlink(path);
            char *named = fai_path_join(s->temp, s->name[i]); // a fresh folder may have got its final names already
            if (named) unlink(named);
            fa_free(named);
        }
        fa_free(s->name[i]);
    }
    if (s->temp && s->temp[0]) rmdir(s->temp);
    fa_free(s->name);
    fa_free(s->temp);
    fa_free(s->dir);
    fa_free(s);
}

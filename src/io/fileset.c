// While it is made, the i-th file is called i in a folder of its own:
//     frames.part-x7Gk2a/0, 1, 2, ...      the folder did not exist: one rename makes it appear whole
//     frames/.part-x7Gk2a/0, 1, 2, ...     it did: each file is renamed into place
// In the second case a list of the names, called `commit`, is written first: from then on the set is decided, and who
// finds that list without a living maker (fai_fileset_recover) moves the rest. The disk is synced once, before the
// renames: syncing each of thousands of files would take minutes.
#include "io/fileset.h"

#include "base/file.h"
#include "base/scratch.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILES = 1000000 };

struct FaFileSet {
    char *dir;  // final folder
    char *temp; // folder until finished: that of scratch; NULL when gone
    FaScratchFolder scratch;
    char **name; // final names
    int count, room;
    bool fresh; // dir did not exist
};

static bool temp_path(const FaFileSet *s, int i, char *path, size_t size) {
    return snprintf(path, size, "%s/%d", s->temp, i) < (int)size;
}

FaCode fai_fileset_open(const char *dir, FaFileSet **set, FaError *err) {
    *set = NULL;
    FaFileSet *s = FA_NEW(1, FaFileSet);
    if (!s) return FA_FAIL_MEMORY(err);
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/') n--;
    s->scratch.fd = -1;
    s->dir = fai_strndup(dir, n);
    char *pattern = FA_NEW(n + 16, char);
    FaCode rc = s->dir && pattern ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        s->fresh = !fai_dir_exists(s->dir);
        if (!s->fresh) fai_fileset_recover(s->dir);
        snprintf(pattern, n + 16, s->fresh ? "%s.part-XXXXXX" : "%s/.part-XXXXXX", s->dir);
        rc = fai_scratch_folder_open(pattern, &s->scratch, err);
        s->temp = s->scratch.name;
    }
    fa_free(pattern);
    if (rc < 0) {
        fai_fileset_abandon(s);
        return fai_fail_in(err, rc, dir);
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
        if (n < 0) return fai_fail_errno(err, path, "write");
        p += n;
        size -= (size_t)n;
    }
    return FA_OK;
}

static FaCode write_temp(const FaFileSet *s, int i, int flags, const void *data, size_t size, FaError *err) {
    char path[4200];
    errno = ENAMETOOLONG;
    int fd = temp_path(s, i, path, sizeof path) ? open(path, O_WRONLY | O_CLOEXEC | flags, 0666) : -1;
    if (fd < 0) return fai_fail_errno(err, s->dir, "write");
    FaCode rc = write_fd(fd, data, size, s->dir, err);
    if (close(fd) < 0 && rc >= 0) rc = fai_fail_errno(err, s->dir, "write");
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
    fai_scratch_folder_count(&s->scratch, s->count);
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
        FaCode rc =
            temp_path(s, i, from, sizeof from) && rename(from, to) == 0 ? FA_OK : fai_fail_errno(err, to, "write");
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

// Names in order, each ended by 0, then one more 0 and the sum of all that: files are moved to where it says. It has
// its name when it is whole.
static FaCode write_list(const FaFileSet *s, FaError *err) {
    FaText list = {0};
    for (int i = 0; i < s->count; i++) fai_text_bytes(&list, s->name[i], strlen(s->name[i]) + 1);
    fai_text_bytes(&list, "", 1);
    const uint64_t sum = fai_hash64(list.data, list.size, 0);
    fai_text_bytes(&list, &sum, sizeof sum);
    char *path = fai_path_join(s->temp, "commit");
    FaCode rc = path && !list.failed ? fai_file_write(path, list.data, list.size, err) : FA_FAIL_MEMORY(err);
    fa_free(path);
    fai_text_free(&list);
    return rc;
}

static void drop_list(const char *temp) {
    char *path = fai_path_join(temp, "commit");
    if (path) unlink(path);
    fa_free(path);
}

static FaCode commit(FaFileSet *s, FaError *err) {
    sync_path(s->temp, true);
    if (s->fresh) {
        FA_TRY(move_all(s, s->temp, err)); // final names, still aside
        if (rename(s->temp, s->dir) < 0) return fai_fail_errno(err, s->dir, "write");
    } else {
        const bool several = s->count > 1; // the rename of one file decides by itself
        if (several) {
            FA_TRY(write_list(s, err));
            fai_scratch_folder_keep(&s->scratch);
        }
        FaCode rc = move_all(s, s->dir, err);
        if (rc < 0 && !several) return rc;
        if (rc < 0) { // decided by then: whoever looks there next completes it
            s->temp = NULL;
            if (err) snprintf(err->remedy, sizeof err->remedy, "free some disk space; the next run completes the set");
            return rc;
        }
        sync_path(s->dir, false);
        if (several) drop_list(s->temp);
        rmdir(s->temp);
    }
    s->temp = NULL;
    sync_path(s->dir, false);
    return FA_OK;
}

// --- after a kill -------------------------------------------------------------------------------------------------

// The i-th file may have been moved before.
static bool move_listed(const char *dir, const char *temp, const FaBytes *list) {
    char from[4200];
    const char *name = (const char *)list->data, *end = name + list->size;
    bool moved = true;
    for (int i = 0; moved && name < end && *name; i++, name += strlen(name) + 1) {
        char *to = strchr(name, '/') ? NULL : fai_path_join(dir, name);
        moved = to && snprintf(from, sizeof from, "%s/%d", temp, i) < (int)sizeof from &&
                (rename(from, to) == 0 || errno == ENOENT);
        fa_free(to);
    }
    return moved;
}

// Whether the list is as it was written; its sum is taken off.
static bool is_whole(FaBytes *list) {
    uint64_t sum;
    if (list->size < 2 + sizeof sum) return false;
    list->size -= sizeof sum;
    memcpy(&sum, list->data + list->size, sizeof sum);
    return sum == fai_hash64(list->data, list->size, 0) && !list->data[list->size - 1] && !list->data[list->size - 2];
}

static void recover_one(const char *dir, const char *temp) {
    FaBytes list = {0};
    int fd = open(temp, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    char *path = fai_path_join(temp, "commit");
    bool dead = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (dead && path && fai_file_exists(path) && fai_file_read(path, 0, &list, NULL) >= 0 && is_whole(&list) &&
        move_listed(dir, temp, &list)) {
        unlink(path);
        rmdir(temp);
        fai_log(FA_LOG_WARN, "io", -1,
                "%s: an earlier run was stopped while it put its files in place; that is done now", dir);
    }
    fai_bytes_free(&list);
    fa_free(path);
    if (fd >= 0) close(fd);
}

void fai_fileset_recover(const char *dir) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, ".part-", 6) != 0 || strlen(e->d_name) != 12) continue;
        char *temp = fai_path_join(dir, e->d_name);
        if (temp) recover_one(dir, temp);
        fa_free(temp);
    }
    if (d) closedir(d);
}

// --- the end ------------------------------------------------------------------------------------------------------

FaCode fai_fileset_finish(FaFileSet *s, FaError *err) {
    FaCode rc = commit(s, err);
    fai_fileset_abandon(s);
    return rc;
}

void fai_fileset_abandon(FaFileSet *s) {
    if (!s) return;
    char path[4200];
    for (int i = 0; i < s->count; i++) {
        if (s->temp) {
            if (temp_path(s, i, path, sizeof path)) unlink(path);
            char *named = fai_path_join(s->temp, s->name[i]); // a fresh folder may have got its final names already
            if (named) unlink(named);
            fa_free(named);
        }
        fa_free(s->name[i]);
    }
    if (s->temp) {
        drop_list(s->temp);
        rmdir(s->temp);
    }
    fai_scratch_folder_close(&s->scratch);
    fa_free(s->name);
    fa_free(s->dir);
    fa_free(s);
}

#include "io/import_box.h"

#include "base/file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONVERT "open it in Blender and export it as .glb"

static const uint64_t MIB = 1 << 20;

FaBoxLimits fai_box_limits(const char *path) {
    struct stat st;
    uint64_t size = stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    uint64_t memory = FA_MIN(FA_MAX(1024 * MIB, 64 * size), 8192 * MIB);
    uint64_t cpu = 20 + size / (2 * MIB); // honest files take 0.1 s per MiB
    return (FaBoxLimits){.memory = memory, .answer = memory / 2, .cpu = cpu, .wall = 3.0 * (double)cpu};
}

// --- finding the helper -------------------------------------------------------------------------------------------

static char *beside(const char *file, const char *relative) {
    char *dir = fai_path_dir(file), *path = dir ? fai_path_join(dir, relative) : NULL;
    fa_free(dir);
    if (path && access(path, X_OK) == 0) return path;
    fa_free(path);
    return NULL;
}

// A new string (fa_free), NULL: nowhere. FA_IMPORT_*: from CMake, where things are installed.
static char *find_tool(void) {
    const char *said = secure_getenv("FASCIA_IMPORT");
    if (said && said[0]) return access(said, X_OK) == 0 ? fai_strdup(said) : NULL;
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *path = NULL;
    if (n > 0) {
        self[n] = 0;
        path = beside(self, "fascia-import");
        if (!path) path = beside(self, FA_IMPORT_FROM_BIN);
    }
    Dl_info here; // a shared library lies elsewhere than the program that uses it
    if (!path && dladdr(&MIB, &here) && here.dli_fname) path = beside(here.dli_fname, FA_IMPORT_FROM_LIB);
    return path ? path : beside(FA_IMPORT_INSTALLED, "fascia-import");
}

// --- starting it --------------------------------------------------------------------------------------------------

static int prepare(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, int theirs) {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int e = posix_spawn_file_actions_adddup2(files, theirs, 0);
    if (!e) e = posix_spawn_file_actions_adddup2(files, theirs, 1);
    if (!e) e = posix_spawn_file_actions_addopen(files, 2, "/dev/null", O_WRONLY, 0);
    if (!e) e = posix_spawnattr_setsigmask(attr, &none);
    if (!e) e = posix_spawnattr_setsigdefault(attr, &all);
    if (!e) e = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return e;
}

// No shell, and of the environment only where libraries are. Returns errno.
static int spawn(const char *tool, const char *path, int theirs, pid_t *pid) {
    const char *libraries = getenv("LD_LIBRARY_PATH");
    char *entry = NULL;
    if (libraries && !(entry = FA_NEW(strlen(libraries) + 20, char))) return ENOMEM;
    if (entry) snprintf(entry, strlen(libraries) + 20, "LD_LIBRARY_PATH=%s", libraries);
    char *env[] = {entry, NULL}, *argv[] = {(char *)"fascia-import", (char *)path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    int e = prepare(&files, &attr, theirs);
    if (!e) e = posix_spawn(pid, tool, &files, &attr, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    fa_free(entry);
    return e;
}

FaCode fai_box_open(FaBox *box, const char *path, const FaBoxLimits *limits, FaError *err) {
    *box = (FaBox){.limits = *limits, .deadline = fai_seconds() + limits->wall};
    char *tool = limits->tool ? fai_strdup(limits->tool) : find_tool();
    if (!tool)
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL,
                       "install all of fascia, name the program in FASCIA_IMPORT, or export the rig as .glb",
                       ".%.20s is read by the program fascia-import, which is not beside this one nor installed",
                       fai_path_ext(path));
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        fa_free(tool);
        return FA_FAIL(err, FA_E_FILE, NULL, "close other programs", "no socket: %s", strerror(errno));
    }
    // dup2 onto itself would keep close-on-exec: it must not be 0 or 1
    int theirs = pair[1] > 2 ? pair[1] : fcntl(pair[1], F_DUPFD_CLOEXEC, 3);
    int e = theirs < 0 ? errno : spawn(tool, path, theirs, &box->pid);
    if (theirs != pair[1]) close(pair[1]);
    if (theirs >= 0) close(theirs);
    if (e) {
        close(pair[0]);
        FaCode rc = FA_FAIL(err, FA_E_FILE, NULL, "install fascia again, or export the rig as .glb",
                            "%.200s cannot be started: %s", tool, strerror(e));
        fa_free(tool);
        return rc;
    }
    fa_free(tool);
    box->fd = pair[0];
    box->open = true;
    return FA_OK;
}

// --- speaking with it ---------------------------------------------------------------------------------------------

// Waits until the socket is ready for it. False: the time is over.
static bool ready(const FaBox *box, short what) {
    for (;;) {
        double left = box->deadline - fai_seconds();
        if (left <= 0) return false;
        struct pollfd p = {.fd = box->fd, .events = what};
        int n = poll(&p, 1, (int)fmin(ceil(1000 * left), 1e6));
        if (n > 0) return true;
        if (n < 0 && errno != EINTR) return false;
    }
}

// All bytes, or false: the other side is gone, or the time over.
static bool take(const FaBox *box, void *to, size_t size) {
    char *p = to;
    while (size) {
        if (!ready(box, POLLIN)) return false;
        ssize_t n = recv(box->fd, p, size, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return false;
        if (n > 0) p += n, size -= (size_t)n;
    }
    return true;
}

static bool give(const FaBox *box, const void *from, size_t size) {
    const char *p = from;
    while (size) {
        if (!ready(box, POLLOUT)) return false;
        ssize_t n = send(box->fd, p, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (n > 0) p += n, size -= (size_t)n;
    }
    return true;
}

// --- its end ------------------------------------------------------------------------------------------------------

// Ends and reaps it; its status, -1: unknown (the host reaps all children itself, or ignores them). gone: it has closed
// the socket itself, so it ends by itself: its own end says more than ours.
static int finish(FaBox *box, bool gone) {
    int status = -1;
    if (box->pid <= 0) return -1;
    double patience = fai_seconds() + 0.5;
    pid_t n;
    while ((n = waitpid(box->pid, &status, WNOHANG)) == 0 && gone && fai_seconds() < patience) usleep(500);
    if (n == 0) {
        kill(box->pid, SIGKILL);
        while ((n = waitpid(box->pid, &status, 0)) < 0 && errno == EINTR) {}
    }
    pid_t own = box->pid;
    box->pid = 0;
    return n == own ? status : -1;
}

void fai_box_close(FaBox *box) {
    if (box->open) {
        close(box->fd);
        finish(box, false);
    }
    *box = (FaBox){0};
}

// Why there was no answer.
static FaCode explain(FaBox *box, FaError *err) {
    bool late = fai_seconds() >= box->deadline;
    int status = finish(box, !late);
    if (late || (status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
        return FA_FAIL(err, FA_E_LIMIT, NULL, CONVERT, "assimp did not come to an end within %.0f s, and was stopped",
                       late ? box->limits.wall : (double)box->limits.cpu);
    if (status >= 0 && WIFSIGNALED(status))
        return FA_FAIL(err, FA_E_FORMAT, NULL, CONVERT, "assimp crashed on it (%s), in a process of its own",
                       strsignal(WTERMSIG(status)));
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == FA_IMPORT_MISUSED)
        return FA_FAIL(err, FA_E_FILE, NULL, "install fascia again, or export the rig as .glb",
                       "fascia-import is of another version than this program");
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return FA_FAIL(err, FA_E_FILE, NULL, "install assimp and fascia again, or export the rig as .glb",
                       "fascia-import cannot be run: a library that it needs is missing");
    return FA_FAIL(err, FA_E_FORMAT, NULL, CONVERT, "assimp's process ended on it without an answer");
}

static FaCode take_answer(FaBox *box, FaText *bytes, FaError *err) {
    FaAnswerHead head;
    if (!take(box, &head, sizeof head)) return explain(box, err);
    if (!fai_answer_head_fits(&head, UINT64_MAX)) return fai_answer_broken(err);
    if (!fai_answer_head_fits(&head, box->limits.answer))
        return FA_FAIL(err, FA_E_LIMIT, NULL, CONVERT, "what assimp makes of it is over %llu MB",
                       (unsigned long long)(box->limits.answer / MIB));
    size_t rest = (size_t)(head.text_size + head.glb_size);
    bytes->room = sizeof head + rest + 1;
    bytes->data = fai_resize(NULL, bytes->room);
    if (!bytes->data) return FA_FAIL_MEMORY(err);
    memcpy(bytes->data, &head, sizeof head);
    if (!take(box, bytes->data + sizeof head, rest)) return explain(box, err);
    bytes->size = sizeof head + rest;
    bytes->data[bytes->size] = 0;
    return FA_OK;
}

FaCode fai_box_ask(FaBox *box, const FaImportAsk *ask, FaImportDoc *doc, FaError *err) {
    *doc = (FaImportDoc){0};
    FaImportAsk full = *ask;
    full.magic = FA_ASK_MAGIC;
    full.memory = box->limits.memory;
    full.seconds = box->limits.cpu;
    if (!give(box, &full, sizeof full)) return explain(box, err);
    FaText bytes = {0};
    FaCode rc = take_answer(box, &bytes, err);
    if (rc >= 0) return fai_answer_read(&bytes, doc, err);
    fai_text_free(&bytes);
    return rc;
}

#include "render/movie.h"

#include "base/file.h"
#include "base/scratch.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct FaMovie {
    char *path; // final name
    FaScratch file;
    int pipe;  // frames go in here: a socket, so that a dead reader is an error and not a signal
    FILE *log; // what ffmpeg says
    pid_t pid; // 0: not running
    int width, height;
    int frames;
};

static bool is_gif(const char *path) { return fai_path_has_ext(path, "gif"); }

bool fai_movie_path(const char *path) {
    return is_gif(path) || fai_path_has_ext(path, "mp4") || fai_path_has_ext(path, "m4v") ||
           fai_path_has_ext(path, "mov");
}

double fai_movie_rate(const char *path, double fps) { return is_gif(path) ? FA_MIN(fps, 25.0) : fps; }

static FaCode fail_io(FaError *err, const char *path, const char *doing) {
    int e = errno;
    return fai_fail_in(
        err,
        FA_FAIL(err, FA_E_FILE, NULL, e == ENOSPC ? "free some disk space" : NULL, "cannot %s: %s", doing, strerror(e)),
        path);
}

// --- starting -----------------------------------------------------------------------------------------------------

// ffmpeg opens its file by name.
static FaCode reserve_name(FaMovie *m, FaError *err) {
    FA_TRY(fai_scratch_open(m->path, &m->file, err));
    if (m->file.name) return FA_OK;
    return fai_fail_in(err, FA_FAIL(err, FA_E_FILE, NULL, "name a file", "a film cannot be written to a device"),
                       m->path);
}

static FaCode spawn(FaMovie *m, const char *const *argv, FaError *err) {
    int ends[2] = {-1, -1};
    m->log = tmpfile();
    if (!m->log || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return fail_io(err, m->path, "start ffmpeg");
    m->pipe = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(m->log), 2);
    pid_t pid = 0;
    int rc = posix_spawnp(&pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    close(ends[1]);
    if (rc == ENOENT)
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_UNSUPPORTED, NULL,
                                   "install ffmpeg (Debian: apt install ffmpeg), or write .png",
                                   "films need the program ffmpeg, which is not installed"),
                           m->path);
    if (rc != 0) {
        errno = rc;
        return fail_io(err, m->path, "start ffmpeg");
    }
    m->pid = pid;
    return FA_OK;
}

FaCode fai_movie_open(const char *path, int width, int height, double fps, const char *comment, FaMovie **movie,
                      FaError *err) {
    *movie = NULL;
    if (!fai_movie_path(path))
        return FA_FAIL(err, FA_E_ARG, NULL, "name it .mp4 or .gif", "no film can be written to '%s'", path);
    if (!(fps > 0.1 && fps <= 1000))
        return FA_FAIL(err, FA_E_ARG, NULL, "give 0.1 to 1000 frames per second", "the film's rate makes no sense");
    FaMovie *m = FA_NEW(1, FaMovie);
    if (!m) return FA_FAIL_MEMORY(err);
    m->pipe = -1;
    m->width = width;
    m->height = height;
    FaCode rc = FA_OK;
    FaText size = {0}, rate = {0}, note = {0};
    m->path = fai_strdup(path);
    if (!m->path) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, reserve_name(m, err));
    fai_text_printf(&size, "%dx%d", width, height);
    fai_text_double(&rate, fps);
    fai_text_printf(&note, "comment=%s", comment ? comment : "");
    if (size.failed || rate.failed || note.failed) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));

    const char *argv[64];
    int n = 0;
#define ARGS(...)                                                                                                      \
    do {                                                                                                               \
        const char *more_[] = {__VA_ARGS__};                                                                           \
        for (int i_ = 0; i_ < FA_COUNT(more_); i_++) argv[n++] = more_[i_];                                            \
    } while (0)
    ARGS("ffmpeg", "-hide_banner", "-loglevel", "error", "-y", "-f", "rawvideo", "-pixel_format", "rgb24",
         "-video_size", size.data, "-framerate", rate.data, "-i", "pipe:0", "-an");
    if (is_gif(path)) {
        ARGS("-filter_complex",
             "[0:v]split[a][b];[a]palettegen=stats_mode=full[p];[b][p]paletteuse=dither=bayer:bayer_scale=4:diff_mode="
             "rectangle",
             "-loop", "0", "-f", "gif");
    } else {
        // even sides, as 4:2:0 needs them, and the colours told as the pixels mean them
        ARGS("-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p", "-c:v",
             "libx264", "-preset", "medium", "-crf", "17", "-colorspace", "bt709", "-color_primaries", "bt709",
             "-color_trc", "bt709", "-movflags", "+faststart", "-fflags", "+bitexact", "-flags:v", "+bitexact",
             "-metadata", note.data, "-f", "mp4");
    }
    argv[n++] = m->file.name;
    argv[n] = NULL;
#undef ARGS
    rc = spawn(m, argv, err);
done:
    fai_text_free(&size);
    fai_text_free(&rate);
    fai_text_free(&note);
    if (rc < 0)
        fai_movie_abandon(m);
    else
        *movie = m;
    return rc;
}

// --- feeding ------------------------------------------------------------------------------------------------------

// What ffmpeg complained about, its last line, as a failure of ours.
static FaCode fail_ffmpeg(FaMovie *m, FaError *err) {
    char said[200] = "", line[200];
    rewind(m->log);
    while (fgets(line, sizeof line, m->log))
        if (line[0] && line[0] != '\n') memcpy(said, line, sizeof said);
    said[strcspn(said, "\r\n")] = 0;
    const char *remedy = strstr(said, "ncoder") ? "install an ffmpeg with libx264, or write .gif or .png" : NULL;
    return fai_fail_in(err,
                       FA_FAIL(err, FA_E_FILE, FA_PLACE("frame %d", m->frames), remedy, "ffmpeg failed%s%s",
                               said[0] ? ": " : "", said),
                       m->path);
}

FaCode fai_movie_frame(FaMovie *m, const FaImage *image, FaError *err) {
    FA_ASSERT(image->width == m->width && image->height == m->height);
    const unsigned char *p = image->rgb;
    size_t left = 3 * (size_t)m->width * (size_t)m->height;
    while (left) {
        ssize_t n = send(m->pipe, p, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            // it has gone: let it finish speaking
            close(m->pipe);
            m->pipe = -1;
            while (m->pid && waitpid(m->pid, NULL, 0) < 0 && errno == EINTR) {}
            m->pid = 0;
            return fail_ffmpeg(m, err);
        }
        p += n;
        left -= (size_t)n;
    }
    m->frames++;
    return FA_OK;
}

FaCode fai_movie_finish(FaMovie *m, FaError *err) {
    close(m->pipe);
    m->pipe = -1;
    int status = 0;
    pid_t got;
    while ((got = waitpid(m->pid, &status, 0)) < 0 && errno == EINTR) {}
    FaCode rc = FA_OK;
    if (got < 0)
        rc = fail_io(err, m->path, "wait for ffmpeg");
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        rc = fail_ffmpeg(m, err);
    m->pid = 0;
    if (rc >= 0) rc = fai_scratch_finish(&m->file, err);
    fai_movie_abandon(m);
    return rc;
}

void fai_movie_abandon(FaMovie *m) {
    if (!m) return;
    if (m->pipe >= 0) close(m->pipe);
    if (m->pid) {
        kill(m->pid, SIGKILL);
        while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR) {}
    }
    if (m->log) fclose(m->log);
    fai_scratch_drop(&m->file);
    fa_free(m->path);
    fa_free(m);
}

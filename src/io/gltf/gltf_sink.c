// Frames kept until all are there: baking reads them several times.
#include "base/file.h"
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_write.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

size_t fai_gltf_sink_memory = 256 << 20;

struct FaGltfSink {
    char *path;
    FaSinkOptions options;
    int nvert, nframe;
    size_t bytes;  // of a frame
    float **frame; // the first ones, in memory                                       (nkept)
    int nkept, room;
    int fd; // the others, in a file without a name; -1 = none yet
};

static FaCode check_options(int nvert, const FaSinkOptions *o, FaError *err) {
    if (!o || !o->rig)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the rig that the frames belong to",
                       "glTF needs the rig of the frames: faces, materials, shapes");
    if (nvert != o->rig->mesh.nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, "use the rig that the frames were made with",
                       "the frames have %d vertices, the rig has %d", nvert, o->rig->mesh.nvert);
    if (o->bake_error_mm < 0 || !isfinite(o->bake_error_mm) || o->max_targets < 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a distance in millimetres, or 0 for 0.05",
                       "a bake error or a number of targets below 0");
    return FA_OK;
}

FaCode fai_gltf_sink_open(const char *path, int nvert, const FaSinkOptions *options, FaGltfSink **sink, FaError *err) {
    *sink = NULL;
    FA_TRY(check_options(nvert, options, err));
    FaGltfSink *s = FA_NEW(1, FaGltfSink);
    if (!s) return FA_FAIL_MEMORY(err);
    *s = (FaGltfSink){
        .path = fai_strdup(path), .options = *options, .nvert = nvert, .bytes = 12 * (size_t)nvert, .fd = -1};
    if (!s->path) {
        fai_gltf_sink_abandon(s);
        return FA_FAIL_MEMORY(err);
    }
    *sink = s;
    return FA_OK;
}

// A file without a name goes away by itself, however the process ends.
static FaCode open_file(FaGltfSink *s, FaError *err) {
    static const char ending[] = ".frames-XXXXXX";
    size_t n = strlen(s->path);
    char *name = FA_NEW(n + sizeof ending, char);
    if (!name) return FA_FAIL_MEMORY(err);
    memcpy(name, s->path, n);
    memcpy(name + n, ending, sizeof ending);
    s->fd = mkstemp(name);
    int why = errno;
    if (s->fd >= 0) unlink(name);
    fa_free(name);
    if (s->fd < 0)
        return FA_FAIL(err, FA_E_FILE, NULL, "check the folder and its permissions", "cannot keep frames beside it: %s",
                       strerror(why));
    return FA_OK;
}

// All of a frame to or from the file.
static FaCode transfer(FaGltfSink *s, int frame, float *x, bool out, FaError *err) {
    off_t at = (off_t)((size_t)(frame - s->nkept) * s->bytes);
    for (size_t done = 0; done < s->bytes;) {
        char *p = (char *)x + done;
        ssize_t n = out ? pwrite(s->fd, p, s->bytes - done, at + (off_t)done)
                        : pread(s->fd, p, s->bytes - done, at + (off_t)done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            return FA_FAIL(err, FA_E_FILE, FA_PLACE("frame %d", frame), "free some disk space",
                           "frames kept beside the file cannot be %s: %s", out ? "written" : "read",
                           n < 0 ? strerror(errno) : "the file is too short");
        done += (size_t)n;
    }
    return FA_OK;
}

FaCode fai_gltf_sink_push(FaGltfSink *s, const float *x, FaError *err) {
    if (s->fd < 0 && (size_t)(s->nkept + 1) * s->bytes <= fai_gltf_sink_memory) {
        float **frame = fai_grow_array(s->frame, &s->room, s->nkept + 1, sizeof *frame);
        if (!frame) return FA_FAIL_MEMORY(err);
        s->frame = frame;
        if (!(frame[s->nkept] = fai_resize(NULL, s->bytes))) return FA_FAIL_MEMORY(err);
        memcpy(frame[s->nkept++], x, s->bytes);
    } else {
        if (s->fd < 0) FA_TRY(open_file(s, err));
        FA_TRY(transfer(s, s->nframe, (float *)x, true, err));
    }
    s->nframe++;
    return FA_OK;
}

static FaCode read_kept(void *user, int frame, float *x, FaError *err) {
    FaGltfSink *s = user;
    if (frame >= s->nkept) return transfer(s, frame, x, false, err);
    memcpy(x, s->frame[frame], s->bytes);
    return FA_OK;
}

FaCode fai_gltf_sink_finish(FaGltfSink *s, FaBakeReport *report, FaError *err) {
    FaCode rc =
        s->nframe > 0 ? FA_OK : FA_FAIL(err, FA_E_ARG, NULL, "push at least one frame", "there are no frames to write");
    if (rc >= 0) rc = fai_gltf_bake_frames(s->path, s->nframe, read_kept, s, &s->options, report, err);
    fai_gltf_sink_abandon(s);
    return rc;
}

void fai_gltf_sink_abandon(FaGltfSink *s) {
    if (!s) return;
    for (int i = 0; i < s->nkept; i++) fa_free(s->frame[i]);
    fa_free(s->frame);
    fa_free(s->path);
    if (s->fd >= 0) close(s->fd);
    fa_free(s);
}

// Reading a frame may take long (an OBJ file, a rig to evaluate) and baking reads it ten times: keep a copy here, too.
FaCode fai_gltf_save_frames(const char *path, int nvert, int nframe, FaSequenceReadFn *read, void *user,
                            const FaSinkOptions *options, FaBakeReport *report, FaError *err) {
    FaGltfSink *sink;
    FaCode rc = fai_gltf_sink_open(path, nvert, options, &sink, err);
    if (rc < 0) return fai_fail_in(err, rc, path);
    float *x = FA_NEW(3 * (size_t)nvert, float);
    if (!x) rc = FA_FAIL_MEMORY(err);
    for (int f = 0; f < nframe && rc >= 0; f++) {
        rc = read(user, f, x, err);
        if (rc >= 0) rc = fai_gltf_sink_push(sink, x, err);
        if (rc >= 0)
            rc = fai_progress(options->progress, options->progress_user, "frames", (f + 1.0) / nframe,
                              "no file is written", err);
    }
    fa_free(x);
    if (rc >= 0)
        rc = fai_gltf_sink_finish(sink, report, err);
    else
        fai_gltf_sink_abandon(sink);
    return fai_fail_in(err, rc, path);
}

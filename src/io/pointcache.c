#include "io/pointcache.h"

#include "base/file.h"
#include "base/scratch.h"
#include "io/clip_tools.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PC2_HEADER = 32, MDD_HEADER = 8, BLOCK = 1 << 18 };
static const char PC2_MAGIC[12] = "POINTCACHE2";

// --- byte order ---------------------------------------------------------------------------------------------------

static uint32_t get_le(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint32_t get_be(const unsigned char *p) {
    return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}
static void put_le(unsigned char *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (8 * i));
}
static void put_be(unsigned char *p, uint32_t v) {
    for (int i = 0; i < 4; i++) p[3 - i] = (unsigned char)(v >> (8 * i));
}
static float to_float(uint32_t v) {
    float f;
    memcpy(&f, &v, 4);
    return f;
}
static uint32_t from_float(float f) {
    uint32_t v;
    memcpy(&v, &f, 4);
    return v;
}

// Between the file's order and the machine's, in place; works both ways.
static void reorder(FaCacheKind kind, void *data, size_t count) {
    bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (little == (kind == FA_CACHE_PC2)) return;
    unsigned char *p = data;
    for (size_t i = 0; i < count; i++, p += 4) {
        uint32_t w;
        memcpy(&w, p, 4);
        w = __builtin_bswap32(w);
        memcpy(p, &w, 4);
    }
}

// --- reading ------------------------------------------------------------------------------------------------------

static FaCode read_at(const FaPointCache *c, uint64_t offset, void *data, size_t size, FaError *err) {
    unsigned char *p = data;
    while (size) {
        ssize_t n = pread(c->fd, p, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return FA_FAIL(err, FA_E_FILE, NULL, "check the disk", "cannot read: %s", strerror(errno));
        if (n == 0)
            return FA_FAIL(err, FA_E_FILE, NULL, "do not change the file while it is read", "the file became shorter");
        p += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return FA_OK;
}

// Whether the frames that the header announces are there; before anything is allocated for them.
static FaCode check_size(const FaPointCache *c, uint64_t size, FaError *err) {
    uint64_t frame = 12 * (uint64_t)c->nvert, data = size > c->offset ? size - c->offset : 0;
    if (data / frame < (uint64_t)c->nframe)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %lld", (long long)(data / frame)),
                       "the file is cut off: write it again",
                       "the header announces %d frames of %d points, only %lld are there", c->nframe, c->nvert,
                       (long long)(data / frame));
    if (data != frame * (uint64_t)c->nframe)
        fai_log(FA_LOG_WARN, "io", -1, "%s: %llu bytes after the last frame are passed over", c->path,
                (unsigned long long)(data - frame * (uint64_t)c->nframe));
    return FA_OK;
}

static FaCode check_counts(int64_t nvert, int64_t nframe, FaError *err) {
    if (nvert <= 0 || nvert > INT32_MAX / 12)
        return FA_FAIL(err, FA_E_FORMAT, "header", "check that it is a point cache", "%lld points per frame",
                       (long long)nvert);
    if (nframe <= 0)
        return FA_FAIL(err, FA_E_FORMAT, "header", "write it again with at least one frame", "%lld frames",
                       (long long)nframe);
    return FA_OK;
}

static FaCode open_pc2(FaPointCache *c, const unsigned char h[PC2_HEADER], uint64_t size, FaError *err) {
    int32_t version = (int32_t)get_le(h + 12);
    if (version != 1)
        return FA_FAIL(err, FA_E_UNSUPPORTED, "header", "write it as version 1", "version %d of PC2", version);
    FA_TRY(check_counts((int32_t)get_le(h + 16), (int32_t)get_le(h + 28), err));
    c->nvert = (int)get_le(h + 16);
    c->nframe = (int)get_le(h + 28);
    c->offset = PC2_HEADER;
    float start = to_float(get_le(h + 20)), rate = to_float(get_le(h + 24));
    if (rate > 1e-4f && rate <= 0.1f) { // seconds per sample, see the header
        c->fps = 1.0 / (double)rate;
        if (fabs(c->fps - rint(c->fps)) < 1e-5 * c->fps) c->fps = rint(c->fps);
        c->start = isfinite(start) ? (double)start : 0.0;
    }
    return check_size(c, size, err);
}

// Times are floats: over the whole clip their mean step is far better than any single one.
static FaCode set_rate(FaPointCache *c, FaError *err) {
    int n = c->nframe;
    double median;
    FA_TRY(fai_median_step(c->time, n, &median, err));
    if (n < 2) return FA_OK;
    double mean = c->time[n - 1] / (n - 1);
    // one part in a thousand of a step, and what a float of this size cannot tell apart
    double slack = 1e-3 * median + 4 * 0x1p-24 * (c->time[n - 1] + fabs(c->start));
    bool even = true;
    for (int i = 0; i < n && even; i++) even = fabs(c->time[i] - i * mean) <= slack;
    c->fps = fai_fps_snap(1.0 / (even ? mean : median));
    if (!(c->fps < 1e6))
        return FA_FAIL(err, FA_E_FORMAT, "header", "times are in seconds",
                       "the frames are too close to each other in time");
    for (int i = 0; i < n && even; i++) even = fabs(c->time[i] - i / c->fps) <= slack;
    if (even) {
        fa_free(c->time);
        c->time = NULL;
    }
    return FA_OK;
}

static FaCode open_mdd(FaPointCache *c, const unsigned char h[MDD_HEADER], uint64_t size, FaError *err) {
    FA_TRY(check_counts((int32_t)get_be(h + 4), (int32_t)get_be(h), err));
    c->nframe = (int)get_be(h);
    c->nvert = (int)get_be(h + 4);
    c->offset = MDD_HEADER + 4 * (uint64_t)c->nframe;
    FA_TRY(check_size(c, size, err));

    c->time = FA_NEW(c->nframe, double);
    if (!c->time) return FA_FAIL_MEMORY(err);
    unsigned char block[4096];
    for (int i = 0; i < c->nframe;) {
        int n = FA_MIN((int)sizeof block / 4, c->nframe - i);
        FA_TRY(read_at(c, MDD_HEADER + 4 * (uint64_t)i, block, 4 * (size_t)n, err));
        for (int k = 0; k < n; k++) c->time[i + k] = (double)to_float(get_be(block + 4 * k));
        i += n;
    }
    // seconds, of a day or of a take: what is huge would swallow the steps between frames
    c->start = c->time[0];
    for (int i = 0; i < c->nframe; i++) {
        bool sane = fabs(c->time[i]) < 1e9;
        c->time[i] -= c->start;
        if (!sane || (i && !(c->time[i] > c->time[i - 1])))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", i),
                           "write it again with increasing times, in seconds",
                           sane ? "the time does not increase" : "the time is not a number of seconds");
    }
    return set_rate(c, err);
}

static FaCode open_file(FaPointCache *c, FaError *err) {
    c->fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe must not stop us
    struct stat st;
    if (c->fd < 0 || fstat(c->fd, &st) < 0)
        return FA_FAIL(err, FA_E_FILE, NULL, "check the name, the folder and the permissions", "cannot open: %s",
                       strerror(errno));
    if (!S_ISREG(st.st_mode)) return FA_FAIL(err, FA_E_FILE, NULL, "name a file", "not a regular file");
    fai_input_read(c->fd);
    uint64_t size = (uint64_t)st.st_size;
    unsigned char h[PC2_HEADER] = {0};
    FA_TRY(read_at(c, 0, h, (size_t)FA_MIN(size, sizeof h), err));
    bool pc2 = fai_cache_sniff(h, sizeof h);
    c->kind = pc2 ? FA_CACHE_PC2 : FA_CACHE_MDD;
    if (pc2 ? size < PC2_HEADER : size < MDD_HEADER)
        return FA_FAIL(err, FA_E_FORMAT, "header", "the file is cut off: write it again", "only %llu bytes",
                       (unsigned long long)size);
    if (pc2) return open_pc2(c, h, size, err);
    if (fai_path_has_ext(c->path, "pc2"))
        return FA_FAIL(err, FA_E_FORMAT, "header", "check that it is a PC2 file", "'POINTCACHE2' is missing");
    return open_mdd(c, h, size, err);
}

FaCode fai_cache_open(const char *path, FaPointCache **cache, FaError *err) {
    *cache = NULL;
    FaPointCache *c = FA_NEW(1, FaPointCache);
    if (!c) return FA_FAIL_MEMORY(err);
    c->fd = -1;
    c->path = fai_strdup(path);
    FaCode rc = c->path ? open_file(c, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0)
        *cache = c;
    else
        fai_cache_close(c);
    return fai_fail_in(err, rc, path);
}

FaCode fai_cache_read(const FaPointCache *c, int frame, float *x, FaError *err) {
    FA_ASSERT(frame >= 0 && frame < c->nframe);
    size_t n = 3 * (size_t)c->nvert;
    FaCode rc = read_at(c, c->offset + 4 * (uint64_t)n * (uint64_t)frame, x, 4 * n, err);
    if (rc < 0) return fai_fail_in(err, rc, c->path);
    reorder(c->kind, x, n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return fai_fail_in(err,
                               FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d, vertex %zu", frame, i / 3),
                                       "repair the simulation or export that wrote it", "a position is %s",
                                       isnan(x[i]) ? "not a number" : "infinite"),
                               c->path);
    return FA_OK;
}

void fai_cache_close(FaPointCache *c) {
    if (!c) return;
    if (c->fd >= 0) close(c->fd);
    fa_free(c->time);
    fa_free(c->path);
    fa_free(c);
}

bool fai_cache_sniff(const void *data, size_t size) {
    return size >= sizeof PC2_MAGIC && !memcmp(data, PC2_MAGIC, sizeof PC2_MAGIC);
}

// --- writing ------------------------------------------------------------------------------------------------------

// MDD has its times before the frames, and how many there will be is not known until the end: the frames wait in a file
// without a name beside the output.
struct FaCacheWriter {
    FaCacheKind kind;
    int nvert;
    int nframe;
    double fps, start;
    FaOutput *out;
    int spool;            // MDD; -1 = none
    unsigned char *block; // one frame in the file's byte order (nvert x 3 floats)
    float *time;          // MDD: s                                                 (nframe)
    int room;
    char *path;
};

static FaCode fail_write(FaError *err, const char *path) {
    int e = errno;
    return fai_fail_in(err,
                       FA_FAIL(err, FA_E_FILE, NULL,
                               e == ENOSPC ? "free some disk space; the old file is untouched"
                                           : "check the folder and its permissions",
                               "cannot write: %s", strerror(e)),
                       path);
}

static FaCode open_spool(const char *path, int *fd, FaError *err) {
    char *dir = fai_path_dir(path), *name = dir ? fai_path_join(dir, ".fascia-XXXXXX") : NULL;
    FaCode rc = name ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        *fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (*fd < 0 && (*fd = mkstemp(name)) >= 0) unlink(name); // not every file system has unnamed files
        if (*fd < 0) rc = fail_write(err, path);
    }
    fa_free(name);
    fa_free(dir);
    return rc;
}

static FaCode write_fd(int fd, const void *data, size_t size, const char *path, FaError *err) {
    for (const unsigned char *p = data; size;) {
        ssize_t n = write(fd, p, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail_write(err, path);
        p += n;
        size -= (size_t)n;
    }
    return FA_OK;
}

static FaCode begin_file(FaCacheWriter *w, FaError *err) {
    FA_TRY(fai_output_open(w->path, &w->out, err));
    if (w->kind == FA_CACHE_MDD) return open_spool(w->path, &w->spool, err);
    unsigned char h[PC2_HEADER];
    memcpy(h, PC2_MAGIC, sizeof PC2_MAGIC);
    put_le(h + 12, 1);
    put_le(h + 16, (uint32_t)w->nvert);
    put_le(h + 20, from_float(w->fps > 0 ? (float)(w->start * w->fps) : 0.0f));
    put_le(h + 24, from_float(1.0f));
    put_le(h + 28, 0); // how many there are is filled in at the end
    return fai_output_write(w->out, h, sizeof h, err);
}

FaCode fai_cache_create(const char *path, FaCacheKind kind, int nvert, double fps, double start, FaCacheWriter **writer,
                        FaError *err) {
    *writer = NULL;
    FA_ASSERT(nvert > 0);
    FaCacheWriter *w = FA_NEW(1, FaCacheWriter);
    if (!w) return FA_FAIL_MEMORY(err);
    *w = (FaCacheWriter){.kind = kind, .nvert = nvert, .fps = fps, .start = start, .spool = -1};
    w->path = fai_strdup(path);
    w->block = FA_NEW(12 * (size_t)nvert, unsigned char);
    FaCode rc = w->path && w->block ? begin_file(w, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0)
        *writer = w;
    else
        fai_cache_abandon(w);
    return fai_fail_in(err, rc, path);
}

// A float of seconds must still tell neighbouring frames apart, or no one can read the file.
static FaCode push_time(FaCacheWriter *w, double time, FaError *err) {
    float *grown = fai_grow_array(w->time, &w->room, w->nframe + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(err);
    w->time = grown;
    w->time[w->nframe] = (float)(w->start + time);
    if (w->nframe && !(w->time[w->nframe] > w->time[w->nframe - 1]))
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_LIMIT, FA_PLACE("frame %d", w->nframe), "write shorter files, or .pc2",
                                   "MDD cannot tell the times of two frames apart"),
                           w->path);
    return FA_OK;
}

FaCode fai_cache_push(FaCacheWriter *w, double time, const float *x, FaError *err) {
    if (w->nframe == INT32_MAX)
        return fai_fail_in(err, FA_FAIL(err, FA_E_LIMIT, NULL, "write shorter files", "too many frames"), w->path);
    size_t n = 3 * (size_t)w->nvert;
    memcpy(w->block, x, 4 * n);
    reorder(w->kind, w->block, n);
    if (w->kind == FA_CACHE_MDD) {
        FA_TRY(push_time(w, time, err));
        FA_TRY(write_fd(w->spool, w->block, 4 * n, w->path, err));
    } else {
        FA_TRY(fai_output_write(w->out, w->block, 4 * n, err));
    }
    w->nframe++;
    return FA_OK;
}

static FaCode finish_mdd(FaCacheWriter *w, FaError *err) {
    unsigned char h[MDD_HEADER];
    put_be(h, (uint32_t)w->nframe);
    put_be(h + 4, (uint32_t)w->nvert);
    FA_TRY(fai_output_write(w->out, h, sizeof h, err));
    for (int i = 0; i < w->nframe; i++) {
        put_be(h, from_float(w->time[i]));
        FA_TRY(fai_output_write(w->out, h, 4, err));
    }
    unsigned char *block = FA_NEW(BLOCK, unsigned char);
    if (!block) return FA_FAIL_MEMORY(err);
    FaCode rc = lseek(w->spool, 0, SEEK_SET) < 0 ? fail_write(err, w->path) : FA_OK;
    for (uint64_t left = 12 * (uint64_t)w->nvert * (uint64_t)w->nframe; left && rc >= 0;) {
        ssize_t n = read(w->spool, block, (size_t)FA_MIN(left, (uint64_t)BLOCK));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0)
            rc = fail_write(err, w->path);
        else
            rc = fai_output_write(w->out, block, (size_t)n, err);
        left -= n > 0 ? (uint64_t)n : 0;
    }
    fa_free(block);
    return rc;
}

static FaCode finish_pc2(FaCacheWriter *w, FaError *err) {
    unsigned char count[4];
    put_le(count, (uint32_t)w->nframe);
    FA_TRY(fai_output_seek(w->out, 28, err));
    return fai_output_write(w->out, count, sizeof count, err);
}

FaCode fai_cache_finish(FaCacheWriter *w, FaError *err) {
    FaCode rc = w->nframe == 0 ? FA_FAIL(err, FA_E_ARG, NULL, "push at least one frame", "no frames to write")
                : w->kind == FA_CACHE_MDD ? finish_mdd(w, err)
                                          : finish_pc2(w, err);
    if (rc >= 0) {
        rc = fai_output_finish(w->out, err);
        w->out = NULL;
    }
    fai_fail_in(err, rc, w->path);
    fai_cache_abandon(w);
    return rc;
}

void fai_cache_abandon(FaCacheWriter *w) {
    if (!w) return;
    fai_output_abandon(w->out);
    if (w->spool >= 0) close(w->spool);
    fa_free(w->block);
    fa_free(w->time);
    fa_free(w->path);
    fa_free(w);
}

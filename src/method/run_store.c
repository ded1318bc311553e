#include "method/run_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static const char MAGIC[8] = "FATAKE01";
enum { HEADER = 48, HEAD = 16 }; // bytes of the header; of a record before its input

struct FaRunStore {
    FILE *f;
    FaRunStoreShape shape;
    int count, room;
    uint64_t *at;          // where each record begins, and the end                (count + 1)
    bool *has_state;       //                                                      (count)
    unsigned char *record; // one, as large as they come
    float *weights;        //                                                      (nshape)
};

static size_t input_size(const FaRunStoreShape *s) {
    return sizeof(double) + sizeof(FaMotion) + (size_t)s->nshape * sizeof(float);
}
static size_t surface_size(const FaRunStoreShape *s) { return 3 * (size_t)s->nvert * sizeof(float); }
static size_t record_size(const FaRunStoreShape *s, bool state) {
    return HEAD + input_size(s) + surface_size(s) + (state ? (size_t)s->state : 0) + sizeof(uint64_t);
}

static FaCode broken(FaError *err, const char *what) {
    return FA_FAIL(err, FA_E_FILE, NULL, "check the disk and its free space", "cannot %s the run file: %s", what,
                   strerror(errno));
}

static FaCode make_room(FaRunStore *t, FaError *err) {
    if (t->count + 1 < t->room) return FA_OK;
    int room = t->room ? 2 * t->room : 256;
    uint64_t *at = FA_NEW(room, uint64_t);
    bool *has = FA_NEW(room, bool);
    if (!at || !has) {
        fa_free(at);
        fa_free(has);
        return FA_FAIL_MEMORY(err);
    }
    if (t->at) memcpy(at, t->at, (size_t)(t->count + 1) * sizeof *at);
    if (t->has_state) memcpy(has, t->has_state, (size_t)t->count * sizeof *has);
    fa_free(t->at);
    fa_free(t->has_state);
    t->at = at;
    t->has_state = has;
    t->room = room;
    return FA_OK;
}

static FaCode make(const FaRunStoreShape *shape, FILE *f, FaRunStore **file, FaError *err) {
    FaRunStore *t = FA_NEW(1, FaRunStore);
    if (!t) {
        fclose(f);
        return FA_FAIL_MEMORY(err);
    }
    t->f = f;
    t->shape = *shape;
    t->record = FA_NEW(record_size(shape, true), unsigned char);
    t->weights = FA_NEW(shape->nshape, float);
    FaCode rc = t->record && t->weights ? make_room(t, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) t->at[0] = HEADER;
    if (rc < 0)
        fai_run_store_close(t);
    else
        *file = t;
    return rc;
}

void fai_run_store_close(FaRunStore *t) {
    if (!t) return;
    if (t->f) fclose(t->f);
    fa_free(t->at);
    fa_free(t->has_state);
    fa_free(t->record);
    fa_free(t->weights);
    fa_free(t);
}

static void header_of(const FaRunStoreShape *s, unsigned char header[HEADER]) {
    memcpy(header, MAGIC, 8);
    memcpy(header + 8, s, 32);
    uint64_t sum = fai_hash64(header, HEADER - 8, 0);
    memcpy(header + HEADER - 8, &sum, 8);
}

// The file, for this run alone: a second one that appends would mix both. Nothing of it is lost before that is sure.
static FaCode lock(const char *path, int flags, FILE **f, FaError *err) {
    int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0666);
    *f = NULL;
    if (fd < 0 && errno == ENOENT && !(flags & O_CREAT)) return FA_OK;
    if (fd < 0)
        return FA_FAIL(err, FA_E_FILE, NULL, "choose a folder that can be written to", "cannot write %s: %s", path,
                       strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && (*f = fdopen(fd, "r+b"))) return FA_OK;
    bool taken = errno == EWOULDBLOCK;
    close(fd);
    return FA_FAIL(err, FA_E_FILE, NULL, "wait until that has ended, or name another file",
                   taken ? "another run is writing %s" : "cannot lock %s", path);
}

FaCode fai_run_store_create(const char *path, const FaRunStoreShape *shape, FaRunStore **file, FaError *err) {
    *file = NULL;
    FILE *f;
    FA_TRY(lock(path, O_CREAT, &f, err));
    FA_TRY(make(shape, f, file, err));
    if (ftruncate(fileno(f), 0) != 0) {
        fai_run_store_close(*file);
        *file = NULL;
        return broken(err, "write");
    }
    unsigned char header[HEADER];
    header_of(shape, header);
    if (fwrite(header, 1, HEADER, f) == HEADER && fflush(f) == 0) return FA_OK;
    fai_run_store_close(*file);
    *file = NULL;
    return broken(err, "write");
}

static bool is_whole(const FaRunStore *t, size_t size) {
    uint64_t sum;
    memcpy(&sum, t->record + size - 8, 8);
    return sum == fai_hash64(t->record, size - 8, t->shape.key);
}

// Read the record at the end of what is known. False: there is none, or it is damaged.
static bool next_record(FaRunStore *t) {
    uint32_t head[4];
    if (fread(head, 1, HEAD, t->f) != HEAD || head[0] != 0x4d415246 || head[1] != (uint32_t)t->count || head[2] > 1 ||
        head[3] != 0)
        return false;
    size_t size = record_size(&t->shape, head[2] != 0);
    memcpy(t->record, head, HEAD);
    if (fread(t->record + HEAD, 1, size - HEAD, t->f) != size - HEAD) return false;
    if (!is_whole(t, size)) return false;
    t->has_state[t->count] = head[2] != 0;
    t->at[t->count + 1] = t->at[t->count] + size;
    t->count++;
    return true;
}

FaCode fai_run_store_cut(FaRunStore *t, int count, FaError *err) {
    t->count = FA_MIN(t->count, count);
    if (fflush(t->f) != 0 || ftruncate(fileno(t->f), (off_t)t->at[t->count]) != 0) return broken(err, "shorten");
    return FA_OK;
}

FaCode fai_run_store_open(const char *path, const FaRunStoreShape *shape, bool append, FaRunStore **file,
                          const char **why, FaError *err) {
    *file = NULL;
    *why = "";
    FILE *f = NULL;
    if (append)
        FA_TRY(lock(path, 0, &f, err));
    else
        f = fopen(path, "rb");
    if (!f) return FA_OK;
    unsigned char header[HEADER], want[HEADER];
    header_of(shape, want);
    bool whole = fread(header, 1, HEADER, f) == HEADER && !memcmp(header, MAGIC, 8);
    if (!whole || memcmp(header, want, HEADER) != 0) {
        *why = whole ? "it was made with another rig, method, version or parameters" : "it is damaged or no run file";
        fclose(f);
        return FA_OK;
    }
    FA_TRY(make(shape, f, file, err));
    FaCode rc = FA_OK;
    while (rc >= 0 && (rc = make_room(*file, err)) >= 0 && next_record(*file)) {}
    if (rc >= 0 && append) rc = fai_run_store_cut(*file, (*file)->count, err);
    if (rc < 0) {
        fai_run_store_close(*file);
        *file = NULL;
    }
    return rc;
}

FaCode fai_run_store_sync(FaRunStore *t, FaError *err) {
    if (fflush(t->f) != 0 || fsync(fileno(t->f)) != 0) return broken(err, "write");
    return FA_OK;
}

int fai_run_store_count(const FaRunStore *t) { return t->count; }
bool fai_run_store_has_state(const FaRunStore *t, int frame) { return t->has_state[frame]; }

FaCode fai_run_store_append(FaRunStore *t, const FaRunStoreInput *in, const float *surface, const void *state,
                            FaError *err) {
    FA_TRY(make_room(t, err));
    uint32_t head[4] = {0x4d415246, (uint32_t)t->count, state != NULL, 0};
    unsigned char *at = t->record;
    const struct {
        const void *data;
        size_t size;
    } part[] = {{head, HEAD},
                {&in->time, sizeof in->time},
                {&in->motion, sizeof in->motion},
                {in->weights, (size_t)t->shape.nshape * sizeof(float)},
                {surface, surface_size(&t->shape)},
                {state, state ? (size_t)t->shape.state : 0}};
    for (int i = 0; i < FA_COUNT(part); i++) {
        if (part[i].size) memcpy(at, part[i].data, part[i].size);
        at += part[i].size;
    }
    size_t size = (size_t)(at - t->record);
    uint64_t sum = fai_hash64(t->record, size, t->shape.key);
    memcpy(at, &sum, 8);
    if (fseeko(t->f, (off_t)t->at[t->count], SEEK_SET) != 0 || fwrite(t->record, 1, size + 8, t->f) != size + 8 ||
        fflush(t->f) != 0)
        return broken(err, "write");
    t->has_state[t->count] = state != NULL;
    t->at[t->count + 1] = t->at[t->count] + size + 8;
    t->count++;
    return FA_OK;
}

FaCode fai_run_store_read(FaRunStore *t, int frame, FaRunStoreInput *in, float *surface, void *state, FaError *err) {
    FA_ASSERT(frame >= 0 && frame < t->count && (!state || t->has_state[frame]));
    size_t from = HEAD, size = record_size(&t->shape, t->has_state[frame]);
    if (!surface && !state) size = HEAD + input_size(&t->shape);
    if (fseeko(t->f, (off_t)t->at[frame], SEEK_SET) != 0 || fread(t->record, 1, size, t->f) != size)
        return broken(err, "read");
    if ((surface || state) && !is_whole(t, size))
        return FA_FAIL(err, FA_E_FILE, FA_PLACE("frame %d", frame), "run the same command again",
                       "the run file was changed while it was read");
    if (in) {
        memcpy(&in->time, t->record + from, sizeof in->time);
        memcpy(&in->motion, t->record + from + sizeof in->time, sizeof in->motion);
        memcpy(t->weights, t->record + from + sizeof in->time + sizeof in->motion,
               (size_t)t->shape.nshape * sizeof(float));
        in->weights = t->weights;
    }
    from += input_size(&t->shape);
    if (surface) memcpy(surface, t->record + from, surface_size(&t->shape));
    if (state) memcpy(state, t->record + from + surface_size(&t->shape), (size_t)t->shape.state);
    return FA_OK;
}

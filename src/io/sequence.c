// Sequences: frames from point caches, numbered OBJ files, rigs under a clip, or the caller, behind one table.
#include "io/sequence.h"

#include "base/file.h"
#include "base/number.h"
#include "io/obj.h"
#include "io/pointcache.h"
#include "math/mat3.h"

#include <math.h>

typedef struct SequenceOps {
    FaCode (*read)(FaSequence *seq, int frame, float *x, FaError *err);
    void (*close)(FaSequence *seq);
} SequenceOps;

struct FaSequence {
    const SequenceOps *ops;
    int nvert, nframe;
    double fps;         // 0: unknown
    double *time;       // NULL: evenly spaced                                (nframe)
    double scale;       // metres per unit of the file
    char *path;         // for errors; NULL if there is no file
    FaRig *own_rig;     // loaded by open
    const FaRig *rig;   // nullable
    const FaClip *clip; // nullable

    FaPointCache *cache;

    FaNames frames; // numbered files
    FaObj first;    // the first of them, which all others must agree with
    FaArena *arena; // its arrays
    double *xd;     // scratch                                            (nvert x 3)

    FaBlender *blender; // NULL: a rig without shapes
    FaDriver driver;
    float *weights; // scratch                                            (nshape)

    FaSequenceReadFn *read; // the caller's
    void *user, *own_user;

    bool turned; // by fa_sequence_transform
    double turn[9];
};

static FaCode new_sequence(const SequenceOps *ops, const char *path, FaSequence **seq, FaError *err) {
    *seq = NULL;
    FaSequence *s = FA_NEW(1, FaSequence);
    if (!s) return FA_FAIL_MEMORY(err);
    s->ops = ops;
    s->scale = 1;
    s->path = path ? fai_strdup(path) : NULL;
    if (path && !s->path) {
        fa_free(s);
        return FA_FAIL_MEMORY(err);
    }
    *seq = s;
    return FA_OK;
}

static void close_nothing(FaSequence *s) { (void)s; }

static double unit_of(const FaRigOptions *options) { return options && options->unit > 0 ? options->unit : 1; }

// --- point caches -------------------------------------------------------------------------------------------------

static FaCode read_cache(FaSequence *s, int frame, float *x, FaError *err) {
    FA_TRY(fai_cache_read(s->cache, frame, x, err));
    if (s->scale != 1)
        for (size_t i = 0; i < 3 * (size_t)s->nvert; i++) x[i] = (float)(s->scale * (double)x[i]);
    return FA_OK;
}

static void close_cache(FaSequence *s) { fai_cache_close(s->cache); }

static const SequenceOps cache_ops = {read_cache, close_cache};

static FaCode open_cache(const char *path, const FaRigOptions *options, FaSequence **seq, FaError *err) {
    FA_TRY(new_sequence(&cache_ops, path, seq, err));
    FaSequence *s = *seq;
    FA_TRY(fai_cache_open(path, &s->cache, err));
    s->nvert = s->cache->nvert;
    s->nframe = s->cache->nframe;
    s->fps = s->cache->fps;
    s->scale = unit_of(options);
    s->time = s->cache->time; // moved
    s->cache->time = NULL;
    return FA_OK;
}

// --- numbered OBJ files -------------------------------------------------------------------------------------------

static FaCode read_obj(FaSequence *s, int frame, float *x, FaError *err) {
    char *path = fai_path_join(s->path, s->frames.name[frame]);
    if (!path) return FA_FAIL_MEMORY(err);
    FaBytes bytes = {0};
    FaCode rc = FA_OK;
    const double *from = s->first.x;
    if (frame > 0) {
        rc = fai_file_read(path, 0, &bytes, err);
        if (rc >= 0) rc = fai_fail_in(err, fai_obj_read_like(&bytes, &s->first, "the first frame", s->xd, err), path);
        from = s->xd;
    }
    if (rc >= 0)
        for (size_t i = 0; i < 3 * (size_t)s->nvert; i++) x[i] = (float)(s->scale * from[i]);
    fai_bytes_free(&bytes);
    fa_free(path);
    return rc;
}

static void close_obj(FaSequence *s) {
    fai_obj_free(&s->first);
    fai_arena_free(s->arena);
    fai_names_free(&s->frames);
    fa_free(s->xd);
}

static const SequenceOps obj_ops = {read_obj, close_obj};

// The number in a frame's name.
static int64_t frame_number(const char *name) {
    const char *end = name + strlen(name) - 4, *p = end;
    while (p > name && p[-1] >= '0' && p[-1] <= '9') p--;
    int64_t n = 0;
    return fai_parse_int(p, end, &n) ? n : -1;
}

// Every frame must be there: a constant step is a choice, a gap is a loss.
static FaCode check_numbers(const FaNames *frames, FaError *err) {
    if (frames->count < 3) return FA_OK;
    int64_t first = frame_number(frames->name[0]), step = frame_number(frames->name[1]) - first;
    for (int i = 2; i < frames->count; i++)
        if (frame_number(frames->name[i]) - frame_number(frames->name[i - 1]) != step)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", i),
                           "add the missing files, or move what does not belong", "%s is followed by %s",
                           frames->name[i - 1], frames->name[i]);
    return FA_OK;
}

static FaCode open_first(FaSequence *s, const FaRigOptions *options, FaError *err) {
    char *path = fai_path_join(s->path, s->frames.name[0]);
    s->arena = fai_arena_new(0);
    FaCode rc = path && s->arena ? fai_obj_load(path, s->arena, &s->first, err) : FA_FAIL_MEMORY(err);
    // the faces make a rig of it, at rest in the first frame; like any cache it is in metres unless told otherwise
    if (rc >= 0 && s->first.nface > 0) {
        FaRigOptions o = {.unit = options ? options->unit : FA_UNIT_M, .up = options ? options->up : FA_UP_AUTO};
        if (!(o.unit > 0)) o.unit = FA_UNIT_M;
        o.any_size = true;
        rc = fa_rig_load(path, &o, &s->own_rig, err);
        s->rig = s->own_rig;
    }
    fa_free(path);
    FA_TRY(rc);
    s->xd = FA_NEW(3 * (size_t)s->first.nvert, double);
    return s->xd ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode open_obj(const char *dir, FaNames *frames, const FaRigOptions *options, FaSequence **seq, FaError *err) {
    FaCode rc = new_sequence(&obj_ops, dir, seq, err);
    if (rc < 0) {
        fai_names_free(frames);
        return rc;
    }
    FaSequence *s = *seq;
    s->frames = *frames;
    *frames = (FaNames){0};
    FA_TRY(fai_fail_in(err, check_numbers(&s->frames, err), dir));
    FA_TRY(open_first(s, options, err));
    s->nvert = s->first.nvert;
    s->nframe = s->frames.count;
    s->scale = unit_of(options);
    return FA_OK;
}

// --- rigs under a clip --------------------------------------------------------------------------------------------

FaCode fai_driver_open(const FaRig *rig, const FaClip *clip, FaDriver *driver, FaError *err) {
    *driver = (FaDriver){.rig = rig, .clip = clip};
    return clip ? fa_clip_bind(clip, rig, &driver->binding, err) : FA_OK;
}

void fai_driver_weights(const FaDriver *d, int frame, float *weights) {
    const FaRig *rig = d->rig;
    if (!d->clip) {
        memcpy(weights, rig->weight, (size_t)rig->nshape * sizeof *weights);
        return;
    }
    const float *chan = d->clip->weight + (size_t)frame * (size_t)d->clip->nchan;
    fa_binding_weights(&d->binding, chan, weights);
    for (int s = 0; s < rig->nshape; s++)
        if (d->binding.chan[s] < 0 && d->binding.chan2[s] < 0) weights[s] = rig->weight[s];
}

void fai_driver_close(FaDriver *d) {
    fa_binding_free(&d->binding);
    *d = (FaDriver){0};
}

static FaCode read_clip(FaSequence *s, int frame, float *x, FaError *err) {
    (void)err;
    if (!s->blender) {
        memcpy(x, s->rig->mesh.x, 3 * (size_t)s->nvert * sizeof *x);
        return FA_OK;
    }
    fai_driver_weights(&s->driver, frame, s->weights);
    fa_blender_eval(s->blender, s->weights, x);
    return FA_OK;
}

static void close_clip(FaSequence *s) {
    fa_blender_free(s->blender);
    fai_driver_close(&s->driver);
    fa_free(s->weights);
}

static const SequenceOps clip_ops = {read_clip, close_clip};

static FaCode start_clip(FaSequence *s, const FaRig *rig, const FaClip *clip, FaError *err) {
    s->rig = rig;
    s->clip = clip ? clip : rig->clip;
    s->nvert = rig->mesh.nvert;
    s->nframe = s->clip ? s->clip->nframe : 1;
    s->fps = s->clip ? s->clip->fps : 0;
    if (s->clip) {
        s->time = FA_NEW(s->nframe, double);
        if (!s->time) return FA_FAIL_MEMORY(err);
        for (int f = 0; f < s->nframe; f++) s->time[f] = s->clip->time[f] - s->clip->time[0];
    }
    if (rig->nshape == 0) return FA_OK;
    s->weights = FA_NEW(rig->nshape, float);
    if (!s->weights) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_driver_open(rig, s->clip, &s->driver, err));
    return fa_blender_new(rig, &s->blender, err);
}

FaCode fa_sequence_of_clip(const FaRig *rig, const FaClip *clip, FaSequence **seq, FaError *err) {
    FA_TRY(new_sequence(&clip_ops, NULL, seq, err));
    FaCode rc = start_clip(*seq, rig, clip, err);
    if (rc < 0) {
        fa_sequence_close(*seq);
        *seq = NULL;
    }
    return rc;
}

static FaCode open_rig(const char *path, const FaRigOptions *options, FaSequence **seq, FaError *err) {
    FA_TRY(new_sequence(&clip_ops, path, seq, err));
    FA_TRY(fa_rig_load(path, options, &(*seq)->own_rig, err));
    return start_clip(*seq, (*seq)->own_rig, NULL, err);
}

// --- the caller's frames ------------------------------------------------------------------------------------------

static FaCode read_custom(FaSequence *s, int frame, float *x, FaError *err) { return s->read(s->user, frame, x, err); }

static const SequenceOps custom_ops = {read_custom, close_nothing};

FaCode fa_sequence_custom(int nvert, int nframe, double fps, FaSequenceReadFn *read, void *user, FaSequence **seq,
                          FaError *err) {
    *seq = NULL;
    if (nvert <= 0 || nframe <= 0 || !read)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "a sequence of %d frames of %d vertices", nframe, nvert);
    if (!(fps >= 0) || !isfinite(fps))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0, or 0 if it is not known",
                       "the frame rate is not a rate");
    FA_TRY(new_sequence(&custom_ops, NULL, seq, err));
    FaSequence *s = *seq;
    s->nvert = nvert;
    s->nframe = nframe;
    s->fps = fps;
    s->read = read;
    s->user = user;
    return FA_OK;
}

void fai_sequence_own(FaSequence *s, void *user, double *time) {
    s->own_user = user;
    fa_free(s->time);
    s->time = time;
}

// --- opening, asking, reading -------------------------------------------------------------------------------------

// Numbered files: `dir` with a pattern, or a folder that holds nothing else. Leaves *seq NULL if it is neither.
static FaCode open_frames(const char *path, const FaRigOptions *options, FaSequence **seq, FaError *err) {
    bool pattern = strchr(fai_path_base(path), '#') != NULL, found = false;
    if (!pattern && !fai_dir_exists(path)) return FA_OK;
    char *dir = pattern ? fai_path_dir(path) : fai_strdup(path);
    if (!dir) return FA_FAIL_MEMORY(err);
    FaNames frames = {0};
    FaCode rc = fai_obj_list_frames(dir, pattern ? fai_path_base(path) : NULL, &frames, &found, err);
    if (rc >= 0 && found)
        rc = open_obj(dir, &frames, options, seq, err);
    else if (rc >= 0 && pattern)
        rc = FA_FAIL(err, FA_E_FILE, NULL, "check the name and the folder", "no files with this pattern");
    fa_free(dir);
    return rc;
}

static bool is_cache(const char *path) {
    char head[16];
    size_t n = fai_file_start(path, head, sizeof head);
    return fai_path_has_ext(path, "mdd") || fai_path_has_ext(path, "pc2") || fai_cache_sniff(head, n);
}

FaCode fa_sequence_open(const char *path, const FaRigOptions *options, FaSequence **seq, FaError *err) {
    *seq = NULL;
    FaCode rc = open_frames(path, options, seq, err);
    if (rc >= 0 && !*seq) rc = is_cache(path) ? open_cache(path, options, seq, err) : open_rig(path, options, seq, err);
    if (rc < 0) {
        fa_sequence_close(*seq);
        *seq = NULL;
    }
    return fai_fail_in(err, rc, path);
}

int fa_sequence_nvert(const FaSequence *seq) { return seq->nvert; }
int fa_sequence_nframe(const FaSequence *seq) { return seq->nframe; }
double fa_sequence_fps(const FaSequence *seq) { return seq->fps; }
const FaRig *fa_sequence_rig(const FaSequence *seq) { return seq->rig; }
const FaClip *fa_sequence_clip(const FaSequence *seq) { return seq->clip; }

double fa_sequence_time(const FaSequence *seq, int frame) {
    FA_ASSERT(frame >= 0 && frame < seq->nframe);
    return seq->time ? seq->time[frame] : frame / (seq->fps > 0 ? seq->fps : 30.0);
}

double fai_sequence_clip_time(const FaSequence *seq, const FaClip *clip, int frame) {
    bool in_step = clip && (clip->nframe == seq->nframe || (!(seq->fps > 0) && seq->nframe <= clip->nframe));
    return in_step ? clip->time[frame] : fa_sequence_time(seq, frame);
}

static void turn_points(const double m[9], int n, float *x) {
    for (float *p = x; p < x + 3 * (size_t)n; p += 3) {
        const double at[3] = {(double)p[0], (double)p[1], (double)p[2]};
        for (int k = 0; k < 3; k++) p[k] = (float)(m[3 * k] * at[0] + m[3 * k + 1] * at[1] + m[3 * k + 2] * at[2]);
    }
}

void fa_sequence_transform(FaSequence *seq, const double m[9]) {
    double before[9];
    memcpy(before, seq->turn, sizeof before);
    for (int i = 0; i < 9; i++) seq->turn[i] = m[i];
    if (seq->turned) fai_m3_mul(m, before, seq->turn);
    seq->turned = false;
    for (int i = 0; i < 9; i++) seq->turned |= seq->turn[i] != (i % 4 == 0);
}

FaCode fa_sequence_read(FaSequence *seq, int frame, float *x, FaError *err) {
    if (frame < 0 || frame >= seq->nframe)
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", frame), NULL, "the frames are 0 to %d", seq->nframe - 1);
    FaCode rc = seq->ops->read(seq, frame, x, err);
    if (rc >= 0 && seq->turned) turn_points(seq->turn, seq->nvert, x);
    return seq->path ? fai_fail_in(err, rc, seq->path) : rc;
}

void fa_sequence_close(FaSequence *seq) {
    if (!seq) return;
    seq->ops->close(seq);
    fa_rig_free(seq->own_rig);
    fa_free(seq->own_user);
    fa_free(seq->time);
    fa_free(seq->path);
    fa_free(seq);
}

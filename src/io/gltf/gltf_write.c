#include "io/gltf/gltf_write.h"

#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_new.h"
#include "rig/bind.h"

#include <math.h>

// --- a clip as the document's motion ------------------------------------------------------------------------------

// The rig's weights at each frame, and what goes with them. Targets of an earlier bake are not the user's: they stay at
// 0.
typedef struct Motion {
    FaGltfMotion m;
    double *time;  // (nframe)
    float *weight; // (nframe x nuser)
    FaPose *head;  // (nframe), NULL: stays
    double *own;   // times in the file, of a part of its own animation      (nframe), NULL: it is another
    int nuser;     // weights per frame
} Motion;

static void motion_free(Motion *k) {
    fa_free(k->time);
    fa_free(k->weight);
    fa_free(k->head);
    fa_free(k->own);
}

static int user_shapes(const FaRig *rig) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    return doc ? FA_MIN(fai_gltf_user_targets(doc), rig->nshape) : rig->nshape;
}

static FaCode motion_init(Motion *k, const FaRig *rig, int nframe, FaError *err) {
    *k = (Motion){.nuser = user_shapes(rig)};
    k->time = FA_NEW(nframe, double);
    k->weight = FA_NEW((size_t)nframe * (size_t)k->nuser, float);
    k->m = (FaGltfMotion){.nframe = nframe, .time = k->time, .weight = k->weight};
    return k->time && k->weight ? FA_OK : FA_FAIL_MEMORY(err);
}

// Frame i of the clip where there are as many, else the clip at i / fps.
static double clip_time(const Motion *k, const FaClip *clip, double fps, int frame) {
    return clip->nframe == k->m.nframe ? clip->time[frame] : frame / fps;
}

// Time of the file at a time of the rig's clip, whose frames may have been given another rate since.
static double file_time(const FaClip *file, const FaClip *own, double time) {
    int i = 0, n = own->nframe;
    while (i + 2 < n && own->time[i + 1] <= time) i++;
    if (n < 2) return file->start;
    double u = (time - own->time[i]) / (own->time[i + 1] - own->time[i]);
    return file->start + (1 - u) * file->time[i] + u * file->time[i + 1];
}

static bool same_head(const FaClip *file, const FaClip *clip, int frame, double time) {
    FaPose a, b;
    if (!file->head || !clip->head) return !file->head == !clip->head;
    fa_clip_sample(file, time - file->start, NULL, &a);
    fa_clip_sample(clip, clip->time[FA_MIN(frame, clip->nframe - 1)], NULL, &b);
    for (int k = 0; k < 4; k++)
        if (fabs(a.q[k] - b.q[k]) > 1e-5) return false;
    for (int k = 0; k < 3; k++)
        if (fabs(a.p[k] - b.p[k]) > 1e-5) return false;
    return true;
}

// Where the clip is a part of the file's own animation, and its head does what it does there: the times (k->own).
static FaCode find_own_times(Motion *k, const FaRig *rig, const FaClip *clip, double fps, FaError *err) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    FaClip *file = NULL;
    if (!doc || !rig->clip || !fai_clip_is_own(rig, clip)) return FA_OK;
    FA_TRY(fai_gltf_clip(doc, rig, &file, err));
    bool own = file && file->nframe == rig->clip->nframe;
    if (own) k->own = FA_NEW(k->m.nframe, double);
    FaCode rc = own && !k->own ? FA_FAIL_MEMORY(err) : FA_OK;
    for (int f = 0; f < k->m.nframe && k->own && own; f++) {
        k->own[f] = file_time(file, rig->clip, clip->start - rig->clip->start + clip_time(k, clip, fps, f));
        own = clip->nframe != k->m.nframe || same_head(file, clip, f, k->own[f]);
    }
    if (own) k->m.own_time = k->own;
    fa_clip_free(file);
    return rc;
}

static FaCode motion_of_clip(Motion *k, const FaRig *rig, const FaClip *clip, double fps, double start, bool head,
                             FaError *err) {
    FaBinding binding;
    bool by_number = clip->nframe == k->m.nframe;
    size_t nuser = (size_t)k->nuser;
    if (head) FA_TRY(find_own_times(k, rig, clip, fps, err));
    if (k->m.own_time) head = false;
    k->m.new_head = head;
    k->m.on_neck = head && clip->head && rig->body && !fai_clip_is_own(rig, clip);
    if (head && clip->head) k->m.head = k->head = FA_NEW(k->m.nframe, FaPose);
    float *channel = FA_NEW(clip->nchan, float), *shape = FA_NEW(rig->nshape, float);
    bool have = channel && shape && (k->head || !head || !clip->head);
    FaCode rc = have ? fa_clip_bind(clip, rig, &binding, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int f = 0; f < k->m.nframe; f++) {
            double t = clip_time(k, clip, fps, f);
            FaPose pose;
            fa_clip_sample(clip, t, channel, &pose);
            if (by_number)
                memcpy(channel, clip->weight + (size_t)f * (size_t)clip->nchan, (size_t)clip->nchan * sizeof *channel);
            fa_binding_weights(&binding, channel, shape);
            if (nuser) memcpy(k->weight + (size_t)f * nuser, shape, nuser * sizeof *shape);
            if (k->head) k->head[f] = by_number ? clip->head[f] : pose;
            k->time[f] = start + t;
        }
        fa_binding_free(&binding);
    }
    fa_free(channel);
    fa_free(shape);
    return rc;
}

FaCode fai_gltf_save(const FaRig *rig, const FaClip *clip, const char *path, FaError *err) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    if (!doc) return fai_gltf_new_save(rig, clip ? clip : rig->clip, NULL, NULL, path, NULL, err);
    if (!clip || clip == rig->clip) return fai_gltf_copy(doc, path, err);
    Motion k;
    FaCode rc = motion_init(&k, rig, clip->nframe, err);
    if (rc >= 0) rc = motion_of_clip(&k, rig, clip, clip->fps, 0, true, err);
    if (!clip->nchan) k.m.weight = NULL; // only the head moves: the face goes on with what it does
    if (rc >= 0) rc = fai_gltf_save_motion(doc, rig, &k.m, path, NULL, err);
    motion_free(&k);
    return fai_fail_in(err, rc, path);
}

// --- weights without a clip: the ones that come nearest to the frames ---------------------------------------------

typedef struct Fit {
    const FaRig *rig;
    int n;
    double *chol; // lower Cholesky factor of the shapes' Gram matrix    (n x n)
    double *b;    // (n)
} Fit;

static void fit_free(Fit *fit) {
    fa_free(fit->chol);
    fa_free(fit->b);
}

static double shape_dot(const FaRig *rig, int shape, const float *x) {
    const FaShape *s = &rig->shape[shape];
    double sum = 0;
    for (int e = s->first; e < s->first + s->count; e++) {
        const float *d = rig->delta + 3 * (size_t)e, *p = x + 3 * (size_t)rig->row[e];
        sum += (double)d[0] * (double)p[0] + (double)d[1] * (double)p[1] + (double)d[2] * (double)p[2];
    }
    return sum;
}

// Shapes that are nearly the same would get huge opposite weights: a small share of the largest is added to the
// diagonal.
static FaCode fit_init(Fit *fit, const FaRig *rig, int n, FaError *err) {
    *fit = (Fit){rig, n, FA_NEW((size_t)n * (size_t)n, double), FA_NEW(n, double)};
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    if (!fit->chol || !fit->b || !x) {
        fa_free(x);
        return FA_FAIL_MEMORY(err);
    }
    double *a = fit->chol, largest = 0;
    for (int i = 0; i < n; i++) {
        const FaShape *s = &rig->shape[i];
        for (int e = s->first; e < s->first + s->count; e++)
            memcpy(x + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *x);
        for (int j = 0; j <= i; j++) a[(size_t)i * (size_t)n + (size_t)j] = shape_dot(rig, j, x);
        for (int e = s->first; e < s->first + s->count; e++) memset(x + 3 * (size_t)rig->row[e], 0, 3 * sizeof *x);
        largest = FA_MAX(largest, a[(size_t)i * (size_t)n + (size_t)i]);
    }
    fa_free(x);
    for (int i = 0; i < n; i++) {
        double *ri = a + (size_t)i * (size_t)n;
        ri[i] += 1e-8 * largest;
        for (int j = 0; j <= i; j++) {
            const double *rj = a + (size_t)j * (size_t)n;
            double sum = ri[j];
            for (int k = 0; k < j; k++) sum -= ri[k] * rj[k];
            if (j < i)
                ri[j] = rj[j] > 0 ? sum / rj[j] : 0;
            else
                ri[i] = sum > 0 ? sqrt(sum) : 0;
        }
    }
    return FA_OK;
}

// x: displacements from the neutral.
static void fit_weights(Fit *fit, const float *x, float *weight) {
    int n = fit->n;
    double *b = fit->b;
    const double *a = fit->chol;
    for (int i = 0; i < n; i++) {
        const double *ri = a + (size_t)i * (size_t)n;
        double sum = shape_dot(fit->rig, i, x);
        for (int k = 0; k < i; k++) sum -= ri[k] * b[k];
        b[i] = ri[i] > 0 ? sum / ri[i] : 0;
    }
    for (int i = n - 1; i >= 0; i--) {
        double ii = a[(size_t)i * (size_t)n + (size_t)i], sum = b[i];
        for (int k = i + 1; k < n; k++) sum -= a[(size_t)k * (size_t)n + (size_t)i] * b[k];
        b[i] = ii > 0 ? sum / ii : 0;
        weight[i] = (float)b[i];
    }
}

static FaCode motion_of_frames(Motion *k, const FaRig *rig, FaSequenceReadFn *read, void *user, double fps,
                               double start, FaError *err) {
    Fit fit;
    size_t n3 = 3 * (size_t)rig->mesh.nvert;
    float *x = FA_NEW(n3, float);
    FaCode rc = fit_init(&fit, rig, k->nuser, err);
    if (rc >= 0 && !x) rc = FA_FAIL_MEMORY(err);
    for (int f = 0; f < k->m.nframe && rc >= 0; f++) {
        k->time[f] = start + f / fps;
        if (!k->nuser) continue;
        rc = read(user, f, x, err);
        for (size_t i = 0; i < n3 && rc >= 0; i++) x[i] -= rig->mesh.x[i];
        if (rc >= 0) fit_weights(&fit, x, k->weight + (size_t)f * (size_t)k->nuser);
    }
    fit_free(&fit);
    fa_free(x);
    return rc;
}

// --- exact frames -------------------------------------------------------------------------------------------------

// What is left of the frames when the rig has done its part.
typedef struct Rest {
    const FaRig *rig;
    const Motion *motion;
    FaBlender *blender;
    FaSequenceReadFn *read;
    void *user;
    float *shape; // all of the rig's weights                            (nshape)
    float *x;     // the rig's positions                                 (nvert x 3)
} Rest;

static FaCode read_rest(void *user, int frame, float *r, FaError *err) {
    Rest *s = user;
    size_t nuser = (size_t)s->motion->nuser;
    FA_TRY(s->read(s->user, frame, r, err));
    if (nuser) memcpy(s->shape, s->motion->weight + (size_t)frame * nuser, nuser * sizeof *s->shape);
    fa_blender_eval(s->blender, s->shape, s->x);
    for (size_t i = 0; i < 3 * (size_t)s->rig->mesh.nvert; i++) r[i] -= s->x[i];
    return FA_OK;
}

static FaCode bake_rest(const Motion *motion, const FaRig *rig, FaSequenceReadFn *read, void *user,
                        const FaSinkOptions *o, FaBake **bake, FaError *err) {
    Rest rest = {rig, motion, NULL, read, user, FA_NEW(rig->nshape, float), FA_NEW(3 * (size_t)rig->mesh.nvert, float)};
    FaBakeSource source = {rig->mesh.nvert, motion->m.nframe, read_rest, &rest};
    FaBakeParams params = {
        .max_error = 1e-3 * (o->bake_error_mm > 0 ? o->bake_error_mm : fa_sink_options_default().bake_error_mm),
        .max_targets = o->max_targets > 0 ? o->max_targets : fa_sink_options_default().max_targets,
        .local = fai_gltf_of_rig(rig) ? rig->local : NULL,
        .progress = o->progress,
        .progress_user = o->progress_user};
    FaCode rc = rest.shape && rest.x ? fa_blender_new(rig, &rest.blender, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_bake(&source, &params, bake, err);
    fa_blender_free(rest.blender);
    fa_free(rest.shape);
    fa_free(rest.x);
    return rc;
}

static FaCode bake_and_save(const char *path, const FaBakeSource *frames, const FaSinkOptions *o, Motion *k,
                            FaBake **bake, size_t *added, FaError *err) {
    const FaRig *rig = o->rig;
    const FaGltf *doc = fai_gltf_of_rig(rig);
    bool own = o->clip && o->clip == rig->clip; // the document plays it already, the head's part of it stays as it is
    double fps = o->fps > 0                    ? o->fps
                 : o->clip && o->clip->fps > 0 ? o->clip->fps
                                               : 30,
           start = own ? rig->clip->start : o->start;
    FA_TRY(motion_init(k, rig, frames->nframe, err));
    if (o->clip)
        FA_TRY(motion_of_clip(k, rig, o->clip, fps, start, !own || !doc, err));
    else
        FA_TRY(motion_of_frames(k, rig, frames->read, frames->user, fps, start, err));
    FaCode rc = bake_rest(k, rig, frames->read, frames->user, o, bake, err);
    FA_TRY(rc);
    k->m.bake = *bake;
    k->m.allowed_mm = o->bake_error_mm > 0 ? o->bake_error_mm : fa_sink_options_default().bake_error_mm;
    k->m.generator = o->generator;
    FaCode wrote = doc ? fai_gltf_save_motion(doc, rig, &k->m, path, added, err)
                       : fai_gltf_new_save(rig, NULL, &k->m, o->generator, path, added, err);
    return wrote < 0 ? wrote : rc;
}

FaCode fai_gltf_bake_frames(const char *path, int nframe, FaSequenceReadFn *read, void *user,
                            const FaSinkOptions *options, FaBakeReport *report, FaError *err) {
    Motion k = {0};
    FaBake *bake = NULL;
    size_t added = 0;
    const FaBakeSource frames = {options->rig->mesh.nvert, nframe, read, user};
    FaCode rc = bake_and_save(path, &frames, options, &k, &bake, &added, err);
    if (rc >= 0 && report)
        *report = (FaBakeReport){bake->ntarget, 1e3 * bake->max_error, 1e3 * bake->mean_error, added};
    fai_bake_free(bake);
    motion_free(&k);
    return fai_fail_in(err, rc, path);
}

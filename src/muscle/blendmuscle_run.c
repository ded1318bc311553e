// The muscles of all shapes: several at once, each with a model of its own, kept on disk as they come, so that a build
// that was stopped goes on.
#include "base/file.h"
#include "base/task.h"
#include "muscle/blendmuscle.h"

enum { MODELS = 4 };

typedef struct Run {
    const FaMuscleShapesOptions *o;
    FaBlendMuscles all;
    int nmodel, missing;
    FaMuscleModel *model[MODELS]; // the first is the caller's
    FaMuscleDirector *director[MODELS];
    FaBlendMuscle *shape[MODELS]; // where each makes them                      (nshape)
    pthread_mutex_t lock;         // of what follows, and of all.shape
    unsigned char *begun;         // (nshape)
    FaCode code;                  // the first that failed
    FaError error;
} Run;

FaMuscleShapesOptions fa_muscle_shapes_options_default(void) { return (FaMuscleShapesOptions){0}; }

// Also what a wanted one goes on top of.
static bool is_wanted(const Run *r, int shape) {
    if (!r->o->wanted || r->o->wanted[shape]) return true;
    for (int i = 0; i < r->all.nshape; i++)
        if (r->o->wanted[i] && fai_blend_muscle_base(r->model[0], i) == shape) return true;
    return false;
}

static bool is_next(const Run *r, int shape) {
    const int on = fai_blend_muscle_base(r->model[0], shape);
    return is_wanted(r, shape) && !r->all.shape[shape].done && (on < 0 || r->all.shape[on].done);
}

static int count_missing(const Run *r) {
    int n = 0;
    for (int i = 0; i < r->all.nshape; i++) n += is_wanted(r, i) && !r->all.shape[i].done;
    return n;
}

// --- files --------------------------------------------------------------------------------------------------------

static FaCode write_part(const Run *r, FaError *err) {
    FaText text = {0};
    if (!r->o->partial) return FA_OK;
    fai_blend_muscles_pack(&r->all, &text);
    FaCode rc = text.failed ? FA_FAIL_MEMORY(err) : fai_file_write(r->o->partial, text.data, text.size, err);
    fai_text_free(&text);
    return rc;
}

// What an earlier run left. Anything odd: nothing is taken, and no error made of it.
static void read_part(Run *r) {
    FaBytes b = {0};
    FaError ignored = {0};
    if (!r->o->partial || !fai_file_exists(r->o->partial) || fai_file_read_own(r->o->partial, &b, &ignored) < 0) return;
    fai_blend_muscles_unpack(&r->all, b.data, b.size, &ignored);
    fai_bytes_free(&b);
}

static FaCode keep_in_face(const Run *r, FaFace *face, FaError *err) {
    FaText text = {0};
    fai_blend_muscles_pack(&r->all, &text);
    unsigned char *copy = text.failed ? NULL : FA_PUSH(face->arena, text.size, unsigned char);
    if (copy) memcpy(copy, text.data, text.size);
    if (copy) face->shapes = copy, face->shapes_size = text.size;
    fai_text_free(&text);
    return copy ? FA_OK : FA_FAIL_MEMORY(err);
}

// --- making -------------------------------------------------------------------------------------------------------

// One model per thread, as many as there is work for.
static FaCode open_models(Run *r, const FaFace *face, FaError *err) {
    const int most = FA_MIN(FA_MIN(fa_threads(), MODELS), r->missing);
    r->nmodel = 1;
    while (r->nmodel < most) {
        FA_TRY(fa_muscle_open(r->model[0]->rig, face, NULL, &r->model[r->nmodel], err));
        FA_TRY(fai_muscle_director(r->model[r->nmodel], &r->director[r->nmodel], err));
        r->nmodel++;
    }
    r->begun = FA_NEW((size_t)r->all.nshape + 1, unsigned char);
    for (int i = 0; i < r->nmodel && r->begun; i++)
        if (!(r->shape[i] = FA_NEW((size_t)r->all.nshape + 1, FaBlendMuscle))) return FA_FAIL_MEMORY(err);
    return r->begun ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode tell(const Run *r, double done, FaError *err) {
    return fai_progress(r->o->progress, r->o->progress_user, "shapes", done,
                        r->o->partial ? "finished shapes are kept, and the same command goes on from there"
                                      : "the face is as it was",
                        err);
}

static void fail(Run *r, FaCode code, const FaError *error) {
    if (r->code >= 0) r->code = code, r->error = *error;
}

// The next one that no one has begun; -1: none that could be made now.
static int take(Run *r) {
    int next = -1;
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->all.nshape && next < 0 && r->code >= 0; i++)
        if (!r->begun[i] && is_next(r, i)) next = i;
    if (next >= 0) r->begun[next] = 1;
    pthread_mutex_unlock(&r->lock);
    return next;
}

// What is finished is kept at once, and told.
static void hand_in(Run *r, int shape, FaBlendMuscle *made, FaCode code, const FaError *failed) {
    FaError err = *failed;
    const FaRig *rig = r->model[0]->rig;
    pthread_mutex_lock(&r->lock);
    if (code < 0)
        FA_FAIL(&err, code, FA_PLACE("shape '%.80s'", rig->shape[shape].name), failed->remedy, "%s", failed->what);
    else {
        r->all.shape[shape] = *made;
        *made = (FaBlendMuscle){0};
        code = write_part(r, &err);
        if (code >= 0 && r->code >= 0) code = tell(r, 1 - (double)count_missing(r) / r->missing, &err);
    }
    if (code < 0) fail(r, code, &err);
    pthread_mutex_unlock(&r->lock);
}

// A model makes one shape after the other, while there are any; no one waits for who has a slow one.
static void work(void *ctx, int begin, int end, int chunk) {
    Run *r = ctx;
    (void)end, (void)chunk;
    FaBlendMuscles mine = r->all;
    mine.shape = r->shape[begin];
    for (int i = take(r); i >= 0; i = take(r)) {
        FaError err = {0};
        const int on = fai_blend_muscle_base(r->model[begin], i);
        if (on >= 0) mine.shape[on] = r->all.shape[on]; // finished: no one changes it
        const FaCode rc = fai_blend_muscle_make(r->director[begin], i, &mine, &err);
        if (on >= 0) mine.shape[on] = (FaBlendMuscle){0};
        hand_in(r, i, &mine.shape[i], rc, &err);
    }
}

static FaCode make_missing(Run *r, FaError *err) {
    FA_TRY(tell(r, 0, err));
    for (int left = r->missing; left > 0 && r->code >= 0; left = count_missing(r)) {
        // one alone has all threads
        if (r->nmodel == 1 || left == 1)
            work(r, 0, 1, 0);
        else
            fai_parallel(r->nmodel, 1, work, r);
    }
    if (r->code < 0 && err) *err = r->error;
    return r->code < 0 ? r->code : tell(r, 1, err);
}

static void report_on(const Run *r, FaMuscleShapesReport *out) {
    const FaRig *rig = r->model[0]->rig;
    double worst = 0;
    for (int i = 0; i < r->all.nshape; i++) {
        const FaBlendMuscle *s = &r->all.shape[i];
        if (!s->done) continue;
        out->shapes++;
        out->made += !s->resumed;
        out->plain += s->nlevel == 0;
        if (s->nlevel == 0) continue;
        out->neutral += s->neutral, out->rms += s->rms;
        if (s->rms > worst) worst = s->rms, out->worst = rig->shape[i].name, out->worst_rms = s->rms;
    }
    const int moved = FA_MAX(out->shapes - out->plain, 1);
    out->neutral /= moved, out->rms /= moved;
}

static FaCode run(Run *r, FaFace *face, FaMuscleShapesReport *report, FaError *err) {
    FA_TRY(fai_muscle_director(r->model[0], &r->director[0], err));
    FA_TRY(fai_blend_muscles_new(r->director[0], &r->all, err));
    int kept = fai_blend_muscles_unpack(&r->all, face->shapes, face->shapes_size, err);
    if (kept < 0) return (FaCode)kept;
    read_part(r);
    FA_TRY(fa_muscle_keep(r->model[0], face, err)); // for the other models, and since shapes are of these muscles
    r->missing = count_missing(r);
    if (r->missing) FA_TRY(open_models(r, face, err));
    FA_TRY(make_missing(r, err));
    FA_TRY(keep_in_face(r, face, err));
    report_on(r, report);
    return FA_OK;
}

FaCode fa_muscle_shapes(FaMuscleModel *model, FaFace *face, const FaMuscleShapesOptions *options,
                        FaMuscleShapesReport *report, FaError *err) {
    const FaMuscleShapesOptions none = {0};
    FaMuscleShapesReport own;
    Run r = {.o = options ? options : &none, .model = {model}};
    double begin = fai_seconds();
    if (!report) report = &own;
    *report = (FaMuscleShapesReport){0};
    pthread_mutex_init(&r.lock, NULL);
    FaCode rc = run(&r, face, report, err);
    report->seconds = fai_seconds() - begin;
    pthread_mutex_destroy(&r.lock);
    for (int i = 1; i < MODELS; i++) fa_muscle_close(r.model[i]);
    for (int i = 0; i < MODELS; i++) fa_free(r.shape[i]);
    fa_free(r.begun);
    fai_blend_muscles_free(&r.all);
    return rc;
}

FaCode fa_muscle_shapes_kept(FaMuscleModel *model, const FaFace *face, unsigned char *kept, FaError *err) {
    FaMuscleDirector *d;
    FaBlendMuscles all;
    FA_TRY(fai_muscle_director(model, &d, err));
    FaCode rc = fai_blend_muscles_new(d, &all, err);
    if (rc >= 0) rc = (FaCode)FA_MIN(fai_blend_muscles_unpack(&all, face->shapes, face->shapes_size, err), 0);
    for (int i = 0; i < all.nshape && rc >= 0; i++) kept[i] = all.shape[i].done;
    fai_blend_muscles_free(&all);
    return rc;
}

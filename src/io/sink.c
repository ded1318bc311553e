// Sinks: frames in, a file of any format out.
#include "base/file.h"
#include "io/gltf/gltf_write.h"
#include "io/obj_write.h"
#include "io/pointcache.h"
#include "io/sequence.h"
#include "io/usda.h"

#include <math.h>

typedef enum SinkKind { SINK_PC2, SINK_MDD, SINK_USDA, SINK_OBJ, SINK_GLTF } SinkKind;

struct FaSink {
    SinkKind kind;
    int nvert, nframe;
    double fps;
    char *path;
    union { // by kind; all NULL until opened
        FaCacheWriter *cache;
        FaUsdaWriter *usda;
        FaObjWriter *obj;
        FaGltfSink *gltf;
        void *any;
    } to;
};

// --- choosing -----------------------------------------------------------------------------------------------------

static FaCode find_kind(const char *path, SinkKind *kind, FaError *err) {
    static const struct {
        const char *ext;
        SinkKind kind;
    } known[] = {{"pc2", SINK_PC2},  {"mdd", SINK_MDD},   {"usda", SINK_USDA}, {"obj", SINK_OBJ},
                 {"glb", SINK_GLTF}, {"gltf", SINK_GLTF}, {"vrm", SINK_GLTF}};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (fai_path_has_ext(path, known[i].ext)) return *kind = known[i].kind, FA_OK;
    if (fai_obj_names_folder(path)) return *kind = SINK_OBJ, FA_OK;
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "write .glb .gltf .pc2 .mdd .usda, a folder/ or name_####.obj",
                   "frames are not written as .%.20s", fai_path_ext(path));
}

FaSinkOptions fa_sink_options_default(void) { return (FaSinkOptions){.bake_error_mm = 0.05, .max_targets = 512}; }

static FaCode check_options(SinkKind kind, int nvert, const FaSinkOptions *o, FaError *err) {
    static const char *const name[] = {"PC2", "MDD", "USDA", "OBJ", "glTF"};
    if (nvert <= 0) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "frames of %d vertices", nvert);
    if (!o->rig && kind >= SINK_USDA)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the rig that the frames belong to (--rig)",
                       "%s needs the faces of a rig", name[kind]);
    if (o->rig && o->rig->mesh.nvert != nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, "use the rig that the frames were made with",
                       "the frames have %d vertices, the rig has %d", nvert, o->rig->mesh.nvert);
    bool rate = o->fps > 0 && isfinite(o->fps), needed = kind != SINK_PC2 && kind != SINK_OBJ;
    if (needed ? !rate : !rate && o->fps != 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0 (--fps)", "the frame rate is not a rate");
    if (!isfinite(o->start)) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the start time is not a number");
    return FA_OK;
}

// --- opening and pushing ------------------------------------------------------------------------------------------

static FaCode open_target(FaSink *s, const FaSinkOptions *o, FaError *err) {
    switch (s->kind) {
    case SINK_PC2:
    case SINK_MDD:
        return fai_cache_create(s->path, s->kind == SINK_PC2 ? FA_CACHE_PC2 : FA_CACHE_MDD, s->nvert, o->fps, o->start,
                                &s->to.cache, err);
    case SINK_USDA: return fai_usda_create(s->path, o->rig, o->clip, o->fps, o->start, o->generator, &s->to.usda, err);
    case SINK_OBJ: return fai_obj_create(s->path, &o->rig->mesh, o->generator, &s->to.obj, err);
    case SINK_GLTF: return fai_gltf_sink_open(s->path, s->nvert, o, &s->to.gltf, err);
    }
    return FA_OK;
}

FaCode fa_sink_open(const char *path, int nvert, const FaSinkOptions *options, FaSink **sink, FaError *err) {
    *sink = NULL;
    FaSinkOptions none = {0};
    const FaSinkOptions *o = options ? options : &none;
    FaSink *s = FA_NEW(1, FaSink);
    if (!s) return FA_FAIL_MEMORY(err);
    s->nvert = nvert;
    s->fps = o->fps;
    s->path = fai_strdup(path);
    FaCode rc = s->path ? find_kind(path, &s->kind, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = check_options(s->kind, nvert, o, err);
    if (rc >= 0) rc = open_target(s, o, err);
    if (rc >= 0)
        *sink = s;
    else
        fa_sink_abandon(s);
    return fai_fail_in(err, rc, path);
}

// time: s from the first frame, for the formats that have times.
static FaCode push_at(FaSink *s, double time, const float *x, FaError *err) {
    for (size_t i = 0; i < 3 * (size_t)s->nvert; i++)
        if (!isfinite(x[i]))
            return fai_fail_in(err,
                               FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d, vertex %zu", s->nframe, i / 3), NULL,
                                       "a position is %s", isnan(x[i]) ? "not a number" : "infinite"),
                               s->path);
    FaCode rc = FA_OK;
    switch (s->kind) {
    case SINK_PC2:
    case SINK_MDD: rc = fai_cache_push(s->to.cache, time, x, err); break;
    case SINK_USDA: rc = fai_usda_push(s->to.usda, time, x, err); break;
    case SINK_OBJ: rc = fai_obj_push(s->to.obj, x, err); break;
    case SINK_GLTF: rc = fai_gltf_sink_push(s->to.gltf, x, err); break;
    }
    if (rc >= 0) s->nframe++;
    return fai_fail_in(err, rc, s->path);
}

FaCode fa_sink_push(FaSink *sink, const float *x, FaError *err) {
    return push_at(sink, sink->fps > 0 ? sink->nframe / sink->fps : 0, x, err);
}

// --- ending -------------------------------------------------------------------------------------------------------

FaCode fa_sink_finish(FaSink *s, FaBakeReport *report, FaError *err) {
    FaBakeReport none;
    if (!report) report = &none;
    *report = (FaBakeReport){0};
    FaCode rc = s->nframe > 0 ? FA_OK : FA_FAIL(err, FA_E_ARG, NULL, "push at least one frame", "no frames to write");
    if (rc >= 0) {
        switch (s->kind) {
        case SINK_PC2:
        case SINK_MDD: rc = fai_cache_finish(s->to.cache, err); break;
        case SINK_USDA: rc = fai_usda_finish(s->to.usda, err); break;
        case SINK_OBJ: rc = fai_obj_finish(s->to.obj, err); break;
        case SINK_GLTF: rc = fai_gltf_sink_finish(s->to.gltf, report, err); break;
        }
        s->to.any = NULL;
    }
    fai_fail_in(err, rc, s->path);
    fa_sink_abandon(s);
    return rc;
}

void fa_sink_abandon(FaSink *s) {
    if (!s) return;
    switch (s->kind) {
    case SINK_PC2:
    case SINK_MDD: fai_cache_abandon(s->to.cache); break;
    case SINK_USDA: fai_usda_abandon(s->to.usda); break;
    case SINK_OBJ: fai_obj_abandon(s->to.obj); break;
    case SINK_GLTF: fai_gltf_sink_abandon(s->to.gltf); break;
    }
    fa_free(s->path);
    fa_free(s);
}

// --- whole sequences ----------------------------------------------------------------------------------------------

// What the caller left open is known by the sequence, or by the clip that goes with it.
static FaSinkOptions complete(const FaSequence *seq, const FaSinkOptions *options, const char *path) {
    FaSinkOptions o = options ? *options : (FaSinkOptions){0};
    if (!o.rig) o.rig = fa_sequence_rig(seq);
    if (!o.clip && o.rig == fa_sequence_rig(seq)) o.clip = fa_sequence_clip(seq);
    if (o.fps == 0) o.fps = fa_sequence_fps(seq);
    if (o.fps == 0 && o.clip) o.fps = o.clip->fps;
    SinkKind kind = SINK_PC2;
    bool silent =
        find_kind(path, &kind, NULL) < 0 || kind == SINK_PC2 || kind == SINK_OBJ || fa_sequence_nframe(seq) == 1;
    if (o.fps == 0) {
        o.fps = 30;
        if (!silent)
            fai_log(FA_LOG_WARN, "io", -1, "%s: the frame rate is not known, 30 is taken; --fps says otherwise", path);
    }
    return o;
}

static FaCode save_stream(FaSequence *seq, const char *path, const FaSinkOptions *o, FaBakeReport *report,
                          FaError *err) {
    FaSink *sink;
    FA_TRY(fa_sink_open(path, fa_sequence_nvert(seq), o, &sink, err));
    int n = fa_sequence_nframe(seq);
    double rate = fa_sequence_fps(seq), scale = rate > 0 && o->fps > 0 ? rate / o->fps : 0;
    float *x = FA_NEW(3 * (size_t)fa_sequence_nvert(seq), float);
    FaCode rc = x ? FA_OK : FA_FAIL_MEMORY(err);
    for (int f = 0; f < n && rc >= 0; f++) {
        rc = fa_sequence_read(seq, f, x, err);
        // times keep their gaps; another rate stretches them
        double time = scale > 0 ? scale * fa_sequence_time(seq, f) : o->fps > 0 ? f / o->fps : 0;
        if (rc >= 0) rc = push_at(sink, time, x, err);
        if (rc >= 0)
            rc = fai_progress(o->progress, o->progress_user, "write", (f + 1.0) / n, "no file is written", err);
    }
    fa_free(x);
    if (rc >= 0) return fa_sink_finish(sink, report, err);
    fa_sink_abandon(sink);
    return rc;
}

static FaCode read_again(void *user, int frame, float *x, FaError *err) {
    return fa_sequence_read(user, frame, x, err);
}

FaCode fa_sequence_save(FaSequence *seq, const char *path, const FaSinkOptions *options, FaBakeReport *report,
                        FaError *err) {
    FaBakeReport none;
    if (!report) report = &none;
    *report = (FaBakeReport){0};
    FaSinkOptions o = complete(seq, options, path);
    SinkKind kind = SINK_PC2;
    FaCode rc = find_kind(path, &kind, err);
    if (rc >= 0) rc = check_options(kind, fa_sequence_nvert(seq), &o, err);
    if (rc < 0) return fai_fail_in(err, rc, path);
    if (kind != SINK_GLTF) return save_stream(seq, path, &o, report, err);
    // a sequence can be read again at will, so that nothing has to be kept aside
    rc = fai_gltf_save_frames(path, fa_sequence_nvert(seq), fa_sequence_nframe(seq), read_again, seq, &o, report, err);
    return fai_fail_in(err, rc, path);
}

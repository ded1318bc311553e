// bench neural: a bound network's frame beside linear blending of the same rig, one thread, in one run. The cases take
// turns frame by frame, so that whatever else the machine does hits all alike. The network is the one that ships.
#include "bench/bench_list.h"

#include "fascia/head.h"
#include "fascia_rt.h"
#include "neural/bind_net.h"

#include <math.h>
#include <stdlib.h>

enum { FRAMES = 1500, NCASE = 6 };

typedef struct Bench {
    const FaRig *rig;
    FaBlender *blender;
    FaNeural *bound[3];
    FaRt *rt[3];
    void *memory[3];
    FaNeuralReport report[3];
    float *weights, *x; // (nframe x nshape) (nvert x 3)
    float targets[FA_RT_WIDE];
    int nframe;
    double *ms[NCASE]; // (FRAMES)
} Bench;

// --- cases --------------------------------------------------------------------------------------------------------

typedef void RunFn(Bench *b, const float *weights);
static void run_linear(Bench *b, const float *w) { fa_blender_eval(b->blender, w, b->x); }
static void frame_of(Bench *b, int precision, const float *w) {
    fa_blender_eval(b->blender, w, b->x);
    fa_rt_network(b->rt[precision], w, b->targets);
    fa_rt_correct(b->rt[precision], b->targets, 1, b->x);
}
static void run_f32(Bench *b, const float *w) { frame_of(b, FA_NEURAL_F32, w); }
static void run_f16(Bench *b, const float *w) { frame_of(b, FA_NEURAL_F16, w); }
static void run_int8(Bench *b, const float *w) { frame_of(b, FA_NEURAL_INT8, w); }
static void run_rt(Bench *b, const float *w) { fa_rt_frame(b->rt[FA_NEURAL_INT8], w, b->x); }
static void run_network(Bench *b, const float *w) { fa_rt_network(b->rt[FA_NEURAL_INT8], w, b->targets); }

static const struct {
    const char *name, *note;
    RunFn *run;
    int precision; // -1: none
} cases[NCASE] = {
    {"linear", "the rig's own shapes, fa_blender_eval", run_linear, -1},
    {"neural f32", "linear, network and targets", run_f32, FA_NEURAL_F32},
    {"neural f16", "linear, network and targets", run_f16, FA_NEURAL_F16},
    {"neural int8", "linear, network and targets", run_int8, FA_NEURAL_INT8},
    {"rt int8", "all of it in libfascia-rt", run_rt, FA_NEURAL_INT8},
    {"network", "weights to target weights alone", run_network, FA_NEURAL_INT8},
};

static FaCode bind_all(Bench *b, const FaNet *net, FaError *err) {
    for (int p = 0; p < 3; p++) {
        size_t size, room;
        FA_TRY(fai_neural_bind_net(net, b->rig, (FaNeuralPrecision)p, &b->bound[p], &b->report[p], err));
        const void *data = fa_neural_bytes(b->bound[p], &size);
        room = fa_rt_room(data, size);
        b->memory[p] = FA_NEW(room + 64, unsigned char);
        if (!b->memory[p]) return FA_FAIL_MEMORY(err);
        void *at = (void *)(((uintptr_t)b->memory[p] + 63) / 64 * 64);
        char why[FA_RT_TEXT];
        if (fa_rt_place(data, size, at, room, &b->rt[p], why) < 0)
            return FA_FAIL(err, FA_E_NUMERIC, NULL, NULL, "%s", why);
    }
    return FA_OK;
}

static FaCode get_weights(Bench *b, const FaClip *clip, FaError *err) {
    FaBinding binding;
    b->nframe = clip->nframe;
    b->weights = FA_NEW((size_t)clip->nframe * (size_t)b->rig->nshape, float);
    b->x = FA_NEW(3 * (size_t)b->rig->mesh.nvert, float);
    for (int c = 0; c < NCASE; c++) b->ms[c] = FA_NEW(FRAMES, double);
    if (!b->weights || !b->x || !b->ms[NCASE - 1]) return FA_FAIL_MEMORY(err);
    FA_TRY(fa_clip_bind(clip, b->rig, &binding, err));
    for (int f = 0; f < clip->nframe; f++)
        fa_binding_weights(&binding, clip->weight + (size_t)f * (size_t)clip->nchan,
                           b->weights + (size_t)f * (size_t)b->rig->nshape);
    fa_binding_free(&binding);
    return FA_OK;
}

// Each case twice in a row, the second measured: caches are then as when this face alone is played.
static void measure(Bench *b) {
    for (int f = 0; f < FRAMES; f++)
        for (int c = 0; c < NCASE; c++) {
            const float *w = b->weights + (size_t)(f % b->nframe) * (size_t)b->rig->nshape;
            cases[c].run(b, w);
            double begin = fai_seconds();
            cases[c].run(b, w);
            b->ms[c][f] = 1e3 * (fai_seconds() - begin);
        }
}

static void write_rows(Bench *b, FaJsonWriter *w) {
    double p50[NCASE];
    fai_jw_int(w, "vertices", b->rig->mesh.nvert);
    fai_jw_int(w, "shapes", b->rig->nshape);
    fai_jw_int(w, "targets", b->report[0].targets);
    fai_jw_num(w, "chain", b->report[0].chain);
    fai_jw_open(w, "rows", '[');
    for (int c = 0; c < NCASE; c++) {
        p50[c] = fai_bench_times(b->ms[c], FRAMES).med; // sorts them
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "case", cases[c].name);
        fai_jw_str(w, "note", cases[c].note);
        fai_jw_int(w, "threads", 1);
        fai_jw_num(w, "p50_ms", p50[c]);
        fai_jw_num(w, "p99_ms", b->ms[c][FRAMES * 99 / 100]);
        fai_jw_num(w, "p999_ms", b->ms[c][FRAMES * 999 / 1000]);
        if (cases[c].precision >= 0) fai_jw_int(w, "bytes", (int64_t)b->report[cases[c].precision].bytes);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    fai_jw_open(w, "ratios", '{');
    fai_jw_num(w, "linear", p50[0] / p50[3]);
    fai_jw_close(w);
}

FaCode fai_bench_neural(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    Bench *b = FA_NEW(1, Bench);
    FaHeadParams params = fa_head_params_default();
    FaHead *head = NULL;
    FaRig *own = NULL;
    FaClip *made = NULL;
    FaNet net = {0};
    if (!b) return FA_FAIL_MEMORY(err);
    FaCode rc = rig ? FA_OK : fa_head_new(&params, &head, err);
    if (rc >= 0 && !rig) rc = fa_head_rig(head, 0, &own, err);
    b->rig = rig ? rig : own;
    if (rc >= 0) rc = fai_neural_shipped_net(&net, err);
    if (rc >= 0 && !clip) rc = fai_bench_clip(b->rig, 300, &made, err);
    if (rc >= 0) rc = bind_all(b, &net, err);
    if (rc >= 0) rc = fa_blender_new(b->rig, &b->blender, err);
    if (rc >= 0) rc = get_weights(b, clip ? clip : made, err);
    int threads = fa_threads();
    fa_threads_set(1);
    if (rc >= 0) measure(b);
    fa_threads_set(threads);
    if (rc >= 0) write_rows(b, w);
    for (int p = 0; p < 3; p++) fa_neural_free(b->bound[p]), fa_free(b->memory[p]);
    for (int c = 0; c < NCASE; c++) fa_free(b->ms[c]);
    fa_free(b->weights);
    fa_free(b->x);
    fa_blender_free(b->blender);
    fa_free(b);
    fai_net_free(&net);
    fa_clip_free(made);
    fa_rig_free(own);
    fa_head_free(head);
    return rc;
}

// bench blend: our blending beside a dense matrix-vector product and a plain copy, in one run.
//
// The cases take turns, some frames each, so that whatever else the machine does hits all alike. Each turn begins with
// a few unmeasured frames: caches are then as they are when a face is played, and threads of the case before are
// asleep. A ratio is the median over the rounds of the ratio of the medians of two cases: sgemv and copy with one
// thread each, sgemv_all and copy_all with all threads.
#include "base/task.h"
#include "bench/bench_tools.h"
#include "rig/blend.h"

#include <math.h>

#ifdef FA_HAVE_OPENBLAS
#include "bench/peer_library.h"

#include <cblas.h>

static __typeof__(cblas_sgemv) *blas_sgemv;
static __typeof__(openblas_set_num_threads) *blas_threads;
#endif

enum { ROUNDS = 24, TURN = 32, NCASE = 7, COPY_CHUNK = 1 << 17 };
static const double WARM = 0.003; // s

typedef struct Bench {
    const FaRig *rig;
    FaBlender *blender;
    int nframe, nvert, nshape;
    float *weights;  // (nframe x nshape)
    float *dense;    // all deltas, column per shape                      (nshape x nvert x 3)
    float *x, *want; // (nvert x 3)
    char *from, *to; // copied between, together as large as what blending may touch
    size_t room;     // of each
    size_t at;       // where the next copy begins
    void *copy_base;
    double *ms[NCASE]; // (ROUNDS * TURN)
    int taken[NCASE];
} Bench;

// --- cases --------------------------------------------------------------------------------------------------------

typedef void RunFn(Bench *b, const float *weights);

static void run_blender(Bench *b, const float *weights) { fa_blender_eval(b->blender, weights, b->x); }
static void run_entries(Bench *b, const float *weights) { fa_rig_blend(b->rig, weights, b->x); }

#ifdef FA_HAVE_OPENBLAS
static void run_sgemv(Bench *b, const float *weights) {
    int rows = 3 * b->nvert;
    memcpy(b->x, b->rig->mesh.x, (size_t)rows * sizeof *b->x);
    blas_sgemv(CblasColMajor, CblasNoTrans, rows, b->nshape, 1, b->dense, rows, weights, 1, 1, b->x, 1);
}
#endif

typedef struct Copy {
    const char *from;
    char *to;
    size_t size;
} Copy;

static void copy_chunk(void *ctx, int begin, int end, int chunk) {
    (void)end, (void)chunk;
    const Copy *c = ctx;
    size_t at = (size_t)begin * COPY_CHUNK;
    memcpy(c->to + at, c->from + at, FA_MIN((size_t)COPY_CHUNK, c->size - at));
}

// Read and write as many bytes as blending this frame must touch, going round a buffer of the blender's size.
static void run_copy(Bench *b, const float *weights) {
    size_t left = fa_blender_bytes(b->blender, weights) / 2;
    while (left > 0) {
        size_t n = FA_MIN(left, b->room - b->at);
        Copy c = {b->from + b->at, b->to + b->at, n};
        if (fa_threads() == 1)
            memcpy(c.to, c.from, n);
        else
            fai_parallel((int)((n + COPY_CHUNK - 1) / COPY_CHUNK), 1, copy_chunk, &c);
        b->at = (b->at + n) % b->room;
        left -= n;
    }
}

typedef struct Case {
    const char *name;
    RunFn *run;
    bool all; // all threads, or one
    const char *note;
} Case;

static const Case cases[] = {
    {"blender", run_blender, false, "sparse blocks, lossless"},
    {"blender", run_blender, true, "sparse blocks, lossless"},
    {"entries", run_entries, false, "fa_rig_blend, the reference"},
#ifdef FA_HAVE_OPENBLAS
    {"sgemv", run_sgemv, false, "dense, OpenBLAS"},
    {"sgemv", run_sgemv, true, "dense, OpenBLAS"},
#endif
    {"copy", run_copy, false, "as many bytes as blending must touch"},
    {"copy", run_copy, true, "as many bytes as blending must touch"},
};
_Static_assert(FA_COUNT(cases) <= NCASE, "room for the times");

static void set_threads(int n) {
    fa_threads_set(n);
#ifdef FA_HAVE_OPENBLAS
    blas_threads(n);
#endif
}

// --- setting up ---------------------------------------------------------------------------------------------------

static FaCode frame_weights(Bench *b, const FaClip *clip, FaError *err) {
    b->nframe = clip->nframe;
    b->weights = FA_NEW((size_t)b->nframe * (size_t)b->nshape, float);
    if (!b->weights) return FA_FAIL_MEMORY(err);
    FaBinding binding;
    FA_TRY(fa_clip_bind(clip, b->rig, &binding, err));
    for (int f = 0; f < b->nframe; f++)
        fa_binding_weights(&binding, clip->weight + (size_t)f * (size_t)clip->nchan,
                           b->weights + (size_t)f * (size_t)b->nshape);
    int matched = binding.matched;
    fa_binding_free(&binding);
    if (!matched)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a clip made for this rig, or name the shapes with --map",
                       "no channel of the clip drives a shape of the rig");
    return FA_OK;
}

static FaCode fill_buffers(Bench *b, FaError *err) {
    size_t n = 3 * (size_t)b->nvert;
    FA_TRY(fa_blender_new(b->rig, &b->blender, err));
    b->room = (fai_blender_size(b->blender) + 24 * (size_t)b->nvert + 127) / 128 * 64;
    b->dense = FA_NEW(n * (size_t)b->nshape, float); // plain memory, as programs that call sgemv have it
    b->from = fai_huge_alloc(2 * b->room, &b->copy_base);
    b->to = b->from ? b->from + b->room : NULL;
    b->x = FA_NEW(n, float);
    b->want = FA_NEW(n, float);
    bool room = b->dense && b->from && b->x && b->want;
    for (int i = 0; i < NCASE; i++) room &= (b->ms[i] = FA_NEW(ROUNDS * TURN, double)) != NULL;
    if (!room) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < b->nshape; s++)
        for (int i = b->rig->shape[s].first; i < b->rig->shape[s].first + b->rig->shape[s].count; i++)
            memcpy(b->dense + n * (size_t)s + 3 * (size_t)b->rig->row[i], b->rig->delta + 3 * (size_t)i,
                   3 * sizeof(float));
    return FA_OK;
}

static void tear_down(Bench *b) {
    fa_blender_free(b->blender);
    fa_free(b->weights);
    fa_free(b->dense);
    fa_free(b->copy_base);
    fa_free(b->x);
    fa_free(b->want);
    for (int i = 0; i < NCASE; i++) fa_free(b->ms[i]);
}

// --- measuring ----------------------------------------------------------------------------------------------------

static const float *frame(const Bench *b, int f) { return b->weights + (size_t)(f % b->nframe) * (size_t)b->nshape; }

static void take_turn(Bench *b, int i, int first) {
    double begin = fai_seconds();
    for (int f = 0; f < 2 || fai_seconds() - begin < WARM; f++) cases[i].run(b, frame(b, first + f));
    for (int f = 0; f < TURN; f++) {
        double t = fai_seconds();
        cases[i].run(b, frame(b, first + f));
        b->ms[i][b->taken[i]++] = 1e3 * (fai_seconds() - t);
    }
}

// Largest distance of a coordinate from the sum in double, mm, over some frames of the clip.
static FaCode accuracy(Bench *b, RunFn *run, double *mm, FaError *err) {
    size_t n = 3 * (size_t)b->nvert;
    double *exact = FA_NEW(n, double);
    if (!exact) return FA_FAIL_MEMORY(err);
    *mm = 0;
    for (int k = 0; k < 8; k++) {
        const float *w = frame(b, (int)((int64_t)k * b->nframe / 8));
        for (size_t i = 0; i < n; i++) exact[i] = (double)b->rig->mesh.x[i];
        for (int s = 0; s < b->nshape; s++)
            for (int i = b->rig->shape[s].first; w[s] != 0 && i < b->rig->shape[s].first + b->rig->shape[s].count; i++)
                for (int c = 0; c < 3; c++)
                    exact[3 * (size_t)b->rig->row[i] + (size_t)c] +=
                        (double)w[s] * (double)b->rig->delta[3 * (size_t)i + (size_t)c];
        run(b, w);
        for (size_t i = 0; i < n; i++) *mm = fmax(*mm, 1e3 * fabs((double)b->x[i] - exact[i]));
    }
    fa_free(exact);
    return FA_OK;
}

// The same bits as the reference for 1, 2, 3 and 8 threads?
static bool identical(Bench *b) {
    static const int threads[] = {1, 2, 3, 8};
    bool same = true;
    for (int k = 0; k < 8; k++) {
        const float *w = frame(b, (int)((int64_t)k * b->nframe / 8));
        fa_rig_blend(b->rig, w, b->want);
        for (int i = 0; i < FA_COUNT(threads); i++) {
            fa_threads_set(threads[i]);
            fa_blender_eval(b->blender, w, b->x);
            same &= memcmp(b->x, b->want, 3 * (size_t)b->nvert * sizeof *b->x) == 0;
        }
    }
    return same;
}

// --- reporting ----------------------------------------------------------------------------------------------------

static int find_case(const char *name, bool all) {
    for (int i = 0; i < FA_COUNT(cases); i++)
        if (!strcmp(cases[i].name, name) && cases[i].all == all) return i;
    return -1;
}

static double ratio_of(const Bench *b, int ours, int other) {
    double r[ROUNDS], a[TURN], c[TURN];
    if (other < 0) return NAN;
    for (int k = 0; k < ROUNDS; k++) {
        memcpy(a, b->ms[ours] + k * TURN, sizeof a);
        memcpy(c, b->ms[other] + k * TURN, sizeof c);
        r[k] = fai_bench_times(c, TURN).med / fai_bench_times(a, TURN).med;
    }
    return fai_bench_times(r, ROUNDS).med;
}

static double ratio(const Bench *b, const char *name, bool all) {
    return ratio_of(b, find_case("blender", all), find_case(name, all));
}

static FaCode report(Bench *b, int all, FaJsonWriter *w, FaError *err) {
    // before the times are sorted
    double sgemv = ratio(b, "sgemv", false), copy = ratio(b, "copy", false);
    double sgemv_all = ratio(b, "sgemv", true), copy_all = ratio(b, "copy", true);
    fai_jw_open(w, "rows", '[');
    for (int i = 0; i < FA_COUNT(cases); i++) {
        FaBenchTimes times = fai_bench_times(b->ms[i], b->taken[i]);
        double mm = NAN;
        if (cases[i].run != run_copy) FA_TRY(accuracy(b, cases[i].run, &mm, err));
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "case", cases[i].name);
        fai_jw_int(w, "threads", cases[i].all ? all : 1);
        fai_jw_num(w, "ms_med", times.med);
        fai_jw_num(w, "ms_min", times.min);
        fai_jw_num(w, "accuracy", mm);
        fai_jw_str(w, "note", cases[i].note);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    double bytes = 0, active = 0;
    for (int f = 0; f < b->nframe; f++) {
        bytes += (double)fa_blender_bytes(b->blender, frame(b, f)) / b->nframe;
        for (int s = 0; s < b->nshape; s++) active += (double)(frame(b, f)[s] != 0) / b->nframe;
    }
    fai_jw_str(w, "kernel", fai_blender_kernel(b->blender));
    fai_jw_int(w, "vertices", b->nvert);
    fai_jw_int(w, "shapes", b->nshape);
    fai_jw_num(w, "shapes_active", round(10 * active) / 10);
    fai_jw_num(w, "nonzero", round(1e4 * b->rig->nentry / ((double)b->nvert * b->nshape)) / 1e4);
    fai_jw_num(w, "bytes_per_frame", round(bytes));
    fai_jw_bool(w, "identical", identical(b));
    fai_jw_open(w, "ratios", '{');
    fai_jw_num(w, "sgemv", sgemv);
    fai_jw_num(w, "copy", copy);
    fai_jw_num(w, "sgemv_all", sgemv_all);
    fai_jw_num(w, "copy_all", copy_all);
    fai_jw_close(w);
    return FA_OK;
}

static FaCode load_peers(FaError *err) {
#ifdef FA_HAVE_OPENBLAS
    if (!fai_peer_get(FA_OPENBLAS_PATH, "cblas_sgemv", &blas_sgemv) ||
        !fai_peer_get(FA_OPENBLAS_PATH, "openblas_set_num_threads", &blas_threads))
        return FA_FAIL(err, FA_E_FILE, NULL, "install OpenBLAS again, or build without it", "%s cannot be loaded",
                       FA_OPENBLAS_PATH);
#endif
    (void)err;
    return FA_OK;
}

static FaCode run(Bench *b, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    FA_TRY(load_peers(err));
    FA_TRY(frame_weights(b, clip, err));
    FA_TRY(fill_buffers(b, err));
    int all = fa_threads();
    for (int round = 0; round < ROUNDS; round++) {
        int first = (int)((int64_t)round * b->nframe / ROUNDS);
        for (int i = 0; i < FA_COUNT(cases); i++) {
            set_threads(cases[i].all ? all : 1);
            take_turn(b, i, first);
        }
    }
    set_threads(all);
    FaCode rc = report(b, all, w, err);
    set_threads(all);
    return rc;
}

FaCode fai_bench_blend(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    FaRig *made_rig = NULL;
    FaClip *made_clip = NULL;
    FaCode rc = FA_OK;
    if (!rig) rc = fai_bench_rig(&made_rig, err);
    if (!rig) rig = made_rig;
    if (rc >= 0 && !clip) clip = rig->clip && rig->clip->nchan ? rig->clip : NULL;
    if (rc >= 0 && !clip) rc = fai_bench_clip(rig, 300, &made_clip, err);
    if (!clip) clip = made_clip;
    Bench b = {.rig = rig, .nvert = rig ? rig->mesh.nvert : 0, .nshape = rig ? rig->nshape : 0};
    if (rc >= 0 && b.nshape == 0)
        rc = FA_FAIL(err, FA_E_ARG, NULL, "give a rig with blendshapes", "the rig has no shapes");
    if (rc >= 0) rc = run(&b, clip, w, err);
    tear_down(&b);
    fa_clip_free(made_clip);
    fa_rig_free(made_rig);
    return rc;
}

// bench analytic: the paper's measure, 14,232 vertices for 1,389 frames, beside a plain copy of the bytes it must
// touch; and dynamic clips beside linear blending of the same rig.
//
// The rig: 7 expressions that move every vertex (the paper blends one source and one target at a time), and 52 shapes
// of the usual sparsity for the clip. Cases take turns, some frames each, so that whatever else the machine does hits
// all alike; each turn begins with a few unmeasured frames. A ratio is the median over the rounds, the smaller of those
// with one thread and with all, but for `paper`, which is the median speed with all.
#include "base/task.h"
#include "bench/bench_list.h"
#include "fascia/analytic.h"
#include "math/mat3.h"
#include "method/method.h"
#include "rig/blend.h"

#include <math.h>

enum {
    COLS = 593,
    RINGS = 24,
    VERTS = COLS * RINGS,
    FRAMES = 1389,
    DENSE = 7,
    ROUNDS = 24,
    TURN = 32,
    MOST_CASES = 16,
    COPY_CHUNK = 1 << 15
};
static const double WARM = 0.003;   // s
static const double PAPER = 19.8e6; // vertices per s: 1,389 frames of 14,232 vertices in one second
_Static_assert(VERTS == 14232, "the paper's mesh");

typedef struct Bench {
    const FaRig *rig;
    FaSlider *slider;
    FaClip *clip; // with head motion
    FaMethod *shapes, *head, *vertex, *linear, *regions;
    FaPose *pose;
    int dense; // expressions of the still case: shapes 0..dense-1
    FaOscillator o;
    double time; // of the methods
    float *x;
    char *from, *to;
    size_t room;
    void *copy_base;
    double *ms[MOST_CASES]; // (ROUNDS * TURN)
    int taken[MOST_CASES];
} Bench;

// --- cases --------------------------------------------------------------------------------------------------------

// One source, one target: the closed form at the frame's moment, then the blend.
static void run_still(Bench *b, int frame) {
    double weight[DENSE] = {0}, time[DENSE] = {0};
    int span = FRAMES / DENSE + 1, target = frame / span % b->dense;
    weight[target] = 1;
    time[target] = (double)(frame % span + 1) / span;
    fa_slider_eval(b->slider, weight, time, b->x);
}

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

static size_t still_bytes(const Bench *b) { return 3 * 12 * (size_t)b->rig->mesh.nvert; }

// As many bytes as the still case must touch: neutral and target read, result written; half read, half written here.
// The same memory each time, as there.
static void run_copy(Bench *b, int frame) {
    (void)frame;
    Copy c = {b->from, b->to, still_bytes(b) / 2};
    if (fa_threads() == 1)
        memcpy(c.to, c.from, c.size);
    else
        fai_parallel((int)((c.size + COPY_CHUNK - 1) / COPY_CHUNK), 1, copy_chunk, &c);
}

static void run_method(Bench *b, FaMethod *m, int frame) {
    int f = frame % b->clip->nframe;
    FaInput in = {.time = b->time += 1 / b->clip->fps, .weights = b->clip->weight + (size_t)f * (size_t)b->clip->nchan};
    if (m == b->head) in.head = b->pose[f];
    fa_method_step(m, &in, b->x, NULL, NULL);
}

static void run_linear(Bench *b, int frame) { run_method(b, b->linear, frame); }
static void run_clip(Bench *b, int frame) { run_method(b, b->shapes, frame); }
static void run_regions(Bench *b, int frame) { run_method(b, b->regions, frame); }
static void run_head(Bench *b, int frame) { run_method(b, b->head, frame); }
static void run_vertex(Bench *b, int frame) { run_method(b, b->vertex, frame); }

typedef struct Case {
    const char *name;
    void (*run)(Bench *b, int frame);
    bool all;
    const char *note;
} Case;

static const Case cases[] = {
    {"still", run_still, false, "closed form, one source and one target"},
    {"still", run_still, true, "closed form, one source and one target"},
    {"copy", run_copy, false, "as many bytes as the still case must touch"},
    {"copy", run_copy, true, "as many bytes as the still case must touch"},
    {"linear", run_linear, false, "clip on 52 shapes, no dynamics"},
    {"linear", run_linear, true, "clip on 52 shapes, no dynamics"},
    {"clip", run_clip, false, "the same clip, an oscillator per shape"},
    {"clip", run_clip, true, "the same clip, an oscillator per shape"},
    {"head", run_head, false, "... and the head's motion"},
    {"head", run_head, true, "... and the head's motion"},
    {"regions", run_regions, false, "clip, and lids and lips as they are, if the rig has them"},
    {"regions", run_regions, true, "clip, and lids and lips as they are, if the rig has them"},
    {"vertex", run_vertex, false, "the same clip, an oscillator per vertex"},
    {"vertex", run_vertex, true, "the same clip, an oscillator per vertex"},
};
_Static_assert(FA_COUNT(cases) <= MOST_CASES, "room for the times");

// --- setting up ---------------------------------------------------------------------------------------------------

static int expression(const FaMesh *mesh, int s, int *row, float *delta) {
    for (int v = 0; v < VERTS; v++) {
        row[v] = v;
        for (int k = 0; k < 3; k++)
            delta[3 * v + k] = (float)(0.01 * sin(20 * (double)mesh->x[3 * v + k] + s + k) + 1e-4);
    }
    return VERTS;
}

static int bump(const FaMesh *mesh, int s, int *row, float *delta) {
    double c[3], reach = 0.08 + 0.12 * fai_random_unit(8, (uint64_t)s);
    for (int k = 0; k < 3; k++) c[k] = fai_random_normal(7, (uint64_t)(3 * s + k));
    fai_v3_normalize(c);
    int count = 0;
    for (int v = 0; v < VERTS; v++) {
        double x[3], d[3];
        fai_v3_load(mesh->x, v, x);
        fai_v3_mad(x, -0.12, c, d);
        double u = 1 - fai_v3_dot(d, d) / (reach * reach);
        if (u <= 0) continue;
        row[count] = v;
        for (int k = 0; k < 3; k++) delta[3 * count + k] = (float)(0.02 * u * u * c[(k + s) % 3]);
        count++;
    }
    return count;
}

static FaCode make_rig(FaRig **out, FaError *err) {
    enum { SHAPES = DENSE + FA_ARKIT_COUNT };
    *out = NULL;
    FaRig *rig = FA_NEW(1, FaRig);
    FaArena *a = rig ? fai_arena_new((size_t)1 << 20) : NULL;
    size_t most = (size_t)SHAPES * VERTS;
    if (rig) rig->arena = a;
    if (a) {
        rig->mesh = (FaMesh){.nvert = VERTS, .x = FA_PUSH(a, 3 * VERTS, float), .face_start = FA_PUSH(a, 1, int)};
        rig->shape = FA_PUSH(a, SHAPES, FaShape);
        rig->weight = FA_PUSH(a, SHAPES, float);
        rig->row = FA_PUSH(a, most, int);
        rig->delta = FA_PUSH(a, 3 * most, float);
    }
    if (!a || !rig->mesh.x || !rig->mesh.face_start || !rig->shape || !rig->weight || !rig->row || !rig->delta) {
        fa_rig_free(rig);
        return FA_FAIL_MEMORY(err);
    }
    for (int v = 0; v < VERTS; v++) {
        double t = M_PI * (v / COLS + 0.5) / RINGS, p = 2 * M_PI * (v % COLS) / COLS;
        rig->mesh.x[3 * v] = (float)(0.12 * sin(t) * cos(p));
        rig->mesh.x[3 * v + 1] = (float)(0.12 * cos(t));
        rig->mesh.x[3 * v + 2] = (float)(0.12 * sin(t) * sin(p));
    }
    for (int s = 0; s < SHAPES; s++) {
        int *row = rig->row + rig->nentry;
        float *delta = rig->delta + 3 * (size_t)rig->nentry;
        int count = s < DENSE ? expression(&rig->mesh, s, row, delta) : bump(&rig->mesh, s, row, delta);
        const char *name = s < DENSE ? fai_arena_printf(a, "expression_%d", s) : fa_arkit_name(s - DENSE);
        rig->shape[s] = (FaShape){name ? name : "", s < DENSE ? -1 : s - DENSE, 0, rig->nentry, count, FA_SAID_NOTHING};
        rig->nentry += count;
    }
    rig->nshape = SHAPES;
    rig->name = "ball";
    rig->path = "";
    rig->unit = 1;
    rig->unit_how = rig->axes_how = "given";
    for (int i = 0; i < 9; i++) rig->local[i] = rig->axes[i] = i % 4 == 0;
    *out = rig;
    return FA_OK;
}

// As takes of a tracker are: every channel is busy most of the time and at 0 for stretches of seconds, 23 % of all
// weights.
static double captured(int s, double t) {
    double u[4];
    for (int k = 0; k < 4; k++) u[k] = fai_random_unit(3, (uint64_t)(4 * s + k));
    double rest = sin(2 * M_PI * ((0.05 + 0.1 * u[0]) * t + u[1]));
    double v = 0.3 + 0.25 * sin(2 * M_PI * ((0.5 + 2 * u[2]) * t + u[3])) + 0.05 * sin(37 * t + 9 * u[2]);
    return rest < -0.75 ? 0 : v * fmin(1, 4 * (rest + 0.75));
}

// A clip whose channels are the rig's shapes in order; the expressions of the still case stay at 0.
static FaCode make_clip(Bench *b, const FaClip *given, FaError *err) {
    if (given) {
        FaBinding binding;
        int n = b->rig->nshape;
        const char **names = FA_NEW(n, const char *);
        if (!names) return FA_FAIL_MEMORY(err);
        for (int s = 0; s < n; s++) names[s] = b->rig->shape[s].name;
        FaCode rc = fa_clip_bind(given, b->rig, &binding, err);
        if (rc >= 0) rc = fa_clip_new(given->nframe, n, names, given->fps, &b->clip, err);
        for (int f = 0; rc >= 0 && f < given->nframe; f++)
            fa_binding_weights(&binding, given->weight + (size_t)f * (size_t)given->nchan,
                               b->clip->weight + (size_t)f * (size_t)n);
        fa_free(names);
        if (rc >= 0) fa_binding_free(&binding);
        return rc;
    }
    FA_TRY(fai_bench_clip(b->rig, FRAMES, &b->clip, err));
    int n = b->clip->nchan;
    for (int f = 0; f < FRAMES; f++)
        for (int s = 0; s < n; s++)
            b->clip->weight[(size_t)f * (size_t)n + (size_t)s] = s < DENSE ? 0 : (float)captured(s, b->clip->time[f]);
    return FA_OK;
}

static FaCode open_methods(Bench *b, FaError *err) {
    FaMaps maps = {.vertex = FA_NEW(b->rig->mesh.nvert, FaOscillator)};
    if (!maps.vertex) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < b->rig->mesh.nvert; v++)
        maps.vertex[v] = fa_oscillator_of(1, 4 + 4 * fai_random_unit(1, (uint64_t)v), 0.5);
    FaCode rc = fa_method_open("analytic", &(FaMethodSetup){.rig = b->rig, .maps = &maps}, &b->vertex, err);
    fa_free(maps.vertex);
    if (rc >= 0) rc = fa_method_open("linear", &(FaMethodSetup){.rig = b->rig}, &b->linear, err);
    FaParams *even = NULL; // equally soft everywhere
    if (rc >= 0) rc = fa_params_new("analytic", &even, err);
    if (rc >= 0) rc = fa_params_set(even, "regions", "off", err);
    const FaMethodSetup setup = {.rig = b->rig, .params = even};
    if (rc >= 0) rc = fa_method_open("analytic", &setup, &b->shapes, err);
    if (rc >= 0) rc = fa_method_open("analytic", &setup, &b->head, err);
    if (rc >= 0) rc = fa_method_open("analytic", &(FaMethodSetup){.rig = b->rig}, &b->regions, err);
    fa_params_free(even);
    return rc;
}

static FaCode set_up(Bench *b, const FaClip *clip, FaError *err) {
    size_t n = 3 * (size_t)b->rig->mesh.nvert;
    b->dense = FA_MIN(DENSE, b->rig->nshape);
    b->o = (FaOscillator){1.5, 8, 10};
    FA_TRY(make_clip(b, clip, err));
    FA_TRY(fa_slider_new(b->rig, &b->o, b->dense, (const int[]){0, 1, 2, 3, 4, 5, 6}, &b->slider, err));
    FA_TRY(open_methods(b, err));
    b->room = (still_bytes(b) / 2 + 63) / 64 * 64;
    b->from = fai_huge_alloc(2 * b->room, &b->copy_base);
    b->to = b->from ? b->from + b->room : NULL;
    b->x = FA_NEW(n, float);
    b->pose = FA_NEW(b->clip->nframe, FaPose);
    bool room = b->from && b->x && b->pose;
    for (int i = 0; i < FA_COUNT(cases); i++) room &= (b->ms[i] = FA_NEW(ROUNDS * TURN, double)) != NULL;
    if (!room) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < b->clip->nframe; f++) {
        double turn[3] = {0.2 * sin(0.1 * f), 0.3 * sin(0.07 * f), 0};
        fai_q_exp(turn, b->pose[f].q);
        fai_v3_set(b->pose[f].p, 0, 0.03 * sin(0.5 * f), 0);
    }
    return FA_OK;
}

static void tear_down(Bench *b) {
    fa_method_close(b->shapes);
    fa_method_close(b->regions);
    fa_method_close(b->head);
    fa_method_close(b->vertex);
    fa_method_close(b->linear);
    fa_slider_free(b->slider);
    fa_clip_free(b->clip);
    fa_free(b->pose);
    fa_free(b->x);
    fa_free(b->copy_base);
    for (int i = 0; i < FA_COUNT(cases); i++) fa_free(b->ms[i]);
}

// --- measuring ----------------------------------------------------------------------------------------------------

static void take_turn(Bench *b, int i, int first) {
    double begin = fai_seconds();
    for (int f = 0; f < 2 || fai_seconds() - begin < WARM; f++) cases[i].run(b, first + f);
    for (int f = 0; f < TURN; f++) {
        double t = fai_seconds();
        cases[i].run(b, first + f);
        b->ms[i][b->taken[i]++] = 1e3 * (fai_seconds() - t);
    }
}

// Largest distance of the still case from x1 + s(t) (x2 - x1) in double with s from the paper's own formula, mm.
static double accuracy(Bench *b) {
    double worst = 0, m = b->o.mass, c = b->o.damping, k = b->o.stiffness;
    double d = sqrt(c * c - 4 * m * k), q1 = (-c + d) / (2 * m), q2 = (-c - d) / (2 * m);
    int span = FRAMES / DENSE + 1;
    for (int f = 5; f < FRAMES; f += 97) {
        run_still(b, f);
        double t = (double)(f % span + 1) / span;
        double s = (q1 - q2 + q2 * exp(q1 * t) - q1 * exp(q2 * t)) / (q1 - q2 + q2 * exp(q1) - q1 * exp(q2));
        const FaShape *shape = &b->rig->shape[f / span % b->dense];
        for (int i = shape->first; i < shape->first + shape->count; i++)
            for (int j = 0; j < 3; j++) {
                size_t at = 3 * (size_t)b->rig->row[i] + (size_t)j;
                double want = (double)b->rig->mesh.x[at] + s * (double)b->rig->delta[3 * (size_t)i + (size_t)j];
                worst = fmax(worst, fabs(want - (double)b->x[at]));
            }
    }
    return 1e3 * worst;
}

static int find_case(const char *name, bool all) {
    int i = 0;
    while (strcmp(cases[i].name, name) || cases[i].all != all) i++;
    return i;
}

// The quicker quarter of a case's frames in each round, ms: on a busy machine the others measure its neighbours.
static void quick_times(Bench *b, int i, double quick[ROUNDS]) {
    double turn[TURN];
    for (int r = 0; r < ROUNDS; r++) {
        memcpy(turn, b->ms[i] + (size_t)r * TURN, sizeof turn);
        fai_bench_times(turn, TURN); // sorts
        quick[r] = turn[TURN / 4];
    }
}

// Median over the rounds of one case's time over another's in the same round.
static double ratio_of(Bench *b, int other, int ours) {
    double a[ROUNDS], c[ROUNDS];
    quick_times(b, other, a);
    quick_times(b, ours, c);
    for (int r = 0; r < ROUNDS; r++) a[r] /= c[r];
    return fai_bench_times(a, ROUNDS).med;
}

static double ratio(Bench *b, const char *other, const char *ours) {
    return fmin(ratio_of(b, find_case(other, false), find_case(ours, false)),
                ratio_of(b, find_case(other, true), find_case(ours, true)));
}

static void report(Bench *b, int all, FaJsonWriter *w) {
    double nvert = b->rig->mesh.nvert, mm = accuracy(b);
    // before the rows, which sort the times
    double copy = ratio(b, "copy", "still"), linear = ratio(b, "linear", "clip"),
           linear_head = ratio(b, "linear", "head");
    double paper = 0;
    fai_jw_open(w, "rows", '[');
    for (int i = 0; i < FA_COUNT(cases); i++) {
        FaBenchTimes times = fai_bench_times(b->ms[i], b->taken[i]);
        if (cases[i].run == run_still && cases[i].all) paper = 1e3 * nvert / times.med / PAPER;
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "case", cases[i].name);
        fai_jw_int(w, "threads", cases[i].all ? all : 1);
        fai_jw_num(w, "ms_med", times.med);
        fai_jw_num(w, "ms_min", times.min);
        fai_jw_num(w, "accuracy", cases[i].run == run_still ? mm : (double)NAN);
        fai_jw_num(w, "vertices_per_s", round(1e3 * nvert / times.med));
        fai_jw_str(w, "note", cases[i].note);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    fai_jw_int(w, "vertices", b->rig->mesh.nvert);
    fai_jw_int(w, "frames", b->clip->nframe);
    fai_jw_int(w, "shapes", b->rig->nshape);
    fai_jw_int(w, "bytes_per_frame", (int64_t)still_bytes(b));
    fai_jw_open(w, "ratios", '{');
    fai_jw_num(w, "paper", paper);
    fai_jw_num(w, "copy", copy);
    fai_jw_num(w, "linear", linear);
    fai_jw_num(w, "linear_head", linear_head);
    fai_jw_close(w);
}

static FaCode run(Bench *b, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    FA_TRY(set_up(b, clip, err));
    int all = fa_threads();
    for (int round = 0; round < ROUNDS; round++) {
        int first = (int)((int64_t)round * FRAMES / ROUNDS);
        for (int i = 0; i < FA_COUNT(cases); i++) {
            fa_threads_set(cases[i].all ? all : 1);
            take_turn(b, i, first);
        }
    }
    fa_threads_set(all);
    report(b, all, w);
    return FA_OK;
}

FaCode fai_bench_analytic(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    FaRig *made = NULL;
    FaCode rc = FA_OK;
    if (!rig) rc = make_rig(&made, err);
    Bench b = {.rig = rig ? rig : made};
    if (rc >= 0 && b.rig->nshape == 0)
        rc = FA_FAIL(err, FA_E_ARG, NULL, "give a rig with blendshapes", "the rig has no shapes");
    if (rc >= 0) rc = run(&b, clip ? clip : rig ? rig->clip : NULL, w, err);
    tear_down(&b);
    fa_rig_free(made);
    return rc;
}

// bench live: a face driven frame by frame, as by an actor in front of cameras: markers in, control (the
// method "blendforces"), flesh with contact (fa_projective_contact), surface out, at 14.7k nodes and 60 frames per
// second.
//
// Truth is the shipped head's own nonlinear `talk` at level 1 (bench/dense_truth.h), seen at 80 vertices; no frame is
// known before its time. Rows: times of every frame, mean, median and 95 %, with the error on the vertices without a
// marker and the pairs of triangles that cross in the same row; and cpu_ms, what all threads spent on average, which
// other work on the machine disturbs less. The result is judged after the last frame, so that it does not disturb the
// times. Ratio: 1/60 s over what a frame takes on average, and at 95 %.
#include "bench/bench_list.h"
#include "bench/dense_truth.h"
#include "fascia/projective.h"
#include "mesh/intersect.h"
#include "projective/projective_method.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

enum { MARKERS = 80, CONTROL = 0, FLESH = 1, SUM = 2, ROWS = 3 };
static const double BUDGET = 1000.0 / 60; // ms

typedef struct Bench {
    FaTruth *truth;
    FaMarkerMap *map;
    FaMarkerTake *take;
    FaDense *dense;
    FaMethod *control, *method;
    float *x[2];      // what control and flesh made                (nframe x nvert x 3)
    double *ms[ROWS]; //                                            (nframe)
    double cpu[ROWS]; // ms, mean, of all threads
    double parts[4];  // ms, mean: goal, contact, solve, output
    int rows;         // of contact, most in a frame
} Bench;

typedef struct Times {
    double mean, med, p95, min;
} Times;

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts them.
static Times times_of(double *ms, int n) {
    Times t = {0};
    for (int i = 0; i < n; i++) t.mean += ms[i] / n;
    qsort(ms, (size_t)n, sizeof *ms, by_size);
    t.med = ms[n / 2];
    t.p95 = ms[FA_MIN((int)(0.95 * n), n - 1)];
    t.min = ms[0];
    return t;
}

// --- the take -----------------------------------------------------------------------------------------------------

static FaCode set_up(Bench *b, FaError *err) {
    FaHeadParams p = fa_head_params_default();
    FaParams *params = NULL;
    p.level = 1;
    FA_TRY(fai_truth_of_head(&p, "talk", (FaStretch){0, 0, 1}, &b->truth, err));
    const FaTruth *t = b->truth;
    FA_TRY(fa_markers_choose(t->rig, MARKERS, &b->map, err));
    FA_TRY(fai_truth_markers(t, b->map, 0, 7, &b->take, err));
    FA_TRY(fai_dense_new(t, b->map, &b->dense, err));
    FA_TRY(fa_params_new("blendforces", &params, err));
    FaCode rc = fa_params_set(params, "head_frame", "on", err);
    if (rc >= 0) rc = fa_params_set_number(params, "rate", t->fps, err);
    FaMethodSetup setup = {.rig = t->rig, .face = t->face, .params = params, .markers = b->map};
    if (rc >= 0) rc = fa_method_open("blendforces", &setup, &b->control, err);
    fa_params_free(params);
    FA_TRY(rc);
    FA_TRY(fa_params_new("projective", &params, err));
    rc = fa_projective_contact(params, err);
    if (rc >= 0)
        rc = fa_method_open("projective", &(FaMethodSetup){.rig = t->rig, .face = t->face, .params = params},
                            &b->method, err);
    fa_params_free(params);
    FA_TRY(rc);
    bool ok = true;
    for (int i = 0; i < 2; i++)
        ok &= (b->x[i] = fai_alloc_array((size_t)t->nframe, 3 * (size_t)t->nvert * sizeof(float))) != NULL;
    for (int i = 0; i < ROWS; i++) ok &= (b->ms[i] = FA_NEW(t->nframe, double)) != NULL;
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

static void tear_down(Bench *b) {
    fa_method_close(b->method);
    fa_method_close(b->control);
    fai_dense_free(b->dense);
    fa_markers_free(b->take);
    fa_marker_map_free(b->map);
    fai_truth_free(b->truth);
    for (int i = 0; i < 2; i++) fa_free(b->x[i]);
    for (int i = 0; i < ROWS; i++) fa_free(b->ms[i]);
}

static double cpu_ms(void) { return 1e3 * (double)clock() / CLOCKS_PER_SEC; }

// The first frame comes to rest in its pose and is not timed: n - 1 times.
static FaCode play(Bench *b, FaError *err) {
    const FaTruth *t = b->truth;
    size_t step = 3 * (size_t)t->nvert, count = (size_t)b->map->count;
    for (int f = 0; f < t->nframe; f++) {
        FaMarkers m = {.count = b->map->count, .name = b->take->name, .x = b->take->x + 3 * count * (size_t)f};
        float *goal = b->x[CONTROL] + step * (size_t)f, *out = b->x[FLESH] + step * (size_t)f;
        double start = fai_seconds(), cpu[3] = {cpu_ms()};
        FaInput in = {.time = b->take->time[f], .markers = &m};
        FA_TRY(fa_method_step(b->control, &in, goal, NULL, err));
        double between = fai_seconds();
        cpu[1] = cpu_ms();
        in = fa_method_next(b->control, &in, goal);
        FA_TRY(f ? fa_method_step(b->method, &in, out, NULL, err) : fa_method_reset(b->method, &in, out, err));
        double end = fai_seconds();
        cpu[2] = cpu_ms();
        if (!f) continue;
        for (int k = 0; k < ROWS; k++)
            b->cpu[k] += (k == SUM ? cpu[2] - cpu[0] : cpu[k + 1] - cpu[k]) / (t->nframe - 1);
        b->ms[CONTROL][f - 1] = 1e3 * (between - start);
        b->ms[FLESH][f - 1] = 1e3 * (end - between);
        b->ms[SUM][f - 1] = 1e3 * (end - start);
        const FaProjectiveTimes *at = fai_projective_times(b->method);
        double part[4] = {at->goal, at->contact, at->solve, at->output};
        for (int k = 0; k < 4; k++) b->parts[k] += 1e3 * part[k] / (t->nframe - 1);
        b->rows = FA_MAX(b->rows, at->touching.rows);
    }
    return FA_OK;
}

// --- the result ---------------------------------------------------------------------------------------------------

typedef struct Judged {
    FaDenseFigures dense;
    int worst;        // pairs that cross in the worst frame
    double crossings; // and on average
} Judged;

static FaCode judge(Bench *b, const float *x, Judged *j, FaError *err) {
    const FaTruth *t = b->truth;
    *j = (Judged){0};
    fai_dense_reset(b->dense);
    for (int f = 0; f < t->nframe; f++) {
        const float *at = x + 3 * (size_t)t->nvert * (size_t)f;
        int count;
        fai_dense_frame(b->dense, f, at);
        FA_TRY(fai_self_intersections(&t->rig->mesh, at, NULL, NULL, 0, &count, err));
        j->worst = FA_MAX(j->worst, count);
        j->crossings += (double)count / t->nframe;
    }
    j->dense = fai_dense_figures(b->dense);
    return FA_OK;
}

static void write_row(const Bench *b, FaJsonWriter *w, int row, Times ms, const Judged *j, const char *note) {
    static const char *const name[ROWS] = {"control", "flesh", "control + flesh"};
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "case", name[row]);
    fai_jw_int(w, "threads", fa_threads());
    fai_jw_num(w, "ms_med", ms.med);
    fai_jw_num(w, "ms_min", ms.min);
    fai_jw_num(w, "ms_mean", ms.mean);
    fai_jw_num(w, "ms_p95", ms.p95);
    fai_jw_num(w, "cpu_ms", b->cpu[row]);
    fai_jw_num(w, "accuracy", j->dense.mean[FA_DENSE_ALL]);
    fai_jw_str(w, "note", note);
    fai_jw_num(w, "p95_mm", j->dense.p95[FA_DENSE_ALL]);
    fai_jw_num(w, "jitter_mm", j->dense.jitter);
    fai_jw_int(w, "crossings_worst", j->worst);
    fai_jw_num(w, "crossings_mean", j->crossings);
    fai_jw_int(w, "frames", b->truth->nframe - 1);
    fai_jw_close(w);
}

static FaCode run(Bench *b, FaJsonWriter *w, FaError *err) {
    static const char *const part[] = {"goal_ms", "contact_ms", "solve_ms", "output_ms"};
    Judged control, flesh;
    Times t[ROWS];
    FA_TRY(play(b, err));
    for (int i = 0; i < ROWS; i++) t[i] = times_of(b->ms[i], b->truth->nframe - 1);
    FA_TRY(judge(b, b->x[CONTROL], &control, err));
    FA_TRY(judge(b, b->x[FLESH], &flesh, err));
    fai_jw_open(w, "rows", '[');
    write_row(b, w, CONTROL, t[CONTROL], &control,
              "markers to surface; accuracy: mean dense error in mm on vertices without a marker");
    write_row(b, w, FLESH, t[FLESH], &flesh, "that surface to flesh with contact");
    write_row(b, w, SUM, t[SUM], &flesh, "a frame from markers to the surface that is shown");
    fai_jw_close(w);
    for (int k = 0; k < 4; k++) fai_jw_num(w, part[k], b->parts[k]);
    fai_jw_int(w, "nodes", fai_projective_problem(b->method).flesh->nnode);
    fai_jw_int(w, "markers", b->map->count);
    fai_jw_int(w, "contact_rows", b->rows);
    fai_jw_open(w, "ratios", '{');
    fai_jw_num(w, "budget", BUDGET / t[SUM].mean);
    fai_jw_num(w, "budget_p95", BUDGET / t[SUM].p95);
    fai_jw_close(w);
    return FA_OK;
}

FaCode fai_bench_live(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    Bench b = {0};
    if (rig || clip)
        return FA_FAIL(err, FA_E_ARG, NULL, "give no RIG and no CLIP",
                       "bench live has its own truth: the shipped head");
    FaCode rc = set_up(&b, err);
    if (rc >= 0) rc = run(&b, w, err);
    tear_down(&b);
    return rc;
}

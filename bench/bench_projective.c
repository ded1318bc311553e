// bench projective: a frame of flesh at the thesis's size (14k nodes, 45k tets, 8 iterations), with and without
// contact; each solver on the same minimisation, with the energy it reached; and a baseline on Eigen (bench/peers) to
// equal energy.
//
// The head presses its lips (the clip `press` with weights of 1.4); the frame with most rows is kept and solved again
// by every solver, from the same start. Errors are relative, as in the thesis's figure 6.2: (E - E*) / (E0 - E*), E*
// the lowest energy that quick or pd find when they go on.
#include "base/simd.h"
#include "bench/bench_list.h"
#include "bench/peers.h"
#include "fascia/head.h"
#include "projective/projective_method.h"

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITERATIONS = 8, LONG = 240, REPEATS = 15, FEW = 3, PEER_MOST = 400, LEAST_ROWS = 120, CASES = 3, CURVE = 60 };
enum { BUSY_MOST = 64, BUSY_FRAMES = 24, BUSY_SECONDS = 120 };
static const double THESIS_MS = 40;

typedef struct Frames {                                            // one pass through the clip
    double free_ms[2], free_min[2], contact_ms[2], contact_min[2]; // one thread, all threads
    double parts[2][4]; // goal, contact, solve, output: medians of the frames with contact, ms
    FaBenchTimes busy[2];
    int touching; // frames with LEAST_ROWS rows or more
    int most_rows;
} Frames;

typedef struct Problem { // a frame's minimisation, kept
    float *y, *anchor, *tet_rest, *start;
    FaRow *row;
    FaProjectiveInput input;
    FaProjectiveOptions options;
} Problem;

typedef struct Bench {
    FaHead *head;
    FaRig *own_rig;
    FaClip *own_clip;
    const FaRig *rig;
    const FaClip *clip;
    FaFace *face;
    FaMethod *method[2]; // contact off, contact on
    float *x, *weights;
    FaBinding binding;
    double *ms;
    Frames frames;
    Problem problem;
    float push; // on the weights
    int all;
    FaArena *arena; // of the problem: fields want to be aligned
} Bench;

// --- frames through the method ------------------------------------------------------------------------------------

static FaCode play(Bench *b, FaMethod *m, int frame, FaStats *stats, FaError *err) {
    const FaClip *c = b->clip;
    fa_binding_weights(&b->binding, c->weight + (size_t)frame * (size_t)c->nchan, b->weights);
    for (int i = 0; i < b->rig->nshape; i++) b->weights[i] *= b->push;
    FaInput in = {.time = c->time[frame], .weights = b->weights};
    if (c->head) in.head = c->head[frame];
    return frame == 0 ? fa_method_reset(m, &in, b->x, err) : fa_method_step(m, &in, b->x, stats, err);
}

static FaCode keep(Bench *b, const FaProjectiveProblem *p, FaError *err) {
    Problem *k = &b->problem;
    size_t n = 4 * (size_t)p->flesh->nnode, anchors = 4 * (size_t)p->flesh->e.nanchor,
           rest = 9 * (size_t)p->input.frame.tet_stride;
    if (!k->y) {
        k->y = FA_PUSH(b->arena, n, float);
        k->start = FA_PUSH(b->arena, n, float);
        k->anchor = FA_PUSH(b->arena, anchors, float);
        k->tet_rest = FA_PUSH(b->arena, rest + 1, float);
        k->row = FA_PUSH(b->arena, p->options.max_rows, FaRow);
        if (!k->y || !k->start || !k->anchor || !k->tet_rest || !k->row) return FA_FAIL_MEMORY(err);
    }
    k->input = p->input;
    k->options = p->options;
    memcpy(k->y, p->input.y, n * sizeof(float));
    memcpy(k->start, p->start, n * sizeof(float));
    memcpy(k->anchor, p->input.frame.anchor, anchors * sizeof(float));
    if (p->input.frame.tet_rest) memcpy(k->tet_rest, p->input.frame.tet_rest, rest * sizeof(float));
    memcpy(k->row, p->input.row, (size_t)p->input.nrow * sizeof(FaRow));
    k->input.y = k->y;
    k->input.row = k->row;
    k->input.frame.anchor = k->anchor;
    if (p->input.frame.tet_rest) k->input.frame.tet_rest = k->tet_rest;
    return FA_OK;
}

static int rows_of(const FaMethod *m) { return fai_projective_times(m)->touching.rows; } // bonds' included

// Through the clip: times of all frames (contact off) or of those that touch (on), and the frame with most rows.
static FaCode run_clip(Bench *b, int contact, int which, FaError *err) {
    Frames *f = &b->frames;
    FaMethod *m = b->method[contact];
    int n = 0, part_n = 0;
    double parts[4] = {0};
    for (int i = 0; i < b->clip->nframe; i++) {
        FaStats stats = {0};
        FA_TRY(play(b, m, i, &stats, err));
        if (i == 0) continue;
        FaProjectiveProblem p = fai_projective_problem(m);
        if (contact && p.input.nrow > f->most_rows && which == 0) {
            f->most_rows = p.input.nrow;
            FA_TRY(keep(b, &p, err));
        }
        if (contact && rows_of(m) < LEAST_ROWS) continue;
        b->ms[n++] = 1e3 * stats.seconds;
        const FaProjectiveTimes *t = fai_projective_times(m);
        double now[4] = {t->goal, t->contact, t->solve, t->output};
        for (int k = 0; k < 4; k++) parts[k] += 1e3 * now[k];
        part_n++;
    }
    if (!n) return FA_OK;
    FaBenchTimes t = fai_bench_times(b->ms, n);
    (contact ? f->contact_ms : f->free_ms)[which] = t.med;
    (contact ? f->contact_min : f->free_min)[which] = t.min;
    if (contact) {
        f->touching = n;
        for (int k = 0; k < 4; k++) f->parts[which][k] = parts[k] / part_n;
    }
    return FA_OK;
}

// Processes that keep a core busy each, until they are ended, their parent is gone or the time is over.
static int start_busy(int want, pid_t *child) {
    int n = 0;
    pid_t parent = getpid();
    for (; n < want && n < BUSY_MOST; n++) {
        child[n] = fork();
        if (child[n] < 0) break;
        if (child[n] > 0) continue;
        for (double end = fai_seconds() + BUSY_SECONDS; fai_seconds() < end && getppid() == parent;) {}
        _exit(0);
    }
    return n;
}

static void end_busy(int n, const pid_t *child) {
    for (int i = 0; i < n; i++) kill(child[i], SIGKILL);
    for (int i = 0; i < n; i++) waitpid(child[i], NULL, 0);
}

// The first frames that touch, while every core has other work.
static FaCode run_busy(Bench *b, int which, FaError *err) {
    pid_t child[BUSY_MOST];
    FaMethod *m = b->method[1];
    int busy = start_busy(b->all, child), n = 0;
    FaCode rc = FA_OK;
    for (int i = 0; i < b->clip->nframe && n < BUSY_FRAMES && rc >= 0; i++) {
        FaStats stats = {0};
        rc = play(b, m, i, &stats, err);
        if (i > 0 && rc >= 0 && rows_of(m) >= LEAST_ROWS) b->ms[n++] = 1e3 * stats.seconds;
    }
    end_busy(busy, child);
    if (n && rc >= 0) b->frames.busy[which] = fai_bench_times(b->ms, n);
    return rc;
}

// --- solvers on one frame -----------------------------------------------------------------------------------------

typedef struct Solved {
    FaBenchTimes ms;
    FaProjectiveReport report;
    double energy;
} Solved;

static const char *const solver_name[] = {"quick", "gs", "pd"};

typedef struct Solve {
    FaSolveKind kind;
    FaSvdKind svd;
    int nrow, iterations, repeats;
} Solve;

static FaCode solve_with(Bench *b, Solve how, Solved *s, float *u, FaError *err) {
    const Problem *k = &b->problem;
    const FaElastic *e = &fai_projective_problem(b->method[1]).flesh->e;
    FaProjectiveOptions o = k->options;
    FaProjectiveInput in = k->input;
    o.kind = how.kind;
    o.svd = how.svd;
    o.inertia = in.inertia;
    in.nrow = how.nrow;
    in.iterations = how.iterations;
    in.tolerance = 0;
    FaProjective *p;
    FA_TRY(fai_projective_new(e, &o, &p, err));
    FaCode rc = FA_OK;
    for (int i = 0; i < how.repeats && rc >= 0; i++) {
        memcpy(u, k->start, 4 * (size_t)e->nnode * sizeof(float));
        double t = fai_seconds();
        rc = fai_projective_solve(p, &in, u, &s->report, err);
        b->ms[i] = 1e3 * (fai_seconds() - t);
    }
    if (rc >= 0) s->energy = fai_projective_energy(p, &in, u, NULL);
    if (rc >= 0) s->ms = fai_bench_times(b->ms, how.repeats);
    fai_projective_free(p);
    return rc;
}

static double start_energy(const Solved *s) { return s->report.energy[0]; }

static void write_row(FaJsonWriter *w, const char *name, int threads, FaBenchTimes ms, double accuracy,
                      const char *note) {
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "case", name);
    fai_jw_int(w, "threads", threads);
    fai_jw_num(w, "ms_med", ms.med);
    fai_jw_num(w, "ms_min", ms.min);
    fai_jw_num(w, "accuracy", accuracy);
    fai_jw_str(w, "note", note);
}

static void write_frames(Bench *b, FaJsonWriter *w) {
    static const char *const part[] = {"goal_ms", "contact_ms", "solve_ms", "output_ms"};
    const Frames *f = &b->frames;
    for (int i = 0; i < 2; i++) {
        int threads = i ? b->all : 1;
        write_row(w, "free", threads, (FaBenchTimes){f->free_ms[i], f->free_min[i]}, NAN, "a whole frame, contact off");
        fai_jw_close(w);
        write_row(w, "contact", threads, (FaBenchTimes){f->contact_ms[i], f->contact_min[i]}, NAN,
                  "a whole frame, frames with 120 rows or more");
        for (int k = 0; k < 4; k++) fai_jw_num(w, part[k], f->parts[i][k]);
        fai_jw_int(w, "frames", f->touching);
        fai_jw_close(w);
        write_row(w, "contact_busy", threads, f->busy[i], NAN,
                  "a whole frame, the first with 120 rows or more, every core kept busy by another process");
        fai_jw_close(w);
    }
}

// E*: the lowest that any solver finds.
static FaCode lowest_energy(Bench *b, int nrow, float *u, double *lowest, FaError *err) {
    Solved s;
    FA_TRY(solve_with(b, (Solve){FA_SOLVE_QUICK, FA_SVD_EXACT, nrow, LONG, 1}, &s, u, err));
    *lowest = s.energy;
    // plain projective dynamics is slow, but ends lowest where contact kinks the energy
    FA_TRY(solve_with(b, (Solve){FA_SOLVE_PD, FA_SVD_EXACT, nrow, nrow ? CURVE : LONG, 1}, &s, u, err));
    *lowest = fmin(*lowest, s.energy);
    return FA_OK;
}

// Energies: what solvers end with, and the lowest.
typedef struct Found {
    double quick, gs, lowest;
} Found;

static FaCode write_solvers(Bench *b, int nrow, const char *what, float *u, FaJsonWriter *w, Found *found,
                            FaError *err) {
    FA_TRY(lowest_energy(b, nrow, u, &found->lowest, err));
    for (int kind = 0; kind < 3; kind++)
        for (int svd = 0; svd < (kind == 0 ? 2 : 1); svd++)
            for (int all = 0; all < 2; all++) {
                Solved s;
                char name[64];
                fa_threads_set(all ? b->all : 1);
                const Solve how = {(FaSolveKind)kind, (FaSvdKind)svd, nrow, ITERATIONS, kind == 0 ? REPEATS : FEW};
                FA_TRY(solve_with(b, how, &s, u, err));
                snprintf(name, sizeof name, "%s_%s%s", what, solver_name[kind], svd ? "_taylor" : "");
                write_row(w, name, all ? b->all : 1, s.ms,
                          (s.energy - found->lowest) / fmax(start_energy(&s) - found->lowest, 1e-30),
                          "8 iterations of one frame; accuracy: relative error of the energy");
                fai_jw_num(w, "energy", s.energy);
                fai_jw_num(w, "local_ms", 1e3 * s.report.seconds_local);
                fai_jw_num(w, "global_ms", 1e3 * s.report.seconds_global);
                fai_jw_num(w, "search_ms", 1e3 * s.report.seconds_search);
                fai_jw_num(w, "setup_ms", 1e3 * s.report.seconds_setup);
                fai_jw_int(w, "svd_reused", s.report.svd_reused);
                fai_jw_int(w, "svd_taylor", s.report.svd_taylor);
                fai_jw_int(w, "svd_full", s.report.svd_full);
                fai_jw_close(w);
                if (kind == 0 && svd == 0) found->quick = s.energy;
                if (kind == 1) found->gs = s.energy;
            }
    fa_threads_set(b->all);
    return FA_OK;
}

// --- the baseline -------------------------------------------------------------------------------------------------

#ifdef FA_HAVE_EIGEN_PEER
typedef struct Energy {
    FaProjective *p;
    const FaProjectiveInput *in;
} Energy;

static double energy_of(void *ctx, const float *u) {
    const Energy *e = ctx;
    return fai_projective_energy(e->p, e->in, u, NULL);
}

// Time of Eigen's iterations to the energy that ours has after eight, without rows; ratio to ours.
static FaCode run_peer(Bench *b, double target, float *u, int all, FaJsonWriter *w, double *ms, FaError *err) {
    const Problem *k = &b->problem;
    const FaElastic *e = &fai_projective_problem(b->method[1]).flesh->e;
    PeerBody body = {e->nnode,       e->ntet,          e->nanchor,       e->x0,
                     e->mass,        &e->tet[0][0],    e->tet_strain,    e->tet_volume,
                     e->anchor_node, e->anchor_weight, k->input.inertia, all ? b->all : 1};
    FaProjectiveOptions o = k->options;
    FaProjectiveInput in = k->input;
    in.nrow = 0;
    o.nzone = 0;
    Energy energy = {.in = &in};
    FA_TRY(fai_projective_new(e, &o, &energy.p, err));
    PeerProjective *peer = peer_projective_new(&body);
    int made = 0;
    double seconds, times[3];
    for (int i = 0; i < 3 && peer; i++) {
        memcpy(u, k->start, 4 * (size_t)e->nnode * sizeof(float));
        const PeerFrame frame = {k->y, k->anchor, in.frame.tet_rest, in.frame.tet_stride};
        const PeerStop stop = {PEER_MOST, target, energy_of, &energy};
        made = peer_projective_solve(peer, &frame, &stop, u, &seconds);
        times[i] = 1e3 * seconds;
    }
    if (peer) {
        FaBenchTimes t = fai_bench_times(times, 3);
        write_row(w, "eigen", all ? b->all : 1, t, energy_of(&energy, u) / target - 1,
                  "JacobiSVD + SimplicialLLT to the energy of free_quick; accuracy: excess over it");
        fai_jw_int(w, "iterations", made);
        fai_jw_close(w);
        *ms = t.med;
    }
    peer_projective_free(peer);
    fai_projective_free(energy.p);
    return FA_OK;
}
#endif

// --- figure 6.2 ---------------------------------------------------------------------------------------------------

static FaCode write_curves(Bench *b, double lowest, float *u, FaJsonWriter *w, FaError *err) {
    fai_jw_open(w, "curves", '[');
    for (int kind = 0; kind < 4; kind++) {
        Solved s;
        FaProjectiveOptions usual = b->problem.options;
        if (kind == 3) b->problem.options.gs_sweeps = 1, b->problem.options.gs_fixed = true;
        const Solve how = {kind == 3 ? FA_SOLVE_GS : (FaSolveKind)kind, FA_SVD_EXACT, b->problem.input.nrow, CURVE,
                           kind == FA_SOLVE_PD ? 1 : FEW};
        FaCode rc = solve_with(b, how, &s, u, err);
        b->problem.options = usual;
        FA_TRY(rc);
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "solver", kind == 3 ? "gs_one_sweep" : solver_name[kind]);
        fai_jw_open(w, "ms", '[');
        for (int i = 0; i <= s.report.iterations; i++) fai_jw_num(w, NULL, 1e3 * s.report.at[i]);
        fai_jw_close(w);
        fai_jw_open(w, "error", '[');
        for (int i = 0; i <= s.report.iterations; i++)
            fai_jw_num(w, NULL, (s.report.energy[i] - lowest) / fmax(start_energy(&s) - lowest, 1e-30));
        fai_jw_close(w);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode set_up(Bench *b, const FaRig *rig, const FaClip *clip, FaError *err) {
    FaHeadParams params = fa_head_params_default();
    params.level = 1;
    b->all = fa_threads();
    b->push = 1;
    if (!rig) {
        FA_TRY(fa_head_new(&params, &b->head, err));
        FA_TRY(fa_head_rig(b->head, 0, &b->own_rig, err));
        rig = b->own_rig;
    }
    if (!clip) {
        b->push = 1.4f; // pushed past their limits, as animators do: the lips cross in linear blending
        FA_TRY(fa_head_clip("press", &b->own_clip, err));
        clip = b->own_clip;
    }
    b->rig = rig;
    b->clip = clip;
    FA_TRY(fa_clip_bind(clip, rig, &b->binding, err));
    FA_TRY(fa_face_get(rig, fa_method_needs("projective"), NULL, &b->face, err));
    for (int i = 0; i < 2; i++) {
        FaParams *p;
        FA_TRY(fa_params_new("projective", &p, err));
        FaCode rc = fa_params_set(p, "contact", i ? "mouth" : "off", err);
        if (rc >= 0)
            rc = fa_method_open("projective", &(FaMethodSetup){.rig = rig, .face = b->face, .params = p}, &b->method[i],
                                err);
        fa_params_free(p);
        FA_TRY(rc);
    }
    b->arena = fai_arena_new(0);
    b->x = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    b->weights = FA_NEW(rig->nshape, float);
    b->ms = FA_NEW(FA_MAX(clip->nframe, REPEATS), double);
    return b->arena && b->x && b->weights && b->ms ? FA_OK : FA_FAIL_MEMORY(err);
}

static void tear_down(Bench *b) {
    fa_threads_set(b->all);
    void *owned[] = {b->x, b->weights, b->ms};
    for (int i = 0; i < FA_COUNT(owned); i++) fa_free(owned[i]);
    for (int i = 0; i < 2; i++) fa_method_close(b->method[i]);
    fai_arena_free(b->arena);
    fa_face_free(b->face);
    fa_binding_free(&b->binding);
    fa_clip_free(b->own_clip);
    fa_rig_free(b->own_rig);
    fa_head_free(b->head);
}

static FaCode run(Bench *b, FaJsonWriter *w, FaError *err) {
    for (int which = 0; which < 2; which++)
        for (int contact = 0; contact < 2; contact++) {
            fa_threads_set(which ? b->all : 1);
            FA_TRY(run_clip(b, contact, which, err));
        }
    if (b->frames.most_rows < LEAST_ROWS)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a clip that closes the mouth, e.g. that of fascia head --clip press",
                       "no frame has %d contact and sticky rows; the most are %d", LEAST_ROWS, b->frames.most_rows);
    for (int which = 0; which < 2; which++) {
        fa_threads_set(which ? b->all : 1);
        FA_TRY(run_busy(b, which, err));
    }
    fa_threads_set(b->all);
    const FaElastic *e = &fai_projective_problem(b->method[1]).flesh->e;
    float *u = FA_PUSH(b->arena, 4 * (size_t)e->nnode, float);
    if (!u) return FA_FAIL_MEMORY(err);
    Found found[2]; // free, touching
    double peer_ms[2] = {NAN, NAN};
    int nrow = b->problem.input.nrow;
    fai_jw_open(w, "rows", '[');
    write_frames(b, w);
    FaCode rc = write_solvers(b, 0, "free", u, w, &found[0], err);
    if (rc >= 0) rc = write_solvers(b, nrow, "touching", u, w, &found[1], err);
    Solved ours[2];
    for (int all = 0; all < 2 && rc >= 0; all++) {
        fa_threads_set(all ? b->all : 1);
        rc = solve_with(b, (Solve){FA_SOLVE_QUICK, FA_SVD_EXACT, 0, ITERATIONS, REPEATS}, &ours[all], u, err);
#ifdef FA_HAVE_EIGEN_PEER
        if (rc >= 0 && fai_simd_wanted()) rc = run_peer(b, found[0].quick, u, all, w, &peer_ms[all], err);
#endif
    }
    fa_threads_set(b->all);
    fai_jw_close(w);
    if (rc >= 0) rc = write_curves(b, found[1].lowest, u, w, err);
    fai_jw_int(w, "nodes", e->nnode);
    fai_jw_int(w, "tets", e->ntet);
    fai_jw_int(w, "contact_rows", nrow);
    fai_jw_open(w, "ratios", '{');
    if (rc >= 0 && isfinite(peer_ms[1]))
        fai_jw_num(w, "eigen", fmin(peer_ms[0] / ours[0].ms.med, peer_ms[1] / ours[1].ms.med));
    fai_jw_num(w, "thesis", THESIS_MS / b->frames.contact_ms[1]);
    if (rc >= 0) fai_jw_num(w, "gs_energy", found[1].gs / found[1].quick);
    fai_jw_close(w);
    return rc;
}

FaCode fai_bench_projective(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    Bench b = {0};
    FaCode rc = set_up(&b, rig, clip, err);
    if (rc >= 0) rc = run(&b, w, err);
    tear_down(&b);
    return rc;
}

// bench enrich: steps of algorithm 1 of paper 000 at its size (about 10k nodes, h = 1/300 s), every minimiser beside
// the others: time of a step (dynamic and static solve together), iterations, and how far the trajectory is from one
// solved to 1e-9.
//
// A smile comes up in 0.3 s, with the stiffening that goes with it, while the head swings +-40 mm at 2.5 Hz and turns
// +-20 degrees at 3 Hz (enrich-notes). The paper: 4 s per step, about 9k nodes, i7 at 3.2 GHz.
#include "bench/bench_list.h"
#include "enrich/enrich.h"
#include "face/face.h"
#include "fascia/head.h"
#include "math/mat3.h"

#include <math.h>
#include <stdio.h>

enum { RATE = 300, STEPS = 45 };
static const double PAPER_MS = 4000;

typedef struct Bench {
    FaHead *head;
    FaRig *own_rig;
    const FaRig *rig;
    FaFace *face;
    FaClip *clip;
    float *surface;
    double *track[2]; // d of every step, solved to 1e-9: without contact, with it     (STEPS x nnode x 3)
    double *ms;
} Bench;

typedef struct Case {
    const char *name, *solver, *tolerance, *contact;
} Case;

static FaCode make_clip(Bench *b, FaError *err) {
    const char **names = FA_NEW(b->rig->nshape, const char *);
    if (!names) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < b->rig->nshape; s++) names[s] = b->rig->shape[s].name;
    FaCode rc = fa_clip_new(STEPS + 1, b->rig->nshape, names, RATE, &b->clip, err);
    fa_free(names);
    FA_TRY(rc);
    b->clip->head = FA_NEW(STEPS + 1, FaPose);
    if (!b->clip->head) return FA_FAIL_MEMORY(err);
    for (int f = 0; f <= STEPS; f++) {
        double t = (double)f / RATE, part = fmin(1, t / 0.3), turn[3] = {0, 20 * M_PI / 180 * sin(2 * M_PI * 3 * t), 0};
        for (int s = 0; s < b->rig->nshape; s++)
            if (strstr(b->rig->shape[s].name, "mouthSmile"))
                b->clip->weight[(size_t)f * (size_t)b->rig->nshape + (size_t)s] = (float)(part * part * (3 - 2 * part));
        b->clip->head[f] = fai_pose_identity();
        fai_q_exp(turn, b->clip->head[f].q);
        fai_v3_set(b->clip->head[f].p, 0.04 * sin(2 * M_PI * 2.5 * t), 0, 0);
    }
    return FA_OK;
}

static FaCode set_up(Bench *b, const FaRig *rig, FaError *err) {
    b->rig = rig;
    if (!rig) {
        FaHeadParams params = fa_head_params_default();
        FA_TRY(fa_head_new(&params, &b->head, err));
        FA_TRY(fa_head_rig(b->head, 0, &b->own_rig, err));
        b->rig = b->own_rig;
    }
    FA_TRY(fa_face_get(b->rig, fa_method_needs("enrich"), NULL, &b->face, err));
    FA_TRY(make_clip(b, err));
    size_t n = 3 * (size_t)b->face->nnode;
    b->surface = FA_NEW(3 * (size_t)b->rig->mesh.nvert, float);
    b->ms = FA_NEW(STEPS, double);
    for (int i = 0; i < 2; i++)
        if (!(b->track[i] = FA_NEW(STEPS * n, double))) return FA_FAIL_MEMORY(err);
    return b->surface && b->ms ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode open_case(Bench *b, const Case *c, FaMethod **m, FaError *err) {
    FaParams *params;
    FA_TRY(fa_params_new("enrich", &params, err));
    FaCode rc = fa_params_set(params, "solver", c->solver, err);
    if (rc >= 0) rc = fa_params_set(params, "tolerance", c->tolerance, err);
    if (rc >= 0) rc = fa_params_set(params, "contact", c->contact, err);
    if (rc >= 0)
        rc = fa_method_open("enrich", &(FaMethodSetup){.rig = b->rig, .face = b->face, .params = params}, m, err);
    fa_params_free(params);
    return rc;
}

// Steps of a case; its times into b->ms. keep: store the trajectory; else the largest distance from the stored one.
static FaCode play(Bench *b, const Case *c, bool keep, FaEnrichTotals *totals, double *gap, FaError *err) {
    FaMethod *m;
    FaRun *run = NULL;
    size_t n = 3 * (size_t)b->face->nnode;
    double *track = b->track[strcmp(c->contact, "off") != 0], last = 0;
    *gap = 0;
    FA_TRY(open_case(b, c, &m, err));
    FaCode rc = fa_run_new(m, b->clip, &run, err);
    for (int f = 0; rc >= 0 && f <= STEPS; f++) {
        rc = fa_sequence_read(fa_run_sequence(run), f, b->surface, err);
        if (rc < 0 || f == 0) continue;
        const double *d = fai_rebalance_d(fai_enrich_body(m));
        double *at = track + (size_t)(f - 1) * n;
        b->ms[f - 1] = 1e3 * (fai_enrich_totals(m)->seconds - last);
        last = fai_enrich_totals(m)->seconds;
        if (keep) memcpy(at, d, n * sizeof *d);
        for (size_t i = 0; i < n; i += 3) {
            double off[3];
            fai_v3_sub(d + i, at + i, off);
            *gap = fmax(*gap, fai_v3_norm(off));
        }
    }
    *totals = *fai_enrich_totals(m);
    fa_run_free(run);
    fa_method_close(m);
    return rc;
}

#ifdef FA_CHOLMOD_SUPERNODAL
static const char CHOLMOD_NOTE[] = "; CHOLMOD supernodal";
#else
static const char CHOLMOD_NOTE[] = "; CHOLMOD simplicial, one thread: its permissive modules (FASCIA_GPL for its best)";
#endif

// mean: ms of a step
static FaCode write_case(Bench *b, const Case *c, FaJsonWriter *w, double *mean, FaError *err) {
    FaEnrichTotals t;
    FaText note = {0};
    double gap;
    FA_TRY(play(b, c, false, &t, &gap, err));
    *mean = 0;
    for (int i = 0; i < STEPS; i++) *mean += b->ms[i] / STEPS;
    FaBenchTimes ms = fai_bench_times(b->ms, STEPS);
    fai_text_printf(&note, "a step of both solves; accuracy: mm from a run solved to 1e-9, at most%s",
                    strcmp(c->solver, "cholmod") ? "" : CHOLMOD_NOTE);
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "case", c->name);
    fai_jw_int(w, "threads", fa_threads());
    fai_jw_num(w, "ms_med", ms.med);
    fai_jw_num(w, "ms_min", ms.min);
    fai_jw_num(w, "accuracy", 1e3 * gap);
    fai_jw_str(w, "note", note.data ? note.data : "");
    fai_text_free(&note);
    fai_jw_str(w, "solver", c->solver);
    fai_jw_str(w, "tolerance", c->tolerance);
    fai_jw_str(w, "contact", c->contact);
    fai_jw_num(w, "ms_mean", *mean);
    fai_jw_num(w, "ms_dynamic", 1e3 * t.seconds_dynamic / t.steps);
    fai_jw_num(w, "ms_static", 1e3 * t.seconds_static / t.steps);
    fai_jw_num(w, "ms_contact", 1e3 * t.seconds_contact / t.steps);
    fai_jw_num(w, "iterations", (double)t.iterations / t.steps);
    fai_jw_num(w, "cg", (double)t.cg / t.steps);
    fai_jw_int(w, "factors", t.refreshes);
    fai_jw_int(w, "rows", t.rows);
    fai_jw_int(w, "steps", t.steps);
    fai_jw_close(w);
    return FA_OK;
}

// --- figures 5 and 6: a bar of 60 mm whose rest length grows by half in 0.1 s
// -----------------------------------------------

enum { CUBES = 12, SIDE = 3, BAR = 120 };

typedef struct Bar {
    int tet[6 * CUBES * (SIDE - 1) * (SIDE - 1)][4], ntet;
    double x[(CUBES + 1) * SIDE * SIDE * 3], X[(CUBES + 1) * SIDE * SIDE * 3], mass[(CUBES + 1) * SIDE * SIDE];
    double mu[6 * CUBES * (SIDE - 1) * (SIDE - 1)], lambda[6 * CUBES * (SIDE - 1) * (SIDE - 1)];
    unsigned char fixed[(CUBES + 1) * SIDE * SIDE];
} Bar;

static void add_cube(Bar *bar, const int c[8]) {
    static const int way[6][4] = {{0, 1, 3, 7}, {0, 5, 1, 7}, {0, 3, 2, 7},
                                  {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 6, 4, 7}}; // positive volumes
    const double step = 0.005;
    for (int t = 0; t < 6; t++, bar->ntet++) {
        for (int k = 0; k < 4; k++) {
            bar->tet[bar->ntet][k] = c[way[t][k]];
            bar->mass[c[way[t][k]]] += 1100 * step * step * step / 24;
        }
        bar->mu[bar->ntet] = 3000;
        bar->lambda[bar->ntet] = 2500;
    }
}

static void make_bar(Bar *bar) {
    const double step = 0.005;
    int n = 0;
    for (int k = 0; k < SIDE; k++)
        for (int j = 0; j < SIDE; j++)
            for (int i = 0; i <= CUBES; i++, n++) {
                fai_v3_set(bar->x + 3 * n, i * step, j * step, k * step);
                bar->fixed[n] = i == 0;
            }
    for (int k = 0; k + 1 < SIDE; k++)
        for (int j = 0; j + 1 < SIDE; j++)
            for (int i = 0; i < CUBES; i++) {
                int c[8];
                for (int q = 0; q < 8; q++)
                    c[q] = i + (q & 1) + (j + (q >> 1 & 1)) * (CUBES + 1) + (k + (q >> 2)) * (CUBES + 1) * SIDE;
                add_cube(bar, c);
            }
}

static FaCode grow(Bar *bar, double alpha, double tip[BAR], FaError *err) {
    FaSolid *solid;
    FaRebalance *r = NULL;
    FaPose pose = fai_pose_identity();
    double zero[3] = {0};
    int n = (CUBES + 1) * SIDE * SIDE;
    FA_TRY(fai_solid_new(n, bar->ntet, bar->tet[0], bar->x, FA_SOLID_STVK, &solid, err));
    FaRebalanceOptions o = {.scheme = FA_SCHEME_BDF2, .alpha = alpha, .beta = fai_damping_beta(0.05, 20)};
    FaCode rc = fai_rebalance_new(solid, bar->fixed, bar->mass, &o, &r, err);
    if (rc >= 0) rc = fai_rebalance_reset(r, bar->x, bar->mu, bar->lambda, &pose, zero, zero, err);
    for (int s = 0; s < BAR && rc >= 0; s++) {
        double part = fmin(1, (s + 1) / 30.0), length = 1 + 0.5 * part * part * (3 - 2 * part);
        for (int i = 0; i < 3 * n; i++) bar->X[i] = bar->x[i] * (i % 3 == 0 ? length : 1);
        FaRebalanceInput in = {.h = 1.0 / RATE, .X = bar->X, .mu = bar->mu, .lambda = bar->lambda, .pose = pose};
        rc = fai_rebalance_step(r, &in, NULL, err);
        if (rc >= 0) tip[s] = bar->X[3 * CUBES] + fai_rebalance_d(r)[3 * CUBES];
    }
    fai_rebalance_free(r);
    fai_solid_free(solid);
    return rc;
}

static FaCode write_bars(FaJsonWriter *w, FaError *err) {
    static const double alphas[] = {1, 0.5, 0};
    Bar *bar = FA_NEW(1, Bar);
    if (!bar) return FA_FAIL_MEMORY(err);
    make_bar(bar);
    fai_jw_open(w, "bars", '[');
    FaCode rc = FA_OK;
    for (int a = 0; a < FA_COUNT(alphas) && rc >= 0; a++) {
        double tip[BAR];
        char name[32];
        rc = grow(bar, alphas[a], tip, err);
        if (rc < 0) break;
        snprintf(name, sizeof name, "alpha %g", alphas[a]);
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "name", name);
        fai_jw_open(w, "seconds", '[');
        for (int s = 0; s < BAR; s++) fai_jw_num(w, NULL, (s + 1.0) / RATE);
        fai_jw_close(w);
        fai_jw_open(w, "tip_mm", '[');
        for (int s = 0; s < BAR; s++) fai_jw_num(w, NULL, 1e3 * tip[s]);
        fai_jw_close(w);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    fa_free(bar);
    return rc;
}

// --- all of it ----------------------------------------------------------------------------------------------------

enum { PCG, PCG_1E6, PCG_TOUCHING, PCG_TOUCHING_1E6, CHOL_1E6, NEWTON }; // in `cases`, for the ratios
static const Case cases[] = {
    [PCG] = {"pcg", "pcg", "1e-4", "off"},
    [PCG_1E6] = {"pcg_verified", "pcg", "1e-6", "off"},
    [PCG_TOUCHING] = {"pcg_contact", "pcg", "1e-4", "mouth"},
    [PCG_TOUCHING_1E6] = {"pcg_contact_verified", "pcg", "1e-6", "mouth"},
    [CHOL_1E6] = {"chol_verified", "chol", "1e-6", "off"},
#ifdef FA_HAVE_CHOLMOD
    [NEWTON] = {"cholmod_verified", "cholmod", "1e-6", "off"},
    {"cholmod", "cholmod", "1e-4", "off"},
#endif
    {"chol", "chol", "1e-4", "off"},
    {"pcg_rough", "pcg", "1e-3", "off"},
    {"lbfgs", "lbfgs", "1e-4", "off"},
    {"lbfgs_verified", "lbfgs", "1e-6", "off"},
    {"lbfgs_contact", "lbfgs", "1e-4", "mouth"},
    {"jacobi", "jacobi", "1e-4", "off"},
    {"jacobi_verified", "jacobi", "1e-6", "off"},
};

static FaCode run(Bench *b, FaJsonWriter *w, FaError *err) {
    static const Case reference[] = {{"", "pcg", "1e-9", "off"}, {"", "pcg", "1e-9", "mouth"}};
    FaEnrichTotals t;
    double gap, peak = 0, mean[FA_COUNT(cases)] = {0};
    for (int i = 0; i < 2; i++) FA_TRY(play(b, &reference[i], true, &t, &gap, err));
    for (size_t i = 0; i < (size_t)STEPS * 3 * (size_t)b->face->nnode; i++) peak = fmax(peak, fabs(b->track[0][i]));
    fai_jw_open(w, "rows", '[');
    FaCode rc = FA_OK;
    for (int i = 0; i < FA_COUNT(cases) && rc >= 0; i++) rc = write_case(b, &cases[i], w, &mean[i], err);
    fai_jw_close(w);
    if (rc >= 0) rc = write_bars(w, err);
    fai_jw_int(w, "nodes", b->face->nnode);
    fai_jw_int(w, "tets", b->face->ntet);
    fai_jw_num(w, "peak_mm", 1e3 * peak);
    fai_jw_open(w, "ratios", '{');
    fai_jw_num(w, "paper", PAPER_MS / mean[PCG]);
    fai_jw_num(w, "paper_verified", PAPER_MS / mean[PCG_1E6]);
    fai_jw_num(w, "paper_contact", PAPER_MS / mean[PCG_TOUCHING]);
    fai_jw_num(w, "paper_contact_verified", PAPER_MS / mean[PCG_TOUCHING_1E6]);
    fai_jw_num(w, "own_newton", mean[CHOL_1E6] / mean[PCG_1E6]);
#ifdef FA_HAVE_CHOLMOD
    fai_jw_num(w, "newton", mean[NEWTON] / mean[PCG_1E6]);
#endif
    fai_jw_close(w);
    return rc;
}

FaCode fai_bench_enrich(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    (void)clip;
    Bench b = {0};
    FaCode rc = set_up(&b, rig, err);
    if (rc >= 0) rc = run(&b, w, err);
    fa_free(b.surface);
    fa_free(b.ms);
    fa_free(b.track[0]);
    fa_free(b.track[1]);
    fa_clip_free(b.clip);
    fa_face_free(b.face);
    fa_rig_free(b.own_rig);
    fa_head_free(b.head);
    return rc;
}

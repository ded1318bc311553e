#include "solve/projective.h"

#include "energy/kernel.h"
#include "energy/push_pull.h"
#include "solve/solver.h"

#include <math.h>

enum {
    HISTORY = 5,  // thesis 001 section 6.2.2, as Liu et al.
    HALVINGS = 5, // of the memoised SVD's thresholds (section 6.3.4), which the thesis does not give in numbers
};
static const double LEAST_GAIN =
    1e-12; // of the energy, relative, that a step may promise: less is below what floats hold
static const float TAU0 = 0.03f, TAU1 = 0.3f; // rad: converges to 1e-5 of the exact state, as the thesis has it

// --- set-up -------------------------------------------------------------------------------------------------------

static FaCode check_options(const FaElastic *e, const FaProjectiveOptions *o, FaError *err) {
    if (!(o->inertia > 0) || !isfinite(o->inertia))
        return FA_FAIL(err, FA_E_ARG, "inertia", "give 1/h^2 of the usual step", "%g is not a positive number",
                       o->inertia);
    if (o->max_rows < 0 || o->nzone < 0 || o->gs_sweeps < 0 || o->refactor < 0 || o->nzone > e->nnode)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "%d rows, %d zone nodes, %d sweeps", o->max_rows, o->nzone,
                       o->gs_sweeps);
    for (int i = 0; i < o->nzone; i++)
        if (o->zone[i] < 0 || o->zone[i] >= e->nnode)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("zone %d", i), NULL, "node %d, but there are %d", o->zone[i],
                           e->nnode);
    return FA_OK;
}

static FaCode make_energies(FaProjective *p, FaError *err) {
    const FaElastic *e = p->e;
    FA_TRY(fai_anchors_new(e, &p->anchors, err));
    FA_TRY(fai_edges_new(e, &p->edges, err));
    FA_TRY(fai_bends_new(e, &p->bends, err));
    FA_TRY(fai_tets_new(e, &p->tets, err));
    if (e->nmembrane) FA_TRY(fai_membranes_new(e, &p->membranes, err));
    if (p->options.svd == FA_SVD_TAYLOR) FA_TRY(fai_svd_memo_new(e->ntet, &p->memo, err));
    p->mass = FA_PUSH(p->arena, e->nnode, float);
    p->part = FA_PUSH(p->arena, e->nnode / 1024 + 1, double);
    if (!p->mass || !p->part) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < e->nnode; i++) p->mass[i] = (float)e->mass[i];
    return FA_OK;
}

static FaCode make_refactor(FaProjective *p, FaError *err) {
    const FaProjectiveOptions *o = &p->options;
    FaCsr a;
    FA_TRY(fai_elastic_matrix(p->e, 0, &a, err));
    FaCode rc = fai_refactor_new(&a, p->e->mass, p->chol, o->inertia, o->refactor, &p->refactor, err);
    fai_csr_free(&a);
    return rc;
}

static FaCode make_factor(FaProjective *p, FaError *err) {
    FaProjectiveOptions *o = &p->options;
    FaCsr a;
    FA_TRY(fai_elastic_matrix(p->e, o->inertia, &a, err));
    FaCholOptions co = {.single = true, .nzone = o->nzone, .zone = o->zone};
    FaCode rc = fai_chol_analyze(&a, &co, &p->chol, err);
    if (rc >= 0) rc = fai_chol_factor(p->chol, &a, err);
    fai_csr_free(&a);
    if (rc >= 0 && o->refactor > 0 && o->kind == FA_SOLVE_QUICK) rc = make_refactor(p, err);
    if (rc < 0 || o->nzone == 0) return rc;
    p->zone_b = FA_PUSH(p->arena, 4 * (size_t)o->nzone, float);
    p->zone_x = FA_PUSH(p->arena, 4 * (size_t)o->nzone, float);
    if (!p->zone_b || !p->zone_x) return FA_FAIL_MEMORY(err);
    return fai_fold_new(p->e->nnode, o->nzone, o->zone, o->max_rows, &p->fold, err);
}

static FaCode make_sweeper(FaProjective *p, FaError *err) {
    FaCsr a;
    FA_TRY(fai_elastic_matrix(p->e, 0, &a, err));
    FaCode rc = fai_sweeper_new(&a, p->e->mass, p->options.max_rows, &p->sweeper, err);
    fai_csr_free(&a);
    return rc;
}

static FaCode make_fields(FaProjective *p, FaError *err) {
    bool pd = p->options.kind == FA_SOLVE_PD;
    FA_TRY(fai_field_shape(p->arena, p->e->nnode, &p->shape, err));
    FA_TRY(fai_lbfgs_init(&p->history, &p->shape, pd ? 0 : HISTORY, p->arena, err));
    float **field[] = {&p->u, &p->g, &p->u_next, &p->g_next, &p->d, &p->q, &p->r, &p->cg[0], &p->cg[1], &p->cg[2]};
    for (int i = 0; i < FA_COUNT(field) - (pd ? 0 : 3); i++)
        if (!(*field[i] = fai_field_new(&p->shape, p->arena))) return FA_FAIL_MEMORY(err);
    p->active = FA_PUSH(p->arena, p->options.max_rows, unsigned char);
    p->active_next = FA_PUSH(p->arena, p->options.max_rows, unsigned char);
    return p->active && p->active_next ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fai_projective_new(const FaElastic *e, const FaProjectiveOptions *options, FaProjective **out, FaError *err) {
    *out = NULL;
    FA_TRY(fai_elastic_check(e, err));
    FA_TRY(check_options(e, options, err));
    FaProjective *p = FA_NEW(1, FaProjective);
    if (!p) return FA_FAIL_MEMORY(err);
    p->e = e;
    p->options = *options;
    p->options.zone = NULL;
    if (!p->options.gs_sweeps) p->options.gs_sweeps = 2;
    p->arena = fai_arena_new(0);
    FaCode rc = p->arena ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && options->nzone) {
        int *zone = FA_PUSH(p->arena, options->nzone, int);
        if (zone)
            memcpy(zone, options->zone, (size_t)options->nzone * sizeof *zone);
        else
            rc = FA_FAIL_MEMORY(err);
        p->options.zone = zone;
    }
    if (rc >= 0) rc = make_energies(p, err);
    if (rc >= 0) rc = make_fields(p, err);
    if (rc >= 0 && p->options.kind != FA_SOLVE_GS) rc = make_factor(p, err);
    if (rc >= 0 && p->options.kind != FA_SOLVE_QUICK) rc = make_sweeper(p, err);
    if (rc < 0) {
        fai_projective_free(p);
        return rc;
    }
    *out = p;
    return FA_OK;
}

void fai_projective_free(FaProjective *p) {
    if (!p) return;
    fai_refactor_free(p->refactor);
    fai_fold_free(p->fold);
    fai_sweeper_free(p->sweeper);
    fai_chol_free(p->chol);
    if (p->memo) fai_svd_memo_free(p->memo);
    if (p->tets) fai_tets_free(p->tets);
    fai_membranes_free(p->membranes);
    fai_stretch_free(p->bends);
    fai_stretch_free(p->edges);
    fai_anchors_free(p->anchors);
    fai_arena_free(p->arena);
    fai_resize(p, 0);
}

// --- the solve ----------------------------------------------------------------------------------------------------

static void log_energy(FaProjectiveReport *r, double energy, double since) {
    int at = r->iterations;
    if (at > FA_SOLVE_LOG) {
        memmove(r->energy, r->energy + 1, FA_SOLVE_LOG * sizeof *r->energy);
        memmove(r->at, r->at + 1, FA_SOLVE_LOG * sizeof *r->at);
        at = FA_SOLVE_LOG;
    }
    r->energy[at] = energy;
    r->at[at] = since;
}

#define SWAP(T, a, b)                                                                                                  \
    do {                                                                                                               \
        T swap_ = (a);                                                                                                 \
        (a) = (b);                                                                                                     \
        (b) = swap_;                                                                                                   \
    } while (0)

// Direction and search; a direction from a stale history is tried again without it. False: as low as it gets.
static bool iterate(FaProjective *p, double *first_slope, FaStep *s) {
    for (;;) {
        double start = fai_seconds();
        fai_global_direction(p, &s->slope);
        p->report->seconds_global += fai_seconds() - start;
        if (s->slope < -LEAST_GAIN * fabs(p->energy)) {
            if (*first_slope == 0) *first_slope = s->slope;
            if (s->slope > p->in->tolerance * p->in->tolerance * *first_slope || -s->slope < p->in->floor) return false;
            double local = p->report->seconds_local;
            start = fai_seconds();
            bool lower = fai_search(p, s);
            p->report->seconds_search += fai_seconds() - start - (p->report->seconds_local - local);
            if (lower) return true;
        }
        if (p->history.count == 0) {
            p->report->stalled = s->slope != 0;
            return false;
        }
        fai_lbfgs_clear(&p->history);
    }
}

bool fai_projective_once(const FaProjective *p, const FaProjectiveInput *in) {
    double ratio = in->inertia / p->options.inertia;
    if (!in->rested || in->iterations != 1 || p->options.kind != FA_SOLVE_QUICK || !(ratio >= 0.5 && ratio <= 1.5))
        return false;
    return in->nrow == 0 || (p->fold && fai_fold_takes(p->fold, in->nrow, in->row));
}

// The energy logged after it is the bound.
static void step_once(FaProjective *p, float *u, FaProjectiveReport *r, double start) {
    double slope, begin = fai_seconds();
    fai_global_direction(p, &slope);
    r->seconds_global += fai_seconds() - begin;
    if (!(slope < -LEAST_GAIN * fabs(p->energy)) || -slope < p->in->floor) return;
    memcpy(u, p->u_next, 4 * (size_t)p->e->nnode * sizeof *u);
    r->iterations = 1;
    log_energy(r, p->energy + 0.5 * slope, fai_seconds() - start);
}

static FaCode begin(FaProjective *p, const FaProjectiveInput *in, const float *u, FaProjectiveReport *r, FaError *err) {
    FA_TRY(fai_rows_check(in->nrow, in->row, p->e->nnode, p->options.max_rows, err));
    if (!(in->inertia > 0) || !isfinite(in->inertia))
        return FA_FAIL(err, FA_E_ARG, "inertia", NULL, "%g is not a positive number", in->inertia);
    double start = fai_seconds();
    p->in = in;
    p->report = r;
    p->tau0 = p->options.tau0 > 0 ? p->options.tau0 : TAU0;
    p->tau1 = p->options.tau1 > 0 ? p->options.tau1 : TAU1;
    p->sweeps = p->options.gs_sweeps;
    // each solve starts without history: what it gives depends on its input alone, so that a snapshot needs nothing of
    // ours
    fai_lbfgs_clear(&p->history);
    if (p->memo) fai_svd_memo_restart(p->memo);
    memcpy(p->u, u, 4 * (size_t)p->e->nnode * sizeof *u);
    r->rows_outside = fai_global_rows(p);
    r->seconds_setup = fai_seconds() - start;
    start = fai_seconds();
    p->once = fai_projective_once(p, in);
    p->rested = in->rested;
    p->energy = fai_total_energy(p, in, p->u, p->g, p->active);
    p->rested = false;
    r->seconds_local += fai_seconds() - start;
    if (!isfinite(p->energy))
        return FA_FAIL(err, FA_E_NUMERIC, NULL,
                       "check targets, weights and the last frame for numbers that are not finite",
                       "the energy to begin with is not finite");
    return FA_OK;
}

FaCode fai_projective_solve(FaProjective *p, const FaProjectiveInput *in, float *u, FaProjectiveReport *report,
                            FaError *err) {
    FaProjectiveReport own;
    FaProjectiveReport *r = report ? report : &own;
    memset(r, 0, sizeof *r);
    double start = fai_seconds(), logged, first_slope = 0;
    FaCode rc = begin(p, in, u, r, err);
    if (rc >= 0) log_energy(r, logged = p->energy, fai_seconds() - start);
    if (rc >= 0 && p->once) {
        step_once(p, u, r, start);
        p->in = NULL;
        p->report = NULL;
        return FA_OK;
    }
    FaStep step = {0};
    while (rc >= 0 && r->iterations < in->iterations && iterate(p, &first_slope, &step)) {
        if (!isfinite(step.energy)) {
            rc = FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("iteration %d", r->iterations), "soften the stiffest weights",
                         "the energy is not finite any more");
            break;
        }
        double s = fai_seconds();
        fai_lbfgs_push(&p->history, step.length, p->d, p->g, p->g_next);
        r->seconds_global += fai_seconds() - s;
        SWAP(float *, p->u, p->u_next);
        SWAP(float *, p->g, p->g_next);
        SWAP(unsigned char *, p->active, p->active_next);
        p->energy = step.energy;
        if (r->iterations++ < HALVINGS) {
            if (!p->options.tau_fixed) p->tau0 *= 0.5f, p->tau1 *= 0.5f;
        }
        log_energy(r, logged += step.fall, fai_seconds() - start);
    }
    p->in = NULL;
    p->report = NULL;
    if (rc < 0) return rc;
    // what was given stays as it is, to the bit, where nothing was gained
    if (r->iterations) memcpy(u, p->u, 4 * (size_t)p->e->nnode * sizeof *u);
    bool small = -step.slope <= 1e-6 * fabs(p->energy);
    return r->stalled && r->iterations == 0 && !small ? FA_STALLED : FA_OK;
}

double fai_projective_energy(FaProjective *p, const FaProjectiveInput *in, const float *u, float *gradient) {
    if (p->memo) fai_svd_memo_restart(p->memo);
    return fai_total_energy(p, in, u, gradient, NULL);
}

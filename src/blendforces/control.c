// A frame of the control: markers to commands, commands to skin, what is missed to the residual pass.
//
// Based on: thesis 001 algorithm 1 and section 6.1.1 (one linear solve per frame, projections of the frame before),
// eq. 3.4, 3.5. All of it in the rest frame: the shapes' own solve poses the jaw, the jaw's frames are taken off the
// markers, forces or shapes account for the rest, the residual is spread, and the frames are put back at the end.
#include "blendforces/control_work.h"

#include "base/task.h"
#include "math/mat3.h"

#include <math.h>

static const double EASE = 0.35;     // s: a face without markers relaxes in this time
static const double OUTLIER = 0.008; // m: nearer markers are never doubted
static const double OUTLIER_MEDIANS = 6;
enum { ARC_ROUNDS = 3 };
enum { DOUBTS = 2 };                 // solves more at most where some marker is doubted
enum { SETTLE = 600 };               // steps to rest at most
static const double USUAL_RATE = 60; // Hz: of the steps that `keep` was chosen for
static const double SLACK = 0.01;    // of a step: times of even frames differ in their last digits
static const double LONGEST = 2;     // s that weights are followed over; a face has come to rest long before
static const double SETTLED = 1e-8;  // m in a step: at rest

void fai_control_reset(FaControl *c) {
    c->started = c->filtering = false;
    c->time = c->step = 0;
    fai_shape_solver_reset(c->shapes);
    if (c->forces) fai_forces_reset(c->forces);
    memset(c->last, 0, (size_t)c->rig->nshape * sizeof *c->last);
    memset(c->u, 0, (size_t)c->rig->nshape * sizeof *c->u);
    double *coef[] = {c->last_coef, c->level, c->trend};
    for (int i = 0; i < FA_COUNT(coef); i++) memset(coef[i], 0, 3 * (size_t)c->npoint * sizeof *coef[i]);
    for (int i = 0; i < c->npoint; i++) {
        c->belief[i] = 1;
        double with[3];
        fa_marker_point_at(&c->map->point[c->place[i]], c->rig->mesh.x, true, with);
        for (size_t k = 0; k < 3; k++) c->offset[3 * (size_t)i + k] = (float)(with[k] - c->rest[3 * (size_t)i + k]);
    }
}

void fai_control_trust(FaControl *c, const float *trust) {
    for (int i = 0; i < c->npoint; i++) c->trust[i] = trust ? trust[c->place[i]] : c->given[i];
}

int fai_control_npoint(const FaControl *c) { return c->npoint; }
int fai_control_left(const FaControl *c) { return c->left; }
const int *fai_control_points(const FaControl *c) { return c->place; }
const float *fai_control_belief(const FaControl *c) { return c->belief; }
int fai_control_passes(const FaControl *c) { return c->forces ? c->relinearise : 0; }
const double *fai_control_commands(const FaControl *c) { return c->pass; }

// --- markers ------------------------------------------------------------------------------------------------------

static int read_markers(FaControl *c, const FaMarkers *m) {
    int used = 0;
    for (int i = 0; i < c->npoint; i++) {
        size_t from = 3 * (size_t)c->place[i];
        bool seen = c->place[i] < m->count && (!m->ok || m->ok[c->place[i]]) && c->trust[i] > 0;
        for (size_t k = 0; k < 3; k++) {
            float x = seen ? m->x[from + k] : 0;
            seen &= isfinite(x) && fabsf(x) < 1e3f;
            c->x[3 * (size_t)i + k] = x - c->offset[3 * (size_t)i + k];
        }
        c->seen[i] = seen;
        c->weight[i] = seen ? c->trust[i] : 0;
        c->belief[i] = 1;
        used += seen;
    }
    return used;
}

static double distance(const float *a, const float *b) {
    double d[3] = {(double)a[0] - (double)b[0], (double)a[1] - (double)b[1], (double)a[2] - (double)b[2]};
    return fai_v3_norm(d);
}

// Markers far from where the others put them lose their say (Geman-McClure beyond a multiple of the median). True: some
// weight changed.
static bool doubt(FaControl *c) {
    int n = 0;
    for (int i = 0; i < c->npoint; i++)
        if (c->seen[i]) c->sort[n++] = distance(c->guess + 3 * (size_t)i, c->x + 3 * (size_t)i);
    if (n < 4) return false;
    double limit = fmax(OUTLIER, OUTLIER_MEDIANS * fai_median(c->sort, n));
    bool changed = false;
    for (int i = 0; i < c->npoint; i++) {
        if (!c->seen[i]) continue;
        double d = distance(c->guess + 3 * (size_t)i, c->x + 3 * (size_t)i);
        float belief = d > limit ? (float)(limit * limit / (d * d) * (limit * limit / (d * d))) : 1;
        if (belief < 1e-3f) belief = 0;
        changed |= fabsf(belief - c->belief[i]) > 0.01f;
        c->belief[i] = belief;
        c->weight[i] = c->trust[i] * belief;
    }
    return changed;
}

// The shapes' own account of the frame.
static void solve_shapes(FaControl *c, FaControlFrame *out) {
    FaShapeMarkers m = {.x = c->x, .weight = c->weight, .visible = c->seen};
    for (int pass = 0;; pass++) {
        fai_shape_solve(c->shapes, &m, out->weights, NULL);
        fai_shape_solver_points(c->shapes, out->weights, c->guess);
        if (c->literal || pass == DOUBTS || !doubt(c)) break;
    }
    memcpy(out->carried, out->weights, (size_t)c->rig->nshape * sizeof *out->carried);
    double in = 0, off = 0;
    int used = 0;
    for (int i = 0; i < c->npoint; i++) {
        if (!(c->weight[i] > 0)) continue;
        used++;
        for (size_t k = 3 * (size_t)i; k < 3 * (size_t)i + 3; k++) {
            double move = (double)c->guess[k] - c->rest[k], miss = (double)c->x[k] - (double)c->guess[k];
            in += move * move;
            off += miss * miss;
        }
    }
    out->fit.used = used;
    out->fit.inside = used ? sqrt(in / used) : 0;
    out->fit.outside = used ? sqrt(off / used) : 0;
}

// The markers as displacements in the rest frame.
static void to_rest(FaControl *c, const float *weights) {
    if (c->jaw) fai_jaw_point_frames(c->jaw, weights, c->frame);
    for (int i = 0; i < c->npoint; i++) {
        const double *f = c->frame + 12 * (size_t)i, *rest = c->rest + 3 * (size_t)i;
        double y[3], *t = c->t + 3 * (size_t)i;
        fai_v3_load(c->x, i, y);
        if (!c->jaw) {
            fai_v3_sub(y, rest, t);
        } else {
            for (int k = 0; k < 3; k++) y[k] -= f[4 * k + 3];
            for (int k = 0; k < 3; k++) t[k] = f[k] * y[0] + f[4 + k] * y[1] + f[8 + k] * y[2] - rest[k];
        }
        if (!(c->weight[i] > 0)) fai_v3_set(t, 0, 0, 0);
    }
}

void fai_control_set_noise(FaControl *c, double noise) {
    c->noise = noise;
    c->metric_fresh = true;
}

void fai_control_set_ridge(FaControl *c, double ridge) {
    c->ridge = -ridge;
    c->metric_fresh = true;
}

double fai_control_noise_of(const FaControl *c, int point) {
    return c->trust[point] > 0 ? c->noise / (double)c->trust[point] : 0;
}

const FaSpread *fai_control_even_metric(FaControl *c, double noise) {
    if (!c->spread) return NULL;
    for (int i = 0; i < c->npoint; i++)
        c->noise_of[i] = c->trust[i] > 0 ? noise > 0 ? noise : fai_control_noise_of(c, i) : NAN;
    fai_spread_noise(c->spread, c->noise_of);
    c->metric_fresh = true;
    return c->spread;
}

// --- the jaw of the take ------------------------------------------------------------------------------------------

bool fai_control_has_jaw(const FaControl *c) { return c->jaw && c->jaw->nshape; }

void fai_control_set_jaw(FaControl *c, const double more[3]) {
    if (fai_control_has_jaw(c)) fai_jaw_set_more(c->jaw, more);
}

double fai_control_miss(FaControl *c, const FaMarkers *m, FaControlFrame *frame, double *miss) {
    fai_control_reset(c);
    if (!read_markers(c, m)) {
        memset(miss, 0, 3 * (size_t)c->npoint * sizeof *miss);
        return 0;
    }
    solve_shapes(c, frame);
    for (int i = 0; i < 3 * c->npoint; i++)
        miss[i] = sqrt((double)c->weight[i / 3]) * ((double)c->x[i] - (double)c->guess[i]);
    return fai_control_has_jaw(c) ? (double)frame->carried[c->jaw->shape[0]] : 0;
}

// --- arcs ---------------------------------------------------------------------------------------------------------

bool fai_control_has_arcs(const FaControl *c) { return c->arcs != NULL; }

void fai_control_set_arcs(FaControl *c, const double *gain) {
    for (int j = 0; j < c->rig->nshape; j++) c->arc_gain[j] = (float)gain[j];
}

void fai_control_arc_evidence(FaControl *c, const FaControlFrame *f, double *g, double *right) {
    int n = c->rig->nshape, row = 3 * c->npoint;
    fai_spread_coefficients(c->spread, c->r, c->q); // W r
    for (int j = 0; j < n; j++) {
        double wj = (double)fai_arc_weight(f->weights[j]);
        const double *a = c->arc_columns + (size_t)j * (size_t)row;
        if (fabs(wj) < 1e-3 || !c->arcs->rig.shape[j].count) continue;
        for (int k = 0; k < row; k++) right[j] += wj * a[k] * c->q[k];
        fai_spread_coefficients(c->spread, a, c->at); // W c_j
        for (int i = 0; i <= j; i++) {
            double wi = (double)fai_arc_weight(f->weights[i]), sum = 0;
            const double *b = c->arc_columns + (size_t)i * (size_t)row;
            if (fabs(wi) < 1e-3) continue;
            for (int k = 0; k < row; k++) sum += c->at[k] * b[k];
            g[(size_t)j * (size_t)n + (size_t)i] += wi * wj * sum;
            if (i != j) g[(size_t)i * (size_t)n + (size_t)j] += wi * wj * sum;
        }
    }
}

// --- commands -----------------------------------------------------------------------------------------------------

// The metric of the solve, where weights changed.
static void set_metric(FaControl *c) {
    bool changed = c->metric_fresh;
    for (int i = 0; i < c->npoint; i++) {
        bool usable = c->weight[i] > 0 && (!c->forces || c->skin[i].node[0] >= 0);
        c->metric_now[i] = usable ? (double)c->weight[i] : 0;
        c->noise_of[i] = usable ? c->noise / (double)c->weight[i] : NAN;
        changed |= c->metric_now[i] != c->metric[i];
        c->metric[i] = c->metric_now[i];
    }
    if (!changed) return;
    c->metric_fresh = false;
    if (c->spread) fai_spread_noise(c->spread, c->noise_of);
    fai_command_fit_metric(c->command, c->joint ? NULL : c->metric, c->joint ? fai_spread_metric(c->spread) : NULL,
                           c->ridge);
}

// The jaw's shapes are decided already.
static void set_bounds(FaControl *c, const float *carried) {
    for (int j = 0; j < c->rig->nshape; j++) {
        c->lo[j] = 0;
        c->hi[j] = c->use[j] ? INFINITY : 0;
        if (!c->use[j]) c->u[j] = 0;
    }
    for (int q = 0; c->jaw && q < c->jaw->nshape; q++) {
        int j = c->jaw->shape[q];
        c->lo[j] = c->hi[j] = c->u[j] = (double)carried[j];
    }
}

// What the arcs of these weights add at the points.
static void bow_points(FaControl *c, const float *weights) {
    size_t row = 3 * (size_t)c->npoint;
    memset(c->bow, 0, row * sizeof *c->bow);
    for (int j = 0; c->arcs && j < c->rig->nshape; j++) {
        double w = (double)(c->arc_gain[j] * fai_arc_weight(weights[j]));
        if (w == 0 || !c->arcs->rig.shape[j].count) continue;
        for (size_t k = 0; k < row; k++) c->bow[k] += w * c->arc_columns[(size_t)j * row + k];
    }
}

static void subtract(int n, const double *a, const double *b, double *out) {
    for (int i = 0; i < 3 * n; i++) out[i] = a[i] - b[i];
}

static void command_forces(FaControl *c, double stretch, FaControlFrame *out) {
    if (c->arcs) bow_points(c, out->weights);
    fai_forces_begin(c->forces, c->keep, stretch, c->literal);
    for (int pass = 0; pass < c->relinearise; pass++) {
        if (pass) fai_forces_relinearise(c->forces);
        fai_forces_points(c->forces, c->q);
        subtract(c->npoint, c->t, c->q, c->r);
        subtract(c->npoint, c->r, c->bow, c->r);
        fai_command_fit_solve(c->command, c->r, 0, c->lo, c->hi, c->u);
        fai_forces_apply(c->forces, c->u);
        memcpy(c->pass + (size_t)pass * (size_t)c->rig->nshape, c->u, (size_t)c->rig->nshape * sizeof *c->u);
    }
    fai_command_fit_points(c->command, c->u, c->at);
    subtract(c->npoint, c->r, c->at, c->r);
    fai_forces_end(c->forces);
    memcpy(out->d, fai_forces_now(c->forces), 4 * (size_t)c->face->nskin * sizeof *out->d);
}

// The same from commands that are known.
static void run_forces(FaControl *c, const double *commands, double keep, double stretch, FaControlFrame *out) {
    fai_forces_begin(c->forces, keep, stretch, c->literal);
    for (int pass = 0; pass < c->relinearise; pass++) {
        if (pass) fai_forces_relinearise(c->forces);
        fai_forces_apply(c->forces, commands + (size_t)pass * (size_t)c->rig->nshape);
    }
    fai_forces_end(c->forces);
    memcpy(out->d, fai_forces_now(c->forces), 4 * (size_t)c->face->nskin * sizeof *out->d);
}

static void command_shapes(FaControl *c, FaControlFrame *out) {
    // the arcs of the weights found so far are taken off the markers: a few rounds, as arcs are flat
    for (int round = 0; c->joint && round < (c->arcs ? ARC_ROUNDS : 1); round++) {
        if (c->arcs) bow_points(c, out->weights);
        subtract(c->npoint, c->t, c->bow, c->r);
        fai_command_fit_solve(c->command, c->r, 0, c->lo, c->hi, c->u);
        for (int j = 0; j < c->rig->nshape; j++) out->weights[j] = (float)c->u[j];
    }
    if (!c->joint)
        for (int j = 0; j < c->rig->nshape; j++) c->u[j] = (double)out->weights[j];
    fai_command_fit_points(c->command, c->u, c->at);
    if (c->arcs) bow_points(c, out->weights);
    for (int i = 0; i < 3 * c->npoint; i++) c->r[i] = c->t[i] - c->at[i] - c->bow[i];
}

// --- the residual -------------------------------------------------------------------------------------------------

static void measure(FaControl *c, FaControlFrame *out) {
    double before = 0, after = 0;
    int used = 0;
    if (c->residual) fai_spread_at_points(c->spread, out->coef, c->at);
    for (int i = 0; i < c->npoint; i++) {
        double d[3];
        if (!(c->weight[i] > 0)) continue;
        used++;
        before += fai_v3_norm(c->r + 3 * (size_t)i);
        memcpy(d, c->r + 3 * (size_t)i, sizeof d);
        if (c->residual) fai_v3_sub(d, c->at + 3 * (size_t)i, d);
        after += fai_v3_norm(d);
    }
    out->fit.before = used ? before / used : 0;
    out->fit.after = used ? after / used : 0;
}

// Markers a little off the skin turn with it: their offsets for the next frame, from this frame's skin without the
// residual.
static void turn_offsets(FaControl *c, const FaControlFrame *f) {
    if (!c->offsets) return;
    for (int i = 0; i < c->npoint; i++) {
        FaMarkerPoint p = c->map->point[c->place[i]];
        float x[9];
        double with[3], without[3], o[3];
        if (p.offset[0] == 0 && p.offset[1] == 0 && p.offset[2] == 0) continue;
        if (f->d && c->skin[i].node[0] < 0) continue;
        for (int k = 0; k < 9; k++) {
            x[k] = c->rig->mesh.x[3 * (size_t)p.vert[k / 3] + (size_t)(k % 3)];
            if (f->d) {
                x[k] += f->d[4 * (size_t)c->skin[i].node[k / 3] + (size_t)(k % 3)];
                continue;
            }
            for (int j = 0; j < c->rig->nshape; j++)
                if (c->u[j] != 0)
                    x[k] += (float)(c->u[j] * c->corner[9 * ((size_t)j * (size_t)c->npoint + (size_t)i) + (size_t)k]);
        }
        if (p.tri >= 0) {
            p.vert[0] = 0, p.vert[1] = 1, p.vert[2] = 2;
        } else {
            p.vert[0] = p.vert[1] = p.vert[2] = 0;
        }
        fa_marker_point_at(&p, x, true, with);
        fa_marker_point_at(&p, x, false, without);
        fai_v3_sub(with, without, o);
        const double *m = c->frame + 12 * (size_t)i;
        for (int k = 0; k < 3; k++)
            c->offset[3 * (size_t)i + (size_t)k] =
                (float)(c->jaw ? m[4 * k] * o[0] + m[4 * k + 1] * o[1] + m[4 * k + 2] * o[2] : o[k]);
    }
}

// --- a frame ------------------------------------------------------------------------------------------------------

// No marker: what there was relaxes.
static void hold(FaControl *c, double dt, double stretch, FaControlFrame *out) {
    double left = exp(-dt / EASE);
    int n = c->rig->nshape;
    for (int j = 0; j < n; j++) {
        out->weights[j] = (float)(left * (double)c->last[j]);
        c->u[j] *= left;
    }
    for (int q = 0; c->jaw && q < c->jaw->nshape; q++) c->u[c->jaw->shape[q]] = (double)out->weights[c->jaw->shape[q]];
    memcpy(out->carried, out->weights, (size_t)n * sizeof *out->carried);
    if (c->forces) {
        for (int p = 0; p < c->relinearise; p++)
            memcpy(c->pass + (size_t)p * (size_t)n, c->u, (size_t)n * sizeof *c->u);
        run_forces(c, c->pass, c->keep, stretch, out);
    }
    for (int i = 0; i < 3 * c->npoint; i++) out->coef[i] = left * c->last_coef[i];
    out->fit.held = 1;
}

// Advance to a time: the seconds since the last frame, and how many of the last frame's steps they are.
static double advance(FaControl *c, double time, double *stretch) {
    double dt = c->started ? time - c->time : 1 / c->fps;
    *stretch = c->started && c->step > 0 ? fmin(dt / c->step, 2) : 1;
    if (dt * c->fps > 8) *stretch = 0; // after a gap the old velocity says nothing
    c->step = dt;
    c->time = time;
    c->started = true;
    return dt;
}

void fai_control_replay(FaControl *c, const double *commands, double time, FaControlFrame *frame) {
    double stretch;
    advance(c, time, &stretch);
    run_forces(c, commands, c->keep, stretch, frame);
}

static FaCode check_time(const FaControl *c, double time, FaError *err) {
    if (isfinite(time) && (!c->started || time > c->time)) return FA_OK;
    return FA_FAIL(err, FA_E_ARG, FA_PLACE("%.6g s", time), "give frames in the order of their times",
                   "time does not increase");
}

static void remember(FaControl *c, const FaControlFrame *f) {
    memcpy(c->last, f->weights, (size_t)c->rig->nshape * sizeof *c->last);
    memcpy(c->last_coef, f->coef, 3 * (size_t)c->npoint * sizeof *c->last_coef);
}

FaCode fai_control_solve(FaControl *c, const FaMarkers *markers, double time, FaControlFrame *out, FaError *err) {
    FA_TRY(check_time(c, time, err));
    double start = fai_seconds(), stretch, dt = advance(c, time, &stretch);
    out->fit = (FaControlFit){0};
    int used = read_markers(c, markers);
    if (used) {
        solve_shapes(c, out);
        to_rest(c, out->carried);
        set_metric(c);
        set_bounds(c, out->carried);
        if (c->forces)
            command_forces(c, stretch, out);
        else
            command_shapes(c, out);
        for (int i = 0; i < c->npoint; i++)
            if (!(c->weight[i] > 0)) fai_v3_set(c->r + 3 * (size_t)i, 0, 0, 0);
        if (c->residual) fai_spread_coefficients(c->spread, c->r, out->coef);
        measure(c, out);
        turn_offsets(c, out);
    } else {
        hold(c, dt, stretch, out);
    }
    remember(c, out);
    out->fit.seconds = fai_seconds() - start;
    return used ? FA_OK : FA_CLAMPED;
}

void fai_control_predict(FaControl *c, const FaControlFrame *f, const double *coef, double *at) {
    for (int j = 0; !f->d && j < c->rig->nshape; j++) c->u[j] = (double)f->weights[j];
    if (!f->d) fai_command_fit_points(c->command, c->u, c->q);
    if (c->arcs) bow_points(c, f->weights);
    if (c->jaw) fai_jaw_point_frames(c->jaw, f->carried, c->frame);
    if (coef && c->residual) fai_spread_at_points(c->spread, coef, c->at);
    for (int i = 0; i < c->npoint; i++) {
        double y[3], *out = at + 3 * (size_t)i;
        const double *m = c->frame + 12 * (size_t)i;
        for (size_t k = 0; k < 3; k++) {
            y[k] = c->rest[3 * (size_t)i + k] + c->bow[3 * (size_t)i + k] + (f->d ? 0 : c->q[3 * (size_t)i + k]);
            for (int p = 0; p < 3 && f->d && c->skin[i].node[0] >= 0; p++)
                y[k] += (double)c->skin[i].bary[p] * (double)f->d[4 * (size_t)c->skin[i].node[p] + k];
            if (coef && c->residual) y[k] += c->at[3 * (size_t)i + k];
        }
        for (int k = 0; k < 3; k++)
            out[k] = (c->jaw ? m[4 * k] * y[0] + m[4 * k + 1] * y[1] + m[4 * k + 2] * y[2] + m[4 * k + 3] : y[k]) +
                     (double)c->offset[3 * (size_t)i + (size_t)k];
    }
}

// --- the surface --------------------------------------------------------------------------------------------------

typedef struct Compose {
    const FaControl *c;
    float *surface;
} Compose;

static void compose(void *ctx, int begin, int end, int chunk) {
    const Compose *s = ctx;
    const FaControl *c = s->c;
    const FaFace *f = c->face;
    (void)chunk;
    for (int v = begin; v < end; v++) {
        float *x = s->surface + 3 * (size_t)v;
        int node = f ? f->node_of_vertex[v] : -1;
        if (node >= 0) {
            for (size_t k = 0; k < 3; k++) x[k] += c->move[4 * (size_t)node + k];
        } else if (f && f->ride_node[3 * (size_t)v] >= 0) {
            for (size_t j = 0; j < 3; j++)
                for (size_t k = 0; k < 3; k++)
                    x[k] +=
                        f->ride_weight[3 * (size_t)v + j] * c->move[4 * (size_t)f->ride_node[3 * (size_t)v + j] + k];
        }
        for (size_t k = 0; c->arcs && k < 3; k++) x[k] += c->surface2[3 * (size_t)v + k];
        if (c->jaw) fai_jaw_apply(&c->table, c->jaw->belong[v], x, x);
    }
}

void fai_control_surface(FaControl *c, const FaControlFrame *frame, const double *coef, float *surface) {
    fa_blender_eval(c->blender, frame->weights, surface);
    if (c->face) {
        memset(c->move, 0, 4 * (size_t)c->face->nskin * sizeof *c->move);
        for (int i = 0; frame->d && i < c->face->nskin; i++) {
            const float *x0 = c->face->x0 + 3 * (size_t)i, *d = frame->d + 4 * (size_t)i;
            const float *now = surface + 3 * (size_t)c->face->skin_vertex[i];
            for (size_t k = 0; k < 3; k++) c->move[4 * (size_t)i + k] = d[k] - (now[k] - x0[k]);
        }
        if (c->residual && coef) fai_spread_add(c->spread, coef, c->move);
    }
    if (c->arcs) {
        for (int j = 0; j < c->rig->nshape; j++) c->arc_weight[j] = c->arc_gain[j] * fai_arc_weight(frame->weights[j]);
        fa_blender_eval(c->arc_blender, c->arc_weight, c->surface2);
    }
    if (c->jaw) fai_jaw_table(c->jaw, frame->carried, &c->table);
    fai_parallel(c->rig->mesh.nvert, 1024, compose, &(Compose){c, surface});
    if (c->jaw) fai_jaw_close(c->jaw, frame->carried, surface);
}

// Live: level and trend (g-h filter, critically damped): noise is averaged over some `smooth` frames, and a residual
// that changes steadily has no lag.
static void filter(FaControl *c, const double *coef) {
    double keep = c->smooth > 0 ? c->smooth / (1 + c->smooth) : 0, g = 1 - keep * keep, h = (1 - keep) * (1 - keep);
    for (int i = 0; i < 3 * c->npoint; i++) {
        if (!c->filtering) {
            c->level[i] = coef[i];
            c->trend[i] = 0;
            continue;
        }
        double guess = c->level[i] + c->trend[i], miss = coef[i] - guess;
        c->level[i] = guess + g * miss;
        c->trend[i] += h * miss;
    }
    c->filtering = true;
}

FaCode fai_control_step(FaControl *c, const FaMarkers *markers, double time, float *surface, float *weights,
                        FaControlFit *fit, FaError *err) {
    double start = fai_seconds();
    FaCode rc = fai_control_solve(c, markers, time, &c->own, err);
    if (rc < 0) return rc;
    filter(c, c->own.coef);
    fai_control_surface(c, &c->own, c->level, surface);
    if (weights) memcpy(weights, c->own.weights, (size_t)c->rig->nshape * sizeof *weights);
    c->own.fit.seconds = fai_seconds() - start;
    if (fit) *fit = c->own.fit;
    return rc;
}

// --- from weights -------------------------------------------------------------------------------------------------

// The forces keep steps of 1/fps of their own, c->time being the last one's end, so that a motion is the same however
// often inputs come:
//
//     input              from                              time
//     weights            was ------------- linear ---------- to
//     forces  ... -|- h -|-- h --|-- h --|-- h --|-- h --|...... the last h by the share of it that has passed
//
// d is linear in the commands, so that where the weights go on as they go, the end of that last step is known already.
static void lead(FaControl *c, double from, const float *was, double time, const float *to) {
    double h = 1 / c->fps, keep = pow(c->keep, USUAL_RATE * h), stretch;
    size_t n = (size_t)c->rig->nshape;
    if (time - c->time > LONGEST) c->time = time - LONGEST;
    while (c->time + (1 - SLACK) * h <= time) {
        double at = c->time + h, part = fmin(fmax((at - from) / (time - from), 0), 1);
        for (size_t j = 0; j < n; j++) c->u[j] = (double)was[j] + part * ((double)to[j] - (double)was[j]);
        for (int p = 0; p < c->relinearise; p++) memcpy(c->pass + (size_t)p * n, c->u, n * sizeof *c->u);
        advance(c, at, &stretch);
        run_forces(c, c->pass, keep, stretch, &c->own);
    }
    double part = (time - c->time) / h;
    if (part < SLACK) return fai_forces_at(c->forces, c->own.d);
    for (size_t j = 0; j < n; j++) c->pass[j] = c->u[j] + ((double)to[j] - c->u[j]) / part;
    stretch = c->step > 0 ? fmin(h / c->step, 2) : 1;
    fai_forces_between(c->forces, keep, stretch, c->literal, c->pass, part, c->own.d);
}

// What follows from weights that are known: the jaw, the surface; the residual of the last frame eases off.
static void show(FaControl *c, const float *weights, double dt, float *surface) {
    double left = exp(-dt / EASE);
    memcpy(c->own.weights, weights, (size_t)c->rig->nshape * sizeof *weights);
    memcpy(c->own.carried, weights, (size_t)c->rig->nshape * sizeof *weights);
    for (int i = 0; i < 3 * c->npoint; i++) c->own.coef[i] = left * c->last_coef[i];
    remember(c, &c->own);
    filter(c, c->own.coef);
    fai_control_surface(c, &c->own, c->level, surface);
}

FaCode fai_control_follow(FaControl *c, double from, const float *was, double time, const float *weights,
                          float *surface, FaError *err) {
    FA_TRY(check_time(c, time, err));
    c->own.fit = (FaControlFit){0};
    if (c->forces)
        lead(c, from, was, time, weights);
    else
        c->time = time;
    show(c, weights, time - from, surface);
    return FA_OK;
}

void fai_control_settle(FaControl *c, const float *weights, double time, float *surface) {
    double stretch;
    fai_control_reset(c);
    advance(c, time, &stretch);
    c->own.fit = (FaControlFit){0};
    for (int j = 0; j < c->rig->nshape; j++) c->u[j] = (double)weights[j];
    for (int p = 0; p < c->relinearise; p++)
        memcpy(c->pass + (size_t)p * (size_t)c->rig->nshape, c->u, (size_t)c->rig->nshape * sizeof *c->u);
    for (int i = 0; c->forces && i < SETTLE; i++) {
        run_forces(c, c->pass, c->keep, 1, &c->own);
        if (fai_forces_way(c->forces) < SETTLED) break;
    }
    if (c->forces) fai_forces_stop(c->forces);
    show(c, weights, 0, surface);
}

const float *fai_control_weights(const FaControl *c) { return c->last; }

// What is not here follows from the frame's input: metrics and their factors are those of the markers' weights, kept
// only so that they need not be made again.
void fai_control_stream(FaControl *c, FaStream *s) {
    size_t n = (size_t)c->rig->nshape, p = 3 * (size_t)c->npoint;
    fai_stream(s, &c->started, sizeof c->started);
    fai_stream(s, &c->filtering, sizeof c->filtering);
    fai_stream(s, &c->time, sizeof c->time);
    fai_stream(s, &c->step, sizeof c->step);
    fai_stream(s, c->last, n * sizeof *c->last);
    fai_stream(s, c->u, n * sizeof *c->u); // where the next solve starts
    fai_stream(s, c->last_coef, p * sizeof *c->last_coef);
    fai_stream(s, c->level, p * sizeof *c->level);
    fai_stream(s, c->trend, p * sizeof *c->trend);
    fai_stream(s, c->offset, p * sizeof *c->offset);
    fai_shape_solver_stream(c->shapes, s);
    if (c->forces) fai_forces_stream(c->forces, s);
}

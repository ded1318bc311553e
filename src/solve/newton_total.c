// Energy, gradient and second derivatives of everything: solid and damping (energy/solid.h), inertia, drag, force,
// springs, rows.
#include "solve/newton_work.h"

#include "base/task.h"

#include <math.h>

enum { NODES = 1024 };

typedef struct NodeJob {
    FaNewton *n;
    const double *x;
    double *g;    // nullable
    double *part; // energy and its terms' sizes, two per chunk
} NodeJob;

// Terms of single nodes; and rows of fixed nodes emptied.
static void node_terms(void *ctx, int begin, int end, int chunk) {
    const NodeJob *job = ctx;
    const FaNewton *n = job->n;
    const FaNewtonInput *in = n->in;
    const double *X = fai_solid_rest_x(in->rest);
    double sum = 0, size = 0;
    for (size_t v = (size_t)begin; v < (size_t)end; v++) {
        if (n->blocks->row[v] < 0) {
            if (job->g) job->g[3 * v] = job->g[3 * v + 1] = job->g[3 * v + 2] = 0;
            continue;
        }
        for (size_t k = 3 * v; k < 3 * v + 3; k++) {
            double g = 0;
            if (in->inertia > 0) {
                double gap = job->x[k] - in->y[k], pull = in->inertia * n->mass[v] * gap;
                sum += 0.5 * pull * gap, g += pull;
            }
            if (in->drag > 0) {
                double gap = job->x[k] - in->damping.from[k], pull = in->drag * n->mass[v] * gap;
                sum += 0.5 * pull * gap, g += pull;
            }
            if (in->force) {
                double work = in->force[k] * (job->x[k] - X[k]);
                sum -= work, size += fabs(work), g -= in->force[k];
            }
            if (job->g) job->g[k] += g;
        }
    }
    job->part[2 * chunk] = sum;
    job->part[2 * chunk + 1] = size;
}

static double spring_term(const FaSpring *s, const double *x, double *g) {
    double gap[3], along = 0;
    for (int k = 0; k < 3; k++) gap[k] = x[k] - s->to[k], along += s->normal[k] * gap[k];
    bool plane = s->normal[0] != 0 || s->normal[1] != 0 || s->normal[2] != 0;
    double square = plane ? along * along : gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2];
    for (int k = 0; g && k < 3; k++) g[k] += s->stiffness * (plane ? along * s->normal[k] : gap[k]);
    return 0.5 * s->stiffness * square;
}

// s(u) of a row.
static void row_value(const FaRow *row, const double *x, const double *base, double s[3]) {
    for (int k = 0; k < 3; k++) s[k] = (double)row->offset[k];
    for (int j = 0; j < 4; j++)
        if (row->node[j] >= 0)
            for (int k = 0; k < 3; k++) {
                size_t at = 3 * (size_t)row->node[j] + (size_t)k;
                s[k] += (double)row->weight[j] * (x[at] - base[at]);
            }
}

// What a row of stiffness 1 pushes with at a depth, N/m * m; its energy and the share of the stiffness that acts.
static double push_of(double depth, double soft, double *energy, float *share) {
    if (depth < soft) {
        *energy = depth * depth * depth / (6 * soft);
        *share = (float)(depth / soft);
        return 0.5 * depth * depth / soft;
    }
    double past = depth - 0.5 * soft;
    *energy = 0.5 * past * past + soft * soft / 24;
    *share = 1;
    return past;
}

// Friction of a row at s: its energy, what it adds to the pull, how it acts.
static double friction_of(const FaRow *row, const double s[3], double pull[3], FaRowAct *act) {
    double most = (double)row->friction, slip = (double)row->slip, t[3], n[3], size = 0, away = 0;
    for (int k = 0; k < 3; k++) n[k] = (double)row->normal[k], t[k] = s[k] - (double)row->stick[k], away += n[k] * t[k];
    for (int k = 0; k < 3; k++) t[k] -= away * n[k], size += t[k] * t[k];
    size = sqrt(size);
    double y = size / slip, across = y < 1 ? most * (2 - y) / slip : most / size;
    for (int k = 0; k < 3; k++) {
        pull[k] += across * t[k];
        if (act) act->way[k] = size > 0 ? (float)(t[k] / size) : 0;
    }
    if (act) act->across = (float)across, act->along = y < 1 ? (float)(2 * most * (1 - y) / slip) : 0;
    return most * slip * (y < 1 ? y * y * (1 - y / 3) : y - 1.0 / 3);
}

static double row_term(const FaNewton *n, const FaRow *row, const double *x, double *g, FaRowAct *act) {
    double s[3], pull[3] = {0}, energy = 0, k = (double)row->stiffness;
    row_value(row, x, n->in->row_base, s);
    float share = 1;
    bool rubs = row->friction > 0;
    if (act) *act = (FaRowAct){0};
    if (row->kind == FA_ROW_PUSH) {
        double depth = (double)row->gap -
                       ((double)row->normal[0] * s[0] + (double)row->normal[1] * s[1] + (double)row->normal[2] * s[2]);
        if (!(depth > 0) && !rubs) return 0;
        if (depth > 0) {
            double push = push_of(depth, (double)row->soft, &energy, &share);
            energy *= k;
            for (int i = 0; i < 3; i++) pull[i] = -k * push * (double)row->normal[i];
        } else {
            share = 0;
        }
        if (rubs) energy += friction_of(row, s, pull, act);
    } else {
        for (int i = 0; i < 3; i++) pull[i] = k * s[i], energy += 0.5 * pull[i] * s[i];
    }
    if (act) act->share = share;
    for (int j = 0; g && j < 4; j++)
        if (row->node[j] >= 0 && n->blocks->row[row->node[j]] >= 0)
            for (int i = 0; i < 3; i++) g[3 * (size_t)row->node[j] + (size_t)i] += (double)row->weight[j] * pull[i];
    return energy;
}

double fai_newton_total(FaNewton *n, const double *x, double *g, FaRowAct *active, double *scale) {
    const FaNewtonInput *in = n->in;
    double sum = fai_solid_energy(in->rest, x, in->damping.share > 0 ? &in->damping : NULL, g), size = sum;
    NodeJob job = {n, x, g, n->part};
    fai_parallel(n->nnode, NODES, node_terms, &job);
    for (int c = 0; c < fai_chunks(n->nnode, NODES); c++) {
        sum += n->part[2 * c];
        size += n->part[2 * c + 1] + fabs(n->part[2 * c]);
    }
    for (int i = 0; i < in->nspring; i++) {
        const FaSpring *s = &in->spring[i];
        if (n->blocks->row[s->node] < 0) continue;
        double e = spring_term(s, x + 3 * (size_t)s->node, g ? g + 3 * (size_t)s->node : NULL);
        sum += e, size += e;
    }
    for (int i = 0; i < in->nrow; i++) {
        double e = row_term(n, &in->row[i], x, g, active ? active + i : NULL);
        sum += e, size += e;
    }
    if (scale) *scale = size;
    return sum;
}

double fai_newton_norm(const FaNewton *n, const double *g, float *field) {
    double sum = 0;
    for (int i = 0; i < n->nfree; i++) {
        const double *from = g + 3 * (size_t)n->blocks->node[i];
        sum += from[0] * from[0] + from[1] * from[1] + from[2] * from[2];
        if (field)
            for (int k = 0; k < 3; k++) field[4 * (size_t)i + (size_t)k] = (float)from[k];
    }
    return sqrt(sum);
}

// --- second derivatives -------------------------------------------------------------------------------------------

static void add_rows(FaNewton *n) {
    for (int i = 0; i < n->in->nrow; i++) {
        const FaRow *row = &n->in->row[i];
        const FaRowAct *act = &n->active[i];
        if (!(act->share > 0) && !(act->across > 0)) continue;
        for (int j = 0; j < 4; j++) {
            int r = row->node[j] >= 0 ? n->blocks->row[row->node[j]] : -1;
            if (r < 0) continue;
            double k = (double)(act->share * row->stiffness) * (double)row->weight[j] * (double)row->weight[j], m[9];
            for (int a = 0; a < 9; a++)
                m[a] = row->kind == FA_ROW_PUSH ? k * (double)row->normal[a / 3] * (double)row->normal[a % 3]
                       : a % 4 == 0             ? k
                                                : 0;
            double square = (double)row->weight[j] * (double)row->weight[j];
            for (int a = 0; a < 9 && act->across > 0; a++)
                m[a] +=
                    square *
                    ((double)act->across * ((a % 4 == 0) - (double)row->normal[a / 3] * (double)row->normal[a % 3]) +
                     (double)(act->along - act->across) * (double)act->way[a / 3] * (double)act->way[a % 3]);
            fai_blocks_add_diagonal(n->blocks, r, m);
        }
    }
}

void fai_newton_second(FaNewton *n, FaSolidHessian kind) {
    const FaNewtonInput *in = n->in;
    double before = fai_seconds();
    int changed = fai_solid_hessian(in->rest, n->x, in->damping.share > 0 ? &in->damping : NULL, kind, n->blocks);
    n->report->projected = FA_MAX(n->report->projected, changed);
    n->report->hessians++;
    n->hessian = kind;
    double heavy = in->inertia + in->drag + n->proximal;
    for (int i = 0; heavy > 0 && i < n->nfree; i++) {
        double m = heavy * (n->mass ? n->mass[n->blocks->node[i]] : n->mass_mean);
        float *to = n->blocks->val + 9 * (size_t)n->blocks->diagonal[i];
        for (int k = 0; k < 3; k++) to[4 * k] += (float)m;
    }
    for (int i = 0; i < in->nspring; i++) {
        const FaSpring *s = &in->spring[i];
        if (n->blocks->row[s->node] < 0) continue;
        bool plane = s->normal[0] != 0 || s->normal[1] != 0 || s->normal[2] != 0;
        double m[9];
        for (int a = 0; a < 9; a++) m[a] = s->stiffness * (plane ? s->normal[a / 3] * s->normal[a % 3] : a % 4 == 0);
        fai_blocks_add_diagonal(n->blocks, n->blocks->row[s->node], m);
    }
    if (n->options.kind != FA_NEWTON_PCG) add_rows(n);
    n->report->seconds_hessian += fai_seconds() - before;
}

// The diagonal blocks of rows are in the matrix, what couples two nodes is added here; PCG: all of it, so that other
// rows may act while the blocks stay.
void fai_newton_mul(const FaNewton *n, const float *x, float *y) {
    fai_blocks_mul(n->blocks, x, y);
    float within = n->options.kind == FA_NEWTON_PCG ? 0 : 1;
    for (int i = 0; i < n->in->nrow; i++) {
        const FaRow *row = &n->in->row[i];
        const FaRowAct *act = &n->active[i];
        if (!(act->share > 0) && !(act->across > 0)) continue;
        float s[3] = {0};
        int r[4];
        for (int j = 0; j < 4; j++) {
            r[j] = row->node[j] >= 0 ? n->blocks->row[row->node[j]] : -1;
            for (int k = 0; r[j] >= 0 && k < 3; k++) s[k] += row->weight[j] * x[4 * (size_t)r[j] + (size_t)k];
        }
        for (int j = 0; j < 4; j++) {
            if (r[j] < 0) continue;
            float t[3], along, *to = y + 4 * (size_t)r[j];
            for (int k = 0; k < 3; k++) t[k] = s[k] - within * row->weight[j] * x[4 * (size_t)r[j] + (size_t)k];
            along = row->normal[0] * t[0] + row->normal[1] * t[1] + row->normal[2] * t[2];
            float f = act->share * row->stiffness * row->weight[j];
            for (int k = 0; k < 3; k++) to[k] += row->kind == FA_ROW_PUSH ? f * along * row->normal[k] : f * t[k];
            if (!(act->across > 0)) continue;
            float on = act->way[0] * t[0] + act->way[1] * t[1] + act->way[2] * t[2];
            for (int k = 0; k < 3; k++)
                to[k] += row->weight[j] * (act->across * (t[k] - along * row->normal[k]) +
                                           (act->along - act->across) * on * act->way[k]);
        }
    }
}

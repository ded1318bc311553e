// The terms that Newton brings itself, in the order of their sums: the solid with its damping (energy/solid.h); then
// those of the caller; inertia, drag and force, node by node; springs; rows.
//
// The order is part of the result: sums are taken one after another, so another order has other last bits.
#include "solve/newton_work.h"

#include "base/task.h"

#include <math.h>

enum { NODES = 1024 };

// --- solid and damping --------------------------------------------------------------------------------------------

static const FaSolidDamping *damping_of(const FaNewton *n) { return n->in->damping.share > 0 ? &n->in->damping : NULL; }

static void solid_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    const FaNewton *n = self;
    double e = fai_solid_energy(n->in->rest, x, damping_of(n), g);
    sum->energy += e, sum->size += e;
}

static int solid_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    const FaNewton *n = self;
    return fai_solid_hessian(n->in->rest, x, damping_of(n), kind, blocks);
}

static void solid_product(void *self, const double *x, const double *p, double *y) {
    const FaNewton *n = self;
    fai_solid_product(n->in->rest, x, damping_of(n), p, y);
}

static void solid_count(void *self, const double *x, FaTermCount *count) {
    const FaNewton *n = self;
    if (!n->options.brief) count->inverted += fai_solid_inverted(n->in->rest, x);
}

// --- inertia, drag, force -----------------------------------------------------------------------------------------

typedef struct NodeJob {
    FaNewton *n;
    const double *x;
    double *g;    // nullable
    double *part; // energy and its terms' sizes, two per chunk
} NodeJob;

// And rows of fixed nodes emptied, of what came before; springs and rows leave them out.
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

static void node_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    FaNewton *n = self;
    NodeJob job = {n, x, g, n->part};
    fai_parallel(n->nnode, NODES, node_terms, &job);
    for (int c = 0; c < fai_chunks(n->nnode, NODES); c++) {
        sum->energy += n->part[2 * c];
        sum->size += n->part[2 * c + 1] + fabs(n->part[2 * c]);
    }
}

// And the proximal mass, which only bends the direction.
static int node_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    (void)x, (void)kind;
    const FaNewton *n = self;
    double heavy = n->in->inertia + n->in->drag + n->proximal;
    for (int i = 0; heavy > 0 && i < n->nfree; i++) {
        double m = heavy * (n->mass ? n->mass[blocks->node[i]] : n->mass_mean);
        float *to = blocks->val + 9 * (size_t)blocks->diagonal[i];
        for (int k = 0; k < 3; k++) to[4 * k] += (float)m;
    }
    return -1;
}

static void node_product(void *self, const double *x, const double *p, double *y) {
    (void)x;
    const FaNewton *n = self;
    double heavy = n->in->inertia + n->in->drag;
    for (size_t v = 0; v < (size_t)n->nnode; v++)
        for (size_t k = 3 * v; k < 3 * v + 3; k++)
            y[k] = n->blocks->row[v] < 0 ? 0 : y[k] + (heavy > 0 ? heavy * n->mass[v] * p[k] : 0);
}

// --- springs ------------------------------------------------------------------------------------------------------

static bool on_plane(const FaSpring *s) { return s->normal[0] != 0 || s->normal[1] != 0 || s->normal[2] != 0; }

static double one_spring(const FaSpring *s, const double *x, double *g) {
    double gap[3], along = 0;
    for (int k = 0; k < 3; k++) gap[k] = x[k] - s->to[k], along += s->normal[k] * gap[k];
    bool plane = on_plane(s);
    if (s->one_sided && along >= 0) return 0;
    double square = plane ? along * along : gap[0] * gap[0] + gap[1] * gap[1] + gap[2] * gap[2];
    for (int k = 0; g && k < 3; k++) g[k] += s->stiffness * (plane ? along * s->normal[k] : gap[k]);
    return 0.5 * s->stiffness * square;
}

static void spring_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    const FaNewton *n = self;
    for (int i = 0; i < n->in->nspring; i++) {
        const FaSpring *s = &n->in->spring[i];
        if (n->blocks->row[s->node] < 0) continue;
        double e = one_spring(s, x + 3 * (size_t)s->node, g ? g + 3 * (size_t)s->node : NULL);
        sum->energy += e, sum->size += e;
    }
}

// At x, of its node.
static void spring_matrix(const FaSpring *s, const double *x, double m[9]) {
    bool plane = on_plane(s);
    double along = 0;
    for (int k = 0; k < 3; k++) along += s->normal[k] * (x[k] - s->to[k]);
    double stiffness = s->one_sided && along >= 0 ? 0 : s->stiffness;
    for (int a = 0; a < 9; a++) m[a] = stiffness * (plane ? s->normal[a / 3] * s->normal[a % 3] : a % 4 == 0);
}

static int spring_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    (void)kind;
    const FaNewton *n = self;
    for (int i = 0; i < n->in->nspring; i++) {
        const FaSpring *s = &n->in->spring[i];
        if (blocks->row[s->node] < 0) continue;
        double m[9];
        spring_matrix(s, x + 3 * (size_t)s->node, m);
        fai_blocks_add_diagonal(blocks, blocks->row[s->node], m);
    }
    return -1;
}

static void spring_product(void *self, const double *x, const double *p, double *y) {
    const FaNewton *n = self;
    for (int i = 0; i < n->in->nspring; i++) {
        const FaSpring *s = &n->in->spring[i];
        if (n->blocks->row[s->node] < 0) continue;
        double m[9];
        spring_matrix(s, x + 3 * (size_t)s->node, m);
        const double *from = p + 3 * (size_t)s->node;
        for (int k = 0; k < 3; k++)
            y[3 * (size_t)s->node + (size_t)k] += m[3 * k] * from[0] + m[3 * k + 1] * from[1] + m[3 * k + 2] * from[2];
    }
}

// --- rows ---------------------------------------------------------------------------------------------------------

// Second derivatives of a row: share k n n' (PULL: share k) + across (1 - n n') + (along - across) way way'.
typedef struct RowCurve {
    double share;         // of its stiffness
    double across, along; // N/m: of friction
    double way[3];        // unit, of the slip
} RowCurve;

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
static double push_of(double depth, double soft, double *energy, double *share) {
    if (depth < soft) {
        *energy = depth * depth * depth / (6 * soft);
        *share = depth / soft;
        return 0.5 * depth * depth / soft;
    }
    double past = depth - 0.5 * soft;
    *energy = 0.5 * past * past + soft * soft / 24;
    *share = 1;
    return past;
}

// Friction of a row at s: its energy, what it adds to the pull, how it bends.
static double friction_of(const FaRow *row, const double s[3], double pull[3], RowCurve *curve) {
    double most = (double)row->friction, slip = (double)row->slip, t[3], n[3], size = 0, away = 0;
    for (int k = 0; k < 3; k++) n[k] = (double)row->normal[k], t[k] = s[k] - (double)row->stick[k], away += n[k] * t[k];
    for (int k = 0; k < 3; k++) t[k] -= away * n[k], size += t[k] * t[k];
    size = sqrt(size);
    double y = size / slip, across = y < 1 ? most * (2 - y) / slip : most / size;
    for (int k = 0; k < 3; k++) {
        pull[k] += across * t[k];
        curve->way[k] = size > 0 ? t[k] / size : 0;
    }
    curve->across = across, curve->along = y < 1 ? 2 * most * (1 - y) / slip : 0;
    return most * slip * (y < 1 ? y * y * (1 - y / 3) : y - 1.0 / 3);
}

// A row at x: energy, force on s, second derivatives. False: it is idle, all of them 0.
static bool row_at(const FaNewton *n, const FaRow *row, const double *x, double *energy, double pull[3],
                   RowCurve *curve) {
    double s[3], k = (double)row->stiffness;
    row_value(row, x, n->in->row_base, s);
    *curve = (RowCurve){.share = 1};
    *energy = pull[0] = pull[1] = pull[2] = 0;
    if (row->kind == FA_ROW_PULL) {
        for (int i = 0; i < 3; i++) pull[i] = k * s[i], *energy += 0.5 * pull[i] * s[i];
        return true;
    }
    bool rubs = row->friction > 0;
    double depth = (double)row->gap -
                   ((double)row->normal[0] * s[0] + (double)row->normal[1] * s[1] + (double)row->normal[2] * s[2]);
    if (depth > 0) {
        double push = push_of(depth, (double)row->soft, energy, &curve->share);
        *energy *= k;
        for (int i = 0; i < 3; i++) pull[i] = -k * push * (double)row->normal[i];
    } else {
        curve->share = 0;
    }
    if (rubs) *energy += friction_of(row, s, pull, curve);
    return depth > 0 || rubs;
}

static void row_energy(void *self, const double *x, double *g, FaTermSum *sum) {
    FaNewton *n = self;
    for (int i = 0; i < n->in->nrow; i++) {
        const FaRow *row = &n->in->row[i];
        double e, pull[3];
        RowCurve curve;
        bool busy = row_at(n, row, x, &e, pull, &curve);
        FaRowAct *act = &n->active_next[i];
        *act = (FaRowAct){(float)curve.share, (float)curve.across, (float)curve.along, {0}};
        for (int k = 0; k < 3; k++) act->way[k] = (float)curve.way[k];
        sum->energy += e, sum->size += e;
        for (int j = 0; busy && g && j < 4; j++)
            if (row->node[j] >= 0 && n->blocks->row[row->node[j]] >= 0)
                for (int k = 0; k < 3; k++) g[3 * (size_t)row->node[j] + (size_t)k] += (double)row->weight[j] * pull[k];
    }
}

static void row_accept(void *self) {
    FaNewton *n = self;
    FaRowAct *active = n->active;
    n->active = n->active_next, n->active_next = active;
}

static bool row_acts(const FaRowAct *act) { return act->share > 0 || act->across > 0; }

static bool rows_act(void *self) {
    const FaNewton *n = self;
    for (int i = 0; i < n->in->nrow; i++)
        if (row_acts(&n->active[i])) return true;
    return false;
}

// The diagonal blocks of rows are in the matrix, what couples two nodes is outside; PCG: all of it, so that other rows
// may act while the blocks stay.
static int row_second(void *self, const double *x, FaSolidHessian kind, FaBlocks *blocks) {
    (void)x, (void)kind;
    const FaNewton *n = self;
    if (n->options.kind == FA_NEWTON_PCG) return -1;
    for (int i = 0; i < n->in->nrow; i++) {
        const FaRow *row = &n->in->row[i];
        const FaRowAct *act = &n->active[i];
        if (!row_acts(act)) continue;
        for (int j = 0; j < 4; j++) {
            int r = row->node[j] >= 0 ? blocks->row[row->node[j]] : -1;
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
            fai_blocks_add_diagonal(blocks, r, m);
        }
    }
    return -1;
}

static void row_outside(void *self, const FaBlocks *blocks, const float *x, float *y) {
    const FaNewton *n = self;
    float within = n->options.kind == FA_NEWTON_PCG ? 0 : 1;
    for (int i = 0; i < n->in->nrow; i++) {
        const FaRow *row = &n->in->row[i];
        const FaRowAct *act = &n->active[i];
        if (!row_acts(act)) continue;
        float s[3] = {0};
        int r[4];
        for (int j = 0; j < 4; j++) {
            r[j] = row->node[j] >= 0 ? blocks->row[row->node[j]] : -1;
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

static void row_product(void *self, const double *x, const double *p, double *y) {
    const FaNewton *n = self;
    for (int i = 0; i < n->in->nrow; i++) {
        const FaRow *row = &n->in->row[i];
        double e, pull[3], s[3] = {0}, away = 0, on = 0, k = (double)row->stiffness;
        RowCurve curve;
        if (!row_at(n, row, x, &e, pull, &curve)) continue;
        for (int j = 0; j < 4; j++)
            for (int a = 0; row->node[j] >= 0 && a < 3; a++)
                s[a] += (double)row->weight[j] * p[3 * (size_t)row->node[j] + (size_t)a];
        for (int a = 0; a < 3; a++) away += (double)row->normal[a] * s[a], on += curve.way[a] * s[a];
        for (int a = 0; a < 3; a++) {
            double normal = (double)row->normal[a];
            pull[a] = curve.share * k * (row->kind == FA_ROW_PUSH ? away * normal : s[a]) +
                      curve.across * (s[a] - away * normal) + (curve.along - curve.across) * on * curve.way[a];
        }
        for (int j = 0; j < 4; j++)
            for (int a = 0; row->node[j] >= 0 && n->blocks->row[row->node[j]] >= 0 && a < 3; a++)
                y[3 * (size_t)row->node[j] + (size_t)a] += (double)row->weight[j] * pull[a];
    }
}

static void row_count(void *self, const double *x, FaTermCount *count) {
    (void)x;
    const FaNewton *n = self;
    for (int i = 0; i < n->in->nrow; i++) count->active += n->active[i].share > 0;
}

// --- the list -----------------------------------------------------------------------------------------------------

FaCode fai_newton_terms(FaNewton *n, int nterm, const FaTerm *term, FaError *err) {
    const FaTerm solid = {.name = "solid",
                          .self = n,
                          .curve = FA_TERM_PROJECTED,
                          .stores = true,
                          .energy = solid_energy,
                          .second = solid_second,
                          .product = solid_product,
                          .count = solid_count};
    const FaTerm last[] = {
        {.name = "nodes", .self = n, .energy = node_energy, .second = node_second, .product = node_product},
        {.name = "springs", .self = n, .energy = spring_energy, .second = spring_second, .product = spring_product},
        {.name = "rows",
         .self = n,
         .energy = row_energy,
         .accept = row_accept,
         .second = row_second,
         .outside = row_outside,
         .acts = rows_act,
         .product = row_product,
         .count = row_count}};
    for (int i = 0; i < nterm; i++)
        if (!term[i].name || !term[i].energy || !(term[i].second || term[i].outside) || term[i].stores)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("term %d", i),
                           "give it a name, an energy, second derivatives, and let it add", "a term that is not whole");
    n->term = FA_PUSH(n->arena, (size_t)nterm + 1 + FA_COUNT(last), FaTerm);
    if (!n->term) return FA_FAIL_MEMORY(err);
    n->term[n->nterm++] = solid;
    for (int i = 0; i < nterm; i++) n->term[n->nterm++] = term[i];
    for (int i = 0; i < FA_COUNT(last); i++) n->term[n->nterm++] = last[i];
    return FA_OK;
}

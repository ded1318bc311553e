// Based on: [NW06] Nocedal, Wright, Numerical Optimization, 2006, section 16.5 (primal active sets for convex
// programs), here with bounds only, so that a working set is a list of variables off their bounds.
//
// Why this cannot cycle. After descend() the gradient is 0 on the list. A variable j that enters is the only one with a
// gradient, so the Newton direction d = -H^-1 g has d_j of the improving sign, whatever else is in the list. A step
// that is blocked, even at length 0 (degenerate), takes the blocking variable off the list and keeps that property; so
// there are at most as many blocked steps as variables, and the last step is full and lowers the objective. In floating
// point the same is enforced: a variable that comes back without progress is set aside, later ones are taken in order
// (Bland), and the work is bounded.
#include "math/nnls.h"

#include "math/dense.h"

#include <math.h>

typedef enum Place { AT_LO, AT_HI, AT_REST, INSIDE, FIXED } Place; // AT_REST: no finite bound, not in the list, x = 0

struct FaNnls {
    int max, n, p;
    double *l;          // Cholesky factor of G over the list, lower triangle, row-major       (max x max)
    int *list;          // variables off their bounds, in the order of the factor              (p)
    int *where;         // position in the list, -1: not in it                                 (n)
    signed char *place; // Place of each                                                  (n)
    signed char *aside; // times a variable entered without progress                      (n)
    double *c;          // f - l1                                                              (n)
    double *lo, *hi, *scale, *grad, *dir, *row, *turn; // scale: 1/sqrt(G_jj); turn: 2 max
    const double *g;
    int stride;
    double size; // what gradients are compared with
    int steps, limit;
    int indefinite; // variable where a negative pivot was seen, -1
};

FaCode fai_nnls_new(int max, FaNnls **work, FaError *err) {
    *work = NULL;
    if (max < 0 || max > 20000)
        return FA_FAIL(err, FA_E_ARG, NULL, "ask for 0 to 20000 variables", "%d variables cannot be solved for", max);
    FaNnls *w = FA_NEW(1, FaNnls);
    if (!w) return FA_FAIL_MEMORY(err);
    size_t m = (size_t)max;
    w->max = max;
    w->l = FA_NEW(m * m, double);
    w->c = FA_NEW(9 * m, double); // turn is the last, 2 m
    w->list = FA_NEW(2 * m, int);
    w->place = FA_NEW(2 * m, signed char);
    if (!w->l || !w->c || !w->list || !w->place) {
        fai_nnls_free(w);
        return FA_FAIL_MEMORY(err);
    }
    w->where = w->list + m;
    w->aside = w->place + m;
    double **part[] = {&w->lo, &w->hi, &w->scale, &w->grad, &w->dir, &w->row, &w->turn};
    for (int i = 0; i < FA_COUNT(part); i++) *part[i] = w->c + (size_t)(i + 1) * m;
    *work = w;
    return FA_OK;
}

void fai_nnls_free(FaNnls *w) {
    if (!w) return;
    fa_free(w->l);
    fa_free(w->c);
    fa_free(w->list);
    fa_free(w->place);
    fa_free(w);
}

const char *fai_nnls_text(FaNnlsStatus status) {
    switch (status) {
    case FA_NNLS_OK: return "solved";
    case FA_NNLS_LIMIT: return "stopped early: the work was bounded, or rounding stops progress";
    case FA_NNLS_UNBOUNDED: return "unbounded: nothing holds a variable back";
    case FA_NNLS_INDEFINITE: return "the matrix is not positive semi-definite";
    case FA_NNLS_BAD_BOUNDS: return "a lower bound exceeds its upper bound";
    case FA_NNLS_BAD_NUMBER: return "a number is not finite, or the l1 weight is negative";
    }
    return "unknown";
}

// --- the factor ---------------------------------------------------------------------------------------------------

static void axpy(double s, const double *a, int n, double *restrict y) {
    for (int i = 0; i < n; i++) y[i] += s * a[i];
}

// y = L^-1 y, then y = L'^-1 y
static void forward(const FaNnls *w, double *y) {
    for (int i = 0; i < w->p; i++) {
        const double *row = w->l + (size_t)i * (size_t)w->max;
        y[i] = (y[i] - fai_dot_n(row, y, i)) / row[i];
    }
}

static void backward(const FaNnls *w, double *y) {
    for (int i = w->p; i-- > 0;) {
        const double *row = w->l + (size_t)i * (size_t)w->max;
        y[i] /= row[i];
        axpy(-y[i], row, i, y);
    }
}

// Append variable j to the list. False if it depends on the list: row then holds L^-1 G_Pj.
static bool append(FaNnls *w, int j) {
    const double *g = w->g + (size_t)j * (size_t)w->stride;
    for (int i = 0; i < w->p; i++) w->row[i] = g[w->list[i]];
    forward(w, w->row);
    double pivot = g[j] - fai_dot_n(w->row, w->row, w->p);
    if (pivot < -1e-9 * fabs(g[j]) && w->indefinite < 0) w->indefinite = j;
    if (!(pivot > 8 * 2.3e-16 * (w->p + 2) * g[j])) return false;
    double *row = w->l + (size_t)w->p * (size_t)w->max;
    memcpy(row, w->row, (size_t)w->p * sizeof *row);
    row[w->p] = sqrt(pivot);
    w->where[j] = w->p;
    w->list[w->p++] = j;
    w->place[j] = INSIDE;
    return true;
}

// Take position k off the list: rows move up, Givens rotations bring the factor back to a triangle.
static void take_off(FaNnls *w, int k, Place place) {
    int gone = w->list[k];
    w->where[gone] = -1;
    w->place[gone] = (signed char)place;
    for (int i = k + 1; i < w->p; i++) {
        double *to = w->l + (size_t)(i - 1) * (size_t)w->max;
        memcpy(to, to + w->max, (size_t)(i + 1) * sizeof *to);
        w->list[i - 1] = w->list[i];
        w->where[w->list[i - 1]] = i - 1;
    }
    w->p--;
    for (int i = k; i < w->p; i++) {
        double *row = w->l + (size_t)i * (size_t)w->max;
        for (int q = k; q < i; q++) {
            double c = w->turn[2 * q], s = w->turn[2 * q + 1], a = row[q], b = row[q + 1];
            row[q] = c * a + s * b;
            row[q + 1] = c * b - s * a;
        }
        double a = row[i], b = row[i + 1], r = sqrt(a * a + b * b);
        w->turn[2 * i] = a / r;
        w->turn[2 * i + 1] = b / r;
        row[i] = r;
    }
}

// --- places -------------------------------------------------------------------------------------------------------

static void put_on_bound(FaNnls *w, int j, double *x) {
    bool low = isfinite(w->lo[j]), high = isfinite(w->hi[j]);
    if (w->lo[j] == w->hi[j])
        w->place[j] = FIXED;
    else if (low && (!high || x[j] - w->lo[j] <= w->hi[j] - x[j]))
        w->place[j] = AT_LO;
    else
        w->place[j] = high ? AT_HI : AT_REST;
    x[j] = w->place[j] == AT_HI ? w->hi[j] : w->place[j] == AT_REST ? 0 : w->lo[j];
}

// The list and its factor from where x stands; variables that depend on earlier ones go to a bound.
static void start(FaNnls *w, double *x) {
    w->p = 0;
    for (int j = 0; j < w->n; j++) {
        w->where[j] = -1;
        if (!isfinite(x[j])) x[j] = 0;
        x[j] = fmin(fmax(x[j], w->lo[j]), w->hi[j]);
        bool inside = x[j] > w->lo[j] && x[j] < w->hi[j] && (x[j] != 0 || isfinite(w->lo[j]) || isfinite(w->hi[j]));
        if (!inside || !append(w, j)) put_on_bound(w, j, x);
    }
}

static void gradient(FaNnls *w, const double *x) {
    for (int j = 0; j < w->n; j++) w->grad[j] = -w->c[j];
    for (int j = 0; j < w->n; j++)
        if (x[j] != 0) axpy(x[j], w->g + (size_t)j * (size_t)w->stride, w->n, w->grad);
}

// Gradients that are rounding: of the goal, and of the sums that made them.
static double noise(const FaNnls *w, const double *x) {
    double sum = 0;
    for (int j = 0; j < w->n; j++) sum += fabs(x[j]) / w->scale[j];
    return 1e-12 * w->size + 1e-15 * sum;
}

// Move along dir (by list position) by at most `most`; extra (-1: none) is a variable outside the list that moves by
// way. Returns the position that blocks, p for extra, -1 for none; *length is what was moved.
static int move(FaNnls *w, double *x, double most, int extra, double way, double *length) {
    double best = most;
    int block = -1;
    for (int i = 0; i <= w->p; i++) {
        if (i == w->p && extra < 0) break;
        int j = i < w->p ? w->list[i] : extra;
        double d = i < w->p ? w->dir[i] : way;
        if (d == 0) continue;
        double room = fmax((d > 0 ? w->hi[j] - x[j] : w->lo[j] - x[j]) / d, 0);
        if (room < best) {
            best = room;
            block = i;
        }
    }
    *length = best;
    if (!isfinite(best)) return -1;
    for (int i = 0; i < w->p; i++) {
        int j = w->list[i];
        x[j] = fmin(fmax(x[j] + best * w->dir[i], w->lo[j]), w->hi[j]);
    }
    if (extra >= 0) x[extra] = fmin(fmax(x[extra] + best * way, w->lo[extra]), w->hi[extra]);
    if (block >= 0) {
        int j = block < w->p ? w->list[block] : extra;
        x[j] = (block < w->p ? w->dir[block] : way) > 0 ? w->hi[j] : w->lo[j];
    }
    return block;
}

// --- the method ---------------------------------------------------------------------------------------------------

// Minimise over the list, letting go of what reaches a bound. Leaves the gradient up to date.
static void descend(FaNnls *w, double *x) {
    for (int full = 0; w->steps < w->limit;) {
        gradient(w, x);
        double worst = 0;
        for (int i = 0; i < w->p; i++) {
            int j = w->list[i];
            w->dir[i] = -w->grad[j];
            worst = fmax(worst, fabs(w->grad[j]) * w->scale[j]);
        }
        // the first step is Newton's, the next ones refine what rounding left
        if (worst <= noise(w, x) || full == 4) return;
        if (full == 2) {
            start(w, x); // a factor worn by updates
            full++;
            continue;
        }
        forward(w, w->dir);
        backward(w, w->dir);
        double length;
        int block = move(w, x, 1, -1, 0, &length);
        if (block < 0) {
            full++;
        } else {
            int j = w->list[block];
            take_off(w, block, x[j] == w->hi[j] ? AT_HI : AT_LO);
            w->steps++;
        }
    }
}

// The variable with the steepest way off its bound, -1: none. In order once `plain`.
static int choose(const FaNnls *w, double tol, bool plain) {
    int best = -1;
    double most = tol;
    for (int j = 0; j < w->n; j++) {
        if (w->place[j] == INSIDE || w->place[j] == FIXED || w->aside[j]) continue;
        double s = w->grad[j] * w->scale[j];
        double gain = w->place[j] == AT_LO ? -s : w->place[j] == AT_HI ? s : fabs(s);
        if (!(gain > most)) continue;
        best = j;
        most = gain;
        if (plain) break;
    }
    return best;
}

// j depends on the list: follow the direction in which the objective has no curvature until a bound stops it, until j
// is independent of what is left (then it is in the list) or at a bound. False: nothing stops it.
static bool slide(FaNnls *w, int j, double *x) {
    double way = w->grad[j] < 0 ? 1 : -1;
    for (;;) {
        for (int i = 0; i < w->p; i++) w->dir[i] = -way * w->row[i];
        backward(w, w->dir);
        double length;
        int block = move(w, x, INFINITY, j, way, &length);
        if (block < 0) return false;
        w->steps++;
        if (block == w->p) {
            w->place[j] = x[j] == w->hi[j] ? AT_HI : AT_LO;
            return true;
        }
        int k = w->list[block];
        take_off(w, block, x[k] == w->hi[k] ? AT_HI : AT_LO);
        if (append(w, j)) return true;
    }
}

static FaNnlsResult check(FaNnls *w, const FaNnlsProblem *q) {
    FaNnlsResult bad = {.status = FA_NNLS_BAD_NUMBER, .at = -1, .kkt = INFINITY};
    if (!(q->l1 >= 0) || !isfinite(q->l1)) return bad;
    double most = 0;
    for (int j = 0; j < q->n; j++) {
        const double *g = q->g + (size_t)j * (size_t)w->stride;
        double sum = q->f[j];
        for (int k = 0; k < q->n; k++) sum += 0 * g[k]; // NaN if any is not finite
        bad.at = j;
        if (!isfinite(sum)) return bad;
        w->lo[j] = q->lo ? q->lo[j] : 0;
        w->hi[j] = q->hi ? q->hi[j] : INFINITY;
        if (!(w->lo[j] <= w->hi[j]) || w->lo[j] == INFINITY || w->hi[j] == -INFINITY) {
            bad.status = FA_NNLS_BAD_BOUNDS;
            return bad;
        }
        w->c[j] = q->f[j] - (w->lo[j] >= 0 ? q->l1 : 0);
        w->aside[j] = 0;
        most = fmax(most, g[j]);
        if (g[j] < 0 && w->indefinite < 0) w->indefinite = j;
    }
    for (int j = 0; j < q->n; j++) {
        double d = q->g[(size_t)j * (size_t)w->stride + (size_t)j];
        w->scale[j] = 1 / sqrt(d > 0 ? d : most > 0 ? most : 1);
    }
    return (FaNnlsResult){.status = FA_NNLS_OK, .at = -1};
}

static FaNnlsResult finish(FaNnls *w, const double *x, int unbounded) {
    FaNnlsResult r = {.status = FA_NNLS_OK, .at = -1, .steps = w->steps, .inside = w->p};
    double worst = 0, size = w->size;
    for (int j = 0; j < w->n; j++) {
        double s = w->grad[j] * w->scale[j], bad = 0;
        if (w->place[j] == AT_LO)
            bad = fmax(-s, 0);
        else if (w->place[j] == AT_HI)
            bad = fmax(s, 0);
        else if (w->place[j] != FIXED)
            bad = fabs(s);
        worst = fmax(worst, bad);
        size = fmax(size, fabs(w->grad[j] + w->c[j]) * w->scale[j]);
        r.value += 0.5 * x[j] * (w->grad[j] - w->c[j]);
    }
    r.kkt = worst > 0 ? worst / size : 0;
    if (r.kkt > FA_NNLS_GOAL) r.status = FA_NNLS_LIMIT;
    if (unbounded >= 0) r.status = FA_NNLS_UNBOUNDED;
    if (w->indefinite >= 0) r.status = FA_NNLS_INDEFINITE;
    r.at = w->indefinite >= 0 ? w->indefinite : unbounded;
    return r;
}

FaNnlsResult fai_nnls_solve(FaNnls *w, const FaNnlsProblem *q, double *x) {
    FA_ASSERT(q->n >= 0 && q->n <= w->max && (q->stride == 0 || q->stride >= q->n));
    w->n = q->n;
    w->g = q->g;
    w->stride = q->stride ? q->stride : q->n;
    w->steps = 0;
    w->limit = 20 * q->n + 100;
    w->indefinite = -1;
    FaNnlsResult bad = check(w, q);
    if (bad.status != FA_NNLS_OK) return bad;
    start(w, x);
    gradient(w, x);
    w->size = 0;
    for (int j = 0; j < w->n; j++)
        w->size = fmax(w->size, fmax(fabs(w->c[j]), fabs(w->grad[j] + w->c[j])) * w->scale[j]);

    descend(w, x);
    int unbounded = -1;
    while (w->steps < w->limit) {
        int j = choose(w, 4 * noise(w, x), w->steps > 5 * w->n + 20);
        if (j < 0) break;
        double before = x[j];
        w->steps++;
        if (!append(w, j) && !slide(w, j, x)) {
            // true least squares cannot fall for ever: a slope this large is not the rounding of one
            if (unbounded < 0 && fabs(w->grad[j]) * w->scale[j] > 1e-6 * w->size) unbounded = j;
            w->aside[j] = 2;
            continue;
        }
        descend(w, x);
        // came back at once: rounding. Set aside; a second chance after the next progress elsewhere
        bool back = w->place[j] != INSIDE && x[j] == before;
        for (int k = 0; !back && k < w->n; k++) w->aside[k] = w->aside[k] == 1 ? 0 : w->aside[k];
        if (back) w->aside[j] = w->steps > 2 * w->n ? 2 : 1;
    }
    return finish(w, x, unbounded);
}

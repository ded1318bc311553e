// Sums over the terms: energy and gradient, second derivatives, their products.
#include "solve/newton_work.h"

#include <math.h>

double fai_newton_total(FaNewton *n, const double *x, double *g, double *scale) {
    FaTermSum sum = {0};
    for (int t = 0; t < n->nterm; t++) n->term[t].energy(n->term[t].self, x, g, &sum);
    if (scale) *scale = sum.size;
    return sum.energy;
}

void fai_newton_accept(FaNewton *n) {
    for (int t = 0; t < n->nterm; t++)
        if (n->term[t].accept) n->term[t].accept(n->term[t].self);
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

void fai_newton_second(FaNewton *n, FaSolidHessian kind) {
    double before = fai_seconds();
    int changed = 0;
    for (int t = 0; t < n->nterm; t++) {
        const FaTerm *term = &n->term[t];
        if (!term->second) continue;
        int count =
            term->second(term->self, n->x, term->curve == FA_TERM_PROJECTED ? kind : FA_HESSIAN_TRUE, n->blocks);
        changed += FA_MAX(count, 0);
    }
    n->report->projected = FA_MAX(n->report->projected, changed);
    n->report->hessians++;
    n->hessian = kind;
    n->report->seconds_hessian += fai_seconds() - before;
}

bool fai_newton_outside(const FaNewton *n) {
    for (int t = 0; t < n->nterm; t++)
        if (n->term[t].outside && (!n->term[t].acts || n->term[t].acts(n->term[t].self))) return true;
    return false;
}

void fai_newton_mul(const FaNewton *n, const float *x, float *y) {
    fai_blocks_mul(n->blocks, x, y);
    for (int t = 0; t < n->nterm; t++)
        if (n->term[t].outside) n->term[t].outside(n->term[t].self, n->blocks, x, y);
}

void fai_newton_product(const FaNewton *n, const double *p, double *y) {
    for (int t = 0; t < n->nterm; t++) n->term[t].product(n->term[t].self, n->x, p, y);
}

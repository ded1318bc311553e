// How a body at rest would move, and what pushes it: for what directs muscles (muscle/direct.h).
#include "muscle/muscle_body_work.h"

#include <math.h>
#include <string.h>

FaCode fai_muscle_body_slopes(FaMuscleBody *b, const double *x, int nbone, const double *bone, double *out,
                              FaError *err) {
    size_t n = 3 * (size_t)b->nnode, all = (size_t)(b->nmuscle + nbone);
    memset(out, 0, all * n * sizeof *out);
    for (int m = 0; m < b->nmuscle; m++) fai_fibre_slope(b->fibre, m, x, out + (size_t)m * n);
    for (int k = 0; k < nbone; k++) {
        double *rhs = out + (size_t)(b->nmuscle + k) * n;
        for (size_t i = 0; i < n; i++) b->move[i] = b->fixed[i / 3] ? bone[(size_t)k * n + i] : 0;
        fai_solid_product(b->rest, x, NULL, b->move, rhs);
        for (int t = 0; t < FA_COUNT(b->term); t++) b->term[t].product(b->term[t].self, x, b->move, rhs);
    }
    for (size_t i = 0; i < all * n; i++) out[i] = -out[i];
    FaNewtonInput here = b->last;
    here.fixed_at = NULL;
    FaNewtonKept kept = {.nrhs = (int)all, .rhs = out, .out = out, .tolerance = 5e-2};
    // a factor of this very point saves more conjugate gradients than it costs
    FA_TRY(fai_newton_prepare(b->newton, &here, x, err));
    FaCode rc = fai_newton_kept_solve(b->newton, &here, x, &kept, err);
    for (int k = 0; k < nbone && rc >= 0; k++)
        for (size_t i = 0; i < n; i++)
            if (b->fixed[i / 3]) out[(size_t)(b->nmuscle + k) * n + i] = bone[(size_t)k * n + i];
    return rc;
}

FaCode fai_muscle_body_yields(FaMuscleBody *b, const double *x, const double *f, bool ready, double *out,
                              FaError *err) {
    FaNewtonInput here = b->last;
    here.fixed_at = NULL;
    FaNewtonKept kept = {.nrhs = 1, .rhs = f, .out = out, .tolerance = 3e-2};
    if (!ready) FA_TRY(fai_newton_prepare(b->newton, &here, x, err));
    return fai_newton_kept_solve(b->newton, &here, x, &kept, err);
}

FaCode fai_muscle_body_follow(FaMuscleBody *b, const double *x, const double *dy, bool ready, double *out,
                              FaError *err) {
    memset(out, 0, 3 * (size_t)b->nnode * sizeof *out);
    for (int s = 0; s < b->nsample; s++)
        for (int c = 4 * s; c < 4 * s + 4 && b->pull_k[s] > 0; c++)
            for (size_t i = 0; i < 3; i++)
                out[3 * (size_t)b->corner[c] + i] += b->pull_k[s] * b->bary[c] * dy[3 * (size_t)s + i];
    return fai_muscle_body_yields(b, x, out, ready, out, err);
}

int fai_muscle_body_pushes(const FaMuscleBody *b, const double *x, int most, FaMusclePush *push) {
    int n = 0;
    for (int r = 0; r < b->last.nrow && b->touch && n < most; r++) {
        const FaRow *row = &b->last.row[r];
        double along = 0;
        for (int k = 0; k < 3; k++) {
            double s = (double)row->offset[k];
            for (int j = 0; j < 4; j++) {
                size_t at = 3 * (size_t)FA_MAX(row->node[j], 0) + (size_t)k;
                if (row->node[j] >= 0) s += (double)row->weight[j] * (x[at] - b->rest_x[at]);
            }
            along += (double)row->normal[k] * s;
        }
        if (along >= (double)row->gap) continue;
        for (int j = 0; j < 4 && n < most; j++) {
            if (row->node[j] < 0 || fabsf(row->weight[j]) < 0.1f) continue;
            push[n].node = row->node[j];
            for (int k = 0; k < 3; k++) push[n].normal[k] = (row->weight[j] > 0 ? 1 : -1) * (double)row->normal[k];
            n++;
        }
    }
    return n;
}

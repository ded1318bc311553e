#include "energy/push_pull.h"

#include "energy/kernel.h"

#include <math.h>

static bool row_is_sound(const FaRow *r, int nnode) {
    if (r->kind != FA_ROW_PUSH && r->kind != FA_ROW_PULL) return false;
    int used = 0;
    for (int j = 0; j < 4; j++) {
        if (r->node[j] < -1 || r->node[j] >= nnode) return false;
        if (r->node[j] < 0) continue;
        used++;
        if (!isfinite(r->weight[j])) return false;
        for (int i = 0; i < j; i++)
            if (r->node[i] == r->node[j]) return false;
    }
    double n2 = 0;
    for (int k = 0; k < 3; k++) {
        if (!isfinite(r->offset[k])) return false;
        n2 += (double)r->normal[k] * (double)r->normal[k];
    }
    for (int k = 0; k < 3 && r->friction != 0; k++)
        if (!isfinite(r->stick[k])) return false;
    if (r->friction != 0 && !(r->friction > 0 && isfinite(r->friction) && r->slip > 0 && isfinite(r->slip)))
        return false;
    bool normal = r->kind == FA_ROW_PULL || (fabs(n2 - 1) < 1e-3 && isfinite(r->gap));
    return used > 0 && normal && isfinite(r->stiffness) && r->stiffness > 0;
}

FaCode fai_rows_check(int nrow, const FaRow *row, int nnode, int max_rows, FaError *err) {
    if (nrow < 0 || nrow > max_rows)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use --contact mouth, or raise max_rows", "%d contact rows, room for %d",
                       nrow, max_rows);
    for (int i = 0; i < nrow; i++)
        if (!row_is_sound(&row[i], nnode))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("row %d", i),
                           "nodes in range and distinct, a unit normal, positive stiffness, finite numbers",
                           "a contact row makes no sense");
    return FA_OK;
}

double fai_rows_eval(int nrow, const FaRow *row, const float *u, float *g, unsigned char *active) {
    const FaV4 *x = (const FaV4 *)u;
    FaV4 *out = (FaV4 *)g;
    double total = 0;
    for (int i = 0; i < nrow; i++) {
        const FaRow *r = &row[i];
        double s[3], f[3], k = (double)r->stiffness;
        for (int c = 0; c < 3; c++) s[c] = (double)r->offset[c];
        for (int j = 0; j < 4; j++)
            for (int c = 0; c < 3 && r->node[j] >= 0; c++) s[c] += (double)r->weight[j] * (double)x[r->node[j]][c];
        bool acts = true;
        if (r->kind == FA_ROW_PUSH) {
            double depth = (double)r->normal[0] * s[0] + (double)r->normal[1] * s[1] + (double)r->normal[2] * s[2] -
                           (double)r->gap;
            acts = depth < 0;
            total += acts ? 0.5 * k * depth * depth : 0;
            for (int c = 0; c < 3; c++) f[c] = k * depth * (double)r->normal[c];
        } else {
            total += 0.5 * k * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
            for (int c = 0; c < 3; c++) f[c] = k * s[c];
        }
        if (active) active[i] = acts;
        for (int j = 0; g && acts && j < 4; j++)
            if (r->node[j] >= 0)
                for (int c = 0; c < 3; c++) out[r->node[j]][c] += (float)((double)r->weight[j] * f[c]);
    }
    return total;
}

double fai_row_slack(const FaRow *r, const float *u) {
    const FaV4 *x = (const FaV4 *)u;
    double sum = -(double)r->gap;
    for (int c = 0; c < 3; c++) {
        double s = (double)r->offset[c];
        for (int j = 0; j < 4; j++) s += r->node[j] >= 0 ? (double)r->weight[j] * (double)x[r->node[j]][c] : 0;
        sum += (double)r->normal[c] * s;
    }
    return sum;
}

double fai_row_energy_ref(const FaRow *r, const double u[4][3], double gradient[4][3]) {
    double s[3], f[3], k = (double)r->stiffness, energy;
    for (int c = 0; c < 3; c++) {
        s[c] = (double)r->offset[c];
        for (int j = 0; j < 4; j++) s[c] += r->node[j] >= 0 ? (double)r->weight[j] * u[j][c] : 0;
    }
    if (r->kind == FA_ROW_PUSH) { // eq. 5.16
        double depth =
            (double)r->normal[0] * s[0] + (double)r->normal[1] * s[1] + (double)r->normal[2] * s[2] - (double)r->gap;
        depth = fmin(depth, 0);
        energy = 0.5 * k * depth * depth;
        for (int c = 0; c < 3; c++) f[c] = k * depth * (double)r->normal[c];
    } else {
        energy = 0.5 * k * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
        for (int c = 0; c < 3; c++) f[c] = k * s[c];
    }
    for (int j = 0; gradient && j < 4; j++)
        for (int c = 0; c < 3; c++) gradient[j][c] = r->node[j] >= 0 ? (double)r->weight[j] * f[c] : 0;
    return energy;
}

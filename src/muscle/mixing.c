#include "muscle/mixing.h"

#include "math/dense.h"

#include <string.h>

static const double RIDGE = 1e-3; // of the largest difference: histories that say the same twice say it once

FaCode fai_mixing_new(int n, int m, FaArena *arena, FaMixing *mixing, FaError *err) {
    *mixing = (FaMixing){.n = n, .m = m};
    for (int i = 0; i <= FA_MIXING; i++) {
        mixing->x[i] = FA_PUSH(arena, n + 1, double), mixing->step[i] = FA_PUSH(arena, n + 1, double);
        mixing->residual[i] = FA_PUSH(arena, m + 1, double);
        if (!mixing->x[i] || !mixing->step[i] || !mixing->residual[i]) return FA_FAIL_MEMORY(err);
    }
    return FA_OK;
}

void fai_mixing_forget(FaMixing *mixing) { mixing->count = 0; }

static void turn(double **list, int n) {
    double *first = list[0];
    for (int i = 0; i + 1 < n; i++) list[i] = list[i + 1];
    list[n - 1] = first;
}

static void keep(FaMixing *a, const double *x, const double *step, const double *residual) {
    if (a->count == FA_MIXING + 1) {
        turn(a->x, a->count), turn(a->step, a->count), turn(a->residual, a->count);
        a->count--;
    }
    memcpy(a->x[a->count], x, (size_t)a->n * sizeof *x);
    memcpy(a->step[a->count], step, (size_t)a->n * sizeof *step);
    memcpy(a->residual[a->count++], residual, (size_t)a->m * sizeof *residual);
}

// Coefficients of the differences between points that follow each other; false: they say nothing.
static bool weigh(const FaMixing *a, double *c) {
    double matrix[FA_MIXING * FA_MIXING] = {0}, most = 0;
    const int k = a->count - 1;
    for (int i = 0; i < k; i++) {
        c[i] = 0;
        for (int q = 0; q < a->m; q++) c[i] += (a->residual[i + 1][q] - a->residual[i][q]) * a->residual[k][q];
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int q = 0; q < a->m; q++)
                sum += (a->residual[i + 1][q] - a->residual[i][q]) * (a->residual[j + 1][q] - a->residual[j][q]);
            matrix[i * FA_MIXING + j] = matrix[j * FA_MIXING + i] = sum;
        }
        most = FA_MAX(most, matrix[i * FA_MIXING + i]);
    }
    for (int i = 0; i < k; i++) matrix[i * FA_MIXING + i] += RIDGE * RIDGE * most;
    if (k < 1 || !fai_dense_cholesky(k, FA_MIXING, matrix)) return false;
    fai_dense_forward(k, FA_MIXING, matrix, c);
    fai_dense_backward(k, FA_MIXING, matrix, c);
    return true;
}

void fai_mixing_next(FaMixing *a, const double *x, const double *step, const double *residual, double *next) {
    double c[FA_MIXING];
    keep(a, x, step, residual);
    const int k = a->count - 1;
    const bool mixed = weigh(a, c);
    for (int q = 0; q < a->n; q++) {
        double to = a->x[k][q] + a->step[k][q];
        for (int i = 0; mixed && i < k; i++)
            to -= c[i] * (a->x[i + 1][q] - a->x[i][q] + a->step[i + 1][q] - a->step[i][q]);
        next[q] = to;
    }
}

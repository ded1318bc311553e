#include "solve/lbfgs.h"

#include <math.h>

FaCode fai_lbfgs_init(FaLbfgs *h, const FaFieldShape *shape, int room, FaArena *arena, FaError *err) {
    *h = (FaLbfgs){.shape = shape, .room = room};
    for (int i = 0; i < room; i++) {
        h->s[i] = fai_field_new(shape, arena);
        h->y[i] = fai_field_new(shape, arena);
        if (!h->s[i] || !h->y[i]) return FA_FAIL_MEMORY(err);
    }
    return FA_OK;
}

void fai_lbfgs_clear(FaLbfgs *h) {
    h->count = 0;
    h->seen = NULL;
}

// The oldest pair's memory becomes the newest's.
static void drop_oldest(FaLbfgs *h) {
    float *s = h->s[0], *y = h->y[0];
    memmove(h->s, h->s + 1, (size_t)(h->count - 1) * sizeof *h->s);
    memmove(h->y, h->y + 1, (size_t)(h->count - 1) * sizeof *h->y);
    h->count--;
    h->s[h->count] = s;
    h->y[h->count] = y;
    for (int i = 0; i < h->count; i++)
        for (int j = i; j < h->count; j++) h->sy[i][j] = h->sy[i + 1][j + 1];
}

bool fai_lbfgs_push(FaLbfgs *h, double a, const float *d, const float *g0, const float *g1) {
    if (h->room == 0) return false;
    if (h->count == h->room) drop_oldest(h);
    int n = h->count;
    double sy[FA_LBFGS_MAX], own[2];
    FaFieldPair pair = {a, d, g0, g1, n, h->s, h->y[n]};
    fai_field_pair(h->shape, &pair, sy, h->sg, own);
    h->seen = g1;
    // curvature that is lost in rounding would make a direction of nonsense
    if (!(sy[n] > 1e-10 * sqrt(own[0] * own[1])) || !(sy[n] < INFINITY)) return false;
    for (int i = 0; i <= n; i++) h->sy[i][n] = sy[i];
    h->count++;
    return true;
}

void fai_lbfgs_forward(FaLbfgs *h, const float *g, float *q) {
    double coef[FA_LBFGS_MAX];
    if (g != h->seen && h->count) fai_field_dots(h->shape, h->count, (const float *const *)h->s, g, h->sg);
    h->seen = NULL;
    for (int i = h->count - 1; i >= 0; i--) {
        double sq = h->sg[i];
        for (int j = i + 1; j < h->count; j++) sq -= h->alpha[j] * h->sy[i][j];
        h->alpha[i] = sq / h->sy[i][i];
        coef[i] = -h->alpha[i];
    }
    fai_field_sum(h->shape, 1, g, h->count, coef, (const float *const *)h->y, q);
}

void fai_lbfgs_backward(FaLbfgs *h, const float *r, float *d, const FaFieldMore *more) {
    double yr[FA_LBFGS_MAX], coef[FA_LBFGS_MAX];
    if (h->count) fai_field_dots(h->shape, h->count, (const float *const *)h->y, r, yr);
    for (int i = 0; i < h->count; i++) {
        double sum = yr[i];
        for (int j = 0; j < i; j++) sum -= coef[j] * h->sy[j][i];
        coef[i] = -(h->alpha[i] - sum / h->sy[i][i]);
    }
    fai_field_sum_more(h->shape, -1, r, h->count, coef, (const float *const *)h->s, d, more);
}

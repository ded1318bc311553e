#include "muscle/falloff.h"

#include <math.h>

static const char *check(int n, const double (*p)[2]) {
    if (n < 2 || n > FA_FALLOFF_MOST) return "a falloff has 2 to 32 points";
    if (p[0][0] != 0 || p[n - 1][0] != 1) return "a falloff goes from x = 0 to x = 1";
    if (p[0][1] != 0) return "a falloff begins with [0, 0], or the skin tears at the edge of the region";
    for (int i = 1; i < n; i++) {
        if (!(p[i][0] > p[i - 1][0])) return "x of a falloff rises from point to point";
        if (!(p[i][1] >= p[i - 1][1] && p[i][1] <= 1)) return "y of a falloff does not fall, and is at most 1";
    }
    return NULL;
}

const char *fai_falloff_set(FaFalloff *f, int n, const double (*p)[2]) {
    const char *wrong = check(n, p);
    double chord[FA_FALLOFF_MOST];
    *f = (FaFalloff){0};
    if (wrong) return wrong;
    f->n = n;
    for (int i = 0; i < n; i++) f->x[i] = p[i][0], f->y[i] = p[i][1];
    for (int i = 0; i + 1 < n; i++) chord[i] = (f->y[i + 1] - f->y[i]) / (f->x[i + 1] - f->x[i]);
    f->slope[0] = chord[0], f->slope[n - 1] = chord[n - 2];
    // harmonic mean of neighbours: within three times the smaller one, so that pieces stay monotone
    for (int i = 1; i + 1 < n; i++)
        f->slope[i] = chord[i - 1] * chord[i] > 0 ? 2 * chord[i - 1] * chord[i] / (chord[i - 1] + chord[i]) : 0;
    return NULL;
}

double fai_falloff_at(const FaFalloff *f, double x) {
    x = fmin(fmax(x, 0), 1);
    if (!f->n) return x;
    int i = 0;
    while (i + 2 < f->n && x > f->x[i + 1]) i++;
    const double h = f->x[i + 1] - f->x[i], t = (x - f->x[i]) / h, s = 1 - t;
    const double y = s * s * (1 + 2 * t) * f->y[i] + t * t * (3 - 2 * t) * f->y[i + 1] +
                     h * t * s * (s * f->slope[i] - t * f->slope[i + 1]);
    return fmin(fmax(y, f->y[i]), f->y[i + 1]);
}

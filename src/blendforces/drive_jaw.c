// The jaw of the take. The jaw's frame comes from the rig's jawOpen; on shapes moved from a face of other build the jaw
// slides some millimetres more than this face's does or turns further for its weight, and no shape pulls it back, as
// weights cannot be negative. How far it turns and slides per unit of weight is found from the take: over sampled
// frames, solved with the shapes alone, the misses of all markers are made least by Gauss-Newton. Derivatives are
// differences of whole solves, so that what other shapes can take over is no evidence. A jaw as far off as usual costs
// a hundredth of the misses: where they say little it stays the rig's.
#include "blendforces/drive_work.h"

#include "math/mat3.h"

#include <math.h>

enum { SAMPLES = 40, ROUNDS = 3, N = 3 };          // N: turn, slide up, slide to the front
static const double step[N] = {0.02, 1e-3, 1e-3};  // rad, m, m
static const double usual[N] = {0.03, 3e-3, 3e-3}; // how far off a jaw is
static const double PRIOR = 0.01;
static const double OPEN = 0.02; // weights below it say nothing of the jaw

typedef struct Normal {
    double g[N * N], right[N], cost; // m2
} Normal;

// The misses of one frame and their slopes (N rows after the first of r), added to the normal equations.
static void add_frame(FaDrive *d, FaControl *c, FaControlFrame *f, const double *more, int frame, double *r,
                      Normal *e) {
    FaMarkers m = fai_drive_markers_of(d, frame);
    size_t row = 3 * (size_t)fai_control_npoint(c);
    fai_control_set_jaw(c, more);
    double open = fai_control_miss(c, &m, f, r);
    for (size_t i = 0; i < row; i++) e->cost += r[i] * r[i];
    if (open < OPEN) return;
    for (size_t k = 0; k < N; k++) {
        double moved[N] = {more[0], more[1], more[2]}, *at = r + (k + 1) * row;
        moved[k] += step[k];
        fai_control_set_jaw(c, moved);
        fai_control_miss(c, &m, f, at);
        for (size_t i = 0; i < row; i++) at[i] = (r[i] - at[i]) / step[k];
    }
    for (size_t k = 0; k < N; k++)
        for (size_t i = 0; i < row; i++) {
            double slope = r[(k + 1) * row + i];
            e->right[k] += slope * r[i];
            for (size_t l = 0; l < N; l++) e->g[N * k + l] += slope * r[(l + 1) * row + i];
        }
}

static Normal gather(FaDrive *d, FaControl *c, FaControlFrame *f, const double *more, double *r) {
    Normal e = {0};
    int n = FA_MIN(SAMPLES, d->take->nframe);
    for (int s = 0; s < n; s++) add_frame(d, c, f, more, (int)(((double)s + 0.5) * d->take->nframe / n), r, &e);
    double prior = PRIOR * e.cost;
    for (int k = 0; k < N; k++) {
        double stiff = prior / (usual[k] * usual[k]);
        e.cost += stiff * more[k] * more[k];
        e.g[4 * k] += stiff;
        e.right[k] -= stiff * more[k];
    }
    return e;
}

FaCode fai_drive_learn_jaw(FaDrive *d, FaControl *c, FaError *err) {
    if (!fai_control_has_jaw(c)) return FA_OK;
    memset(d->jaw_more, 0, sizeof d->jaw_more);
    FaArena *arena = fai_arena_new(0);
    FaControlFrame f;
    double *r = arena ? FA_PUSH(arena, (N + 1) * 3 * (size_t)fai_control_npoint(c), double) : NULL;
    FaCode rc = r ? fai_control_frame_new(c, arena, &f, err) : FA_FAIL_MEMORY(err);
    double more[N] = {0}, best = INFINITY;
    for (int round = 0; rc >= 0 && round <= ROUNDS; round++) {
        double inv[9], move[N];
        Normal e = gather(d, c, &f, more, r);
        if (!(e.cost < best)) break;
        best = e.cost;
        memcpy(d->jaw_more, more, sizeof more);
        if (!fai_m3_inverse(e.g, inv)) break;
        fai_m3_mulv(inv, e.right, move);
        for (int k = 0; k < N; k++) more[k] += fmin(fmax(move[k], -2 * usual[k]), 2 * usual[k]);
    }
    fai_control_set_jaw(c, d->jaw_more);
    fai_control_reset(c);
    fai_arena_free(arena);
    return rc;
}

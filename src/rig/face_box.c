#include "rig/face_box.h"

#include "math/mat3.h"
#include "rig/rig_frame.h"

#include <math.h>

static double squared(const float *d) { return (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]; }

// The largest squared motion of a shape.
static double largest(const FaRig *rig, const FaShape *s) {
    double most = 0;
    for (int e = s->first; e < s->first + s->count; e++) most = fmax(most, squared(rig->delta + 3 * (size_t)e));
    return most;
}

// Grow the box by the vertices that the shape moves by a fifth of its largest motion at least: nearly all of a shape is
// there, and what an exporter or a wide brush left over the body is not.
static void grow(const FaRig *rig, const FaShape *s, double most, double lo[3], double hi[3]) {
    for (int e = s->first; e < s->first + s->count; e++) {
        if (squared(rig->delta + 3 * (size_t)e) < 0.04 * most) continue;
        const float *x = rig->mesh.x + 3 * (size_t)rig->row[e];
        double p[3] = {(double)x[0], (double)x[1], (double)x[2]}, q[3];
        fai_m3_mulv(rig->axes, p, q);
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], q[k]), hi[k] = fmax(hi[k], q[k]);
    }
}

bool fai_face_box(const FaRig *rig, double lo[3], double hi[3]) {
    double most = 0;
    int known = 0;
    for (int s = 0; s < rig->nshape; s++) {
        most = fmax(most, largest(rig, &rig->shape[s]));
        known += rig->shape[s].arkit >= 0 && rig->shape[s].count > 0;
    }
    for (int k = 0; k < 3; k++) lo[k] = INFINITY, hi[k] = -INFINITY;
    for (int s = 0; s < rig->nshape; s++) {
        double own = largest(rig, &rig->shape[s]);
        if (own <= FA_NOISE_SHARE * FA_NOISE_SHARE * most || (known >= 3 && rig->shape[s].arkit < 0)) continue;
        grow(rig, &rig->shape[s], own, lo, hi);
    }
    return lo[0] <= hi[0];
}

// Places of the mean head by the lids and lips of a rig, which its shapes tell.
#include "rig/mean_head.h"

#include "math/mat3.h"

// Middle of what an ARKit shape moves, weighed by how much, canonical axes. False if there is none.
static bool centre_of(const FaRig *rig, const char *name, double out[3]) {
    int arkit = fa_arkit_match(name, NULL);
    double sum[4] = {0};
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        for (int e = shape->first; arkit >= 0 && shape->arkit == arkit && e < shape->first + shape->count; e++) {
            const float *d = rig->delta + 3 * (size_t)e, *x = rig->mesh.x + 3 * (size_t)rig->row[e];
            double w = (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
            for (int k = 0; k < 3; k++) sum[k] += w * (double)x[k];
            sum[3] += w;
        }
    }
    if (!(sum[3] > 0)) return false;
    fai_v3_scale(1 / sum[3], sum, sum);
    fai_m3_mulv(rig->axes, sum, out);
    return true;
}

FaMeanHead fai_mean_head_find(const FaRig *rig) {
    FaMeanHead p = {.size = 1};
    double left[3], right[3], mouth[3];
    memcpy(p.axes, rig->axes, sizeof p.axes);
    p.found = centre_of(rig, "eyeBlinkLeft", left) && centre_of(rig, "eyeBlinkRight", right) &&
              (centre_of(rig, "mouthPucker", mouth) || centre_of(rig, "mouthFunnel", mouth));
    if (p.found) {
        // the mean head: lids at (+-32, 29, 73), lips at (0, -42, 89)
        double apart = left[0] - right[0], tall = 0.5 * (left[1] + right[1]) - mouth[1];
        p.found = apart > 0.01 && tall > 0.01 && apart < 1 && tall < 1;
        if (p.found) {
            p.size = 0.5 * (apart / 0.064 + tall / 0.071);
            fai_v3_set(p.scale, 64 / apart, 71 / tall, 1000 / p.size);
            fai_v3_set(p.offset, -0.5 * (left[0] + right[0]) * p.scale[0], -42 - mouth[1] * p.scale[1],
                       73 - 0.5 * (left[2] + right[2]) * p.scale[2]);
            return p;
        }
    }
    double lo = INFINITY, hi = -INFINITY;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double x[3];
        fai_v3_load(rig->mesh.x, v, x);
        double y = fai_v3_dot(rig->axes + 3, x);
        lo = fmin(lo, y), hi = fmax(hi, y);
    }
    if (hi > lo) p.size = fmin(fmax((hi - lo) / 0.25, 0.05), 20);
    return p;
}

bool fai_mean_head_mm(const FaMeanHead *p, const float x[3], double mm[3]) {
    double q[3];
    if (!p->found) return false;
    fai_v3_load(x, 0, q);
    fai_m3_mulv(p->axes, q, mm);
    for (int k = 0; k < 3; k++) mm[k] = mm[k] * p->scale[k] + p->offset[k];
    return true;
}

double fai_mean_head_mix(const FaMeanValue *known, int n, const double mm[3]) {
    double sum = 0, all = 0;
    for (int i = 0; i < n; i++) {
        double dx = fabs(mm[0]) - (double)known[i].x, dy = mm[1] - (double)known[i].y, dz = mm[2] - (double)known[i].z;
        double d2 = dx * dx + dy * dy + dz * dz + 36, w = 1 / (d2 * d2);
        sum += w * (double)known[i].value;
        all += w;
    }
    return sum / all;
}

// A creature: the head with a long muzzle, a broad jaw, small eyes and pointed ears, all by one smooth map of space.
//
// Shapes go along: a pose is mapped as the neutral is, so that lids still close on the eye and lips on lips. What the
// jaw carries is taken back to where the jaw is closed first, mapped there, and turned open again: else a muzzle would
// lose its length on the way down.
#include "head/pose.h"
#include "head/shape_ids.h"
#include "head/skin.h"
#include "head/zoo.h"
#include "math/mat3.h"

#include <math.h>

static const double MUZZLE = 0.068; // m: how far lips and nose are pulled forward

// 1 on the muzzle to 0 elsewhere: from below the eyes to below the chin, between the corners of the mouth and a bit on.
static double on_muzzle(const double p[3]) {
    const double x = p[0] / 0.044, wide = x * x;
    return fai_smooth(0.020, -0.014, p[1]) * fai_smooth(-0.122, -0.070, p[1]) * fai_smooth(-0.005, 0.088, p[2]) /
           (1 + wide * wide);
}

static void small_eyes(const FaHead *head, double p[3]) {
    double moved[3];
    memcpy(moved, p, sizeof moved);
    for (int e = 0; e < 2; e++) {
        double d[3];
        fai_v3_sub(p, head->eye[e], d);
        const double far = fai_v3_norm(d) / (2.2 * head->eye_radius);
        fai_v3_mad(moved, -0.28 * exp(-far * far), d, moved);
    }
    memcpy(p, moved, sizeof moved);
}

// Where a point of the head is on the creature, m.
static void creature(const FaHead *head, double p[3]) {
    const double muzzle = on_muzzle(p), seam = 1e-3 * fai_seam_y(0);
    const double jaw = fai_smooth(-0.02, -0.075, p[1]) * fai_smooth(-0.02, 0.03, p[2]);
    const double ear = fai_smooth(0.072, 0.095, fabs(p[0])) * fai_smooth(0.005, 0.05, p[1]);
    const double high = fmax(p[1] - 0.045, 0);
    small_eyes(head, p);
    p[0] *= (1 + 0.14 * jaw) * (1 - 0.20 * muzzle);
    p[1] += 0.045 * ear - 0.12 * muzzle * (p[1] - seam) - 0.22 * high * high / (high + 0.03);
    p[2] += MUZZLE * muzzle - 0.25 * high * fai_smooth(-0.02, 0.08, p[2]);
}

typedef struct Jaw {
    double r[9], t[3]; // m
} Jaw;

static Jaw jaw_at(const FaHead *head, int shape, double share) {
    float w[FA_ARKIT_COUNT] = {0};
    Jaw jaw;
    w[shape] = 1;
    fai_pose_jaw(&head->model->warp, w, share, jaw.r, jaw.t);
    for (int k = 0; k < 3; k++) jaw.t[k] *= 1e-3;
    return jaw;
}

// How much of the jaw's motion a displacement of a vertex is.
static double jaw_share(const FaHead *head, int shape, const double x[3], const double d[3]) {
    const Jaw jaw = jaw_at(head, shape, 1);
    double y[3];
    fai_m3_mulv(jaw.r, x, y);
    for (int k = 0; k < 3; k++) y[k] += jaw.t[k] - x[k];
    const double all = fai_v3_dot(y, y);
    return all > 1e-10 ? fmin(fmax(fai_v3_dot(y, d) / all, 0), 1) : 0;
}

// A posed point on the creature; shape: of the jaw, -1 where it is still.
static void posed(const FaHead *head, int shape, const double x[3], const double d[3], double out[3]) {
    Jaw jaw;
    fai_v3_add(x, d, out);
    if (shape >= 0) {
        jaw = jaw_at(head, shape, jaw_share(head, shape, x, d));
        fai_v3_sub(out, jaw.t, out);
        fai_m3_tmulv(jaw.r, out, out);
    }
    creature(head, out);
    if (shape < 0) return;
    fai_m3_mulv(jaw.r, out, out);
    fai_v3_add(out, jaw.t, out);
}

static int jaw_of(int drive) { return drive >= jawForward && drive <= jawOpen ? drive : -1; }

// mouthClose is what it does once the jaw is open.
static void change_shape(const FaHead *head, int drive, const float *open, const double x[3], const double rest[3],
                         float *delta) {
    double d[3], to[3], from[3];
    fai_v3_load(delta, 0, d);
    if (d[0] == 0 && d[1] == 0 && d[2] == 0) return;
    memcpy(from, rest, sizeof from);
    if (drive == mouthClose && open) {
        double down[3];
        fai_v3_load(open, 0, down);
        posed(head, jawOpen, x, down, from);
        fai_v3_add(d, down, d);
        drive = jawOpen;
    }
    posed(head, jaw_of(drive), x, d, to);
    for (int k = 0; k < 3; k++) delta[k] = (float)(to[k] - from[k]);
}

void fai_zoo_creature(FaZoo *zoo) {
    for (int i = 0; i < zoo->nmesh; i++) {
        FaZooMesh *m = &zoo->mesh[i];
        const FaZooShape *open = fai_zoo_driven(m, jawOpen);
        for (int v = 0; v < m->nvert; v++) {
            double x[3], rest[3];
            float before[3] = {0};
            fai_v3_load(m->x, v, x);
            memcpy(rest, x, sizeof rest);
            creature(zoo->head, rest);
            if (open) memcpy(before, open->delta + 3 * (size_t)v, sizeof before);
            for (int s = 0; s < m->nshape; s++)
                change_shape(zoo->head, m->shape[s].drive, open ? before : NULL, x, rest,
                             m->shape[s].delta + 3 * (size_t)v);
            for (int k = 0; k < 3; k++) m->x[3 * (size_t)v + (size_t)k] = (float)rest[k];
        }
    }
}

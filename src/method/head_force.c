#include "method/head_force.h"

#include "math/mat3.h"
#include "math/pose_cut.h"

void fai_head_force(const FaMotion *motion, const double up[3], double share, FaAffine *out) {
    double r[9], world[3], a0[3];
    fai_q_to_m3(motion->pose.q, r);
    for (int k = 0; k < 3; k++) world[k] = -motion->a[k] - (k == 1 ? FAI_GRAVITY : 0);
    fai_m3_tmulv(r, world, a0);
    fai_v3_mad(a0, share * FAI_GRAVITY, up, a0); // - s g0, g0 = -g up
    const double *w = motion->omega, *b = motion->alpha;
    double ww = fai_v3_dot(w, w);
    // - alpha x x - (omega (omega . x) - x |omega|^2)
    double cross[9] = {0, -b[2], b[1], b[2], 0, -b[0], -b[1], b[0], 0};
    memcpy(out->f, a0, sizeof a0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out->f[3 + 3 * i + j] = -cross[3 * i + j] - w[i] * w[j] + (i == j ? ww : 0);
}

void fai_trail_push(FaPoseTrail *t, double time, const FaPose *pose) {
    // nothing is known of how a head came to where it jumped
    int last = t->count - 1;
    if (last >= 0 && fai_pose_jumps(&t->pose[last], pose, time - t->time[last])) *t = (FaPoseTrail){0};
    if (t->count == 3) {
        memmove(t->time, t->time + 1, 2 * sizeof *t->time);
        memmove(t->pose, t->pose + 1, 2 * sizeof *t->pose);
        t->count = 2;
    }
    t->time[t->count] = time;
    t->pose[t->count++] = *pose;
}

// Mean velocity and angular velocity (in the axes of the later pose) from pose i to pose i + 1.
static void rates(const FaPoseTrail *t, int i, double v[3], double w[3]) {
    double h = t->time[i + 1] - t->time[i], turn[4], back[4];
    fai_q_conj(t->pose[i].q, back);
    fai_q_mul(back, t->pose[i + 1].q, turn);
    fai_q_log(turn, w);
    for (int k = 0; k < 3; k++) {
        v[k] = (t->pose[i + 1].p[k] - t->pose[i].p[k]) / h;
        w[k] /= h;
    }
}

void fai_trail_motion(const FaPoseTrail *t, FaMotion *motion) {
    *motion = (FaMotion){.pose = t->count ? t->pose[t->count - 1] : fai_pose_identity()};
    if (t->count < 2) return;
    rates(t, t->count - 2, motion->v, motion->omega);
    if (t->count < 3) return;
    double v[3], w[3], span = 0.5 * (t->time[2] - t->time[0]);
    rates(t, 0, v, w);
    for (int k = 0; k < 3; k++) {
        motion->a[k] = (motion->v[k] - v[k]) / span;
        motion->alpha[k] = (motion->omega[k] - w[k]) / span;
    }
}

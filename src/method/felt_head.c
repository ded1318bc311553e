#include "method/felt_head.h"

#include "math/mat3.h"
#include "math/pose_curve.h"
#include "method/head_force.h"
#include "solve/inertia.h"

#include <math.h>

FaFeltHead fai_felt_head(const FaRig *rig, double share, double gravity) {
    FaFeltHead f = {.share = share, .gravity = gravity, .head = fai_pose_identity(), .felt = fai_pose_identity()};
    memcpy(f.up, rig->axes + 3, sizeof f.up);
    return f;
}

bool fai_head_still(const FaPoseCurve *motion, const FaInput *in) {
    return !motion && in->head.q[0] == 0 && in->head.q[1] == 0 && in->head.q[2] == 0 && in->head.q[3] == 0;
}

FaPose fai_felt_at(const FaFeltHead *f, const FaPoseCurve *curve, const FaInput *in, const FaPose *from, double time,
                   double part) {
    FaPose pose = f->head;
    if (curve) {
        FaMotion motion;
        fai_pose_curve_eval(curve, time, &motion);
        return motion.pose;
    }
    if (fai_head_still(curve, in)) return pose;
    FaPose to = in->head;
    bool good = fai_q_normalize(to.q);
    for (int k = 0; k < 3; k++) good &= (bool)isfinite(to.p[k]);
    if (!good) return pose;
    if (part == 1) return to;
    fai_q_slerp(from->q, to.q, part, pose.q);
    for (int k = 0; k < 3; k++) pose.p[k] = from->p[k] + part * (to.p[k] - from->p[k]);
    return pose;
}

void fai_felt_reset(FaFeltHead *f, const FaPoseCurve *motion, const FaInput *in) {
    f->head = fai_pose_identity();
    f->head = f->felt = fai_felt_at(f, motion, in, &f->head, in->time, 1);
}

// Rotation vector and translation of a motion times `share`.
static FaPose share_of(const FaPose *move, double share) {
    FaPose out = fai_pose_identity();
    double r[3];
    fai_q_log(move->q, r);
    fai_v3_scale(share, r, r);
    fai_q_exp(r, out.q);
    fai_v3_scale(share, move->p, out.p);
    return out;
}

FaPose fai_felt_pose(const FaFeltHead *f, const FaPose *to) {
    if (f->share == 1) return *to;
    if (f->share == 0 || !memcmp(to, &f->head, sizeof *to)) return f->felt;
    FaPose back = fai_pose_inverse(&f->head), move = fai_pose_mul(&back, to);
    move = share_of(&move, f->share);
    return fai_pose_mul(&f->felt, &move);
}

void fai_felt_velocity(const FaFeltHead *f, const FaPoseCurve *curve, double time, double v[3], double omega[3]) {
    FaMotion motion = {0};
    if (curve) fai_pose_curve_eval(curve, time, &motion);
    fai_v3_scale(f->share, motion.v, v);
    fai_v3_scale(f->share, motion.omega, omega);
}

void fai_felt_restart(FaFeltHead *f, const FaPoseCurve *motion, double time, const FaPose *to, double h, double v[3],
                      double omega[3]) {
    FaMotion now = {0};
    double turn[3], q[4];
    if (motion) fai_pose_curve_eval(motion, time, &now);
    f->head = *to;
    fai_v3_mad(to->p, -h, now.v, f->head.p);
    fai_v3_scale(-h, now.omega, turn);
    fai_q_exp(turn, q);
    fai_q_mul(to->q, q, f->head.q);
    f->felt = f->head;
    fai_felt_velocity(f, motion, time, v, omega);
}

void fai_felt_gravity(const FaFeltHead *f, const FaPose *to, double accel[3]) {
    double down[3] = {0, -FAI_GRAVITY, 0}, upright[3], g[3];
    fai_v3_scale(-FAI_GRAVITY, f->up, upright);
    fai_relative_gravity(to, down, upright, 1, g);
    bool turned = to->q[0] != 0 || to->q[1] != 0 || to->q[2] != 0;
    for (int k = 0; k < 3; k++) accel[k] = (1 - f->gravity) * upright[k] + (turned ? f->share * g[k] : 0);
}

// Based on: thesis 001 section 5.3.2 (the jaw as a rigid bone); the part of the angle is found to fit an opening jaw to
// 0.001 mm on the shipped head (shape_solve.h).
#include "blendforces/jaw_carry.h"

#include "math/mat3.h"
#include "rig/jaw.h"

#include <math.h>

static const double DROP = 1e-7; // m: leftovers below this are left out

typedef struct Motion {
    double turn[3];  // rotation vector of the whole jaw
    double slide[3]; // m, after the turn about the hinge
} Motion;

static Motion motion_at(const FaJawCarry *c, const float *weights) {
    FaPose pose = fai_jaw_pose(&c->jaw, weights);
    Motion m;
    double rh[3];
    fai_q_log(pose.q, m.turn);
    fai_q_rotate(pose.q, c->jaw.hinge, rh);
    double w = (double)weights[c->shape[0]];
    const double *up = c->rig->axes + 3, *front = c->rig->axes + 6;
    for (int k = 0; k < 3; k++) {
        m.slide[k] = pose.p[k] - c->jaw.hinge[k] + rh[k] + w * (c->more[1] * up[k] + c->more[2] * front[k]);
        m.turn[k] += w * c->more[0] * c->jaw.axis[k];
    }
    return m;
}

static void part_of(const FaJawCarry *c, const Motion *m, double b, double frame[12]) {
    double turn[3], q[4], r[9], rh[3];
    fai_v3_scale(b, m->turn, turn);
    fai_q_exp(turn, q);
    fai_q_to_m3(q, r);
    fai_m3_mulv(r, c->jaw.hinge, rh);
    for (int k = 0; k < 3; k++) {
        for (int l = 0; l < 3; l++) frame[4 * k + l] = r[3 * k + l];
        frame[4 * k + 3] = c->jaw.hinge[k] - rh[k] + b * m->slide[k];
    }
}

void fai_jaw_table(const FaJawCarry *c, const float *weights, FaJawTable *table) {
    table->still = weights[c->shape[0]] == 0;
    if (table->still) return;
    Motion m = motion_at(c, weights);
    for (int i = 0; i < FA_JAW_STEPS + 2; i++) {
        double frame[12];
        part_of(c, &m, (double)i / FA_JAW_STEPS, frame);
        for (int k = 0; k < 12; k++)
            table->frame[i][k] = (float)(frame[k] - (k % 5 == 0)); // less the identity: its digits count
    }
}

void fai_jaw_apply(const FaJawTable *table, float b, const float x[3], float out[3]) {
    if (table->still || b <= 0) {
        memmove(out, x, 3 * sizeof *out);
        return;
    }
    float at = (b < 1 ? b : 1) * FA_JAW_STEPS, part, d[3];
    int i = (int)at;
    part = at - (float)i;
    const float *p = table->frame[i], *q = table->frame[i + 1];
    for (int k = 0; k < 3; k++) {
        float f[4];
        for (int l = 0; l < 4; l++) f[l] = p[4 * k + l] + part * (q[4 * k + l] - p[4 * k + l]);
        d[k] = f[0] * x[0] + f[1] * x[1] + f[2] * x[2] + f[3];
    }
    for (int k = 0; k < 3; k++) out[k] = x[k] + d[k];
}

void fai_jaw_point_frames(FaJawCarry *c, const float *weights, double *frame) {
    Motion m = motion_at(c, weights);
    double close = c->close >= 0 ? (double)weights[c->close] : 0;
    for (int i = 0; i < c->npoint; i++) {
        double *f = frame + 12 * (size_t)i;
        part_of(c, &m, c->point[i], f);
        for (int k = 0; k < 3 && close != 0; k++)
            f[4 * k + 3] += close * (double)c->close_point[3 * (size_t)i + (size_t)k];
    }
}

void fai_jaw_close(const FaJawCarry *c, const float *weights, float *surface) {
    if (c->close < 0 || weights[c->close] == 0) return;
    const FaShape *s = &c->rig->shape[c->close];
    for (int e = s->first; e < s->first + s->count; e++)
        for (size_t k = 0; k < 3; k++)
            surface[3 * (size_t)c->rig->row[e] + k] += weights[c->close] * c->rig->delta[3 * (size_t)e + k];
}

static void carrier_frames(void *user, const double *w, int npoint, double *frame) {
    FaJawCarry *c = user;
    (void)npoint;
    for (int i = 0; i < c->nshape; i++) c->weight[c->shape[i]] = (float)w[i];
    fai_jaw_point_frames(c, c->weight, frame);
}

FaShapeCarrier fai_jaw_carrier(FaJawCarry *c) {
    if (!c || !c->nshape) return (FaShapeCarrier){0};
    return (FaShapeCarrier){.nshape = c->nshape, .shape = c->shape, .frame = carrier_frames, .user = c, .exact = true};
}

// --- the rest frame's shapes --------------------------------------------------------------------------------------

// What carried shape j leaves at a vertex when its frame is taken back: A(1)^-1 (x + d) - x, A a rigid frame.
static void leftover(const FaJawCarry *c, const Motion *m, const float *x, const float *d, float b, float out[3]) {
    double f[12], y[3], z[3];
    part_of(c, m, (double)b, f);
    for (int k = 0; k < 3; k++) y[k] = (double)x[k] + (double)d[k] - f[4 * k + 3];
    for (int k = 0; k < 3; k++) z[k] = f[k] * y[0] + f[4 + k] * y[1] + f[8 + k] * y[2] - (double)x[k];
    bool some = fabs(z[0]) + fabs(z[1]) + fabs(z[2]) > DROP;
    for (int k = 0; k < 3; k++) out[k] = some ? (float)z[k] : 0;
}

static bool is_carried(const FaJawCarry *c, int shape) {
    for (int i = 0; i < c->nshape; i++)
        if (c->shape[i] == shape) return true;
    return false;
}

// Entries of one shape in the rest frame, appended; dense: scratch (nvert x 3), zero before and after.
static void put_shape(FaJawCarry *c, const FaRig *rig, int j, float *dense) {
    const FaShape *from = &rig->shape[j];
    FaRig *to = c->rest;
    to->shape[j].first = to->nentry;
    if (!is_carried(c, j)) {
        memcpy(to->row + to->nentry, rig->row + from->first, (size_t)from->count * sizeof *to->row);
        memcpy(to->delta + 3 * (size_t)to->nentry, rig->delta + 3 * (size_t)from->first,
               3 * (size_t)from->count * sizeof *to->delta);
        to->nentry += from->count;
        return;
    }
    to->shape[j].count = 0;
    if (j == c->close) return;
    for (int e = from->first; e < from->first + from->count; e++)
        memcpy(dense + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *dense);
    c->weight[j] = 1;
    Motion m = motion_at(c, c->weight);
    c->weight[j] = 0;
    for (int v = 0; v < c->nvert; v++) {
        float *out = to->delta + 3 * (size_t)to->nentry, *d = dense + 3 * (size_t)v;
        leftover(c, &m, rig->mesh.x + 3 * (size_t)v, d, c->belong[v], out);
        memset(d, 0, 3 * sizeof *d);
        if (out[0] == 0 && out[1] == 0 && out[2] == 0) continue;
        to->row[to->nentry++] = v;
    }
    to->shape[j].count = to->nentry - to->shape[j].first;
}

static FaCode make_rest(FaJawCarry *c, const FaRig *rig, FaError *err) {
    size_t most = (size_t)rig->nentry + (size_t)c->nshape * (size_t)c->nvert + 1;
    float *dense = FA_NEW(3 * (size_t)c->nvert, float);
    c->rest = FA_PUSH(c->arena, 1, FaRig);
    FaCode rc = dense && c->rest ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        *c->rest = (FaRig){
            .mesh = rig->mesh, .nshape = rig->nshape, .weight = rig->weight, .name = rig->name, .path = rig->path};
        memcpy(c->rest->axes, rig->axes, sizeof rig->axes);
        c->rest->shape = FA_PUSH(c->arena, rig->nshape, FaShape);
        c->rest->row = FA_PUSH(c->arena, most, int);
        c->rest->delta = FA_PUSH(c->arena, 3 * most, float);
        if (!c->rest->shape || !c->rest->row || !c->rest->delta) rc = FA_FAIL_MEMORY(err);
    }
    if (rc >= 0) {
        memcpy(c->rest->shape, rig->shape, (size_t)rig->nshape * sizeof *rig->shape);
        for (int j = 0; j < rig->nshape; j++) put_shape(c, rig, j, dense);
    }
    fa_free(dense);
    return rc;
}

static FaCode find_close(FaJawCarry *c, const FaRig *rig, const FaSurfacePoint *point, FaError *err) {
    for (int j = 0; j < rig->nshape && c->close < 0; j++)
        if (rig->shape[j].arkit >= 0 && rig->shape[j].half == 0 &&
            !strcmp(fa_arkit_name(rig->shape[j].arkit), "mouthClose"))
            c->close = j;
    if (c->close < 0 || c->close == c->shape[0]) return FA_OK;
    const FaShape *s = &rig->shape[c->close];
    float *dense = FA_NEW(3 * (size_t)c->nvert, float);
    c->close_point = FA_PUSH(c->arena, 3 * (size_t)c->npoint, float);
    FaCode rc = dense && c->close_point ? FA_OK : FA_FAIL_MEMORY(err);
    for (int e = s->first; rc >= 0 && e < s->first + s->count; e++)
        memcpy(dense + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *dense);
    for (int i = 0; rc >= 0 && i < c->npoint; i++)
        for (int q = 0; q < 3; q++)
            for (size_t k = 0; k < 3; k++)
                c->close_point[3 * (size_t)i + k] += point[i].bary[q] * dense[3 * (size_t)point[i].vert[q] + k];
    fa_free(dense);
    c->shape[c->nshape++] = c->close;
    return rc;
}

static FaCode fill(FaJawCarry *c, const FaRig *rig, const FaSurfacePoint *point, FaError *err) {
    c->belong = FA_PUSH(c->arena, c->nvert, float);
    c->point = FA_PUSH(c->arena, c->npoint, double);
    c->weight = FA_PUSH(c->arena, rig->nshape, float);
    if (!c->belong || !c->point || !c->weight) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_fit_jaw(rig, &c->jaw, c->belong, NULL, err));
    if (!c->jaw.found) return FA_OK;
    for (int i = 1; i < 4; i++) c->jaw.shape[i] = -1;
    c->jaw.nmore = 0;
    c->shape[c->nshape++] = c->jaw.shape[0];
    FA_TRY(find_close(c, rig, point, err));
    for (int v = 0; v < c->nvert; v++) c->belong[v] = fminf(fmaxf(c->belong[v], 0), 1);
    for (int i = 0; i < c->npoint; i++)
        for (int k = 0; k < 3; k++) c->point[i] += (double)point[i].bary[k] * (double)c->belong[point[i].vert[k]];
    return make_rest(c, rig, err);
}

FaCode fai_jaw_carry_new(const FaRig *rig, int npoint, const FaSurfacePoint *point, FaJawCarry **carry, FaError *err) {
    *carry = NULL;
    FaJawCarry *c = FA_NEW(1, FaJawCarry);
    if (!c) return FA_FAIL_MEMORY(err);
    c->rig = rig;
    c->close = -1;
    c->nvert = rig->mesh.nvert;
    c->npoint = npoint;
    c->arena = fai_arena_new(0);
    FaCode rc = c->arena ? fill(c, rig, point, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_jaw_carry_free(c);
    else
        *carry = c;
    return rc;
}

void fai_jaw_carry_free(FaJawCarry *c) {
    if (!c) return;
    fai_arena_free(c->arena);
    fa_free(c);
}

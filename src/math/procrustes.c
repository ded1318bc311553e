// Based on: [Kab76] Kabsch 1976 and [Ume91] Umeyama 1991 (least squares, with scale); [GM87] Geman, McClure 1987 (the
// weight function), width brought down in stages as in graduated non-convexity.
#include "math/procrustes.h"

#include "base/task.h"
#include "math/mat3.h"

#include <math.h>

static bool finite3(const double *p) { return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]); }

static double weight_of(const double *from, const double *to, const double *weight, int i) {
    double w = weight ? weight[i] : 1;
    return isfinite(w) && w > 0 && finite3(from + 3 * (size_t)i) && finite3(to + 3 * (size_t)i) ? w : 0;
}

// --- least squares ------------------------------------------------------------------------------------------------

typedef struct Moments {
    int used;
    double weight, from[3], to[3]; // total, centres
    double spread, spread_to;      // weighted mean squared distance from the centre
    double cov[9];                 // mean of (to - centre) (from - centre)'
} Moments;

static Moments moments(int n, const double *from, const double *to, const double *weight) {
    Moments m = {0};
    for (int i = 0; i < n; i++) {
        double w = weight_of(from, to, weight, i);
        m.used += w > 0;
        m.weight += w;
        for (int k = 0; k < 3 && w > 0; k++) {
            m.from[k] += w * from[3 * (size_t)i + (size_t)k];
            m.to[k] += w * to[3 * (size_t)i + (size_t)k];
        }
    }
    if (!m.used) return m;
    for (int k = 0; k < 3; k++) m.from[k] /= m.weight, m.to[k] /= m.weight;
    for (int i = 0; i < n; i++) {
        double w = weight_of(from, to, weight, i) / m.weight, a[3], b[3];
        if (w == 0) continue;
        fai_v3_sub(from + 3 * (size_t)i, m.from, a);
        fai_v3_sub(to + 3 * (size_t)i, m.to, b);
        m.spread += w * fai_v3_dot(a, a);
        m.spread_to += w * fai_v3_dot(b, b);
        for (int r = 0; r < 3; r++)
            for (int c = 0; c < 3; c++) m.cov[3 * r + c] += w * b[r] * a[c];
    }
    return m;
}

// The shortest rotation that takes unit vector a to unit vector b.
static void shortest(const double a[3], const double b[3], double r[9]) {
    double q[4], h[3];
    fai_v3_add(a, b, h);
    if (fai_v3_normalize(h) && fai_v3_dot(a, h) > 1e-6) {
        fai_v3_cross(a, h, q);
        q[3] = fai_v3_dot(a, h);
    } else {
        // opposite: half a turn about anything at right angles
        int least = fabs(a[0]) <= fabs(a[1]) && fabs(a[0]) <= fabs(a[2]) ? 0 : fabs(a[1]) <= fabs(a[2]) ? 1 : 2;
        double e[3] = {least == 0, least == 1, least == 2};
        fai_v3_cross(a, e, q);
        fai_v3_normalize(q);
        q[3] = 0;
    }
    fai_q_normalize(q);
    fai_q_to_m3(q, r);
}

// Rotation and kind from the moments: cov = U S V', R = U V' [Ume91].
static FaAlignKind rotation(const Moments *m, double r[9], double *trace) {
    fai_m3_identity(r);
    *trace = 0;
    if (!m->used) return FA_ALIGN_NONE;
    double size = sqrt(m->spread * m->spread_to), far = fai_v3_dot(m->from, m->from) + fai_v3_dot(m->to, m->to);
    if (!(size > 0) || m->spread < 1e-20 * far || m->spread_to < 1e-20 * far) return FA_ALIGN_TRANSLATION;
    double u[9], s[3], v[9], vt[9];
    fai_m3_svd(m->cov, u, s, v);
    if (s[0] < 1e-9 * size) return FA_ALIGN_TRANSLATION; // the sets have nothing in common
    *trace = s[0] + s[1] + s[2];
    if (s[1] < 1e-9 * size) {
        double a[3] = {v[0], v[3], v[6]}, b[3] = {u[0], u[3], u[6]};
        shortest(a, b, r);
        return FA_ALIGN_AXIS;
    }
    fai_m3_transpose(v, vt);
    fai_m3_mul(u, vt, r);
    return s[1] + s[2] < 1e-9 * size ? FA_ALIGN_AMBIGUOUS : FA_ALIGN_FULL;
}

static void measure(int n, const double *from, const double *to, const double *weight, FaAlign *a) {
    double sum = 0, total = 0;
    a->worst = 0;
    for (int i = 0; i < n; i++) {
        double w = weight_of(from, to, weight, i), y[3], d[3];
        if (w == 0) continue;
        fai_align_apply(a, from + 3 * (size_t)i, y);
        fai_v3_sub(y, to + 3 * (size_t)i, d);
        double e = fai_v3_dot(d, d);
        sum += w * e;
        total += w;
        a->worst = fmax(a->worst, sqrt(e));
    }
    a->rms = total > 0 ? sqrt(sum / total) : 0;
}

FaAlign fai_align(int n, const double *from, const double *to, const double *weight, bool scaled) {
    FaAlign a = {.scale = 1};
    Moments m = moments(n, from, to, weight);
    double trace;
    a.used = m.used;
    a.kind = rotation(&m, a.rotation, &trace);
    if (scaled && a.kind >= FA_ALIGN_AXIS && trace > 0) a.scale = trace / m.spread;
    double y[3];
    fai_align_apply(&a, m.from, y); // translation is still 0
    fai_v3_sub(m.to, y, a.translation);
    measure(n, from, to, weight, &a);
    return a;
}

FaPose fai_align_pose(const FaAlign *a) {
    FaPose p = fai_pose_identity();
    fai_q_from_m3(a->rotation, p.q);
    memcpy(p.p, a->translation, sizeof p.p);
    return p;
}

// --- outliers -----------------------------------------------------------------------------------------------------

FaAlign fai_align_robust(int n, const double *from, const double *to, const double *weight, bool scaled, double width,
                         double *own) {
    for (int i = 0; i < n; i++) own[i] = weight_of(from, to, weight, i);
    FaAlign a = fai_align(n, from, to, own, scaled), first = a;
    if (a.kind < FA_ALIGN_AMBIGUOUS || !(width > 0)) return a;
    int last = 0;
    for (double at = fmax(a.worst, width); last < 3;) {
        // [GM87]: w = 1 / (1 + (e / at)^2)^2
        for (int i = 0; i < n; i++) {
            double w = weight_of(from, to, weight, i), y[3], d[3];
            own[i] = 0;
            if (w == 0) continue;
            fai_align_apply(&a, from + 3 * (size_t)i, y);
            fai_v3_sub(y, to + 3 * (size_t)i, d);
            double q = 1 + fai_v3_dot(d, d) / (at * at);
            own[i] = w / (q * q);
        }
        FaAlign next = fai_align(n, from, to, own, scaled);
        if (next.kind < FA_ALIGN_AMBIGUOUS) return first; // weights left too little
        a = next;
        last += at <= width;
        at = fmax(at * 0.7, width);
    }
    return a;
}

// --- a take -------------------------------------------------------------------------------------------------------

enum { ROUNDS = 8, FRAME_CHUNK = 64 };

typedef struct Take {
    const FaStillTake *in;
    int n;
    double floor;
    double *rest;   // (n x 3)
    double *weight; // (n)
    double *at;     // markers, own weights: scratch per chunk      (chunks x 4 n)
    double *part;   // sums of squared motion, counts               (chunks x 2 n)
    FaAlign *align; // (nframe)
} Take;

static void align_frames(void *ctx, int begin, int end, int chunk) {
    Take *t = ctx;
    size_t n = (size_t)t->n;
    double *at = t->at + 4 * n * (size_t)chunk, *own = at + 3 * n, *part = t->part + 2 * n * (size_t)chunk;
    memset(part, 0, 2 * n * sizeof *part);
    for (int f = begin; f < end; f++) {
        const float *x = t->in->x + 3 * n * (size_t)f;
        for (size_t i = 0; i < 3 * n; i++) at[i] = (double)x[i];
        t->align[f] = fai_align_robust(t->n, t->rest, at, t->weight, false, 4 * t->floor, own);
        if (t->align[f].kind != FA_ALIGN_FULL) continue;
        for (size_t i = 0; i < n; i++) {
            double y[3], d[3];
            if (!finite3(at + 3 * i) || !finite3(t->rest + 3 * i)) continue;
            fai_align_apply(&t->align[f], t->rest + 3 * i, y);
            fai_v3_sub(y, at + 3 * i, d);
            part[2 * i] += fai_v3_dot(d, d);
            part[2 * i + 1] += 1;
        }
    }
}

static double trust_of(const Take *t, int i) {
    double w = t->in->trust ? (double)t->in->trust[i] : 1;
    return isfinite(w) && w > 0 && finite3(t->rest + 3 * (size_t)i) ? w : 0;
}

// Weights from squared motions: 1 / (motion^2 + floor^2), the largest is 1.
static void set_weights(Take *t, const double *motion) {
    double most = 0;
    for (int i = 0; i < t->n; i++) {
        double w = trust_of(t, i);
        t->weight[i] = w > 0 && motion[i] >= 0 ? w / (motion[i] + t->floor * t->floor) : 0;
        most = fmax(most, t->weight[i]);
    }
    for (int i = 0; i < t->n && most > 0; i++) t->weight[i] /= most;
}

static double pair_distance(const float *a, const float *b) {
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = (double)a[k] - (double)b[k];
    return fai_v3_norm(d);
}

// First guess: how much the distances of each to the others vary, the lower quartile over the others (a marker on the
// skull keeps its distance to the others on the skull, whatever the jaw does). motion: -1 where nothing can be said.
static void first_guess(const Take *t, double *var, double *motion) {
    int n = t->n;
    for (int i = 0; i < n; i++) {
        int count = 0;
        for (int j = 0; j < n; j++) {
            if (j == i || trust_of(t, j) == 0 || trust_of(t, i) == 0) continue;
            double sum = 0, sum2 = 0;
            int frames = 0;
            for (int f = 0; f < t->in->nframe; f++) {
                const float *x = t->in->x + 3 * (size_t)n * (size_t)f;
                double d = pair_distance(x + 3 * i, x + 3 * j);
                if (!isfinite(d)) continue;
                sum += d;
                sum2 += d * d;
                frames++;
            }
            if (frames < 2) continue;
            double v = fmax(sum2 / frames - sum / frames * (sum / frames), 0);
            // insert in order
            int at = count++;
            for (; at > 0 && var[at - 1] > v; at--) var[at] = var[at - 1];
            var[at] = v;
        }
        motion[i] = count ? var[count / 4] : -1;
    }
}

// Pose, weights, pose, ...: what each moves against the head that all agree on.
static void refine(Take *t, double *motion) {
    int chunks = fai_chunks(t->in->nframe, FRAME_CHUNK);
    for (int round = 0; round < ROUNDS; round++) {
        fai_parallel(t->in->nframe, FRAME_CHUNK, align_frames, t);
        if (round == ROUNDS - 1) break;
        bool any = false;
        for (int i = 0; i < t->n; i++) {
            double sum = 0, count = 0;
            for (int c = 0; c < chunks; c++) {
                sum += t->part[2 * (size_t)t->n * (size_t)c + 2 * (size_t)i];
                count += t->part[2 * (size_t)t->n * (size_t)c + 2 * (size_t)i + 1];
            }
            motion[i] = count > 0 ? sum / count : -1;
            any |= count > 0;
        }
        if (!any) break;
        set_weights(t, motion);
    }
}

static FaCode write_poses(const Take *t, FaPose *pose, unsigned char *found, FaStillReport *rep, FaError *err) {
    int first = -1;
    for (int f = 0; f < t->in->nframe; f++) {
        found[f] = t->align[f].kind == FA_ALIGN_FULL && t->align[f].used >= 3;
        if (found[f] && first < 0) first = f;
        if (!found[f] && rep->first_lost < 0) rep->first_lost = f;
        rep->frames_found += found[f];
        rep->motion += found[f] ? t->align[f].rms * t->align[f].rms : 0;
    }
    if (first < 0)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "check that marker names and the rest positions belong together",
                       "no frame has three usable markers that are not in a line");
    rep->motion = sqrt(rep->motion / rep->frames_found);
    for (int f = 0; f < t->in->nframe; f++) {
        int from = found[f] ? f : f > 0 ? -1 : first;
        pose[f] = from >= 0 ? fai_align_pose(&t->align[from]) : pose[f - 1];
    }
    return FA_OK;
}

FaCode fai_still_poses(const FaStillTake *take, FaPose *pose, unsigned char *found, float *still, FaStillReport *report,
                       FaError *err) {
    FaStillReport none, *rep = report ? report : &none;
    *rep = (FaStillReport){.first_lost = -1};
    if (take->nframe < 1 || take->nmarker < 3 || !(take->floor >= 0) || !isfinite(take->floor))
        return FA_FAIL(err, FA_E_ARG, NULL, "give at least one frame of three markers, and a floor of 0 or more",
                       "a pose cannot be found from %d frames of %d markers", take->nframe, take->nmarker);
    FaArena *arena = fai_arena_new(0);
    if (!arena) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)take->nmarker, chunks = (size_t)fai_chunks(take->nframe, FRAME_CHUNK);
    Take t = {.in = take, .n = take->nmarker, .floor = take->floor > 0 ? take->floor : 0.0005};
    t.rest = FA_PUSH(arena, 3 * n, double);
    t.weight = FA_PUSH(arena, n, double);
    t.at = FA_PUSH(arena, 4 * n * chunks, double);
    t.part = FA_PUSH(arena, 2 * n * chunks, double);
    t.align = FA_PUSH(arena, take->nframe, FaAlign);
    double *motion = FA_PUSH(arena, 2 * n, double);
    FaCode rc = FA_OK;
    if (!t.rest || !t.weight || !t.at || !t.part || !t.align || !motion) {
        rc = FA_FAIL_MEMORY(err);
    } else {
        for (size_t i = 0; i < 3 * n; i++) t.rest[i] = (double)take->rest[i];
        first_guess(&t, motion + n, motion);
        set_weights(&t, motion);
        // one frame says nothing about motion: all alike
        if (take->nframe == 1)
            for (int i = 0; i < t.n; i++) t.weight[i] = trust_of(&t, i);
        refine(&t, motion);
        rc = write_poses(&t, pose, found, rep, err);
    }
    double sum = 0, sum2 = 0;
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        still[i] = (float)t.weight[i];
        sum += t.weight[i];
        sum2 += t.weight[i] * t.weight[i];
    }
    rep->effective = sum2 > 0 ? sum * sum / sum2 : 0;
    fai_arena_free(arena);
    return rc;
}

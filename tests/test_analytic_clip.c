// Analytic dynamics of clips: exact, stable, independent of the frame rate, without allocation, the same for any thread
// count.
// labels: unit hash
#include "test_rig_head.h"

#include "analytic/analytic.h"
#include "fascia/analytic.h"
#include "math/mat3.h"
#include "math/oscillator.h"
#include "math/pose_curve.h"

enum { NSHAPE = HEAD_SHAPES };

// --- helpers ------------------------------------------------------------------------------------------------------

static FaMethod *open_with(const FaRig *rig, const char *json) {
    FaError err = {0};
    FaParams *p;
    FaMethod *m;
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_read(p, json, &err), &err);
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p}, &m, &err), &err);
    fa_params_free(p);
    return m;
}

static float *new_surface(const FaRig *rig) { return calloc(3 * (size_t)rig->mesh.nvert, sizeof(float)); }

// A clip of the head's shapes; weights by fill(shape, time).
typedef double WeightFn(int shape, double time);
static FaClip *make_clip(const FaRig *rig, int nframe, double fps, WeightFn *fill) {
    FaError err = {0};
    const char *names[NSHAPE];
    FaClip *clip;
    for (int s = 0; s < rig->nshape; s++) names[s] = rig->shape[s].name;
    CHECK_OK(fa_clip_new(nframe, rig->nshape, names, fps, &clip, &err), &err);
    for (int f = 0; f < nframe; f++)
        for (int s = 0; s < rig->nshape; s++) clip->weight[f * rig->nshape + s] = (float)fill(s, clip->time[f]);
    return clip;
}

// Jumps between random values at multiples of 1/6 s, linear between them: knots of 24, 30, 60 and 120 frames per
// second.
static double knots(int s, double t) {
    double at = floor(t * 6 + 1e-9), u = t * 6 - at;
    double a = fai_random_unit(5, (uint64_t)(1000 * s) + (uint64_t)at),
           b = fai_random_unit(5, (uint64_t)(1000 * s) + (uint64_t)at + 1);
    return a + u * (b - a);
}

static double jumpy(int s, double t) {
    return fai_random_unit(6, (uint64_t)(100000 * s) + (uint64_t)floor(t * 60 + 0.5));
}

static void add_motion(FaClip *clip) {
    clip->head = fai_resize(NULL, (size_t)clip->nframe * sizeof *clip->head);
    for (int f = 0; f < clip->nframe; f++) {
        double t = clip->time[f], turn[3] = {0.3 * sin(5 * t), 0.4 * sin(7 * t + 1), 0.1 * sin(3 * t)};
        fai_q_exp(turn, clip->head[f].q);
        fai_v3_set(clip->head[f].p, 0.02 * sin(9 * t), 0.05 * sin(11 * t), 0.03 * cos(6 * t));
    }
}

// Fine Runge-Kutta of m y'' + c y' + k y = k w, w linear from w0 to w1 over h.
static void runge_kutta(const FaOscillator *o, double h, double w0, double w1, int n, double *y, double *v) {
    double d = h / n;
#define ACC(t, py, pv) ((o->stiffness * (w0 + (w1 - w0) * (t) / h - (py)) - o->damping * (pv)) / o->mass)
    for (int i = 0; i < n; i++) {
        double t = d * i, k1y = *v, k1v = ACC(t, *y, *v);
        double k2y = *v + d / 2 * k1v, k2v = ACC(t + d / 2, *y + d / 2 * k1y, k2y);
        double k3y = *v + d / 2 * k2v, k3v = ACC(t + d / 2, *y + d / 2 * k2y, k3y);
        double k4y = *v + d * k3v, k4v = ACC(t + d, *y + d * k3y, k4y);
        *y += d / 6 * (k1y + 2 * k2y + 2 * k3y + k4y);
        *v += d / 6 * (k1v + 2 * k2v + 2 * k3v + k4v);
    }
#undef ACC
}

// --- exactness ----------------------------------------------------------------------------------------------------

// A ramp from rest has a closed form: y = w - r (c/k - e^(at) (...)); here through the oscillator's ramp response, and
// in the underdamped case through the textbook's formula.
static void test_ramp(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMethod *m = open_with(rig, "{\"mass\":1,\"damping\":2,\"stiffness\":26}");
    float *x = new_surface(rig), w[NSHAPE] = {0};
    FaInput in = {.weights = w};
    CHECK_OK(fa_method_reset(m, &in, x, &err), &err);
    double slope = 1.0 / 64, worst = 0; // exact in floats at multiples of 1/32 s
    for (int f = 1; f <= 400; f++) {
        in.time = f / 32.0;
        for (int s = 0; s < NSHAPE; s++) w[s] = (float)(slope * in.time * (s + 1));
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
        double t = in.time, a = -1, b = 5, lag = 2.0 / 26; // roots a +- i b; lag c/k
        // y = t - lag + e^(at) (lag cos bt + q sin bt), y'(0) = 0: 1 + a lag + q b = 0
        double q = -(1 + a * lag) / b, ramp = t - lag + exp(a * t) * (lag * cos(b * t) + q * sin(b * t));
        for (int s = 0; s < NSHAPE; s++) worst = fmax(worst, fabs(fai_analytic_weights(m)[s] - slope * (s + 1) * ramp));
    }
    print_message("ramp: worst error %.1e\n", worst);
    CHECK_NEAR(worst, 0, 1e-12);
    free(x);
    fa_method_close(m);
    fa_rig_free(rig);
}

static void test_random_weights(void **state) {
    (void)state;
    static const char *const params[] = {"{\"preset\":\"soft\"}", "{\"preset\":\"jelly\"}", "{\"preset\":\"firm\"}",
                                         "{\"frequency\":3,\"ratio\":4}"};
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    float *x = new_surface(rig), w[NSHAPE];
    for (int i = 0; i < FA_COUNT(params); i++) {
        FaMethod *m = open_with(rig, params[i]);
        FaOscillator o = fai_analytic_oscillator(m);
        double y[NSHAPE], v[NSHAPE] = {0}, last[NSHAPE], before = 0, worst = 0;
        for (int f = 0; f < 120; f++) {
            // uneven steps, as trackers have them
            FaInput in = {.time = before + (f ? 0.008 + 0.03 * fai_random_unit(9, (uint64_t)f) : 0), .weights = w};
            for (int s = 0; s < NSHAPE; s++) w[s] = (float)jumpy(s, f / 60.0);
            CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
            for (int s = 0; s < NSHAPE; s++) {
                if (f == 0)
                    y[s] = (double)w[s];
                else
                    runge_kutta(&o, in.time - before, last[s], (double)w[s], 200, &y[s], &v[s]);
                last[s] = (double)w[s];
                worst = fmax(worst, fabs(y[s] - fai_analytic_weights(m)[s]));
            }
            before = in.time;
        }
        print_message("%s: worst distance to Runge-Kutta %.1e\n", params[i], worst);
        CHECK_NEAR(worst, 0, 2e-10); // what Runge-Kutta leaves
        fa_method_close(m);
    }
    free(x);
    fa_rig_free(rig);
}

// The same motion at four frame rates: equal at common times, to the rounding of the weights.
static void test_frame_rates(void **state) {
    (void)state;
    FaError err = {0};
    static const int rates[] = {24, 30, 60, 120};
    FaRig *rig = head_rig(NULL);
    double seen[4][13][NSHAPE];
    float *x[4] = {new_surface(rig), new_surface(rig), new_surface(rig), new_surface(rig)};
    for (int r = 0; r < 4; r++) {
        FaMethod *m = open_with(rig, "{\"preset\":\"jelly\"}");
        FaClip *clip = make_clip(rig, 2 * rates[r] + 1, rates[r], knots);
        FaRun *run;
        CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
        for (int f = 0; f < clip->nframe; f++) {
            CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x[r], &err), &err);
            if (f * 6 % rates[r] == 0) memcpy(seen[r][f * 6 / rates[r]], fai_analytic_weights(m), sizeof seen[0][0]);
        }
        fa_run_free(run);
        fa_clip_free(clip);
        fa_method_close(m);
    }
    double worst = 0, moved = 0, far = 0;
    for (int r = 1; r < 4; r++) {
        for (int i = 0; i < 13; i++)
            for (int s = 0; s < NSHAPE; s++) {
                worst = fmax(worst, fabs(seen[r][i][s] - seen[0][i][s]));
                moved = fmax(moved, fabs(seen[0][i][s] - knots(s, i / 6.0)));
            }
        for (int i = 0; i < 3 * rig->mesh.nvert; i++) far = fmax(far, fabs((double)x[r][i] - (double)x[0][i]));
    }
    print_message("24/30/60/120 fps: weights differ by %.1e, positions by %.1e m; dynamics move weights by %.2f\n",
                  worst, far, moved);
    CHECK_NEAR(worst, 0, 1e-6);
    CHECK_NEAR(far, 0, 1e-7);
    assert_true(moved > 0.05);
    for (int r = 0; r < 4; r++) free(x[r]);
    fa_rig_free(rig);
}

// Any parameters, any step: never more than the clip's own range times the overshoot of a step, and nothing that is not
// finite.
static void test_stability(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    float *x = new_surface(rig), w[NSHAPE];
    for (int i = 0; i < 60; i++) {
        char json[200];
        double m = pow(10, -6 + 9 * fai_random_unit(1, (uint64_t)i)),
               k = pow(10, -6 + 18 * fai_random_unit(2, (uint64_t)i));
        double c = 2 * sqrt(m * k) * pow(10, -3 + 5 * fai_random_unit(3, (uint64_t)i));
        snprintf(json, sizeof json, "{\"mass\":%.17g,\"damping\":%.17g,\"stiffness\":%.17g}", m, c, k);
        FaMethod *method = open_with(rig, json);
        double time = 0, h = pow(10, -4 + 5 * fai_random_unit(4, (uint64_t)i));
        for (int f = 0; f < 300; f++) {
            for (int s = 0; s < NSHAPE; s++) w[s] = (float)jumpy(s, f / 60.0);
            FaInput in = {.time = time += h * (0.1 + fai_random_unit(5, (uint64_t)f)), .weights = w};
            CHECK_OK(fa_method_step(method, &in, x, NULL, &err), &err);
            // bounded by resonance: gain at resonance 1 / (2 ratio), inputs within 0..1
            for (int s = 0; s < NSHAPE; s++)
                assert_true(fabs(fai_analytic_weights(method)[s]) <
                            2 + 2 / fmin(fa_oscillator_ratio(&(FaOscillator){m, c, k}), 1));
        }
        fa_method_close(method);
    }
    free(x);
    fa_rig_free(rig);
}

// --- rest ---------------------------------------------------------------------------------------------------------

static double held(int s, double t) {
    (void)t;
    return s == 3 ? 0.7 : s == 6 ? 0.3 : 0;
}

// What does not move equals the linear rig for ever, bit for bit; and a movement comes to rest in it.
static void test_rest(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMethod *m = open_with(rig, "{}");
    float *x = new_surface(rig), *want = new_surface(rig), w[NSHAPE];
    for (int s = 0; s < NSHAPE; s++) w[s] = (float)held(s, 0);
    fa_rig_blend(rig, w, want);
    for (int f = 0; f < 10000; f++) {
        FaInput in = {.time = f / 60.0, .weights = w};
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
    }
    assert_memory_equal(x, want, 3 * (size_t)rig->mesh.nvert * sizeof *x);
    w[0] = 0.9f;
    fa_rig_blend(rig, w, want);
    double moved = 0;
    for (int f = 0; f < 600; f++) {
        FaInput in = {.time = (10000 + f) / 60.0, .weights = w};
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
        if (f < 20)
            for (int i = 0; i < 3 * rig->mesh.nvert; i++) moved = fmax(moved, fabs((double)x[i] - (double)want[i]));
    }
    assert_true(moved > 1e-4);
    assert_memory_equal(x, want, 3 * (size_t)rig->mesh.nvert * sizeof *x);
    free(x);
    free(want);
    fa_method_close(m);
    fa_rig_free(rig);
}

static void test_lag_and_overshoot(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    float *x = new_surface(rig), w[NSHAPE] = {0};
    static const struct {
        const char *json;
        double over;
    } cases[] = {{"{\"preset\":\"firm\"}", 1}, {"{\"ratio\":0.5,\"frequency\":6}", 1.163}};
    for (int i = 0; i < 2; i++) {
        FaMethod *m = open_with(rig, cases[i].json);
        double top = 0, half = 0;
        memset(w, 0, sizeof w);
        CHECK_OK(fa_method_reset(m, &(FaInput){.weights = w}, x, &err), &err);
        w[3] = w[4] = 1; // a smile within a tenth of a millisecond
        for (int f = 0; f < 2000; f++) {
            FaInput in = {.time = 1e-4 + f / 2000.0, .weights = w};
            CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
            double y = fai_analytic_weights(m)[3];
            top = fmax(top, y);
            if (!(half > 0) && y > 0.5) half = in.time;
        }
        CHECK_NEAR(top, cases[i].over, 1e-3); // exp(-pi r / sqrt(1 - r^2)) beyond the target
        assert_true(half > 0.01 && half < 0.06);
        CHECK_NEAR(fai_analytic_weights(m)[3], 1, 1e-3);
        fa_method_close(m);
    }
    free(x);
    fa_rig_free(rig);
}

// --- the head -----------------------------------------------------------------------------------------------------

// The world knows no fictitious forces: integrate a mass on a spring to a point of the moving head, in world
// coordinates, and compare it with the method's answer. The velocity coupling that the method leaves out (-2 omega x v)
// is left out by its counterpart here too: the world's own equation would hold it.
static void test_head_motion(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 121, 60, held);
    add_motion(clip);
    int n = rig->mesh.nvert, probe = 100;
    FaMaps maps = {.gain = calloc((size_t)n, sizeof(float))};
    for (int v = 0; v < n; v++) maps.gain[v] = 1;
    FaParams *p;
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_read(p, "{\"frequency\":8,\"ratio\":0.3,\"head\":0.5,\"rate\":2000}", &err), &err);
    FaMethod *m;
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p, .maps = &maps}, &m, &err), &err);
    FaOscillator o = fai_analytic_oscillator(m);
    FaRun *run;
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    FaPoseCurve *curve;
    CHECK_OK(fai_pose_curve_new(clip->nframe, clip->time, clip->head, FA_ENDS_FREE, &curve, &err), &err);
    float *x = new_surface(rig), *linear = new_surface(rig), w[NSHAPE];
    for (int s = 0; s < NSHAPE; s++) w[s] = (float)held(s, 0);
    fa_rig_blend(rig, w, linear);

    double d[3] = {0}, v[3] = {0}, rest[3], worst = 0, most = 0;
    fai_v3_load(rig->mesh.x, probe, rest);
    for (int f = 0; f < clip->nframe; f++) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        int steps = f ? 200 : 0;
        for (int i = 0; i <= steps; i++) {
            if (f && i == steps) break;
            double h = f ? (clip->time[f] - clip->time[f - 1]) / steps : 0, t = f ? clip->time[f - 1] + h * i : 0;
            for (int stage = 0; stage < (f ? 2 : 1); stage++) { // leapfrog in the frame's force
                FaMotion mo;
                fai_pose_curve_eval(curve, t + (stage ? h : 0), &mo);
                // acceleration that a particle at rest in the head has in the world: p'' + R (alpha x r + omega x
                // (omega x r))
                double ar[3], wr[3], wwr[3], in_head[3], world[3], g[3] = {0, -9.80665, 0};
                fai_v3_cross(mo.alpha, rest, ar);
                fai_v3_cross(mo.omega, rest, wr);
                fai_v3_cross(mo.omega, wr, wwr);
                fai_v3_add(ar, wwr, in_head);
                fai_q_rotate(mo.pose.q, in_head, world);
                fai_v3_add(world, mo.a, world);
                fai_v3_sub(g, world, world); // what acts on the flesh, seen from the world
                double back[4], acc[3];
                fai_q_conj(mo.pose.q, back);
                fai_q_rotate(back, world, acc);
                acc[1] += 9.80665; // the sculpted shape holds 1 g upright
                if (f == 0) {
                    for (int k = 0; k < 3; k++) d[k] = 0.5 * acc[k] * o.mass / o.stiffness;
                    continue;
                }
                double dt = h / 2;
                for (int k = 0; k < 3; k++)
                    v[k] += dt * (0.5 * acc[k] - (o.stiffness * d[k] + o.damping * v[k]) / o.mass);
                if (stage == 0)
                    for (int k = 0; k < 3; k++) d[k] += h * v[k];
            }
        }
        for (int k = 0; k < 3; k++) {
            double got = (double)x[3 * probe + k] - (double)linear[3 * probe + k];
            worst = fmax(worst, fabs(got - d[k]));
            most = fmax(most, fabs(got));
        }
    }
    print_message("head motion: moves by %.2f mm, off by %.4f mm\n", 1e3 * most, 1e3 * worst);
    assert_true(most > 1e-3);
    CHECK_NEAR(worst / most, 0, 5e-3);
    fai_pose_curve_free(curve);
    fa_run_free(run);
    fa_method_close(m);
    fa_params_free(p);
    fa_clip_free(clip);
    fa_rig_free(rig);
    free(maps.gain);
    free(x);
    free(linear);
}

// Tilted and held, flesh sags by m g / k times the change of gravity; upright it does not. Without a curve the poses
// suffice.
static void test_gravity(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    int n = rig->mesh.nvert;
    FaMaps maps = {.gain = calloc((size_t)n, sizeof(float))};
    for (int v = 0; v < n; v++) maps.gain[v] = 1;
    FaMethod *m;
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .maps = &maps}, &m, &err), &err);
    FaOscillator o = fai_analytic_oscillator(m);
    float *x = new_surface(rig), w[NSHAPE] = {0};
    FaInput in = {.weights = w, .head = {.q = {0, 0, 0, 1}}};
    CHECK_OK(fa_method_reset(m, &in, x, &err), &err);
    assert_memory_equal(x, rig->mesh.x, 3 * (size_t)n * sizeof *x);
    in.head = (FaPose){.q = {M_SQRT1_2, 0, 0, M_SQRT1_2}, .p = {1, 2, 3}}; // lying on its back
    for (int f = 1; f < 300; f++) {
        in.time = f / 60.0;
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
    }
    double sag = 0.2 * 9.80665 * o.mass / o.stiffness, down[3], back[4] = {-M_SQRT1_2, 0, 0, M_SQRT1_2},
           g[3] = {0, -1, 0};
    fai_q_rotate(back, g, down);
    for (int k = 0; k < 3; k++)
        CHECK_NEAR((double)x[k] - (double)rig->mesh.x[k], sag * (down[k] - (k == 1 ? -1 : 0)), 1e-6);
    assert_true(sag > 1e-4);
    fa_method_close(m);
    fa_rig_free(rig);
    free(maps.gain);
    free(x);
}

// --- per shape and per vertex -------------------------------------------------------------------------------------

// One oscillator everywhere: per shape and per vertex must agree with the plain method; with head motion too.
static void test_maps_agree(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 90, 30, knots);
    add_motion(clip);
    int n = rig->mesh.nvert;
    FaOscillator o;
    fa_oscillator_preset("soft", &o);
    FaMaps maps[3] = {{0}};
    maps[1].shape = calloc(NSHAPE, sizeof o);
    maps[2].vertex = calloc((size_t)n, sizeof o);
    for (int s = 0; s < NSHAPE; s++) maps[1].shape[s] = o;
    for (int v = 0; v < n; v++) maps[2].vertex[v] = o;
    float *x[3];
    FaMethod *m[3];
    FaRun *run[3];
    FaParams *p;
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "regions", "off", &err), &err);
    for (int i = 0; i < 3; i++) {
        x[i] = new_surface(rig);
        const FaMethodSetup setup = {.rig = rig, .params = p, .maps = &maps[i]};
        CHECK_OK(fa_method_open("analytic", &setup, &m[i], &err), &err);
        CHECK_OK(fa_run_new(m[i], clip, &run[i], &err), &err);
    }
    double worst[3] = {0};
    for (int f = 0; f < clip->nframe; f++) {
        for (int i = 0; i < 3; i++) {
            CHECK_OK(fa_sequence_read(fa_run_sequence(run[i]), f, x[i], &err), &err);
            for (int j = 0; j < 3 * n; j++) worst[i] = fmax(worst[i], fabs((double)x[i][j] - (double)x[0][j]));
        }
    }
    print_message("per vertex against per shape: %.1e m\n", worst[2]);
    assert_true(worst[1] == 0);
    CHECK_NEAR(worst[2], 0, 3e-7);
    fa_params_free(p);
    for (int i = 0; i < 3; i++) {
        fa_run_free(run[i]);
        fa_method_close(m[i]);
        free(x[i]);
        free(maps[i].shape);
        free(maps[i].vertex);
    }
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// Vertices with different oscillators, each against fine Runge-Kutta of its own.
static void test_vertex_exact(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 60, 30, knots);
    int n = rig->mesh.nvert;
    FaMaps maps = {.vertex = calloc((size_t)n, sizeof(FaOscillator))};
    for (int v = 0; v < n; v++)
        maps.vertex[v] = fa_oscillator_of(1 + 0.001 * v, 2 + 8.0 * v / n, 0.1 + 1.5 * (v % 7) / 7);
    FaMethod *m;
    FaRun *run;
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .maps = &maps}, &m, &err), &err);
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    float *x = new_surface(rig), *linear = new_surface(rig), *before = new_surface(rig);
    double *y = calloc(3 * (size_t)n, sizeof *y), *v = calloc(3 * (size_t)n, sizeof *v), worst = 0, moved = 0;
    for (int f = 0; f < clip->nframe; f++) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        fa_rig_blend(rig, clip->weight + f * NSHAPE, linear);
        for (int j = 0; j < 3 * n; j += 5) {
            if (f == 0)
                y[j] = (double)linear[j];
            else
                runge_kutta(&maps.vertex[j / 3], clip->time[f] - clip->time[f - 1], (double)before[j],
                            (double)linear[j], 60, &y[j], &v[j]);
            worst = fmax(worst, fabs(y[j] - (double)x[j]));
            moved = fmax(moved, fabs((double)linear[j] - (double)x[j]));
        }
        memcpy(before, linear, 3 * (size_t)n * sizeof *x);
    }
    assert_true(moved > 1e-3);
    CHECK_NEAR(worst, 0, 2e-8); // of float positions
    fa_run_free(run);
    fa_method_close(m);
    fa_clip_free(clip);
    fa_rig_free(rig);
    free(maps.vertex);
    free(x), free(linear), free(before), free(y), free(v);
}

static uint64_t run_hash(const FaRig *rig, const FaClip *clip, const FaMaps *maps) {
    FaError err = {0};
    FaMethod *m;
    FaRun *run;
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .maps = maps}, &m, &err), &err);
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    float *x = new_surface(rig);
    uint64_t hash = 0;
    for (int f = 0; f < clip->nframe; f++) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        hash = fai_hash64(x, 3 * (size_t)rig->mesh.nvert * sizeof *x, hash ^ fa_method_hash(m));
    }
    fa_run_free(run);
    fa_method_close(m);
    free(x);
    return hash;
}

// The same bits for any number of threads, and with the plain code in place of the vector one.
static void test_threads(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    FaClip *clip = make_clip(rig, 40, 30, knots);
    add_motion(clip);
    int n = rig->mesh.nvert;
    FaMaps maps[2] = {{0}, {.vertex = calloc((size_t)n, sizeof(FaOscillator))}};
    for (int v = 0; v < n; v++) maps[1].vertex[v] = fa_oscillator_of(1, 3 + v % 5, 0.4);
    uint64_t want[2];
    for (int i = 0; i < 2; i++) want[i] = run_hash(rig, clip, &maps[i]);
    assert_true(want[0] != want[1]);
    for (int threads = 1; threads <= 8; threads++) {
        fa_threads_set(threads);
        for (int i = 0; i < 2; i++) assert_true(run_hash(rig, clip, &maps[i]) == want[i]);
    }
    fa_threads_set(0);
    setenv("FA_SIMD", "ref", 1);
    for (int i = 0; i < 2; i++) assert_true(run_hash(rig, clip, &maps[i]) == want[i]);
    unsetenv("FA_SIMD");
    free(maps[1].vertex);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// --- parameters, forces, bad input --------------------------------------------------------------------------------

static void test_params(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMethod *m = open_with(rig, "{\"preset\":\"heavy\",\"mass\":2}");
    FaOscillator o = fai_analytic_oscillator(m), preset;
    assert_true(fa_oscillator_preset("heavy", &preset));
    CHECK_NEAR(o.mass, 2, 0);
    CHECK_NEAR(o.stiffness, preset.stiffness, 0);
    fa_method_close(m);
    m = open_with(rig, "{\"frequency\":5,\"ratio\":0.25,\"mass\":3}");
    o = fai_analytic_oscillator(m);
    CHECK_NEAR(fa_oscillator_frequency(&o), 5, 1e-14);
    CHECK_NEAR(fa_oscillator_ratio(&o), 0.25, 1e-14);
    CHECK_NEAR(o.mass, 3, 0);
    fa_method_close(m);

    FaParams *p;
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    assert_true(fa_params_set(p, "mass", "-1", &err) == FA_E_ARG);
    assert_non_null(strstr(err.remedy, "kg"));
    err = (FaError){0};
    assert_true(fa_params_set(p, "preset", "mushy", &err) == FA_E_ARG);
    assert_non_null(strstr(err.remedy, "jelly"));
    err = (FaError){0};
    assert_true(fa_params_set(p, "mas", "1", &err) == FA_E_ARG);
    assert_non_null(strstr(err.remedy, "mass"));
    err = (FaError){0};
    assert_true(fa_params_read(p, "{\"mass\":[1]}", &err) == FA_E_FORMAT);
    assert_string_equal(err.place, "/mass");
    // what is written reads back
    char *json, *again;
    CHECK_OK(fa_params_set(p, "stiffness", "123.25", NULL), NULL);
    CHECK_OK(fa_params_set(p, "maps", "a \"b\".json", NULL), NULL);
    CHECK_OK(fa_params_json(p, &json, NULL), NULL);
    FaParams *q;
    CHECK_OK(fa_params_new("analytic", &q, NULL), NULL);
    CHECK_OK(fa_params_read(q, json, NULL), NULL);
    CHECK_OK(fa_params_json(q, &again, NULL), NULL);
    assert_string_equal(json, again);
    assert_string_equal(fa_params_text(q, "maps"), "a \"b\".json");
    fa_free(json);
    fa_free(again);
    fa_params_free(q);
    // given twice
    CHECK_OK(fa_params_set(p, "maps", "", NULL), NULL);
    CHECK_OK(fa_params_set(p, "frequency", "5", NULL), NULL);
    FaMethod *none;
    err = (FaError){0};
    assert_true(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p}, &none, &err) == FA_E_ARG &&
                !none);
    err = (FaError){0};
    assert_true(fa_method_open("magic", &(FaMethodSetup){.rig = rig}, &none, &err) == FA_E_ARG && !none);
    fa_params_free(p);
    fa_rig_free(rig);
}

static void test_sculpt(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMethod *m = open_with(rig, "{\"preset\":\"firm\",\"sculpt\":\"jawOpen=constant:0.3,mouthPucker=sine:0.2:2:90\"}");
    FaOscillator o = fai_analytic_oscillator(m);
    float *x = new_surface(rig), *want = new_surface(rig), w[NSHAPE] = {0};
    for (int f = 0; f < 50; f++) {
        FaInput in = {.time = 3 + f / 50.0, .weights = w};
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
    }
    FaForce sine = {FA_FORCE_SINE, 0.2, 2, M_PI / 2}, constant = {FA_FORCE_CONSTANT, 0.3, 0, 0};
    w[6] = (float)fa_analytic_force(&o, &constant, 49 / 50.0);
    w[5] = (float)fa_analytic_force(&o, &sine, 49 / 50.0);
    CHECK_NEAR((double)w[6], 0.3, 1e-4);
    fa_rig_blend(rig, w, want);
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) CHECK_NEAR((double)x[i], (double)want[i], 1e-8);
    fa_method_close(m);
    FaParams *p;
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    static const char *const wrong[] = {"nothing=constant:1",   "jawOpen",           "jawOpen=wave:1", "jawOpen=sine:1",
                                        "jawOpen=constant:1:2", "jawOpen=constant:x"};
    for (int i = 0; i < FA_COUNT(wrong); i++) {
        err = (FaError){0};
        CHECK_OK(fa_params_set(p, "sculpt", wrong[i], &err), &err);
        assert_true(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p}, &m, &err) == FA_E_ARG);
        assert_true(err.remedy[0]);
    }
    fa_params_free(p);
    fa_rig_free(rig);
    free(x);
    free(want);
}

// With an oscillator per vertex the vertices answer the force: the same as per shape where all are alike.
static void test_sculpt_vertices(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    int n = rig->mesh.nvert;
    FaParams *p;
    FaMethod *m[2];
    FaMaps maps[2] = {{0}, {.vertex = calloc((size_t)n, sizeof(FaOscillator))}};
    for (int v = 0; v < n; v++) fa_oscillator_preset("soft", &maps[1].vertex[v]);
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "sculpt", "jawOpen=linear:0.5,mouthPucker=sine:0.3:3", &err), &err);
    float *x[2] = {new_surface(rig), new_surface(rig)}, w[NSHAPE] = {0};
    for (int i = 0; i < 2; i++)
        CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p, .maps = &maps[i]}, &m[i], &err),
                 &err);
    double worst = 0, moved = 0;
    for (int f = 0; f < 200; f++) {
        FaInput in = {.time = f / 200.0, .weights = w};
        for (int i = 0; i < 2; i++) CHECK_OK(fa_method_step(m[i], &in, x[i], NULL, &err), &err);
        for (int i = 0; i < 3 * n; i++) {
            worst = fmax(worst, fabs((double)x[0][i] - (double)x[1][i]));
            moved = fmax(moved, fabs((double)x[0][i] - (double)rig->mesh.x[i]));
        }
    }
    assert_true(moved > 5e-3);
    CHECK_NEAR(worst / moved, 0, 1e-3); // the sine is linear between frames for the vertices
    for (int i = 0; i < 2; i++) {
        fa_method_close(m[i]);
        free(x[i]);
    }
    fa_params_free(p);
    free(maps[1].vertex);
    fa_rig_free(rig);
}

// A tracker's hiccup: NaN counts as the last good weight, is counted, and leaves no trace.
static void test_bad_input(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMethod *m = open_with(rig, "{}"), *clean = open_with(rig, "{}");
    float *x = new_surface(rig), *y = new_surface(rig), w[NSHAPE], bad[NSHAPE];
    FaStats stats;
    for (int f = 0; f < 30; f++) {
        for (int s = 0; s < NSHAPE; s++) w[s] = bad[s] = (float)held(s, 0) * (f < 10 ? 1 : 0.5f);
        if (f == 20) bad[3] = NAN, bad[0] = INFINITY;
        FaInput in = {
            .time = f / 30.0, .weights = bad, .head = {.q = {0, 0, 0, 1}, .p = {0, f == 25 ? (double)NAN : 0, 0}}};
        CHECK_OK(fa_method_step(m, &in, x, &stats, &err), &err);
        assert_int_equal(stats.clamped, f == 20 ? 2 : 0);
        in.weights = w;
        in.head.p[1] = 0;
        CHECK_OK(fa_method_step(clean, &in, y, NULL, &err), &err);
        assert_memory_equal(x, y, 3 * (size_t)rig->mesh.nvert * sizeof *x);
    }
    uint64_t hash = fa_method_hash(m);
    FaInput late = {.time = 29 / 30.0, .weights = w}, never = {.time = NAN, .weights = w};
    assert_true(fa_method_step(m, &late, x, NULL, &err) == FA_E_ARG);
    assert_true(fa_method_step(m, &never, x, NULL, &err) == FA_E_ARG);
    assert_true(fa_method_hash(m) == hash);
    fa_method_close(m);
    fa_method_close(clean);
    fa_rig_free(rig);
    free(x);
    free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ramp),        cmocka_unit_test(test_random_weights),
        cmocka_unit_test(test_frame_rates), cmocka_unit_test(test_stability),
        cmocka_unit_test(test_rest),        cmocka_unit_test(test_lag_and_overshoot),
        cmocka_unit_test(test_head_motion), cmocka_unit_test(test_gravity),
        cmocka_unit_test(test_maps_agree),  cmocka_unit_test(test_vertex_exact),
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_params),
        cmocka_unit_test(test_sculpt),      cmocka_unit_test(test_sculpt_vertices),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

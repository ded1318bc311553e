// The camera's fit on synthetic pictures: landmarks of a known face, seen by a known camera, with noise.
#include "test.h"

#include "base/base.h"
#include "math/mat3.h"
#include "track/camera_fit.h"

static FaFaceModel *model; // the shipped head

enum { WIDTH = 1280, HEIGHT = 720 };
static const FaCameraInput seen_by = {
    .layout = FA_LANDMARKS_68, .dims = 2, .width = WIDTH, .height = HEIGHT, .fps = 30};
static const double FOCAL = 1150; // a face of 0.2 m at 0.575 m is 400 pixels high
static const double DEPTH = 0.575;

// --- making pictures ----------------------------------------------------------------------------------------------

typedef struct Truth {
    int nframe;
    FaPose *pose;  // camera from head
    float *weight; // nframe x nexp
    float identity[FA_HEAD_IDENTITY_COUNT];
} Truth;

static Truth truth_new(int nframe) {
    Truth t = {.nframe = nframe};
    t.pose = calloc((size_t)nframe, sizeof *t.pose);
    t.weight = calloc((size_t)nframe * (size_t)model->nexp, sizeof *t.weight);
    for (int i = 0; i < nframe; i++) t.pose[i].q[3] = 1;
    return t;
}
static void truth_free(Truth *t) {
    free(t->pose);
    free(t->weight);
}

static void set_pose(FaPose *pose, double yaw, double pitch, double roll, double x, double y, double z) {
    double q[4], p[4], r[4], a[3] = {0, yaw, 0}, b[3] = {pitch, 0, 0}, c[3] = {0, 0, roll}, half[4] = {1, 0, 0, 0};
    fai_q_exp(a, q);
    fai_q_exp(b, p);
    fai_q_exp(c, r);
    fai_q_mul(q, p, q);
    fai_q_mul(r, q, q);
    fai_q_mul(half, q, pose->q);
    // the face's middle, not the jaw's hinge, is at x, y, z
    double m[3];
    fai_q_rotate(pose->q, fai_model_rows(model, FA_LANDMARKS_68)->centre, m);
    pose->p[0] = x - m[0];
    pose->p[1] = y - m[1];
    pose->p[2] = z - m[2];
}

static void person(Truth *t, uint64_t seed) {
    FaHeadParams p = fa_head_params_default();
    fa_head_params_seed(&p, seed);
    for (int k = 0; k < model->nid; k++) t->identity[k] = (float)p.identity[k];
}

// Smooth motion of head and face: slow waves of each, a handful of expressions at a time.
static void act(Truth *t, double fps, uint64_t seed) {
    for (int i = 0; i < t->nframe; i++) {
        double s = i / fps;
        set_pose(&t->pose[i], 0.45 * sin(0.9 * s), 0.22 * sin(1.3 * s + 1), 0.12 * sin(0.7 * s + 2),
                 0.04 * sin(0.8 * s), 0.02 * sin(1.1 * s), DEPTH + 0.05 * sin(0.5 * s));
        for (int j = 0; j < model->nexp; j++) {
            double phase = 6.283 * fai_random_unit(seed, (uint64_t)j),
                   rate = 1 + 2 * fai_random_unit(seed, 1000 + (uint64_t)j);
            double v = sin(rate * s + phase) - 0.55; // at rest most of the time
            t->weight[(size_t)i * (size_t)model->nexp + (size_t)j] = v > 0 ? (float)fmin(1, 2 * v) : 0;
        }
    }
}

static FaLandmarkTake *picture_at(const Truth *t, const FaFaceModel *m, FaLandmarkLayout layout, int dims, bool metric,
                                  double fps, double noise, uint64_t seed) {
    FaLandmarkTake *take = NULL;
    FaError err = {0};
    CHECK_OK(fa_landmarks_new(layout, dims, t->nframe, fps, &take, &err), &err);
    const FaModelRows *rows = fai_model_rows(m, layout);
    float *x = calloc(3 * (size_t)m->rig->mesh.nvert, sizeof *x);
    take->width = WIDTH;
    take->height = HEIGHT;
    take->metric = metric;
    uint64_t n = 0;
    for (int i = 0; i < t->nframe; i++) {
        fa_face_model_face(m, t->identity, t->weight + (size_t)i * (size_t)m->nexp, x);
        for (int k = 0; k < rows->n; k++) {
            int l = rows->index[k];
            if (l >= take->count || l >= 468) continue; // irises: see gaze
            double p[3], c[3], e[3];
            fa_marker_point_at(&rows->point[l], x, true, p);
            fai_q_rotate(t->pose[i].q, p, c);
            fai_v3_add(c, t->pose[i].p, c);
            for (int a = 0; a < 3; a++) e[a] = noise * fai_random_normal(seed, n++);
            float *out = take->x + ((size_t)i * (size_t)take->count + (size_t)l) * (size_t)dims;
            if (metric)
                for (int a = 0; a < 3; a++) out[a] = (float)(c[a] + e[a]);
            else {
                out[0] = (float)(FOCAL * c[0] / c[2] + WIDTH / 2.0 + e[0]);
                out[1] = (float)(FOCAL * c[1] / c[2] + HEIGHT / 2.0 + e[1]);
                if (dims == 3) out[2] = (float)(FOCAL * (c[2] - DEPTH) / DEPTH + 5 * e[2] + 37);
            }
            take->visibility[(size_t)i * (size_t)take->count + (size_t)l] = 1;
        }
    }
    free(x);
    return take;
}
static FaLandmarkTake *picture(const Truth *t, FaLandmarkLayout layout, int dims, bool metric, double noise,
                               uint64_t seed) {
    return picture_at(t, model, layout, dims, metric, 30, noise, seed);
}

// --- measuring ----------------------------------------------------------------------------------------------------

typedef struct Miss {
    double turn_mean, turn_worst; // degrees
    double weight_mean;           // mean over frames of the mean |error| over expressions that the landmarks see
    double weight_frame;          // the worst frame's mean
    double weight_worst;          // worst single one
    double all_mean;              // over all expressions
    double depth;                 // mean |error| of the distance, relative
    int seen;
} Miss;

static double turn_between(const FaPose *a, const FaPose *b) {
    double inv[4], q[4], w[3];
    fai_q_conj(a->q, inv);
    fai_q_mul(b->q, inv, q);
    fai_q_log(q, w);
    return fai_v3_norm(w) * 57.29578;
}

static Miss compare(const Truth *t, const FaCameraFit *fit, const float *seen, double least) {
    Miss m = {0};
    int n = 0;
    for (int i = 0; i < t->nframe; i++) {
        if (!fit->ok[i]) continue;
        double turn = turn_between(&t->pose[i], &fit->pose[i]), sum = 0;
        m.turn_mean += turn;
        m.turn_worst = fmax(m.turn_worst, turn);
        m.depth += fabs(fit->pose[i].p[2] / t->pose[i].p[2] - 1);
        m.seen = 0;
        for (int j = 0; j < fit->nexp; j++) {
            size_t at = (size_t)i * (size_t)fit->nexp + (size_t)j;
            double d = fabs((double)fit->weight[at] - (double)t->weight[at]);
            m.all_mean += d / fit->nexp;
            if (seen[j] < least) continue;
            m.seen++;
            sum += d;
            m.weight_worst = fmax(m.weight_worst, d);
        }
        sum /= m.seen;
        m.weight_mean += sum;
        m.weight_frame = fmax(m.weight_frame, sum);
        n++;
    }
    m.turn_mean /= n;
    m.weight_mean /= n;
    m.all_mean /= n;
    m.depth /= n;
    return m;
}

static void print(const char *what, const Miss *m, const FaCameraFit *f) {
    print_message(
        "  %-28s turn %.3f mean %.3f worst deg; weights %.4f mean, %.4f worst frame, %.3f worst (%d seen), %.4f all; "
        "depth %.2f %%; rms %.2f px, noise %.2f, focal %.0f, %.2f ms/frame\n",
        what, m->turn_mean, m->turn_worst, m->weight_mean, m->weight_frame, m->weight_worst, m->seen, m->all_mean,
        100 * m->depth, f->error_rms, f->noise, f->focal, 1000 * f->seconds / f->nframe);
}

static int setup(void **state) {
    (void)state;
    FaError err = {0};
    CHECK_OK(fa_face_model_head(&model, &err), &err);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    fa_face_model_free(model);
    return 0;
}

// --- what it must do ----------------------------------------------------------------------------------------------

// Weights of the shipped head's clip from a frame on, at 30 frames per second.
static void perform(Truth *t, const char *name, int from) {
    FaClip *clip = NULL;
    FaBinding bind;
    FaError err = {0};
    CHECK_OK(fa_head_clip(name, &clip, &err), &err);
    CHECK_OK(fa_clip_bind(clip, model->rig, &bind, &err), &err);
    for (int i = 0; i < t->nframe; i++)
        fa_binding_weights(&bind, clip->weight + (size_t)((from + 2 * i) % clip->nframe) * (size_t)clip->nchan,
                           t->weight + (size_t)i * (size_t)model->nexp);
    fa_binding_free(&bind);
    fa_clip_free(clip);
}

static FaCameraFit *fit_it(const FaLandmarkTake *take, double focal, double smooth) {
    FaCameraOptions o = fa_camera_options_default();
    FaCameraFit *fit = NULL;
    FaError err = {0};
    o.focal_px = focal;
    o.smooth = smooth;
    CHECK_OK(fa_camera_fit(model, take, &o, &fit, &err), &err);
    return fit;
}

// A person who is not the mean talks and moves the head: head rotation within 0.5 degrees in every frame, weights
// within 0.05 (mean over the expressions that the landmarks see) in every frame, under 0.5 pixels of noise on a face
// 400 pixels high.
static void recovers(void **state) {
    (void)state;
    static const struct Case {
        const char *name, *clip;
        FaLandmarkLayout layout;
        int dims;
        bool metric;
        double noise;
    } CASE[] = {
        {"68, 2D, talk", "talk", FA_LANDMARKS_68, 2, false, 0.5},
        {"68, 2D, rom", "rom", FA_LANDMARKS_68, 2, false, 0.5},
        {"468, 2D, talk", "talk", FA_LANDMARKS_468, 2, false, 0.5},
        {"478, 2D and z, talk", "talk", FA_LANDMARKS_478, 3, false, 0.5},
        {"68, metric, talk", "talk", FA_LANDMARKS_68, 3, true, 0.00025},
    };
    for (int c = 0; c < FA_COUNT(CASE); c++) {
        Truth t = truth_new(60);
        FaError err = {0};
        float seen[64];
        person(&t, 7);
        act(&t, 30, 5);
        perform(&t, CASE[c].clip, 60);
        FaLandmarkTake *take = picture(&t, CASE[c].layout, CASE[c].dims, CASE[c].metric, CASE[c].noise, 11);
        CHECK_OK(fa_face_model_seen(model, CASE[c].layout, CASE[c].metric ? 3 : 2, seen, &err), &err);
        FaCameraFit *fit = fit_it(take, FOCAL, 1);
        Miss m = compare(&t, fit, seen, 0.5);
        print(CASE[c].name, &m, fit);
        assert_true(m.turn_worst < 0.4);
        assert_true(m.weight_mean < 0.04);
        assert_true(m.weight_frame < 0.05);
        assert_true(m.seen >= 40);
        for (int i = 0; i < t.nframe; i++) assert_true(fit->ok[i] && fit->used[i] > 40);
        fa_camera_fit_free(fit);
        fa_landmarks_free(take);
        truth_free(&t);
    }
}

// Random waves of all expressions at once, most of them at odds: no performance, what the landmarks decide at their
// worst.
static void waves(void **state) {
    (void)state;
    Truth t = truth_new(60);
    FaError err = {0};
    float seen[64];
    person(&t, 7);
    act(&t, 30, 5);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_468, 2, false, 0.5, 11);
    CHECK_OK(fa_face_model_seen(model, FA_LANDMARKS_468, 2, seen, &err), &err);
    FaCameraFit *fit = fit_it(take, FOCAL, 1);
    Miss m = compare(&t, fit, seen, 0.5);
    print("468, 2D, waves", &m, fit);
    assert_true(m.turn_worst < 0.4);
    assert_true(m.weight_mean < 0.07);
    fa_camera_fit_free(fit);
    fa_landmarks_free(take);
    truth_free(&t);
}

static void says_what_it_sees(void **state) {
    (void)state;
    float few[64], many[64], space[64];
    FaError err = {0};
    CHECK_OK(fa_face_model_seen(model, FA_LANDMARKS_68, 2, few, &err), &err);
    CHECK_OK(fa_face_model_seen(model, FA_LANDMARKS_468, 2, many, &err), &err);
    CHECK_OK(fa_face_model_seen(model, FA_LANDMARKS_468, 3, space, &err), &err);
    for (int j = 0; j < model->nexp; j++) {
        assert_true(few[j] >= 0 && few[j] <= 1);
        if (!strcmp(model->exp_name[j], "jawOpen")) assert_true(few[j] > 0.95);
        if (!strcmp(model->exp_name[j], "browInnerUp")) assert_true(few[j] > 0.9);
        if (!strcmp(model->exp_name[j], "tongueOut")) assert_true(many[j] < 0.3);
        if (!strcmp(model->exp_name[j], "cheekPuff")) assert_true(space[j] > few[j]);
        assert_true(many[j] > few[j] - 0.02f);
    }
}

// --- one frame ----------------------------------------------------------------------------------------------------

typedef struct Bench {
    FaFitSetup setup;
    FaFitShared shared;
    FaFitWork *work;
    FaFitSeen seen;
    FaFitVars vars;
    double id[64], face[3 * 478], x[3 * 478], a[478], w[64];
} Bench;

static void bench_open(Bench *b, FaLandmarkLayout layout, int dims, bool metric, double focal) {
    FaCameraOptions o = fa_camera_options_default();
    FaError err = {0};
    o.focal_px = focal;
    memset(b, 0, sizeof *b);
    const FaCameraInput in = {layout, dims, metric, WIDTH, HEIGHT, 30};
    CHECK_OK(fai_fit_setup(model, &in, &o, &b->setup, &err), &err);
    CHECK_OK(fai_fit_work_new(&b->setup, &b->work, &err), &err);
    b->shared = (FaFitShared){.focal = b->setup.focal0, .sigma = 0.5, .id = b->id, .face = b->face};
    b->seen = (FaFitSeen){.x = b->x, .a = b->a};
    b->vars.w = b->w;
    fai_fit_shared_set(&b->setup, &b->shared);
}

static void load_pose(FaFitVars *v, const FaPose *p) {
    fai_q_to_m3(p->q, v->pose.r);
    memcpy(v->pose.t, p->p, sizeof v->pose.t);
}

static void gradient(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        Bench b;
        Truth t = truth_new(1);
        bench_open(&b, FA_LANDMARKS_68, kind ? 3 : 2, kind == 2, 0);
        person(&t, 3);
        act(&t, 30, 9);
        FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, kind ? 3 : 2, kind == 2, kind == 2 ? 0.01 : 10, 1);
        fai_fit_see(&b.setup, 68, take->x, NULL, &b.seen);
        set_pose(&t.pose[0], 0.3, -0.1, 0.05, 0.01, 0.02, 0.7);
        load_pose(&b.vars, &t.pose[0]);
        int nexp = model->nexp, n = 6 + nexp + model->nid + 1;
        double grad[160], num[160], scale = 0, worst = 0;
        for (int j = 0; j < nexp; j++) b.w[j] = 0.2 + 0.01 * j;
        for (int k = 0; k < model->nid; k++) b.id[k] = 0.3 * sin(k);
        fai_fit_shared_set(&b.setup, &b.shared);
        fai_fit_gradient(b.work, &b.setup, &b.shared, &b.seen, &b.vars, grad, NULL);
        for (int p = 0; p < n; p++) {
            double e[2], h = 1e-6;
            for (int side = 0; side < 2; side++) {
                double d = side ? -h : h, turn[3] = {0};
                FaFitPose keep = b.vars.pose;
                double focal = b.shared.focal;
                if (p < 3)
                    turn[p] = d, fai_fit_turn(&b.vars.pose, turn);
                else if (p < 6)
                    b.vars.pose.t[p - 3] += d;
                else if (p < 6 + nexp)
                    b.w[p - 6] += d;
                else if (p < n - 1)
                    b.id[p - 6 - nexp] += d;
                else
                    b.shared.focal *= exp(d);
                fai_fit_shared_set(&b.setup, &b.shared);
                e[side] = fai_fit_gradient(b.work, &b.setup, &b.shared, &b.seen, &b.vars, NULL, NULL);
                b.vars.pose = keep;
                b.shared.focal = focal;
                if (p >= 6 && p < 6 + nexp)
                    b.w[p - 6] -= d;
                else if (p >= 6 + nexp && p < n - 1)
                    b.id[p - 6 - nexp] -= d;
            }
            num[p] = (e[0] - e[1]) / (2 * h);
        }
        // each unknown against its own kind
        int from[] = {0, 3, 6, 6 + nexp, n - 1, n};
        for (int g = 0; g < 5; g++) {
            for (int p = from[g], scale0 = 1; p < from[g + 1]; p++) {
                if (scale0) scale = 0, scale0 = 0;
                scale = fmax(scale, fabs(num[p]));
            }
            for (int p = from[g]; p < from[g + 1]; p++) worst = fmax(worst, fabs(num[p] - grad[p]) / fmax(scale, 1e-3));
            if (g < 4) assert_true(scale > 0);
        }
        print_message("  kind %d: gradient off by %.1e of its size\n", kind, worst);
        assert_true(worst < 1e-5);
        fai_fit_work_free(b.work);
        fa_landmarks_free(take);
        truth_free(&t);
    }
}

static void turns_far(void **state) {
    (void)state;
    Bench b;
    bench_open(&b, FA_LANDMARKS_68, 2, false, FOCAL);
    for (int k = 0; k < 12; k++) {
        Truth t = truth_new(1);
        double yaw = (k % 4 - 1.5) / 1.5 * 0.70, pitch = (k / 4 - 1) * 0.35; // 40, 13 degrees; 20 up and down
        set_pose(&t.pose[0], yaw, pitch, k % 2 ? 0.3 : -0.5, 0.05, -0.03, 0.5 + 0.05 * k);
        FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, 2, false, 0.5, (uint64_t)k);
        fai_fit_see(&b.setup, 68, take->x, NULL, &b.seen);
        FaFitReport rep = fai_fit_cold(b.work, &b.setup, &b.shared, &b.seen, &b.vars);
        FaPose found;
        fai_q_from_m3(b.vars.pose.r, found.q);
        double turn = turn_between(&t.pose[0], &found);
        assert_true(rep.ok);
        if (turn > 1.2)
            print_message("  yaw %.2f pitch %.2f: %.2f degrees off, median %.2f px\n", yaw, pitch, turn, rep.median);
        assert_true(turn < 1.2); // one frame alone; a turn to the wrong side would be tens of degrees
        fa_landmarks_free(take);
        truth_free(&t);
    }
    fai_fit_work_free(b.work);
}

// Half of the face hidden, and landmarks that are wrong: far off, or left and right swapped.
static void bad_landmarks(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        Truth t = truth_new(40);
        person(&t, 2);
        act(&t, 30, 5);
        perform(&t, "talk", 100);
        FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, 2, false, 0.5, 11);
        for (int i = 0; i < t.nframe; i++)
            for (int l = 0; l < 68; l++) {
                float *x = take->x + 2 * ((size_t)i * 68 + (size_t)l);
                uint64_t at = (uint64_t)(i * 68 + l);
                if (kind == 0 && fai_random_unit(5, at) < 0.35)
                    x[0] = x[1] = NAN, take->visibility[(size_t)i * 68 + (size_t)l] = 0;
                if (kind == 1 && fai_random_unit(5, at) < 0.12) x[0] += 60, x[1] -= 45;
                if (kind == 2 && i % 3 == 0 && l >= 36 && l < 38) { // corners of the eyes exchanged
                    float *y = x + 2 * 6, s[2] = {x[0], x[1]};
                    x[0] = y[0], x[1] = y[1], y[0] = s[0], y[1] = s[1];
                }
            }
        FaCameraFit *fit = fit_it(take, FOCAL, 1);
        float seen[64];
        FaError err = {0};
        CHECK_OK(fa_face_model_seen(model, FA_LANDMARKS_68, 2, seen, &err), &err);
        Miss m = compare(&t, fit, seen, 0.5);
        print(kind == 0 ? "a third missing" : kind == 1 ? "an eighth 75 px off" : "eyes swapped", &m, fit);
        assert_true(m.turn_mean < 0.25);
        assert_true(m.turn_worst < 0.5);
        assert_true(m.weight_mean < 0.05);
        assert_true(fit->error_rms < 2);
        if (kind == 1) assert_true(fit->used[0] < 66);
        fa_camera_fit_free(fit);
        fa_landmarks_free(take);
        truth_free(&t);
    }
}

static void finds_focal(void **state) {
    (void)state;
    Truth t = truth_new(60);
    person(&t, 4);
    act(&t, 30, 5);
    perform(&t, "talk", 0);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_468, 2, false, 0.5, 11);
    FaCameraFit *fit = fit_it(take, 0, 1);
    print_message("  focal %.0f for %.0f\n", fit->focal, FOCAL);
    assert_true(fit->focal_found);
    assert_true(fabs(fit->focal / FOCAL - 1) < 0.12);
    double worst = 0;
    for (int i = 0; i < t.nframe; i++) worst = fmax(worst, turn_between(&t.pose[i], &fit->pose[i]));
    assert_true(worst < 1.5);
    fa_camera_fit_free(fit);
    fa_landmarks_free(take);
    truth_free(&t);
}

// --- in time ------------------------------------------------------------------------------------------------------

// A still face with noise: how much what comes out moves, against each frame by itself.
static void holds_still(void **state) {
    (void)state;
    Truth t = truth_new(90);
    person(&t, 6);
    for (int i = 0; i < t.nframe; i++) {
        set_pose(&t.pose[i], 0.2, -0.1, 0, 0, 0, DEPTH);
        for (int j = 0; j < model->nexp; j++)
            if (!strcmp(model->exp_name[j], "jawOpen") || !strcmp(model->exp_name[j], "mouthSmileLeft"))
                t.weight[(size_t)i * (size_t)model->nexp + (size_t)j] = 0.4f;
    }
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, 2, false, 0.5, 21);
    double turn[2] = {0}, move[2] = {0}, weight[2] = {0};
    for (int k = 0; k < 2; k++) {
        FaCameraFit *fit = fit_it(take, FOCAL, k ? 1 : 0);
        for (int i = 20; i + 1 < t.nframe; i++) {
            double d[3];
            turn[k] = fmax(turn[k], turn_between(&fit->pose[i], &fit->pose[i + 1]));
            fai_v3_sub(fit->pose[i + 1].p, fit->pose[i].p, d);
            move[k] = fmax(move[k], 1000 * fai_v3_norm(d));
            for (int j = 0; j < fit->nexp; j++) {
                size_t at = (size_t)i * (size_t)fit->nexp + (size_t)j;
                weight[k] =
                    fmax(weight[k], fabs((double)fit->weight[at + (size_t)fit->nexp] - (double)fit->weight[at]));
            }
        }
        fa_camera_fit_free(fit);
    }
    print_message("  largest step of a still face: %.3f degrees, %.2f mm, weight %.3f; unsmoothed %.3f, %.2f, %.3f\n",
                  turn[1], move[1], weight[1], turn[0], move[0], weight[0]);
    assert_true(turn[1] < 0.1 && turn[1] < 0.35 * turn[0]);
    assert_true(move[1] < 1 && move[1] < 0.35 * move[0]);
    assert_true(weight[1] < 0.12 && weight[1] < 0.7 * weight[0]);

    // live: it may not look ahead
    FaCameraTracker *tracker = NULL;
    FaCameraOptions o = fa_camera_options_default();
    FaError err = {0};
    o.focal_px = FOCAL;
    CHECK_OK(fa_camera_tracker_new(model, &seen_by, &o, &tracker, &err), &err);
    FaPose last = {{0, 0, 0, 1}, {0}};
    double live = 0;
    for (int i = 0; i < t.nframe; i++) {
        FaCameraState s;
        FaCameraFrame f = {.time = i / 30.0, .x = take->x + 136 * (size_t)i};
        assert_int_equal(fa_camera_tracker_step(tracker, &f, &s), FA_OK);
        if (i > 40) live = fmax(live, turn_between(&last, &s.pose));
        last = s.pose;
    }
    print_message("  live %.3f degrees\n", live);
    assert_true(live < 0.6 * turn[0]);
    fa_camera_tracker_free(tracker);
    fa_landmarks_free(take);
    truth_free(&t);
}

// A thousand frames live: identity settles, then does not change by a bit; no allocation; time per frame.
static void long_run(void **state) {
    (void)state;
    enum { N = 1000 };
    Truth t = truth_new(N);
    person(&t, 8);
    act(&t, 30, 5);
    perform(&t, "talk", 0);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, 2, false, 0.5, 31);
    FaCameraTracker *tracker = NULL;
    FaCameraOptions o = fa_camera_options_default();
    FaError err = {0};
    float settled[FA_HEAD_IDENTITY_COUNT];
    int when = -1;
    double turn = 0, worst = 0, weight = 0, spent = 0;
    o.focal_px = FOCAL;
    CHECK_OK(fa_camera_tracker_new(model, &seen_by, &o, &tracker, &err), &err);
    for (int i = 0; i < N; i++) {
        FaCameraState s;
        FaCameraFrame f = {.time = i / 30.0, .x = take->x + 136 * (size_t)i};
        double start = fai_seconds();
        if (i == 3) test_fail_alloc(1); // whoever allocates from now on fails the test
        assert_int_equal(fa_camera_tracker_step(tracker, &f, &s), FA_OK);
        spent += fai_seconds() - start;
        if (s.settled >= 1 && when < 0) {
            when = i;
            memcpy(settled, s.identity, sizeof settled);
        }
        if (when >= 0) assert_memory_equal(settled, s.identity, sizeof settled);
        if (i < 200) continue;
        double d = turn_between(&t.pose[i], &s.pose);
        turn += d / (N - 200);
        worst = fmax(worst, d);
        for (int j = 0; j < model->nexp; j++)
            weight += fabs((double)(s.weight[j] - t.weight[(size_t)i * (size_t)model->nexp + (size_t)j])) /
                      model->nexp / (N - 200);
    }
    assert_false(test_alloc_failed());
    test_fail_alloc(0);
    double off = 0;
    for (int k = 0; k < model->nid; k++) off += pow((double)(settled[k] - t.identity[k]), 2) / model->nid;
    print_message("  live, 68: settled at frame %d, identity %.2f sd off; turn %.3f mean, %.3f worst; weights %.4f; "
                  "%.2f ms per frame\n",
                  when, sqrt(off), turn, worst, weight, 1000 * spent / N);
    assert_true(when > 0 && when < 400);
    assert_true(sqrt(off) < 0.6);
    assert_true(turn < 0.4 && worst < 1);
    assert_true(weight < 0.05);
    fa_camera_tracker_free(tracker);
    fa_landmarks_free(take);
    truth_free(&t);
}

static void lost_and_found(void **state) {
    (void)state;
    Truth t = truth_new(60);
    act(&t, 30, 5);
    perform(&t, "talk", 0);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, 2, false, 0.5, 31);
    for (int i = 20; i < 40; i++)
        for (int l = 0; l < 68; l++) {
            take->x[2 * (68 * i + l)] = take->x[2 * (68 * i + l) + 1] = NAN;
            take->visibility[68 * i + l] = 0;
        }
    FaCameraFit *fit = fit_it(take, FOCAL, 1);
    double step = 0;
    for (int i = 0; i < 60; i++) assert_int_equal(fit->ok[i], i < 20 || i >= 40);
    for (int i = 18; i < 42; i++) step = fmax(step, turn_between(&fit->pose[i], &fit->pose[i + 1]));
    assert_true(step < turn_between(&fit->pose[19], &fit->pose[40]) / 6 + 1.5); // no jump
    assert_non_null(fai_note_find(&fit->notes, "face-lost"));
    assert_true(isnan(fit->error[30]));
    fa_camera_fit_free(fit);

    FaCameraTracker *tracker = NULL;
    FaError err = {0};
    CHECK_OK(fa_camera_tracker_new(model, &seen_by, NULL, &tracker, &err), &err);
    FaCameraState s;
    float before[64], sum[2] = {0};
    FaPose last = {0};
    for (int i = 0; i < 60; i++) {
        FaCameraFrame f = {
            .time = i / 30.0, .x = take->x + 136 * (size_t)i, .visibility = take->visibility + 68 * (size_t)i};
        FaCode rc = fa_camera_tracker_step(tracker, &f, &s);
        assert_int_equal(rc, i < 20 || i >= 40 ? FA_OK : FA_CLAMPED);
        if (i == 19) memcpy(before, s.weight, (size_t)model->nexp * sizeof *before);
        if (i == 22) assert_memory_equal(before, s.weight, (size_t)model->nexp * sizeof *before); // held
        if (i > 19 && i < 40) assert_true(turn_between(&last, &s.pose) < 1e-6);
        if (i >= 40 && i < 46) assert_true(turn_between(&last, &s.pose) < 6);
        if (i == 39)
            for (int j = 0; j < model->nexp; j++) sum[0] += before[j], sum[1] += s.weight[j];
        last = s.pose;
    }
    assert_true(sum[0] > 0 && sum[1] < 0.7f * sum[0]); // relaxing
    fa_camera_tracker_free(tracker);
    fa_landmarks_free(take);
    truth_free(&t);
}

static void same_bits(void **state) {
    (void)state;
    Truth t = truth_new(60);
    person(&t, 9);
    act(&t, 30, 5);
    perform(&t, "talk", 0);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, 2, false, 0.5, 31);
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        fa_threads_set(k ? 5 : 1);
        FaCameraFit *fit = fit_it(take, 0, 1);
        hash[k] = fai_hash64(fit->weight, 60 * (size_t)fit->nexp * sizeof *fit->weight, 1);
        hash[k] = fai_hash64(fit->pose, 60 * sizeof *fit->pose, hash[k]);
        hash[k] = fai_hash64(fit->identity, (size_t)fit->nid * sizeof *fit->identity, hash[k]);
        fa_camera_fit_free(fit);
    }
    fa_threads_set(0);
    assert_true(hash[0] == hash[1]);
    fa_landmarks_free(take);
    truth_free(&t);
}

// Where the eyes look, from irises: the rotated eyeballs of another identity, whole; skin of the linear model. Angles
// in degrees.
static void gaze(void **state) {
    (void)state;
    static const int LEFT[5] = {473, 474, 475, 476, 477}, RIGHT[5] = {468, 471, 470, 469, 472};
    enum { N = 60 };
    Truth t = truth_new(N);
    FaError err = {0};
    person(&t, 7);
    act(&t, 30, 5);
    perform(&t, "talk", 60);
    int look[2][5], nexp = model->nexp;
    FaFitSetup none = {.model = model, .rows = fai_model_rows(model, FA_LANDMARKS_478)};
    assert_true(fai_gaze_channels(&none, look));
    double want[N][2]; // yaw to the subject's left, pitch up
    for (int i = 0; i < N; i++) {
        want[i][0] = i < 15 ? 0 : i < 35 ? 18 : i < 50 ? -20 : -6; // saccades, and one slow sweep up and down
        want[i][1] = 12 * sin(0.12 * i);
        for (int s = 0; s < 2; s++) {
            float *w = t.weight + (size_t)i * (size_t)nexp;
            double out = (s ? -1 : 1) * want[i][0] / 30;
            w[look[s][1]] = (float)fmax(-out, 0), w[look[s][2]] = (float)fmax(out, 0);
            w[look[s][3]] = (float)fmax(want[i][1] / 24, 0), w[look[s][4]] = (float)fmax(-want[i][1] / 28, 0);
        }
    }
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_478, 2, false, 0.5, 11);
    FaHeadParams hp = fa_head_params_default();
    FaHead *head = NULL;
    hp.level = 0;
    fa_head_params_seed(&hp, 7);
    CHECK_OK(fa_head_new(&hp, &head, &err), &err);
    for (int p = 0; p < head->npart; p++) {
        const FaHeadPart *eye = &head->part[p];
        int side = !strcmp(eye->name, "eye_left") ? 0 : !strcmp(eye->name, "eye_right") ? 1 : -1;
        float *x = calloc(3 * (size_t)eye->mesh.nvert, sizeof *x);
        for (int i = 0; side >= 0 && i < N; i++) {
            float w[FA_ARKIT_COUNT] = {0};
            for (int j = 0; j < nexp; j++)
                if (model->rig->shape[j].arkit >= 0)
                    w[model->rig->shape[j].arkit] = t.weight[(size_t)i * (size_t)nexp + (size_t)j];
            CHECK_OK(fa_head_truth(head, p, w, x, &err), &err);
            // where the white begins: five rings of 16 from the front
            int rim = eye->mesh.nvert - 1 - 5 * 16;
            double mid[3] = {0}, at[5][3];
            for (int k = 0; k < 16; k++)
                for (int a = 0; a < 3; a++) mid[a] += (double)x[3 * (rim + k) + a] / 16;
            memcpy(at[0], mid, sizeof mid);
            for (int k = 1; k < 5; k++) // outwards, up, inwards, down: by the rest position of the ring
                for (int v = 0, best = -1; v < 16; v++) {
                    const float *r = eye->mesh.x + 3 * (rim + v), *b = best < 0 ? r : eye->mesh.x + 3 * (rim + best);
                    double way[2] = {(k == 1) - (k == 3), (k == 2) - (k == 4)};
                    double d = (side ? -1 : 1) * way[0] * (double)(r[0] - b[0]) + way[1] * (double)(r[1] - b[1]);
                    if (best >= 0 && d <= 0) continue;
                    best = v;
                    fai_v3_load(x, rim + v, at[k]);
                }
            for (int k = 0; k < 5; k++) {
                size_t l = (size_t)i * 478 + (size_t)(side ? RIGHT : LEFT)[k];
                double c[3];
                fai_q_rotate(t.pose[i].q, at[k], c);
                fai_v3_add(c, t.pose[i].p, c);
                for (size_t a = 0; a < 2; a++)
                    take->x[2 * l + a] = (float)(FOCAL * c[a] / c[2] + (a ? HEIGHT : WIDTH) / 2.0 +
                                                 0.5 * fai_random_normal(77, 2 * l + a));
                take->visibility[l] = 1;
            }
        }
        free(x);
    }
    FaCameraFit *fit = fit_it(take, FOCAL, 1);
    double sum = 0, worst = 0, still = 0;
    int n = 0;
    for (int i = 0; i < N; i++)
        for (int s = 0; s < 2; s++) {
            const float *w = fit->weight + (size_t)i * (size_t)nexp, *true_w = t.weight + (size_t)i * (size_t)nexp;
            if (true_w[look[s][0]] > 0.5f) continue;
            double yaw = (s ? -1 : 1) * 30 * (double)(w[look[s][2]] - w[look[s][1]]);
            double pitch = 24 * (double)w[look[s][3]] - 28 * (double)w[look[s][4]];
            double off = hypot(yaw - want[i][0], pitch - want[i][1]);
            sum += off, n++;
            worst = fmax(worst, off);
            if (i > 20 && i < 33) still = fmax(still, fabs(yaw - want[i][0]));
        }
    print_message("  gaze: %.2f degrees off on average, worst %.2f; %d eyes\n", sum / n, worst, n);
    assert_true(n > 90);
    assert_true(sum / n < 1.5);
    assert_true(still < 3);
    fa_head_free(head);
    fa_camera_fit_free(fit);
    fa_landmarks_free(take);
    truth_free(&t);
}

// --- what comes out -----------------------------------------------------------------------------------------------

static void clips_and_markers(void **state) {
    (void)state;
    Truth t = truth_new(30);
    FaError err = {0};
    act(&t, 30, 5);
    perform(&t, "talk", 0);
    set_pose(&t.pose[0], 0, 0, 0, 0, 0, DEPTH);
    for (int i = 1; i < 30; i++) set_pose(&t.pose[i], 0.01 * i, 0, 0, 0.001 * i, -0.0005 * i, DEPTH);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_468, 2, false, 0.1, 31);
    FaCameraFit *fit = fit_it(take, FOCAL, 1);
    FaClip *clip = NULL;
    CHECK_OK(fa_camera_clip(fit, model, &clip, &err), &err);
    CHECK_OK(fa_clip_check(clip, &err), &err);
    // upright, facing the camera, at the origin; then to the subject's left (image right), up, and turned that way
    double w[3];
    fai_q_log(clip->head[0].q, w);
    assert_true(fai_v3_norm(w) < 0.01 && fai_v3_norm(clip->head[0].p) < 1e-9);
    fai_q_log(clip->head[29].q, w);
    CHECK_NEAR(w[1], 0.29, 0.02);
    FaPose expect;
    fai_fit_world(&t.pose[29], &t.pose[0], false, &expect);
    for (int k = 0; k < 2; k++) CHECK_NEAR(clip->head[29].p[k], expect.p[k], 0.003);
    assert_true(fa_arkit_match(clip->name[0], NULL) >= 0);

    // the model's own rig: its points, moved
    FaMarkerMap *map = NULL;
    FaMarkerTake *own = NULL, *warped = NULL;
    CHECK_OK(fa_markers_choose(model->rig, 60, &map, &err), &err);
    CHECK_OK(fa_camera_markers(fit, model, model->rig, map, false, &own, &err), &err);
    CHECK_OK(fa_markers_check(own, &err), &err);
    float *x = calloc(3 * (size_t)model->rig->mesh.nvert, sizeof *x);
    fa_rig_blend(model->rig, fit->weight + 10 * (size_t)fit->nexp, x);
    for (int k = 0; k < map->count; k++) {
        double p[3];
        fa_marker_point_at(&map->point[k], x, true, p);
        for (int a = 0; a < 3; a++) CHECK_NEAR(own->x[3 * (10 * 60 + k) + a], p[a], 1e-6);
    }
    assert_non_null(own->head);
    fa_marker_map_free(map);

    // another person's head, other topology: through the warp, against its own shapes
    FaHeadParams hp = fa_head_params_default();
    FaHead *head = NULL;
    FaRig *rig = NULL;
    FaMarkerTake *direct = NULL;
    fa_head_params_seed(&hp, 12);
    CHECK_OK(fa_head_new(&hp, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_markers_choose(rig, 60, &map, &err), &err);
    CHECK_OK(fa_camera_markers(fit, model, rig, map, true, &warped, &err), &err);
    CHECK_OK(fa_camera_markers(fit, model, rig, map, false, &direct, &err), &err);
    assert_non_null(fai_note_find(&warped->notes, "markers-warped"));
    double miss = 0, motion = 0;
    int n = 0;
    for (int i = 0; i < 30; i++)
        for (int k = 0; k < map->count; k++) {
            double a[3], b[3], c[3];
            if (!warped->ok[i * map->count + k]) continue;
            fai_v3_load(warped->x, i * map->count + k, a);
            fai_v3_load(direct->x, i * map->count + k, b);
            fa_marker_point_at(&map->point[k], rig->mesh.x, true, c);
            fai_v3_sub(a, b, a);
            fai_v3_sub(b, c, b);
            miss += fai_v3_dot(a, a);
            motion += fai_v3_dot(b, b);
            n++;
        }
    print_message("  warped to another head: %.2f mm rms of a motion of %.2f mm\n", 1000 * sqrt(miss / n),
                  1000 * sqrt(motion / n));
    assert_true(n > 30 * 50);
    assert_true(miss < 0.3 * 0.3 * motion);
    CHECK_OK(fa_camera_overlay(fit, model, take, 29, NULL, test_path("overlay.png"), &err), &err);
    assert_true(fa_camera_overlay(fit, model, take, 30, NULL, test_path("no.png"), NULL) < 0);
    fa_head_free(head);
    fa_rig_free(rig);
    fa_marker_map_free(map);
    fa_markers_free(own);
    fa_markers_free(warped);
    fa_markers_free(direct);
    free(x);
    fa_clip_free(clip);
    fa_camera_fit_free(fit);
    fa_landmarks_free(take);
    truth_free(&t);
}

// Landmarks of the head itself, not of its linear model: another identity made whole, moving nonlinearly.
static void real_head(void **state) {
    (void)state;
    Truth t = truth_new(40);
    FaError err = {0};
    act(&t, 30, 5);
    perform(&t, "talk", 100);
    FaHeadParams hp = fa_head_params_default();
    FaHead *head = NULL;
    hp.level = 0;
    fa_head_params_seed(&hp, 21);
    CHECK_OK(fa_head_new(&hp, &head, &err), &err);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_468, 2, false, 0.5, 31);
    const FaModelRows *rows = fai_model_rows(model, FA_LANDMARKS_468);
    float *x = calloc(3 * (size_t)head->part[0].mesh.nvert, sizeof *x);
    for (int i = 0; i < t.nframe; i++) {
        CHECK_OK(fa_head_truth(head, 0, t.weight + (size_t)i * (size_t)model->nexp, x, &err), &err);
        for (int k = 0; k < rows->n; k++) {
            double p[3], c[3];
            if (rows->index[k] >= 468) continue;
            fa_marker_point_at(&rows->point[rows->index[k]], x, false, p);
            fai_q_rotate(t.pose[i].q, p, c);
            fai_v3_add(c, t.pose[i].p, c);
            float *out = take->x + 2 * ((size_t)i * 468 + (size_t)rows->index[k]);
            out[0] =
                (float)(FOCAL * c[0] / c[2] + WIDTH / 2.0 + 0.5 * fai_random_normal(3, 2 * (uint64_t)(i * 478 + k)));
            out[1] = (float)(FOCAL * c[1] / c[2] + HEIGHT / 2.0 +
                             0.5 * fai_random_normal(3, 2 * (uint64_t)(i * 478 + k) + 1));
        }
    }
    FaCameraFit *fit = fit_it(take, FOCAL, 1);
    float seen[64];
    CHECK_OK(fa_face_model_seen(model, FA_LANDMARKS_468, 2, seen, &err), &err);
    Miss m = compare(&t, fit, seen, 0.5);
    print("nonlinear head, 468", &m, fit);
    assert_true(m.turn_worst < 0.5);
    assert_true(m.weight_mean < 0.04);
    assert_true(fit->error_rms < 2);
    free(x);
    fa_head_free(head);
    fa_camera_fit_free(fit);
    fa_landmarks_free(take);
    truth_free(&t);
}

// The model's identities are the head's: at one standard deviation of one, to what the other side differs.
static void identities(void **state) {
    (void)state;
    FaError err = {0};
    const FaMesh *mesh = &model->rig->mesh;
    for (int k = 0; k < model->nid; k += 5) {
        float *x[2];
        double worst = 0, size = 0;
        for (int side = 0; side < 2; side++) {
            FaHeadParams p = fa_head_params_default();
            FaHead *head = NULL;
            p.level = 0;
            p.shapes = false;
            p.identity[k] = side ? -1 : 1;
            CHECK_OK(fa_head_new(&p, &head, &err), &err);
            assert_int_equal(head->part[0].mesh.nvert, mesh->nvert);
            x[side] = malloc(3 * (size_t)mesh->nvert * sizeof **x);
            memcpy(x[side], head->part[0].mesh.x, 3 * (size_t)mesh->nvert * sizeof **x);
            fa_head_free(head);
        }
        for (int i = 0; i < 3 * mesh->nvert; i++) {
            double d = 0.5 * ((double)x[0][i] - (double)x[1][i]);
            worst = fmax(worst, fabs(d - (double)model->identity[3 * (size_t)mesh->nvert * (size_t)k + (size_t)i]));
            size = fmax(size, fabs(d));
        }
        assert_true(size > 5e-4);
        assert_true(worst < 1e-7);
        free(x[0]);
        free(x[1]);
    }
}

static void refuses(void **state) {
    (void)state;
    FaError err = {0};
    FaFaceModel *bare = NULL;
    FaLandmarkTake *take = NULL;
    FaCameraFit *fit = NULL;
    CHECK_OK(fa_face_model_new(model->rig, 0, NULL, NULL, &bare, &err), &err);
    CHECK_OK(fa_landmarks_new(FA_LANDMARKS_68, 2, 3, 30, &take, &err), &err);
    assert_int_equal(fa_camera_fit(bare, take, NULL, &fit, &err), FA_E_ARG); // no table
    assert_null(fit);
    FaMarkerPoint point[68];
    for (int i = 0; i < 68; i++) point[i] = (FaMarkerPoint){.tri = -1, .vert = {-1, -1, -1}};
    err = (FaError){0};
    assert_int_equal(fa_face_model_landmarks(bare, FA_LANDMARKS_68, point, NULL, &err), FA_E_ARG);
    for (int i = 0; i < 10; i++) point[i] = (FaMarkerPoint){.tri = -1, .vert = {i, i, 1 << 29}, .bary = {1, 0, 0}};
    err = (FaError){0};
    assert_int_equal(fa_face_model_landmarks(bare, FA_LANDMARKS_68, point, NULL, &err), FA_E_ARG);
    err = (FaError){0};
    take->width = 640;
    take->height = 480;
    assert_int_equal(fa_camera_fit(model, take, NULL, &fit, &err), FA_E_FORMAT); // nothing seen
    FaCameraOptions o = fa_camera_options_default();
    o.smooth = NAN;
    err = (FaError){0};
    assert_int_equal(fa_camera_fit(model, take, &o, &fit, &err), FA_E_ARG);
    // landmarks that are no face: an answer, never a crash
    for (int i = 0; i < 3 * 136; i++) take->x[i] = (float)(1e6 * (fai_random_unit(1, (uint64_t)i) - 0.5));
    for (int i = 0; i < 3 * 68; i++) take->visibility[i] = 1;
    err = (FaError){0};
    FaCode rc = fa_camera_fit(model, take, NULL, &fit, &err);
    assert_true(rc < 0 || fit);
    fa_camera_fit_free(fit);
    for (int i = 0; i < 3 * 136; i++) take->x[i] = 320; // all in one place
    fit = NULL;
    err = (FaError){0};
    assert_true(fa_camera_fit(model, take, NULL, &fit, &err) < 0);
    FaFaceModelOptions load = {.rig = "/nowhere/at.all"};
    FaFaceModel *none = NULL;
    err = (FaError){0};
    assert_true(fa_face_model_load(&load, &none, &err) < 0);
    assert_null(none);
    fa_landmarks_free(take);
    fa_face_model_free(bare);
}

// Every allocation fails once, on one thread: a code or a whole result, and nothing lost.
static void no_memory(void **state) {
    (void)state;
    Truth t = truth_new(3);
    FaError err = {0};
    act(&t, 30, 5);
    FaLandmarkTake *take = picture(&t, FA_LANDMARKS_68, 2, false, 0.5, 31);
    fa_threads_set(1);
    for (int way = 0; way < 3; way++) {
        bool done = false;
        long k = 1;
        for (; !done && k < 20000; k += k < 30 ? 1 : k / 6) {
            FaCameraFit *fit = NULL;
            FaCameraTracker *tracker = NULL;
            FaFaceModel *own = NULL;
            err = (FaError){0};
            long before = test_alloc_balance();
            test_fail_alloc(k);
            FaCode rc = way == 0   ? fa_camera_fit(model, take, NULL, &fit, &err)
                        : way == 1 ? fa_camera_tracker_new(model, &seen_by, NULL, &tracker, &err)
                                   : fa_face_model_head(&own, &err);
            bool failed = test_alloc_failed();
            test_fail_alloc(0);
            done = !failed;
            assert_true(rc >= 0 || (failed && err.what[0] && !fit && !tracker && !own));
            if (!failed) assert_true(rc >= 0 && (fit || tracker || own));
            fa_camera_fit_free(fit);
            fa_camera_tracker_free(tracker);
            fa_face_model_free(own);
            assert_true(test_alloc_balance() == before);
        }
        assert_true(done && k > 3);
    }
    fa_threads_set(0);
    fa_landmarks_free(take);
    truth_free(&t);
}

// The user's own model: ICT-FaceKit's neutral, expressions, some of its identities, and its 68 landmarks.
static void ict_model(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(table, "rigs/ict_facekit/vertex_indices.json");
    const char *rig = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    const char *people = test_unpack("rigs/ict_facekit/identities_000-079_obj.tar.xz");
    if (!rig || !people) skip();
    FaFaceModelOptions o = {
        .rig = rig, .identities = people, .max_identities = 16, .landmarks = table, .layout = FA_LANDMARKS_68};
    FaFaceModel *ict = NULL;
    FaError err = {0};
    CHECK_OK(fa_face_model_load(&o, &ict, &err), &err);
    assert_int_equal(ict->nid, 16);
    assert_true(ict->nexp >= 53);
    assert_true(fa_face_model_has(ict, FA_LANDMARKS_68) && !fa_face_model_has(ict, FA_LANDMARKS_468));
    assert_string_equal(ict->id_name[0], "identity000");

    int jaw = -1, smile = -1;
    for (int j = 0; j < ict->nexp; j++) {
        if (!strcmp(ict->exp_name[j], "jawOpen")) jaw = j;
        if (!strcmp(ict->exp_name[j], "mouthSmileLeft")) smile = j;
    }
    assert_true(jaw >= 0 && smile >= 0);
    Truth t = {.nframe = 40};
    t.pose = calloc(40, sizeof *t.pose);
    t.weight = calloc(40 * (size_t)ict->nexp, sizeof *t.weight);
    for (int k = 0; k < ict->nid; k++) t.identity[k] = (float)(0.8 * fai_random_normal(3, (uint64_t)k));
    for (int i = 0; i < 40; i++) {
        set_pose(&t.pose[i], 0.4 * sin(0.15 * i), 0.1 * sin(0.2 * i), 0, 0, 0, DEPTH);
        t.weight[i * ict->nexp + jaw] = (float)(0.4 - 0.4 * cos(0.2 * i));
        t.weight[i * ict->nexp + smile] = (float)(0.3 - 0.3 * cos(0.3 * i));
    }
    FaLandmarkTake *take = picture_at(&t, ict, FA_LANDMARKS_68, 2, false, 30, 0.5, 5);
    FaCameraOptions co = fa_camera_options_default();
    FaCameraFit *fit = NULL;
    float seen[64];
    co.focal_px = FOCAL;
    CHECK_OK(fa_camera_fit(ict, take, &co, &fit, &err), &err);
    CHECK_OK(fa_face_model_seen(ict, FA_LANDMARKS_68, 2, seen, &err), &err);
    Miss m = compare(&t, fit, seen, 0.5);
    print("ICT-FaceKit, 68", &m, fit);
    assert_true(m.turn_worst < 0.5 && m.turn_mean < 0.3);
    assert_true(m.weight_frame < 0.05);
    CHECK_OK(fa_camera_overlay(fit, ict, take, 20, NULL, test_path("ict.png"), &err), &err);
    fa_camera_fit_free(fit);
    fa_landmarks_free(take);
    truth_free(&t);
    fa_face_model_free(ict);
}

#ifndef CAMERA_ACCURACY
#define CAMERA_ACCURACY 0 // test_track_camera_accuracy.c: what takes long
#endif

int main(void) {
    const struct CMUnitTest light[] = {
        cmocka_unit_test(gradient),       cmocka_unit_test(turns_far), cmocka_unit_test(says_what_it_sees),
        cmocka_unit_test(lost_and_found), cmocka_unit_test(same_bits), cmocka_unit_test(clips_and_markers),
        cmocka_unit_test(refuses),        cmocka_unit_test(no_memory),
    };
    const struct CMUnitTest heavy[] = {
        cmocka_unit_test(recovers),    cmocka_unit_test(waves),       cmocka_unit_test(bad_landmarks),
        cmocka_unit_test(finds_focal), cmocka_unit_test(holds_still), cmocka_unit_test(long_run),
        cmocka_unit_test(real_head),   cmocka_unit_test(identities),  cmocka_unit_test(ict_model),
        cmocka_unit_test(gaze),
    };
    if (CAMERA_ACCURACY) return cmocka_run_group_tests_name("accuracy", heavy, setup, teardown);
    return cmocka_run_group_tests_name("camera", light, setup, teardown);
}

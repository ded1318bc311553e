// Enrich on a whole head: the artist's animation untouched where nothing moves the head, flesh that lags and settles
// where something does, stiffened by expressions, independent of steps and frame rates; lips that do not cross; states
// that go on to the same bits.
// labels: heavy
#include "test.h"

#include "enrich/enrich.h"
#include "face/face.h"
#include "face/material.h"
#include "math/mat3.h"
#include "mesh/intersect.h"
#include "method/run.h"
#include "rig/mean_head.h"

typedef struct Scene {
    FaHead *head;
    FaRig *rig;
    FaFace *face;
    size_t bytes;
} Scene;

static int set_up(void **state) {
    FaError err = {0};
    Scene *s = calloc(1, sizeof *s);
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &s->head, &err), &err);
    CHECK_OK(fa_head_rig(s->head, 0, &s->rig, &err), &err);
    FaFaceOptions o = {.layers = 2};
    FaVolumesReport report;
    CHECK_OK(fa_face_build(s->rig, &o, &s->face, &err), &err);
    CHECK_OK(fa_face_materials(s->face, s->rig, NULL, &err), &err);
    CHECK_OK(fa_face_volumes(s->face, s->rig, NULL, &report, &err), &err);
    print_message("%d nodes, %d tets; volumes of %d shapes in %.1f s\n", s->face->nnode, s->face->ntet, report.nshape,
                  report.seconds);
    s->bytes = 3 * (size_t)s->rig->mesh.nvert * sizeof(float);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Scene *s = *state;
    fa_face_free(s->face);
    fa_rig_free(s->rig);
    fa_head_free(s->head);
    free(s);
    return 0;
}

// "name=value name=value ..."
static FaMethod *open_method(const Scene *s, const char *text) {
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    char copy[512], *at = copy;
    CHECK_OK(fa_params_new("enrich", &params, &err), &err);
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word; (word = strsep(&at, " ")) != NULL;) {
        char *eq = strchr(word, '=');
        if (!eq) continue;
        *eq = 0;
        CHECK_OK(fa_params_set(params, word, eq + 1, &err), &err);
    }
    CHECK_OK(fa_method_open("enrich", &(FaMethodSetup){.rig = s->rig, .face = s->face, .params = params}, &m, &err),
             &err);
    fa_params_free(params);
    return m;
}

static FaClip *get_clip(const char *name, int first, int count, bool head) {
    FaError err = {0};
    FaClip *whole, *clip;
    CHECK_OK(fa_head_clip(name, &whole, &err), &err);
    CHECK_OK(fa_clip_slice(whole, first, first + count - 1, &clip, &err), &err);
    fa_clip_free(whole);
    // these tests count what flesh adds to lips that do not cross yet
    for (int f = 0; f < count && !strcmp(name, "press"); f++)
        for (int c = 0; c < clip->nchan; c++)
            if (!strcmp(clip->name[c], "mouthClose")) clip->weight[f * clip->nchan + c] = 0;
    if (!head) {
        fa_free(clip->head);
        clip->head = NULL;
    }
    return clip;
}

static void set_shape(FaClip *clip, const char *part, float value) {
    for (int c = 0; c < clip->nchan; c++)
        for (int f = 0; f < clip->nframe && strstr(clip->name[c], part); f++)
            clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c] = value;
}

static void zero_shapes(FaClip *clip) {
    memset(clip->weight, 0, (size_t)clip->nframe * (size_t)clip->nchan * sizeof(float));
}

// A clip through a method: what each frame adds to linear blending, m                               (nframe x nvert x
// 3)
static float *play(const Scene *s, FaMethod *m, const FaClip *clip, double fps, int *nframe) {
    FaError err = {0};
    FaRun *run;
    FaSequence *linear;
    CHECK_OK(fa_run_new_fps(m, clip, fps, &run, &err), &err);
    CHECK_OK(fa_sequence_of_clip(s->rig, fa_run_clip(run), &linear, &err), &err);
    int n = fa_sequence_nframe(linear), width = 3 * s->rig->mesh.nvert;
    float *added = malloc((size_t)n * s->bytes), *x = malloc(s->bytes);
    for (int f = 0; f < n; f++) {
        float *at = added + (size_t)f * (size_t)width;
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, at, &err), &err);
        CHECK_OK(fa_sequence_read(linear, f, x, &err), &err);
        for (int i = 0; i < width; i++) at[i] -= x[i];
    }
    free(x);
    fa_sequence_close(linear);
    fa_run_free(run);
    if (nframe) *nframe = n;
    return added;
}

static double length3(const float *v) { return sqrt((double)(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])); }

// Largest displacement over the skin nodes of a region (-1: all), from a frame on.
static double peak_of(const Scene *s, const float *added, int first, int nframe, int region) {
    double peak = 0;
    for (int f = first; f < nframe; f++)
        for (int i = 0; i < s->face->nskin; i++) {
            if (region >= 0 && s->face->region[region][i] < 0.5f) continue;
            peak = fmax(
                peak, length3(added + ((size_t)f * (size_t)s->rig->mesh.nvert + (size_t)s->face->skin_vertex[i]) * 3));
        }
    return peak;
}

// Nothing moves the head: the output is the input, bit for bit, with contact and without, through speech and loud
// materials.
static void test_exact(void **state) {
    const Scene *s = *state;
    const char *kinds[] = {"contact=off", "contact=mouth solver=lbfgs",
                           "contact=off integrator=euler law=neo softness=3"};
    bool full = getenv("FASCIA_FULL") != NULL;
    for (int k = 0; k < FA_COUNT(kinds); k++) {
        FaClip *clip = get_clip("talk", full ? 0 : 100, full ? 600 : 24, false);
        FaMethod *m = open_method(s, kinds[k]);
        int n;
        float *added = play(s, m, clip, 0, &n);
        for (size_t i = 0; i < (size_t)n * 3 * (size_t)s->rig->mesh.nvert; i++) assert_true(added[i] == 0);
        assert_int_equal(fai_enrich_totals(m)->stalled, 0);
        const double *d = fai_rebalance_d(fai_enrich_body(m));
        for (int i = 0; i < 3 * s->face->nnode; i++) assert_true(d[i] == 0);
        free(added);
        fa_method_close(m);
        fa_clip_free(clip);
    }
}

// The same on a production rig and a whole range-of-motion take: 26,719 vertices, 4,030 frames. Minutes, so on request.
static void test_exact_long(void **state) {
    (void)state;
    FaError err = {0};
    const char *folder = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz"),
               *take = test_data("clips/livelink/alex_rom_3.csv");
    if (!getenv("FASCIA_FULL") || !folder || !take) {
        print_message("skipped: FASCIA_FULL is not set, or the data are not there\n");
        skip();
    }
    FaRig *rig;
    FaFace *face;
    FaClip *clip;
    FaParams *params;
    FaMethod *m;
    FaRigOptions ropt = {.unit = FA_UNIT_CM};
    CHECK_OK(fa_rig_load(folder, &ropt, &rig, &err), &err);
    CHECK_OK(fa_clip_load(take, NULL, &clip, &err), &err);
    CHECK_OK(fa_face_get(rig, fa_method_needs("enrich"), NULL, &face, &err), &err);
    fa_free(clip->head);
    clip->head = NULL;
    CHECK_OK(fa_params_new("enrich", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "rate", "30", &err), &err);
    CHECK_OK(fa_params_set(params, "contact", "off", &err), &err);
    CHECK_OK(fa_method_open("enrich", &(FaMethodSetup){.rig = rig, .face = face, .params = params}, &m, &err), &err);
    Scene s = {.rig = rig, .face = face, .bytes = 3 * (size_t)rig->mesh.nvert * sizeof(float)};
    FaRun *run;
    FaSequence *linear;
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    CHECK_OK(fa_sequence_of_clip(rig, clip, &linear, &err), &err);
    float *x = malloc(s.bytes), *y = malloc(s.bytes);
    for (int f = 0; f < clip->nframe; f++) {
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        CHECK_OK(fa_sequence_read(linear, f, y, &err), &err);
        assert_memory_equal(x, y, s.bytes);
    }
    print_message("%d frames of %d vertices: the same bits; %d nodes, %d clamped rest elements at most\n", clip->nframe,
                  rig->mesh.nvert, face->nnode, fai_enrich_totals(m)->clamped);
    free(x);
    free(y);
    fa_sequence_close(linear);
    fa_run_free(run);
    fa_method_close(m);
    fa_params_free(params);
    fa_face_free(face);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// Figure 10: without rebalancing the flesh lags behind speech and overshoots it.
static void test_naive_speech(void **state) {
    const Scene *s = *state;
    FaClip *clip = get_clip("talk", 100, 60, false);
    FaMethod *m = open_method(s, "contact=off alpha=0");
    int n, at = 0;
    float *added = play(s, m, clip, 0, &n);
    FaError err = {0};
    FaSequence *linear;
    CHECK_OK(fa_sequence_of_clip(s->rig, clip, &linear, &err), &err);
    double worst = 0;
    for (int i = 0; i < s->face->nskin; i++)
        for (int f = 0; f < n; f++) {
            double d = length3(added + ((size_t)f * (size_t)s->rig->mesh.nvert + (size_t)s->face->skin_vertex[i]) * 3);
            if (d > worst) worst = d, at = s->face->skin_vertex[i];
        }
    // that vertex's path, shifted in time until it fits best; and how far it goes beyond where the animation ever is
    float *x = malloc(s->bytes);
    double(*want)[3] = malloc((size_t)n * sizeof *want), (*got)[3] = malloc((size_t)n * sizeof *got), best = INFINITY,
    lag = 0, over = 0;
    for (int f = 0; f < n; f++) {
        CHECK_OK(fa_sequence_read(linear, f, x, &err), &err);
        for (int k = 0; k < 3; k++) {
            want[f][k] = (double)x[3 * at + k];
            got[f][k] =
                want[f][k] + (double)added[((size_t)f * (size_t)s->rig->mesh.nvert + (size_t)at) * 3 + (size_t)k];
        }
    }
    for (int shift = 0; shift <= 200; shift++) { // hundredths of a frame
        double sum = 0, by = shift / 50.0;
        for (int f = 10; f < n - 1; f++)
            for (int k = 0; k < 3; k++) {
                int from = (int)floor(f - by);
                double part = f - by - from,
                       off = got[f][k] - want[from][k] - part * (want[from + 1][k] - want[from][k]);
                sum += off * off;
            }
        if (sum < best) best = sum, lag = by;
    }
    for (int f = 0; f < n; f++) {
        double nearest = INFINITY;
        for (int g = 0; g < n; g++) {
            double off[3];
            fai_v3_sub(got[f], want[g], off);
            nearest = fmin(nearest, fai_v3_norm(off));
        }
        over = fmax(over, nearest);
    }
    print_message("speech without rebalancing: off by up to %.2f mm, %.2f frames late at 60 fps, %.2f mm off the "
                  "animation's own path\n",
                  1e3 * worst, lag, 1e3 * over);
    assert_true(worst > 0.3e-3 && lag > 0);
    free(want);
    free(got);
    free(x);
    free(added);
    fa_sequence_close(linear);
    fa_method_close(m);
    fa_clip_free(clip);
}

// The same over skin within 10 mm of a place of the mean head, either side, mm.
static double peak_at(const Scene *s, const float *added, int nframe, const double at[3]) {
    const FaMeanHead head = fai_mean_head_find(s->rig);
    double peak = 0, mm[3];
    for (int i = 0; i < s->face->nskin; i++) {
        assert_true(fai_mean_head_mm(&head, s->face->x0 + 3 * (size_t)i, mm));
        if (hypot(hypot(fabs(mm[0]) - at[0], mm[1] - at[1]), mm[2] - at[2]) > 10) continue;
        for (int f = 0; f < nframe; f++)
            peak = fmax(
                peak, length3(added + ((size_t)f * (size_t)s->rig->mesh.nvert + (size_t)s->face->skin_vertex[i]) * 3));
    }
    return peak;
}

// Several stiff shapes at once are as stiff as the stiffest, however far their weights go (docs/method/face.md).
static void test_mixed_materials(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    FaMaterialRange range = fai_materials_range(s->face);
    float *w = calloc((size_t)s->rig->nshape, sizeof *w), *x = malloc(s->bytes);
    for (int i = 0; i < s->rig->nshape; i++) w[i] = strstr(s->rig->shape[i].name, "mouth") ? 1 : 0;
    FaMethod *m = open_method(s, "contact=off softness=2");
    CHECK_OK(fa_method_step(m, &(FaInput){.weights = w, .head.q = {0, 0, 0, 1}}, x, NULL, &err), &err);
    double most = 0;
    for (int t = 0; t < s->face->ntet; t++) most = fmax(most, fai_enrich_mu(m)[t]);
    CHECK_NEAR(most, range.mu[1] / 2, 1e-9 * range.mu[1]);
    fa_method_close(m);
    free(w);
    free(x);
}

// Figures 1 and 8: a runner's head. A smile stiffens, so that it moves less than the neutral face; what is uniform
// moves alike.
static void test_materials(void **state) {
    const Scene *s = *state;
    static const char *const kinds[] = {"uniform", "spatial", "expression"};
    static const int regions[] = {FA_REGION_LIP_UPPER, FA_REGION_LIP_LOWER, FA_REGION_CHEEKS, -1};
    static const double places[3][3] = {{0, -7, 109}, {20, 75, 77}, {0, -75, 87}};
    double peak[3][2][7];
    print_message("peak under `run`, mm        lip_upper lip_lower cheeks   all   nose forehead  chin\n");
    for (int k = 0; k < 3; k++)
        for (int smile = 0; smile < 2; smile++) {
            FaClip *clip = get_clip("run", 0, 50, true);
            zero_shapes(clip);
            if (smile) set_shape(clip, "mouthSmile", 1);
            char text[64];
            snprintf(text, sizeof text, "contact=off rate=180 material=%s", kinds[k]);
            FaMethod *m = open_method(s, text);
            int n;
            float *added = play(s, m, clip, 0, &n);
            for (int r = 0; r < 4; r++) peak[k][smile][r] = 1e3 * peak_of(s, added, 0, n, regions[r]);
            for (int r = 0; r < 3; r++) peak[k][smile][4 + r] = 1e3 * peak_at(s, added, n, places[r]);
            const double *p = peak[k][smile];
            print_message("%-10s %-8s %14.2f %9.2f %6.2f %6.2f %6.3f %6.3f %6.2f   clamped %d\n", kinds[k],
                          smile ? "smile" : "neutral", p[0], p[1], p[2], p[3], p[4], p[5], p[6],
                          fai_enrich_totals(m)->clamped);
            assert_int_equal(fai_enrich_totals(m)->stalled, 0);
            free(added);
            fa_method_close(m);
            fa_clip_free(clip);
        }
    assert_true(peak[2][0][2] > 0.2);                 // cheeks do move
    assert_true(peak[2][1][2] < 0.9 * peak[2][0][2]); // a smile moves less
    assert_true(peak[2][1][2] / peak[2][0][2] <
                0.9 * peak[0][1][2] / peak[0][0][2]); // by its material, not by its shape alone
    // by place: cartilage and what is tight on bone less, lips more; in the neutral no expression adds to it
    assert_true(peak[1][0][4] < 0.7 * peak[0][0][4] && peak[1][0][5] < 0.8 * peak[0][0][5] &&
                peak[1][0][1] > 1.03 * peak[0][0][1]);
    assert_memory_equal(peak[1][0], peak[2][0], sizeof peak[1][0]);
}

// A head that stops: the flesh swings on, calms down and comes back to the artist's surface.
static void test_settle(void **state) {
    const Scene *s = *state;
    FaClip *clip = get_clip("shake", 0, 100, true);
    zero_shapes(clip);
    int stop = 30, n;
    for (int f = 0; f < clip->nframe; f++) {
        double t = fmin(f / 60.0, stop / 60.0), turn[3] = {0, 0.35 * sin(2 * M_PI * 3 * t), 0};
        clip->head[f] = fai_pose_identity();
        fai_q_exp(turn, clip->head[f].q);
    }
    FaMethod *m = open_method(s, "contact=off rate=180");
    float *added = play(s, m, clip, 0, &n);
    double peak = peak_of(s, added, stop, n, -1);
    int calm = n;
    while (calm > stop && peak_of(s, added, calm - 1, calm, -1) < 0.05 * peak) calm--;
    double end = peak_of(s, added, n - 1, n, -1);
    print_message("after a stop: %.2f mm, below 5 %% after %.2f s, %.2g mm after 1.2 s\n", 1e3 * peak,
                  (calm - stop) / 60.0, 1e3 * end);
    assert_true(peak > 0.3e-3 && calm - stop > 2 && calm - stop < 60 && end < 1e-5);
    free(added);
    fa_method_close(m);
    fa_clip_free(clip);
}

// Shaken at 3 g and at 30 g: large, but never a number that is none, nor an explosion.
static void test_rough(void **state) {
    const Scene *s = *state;
    for (int k = 0; k < 2; k++) {
        double g = k ? 30 : 3, hz = 6, amplitude = g * 9.81 / pow(2 * M_PI * hz, 2);
        FaClip *clip = get_clip("shake", 0, 25, true);
        zero_shapes(clip);
        for (int f = 0; f < clip->nframe; f++) {
            clip->head[f] = fai_pose_identity();
            clip->head[f].p[0] = amplitude * sin(2 * M_PI * hz * f / 60.0);
            clip->head[f].p[1] = 0.5 * amplitude * (1 - cos(2 * M_PI * hz * f / 60.0));
        }
        FaMethod *m = open_method(s, "contact=mouth");
        int n;
        float *added = play(s, m, clip, 0, &n);
        double peak = peak_of(s, added, 0, n, -1);
        const FaEnrichTotals *t = fai_enrich_totals(m);
        print_message("%g g: %.1f mm at most, %d solves stopped short, negative curvature %d, proximal %d, rows %d\n",
                      g, 1e3 * peak, t->stalled, t->negative, t->proximal, t->rows);
        assert_true(isfinite(peak) && peak > 1e-4 && peak < 0.08);
        if (k == 0) assert_int_equal(t->stalled, 0);
        free(added);
        fa_method_close(m);
        fa_clip_free(clip);
    }
}

// The same motion at 24, 30 and 60 frames per second, and at half the step, agrees at the times they share.
static void test_rates(void **state) {
    const Scene *s = *state;
    static const struct {
        double fps;
        const char *text;
    } kind[] = {{60, "contact=off rate=300 tolerance=1e-4"},
                {30, "contact=off rate=300 tolerance=1e-4"},
                {24, "contact=off rate=300 tolerance=1e-4"},
                {60, "contact=off rate=600 tolerance=1e-4"}};
    float *added[4];
    int n[4], width = 3 * s->rig->mesh.nvert;
    FaClip *clip = get_clip("run", 0, 31, true);
    for (int k = 0; k < 4; k++) {
        FaMethod *m = open_method(s, kind[k].text);
        added[k] = play(s, m, clip, kind[k].fps, &n[k]);
        fa_method_close(m);
    }
    double peak = peak_of(s, added[0], 0, n[0], -1);
    for (int k = 1; k < 4; k++) {
        int every[2] = {k == 1   ? 2
                        : k == 2 ? 5
                                 : 1,
                        k == 2 ? 2 : 1}; // common times: every so many frames of 0 and of k
        double worst = 0;
        for (int c = 0; c * every[0] < n[0] && c * every[1] < n[k]; c++)
            for (int i = 0; i < width; i += 3) {
                float off[3];
                for (int q = 0; q < 3; q++)
                    off[q] = added[0][(size_t)(c * every[0]) * (size_t)width + (size_t)(i + q)] -
                             added[k][(size_t)(c * every[1]) * (size_t)width + (size_t)(i + q)];
                worst = fmax(worst, length3(off));
            }
        print_message("%g fps, %s: %.2f %% of the peak of %.2f mm from 60 fps\n", kind[k].fps, kind[k].text,
                      100 * worst / peak, 1e3 * peak);
        assert_true(worst < 0.02 * peak);
    }
    for (int k = 0; k < 4; k++) free(added[k]);
    fa_clip_free(clip);
}

// Figure 9: lips that the shapes make cross do not where contact is strict.
static void test_lips(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    FaClip *clip = get_clip("press", 30, 30, true);
    for (size_t i = 0; i < (size_t)clip->nframe * (size_t)clip->nchan; i++) clip->weight[i] *= 1.4f;
    int crossed[2];
    double depth[2];
    for (int k = 0; k < 2; k++) {
        FaMethod *m = open_method(s, k ? "contact=mouth strict=on rate=180" : "contact=off rate=180");
        FaRun *run;
        FaSequence *linear;
        FaCompare compare;
        CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
        CHECK_OK(fa_sequence_of_clip(s->rig, clip, &linear, &err), &err);
        FaCompareOptions o = {.rig = s->rig, .intersections = true};
        CHECK_OK(fa_compare(linear, fa_run_sequence(run), &o, &compare, &err), &err);
        crossed[k] = compare.intersections_b;
        depth[k] = compare.max_mm;
        fa_compare_free(&compare);
        fa_sequence_close(linear);
        fa_run_free(run);
        fa_method_close(m);
    }
    print_message(
        "pressed lips: %d pairs of triangles cross without contact, %d with it; up to %.2f and %.2f mm from linear\n",
        crossed[0], crossed[1], depth[0], depth[1]);
    assert_true(crossed[0] > 20);
    assert_true(crossed[1] < crossed[0] / 20);
    fa_clip_free(clip);
}

// Pairs of triangles that cross in a frame and do not in the artist's pose of it.
enum { MOST_PAIRS = 4096 };
typedef struct Crossings {
    int most, sum; // of a frame, of all
    int across; // of the sum: they face each other across an opening in the pose; the rest has flesh between, or is a
                // fold
    double deepest; // m: how far a triangle reaches through the other's plane
} Crossings;

static void corners_of(const FaMesh *m, const float *x, int t, double at[3][3]) {
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) at[i][k] = (double)x[3 * (size_t)m->tri[3 * t + i] + (size_t)k];
}

// Middle and normal of a triangle.
static void plane_of(double at[3][3], double middle[3], double normal[3]) {
    double u[3], v[3];
    fai_v3_sub(at[1], at[0], u);
    fai_v3_sub(at[2], at[0], v);
    fai_v3_cross(u, v, normal);
    double size = fmax(fai_v3_norm(normal), 1e-30);
    for (int k = 0; k < 3; k++) middle[k] = (at[0][k] + at[1][k] + at[2][k]) / 3, normal[k] /= size;
}

static double reaches_through(double a[3][3], double b[3][3]) {
    double middle[3], n[3], off[3], front = 0, back = 0;
    plane_of(b, middle, n);
    for (int i = 0; i < 3; i++) {
        fai_v3_sub(a[i], middle, off);
        front = fmax(front, fai_v3_dot(n, off));
        back = fmax(back, -fai_v3_dot(n, off));
    }
    return fmin(front, back);
}

static void add_crossings(const Scene *s, const float *pose, const float *x, Crossings *c) {
    static int own[MOST_PAIRS][2], now[MOST_PAIRS][2];
    const FaMesh *m = &s->rig->mesh;
    FaError err = {0};
    int nown, nnow, fresh = 0;
    CHECK_OK(fai_self_intersections(m, pose, NULL, own, MOST_PAIRS, &nown, &err), &err);
    CHECK_OK(fai_self_intersections(m, x, NULL, now, MOST_PAIRS, &nnow, &err), &err);
    assert_true(nown <= MOST_PAIRS && nnow <= MOST_PAIRS);
    for (int i = 0, j = 0; i < nnow; i++) {
        while (j < nown && (own[j][0] < now[i][0] || (own[j][0] == now[i][0] && own[j][1] < now[i][1]))) j++;
        if (j < nown && !memcmp(own[j], now[i], sizeof now[i])) continue;
        double at[2][3][3], middle[2][3], n[2][3], off[3];
        for (int h = 0; h < 2; h++) corners_of(m, x, now[i][h], at[h]);
        c->deepest = fmax(c->deepest, fmin(reaches_through(at[0], at[1]), reaches_through(at[1], at[0])));
        for (int h = 0; h < 2; h++) {
            corners_of(m, pose, now[i][h], at[h]);
            plane_of(at[h], middle[h], n[h]);
        }
        fai_v3_sub(middle[1], middle[0], off);
        c->across += fai_v3_dot(n[0], n[1]) < 0 && fai_v3_dot(n[0], off) > -2e-4 && -fai_v3_dot(n[1], off) > -2e-4;
        fresh++;
    }
    c->most = FA_MAX(c->most, fresh);
    c->sum += fresh;
}

// Pressed lips on a shaken head: the default keeps them apart but for the corners of the mouth. What crosses when flesh
// is thrown by 25 mm is mostly no longer lips: walls of flesh are crushed through themselves, which contact does not
// see.
static void test_crossings(void **state) {
    const Scene *s = *state;
    static const struct {
        const char *name, *text;
        double g;
        int frames;
    } shake[] = {{"soft, 3 g", "softness=2", 3, 30}, {"20 g", "softness=1", 20, 12}};
    static const char *const contact[] = {"off", "mouth", "mouth strict=on"};
    Crossings c[2][3] = {{{0}}};
    FaError err = {0};
    bool full = getenv("FASCIA_FULL") != NULL; // 20 g too
    print_message("pressed, shaken at 6 Hz: pairs crossing beyond the pose    most  sum  across an opening  deepest\n");
    for (int k = 0; k < (full ? 2 : 1); k++)
        for (int w = 0; w < 3; w++) {
            FaClip *clip = get_clip("press", 30, shake[k].frames, true);
            double amplitude = shake[k].g * 9.81 / pow(2 * M_PI * 6, 2), moved = 0;
            for (int f = 0; f < clip->nframe; f++) {
                double phase = 2 * M_PI * 6 * f / 60.0;
                clip->head[f] = fai_pose_identity();
                fai_v3_set(clip->head[f].p, amplitude * sin(phase), 0.5 * amplitude * (1 - cos(phase)), 0);
            }
            char text[96];
            snprintf(text, sizeof text, "%s contact=%s", shake[k].text, contact[w]);
            FaMethod *m = open_method(s, text);
            FaSequence *linear;
            int n, width = 3 * s->rig->mesh.nvert;
            float *added = play(s, m, clip, 0, &n), *pose = malloc(s->bytes), *x = malloc(s->bytes);
            CHECK_OK(fa_sequence_of_clip(s->rig, clip, &linear, &err), &err);
            for (int f = 0; f < n; f++) {
                CHECK_OK(fa_sequence_read(linear, f, pose, &err), &err);
                for (int i = 0; i < width; i++) x[i] = pose[i] + added[(size_t)f * (size_t)width + (size_t)i];
                add_crossings(s, pose, x, &c[k][w]);
            }
            moved = peak_of(s, added, 0, n, -1);
            print_message("%-10s %-16s moved %4.1f mm %22d %5d %10d %12.2f mm\n", shake[k].name, contact[w],
                          1e3 * moved, c[k][w].most, c[k][w].sum, c[k][w].across, 1e3 * c[k][w].deepest);
            assert_int_equal(fai_enrich_totals(m)->stalled, 0);
            free(added);
            free(pose);
            free(x);
            fa_sequence_close(linear);
            fa_method_close(m);
            fa_clip_free(clip);
        }
    assert_true(c[0][0].sum > 300 && (!full || c[1][0].across > 60));
    assert_true(c[0][1].most < 10 && c[0][1].sum < c[0][0].sum / 20 && c[0][1].deepest < 1e-4);
    assert_int_equal(c[0][2].sum, 0);
    assert_true(!full || c[1][1].across < c[1][0].across / 5);
    // the artist's own crossings stay as they are, to the bit
    FaClip *clip = get_clip("press", 40, 8, false);
    for (size_t i = 0; i < (size_t)clip->nframe * (size_t)clip->nchan; i++) clip->weight[i] *= 1.4f;
    FaMethod *m = open_method(s, "contact=mouth");
    int n;
    float *added = play(s, m, clip, 0, &n);
    for (size_t i = 0; i < (size_t)n * 3 * (size_t)s->rig->mesh.nvert; i++) assert_true(added[i] == 0);
    free(added);
    fa_method_close(m);
    fa_clip_free(clip);
}

// A state loaded elsewhere goes on to the same bits, also past the moment when factors are made anew.
static void test_state(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    FaClip *clip = get_clip("run", 0, 24, true);
    FaMethod *a = open_method(s, "contact=mouth"), *b = open_method(s, "contact=mouth");
    FaRun *run[2];
    CHECK_OK(fa_run_new(a, clip, &run[0], &err), &err);
    float *x = malloc(s->bytes), *y = malloc(s->bytes);
    void *saved = malloc(fa_method_state_size(a));
    for (int f = 0; f <= 12; f++) CHECK_OK(fa_sequence_read(fa_run_sequence(run[0]), f, x, &err), &err);
    fa_method_save(a, saved);
    for (int f = 13; f < 24; f++) CHECK_OK(fa_sequence_read(fa_run_sequence(run[0]), f, x, &err), &err);
    CHECK_OK(fa_method_load(b, saved, fa_method_state_size(b), &err), &err);
    assert_true(fai_method_distance(b, saved) == 0);
    FaStats stats;
    CHECK_OK(fa_run_new(b, clip, &run[1], &err), &err);
    for (int f = 13; f < 24; f++) CHECK_OK(fai_run_step(run[1], f, y, &stats, &err), &err);
    assert_memory_equal(x, y, s->bytes);
    assert_true(fa_method_hash(a) == fa_method_hash(b));
    free(saved);
    free(x);
    free(y);
    fa_run_free(run[0]);
    fa_run_free(run[1]);
    fa_method_close(a);
    fa_method_close(b);
    fa_clip_free(clip);
}

static void test_threads(void **state) {
    const Scene *s = *state;
    static const int threads[] = {1, 2, 3, 8};
    FaClip *clip = get_clip("run", 0, 6, true);
    uint64_t hash = 0;
    int before = fa_threads();
    for (int k = 0; k < FA_COUNT(threads); k++) {
        fa_threads_set(threads[k]);
        FaMethod *m = open_method(s, "contact=mouth");
        float *added = play(s, m, clip, 0, NULL);
        if (k == 0) hash = fa_method_hash(m);
        assert_true(fa_method_hash(m) == hash);
        free(added);
        fa_method_close(m);
    }
    fa_threads_set(before);
    fa_clip_free(clip);
}

static void test_strength(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    static const char *const bad[] = {"cheeks",    "cheeks=",    "cheeks=x", "nose=2",
                                      "cheeks=-1", "cheeks=1,,", "=3",       "cheeks=1;lips=2"};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        CHECK_OK(fa_params_new("enrich", &params, &err), &err);
        CHECK_OK(fa_params_set(params, "strength", bad[i], &err), &err);
        assert_int_equal(
            fa_method_open("enrich", &(FaMethodSetup){.rig = s->rig, .face = s->face, .params = params}, &m, &err),
            FA_E_ARG);
        assert_true(strlen(err.remedy) > 0);
        fa_params_free(params);
    }
    FaClip *clip = get_clip("run", 0, 15, true);
    zero_shapes(clip);
    double peak[2];
    for (int k = 0; k < 2; k++) {
        int n;
        m = open_method(s, k ? "contact=off strength=cheeks=0,lips=2" : "contact=off");
        float *added = play(s, m, clip, 0, &n);
        peak[k] = 0;
        for (int i = 0; i < s->face->nskin; i++)
            if (s->face->region[FA_REGION_CHEEKS][i] == 1)
                peak[k] =
                    fmax(peak[k],
                         length3(added +
                                 ((size_t)(n - 1) * (size_t)s->rig->mesh.nvert + (size_t)s->face->skin_vertex[i]) * 3));
        free(added);
        fa_method_close(m);
    }
    assert_true(peak[0] > 0 && peak[1] < 0.01 * peak[0]);
    fa_clip_free(clip);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),     cmocka_unit_test(test_exact_long),      cmocka_unit_test(test_naive_speech),
        cmocka_unit_test(test_materials), cmocka_unit_test(test_mixed_materials), cmocka_unit_test(test_settle),
        cmocka_unit_test(test_rough),     cmocka_unit_test(test_rates),           cmocka_unit_test(test_lips),
        cmocka_unit_test(test_crossings), cmocka_unit_test(test_state),           cmocka_unit_test(test_threads),
        cmocka_unit_test(test_strength),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

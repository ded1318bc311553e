// Retargeting: the motion of one face in the proportions of another, judged against what the other face does at the
// same weights.
// labels: heavy
#include "test.h"

#include "blendforces/retarget.h"
#include "fascia/head.h"
#include "fascia/retarget.h"
#include "math/mat3.h"

typedef struct Pair {
    FaHead *head[2];
    FaRig *rig[2];
    FaClip *clip;
    FaMarkerMap *map;   // on the source
    FaMarkerTake *take; // of the source
} Pair;

static void make_pair(Pair *p, int seed_a, int level_a, int seed_b, int level_b, const char *clip) {
    FaError err = {0};
    int seed[] = {seed_a, seed_b}, level[] = {level_a, level_b};
    FaClip *whole;
    FaSequence *seq;
    for (int i = 0; i < 2; i++) {
        FaHeadParams params = fa_head_params_default();
        params.level = level[i];
        fa_head_params_seed(&params, (uint64_t)seed[i]);
        CHECK_OK(fa_head_new(&params, &p->head[i], &err), &err);
        CHECK_OK(fa_head_rig(p->head[i], 0, &p->rig[i], &err), &err);
    }
    CHECK_OK(fa_head_clip(clip, &whole, &err), &err);
    CHECK_OK(fa_clip_slice(whole, 0, 150, &p->clip, &err), &err);
    fa_clip_free(whole);
    CHECK_OK(fa_markers_choose(p->rig[0], 80, &p->map, &err), &err);
    CHECK_OK(fa_sequence_of_clip(p->rig[0], p->clip, &seq, &err), &err);
    CHECK_OK(fa_markers_sample(seq, p->map, 0, &p->take, &err), &err);
    fa_sequence_close(seq);
}

static void free_pair(Pair *p) {
    fa_markers_free(p->take);
    fa_marker_map_free(p->map);
    fa_clip_free(p->clip);
    for (int i = 0; i < 2; i++) {
        fa_rig_free(p->rig[i]);
        fa_head_free(p->head[i]);
    }
}

// rms distance from a retargeted take to the target's own motion at its points, and the rms of that motion, m.
static double distance(const Pair *p, const FaMarkerTake *out, const FaMarkerMap *map, double *motion, double *still) {
    FaError err = {0};
    FaSequence *seq;
    FaMarkerTake *own;
    CHECK_OK(fa_sequence_of_clip(p->rig[1], p->clip, &seq, &err), &err);
    CHECK_OK(fa_markers_sample(seq, map, 0, &own, &err), &err);
    double sum = 0, all = 0;
    assert_int_equal(own->nmarker, out->nmarker);
    assert_int_equal(own->nframe, out->nframe);
    *still = 0;
    for (int m = 0; m < own->nmarker; m++) {
        double rest[3];
        fa_marker_point_at(&map->point[m], p->rig[1]->mesh.x, true, rest);
        for (int f = 0; f < own->nframe; f++) {
            size_t i = 3 * ((size_t)f * (size_t)own->nmarker + (size_t)m);
            for (size_t k = 0; k < 3; k++) {
                double d = (double)out->x[i + k] - (double)own->x[i + k], v = (double)own->x[i + k] - rest[k];
                if (isfinite(d)) sum += d * d;
                all += v * v;
            }
        }
    }
    for (int m = 0; m < own->nmarker; m++) { // the neutral goes to the neutral
        double rest[3];
        fa_marker_point_at(&map->point[m], p->rig[1]->mesh.x, true, rest);
        for (size_t k = 0; k < 3; k++) {
            double d = fabs((double)out->x[3 * (size_t)m + k] - (double)own->x[3 * (size_t)m + k]);
            if (d > *still) *still = d;
        }
    }
    double n = (double)own->nmarker * own->nframe;
    *motion = sqrt(all / n);
    fa_markers_free(own);
    fa_sequence_close(seq);
    return sqrt(sum / n);
}

static FaRetargetReport retarget(const Pair *p, FaRbfKernel kernel, double smooth, double *error, double *motion,
                                 double *still) {
    FaError err = {0};
    FaRetargetOptions o = fa_retarget_options_default();
    FaRetargetReport rep;
    FaMarkerTake *out;
    FaMarkerMap *map;
    o.source = p->rig[0];
    o.from = p->map;
    o.smooth = smooth;
    CHECK_OK(fai_retarget(p->take, p->rig[1], &o, kernel, &out, &map, &rep, &err), &err);
    *error = distance(p, out, map, motion, still);
    fa_markers_free(out);
    fa_marker_map_free(map);
    return rep;
}

// The distance between two markers in every frame of a take, and at rest.
static void gap_of(const FaMarkerTake *t, int a, int b, double *least, double *most) {
    *least = INFINITY;
    *most = 0;
    for (int f = 0; f < t->nframe; f++) {
        const float *x = t->x + 3 * ((size_t)f * (size_t)t->nmarker + (size_t)a);
        const float *y = t->x + 3 * ((size_t)f * (size_t)t->nmarker + (size_t)b);
        double d = sqrt(pow((double)(x[0] - y[0]), 2) + pow((double)(x[1] - y[1]), 2) + pow((double)(x[2] - y[2]), 2));
        *least = fmin(*least, d);
        *most = fmax(*most, d);
    }
}

// Two of the map's points that touch at rest and part most: one on each lip.
static void lips(const Pair *p, int *upper, int *lower) {
    double best = 0;
    for (int i = 0; i < p->take->nmarker; i++)
        for (int j = 0; j < i; j++) {
            double least, most;
            gap_of(p->take, i, j, &least, &most);
            if (most / least > best) best = most / least, *upper = i, *lower = j;
        }
}

// Another identity, of other vertices: nearer to its own motion than the source's displacements as they are; lips close
// as they did; the neutral stays the neutral.
static void other_identity(void **state) {
    (void)state;
    static const int cases[][4] = {{3, 0, 9, 0}, {5, 0, 2, 1}};
    for (int c = 0; c < 2; c++) {
        Pair p;
        FaError err = {0};
        make_pair(&p, cases[c][0], cases[c][1], cases[c][2], cases[c][3], "talk");
        double error, exact, cubic, motion, still;
        FaRetargetReport rep = retarget(&p, FAI_RETARGET_KERNEL, 0, &error, &motion, &still);
        retarget(&p, FA_RBF_LINEAR, -1, &exact, &motion, &still);
        retarget(&p, FA_RBF_CUBIC, 5, &cubic, &motion, &still);
        print_message("%d.%d -> %d.%d: motion %.2f mm rms, off by %.3f mm (exact warp %.3f, r^3 %.3f); "
                      "proportions %.1f mm, size %.3f, %.2f -> %.2f mm\n",
                      cases[c][0], cases[c][1], cases[c][2], cases[c][3], 1e3 * motion, 1e3 * error, 1e3 * exact,
                      1e3 * cubic, rep.shape_mm, rep.scale, rep.before_mm, rep.after_mm);
        assert_string_equal(rep.how, "through the source rig");
        assert_true(rep.used >= 76 && rep.shape_mm > 1 && motion > 1e-3);
        assert_true(error < 0.08 * motion && error <= exact);
        CHECK_NEAR(rep.after_mm / rep.before_mm, rep.scale, 0.08);
        CHECK_NEAR(still, 0, 1e-4); // the clip begins almost at rest
        FaRetargetOptions o = fa_retarget_options_default();
        o.source = p.rig[0];
        o.from = p.map;
        FaMarkerTake *out;
        FaMarkerMap *map;
        CHECK_OK(fa_retarget(p.take, p.rig[1], &o, &out, &map, NULL, &err), &err);
        if (out->nmarker == p.take->nmarker) {
            int upper = 0, lower = 0;
            double least[2], most[2];
            lips(&p, &upper, &lower);
            gap_of(p.take, upper, lower, &least[0], &most[0]);
            gap_of(out, upper, lower, &least[1], &most[1]);
            print_message("lips %s %s: %.2f to %.2f mm becomes %.2f to %.2f\n", p.take->name[upper],
                          p.take->name[lower], 1e3 * least[0], 1e3 * most[0], 1e3 * least[1], 1e3 * most[1]);
            assert_true(most[0] > 3 * least[0] && most[1] > 2 * least[1]);
            assert_true(least[1] < least[0] + 3e-3);
        }
        fa_markers_free(out);
        fa_marker_map_free(map);
        free_pair(&p);
    }
}

// An actor's take: turned, moved, shaking its head, twice as large, some samples missing; the points on the target by a
// map.
static void actor(void **state) {
    (void)state;
    Pair p;
    FaError err = {0};
    make_pair(&p, 4, 0, 0, 0, "talk");
    FaMarkerTake *out, *t = p.take;
    FaMarkerMap *map;
    FaRetargetReport rep;
    fa_free(t->head);
    t->head = NULL;
    for (int f = 0; f < t->nframe; f++) {
        FaPose pose = {{0, 0, 0, 1}, {0.3 + 0.05 * sin(f * 0.1), 1.5, -0.2}};
        double turn[3] = {0.4, 0.9 + 0.1 * sin(f * 0.2), 0};
        fai_q_exp(turn, pose.q);
        for (int m = 0; m < t->nmarker; m++) {
            float *x = t->x + 3 * ((size_t)f * (size_t)t->nmarker + (size_t)m);
            double a[3] = {2 * (double)x[0], 2 * (double)x[1], 2 * (double)x[2]}, b[3];
            fai_pose_apply(&pose, a, b);
            for (int k = 0; k < 3; k++) x[k] = (float)b[k];
        }
    }
    t->ok[5 * t->nmarker + 7] = 0;
    for (int k = 0; k < 3; k++) t->x[3 * (5 * t->nmarker + 7) + k] = NAN;
    FaRetargetOptions o = fa_retarget_options_default();
    o.to = p.map; // the same vertices of the target
    CHECK_OK(fa_retarget(t, p.rig[1], &o, &out, &map, &rep, &err), &err);
    assert_string_equal(rep.how, "by the map");
    assert_int_equal(rep.used, 80);
    CHECK_NEAR(rep.scale, 0.5, 0.03);
    assert_non_null(out->head);
    int gaps = 0;
    for (int i = 0; i < out->nframe * out->nmarker; i++) gaps += !out->ok[i];
    assert_int_equal(gaps, 1);
    double motion, still, error = distance(&p, out, map, &motion, &still);
    print_message("actor: motion %.2f mm, off by %.2f mm\n", 1e3 * motion, 1e3 * error);
    assert_true(error < 0.35 * motion);
    fa_markers_free(out);
    fa_marker_map_free(map);
    // the same without a map: names v123 fit this face
    o.to = NULL;
    CHECK_OK(fa_retarget(t, p.rig[1], &o, &out, &map, &rep, &err), &err);
    assert_string_equal(rep.how, "by vertex names");
    fa_markers_free(out);
    fa_marker_map_free(map);
    free_pair(&p);
}

// The very same face: nothing changes.
static void same_face(void **state) {
    (void)state;
    Pair p;
    FaError err = {0};
    make_pair(&p, 1, 0, 1, 0, "press");
    double error, motion, still;
    FaRetargetReport rep = retarget(&p, FAI_RETARGET_KERNEL, 0, &error, &motion, &still);
    CHECK_NEAR(rep.scale, 1, 1e-9);
    CHECK_NEAR(rep.shape_mm, 0, 1e-4);
    CHECK_NEAR(1e3 * error, 0, 1e-3);
    // too few markers, options out of range
    FaMarkerTake *out;
    FaMarkerMap *map, *few;
    FaRetargetOptions o = fa_retarget_options_default();
    o.frame = 1000000;
    assert_int_equal(fa_retarget(p.take, p.rig[1], &o, &out, &map, NULL, &err), FA_E_ARG);
    assert_null(out);
    o.frame = -1;
    o.smooth = NAN;
    assert_int_equal(fa_retarget(p.take, p.rig[1], &o, &out, &map, NULL, &err), FA_E_ARG);
    o.smooth = 0;
    CHECK_OK(fa_marker_map_move(p.map, p.rig[0], p.rig[1], 0, &few, &err), &err);
    assert_memory_equal(few->point, p.map->point, (size_t)few->count * sizeof *few->point);
    for (int i = 3; i < few->count; i++) few->point[i].vert[0] = -1;
    o.to = few;
    err = (FaError){0};
    assert_int_equal(fa_retarget(p.take, p.rig[1], &o, &out, &map, NULL, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "3 of the take's 80"));
    fa_marker_map_free(few);
    free_pair(&p);
}

// Every allocation fails once: a code, an error that says so, nothing given out, nothing lost.
static void no_memory(void **state) {
    (void)state;
    Pair p;
    FaError err = {0};
    FaClip *cut;
    FaSequence *seq;
    FaMarkerTake *some;
    make_pair(&p, 3, 0, 9, 0, "talk");
    CHECK_OK(fa_clip_slice(p.clip, 0, 2, &cut, &err), &err);
    CHECK_OK(fa_sequence_of_clip(p.rig[0], cut, &seq, &err), &err);
    CHECK_OK(fa_markers_sample(seq, p.map, 0, &some, &err), &err);
    for (int way = 0; way < 3; way++) {
        bool done = false;
        long k = 1;
        for (; !done && k < 20000; k += k < 40 ? 1 : k / 8) {
            FaMarkerTake *out = NULL;
            FaMarkerMap *map = NULL;
            FaRetargetOptions o = fa_retarget_options_default();
            if (way == 1) o.source = p.rig[0], o.from = p.map;
            err = (FaError){0};
            long before = test_alloc_balance();
            test_fail_alloc(k);
            FaCode rc = way == 2 ? fa_marker_map_move(p.map, p.rig[0], p.rig[1], 0, &map, &err)
                                 : fa_retarget(some, p.rig[1], &o, &out, &map, NULL, &err);
            bool failed = test_alloc_failed();
            test_fail_alloc(0);
            done = !failed;
            assert_true(rc >= 0 || (failed && err.what[0] && !out && !map));
            if (!failed) assert_true(rc >= 0 && map);
            fa_markers_free(out);
            fa_marker_map_free(map);
            assert_true(test_alloc_balance() == before);
        }
        print_message("way %d: %ld allocations tried\n", way, k);
        assert_true(done && k > 5);
    }
    fa_markers_free(some);
    fa_sequence_close(seq);
    fa_clip_free(cut);
    free_pair(&p);
}

static FaCode move_again(void *user, FaError *err) {
    const Pair *p = user;
    FaMarkerMap *map;
    FaCode rc = fa_marker_map_move(p->map, p->rig[0], p->rig[1], 0, &map, err);
    assert_true(rc >= 0 ? map != NULL : !map);
    fa_marker_map_free(map);
    return rc;
}

// To a face of other triangles, which one is laid over first.
static void no_memory_for_another_topology(void **state) {
    (void)state;
    Pair p;
    FaError err = {0};
    make_pair(&p, 3, 0, 9, 0, "talk");
    fa_rig_free(p.rig[1]);
    CHECK_OK(fa_rig_load(test_animal("low"), NULL, &p.rig[1], &err), &err);
    assert_true(test_starve(move_again, &p) > 20);
    free_pair(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_face), cmocka_unit_test(no_memory),
                                       cmocka_unit_test(actor), cmocka_unit_test(other_identity),
                                       cmocka_unit_test(no_memory_for_another_topology)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

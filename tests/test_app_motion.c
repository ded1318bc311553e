// Head motion as a user meets it: a BVH in every verb, on a bare head and on a body, and heads that jump.
// labels: heavy
#include "test_app_tools.h"
#include "test_motion.h"

#include "fascia/head.h"
#include "fascia/rig.h"
#include "math/mat3.h"

static char body[4096], plain[4096], bvh[4096], jumping[4096], out[4096];

static int find(const char *name) {
    int i = 0;
    while (i < fa_zoo_count() && strcmp(fa_zoo_animal(i).name, name)) i++;
    return i;
}

static int make_files(void **state) {
    (void)state;
    FaError err = {0};
    snprintf(body, sizeof body, "%s", test_path("body.glb"));
    snprintf(plain, sizeof plain, "%s", test_path("plain.glb"));
    snprintf(bvh, sizeof bvh, "%s", test_path("run.bvh"));
    snprintf(jumping, sizeof jumping, "%s", test_path("jump.json"));
    snprintf(out, sizeof out, "%s", test_path("out.glb"));
    if (fa_zoo_save(find("body"), 0, NULL, body, &err) < 0 || fa_zoo_save(find("plain"), 0, NULL, plain, &err) < 0)
        return -1;
    write_runner(bvh, 61, 0);
    // a head that is a metre away from one frame to the next
    FaClip *clip;
    if (fa_clip_new(40, 0, NULL, 30, &clip, &err) < 0 || !(clip->head = FA_NEW(40, FaPose))) return -1;
    for (int f = 0; f < 40; f++) clip->head[f] = (FaPose){{0, 0, 0, 1}, {f >= 20, 0.01 * f, 0}};
    FaCode rc = fa_clip_save(clip, jumping, &err);
    fa_clip_free(clip);
    return rc < 0 ? -1 : 0;
}

// The head joint of what was written stands on the neck in every frame; the motion read back is the one shown.
static void check_body(void) {
    FaError err = {0};
    FaRig *rig, *from;
    FaClip *clip, *shown, *felt;
    CHECK_OK(fa_rig_load(out, NULL, &rig, &err), &err);
    CHECK_OK(fa_rig_load(body, NULL, &from, &err), &err);
    CHECK_OK(fa_clip_load(bvh, NULL, &clip, &err), &err);
    CHECK_OK(fa_clip_prepare_head(&clip, -1, NULL, &err), &err);
    CHECK_OK(fa_clip_on_body(from, clip, &shown, &felt, &err), &err);
    assert_non_null(rig->clip);
    assert_non_null(rig->clip->head);
    assert_true(rig->clip->nframe >= 60);
    for (int f = 0; f < rig->clip->nframe; f++) {
        double at[3];
        FaPose pose = fa_rig_pose(rig, &rig->clip->head[f]), want;
        fa_clip_sample(shown, rig->clip->start + rig->clip->time[f], NULL, &want);
        fai_pose_apply(&pose, rig->pivot, at);
        assert_true(hypot(hypot(at[0], at[1] - 1.62), at[2]) < 1e-4);
        for (int k = 0; k < 3; k++) assert_true(fabs(rig->clip->head[f].p[k] - want.p[k]) < 1e-5);
        assert_true(fabs(fabs(fai_q_dot(rig->clip->head[f].q, want.q)) - 1) < 1e-9);
    }
    fa_clip_free(shown);
    fa_clip_free(felt);
    fa_clip_free(clip);
    fa_rig_free(from);
    fa_rig_free(rig);
}

static void body_keeps_its_head(void **state) {
    (void)state;
    assert_int_equal(RUN("blend", body, bvh, "-o", out), 0);
    SAID("counted from its first frame, and smoothed below 10 Hz");
    SAID("it turns about its joint");
    SAID("is felt by the flesh, not shown");
    SAID("not as the animation in body.glb");
    check_body();
    assert_int_equal(RUN("convert", body, out, "--clip", bvh), 0);
    check_body();
    assert_int_equal(RUN("drive", body, bvh, "-o", out), 0);
    check_body();
}

// In the world the head turns, and what is not of the head stands.
static void body_stands(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    FaSequence *seq;
    const char *cache = test_path("world.pc2");
    assert_int_equal(RUN("convert", body, cache, "--clip", bvh, "--world"), 0);
    CHECK_OK(fa_rig_load(body, NULL, &rig, &err), &err);
    CHECK_OK(fa_sequence_open(cache, NULL, &seq, &err), &err);
    float *x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *x);
    double head = 0, feet = 0;
    for (int f = 0; f < fa_sequence_nframe(seq); f++) {
        CHECK_OK(fa_sequence_read(seq, f, x, &err), &err);
        for (int v = 0; v < rig->mesh.nvert; v++) {
            double d = 0;
            for (int k = 0; k < 3; k++) d = fmax(d, fabs((double)x[3 * v + k] - (double)rig->mesh.x[3 * v + k]));
            if (rig->head_share[v] == 0) feet = fmax(feet, d);
            if (rig->head_share[v] == 1) head = fmax(head, d);
        }
    }
    assert_true(feet < 1e-5 && head > 0.01 && head < 0.1);
    free(x);
    fa_sequence_close(seq);
    fa_rig_free(rig);
}

static void recordings_in_every_verb(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    assert_int_equal(RUN("blend", plain, bvh, "-o", out, "--json"), 0);
    assert_true(said_number("frames") == 60);
    assert_true(said_number("max_displacement_mm") > 0.5 && said_number("max_displacement_mm") < 20);
    assert_int_equal(RUN("drive", plain, bvh, "-o", out, "--json"), 0);
    assert_true(said_number("max_displacement_mm") > 0.2 && said_number("max_displacement_mm") < 20);
    CHECK_OK(fa_rig_load(out, NULL, &rig, &err), &err);
    assert_true(rig->clip->nframe == 60 && fabs(rig->clip->head[0].p[1]) < 1e-6);
    fa_rig_free(rig);
    assert_int_equal(RUN("convert", bvh, test_path("run.json")), 0);
    SAID("counted from its first frame");
    assert_int_equal(RUN("markers", plain, bvh, "-o", test_path("m.csv"), "--world"), 0);
    assert_int_equal(RUN("render", plain, "--clip", bvh, "--frame", "5", "--size", "64x64", "-o", test_path("r.png")),
                     0);
}

static void jumps_are_cuts(void **state) {
    (void)state;
    static const char *const verb[] = {"blend", "drive"};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN(verb[i], plain, jumping, "-o", out), 0);
        SAID("the head jumps as no neck does after frame 19 (0.63 s)");
        assert_int_equal(RUN(verb[i], plain, jumping, "-o", out, "--json"), 0);
        assert_true(said_number("max_displacement_mm") < 1);
        SAID("head-cut");
    }
}

static void still_head_is_written_at_once(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(plain, NULL, &rig, &err), &err);
    fa_free(rig->clip->head);
    rig->clip->head = NULL;
    CHECK_OK(fa_clip_save(rig->clip, test_path("still.json"), &err), &err);
    fa_rig_free(rig);
    assert_int_equal(RUN("enrich", plain, test_path("still.json"), "-o", out), 0);
    SAID("nothing moves the flesh");
    assert_null(strstr(output, "making the flesh"));
    assert_int_equal(RUN("enrich", plain, test_path("still.json"), "-o", out, "--json"), 0);
    assert_true(said_number("max_displacement_mm") == 0 && said_number("seconds") < 20);
    assert_int_equal(RUN("enrich", plain, test_path("still.json"), "-o", out, "--loop-motion"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(body_keeps_its_head),           cmocka_unit_test(body_stands),
        cmocka_unit_test(recordings_in_every_verb),      cmocka_unit_test(jumps_are_cuts),
        cmocka_unit_test(still_head_is_written_at_once),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}

// Head motion of recordings: where it begins, how long it lasts, where it is cut, and what a body shows of it.
#include "test_motion.h"

#include "fascia/head.h"
#include "fascia/rig.h"
#include "math/mat3.h"
#include "math/pose_curve.h"
#include "math/pose_cut.h"

static FaClip *runner(int nframe, double jump, double hz, FaPose *moved) {
    FaError err = {0};
    FaClip *clip;
    const char *path = test_path("run.bvh");
    write_runner(path, nframe, jump);
    CHECK_OK(fa_clip_load(path, NULL, &clip, &err), &err);
    CHECK_OK(fa_clip_prepare_head(&clip, hz, moved, &err), &err);
    return clip;
}

static double turned(const FaPose *a, const FaPose *b) {
    double back[4], q[4], r[3];
    fai_q_conj(a->q, back);
    fai_q_mul(b->q, back, q);
    fai_q_log(q, r);
    double angle = fai_v3_norm(r);
    return fmin(angle, 2 * M_PI - angle);
}

static double apart(const FaPose *a, const FaPose *b) {
    double d[3];
    fai_v3_sub(a->p, b->p, d);
    return fai_v3_norm(d);
}

// The largest acceleration that flesh would feel, m/s2.
static double hardest(const FaClip *clip) {
    FaError err = {0};
    FaPoseCurve *curve;
    double most = 0;
    CHECK_OK(fai_pose_curve_new_cut(clip->nframe, clip->time, clip->head, FA_ENDS_FREE, &curve, &err), &err);
    for (int i = 0; i < 480; i++) {
        FaMotion m;
        fai_pose_curve_eval(curve, i / 480.0 * clip->time[clip->nframe - 1], &m);
        most = fmax(most, fai_v3_norm(m.a));
    }
    fai_pose_curve_free(curve);
    return most;
}

static void recording_begins_at_home(void **state) {
    (void)state;
    FaPose moved;
    FaClip *clip = runner(121, 0, -1, &moved);
    assert_int_equal(clip->nframe, 120); // without the rest pose
    double ahead[3] = {0, 0, 1}, look[3];
    fai_q_rotate(clip->head[0].q, ahead, look);
    assert_true(fai_v3_norm(clip->head[0].p) < 1e-9 && fabs(look[0]) < 1e-6 && look[2] > 0.9);
    // it ran along -x, which is where it looked: now that is +z
    const double *end = clip->head[119].p;
    assert_true(end[2] > 2.9 && fabs(end[0]) < 0.1 && fabs(end[1]) < 0.2);
    assert_true(hardest(clip) < 60); // m/s2; as recorded, jitter alone gives hundreds
    FaClip *raw = runner(121, 0, 0, NULL);
    assert_true(hardest(raw) > 3 * hardest(clip));
    fa_clip_free(raw);
    fa_clip_free(clip);
}

static void cuts_are_found(void **state) {
    (void)state;
    FaClip *clip = runner(121, 0, -1, NULL), *cut = runner(121, 0.6, -1, NULL);
    bool at[120];
    assert_int_equal(fai_pose_cuts(120, clip->time, clip->head, at), 0);
    assert_int_equal(fai_pose_cuts(120, cut->time, cut->head, at), 1);
    assert_true(at[59]); // of 121 frames the 60th is the last before it; the rest pose is gone
    assert_true(hardest(cut) < 1.5 * hardest(clip)); // no acceleration across it; the filter does not smear it
    // a seam between samples at another rate is still one jump
    FaClip *slow;
    FaError err = {0};
    CHECK_OK(fa_clip_resample(cut, 50, &slow, &err), &err);
    assert_int_equal(fai_pose_cuts(slow->nframe, slow->time, slow->head, at), 1);
    fa_clip_free(slow);
    fa_clip_free(clip);
    fa_clip_free(cut);
}

static void short_motion_stops_or_goes_on(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip = runner(121, 0, -1, NULL), *stop, *round, *none;
    double end = clip->time[119];
    CHECK_OK(fa_clip_lengthen_head(clip, end - 0.1, false, &none, &err), &err);
    assert_null(none);
    CHECK_OK(fa_clip_lengthen_head(clip, 3, false, &stop, &err), &err);
    FaPose a, b;
    fa_clip_sample(stop, end + 0.6, NULL, &a);
    fa_clip_sample(stop, 3, NULL, &b);
    assert_true(apart(&a, &b) < 1e-9 && turned(&a, &b) < 1e-6); // it stands
    fa_clip_sample(stop, end, NULL, &a);
    assert_true(apart(&a, &b) > 0.2 && apart(&a, &b) < 1); // 3 m/s are not stopped at once
    assert_true(hardest(stop) < 60);
    CHECK_OK(fa_clip_lengthen_head(clip, 3, true, &round, &err), &err);
    fa_clip_sample(round, 3, NULL, &b);
    assert_true(b.p[2] > 8 && fabs(b.p[1]) < 0.2); // it goes on running, on the ground
    bool at[400];
    assert_int_equal(fai_pose_cuts(round->nframe, round->time, round->head, at), 0);
    assert_true(hardest(round) < 100);
    fa_clip_free(clip);
    fa_clip_free(stop);
    fa_clip_free(round);
}

static FaRig *animal(const char *name) {
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(test_animal(name), NULL, &rig, &err), &err);
    return rig;
}

static void body_shows_turns_and_feels_all(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip = runner(121, 0, -1, NULL), *shown, *felt, *again, *same;
    FaRig *plain = animal("plain"), *rig;
    assert_false(plain->body);
    CHECK_OK(fa_clip_on_body(plain, clip, &shown, &felt, &err), &err);
    assert_null(shown);
    fa_rig_free(plain);
    rig = animal("body");
    assert_true(rig->body && !strcmp(rig->joint, "head"));
    assert_true(fabs(rig->pivot[1] - 1.62) < 1e-5 && rig->head_share);
    CHECK_OK(fa_clip_on_body(rig, rig->clip, &shown, &felt, &err), &err);
    assert_null(shown); // its own head is where it is
    CHECK_OK(fa_clip_on_body(rig, clip, &shown, &felt, &err), &err);
    assert_true(shown->notes.count == 1 && !strcmp(shown->notes.note[0].code, "head-on-body"));
    double most = 0;
    for (int f = 0; f < clip->nframe; f++) {
        double at[3], want[3];
        FaPose pose = fa_rig_pose(rig, &shown->head[f]), all = fa_rig_pose(rig, &felt->head[f]);
        fai_pose_apply(&pose, rig->pivot, at);
        assert_true(fabs(at[0]) < 1e-6 && fabs(at[1] - 1.62) < 1e-5 && fabs(at[2]) < 1e-6);
        fai_pose_apply(&all, rig->pivot, want); // the joint goes the way of the recording's
        fai_v3_sub(want, clip->head[f].p, want);
        assert_true(fai_v3_norm(want) < 1e-6);
        assert_true(turned(&shown->head[f], &clip->head[f]) < 1e-6);
        most = fmax(most, turned(&shown->head[f], &shown->head[0]));
    }
    assert_true(most > 0.15);
    // what is shown is shown again as it is: a clip that was written from this body
    CHECK_OK(fa_clip_on_body(rig, shown, &again, &same, &err), &err);
    for (int f = 0; f < clip->nframe; f++)
        assert_true(apart(&again->head[f], &shown->head[f]) < 1e-5 && turned(&again->head[f], &shown->head[f]) < 1e-6);
    fa_clip_free(again);
    fa_clip_free(same);
    fa_clip_free(shown);
    fa_clip_free(felt);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// A performer who walks round does not turn a head on a standing body by more than a neck does.
static void body_keeps_its_head_forward(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip, *shown, *felt;
    FaRig *rig = animal("body");
    CHECK_OK(fa_clip_new(600, 0, NULL, 60, &clip, &err), &err);
    clip->head = FA_NEW(600, FaPose);
    for (int f = 0; f < 600; f++) {
        double r[3] = {0, 0.6 * clip->time[f] + 0.2 * sin(12 * clip->time[f]), 0};
        clip->head[f] = fai_pose_identity();
        fai_q_exp(r, clip->head[f].q);
    }
    CHECK_OK(fa_clip_on_body(rig, clip, &shown, &felt, &err), &err);
    double most = 0;
    for (int f = 60; f < 540; f++) most = fmax(most, turned(&shown->head[f], &(FaPose){{0, 0, 0, 1}, {0}}));
    assert_true(most > 0.15 && most < 0.5);
    fa_clip_free(shown);
    fa_clip_free(felt);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static FaCode prepare_again(void *user, FaError *err) {
    FaClip *clip, *longer = NULL;
    FA_TRY(fa_clip_load(user, NULL, &clip, err));
    FaPose moved;
    FaCode rc = fa_clip_prepare_head(&clip, -1, &moved, err);
    for (int loop = 0; rc >= 0 && loop < 2; loop++) {
        rc = fa_clip_lengthen_head(clip, 3, loop, &longer, err);
        fa_clip_free(longer);
    }
    if (rc >= 0) rc = fa_clip_skip_first(&clip, err);
    fa_clip_free(clip);
    return rc;
}

static struct {
    FaRig *rig;
    FaClip *clip;
} walk;

static FaCode on_body_again(void *user, FaError *err) {
    (void)user;
    FaClip *shown, *felt;
    FaCode rc = fa_clip_on_body(walk.rig, walk.clip, &shown, &felt, err);
    assert_true(rc >= 0 ? shown && felt : !shown && !felt);
    fa_clip_free(shown);
    fa_clip_free(felt);
    return rc;
}

static void memory_runs_out(void **state) {
    (void)state;
    char path[4200];
    snprintf(path, sizeof path, "%s", test_path("walk.bvh"));
    write_runner(path, 121, 0.6);
    assert_true(test_starve(prepare_again, path) > 10);
    walk.rig = animal("body");
    walk.clip = runner(121, 0, -1, NULL);
    for (int f = 0; f < walk.clip->nframe; f++) { // round and round, so that the body turns too
        double r[3] = {0, 0.1 * f, 0};
        fai_q_exp(r, walk.clip->head[f].q);
    }
    assert_true(test_starve(on_body_again, NULL) > 5);
    fa_clip_free(walk.clip);
    fa_rig_free(walk.rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_begins_at_home),      cmocka_unit_test(cuts_are_found),
        cmocka_unit_test(short_motion_stops_or_goes_on), cmocka_unit_test(body_shows_turns_and_feels_all),
        cmocka_unit_test(body_keeps_its_head_forward),   cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

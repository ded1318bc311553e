// Directing muscles of the shipped head: tracks and morphs by what is known of them, activations that are found again,
// expressions that are hit. All shapes of the table, with and without contact: FASCIA_FULL=1.
// labels: heavy
#include "test_head_tools.h"

#include "math/mat3.h"
#include "muscle/directed.h"
#include "muscle/reach.h"

#include <stdlib.h>

static FaRig *rig;
static FaFace *face;
static FaMuscleModel *model;
static FaMuscleDirector director;
static float *goal, *weights;
static double *x, act[FA_MUSCLES_MOST];

static int make(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("head.glb"), &err), &err);
    fa_head_free(head);
    CHECK_OK(fa_rig_load(test_path("head.glb"), NULL, &rig, &err), &err);
    CHECK_OK(fa_face_get(rig, FA_NEED_FACE, NULL, &face, &err), &err);
    CHECK_OK(fa_muscle_open(rig, face, NULL, &model, &err), &err);
    CHECK_OK(fai_muscle_director_new(model, 0, &director, &err), &err);
    goal = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    weights = FA_NEW(rig->nshape, float);
    x = FA_NEW(3 * (size_t)model->flesh.nnode, double);
    return goal && weights && x ? 0 : -1;
}

static int drop(void **state) {
    (void)state;
    fai_muscle_director_free(&director);
    fa_muscle_close(model);
    fa_face_free(face);
    fa_rig_free(rig);
    fa_free(goal);
    fa_free(weights);
    fa_free(x);
    return 0;
}

// A linear field is fitted by any lattice of degree 3, whatever lies in flesh of it.
static void test_tracks(void **state) {
    (void)state;
    const FaMuscleTracks *t = &director.tracks;
    double *d = FA_NEW(3 * (size_t)t->nsample, double), *c = FA_NEW(3 * (size_t)t->npoint, double),
           *field = FA_NEW(3 * (size_t)model->flesh.nnode, double), *back = FA_NEW(3 * (size_t)t->nsample, double);
    assert_true(director.nlandmark == 480 && t->nmuscle == fa_muscle_count(model));
    for (int i = 0; i < model->flesh.nnode; i++) {
        const double *p = model->rest + 3 * (size_t)i;
        field[3 * i] = 0.01 + 0.1 * p[1], field[3 * i + 1] = 0.2 * p[0] - 0.1 * p[2], field[3 * i + 2] = 0.02;
    }
    fai_muscle_tracks_sample(t, field, d);
    fai_muscle_tracks_fit(t, d, c);
    fai_muscle_tracks_at(t, c, back);
    double worst = 0, largest = 0;
    for (int i = 0; i < 3 * t->nsample; i++)
        worst = fmax(worst, fabs(back[i] - d[i])), largest = fmax(largest, fabs(d[i]));
    print_message("tracks: %.4f mm off of %.1f\n", 1e3 * worst, 1e3 * largest);
    assert_true(largest > 0.01 && worst < 0.02 * largest);
    fa_free(d);
    fa_free(c);
    fa_free(field);
    fa_free(back);
}

// What all of skin and bone do, the flesh between them does too.
static void test_morph(void **state) {
    (void)state;
    FaError err = {0};
    double *d = FA_NEW(3 * (size_t)model->flesh.nnode, double), worst = 0;
    int inner = 0;
    const double want[3] = {0.003, -0.02, 0.01};
    for (int i = 0; i < model->flesh.nnode; i++)
        if (director.known[i]) memcpy(d + 3 * (size_t)i, want, sizeof want);
    CHECK_OK(fai_morph_solve(director.morph, model->rest, d, &err), &err);
    for (int i = 0; i < model->flesh.nnode; i++) {
        for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(d[3 * (size_t)i + (size_t)k] - want[k]));
        inner += !director.known[i];
    }
    assert_true(inner > 1000);
    print_message("morph: %g m off at %d nodes\n", worst, inner);
    assert_true(worst < 1e-12);
    fa_free(d);
}

// The skin that known activations make: they are found again, and so is the skin.
static void test_inverse(void **state) {
    (void)state;
    FaError err = {0};
    double want[FA_MUSCLES_MOST] = {0};
    CHECK_OK(fa_muscle_activate(model, "zygomaticus_major=.6,frontalis_medial=.5,mentalis=.4", want, &err), &err);
    CHECK_OK(fa_muscle_pose(model, &(FaMusclePose){.activation = want}, goal, NULL, &err), &err);
    FaPose jaw = fai_pose_identity();
    FaMuscleInverse r;
    memcpy(x, model->rest, 3 * (size_t)model->flesh.nnode * sizeof *x);
    CHECK_OK(fai_muscle_inverse(&director, goal, &jaw, act, x, &r, &err), &err);
    double worst = 0;
    for (int i = 0; i < fa_muscle_count(model); i++) {
        assert_true(act[i] >= 0 && act[i] <= 1);
        if (want[i] > 0) worst = fmax(worst, fabs(act[i] - want[i]));
    }
    print_message("inverse: %.2f -> %.3f mm in %d steps; known activations within %.2f; %.1f s\n", 1e3 * r.before,
                  1e3 * r.after, r.steps, worst, r.seconds);
    assert_true(r.before > 1e-3 && r.after < 0.15 * r.before && worst < 0.25);
}

static void goal_of(const char *names);

// Changes of tracks by which the skin should come nearest, and does when the flesh is simulated; more steps come
// nearer, and the morph alone is worse.
static void test_reach(void **state) {
    (void)state;
    FaError err = {0};
    FaReach reach;
    FaArena *arena = fai_arena_new(0);
    FaPose jaw = fai_pose_identity();
    const FaFilled *f = &model->flesh;
    const size_t n = 3 * (size_t)f->nnode, p = 3 * (size_t)director.tracks.npoint;
    double *lack = FA_PUSH(arena, n, double), *track = FA_PUSH(arena, p, double), off[4], hoped[4];
    const int steps[4] = {1, 2, 4, 8};
    unsigned char all[FA_MUSCLES_MOST];
    memset(all, 1, sizeof all);
    memset(act, 0, sizeof act);
    goal_of("mouthFunnel");
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) goal[i] = rig->mesh.x[i] + 0.2f * (goal[i] - rig->mesh.x[i]);
    for (int i = 0; i < f->nskin; i++)
        for (size_t k = 0; k < 3 && f->node_of_skin[i] >= 0 && f->kind[f->node_of_skin[i]] == FA_FILLED_FREE; k++)
            lack[3 * (size_t)f->node_of_skin[i] + k] = (double)goal[3 * (size_t)face->skin_vertex[i] + k] -
                                                       (double)rig->mesh.x[3 * (size_t)face->skin_vertex[i] + k];
    CHECK_OK(fai_reach_new(&director, arena, &reach, &err), &err);
    fai_muscle_body_contact(model->body, false);
    const double whole = fai_muscle_snap(&director, goal, model->rest);
    for (int i = 0; i < 4; i++) {
        memset(track, 0, p * sizeof *track);
        CHECK_OK(fai_directed_solve(&director, act, &jaw, track, all, FA_MUSCLE_SPRING, false, x, NULL, &err), &err);
        CHECK_OK(fai_reach(&reach, x, lack, steps[i], track, &err), &err);
        hoped[i] = reach.hoped;
        CHECK_OK(fai_directed_solve(&director, act, &jaw, track, all, FA_MUSCLE_SPRING, false, x, NULL, &err), &err);
        off[i] = fai_muscle_snap(&director, goal, x);
        print_message("reach in %d: %.3f mm of %.3f, hoped for %.3f\n", steps[i], 1e3 * off[i], 1e3 * whole,
                      1e3 * whole * sqrt(1 - hoped[i]));
        if (i) assert_true(off[i] < 0.85 * off[0] && hoped[i] > hoped[i - 1]);
        if (i) CHECK_NEAR(off[i] / whole, sqrt(1 - hoped[i]), 0.05);
    }
    fai_muscle_body_pull(model->body, NULL, NULL);
    fai_muscle_body_contact(model->body, true);
    fai_arena_free(arena);
}

static void goal_of(const char *names) {
    char text[200];
    snprintf(text, sizeof text, "%s", names);
    memset(weights, 0, (size_t)rig->nshape * sizeof *weights);
    for (char *at = strtok(text, "+"); at; at = strtok(NULL, "+")) {
        int i = 0;
        while (i < rig->nshape && strcmp(rig->shape[i].name, at)) i++;
        assert_true(i < rig->nshape);
        weights[i] = 1;
    }
    fa_rig_blend(rig, weights, goal);
}

// The pose from rest is where targeting ended, to the bit; with all of its snap it is the goal; halfway it is neither.
static void check_replay(FaDirected *pose, const FaMuscleHit *hit, bool touch) {
    FaError err = {0};
    const size_t n = 3 * (size_t)rig->mesh.nvert, nodes = 3 * (size_t)model->flesh.nnode;
    float *surface = FA_NEW(n, float);
    double *again = FA_NEW(nodes, double), worst = 0;
    assert_true(hit->played < 1.3 * hit->rms[hit->best]);
    fai_muscle_body_contact(model->body, touch);
    CHECK_OK(fai_directed_pose(&director, pose, 1, false, again, NULL, &err), &err);
    assert_memory_equal(again, x, nodes * sizeof *x);
    CHECK_OK(fai_directed_pose(&director, pose, 0.5, false, again, NULL, &err), &err);
    const double half = fai_muscle_snap(&director, goal, again);
    assert_true(half < 0.9 * hit->neutral && half > 1.5 * hit->played);
    fai_muscle_body_contact(model->body, true);
    for (int v = 0; v < pose->nvert; v++) pose->snap_weight[v] = 1;
    fai_directed_surface(&director, pose, 1, x, surface);
    for (size_t i = 0; i < n; i++) worst = fmax(worst, fabs((double)surface[i] - (double)goal[i]));
    print_message("with its snap: %.1e m from the goal\n", worst);
    assert_true(worst < 1e-6);
    fa_free(surface);
    fa_free(again);
}

// gain: from the neutral to the best round.
static void target(const char *names, bool touch, double gain) {
    FaError err = {0};
    FaMuscleHit hit;
    goal_of(names);
    FaDirected *pose;
    CHECK_OK(fai_directed_new(&director, 0, &pose, &err), &err);
    pose->jaw = fai_jaw_pose(&face->jaw, weights);
    CHECK_OK(fai_muscle_target(&director, &(FaMuscleAim){.untouched = !touch}, goal, pose, x, &hit, &err), &err);
    char row[400];
    int n = snprintf(row, sizeof row, "| %s | %s | %.2f | %.2f |", names, touch ? "on" : "off", 1e3 * hit.neutral,
                     1e3 * hit.rms[0]);
    for (int k = 1; k <= hit.rounds; k++) n += snprintf(row + n, sizeof row - (size_t)n, " %.2f", 1e3 * hit.rms[k]);
    print_message("%s | %.1f | %.2f | %d | %.1f |\n", row, hit.neutral / hit.rms[hit.best], 1e3 * hit.played,
                  hit.inverted, hit.seconds);
    // each round is better than the one before
    assert_int_equal(hit.best, hit.rounds);
    for (int k = 1; k <= hit.rounds; k++) assert_true(hit.rms[k] < hit.rms[k - 1]);
    assert_true(hit.neutral / hit.rms[hit.best] > gain);
    check_replay(pose, &hit, touch);
    fa_directed_free(pose);
}

static void test_targets(void **state) {
    (void)state;
    print_message("| shape | contact | neutral, mm | raw | rounds | gain | from rest | inverted | s |\n");
    target("mouthFunnel", false, 9);
    if (!getenv("FASCIA_FULL")) return;
    for (int touch = 0; touch < 2; touch++) {
        target("mouthFunnel", touch, 7);
        target("mouthPucker", touch, 6);
        target("mouthSmileLeft+mouthSmileRight", touch, 5);
        target("browInnerUp+browOuterUpLeft+browOuterUpRight", touch, 5);
        target("jawOpen", touch, 6);
        target("mouthFrownLeft+mouthFrownRight", touch, 4);
        target("mouthUpperUpLeft+mouthUpperUpRight", touch, 4);
        target("mouthLowerDownLeft+mouthLowerDownRight", touch, 4);
        target("mouthStretchLeft+mouthStretchRight", touch, 4);
        target("cheekPuff", touch, 3);
        target("noseSneerLeft+noseSneerRight", touch, 3);
        target("browDownLeft+browDownRight", touch, 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tracks), cmocka_unit_test(test_morph),
                                       cmocka_unit_test(test_inverse), cmocka_unit_test(test_reach),
                                       cmocka_unit_test(test_targets)};
    return cmocka_run_group_tests(tests, make, drop);
}

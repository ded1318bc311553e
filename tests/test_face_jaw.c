// The jaw: against the true one of the shipped head, under turns and mirrors, with shapes missing, spoilt or not rigid.
#include "test_face_tools.h"

#include "face/bones.h"
#include "rig/jaw.h"

static FaJaw fit(const FaRig *rig, float *with_jaw, FaNotes *notes) {
    FaJaw jaw;
    FaError err = {0};
    CHECK_OK(fai_fit_jaw(rig, &jaw, with_jaw, notes, &err), &err);
    return jaw;
}

// Largest distance between two rigid motions over points of a mandible, mm.
static double apart(const FaPose *pose, const double r[9], const double t[3]) {
    static const double bone[][3] = {{0, -0.08, 0.08},   {0.03, -0.07, 0.06},  {-0.03, -0.07, 0.06},
                                     {0, -0.042, 0.083}, {0.045, -0.05, 0.01}, {-0.045, -0.05, 0.01},
                                     {0.048, 0, 0},      {-0.048, 0, 0}};
    double worst = 0;
    for (int i = 0; i < FA_COUNT(bone); i++) {
        double a[3], b[3];
        fai_pose_apply(pose, bone[i], a);
        fai_m3_mulv(r, bone[i], b);
        fai_v3_add(b, t, b);
        fai_v3_sub(a, b, a);
        worst = fmax(worst, fai_v3_norm(a));
    }
    return 1e3 * worst;
}

static double against_truth(const FaHead *head, const FaRig *rig, const FaJaw *jaw, float open, float ahead, float left,
                            float right) {
    const float w[4] = {open, ahead, left, right};
    static const char *const names[4] = {"jawOpen", "jawForward", "jawLeft", "jawRight"};
    float all[FA_ARKIT_COUNT] = {0}, own[128] = {0};
    for (int i = 0; i < 4; i++) {
        all[fa_arkit_match(names[i], NULL)] = w[i];
        own[shape_of(rig, names[i])] = w[i];
    }
    double r[9], t[3];
    fa_head_jaw(head, all, r, t);
    FaPose pose = fai_jaw_pose(jaw, own);
    return apart(&pose, r, t);
}

static void the_true_jaw(void **state) {
    (void)state;
    for (int level = 0; level < 2; level++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            FaHead *head = head_at(level, seed, true);
            FaRig *rig = skin_rig(head);
            FaJaw jaw = fit(rig, NULL, NULL);
            assert_true(jaw.found);
            CHECK_NEAR(jaw.open_angle * 180 / M_PI, 25.33, 0.5);
            CHECK_NEAR(jaw.axis[0], 1, 1e-3);
            CHECK_NEAR(1e3 * jaw.hinge[0], 0, 0.2);
            CHECK_NEAR(1e3 * hypot(jaw.hinge[1], jaw.hinge[2]), 0, 8); // on mean people; see expected_joint
            assert_true(jaw.residual < 0.5e-3);
            // poses are what matters: 42 mm of opening
            CHECK_NEAR(against_truth(head, rig, &jaw, 1, 0, 0, 0), 0, 1.2);
            CHECK_NEAR(against_truth(head, rig, &jaw, 0.5f, 0, 0, 0), 0, 1.2);
            CHECK_NEAR(against_truth(head, rig, &jaw, 0, 1, 0, 0), 0, 0.5);
            CHECK_NEAR(against_truth(head, rig, &jaw, 0, 0, 1, 0), 0, 0.5);
            CHECK_NEAR(against_truth(head, rig, &jaw, 0, 0, 0, 1), 0, 0.5);
            CHECK_NEAR(against_truth(head, rig, &jaw, 0.6f, 0.3f, 0, 0.5f), 0, 2.5);
            CHECK_NEAR(against_truth(head, rig, &jaw, 1, 0, 1, 0), 0, 3);
            fa_rig_free(rig);
            fa_head_free(head);
        }
}

static void who_goes_with_it(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    FaRig *rig = skin_rig(head);
    float *f = malloc((size_t)rig->mesh.nvert * sizeof *f);
    FaJaw jaw = fit(rig, f, NULL);
    assert_true(jaw.found);
    int chin = 0, top = 0;
    const int *mirror = head->part[0].mirror;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        const float *x = rig->mesh.x + 3 * (size_t)v;
        assert_true(f[v] >= 0 && f[v] <= 1);
        CHECK_NEAR(f[v], f[mirror[v]], 0.01);
        if (x[1] > 0.0f) top++, CHECK_NEAR(f[v], 0, 0.02); // above the joints: skull
        if (x[2] < -0.03f) CHECK_NEAR(f[v], 0, 0.02);      // the back of head and neck
        if (x[1] < -0.066f && x[1] > -0.082f && x[2] > 0.075f && fabsf(x[0]) < 0.012f)
            chin++, assert_true(f[v] > 0.93f);
    }
    assert_true(chin > 10 && top > 1000);
    free(f);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void any_orientation(void **state) {
    (void)state;
    FaHead *head = head_at(0, 5, true);
    FaRig *rig = skin_rig(head), *turned = skin_rig(head);
    double r[9], h[3], a[3], s[3];
    some_turn(r);
    turn_rig(turned, r, 1.7);
    float *f = malloc((size_t)rig->mesh.nvert * sizeof *f), *g = malloc((size_t)rig->mesh.nvert * sizeof *g);
    FaJaw one = fit(rig, f, NULL), two = fit(turned, g, NULL);
    fai_m3_mulv(r, one.hinge, h);
    fai_m3_mulv(r, one.axis, a);
    fai_m3_mulv(r, one.open_slide, s);
    CHECK_NEAR(one.open_angle, two.open_angle, 1e-4);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(1.7 * h[k], two.hinge[k], 1e-5);
        CHECK_NEAR(a[k], two.axis[k], 1e-4);
        CHECK_NEAR(1.7 * s[k], two.open_slide[k], 1e-5);
    }
    for (int v = 0; v < rig->mesh.nvert; v++) CHECK_NEAR(f[v], g[v], 1e-3);
    free(f);
    free(g);
    fa_rig_free(rig);
    fa_rig_free(turned);
    fa_head_free(head);
}

static void left_mirrors_right(void **state) {
    (void)state;
    FaHead *head = head_at(1, 2, true);
    FaRig *rig = skin_rig(head);
    FaJaw j = fit(rig, NULL, NULL);
    const double flip[3] = {-1, 1, 1}, spin[3] = {1, -1, -1};
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(j.slide[2][k], flip[k] * j.slide[3][k], 2e-5);
        CHECK_NEAR(j.turn[2][k], spin[k] * j.turn[3][k], 2e-4);
    }
    CHECK_NEAR(j.open_slide[0], 0, 2e-5);
    CHECK_NEAR(j.slide[1][0], 0, 2e-5);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void poses_are_rigid(void **state) {
    (void)state;
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    FaJaw j = fit(rig, NULL, NULL);
    float w[128] = {0};
    FaPose rest = fai_jaw_pose(&j, w);
    CHECK_NEAR(rest.q[3], 1, 1e-12);
    for (int k = 0; k < 3; k++) CHECK_NEAR(rest.p[k], 0, 1e-12);
    static const float odd[] = {-2, -0.5f, 0.3f, 1, 1.8f, 4, 1e3f};
    for (int i = 0; i < FA_COUNT(odd); i++)
        for (int k = 0; k < FA_COUNT(odd); k++) {
            w[j.shape[0]] = odd[i], w[j.shape[1]] = odd[k], w[j.shape[2]] = odd[(i + k) % FA_COUNT(odd)];
            FaPose p = fai_jaw_pose(&j, w);
            CHECK_NEAR(fai_q_dot(p.q, p.q), 1, 1e-12);
            for (int c = 0; c < 3; c++) assert_true(isfinite(p.p[c]));
        }
    // opening is monotone, through weight 1, at constant speed of angle
    memset(w, 0, sizeof w);
    for (int i = 1; i <= 12; i++) {
        w[j.shape[0]] = (float)i / 8;
        FaPose p = fai_jaw_pose(&j, w);
        double turn[3];
        fai_q_log(p.q, turn);
        CHECK_NEAR(fai_v3_norm(turn), j.open_angle * i / 8, 1e-9);
    }
    // as far to the left as to the right is nowhere
    memset(w, 0, sizeof w);
    w[j.shape[2]] = w[j.shape[3]] = 0.7f;
    FaPose p = fai_jaw_pose(&j, w);
    CHECK_NEAR(p.q[1], 0, 1e-4);
    CHECK_NEAR(p.p[0], 0, 1e-4);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void no_jaw_no_error(void **state) {
    (void)state;
    static const char *const some[] = {"jawForward", "mouthPucker", NULL};
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    float *f = malloc((size_t)rig->mesh.nvert * sizeof *f), w[128] = {[3] = 1};
    FaNotes notes = {0};
    keep_shapes(rig, some);
    FaJaw j = fit(rig, f, &notes);
    assert_false(j.found);
    assert_int_equal(j.shape[0], -1);
    assert_non_null(fai_note_find(&notes, "no-jaw"));
    for (int v = 0; v < rig->mesh.nvert; v++) assert_true(f[v] == 0);
    FaPose p = fai_jaw_pose(&j, w);
    CHECK_NEAR(p.q[3], 1, 0);
    CHECK_NEAR(p.p[0], 0, 0);
    fai_notes_free(&notes);
    free(f);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void only_jaw_open(void **state) {
    (void)state;
    static const char *const some[] = {"jawOpen", NULL};
    FaHead *head = head_at(1, 0, true);
    FaRig *rig = skin_rig(head);
    keep_shapes(rig, some);
    FaJaw j = fit(rig, NULL, NULL);
    assert_true(j.found);
    CHECK_NEAR(j.open_angle * 180 / M_PI, 25.33, 0.5);
    for (int i = 1; i < 4; i++) assert_int_equal(j.shape[i], -1);
    // without eyes and lips the joint is not known: the line that the shape turns about, and no slide across it
    CHECK_NEAR(1e3 * j.hinge[1], -13.5, 2.5);
    CHECK_NEAR(1e3 * j.hinge[2], -3.8, 2.5);
    CHECK_NEAR(1e3 * fai_v3_norm(j.open_slide), 0, 0.1);
    fa_rig_free(rig);
    fa_head_free(head);
}

// A fifth of the moved vertices carry nonsense: the fit does not care.
static void outliers(void **state) {
    (void)state;
    FaHead *head = head_at(1, 0, true);
    FaRig *rig = skin_rig(head);
    int s = shape_of(rig, "jawOpen");
    for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++)
        if (fai_random_unit(7, (uint64_t)i) < 0.2)
            for (int k = 0; k < 3; k++)
                rig->delta[3 * (size_t)i + k] += (float)(0.03 * fai_random_normal(8, 3 * (uint64_t)i + (uint64_t)k));
    FaJaw j = fit(rig, NULL, NULL);
    assert_true(j.found);
    CHECK_NEAR(j.open_angle * 180 / M_PI, 25.33, 1);
    CHECK_NEAR(against_truth(head, rig, &j, 1, 0, 0, 0), 0, 2);
    fa_rig_free(rig);
    fa_head_free(head);
}

// Shapes that are no turn: a chin that only slides is a jaw without an angle; noise is no jaw.
static void slides_and_noise(void **state) {
    (void)state;
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    int s = shape_of(rig, "jawOpen");
    for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++) {
        const float *x = rig->mesh.x + 3 * (size_t)rig->row[i];
        float u = x[1] < -0.05f && x[2] > 0.03f ? 1.0f : 0.0f;
        rig->delta[3 * (size_t)i] = 0, rig->delta[3 * (size_t)i + 1] = -0.02f * u,
                       rig->delta[3 * (size_t)i + 2] = 0.004f * u;
    }
    FaJaw j = fit(rig, NULL, NULL);
    assert_true(j.found);
    CHECK_NEAR(j.open_angle, 0, 1e-3);
    CHECK_NEAR(j.open_slide[1], -0.02, 2e-4);
    CHECK_NEAR(j.open_slide[2], 0.004, 2e-4);
    CHECK_NEAR(fai_v3_norm(j.axis), 1, 1e-9);

    for (int i = 3 * rig->shape[s].first; i < 3 * (rig->shape[s].first + rig->shape[s].count); i++)
        rig->delta[i] = (float)(0.02 * fai_random_normal(3, (uint64_t)i));
    FaNotes notes = {0};
    j = fit(rig, NULL, &notes);
    assert_false(j.found);
    assert_non_null(fai_note_find(&notes, "jaw-not-rigid"));
    fai_notes_free(&notes);
    fa_rig_free(rig);
    fa_head_free(head);
}

// Without jawOpen the jaw is that of a shape that opens the mouth, or of a vowel.
static void other_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool opens;
    } names[] = {{"mouthOpen", true},       {"Mouth_Open", true}, {"viseme_aa", true},    {"AA_VI_10_aa", true},
                 {"vrc.v_aa", true},        {"A", true},          {"Fcl_MTH_A", true},    {"AU_27_MouthStretch", true},
                 {"blendShape1.ah", true},  {"viseme_O", false},  {"mouthOpen_L", false}, {"wow", false},
                 {"corrective_map", false}, {"au270", false}};
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    int s = shape_of(rig, "jawOpen");
    FaJaw truth = fit(rig, NULL, NULL);
    rig->shape[s].arkit = -1;
    for (int i = 0; i < FA_COUNT(names); i++) {
        FaNotes notes = {0};
        rig->shape[s].name = names[i].name;
        FaJaw j = fit(rig, NULL, &notes);
        if (j.found != names[i].opens) fail_msg("%s", names[i].name);
        assert_true(!j.found || (j.shape[0] == s && j.open_angle == truth.open_angle));
        assert_non_null(fai_note_find(&notes, j.found ? "jaw-by-other-shape" : "no-jaw"));
        fai_notes_free(&notes);
    }
    fa_rig_free(rig);
    fa_head_free(head);
}

// The skin of a rig with one shape more, as a sculptor has it: the head itself under these weights.
static FaRig *with_sculpt(const FaHead *head, int n, const char *const *names, const float *w) {
    FaRig *rig = skin_rig(head);
    FaError err = {0};
    float all[FA_ARKIT_COUNT] = {0};
    const size_t was = (size_t)rig->nentry, more = (size_t)rig->mesh.nvert;
    float *delta = FA_PUSH(rig->arena, 3 * (was + more), float), *d = delta + 3 * was;
    int *row = FA_PUSH(rig->arena, was + more, int);
    memcpy(delta, rig->delta, 3 * was * sizeof *delta);
    memcpy(row, rig->row, was * sizeof *row);
    for (int i = 0; i < n; i++) all[fa_arkit_match(names[i], NULL)] = w[i];
    CHECK_OK(fa_head_truth(head, 0, all, d, &err), &err);
    for (size_t v = 0; v < more; v++) row[was + v] = (int)v;
    for (size_t i = 0; i < 3 * more; i++) d[i] -= rig->mesh.x[i];
    rig->delta = delta, rig->row = row;
    rig->shape[shape_of(rig, "tongueOut")] =
        (FaShape){.name = "sculpted", .arkit = -1, .first = (int)was, .count = (int)more};
    rig->nentry += rig->mesh.nvert;
    return rig;
}

// Sculpted poses of any kind move the jaw as they do in truth, whatever they do to the lips; what forms the chin's skin
// does not.
static void every_shape_moves_it(void **state) {
    (void)state;
    static const char *const names[] = {"jawOpen", "jawLeft", "jawForward", "mouthPucker", "mouthSmileLeft"};
    static const struct {
        float w[5];
        double apart; // mm
    } mix[] = {{{0.5f, 0, 0, 0, 0}, 1},    {{0.5f, 0, 0, 0.3f, 0}, 1.5}, {{0.3f, 0.6f, 0, 0, 0.5f}, 3},
               {{0, 0, -0.7f, 0, 0}, 0.2}, {{0.1f, 0, 0.4f, 0, 0}, 0.5}, {{0.1f, 0.3f, 0, 0, 0.3f}, 1.5}};
    FaHead *head = head_at(0, 0, true);
    FaRig *plain = skin_rig(head);
    assert_int_equal(fit(plain, NULL, NULL).nmore, 0);
    fa_rig_free(plain);
    for (int m = 0; m < FA_COUNT(mix); m++) {
        FaRig *rig = with_sculpt(head, FA_COUNT(names), names, mix[m].w);
        FaJaw j = fit(rig, NULL, NULL);
        assert_int_equal(j.nmore, 1);
        float all[FA_ARKIT_COUNT] = {0}, w[128] = {0};
        double r[9], t[3], turn[3], about[3];
        for (int k = 0; k < 5; k++) all[fa_arkit_match(names[k], NULL)] = mix[m].w[k];
        fa_head_jaw(head, all, r, t);
        w[j.more[0].shape] = 1;
        FaPose own = fai_jaw_pose(&j, w);
        CHECK_NEAR(apart(&own, r, t), 0, mix[m].apart);
        // it adds up with an open jaw on one arc
        w[j.shape[0]] = 0.5f;
        FaPose both = fai_jaw_pose(&j, w);
        fai_q_log(both.q, turn);
        fai_q_log(own.q, about);
        CHECK_NEAR(fai_v3_dot(turn, j.axis), fai_v3_dot(about, j.axis) + 0.5 * j.open_angle, 2e-3);
        fa_rig_free(rig);
    }
    fa_head_free(head);
}

// A mandible or lower teeth with shapes of their own tell the jaw's pose: nearer than skin does, and where skin says
// nothing.
static void the_mandible_tells(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 3, true);
    FaRig *rig;
    const char *path = test_path("jaw_head.glb");
    CHECK_OK(fa_head_save(head, NULL, true, NULL, path, &err), &err);
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    FaJaw skin = fit(rig, NULL, NULL), bone;
    CHECK_OK(fai_bones_jaw(rig, &bone, NULL, NULL, &err), &err);
    assert_int_equal(bone.nmore, 0);
    for (int i = 0; i < 4; i++) {
        const float w[4] = {i == 0, i == 1, i == 2, i == 3};
        double far = against_truth(head, rig, &skin, w[0], w[1], w[2], w[3]),
               near = against_truth(head, rig, &bone, w[0], w[1], w[2], w[3]);
        assert_true(near < far);
        CHECK_NEAR(near, 0, 0.02);
    }
    // skin that does not move, and a shape that is none of the four
    const int left = shape_of(rig, "jawLeft"), ahead = shape_of(rig, "jawForward");
    for (int i = rig->shape[left].first; i < rig->shape[left].first + rig->shape[left].count; i++)
        memset(rig->delta + 3 * (size_t)i, 0, 3 * sizeof(float));
    rig->shape[ahead].arkit = -1;
    FaJaw again;
    CHECK_OK(fai_bones_jaw(rig, &again, NULL, NULL, &err), &err);
    CHECK_NEAR(1e3 * (again.slide[2][0] - bone.slide[2][0]), 0, 1e-3);
    assert_int_equal(again.shape[1], -1);
    assert_int_equal(again.nmore, 1);
    assert_int_equal(again.more[0].shape, ahead);
    CHECK_NEAR(1e3 * (again.more[0].slide[2] - bone.slide[1][2]), 0, 0.5);
    fa_rig_free(rig);
    fa_head_free(head);
}

// Who says where it turns is believed; what the shape does at weight 1 stays the same.
static void a_given_hinge(void **state) {
    (void)state;
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    FaJaw found = fit(rig, NULL, NULL);
    rig->hinge_how = "given";
    fai_v3_set(rig->hinge, 0, 0.01, -0.02);
    FaJaw given = fit(rig, NULL, NULL);
    for (int k = 0; k < 3; k++) CHECK_NEAR(given.hinge[k], rig->hinge[k], 0);
    CHECK_NEAR(given.open_angle, found.open_angle, 0);
    float w[128] = {0};
    w[found.shape[0]] = 1;
    FaPose a = fai_jaw_pose(&found, w), b = fai_jaw_pose(&given, w);
    for (int k = 0; k < 3; k++) CHECK_NEAR(a.p[k], b.p[k], 1e-9);
    fa_rig_free(rig);
    fa_head_free(head);
}

// Rocketbox bodies have a joint for the jaw; jawOpen is its turn and 5 mm down.
static void a_joint_of_the_skin(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/wild/Female_Adult_01.fbx");
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    assert_string_equal(rig->hinge_how, "joint Bip01 MJaw");
    FaJaw j = fit(rig, NULL, NULL);
    double slide[3];
    fai_m3_mulv(rig->axes, j.open_slide, slide);
    assert_true(j.found && j.nmore > 3 && j.residual < 1e-4);
    CHECK_NEAR(1e3 * slide[1], -5.13, 0.05);
    CHECK_NEAR(1e3 * slide[2], 0, 0.05);
    // jaws under other names: to the left, forward
    static const char *const names[] = {"SR_20_Jaw_Left", "HB_03_JawOut", "HB_01_L_Jaw"};
    int found = 0;
    for (int i = 0; i < j.nmore; i++)
        for (int k = 0; k < FA_COUNT(names); k++) {
            if (strcmp(rig->shape[j.more[i].shape].name, names[k]) != 0) continue;
            found += fai_v3_norm(j.more[i].slide) + 0.1 * fai_v3_norm(j.more[i].turn) > 5e-3;
        }
    assert_int_equal(found, 3);
    fa_rig_free(rig);
    assert_int_equal(fa_rig_load(path, &(FaRigOptions){.hinge = "nobody"}, &rig, &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "Bip01 Pelvis"));
}

static void no_memory(void **state) {
    (void)state;
    FaHead *head = head_at(0, 0, true);
    FaRig *rig = skin_rig(head);
    float *f = malloc((size_t)rig->mesh.nvert * sizeof *f);
    long balance = test_alloc_balance();
    for (long k = 1; k < 500; k++) {
        FaJaw j;
        FaError err = {0};
        test_fail_alloc(k);
        FaCode rc = fai_fit_jaw(rig, &j, f, NULL, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), balance);
        assert_int_equal(rc, failed ? FA_E_MEMORY : FA_OK);
        assert_int_equal(j.found, !failed);
        if (failed) continue;
        free(f);
        fa_rig_free(rig);
        fa_head_free(head);
        return;
    }
    fail_msg("it never ended");
}

// The lower teeth of ICT are exactly rigid: 25.33 degrees, slide (0, -2.9, 5.4) at (0, 8, 22) mm.
static void ict_jaw(void **state) {
    (void)state;
    const char *folder = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!folder) skip();
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(folder, NULL, &rig, &err), &err);
    FaJaw j = fit(rig, NULL, NULL);
    assert_true(j.found);
    CHECK_NEAR(j.open_angle * 180 / M_PI, 25.33, 0.1);
    CHECK_NEAR(1e3 * j.hinge[1], 8, 8);
    CHECK_NEAR(1e3 * j.hinge[2], 22, 8);
    CHECK_NEAR(j.turn[2][1] * 180 / M_PI, 1.89, 0.05);
    CHECK_NEAR(1e3 * j.slide[1][2], 8.9, 0.1);
    float w[128] = {0};
    w[j.shape[0]] = 1;
    FaPose p = fai_jaw_pose(&j, w);
    const double incisor[3] = {0, -0.0424 + 0.008, 0.0825 + 0.022};
    double q[3];
    fai_pose_apply(&p, incisor, q);
    CHECK_NEAR(1e3 * (q[1] - incisor[1]), -34.2, 0.5);
    CHECK_NEAR(1e3 * (q[2] - incisor[2]), -20.7, 0.5);
    fa_rig_free(rig);
}

static void facecap_jaw(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap_decoded.glb");
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    FaJaw j = fit(rig, NULL, NULL);
    assert_true(j.found);
    CHECK_NEAR(j.open_angle * 180 / M_PI, 38.3, 0.5);
    assert_true(j.residual < 0.5e-3);
    double axis[3];
    fai_m3_mulv(rig->axes, j.axis, axis);
    CHECK_NEAR(axis[0], 1, 1e-3);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_names),

        cmocka_unit_test(every_shape_moves_it),
        cmocka_unit_test(the_mandible_tells),
        cmocka_unit_test(a_given_hinge),
        cmocka_unit_test(a_joint_of_the_skin),
        cmocka_unit_test(the_true_jaw),
        cmocka_unit_test(who_goes_with_it),
        cmocka_unit_test(any_orientation),
        cmocka_unit_test(left_mirrors_right),
        cmocka_unit_test(poses_are_rigid),
        cmocka_unit_test(no_jaw_no_error),
        cmocka_unit_test(only_jaw_open),
        cmocka_unit_test(outliers),
        cmocka_unit_test(slides_and_noise),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(ict_jaw),
        cmocka_unit_test(facecap_jaw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Clips: making, checking, sampling, and binding channels to shapes.
#include "test_rig_head.h"

static FaClip *make(int nframe, int nchan, const char *const *names, double fps) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(nframe, nchan, names, fps, &clip, &err), &err);
    CHECK_OK(fa_clip_check(clip, &err), &err);
    return clip;
}

static void a_new_clip_is_empty_and_even(void **state) {
    (void)state;
    char name[] = "jawOpen";
    const char *names[] = {name, "b"};
    FaClip *c = make(4, 2, names, 50);
    name[0] = 'x'; // names are copied
    assert_string_equal(c->name[0], "jawOpen");
    assert_string_equal(c->name[1], "b");
    for (int f = 0; f < 4; f++) CHECK_NEAR(c->time[f], f / 50.0, 0);
    for (int i = 0; i < 8; i++) CHECK_NEAR(c->weight[i], 0, 0);
    assert_null(c->head);
    fa_clip_free(c);
    c = make(1, 0, NULL, 24);
    fa_clip_free(c);
    fa_clip_free(NULL);
    static const double rates[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < FA_COUNT(rates); i++) assert_int_equal(fa_clip_new(1, 1, names, rates[i], &c, NULL), FA_E_ARG);
    assert_int_equal(fa_clip_new(0, 1, names, 30, &c, NULL), FA_E_ARG);
    assert_null(c);
}

static void check_finds_what_is_broken(void **state) {
    (void)state;
    const char *names[] = {"a", "b"};
    FaClip *c = make(5, 2, names, 30);
    FaError err = {0};
    c->weight[5] = NAN;
    assert_int_equal(fa_clip_check(c, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "frame 2, channel 'b'");
    c->weight[5] = 0;
    double t = c->time[3];
    static const double times[] = {0, NAN, INFINITY, -1};
    for (int i = 0; i < FA_COUNT(times); i++) {
        c->time[3] = times[i];
        err = (FaError){0};
        assert_int_equal(fa_clip_check(c, &err), FA_E_FORMAT);
        assert_string_equal(err.place, "frame 3");
    }
    c->time[3] = c->time[2]; // equal stamps
    assert_true(fa_clip_check(c, NULL) < 0);
    c->time[3] = t;
    c->head = FA_NEW(5, FaPose);
    assert_true(fa_clip_check(c, NULL) < 0); // quaternions of length 0
    for (int f = 0; f < 5; f++) c->head[f].q[3] = 1;
    CHECK_OK(fa_clip_check(c, &err), &err);
    c->head[4].p[1] = NAN;
    assert_true(fa_clip_check(c, NULL) < 0);
    fa_clip_free(c);
}

static void sampling_is_linear_and_held_outside(void **state) {
    (void)state;
    const char *names[] = {"a"};
    FaClip *c = make(3, 1, names, 10);
    c->time[2] = 0.4; // a gap
    c->weight[0] = 1;
    c->weight[1] = 3;
    c->weight[2] = -3;
    static const double at[][2] = {{-5, 1},   {0, 1},  {0.05, 2},      {0.1, 3},       {0.25, 0},
                                   {0.4, -3}, {9, -3}, {INFINITY, -3}, {-INFINITY, 1}, {NAN, 1}};
    for (int i = 0; i < FA_COUNT(at); i++) {
        float w = 99;
        FaPose pose;
        fa_clip_sample(c, at[i][0], &w, &pose);
        CHECK_NEAR(w, at[i][1], 1e-6);
        CHECK_NEAR(pose.q[3], 1, 0); // no head motion: identity
        fa_clip_sample(c, at[i][0], NULL, NULL);
    }
    fa_clip_free(c);
}

// Recorded times jitter: a take of n frames has n frames at its own rate, and keeps the last one at others.
static void jittered_takes_keep_their_last_frame(void **state) {
    (void)state;
    static const double rates[] = {24, 30, 60};
    const char *names[] = {"a"};
    for (int r = 0; r < FA_COUNT(rates); r++)
        for (int k = -4; k <= 4; k++) {
            FaError err = {0};
            FaClip *c = make(37, 1, names, rates[r]), *even, *moved, *still = make(37, 1, names, rates[r]);
            for (int f = 1; f < 37; f++) c->time[f] += (f == 36 ? 0.1 * k : 0.3 * sin(7.0 * f)) / rates[r];
            c->weight[36] = 1;
            CHECK_OK(fa_clip_check(c, &err), &err);
            assert_int_equal(fa_clip_frames(c, rates[r]), 37);
            CHECK_OK(fa_clip_resample(c, rates[r], &even, &err), &err);
            assert_int_equal(even->nframe, 37);
            assert_true(even->weight[36] > 0.55); // nearest to the last, if not the last itself
            still->head = calloc(37, sizeof *still->head);
            for (int f = 0; f < 37; f++) still->head[f].q[3] = 1;
            CHECK_OK(fa_clip_with_head(c, still, &moved, &err), &err);
            assert_int_equal(moved->nframe, 37);
            // another rate meets the end to within half a step of the take
            int n = fa_clip_frames(c, 24);
            assert_true((n - 1) / 24.0 <= c->time[36] + 0.5 / rates[r] + 1e-9);
            assert_true(n / 24.0 > c->time[36]);
            fa_clip_free(c);
            fa_clip_free(even);
            fa_clip_free(moved);
            fa_clip_free(still);
        }
}

static void heads_turn_along_the_shorter_arc(void **state) {
    (void)state;
    FaClip *c = make(2, 0, NULL, 1);
    c->head = FA_NEW(2, FaPose);
    for (int sign = -1; sign <= 1; sign += 2)
        for (int k = 0; k < 4; k++) {
            static const double angles[] = {1e-5, 0.02, 1.0, 3.0};
            double a = angles[k];
            c->head[0] = (FaPose){{0, 0, 0, 1}, {0, 0, 0}};
            c->head[1] =
                (FaPose){{0, sign * sin(a / 2), 0, sign * cos(a / 2)}, {1, 2, 3}}; // both signs are one rotation
            for (double u = 0; u <= 1; u += 0.125) {
                FaPose p;
                fa_clip_sample(c, u, NULL, &p);
                double s = p.q[3] < 0 ? -1 : 1;
                CHECK_NEAR(s * p.q[1], sin(u * a / 2), 1e-9);
                CHECK_NEAR(s * p.q[3], cos(u * a / 2), 1e-9);
                CHECK_NEAR(p.p[2], 3 * u, 1e-12);
            }
        }
    fa_clip_free(c);
}

// --- binding ------------------------------------------------------------------------------------------------------

static FaRig *rig_of(const char *const *names, int n) {
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    CHECK_OK(head_fill(d, &(HeadOptions){.no_shapes = true}, &err), &err);
    for (int i = 0; i < n; i++)
        CHECK_OK(fai_draft_shape_sparse(d, names[i], 1, &i, (float[]){0.01f, 0, 0}, 0, &err), &err);
    CHECK_OK(fai_draft_finish(d, NULL, NULL, &rig, &err), &err);
    return rig;
}

static void bind(const char *const *shapes, int ns, const char *const *chans, int nc, FaBinding *b) {
    FaError err = {0};
    FaRig *rig = rig_of(shapes, ns);
    FaClip *clip = make(1, nc, chans, 30);
    CHECK_OK(fa_clip_bind(clip, rig, b, &err), &err);
    assert_int_equal(b->nshape, ns);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static void exact_names_come_first(void **state) {
    (void)state;
    static const char *const shapes[] = {"jawOpen", "mouthSmile_L", "custom", "tail"};
    static const char *const chans[] = {"JawOpen", "jawOpen", "MouthSmileLeft", "custom", "other"};
    FaBinding b;
    bind(shapes, 4, chans, 5, &b);
    assert_int_equal(b.chan[0], 1); // not JawOpen
    assert_int_equal(b.chan[1], 2);
    assert_int_equal(b.chan[2], 3);
    assert_int_equal(b.chan[3], -1);
    assert_int_equal(b.matched, 3);
    assert_int_equal(b.unused, 2);
    float out[4];
    fa_binding_weights(&b, (float[]){9, 0.25f, 0.5f, 2, 9}, out);
    CHECK_NEAR(out[0], 0.25, 0);
    CHECK_NEAR(out[1], 0.5, 0);
    CHECK_NEAR(out[2], 2, 0);
    CHECK_NEAR(out[3], 0, 0);
    fa_binding_free(&b);
    assert_null(b.chan);
}

static void halves_take_the_whole_and_wholes_the_mean(void **state) {
    (void)state;
    static const char *const halves[] = {"browInnerUp_L", "browInnerUp_R", "cheekPuff_L"};
    static const char *const whole[] = {"browInnerUp", "cheekPuff"};
    FaBinding b;
    bind(halves, 3, whole, 2, &b);
    assert_int_equal(b.chan[0], 0);
    assert_int_equal(b.chan[1], 0);
    assert_int_equal(b.chan[2], 1);
    assert_int_equal(b.unused, 0);
    fa_binding_free(&b);
    bind(whole, 2, halves, 3, &b);
    float out[2];
    fa_binding_weights(&b, (float[]){0.2f, 0.6f, 0.9f}, out);
    CHECK_NEAR(out[0], 0.4, 1e-7);
    CHECK_NEAR(out[1], 0.9f, 0);
    fa_binding_free(&b);
    bind(halves, 3, halves, 3, &b);
    for (int i = 0; i < 3; i++) assert_int_equal(b.chan[i], i);
    fa_binding_free(&b);
}

static void one_shape_for_both_sides(void **state) {
    (void)state;
    static const char *const blink[] = {"blink"}, *const closed[] = {"Fcl_EYE_Close_L"};
    static const char *const chans[] = {"EyeBlinkRight", "EyeBlinkLeft"};
    FaBinding b;
    float out[2];
    bind(blink, 1, chans, 2, &b);
    fa_binding_weights(&b, (float[]){0.2f, 0.6f}, out);
    CHECK_NEAR(out[0], 0.4, 1e-7);
    fa_binding_free(&b);
    bind(closed, 1, chans, 2, &b);
    fa_binding_weights(&b, (float[]){0.2f, 0.6f}, out);
    CHECK_NEAR(out[0], 0.6f, 0);
    fa_binding_free(&b);
    // and the other way: one channel moves both sides
    static const char *const one[] = {"mouthSmile"}, *const two[] = {"mouthSmileLeft", "mouthSmile_R"};
    bind(two, 2, one, 1, &b);
    assert_int_equal(b.chan[0], 0);
    assert_int_equal(b.chan[1], 0);
    assert_int_equal(b.chan2[0], -1);
    fa_binding_free(&b);
}

// Which shapes are driven, as a text of 1 and 0.
static void check_driven(const char *const *shapes, const char *const *chans, int nc, const char *want) {
    FaBinding b;
    int n = (int)strlen(want), driven = 0;
    bind(shapes, n, chans, nc, &b);
    for (int i = 0; i < n; i++) {
        if ((b.chan[i] >= 0) != (want[i] == '1')) fail_msg("shape %s: channel %d", shapes[i], b.chan[i]);
        driven += b.chan[i] >= 0;
    }
    assert_int_equal(b.matched, driven);
    fa_binding_free(&b);
}

static void a_channel_drives_one_shape(void **state) {
    (void)state;
    static const char *const chans[] = {"jawOpen", "mouthSmileLeft", "mouthSmileRight", "tongueOut"};
    // the family that has most comes first, whatever the order of the file; the others fill what it lacks
    static const char *const families[] = {"AU_26_JawDrop",        "AU_12_L_LipCornerPuller", "AK_25_JawOpen",
                                           "AK_44_MouthSmileLeft", "AK_45_MouthSmileRight",   "SR_21_Jaw_Open",
                                           "HB_08_TongueOut"};
    check_driven(families, chans, 4, "0011101");
    // ARKit's own spelling comes before any family
    static const char *const spelled[] = {"AK_25_JawOpen", "AK_44_MouthSmileLeft", "AK_45_MouthSmileRight", "jawOpen"};
    check_driven(spelled, chans, 4, "0111");
    // the same name comes before all of it, for every channel that has one
    static const char *const own[] = {"jawOpen", "AU_26_JawDrop"};
    check_driven(spelled, own, 2, "0001");
    static const char *const both[] = {"jawOpen", "AU_26_JawDrop", "AK_25_JawOpen"};
    check_driven(both, own, 2, "110");
    check_driven(both, own + 1, 1, "010");
    // of two shapes of one name the first
    static const char *const twice[] = {"jawOpen", "jawOpen", "tail", "tail"};
    check_driven(twice, chans, 4, "1000");
}

// Teeth and tongue joined with the skin keep shapes of their own: all of them are driven.
static void parts_of_one_mesh_are_no_duplicates(void **state) {
    (void)state;
    static const char *const names[] = {"jawOpen", "teeth.jawOpen", "AK_25_JawOpen", "jawOpen"}, *chans[] = {"jawOpen"};
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    FaBinding b;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    FaArena *arena = fai_draft_arena(d);
    FaMesh mesh = {.nvert = 9, .nface = 3};
    mesh.x = FA_PUSH(arena, 27, float);
    mesh.face_start = FA_PUSH(arena, 4, int);
    mesh.face_vert = FA_PUSH(arena, 9, int);
    for (int i = 0; i < 9; i++) { // three triangles that do not touch
        mesh.face_vert[i] = i;
        mesh.x[3 * i] = 0.05f * (float)(i / 3) + 0.01f * (float)(i % 3 == 1);
        mesh.x[3 * i + 1] = 0.01f * (float)(i % 3 == 2);
    }
    for (int i = 0; i < 4; i++) mesh.face_start[i] = 3 * i;
    fai_draft_mesh(d, &mesh);
    for (int i = 0; i < 4; i++) // skin, teeth, skin once more, tongue
        CHECK_OK(fai_draft_shape_sparse(d, names[i], 1,
                                        (int[]){i == 1   ? 3
                                                : i == 3 ? 6
                                                         : i},
                                        (float[]){0.01f, 0, 0}, 0, &err),
                 &err);
    CHECK_OK(fai_draft_finish(d, NULL, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    FaClip *clip = make(1, 1, chans, 30);
    CHECK_OK(fa_clip_bind(clip, rig, &b, &err), &err);
    static const int want[] = {0, 0, -1, 0};
    for (int i = 0; i < 4; i++) assert_int_equal(b.chan[i], want[i]);
    assert_int_equal(b.matched, 3);
    assert_int_equal(b.aside, 1);
    fa_binding_free(&b);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static void both_sides_only_without_left_and_right(void **state) {
    (void)state;
    static const char *const chans[] = {"MouthSmileLeft", "MouthSmileRight", "CheekPuff"};
    static const char *const three[] = {"AU_12_LipCornerPuller", "AU_12_L_LipCornerPuller", "AU_12_R_LipCornerPuller"};
    check_driven(three, chans, 3, "011");
    // also where left and right are of a smaller family
    static const char *const other[] = {"AK_MouthSmile", "AK_JawOpen", "SR_Mouth_Smile_Left", "SR_Mouth_Smile_Right"};
    check_driven(other, chans, 3, "0011");
    // one side alone: the other would never move
    static const char *const left[] = {"mouthSmile", "mouthSmileLeft"};
    check_driven(left, chans, 3, "10");
    check_driven(left + 1, chans, 3, "1");
    // a whole and its halves are one shape; the clip's kind decides
    static const char *const halves[] = {"CheekPuff_L", "CheekPuff_R", "cheek_puff"};
    static const char *const half_chans[] = {"cheekPuffLeft", "cheekPuffRight"};
    check_driven(halves, chans, 3, "001");
    check_driven(halves, half_chans, 2, "110");
}

static void what_is_dropped_is_said(void **state) {
    (void)state;
    static const char *const shapes[] = {"AK_25_JawOpen", "AU_26_JawDrop", "tail"};
    static const char *const chans[] = {"jawOpen", "earLeft", "still"};
    FaError err = {0};
    FaBinding b;
    FaRig *rig = rig_of(shapes, 3);
    FaClip *clip = make(1, 3, chans, 30);
    clip->weight[0] = clip->weight[1] = 1;
    CHECK_OK(fa_clip_bind(clip, rig, &b, &err), &err);
    assert_int_equal(b.nchan, 3);
    assert_int_equal(b.unused, 2);
    assert_int_equal(b.aside, 1);
    const FaNote *n = fai_note_find(&b.notes, "channels-unused");
    assert_non_null(n);
    assert_non_null(strstr(n->text, "1 of 3 channels moves and drives no shape"));
    assert_non_null(strstr(n->text, "earLeft"));
    assert_null(strstr(n->text, "still")); // nothing is lost with it
    n = fai_note_find(&b.notes, "shapes-aside");
    assert_non_null(n);
    assert_non_null(strstr(n->text, "AU_26_JawDrop (AK_25_JawOpen)"));
    fa_binding_free(&b);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// --- names.json ---------------------------------------------------------------------------------------------------

static FaRig *mapped_rig(const char *const *names, int n, const char *json) {
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    const char *path = test_path("names.json");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(json, f);
    fclose(f);
    CHECK_OK(fai_draft_new(&d, &err), &err);
    CHECK_OK(head_fill(d, &(HeadOptions){.no_shapes = true}, &err), &err);
    for (int i = 0; i < n; i++)
        CHECK_OK(fai_draft_shape_sparse(d, names[i], 1, &i, (float[]){0.01f, 0, 0}, 0.5f, &err), &err);
    CHECK_OK(fai_draft_finish(d, NULL, &(FaRigOptions){.map = path}, &rig, &err), &err);
    return rig;
}

static void check_mapped(const char *const *shapes, int ns, const char *json, const char *const *chans, int nc,
                         const int *want) {
    FaError err = {0};
    FaBinding b;
    FaRig *rig = mapped_rig(shapes, ns, json);
    FaClip *clip = make(1, nc, chans, 30);
    CHECK_OK(fa_clip_bind(clip, rig, &b, &err), &err);
    for (int i = 0; i < ns; i++)
        if (b.chan[i] != want[i]) fail_msg("%s: shape %s: channel %d, not %d", json, shapes[i], b.chan[i], want[i]);
    fa_binding_free(&b);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static void null_silences_a_shape_always(void **state) {
    (void)state;
    static const char *const shapes[] = {"jawOpen", "AU_26_JawDrop", "blink"}, *const arkit[] = {"jawOpen", "blink"};
    check_mapped(shapes, 3, "{}", arkit, 2, (int[]){0, -1, 1});
    // by its own name, and by what its name says; the channel finds the next best
    check_mapped(shapes, 3, "{\"jawOpen\": null, \"blink\": null}", arkit, 2, (int[]){-1, 0, -1});
    // in the animation of its own file, and at rest
    FaError err = {0};
    FaBinding b;
    FaRig *rig = mapped_rig(shapes, 3, "{\"blink\": null}");
    FaClip *clip = make(1, 3, shapes, 30);
    rig->clip = clip;
    CHECK_OK(fa_clip_bind(clip, rig, &b, &err), &err);
    assert_int_equal(b.chan[0], 0);
    assert_int_equal(b.chan[1], 1);
    assert_int_equal(b.chan[2], -1);
    CHECK_NEAR(rig->weight[1], 0.5, 0);
    CHECK_NEAR(rig->weight[2], 0, 0);
    fa_binding_free(&b);
    fa_rig_free(rig);
}

static void channels_can_be_mapped(void **state) {
    (void)state;
    static const char *const shapes[] = {"AK_25_JawOpen", "AK_38_MouthPucker"}, *const chans[] = {"foo", "mouthPucker"};
    check_mapped(shapes, 2, "{\"foo\": \"jawOpen\"}", chans, 2, (int[]){0, 1});
    check_mapped(shapes, 2, "{\"mouthPucker\": null}", chans, 2, (int[]){-1, -1});
    // a name that shape and channel share
    static const char *const foo[] = {"foo", "jawOpen"};
    check_mapped(foo, 2, "{\"foo\": \"mouthPucker\"}", chans, 2, (int[]){0, -1});
    // swapped sides are swapped back, though the names are the same
    static const char *const sides[] = {"mouthSmileLeft", "mouthSmileRight"};
    check_mapped(sides, 2, "{\"mouthSmileLeft\": \"mouthSmileRight\", \"mouthSmileRight\": \"mouthSmileLeft\"}", sides,
                 2, (int[]){1, 0});
    // what is neither
    FaError err = {0};
    FaBinding b;
    FaRig *rig = mapped_rig(shapes, 2, "{\"foo\": \"jawOpen\", \"fo\": \"jawOpen\"}");
    FaClip *clip = make(1, 2, chans, 30);
    CHECK_OK(fa_clip_bind(clip, rig, &b, &err), &err);
    const FaNote *n = fai_note_find(&b.notes, "map-unused");
    assert_non_null(n);
    assert_non_null(strstr(n->text, "channel: fo"));
    assert_int_equal(n->count, 1);
    fa_binding_free(&b);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

static void binding_without_memory(void **state) {
    (void)state;
    static const char *const names[] = {"jawOpen", "blink", "x"};
    FaRig *rig = rig_of(names, 3);
    FaClip *clip = make(1, 3, names, 30);
    for (long n = 1;; n++) {
        FaBinding b;
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaCode rc = fa_clip_bind(clip, rig, &b, NULL);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (rc >= 0) fa_binding_free(&b);
        assert_int_equal(test_alloc_balance(), before);
        assert_int_equal(rc, failed ? FA_E_MEMORY : FA_OK);
        if (!failed) break;
    }
    for (long n = 1;; n++) {
        FaClip *c;
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaCode rc = fa_clip_new(3, 3, names, 30, &c, NULL);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fa_clip_free(c);
        assert_int_equal(test_alloc_balance(), before);
        assert_int_equal(rc, failed ? FA_E_MEMORY : FA_OK);
        if (!failed) break;
    }
    fa_allocator_set(NULL);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_clip_is_empty_and_even),
        cmocka_unit_test(check_finds_what_is_broken),
        cmocka_unit_test(sampling_is_linear_and_held_outside),
        cmocka_unit_test(heads_turn_along_the_shorter_arc),
        cmocka_unit_test(jittered_takes_keep_their_last_frame),
        cmocka_unit_test(exact_names_come_first),
        cmocka_unit_test(halves_take_the_whole_and_wholes_the_mean),
        cmocka_unit_test(one_shape_for_both_sides),
        cmocka_unit_test(a_channel_drives_one_shape),
        cmocka_unit_test(parts_of_one_mesh_are_no_duplicates),
        cmocka_unit_test(both_sides_only_without_left_and_right),
        cmocka_unit_test(what_is_dropped_is_said),
        cmocka_unit_test(null_silences_a_shape_always),
        cmocka_unit_test(channels_can_be_mapped),
        cmocka_unit_test(binding_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

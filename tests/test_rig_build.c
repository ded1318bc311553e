// From drafts to rigs: units, axes, seams, names, bad numbers.
#include "test_rig_head.h"

static FaRig *build(const HeadOptions *o, const FaRigHints *hints, const FaRigOptions *options) {
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(head_build(o, hints, options, &rig, &err), &err);
    CHECK_OK(fa_rig_check(rig, &err), &err);
    return rig;
}

static const FaNote *note(const FaRig *rig, const char *code) { return fai_note_find(&rig->notes, code); }

static double height(const FaRig *rig) {
    double lo = 1e9, hi = -1e9;
    for (int v = 0; v < HEAD_VERTS; v++) {
        double y = 0;
        for (int k = 0; k < 3; k++) y += rig->axes[3 + k] * (double)rig->mesh.x[3 * v + k];
        lo = fmin(lo, y);
        hi = fmax(hi, y);
    }
    return hi - lo;
}

// --- units --------------------------------------------------------------------------------------------------------

static void unit_is_found_from_the_size(void **state) {
    (void)state;
    static const double scales[] = {1, 100, 1000};
    for (int i = 0; i < 3; i++)
        for (int shapes = 0; shapes < 2; shapes++) {
            FaRig *rig = build(&(HeadOptions){.scale = scales[i], .no_shapes = !shapes}, NULL, NULL);
            CHECK_NEAR(rig->unit, 1 / scales[i], 1e-12);
            CHECK_NEAR(height(rig), 0.24, 1e-6);
            assert_string_equal(rig->unit_how, "by height 0.24 m");
            assert_null(note(rig, "unit-suspect"));
            // deltas are scaled alike
            if (shapes) CHECK_NEAR(rig->delta[3 * (size_t)rig->shape[2].first + 1], 0.0, 0.0061);
            fa_rig_free(rig);
        }
}

// 175 units could be a body in cm or a head in mm; the face decides.
static void bodies_and_hair_do_not_mislead(void **state) {
    (void)state;
    static const double scales[] = {1, 100, 1000};
    for (int i = 0; i < 3; i++) {
        FaRig *rig = build(&(HeadOptions){.scale = scales[i], .body = 1.75}, NULL, NULL);
        CHECK_NEAR(rig->unit, 1 / scales[i], 1e-12);
        assert_non_null(strstr(rig->unit_how, "face"));
        fa_rig_free(rig);
        rig = build(&(HeadOptions){.scale = scales[i], .body = 0.6}, NULL, NULL);
        CHECK_NEAR(rig->unit, 1 / scales[i], 1e-12);
        fa_rig_free(rig);
        rig = build(&(HeadOptions){.scale = scales[i], .body = 1.75, .no_shapes = true}, NULL, NULL);
        CHECK_NEAR(rig->unit, 1 / scales[i], 1e-12);
        fa_rig_free(rig);
    }
    // a body in decimetres, as MakeHuman has it
    FaRig *rig = build(&(HeadOptions){.scale = 10, .body = 1.75}, NULL, NULL);
    CHECK_NEAR(rig->unit, 0.1, 1e-12);
    fa_rig_free(rig);
}

static void a_stray_vertex_does_not_mislead(void **state) {
    (void)state;
    for (int shapes = 0; shapes < 2; shapes++) {
        FaRig *rig = build(&(HeadOptions){.scale = 100, .stray = true, .no_shapes = !shapes}, NULL, NULL);
        CHECK_NEAR(rig->unit, 0.01, 1e-12);
        fa_rig_free(rig);
    }
}

static void what_the_file_declares(void **state) {
    (void)state;
    // true
    FaRig *rig = build(&(HeadOptions){0}, &(FaRigHints){.unit = 1, .unit_is_custom = true}, NULL);
    assert_string_equal(rig->unit_how, "declared by the file");
    fa_rig_free(rig);
    // a glTF written in cm
    rig = build(&(HeadOptions){.scale = 100}, &(FaRigHints){.unit = 1, .unit_is_custom = true}, NULL);
    CHECK_NEAR(rig->unit, 0.01, 1e-12);
    assert_non_null(note(rig, "unit-suspect"));
    assert_non_null(strstr(note(rig, "unit-suspect")->text, "23.95 m"));
    assert_non_null(strstr(note(rig, "unit-suspect")->remedy, "--unit"));
    fa_rig_free(rig);
    // a statement that is to be trusted
    rig = build(&(HeadOptions){.scale = 100}, &(FaRigHints){.unit = 1}, NULL);
    CHECK_NEAR(rig->unit, 1, 1e-12);
    assert_non_null(note(rig, "unit-suspect"));
    fa_rig_free(rig);
    // the user's word is last
    rig = build(&(HeadOptions){.scale = 100}, &(FaRigHints){.unit = 0.01}, &(FaRigOptions){.unit = FA_UNIT_MM});
    CHECK_NEAR(rig->unit, 0.001, 1e-12);
    assert_string_equal(rig->unit_how, "given");
    assert_non_null(note(rig, "unit-suspect"));
    fa_rig_free(rig);
}

// An exporter's rounding errors move feet as much as lips: a hundred-thousandth of a real shape.
static void rounding_errors_are_no_face(void **state) {
    (void)state;
    FaError err = {0};
    static const double z_up[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0};
    static const char *const names[] = {"browDownLeft", "browDownRight", "mouthFrownLeft", "mouthFrownRight"};
    HeadOptions o = {.scale = 100, .body = 1.75};
    memcpy(o.turn, z_up, sizeof z_up);
    FaRigDraft *d;
    FaRig *rig;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    CHECK_OK(head_fill(d, &o, &err), &err);
    int n = HEAD_VERTS + 8;
    float *noise = FA_NEW(3 * (size_t)n, float);
    for (int i = 0; i < 3 * n; i++) noise[i] = 1e-5f * (float)((i * 37) % 11 - 5);
    for (int i = 0; i < FA_COUNT(names); i++) CHECK_OK(fai_draft_shape_dense(d, names[i], noise, 0, &err), &err);
    fa_free(noise);
    FaRigHints hints = {.unit = 0.01, .unit_is_custom = true, .up = FA_UP_Z};
    CHECK_OK(fai_draft_finish(d, &hints, NULL, &rig, &err), &err);
    assert_string_equal(rig->unit_how, "declared by the file");
    CHECK_NEAR(rig->unit, 0.01, 0);
    assert_null(note(rig, "unit-suspect"));
    CHECK_NEAR(rig->axes[3 + 2], 1, 0);
    fa_rig_free(rig);
}

// A body with a jaw alone: its face lies above the middle of the mesh, which is not its front.
static void a_jaw_on_a_body_does_not_say_what_is_up(void **state) {
    (void)state;
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    static const double z_up[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0};
    HeadOptions o = {.scale = 100, .body = 1.75, .no_shapes = true};
    memcpy(o.turn, z_up, sizeof z_up);
    CHECK_OK(fai_draft_new(&d, &err), &err);
    CHECK_OK(head_fill(d, &o, &err), &err);
    // the jaw's motion goes more back than down, as of a rig that was seen: front is -y, up is z
    int row[40], count = 0;
    float delta[120];
    for (int v = 20 * HEAD_COLS; v < 20 * HEAD_COLS + 5; v++, count++) {
        row[count] = v;
        delta[3 * count] = 0;
        delta[3 * count + 1] = 1.2f;
        delta[3 * count + 2] = -0.8f;
    }
    CHECK_OK(fai_draft_shape_sparse(d, "jawOpen", count, row, delta, 0, &err), &err);
    FaRigHints hints = {.unit = 0.01, .unit_is_custom = true, .up = FA_UP_Z};
    CHECK_OK(fai_draft_finish(d, &hints, NULL, &rig, &err), &err);
    CHECK_NEAR(rig->axes[3 + 2], 1, 0);
    fa_rig_free(rig);
}

static void both_units_are_named(void **state) {
    (void)state;
    // declared in metres, made in centimetres
    FaRig *rig =
        build(&(HeadOptions){.scale = 100, .body = 1.75}, &(FaRigHints){.unit = 1, .unit_is_custom = true}, NULL);
    const char *text = note(rig, "unit-suspect")->text;
    assert_non_null(strstr(text, "metres"));
    assert_non_null(strstr(text, "centimetres"));
    assert_non_null(strstr(text, "a face"));
    fa_rig_free(rig);
    // a face of a face's size on something very tall: the declared unit holds
    rig = build(&(HeadOptions){.scale = 100, .body = 9}, &(FaRigHints){.unit = 0.01, .unit_is_custom = true}, NULL);
    CHECK_NEAR(rig->unit, 0.01, 0);
    assert_null(note(rig, "unit-suspect"));
    fa_rig_free(rig);
}

static void any_unit_can_be_given(void **state) {
    (void)state;
    CHECK_NEAR(fa_unit_named("in"), 0.0254, 0);
    CHECK_NEAR(fa_unit_named("ft"), 0.3048, 0);
    CHECK_NEAR(fa_unit_named("dm"), 0.1, 0);
    CHECK_NEAR(fa_unit_named("0.02"), 0.02, 0);
    static const char *const none[] = {"", "x", "0", "-1", "nan", "inf", "1m", "m1"};
    for (int i = 0; i < FA_COUNT(none); i++) assert_true(fa_unit_named(none[i]) < 0);
    FaRig *rig = build(&(HeadOptions){.scale = 1 / 0.0254}, NULL, &(FaRigOptions){.unit = 0.0254});
    CHECK_NEAR(height(rig), 0.24, 1e-6);
    assert_null(note(rig, "unit-suspect"));
    fa_rig_free(rig);
    FaError err = {0};
    assert_int_equal(head_build(&(HeadOptions){0}, NULL, &(FaRigOptions){.unit = -1}, &rig, &err), FA_E_ARG);
    assert_int_equal(head_build(&(HeadOptions){0}, NULL, &(FaRigOptions){.unit = NAN}, &rig, &err), FA_E_ARG);
}

static void a_unit_that_cannot_be_told(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    HeadOptions odd = {.scale = 30}; // 7.2 units tall
    assert_int_equal(head_build(&odd, NULL, NULL, &rig, &err), FA_E_MESH);
    assert_null(rig);
    assert_non_null(strstr(err.what, "cannot tell the unit"));
    assert_non_null(strstr(err.what, "7.18 units"));
    assert_non_null(strstr(err.remedy, "--unit m|cm|mm"));
    rig = build(&odd, NULL, &(FaRigOptions){.any_size = true});
    CHECK_NEAR(rig->unit, 1, 0);
    assert_non_null(note(rig, "unit-unknown"));
    fa_rig_free(rig);
}

static void node_scale_comes_before_the_unit(void **state) {
    (void)state;
    FaRigHints hints = {.unit = 1, .unit_is_custom = true, .linear = {0.02, 0, 0, 0, 0.01, 0, 0, 0, 0.01}};
    FaRig *rig = build(&(HeadOptions){.scale = 100}, &hints, NULL);
    assert_string_equal(rig->unit_how, "declared by the file");
    CHECK_NEAR(rig->local[0], 0.02, 1e-12);
    CHECK_NEAR(height(rig), 0.24, 1e-6);
    assert_null(note(rig, "unit-suspect"));
    fa_rig_free(rig);
}

// --- axes ---------------------------------------------------------------------------------------------------------

// All 24 ways to lay a head along the axes.
static void axes_are_found_from_the_shapes(void **state) {
    (void)state;
    int count = 0;
    for (int perm = 0; perm < 27; perm++)
        for (int signs = 0; signs < 8; signs++) {
            int axis[3] = {perm / 9, perm / 3 % 3, perm % 3};
            if (axis[0] == axis[1] || axis[1] == axis[2] || axis[0] == axis[2]) continue;
            HeadOptions o = {.scale = 100, .body = signs & 1 ? 1.75 : 0};
            for (int k = 0; k < 3; k++) o.turn[3 * k + axis[k]] = signs >> k & 1 ? -1 : 1;
            const double *t = o.turn;
            double det = t[0] * (t[4] * t[8] - t[5] * t[7]) - t[1] * (t[3] * t[8] - t[5] * t[6]) +
                         t[2] * (t[3] * t[7] - t[4] * t[6]);
            if (det < 0) continue;
            FaRig *rig = build(&o, NULL, NULL);
            // canonical = axes * turn * canonical
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) {
                    double sum = 0;
                    for (int k = 0; k < 3; k++) sum += rig->axes[3 * r + k] * t[3 * k + c];
                    CHECK_NEAR(sum, r == c, 1e-12);
                }
            assert_string_equal(rig->axes_how, "by the shapes");
            assert_null(note(rig, "mirrored"));
            assert_null(note(rig, "axes-tilted"));
            fa_rig_free(rig);
            count++;
        }
    assert_int_equal(count, 24);
}

static void a_mirrored_head_is_noticed(void **state) {
    (void)state;
    FaRig *rig = build(&(HeadOptions){.mirror = true}, NULL, NULL);
    assert_non_null(note(rig, "mirrored"));
    CHECK_NEAR(rig->axes[4], 1, 0); // y up, z front all the same
    CHECK_NEAR(rig->axes[8], 1, 0);
    fa_rig_free(rig);
}

static void a_tilted_head_is_noticed(void **state) {
    (void)state;
    double a = M_PI / 4;
    FaRig *rig = build(&(HeadOptions){.turn = {cos(a), 0, sin(a), 0, 1, 0, -sin(a), 0, cos(a)}}, NULL, NULL);
    assert_non_null(note(rig, "axes-tilted"));
    CHECK_NEAR(rig->axes[6], sin(a), 0.1); // front
    CHECK_NEAR(rig->axes[8], cos(a), 0.1);
    fa_rig_free(rig);
    a = 10 * M_PI / 180; // a head held a little up is not
    rig = build(&(HeadOptions){.turn = {1, 0, 0, 0, cos(a), -sin(a), 0, sin(a), cos(a)}}, NULL, NULL);
    assert_null(note(rig, "axes-tilted"));
    CHECK_NEAR(rig->axes[4], 1, 0);
    fa_rig_free(rig);
}

static void formats_and_users_decide_where_shapes_are_silent(void **state) {
    (void)state;
    double z_up[9] = {1, 0, 0, 0, 0, -1, 0, 1, 0}; // (x, y, z) -> (x, -z, y)
    HeadOptions nameless = {.nameless = true, .turn = {0}};
    memcpy(nameless.turn, z_up, sizeof z_up);
    FaRig *rig = build(&nameless, NULL, &(FaRigOptions){.up = FA_UP_Z});
    assert_string_equal(rig->axes_how, "given");
    CHECK_NEAR(rig->axes[5], 1, 0);  // z up
    CHECK_NEAR(rig->axes[7], -1, 0); // -y front, by where the shapes are
    fa_rig_free(rig);
    rig = build(&nameless, &(FaRigHints){.up = FA_UP_Z}, NULL);
    assert_string_equal(rig->axes_how, "by the format");
    CHECK_NEAR(rig->axes[5], 1, 0);
    fa_rig_free(rig);
    rig = build(&(HeadOptions){.no_shapes = true}, NULL, NULL);
    assert_string_equal(rig->axes_how, "assumed");
    for (int i = 0; i < 9; i++) CHECK_NEAR(rig->axes[i], i % 4 == 0, 0);
    fa_rig_free(rig);
    // the node turns the mesh: a z-up mesh in a y-up scene
    FaRigHints turned = {.up = FA_UP_Y, .rest = {1, 0, 0, 0, 0, 1, 0, -1, 0}};
    HeadOptions bare = {.no_shapes = true};
    memcpy(bare.turn, z_up, sizeof z_up);
    rig = build(&bare, &turned, NULL);
    assert_string_equal(rig->axes_how, "by the format");
    CHECK_NEAR(rig->axes[5], 1, 0);  // z up
    CHECK_NEAR(rig->axes[7], -1, 0); // -y front
    fa_rig_free(rig);
    HeadOptions shaped = {.turn = {0}};
    memcpy(shaped.turn, z_up, sizeof z_up);
    rig = build(&shaped, &turned, NULL);
    assert_string_equal(rig->axes_how, "by the shapes"); // and the format agrees
    CHECK_NEAR(rig->axes[5], 1, 0);
    fa_rig_free(rig);
    // named shapes contradict the user
    rig = build(&(HeadOptions){0}, NULL, &(FaRigOptions){.up = FA_UP_Z});
    assert_non_null(note(rig, "axes-suspect"));
    CHECK_NEAR(rig->axes[5], 1, 0);
    fa_rig_free(rig);
}

// --- seams --------------------------------------------------------------------------------------------------------

// Four triangles around a square whose middle vertex and one side are split: 0 and 4 belong together, 1 and 5 move
// differently in one shape.
static FaRig *seams(bool splits) {
    FaError err = {0};
    FaRigDraft *d;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    FaArena *a = fai_draft_arena(d);
    static const float x[6][3] = {{0, 0, -0.0f}, {0.1f, 0, 0},  {0.1f, 0.2f, 0},
                                  {0, 0.2f, 0},  {0, -0.0f, 0}, {0.1f, 0, 0}};
    static const int face[2][3] = {{0, 1, 2}, {4, 5, 3}}, start[3] = {0, 3, 6};
    FaMesh mesh = {.nvert = 6,
                   .nface = 2,
                   .x = FA_PUSH(a, 18, float),
                   .face_start = FA_PUSH(a, 3, int),
                   .face_vert = FA_PUSH(a, 6, int)};
    memcpy(mesh.x, x, sizeof x);
    memcpy(mesh.face_start, start, sizeof start);
    memcpy(mesh.face_vert, face, sizeof face);
    fai_draft_mesh(d, &mesh);
    float delta[18] = {0};
    delta[3 * 0 + 2] = delta[3 * 4 + 2] = 0.01f;
    CHECK_OK(fai_draft_shape_dense(d, "both", delta, 0, &err), &err);
    int row = 5;
    float one[3] = {0, 0.001f, 0};
    CHECK_OK(fai_draft_shape_sparse(d, "one", 1, &row, one, 0.5f, &err), &err);
    FaRig *rig;
    CHECK_OK(fai_draft_finish(d, &(FaRigHints){.unit = 1, .splits_seams = splits}, NULL, &rig, &err), &err);
    return rig;
}

static void seams_are_welded_where_all_motion_agrees(void **state) {
    (void)state;
    FaRig *rig = seams(true);
    assert_non_null(rig->mesh.weld);
    static const int want[6] = {0, 1, 2, 3, 0, 5};
    assert_memory_equal(rig->mesh.weld, want, sizeof want);
    CHECK_NEAR(rig->weight[1], 0.5, 0);
    for (int i = 0; i < 18; i++) assert_false(signbit(rig->mesh.x[i])); // zeros have one sign
    fa_rig_free(rig);
    rig = seams(false);
    assert_null(rig->mesh.weld);
    fa_rig_free(rig);
}

// --- entries and names --------------------------------------------------------------------------------------------

static void zeros_are_dropped_and_rows_increase(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    assert_int_equal(rig->nshape, HEAD_SHAPES);
    int total = 0;
    for (int s = 0; s < rig->nshape; s++) {
        assert_string_equal(rig->shape[s].name, head_shapes[s].name);
        assert_int_equal(rig->shape[s].arkit, fa_arkit_match(head_shapes[s].name, NULL));
        assert_int_equal(rig->shape[s].first, total);
        assert_true(rig->shape[s].count > 5 && rig->shape[s].count < HEAD_VERTS / 2);
        total += rig->shape[s].count;
    }
    assert_int_equal(total, rig->nentry);
    assert_int_equal(rig->mesh.ntri, 2 * (HEAD_RINGS - 1) * HEAD_COLS + 2 * HEAD_COLS);
    fa_rig_free(rig);
}

static FaCode draft_with(FaRigDraft **d, const char *const *names, int n, FaError *err) {
    FA_TRY(fai_draft_new(d, err));
    FaCode rc = head_fill(*d, &(HeadOptions){.no_shapes = true}, err);
    for (int i = 0; rc >= 0 && i < n; i++)
        rc = fai_draft_shape_sparse(*d, names[i], 1, &i, (float[]){0.01f, 0, 0}, 0, err);
    if (rc < 0) fai_draft_free(*d);
    return rc;
}

static void doubled_and_missing_names_are_noted(void **state) {
    (void)state;
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    static const char *const names[] = {"jawOpen", "x", "jawOpen", NULL, "", "x", "x"};
    CHECK_OK(draft_with(&d, names, 7, &err), &err);
    CHECK_OK(fai_draft_finish(d, NULL, NULL, &rig, &err), &err);
    assert_int_equal(note(rig, "duplicate-shape-names")->count, 3);
    assert_int_equal(note(rig, "unnamed-shapes")->count, 2);
    assert_string_equal(rig->shape[3].name, "shape_003");
    fa_rig_free(rig);
}

static void a_names_map_overrides_matching(void **state) {
    (void)state;
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    static const char *const names[] = {"jawOpen", "Mund", "Braue"};
    char path[4200];
    snprintf(path, sizeof path, "%s", test_path("names.json"));
    FILE *f = fopen(path, "w");
    fputs("{\"jawOpen\": null, \"Mund\": \"jawOpen\", \"Braue\": {\"arkit\": \"browInnerUp\", \"half\": \"right\"}, "
          "\"Nase\": \"jawLeft\"}",
          f);
    fclose(f);
    CHECK_OK(draft_with(&d, names, 3, &err), &err);
    CHECK_OK(fai_draft_finish(d, NULL, &(FaRigOptions){.map = path}, &rig, &err), &err);
    assert_int_equal(rig->shape[0].arkit, -1);
    assert_string_equal(fa_arkit_name(rig->shape[1].arkit), "jawOpen");
    assert_int_equal(rig->shape[2].half, -1);
    assert_int_equal(note(rig, "map-unused")->count, 1);
    fa_rig_free(rig);
    CHECK_OK(draft_with(&d, names, 3, &err), &err);
    assert_int_equal(fai_draft_finish(d, NULL, &(FaRigOptions){.map = "/nowhere/names.json"}, &rig, &err), FA_E_FILE);
    assert_null(rig);
}

// --- hinges -------------------------------------------------------------------------------------------------------

static void a_hinge_is_a_point_or_a_joint(void **state) {
    (void)state;
    static const char *const names[] = {"jawOpen"};
    static const char *const bad[] = {"1,2", "1,2,3,4", "1,2,x", "", "Nobody", "1,2,3 "};
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    for (int i = 0; i < 4; i++) {
        // the matrix of a joint at (1, 2, 3), turned and twice as large
        const double bind[16] = {0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 4, -2, -6, 1};
        CHECK_OK(draft_with(&d, names, 1, &err), &err);
        CHECK_OK(fai_draft_joint(d, "Bip01 Head", bind, &err), &err);
        CHECK_OK(fai_draft_joint(d, i == 2 ? "UpperJaw" : "Bip01 MJaw", bind, &err), &err);
        const FaRigOptions o = {.unit = FA_UNIT_CM,
                                .any_size = true,
                                .hinge = i == 0   ? "4,-5,6.5"
                                         : i == 3 ? "Bip01 Head"
                                                  : NULL};
        CHECK_OK(fai_draft_finish(d, NULL, &o, &rig, &err), &err);
        if (i == 2)
            assert_null(rig->hinge_how);
        else
            assert_string_equal(rig->hinge_how, i == 0 ? "given" : i == 1 ? "joint Bip01 MJaw" : "joint Bip01 Head");
        const double want[2][3] = {{0.01, 0.02, 0.03}, {0.04, -0.05, 0.065}};
        for (int k = 0; k < 3 && i != 2; k++) CHECK_NEAR(rig->hinge[k], want[i == 0][k], 1e-12);
        fa_rig_free(rig);
    }
    for (int i = 0; i < FA_COUNT(bad); i++) {
        CHECK_OK(draft_with(&d, names, 1, &err), &err);
        assert_int_equal(fai_draft_finish(d, NULL, &(FaRigOptions){.hinge = bad[i]}, &rig, &err), FA_E_ARG);
        assert_null(rig);
    }
}

// --- bad numbers --------------------------------------------------------------------------------------------------

static void numbers_that_are_not_finite_are_refused(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    assert_int_equal(head_build(&(HeadOptions){.nan_vertex = 13}, NULL, NULL, &rig, &err), FA_E_MESH);
    assert_non_null(strstr(err.place, "vertex 12"));
    err = (FaError){0};
    assert_int_equal(head_build(&(HeadOptions){.nan_vertex = 13, .nan_shape = 3}, NULL, NULL, &rig, &err), FA_E_MESH);
    assert_string_equal(err.place, "shape 'browInnerUp', vertex 12");
    err = (FaError){0};
    // 1e38 is finite in the file, not in the rig
    FaRigDraft *d;
    CHECK_OK(draft_with(&d, NULL, 0, &err), &err);
    CHECK_OK(fai_draft_shape_sparse(d, "far", 1, (int[]){5}, (float[]){0, 3e38f, 0}, 0, &err), &err);
    FaRigHints hints = {.unit = 1, .linear = {1, 0, 0, 0, 100, 0, 0, 0, 1}};
    assert_int_equal(fai_draft_finish(d, &hints, &(FaRigOptions){.any_size = true}, &rig, &err), FA_E_MESH);
    assert_string_equal(err.place, "shape 'far', vertex 5");
}

static void empty_meshes_are_refused(void **state) {
    (void)state;
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    assert_int_equal(fai_draft_finish(d, NULL, NULL, &rig, &err), FA_E_MESH);
    fai_draft_free(NULL);
    fa_rig_free(NULL);
}

static void check_finds_what_is_broken(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    CHECK_OK(fa_rig_check(rig, &err), &err);
    int row = rig->row[3];
    rig->row[3] = rig->row[2];
    assert_int_equal(fa_rig_check(rig, &err), FA_E_MESH);
    assert_non_null(strstr(err.place, "entry 3"));
    rig->row[3] = row;
    rig->shape[1].count += 1000000;
    assert_true(fa_rig_check(rig, NULL) < 0);
    rig->shape[1].count -= 1000000;
    rig->delta[7] = NAN;
    assert_true(fa_rig_check(rig, NULL) < 0);
    fa_rig_free(rig);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (long n = 1;; n++) {
        FaError err = {0};
        FaRig *rig;
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaCode rc = head_build(&(HeadOptions){.scale = 100, .body = 1.7},
                               &(FaRigHints){.splits_seams = true, .name = "n", .path = "p"}, NULL, &rig, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fa_rig_free(rig);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) {
            CHECK_OK(rc, &err);
            break;
        }
        if (rc < 0) assert_int_equal(rc, FA_E_MEMORY); // a lost note is no failure
    }
    fa_allocator_set(NULL);
}

static FaCode hinge_again(void *user, FaError *err) {
    static const char *const names[] = {"jawOpen"};
    static const double bind[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    FaRigDraft *d;
    FaRig *rig;
    FA_TRY(draft_with(&d, names, 1, err));
    FaCode rc = fai_draft_joint(d, "Bip01 MJaw", bind, err);
    if (rc < 0) {
        fai_draft_free(d);
        return rc;
    }
    rc = fai_draft_finish(d, NULL, &(FaRigOptions){.unit = FA_UNIT_CM, .any_size = true, .hinge = user}, &rig, err);
    assert_true(rc < 0 || rig->hinge_how);
    fa_rig_free(rig);
    return rc;
}

static void a_hinge_without_memory(void **state) {
    (void)state;
    assert_true(test_starve(hinge_again, NULL) > 10);
    assert_true(test_starve(hinge_again, "Bip01 MJaw") > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unit_is_found_from_the_size),
        cmocka_unit_test(bodies_and_hair_do_not_mislead),
        cmocka_unit_test(a_stray_vertex_does_not_mislead),
        cmocka_unit_test(what_the_file_declares),
        cmocka_unit_test(rounding_errors_are_no_face),
        cmocka_unit_test(a_jaw_on_a_body_does_not_say_what_is_up),
        cmocka_unit_test(both_units_are_named),
        cmocka_unit_test(any_unit_can_be_given),
        cmocka_unit_test(a_unit_that_cannot_be_told),
        cmocka_unit_test(node_scale_comes_before_the_unit),
        cmocka_unit_test(axes_are_found_from_the_shapes),
        cmocka_unit_test(a_mirrored_head_is_noticed),
        cmocka_unit_test(a_tilted_head_is_noticed),
        cmocka_unit_test(formats_and_users_decide_where_shapes_are_silent),
        cmocka_unit_test(seams_are_welded_where_all_motion_agrees),
        cmocka_unit_test(zeros_are_dropped_and_rows_increase),
        cmocka_unit_test(doubled_and_missing_names_are_noted),
        cmocka_unit_test(a_names_map_overrides_matching),
        cmocka_unit_test(a_hinge_is_a_point_or_a_joint),
        cmocka_unit_test(numbers_that_are_not_finite_are_refused),
        cmocka_unit_test(empty_meshes_are_refused),
        cmocka_unit_test(check_finds_what_is_broken),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_hinge_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

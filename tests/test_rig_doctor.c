// The rig doctor: numbers of a real rig, and one fixture per defect.
#include "test_rig_head.h"

#include "base/json.h"
#include "io/obj.h"

#include <float.h>

static FaInfo examine(const FaRig *rig, bool deep) {
    FaError err = {0};
    FaInfo info;
    CHECK_OK(fa_info_of_rig(rig, deep, &info, &err), &err);
    return info;
}

static const FaNote *note(const FaInfo *info, const char *code) { return fai_note_find(&info->notes, code); }

static void expect_note(const FaInfo *info, const char *code, int count) {
    const FaNote *n = note(info, code);
    if (!n) fail_msg("no note '%s'", code);
    if (n->count != count) fail_msg("'%s' %d times, expected %d: %s", code, n->count, count, n->text);
    assert_string_not_equal(n->text, "");
}

static void a_sound_head_has_nothing_but_missing_shapes(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    FaInfo info = examine(rig, true);
    assert_string_equal(info.kind, "rig");
    assert_int_equal(info.vertices, HEAD_VERTS);
    assert_int_equal(info.triangles, rig->mesh.ntri);
    assert_int_equal(info.quads, (HEAD_RINGS - 1) * HEAD_COLS);
    assert_int_equal(info.components, 1);
    assert_int_equal(info.boundary_edges, 0);
    assert_int_equal(info.intersections, 0);
    assert_int_equal(info.matched, HEAD_SHAPES);
    assert_int_equal(info.arkit_covered, HEAD_SHAPES);
    CHECK_NEAR(info.height_m, 0.24, 1e-6);
    CHECK_NEAR(info.width_m, 0.16, 0.002);
    CHECK_NEAR(info.depth_m, 0.20, 0.002);
    assert_string_equal(info.unit_name, "m");
    assert_string_equal(info.up, "+y");
    assert_string_equal(info.front, "+z");
    assert_int_equal(info.notes.count, 1);
    expect_note(&info, "missing-arkit", FA_ARKIT_COUNT - HEAD_SHAPES);
    for (int s = 0; s < info.nshape; s++) {
        const HeadShape *h = &head_shapes[s];
        double most = sqrt(h->move[0] * h->move[0] + h->move[1] * h->move[1] + h->move[2] * h->move[2]);
        assert_true(info.shape[s].max_mm > 500 * most && info.shape[s].max_mm <= 1000 * most);
        assert_true(info.shape[s].locality_mm > 5 && info.shape[s].locality_mm < 1e3 * h->reach);
        CHECK_NEAR(info.shape[s].symmetry_mm, 0, 0.01);
        assert_int_equal(info.shape[s].nonzero, rig->shape[s].count);
    }
    fa_info_free(&info);
    fa_rig_free(rig);
}

static void units_and_axes_are_named(void **state) {
    (void)state;
    FaRig *rig = head_rig(&(HeadOptions){.scale = 100, .turn = {1, 0, 0, 0, 0, -1, 0, 1, 0}});
    FaInfo info = examine(rig, false);
    assert_string_equal(info.unit_name, "cm");
    assert_string_equal(info.up, "+z");
    assert_string_equal(info.front, "-y");
    CHECK_NEAR(info.height_m, 0.24, 1e-6);
    assert_int_equal(info.intersections, -1);
    for (int s = 0; s < info.nshape; s++) CHECK_NEAR(info.shape[s].symmetry_mm, 0, 0.01);
    fa_info_free(&info);
    fa_rig_free(rig);
}

// --- meshes with defects ------------------------------------------------------------------------------------------

// A rig from bare triangles.
static FaRig *mesh_rig(const float (*x)[3], int nvert, const int (*tri)[3], int ntri) {
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    FaArena *a = fai_draft_arena(d);
    FaMesh mesh = {.nvert = nvert,
                   .nface = ntri,
                   .x = FA_PUSH(a, 3 * nvert, float),
                   .face_start = FA_PUSH(a, ntri + 1, int),
                   .face_vert = FA_PUSH(a, 3 * ntri, int)};
    memcpy(mesh.x, x, 12 * (size_t)nvert);
    memcpy(mesh.face_vert, tri, 12 * (size_t)ntri);
    for (int i = 0; i <= ntri; i++) mesh.face_start[i] = 3 * i;
    fai_draft_mesh(d, &mesh);
    CHECK_OK(fai_draft_finish(d, NULL, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    return rig;
}

static const float tetra[8][3] = {{0, 0, 0}, {0.2f, 0, 0},       {0, 0.2f, 0},          {0, 0, 0.2f},
                                  {0, 0, 0}, {0.3f, 0.3f, 0.3f}, {0.05f, 0.05f, -0.1f}, {0.05f, 0.05f, 0.1f}};

static void defects_of_meshes(void **state) {
    (void)state;
    static const int closed[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
    static const int inside[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {0, 2, 3}};
    static const int open[3][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}};
    static const int flipped[4][3] = {{0, 1, 2}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}};
    static const int twice[5][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}, {2, 1, 0}};
    static const int thin[5][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}, {1, 1, 2}};
    static const int fin[5][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}, {0, 1, 5}};
    static const int pierced[5][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}, {6, 7, 5}};
    static const struct {
        const int (*tri)[3];
        int ntri, nvert;
        const char *code;
        int count;
    } cases[] = {
        {closed, 4, 4, NULL, 0},
        {inside, 4, 4, "inside-out-parts", 1},
        {open, 3, 4, "open-mesh", 3},
        {flipped, 4, 4, "flipped-winding", 3},
        {twice, 5, 4, "duplicate-triangles", 1},
        {thin, 5, 4, "degenerate-triangles", 1},
        {closed, 4, 5, "coincident-vertices", 1},
        {closed, 4, 5, "unused-vertices", 1},
        {fin, 5, 6, "nonmanifold-edges", 1},
        {pierced, 5, 8, "self-intersections", 2},
    };
    for (int i = 0; i < FA_COUNT(cases); i++) {
        FaRig *rig = mesh_rig(tetra, cases[i].nvert, cases[i].tri, cases[i].ntri);
        FaInfo info = examine(rig, true);
        if (cases[i].code) {
            const FaNote *n = note(&info, cases[i].code);
            if (!n || n->count < 1) fail_msg("no note '%s'", cases[i].code);
            if (strcmp(cases[i].code, "self-intersections")) assert_int_equal(n->count, cases[i].count);
            assert_string_not_equal(n->remedy, "");
        } else {
            for (int k = 0; k < info.notes.count; k++) assert_string_equal(info.notes.note[k].code, "");
        }
        fa_info_free(&info);
        fa_rig_free(rig);
    }
}

static void many_components(void **state) {
    (void)state;
    enum { N = 60 };
    float x[3 * N][3];
    int tri[N][3];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) {
            x[3 * i + k][0] = 0.001f * (float)i + (k == 1 ? 0.0005f : 0);
            x[3 * i + k][1] = k == 2 ? 0.2f : 0;
            x[3 * i + k][2] = 0.01f * (float)k;
            tri[i][k] = 3 * i + k;
        }
    FaRig *rig = mesh_rig((const float(*)[3])x, 3 * N, (const int(*)[3])tri, N);
    FaInfo info = examine(rig, false);
    assert_int_equal(info.components, N);
    expect_note(&info, "many-components", N);
    fa_info_free(&info);
    fa_rig_free(rig);
}

// --- shapes with defects ------------------------------------------------------------------------------------------

static FaRig *shaped(const char *name, int nrow, const int *row, const float (*delta)[3], float rest) {
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    CHECK_OK(head_fill(d, &(HeadOptions){0}, &err), &err);
    CHECK_OK(fai_draft_shape_sparse(d, name, nrow, row, &delta[0][0], rest, &err), &err);
    CHECK_OK(fai_draft_finish(d, NULL, NULL, &rig, &err), &err);
    return rig;
}

static void defects_of_shapes(void **state) {
    (void)state;
    int left = 8 * HEAD_COLS + 8, row[2] = {left - 1, left}; // b = 90 degrees: far left
    static const float none[2][3] = {{0}}, faint[2][3] = {{0, 5e-6f, 0}, {0, 5e-6f, 0}},
                       huge[2][3] = {{0, 0.2f, 0}, {0, 0.1f, 0}}, plain[2][3] = {{0.01f, 0, 0}, {0.01f, 0, 0}},
                       tiny[2][3] = {{0.01f, 1e-40f, 0}, {0.01f, 0, 0}};
    static const struct {
        const char *name;
        const float (*delta)[3];
        float rest;
        const char *code;
    } cases[] = {
        {"extra", none, 0, "empty-shapes"},          {"extra", faint, 0, "faint-shapes"},
        {"extra", huge, 0, "huge-deltas"},           {"extra", plain, 0, "unmatched-shapes"},
        {"tongueOut", plain, 0, "asymmetric-shape"}, {"cheekSquintRight", plain, 0, "wrong-side-shapes"},
        {"jaw_Open", plain, 0, "duplicate-arkit"},   {"extra", plain, 0.5f, "rest-weights"},
        {"extra", tiny, 0, "tiny-deltas"},
    };
    for (int i = 0; i < FA_COUNT(cases); i++) {
        FaRig *rig = shaped(cases[i].name, 2, row, cases[i].delta, cases[i].rest);
        FaInfo info = examine(rig, false);
        expect_note(&info, cases[i].code, 1);
        fa_info_free(&info);
        fa_rig_free(rig);
    }
    // none of these is noted on a sound head (see the first test), so the fixtures are what triggers them
}

static void noise_is_counted(void **state) {
    (void)state;
    int row[HEAD_VERTS];
    static float delta[HEAD_VERTS][3];
    for (int v = 0; v < HEAD_VERTS; v++) row[v] = v, delta[v][1] = v ? 1e-6f : 0.01f;
    FaRig *rig = shaped("extra", HEAD_VERTS, row, (const float(*)[3])delta, 0);
    FaInfo info = examine(rig, false);
    expect_note(&info, "noise-deltas", HEAD_VERTS - 1);
    fa_info_free(&info);
    fa_rig_free(rig);
}

static void lips_that_cross_are_told_from_other_crossings(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    // push one mouth vertex through the head's back wall, far behind its neighbours
    int mouth = 16 * HEAD_COLS;
    assert_true(rig->mesh.x[3 * mouth + 2] > 0.08f);
    rig->mesh.x[3 * mouth + 2] = -0.15f;
    FaInfo info = examine(rig, true);
    assert_true(info.intersections > 0);
    assert_non_null(note(&info, "self-intersections"));
    assert_null(note(&info, "lips-cross-at-rest"));
    fa_info_free(&info);
    // the same with shapes that say that these are the lips
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, "mouthPucker")) rig->shape[s].arkit = fa_arkit_match("mouthRollUpper", NULL);
    int all[HEAD_VERTS], n = 0;
    for (int v = 0; v < HEAD_VERTS; v++) all[n++] = v;
    FaShape *s = &rig->shape[6];
    s->arkit = fa_arkit_match("mouthClose", NULL);
    s->first = rig->nentry;
    s->count = n;
    int *grown_row = FA_PUSH(rig->arena, rig->nentry + n, int);
    float *grown = FA_PUSH(rig->arena, 3 * (rig->nentry + n), float);
    memcpy(grown_row, rig->row, (size_t)rig->nentry * sizeof(int));
    memcpy(grown, rig->delta, 12 * (size_t)rig->nentry);
    memcpy(grown_row + rig->nentry, all, (size_t)n * sizeof(int));
    for (int i = 0; i < n; i++) grown[3 * (rig->nentry + i)] = 0.01f;
    rig->row = grown_row;
    rig->delta = grown;
    rig->nentry += n;
    info = examine(rig, true);
    assert_non_null(note(&info, "lips-cross-at-rest"));
    fa_info_free(&info);
    fa_rig_free(rig);
}

// --- clips --------------------------------------------------------------------------------------------------------

static void clips_are_examined(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip;
    FaInfo info;
    static const char *const names[] = {"JawOpen", "tail", "browInnerUp_L", "browInnerUp_R"};
    CHECK_OK(fa_clip_new(10, 4, names, 30, &clip, &err), &err);
    for (int f = 5; f < 10; f++) clip->time[f] += 2 / 30.0; // two frames dropped
    clip->weight[4 * 3] = 1.25f;
    clip->weight[4 * 4 + 1] = -0.5f;
    CHECK_OK(fa_info_of_clip(clip, &info, &err), &err);
    assert_string_equal(info.kind, "clip");
    assert_int_equal(info.frames, 10);
    assert_int_equal(info.channels, 4);
    assert_int_equal(info.matched, 3);
    assert_int_equal(info.arkit_covered, 2);
    CHECK_NEAR(info.seconds, 11 / 30.0, 1e-12);
    CHECK_NEAR(info.shape[0].used_max, 1.25, 0);
    CHECK_NEAR(info.shape[1].used_min, -0.5, 0);
    expect_note(&info, "weights-over-1", 1);
    expect_note(&info, "weights-below-0", 1);
    expect_note(&info, "dropped-frames", 1);
    assert_string_equal(note(&info, "weights-over-1")->where, "frame 3");
    assert_string_equal(note(&info, "dropped-frames")->where, "frame 5");
    fa_info_free(&info);
    fa_clip_free(clip);
}

// --- the report ---------------------------------------------------------------------------------------------------

static void json_has_the_promised_fields(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(&(HeadOptions){.scale = 100});
    FaInfo info = examine(rig, false);
    char *json;
    CHECK_OK(fa_info_json(&info, &json, &err), &err);
    FaJsonDoc *doc;
    CHECK_OK(fai_json_parse(json, strlen(json), &doc, NULL, &err), &err);
    static const char *const fields[] = {"vertices", "triangles", "components", "boundary_edges", "unit",    "height_m",
                                         "frames",   "fps",       "shapes",     "matched",        "warnings"};
    for (int i = 0; i < FA_COUNT(fields); i++)
        if (!fai_json_get(doc->root, fields[i])) fail_msg("no field '%s'", fields[i]);
    assert_string_equal(fai_json_get(doc->root, "unit")->string, "cm");
    CHECK_NEAR(fai_json_get(doc->root, "vertices")->number, HEAD_VERTS, 0);
    FaJson *shape = fai_json_at(fai_json_get(doc->root, "shapes"), 3);
    assert_string_equal(fai_json_get(shape, "name")->string, "mouthSmileLeft");
    assert_string_equal(fai_json_get(shape, "arkit")->string, "mouthSmileLeft");
    assert_true(fai_json_get(shape, "max_mm")->number > 5);
    assert_true(fai_json_get(shape, "nonzero")->number > 5);
    FaJson *warning = fai_json_at(fai_json_get(doc->root, "warnings"), 0);
    assert_string_equal(fai_json_get(warning, "code")->string, "missing-arkit");
    assert_non_null(fai_json_get(warning, "text"));
    assert_non_null(fai_json_get(warning, "where"));
    fai_json_free(doc);
    fa_free(json);
    fa_info_free(&info);
    fa_rig_free(rig);
}

static void text_fits_a_terminal(void **state) {
    (void)state;
    FaError err = {0};
    static const float delta[1][3] = {{0.01f, 0, 0}};
    char name[] = "a very long name that no column can hold, with an \x1b[31mescape in it";
    FaRig *rig = shaped(name, 1, (int[]){4}, delta, 0);
    FaInfo info = examine(rig, true);
    for (int all = 0; all < 2; all++) {
        char *text;
        CHECK_OK(fa_info_text(&info, all, &text, &err), &err);
        for (const char *line = text; *line;) {
            size_t n = strcspn(line, "\n");
            if (n > 100) fail_msg("%zu columns: %.*s", n, (int)n, line);
            line += n + (line[n] != 0);
        }
        assert_null(strchr(text, 27));
        assert_non_null(strstr(text, "0.240 m high"));
        assert_non_null(strstr(text, "a very long name"));
        assert_int_equal(strstr(text, "eyeBlinkLeft") != NULL, all);
        fa_free(text);
    }
    fa_info_free(&info);
    fa_rig_free(rig);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    fa_threads_set(1);
    for (long n = 1;; n++) {
        FaInfo info = {0};
        char *json = NULL;
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaCode rc = fa_info_of_rig(rig, true, &info, NULL);
        if (rc >= 0) {
            rc = fa_info_json(&info, &json, NULL);
            fa_free(json);
            if (rc >= 0) rc = fa_info_text(&info, true, &json, NULL);
            if (rc >= 0) fa_free(json);
        }
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fa_info_free(&info);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) {
            assert_int_equal(rc, FA_OK);
            break;
        }
        if (rc < 0) assert_int_equal(rc, FA_E_MEMORY);
    }
    fa_threads_set(0);
    fa_allocator_set(NULL);
    fa_rig_free(rig);
}

// --- a real rig ---------------------------------------------------------------------------------------------------

static const FaShapeInfo *find(const FaInfo *info, const char *name) {
    for (int i = 0; i < info->nshape; i++)
        if (!strcmp(info->shape[i].name, name)) return &info->shape[i];
    fail_msg("no shape '%s'", name);
    return NULL;
}

static void ict_facekit(void **state) {
    (void)state;
    const char *dir = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!dir) skip();
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fai_obj_rig(dir, NULL, &rig, &err), &err);
    FaInfo info = examine(rig, false);
    assert_int_equal(info.vertices, 26719);
    assert_int_equal(info.polygons, 26384);
    assert_int_equal(info.quads, 25836);
    assert_int_equal(info.triangles, 2 * 25836 + 548);
    assert_int_equal(info.components, 56);
    assert_int_equal(info.boundary_edges, 1040);
    assert_int_equal(info.coincident_vertices, 345);
    assert_int_equal(info.nshape, 57);
    assert_int_equal(info.matched, 53);
    assert_int_equal(info.arkit_covered, 51);
    assert_string_equal(info.unit_name, "cm");
    assert_string_equal(info.up, "+y");
    assert_string_equal(info.front, "+z");
    // measured independently: design notes on anatomy, section 6
    static const struct {
        const char *name;
        double max, r90, slack;
    } want[] = {{"jawOpen", 42.0, 67, 5},    {"browDown_L", 6.5, 48, 4},    {"mouthSmile_L", 15.8, 65, 7},
                {"mouthClose", 41.8, 38, 5}, {"eyeLookDown_R", 7.7, 15, 3}, {"mouthStretch_R", 10.3, 106, 6},
                {"cheekPuff_L", 14.1, 51, 4}};
    for (int i = 0; i < FA_COUNT(want); i++) {
        const FaShapeInfo *s = find(&info, want[i].name);
        CHECK_NEAR(s->max_mm, want[i].max, 0.06);
        CHECK_NEAR(s->locality_mm, want[i].r90, want[i].slack);
        assert_true(s->symmetry_mm >= 0 && s->symmetry_mm < 0.6);
    }
    expect_note(&info, "coincident-vertices", 345);
    expect_note(&info, "many-components", 56);
    expect_note(&info, "open-mesh", 1040);
    expect_note(&info, "unmatched-shapes", 4);
    expect_note(&info, "missing-arkit", 1);
    assert_non_null(strstr(note(&info, "missing-arkit")->text, "tongueOut"));
    assert_null(note(&info, "asymmetric-shape"));
    assert_null(note(&info, "wrong-side-shapes"));
    assert_null(note(&info, "mirrored"));
    fa_info_free(&info);
    fa_rig_free(rig);
}

// A rig of a file with three meshes, one of them another head, and a name longer than its column.
static void meshes_and_long_names_are_listed(void **state) {
    (void)state;
    static const char longest[] = "SR_24_Mouth_Lower_DownLeft_second_set";
    FaError err = {0};
    FaRigDraft *d;
    FaRig *rig;
    CHECK_OK(fai_draft_new(&d, &err), &err);
    CHECK_OK(head_fill(d, &(HeadOptions){0}, &err), &err);
    CHECK_OK(fai_draft_shape_sparse(d, longest, 1, &(int){5}, (float[]){0.01f, 0, 0}, 0, &err), &err);
    CHECK_OK(fai_draft_file_mesh(d, "Head", 800, 10, true, &err), &err);
    CHECK_OK(fai_draft_file_mesh(d, "Teeth", 100, 10, false, &err), &err);
    CHECK_OK(fai_draft_file_mesh(d, "Sister", 700, 9, false, &err), &err);
    CHECK_OK(fai_draft_finish(d, NULL, NULL, &rig, &err), &err);
    FaInfo info = examine(rig, false);
    expect_note(&info, "second-head", 1);
    assert_non_null(strstr(note(&info, "second-head")->text, "'Sister' (mesh 2)"));
    assert_true(fa_note_important(note(&info, "second-head")));
    assert_false(fa_note_important(note(&info, "missing-arkit")));
    char *text, *json;
    CHECK_OK(fa_info_text(&info, true, &text, &err), &err);
    CHECK_OK(fa_info_json(&info, &json, &err), &err);
    assert_non_null(strstr(text, "0 Head "));
    assert_non_null(strstr(text, "10 shapes, taken"));
    assert_non_null(strstr(text, "2 Sister "));
    assert_non_null(strstr(json, "\"meshes\""));
    // names are whole, and the next column begins at one place in every row
    const char *row = strstr(text, longest), *head = strstr(text, "  shape "), *brow = strstr(text, "  browInnerUp ");
    assert_true(row && head && brow);
    ptrdiff_t at = strstr(head, "ARKit") - head - 2;
    assert_int_equal(row[at - 1], ' ');
    assert_int_equal(row[at], '-');
    assert_int_equal(strstr(brow + 4, "browInnerUp ") - brow - 2, at);
    fa_free(text);
    fa_free(json);
    fa_info_free(&info);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_head_has_nothing_but_missing_shapes),
        cmocka_unit_test(units_and_axes_are_named),
        cmocka_unit_test(defects_of_meshes),
        cmocka_unit_test(many_components),
        cmocka_unit_test(defects_of_shapes),
        cmocka_unit_test(noise_is_counted),
        cmocka_unit_test(lips_that_cross_are_told_from_other_crossings),
        cmocka_unit_test(clips_are_examined),
        cmocka_unit_test(json_has_the_promised_fields),
        cmocka_unit_test(text_fits_a_terminal),
        cmocka_unit_test(meshes_and_long_names_are_listed),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(ict_facekit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

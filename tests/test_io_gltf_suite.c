// glTF as others wrote it: the Khronos validator's files, the Khronos samples, and real rigs.
#include "test_gltf_fixture.h"

#include "base/base.h"

#ifdef FA_HAVE_MESHOPT
static const bool have_meshopt = true;
#else
static const bool have_meshopt = false;
#endif

static void need_meshopt(void) {
    if (have_meshopt) return;
    print_message("skipped: built without meshoptimizer\n");
    skip();
}

static bool has_prefix(const char *s, const char *prefix) { return !strncmp(s, prefix, strlen(prefix)); }

// --- the validator's files ----------------------------------------------------------------------------------------

// Errors in what fascia reads: by the validator's code, by the place it points to, or by the folder the file is in.
static bool must_refuse(const char *path, const FaJson *message) {
    static const char *const code[] = {"ACCESSOR_", "BUFFER_", "ANIMATION_", "GLB_"};
    static const char *const pointer[] = {"/accessors", "/buffers", "/bufferViews", "/animations"};
    static const char *const folder[] = {"/data/accessor", "/data/buffer", "/data/animation", "/data/glb"};
    const FaJson *c = fai_json_get(message, "code"), *p = fai_json_get(message, "pointer");
    for (int i = 0; i < 4; i++)
        if (has_prefix(c->string, code[i]) || (p && has_prefix(p->string, pointer[i])) || strstr(path, folder[i]))
            return true;
    return false;
}

// Whether the place of our refusal is one that the report names: a JSON pointer, or an offset into the file.
static bool same_place(const char *place, const FaJson *message) {
    const FaJson *p = fai_json_get(message, "pointer"), *o = fai_json_get(message, "offset");
    char offset[40] = "";
    if (o) snprintf(offset, sizeof offset, "byte %d", (int)o->number);
    return (p && !strcmp(place, p->string)) || (o && !strcmp(place, offset));
}

typedef struct Tally {
    int clean_loads, clean_unsupported, core_refused, core_elsewhere, other_refused, other_loads, wrong;
} Tally;

static void judge(const char *path, const FaJson *messages, Tally *t) {
    bool errors = false, core = false, placed = false;
    FaGltf *doc;
    FaError err = {0};
    FaCode rc = fai_gltf_load(path, &doc, &err);
    for (const FaJson *m = messages ? messages->first : NULL; m; m = m->next) {
        if (fai_json_get(m, "severity")->number != 0) continue;
        errors = true;
        core |= must_refuse(path, m);
        placed |= rc < 0 && same_place(err.place, m);
    }
    const char *complaint = NULL;
    if (rc >= 0 && core) complaint = "should be refused";
    if (rc < 0 && !errors && rc != FA_E_UNSUPPORTED) complaint = "is valid";
    if (rc < 0 && (!err.what[0] || !err.place[0] || strcmp(err.path, path)))
        complaint = "is refused without saying where";
    if (complaint) {
        print_error("%s %s (%s: %s)\n", path, complaint, err.place, err.what);
        t->wrong++;
    }
    if (!errors)
        *(rc < 0 ? &t->clean_unsupported : &t->clean_loads) += 1;
    else if (core)
        *(placed ? &t->core_refused : &t->core_elsewhere) += 1;
    else
        *(rc < 0 ? &t->other_refused : &t->other_loads) += 1;
    fai_gltf_free(doc);
}

static void test_validator_suite(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(dir, "suites/gltf-validator/test");
    char **reports = test_list(dir, ".report.json");
    Tally t = {0};
    int count = 0;
    for (; reports[count]; count++) {
        FaBytes text;
        FaJsonDoc *json;
        FaError err = {0};
        CHECK_OK(fai_file_read(reports[count], 0, &text, &err), &err);
        CHECK_OK(fai_json_parse((const char *)text.data, text.size, &json, NULL, &err), &err);
        reports[count][strlen(reports[count]) - strlen(".report.json")] = 0; // the file itself
        judge(reports[count], fai_json_get(fai_json_get(json->root, "issues"), "messages"), &t);
        fai_json_free(json);
        fai_bytes_free(&text);
    }
    test_list_free(reports);
    print_message("%d files: clean: %d load, %d unsupported; errors in what is read: %d refused at the validator's "
                  "place, %d elsewhere; other errors: %d refused, %d load\n",
                  count, t.clean_loads, t.clean_unsupported, t.core_refused, t.core_elsewhere, t.other_refused,
                  t.other_loads);
    assert_int_equal(t.wrong, 0);
    assert_int_equal(count, 372);
    assert_int_equal(t.clean_loads + t.clean_unsupported, 129);
    assert_true(t.clean_unsupported <= 3);
    assert_true(t.core_elsewhere <= 2); // JSON that does not parse has a line instead of a pointer
}

// --- samples ------------------------------------------------------------------------------------------------------

// Every file loads as a document whose bytes are kept; every rig too, but for Draco.
static void check_sample(const char *path, int *rigs, int *draco) {
    FaBytes bytes;
    FaGltf *doc;
    FaRig *rig;
    FaError err = {0};
    if (!have_meshopt && strstr(path, "facecap.glb")) return;
    CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
    CHECK_OK(fai_gltf_load(path, &doc, &err), &err);
    assert_int_equal(doc->is_glb ? doc->file.size : doc->text_size, bytes.size);
    assert_memory_equal(doc->is_glb ? (const void *)doc->file.data : doc->text, bytes.data, bytes.size);
    fai_gltf_free(doc);
    fai_bytes_free(&bytes);
    FaCode rc = fai_gltf_load_rig(path, &(FaRigOptions){.any_size = true}, &rig, &err);
    if (strstr(path, "Draco")) {
        assert_int_equal(rc, FA_E_UNSUPPORTED);
        *draco += 1;
        return;
    }
    CHECK_OK(rc, &err);
    CHECK_OK(fa_rig_check(rig, &err), &err);
    fa_rig_free(rig);
    *rigs += 1;
}

static void test_samples(void **state) {
    (void)state;
    static const char *const dirs[] = {"suites/gltf-sample-assets", "rigs"}, *const exts[] = {".gltf", ".glb"};
    int rigs = 0, draco = 0;
    for (int d = 0; d < 2; d++)
        for (int e = 0; e < 2; e++) {
            TEST_DATA_OR_SKIP(dir, dirs[d]);
            char **files = test_list(dir, exts[e]);
            for (int i = 0; files[i]; i++) check_sample(files[i], &rigs, &draco);
            test_list_free(files);
        }
    print_message("%d rigs, %d compressed with Draco\n", rigs, draco);
    assert_true(rigs >= 60);
    assert_int_equal(draco, 4);
}

static FaRig *load_rig(const char *path) {
    FaRig *rig;
    FaError err = {0};
    CHECK_OK(fai_gltf_load_rig(path, &(FaRigOptions){.any_size = true}, &rig, &err), &err);
    return rig;
}

static double extent(const FaRig *rig, int axis) {
    float lo = rig->mesh.x[axis], hi = lo;
    for (int v = 1; v < rig->mesh.nvert; v++)
        lo = fminf(lo, rig->mesh.x[3 * v + axis]), hi = fmaxf(hi, rig->mesh.x[3 * v + axis]);
    return (double)hi - (double)lo;
}

// The same box plain, interleaved and embedded; the same cube plain and quantised.
static void test_layouts_agree(void **state) {
    (void)state;
    static const char *const pairs[][3] = {
        {"Box/glTF/Box.gltf", "BoxInterleaved/glTF/BoxInterleaved.gltf", "0"},
        {"Box/glTF/Box.gltf", "Box/glTF-Embedded/Box.gltf", "0"},
        {"Box/glTF/Box.gltf", "Box/glTF-Binary/Box.glb", "0"},
        {"MorphStressTest/glTF/MorphStressTest.gltf", "MorphStressTest/glTF-Binary/MorphStressTest.glb", "0"},
        {"AnimatedMorphCube/glTF/AnimatedMorphCube.gltf", "AnimatedMorphCube/glTF-Quantized/AnimatedMorphCube.gltf",
         "q"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char rel[2][200];
        for (int k = 0; k < 2; k++) snprintf(rel[k], sizeof rel[k], "suites/gltf-sample-assets/Models/%s", pairs[i][k]);
        TEST_DATA_OR_SKIP(pa, rel[0]);
        TEST_DATA_OR_SKIP(pb, rel[1]);
        FaRig *a = load_rig(pa), *b = load_rig(pb);
        assert_int_equal(a->mesh.nvert, b->mesh.nvert);
        assert_int_equal(a->nshape, b->nshape);
        double tol = pairs[i][2][0] == 'q' ? 1e-3 : 0, worst = 0; // 14 bits over two units
        if (tol > 0) { // the quantised one has another vertex order and origin: compare the sizes
            for (int c = 0; c < 3; c++) worst = fmax(worst, fabs(extent(a, c) - extent(b, c)));
        } else {
            for (int v = 0; v < 3 * a->mesh.nvert; v++)
                worst = fmax(worst, fabs((double)a->mesh.x[v] - (double)b->mesh.x[v]));
            assert_memory_equal(a->mesh.face_vert, b->mesh.face_vert, (size_t)a->mesh.nface * 12);
        }
        CHECK_NEAR(worst, 0, tol);
        fa_rig_free(a);
        fa_rig_free(b);
    }
}

// Values of the sample that its README gives: three vertices of a grid are moved by a sparse accessor.
static void test_sparse_sample(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "suites/gltf-sample-assets/Models/SimpleSparseAccessor/glTF/SimpleSparseAccessor.gltf");
    FaRig *rig = load_rig(path);
    static const float moved[3][4] = {{8, 1, 2, 0}, {10, 3, 3, 0}, {12, 5, 4, 0}};
    for (int i = 0; i < 3; i++) {
        const float *x = rig->mesh.x + 3 * (int)moved[i][0];
        for (int c = 0; c < 3; c++) CHECK_NEAR(x[c], moved[i][1 + c], 0);
    }
    fa_rig_free(rig);
}

// --- a real head --------------------------------------------------------------------------------------------------

static void test_facecap(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(packed_path, "rigs/facecap/facecap.glb");
    TEST_DATA_OR_SKIP(plain_path, "rigs/facecap/facecap_decoded.glb");
    need_meshopt();
    FaRig *a, *b;
    FaError err = {0};
    CHECK_OK(fai_gltf_load_rig(packed_path, NULL, &a, &err), &err); // as any user would: its unit is found, too
    CHECK_OK(fai_gltf_load_rig(plain_path, NULL, &b, &err), &err);
    int matched = 0;
    assert_int_equal(a->nshape, 52);
    for (int i = 0; i < 52; i++) {
        assert_string_equal(a->shape[i].name, b->shape[i].name);
        matched += fa_arkit_match(a->shape[i].name, NULL) >= 0;
    }
    assert_int_equal(matched, 52);
    assert_int_equal(a->mesh.nvert, 2694);
    assert_int_equal(a->nentry, b->nentry);

    // positions and deltas within one step of the quantisation
    double step = a->local[0], worst = 0;
    assert_true(step > 0);
    for (int v = 0; v < 3 * a->mesh.nvert; v++) worst = fmax(worst, fabs((double)a->mesh.x[v] - (double)b->mesh.x[v]));
    for (int v = 0; v < 3 * a->nentry; v++) worst = fmax(worst, fabs((double)a->delta[v] - (double)b->delta[v]));
    assert_true(worst <= step);
    for (int v = 0; v < 2 * a->mesh.nuv; v++) assert_true(a->mesh.uv[v] > -0.001f && a->mesh.uv[v] < 1.001f);

    // 335 keys, the same weights to a step of 1/255, the same head motion to a step of 16 bits
    FaClip *ca = a->clip, *cb = b->clip;
    assert_non_null(ca);
    assert_int_equal(ca->nframe, 335);
    assert_int_equal(cb->nframe, 335);
    CHECK_NEAR(ca->fps, 30, 1e-9);
    double worst_weight = 0, worst_turn = 0, worst_place = 0, travel = 0, largest = 0;
    assert_true(ca->head && cb->head);
    for (int f = 0; f < 335; f++) {
        CHECK_NEAR(ca->time[f], cb->time[f], 1e-6);
        for (int c = 0; c < 52; c++) {
            double w = (double)ca->weight[52 * f + c];
            worst_weight = fmax(worst_weight, fabs(w - (double)cb->weight[52 * f + c]));
            largest = fmax(largest, w);
        }
        for (int i = 0; i < 4; i++) worst_turn = fmax(worst_turn, fabs(ca->head[f].q[i] - cb->head[f].q[i]));
        for (int i = 0; i < 3; i++) worst_place = fmax(worst_place, fabs(ca->head[f].p[i] - cb->head[f].p[i]));
        travel = fmax(travel, fabs(ca->head[f].p[0] - ca->head[0].p[0]));
    }
    assert_true(worst_weight <= 1 / 255.0 && worst_turn < 1e-3 && worst_place <= step);
    assert_true(travel > 100 * step && largest > 0.5); // it does move
    // the node turns the mesh: its up is the file's -z
    FaGltf *doc = fai_gltf_of_rig(a);
    assert_string_equal(doc->node[doc->node[doc->face.node].parent].name, "head");
    fa_rig_free(a);
    fa_rig_free(b);
}

// Damaged compressed data: refused or read as something else, never worse.
static void test_damaged_compression(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap.glb");
    need_meshopt();
    FaBytes file;
    FaError err = {0};
    CHECK_OK(fai_file_read(path, 0, &file, &err), &err);
    int refused = 0;
    for (uint64_t k = 0; k < 60; k++) {
        size_t at = 100000 + fai_random_u64(3, k) % (file.size - 100000);
        unsigned char old = file.data[at];
        file.data[at] ^= (unsigned char)(1 + fai_random_u64(4, k) % 255);
        FaGltf *doc;
        err = (FaError){0};
        FaCode rc = fai_gltf_parse_memory(file.data, file.size, NULL, &doc, &err);
        assert_true(rc >= 0 || err.place[0]);
        refused += rc < 0;
        fai_gltf_free(doc);
        file.data[at] = old;
    }
    assert_true(refused > 0);
    fai_bytes_free(&file);
}

static void test_robot(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/robot/RobotExpressive.glb");
    FaRig *rig = load_rig(path);
    assert_string_equal(rig->name, "Head");
    assert_int_equal(rig->nshape, 3);
    assert_string_equal(rig->shape[1].name, "Surprised");
    assert_int_equal(rig->clip->nframe, 81); // "Dance", the first of fourteen that all move the head
    assert_non_null(rig->clip->head);
    const FaNote *note = fai_note_find(&rig->clip->notes, "several-animations");
    assert_non_null(note);
    assert_non_null(strstr(note->text, "Dance"));
    fa_rig_free(rig);
}

// Corpora of other readers' fuzzers: anything may come out, but not a crash.
static void test_foreign_corpus(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(dir, "suites/cgltf-fuzz");
    char **files = test_list(dir, "");
    int count = 0;
    for (; files[count]; count++) {
        FaGltf *doc;
        FaError err = {0};
        FaCode rc = fai_gltf_load(files[count], &doc, &err);
        assert_true(rc >= 0 || err.what[0]);
        fai_gltf_free(doc);
    }
    test_list_free(files);
    assert_true(count > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validator_suite),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_layouts_agree),
        cmocka_unit_test(test_sparse_sample),
        cmocka_unit_test(test_facecap),
        cmocka_unit_test(test_robot),
        cmocka_unit_test(test_damaged_compression),
        cmocka_unit_test(test_foreign_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Maps of mass, damping, stiffness and gain: read, applied, written, and refused with the place of what is wrong.
#include "test_rig_head.h"

#include "base/file.h"
#include "fascia/analytic.h"

static const FaOscillator base = {1, 20, 400};

static FaCode load_text(const char *json, const FaRig *rig, FaMaps *maps, FaError *err) {
    const char *path = test_path("maps.json");
    CHECK_OK(fai_file_write(path, json, strlen(json), NULL), NULL);
    return fa_analytic_maps_load(path, rig, &base, maps, err);
}

static void test_shapes(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMaps maps;
    CHECK_OK(load_text("{\"shapes\": {\"jawOpen\": \"firm\", \"mouthPucker\": {\"frequency\": 3, \"ratio\": 0.2}, "
                       "\"eyeBlinkLeft\": {\"mass\": 2}}}",
                       rig, &maps, &err),
             &err);
    assert_true(maps.shape && !maps.vertex && !maps.gain);
    FaOscillator firm;
    fa_oscillator_preset("firm", &firm);
    assert_memory_equal(&maps.shape[6], &firm, sizeof firm);
    CHECK_NEAR(fa_oscillator_frequency(&maps.shape[5]), 3, 1e-12);
    CHECK_NEAR(fa_oscillator_ratio(&maps.shape[5]), 0.2, 1e-12);
    CHECK_NEAR(maps.shape[0].mass, 2, 0);
    CHECK_NEAR(maps.shape[0].stiffness, base.stiffness, 0);
    assert_memory_equal(&maps.shape[1], &base, sizeof base);
    fa_analytic_maps_free(&maps);
    fa_rig_free(rig);
}

static void test_regions(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMaps maps;
    CHECK_OK(load_text("{\"regions\": [{\"vertices\": [0, [10, 12]], \"mass\": 4, \"gain\": 0.5}, {\"shape\": "
                       "\"jawOpen\", \"stiffness\": 1600}]}",
                       rig, &maps, &err),
             &err);
    assert_true(!maps.shape && maps.vertex && maps.gain);
    for (int v = 0; v < 14; v++) CHECK_NEAR(maps.vertex[v].mass, v == 0 || (v >= 10 && v <= 12) ? 4 : 1, 0);
    CHECK_NEAR((double)maps.gain[11], 0.5, 1e-7);
    // by shape: all of it at the peak, half in logarithms where it moves half as far, nothing where it does not
    const FaShape *jaw = &rig->shape[6];
    double most = 0, seen_top = 0;
    for (int i = jaw->first; i < jaw->first + jaw->count; i++)
        most = fmax(most, sqrt(pow((double)rig->delta[3 * i], 2) + pow((double)rig->delta[3 * i + 1], 2) +
                               pow((double)rig->delta[3 * i + 2], 2)));
    for (int i = jaw->first; i < jaw->first + jaw->count; i++) {
        double u = sqrt(pow((double)rig->delta[3 * i], 2) + pow((double)rig->delta[3 * i + 1], 2) +
                        pow((double)rig->delta[3 * i + 2], 2)) /
                   most;
        CHECK_NEAR(maps.vertex[rig->row[i]].stiffness, 400 * pow(4, u), 1e-6);
        seen_top = fmax(seen_top, maps.vertex[rig->row[i]].stiffness);
    }
    CHECK_NEAR(seen_top, 1600, 1e-6);
    fa_analytic_maps_free(&maps);
    fa_rig_free(rig);
}

static void test_round_trip(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    int n = rig->mesh.nvert;
    FaMaps maps = {.vertex = calloc((size_t)n, sizeof(FaOscillator)), .gain = calloc((size_t)n, sizeof(float))}, again;
    for (int v = 0; v < n; v++) {
        maps.vertex[v] = fa_oscillator_of(1 + 0.1 * v, 3 + v % 7, 0.1 + 0.01 * (v % 90));
        maps.gain[v] = (float)fai_random_unit(1, (uint64_t)v);
    }
    const char *path = test_path("saved.json");
    CHECK_OK(fa_analytic_maps_save(&maps, rig, path, &err), &err);
    CHECK_OK(fa_analytic_maps_load(path, rig, &base, &again, &err), &err);
    assert_memory_equal(again.vertex, maps.vertex, (size_t)n * sizeof *maps.vertex);
    assert_memory_equal(again.gain, maps.gain, (size_t)n * sizeof *maps.gain);
    fa_analytic_maps_free(&again);
    // the method takes them by path
    FaParams *p;
    FaMethod *m;
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "maps", path, &err), &err);
    CHECK_OK(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p}, &m, &err), &err);
    assert_true(fa_method_state_size(m) > (size_t)n * 48);
    fa_method_close(m);
    fa_params_free(p);
    free(maps.vertex);
    free(maps.gain);
    fa_rig_free(rig);
}

static void test_refusals(void **state) {
    (void)state;
    static const struct {
        const char *json, *place;
    } wrong[] = {
        {"[]", ""},
        {"{\"shape\": {}}", "/shape"},
        {"{\"shapes\": []}", "/shapes"},
        {"{\"shapes\": {\"nose\": \"soft\"}}", "/shapes/nose"},
        {"{\"shapes\": {\"jawOpen\": \"mushy\"}}", "/shapes/jawOpen"},
        {"{\"shapes\": {\"jawOpen\": 3}}", "/shapes/jawOpen"},
        {"{\"shapes\": {\"jawOpen\": {\"mass\": -1}}}", "/shapes/jawOpen"},
        {"{\"shapes\": {\"jawOpen\": {\"mass\": \"x\"}}}", "/shapes/jawOpen/mass"},
        {"{\"regions\": [{\"mass\": 1}]}", "/regions/0"},
        {"{\"regions\": [3]}", "/regions/0"},
        {"{\"regions\": [{\"vertices\": [99999], \"mass\": 1}]}", "/regions/0/vertices/0"},
        {"{\"regions\": [{\"vertices\": [[5, 2]], \"mass\": 1}]}", "/regions/0/vertices/0"},
        {"{\"regions\": [{\"vertices\": [1.5], \"mass\": 1}]}", "/regions/0/vertices/0"},
        {"{\"regions\": [{\"shape\": \"nose\", \"mass\": 1}]}", "/regions/0/shape"},
        {"{\"regions\": [{\"vertices\": [1], \"gain\": 1e39}]}", "/regions/0/gain"},
        {"{\"vertices\": {\"mass\": [1, 2]}}", "/vertices/mass"},
        {"{\"vertices\": {\"gain\": 7}}", "/vertices/gain"},
        {"{\"regions\": ", "line 1"},
    };
    FaRig *rig = head_rig(NULL);
    for (int i = 0; i < FA_COUNT(wrong); i++) {
        FaError err = {0};
        FaMaps maps;
        assert_true(load_text(wrong[i].json, rig, &maps, &err) < 0);
        assert_true(!maps.shape && !maps.vertex && !maps.gain);
        if (strncmp(err.place, wrong[i].place, strlen(wrong[i].place)))
            print_error("%s: at %s, expected %s\n", wrong[i].json, err.place, wrong[i].place);
        assert_true(!strncmp(err.place, wrong[i].place, strlen(wrong[i].place)));
        assert_non_null(strstr(err.path, "maps.json"));
    }
    // shapes and regions exclude each other
    FaError err = {0};
    FaParams *p;
    FaMethod *m;
    const char *text = "{\"shapes\": {\"jawOpen\": \"firm\"}, \"regions\": [{\"vertices\": [1], \"mass\": 3}]}",
               *path = test_path("both.json");
    CHECK_OK(fai_file_write(path, text, strlen(text), NULL), NULL);
    CHECK_OK(fa_params_new("analytic", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "maps", path, &err), &err);
    assert_true(fa_method_open("analytic", &(FaMethodSetup){.rig = rig, .params = p}, &m, &err) == FA_E_ARG);
    fa_params_free(p);
    fa_rig_free(rig);
}

// Truncated at every byte, and with every allocation failing once: refused, nothing leaks.
static void test_torture(void **state) {
    (void)state;
    const char *text = "{\"shapes\": {\"jawOpen\": {\"frequency\": 3}}, \"vertices\": {}, \"regions\": [{\"shape\": "
                       "\"mouthPucker\", \"preset\": \"jelly\", \"gain\": 1}]}";
    FaRig *rig = head_rig(NULL);
    char cut[200];
    for (size_t n = 0; n < strlen(text); n++) {
        FaError err = {0};
        FaMaps maps;
        snprintf(cut, sizeof cut, "%.*s", (int)n, text);
        assert_true(load_text(cut, rig, &maps, &err) < 0 && err.what[0]);
    }
    const char *path = test_path("whole.json");
    CHECK_OK(fai_file_write(path, text, strlen(text), NULL), NULL);
    for (long n = 1, done = 0; !done; n++) {
        FaError err = {0};
        FaMaps maps;
        long before = test_alloc_balance();
        test_fail_alloc(n);
        FaCode rc = fa_analytic_maps_load(path, rig, &base, &maps, &err);
        done = !test_alloc_failed();
        assert_true(done ? rc >= 0 : rc == FA_E_MEMORY);
        fa_analytic_maps_free(&maps);
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
    }
    fa_allocator_set(NULL);
    fa_rig_free(rig);
}

// Colours painted on the vertices of a glTF file: red 0, 0.5 and 1.
static void test_colors(void **state) {
    (void)state;
    // three vertices of a head's size with COLOR_0 (normalised bytes) and one target
    static const char json[] =
        "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"colors.bin\",\"byteLength\":84}],"
        "\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},{\"buffer\":0,\"byteOffset\":36,\"byteLength\":36},"
        "{\"buffer\":0,\"byteOffset\":72,\"byteLength\":12}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":"
        "[0.1,0.24,0]},"
        "{\"bufferView\":1,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":[0,0,0.01]},"
        "{\"bufferView\":2,\"componentType\":5121,\"normalized\":true,\"count\":3,\"type\":\"VEC4\"}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"COLOR_0\":2},\"targets\":[{\"POSITION\":1}]}],"
        "\"extras\":{\"targetNames\":[\"jawOpen\"]}}],\"nodes\":[{\"mesh\":0}],\"scenes\":[{\"nodes\":[0]}],\"scene\":"
        "0}";
    float position[18] = {0, 0, 0, 0.1f, 0, 0, 0, 0.24f, 0, 0, 0, 0.01f, 0, 0, 0.01f, 0, 0, 0.005f};
    unsigned char bytes[84], color[12] = {0, 0, 0, 255, 127, 0, 0, 255, 255, 0, 0, 255};
    memcpy(bytes, position, 72);
    memcpy(bytes + 72, color, 12);
    CHECK_OK(fai_file_write(test_path("colors.bin"), bytes, sizeof bytes, NULL), NULL);
    const char *path = test_path("colors.gltf");
    CHECK_OK(fai_file_write(path, json, strlen(json), NULL), NULL);
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.unit = FA_UNIT_M, .any_size = true}, &rig, &err), &err);
    assert_int_equal(rig->mesh.nvert, 3);
    FaMaps maps;
    CHECK_OK(load_text("{\"regions\": [{\"color\": \"red\", \"stiffness\": 1600}]}", rig, &maps, &err), &err);
    CHECK_NEAR(maps.vertex[0].stiffness, 400, 1e-9);
    CHECK_NEAR(maps.vertex[1].stiffness, 400 * pow(4, 127.0 / 255), 1e-3);
    CHECK_NEAR(maps.vertex[2].stiffness, 1600, 1e-9);
    fa_analytic_maps_free(&maps);
    assert_true(load_text("{\"regions\": [{\"color\": \"pink\", \"mass\": 2}]}", rig, &maps, &err) == FA_E_FORMAT);
    assert_string_equal(err.place, "/regions/0/color");
    fa_rig_free(rig);
    // a rig without colours
    err = (FaError){0};
    rig = head_rig(NULL);
    assert_true(load_text("{\"regions\": [{\"color\": \"red\", \"mass\": 2}]}", rig, &maps, &err) == FA_E_FORMAT);
    assert_non_null(strstr(err.remedy, "COLOR_0"));
    fa_rig_free(rig);
}

// What the face feels of the head by default: 0 where nothing soft moves, 1 where most does.
static void test_gain(void **state) {
    (void)state;
    FaRig *rig = head_rig(NULL);
    float *gain = malloc((size_t)rig->mesh.nvert * sizeof *gain);
    fa_analytic_gain(rig, gain);
    double top = 0;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        assert_true(gain[v] >= 0 && gain[v] <= 1);
        top = fmax(top, (double)gain[v]);
        if (rig->mesh.x[3 * v + 2] < -0.05f) assert_true(gain[v] == 0); // the back of the head
    }
    CHECK_NEAR(top, 1, 0);
    free(gain);
    fa_rig_free(rig);
}

// The slider gives the bits of linear blending with the slider's weights, for any threads and without SIMD.
static void test_slider(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaOscillator o = {0.8, 7.5, 20};
    int target[] = {6, 2, 3, 0, 5};
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), *want = malloc(n * sizeof *x), out[5], w[HEAD_SHAPES];
    for (int ref = 0; ref < 2; ref++) {
        if (ref) setenv("FA_SIMD", "ref", 1);
        FaSlider *s;
        CHECK_OK(fa_slider_new(rig, &o, 5, target, &s, &err), &err);
        for (int i = 0; i < 40; i++) {
            double weight[5], time[5];
            for (int t = 0; t < 5; t++) {
                weight[t] = fai_random_unit(1, (uint64_t)(10 * i + t)) < 0.3
                                ? 0
                                : 2 * fai_random_unit(2, (uint64_t)(10 * i + t)) - 0.5;
                time[t] = fai_random_unit(3, (uint64_t)(10 * i + t));
            }
            CHECK_OK(fa_analytic_slider(&o, 5, weight, time, out, &err), &err);
            memset(w, 0, sizeof w);
            for (int t = 0; t < 5; t++) w[target[t]] = out[t];
            fa_rig_blend(rig, w, want);
            fa_threads_set(1 + i % 4);
            fa_slider_eval(s, weight, time, x);
            assert_memory_equal(x, want, n * sizeof *x);
        }
        fa_slider_free(s);
    }
    unsetenv("FA_SIMD");
    fa_threads_set(0);
    FaSlider *none;
    assert_true(fa_slider_new(rig, &o, 1, (int[]){99}, &none, &err) == FA_E_ARG && !none);
    fa_rig_free(rig);
    free(x), free(want);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),   cmocka_unit_test(test_regions), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_torture), cmocka_unit_test(test_gain),
        cmocka_unit_test(test_colors),   cmocka_unit_test(test_slider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

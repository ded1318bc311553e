// A network bound to rigs: what of the shapes comes back, what is refused, and that the bound face computes what the
// network does.
// labels: unit hash
#include "test.h"
#include "toy_net.h"

#include "fascia_rt.h"
#include "neural/bind_net.h"

static FaNet net; // seed 1

static FaRig *shipped_head(int level) {
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaRig *rig;
    FaError err = {0};
    params.level = level;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    return rig;
}

static FaRt *place(const FaNeural *bound, void **memory) {
    size_t size;
    char why[FA_RT_TEXT] = "";
    FaRt *rt;
    const void *data = fa_neural_bytes(bound, &size);
    size_t room = (fa_rt_room(data, size) + 63) / 64 * 64;
    assert_true(room > 0);
    *memory = aligned_alloc(64, room);
    if (fa_rt_place(data, size, *memory, room, &rt, why) < 0) fail_msg("%s", why);
    return rt;
}

static FaNeuralReport bind(const FaNet *of, const FaRig *rig, FaNeuralPrecision precision, FaNeural **bound) {
    FaNeuralReport report;
    FaError err = {0};
    CHECK_OK(fai_neural_bind_net(of, rig, precision, bound, &report, &err), &err);
    return report;
}

// What the network itself says of a pose of its own template, against what the bound face does at the same vertices.
static void the_bound_face_is_the_network(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0);
    FaNeural *bound;
    void *memory;
    bind(&net, rig, FA_NEURAL_F32, &bound);
    FaRt *rt = place(bound, &memory);
    size_t n = 3 * (size_t)net.nvert, nu = 3 * (size_t)rig->mesh.nvert;
    float *d = calloc(n, sizeof *d), *want = calloc(n, sizeof *want),
          *work = calloc(fai_net_work(&net) + 4 * n, sizeof *work);
    float *x = calloc(nu, sizeof *x), *linear = calloc(nu, sizeof *linear), *w = calloc((size_t)rig->nshape, sizeof *w);
    for (int s = 0; s < rig->nshape; s++) {
        w[s] = (float)(0.4 * fai_random_unit(7, (uint64_t)s));
        for (size_t i = 0; rig->shape[s].arkit >= 0 && i < n; i++)
            d[i] += w[s] * net.shape[n * (size_t)rig->shape[s].arkit + i];
    }
    fai_net_apply(&net, d, net.mean, want, work);
    fa_rt_linear(rt, w, linear);
    fa_rt_frame(rt, w, x);
    double got = 0, is = 0;
    for (size_t i = 0; i < n; i++) is += (double)want[i] * (double)want[i];
    for (size_t i = 0; i < nu; i++) got += pow((double)x[i] - (double)linear[i], 2);
    // all of the template's vertices are the rig's: as much motion, but for what laying it over loses
    CHECK_NEAR(sqrt(got / is), 1, 0.06);
    assert_true(is > 0);
    free(d), free(want), free(work), free(x), free(linear), free(w), free(memory);
    fa_neural_free(bound);
    fa_rig_free(rig);
}

static void the_neutral_stays_to_the_bit(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0);
    for (int p = 0; p < 3; p++) {
        FaNeural *bound;
        void *memory;
        bind(&net, rig, (FaNeuralPrecision)p, &bound);
        FaRt *rt = place(bound, &memory);
        float *x = calloc(3 * (size_t)rig->mesh.nvert, sizeof *x), *w = calloc((size_t)rig->nshape, sizeof *w);
        fa_rt_frame(rt, w, x);
        for (int i = 0; i < 3 * rig->mesh.nvert; i++) assert_true(x[i] == rig->mesh.x[i]);
        free(x), free(w), free(memory);
        fa_neural_free(bound);
    }
    fa_rig_free(rig);
}

static void shapes_come_back(void **state) {
    (void)state;
    static const struct {
        const char *rel;
        double chain, unmatched;
    } rigs[] = {{NULL, 0.05, 0.02}, {"rigs/facecap/facecap.glb", 0.067, 0.14}};
    for (int i = 0; i < 2; i++) {
        const char *path = rigs[i].rel ? test_data(rigs[i].rel) : NULL;
        FaRig *rig = NULL;
        FaNeural *bound;
        FaError err = {0};
        if (rigs[i].rel && !path) continue;
        if (path)
            CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
        else
            rig = shipped_head(1);
        FaNeuralReport r = bind(&net, rig, FA_NEURAL_INT8, &bound);
        print_message("%s: %.1f %% lost, %.1f %% without counterpart\n", path ? rigs[i].rel : "head", 100 * r.chain,
                      100.0 * r.unmatched / r.moving);
        assert_true(r.chain < rigs[i].chain);
        assert_true(r.unmatched < rigs[i].unmatched * r.moving);
        assert_true(4 * r.lip_upper < r.lip_lower);
        fa_neural_free(bound);
        fa_rig_free(rig);
    }
}

// --- refusals -----------------------------------------------------------------------------------------------------

static void refused(FaRig *rig, const char *what) {
    FaNeural *bound;
    FaError err = {0};
    assert_int_equal(fai_neural_bind_net(&net, rig, FA_NEURAL_INT8, &bound, NULL, &err), FA_E_MESH);
    assert_null(bound);
    if (!strstr(err.what, what)) fail_msg("\"%s\" does not speak of \"%s\"", err.what, what);
    assert_true(err.remedy[0] != 0);
}

// jawOpen opens the mouth upwards: the upper lip goes, the lower stays.
static void swapped_lips_are_refused(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0);
    int jaw = fa_arkit_match("jawOpen", NULL), s = 0;
    while (rig->shape[s].arkit != jaw) s++;
    for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
        float *d = rig->delta + 3 * (size_t)e;
        float size = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        d[0] = d[2] = 0;
        d[1] = fmaxf(0.03f - size, 0); // whatever stood still goes up, what went down stays
    }
    refused(rig, "lip");
    fa_rig_free(rig);
}

static void half_a_face_is_refused(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0);
    int n = 0;
    for (int t = 0; t < rig->mesh.ntri; t++) {
        const int *c = rig->mesh.tri + 3 * (size_t)t;
        if (rig->mesh.x[3 * c[0]] < 0) continue;
        memmove(rig->mesh.tri + 3 * (size_t)n++, c, 3 * sizeof *c);
    }
    rig->mesh.ntri = n;
    refused(rig, "of the face that the network knows is there");
    fa_rig_free(rig);
}

static void a_rig_without_names_is_refused(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0);
    for (int s = 5; s < rig->nshape; s++) rig->shape[s].arkit = -1;
    refused(rig, "known by name");
    fa_rig_free(rig);
}

static FaCode bind_again(void *user, FaError *err) {
    FaNeural *bound;
    FaCode rc = fai_neural_bind_net(&net, user, FA_NEURAL_F16, &bound, NULL, err);
    fa_neural_free(bound);
    return rc;
}

static void memory_may_run_out(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0);
    FaError err = {0};
    long before = test_alloc_balance();
    for (long k = 1; k < 2000; k = 2 * k + 1) {
        test_fail_alloc(k);
        FaCode rc = bind_again(rig, &err);
        bool delivered = test_alloc_failed();
        test_fail_alloc(0);
        assert_true(delivered ? rc == FA_E_MEMORY || rc >= 0 : rc >= 0);
        assert_int_equal(test_alloc_balance(), before);
        err = (FaError){0};
    }
    fa_rig_free(rig);
}

// --- the same bits ------------------------------------------------------------------------------------------------

static void the_same_bytes_for_any_threads(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0);
    uint64_t first = 0;
    for (int threads = 1; threads <= 4; threads += 3) {
        FaNeural *bound;
        size_t size;
        fa_threads_set(threads);
        bind(&net, rig, FA_NEURAL_INT8, &bound);
        const void *data = fa_neural_bytes(bound, &size);
        uint64_t hash = fai_hash64(data, size, 0);
        if (!first) first = hash;
        assert_true(hash == first);
        fa_neural_free(bound);
    }
    fa_threads_set(0);
    print_message("bound %016llx\n", (unsigned long long)first);
    fa_rig_free(rig);
}

// --- baked --------------------------------------------------------------------------------------------------------

// Morph targets times the weights that the run-time gives are what the run-time adds.
static void the_baked_rig_is_the_bound_one(void **state) {
    (void)state;
    FaRig *rig = shipped_head(0), *baked;
    FaNeural *bound;
    void *memory;
    FaError err = {0};
    bind(&net, rig, FA_NEURAL_F16, &bound);
    FaRt *rt = place(bound, &memory);
    const char *path = test_path("baked.glb");
    CHECK_OK(fa_neural_bake(bound, rig, path, &err), &err);
    CHECK_OK(fa_rig_load(path, NULL, &baked, &err), &err);
    assert_int_equal(baked->nshape, rig->nshape + fa_rt_targets(rt));
    assert_string_equal(baked->shape[rig->nshape].name, "fascia_000");
    float *w = calloc((size_t)baked->nshape, sizeof *w), *x = calloc(3 * (size_t)rig->mesh.nvert, sizeof *x),
          *y = calloc(3 * (size_t)rig->mesh.nvert, sizeof *y);
    for (int s = 0; s < rig->nshape; s++) w[s] = s % 5 == 0 ? 0.7f : 0;
    fa_rt_network(rt, w, w + rig->nshape);
    fa_rt_frame(rt, w, x);
    fa_rig_blend(baked, w, y);
    double worst = 0;
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    print_message("baked: %.5f mm off\n", 1e3 * worst);
    assert_true(worst < 5e-6);
    char *json;
    CHECK_OK(fa_neural_json(bound, &json, &err), &err);
    assert_non_null(strstr(json, "\"encode\""));
    fa_free(json);
    free(w), free(x), free(y), free(memory);
    fa_rig_free(baked);
    fa_neural_free(bound);
    fa_rig_free(rig);
}

static int set_up(void **state) {
    (void)state;
    toy_net(1, &net);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fai_net_free(&net);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_face_is_the_network),
        cmocka_unit_test(the_neutral_stays_to_the_bit),
        cmocka_unit_test(shapes_come_back),
        cmocka_unit_test(swapped_lips_are_refused),
        cmocka_unit_test(half_a_face_is_refused),
        cmocka_unit_test(a_rig_without_names_is_refused),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(the_same_bytes_for_any_threads),
        cmocka_unit_test(the_baked_rig_is_the_bound_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

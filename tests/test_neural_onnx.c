// Networks as ONNX: ONNX Runtime, where it is installed, computes what fai_net_components does; for a network of the
// template, for one bound to a rig, and for the smallest.
#include "test.h"

#include "base/text.h"
#include "neural/net_math.h"
#include "neural/onnx.h"

#include <sys/stat.h>

enum { NVERT = 30, ND = 7, NN = 4, NC = 5, HIDDEN = 20, NWEIGHT = 9 };

static float *some(size_t n, float scale, uint64_t seed) {
    float *x = FA_NEW(n, float);
    for (size_t i = 0; i < n; i++) x[i] = scale * (float)(2 * fai_random_unit(seed, i) - 1);
    return x;
}

static FaNet make(int nlayer, int nn) {
    FaNet net = {.key = 1, .made = "a test", .nvert = NVERT, .nd = ND, .nn = nn, .nc = NC, .nlayer = nlayer};
    const size_t n3 = 3 * NVERT;
    net.width[0] = ND + nn, net.width[nlayer] = NC;
    for (int i = 1; i < nlayer; i++) net.width[i] = HIDDEN;
    net.mean = some(n3, 0.1f, 1);
    net.tri = FA_NEW(0, int), net.region = FA_NEW(NVERT, unsigned char), net.shape = FA_NEW(0, float);
    net.vd = some(ND * n3, 0.1f, 3), net.vn = some((size_t)nn * n3, 0.1f, 4), net.u = some(NC * n3, 0.1f, 5);
    net.sd = some(ND, 0.01f, 6), net.sn = some((size_t)nn, 0.05f, 7), net.su = some(NC, 0.01f, 8);
    for (int k = 0; k < ND; k++) net.sd[k] += 0.02f;
    for (int k = 0; k < nn; k++) net.sn[k] += 0.1f;
    for (int k = 0; k < NC; k++) net.su[k] += 0.02f;
    net.ridge = some(NC * ND, 0.5f, 9);
    for (int i = 0; i < nlayer; i++) {
        net.weight[i] = some((size_t)net.width[i] * (size_t)net.width[i + 1], 0.5f, 10 + (uint64_t)i);
        net.bias[i] = some((size_t)net.width[i + 1], 0.3f, 20 + (uint64_t)i);
    }
    return net;
}

static void list(FaJsonWriter *w, const char *key, const float *x, size_t n) {
    fai_jw_open(w, key, '[');
    for (size_t i = 0; i < n; i++) fai_jw_float(w, NULL, x[i]);
    fai_jw_close(w);
}

static void put(const char *name, const char *const *key, const float *const *input, const size_t *size,
                const float *output, size_t n) {
    FaText t = {0};
    FaJsonWriter w = {.text = &t};
    fai_jw_open(&w, NULL, '{');
    fai_jw_open(&w, "inputs", '{');
    for (int i = 0; key[i]; i++) list(&w, key[i], input[i], size[i]);
    fai_jw_close(&w);
    list(&w, "output", output, n);
    fai_jw_close(&w);
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(t.data, 1, t.size, f), t.size);
    fclose(f);
    fai_text_free(&t);
}

static const char *in_folder(const char *name) {
    static char path[2][512];
    static int turn;
    mkdir(test_path("onnx"), 0777);
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", test_path("onnx"), name);
    return path[turn];
}

static void write_free(const char *onnx, const char *json, int nlayer, int nn) {
    FaError err = {0};
    FaNet net = make(nlayer, nn);
    const size_t n3 = 3 * NVERT;
    float *d = some(n3, 0.03f, 40), *n = some(n3, 0.1f, 41), *c = FA_NEW(n3, float);
    float *work = FA_NEW(fai_net_work(&net), float);
    fai_net_apply(&net, d, n, c, work);
    CHECK_OK(fai_onnx_save(&net, in_folder(onnx), &err), &err);
    put(in_folder(json), (const char *const[]){"difference", "neutral", NULL}, (const float *const[]){d, n},
        (const size_t[]){n3, n3}, c, n3);
    fa_free(d), fa_free(n), fa_free(c), fa_free(work);
    fai_net_free(&net);
}

// The neutral folded away: z from weights, g's first bias with the neutral's part, g(0) apart.
static void write_bound(void) {
    FaError err = {0};
    FaNet net = make(3, NN);
    const size_t n3 = 3 * NVERT;
    float *q = some(NN, 2, 50), *w = some(NWEIGHT, 0.6f, 51), *encode = some(ND * NWEIGHT, 0.8f, 52);
    float z[ND], still[NC], out[NC], *work = FA_NEW(fai_net_work(&net), float);
    float *first = FA_NEW(HIDDEN * ND, float), *bias = FA_NEW(HIDDEN, float), *c = FA_NEW(n3, float);
    for (int k = 0; k < ND; k++) {
        float s = 0;
        for (int i = 0; i < NWEIGHT; i++) s += encode[k * NWEIGHT + i] * w[i];
        z[k] = fai_squash(s);
    }
    fai_net_components(&net, z, q, out, work);
    for (size_t i = 0; i < n3; i++)
        for (size_t k = 0; k < NC; k++) c[i] += net.u[k * n3 + i] * out[k];
    for (int o = 0; o < HIDDEN; o++) {
        bias[o] = net.bias[0][o];
        for (int k = 0; k < ND; k++) first[o * ND + k] = net.weight[0][o * (ND + NN) + k];
        for (int k = 0; k < NN; k++) bias[o] += net.weight[0][o * (ND + NN) + ND + k] * q[k];
    }
    // g(0, q): what is left of R z + g(z, q) - out / su at any z
    float x[2][HIDDEN];
    for (int o = 0; o < HIDDEN; o++) x[0][o] = fai_swish(bias[o]);
    for (int o = 0; o < HIDDEN; o++) {
        float s = net.bias[1][o];
        for (int k = 0; k < HIDDEN; k++) s += net.weight[1][o * HIDDEN + k] * x[0][k];
        x[1][o] = fai_swish(s);
    }
    for (int o = 0; o < NC; o++) {
        still[o] = net.bias[2][o];
        for (int k = 0; k < HIDDEN; k++) still[o] += net.weight[2][o * HIDDEN + k] * x[1][k];
    }
    for (size_t k = 0; k < NC; k++)
        for (size_t i = 0; i < n3; i++) net.u[k * n3 + i] *= net.su[k];
    const int width[4] = {ND, HIDDEN, HIDDEN, NC};
    const FaOnnxBound b = {NWEIGHT,
                           ND,
                           NC,
                           3 * NVERT,
                           3,
                           width,
                           encode,
                           (const float *const[]){first, net.weight[1], net.weight[2]},
                           (const float *const[]){bias, net.bias[1], net.bias[2]},
                           still,
                           net.ridge,
                           net.u,
                           "a test"};
    CHECK_OK(fai_onnx_save_bound(&b, in_folder("bound.onnx"), &err), &err);
    put(in_folder("bound.json"), (const char *const[]){"weights", NULL}, (const float *const[]){w},
        (const size_t[]){NWEIGHT}, c, n3);
    fa_free(q), fa_free(w), fa_free(encode), fa_free(work), fa_free(first), fa_free(bias), fa_free(c);
    fai_net_free(&net);
}

static void test_runtime(void **state) {
    (void)state;
    write_free("deep.onnx", "deep.json", 4, NN);
    write_free("flat.onnx", "flat.json", 1, NN);
    write_free("nobody.onnx", "nobody.json", 2, 0);
    write_bound();
    char script[512];
    snprintf(script, sizeof script, "%s", FASCIA_SOURCE_DIR "/tests/web/check_onnx.mjs");
    if (!test_program("node")) {
        printf("node is not installed (tools/setup test)\n");
        skip();
    }
    const int rc = test_run((const char *const[]){"node", script, test_path("onnx"), NULL}, NULL);
    if (rc == 77) skip();
    assert_int_equal(rc, 0);
}

static FaCode starved(void *user, FaError *err) { return fai_onnx_save(user, test_path("s.onnx"), err); }

static void test_no_memory(void **state) {
    (void)state;
    FaNet net = make(3, NN);
    assert_true(test_starve(starved, &net) > 20);
    fai_net_free(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runtime), cmocka_unit_test(test_no_memory)};
    test_fail_alloc(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

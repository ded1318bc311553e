// labels: unit hash
// Networks: what is saved is what is played, again the same bytes, whatever is damaged is noticed, the neutral stays.
#include "test.h"

#include "base/file.h"
#include "neural/net.h"
#include "neural/net_math.h"

enum { NVERT = 40, ND = 6, NN = 3, NC = 5, NWEIGHT = 4, H = 16 };

static float *random_floats(size_t n, float scale, uint64_t seed) {
    float *x = FA_NEW(n, float);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) x[i] = scale * (float)fai_random_normal(seed, i);
    return x;
}

static FaNet make(void) {
    FaNet net = {.key = 9,
                 .made = "a test",
                 .nvert = NVERT,
                 .ntri = 2,
                 .nweight = NWEIGHT,
                 .nd = ND,
                 .nn = NN,
                 .nc = NC,
                 .nlayer = 3,
                 .width = {ND + NN, H, H, NC}};
    const size_t n3 = 3 * NVERT;
    net.mean = random_floats(n3, 0.1f, 1);
    net.tri = FA_NEW(6, int);
    net.tri[1] = net.tri[4] = 1, net.tri[2] = 2, net.tri[5] = NVERT - 1;
    net.region = FA_NEW(NVERT, unsigned char);
    net.region[7] = 4;
    net.shape = random_floats(NWEIGHT * n3, 0.01f, 2);
    net.vd = random_floats(ND * n3, 0.1f, 3);
    net.vn = random_floats(NN * n3, 0.1f, 4);
    net.u = random_floats(NC * n3, 0.1f, 5);
    for (int k = 0; k < NC; k++) memset(net.u + (size_t)k * n3 + 30, 0, 60 * sizeof(float)); // vertices nothing moves
    memset(net.shape + n3, 0, n3 * sizeof(float));                                           // a shape of nothing
    net.sd = FA_NEW(ND, float), net.sn = FA_NEW(NN, float), net.su = FA_NEW(NC, float);
    for (int k = 0; k < ND; k++) net.sd[k] = 0.01f + 0.01f * (float)k;
    for (int k = 0; k < NN; k++) net.sn[k] = 0.1f;
    for (int k = 0; k < NC; k++) net.su[k] = 0.001f * (float)(k + 1);
    net.ridge = random_floats(NC * ND, 0.3f, 6);
    for (int i = 0; i < 3; i++) {
        net.weight[i] = random_floats((size_t)net.width[i] * (size_t)net.width[i + 1], 0.3f, 7 + (uint64_t)i);
        net.bias[i] = random_floats((size_t)net.width[i + 1], 0.1f, 17 + (uint64_t)i);
    }
    return net;
}

static void test_curves(void **state) {
    (void)state;
    double exp_off = 0, squash_off = 0, swish_off = 0;
    for (int i = -900; i <= 900; i++) {
        const float x = 0.0971f * (float)i;
        if (fabsf(x) < 87) exp_off = fmax(exp_off, fabs(fai_net_exp(x) / exp((double)x) - 1));
        squash_off = fmax(squash_off, fabs(fai_squash(x) - 3 * tanh((double)x / 3)));
        swish_off = fmax(swish_off, fabs(fai_swish(x) - x / (1 + exp(-(double)x))) / fmax(1, fabs((double)x)));
    }
    printf("exp off by %.2g, squash %.2g, swish %.2g\n", exp_off, squash_off, swish_off);
    assert_true(exp_off < 4e-7 && squash_off < 2e-6 && swish_off < 5e-7);
    assert_true(fai_net_exp(0) == 1 && fai_squash(0) == 0 && fai_swish(0) == 0);
    assert_true(fai_squash(1e30f) == 3 && fai_squash(-1e30f) == -3 && fabsf(fai_swish(-1e6f)) < 1e-30f);
}

static void same_file(const char *a, const char *b) {
    FaBytes x, y;
    FaError err = {0};
    CHECK_OK(fai_file_read(a, 0, &x, &err), &err);
    CHECK_OK(fai_file_read(b, 0, &y, &err), &err);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    fai_bytes_free(&x), fai_bytes_free(&y);
}

static void test_round_trip(void **state) {
    (void)state;
    FaError err = {0};
    FaNet a = make(), b;
    const size_t n3 = 3 * NVERT;
    CHECK_OK(fai_net_save(&a, test_path("a.net"), &err), &err);
    CHECK_OK(fai_net_load(test_path("a.net"), &b, &err), &err);
    CHECK_OK(fai_net_save(&b, test_path("b.net"), &err), &err);
    same_file(test_path("a.net"), test_path("b.net"));
    double off = 0, most = 0;
    for (size_t i = 0; i < NC * n3; i++) off = fmax(off, fabsf(a.u[i] - b.u[i])), most = fmax(most, fabsf(a.u[i]));
    assert_true(off > 0 && off <= most / 127 / 2 * 1.001);
    fai_net_round(&a);
    assert_memory_equal(a.u, b.u, NC * n3 * sizeof(float));
    assert_memory_equal(a.shape, b.shape, NWEIGHT * n3 * sizeof(float));
    for (int i = 0; i < 3; i++)
        assert_memory_equal(a.weight[i], b.weight[i], (size_t)a.width[i] * (size_t)a.width[i + 1] * sizeof(float));
    assert_string_equal(b.made, "a test");
    assert_true(b.key == 9 && b.region[7] == 4 && b.tri[5] == NVERT - 1);
    fai_net_free(&a), fai_net_free(&b);
}

// The equations of net.h in double, with the library's functions.
static void reference(const FaNet *net, const float *d, const float *n, double *c) {
    const int n3 = 3 * NVERT;
    double x[2][FA_NET_LAYERS + 1][64] = {0}, coef[NC];
    for (int k = 0; k < ND; k++) {
        for (int i = 0; i < n3; i++) x[1][0][k] += (double)net->vd[k * n3 + i] * d[i];
        x[1][0][k] = 3 * tanh(x[1][0][k] / net->sd[k] / 3);
    }
    for (int k = 0; k < NN; k++) {
        double q = 0;
        for (int i = 0; i < n3; i++) q += (double)net->vn[k * n3 + i] * ((double)n[i] - net->mean[i]);
        x[0][0][ND + k] = x[1][0][ND + k] = 3 * tanh(q / net->sn[k] / 3);
    }
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < net->nlayer; i++)
            for (int o = 0; o < net->width[i + 1]; o++) {
                double s = net->bias[i][o];
                for (int k = 0; k < net->width[i]; k++) s += net->weight[i][o * net->width[i] + k] * x[t][i][k];
                x[t][i + 1][o] = i + 1 < net->nlayer ? s / (1 + exp(-s)) : s;
            }
    for (int o = 0; o < NC; o++) {
        coef[o] = x[1][net->nlayer][o] - x[0][net->nlayer][o];
        for (int k = 0; k < ND; k++) coef[o] += net->ridge[o * ND + k] * x[1][0][k];
        coef[o] *= net->su[o];
    }
    for (int i = 0; i < n3; i++) {
        c[i] = 0;
        for (int o = 0; o < NC; o++) c[i] += net->u[o * n3 + i] * coef[o];
    }
}

static void test_apply(void **state) {
    (void)state;
    FaNet net = make();
    const size_t n3 = 3 * NVERT;
    float *d = random_floats(n3, 0.02f, 31), *n = random_floats(n3, 0.1f, 32), *c = FA_NEW(n3, float);
    float *work = FA_NEW(fai_net_work(&net), float);
    double want[3 * NVERT], off = 0, most = 0;
    fai_net_apply(&net, d, n, c, work);
    reference(&net, d, n, want);
    for (size_t i = 0; i < n3; i++) off = fmax(off, fabs(c[i] - want[i])), most = fmax(most, fabs(want[i]));
    printf("off by %.2g of %.2g\n", off, most);
    assert_true(most > 1e-4 && off < 2e-6 * most);
    memset(d, 0, n3 * sizeof *d);
    fai_net_apply(&net, d, n, c, work); // the neutral stays, whoever's it is
    for (size_t i = 0; i < n3; i++) assert_true(c[i] == 0);
    fa_free(d), fa_free(n), fa_free(c), fa_free(work);
    fai_net_free(&net);
}

static void test_damage(void **state) {
    (void)state;
    FaError err = {0};
    FaNet net = make(), back;
    FaBytes b;
    CHECK_OK(fai_net_save(&net, test_path("d.net"), &err), &err);
    CHECK_OK(fai_file_read(test_path("d.net"), 0, &b, &err), &err);
    const long before = test_alloc_balance();
    long tried = 0;
    for (size_t i = 0; i < b.size; i += 1 + b.size / 2000, tried++) {
        b.data[i] ^= (unsigned char)(1 << i % 8);
        err = (FaError){0};
        assert_int_equal(fai_net_parse(b.data, b.size, "d.net", &back, &err), FA_E_FORMAT);
        b.data[i] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t size = 0; size < b.size; size += 97, tried++)
        assert_int_equal(fai_net_parse(b.data, size, "d.net", &back, &err), FA_E_FORMAT);
    for (size_t at = 32; at < 68; at += 4) { // its sum right, numbers odd
        const int odd[3] = {-1, 4095, INT32_MAX};
        for (int k = 0; k < 3; k++, tried++) {
            int was;
            memcpy(&was, b.data + at, 4);
            memcpy(b.data + at, &odd[k], 4);
            const uint64_t sum = fai_hash64(b.data + 24, b.size - 24, 4);
            memcpy(b.data + 16, &sum, 8);
            assert_int_equal(fai_net_parse(b.data, b.size, "d.net", &back, &err), FA_E_FORMAT);
            memcpy(b.data + at, &was, 4);
        }
    }
    assert_int_equal(test_alloc_balance(), before);
    test_attack("bytes changed in a file that we read back", tried);
    fai_bytes_free(&b);
    net.weight[1][3] = INFINITY;
    assert_int_equal(fai_net_save(&net, test_path("inf.net"), &err), FA_E_NUMERIC);
    fai_net_free(&net);
}

static FaCode starved(void *user, FaError *err) {
    FaNet net;
    FaCode rc = fai_net_load(test_path("s.net"), &net, err);
    if (rc >= 0) rc = fai_net_save(user, test_path("s.net"), err);
    fai_net_free(&net);
    return rc;
}

static void test_no_memory(void **state) {
    (void)state;
    FaError err = {0};
    FaNet net = make();
    CHECK_OK(fai_net_save(&net, test_path("s.net"), &err), &err);
    assert_true(test_starve(starved, &net) > 20);
    fai_net_free(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_curves), cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_apply), cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_no_memory)};
    test_fail_alloc(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

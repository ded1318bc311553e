// Shards and templates: what is written comes back; any changed or missing byte, or an odd number, is noticed.
#include "test.h"

#include "base/file.h"
#include "neural/net_template.h"
#include "neural/shard.h"

enum { NVERT = 5, NPOSE = 3, NWEIGHT = 4 };

static float neutral[3 * NVERT], weight[NPOSE * NWEIGHT];
static int kind[NPOSE] = {FA_SAMPLE_CLIP, FA_SAMPLE_MIXED, FA_SAMPLE_RANDOM}, clip[NPOSE] = {2, 0, -1};
static uint16_t difference[3 * NVERT * NPOSE], correction[3 * NVERT * NPOSE];

static FaShard shard(void) {
    for (int i = 0; i < 3 * NVERT; i++) neutral[i] = 0.01f * (float)(i - 4);
    for (int i = 0; i < NPOSE * NWEIGHT; i++) weight[i] = 0.1f * (float)i;
    for (int i = 0; i < 3 * NVERT * NPOSE; i++)
        difference[i] = fai_half(0.001f * (float)i), correction[i] = fai_half(-1e-5f * (float)i);
    return (FaShard){5, 77, NVERT, NWEIGHT, NPOSE, 2, neutral, kind, clip, weight, difference, correction};
}

static FaTemplate template_of(void) {
    static int tri[6] = {0, 1, 2, 2, 3, 4};
    static unsigned char region[NVERT] = {0, 1, 2, 3, 4};
    static float shape[3 * NVERT * 2] = {0.25f, 0, 1};
    static char names[2][64] = {"alex", "dao"};
    shard();
    return (FaTemplate){5, NVERT, 2, 2, 2, neutral, tri, region, shape, names, "fascia dataset"};
}

static void test_half(void **state) {
    (void)state;
    for (unsigned h = 0; h < 0x10000; h++) {
        if ((h & 0x7c00) == 0x7c00 && (h & 0x3ff)) continue; // no number
        assert_int_equal(fai_half(fai_half_float((uint16_t)h)), h);
    }
    assert_int_equal(fai_half(NAN) & 0x7e00, 0x7e00);
    assert_true(isinf(fai_half_float(fai_half(65520))) && fai_half_float(fai_half(65519)) == 65504);
    // to nearest, ties to even, at every gap between two neighbours
    for (unsigned h = 0; h < 0x7bff; h++) {
        const float a = fai_half_float((uint16_t)h), b = fai_half_float((uint16_t)(h + 1)), middle = (a + b) / 2;
        assert_int_equal(fai_half(middle), h % 2 ? h + 1 : h);
        assert_int_equal(fai_half(nextafterf(middle, 0)), h);
        assert_int_equal(fai_half(nextafterf(middle, 1e6f)), h + 1);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    FaError err = {0};
    FaShard a = shard(), b;
    CHECK_OK(fai_shard_write(test_path("a.shard"), &a, &err), &err);
    CHECK_OK(fai_shard_read(test_path("a.shard"), &b, &err), &err);
    assert_true(b.key == 5 && b.identity == 77 && b.nvert == NVERT && b.nweight == NWEIGHT && b.npose == NPOSE);
    assert_int_equal(b.dropped, 2);
    assert_memory_equal(a.neutral, b.neutral, sizeof neutral);
    assert_memory_equal(a.kind, b.kind, sizeof kind);
    assert_memory_equal(a.clip, b.clip, sizeof clip);
    assert_memory_equal(a.weight, b.weight, sizeof weight);
    assert_memory_equal(a.difference, b.difference, sizeof difference);
    assert_memory_equal(a.correction, b.correction, sizeof correction);
    fai_shard_free(&b);
    FaTemplate m = template_of(), n;
    CHECK_OK(fai_template_write(test_path("template"), &m, &err), &err);
    CHECK_OK(fai_template_read(test_path("template"), &n, &err), &err);
    assert_true(n.key == 5 && n.nvert == NVERT && n.ntri == 2 && n.nweight == 2 && n.nclip == 2);
    assert_memory_equal(m.tri, n.tri, 6 * sizeof(int));
    assert_memory_equal(m.region, n.region, NVERT);
    assert_memory_equal(m.shape, n.shape, 3 * NVERT * 2 * sizeof(float));
    assert_string_equal(n.clip[1], "dao");
    assert_string_equal(n.made, "fascia dataset");
    fai_template_free(&n);
}

static void try_bytes(const char *path, const unsigned char *data, size_t size, bool is_shard) {
    FaError err = {0};
    FaShard s;
    FaTemplate m;
    assert_true(fai_file_write(path, data, size, &err) >= 0);
    const long before = test_alloc_balance();
    assert_int_equal(is_shard ? fai_shard_read(path, &s, &err) : fai_template_read(path, &m, &err), FA_E_FORMAT);
    assert_true(err.path[0] && err.remedy[0]);
    assert_int_equal(test_alloc_balance(), before);
}

static void mended(FaBytes *bytes) {
    const uint64_t sum = fai_hash64(bytes->data + 24, bytes->size - 24, 4);
    memcpy(bytes->data + 16, &sum, 8);
}

static void test_damage(void **state) {
    (void)state;
    for (int is_shard = 0; is_shard < 2; is_shard++) {
        FaError err = {0};
        FaBytes bytes;
        const char *path = test_path(is_shard ? "d.shard" : "d.template");
        const FaShard s = shard();
        const FaTemplate m = template_of();
        CHECK_OK(is_shard ? fai_shard_write(path, &s, &err) : fai_template_write(path, &m, &err), &err);
        CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
        for (size_t i = 0; i < bytes.size; i += 1 + bytes.size / 400) {
            bytes.data[i] ^= (unsigned char)(1 << i % 8);
            try_bytes(path, bytes.data, bytes.size, is_shard);
            bytes.data[i] ^= (unsigned char)(1 << i % 8);
        }
        try_bytes(path, bytes.data, bytes.size - 1, is_shard);
        try_bytes(path, bytes.data, 11, is_shard);
        // with its sum right: numbers that make no sense
        for (size_t at = is_shard ? 40 : 32; at < (is_shard ? 56u : 48u); at += 4)
            for (int k = 0; k < 3; k++) {
                const int odd[3] = {-1, 1 << 23, INT32_MAX};
                int was;
                if (is_shard && at == 52 && k) continue; // any count of dropped poses
                memcpy(&was, bytes.data + at, 4);
                memcpy(bytes.data + at, &odd[k], 4);
                mended(&bytes);
                try_bytes(path, bytes.data, bytes.size, is_shard);
                memcpy(bytes.data + at, &was, 4);
            }
        fai_bytes_free(&bytes);
    }
    test_attack("bytes changed in a file that we read back", 800);
}

static void test_odd_numbers(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        FaError err = {0};
        FaShard s = shard(), back;
        if (k == 0) neutral[3] = NAN;
        if (k == 1) kind[1] = 9;
        if (k == 2) correction[7] = 0x7c00;
        if (k == 3) clip[0] = -2;
        CHECK_OK(fai_shard_write(test_path("odd.shard"), &s, &err), &err);
        assert_int_equal(fai_shard_read(test_path("odd.shard"), &back, &err), FA_E_FORMAT);
        kind[1] = FA_SAMPLE_MIXED, clip[0] = 2;
    }
}

static FaCode read_starved(void *user, FaError *err) {
    (void)user;
    FaShard s;
    FaTemplate m;
    FaCode rc = fai_shard_read(test_path("s.shard"), &s, err);
    if (rc >= 0) rc = fai_template_read(test_path("s.template"), &m, err);
    if (rc >= 0) fai_template_free(&m);
    fai_shard_free(&s);
    return rc;
}

static void test_no_memory(void **state) {
    (void)state;
    FaError err = {0};
    const FaShard s = shard();
    const FaTemplate m = template_of();
    CHECK_OK(fai_shard_write(test_path("s.shard"), &s, &err), &err);
    CHECK_OK(fai_template_write(test_path("s.template"), &m, &err), &err);
    assert_true(test_starve(read_starved, NULL) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_half), cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_damage), cmocka_unit_test(test_odd_numbers),
                                       cmocka_unit_test(test_no_memory)};
    test_fail_alloc(0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

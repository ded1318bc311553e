// The partial file of the volumes: what is packed comes back; of an odd file nothing is taken, and nothing is left.
#include "test.h"

#include "build/volume_part.h"

enum { SHAPES = 3, NODES = 10, KEY = 5, HEADER = 32 };

static FaText packed(void) {
    static int node[] = {1, 4, 9};
    static float value[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const FaVolumeColumn column[SHAPES] = {{.done = true, .count = 3, .node = node, .value = value},
                                           {0},
                                           {.done = true, .count = 1, .node = node, .value = value}};
    FaText text = {0};
    fai_volume_part_pack(KEY, SHAPES, column, &text);
    assert_false(text.failed);
    return text;
}

// With its sum made right, as if this had been written.
static int taken(FaText *t, FaVolumeColumn *column) {
    uint64_t size = t->size, sum = fai_hash64(t->data + HEADER, t->size - HEADER, KEY);
    memcpy(t->data + 16, &size, 8);
    memcpy(t->data + 24, &sum, 8);
    return fai_volume_part_unpack(t->data, t->size, KEY, SHAPES, NODES, column);
}

static void test_round_trip(void **state) {
    (void)state;
    FaText text = packed();
    FaVolumeColumn c[SHAPES] = {0};
    assert_int_equal(taken(&text, c), 2);
    assert_true(c[0].done && c[0].resumed && !c[1].done && c[2].done);
    assert_int_equal(c[0].count, 3);
    assert_int_equal(c[0].node[2], 9);
    assert_true(c[0].value[8] == 9);
    fai_volume_columns_free(SHAPES, c);
    text.data[HEADER + 9] ^= 1;
    assert_int_equal(fai_volume_part_unpack(text.data, text.size, KEY, SHAPES, NODES, c), 0); // its sum is wrong
    fai_text_free(&text);
}

static void test_odd(void **state) {
    (void)state;
    const float inf = INFINITY;
    const struct {
        size_t at;
        int32_t value;
    } change[] = {{HEADER, 7},     {HEADER, -1},     {HEADER + 4, 4},      {HEADER + 4, 1 << 30}, {HEADER + 4, -1},
                  {HEADER + 8, 4}, {HEADER + 8, -1}, {HEADER + 16, NODES}, {HEADER + 56, 0}}; // the last: shape 0 again
    for (size_t i = 0; i <= sizeof change / sizeof *change; i++) {
        FaText text = packed();
        FaVolumeColumn c[SHAPES] = {0};
        if (i < sizeof change / sizeof *change)
            memcpy(text.data + change[i].at, &change[i].value, 4);
        else
            memcpy(text.data + HEADER + 20, &inf, 4);
        long before = test_alloc_balance();
        assert_int_equal(taken(&text, c), 0);
        for (int s = 0; s < SHAPES; s++) assert_true(!c[s].done && !c[s].node && !c[s].value);
        assert_int_equal(test_alloc_balance(), before);
        text.size -= 3; // cut off
        assert_int_equal(taken(&text, c), 0);
        fai_text_free(&text);
    }
}

static void test_any_flip(void **state) {
    (void)state;
    FaText text = packed();
    for (size_t i = 0; i < 8 * text.size; i++) {
        FaVolumeColumn c[SHAPES] = {0};
        text.data[i / 8] ^= (char)(1 << i % 8);
        assert_int_equal(fai_volume_part_unpack(text.data, text.size, KEY, SHAPES, NODES, c), 0);
        text.data[i / 8] ^= (char)(1 << i % 8);
    }
    test_attack("bytes changed in a file that we read back", (long)(8 * text.size));
    fai_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_odd),
                                       cmocka_unit_test(test_any_flip)};
    test_fail_alloc(0); // counts from here on
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// A cache names no unit: beside a rig in centimetres one in metres (ours) and one in centimetres (of other programs)
// are the same frames, with --unit and without.
#include "test_app_tools.h"

static char rig[4200], ours[4200], theirs[4200];

static int make_files(void **state) {
    (void)state;
    FaError err = {0};
    int i = 0;
    while (strcmp(fa_zoo_animal(i).name, "cm")) i++;
    snprintf(rig, sizeof rig, "%s", test_path("cm.glb"));
    snprintf(ours, sizeof ours, "%s", test_path("ours.pc2"));
    snprintf(theirs, sizeof theirs, "%s", test_path("theirs.pc2"));
    CHECK_OK(fa_zoo_save(i, 0, NULL, rig, &err), &err);
    assert_int_equal(RUN("convert", rig, ours, "--frames", "0-5"), 0);
    FILE *from = fopen(ours, "rb"), *to = fopen(theirs, "wb");
    char head[32];
    assert_int_equal(fread(head, 1, sizeof head, from), sizeof head);
    fwrite(head, 1, sizeof head, to);
    for (float x; fread(&x, sizeof x, 1, from) == 1;) {
        x *= 100;
        fwrite(&x, sizeof x, 1, to);
    }
    fclose(from);
    fclose(to);
    return 0;
}

static void test_compare(void **state) {
    (void)state;
    assert_int_equal(RUN("compare", rig, ours, "--frames", "0-5", "--max-mm", "0.001"), 0);
    assert_int_equal(RUN("compare", rig, ours, "--frames", "0-5", "--max-mm", "0.001", "--unit", "cm"), 0);
    assert_int_equal(RUN("compare", rig, theirs, "--frames", "0-5", "--max-mm", "0.001"), 0);
    SAID("theirs.pc2 is taken to be in units of 0.01 m");
    assert_int_equal(RUN("compare", theirs, ours, "--rig", rig, "--max-mm", "0.001", "--unit", "cm"), 0);
    SAID("theirs.pc2 is taken to be in units of 0.01 m");
}

static void test_convert(void **state) {
    (void)state;
    const char *cache[] = {ours, theirs};
    char out[4200];
    snprintf(out, sizeof out, "%s", test_path("back.glb"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN("convert", cache[i], out, "--rig", rig), 0);
        assert_int_equal(RUN("compare", out, ours, "--max-mm", "0.06"), 0);
        assert_int_equal(RUN("convert", cache[i], out, "--rig", rig, "--unit", "cm"), 0);
        assert_int_equal(RUN("compare", out, ours, "--max-mm", "0.06"), 0);
    }
}

static size_t bytes_of(const char *path, char *data, size_t room) {
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(data, 1, room, f) : 0;
    if (f) fclose(f);
    return n;
}

static void test_render(void **state) {
    (void)state;
    enum { ROOM = 1 << 22 };
    const char *cache[] = {ours, ours, theirs, theirs}, *unit[] = {"auto", "cm", "auto", "cm"};
    char *first = malloc(ROOM), *next = malloc(ROOM);
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        const char *out = test_path("cache.png");
        assert_int_equal(
            RUN("render", cache[i], "--rig", rig, "--unit", unit[i], "--frame", "2", "--size", "120x120", "-o", out),
            0);
        if (i == 0)
            n = bytes_of(out, first, ROOM);
        else
            assert_true(bytes_of(out, next, ROOM) == n && (i > 1 || !memcmp(first, next, n)));
    }
    assert_true(n > 2000);
    free(first);
    free(next);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_render),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}

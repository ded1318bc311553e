// labels: unit
// A cache names no unit: what is written is in the coordinates of the mesh in the rig's own file, where the user's tool
// has the mesh (--cache-unit m: metres); what is read beside a rig is either, with --unit and without.
#include "test_app_tools.h"

#include <math.h>
#include <sys/stat.h>

static char rig[4200], own[4200], metres[4200];

static void take_animal(const char *name, const char *file) {
    FaError err = {0};
    int i = 0;
    while (strcmp(fa_zoo_animal(i).name, name)) i++;
    snprintf(rig, sizeof rig, "%s", test_path(file));
    CHECK_OK(fa_zoo_save(i, 0, NULL, rig, &err), &err);
}

static int make_files(void **state) {
    (void)state;
    snprintf(own, sizeof own, "%s", test_path("own.pc2"));
    snprintf(metres, sizeof metres, "%s", test_path("metres.pc2"));
    take_animal("cm", "cm.glb");
    assert_int_equal(RUN("convert", rig, own, "--frames", "0-5"), 0);
    SAID("own.pc2 is in units of 0.01 m");
    assert_int_equal(RUN("convert", rig, metres, "--frames", "0-5", "--cache-unit", "m"), 0);
    return 0;
}

// The first frame as the file has it. path: a .pc2, .mdd or folder.
static float *first_frame(const char *path, int *n) {
    FaError err = {0};
    FaSequence *seq;
    CHECK_OK(fa_sequence_open(path, NULL, &seq, &err), &err);
    *n = fa_sequence_nvert(seq);
    float *x = malloc(3 * (size_t)*n * sizeof *x);
    CHECK_OK(fa_sequence_read(seq, 0, x, &err), &err);
    fa_sequence_close(seq);
    return x;
}

// How far the frame is from the other, times m; in units of the other.
static double apart(const char *a, const char *b, const double m[9]) {
    int n, nb;
    float *x = first_frame(a, &n), *y = first_frame(b, &nb);
    double most = 0;
    assert_int_equal(n, nb);
    for (int v = 0; v < n; v++)
        for (int k = 0; k < 3; k++) {
            double p = 0;
            for (int l = 0; l < 3; l++) p += m[3 * k + l] * (double)x[3 * v + l];
            most = fmax(most, fabs(p - (double)y[3 * v + k]));
        }
    free(x);
    free(y);
    return most;
}

// Every verb that writes points, each format: one place.
static void every_verb(void **state) {
    (void)state;
    static const double cm[9] = {0.01, 0, 0, 0, 0.01, 0, 0, 0, 0.01};
    char out[2][4200], dir[2][4200], clip[4200];
    snprintf(clip, sizeof clip, "%s", test_path("clip.csv"));
    FILE *f = fopen(clip, "wb");
    fputs("time,jawOpen\n0,0.2\n0.033333,0.3\n0.066667,0.4\n", f);
    fclose(f);
    static const char *const verb[] = {"convert", "blend", "drive", "enrich"}, *const ext[] = {"pc2", "mdd", "obj"};
    for (int i = 0; i < 6; i++) {
        const char *v = verb[i < 4 ? i : 0], *e = ext[i < 4 ? 0 : i - 3];
        for (int k = 0; k < 2; k++) {
            snprintf(dir[k], sizeof dir[k], "%s/%s%d", test_dir(), k ? "m" : "own", i);
            snprintf(out[k], sizeof out[k], !strcmp(e, "obj") ? "%s/f_####.%s" : "%s.%s", dir[k], e);
            if (!strcmp(e, "obj")) mkdir(dir[k], 0755);
            const char *const args[] = {v,    rig,    i == 0 || i > 3 ? "--clip" : clip, i == 0 || i > 3 ? clip : "-v",
                                        "-o", out[k], k ? "--cache-unit" : NULL,         "m",
                                        NULL};
            assert_int_equal(run(args), 0);
        }
        const char *at[2] = {strcmp(e, "obj") ? out[0] : dir[0], strcmp(e, "obj") ? out[1] : dir[1]};
        double off = apart(at[0], at[1], cm);
        if (!(off < 1e-7)) print_error("%s .%s: %g m\n", v, e, off);
        assert_true(off < 1e-7);
        // the same frames for who reads them
        assert_int_equal(RUN("compare", at[0], at[1], "--rig", rig, "--max-mm", "0.001", "--no-intersections"), 0);
    }
}

// Unit, a node's scale and a mirror are undone, so that the points are those of the mesh in its file.
static void odd_rigs(void **state) {
    (void)state;
    FaError err = {0};
    static const char *const animal[] = {"cm", "cm_node", "mirrored", "mm", "obj_cm", "plain"};
    char a[4200], b[4200];
    snprintf(a, sizeof a, "%s", test_path("odd.pc2"));
    snprintf(b, sizeof b, "%s", test_path("odd_m.pc2"));
    for (size_t i = 0; i < sizeof animal / sizeof *animal; i++) {
        FaRig *r;
        double m[9];
        take_animal(animal[i], strcmp(animal[i], "obj_cm") ? "odd.glb" : "odd_objs");
        assert_int_equal(RUN("convert", rig, a, "--frames", "0"), 0);
        assert_int_equal(RUN("convert", rig, b, "--frames", "0", "--cache-unit", "m"), 0);
        CHECK_OK(fa_rig_load(rig, NULL, &r, &err), &err);
        fa_rig_from_file(r, m);
        assert_true(apart(a, b, m) < 1e-7);
        fa_rig_free(r);
        const char *both[] = {a, b};
        for (int k = 0; k < 2; k++)
            assert_int_equal(RUN("compare", rig, both[k], "--frames", "0", "--max-mm", "0.001"), 0);
    }
    take_animal("cm", "cm.glb");
}

static void test_compare(void **state) {
    (void)state;
    const char *const cache[] = {own, metres};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN("compare", rig, cache[i], "--frames", "0-5", "--max-mm", "0.001"), 0);
        assert_int_equal(RUN("compare", rig, cache[i], "--frames", "0-5", "--max-mm", "0.001", "--unit", "cm"), 0);
    }
    assert_int_equal(RUN("compare", own, metres, "--rig", rig, "--max-mm", "0.001", "--unit", "cm"), 0);
    // without a rig the size tells, or it is asked for
    assert_int_equal(RUN("compare", own, metres, "--max-mm", "0.001"), 0);
    SAID("own.pc2 is taken to be in units of 0.01 m, by its size");
    char mm[4200];
    snprintf(mm, sizeof mm, "%s", test_path("mm.pc2"));
    assert_int_equal(RUN("convert", rig, mm, "--frames", "0-5", "--cache-unit", "mm"), 0);
    assert_int_equal(RUN("compare", own, mm), 2);
    SAID("--rig");
    // numbers stay what they are where nothing says their unit
    assert_int_equal(RUN("convert", own, test_path("same.mdd"), "--fps", "30"), 0);
    assert_true(apart(own, test_path("same.mdd"), (const double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}) == 0);
    assert_int_equal(RUN("convert", own, test_path("same.mdd"), "--fps", "30", "--cache-unit", "m"), 2);
    assert_int_equal(RUN("convert", own, test_path("same.mdd"), "--fps", "30", "--cache-unit", "m", "--unit", "cm"), 0);
    assert_int_equal(RUN("convert", rig, test_path("no.glb"), "--cache-unit", "m"), 2);
    SAID("--cache-unit is for .pc2");
}

static void test_convert(void **state) {
    (void)state;
    const char *cache[] = {own, metres};
    char out[4200];
    snprintf(out, sizeof out, "%s", test_path("back.glb"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN("convert", cache[i], out, "--rig", rig), 0);
        assert_int_equal(RUN("compare", out, own, "--max-mm", "0.06"), 0);
        assert_int_equal(RUN("convert", cache[i], out, "--rig", rig, "--unit", "cm"), 0);
        assert_int_equal(RUN("compare", out, own, "--max-mm", "0.06"), 0);
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
    const char *cache[] = {own, own, metres, metres}, *unit[] = {"auto", "cm", "auto", "cm"};
    char *first = malloc(ROOM), *next = malloc(ROOM);
    size_t n = 0;
    for (int i = 0; i < 4; i++) {
        const char *out = test_path("cache.png");
        assert_int_equal(
            RUN("render", cache[i], "--rig", rig, "--unit", unit[i], "--frame", "2", "--size", "120x120", "-o", out),
            0);
        size_t now = bytes_of(out, i ? next : first, ROOM);
        if (i == 0) n = now;
        // rounding in another unit may change a pixel
        assert_true(i == 1 ? now == n && !memcmp(first, next, n) : now > n - n / 50 && now < n + n / 50);
    }
    assert_true(n > 2000);
    free(first);
    free(next);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare), cmocka_unit_test(test_convert), cmocka_unit_test(test_render),
        cmocka_unit_test(odd_rigs),     cmocka_unit_test(every_verb),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}

// Selective snaps by what is known of them: curves, ways along edges, weights on a plane; files that are wrong.
// labels: unit
#include "test.h"

#include "muscle/falloff.h"
#include "muscle/snap_lines.h"
#include "muscle/snap_weights.h"

#include <math.h>
#include <string.h>

enum { N = 21 }; // vertices of a side
static float place[3 * N * N];
static int corner[6 * (N - 1) * (N - 1)];
static FaRig rig;
static FaTopology topology;

// A square of 20 mm in triangles, vertex at (column, row).
static int at(int column, int row) { return row * N + column; }

static int make(void **state) {
    (void)state;
    FaError err = {0};
    int n = 0;
    for (int v = 0; v < N * N; v++) place[3 * v] = 1e-3f * (float)(v % N), place[3 * v + 1] = 1e-3f * (float)(v / N);
    for (int r = 0; r + 1 < N; r++)
        for (int c = 0; c + 1 < N; c++) {
            const int quad[] = {at(c, r), at(c + 1, r), at(c + 1, r + 1), at(c, r), at(c + 1, r + 1), at(c, r + 1)};
            memcpy(corner + n, quad, sizeof quad);
            n += 6;
        }
    rig.mesh = (FaMesh){.nvert = N * N, .ntri = n / 3, .x = place, .tri = corner};
    return fai_topology_build(&rig.mesh, &topology, &err);
}

static int drop(void **state) {
    (void)state;
    fai_topology_free(&topology);
    return 0;
}

static void test_falloff(void **state) {
    (void)state;
    FaFalloff f = {0};
    assert_true(fai_falloff_at(&f, 0.3) == 0.3 && fai_falloff_at(&f, 7) == 1); // none: as it is
    assert_null(fai_falloff_set(&f, 3, (const double[][2]){{0, 0}, {0.5, 0.8}, {1, 1}}));
    CHECK_NEAR(fai_falloff_at(&f, 0.5), 0.8, 1e-12);
    for (int i = 1; i <= 1000; i++) assert_true(fai_falloff_at(&f, i / 1e3) >= fai_falloff_at(&f, (i - 1) / 1e3));
    assert_true(fai_falloff_at(&f, 0) == 0 && fai_falloff_at(&f, 1) == 1);
    // a step stays within itself
    assert_null(fai_falloff_set(&f, 4, (const double[][2]){{0, 0}, {0.4, 0}, {0.6, 1}, {1, 1}}));
    assert_true(fai_falloff_at(&f, 0.2) == 0 && fai_falloff_at(&f, 0.8) == 1);
    assert_non_null(fai_falloff_set(&f, 2, (const double[][2]){{0, 0.2}, {1, 1}}));
    assert_non_null(fai_falloff_set(&f, 3, (const double[][2]){{0, 0}, {0.5, 0.8}, {1, 0.7}}));
    assert_non_null(fai_falloff_set(&f, 2, (const double[][2]){{0, 0}, {0.9, 1}}));
    assert_non_null(fai_falloff_set(&f, 1, (const double[][2]){{0, 0}}));
}

// Along a row all of it; across, the diagonals that the mesh has.
static void test_way(void **state) {
    (void)state;
    FaError err = {0};
    unsigned char line[N * N] = {0};
    CHECK_OK(fai_snap_path(&rig.mesh, &topology, at(2, 5), at(9, 5), line, &err), &err);
    int n = 0;
    for (int v = 0; v < N * N; v++) n += line[v];
    assert_int_equal(n, 8);
    for (int c = 2; c <= 9; c++) assert_true(line[at(c, 5)]);
    memset(line, 0, sizeof line);
    CHECK_OK(fai_snap_path(&rig.mesh, &topology, at(3, 3), at(12, 12), line, &err), &err);
    for (int k = 3; k <= 12; k++) assert_true(line[at(k, k)]);
}

// A line down the middle of a painted band: the weight falls linearly to the band's edges, and is exactly 0 beyond.
static void test_weights(void **state) {
    (void)state;
    FaError err = {0};
    unsigned char line[N * N] = {0}, region[2 * (N - 1) * (N - 1)] = {0};
    float weight[N * N];
    int inside;
    const FaFalloff none = {0};
    for (int r = 0; r < N; r++) line[at(10, r)] = 1;
    for (int t = 0; t < rig.mesh.ntri; t++) {
        region[t] = 1;
        for (int k = 3 * t; k < 3 * t + 3; k++) region[t] &= corner[k] % N >= 5 && corner[k] % N <= 18;
    }
    CHECK_OK(fai_snap_weights(&rig.mesh, &topology, line, region, &none, weight, &inside, &err), &err);
    assert_int_equal(inside, N);
    for (int v = 0; v < N * N; v++) {
        const int c = v % N;
        const double want = c <= 5 || c >= 18 ? 0 : c <= 10 ? (c - 5) / 5.0 : (18 - c) / 8.0;
        CHECK_NEAR((double)weight[v], want, 1e-6);
        if (want == 0) assert_true(weight[v] == 0);
    }
}

static FaCode parse(const char *text, float *weight, FaMuscleSnapReport *report, FaError *err) {
    static const char *const name[] = {"corner_left", "chin"};
    static const int vertex[] = {2 * N + 10, -1};
    FaSnapPlaces places = {.rig = &rig, .nname = 2, .name = name, .vertex = vertex};
    memset(places.fold, -1, sizeof places.fold);
    *err = (FaError){0};
    return fai_snap_parse(text, strlen(text), &places, weight, report, err);
}

static void test_file(void **state) {
    (void)state;
    FaError err;
    float weight[N * N];
    FaMuscleSnapReport r;
    CHECK_OK(parse("{\"lines\": [[\"corner_left\", 388]], \"region\": {\"around_mm\": 4}}", weight, &r, &err), &err);
    assert_true(r.line > 10 && r.outside == 0 && weight[at(10, 2)] == 1 && weight[0] == 0 && weight[at(10, 17)] == 1);
    assert_true(weight[at(12, 10)] > 0.2f && weight[at(12, 10)] < 0.8f);
    // paint alone is the weight; a stroke of values dims lines
    CHECK_OK(parse("{\"region\": {\"vertices\": {\"30\": 0.5}}}", weight, &r, &err), &err);
    assert_true(weight[30] == 0.5f && r.touched == 1);
    const char *wrong[][2] = {
        {"{\"lines\": [[441]]}", "there is no vertex 441: the rig has 441"},
        {"{\"lines\": [[\"nose\"]]}", "there is no such landmark"},
        {"{\"lines\": [[\"chin\"]]}", "was not found on this rig"},
        {"{\"lines\": [\"nasolabial\"]}", "not found on this rig"},
        {"{\"lines\": []}", "expected lines"},
        {"{\"lines\": [[1, 2]], \"region\": [300, 301]}", "no line is inside the region"},
        {"{\"lines\": [[1, 2]], \"falloff\": [[0, 1], [1, 1]]}", "begins with [0, 0]"},
        {"{\"lines\": [[1, 2]], \"regoin\": []}", "means nothing here"},
        {"{\"region\": {\"around_mm\": 3}}", "no lines to be around of"},
        {"{\"lines\": [[1, 2]], \"region\": {\"triangles\": [800]}}", "there is no triangle 800: the rig has 800"},
        {"{\"lines\": [[1, 2]], \"region\": \"mouth\"}", "there is no such region"},
        {"[]", "expected an object"},
    };
    for (int i = 0; i < (int)(sizeof wrong / sizeof *wrong); i++) {
        assert_int_equal(parse(wrong[i][0], weight, &r, &err), FA_E_FORMAT);
        if (!strstr(err.what, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], err.what);
        assert_true(err.remedy[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_falloff), cmocka_unit_test(test_way),
                                       cmocka_unit_test(test_weights), cmocka_unit_test(test_file)};
    return cmocka_run_group_tests(tests, make, drop);
}

// Muscles that somebody else made: STL files, solids fitted to closed meshes, and refusals. Solids of our own with
// tight tolerances; BodyParts3D where it lies beside the repository.
// labels: heavy
#include "test.h"

#include "base/file.h"
#include "io/stl.h"
#include "math/mat3.h"
#include "muscle/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { U = 60, V = 40 };
typedef void Place(double u, double angle, double x[3]);

// A closed tube: rows of a cross-section, and a point at both ends.
static FaMesh tube(FaArena *arena, Place *place) {
    FaMesh m = {.x = FA_PUSH(arena, 3 * (U * V + 2), float), .tri = FA_PUSH(arena, 6 * U * V, int)};
    for (int i = 0; i < U; i++)
        for (int j = 0; j < V; j++) {
            double x[3];
            place((double)i / (U - 1), 2 * M_PI * j / V, x);
            for (int k = 0; k < 3; k++) m.x[3 * m.nvert + k] = (float)x[k];
            m.nvert++;
        }
    for (int end = 0; end < 2; end++) {
        double sum[3] = {0};
        for (int j = 0; j < V; j++)
            for (int k = 0; k < 3; k++) sum[k] += (double)m.x[3 * (end * (U - 1) * V + j) + k] / V;
        for (int k = 0; k < 3; k++) m.x[3 * m.nvert + k] = (float)sum[k];
        m.nvert++;
    }
    for (int i = 0; i + 1 < U; i++)
        for (int j = 0; j < V; j++) {
            int a = i * V + j, b = i * V + (j + 1) % V;
            const int quad[6] = {a, b, b + V, a, b + V, a + V};
            memcpy(m.tri + 3 * m.ntri, quad, sizeof quad);
            m.ntri += 2;
        }
    for (int j = 0; j < V; j++) {
        const int cap[6] = {U * V, (j + 1) % V, j, U * V + 1, (U - 1) * V + j, (U - 1) * V + (j + 1) % V};
        memcpy(m.tri + 3 * m.ntri, cap, sizeof cap);
        m.ntri += 2;
    }
    return m;
}

// 60 mm long, 12 wide, 4 thick, bent in an arc of a third of a turn, tapered.
static void bent_strap(double u, double a, double x[3]) {
    double turn = 2 * M_PI / 3 * (u - 0.5), r = 0.060 / (2 * M_PI / 3), thin = 1 - 0.6 * fabs(2 * u - 1);
    double v = 0.006 * thin * cos(a), w = 0.002 * thin * sin(a);
    x[0] = (r + w) * sin(turn), x[1] = (r + w) * cos(turn), x[2] = v;
}

static void half_ring(double u, double a, double x[3]) {
    double turn = M_PI * u, r = 0.025 + 0.003 * cos(a);
    x[0] = r * cos(turn), x[1] = r * sin(turn), x[2] = 0.1 + 0.002 * sin(a);
}

static void ball(double u, double a, double x[3]) {
    double s = sin(M_PI * (0.02 + 0.96 * u));
    x[0] = 0.02 * cos(M_PI * (0.02 + 0.96 * u)), x[1] = 0.02 * s * cos(a), x[2] = 0.02 * s * sin(a);
}

static void say(const char *name, const FaFit *f, double seconds) {
    print_message("%-34s %6.2f cm3 %+5.1f %%, covered %.1f %%, beyond %.1f %%, median %.2f mm, p95 %.2f, %.0f mm long, "
                  "%.1f : 1, %.2f s\n",
                  name, 1e6 * f->volume, 100 * f->volume_error, 100 * f->covered, 100 * f->beyond, 1e3 * f->median,
                  1e3 * f->p95, 1e3 * f->length, f->elongation, seconds);
}

static void test_made(void **state) {
    (void)state;
    static const struct {
        const char *name;
        Place *place;
        double length, width;
    } made[] = {{"bent strap", bent_strap, 0.060, 0.012}, {"half ring", half_ring, 0.0785, 0.006}};
    for (int i = 0; i < 2; i++) {
        FaArena *arena = fai_arena_new(0);
        FaMesh m = tube(arena, made[i].place);
        FaBspline s;
        FaFit fit;
        FaError err = {0};
        double begin = fai_seconds();
        CHECK_OK(fai_fit_solid(&m, arena, &s, &fit, &err), &err);
        say(made[i].name, &fit, fai_seconds() - begin);
        assert_true(fabs(fit.volume_error) < 0.06 && fit.covered > 0.94 && fit.beyond < 0.04);
        assert_true(fit.median < 0.15e-3 && fit.p95 < 0.6e-3);
        assert_true(fabs(fit.length / made[i].length - 1) < 0.06);
        // fibres run along it
        double x[3], J[9], way[3], end[3], folded;
        fai_bspline_at(&s, (double[]){0.5, 0.5, 0.5}, x, J);
        fai_v3_set(way, J[0], J[3], J[6]);
        fai_v3_normalize(way);
        assert_true(fabs(way[0]) > 0.99);
        fai_bspline_at(&s, (double[]){0, 0.5, 0.5}, end, NULL);
        fai_bspline_volume(&s, &folded);
        assert_true(fmin(folded, 1 - folded) < 0.001);
        fai_arena_free(arena);
    }
}

static void test_refused(void **state) {
    (void)state;
    FaArena *arena = fai_arena_new(0);
    FaBspline s;
    FaFit fit;
    FaError err = {0};
    FaMesh m = tube(arena, ball);
    assert_int_equal(fai_fit_solid(&m, arena, &s, &fit, &err), FA_E_MESH);
    if (!strstr(err.what, "as wide as it is long")) fail_msg("%s", err.what);
    m = tube(arena, bent_strap);
    m.ntri -= 3;
    err = (FaError){0};
    assert_int_equal(fai_fit_solid(&m, arena, &s, &fit, &err), FA_E_MESH);
    assert_non_null(strstr(err.what, "not closed"));
    assert_non_null(strstr(err.remedy, "holes"));
    fai_arena_free(arena);
}

// A file that is cut short, one that says nothing, numbers that are none.
static void test_stl(void **state) {
    (void)state;
    static const char text[] = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1e0 0 0\nvertex 0 1 -0\n"
                               "endloop\nendfacet\nfacet normal 0 0 1\nouter loop\nvertex 1 0 0\nvertex 1 1 0\n"
                               "vertex 0 1 0\nendloop\nendfacet\nendsolid\n";
    FaArena *arena = fai_arena_new(0);
    FaMesh m;
    FaError err = {0};
    CHECK_OK(fai_stl_parse(text, sizeof text - 1, arena, &m, &err), &err);
    assert_true(m.nvert == 4 && m.ntri == 2 && m.tri[3] == m.tri[1] && m.tri[5] == m.tri[2]);
    assert_true(fai_stl_parse(text, 70, arena, &m, &(FaError){0}) == FA_E_FORMAT);
    assert_true(fai_stl_parse("", 0, arena, &m, &(FaError){0}) == FA_E_FORMAT);
    unsigned char binary[84 + 50] = {0};
    binary[80] = 1;
    float corner[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    memcpy(binary + 96, corner, sizeof corner);
    CHECK_OK(fai_stl_parse(binary, sizeof binary, arena, &m, &err), &err);
    assert_true(m.nvert == 3 && m.ntri == 1);
    assert_true(fai_stl_parse(binary, sizeof binary - 1, arena, &m, &(FaError){0}) == FA_E_FORMAT);
    corner[4] = NAN;
    memcpy(binary + 96, corner, sizeof corner);
    assert_true(fai_stl_parse(binary, sizeof binary, arena, &m, &(FaError){0}) == FA_E_FORMAT);
    fai_arena_free(arena);
}

// Muscles of BodyParts3D (mm): each as closely as cross-sections can. The platysma, a ragged fan, is refused.
static void test_anatomy(void **state) {
    (void)state;
    static const char *const name[] = {
        "FMA46813_left_zygomaticus_major",           "FMA46815_left_zygomaticus_minor",
        "FMA46830_left_depressor_anguli_oris",       "FMA46818_left_depressor_labii_inferioris",
        "FMA46807_left_levator_labii_superioris",    "FMA46804_left_levator_labii_superioris_alaeque_nasi",
        "FMA46824_left_levator_anguli_oris",         "FMA46836_left_buccinator",
        "FMA49002_superficial_part_of_left_masseter"};
    char command[8192], path[4096];
    const char *archive = test_data("anatomy/bodyparts3d_face/bp3d_head_134_stl.tar.xz");
    if (!archive) skip();
    snprintf(path, sizeof path, "%s", test_path("anatomy.stl"));
    for (int i = 0; i < FA_COUNT(name); i++) {
        snprintf(command, sizeof command, "tar -xJOf '%s' --wildcards '*%s.stl' > '%s'", archive, name[i], path);
        if (system(command) != 0) skip(); // no tar, or another edition
        FaArena *arena = fai_arena_new(0);
        FaBytes bytes;
        FaMesh m;
        FaBspline s;
        FaFit fit;
        FaError err = {0};
        double begin = fai_seconds();
        CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
        CHECK_OK(fai_stl_parse(bytes.data, bytes.size, arena, &m, &err), &err);
        for (int k = 0; k < 3 * m.nvert; k++) m.x[k] *= 1e-3f;
        CHECK_OK(fai_fit_solid(&m, arena, &s, &fit, &err), &err);
        say(name[i], &fit, fai_seconds() - begin);
        assert_true(fabs(fit.volume_error) < 0.1 && fit.covered > 0.8 && fit.median < 0.2e-3);
        fai_bytes_free(&bytes);
        fai_arena_free(arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stl), cmocka_unit_test(test_made),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_anatomy)};
    return cmocka_run_group_tests_name("muscle_fit", tests, NULL, NULL);
}

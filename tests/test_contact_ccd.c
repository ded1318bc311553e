// Continuous tests: the public suite of hard queries, exact touching, truth by sampling, bad and degenerate input.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "base/number.h"
#include "base/simd.h"
#include "contact/ccd.h"
#include "math/svd_kernels.h"

#include <float.h>

typedef double Corners[4][3];
static const char *KIND_NAME[2] = {"vertex-triangle", "edge-edge"};

static double unit_random(uint64_t *counter) { return 2 * fai_random_unit(11, (*counter)++) - 1; }

static void at_time(const Corners p0, const Corners p1, double t, Corners p) {
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) p[i][k] = p0[i][k] + t * (p1[i][k] - p0[i][k]);
}

// n . (vertex - triangle) or n . (a - b), with the impact's weights
static double along(FaPairKind kind, const Corners p, const double bary[4], const double n[3]) {
    double sum = 0;
    for (int k = 0; k < 3; k++)
        sum += n[k] * (kind == FA_PAIR_VERTEX_TRIANGLE
                           ? p[0][k] - bary[0] * p[1][k] - bary[1] * p[2][k] - bary[2] * p[3][k]
                           : bary[0] * p[0][k] + bary[1] * p[1][k] - bary[2] * p[2][k] - bary[3] * p[3][k]);
    return sum;
}

// Do obvious directions show the pair apart? With AVX2 and without: both must say the same, in every place of four.
static bool shown_apart(FaPairKind kind, const Corners p0, const Corners p1, double gap) {
    double from[9][3] = {{0}}, to[9][3] = {{0}}, size = 0; // the other places hold a pair that is far apart
    int point[FA_CCD_LANES][4];
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) {
            from[i][k] = p0[i][k];
            to[i][k] = p1[i][k];
            from[4 + i][k] = to[4 + i][k] = kind == FA_PAIR_VERTEX_TRIANGLE ? i == 0 : i < 2;
            size = fmax(size, fmax(1, fmax(fabs(p0[i][k]), fabs(p1[i][k]))));
        }
    bool is = false;
    for (int at = 0; at < FA_CCD_LANES; at++) {
        for (int l = 0; l < FA_CCD_LANES; l++)
            for (int i = 0; i < 4; i++) point[l][i] = (l == at ? 0 : 4) + i;
        unsigned plain = fai_ccd_apart_many(false, kind, (const double(*)[3])from, (const double(*)[3])to,
                                            (const int(*)[4])point, gap, size);
        unsigned fast = fai_ccd_apart_many(fai_simd_wanted(), kind, (const double(*)[3])from, (const double(*)[3])to,
                                           (const int(*)[4])point, gap, size);
        assert_int_equal(plain, fast);
        assert_int_equal(plain | 1u << at, (1u << FA_CCD_LANES) - 1);
        if (at == 0) is = plain & 1;
        assert_int_equal(plain >> at & 1, is);
    }
    return is;
}

static void check_sane(FaPairKind kind, const FaImpact *hit) {
    assert_true(hit->t >= 0 && hit->t <= 1);
    CHECK_NEAR(hit->normal[0] * hit->normal[0] + hit->normal[1] * hit->normal[1] + hit->normal[2] * hit->normal[2], 1,
               1e-12);
    double a =
        kind == FA_PAIR_VERTEX_TRIANGLE ? hit->bary[0] + hit->bary[1] + hit->bary[2] : hit->bary[0] + hit->bary[1];
    CHECK_NEAR(a, 1, 1e-12);
    CHECK_NEAR(kind == FA_PAIR_VERTEX_TRIANGLE ? hit->bary[3] : hit->bary[2] + hit->bary[3], 1, 1e-12);
    for (int i = 0; i < 4; i++) assert_true(hit->bary[i] >= -1e-12 && hit->bary[i] <= 1 + 1e-12);
}

// --- the public suite ---------------------------------------------------------------------------------------------

typedef struct Tally {
    int queries, hits, missed, extra;
    int obvious; // shown apart by a few directions
    int apart;   // of the extra ones, further apart than 1e-9 at their time of impact: undecided, not a near miss
    double seconds, worst;
} Tally;

// A line of the file: three fractions and the truth.
static const char *read_row(const char *s, const char *end, double x[3], bool *truth) {
    double value[7];
    for (int i = 0; i < 7; i++) {
        s = fai_parse_double(s, end, &value[i]);
        if (!s) return NULL;
        if (s < end && (*s == ',' || *s == '\r')) s++;
    }
    while (s < end && (*s == '\n' || *s == '\r')) s++;
    for (int k = 0; k < 3; k++) x[k] = value[2 * k] / value[2 * k + 1];
    *truth = value[6] != 0;
    return s;
}

static void run_file(const char *path, FaPairKind kind, double gap, Tally *tally) {
    FaBytes bytes = {0};
    FaError err = {0};
    CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
    const char *s = (const char *)bytes.data, *end = s + bytes.size;
    while (s < end) {
        Corners p[2];
        bool truth = false;
        for (int r = 0; r < 8; r++) {
            s = read_row(s, end, p[r >> 2][r & 3], &truth);
            assert_non_null(s);
        }
        FaImpact hit;
        double start = fai_seconds();
        bool found = fai_ccd_pair(kind, p[0], p[1], gap, 1, &hit);
        double took = fai_seconds() - start;
        tally->seconds += took;
        tally->worst = FA_MAX(tally->worst, took);
        tally->queries++;
        tally->hits += truth;
        bool obvious = shown_apart(kind, (const double(*)[3])p[0], (const double(*)[3])p[1], gap);
        tally->missed += truth && (!found || obvious);
        tally->obvious += obvious;
        tally->extra += !truth && found;
        if (!found) continue;
        check_sane(kind, &hit);
        Corners now;
        double bary[4], n[3];
        at_time(p[0], p[1], hit.t, now);
        tally->apart += !truth && fai_pair_distance(kind, now, bary, n, NULL) > gap + 1e-9;
    }
    fai_bytes_free(&bytes);
}

static void run_suite(const char *root, double gap, Tally tally[2]) {
    char **file = test_list(root, ".csv");
    for (int i = 0; file[i]; i++) {
        FaPairKind kind = strstr(file[i], "edge-edge") ? FA_PAIR_EDGE_EDGE : FA_PAIR_VERTEX_TRIANGLE;
        run_file(file[i], kind, gap, &tally[kind]);
    }
    test_list_free(file);
}

static void test_public_suite(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(root, "suites/ccd-sample-queries");
    Tally tally[2] = {{0}}, wide[2] = {{0}};
    run_suite(root, 0, tally);
    run_suite(root, 1e-6, wide);
    int queries = 0, hits = 0, extra = 0;
    for (int k = 0; k < 2; k++) {
        print_message("%s: %d queries, %d hits, %d missed, %d extra, %d of them not within 1e-9 (gap 1e-6: %d missed, "
                      "%d extra), %d obviously apart, %.0f ns each, worst %.1f us\n",
                      KIND_NAME[k], tally[k].queries, tally[k].hits, tally[k].missed, tally[k].extra, tally[k].apart,
                      wide[k].missed, wide[k].extra, tally[k].obvious, 1e9 * tally[k].seconds / tally[k].queries,
                      1e6 * tally[k].worst);
        assert_int_equal(tally[k].missed, 0);
        assert_int_equal(wide[k].missed, 0);
        queries += tally[k].queries;
        hits += tally[k].hits;
        extra += tally[k].extra;
    }
    assert_int_equal(queries, 7279);
    assert_int_equal(hits, 435);
    assert_true(extra <= queries / 20); // saying yes to everything is no test
}

// --- truth by other means -----------------------------------------------------------------------------------------

// Numbers with few bits: sums, halves and these products are exact.
static double coarse(uint64_t *counter) { return floor(64 * unit_random(counter)) / 64; }

// Contact exactly at t = 1/2 at known weights, whatever the motion: crossing, grazing or rolling.
static void test_exact_contact(void **state) {
    (void)state;
    uint64_t counter = 0;
    int outside = 0;
    for (int trial = 0; trial < 40000; trial++) {
        FaPairKind kind = trial & 1;
        Corners half, move, p0, p1;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) {
                half[i][k] = coarse(&counter);
                move[i][k] = coarse(&counter);
            }
        // put corner 0 where the weights say; weights 0 and 1 too: edges and corners
        double b = floor(4.99 * fai_random_unit(12, counter)) / 4, c = floor(4.99 * fai_random_unit(13, counter)) / 4;
        if (kind == FA_PAIR_VERTEX_TRIANGLE && b + c > 1) c = 1 - b;
        for (int k = 0; k < 3; k++)
            if (kind == FA_PAIR_VERTEX_TRIANGLE) {
                half[0][k] = (1 - b - c) * half[1][k] + b * half[2][k] + c * half[3][k];
            } else { // a0 = the point on b, pushed back along a by as much as a1 is forward
                double q = (1 - c) * half[2][k] + c * half[3][k], e = half[1][k];
                half[0][k] = q - b * e;
                half[1][k] = q + (1 - b) * e;
            }
        if (trial % 5 == 0) // all of them in one plane
            for (int i = 0; i < 4; i++) half[i][2] = move[i][2] = 0;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) {
                p0[i][k] = half[i][k] - move[i][k];
                p1[i][k] = half[i][k] + move[i][k];
            }
        FaImpact hit;
        assert_true(fai_ccd_pair(kind, p0, p1, 0, 1, &hit));
        assert_false(shown_apart(kind, p0, p1, 0));
        assert_true(hit.t <= 0.5);
        check_sane(kind, &hit);
        Corners now;
        double bary[4], n[3];
        at_time(p0, p1, hit.t, now);
        outside += fai_pair_distance(kind, now, bary, n, NULL) > 1e-7;
    }
    assert_int_equal(outside, 0); // the time is that of a contact, not merely an early one
}

// Random motion, sampled: a sample within the gap must be found, and a path that stays clear must not.
static void test_sampled(void **state) {
    (void)state;
    enum { SAMPLES = 400 };
    uint64_t counter = 1u << 30;
    int yes = 0, no = 0, unclear = 0;
    for (int trial = 0; trial < 4000; trial++) {
        FaPairKind kind = trial & 1;
        Corners p0, p1;
        double gap = trial % 3 ? 1e-3 * (trial % 7) : 0, far = trial % 11 == 0 ? 100 : 0, speed = 0;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) {
                p0[i][k] = unit_random(&counter) + far;
                p1[i][k] = unit_random(&counter) + far;
            }
        for (int i = 0; i < 4; i++) {
            double d[3] = {p1[i][0] - p0[i][0], p1[i][1] - p0[i][1], p1[i][2] - p0[i][2]};
            speed = fmax(speed, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
        }
        double least = HUGE_VAL, first = 2;
        for (int s = 0; s <= SAMPLES; s++) {
            Corners p;
            double bary[4], n[3];
            at_time(p0, p1, (double)s / SAMPLES, p);
            double d = fai_pair_distance(kind, p, bary, n, NULL);
            if (d <= gap && first > 1) first = (double)s / SAMPLES;
            least = fmin(least, d);
        }
        FaImpact hit;
        bool found = fai_ccd_pair(kind, p0, p1, gap, 1, &hit);
        bool obvious = shown_apart(kind, p0, p1, gap);
        assert_false(found && obvious);
        if (first <= 1) {
            assert_true(found && hit.t <= first);
            yes++;
        } else if (least - speed / SAMPLES > gap + 1e-9) { // two primitives approach by 2 speed, for half a sample
            assert_false(found);
            no++;
        } else {
            unclear++;
        }
        if (!found) continue;
        // the time is that of a contact, the normal separates there and points to the side of the start
        Corners p;
        double bary[4], n[3];
        at_time(p0, p1, hit.t, p);
        CHECK_NEAR(fai_pair_distance(kind, p, bary, n, NULL), gap,
                   fai_pair_distance(kind, p0, bary, n, NULL) < gap ? gap : 1e-7 + 1.1e-3 * gap);
        assert_true(along(kind, p, hit.bary, hit.normal) > -1e-9);
    }
    print_message("sampled: %d meet, %d do not, %d between samples\n", yes, no, unclear);
    assert_true(yes > 100 && no > 1000);
}

// A vertex falls on a triangle: time, weights and normal are known; from either side.
static void test_plain_fall(void **state) {
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        Corners p0 = {{0.25, 0.25, side * 1.0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, p1;
        memcpy(p1, p0, sizeof p1);
        p1[0][2] = -side * 3.0;
        FaImpact hit;
        assert_true(fai_ccd_vertex_triangle(p0, p1, 0, &hit));
        CHECK_NEAR(hit.t, 0.25, 1e-12);
        CHECK_NEAR(hit.normal[2], side, 1e-15);
        CHECK_NEAR(hit.bary[0], 0.5, 1e-12);
        CHECK_NEAR(hit.bary[1], 0.25, 1e-12);
        assert_true(fai_ccd_vertex_triangle(p0, p1, 0.1, &hit));
        CHECK_NEAR(hit.t, 0.225, 1e-12);
        p1[0][2] = side * 0.101;
        assert_false(fai_ccd_vertex_triangle(p0, p1, 0.1, &hit));
        Corners e0 = {{-1, 0, side}, {1, 0, side}, {0, -1, 0}, {0, 1, 0}}, e1;
        memcpy(e1, e0, sizeof e1);
        e1[0][2] = e1[1][2] = -side;
        assert_true(fai_ccd_edge_edge(e0, e1, 0, &hit));
        CHECK_NEAR(hit.t, 0.5, 1e-12);
        CHECK_NEAR(hit.normal[2], side, 1e-15);
        for (int i = 0; i < 4; i++) CHECK_NEAR(hit.bary[i], 0.5, 1e-12);
    }
}

// Pairs that start within the gap may part and slide, but not meet.
static void test_starting_close(void **state) {
    (void)state;
    Corners p0 = {{0.25, 0.25, 1e-7}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, p1;
    FaImpact hit;
    memcpy(p1, p0, sizeof p1);
    assert_true(fai_ccd_pair(FA_PAIR_VERTEX_TRIANGLE, p0, p1, 1e-6, 1, &hit));
    assert_true(hit.t == 0);
    assert_false(fai_ccd_pair(FA_PAIR_VERTEX_TRIANGLE, p0, p1, 1e-6, 0.8, &hit));
    p1[0][0] = 0.5;
    assert_false(fai_ccd_pair(FA_PAIR_VERTEX_TRIANGLE, p0, p1, 1e-6, 0.8, &hit));
    p1[0][2] = 1;
    assert_false(fai_ccd_pair(FA_PAIR_VERTEX_TRIANGLE, p0, p1, 1e-6, 0.8, &hit));
    p1[0][2] = 0;
    assert_true(fai_ccd_pair(FA_PAIR_VERTEX_TRIANGLE, p0, p1, 1e-6, 0.8, &hit));
    assert_true(hit.t > 0.1 && hit.t < 0.2001);
}

// --- degenerate and bad -------------------------------------------------------------------------------------------

// Small integers: coincident points, zero-length edges, flat triangles, parallel and coplanar everything. Truth:
// samples at which the distance is exactly 0. Nothing hangs, everything is finite.
static void test_degenerate(void **state) {
    (void)state;
    uint64_t counter = 1ull << 40;
    int met = 0;
    double start = fai_seconds();
    for (int trial = 0; trial < 60000; trial++) {
        FaPairKind kind = trial & 1;
        Corners p0, p1;
        int range = 1 + trial % 3;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++) {
                p0[i][k] = floor((range + 0.99) * fai_random_unit(14, counter++)) / 4;
                p1[i][k] = trial % 4 == 0 ? p0[i][k] : floor((range + 0.99) * fai_random_unit(14, counter++)) / 4;
                if (trial % 3 == 0 && k == 2) p0[i][k] = p1[i][k] = 0;
            }
        FaImpact hit;
        bool found = fai_ccd_pair(kind, p0, p1, 0, 1, &hit);
        if (found) check_sane(kind, &hit);
        for (int s = 0; s <= 8; s++) {
            Corners p;
            double bary[4], n[3];
            at_time(p0, p1, s / 8.0, p);
            double d = fai_pair_distance(kind, p, bary, n, NULL);
            CHECK_NEAR(n[0] * n[0] + n[1] * n[1] + n[2] * n[2], 1, 1e-12);
            if (d != 0) continue;
            assert_true(found && hit.t <= s / 8.0);
            met++;
            break;
        }
        if (!found) continue;
        Corners p;
        double bary[4], n[3];
        at_time(p0, p1, hit.t, p);
        assert_true(fai_pair_distance(kind, p, bary, n, NULL) < 1e-4);
    }
    double each = (fai_seconds() - start) / 60000;
    print_message("degenerate: %d meet, %.2f us each with their checks\n", met, 1e6 * each);
    assert_true(met > 10000);
}

// Parallel sheets slide past each other at less than the gap's neighbourhood: no hit although the path is long.
static void test_sliding_clear(void **state) {
    (void)state;
    for (double height = 1e-3; height > 1e-13; height *= 0.1) {
        Corners p0 = {{-2, 0.2, height}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, p1;
        memcpy(p1, p0, sizeof p1);
        p1[0][0] = 2;
        FaImpact hit;
        assert_false(fai_ccd_vertex_triangle(p0, p1, 0.5 * height, &hit));
        assert_true(fai_ccd_vertex_triangle(p0, p1, 1.5 * height, &hit));
        Corners e0 = {{-2, 0, height}, {-1, 0, height}, {0, 0, 0}, {1, 0, 0}}, e1; // parallel edges
        memcpy(e1, e0, sizeof e1);
        e1[0][0] = 2, e1[1][0] = 3;
        assert_false(fai_ccd_edge_edge(e0, e1, 0.5 * height, &hit));
        assert_true(fai_ccd_edge_edge(e0, e1, 1.5 * height, &hit));
    }
}

static void test_bad_numbers(void **state) {
    (void)state;
    const double bad[] = {NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, 1e200};
    for (int b = 0; b < FA_COUNT(bad); b++)
        for (int at = 0; at < 24; at++)
            for (int kind = 0; kind < 2; kind++) {
                Corners p[2] = {{{0, 0, 5}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}},
                                {{0, 0, 6}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}};
                p[at / 12][at % 12 / 3][at % 3] = bad[b];
                FaImpact hit;
                assert_true(fai_ccd_pair(kind, p[0], p[1], 0, 1, &hit));
                assert_true(hit.t == 0);
                check_sane(kind, &hit);
            }
    Corners tiny = {{0, 0, 5e-324}, {0, 0, 0}, {5e-324, 0, 0}, {0, 5e-324, 0}};
    FaImpact hit;
    assert_true(fai_ccd_vertex_triangle(tiny, tiny, 0, &hit));
    check_sane(FA_PAIR_VERTEX_TRIANGLE, &hit);
    Corners zero = {{0}};
    assert_true(fai_ccd_edge_edge(zero, zero, 0, &hit));
    check_sane(FA_PAIR_EDGE_EDGE, &hit);
    assert_true(fai_ccd_edge_edge(zero, zero, NAN, &hit));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_suite),  cmocka_unit_test(test_exact_contact),  cmocka_unit_test(test_sampled),
        cmocka_unit_test(test_plain_fall),    cmocka_unit_test(test_starting_close), cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_sliding_clear), cmocka_unit_test(test_bad_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Landmarks on the shipped head: all found at every level, in the same place, mirrored, in anatomical order, and close
// to the tracker's own mean face where that is at hand.
#include "head/head_landmarks.h"
#include "math/procrustes.h"
#include "test_head_tools.h"

#include <stdio.h>

enum { MOST = 478 };

typedef struct Marks {
    FaMarkerPoint point[MOST];
    float weight[MOST];
    double x[MOST][3]; // m
    int count, found;
} Marks;

static void marks_at(const FaHead *head, FaLandmarkLayout layout, const float *x, Marks *m) {
    FaError err = {0};
    m->count = fai_landmark_count(layout), m->found = 0;
    CHECK_OK(fai_head_landmarks(head, layout, m->point, m->weight, &err), &err);
    for (int i = 0; i < m->count; i++) {
        const FaMarkerPoint *p = &m->point[i];
        assert_int_equal(p->vert[0] >= 0, m->weight[i] > 0);
        if (p->vert[0] < 0) continue;
        m->found++;
        assert_true(p->bary[0] >= 0 && p->bary[1] >= 0 && p->bary[2] >= 0);
        assert_true(fabs((double)p->bary[0] + p->bary[1] + p->bary[2] - 1) < 1e-6);
        for (int k = 0; k < 3; k++) assert_int_equal(p->vert[k], head->part[0].mesh.tri[3 * p->tri + k]);
        fa_marker_point_at(p, x ? x : head->part[0].mesh.x, true, m->x[i]);
    }
}

static double apart(const double a[3], const double b[3]) {
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

static void test_levels(void **state) {
    (void)state;
    static Marks m[3][3]; // layout, level
    static const int expect[3] = {68, 416, 426};
    for (int seed = 0; seed < 2; seed++) {
        for (int level = 0; level < 3; level++) {
            FaHead *head = head_at(level, (uint64_t)seed, false);
            for (int layout = 0; layout < 3; layout++) {
                marks_at(head, (FaLandmarkLayout)layout, NULL, &m[layout][level]);
                assert_int_equal(m[layout][level].found, expect[layout]);
            }
            fa_head_free(head);
        }
        for (int layout = 0; layout < 3; layout++) {
            double worst = 0;
            for (int i = 0; i < m[layout][0].count; i++)
                for (int l = 0; l < 2 && m[layout][0].weight[i] > 0; l++)
                    worst = fmax(worst, apart(m[layout][l].x[i], m[layout][2].x[i]));
            print_message("layout %d, person %d: levels differ by %.2f mm at most\n", layout, seed, 1e3 * worst);
            assert_true(worst < 1.5e-3);
        }
    }
}

// The mean face is symmetric, and so are its landmarks: 68 by the layout's own order.
static void test_mirror(void **state) {
    (void)state;
    static Marks m;
    FaHead *head = head_at(1, 0, false);
    marks_at(head, FA_LANDMARKS_68, NULL, &m);
    static const int other[68] = {16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0,
                                  26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 27, 28, 29, 30, 35, 34, 33,
                                  32, 31, 45, 44, 43, 42, 47, 46, 39, 38, 37, 36, 41, 40, 54, 53, 52,
                                  51, 50, 49, 48, 59, 58, 57, 56, 55, 64, 63, 62, 61, 60, 67, 66, 65};
    for (int i = 0; i < 68; i++) {
        double q[3] = {-m.x[other[i]][0], m.x[other[i]][1], m.x[other[i]][2]};
        assert_true(apart(m.x[i], q) < 2e-4);
        if (other[i] == i) assert_true(fabs(m.x[i][0]) < 1e-6);
    }
    // from ear to ear, and down the nose
    for (int i = 0; i < 16; i++) assert_true(m.x[i][0] < m.x[i + 1][0]);
    for (int i = 17; i < 26; i++) assert_true(m.x[i][0] < m.x[i + 1][0]);
    for (int i = 27; i < 30; i++) assert_true(m.x[i][1] > m.x[i + 1][1]);
    for (int i = 48; i < 54; i++) assert_true(m.x[i][0] < m.x[i + 1][0]);
    assert_true(m.x[62][1] > m.x[66][1]);
    fa_head_free(head);
}

// Points on lips and lids go where those go; the iris stays when the lids close.
static void test_follow(void **state) {
    (void)state;
    static Marks m, open;
    FaError err = {0};
    FaHead *head = head_at(1, 3, false);
    float *x = FA_NEW(3 * (size_t)head->part[0].mesh.nvert, float), w[FA_ARKIT_COUNT] = {0};
    assert_non_null(x);
    marks_at(head, FA_LANDMARKS_478, NULL, &m);
    int blink = 0, jaw = 17; // eyeBlinkLeft, jawOpen
    w[jaw] = 1, w[blink] = 1;
    CHECK_OK(fa_head_truth(head, 0, w, x, &err), &err);
    marks_at(head, FA_LANDMARKS_478, x, &open);
    double shut = apart(m.x[13], m.x[14]), gap = apart(open.x[13], open.x[14]);
    print_message("lips: %.2f mm shut, %.1f open; lids: %.1f mm open, %.2f shut\n", 1e3 * shut, 1e3 * gap,
                  1e3 * apart(m.x[386], m.x[374]), 1e3 * apart(open.x[386], open.x[374]));
    assert_true(shut < 4e-3 && gap > 20e-3);
    assert_true(apart(m.x[386], m.x[374]) > 8e-3 && apart(open.x[386], open.x[374]) < 2e-3);
    assert_true(apart(open.x[159], m.x[159]) < 1e-3); // the right lid
    for (int i = 468; i < 478; i++) assert_true(apart(m.x[i], open.x[i]) < 1e-4);
    assert_true(fabs(m.x[473][0] - head->eye[0][0]) < 1e-5 && fabs(m.x[468][0] - head->eye[1][0]) < 1e-5);
    assert_true(m.x[473][2] > head->eye[0][2] + head->eye_radius);
    assert_true(m.x[474][0] > m.x[476][0] && m.x[469][0] > m.x[471][0] && m.x[475][1] > m.x[477][1]);
    fa_free(x);
    fa_head_free(head);
}

static int read_vertices(const char *path, double (*x)[3], int most) {
    FILE *f = fopen(path, "r");
    int n = 0;
    char line[256];
    while (f && n < most && fgets(line, sizeof line, f))
        n += sscanf(line, "v %lf %lf %lf", &x[n][0], &x[n][1], &x[n][2]) == 3;
    if (f) fclose(f);
    return n;
}

// Against the tracker's canonical face: another person, so some mm are theirs, but a wrong index is centimetres off.
static void test_canonical(void **state) {
    (void)state;
    static double canon[MOST][3];
    static Marks m;
    TEST_DATA_OR_SKIP(path, "rigs/mediapipe/face_model_with_iris.obj");
    assert_int_equal(read_vertices(path, canon, MOST), 478);
    FaHead *head = head_at(1, 0, false);
    marks_at(head, FA_LANDMARKS_478, NULL, &m);
    double p[MOST * 3], q[MOST * 3];
    int n = 0;
    for (int i = 0; i < 478; i++) {
        if (m.weight[i] <= 0) continue;
        for (int k = 0; k < 3; k++) p[3 * n + k] = 0.01 * canon[i][k], q[3 * n + k] = m.x[i][k];
        n++;
    }
    FaAlign align = fai_align(n, p, q, NULL, true);
    assert_int_equal(align.kind, FA_ALIGN_FULL);
    double sum[5] = {0}, worst = 0;
    int num[5] = {0};
    n = 0;
    for (int i = 0; i < 478; i++) {
        if (m.weight[i] <= 0) continue;
        double at[3];
        fai_align_apply(&align, p + 3 * n++, at);
        double d = apart(at, m.x[i]);
        int kind = m.weight[i] > 0.9f    ? 0
                   : m.weight[i] > 0.4f  ? 1
                   : m.weight[i] > 0.15f ? 2
                   : m.weight[i] > 0.07f ? 3
                                         : 4;
        sum[kind] += d * d, num[kind]++, worst = fmax(worst, d);
    }
    static const char *const what[5] = {"features", "soft borders", "plain skin", "silhouette", "irises"};
    for (int k = 0; k < 5; k++) {
        double rms = sqrt(sum[k] / num[k]);
        print_message("%-12s %3d points, %.2f mm rms from the canonical face\n", what[k], num[k], 1e3 * rms);
        assert_true(rms < (k == 3 ? 6e-3 : 4e-3));
    }
    assert_true(worst < 9e-3);
    fa_head_free(head);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_mirror),
                                       cmocka_unit_test(test_follow), cmocka_unit_test(test_canonical)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

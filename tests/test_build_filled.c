// Filled flesh of a ball with a hole: sound, the same for any number of threads, exact at rest, memory that fails.
// Heads and rigs of strangers: test_build_filled_rigs.c.
// labels: unit hash
#include "test_face_made.h"

#include "build/filled.h"
#include "face/tetra.h"

enum { RINGS = 12, AROUND = 24 };

// Radius 60 mm, open below; the shape moves its front.
static FaFace *ball_face(FaRig **rig) {
    const double pi = 3.14159265358979323846, r = 0.06;
    Made m = {0};
    FaError err = {0};
    FaFace *face = NULL;
    int top = made_vert(&m, 0, r, 0, 0, 0, 0);
    for (int j = 1; j < RINGS; j++)
        for (int i = 0; i < AROUND; i++) {
            double a = pi * j / (RINGS + 3), b = 2 * pi * i / AROUND;
            double x = r * sin(a) * sin(b), y = r * cos(a), z = r * sin(a) * cos(b);
            made_vert(&m, x, y, z, 0, z > 0.4 * r ? 0.005 : 0, 0);
        }
    for (int i = 0; i < AROUND; i++) {
        made_tri(&m, top, 1 + i, 1 + (i + 1) % AROUND);
        for (int j = 0; j < RINGS - 2; j++) {
            int a = 1 + j * AROUND + i, b = 1 + j * AROUND + (i + 1) % AROUND;
            made_quad(&m, a, a + AROUND, b + AROUND, b);
        }
    }
    *rig = made_rig(&m);
    made_free(&m);
    const FaFaceOptions o = {.whole = true, .no_bones = true, .thickness = 12e-3};
    CHECK_OK(fa_face_build(*rig, &o, &face, &err), &err);
    return face;
}

static const FaFilledOptions coarse = {.mouth = 9e-3};

static FaFilled fill(const FaRig *rig, const FaFace *face) {
    FaError err = {0};
    FaFilled f;
    CHECK_OK(fai_filled_build(rig, face, &coarse, &f, &err), &err);
    CHECK_OK(fai_filled_check(&f, &err), &err);
    return f;
}

static void ball(void **state) {
    (void)state;
    FaRig *rig;
    FaFace *face = ball_face(&rig);
    FaFilled f = fill(rig, face);
    const FaFilledReport *r = &f.report;
    print_message("%d nodes, %d free, %d tets, worst %.3f, mean %.3f, %d lost, %.0f cm3, %.2f s\n", r->nodes, r->free,
                  r->tets, r->worst, r->mean, r->lost, r->volume * 1e6, r->seconds);
    assert_true(r->inverted == 0 && r->worst > 0.02 && r->mean > 0.5 && r->pieces == 1);
    assert_true(r->skull > 0 && r->jaw == 0 && !r->bones && !r->lips);
    assert_int_equal(r->free + r->skull + r->jaw, f.nnode);
    FaNotes notes = {0};
    fai_filled_notes(&f, &notes);
    assert_non_null(fai_note_find(&notes, "flesh-bones-guessed"));
    assert_non_null(fai_note_find(&notes, "flesh-lips-unknown"));
    fai_notes_free(&notes);
    // a shell as deep as asked: held nodes lie there, or at the cut
    double whole = 4.0 / 3 * 3.14159 * pow(0.06, 3), shell = whole - 4.0 / 3 * 3.14159 * pow(0.048, 3);
    assert_true(r->volume > 0.4 * shell && r->volume < 1.1 * shell);
    for (int i = 0; i < f.nnode; i++) {
        double d = sqrt(pow((double)f.x[3 * i], 2) + pow((double)f.x[3 * i + 1], 2) + pow((double)f.x[3 * i + 2], 2));
        assert_true(d < 0.0601);
        if (f.kind[i] == FA_FILLED_SKULL && f.skin_of_node[i] < 0 && f.x[3 * i + 1] > -0.02f)
            CHECK_NEAR(d, 0.048, 2e-3);
        int s = f.skin_of_node[i];
        if (s >= 0) assert_memory_equal(f.x + 3 * i, face->x0 + 3 * s, 12);
    }
    fai_filled_free(&f);
    fa_face_free(face);
    fa_rig_free(rig);
}

// Nothing moves: not a bit. All nodes moved: all vertices by as much; one node moved: its own vertex by as much,
// where the skin is as coarse as the flesh.
static void rides(void **state) {
    (void)state;
    FaRig *rig;
    FaFace *face = ball_face(&rig);
    FaFilled f = fill(rig, face);
    const size_t n = 3 * (size_t)rig->mesh.nvert, m = 3 * (size_t)f.nnode;
    float *x = malloc(n * sizeof(float)), *node = malloc(m * sizeof(float));
    assert_true(x && node);
    memcpy(x, rig->mesh.x, n * sizeof(float));
    fai_filled_ride(&f, f.x, x);
    assert_memory_equal(x, rig->mesh.x, n * sizeof(float));
    for (size_t i = 0; i < m; i++) node[i] = f.x[i] + 0.01f;
    fai_filled_ride(&f, node, x);
    for (int v = 0; v < rig->mesh.nvert; v++) {
        bool follows = f.ride_start[v + 1] > f.ride_start[v]; // the edge of the hole may not
        assert_true(follows || face->rim[face->node_of_vertex[v]]);
        for (int k = 0; k < 3; k++)
            CHECK_NEAR((double)x[3 * v + k], (double)rig->mesh.x[3 * v + k] + (follows ? 0.01 : 0), 1e-6);
    }
    int s = f.skin_of_node[0], moved = 0;
    memcpy(x, rig->mesh.x, n * sizeof(float));
    memcpy(node, f.x, m * sizeof(float));
    node[0] += 0.003f;
    fai_filled_ride(&f, node, x);
    CHECK_NEAR((double)x[3 * face->skin_vertex[s]], (double)rig->mesh.x[3 * face->skin_vertex[s]] + 0.003, 1e-7);
    for (size_t i = 0; i < n; i++) moved += memcmp(&x[i], &rig->mesh.x[i], 4) != 0;
    assert_true(moved >= 1 && moved <= 1 + f.report.lost);
    free(x);
    free(node);
    fai_filled_free(&f);
    fa_face_free(face);
    fa_rig_free(rig);
}

// Skin that is finer than the lattice does not show what single nodes do, and follows what all do; skin as coarse as
// the lattice follows its nodes (above).
static void fine_skin(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig;
    FaFilled f;
    FaFace *face = ball_face(&rig);
    const FaFilledOptions wide = {.mouth = 25e-3};
    CHECK_OK(fai_filled_build(rig, face, &wide, &f, &err), &err);
    const size_t n = 3 * (size_t)rig->mesh.nvert, m = 3 * (size_t)f.nnode;
    float *x = malloc(n * sizeof(float)), *node = malloc(m * sizeof(float));
    assert_true(x && node);
    double noise = 0, seen = 0;
    int count = 0;
    memcpy(x, rig->mesh.x, n * sizeof(float));
    for (size_t i = 0; i < m; i++)
        node[i] = f.x[i] + (i % 3 == 1 ? 0.01f : 0) + 1e-3f * (float)(2 * fai_random_unit(5, i) - 1);
    fai_filled_ride(&f, node, x);
    for (int v = 0; v < rig->mesh.nvert; v++) {
        int at = f.node_of_skin[face->node_of_vertex[v]];
        if (at < 0 || f.ride_start[v + 1] - f.ride_start[v] < 5) continue;
        double moved = (double)(x[3 * v + 1] - rig->mesh.x[3 * v + 1]) - 0.01,
               alone = (double)(node[3 * at + 1] - f.x[3 * at + 1]) - 0.01;
        seen += moved * moved, noise += alone * alone, count++;
    }
    print_message("fine skin: %d vertices, %.2f mm of %.2f are seen\n", count, 1e3 * sqrt(seen / count),
                  1e3 * sqrt(noise / count));
    assert_true(count > 20 && seen < 0.3 * noise);
    free(x);
    free(node);
    fai_filled_free(&f);
    fa_face_free(face);
    fa_rig_free(rig);
}

static void same_bits(void **state) {
    (void)state;
    FaRig *rig;
    FaFace *face = ball_face(&rig);
    FaFilled first = {0};
    for (int threads = 1; threads < 9; threads *= 2) {
        fa_threads_set(threads);
        FaFilled f = fill(rig, face);
        if (threads > 1) {
            assert_int_equal(f.nnode, first.nnode);
            assert_int_equal(f.ntet, first.ntet);
            assert_memory_equal(f.x, first.x, 12 * (size_t)f.nnode);
            assert_memory_equal(f.tet, first.tet, 16 * (size_t)f.ntet);
            assert_memory_equal(f.kind, first.kind, (size_t)f.nnode);
            assert_memory_equal(f.ride_weight, first.ride_weight, 4 * (size_t)f.ride_start[f.nvert]);
            fai_filled_free(&f);
        } else
            first = f;
    }
    fa_threads_set(0);
    fai_filled_free(&first);
    fa_face_free(face);
    fa_rig_free(rig);
}

static void memory_fails(void **state) {
    (void)state;
    FaRig *rig;
    FaFace *face = ball_face(&rig);
    const FaFilledOptions sparse = {.mouth = 25e-3};
    long before = test_alloc_balance(), failures = 0;
    for (long k = 1;; k++) {
        FaError err = {0};
        FaFilled f;
        test_fail_alloc(k);
        FaCode rc = fai_filled_build(rig, face, &sparse, &f, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        fai_filled_free(&f);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) break;
        assert_int_equal(rc, FA_E_MEMORY);
        failures++;
    }
    assert_true(failures > 20);
    FaError err = {0};
    FaFilled f;
    assert_int_equal(fai_filled_build(rig, face, &(FaFilledOptions){.size = -1}, &f, &err), FA_E_ARG);
    assert_int_equal(fai_filled_build(rig, face, &(FaFilledOptions){.mouth = NAN}, &f, &err), FA_E_ARG);
    fa_face_free(face);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ball), cmocka_unit_test(rides), cmocka_unit_test(fine_skin),
                                       cmocka_unit_test(same_bits), cmocka_unit_test(memory_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

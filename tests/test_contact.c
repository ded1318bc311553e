// Contact: nothing crosses whatever the motion, rows say what the equations say, colliders, friction, limits, speed.
// labels: unit hash
#include "test_contact_shapes.h"

#include "contact/contact_work.h"

#include <float.h>

static const FaContactOptions PLAIN = {.stiffness = 1e3, .seed = 7};
static const double H = 1.0 / 60;

static double noise(uint64_t seed, uint64_t i) { return 2 * fai_random_unit(seed, i) - 1; }

// --- nearby -------------------------------------------------------------------------------------------------------

// What rows push each node with at x (displacements from the rest positions m->x), and the stiffness that each vertex
// has in all.
static void nearby_force(const FaContact *c, const FaMesh *m, const float *x, double *force, double *stiffness) {
    int n;
    const FaRow *row = fai_contact_rows(c, &n);
    memset(force, 0, 3 * (size_t)m->nvert * sizeof *force);
    memset(stiffness, 0, (size_t)m->nvert * sizeof *stiffness);
    for (int i = 0; i < n; i++) {
        double depth = (double)row[i].gap;
        for (int k = 0; k < 3; k++) {
            double s = (double)row[i].offset[k];
            for (int j = 0; j < 4; j++) {
                int at = 3 * row[i].node[j] + k;
                s += (double)row[i].weight[j] * (double)(x[at] - m->x[at]);
            }
            depth -= (double)row[i].normal[k] * s;
        }
        stiffness[row[i].node[0]] += (double)row[i].stiffness;
        double push =
            depth > 0 ? (double)row[i].stiffness * depth * depth / (2 * (double)row[i].soft) : 0; // depth < soft
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 3; k++)
                force[3 * row[i].node[j] + k] += push * (double)(row[i].weight[j] * row[i].normal[k]);
    }
}

// Rows of surfaces that lie on each other: shares of one per vertex, pushing apart from both sides, and without a jump
// as one surface slides over the other.
static void test_nearby(void **state) {
    (void)state;
    FaMesh m = shape_lips(12, 0.03, 7e-4, 2e-4);
    FaContactOptions o = PLAIN;
    o.nearby = 1.5e-3;
    o.soft = 2e-4;
    FaContact *c = contact_of(&m, &o, 0, NULL);
    float *x = copy(&m, m.x);
    size_t n = 3 * (size_t)m.nvert;
    double *was = FA_PUSH(arena, n, double), *now = FA_PUSH(arena, n, double), *stiff = FA_PUSH(arena, m.nvert, double);
    double most = 0, jump = 0, apart = 0, sum = 0;
    fai_contact_begin(c, H, x, NULL);
    assert_true(fai_contact_nearby(c, x) > m.nvert);
    nearby_force(c, &m, x, now, stiff);
    for (int i = 0; i < m.nvert; i++) assert_true(stiff[i] <= 1.001 * PLAIN.stiffness);
    for (size_t i = 0; i < n; i++) assert_true(now[i] == 0); // 0.7 mm apart
    for (int step = 0; step < 400; step++) {                 // the upper one 0.8 mm lower: through; then 4 mm along
        for (int v = 0; v < m.nvert; v++) {
            bool upper = v >= m.nvert / 2;
            x[3 * v] = m.x[3 * v] + (upper ? 1e-5f * (float)step : 0);
            x[3 * v + 2] = m.x[3 * v + 2] - (upper ? 8e-4f : 0);
        }
        fai_contact_begin(c, H, x, NULL);
        fai_contact_nearby(c, x);
        nearby_force(c, &m, x, now, stiff);
        for (int v = 0; v < m.nvert; v++) {
            sum += now[3 * v + 2];
            apart += (v >= m.nvert / 2 ? 1 : -1) * now[3 * v + 2];
            assert_true(stiff[v] <= 1.001 * PLAIN.stiffness);
        }
        for (size_t i = 0; i < n; i++) {
            most = fmax(most, fabs(now[i]));
            if (step > 0) jump = fmax(jump, fabs(now[i] - was[i]));
        }
        memcpy(was, now, n * sizeof *was);
    }
    print_message("nearby: at most %.3g N at a node, %.2g of it more or less in 0.01 mm\n", most, jump / most);
    assert_true(most > 0.01 && apart > 0 && fabs(sum) < 1e-5 * apart && jump < 0.05 * most);
    fai_contact_free(c);
}

// --- stress -------------------------------------------------------------------------------------------------------

typedef struct Tally {
    int frames, would_cross, stopped, crossed, limited, worst_rounds, stuck;
    double seconds; // in limit
} Tally;

// One frame towards x_to, without any solver: limit alone must hold.
static void stress_frame(FaContact *c, const FaMesh *m, float *x, float *to, Tally *tally) {
    tally->frames++;
    tally->would_cross += crossings(m, to) > 0;
    fai_contact_begin(c, H, x, NULL);
    double start = fai_seconds();
    tally->stopped += fai_contact_limit(c, x, to) > 0;
    tally->seconds += fai_seconds() - start;
    FaContactStats s = fai_contact_stats(c);
    tally->limited += s.limited;
    tally->stuck += s.stuck;
    tally->worst_rounds = FA_MAX(tally->worst_rounds, s.rounds);
    int count = crossings(m, to);
    if (count) print_message("frame %d: %d crossing pairs, %d rounds\n", tally->frames, count, s.rounds);
    tally->crossed += count;
    memcpy(x, to, 3 * (size_t)m->nvert * sizeof *x);
}

static void report(const char *name, const Tally *t) {
    print_message("%s: %d frames, %d would end crossed, %d were stopped (%d nodes), at most %d rounds, %.1f ms each; "
                  "%d crossing pairs\n",
                  name, t->frames, t->would_cross, t->stopped, t->limited, t->worst_rounds,
                  1e3 * t->seconds / t->frames, t->crossed);
    assert_int_equal(t->crossed, 0);
    assert_int_equal(t->stuck, 0);
    assert_true(t->would_cross > 0 && t->stopped >= t->frames / 8); // or the scene tests nothing
}

// Two wavy sheets pushed through each other: smooth, noisy, with jumps of 30 mm and with spikes.
static void test_sheets(void **state) {
    (void)state;
    for (int scene = 0; scene < 5; scene++) {
        FaMesh m = shape_lips(12, 0.03, 1e-3, 5e-4);
        FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
        float *x = copy(&m, m.x), *to = copy(&m, m.x);
        Tally tally = {0};
        uint64_t seed = 100 + (uint64_t)scene;
        for (int f = 0; f < (scene == 4 ? 3 : scene == 3 ? 25 : 40); f++) {
            for (int v = 0; v < m.nvert; v++)
                for (int k = 0; k < 3; k++) {
                    bool upper = v >= m.nvert / 2;
                    uint64_t at = (uint64_t)(f * m.nvert + v) * 3 + (uint64_t)k;
                    double d = 0, rest = m.x[3 * (size_t)v + k];
                    double way = (f % 20 < 12 ? -1 : 1) * (upper ? 1 : -1) * (k == 2);
                    if (scene == 0) d = 4e-4 * way;
                    if (scene == 1) d = 4e-4 * way + 3e-4 * noise(seed, at);
                    if (scene == 2)
                        d = f % 3 == 0 ? 0.03 * (f % 2 ? -way : way) + 3e-3 * noise(seed, (uint64_t)(3 * f + k)) * upper
                                       : 0.2 * (rest - x[3 * (size_t)v + k]);
                    if (scene == 3)
                        d = fai_random_unit(seed, at / 3) < 0.02 ? 0.02 * noise(seed, at)
                                                                 : 0.1 * (rest - x[3 * (size_t)v + k]);
                    if (scene == 4) d = 5e-3 * noise(seed, at);
                    to[3 * (size_t)v + k] = (float)(x[3 * (size_t)v + k] + d);
                }
            stress_frame(c, &m, x, to, &tally);
        }
        report((const char *[]){"pressed", "noisy", "jumps", "spikes", "wild"}[scene], &tally);
        fai_contact_free(c);
    }
}

// A strip folds over itself like cloth, and rolls up: each node wants to be where the fold has it.
static void test_folds(void **state) {
    (void)state;
    for (int scene = 0; scene < 2; scene++) {
        FaMesh m = shape_strip(40, 0.06);
        FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
        float *x = copy(&m, m.x), *to = copy(&m, m.x);
        Tally tally = {0};
        for (int f = 0; f < (scene ? 24 : 16); f++) { // the fold is closed at 14
            double turn = 0.3 * f;
            for (int v = 0; v < m.nvert; v++) {
                double s = m.x[3 * (size_t)v], y = m.x[3 * (size_t)v + 1], px, pz;
                if (scene == 0) { // zigzag: three panels that close past each other
                    double a = fmin(turn, 4), panel = 0.02, angle[3] = {0, a, -0.3 * a};
                    px = pz = 0;
                    for (int i = 0; i < 3; i++) {
                        double part = fmin(fmax(s - i * panel, 0), panel);
                        px += part * cos(angle[i]);
                        pz += part * sin(angle[i]);
                    }
                } else { // a circle of shrinking radius, through itself
                    double radius = 0.06 / (0.01 + 1.5 * turn);
                    px = radius * sin(s / radius);
                    pz = radius * (1 - cos(s / radius));
                }
                to[3 * (size_t)v] = (float)px;
                to[3 * (size_t)v + 1] = (float)(y + 1e-4 * noise(5, (uint64_t)(f * m.nvert + v)));
                to[3 * (size_t)v + 2] = (float)pz;
            }
            stress_frame(c, &m, x, to, &tally);
        }
        report(scene ? "rolled" : "folded", &tally);
        fai_contact_free(c);
    }
}

// --- rows ---------------------------------------------------------------------------------------------------------

// A vertex above a triangle, and a crossing pair of edges: nodes 0 1 2 the floor, 3 4 5 a triangle above it.
static FaMesh two_triangles(const float x[18]) {
    static int tri[6] = {0, 1, 2, 3, 4, 5};
    FaMesh m = {.nvert = 6, .ntri = 2, .tri = tri};
    m.x = FA_PUSH(arena, 18, float);
    memcpy(m.x, x, 18 * sizeof *x);
    return m;
}

// What every row must be: weights sum to 0, s(u) is the difference of the two places, the normal is unit.
static void check_row(const FaRow *r, const FaMesh *m, const float *x, double free) {
    double sum = free, n2 = 0, s[3], want[3] = {0};
    for (int i = 0; i < 4; i++) {
        sum += (double)r->weight[i];
        for (int k = 0; k < 3 && r->node[i] >= 0; k++) want[k] += (double)r->weight[i] * x[3 * (size_t)r->node[i] + k];
    }
    CHECK_NEAR(sum, 0, 1e-6);
    row_value(r, m->x, x, s);
    for (int k = 0; k < 3; k++) {
        n2 += (double)r->normal[k] * r->normal[k];
        if (free == 0) CHECK_NEAR(s[k], want[k], 1e-8);
    }
    if (r->kind == FA_ROW_PUSH) CHECK_NEAR(n2, 1, 1e-6);
}

static void test_vertex_row(void **state) {
    (void)state;
    for (int side = -1; side <= 1; side += 2) {
        float h = (float)(side * 2e-3);
        FaMesh m = two_triangles(
            (float[]){0, 0, 0, 0.01f, 0, 0, 0, 0.01f, 0, 0.002f, 0.003f, h, 0.05f, 0, 40 * h, 0, 0.05f, 40 * h});
        FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
        float *to = copy(&m, m.x);
        to[11] = -5 * h; // right through
        fai_contact_begin(c, H, m.x, NULL);
        assert_int_equal(fai_contact_collect(c, m.x, m.x), 0);
        assert_true(fai_contact_collect(c, m.x, to) >= 1);
        int n, vertex = -1;
        const FaRow *row = fai_contact_rows(c, &n);
        for (int r = 0; r < n; r++) {
            check_row(&row[r], &m, to, 0);
            if (row[r].weight[0] == 1) vertex = r;
        }
        assert_true(vertex >= 0);
        const FaRow *r = &row[vertex];
        assert_int_equal(r->node[0], 3);
        CHECK_NEAR(r->weight[1], -0.5, 1e-3);
        CHECK_NEAR(r->weight[2], -0.2, 1e-3);
        CHECK_NEAR(r->weight[3], -0.3, 1e-3);
        CHECK_NEAR(r->normal[2], side, 1e-6); // the side it came from, not where it is now
        double s[3];
        row_value(r, m.x, to, s);
        CHECK_NEAR(s[2], -5 * h, 1e-6);
        assert_true(r->kind == FA_ROW_PUSH && r->gap == 1e-5f && r->stiffness == 1e3f);
        // the same pair again is not new, and is brought up to date
        assert_int_equal(fai_contact_collect(c, m.x, to), 0);
        to[9] += 0.001f;
        fai_contact_collect(c, m.x, to);
        row = fai_contact_rows(c, &n);
        CHECK_NEAR(row[vertex].weight[2], -0.2 - 0.1 / 6, 1e-3); // a sixth of the way
        // a new frame has none
        fai_contact_begin(c, H, m.x, NULL);
        fai_contact_rows(c, &n);
        assert_int_equal(n, 0);
        fai_contact_free(c);
    }
}

static void test_edge_row(void **state) {
    (void)state;
    // floor's edge 0 1 along x; the upper triangle's edge 3 4 along y crosses it, both triangles stand upright
    FaMesh m = two_triangles((float[]){0, 0, 0, 0.01f, 0, 0, 0.005f, 0, -0.01f, 0.004f, -0.005f, 1e-3f, 0.004f, 0.005f,
                                       1e-3f, 0.004f, 0, 0.01f});
    FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
    float *to = copy(&m, m.x);
    for (int v = 3; v < 6; v++) to[3 * v + 2] -= 2e-3f;
    fai_contact_begin(c, H, m.x, NULL);
    assert_int_equal(fai_contact_collect(c, m.x, to), 1);
    int n;
    const FaRow *r = fai_contact_rows(c, &n);
    check_row(r, &m, to, 0);
    double s[3];
    row_value(r, m.x, to, s);
    CHECK_NEAR(fabs(r->normal[2]), 1, 1e-6);
    CHECK_NEAR(s[2] * r->normal[2], -1e-3, 1e-6); // crossed by a millimetre
    row_value(r, m.x, m.x, s);
    CHECK_NEAR(s[2] * r->normal[2], 1e-3, 1e-6);
    obey_rows(r, n, m.x, to, 1, 0);
    row_value(r, m.x, to, s);
    CHECK_NEAR(s[2] * r->normal[2], 1e-5, 1e-7);
    assert_int_equal(crossings(&m, to), 0);
    fai_contact_free(c);
}

// Lips that press on each other: rows, solve, again; the rows stay from frame to frame and limit has next to nothing to
// do.
static void test_press(void **state) {
    (void)state;
    FaMesh m = shape_lips(12, 0.03, 3e-4, 3e-4);
    FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
    float *x = copy(&m, m.x), *to = copy(&m, m.x), *wish = copy(&m, m.x);
    int last = 0, least = 1 << 30, per = m.nvert / 2;
    double granted = 0;
    for (int f = 0; f < 20; f++) {
        for (int v = 0; v < m.nvert; v++) // each sheet wants to be 1 mm inside the other, and slides
            for (int k = 0; k < 3; k++)
                wish[3 * v + k] = (float)(m.x[3 * v + k] + (v >= per ? -1 : 1) * (k == 2   ? fmin(1e-4 * f, 1e-3)
                                                                                  : k == 0 ? 5e-5 * f
                                                                                           : 0));
        memcpy(to, wish, 3 * (size_t)m.nvert * sizeof *to);
        fai_contact_begin(c, H, x, NULL);
        int n = 0;
        const FaRow *row = NULL;
        for (int k = 0; k < 4 && fai_contact_collect(c, x, to) > 0; k++) {
            memcpy(to, wish, 3 * (size_t)m.nvert * sizeof *to);
            row = fai_contact_rows(c, &n);
            obey_rows(row, n, m.x, to, 60, 0);
        }
        fai_contact_limit(c, x, to);
        assert_int_equal(crossings(&m, to), 0);
        if (f >= 8) least = FA_MIN(least, n);
        last = n;
        granted = 0;
        for (int v = 0; v < m.nvert; v++) granted += fabs(to[3 * v] - m.x[3 * v]) / m.nvert;
        memcpy(x, to, 3 * (size_t)m.nvert * sizeof *x);
    }
    double share = granted / (5e-5 * 19);
    print_message("press: %d rows, at least %d while pressed; sliding granted: %.2f\n", last, least, share);
    assert_true(least > 100);
    assert_true(share > 0.8); // pressed lips are not frozen
    fai_contact_free(c);
}

// --- what is left out ---------------------------------------------------------------------------------------------

static void test_crossed_at_rest(void **state) {
    (void)state;
    // the second triangle stands through the first
    FaMesh m = two_triangles((float[]){0, 0, 0, 0.01f, 0, 0, 0, 0.01f, 0, 0.002f, 0.002f, -0.003f, 0.003f, 0.002f,
                                       0.003f, 0.002f, 0.003f, 0.003f});
    assert_int_equal(crossings(&m, NULL), 1);
    FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
    assert_int_equal(fai_contact_stats(c).crossed_at_rest, 1);
    float *to = copy(&m, m.x);
    for (int v = 3; v < 6; v++) to[3 * v + 2] += 0.004f;
    fai_contact_begin(c, H, m.x, NULL);
    assert_int_equal(fai_contact_collect(c, m.x, to), 0);
    assert_int_equal(fai_contact_limit(c, m.x, to), 0);
    fai_contact_free(c);
    // touching: a vertex inside the other's face, parted a little to its own side
    FaMesh t = two_triangles((float[]){0, 0, 0, 0.01f, 0, 0, 0, 0.01f, 0, 0.002f, 0.002f, 0, 0.003f, 0.002f, 0.003f,
                                       0.002f, 0.003f, 0.003f});
    c = contact_of(&t, &PLAIN, 0, NULL);
    assert_int_equal(fai_contact_stats(c).crossed_at_rest, 0);
    assert_int_equal(fai_contact_stats(c).touching_at_rest, 0);
    float *parted = copy(&t, t.x);
    assert_true(fai_contact_part(c, parted) >= 1);
    to = copy(&t, parted);
    to[11] = 1e-3f;
    fai_contact_begin(c, H, parted, NULL);
    assert_int_equal(fai_contact_limit(c, parted, to), 0); // free to leave
    fai_contact_free(c);
}

// A surface that goes by metres in a step, each point its own way: everything meets everything. The work stays bounded:
// it is held where it is, which is said; an ordinary step after it is made.
static void test_wild(void **state) {
    (void)state;
    FaMesh m = shape_lips(40, 0.02, 1e-3, 2e-4);
    FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
    float *to = copy(&m, m.x);
    for (int i = 0; i < 3 * m.nvert; i++) to[i] += (float)((i * 7919) % 13 - 6);
    fai_contact_begin(c, H, m.x, NULL);
    fai_contact_collect(c, m.x, to);
    FaContactStats s = fai_contact_stats(c);
    print_message("wild: %d pairs of %d triangles tested\n", s.candidates, m.ntri);
    assert_true(s.candidates <= 64 * m.ntri);
    assert_int_equal(fai_contact_limit(c, m.x, to), m.nvert);
    assert_true(fai_contact_stats(c).held && fai_contact_stats(c).rounds == 1 && !fai_contact_clear(c));
    assert_memory_equal(to, m.x, 3 * (size_t)m.nvert * sizeof *to);
    memcpy(to, m.x, 3 * (size_t)m.nvert * sizeof *to);
    for (int v = 0; v < m.nvert / 2; v++) to[3 * v + 2] += 2e-3f; // the lower through the upper one
    fai_contact_begin(c, H, m.x, NULL);
    assert_true(fai_contact_limit(c, m.x, to) > 0 && !fai_contact_stats(c).held);
    assert_int_equal(crossings(&m, to), 0);
    fai_contact_free(c);
}

// Noise that is not wild enough for that, step after step: searches cost what is saved, then what a step adds. What is
// held then is said; lips that calm down are held apart by contact again. A state that is loaded goes on alike.
static void test_noise(void **state) {
    enum { STEPS = 400, CALM = 60 };
    (void)state;
    FaMesh m = shape_lips(12, 0.02, 1e-3, 2e-4);
    FaContact *c = contact_of(&m, &PLAIN, 0, NULL), *again = contact_of(&m, &PLAIN, 0, NULL);
    float *to = copy(&m, m.x), *other = copy(&m, m.x);
    void *kept = calloc(1, fai_contact_state_size(c));
    long tests = 0, held = 0, free_tests = 0;
    for (int s = 0; s < STEPS; s++) {
        for (int i = 0; i < 3 * m.nvert; i++)
            to[i] = other[i] = m.x[i] + 4e-3f * (float)(((i + s) * 7919) % 13 - 6) / 6;
        fai_contact_save(c, kept);
        for (int k = 0; k < 2; k++) {
            FaContact *one = k ? again : c;
            if (k && s % 50 != 25) continue;
            if (k) assert_int_equal(fai_contact_load(one, kept, NULL), FA_OK);
            fai_contact_begin(one, H, m.x, NULL);
            fai_contact_collect(one, m.x, k ? other : to);
            fai_contact_limit(one, m.x, k ? other : to);
        }
        tests += fai_contact_stats(c).candidates;
        if (s == 0) free_tests = fai_contact_stats(c).candidates;
        held += fai_contact_stats(c).held;
        if (s % 50 == 25) assert_memory_equal(to, other, 3 * (size_t)m.nvert * sizeof *to);
        assert_int_equal(crossings(&m, to), 0);
    }
    print_message("noise: %ld pairs tested per step, %ld in the first, %ld of %d steps held\n", tests / STEPS,
                  free_tests, held, STEPS);
    assert_true(held > STEPS / 2 && tests < (long)STEPS / 3 * free_tests);
    for (int s = 0; s < CALM; s++) fai_contact_begin(c, H, m.x, NULL);
    memcpy(to, m.x, 3 * (size_t)m.nvert * sizeof *to);
    for (int v = 0; v < m.nvert / 2; v++) to[3 * v + 2] += 2e-3f; // the lower through the upper one
    assert_true(fai_contact_limit(c, m.x, to) > 0 && !fai_contact_stats(c).held);
    free(kept);
    fai_contact_free(again);
    fai_contact_free(c);
}

// Lips at a distance of exactly nothing, corner on corner: they are parted before all begins, each to its own side, and
// never cross. A seam at the same place, whose sides look the same way, stays one.
static void test_touching_at_rest(void **state) {
    (void)state;
    FaMesh m = shape_lips(8, 0.02, 1e-3, 2e-4);
    int half = m.nvert / 2;
    memcpy(m.x + 3 * (size_t)half, m.x, 3 * (size_t)half * sizeof *m.x);
    FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
    assert_int_equal(fai_contact_stats(c).touching_at_rest + fai_contact_stats(c).crossed_at_rest, 0);
    float *x = copy(&m, m.x), *to = copy(&m, m.x);
    assert_int_equal(fai_contact_part(c, x), m.nvert);
    for (int v = 0; v < m.nvert; v++) {
        double d = 1e6 * ((double)x[3 * v + 2] - (double)m.x[3 * v + 2]);
        assert_true(v < half ? d < -5 && d > -11 : d > 5 && d < 11); // micrometres
    }
    fai_contact_reset(c, x);
    for (int f = 0; f < 10; f++) {
        for (int i = 0; i < 3 * m.nvert; i++) to[i] = x[i] + 2e-6f * (float)(((i + f) * 7919) % 13 - 6);
        fai_contact_begin(c, H, x, NULL);
        fai_contact_limit(c, x, to);
        assert_int_equal(crossings(&m, to), 0);
        memcpy(x, to, 3 * (size_t)m.nvert * sizeof *x);
    }
    fai_contact_free(c);
    FaMesh seam =
        two_triangles((float[]){0, 0, 0, 0.01f, 0, 0, 0, 0.01f, 0, 0.01f, 0, 0, 0.01f, 0.01f, 0, 0, 0.01f, 0});
    c = contact_of(&seam, &PLAIN, 0, NULL);
    assert_int_equal(fai_contact_part(c, copy(&seam, seam.x)), 0);
    fai_contact_free(c);
}

// The pose that the artist made says what contact may do: lips pressed together are parted, what is far through is not,
// and what crosses at rest is held no farther than that pose.
static void test_own_pose(void **state) {
    (void)state;
    static const struct {
        double apart, down; // m: at rest, and the upper sheet's way in the artist's pose
        bool held;
    } way[] = {{2e-3, 6e-3, true}, {2e-3, 20e-3, false}, {-2e-3, -6e-3, false}};
    for (int w = 0; w < FA_COUNT(way); w++) {
        FaMesh m = shape_lips(6, 0.004, way[w].apart, 0); // all of it near the crossing
        if (way[w].apart < 0) m.x[3 * 60 + 2] = 2e-3f;    // one vertex is on the right side
        FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
        assert_int_equal(fai_contact_stats(c).crossed_at_rest > 0, way[w].apart < 0);
        float *to = copy(&m, m.x), *u = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
        memset(u, 0, 4 * (size_t)m.nvert * sizeof *u);
        for (int v = m.nvert / 2; v < m.nvert; v++) {
            u[4 * v + 2] = (float)-way[w].down;
            to[3 * v + 2] -= (float)way[w].down;
        }
        fai_contact_begin(c, H, m.x, NULL);
        fai_contact_own_pose(c, u);
        fai_contact_collect(c, m.x, to);
        int n;
        const FaRow *row = fai_contact_rows(c, &n);
        for (int i = 0; i < n; i++) assert_true((row[i].gap > 0) == way[w].held || way[w].apart < 0);
        assert_int_equal(fai_contact_limit(c, m.x, to) > 0, way[w].held);
        // without the pose, contact decides alone
        for (int v = m.nvert / 2; v < m.nvert; v++) to[3 * v + 2] = m.x[3 * v + 2] - (float)way[w].down;
        fai_contact_begin(c, H, m.x, NULL);
        assert_true(fai_contact_limit(c, m.x, to) > 0);
        fai_contact_free(c);
    }
}

// Only triangles whose corners all take part do.
static void test_mask(void **state) {
    (void)state;
    FaMesh m = shape_lips(6, 0.03, 1e-3, 0);
    unsigned char *touch = FA_PUSH(arena, m.nvert, unsigned char);
    for (int v = 0; v < m.nvert; v++) touch[v] = m.x[3 * v] < 0.0151f ? 3 : 0;
    FaContactSurface s = {.nnode = m.nvert, .ntri = m.ntri, .tri = m.tri, .x0 = m.x, .touch = touch};
    FaContact *c = NULL;
    FaError err = {0};
    CHECK_OK(fai_contact_new(&s, 0, NULL, &PLAIN, &c, &err), &err);
    float *to = copy(&m, m.x);
    for (int v = m.nvert / 2; v < m.nvert; v++) to[3 * v + 2] -= 1.5e-3f;
    fai_contact_begin(c, H, m.x, NULL);
    assert_true(fai_contact_collect(c, m.x, to) > 0);
    int n;
    const FaRow *row = fai_contact_rows(c, &n);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 4; i++) assert_true(touch[row[r].node[i]] == 3);
    fai_contact_limit(c, m.x, to);
    for (int v = m.nvert / 2; v < m.nvert; v++)
        if (!touch[v]) assert_true(to[3 * v + 2] == m.x[3 * v + 2] - 1.5e-3f);
    fai_contact_free(c);
}

// --- colliders ----------------------------------------------------------------------------------------------------

static const FaPose STILL = {.q = {0, 0, 0, 1}};

// A sheet is pushed against a tooth (a pyramid), which stands; the tooth rises into the sheet; the sheet cannot give
// way.
static void test_collider(void **state) {
    (void)state;
    FaMesh m = shape_lips(8, 0.02, 0.5, 0); // the second sheet is far away
    for (int t = 0; t < m.ntri; t++) {      // and the first faces down
        int swap = m.tri[3 * t];
        m.tri[3 * t] = m.tri[3 * t + 1];
        m.tri[3 * t + 1] = swap;
    }
    float tooth[15] = {0.007f,  0.007f, -0.004f, 0.013f,  0.007f,  -0.004f, 0.013f, 0.013f,
                       -0.004f, 0.007f, 0.013f,  -0.004f, 0.0101f, 0.0102f, -0.001f};
    int side[12] = {0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4};
    FaContactBody collider = {.nvert = 5, .ntri = 4, .x = tooth, .tri = side};
    FaContact *c = contact_of(&m, &PLAIN, 1, &collider);
    // both in one mesh, to count crossings of the sheet with the tooth
    FaMesh both = {.nvert = m.nvert + 5, .ntri = m.ntri + 4};
    both.x = FA_PUSH(arena, 3 * (size_t)both.nvert, float);
    both.tri = FA_PUSH(arena, 3 * (size_t)both.ntri, int);
    memcpy(both.tri, m.tri, 3 * (size_t)m.ntri * sizeof(int));
    for (int i = 0; i < 12; i++) both.tri[3 * m.ntri + i] = m.nvert + side[i];
    float *x = copy(&m, m.x), *to = copy(&m, m.x);
    int rows = 0, struck = 0, moved = 0;
    FaPose pose = STILL;
    for (int f = 0; f < 40; f++) {
        bool rising = f >= 20;
        if (rising) pose.p[2] += 2e-4;
        for (int v = 0; v < m.nvert / 2; v++) to[3 * v + 2] = x[3 * v + 2] - (f < 20 ? 2e-4f : 0);
        fai_contact_begin(c, H, x, &pose);
        rows += fai_contact_collect(c, x, to);
        int n;
        const FaRow *row = fai_contact_rows(c, &n);
        for (int r = 0; r < n; r++) {
            int free = 0;
            for (int i = 0; i < 4; i++) free += row[r].node[i] < 0;
            assert_true(free > 0);
            double s[3], depth = 0;
            row_value(&row[r], m.x, to, s);
            for (int k = 0; k < 3; k++) depth += s[k] * row[r].normal[k];
            assert_true(fabs(depth) < 1e-3); // the collider's point is in the offset: no row is metres deep
            float sum = row[r].weight[0] + row[r].weight[1] + row[r].weight[2] + row[r].weight[3];
            assert_true(sum * row[r].normal[2] > -0.3f); // the sheet is pushed up, or aside
        }
        moved += fai_contact_limit(c, x, to);
        struck += fai_contact_stats(c).struck;
        memcpy(x, to, 3 * (size_t)m.nvert * sizeof *x);
        memcpy(both.x, x, 3 * (size_t)m.nvert * sizeof *x);
        for (int i = 0; i < 15; i++) both.x[3 * m.nvert + i] = (float)(tooth[i] + pose.p[i % 3]);
        assert_int_equal(crossings(&both, NULL), 0);
    }
    print_message("collider: %d rows, %d nodes limited, %d pairs struck\n", rows, moved, struck);
    assert_true(rows > 20 && moved > 20 && struck == 0);
    // a jump of 2 cm through the standing sheet cannot be answered: counted, and it ends
    pose.p[2] += 0.02;
    fai_contact_begin(c, H, x, &pose);
    fai_contact_limit(c, x, to);
    assert_true(fai_contact_stats(c).struck > 0);
    fai_contact_free(c);
}

// --- friction -----------------------------------------------------------------------------------------------------

static void test_friction(void **state) {
    (void)state;
    FaMesh m = shape_lips(8, 0.02, 1e-3, 0);
    FaContactOptions o = PLAIN;
    o.friction = 0.5;
    int per = m.nvert / 2;
    for (int half = 0; half < 2; half++) {
        FaContact *c = contact_of(&m, &o, 0, NULL);
        float *x = copy(&m, m.x), *to = copy(&m, m.x), *v = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
        for (int i = per; i < m.nvert; i++) to[3 * i + 2] = 1.2e-5f; // touching
        double sum = 0, after = 0, inner = 0;
        int ninner = 0;
        for (int i = 0; i < m.nvert; i++) {
            v[4 * i] = i >= per ? 0.1f : -0.1f;
            v[4 * i + 2] = i >= per ? -0.3f : 0;
            v[4 * i + 3] = 77;
            sum += v[4 * i];
        }
        double h = half ? H / 2 : H, left = half ? sqrt(0.5) : 0.5;
        fai_contact_begin(c, h, x, NULL);
        fai_contact_collect(c, x, to);
        fai_contact_end(c, to, v);
        for (int i = 0; i < m.nvert; i++) {
            after += v[4 * i];
            CHECK_NEAR(v[4 * i + 2], i >= per ? -0.3 : 0, 1e-6); // along the normal nothing changes
            assert_true(v[4 * i + 3] == 77);
            int a = i % per % 9, b = i % per / 9;
            if (a < 2 || a > 6 || b < 2 || b > 6) continue;
            inner += fabs(v[4 * i]);
            ninner++;
        }
        CHECK_NEAR(after, sum, 1e-4); // what one sheet loses the other gains
        CHECK_NEAR(inner / ninner, 0.1 * left, 0.01);
        fai_contact_free(c);
    }
}

// --- limits, bad input, bits --------------------------------------------------------------------------------------

static void test_max_rows(void **state) {
    (void)state;
    FaMesh m = shape_lips(8, 0.02, 1e-3, 2e-4);
    FaContactOptions o = PLAIN;
    FaContact *all = contact_of(&m, &o, 0, NULL);
    o.max_rows = 20;
    FaContact *few = contact_of(&m, &o, 0, NULL);
    float *to = copy(&m, m.x);
    for (int v = m.nvert / 2; v < m.nvert; v++) to[3 * v + 2] -= 1.5e-3f + 0.02f * m.x[3 * v];
    int n, k;
    fai_contact_begin(all, H, m.x, NULL);
    fai_contact_begin(few, H, m.x, NULL);
    int found = fai_contact_collect(all, m.x, to);
    assert_int_equal(fai_contact_stats(all).dropped, 0);
    assert_true(found > 40);
    assert_int_equal(fai_contact_collect(few, m.x, to), 20);
    assert_int_equal(fai_contact_stats(few).dropped, found - 20);
    // those that stayed are the deepest of all
    const FaRow *a = fai_contact_rows(all, &n), *f = fai_contact_rows(few, &k);
    assert_int_equal(k, 20);
    double worst = -1;
    for (int r = 0; r < k; r++) {
        double s[3];
        row_value(&f[r], m.x, to, s);
        worst = fmax(worst, s[0] * f[r].normal[0] + s[1] * f[r].normal[1] + s[2] * f[r].normal[2]);
    }
    int deeper = 0;
    for (int r = 0; r < n; r++) {
        double s[3];
        row_value(&a[r], m.x, to, s);
        deeper += s[0] * a[r].normal[0] + s[1] * a[r].normal[1] + s[2] * a[r].normal[2] < worst - 1e-7;
    }
    assert_true(deeper <= 20);
    // limit does not depend on rows
    fai_contact_limit(few, m.x, to);
    assert_int_equal(crossings(&m, to), 0);
    fai_contact_free(all);
    fai_contact_free(few);
}

static void test_bad_positions(void **state) {
    (void)state;
    FaMesh m = shape_lips(6, 0.02, 1e-3, 2e-4);
    FaContact *c = contact_of(&m, &PLAIN, 0, NULL);
    const float bad[] = {NAN, INFINITY, -INFINITY, FLT_MAX, 1e20f};
    float *to = copy(&m, m.x), *v = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
    for (int b = 0; b < FA_COUNT(bad); b++) {
        memcpy(to, m.x, 3 * (size_t)m.nvert * sizeof *to);
        for (int i = 0; i < m.nvert; i += 3) to[3 * i + b % 3] = bad[b];
        fai_contact_begin(c, H, m.x, NULL);
        fai_contact_collect(c, m.x, to);
        assert_int_equal(fai_contact_limit(c, m.x, to), (m.nvert + 2) / 3);
        fai_contact_end(c, to, v);
        for (int i = 0; i < 3 * m.nvert; i++) assert_true(to[i] == m.x[i]);
    }
    fai_contact_free(c);
}

static void test_bad_arguments(void **state) {
    (void)state;
    FaMesh m = shape_lips(2, 0.02, 1e-3, 0);
    FaContactSurface s = {.nnode = m.nvert, .ntri = m.ntri, .tri = m.tri, .x0 = m.x};
    const FaContactOptions bad[] = {{.stiffness = 0},
                                    {.stiffness = NAN},
                                    {.stiffness = 1, .gap = -1},
                                    {.stiffness = 1, .gap = NAN},
                                    {.stiffness = 1, .friction = 1.1},
                                    {.stiffness = 1, .sticky_break = 0.01},
                                    {.stiffness = 1, .sticky_break = 1},
                                    {.stiffness = 1, .sticky_length = -1},
                                    {.stiffness = 1, .sticky_stiffness = -1},
                                    {.stiffness = 1, .max_rows = -5}};
    FaContact *c;
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaError err = {0};
        assert_int_equal(fai_contact_new(&s, 0, NULL, &bad[i], &c, &err), FA_E_ARG);
        assert_true(err.what[0] && err.remedy[0] && !c);
    }
    FaError err = {0};
    m.tri[4] = m.nvert;
    assert_int_equal(fai_contact_new(&s, 0, NULL, &PLAIN, &c, &err), FA_E_MESH);
    m.tri[4] = 0;
    m.x[5] = NAN;
    err = (FaError){0};
    assert_int_equal(fai_contact_new(&s, 0, NULL, &PLAIN, &c, &err), FA_E_NUMERIC);
    // nothing at all is fine
    FaContactSurface none = {0};
    err = (FaError){0};
    CHECK_OK(fai_contact_new(&none, 0, NULL, &PLAIN, &c, &err), &err);
    fai_contact_begin(c, H, NULL, NULL);
    assert_int_equal(fai_contact_collect(c, NULL, NULL), 0);
    assert_int_equal(fai_contact_limit(c, NULL, NULL), 0);
    fai_contact_end(c, NULL, NULL);
    fai_contact_free(c);
    fai_contact_free(NULL);
}

// A run of some frames with everything on; a fingerprint of all that came out.
static uint64_t run(FaContact *c, const FaMesh *m, int frames) {
    float *x = copy(m, m->x), *to = copy(m, m->x), *v = FA_PUSH(arena, 4 * (size_t)m->nvert, float);
    uint64_t hash = 0;
    for (int f = 0; f < frames; f++) {
        for (int i = 0; i < m->nvert; i++)
            for (int k = 0; k < 3; k++) {
                double d = 2e-4 * noise(9, (uint64_t)((f * m->nvert + i) * 3 + k)) +
                           (k == 2 ? (i < m->nvert / 2 ? 1 : -1) * 2e-4 * cos(0.3 * f) : 0);
                to[3 * i + k] = (float)(x[3 * i + k] + d);
            }
        FaPose pose = STILL;
        pose.p[2] = 1e-4 * f;
        fai_contact_begin(c, H, x, &pose);
        for (int k = 0; k < 2; k++) {
            fai_contact_collect(c, x, to);
            int n;
            const FaRow *row = fai_contact_rows(c, &n);
            hash = fai_hash64(row, (size_t)n * sizeof *row, hash);
            obey_rows(row, n, m->x, to, 3, 0.1);
        }
        fai_contact_limit(c, x, to);
        for (int i = 0; i < m->nvert; i++)
            for (int k = 0; k < 3; k++) v[4 * i + k] = (to[3 * i + k] - x[3 * i + k]) * 60;
        fai_contact_end(c, to, v);
        hash = fai_hash64(to, 3 * (size_t)m->nvert * sizeof *to, hash);
        hash = fai_hash64(v, 4 * (size_t)m->nvert * sizeof *v, hash);
        memcpy(x, to, 3 * (size_t)m->nvert * sizeof *x);
    }
    return hash;
}

static FaContact *busy_contact(const FaMesh *m) {
    static float tooth[9] = {0.001f, 0.001f, -0.002f, 0.012f, 0.001f, -0.002f, 0.006f, 0.012f, -0.002f};
    static int side[3] = {0, 1, 2};
    FaContactOptions o = {.stiffness = 1e3, .friction = 0.4, .sticky_stiffness = 10, .seed = 3};
    return contact_of(m, &o, 1, &(FaContactBody){.nvert = 3, .ntri = 1, .x = tooth, .tri = side});
}

static void test_threads(void **state) {
    (void)state;
    FaMesh m = shape_lips(14, 0.02, 6e-4, 2e-4);
    uint64_t first = 0;
    const int threads[] = {1, 2, 8, 1};
    for (int i = 0; i < FA_COUNT(threads); i++) {
        fa_threads_set(threads[i]);
        FaContact *c = busy_contact(&m);
        uint64_t hash = run(c, &m, 12);
        if (i == 0) first = hash;
        assert_true(hash == first);
        // after a reset the same again
        fai_contact_reset(c, m.x);
        assert_true(run(c, &m, 12) == first);
        fai_contact_free(c);
    }
    fa_threads_set(1);
    print_message("hash of 12 frames: %016llx\n", (unsigned long long)first);
}

// What comes out does not depend on the list of pairs: kept from frame to frame, made anew for each search, or too long
// to be kept. Nor on AVX2.
static void test_listing(void **state) {
    (void)state;
    FaMesh m = shape_lips(14, 0.02, 6e-4, 2e-4);
    FaContact *c = busy_contact(&m);
    uint64_t want = run(c, &m, 12);
    setenv("FA_SIMD", "ref", 1);
    FaContact *plain = busy_contact(&m);
    unsetenv("FA_SIMD");
    assert_false(plain->pairs.simd);
    assert_true(run(plain, &m, 12) == want);
    fai_contact_free(plain);
    FaPairs *p = &c->pairs;
    size_t room = (size_t)p->nchunk * FA_PAIRS_HITS;
    FaPairHit *hit = FA_PUSH(arena, room, FaPairHit);
    int *nhit = FA_PUSH(arena, p->nchunk, int), total = 0, kept = 0;
    for (int f = 0; f < 12; f++) {
        FaPairSearch how = {.gap = 1e-5, .keep = 0.8, .reach = {1e-4, 3e-5}, .only_moved = f % 3 == 2};
        for (int i = 0; i < p->nsurface; i++) {
            p->moved[i] = noise(3, (uint64_t)i) > 0;
            for (int k = 0; k < 3; k++) {
                bool upper = i >= p->nsurface / 2;
                p->from[i][k] = p->to[i][k];
                p->to[i][k] =
                    c->rest[i][k] + 2e-5 * noise(4, (uint64_t)(3 * i + k + f)) - (k == 2 && upper ? 1e-4 * f : 0);
            }
        }
        for (int way = 0; way < 3; way++) {
            if (way == 1) p->listed = false;
            fai_pairs_refit(p, 5e-5);
            if (way == 0) kept += p->listed;
            if (way == 2) {
                assert_true(p->listed);
                for (int i = 0; i < 2 * p->nchunk; i++) p->nlist[i] = -1;
            }
            int n = fai_pairs_search(p, &how, NULL);
            if (way == 0) {
                total += n;
                memcpy(hit, p->hit, room * sizeof *hit);
                memcpy(nhit, p->nhit, (size_t)p->nchunk * sizeof *nhit);
            }
            assert_memory_equal(nhit, p->nhit, (size_t)p->nchunk * sizeof *nhit);
            for (int k = 0; k < p->nchunk; k++)
                for (int i = 0; i < nhit[k]; i++) {
                    const FaPairHit *a = &hit[(size_t)k * FA_PAIRS_HITS + (size_t)i], *b = fai_pairs_hit(p, k, i);
                    assert_true(fai_hit_key(a) == fai_hit_key(b) && a->t == b->t && a->depth == b->depth);
                }
        }
        if (f % 2) p->listed = false; // not the one that is marked too long
    }
    print_message("list: %d hits, kept in %d of 12 frames\n", total, kept);
    assert_true(total > 1000 && kept >= 3);
    fai_contact_free(c);
}

static long allocations;
static void *counting(void *user, void *old, size_t size) {
    (void)user;
    allocations++;
    if (size) return realloc(old, size);
    free(old);
    return NULL;
}

static void test_no_allocation(void **state) {
    (void)state;
    FaMesh m = shape_lips(8, 0.02, 6e-4, 2e-4);
    FaContact *c = busy_contact(&m);
    float *x = copy(&m, m.x), *to = copy(&m, m.x), *v = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
    fa_allocator_set(&(FaAllocator){counting, NULL});
    allocations = 0;
    for (int f = 0; f < 10; f++) {
        for (int i = 0; i < m.nvert; i++) to[3 * i + 2] = x[3 * i + 2] + (i < m.nvert / 2 ? 1e-4f : -1e-4f);
        fai_contact_begin(c, H, x, &STILL);
        fai_contact_collect(c, x, to);
        fai_contact_limit(c, x, to);
        fai_contact_end(c, to, v);
        memcpy(x, to, 3 * (size_t)m.nvert * sizeof *x);
    }
    long made = allocations;
    fa_allocator_set(NULL);
    assert_true(fai_contact_stats(c).rows > 0);
    assert_int_equal(made, 0);
    fai_contact_free(c);
}

static void test_out_of_memory(void **state) {
    (void)state;
    // crossing and touching at rest too, so that the tables of those grow
    FaMesh m = shape_lips(4, 0.02, 1e-3, 0);
    for (int v = m.nvert / 2; v < m.nvert; v++) m.x[3 * v + 2] = v % 2 ? 2e-4f : -2e-4f;
    FaContactSurface s = {.nnode = m.nvert, .ntri = m.ntri, .tri = m.tri, .x0 = m.x};
    bool done = false;
    int failures = 0;
    for (long n = 1; !done && n < 500; n++) {
        FaError err = {0};
        FaContact *c = NULL;
        long balance = test_alloc_balance();
        test_fail_alloc(n);
        FaCode code = fai_contact_new(&s, 0, NULL, &PLAIN, &c, &err);
        done = !test_alloc_failed();
        test_fail_alloc(0);
        if (!done) {
            assert_int_equal(code, FA_E_MEMORY);
            assert_null(c);
            failures++;
        } else {
            CHECK_OK(code, &err);
            assert_true(fai_contact_stats(c).crossed_at_rest > 0);
        }
        fai_contact_free(c);
        assert_int_equal(test_alloc_balance(), balance);
    }
    fa_allocator_set(NULL);
    assert_true(done && failures > 20);
}

// --- speed --------------------------------------------------------------------------------------------------------

// 1,444 triangles of which the middle touches: some 120 vertices in contact. Printed, with a bound that only a mistake
// passes.
static void test_speed(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        fa_threads_set(threads);
        FaMesh m = shape_lips(19, 0.03, 6e-4, 2e-4);
        int per = m.nvert / 2, rows = 0, bonds = 0, candidates = 0;
        for (int v = per; v < m.nvert; v++) {
            double x = m.x[3 * v] - 0.015, y = m.x[3 * v + 1] - 0.015;
            m.x[3 * v + 2] += (float)(6 * (x * x + y * y));
        }
        FaContactOptions o = {.stiffness = 1e3, .friction = 0.3, .sticky_stiffness = 10};
        FaContact *c = contact_of(&m, &o, 0, NULL);
        float *x = copy(&m, m.x), *to = copy(&m, m.x), *v = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
        double best[4] = {1, 1, 1, 1}, again = 1;
        for (int f = 0; f < 60; f++) {
            for (int i = 0; i < m.nvert; i++) {
                to[3 * i] = x[3 * i] + (float)((i < per ? 1 : -1) * 3e-5 * sin(f));
                to[3 * i + 2] = x[3 * i + 2] + (float)((i < per ? 1 : -1) * (f < 25 ? 2e-5 : 1e-5 * sin(0.7 * f)));
            }
            double t[5];
            t[0] = fai_seconds();
            fai_contact_begin(c, H, x, NULL);
            t[1] = fai_seconds();
            fai_contact_collect(c, x, to);
            t[2] = fai_seconds();
            for (int k = 0; k < 2; k++) {
                int n;
                const FaRow *row = fai_contact_rows(c, &n);
                obey_rows(row, n, m.x, to, 20, 0.02);
                double start = fai_seconds();
                fai_contact_collect(c, x, to);
                if (f > 30) again = fmin(again, fai_seconds() - start);
            }
            double before = fai_seconds();
            fai_contact_limit(c, x, to);
            t[3] = fai_seconds();
            fai_contact_end(c, to, v);
            t[4] = fai_seconds();
            t[2] -= t[1];
            double took[4] = {t[1] - t[0], t[2], t[3] - before, t[4] - t[3]};
            for (int k = 0; k < 4 && f > 30; k++) best[k] = fmin(best[k], took[k]);
            FaContactStats s = fai_contact_stats(c);
            rows = s.rows, bonds = s.bonds, candidates = s.candidates;
            memcpy(x, to, 3 * (size_t)m.nvert * sizeof *x);
        }
        print_message("speed, %d thread(s): %d triangles, %d candidates, %d rows, %d bonds: begin %.3f, collect %.3f "
                      "and %.3f again, "
                      "limit %.3f, end %.3f ms\n",
                      threads, m.ntri, candidates, rows, bonds, 1e3 * best[0], 1e3 * best[1], 1e3 * again,
                      1e3 * best[2], 1e3 * best[3]);
        assert_true(rows > 120 && bonds > 30);
        assert_true(best[1] < 0.5 && best[2] < 0.5);
        fai_contact_free(c);
    }
    fa_threads_set(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearby),
        cmocka_unit_test(test_sheets),
        cmocka_unit_test(test_folds),
        cmocka_unit_test(test_vertex_row),
        cmocka_unit_test(test_edge_row),
        cmocka_unit_test(test_press),
        cmocka_unit_test(test_crossed_at_rest),
        cmocka_unit_test(test_own_pose),
        cmocka_unit_test(test_touching_at_rest),
        cmocka_unit_test(test_wild),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_mask),
        cmocka_unit_test(test_collider),
        cmocka_unit_test(test_friction),
        cmocka_unit_test(test_max_rows),
        cmocka_unit_test(test_bad_positions),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_listing),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

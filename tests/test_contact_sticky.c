// Sticky lips: the law of breaking, that bonds obey it, that lips part gradually, and that a snapshot goes on to the
// same bits.
#include "test_contact_shapes.h"

#include "contact/contact_work.h"

static const double H = 1.0 / 60, GAP = 1e-5;
static const FaContactOptions STICKY = {.stiffness = 1e3, .sticky_stiffness = 5, .seed = 21};

static void lift(const FaMesh *m, float *x, double height) { // the upper sheet, above the flat lower one
    for (int v = m->nvert / 2; v < m->nvert; v++) x[3 * v + 2] = (float)height;
}

// Sheets that have touched for one frame. Their bonds.
static FaContact *touched(const FaMesh *m, const FaContactOptions *o, float *x, int *bonds) {
    FaContact *c = contact_of(m, o, 0, NULL);
    float *from = copy(m, m->x), *v = FA_PUSH(arena, 4 * (size_t)m->nvert, float);
    memcpy(x, m->x, 3 * (size_t)m->nvert * sizeof *x);
    lift(m, x, 1.2 * GAP);
    fai_contact_begin(c, H, from, NULL);
    fai_contact_collect(c, from, x);
    assert_int_equal(fai_contact_limit(c, from, x), 0);
    fai_contact_end(c, x, v);
    *bonds = fai_contact_stats(c).bonds;
    return c;
}

// --- the law ------------------------------------------------------------------------------------------------------

static void test_law(void **state) {
    (void)state;
    double rate = fai_break_rate(2e-3, 0.1);
    CHECK_NEAR(fai_break_chance(rate, 2e-3, H), 0.1, 1e-13);
    CHECK_NEAR(fai_break_chance(rate, 0, H), (1 - tanh(2.0)) / 2, 1e-14);
    double last = 0, worst = 0;
    for (int i = 0; i <= 20000; i++) {
        double l = 2e-6 * i, p = fai_break_chance(rate, l, H), want = (1 - tanh(2 - rate * l)) / 2;
        worst = fmax(worst, fabs(p - want));
        assert_true(p >= last && p <= 1);
        last = p;
    }
    print_message("p_break against tanh: off by %.1e at most\n", worst);
    CHECK_NEAR(worst, 0, 1e-12);
    CHECK_NEAR(last, 1, 1e-12);
    // other lengths and shares, other steps: as many per second
    CHECK_NEAR(fai_break_chance(fai_break_rate(5e-4, 0.7), 5e-4, H), 0.7, 1e-13);
    for (double l = 0; l < 6e-3; l += 1e-4) {
        double p = fai_break_chance(rate, l, H), half = fai_break_chance(rate, l, H / 2),
               twice = fai_break_chance(rate, l, 2 * H);
        CHECK_NEAR(1 - (1 - half) * (1 - half), p, 1e-12);
        CHECK_NEAR(1 - (1 - p) * (1 - p), twice, 1e-12);
        CHECK_NEAR(fai_break_chance(rate, l, 0.0123), 1 - pow(1 - p, 60 * 0.0123), 1e-12);
    }
    assert_true(fai_break_chance(rate, 10, H) == 1);
    assert_true(fai_break_chance(rate, 10, H / 7) == 1);
}

// How many break at which length, against the law: chi-square with one degree of freedom per length.
static void test_distribution(void **state) {
    (void)state;
    const double length[] = {1.2e-5, 1e-3, 2e-3, 3e-3, 4e-3, 5.5e-3};
    enum { LENGTHS = 6, SEEDS = 12 };
    FaMesh m = shape_lips(10, 0.02, 5e-4, 0);
    double rate = fai_break_rate(2e-3, 0.1), chi = 0;
    for (int k = 0; k < LENGTHS; k++) {
        int all = 0, broken = 0;
        for (int s = 0; s < SEEDS; s++) {
            FaContactOptions o = STICKY;
            o.seed = (uint64_t)(1000 * k + s);
            float *x = copy(&m, m.x);
            int bonds;
            FaContact *c = touched(&m, &o, x, &bonds);
            lift(&m, x, length[k]);
            fai_contact_begin(c, H, x, NULL);
            FaContactStats after = fai_contact_stats(c);
            assert_int_equal(after.broken + after.bonds, bonds);
            all += bonds;
            broken += after.broken;
            fai_contact_free(c);
        }
        double p = fai_break_chance(rate, length[k], H), expect = p * all;
        chi += (broken - expect) * (broken - expect) / (expect * (1 - p));
        print_message("length %.2f mm: %d of %d broke, expected %.1f\n", 1e3 * length[k], broken, all, expect);
        assert_true(all > 1000);
    }
    print_message("chi-square %.1f of %d\n", chi, LENGTHS);
    assert_true(chi < 22.5); // 1 in 1,000 would pass this by chance
}

// --- bonds --------------------------------------------------------------------------------------------------------

// About as many as vertices that touch, spread out; rows are those of eq. 5.17's springs.
static void test_bonds_made(void **state) {
    (void)state;
    FaMesh m = shape_lips(10, 0.02, 5e-4, 0);
    float *x = copy(&m, m.x);
    int bonds, n, kept = 0;
    FaContact *c = touched(&m, &STICKY, x, &bonds);
    print_message("%d bonds for %d vertices\n", bonds, m.nvert);
    assert_true(bonds > m.nvert / 2 && bonds < 3 * m.nvert / 2);
    assert_int_equal(fai_contact_stats(c).made, bonds);
    fai_contact_begin(c, H, x, NULL);
    const FaRow *row = fai_contact_rows(c, &n);
    assert_int_equal(n, fai_contact_stats(c).bonds);
    unsigned char *holds = FA_PUSH(arena, m.nvert, unsigned char);
    for (int r = 0; r < n; r++) {
        double s[3];
        assert_true(row[r].kind == FA_ROW_PULL && row[r].stiffness == 5.0f);
        row_value(&row[r], m.x, x, s);
        assert_true(sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]) < 4 * GAP);
        for (int i = 0; i < 4; i++) assert_true(row[r].node[i] >= 0);
        if (row[r].weight[0] == 1) {
            assert_false(holds[row[r].node[0]]); // one of its own per vertex
            holds[row[r].node[0]] = 1;
            kept++;
        }
    }
    assert_true(kept > n / 2);
    // touching on does not double them
    float *v = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
    for (int f = 0; f < 10; f++) {
        fai_contact_collect(c, x, x);
        fai_contact_end(c, x, v);
        assert_true(fai_contact_stats(c).bonds <= bonds + bonds / 4);
        fai_contact_begin(c, H, x, NULL);
    }
    fai_contact_free(c);
    // none without stiffness, none where the mask has no bit 1
    FaContactOptions plain = STICKY;
    plain.sticky_stiffness = 0;
    c = touched(&m, &plain, x, &bonds);
    assert_int_equal(bonds, 0);
    fai_contact_free(c);
    unsigned char *touch = FA_PUSH(arena, m.nvert, unsigned char);
    for (int i = 0; i < m.nvert; i++) touch[i] = m.x[3 * i] < 0.0101f ? 3 : 1;
    FaContactSurface s = {.nnode = m.nvert, .ntri = m.ntri, .tri = m.tri, .x0 = m.x, .touch = touch};
    FaError err = {0};
    CHECK_OK(fai_contact_new(&s, 0, NULL, &STICKY, &c, &err), &err);
    fai_contact_begin(c, H, m.x, NULL);
    fai_contact_collect(c, m.x, x);
    fai_contact_end(c, x, v);
    assert_true(fai_contact_stats(c).bonds > 20);
    fai_contact_begin(c, H, x, NULL);
    row = fai_contact_rows(c, &n);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 4; i++) assert_int_equal(touch[row[r].node[i]], 3);
    fai_contact_free(c);
}

// Pulled apart by 0.4 mm a frame: bonds go over several frames, none comes back, in the end none is left.
static void test_part_gradually(void **state) {
    (void)state;
    FaMesh m = shape_lips(12, 0.02, 5e-4, 0);
    float *x = copy(&m, m.x), *to = copy(&m, m.x), *v = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
    int bonds, count[40], between = 0;
    FaContact *c = touched(&m, &STICKY, x, &bonds);
    double expect = bonds, rate = fai_break_rate(2e-3, 0.1);
    memcpy(to, x, 3 * (size_t)m.nvert * sizeof *x);
    for (int f = 0; f < 40; f++) {
        double now = 1.2 * GAP + 4e-4 * f;
        lift(&m, x, now);
        lift(&m, to, now + 4e-4);
        fai_contact_begin(c, H, x, NULL);
        fai_contact_collect(c, x, to);
        fai_contact_limit(c, x, to);
        fai_contact_end(c, to, v);
        assert_int_equal(fai_contact_stats(c).made, 0); // parting
        count[f] = fai_contact_stats(c).bonds;
        assert_true(f == 0 || count[f] <= count[f - 1]);
        expect *= 1 - fai_break_chance(rate, now, H);
        assert_true(fabs(count[f] - expect) < 5 * sqrt(bonds) * 0.5 + 1);
        between += count[f] < 0.9 * bonds && count[f] > 0.1 * bonds;
    }
    print_message("bonds:");
    for (int f = 0; f < 20; f++) print_message(" %d", count[f]);
    print_message("\n");
    assert_true(count[0] > 0.9 * bonds);
    assert_true(between >= 4);
    assert_int_equal(count[39], 0);
    fai_contact_free(c);
}

// Lips that the artist's own pose has wide apart let go though the bonds themselves are short; lips that it presses
// through each other hold on. The chance is that of the pose's distance.
static void test_own_pose_parts(void **state) {
    (void)state;
    static const struct {
        double up; // m: the upper sheet's way in the artist's pose
        double length;
    } way[] = {{6e-3, 6.5e-3}, {2e-3, 2.5e-3}, {-6e-3, 0}};
    FaMesh m = shape_lips(12, 0.02, 5e-4, 0);
    double rate = fai_break_rate(2e-3, 0.1);
    for (int w = 0; w < FA_COUNT(way); w++) {
        float *x = copy(&m, m.x), *u = FA_PUSH(arena, 4 * (size_t)m.nvert, float);
        int bonds;
        FaContact *c = touched(&m, &STICKY, x, &bonds);
        for (int v = m.nvert / 2; v < m.nvert; v++) u[4 * v + 2] = (float)way[w].up;
        fai_contact_begin(c, H, x, NULL);
        fai_contact_own_pose(c, u);
        double p = fai_break_chance(rate, way[w].length, H), expect = bonds * (1 - p);
        FaContactStats after = fai_contact_stats(c);
        print_message("the pose moves a lip by %.0f mm: %d of %d bonds hold, expected %.1f\n", 1e3 * way[w].up,
                      after.bonds, bonds, expect);
        assert_int_equal(after.broken + after.bonds, bonds);
        assert_true(fabs(after.bonds - expect) < 4 * sqrt(bonds * p * (1 - p)) + 1);
        fai_contact_free(c);
    }
}

// --- snapshots ----------------------------------------------------------------------------------------------------

static uint64_t go_on(FaContact *c, const FaMesh *m, float *x, int first, int frames) {
    float *to = copy(m, x), *v = FA_PUSH(arena, 4 * (size_t)m->nvert, float);
    uint64_t hash = 0;
    for (int f = first; f < first + frames; f++) {
        memcpy(to, x, 3 * (size_t)m->nvert * sizeof *to);
        for (int i = m->nvert / 2; i < m->nvert; i++) to[3 * i + 2] += f < 15 ? -1e-4f : 3e-4f;
        FaPose pose = {.q = {0, 0, 0, 1}, .p = {0, 0, 1e-5 * f}};
        fai_contact_begin(c, H, x, &pose);
        fai_contact_collect(c, x, to);
        int n;
        const FaRow *row = fai_contact_rows(c, &n);
        hash = fai_hash64(row, (size_t)n * sizeof *row, hash);
        obey_rows(row, n, m->x, to, 4, 0.05);
        fai_contact_limit(c, x, to);
        fai_contact_end(c, to, v);
        memcpy(x, to, 3 * (size_t)m->nvert * sizeof *x);
        hash = fai_hash64(x, 3 * (size_t)m->nvert * sizeof *x, hash);
    }
    return hash;
}

static void test_snapshot(void **state) {
    (void)state;
    FaMesh m = shape_lips(8, 0.02, 5e-4, 1e-4);
    float tooth[9] = {0, 0, -1e-3f, 0.02f, 0, -1e-3f, 0, 0.02f, -1e-3f};
    FaContactBody collider = {.nvert = 3, .ntri = 1, .x = tooth, .tri = (int[]){0, 1, 2}};
    FaContactOptions o = STICKY;
    o.friction = 0.2;
    FaContact *c = contact_of(&m, &o, 1, &collider), *other = contact_of(&m, &o, 1, &collider);
    float *x = copy(&m, m.x);
    go_on(c, &m, x, 0, 12);
    assert_true(fai_contact_stats(c).bonds > 10);
    size_t size = fai_contact_state_size(c);
    assert_int_equal(size, fai_contact_state_size(other));
    unsigned char *saved = FA_PUSH(arena, size, unsigned char), *again = FA_PUSH(arena, size, unsigned char);
    fai_contact_save(c, saved);
    float *y = copy(&m, x), *z = copy(&m, x);
    uint64_t want = go_on(c, &m, x, 12, 10);
    FaError err = {0};
    CHECK_OK(fai_contact_load(other, saved, &err), &err);
    fai_contact_save(other, again);
    assert_memory_equal(saved, again, size);
    assert_true(go_on(other, &m, y, 12, 10) == want);
    CHECK_OK(fai_contact_load(c, saved, &err), &err); // into the one that went on, too
    assert_true(go_on(c, &m, z, 12, 10) == want);
    fai_contact_free(other);
    // of another face, or damaged: refused, and nothing changes
    FaMesh small = shape_lips(7, 0.02, 5e-4, 1e-4);
    other = contact_of(&small, &o, 1, &collider);
    assert_int_equal(fai_contact_load(other, saved, &err), FA_E_FORMAT);
    fai_contact_free(other);
    fai_contact_save(c, again);
    int refused = 0;
    for (size_t i = 0; i < sizeof(FaContactState) + 4 * sizeof(FaBond); i++) {
        unsigned char *bad = FA_PUSH(arena, size, unsigned char);
        memcpy(bad, saved, size);
        bad[i] ^= 0xFF;
        err = (FaError){0};
        FaCode code = fai_contact_load(c, bad, &err);
        refused += code < 0;
        if (code >= 0) go_on(c, &m, copy(&m, m.x), 0, 1); // accepted: must be safe to use
        CHECK_OK(fai_contact_load(c, again, &err), &err);
    }
    assert_true(refused > 100);
    fai_contact_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_law),
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_bonds_made),
        cmocka_unit_test(test_part_gradually),
        cmocka_unit_test(test_own_pose_parts),
        cmocka_unit_test(test_snapshot),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

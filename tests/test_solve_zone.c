// Which nodes are kept at hand for contact: walls that face each other, nearest first.
#include "solve/touch_zone.h"
#include "test.h"

enum { SIDE = 12, WALL = SIDE * SIDE, CELLS = (SIDE - 1) * (SIDE - 1) };

typedef struct Walls {
    float x[3 * 3 * WALL];
    int tri[3 * 3 * 2 * CELLS];
    unsigned char touch[3 * WALL];
} Walls;

// Two walls of a wedge that face each other, 1 mm apart at one end and 12 at the other, and a third that looks away.
static void build(Walls *w) {
    int t = 0;
    for (int wall = 0; wall < 3; wall++)
        for (int i = 0; i < WALL; i++) {
            float along = 0.002f * (float)(i % SIDE), across = 0.002f * (float)(i / SIDE),
                  *x = w->x + 3 * (wall * WALL + i);
            x[0] = along;
            x[1] = wall == 0 ? 0 : wall == 1 ? 0.001f + 0.5f * along : -0.002f;
            x[2] = across;
            w->touch[wall * WALL + i] = 1;
        }
    for (int wall = 0; wall < 3; wall++)
        for (int c = 0; c < CELLS; c++) {
            int a = wall * WALL + c / (SIDE - 1) * SIDE + c % (SIDE - 1), b = a + 1, d = a + SIDE, e = d + 1;
            int up[6] = {a, d, b, b, d, e}, down[6] = {a, b, d, b, e, d}; // y: up for the first, down for the others
            memcpy(w->tri + 3 * t, wall == 0 ? up : down, sizeof up);
            t += 2;
        }
}

static void nearest_first(void **state) {
    (void)state;
    static Walls w;
    build(&w);
    FaContactSurface s = {3 * WALL, 3 * 2 * CELLS, w.tri, w.x, w.touch};
    int zone[3 * WALL], n;
    FaError err = {0};
    CHECK_OK(fai_touch_zone(&s, 3 * WALL, zone, &n, &err), &err);
    assert_int_equal(n, 3 * WALL);
    // the walls that face each other before the one that faces nobody; each node once
    int seen[3 * WALL] = {0};
    for (int i = 0; i < n; i++) {
        assert_int_equal(seen[zone[i]]++, 0);
        assert_true((zone[i] < 2 * WALL) == (i < 2 * WALL));
    }
    // the narrow end before the wide one
    CHECK_OK(fai_touch_zone(&s, WALL, zone, &n, &err), &err);
    assert_int_equal(n, WALL);
    for (int i = 0; i < n; i++) assert_true(zone[i] % SIDE <= SIDE / 2);
}

static void only_what_may_touch(void **state) {
    (void)state;
    static Walls w;
    build(&w);
    FaContactSurface s = {3 * WALL, 3 * 2 * CELLS, w.tri, w.x, w.touch};
    for (int i = 0; i < 3 * WALL; i++) w.touch[i] = i % 3 == 0 ? 3 : 2; // bit 0 is contact
    int zone[3 * WALL], n;
    FaError err = {0};
    CHECK_OK(fai_touch_zone(&s, 3 * WALL, zone, &n, &err), &err);
    assert_int_equal(n, WALL);
    for (int i = 0; i < n; i++) assert_int_equal(zone[i] % 3, 0);
    memset(w.touch, 0, sizeof w.touch);
    CHECK_OK(fai_touch_zone(&s, 3 * WALL, zone, &n, &err), &err);
    assert_int_equal(n, 0);
    s.touch = NULL; // all
    CHECK_OK(fai_touch_zone(&s, 7, zone, &n, &err), &err);
    assert_int_equal(n, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nearest_first), cmocka_unit_test(only_what_may_touch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

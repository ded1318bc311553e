// Which vertices at one place are one point: seams are joined, sheets that lie upon one another are not.
#include "test.h"

#include "mesh/weld.h"

enum { MOST = 64 };

typedef struct Sheet {
    float x[3 * MOST];
    int tri[3 * MOST], start[MOST + 1], same[MOST], weld[MOST];
    FaMesh mesh;
} Sheet;

static int add_vertex(Sheet *s, float x, float y, float z) {
    float *to = s->x + 3 * s->mesh.nvert;
    to[0] = x, to[1] = y, to[2] = z;
    return s->mesh.nvert++;
}

static void add_triangle(Sheet *s, int a, int b, int c) {
    int *to = s->tri + 3 * s->mesh.nface++;
    to[0] = a, to[1] = b, to[2] = c;
    s->start[s->mesh.nface] = 3 * s->mesh.nface;
}

// A row of n squares in the plane z = 0, bent by `bend` at every other place. soup: three vertices per triangle.
// back: facing the other way. other: cut along the other diagonals.
static void add_strip(Sheet *s, int n, float bend, bool soup, bool back, bool other) {
    int v[2][8];
    for (int i = 0; i <= n && !soup; i++)
        for (int k = 0; k < 2; k++) v[k][i] = add_vertex(s, (float)i, (float)k, i % 2 ? bend : 0);
    for (int i = 0; i < n; i++)
        for (int t = 0; t < 2; t++) {
            static const int cut[2][2][3][2] = {{{{0, 0}, {0, 1}, {1, 1}}, {{0, 0}, {1, 1}, {1, 0}}},
                                                {{{0, 0}, {0, 1}, {1, 0}}, {{0, 1}, {1, 1}, {1, 0}}}};
            int c[3];
            for (int k = 0; k < 3; k++) {
                int row = cut[other][t][k][0], at = i + cut[other][t][k][1];
                c[k] = soup ? add_vertex(s, (float)at, (float)row, at % 2 ? bend : 0) : v[row][at];
            }
            add_triangle(s, c[0], back ? c[2] : c[1], back ? c[1] : c[2]);
        }
}

// Weld, and count the points and the parts that they hang together in.
static int weld(Sheet *s, int *parts) {
    FaError err = {0};
    s->mesh.x = s->x;
    s->mesh.face_vert = s->tri;
    s->mesh.face_start = s->start;
    int n = 0, part[MOST], again = 1;
    for (int v = 0; v < s->mesh.nvert; v++) {
        s->same[v] = 0;
        while (memcmp(s->x + 3 * s->same[v], s->x + 3 * v, 12)) s->same[v]++;
    }
    CHECK_OK(fai_weld_points(&s->mesh, s->same, s->weld, &err), &err);
    for (int v = 0; v < s->mesh.nvert; v++) {
        assert_true(s->weld[v] <= v && s->weld[s->weld[v]] == s->weld[v] && s->same[s->weld[v]] == s->same[v]);
        n += s->weld[v] == v;
        part[v] = s->weld[v];
    }
    while (again) {
        again = 0;
        for (int c = 0; c < 3 * s->mesh.nface; c++) {
            int *a = &part[s->weld[s->tri[c]]], *b = &part[s->weld[s->tri[c - c % 3 + (c + 1) % 3]]];
            if (*a != *b) again = 1, *a = *b = FA_MIN(*a, *b);
        }
    }
    *parts = 0;
    for (int v = 0; v < s->mesh.nvert; v++) *parts += s->weld[v] == v && part[v] == v;
    return n;
}

static void seams_are_joined(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) { // plain, bent, bent hard
        Sheet s = {0};
        int parts;
        add_strip(&s, 4, (float)k, true, false, false);
        assert_int_equal(weld(&s, &parts), 10);
        assert_int_equal(parts, 1);
    }
}

static void cards_stay_two(void **state) {
    (void)state;
    for (int k = 0; k < 16; k++) { // indexed or soup, bent or flat, cut alike or not
        Sheet s = {0};
        int parts;
        float bend = k & 2 ? 0.5f : 0;
        if ((k & 8) && bend > 0) continue; // cut otherwise, a bent strip is another surface
        add_strip(&s, 2, bend, k & 1, false, false);
        add_strip(&s, 2, bend, k & 4, true, k & 8);
        assert_int_equal(weld(&s, &parts), 12);
        assert_int_equal(parts, 2);
    }
}

// The same faces twice, the same way round.
static void doubles_stay_two(void **state) {
    (void)state;
    Sheet s = {0};
    int parts;
    add_strip(&s, 3, 0.2f, false, false, false);
    add_strip(&s, 3, 0.2f, false, false, false);
    assert_int_equal(weld(&s, &parts), 16);
    assert_int_equal(parts, 2);
}

// A piece that faces the other way beside its neighbour is no second sheet: it hangs on.
static void turned_pieces_hang_on(void **state) {
    (void)state;
    Sheet s = {0};
    int parts;
    add_strip(&s, 2, 0, false, false, false);
    int first = s.mesh.nvert;
    add_strip(&s, 2, 0, false, true, false);
    for (int v = first; v < s.mesh.nvert; v++) s.x[3 * v] += 2;
    assert_int_equal(weld(&s, &parts), 10);
    assert_int_equal(parts, 1);
}

// Three sheets at an edge, none upon another, are one thing.
static void fins_hang_on(void **state) {
    (void)state;
    Sheet s = {0};
    int parts;
    add_strip(&s, 2, 0, false, false, false);
    int a = add_vertex(&s, 1, 0, 0), b = add_vertex(&s, 1, 1, 0), c = add_vertex(&s, 1, 0.5f, 1);
    add_triangle(&s, a, b, c);
    assert_int_equal(weld(&s, &parts), 7);
    assert_int_equal(parts, 1);
}

// A closed thing split along a seam with a very sharp edge, a blade, is joined: its sides do not lie upon one another.
static void blades_are_joined(void **state) {
    (void)state;
    Sheet s = {0};
    int parts;
    int a = add_vertex(&s, 0, 0, 0), b = add_vertex(&s, 0, 1, 0), c = add_vertex(&s, 1, 0.5f, 0.1f);
    int d = add_vertex(&s, 0, 0, 0), e = add_vertex(&s, 0, 1, 0), f = add_vertex(&s, 1, 0.5f, -0.1f);
    add_triangle(&s, a, b, c);
    add_triangle(&s, e, d, f);
    assert_int_equal(weld(&s, &parts), 4);
    assert_int_equal(parts, 1);
}

static FaCode weld_again(void *user, FaError *err) {
    Sheet *s = user;
    return fai_weld_points(&s->mesh, s->same, s->weld, err);
}

static void memory_runs_out(void **state) {
    (void)state;
    Sheet s = {0};
    int parts;
    add_strip(&s, 4, 0, true, false, false);
    add_strip(&s, 4, 0, true, true, false);
    weld(&s, &parts);
    assert_true(test_starve(weld_again, &s) >= 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(seams_are_joined),      cmocka_unit_test(memory_runs_out),
                                       cmocka_unit_test(cards_stay_two),        cmocka_unit_test(doubles_stay_two),
                                       cmocka_unit_test(turned_pieces_hang_on), cmocka_unit_test(fins_hang_on),
                                       cmocka_unit_test(blades_are_joined)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

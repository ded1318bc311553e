// Gums, teeth and tongue that are pieces of the skin's own mesh: they go with the jaw as jawOpen has them, and what is
// hard of them is found, upper and lower, facing the lips.
// labels: unit
#include "fascia/face.h"
#include "math/mat3.h"
#include "muscle/inner.h"
#include "rig/jaw.h"
#include "test.h"

#include <math.h>

typedef struct World {
    FaRig *rig;
    FaFace *face;
    FaFilled flesh; // nothing rides
    FaMuscleInner inner;
    FaArena *arena;
} World;

static void open_world(const char *animal, World *w) {
    FaError err = {0};
    *w = (World){0};
    CHECK_OK(fa_rig_load(test_animal(animal), NULL, &w->rig, &err), &err);
    CHECK_OK(fa_face_build(w->rig, NULL, &w->face, &err), &err);
    w->arena = fai_arena_new(0);
    w->flesh.nvert = w->rig->mesh.nvert;
    w->flesh.ride_start = FA_PUSH(w->arena, w->flesh.nvert + 1, int);
    CHECK_OK(fai_inner_find(w->rig, w->face, &w->flesh, w->arena, &w->inner, &err), &err);
    print_message("%s: %d vertices go with the jaw, %d hard parts", animal, w->inner.n, w->inner.nbone);
    for (int i = 0; i < w->inner.nbone; i++)
        print_message(", %s %d triangles", w->inner.bone[i].name, w->inner.bone[i].ntri);
    print_message("\n");
}

static void close_world(World *w) {
    fai_arena_free(w->arena);
    fa_face_free(w->face);
    fa_rig_free(w->rig);
}

// At jawOpen = 1 they are where the shape has them; skin is left alone.
static void goes_with_the_jaw(void **state) {
    (void)state;
    World w;
    open_world("one_mesh", &w);
    const size_t n = 3 * (size_t)w.rig->mesh.nvert;
    float *d = malloc(n * sizeof *d), *x = malloc(n * sizeof *x),
          *weights = calloc((size_t)w.rig->nshape, sizeof(float));
    assert_true(fai_jaw_motion(w.rig, d) && w.face->jaw.found && w.inner.n > 100);
    weights[w.face->jaw.shape[0]] = 1;
    const FaPose jaw = fai_jaw_pose(&w.face->jaw, weights);
    memcpy(x, w.rig->mesh.x, n * sizeof *x);
    fai_inner_ride(&w.inner, &jaw, x);
    double off = 0, far = 0;
    for (int i = 0; i < w.inner.n; i++) {
        double a[3], b[3], m[3];
        const int v = w.inner.vertex[i];
        assert_int_equal(w.face->node_of_vertex[v], -1);
        fai_v3_load(x, v, a);
        fai_v3_load(w.rig->mesh.x, v, b);
        fai_v3_load(d, v, m);
        fai_v3_sub(a, b, a);
        far = fmax(far, fai_v3_norm(a));
        fai_v3_sub(a, m, a);
        off = fmax(off, fai_v3_norm(a));
    }
    print_message("they go %.1f mm, %.2f mm off the shape\n", 1e3 * far, 1e3 * off);
    assert_true(far > 0.01 && off < 1.5e-3);
    for (int i = 0; i < w.face->nskin; i++) {
        const size_t v = 3 * (size_t)w.face->skin_vertex[i];
        assert_memory_equal(x + v, w.rig->mesh.x + v, 3 * sizeof *x);
    }
    free(d);
    free(x);
    free(weights);
    close_world(&w);
}

// A face with teeth as bones has them once; without, pieces in the mouth are the teeth.
static void finds_hard_parts(void **state) {
    (void)state;
    World w;
    FaError err = {0};
    FaFace seen;
    open_world("one_mesh", &w);
    w.face->nbone = 0; // as if nobody had named them
    CHECK_OK(fai_inner_find(w.rig, w.face, &w.flesh, w.arena, &w.inner, &err), &err);
    assert_int_equal(w.inner.nbone, 2);
    assert_true(w.inner.bone[0].kind == FA_BONE_TEETH_UPPER && !w.inner.bone[0].with_jaw);
    assert_true(w.inner.bone[1].kind == FA_BONE_TEETH_LOWER && w.inner.bone[1].with_jaw);
    double high[2] = {0};
    for (int b = 0; b < 2; b++)
        for (int v = 0; v < w.inner.bone[b].nvert; v++)
            high[b] += (double)w.inner.bone[b].x[3 * v + 1] / w.inner.bone[b].nvert;
    assert_true(high[0] > high[1] && w.inner.bone[0].ntri > 50 && w.inner.bone[1].ntri > 50);
    CHECK_OK(fai_inner_face(&w.inner, w.face, 0, NULL, &seen, &err), &err);
    assert_int_equal(seen.nbone, 2);
    fa_free(seen.bone);
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(goes_with_the_jaw), cmocka_unit_test(finds_hard_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

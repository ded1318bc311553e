// Flesh and muscles kept in a face: they come back to the bit, and bytes that are not sound are refused.
// labels: unit
#include "face/face.h"
#include "fascia/head.h"
#include "muscle/muscle_file.h"

#include "test.h"

static FaRig *rig;
static FaFace *face;
static FaMuscleModel *model;
static unsigned char *data;
static size_t size;

static int open_all(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams p = fa_head_params_default();
    FaHead *head;
    const char *path = test_path("muscle_file.glb");
    p.level = 0;
    if (fa_head_new(&p, &head, &err) < 0 || fa_head_save(head, NULL, true, NULL, path, &err) < 0) return -1;
    fa_head_free(head);
    const FaMuscleOptions o = {.flesh_size = 2000};
    if (fa_rig_load(path, NULL, &rig, &err) < 0 || fa_face_build(rig, NULL, &face, &err) < 0) return -1;
    if (fa_muscle_open(rig, face, &o, &model, &err) < 0) return -1;
    return fai_muscle_pack(model, &data, &size, &err) < 0 ? -1 : 0;
}

static int close_all(void **state) {
    (void)state;
    fa_free(data);
    fa_muscle_close(model);
    fa_face_free(face);
    fa_rig_free(rig);
    return 0;
}

static FaMuscleModel empty(void) { return (FaMuscleModel){.rig = rig, .face = face, .options = {.flesh_size = 2000}}; }

static void forget(FaMuscleModel *m) {
    fai_muscle_samples_free(&m->samples);
    fai_muscles_free(&m->muscles);
    fai_filled_free(&m->flesh);
}

static void test_back(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleModel m = empty();
    unsigned char *again;
    size_t n;
    assert_true(fai_muscle_unpack(&m, data, size));
    CHECK_OK(fai_muscle_pack(&m, &again, &n, &err), &err);
    assert_true(n == size);
    assert_memory_equal(again, data, n);
    fa_free(again);
    forget(&m);
    // through the face's file
    const char *path = test_path("muscle_file.face");
    FaFace *loaded;
    assert_false(fa_muscle_kept(face));
    CHECK_OK(fa_muscle_keep(model, face, &err), &err);
    CHECK_OK(fa_face_save(face, path, &err), &err);
    CHECK_OK(fa_face_load(path, &loaded, &err), &err);
    assert_true(fa_muscle_kept(loaded) && loaded->muscles_size == size);
    FaMuscleModel *kept;
    CHECK_OK(fa_muscle_open(rig, loaded, NULL, &kept, &err), &err);
    assert_true(fa_muscle_built(kept)->flesh_seconds == 0 && fa_muscle_built(model)->flesh_seconds > 0);
    assert_true(fa_muscle_built(kept)->free == fa_muscle_built(model)->free);
    assert_true(fa_muscle_built(kept)->least_share == fa_muscle_built(model)->least_share);
    fa_muscle_close(kept);
    fa_face_free(loaded);
}

// Another size, another rig: of something else.
static void test_other(void **state) {
    (void)state;
    FaMuscleModel m = empty();
    m.options.flesh_size = 2001;
    assert_false(fai_muscle_unpack(&m, data, size));
    m = empty();
    float was = rig->delta[0];
    rig->delta[0] += 1e-3f;
    assert_false(fai_muscle_unpack(&m, data, size));
    rig->delta[0] = was;
    assert_null(m.flesh.arena);
}

static void test_damaged(void **state) {
    (void)state;
    int refused = 0, cut = 0;
    for (uint64_t k = 0; k < 200; k++) {
        FaMuscleModel m = empty();
        unsigned char *bad = malloc(size);
        memcpy(bad, data, size);
        for (uint64_t i = 0; i < 40; i++)
            bad[fai_random_u64(7, 1000 * k + 2 * i) % size] = (unsigned char)fai_random_u64(7, 1000 * k + 2 * i + 1);
        if (fai_muscle_unpack(&m, bad, size))
            forget(&m); // what passes is sound
        else
            refused++;
        // memory that is exactly as long as what is left of it
        size_t n = fai_random_u64(8, k) % size;
        unsigned char *little = malloc(n + 1);
        memcpy(little, data, n);
        m = empty();
        cut += !fai_muscle_unpack(&m, little, n);
        free(little);
        free(bad);
    }
    printf("%d of 200 damaged ones refused\n", refused);
    assert_true(refused > 150);
    assert_int_equal(cut, 200);
}

static void test_memory(void **state) {
    (void)state;
    for (int k = 1;; k++) {
        FaMuscleModel m = empty();
        test_fail_alloc(k);
        bool good = fai_muscle_unpack(&m, data, size), failed = test_alloc_failed();
        test_fail_alloc(0);
        if (good) forget(&m);
        if (!failed) {
            assert_true(good && k > 5);
            break;
        }
        assert_false(good);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_back),
        cmocka_unit_test(test_other),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("muscle_file", tests, open_all, close_all);
}

// One call that gets a face: loaded where a file or a cache has what is needed, made where not, gone on with where it
// was stopped.
#include "test_face_made.h"

#include "base/file.h"
#include "build/face_get.h"
#include "face/face.h"

#include <unistd.h>

enum { SHAPES = 10, FLESH = FA_NEED_FACE | FA_NEED_MATERIALS | FA_NEED_VOLUMES };
static FaRig *rig;
static const FaFaceOptions small = {.layers = 2, .thickness = 8e-3, .whole = true, .no_bones = true};

static FaRig *sheet_rig(int side, MadeShapeFn *shape) {
    Made m = {0};
    made_sheet(&m, side, 4e-3);
    FaRig *r = made_rig_shapes(&m, SHAPES, shape);
    made_free(&m);
    return r;
}

static int set_up(void **state) {
    (void)state;
    rig = sheet_rig(12, made_move_sheet);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fa_rig_free(rig);
    return 0;
}

static FaFace *get(const FaRig *of, unsigned needs, FaFaceGet how, FaFaceGot *got) {
    FaError err = {0};
    FaFace *f;
    if (!how.options) how.options = &small;
    how.got = got;
    CHECK_OK(fa_face_get(of, needs, &how, &f, &err), &err);
    return f;
}

static uint64_t hash_free(FaFace *f) {
    const uint64_t h = fai_face_hash(f);
    fa_face_free(f);
    return h;
}

static void flip_byte(const char *path) {
    FaError err = {0};
    FaBytes b;
    CHECK_OK(fai_file_read(path, 0, &b, &err), &err);
    b.data[b.size / 2] ^= 1;
    CHECK_OK(fai_file_write(path, b.data, b.size, &err), &err);
    fai_bytes_free(&b);
}

static void policy(void **state) {
    (void)state;
    assert_int_equal(fa_method_needs("enrich"), FLESH);
    assert_int_equal(fa_method_needs("projective"), FA_NEED_FACE);
    assert_int_equal(fa_method_needs("linear") | fa_method_needs("analytic") | fa_method_needs("none"), 0);
    const FaFaceOptions plain = fa_face_options_for(FA_NEED_FACE), flesh = fa_face_options_for(FLESH);
    assert_true(plain.layers == 1 && plain.simulate_vertices == 0);
    assert_true(flesh.layers == 2 && flesh.simulate_vertices == 3500);
    // without options it is that of the needs
    FaError err = {0};
    FaFace *f;
    CHECK_OK(fa_face_get(rig, 0, NULL, &f, &err), &err);
    assert_int_equal(f->layers, 1);
    assert_int_equal(fa_face_stages(f), FA_NEED_FACE);
    fa_face_free(f);
    assert_int_equal(fa_face_get(rig, FA_NEEDS + 1, NULL, &f, &err), FA_E_ARG);
    assert_null(f);
}

// The same as by hand; and from the cache the next time.
static void cache_hit(void **state) {
    (void)state;
    FaError err = {0};
    FaFaceGot got;
    FaFace *byhand;
    const char *cache = test_path("hit.face");
    const FaFaceGet how = {.cache = cache};
    CHECK_OK(fa_face_build(rig, &small, &byhand, &err), &err);
    CHECK_OK(fa_face_materials(byhand, rig, NULL, &err), &err);
    CHECK_OK(fa_face_volumes(byhand, rig, NULL, NULL, &err), &err);
    const uint64_t want = hash_free(byhand);
    assert_true(hash_free(get(rig, FLESH, how, &got)) == want);
    assert_true(got.made == FLESH && got.loaded == 0 && got.saved && got.volumes.nshape == SHAPES);
    assert_false(fai_file_exists(test_path("hit.face.part")));
    assert_true(hash_free(get(rig, FLESH, how, &got)) == want);
    assert_true(got.made == 0 && got.loaded == FLESH && !got.saved);
    // fewer needs are met as well; `again` makes it all the same
    assert_true(hash_free(get(rig, FA_NEED_FACE, how, &got)) == want && got.made == 0);
    assert_true(hash_free(get(rig, FLESH, (FaFaceGet){.cache = cache, .again = true}, &got)) == want);
    assert_true(got.made == FLESH && got.saved);
    // damaged: made again, without a word
    flip_byte(cache);
    assert_true(hash_free(get(rig, FLESH, how, &got)) == want && got.made == FLESH);
}

// What is missing is made on top of what is there, and kept; unless what is there was built otherwise.
static void missing_stage(void **state) {
    (void)state;
    FaFaceGot got;
    const char *cache = test_path("missing.face");
    const FaFaceGet how = {.cache = cache};
    const uint64_t want = hash_free(get(rig, FLESH, (FaFaceGet){0}, &got));
    fa_face_free(get(rig, FA_NEED_FACE, how, &got));
    assert_int_equal(got.made, FA_NEED_FACE);
    fa_face_free(get(rig, FA_NEED_FACE | FA_NEED_MATERIALS, how, &got));
    assert_true(got.made == FA_NEED_MATERIALS && got.loaded == FA_NEED_FACE && got.saved);
    assert_true(hash_free(get(rig, FLESH, how, &got)) == want);
    assert_true(got.made == FA_NEED_VOLUMES && got.loaded == (FA_NEED_FACE | FA_NEED_MATERIALS));
    assert_true(hash_free(get(rig, FLESH, how, &got)) == want && got.made == 0);
    // volumes without materials: those come before
    const char *bare = test_path("bare.face");
    fa_face_free(get(rig, FA_NEED_VOLUMES, (FaFaceGet){.cache = bare}, &got));
    assert_true(hash_free(get(rig, FLESH, (FaFaceGet){.cache = bare}, &got)) == want);
    assert_true(got.made == FLESH && got.loaded == 0);
    // one layer is there, two are asked for
    FaFaceOptions one = small;
    one.layers = 1;
    const char *thin = test_path("thin.face");
    fa_face_free(get(rig, FA_NEED_FACE, (FaFaceGet){.cache = thin, .options = &one}, &got));
    assert_true(hash_free(get(rig, FLESH, (FaFaceGet){.cache = thin}, &got)) == want && got.made == FLESH);
}

// Volumes of other shapes: made again.
static void half_shape(const Made *m, int s, float *d) {
    made_move_sheet(m, s, d);
    for (int i = 0; i < 3 * m->nvert; i++) d[i] *= 0.5f;
}

static void other_rig(void **state) {
    (void)state;
    FaError err = {0};
    FaFaceGot got;
    FaFace *f;
    const char *path = test_path("of.face");
    FaRig *other = sheet_rig(10, made_move_sheet), *edited = sheet_rig(12, half_shape);
    const uint64_t mine = hash_free(get(rig, FLESH, (FaFaceGet){.cache = path}, &got));
    // the user's own file: refused, with a remedy, and untouched
    FaFaceGet how = {.file = path, .options = &small};
    assert_int_equal(fa_face_get(other, FLESH, &how, &f, &err), FA_E_ARG);
    assert_null(f);
    assert_non_null(strstr(err.path, "of.face"));
    assert_non_null(strstr(err.remedy, "fascia build"));
    how.file = test_path("absent.face");
    assert_int_equal(fa_face_get(rig, FLESH, &how, &f, &err), FA_E_FILE);
    assert_true(hash_free(get(rig, FLESH, (FaFaceGet){.file = path}, &got)) == mine && got.made == 0);
    // a cache: made for the rig that it is asked for, also where only the shapes are others
    const uint64_t changed = hash_free(get(edited, FLESH, (FaFaceGet){.cache = path}, &got));
    assert_true(changed != mine && got.made == FLESH && got.saved);
    assert_true(hash_free(get(edited, FLESH, (FaFaceGet){0}, &got)) == changed);
    fa_face_free(get(other, FLESH, (FaFaceGet){.cache = path}, &got));
    assert_true(got.made == FLESH && got.saved);
    fa_rig_free(other);
    fa_rig_free(edited);
}

// A file of the user's without volumes: they are made, and the file stays what it is.
static void own_file(void **state) {
    (void)state;
    FaError err = {0};
    FaFaceGot got;
    FaBytes before, after;
    const char *path = test_path("own.face");
    fa_face_free(get(rig, FA_NEED_FACE, (FaFaceGet){.cache = path}, &got));
    CHECK_OK(fai_file_read(path, 0, &before, &err), &err);
    FaFace *f = get(rig, FLESH, (FaFaceGet){.file = path, .cache = test_path("unused.face")}, &got);
    assert_true(fai_face_stages_for(f, rig) == FLESH && !got.saved);
    assert_true(got.loaded == FA_NEED_FACE && got.made == (FA_NEED_MATERIALS | FA_NEED_VOLUMES));
    fa_face_free(f);
    CHECK_OK(fai_file_read(path, 0, &after, &err), &err);
    assert_true(before.size == after.size && !memcmp(before.data, after.data, after.size));
    assert_false(fai_file_exists(test_path("unused.face")));
    fai_bytes_free(&before);
    fai_bytes_free(&after);
}

// --- stopped --------------------------------------------------------------------------------------------------------

typedef struct Stop {
    const char *stage;
    double at; // share done
    char seen[64];
} Stop;

static bool stop_at(void *user, const char *stage, double done) {
    Stop *s = user;
    if (!strstr(s->seen, stage)) snprintf(s->seen + strlen(s->seen), sizeof s->seen - strlen(s->seen), "%s ", stage);
    return strcmp(stage, s->stage) != 0 || done < s->at;
}

static void cancelled(void **state) {
    (void)state;
    FaError err = {0};
    FaFaceGot got;
    FaFace *f;
    const char *cache = test_path("stop.face"), *part = test_path("stop.face.part");
    const uint64_t want = hash_free(get(rig, FLESH, (FaFaceGet){0}, &got));
    Stop stop = {"volumes", 0.5, ""};
    FaFaceGet how = {.cache = cache, .options = &small, .progress = stop_at, .progress_user = &stop, .got = &got};
    assert_int_equal(fa_face_get(rig, FLESH, &how, &f, &err), FA_E_CANCELLED);
    assert_null(f);
    assert_string_equal(err.what, "cancelled: finished shapes are kept, and the same command goes on from there");
    assert_string_equal(stop.seen, "face materials volumes ");
    assert_true(got.made == 0 && got.volumes.nshape == 0);
    assert_true(fai_file_exists(part) && !fai_file_exists(cache));
    // the next one goes on, to the same face
    FaFace *on = get(rig, FLESH, (FaFaceGet){.cache = cache}, &got);
    assert_true(got.volumes.resumed > 0 && got.volumes.resumed < SHAPES && got.saved);
    assert_true(hash_free(on) == want);
    assert_true(fai_file_exists(cache) && !fai_file_exists(part));
    // before anything was made
    stop = (Stop){"face", 0, ""};
    how.cache = test_path("never.face");
    assert_int_equal(fa_face_get(rig, FLESH, &how, &f, &err), FA_E_CANCELLED);
    assert_null(f);
    assert_false(fai_file_exists(how.cache));
}

static void no_memory(void **state) {
    (void)state;
    const char *path = test_path("memory.face");
    FaFaceGot got;
    fa_face_free(get(rig, FA_NEED_FACE | FA_NEED_MATERIALS, (FaFaceGet){.cache = path}, &got));
    const FaFaceGet how = {.file = path};
    bool done = false;
    const long before = test_alloc_balance();
    for (long n = 1; !done && n < 10000; n++) {
        FaError err = {0};
        FaFace *f;
        test_fail_alloc(n);
        FaCode rc = fa_face_get(rig, FA_NEED_FACE | FA_NEED_MATERIALS, &how, &f, &err);
        done = !test_alloc_failed();
        test_fail_alloc(0);
        assert_true(rc == FA_OK || rc == FA_E_MEMORY);
        assert_true((rc < 0) == (f == NULL));
        fa_face_free(f);
        assert_int_equal(test_alloc_balance(), before);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(policy),    cmocka_unit_test(cache_hit),
                                       cmocka_unit_test(own_file),  cmocka_unit_test(missing_stage),
                                       cmocka_unit_test(other_rig), cmocka_unit_test(cancelled),
                                       cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

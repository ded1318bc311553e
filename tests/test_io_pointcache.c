// PC2 and MDD: byte layouts, times, and files that are not what they say.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "io/pointcache.h"

#include <dirent.h>
#include <unistd.h>

enum { NV = 3, NF = 4 };

static void make_frame(int f, float x[3 * NV]) {
    for (int i = 0; i < 3 * NV; i++) x[i] = (float)f + 0.125f * (float)i - 0.3f;
}

static const char *write_cache(const char *name, FaCacheKind kind, double fps, double start) {
    const char *path = test_path(name);
    FaError err = {0};
    FaCacheWriter *w;
    CHECK_OK(fai_cache_create(path, kind, NV, fps, start, &w, &err), &err);
    for (int f = 0; f < NF; f++) {
        float x[3 * NV];
        make_frame(f, x);
        CHECK_OK(fai_cache_push(w, f / fps, x, &err), &err);
    }
    CHECK_OK(fai_cache_finish(w, &err), &err);
    return path;
}

static FaBytes read_all(const char *path) {
    FaError err = {0};
    FaBytes b;
    CHECK_OK(fai_file_read(path, 0, &b, &err), &err);
    return b;
}

static int files_in(const char *dir) {
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static uint32_t le(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint32_t be(const unsigned char *p) {
    return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}
static float as_float(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

// --- layouts ------------------------------------------------------------------------------------------------------

static void test_pc2_bytes(void **state) {
    (void)state;
    FaBytes b = read_all(write_cache("a.pc2", FA_CACHE_PC2, 24, 0.5));
    assert_int_equal(b.size, 32 + NF * NV * 12);
    assert_memory_equal(b.data, "POINTCACHE2\0", 12);
    assert_int_equal(le(b.data + 12), 1);
    assert_int_equal(le(b.data + 16), NV);
    CHECK_NEAR(as_float(le(b.data + 20)), 12, 0); // the first frame's number
    CHECK_NEAR(as_float(le(b.data + 24)), 1, 0);  // frames per sample
    assert_int_equal(le(b.data + 28), NF);
    for (int f = 0; f < NF; f++) {
        float x[3 * NV];
        make_frame(f, x);
        for (int i = 0; i < 3 * NV; i++) assert_true(as_float(le(b.data + 32 + 4 * (f * 3 * NV + i))) == x[i]);
    }
    fai_bytes_free(&b);
}

static void test_mdd_bytes(void **state) {
    (void)state;
    FaBytes b = read_all(write_cache("a.mdd", FA_CACHE_MDD, 24, 0.5));
    assert_int_equal(b.size, 8 + 4 * NF + NF * NV * 12);
    assert_int_equal(be(b.data), NF);
    assert_int_equal(be(b.data + 4), NV);
    for (int f = 0; f < NF; f++) {
        float x[3 * NV];
        make_frame(f, x);
        assert_true(as_float(be(b.data + 8 + 4 * f)) == (float)(0.5 + f / 24.0));
        for (int i = 0; i < 3 * NV; i++) assert_true(as_float(be(b.data + 8 + 4 * NF + 4 * (f * 3 * NV + i))) == x[i]);
    }
    fai_bytes_free(&b);
}

static void check_frames(const FaPointCache *c) {
    assert_int_equal(c->nvert, NV);
    assert_int_equal(c->nframe, NF);
    static const int order[] = {2, 0, 3, 1}; // any order
    for (int k = 0; k < NF; k++) {
        float x[3 * NV], expect[3 * NV];
        FaError err = {0};
        make_frame(order[k], expect);
        CHECK_OK(fai_cache_read(c, order[k], x, &err), &err);
        assert_memory_equal(x, expect, sizeof x);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    FaError err = {0};
    FaPointCache *c;
    CHECK_OK(fai_cache_open(write_cache("b.pc2", FA_CACHE_PC2, 24, 0), &c, &err), &err);
    check_frames(c);
    CHECK_NEAR(c->fps, 0, 0); // PC2 has no rate
    fai_cache_close(c);
    CHECK_OK(fai_cache_open(write_cache("b.mdd", FA_CACHE_MDD, 30000 / 1001.0, 7), &c, &err), &err);
    check_frames(c);
    CHECK_NEAR(c->fps, 30000 / 1001.0, 0); // exactly, though its times are floats
    CHECK_NEAR(c->start, 7, 0);
    assert_null(c->time);
    fai_cache_close(c);
    // PC2 is known by its content, whatever its name
    CHECK_OK(fai_cache_open(write_cache("b.cache", FA_CACHE_PC2, 24, 0), &c, &err), &err);
    check_frames(c);
    fai_cache_close(c);
}

// --- times --------------------------------------------------------------------------------------------------------

static FaCode open_bytes(const char *name, const void *data, size_t size, FaPointCache **c, FaError *err) {
    *err = (FaError){0};
    const char *path = test_path(name);
    CHECK_OK(fai_file_write(path, data, size, err), err);
    return fai_cache_open(path, c, err);
}

static void set_be(unsigned char *p, float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(u >> (24 - 8 * i));
}
static void set_le(unsigned char *p, uint32_t u) {
    for (int i = 0; i < 4; i++) p[i] = (unsigned char)(u >> (8 * i));
}

static void test_mdd_times(void **state) {
    (void)state;
    FaBytes b = read_all(write_cache("c.mdd", FA_CACHE_MDD, 25, 0));
    FaError err = {0};
    FaPointCache *c;
    // a dropped frame: the rate stays, the times are kept
    set_be(b.data + 8 + 12, 0.16f);
    CHECK_OK(open_bytes("c1.mdd", b.data, b.size, &c, &err), &err);
    CHECK_NEAR(c->fps, 25, 0);
    assert_non_null(c->time);
    CHECK_NEAR(c->time[3], 0.16, 1e-7);
    fai_cache_close(c);
    // equal, backwards, not a number
    static const struct {
        float t;
        const char *words;
    } bad[] = {
        {0.08f, "does not increase"}, {0.01f, "does not increase"}, {NAN, "not a number"}, {3e38f, "not a number"}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        set_be(b.data + 8 + 12, bad[i].t);
        assert_int_equal(open_bytes("c2.mdd", b.data, b.size, &c, &err), FA_E_FORMAT);
        assert_null(c);
        assert_string_equal(err.place, "frame 3");
        assert_non_null(strstr(err.what, bad[i].words));
    }
    fai_bytes_free(&b);
}

// A frame of times no float can tell apart is refused when written, not when read.
static void test_mdd_late_start(void **state) {
    (void)state;
    FaError err = {0};
    FaCacheWriter *w;
    CHECK_OK(fai_cache_create(test_path("late.mdd"), FA_CACHE_MDD, NV, 60, 2e6, &w, &err), &err);
    float x[3 * NV] = {0};
    CHECK_OK(fai_cache_push(w, 0, x, &err), &err);
    assert_int_equal(fai_cache_push(w, 1 / 60.0, x, &err), FA_E_LIMIT);
    fai_cache_abandon(w);
    assert_int_not_equal(access(test_path("late.mdd"), F_OK), 0);
}

static void test_pc2_rate_in_seconds(void **state) {
    (void)state;
    FaBytes b = read_all(write_cache("d.pc2", FA_CACHE_PC2, 24, 0));
    float rate = 1.0f / 60;
    uint32_t u;
    memcpy(&u, &rate, 4);
    set_le(b.data + 24, u);
    FaError err = {0};
    FaPointCache *c;
    CHECK_OK(open_bytes("d1.pc2", b.data, b.size, &c, &err), &err);
    CHECK_NEAR(c->fps, 60, 0);
    fai_cache_close(c);
    fai_bytes_free(&b);
}

// --- broken files -------------------------------------------------------------------------------------------------

static void ignore_log(void *user, const FaLogRec *rec) { (void)user, (void)rec; }

static void test_truncated(void **state) {
    (void)state;
    static const struct {
        const char *name;
        FaCacheKind kind;
    } files[] = {{"t.pc2", FA_CACHE_PC2}, {"t.mdd", FA_CACHE_MDD}};
    for (int k = 0; k < 2; k++) {
        FaBytes b = read_all(write_cache(files[k].name, files[k].kind, 24, 0));
        for (size_t n = 0; n < b.size; n++) {
            FaError err;
            FaPointCache *c;
            assert_true(open_bytes(files[k].name, b.data, n, &c, &err) < 0);
            assert_null(c);
            assert_true(err.what[0] && err.path[0] && err.remedy[0]);
        }
        // the first frame that is missing is named
        FaError err;
        FaPointCache *c;
        assert_int_equal(open_bytes(files[k].name, b.data, b.size - NV * 12 - 1, &c, &err), FA_E_FORMAT);
        assert_string_equal(err.place, "frame 2");
        // bytes at the end do no harm
        unsigned char longer[1000] = {0};
        memcpy(longer, b.data, b.size);
        fa_log_set(ignore_log, NULL);
        CHECK_OK(open_bytes(files[k].name, longer, b.size + 5, &c, &err), &err);
        fa_log_set(NULL, NULL);
        check_frames(c);
        fai_cache_close(c);
        fai_bytes_free(&b);
    }
}

static void test_headers(void **state) {
    (void)state;
    FaError err;
    FaPointCache *c;
    FaBytes b = read_all(write_cache("h.pc2", FA_CACHE_PC2, 24, 0));
    static const struct {
        int at;
        uint32_t value;
        FaCode code;
        const char *words;
    } bad[] = {{12, 2, FA_E_UNSUPPORTED, "version 2"},
               {16, 0, FA_E_FORMAT, "0 points"},
               {16, 0xFFFFFFFF, FA_E_FORMAT, "-1 points"},
               {16, 0x7FFFFFFF, FA_E_FORMAT, "2147483647 points"},
               {28, 0, FA_E_FORMAT, "0 frames"},
               {28, 0x80000000, FA_E_FORMAT, "-2147483648 frames"},
               {28, 0x7FFFFFFF, FA_E_FORMAT, "2147483647 frames"},
               {0, 0, FA_E_FORMAT, "POINTCACHE2"}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaBytes copy = {fai_resize(NULL, b.size), b.size};
        memcpy(copy.data, b.data, b.size);
        set_le(copy.data + bad[i].at, bad[i].value);
        assert_int_equal(open_bytes("h1.pc2", copy.data, copy.size, &c, &err), bad[i].code);
        if (!strstr(err.what, bad[i].words)) {
            print_error("'%s' does not say '%s'\n", err.what, bad[i].words);
            fail();
        }
        fai_bytes_free(&copy);
    }
    fai_bytes_free(&b);
    err = (FaError){0};
    assert_int_equal(fai_cache_open(test_path("missing.pc2"), &c, &err), FA_E_FILE);
    assert_int_equal(fai_cache_open(test_dir(), &c, &err), FA_E_FILE);
}

static void test_not_a_number(void **state) {
    (void)state;
    FaBytes b = read_all(write_cache("n.pc2", FA_CACHE_PC2, 24, 0));
    set_le(b.data + 32 + 4 * (2 * 3 * NV + 5), 0x7FC00000); // frame 2, vertex 1
    FaError err;
    FaPointCache *c;
    CHECK_OK(open_bytes("n1.pc2", b.data, b.size, &c, &err), &err);
    float x[3 * NV];
    CHECK_OK(fai_cache_read(c, 1, x, &err), &err);
    assert_int_equal(fai_cache_read(c, 2, x, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "frame 2, vertex 1");
    assert_non_null(strstr(err.path, "n1.pc2"));
    fai_cache_close(c);
    fai_bytes_free(&b);
}

// --- writing ------------------------------------------------------------------------------------------------------

static void test_atomic(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const char *name = kind ? "w.mdd" : "w.pc2", *path = write_cache(name, (FaCacheKind)kind, 24, 0);
        FaBytes before = read_all(path);
        int files = files_in(test_dir());
        FaError err = {0};
        FaCacheWriter *w;
        float x[6] = {0};
        CHECK_OK(fai_cache_create(path, (FaCacheKind)kind, 2, 24, 0, &w, &err), &err);
        CHECK_OK(fai_cache_push(w, 0, x, &err), &err);
        fai_cache_abandon(w);
        CHECK_OK(fai_cache_create(path, (FaCacheKind)kind, 2, 24, 0, &w, &err), &err);
        assert_int_equal(fai_cache_finish(w, &err), FA_E_ARG); // no frames
        FaBytes after = read_all(path);
        assert_int_equal(after.size, before.size);
        assert_memory_equal(after.data, before.data, before.size);
        assert_int_equal(files_in(test_dir()), files);
        fai_bytes_free(&before);
        fai_bytes_free(&after);
    }
    FaError err = {0};
    FaCacheWriter *w;
    assert_int_equal(fai_cache_create(test_path("no/such/folder.pc2"), FA_CACHE_PC2, 2, 24, 0, &w, &err), FA_E_FILE);
    assert_null(w);
}

static void test_allocation_failure(void **state) {
    (void)state;
    test_fail_alloc(0);
    long before = test_alloc_balance();
    for (int kind = 0; kind < 2; kind++) {
        bool done = false;
        for (long n = 1; n < 200 && !done; n++) {
            FaError err = {0};
            FaCacheWriter *w = NULL;
            FaPointCache *c = NULL;
            const char *path = test_path(kind ? "f.mdd" : "f.pc2");
            float x[3 * NV] = {0};
            test_fail_alloc(n);
            FaCode rc = fai_cache_create(path, (FaCacheKind)kind, NV, 24, 0, &w, &err);
            for (int f = 0; f < 3 && rc >= 0; f++)
                if ((rc = fai_cache_push(w, f / 24.0, x, &err)) < 0) fai_cache_abandon(w);
            if (rc >= 0) rc = fai_cache_finish(w, &err);
            if (rc >= 0) rc = fai_cache_open(path, &c, &err);
            done = !test_alloc_failed();
            test_fail_alloc(0);
            if (rc < 0)
                assert_int_equal(rc, FA_E_MEMORY); // syncing the folder may fail, and the file is still whole
            else
                assert_int_equal(c->nframe, 3);
            fai_cache_close(c);
            assert_int_equal(test_alloc_balance(), before);
        }
        assert_true(done);
    }
    fa_allocator_set(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pc2_bytes),          cmocka_unit_test(test_mdd_bytes),
        cmocka_unit_test(test_round_trip),         cmocka_unit_test(test_mdd_times),
        cmocka_unit_test(test_mdd_late_start),     cmocka_unit_test(test_pc2_rate_in_seconds),
        cmocka_unit_test(test_truncated),          cmocka_unit_test(test_headers),
        cmocka_unit_test(test_not_a_number),       cmocka_unit_test(test_atomic),
        cmocka_unit_test(test_allocation_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

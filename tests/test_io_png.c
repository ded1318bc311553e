// PNG: what is written reads back the same, and bad bytes end in an error.
#include "test.h"

#include "base/file.h"
#include "io/png.h"

enum { W = 37, H = 23 };

static unsigned char *pattern(void) {
    unsigned char *rgb = malloc(3 * W * H);
    for (int i = 0; i < 3 * W * H; i++) rgb[i] = (unsigned char)(i * 131 + i / 7 * 17);
    return rgb;
}

static void reads_back_the_same(void **state) {
    (void)state;
    FaError err = {0};
    unsigned char *rgb = pattern(), *back;
    int w, h;
    const char *path = test_path("a.png");
    CHECK_OK(fai_png_write(path, rgb, W, H, "fascia test", "gru\xc3\xbc\xc3\x9f", &err), &err);
    CHECK_OK(fai_png_read(path, &back, &w, &h, &err), &err);
    assert_int_equal(w, W);
    assert_int_equal(h, H);
    assert_memory_equal(rgb, back, 3 * W * H);
    fa_free(back);
    free(rgb);
}

static void text_is_stored(void **state) {
    (void)state;
    FaError err = {0};
    unsigned char *rgb = pattern();
    FaBytes png;
    CHECK_OK(fai_png_encode(rgb, W, H, "fascia test", "yaw 35", &png, &err), &err);
    assert_non_null(memmem(png.data, png.size, "Software", 8));
    assert_non_null(memmem(png.data, png.size, "fascia test", 11));
    assert_non_null(memmem(png.data, png.size, "yaw 35", 6));
    fai_bytes_free(&png);
    CHECK_OK(fai_png_encode(rgb, W, H, NULL, NULL, &png, &err), &err);
    assert_null(memmem(png.data, png.size, "Software", 8));
    fai_bytes_free(&png);
    free(rgb);
}

static void same_bytes_every_time(void **state) {
    (void)state;
    FaError err = {0};
    unsigned char *rgb = pattern();
    FaBytes a, b;
    CHECK_OK(fai_png_encode(rgb, W, H, "x", "y", &a, &err), &err);
    CHECK_OK(fai_png_encode(rgb, W, H, "x", "y", &b, &err), &err);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    fai_bytes_free(&a);
    fai_bytes_free(&b);
    free(rgb);
}

static void bad_bytes_are_refused(void **state) {
    (void)state;
    unsigned char *rgb = pattern(), *back;
    FaBytes png;
    FaError err = {0};
    int w, h;
    CHECK_OK(fai_png_encode(rgb, W, H, NULL, NULL, &png, &err), &err);
    size_t idat = (size_t)((unsigned char *)memmem(png.data, png.size, "IDAT", 4) - png.data);
    for (size_t n = 0; n < png.size - 12; n++) { // cut anywhere before the end marker
        FaError e = {0};
        FaCode rc = fai_png_decode(png.data, n, &back, &w, &h, &e);
        if (rc >= 0) {
            assert_true(n > idat); // all pixels were there
            fa_free(back);
        } else {
            assert_null(back);
            assert_true(e.what[0] != 0);
        }
    }
    // a flipped bit in the pixels breaks the checksum
    png.data[idat + 20] ^= 0x10;
    assert_int_equal(fai_png_decode(png.data, png.size, &back, &w, &h, &err), FA_E_FORMAT);
    fai_bytes_free(&png);
    free(rgb);
}

static void huge_sizes_are_refused(void **state) {
    (void)state;
    unsigned char *rgb = pattern(), *back;
    FaBytes png;
    FaError err = {0};
    int w, h;
    assert_int_equal(fai_png_encode(rgb, 0, H, NULL, NULL, &png, &err), FA_E_ARG);
    err = (FaError){0};
    assert_int_equal(fai_png_encode(rgb, 100000, 1, NULL, NULL, &png, &err), FA_E_ARG);
    assert_true(err.remedy[0] != 0);
    // a header that promises 2^31 x 2^31 pixels
    err = (FaError){0};
    CHECK_OK(fai_png_encode(rgb, W, H, NULL, NULL, &png, &err), &err);
    memcpy(png.data + 16, "\x7f\xff\xff\xff\x7f\xff\xff\xff", 8);
    assert_true(fai_png_decode(png.data, png.size, &back, &w, &h, &err) < 0);
    fai_bytes_free(&png);
    free(rgb);
}

static void a_path_that_cannot_be_written(void **state) {
    (void)state;
    unsigned char *rgb = pattern();
    FaError err = {0};
    assert_int_equal(fai_png_write("/nowhere/at/all.png", rgb, W, H, NULL, NULL, &err), FA_E_FILE);
    assert_string_equal(err.path, "/nowhere/at/all.png");
    free(rgb);
}

static void memory_runs_out(void **state) {
    (void)state;
    unsigned char *rgb = pattern();
    int failures = 0;
    test_fail_alloc(0);
    long before = test_alloc_balance();
    for (long n = 1;; n++) {
        FaError err = {0};
        FaBytes png;
        test_fail_alloc(n);
        FaCode rc = fai_png_encode(rgb, W, H, "a", "b", &png, &err);
        bool delivered = test_alloc_failed();
        test_fail_alloc(0);
        if (rc < 0) failures++;
        fai_bytes_free(&png);
        assert_int_equal(test_alloc_balance(), before);
        if (!delivered) {
            assert_int_equal(rc, FA_OK);
            break;
        }
    }
    assert_true(failures > 0);
    free(rgb);
}

#ifndef FA_HAVE_SPNG
static void a_build_without_spng_says_so(void **state) {
    (void)state;
    FaError err = {0};
    unsigned char *rgb = pattern();
    assert_int_equal(fai_png_write(test_path("none.png"), rgb, W, H, NULL, NULL, &err), FA_E_UNSUPPORTED);
    assert_non_null(strstr(err.remedy, "spng"));
    free(rgb);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_the_same),    cmocka_unit_test(text_is_stored),
        cmocka_unit_test(same_bytes_every_time),  cmocka_unit_test(bad_bytes_are_refused),
        cmocka_unit_test(huge_sizes_are_refused), cmocka_unit_test(a_path_that_cannot_be_written),
        cmocka_unit_test(memory_runs_out),
    };
#ifndef FA_HAVE_SPNG
    const struct CMUnitTest without[] = {cmocka_unit_test(a_build_without_spng_says_so)};
    (void)tests;
    return cmocka_run_group_tests(without, NULL, NULL);
#else
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}

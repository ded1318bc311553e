// Captions and legends: text that can be read, bars that tell the truth.
#include "test.h"

#include "base/number.h"
#include "render/canvas.h"
#include "render/heat.h"
#include "render/shade.h"
#include "render/sheet.h"

static FaImage grey(int w, int h) {
    FaImage im = {w, h, malloc(3 * (size_t)w * (size_t)h)};
    memset(im.rgb, 100, 3 * (size_t)w * (size_t)h);
    return im;
}

static int inked(const FaImage *im, int x0, int y0, int x1, int y1) {
    int n = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) n += memcmp(im->rgb + 3 * (y * im->width + x), "ddd", 3) != 0;
    return n;
}

static const FaInk white = {255, 255, 255, 1};

static void every_character_has_its_own_form(void **state) {
    (void)state;
    unsigned char *seen[95];
    for (int c = 33; c < 127; c++) {
        FaImage im = grey(40, 40);
        fai_canvas_text(&im, 8, 28, 18, FA_ALIGN_LEFT, (char[2]){(char)c, 0}, white);
        assert_true(inked(&im, 0, 0, 40, 40) > 3);
        for (int k = 0; k < c - 33; k++)
            if (!memcmp(seen[k], im.rgb, 3 * 40 * 40)) fail_msg("'%c' looks like '%c'", c, k + 33);
        seen[c - 33] = im.rgb;
    }
    for (int k = 0; k < 94; k++) free(seen[k]);
}

static void text_stays_in_its_place(void **state) {
    (void)state;
    FaImage im = grey(300, 60);
    const char *text = "eyeLookDownLeft";
    float w = fai_text_width(text, 12);
    fai_canvas_text(&im, 50, 40, 12, FA_ALIGN_LEFT, text, white);
    int all = inked(&im, 0, 0, 300, 60);
    assert_true(all > 100);
    assert_int_equal(all, inked(&im, 48, 26, 50 + (int)w + 3, 46));
    assert_true(inked(&im, 50 + (int)w - 6, 26, 50 + (int)w + 2, 42) > 0); // and reaches its end
    free(im.rgb);
    // aligned right and centred, the same text ends and is centred there
    FaImage right = grey(300, 60), centre = grey(300, 60);
    fai_canvas_text(&right, 250, 40, 12, FA_ALIGN_RIGHT, text, white);
    fai_canvas_text(&centre, 150, 40, 12, FA_ALIGN_CENTRE, text, white);
    assert_int_equal(inked(&right, 252, 0, 300, 60), 0);
    assert_true(inked(&right, 240, 0, 252, 60) > 0);
    assert_int_equal(inked(&centre, 0, 0, 150 - (int)(w / 2) - 3, 60), 0);
    assert_int_equal(inked(&centre, 150 + (int)(w / 2) + 3, 0, 300, 60), 0);
    free(right.rgb);
    free(centre.rgb);
}

static void drawing_outside_is_cut_off(void **state) {
    (void)state;
    FaImage im = grey(20, 20);
    fai_canvas_text(&im, -500, 10, 12, FA_ALIGN_LEFT, "hello", white);
    fai_canvas_text(&im, 10, 1e7f, 12, FA_ALIGN_LEFT, "hello", white);
    fai_canvas_rect(&im, -1e9f, -1e9f, -5, -5, white);
    fai_canvas_line(&im, 30, 30, 1e6f, 1e6f, 2, white);
    assert_int_equal(inked(&im, 0, 0, 20, 20), 0);
    fai_canvas_text(&im, -3, 22, 12, FA_ALIGN_LEFT, "hello \xff\xc3 \xe2\x82\xac", white); // half out, and odd bytes
    fai_canvas_rect(&im, -10, -10, 1e9f, 2, white);
    assert_int_equal(im.rgb[0], 255);
    free(im.rgb);
    FaImage target = grey(8, 8), tile = grey(6, 6);
    memset(tile.rgb, 7, 3 * 36);
    fai_canvas_place(&target, &tile, 5, -3);
    assert_int_equal(inked(&target, 0, 0, 8, 8), 9);
    fai_canvas_place(&target, &tile, 100, 100);
    free(target.rgb);
    free(tile.rgb);
}

static void long_captions_are_shortened(void **state) {
    (void)state;
    for (float width = 0; width < 160; width += 3) {
        char text[64] = "mouthUpperUpLeft \xc3\xa4\xc3\xb6\xc3\xbc x";
        size_t before = strlen(text);
        fai_text_fit(text, 10, width);
        assert_true(strlen(text) <= before);
        if (width > 20) assert_true(fai_text_width(text, 10) <= width || strlen(text) == before);
    }
    char whole[] = "jawOpen", cut[] = "jawOpen", one[] = "j";
    fai_text_fit(whole, 10, 1000);
    assert_string_equal(whole, "jawOpen");
    fai_text_fit(cut, 10, 0.7f * fai_text_width("jawOpen", 10));
    assert_non_null(strstr(cut, ".."));
    fai_text_fit(one, 10, 0.1f);
    assert_true(strlen(one) <= 1);
}

static void colours_of_heat(void **state) {
    (void)state;
    // grey at nothing, red at the end, and no two steps of a hundred look alike
    FaVec none = fai_heat_colour(0), all = fai_heat_colour(1), over = fai_heat_colour(7), odd = fai_heat_colour(NAN);
    assert_true(fabsf(none.x - none.z) < 0.03f);
    assert_true(all.x > 8 * all.y);
    assert_memory_equal(&all, &over, sizeof all);
    assert_memory_equal(&none, &odd, sizeof none);
    for (int i = 0; i < 100; i++)
        for (int k = 0; k < i - 4; k++) {
            FaVec a = fai_heat_colour((float)i / 100), b = fai_heat_colour((float)k / 100);
            assert_true(fai_len(fai_sub(a, b)) > 0.004f);
        }
}

static void scales_are_round_and_hold_the_data(void **state) {
    (void)state;
    for (double mm = 1e-4; mm < 1e4; mm *= 1.07) {
        double s = fai_heat_scale(mm);
        assert_true(s >= mm * (1 - 1e-6) && (s <= 2 * mm || s <= 0.0100001));
        char text[FA_NUMBER_SIZE];
        assert_true(fai_format_double(text, s) <= 5); // "0.015", "2500"
    }
    CHECK_NEAR(fai_heat_scale(41), 50, 1e-9);
    CHECK_NEAR(fai_heat_scale(0.3), 0.3, 1e-12);
    CHECK_NEAR(fai_heat_scale(0), 0.01, 1e-12);
    CHECK_NEAR(fai_heat_scale(NAN), 0.01, 1e-12);
}

// The bar of the legend runs through the colours from its lower to its upper end.
static void the_legend_shows_the_scale(void **state) {
    (void)state;
    FaImage im = grey(400, 400);
    fai_heat_legend(&im, 5, "mm", false);
    assert_int_equal(inked(&im, 0, 0, 300, 400), 0); // at the right
    FaVec low = fai_heat_colour(0.02f), high = fai_heat_colour(0.98f);
    int found_low = -1, found_high = -1;
    for (int y = 0; y < 400; y++)
        for (int x = 300; x < 400; x++) {
            const unsigned char *p = im.rgb + 3 * (y * 400 + x);
            if (abs(p[0] - fai_srgb8(low.x)) < 4 && abs(p[1] - fai_srgb8(low.y)) < 4 &&
                abs(p[2] - fai_srgb8(low.z)) < 4)
                found_low = y;
            if (found_high < 0 && abs(p[0] - fai_srgb8(high.x)) < 4 && abs(p[1] - fai_srgb8(high.y)) < 4 &&
                abs(p[2] - fai_srgb8(high.z)) < 4)
                found_high = y;
        }
    assert_true(found_low > 0 && found_high > 0 && found_low - found_high > 140);
    // data beyond the scale is told
    FaImage over = grey(400, 400);
    fai_heat_legend(&over, 5, "mm", true);
    assert_true(memcmp(im.rgb, over.rgb, 3 * 400 * 400) != 0);
    free(im.rgb);
    free(over.rgb);
    FaImage tiny = grey(12, 9); // too small to be read, but no harm done
    fai_heat_legend(&tiny, 5, "mm", false);
    free(tiny.rgb);
}

static void sheets_lay_tiles_out(void **state) {
    (void)state;
    FaError err = {0};
    FaSheet s;
    CHECK_OK(fai_sheet_new(&s, 52, 0, 100, 100, "title", false, &err), &err);
    assert_true(s.columns * s.rows >= 52 && s.columns * (s.rows - 1) < 52);
    double shape = (double)s.image.width / s.image.height;
    assert_true(shape > 0.9 && shape < 2.2);
    FaImage tile = grey(100, 100);
    memset(tile.rgb, 200, 3 * 100 * 100);
    for (int i = 0; i < 52; i++) fai_sheet_put(&s, i, &tile, "jawOpen");
    size_t light = 0;
    for (int i = 0; i < s.image.width * s.image.height; i++) light += !memcmp(s.image.rgb + 3 * i, tile.rgb, 3);
    assert_true(light >= 52 * 10000 && light < 52 * 10000 + 3000); // no tile covers another
    free(tile.rgb);
    fai_sheet_free(&s);
    CHECK_OK(fai_sheet_new(&s, 5, 3, 40, 30, NULL, true, &err), &err);
    assert_int_equal(s.columns, 3);
    assert_int_equal(s.rows, 2);
    fai_sheet_legend(&s, 2, "mm");
    fai_sheet_free(&s);
    assert_int_equal(fai_sheet_new(&s, 100000, 0, 1000, 1000, NULL, false, &err), FA_E_LIMIT);
    err = (FaError){0};
    assert_int_equal(fai_sheet_new(&s, 0, 0, 10, 10, NULL, false, &err), FA_E_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_has_its_own_form),
        cmocka_unit_test(text_stays_in_its_place),
        cmocka_unit_test(drawing_outside_is_cut_off),
        cmocka_unit_test(long_captions_are_shortened),
        cmocka_unit_test(colours_of_heat),
        cmocka_unit_test(scales_are_round_and_hold_the_data),
        cmocka_unit_test(the_legend_shows_the_scale),
        cmocka_unit_test(sheets_lay_tiles_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

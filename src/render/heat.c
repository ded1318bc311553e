#include "render/heat.h"

#include "base/base.h"
#include "base/number.h"
#include "render/canvas.h"
#include "render/shade.h"

#include <math.h>

FaVec fai_heat_colour(float f) {
    // grey, then through blue-green, yellow and orange to a dark red: lightness rises to yellow and falls again, hue
    // never repeats, and the grey end leaves undisturbed skin looking like clay
    static const FaVec stop[] = {{0.36f, 0.36f, 0.37f}, {0.13f, 0.30f, 0.48f}, {0.10f, 0.46f, 0.42f},
                                 {0.40f, 0.58f, 0.14f}, {0.82f, 0.60f, 0.06f}, {0.80f, 0.22f, 0.03f},
                                 {0.50f, 0.025f, 0.04f}};
    const int last = FA_COUNT(stop) - 1;
    f = fai_clamp01(f) * (float)last;
    if (!(f > 0)) return stop[0];
    int i = FA_MIN((int)f, last - 1);
    return fai_lerp(stop[i], stop[i + 1], f - (float)i);
}

// Ends of scales, and steps up to each that give short numbers.
static const struct {
    double end;
    int ticks;
} ends[] = {{1, 5}, {1.5, 3}, {2, 4}, {2.5, 5}, {3, 3}, {4, 4}, {5, 5}, {6, 3}, {8, 4}, {10, 5}};

double fai_heat_scale(double most) {
    if (!(most > 0.01) || !isfinite(most)) return 0.01;
    double power = pow(10, floor(log10(most)));
    for (int i = 0; i < FA_COUNT(ends); i++)
        if (most <= ends[i].end * power * (1 + 1e-6))
            return power < 1 ? ends[i].end / round(1 / power) : ends[i].end * power;
    return 10 * power;
}

static int tick_count(double max_mm) {
    double digit = max_mm / pow(10, floor(log10(max_mm) + 1e-9));
    for (int i = 0; i < FA_COUNT(ends); i++)
        if (fabs(digit - ends[i].end) < 1e-6) return ends[i].ticks;
    return 4;
}

// A tick's number, without the noise of its division.
static void tick_text(double v, char text[FA_NUMBER_SIZE]) {
    double power = v != 0 ? pow(10, floor(log10(fabs(v))) - 3) : 1;
    v = round(v / power);
    fai_format_double(text, power < 1 ? v / round(1 / power) : v * power);
}

void fai_heat_legend(FaImage *image, double max_mm, const char *title, bool exceeded) {
    float h = (float)image->height, w = (float)image->width;
    float size = FA_MAX(7.0f, 0.0155f * FA_MIN(w, h)); // of the text
    float bar = FA_MAX(6.0f, 0.020f * FA_MIN(w, h));
    float height = 0.42f * h, bottom = 0.5f * (h + height), top = bottom - height;
    int ticks = tick_count(max_mm);
    const FaInk white = {238, 239, 241, 1}, frame = {20, 21, 23, 0.8f};

    // room for the widest number to the right of the bar
    float widest = 0;
    char text[2 * FA_NUMBER_SIZE];
    for (int i = 0; i <= ticks; i++) {
        tick_text(max_mm * i / ticks, text);
        widest = FA_MAX(widest, fai_text_width(text, size));
    }
    float right = w - 1.4f * size - widest - 0.9f * size, left = right - bar;
    fai_canvas_rect(image, left - 1, top - 1, right + 1, bottom + 1, frame);
    for (int y = (int)top; y < (int)bottom; y++) {
        FaVec c = fai_heat_colour((bottom - (float)y - 0.5f) / height);
        fai_canvas_rect(image, left, (float)y, right, (float)y + 1,
                        (FaInk){fai_srgb8(c.x), fai_srgb8(c.y), fai_srgb8(c.z), 1});
    }
    for (int i = 0; i <= ticks; i++) {
        float y = bottom - height * (float)i / (float)ticks;
        tick_text(max_mm * i / ticks, text);
        if (i == ticks && exceeded) {
            memmove(text + 1, text, strlen(text) + 1);
            text[0] = '>';
        }
        fai_canvas_line(image, right, y, right + 0.4f * size, y, 1.2f, white);
        fai_canvas_label(image, right + 0.9f * size, y + 0.5f * size, size, FA_ALIGN_LEFT, text, white);
    }
    fai_canvas_label(image, w - 1.4f * size, top - 1.5f * size, size, FA_ALIGN_RIGHT, title, white);
}

void fai_heat_strip(FaImage *image, float x0, float y, float x1, float size, double max_mm, const char *title) {
    const FaInk white = {228, 229, 232, 1};
    float bar = FA_MAX(5.0f, 0.9f * size);
    for (int x = (int)x0; x < (int)x1; x++) {
        FaVec c = fai_heat_colour(((float)x + 0.5f - x0) / (x1 - x0));
        fai_canvas_rect(image, (float)x, y, (float)x + 1, y + bar,
                        (FaInk){fai_srgb8(c.x), fai_srgb8(c.y), fai_srgb8(c.z), 1});
    }
    int ticks = tick_count(max_mm);
    char text[FA_NUMBER_SIZE];
    for (int i = 0; i <= ticks; i++) {
        float x = x0 + (x1 - x0) * (float)i / (float)ticks;
        tick_text(max_mm * i / ticks, text);
        fai_canvas_line(image, x, y + bar, x, y + bar + 0.35f * size, 1.1f, white);
        fai_canvas_text(image, x, y + bar + 1.65f * size, size, FA_ALIGN_CENTRE, text, white);
    }
    fai_canvas_text(image, x0 - 1.2f * size, y + 0.5f * (bar + size), size, FA_ALIGN_RIGHT, title, white);
}

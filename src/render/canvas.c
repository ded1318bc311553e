#include "render/canvas.h"

#include "render/vec.h"

#include <math.h>

static void blend(FaImage *image, int x, int y, FaInk ink, float cover) {
    unsigned char *p = image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
    float a = ink.alpha * cover;
    p[0] = (unsigned char)((float)p[0] + a * ((float)ink.r - (float)p[0]) + 0.5f);
    p[1] = (unsigned char)((float)p[1] + a * ((float)ink.g - (float)p[1]) + 0.5f);
    p[2] = (unsigned char)((float)p[2] + a * ((float)ink.b - (float)p[2]) + 0.5f);
}

// Whole pixels that a range touches, cut to [0, limit).
static void pixel_range(float lo, float hi, int limit, int *begin, int *end) {
    *begin = lo > 0 ? (int)FA_MIN(floorf(lo), (float)limit) : 0;
    *end = hi < (float)limit ? (int)FA_MAX(ceilf(hi), 0.0f) : limit;
}

void fai_canvas_rect(FaImage *image, float x0, float y0, float x1, float y1, FaInk ink) {
    int i0, i1, j0, j1;
    pixel_range(x0, x1, image->width, &i0, &i1);
    pixel_range(y0, y1, image->height, &j0, &j1);
    for (int j = j0; j < j1; j++)
        for (int i = i0; i < i1; i++) {
            float w = FA_MIN(x1, (float)(i + 1)) - FA_MAX(x0, (float)i),
                  h = FA_MIN(y1, (float)(j + 1)) - FA_MAX(y0, (float)j);
            if (w > 0 && h > 0) blend(image, i, j, ink, w * h);
        }
}

static float distance_to(const float s[4], float x, float y) {
    float dx = s[2] - s[0], dy = s[3] - s[1], len2 = dx * dx + dy * dy;
    float t = len2 > 0 ? fai_clamp01(((x - s[0]) * dx + (y - s[1]) * dy) / len2) : 0;
    return hypotf(s[0] + t * dx - x, s[1] + t * dy - y);
}

// Strokes that overlap are inked once: each pixel asks for the nearest.
static void draw_segments(FaImage *image, const float (*s)[4], int n, float half, float soft, FaInk ink) {
    float lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (int k = 0; k < n; k++)
        for (int e = 0; e < 4; e++) lo[e & 1] = FA_MIN(lo[e & 1], s[k][e]), hi[e & 1] = FA_MAX(hi[e & 1], s[k][e]);
    float reach = half + soft;
    if (n == 0 || !(lo[0] - reach < (float)image->width && lo[1] - reach < (float)image->height && hi[0] > -reach &&
                    hi[1] > -reach))
        return;
    int i0, i1, j0, j1;
    pixel_range(lo[0] - reach, hi[0] + reach, image->width, &i0, &i1);
    pixel_range(lo[1] - reach, hi[1] + reach, image->height, &j0, &j1);
    for (int j = j0; j < j1; j++)
        for (int i = i0; i < i1; i++) {
            float least = INFINITY;
            for (int k = 0; k < n; k++) least = FA_MIN(least, distance_to(s[k], (float)i + 0.5f, (float)j + 0.5f));
            float cover = fai_clamp01((half + soft - least) / (2 * soft));
            if (cover > 0) blend(image, i, j, ink, cover);
        }
}

void fai_canvas_line(FaImage *image, float x0, float y0, float x1, float y1, float width, FaInk ink) {
    const float s[1][4] = {{x0, y0, x1, y1}};
    draw_segments(image, s, 1, 0.5f * width, 0.5f, ink);
}

// --- text ---------------------------------------------------------------------------------------------------------

static const float gap = 2.6f; // between characters, grid units

// The next character of UTF-8 text; a wrong byte stands for itself.
static uint32_t next_code(const char **text) {
    const unsigned char *s = (const unsigned char *)*text;
    int more = s[0] >= 0xf0 && s[0] < 0xf8 ? 3 : s[0] >= 0xe0 && s[0] < 0xf0 ? 2 : s[0] >= 0xc0 && s[0] < 0xe0 ? 1 : 0;
    uint32_t code = more ? s[0] & (0x3fu >> more) : s[0];
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *text += 1;
            return s[0];
        }
        code = code << 6 | (s[i] & 0x3f);
    }
    *text += 1 + more;
    return code;
}

float fai_text_width(const char *text, float size) {
    float units = 0;
    while (*text) units += fai_glyph_width(next_code(&text)) + gap;
    return units > 0 ? (units - gap) * size / 9 : 0;
}

typedef struct Pen {
    float half, soft; // half a stroke's width and its edge's, pixels
    FaInk ink;
} Pen;

static void draw_text(FaImage *image, float x, float y, float size, FaAlign align, const char *text, Pen with) {
    if (align != FA_ALIGN_LEFT) x -= fai_text_width(text, size) * (align == FA_ALIGN_CENTRE ? 0.5f : 1);
    float scale = size / 9;
    while (*text) {
        FaGlyph g;
        fai_glyph(next_code(&text), &g);
        for (int k = 0; k < g.n; k++)
            for (int e = 0; e < 4; e += 2) {
                g.segment[k][e] = x + g.segment[k][e] * scale;
                g.segment[k][e + 1] = y - g.segment[k][e + 1] * scale;
            }
        draw_segments(image, (const float(*)[4])g.segment, g.n, with.half, with.soft, with.ink);
        x += (g.width + gap) * scale;
    }
}

static float pen(float size) { return FA_MAX(0.45f, size * 0.062f); } // half a stroke's width

void fai_canvas_text(FaImage *image, float x, float y, float size, FaAlign align, const char *text, FaInk ink) {
    draw_text(image, x, y, size, align, text, (Pen){pen(size), 0.5f, ink});
}

void fai_canvas_label(FaImage *image, float x, float y, float size, FaAlign align, const char *text, FaInk ink) {
    draw_text(image, x, y, size, align, text, (Pen){pen(size) + 0.6f, 1.5f, {10, 11, 13, 0.55f * ink.alpha}});
    fai_canvas_text(image, x, y, size, align, text, ink);
}

void fai_text_fit(char *text, float size, float width) {
    size_t full = strlen(text), n = full;
    if (fai_text_width(text, size) <= width) return;
    while (n > 0) {
        n--;
        if (((unsigned char)text[n] & 0xc0) == 0x80 || n + 2 > full)
            continue; // inside a character; no room for the dots
        text[n] = 0;
        if (fai_text_width(text, size) + fai_text_width("..", size) + gap * size / 9 <= width) {
            memcpy(text + n, "..", 3);
            return;
        }
    }
}

void fai_canvas_place(FaImage *image, const FaImage *tile, int x, int y) {
    for (int j = 0; j < tile->height; j++) {
        int i0 = FA_MAX(0, -x), i1 = FA_MIN(tile->width, image->width - x);
        if (y + j < 0 || y + j >= image->height || i0 >= i1) continue;
        memcpy(image->rgb + 3 * ((size_t)(y + j) * (size_t)image->width + (size_t)(x + i0)),
               tile->rgb + 3 * ((size_t)j * (size_t)tile->width + (size_t)i0), 3 * (size_t)(i1 - i0));
    }
}

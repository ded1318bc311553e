#include "render/sheet.h"

#include "render/canvas.h"
#include "render/heat.h"

#include <math.h>

// The number of columns that comes nearest to 4:3 and leaves few tiles empty.
static int choose_columns(int count, int width, int height) {
    int best = 1;
    double least = INFINITY;
    for (int c = 1; c <= FA_MIN(count, 64); c++) {
        int rows = (count + c - 1) / c;
        double shape = fabs(log((double)c * width / ((double)rows * height) / 1.33));
        double cost = shape + 0.8 * (rows * c - count) / count;
        if (cost < least) least = cost, best = c;
    }
    return best;
}

static float caption_size(const FaSheet *s) {
    return FA_MAX(7.0f, 0.042f * (float)FA_MIN(s->tile_width, s->tile_height));
}

int fai_caption_lines(const char *caption) {
    int n = 1;
    for (; *caption && n < 8; caption++) n += *caption == '\n';
    return n;
}

FaCode fai_sheet_new(FaSheet *s, int count, int columns, int tile_width, int tile_height, const char *title,
                     bool legend, FaError *err) {
    return fai_sheet_new_lines(s, count, columns, tile_width, tile_height, title, legend, 1, err);
}

FaCode fai_sheet_new_lines(FaSheet *s, int count, int columns, int tile_width, int tile_height, const char *title,
                           bool legend, int lines, FaError *err) {
    *s = (FaSheet){.tile_width = tile_width, .tile_height = tile_height, .count = count};
    if (count < 1) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "there is nothing to put on the sheet");
    float size = caption_size(s);
    s->gap = FA_MAX(2, tile_width / 64);
    s->caption = (int)((2.6f + 1.5f * (float)(lines - 1)) * size);
    s->top = legend || (title && *title) ? (int)(4.2f * size) : s->gap;
    s->columns = columns > 0 ? FA_MIN(columns, count) : choose_columns(count, tile_width, tile_height + s->caption);
    s->rows = (count + s->columns - 1) / s->columns;
    int64_t w = (int64_t)s->columns * (tile_width + s->gap) + s->gap,
            h = s->top + (int64_t)s->rows * (tile_height + s->caption + s->gap);
    if (w > 32768 || h > 32768 || w * h > (int64_t)1 << 27)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "choose smaller or fewer tiles", "the sheet would be %lld x %lld pixels",
                       (long long)w, (long long)h);
    s->image = (FaImage){(int)w, (int)h, fai_alloc_array((size_t)(w * h), 3)};
    if (!s->image.rgb) return FA_FAIL_MEMORY(err);
    fai_canvas_rect(&s->image, 0, 0, (float)w, (float)h, (FaInk){46, 47, 50, 1});
    if (title && *title)
        fai_canvas_text(&s->image, (float)s->gap + size, (float)s->top - 1.4f * size, 1.25f * size, FA_ALIGN_LEFT,
                        title, (FaInk){236, 237, 239, 1});
    return FA_OK;
}

void fai_sheet_legend(FaSheet *s, double heat_max_mm, const char *title) {
    float size = caption_size(s), w = (float)s->image.width;
    fai_heat_strip(&s->image, FA_MAX(0.5f * w, w - 28 * size), 1.0f * size, w - 3 * size, size, heat_max_mm, title);
}

void fai_sheet_put(FaSheet *s, int i, const FaImage *tile, const char *caption) {
    FA_ASSERT(i >= 0 && i < s->count && tile->width == s->tile_width && tile->height == s->tile_height);
    int x = s->gap + i % s->columns * (s->tile_width + s->gap),
        y = s->top + i / s->columns * (s->tile_height + s->caption + s->gap);
    fai_canvas_place(&s->image, tile, x, y);
    float size = caption_size(s), baseline = (float)(y + s->tile_height) + 1.75f * size;
    int room = fai_caption_lines(caption ? caption : "");
    for (const char *at = caption; at && room-- > 0; baseline += 1.5f * size) {
        char text[256];
        const char *end = strchr(at, '\n');
        snprintf(text, sizeof text, "%.*s", end ? (int)(end - at) : (int)strlen(at), at);
        fai_text_fit(text, size, (float)s->tile_width - 2);
        fai_canvas_text(&s->image, (float)x + 0.5f * (float)s->tile_width, baseline, size, FA_ALIGN_CENTRE, text,
                        (FaInk){222, 223, 226, 1});
        at = end ? end + 1 : NULL;
    }
}

void fai_sheet_free(FaSheet *s) { fa_image_free(&s->image); }

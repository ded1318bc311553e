#include "io/png.h"

enum { FA_PNG_MAX_SIDE = 32768 };
#define FA_PNG_MAX_PIXELS ((size_t)1 << 28)

#ifdef FA_HAVE_SPNG
#include <spng.h>

static void *png_malloc(size_t size) { return fai_resize(NULL, size ? size : 1); }
static void *png_realloc(void *old, size_t size) { return fai_resize(old, size ? size : 1); }
static void *png_calloc(size_t count, size_t size) { return fai_alloc_array(count, size); }
static void png_free(void *data) { fa_free(data); }

static spng_ctx *new_context(int flags) {
    struct spng_alloc alloc = {png_malloc, png_realloc, png_calloc, png_free};
    return spng_ctx_new2(&alloc, flags);
}

static FaCode fail_spng(FaError *err, int code, const char *verb) {
    if (code == SPNG_EMEM) return FA_FAIL_MEMORY(err);
    return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "cannot %s the PNG: %s", verb, spng_strerror(code));
}

static char none[1] = "";

static void set_text(struct spng_text *text, int *n, const char *keyword, const char *value) {
    if (!value || !*value) return;
    struct spng_text *t = &text[(*n)++];
    memset(t, 0, sizeof *t);
    strcpy(t->keyword, keyword);
    t->type = SPNG_TEXT; // Latin 1; what goes beyond ASCII is UTF-8, which has a chunk of its own
    for (const char *c = value; *c; c++)
        if ((unsigned char)*c >= 0x80) t->type = SPNG_ITXT;
    t->language_tag = t->translated_keyword = none;
    t->length = strlen(value);
    t->text = (char *)(uintptr_t)value; // the encoder only reads it
}

FaCode fai_png_encode(const unsigned char *rgb, int width, int height, const char *software, const char *comment,
                      FaBytes *png, FaError *err) {
    *png = (FaBytes){0};
    if (width < 1 || height < 1 || width > FA_PNG_MAX_SIDE || height > FA_PNG_MAX_SIDE)
        return FA_FAIL(err, FA_E_ARG, NULL, "choose 1 to 32768 pixels a side", "cannot write a picture of %d x %d",
                       width, height);
    spng_ctx *ctx = new_context(SPNG_CTX_ENCODER);
    if (!ctx) return FA_FAIL_MEMORY(err);
    struct spng_ihdr head = {
        .width = (uint32_t)width, .height = (uint32_t)height, .bit_depth = 8, .color_type = SPNG_COLOR_TYPE_TRUECOLOR};
    struct spng_text text[2];
    int ntext = 0;
    set_text(text, &ntext, "Software", software);
    set_text(text, &ntext, "Comment", comment);
    int rc = spng_set_option(ctx, SPNG_ENCODE_TO_BUFFER, 1);
    if (!rc) rc = spng_set_option(ctx, SPNG_IMG_COMPRESSION_LEVEL, 6);
    if (!rc) rc = spng_set_ihdr(ctx, &head);
    if (!rc) rc = spng_set_srgb(ctx, 0);
    if (!rc && ntext) rc = spng_set_text(ctx, text, (uint32_t)ntext);
    if (!rc) rc = spng_encode_image(ctx, rgb, (size_t)width * (size_t)height * 3, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
    if (!rc) png->data = spng_get_png_buffer(ctx, &png->size, &rc);
    spng_ctx_free(ctx);
    if (!rc) return FA_OK;
    fai_bytes_free(png);
    return fail_spng(err, rc, "write");
}

FaCode fai_png_decode(const void *data, size_t size, unsigned char **rgb, int *width, int *height, FaError *err) {
    *rgb = NULL;
    *width = *height = 0;
    spng_ctx *ctx = new_context(0);
    if (!ctx) return FA_FAIL_MEMORY(err);
    struct spng_ihdr head;
    size_t need = 0;
    FaCode code = FA_OK;
    int rc = spng_set_image_limits(ctx, FA_PNG_MAX_SIDE, FA_PNG_MAX_SIDE);
    if (!rc) rc = spng_set_chunk_limits(ctx, 1 << 24, 1 << 26);
    if (!rc) rc = spng_set_png_buffer(ctx, data, size);
    if (!rc) rc = spng_get_ihdr(ctx, &head);
    if (!rc) rc = spng_decoded_image_size(ctx, SPNG_FMT_RGB8, &need);
    if (!rc && (size_t)head.width * head.height > FA_PNG_MAX_PIXELS) {
        code = FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "a picture of %u x %u is too large", head.width, head.height);
        goto done;
    }
    if (!rc && !(*rgb = fai_resize(NULL, need))) rc = SPNG_EMEM;
    if (!rc) rc = spng_decode_image(ctx, *rgb, need, SPNG_FMT_RGB8, 0);
    if (rc) {
        code = fail_spng(err, rc, "read");
        fa_free(*rgb);
        *rgb = NULL;
        goto done;
    }
    *width = (int)head.width;
    *height = (int)head.height;
done:
    spng_ctx_free(ctx);
    return code;
}

#else

static FaCode no_png(FaError *err) {
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "install libspng-dev and build again", "this build has no PNG support");
}

FaCode fai_png_encode(const unsigned char *rgb, int width, int height, const char *software, const char *comment,
                      FaBytes *png, FaError *err) {
    (void)rgb, (void)width, (void)height, (void)software, (void)comment;
    *png = (FaBytes){0};
    return no_png(err);
}

FaCode fai_png_decode(const void *data, size_t size, unsigned char **rgb, int *width, int *height, FaError *err) {
    (void)data, (void)size;
    *rgb = NULL;
    *width = *height = 0;
    return no_png(err);
}
#endif

FaCode fai_png_write(const char *path, const unsigned char *rgb, int width, int height, const char *software,
                     const char *comment, FaError *err) {
    FaBytes png;
    FaCode rc = fai_png_encode(rgb, width, height, software, comment, &png, err);
    if (rc >= 0) rc = fai_file_write(path, png.data, png.size, err);
    fai_bytes_free(&png);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

FaCode fai_png_read(const char *path, unsigned char **rgb, int *width, int *height, FaError *err) {
    FaBytes bytes;
    *rgb = NULL;
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    FaCode rc = fai_png_decode(bytes.data, bytes.size, rgb, width, height, err);
    fai_bytes_free(&bytes);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

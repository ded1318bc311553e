// Cut-away pictures of filled flesh: planes through the middle, the mouth and its corner. Each tet that a plane cuts is
// a polygon in the colour of its tissue; skin and bones are lines.
#include "base/base.h"
#include "build/filled.h"
#include "fascia/render.h"
#include "math/mat3.h"
#include "mesh/mesh.h"
#include "render/canvas.h"
#include "render/sheet.h"

static const FaInk TISSUE[FA_TISSUES] = {{206, 110, 104, 1}, {236, 190, 160, 1}, {198, 90, 130, 1}, {150, 120, 130, 1}};
static const FaInk GROUND = {32, 34, 38, 1}, EDGE = {60, 30, 30, 0.45f}, SKIN = {255, 240, 200, 1},
                   BONE = {120, 200, 255, 1}, KIND[FA_FILLED_KINDS] = {{0}, {250, 250, 90, 1}, {90, 250, 120, 1}};

typedef struct Cut {
    double normal[3], right[3], up[3], offset; // of the plane; of the picture, unit
    double at[3], scale;                       // middle of the picture; pixels per m
    FaImage *image;
} Cut;

static void to_pixel(const Cut *c, const double p[3], float out[2]) {
    double q[3];
    fai_v3_sub(p, c->at, q);
    out[0] = (float)(0.5 * c->image->width + c->scale * fai_v3_dot(c->right, q));
    out[1] = (float)(0.5 * c->image->height - c->scale * fai_v3_dot(c->up, q));
}

static double height(const Cut *c, const float *x, int v) {
    double p[3];
    fai_v3_load(x, v, p);
    return fai_v3_dot(c->normal, p) - c->offset;
}

static void cross(const Cut *c, const float *x, int a, int b, float out[2]) {
    double p[3], q[3], ha = height(c, x, a), hb = height(c, x, b);
    fai_v3_load(x, a, p);
    fai_v3_load(x, b, q);
    fai_v3_sub(q, p, q);
    fai_v3_mad(p, ha / (ha - hb), q, p);
    to_pixel(c, p, out);
}

static void fill(FaImage *image, const float (*p)[2], int n, FaInk ink) {
    float lo = INFINITY, hi = -INFINITY;
    for (int k = 0; k < n; k++) lo = fminf(lo, p[k][1]), hi = fmaxf(hi, p[k][1]);
    if (!(hi >= 0 && lo < (float)image->height)) return;
    for (int y = (int)fmaxf(floorf(lo), 0); y <= (int)hi && y < image->height; y++) {
        float left = INFINITY, right = -INFINITY, at = (float)y + 0.5f;
        for (int k = 0; k < n; k++) {
            const float *a = p[k], *b = p[(k + 1) % n];
            if ((a[1] <= at) == (b[1] <= at)) continue;
            float x = a[0] + (b[0] - a[0]) * (at - a[1]) / (b[1] - a[1]);
            left = fminf(left, x), right = fmaxf(right, x);
        }
        if (right > left) fai_canvas_rect(image, left, (float)y, right, (float)y + 1, ink);
    }
}

static void draw_tets(const Cut *c, const FaFilled *f, const float *x) {
    for (int t = 0; t < f->ntet; t++) {
        const int *v = f->tet + 4 * (size_t)t;
        int in[4], out[4], nin = 0, nout = 0, n = 0;
        float p[4][2];
        for (int k = 0; k < 4; k++)
            if (height(c, x, v[k]) > 0)
                out[nout++] = v[k];
            else
                in[nin++] = v[k];
        if (nin == 0 || nout == 0) continue;
        if (nin == 2) // around the quad: a-c, a-d, b-d, b-c
            for (; n < 4; n++) cross(c, x, in[n / 2], out[n == 1 || n == 2], p[n]);
        for (; n < 3; n++) cross(c, x, nin == 1 ? in[0] : in[n], nin == 1 ? out[n] : out[0], p[n]);
        fill(c->image, (const float(*)[2])p, n, TISSUE[f->tissue[t]]);
        for (int k = 0; k < n; k++)
            fai_canvas_line(c->image, p[k][0], p[k][1], p[(k + 1) % n][0], p[(k + 1) % n][1], 1, EDGE);
    }
}

static void draw_surface(const Cut *c, const float *x, int ntri, const int *tri, float width, FaInk ink) {
    for (int t = 0; t < ntri; t++) {
        const int *v = tri + 3 * (size_t)t;
        float p[3][2];
        int n = 0;
        for (int k = 0; k < 3; k++) {
            int a = v[k], b = v[(k + 1) % 3];
            if ((height(c, x, a) > 0) != (height(c, x, b) > 0)) cross(c, x, a, b, p[n++]);
        }
        if (n == 2) fai_canvas_line(c->image, p[0][0], p[0][1], p[1][0], p[1][1], width, ink);
    }
}

// What bones carry, within a few millimetres of the plane.
static void draw_held(const Cut *c, const FaFilled *f, const float *x) {
    for (int i = 0; i < f->nnode; i++) {
        double p[3];
        float q[2];
        if (f->kind[i] == FA_FILLED_FREE || fabs(height(c, x, i)) > 0.6 * f->report.spacing) continue;
        fai_v3_load(x, i, p);
        to_pixel(c, p, q);
        fai_canvas_rect(c->image, q[0] - 2, q[1] - 2, q[0] + 2, q[1] + 2, KIND[f->kind[i]]);
    }
}

static FaCode draw(const Cut *cut, const FaFilled *f, const FaFace *face, const float *x, int size, FaSheet *sheet,
                   int i, const char *caption, FaError *err) {
    FaImage image = {.width = size, .height = size, .rgb = FA_NEW(3 * (size_t)size * (size_t)size, unsigned char)};
    if (!image.rgb) return FA_FAIL_MEMORY(err);
    Cut c = *cut;
    c.image = &image;
    c.scale *= size;
    fai_canvas_rect(&image, 0, 0, (float)size, (float)size, GROUND);
    draw_tets(&c, f, x);
    for (int b = 0; b < face->nbone; b++)
        draw_surface(&c, face->bone[b].x, face->bone[b].ntri, face->bone[b].tri, 1.5f, BONE);
    draw_surface(&c, face->x0, face->ntri, face->tri, 1.5f, SKIN);
    draw_held(&c, f, x);
    fai_sheet_put(sheet, i, &image, caption);
    fa_image_free(&image);
    return FA_OK;
}

// Box of the nodes and middle of the lips, canonical axes.
static void places(const FaFilled *f, const FaRig *rig, double lo[3], double hi[3], double mouth[3], double *half) {
    double n = 0, least = INFINITY, most = -INFINITY;
    for (int k = 0; k < 3; k++) lo[k] = INFINITY, hi[k] = -INFINITY, mouth[k] = 0;
    for (int i = 0; i < f->nnode; i++) {
        double p[3], q[3];
        fai_v3_load(f->x, i, p);
        fai_m3_mulv(rig->axes, p, q);
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], q[k]), hi[k] = fmax(hi[k], q[k]);
        if (!f->lip[i]) continue;
        fai_v3_add(mouth, q, mouth);
        n++;
        least = fmin(least, q[0]), most = fmax(most, q[0]);
    }
    for (int k = 0; k < 3; k++) mouth[k] = n > 0 ? mouth[k] / n : 0.5 * (lo[k] + hi[k]);
    *half = n > 0 ? 0.5 * (most - least) : 0.1 * (hi[0] - lo[0]);
}

FaCode fai_filled_picture(const FaFilled *f, const FaRig *rig, const FaFace *face, const float *node, int size,
                          const char *path, FaError *err) {
    double lo[3], hi[3], mouth[3], half, mid[3];
    FaSheet sheet = {0};
    if (size <= 0) size = 900;
    places(f, rig, lo, hi, mouth, &half);
    double all = 1.05 * fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
    for (int k = 0; k < 3; k++) mid[k] = 0.5 * (lo[k] + hi[k]);
    const struct {
        int axis;
        double offset, at[3], wide;
        const char *caption;
    } tile[] = {{0, mid[0], {0, mid[1], mid[2]}, all, "middle"},
                {0, mid[0], {0, mouth[1], mouth[2] - half}, 4 * half, "middle, mouth"},
                {1, mouth[1] + 0.2 * half, {mid[0], 0, mid[2]}, all, "upper lip, from above"},
                {0, mid[0] + 0.6 * half, {0, mouth[1], mouth[2] - half}, 4 * half, "towards the corner"}};
    const double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    FaCode rc = fai_sheet_new(&sheet, FA_COUNT(tile), 2, size, size, "filled flesh: held by skull yellow, by jaw green",
                              false, err);
    for (int i = 0; i < FA_COUNT(tile) && rc >= 0; i++) {
        Cut c = {.offset = tile[i].offset + 1e-5 * half, .scale = 1 / tile[i].wide};
        fai_m3_tmulv(rig->axes, axis[tile[i].axis], c.normal);
        fai_m3_tmulv(rig->axes, axis[tile[i].axis == 0 ? 2 : 0], c.right);
        fai_m3_tmulv(rig->axes, axis[tile[i].axis == 0 ? 1 : 2], c.up);
        fai_m3_tmulv(rig->axes, tile[i].at, c.at);
        rc = draw(&c, f, face, node ? node : f->x, size, &sheet, i, tile[i].caption, err);
    }
    if (rc >= 0) rc = fa_image_save(&sheet.image, path, "fascia " FA_VERSION_TEXT, err);
    fai_sheet_free(&sheet);
    return rc;
}

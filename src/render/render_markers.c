// Markers over a picture, and lines to where they should be, hidden by what stands before them.
#include "render/canvas.h"
#include "render/renderer.h"

#include <math.h>

static const float UNDER = 0.003f;   // m: a marker this deep under the skin is still seen
static const double RADIUS = 0.0011; // m

FaCode fa_renderer_markers(FaRenderer *r, const FaRenderMarker *markers, int count, double radius, FaError *err) {
    FA_ASSERT(count >= 0);
    r->nmarkers = 0;
    if (!(radius >= 0 && radius < 1))
        return FA_FAIL(err, FA_E_ARG, NULL, "give metres, or 0", "the radius of the markers makes no sense");
    r->marker_radius = radius > 0 ? radius : RADIUS;
    if (!count) return FA_OK;
    FaRenderMarker *room = fai_grow_array(r->markers, &r->marker_room, count, sizeof *room);
    if (!room) return FA_FAIL_MEMORY(err);
    r->markers = room;
    memcpy(room, markers, (size_t)count * sizeof *room);
    r->nmarkers = count;
    return FA_OK;
}

int fai_markers_frame(const FaMarkerTake *take, int f, int n, double time) {
    if (take->nframe == n) return f;
    if (!isfinite(time) || take->nframe < 1) return -1;
    int lo = 0, hi = take->nframe - 1;
    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;
        if (take->time[mid] <= time)
            lo = mid;
        else
            hi = mid - 1;
    }
    if (lo + 1 < take->nframe && take->time[lo + 1] - time < time - take->time[lo]) lo++;
    double step = take->fps > 0 ? 1 / take->fps : 0;
    return fabs(take->time[lo] - time) <= step + 1e-9 ? lo : -1;
}

static bool finite3(const float *x) { return isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]); }

static FaVec in_scene(const FaRenderer *r, const float *x) {
    const double *a = r->scene->axes;
    float q[3];
    for (int i = 0; i < 3; i++)
        q[i] = (float)(a[3 * i] * (double)x[0] + a[3 * i + 1] * (double)x[1] + a[3 * i + 2] * (double)x[2]);
    return fai_vec_of(q);
}

// Where a point is in the picture. False: behind the lens, or hidden.
static bool seen(const FaRenderer *r, FaVec p, float at[2], float *per_metre) {
    const FaCamera *c = &r->camera;
    if (!fai_camera_project(c, p, &at[0], &at[1], per_metre)) return false;
    FaVec towards = c->back;
    if (c->distance > 0) towards = fai_unit(fai_sub(fai_mad(c->centre, c->back, c->distance), p));
    return !fai_rays_blocked(r->scene->rays, p, &towards, 1, UNDER);
}

static void draw_disc(FaImage *image, const float at[2], float size, FaInk ink) {
    fai_canvas_line(image, at[0], at[1], at[0], at[1], size + 2, (FaInk){20, 20, 24, 0.75f});
    fai_canvas_line(image, at[0], at[1], at[0], at[1], size, ink);
}

void fai_markers_draw(const FaRenderer *r, FaImage *image) {
    // lines first, so that they end under the markers
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < r->nmarkers; i++) {
            const FaRenderMarker *d = &r->markers[i];
            FaInk ink = {d->rgb[0], d->rgb[1], d->rgb[2], 1};
            float at[2], to[2], scale, other;
            if (!finite3(d->x) || !seen(r, in_scene(r, d->x), at, &scale)) continue;
            float size = FA_MAX(2.5f, 2 * (float)r->marker_radius * scale);
            if (pass == 0 && finite3(d->to) &&
                fai_camera_project(&r->camera, in_scene(r, d->to), &to[0], &to[1], &other)) {
                fai_canvas_line(image, at[0], at[1], to[0], to[1], FA_MAX(1.0f, 0.3f * size),
                                (FaInk){255, 240, 200, 0.9f});
                draw_disc(image, to, 0.6f * size, (FaInk){255, 240, 200, 1});
            }
            if (pass == 0) continue;
            draw_disc(image, at, size, ink);
            float text = FA_MAX(6.0f, 0.011f * (float)image->height);
            if (d->label)
                fai_canvas_label(image, at[0] + 0.6f * size, at[1] - 0.3f * size, text, FA_ALIGN_LEFT, d->label,
                                 (FaInk){240, 240, 240, 1});
        }
    }
}

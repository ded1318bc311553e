#include "fascia/render.h"

#include "base/base.h"
#include "io/png.h"
#include "render/canvas.h"
#include "render/heat.h"
#include "render/renderer.h"
#include "render/shade.h"

#include <math.h>

FaRenderOptions fa_render_options_default(void) { return (FaRenderOptions){.view = {.zoom = 1, .fov = 14}}; }

void fa_image_free(FaImage *image) {
    if (!image) return;
    fa_free(image->rgb);
    *image = (FaImage){0};
}

FaCode fa_image_save(const FaImage *image, const char *path, const char *comment, FaError *err) {
    return fai_png_write(path, image->rgb, image->width, image->height, "fascia " FA_VERSION_TEXT, comment, err);
}

static FaCode check_options(const FaRenderOptions *o, FaError *err) {
    if (o->width < 1 || o->height < 1 || o->width > 16384 || o->height > 16384 ||
        (int64_t)o->width * o->height > 1 << 26)
        return FA_FAIL(err, FA_E_ARG, NULL, "choose up to 8192 x 8192", "cannot render a picture of %d x %d", o->width,
                       o->height);
    if (o->samples < 1 || o->samples > 256)
        return FA_FAIL(err, FA_E_ARG, NULL, "choose 1 to 256", "cannot take %d samples per pixel", o->samples);
    if (!(o->heat_max_mm >= 0) || !isfinite(o->heat_max_mm))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a number of mm above 0, or 0 to find one",
                       "the heat map's scale makes no sense");
    for (int i = 0; i < 9; i++)
        if (!isfinite(o->axes[i]))
            return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the axes hold a number that is not finite");
    return FA_OK;
}

FaCode fa_renderer_new(const FaRenderPart *parts, int nparts, const FaRenderOptions *options, FaRenderer **renderer,
                       FaError *err) {
    *renderer = NULL;
    FaRenderOptions o = options ? *options : fa_render_options_default();
    if (!o.width) o.width = o.height ? o.height : 1024;
    if (!o.height) o.height = o.width;
    if (!o.samples) o.samples = 8;
    FA_TRY(check_options(&o, err));
    FaRenderer *r = FA_NEW(1, FaRenderer);
    if (!r) return FA_FAIL_MEMORY(err);
    r->options = o;
    r->heat_max_mm = o.heat_max_mm;
    FaCode rc = fai_scene_new(parts, nparts, o.axes, &r->scene, err);
    if (rc >= 0) rc = fai_renderer_fit_parts(r, nparts, err);
    if (rc < 0) {
        fa_renderer_free(r);
        return rc;
    }
    *renderer = r;
    return FA_OK;
}

void fa_renderer_free(FaRenderer *r) {
    if (!r) return;
    fai_scene_free(r->scene);
    fa_free(r->fit);
    fa_free(r->fit_x);
    fa_free(r->markers);
    fa_free(r);
}

FaCode fa_renderer_pose(FaRenderer *r, const float *const *x, const float *const *heat, FaError *err) {
    r->posed = false;
    FA_TRY(fai_scene_pose(r->scene, x, heat, err));
    r->posed = true;
    return FA_OK;
}

// --- looking ------------------------------------------------------------------------------------------------------

FaCode fai_renderer_fit_parts(FaRenderer *r, int nparts, FaError *err) {
    const FaScene *s = r->scene;
    int end = s->part_vert[FA_MIN(nparts, s->nparts)];
    unsigned char *used = FA_NEW(s->nvert, unsigned char);
    if (!used) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int i = 0; i < 3 * s->ntri; i++) {
        n += s->tri[i] < end && !used[s->tri[i]];
        used[s->tri[i]] = 1;
    }
    int *fit = FA_NEW(n, int);
    if (!fit) {
        fa_free(used);
        return FA_FAIL_MEMORY(err);
    }
    r->nfit = 0;
    for (int v = 0; v < end; v++)
        if (used[v]) fit[r->nfit++] = v;
    fa_free(used);
    fa_free(r->fit);
    r->fit = fit;
    return FA_OK;
}

void fai_renderer_fit_only(FaRenderer *r, const unsigned char *keep) {
    int n = 0;
    for (int i = 0; i < r->nfit; i++)
        if (keep[r->fit[i]]) r->fit[n++] = r->fit[i];
    if (n) r->nfit = n;
}

double fai_renderer_fit_box(const FaRenderer *r, double middle[3]) {
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    const float *x = r->scene->part[0].mesh->x;
    double half = 0;
    for (int i = 0; i < r->nfit; i++)
        for (int k = 0; k < 3; k++)
            lo[k] = FA_MIN(lo[k], x[3 * r->fit[i] + k]), hi[k] = FA_MAX(hi[k], x[3 * r->fit[i] + k]);
    for (int k = 0; k < 3; k++) {
        middle[k] = r->nfit ? 0.5 * ((double)lo[k] + (double)hi[k]) : 0;
        if (r->nfit) half = fmax(half, 0.5 * ((double)hi[k] - (double)lo[k]));
    }
    return half;
}

static FaRenderView in_scene(const FaRenderer *r, FaRenderView view) {
    const double *a = r->scene->axes, *p = view.focus;
    double q[3];
    for (int i = 0; i < 3; i++) q[i] = a[3 * i] * p[0] + a[3 * i + 1] * p[1] + a[3 * i + 2] * p[2];
    memcpy(view.focus, q, sizeof q);
    return view;
}

void fai_renderer_fit_none(FaRenderer *r) { r->nfit_x = 0; }

FaCode fai_renderer_fit_pose(FaRenderer *r, FaError *err) {
    if (!r->posed) FA_TRY(fa_renderer_pose(r, NULL, NULL, err));
    if ((int64_t)r->nfit_x + r->nfit > INT32_MAX / 4) return FA_OK; // more than enough points
    float *x = fai_grow_array(r->fit_x, &r->fit_room, r->nfit_x + r->nfit, 3 * sizeof(float));
    if (!x) return FA_FAIL_MEMORY(err);
    r->fit_x = x;
    for (int i = 0; i < r->nfit; i++)
        memcpy(x + 3 * (size_t)(r->nfit_x + i), r->scene->x + 3 * r->fit[i], 3 * sizeof(float));
    r->nfit_x += r->nfit;
    return FA_OK;
}

FaCode fai_renderer_look_fit(FaRenderer *r, const FaRenderView *view, FaError *err) {
    FaRenderView v = in_scene(r, *view);
    FA_TRY(fai_camera_fit(&r->camera, &v, r->fit_x, r->nfit_x, NULL, r->options.width, r->options.height, err));
    r->looked = true;
    return FA_OK;
}

void fai_renderer_aim(FaRenderer *r, const double focus[3]) {
    FaRenderView v = in_scene(r, (FaRenderView){.focus = {focus[0], focus[1], focus[2]}});
    r->camera.centre = fai_vec((float)v.focus[0], (float)v.focus[1], (float)v.focus[2]);
}

FaCode fa_renderer_look(FaRenderer *r, const FaRenderView *view, FaError *err) {
    fai_renderer_fit_none(r);
    FA_TRY(fai_renderer_fit_pose(r, err));
    return fai_renderer_look_fit(r, view, err);
}

FaCode fai_renderer_look_all(FaRenderer *r, const FaRenderView *view, int n, FaCamera *camera, FaError *err) {
    fai_renderer_fit_none(r);
    FA_TRY(fai_renderer_fit_pose(r, err));
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 3 * r->nfit_x; i++)
        lo[i % 3] = FA_MIN(lo[i % 3], r->fit_x[i]), hi[i % 3] = FA_MAX(hi[i % 3], r->fit_x[i]);
    FaVec centre = fai_scale(fai_add(fai_vec_of(lo), fai_vec_of(hi)), 0.5f);
    float half = 0, distance = 0;
    for (int i = 0; i < n; i++) {
        FaRenderView v = in_scene(r, view[i]);
        FA_TRY(fai_camera_fit(&camera[i], &v, r->fit_x, r->nfit_x, &centre, r->options.width, r->options.height, err));
        half = FA_MAX(half, camera[i].half);
        distance = FA_MAX(distance, camera[i].distance);
    }
    for (int i = 0; i < n; i++) camera[i].half = half, camera[i].distance = distance;
    return FA_OK;
}

// --- drawing ------------------------------------------------------------------------------------------------------

static double most_heat(const FaScene *s) {
    float most = 0;
    for (int v = 0; v < s->nvert; v++) most = FA_MAX(most, s->heat[v]);
    return most;
}

FaCode fa_renderer_draw(FaRenderer *r, FaImage *image, FaError *err) {
    *image = (FaImage){0};
    if (!r->looked) FA_TRY(fa_renderer_look(r, &r->options.view, err));
    if (!r->posed) FA_TRY(fa_renderer_pose(r, NULL, NULL, err));
    const FaRenderOptions *o = &r->options;
    double most = r->scene->has_heat ? most_heat(r->scene) : 0,
           scale = r->heat_max_mm > 0 ? r->heat_max_mm : fai_heat_scale(most);
    FaShading shading = {.samples = o->samples,
                         .flat = o->flat,
                         .wire = o->wire,
                         .backfaces = o->backfaces,
                         .heat_max_mm = (float)scale};
    image->width = o->width;
    image->height = o->height;
    image->rgb = fai_alloc_array((size_t)o->width * (size_t)o->height, 3);
    if (!image->rgb) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_shade(r->scene, &r->camera, &shading, image->rgb, err);
    if (rc < 0) {
        fa_image_free(image);
        return rc;
    }
    fai_markers_draw(r, image);
    if (r->scene->has_heat && !r->no_legend)
        fai_heat_legend(image, scale, o->heat_title ? o->heat_title : "mm", most > scale * (1 + 1e-6));
    if (o->caption && *o->caption) {
        float size = FA_MAX(7.0f, 0.018f * (float)FA_MIN(o->width, o->height));
        fai_canvas_label(image, 1.4f * size, (float)o->height - 1.4f * size, size, FA_ALIGN_LEFT, o->caption,
                         (FaInk){238, 239, 241, 1});
    }
    return FA_OK;
}

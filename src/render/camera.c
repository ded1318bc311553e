#include "render/camera.h"

#include <math.h>

static const struct {
    const char *name;
    double yaw, pitch;
} presets[] = {
    {"front", 0, 0},   {"three_quarter", 35, 4}, {"profile", 90, 0}, {"left", 90, 0},
    {"right", -90, 0}, {"back", 180, 0},         {"top", 0, 89},     {"below", 0, -60},
};

bool fa_render_view(const char *name, FaRenderView *view) {
    for (int i = 0; i < FA_COUNT(presets); i++) {
        if (strcmp(name, presets[i].name) != 0) continue;
        view->yaw = presets[i].yaw;
        view->pitch = presets[i].pitch;
        view->roll = 0;
        return true;
    }
    return false;
}

// The camera's axes from its angles: yaw about y, then pitch, then roll about the line of sight.
static void set_axes(FaCamera *c, const FaRenderView *view) {
    const double rad = 3.14159265358979323846 / 180;
    double cy = cos(view->yaw * rad), sy = sin(view->yaw * rad);
    double cp = cos(view->pitch * rad), sp = sin(view->pitch * rad);
    double cr = cos(view->roll * rad), sr = sin(view->roll * rad);
    FaVec right = fai_vec((float)cy, 0, (float)-sy);
    FaVec up = fai_vec((float)(-sy * sp), (float)cp, (float)(-cy * sp));
    c->back = fai_vec((float)(sy * cp), (float)sp, (float)(cy * cp));
    c->right = fai_mad(fai_scale(right, (float)cr), up, (float)sr);
    c->up = fai_mad(fai_scale(up, (float)cr), right, (float)-sr);
}

FaCode fai_camera_fit(FaCamera *camera, const FaRenderView *view, const float *x, int n, const FaVec *middle, int width,
                      int height, FaError *err) {
    const double numbers[] = {view->yaw, view->pitch,    view->roll,     view->zoom,
                              view->fov, view->focus[0], view->focus[1], view->focus[2]};
    for (int i = 0; i < FA_COUNT(numbers); i++)
        if (!isfinite(numbers[i]))
            return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the view holds a number that is not finite");
    if (!(view->zoom > 0))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a zoom above 0; 1 shows everything", "the zoom is not positive");
    if (view->fov < 0 || view->fov > 120)
        return FA_FAIL(err, FA_E_ARG, NULL, "give 0 (orthographic) to 120 degrees", "the lens's angle is out of range");

    FaCamera c = {.width = width, .height = height};
    set_axes(&c, view);

    // the box of the points along the camera's axes gives the centre ...
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < n; i++) {
        FaVec p = fai_vec_of(x + 3 * i);
        float q[3] = {fai_dot(p, c.right), fai_dot(p, c.up), fai_dot(p, c.back)};
        for (int k = 0; k < 3; k++) lo[k] = FA_MIN(lo[k], q[k]), hi[k] = FA_MAX(hi[k], q[k]);
    }
    if (!(lo[0] <= hi[0])) lo[0] = lo[1] = lo[2] = -0.1f, hi[0] = hi[1] = hi[2] = 0.1f; // nothing to see
    float mid[3] = {0.5f * (lo[0] + hi[0]), 0.5f * (lo[1] + hi[1]), 0.5f * (lo[2] + hi[2])};
    c.centre = fai_mad(fai_mad(fai_scale(c.right, mid[0]), c.up, mid[1]), c.back, mid[2]);
    if (middle) c.centre = *middle;

    // ... and the lens stands where its cone holds them all
    float aspect = (float)width / (float)height, slope = (float)tan(view->fov * (3.14159265358979323846 / 360));
    const float margin = 1.06f;
    float half = 1e-6f, far = 1e-6f;
    for (int i = 0; i < n; i++) {
        FaVec d = fai_sub(fai_vec_of(x + 3 * i), c.centre);
        float side = FA_MAX(fabsf(fai_dot(d, c.up)), fabsf(fai_dot(d, c.right)) / aspect) * margin;
        half = FA_MAX(half, side);
        if (slope > 0) far = FA_MAX(far, side / slope + fai_dot(d, c.back));
    }
    if (slope > 0) c.distance = far, half = slope * far;
    if (view->aim) c.centre = fai_vec((float)view->focus[0], (float)view->focus[1], (float)view->focus[2]);
    c.half = half / (float)view->zoom;
    *camera = c;
    return FA_OK;
}

// The camera: a long lens (or parallel rays) that fits the subject into the picture.
#ifndef FAI_CAMERA_H
#define FAI_CAMERA_H

#include "base/base.h"
#include "fascia/render.h"
#include "render/vec.h"

// Camera frame: x right, y up, z towards the viewer.
typedef struct FaCamera {
    FaVec right, up, back; // axes of the camera frame, in the scene
    FaVec centre;          // the point in the middle of the picture
    float distance;        // from the centre to the lens, m; 0: orthographic
    float half;            // half the picture's height at the centre's depth, m
    int width, height;     // pixels
} FaCamera;

// Fit points (n x 3, scene frame) into a picture of width x height, around their middle or the one given (nullable).
// Fails on a view that makes no sense.
FaCode fai_camera_fit(FaCamera *camera, const FaRenderView *view, const float *x, int n, const FaVec *middle, int width,
                      int height, FaError *err);

// The ray through a point of the picture (pixels from its upper left corner).
static inline void fai_camera_ray(const FaCamera *c, float px, float py, FaVec *from, FaVec *dir) {
    float s = 2 * c->half / (float)c->height;
    float u = (px - 0.5f * (float)c->width) * s, v = (0.5f * (float)c->height - py) * s;
    FaVec at = fai_mad(fai_mad(c->centre, c->right, u), c->up, v);
    if (c->distance > 0) {
        *from = fai_mad(c->centre, c->back, c->distance);
        *dir = fai_unit(fai_sub(at, *from));
    } else {
        *from = at;
        *dir = fai_scale(c->back, -1);
    }
}

// Where a point falls in the picture (pixels), and how many pixels a metre takes there. False and NAN: behind the lens.
static inline bool fai_camera_project(const FaCamera *c, FaVec p, float *px, float *py, float *per_metre) {
    FaVec d = fai_sub(p, c->centre);
    float scale = (float)c->height / (2 * c->half);
    *px = *py = *per_metre = NAN;
    if (c->distance > 0) {
        float w = 1 - fai_dot(d, c->back) / c->distance;
        if (w < 1e-3f) return false;
        scale /= w;
    }
    *px = 0.5f * (float)c->width + fai_dot(d, c->right) * scale;
    *py = 0.5f * (float)c->height - fai_dot(d, c->up) * scale;
    *per_metre = scale;
    return true;
}

#endif

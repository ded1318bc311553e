// From a scene and a camera to pixels.
#ifndef FAI_SHADE_H
#define FAI_SHADE_H

#include "render/camera.h"
#include "render/scene.h"

typedef struct FaShading {
    int samples; // per pixel
    bool flat, wire, backfaces;
    float heat_max_mm; // end of the scale, > 0
} FaShading;

// Draw into rgb (height x width x 3 of the camera).
FaCode fai_shade(const FaScene *scene, const FaCamera *camera, const FaShading *shading, unsigned char *rgb,
                 FaError *err);

// A linear value to sRGB.
unsigned char fai_srgb8(float linear);

#endif

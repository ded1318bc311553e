// What a point of the surface is made of: colour and gloss by material, eyes with iris and pupil, heat, wires.
#ifndef FAI_PAINT_H
#define FAI_PAINT_H

#include "render/scene.h"

typedef struct FaLook {
    FaVec albedo;   // linear
    float specular; // reflectance at right angles
    float roughness;
    FaVec wrap;   // how far light bleeds past the terminator, per colour
    float mirror; // strength of the sharp image of the lights: wet surfaces
} FaLook;

typedef struct FaPaint {
    const FaScene *scene;
    bool backfaces;
    float heat_max_mm;        // 0: no heat map
    const float (*screen)[2]; // vertices in the picture, pixels; NULL: no wires; NAN: behind the lens     (nvert)
    float line;               // half the width of a wire, pixels
} FaPaint;

FaVec fai_muscle_colour(float pull); // pale at 0, deep red at 1; linear
// The look of a hit at the point (px, py) of the picture.
void fai_paint(const FaPaint *paint, const FaHit *hit, bool behind, float px, float py, FaLook *look);

#endif

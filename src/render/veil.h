// Skin that one sees through: a picture of the skin laid over one of what is below it. Where the skin faces the viewer
// it is thin, at its outlines it is whole, so that the form stays readable.
#ifndef FAI_VEIL_H
#define FAI_VEIL_H

#include "render/renderer.h"

// skin: has drawn `over`; under: drawn by the same camera, same size; gets the result. thin: how much of the skin is
// left where it faces the viewer, 0..1. What is not skin in `over` (eyes, teeth) does not cover.
FaCode fai_veil(const FaRenderer *skin, const FaImage *over, double thin, FaImage *under, FaError *err);

#endif

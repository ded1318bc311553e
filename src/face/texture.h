// A PNG laid on a face by the texture coordinates of its glTF (TEXCOORD_0): one number from 0 to 1 per vertex.
#ifndef FAI_TEXTURE_H
#define FAI_TEXTURE_H

#include "base/base.h"
#include "fascia/rig.h"

typedef enum FaTextureScale {
    FA_TEXTURE_GREY, // the mean of red, green and blue
    FA_TEXTURE_RED,
    FA_TEXTURE_GREEN,
    FA_TEXTURE_BLUE,
    FA_TEXTURE_HUE, // a colour scale: blue is 0, over green and yellow red is 1; what has no hue is 0
} FaTextureScale;
extern const char *const fai_texture_scale_name[5]; // "grey", ...

// Between pixels it is linear; beyond its edges the picture repeats. out: of vertices without coordinates NAN  (nvert)
FaCode fai_texture_sample(const char *path, const FaRig *rig, FaTextureScale scale, float *out, FaError *err);

#endif

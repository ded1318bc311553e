#include "face/texture.h"

#include "io/gltf/gltf.h"
#include "io/png.h"
#include "mesh/mesh.h"

#include <math.h>

const char *const fai_texture_scale_name[5] = {"grey", "red", "green", "blue", "hue"};

static double hue_of(const unsigned char *c) {
    double most = FA_MAX(c[0], FA_MAX(c[1], c[2])), least = FA_MIN(c[0], FA_MIN(c[1], c[2])), range = most - least, h;
    if (range <= 0) return 0;
    if (most == c[0])
        h = (c[1] - c[2]) / range; // in sixths of the circle, red 0, green 2, blue 4
    else if (most == c[1])
        h = 2 + (c[2] - c[0]) / range;
    else
        h = 4 + (c[0] - c[1]) / range;
    if (h < 0) h = h < -1 ? h + 6 : 0; // what is redder than red
    return 1 - fmin(h, 4) / 4;
}

static double value_of(const unsigned char *c, FaTextureScale scale) {
    switch (scale) {
    case FA_TEXTURE_GREY: return (c[0] + c[1] + c[2]) / 765.0;
    case FA_TEXTURE_RED: return c[0] / 255.0;
    case FA_TEXTURE_GREEN: return c[1] / 255.0;
    case FA_TEXTURE_BLUE: return c[2] / 255.0;
    case FA_TEXTURE_HUE: return hue_of(c);
    }
    return 0;
}

typedef struct Picture {
    unsigned char *rgb;
    int width, height;
    FaTextureScale scale;
} Picture;

// Some tools store whole numbers that a material is to scale: laid on as they are, all of the face is one pixel.
static const double MOST_TILES = 16;

// (0, 0) is the upper left corner of the upper left pixel, as in glTF.
static float look_up(const Picture *p, double u, double v) {
    double x = (u - floor(u)) * p->width - 0.5, y = (v - floor(v)) * p->height - 0.5, sum = 0;
    for (int k = 0; k < 4; k++) {
        double cx = floor(x) + (k & 1), cy = floor(y) + (k >> 1);
        int px = (int)cx, py = (int)cy;
        double w = (1 - fabs(x - cx)) * (1 - fabs(y - cy));
        px = (px % p->width + p->width) % p->width;
        py = (py % p->height + p->height) % p->height;
        sum += w * value_of(p->rgb + 3 * ((size_t)py * (size_t)p->width + (size_t)px), p->scale);
    }
    return (float)fmin(fmax(sum, 0), 1);
}

static FaCode sample_prim(const FaGltf *doc, const FaGltfFacePrim *prim, int at, const Picture *p, float *out,
                          FaError *err) {
    const FaGltfAccessor *a = &doc->accessor[at];
    float *uv = FA_NEW((size_t)a->count * (size_t)a->width, float);
    if (!uv) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_gltf_floats(doc, at, uv, err);
    for (int i = 0; rc >= 0 && i < 2 * a->count; i++)
        if (!(fabs((double)uv[i]) <= MOST_TILES))
            rc = FA_FAIL(err, FA_E_FORMAT, FA_PLACE("vertex %d", i / 2), "export the mesh with UVs from 0 to 1",
                         "its texture coordinate %g is of no picture", (double)uv[i]);
    for (int v = 0; rc >= 0 && v < prim->count; v++)
        out[prim->first + v] = look_up(p, (double)uv[2 * (size_t)v], (double)uv[2 * (size_t)v + 1]);
    fa_free(uv);
    return rc;
}

static FaCode sample(const FaRig *rig, const Picture *p, float *out, FaError *err) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    int found = 0;
    for (int v = 0; v < rig->mesh.nvert; v++) out[v] = NAN;
    for (int i = 0; doc && i < doc->face.nprim; i++) {
        const FaGltfFacePrim *prim = &doc->face.prim[i];
        const FaJson *attributes = fai_json_get(doc->mesh[doc->face.mesh].prim[i].json, "attributes"),
                     *at = fai_json_get(attributes, "TEXCOORD_0");
        if (prim->first < 0 || prim->owner != i || !fai_json_is(at, FA_JSON_NUMBER)) continue;
        if (!(at->number >= 0) || at->number >= doc->naccessor) continue;
        const FaGltfAccessor *a = &doc->accessor[(int)at->number];
        if (a->count != prim->count || a->width != 2) continue;
        FA_TRY(sample_prim(doc, prim, (int)at->number, p, out, err));
        found++;
    }
    if (!found)
        return FA_FAIL(err, FA_E_FORMAT, rig->path, "give the mesh UVs and save it as .glb, or paint vertex colours",
                       "the face has no texture coordinates (TEXCOORD_0)");
    return FA_OK;
}

FaCode fai_texture_sample(const char *path, const FaRig *rig, FaTextureScale scale, float *out, FaError *err) {
    Picture p = {.scale = scale};
    FA_TRY(fai_png_read(path, &p.rgb, &p.width, &p.height, err));
    FaCode rc = sample(rig, &p, out, err);
    fa_free(p.rgb);
    return rc;
}

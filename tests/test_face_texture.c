// Textures as maps: a picture of four colours on a square by its UVs, every scale, between pixels and beyond the edge;
// and what cannot be laid on is refused. labels: unit
#include "test_gltf_fixture.h"

#include "face/texture.h"
#include "io/png.h"

// Four vertices and one shape; texture coordinates are 16 + 36 bytes in.
static const char json[] =
    "{'asset': {'version': '2.0'}, 'scene': 0, 'scenes': [{'nodes': [0]}], 'nodes': [{'mesh': 0}],"
    " 'meshes': [{'primitives': [{'attributes': {'POSITION': 0, 'TEXCOORD_0': 2}, 'indices': 3, 'targets': "
    "[{'POSITION': 1}]}]}],"
    " 'buffers': [{'byteLength': 140}],"
    " 'bufferViews': [{'buffer': 0, 'byteOffset': 0, 'byteLength': 96}, {'buffer': 0, 'byteOffset': 96, 'byteLength': "
    "32},"
    " {'buffer': 0, 'byteOffset': 128, 'byteLength': 12}],"
    " 'accessors': [{'bufferView': 0, 'componentType': 5126, 'count': 4, 'type': 'VEC3', 'min': [0, 0, 0], 'max': "
    "[0.2, 0.2, 0]},"
    " {'bufferView': 0, 'byteOffset': 48, 'componentType': 5126, 'count': 4, 'type': 'VEC3', 'min': [0, 0, 0], 'max': "
    "[0, 0, 0.01]},"
    " {'bufferView': 1, 'componentType': 5126, 'count': 4, 'type': 'VEC2'},"
    " {'bufferView': 2, 'componentType': 5123, 'count': 6, 'type': 'SCALAR'}]}";

static FaRig *square(const float uv[8], const char *from, const char *to) {
    FaError err = {0};
    FaRig *rig;
    unsigned char bin[140];
    static const float x[24] = {0, 0, 0, 0.2f, 0, 0, 0, 0.2f, 0, 0.2f, 0.2f, 0, 0, 0, 0.01f};
    static const uint16_t tri[6] = {0, 1, 2, 1, 3, 2};
    memcpy(bin, x, 96), memcpy(bin + 96, uv, 32), memcpy(bin + 128, tri, 12);
    char *text = fixture_json(json, from, to), path[4096];
    Bytes glb = fixture_glb(text, bin, sizeof bin);
    snprintf(path, sizeof path, "%s", test_path("square.glb"));
    FILE *f = fopen(path, "wb");
    fwrite(glb.data, 1, glb.size, f);
    fclose(f);
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.unit = FA_UNIT_M, .any_size = true}, &rig, &err), &err);
    free(text), free(glb.data);
    return rig;
}

// red, green; blue, grey
static const char *picture(void) {
    static char path[4096];
    static const unsigned char rgb[12] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 102, 102, 102};
    FaError err = {0};
    snprintf(path, sizeof path, "%s", test_path("four.png"));
    CHECK_OK(fai_png_write(path, rgb, 2, 2, "test", NULL, &err), &err);
    return path;
}

static void test_scales(void **state) {
    (void)state;
    static const float uv[8] = {0.25f, 0.25f, 0.75f, 0.25f, 0.25f, 0.75f, 0.75f, 0.75f}; // middles of the pixels
    static const double want[5][4] = {
        {1 / 3.0, 1 / 3.0, 1 / 3.0, 0.4}, {1, 0, 0, 0.4}, {0, 1, 0, 0.4}, {0, 0, 1, 0.4}, {1, 0.5, 0, 0}};
    FaError err = {0};
    FaRig *rig = square(uv, NULL, NULL);
    float out[4];
    assert_int_equal(rig->mesh.nvert, 4);
    for (int s = 0; s < 5; s++) {
        CHECK_OK(fai_texture_sample(picture(), rig, (FaTextureScale)s, out, &err), &err);
        for (int v = 0; v < 4; v++) CHECK_NEAR((double)out[v], want[s][v], 1e-6);
    }
    fa_rig_free(rig);
}

static void test_between(void **state) {
    (void)state;
    static const float uv[8] = {0.5f, 0.25f, 1.25f, 0.25f, -0.75f, 0.25f, 0, 0.25f};
    FaError err = {0};
    FaRig *rig = square(uv, NULL, NULL);
    float out[4];
    CHECK_OK(fai_texture_sample(picture(), rig, FA_TEXTURE_RED, out, &err), &err);
    static const double want[4] = {0.5, 1, 1, 0.5}; // halfway; the next tile; the one before; over the edge
    for (int v = 0; v < 4; v++) CHECK_NEAR((double)out[v], want[v], 1e-6);
    fa_rig_free(rig);
}

static void test_refusals(void **state) {
    (void)state;
    static const float uv[8] = {0}, far[8] = {0, 4082};
    float out[4];
    FaError err = {0};
    FaRig *none = square(uv, ", 'TEXCOORD_0': 2", ""), *whole = square(far, NULL, NULL);
    assert_int_equal(fai_texture_sample(picture(), none, FA_TEXTURE_GREY, out, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "TEXCOORD_0"));
    err = (FaError){0};
    assert_int_equal(fai_texture_sample(picture(), whole, FA_TEXTURE_GREY, out, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "4082"));
    err = (FaError){0};
    assert_true(fai_texture_sample(test_path("square.glb"), whole, FA_TEXTURE_GREY, out, &err) < 0); // no picture
    err = (FaError){0};
    assert_int_equal(fai_texture_sample(test_path("nothing.png"), whole, FA_TEXTURE_GREY, out, &err), FA_E_FILE);
    fa_rig_free(none);
    fa_rig_free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scales), cmocka_unit_test(test_between),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

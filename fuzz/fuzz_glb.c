// GLB: the input is the body of a file. Its header and chunk sizes are made right first, so that mutations reach what
// is inside; inputs that start with "glTF" are taken as they are.
#include "fuzz.h"

#include "json_mutator.h"

#include "io/gltf/gltf.h"

#include <stdlib.h>

static void put_u32(uint8_t *p, size_t v) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (8 * i));
}

// The input up to its first zero byte is the JSON, the rest the BIN chunk.
static uint8_t *wrap(const uint8_t *data, size_t size, size_t *total) {
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t json = zero ? (size_t)(zero - data) : size, bin = zero ? size - json - 1 : 0;
    size_t json_pad = (json + 3) / 4 * 4, bin_pad = (bin + 3) / 4 * 4;
    *total = 12 + 8 + json_pad + 8 + bin_pad;
    uint8_t *out = calloc(1, *total);
    if (!out) abort();
    put_u32(out, FA_GLB_MAGIC);
    put_u32(out + 4, 2);
    put_u32(out + 8, *total);
    put_u32(out + 12, json_pad);
    put_u32(out + 16, FA_GLB_JSON);
    memset(out + 20, ' ', json_pad);
    if (json) memcpy(out + 20, data, json);
    put_u32(out + 20 + json_pad, bin_pad);
    put_u32(out + 24 + json_pad, FA_GLB_BIN);
    if (bin) memcpy(out + 28 + json_pad, zero + 1, bin);
    return out;
}

static void run(const uint8_t *data, size_t size) {
    FaGltf *doc;
    FaRig *rig;
    FaError err = {0};
    FaCode rc = fai_gltf_parse_memory(data, size, NULL, &doc, &err);
    if ((rc < 0) != !doc || (rc < 0 && !err.what[0])) abort();
    if (rc < 0) return;
    if (doc->file.size != size || memcmp(doc->file.data, data, size)) abort(); // kept as it was
    rc = fai_gltf_rig(doc, &(FaRigOptions){.any_size = true}, &rig, &err);
    if (rc < 0) {
        fai_gltf_free(doc);
        return;
    }
    if (fa_rig_check(rig, &err) < 0) abort();
    rc = fai_gltf_clip(doc, rig, &rig->clip, &err);
    if (rc >= 0 && rig->clip && fa_clip_check(rig->clip, &err) < 0) abort();
    fa_rig_free(rig);
}

void fuzz_one(const uint8_t *data, size_t size) {
    if (size >= 4 && !memcmp(data, "glTF", 4)) {
        run(data, size);
        return;
    }
    size_t total;
    uint8_t *glb = wrap(data, size, &total);
    run(glb, total);
    free(glb);
}

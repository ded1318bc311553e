// glTF as JSON, and whatever else is given: document, rig, clip, and every accessor read in full.
#include "fuzz.h"

#include "json_mutator.h"

#include "io/gltf/gltf.h"

#include <stdlib.h>

// Read all of an accessor where the file is large enough to hold it; its size must be what it says.
static void read_accessor(const FaGltf *doc, int i) {
    const FaGltfAccessor *a = &doc->accessor[i];
    size_t n = (size_t)a->count * (size_t)a->width;
    if (n > 1 << 20) return;
    FaError err = {0};
    float *x = malloc((n ? n : 1) * sizeof *x);
    uint32_t *u = malloc((n ? n : 1) * sizeof *u);
    int *row = malloc((a->nsparse ? (size_t)a->nsparse : 1) * sizeof *row);
    if (!x || !u || !row) abort();
    fai_gltf_floats(doc, i, x, &err);
    if (a->comp != FA_GLTF_F32) fai_gltf_uints(doc, i, u, &err);
    if (fai_gltf_sparse(doc, i, row, x, &err) >= 0)
        for (int k = 0; k < a->nsparse; k++)
            if (row[k] < 0 || row[k] >= a->count || (k && row[k] <= row[k - 1])) abort();
    free(x);
    free(u);
    free(row);
}

void fuzz_one(const uint8_t *data, size_t size) {
    FaGltf *doc;
    FaRig *rig;
    FaError err = {0};
    FaCode rc = fai_gltf_parse_memory(data, size, NULL, &doc, &err);
    if ((rc < 0) != !doc || (rc < 0 && !err.what[0])) abort();
    if (rc < 0) return;
    for (int i = 0; i < doc->naccessor && i < 256; i++) read_accessor(doc, i);
    rc = fai_gltf_rig(doc, &(FaRigOptions){.any_size = true}, &rig, &err);
    if (rc < 0) {
        if (!err.what[0]) abort();
        fai_gltf_free(doc);
        return;
    }
    if (fa_rig_check(rig, &err) < 0) abort();
    rc = fai_gltf_clip(doc, rig, &rig->clip, &err);
    if (rc >= 0 && rig->clip && fa_clip_check(rig->clip, &err) < 0) abort();
    fa_rig_free(rig);
}

// Blendmaterials: what is accepted is finite, in range and kept by the .face file; what is not leaves the face alone.
#include "fuzz.h"
#include "json_mutator.h"
#include "small_rig.h"

#include "face/face_file.h"
#include "face/material.h"
#include "fascia/face.h"

#include <math.h>
#include <stdlib.h>

// The same face for every input: made once, unpacked each time.
static FaFace *fresh_face(void) {
    static unsigned char *packed;
    static size_t size;
    FaError err = {0};
    FaFace *face = NULL;
    if (!packed) {
        const FaFaceOptions o = {.layers = 2, .thickness = 6e-3, .whole = true, .no_bones = true};
        if (fa_face_build(small_rig(), &o, &face, &err) < 0 || fai_face_pack(face, &packed, &size, &err) < 0) abort();
        fa_face_free(face);
    }
    if (fai_face_unpack(packed, size, &face, &err) < 0) abort();
    return face;
}

void fuzz_one(const uint8_t *data, size_t size) {
    FaFace *face = fresh_face();
    FaError err = {0};
    uint64_t before = fai_face_hash(face);
    FaCode rc = fai_materials_parse(face, small_rig(), (const char *)data, size, NULL, &err);
    if (rc < 0 && (!err.what[0] || fai_face_hash(face) != before)) abort();
    for (int t = 0; rc >= 0 && t < face->ntet; t++)
        if (!(face->mu0[t] > 0) || !isfinite(face->mu0[t]) || !(face->lambda0[t] >= 0) || !isfinite(face->lambda0[t]))
            abort();
    if (rc >= 0 && fai_face_check(face, &err) < 0) abort();
    fa_face_free(face);
}

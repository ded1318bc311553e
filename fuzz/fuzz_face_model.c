// A user's own face for landmarks: the table that says where they sit, and the OBJ of an identity.
#include "fuzz.h"
#include "json_mutator.h"
#include "small_rig.h"

#include "base/base.h"
#include "fascia/camera.h"
#include "fascia/sequence.h"

#include <math.h>
#include <stdlib.h>

static const char *rig_file(void) {
    static const char *path;
    FaError err = {0};
    if (path) return path;
    path = fuzz_named_file("model.glb", NULL, 0);
    if (fa_rig_save(small_rig(), NULL, path, &err) < 0) abort();
    return path;
}

static void load(const FaFaceModelOptions *o) {
    FaFaceModel *model;
    FaError err = {0};
    FaCode rc = fa_face_model_load(o, &model, &err);
    if (rc < 0 ? model || !err.what[0] : !model) abort();
    if (rc < 0) return;
    size_t n = 3 * (size_t)model->rig->mesh.nvert;
    for (size_t i = 0; i < n * (size_t)model->nid; i++)
        if (!isfinite(model->identity[i])) abort();
    if (o->landmarks && !fa_face_model_has(model, o->layout)) abort();
    fa_face_model_free(model);
}

void fuzz_one(const uint8_t *data, size_t size) {
    const FaRigOptions how = {.any_size = true, .unit = FA_UNIT_M};
    bool json = size && (data[0] == '{' || data[0] == '[');
    FaFaceModelOptions o = {.rig = rig_file(), .how = &how, .layout = FA_LANDMARKS_68};
    FuzzFile file = fuzz_file(data, size);
    if (json)
        o.landmarks = file.path;
    else
        o.identities = file.path;
    load(&o);
    fuzz_file_close(&file);
}

// Forces from outside (enrich --forces): what is accepted pushes with finite forces at any time.
#include "fuzz.h"
#include "json_mutator.h"
#include "small_rig.h"

#include "enrich/outer_force.h"
#include "fascia/face.h"

#include <math.h>
#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    static FaFace *face; // made once
    static float *skin;
    FaError err = {0};
    FaOuterForce *o;
    if (!face) {
        const FaFaceOptions how = {.layers = 2, .thickness = 6e-3, .whole = true, .no_bones = true};
        if (fa_face_build(small_rig(), &how, &face, &err) < 0) abort();
        skin = malloc(3 * (size_t)face->nskin * sizeof *skin);
        if (!skin) abort();
        for (int i = 0; i < 3 * face->nskin; i++) skin[i] = face->x0[i];
    }
    if (fai_outer_force_parse((const char *)data, size, small_rig(), face, &o, &err) < 0) {
        if (o || !err.what[0]) abort();
        return;
    }
    for (double t = -1; t < 1e7; t = 10 * t + 11) {
        double accel[3] = {0};
        const double *force = fai_outer_force_at(o, t, NULL, skin, accel);
        for (int k = 0; k < 3; k++)
            if (!(fabs(accel[k]) < 1000)) abort();
        for (int i = 0; force && i < 3 * face->nnode; i++)
            if (!isfinite(force[i])) abort();
    }
    fai_outer_force_free(o);
}

// A rig small enough to be made in a moment: a sheet of 5 x 5 vertices with two shapes that every reader knows.
#include "small_rig.h"

#include "base/base.h"
#include "rig/rig_build.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 5, VERTS = SIDE * SIDE, SQUARES = (SIDE - 1) * (SIDE - 1) };

static void fill(FaMesh *mesh, float shape[2][3 * VERTS]) {
    const float h = 4e-3f;
    for (int v = 0; v < VERTS; v++) {
        float *x = mesh->x + 3 * v;
        x[0] = (float)(v % SIDE - SIDE / 2) * h;
        x[1] = (float)(v / SIDE - SIDE / 2) * h;
        x[2] = 0;
        bool middle = hypotf(x[0], x[1]) < 1.2f * h;
        for (int k = 0; k < 3; k++) shape[0][3 * v + k] = shape[1][3 * v + k] = 0;
        shape[0][3 * v + 1] = x[1] < 0 ? -1e-3f : 0;
        shape[1][3 * v + 2] = middle ? 2e-3f : 0;
    }
    for (int q = 0; q < SQUARES; q++) {
        int a = q / (SIDE - 1) * SIDE + q % (SIDE - 1);
        const int corner[4] = {a, a + 1, a + SIDE + 1, a + SIDE};
        memcpy(mesh->face_vert + 4 * q, corner, sizeof corner);
    }
    for (int q = 0; q <= SQUARES; q++) mesh->face_start[q] = 4 * q;
}

const FaRig *small_rig(void) {
    static FaRig *rig;
    if (rig) return rig;
    FaError err = {0};
    FaRigDraft *draft = NULL;
    float shape[2][3 * VERTS];
    if (fai_draft_new(&draft, &err) < 0) abort();
    FaArena *arena = fai_draft_arena(draft);
    FaMesh mesh = {.nvert = VERTS,
                   .nface = SQUARES,
                   .x = FA_PUSH(arena, 3 * VERTS, float),
                   .face_start = FA_PUSH(arena, SQUARES + 1, int),
                   .face_vert = FA_PUSH(arena, 4 * SQUARES, int)};
    if (!mesh.x || !mesh.face_start || !mesh.face_vert) abort();
    fill(&mesh, shape);
    fai_draft_mesh(draft, &mesh);
    if (fai_draft_shape_dense(draft, "jawOpen", shape[0], 0, &err) < 0) abort();
    if (fai_draft_shape_dense(draft, "cheekPuff", shape[1], 0, &err) < 0) abort();
    const FaRigHints hints = {.unit = 1, .up = FA_UP_Y, .name = "sheet", .path = "sheet"};
    const FaRigOptions options = {.unit = FA_UNIT_M, .up = FA_UP_Y, .any_size = true};
    if (fai_draft_finish(draft, &hints, &options, &rig, &err) < 0) abort();
    return rig;
}

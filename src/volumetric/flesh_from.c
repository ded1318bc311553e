#include "volumetric/flesh_from.h"

#include "base/task.h"
#include "face/skin_motion.h"
#include "face/thickness.h"
#include "volumetric/forward.h"

#include <stdlib.h>

enum { PHI = 100, PRISM = 6 }; // iterations of phi; tets of the two prisms below a triangle

struct FaFleshFrom {
    FaRig *rig;
    FaFace *face;
    FaPhysics *physics;
    FaBlender *blender;
    const FaLayered *own;
    FaForward *forward;
    FaArena *arena;
    float scale;     // of the own head against the other
    int *shape;      // of the own rig for each of the other's, -1: none            (nshape)
    int *tet;        // of the other head for each of the own, -1: none             (own ntet)
    int *column;     // likewise                                                    (own nskin)
    float *weights;  // of the other                                                (nshape)
    float *linear;   // its surface                                                 (nvert x 3)
    float *gradient; // of the own tets, wanted                                     (9 rows)
    float *skull;    // displacements of the own skull layer, wanted                (own nskin x 4)
    int stride;      // of gradient
};

// --- what corresponds -----------------------------------------------------------------------------------------------

typedef struct Prism {
    int v[3];  // rig vertices of the triangle, in the order of their nodes
    int first; // tet
} Prism;

static void name_prism(const FaLayered *l, int tet, Prism *p) {
    const FaFace *f = l->face;
    int v[3];
    memcpy(v, f->tri + 3 * (size_t)l->triangle[tet], sizeof v);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2 - i; j++)
            if (v[j] > v[j + 1]) {
                const int swap = v[j];
                v[j] = v[j + 1], v[j + 1] = swap;
            }
    for (int k = 0; k < 3; k++) p->v[k] = f->skin_vertex[v[k]];
    p->first = tet;
}

static int compare(const void *a, const void *b) {
    const Prism *p = a, *q = b;
    for (int k = 0; k < 3; k++)
        if (p->v[k] != q->v[k]) return p->v[k] < q->v[k] ? -1 : 1;
    return 0;
}

static FaCode match_tets(FaFleshFrom *f, int *missing, FaError *err) {
    const FaLayered *own = f->own, *other = f->physics->layered;
    const size_t n = (size_t)(other->ntet / PRISM);
    Prism *list = FA_NEW(n, Prism), want;
    if (!list) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) name_prism(other, PRISM * (int)i, &list[i]);
    qsort(list, n, sizeof *list, compare);
    for (int t = 0; t < own->ntet; t += PRISM) {
        name_prism(own, t, &want);
        const Prism *found = bsearch(&want, list, n, sizeof *list, compare);
        for (int k = 0; k < PRISM; k++) f->tet[t + k] = found ? found->first + k : -1;
        *missing += !found;
    }
    fa_free(list);
    return FA_OK;
}

static void match_columns(FaFleshFrom *f) {
    const FaFace *own = f->own->face;
    for (int i = 0; i < own->nskin; i++) f->column[i] = f->face->node_of_vertex[own->skin_vertex[i]];
}

// By ARKit's meaning, else by name.
static int match_shapes(FaFleshFrom *f, const FaRig *rig) {
    int matched = 0;
    for (int s = 0; s < f->rig->nshape; s++) {
        const FaShape *want = &f->rig->shape[s];
        f->shape[s] = -1;
        for (int k = 0; k < rig->nshape && f->shape[s] < 0; k++) {
            const FaShape *have = &rig->shape[k];
            const bool same = want->arkit >= 0 ? want->arkit == have->arkit && want->half == have->half
                                               : !strcmp(want->name, have->name);
            if (same) f->shape[s] = k;
        }
        matched += f->shape[s] >= 0;
    }
    return matched;
}

// --- opening --------------------------------------------------------------------------------------------------------

static FaCode open_other(FaFleshFrom *f, const char *path, const FaRig *rig, const FaPhysicsOptions *options,
                         FaError *err) {
    FA_TRY(fa_rig_load(path, NULL, &f->rig, err));
    if (f->rig->mesh.nvert != rig->mesh.nvert || f->rig->mesh.ntri != rig->mesh.ntri)
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_ARG, NULL, "give another identity of the same template",
                                   "its mesh is another than that of the rig: flesh has no counterpart"),
                           path);
    FA_TRY(fa_face_get(f->rig, FA_NEED_FACE, NULL, &f->face, err));
    FA_TRY(fa_blender_new(f->rig, &f->blender, err));
    FaPhysicsOptions o = *options;
    o.max_rows = o.nzone = 0, o.zone = NULL;
    return fai_physics_new(f->rig, f->face, &o, &f->physics, err);
}

static FaCode open_arrays(FaFleshFrom *f, FaError *err) {
    const FaLayered *own = f->own;
    f->stride = (own->ntet + 7) / 8 * 8;
    f->shape = FA_PUSH(f->arena, f->rig->nshape, int);
    f->weights = FA_PUSH(f->arena, f->rig->nshape, float);
    f->linear = FA_PUSH(f->arena, 3 * (size_t)f->rig->mesh.nvert, float);
    f->tet = FA_PUSH(f->arena, own->ntet, int);
    f->column = FA_PUSH(f->arena, own->nskin, int);
    f->gradient = FA_PUSH(f->arena, 9 * (size_t)f->stride, float);
    f->skull = FA_PUSH(f->arena, 4 * (size_t)own->nskin, float);
    bool good = f->shape && f->weights && f->linear && f->tet && f->column && f->gradient && f->skull;
    return good ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode open_from(FaFleshFrom *f, const char *path, const FaRig *rig, const FaPhysicsOptions *options,
                        bool passive, FaNotes *notes, FaError *err) {
    int missing = 0;
    f->arena = fai_arena_new(0);
    if (!f->arena) return FA_FAIL_MEMORY(err);
    FA_TRY(open_other(f, path, rig, options, err));
    FA_TRY(open_arrays(f, err));
    if (!match_shapes(f, rig))
        return fai_fail_in(
            err, FA_FAIL(err, FA_E_ARG, NULL, "give a rig with the same shapes", "no shape has its name"), path);
    f->scale = (float)(fai_face_scale(rig) / fai_face_scale(f->rig));
    match_columns(f);
    FA_TRY(match_tets(f, &missing, err));
    if (2 * missing > f->own->ntet / PRISM)
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_ARG, NULL, "build both faces with the same --simulate-vertices and margin",
                                   "most flesh has no counterpart: the faces simulate different vertices"),
                           path);
    fai_note_count(notes, missing, "flesh-unmatched", "", NULL,
                   "prisms of flesh have no counterpart on the other head, and keep their shape");
    return fai_forward_new(f->own, &(FaForwardOptions){.passive = passive, .volume = options->volume}, &f->forward,
                           err);
}

FaCode fai_flesh_from_new(const char *path, const FaRig *rig, const FaPhysics *own, const FaPhysicsOptions *options,
                          bool passive, FaFleshFrom **from, FaNotes *notes, FaError *err) {
    *from = NULL;
    FaFleshFrom *f = FA_NEW(1, FaFleshFrom);
    if (!f) return FA_FAIL_MEMORY(err);
    f->own = own->layered;
    FaCode rc = open_from(f, path, rig, options, passive, notes, err);
    if (rc < 0)
        fai_flesh_from_free(f);
    else
        *from = f;
    return rc;
}

void fai_flesh_from_free(FaFleshFrom *f) {
    if (!f) return;
    fai_forward_free(f->forward);
    fai_physics_free(f->physics);
    fa_blender_free(f->blender);
    fa_face_free(f->face);
    fa_rig_free(f->rig);
    fai_arena_free(f->arena);
    fa_free(f);
}

// --- a pose ---------------------------------------------------------------------------------------------------------

static void take_gradients(FaFleshFrom *f) {
    const size_t own = (size_t)f->stride, other = (size_t)f->physics->stride;
    for (int t = 0; t < f->own->ntet; t++)
        for (size_t k = 0; k < 9; k++)
            f->gradient[k * own + (size_t)t] =
                f->tet[t] < 0 ? k % 4 == 0 : f->physics->tet_rest[k * other + (size_t)f->tet[t]];
}

// Begins with each node as far as its counterpart is.
static void take_motion(FaFleshFrom *f, float *u) {
    const size_t own = (size_t)f->own->nskin, other = (size_t)f->face->nskin;
    for (size_t layer = 0; layer < 3; layer++)
        for (size_t i = 0; i < own; i++) {
            const int c = f->column[i];
            for (size_t k = 0; k < 4; k++)
                u[4 * (layer * own + i) + k] =
                    c < 0 ? 0 : f->scale * f->physics->u[4 * (layer * other + (size_t)c) + k];
        }
    memcpy(f->skull, u + 8 * own, 4 * own * sizeof *u);
}

FaCode fai_flesh_from_pose(FaFleshFrom *f, const float *weights, float *u, bool *still, FaStats *stats, FaError *err) {
    FaProjectiveReport report;
    *still = true;
    for (int s = 0; s < f->rig->nshape; s++) {
        f->weights[s] = f->shape[s] < 0 ? 0 : weights[f->shape[s]];
        *still &= f->weights[s] == 0;
    }
    memset(u, 0, 4 * (size_t)f->own->nnode * sizeof *u);
    if (*still) return FA_OK;
    fa_blender_eval(f->blender, f->weights, f->linear);
    fai_face_skin_to(f->face, f->linear, f->physics->lifted);
    FA_TRY(fai_physics_pose(f->physics, f->weights, stats, err));
    fai_physics_gradients(f->physics);
    take_gradients(f);
    take_motion(f, u);
    FaCode rc = fai_forward(f->forward, f->gradient, f->skull, PHI, u, &report, err);
    stats->iterations += report.iterations;
    stats->unsolved += rc == FA_STALLED;
    return rc;
}

const float *fai_flesh_from_gradients(const FaFleshFrom *f) { return f->gradient; }

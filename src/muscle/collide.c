#include "muscle/collide.h"

#include "math/mat3.h"
#include "mesh/closest.h"
#include "mesh/winding.h"
#include "method/touching.h"

#include <math.h>

typedef struct Collider {
    FaBone bone; // of kind FA_BONE_OTHER; arrays are the model's
    FaClosest *closest;
    FaWinding *winding;
} Collider;

struct FaMuscleColliders {
    int n;
    Collider collider[FA_TOUCH_COLLIDERS];
};

// Six times the volume, m3; below 0: its faces look inwards.
static double volume_of(const FaMesh *mesh) {
    double sum = 0;
    for (int t = 0; t < mesh->ntri; t++) {
        double p[3][3], cross[3];
        for (int k = 0; k < 3; k++) fai_v3_load(mesh->x, mesh->tri[3 * (size_t)t + (size_t)k], p[k]);
        fai_v3_cross(p[1], p[2], cross);
        sum += fai_v3_dot(p[0], cross);
    }
    return sum;
}

static FaCode add(FaMuscleModel *m, const FaRig *rig, bool with_jaw, FaError *err) {
    const FaMesh *mesh = &rig->mesh;
    Collider *c = &m->colliders->collider[m->colliders->n];
    FaBone *b = &c->bone;
    const double volume = volume_of(mesh);
    if (!(fabs(volume) > 0))
        return FA_FAIL(err, FA_E_MESH, rig->path, "give a closed mesh", "a collider has no volume");
    *b = (FaBone){.kind = FA_BONE_OTHER, .with_jaw = with_jaw, .nvert = mesh->nvert, .ntri = mesh->ntri};
    b->x = FA_PUSH(m->arena, 3 * (size_t)mesh->nvert, float);
    b->tri = FA_PUSH(m->arena, 3 * (size_t)mesh->ntri, int);
    if (!b->x || !b->tri) return FA_FAIL_MEMORY(err);
    memcpy(b->x, mesh->x, 3 * (size_t)mesh->nvert * sizeof *b->x);
    for (int i = 0; i < 3 * mesh->ntri; i++) b->tri[i] = mesh->tri[volume < 0 ? 3 * (i / 3) + 2 - i % 3 : i];
    m->colliders->n++;
    const FaMesh own = {.nvert = b->nvert, .ntri = b->ntri, .x = b->x, .tri = b->tri};
    FA_TRY(fai_closest_new_own(&own, NULL, &c->closest, err));
    return fai_winding_new(b->x, b->ntri, b->tri, &c->winding, err);
}

// The face as contact sees it: its own bones that touch, and these.
static FaCode touch(FaMuscleModel *m, FaError *err) {
    const struct FaMuscleColliders *c = m->colliders;
    FaFace face;
    FaBone more[FA_TOUCH_COLLIDERS];
    for (int i = 0; i < c->n; i++) more[i] = c->collider[i].bone;
    FA_TRY(fai_inner_face(&m->inner, m->face, c->n, more, &face, err));
    FaCode rc = fai_muscle_body_collide(m->body, &face, err);
    fa_free(face.bone);
    return rc;
}

FaCode fa_muscle_collide(FaMuscleModel *m, const FaRig *mesh, bool with_jaw, FaError *err) {
    if (!m->colliders) m->colliders = FA_PUSH(m->arena, 1, struct FaMuscleColliders);
    if (!m->colliders) return FA_FAIL_MEMORY(err);
    if (m->colliders->n == FA_MUSCLE_COLLIDERS_MOST)
        return FA_FAIL(err, FA_E_LIMIT, mesh->path, "join them to one mesh", "there are more than %d colliders",
                       (int)FA_MUSCLE_COLLIDERS_MOST);
    FA_TRY(add(m, mesh, with_jaw, err));
    return touch(m, err);
}

void fai_muscle_colliders_free(FaMuscleModel *m) {
    for (int i = 0; m->colliders && i < m->colliders->n; i++) {
        fai_closest_free(m->colliders->collider[i].closest);
        fai_winding_free(m->colliders->collider[i].winding);
    }
}

double fai_muscle_colliders_depth(const FaMuscleModel *m, const float *surface) {
    double deepest = 0;
    FaPose jaw = fai_pose_identity();
    FaError none = {0};
    if (!m->colliders || fai_muscle_jaw(m, &m->jaw, &jaw, NULL, &none) < 0) return 0;
    const FaPose back = fai_pose_inverse(&jaw);
    for (int i = 0; i < m->face->nskin; i++)
        for (int k = 0; k < m->colliders->n; k++) {
            const Collider *c = &m->colliders->collider[k];
            double p[3];
            fai_v3_load(surface, m->face->skin_vertex[i], p);
            if (c->bone.with_jaw) fai_pose_apply(&back, p, p);
            if (fai_winding_at(c->winding, p) < 0.5) continue;
            const float at[3] = {(float)p[0], (float)p[1], (float)p[2]};
            deepest = fmax(deepest, (double)fai_closest_point(c->closest, at, INFINITY).distance);
        }
    return deepest;
}

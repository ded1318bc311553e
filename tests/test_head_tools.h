// What the tests of the head share.
#ifndef FASCIA_TEST_HEAD_TOOLS_H
#define FASCIA_TEST_HEAD_TOOLS_H

#include "base/base.h"
#include "fascia/head.h"
#include "mesh/closest.h"
#include "mesh/intersect.h"
#include "mesh/mesh.h"
#include "test.h"

static inline FaHead *head_new(const FaHeadParams *p) {
    FaError err = {0};
    FaHead *head = NULL;
    CHECK_OK(fa_head_new(p, &head, &err), &err);
    return head;
}

static inline FaHead *head_at(int level, uint64_t seed, bool shapes) {
    FaHeadParams p = fa_head_params_default();
    p.level = level;
    p.shapes = shapes;
    fa_head_params_seed(&p, seed);
    return head_new(&p);
}

static inline int head_crossings(const FaMesh *mesh, const float *x) {
    FaError err = {0};
    int count = -1;
    CHECK_OK(fai_self_intersections(mesh, x, NULL, NULL, 0, &count, &err), &err);
    return count;
}

// How often a ray leaves through the mesh says where a point is; two odd directions must agree.
static inline bool head_inside(const FaClosest *c, const float p[3]) {
    static const float dir[3] = {0.5773f, 0.5573f, 0.5969f};
    float o[3] = {p[0], p[1], p[2]}, from = 0;
    int hits = 0;
    for (; hits < 40; hits++) {
        FaHit h = fai_closest_ray(c, o, dir, from, 1);
        if (h.tri < 0) break;
        from = h.distance + 1e-6f;
    }
    return hits & 1;
}

static inline double head_distance(const float *a, const float *b) {
    double s = 0;
    for (int k = 0; k < 3; k++) s += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
    return sqrt(s);
}

static inline const FaHeadShape *head_shape(const FaHeadPart *part, const char *name) {
    for (int i = 0; i < part->nshape; i++)
        if (strcmp(part->shape[i].name, name) == 0) return &part->shape[i];
    return NULL;
}

static inline const FaHeadPart *head_part(const FaHead *head, const char *name) {
    for (int i = 0; i < head->npart; i++)
        if (strcmp(head->part[i].name, name) == 0) return &head->part[i];
    return NULL;
}

// Neutral plus one shape.
static inline float *head_apply(const FaHeadPart *part, const FaHeadShape *shape) {
    float *x = malloc((size_t)part->mesh.nvert * 3 * sizeof(float));
    memcpy(x, part->mesh.x, (size_t)part->mesh.nvert * 3 * sizeof(float));
    for (int i = 0; shape && i < shape->count; i++)
        for (int k = 0; k < 3; k++) x[3 * shape->row[i] + k] += shape->delta[3 * i + k];
    return x;
}

#endif

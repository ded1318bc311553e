#include "face/skin_motion.h"

#include "base/task.h"

enum { NODES = 1024, VERTICES = 2048 }; // of a task

typedef struct SkinTo {
    const FaFace *face;
    const float *linear;
    float *u;
} SkinTo;

static void skin_to(void *ctx, int begin, int end, int chunk) {
    const SkinTo *c = ctx;
    const FaFace *f = c->face;
    (void)chunk;
    for (int s = begin; s < end; s++) {
        const float *at = c->linear + 3 * (size_t)f->skin_vertex[s], *x = f->x0 + 3 * (size_t)s;
        float *out = c->u + 4 * (size_t)s;
        for (int k = 0; k < 3; k++) out[k] = at[k] - x[k];
        out[3] = 0;
    }
}

void fai_face_skin_to(const FaFace *face, const float *linear, float *u) {
    fai_parallel(face->nskin, NODES, skin_to, &(SkinTo){face, linear, u});
}

typedef struct Surface {
    const FaFace *face;
    const float *linear, *skin;
    float *surface;
} Surface;

static void surface_of(void *ctx, int begin, int end, int chunk) {
    const Surface *s = ctx;
    const FaFace *f = s->face;
    (void)chunk;
    for (int v = begin; v < end; v++) {
        const int *ride = f->ride_node + 3 * (size_t)v;
        float *out = s->surface + 3 * (size_t)v;
        int node = f->node_of_vertex[v];
        if (node >= 0) {
            memcpy(out, s->skin + 3 * (size_t)node, 3 * sizeof *out);
            continue;
        }
        memcpy(out, s->linear + 3 * (size_t)v, 3 * sizeof *out);
        if (ride[0] < 0) continue;
        for (int j = 0; j < 3; j++) {
            const float *now = s->skin + 3 * (size_t)ride[j];
            const float *was = s->linear + 3 * (size_t)f->skin_vertex[ride[j]];
            for (int k = 0; k < 3; k++) out[k] += f->ride_weight[3 * (size_t)v + (size_t)j] * (now[k] - was[k]);
        }
    }
}

void fai_face_surface(const FaFace *face, const float *linear, const float *skin, float *surface) {
    fai_parallel(face->nvert, VERTICES, surface_of, &(Surface){face, linear, skin, surface});
}

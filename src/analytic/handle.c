// Based on: [A03] You, Tian, Tang: section 5 names sculpting forces as handles; the particular solutions are those of
// response.c. A force on a place is to its vertices what a force on a shape is to the shape.
#include "analytic/handle.h"

#include "math/mat3.h"

#include <math.h>

FaCode fai_handles_new(const FaRig *rig, const FaMaps *maps, FaHandles *out, FaError *err) {
    *out = (FaHandles){.handle = FA_NEW(maps->nhandle + 1, FaHandleRows)};
    if (!out->handle) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < maps->nhandle; i++) {
        const FaHandle *from = &maps->handle[i];
        FaHandleRows *to = &out->handle[out->count];
        double way[3];
        fai_m3_tmulv(rig->axes, from->direction, way); // canonical = axes * rig, a rotation
        *to = (FaHandleRows){.force = from->force};
        for (int v = 0; v < rig->mesh.nvert; v++) to->count += from->reach[v] != 0;
        if (!to->count) continue;
        out->count++;
        to->row = FA_NEW(to->count, int);
        to->delta = FA_NEW(3 * (size_t)to->count, float);
        if (!to->row || !to->delta) return FA_FAIL_MEMORY(err);
        for (int v = 0, n = 0; v < rig->mesh.nvert; v++) {
            if (from->reach[v] == 0) continue;
            for (int k = 0; k < 3; k++) to->delta[3 * n + k] = (float)((double)from->reach[v] * way[k]);
            to->row[n++] = v;
        }
    }
    return FA_OK;
}

void fai_handles_free(FaHandles *h) {
    for (int i = 0; i < h->count; i++) {
        fa_free(h->handle[i].row);
        fa_free(h->handle[i].delta);
    }
    fa_free(h->handle);
    *h = (FaHandles){0};
}

void fai_handles_push(const FaHandles *h, const FaOscillator *base, const FaOscillator *vertex, double t, float *x) {
    for (int i = 0; i < h->count; i++) {
        const FaHandleRows *p = &h->handle[i];
        const FaOscillator *last = base;
        double answer = fa_analytic_force(base, &p->force, t);
        for (int j = 0; j < p->count; j++) {
            const FaOscillator *o = vertex ? &vertex[p->row[j]] : base;
            if (o != last && memcmp(o, last, sizeof *o)) answer = fa_analytic_force(o, &p->force, t);
            last = o;
            for (int k = 0; k < 3; k++) x[3 * p->row[j] + k] += (float)(answer * (double)p->delta[3 * j + k]);
        }
    }
}

// --- how far a handle reaches -------------------------------------------------------------------------------------

// Shortest ways along edges, by sweeps over all triangles until nothing becomes shorter: a handle reaches a few edges.
static bool sweep(const FaMesh *mesh, double radius, double *dist) {
    bool shorter = false;
    for (int i = 0; i < 3 * mesh->ntri; i++) {
        int a = mesh->tri[i], b = mesh->tri[i - i % 3 + (i + 1) % 3];
        if (mesh->weld) a = mesh->weld[a], b = mesh->weld[b];
        if (fmin(dist[a], dist[b]) >= radius) continue;
        double p[3], q[3];
        fai_v3_load(mesh->x, a, p);
        fai_v3_load(mesh->x, b, q);
        fai_v3_sub(p, q, p);
        double length = fai_v3_norm(p);
        if (dist[a] + length < dist[b]) dist[b] = dist[a] + length, shorter = true;
        if (dist[b] + length < dist[a]) dist[a] = dist[b] + length, shorter = true;
    }
    return shorter;
}

FaCode fai_handle_reach(const FaRig *rig, double radius, double *reach, FaError *err) {
    const FaMesh *mesh = &rig->mesh;
    double *dist = FA_NEW(mesh->nvert, double);
    if (!dist) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++) dist[v] = INFINITY;
    for (int v = 0; v < mesh->nvert; v++)
        if (reach[v] > 0) dist[mesh->weld ? mesh->weld[v] : v] = 0;
    // each sweep goes at least one edge farther; a hostile mesh must not take all day
    for (int i = 0; i < 1000 && sweep(mesh, radius, dist);) i++;
    for (int v = 0; v < mesh->nvert; v++) {
        double u = fmin(dist[mesh->weld ? mesh->weld[v] : v] / radius, 1);
        reach[v] = (1 - u * u) * (1 - u * u);
    }
    fa_free(dist);
    return FA_OK;
}

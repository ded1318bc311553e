// How far, how local and how symmetric each shape of a rig is.
#include "base/task.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"
#include "rig/doctor.h"
#include "rig/names.h"

#include <math.h>
#include <stdlib.h>

// --- partners -----------------------------------------------------------------------------------------------------

// Hash tables, not searches: a hostile file may hold very many shapes.
static uint64_t *name_slot(uint64_t *slot, uint64_t mask, const FaRig *rig, const char *name) {
    uint64_t h = fai_hash64(name, strlen(name), 0) & mask;
    while (slot[h] && strcmp(rig->shape[slot[h] - 1].name, name)) h = (h + 1) & mask;
    return &slot[h];
}

FaCode fai_shape_partners(const FaRig *rig, int *partner, FaError *err) {
    int first[FA_ARKIT_COUNT][3];
    memset(first, -1, sizeof first);
    uint64_t mask = 15;
    while (mask < 2 * (uint64_t)rig->nshape) mask = 2 * mask + 1;
    uint64_t *slot = FA_NEW(mask + 1, uint64_t); // shape + 1, 0: free
    if (!slot) return FA_FAIL_MEMORY(err);
    for (int s = rig->nshape - 1; s >= 0; s--) {
        const FaShape *shape = &rig->shape[s];
        *name_slot(slot, mask, rig, shape->name) = (uint64_t)s + 1;
        if (shape->arkit >= 0) first[shape->arkit][shape->half + 1] = s;
    }
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        char name[512];
        if (shape->arkit >= 0) {
            int other = fai_arkit_mirror(shape->arkit);
            partner[s] = other == shape->arkit && !shape->half ? s : first[other][1 - shape->half];
        } else if (fai_name_mirror(shape->name, name, sizeof name)) {
            partner[s] = (int)*name_slot(slot, mask, rig, name) - 1;
        } else {
            partner[s] = s;
        }
    }
    fa_free(slot);
    return FA_OK;
}

// --- the mirror ---------------------------------------------------------------------------------------------------

typedef struct Mirror {
    FaHit *hit;     // where each vertex lands on the mesh when mirrored; tri -1 = nowhere near   (nvert)
    double left[3]; // unit normal of the plane
    double at;      // its place along that
} Mirror;

static double along(const double d[3], const float *x) {
    return d[0] * (double)x[0] + d[1] * (double)x[1] + d[2] * (double)x[2];
}

static void mirror_points(const Mirror *m, int n, const float *x, int stride, float *out) {
    for (int i = 0; i < n; i++) {
        const float *p = x + 3 * (size_t)i * (size_t)stride;
        double twice = 2 * (along(m->left, p) - m->at);
        for (int k = 0; k < 3; k++) out[3 * (size_t)i + (size_t)k] = (float)((double)p[k] - twice * m->left[k]);
    }
}

// Mean distance of mirrored sample vertices from the mesh.
static double misfit(const Mirror *m, const FaClosest *closest, const FaMesh *mesh, int n, int stride, float reach,
                     float *p, FaHit *hit) {
    mirror_points(m, n, mesh->x, stride, p);
    fai_closest_points(closest, n, p, reach, hit);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += hit[i].tri >= 0 ? (double)hit[i].distance : (double)reach;
    return n ? sum / n : 0;
}

// The plane is at 0, or in the middle of the box, or wherever in between halves the misfit further.
static void place_plane(Mirror *m, const FaClosest *closest, const FaMesh *mesh, double lo, double hi, float *p,
                        FaHit *hit) {
    int stride = FA_MAX(mesh->nvert / 600, 1), n = (mesh->nvert + stride - 1) / stride;
    double middle = 0.5 * (lo + hi), best = INFINITY, step = 0.01 * (hi - lo), place = 0;
    float reach = (float)(0.1 * (hi - lo));
    double tries[2] = {0, middle};
    for (int i = 0; i < 2; i++) {
        m->at = tries[i];
        double d = misfit(m, closest, mesh, n, stride, reach, p, hit);
        if (d < 0.999 * best) best = d, place = m->at;
    }
    for (int round = 0; round < 8; round++, step *= 0.5)
        for (int sign = -1; sign <= 1; sign += 2) {
            m->at = place + sign * step;
            double d = misfit(m, closest, mesh, n, stride, reach, p, hit);
            if (d < 0.8 * best) best = d, place = m->at;
        }
    m->at = place;
}

static FaCode find_mirror(const FaRig *rig, Mirror *m, FaError *err) {
    const FaMesh *mesh = &rig->mesh;
    *m = (Mirror){0};
    if (mesh->ntri == 0) return FA_OK;
    memcpy(m->left, rig->axes, sizeof m->left);
    FaClosest *closest = NULL;
    FA_TRY(fai_closest_new(mesh, NULL, &closest, err));
    m->hit = FA_NEW(mesh->nvert, FaHit);
    float *p = FA_NEW(3 * (size_t)mesh->nvert, float);
    FaCode rc = m->hit && p ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        double lo = INFINITY, hi = -INFINITY;
        for (int t = 0; t < 3 * mesh->ntri; t++) {
            double a = along(m->left, mesh->x + 3 * (size_t)mesh->tri[t]);
            lo = fmin(lo, a);
            hi = fmax(hi, a);
        }
        place_plane(m, closest, mesh, lo, hi, p, m->hit);
        mirror_points(m, mesh->nvert, mesh->x, 1, p);
        fai_closest_points(closest, mesh->nvert, p, (float)(0.05 * (hi - lo)), m->hit);
    }
    fa_free(p);
    fai_closest_free(closest);
    if (rc < 0) fa_free(m->hit);
    return rc;
}

// --- measures -----------------------------------------------------------------------------------------------------

typedef struct Spot {
    double distance, weight;
} Spot;

static int by_distance(const void *a, const void *b) {
    double x = ((const Spot *)a)->distance, y = ((const Spot *)b)->distance;
    return (x > y) - (x < y);
}

static double length3(const float *d) { return sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]); }

typedef struct Measure {
    const FaRig *rig;
    const float *area; // (nvert)
    const Mirror *mirror;
    FaShapeInfo *info;
    int *peak;
    int *partner; // (nshape)
    bool *ok;     // (nshape)
} Measure;

// Largest motion and its vertex.
static int find_peak(const FaRig *rig, const FaShape *s, double *most) {
    int peak = -1;
    *most = 0;
    for (int i = s->first; i < s->first + s->count; i++) {
        double d = length3(rig->delta + 3 * (size_t)i);
        if (d > *most) *most = d, peak = rig->row[i];
    }
    return peak;
}

// Radius about the peak that holds 90 % of area times squared motion, m; -1 on no memory.
static double locality(const Measure *m, const FaShape *s, int peak) {
    if (peak < 0) return 0;
    Spot *spot = FA_NEW(s->count, Spot);
    if (!spot) return -1;
    double total = 0, areas = 0;
    const float *c = m->rig->mesh.x + 3 * (size_t)peak;
    for (int i = 0; i < s->count; i++) areas += (double)m->area[m->rig->row[s->first + i]];
    for (int i = 0; i < s->count; i++) {
        int v = m->rig->row[s->first + i];
        const float *x = m->rig->mesh.x + 3 * (size_t)v;
        float off[3] = {x[0] - c[0], x[1] - c[1], x[2] - c[2]};
        double d = length3(m->rig->delta + 3 * (size_t)(s->first + i)), area = areas > 0 ? (double)m->area[v] : 1;
        spot[i] = (Spot){length3(off), area * d * d};
        total += spot[i].weight;
    }
    qsort(spot, (size_t)s->count, sizeof *spot, by_distance);
    double sum = 0, radius = 0;
    for (int i = 0; i < s->count && sum < 0.9 * total; i++) {
        sum += spot[i].weight;
        radius = spot[i].distance;
    }
    fa_free(spot);
    return radius;
}

// Rms distance, over vertices that move by a tenth of the most, between a shape and its mirrored partner, m.
static double asymmetry(const Measure *m, const FaShape *s, const FaShape *partner, double most, float *dense) {
    const FaRig *rig = m->rig;
    for (int i = partner->first; i < partner->first + partner->count; i++)
        memcpy(dense + 3 * (size_t)rig->row[i], rig->delta + 3 * (size_t)i, 3 * sizeof *dense);
    double sum = 0, weight = 0;
    for (int i = s->first; i < s->first + s->count; i++) {
        const float *d = rig->delta + 3 * (size_t)i;
        const FaHit *hit = &m->mirror->hit[rig->row[i]];
        if (length3(d) < 0.1 * most) continue;
        float other[3] = {0, 0, 0};
        for (int c = 0; c < 3 && hit->tri >= 0; c++)
            for (int k = 0; k < 3; k++)
                other[k] +=
                    hit->bary[c] * dense[3 * (size_t)rig->mesh.tri[3 * (size_t)hit->tri + (size_t)c] + (size_t)k];
        double back = 2 * along(m->mirror->left, other), area = (double)m->area[rig->row[i]], e = 0;
        for (int k = 0; k < 3; k++) {
            double diff = (double)d[k] - ((double)other[k] - back * m->mirror->left[k]);
            e += diff * diff;
        }
        sum += area * e;
        weight += area;
    }
    for (int i = partner->first; i < partner->first + partner->count; i++)
        memset(dense + 3 * (size_t)rig->row[i], 0, 3 * sizeof *dense);
    return weight > 0 ? sqrt(sum / weight) : 0;
}

static void measure_shapes(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Measure *m = ctx;
    float *dense = m->mirror->hit ? FA_NEW(3 * (size_t)m->rig->mesh.nvert, float) : NULL;
    for (int s = begin; s < end; s++) {
        const FaShape *shape = &m->rig->shape[s];
        FaShapeInfo *info = &m->info[s];
        double most;
        int peak = find_peak(m->rig, shape, &most);
        info->nonzero = shape->count;
        info->max_mm = 1e3 * most;
        info->symmetry_mm = -1;
        if (m->peak) m->peak[s] = peak;
        double radius = locality(m, shape, peak);
        info->locality_mm = 1e3 * fmax(radius, 0);
        int partner = m->partner[s];
        if (dense && partner >= 0 && peak >= 0)
            info->symmetry_mm = 1e3 * asymmetry(m, shape, &m->rig->shape[partner], most, dense);
        m->ok[s] = radius >= 0 && (dense || !m->mirror->hit);
    }
    fa_free(dense);
}

bool fai_shape_asymmetric(const FaShapeInfo *s) {
    return s->symmetry_mm > FA_ASYMMETRY * s->max_mm && s->max_mm >= FA_FAINT_MM;
}

FaCode fai_measure_shapes(const FaRig *rig, FaShapeInfo *info, int *peak, FaError *err) {
    if (rig->nshape == 0) return FA_OK;
    Mirror mirror = {0};
    FA_TRY(find_mirror(rig, &mirror, err));
    float *area = FA_NEW(rig->mesh.nvert, float);
    bool *ok = FA_NEW(rig->nshape, bool);
    int *partner = FA_NEW(rig->nshape, int);
    FaCode rc = area && ok && partner ? fai_shape_partners(rig, partner, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_mesh_areas(&rig->mesh, rig->mesh.x, area);
        Measure m = {rig, area, &mirror, info, peak, partner, ok};
        fai_parallel(rig->nshape, FA_MAX(rig->nshape / 64, 2), measure_shapes, &m);
        for (int s = 0; s < rig->nshape && rc >= 0; s++)
            if (!ok[s]) rc = FA_FAIL_MEMORY(err);
    }
    fa_free(area);
    fa_free(ok);
    fa_free(partner);
    fa_free(mirror.hit);
    return rc;
}

// Traits of mouths and jaws. Lips and lining are found by the chart that the head's skin carries (head/cage.h).
#include "head/pose.h"
#include "head/shape_ids.h"
#include "head/zoo.h"
#include "mesh/intersect.h"

#include <math.h>

static const FaiSpot *spot_of(const FaZoo *zoo, const FaZooMesh *m, int v) {
    return m->spot[v] < 0 ? NULL : &zoo->head->model->spot[m->spot[v]];
}

// How far a vertex belongs to the red of the lips that meets the other lip, within so many millimetres of the middle;
// *side: the upper lip goes down, the lower one up.
static double lip_share(const FaZoo *zoo, const FaZooMesh *m, int v, double half, double *side) {
    const FaiSpot *s = spot_of(zoo, m, v);
    if (!s || s->mouth < 0.99f) return 0;
    double row = (double)s->mouth_v, u = (double)s->mouth_u;
    *side = u < 4 ? -1 : 1;
    return fai_smooth(2.2, 3.4, row) * fai_smooth(6.4, 5.4, row) * fai_smooth(0.3, 1.2, fabs(u - 4)) *
           fai_smooth(half, 0.5 * half, fabs(s->mean[0]));
}

// The lips of the shipped head are everywhere equally near, so that depth alone would decide between no pair and all of
// them: the middle goes deeper first, to 0.5 mm, then what crosses grows wider.
FaCode fai_zoo_cross_lips(FaZoo *zoo, int least, FaError *err) {
    FaZooMesh *m = &zoo->mesh[0];
    FaMesh mesh;
    FA_TRY(fai_zoo_triangles(zoo, m, &mesh, err));
    float *rest = FA_PUSH(zoo->arena, m->nvert, float); // y
    if (!rest) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < m->nvert; v++) rest[v] = m->x[3 * v + 1];
    int count = 0;
    double half = 4, depth = 0;
    while (half < 40 && count < least) {
        if (depth < 5e-4)
            depth += 1e-5;
        else
            half += 0.5;
        for (int v = 0; v < m->nvert; v++) {
            double side = 0, share = lip_share(zoo, m, v, half, &side);
            m->x[3 * v + 1] = (float)((double)rest[v] + depth * side * share);
        }
        FA_TRY(fai_self_intersections(&mesh, m->x, NULL, NULL, 0, &count, err));
    }
    return FA_OK;
}

FaCode fai_zoo_touch_lips(FaZoo *zoo, FaError *err) {
    FaZooMesh *m = &zoo->mesh[0];
    const FaHeadModel *model = zoo->head->model;
    int *at = FA_PUSH(zoo->arena, model->nskin, int); // vertex of each spot, + 1
    if (!at) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < m->nvert; v++)
        if (m->spot[v] >= 0) at[m->spot[v]] = v + 1;
    for (int v = 0; v < m->nvert; v++) {
        const FaiSpot *s = spot_of(zoo, m, v);
        int partner = s ? model->partner[m->spot[v]] : -1, other = partner >= 0 ? at[partner] - 1 : -1;
        if (other < v || s->mouth_v < 3.9f || s->mouth_v > 5.1f) continue;
        for (int k = 0; k < 3; k++)
            m->x[3 * v + k] = m->x[3 * other + k] = 0.5f * (m->x[3 * v + k] + m->x[3 * other + k]);
    }
    return FA_OK;
}

FaCode fai_zoo_cut_bag(FaZoo *zoo, double row, FaError *err) {
    FaZooMesh *m = &zoo->mesh[0];
    bool *keep = FA_PUSH(zoo->arena, m->nface, bool);
    if (!keep) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < m->nface; f++) {
        double mean = 0, in = 0, n = m->face_start[f + 1] - m->face_start[f];
        for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++) {
            const FaiSpot *s = spot_of(zoo, m, m->face_vert[c]);
            if (s) mean += (double)s->mouth_v / n, in += (double)s->mouth / n;
        }
        keep[f] = in < 0.9 || mean < row;
    }
    return fai_zoo_keep_faces(zoo, m, keep, err);
}

static bool is_inner(const FaZooMesh *m) {
    return !strncmp(m->name, "teeth", 5) || !strncmp(m->name, "gum", 3) || !strcmp(m->name, "tongue");
}

void fai_zoo_flat_bag(FaZoo *zoo) {
    FaZooMesh *m = &zoo->mesh[0];
    for (int i = zoo->nmesh - 1; i > 0; i--)
        if (is_inner(&zoo->mesh[i])) fai_zoo_remove_mesh(zoo, i);
    for (int v = 0; v < m->nvert; v++) {
        const FaiSpot *s = spot_of(zoo, m, v);
        if (!s || s->mouth < 0.99f) continue;
        double flat = fai_smooth(5, 6, (double)s->mouth_v), seam = 1e-3 * fai_seam_y(s->mean[0]);
        double y = (double)m->x[3 * v + 1], thin = seam + 0.02 * (y - seam);
        m->x[3 * v + 1] = (float)(y + flat * (thin - y));
    }
}

void fai_zoo_loose_jaw(FaZoo *zoo) {
    for (int i = 0; i < zoo->nmesh; i++) {
        FaZooShape *s = fai_zoo_driven(&zoo->mesh[i], jawOpen);
        for (int v = 0; s && v < zoo->mesh[i].nvert; v++) {
            float *d = s->delta + 3 * (size_t)v, far = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            d[0] = 0, d[1] = -0.95f * far, d[2] = -0.3f * far;
        }
    }
}

static bool moves_jaw(int arkit) {
    return arkit == jawOpen || arkit == jawForward || arkit == jawLeft || arkit == jawRight;
}

void fai_zoo_weak_jaw(FaZoo *zoo) {
    for (int i = 0; i < zoo->nmesh; i++)
        for (int s = 0; s < zoo->mesh[i].nshape; s++)
            for (int k = 0; moves_jaw(zoo->mesh[i].shape[s].drive) && k < 3 * zoo->mesh[i].nvert; k++)
                zoo->mesh[i].shape[s].delta[k] *= 0.15f;
}

void fai_zoo_mouth_open(FaZoo *zoo) {
    for (int i = 0; i < zoo->nmesh; i++) {
        FaZooMesh *m = &zoo->mesh[i];
        int n = 0;
        for (int s = 0; s < m->nshape; s++) {
            if (moves_jaw(m->shape[s].drive) && m->shape[s].drive != jawOpen) continue;
            m->shape[n] = m->shape[s];
            if (m->shape[n].drive == jawOpen) m->shape[n].name = "mouthOpen";
            n++;
        }
        m->nshape = n;
    }
}

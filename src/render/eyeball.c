// Finds the balls among the triangles marked as eyes, so that iris and pupil can be painted on them.
#include "render/scene.h"

#include <math.h>

typedef struct Part {     // a connected piece of eye triangles
    double sum[3];        // of its vertices
    double m[4][4], r[4]; // normal equations of the sphere |p|^2 = 2 c p + d, about the mean
    double mean[3];
    int count;
    FaVec centre;
    float radius;
    double off;      // mean squared distance from the sphere
    double bulge[3]; // where it stands out at the front: the cornea
    bool ball;
    short eye;
} Part;

static int find_root(int *parent, int v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
}

// Solve the symmetric 4x4 system; false if it is singular (the piece is flat).
static bool solve4(double m[4][4], double r[4]) {
    for (int k = 0; k < 4; k++) {
        int pivot = k;
        for (int i = k + 1; i < 4; i++)
            if (fabs(m[i][k]) > fabs(m[pivot][k])) pivot = i;
        if (fabs(m[pivot][k]) < 1e-18) return false;
        for (int j = 0; j < 4; j++) {
            double t = m[k][j];
            m[k][j] = m[pivot][j];
            m[pivot][j] = t;
        }
        double t = r[k];
        r[k] = r[pivot];
        r[pivot] = t;
        for (int i = 0; i < 4; i++) {
            if (i == k) continue;
            double f = m[i][k] / m[k][k];
            for (int j = k; j < 4; j++) m[i][j] -= f * m[k][j];
            r[i] -= f * r[k];
        }
    }
    for (int k = 0; k < 4; k++) r[k] /= m[k][k];
    return true;
}

static void add_to_fit(Part *p, const float *x) {
    double q[4] = {2 * (x[0] - p->mean[0]), 2 * (x[1] - p->mean[1]), 2 * (x[2] - p->mean[2]), 1};
    double rhs = 0.25 * (q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) p->m[i][j] += q[i] * q[j];
        p->r[i] += q[i] * rhs;
    }
}

static void finish_fit(Part *p) {
    if (p->count < 12 || !solve4(p->m, p->r)) return;
    double r2 = p->r[3] + p->r[0] * p->r[0] + p->r[1] * p->r[1] + p->r[2] * p->r[2];
    if (!(r2 > 0)) return;
    p->centre = fai_vec((float)(p->mean[0] + p->r[0]), (float)(p->mean[1] + p->r[1]), (float)(p->mean[2] + p->r[2]));
    p->radius = (float)sqrt(r2);
    p->ball = true;
}

// The gaze is the scene's front, or the cornea's bulge where the ball has one there.
static void set_eyeball(const Part *p, FaEyeball *eye) {
    FaVec gaze = {0, 0, 1};
    FaVec bulge = fai_vec((float)p->bulge[0], (float)p->bulge[1], (float)p->bulge[2]);
    if (fai_len(bulge) > 0.05f * p->radius) {
        bulge = fai_unit(bulge);
        if (bulge.z > 0.8f) gaze = bulge;
    }
    FaVec side = fai_unit(fai_cross(fai_vec(0, 1, 0), gaze));
    *eye =
        (FaEyeball){.centre = p->centre, .radius = p->radius, .gaze = gaze, .side = side, .up = fai_cross(gaze, side)};
}

static void fit_parts(const FaScene *s, const int *part_of, Part *part, int nparts) {
    for (int v = 0; v < s->nvert; v++) {
        if (part_of[v] < 0) continue;
        Part *p = &part[part_of[v]];
        for (int k = 0; k < 3; k++) p->sum[k] += s->rest[3 * v + k];
        p->count++;
    }
    for (int i = 0; i < nparts; i++)
        for (int k = 0; k < 3; k++) part[i].mean[k] = part[i].sum[k] / part[i].count;
    for (int v = 0; v < s->nvert; v++)
        if (part_of[v] >= 0) add_to_fit(&part[part_of[v]], s->rest + 3 * v);
    for (int i = 0; i < nparts; i++) finish_fit(&part[i]);
    for (int v = 0; v < s->nvert; v++) {
        Part *p = part_of[v] >= 0 ? &part[part_of[v]] : NULL;
        if (!p || !p->ball) continue;
        FaVec d = fai_sub(fai_vec_of(s->rest + 3 * v), p->centre);
        double out = fai_len(d) - p->radius;
        p->off += out * out / p->count;
        if (out > 0.02 * p->radius && d.z > 0) {
            p->bulge[0] += out * d.x / p->radius;
            p->bulge[1] += out * d.y / p->radius;
            p->bulge[2] += out * d.z / p->radius;
        }
    }
    for (int i = 0; i < nparts; i++) part[i].ball = part[i].ball && sqrt(part[i].off) < 0.1 * part[i].radius;
}

// Pieces that are no balls (an iris of its own, a cornea) belong to the ball they lie in.
static short ball_around(const FaScene *s, const Part *p) {
    FaVec mean = fai_vec((float)p->mean[0], (float)p->mean[1], (float)p->mean[2]);
    short best = -1;
    float least = 1.3f;
    for (int e = 0; e < s->neye; e++) {
        float d = fai_len(fai_sub(mean, s->eye[e].centre)) / s->eye[e].radius;
        if (d < least) least = d, best = (short)e;
    }
    return best;
}

FaCode fai_scene_find_eyes(FaScene *s, FaError *err) {
    FaCode rc = FA_OK;
    Part *part = NULL;
    int *parent = FA_NEW(s->nvert, int), *part_of = FA_NEW(s->nvert, int);
    if (!parent || !part_of) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));

    // connected pieces, numbered by their first vertex
    for (int v = 0; v < s->nvert; v++) parent[v] = v, part_of[v] = -1;
    for (int t = 0; t < s->ntri; t++) {
        if (s->material[t] != FA_RENDER_EYE) continue;
        const int *w = s->welded + 3 * t, *v = s->tri + 3 * t;
        for (int k = 0; k < 3; k++) {
            int a = find_root(parent, w[0]), b = find_root(parent, w[k]);
            parent[FA_MAX(a, b)] = FA_MIN(a, b);
            a = find_root(parent, w[k]), b = find_root(parent, v[k]);
            parent[FA_MAX(a, b)] = FA_MIN(a, b);
            part_of[v[k]] = 0;
        }
    }
    int nparts = 0;
    for (int v = 0; v < s->nvert; v++) {
        if (part_of[v] < 0) continue;
        int root = find_root(parent, v);
        if (root == v || part_of[root] < 0) part_of[root] = 0; // a welded stand-in may have no triangle of its own
    }
    for (int v = 0; v < s->nvert; v++)
        if (part_of[v] >= 0) part_of[v] = find_root(parent, v) == v ? nparts++ : part_of[find_root(parent, v)];
    if (nparts == 0) goto done;
    part = FA_NEW(nparts, Part);
    s->eye = FA_PUSH(s->arena, nparts, FaEyeball);
    if (!part || !s->eye) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));

    fit_parts(s, part_of, part, nparts);
    for (int i = 0; i < nparts; i++) {
        part[i].eye = -1;
        if (!part[i].ball || s->neye > INT16_MAX - 1) continue;
        part[i].eye = (short)s->neye;
        set_eyeball(&part[i], &s->eye[s->neye++]);
    }
    for (int i = 0; i < nparts; i++)
        if (!part[i].ball) part[i].eye = ball_around(s, &part[i]);
    for (int t = 0; t < s->ntri; t++)
        if (s->material[t] == FA_RENDER_EYE) s->eyeball[t] = part[part_of[s->tri[3 * t]]].eye;
done:
    fa_free(part);
    fa_free(parent);
    fa_free(part_of);
    return rc;
}

// A whole body below the head: capsules for trunk and limbs in the face's own mesh, skinned to a chain of joints.
#include "head/zoo.h"
#include "math/mat3.h"

#include <math.h>

#define STAND 1.62 // m: height of the head's origin, the hinge of the jaw

const FaZooJoint fai_zoo_joints[FAI_ZOO_JOINTS] = {
    {"hips", -1, {0, 0.95, 0}},
    {"spine", 0, {0, 1.12, 0}},
    {"chest", 1, {0, 1.30, 0}},
    {"neck", 2, {0, 1.47, -0.02}},
    {"head", 3, {0, STAND, 0}},
    {"arm_left", 2, {0.19, 1.41, -0.02}},
    {"arm_right", 2, {-0.19, 1.41, -0.02}},
    {"leg_left", 0, {0.09, 0.90, 0}},
    {"leg_right", 0, {-0.09, 0.90, 0}},
};

typedef struct Capsule {
    int joint;
    double from[3], to[3];
    double wide, deep; // radii along x (or y, of arms) and z, m
} Capsule;

static const Capsule capsules[] = {
    {0, {0, 0.86, 0}, {0, 1.04, 0}, 0.165, 0.115},
    {1, {0, 1.00, 0}, {0, 1.22, 0}, 0.145, 0.105},
    {2, {0, 1.20, -0.01}, {0, 1.40, -0.02}, 0.185, 0.110},
    {5, {0.20, 1.41, -0.02}, {0.70, 1.41, -0.02}, 0.045, 0.045},
    {6, {-0.20, 1.41, -0.02}, {-0.70, 1.41, -0.02}, 0.045, 0.045},
    {7, {0.09, 0.84, 0}, {0.10, 0.06, 0}, 0.065, 0.070},
    {8, {-0.09, 0.84, 0}, {-0.10, 0.06, 0}, 0.065, 0.070},
};

enum { AROUND = 16, RINGS = 12, VERTS = AROUND * RINGS + 2, FACES = AROUND * (RINGS + 1) };

// Rings from end to end, the outer ones drawn in as half spheres are, and a pole at each end.
static void capsule_points(const Capsule *c, float *x) {
    double axis[3], u[3], w[3], length;
    fai_v3_sub(c->to, c->from, axis);
    length = fai_v3_norm(axis);
    fai_v3_scale(1 / length, axis, axis);
    fai_v3_set(w, 0, 0, 1);
    fai_v3_cross(w, axis, u); // u, w and the axis are right-handed: faces look outwards
    double cap = fmin(c->wide, c->deep);
    for (int r = -1; r <= RINGS; r++) {
        double t = (r + 1.0) / (RINGS + 1), along = -cap + t * (length + 2 * cap), over = 0;
        if (along < 0) over = -along / cap;
        if (along > length) over = (along - length) / cap;
        double thin = sqrt(fmax(0, 1 - over * over));
        for (int a = 0; a < (r < 0 || r == RINGS ? 1 : AROUND); a++) {
            int v = r < 0 ? AROUND * RINGS : r == RINGS ? AROUND * RINGS + 1 : r * AROUND + a;
            double angle = 2 * M_PI * a / AROUND, p[3];
            fai_v3_mad(c->from, along, axis, p);
            fai_v3_mad(p, thin * c->wide * cos(angle), u, p);
            fai_v3_mad(p, thin * c->deep * sin(angle), w, p);
            for (int k = 0; k < 3; k++) x[3 * v + k] = (float)p[k];
        }
    }
}

static void capsule_faces(int *start, int *vert) {
    int nf = 0, nc = 0;
    for (int a = 0; a < AROUND; a++) {
        int b = (a + 1) % AROUND, top = AROUND * (RINGS - 1);
        vert[nc++] = AROUND * RINGS, vert[nc++] = b, vert[nc++] = a;
        start[++nf] = nc;
        vert[nc++] = AROUND * RINGS + 1, vert[nc++] = top + a, vert[nc++] = top + b;
        start[++nf] = nc;
        for (int r = 0; r + 1 < RINGS; r++) {
            int q = r * AROUND;
            vert[nc++] = q + a, vert[nc++] = q + b, vert[nc++] = q + AROUND + b, vert[nc++] = q + AROUND + a;
            start[++nf] = nc;
        }
    }
}

// The head follows its joint; the lowest 40 mm of its neck go over to the neck's.
static FaCode skin_head(FaZoo *zoo, FaZooMesh *m, int nhead, FaError *err) {
    m->joint = FA_PUSH(zoo->arena, 2 * (size_t)m->nvert, unsigned char);
    m->share = FA_PUSH(zoo->arena, m->nvert, float);
    if (!m->joint || !m->share) return FA_FAIL_MEMORY(err);
    double low = INFINITY;
    for (int v = 0; v < zoo->head->part[0].mesh.nvert; v++)
        low = fmin(low, (double)zoo->head->part[0].mesh.x[3 * v + 1]);
    for (int v = 0; v < nhead; v++) {
        double up = ((double)m->x[3 * v + 1] - STAND - low) / 0.04;
        m->joint[2 * v] = FAI_ZOO_HEAD_JOINT;
        m->joint[2 * v + 1] = up < 1 ? FAI_ZOO_HEAD_JOINT - 1 : 0;
        m->share[v] = (float)fmin(fmax(up, 0), 1);
    }
    return FA_OK;
}

FaCode fai_zoo_body(FaZoo *zoo, FaError *err) {
    FaZooMesh *m = &zoo->mesh[0];
    float x[3 * VERTS];
    int from[VERTS], start[FACES + 1] = {0}, vert[4 * FACES], nhead = m->nvert;
    for (int v = 0; v < VERTS; v++) from[v] = -1;
    for (int i = 0; i < zoo->nmesh; i++)
        for (int v = 0; v < zoo->mesh[i].nvert; v++) zoo->mesh[i].x[3 * v + 1] += (float)STAND;
    capsule_faces(start, vert);
    for (int i = 0; i < FA_COUNT(capsules); i++) {
        capsule_points(&capsules[i], x);
        FA_TRY(fai_zoo_append(zoo, m, &(FaZooExtra){VERTS, FACES, x, from, start, vert, "bone"}, err));
    }
    for (int i = 0; i < zoo->nmesh; i++) FA_TRY(skin_head(zoo, &zoo->mesh[i], i ? zoo->mesh[i].nvert : nhead, err));
    for (int v = nhead; v < m->nvert; v++) {
        m->joint[2 * v] = (unsigned char)capsules[(v - nhead) / VERTS].joint;
        m->share[v] = 1;
    }
    zoo->skinned = true;
    return FA_OK;
}

#include "muscle/slide.h"

#include "math/mat3.h"
#include "math/rbf.h"
#include "mesh/mesh.h"

#include <math.h>

// mm, on the mean head: above the orbits, below where frontalis begins, in front of the temples.
static const double LOW = 46, HIGH = 92, BACK = 20;
static const double STIFFNESS = 2e3; // N/m
// And below the floor of the mouth, above the larynx, in front of the spine.
static const double FLOOR = -46, LARYNX = -104, SPINE = -12;
static const double GIVES = 10; // N/m
// And the upper lid with both corners of the eye: around its middle, in front of the temples.
static const double EYE[2] = {31.5, 27.5}, LID = 16, TEMPLE = 45;
static const double SEPTUM = 6; // N/m
// And the corners of the eye: from the middle of the slit along it, and how far around them.
static const double SLIT[2] = {31.8, 25.5}, ALONG[2] = {0.9971, 0.0767}, CORNER = 15, AROUND = 3.5;
static const double TENDON = 3; // N/m

static int nearest(const FaMesh *mesh, const float *x) {
    int best = 0;
    double least = INFINITY;
    for (int v = 0; v < mesh->nvert; v++) {
        double d2 = 0;
        for (size_t k = 0; k < 3; k++) d2 += pow((double)mesh->x[3 * (size_t)v + k] - (double)x[k], 2);
        if (d2 < least) least = d2, best = v;
    }
    return best;
}

// at: on the mean head, mm.
static bool on_lid(const double at[3]) {
    double aside = fabs(at[0]) - EYE[0], up = at[1] - EYE[1], r = sqrt(aside * aside + up * up);
    return at[2] > TEMPLE && r < LID && up > -0.1 * r;
}

static bool on_corner(const double at[3]) {
    for (int side = -1; side <= 1; side += 2) {
        double x = fabs(at[0]) - SLIT[0] - side * CORNER * ALONG[0], y = at[1] - SLIT[1] - side * CORNER * ALONG[1];
        if (at[2] > TEMPLE && x * x + y * y < AROUND * AROUND) return true;
    }
    return false;
}

// What is up on the mean head, there: unit.
static void find_up(const FaRbf *warp, const double at[3], double up[3]) {
    double a[3], b[3];
    fai_rbf_point(warp, (double[]){at[0], at[1] - 5, at[2]}, a);
    fai_rbf_point(warp, (double[]){at[0], at[1] + 5, at[2]}, b);
    fai_v3_sub(b, a, up);
    double size = fai_v3_norm(up);
    for (int k = 0; k < 3; k++) up[k] = size > 0 ? up[k] / size : 0;
}

int fai_muscle_slide(const FaMuscleGround *g, const FaFilled *f, unsigned char *fixed, FaSpring *spring, FaError *err) {
    FaRbf *back = NULL, *warp = NULL;
    float *normal = FA_NEW(3 * (size_t)g->skin->nvert, float);
    if (!normal) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_rbf_new(g->npair, g->to, g->from, &(FaRbfOptions){.lambda = g->noise}, &back, err);
    if (rc >= 0) rc = fai_rbf_new(g->npair, g->from, g->to, &(FaRbfOptions){.lambda = g->noise}, &warp, err);
    int n = 0;
    if (rc >= 0) fai_mesh_normals(g->skin, g->skin->x, normal);
    for (int i = 0; i < f->nnode && rc >= 0; i++) {
        double x[3], at[3];
        const bool free = f->kind[i] == FA_FILLED_FREE;
        if (!free && (f->kind[i] != FA_FILLED_SKULL || f->skin_of_node[i] != -1)) continue;
        fai_v3_load(f->x, i, x);
        fai_rbf_point(back, x, at);
        if (free) {
            if (on_corner(at)) {
                spring[n++] = (FaSpring){.node = i, .stiffness = TENDON, .to = {x[0], x[1], x[2]}};
                continue;
            }
            if (!on_lid(at)) continue;
            FaSpring *s = &spring[n++];
            *s = (FaSpring){.node = i, .stiffness = SEPTUM, .to = {x[0], x[1], x[2]}, .one_sided = true};
            find_up(warp, at, s->normal);
            for (int k = 0; k < 3; k++) s->normal[k] = -s->normal[k];
            continue;
        }
        bool slides = at[1] > LOW && at[1] < HIGH && at[2] > BACK;
        if (!slides && !(at[1] < FLOOR && at[1] > LARYNX && at[2] > SPINE)) continue;
        const float *away = normal + 3 * (size_t)nearest(g->skin, f->x + 3 * (size_t)i);
        fixed[i] = 0;
        FaSpring *s = &spring[n++];
        *s = (FaSpring){.node = i, .stiffness = slides ? STIFFNESS : GIVES};
        for (int k = 0; k < 3; k++) s->to[k] = x[k], s->normal[k] = slides ? (double)away[k] : 0;
    }
    fai_rbf_free(back);
    fai_rbf_free(warp);
    fa_free(normal);
    return rc < 0 ? rc : n;
}

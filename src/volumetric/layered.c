#include "volumetric/layered.h"

#include "face/tetra.h"
#include "math/mat3.h"

#include <math.h>

static const double MIDDLE = 0.5;   // of a column is above the muscle layer
static const double EVEN = 0.5;     // of the way to its prism's mean, per round, where a tet is inverted
static const double DENSITY = 1100; // kg/m3
static const double LEAST = 0.02;   // of a third of the prism: less is a tet about to turn over
enum { ROUNDS = 24, PRISM = 6 };    // tets of the two prisms below a triangle

// --- geometry -------------------------------------------------------------------------------------------------------

static double volume_of(const double *x, const int t[4]) {
    double e[3][3], n[3];
    for (int k = 0; k < 3; k++) fai_v3_sub(x + 3 * (size_t)t[k + 1], x + 3 * (size_t)t[0], e[k]);
    fai_v3_cross(e[0], e[1], n);
    return fai_v3_dot(n, e[2]) / 6;
}

static void place_muscle(FaLayered *l, int i) {
    const double *skin = l->x0 + 3 * (size_t)i, *skull = l->x0 + 3 * (size_t)(2 * l->nskin + i);
    double *muscle = l->x0 + 3 * (size_t)(l->nskin + i);
    for (int k = 0; k < 3; k++) muscle[k] = skin[k] + l->share[i] * (skull[k] - skin[k]);
}

static void place_layers(FaLayered *l) {
    const FaFace *f = l->face;
    for (int i = 0; i < l->nskin; i++) {
        double *skin = l->x0 + 3 * (size_t)i, *skull = l->x0 + 3 * (size_t)(2 * l->nskin + i), d[3];
        fai_v3_load(f->x0, i, skin);
        fai_v3_load(f->x0, f->layers * f->nskin + i, skull);
        fai_v3_sub(skull, skin, d);
        l->depth[i] = fai_v3_norm(d);
        l->share[i] = MIDDLE;
        l->held[i] = fmin((double)f->to_skull[i] + (double)f->to_jaw[i], 1);
        place_muscle(l, i);
    }
}

// A prism's tets are sound where none is thinner than a sliver of a third of it.
static bool is_sound(const FaLayered *l, const int *tet) {
    double v[3], sum = 0, least = INFINITY;
    for (int k = 0; k < 3; k++) sum += v[k] = volume_of(l->x0, tet + 4 * (size_t)k), least = fmin(least, v[k]);
    return least > LEAST * sum / 3 && least > 1e-18;
}

static bool is_whole(const FaLayered *l, const int *tet) { return is_sound(l, tet) && is_sound(l, tet + 12); }

// The face's own tets are sound; sliced, some are not where columns of a prism lean differently. There the muscle layer
// goes the same share of the way in all three.
static void even_out(FaLayered *l, const int *tet, unsigned char *moved) {
    const FaFace *f = l->face;
    for (int round = 0; round < ROUNDS; round++) {
        bool good = true;
        for (int t = 0; t < f->ntri; t++) {
            const int *v = f->tri + 3 * (size_t)t;
            if (is_whole(l, tet + 4 * (size_t)PRISM * (size_t)t)) continue;
            good = false;
            double mean = (l->share[v[0]] + l->share[v[1]] + l->share[v[2]]) / 3;
            mean += EVEN * (MIDDLE - mean);
            for (int k = 0; k < 3; k++) {
                l->share[v[k]] += EVEN * (mean - l->share[v[k]]);
                moved[v[k]] = 1;
                place_muscle(l, v[k]);
            }
        }
        if (good) break;
    }
    for (int i = 0; i < l->nskin; i++) l->evened += moved[i];
}

// Tets of the prisms that are sound, in order.
static void keep_sound(FaLayered *l, const int *tet) {
    const FaFace *f = l->face;
    for (int t = 0; t < f->ntri; t++) {
        const int *own = tet + 4 * (size_t)PRISM * (size_t)t;
        if (!is_whole(l, own)) {
            l->left_out++;
            continue;
        }
        for (int k = 0; k < PRISM; k++) {
            memcpy(l->tet[l->ntet], own + 4 * (size_t)k, sizeof l->tet[0]);
            l->triangle[l->ntet] = t;
            l->muscle[l->ntet] = k >= PRISM / 2;
            l->volume[l->ntet] = volume_of(l->x0, l->tet[l->ntet]);
            l->ntet++;
        }
    }
}

static void find_areas(FaLayered *l) {
    const FaFace *f = l->face;
    for (int t = 0; t < f->ntri; t++) {
        double n[3];
        fai_v3_tri_cross(f->x0, f->tri + 3 * (size_t)t, n);
        for (int k = 0; k < 3; k++) l->area[f->tri[3 * (size_t)t + (size_t)k]] += fai_v3_norm(n) / 6;
    }
}

// --- made and freed -------------------------------------------------------------------------------------------------

static FaCode build(FaLayered *l, FaError *err) {
    const FaFace *f = l->face;
    const size_t n = (size_t)f->nskin, ntet = (size_t)PRISM * (size_t)f->ntri;
    l->nskin = f->nskin;
    l->nnode = 3 * f->nskin;
    l->x0 = FA_PUSH(l->arena, 9 * n, double);
    l->area = FA_PUSH(l->arena, n, double);
    l->depth = FA_PUSH(l->arena, n, double);
    l->share = FA_PUSH(l->arena, n, double);
    l->held = FA_PUSH(l->arena, n, double);
    l->tet = fai_arena_push(l->arena, ntet, sizeof *l->tet);
    l->triangle = FA_PUSH(l->arena, ntet, int);
    l->muscle = FA_PUSH(l->arena, ntet, unsigned char);
    l->volume = FA_PUSH(l->arena, ntet, double);
    int *tet = FA_NEW(4 * ntet, int);
    unsigned char *moved = FA_NEW(n, unsigned char);
    bool good = l->x0 && l->area && l->depth && l->share && l->held && l->tet && l->triangle && l->muscle &&
                l->volume && tet && moved;
    if (good) {
        place_layers(l);
        find_areas(l);
        fai_prism_tets(f->nskin, 2, f->ntri, f->tri, tet);
        even_out(l, tet, moved);
        keep_sound(l, tet);
    }
    fa_free(tet);
    fa_free(moved);
    if (!good) return FA_FAIL_MEMORY(err);
    if (l->ntet == 0)
        return FA_FAIL(err, FA_E_MESH, NULL, "build the face again, thicker", "the face has no room for two layers");
    return FA_OK;
}

FaCode fai_layered_new(const FaFace *face, FaLayered **layered, FaError *err) {
    *layered = NULL;
    if (fai_face_filled(face))
        return FA_FAIL(err, FA_E_ARG, "face", "build it without --flesh filled",
                       "filled flesh has no layers of skin, muscle and skull");
    FaLayered *l = FA_NEW(1, FaLayered);
    if (!l) return FA_FAIL_MEMORY(err);
    l->face = face;
    l->arena = fai_arena_new(0);
    FaCode rc = l->arena ? build(l, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_layered_free(l);
    else
        *layered = l;
    return rc;
}

void fai_layered_free(FaLayered *l) {
    if (!l) return;
    fai_arena_free(l->arena);
    fa_free(l);
}

// --- a body ---------------------------------------------------------------------------------------------------------

// |F - P|^2 is a third of (det F - 1)^2 for small strain, so that eq. 12 and 13's weight counts three times; halves are
// in both energies alike.
static void weigh_tets(const FaLayered *l, const FaLayeredBody *b, FaElastic *e) {
    for (int t = 0; t < l->ntet; t++) {
        const double w = b->strain * l->volume[t], strain = l->muscle[t] ? b->muscle : 1;
        const double volume = l->muscle[t] ? b->muscle_volume : 1;
        e->tet_strain[t] = strain * w;
        e->tet_volume[t] = 3 * volume * b->volume * w;
    }
}

static void weigh_nodes(const FaLayered *l, const FaLayeredBody *b, FaElastic *e) {
    for (int i = 0; i < l->nnode; i++) e->mass[i] = 1e-9;
    for (int t = 0; t < l->ntet; t++)
        for (int k = 0; k < 4; k++) e->mass[l->tet[t][k]] += DENSITY * l->volume[t] / 4;
    for (int i = 0; i < l->nskin; i++) {
        const double area = fmax(l->area[i], 1e-12);
        e->anchor_node[i] = i;
        e->anchor_weight[i] = b->skin[i] * b->strain * area;
        e->anchor_node[l->nskin + i] = 2 * l->nskin + i;
        e->anchor_weight[l->nskin + i] = b->bone * l->held[i] * b->strain * area;
    }
}

FaCode fai_layered_elastic(const FaLayered *l, const FaLayeredBody *b, FaElastic *e, FaError *err) {
    *e = (FaElastic){.nnode = l->nnode, .nanchor = 2 * l->nskin, .ntet = l->ntet};
    e->arena = fai_arena_new(0);
    if (!e->arena) return FA_FAIL_MEMORY(err);
    e->x0 = l->x0;
    e->tet = l->tet;
    e->mass = FA_PUSH(e->arena, l->nnode, double);
    e->anchor_node = FA_PUSH(e->arena, e->nanchor, int);
    e->anchor_weight = FA_PUSH(e->arena, e->nanchor, double);
    e->tet_strain = FA_PUSH(e->arena, l->ntet, double);
    e->tet_volume = FA_PUSH(e->arena, l->ntet, double);
    if (!e->mass || !e->anchor_node || !e->anchor_weight || !e->tet_strain || !e->tet_volume)
        return FA_FAIL_MEMORY(err);
    weigh_nodes(l, b, e);
    weigh_tets(l, b, e);
    return FA_OK;
}

#include "projective/deep_goal.h"

#include "base/task.h"
#include "face/material.h"
#include "face/tetra.h"
#include "math/chol.h"
#include "math/mat3.h"

#include <math.h>

static const double SLIDE = 0.8; // share of its skin's motion that deep flesh makes on its bone: fascia glides
static const double GRIP = 25;   // 1/m, filled flesh: that share at 10 mm, grip * 10 mm = 1 / SLIDE - 1

struct FaDeepGoal {
    const FaFace *face;
    double turn[9], slide[3]; // of the jaw, in this frame
    float *goal;
    // filled flesh
    FaCsr skin;   // K_is: inner x skin
    FaChol *chol; // of K_ii and the grip of the bones
    double *grip; // of each inner node, m                                        (inner)
    float *rhs;   //                                                              (inner x 4)
    FaArena *arena;
};

// --- layers -------------------------------------------------------------------------------------------------------

static void columns(void *ctx, int begin, int end, int chunk) {
    const FaDeepGoal *g = ctx;
    const FaFace *f = g->face;
    const int layers = f->layers;
    (void)chunk;
    for (int s = begin; s < end; s++) {
        const float *skin = g->goal + 4 * (size_t)s;
        float deep[3] = {0};
        double bone[3] = {0}, x0[3], held = (double)f->to_skull[s] + (double)f->to_jaw[s],
               glide = 1 - held * (1 - SLIDE);
        if (f->to_jaw[s] > 0) {
            fai_v3_load(f->x0, layers * f->nskin + s, x0);
            fai_m3_mulv(g->turn, x0, bone);
            for (int k = 0; k < 3; k++) bone[k] = (double)f->to_jaw[s] / held * (bone[k] + g->slide[k] - x0[k]);
        }
        for (int k = 0; k < 3; k++) deep[k] = (float)((1 - glide) * bone[k] + glide * (double)skin[k]);
        for (int l = 1; l <= layers; l++) {
            float part = (float)l / (float)layers, *out = g->goal + 4 * ((size_t)l * (size_t)f->nskin + (size_t)s);
            for (int k = 0; k < 3; k++) out[k] = f->rim[s] ? skin[k] : skin[k] + part * (deep[k] - skin[k]);
            out[3] = 0;
        }
    }
}

// --- filled -------------------------------------------------------------------------------------------------------

// g A of the nodes on bone. A: a third of each side that lies on bone.
static void find_grip(FaDeepGoal *g) {
    static const int corner[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    const FaFace *f = g->face;
    for (int k = 0; k < 4 * f->ntet; k++) {
        const int *v = f->tet + 4 * (size_t)(k / 4);
        int side[3], on = 0;
        double n[3];
        for (int c = 0; c < 3; c++) {
            side[c] = v[corner[k % 4][c]];
            on += f->carrier[side[c]] != FA_CARRIER_NONE && side[c] >= f->nskin;
        }
        if (on < 3) continue;
        fai_v3_tri_cross(f->x0, side, n);
        for (int c = 0; c < 3; c++) g->grip[side[c] - f->nskin] += GRIP * fai_v3_norm(n) / 6;
    }
    // a node that is on bone by itself: as much as its share of the flesh around it would cover
    for (int i = f->nskin; i < f->nnode; i++)
        if (f->carrier[i] != FA_CARRIER_NONE && !(g->grip[i - f->nskin] > 0))
            g->grip[i - f->nskin] = GRIP * pow((double)f->mass[i] / 1100, 2.0 / 3);
}

static FaCode open_filled(FaDeepGoal *g, FaError *err) {
    const FaFace *f = g->face;
    const int n = f->nnode - f->nskin;
    FaCsr k = {0};
    g->grip = FA_PUSH(g->arena, n, double);
    g->rhs = FA_PUSH(g->arena, 4 * (size_t)n, float);
    if (!g->grip || !g->rhs) return FA_FAIL_MEMORY(err);
    find_grip(g);
    FaCode rc = fai_conduction(f, &k, &g->skin, err);
    for (int i = 0; rc >= 0 && i < n; i++)
        for (int e = k.start[i]; e < k.start[i + 1]; e++)
            if (k.col[e] == i) k.val[e] += g->grip[i];
    const FaCholOptions single = {.single = true};
    if (rc >= 0) rc = fai_chol_analyze(&k, &single, &g->chol, err);
    if (rc >= 0) rc = fai_chol_factor(g->chol, &k, err);
    fai_csr_free(&k);
    return rc;
}

static void right_side(void *ctx, int begin, int end, int chunk) {
    const FaDeepGoal *g = ctx;
    const FaFace *f = g->face;
    (void)chunk;
    for (int i = begin; i < end; i++) {
        double sum[3] = {0}, x0[3], bone[3];
        for (int e = g->skin.start[i]; e < g->skin.start[i + 1]; e++)
            for (int k = 0; k < 3; k++)
                sum[k] -= g->skin.val[e] * (double)g->goal[4 * (size_t)g->skin.col[e] + (size_t)k];
        if (f->carrier[f->nskin + i] == FA_CARRIER_JAW) {
            fai_v3_load(f->x0, f->nskin + i, x0);
            fai_m3_mulv(g->turn, x0, bone);
            for (int k = 0; k < 3; k++) sum[k] += g->grip[i] * (bone[k] + g->slide[k] - x0[k]);
        }
        for (int k = 0; k < 3; k++) g->rhs[4 * (size_t)i + (size_t)k] = (float)sum[k];
    }
}

// --- both ---------------------------------------------------------------------------------------------------------

FaCode fai_deep_goal_new(const FaFace *face, FaDeepGoal **deep, FaError *err) {
    *deep = NULL;
    FaDeepGoal *g = FA_NEW(1, FaDeepGoal);
    if (!g) return FA_FAIL_MEMORY(err);
    g->face = face;
    g->arena = fai_arena_new(0);
    FaCode rc = g->arena ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && fai_face_filled(face)) rc = open_filled(g, err);
    if (rc < 0)
        fai_deep_goal_free(g);
    else
        *deep = g;
    return rc;
}

void fai_deep_goal_free(FaDeepGoal *g) {
    if (!g) return;
    fai_csr_free(&g->skin);
    fai_chol_free(g->chol);
    fai_arena_free(g->arena);
    fa_free(g);
}

void fai_deep_goal(FaDeepGoal *g, const float *weights, float *goal) {
    const FaFace *f = g->face;
    const FaPose jaw = fai_jaw_pose(&f->jaw, weights);
    fai_q_to_m3(jaw.q, g->turn);
    memcpy(g->slide, jaw.p, sizeof g->slide);
    g->goal = goal;
    if (!fai_face_filled(f)) {
        fai_parallel(f->nskin, 1024, columns, g);
        return;
    }
    fai_parallel(f->nnode - f->nskin, 1024, right_side, g);
    fai_chol_solve_f(g->chol, g->rhs, goal + 4 * (size_t)f->nskin);
}

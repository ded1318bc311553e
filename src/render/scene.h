// What is in the picture: all parts as one triangle soup with normals, materials, edges, and rays through it.
#ifndef FAI_SCENE_H
#define FAI_SCENE_H

#include "base/base.h"
#include "fascia/render.h"
#include "render/vec.h"

// Iris and pupil are painted in the frame of the resting eyeball, so that they move with its vertices.
typedef struct FaEyeball {
    FaVec centre, gaze, side, up; // rest frame, scene axes
    float radius;
} FaEyeball;

typedef struct FaScene {
    int nvert, ntri, nnormal, neye;
    float *x;                // positions now, scene axes, m                                 (nvert x 3, padded)
    float *rest;             // positions at rest                                            (nvert x 3)
    float *heat;             // mm                                                           (nvert)
    float *across;           // of muscles: across the fibres, 0..1; NULL: there are none     (nvert)
    int *tri;                //                                                              (ntri x 3)
    int *welded;             // the same, vertices joined across seams                       (ntri x 3)
    int *corner_normal;      // normal of each corner; corners across a crease differ        (ntri x 3)
    float *normal;           // unit                                                         (nnormal x 3)
    unsigned char *material; // FaRenderMaterial                                             (ntri)
    unsigned char *edges;    // bit k: the edge from corner k to k + 1 is a polygon's edge   (ntri)
    unsigned char *pull;     // of muscles, 255: all they can                                (ntri)
    short *eyeball;          // index into eye, -1 = none                                    (ntri)
    FaEyeball *eye;          //                                                              (neye)
    int *part_vert;          // first vertex of each part, then the total                    (nparts + 1)
    int nparts;
    bool has_heat;
    double axes[9];
    const FaRenderPart *part; // a copy                                                       (nparts)
    FaArena *arena;
    struct FaRays *rays;
    float size; // half the diagonal of the drawn parts' box at rest, m
} FaScene;

FaCode fai_scene_new(const FaRenderPart *parts, int nparts, const double axes[9], FaScene **scene, FaError *err);
// As fa_renderer_pose; makes the scene ready for rays.
FaCode fai_scene_pose(FaScene *scene, const float *const *x, const float *const *heat, FaError *err);
void fai_scene_free(FaScene *scene);

FaCode fai_scene_find_eyes(FaScene *scene, FaError *err);    // eyeball.c
FaCode fai_scene_find_creases(FaScene *scene, FaError *err); // normals.c: corner_normal, nnormal, normal
void fai_scene_normals(FaScene *scene);                      // normals.c: of the positions now

// --- rays (rays.c, on Embree) -------------------------------------------------------------------------------------
typedef struct FaHit {
    int tri;       // -1: nothing
    float u, v, t; // weights of corners 1 and 2; distance
} FaHit;
typedef struct FaRays FaRays;
FaCode fai_rays_new(FaRays **rays, FaError *err);
// The triangles drawn over the positions x (with 4 floats of slack behind them); both are borrowed. Build after
// each change of x.
FaCode fai_rays_set(FaRays *rays, const float *x, int nvert, const int *tri, int ntri, FaError *err);
FaCode fai_rays_build(FaRays *rays, FaError *err);
void fai_rays_free(FaRays *rays);
FaHit fai_rays_hit(const FaRays *rays, FaVec from, FaVec dir);
// Which of up to 8 rays from one point hit something at `near` or beyond: bit i for dir[i].
enum { FA_RAYS_AT_ONCE = 8 };
unsigned fai_rays_blocked(const FaRays *rays, FaVec from, const FaVec *dir, int n, float near);

#endif

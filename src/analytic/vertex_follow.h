// One oscillator per vertex: the surface follows the linear rig's surface, each vertex with its own mass, damping and
// stiffness, exactly for targets that move linearly over a step.
#ifndef FAI_VERTEX_FOLLOW_H
#define FAI_VERTEX_FOLLOW_H

#include "fascia/analytic.h"
#include "method/head_force.h"
#include "method/method.h"

typedef struct FaVertexFollow FaVertexFollow;

// gain is copied; NULL: 0 everywhere.
FaCode fai_vertex_follow_new(const FaRig *rig, const FaOscillator *vertex, const float *gain, FaVertexFollow **out,
                             FaError *err);
void fai_vertex_follow_free(FaVertexFollow *f);
void fai_vertex_follow_prepare(FaVertexFollow *f,
                               double h); // coefficients of a step; cheap if h is that of the last call
void fai_vertex_follow_rest(FaVertexFollow *f, const float *target, const FaAffine *a, float *surface);
// n steps of the length prepared, over which the target moves linearly from the last one to this; target and surface
// may be the same array. a: acceleration at their ends (n + 1), linear between; NULL: none.
void fai_vertex_follow_step(FaVertexFollow *f, const float *target, int n, const FaAffine *a, float *surface);
// What the vertices of a shape answer to a force on it since t seconds, each in its own way, in closed form: added.
void fai_vertex_follow_push(const FaVertexFollow *f, const FaRig *rig, int shape, const FaForce *force, double t,
                            float *surface);
const FaOscillator *fai_vertex_follow_springs(const FaVertexFollow *f); // (nvert)
// Each vertex keeps a share of its way from the target, 0..1, and of its velocity (nvert).
void fai_vertex_follow_calm(FaVertexFollow *f, const float *keep);
void fai_vertex_follow_state(FaVertexFollow *f, FaStream *s);

#endif

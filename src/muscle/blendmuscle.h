// The shapes of a rig as muscles make them: each targeted once, then blended as blendshapes are, but on muscles (paper
// 002, section 7): weights give activations, a jaw and the ends of tracks, and flesh makes the face from those.
//
//     activation(w) = clamp(sum w_i a_i)    track(w) = sum track_i(w_i)    jaw(w): turns and slides about the hinge,
//     summed snap(w) = sum w_i snap_i              what no muscle makes of the sculpts
//
// A shape that closes the mouth is sculpted on top of the open jaw, through the upper lip without it: it is targeted on
// top of that, and is what it adds.
//
// Tracks of shapes that turn the jaw bend with it: they are known at four moments of the way; others are straight.
//
// As bytes, in the .face file and in a file of its own while shapes are made, this machine's byte order:
//   0 8 signature   8 8 key: what they depend on   16 8 size   24 8 checksum of the rest   32 16 counts
//   then per finished shape: number, levels, vertices of its snap, 0; rms at rest and in the end; turn and slide of the
//   jaw; activations; tracks (levels x npoint x 3, float); vertices; snap (x 3, float)
#ifndef FAI_BLENDMUSCLE_H
#define FAI_BLENDMUSCLE_H

#include "base/text.h"
#include "muscle/directed.h"

typedef struct FaBlendMuscle {
    bool done, resumed;
    int nlevel;          // of its tracks; 0: no muscle moves anything of it, all of it is snap
    double turn[3];      // rad: rotation vector of the jaw at 1
    double slide[3];     // m: how far the hinge goes
    double *activation;  // -1..1                                                  (nmuscle)
    float *track;        // m                                                  (nlevel x npoint x 3)
    int nsnap;           // vertices
    int *vertex;         // increasing                                          (nsnap)
    float *snap;         // m                                                  (nsnap x 3)
    double neutral, rms; // m: of the face's skin against the shape, at rest and as muscles make it
} FaBlendMuscle;

typedef struct FaBlendMuscles {
    int nshape, nmuscle, npoint, nvert;
    uint64_t key;
    FaBlendMuscle *shape; // (nshape)
} FaBlendMuscles;

// Empty, for this model and its rig. Free with fai_blend_muscles_free.
FaCode fai_blend_muscles_new(FaMuscleDirector *director, FaBlendMuscles *out, FaError *err);
void fai_blend_muscles_free(FaBlendMuscles *b);
int fai_blend_muscles_done(const FaBlendMuscles *b); // shapes that are there

// Append all finished shapes; out->failed on no memory.
void fai_blend_muscles_pack(const FaBlendMuscles *b, FaText *out);
// Take those that are missing; how many. Bytes with another key, or with anything odd in them, are not used: 0.
// FA_E_MEMORY.
int fai_blend_muscles_unpack(FaBlendMuscles *b, const void *data, size_t size, FaError *err);

// The shape that another goes on top of, and that is to be made before it; -1: none.
int fai_blend_muscle_base(const FaMuscleModel *model, int shape);
// One shape, by targeting; the director's model is left at rest. Numeric failure and a shape that muscles only make
// worse give a shape without muscles.
FaCode fai_blend_muscle_make(FaMuscleDirector *director, int shape, FaBlendMuscles *b, FaError *err);

// What muscles do at these weights. weights: beyond -0.5 and 1.5 they count as that. activation (nmuscle), jaw, track
// (npoint x 3): out. False: nothing moves, all is at rest.
bool fai_blend_muscles_at(const FaBlendMuscles *b, const FaJaw *jaw, const float *weights, double *activation,
                          FaPose *pose, double *track);
// Add what flesh does not make: `part` of the snaps, by vertex (nvert), and all of shapes that have no muscles or
// weights beyond those above. surface: (nvert x 3, m).
void fai_blend_muscles_finish(const FaBlendMuscles *b, const FaRig *rig, const float *weights, const float *part,
                              float *surface);

#endif

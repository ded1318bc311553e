// Forces on places: handles that push vertices in a direction, each vertex on its own spring, in closed form.
#ifndef FAI_HANDLE_H
#define FAI_HANDLE_H

#include "base/base.h"
#include "fascia/analytic.h"

// A handle as sparse rows, as a shape has them: where a force of size 1 would bring each vertex in the end.
typedef struct FaHandleRows {
    FaForce force;
    int count;
    int *row;     // vertex                        (count)
    float *delta; // m, rig's axes                 (count x 3)
} FaHandleRows;

typedef struct FaHandles {
    FaHandleRows *handle;
    int count;
} FaHandles;

// Of the maps' handles; those that reach nothing are left out.
FaCode fai_handles_new(const FaRig *rig, const FaMaps *maps, FaHandles *out, FaError *err);
void fai_handles_free(FaHandles *h);
// What they have done t seconds after they set in, added. vertex: springs by vertex; NULL: base everywhere.
void fai_handles_push(const FaHandles *h, const FaOscillator *base, const FaOscillator *vertex, double t, float *x);

// How much of a handle reaches each vertex: 1 at the start, falling smoothly to 0 at `radius` (m) from them along
// the edges of the mesh. In: 1 at the start, else 0. (nvert)
FaCode fai_handle_reach(const FaRig *rig, double radius, double *reach, FaError *err);

#endif

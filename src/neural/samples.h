// One person's samples: poses drawn, brought to rest by the physics, and what that adds to linear blending.
#ifndef FAI_SAMPLES_H
#define FAI_SAMPLES_H

#include "fascia/dataset.h"
#include "neural/people.h"
#include "neural/poses.h"
#include "neural/shard.h"

#include <stdatomic.h>

typedef struct FaTeacher {
    const FaPeople *people;
    const FaPoses *poses;
    const char *method;
    const FaParams *params;
    uint64_t key;      // of the set
    bool alone;        // nothing else works meanwhile: loops have all threads
    atomic_bool *stop; // nullable: give up between two poses (FA_E_CANCELLED)
} FaTeacher;

typedef struct FaTaught {
    double setup, seconds; // s of processor time: until the face is there; all
    int drop[FA_DROPS];
} FaTaught;

// A face to test poses on: triangles of the skin that the physics simulates, else all of the mesh.
FaCode fai_samples_make(const FaTeacher *teacher, uint64_t identity, int npose, FaShard *shard, FaTaught *taught,
                        FaError *err);
// Vertices of the mesh that move in the canonical frame: to = axes * from (n x 3). May be the same.
void fai_samples_turn(const FaRig *rig, int n, const float *from, float *to);

#endif

// People to learn from: the shipped head by numbers, or somebody's own morphable model: a rig and modes of identity.
//
// A person follows from (seed, identity) alone. All of them have the vertices, triangles and shapes of the mean, whose
// frame they are in.
#ifndef FAI_PEOPLE_H
#define FAI_PEOPLE_H

#include "fascia/rig.h"

typedef struct FaPeopleSource {
    const char *source;          // "head", or a rig: neutral, with or without shapes
    const char *const *identity; // modes: meshes of the rig's topology, or folders of them; none: only the rig itself
    int nidentity;
    const FaRigOptions *rig; // how to read these; NULL: defaults
    int level;               // of the head
    uint64_t seed;
} FaPeopleSource;

typedef struct FaPeople {
    FaRig *mean;
    bool head;         // the shipped one
    int level;         // of it
    uint64_t seed;     //
    int nmode;         //
    float *mode;       // what each adds to the mean at coefficient 1, m            (nmode x nvert x 3)
    FaBinding binding; // of ARKit's 52 to the shapes of the mean, and so of all
    bool has[FA_ARKIT_COUNT];
    uint64_t print; // of all of the above
    FaNotes notes;
} FaPeople;

FaCode fai_people_open(const FaPeopleSource *source, FaPeople *people, FaError *err);
void fai_people_close(FaPeople *people); // empty is fine
// Somebody. Any thread. Give back with fai_people_put.
FaCode fai_people_get(const FaPeople *people, uint64_t identity, FaRig **rig, FaError *err);
void fai_people_put(const FaPeople *people, FaRig *rig); // NULL is fine
// Coefficients of somebody's modes (nmode): normal, within 2.5.
void fai_people_coefficients(const FaPeople *people, uint64_t identity, float *coefficient);

#endif

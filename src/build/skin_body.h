// The skin as an elastic sheet: the surface model of thesis 001 (3.2, 5.1, 5.2) that blendforces move and whose
// equilibria are optimised. With area weights, so that the mesh's density does not matter:
//     M = rho A_v,  skull springs Ks A_v,  edges ke = Ks le^2,  bending kb = Ks lb^4,  Ks = rho (2 pi fn)^2
#ifndef FAI_SKIN_BODY_H
#define FAI_SKIN_BODY_H

#include "energy/elastic.h"
#include "face/face.h"

typedef struct FaSkinBodyOptions {
    double density;   // kg/m2; 0: 5
    double frequency; // Hz of the skull springs; 0: 10
    double edge;      // m, le; 0: 4 mm
    double bend;      // m, lb; 0: 4 mm
} FaSkinBodyOptions;

// The elastic body of the face's skin nodes. options NULL: defaults. Free e->arena.
FaCode fai_skin_body(const FaFace *face, const FaSkinBodyOptions *options, FaElastic *e, FaError *err);

#endif

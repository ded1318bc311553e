// The skin of a face, closed, so that "inside" has a meaning.
#ifndef FAI_FILLED_CLOSE_H
#define FAI_FILLED_CLOSE_H

#include "build/filled_domain.h"

// Sets x, tri, skin_of, their counts and held; needs rig, face, size, topo, exposed, lip and the arena.
FaCode fai_filled_close(FaFilledDomain *domain, FaError *err);

#endif

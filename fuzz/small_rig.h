#ifndef FASCIA_FUZZ_SMALL_RIG_H
#define FASCIA_FUZZ_SMALL_RIG_H

#include "fascia/rig.h"

const FaRig *small_rig(void); // made once; shapes jawOpen and cheekPuff

#endif

// Which shape opens the jaw: where flesh turns about a hinge and lips part is found from it.
#ifndef FAI_JAW_OPENER_H
#define FAI_JAW_OPENER_H

#include "base/base.h"
#include "fascia/rig.h"

// The shape that opens the jaw: jawOpen by any of its names; without one that moves, a shape that opens the mouth
// (mouthOpen, AU27) or a vowel that does (viseme_aa, VRM's A). -1: none.
int fai_jaw_opener(const FaRig *rig);

#endif

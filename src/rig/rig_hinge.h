// Where a jaw turns, as far as a file or its user says it: a point, or a joint of the skin.
#ifndef FAI_RIG_HINGE_H
#define FAI_RIG_HINGE_H

#include "base/base.h"
#include "fascia/rig.h"

typedef struct FaDraftJoint {
    const char *name;
    double at[3]; // at rest, file coordinates
} FaDraftJoint;

// Set rig->hinge and hinge_how (in the rig's arena) from option ("x,y,z" in file coordinates, or a joint's name; NULL:
// a joint that is called a jaw) and rig->local. FA_E_ARG: it is neither, or far outside of rig->mesh.
FaCode fai_rig_hinge(FaRig *rig, const FaDraftJoint *joint, int njoint, const char *option, FaArena *arena,
                     FaError *err);

#endif

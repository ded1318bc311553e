// The jaw's rigid motion, found in the shapes of a rig: hinge, angle, slides, and how much of it each vertex takes part
// in.
#ifndef FAI_JAW_H
#define FAI_JAW_H

#include "face/face.h"

// What fai_jaw_opener does at weight 1. d: nvert x 3, m, overwritten. False, and zeros, if there is none.
bool fai_jaw_motion(const FaRig *rig, float *d);

// Fit the jaw to fai_jaw_opener, jawForward, jawLeft and jawRight: each shape's end pose (neutral plus delta) against
// the neutral; the turn about rig->hinge if that is known. What was not sculpted as a turn gets the nearest one, with a
// note. A rig that nothing opens gives found = false and a note; that is no error. with_jaw (nullable): 0 stays with
// the skull .. 1 goes with the jaw (rig->mesh.nvert). notes is nullable. Fails with FA_E_MEMORY only; jaw is all zero
// then.
FaCode fai_fit_jaw(const FaRig *rig, FaJaw *jaw, float *with_jaw, FaNotes *notes, FaError *err);

// Displacement of every vertex at weight 1 of an ARKit shape, by its name: both halves where a rig splits it, or the
// one shape that stands for left and right at once ("blink"). d: nvert x 3, m, overwritten. False, and zeros, if none
// has it.
bool fai_arkit_motion(const FaRig *rig, const char *arkit_name, float *d);
// The same added to d, `scale` times.
bool fai_arkit_motion_add(const FaRig *rig, const char *arkit_name, float scale, float *d);

#endif

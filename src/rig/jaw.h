// The jaw's rigid motion, found in the shapes of a rig: hinge, angle, slides, and how much of it each vertex takes part
// in.
#ifndef FAI_JAW_H
#define FAI_JAW_H

#include "base/base.h"
#include "fascia/rig.h"

// The jaw's motion as the rig's shapes have it, rigid: its pose at weight 1 of each shape; composed for a frame by
// fai_jaw_pose.
enum { FA_JAW_MORE = 48 };
typedef struct FaJaw {
    bool found;
    int shape[4];              // jawOpen (or what opens it), jawForward, jawLeft, jawRight in the rig; -1 = none
    double hinge[3];           // a point on the axis, m, head frame
    double axis[3];            // unit; opening turns by the right hand about it
    double open_angle;         // rad at jawOpen = 1
    double open_slide[3];      // m at jawOpen = 1, added after the turn about the hinge
    double slide[4][3];        // m at weight 1 of shape[1..3] ([0] unused)
    double turn[4][3];         // rotation vector about the hinge at weight 1 of shape[1..3] ([0] unused)
    double residual;           // m, rms of the fit on the chin
    int nmore;                 // other shapes that open it too: visemes, mouthOpen, jawOpen under a second name
    int more[FA_JAW_MORE];     // in the rig                                             (nmore)
    double share[FA_JAW_MORE]; // of jawOpen at weight 1 of each, above 0                (nmore)
} FaJaw;

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

// Rigid motion of the jaw against the skull for these weights: turn about the hinge, then slide; identity if no jaw was
// found.
FaPose fai_jaw_pose(const FaJaw *jaw, const float *weights);

#endif

// The jaw's rigid motion, found in the shapes of a rig: hinge, angle, slides, and how much of it each vertex takes part
// in.
#ifndef FAI_JAW_H
#define FAI_JAW_H

#include "base/base.h"
#include "fascia/rig.h"

// The jaw's motion as the rig's shapes have it, rigid: its pose at weight 1 of each shape; composed for a frame by
// fai_jaw_pose.
enum { FA_JAW_MORE = 256 };

// The jaw's pose at weight 1 of a shape beside the four: all of the jaw's motion is `open` times jawOpen's, on top of a
// turn and a slide.
typedef struct FaJawShape {
    int shape;       // in the rig
    double open;     // of jawOpen
    double turn[3];  // rotation vector about the hinge, before it opens
    double slide[3]; // m, added after the turns
} FaJawShape;

typedef struct FaJaw {
    bool found;
    int shape[4];                 // jawOpen (or what opens it), jawForward, jawLeft, jawRight in the rig; -1 = none
    double hinge[3];              // a point on the axis, m, head frame
    double axis[3];               // unit; opening turns by the right hand about it
    double open_angle;            // rad at jawOpen = 1
    double open_slide[3];         // m at jawOpen = 1, added after the turn about the hinge
    double slide[4][3];           // m at weight 1 of shape[1..3] ([0] unused)
    double turn[4][3];            // rotation vector about the hinge at weight 1 of shape[1..3] ([0] unused)
    double residual;              // m, rms of the fit on the chin
    int nmore;                    // other shapes that move it: visemes, mouthOpen, second names of the four
    FaJawShape more[FA_JAW_MORE]; // by their numbers                                      (nmore)
} FaJaw;

// The rigid motion that most of n points agree on (those of lower teeth, say), to 0.2 mm or a twentieth of it. x, d: of
// all vertices, where they are and by how much they move, m; list: those meant; w: scratch (2n). False: there is none.
bool fai_jaw_agreed(int n, const int *list, const float *x, const float *d, double *w, FaPose *motion);
// The jaw's pose at weight 1 of a shape, in place of what was found: one of the four or any other. What moves the jaw
// by less than 0.1 mm leaves it where it is. False: there are FA_JAW_MORE already.
bool fai_jaw_set_shape(FaJaw *jaw, int shape, const FaPose *pose);

uint64_t fai_jaw_shape_hash(const FaJawShape *shape, uint64_t seed);

// What fai_jaw_opener does at weight 1. d: nvert x 3, m, overwritten. False, and zeros, if there is none.
bool fai_jaw_motion(const FaRig *rig, float *d);

// Fit the jaw to fai_jaw_opener, jawForward, jawLeft and jawRight: each shape's end pose (neutral plus delta) against
// the neutral; the turn about rig->hinge if that is known. Then every other shape: lower teeth of the mesh tell its
// jaw, else the chin where most of it moves rigidly, else how far it opens as jawOpen does, whatever it does to the
// lips. What was not sculpted as a turn gets the nearest one, with a note. A rig that nothing opens gives found = false
// and a note; that is no error. with_jaw (nullable): 0 stays with the skull .. 1 goes with the jaw (rig->mesh.nvert).
// notes is nullable. Fails with FA_E_MEMORY only; jaw is all zero then.
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

// Flesh: a face made into an elastic body, and where a frame of the rig wants each of its nodes.
//
// volume (thesis 001 section 5.3): tets between skin and hypodermis resist shear and change of volume; deep nodes hang
// on skull and jaw; skin nodes are drawn to the rig's posed surface. surface (section 5.2): springs along edges and
// bending of the skin alone. Goals are as stiff as a frequency says, and lower where tissue is thick, so that cheeks
// swing and foreheads do not. What hangs free (thesis 6.4.2: tentacles) has none: neither springs to the skull nor
// shapes as forces, only the flesh it grows from, its weight and what it touches.
//
// Goals reach below the skin as well: a deep node is wanted where its bone carries it, gliding some of the way its skin
// goes, or, where it is free, where its skin goes. With `follow` the rest shape of the flesh is that posed one
// (FaElasticFrame): a pose held still costs no energy, so the artist's surface is met exactly when nothing pushes;
// without it flesh pulls back to the neutral, as the thesis has it.
#ifndef FAI_FLESH_H
#define FAI_FLESH_H

#include "energy/elastic.h"
#include "face/face.h"

typedef struct FaFleshOptions {
    bool surface;
    double shear;      // Pa, mu
    double bulk;       // Pa, lambda
    double goal;       // Hz: how firmly 6 mm of flesh follow the rig
    double bone;       // Hz: how firmly deep nodes hang on their bone
    const float *firm; // times goal; 0: no goal, the flesh hangs on that beside it; NULL: 1 (nskin)
    bool plain;        // surface: leave out the face's optimised stiffness
} FaFleshOptions;

typedef struct FaFlesh {
    const FaRig *rig;
    const FaFace *face;
    FaElastic e;
    int nnode;               // e.nnode: of the face, or its skin alone
    double *column;          // kg that go with each skin node                         (nskin)
    struct FaDeepGoal *deep; // goals below the skin; NULL: there is nothing
    int *anchor_node;        // = e.anchor_node
    double *force; // N/m: unit blendforce on a node is this times its displacement in the shape; without optimised
                   // stiffness the anchors' own weight, by which it is named in equilibrium.h        (nnode)
    FaBlender *blender;
    float *linear; // the rig's surface in the last goal                          (rig nvert x 3)
    int *odd;      // vertices that were not finite, of each chunk
} FaFlesh;

// rig and face must outlive it and fit each other.
FaCode fai_flesh_new(const FaRig *rig, const FaFace *face, const FaFleshOptions *o, FaFlesh **flesh, FaError *err);
void fai_flesh_free(FaFlesh *flesh); // NULL is fine

// Where these weights want each node: displacements (nnode x 4). Also evaluates flesh->linear. No allocation.
void fai_flesh_goal(FaFlesh *flesh, const float *weights, float *goal);
// The same for a surface wanted in place of the rig's at these weights, which still move the jaw: skin nodes go `share`
// of the way from `goal` as it was to the target (nvert x 3). A vertex that is not finite stays. Their number.
int fai_flesh_goal_at(FaFlesh *flesh, const float *weights, const float *target, double share, float *goal);
// Targets of the anchors: the goals of their nodes                                     (nanchor x 4)
void fai_flesh_anchors(const FaFlesh *flesh, const float *goal, float *anchor);
// All of the rig's vertices for displaced nodes u: simulated ones as they are, riding ones moved along, others as in
// flesh->linear. skin: positions of the skin nodes as floats (nskin x 3), those that contact has seen.
void fai_flesh_surface(const FaFlesh *flesh, const float *skin, float *surface);

#endif

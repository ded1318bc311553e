// Which channel of a clip drives which shape of a rig: the rule, its reasons, in this one place (fa_clip_bind).
//
// A channel drives one shape, once. Rigs from the wild carry the same motion under several names (an ARKit set beside
// FACS units beside a headset's set); driven together they add up, and a smile of 1 becomes a smile of 3.
//
//   1. The animation of the rig's own file: channel i is shape i. Nothing is guessed there.
//   2. The same name, letter by letter: whoever wrote that clip had this rig in mind. Of several shapes of one name
//      the first counts.
//   3. By meaning. Every ARKit shape is a place; where it has halves (browInnerUp_L) they are half a place each. A
//      place goes to one shape, the first in this order that is free and that a channel speaks for:
//        a. what names.json says it is: the user knows the rig;
//        b. a name spelled as ARKit spells it: made for such clips;
//        c. names of one family (the prefix without its numbers, and the custom that it follows: "AK_25_JawOpen",
//           "AU_26_JawDrop", "Fcl_EYE_Close_L"). The family that covers most of ARKit comes first: its shapes were
//           sculpted to go together, and others only fill what it lacks;
//        d. one shape for both sides ("mouthSmile", "blink"), where left and right have no shapes of their own;
//        e. one of a left and a right shape where the other is missing;
//        f. shapes that move nothing, or hold only rounding errors.
//
// A shape whose place is taken is driven all the same if it moves other parts of the mesh than those that have it: a
// head whose teeth and tongue were joined with the skin brings a jawOpen of each.
//
// names.json ({"theirName": "jawOpen" | null}) is about shapes first: such a shape goes by what is said there, no
// longer by its own name (so that swapped sides can be swapped back), and null silences it always, in the file's own
// animation too. A name that is no shape of the rig is a channel's.
#ifndef FAI_BIND_H
#define FAI_BIND_H

#include "base/base.h"
#include "fascia/rig.h"
#include "mesh/mesh.h"

// Whether a clip is the rig's own: the one that came in its file, or a part of it. Its channels are the rig's shapes,
// in order, and what else moves in the file moves with it.
bool fai_clip_is_own(const FaRig *rig, const FaClip *clip);

// Which shapes move parts of the mesh (pieces that hang together) that no other one moves. Start from {0}.
typedef struct FaShapeParts {
    FaTopology topo;
    unsigned char *seen; // (nparts); NULL: not made yet
} FaShapeParts;
// apart: shapes a and b move no part in common. Made at the first call; a rig without triangles has one part.
FaCode fai_shapes_apart(FaShapeParts *parts, const FaRig *rig, int a, int b, bool *apart, FaError *err);
void fai_shape_parts_free(FaShapeParts *parts);

// Which shapes to fit to what was seen (markers): 1 for each that a clip with all of ARKit would drive, 0 for those
// that do over again what these do (`left`, nullable: how many). Fitted together, repeated shapes fight: one far out,
// the other holding against it. Shapes without a place in ARKit count too, unless the rig has a whole family too many
// (visemes beside FACS beside a headset's set): then nobody can say what they repeat.
FaCode fai_shapes_to_fit(const FaRig *rig, unsigned char *use, int *left, FaError *err);

#endif

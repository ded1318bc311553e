// Bones and other hard things below the skin: other meshes of the rig's file, rigid parts of its own mesh, files given.
#ifndef FAI_BONES_H
#define FAI_BONES_H

#include "face/face.h"
#include "fascia/face.h"
#include "mesh/mesh.h"

// What a name says: "Mandible", "teeth_lower", "Eye_L". False if it names nothing hard.
bool fai_bone_kind_of_name(const char *name, FaBoneKind *kind);

// The jaw as fai_fit_jaw finds it in the skin; then, for every shape that the file's meshes of a mandible or of lower
// teeth have too, as those move.
FaCode fai_bones_jaw(const FaRig *rig, FaJaw *jaw, float *with_jaw, FaNotes *notes, FaError *err);

// Collect them in the rig's frame into the face, with notes. skin_part: the part of topo that is skin.
FaCode fai_bones_collect(const FaRig *rig, const FaTopology *topo, int skin_part, const FaFaceOptions *options,
                         FaFace *face, FaError *err);

#endif

// FBX and a few other formats through assimp, if fascia was built with it.
//
// The scene becomes a glTF document in memory (assimp_scene.h), and the rig comes from that as from any other: all
// meshes, materials, skins, joints and animations are kept, and what is written later is that document. So the order of
// vertices is the document's, in every file that is written; it is not the file's, since assimp gives a vertex per
// polygon corner and does not say which are one.
//
// The document is in metres with y up. A unit or axis that the file does not say, or that its size speaks against, is
// found as for any rig, and the document made again with it.
//
// Assimp is C++ made for trusted files, and a broken one may bring its process down. So it runs in a box: a process of
// its own with little memory, little time and no other files (import_box.h). Where the helper program is missing, such
// files are refused unless the caller allows them in its own process (FaRigOptions.in_process).
#ifndef FAI_FOREIGN_H
#define FAI_FOREIGN_H

#include "base/base.h"
#include "fascia/rig.h"

bool fai_foreign_reads(const char *ext); // extension without dot, any case; true also where assimp is not built in
FaCode fai_foreign_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err);

#endif

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
// Assimp is C++ made for trusted files: it catches its own exceptions, but a hostile file may still bring the process
// down. Files over 512 MB are refused. Read files of unknown origin in a process of their own, or convert them first.
#ifndef FAI_ASSIMP_IMPORT_H
#define FAI_ASSIMP_IMPORT_H

#include "base/base.h"
#include "fascia/rig.h"

bool fai_assimp_reads(const char *ext); // extension without dot, any case; true also where assimp is not built in
FaCode fai_assimp_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err);

#endif

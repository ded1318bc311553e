// FBX and other formats through assimp, if fascia was built with it.
//
// Assimp gives a vertex per polygon corner and splits meshes by material. Parts of one node are joined again, and
// corners are welded by position and all deltas, which gives the control points back; their order is that of first use,
// not the file's. What a node's transform scales is taken into account, what it turns and moves is not: positions stay
// in the mesh's own frame. The first animation that moves the shapes or the node becomes the clip, sampled at the
// file's rate. Skins, materials and normals are passed over.
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

// What the head's file and the zoo's share.
#ifndef FAI_HEAD_FILE_H
#define FAI_HEAD_FILE_H

#include "fascia/head.h"
#include "io/gltf/glb_build.h"

FaGlbMaterial fai_head_material(const char *region); // of a FaHeadPart's region
// The skin as a rig, with the other parts in its document, as if saved and loaded.
FaCode fai_head_file_rig(const FaHead *head, bool bones, FaRig **rig, FaError *err);

#endif

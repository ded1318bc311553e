// What the head's file and the zoo's share.
#ifndef FAI_HEAD_FILE_H
#define FAI_HEAD_FILE_H

#include "io/gltf/glb_build.h"

FaGlbMaterial fai_head_material(const char *region); // of a FaHeadPart's region

#endif

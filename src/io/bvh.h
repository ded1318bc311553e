// BVH motion capture: a skeleton and its motion, of which fascia takes one joint, the head.
//
// The joint's world pose per frame comes by forward kinematics in double: local = translation, then the rotation
// channels in the order the file lists them (degrees, about the joint's own axes; the first listed is applied last). A
// position channel stands in the offset's place, as Blender and others read it; components without one keep the offset.
//
// The joint: the one asked for; else the best of: called head (any case, after a prefix such as mixamorig: or Bip01_),
// starting with head, the last of the neck chain. The unit: the one asked for; else, of m, cm, mm, inch, foot and CMU's
// 1/0.45 inch, the one that makes the skeleton at rest nearest to 1.6 m tall, if that is from 1.2 to 2.2 m; else the
// scale that makes it 1.6 m. Note "bvh-unit" says which. A skeleton whose head stands along z from its root is turned y
// up, "z-up"; its rest is taken to look along +z (of z-up ones: -y).
//
// Decisions: a frame time of 0, negative or NaN: error unless a rate is given. Fewer motion rows than announced: those
// there are kept, "frames-missing"; more: left out, "frames-extra". NaN and Inf: error with line and column. Depth over
// 256: error. A rest pose as the first frame, before the motion, is kept: "first-frame-rest".
#ifndef FAI_BVH_H
#define FAI_BVH_H

#include "base/base.h"
#include "fascia/clip.h"

bool fai_bvh_sniff(const void *data, size_t size); // starts with HIERARCHY
FaCode fai_bvh_parse(const void *data, size_t size, const FaClipOptions *options, FaClip **clip, FaError *err);

#endif

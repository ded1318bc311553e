// Where the landmarks of face trackers sit on the shipped head.
#ifndef FAI_HEAD_LANDMARKS_H
#define FAI_HEAD_LANDMARKS_H

#include "fascia/head.h"
#include "fascia/markers.h"
#include "io/landmarks.h" // fai_landmark_count

// The surface point of each landmark on the skin (part 0), and how much to trust it (0 .. 1: silhouettes, which slide
// over the skin as the head turns, and irises, which turn with the gaze, weigh little). Landmarks that the head has no
// definition for: vert[0] = -1, weight 0. Points are carried by topology: the same ones, up to the spacing of vertices,
// at every level; those of one head serve every identity of its level. point, weight: fai_landmark_count(layout).
FaCode fai_head_landmarks(const FaHead *head, FaLandmarkLayout layout, FaMarkerPoint *point, float *weight,
                          FaError *err);

#endif

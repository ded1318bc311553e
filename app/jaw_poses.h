// How far a jaw goes, learnt from poses.
#ifndef APP_JAW_POSES_H
#define APP_JAW_POSES_H

#include "muscle.h"

// "rom.csv,smile.pose,open.obj": every frame of clips, .pose files, posed meshes of the rig.
FaCode jaw_poses_read(const char *text, const FaRig *rig, const FaMuscleModel *model, FaMuscleJawLimits *limits,
                      FaError *err);

#endif

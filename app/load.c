#include "load.h"

LoadOptions load_options;

FaRigOptions load_rig_options(void) {
    return (FaRigOptions){.unit = (FaUnit)common.unit,
                          .up = (FaUp)load_options.up,
                          .mesh = load_options.mesh,
                          .map = load_options.map,
                          .any_size = load_options.any_size};
}

FaClipOptions load_clip_options(void) {
    static const double metres[] = {0, 1, 0.01, 0.001};
    return (FaClipOptions){.head_units = (FaHeadUnits)load_options.head_units,
                           .joint = load_options.joint,
                           .unit = metres[common.unit],
                           .fps = common.fps};
}

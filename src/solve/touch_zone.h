// Which nodes a solver keeps at hand for contact (FaProjectiveOptions.zone): those most likely to touch.
//
// A zone is a dense matrix that every iteration reads, so it should be small. Two walls meet where they face each other
// already at rest: a node is as likely as the nearest node that it faces and that faces it is near, a little less where
// they stand at an angle.
#ifndef FAI_TOUCH_ZONE_H
#define FAI_TOUCH_ZONE_H

#include "contact/contact.h"

// At most `most` nodes of those that may touch, likeliest first; nodes that face nobody come last. Returns how many, or
// an error.
FaCode fai_touch_zone(const FaContactSurface *surface, int most, int *zone, int *nzone, FaError *err);

#endif

// Where markers sit on a face, as the verbs that handle markers tell and draw it.
#ifndef FASCIA_MARKER_MAP_H
#define FASCIA_MARKER_MAP_H

#include "cli.h"

void say_map(const FaMarkerMap *map);                                    // how many sit where, the worst
void json_map(const FaMarkerMap *map, const char *key, FaJsonWriter *w); // the same
// A picture of the neutral with the map's points; take (nullable): and its markers at the neutral frame.
FaCode draw_map(const FaRig *rig, const FaMarkerMap *map, const FaMarkerTake *take, const char *path, FaError *err);

#endif

// How much each marker counts, as a user writes it: lines of NAME,WEIGHT; # begins a remark.
#ifndef FAI_MARKERS_TRUST_H
#define FAI_MARKERS_TRUST_H

#include "base/base.h"
#include "fascia/markers.h"

FaCode fai_marker_trust_parse(const char *text, size_t size, const FaMarkerMap *map, float *trust,
                              FaError *err); // trust: as fa_marker_trust_load

#endif

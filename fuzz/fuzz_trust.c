// Lists of trust: weights of 0 or more for the markers of a map.
#include "fuzz.h"

#include "track/markers_trust.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    const char *name[] = {"a", "v12", "lip, upper", "nose tip"};
    const FaMarkerMap map = {.count = FA_COUNT(name), .name = name};
    float trust[FA_COUNT(name)];
    FaError err = {0};
    FaCode rc = fai_marker_trust_parse((const char *)data, size, &map, trust, &err);
    if (rc < 0 && (!err.what[0] || !err.place[0])) abort();
    for (int i = 0; rc >= 0 && i < map.count; i++)
        if (!(trust[i] >= 0 && trust[i] <= 1e6f)) abort();
}

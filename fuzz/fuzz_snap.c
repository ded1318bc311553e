// Lines of a snap: whatever is accepted gives weights of 0 to 1; whatever is not says why.
#include "fuzz.h"

#include "json_mutator.h"
#include "small_rig.h"

#include "muscle/snap_lines.h"

#include <stdlib.h>
#include <string.h>

void fuzz_one(const uint8_t *data, size_t size) {
    static const char *const name[] = {"corner_left", "chin"};
    static const int vertex[] = {3, -1};
    const FaRig *rig = small_rig();
    FaSnapPlaces places = {.rig = rig, .nname = 2, .name = name, .vertex = vertex};
    float *weight = calloc((size_t)rig->mesh.nvert + 1, sizeof *weight);
    if (!weight) abort();
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < FA_SNAP_FOLD; k++) places.fold[side][k] = side ? -1 : k;
    FaMuscleSnapReport report;
    FaError err = {0};
    FaCode rc = fai_snap_parse((const char *)data, size, &places, weight, &report, &err);
    if (rc < 0 && !err.what[0]) abort();
    for (int v = 0; rc >= 0 && v < rig->mesh.nvert; v++)
        if (!(weight[v] >= 0 && weight[v] <= 1)) abort();
    free(weight);
}

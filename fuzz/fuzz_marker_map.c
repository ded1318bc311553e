// Maps of markers: what is accepted lies on the rig, and comes back the same when it is saved and loaded.
#include "fuzz.h"
#include "json_mutator.h"
#include "small_rig.h"

#include "base/base.h"
#include "fascia/markers.h"

#include <math.h>
#include <stdlib.h>

static void check(const FaMarkerMap *map, const FaRig *rig) {
    int mapped = 0;
    for (int i = 0; i < map->count; i++) {
        const FaMarkerPoint *p = &map->point[i];
        if (!map->name[i]) abort();
        if (p->vert[0] < 0) continue;
        mapped++;
        for (int k = 0; k < 3; k++)
            if (p->vert[k] < 0 || p->vert[k] >= rig->mesh.nvert || !isfinite(p->bary[k]) || !isfinite(p->offset[k]))
                abort();
        double at[3];
        fa_marker_point_at(p, rig->mesh.x, true, at);
        if (!isfinite(at[0]) || !isfinite(at[1]) || !isfinite(at[2])) abort();
    }
    if (mapped != map->mapped) abort();
}

static void again(const FaMarkerMap *a, const FaRig *rig) {
    FaMarkerMap *b;
    FaError err = {0};
    const char *path = fuzz_named_file("map.json", NULL, 0);
    if (fa_marker_map_save(a, path, &err) < 0 || fa_marker_map_load(path, rig, &b, &err) < 0) abort();
    if (a->count != b->count || a->mapped != b->mapped) abort();
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->name[i], b->name[i]) || memcmp(a->point[i].bary, b->point[i].bary, sizeof a->point[i].bary))
            abort();
    fa_marker_map_free(b);
}

void fuzz_one(const uint8_t *data, size_t size) {
    FuzzFile file = fuzz_file(data, size);
    FaMarkerMap *map;
    FaError err = {0};
    FaCode rc = fa_marker_map_load(file.path, small_rig(), &map, &err);
    if (rc < 0 ? map || !err.what[0] : !map) abort();
    if (rc >= 0) {
        check(map, small_rig());
        if (map->count) again(map, small_rig());
    }
    fa_marker_map_free(map);
    fuzz_file_close(&file);
}

// Maps of names: sorted, no name twice, and every entry is found again.
#include "fuzz.h"
#include "json_mutator.h"

#include "rig/names.h"

#include <stdlib.h>

void fuzz_one(const uint8_t *data, size_t size) {
    FaNamesMap map;
    FaError err = {0};
    if (fai_names_map_parse((const char *)data, size, &map, &err) < 0) {
        if (!err.what[0] || map.arena || map.count) abort();
        return;
    }
    for (int i = 0; i < map.count; i++) {
        const FaNamesMapEntry *e = &map.entry[i];
        if (e->arkit < -1 || e->arkit >= 52 || e->half < -1 || e->half > 1) abort();
        if (fai_names_map_find(&map, e->name) != e) abort();
    }
    fai_names_map_free(&map);
}

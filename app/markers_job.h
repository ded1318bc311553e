// What the verbs that handle markers share: notes for people, a take's frames, where markers sit.
#ifndef FASCIA_DOTS_H
#define FASCIA_DOTS_H

#include "simulate.h"

#include "fascia/markers.h"

void say_notes(const char *of, const FaNotes *notes); // one line each, on stderr
void print_notes(const FaNotes *const *notes, int n); // a JSON array
void say_map(const FaMarkerMap *map);                 // how many sit where, the worst
void print_map(const FaMarkerMap *map);               // the same as a JSON object
int map_worst(const FaMarkerMap *map);                // the mapped marker furthest from the surface; -1: none
void print_number(double value);                      // JSON: null where it is none
FaMarkerOptions load_marker_options(void);
// A picture of the neutral with the map's points; take (nullable): and its markers at the neutral frame.
FaCode draw_map(const FaRig *rig, const FaMarkerMap *map, const FaMarkerTake *take, const char *path, FaError *err);

#define TRY(expr)                                                                                                      \
    do {                                                                                                               \
        FaCode try_ = (expr);                                                                                          \
        if (try_ < 0) return try_;                                                                                     \
    } while (0)

#endif

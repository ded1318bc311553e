// Loading what the user named, with the options every verb shares.
#ifndef FASCIA_LOAD_H
#define FASCIA_LOAD_H

#include "cli.h"

// Options that several verbs offer for rigs and clips; put LOAD_OPTIONS into a verb's table.
typedef struct LoadOptions {
    const char *mesh, *map, *joint;
    int up;         // FaUp
    int head_units; // FaHeadUnits
    bool any_size;
} LoadOptions;
extern LoadOptions load_options;

#define LOAD_OPTIONS                                                                                                   \
    {                                                                                                                  \
        "map",        0, OPT_TEXT, &load_options.map,                                                                  \
        "names.json", 0, 0,        "your shape names: {\"theirName\": \"jawOpen\", ...}"},                             \
        LOAD_OPTIONS_BUT_MAP
// Where --map is a map of markers.
#define LOAD_OPTIONS_NAMES                                                                                             \
    {"names",      0, OPT_TEXT, &load_options.map,                                                                     \
     "names.json", 0, 0,        "your shape names: {\"theirName\": \"jawOpen\", ...}"},                                \
        LOAD_OPTIONS_BUT_MAP
#define LOAD_OPTIONS_BUT_MAP                                                                                            \
    {"mesh", 0, OPT_TEXT, &load_options.mesh,                                                                           \
     "NAME", 0, 0,        "the mesh to take, by name or number (the one with most shapes)"},                            \
        {"up", 0, OPT_CHOICE, &load_options.up, "auto|y|z", 0, 0, "which axis points up"},                              \
        {"any-size", 0, OPT_FLAG, &load_options.any_size, NULL, 0, 0, "accept what is not the size of a head"},         \
        {"head-units", 0, OPT_CHOICE, &load_options.head_units, "auto|norm180|rad|deg", 0, 0, "Live Link head angles"}, \
    {                                                                                                                   \
        "joint", 0, OPT_TEXT, &load_options.joint, "NAME", 0, 0, "BVH: the joint that is the head"                      \
    }

FaRigOptions load_rig_options(void);
FaClipOptions load_clip_options(void);

#endif

// What is said of the other meshes of a rig's file.
#include "rig/names.h"

#include <strings.h>

static const char *const how_name[] = {"alone", "skull", "jaw", "shapes"};

// "eye_left, eye_right (shapes); teeth_lower (jaw)"
static int list_followers(const FaRig *rig, char *text, size_t size) {
    int count = 0;
    size_t used = 0;
    for (int how = FA_PART_SHAPES; how > FA_PART_ALONE; how--) {
        FaSome some = {0};
        for (int i = 0; i < rig->npart; i++)
            if ((int)rig->part[i].how == how) fai_some_add(&some, i, rig->part[i].name);
        if (some.count && used < size)
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s (%s)", count ? "; " : "", some.list, how_name[how]);
        count += some.count;
    }
    return count;
}

static void note_left_out(const FaRig *rig, const char *ext, FaNotes *notes) {
    FaSome some = {0};
    for (int i = 0; i < rig->npart; i++)
        if (!rig->part[i].lower) fai_some_add(&some, i, rig->part[i].name);
    fai_note_count(notes, some.count, "parts-left-out", "", "write .glb to have them, too",
                   "%s holds the face alone, without %d other mesh%s: %s", ext, some.count, some.count == 1 ? "" : "es",
                   some.list);
}

void fa_rig_part_notes(const FaRig *rig, const char *path, FaNotes *notes) {
    static const char *const alone_ext[] = {".pc2", ".mdd", ".obj", ".usda"};
    size_t length = path ? strlen(path) : 0;
    const char *dot = path ? strrchr(path, '.') : NULL;
    if (!rig->npart) return;
    if (length && path[length - 1] == '/') dot = ".obj";
    for (int i = 0; dot && i < FA_COUNT(alone_ext); i++)
        if (!strcasecmp(dot, alone_ext[i])) {
            note_left_out(rig, alone_ext[i], notes);
            return;
        }
    char text[700] = "";
    FaSome alone = {0}, split = {0};
    int n = list_followers(rig, text, sizeof text);
    for (int i = 0; i < rig->npart; i++) {
        if (rig->part[i].how == FA_PART_ALONE) fai_some_add(&alone, i, rig->part[i].name);
        if (rig->part[i].split) fai_some_add(&split, i, rig->part[i].name);
    }
    fai_note_count(notes, n, "parts-follow", "", "none needed", "%d other mesh%s: %s", n,
                   n == 1 ? " follows" : "es follow", text);
    fai_note_count(notes, alone.count, "parts-alone", "", "none needed", "%d mesh%s left alone: %s", alone.count,
                   alone.count == 1 ? " is" : "es are", alone.list);
    fai_note_count(notes, split.count, "parts-split", "", "split the mesh in two, or give it the shape jawOpen",
                   "%s: upper and lower teeth are one mesh, and cannot be told apart: all of it stays with the skull",
                   split.list);
}

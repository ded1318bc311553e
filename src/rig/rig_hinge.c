// The hinge of a jaw by the word of its user, or by a joint that carries a jaw's name.
#include "rig/rig_hinge.h"

#include "base/number.h"
#include "rig/names.h"

#include <math.h>

static void place(FaRig *rig, const double at[3]) {
    for (int k = 0; k < 3; k++)
        rig->hinge[k] = rig->local[3 * k] * at[0] + rig->local[3 * k + 1] * at[1] + rig->local[3 * k + 2] * at[2];
}

// A jaw turns in its head: not thirty times the mesh's size away from its first vertex.
static bool is_near(const FaRig *rig) {
    double low[3], high[3], size = 0, off = 0;
    for (int v = 0; v < rig->mesh.nvert; v++)
        for (int k = 0; k < 3; k++) {
            const double x = (double)rig->mesh.x[3 * v + k];
            low[k] = v ? fmin(low[k], x) : x, high[k] = v ? fmax(high[k], x) : x;
        }
    for (int k = 0; k < 3 && rig->mesh.nvert; k++) {
        size = fmax(size, high[k] - low[k]);
        off = fmax(off, fabs(rig->hinge[k] - (double)rig->mesh.x[k]));
    }
    return off <= 30 * size;
}

// Three numbers and nothing else.
static bool read_point(const char *text, double at[3]) {
    for (int k = 0; k < 3; k++) {
        const char *end = text + strcspn(text, ",");
        if (fai_parse_double(text, end, &at[k]) != end || !isfinite(at[k]) || (*end == ',') != (k < 2)) return false;
        text = end + (k < 2);
    }
    return true;
}

// "jaw", "Head_Jaw_M", "Bip01 MJaw", "mandible": the joint itself, not its tip, and not the upper jaw.
static bool is_jaw(const char *name) {
    static const char *const ends[] = {"jaw",      "mjaw",   "jawbone", "jawjoint",      "jawroot",
                                       "lowerjaw", "jawjnt", "cjaw",    "mandible",      "mandibular",
                                       "jawpivot", "jawm",   "jawmid",  "facialmandible"};
    if (fai_name_ends(name, "upperjaw")) return false;
    for (int i = 0; i < FA_COUNT(ends); i++)
        if (fai_name_ends(name, ends[i])) return true;
    return false;
}

static FaCode fail_option(const FaDraftJoint *joint, int njoint, const char *option, FaError *err) {
    FaSome some = {0};
    for (int i = 0; i < njoint; i++) fai_some_add(&some, i, joint[i].name);
    if (!njoint)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the point: --hinge x,y,z, in the coordinates of the mesh in its file",
                       "'%.60s' is no point x,y,z, and the mesh has no joints", option);
    return FA_FAIL(err, FA_E_ARG, NULL, "give the point x,y,z, in the coordinates of the mesh in its file, or a joint",
                   "'%.60s' is no point x,y,z and no joint of the mesh; it has %.200s", option, some.list);
}

FaCode fai_rig_hinge(FaRig *rig, const FaDraftJoint *joint, int njoint, const char *option, FaArena *arena,
                     FaError *err) {
    double at[3];
    if (option && read_point(option, at)) {
        place(rig, at);
        rig->hinge_how = "given";
        if (is_near(rig)) return FA_OK;
        return FA_FAIL(err, FA_E_ARG, NULL, "give the point in the coordinates of the mesh in its file",
                       "--hinge %.60s is far outside of the head: no jaw turns there", option);
    }
    for (int i = 0; i < njoint; i++) {
        if (option ? strcmp(joint[i].name, option) != 0 : !is_jaw(joint[i].name)) continue;
        place(rig, joint[i].at);
        rig->hinge_how = fai_arena_printf(arena, "joint %s", joint[i].name);
        return rig->hinge_how ? FA_OK : FA_FAIL_MEMORY(err);
    }
    return option ? fail_option(joint, njoint, option, err) : FA_OK;
}

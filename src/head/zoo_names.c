// Traits of names: several families at once, both sides in one, sides swapped.
#include "head/shape_ids.h"
#include "head/zoo.h"
#include "rig/names.h"

#include <ctype.h>

typedef struct Row {
    const char *name;
    int a, b; // it is the sum of these two ARKit shapes; b -1: of the first alone
} Row;

static const Row action_units[] = {
    {"AU_01_InnerBrowRaiser", browInnerUp, -1},
    {"AU_02_OuterBrowRaiser", browOuterUpLeft, browOuterUpRight},
    {"AU_02_L_OuterBrowRaiser", browOuterUpLeft, -1},
    {"AU_02_R_OuterBrowRaiser", browOuterUpRight, -1},
    {"AU_04_BrowLowerer", browDownLeft, browDownRight},
    {"AU_05_L_UpperLidRaiser", eyeWideLeft, -1},
    {"AU_05_R_UpperLidRaiser", eyeWideRight, -1},
    {"AU_06_L_CheekRaiser", cheekSquintLeft, -1},
    {"AU_06_R_CheekRaiser", cheekSquintRight, -1},
    {"AU_09_NoseWrinkler", noseSneerLeft, noseSneerRight},
    {"AU_12_LipCornerPuller", mouthSmileLeft, mouthSmileRight},
    {"AU_12_L_LipCornerPuller", mouthSmileLeft, -1},
    {"AU_12_R_LipCornerPuller", mouthSmileRight, -1},
    {"AU_15_LipCornerDepressor", mouthFrownLeft, mouthFrownRight},
    {"AU_17_ChinRaiser", mouthShrugLower, -1},
    {"AU_18_LipPuckerer", mouthPucker, -1},
    {"AU_20_LipStretcher", mouthStretchLeft, mouthStretchRight},
    {"AU_22_LipFunneler", mouthFunnel, -1},
    {"AU_26_JawDrop", jawOpen, -1},
    {"AU_45_Blink", eyeBlinkLeft, eyeBlinkRight},
};

static const Row vroid[] = {
    {"Fcl_ALL_Joy", mouthSmileLeft, mouthSmileRight},
    {"Fcl_BRW_Angry", browDownLeft, browDownRight},
    {"Fcl_EYE_Close", eyeBlinkLeft, eyeBlinkRight},
    {"Fcl_EYE_Close_L", eyeBlinkLeft, -1},
    {"Fcl_EYE_Close_R", eyeBlinkRight, -1},
    {"Fcl_MTH_A", jawOpen, mouthFunnel},
    {"Fcl_MTH_I", mouthStretchLeft, mouthStretchRight},
    {"Fcl_MTH_U", mouthPucker, -1},
    {"Fcl_MTH_O", mouthFunnel, -1},
};

// Copies under other names, which the file's own clip leaves alone.
static FaCode add_rows(FaZoo *zoo, const Row *row, int n, FaError *err) {
    for (int i = 0; i < zoo->nmesh; i++)
        for (int r = 0; r < n; r++) {
            FaZooMesh *m = &zoo->mesh[i];
            if (!fai_zoo_driven(m, row[r].a) && !fai_zoo_driven(m, row[r].b)) continue;
            FaZooShape *to = fai_zoo_add_shape(zoo, m, row[r].name, -1);
            if (!to) return FA_FAIL_MEMORY(err);
            const FaZooShape *a = fai_zoo_driven(m, row[r].a), *b = fai_zoo_driven(m, row[r].b);
            for (int k = 0; k < 3 * m->nvert; k++) to->delta[k] = (a ? a->delta[k] : 0) + (b ? b->delta[k] : 0);
        }
    return FA_OK;
}

FaCode fai_zoo_families(FaZoo *zoo, FaError *err) {
    for (int i = 0; i < zoo->nmesh; i++)
        for (int s = 0; s < zoo->mesh[i].nshape; s++) {
            FaZooShape *shape = &zoo->mesh[i].shape[s];
            char *name = fai_arena_printf(zoo->arena, "AK_%02d_%s", shape->drive + 1, shape->name);
            if (!name) return FA_FAIL_MEMORY(err);
            name[6] = (char)toupper((unsigned char)name[6]);
            shape->name = name;
        }
    return add_rows(zoo, action_units, FA_COUNT(action_units), err);
}

FaCode fai_zoo_vroid(FaZoo *zoo, FaError *err) { return add_rows(zoo, vroid, FA_COUNT(vroid), err); }

FaCode fai_zoo_pairs(FaZoo *zoo, FaError *err) {
    for (int a = 0; a < FA_ARKIT_COUNT; a++) {
        const char *name = fa_arkit_name(a), *left = strstr(name, "Left");
        if (!left || a == jawLeft || a == mouthLeft) continue; // these are directions
        Row row = {fai_arena_strndup(zoo->arena, name, (size_t)(left - name)), a, fai_arkit_mirror(a)};
        FA_TRY(add_rows(zoo, &row, 1, err));
    }
    return FA_OK;
}

void fai_zoo_swap_sides(FaZoo *zoo) {
    for (int i = 0; i < zoo->nmesh; i++)
        for (int s = 0; s < zoo->mesh[i].nshape; s++) {
            FaZooShape *shape = &zoo->mesh[i].shape[s];
            shape->drive = fai_arkit_mirror(shape->drive);
            shape->name = fa_arkit_name(shape->drive);
        }
}

FaCode fai_zoo_same_names(FaZoo *zoo, FaError *err) {
    for (int i = 0; i < zoo->nmesh; i++)
        for (int a = 0; a < FA_ARKIT_COUNT; a++)
            if (!fai_zoo_driven(&zoo->mesh[i], a) && !fai_zoo_add_shape(zoo, &zoo->mesh[i], fa_arkit_name(a), a))
                return FA_FAIL_MEMORY(err);
    FaZooMesh skin = zoo->mesh[0];
    fai_zoo_remove_mesh(zoo, 0);
    zoo->mesh[zoo->nmesh++] = skin;
    return FA_OK;
}

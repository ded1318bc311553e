#include "muscle/template.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *const fai_muscle_form_name[FA_MUSCLE_FORMS] = {"sheet", "strap", "half ring", "ring"};
const char *const fai_muscle_bone_name[FA_MUSCLE_BONES] = {"none", "skull", "jaw"};

#define SHEET FA_MUSCLE_SHEET
#define STRAP FA_MUSCLE_STRAP
#define HALF FA_MUSCLE_HALF_RING
#define RING FA_MUSCLE_RING
#define NONE FA_MUSCLE_SOFT
#define SKULL FA_MUSCLE_SKULL
#define JAW FA_MUSCLE_JAW

// clang-format off
static const FaMuscleEntry entry[] = {
    // forehead and brow
    {"frontalis_medial", "frontalis_med", SHEET, true, NONE, NONE, 2, {{15, 98, 66, 4}, {14, 54, 84.5, 3}}, 11, 2},
    {"frontalis_lateral", "frontalis_lat", SHEET, true, NONE, NONE, 2, {{38, 96, 52, 4}, {40, 59, 72, 3}}, 12, 2},
    {"corrugator", "corr", STRAP, true, SKULL, NONE, 3, {{7, 45, 85, 6}, {20, 52, 84, 4}, {36, 56, 77, 3}}, 4, 2},
    {"procerus", "proc", STRAP, true, SKULL, NONE, 2, {{4, 24, 88, 4}, {6, 58, 84, 3}}, 4, 1.5},
    // eyes
    {"orbicularis_oculi_orbital", "oculi_orb", RING, true, NONE, NONE, 2, {{31.5, 27.5, 0, 3.2}, {27, 21, 0, 0}}, 7, 2.2},
    {"orbicularis_oculi_palpebral", "oculi_palp", RING, true, NONE, NONE, 2, {{31.5, 27.5, 0, 1.6}, {16, 9.5, 0, 0}}, 3.5, 1.3},
    {"levator_palpebrae", "lev_palp", SHEET, true, SKULL, NONE, 2, {{31, 43, 76, 10}, {32, 32, 73, 1.5}}, 9, 1.5},
    // nose
    {"nasalis", "nasal", STRAP, true, SKULL, NONE, 3, {{17, -18, 84, 7}, {17, -6, 86, 4}, {4, 8, 101, 3}}, 5, 1.5},
    {"depressor_septi", "dep_septi", STRAP, false, SKULL, NONE, 2, {{0, -23, 93, 14}, {0, -18, 97, 3}}, 4, 2},
    {"levator_labii_superioris_alaeque_nasi", "llsan", STRAP, true, SKULL, NONE, 3, {{11, 18, 85, 5}, {15, -2, 84, 4}, {15, -24, 87, 4}}, 3, 1.5},
    // upper lip and corner
    {"levator_labii_superioris", "lls", SHEET, true, SKULL, NONE, 2, {{29, 8, 73, 7}, {15, -31, 90, 4}}, 8, 2},
    {"levator_anguli_oris", "lao", STRAP, true, SKULL, NONE, 2, {{22, -8, 79, 9}, {27, -41, 79, 7}}, 5, 2},
    {"zygomaticus_minor", "zyg_min", STRAP, true, SKULL, NONE, 2, {{43, 6, 68, 7}, {20, -31, 86, 5}}, 4, 1.8},
    {"zygomaticus_major", "zyg_maj", STRAP, true, SKULL, NONE, 3, {{54, 2, 60, 7}, {42, -18, 71, 8}, {28, -40, 79, 6}}, 5, 2.5},
    {"risorius", "ris", SHEET, true, NONE, NONE, 2, {{60, -32, 44, 5}, {29, -43, 78, 5}}, 8, 2},
    {"buccinator", "bucc", SHEET, true, SKULL, NONE, 3, {{58, -36, 40, 19}, {44, -39, 65, 13}, {29, -43, 78, 8}}, 10, 2.5},
    {"incisivus_superior", "inc_sup", STRAP, true, SKULL, NONE, 3, {{9, -21, 91, 14}, {15, -30, 90, 6}, {26, -41, 80, 6}}, 3, 2},
    // lips
    {"orbicularis_oris_superior", "oo_sup", HALF, false, NONE, NONE, 3, {{30, -43, 78, 6}, {19, -33, 88, 5}, {0, -30, 95, 5}}, 7, 3.5},
    {"orbicularis_oris_inferior", "oo_inf", HALF, false, NONE, NONE, 3, {{30, -43, 78, 6}, {19, -52, 86, 5}, {0, -56, 91, 5}}, 7, 3.5},
    {"orbicularis_oris_marginal_superior", "oo_marg_sup", HALF, false, NONE, NONE, 3, {{25, -43, 80, 3.5}, {15, -38, 90, 3.5}, {0, -38, 95, 3.5}}, 2.5, 2.5},
    {"orbicularis_oris_marginal_inferior", "oo_marg_inf", HALF, false, NONE, NONE, 3, {{25, -43, 80, 3.5}, {15, -46, 89, 3.5}, {0, -48, 94, 3.5}}, 2.5, 2.5},
    // lower lip and chin
    {"incisivus_inferior", "inc_inf", STRAP, true, JAW, NONE, 3, {{9, -63, 86, 13}, {16, -55, 87, 6}, {26, -45, 79, 6}}, 3, 2},
    {"depressor_anguli_oris", "dao", SHEET, true, JAW, NONE, 2, {{36, -76, 60, 5}, {28, -45, 78, 5}}, 8, 2},
    {"depressor_labii_inferioris", "dli", SHEET, true, JAW, NONE, 2, {{24, -76, 72, 6}, {11, -51, 91, 5}}, 8, 2},
    {"mentalis", "ment", STRAP, true, JAW, NONE, 2, {{5, -62, 87, 12}, {7, -75, 87, 3}}, 4, 3},
    // neck and under the chin
    {"platysma", "plat", SHEET, true, NONE, NONE, 3, {{32, -112, 28, 4}, {36, -80, 49, 4}, {31, -50, 74, 4}}, 18, 2},
    {"platysma_medial", "plat_med", SHEET, true, NONE, NONE, 3, {{15, -119, 36, 3.5}, {14, -94, 44, 3.5}, {13, -85, 72, 4}}, 11, 2},
    {"digastric_anterior", "digastric", STRAP, true, JAW, NONE, 2, {{7, -87, 71, 9}, {9, -96, 40, 9}}, 5, 4},
    {"mylohyoid", "mylo", SHEET, true, JAW, NONE, 3, {{37, -76, 53, 12}, {18, -88, 52, 12}, {3, -93, 50, 12}}, 13, 2.5},
    // jaw
    {"masseter", "mass", STRAP, true, SKULL, JAW, 2, {{60, -2, 40, 9}, {58, -52, 24, 9}}, 13, 8},
    {"temporalis", "temp", SHEET, true, SKULL, JAW, 3, {{74, 52, 8, 6}, {71, 24, 24, 8}, {65, -6, 38, 15}}, 18, 5},
};
// clang-format on

const FaMuscleEntry *fai_muscle_entry(int i) { return &entry[i]; }

int fai_muscle_count(void) {
    int n = 0;
    for (int i = 0; i < FA_COUNT(entry); i++) n += 1 + entry[i].paired;
    return n;
}

FaMuscleId fai_muscle_id(int muscle) {
    FaMuscleId id = {0};
    int at = 0;
    while (muscle >= 1 + entry[at].paired) muscle -= 1 + entry[at++].paired;
    id.entry = at;
    id.side = !entry[at].paired ? 0 : muscle ? -1 : 1;
    const char *tail = id.side == 0 ? "" : id.side > 0 ? ".L" : ".R";
    snprintf(id.name, sizeof id.name, "%s%s", entry[at].name, tail);
    snprintf(id.alias, sizeof id.alias, "%s%s", entry[at].alias, tail);
    return id;
}

// The face at rest looks with open eyes: levator palpebrae holds them and is at its shortest, so it gives way until the
// lids are closed. The palpebral part, as thick as fits into a lid, has to close it against flesh that has no folds.
FaMuscleTrait fai_muscle_trait(int muscle) {
    if (muscle < 0 || muscle >= fai_muscle_count()) return (FaMuscleTrait){1, 0};
    const char *alias = entry[fai_muscle_id(muscle).entry].alias;
    if (!strcmp(alias, "oculi_palp")) return (FaMuscleTrait){2, 0};
    return (FaMuscleTrait){1, !strcmp(alias, "lev_palp") ? 0.6 : 0};
}

// Letters alike in upper and lower case; '*' stands for any rest.
static bool matches(const char *pattern, const char *name) {
    for (; *pattern && *pattern != '*'; pattern++, name++)
        if (tolower((unsigned char)*pattern) != tolower((unsigned char)*name)) return false;
    if (*pattern == '*') {
        if (!pattern[1]) return true;
        for (; *name; name++)
            if (matches(pattern + 1, name)) return true;
        return matches(pattern + 1, name);
    }
    return *name == 0;
}

bool fai_muscle_named(int muscle, const char *name) {
    FaMuscleId id = fai_muscle_id(muscle);
    return fai_muscle_id_named(&id, name);
}

bool fai_muscle_id_named(const FaMuscleId *id, const char *name) {
    if (matches(name, id->name) || matches(name, id->alias)) return true;
    if (id->entry >= 0) return matches(name, entry[id->entry].name) || matches(name, entry[id->entry].alias);
    char both[sizeof id->name];
    snprintf(both, sizeof both, "%.*s", (int)strlen(id->name) - (id->side ? 2 : 0), id->name);
    return matches(name, both);
}

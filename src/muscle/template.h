// The muscles of a face as data: where each begins and ends on a mean adult's head, how wide and thick it is, and the
// bone that holds it. Placed on a face by muscle/place.h.
//
// A place is a point of the skin (mm in the head frame: x left, y up, z front, origin between the condyles) and a depth
// below it. The first one is the origin. Of paired muscles the left one is given; the right one is its mirror image.
//
// References: a prototype on the shipped head; origins, insertions and sizes by textbook anatomy and BodyParts3D.
#ifndef FAI_TEMPLATE_H
#define FAI_TEMPLATE_H

#include "base/base.h"

typedef enum FaMuscleForm {
    FA_MUSCLE_SHEET,     // wide and thin
    FA_MUSCLE_STRAP,     // a band
    FA_MUSCLE_HALF_RING, // around one lip, from corner to corner: places of the left half, the last one in the middle
    FA_MUSCLE_RING,      // closed, around an eye: centre and radii
    FA_MUSCLE_FORMS
} FaMuscleForm;
extern const char *const fai_muscle_form_name[FA_MUSCLE_FORMS]; // "sheet", "strap", "half ring", "ring"

typedef enum FaMuscleBone { FA_MUSCLE_SOFT, FA_MUSCLE_SKULL, FA_MUSCLE_JAW, FA_MUSCLE_BONES } FaMuscleBone;
extern const char *const fai_muscle_bone_name[FA_MUSCLE_BONES]; // "none", "skull", "jaw"

enum { FA_MUSCLE_PLACES = 4 };
typedef struct FaMusclePlace {
    double x, y, z, depth; // mm
} FaMusclePlace;

typedef struct FaMuscleEntry {
    const char *name, *alias; // "zygomaticus_major", "zyg_maj"
    FaMuscleForm form;
    bool paired;
    FaMuscleBone origin, insertion;
    int nplace;
    FaMusclePlace place[FA_MUSCLE_PLACES]; // a ring: x, y of its centre, its depth; radii in x and y
    double half_width, thickness;          // mm
} FaMuscleEntry;

const FaMuscleEntry *fai_muscle_entry(int i);

// What of a muscle is not as of the others: its largest stress against theirs, and the strain from which it resists
// being stretched. 1 and 0 for most, and for muscles that are not in the list.
typedef struct FaMuscleTrait {
    double strength, slack;
} FaMuscleTrait;
FaMuscleTrait fai_muscle_trait(int muscle);

// The muscles with their mirror images: "zygomaticus_major.L", "zygomaticus_major.R", "orbicularis_oris_superior".
int fai_muscle_count(void);
typedef struct FaMuscleId {
    int entry;
    int side; // 1 left, -1 right, 0 single
    char name[48], alias[24];
} FaMuscleId;
FaMuscleId fai_muscle_id(int muscle); // muscle in [0, fai_muscle_count())
// Does a name mean this muscle? Full names and aliases; without .L or .R both sides; "*" for any rest: "zyg*".
bool fai_muscle_named(int muscle, const char *name);
bool fai_muscle_id_named(const FaMuscleId *id, const char *name); // the same, also of muscles that are not in the list

#endif

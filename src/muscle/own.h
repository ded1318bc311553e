// Muscles of the user's own: files of closed meshes, each fitted by a solid (muscle/fit.h), put among those of the
// template.
#ifndef FAI_OWN_H
#define FAI_OWN_H

#include "muscle/fit.h"
#include "muscle/muscle_model.h"

typedef struct FaOwnMuscle {
    FaMuscleId id;
    FaBspline solid; // in the rig's frame, m; control points in the model's arena
    FaFit fit;
    bool known; // which end is its origin
} FaOwnMuscle;

// A muscle's name from that of its file: "left zygomaticus-major.stl" is "zygomaticus_major.L". left, right, L, R at
// the beginning or the end tell the side (1, -1, 0: in the middle); a leading number of an atlas ("FMA46813_") is left
// out. What atlases call "corrugator supercilii" is the template's "corrugator".
FaMuscleId fai_own_name(const char *path);

// Reads and fits the files of model->options, into model->own. Before all else is built: what is refused is refused at
// once.
FaCode fai_own_read(FaMuscleModel *model, FaError *err);

// Puts them among the model's muscles: those named as a muscle of the template replace it, others are added. Ends
// nearest to a bone are origins. Before the muscles are sampled.
FaCode fai_own_muscles(FaMuscleModel *model, FaError *err);

// FA_E_ARG: too few are named like muscles of the template to be moved by those.
FaCode fai_own_named(int n, const FaOwnMuscle *own, FaError *err);

// Moves muscles that stand elsewhere, as in an atlas, to where those of the same names are in the template: turned,
// moved and sized as one, then bent (own_place.c). Into model->own_place. FA_E_ARG with a remedy where that does not
// fit.
FaCode fai_own_place(FaMuscleModel *model, int n, FaOwnMuscle *own, FaError *err);

#endif

// Muscles of the template on a face: from places on the mean head to lattices below the skin of a rig.
//
// A warp through pairs of landmarks takes the mean head to the rig (math/rbf.h). Each place goes to the nearest point
// of the outer skin, and from there inwards by its depth; muscles follow the skin's curvature across their width. Where
// a muscle begins or ends on bone, its end is bent to the nearest bone, since only what reaches bone can pull.
#ifndef FAI_PLACE_H
#define FAI_PLACE_H

#include "fascia/mesh.h"
#include "muscle/settle.h"
#include "muscle/template.h"

typedef struct FaMuscleGround {
    const FaMesh *skin; // neutral, m; may have a mouth bag: what light does not reach is left out
    int npair;
    const double *from; // landmarks on the mean head, mm                            (npair x 3)
    const double *to;   // and on the rig, m                                         (npair x 3)
    double noise;       // of the pairs: FaRbfOptions.lambda; 0: they are met
    int nbone;
    const double *bone;         // points on bone (nodes of flesh that bones carry), m       (nbone x 3)
    const unsigned char *kind;  // FaMuscleBone of each                                      (nbone)
    const FaMuscleFlesh *flesh; // nullable: what they should lie in
    double eye[2];              // FaMuscleMarks.eye: rings are so much wider and higher; 0: as the template has them
} FaMuscleGround;

typedef struct FaMuscle {
    FaMuscleId id;
    FaBspline solid;
    bool held[2];            // origin and insertion are on bone: within 6 mm (of an adult) of a point of it, in the end
    double gap[2];           // m: to the nearest such point; INFINITY: there is none
    double moved[2];         // m: how far they had to go there; INFINITY: there is no such bone within reach
    double off;              // m: farthest that one of its ends was from the skin: large where the rig has no such part
    double length;           // m: of the fibre in the middle
    double volume;           // m3
    double folded;           // share of it that is inside out: 0
    FaMuscleSettled settled; // into the flesh; all 0 where none is given
    // by fai_muscles_describe; of those that a file gave, by muscle/own.h
    FaMuscleForm form;
    FaMuscleBone bone[2];                       // of origin and insertion
    bool own;                                   // the user's
    double fit_median, fit_covered, fit_volume; // of those: m, share, relative
} FaMuscle;

typedef struct FaMuscles {
    int n;
    FaMuscle *muscle; // as fai_muscle_id numbers them
    double unit;      // m of the rig for a millimetre of the mean head
    FaArena *arena;
} FaMuscles;

// All zero after failure: FA_E_ARG (no pairs), FA_E_MESH (no skin that light reaches), FA_E_MEMORY. Free with
// fai_muscles_free. Same bits for any number of threads.
FaCode fai_muscles_place(const FaMuscleGround *ground, FaMuscles *out, FaError *err);
void fai_muscles_free(FaMuscles *muscles);

#endif

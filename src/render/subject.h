// What a rig's file shows: the face, and the other meshes that stand beside it (eyes, teeth, tongue, body), each posed
// in the face's own frame.
#ifndef FAI_SUBJECT_H
#define FAI_SUBJECT_H

#include "base/base.h"
#include "fascia/render.h"

typedef struct FaCompanion {
    FaRig *rig;         // owned
    bool follows;       // it is a part of the face's head; else it is left alone
    bool jaw;           // goes with the face's jaw
    FaBinding shared;   // the face's shapes to its own; nshape 0: none
    double rest[12];    // face = rest * own frame, rows of a 3x4 matrix
    double at_rest[12]; // world = at_rest * own frame, likewise; m as the face counts them
    float *weights;     // its shapes now                               (nshape)
    double place[12];   // where it is now, as rest
} FaCompanion;

typedef struct FaSubject {
    const FaRig *rig;       // the face, borrowed
    const FaClip *clip;     // nullable, borrowed
    bool own;               // the clip is the file's own: companions do what the file has them do
    FaBinding binding;      // of any other clip to the face's shapes
    double at_rest[12];     // world = at_rest * the face's frame, rows of a 3x4 matrix
    float *weights;         // of the face, scratch                         (nshape)
    int nparts;             // 1 + companions
    FaRenderPart *part;     // part[0] is the face                          (nparts)
    FaCompanion *companion; // of part[i]; [0] unused                    (nparts)
    FaMesh *mesh;           // companions' meshes, placed in the face's frame at rest (nparts)
    float **x;              // positions; x[0] is the caller's              (nparts)
    float **share;          // of a body: how much goes with the head; NULL: all of it      (nparts, nvert each)
    float *channels;        // scratch                                      (clip->nchan)
    double turn[9];         // of the clip's world, so that the face looks at the camera (portrait.h)
    FaArena *arena;
} FaSubject;

// clip (nullable) drives companions. alone: the face only.
FaCode fai_subject_new(const FaRig *rig, const FaClip *clip, bool alone, FaSubject **subject, FaError *err);
// What companions do: as the file has it where the clip is its own; else parts of the head follow the face's weights as
// in a file that is written (FaRigPart), and others rest. Weights and places of all companions at this time of the
// clip; time NAN: of the face's weights where given (nshape of the face), else at rest.
void fai_subject_follow(FaSubject *subject, double time, const float *weights);
// That, and positions of everything for face positions x (nvert x 3). subject->x is set.
void fai_subject_pose(FaSubject *subject, float *x, double time, const float *weights);
// The clip's head motion at this time, rows of a 3x4 matrix over the mesh's own frame. False: there is none. On a body
// the head goes that way, the rest of it stands.
bool fai_subject_motion(FaSubject *subject, double time, double motion[12]);
// Move all parts by it; those left alone stay in the world.
void fai_subject_turn(FaSubject *subject, double time);
void fai_subject_free(FaSubject *subject);

// --- guess.c ------------------------------------------------------------------------------------------------------
// A material by name ("Eye_L", "teeth_upper", "Tongue"); -1 if the name says nothing.
int fai_material_of_name(const char *name);
// Materials of a mesh's triangles (ntri) by form: balls the size of eyes, small parts in the mouth, shells in front of
// the eyes. axes as in FaRig. Leaves everything skin where it finds no pair of eyes.
FaCode fai_material_guess(const FaMesh *mesh, const double axes[9], unsigned char *material, FaError *err);

#endif

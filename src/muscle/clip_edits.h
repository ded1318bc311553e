// Edits of a clip (paper 002, section 7: what is edited is edited in some frames): ends of tracks moved and activations
// set, all of the time or between two moments, easing in and out.
#ifndef FAI_CLIP_EDITS_H
#define FAI_CLIP_EDITS_H

#include "muscle/direct.h"
#include "muscle/edits.h"

typedef struct FaClipEdit {
    FaEdit edit;
    unsigned char named[FA_MUSCLES_MOST]; // its muscles
    double *track;                        // what all of it moves control points by, m; NULL: nothing (npoint x 3)
} FaClipEdit;

typedef struct FaClipEdits {
    int n, nmuscle, npoint;
    FaClipEdit *edit; // (n)
    uint64_t hash;    // of the file
} FaClipEdits;

// Read and made for this director's model; arrays from the arena. FA_E_FORMAT, FA_E_ARG with the JSON path: also what
// only a pose can have: a jaw, a key, retiming, an activation by length, a spring.
FaCode fai_clip_edits_load(FaMuscleDirector *director, const char *path, FaArena *arena, FaClipEdits *out,
                           FaError *err);
// activation (nmuscle) and track (npoint x 3) of a moment, s, in and out. False: no edit acts then. No allocation.
bool fai_clip_edits_apply(const FaClipEdits *edits, double time, double *activation, double *track);
// How much of an edit acts at a moment, 0..1.
double fai_clip_edit_share(const FaEdit *edit, double time);

#endif

// Edits of a directed pose as data: which muscles, where along them, whither, when (paper 002, section 4: "edit any
// point along the tracks").
//
//     {"unit": "mm", "spring": 5e10, "edits": [
//        {"muscle": "inc_*", "u": 1, "move": {"medial": 8}, "falloff": "linear", "key": 1},
//        {"muscle": "zyg_maj.L", "activation": "length"}, {"muscle": "dao", "activation": 0.4},
//        {"muscle": "*", "retime": [[0, 0], [0.3, 0.5], [1, 1]]}, {"jaw": {"open": 6}}]}
//
// Those of a clip have moves and activations, in all frames or in some:
//
//     {"fps": 30, "edits": [{"muscle": "inc_*", "move": {"medial": 8}, "frames": [40, 60], "ease": 6},
//        {"muscle": "dao", "activation": 0.4, "seconds": [2, 2.5]}]}
#ifndef FAI_EDITS_H
#define FAI_EDITS_H

#include "base/base.h"

enum { FA_EDITS_MOST = 1000, FA_RETIME_MOST = 16 };
#define FA_EDIT_AROUND 0.015 // m: lips stay apart, the corner of the mouth goes as one

typedef enum FaEditFall {
    FA_FALL_LINEAR, // to nothing at the farther end of the muscle
    FA_FALL_SMOOTH, // the same, with a smooth start and end
    FA_FALL_NONE,   // all of the muscle alike
    FA_FALL_WIDTH   // linear, to nothing at FaEdit.width from u
} FaEditFall;

typedef enum FaEditActivation { FA_ACTIVATION_KEPT, FA_ACTIVATION_SET, FA_ACTIVATION_LENGTH } FaEditActivation;

typedef struct FaEdit {
    char muscle[64]; // as fa_muscle_activate takes names; "": of the jaw alone
    bool moves;
    double u;       // where along the fibre it is strongest: 0 origin, 1 insertion
    double move[3]; // m: medial, up, front
    FaEditFall fall;
    double width;  // in u
    double around; // m: muscles that were sprung and are so near go along
    double key;    // at which part of the way it is strongest, above 0, at most 1
    FaEditActivation how;
    double activation;                // 0..1
    int nretime;                      // 0: none
    double retime[FA_RETIME_MOST][2]; // at this part of the way it is where it was at that part
    bool jaw[3];                      // which of these are set
    double open, forward, side;       // degrees, m, m
    bool timed;                       // of a clip, between these
    double from, to, ease;            // s; ease: before and after
    double slack;                     // s: a frame's own time is a hair off, by its digits
} FaEdit;

typedef struct FaEdits {
    int n;
    FaEdit *edit;  //                                                     (n)
    double spring; // N/m4; 0: as the pose has it
    FaArena *arena;
} FaEdits;

// All zero after failure: FA_E_FORMAT with the JSON path. Free with fai_edits_free.
FaCode fai_edits_parse(const char *json, size_t size, FaEdits *out, FaError *err);
void fai_edits_free(FaEdits *edits);

#endif

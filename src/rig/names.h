// Names of blendshapes: the 52 of ARKit, what others call them, the three channel orders in use, and names.json.
//
// Left and right are the subject's everywhere, as in ARKit and FACS. A viewer of a mirrored picture sees them swapped;
// a rig whose author meant the viewer's side is corrected with a names.json, never guessed here.
//
// What is matched, and what on purpose is not:
//   ARKit          any case, any separators, _L/_R, .L/.R, Left/Right, L_/R_; namespaces and prefixes such as
//   "shapes.",
//                  "blendShape1.", "Face.M_F00_", "CTRL_expressions_" are dropped unless they change the meaning
//                  ("corrective_jawOpen", "mouthSmileLeft_jawOpen": not matched)
//   ICT-FaceKit    browInnerUp_L/_R and cheekPuff_L/_R are halves; cheekRaiser is NOT cheekSquint (it has both)
//   VRM 0, VRM 1   blink_l, blinkRight, ... ; the vowels (a, aa, ...), moods and look directions have no single ARKit
//                  shape that is the same, "blink" is two shapes: see fai_arkit_pair
//   FACS           AU12L, AU_12_Left, "AU12 lip corner puller", lipCornerPuller_L; combinations (AU6+12), intensities
//                  (AU12C) and units without a single counterpart (8, 23, 25, 27, 28, 33, 46, 61, 62) are not matched
//   MakeHuman      the expression units that are the same: eye-left-closure, eyebrows-left-down, ...
// A trailing number (jawOpen.001, jawOpen_50) is a copy or an in-between: not matched.
#ifndef FAI_NAMES_H
#define FAI_NAMES_H

#include "base/base.h"
#include "fascia/rig.h"

// One row of the table behind fa_arkit_match, for printing and for tests.
typedef struct FaNameAlias {
    const char *source; // "ARKit", "FACS", "VRM", ...
    const char *name;   // without its side, lower case, no separators
    size_t size;        // of the name
    const char *arkit;  // "mouthSmile*" stands for Left and Right; NULL: known, and no ARKit shape is the same
    const char *remark; // or ""
} FaNameAlias;
const FaNameAlias *fai_name_aliases(int *count);

// All that a name says. Neither arkit nor pair: nothing is known of it.
typedef struct FaNameMatch {
    int arkit, half; // as fa_arkit_match
    int pair[2];     // as fai_arkit_pair; -1 -1 if it is no such name
    bool spelled;    // letter by letter as ARKit spells it
    char family[48]; // what names of one author share: prefix without numbers and custom ("ak_/ARKit", "/FACS")
} FaNameMatch;
FaNameMatch fai_name_match(const char *name);

// The first few of many names, for a sentence. Start from {0}.
typedef struct FaSome {
    int count, first; // first: the item added first
    bool full;        // the list ends
    char list[200];   // "a, b, ..."
} FaSome;
void fai_some_add(FaSome *some, int item, const char *name);

// Whether a name's last words, prefixes before them left out, are these, written together in lower case:
// "AA_VI_10_aa" ends "aa", "Fcl_MTH_A" ends "mtha". And whether that is all of the name.
bool fai_name_ends(const char *name, const char *words);
bool fai_name_is(const char *name, const char *words);

// A name without a side that stands for a left and a right ARKit shape at once ("mouthSmile", "blink", "AU12").
bool fai_arkit_pair(const char *name, int pair[2]);
// The other side's shape: eyeBlinkLeft <-> eyeBlinkRight, jawLeft <-> jawRight; itself for the others.
int fai_arkit_mirror(int arkit);
// The left/right partner of any name ("Foo_L" <-> "Foo_R", "brow.left" <-> "brow.right"): writes it and returns true.
bool fai_name_mirror(const char *name, char *out, size_t size);

// ARKit index of each column; -1 for MediaPipe's first, "_neutral". All have 52 columns.
int fai_order_udp(int column);       // Live Link UDP = ARKit's own
int fai_order_csv(int column);       // Live Link CSV: JawRight, JawLeft and MouthRight, MouthLeft are swapped
int fai_order_mediapipe(int column); // _neutral, then alphabetical without tongueOut

// --- names.json: {"theirName": "jawOpen" | {"arkit": "browInnerUp", "half": "left"} | null} -----------------------
// theirName: a shape of the rig, or a channel of a clip. How the two meet: rig/bind.h.
typedef struct FaNamesMapEntry {
    const char *name;
    int arkit; // -1: said to be none
    int half;
} FaNamesMapEntry;
typedef struct FaNamesMap {
    FaNamesMapEntry *entry; // sorted by name                (count)
    int count;
    FaArena *arena;
} FaNamesMap;
FaCode fai_names_map_load(const char *path, FaNamesMap *map, FaError *err);
FaCode fai_names_map_parse(const char *text, size_t size, FaNamesMap *map, FaError *err);
const FaNamesMapEntry *fai_names_map_find(const FaNamesMap *map, const char *name); // NULL: not in it; map NULL: empty
FaNamesMap *fai_names_map_copy(FaArena *arena, const FaNamesMap *map);              // in that arena; NULL: no memory
void fai_names_map_free(FaNamesMap *map);

#endif

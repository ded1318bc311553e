// One edit, apart from any pose: for clips (muscle/clip_edits.h).
#ifndef FAI_EDIT_H
#define FAI_EDIT_H

#include "muscle/direct.h"
#include "muscle/edits.h"

// Which muscles an edit names (nmuscle). index: its place in the file. FA_E_ARG: no muscle has that name.
FaCode fai_edit_named(const FaMuscleModel *model, const FaEdit *edit, int index, unsigned char *named, FaError *err);
// How far it moves control points where all muscles are sprung (npoint x 3, m).
FaCode fai_edit_field(FaMuscleDirector *director, const FaEdit *edit, const unsigned char *named, double *track,
                      FaError *err);

#endif

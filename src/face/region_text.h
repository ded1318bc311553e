// Regions as options name them: "cheeks=1.5,lips=0.5,all=2", "lips,hanging".
#ifndef FAI_REGION_TEXT_H
#define FAI_REGION_TEXT_H

#include "face/face.h"

// How much of a skin node hangs free: of the region `free` what is neither lips nor cheeks, which are free too but stay
// with the face. Tentacles, found by their form or painted.
float fai_face_hangs(const FaFace *face, int node);

// Bits of FaRegion; lips: both of them; hanging: the bit FA_REGIONS, what hangs free (fai_face_hangs); 0: there is none
// of this name (n letters).
unsigned fai_regions_named(const char *name, size_t n);
// A number from 0 to 100 for each region named: the regions' own weights blend between strength as it is given and
// that; all=X: times X. strength: (nskin). what: the option, for the message.
FaCode fai_region_numbers(const FaFace *face, const char *what, const char *text, float *strength, FaError *err);
// The same for a list of names; 0 for an empty one.
FaCode fai_region_list(const char *what, const char *text, unsigned *regions, FaError *err);

#endif

// Where the lips, the lids, the cheeks and what hangs free are, found from how the shapes move the skin.
//
// No landmarks and no names but those of the shapes: the slit of the mouth is where skin that is close parts when the
// jaw opens, the slit of an eye is where skin that is apart meets when it blinks. All lengths scale with the face.
#ifndef FAI_REGIONS_H
#define FAI_REGIONS_H

#include "face/face.h"
#include "face/patch.h"

// region[r]: nskin floats each, from the caller; all are filled with 0..1. Of the skin its vertices and triangles are
// looked at. A region whose shapes the rig lacks is found from the next best ones, or left empty, with a note. notes is
// nullable. Fails with FA_E_MEMORY, and FA_E_NUMERIC where a position is not finite.
FaCode fai_find_regions(const FaRig *rig, const FaPatch *skin, float *region[FA_REGIONS], FaNotes *notes, FaError *err);

#endif

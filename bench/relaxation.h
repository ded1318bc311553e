// Figure 5.6 of thesis 001: a smile is held and let go at once; how a point of the cheek without a marker comes back.
#ifndef FAI_RELAXATION_H
#define FAI_RELAXATION_H

#include "base/base.h"

enum { FA_RELAX_FRAMES = 40, FA_RELAX_BEFORE = 6 }; // of the curves, at 60 fps; before the release
typedef enum FaRelaxCurve {
    FA_RELAX_TRUTH,
    FA_RELAX_SBS,
    FA_RELAX_LITERAL,
    FA_RELAX_BF,
    FA_RELAX_SOFT,
    FA_RELAX_CURVES
} FaRelaxCurve;
extern const char *const fai_relax_name[FA_RELAX_CURVES]; // "truth", "SBS", "BF literal", "BF", "BF, 5 Hz skin"

typedef struct FaRelaxation {
    int vertex;                                     // of the head at level 0
    double ms[FA_RELAX_FRAMES];                     // from the release
    double share[FA_RELAX_CURVES][FA_RELAX_FRAMES]; // of the held displacement, along it
} FaRelaxation;

FaCode fai_relaxation(FaRelaxation *out, FaError *err);
// Frames from the release until a curve stays below `left` of what was held.
int fai_relax_frames(const FaRelaxation *r, FaRelaxCurve curve, double left);

#endif

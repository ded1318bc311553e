// Inside of the rig doctor: measures of shapes, and limits that the analysis and the printed report share.
#ifndef FAI_DOCTOR_H
#define FAI_DOCTOR_H

#include "base/base.h"
#include "fascia/report.h"

enum { FA_MANY_PARTS = 50 };

// A shape that moves nothing by more than this is as good as empty, mm.
#define FA_FAINT_MM 0.01
// A shape that moves a vertex by more than this share of the mesh's height is suspect.
#define FA_HUGE_SHARE 0.5
// A shape whose distance to its mirrored partner exceeds this share of its largest motion is asymmetric.
#define FA_ASYMMETRY 0.15

bool fai_shape_asymmetric(const FaShapeInfo *s);

// The shape that each is on the other side: itself if it has no side; -1 if it has one and the partner is missing.
FaCode fai_shape_partners(const FaRig *rig, int *partner, FaError *err);
// Fill nonzero, max_mm, locality_mm and symmetry_mm of all shapes. peak (nullable): the vertex each moves most
// (nshape).
FaCode fai_measure_shapes(const FaRig *rig, FaShapeInfo *info, int *peak, FaError *err);

#endif

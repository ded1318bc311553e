// Retargeting by flesh: what the muscles and bones of another head do in a pose, done by this head's (paper 004 section
// 4.2). Both heads have one triangulation, as identities of one template have.
#ifndef FAI_FLESH_FROM_H
#define FAI_FLESH_FROM_H

#include "volumetric/physics.h"

typedef struct FaFleshFrom FaFleshFrom;

// path: the other head's rig; options: how its flesh is found; own: the head that is to move. passive: muscle and bones
// alone are told (section 4.2), fat follows; else fat too. Notes are added to.
FaCode fai_flesh_from_new(const char *path, const FaRig *rig, const FaPhysics *own, const FaPhysicsOptions *options,
                          bool passive, FaFleshFrom **from, FaNotes *notes, FaError *err);
void fai_flesh_from_free(FaFleshFrom *from); // NULL is fine
// Weights of the own rig, by name those of the other: the own flesh into u (nnode x 4); gradients that it was told, and
// where the skull layer is wanted, stay at hand. *still: the other head is at rest, and u is 0. No allocation.
FaCode fai_flesh_from_pose(FaFleshFrom *from, const float *weights, float *u, bool *still, FaStats *stats,
                           FaError *err);
const float *fai_flesh_from_gradients(const FaFleshFrom *from); // 9 rows of the own tets rounded up to 8

#endif

// From the simulated vertices back to the full surface (paper 000, section 7): the displacement of the skin nodes is
// continued over the vertices between them with the least bending, by a system factored once. The result is the linear
// surface plus that field, so where nothing was displaced the artist's surface comes back as it is, bit for bit.
#ifndef FAI_RESTORE_H
#define FAI_RESTORE_H

#include "face/face.h"

typedef struct FaRestore FaRestore;

// The rig the face was built from; works for faces that were not decimated too (then nothing has to be solved). rig and
// face may go afterwards. Free with fai_restore_free.
FaCode fai_restore_new(const FaRig *rig, const FaFace *face, FaRestore **restore, FaError *err);
void fai_restore_free(FaRestore *restore); // NULL is fine

// x += field. displacement: of the skin nodes against the linear surface, m (nskin x 3); x: the linear surface in, m
// (nvert x 3). Seams, lashes and brows follow. x is untouched where all displacements are zero. No allocation; parallel
// inside, one thread at a time per FaRestore; same bits for any number of threads.
void fai_restore_add(FaRestore *restore, const float *displacement, float *x);

int fai_restore_free_count(const FaRestore *restore); // vertices that are solved for

#endif

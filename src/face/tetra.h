// Tets of the layer: prisms cut in three, their volumes and quality, and the repair that leaves none inverted.
#ifndef FAI_TETRA_H
#define FAI_TETRA_H

#include "base/base.h"
#include "mesh/mesh.h"

// Each triangle of the skin, extruded through all layers, becomes 3 * layers tets of positive volume (tet: 3 * layers *
// ntri). Node l * nskin + i lies below skin node i. Conforming: every side of a prism is cut by the diagonal that
// leaves its column with the lower number at the skin's side, whichever prism asks.
void fai_prism_tets(int nskin, int layers, int ntri, const int *tri, int *tet);

// Signed volume, m3; mean-ratio quality: 1 for a regular tet, 0 for a flat one, negative for an inverted one.
double fai_tet_volume(const float *x, const int tet[4]);
double fai_tet_quality(const float *x, const int tet[4]);

enum { FA_REPAIR_ROUNDS = 64 };
typedef struct FaRepair {
    int rounds;   // made
    int shrunk;   // columns that had to become shorter
    int hopeless; // triangles below which no prism of positive volume exists
    int polished; // columns moved to make flat or slender tets better
} FaRepair;

// Shorten columns (and, smoothly, their neighbours) until every tet has volume; then, unless something is hopeless,
// move the deep ends of the worst tets to where the least quality around them is higher. near: the skin's topology;
// deep: nskin x 3, in and out. scale (nullable) gets how much of each column is left, 0..1 (nskin); hopeless gets 1 for
// triangles to leave out (ntri).
FaCode fai_layer_repair(const FaMesh *skin, const FaTopology *near, int layers, float *deep, float *scale,
                        unsigned char *hopeless, FaRepair *report, FaError *err);

#endif

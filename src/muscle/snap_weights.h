// How much of a snap each vertex gets (paper 002, section 5): 1 on lines that were drawn, 0 outside a painted region
// and on its edge, between them the solution of Laplace's equation on the surface,
//     L w = 0,   w = 1 on lines,   w = 0 on the edge,
// with the cotangent Laplacian (mesh/laplacian.h), then reshaped by a falloff. Open borders of the mesh inside the
// region are no edge of it. All over welded vertices; copies at seams get what their vertex gets.
#ifndef FAI_SNAP_WEIGHTS_H
#define FAI_SNAP_WEIGHTS_H

#include "fascia/mesh.h"
#include "mesh/mesh.h"
#include "muscle/falloff.h"

// How far each vertex is from those that are set in `from`, along edges, m; INFINITY: on another part (nvert, welded).
FaCode fai_snap_far(const FaMesh *mesh, const FaTopology *topology, const unsigned char *from, double *far,
                    FaError *err);
// The shortest way along edges between two vertices: all on it are set to 1 in `line` (nvert, welded vertices).
// FA_E_ARG: there is none.
FaCode fai_snap_path(const FaMesh *mesh, const FaTopology *topology, int from, int to, unsigned char *line,
                     FaError *err);

// line: nonzero on lines (nvert, welded). region: nonzero for painted triangles (ntri). weight: out, 0..1 (nvert).
// *inside (nullable): vertices of lines that are inside the region; others do nothing. FA_E_NUMERIC: positions that are
// not finite.
FaCode fai_snap_weights(const FaMesh *mesh, const FaTopology *topology, const unsigned char *line,
                        const unsigned char *region, const FaFalloff *falloff, float *weight, int *inside,
                        FaError *err);

#endif

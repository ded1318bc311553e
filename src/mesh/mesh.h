// Triangle meshes: triangulation, adjacency, parts, boundaries, areas, normals, volumes.
#ifndef FAI_MESH_H
#define FAI_MESH_H

#include "base/base.h"
#include "fascia/mesh.h"

// Fill tri, tri_face and ntri from the polygons (arrays from the arena). Convex corners fan; concave polygons are
// ear-clipped in their best-fit plane; those that cannot be (no area, crossing themselves, or too many huge ones for
// the time they would take) fall back to a fan and count in *concave_failed (nullable). Corners that repeat their
// neighbour or end a spike give triangles without area. Polygons of under three corners have no triangles.
FaCode fai_mesh_triangulate(FaMesh *mesh, FaArena *arena, int *concave_failed, FaError *err);
FaCode fai_mesh_check(const FaMesh *mesh, FaError *err); // indices in range, positions finite, arrays consistent

static inline int fai_weld(const FaMesh *mesh, int v) { return mesh->weld ? mesh->weld[v] : v; }

// Adjacency over welded vertices. Edges are unordered pairs a < b, sorted. Triangles with a repeated vertex have no
// edges. Parts are numbered by their first vertex.
typedef struct FaTopology {
    int nvert, nedge;
    int (*edge)[2];    // welded vertex pairs                                        (nedge)
    int *edge_tris;    // how many triangles use the edge                            (nedge)
    int *edge_tri;     // the first two of them, -1 = none                           (nedge x 2)
    int *around_start; // neighbours of each vertex                                  (nvert + 1)
    int *around;       //
    int *part;         // connected component of each vertex, -1 = in no triangle    (nvert)
    int nparts;
    int boundary;    // edges with one triangle
    int nonmanifold; // edges with more than two
    int flipped;     // edges whose two triangles run the same way along it
    int unused;      // vertices in no face
    int degenerate;  // triangles with a repeated (welded) vertex or area under 1e-12 of the squared bounding diagonal
    int duplicate;   // triangles with the same three vertices as an earlier one
    FaArena *arena;  // owns the arrays
} FaTopology;
FaCode fai_topology_build(const FaMesh *mesh, FaTopology *topo, FaError *err);
void fai_topology_free(FaTopology *topo);

// Vertices at exactly the position of an earlier one they are not welded to; copies at a seam count once.
// -1: no memory.
int fai_mesh_coincident(const FaMesh *mesh);

// Area-weighted, unit, shared across seams; 0 0 0 where no triangle gives one (nvert x 3).
void fai_mesh_normals(const FaMesh *mesh, const float *x, float *normal);
// A third of the triangles around each, m2 (nvert); copies at a seam keep their own share, so that the sum is the
// surface.
void fai_mesh_areas(const FaMesh *mesh, const float *x, float *area);
// Signed volume of each closed part, m3, positive when it faces outwards; parts with an edge used an odd number of
// times are open: 0, and closed[p] = false. volume, closed: nparts.
void fai_mesh_volumes(const FaMesh *mesh, const FaTopology *topo, const float *x, double *volume, bool *closed);

// What tells this mesh from others by its vertices' numbers: their count and the triangles, wherever the vertices are.
// Never 0.
uint64_t fai_mesh_print(const FaMesh *mesh);

#endif

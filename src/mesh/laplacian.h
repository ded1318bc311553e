// The cotangent Laplacian of a triangle mesh and its lumped mass.
//
// L is the stiffness matrix of linear elements: symmetric, positive semi-definite, rows sum to 0; f'Lf is the Dirichlet
// energy of f, (L f)_i / mass_i is minus its Laplacian at vertex i. Off-diagonal entries are -(cot a + cot b) / 2;
// those of edges that are not Delaunay are positive, which linear precision needs.
#ifndef FAI_LAPLACIAN_H
#define FAI_LAPLACIAN_H

#include "fascia/mesh.h"
#include "math/csr.h"

// At positions x (NULL: mesh->x), nvert x nvert, over welded vertices: copies at seams have empty rows and no mass, as
// have vertices in no triangle. mass (nullable): a third of the triangles around each vertex, m2 (nvert).
//
// Slivers: a triangle's area counts as at least 1e-5 of its summed squared sides, so no cotangent exceeds 25,000. This
// keeps symmetry, row sums and semi-definiteness (clamping cotangents would not); only linear precision is lost there.
// *clamped (nullable) counts them. Triangles that are a single point, or repeat a welded vertex, are left out and
// counted too. FA_E_NUMERIC: a position is not finite. Free L with fai_csr_free.
FaCode fai_laplacian_build(const FaMesh *mesh, const float *x, FaCsr *laplacian, double *mass, int *clamped,
                           FaError *err);

#endif

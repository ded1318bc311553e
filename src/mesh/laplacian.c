#include "mesh/laplacian.h"

#include "math/mat3.h"
#include "mesh/mesh.h"

#include <limits.h>

static const double LEAST_AREA = 1e-5; // of the summed squared sides

// One element: with e_i the side opposite to corner i, its stiffness is e_i . e_j / (4 area): a Gram matrix, so it
// stays semi-definite whatever the area is replaced by, and the sides' sum being 0 makes the rows' sums 0. Returns
// false for a triangle that is left out.
static bool element(const float *x, const int *v, const int *w, double stiff[3][3], double *area, int *clamped) {
    double p[3][3], side[3][3], normal[3], sides2 = 0;
    for (int i = 0; i < 3; i++) fai_v3_load(x, v[i], p[i]);
    for (int i = 0; i < 3; i++) {
        fai_v3_sub(p[(i + 2) % 3], p[(i + 1) % 3], side[i]);
        sides2 += fai_v3_dot(side[i], side[i]);
    }
    fai_v3_cross(side[0], side[1], normal);
    *area = fai_v3_norm(normal) / 2;
    bool repeated = w[0] == w[1] || w[1] == w[2] || w[2] == w[0];
    bool sliver = *area < LEAST_AREA * sides2;
    *clamped += repeated || sliver || sides2 == 0;
    if (repeated || sides2 == 0) return false;
    double least = sliver ? LEAST_AREA * sides2 : *area;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) stiff[i][j] = fai_v3_dot(side[i], side[j]) / (4 * least);
    return true;
}

FaCode fai_laplacian_build(const FaMesh *mesh, const float *x, FaCsr *laplacian, double *mass, int *clamped,
                           FaError *err) {
    *laplacian = (FaCsr){0};
    if (!x) x = mesh->x;
    if (mesh->ntri > INT_MAX / 9)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "split the mesh", "%d triangles are more than %d", mesh->ntri,
                       INT_MAX / 9);
    FaTriplet *entry = FA_NEW(9 * (size_t)mesh->ntri, FaTriplet);
    if (!entry) return FA_FAIL_MEMORY(err);
    if (mass) memset(mass, 0, (size_t)mesh->nvert * sizeof *mass);
    int n = 0, count = 0;
    FaCode code = FA_OK;
    for (int t = 0; t < mesh->ntri && code >= 0; t++) {
        const int *v = mesh->tri + 3 * (size_t)t;
        int w[3] = {fai_weld(mesh, v[0]), fai_weld(mesh, v[1]), fai_weld(mesh, v[2])};
        double stiff[3][3], area;
        bool kept = element(x, v, w, stiff, &area, &count);
        if (!isfinite(area))
            code = FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("triangle %d", t), "repair the vertices, or leave the frame out",
                           "a position is not a finite number");
        for (int i = 0; kept && i < 3; i++)
            for (int j = 0; j < 3; j++) entry[n++] = (FaTriplet){w[i], w[j], stiff[i][j]};
        for (int i = 0; mass && i < 3; i++) mass[w[i]] += area / 3;
    }
    if (code >= 0) code = fai_csr_from_triplets(mesh->nvert, mesh->nvert, n, entry, laplacian, err);
    if (code >= 0 && clamped) *clamped = count;
    fa_free(entry);
    return code;
}

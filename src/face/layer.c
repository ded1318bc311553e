// Equation 5.9 with weights that do not depend on the mesh's resolution:
//
//     sum_i a_i |xh_i - t_i|^2  +  sum_i l_i^4 / a_i ( w_smooth |(L xh)_i|^2 + w_lap |(L xh - L x)_i|^2 )
//
// with a_i the area of a vertex, L the cotan stiffness matrix (so that (L x)_i / a_i is the Laplacian at i) and l_i the
// local thickness: details of the skin smaller than its thickness do not reach the hypodermis, and where the flesh is
// thin (lips, lids) the layer follows the target closely. With constant a and l this is the thesis's energy.
#include "face/layer.h"

#include "math/chol.h"
#include "mesh/laplacian.h"

#include <math.h>

typedef struct Layer {
    int n;
    FaCsr lap;
    double *area;   //                                                        (n)
    double *smooth; // l^4 / a times w_smooth, 0 at the rim: L x is no curvature there          (n)
    double *keep;   // l^4 / a times w_lap                                    (n)
    double *x, *lx; // skin, L times it                                       (n x 3)
    double *b;      // right-hand side, then the solution                     (n x 4)
} Layer;

static void weights(Layer *s, const float *thickness, const unsigned char *rim, const FaLayerOptions *o) {
    double mean = 0;
    for (int i = 0; i < s->n; i++) mean += s->area[i] / s->n;
    for (int i = 0; i < s->n; i++) {
        double a = fmax(s->area[i], 1e-3 * mean), l2 = (double)thickness[i] * (double)thickness[i];
        s->area[i] = a;
        s->smooth[i] = rim[i] ? 0 : o->w_smooth * l2 * l2 / a;
        s->keep[i] = o->w_lap * l2 * l2 / a;
    }
}

// A = diag(a) + L diag(smooth + keep) L, full pattern.
static FaCode assemble(const Layer *s, FaCsr *out, FaError *err) {
    const FaCsr *l = &s->lap;
    size_t count = (size_t)s->n;
    for (int i = 0; i < s->n; i++) {
        size_t row = (size_t)(l->start[i + 1] - l->start[i]);
        count += row * row;
    }
    if (count > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "the skin has too many neighbours");
    FaTriplet *entry = FA_NEW(count, FaTriplet);
    if (!entry) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int i = 0; i < s->n; i++) entry[n++] = (FaTriplet){i, i, s->area[i]};
    for (int i = 0; i < s->n; i++) { // rows of L are also its columns
        double w = s->smooth[i] + s->keep[i];
        for (int p = l->start[i]; p < l->start[i + 1]; p++)
            for (int q = l->start[i]; q < l->start[i + 1]; q++)
                entry[n++] = (FaTriplet){l->col[p], l->col[q], w * l->val[p] * l->val[q]};
    }
    FaCode rc = fai_csr_from_triplets(s->n, s->n, n, entry, out, err);
    fa_free(entry);
    return rc;
}

static void right_hand_side(Layer *s, const float *normal, const float *thickness) {
    fai_csr_mul3(&s->lap, s->x, s->lx);
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < 3; k++) {
            s->b[4 * (size_t)i + k] =
                s->area[i] * (s->x[3 * (size_t)i + k] - (double)thickness[i] * (double)normal[3 * (size_t)i + k]);
            s->lx[3 * (size_t)i + k] *= s->keep[i];
        }
    double *llx = s->x; // x is not needed any more
    fai_csr_mul3(&s->lap, s->lx, llx);
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < 3; k++) s->b[4 * (size_t)i + k] += llx[3 * (size_t)i + k];
}

static FaCode solve(Layer *s, FaError *err) {
    FaCsr a = {0};
    FaChol *chol = NULL;
    FaCode rc = assemble(s, &a, err);
    if (rc >= 0) rc = fai_chol_analyze(&a, NULL, &chol, err);
    if (rc >= 0) rc = fai_chol_factor(chol, &a, err);
    if (rc >= 0) fai_chol_solve_d(chol, s->b, s->b);
    fai_chol_free(chol);
    fai_csr_free(&a);
    return rc;
}

FaCode fai_layer_solve(const FaMesh *skin, const float *normal, const float *thickness, const unsigned char *rim,
                       const FaLayerOptions *options, float *deep, FaError *err) {
    Layer s = {.n = skin->nvert};
    const size_t n = (size_t)s.n;
    FaArena *scratch = fai_arena_new(0);
    if (!scratch) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    s.area = FA_PUSH(scratch, n, double);
    s.smooth = FA_PUSH(scratch, n, double);
    s.keep = FA_PUSH(scratch, n, double);
    s.x = FA_PUSH(scratch, 3 * n, double);
    s.lx = FA_PUSH(scratch, 3 * n, double);
    s.b = FA_PUSH(scratch, 4 * n, double);
    if (!s.area || !s.smooth || !s.keep || !s.x || !s.lx || !s.b) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, fai_laplacian_build(skin, NULL, &s.lap, s.area, NULL, err));
    weights(&s, thickness, rim, options);
    for (size_t i = 0; i < 3 * n; i++) s.x[i] = (double)skin->x[i];
    right_hand_side(&s, normal, thickness);
    FA_TRY_GOTO(done, rc, solve(&s, err));
    // smoothing may lengthen a column a little, but not past the wall that limits it
    for (size_t i = 0; i < n; i++) {
        double d[3], size = 0;
        for (size_t k = 0; k < 3; k++) d[k] = s.b[4 * i + k] - (double)skin->x[3 * i + k], size += d[k] * d[k];
        double scale = fmin(1, (double)thickness[i] / fmax(sqrt(size), 1e-9));
        for (size_t k = 0; k < 3; k++) deep[3 * i + k] = (float)((double)skin->x[3 * i + k] + scale * d[k]);
    }
done:
    fai_csr_free(&s.lap);
    fai_arena_free(scratch);
    return rc;
}

// Based on: thesis 001 eq. 6.1 (the linear model of Thies et al.). Symbols: mu -> mean, Psi_id -> id, Psi_exp -> b.
#include "track/face_model.h"

#include "math/dense.h"
#include "math/mat3.h"

#include <math.h>

// --- making one ---------------------------------------------------------------------------------------------------

void fa_face_model_free(FaFaceModel *model) {
    if (!model) return;
    fai_notes_free(&model->notes);
    fa_rig_free(model->own);
    fai_arena_free(model->arena);
    fa_free(model);
}

static FaCode check_new(const FaRig *rig, int nid, const float *identity, FaError *err) {
    if (rig->nshape < 1 && nid < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rig with shapes", "the rig has no expression to fit");
    if (rig->nshape > 400 || nid > 400)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use the first hundred identities, and expressions without correctives",
                       "%d identities and %d expressions are more than the camera's fit takes (400 each)", nid,
                       rig->nshape);
    size_t n = 3 * (size_t)rig->mesh.nvert;
    for (int k = 0; k < nid; k++)
        for (size_t i = 0; i < n; i++)
            if (!isfinite(identity[(size_t)k * n + i]))
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("identity %d, vertex %zu", k, i / 3),
                               "look at the file it is from", "an identity has a number that is not finite");
    return FA_OK;
}

static FaCode fill_new(FaFaceModel *m, const FaRig *rig, int nid, const char *const *id_name, const float *identity,
                       FaError *err) {
    size_t n = 3 * (size_t)rig->mesh.nvert;
    m->name = fai_arena_printf(m->arena, "%s", rig->path && rig->path[0] ? rig->path : "a rig");
    m->id_name = FA_PUSH(m->arena, nid, const char *);
    m->exp_name = FA_PUSH(m->arena, rig->nshape, const char *);
    float *lo = FA_PUSH(m->arena, nid, float), *hi = FA_PUSH(m->arena, nid, float);
    float *basis = FA_PUSH(m->arena, (size_t)nid * n, float);
    if (!m->name || !m->id_name || !m->exp_name || !lo || !hi || !basis) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < nid; k++) {
        lo[k] = -3.5F;
        hi[k] = 3.5F;
        m->id_name[k] =
            id_name ? fai_arena_printf(m->arena, "%s", id_name[k]) : fai_arena_printf(m->arena, "identity%03d", k);
        if (!m->id_name[k]) return FA_FAIL_MEMORY(err);
    }
    for (int j = 0; j < rig->nshape; j++) {
        const FaShape *s = &rig->shape[j];
        m->exp_name[j] = s->arkit >= 0 && s->half == 0 ? fa_arkit_name(s->arkit) : s->name;
    }
    if (nid) memcpy(basis, identity, (size_t)nid * n * sizeof *basis);
    m->id_lo = lo;
    m->id_hi = hi;
    m->identity = basis;
    return FA_OK;
}

FaCode fa_face_model_new(const FaRig *rig, int nid, const char *const *id_name, const float *identity,
                         FaFaceModel **model, FaError *err) {
    FA_ASSERT(rig && model && nid >= 0 && (nid == 0 || identity));
    *model = NULL;
    FA_TRY(check_new(rig, nid, identity, err));
    FaFaceModel *m = FA_NEW(1, FaFaceModel);
    if (!m || !(m->arena = fai_arena_new(0))) {
        fa_free(m);
        return FA_FAIL_MEMORY(err);
    }
    m->rig = rig;
    m->nid = nid;
    m->nexp = rig->nshape;
    FaCode rc = fill_new(m, rig, nid, id_name, identity, err);
    if (rc < 0) {
        fa_face_model_free(m);
        return rc;
    }
    *model = m;
    return FA_OK;
}

void fa_face_model_face(const FaFaceModel *model, const float *identity, const float *weight, float *x) {
    size_t n = 3 * (size_t)model->rig->mesh.nvert;
    if (weight)
        fa_rig_blend(model->rig, weight, x);
    else
        memcpy(x, model->rig->mesh.x, n * sizeof *x);
    for (int k = 0; identity && k < model->nid; k++) {
        const float *row = model->identity + (size_t)k * n;
        if (identity[k] == 0) continue;
        for (size_t i = 0; i < n; i++) x[i] += identity[k] * row[i];
    }
}

// --- landmarks ----------------------------------------------------------------------------------------------------

static int slot(FaLandmarkLayout layout) { return layout == FA_LANDMARKS_68 ? 0 : 1; }
static int layout_count(FaLandmarkLayout layout) {
    return layout == FA_LANDMARKS_68 ? 68 : layout == FA_LANDMARKS_468 ? 468 : 478;
}

const FaModelRows *fai_model_rows(const FaFaceModel *model, FaLandmarkLayout layout) {
    return model->rows[slot(layout)];
}

bool fa_face_model_has(const FaFaceModel *model, FaLandmarkLayout layout) {
    return fai_model_rows(model, layout) != NULL;
}

void fai_model_point(const FaFaceModel *model, const FaMarkerPoint *point, double mean[3], double *id) {
    size_t n = 3 * (size_t)model->rig->mesh.nvert;
    fa_marker_point_at(point, model->rig->mesh.x, true, mean);
    for (int k = 0; k < model->nid; k++)
        for (int a = 0; a < 3; a++) {
            double sum = 0;
            for (int c = 0; c < 3; c++)
                if (point->bary[c] != 0)
                    sum += (double)point->bary[c] *
                           (double)model->identity[(size_t)k * n + 3 * (size_t)point->vert[c] + (size_t)a];
            id[3 * k + a] = sum;
        }
}

void fai_model_landmark(const FaFaceModel *model, const FaModelRows *r, int i, const float *identity,
                        const float *weight, double x[3]) {
    memcpy(x, r->mean + 3 * (size_t)i, 3 * sizeof *x);
    for (int k = 0; identity && k < model->nid; k++)
        fai_v3_mad(x, (double)identity[k], r->id + 3 * ((size_t)i * (size_t)model->nid + (size_t)k), x);
    for (int e = r->start[i]; weight && e < r->start[i + 1]; e++)
        fai_v3_mad(x, (double)weight[r->shape[e]], r->b + 3 * (size_t)e, x);
}

static FaCode check_points(const FaFaceModel *m, int count, const FaMarkerPoint *point, const float *weight,
                           int *usable, FaError *err) {
    *usable = 0;
    for (int i = 0; i < count; i++) {
        if (weight && (!(weight[i] >= 0) || !isfinite(weight[i])))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("landmark %d", i), "give a weight of 0 or more",
                           "its weight is no such number");
        if (point[i].vert[0] < 0) continue;
        double sum = 0;
        for (int c = 0; c < 3; c++) {
            sum += (double)point[i].bary[c];
            if (point[i].vert[c] < 0 || point[i].vert[c] >= m->rig->mesh.nvert)
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("landmark %d", i), "put it on the model's own mesh",
                               "vertex %d does not exist", point[i].vert[c]);
        }
        if (!(fabs(sum - 1) < 1e-3))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("landmark %d", i), "give weights of the corners that sum to 1",
                           "its place in the triangle makes no sense");
        *usable += !weight || weight[i] > 0;
    }
    if (*usable < 6)
        return FA_FAIL(err, FA_E_ARG, NULL, "a head's pose and size take six or more, well spread",
                       "only %d landmarks have a place on the model", *usable);
    return FA_OK;
}

// Which shapes move which landmark: a dense row per shape, then counted, then filled.
static FaCode fill_shapes(const FaFaceModel *m, FaModelRows *r, FaError *err) {
    const FaRig *rig = m->rig;
    size_t nexp = (size_t)m->nexp;
    float *dense = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    double *row = FA_NEW(3 * nexp * (size_t)r->n, double);
    FaCode rc = dense && row ? FA_OK : FA_FAIL_MEMORY(err);
    for (int j = 0; rc >= 0 && j < m->nexp; j++) {
        const FaShape *s = &rig->shape[j];
        for (int e = s->first; e < s->first + s->count; e++)
            memcpy(dense + 3 * (size_t)rig->row[e], rig->delta + 3 * (size_t)e, 3 * sizeof *dense);
        for (int i = 0; i < r->n; i++)
            for (int c = 0; c < 3; c++)
                for (int a = 0; a < 3; a++)
                    row[3 * ((size_t)i * nexp + (size_t)j) + (size_t)a] +=
                        (double)r->point[r->index[i]].bary[c] *
                        (double)dense[3 * (size_t)r->point[r->index[i]].vert[c] + (size_t)a];
        for (int e = s->first; e < s->first + s->count; e++)
            memset(dense + 3 * (size_t)rig->row[e], 0, 3 * sizeof *dense);
    }
    int total = 0;
    for (int pass = 0; rc >= 0 && pass < 2; pass++) {
        total = 0;
        for (int i = 0; i < r->n; i++) {
            r->start[i] = total;
            for (int j = 0; j < m->nexp; j++) {
                const double *d = row + 3 * ((size_t)i * nexp + (size_t)j);
                if (fai_v3_norm(d) < 1e-6) continue; // a micrometre: nothing a camera could see
                if (pass) {
                    r->shape[total] = j;
                    memcpy(r->b + 3 * (size_t)total, d, 3 * sizeof *d);
                }
                total++;
            }
        }
        r->start[r->n] = total;
        if (pass) break;
        r->shape = FA_PUSH(m->arena, total, int);
        r->b = FA_PUSH(m->arena, 3 * (size_t)total, double);
        if (!r->shape || !r->b) rc = FA_FAIL_MEMORY(err);
    }
    fa_free(dense);
    fa_free(row);
    return rc;
}

static FaCode fill_rows(const FaFaceModel *m, FaModelRows *r, const float *weight, FaError *err) {
    double top = 0, sum = 0, spread = 0;
    int n = 0;
    for (int i = 0; i < r->count; i++) {
        double w = weight ? (double)weight[i] : 1;
        if (r->point[i].vert[0] < 0 || !(w > 0)) continue;
        r->index[n] = i;
        r->trust[n++] = w;
        top = fmax(top, w);
    }
    r->n = n;
    for (int i = 0; i < n; i++) {
        double *p = r->mean + 3 * (size_t)i;
        r->trust[i] /= top;
        fai_model_point(m, &r->point[r->index[i]], p, r->id + 3 * (size_t)i * (size_t)m->nid);
        fai_v3_mad(r->centre, r->trust[i], p, r->centre);
        sum += r->trust[i];
    }
    fai_v3_scale(1 / sum, r->centre, r->centre);
    for (int i = 0; i < n; i++) {
        double d[3];
        fai_v3_sub(r->mean + 3 * (size_t)i, r->centre, d);
        spread += r->trust[i] * fai_v3_dot(d, d);
    }
    r->size = 2 * sqrt(spread / sum);
    if (!(r->size > 1e-3))
        return FA_FAIL(err, FA_E_ARG, NULL, "look at the table of landmarks",
                       "all landmarks sit at one place of the model");
    return fill_shapes(m, r, err);
}

// Irises turn with the gaze: on a mesh whose eyes do not, they would mislead.
static void check_irises(FaFaceModel *m, FaModelRows *r) {
    int still = 0;
    for (int i = 0; i < r->n; i++) {
        bool moves = r->index[i] < 468;
        for (int e = r->start[i]; e < r->start[i + 1] && !moves; e++)
            moves = strstr(m->exp_name[r->shape[e]], "eyeLook") && fai_v3_norm(r->b + 3 * (size_t)e) > 1e-3;
        if (moves) continue;
        r->trust[i] = 0;
        still++;
    }
    fai_note_count(
        &m->notes, still, "irises-still", "", "put them on eyes that the eyeLook shapes turn",
        "%d iris landmarks sit where no eyeLook shape moves the model: they are not used, and there is no gaze", still);
}

FaCode fa_face_model_landmarks(FaFaceModel *model, FaLandmarkLayout layout, const FaMarkerPoint *point,
                               const float *weight, FaError *err) {
    int count = layout_count(layout), usable;
    size_t n = (size_t)count;
    FA_TRY(check_points(model, count, point, weight, &usable, err));
    FaModelRows *r = FA_PUSH(model->arena, 1, FaModelRows);
    if (!r) return FA_FAIL_MEMORY(err);
    r->count = count;
    r->point = FA_PUSH(model->arena, n, FaMarkerPoint);
    r->index = FA_PUSH(model->arena, n, int);
    r->trust = FA_PUSH(model->arena, n, double);
    r->mean = FA_PUSH(model->arena, 3 * n, double);
    r->id = FA_PUSH(model->arena, 3 * n * (size_t)FA_MAX(model->nid, 1), double);
    r->start = FA_PUSH(model->arena, n + 1, int);
    if (!r->point || !r->index || !r->trust || !r->mean || !r->id || !r->start) return FA_FAIL_MEMORY(err);
    memcpy(r->point, point, n * sizeof *point);
    FA_TRY(fill_rows(model, r, weight, err));
    check_irises(model, r);
    model->rows[slot(layout)] = r;
    return FA_OK;
}

// More rows after the others, whose table has room for them.
FaCode fai_model_add(FaFaceModel *model, FaLandmarkLayout layout, int n, const FaModelExtra *extra, FaError *err) {
    FaModelRows *r = model->rows[slot(layout)];
    int total = r->start[r->n], more = 0;
    size_t nid = (size_t)model->nid;
    for (int i = 0; i < n; i++) more += extra[i].nmove;
    FA_ASSERT(r->n + n <= r->count && r->index[r->n - 1] < extra[0].index);
    int *shape = FA_PUSH(model->arena, (size_t)total + (size_t)more, int);
    double *b = FA_PUSH(model->arena, 3 * ((size_t)total + (size_t)more), double);
    if (!shape || !b) return FA_FAIL_MEMORY(err);
    memcpy(shape, r->shape, (size_t)total * sizeof *shape);
    memcpy(b, r->b, 3 * (size_t)total * sizeof *b);
    for (int i = 0; i < n; i++, r->n++) {
        const FaModelExtra *e = &extra[i];
        r->index[r->n] = e->index;
        r->trust[r->n] = e->trust;
        memcpy(r->mean + 3 * (size_t)r->n, e->mean, sizeof e->mean);
        if (nid) memcpy(r->id + 3 * (size_t)r->n * nid, e->id, 3 * nid * sizeof *e->id);
        memcpy(shape + total, e->shape, (size_t)e->nmove * sizeof *shape);
        memcpy(b + 3 * (size_t)total, e->b, 3 * (size_t)e->nmove * sizeof *b);
        total += e->nmove;
        r->start[r->n + 1] = total;
    }
    r->shape = shape;
    r->b = b;
    return FA_OK;
}

// --- what landmarks can see ---------------------------------------------------------------------------------------

// Normal equations of pose and expressions for one frontal picture of a face 400 pixels high, 0.6 m away.
static void frontal(const FaFaceModel *m, const FaModelRows *r, int dims, double *g, double *col) {
    int n = 6 + m->nexp;
    double px = 400 / (1.3 * r->size); // pixels per metre: landmarks span about three quarters of the face
    for (int i = 0; i < r->n; i++) {
        double y[3];
        fai_v3_sub(r->mean + 3 * (size_t)i, r->centre, y);
        memset(col, 0, 3 * (size_t)n * sizeof *col);
        for (int a = 0; a < 3; a++) {
            double e[3] = {a == 0, a == 1, a == 2};
            fai_v3_cross(e, y, col + 3 * (size_t)a);
            memcpy(col + 3 * (size_t)(3 + a), e, sizeof e);
        }
        for (int k = r->start[i]; k < r->start[i + 1]; k++)
            memcpy(col + 3 * (size_t)(6 + r->shape[k]), r->b + 3 * (size_t)k, 3 * sizeof *col);
        // rows of the projection: z acts through perspective only
        for (int p = 0; p < n; p++) {
            double *c = col + 3 * (size_t)p;
            if (dims == 3)
                fai_v3_scale(2000, c, c);
            else
                fai_v3_set(c, px * (c[0] + c[2] * y[0] / 0.6), px * (c[1] + c[2] * y[1] / 0.6), 0);
        }
        for (int p = 0; p < n; p++)
            for (int q = 0; q <= p; q++)
                g[(size_t)p * (size_t)n + (size_t)q] +=
                    r->trust[i] * fai_v3_dot(col + 3 * (size_t)p, col + 3 * (size_t)q) / 0.25;
    }
}

FaCode fa_face_model_seen(const FaFaceModel *model, FaLandmarkLayout layout, int dims, float *seen, FaError *err) {
    const FaModelRows *r = fai_model_rows(model, layout);
    if (!r)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a table of landmarks for it",
                       "the model has no landmarks of this layout");
    size_t n = 6 + (size_t)model->nexp;
    double *g = FA_NEW(n * n, double), *col = FA_NEW(3 * n, double);
    FaCode rc = g && col ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        frontal(model, r, dims, g, col);
        for (size_t p = 0; p < n; p++)
            g[p * n + p] += p < 3 ? 1 / (0.5 * 0.5) : p < 6 ? 1.0 : 1 / (FA_EXP_SD * FA_EXP_SD);
        if (!fai_dense_cholesky((int)n, (int)n, g))
            rc = FA_FAIL(err, FA_E_NUMERIC, NULL, "look at the model's shapes", "the landmarks' equations break down");
    }
    for (size_t j = 6; rc >= 0 && j < n; j++) { // variance: column j of L^-1, squared
        memset(col, 0, n * sizeof *col);
        col[j] = 1;
        fai_dense_forward((int)n, (int)n, g, col);
        double var = 0;
        for (size_t k = j; k < n; k++) var += col[k] * col[k];
        seen[j - 6] = (float)fmax(0, 1 - var / (FA_EXP_SD * FA_EXP_SD));
    }
    fa_free(g);
    fa_free(col);
    return rc;
}

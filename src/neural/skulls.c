// D of paper 004, section 3.5: skins to the depth of the skull below, linear between principal components.
//
//     z = B (x - m)          x: the skin, turned and moved to the first pair's; B: its components, unit
//     depth = d + z' G       G = (Z Z' + r)^-1 Z Y, Y: depths less their mean d, cut to as many components
//
// r is 1e-3 of the largest variance: components that hardly vary say little.
#include "fascia/skulls.h"
#include "base/file.h"
#include "face/face.h"
#include "math/dense.h"
#include "math/procrustes.h"
#include "neural/pack.h"

#include <math.h>

enum { VERTS = 1 << 22, COMPONENTS = 256, PAIRS = 4096 };
static const char SIGNATURE[8] = {'F', 'A', 'S', 'K', 'L', '1', '\n', 0x1a};
static const double RIDGE = 1e-3;
static const float FAR = 10, DEEP = 0.5f; // m: beyond it no skin, no depth is

struct FaSkulls {
    int nvert, ntri; // of the skins; their diagonals may differ
    int ncomponent;
    float floor;  // m
    float *mean;  // skin, m                                   (nvert x 3)
    float *known; // 1: there is a depth here                  (nvert)
    float *depth; // mean, m                                   (nvert)
    float *basis; // B                                         (ncomponent x nvert x 3)
    float *gain;  // G                                         (ncomponent x nvert)
};

void fa_skulls_free(FaSkulls *s) {
    if (!s) return;
    float *const array[] = {s->mean, s->known, s->depth, s->basis, s->gain};
    for (int i = 0; i < FA_COUNT(array); i++) fa_free(array[i]);
    fa_free(s);
}

static FaCode allocate(FaSkulls *s, FaError *err) {
    const size_t n = (size_t)s->nvert, k = (size_t)s->ncomponent;
    s->mean = FA_NEW(3 * n, float), s->known = FA_NEW(n, float), s->depth = FA_NEW(n, float);
    s->basis = FA_NEW(3 * n * k, float), s->gain = FA_NEW(n * k, float);
    return s->mean && s->known && s->depth && s->basis && s->gain ? FA_OK : FA_FAIL_MEMORY(err);
}

// --- fitting ---------------------------------------------------------------------------------------------------------

typedef struct Pairs {
    int n, nvert;
    float *skin, *depth; // aligned, m; 0 where not known                 (n x nvert x 3), (n x nvert)
    float *known;        //                                               (nvert)
    float *x, *y;        // of those that are not left out, less the mean
    double *gram, *w, *v, *wy, *vy, *coef;
    FaArena *arena;
} Pairs;

// Turned and moved onto `to` (nvert x 3, m), not scaled.
static FaCode align(int nvert, const float *from, const float *to, float *out, FaError *err) {
    const size_t n = 3 * (size_t)nvert;
    double *a = FA_NEW(n, double), *b = FA_NEW(n, double);
    if (a && b) {
        for (size_t i = 0; i < n; i++) a[i] = (double)from[i], b[i] = (double)to[i];
        const FaAlign fit = fai_align(nvert, a, b, NULL, false);
        for (size_t v = 0; v < (size_t)nvert; v++) {
            double y[3];
            fai_align_apply(&fit, a + 3 * v, y);
            for (size_t k = 0; k < 3; k++) out[3 * v + k] = (float)y[k];
        }
    }
    const bool good = a && b;
    fa_free(a);
    fa_free(b);
    return good ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode check_pair(int i, const FaRig *first, const FaRig *rig, const FaFace *face, FaError *err) {
    if (rig->mesh.nvert != first->mesh.nvert || rig->mesh.ntri != first->mesh.ntri)
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("pair %d", i + 1), "give skins of one template",
                       "its vertices are others than those of the first");
    bool bones = false;
    for (int b = 0; b < face->nbone; b++) bones |= face->bone[b].kind <= FA_BONE_JAW;
    if (bones) return FA_OK;
    return FA_FAIL(err, FA_E_ARG, FA_PLACE("pair %d", i + 1), "give files that have a skull or a jaw beside the skin",
                   "there are no bones below the skin");
}

static FaCode gather(Pairs *p, const FaRig *const *rig, const FaFace *const *face, FaError *err) {
    const size_t n = (size_t)p->n, m = (size_t)p->nvert;
    FaArena *a = p->arena;
    p->skin = FA_PUSH(a, 3 * n * m, float), p->depth = FA_PUSH(a, n * m, float), p->known = FA_PUSH(a, m, float);
    p->x = FA_PUSH(a, 3 * n * m, float), p->y = FA_PUSH(a, n * m, float);
    p->gram = FA_PUSH(a, n * n, double), p->w = FA_PUSH(a, n, double), p->v = FA_PUSH(a, n * n, double);
    p->wy = FA_PUSH(a, n, double), p->vy = FA_PUSH(a, n * n, double), p->coef = FA_PUSH(a, n * n, double);
    if (!p->skin || !p->depth || !p->known || !p->x || !p->y || !p->gram || !p->w || !p->v || !p->wy || !p->vy ||
        !p->coef)
        return FA_FAIL_MEMORY(err);
    for (size_t v = 0; v < m; v++) p->known[v] = 1;
    for (size_t i = 0; i < n; i++) {
        FA_TRY(check_pair((int)i, rig[0], rig[i], face[i], err));
        FA_TRY(align(p->nvert, rig[i]->mesh.x, rig[0]->mesh.x, p->skin + 3 * i * m, err));
        for (size_t v = 0; v < m; v++) {
            const int node = face[i]->node_of_vertex[v];
            if (node < 0) p->known[v] = 0;
            if (node >= 0) p->depth[i * m + v] = face[i]->thickness_asked[node];
        }
    }
    return FA_OK;
}

// Rows but `without`, less their mean.
static void centre(const Pairs *p, size_t width, const float *rows, int without, float *mean, float *out) {
    const size_t m = width * (size_t)p->nvert;
    const double each = 1.0 / (p->n - (without >= 0));
    for (size_t e = 0; e < m; e++) {
        double sum = 0;
        for (int i = 0; i < p->n; i++)
            if (i != without) sum += (double)rows[(size_t)i * m + e];
        mean[e] = (float)(sum * each);
    }
    for (int i = 0, at = 0; i < p->n; i++) {
        if (i == without) continue;
        for (size_t e = 0; e < m; e++) out[(size_t)at * m + e] = rows[(size_t)i * m + e] - mean[e];
        at++;
    }
}

// The regressor of all pairs but one (-1: of all). s has its arrays.
static FaCode regress(Pairs *p, int without, FaSkulls *s, FaError *err) {
    const size_t m = (size_t)p->nvert;
    const int n = p->n - (without >= 0);
    centre(p, 3, p->skin, without, s->mean, p->x);
    centre(p, 1, p->depth, without, s->depth, p->y);
    fai_gram(n, 3 * m, p->x, p->gram);
    FA_TRY(fai_eigen_symmetric(n, p->gram, p->w, p->v, err));
    fai_gram(n, m, p->y, p->gram);
    FA_TRY(fai_eigen_symmetric(n, p->gram, p->wy, p->vy, err));
    for (int k = 0; k < s->ncomponent; k++)
        for (int i = 0; i < n; i++) p->coef[k * n + i] = p->w[k] > 1e-9 * p->w[0] ? p->v[k * n + i] / sqrt(p->w[k]) : 0;
    fai_mix_rows(s->ncomponent, n, 3 * m, p->coef, p->x, s->basis);
    // Z Y over the leading components of Y: its rows are sqrt(w) v' (sum of vy vy') Y
    for (int k = 0; k < s->ncomponent; k++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int c = 0; c < s->ncomponent; c++)
                sum += fai_dot_n(p->v + (size_t)k * (size_t)n, p->vy + (size_t)c * (size_t)n, n) * p->vy[c * n + i];
            p->coef[k * n + i] = sum * sqrt(fmax(p->w[k], 0)) / (fmax(p->w[k], 0) + RIDGE * p->w[0] + 1e-30);
        }
    fai_mix_rows(s->ncomponent, n, m, p->coef, p->y, s->gain);
    return FA_OK;
}

// x: aligned.
static void predict(const FaSkulls *s, const float *x, float *depth) {
    const size_t m = (size_t)s->nvert;
    for (size_t v = 0; v < m; v++) depth[v] = s->depth[v];
    for (int k = 0; k < s->ncomponent; k++) {
        double z = 0;
        const float *b = s->basis + 3 * m * (size_t)k, *g = s->gain + m * (size_t)k;
        for (size_t e = 0; e < 3 * m; e++) z += (double)b[e] * ((double)x[e] - (double)s->mean[e]);
        for (size_t v = 0; v < m; v++) depth[v] += (float)z * g[v];
    }
    for (size_t v = 0; v < m; v++) depth[v] = s->known[v] > 0 ? fminf(fmaxf(depth[v], s->floor), DEEP) : NAN;
}

static double error_of(const Pairs *p, int pair, const float *depth) {
    const float *true_depth = p->depth + (size_t)pair * (size_t)p->nvert;
    double sum = 0, n = 0;
    for (int v = 0; v < p->nvert; v++)
        if (p->known[v] > 0) sum += 1e3 * fabs((double)depth[v] - (double)true_depth[v]), n++;
    return sum / fmax(n, 1);
}

// Each pair left out in turn; then of all.
static FaCode check(Pairs *p, bool leave_out, FaSkulls *s, FaSkullsReport *r, FaError *err) {
    float *depth = FA_PUSH(p->arena, p->nvert, float);
    if (!depth) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < p->n && leave_out; i++) {
        FA_TRY(regress(p, i, s, err));
        r->mean_mm += error_of(p, i, s->depth) / p->n;
        predict(s, p->skin + 3 * (size_t)i * (size_t)p->nvert, depth);
        const double e = error_of(p, i, depth);
        r->left_out_mm += e / p->n;
        r->worst_mm = fmax(r->worst_mm, e);
    }
    FA_TRY(regress(p, -1, s, err));
    double square = 0;
    for (int v = 0; v < p->nvert; v++) {
        double sum = 0;
        if (!(p->known[v] > 0)) continue;
        for (int i = 0; i < p->n; i++)
            sum += pow((double)p->depth[(size_t)i * (size_t)p->nvert + (size_t)v] - (double)s->depth[v], 2);
        square += 1e3 * sqrt(sum / p->n);
        r->vertices++;
    }
    r->spread_mm = square / FA_MAX(r->vertices, 1);
    for (int i = 0; i < p->n; i++) {
        predict(s, p->skin + 3 * (size_t)i * (size_t)p->nvert, depth);
        r->fit_mm += error_of(p, i, depth) / p->n;
    }
    return FA_OK;
}

FaCode fa_skulls_fit(int n, const FaRig *const *rig, const FaFace *const *face, const FaSkullsOptions *options,
                     FaSkulls **skulls, FaSkullsReport *report, FaError *err) {
    *skulls = NULL;
    const FaSkullsOptions o = options ? *options : (FaSkullsOptions){0};
    FaSkullsReport own = {0}, *r = report ? report : &own;
    *r = (FaSkullsReport){.pairs = n};
    if (n < 3 || n > PAIRS)
        return FA_FAIL(err, FA_E_ARG, NULL, "give 3 at least; 40 are good", "%d pairs of skin and skull", n);
    if (o.components < 0 || o.components > COMPONENTS || !(o.floor >= 0 && o.floor < 0.1))
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "%d components, floor %g m", o.components, o.floor);
    FaSkulls *s = FA_NEW(1, FaSkulls);
    Pairs p = {.n = n, .nvert = rig[0]->mesh.nvert, .arena = fai_arena_new(0)};
    FaCode rc = s && p.arena ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        s->nvert = p.nvert, s->ntri = rig[0]->mesh.ntri;
        s->ncomponent = r->components = FA_MIN(o.components ? o.components : 12, n - 2);
        s->floor = (float)(o.floor > 0 ? o.floor : 1.5e-3);
        rc = allocate(s, err);
    }
    if (rc >= 0) rc = gather(&p, rig, face, err);
    if (rc >= 0) memcpy(s->known, p.known, (size_t)p.nvert * sizeof(float));
    if (rc >= 0) rc = check(&p, !o.no_check, s, r, err);
    fai_arena_free(p.arena);
    if (rc < 0)
        fa_skulls_free(s);
    else
        *skulls = s;
    return rc;
}

// --- use -------------------------------------------------------------------------------------------------------------

FaCode fa_skulls_depth(const FaSkulls *s, const FaRig *rig, float *depth, FaError *err) {
    if (rig->mesh.nvert != s->nvert || rig->mesh.ntri != s->ntri)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a skin of the template that the pairs had",
                       "its vertices are others than those of the pairs");
    float *x = FA_NEW(3 * (size_t)s->nvert, float);
    FaCode rc = x ? align(s->nvert, rig->mesh.x, s->mean, x, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) predict(s, x, depth);
    fa_free(x);
    return rc;
}

FaCode fa_skulls_paint(const FaSkulls *s, const FaRig *rig, const char *path, FaError *err) {
    FaText t = {0};
    float *depth = FA_NEW(s->nvert, float);
    FaCode rc = depth ? fa_skulls_depth(s, rig, depth, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fai_text_printf(&t, "{\"version\": 1,\n \"thickness_mm\": {\"values\": [");
        for (int v = 0; v < s->nvert; v++) {
            const char *comma = v ? "," : "";
            if (isfinite(depth[v]))
                fai_text_printf(&t, "%s%.4f", comma, fmin(1e3 * (double)depth[v], 100));
            else
                fai_text_printf(&t, "%snull", comma);
        }
        fai_text_printf(&t, "]}}\n");
        if (t.failed) rc = FA_FAIL_MEMORY(err);
    }
    if (rc >= 0) rc = fai_file_write(path, t.data, t.size, err);
    fa_free(depth);
    fai_text_free(&t);
    return rc;
}

// --- the file --------------------------------------------------------------------------------------------------------

FaCode fa_skulls_save(const FaSkulls *s, const char *path, FaError *err) {
    const int number[3] = {s->nvert, s->ntri, s->ncomponent};
    const size_t n = (size_t)s->nvert, k = (size_t)s->ncomponent;
    FaText t = {0};
    fai_pack_begin(&t, SIGNATURE);
    fai_text_bytes(&t, number, sizeof number);
    fai_text_bytes(&t, &s->floor, sizeof s->floor);
    fai_text_bytes(&t, s->mean, 3 * n * sizeof(float));
    fai_text_bytes(&t, s->known, n * sizeof(float));
    fai_text_bytes(&t, s->depth, n * sizeof(float));
    fai_text_bytes(&t, s->basis, 3 * n * k * sizeof(float));
    fai_text_bytes(&t, s->gain, n * k * sizeof(float));
    return fai_pack_write(&t, path, err);
}

static void take_all(FaUnpack *u, FaSkulls *s) {
    s->nvert = fai_unpack_int(u, 1, VERTS);
    s->ntri = fai_unpack_int(u, 1, 8 * VERTS);
    s->ncomponent = fai_unpack_int(u, 1, COMPONENTS);
    const size_t n = (size_t)s->nvert, k = (size_t)s->ncomponent;
    float *floor = fai_unpack_floats(u, 1, 0, DEEP);
    if (floor) s->floor = *floor;
    fa_free(floor);
    s->mean = fai_unpack_floats(u, 3 * n, -FAR, FAR);
    s->known = fai_unpack_floats(u, n, 0, 1);
    s->depth = fai_unpack_floats(u, n, 0, DEEP);
    s->basis = fai_unpack_floats(u, 3 * n * k, -FAR, FAR);
    s->gain = fai_unpack_floats(u, n * k, -1e6f, 1e6f);
}

FaCode fa_skulls_load(const char *path, FaSkulls **skulls, FaError *err) {
    *skulls = NULL;
    FaBytes bytes;
    FaUnpack u;
    FA_TRY(fai_file_read(path, 0, &bytes, err));
    FaSkulls *s = FA_NEW(1, FaSkulls);
    FaCode rc = s ? FA_OK : FA_FAIL_MEMORY(err);
    if (s && fai_unpack_begin(&u, bytes.data, bytes.size, SIGNATURE)) take_all(&u, s);
    if (s) rc = fai_unpack_end(&u, "a file of skulls", "make it again with fascia fit-skulls", err);
    fai_bytes_free(&bytes);
    if (rc < 0)
        fa_skulls_free(s);
    else
        *skulls = s;
    return fai_fail_in(err, rc, path);
}

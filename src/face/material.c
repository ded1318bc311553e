#include "face/material.h"

#include "base/file.h"
#include "base/json.h"
#include "face/columns.h"
#include "face/skin_paint.h"
#include "face/texture.h"
#include "face/vertex_color.h"
#include "fascia/face.h"
#include "math/chol.h"
#include "math/mat3.h"
#include "rig/mean_head.h"

static const double LOST_AREA = 0.4; // of the skin, at which a shape is as stiff as can be
static const float LEAST = 20;       // Pa: what differs less from the base is the base
enum { SMOOTH = 6, FILE_MOST = 1 << 28 };

// --- through the flesh ----------------------------------------------------------------------------------------------

// Conduction between the corners of a tet: volume * grad phi_i . grad phi_j, grad phi_i = inward normal of the side
// across from i, times area over three volumes.
static void conduct(const float *x, const int t[4], double k[4][4]) {
    double p[4][3], g[4][3], e[3][3];
    for (int i = 0; i < 4; i++) fai_v3_load(x, t[i], p[i]);
    for (int i = 0; i < 3; i++) fai_v3_sub(p[i + 1], p[0], e[i]);
    fai_v3_cross(e[1], e[2], g[1]);
    fai_v3_cross(e[2], e[0], g[2]);
    fai_v3_cross(e[0], e[1], g[3]);
    double six = fai_v3_dot(e[0], g[1]); // six volumes
    for (int c = 0; c < 3; c++) g[0][c] = -g[1][c] - g[2][c] - g[3][c];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) k[i][j] = fai_v3_dot(g[i], g[j]) / (6 * six);
}

// Rows of inner nodes: `a` over inner nodes, `b` over the skin.
FaCode fai_conduction(const FaFace *f, FaCsr *a, FaCsr *b, FaError *err) {
    const int inner = f->nnode - f->nskin;
    if (f->ntet > INT32_MAX / 32) return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser face", "the face is too large");
    FaTriplet *entry = FA_NEW(16 * (size_t)f->ntet, FaTriplet);
    if (!entry) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    for (int pass = 0; rc >= 0 && pass < 2; pass++) {
        int n = 0;
        for (int t = 0; t < f->ntet; t++) {
            const int *v = f->tet + 4 * (size_t)t;
            double k[4][4];
            conduct(f->x0, v, k);
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    if (v[i] < f->nskin || (v[j] < f->nskin) != pass) continue;
                    entry[n++] = (FaTriplet){v[i] - f->nskin, pass ? v[j] : v[j] - f->nskin, k[i][j]};
                }
        }
        rc = fai_csr_from_triplets(inner, pass ? f->nskin : inner, n, entry, pass ? b : a, err);
    }
    fa_free(entry);
    return rc;
}

typedef struct Diffusion {
    FaCsr a, b;
    FaChol *chol;
    double *rhs, *u; // (inner x 4)
    FaArena *arena;
} Diffusion;

static void diffusion_free(Diffusion *d) {
    fai_csr_free(&d->a);
    fai_csr_free(&d->b);
    fai_chol_free(d->chol);
    fai_arena_free(d->arena);
}

static FaCode diffusion_new(const FaFace *f, Diffusion *d, FaError *err) {
    const size_t n = (size_t)(f->nnode - f->nskin);
    if (!(d->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    d->rhs = FA_PUSH(d->arena, 4 * n, double);
    d->u = FA_PUSH(d->arena, 4 * n, double);
    if (!d->rhs || !d->u) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_conduction(f, &d->a, &d->b, err));
    FA_TRY(fai_chol_analyze(&d->a, NULL, &d->chol, err));
    return fai_chol_factor(d->chol, &d->a, err);
}

// Up to four fields at once. Each is taken from a value of its own, so that a constant stays that constant to the bit.
static void diffuse_some(const FaFace *f, Diffusion *d, int count, const float *skin, float *node) {
    const int n = f->nnode - f->nskin;
    float lo[4], hi[4];
    for (int q = 0; q < count; q++) {
        const float *s = skin + (size_t)q * (size_t)f->nskin;
        lo[q] = hi[q] = s[0];
        for (int i = 1; i < f->nskin; i++) lo[q] = fminf(lo[q], s[i]), hi[q] = fmaxf(hi[q], s[i]);
    }
    for (int i = 0; i < n; i++)
        for (int q = 0; q < 4; q++) {
            double sum = 0;
            for (int e = d->b.start[i]; q < count && e < d->b.start[i + 1]; e++)
                sum -= d->b.val[e] * ((double)skin[(size_t)q * (size_t)f->nskin + (size_t)d->b.col[e]] - (double)lo[q]);
            d->rhs[4 * (size_t)i + (size_t)q] = sum;
        }
    fai_chol_solve_d(d->chol, d->rhs, d->u);
    for (int q = 0; q < count; q++) {
        float *out = node + (size_t)q * (size_t)f->nnode;
        memcpy(out, skin + (size_t)q * (size_t)f->nskin, (size_t)f->nskin * sizeof *out);
        for (int i = 0; i < n; i++)
            out[f->nskin + i] = fminf(fmaxf((float)((double)lo[q] + d->u[4 * (size_t)i + (size_t)q]), lo[q]), hi[q]);
    }
}

FaCode fai_diffuse(const FaFace *f, int nfield, const float *skin, float *node, FaError *err) {
    Diffusion d = {0};
    FaCode rc = diffusion_new(f, &d, err);
    for (int i = 0; rc >= 0 && i < nfield; i += 4)
        diffuse_some(f, &d, FA_MIN(4, nfield - i), skin + (size_t)i * (size_t)f->nskin,
                     node + (size_t)i * (size_t)f->nnode);
    diffusion_free(&d);
    return rc;
}

// --- by itself ------------------------------------------------------------------------------------------------------

typedef struct Build {
    FaFace *face;
    const FaRig *rig;
    FaArena *arena;
    float *vertex;    // painted, per vertex of the rig                                      (nvert)
    float *base;      // mu, then lambda, on the skin                                        (2 x nskin)
    float *field;     // mu, then lambda, of each shape on the skin; NULL: as the base       (2 x nskin)
    float *node;      // the same in the flesh                                               (2 x nnode)
    float *base_node; //                                                                     (2 x nnode)
    float *delta;     //                                                                     (ntet x 2)
    float *moved;     // skin in a shape                                                     (nskin x 3)
    double *lost, *area;
    const FaVertexColors *colors; // NULL: none
    const char *dir;              // of textures; NULL: none
    Diffusion heat;
} Build;

static double area_of(const float *x, const int *t) {
    double a[3], b[3], c[3], n[3];
    fai_v3_load(x, t[0], a);
    fai_v3_load(x, t[1], b);
    fai_v3_load(x, t[2], c);
    fai_v3_sub(b, a, b);
    fai_v3_sub(c, a, c);
    fai_v3_cross(b, c, n);
    return 0.5 * fai_v3_norm(n);
}

// Averages over the triangles around each node, a few times: paint without hard edges.
static void smooth(const FaFace *f, double *value, double *sum, double *weight) {
    for (int round = 0; round < SMOOTH; round++) {
        memset(sum, 0, (size_t)f->nskin * sizeof *sum);
        memset(weight, 0, (size_t)f->nskin * sizeof *weight);
        for (int t = 0; t < f->ntri; t++) {
            const int *v = f->tri + 3 * (size_t)t;
            double area = area_of(f->x0, v), mean = (value[v[0]] + value[v[1]] + value[v[2]]) / 3;
            for (int k = 0; k < 3; k++) sum[v[k]] += area * mean, weight[v[k]] += area;
        }
        for (int i = 0; i < f->nskin; i++)
            if (weight[i] > 0) value[i] = sum[i] / weight[i];
    }
}

// Shear stiffness of the neutral against the cheek's, by what flesh is made of at places of the mean head
// (FaMeanValue): 1 is fat and slack muscle on each other, the paper's 3,000 Pa. Fat is softer (E 1-3 kPa; slack muscle
// 6-30, fascia 30-100): cheek pouch, below the jaw. Skin on frontalis and galea, the chin's pad, what ligaments tie to
// the cheekbone and the masseter's fascia are firmer, cartilage (nose, ear) most; an ear's lobe has none. Estimates,
// kept well within the spread of the moduli.
static const FaMeanValue firm[] = {
    {0, 137, -22, 1.6f}, {0, 44, -109, 1.6f}, {79, 52, -24, 1.6f},  {0, 110, 57, 1.8f},
    {0, 90, 73, 1.8f}, // scalp, forehead
    {40, 90, 58, 1.8f},  {30, 70, 76, 1.8f},  {0, 47, 85, 1.8f},    {31, 52, 80, 1.7f},
    {58, 44, 57, 1.5f}, // brows
    {70, 40, 20, 1.3f},  {0, 34, 84, 2},      {0, 20, 92, 2.2f},    {0, 8, 101, 2.6f},
    {0, -7, 109, 3}, // temple, nose
    {12, -12, 95, 3},    {19, -11, 85, 2},    {0, -19, 96, 2.2f},   {0, -21, 93, 1.6f},
    {0, -28, 94, 1.1f},  {33, 9, 73, 0.9f},   {52, 10, 64, 1.2f},   {65, 5, 45, 1.2f},
    {73, 7, 17, 1.3f},   {48, -6, 70, 1}, // cheekbone, cheek
    {30, -22, 79, 1},    {40, -30, 76, 1},    {55, -25, 60, 0.95f}, {53, -48, 52, 0.9f},
    {68, -25, 18, 1.2f}, {62, -47, 8, 1.3f},  {20, -33, 84, 1},     {0, -36, 95, 0.9f},
    {0, -52, 93, 0.9f},  {20, -57, 82, 1}, // jaw, lips
    {0, -61, 87, 1.1f},  {0, -70, 88, 1.4f},  {0, -83, 82, 1.4f},   {16, -81, 80, 1.3f},
    {30, -77, 65, 1.1f}, // chin
    {43, -70, 51, 1.1f}, {0, -93, 43, 0.8f},  {48, -75, 10, 0.8f},  {58, -70, -20, 0.9f},
    {31, 28, 73, 1.4f},                                                                   // neck, lids
    {86, 28, -21, 3},    {91, 8, -37, 3},     {74, 6, -12, 2.5f},   {78, -26, -16, 1.4f}, // ear, lobe
};
// By the rig's own regions, over that: lips hang on a ring of slack muscle whose skin is under a seventh of the cheek's
// tension; the lining is mucosa on loose tissue; lids carry the tarsal plates.
static const struct {
    int region;
    double firm;
} firm_region[] = {
    {FA_REGION_MOUTH, 0.8}, {FA_REGION_LIP_UPPER, 0.8}, {FA_REGION_LIP_LOWER, 0.8}, {FA_REGION_EYELIDS, 1.4}};

// The neutral's mu by anatomy. Where eyes and mouth are not found, the same everywhere.
static void automatic_base(Build *b) {
    const FaFace *f = b->face;
    const FaMeanHead head = fai_mean_head_find(b->rig);
    double mm[3];
    for (int i = 0; i < f->nskin; i++) {
        if (!fai_mean_head_mm(&head, f->x0 + 3 * (size_t)i, mm)) return;
        double u = fai_mean_head_mix(firm, FA_COUNT(firm), mm);
        for (int r = 0; r < FA_COUNT(firm_region); r++)
            u += (double)f->region[firm_region[r].region][i] * (firm_region[r].firm - u);
        b->lost[i] = u;
    }
    smooth(f, b->lost, b->area, b->area + f->nskin);
    for (int i = 0; i < f->nskin; i++) b->base[i] = (float)(b->lost[i] * (double)FA_MU);
}

// mu of a shape by the area that the skin loses in it: that share of the way from the neutral's to the most, so that
// what is firm already stiffens least.
static void automatic(Build *b, int shape) {
    const FaFace *f = b->face;
    const FaShape *s = &b->rig->shape[shape];
    const size_t n = (size_t)f->nskin;
    memcpy(b->field, b->base, 2 * n * sizeof(float));
    memcpy(b->moved, f->x0, 3 * n * sizeof(float));
    for (int e = s->first; e < s->first + s->count; e++) {
        int i = f->node_of_vertex[b->rig->row[e]];
        if (i < 0 || f->skin_vertex[i] != b->rig->row[e]) continue;
        for (int k = 0; k < 3; k++) b->moved[3 * (size_t)i + (size_t)k] += b->rig->delta[3 * (size_t)e + (size_t)k];
    }
    memset(b->lost, 0, n * sizeof *b->lost);
    memset(b->area, 0, n * sizeof *b->area);
    for (int t = 0; t < f->ntri; t++) {
        const int *v = f->tri + 3 * (size_t)t;
        double was = area_of(f->x0, v), is = area_of(b->moved, v);
        for (int k = 0; k < 3; k++) b->lost[v[k]] += was - is, b->area[v[k]] += was;
    }
    for (size_t i = 0; i < n; i++)
        b->lost[i] = b->area[i] > 0 ? fmin(fmax(b->lost[i] / b->area[i] / LOST_AREA, 0), 1) : 0;
    smooth(f, b->lost, b->area, b->area + n);
    for (size_t i = 0; i < n; i++)
        b->field[i] =
            fmaxf(b->base[i], (float)((double)b->base[i] + b->lost[i] * ((double)FA_MU_MOST - (double)b->base[i])));
}

// --- painted --------------------------------------------------------------------------------------------------------

static FaCode check_keys(const FaJson *object, int n, const char *const *key, const char *remedy, FaError *err) {
    if (object->type != FA_JSON_OBJECT)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(object).text, remedy, "expected an object");
    for (const FaJson *c = object->first; c; c = c->next) {
        int k = 0;
        while (k < n && strcmp(key[k], c->key)) k++;
        if (k == n) return FA_FAIL(err, FA_E_FORMAT, fai_json_path(c).text, remedy, "unknown key \"%.60s\"", c->key);
    }
    return FA_OK;
}

// {"texture": "stiff.png", "scale": "grey", "from": 3000, "to": 20000} into b->vertex.
static FaCode paint_texture(Build *b, const FaJson *v, const char *name, double least, FaError *err) {
    static const char *const keys[] = {"texture", "scale", "from", "to"};
    const bool mu = !strcmp(name, "mu");
    const char *file, *scale;
    double from, to;
    int which = 0;
    FA_TRY(check_keys(v, 4, keys, "a texture has texture, scale, from and to", err));
    FA_TRY(fai_json_str_or(v, "texture", "", &file, err));
    FA_TRY(fai_json_str_or(v, "scale", "grey", &scale, err));
    FA_TRY(fai_json_num_or(v, "from", (double)(mu ? FA_MU : FA_LAMBDA), &from, err));
    FA_TRY(fai_json_num_or(v, "to", (double)(mu ? FA_MU_MOST : FA_LAMBDA_MOST), &to, err));
    while (which < 5 && strcmp(fai_texture_scale_name[which], scale)) which++;
    if (which == 5)
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "use grey, red, green, blue or hue",
                       "there is no scale \"%.40s\"", scale);
    if (!(from >= least && from <= 1e6 && to >= least && to <= 1e6))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "write from and to in Pa, 100 to 1000000",
                       "these are no stiffnesses");
    if (!b->dir || !file[0])
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "name a .png beside the file of materials",
                       "textures are read beside a file only");
    char *path = file[0] == '/' ? fai_strdup(file) : fai_path_join(b->dir, file);
    if (!path) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_texture_sample(path, b->rig, (FaTextureScale)which, b->vertex, err);
    fa_free(path);
    for (int i = 0; rc >= 0 && i < b->rig->mesh.nvert; i++)
        b->vertex[i] = (float)(from + (double)b->vertex[i] * (to - from));
    return rc;
}

// mu or lambda of `object` over `out` (nskin).
static FaCode paint(Build *b, const FaJson *object, const char *name, double least, float *out, FaError *err) {
    const FaJson *v = fai_json_get(object, name);
    if (!v) return FA_OK;
    for (int i = 0; i < b->rig->mesh.nvert; i++) b->vertex[i] = NAN;
    if (fai_json_get(v, "texture"))
        FA_TRY(paint_texture(b, v, name, least, err));
    else
        FA_TRY(fai_paint_field(v, b->rig, "Pa", "flesh has 3000 to 20000 Pa; 100 to 1000000 is allowed", least, 1e6,
                               b->vertex, err));
    for (int i = 0; i < b->face->nskin; i++) {
        float painted = b->vertex[b->face->skin_vertex[i]];
        if (isfinite(painted)) out[i] = painted;
    }
    return FA_OK;
}

static FaCode paint_region(Build *b, const FaJson *object, const char *name, double least, int region, float *out,
                           FaError *err) {
    const FaJson *v = fai_json_get(object, name);
    if (!v) return FA_OK;
    if (!fai_json_is(v, FA_JSON_NUMBER) || !(v->number >= least && v->number <= 1e6))
        return FA_FAIL(err, FA_E_FORMAT, fai_json_path(v).text, "write one number in Pa, 100 to 1000000",
                       "a region's %s is no such number", name);
    for (int i = 0; i < b->face->nskin; i++) {
        double share = (double)b->face->region[region][i];
        out[i] = (float)((double)out[i] + share * (v->number - (double)out[i]));
    }
    return FA_OK;
}

// mu and lambda as an object has them, over what is in out (2 x nskin).
static FaCode paint_both(Build *b, const FaJson *object, float *out, FaError *err) {
    static const char *const keys[] = {"mu", "lambda", "regions"};
    const size_t n = (size_t)b->face->nskin;
    if (!object) return FA_OK;
    FA_TRY(check_keys(object, 3, keys, "a material has mu, lambda and regions", err));
    FA_TRY(paint(b, object, "mu", 100, out, err));
    FA_TRY(paint(b, object, "lambda", 0, out + n, err));
    const FaJson *regions = fai_json_get(object, "regions");
    if (!regions) return FA_OK;
    FA_TRY(check_keys(regions, FA_REGIONS, fai_region_name,
                      "regions are lip_upper, lip_lower, mouth, eyelids, cheeks, free", err));
    for (int r = 0; r < FA_REGIONS; r++) {
        const FaJson *one = fai_json_get(regions, fai_region_name[r]);
        if (!one) continue;
        FA_TRY(check_keys(one, 2, keys, "write {\"mu\": 12000}", err));
        FA_TRY(paint_region(b, one, "mu", 100, r, out, err));
        FA_TRY(paint_region(b, one, "lambda", 0, r, out + n, err));
    }
    return FA_OK;
}

// Red and green over what is in out (2 x nskin).
static void paint_colors(const Build *b, const float *layer, float *out) {
    const size_t n = (size_t)b->face->nskin;
    for (size_t i = 0; layer && i < n; i++) {
        const float *c = layer + 2 * (size_t)b->face->skin_vertex[i];
        out[i] = FA_MU + c[0] * (FA_MU_MOST - FA_MU);
        out[n + i] = FA_LAMBDA + c[1] * (FA_LAMBDA_MOST - FA_LAMBDA);
    }
}

// Every name must be a shape of the rig: a typing mistake must not silently paint nothing.
static FaCode check_names(const Build *b, const FaJson *shapes, FaError *err) {
    for (const FaJson *c = shapes ? shapes->first : NULL; c; c = c->next) {
        int s = 0;
        while (s < b->rig->nshape && strcmp(b->rig->shape[s].name, c->key)) s++;
        if (s == b->rig->nshape)
            return FA_FAIL(err, FA_E_FORMAT, fai_json_path(c).text, "`fascia info` lists the shapes of a rig",
                           "the rig has no shape \"%.60s\"", c->key);
    }
    return FA_OK;
}

// --- all of it ------------------------------------------------------------------------------------------------------

// mu and lambda of the skin to nodes, then to the mean of each tet's.
static void to_flesh(Build *b, const float *skin, float *node) { diffuse_some(b->face, &b->heat, 2, skin, node); }

static double mean_of(const Build *b, const float *node, int t) {
    const int *v = b->face->tet + 4 * (size_t)t;
    return 0.25 * ((double)node[v[0]] + (double)node[v[1]] + (double)node[v[2]] + (double)node[v[3]]);
}

static FaCode push_shape(Build *b, FaColumnsMaker *maker, FaError *err) {
    const FaFace *f = b->face;
    to_flesh(b, b->field, b->node);
    for (int t = 0; t < f->ntet; t++)
        for (int k = 0; k < 2; k++) {
            const size_t at = (size_t)k * (size_t)f->nnode;
            b->delta[2 * (size_t)t + (size_t)k] =
                (float)(mean_of(b, b->node + at, t) - mean_of(b, b->base_node + at, t));
        }
    return fai_columns_push(maker, f->ntet, b->delta, LEAST, err);
}

static FaCode allocate(Build *b, FaError *err) {
    const FaFace *f = b->face;
    const size_t n = (size_t)f->nskin;
    if (!(b->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    b->vertex = FA_PUSH(b->arena, b->rig->mesh.nvert, float);
    b->base = FA_PUSH(b->arena, 2 * n, float);
    b->field = FA_PUSH(b->arena, 2 * n, float);
    b->moved = FA_PUSH(b->arena, 3 * n, float);
    b->node = FA_PUSH(b->arena, 2 * (size_t)f->nnode, float);
    b->base_node = FA_PUSH(b->arena, 2 * (size_t)f->nnode, float);
    b->delta = FA_PUSH(b->arena, 2 * (size_t)f->ntet, float);
    b->lost = FA_PUSH(b->arena, n, double);
    b->area = FA_PUSH(b->arena, 2 * n, double);
    if (!b->vertex || !b->base || !b->field || !b->moved || !b->node || !b->base_node || !b->delta || !b->lost ||
        !b->area)
        return FA_FAIL_MEMORY(err);
    return diffusion_new(f, &b->heat, err);
}

static FaCode fill(Build *b, const FaJson *root, FaColumnsMaker *maker, FaError *err) {
    FaFace *f = b->face;
    const size_t n = (size_t)f->nskin;
    const FaJson *shapes = root ? fai_json_get(root, "shapes") : NULL;
    const char *others = root || b->colors ? "base" : "auto";
    for (size_t i = 0; i < n; i++) b->base[i] = FA_MU, b->base[n + i] = FA_LAMBDA;
    const FaJson *base = root ? fai_json_get(root, "base") : NULL;
    const bool by_place = !root ? !b->colors : base && base->type == FA_JSON_STRING && !strcmp(base->string, "auto");
    if (by_place) automatic_base(b);
    if (b->colors) paint_colors(b, b->colors->whole, b->base);
    if (root) {
        static const char *const keys[] = {"version", "base", "shapes", "others", "colors"};
        int64_t version;
        FA_TRY(check_keys(root, 5, keys, "known are version, base, shapes, others, colors", err));
        FA_TRY(fai_json_int(root, "version", 1, 1, &version, err));
        FA_TRY(fai_json_str_or(root, "others", "base", &others, err));
        if (strcmp(others, "base") && strcmp(others, "auto"))
            return FA_FAIL(err, FA_E_FORMAT, "/others", "write \"base\" or \"auto\"", "\"%.40s\" is neither", others);
        if (shapes && shapes->type != FA_JSON_OBJECT)
            return FA_FAIL(err, FA_E_FORMAT, "/shapes", "write {\"jawOpen\": {\"mu\": 8000}}", "expected an object");
        FA_TRY(check_names(b, shapes, err));
        if (!by_place) FA_TRY(paint_both(b, base, b->base, err));
    }
    to_flesh(b, b->base, b->base_node);
    for (int s = 0; s < b->rig->nshape; s++) {
        const FaJson *painted = fai_json_get(shapes, b->rig->shape[s].name);
        const float *colored = b->colors ? b->colors->shape[s] : NULL;
        memcpy(b->field, b->base, 2 * n * sizeof(float));
        paint_colors(b, colored, b->field);
        if (painted)
            FA_TRY(paint_both(b, painted, b->field, err));
        else if (!colored && !strcmp(others, "auto"))
            automatic(b, s);
        FA_TRY(push_shape(b, maker, err));
    }
    return FA_OK;
}

static FaCode build(FaFace *face, const FaRig *rig, const FaJson *root, const FaVertexColors *colors, const char *dir,
                    FaError *err) {
    FA_TRY(fa_face_fits(face, rig, err));
    Build b = {.face = face, .rig = rig, .colors = colors, .dir = dir};
    FaColumnsMaker maker = {.width = 2};
    FaColumns columns = {0};
    FaCode rc = allocate(&b, err);
    if (rc >= 0) rc = fill(&b, root, &maker, err);
    if (rc >= 0) rc = fai_columns_finish(&maker, face->arena, &columns, err);
    if (rc >= 0) rc = fai_face_allocate(face, FA_NEED_MATERIALS, err);
    for (int t = 0; rc >= 0 && t < face->ntet; t++) {
        face->mu0[t] = (float)mean_of(&b, b.base_node, t);
        face->lambda0[t] = (float)mean_of(&b, b.base_node + face->nnode, t);
    }
    if (rc >= 0) face->materials = columns;
    fai_columns_drop(&maker);
    diffusion_free(&b.heat);
    fai_arena_free(b.arena);
    return rc;
}

static FaCode load_colors(const FaJson *root, const char *dir, const FaRig *rig, FaVertexColors *colors, FaError *err) {
    const char *name;
    FA_TRY(fai_json_str_or(root, "colors", "", &name, err));
    if (!name[0]) return FA_OK;
    if (!dir)
        return FA_FAIL(err, FA_E_FORMAT, "/colors", "keep the materials in a file",
                       "colours are read beside a file only");
    char *path = name[0] == '/' ? fai_strdup(name) : fai_path_join(dir, name);
    if (!path) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_vertex_colors_load(path, rig, colors, err);
    fa_free(path);
    return rc;
}

FaCode fai_materials_parse(FaFace *face, const FaRig *rig, const char *text, size_t size, const char *dir,
                           FaError *err) {
    FaJsonDoc *doc;
    FaVertexColors colors = {0};
    FA_TRY(fai_json_parse(text, size, &doc, NULL, err));
    FaCode rc = load_colors(doc->root, dir, rig, &colors, err);
    if (rc >= 0) rc = build(face, rig, doc->root, colors.arena ? &colors : NULL, dir, err);
    fai_vertex_colors_free(&colors);
    fai_json_free(doc);
    return rc;
}

FaCode fai_materials_build(FaFace *face, const FaRig *rig, const char *path, FaError *err) {
    if (!path) return build(face, rig, NULL, NULL, NULL, err);
    if (fai_vertex_colors_named(path)) {
        FaVertexColors colors;
        FaCode rc = fai_vertex_colors_load(path, rig, &colors, err);
        if (rc >= 0) rc = build(face, rig, NULL, &colors, NULL, err);
        fai_vertex_colors_free(&colors);
        return rc;
    }
    FaBytes bytes;
    FA_TRY(fai_file_read(path, FILE_MOST, &bytes, err));
    char *dir = fai_path_dir(path);
    FaCode rc =
        dir ? fai_materials_parse(face, rig, (const char *)bytes.data, bytes.size, dir, err) : FA_FAIL_MEMORY(err);
    fa_free(dir);
    fai_bytes_free(&bytes);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

FaCode fa_face_materials(FaFace *face, const FaRig *rig, const char *paint, FaError *err) {
    return fai_materials_build(face, rig, paint, err);
}

// --- a frame --------------------------------------------------------------------------------------------------------

static void widen(double range[2], double v) {
    range[0] = fmin(range[0], v);
    range[1] = fmax(range[1], v);
}

FaMaterialRange fai_materials_range(const FaFace *f) {
    FaMaterialRange r = {{(double)FA_MU, (double)FA_MU}, {(double)FA_LAMBDA, (double)FA_LAMBDA}};
    if (!f->mu0) return r;
    r = (FaMaterialRange){{INFINITY, -INFINITY}, {INFINITY, -INFINITY}};
    for (int t = 0; t < f->ntet; t++) widen(r.mu, (double)f->mu0[t]), widen(r.lambda, (double)f->lambda0[t]);
    const FaColumns *c = &f->materials;
    for (int e = 0; c->nshape && e < c->first[c->nshape]; e++) {
        widen(r.mu, (double)f->mu0[c->item[e]] + (double)c->value[2 * (size_t)e]);
        widen(r.lambda, (double)f->lambda0[c->item[e]] + (double)c->value[2 * (size_t)e + 1]);
    }
    r.mu[0] = fmax(r.mu[0], 1); // hostile files
    r.lambda[0] = fmax(r.lambda[0], 0);
    return r;
}

void fai_materials_at(const FaFace *f, const FaMaterialRange *range, const float *weights, double *mu, double *lambda,
                      double *work) {
    for (int t = 0; t < f->ntet; t++) {
        work[2 * (size_t)t] = f->mu0 ? (double)f->mu0[t] : (double)FA_MU;
        work[2 * (size_t)t + 1] = f->lambda0 ? (double)f->lambda0[t] : (double)FA_LAMBDA;
    }
    if (f->mu0) fai_columns_add(&f->materials, weights, work);
    for (int t = 0; t < f->ntet; t++) {
        mu[t] = fmin(fmax(work[2 * (size_t)t], range->mu[0]), range->mu[1]);
        lambda[t] = fmin(fmax(work[2 * (size_t)t + 1], range->lambda[0]), range->lambda[1]);
    }
}

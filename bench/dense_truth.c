// Ground truth and its measure; see the header. Truths are kept whole: the largest in use (26,719 vertices, 300 frames)
// is 96 MB.
#include "bench/dense_truth.h"

#include "fascia/projective.h"
#include "math/nnls.h"
#include "rig/transfer.h"

#include <math.h>

const char *const fai_dense_part_name[FA_DENSE_PARTS] = {"all", "lips", "lids", "cheeks", "jaw", "inside", "rest"};

// --- truths -------------------------------------------------------------------------------------------------------

typedef struct Truth {
    FaTruth pub;
    bool owns_rig;
} Truth;

void fai_truth_free(FaTruth *truth) {
    if (!truth) return;
    Truth *t = (Truth *)truth;
    if (t->owns_rig) fa_rig_free(t->pub.rig);
    fa_face_free(t->pub.face);
    fa_free(t->pub.x);
    fa_free(t);
}

static float *frame_of(const FaTruth *t, int frame) { return t->x + (size_t)frame * 3 * (size_t)t->nvert; }

static FaCode make_room(FaTruth *t, FaError *err) {
    t->nvert = t->rig->mesh.nvert;
    t->x = FA_NEW((size_t)t->nframe * 3 * (size_t)t->nvert, float);
    return t->x ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode fill_head(FaTruth *t, const FaHeadParams *params, const FaClip *clip, FaStretch s, FaError *err) {
    FaHead *head;
    FaHeadParams p = *params;
    p.shapes = true;
    FA_TRY(fa_head_new(&p, &head, err));
    FaCode rc = fa_head_rig(head, 0, &t->rig, err);
    if (rc >= 0) rc = make_room(t, err);
    for (int f = 0; f < t->nframe && rc >= 0; f++) {
        const float *w = clip->weight + (size_t)(s.first + f * s.step) * (size_t)clip->nchan;
        rc = fa_head_truth(head, 0, w, frame_of(t, f), err);
    }
    fa_head_free(head);
    return rc;
}

FaCode fai_truth_of_clip(const FaHeadParams *params, const FaClip *clip, const char *name, FaStretch s, FaTruth **truth,
                         FaError *err) {
    *truth = NULL;
    FA_ASSERT(clip->nchan == FA_ARKIT_COUNT);
    s.step = FA_MAX(s.step, 1);
    s.first = FA_MIN(FA_MAX(s.first, 0), clip->nframe - 1);
    int most = (clip->nframe - s.first + s.step - 1) / s.step;
    Truth *t = FA_NEW(1, Truth);
    if (!t) return FA_FAIL_MEMORY(err);
    snprintf(t->pub.name, sizeof t->pub.name, "%s", name);
    t->owns_rig = true;
    t->pub.nframe = s.count > 0 ? FA_MIN(s.count, most) : most;
    t->pub.fps = clip->fps / s.step;
    FaCode rc = fill_head(&t->pub, params, clip, s, err);
    if (rc >= 0) rc = fa_face_get(t->pub.rig, FA_NEED_FACE, NULL, &t->pub.face, err);
    if (rc < 0)
        fai_truth_free((FaTruth *)t);
    else
        *truth = &t->pub;
    return rc;
}

FaCode fai_truth_of_head(const FaHeadParams *params, const char *clip_name, FaStretch s, FaTruth **truth,
                         FaError *err) {
    FaClip *clip;
    *truth = NULL;
    FA_TRY(fa_head_clip(clip_name, &clip, err));
    FaCode rc = fai_truth_of_clip(params, clip, clip_name, s, truth, err);
    fa_clip_free(clip);
    return rc;
}

// None of these is a default of the method, nor a constant of the control.
static FaCode truth_params(FaParams **params, FaError *err) {
    static const char *const set[][2] = {{"shear", "1800"},   {"bulk", "45000"},    {"goal", "11"},
                                         {"bone", "25"},      {"drag", "12"},       {"follow", "off"},
                                         {"gravity", "1"},    {"contact", "mouth"}, {"iterations", "20"},
                                         {"friction", "0.5"}, {"sticky", "on"}};
    FA_TRY(fa_params_new("projective", params, err));
    FaCode rc = FA_OK;
    for (int i = 0; i < FA_COUNT(set) && rc >= 0; i++) rc = fa_params_set(*params, set[i][0], set[i][1], err);
    if (rc < 0) fa_params_free(*params);
    return rc;
}

static FaCode fill_physics(FaTruth *t, const FaClip *clip, FaError *err) {
    FaParams *params;
    FaMethod *method = NULL;
    FaRun *run = NULL;
    FA_TRY(make_room(t, err));
    FA_TRY(fa_face_get(t->rig, FA_NEED_FACE, NULL, &t->face, err));
    FA_TRY(truth_params(&params, err));
    FaCode rc =
        fa_method_open("projective", &(FaMethodSetup){.rig = t->rig, .face = t->face, .params = params}, &method, err);
    if (rc >= 0) rc = fa_run_new(method, clip, &run, err);
    for (int f = 0; f < t->nframe && rc >= 0; f++) rc = fa_sequence_read(fa_run_sequence(run), f, frame_of(t, f), err);
    fa_run_free(run);
    fa_method_close(method);
    fa_params_free(params);
    return rc;
}

FaCode fai_truth_of_physics(const FaRig *rig, const FaClip *clip, FaTruth **truth, FaError *err) {
    *truth = NULL;
    Truth *t = FA_NEW(1, Truth);
    if (!t) return FA_FAIL_MEMORY(err);
    snprintf(t->pub.name, sizeof t->pub.name, "physics");
    t->pub.rig = (FaRig *)rig;
    t->pub.nframe = clip->nframe;
    t->pub.fps = clip->fps;
    FaCode rc = fill_physics(&t->pub, clip, err);
    if (rc < 0)
        fai_truth_free((FaTruth *)t);
    else
        *truth = &t->pub;
    return rc;
}

// --- outside of the shapes' span ------------------------------------------------------------------------------------

// d (nvert x 3) += scale * shape.
static void add_shape(const FaRig *rig, int s, double scale, double *d) {
    const FaShape *shape = &rig->shape[s];
    for (int e = shape->first; e < shape->first + shape->count; e++)
        for (int k = 0; k < 3; k++)
            d[3 * (size_t)rig->row[e] + (size_t)k] += scale * (double)rig->delta[3 * (size_t)e + (size_t)k];
}

static double dot_shape(const FaRig *rig, int s, const double *d) {
    const FaShape *shape = &rig->shape[s];
    double sum = 0;
    for (int e = shape->first; e < shape->first + shape->count; e++)
        for (int k = 0; k < 3; k++)
            sum += d[3 * (size_t)rig->row[e] + (size_t)k] * (double)rig->delta[3 * (size_t)e + (size_t)k];
    return sum;
}

typedef struct Span { // least squares over all vertices
    double *d, *g, *f, *w, *lo, *hi;
    FaNnls *nnls;
} Span;

static void span_gram(const FaRig *rig, Span *s) {
    size_t n = (size_t)rig->nshape, m = 3 * (size_t)rig->mesh.nvert;
    for (size_t i = 0; i < n; i++) {
        memset(s->d, 0, m * sizeof *s->d);
        add_shape(rig, (int)i, 1, s->d);
        for (size_t j = 0; j < n; j++) s->g[i * n + j] = dot_shape(rig, (int)j, s->d);
        s->lo[i] = -INFINITY;
        s->hi[i] = INFINITY;
    }
}

static double span_share(const FaTruth *t, const FaRig *rig, Span *s) {
    size_t m = 3 * (size_t)t->nvert;
    double all = 0, left = 0;
    span_gram(rig, s);
    for (int frame = 0; frame < t->nframe; frame++) {
        const float *x = frame_of(t, frame);
        for (size_t i = 0; i < m; i++) {
            s->d[i] = (double)x[i] - (double)rig->mesh.x[i];
            all += s->d[i] * s->d[i];
        }
        for (int j = 0; j < rig->nshape; j++) s->f[j] = dot_shape(rig, j, s->d);
        FaNnlsProblem q = {.n = rig->nshape, .g = s->g, .f = s->f, .lo = s->lo, .hi = s->hi};
        fai_nnls_solve(s->nnls, &q, s->w);
        for (int j = 0; j < rig->nshape; j++) add_shape(rig, j, -s->w[j], s->d);
        for (size_t i = 0; i < m; i++) left += s->d[i] * s->d[i];
    }
    return sqrt(left / fmax(all, 1e-30));
}

FaCode fai_truth_outside(const FaTruth *t, const FaRig *rig, double *share, FaError *err) {
    size_t n = (size_t)rig->nshape;
    Span s = {0};
    FaArena *arena = fai_arena_new(0);
    *share = NAN;
    if (!arena) return FA_FAIL_MEMORY(err);
    s.d = FA_PUSH(arena, 3 * (size_t)t->nvert, double);
    s.g = FA_PUSH(arena, n * n, double);
    s.f = FA_PUSH(arena, n, double);
    s.w = FA_PUSH(arena, n, double);
    s.lo = FA_PUSH(arena, n, double);
    s.hi = FA_PUSH(arena, n, double);
    FaCode rc = s.d && s.g && s.f && s.w && s.lo && s.hi ? fai_nnls_new((int)n, &s.nnls, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) *share = span_share(t, rig, &s);
    fai_nnls_free(s.nnls);
    fai_arena_free(arena);
    return rc;
}

// --- markers ------------------------------------------------------------------------------------------------------

static FaCode read_truth(void *user, int frame, float *x, FaError *err) {
    (void)err;
    const FaTruth *t = user;
    memcpy(x, frame_of(t, frame), 3 * (size_t)t->nvert * sizeof *x);
    return FA_OK;
}

FaCode fai_truth_markers(const FaTruth *truth, const FaMarkerMap *map, double noise, uint64_t seed, FaMarkerTake **take,
                         FaError *err) {
    FaSequence *seq;
    FA_TRY(fa_sequence_custom(truth->nvert, truth->nframe, truth->fps, read_truth, (void *)truth, &seq, err));
    FaCode rc = fa_markers_sample(seq, map, truth->fps, take, err);
    fa_sequence_close(seq);
    if (rc < 0 || noise <= 0) return rc;
    size_t n = (size_t)(*take)->nframe * (size_t)(*take)->nmarker * 3;
    for (size_t i = 0; i < n; i++) (*take)->x[i] += (float)(noise * fai_random_normal(seed, i));
    return FA_OK;
}

// --- other shapes -------------------------------------------------------------------------------------------------

static int same_shape(const FaRig *own, const FaShape *shape) {
    for (int s = 0; s < own->nshape; s++) {
        const FaShape *o = &own->shape[s];
        if (!strcmp(o->name, shape->name) || (o->arkit >= 0 && o->arkit == shape->arkit && o->half == shape->half))
            return s;
    }
    return -1;
}

double fai_shapes_difference(const FaRig *rig, const FaRig *own) {
    size_t n = 3 * (size_t)own->mesh.nvert;
    double *d = FA_NEW(n, double), different = 0, all = 0;
    if (!d) return NAN;
    for (int s = 0; s < rig->nshape; s++) {
        int o = same_shape(own, &rig->shape[s]);
        if (o < 0) continue;
        memset(d, 0, n * sizeof *d);
        add_shape(own, o, 1, d);
        for (size_t i = 0; i < n; i++) all += d[i] * d[i];
        add_shape(rig, s, -1, d);
        for (size_t i = 0; i < n; i++) different += d[i] * d[i];
    }
    fa_free(d);
    return sqrt(different / fmax(all, 1e-30));
}

FaCode fai_truth_transferred(const FaTruth *truth, uint64_t seed, int level, FaRig **rig, double *error, FaError *err) {
    FaHeadParams p = fa_head_params_default();
    FaHead *head;
    FaRig *source = NULL;
    *rig = NULL;
    p.level = level < 0 ? 0 : level;
    while (level < 0 && p.level < 2 && 3 * truth->nvert > 2 * (2500 << (2 * p.level + 1))) p.level++;
    fa_head_params_seed(&p, seed);
    FA_TRY(fa_head_new(&p, &head, err));
    FaCode rc = fa_head_rig(head, 0, &source, err);
    FaTransferOptions o = {.force_closest = level >= 0};
    if (rc >= 0) rc = fai_transfer(source, &truth->rig->mesh, &o, rig, NULL, err);
    if (rc >= 0 && error) *error = fai_shapes_difference(*rig, truth->rig);
    fa_rig_free(source);
    fa_head_free(head);
    return rc;
}

// --- error --------------------------------------------------------------------------------------------------------

enum { BINS = 20000 };
static const double BIN = 0.002;  // mm
static const double MOVED = 1e-4; // m

struct FaDense {
    const FaTruth *truth;
    unsigned char *part; // FaDensePart of each vertex; 0: not judged; 255: carries a marker        (nvert)
    int nvert[FA_DENSE_PARTS];
    int *bin[FA_DENSE_PARTS]; // (BINS)
    double sum[FA_DENSE_PARTS], marked;
    long count[FA_DENSE_PARTS], marks;
    float *last[2]; // errors of the two frames before, m                                      (nvert x 3)
    double second;  // sum of squared second differences, m2
    long seconds;
    FaArena *arena;
};

// Which shapes move a vertex: the largest displacement, m.
static void largest_motion(const FaRig *rig, double *most) {
    for (int e = 0; e < rig->nentry; e++) {
        const float *d = rig->delta + 3 * (size_t)e;
        double s = sqrt((double)d[0] * (double)d[0] + (double)d[1] * (double)d[1] + (double)d[2] * (double)d[2]);
        most[rig->row[e]] = fmax(most[rig->row[e]], s);
    }
}

static FaDensePart part_of(const FaFace *f, int node) {
    float lips = fmaxf(f->region[FA_REGION_LIP_UPPER][node], f->region[FA_REGION_LIP_LOWER][node]);
    if (lips > 0.5f) return FA_DENSE_LIPS;
    if (f->region[FA_REGION_MOUTH][node] > 0.5f) return FA_DENSE_INSIDE;
    if (f->region[FA_REGION_EYELIDS][node] > 0.5f) return FA_DENSE_LIDS;
    if (f->to_jaw[node] > 0.5f) return FA_DENSE_JAW;
    if (f->region[FA_REGION_CHEEKS][node] > 0.5f) return FA_DENSE_CHEEKS;
    return FA_DENSE_REST;
}

static FaCode find_parts(FaDense *d, const FaMarkerMap *map, FaError *err) {
    const FaTruth *t = d->truth;
    double *most = FA_PUSH(d->arena, t->nvert, double);
    if (!most) return FA_FAIL_MEMORY(err);
    largest_motion(t->rig, most);
    for (int v = 0; v < t->nvert; v++) {
        int node = t->face->node_of_vertex[v];
        if (node >= 0 && most[v] >= MOVED) d->part[v] = (unsigned char)part_of(t->face, node);
    }
    for (int m = 0; m < map->count; m++)
        for (int k = 0; k < 3; k++)
            if (map->point[m].vert[0] >= 0 && map->point[m].bary[k] > 0.5f) d->part[map->point[m].vert[k]] = 255;
    for (int v = 0; v < t->nvert; v++)
        if (d->part[v] && d->part[v] != 255) d->nvert[d->part[v]]++, d->nvert[FA_DENSE_ALL]++;
    return FA_OK;
}

FaCode fai_dense_new(const FaTruth *truth, const FaMarkerMap *map, FaDense **dense, FaError *err) {
    FaDense *d = *dense = FA_NEW(1, FaDense);
    if (!d) return FA_FAIL_MEMORY(err);
    d->truth = truth;
    d->arena = fai_arena_new(0);
    bool ok = d->arena != NULL;
    if (ok) ok = (d->part = FA_PUSH(d->arena, truth->nvert, unsigned char)) != NULL;
    for (int i = 0; i < 2 && ok; i++) ok = (d->last[i] = FA_PUSH(d->arena, 3 * (size_t)truth->nvert, float)) != NULL;
    for (int i = 0; i < FA_DENSE_PARTS && ok; i++) ok = (d->bin[i] = FA_PUSH(d->arena, BINS, int)) != NULL;
    FaCode rc = ok ? find_parts(d, map, err) : FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fai_dense_free(d);
        *dense = NULL;
    }
    return rc;
}

void fai_dense_free(FaDense *d) {
    if (!d) return;
    fai_arena_free(d->arena);
    fa_free(d);
}

void fai_dense_reset(FaDense *d) {
    for (int i = 0; i < FA_DENSE_PARTS; i++) {
        memset(d->bin[i], 0, BINS * sizeof(int));
        d->sum[i] = 0;
        d->count[i] = 0;
    }
    d->marked = d->second = 0;
    d->marks = d->seconds = 0;
}

static void count_error(FaDense *d, int part, double mm) {
    int bin = mm < BIN * (BINS - 1) ? (int)(mm / BIN) : BINS - 1;
    d->sum[part] += mm;
    d->count[part]++;
    d->bin[part][bin]++;
}

void fai_dense_frame(FaDense *d, int frame, const float *x) {
    const float *want = frame_of(d->truth, frame);
    for (int v = 0; v < d->truth->nvert; v++) {
        if (!d->part[v]) continue;
        double s = 0, jump = 0;
        for (size_t k = 3 * (size_t)v; k < 3 * (size_t)v + 3; k++) {
            float e = x[k] - want[k];
            double j = (double)e - 2 * (double)d->last[0][k] + (double)d->last[1][k];
            s += (double)e * (double)e;
            jump += j * j;
            d->last[1][k] = d->last[0][k];
            d->last[0][k] = e;
        }
        double mm = 1e3 * sqrt(s);
        if (d->part[v] == 255) {
            d->marked += mm;
            d->marks++;
            continue;
        }
        count_error(d, FA_DENSE_ALL, mm);
        count_error(d, d->part[v], mm);
        if (frame >= 2) {
            d->second += jump;
            d->seconds++;
        }
    }
}

FaDenseFigures fai_dense_figures(const FaDense *d) {
    FaDenseFigures f = {0};
    for (int i = 0; i < FA_DENSE_PARTS; i++) {
        long seen = 0, want = (long)ceil(0.95 * (double)d->count[i]);
        int b = 0;
        f.nvert[i] = d->nvert[i];
        f.mean[i] = d->count[i] ? d->sum[i] / (double)d->count[i] : NAN;
        while (b < BINS && (seen += d->bin[i][b]) < want) b++;
        f.p95[i] = d->count[i] ? BIN * (b + 0.5) : NAN;
    }
    f.marked = d->marks ? d->marked / (double)d->marks : NAN;
    f.jitter = d->seconds ? 1e3 * sqrt(d->second / (double)d->seconds) : NAN;
    return f;
}

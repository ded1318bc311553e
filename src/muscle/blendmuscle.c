#include "muscle/blendmuscle.h"

#include "math/mat3.h"
#include "muscle/muscle_file.h"

#include <math.h>

enum { VERSION = 1, HEADER = 48, JAW_LEVELS = 4, NO_MEMORY = -2 };
static const char SIGNATURE[8] = {'F', 'A', 'M', 'S', 'H', '\r', '\n', 0x1a};
static const double LEAST = 1e-6;              // m: a snap not worth a vertex
static const double STILL = 2e-5;              // m: rms of a shape that moves nothing of the face's skin
static const double TURNS = 0.035;             // rad: a jaw that turns farther bends tracks
static const double LOWEST = -0.5, MOST = 1.5; // weights that muscles are asked for

// --- making -------------------------------------------------------------------------------------------------------

static void drop(FaBlendMuscle *s) {
    fa_free(s->activation);
    fa_free(s->track);
    fa_free(s->vertex);
    fa_free(s->snap);
    *s = (FaBlendMuscle){0};
}

FaCode fai_blend_muscles_new(FaMuscleDirector *d, FaBlendMuscles *out, FaError *err) {
    const FaRig *rig = d->model->rig;
    unsigned char *data;
    size_t size;
    *out = (FaBlendMuscles){
        .nshape = rig->nshape, .nmuscle = d->tracks.nmuscle, .npoint = d->tracks.npoint, .nvert = rig->mesh.nvert};
    FA_TRY(fai_muscle_pack(d->model, &data, &size, err)); // flesh, muscles, and a key of face and shapes
    const int version = VERSION;
    out->key = fai_hash64(data, size, fai_hash64(&version, sizeof version, 0));
    fa_free(data);
    out->shape = FA_NEW((size_t)out->nshape + 1, FaBlendMuscle);
    return out->shape ? FA_OK : FA_FAIL_MEMORY(err);
}

void fai_blend_muscles_free(FaBlendMuscles *b) {
    for (int i = 0; i < b->nshape && b->shape; i++) drop(&b->shape[i]);
    fa_free(b->shape);
    *b = (FaBlendMuscles){0};
}

int fai_blend_muscles_done(const FaBlendMuscles *b) {
    int n = 0;
    for (int i = 0; i < b->nshape; i++) n += b->shape[i].done;
    return n;
}

// All of its arrays.
static FaCode allocate(const FaBlendMuscles *b, FaBlendMuscle *s, int nlevel, int nsnap, FaError *err) {
    const size_t numbers = 3 * (size_t)b->npoint * (size_t)nlevel;
    s->nlevel = nlevel, s->nsnap = nsnap;
    s->activation = FA_NEW((size_t)b->nmuscle + 1, double);
    s->track = FA_NEW(numbers + 1, float);
    s->vertex = FA_NEW((size_t)nsnap + 1, int);
    s->snap = FA_NEW(3 * (size_t)nsnap + 1, float);
    return s->activation && s->track && s->vertex && s->snap ? FA_OK : FA_FAIL_MEMORY(err);
}

static bool is_far(const float *d) {
    return fabsf(d[0]) > (float)LEAST || fabsf(d[1]) > (float)LEAST || fabsf(d[2]) > (float)LEAST;
}

// What is kept of a directed pose; NULL: nothing but the snap (nvert x 3).
static FaCode store(const FaBlendMuscles *b, const FaJaw *jaw, const FaDirected *p, const float *snap, FaBlendMuscle *s,
                    FaError *err) {
    int nsnap = 0, at = 0;
    for (int v = 0; v < b->nvert; v++) nsnap += is_far(snap + 3 * (size_t)v);
    FaCode rc = allocate(b, s, p ? p->nlevel : 0, nsnap, err);
    if (rc < 0) {
        drop(s);
        return rc;
    }
    for (int v = 0; v < b->nvert; v++) {
        if (!is_far(snap + 3 * (size_t)v)) continue;
        s->vertex[at] = v;
        memcpy(s->snap + 3 * (size_t)at++, snap + 3 * (size_t)v, 3 * sizeof *snap);
    }
    s->done = true;
    if (!p) return FA_OK;
    double hinge[3];
    fai_q_log(p->jaw.q, s->turn);
    fai_pose_apply(&p->jaw, jaw->hinge, hinge);
    fai_v3_sub(hinge, jaw->hinge, s->slide);
    memcpy(s->activation, p->activation, (size_t)b->nmuscle * sizeof *s->activation);
    for (size_t i = 0; i < 3 * (size_t)b->npoint * (size_t)p->nlevel; i++) s->track[i] = (float)p->track[i];
    return FA_OK;
}

// The shape itself is its snap.
static FaCode store_plain(const FaBlendMuscles *b, const FaRig *rig, int shape, FaBlendMuscle *s, FaError *err) {
    float *d = FA_NEW(3 * (size_t)b->nvert + 1, float);
    if (!d) return FA_FAIL_MEMORY(err);
    const FaShape *of = &rig->shape[shape];
    for (int64_t i = of->first; i < of->first + of->count; i++)
        memcpy(d + 3 * (size_t)rig->row[i], rig->delta + 3 * i, 3 * sizeof *d);
    FaCode rc = store(b, NULL, NULL, d, s, err);
    fa_free(d);
    return rc;
}

int fai_blend_muscle_base(const FaMuscleModel *m, int shape) {
    const FaShape *s = &m->rig->shape[shape];
    const int open = m->face->jaw.found ? m->face->jaw.shape[0] : -1;
    return s->arkit >= 0 && !strcmp(fa_arkit_name(s->arkit), "mouthClose") && open < m->rig->nshape && open != shape
               ? open
               : -1;
}

// Of a shape that was targeted on top of another: what it adds to that.
static void less_base(const FaBlendMuscles *b, const FaBlendMuscle *base, FaBlendMuscle *s) {
    for (int k = 0; k < b->nmuscle; k++) s->activation[k] -= base->activation[k];
    for (size_t i = 0; i < 3 * (size_t)b->npoint * (size_t)s->nlevel; i++) s->track[i] -= base->track[i];
    fai_v3_sub(s->turn, base->turn, s->turn);
    fai_v3_sub(s->slide, base->slide, s->slide);
}

// base: what it goes on top of; NULL: nothing.
static FaCode target(FaMuscleDirector *d, const float *goal, const float *weights, const FaBlendMuscle *base,
                     FaBlendMuscles *b, FaBlendMuscle *s, FaError *err) {
    FaMuscleModel *m = d->model;
    const FaJaw *jaw = &m->face->jaw;
    const FaPose turned = fai_jaw_pose(jaw, weights);
    double turn[3];
    FaDirected *p;
    FaMuscleHit hit;
    fai_q_log(turned.q, turn);
    FA_TRY(fai_directed_new(d, base ? base->nlevel : fai_v3_norm(turn) > TURNS ? JAW_LEVELS : 1, &p, err));
    p->jaw = turned;
    FaCode rc = fai_muscle_target(d, NULL, goal, p, m->x, &hit, err);
    for (int i = 0; rc >= 0 && base && i < 3 * base->nsnap; i++)
        p->snap[3 * base->vertex[i / 3] + i % 3] -= base->snap[i];
    if (rc >= 0 && hit.played < hit.neutral) rc = store(b, jaw, p, p->snap, s, err);
    if (rc >= 0 && s->done && base) less_base(b, base, s);
    if (rc >= 0) s->neutral = hit.neutral, s->rms = hit.played;
    fa_directed_free(p);
    return rc;
}

FaCode fai_blend_muscle_make(FaMuscleDirector *d, int shape, FaBlendMuscles *b, FaError *err) {
    const FaRig *rig = d->model->rig;
    FaBlendMuscle *s = &b->shape[shape];
    float *goal = FA_NEW(3 * (size_t)b->nvert + 1, float), *weights = FA_NEW((size_t)b->nshape + 1, float);
    FaCode rc = goal && weights ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        FaError failed = {0};
        const int on = fai_blend_muscle_base(d->model, shape);
        const FaBlendMuscle *base = on >= 0 && b->shape[on].nlevel ? &b->shape[on] : NULL;
        weights[shape] = 1;
        if (base) weights[on] = 1;
        fa_rig_blend(rig, weights, goal);
        double still = fai_muscle_snap(d, goal, d->model->rest);
        if (still > STILL) rc = target(d, goal, weights, base, b, s, &failed);
        if (rc < 0 && rc != FA_E_NUMERIC && err) *err = failed;
        if (rc == FA_E_NUMERIC) rc = FA_OK;
        if (rc >= 0 && !s->done) {
            drop(s);
            rc = store_plain(b, rig, shape, s, err);
            s->neutral = s->rms = still;
        }
    }
    fa_free(goal);
    fa_free(weights);
    return rc;
}

// --- bytes --------------------------------------------------------------------------------------------------------

static void pack_one(const FaBlendMuscles *b, int i, FaText *out) {
    const FaBlendMuscle *s = &b->shape[i];
    const int head[4] = {i, s->nlevel, s->nsnap, 0};
    const double value[8] = {s->neutral, s->rms,      s->turn[0],  s->turn[1],
                             s->turn[2], s->slide[0], s->slide[1], s->slide[2]};
    fai_text_bytes(out, head, sizeof head);
    fai_text_bytes(out, value, sizeof value);
    fai_text_bytes(out, s->activation, (size_t)b->nmuscle * sizeof *s->activation);
    fai_text_bytes(out, s->track, 3 * (size_t)b->npoint * (size_t)s->nlevel * sizeof *s->track);
    fai_text_bytes(out, s->vertex, (size_t)s->nsnap * sizeof *s->vertex);
    fai_text_bytes(out, s->snap, 3 * (size_t)s->nsnap * sizeof *s->snap);
}

void fai_blend_muscles_pack(const FaBlendMuscles *b, FaText *out) {
    const size_t from = out->size;
    uint64_t head[4] = {0};
    const int counts[4] = {b->nshape, b->nmuscle, b->npoint, b->nvert};
    memcpy(head, SIGNATURE, 8);
    head[1] = b->key;
    fai_text_bytes(out, head, sizeof head);
    fai_text_bytes(out, counts, sizeof counts);
    for (int i = 0; i < b->nshape; i++)
        if (b->shape[i].done) pack_one(b, i, out);
    if (out->failed) return;
    head[2] = out->size - from;
    head[3] = fai_hash64(out->data + from + sizeof head, out->size - from - sizeof head, b->key);
    memcpy(out->data + from, head, sizeof head);
}

typedef struct Reader {
    const unsigned char *at, *end;
    bool bad;
} Reader;

static void get(Reader *r, void *to, size_t n) {
    r->bad |= (size_t)(r->end - r->at) < n;
    if (r->bad) return;
    memcpy(to, r->at, n);
    r->at += n;
}

static bool sound(const FaBlendMuscles *b, const FaBlendMuscle *s) {
    const double *value[] = {s->turn, s->slide};
    for (int i = 0; i < 6; i++)
        if (!(fabs(value[i / 3][i % 3]) < 10)) return false;
    if (!isfinite(s->neutral) || !isfinite(s->rms)) return false;
    for (int i = 0; i < b->nmuscle; i++)
        if (!(fabs(s->activation[i]) <= 1)) return false;
    for (size_t i = 0; i < 3 * (size_t)b->npoint * (size_t)s->nlevel; i++)
        if (!(fabsf(s->track[i]) < 10)) return false;
    for (int i = 0; i < s->nsnap; i++)
        if (s->vertex[i] < 0 || s->vertex[i] >= b->nvert || (i && s->vertex[i] <= s->vertex[i - 1])) return false;
    for (int i = 0; i < 3 * s->nsnap; i++)
        if (!(fabsf(s->snap[i]) < 10)) return false;
    return true;
}

// One shape into `s`; its number, -1, or NO_MEMORY.
static int unpack_one(const FaBlendMuscles *b, Reader *r, FaBlendMuscle *s) {
    int head[4] = {-1, 0, 0, 0};
    double value[8] = {0};
    FaError none = {0};
    get(r, head, sizeof head);
    get(r, value, sizeof value);
    if (r->bad || head[0] < 0 || head[0] >= b->nshape || head[1] < 0 || head[1] > JAW_LEVELS || head[2] < 0 ||
        head[2] > b->nvert)
        return -1;
    if (allocate(b, s, head[1], head[2], &none) < 0) return NO_MEMORY;
    s->neutral = value[0], s->rms = value[1];
    memcpy(s->turn, value + 2, sizeof s->turn);
    memcpy(s->slide, value + 5, sizeof s->slide);
    get(r, s->activation, (size_t)b->nmuscle * sizeof *s->activation);
    get(r, s->track, 3 * (size_t)b->npoint * (size_t)s->nlevel * sizeof *s->track);
    get(r, s->vertex, (size_t)s->nsnap * sizeof *s->vertex);
    get(r, s->snap, 3 * (size_t)s->nsnap * sizeof *s->snap);
    return r->bad || !sound(b, s) ? -1 : head[0];
}

int fai_blend_muscles_unpack(FaBlendMuscles *b, const void *data, size_t size, FaError *err) {
    uint64_t head[4];
    const int want[4] = {b->nshape, b->nmuscle, b->npoint, b->nvert};
    if (!data || size < HEADER) return 0;
    memcpy(head, data, sizeof head);
    const unsigned char *byte = data;
    if (memcmp(head, SIGNATURE, 8) != 0 || head[1] != b->key || head[2] != size ||
        head[3] != fai_hash64(byte + sizeof head, size - sizeof head, b->key) ||
        memcmp(byte + sizeof head, want, sizeof want) != 0)
        return 0;
    Reader r = {byte + HEADER, byte + size, false};
    int taken = 0;
    while (r.at < r.end) {
        FaBlendMuscle s = {0};
        const int i = unpack_one(b, &r, &s);
        if (i < 0 || b->shape[i].done) drop(&s);
        if (i == NO_MEMORY) return FA_FAIL_MEMORY(err);
        if (i < 0) break; // those before it are sound
        if (b->shape[i].done) continue;
        s.done = s.resumed = true;
        b->shape[i] = s;
        taken++;
    }
    return taken;
}

// --- blending -----------------------------------------------------------------------------------------------------

static double weight_of(float w) { return fmin(fmax((double)w, LOWEST), MOST); }

// Tracks are straight between their levels and go on as they end.
static void add_track(const FaBlendMuscles *b, const FaBlendMuscle *s, double w, double *track) {
    const size_t n = 3 * (size_t)b->npoint;
    const double at = w * s->nlevel;
    const int level = FA_MIN(FA_MAX((int)at, 0), s->nlevel - 1);
    const float *to = s->track + (size_t)level * n, *from = level ? to - n : NULL;
    const double share = at - level;
    for (size_t i = 0; i < n; i++) {
        const double begin = from ? (double)from[i] : 0;
        track[i] +=
            w >= 1 ? w * (double)s->track[(size_t)(s->nlevel - 1) * n + i] : begin + share * ((double)to[i] - begin);
    }
}

bool fai_blend_muscles_at(const FaBlendMuscles *b, const FaJaw *jaw, const float *weights, double *activation,
                          FaPose *pose, double *track) {
    double turn[3] = {0}, slide[3] = {0}, back[3];
    bool any = false;
    memset(activation, 0, (size_t)b->nmuscle * sizeof *activation);
    memset(track, 0, 3 * (size_t)b->npoint * sizeof *track);
    *pose = fai_pose_identity();
    for (int i = 0; i < b->nshape; i++) {
        const FaBlendMuscle *s = &b->shape[i];
        const double w = weight_of(weights[i]);
        if (w == 0 || s->nlevel == 0) continue;
        any = true;
        for (int k = 0; k < b->nmuscle; k++) activation[k] += w * s->activation[k];
        fai_v3_mad(turn, w, s->turn, turn);
        fai_v3_mad(slide, w, s->slide, slide);
        add_track(b, s, w, track);
    }
    if (!any) return false;
    for (int k = 0; k < b->nmuscle; k++) activation[k] = fmin(fmax(activation[k], 0), 1);
    fai_q_exp(turn, pose->q);
    fai_q_rotate(pose->q, jaw->hinge, back);
    for (int k = 0; k < 3; k++) pose->p[k] = jaw->hinge[k] + slide[k] - back[k];
    return true;
}

void fai_blend_muscles_finish(const FaBlendMuscles *b, const FaRig *rig, const float *weights, const float *part,
                              float *surface) {
    for (int i = 0; i < b->nshape; i++) {
        const FaBlendMuscle *s = &b->shape[i];
        const FaShape *of = &rig->shape[i];
        const float w = (float)weight_of(weights[i]), more = weights[i] - (s->done ? w : 0);
        for (int k = 0; k < s->nsnap && w != 0; k++) {
            const int v = s->vertex[k];
            const float share = s->nlevel ? w * part[v] : w;
            for (int c = 0; c < 3; c++)
                surface[3 * (size_t)v + (size_t)c] += share * s->snap[3 * (size_t)k + (size_t)c];
        }
        for (int64_t e = of->first; e < of->first + of->count && more != 0; e++)
            for (int c = 0; c < 3; c++) surface[3 * (size_t)rig->row[e] + (size_t)c] += more * rig->delta[3 * e + c];
    }
}

// The animation of a glTF face as a clip: weights per shape, and the head's motion.
//
// Frames. Linear keys are kept as they are: the frames are the keys of the weights. Keys of the head's motion are added
// where the weights have none nearby (their keys are sparse, or end earlier). Where a curve is not linear (STEP,
// CUBICSPLINE), every interval between keys is divided into equal steps of at most 1/60 s, so that linear interpolation
// of the frames follows it: a step becomes a ramp of at most one frame.
//
// Head. The carrier's world matrix is M(t); the rig has taken the stretch S of M at rest. What is left, M(t) S^-1, is
// split again and its rotation kept; a stretch that changes over time cannot be a pose, and is noted. That is a pose of
// the mesh's own frame; the rig's axes make it canonical.
#include "io/gltf/gltf_parse.h"

#include "io/clip_tools.h"

#include <math.h>

enum {
    MAX_LINKS = 64,       // animated nodes above the face; real characters have a dozen
    KEYS_BASE = 16 << 20, // bytes of keys that any document may hold,
    KEYS_PER_BYTE = 4,    // and more per byte of it (8-bit weights become floats)
};
static const double NEAR_KEY = 1e-4;   // s: keys closer than this are the same moment
static const double DENSE_STEP = 0.05; // s: weights keyed at least this often carry the head's keys along
static const double FINE_STEP = 1 / 60.0;

// One animated property, as floats in memory.
typedef struct Track {
    FaGltfInterp interp;
    FaGltfPath path;
    int nkey, width; // width: numbers per key
    float *time;     // (nkey)
    float *value;    // (nkey x width), cubic: (nkey x 3 x width)
    int at;          // last key looked at; times are asked for in order
} Track;

typedef struct NodeTracks {
    Track *track[3]; // translation, rotation, scale; NULL: as at rest
} NodeTracks;

// A part of the way from the world to the carrier: a fixed matrix, or a node that moves.
typedef struct Link {
    double fixed[16];
    const FaGltfNode *node; // NULL: fixed
    NodeTracks tracks;
} Link;

typedef struct Clip {
    const FaGltf *doc;
    const FaRig *rig;
    FaArena *arena; // tracks and scratch
    Track *weights; // NULL: they do not move
    int nlink, nmoving;
    Link *link;   // from the world down to the carrier
    double *time; // frames, s in the file's time        (nframe)
    int nframe;
    size_t room; // bytes of keys that may still be loaded
    FaNotes notes;
} Clip;

// --- which animations ---------------------------------------------------------------------------------------------

enum { MOVES_WEIGHTS = 1, MOVES_CARRIER = 2 };

// What of the face an animation moves. above: the carrier and its ancestors.
static int moves_face(const FaGltf *doc, const FaGltfAnim *a, const bool *above) {
    int moves = 0;
    for (int i = 0; i < a->nchannel; i++) {
        const FaGltfChannel *c = &a->channel[i];
        if (c->node < 0 || c->path == FA_GLTF_OTHER) continue;
        if (c->path == FA_GLTF_WEIGHTS && c->node == doc->face.node) moves |= MOVES_WEIGHTS;
        if (c->path != FA_GLTF_WEIGHTS && above[c->node]) moves |= MOVES_CARRIER;
    }
    return moves;
}

// Take an animation unless it writes something that is written already.
static bool take(const FaGltfAnim *a, unsigned char *written) {
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < a->nchannel; i++) {
            const FaGltfChannel *c = &a->channel[i];
            if (c->node < 0 || c->path == FA_GLTF_OTHER) continue;
            unsigned char bit = (unsigned char)(1 << c->path);
            if (pass)
                written[c->node] |= bit;
            else if (written[c->node] & bit)
                return false;
        }
    return true;
}

// *left_out: those that move the face but cannot be taken.
static FaCode choose_anims(const FaGltf *doc, bool *taken, int *first, int *left_out, FaError *err) {
    *first = -1;
    *left_out = 0;
    for (int i = 0; i < doc->nanim; i++) taken[i] = false;
    if (doc->face.mesh < 0 || !doc->nanim) return FA_OK;
    bool *above = FA_NEW(doc->nnode, bool);
    unsigned char *written = FA_NEW(doc->nnode, unsigned char), *moves = FA_NEW(doc->nanim, unsigned char);
    FaCode rc = above && written && moves ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int n = doc->face.carrier; n >= 0; n = doc->node[n].parent) above[n] = true;
        for (int i = 0; i < doc->nanim; i++) {
            moves[i] = (unsigned char)moves_face(doc, &doc->anim[i], above);
            if (moves[i] && (*first < 0 || (moves[i] & MOVES_WEIGHTS && !(moves[*first] & MOVES_WEIGHTS)))) *first = i;
        }
        if (*first >= 0) taken[*first] = take(&doc->anim[*first], written);
        for (int i = 0; i < doc->nanim; i++)
            if (i != *first && moves[i]) *left_out += !(taken[i] = take(&doc->anim[i], written));
    }
    fa_free(above);
    fa_free(written);
    fa_free(moves);
    return rc;
}

FaCode fai_gltf_clip_anims(const FaGltf *doc, bool *taken, int *first, FaError *err) {
    int left_out;
    return choose_anims(doc, taken, first, &left_out, err);
}

// --- tracks -------------------------------------------------------------------------------------------------------

static FaCode load_track(Clip *k, const FaGltfSampler *s, FaGltfPath path, Track **out, FaError *err) {
    const FaGltf *doc = k->doc;
    const FaGltfAccessor *in = &doc->accessor[s->input], *values = &doc->accessor[s->output];
    size_t n = (size_t)in->count, m = (size_t)values->count * (size_t)values->width;
    if (4 * (n + m) > k->room)
        return FAIL_AT(err, FA_E_LIMIT, s->json, "export the animation again",
                       "its keys are more than the file's size explains");
    k->room -= 4 * (n + m);
    Track *t = FA_PUSH(k->arena, 1, Track);
    if (t) {
        t->time = FA_PUSH(k->arena, n, float);
        t->value = FA_PUSH(k->arena, m, float);
    }
    if (!t || !t->time || !t->value) return FA_FAIL_MEMORY(err);
    t->interp = s->interp;
    t->path = path;
    t->nkey = in->count;
    t->width = (int)(m / n / (s->interp == FA_GLTF_CUBIC ? 3 : 1));
    FA_TRY(fai_gltf_floats(doc, s->input, t->time, err));
    FA_TRY(fai_gltf_floats(doc, s->output, t->value, err));
    for (int i = 1; i < t->nkey; i++) // accessors without data are not seen by the checks at load
        if (!(t->time[i] > t->time[i - 1]))
            return BAD_AT(err, fai_json_get(s->json, "input"), "key %d does not come after key %d", i, i - 1);
    *out = t;
    return FA_OK;
}

// Shortest way between two unit quaternions.
static void slerp(const double a[4], const double b[4], double u, double out[4]) {
    double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = dot < 0 ? -1 : 1, wa = 1 - u, wb = u;
    dot = fmin(fabs(dot), 1);
    if (dot < 0.999999) {
        double angle = acos(dot), s = sin(angle);
        wa = sin((1 - u) * angle) / s;
        wb = sin(u * angle) / s;
    }
    for (int i = 0; i < 4; i++) out[i] = wa * a[i] + sign * wb * b[i];
}

static void normalise4(double q[4]) {
    double l = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) q[i] = l > 1e-12 ? q[i] / l : i == 3;
}

// Values at a time, held before the first key and after the last; out: width.
static void evaluate(Track *t, double time, double *out) {
    while (t->at + 1 < t->nkey && (double)t->time[t->at + 1] <= time) t->at++;
    int i = t->at, w = t->width;
    bool cubic = t->interp == FA_GLTF_CUBIC;
    size_t stride = (size_t)w * (cubic ? 3 : 1);
    const float *a = t->value + (size_t)i * stride + (cubic ? w : 0), *b = a + stride;
    double t0 = (double)t->time[i];
    if (i + 1 == t->nkey || time <= t0 || t->interp == FA_GLTF_STEP) {
        for (int c = 0; c < w; c++) out[c] = (double)a[c];
    } else {
        double dt = (double)t->time[i + 1] - t0, u = (time - t0) / dt, u2 = u * u, u3 = u2 * u;
        if (cubic) { // Hermite form of the specification's appendix C: value, out-tangent, in-tangent of the next key
            const float *out_tangent = a + w, *in_tangent = b - w;
            for (int c = 0; c < w; c++)
                out[c] = (2 * u3 - 3 * u2 + 1) * (double)a[c] + dt * (u3 - 2 * u2 + u) * (double)out_tangent[c] +
                         (3 * u2 - 2 * u3) * (double)b[c] + dt * (u3 - u2) * (double)in_tangent[c];
        } else if (t->path == FA_GLTF_ROTATION) {
            double qa[4], qb[4];
            for (int c = 0; c < 4; c++) qa[c] = (double)a[c], qb[c] = (double)b[c];
            normalise4(qa);
            normalise4(qb);
            slerp(qa, qb, u, out);
        } else {
            for (int c = 0; c < w; c++) out[c] = (double)a[c] + u * ((double)b[c] - (double)a[c]);
        }
    }
    if (t->path == FA_GLTF_ROTATION) normalise4(out);
}

FaCode fai_gltf_sample(const FaGltf *doc, const FaGltfSampler *s, FaGltfPath path, int ntime, const double *time,
                       float **x, int *width, FaError *err) {
    Clip k = {.doc = doc, .arena = fai_arena_new(0), .room = SIZE_MAX};
    Track *track = NULL;
    *x = NULL;
    FaCode rc = k.arena ? load_track(&k, s, path, &track, err) : FA_FAIL_MEMORY(err);
    double *v = rc >= 0 ? FA_PUSH(k.arena, track->width, double) : NULL;
    if (rc >= 0) *width = track->width, *x = FA_NEW((size_t)ntime * (size_t)track->width, float);
    if (rc >= 0 && (!v || !*x)) rc = FA_FAIL_MEMORY(err);
    for (size_t f = 0; rc >= 0 && f < (size_t)ntime; f++) {
        evaluate(track, time[f], v);
        for (int c = 0; c < *width; c++) (*x)[f * (size_t)*width + (size_t)c] = (float)v[c];
    }
    if (rc < 0) fa_free(*x), *x = NULL;
    fai_arena_free(k.arena);
    return rc;
}

// --- the way down to the carrier ----------------------------------------------------------------------------------

static FaCode add_link(Clip *k, const FaGltfNode *node, const NodeTracks *tracks, FaError *err) {
    bool moves = tracks->track[0] || tracks->track[1] || tracks->track[2];
    Link *last = k->nlink ? &k->link[k->nlink - 1] : NULL;
    if (!moves && last && !last->node) { // fixed parts in a row are one
        fai_gltf_multiply(last->fixed, node->matrix, last->fixed);
        return FA_OK;
    }
    FA_ASSERT(k->link);
    Link *l = &k->link[k->nlink];
    if (moves && ++k->nmoving > MAX_LINKS)
        return FA_FAIL(err, FA_E_LIMIT, fai_json_path(node->json).text, "bake the head's motion to one node",
                       "more than %d animated nodes carry the face", MAX_LINKS);
    l->node = moves ? node : NULL;
    memcpy(l->fixed, node->matrix, sizeof l->fixed);
    l->tracks = *tracks;
    k->nlink++;
    return FA_OK;
}

// Load the tracks of the taken animations that matter, and line the nodes up from the root to the carrier.
static FaCode gather(Clip *k, const bool *taken, FaError *err) {
    const FaGltf *doc = k->doc;
    NodeTracks *tracks = FA_PUSH(k->arena, doc->nnode, NodeTracks);
    bool *above = FA_PUSH(k->arena, doc->nnode, bool);
    int depth = 0, moving = 0;
    if (!tracks || !above) return FA_FAIL_MEMORY(err);
    for (int n = doc->face.carrier; n >= 0; n = doc->node[n].parent) above[n] = true, depth++;
    for (int i = 0; i < doc->nanim; i++) {
        const FaGltfAnim *a = &doc->anim[i];
        for (int c = 0; taken[i] && c < a->nchannel; c++) {
            const FaGltfChannel *ch = &a->channel[c];
            if (ch->node < 0 || ch->path == FA_GLTF_OTHER) continue;
            Track **to = NULL;
            if (ch->path == FA_GLTF_WEIGHTS)
                to = ch->node == doc->face.node ? &k->weights : NULL;
            else if (above[ch->node])
                to = &tracks[ch->node].track[ch->path - FA_GLTF_TRANSLATION], moving++;
            if (to) FA_TRY(load_track(k, &a->sampler[ch->sampler], ch->path, to, err));
        }
    }
    if (!moving) return FA_OK;
    int *chain = FA_PUSH(k->arena, depth, int);
    k->link = FA_PUSH(k->arena, FA_MIN(depth, 2 * MAX_LINKS + 2), Link);
    if (!chain || !k->link) return FA_FAIL_MEMORY(err);
    for (int n = doc->face.carrier, i = depth; n >= 0; n = doc->node[n].parent) chain[--i] = n;
    for (int i = 0; i < depth; i++) FA_TRY(add_link(k, &doc->node[chain[i]], &tracks[chain[i]], err));
    return FA_OK;
}

static void world_at(Clip *k, double time, double m[16]) {
    for (int i = 0; i < 16; i++) m[i] = i % 5 == 0;
    for (int i = 0; i < k->nlink; i++) {
        Link *l = &k->link[i];
        double local[16], t[3], r[4], s[3];
        if (l->node) {
            memcpy(t, l->node->t, sizeof t);
            memcpy(r, l->node->r, sizeof r);
            memcpy(s, l->node->s, sizeof s);
            if (l->tracks.track[0]) evaluate(l->tracks.track[0], time, t);
            if (l->tracks.track[1]) evaluate(l->tracks.track[1], time, r);
            if (l->tracks.track[2]) evaluate(l->tracks.track[2], time, s);
            fai_gltf_compose(t, r, s, local);
        }
        fai_gltf_multiply(m, l->node ? local : l->fixed, m);
    }
    fai_gltf_multiply(m, k->doc->face.offset, m);
}

// --- frames -------------------------------------------------------------------------------------------------------

static bool near_key(const Track *t, double time) {
    int lo = 0, hi = t->nkey; // first key at or after time
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if ((double)t->time[mid] < time)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (lo < t->nkey && (double)t->time[lo] - time < NEAR_KEY) ||
           (lo > 0 && time - (double)t->time[lo - 1] < NEAR_KEY);
}

// Whether the weights are keyed so closely that the head is simply looked up at their keys.
static FaCode weights_are_dense(Clip *k, bool *dense, FaError *err) {
    *dense = false;
    if (!k->weights || k->weights->nkey < 3) return FA_OK;
    double *time = FA_PUSH(k->arena, k->weights->nkey, double), step;
    if (!time) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < k->weights->nkey; i++) time[i] = (double)k->weights->time[i];
    FA_TRY(fai_median_step(time, k->weights->nkey, &step, err));
    *dense = step <= DENSE_STEP;
    return FA_OK;
}

// Times of the head's keys that become frames of their own. out NULL: count only.
static int head_keys(const Clip *k, bool dense, double *out) {
    const Track *w = k->weights;
    int n = 0;
    for (int i = 0; i < k->nlink; i++)
        for (int p = 0; p < 3; p++) {
            const Track *t = k->link[i].node ? k->link[i].tracks.track[p] : NULL;
            for (int j = 0; t && j < t->nkey; j++) {
                double time = (double)t->time[j];
                bool within = w && time > (double)w->time[0] && time < (double)w->time[w->nkey - 1];
                if (w && ((dense && within) || near_key(w, time))) continue;
                if (out) out[n] = time;
                n++;
            }
        }
    return n;
}

static bool all_linear(const Clip *k) {
    if (k->weights && k->weights->interp != FA_GLTF_LINEAR) return false;
    for (int i = 0; i < k->nlink; i++)
        for (int p = 0; p < 3; p++)
            if (k->link[i].node && k->link[i].tracks.track[p] && k->link[i].tracks.track[p]->interp != FA_GLTF_LINEAR)
                return false;
    return true;
}

static int parts_of(double dt) { return (int)fmax(fmin(ceil(dt / FINE_STEP - 1e-6), INT32_MAX / 2), 1); }

// Divide the intervals so that curves are followed; left as they are where that would take too many frames.
static FaCode subdivide(Clip *k, FaError *err) {
    int64_t n = 1;
    for (int i = 0; i + 1 < k->nframe && n < INT32_MAX; i++) n += parts_of(k->time[i + 1] - k->time[i]);
    FaError too_many = {0};
    if (n >= INT32_MAX || fai_clip_room(k->doc->bytes, n, k->rig->nshape, k->nlink > 0, &too_many) < 0) {
        fai_note(&k->notes, "curves-not-sampled", "", "export the animation sampled at a fixed rate",
                 "the animation is too long to sample its curves; only the keys are taken");
        return FA_OK;
    }
    double *time = FA_PUSH(k->arena, n, double);
    if (!time) return FA_FAIL_MEMORY(err);
    int m = 0;
    for (int i = 0; i + 1 < k->nframe; i++) {
        double t0 = k->time[i], dt = k->time[i + 1] - t0;
        int parts = parts_of(dt);
        for (int p = 0; p < parts; p++) time[m++] = t0 + dt * p / parts;
    }
    time[m++] = k->time[k->nframe - 1];
    k->time = time;
    k->nframe = m;
    return FA_OK;
}

static FaCode choose_frames(Clip *k, FaError *err) {
    bool dense;
    FA_TRY(weights_are_dense(k, &dense, err));
    int nweight = k->weights ? k->weights->nkey : 0, nhead = head_keys(k, dense, NULL);
    double *time = FA_PUSH(k->arena, nweight + nhead, double);
    if (!time) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < nweight; i++) time[i] = (double)k->weights->time[i];
    head_keys(k, dense, time + nweight);
    fai_sort_doubles(time, nweight + nhead);
    // several tracks of the head may have the same keys
    int n = 0;
    for (int i = 0; i < nweight + nhead; i++)
        if (!n || time[i] - time[n - 1] > (k->weights && near_key(k->weights, time[i]) ? 0 : NEAR_KEY))
            time[n++] = time[i];
    k->time = time;
    k->nframe = n;
    return all_linear(k) ? FA_OK : subdivide(k, err);
}

// --- the clip -----------------------------------------------------------------------------------------------------

static FaCode fill_weights(Clip *k, FaClip *clip, FaError *err) {
    double *v = FA_PUSH(k->arena, clip->nchan, double);
    if (!v) return FA_FAIL_MEMORY(err);
    FA_ASSERT(!k->weights || k->weights->width == clip->nchan); // one shape per target
    for (int c = 0; c < clip->nchan; c++) v[c] = (double)k->rig->weight[c];
    for (int f = 0; f < clip->nframe; f++) {
        float *to = clip->weight + (size_t)f * (size_t)clip->nchan;
        if (k->weights) evaluate(k->weights, k->time[f], v);
        for (int c = 0; c < clip->nchan; c++) to[c] = (float)v[c];
    }
    return FA_OK;
}

// l = m * inverse stretch, without translation; m and l are column-major 4x4, inverse is row-major 3x3.
static void without_stretch(const double m[16], const double inverse[9], double l[16]) {
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            l[4 * c + r] = m[r] * inverse[c] + m[4 + r] * inverse[3 + c] + m[8 + r] * inverse[6 + c];
}

static bool invert3(const double a[9], double out[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            out[3 * j + i] = a[3 * i1 + j1] * a[3 * i2 + j2] - a[3 * i1 + j2] * a[3 * i2 + j1];
        }
    double det = a[0] * out[0] + a[1] * out[3] + a[2] * out[6];
    for (int i = 0; i < 9; i++) out[i] /= det;
    return isfinite(out[0]) && det != 0;
}

// Poses of all frames; moves is false where they are all the same.
static FaCode fill_head(Clip *k, FaClip *clip, bool *moves, FaError *err) {
    double stretch[9], inverse[9], unit = k->rig->unit, worst = 0;
    *moves = false;
    for (int i = 0; i < 9; i++) stretch[i] = k->rig->local[i] / unit;
    if (!invert3(stretch, inverse)) return FA_OK;
    clip->head = FA_NEW(clip->nframe, FaPose);
    if (!clip->head) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe; f++) {
        double m[16], l[16] = {0}, r[9], s[9];
        world_at(k, k->time[f], m);
        without_stretch(m, inverse, l);
        FaPose *pose = &clip->head[f];
        if (!fai_gltf_split(l, r, s)) { // scaled to nothing: keep the last rotation
            for (int i = 0; i < 9; i++) r[i] = i % 4 == 0;
            if (f) fai_pose_matrix(pose - 1, r);
            worst = 1;
        } else {
            for (int i = 0; i < 9; i++) worst = fmax(worst, fabs(s[i] - (i % 4 == 0)));
        }
        fai_pose_rotate(pose, r, f ? pose - 1 : NULL);
        for (int i = 0; i < 3; i++) {
            pose->p[i] = unit * m[12 + i];
            if (!isfinite(pose->p[i]))
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), "check the node's translation",
                               "the head's position is not a finite number");
        }
        for (int i = 0; i < 4; i++) *moves |= fabs(pose->q[i] - clip->head[0].q[i]) > 1e-7;
        for (int i = 0; i < 3; i++) *moves |= fabs(pose->p[i] - clip->head[0].p[i]) > 1e-7;
    }
    for (int f = 0; f < clip->nframe; f++) clip->head[f] = fa_rig_head(k->rig, &clip->head[f]);
    if (worst > 1e-3)
        fai_note(&clip->notes, "head-scale-animated", fai_json_path(k->doc->node[k->doc->face.carrier].json).text,
                 "keep the scale of the head's node constant",
                 "what carries the face changes its scale; only rotation and translation are taken");
    return FA_OK;
}

static FaCode make_clip(Clip *k, FaClip **out, FaError *err) {
    const FaRig *rig = k->rig;
    FaClip *clip = NULL;
    const char **name = FA_PUSH(k->arena, rig->nshape, const char *);
    if (!name) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < rig->nshape; i++) name[i] = rig->shape[i].name;
    FA_TRY(fai_clip_room(k->doc->bytes, k->nframe, rig->nshape, k->nlink > 0, err));
    FA_TRY(fa_clip_new(k->nframe, rig->nshape, name, 30, &clip, err));
    bool moves = false;
    FaCode rc = FA_OK;
    memcpy(clip->time, k->time, (size_t)k->nframe * sizeof *k->time);
    fai_notes_copy(&clip->notes, &k->notes);
    if (k->doc->path && !(clip->path = fai_strdup(k->doc->path))) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fill_weights(k, clip, err);
    if (rc >= 0 && k->nlink) rc = fill_head(k, clip, &moves, err);
    if (rc >= 0 && !moves) {
        fa_free(clip->head);
        clip->head = NULL;
    }
    if (rc >= 0) rc = fai_clip_from_zero(clip, err);
    if (rc >= 0) rc = fai_clip_find_fps(clip, 30, err);
    if (rc >= 0 && !k->weights && !moves) { // nothing moves after all
        fa_clip_free(clip);
        return FA_OK;
    }
    if (rc >= 0) rc = fa_clip_check(clip, err);
    if (rc >= 0) rc = fai_times_apart(clip->time, clip->nframe, err);
    if (rc < 0) {
        fa_clip_free(clip);
        return rc;
    }
    fai_clip_note_weights(clip);
    *out = clip;
    return FA_OK;
}

FaCode fai_gltf_clip(const FaGltf *doc, const FaRig *rig, FaClip **clip, FaError *err) {
    *clip = NULL;
    if (!doc->nanim || doc->face.mesh < 0) return FA_OK;
    Clip k = {.doc = doc, .rig = rig, .arena = fai_arena_new(0), .room = KEYS_BASE};
    size_t more;
    if (!__builtin_mul_overflow(doc->bytes, (size_t)KEYS_PER_BYTE, &more)) k.room += more;
    int first = -1, left_out = 0;
    bool *taken = k.arena ? FA_PUSH(k.arena, doc->nanim, bool) : NULL;
    FaCode rc = taken ? choose_anims(doc, taken, &first, &left_out, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = gather(&k, taken, err);
    if (rc >= 0 && (k.weights || k.nlink)) {
        if (left_out)
            fai_note(&k.notes, "several-animations", fai_json_path(doc->anim[first].json).text,
                     "export the one you want by itself",
                     "%d animations of the face exclude each other; \"%.60s\" is taken", left_out + 1,
                     doc->anim[first].name);
        rc = choose_frames(&k, err);
        if (rc >= 0) rc = make_clip(&k, clip, err);
    }
    fai_notes_free(&k.notes);
    fai_arena_free(k.arena);
    return rc < 0 && doc->path ? fai_fail_in(err, rc, doc->path) : rc;
}

// Animations: nodes key by key, the weights of shapes sampled at the file's frame rate (assimp has a list of keys per
// mesh that name only some of the shapes each; glTF wants all of them at every key).
#include "base/base.h"

#ifdef FA_HAVE_ASSIMP

#include "io/assimp_scene.h"

#include <math.h>

enum { MAX_FRAMES = 1000000 };

typedef struct Motion {
    FaScene *s;
    const struct aiAnimation *a;
    FaJson *json; // made when something moves
    int nsampler;
    double start, tick; // first key, in ticks; ticks per second
} Motion;

void fai_scene_mark_moving(FaScene *s) {
    for (unsigned i = 0; i < s->ai->mNumAnimations; i++)
        for (unsigned c = 0; c < s->ai->mAnimations[i]->mNumChannels; c++) {
            int node = fai_scene_node(s, s->ai->mAnimations[i]->mChannels[c]->mNodeName.data);
            if (node >= 0) s->moves[node] = true;
        }
}

static void add_channel(Motion *k, int node, const char *path, const float *time, const float *value, int nkey,
                        int count, int width) {
    FaGltfOut *out = &k->s->out;
    if (!k->json) {
        k->json = fai_out_push(out, fai_out_array(out, out->root, "animations"));
        const char *name = fai_scene_name(k->s, &k->a->mName);
        if (name && name[0]) fai_out_str(out, k->json, "name", name);
    }
    FaJson *sampler = fai_out_push(out, fai_out_array(out, k->json, "samplers"));
    fai_out_int(out, sampler, "input", fai_out_floats(out, time, nkey, 1, true));
    fai_out_int(out, sampler, "output", fai_out_floats(out, value, count, width, false));
    FaJson *channel = fai_out_push(out, fai_out_array(out, k->json, "channels"));
    fai_out_int(out, channel, "sampler", k->nsampler++);
    FaJson *target = fai_out_object(out, channel, "target");
    fai_out_int(out, target, "node", node);
    fai_out_str(out, target, "path", path);
}

// A take of one pose, as programs write it for what does not move, is no animation: in a viewer that plays the first
// one it would stand before those that are.
static bool still(const float *value, int count, int width) {
    for (int i = 1; i < count; i++)
        for (int k = 0; k < width; k++)
            if (fabsf(value[i * width + k] - value[k]) > 1e-6f * (1 + fabsf(value[k]))) return false;
    return true;
}

static float seconds(const Motion *k, double time) { return (float)((time - k->start) / k->tick) + 0.0f; }

// --- nodes --------------------------------------------------------------------------------------------------------

// Keys of a node that are finite and come one after the other.
static FaCode add_vectors(Motion *k, int node, const char *path, const struct aiVectorKey *key, unsigned n, double unit,
                          FaError *err) {
    float *time = FA_PUSH(k->s->work, n, float), *value = FA_PUSH(k->s->work, 3 * (size_t)n, float);
    int count = 0;
    if (!time || !value) return FA_FAIL_MEMORY(err);
    for (unsigned i = 0; i < n; i++) {
        const double v[3] = {unit * (double)key[i].mValue.x, unit * (double)key[i].mValue.y,
                             unit * (double)key[i].mValue.z};
        float t = seconds(k, key[i].mTime);
        if (!isfinite(t) || !isfinite(v[0] + v[1] + v[2]) || (count && !(t > time[count - 1]))) continue;
        time[count] = t;
        for (int c = 0; c < 3; c++) value[3 * count + c] = (float)v[c] + 0.0f;
        count++;
    }
    if (count && !still(value, count, 3)) add_channel(k, node, path, time, value, count, count, 3);
    return FA_OK;
}

static FaCode add_turns(Motion *k, int node, const struct aiQuatKey *key, unsigned n, FaError *err) {
    float *time = FA_PUSH(k->s->work, n, float), *value = FA_PUSH(k->s->work, 4 * (size_t)n, float);
    int count = 0;
    if (!time || !value) return FA_FAIL_MEMORY(err);
    for (unsigned i = 0; i < n; i++) {
        const struct aiQuaternion *q = &key[i].mValue;
        double v[4] = {q->x, q->y, q->z, q->w}, size = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3]);
        float t = seconds(k, key[i].mTime);
        if (!isfinite(t) || !(size > 1e-6) || !isfinite(size) || (count && !(t > time[count - 1]))) continue;
        time[count] = t;
        for (int c = 0; c < 4; c++) v[c] /= size;
        for (int c = 0; c < 4; c++) value[4 * count + c] = (float)v[c];
        count++;
    }
    if (count && !still(value, count, 4)) add_channel(k, node, "rotation", time, value, count, count, 4);
    return FA_OK;
}

static FaCode add_node(Motion *k, const struct aiNodeAnim *c, FaError *err) {
    int node = fai_scene_node(k->s, c->mNodeName.data);
    if (node < 0) return FA_OK;
    FaMark mark = fai_arena_mark(k->s->work);
    FA_TRY(add_vectors(k, node, "translation", c->mPositionKeys, c->mNumPositionKeys, k->s->place.unit, err));
    FA_TRY(add_turns(k, node, c->mRotationKeys, c->mNumRotationKeys, err));
    FA_TRY(add_vectors(k, node, "scale", c->mScalingKeys, c->mNumScalingKeys, 1, err));
    fai_arena_release(k->s->work, mark);
    return FA_OK;
}

// --- weights ------------------------------------------------------------------------------------------------------

// Value of a key list at a time, linear between keys. Keys hold only some of the shapes each.
typedef struct Track {
    double *time;
    float *value;
    int count, at;
} Track;

static float sample(Track *t, double time) {
    if (t->count == 0) return 0;
    while (t->at + 1 < t->count && t->time[t->at + 1] <= time) t->at++;
    int i = t->at;
    if (time <= t->time[i] || i + 1 == t->count) return t->value[i];
    double u = (time - t->time[i]) / (t->time[i + 1] - t->time[i]);
    return (float)((double)t->value[i] + u * ((double)t->value[i + 1] - (double)t->value[i]));
}

// Spread the keys over one track per shape. Keys that do not advance are left out.
static FaCode make_tracks(Motion *k, const struct aiMeshMorphAnim *morph, int nshape, Track *track, FaError *err) {
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < morph->mNumKeys; i++) {
            const struct aiMeshMorphKey *key = &morph->mKeys[i];
            for (unsigned j = 0; j < key->mNumValuesAndWeights; j++) {
                unsigned s = key->mValues[j];
                if (s >= (unsigned)nshape || !isfinite(key->mTime) || !isfinite(key->mWeights[j])) continue;
                Track *t = &track[s];
                if (pass && t->count && !(key->mTime > t->time[t->count - 1])) continue;
                if (pass) t->time[t->count] = key->mTime, t->value[t->count] = (float)key->mWeights[j];
                t->count++;
            }
        }
        for (int s = 0; s < nshape && pass == 0; s++) {
            track[s].time = FA_PUSH(k->s->work, track[s].count, double);
            track[s].value = FA_PUSH(k->s->work, track[s].count, float);
            if (!track[s].time || !track[s].value) return FA_FAIL_MEMORY(err);
            track[s].count = 0;
        }
    }
    return FA_OK;
}

// The keys of a node's shapes: under its name, or that and the number of a part.
static const struct aiMeshMorphAnim *morph_of(const struct aiAnimation *a, const struct aiNode *node) {
    size_t n = strlen(node->mName.data);
    for (unsigned i = 0; i < a->mNumMorphMeshChannels; i++) {
        const char *name = a->mMorphMeshChannels[i]->mName.data;
        if (!strncmp(name, node->mName.data, n) && (name[n] == 0 || name[n] == '*') &&
            a->mMorphMeshChannels[i]->mNumKeys)
            return a->mMorphMeshChannels[i];
    }
    return NULL;
}

static FaCode frame_count(const Motion *k, const struct aiMeshMorphAnim *morph, double fps, double *first, int *n,
                          FaError *err) {
    double last = -INFINITY;
    *first = INFINITY;
    for (unsigned i = 0; i < morph->mNumKeys; i++) {
        *first = fmin(*first, morph->mKeys[i].mTime);
        last = fmax(last, morph->mKeys[i].mTime);
    }
    double frames = (last - *first) / k->tick * fps;
    if (!(frames >= 0) || frames > MAX_FRAMES)
        return FA_FAIL(err, FA_E_FORMAT, k->a->mName.data, "check the animation's range", "an animation of %g frames",
                       frames);
    *n = (int)floor(frames + 1e-3) + 1;
    return FA_OK;
}

static FaCode add_weights(Motion *k, int node, FaError *err) {
    FaScene *s = k->s;
    const struct aiMeshMorphAnim *morph = s->mesh[node] >= 0 ? morph_of(k->a, s->node[node]) : NULL;
    const char **shape;
    int nshape, nframe;
    size_t prefix;
    double first, fps = k->tick >= 10 && k->tick <= 250 ? k->tick : 30;
    if (!morph) return FA_OK;
    FaMark mark = fai_arena_mark(s->work);
    FA_TRY(fai_scene_shape_names(s, s->node[node], &shape, &nshape, &prefix, err));
    FA_TRY(frame_count(k, morph, fps, &first, &nframe, err));
    size_t cells = (size_t)nframe * (size_t)nshape;
    if (cells > INT32_MAX / 16)
        return FA_FAIL(err, FA_E_LIMIT, k->a->mName.data, "export a shorter one", "the animation is too long");
    Track *track = FA_PUSH(s->work, nshape, Track);
    float *time = FA_PUSH(s->work, nframe, float), *value = FA_PUSH(s->work, cells, float);
    if (!track || !time || !value) return FA_FAIL_MEMORY(err);
    FA_TRY(make_tracks(k, morph, nshape, track, err));
    for (int f = 0; f < nframe; f++) {
        double at = first + f / fps * k->tick;
        time[f] = seconds(k, at);
        for (int i = 0; i < nshape; i++) value[(size_t)f * (size_t)nshape + (size_t)i] = sample(&track[i], at);
    }
    if (nshape) add_channel(k, node, "weights", time, value, nframe, (int)cells, 1);
    fai_arena_release(s->work, mark);
    return FA_OK;
}

// --- all of them --------------------------------------------------------------------------------------------------

// glTF's time begins at 0: where keys come before that, all are moved on.
static double first_key(const struct aiAnimation *a) {
    double first = 0;
    for (unsigned i = 0; i < a->mNumChannels; i++) {
        const struct aiNodeAnim *c = a->mChannels[i];
        if (c->mNumPositionKeys && isfinite(c->mPositionKeys[0].mTime)) first = fmin(first, c->mPositionKeys[0].mTime);
        if (c->mNumRotationKeys && isfinite(c->mRotationKeys[0].mTime)) first = fmin(first, c->mRotationKeys[0].mTime);
        if (c->mNumScalingKeys && isfinite(c->mScalingKeys[0].mTime)) first = fmin(first, c->mScalingKeys[0].mTime);
    }
    for (unsigned i = 0; i < a->mNumMorphMeshChannels; i++)
        for (unsigned j = 0; j < a->mMorphMeshChannels[i]->mNumKeys; j++)
            if (isfinite(a->mMorphMeshChannels[i]->mKeys[j].mTime))
                first = fmin(first, a->mMorphMeshChannels[i]->mKeys[j].mTime);
    return first;
}

FaCode fai_scene_motion(FaScene *s, FaError *err) {
    for (unsigned i = 0; i < s->ai->mNumAnimations; i++) {
        const struct aiAnimation *a = s->ai->mAnimations[i];
        Motion k = {.s = s, .a = a, .start = first_key(a), .tick = a->mTicksPerSecond > 0 ? a->mTicksPerSecond : 25};
        for (unsigned c = 0; c < a->mNumChannels; c++) FA_TRY(add_node(&k, a->mChannels[c], err));
        for (int node = 0; node < s->nnode; node++) FA_TRY(add_weights(&k, node, err));
        if (!k.json && a->mNumChannels + a->mNumMorphMeshChannels > 0)
            fai_note(s->notes, "animation-still", a->mName.data, "",
                     "a take in which nothing moves is left out: the rig stands as it does without it");
    }
    return FA_OK;
}

#endif

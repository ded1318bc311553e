#include "neural/poses.h"

#include "base/file.h"
#include "base/text.h"
#include "fascia/head.h"
#include "rig/names.h"

#include <math.h>
#include <stdlib.h>

static const float MOST = 1.2f;   // of a weight: trackers and artists go that far beyond 1
static const float MOVES = 0.05f; // a frame whose largest weight is below moves nothing that could be learned
static const double MIRROR = 0.7; // share of random shapes that come on both sides
enum { RANDOM_MOST = 5, ADDED_MOST = 3 };
enum { CLIP_FRAMES = 100000 }; // of a clip; more are thinned out evenly

// --- ARKit's rules -------------------------------------------------------------------------------------------------

// What never comes together: muscles that pull the same skin both ways. The weaker one is 0.
static const char *const OPPOSITES[][2] = {
    {"jawLeft", "jawRight"},
    {"mouthLeft", "mouthRight"},
    {"eyeBlinkLeft", "eyeWideLeft"},
    {"eyeBlinkRight", "eyeWideRight"},
    {"eyeLookUpLeft", "eyeLookDownLeft"},
    {"eyeLookUpRight", "eyeLookDownRight"},
    {"eyeLookInLeft", "eyeLookOutLeft"},
    {"eyeLookInRight", "eyeLookOutRight"},
    {"browDownLeft", "browOuterUpLeft"},
    {"browDownRight", "browOuterUpRight"},
    {"mouthSmileLeft", "mouthFrownLeft"},
    {"mouthSmileRight", "mouthFrownRight"},
};
// What is never stronger than another: mouthClose is measured against an open jaw, the lips that meet over it.
static const char *const AT_MOST[][2] = {
    {"mouthClose", "jawOpen"},
};

static int arkit(const char *name) {
    int i = fa_arkit_match(name, NULL);
    FA_ASSERT(i >= 0);
    return i;
}

static void obey_at_most(float *w) {
    for (int i = 0; i < FA_COUNT(AT_MOST); i++) {
        int what = arkit(AT_MOST[i][0]), than = arkit(AT_MOST[i][1]);
        w[what] = fminf(w[what], w[than]);
    }
}

void fai_pose_obey(float *w) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++) w[i] = isfinite(w[i]) ? fminf(fmaxf(w[i], 0), MOST) : 0;
    for (int i = 0; i < FA_COUNT(OPPOSITES); i++) {
        int a = arkit(OPPOSITES[i][0]), b = arkit(OPPOSITES[i][1]);
        w[w[a] < w[b] ? a : b] = 0;
    }
    obey_at_most(w);
}

// A recorded frame is what trackers do report: opposites stay as they are, small as they mostly are.
static void obey_recorded(float *w) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++) w[i] = isfinite(w[i]) ? fminf(fmaxf(w[i], 0), MOST) : 0;
    obey_at_most(w);
}

// --- clips ---------------------------------------------------------------------------------------------------------

static void clip_name(FaPoseClip *to, const char *name) {
    snprintf(to->name, sizeof to->name, "%s", fai_path_base(name));
}

// Channels to ARKit's order: several of one shape (its halves) are averaged.
static FaCode take_clip(FaPoses *p, const FaClip *clip, const char *name, FaError *err) {
    FaPoseClip *to = &p->clip[p->nclip];
    int *at = FA_PUSH(p->arena, clip->nchan, int), count[FA_ARKIT_COUNT] = {0};
    int step = 1 + (clip->nframe - 1) / CLIP_FRAMES, unknown = 0;
    to->weight = FA_PUSH(p->arena, (size_t)(clip->nframe / step + 1) * FA_ARKIT_COUNT, float);
    if (!at || !to->weight) return FA_FAIL_MEMORY(err);
    clip_name(to, name);
    to->nrecorded = clip->nframe;
    for (int c = 0; c < clip->nchan; c++) {
        at[c] = fa_arkit_match(clip->name[c], NULL);
        if (at[c] >= 0) count[at[c]]++;
        unknown += at[c] < 0;
    }
    fai_note_count(&p->notes, unknown, "clip-channels-unused", to->name, "", "%d channel%s of %s mean no ARKit shape",
                   unknown, unknown == 1 ? "" : "s", to->name);
    for (int f = 0; f < clip->nframe; f += step) {
        float *w = to->weight + (size_t)to->nframe * FA_ARKIT_COUNT, most = 0;
        memset(w, 0, FA_ARKIT_COUNT * sizeof *w);
        for (int c = 0; c < clip->nchan; c++)
            if (at[c] >= 0) w[at[c]] += clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c] / (float)count[at[c]];
        obey_recorded(w);
        for (int i = 0; i < p->nable; i++) most = fmaxf(most, w[p->able[i]]);
        if (most >= MOVES) to->nframe++;
    }
    if (to->nframe > 0)
        p->nclip++;
    else
        fai_note(&p->notes, "clip-still", to->name, "", "no frame of %s moves the face: it is not used", to->name);
    return FA_OK;
}

static FaCode take_file(FaPoses *p, const char *path, FaError *err) {
    FaClip *clip;
    FA_TRY(fa_clip_load(path, NULL, &clip, err));
    FaCode rc = take_clip(p, clip, path, err);
    fa_clip_free(clip);
    return rc;
}

static FaCode take_own(FaPoses *p, const char *name, FaError *err) {
    FaClip *clip;
    FA_TRY(fa_head_clip(name, &clip, err));
    FaCode rc = take_clip(p, clip, name, err);
    fa_clip_free(clip);
    return rc;
}

static FaCode open_clips(FaPoses *p, const char *const *clips, int nclip, FaError *err) {
    const char *const *own = fa_head_clip_names();
    int count = nclip;
    while (!nclip && own[count]) count++;
    p->clip = FA_PUSH(p->arena, count, FaPoseClip);
    if (!p->clip) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < count; i++) FA_TRY(nclip ? take_file(p, clips[i], err) : take_own(p, own[i], err));
    if (p->nclip == 0)
        return FA_FAIL(err, FA_E_ARG, nclip ? clips[0] : NULL, "give recordings of a face with ARKit's shape names",
                       "no frame of the clips moves the face");
    return FA_OK;
}

FaCode fai_poses_open(uint64_t seed, const char *const *clips, int nclip, const bool has[FA_ARKIT_COUNT],
                      FaPoses *poses, FaError *err) {
    *poses = (FaPoses){.seed = seed, .arena = fai_arena_new(0)};
    if (!poses->arena) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        if (has[i]) poses->able[poses->nable++] = i;
    FaCode rc = FA_OK;
    if (poses->nable == 0)
        rc = FA_FAIL(err, FA_E_ARG, NULL, "see what its shapes are called with fascia info, and name them by --map",
                     "the rig has none of ARKit's shapes");
    if (rc >= 0) rc = open_clips(poses, clips, nclip, err);
    if (rc < 0) fai_poses_close(poses);
    return rc;
}

void fai_poses_close(FaPoses *poses) {
    fai_arena_free(poses->arena);
    fai_notes_free(&poses->notes);
    *poses = (FaPoses){0};
}

uint64_t fai_poses_print(const FaPoses *poses) {
    uint64_t h = fai_hash64(poses->able, (size_t)poses->nable * sizeof(int), 1);
    for (int i = 0; i < poses->nclip; i++) {
        const FaPoseClip *c = &poses->clip[i];
        h = fai_hash64(c->name, strlen(c->name), h);
        h = fai_hash64(c->weight, (size_t)c->nframe * FA_ARKIT_COUNT * sizeof(float), h);
    }
    return h;
}

// --- drawing -------------------------------------------------------------------------------------------------------

// A pose's own numbers, one after the other.
typedef struct Dice {
    uint64_t seed, at;
} Dice;

static Dice dice_of(const FaPoses *p, uint64_t identity, int pose) {
    uint64_t person = fai_random_u64(p->seed ^ 0x706f736573u, identity);
    return (Dice){fai_random_u64(person, (uint64_t)pose), 0};
}
static double unit(Dice *d) { return fai_random_unit(d->seed, d->at++); }
static int below(Dice *d, int n) { return FA_MIN((int)(unit(d) * n), n - 1); }

static void add_shapes(const FaPoses *p, Dice *d, int most, float *w) {
    int count = 1 + below(d, most);
    for (int i = 0; i < count; i++) {
        int shape = p->able[below(d, p->nable)];
        float value = MOST * (float)unit(d);
        bool mirror = unit(d) < MIRROR;
        w[shape] += value;
        int other = fai_arkit_mirror(shape);
        if (!mirror || other == shape) continue;
        for (int k = 0; k < p->nable; k++)
            if (p->able[k] == other) w[other] += value;
    }
}

void fai_pose_draw(const FaPoses *p, uint64_t identity, int pose, float *w, FaSampleKind *kind, int *clip) {
    Dice d = dice_of(p, identity, pose);
    *kind = (FaSampleKind)(((uint64_t)pose + identity) % 3);
    *clip = -1;
    memset(w, 0, FA_ARKIT_COUNT * sizeof *w);
    if (*kind != FA_SAMPLE_RANDOM) {
        *clip = below(&d, p->nclip);
        const FaPoseClip *c = &p->clip[*clip];
        memcpy(w, c->weight + (size_t)below(&d, c->nframe) * FA_ARKIT_COUNT, FA_ARKIT_COUNT * sizeof *w);
    }
    if (*kind == FA_SAMPLE_CLIP) return;
    add_shapes(p, &d, *kind == FA_SAMPLE_RANDOM ? RANDOM_MOST : ADDED_MOST, w);
    fai_pose_obey(w);
}

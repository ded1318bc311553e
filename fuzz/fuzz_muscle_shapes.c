// The muscles of shapes, as they are in a face and in their partial file, size, sum and counts made right first: what
// is taken is sound, and is the same again.
#include "fuzz.h"

#include "muscle/blendmuscle.h"

#include <math.h>
#include <stdlib.h>

enum { SHAPES = 3, MUSCLES = 4, POINTS = 5, VERTICES = 40, HEADER = 48 };
static const uint64_t KEY = 11;

static void empty(FaBlendMuscles *b) {
    *b = (FaBlendMuscles){.nshape = SHAPES, .nmuscle = MUSCLES, .npoint = POINTS, .nvert = VERTICES, .key = KEY};
    if (!(b->shape = FA_NEW(SHAPES, FaBlendMuscle))) abort();
}

static void use(const uint8_t *data, size_t size) {
    FaBlendMuscles b, again;
    FaError err = {0};
    empty(&b), empty(&again);
    const int taken = fai_blend_muscles_unpack(&b, data, size, &err);
    if (taken != fai_blend_muscles_done(&b)) abort();
    for (int s = 0; s < SHAPES; s++)
        for (int i = 0; i < b.shape[s].nsnap; i++)
            if (b.shape[s].vertex[i] < 0 || b.shape[s].vertex[i] >= VERTICES || !isfinite(b.shape[s].snap[3 * i]))
                abort();
    const FaJaw jaw = {0};
    const float weights[SHAPES] = {0.5f, 1, -2};
    double activation[MUSCLES], track[3 * POINTS];
    FaPose pose;
    fai_blend_muscles_at(&b, &jaw, weights, activation, &pose, track);
    for (int i = 0; i < MUSCLES; i++)
        if (!(activation[i] >= 0 && activation[i] <= 1)) abort();
    FaText text = {0};
    fai_blend_muscles_pack(&b, &text);
    if (text.failed || fai_blend_muscles_unpack(&again, text.data, text.size, &err) != taken) abort();
    fai_text_free(&text);
    fai_blend_muscles_free(&b);
    fai_blend_muscles_free(&again);
}

static void mend(uint8_t *data, size_t size) {
    const int counts[4] = {SHAPES, MUSCLES, POINTS, VERTICES};
    memcpy(data + 32, counts, sizeof counts);
    const uint64_t total = size, sum = fai_hash64(data + 32, size - 32, KEY);
    memcpy(data, "FAMSH\r\n\x1a", 8);
    memcpy(data + 8, &KEY, 8);
    memcpy(data + 16, &total, 8);
    memcpy(data + 24, &sum, 8);
}

void fuzz_one(const uint8_t *data, size_t size) { fuzz_mended(data, size, HEADER, mend, use); }

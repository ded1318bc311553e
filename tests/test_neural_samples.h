// A set of samples of which the answer is known: a sheet whose correction is a sum over pairs of weights, twisted by
// who it is. No ridge regression from the difference can say that.
#ifndef TEST_NEURAL_SAMPLES_H
#define TEST_NEURAL_SAMPLES_H

#include "test.h"

#include "neural/net_template.h"
#include "neural/shard.h"

#include <sys/stat.h>

enum { SHEET_SIDE = 9, SHEET_VERTS = SHEET_SIDE * SHEET_SIDE, SHEET_WEIGHTS = 4, SHEET_CLIPS = 4, SHEET_IDS = 3 };
static const uint64_t SHEET_KEY = 21;

static inline double sheet_wave(int k, int v, int axis) { // smooth over the sheet, another for each k and axis
    const double x = v % SHEET_SIDE / (SHEET_SIDE - 1.0), y = v / SHEET_SIDE / (SHEET_SIDE - 1.0);
    return sin(3 * x + 1.3 * k + 2.1 * axis) * cos(4 * y - 0.7 * k + 0.9 * axis);
}

static inline float sheet_weight(uint64_t person, int pose, int s, int clip) {
    if (clip < 0) return (float)fmax(0, 1.6 * fai_random_unit(100 + person, (uint64_t)(pose * 64 + s)) - 0.4);
    const double at = 0.37 * pose + 0.11 * (double)person; // of a recording: weights that go together
    return (float)(0.5 + 0.5 * sin((1 + 0.3 * s) * at + clip * (1 + s)));
}

static inline void sheet_pose(const double *who, const float *w, double *d, double *c) {
    for (int v = 0; v < SHEET_VERTS; v++)
        for (int k = 0; k < 3; k++) {
            double *di = &d[3 * v + k], *ci = &c[3 * v + k];
            *di = *ci = 0;
            for (int s = 0; s < SHEET_WEIGHTS; s++) {
                const double shape = 0.01 * (1 + 0.3 * who[s % SHEET_IDS]) * sheet_wave(s, v, k);
                *di += w[s] * shape;
                for (int o = s + 1; o < SHEET_WEIGHTS; o++)
                    *ci += 0.003 * w[s] * w[o] * (1 + 0.5 * who[o % SHEET_IDS]) * sheet_wave(7 * s + o, v, k);
            }
        }
}

static inline void sheet_person(const char *dir, uint64_t person, int poses) {
    FaError err = {0};
    enum { N3 = 3 * SHEET_VERTS };
    double who[SHEET_IDS], d[N3], c[N3];
    FaShard s = {.key = SHEET_KEY, .identity = person, .nvert = SHEET_VERTS, .nweight = SHEET_WEIGHTS, .npose = poses};
    s.neutral = FA_NEW(N3, float), s.kind = FA_NEW(poses, int), s.clip = FA_NEW(poses, int);
    s.weight = FA_NEW(poses * SHEET_WEIGHTS, float);
    s.difference = FA_NEW(poses * N3, uint16_t), s.correction = FA_NEW(poses * N3, uint16_t);
    for (int i = 0; i < SHEET_IDS; i++) who[i] = 2 * fai_random_unit(7, person * 8 + (uint64_t)i) - 1;
    for (int v = 0; v < SHEET_VERTS; v++)
        for (int k = 0; k < 3; k++) {
            s.neutral[3 * v + k] = 0.02f * (float)(k == 0 ? v % SHEET_SIDE : k == 1 ? v / SHEET_SIDE : 0);
            for (int i = 0; i < SHEET_IDS; i++)
                s.neutral[3 * v + k] += (float)(0.005 * who[i] * sheet_wave(50 + i, v, k));
        }
    for (int p = 0; p < poses; p++) {
        s.clip[p] = p % 3 ? -1 : (p / 3 + (int)person) % SHEET_CLIPS;
        s.kind[p] = s.clip[p] < 0 ? FA_SAMPLE_RANDOM : FA_SAMPLE_CLIP;
        float *w = s.weight + p * SHEET_WEIGHTS;
        for (int k = 0; k < SHEET_WEIGHTS; k++) w[k] = sheet_weight(person, p, k, s.clip[p]);
        sheet_pose(who, w, d, c);
        for (int i = 0; i < N3; i++) {
            s.difference[p * N3 + i] = fai_half((float)d[i]);
            s.correction[p * N3 + i] = fai_half((float)c[i]);
        }
    }
    char path[512];
    snprintf(path, sizeof path, "%s/%06d.shard", dir, (int)person);
    CHECK_OK(fai_shard_write(path, &s, &err), &err);
    fai_shard_free(&s);
}

// A folder as fascia dataset leaves it.
static inline const char *sheet_set(const char *name, int people, int poses) {
    static char names[SHEET_CLIPS][64] = {"alex", "dao", "press", "rom"};
    static char dir[512];
    FaError err = {0};
    snprintf(dir, sizeof dir, "%s", test_path(name));
    mkdir(dir, 0777);
    FaTemplate m = {.key = SHEET_KEY,
                    .nvert = SHEET_VERTS,
                    .ntri = 1,
                    .nweight = SHEET_WEIGHTS,
                    .nclip = SHEET_CLIPS,
                    .clip = names,
                    .made = "a test"};
    m.mean = FA_NEW(3 * SHEET_VERTS, float), m.tri = FA_NEW(3, int), m.region = FA_NEW(SHEET_VERTS, unsigned char);
    m.shape = FA_NEW(3 * SHEET_VERTS * SHEET_WEIGHTS, float);
    m.tri[1] = 1, m.tri[2] = 2;
    for (int v = 0; v < SHEET_VERTS; v++) {
        m.region[v] = (unsigned char)(v < 8 ? 1 + v % 4 : 0);
        for (int k = 0; k < 3; k++) {
            m.mean[3 * v + k] = 0.02f * (float)(k == 0 ? v % SHEET_SIDE : k == 1 ? v / SHEET_SIDE : 0);
            for (int s = 0; s < SHEET_WEIGHTS; s++)
                m.shape[3 * (s * SHEET_VERTS + v) + k] = (float)(0.01 * sheet_wave(s, v, k));
        }
    }
    char path[600];
    snprintf(path, sizeof path, "%s/template", dir);
    CHECK_OK(fai_template_write(path, &m, &err), &err);
    fa_free(m.mean), fa_free(m.tri), fa_free(m.region), fa_free(m.shape);
    for (int i = 0; i < people; i++) sheet_person(dir, (uint64_t)i, poses);
    return dir;
}

#endif

// Fields of displacement per standard deviation, after ANSUR II, NIOSH 2003 and Farkas 1994 (means and deviations of
// adults). Bumps are Gaussian, so that sums of them stay smooth and one to one over the ranges allowed; near the eyes
// the warp is a similarity, so that lids keep lying on a round eye.
#include "head/identity.h"

#include "head/skin.h"

#include <math.h>

FaHeadInfo fa_head_identity(int i) {
    static const FaHeadInfo info[] = {
#define X(name, min, max, help) {#name, min, max, help},
        FA_HEAD_IDENTITY(X)
#undef X
    };
    FA_ASSERT(i >= 0 && i < FA_HEAD_IDENTITY_COUNT);
    return info[i];
}

int fa_head_identity_find(const char *name) {
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++)
        if (strcmp(fa_head_identity(i).name, name) == 0) return i;
    return -1;
}

void fa_head_params_seed(FaHeadParams *params, uint64_t seed) {
    memset(params->identity, 0, sizeof params->identity);
    if (seed == 0) return;
    // a common size and a common build make the parameters agree as they do in people
    double size = fai_random_normal(seed, 1000), build = fai_random_normal(seed, 1001);
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++) {
        FaHeadInfo info = fa_head_identity(i);
        double v = 0.75 * fai_random_normal(seed, (uint64_t)i);
        if (i == FA_HEAD_head_width || i == FA_HEAD_head_depth || i == FA_HEAD_head_height || i == FA_HEAD_face_height)
            v += 0.5 * size;
        if (i == FA_HEAD_jaw_width || i == FA_HEAD_chin_height || i == FA_HEAD_brow_ridge || i == FA_HEAD_neck_width)
            v += 0.5 * build;
        if (i == FA_HEAD_age) v = fabs(v);
        params->identity[i] = FA_MAX(FA_MAX(info.min, -2), FA_MIN(FA_MIN(info.max, 2), v));
    }
}

// One bump: displacement d (mm per unit) at c with radius r; mirrored to the other side unless c lies on the midline.
// flesh: bones do not follow, nor do teeth and the inside of the mouth, which lie on them; nose: of bones only the
// nasal ones follow; fat: as flesh, and muscles reach the skin less.
typedef enum Depth { BONE, NOSE, FLESH, FAT } Depth;
typedef struct Bump {
    int id;
    Depth depth;
    double c[3], d[3], r;
} Bump;

// clang-format off
static const Bump bumps[] = {
    {FA_HEAD_jaw_angle, BONE, {60, -46, 10}, {0, 3.5, 0}, 32},
    {FA_HEAD_chin_height, BONE, {0, -82, 76}, {0, -3, 0}, 34},
    {FA_HEAD_chin_projection, BONE, {0, -78, 80}, {0, 0, 3}, 32},
    {FA_HEAD_forehead_slope, BONE, {0, 100, 62}, {0, 0, -3.5}, 44},
    {FA_HEAD_temple_width, BONE, {66, 42, 34}, {1.5, 0, 0.5}, 26},
    {FA_HEAD_brow_ridge, BONE, {20, 51, 83}, {0, -0.3, 1.2}, 18},
    {FA_HEAD_brow_ridge, BONE, {46, 48, 70}, {0.3, -0.2, 1.0}, 16},
    {FA_HEAD_brow_height, FLESH, {30, 51, 79}, {0, 1.4, 0}, 22},
    {FA_HEAD_nose_bridge, BONE, {0, 27, 86}, {0, 0, 1.8}, 16},
    {FA_HEAD_nose_hump, BONE, {0, 13, 96}, {0, 0, 0.9}, 11},
    {FA_HEAD_nose_length, NOSE, {0, -10, 103}, {0, -2.2, 0}, 24},
    {FA_HEAD_nose_projection, NOSE, {0, -6, 106}, {0, 0, 2.2}, 24},
    {FA_HEAD_nose_tip, NOSE, {0, -8, 108}, {0, 1.4, 0.2}, 15},
    {FA_HEAD_cheekbone, BONE, {52, 2, 64}, {1.0, 0, 1.3}, 24},
    {FA_HEAD_cheek_fullness, FAT, {50, -30, 60}, {1.5, 0, 1.0}, 28},
    {FA_HEAD_mouth_height, FLESH, {0, -43, 88}, {0, -1.6, 0}, 30},
    {FA_HEAD_lip_upper, FLESH, {6, -34, 95}, {0, 0.45, 0.5}, 12},
    {FA_HEAD_lip_lower, FLESH, {6, -50, 92}, {0, -0.45, 0.5}, 12},
    {FA_HEAD_lip_projection, BONE, {0, -42, 92}, {0, 0, 1.4}, 26},
    {FA_HEAD_fat_temples, FAT, {64, 40, 38}, {1.1, 0, 0.6}, 26},
    {FA_HEAD_fat_cheekbones, FAT, {46, -4, 69}, {0.7, 0, 1.3}, 22},
    {FA_HEAD_fat_jowls, FAT, {46, -58, 50}, {2.0, -1.2, 0.8}, 30},
    {FA_HEAD_fat_chin, FAT, {12, -90, 58}, {0.3, -2.4, 0.5}, 28},
    {FA_HEAD_fat_brows, FAT, {34, 55, 77}, {0, -0.3, 0.8}, 24},
    {FA_HEAD_age, FAT, {42, -54, 62}, {0.5, -1.5, 0.3}, 26},
    {FA_HEAD_age, FAT, {40, -12, 73}, {0, -0.8, -0.8}, 22},
    {FA_HEAD_age, FAT, {14, -88, 60}, {0, -1.0, 0}, 26},
    {FA_HEAD_age, FAT, {40, 46, 74}, {0.2, -0.9, 0.2}, 18},
};
// clang-format on

static double gauss3(const double p[3], double cx, double cy, double cz, double r) {
    double x = p[0] - cx, y = p[1] - cy, z = p[2] - cz;
    return exp(-(x * x + y * y + z * z) / (r * r));
}

static double gauss1(double t, double r) { return exp(-t * t / (r * r)); }

// Sagging with age is no fat.
double fai_warp_fat(const FaiWarp *warp, const double p[3]) {
    double sum = 0;
    for (int i = 0; i < FA_COUNT(bumps); i++) {
        const Bump *b = bumps + i;
        double w = b->depth == FAT && b->id != FA_HEAD_age ? warp->value[b->id] : 0;
        if (w == 0) continue;
        sum += w * gauss3((double[]){fabs(p[0]), p[1], p[2]}, b->c[0], b->c[1], b->c[2], b->r);
    }
    return sum;
}

static void fields(const double *v, const double p[3], bool bone, double inner, double out[3]) {
    double d[3] = {0, 0, 0};
    double front = fai_smooth(-20, 40, p[2]);
    // proportions
    d[0] += p[0] * 0.034 * v[FA_HEAD_head_width];
    d[2] += p[2] * 0.034 * v[FA_HEAD_head_depth];
    d[1] += 0.045 * v[FA_HEAD_head_height] * (p[1] > 20 ? (p[1] - 20) * fai_smooth(20, 80, p[1]) : 0);
    d[1] += 0.042 * v[FA_HEAD_face_height] * (p[1] < 28 ? (p[1] - 28) * front : 0);
    d[0] += p[0] * 0.034 * v[FA_HEAD_face_width] * gauss1(p[1] - 2, 42) * front;
    d[0] += p[0] * 0.062 * v[FA_HEAD_jaw_width] * gauss1(p[1] + 50, 36) * gauss1(p[2] - 15, 45);
    d[0] += p[0] * 0.10 * v[FA_HEAD_chin_width] * gauss3(p, 0, -78, 78, 30);
    if (!bone) {
        d[0] += (1 - inner) * p[0] * 0.127 * v[FA_HEAD_nose_width] * gauss1(p[1] + 11, 18) *
                gauss3((double[]){p[0], 0, p[2]}, 0, 0, 92, 34);
        d[0] += (1 - inner) * p[0] * 0.075 * v[FA_HEAD_mouth_width] * gauss3(p, 0, -43, 82, 32);
    }
    double neck = fai_smooth(-62, -100, p[1]);
    d[0] += p[0] * 0.04 * v[FA_HEAD_neck_width] * neck;
    d[2] += (p[2] + 22) * 0.04 * v[FA_HEAD_neck_width] * neck;
    // local forms
    for (int i = 0; i < FA_COUNT(bumps); i++) {
        const Bump *b = bumps + i;
        double w = v[b->id];
        if (w == 0 || (bone && b->depth > NOSE)) continue;
        if (b->depth == NOSE && bone)
            w *= fai_smooth(4, 10, p[1]) * fai_smooth(13, 7, fabs(p[0])) * fai_smooth(74, 82, p[2]);
        else if (b->depth != BONE)
            w *= 1 - inner;
        double g = w * gauss3(p, b->c[0], b->c[1], b->c[2], b->r),
               h = b->c[0] > 0 ? w * gauss3(p, -b->c[0], b->c[1], b->c[2], b->r) : 0;
        d[0] += b->d[0] * (g - h);
        d[1] += b->d[1] * (g + h);
        d[2] += b->d[2] * (g + h);
    }
    for (int k = 0; k < 3; k++) out[k] = p[k] + d[k];
}

void fai_warp_begin(FaiWarp *warp, const double value[FA_HEAD_IDENTITY_COUNT]) {
    memset(warp, 0, sizeof *warp);
    memcpy(warp->value, value, sizeof warp->value);
    warp->eye_scale = 1 + 0.025 * value[FA_HEAD_eye_size];
    warp->eye_turn = 1.6 * M_PI / 180 * value[FA_HEAD_eye_tilt];
    warp->mean = true;
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++) warp->mean = warp->mean && value[i] == 0;
    static const double incisor[3] = {0, -42.5, 83};
    double joint[3], eye[3], bite[3];
    fields(warp->value, incisor, true, 0, bite);
    fields(warp->value, (double[]){48, 0, 0}, true, 0, joint);
    fields(warp->value, (double[]){EYE_X, EYE_Y, EYE_Z}, true, 0, eye);
    warp->shift[1] = -joint[1], warp->shift[2] = -joint[2];
    warp->joint = joint[0];
    warp->reach = hypot(bite[1] + warp->shift[1], bite[2] + warp->shift[2]) / hypot(incisor[1], incisor[2]);
    warp->eye[0] = eye[0] + 1.7 * value[FA_HEAD_eye_spacing];
    warp->eye[1] = eye[1] + warp->shift[1];
    warp->eye[2] = eye[2] - 1.0 * value[FA_HEAD_eye_depth] + warp->shift[2];
}

void fai_warp_eye(const FaiWarp *warp, int side, const double p[3], double out[3]) {
    double c = cos(warp->eye_turn) * warp->eye_scale, s = sin(warp->eye_turn) * warp->eye_scale;
    double x = side * p[0] - EYE_X, y = p[1] - EYE_Y, z = p[2] - EYE_Z;
    out[0] = side * (warp->eye[0] + c * x - s * y);
    out[1] = warp->eye[1] + s * x + c * y;
    out[2] = warp->eye[2] + warp->eye_scale * z;
}

// The ear grows about its root and turns about the vertical there.
static void ear_motion(const FaiWarp *warp, const double p[3], double out[3]) {
    double side = p[0] < 0 ? -1 : 1, k = 1 + 0.06 * warp->value[FA_HEAD_ear_size],
           a = 4 * M_PI / 180 * warp->value[FA_HEAD_ear_angle];
    double x = k * (side * p[0] - 74), y = k * (p[1] - 2), z = k * (p[2] + 11);
    double turn = a * fai_smooth(2, 12, -z); // only what lies behind the root turns
    out[0] = side * (74 + x * cos(turn) - z * sin(turn)) - p[0];
    out[1] = 2 + y - p[1];
    out[2] = -11 + x * sin(turn) + z * cos(turn) - p[2];
}

void fai_warp_point(const FaiWarp *warp, const double p[3], bool bone, double inner, double ear, double out[3]) {
    fields(warp->value, p, bone, inner, out);
    for (int k = 0; k < 3; k++) out[k] += warp->shift[k];
    int side = p[0] < 0 ? -1 : 1;
    double x = side * p[0] - EYE_X, y = p[1] - EYE_Y, z = p[2] - EYE_Z, far = sqrt(x * x + y * y + z * z);
    double near = fai_smooth(31, 17.5, far);
    if (near > 0) {
        double e[3];
        fai_warp_eye(warp, side, p, e);
        for (int k = 0; k < 3; k++) out[k] += near * (e[k] - out[k]);
    }
    if (ear > 0) {
        double e[3];
        ear_motion(warp, p, e);
        for (int k = 0; k < 3; k++) out[k] += ear * e[k];
    }
}

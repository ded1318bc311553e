// Clips written by code: curves over the 52 shapes and the motion of the head, 60 frames per second.
#include "base/base.h"
#include "fascia/head.h"
#include "head/shape_ids.h"
#include "head/skin.h"

#include <math.h>

static const double FPS = 60;

typedef struct Take {
    FaClip *clip;
    int n; // frames
} Take;

static float *weights_at(Take *t, int frame) { return t->clip->weight + (size_t)frame * FA_ARKIT_COUNT; }

// Rise and fall between t0 and t1 with flanks of `flank` seconds.
static double hold(double t, double t0, double t1, double flank) {
    return fai_smooth(t0, t0 + flank, t) * fai_smooth(t1, t1 - flank, t);
}

// Turn by yaw (to the left), pitch (up) and roll about the neck's joint, radians, then move.
static void set_head(Take *t, int frame, double yaw, double pitch, double roll, const double move[3]) {
    static const double neck[3] = {0, -0.085, -0.025}; // where the skull turns on the spine, m
    double cy = cos(yaw / 2), sy = sin(yaw / 2), cp = cos(-pitch / 2), sp = sin(-pitch / 2), cr = cos(roll / 2),
           sr = sin(roll / 2);
    // quaternion of yaw (y), then pitch (x), then roll (z) in the head's own axes
    double a[4] = {cy * sp, sy * cp, -sy * sp, cy * cp};
    double q[4] = {a[0] * cr + a[1] * sr, a[1] * cr - a[0] * sr, a[2] * cr + a[3] * sr, a[3] * cr - a[2] * sr};
    double x = q[0], y = q[1], z = q[2], w = q[3];
    double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                   2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                   2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    FaPose *pose = t->clip->head + frame;
    memcpy(pose->q, q, sizeof q);
    for (int k = 0; k < 3; k++)
        pose->p[k] = move[k] + neck[k] - (r[3 * k] * neck[0] + r[3 * k + 1] * neck[1] + r[3 * k + 2] * neck[2]);
}

static const double still[3] = {0, 0, 0};

static void blink_at(Take *t, double when) {
    for (int f = 0; f < t->n; f++) {
        // lids fall faster than they rise
        double s = f / FPS - when, b = fai_smooth(0, 0.08, s) * fai_smooth(0.26, 0.11, s);
        if (b <= 0) continue;
        float *w = weights_at(t, f);
        w[eyeBlinkLeft] = fmaxf(w[eyeBlinkLeft], (float)b), w[eyeBlinkRight] = fmaxf(w[eyeBlinkRight], (float)b);
    }
}

// --- talk -----------------------------------------------------------------------------------------------------------

typedef struct Viseme {
    char code;
    struct {
        int shape;
        double w;
    } part[8];
} Viseme;

#define TWO(s, w)                                                                                                      \
    {s##Left, w}, { s##Right, w }
// clang-format off
static const Viseme visemes[] = {
    {'A', {{jawOpen, 0.55}, TWO(mouthLowerDown, 0.25), TWO(mouthUpperUp, 0.15)}},
    {'E', {{jawOpen, 0.32}, TWO(mouthStretch, 0.20), TWO(mouthSmile, 0.15), TWO(mouthLowerDown, 0.2)}},
    {'I', {{jawOpen, 0.16}, TWO(mouthSmile, 0.32), TWO(mouthStretch, 0.18), TWO(mouthLowerDown, 0.15)}},
    {'O', {{jawOpen, 0.38}, {mouthFunnel, 0.45}, {mouthPucker, 0.25}}},
    {'U', {{jawOpen, 0.14}, {mouthPucker, 0.70}, {mouthFunnel, 0.22}}},
    {'P', {{jawOpen, 0.07}, {mouthClose, 0.07}, TWO(mouthPress, 0.45), {mouthRollLower, 0.15}, {mouthRollUpper, 0.10}}},
    {'F', {{jawOpen, 0.09}, {mouthRollLower, 0.42}, TWO(mouthUpperUp, 0.22)}},
    {'T', {{jawOpen, 0.13}, TWO(mouthLowerDown, 0.2), TWO(mouthSmile, 0.08)}},
    {'S', {{jawOpen, 0.06}, TWO(mouthStretch, 0.15), TWO(mouthLowerDown, 0.18), {mouthFunnel, 0.06}}},
    {'K', {{jawOpen, 0.22}, TWO(mouthLowerDown, 0.12)}},
    {'R', {{jawOpen, 0.15}, {mouthPucker, 0.30}, {mouthFunnel, 0.16}}},
    {'C', {{jawOpen, 0.10}, {mouthFunnel, 0.40}, {mouthPucker, 0.25}}},
    {'H', {{jawOpen, 0.20}, {tongueOut, 0.10}, TWO(mouthLowerDown, 0.15)}},
    {'W', {{jawOpen, 0.06}, {mouthPucker, 0.75}}},
};
// clang-format on

// "Faces are blendshapes; physics gives them flesh. The jaw turns on its hinge, lips meet, and every word moves them
// all."
static const char talk_text[] =
    " FESIS AR PTETCEPS   FISIKS KIFS HEP FTEC    HE CO TRTS AT ITS ITC   TIPS PIT   AT EFRI WRT PUFS HEP OT    ";

static void say(Take *t, const char *text, double start, double rate) {
    for (int i = 0; text[i]; i++) {
        const Viseme *v = NULL;
        for (int k = 0; k < FA_COUNT(visemes); k++)
            if (visemes[k].code == text[i]) v = &visemes[k];
        if (!v) continue;
        // each sound is prepared before and outlasts its own time: neighbours overlap; lips that must shut do so
        // sharply
        double mid = start + (i + 0.5) / rate, wide = (v->code == 'P' || v->code == 'F' ? 0.95 : 1.25) / rate;
        for (int f = 0; f < t->n; f++) {
            double s = (f / FPS - mid) / wide, k = fabs(s) < 1 ? 0.5 + 0.5 * cos(M_PI * s) : 0;
            if (k <= 0) continue;
            float *w = weights_at(t, f);
            for (int p = 0; p < 8 && v->part[p].w > 0; p++) {
                float *x = &w[v->part[p].shape];
                *x = fminf(1, fmaxf(*x, (float)(k * v->part[p].w)) + 0.25f * fminf(*x, (float)(k * v->part[p].w)));
            }
        }
    }
}

static void do_talk(Take *t) {
    say(t, talk_text, 0.25, 11.2);
    static const double blinks[] = {0.9, 3.4, 5.2, 5.55, 8.3};
    for (int i = 0; i < FA_COUNT(blinks); i++) blink_at(t, blinks[i]);
    for (int f = 0; f < t->n; f++) {
        float *w = weights_at(t, f);
        double s = f / FPS, talk = fai_smooth(0, 0.6, s) * fai_smooth(10, 9.2, s);
        // mouthClose only holds what the jaw opens
        w[mouthClose] = fminf(w[mouthClose], w[jawOpen]);
        // the brow stresses words; eyes wander in small jumps
        double up = 0.45 * hold(s, 1.6, 2.4, 0.25) + 0.6 * hold(s, 4.6, 5.4, 0.2) + 0.35 * hold(s, 7.6, 8.2, 0.2);
        w[browInnerUp] = (float)up, w[browOuterUpLeft] = (float)(0.6 * up), w[browOuterUpRight] = (float)(0.75 * up);
        w[browDownLeft] = w[browDownRight] = (float)(0.3 * hold(s, 3.0, 4.2, 0.3));
        double look = 0.22 * hold(s, 2.2, 3.3, 0.05) - 0.28 * hold(s, 5.5, 6.6, 0.05),
               down = 0.2 * hold(s, 6.6, 7.4, 0.06);
        w[eyeLookOutLeft] = w[eyeLookInRight] = (float)fmax(0, look);
        w[eyeLookInLeft] = w[eyeLookOutRight] = (float)fmax(0, -look);
        w[eyeLookDownLeft] = w[eyeLookDownRight] = (float)down;
        w[cheekSquintLeft] = w[cheekSquintRight] = 0.25f * fmaxf(w[mouthSmileLeft], w[mouthSmileRight]);
        double yaw = 0.05 * sin(1.3 * s) + 0.03 * sin(2.9 * s + 1),
               pitch = 0.03 * sin(2.1 * s + 0.4) + 0.025 * sin(5.3 * s) + 0.05 * up;
        set_head(t, f, talk * yaw, talk * (pitch - 0.01), talk * 0.02 * sin(1.7 * s), still);
    }
}

// --- the others -----------------------------------------------------------------------------------------------------

static const double ROM_STEP = 0.6;

static void do_rom(Take *t) {
    for (int f = 0; f < t->n; f++) {
        float *w = weights_at(t, f);
        double s = f / FPS;
        for (int i = 0; i < FA_ARKIT_COUNT; i++) {
            double u = (s - ROM_STEP * i) / ROM_STEP, k = u > 0 && u < 1 ? 0.5 - 0.5 * cos(2 * M_PI * u) : 0;
            w[i] = fmaxf(w[i], (float)k);
            if (i == mouthClose) w[jawOpen] = fmaxf(w[jawOpen], (float)k); // lips held shut against the opening jaw
            if (i == tongueOut) w[jawOpen] = fmaxf(w[jawOpen], (float)(0.55 * k)); // there must be a way out
        }
        set_head(t, f, 0, 0, 0, still);
    }
}

static void do_run(Take *t) {
    const double step = 2 * M_PI * 2.8; // 168 steps a minute
    for (int f = 0; f < t->n; f++) {
        float *w = weights_at(t, f);
        double s = f / FPS, on = fai_smooth(0, 1.2, s), p = step * s;
        // three harmonics whose accelerations peak together at landing: 2.5 g
        double move[3] = {0.012 * on * sin(p / 2), on * (-0.030 * cos(p) - 0.0078 * cos(2 * p) - 0.0021 * cos(3 * p)),
                          0.009 * on * sin(p + 0.6)};
        set_head(t, f, on * 0.05 * sin(p / 2 + 0.5), on * (0.035 * sin(p + 0.9) + 0.012 * sin(2 * p)),
                 on * 0.03 * sin(p / 2), move);
        double breath = 0.5 + 0.5 * sin(p / 4);
        w[jawOpen] = (float)(on * (0.08 + 0.14 * breath));
        w[mouthStretchLeft] = w[mouthStretchRight] = (float)(0.18 * on * breath);
        w[eyeSquintLeft] = w[eyeSquintRight] = (float)(0.3 * on);
        w[browDownLeft] = w[browDownRight] = (float)(0.2 * on);
        w[noseSneerLeft] = w[noseSneerRight] = (float)(0.12 * on * breath);
    }
    blink_at(t, 1.9);
    blink_at(t, 4.3);
}

static void do_shake(Take *t) {
    for (int f = 0; f < t->n; f++) {
        double s = f / FPS, on = hold(s, 0.3, 3.6, 0.5);
        set_head(t, f, 0.62 * on * sin(2 * M_PI * 2.2 * (s - 0.3)), 0,
                 0.08 * on * sin(2 * M_PI * 2.2 * (s - 0.3) + 0.7), still);
        float *w = weights_at(t, f);
        w[eyeSquintLeft] = w[eyeSquintRight] = (float)(0.25 * on);
        w[mouthPressLeft] = w[mouthPressRight] = (float)(0.2 * on);
    }
    blink_at(t, 0.25);
    blink_at(t, 3.7);
}

static void do_nod(Take *t) {
    for (int f = 0; f < t->n; f++) {
        double s = f / FPS, on = hold(s, 0.3, 3.6, 0.5);
        set_head(t, f, 0, -0.30 * on * sin(2 * M_PI * 1.8 * (s - 0.3)), 0, still);
        float *w = weights_at(t, f);
        w[mouthSmileLeft] = w[mouthSmileRight] = (float)(0.25 * on);
        w[browInnerUp] = (float)(0.2 * on);
    }
    blink_at(t, 1.2);
    blink_at(t, 3.0);
}

static void do_press(Take *t) {
    for (int f = 0; f < t->n; f++) {
        float *w = weights_at(t, f);
        double s = f / FPS, press = 0, pop = 0;
        for (int i = 0; i < 4; i++) {
            double at = 0.4 + 1.15 * i;
            press += hold(s, at, at + 0.75, 0.22), pop += hold(s, at + 0.66, at + 1.02, 0.12);
        }
        w[mouthPressLeft] = w[mouthPressRight] = (float)fmin(1, press);
        w[mouthRollLower] = (float)(0.35 * press), w[mouthRollUpper] = (float)(0.25 * press);
        w[mouthClose] = (float)(0.05 * press), w[mouthShrugLower] = (float)(0.25 * press);
        w[cheekPuff] = (float)(0.2 * press);
        w[jawOpen] = (float)(0.18 * pop), w[mouthFunnel] = (float)(0.25 * pop);
        set_head(t, f, 0, -0.02 * press, 0, still);
    }
    blink_at(t, 2.4);
}

// "Pa pa ma": as face trackers give it, mouthClose runs ahead of the jaw it is to close, so that blended lips go
// through each other.
static void do_plosive(Take *t) {
    for (int f = 0; f < t->n; f++) {
        float *w = weights_at(t, f);
        double s = f / FPS, shut = 0, open = 0;
        for (int i = 0; i < 5; i++) {
            double at = 0.2 + 0.44 * i;
            shut = fmax(shut, hold(s, at, at + 0.2, 0.07)), open = fmax(open, hold(s, at + 0.17, at + 0.42, 0.09));
        }
        w[jawOpen] = (float)(0.06 * shut + 0.45 * open), w[mouthClose] = (float)(0.2 * shut);
        w[mouthPressLeft] = w[mouthPressRight] = (float)(0.35 * shut);
        w[mouthRollLower] = (float)(0.15 * shut), w[cheekPuff] = (float)(0.1 * shut);
        w[mouthLowerDownLeft] = w[mouthLowerDownRight] = (float)(0.25 * open);
        w[mouthUpperUpLeft] = w[mouthUpperUpRight] = (float)(0.2 * open);
        w[browInnerUp] = (float)(0.25 * hold(s, 0.4, 2.2, 0.4));
        set_head(t, f, 0.04 * sin(2.4 * s), 0.03 * open - 0.02 * shut, 0, still);
    }
    blink_at(t, 1.3);
}

// A smile that comes and goes at once, twice.
static void do_smile(Take *t) {
    for (int f = 0; f < t->n; f++) {
        float *w = weights_at(t, f);
        double s = f / FPS, on = hold(s, 0.25, 1.0, 0.09) + hold(s, 1.5, 2.2, 0.09);
        w[mouthSmileLeft] = w[mouthSmileRight] = (float)(0.95 * on);
        w[mouthDimpleLeft] = w[mouthDimpleRight] = (float)(0.25 * on);
        w[cheekSquintLeft] = w[cheekSquintRight] = (float)(0.7 * on);
        w[eyeSquintLeft] = w[eyeSquintRight] = (float)(0.35 * on);
        w[mouthUpperUpLeft] = w[mouthUpperUpRight] = (float)(0.25 * on);
        w[jawOpen] = (float)(0.12 * on), w[browInnerUp] = (float)(0.3 * on);
        set_head(t, f, 0, 0, 0, still);
    }
}

// A laugh: a wide smile, a jaw that goes "ha ha ha", a head thrown back.
static void do_laugh(Take *t) {
    for (int f = 0; f < t->n; f++) {
        float *w = weights_at(t, f);
        double s = f / FPS, on = hold(s, 0.25, 2.75, 0.35), ha = hold(s, 0.6, 2.5, 0.25);
        double beat = ha * (0.5 - 0.5 * cos(2 * M_PI * 3.2 * (s - 0.6)));
        w[mouthSmileLeft] = (float)(0.9 * on), w[mouthSmileRight] = (float)(0.75 * on);
        w[cheekSquintLeft] = w[cheekSquintRight] = (float)(0.8 * on);
        w[eyeSquintLeft] = w[eyeSquintRight] = (float)(0.6 * on);
        w[noseSneerLeft] = w[noseSneerRight] = (float)(0.25 * on);
        w[jawOpen] = (float)(0.12 * on + 0.42 * beat);
        w[mouthUpperUpLeft] = w[mouthUpperUpRight] = (float)(0.3 * on + 0.15 * beat);
        w[mouthLowerDownLeft] = w[mouthLowerDownRight] = (float)(0.15 * on + 0.2 * beat);
        w[browInnerUp] = (float)(0.45 * on), w[browOuterUpLeft] = w[browOuterUpRight] = (float)(0.4 * on);
        set_head(t, f, 0.10 * on * sin(1.9 * s), 0.10 * ha + 0.03 * beat, 0.05 * on * sin(2.6 * s), still);
    }
}

static const struct {
    const char *name;
    double seconds;
    void (*make)(Take *t);
} clips[] = {
    {"talk", 10, do_talk},        {"rom", 31.2, do_rom},    {"run", 6, do_run},
    {"shake", 4, do_shake},       {"nod", 4, do_nod},       {"press", 5, do_press},
    {"plosive", 2.5, do_plosive}, {"smile", 2.6, do_smile}, {"laugh", 3, do_laugh},
};

const char *const *fa_head_clip_names(void) {
    static const char *const names[] = {"talk",  "rom",     "run",   "shake", "nod",
                                        "press", "plosive", "smile", "laugh", NULL};
    return names;
}

FaCode fa_head_clip(const char *name, FaClip **clip, FaError *err) {
    *clip = NULL;
    const char *shape[FA_ARKIT_COUNT];
    for (int i = 0; i < FA_ARKIT_COUNT; i++) shape[i] = fa_arkit_name(i);
    for (int i = 0; i < FA_COUNT(clips); i++) {
        if (strcmp(clips[i].name, name) != 0) continue;
        Take t = {.n = (int)(clips[i].seconds * FPS + 0.5)};
        FA_TRY(fa_clip_new(t.n, FA_ARKIT_COUNT, shape, FPS, &t.clip, err));
        t.clip->head = FA_NEW(t.n, FaPose);
        if (!t.clip->head) {
            fa_clip_free(t.clip);
            return FA_FAIL_MEMORY(err);
        }
        clips[i].make(&t);
        *clip = t.clip;
        return FA_OK;
    }
    return FA_FAIL(err, FA_E_ARG, "clip", "choose talk, rom, run, shake, nod, press, plosive, smile or laugh",
                   "there is no clip '%s'", name);
}

#include "muscle/marks.h"

#include "math/mat3.h"
#include "rig/mean_head.h"

#include <math.h>

static const double ADULT[2] = {5.2, 7.8}; // mm: of a blink on the shipped head, as blink_size has it
static const double LARGER = 1.45;
static const double FAR = 25;     // mm from where eyes and mouth alone have it: another thing, or hair
static const double MUZZLE = 150; // mm: longer ones are none

// Middle of what moves most. Up to four shapes, whose middles are averaged: rigs differ in each of them.
typedef struct Moved {
    const char *name, *shape[4];
    double at[3]; // on the mean head, mm
    bool mouth;   // goes along with a muzzle
} Moved;

// How far the vertices of a box stand out in a direction; where that is along an axis, at the middle of the box.
typedef struct Outmost {
    const char *name;
    double lo[3], hi[3], way[3]; // mean head, mm
    bool slides;
    double at[3];
    bool mouth;
} Outmost;

// Where the head that ships has them, by this very code. Left ones have x > 0, and a mirror image.
static const Moved moved[] = {
    {"corner of the mouth",
     {"mouthSmileLeft", "mouthFrownLeft", "mouthDimpleLeft", "mouthStretchLeft"},
     {23.7, -43.7, 80.1},
     true},
    {"lids", {"eyeBlinkLeft"}, {32.3, 32.6, 73.5}, false},
    {"end of the brow", {"browOuterUpLeft"}, {45.2, 52.2, 70.1}, false},
    {"head of the brow", {"browInnerUp"}, {0, 52.6, 84}, false},
    {"lips", {"mouthPucker", "mouthFunnel"}, {0, -43.3, 87.9}, true},
};
static const Outmost outmost[] = {
    {"tip of the nose", {-12, -25, 60}, {12, 15, 140}, {0, 0, 1}, false, {0, -6.4, 108.8}, true},
    {"chin", {-10, -120, 45}, {10, -52, 120}, {0, -0.8, 0.6}, false, {0, -85.9, 79.1}, true},
    {"side of the cheek", {35, -2, 22}, {110, 10, 38}, {1, 0, 0}, true, {71.9, 6, 28.6}, false},
    {"side of the jaw", {25, -52, 22}, {110, -38, 38}, {1, 0, 0}, true, {64, -45.9, 28.6}, false},
    {"side of the forehead", {25, 60, 22}, {110, 75, 38}, {1, 0, 0}, true, {68.8, 73.1, 28.6}, false},
    {"forehead", {-8, 76, 30}, {8, 90, 130}, {0, 0, 1}, true, {0, 89.5, 74.2}, false},
};

static void from_mm(const FaMeanHead *h, const double mm[3], double out[3]) {
    double q[3];
    for (int k = 0; k < 3; k++) q[k] = (mm[k] - h->offset[k]) / h->scale[k];
    fai_m3_tmulv(h->axes, q, out); // axes are a rotation
}

// --- shapes -------------------------------------------------------------------------------------------------------

// The middle of a shape's motion, the sixth power of its length as weight, mm. False: the rig has no such shape.
static bool middle_of(const FaRig *rig, const FaMeanHead *h, const char *name, double out[3]) {
    int arkit = fa_arkit_match(name, NULL);
    double sum[4] = {0}, most = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int s = 0; s < rig->nshape; s++) {
            const FaShape *shape = &rig->shape[s];
            if (arkit < 0 || shape->arkit != arkit) continue;
            for (int e = shape->first; e < shape->first + shape->count; e++) {
                double d[3], mm[3];
                fai_v3_load(rig->delta, e, d);
                double size = fai_v3_dot(d, d);
                if (pass == 0) most = fmax(most, size);
                if (pass == 0 || !(most > 0)) continue;
                double w = size / most;
                w = w * w * w;
                if (!fai_mean_head_mm(h, rig->mesh.x + 3 * (size_t)rig->row[e], mm)) continue;
                for (int k = 0; k < 3; k++) sum[k] += w * mm[k];
                sum[3] += w;
            }
        }
    if (!(sum[3] > 0)) return false;
    fai_v3_scale(1 / sum[3], sum, out);
    return true;
}

// How wide what a blink moves is, and how far it goes at most, mm. False: there is no such shape.
static bool blink_size(const FaRig *rig, const FaMeanHead *h, const char *name, double size[2]) {
    double middle[3], sum = 0, all = 0, most = 0;
    int arkit = fa_arkit_match(name, NULL);
    if (!middle_of(rig, h, name, middle)) return false;
    for (int s = 0; s < rig->nshape; s++)
        for (int e = rig->shape[s].first; rig->shape[s].arkit == arkit && e < rig->shape[s].first + rig->shape[s].count;
             e++) {
            const float *x = rig->mesh.x + 3 * (size_t)rig->row[e];
            float to[3];
            double a[3], b[3], w = 0;
            for (int k = 0; k < 3; k++) to[k] = x[k] + rig->delta[3 * (size_t)e + (size_t)k];
            if (!fai_mean_head_mm(h, x, a) || !fai_mean_head_mm(h, to, b)) continue;
            for (int k = 0; k < 3; k++) w += (b[k] - a[k]) * (b[k] - a[k]);
            most = fmax(most, w);
            sum += w * (a[0] - middle[0]) * (a[0] - middle[0]), all += w;
        }
    size[0] = all > 0 ? sqrt(sum / all) : 0, size[1] = sqrt(most);
    return all > 0;
}

// Drawn heads have larger eyes, and rings around them have to be larger; adults differ too little to count.
static void find_eyes(const FaRig *rig, const FaMeanHead *h, double eye[2]) {
    double size[2], sum[2] = {0};
    int n = 0;
    for (int right = 0; right < 2; right++)
        if (blink_size(rig, h, right ? "eyeBlinkRight" : "eyeBlinkLeft", size))
            sum[0] += size[0], sum[1] += size[1], n++;
    for (int k = 0; k < 2; k++) {
        double ratio = n ? sum[k] / n / ADULT[k] : 1;
        eye[k] = ratio > LARGER ? fmin(ratio, 2) : 1;
    }
}

// "mouthSmileLeft" to "mouthSmileRight".
static void other_side(const char *name, char *out, size_t size) {
    size_t n = strlen(name);
    bool left = n > 4 && strcmp(name + n - 4, "Left") == 0;
    snprintf(out, size, "%.*s%s", (int)(left ? n - 4 : n), name, left ? "Right" : "");
}

static bool find_moved(const FaRig *rig, const FaMeanHead *h, const Moved *m, bool right, double out[3]) {
    double sum[3] = {0}, one[3];
    int n = 0;
    for (int k = 0; k < FA_COUNT(m->shape) && m->shape[k]; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s", m->shape[k]);
        if (right) other_side(m->shape[k], name, sizeof name);
        if (!middle_of(rig, h, name, one)) continue;
        fai_v3_add(sum, one, sum);
        n++;
    }
    if (n) fai_v3_scale(1.0 / n, sum, out);
    return n > 0;
}

// --- skin ---------------------------------------------------------------------------------------------------------

static bool find_outmost(const FaRig *rig, const FaMeanHead *h, const Outmost *o, bool right, double out[3]) {
    double best = -INFINITY;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double mm[3];
        if (!fai_mean_head_mm(h, rig->mesh.x + 3 * (size_t)v, mm)) return false;
        if (right) mm[0] = -mm[0];
        bool in = true;
        for (int k = 0; k < 3; k++) in = in && mm[k] >= o->lo[k] && mm[k] <= o->hi[k];
        double far = fai_v3_dot(mm, o->way);
        if (!in || far <= best) continue;
        best = far;
        memcpy(out, mm, sizeof mm);
    }
    if (!isfinite(best)) return false;
    // sides slide: how wide or deep the head is at a height is known, the height is given
    for (int k = 0; k < 3; k++)
        if (fabs(o->way[k]) == 0 && o->slides) out[k] = 0.5 * (o->lo[k] + o->hi[k]);
    if (right) out[0] = -out[0];
    return true;
}

// How far in front of a face's a mouth is, mm, where both corners and the lips agree on it: a muzzle. 0: it is not.
static double muzzle(const FaRig *rig, const FaMeanHead *h) {
    double far[4], least = INFINITY, most = -INFINITY, found[3];
    int n = 0;
    for (int i = 0; i < FA_COUNT(moved); i++)
        for (int right = 0; moved[i].mouth && right < 1 + (moved[i].at[0] > 0); right++)
            if (n < FA_COUNT(far) && find_moved(rig, h, &moved[i], right, found)) far[n++] = found[2] - moved[i].at[2];
    for (int i = 0; i < n; i++) least = fmin(least, far[i]), most = fmax(most, far[i]);
    return n >= 3 && least > 0.6 * FAR && most - least < FAR && most < MUZZLE ? 0.5 * (least + most) : 0;
}

// --- entry --------------------------------------------------------------------------------------------------------

static void add_mark(FaMuscleMarks *marks, const FaMeanHead *h, const char *name, const double at[3], bool right,
                     double ahead, const double found[3]) {
    double from[3] = {right ? -at[0] : at[0], at[1], at[2]}, d[3];
    fai_v3_sub(found, from, d);
    d[2] -= ahead;
    double far = fai_v3_norm(d);
    if (!(far <= FAR)) {
        marks->dropped++;
        return;
    }
    FA_ASSERT(marks->n < FA_MARKS);
    double to[3];
    from_mm(h, found, to);
    marks->name[marks->n] = name;
    memcpy(marks->from + 3 * (size_t)marks->n, from, sizeof from);
    memcpy(marks->to + 3 * (size_t)marks->n++, to, sizeof to);
    from_mm(h, from, d);
    fai_v3_sub(to, d, d);
    marks->worst = fmax(marks->worst, fai_v3_norm(d));
}

FaCode fai_muscle_marks(const FaRig *rig, FaMuscleMarks *marks, FaError *err) {
    *marks = (FaMuscleMarks){0};
    FaMeanHead h = fai_mean_head_find(rig);
    if (!h.found)
        return FA_FAIL(err, FA_E_ARG, NULL, "use a rig with eyeBlink and mouthPucker or mouthFunnel",
                       "muscles cannot be placed: no shape tells where eyes and mouth are");
    double found[3];
    find_eyes(rig, &h, marks->eye);
    const double ahead = muzzle(rig, &h);
    for (int i = 0; i < FA_COUNT(moved); i++)
        for (int right = 0; right < 1 + (moved[i].at[0] > 0); right++)
            if (find_moved(rig, &h, &moved[i], right, found))
                add_mark(marks, &h, moved[i].name, moved[i].at, right, moved[i].mouth ? ahead : 0, found);
    for (int i = 0; i < FA_COUNT(outmost); i++) {
        Outmost o = outmost[i];
        if (o.mouth) o.hi[2] += ahead, o.lo[2] += 0.5 * ahead;
        for (int right = 0; right < 1 + (o.at[0] > 0); right++)
            if (find_outmost(rig, &h, &o, right, found))
                add_mark(marks, &h, o.name, o.at, right, o.mouth ? ahead : 0, found);
    }
    if (2 * marks->dropped > marks->n)
        return FA_FAIL(err, FA_E_ARG, NULL, "check what its shapes move: fascia info RIG",
                       "muscles cannot be placed: %d of %d landmarks are not where a face has them", marks->dropped,
                       marks->dropped + marks->n);
    return FA_OK;
}

// From the cage to the skin: the limit surface of Catmull-Clark through the cage's points, then fine forms that the
// cage is too coarse for, written in the charts of lids and lips so that every level samples the same surface.
#include "head/skin.h"

#include <math.h>

double fai_eye_radius(double cos_gaze) {
    // the cornea (radius 5.9 at its rim, 29 degrees) rises by 1.1 mm over the globe
    double t = (1 - cos_gaze) / (1 - 0.8746);
    return t >= 1 ? EYE_R : EYE_R + 1.1 * (1 - t) * (1 - t) * (1 + 0.6 * t);
}

// A maximum without a corner: within `soft` of each other the two are blended.
static double soft_max(double a, double b, double soft) {
    double h = fabs(a - b) < soft ? (soft - fabs(a - b)) / soft : 0;
    return fmax(a, b) + h * h * soft * 0.25;
}

static double bump(double x, double at, double width) {
    double t = (x - at) / width;
    return exp(-t * t);
}

double fai_lid_crease(double row, double up) {
    double mid = up <= 0 ? 0 : up * up * (3 - 2 * up);
    return mid * (-1.5 * bump(row, 1.08, 0.17) + 0.9 * bump(row, 0.72, 0.24));
}

// Lids lie on the eye; the upper one folds.
static void form_lid(double *v) {
    double side = v[CAGE_X] < 0 ? -1 : 1;
    double d[3] = {v[CAGE_X] - side * EYE_X, v[CAGE_Y] - EYE_Y, v[CAGE_Z] - EYE_Z};
    double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (r < 1e-9) return;
    double row = v[CAGE_EYE_V], in = v[CAGE_EYE];
    double to = r + fai_lid_crease(row, v[CAGE_EYE_UP]);
    // the inner edge touches the eye, what is behind keeps off it
    double globe = fai_eye_radius(d[2] / r);
    to = soft_max(to, globe + LID_GAP + 0.75 * fai_smooth(2.9, 2.0, row), 0.3);
    double behind = fai_smooth(3.1, 3.8, row);
    to += behind * (globe + LID_GAP + 0.75 + 1.4 * fai_smooth(3.4, 4.2, row) - to);
    double part = fai_smooth(0.02, 0.5, in);
    for (int k = 0; k < 3; k++) v[k] += part * d[k] * (to / r - 1);
}

double fai_seam_y(double x) {
    double t = fabs(x) / 23.6;
    return -41.47 - 1.53 * t * t * t;
}

// The rim of the red stands out over a shallow furrow; the red itself is full.
static void form_rim(double *v) {
    double row = v[CAGE_MOUTH_V], corner = fai_smooth(0.3, 1.6, fabs(v[CAGE_MOUTH_U] - 4));
    double low = v[CAGE_MOUTH_U] > 4 ? 1 : 0;
    double out = v[CAGE_MOUTH] * corner *
                 (0.55 * bump(row, 2.1, 0.24) - 0.6 * bump(row, 1.45, 0.4) + (0.25 + 0.3 * low) * bump(row, 2.9, 0.45));
    double l = sqrt(1 + 0.0534 * 0.0534 * v[CAGE_X] * v[CAGE_X]);
    v[CAGE_X] += out * 0.0534 * v[CAGE_X] / l;
    v[CAGE_Z] += out / l;
}

// Lips meet in a common face, a hair apart: what the limit surface rounds over it is flattened onto it.
static void form_contact(double *v) {
    double part = fai_smooth(2.9, 3.6, v[CAGE_MOUTH_V]) * fai_smooth(6.5, 5.6, v[CAGE_MOUTH_V]);
    double corner = fmin(1, 2 * fabs(v[CAGE_MOUTH_U] - 4)), seam = fai_seam_y(v[CAGE_X]);
    if (part <= 0 || corner <= 0) return;
    double side = v[CAGE_MOUTH_U] < 4 ? 1 : -1, above = side * (v[CAGE_Y] - seam);
    v[CAGE_Y] += part * side * (soft_max(above, 0.1 * corner, 0.14 * corner) - above);
}

FaCode fai_skin_build(FaArena *arena, int level, FaiSkin *skin, FaError *err) {
    FaArena *work = fai_arena_new(0);
    if (!work) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    FaiCage cage;
    double *through = NULL;
    FA_TRY_GOTO(end, rc, fai_cage_build(work, &cage, err));
    through = FA_PUSH(work, (size_t)cage.nvert * 3, double);
    if (!through) {
        rc = FA_FAIL_MEMORY(err);
        goto end;
    }
    for (int v = 0; v < cage.nvert; v++)
        for (int k = 0; k < 3; k++) through[3 * v + k] = cage.val[(size_t)v * CAGE_CHANNELS + k];
    FaiQuads m = {cage.nvert, cage.nface, CAGE_CHANNELS, cage.val, cage.mirror, cage.face_start, cage.face_vert};
    FA_TRY_GOTO(end, rc, fai_subdivide_interpolate(work, &m, through, cage.steps, err));
    for (int i = 0; i <= level; i++) {
        FaiQuads fine;
        FA_TRY_GOTO(end, rc, fai_subdivide(i < level ? work : arena, &m, &fine, err));
        m = fine;
    }
    double *limit = FA_PUSH(arena, (size_t)m.nvert * m.nchan, double);
    if (!limit) {
        rc = FA_FAIL_MEMORY(err);
        goto end;
    }
    FA_TRY_GOTO(end, rc, fai_subdivide_limit(work, &m, limit, err));
    m.val = limit;
    for (int v = 0; v < m.nvert; v++) {
        double *x = limit + (size_t)v * m.nchan;
        if (x[CAGE_EYE] > 0.02) form_lid(x);
        if (x[CAGE_MOUTH] > 0.99) form_rim(x), form_contact(x);
    }
    // both sides to the last bit
    for (int v = 0; v < m.nvert; v++) {
        int o = m.mirror[v];
        double *a = limit + (size_t)v * m.nchan, *b = limit + (size_t)o * m.nchan;
        if (o == v) a[CAGE_X] = 0;
        if (a[CAGE_X] <= 0) continue;
        memcpy(b, a, (size_t)m.nchan * sizeof(double));
        b[CAGE_X] = -a[CAGE_X];
    }
    skin->mesh = m;
end:
    fai_arena_free(work);
    return rc;
}

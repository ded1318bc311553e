// Landmarks on the shipped head, by our own reading of what each one marks. Each is written once, for the left side of
// the mean head: in the chart of lips or lids where there is one, else by where it is seen from the front or the side.
// A place is two linear functions over the skin's triangles that must vanish, and a third that is largest where the
// skin is seen: one search finds them all, on the mean head and so for every identity.
#include "head/head_landmarks.h"

#include "head/pose.h"
#include "math/mat3.h"

#include <math.h>

typedef enum Chart {
    LIP,   // a: column, 0 .. 8, b: row (2 red border, 4 seam), see CAGE_MOUTH_U and CAGE_MOUTH_V
    LID,   // a: degrees around the slit, 0 outer corner, 90 upper lid, 180 inner corner; b: row, see CAGE_EYE_V
    FRONT, // a: x, b: y, mm; the frontmost there
    SIDE,  // a: z, b: y, mm; the outermost there
    IRIS,  // a: degrees, 0 outwards, 90 up; b: 0 centre, 1 rim
} Chart;

typedef struct Place {
    short left, right; // index of the landmark on the subject's left and right; right < 0: in the middle
    Chart chart;
    float a, b;
    float weight;
} Place;

#include "head/head_landmark_places.h"

static const double SLIT[2] = {31.8, 25.5};           // middle of the slit between the lids, mm
static const double SLIT_ALONG[2] = {0.9971, 0.0767}; // from its inner to its outer corner
static const double SLIT_WIDE = 2;                    // how much wider than high it is
static const double IRIS_R = 5.9;                     // mm
static const double ANCHOR_ROW = 4.6;                 // of the lids' chart: behind the eye, where nothing moves

// A place, ready to be asked at many vertices. Left side: side = 1; the right one is mirrored.
typedef struct Query {
    const Place *place;
    double side;
    double u, v; // direction from the slit's middle
} Query;

// At one vertex: the two functions to vanish and the one to be largest. False: outside of the chart.
static bool look(const FaiSpot *s, const Query *q, double f[3]) {
    const Place *p = q->place;
    double x = q->side * s->mean[0], y = s->mean[1], z = s->mean[2], a = (double)p->a, b = (double)p->b;
    switch (p->chart) {
    case LIP:
        // columns are rounded off where the halves meet
        f[0] = p->right < 0 ? x : (double)s->mouth_u - a;
        f[1] = (double)s->mouth_v - b, f[2] = 0;
        return s->mouth > 0.2f && (p->right < 0 ? (s->mouth_u < 4) == (p->a < 4) : x > -1e-6);
    case LID:
    case IRIS: {
        // columns of the lids are not carried along: the direction seen from the slit's middle takes their place
        double dx = x - SLIT[0], dy = y - SLIT[1];
        double along = SLIT_ALONG[0] * dx + SLIT_ALONG[1] * dy, up = SLIT_ALONG[0] * dy - SLIT_ALONG[1] * dx;
        f[0] = q->u * up - q->v * along;
        f[1] = (double)s->eye_v - (p->chart == LID ? b : ANCHOR_ROW);
        f[2] = q->u * along + q->v * up;
        return s->eye > 0.5f && x > 0;
    }
    case FRONT: f[0] = x - a, f[1] = y - b, f[2] = z; return s->mouth < 0.5f || s->mouth_v < 4.5f;
    case SIDE: f[0] = z - a, f[1] = y - b, f[2] = x; return x > 20;
    }
    return false;
}

// Where in a triangle both functions vanish. False: outside of it.
static bool vanish(const double *const f[3], double bary[3]) {
    for (int k = 0; k < 2; k++)
        if ((f[0][k] > 0 && f[1][k] > 0 && f[2][k] > 0) || (f[0][k] < 0 && f[1][k] < 0 && f[2][k] < 0)) return false;
    double area = 0;
    for (int k = 0; k < 3; k++) {
        const double *b = f[(k + 1) % 3], *c = f[(k + 2) % 3];
        bary[k] = b[0] * c[1] - b[1] * c[0];
        area += bary[k];
    }
    if (fabs(area) < 1e-12) return false;
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        bary[k] /= area;
        if (bary[k] < -1e-9) return false;
        bary[k] = fmax(bary[k], 0), sum += bary[k];
    }
    for (int k = 0; k < 3; k++) bary[k] /= sum;
    return true;
}

// value: scratch, the functions at each vertex, the first NAN outside of the chart (nvert x 3).
static bool find(const FaHead *head, const Place *p, double side, double *value, FaMarkerPoint *out) {
    const FaMesh *mesh = &head->part[0].mesh;
    double t = (double)p->a * M_PI / 180, best = -INFINITY;
    Query q = {p, side, SLIT_WIDE * cos(t), sin(t)};
    bool ray = p->chart == LID || p->chart == IRIS;
    for (int v = 0; v < mesh->nvert; v++)
        if (!look(head->model->spot + v, &q, value + 3 * (size_t)v)) value[3 * (size_t)v] = NAN;
    for (int i = 0; i < mesh->ntri; i++) {
        const int *v = mesh->tri + 3 * (size_t)i;
        const double *f[3] = {value + 3 * (size_t)v[0], value + 3 * (size_t)v[1], value + 3 * (size_t)v[2]};
        double bary[3];
        if (isnan(f[0][0]) || isnan(f[1][0]) || isnan(f[2][0]) || !vanish(f, bary)) continue;
        double seen = bary[0] * f[0][2] + bary[1] * f[1][2] + bary[2] * f[2][2];
        // the other half of the line through the slit's middle does not count
        if (seen <= best + 1e-9 || (ray && seen <= 0)) continue;
        best = seen;
        *out = (FaMarkerPoint){.tri = i, .vert = {v[0], v[1], v[2]}};
        for (int k = 0; k < 3; k++) out->bary[k] = (float)bary[k];
    }
    return isfinite(best);
}

// The front of this person's eye, looking ahead, held by the skin behind the eye.
static void set_iris(const FaHead *head, const Place *p, double side, FaMarkerPoint *point) {
    const float *x = head->part[0].mesh.x;
    double scale = head->eye_radius / EYE_R, t = (double)p->a * M_PI / 180, r = (double)p->b * IRIS_R;
    double z = r > 0 ? sqrt(EYE_R * EYE_R - r * r) : fai_eye_radius(1), at[3], from[3], d[3];
    fai_v3_set(at, side * r * cos(t) * scale, r * sin(t) * scale, z * scale);
    fai_v3_add(at, head->eye[side < 0], at);
    fa_marker_point_at(point, x, false, from);
    fai_v3_sub(at, from, d);
    FaMarkerPoint unit = *point;
    for (int k = 0; k < 3; k++) {
        double e[3];
        for (int j = 0; j < 3; j++) unit.offset[j] = j == k;
        fa_marker_point_at(&unit, x, true, e);
        fai_v3_sub(e, from, e);
        point->offset[k] = (float)fai_v3_dot(d, e);
    }
}

static void set_all(const FaHead *head, const Place *place, int n, double *value, FaMarkerPoint *point, float *weight) {
    for (int i = 0; i < n; i++) {
        const Place *p = place + i;
        for (int side = 1; side >= -1; side -= 2) {
            int to = side > 0 ? p->left : p->right;
            if (to < 0 || !find(head, p, side, value, point + to)) continue;
            weight[to] = p->weight;
            if (p->chart == IRIS) set_iris(head, p, side, point + to);
        }
    }
}

FaCode fai_head_landmarks(const FaHead *head, FaLandmarkLayout layout, FaMarkerPoint *point, float *weight,
                          FaError *err) {
    if (layout != FA_LANDMARKS_68 && layout != FA_LANDMARKS_468 && layout != FA_LANDMARKS_478)
        return FA_FAIL(err, FA_E_ARG, "layout", "choose 68, 468 or 478 landmarks", "the layout is not known");
    for (int i = 0; i < fai_landmark_count(layout); i++) {
        point[i] = (FaMarkerPoint){.tri = -1, .vert = {-1, -1, -1}};
        weight[i] = 0;
    }
    double *value = FA_NEW(3 * (size_t)head->part[0].mesh.nvert, double);
    if (!value) return FA_FAIL_MEMORY(err);
    if (layout == FA_LANDMARKS_68)
        set_all(head, places_68, FA_COUNT(places_68), value, point, weight);
    else
        set_all(head, places_468, FA_COUNT(places_468), value, point, weight);
    if (layout == FA_LANDMARKS_478) set_all(head, places_iris, FA_COUNT(places_iris), value, point, weight);
    fa_free(value);
    return FA_OK;
}

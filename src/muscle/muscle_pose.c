// Poses of a model: activations by name, the jaw about its hinge, the surface that rides.
#include "math/mat3.h"
#include "muscle/collide.h"
#include "muscle/muscle_model.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double PI = 3.14159265358979323846;

// --- activations --------------------------------------------------------------------------------------------------

// How unlike two names are, without regard to case: edits, those at the end of a longer name for a fraction.
static double unlike(const char *a, const char *b) {
    double row[64];
    int na = (int)strlen(a), nb = (int)strlen(b);
    if (nb > 62) return INFINITY;
    for (int j = 0; j <= nb; j++) row[j] = j;
    for (int i = 1; i <= na; i++) {
        double diag = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            double best = diag + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            best = fmin(best, row[j] + 1);
            best = fmin(best, row[j - 1] + (i == na ? 0.2 : 1));
            diag = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

// The three names nearest to one that nobody has.
FaCode fai_muscle_unknown(const char *place, const char *name, FaError *err) {
    enum { NEAR = 3 };
    double least[NEAR] = {INFINITY, INFINITY, INFINITY};
    const char *best[NEAR] = {"", "", ""};
    int last = -1;
    for (int i = 0; i < fai_muscle_count(); i++) {
        int entry = fai_muscle_id(i).entry;
        if (entry == last) continue;
        const FaMuscleEntry *e = fai_muscle_entry(last = entry);
        double d = fmin(unlike(name, e->name), unlike(name, e->alias));
        for (int k = 0; k < NEAR; k++) {
            if (d >= least[k]) continue;
            for (int j = NEAR - 1; j > k; j--) least[j] = least[j - 1], best[j] = best[j - 1];
            least[k] = d, best[k] = e->name;
            break;
        }
    }
    char remedy[200];
    snprintf(remedy, sizeof remedy, "the nearest: %s, %s, %s; fascia muscle list FACE names all", best[0], best[1],
             best[2]);
    return FA_FAIL(err, FA_E_ARG, place, remedy, "there is no muscle '%.60s'", name);
}

FaCode fa_muscle_activate(const FaMuscleModel *m, const char *text, double *activation, FaError *err) {
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, ","), eq = strcspn(at, "=");
        char name[64], *end = NULL;
        int found = 0;
        double v = eq < n ? strtod(at + eq + 1, &end) : -1; // programs that call setlocale must keep "C" numbers
        if (eq == 0 || eq >= n || eq >= sizeof name || end != at + n || end == at + eq + 1 || !(v >= 0 && v <= 1))
            return FA_FAIL(err, FA_E_ARG, NULL, "give NAME=VALUE,... with values of 0 to 1: zygomaticus_major=0.7",
                           "'%.*s' is no activation", (int)FA_MIN(n, 60), at);
        snprintf(name, sizeof name, "%.*s", (int)eq, at);
        for (int i = 0; i < m->muscles.n; i++)
            if (fai_muscle_id_named(&m->muscles.muscle[i].id, name)) activation[i] = v, found++;
        if (!found) return fai_muscle_unknown(NULL, name, err);
        at += n + (at[n] == ',');
    }
    return FA_OK;
}

// --- the jaw ------------------------------------------------------------------------------------------------------

// Opened by an angle, rad, and moved by `by`.
static FaPose jaw_at(const FaMuscleModel *m, double angle, const double by[3]) {
    FaJaw jaw = m->face->jaw;
    for (int i = 0; i < 4; i++) jaw.shape[i] = i < 2 ? i : -1;
    jaw.nmore = 0;
    memcpy(jaw.slide[1], by, sizeof jaw.slide[1]);
    memset(jaw.turn[1], 0, sizeof jaw.turn[1]);
    return fai_jaw_pose(&jaw, (float[]){(float)(angle / jaw.open_angle), 1});
}

// The angle at which the chin has gone a distance.
static double angle_for(const FaMuscleModel *m, double distance) {
    static const double none[3] = {0};
    double lo = 0, hi = PI / 4;
    for (int i = 0; i < 50; i++) {
        double mid = 0.5 * (lo + hi), x[3];
        FaPose pose = jaw_at(m, mid, none);
        fai_pose_apply(&pose, m->chin, x);
        fai_v3_sub(x, m->chin, x);
        if (fai_v3_norm(x) < distance)
            lo = mid;
        else
            hi = mid;
    }
    return hi;
}

static bool within(double v, double lo, double hi) { return v >= lo && v <= hi; }

FaCode fai_muscle_jaw(const FaMuscleModel *m, const FaMuscleJaw *jaw, FaPose *pose, double *degrees, FaError *err) {
    *pose = fai_pose_identity();
    if (degrees) *degrees = 0;
    if (jaw->open == 0 && jaw->open_by == 0 && jaw->forward == 0 && jaw->side == 0) return FA_OK;
    if (!within(jaw->open, -5, 45) || !within(jaw->open_by, 0, 0.1) || !within(jaw->forward, -0.03, 0.03) ||
        !within(jaw->side, -0.03, 0.03))
        return FA_FAIL(err, FA_E_ARG, NULL, "open -5 to 45 degrees or 0 to 100 mm, forward and side within 30 mm",
                       "no jaw goes there");
    if (!m->face->jaw.found || !(fabs(m->face->jaw.open_angle) > 1e-3))
        return FA_FAIL(err, FA_E_ARG, NULL, "use a rig with a shape that opens the jaw, or say where it turns: --hinge",
                       "the jaw cannot move: no shape of the rig shows how it turns");
    if (jaw->open_by > 0 && !isfinite(m->chin[0]))
        return FA_FAIL(err, FA_E_ARG, NULL, "give degrees: open=8", "the rig's chin was not found");
    double by[3], angle = jaw->open_by > 0 ? angle_for(m, jaw->open_by) : jaw->open * PI / 180;
    fai_m3_tmulv(m->rig->axes, (double[]){jaw->side, 0, jaw->forward}, by);
    *pose = jaw_at(m, angle, by);
    if (degrees) *degrees = angle * 180 / PI;
    return FA_OK;
}

// Of a slide of the jaw along a direction, at weight 1 of a shape: the weight.
static float slide_weight(const FaMuscleModel *m, int shape, const double way[3], double by) {
    const FaJaw *jaw = &m->face->jaw;
    double d[3];
    if (jaw->shape[shape] < 0) return 0;
    fai_m3_tmulv(m->rig->axes, way, d);
    double one = fai_v3_dot(d, jaw->slide[shape]);
    return one > 1e-4 ? (float)(by / one) : 0;
}

FaCode fa_muscle_jaw_weights(const FaMuscleModel *m, const FaMuscleJaw *jaw, float *weights, FaError *err) {
    FaPose pose;
    double open;
    const int *shape = m->face->jaw.shape;
    memset(weights, 0, (size_t)m->rig->nshape * sizeof *weights);
    FA_TRY(fai_muscle_jaw(m, jaw, &pose, &open, err));
    if (!m->face->jaw.found) return FA_OK;
    if (shape[0] >= 0 && open != 0) weights[shape[0]] = (float)(open * PI / 180 / m->face->jaw.open_angle);
    if (shape[1] >= 0 && jaw->forward > 0) weights[shape[1]] = slide_weight(m, 1, (double[]){0, 0, 1}, jaw->forward);
    const int to = jaw->side > 0 ? 2 : 3;
    if (shape[to] >= 0 && jaw->side != 0)
        weights[shape[to]] = slide_weight(m, to, (double[]){jaw->side > 0 ? 1 : -1, 0, 0}, fabs(jaw->side));
    return FA_OK;
}

// --- posing -------------------------------------------------------------------------------------------------------

static double apart(const FaMuscleModel *m, const float *surface, FaMuscleMark a, FaMuscleMark b) {
    double x[3], y[3];
    if (m->mark[a] < 0 || m->mark[b] < 0) return NAN;
    fai_v3_load(surface, m->mark[a], x);
    fai_v3_load(surface, m->mark[b], y);
    fai_v3_sub(x, y, x);
    return fai_v3_norm(x);
}

void fai_muscle_measure(const FaMuscleModel *m, const FaMuscleReport *r, const float *surface, FaMusclePosed *out) {
    out->iterations = r->iterations, out->residual = r->residual, out->inverted = r->inverted;
    out->volume_change = r->volume - 1, out->seconds = r->seconds;
    out->mouth_width = apart(m, surface, FA_MUSCLE_CORNER_LEFT, FA_MUSCLE_CORNER_RIGHT);
    out->mouth_open = apart(m, surface, FA_MUSCLE_LIP_UPPER, FA_MUSCLE_LIP_LOWER) -
                      apart(m, m->rig->mesh.x, FA_MUSCLE_LIP_UPPER, FA_MUSCLE_LIP_LOWER);
    out->collider_depth = fai_muscle_colliders_depth(m, surface);
    for (int i = 0; i < FA_MUSCLE_MARKS; i++) {
        double a[3], b[3];
        for (int k = 0; k < 3; k++) out->mark[i][k] = NAN;
        if (m->mark[i] < 0) continue;
        fai_v3_load(m->rig->mesh.x, m->mark[i], a);
        fai_v3_load(surface, m->mark[i], b);
        fai_v3_sub(b, a, a);
        fai_m3_mulv(m->rig->axes, a, out->mark[i]);
    }
}

FaCode fa_muscle_pose(FaMuscleModel *m, const FaMusclePose *pose, float *surface, FaMusclePosed *report, FaError *err) {
    const size_t n = 3 * (size_t)m->flesh.nnode;
    FaMusclePosed out = {0};
    FaMuscleReport r;
    FaPose jaw;
    for (int i = 0; i < m->muscles.n; i++) {
        m->activation[i] = pose->activation ? pose->activation[i] : 0;
        if (!within(m->activation[i], 0, 1))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("muscle %s", m->muscles.muscle[i].id.name), "give 0 to 1",
                           "an activation of %g", m->activation[i]);
    }
    FA_TRY(fai_muscle_jaw(m, &pose->jaw, &jaw, &out.open, err));
    memcpy(m->x, m->rest, n * sizeof *m->x);
    memcpy(m->at, m->rest, n * sizeof *m->at);
    for (int i = 0; i < m->flesh.nnode; i++)
        if (m->flesh.kind[i] == FA_FILLED_JAW) fai_pose_apply(&jaw, m->rest + 3 * (size_t)i, m->at + 3 * (size_t)i);
    FaCode rc = fai_muscle_body_pose(m->body, m->activation, m->at, m->x, &r, err);
    if (rc < 0) return rc;
    for (size_t i = 0; i < n; i++) m->node[i] = (float)m->x[i];
    m->posed = true, m->jaw = pose->jaw;
    memcpy(surface, m->rig->mesh.x, 3 * (size_t)m->rig->mesh.nvert * sizeof *surface);
    fai_filled_ride(&m->flesh, m->node, surface);
    fai_inner_ride(&m->inner, &jaw, surface);
    fai_muscle_measure(m, &r, surface, &out);
    if (report) *report = out;
    return rc;
}

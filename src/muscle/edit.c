// Edits of a directed pose (paper 002, section 4): tracks are moved, retimed, and jaw and activations set; the flesh
// follows when the pose is simulated again.
#include "muscle/edit.h"
#include "base/file.h"
#include "math/mat3.h"
#include "muscle/curves.h"

#include <math.h>
#include <string.h>

static const double MIDDLE = 5e-3; // m: of a muscle of both sides, medial fades out so near the middle
static const double SOON = 0.02;   // of the way: a key is on a level that is so near

typedef struct Work {
    FaMuscleDirector *director;
    const FaEdits *edits;
    const FaDirected *was; // before all edits
    FaDirected *d;
    double middle; // m: of the face, to the left
} Work;

// --- levels -------------------------------------------------------------------------------------------------------

static bool on_level(double key, int nlevel) { return fabs(round(key * nlevel) / nlevel - key) <= SOON; }

// A pose with as many levels as the keys of its edits need, and the same tracks.
static FaCode copy_refined(const FaDirected *from, const FaEdits *edits, FaDirected **out, FaError *err) {
    int nlevel = from->nlevel;
    for (int i = 0; i < edits->n; i++)
        for (int k = 0; k < FA_MAX(edits->edit[i].nretime, 1); k++) {
            const FaEdit *e = &edits->edit[i];
            const double key = e->nretime ? e->retime[k][0] : e->key;
            while (!on_level(key, nlevel) && 2 * nlevel <= FA_DIRECTED_LEVELS_MOST) nlevel *= 2;
            while (e->nretime && nlevel < 8) nlevel *= 2; // its own knots lie elsewhere
        }
    FA_TRY(fai_directed_copy(from, out, err));
    FaDirected *d = *out;
    if (nlevel == from->nlevel) return FA_OK;
    const size_t n = 3 * (size_t)d->npoint;
    if (!(d->track = FA_PUSH(d->arena, n * (size_t)nlevel + 1, double))) return FA_FAIL_MEMORY(err);
    d->nlevel = nlevel;
    for (int l = 1; l <= nlevel; l++) fai_directed_track(from, (double)l / nlevel, d->track + (size_t)(l - 1) * n);
    return FA_OK;
}

// --- moves --------------------------------------------------------------------------------------------------------

// How much of an edit a place along the fibre takes, 0..1.
static double share_of(const FaEdit *e, bool ring, double u) {
    double off = fabs(u - e->u), reach = fmax(e->u, 1 - e->u);
    if (ring) off = fmin(off, 1 - off), reach = 0.5;
    if (e->fall == FA_FALL_NONE) return 1;
    const double w = fmax(0, 1 - off / (e->fall == FA_FALL_WIDTH ? e->width : reach));
    return e->fall == FA_FALL_SMOOTH ? w * w * (3 - 2 * w) : w;
}

// How much of it a moment of the way takes: from the neutral to the key, and back to the end.
static double when(double key, double part) {
    return part <= key ? part / key : key < 1 ? fmax(0, (1 - part) / (1 - key)) : 0;
}

static double to_the_left(const FaMuscleModel *m, const double *x) {
    double at[3];
    fai_m3_mulv(m->rig->axes, x, at);
    return at[0];
}

// The middle of the face between its muscles of both sides.
static double middle_of(const FaMuscleModel *m) {
    double sum = 0;
    int n = 0;
    for (int i = 0; i < m->muscles.n; i++) {
        const FaMuscle *a = &m->muscles.muscle[i];
        const int points = fai_bspline_points(&a->solid);
        for (int p = 0; p < points && a->id.side; p++) sum += to_the_left(m, a->solid.c + 3 * (size_t)p), n++;
    }
    return n ? sum / n : 0;
}

// A move in the rig's axes at one control point: medial is to the right on the left side.
static void move_at(const Work *w, const FaEdit *e, const FaMuscle *a, const double *point, double out[3]) {
    const FaMuscleModel *m = w->director->model;
    const double left = to_the_left(m, point) - w->middle;
    const double side = a->id.side ? a->id.side : fmin(fmax(left / MIDDLE, -1), 1);
    fai_m3_tmulv(m->rig->axes, (double[]){-side * e->move[0], e->move[1], e->move[2]}, out);
}

// Added to the track of a control point, all of it at the key.
static void move_point(FaDirected *d, int point, double key, double share, const double by[3]) {
    for (int l = 1; l <= d->nlevel; l++) {
        double *to = d->track + 3 * ((size_t)(l - 1) * (size_t)d->npoint + (size_t)point);
        for (int k = 0; k < 3; k++) to[k] += share * when(key, (double)l / d->nlevel) * by[k];
    }
}

static double key_of(const FaDirected *d, const FaEdit *e) { return fmax(round(e->key * d->nlevel), 1) / d->nlevel; }

static void move_muscle(const Work *w, const FaEdit *e, int muscle) {
    FaDirected *d = w->d;
    const FaMuscle *a = &w->director->model->muscles.muscle[muscle];
    for (int p = 0; p < d->start[muscle + 1] - d->start[muscle]; p++) {
        const double u = fai_bspline_greville(a->solid.n[0], a->solid.ring, p % a->solid.n[0]);
        double by[3];
        move_at(w, e, a, a->solid.c + 3 * (size_t)p, by);
        move_point(d, d->start[muscle] + p, key_of(d, e), share_of(e, a->solid.ring, u), by);
    }
    d->sprung[muscle] = 1;
}

// Muscles that are sprung hold the flesh where it was, and an edit of one of them among 57 would do next to nothing:
// what is near the one that is moved goes along. Near: at rest, from its middle; the nearest and strongest place
// counts.
static void move_along(const Work *w, const FaEdit *e, int point, const double *at) {
    const FaMuscleModel *m = w->director->model;
    enum { PLACES = 17 };
    double best = 0, by[3] = {0};
    for (int i = 0; i < m->muscles.n; i++) {
        const FaMuscle *a = &m->muscles.muscle[i];
        if (!fai_muscle_id_named(&a->id, e->muscle)) continue;
        for (int k = 0; k < PLACES; k++) {
            const double u = (double)k / (PLACES - 1);
            double x[3], d[3];
            const double share = share_of(e, a->solid.ring, u);
            if (share <= best) continue;
            fai_bspline_at(&a->solid, (double[]){u, 0.5, 0.5}, x, NULL);
            fai_v3_sub(at, x, d);
            const double near = 1 - fai_v3_norm(d) / e->around;
            if (near <= 0 || share * near * near * (3 - 2 * near) <= best) continue;
            best = share * near * near * (3 - 2 * near);
            move_at(w, e, a, x, by);
        }
    }
    if (best > 0) move_point(w->d, point, key_of(w->d, e), best, by);
}

static void move_neighbours(const Work *w, const FaEdit *e) {
    const FaMuscleModel *m = w->director->model;
    for (int i = 0; i < m->muscles.n && e->around > 0; i++) {
        const FaMuscle *a = &m->muscles.muscle[i];
        if (!w->was->sprung[i] || fai_muscle_id_named(&a->id, e->muscle)) continue;
        for (int p = 0; p < fai_bspline_points(&a->solid); p++)
            move_along(w, e, w->d->start[i] + p, a->solid.c + 3 * (size_t)p);
    }
}

// --- time ---------------------------------------------------------------------------------------------------------

static double retimed(const FaEdit *e, double part) {
    int k = 1;
    while (k < e->nretime - 1 && part > e->retime[k][0]) k++;
    const double *a = e->retime[k - 1], *b = e->retime[k];
    return a[1] + (b[1] - a[1]) * fmin(fmax((part - a[0]) / (b[0] - a[0]), 0), 1);
}

// was: the pose as it is before this edit; track: room for all control points.
static void retime_muscle(FaDirected *d, const FaDirected *was, const FaEdit *e, int muscle, double *track) {
    const size_t n = 3 * (size_t)(d->start[muscle + 1] - d->start[muscle]), first = 3 * (size_t)d->start[muscle];
    for (int l = 1; l <= d->nlevel; l++) {
        fai_directed_track(was, retimed(e, (double)l / d->nlevel), track);
        memcpy(d->track + 3 * (size_t)(l - 1) * (size_t)d->npoint + first, track + first, n * sizeof *track);
    }
    d->sprung[muscle] = 1;
}

static FaCode retime(const Work *w, const FaEdit *e, FaError *err) {
    FaDirected *was;
    FA_TRY(fai_directed_copy(w->d, &was, err));
    for (int i = 0; i < w->d->nmuscle; i++)
        if (fai_muscle_id_named(&w->director->model->muscles.muscle[i].id, e->muscle))
            retime_muscle(w->d, was, e, i, w->director->track);
    fa_directed_free(was);
    return FA_OK;
}

// --- the jaw ------------------------------------------------------------------------------------------------------

// Where the jaw goes, the flesh on it goes too, and so do tracks: by what the jaw alone does to the pose without
// springs. On the way there in proportion.
static FaCode carry(const Work *w, const FaPose *to, FaError *err) {
    FaMuscleDirector *director = w->director;
    FaMuscleModel *m = director->model;
    FaDirected *d = w->d;
    const unsigned char none[FA_MUSCLES_MOST] = {0};
    const size_t n = 3 * (size_t)d->npoint;
    double *track = FA_NEW(2 * n + 1, double);
    if (!track) return FA_FAIL_MEMORY(err);
    m->posed = false; // x is no pose of the model's
    FaCode rc = fai_directed_solve(director, d->activation, &d->jaw, track, none, 0, false, m->x, NULL, err);
    if (rc >= 0) {
        fai_directed_flesh_track(director, m->x, track);
        rc = fai_directed_solve(director, d->activation, to, track, none, 0, true, m->x, NULL, err);
    }
    if (rc >= 0) fai_directed_flesh_track(director, m->x, track + n);
    fai_muscle_body_pull(m->body, NULL, NULL);
    for (int l = 1; l <= d->nlevel && rc >= 0; l++)
        for (size_t i = 0; i < n; i++)
            d->track[(size_t)(l - 1) * n + i] += (double)l / d->nlevel * (track[n + i] - track[i]);
    fa_free(track);
    return rc < 0 ? rc : FA_OK;
}

static FaCode set_jaw(const Work *w, const FaEdit *e, FaError *err) {
    const FaMuscleModel *m = w->director->model;
    FaMuscleJaw jaw = fai_directed_jaw_numbers(m, &w->d->jaw);
    FaPose to;
    if (e->jaw[0]) jaw.open = e->open;
    if (e->jaw[1]) jaw.forward = e->forward;
    if (e->jaw[2]) jaw.side = e->side;
    FA_TRY(fai_muscle_jaw(m, &jaw, &to, NULL, err));
    FA_TRY(carry(w, &to, err));
    w->d->jaw = to;
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode apply_one(const Work *w, int index, FaError *err) {
    const FaEdit *e = &w->edits->edit[index];
    const FaMuscleModel *m = w->director->model;
    int found = 0;
    if (e->jaw[0] || e->jaw[1] || e->jaw[2]) FA_TRY(set_jaw(w, e, err));
    for (int i = 0; i < m->muscles.n && e->muscle[0]; i++) {
        if (!fai_muscle_id_named(&m->muscles.muscle[i].id, e->muscle)) continue;
        found++;
        if (e->moves) move_muscle(w, e, i);
        if (e->how == FA_ACTIVATION_SET) w->d->activation[i] = e->activation;
    }
    if (e->muscle[0] && !found) return fai_muscle_unknown(FA_PLACE("/edits/%d/muscle", index), e->muscle, err);
    if (e->moves) move_neighbours(w, e);
    return e->nretime ? retime(w, e, err) : FA_OK;
}

// Once all tracks are where they stay.
static FaCode set_lengths(const Work *w, FaError *err) {
    FaMuscleModel *m = w->director->model;
    FaDirected *d = w->d;
    const double *end = d->track + 3 * (size_t)(d->nlevel - 1) * (size_t)d->npoint;
    for (int k = 0; k < w->edits->n; k++)
        for (int i = 0; i < m->muscles.n && w->edits->edit[k].how == FA_ACTIVATION_LENGTH; i++) {
            FaMuscleCurve curve;
            if (!fai_muscle_id_named(&m->muscles.muscle[i].id, w->edits->edit[k].muscle)) continue;
            FA_TRY(fa_muscle_curve(m, i, &curve, err));
            d->activation[i] = fa_muscle_curve_activation(
                &curve,
                fai_muscle_posed_length(&m->muscles.muscle[i], end + 3 * (size_t)d->start[i], w->director->track));
        }
    return FA_OK;
}

FaCode fai_edit_named(const FaMuscleModel *m, const FaEdit *e, int index, unsigned char *named, FaError *err) {
    int found = 0;
    for (int i = 0; i < m->muscles.n; i++) found += named[i] = fai_muscle_id_named(&m->muscles.muscle[i].id, e->muscle);
    return found ? FA_OK : fai_muscle_unknown(FA_PLACE("/edits/%d/muscle", index), e->muscle, err);
}

FaCode fai_edit_field(FaMuscleDirector *director, const FaEdit *e, const unsigned char *named, double *track,
                      FaError *err) {
    const FaMuscles *muscles = &director->model->muscles;
    FaDirected *d;
    FA_TRY(fai_directed_new(director, 1, &d, err));
    memset(d->sprung, 1, (size_t)d->nmuscle);
    const Work w = {director, NULL, d, d, middle_of(director->model)};
    for (int i = 0; i < muscles->n; i++)
        if (named[i]) move_muscle(&w, e, i);
    move_neighbours(&w, e);
    memcpy(track, d->track, 3 * (size_t)d->npoint * sizeof *track);
    fa_directed_free(d);
    return FA_OK;
}

// Frames are of clips.
static FaCode check_times(const FaEdits *edits, FaError *err) {
    for (int i = 0; i < edits->n; i++)
        if (edits->edit[i].timed)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("/edits/%d", i),
                           "leave \"frames\" out, or edit a clip: fascia muscle play FACE CLIP --edits ...",
                           "a pose has no frames");
    return FA_OK;
}

static FaCode apply(FaMuscleDirector *director, const FaDirected *pose, const FaEdits *edits, FaDirected **out,
                    FaError *err) {
    FA_TRY(check_times(edits, err));
    FA_TRY(fai_directed_fits(director, pose, err));
    FA_TRY(copy_refined(pose, edits, out, err));
    const Work w = {director, edits, pose, *out, middle_of(director->model)};
    if (edits->spring > 0) w.d->spring = edits->spring;
    for (int i = 0; i < edits->n; i++) FA_TRY(apply_one(&w, i, err));
    return set_lengths(&w, err);
}

static FaCode edit(FaMuscleModel *m, const FaDirected *pose, const char *json, size_t size, FaDirected **edited,
                   FaError *err) {
    FaMuscleDirector *director;
    FaEdits edits;
    *edited = NULL;
    FA_TRY(fai_muscle_director(m, &director, err));
    FA_TRY(fai_edits_parse(json, size, &edits, err));
    FaCode rc = apply(director, pose, &edits, edited, err);
    fai_edits_free(&edits);
    if (rc >= 0) return FA_OK;
    fa_directed_free(*edited);
    *edited = NULL;
    return rc;
}

FaCode fa_directed_edit(FaMuscleModel *m, const FaDirected *pose, const char *json, FaDirected **edited, FaError *err) {
    return edit(m, pose, json, strlen(json), edited, err);
}

FaCode fa_directed_edit_file(FaMuscleModel *m, const FaDirected *pose, const char *path, FaDirected **edited,
                             FaError *err) {
    FaBytes bytes = {0};
    *edited = NULL;
    FaCode rc = fai_file_read(path, (size_t)1 << 26, &bytes, err);
    if (rc >= 0) rc = edit(m, pose, (const char *)bytes.data, bytes.size, edited, err);
    fai_bytes_free(&bytes);
    return fai_fail_in(err, rc, path);
}

void fa_directed_spring(FaDirected *pose, double spring) { pose->spring = spring; }

FaCode fa_muscle_drag(FaMuscleModel *m, const FaDirected *pose, float *surface, FaMusclePosed *report, FaError *err) {
    FaMuscleDirector *d;
    FaMuscleReport r;
    FA_TRY(fai_muscle_director(m, &d, err));
    FaCode rc = fai_directed_pose(d, pose, 1, m->posed, m->x, &r, err);
    fai_muscle_body_pull(m->body, NULL, NULL);
    if (rc < 0) return rc;
    fai_directed_surface(d, pose, 1, m->x, surface);
    memcpy(m->activation, pose->activation, (size_t)m->muscles.n * sizeof *m->activation);
    m->posed = true;
    m->jaw = fa_directed_jaw(m, pose, 1);
    if (report) fai_muscle_measure(m, &r, surface, report);
    if (report) report->open = m->jaw.open;
    return rc;
}

FaCode fa_directed_line(FaMuscleModel *m, const FaDirected *pose, int muscle, double part, int n, float *x,
                        FaError *err) {
    FaMuscleDirector *d;
    FA_TRY(fai_muscle_director(m, &d, err));
    FA_TRY(fai_directed_fits(d, pose, err));
    const FaMuscle *a = &m->muscles.muscle[muscle];
    double *c = FA_NEW(3 * (size_t)fai_bspline_points(&a->solid) + 1, double);
    if (!c) return FA_FAIL_MEMORY(err);
    fai_directed_track(pose, part, d->track);
    const FaBspline s = fai_muscle_posed_solid(a, d->track + 3 * (size_t)pose->start[muscle], c);
    for (int i = 0; i < n; i++) {
        double at[3];
        fai_bspline_at(&s, (double[]){n > 1 ? (double)i / (n - 1) : 0, 0.5, 0.5}, at, NULL);
        for (int k = 0; k < 3; k++) x[3 * i + k] = (float)at[k];
    }
    fa_free(c);
    return FA_OK;
}

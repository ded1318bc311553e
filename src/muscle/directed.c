#include "muscle/directed.h"

#include "math/mat3.h"
#include "mesh/mesh.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

static FaCode allocate(FaDirected *d, FaError *err) {
    const size_t points = 3 * (size_t)d->npoint * (size_t)d->nlevel;
    d->name = (char(*)[48])fai_arena_push(d->arena, (size_t)d->nmuscle + 1, sizeof *d->name);
    d->start = FA_PUSH(d->arena, d->nmuscle + 1, int);
    d->activation = FA_PUSH(d->arena, d->nmuscle + 1, double);
    d->sprung = FA_PUSH(d->arena, d->nmuscle + 1, unsigned char);
    d->track = FA_PUSH(d->arena, points + 1, double);
    d->snap = FA_PUSH(d->arena, 3 * (size_t)d->nvert + 1, float);
    d->snap_weight = FA_PUSH(d->arena, (size_t)d->nvert + 1, float);
    return d->name && d->start && d->activation && d->sprung && d->track && d->snap && d->snap_weight
               ? FA_OK
               : FA_FAIL_MEMORY(err);
}

FaCode fai_directed_sized(int nmuscle, int npoint, int nlevel, int nvert, FaDirected **out, FaError *err) {
    *out = NULL;
    FaDirected *d = FA_NEW(1, FaDirected);
    if (!d) return FA_FAIL_MEMORY(err);
    d->nmuscle = nmuscle, d->npoint = npoint, d->nlevel = nlevel, d->nvert = nvert;
    d->jaw = d->cranium = fai_pose_identity();
    FaCode rc = (d->arena = fai_arena_new(0)) ? allocate(d, err) : FA_FAIL_MEMORY(err);
    if (rc < 0)
        fa_directed_free(d);
    else
        *out = d;
    return rc;
}

FaCode fai_directed_new(const FaMuscleDirector *director, int nlevel, FaDirected **out, FaError *err) {
    const FaMuscleTracks *t = &director->tracks;
    const FaMuscleModel *m = director->model;
    FA_TRY(fai_directed_sized(t->nmuscle, t->npoint, nlevel > 0 ? nlevel : FA_DIRECTED_LEVELS, m->rig->mesh.nvert, out,
                              err));
    FaDirected *d = *out;
    memcpy(d->start, t->start, ((size_t)t->nmuscle + 1) * sizeof *t->start);
    for (int i = 0; i < t->nmuscle; i++) memcpy(d->name[i], m->muscles.muscle[i].id.name, sizeof d->name[i]);
    d->spring = FA_MUSCLE_SPRING;
    d->mesh = fai_mesh_print(&m->rig->mesh);
    return FA_OK;
}

FaCode fai_directed_copy(const FaDirected *from, FaDirected **out, FaError *err) {
    FA_TRY(fai_directed_sized(from->nmuscle, from->npoint, from->nlevel, from->nvert, out, err));
    FaDirected *d = *out;
    memcpy(d->name, from->name, (size_t)d->nmuscle * sizeof *d->name);
    memcpy(d->start, from->start, ((size_t)d->nmuscle + 1) * sizeof *d->start);
    memcpy(d->activation, from->activation, (size_t)d->nmuscle * sizeof *d->activation);
    memcpy(d->sprung, from->sprung, (size_t)d->nmuscle * sizeof *d->sprung);
    memcpy(d->track, from->track, 3 * (size_t)d->npoint * (size_t)d->nlevel * sizeof *d->track);
    memcpy(d->snap, from->snap, 3 * (size_t)d->nvert * sizeof *d->snap);
    memcpy(d->snap_weight, from->snap_weight, (size_t)d->nvert * sizeof *d->snap_weight);
    d->spring = from->spring, d->jaw = from->jaw, d->cranium = from->cranium, d->mesh = from->mesh;
    if (from->face && !(d->face = fai_arena_strndup(d->arena, from->face, strlen(from->face)))) {
        fa_directed_free(d);
        *out = NULL;
        return FA_FAIL_MEMORY(err);
    }
    return FA_OK;
}

void fa_directed_free(FaDirected *d) {
    if (!d) return;
    fai_arena_free(d->arena);
    fa_free(d);
}

FaCode fai_directed_fits(const FaMuscleDirector *director, const FaDirected *d, FaError *err) {
    const FaMuscleTracks *t = &director->tracks;
    const FaMuscleModel *m = director->model;
    const char *remedy = "use the face that it was made for, or take it to this one: fascia muscle retarget";
    if (d->nvert != m->rig->mesh.nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, remedy, "the pose is of a rig of %d vertices, this one has %d", d->nvert,
                       m->rig->mesh.nvert);
    if (d->mesh && d->mesh != fai_mesh_print(&m->rig->mesh))
        return FA_FAIL(err, FA_E_ARG, NULL, remedy, "the pose is of another rig: its triangles are not those of %s",
                       m->rig->path ? m->rig->path : "this one");
    if (d->nmuscle != t->nmuscle)
        return FA_FAIL(err, FA_E_ARG, NULL, remedy, "the pose has %d muscles, the face %d", d->nmuscle, t->nmuscle);
    for (int i = 0; i < t->nmuscle; i++)
        if (strcmp(d->name[i], m->muscles.muscle[i].id.name) != 0 || d->start[i + 1] != t->start[i + 1])
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("muscle %s", d->name[i]), remedy,
                           "the face has %s with %d control points in its place", m->muscles.muscle[i].id.name,
                           t->start[i + 1] - t->start[i]);
    return FA_OK;
}

void fai_directed_track(const FaDirected *d, double part, double *track) {
    const size_t n = 3 * (size_t)d->npoint;
    const double at = fmax(part, 0) * d->nlevel;
    const int level = FA_MIN((int)at, d->nlevel - 1); // between this many levels and one more
    const double *from = level ? d->track + (size_t)(level - 1) * n : NULL, *to = d->track + (size_t)level * n;
    const double share = at - level;
    for (size_t i = 0; i < n; i++)
        track[i] = part >= 1 ? part * d->track[(size_t)(d->nlevel - 1) * n + i]
                   : from    ? from[i] + share * (to[i] - from[i])
                             : share * to[i];
}

FaPose fai_directed_jaw(const FaJaw *jaw, const FaPose *pose, double part) {
    double turn[3], hinge[3];
    FaPose out;
    if (part == 1) return *pose; // to the bit
    fai_pose_apply(pose, jaw->hinge, hinge);
    fai_q_log(pose->q, turn);
    for (int k = 0; k < 3; k++) turn[k] *= part;
    fai_q_exp(turn, out.q);
    fai_q_rotate(out.q, jaw->hinge, turn);
    for (int k = 0; k < 3; k++) out.p[k] = jaw->hinge[k] + part * (hinge[k] - jaw->hinge[k]) - turn[k];
    return out;
}

FaMuscleJaw fai_directed_jaw_numbers(const FaMuscleModel *m, const FaPose *pose) {
    const FaJaw *jaw = &m->face->jaw;
    double turn[3], slide[3], by[3];
    if (!jaw->found || !(fabs(jaw->open_angle) > 1e-3)) return (FaMuscleJaw){0};
    fai_q_log(pose->q, turn);
    const double angle = fai_v3_dot(turn, jaw->axis);
    fai_pose_apply(pose, jaw->hinge, slide);
    for (int k = 0; k < 3; k++) slide[k] -= jaw->hinge[k] + angle / jaw->open_angle * jaw->open_slide[k];
    fai_m3_mulv(m->rig->axes, slide, by);
    return (FaMuscleJaw){.open = angle * 180 / PI, .forward = by[2], .side = by[0]};
}

void fai_directed_flesh_track(FaMuscleDirector *director, const double *x, double *track) {
    const FaMuscleModel *m = director->model;
    for (int i = 0; i < 3 * m->flesh.nnode; i++) director->at[i] = x[i] - m->rest[i];
    fai_muscle_tracks_sample(&director->tracks, director->at, director->moved);
    fai_muscle_tracks_fit(&director->tracks, director->moved, track);
}

void fai_directed_hold(FaMuscleDirector *director, const FaPose *jaw, const double *track, const unsigned char *sprung,
                       double spring) {
    const FaMuscleTracks *t = &director->tracks;
    const FaMuscleModel *m = director->model;
    double *at = director->at, *y = director->y, *moved = director->moved, *k = director->k;
    bool any = false;
    memcpy(at, m->rest, 3 * (size_t)m->flesh.nnode * sizeof *at);
    for (int i = 0; i < m->flesh.nnode; i++)
        if (m->flesh.kind[i] == FA_FILLED_JAW) fai_pose_apply(jaw, m->rest + 3 * (size_t)i, at + 3 * (size_t)i);
    fai_muscle_tracks_sample(t, m->rest, y);
    fai_muscle_tracks_at(t, track, moved);
    for (int i = 0; i < 3 * t->nsample; i++) y[i] += moved[i];
    for (int i = 0; i < t->nmuscle; i++)
        for (int s = t->first[i]; s < t->first[i + 1]; s++) {
            k[s] = sprung[i] ? spring * t->volume[s] : 0;
            any |= k[s] > 0;
        }
    fai_muscle_body_pull(m->body, any ? k : NULL, y);
}

FaCode fai_directed_solve(FaMuscleDirector *director, const double *activation, const FaPose *jaw, const double *track,
                          const unsigned char *sprung, double spring, bool next, double *x, FaMuscleReport *report,
                          FaError *err) {
    FaMuscleModel *m = director->model;
    fai_directed_hold(director, jaw, track, sprung, spring);
    if (next) return fai_muscle_body_frame(m->body, activation, director->at, x, report, err);
    memcpy(x, m->rest, 3 * (size_t)m->flesh.nnode * sizeof *x);
    return fai_muscle_body_pose(m->body, activation, director->at, x, report, err);
}

FaCode fai_directed_pose(FaMuscleDirector *director, const FaDirected *d, double part, bool next, double *x,
                         FaMuscleReport *report, FaError *err) {
    double activation[FA_MUSCLES_MOST];
    const FaPose jaw = fai_directed_jaw(&director->model->face->jaw, &d->jaw, part);
    FA_TRY(fai_directed_fits(director, d, err));
    for (int i = 0; i < d->nmuscle; i++) activation[i] = fmin(fmax(part * d->activation[i], 0), 1);
    fai_directed_track(d, part, director->track);
    return fai_directed_solve(director, activation, &jaw, director->track, d->sprung, d->spring, next, x, report, err);
}

// What a snap carries is where that says.
static void ride_inner(const FaMuscleModel *m, const FaDirected *d, double part, float *surface) {
    const FaPose jaw = fai_directed_jaw(&m->face->jaw, &d->jaw, part);
    for (int i = 0; i < m->inner.n; i++) {
        FaMuscleInner one = {.n = 1, .vertex = m->inner.vertex + i, .share = m->inner.share + i};
        const float *snap = d->snap + 3 * (size_t)one.vertex[0];
        if (d->snap_weight[one.vertex[0]] == 0 || (snap[0] == 0 && snap[1] == 0 && snap[2] == 0))
            fai_inner_ride(&one, &jaw, surface);
    }
}

void fai_directed_surface(const FaMuscleDirector *director, const FaDirected *d, double part, const double *x,
                          float *surface) {
    FaMuscleModel *m = director->model;
    const size_t n = (size_t)m->rig->mesh.nvert;
    const bool moves = memcmp(&d->cranium, &(FaPose){{0, 0, 0, 1}, {0, 0, 0}}, sizeof d->cranium) != 0;
    const FaPose cranium = fai_directed_jaw(&m->face->jaw, &d->cranium, part);
    for (int i = 0; i < 3 * m->flesh.nnode; i++) m->node[i] = (float)x[i];
    memcpy(surface, m->rig->mesh.x, 3 * n * sizeof *surface);
    fai_filled_ride(&m->flesh, m->node, surface);
    ride_inner(m, d, part, surface);
    for (size_t v = 0; v < n; v++) {
        const float w = (float)part * d->snap_weight[v];
        for (size_t k = 3 * v; k < 3 * v + 3 && w != 0; k++) surface[k] += w * d->snap[k];
        double p[3];
        if (!moves) continue;
        fai_v3_load(surface, (int)v, p);
        fai_pose_apply(&cranium, p, p);
        for (size_t k = 0; k < 3; k++) surface[3 * v + k] = (float)p[k];
    }
}

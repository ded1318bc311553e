// Expression targeting (paper 002, section 5): simulate, snap, morph, lengthen the tracks, simulate again.
//
// The morph is added to the ends of the tracks as they were, not to the muscle as it was simulated: else rounds stop at
// what the flesh resists at once. What presses into something that touches already is left out of it: flesh cannot go
// there, and tracks would wind up against it.
#include "math/mat3.h"
#include "muscle/direct.h"

#include <math.h>
#include <string.h>

enum { PUSHES = 4096 };

typedef struct Work {
    FaMuscleDirector *d;
    FaMuscleModel *m;
    const float *goal;
    double *activation, *track;
    double *x, *at, *field; // (nnode x 3)
    double *sample, *k, *y; // (nsample x 3; nsample; nsample x 3)
    double *change, *best;  // (npoint x 3)
    double *best_x;         // (nnode x 3)
    FaMusclePush *push;     // (PUSHES)
} Work;

static FaCode allocate(Work *w, FaArena *arena, FaError *err) {
    size_t n = 3 * (size_t)w->m->flesh.nnode, s = 3 * (size_t)w->d->tracks.nsample, p = 3 * (size_t)w->d->tracks.npoint;
    double **array[] = {&w->at, &w->field, &w->best_x, &w->sample, &w->k, &w->y, &w->change, &w->best};
    const size_t size[] = {n, n, n, s, s, s, p, p};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(arena, size[i] + 1, double))) return FA_FAIL_MEMORY(err);
    w->push = FA_PUSH(arena, PUSHES, FaMusclePush);
    return w->push ? FA_OK : FA_FAIL_MEMORY(err);
}

static void place_bones(Work *w, const FaPose *jaw) {
    const FaMuscleModel *m = w->m;
    memcpy(w->at, m->rest, 3 * (size_t)m->flesh.nnode * sizeof *w->at);
    for (int i = 0; i < m->flesh.nnode; i++)
        if (m->flesh.kind[i] == FA_FILLED_JAW) fai_pose_apply(jaw, m->rest + 3 * (size_t)i, w->at + 3 * (size_t)i);
}

// Ends of the tracks of the flesh as it is.
static void track_of_pose(Work *w) {
    for (int i = 0; i < 3 * w->m->flesh.nnode; i++) w->field[i] = w->x[i] - w->m->rest[i];
    fai_muscle_tracks_sample(&w->d->tracks, w->field, w->sample);
    fai_muscle_tracks_fit(&w->d->tracks, w->sample, w->track);
}

// What the skin lacks, without what presses into contact.
static void find_snap(Work *w) {
    const FaFilled *f = &w->m->flesh;
    memset(w->field, 0, 3 * (size_t)f->nnode * sizeof *w->field);
    for (int i = 0; i < f->nskin; i++) {
        int node = f->node_of_skin[i], v = w->m->face->skin_vertex[i];
        for (int k = 0; k < 3 && node >= 0 && f->kind[node] == FA_FILLED_FREE; k++)
            w->field[3 * (size_t)node + (size_t)k] =
                (double)w->goal[3 * (size_t)v + (size_t)k] - w->x[3 * (size_t)node + (size_t)k];
    }
    int n = fai_muscle_body_pushes(w->m->body, w->x, PUSHES, w->push);
    for (int i = 0; i < n; i++) {
        double *d = w->field + 3 * (size_t)w->push[i].node, in = fai_v3_dot(d, w->push[i].normal);
        for (int k = 0; k < 3 && in < 0; k++) d[k] -= in * w->push[i].normal[k];
    }
}

static FaCode simulate(Work *w, double spring, FaMuscleReport *r, FaError *err) {
    const FaMuscleTracks *t = &w->d->tracks;
    fai_muscle_tracks_sample(t, w->m->rest, w->y);
    fai_muscle_tracks_at(t, w->track, w->sample);
    for (int s = 0; s < t->nsample; s++) w->k[s] = spring * t->volume[s];
    for (int i = 0; i < 3 * t->nsample; i++) w->y[i] += w->sample[i];
    fai_muscle_body_pull(w->m->body, w->k, w->y);
    return fai_muscle_body_pose(w->m->body, w->activation, w->at, w->x, r, err);
}

static FaCode play_rounds(Work *w, const FaMuscleAim *aim, FaMuscleHit *hit, FaError *err) {
    const size_t bytes = 3 * (size_t)w->m->flesh.nnode * sizeof *w->x,
                 track_bytes = 3 * (size_t)w->d->tracks.npoint * sizeof *w->track;
    const int rounds = FA_MIN(aim->rounds > 0 ? aim->rounds : 5, FA_MUSCLE_ROUNDS);
    FaMuscleReport r = {0};
    track_of_pose(w);
    hit->rms[0] = fai_muscle_snap(w->d, w->goal, w->x);
    memcpy(w->best, w->track, track_bytes);
    memcpy(w->best_x, w->x, bytes);
    for (int i = 1; i <= rounds; i++) {
        FA_TRY(fai_progress(aim->progress, aim->progress_user, "target", (double)i / (rounds + 1), "nothing is kept",
                            err));
        find_snap(w);
        FA_TRY(fai_morph_solve(w->d->morph, w->x, w->field, err));
        fai_muscle_tracks_sample(&w->d->tracks, w->field, w->sample);
        fai_muscle_tracks_fit(&w->d->tracks, w->sample, w->change);
        for (int k = 0; k < 3 * w->d->tracks.npoint; k++) w->track[k] += w->change[k];
        FA_TRY(simulate(w, aim->spring > 0 ? aim->spring : 5e9, &r, err));
        hit->rounds = i;
        hit->rms[i] = fai_muscle_snap(w->d, w->goal, w->x);
        if (!(hit->rms[i] < hit->rms[hit->best])) break;
        hit->best = i, hit->inverted = r.inverted, hit->volume = r.volume;
        memcpy(w->best, w->track, track_bytes);
        memcpy(w->best_x, w->x, bytes);
    }
    memcpy(w->track, w->best, track_bytes);
    memcpy(w->x, w->best_x, bytes);
    return FA_OK;
}

FaCode fai_muscle_target(FaMuscleDirector *d, const FaMuscleAim *aim, const float *goal, const FaPose *jaw,
                         double *activation, double *track, double *x, FaMuscleHit *hit, FaError *err) {
    const FaMuscleAim none = {0}, *a = aim ? aim : &none;
    FaMuscleModel *m = d->model;
    Work w = {.d = d, .m = m, .goal = goal, .activation = activation, .track = track, .x = x};
    double begin = fai_seconds();
    FaArena *arena = fai_arena_new(0);
    *hit = (FaMuscleHit){.jaw = *jaw};
    FaCode rc = arena ? allocate(&w, arena, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        memcpy(x, m->rest, 3 * (size_t)m->flesh.nnode * sizeof *x);
        hit->neutral = fai_muscle_snap(d, goal, x);
        fai_muscle_body_contact(m->body, !a->untouched);
        fai_muscle_body_pull(m->body, NULL, NULL);
        rc = fai_muscle_inverse(d, goal, &hit->jaw, activation, x, &hit->raw, err);
    }
    if (rc >= 0) {
        place_bones(&w, &hit->jaw);
        rc = play_rounds(&w, a, hit, err);
    }
    fai_muscle_body_pull(m->body, NULL, NULL);
    fai_muscle_body_contact(m->body, true);
    hit->seconds = fai_seconds() - begin;
    fai_arena_free(arena);
    return rc < 0 ? rc : FA_OK;
}

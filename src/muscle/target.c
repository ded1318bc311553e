// Expression targeting (paper 002, section 5): simulate, snap, morph, lengthen the tracks, simulate again.
//
// The morph is added to the ends of the tracks as they were, not to the muscle as it was simulated: else rounds stop at
// what the flesh resists at once. What presses into something that touches already is left out of it: flesh cannot go
// there, and tracks would wind up against it. Flesh resists, so that a round is not the morph alone but the best of a
// few that follow from it, as the flesh's stiffness says (muscle/reach.h); where a round is worse than the best one,
// the next is a plain step from there.
//
// With bones found (section 6) activations are found, flesh is let go of its bones and dragged to the goal, the bones
// follow, and all begins again in the frame of the skull that was found.
#include "math/mat3.h"
#include "muscle/free_bones.h"
#include "muscle/reach.h"

#include <math.h>
#include <string.h>

static const double WELL = 0.8, BADLY = 0.5; // of what was hoped for
static const double SHORTER = 0.4;           // of a change that went too far
enum { PUSHES = 4096, LOOSE_ROUNDS = 3, LOOSE_PASSES = 2, FIRST_STEPS = 3, FOLDS = 10 };

typedef struct Work {
    FaMuscleDirector *d; // the view
    FaMuscleModel *m;
    const FaMuscleAim *aim;
    const float *given; // the goal, and in the skull's frame            (nvert x 3)
    float *goal;
    FaDirected *pose;
    double *x, *field;                   // (nnode x 3)
    double *sample;                      // (nsample x 3)
    double *track, *change, *best, *raw; // (npoint x 3)
    double *best_x;                      // (nnode x 3)
    FaMusclePush *push;                  // (PUSHES)
    FaReach reach;
    FaMuscleJawLimits limits;
} Work;

static FaCode allocate(Work *w, FaArena *arena, FaError *err) {
    size_t n = 3 * (size_t)w->m->flesh.nnode, s = 3 * (size_t)w->d->tracks.nsample, p = 3 * (size_t)w->d->tracks.npoint;
    double **array[] = {&w->field, &w->best_x, &w->sample, &w->track, &w->change, &w->best, &w->raw};
    const size_t size[] = {n, n, s, p, p, p, p};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(arena, size[i] + 1, double))) return FA_FAIL_MEMORY(err);
    w->push = FA_PUSH(arena, PUSHES, FaMusclePush);
    w->goal = FA_PUSH(arena, 3 * (size_t)w->m->rig->mesh.nvert + 1, float);
    if (!w->push || !w->goal) return FA_FAIL_MEMORY(err);
    return fai_reach_new(w->d, arena, &w->reach, err);
}

// The goal as the skull sees it.
static void place_goal(Work *w) {
    const FaPose back = fai_pose_inverse(&w->pose->cranium);
    const size_t n = (size_t)w->m->rig->mesh.nvert;
    memcpy(w->goal, w->given, 3 * n * sizeof *w->goal);
    if (w->aim->bones == FA_MUSCLE_BONES_HELD) return;
    for (size_t v = 0; v < n; v++) {
        double p[3];
        fai_v3_load(w->given, (int)v, p);
        fai_pose_apply(&back, p, p);
        for (size_t k = 0; k < 3; k++) w->goal[3 * v + k] = (float)p[k];
    }
}

// Ends of the tracks of the flesh as it is.
static void track_of_flesh(Work *w, const double *x, double *track) {
    for (int i = 0; i < 3 * w->m->flesh.nnode; i++) w->field[i] = x[i] - w->m->rest[i];
    fai_muscle_tracks_sample(&w->d->tracks, w->field, w->sample);
    fai_muscle_tracks_fit(&w->d->tracks, w->sample, track);
}

// What the skin lacks, without what presses into contact.
static void find_snap(Work *w) {
    const FaFilled *f = &w->m->flesh;
    memset(w->field, 0, 3 * (size_t)f->nnode * sizeof *w->field);
    for (int i = 0; i < f->nskin; i++) {
        int node = f->node_of_skin[i], v = w->m->face->skin_vertex[i];
        const bool known = !w->aim->known || w->aim->known[v];
        for (int k = 0; k < 3 && known && node >= 0 && f->kind[node] == FA_FILLED_FREE; k++)
            w->field[3 * (size_t)node + (size_t)k] =
                (double)w->goal[3 * (size_t)v + (size_t)k] - w->x[3 * (size_t)node + (size_t)k];
    }
    int n = fai_muscle_body_pushes(w->m->body, w->x, PUSHES, w->push);
    for (int i = 0; i < n; i++) {
        double *d = w->field + 3 * (size_t)w->push[i].node, in = fai_v3_dot(d, w->push[i].normal);
        for (int k = 0; k < 3 && in < 0; k++) d[k] -= in * w->push[i].normal[k];
    }
}

// The change of tracks that would make up for what the skin lacks at x.
static FaCode find_change(Work *w, int steps, FaError *err) {
    find_snap(w);
    return fai_reach(&w->reach, w->x, w->field, steps, w->change, err);
}

// What a round did decides how far the next one trusts the flesh to go on as its stiffness says. Flesh that folds is
// not pressed further.
static int next_steps(double hoped, int steps, double before, double now, bool folds) {
    const double made = 1 - now * now / (before * before);
    if (folds || made < BADLY * hoped) return FA_MAX(steps / 2, 2);
    return made > WELL * hoped ? FA_MIN(steps + 1, FA_REACH) : steps;
}

// The flesh with the best tracks and the change that was found, from where the best ones left it.
static FaCode try_change(Work *w, FaMuscleReport *r, FaError *err) {
    const size_t n = 3 * (size_t)w->d->tracks.npoint;
    const FaDirected *p = w->pose;
    memcpy(w->x, w->best_x, 3 * (size_t)w->m->flesh.nnode * sizeof *w->x);
    for (size_t k = 0; k < n; k++) w->track[k] = w->best[k] + w->change[k];
    fai_directed_hold(w->d, &p->jaw, w->track, p->sprung, p->spring);
    return fai_muscle_body_pose(w->m->body, p->activation, w->d->at, w->x, r, err);
}

// One round: the whole change; where that is too much, a part of it; then what the morph alone says. *steps: of this
// round, and of the next; 0: nothing was better. *inverted: tets of the best round. The morph alone may fold more of
// them in the first: what it gains is the most of all.
static FaCode play_round(Work *w, int *steps, int *inverted, FaMuscleHit *hit, FaError *err) {
    const double before = hit->rms[hit->best];
    const int i = ++hit->rounds;
    double hoped = 0;
    FaMuscleReport r = {0};
    for (int part = 0; part < 3; part++) {
        if (part == 1)
            for (size_t k = 0; k < 3 * (size_t)w->d->tracks.npoint; k++) w->change[k] *= SHORTER;
        else
            FA_TRY(find_change(w, part ? 1 : *steps, err));
        if (part == 0) hoped = w->reach.hoped;
        FA_TRY(try_change(w, &r, err));
        hit->rms[i] = fai_muscle_snap(w->d, w->goal, w->x);
        const bool folds = r.inverted > *inverted + FOLDS && !(part == 2 && hit->best == 0);
        if (hit->rms[i] < before && !folds) {
            *steps = part ? 2 : next_steps(hoped, *steps, before, hit->rms[i], r.inverted > 0);
            *inverted = r.inverted, hit->best = i;
            memcpy(w->best, w->track, 3 * (size_t)w->d->tracks.npoint * sizeof *w->best);
            memcpy(w->best_x, w->x, 3 * (size_t)w->m->flesh.nnode * sizeof *w->x);
            return FA_OK;
        }
        memcpy(w->x, w->best_x, 3 * (size_t)w->m->flesh.nnode * sizeof *w->x);
        fai_directed_hold(w->d, &w->pose->jaw, w->best, w->pose->sprung, w->pose->spring);
    }
    hit->rounds--; // it made nothing
    *steps = 0;
    return FA_OK;
}

static FaCode play_rounds(Work *w, FaMuscleHit *hit, FaError *err) {
    const FaMuscleAim *aim = w->aim;
    const int rounds = FA_MIN(aim->rounds > 0 ? aim->rounds : 5, FA_MUSCLE_ROUNDS);
    int steps = FIRST_STEPS, inverted = 0;
    hit->rms[0] = fai_muscle_snap(w->d, w->goal, w->x);
    memcpy(w->best, w->raw, 3 * (size_t)w->d->tracks.npoint * sizeof *w->best);
    memcpy(w->best_x, w->x, 3 * (size_t)w->m->flesh.nnode * sizeof *w->x);
    fai_directed_hold(w->d, &w->pose->jaw, w->best, w->pose->sprung, w->pose->spring);
    for (int i = 1; i <= rounds && steps; i++) {
        FA_TRY(fai_progress(aim->progress, aim->progress_user, "target", (double)i / (rounds + 1), "nothing is kept",
                            err));
        FA_TRY(play_round(w, &steps, &inverted, hit, err));
    }
    return FA_OK;
}

// The way there: controls of the raw pose in steps give its nonlinear tracks (section 3), and what rounds added to the
// ends is added to each in proportion (section 4).
static FaCode step_controls(Work *w, FaError *err) {
    FaDirected *p = w->pose;
    const size_t n = 3 * (size_t)p->npoint;
    unsigned char none[FA_MUSCLES_MOST] = {0};
    double part_of[FA_MUSCLES_MOST];
    for (int level = 1; level <= p->nlevel; level++) {
        const double part = (double)level / p->nlevel;
        double *to = p->track + (size_t)(level - 1) * n;
        const FaPose jaw = fai_directed_jaw(&w->m->face->jaw, &p->jaw, part);
        for (int i = 0; i < p->nmuscle; i++) part_of[i] = part * p->activation[i];
        if (level < p->nlevel) {
            FA_TRY(fai_directed_solve(w->d, part_of, &jaw, w->best, none, 0, level > 1, w->x, NULL, err));
            track_of_flesh(w, w->x, to);
        } else
            memcpy(to, w->raw, n * sizeof *to);
        for (size_t i = 0; i < n; i++) to[i] += part * (w->best[i] - w->raw[i]);
    }
    return FA_OK;
}

// The pose from rest, as whoever opens it later will make it; and what of the goal it lacks, in the skull's frame.
static FaCode play_pose(Work *w, FaMuscleHit *hit, FaError *err) {
    FaMuscleReport r = {0};
    FaDirected *p = w->pose;
    const FaPose cranium = p->cranium;
    FA_TRY(fai_directed_pose(w->d, p, 1, false, w->x, &r, err));
    hit->inverted = r.inverted, hit->volume = r.volume;
    hit->played = fai_muscle_snap(w->d, w->goal, w->x);
    p->cranium = fai_pose_identity();
    fai_directed_surface(w->d, p, 1, w->x, p->snap); // no weight yet: flesh alone
    p->cranium = cranium;
    for (size_t i = 0; i < 3 * (size_t)p->nvert; i++)
        p->snap[i] = w->aim->known && !w->aim->known[i / 3] ? 0 : w->goal[i] - p->snap[i];
    return FA_OK;
}

// Activations and jaw for the goal as the skull sees it, from rest.
static FaCode find_raw(Work *w, FaMuscleHit *hit, FaError *err) {
    FaDirected *p = w->pose;
    place_goal(w);
    memcpy(w->x, w->m->rest, 3 * (size_t)w->m->flesh.nnode * sizeof *w->x);
    fai_muscle_body_pull(w->m->body, NULL, NULL);
    FA_TRY(fai_muscle_inverse(w->d, w->goal, &p->jaw, p->activation, w->x, &hit->raw, err));
    track_of_flesh(w, w->x, w->raw);
    return FA_OK;
}

// Where the bones are: flesh that is let go of them shows it.
static FaCode find_bones(Work *w, FaMuscleHit *hit, FaError *err) {
    const FaMuscleJawLimits *limits = w->aim->bones == FA_MUSCLE_BONES_LIMITED ? &w->limits : NULL;
    if (limits && w->aim->limits)
        w->limits = *w->aim->limits;
    else if (limits && w->m->face->jaw.found)
        FA_TRY(fa_muscle_jaw_limits(w->m, &w->limits, err));
    for (int pass = 0; pass < LOOSE_PASSES; pass++) {
        const FaPose before = w->pose->cranium;
        FA_TRY(find_raw(w, hit, err));
        FA_TRY(fai_free_bones(w->d, w->goal, w->aim->known, LOOSE_ROUNDS, limits, w->raw, w->x, w->pose, err));
        w->pose->cranium = fai_pose_mul(&before, &w->pose->cranium);
    }
    w->d->limits = limits && w->m->face->jaw.found ? limits : NULL;
    return FA_OK;
}

static FaCode aim_at(Work *w, FaMuscleHit *hit, FaError *err) {
    FaMuscleModel *m = w->m;
    const FaMuscleAim *a = w->aim;
    FaDirected *p = w->pose;
    p->cranium = fai_pose_identity();
    place_goal(w);
    hit->neutral = fai_muscle_snap(w->d, w->goal, m->rest);
    fai_muscle_body_contact(m->body, !a->untouched);
    memset(p->snap_weight, 0, (size_t)p->nvert * sizeof *p->snap_weight);
    memset(p->sprung, 1, (size_t)p->nmuscle);
    p->spring = a->spring > 0 ? a->spring : FA_MUSCLE_SPRING;
    if (a->bones != FA_MUSCLE_BONES_HELD) FA_TRY(find_bones(w, hit, err));
    FA_TRY(find_raw(w, hit, err));
    FA_TRY(play_rounds(w, hit, err));
    FA_TRY(step_controls(w, err));
    return play_pose(w, hit, err);
}

FaCode fai_muscle_target(FaMuscleDirector *d, const FaMuscleAim *aim, const float *goal, FaDirected *pose, double *x,
                         FaMuscleHit *hit, FaError *err) {
    const FaMuscleAim none = {0}, *a = aim ? aim : &none;
    FaMuscleDirector view = *d;
    Work w = {.d = &view, .m = d->model, .aim = a, .given = goal, .pose = pose, .x = x};
    double begin = fai_seconds();
    FaArena *arena = fai_arena_new(0);
    *hit = (FaMuscleHit){0};
    FaCode rc = arena ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_muscle_director_view(d, a->known, a->nlandmark, a->landmark, arena, &view, err);
    if (rc >= 0) rc = allocate(&w, arena, err);
    if (rc >= 0) rc = aim_at(&w, hit, err);
    if (view.morph != d->morph) fai_morph_free(view.morph);
    fai_muscle_body_pull(d->model->body, NULL, NULL);
    fai_muscle_body_contact(d->model->body, true);
    hit->seconds = fai_seconds() - begin, hit->seen = view.nseen;
    fai_arena_free(arena);
    return rc < 0 ? rc : FA_OK;
}

// Directed poses of a model, behind fascia/muscle.h.
#include "math/mat3.h"
#include "muscle/free_bones.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double FARTHEST = 0.3; // m: no pose of a face moves its skin so far

FaMuscleTargetOptions fa_muscle_target_options_default(void) { return (FaMuscleTargetOptions){0}; }

static FaCode check_goal(const FaMuscleModel *m, const float *goal, const unsigned char *known, FaError *err) {
    for (int v = 0; v < m->rig->mesh.nvert; v++) {
        double d[3], p[3];
        if (known && !known[v]) continue;
        fai_v3_load(goal, v, d);
        fai_v3_load(m->rig->mesh.x, v, p);
        fai_v3_sub(d, p, d);
        if (!isfinite(fai_v3_norm(d)))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("vertex %d", v), "mend the file, or export it again",
                           "the goal has a position that is no number");
        if (!(fai_v3_norm(d) < FARTHEST))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("vertex %d", v),
                           "give a pose of this face: the same vertices in the same order, in the rig's place and unit",
                           "the goal is %.3g m away from the face at rest", fai_v3_norm(d));
    }
    return FA_OK;
}

static void tell(const FaMuscleModel *m, const FaMuscleHit *hit, const FaDirected *pose, FaMuscleTargeted *r) {
    memset(r, 0, sizeof *r);
    memcpy(r->activation, pose->activation, (size_t)pose->nmuscle * sizeof *pose->activation);
    memcpy(r->rms, hit->rms, sizeof hit->rms);
    r->open = 2 * acos(fmin(fabs(pose->jaw.q[3]), 1)) * 180 / PI;
    r->neutral = hit->neutral, r->rounds = hit->rounds, r->best = hit->best, r->played = hit->played;
    double turn[3], moved[3];
    fai_q_log(pose->cranium.q, turn);
    fai_pose_apply(&pose->cranium, m->face->jaw.hinge, moved);
    fai_v3_sub(moved, m->face->jaw.hinge, moved);
    r->turned = fai_v3_norm(turn) * 180 / PI, r->moved = fai_v3_norm(moved), r->seen = hit->seen;
    r->inverted = hit->inverted, r->volume_change = hit->volume - 1, r->seconds = hit->seconds;
}

static FaCode target(FaMuscleDirector *d, const float *goal, const float *weights, const FaMuscleAim *aim,
                     const float *snap, float *surface, FaDirected **pose, FaMuscleTargeted *report, FaError *err) {
    FaMuscleModel *m = d->model;
    FaMuscleHit hit;
    FA_TRY(fai_directed_new(d, 0, pose, err));
    (*pose)->jaw = weights ? fai_jaw_pose(&m->face->jaw, weights) : fai_muscle_find_jaw(m, goal, aim->known);
    FA_TRY(fai_muscle_target(d, aim, goal, *pose, m->x, &hit, err));
    if (snap) memcpy((*pose)->snap_weight, snap, (size_t)(*pose)->nvert * sizeof *snap);
    fai_directed_surface(d, *pose, 1, m->x, surface);
    memcpy(m->activation, (*pose)->activation, (size_t)m->muscles.n * sizeof *m->activation);
    m->posed = true;
    if (report) tell(m, &hit, *pose, report);
    return FA_OK;
}

FaCode fa_muscle_target(FaMuscleModel *m, const float *goal, const float *weights, const FaMuscleTargetOptions *options,
                        float *surface, FaDirected **pose, FaMuscleTargeted *report, FaError *err) {
    const FaMuscleTargetOptions none = {0}, *o = options ? options : &none;
    FaDirected *made = NULL;
    if (pose) *pose = NULL;
    if (o->rounds < 0 || o->rounds > FA_MUSCLE_ROUNDS_MOST || !(o->spring >= 0 && o->spring <= 1e13))
        return FA_FAIL(err, FA_E_ARG, NULL, "give up to 32 rounds, and springs of 0 to 1e13 N/m4",
                       "%d rounds with springs of %g N/m4", o->rounds, o->spring);
    FA_TRY(check_goal(m, goal, o->known, err));
    const FaMuscleAim aim = {.rounds = o->rounds,
                             .spring = o->spring,
                             .untouched = o->untouched,
                             .bones = o->bones,
                             .limits = o->limits,
                             .nlandmark = o->nlandmark,
                             .landmark = o->landmark,
                             .known = o->known,
                             .progress = o->progress,
                             .progress_user = o->progress_user};
    FaMuscleDirector *d;
    FA_TRY(fai_muscle_director(m, &d, err));
    FaCode rc = target(d, goal, weights, &aim, o->snap, surface, &made, report, err);
    if (rc >= 0 && pose)
        *pose = made;
    else
        fa_directed_free(made);
    return rc;
}

FaCode fa_muscle_direct(FaMuscleModel *m, const FaDirected *pose, double part, float *surface, FaMusclePosed *report,
                        FaError *err) {
    FaMuscleDirector *d;
    FaMuscleReport r;
    if (!(part >= 0 && part <= 1))
        return FA_FAIL(err, FA_E_ARG, NULL, "give 0 (the neutral) to 1 (the pose)", "a part of %g", part);
    FA_TRY(fai_muscle_director(m, &d, err));
    FaCode rc = fai_directed_pose(d, pose, part, false, m->x, &r, err);
    fai_muscle_body_pull(m->body, NULL, NULL);
    if (rc < 0) return rc;
    fai_directed_surface(d, pose, part, m->x, surface);
    for (int i = 0; i < m->muscles.n; i++) m->activation[i] = part * pose->activation[i];
    m->posed = true;
    m->jaw = fa_directed_jaw(m, pose, part);
    if (report) fai_muscle_measure(m, &r, surface, report);
    if (report) report->open = m->jaw.open;
    return rc;
}

const double *fa_directed_activation(const FaDirected *pose) { return pose->activation; }
int fa_directed_count(const FaDirected *pose) { return pose->nmuscle; }

FaMuscleJaw fa_directed_jaw(const FaMuscleModel *m, const FaDirected *pose, double part) {
    const FaPose jaw = fai_directed_jaw(&m->face->jaw, &pose->jaw, part);
    return fai_directed_jaw_numbers(m, &jaw);
}

// Tracks of a pose that nothing was sculpted for: those of the flesh, as its controls are stepped (section 3).
static FaCode step_controls(FaMuscleDirector *d, FaDirected *p, FaError *err) {
    FaMuscleModel *m = d->model;
    double part_of[FA_MUSCLES_MOST];
    for (int level = 1; level <= p->nlevel; level++) {
        const double part = (double)level / p->nlevel;
        double *to = p->track + 3 * (size_t)(level - 1) * (size_t)p->npoint;
        const FaPose jaw = fai_directed_jaw(&m->face->jaw, &p->jaw, part);
        for (int i = 0; i < p->nmuscle; i++) part_of[i] = part * p->activation[i];
        FA_TRY(fai_directed_solve(d, part_of, &jaw, to, p->sprung, 0, level > 1, m->x, NULL, err));
        fai_directed_flesh_track(d, m->x, to);
    }
    return FA_OK;
}

FaCode fa_muscle_directed(FaMuscleModel *m, const FaMusclePose *pose, FaDirected **directed, FaError *err) {
    FaMuscleDirector *d;
    FaDirected *made = NULL;
    *directed = NULL;
    FA_TRY(fai_muscle_director(m, &d, err));
    FaCode rc = fai_directed_new(d, 0, &made, err);
    for (int i = 0; i < m->muscles.n && rc >= 0 && pose->activation; i++) {
        made->activation[i] = pose->activation[i];
        if (!(made->activation[i] >= 0 && made->activation[i] <= 1))
            rc = FA_FAIL(err, FA_E_ARG, FA_PLACE("muscle %s", made->name[i]), "give 0 to 1", "an activation of %g",
                         made->activation[i]);
    }
    if (rc >= 0) rc = fai_muscle_jaw(m, &pose->jaw, &made->jaw, NULL, err);
    if (rc >= 0) rc = step_controls(d, made, err);
    fai_muscle_body_pull(m->body, NULL, NULL);
    m->posed = false; // x is where its steps ended, not a pose from rest
    if (rc >= 0)
        *directed = made;
    else
        fa_directed_free(made);
    return rc < 0 ? rc : FA_OK;
}

// Directed poses of a model, behind fascia/muscle.h.
#include "math/mat3.h"
#include "muscle/direct.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double FARTHEST = 0.3; // m: no pose of a face moves its skin so far
static const float HELD = 0.5f;

FaMuscleTargetOptions fa_muscle_target_options_default(void) { return (FaMuscleTargetOptions){0}; }

// How far skin that the jaw carries is from the goal with the jaw there, m2.
static double jaw_off(const FaMuscleModel *m, const float *goal, const FaPose *jaw) {
    const FaFace *f = m->face;
    double sum = 0;
    int n = 0;
    for (int i = 0; i < f->nskin; i++) {
        if (!(f->to_jaw[i] > HELD)) continue;
        double p[3], to[3];
        fai_v3_load(m->rig->mesh.x, f->skin_vertex[i], p);
        fai_pose_apply(jaw, p, to);
        fai_v3_load(goal, f->skin_vertex[i], p);
        fai_v3_sub(p, to, p);
        sum += fai_v3_dot(p, p), n++;
    }
    return n ? sum / n : INFINITY;
}

// The jaw of a goal that says nothing of it: opened as far as the skin on it has gone, in steps of a degree.
static FaPose find_jaw(const FaMuscleModel *m, const float *goal) {
    FaPose best = fai_pose_identity();
    double least = jaw_off(m, goal, &best);
    FaError none = {0};
    for (int degrees = -3; degrees <= 40; degrees++) {
        FaPose pose;
        if (fai_muscle_jaw(m, &(FaMuscleJaw){.open = degrees}, &pose, NULL, &none) < 0) break;
        double off = jaw_off(m, goal, &pose);
        if (off < least) least = off, best = pose;
    }
    return best;
}

static FaCode check_goal(const FaMuscleModel *m, const float *goal, FaError *err) {
    for (int v = 0; v < m->rig->mesh.nvert; v++) {
        double d[3], p[3];
        fai_v3_load(goal, v, d);
        fai_v3_load(m->rig->mesh.x, v, p);
        fai_v3_sub(d, p, d);
        if (!(fai_v3_norm(d) < FARTHEST))
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("vertex %d", v),
                           "give a pose of this face: the same vertices in the same order, in the rig's place and unit",
                           "the goal is %.3g m away from the face at rest", fai_v3_norm(d));
    }
    return FA_OK;
}

static void tell(const FaMuscleHit *hit, const double *activation, int nmuscle, FaMuscleTargeted *r) {
    memset(r, 0, sizeof *r);
    memcpy(r->activation, activation, (size_t)nmuscle * sizeof *activation);
    memcpy(r->rms, hit->rms, sizeof hit->rms);
    r->open = 2 * acos(fmin(fabs(hit->jaw.q[3]), 1)) * 180 / PI;
    r->neutral = hit->neutral, r->rounds = hit->rounds, r->best = hit->best;
    r->inverted = hit->inverted, r->volume_change = hit->volume - 1, r->seconds = hit->seconds;
}

FaCode fa_muscle_target(FaMuscleModel *m, const float *goal, const float *weights, const FaMuscleTargetOptions *options,
                        float *surface, FaMuscleTargeted *report, FaError *err) {
    const FaMuscleTargetOptions none = {0}, *o = options ? options : &none;
    if (o->rounds < 0 || o->rounds > FA_MUSCLE_ROUNDS_MOST || !(o->spring >= 0 && o->spring <= 1e13))
        return FA_FAIL(err, FA_E_ARG, NULL, "give up to 32 rounds, and springs of 0 to 1e13 N/m4",
                       "%d rounds with springs of %g N/m4", o->rounds, o->spring);
    FA_TRY(check_goal(m, goal, err));
    const FaMuscleAim aim = {o->rounds, o->spring, o->untouched, o->progress, o->progress_user};
    double activation[FA_MUSCLES_MOST] = {0}, *track = NULL;
    FaMuscleHit hit = {0};
    FaMuscleDirector d;
    FA_TRY(fai_muscle_director_new(m, 0, &d, err));
    track = FA_NEW(3 * (size_t)d.tracks.npoint + 1, double);
    FaPose jaw = weights ? fai_jaw_pose(&m->face->jaw, weights) : find_jaw(m, goal);
    FaCode rc =
        track ? fai_muscle_target(&d, &aim, goal, &jaw, activation, track, m->x, &hit, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int i = 0; i < 3 * m->flesh.nnode; i++) m->node[i] = (float)m->x[i];
        memcpy(surface, m->rig->mesh.x, 3 * (size_t)m->rig->mesh.nvert * sizeof *surface);
        fai_filled_ride(&m->flesh, m->node, surface);
        memcpy(m->activation, activation, (size_t)m->muscles.n * sizeof *activation);
        m->posed = true;
        if (report) tell(&hit, activation, m->muscles.n, report);
    }
    fa_free(track);
    fai_muscle_director_free(&d);
    return rc;
}

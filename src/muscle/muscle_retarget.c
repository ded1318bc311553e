#include "muscle/muscle_retarget.h"

#include "math/mat3.h"

#include <math.h>
#include <stdio.h>

static const double PI = 3.14159265358979323846;
static const double INSIDE = 0.93;         // of a muscle in the flesh, on both heads, to follow a track
static const double LEAST = 0.1, MOST = 4; // of one jaw's opening against the other's
static const double PULLS = 1e-3;          // an activation that counts

FaMuscleRetargetOptions fa_muscle_retarget_options_default(void) { return (FaMuscleRetargetOptions){0}; }

typedef struct Work {
    const FaDirected *pose;
    FaRetargetSide a, b;
    const FaMuscleRetargetOptions *o;
    FaDirected *out;
    FaMuscleRetargeted *r;
    double turn[9];            // from A's frame to B's
    int from[FA_MUSCLES_MOST]; // muscle of the pose, of each of B's; -1: none
} Work;

// --- bones --------------------------------------------------------------------------------------------------------

static bool has_jaw(const FaMuscleModel *m) { return m->face->jaw.found && fabs(m->face->jaw.open_angle) > 1e-3; }

// A motion about A's hinge as one about B's: the turn about the axis times `ratio`, the slide that goes with opening as
// B's own, all else as it is, in B's frame and size.
static FaPose take_bone(const Work *w, const FaPose *pose, double ratio) {
    const FaJaw *a = &w->a.m->face->jaw, *b = &w->b.m->face->jaw;
    double turn[3], hinge[3], rest[3], slide[3], at[3], open = 0, weight = 0;
    const bool jaws = has_jaw(w->a.m) && has_jaw(w->b.m) && ratio > 0;
    FaPose out;
    fai_q_log(pose->q, turn);
    fai_pose_apply(pose, a->hinge, hinge);
    fai_v3_sub(hinge, a->hinge, slide);
    if (jaws) open = fai_v3_dot(turn, a->axis), weight = open / a->open_angle;
    for (int k = 0; k < 3; k++)
        rest[k] = turn[k] - open * a->axis[k], slide[k] = w->r->size * (slide[k] - weight * a->open_slide[k]);
    fai_m3_mulv(w->turn, rest, turn);
    fai_m3_mulv(w->turn, slide, at);
    if (jaws) weight *= ratio * a->open_angle / b->open_angle;
    for (int k = 0; k < 3 && jaws; k++) turn[k] += ratio * open * b->axis[k], at[k] += weight * b->open_slide[k];
    fai_q_exp(turn, out.q);
    fai_q_rotate(out.q, b->hinge, turn);
    for (int k = 0; k < 3; k++) out.p[k] = b->hinge[k] + at[k] - turn[k];
    return out;
}

static void take_bones(Work *w) {
    FaMuscleRetargeted *r = w->r;
    const FaPose none = fai_pose_identity();
    const bool moves = memcmp(&w->pose->jaw, &none, sizeof none) != 0;
    r->jaw_ratio = 1;
    if (has_jaw(w->a.m) && has_jaw(w->b.m))
        r->jaw_ratio = fmin(fmax(w->b.m->face->jaw.open_angle / w->a.m->face->jaw.open_angle, LEAST), MOST);
    r->jaw_lost = moves && !has_jaw(w->b.m);
    if (moves && !r->jaw_lost) w->out->jaw = take_bone(w, &w->pose->jaw, r->jaw_ratio);
    if (memcmp(&w->pose->cranium, &none, sizeof none)) w->out->cranium = take_bone(w, &w->pose->cranium, 0);
    r->open = 2 * acos(fmin(fabs(w->out->jaw.q[3]), 1)) * 180 / PI;
}

// --- muscles ------------------------------------------------------------------------------------------------------

static void note_missing(FaMuscleRetargeted *r, const char *name) {
    const size_t n = strlen(r->missing_names);
    r->missing++;
    if (n + strlen(name) + 3 < sizeof r->missing_names)
        snprintf(r->missing_names + n, sizeof r->missing_names - n, "%s%s", n ? ", " : "", name);
}

// Activations by name.
static void take_activations(Work *w) {
    const FaDirected *p = w->pose;
    bool used[FA_MUSCLES_MOST] = {0};
    for (int i = 0; i < w->out->nmuscle; i++) {
        w->from[i] = -1;
        for (int k = 0; k < p->nmuscle && w->from[i] < 0; k++)
            if (!strcmp(p->name[k], w->out->name[i])) w->from[i] = k, used[k] = true;
        if (w->from[i] < 0) continue;
        w->out->activation[i] = p->activation[w->from[i]];
        w->r->muscles++;
    }
    for (int k = 0; k < p->nmuscle; k++)
        if (!used[k] && (p->activation[k] > PULLS || p->sprung[k])) note_missing(w->r, p->name[k]);
}

static bool in_flesh(const FaMuscleModel *m, int muscle, double least) {
    return (double)m->samples.inside[muscle] >= least && m->samples.start[muscle + 1] > m->samples.start[muscle];
}

static FaCode take_tracks(Work *w, FaError *err) {
    const FaDirected *p = w->pose;
    FaDirected *out = w->out;
    const double least = w->o->inside > 0 ? w->o->inside : INSIDE;
    for (int i = 0; i < out->nmuscle; i++) {
        const int k = w->from[i];
        FA_TRY(fai_progress(w->o->progress, w->o->progress_user, "retarget", (double)i / out->nmuscle,
                            "nothing is kept", err));
        if (k < 0 || !p->sprung[k]) continue;
        if (!in_flesh(w->a.m, k, least) || !in_flesh(w->b.m, i, least) ||
            w->a.m->muscles.muscle[k].solid.ring != w->b.m->muscles.muscle[i].solid.ring) {
            w->r->outside++;
            continue;
        }
        for (int level = 1; level <= p->nlevel; level++) {
            const double part = (double)level / p->nlevel;
            const FaPose ja = fai_directed_jaw(&w->a.m->face->jaw, &p->jaw, part),
                         jb = fai_directed_jaw(&w->b.m->face->jaw, &out->jaw, part);
            FA_TRY(fai_retarget_muscle(
                &w->a, &w->b, k, i, &ja, &jb,
                p->track + 3 * ((size_t)(level - 1) * (size_t)p->npoint + (size_t)p->start[k]),
                out->track + 3 * ((size_t)(level - 1) * (size_t)out->npoint + (size_t)out->start[i]), err));
        }
        out->sprung[i] = 1;
        w->r->tracks++;
    }
    return FA_OK;
}

// --- the snap -----------------------------------------------------------------------------------------------------

// As much of it as the pose adds; where it adds none, all.
static FaCode take_snap(Work *w, FaError *err) {
    const FaDirected *p = w->pose;
    FaDirected *out = w->out;
    bool weighted = false;
    float *delta = FA_NEW(3 * (size_t)p->nvert + 1, float);
    if (!delta) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < p->nvert; v++) weighted |= p->snap_weight[v] != 0;
    for (int i = 0; i < 3 * p->nvert; i++) delta[i] = (weighted ? p->snap_weight[i / 3] : 1) * p->snap[i];
    FaError why = {0};
    FaCode rc = fai_retarget_skin(w->a.m, delta, w->b.m, false, out->snap, &w->r->snap_fit, &why);
    fa_free(delta);
    if (rc == FA_E_MESH) { // the two skins do not correspond: said, and the muscles are all there is
        memset(out->snap, 0, 3 * (size_t)out->nvert * sizeof *out->snap);
        snprintf(w->r->snap_lost, sizeof w->r->snap_lost, "%s", why.what);
        return FA_OK;
    }
    if (rc < 0) {
        if (err) *err = why;
        return rc;
    }
    for (int v = 0; v < out->nvert; v++) out->snap_weight[v] = (float)w->o->snap;
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode retarget(Work *w, FaMuscleModel *from, FaMuscleModel *to, FaArena *arena, FaDirected **out,
                       FaError *err) {
    FA_TRY(fai_retarget_side(from, arena, &w->a, err));
    FA_TRY(fai_directed_fits(w->a.d, w->pose, err));
    FA_TRY(fai_retarget_side(to, arena, &w->b, err));
    FA_TRY(fai_directed_new(w->b.d, w->pose->nlevel, out, err));
    w->out = *out;
    w->out->spring = w->pose->spring;
    w->r->size = from->muscles.unit > 0 ? to->muscles.unit / from->muscles.unit : 1;
    for (int k = 0; k < 9; k++) {
        w->turn[k] = 0;
        for (int j = 0; j < 3; j++) w->turn[k] += to->rig->axes[3 * j + k / 3] * from->rig->axes[3 * j + k % 3];
    }
    take_bones(w);
    take_activations(w);
    if (!w->o->raw) FA_TRY(take_tracks(w, err));
    return w->o->snap > 0 ? take_snap(w, err) : FA_OK;
}

FaCode fa_muscle_retarget(FaMuscleModel *from, const FaDirected *pose, FaMuscleModel *to,
                          const FaMuscleRetargetOptions *options, FaDirected **out, FaMuscleRetargeted *report,
                          FaError *err) {
    const FaMuscleRetargetOptions none = {0}, *o = options ? options : &none;
    FaMuscleRetargeted own, *r = report ? report : &own;
    const double begin = fai_seconds();
    *out = NULL;
    *r = (FaMuscleRetargeted){0};
    if (!(o->inside >= 0 && o->inside <= 1) || !(o->snap >= 0 && o->snap <= 1))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a share in the flesh and a part of the snap of 0 to 1",
                       "a share of %g, a snap of %g", o->inside, o->snap);
    Work w = {.pose = pose, .o = o, .r = r};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? retarget(&w, from, to, arena, out, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(arena);
    if (rc < 0) {
        fa_directed_free(*out);
        *out = NULL;
    }
    r->seconds = fai_seconds() - begin;
    return rc;
}

FaCode fa_muscle_retarget_skin(const FaMuscleModel *from, const float *posed, const FaMuscleModel *to, bool closest,
                               float *surface, double *fit, FaError *err) {
    const size_t n = 3 * (size_t)from->rig->mesh.nvert;
    double own;
    float *delta = FA_NEW(n + 1, float);
    if (!delta) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++) delta[i] = posed[i] - from->rig->mesh.x[i];
    FaCode rc = fai_retarget_skin(from, delta, to, closest, surface, fit ? fit : &own, err);
    fa_free(delta);
    for (size_t i = 0; rc >= 0 && i < 3 * (size_t)to->rig->mesh.nvert; i++) surface[i] += to->rig->mesh.x[i];
    return rc;
}

#include "muscle/free_bones.h"

#include "math/mat3.h"
#include "math/procrustes.h"

#include <math.h>
#include <string.h>

static const double DEGREE = 0.017453292519943295;
static const double WEAK = 0.02; // N/m: of each node on bone, so that nothing drifts; tracks hold with a thousand times
static const float HELD = 0.5f;
static const double WIDTH = 2e-3; // m: attachments farther from where the bone would be lose their say

// --- numbers of a jaw ---------------------------------------------------------------------------------------------

// Angle about the jaw's axis, rad.
static double twist(const FaJaw *jaw, const FaPose *pose) {
    return 2 * atan2(fai_v3_dot(pose->q, jaw->axis), pose->q[3]);
}

FaMuscleJaw fai_muscle_jaw_of(const FaMuscleModel *m, const FaPose *pose) {
    const FaJaw *jaw = &m->face->jaw;
    FaMuscleJaw out = {0};
    double by[3], own[3], angle = remainder(twist(jaw, pose), 2 * 3.14159265358979323846);
    if (!jaw->found) return out;
    fai_pose_apply(pose, jaw->hinge, by);
    fai_v3_sub(by, jaw->hinge, by);
    if (fabs(jaw->open_angle) > 1e-3) fai_v3_mad(by, -angle / jaw->open_angle, jaw->open_slide, by);
    fai_m3_mulv(m->rig->axes, by, own);
    out.open = angle / DEGREE, out.side = own[0], out.forward = own[2];
    return out;
}

FaCode fa_muscle_jaw_limits(const FaMuscleModel *m, FaMuscleJawLimits *limits, FaError *err) {
    const FaJaw *jaw = &m->face->jaw;
    *limits = (FaMuscleJawLimits){0};
    if (!jaw->found)
        return FA_FAIL(err, FA_E_ARG, NULL, "use a rig with a shape that opens the jaw, or say where it turns: --hinge",
                       "no shape of the rig moves a jaw");
    float *w = FA_NEW(m->rig->nshape + 1, float);
    if (!w) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < m->rig->nshape; s++) {
        w[s] = 1;
        const FaMuscleJaw at = fa_muscle_jaw_of_weights(m, w);
        fa_muscle_jaw_widen(limits, &at);
        w[s] = 0;
    }
    fa_free(w);
    return FA_OK;
}

void fa_muscle_jaw_widen(FaMuscleJawLimits *limits, const FaMuscleJaw *jaw) {
    const double value[] = {jaw->open, jaw->forward, jaw->side};
    double *range[] = {limits->open, limits->forward, limits->side};
    for (int k = 0; k < 3; k++) range[k][0] = fmin(range[k][0], value[k]), range[k][1] = fmax(range[k][1], value[k]);
}

FaMuscleJaw fa_muscle_jaw_of_weights(const FaMuscleModel *m, const float *weights) {
    const FaPose pose = fai_jaw_pose(&m->face->jaw, weights);
    return fai_muscle_jaw_of(m, &pose);
}

FaMuscleJaw fa_muscle_jaw_of_surface(const FaMuscleModel *m, const float *x) {
    const FaPose pose = fai_muscle_find_jaw(m, x, NULL);
    return fai_muscle_jaw_of(m, &pose);
}

double fai_muscle_jaw_off(const FaMuscleModel *m, const float *goal, const unsigned char *known, const FaPose *jaw) {
    const FaFace *f = m->face;
    double sum = 0;
    int n = 0;
    for (int i = 0; i < f->nskin; i++) {
        if (!(f->to_jaw[i] > HELD) || (known && !known[f->skin_vertex[i]])) continue;
        double p[3], to[3];
        fai_v3_load(m->rig->mesh.x, f->skin_vertex[i], p);
        fai_pose_apply(jaw, p, to);
        fai_v3_load(goal, f->skin_vertex[i], p);
        fai_v3_sub(p, to, p);
        sum += fai_v3_dot(p, p), n++;
    }
    return n ? sum / n : INFINITY;
}

FaPose fai_muscle_find_jaw(const FaMuscleModel *m, const float *goal, const unsigned char *known) {
    FaPose best = fai_pose_identity();
    double least = fai_muscle_jaw_off(m, goal, known, &best);
    FaError none = {0};
    for (int degrees = -3; degrees <= 40; degrees++) {
        FaPose pose;
        if (fai_muscle_jaw(m, &(FaMuscleJaw){.open = degrees}, &pose, NULL, &none) < 0) break;
        double off = fai_muscle_jaw_off(m, goal, known, &pose);
        if (off < least) least = off, best = pose;
    }
    return best;
}

// --- letting go ---------------------------------------------------------------------------------------------------

typedef struct Work {
    FaMuscleDirector *d;
    const FaMuscleModel *m;
    FaMuscleBody *body;      // whose nodes are all free
    FaMorph *morph;          // known: skin alone
    unsigned char *known;    // (nnode)
    float *seen_goal;        // by the skull (nvert x 3)
    double *x, *field;       // (nnode x 3)
    double *sample, *y;      // (nsample x 3)
    double *k;               // (nsample)
    double *track, *change;  // (npoint x 3)
    double *from, *to, *own; // of attachments                        (nnode x 3, x 3, x 1)
} Work;

static FaCode allocate(Work *w, FaArena *arena, FaError *err) {
    const size_t n = 3 * (size_t)w->m->flesh.nnode, s = 3 * (size_t)w->d->tracks.nsample,
                 p = 3 * (size_t)w->d->tracks.npoint;
    double **array[] = {&w->x, &w->field, &w->from, &w->to, &w->own, &w->sample, &w->y, &w->k, &w->track, &w->change};
    const size_t size[] = {n, n, n, n, n, s, s, s, p, p};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(arena, size[i] + 1, double))) return FA_FAIL_MEMORY(err);
    w->known = FA_PUSH(arena, n + 1, unsigned char);
    w->seen_goal = FA_PUSH(arena, 3 * (size_t)w->m->rig->mesh.nvert + 1, float);
    return w->known && w->seen_goal ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode let_go(Work *w, const unsigned char *known, const double *x, FaArena *arena, FaError *err) {
    const FaFilled *f = &w->m->flesh;
    const FaMuscleFlesh flesh = {f->nnode, f->ntet, w->m->rest, f->tet};
    unsigned char *fixed = FA_PUSH(arena, f->nnode + 1, unsigned char);
    FaSpring *spring = FA_PUSH(arena, f->nnode + 1, FaSpring);
    FaMuscleHold hold = {.spring = spring};
    if (!fixed || !spring) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nnode; i++) {
        const int skin = f->skin_of_node[i];
        w->known[i] = skin >= 0 && (!known || known[w->m->face->skin_vertex[skin]]);
        if (f->kind[i] == FA_FILLED_FREE) continue;
        FaSpring *s = &spring[hold.nspring++];
        *s = (FaSpring){.node = i, .stiffness = WEAK};
        memcpy(s->to, x + 3 * (size_t)i, sizeof s->to);
    }
    FA_TRY(fai_morph_new(f->nnode, f->ntet, f->tet, w->m->rest, w->known, &w->morph, err));
    return fai_muscle_body_new_held(&flesh, fixed, &hold, w->m->muscles.n, &w->m->samples, &w->m->stuff, &w->body, err);
}

// One round: what the skin lacks, spread through flesh that no bone holds; tracks; flesh, nothing of which pulls.
static FaCode drag(Work *w, const float *goal, double spring, FaError *err) {
    static const double slack[FA_MUSCLES_MOST] = {0};
    const FaFilled *f = &w->m->flesh;
    const FaMuscleTracks *t = &w->d->tracks;
    memset(w->field, 0, 3 * (size_t)f->nnode * sizeof *w->field);
    for (int i = 0; i < f->nnode; i++)
        for (size_t k = 0; w->known[i] && k < 3; k++)
            w->field[3 * (size_t)i + k] =
                (double)goal[3 * (size_t)w->m->face->skin_vertex[f->skin_of_node[i]] + k] - w->x[3 * (size_t)i + k];
    FA_TRY(fai_morph_solve(w->morph, w->x, w->field, err));
    fai_muscle_tracks_sample(t, w->field, w->sample);
    fai_muscle_tracks_fit(t, w->sample, w->change);
    for (int i = 0; i < 3 * t->npoint; i++) w->track[i] += w->change[i];
    fai_muscle_tracks_sample(t, w->m->rest, w->y);
    fai_muscle_tracks_at(t, w->track, w->sample);
    for (int i = 0; i < 3 * t->nsample; i++) w->y[i] += w->sample[i];
    for (int s = 0; s < t->nsample; s++) w->k[s] = spring * t->volume[s];
    fai_muscle_body_pull(w->body, w->k, w->y);
    FaCode rc = fai_muscle_body_pose(w->body, slack, NULL, w->x, NULL, err);
    return rc < 0 ? rc : FA_OK;
}

// The motion of a bone from rest that its attachments made; false: too few tell, and it is left.
static bool fit(Work *w, FaFilledKind kind, FaPose *pose) {
    int n = 0;
    for (int i = 0; i < w->m->flesh.nnode; i++) {
        if (w->m->flesh.kind[i] != kind) continue;
        memcpy(w->from + 3 * (size_t)n, w->m->rest + 3 * (size_t)i, 3 * sizeof *w->from);
        memcpy(w->to + 3 * (size_t)n++, w->x + 3 * (size_t)i, 3 * sizeof *w->to);
    }
    const FaAlign a = fai_align_robust(n, w->from, w->to, NULL, false, WIDTH, w->own);
    if (a.kind == FA_ALIGN_FULL) *pose = fai_align_pose(&a);
    return a.kind == FA_ALIGN_FULL;
}

// A jaw turns about its hinge and slides; within limits, where there are any.
static FaPose bind_jaw(const FaMuscleModel *m, const FaPose *jaw, const FaMuscleJawLimits *limits) {
    FaMuscleJaw at = fai_muscle_jaw_of(m, jaw);
    FaPose out;
    FaError none = {0};
    if (limits) {
        at.open = fmin(fmax(at.open, limits->open[0]), limits->open[1]);
        at.forward = fmin(fmax(at.forward, limits->forward[0]), limits->forward[1]);
        at.side = fmin(fmax(at.side, limits->side[0]), limits->side[1]);
    }
    at.open = fmin(fmax(at.open, -5), 45);
    at.forward = fmin(fmax(at.forward, -0.02), 0.02), at.side = fmin(fmax(at.side, -0.02), 0.02);
    return fai_muscle_jaw(m, &at, &out, NULL, &none) < 0 ? fai_pose_identity() : out;
}

// Deep flesh lags where the jaw goes far: the skin that it carries says which of three is nearest: where the flesh
// went, where it was, or opened as far as the skin.
static void choose_jaw(Work *w, const float *goal, const unsigned char *known, const FaPose *back, const FaPose *jaw,
                       const FaMuscleJawLimits *limits, FaDirected *pose) {
    const size_t n = (size_t)w->m->rig->mesh.nvert;
    for (size_t v = 0; v < n; v++) {
        double p[3];
        fai_v3_load(goal, (int)v, p);
        fai_pose_apply(back, p, p);
        for (size_t k = 0; k < 3; k++) w->seen_goal[3 * v + k] = (float)p[k];
    }
    const FaPose opened = fai_muscle_find_jaw(w->m, w->seen_goal, known);
    const FaPose from[] = {*jaw, pose->jaw, opened};
    double least = INFINITY;
    for (int i = 0; i < FA_COUNT(from); i++) {
        const FaPose one = bind_jaw(w->m, &from[i], limits);
        const double off = fai_muscle_jaw_off(w->m, w->seen_goal, known, &one);
        if (off < least || i == 0) least = off, pose->jaw = one;
    }
}

static FaCode move_bones(Work *w, const float *goal, const unsigned char *known, int rounds,
                         const FaMuscleJawLimits *limits, FaDirected *pose, FaError *err) {
    FaPose skull = fai_pose_identity(), jaw;
    for (int i = 0; i < rounds; i++) FA_TRY(drag(w, goal, pose->spring, err));
    fit(w, FA_FILLED_SKULL, &skull);
    pose->cranium = skull; // where too few tell: it stands
    if (!w->m->face->jaw.found || !fit(w, FA_FILLED_JAW, &jaw)) return FA_OK;
    const FaPose back = fai_pose_inverse(&pose->cranium);
    jaw = fai_pose_mul(&back, &jaw);
    choose_jaw(w, goal, known, &back, &jaw, limits, pose);
    return FA_OK;
}

FaCode fai_free_bones(FaMuscleDirector *d, const float *goal, const unsigned char *known, int rounds,
                      const FaMuscleJawLimits *limits, const double *track, const double *x, FaDirected *pose,
                      FaError *err) {
    Work w = {.d = d, .m = d->model};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? allocate(&w, arena, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        memcpy(w.track, track, 3 * (size_t)d->tracks.npoint * sizeof *track);
        memcpy(w.x, x, 3 * (size_t)d->model->flesh.nnode * sizeof *x);
        rc = let_go(&w, known, x, arena, err);
    }
    if (rc >= 0) rc = move_bones(&w, goal, known, rounds, limits, pose, err);
    fai_muscle_body_free(w.body);
    fai_morph_free(w.morph);
    fai_arena_free(arena);
    return rc;
}

// One muscle's track on another head: its surface, deformed as its counterpart is, and the lattice that makes that.
#include "math/dense.h"
#include "math/mat3.h"
#include "muscle/muscle_retarget.h"
#include "rig/transfer.h"

#include <math.h>

static const double SMOOTH = 1e-3, COUPLED = 1e-4, RIDGE = 1e-9; // a surface tells more than samples do (tracks.c)

// --- what goes with the jaw ---------------------------------------------------------------------------------------

// Bones and skin know; between them it is spread by the morph, and each lattice takes what its samples say.
static FaCode find_share(const FaRetargetSide *s, double *node, double *sample, double *c, FaError *err) {
    const FaMuscleModel *m = s->m;
    for (int i = 0; i < m->flesh.nnode; i++) {
        const int skin = m->flesh.skin_of_node[i];
        const double at = m->flesh.kind[i] == FA_FILLED_JAW ? 1
                          : skin >= 0                       ? fmin(fmax((double)m->face->to_jaw[skin], 0), 1)
                                                            : 0;
        for (int k = 0; k < 3; k++) node[3 * (size_t)i + (size_t)k] = s->d->known[i] ? at : 0;
    }
    FA_TRY(fai_morph_solve(s->d->morph, m->rest, node, err));
    fai_muscle_tracks_sample(&s->d->tracks, node, sample);
    fai_muscle_tracks_fit(&s->d->tracks, sample, c);
    for (int i = 0; i < s->d->tracks.npoint; i++) s->share[i] = fmin(fmax(c[3 * (size_t)i], 0), 1);
    return FA_OK;
}

FaCode fai_retarget_side(FaMuscleModel *model, FaArena *arena, FaRetargetSide *side, FaError *err) {
    *side = (FaRetargetSide){.m = model};
    FA_TRY(fai_muscle_director(model, &side->d, err));
    FA_TRY(fai_muscle_shapes(model, err));
    const FaMuscleTracks *t = &side->d->tracks;
    side->share = FA_PUSH(arena, t->npoint + 1, double);
    double *node = FA_PUSH(arena, 3 * (size_t)model->flesh.nnode + 1, double);
    double *sample = FA_PUSH(arena, 3 * (size_t)t->nsample + 1, double);
    double *c = FA_PUSH(arena, 3 * (size_t)t->npoint + 1, double);
    if (!side->share || !node || !sample || !c) return FA_FAIL_MEMORY(err);
    return find_share(side, node, sample, c, err);
}

// --- one muscle ---------------------------------------------------------------------------------------------------

typedef struct Work {
    const FaRetargetSide *a, *b;
    int from, to;
    FaMesh source;      // A's muscle with its jaw
    float *target;      // B's                                                   (nvert x 3)
    double *move;       // of A's surface from there, then of B's                (nvert x 3)
    double *normal;     // of the least squares                                  (points x points)
    double *right;      // (points)
    const float *uvw;   // B's, as A's                                           (nvert x 3)
    const FaBspline *s; // B's
} Work;

// A place of the solid at rest, with the jaw, and how far its lattice moves it.
static void place(const FaRetargetSide *side, int muscle, const float *uvw, const FaPose *jaw, const double *track,
                  double x[3], double move[3]) {
    const FaBspline *s = &side->m->muscles.muscle[muscle].solid;
    const double *share = side->share + side->d->tracks.start[muscle];
    int point[FA_BSPLINE_WEIGHTS];
    double weight[FA_BSPLINE_WEIGHTS], at[3], part = 0;
    fai_v3_load(uvw, 0, at);
    const int n = fai_bspline_weights(s, at, point, weight);
    for (int k = 0; k < 3; k++) x[k] = move[k] = 0;
    for (int i = 0; i < n; i++) {
        part += weight[i] * share[point[i]];
        for (int k = 0; k < 3; k++) {
            x[k] += weight[i] * s->c[3 * (size_t)point[i] + (size_t)k];
            if (track) move[k] += weight[i] * track[3 * (size_t)point[i] + (size_t)k];
        }
    }
    double rest[3];
    const FaPose carried = fai_directed_jaw(&side->m->face->jaw, jaw, part);
    memcpy(rest, x, sizeof rest);
    fai_pose_apply(&carried, rest, x);
    for (int k = 0; k < 3; k++) move[k] -= x[k] - rest[k]; // from the neutral with its jaw
}

// The lattice whose surface moves like that: least squares, smooth where the surface says little.
static FaCode fit(Work *w, double *out, FaError *err) {
    const int n = fai_bspline_points(w->s), nvert = w->source.nvert;
    double trace = 0, weight[FA_BSPLINE_WEIGHTS], at[3];
    int point[FA_BSPLINE_WEIGHTS];
    memset(out, 0, 3 * (size_t)n * sizeof *out);
    for (int v = 0; v < nvert; v++) {
        fai_v3_load(w->uvw, v, at);
        const int count = fai_bspline_weights(w->s, at, point, weight);
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < count; j++)
                w->normal[(size_t)point[i] * (size_t)n + (size_t)point[j]] += weight[i] * weight[j];
            for (int k = 0; k < 3; k++)
                out[3 * (size_t)point[i] + (size_t)k] += weight[i] * w->move[3 * (size_t)v + (size_t)k];
        }
    }
    for (int i = 0; i < n; i++) trace += w->normal[(size_t)i * (size_t)(n + 1)] / n;
    for (int axis = 0; axis < 2; axis++) fai_bspline_bends(w->s, axis, SMOOTH * trace, w->normal);
    fai_bspline_couples(w->s, COUPLED * trace, w->normal);
    for (int i = 0; i < n; i++) w->normal[(size_t)i * (size_t)(n + 1)] += RIDGE * trace;
    if (!fai_dense_cholesky(n, n, w->normal))
        return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("muscle %s", w->b->m->muscles.muscle[w->to].id.name),
                       "check it: fascia muscle build --picture", "its surface says nothing of its inside");
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) w->right[i] = out[3 * (size_t)i + (size_t)k];
        fai_dense_forward(n, n, w->normal, w->right);
        fai_dense_backward(n, n, w->normal, w->right);
        for (int i = 0; i < n; i++) out[3 * (size_t)i + (size_t)k] = w->right[i];
    }
    return FA_OK;
}

static FaCode take(Work *w, const FaPose *jaw_a, const FaPose *jaw_b, const double *track, FaArena *arena, double *out,
                   FaError *err) {
    const FaMuscleShape *shape = &w->a->m->shape[w->from];
    const size_t n = (size_t)shape->mesh.nvert, points = (size_t)fai_bspline_points(w->s);
    double *carried = FA_PUSH(arena, 3 * n, double);
    w->source = shape->mesh;
    w->uvw = shape->uvw;
    w->source.x = FA_PUSH(arena, 3 * n, float);
    w->target = FA_PUSH(arena, 3 * n, float);
    w->move = FA_PUSH(arena, 3 * n, double);
    w->normal = FA_PUSH(arena, points * points, double);
    w->right = FA_PUSH(arena, points, double);
    if (!carried || !w->source.x || !w->target || !w->move || !w->normal || !w->right) return FA_FAIL_MEMORY(err);
    for (size_t v = 0; v < n; v++) {
        double x[3], back[3];
        place(w->a, w->from, w->uvw + 3 * v, jaw_a, track, x, w->move + 3 * v);
        for (size_t k = 0; k < 3; k++) w->source.x[3 * v + k] = (float)x[k];
        place(w->b, w->to, w->uvw + 3 * v, jaw_b, NULL, x, back);
        for (size_t k = 0; k < 3; k++) w->target[3 * v + k] = (float)x[k], carried[3 * v + k] = -back[k];
    }
    FA_TRY(fai_transfer_surface(&w->source, w->move, w->target, NULL, w->move, err));
    for (size_t i = 0; i < 3 * n; i++) w->move[i] += carried[i];
    return fit(w, out, err);
}

FaCode fai_retarget_muscle(const FaRetargetSide *a, const FaRetargetSide *b, int from, int to, const FaPose *jaw_a,
                           const FaPose *jaw_b, const double *track, double *out, FaError *err) {
    const FaBspline *sa = &a->m->muscles.muscle[from].solid, *sb = &b->m->muscles.muscle[to].solid;
    if (sa->ring != sb->ring)
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("muscle %s", b->m->muscles.muscle[to].id.name),
                       "give it the same form on both heads", "it is a ring on one head only");
    Work w = {.a = a, .b = b, .from = from, .to = to, .s = sb};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? take(&w, jaw_a, jaw_b, track, arena, out, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(arena);
    return rc;
}

#include "muscle/reach.h"

#include <math.h>
#include <string.h>

static const double LITTLE =
    0.01; // of the square of what is lacking: after an iteration that gains less, the other way
static const double ENOUGH = 5e-4; // an iteration that gains less is the last

FaCode fai_reach_new(FaMuscleDirector *d, FaArena *arena, FaReach *reach, FaError *err) {
    const size_t n = 3 * (size_t)d->model->flesh.nnode + 1, p = 3 * (size_t)d->tracks.npoint + 1;
    *reach = (FaReach){.d = d};
    for (int i = 0; i < FA_REACH; i++) {
        reach->track[i] = FA_PUSH(arena, p, double), reach->moved[i] = FA_PUSH(arena, n, double);
        if (!reach->track[i] || !reach->moved[i]) return FA_FAIL_MEMORY(err);
    }
    reach->left = FA_PUSH(arena, n, double), reach->field = FA_PUSH(arena, n, double);
    reach->goes = FA_PUSH(arena, n, double);
    reach->sample = FA_PUSH(arena, 3 * (size_t)d->tracks.nsample + 1, double);
    return reach->left && reach->field && reach->goes && reach->sample ? FA_OK : FA_FAIL_MEMORY(err);
}

// Over what is seen.
static double dot(const FaMuscleDirector *d, const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < d->nseen; i++)
        for (size_t k = 3 * (size_t)d->seen_node[i]; k < 3 * (size_t)d->seen_node[i] + 3; k++) sum += a[k] * b[k];
    return sum;
}

static void add(double *to, double share, const double *from, size_t n) {
    for (size_t i = 0; i < n; i++) to[i] += share * from[i];
}

// What the morph of what is left asks of the tracks; or, downhill, the flesh that forces pull there.
static void suggest(FaReach *r, const double *x, bool downhill, double *track) {
    const FaMuscleDirector *d = r->d;
    FaError none = {0};
    memcpy(r->field, r->left, 3 * (size_t)d->model->flesh.nnode * sizeof *r->field);
    if (!downhill || fai_muscle_body_yields(d->model->body, x, r->left, true, r->field, &none) < 0)
        fai_morph_spread(d->morph, r->field);
    fai_muscle_tracks_sample(&d->tracks, r->field, r->sample);
    fai_muscle_tracks_fit(&d->tracks, r->sample, track);
}

// What the skin does of it, into moved: only where something was lacking or could be.
static FaCode respond(FaReach *r, const double *x, const double *track, bool ready, double *moved, FaError *err) {
    const FaMuscleDirector *d = r->d;
    const FaFilled *f = &d->model->flesh;
    fai_muscle_tracks_at(&d->tracks, track, r->sample);
    FaCode rc = fai_muscle_body_follow(d->model->body, x, r->sample, ready, r->goes, err);
    memset(moved, 0, 3 * (size_t)f->nnode * sizeof *moved);
    for (int i = 0; i < f->nskin; i++) {
        const int node = f->node_of_skin[i];
        if (node >= 0 && d->known[node])
            memcpy(moved + 3 * (size_t)node, r->goes + 3 * (size_t)node, 3 * sizeof *moved);
    }
    return rc;
}

FaCode fai_reach(FaReach *r, const double *x, const double *lack, int steps, double *change, FaError *err) {
    const FaMuscleDirector *d = r->d;
    const size_t n = 3 * (size_t)d->model->flesh.nnode, p = 3 * (size_t)d->tracks.npoint;
    FA_TRY(fai_morph_at(d->morph, x, err));
    memcpy(r->left, lack, n * sizeof *lack);
    memset(change, 0, p * sizeof *change);
    const double all = dot(d, lack, lack);
    bool downhill = false;
    r->hoped = 0;
    for (int i = 0; i < FA_MIN(steps, FA_REACH); i++) {
        FaError none = {0};
        suggest(r, x, downhill, r->track[i]);
        FaCode rc = steps > 1 ? respond(r, x, r->track[i], i > 0, r->moved[i], &none) : FA_E_NUMERIC;
        if (rc < 0 && rc != FA_E_NUMERIC) return FA_FAIL(err, rc, none.path, none.remedy, "%s", none.what);
        if (rc < 0 && i == 0)
            memcpy(change, r->track[0], p * sizeof *change); // not at a stable rest: as the morph says
        if (rc < 0) return FA_OK;
        for (int k = 0; k < i; k++) {
            const double share = -dot(d, r->moved[i], r->moved[k]);
            add(r->moved[i], share, r->moved[k], n);
            add(r->track[i], share, r->track[k], p);
        }
        const double length = sqrt(dot(d, r->moved[i], r->moved[i]));
        if (!(length > 0)) return FA_OK;
        for (size_t k = 0; k < n; k++) r->moved[i][k] /= length;
        for (size_t k = 0; k < p; k++) r->track[i][k] /= length;
        const double share = dot(d, r->left, r->moved[i]);
        add(r->left, -share, r->moved[i], n);
        add(change, share, r->track[i], p);
        const double gain = all > 0 ? share * share / all : 0;
        r->hoped += gain;
        if (gain < ENOUGH && downhill) break;
        downhill = gain < LITTLE;
    }
    return FA_OK;
}

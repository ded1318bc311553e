#include "muscle/sample.h"

#include "base/task.h"
#include "math/mat3.h"
#include "muscle/settle.h"

#include <math.h>

// LATTICE points along an edge of a tet; weights (i + 1/4) / LATTICE, so that none is on its boundary.
enum { LATTICE = 5, TETS = 64 };

typedef struct One {
    int count;
    double direction[3], uvw[3], turn[2], bary[4];
} One;

typedef struct Job {
    const FaMuscleFlesh *flesh;
    const FaBsplineFinder *finder;
    One *one; // (ntet)
} Job;

static void add_point(const FaBspline *s, const double uvw[3], const double bary[4], One *one) {
    double x[3], J[9], way[3];
    fai_bspline_at(s, uvw, x, J);
    fai_v3_set(way, J[0], J[3], J[6]);
    one->count++;
    if (fai_v3_normalize(way)) fai_v3_add(one->direction, way, one->direction);
    for (int a = 0; a < 3; a++) one->uvw[a] += uvw[a];
    // of rings the mean of u goes round
    one->turn[0] += cos(2 * M_PI * uvw[0]), one->turn[1] += sin(2 * M_PI * uvw[0]);
    for (int a = 0; a < 4; a++) one->bary[a] += bary[a];
}

static void fill_tet(const Job *job, int e) {
    const FaMuscleFlesh *flesh = job->flesh;
    const FaBsplineFinder *f = job->finder;
    double p[4][3], centre[3] = {0}, far = 0, start[3], d[3];
    bool away = false;
    for (int k = 0; k < 4; k++) {
        memcpy(p[k], flesh->x + 3 * (size_t)flesh->tet[4 * (size_t)e + (size_t)k], sizeof p[k]);
        fai_v3_mad(centre, 0.25, p[k], centre);
    }
    for (int a = 0; a < 3; a++) {
        double lo = fmin(fmin(p[0][a], p[1][a]), fmin(p[2][a], p[3][a])),
               hi = fmax(fmax(p[0][a], p[1][a]), fmax(p[2][a], p[3][a]));
        away = away || hi < f->lo[a] || lo > f->hi[a];
    }
    if (away) return;
    for (int k = 0; k < 4; k++) {
        fai_v3_sub(p[k], centre, d);
        far = fmax(far, fai_v3_norm(d));
    }
    if (fai_bspline_start(f, centre, start) > far + f->reach) return;
    for (int i = 0; i < LATTICE; i++)
        for (int j = 0; j < LATTICE - i; j++)
            for (int k = 0; k < LATTICE - i - j; k++) {
                int at[4] = {i, j, k, LATTICE - 1 - i - j - k};
                double bary[4], x[3] = {0}, uvw[3] = {start[0], start[1], start[2]};
                for (int a = 0; a < 4; a++) {
                    bary[a] = (at[a] + 0.25) / LATTICE;
                    fai_v3_mad(x, bary[a], p[a], x);
                }
                if (!fai_bspline_inverse(f->s, x, uvw)) continue;
                add_point(f->s, uvw, bary, &job->one[e]);
                memcpy(start, uvw, sizeof uvw); // near the next one
            }
}

static void fill_tets(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Job *job = ctx;
    for (int e = begin; e < end; e++) {
        job->one[e] = (One){0};
        fill_tet(job, e);
    }
}

// --- collecting ---------------------------------------------------------------------------------------------------

typedef struct List {
    int n, room;
    FaFibreSample *fibre;
    float *uvw, *bary;
} List;

static bool grow(List *l, int more) {
    if (l->n + more <= l->room) return true;
    int room = FA_MAX(2 * l->room, l->n + more);
    FaFibreSample *fibre = FA_NEW(room, FaFibreSample);
    float *uvw = FA_NEW(3 * (size_t)room, float), *bary = FA_NEW(4 * (size_t)room, float);
    bool ok = fibre && uvw && bary;
    if (ok && l->n) {
        memcpy(fibre, l->fibre, (size_t)l->n * sizeof *fibre);
        memcpy(uvw, l->uvw, 3 * (size_t)l->n * sizeof *uvw);
        memcpy(bary, l->bary, 4 * (size_t)l->n * sizeof *bary);
    }
    fa_free(ok ? l->fibre : fibre);
    fa_free(ok ? l->uvw : uvw);
    fa_free(ok ? l->bary : bary);
    if (ok) *l = (List){l->n, room, fibre, uvw, bary};
    return ok;
}

static void add_sample(List *l, int tet, int muscle, bool ring, const One *one) {
    const int all = LATTICE * (LATTICE + 1) * (LATTICE + 2) / 6;
    FaFibreSample *s = &l->fibre[l->n];
    *s = (FaFibreSample){.tet = tet, .muscle = muscle, .share = (double)one->count / all};
    memcpy(s->direction, one->direction, sizeof s->direction);
    if (!fai_v3_normalize(s->direction)) return; // fibres that cancel out pull nowhere
    for (int a = 0; a < 3; a++) l->uvw[3 * (size_t)l->n + (size_t)a] = (float)(one->uvw[a] / one->count);
    if (ring) {
        double u = atan2(one->turn[1], one->turn[0]) / (2 * M_PI);
        l->uvw[3 * (size_t)l->n] = (float)(u < 0 ? u + 1 : u);
    }
    for (int a = 0; a < 4; a++) l->bary[4 * (size_t)l->n + (size_t)a] = (float)(one->bary[a] / one->count);
    l->n++;
}

static FaCode sample_one(const Job *job, int muscle, const FaBspline *s, List *list, FaArena *work, FaError *err) {
    FaBsplineFinder finder;
    FA_TRY(fai_bspline_finder(s, work, &finder, err));
    Job with = {job->flesh, &finder, job->one};
    fai_parallel(job->flesh->ntet, TETS, fill_tets, &with);
    int n = 0;
    for (int e = 0; e < job->flesh->ntet; e++) n += job->one[e].count > 0;
    if (!grow(list, n)) return FA_FAIL_MEMORY(err);
    for (int e = 0; e < job->flesh->ntet; e++)
        if (job->one[e].count > 0) add_sample(list, e, muscle, s->ring, &job->one[e]);
    return FA_OK;
}

// --- how much of a muscle is in flesh -----------------------------------------------------------------------------

typedef struct InsideJob {
    const FaFleshInside *flesh;
    const FaBspline *solid;
    FaMuscleSamples *out;
} InsideJob;

static void inside_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const InsideJob *job = ctx;
    for (int m = begin; m < end; m++) {
        job->out->volume[m] = fai_bspline_volume(&job->solid[m], NULL);
        job->out->inside[m] = (float)fai_muscle_share(job->flesh, &job->solid[m]);
    }
}

static FaCode find_inside(const FaMuscleFlesh *flesh, int nmuscle, const FaBspline *solid, FaMuscleSamples *out,
                          FaError *err) {
    FaFleshInside *inside = NULL;
    FaCode rc = fai_flesh_inside_new(flesh, &inside, err);
    InsideJob job = {inside, solid, out};
    if (rc >= 0) fai_parallel(nmuscle, 1, inside_chunk, &job);
    fai_flesh_inside_free(inside);
    return rc;
}

// --- entry --------------------------------------------------------------------------------------------------------

static FaCode keep(const List *list, FaMuscleSamples *out, FaError *err) {
    size_t n = (size_t)list->n;
    out->n = list->n;
    out->fibre = FA_PUSH(out->arena, n + 1, FaFibreSample);
    out->uvw = FA_PUSH(out->arena, 3 * n + 1, float);
    out->bary = FA_PUSH(out->arena, 4 * n + 1, float);
    if (!out->fibre || !out->uvw || !out->bary) return FA_FAIL_MEMORY(err);
    if (n == 0) return FA_OK;
    memcpy(out->fibre, list->fibre, n * sizeof *out->fibre);
    memcpy(out->uvw, list->uvw, 3 * n * sizeof *out->uvw);
    memcpy(out->bary, list->bary, 4 * n * sizeof *out->bary);
    return FA_OK;
}

static FaCode sample_all(const FaMuscleFlesh *flesh, int nmuscle, const FaBspline *solid, List *list, const Job *job,
                         FaArena *work, FaMuscleSamples *out, FaError *err) {
    out->start = FA_PUSH(out->arena, (size_t)nmuscle + 1, int);
    out->inside = FA_PUSH(out->arena, (size_t)nmuscle + 1, float);
    out->volume = FA_PUSH(out->arena, (size_t)nmuscle + 1, double);
    if (!out->start || !out->inside || !out->volume) return FA_FAIL_MEMORY(err);
    for (int m = 0; m < nmuscle; m++) {
        out->start[m] = list->n;
        FA_TRY(sample_one(job, m, &solid[m], list, work, err));
    }
    out->start[nmuscle] = list->n;
    FA_TRY(find_inside(flesh, nmuscle, solid, out, err));
    return keep(list, out, err);
}

FaCode fai_muscle_sample(const FaMuscleFlesh *flesh, int nmuscle, const FaBspline *solid, FaMuscleSamples *out,
                         FaError *err) {
    *out = (FaMuscleSamples){.arena = fai_arena_new(0)};
    FaArena *work = fai_arena_new(0);
    List list = {0};
    Job job = {.flesh = flesh, .one = FA_NEW((size_t)flesh->ntet + 1, One)};
    FaCode rc = out->arena && work && job.one ? sample_all(flesh, nmuscle, solid, &list, &job, work, out, err)
                                              : FA_FAIL_MEMORY(err);
    fa_free(list.fibre);
    fa_free(list.uvw);
    fa_free(list.bary);
    fa_free(job.one);
    fai_arena_free(work);
    if (rc < 0) fai_muscle_samples_free(out);
    return rc;
}

void fai_muscle_samples_free(FaMuscleSamples *s) {
    fai_arena_free(s->arena);
    *s = (FaMuscleSamples){0};
}

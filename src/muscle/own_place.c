// Muscles of files to the rig's place, by those that the template has too.
//
//     middle lines, five points each ──▶ similarity, robust ──▶ bent so that lines meet the template's ──▶ into flesh
//
// An atlas and a rig are two people. The similarity says how far they are alike, and is what is reported; a smooth warp
// takes up the rest, so that what the template does not have goes along with its neighbours.
#include "muscle/own.h"

#include "math/mat3.h"
#include "math/procrustes.h"
#include "math/rbf.h"
#include "muscle/settle.h"

#include <math.h>
#include <stdio.h>

enum { LINE = 5, LEAST = 3, ROUNDS = 4, CORNERS = 8 };
static const double WIDTH = 5, FAR = 12,
                    ODD = 20;      // mm: of what counts, rms that is refused, a muscle that leads astray
static const double LIKELY = 0.7;  // times as far off in a mirror: left is called right
static const double SMOOTH = 0.01; // of the warp
static const double AROUND = 60;   // mm around all lines: where it ends
static const double LONGER = 0.1;  // of its length that may change in the flesh

typedef struct Pair {
    int own, muscle; // of the model
    bool turned;     // its line runs the other way
} Pair;

typedef struct Work {
    const FaMuscleModel *m;
    int npair;
    Pair *pair;
    double *from, *to, *own; // lines (npair x LINE x 3), weights
    FaAlign align;
    bool mirrored; // lines of files are reflected: that fits better where left is called right
} Work;

static void line_of(const FaBspline *s, bool turned, double *line) {
    for (int k = 0; k < LINE; k++) {
        const double u = (k + 0.5) / LINE;
        fai_bspline_at(s, (double[]){turned ? 1 - u : u, 0.5, 0.5}, line + 3 * (size_t)k, NULL);
    }
}

static void find_pairs(Work *w, int n, const FaOwnMuscle *own) {
    const FaMuscles *all = &w->m->muscles;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < all->n; k++) {
            const FaMuscle *a = &all->muscle[k];
            if (a->form == FA_MUSCLE_RING || a->id.side != own[i].id.side ||
                !fai_muscle_id_named(&a->id, own[i].id.name))
                continue;
            w->pair[w->npair++] = (Pair){i, k, false};
            break;
        }
}

// m, rms of a line that is moved.
static double off_of(const Work *w, int pair) {
    double sum = 0;
    for (int k = LINE * pair; k < LINE * (pair + 1); k++) {
        double at[3];
        fai_align_apply(&w->align, w->from + 3 * (size_t)k, at);
        fai_v3_sub(at, w->to + 3 * (size_t)k, at);
        sum += fai_v3_dot(at, at) / LINE;
    }
    return sqrt(sum);
}

static void own_line(const Work *w, const FaOwnMuscle *own, int pair, bool turned) {
    double *line = w->from + 3 * (size_t)(LINE * pair);
    line_of(&own[w->pair[pair].own].solid, turned, line);
    for (int k = 0; k < LINE && w->mirrored; k++) line[3 * k] = -line[3 * k];
}

static double rms_of(const Work *w) {
    double sum = 0;
    for (int i = 0; i < w->npair; i++) sum += off_of(w, i) * off_of(w, i) / w->npair;
    return sqrt(sum);
}

// By the middles first; then lines run the way that is nearer, and all of them count.
static void align(Work *w, const FaOwnMuscle *own, double unit) {
    const int n = w->npair;
    for (int i = 0; i < n; i++) {
        own_line(w, own, i, false);
        line_of(&w->m->muscles.muscle[w->pair[i].muscle].solid, false, w->to + 3 * (size_t)(LINE * i));
    }
    for (int i = 0; i < LINE * n; i++) w->own[i] = i % LINE == LINE / 2;
    w->align = fai_align(LINE * n, w->from, w->to, w->own, true);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n; i++) {
            double off[2];
            for (int turned = 0; turned < 2; turned++) {
                own_line(w, own, i, turned);
                off[turned] = off_of(w, i);
            }
            w->pair[i].turned = off[1] < off[0];
            own_line(w, own, i, w->pair[i].turned);
        }
        w->align = fai_align_robust(LINE * n, w->from, w->to, NULL, true, WIDTH * unit, w->own);
    }
}

static FaCode judge(const Work *w, double unit, FaOwnPlaced *out, FaError *err) {
    *out = (FaOwnPlaced){.named = w->npair, .scale = w->align.scale, .off = rms_of(w)};
    for (int i = 0; i < w->npair; i++) {
        const double off = off_of(w, i);
        if (off < out->worst) continue;
        out->worst = off;
        snprintf(out->farthest, sizeof out->farthest, "%s", w->m->muscles.muscle[w->pair[i].muscle].id.name);
    }
    if (w->align.kind != FA_ALIGN_FULL)
        return FA_FAIL(err, FA_E_ARG, "own muscles", "give muscles of both sides, from brow to chin",
                       "the %d that the template has too do not tell how all of them lie", w->npair);
    if (out->off > FAR * unit)
        return FA_FAIL(err, FA_E_ARG, "own muscles",
                       "check their names (fascia muscle list; left is the subject's), or place them yourself",
                       "they do not lie as muscles of a face do: %.0f mm off, %s %.0f mm", 1e3 * out->off,
                       out->farthest, 1e3 * out->worst);
    return FA_OK;
}

// What the similarity leaves: from where lines are then to the template's. Far around them nothing is bent, or what the
// lines do not decide would be sheared by what they disagree about.
static FaCode make_warp(const Work *w, double unit, FaRbf **warp, FaError *err) {
    const size_t most = (size_t)(LINE * w->npair + CORNERS);
    double *from = FA_NEW(6 * most, double), lo[3] = {INFINITY, INFINITY, INFINITY},
           hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    int n = 0;
    if (!from) return FA_FAIL_MEMORY(err);
    double *to = from + 3 * most;
    for (int i = 0; i < w->npair; i++) {
        if (off_of(w, i) > ODD * unit) continue;
        for (int k = LINE * i; k < LINE * (i + 1); k++, n++) {
            double *at = from + 3 * (size_t)n;
            fai_align_apply(&w->align, w->from + 3 * (size_t)k, at);
            memcpy(to + 3 * (size_t)n, w->to + 3 * (size_t)k, 3 * sizeof *to);
            for (int a = 0; a < 3; a++) lo[a] = fmin(lo[a], at[a]), hi[a] = fmax(hi[a], at[a]);
        }
    }
    for (int k = 0; k < CORNERS && n > 0; k++) {
        double *at = from + 3 * (size_t)(n + k);
        for (int a = 0; a < 3; a++) at[a] = k >> a & 1 ? hi[a] + AROUND * unit : lo[a] - AROUND * unit;
        memcpy(to + 3 * (size_t)(n + k), at, 3 * sizeof *to);
    }
    FaCode rc = fai_rbf_new(n + CORNERS, from, to, &(FaRbfOptions){.lambda = SMOOTH}, warp, err);
    fa_free(from);
    return rc;
}

// Bone holds their origins; what then is in no tet goes into the flesh.
static FaCode settle(const FaMuscleModel *m, double unit, int n, FaOwnMuscle *own, FaError *err) {
    const FaMuscleFlesh flesh = {m->flesh.nnode, m->flesh.ntet, m->rest, m->flesh.tet};
    FaFleshInside *inside;
    size_t size = 0;
    FA_TRY(fai_flesh_inside_new(&flesh, &inside, err));
    for (int i = 0; i < n; i++) size = FA_MAX(size, fai_muscle_settle_work(&own[i].solid));
    double *work = FA_NEW(size + 1, double);
    FaMuscleSettled done;
    for (int i = 0; i < n && work; i++)
        fai_muscle_settle(inside, unit, (bool[]){true, false}, LONGER, &own[i].solid, work, &done);
    fai_flesh_inside_free(inside);
    const bool good = work != NULL;
    fa_free(work);
    return good ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode place(Work *w, int n, FaOwnMuscle *own, FaOwnPlaced *placed, FaError *err) {
    const double unit = w->m->muscles.unit;
    FaRbf *warp = NULL;
    find_pairs(w, n, own);
    w->mirrored = true;
    align(w, own, unit);
    const double mirrored = rms_of(w);
    w->mirrored = false;
    align(w, own, unit);
    if (mirrored < LIKELY * rms_of(w))
        return FA_FAIL(err, FA_E_ARG, "own muscles", "exchange left and right in their names: left is the subject's",
                       "they fit better in a mirror: %.1f mm off, %.1f as they are named", 1e3 * mirrored,
                       1e3 * rms_of(w));
    FA_TRY(judge(w, unit, placed, err));
    FA_TRY(make_warp(w, unit, &warp, err));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < fai_bspline_points(&own[i].solid); k++) {
            double at[3], *c = own[i].solid.c + 3 * (size_t)k;
            fai_align_apply(&w->align, c, at);
            fai_rbf_point(warp, at, c);
        }
    for (int i = 0; i < n; i++) own[i].fit.median *= w->align.scale;
    for (int i = 0; i < w->npair; i++) {
        FaOwnMuscle *a = &own[w->pair[i].own];
        if (w->pair[i].turned) fai_bspline_reverse(&a->solid);
        a->known = true;
    }
    fai_rbf_free(warp);
    return settle(w->m, unit, n, own, err);
}

FaCode fai_own_named(int n, const FaOwnMuscle *own, FaError *err) {
    int named = 0;
    for (int i = 0; i < n; i++) {
        bool found = false;
        for (int k = 0; k < fai_muscle_count() && !found; k++) {
            const FaMuscleId id = fai_muscle_id(k);
            found = fai_muscle_entry(id.entry)->form != FA_MUSCLE_RING && id.side == own[i].id.side &&
                    fai_muscle_id_named(&id, own[i].id.name);
        }
        named += found;
    }
    if (named >= LEAST) return FA_OK;
    return FA_FAIL(err, FA_E_ARG, "own muscles", "name their files as fascia muscle list does",
                   "%d of %d are named like muscles of the template; %d are needed to tell where all belong", named, n,
                   (int)LEAST);
}

FaCode fai_own_place(FaMuscleModel *m, int n, FaOwnMuscle *own, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    Work w = {.m = m};
    if (!arena) return FA_FAIL_MEMORY(err);
    w.pair = FA_PUSH(arena, n, Pair);
    w.from = FA_PUSH(arena, 3 * LINE * (size_t)n, double);
    w.to = FA_PUSH(arena, 3 * LINE * (size_t)n, double);
    w.own = FA_PUSH(arena, LINE * (size_t)n, double);
    FaCode rc = w.pair && w.from && w.to && w.own ? place(&w, n, own, &m->own_placed, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(arena);
    return rc;
}

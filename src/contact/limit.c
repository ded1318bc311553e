// No frame ends crossed: what would meet on the way from x_from to x_to is pushed apart or stopped short of its impact.
//
// Rounds, each with a continuous check of everything that changed since the last:
//   1. push: pairs that meet are moved apart at the end of the way, along the normal of their impact, by Gauss-Seidel:
//   a
//      penalty's equilibrium lies a little inside, and stopping for that would freeze lips that only press on each
//      other
//   2. stop: nodes joined by pairs that still meet are islands; an island's motion is scaled to just before its first
//   impact
//      (all of it alike, so within the island nothing new can happen)
//   3. freeze: what still meets stays at x_from with its neighbours; in the last round everything does
// The check passes with everything at x_from, so the rounds end; each pair's gap is at most a share of its distance
// there, so that nothing is stuck that may part. A way so long that too many pairs meet, or that takes more work than
// there is left (fai_contact_search), is not gone at all: everything stays at x_from. Colliders are not ours to stop:
// pairs whose nodes stand still are given up, counted. All checks are made of the floats that are handed out.
#include "contact/contact_work.h"

#include <math.h>

#define LIMIT_GAP 2e-6  // m: kept free on the way
#define SHOVE_GAP 4e-6  // m: aimed at by pushing
#define SHOVE_DEEP 2e-3 // m: what would have to be pushed further is stopped
#define SHORT_OF 0.9    // of the time of impact
#define NO_TIME 1e-3    // an impact before this freezes

enum { SHOVE_ROUNDS = 6, STOP_ROUNDS = 14, FREEZE_ROUNDS = 20, SHOVE_PASSES = 8 };
enum { IN_HIT = 1, MOVED = 2 };

static int find(int *island, int i) {
    while (island[i] != i) {
        island[i] = island[island[i]];
        i = island[i];
    }
    return i;
}

// The smaller number stands for both.
static void unite(int *island, int i, int j) {
    i = find(island, i);
    j = find(island, j);
    if (i < j) {
        island[j] = i;
    } else {
        island[i] = j;
    }
}

static bool stands_still(const FaPairs *p, int i) { return memcmp(p->from[i], p->to[i], sizeof *p->from) == 0; }

// --- what met -----------------------------------------------------------------------------------------------------

// Is there nothing to stop in this pair? Self pairs can only be so if they met at x_from.
static bool is_hopeless(const FaPairs *p, const FaPairHit *h) {
    for (int i = 0; i < 4; i++)
        if (h->point[i] < p->nsurface && !stands_still(p, h->point[i])) return false;
    return true;
}

static bool has_collider(const FaPairs *p, const FaPairHit *h) {
    for (int i = 0; i < 4; i++)
        if (h->point[i] >= p->nsurface) return true;
    return false;
}

static void give_up(FaContact *c, const FaPairHit *h) {
    if (fai_keys_find(&c->given_up, fai_hit_key(h)) >= 0) return;
    fai_keys_put(&c->given_up, fai_hit_key(h), 0);
    if (has_collider(&c->pairs, h)) {
        c->stats.struck++;
    } else {
        c->stats.stuck++;
    }
}

// Drop what is given up, mark the points of the rest. How many are left.
static int sift(FaContact *c, bool pushing) {
    FaPairs *p = &c->pairs;
    int left = 0;
    for (int i = 0; i < p->nsurface; i++) c->mark[i] &= MOVED;
    for (int k = 0; k < p->nchunk; k++) {
        FaPairHit *list = p->hit + (size_t)k * FA_PAIRS_HITS;
        int n = 0;
        for (int i = 0; i < p->nhit[k]; i++) {
            if (fai_keys_find(&c->given_up, fai_hit_key(&list[i])) >= 0 || fai_contact_allowed(c, &list[i]) < 0)
                continue;
            if (!pushing && is_hopeless(p, &list[i])) {
                give_up(c, &list[i]);
                continue;
            }
            for (int j = 0; j < 4; j++)
                if (list[i].point[j] < p->nsurface) c->mark[list[i].point[j]] |= IN_HIT;
            list[n++] = list[i];
        }
        p->nhit[k] = n;
        left += n;
    }
    return left;
}

// --- 1 push -------------------------------------------------------------------------------------------------------

static double gap_of(const FaPairs *p, const FaPairHit *h) {
    double gap = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) gap += h->weight[i] * h->normal[k] * p->to[h->point[i]][k];
    return gap;
}

static void remember(FaContact *c) {
    FaPairs *p = &c->pairs;
    for (int k = 0; k < p->nchunk; k++)
        for (int i = 0; i < p->nhit[k]; i++) {
            const FaPairHit *h = fai_pairs_hit(p, k, i);
            if (h->depth < -SHOVE_DEEP) continue;
            int at = fai_keys_find(&c->shove_of, fai_hit_key(h));
            if (at < 0) {
                if (c->nshove == c->max_shove) continue;
                at = c->nshove++;
                fai_keys_put(&c->shove_of, fai_hit_key(h), at);
            }
            c->shove[at] = *h;
        }
}

static void push_apart(FaContact *c) {
    FaPairs *p = &c->pairs;
    for (int pass = 0; pass < SHOVE_PASSES; pass++)
        for (int s = 0; s < c->nshove; s++) {
            const FaPairHit *h = &c->shove[s];
            double lack = SHOVE_GAP - gap_of(p, h), sum = 0;
            if (!(lack > 0) || lack > 2 * SHOVE_DEEP) continue;
            for (int i = 0; i < 4; i++) sum += h->point[i] < p->nsurface ? h->weight[i] * h->weight[i] : 0;
            for (int i = 0; i < 4 && sum > 0; i++) {
                if (h->point[i] >= p->nsurface) continue;
                c->mark[h->point[i]] |= IN_HIT | MOVED;
                for (int k = 0; k < 3; k++) p->to[h->point[i]][k] += lack * h->weight[i] / sum * h->normal[k];
            }
        }
}

// --- 2 stop, 3 freeze ---------------------------------------------------------------------------------------------

static void put_back(FaContact *c, int i, double scale) {
    FaPairs *p = &c->pairs;
    for (int k = 0; k < 3; k++)
        p->to[i][k] = scale > 0 ? p->from[i][k] + scale * (p->to[i][k] - p->from[i][k]) : p->from[i][k];
    c->mark[i] |= IN_HIT | MOVED;
}

static void stop_islands(FaContact *c) {
    FaPairs *p = &c->pairs;
    for (int k = 0; k < p->nchunk; k++)
        for (int i = 0; i < p->nhit[k]; i++) {
            const FaPairHit *h = fai_pairs_hit(p, k, i);
            int first = -1;
            for (int j = 0; j < 4; j++) {
                if (h->point[j] >= p->nsurface) continue;
                if (first >= 0) unite(c->island, first, h->point[j]);
                first = h->point[j];
            }
        }
    for (int i = 0; i < p->nsurface; i++) c->scale[i] = 1;
    for (int k = 0; k < p->nchunk; k++)
        for (int i = 0; i < p->nhit[k]; i++) {
            const FaPairHit *h = fai_pairs_hit(p, k, i);
            for (int j = 0; j < 4; j++) {
                if (h->point[j] >= p->nsurface) continue;
                double *scale = &c->scale[find(c->island, h->point[j])];
                *scale = fmin(*scale, h->t < NO_TIME ? 0 : SHORT_OF * h->t);
                break;
            }
        }
    for (int i = 0; i < p->nsurface; i++) {
        double scale = c->scale[find(c->island, i)];
        if (scale < 1) put_back(c, i, scale);
    }
}

static void freeze(FaContact *c, bool all) {
    FaPairs *p = &c->pairs;
    for (int i = 0; i < p->nsurface; i++) {
        bool hit = all || c->mark[i] & IN_HIT;
        for (int n = p->around_start[i]; n < p->around_start[i + 1] && !hit; n++) hit = c->mark[p->around[n]] & IN_HIT;
        c->scale[i] = hit ? 0 : 1;
    }
    for (int i = 0; i < p->nsurface; i++)
        if (c->scale[i] == 0) put_back(c, i, 0);
}

// --- the rounds ---------------------------------------------------------------------------------------------------

// volatile: GCC 12 at -O2 and up vectorises the three coordinates and leaves the rounding out.
static void round_to_floats(FaContact *c) {
    FaPairs *p = &c->pairs;
    for (int i = 0; i < p->nsurface; i++)
        if (c->mark[i] & IN_HIT)
            for (int k = 0; k < 3; k++) {
                volatile float x = (float)p->to[i][k];
                p->to[i][k] = (double)x;
            }
}

// Points that moved or met; all, where hits were lost.
static void mark_moved(FaContact *c, bool all) {
    FaPairs *p = &c->pairs;
    for (int i = 0; i < p->nsurface; i++) p->moved[i] = all || c->mark[i] & IN_HIT;
}

static void start(FaContact *c, const float *x_from, const float *x_to) {
    FaPairs *p = &c->pairs;
    fai_contact_load_points(c, x_from, p->from, c->rest);
    fai_contact_load_points(c, x_to, p->to, p->from);
    memset(c->mark, 0, (size_t)p->nsurface);
    for (int i = 0; i < p->nsurface; i++) c->island[i] = i;
    fai_keys_clear(&c->shove_of);
    fai_keys_clear(&c->given_up);
    c->nshove = c->stats.struck = c->stats.stuck = c->stats.rounds = 0;
}

// Write what changed, also what was not a number.
static int finish(FaContact *c, float *x_to) {
    FaPairs *p = &c->pairs;
    int limited = 0;
    for (int i = 0; i < p->nsurface; i++) {
        float *x = x_to + 3 * (size_t)p->node[i];
        bool same = true;
        for (int k = 0; k < 3; k++) {
            same = same && (double)x[k] == p->to[i][k];
            x[k] = (float)p->to[i][k];
        }
        limited += !same;
    }
    return limited;
}

int fai_contact_limit(FaContact *c, const float *x_from, float *x_to) {
    FaPairs *p = &c->pairs;
    start(c, x_from, x_to);
    for (int round = 1; round <= FREEZE_ROUNDS + 2; round++) {
        int over;
        fai_pairs_refit(p, 0.5 * LIMIT_GAP);
        c->stats.held = !fai_contact_search(
            c, &(FaPairSearch){.gap = LIMIT_GAP, .keep = FA_CONTACT_KEEP, .only_moved = round > 1}, &over);
        c->stats.rounds = round;
        if (c->stats.held) freeze(c, true);
        if (c->stats.held || sift(c, round <= SHOVE_ROUNDS) + over == 0) break;
        if (round <= SHOVE_ROUNDS) {
            remember(c);
            push_apart(c);
        } else if (round <= STOP_ROUNDS) {
            stop_islands(c);
        } else {
            freeze(c, round >= FREEZE_ROUNDS);
        }
        round_to_floats(c);
        mark_moved(c, over > 0);
    }
    c->stats.limited = finish(c, x_to);
    return c->stats.limited;
}

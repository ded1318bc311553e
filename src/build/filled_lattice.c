// Points inside the flesh: a body-centred lattice, whose Delaunay tets are all alike and well formed; finer around the
// mouth, coarser deep inside. Points just below the bone's surface are moved onto it, and carried by it.
#include "base/task.h"
#include "build/filled_work.h"
#include "math/mat3.h"

#include <stdlib.h>

static const double STEP[] = {1, 1.5, 2.2};   // spacing of the levels: around the mouth, elsewhere, deep inside
enum { LEVELS = FA_COUNT(STEP), SPLITS = 8 }; // SPLITS: of a triangle of the skin, one after the other
// m, of an adult: around the box of the lips; from the next wall; from there all is bone; of a lip
static const double MOUTH = 17e-3, DEEP = 22e-3, FAR = 45e-3, NEAR = 8e-3;
static const double WALL = 0.5, BONE = 0.45, APART = 0.62, EYE = 0.3, CUT = 0.7; // spacings: least distances
static const double LARGE[] = {1.5, 2.2}; // spacings: longest edge on the skin around the mouth, elsewhere

typedef struct Candidate {
    float x[3], wall;
    int near;
    unsigned char kind; // 0: none, else 1 + FaFilledKind
    signed char lip, lid;
} Candidate;

typedef struct Lattice {
    const FaFilledDomain *d;
    int level;
    double h, a;            // spacing; side of the lattice's cube, m
    double origin[3];       // canonical axes
    int first[3], count[3]; // cubes
    Candidate *found;       // two per cube
} Lattice;

static int level_at(const FaFilledDomain *d, const double q[3], double wall) {
    double far = 0;
    for (int k = 0; k < 3; k++) {
        double out = fmax(fmax(d->lip_lo[k] - q[k], q[k] - d->lip_hi[k]), 0);
        far += out * out;
    }
    if (sqrt(far) < MOUTH * d->size) return 0;
    return wall > DEEP * d->size ? 2 : 1;
}

// What becomes of a place; p may be moved.
static int settle(const Lattice *l, double p[3], FaFilledPlace *at) {
    const double h = l->h;
    if (!at->inside || at->eye < EYE * h) return 0;
    if (at->cut < CUT * h) return 1 + (int)fai_filled_edge(l->d, at->near);
    if (at->bone < -BONE * h) return 1 + FA_FILLED_FREE;
    if (at->bone > 1.05 * h) return 0;
    if (at->kind == FA_FILLED_FREE) return at->bone < 0.5 * h ? 1 + FA_FILLED_FREE : 0;
    FaFilledKind kind = at->kind;
    FaHit wall = fai_filled_wall(l->d, at->on_bone, INFINITY);
    FaFilledPlace there = fai_filled_place(l->d, at->on_bone, &wall);
    if (!there.inside || there.wall < 0.5 * WALL * h) return 0;
    memcpy(p, at->on_bone, 3 * sizeof(double));
    at->wall = there.wall;
    at->near = there.near;
    return 1 + (int)kind;
}

static void try_points(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Lattice *l = ctx;
    for (int i = begin; i < end; i++) {
        const int cube = i / 2,
                  at[3] = {cube % l->count[0], cube / l->count[0] % l->count[1], cube / l->count[0] / l->count[1]};
        double q[3], p[3];
        for (int k = 0; k < 3; k++) q[k] = l->origin[k] + l->a * (l->first[k] + at[k] + 0.5 * (i % 2));
        fai_m3_tmulv(l->d->rig->axes, q, p);
        if (l->level == 0 && level_at(l->d, q, 0) != 0) continue;
        FaHit wall = fai_filled_wall(l->d, p, FAR * l->d->size);
        if (wall.tri < 0 || (double)wall.distance < WALL * l->h || level_at(l->d, q, (double)wall.distance) != l->level)
            continue;
        FaFilledPlace place = fai_filled_place(l->d, p, &wall);
        Candidate *c = &l->found[i];
        c->kind = (unsigned char)settle(l, p, &place);
        for (int k = 0; k < 3; k++) c->x[k] = (float)p[k];
        c->wall = (float)place.wall;
        c->near = place.near;
        if (c->kind && place.wall < NEAR * l->d->size) {
            c->lip = l->d->lip[place.near];
            c->lid = l->d->lid[place.near];
        }
    }
}

static FaCode find_level(Lattice *l, FaError *err) {
    const FaFilledDomain *d = l->d;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, p[3], q[3];
    for (int v = 0; v < d->nvert; v++) {
        fai_v3_load(d->x, v, p);
        fai_m3_mulv(d->rig->axes, p, q);
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], q[k]), hi[k] = fmax(hi[k], q[k]);
    }
    l->a = cbrt(2) * l->h; // two points per cube
    double all = 2;
    for (int k = 0; k < 3; k++) {
        l->origin[k] = k == 0 ? 0.5 * (lo[0] + hi[0]) : hi[k]; // mirrored about the middle
        if (l->level == 0) lo[k] = d->lip_lo[k] - MOUTH * d->size, hi[k] = d->lip_hi[k] + MOUTH * d->size;
        if (!(hi[k] > lo[k])) return FA_OK; // there are no lips
        l->first[k] = (int)floor((lo[k] - l->origin[k]) / l->a) - 1;
        l->count[k] = (int)ceil((hi[k] - l->origin[k]) / l->a) + 1 - l->first[k];
        all *= l->count[k];
    }
    if (all > 5e6)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "ask for a coarser one", "the lattice of the flesh would be too fine");
    if (!(l->found = FA_NEW(all, Candidate))) return FA_FAIL_MEMORY(err);
    fai_parallel((int)all, 64, try_points, l);
    return FA_OK;
}

// --- points that keep apart -----------------------------------------------------------------------------------------

typedef struct Grid {
    double cell;
    int bits, *head, *next; // by place; lists
} Grid;

static int slot(const Grid *g, const int at[3]) {
    uint64_t key = 0;
    for (int k = 0; k < 3; k++) key = key * 0x9e3779b97f4a7c15ULL + (uint64_t)(int64_t)(at[k] + (1 << 20));
    return (int)((key * 0xd6e8feb86659fd93ULL) >> (64 - g->bits));
}

static bool crowded(const Grid *g, const FaFilledPoints *p, const float x[3], double least) {
    int at[3], to[3];
    for (int k = 0; k < 3; k++) at[k] = (int)floor((double)x[k] / g->cell);
    for (int i = 0; i < 27; i++) {
        to[0] = at[0] + i % 3 - 1, to[1] = at[1] + i / 3 % 3 - 1, to[2] = at[2] + i / 9 - 1;
        for (int j = g->head[slot(g, to)]; j >= 0; j = g->next[j]) {
            double d = 0;
            for (int k = 0; k < 3; k++) d += pow((double)p->x[3 * (size_t)j + (size_t)k] - (double)x[k], 2);
            if (d < least * least) return true;
        }
    }
    return false;
}

static void take(Grid *g, FaFilledPoints *p, const Candidate *c) {
    int i = p->n++, at[3];
    memcpy(p->x + 3 * (size_t)i, c->x, sizeof c->x);
    p->kind[i] = (unsigned char)(c->kind - 1);
    p->near[i] = c->near;
    p->lip[i] = c->lip;
    p->lid[i] = c->lid;
    p->wall[i] = c->wall;
    p->free += p->kind[i] == FA_FILLED_FREE;
    for (int k = 0; k < 3; k++) at[k] = (int)floor((double)c->x[k] / g->cell);
    int s = slot(g, at);
    g->next[i] = g->head[s];
    g->head[s] = i;
}

// A point of the lattice and its mirror image about the middle: both are looked at before either is taken, so that a
// face that is its own mirror image has flesh that nearly is.
static void take_pair(Grid *g, FaFilledPoints *p, const Lattice *l, int i, int j, bool free) {
    const Candidate *c[2] = {&l->found[i], &l->found[j]};
    bool good[2];
    for (int k = 0; k < 2; k++)
        good[k] = c[k]->kind && (c[k]->kind == 1 + FA_FILLED_FREE) == free && (k == 0 || j != i) &&
                  !crowded(g, p, c[k]->x, APART * l->h);
    if (good[0]) take(g, p, c[0]);
    if (good[1] && !(good[0] && crowded(g, p, c[1]->x, APART * l->h))) take(g, p, c[1]);
}

// From the middle outwards. Free ones first: those on bone were moved, and may have come near others.
static void take_level(Grid *g, FaFilledPoints *p, const Lattice *l) {
    const int nx = l->count[0], rows = l->found ? l->count[1] * l->count[2] : 0;
    for (int pass = 0; pass < 2; pass++)
        for (int out = 0; out < FA_MAX(nx, 1) + abs(l->first[0]); out++)
            for (int row = 0; row < rows; row++)
                for (int half = 0; half < 2; half++) {
                    // cubes `out` and -out (points at corners), or -out - 1 (in the middle of cubes)
                    const int right = out - l->first[0], left = -out - half - l->first[0];
                    const bool has[2] = {right >= 0 && right < nx, left >= 0 && left < nx};
                    const int i = 2 * (row * nx + right) + half, j = 2 * (row * nx + left) + half;
                    if (has[0] || has[1]) take_pair(g, p, l, has[0] ? i : j, has[1] ? j : i, pass == 0);
                }
}

// --- points on the skin ---------------------------------------------------------------------------------------------

// Where triangles are larger than the spacing of the lattice, few tets would end at them: they are split at the middle
// of their longest edges. Both triangles at an edge find the same middle.
typedef struct Split {
    const FaFilledDomain *d;
    double spacing;
    Grid *g;
    FaFilledPoints *p; // NULL: count
    int count;
} Split;

typedef struct Corner {
    float x[3], opening[3];
    int near;
    bool held;
    unsigned char hard;
} Corner;

static void add_middle(Split *s, const Corner *a, const Corner *b, const Corner *mid, double h) {
    const FaFilledDomain *d = s->d;
    s->count++;
    if (!s->p || crowded(s->g, s->p, mid->x, 0.3 * h)) return;
    Candidate c = {.near = mid->near,
                   .kind = (unsigned char)(1 + (mid->held ? (int)fai_filled_edge(d, mid->near) : mid->hard))};
    memcpy(c.x, mid->x, sizeof c.x);
    if (d->lip[a->near] == d->lip[b->near]) c.lip = d->lip[mid->near];
    if (d->lid[a->near] == d->lid[b->near]) c.lid = d->lid[mid->near];
    memcpy(s->p->opening + 3 * (size_t)s->p->n, mid->opening, sizeof mid->opening);
    take(s->g, s->p, &c);
}

static void split(Split *s, const Corner *t, int depth) {
    int at = 0;
    double most = 0;
    for (int k = 0; k < 3; k++) {
        double size = 0;
        for (int j = 0; j < 3; j++) size += pow((double)t[k].x[j] - (double)t[(k + 1) % 3].x[j], 2);
        if (size > most) most = size, at = k;
    }
    const Corner *a = &t[at], *b = &t[(at + 1) % 3], *c = &t[(at + 2) % 3];
    Corner mid = {.near = FA_MIN(a->near, b->near),
                  .held = a->held && b->held,
                  .hard = a->hard == b->hard ? a->hard : FA_FILLED_FREE};
    double p[3], q[3];
    for (int j = 0; j < 3; j++) {
        p[j] = 0.5 * ((double)a->x[j] + (double)b->x[j]), mid.x[j] = (float)p[j];
        mid.opening[j] = 0.5f * (a->opening[j] + b->opening[j]);
    }
    fai_m3_mulv(s->d->rig->axes, p, q);
    const int level = level_at(s->d, q, 0);
    const double h = s->spacing * STEP[level];
    if (sqrt(most) < LARGE[level] * h || depth == 0) return;
    add_middle(s, a, b, &mid, h);
    split(s, (Corner[3]){*a, mid, *c}, depth - 1);
    split(s, (Corner[3]){mid, *b, *c}, depth - 1);
}

static void split_skin(Split *s) {
    const FaFace *f = s->d->face;
    for (int t = 0; t < f->ntri; t++) {
        Corner c[3];
        for (int k = 0; k < 3; k++) {
            int i = f->tri[3 * (size_t)t + (size_t)k];
            c[k] = (Corner){.near = i, .held = s->d->held[i], .hard = s->d->hard[i]};
            memcpy(c[k].x, f->x0 + 3 * (size_t)i, sizeof c[k].x);
            memcpy(c[k].opening, s->d->opening + 3 * (size_t)i, sizeof c[k].opening);
        }
        split(s, c, SPLITS);
    }
}

static FaCode room_for(FaFilledPoints *p, const FaFilledDomain *d, const Lattice *l, Grid *g, FaError *err) {
    const int nskin = d->face->nskin;
    Split s = {.d = d, .spacing = l[0].h};
    split_skin(&s);
    int n = nskin + s.count;
    for (int k = 0; k < LEVELS; k++)
        for (int i = 0; l[k].found && i < 2 * l[k].count[0] * l[k].count[1] * l[k].count[2]; i++)
            n += l[k].found[i].kind != 0;
    *p = (FaFilledPoints){.nskin = nskin, .n = nskin};
    p->x = FA_NEW(3 * (size_t)n, float);
    p->kind = FA_NEW(n, unsigned char);
    p->near = FA_NEW(n, int);
    p->wall = FA_NEW(n, float);
    p->opening = FA_NEW(3 * ((size_t)nskin + (size_t)s.count), float);
    p->lip = FA_NEW(n, signed char);
    p->lid = FA_NEW(n, signed char);
    for (g->bits = 10; 1 << g->bits < 2 * n;) g->bits++;
    g->head = FA_NEW((size_t)1 << g->bits, int);
    g->next = FA_NEW(n, int);
    if (!p->x || !p->kind || !p->near || !p->wall || !p->opening || !p->lip || !p->lid || !g->head || !g->next)
        return FA_FAIL_MEMORY(err);
    for (int i = 0; i < 1 << g->bits; i++) g->head[i] = -1;
    memcpy(p->x, d->face->x0, 3 * (size_t)nskin * sizeof(float));
    memcpy(p->opening, d->opening, 3 * (size_t)nskin * sizeof(float));
    for (int i = 0; i < nskin; i++) {
        p->near[i] = i;
        p->lip[i] = d->lip[i];
        p->lid[i] = d->lid[i];
        p->kind[i] = d->held[i] ? (unsigned char)fai_filled_edge(d, i) : d->hard[i];
    }
    s.g = g, s.p = p;
    split_skin(&s);
    p->nsurface = p->n;
    return FA_OK;
}

FaCode fai_filled_points(const FaFilledDomain *d, double spacing, FaFilledPoints *points, FaError *err) {
    Lattice l[LEVELS] = {0};
    Grid g = {.cell = APART * spacing * STEP[LEVELS - 1]};
    FaCode rc = FA_OK;
    fai_filled_points_free(points);
    for (int k = 0; k < LEVELS; k++) {
        l[k] = (Lattice){.d = d, .level = k, .h = spacing * STEP[k]};
        FA_TRY_GOTO(done, rc, find_level(&l[k], err));
    }
    FA_TRY_GOTO(done, rc, room_for(points, d, l, &g, err));
    for (int k = 0; k < LEVELS; k++) take_level(&g, points, &l[k]);
done:
    for (int k = 0; k < LEVELS; k++) fa_free(l[k].found);
    fa_free(g.head);
    fa_free(g.next);
    return rc;
}

void fai_filled_points_free(FaFilledPoints *p) {
    fa_free(p->x);
    fa_free(p->kind);
    fa_free(p->near);
    fa_free(p->wall);
    fa_free(p->opening);
    fa_free(p->lip);
    fa_free(p->lid);
    *p = (FaFilledPoints){0};
}

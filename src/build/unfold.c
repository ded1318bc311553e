// Minimises, over the free nodes around bad tets,
//
//     sum of v [ |F|^2 / c(J)^(2/3) + (J^2 + 1) / c(J) ],    c(J) = (J + sqrt(e^2 + J^2)) / 2,
//
// a distortion that is infinite at J = 0 for e = 0. With e > 0 it is finite through inversion and pushes out of it; e
// follows the worst J down (regularised foldover-free maps). L-BFGS with a step that must lower the energy.
#include "build/unfold.h"

#include "math/mat3.h"

static const double BAD_VOLUME = 0.06, BAD_FORM = 0.06,
                    LITTLE = 0.25; // J; 3 J^(2/3) / |F|^2, which is 1 for no distortion
static const double SCATTER = 0.7; // of the size of a tet
enum { RINGS = 3, ROUNDS = 60, STEPS = 250, PAIRS = 6, WIDEN = 3, PATIENCE = 4 };
enum { TRY_RINGS = 2, TRY_STEPS = 100, TRY_PATIENCE = 2 };

typedef struct Patch {
    const FaUnfoldInput *in;
    double *x;
    int ntet, nfree;
    int *tet;     // of the part                                     (ntet)
    int *free;    // nodes that move                                 (nfree)
    int *index;   // of nodes among them, -1 = stays                 (n)
    double *grad; // over all nodes                                  (n x 3)
    double *inv;  // Dm^-1 of each tet, then six volumes             (ntet x 10)
    double eps;
    bool trying; // what is inverted alone, and not for long
} Patch;

double fai_tet_gradient(const double *x0, const double *x, const int t[4], double F[9]) {
    double m[9], d[9], inv[9];
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 3; c++) {
            m[3 * c + k] = x0[3 * (size_t)t[k + 1] + (size_t)c] - x0[3 * (size_t)t[0] + (size_t)c];
            d[3 * c + k] = x[3 * (size_t)t[k + 1] + (size_t)c] - x[3 * (size_t)t[0] + (size_t)c];
        }
    if (!fai_m3_inverse(m, inv)) {
        fai_m3_identity(F);
        return 0;
    }
    fai_m3_mul(d, inv, F);
    return fai_m3_det(F);
}

static double square(const double F[9]) {
    double s = 0;
    for (int i = 0; i < 9; i++) s += F[i] * F[i];
    return s;
}

static bool is_bad(const FaUnfoldInput *in, const double *x, int t) {
    double F[9], J = fai_tet_gradient(in->x0, x, in->tet + 4 * (size_t)t, F);
    return !(J > BAD_VOLUME) || !(3 * cbrt(J * J) > BAD_FORM * square(F));
}

static bool is_inverted(const FaUnfoldInput *in, const double *x, int t) {
    double F[9];
    return !(fai_tet_gradient(in->x0, x, in->tet + 4 * (size_t)t, F) > 0);
}

static int count(const FaUnfoldInput *in, const double *x, bool (*what)(const FaUnfoldInput *, const double *, int)) {
    int n = 0;
    for (int t = 0; t < in->ntet; t++) n += what(in, x, t);
    return n;
}

// --- energy ---------------------------------------------------------------------------------------------------------

static void cofactor(const double F[9], double c[9]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, p = (j + 1) % 3, q = (j + 2) % 3;
            c[3 * i + j] = F[3 * a + p] * F[3 * b + q] - F[3 * a + q] * F[3 * b + p];
        }
}

static void gradient_of(const Patch *p, int k, double F[9]) {
    const int *v = p->in->tet + 4 * (size_t)p->tet[k];
    double d[9];
    for (int j = 0; j < 3; j++)
        for (int c = 0; c < 3; c++)
            d[3 * c + j] = p->x[3 * (size_t)v[j + 1] + (size_t)c] - p->x[3 * (size_t)v[0] + (size_t)c];
    fai_m3_mul(d, p->inv + 10 * (size_t)k, F);
}

static double least_volume(const Patch *p) {
    double least = INFINITY, F[9];
    for (int k = 0; k < p->ntet; k++) {
        gradient_of(p, k, F);
        least = fmin(least, fai_m3_det(F));
    }
    return least;
}

// At p->x; the gradient at free nodes in p->grad if wanted.
static double energy(Patch *p, bool want) {
    double sum = 0;
    if (want)
        for (int i = 0; i < p->nfree; i++) memset(p->grad + 3 * (size_t)p->free[i], 0, 3 * sizeof(double));
    for (int k = 0; k < p->ntet; k++) {
        const int *v = p->in->tet + 4 * (size_t)p->tet[k];
        const double *inv = p->inv + 10 * (size_t)k, vol = inv[9];
        double F[9], cof[9], P[9], H[9], back[9];
        gradient_of(p, k, F);
        double J = fai_m3_det(F), root = sqrt(p->eps * p->eps + J * J), c = 0.5 * (J + root), f = square(F);
        if (!(c > 1e-30)) return INFINITY;
        double c23 = cbrt(c * c);
        sum += vol * (f / c23 + (J * J + 1) / c);
        if (!want) continue;
        double dc = root > 0 ? 0.5 * (1 + J / root) : 0.5;
        double by_J = -2.0 / 3 * f / (c23 * c) * dc + 2 * J / c - (J * J + 1) / (c * c) * dc;
        cofactor(F, cof);
        for (int i = 0; i < 9; i++) P[i] = vol * (2 / c23 * F[i] + by_J * cof[i]);
        fai_m3_transpose(inv, back);
        fai_m3_mul(P, back, H); // columns: force at corners 1..3
        for (int j = 0; j < 3; j++)
            for (size_t a = 0; a < 3; a++) {
                double g = H[3 * a + (size_t)j];
                p->grad[3 * (size_t)v[j + 1] + a] += g;
                p->grad[3 * (size_t)v[0] + a] -= g;
            }
    }
    return sum;
}

// --- L-BFGS ---------------------------------------------------------------------------------------------------------

typedef struct Descent {
    size_t n; // 3 nfree
    double *s[PAIRS], *y[PAIRS], rho[PAIRS], *g, *old, *dir, *from;
    int count;
} Descent;

static double dot(size_t n, const double *a, const double *b) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static void direction(Descent *d) {
    double alpha[PAIRS];
    const int n = FA_MIN(d->count, PAIRS);
    for (size_t i = 0; i < d->n; i++) d->dir[i] = -d->g[i];
    for (int k = 0; k < n; k++) {
        int j = (d->count - 1 - k) % PAIRS;
        alpha[j] = d->rho[j] * dot(d->n, d->s[j], d->dir);
        for (size_t i = 0; i < d->n; i++) d->dir[i] -= alpha[j] * d->y[j][i];
    }
    if (n) {
        int j = (d->count - 1) % PAIRS;
        double scale = 1 / (d->rho[j] * dot(d->n, d->y[j], d->y[j]));
        for (size_t i = 0; i < d->n; i++) d->dir[i] *= scale;
    }
    for (int k = n - 1; k >= 0; k--) {
        int j = (d->count - 1 - k) % PAIRS;
        double beta = d->rho[j] * dot(d->n, d->y[j], d->dir);
        for (size_t i = 0; i < d->n; i++) d->dir[i] += (alpha[j] - beta) * d->s[j][i];
    }
}

static void gather(const Patch *p, const double *from, double *to) {
    for (int i = 0; i < p->nfree; i++) memcpy(to + 3 * (size_t)i, from + 3 * (size_t)p->free[i], 3 * sizeof(double));
}

static void put(Patch *p, const double *from, const double *dir, double t) {
    for (size_t i = 0; i < 3 * (size_t)p->nfree; i++) p->x[3 * (size_t)p->free[i / 3] + i % 3] = from[i] + t * dir[i];
}

// Some steps down at the present eps; size: a length to begin with. False if not one was found.
static bool descend(Patch *p, Descent *d, double size) {
    bool any = false;
    d->count = 0;
    double e = energy(p, true);
    gather(p, p->grad, d->g);
    for (int step = 0; step < (p->trying ? TRY_STEPS : STEPS); step++) {
        direction(d);
        double slope = dot(d->n, d->g, d->dir), most = 0, t = 1, next = e;
        if (!(slope < 0)) {
            d->count = 0;
            direction(d);
            slope = dot(d->n, d->g, d->dir);
        }
        for (size_t i = 0; i < d->n; i++) most = fmax(most, fabs(d->dir[i]));
        if (!(most > 0) || !isfinite(most)) break;
        if (d->count == 0 || t * most > size) t = fmin(1, size / most);
        if (d->count == 0) t = 0.3 * size / most;
        gather(p, p->x, d->from);
        int tries = 0;
        for (; tries < 40; tries++, t *= 0.5) {
            put(p, d->from, d->dir, t);
            next = energy(p, false);
            if (next <= e + 1e-4 * t * slope) break;
        }
        if (tries == 40) {
            put(p, d->from, d->dir, 0);
            if (d->count == 0) break;
            d->count = 0;
            continue;
        }
        memcpy(d->old, d->g, d->n * sizeof(double));
        energy(p, true);
        gather(p, p->grad, d->g);
        int j = d->count % PAIRS;
        for (size_t i = 0; i < d->n; i++) d->s[j][i] = t * d->dir[i], d->y[j][i] = d->g[i] - d->old[i];
        double sy = dot(d->n, d->s[j], d->y[j]);
        if (sy > 1e-14 * sqrt(dot(d->n, d->s[j], d->s[j]) * dot(d->n, d->y[j], d->y[j])))
            d->rho[j] = 1 / sy, d->count++;
        bool done = e - next < 1e-7 * e;
        e = next;
        any = true;
        if (done) break;
    }
    return any;
}

// --- the part that moves --------------------------------------------------------------------------------------------

// Bad tets and `rings` rings around them. mark: 1 = a node of the part (n).
static FaCode choose(Patch *p, int rings, unsigned char *mark, FaArena *arena, FaError *err) {
    const FaUnfoldInput *in = p->in;
    memset(mark, 0, (size_t)in->n);
    for (int t = 0; t < in->ntet; t++)
        if (p->trying ? is_inverted(in, p->x, t) : is_bad(in, p->x, t))
            for (int k = 0; k < 4; k++) mark[in->tet[4 * (size_t)t + (size_t)k]] = 1;
    for (int r = 1; r < rings; r++)
        for (int t = 0; t < in->ntet; t++) {
            const int *v = in->tet + 4 * (size_t)t;
            bool near = false;
            for (int k = 0; k < 4; k++) near |= mark[v[k]] && mark[v[k]] <= r;
            for (int k = 0; near && k < 4; k++)
                if (!mark[v[k]]) mark[v[k]] = (unsigned char)(r + 1);
        }
    p->tet = FA_PUSH(arena, in->ntet, int);
    p->free = FA_PUSH(arena, in->n, int);
    if (!p->tet || !p->free) return FA_FAIL_MEMORY(err);
    p->ntet = p->nfree = 0;
    for (int i = 0; i < in->n; i++)
        if (mark[i] && !in->fixed[i]) p->free[p->nfree++] = i;
    for (int t = 0; t < in->ntet; t++) {
        const int *v = in->tet + 4 * (size_t)t;
        bool moves = false;
        for (int k = 0; k < 4; k++) moves |= mark[v[k]] && !in->fixed[v[k]];
        if (moves) p->tet[p->ntet++] = t;
    }
    double mean = 0;
    p->inv = FA_PUSH(arena, 10 * (size_t)p->ntet, double);
    if (!p->inv) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < p->ntet; k++) {
        const int *v = in->tet + 4 * (size_t)p->tet[k];
        double m[9], *inv = p->inv + 10 * (size_t)k;
        for (int j = 0; j < 3; j++)
            for (int c = 0; c < 3; c++)
                m[3 * c + j] = in->x0[3 * (size_t)v[j + 1] + (size_t)c] - in->x0[3 * (size_t)v[0] + (size_t)c];
        if (!fai_m3_inverse(m, inv)) fai_m3_identity(inv);
        inv[9] = fmax(fai_m3_det(m), 0);
        mean += inv[9] / p->ntet;
    }
    // slivers count as much as others, else they are what stays folded
    for (int k = 0; k < p->ntet; k++) {
        double *vol = p->inv + 10 * (size_t)k + 9;
        *vol = pow(*vol / mean, LITTLE) * mean;
    }
    return FA_OK;
}

static FaCode work(Patch *p, unsigned char *mark, int rings, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? choose(p, rings, mark, arena, err) : FA_FAIL_MEMORY(err);
    Descent d = {.n = 3 * (size_t)p->nfree};
    double **array[4 + 2 * PAIRS] = {&d.g, &d.old, &d.dir, &d.from}, mean = 0;
    for (int i = 0; i < PAIRS; i++) array[4 + 2 * i] = &d.s[i], array[5 + 2 * i] = &d.y[i];
    for (int i = 0; rc >= 0 && i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(arena, d.n, double))) rc = FA_FAIL_MEMORY(err);
    for (int k = 0; rc >= 0 && k < p->ntet; k++) mean += p->inv[10 * (size_t)k + 9] / p->ntet;
    double best = -INFINITY;
    const int most = p->trying ? TRY_PATIENCE : PATIENCE;
    int fewest = INT32_MAX, patience = most;
    for (int round = 0; rc >= 0 && p->nfree && round < ROUNDS; round++) {
        double least = least_volume(p);
        int bad = 0;
        for (int k = 0; k < p->ntet; k++)
            bad += p->trying ? is_inverted(p->in, p->x, p->tet[k]) : is_bad(p->in, p->x, p->tet[k]);
        // what is folded between fixed nodes cannot be helped: enough is enough
        patience = bad < fewest || least > best + fmax(1e-4, 0.05 * fabs(best)) ? most : patience - 1;
        best = fmax(best, least);
        fewest = FA_MIN(fewest, bad);
        if (!bad || !patience) break;
        p->eps = least > 1e-3 ? 0.3 * least : sqrt(1e-6 + 0.04 * least * least);
        if (!descend(p, &d, 0.5 * cbrt(mean)) && least > 0) break;
    }
    fai_arena_free(arena);
    return rc;
}

static FaCode widen(Patch *p, unsigned char *mark, FaError *err) {
    FaCode rc = FA_OK;
    for (int k = 0, now = count(p->in, p->x, is_bad), was = INT32_MAX; rc >= 0 && now && now < was && k < WIDEN; k++) {
        rc = work(p, mark, RINGS + 2 * k, err);
        was = now;
        now = count(p->in, p->x, is_bad);
    }
    return rc;
}

// Moves the free nodes of inverted tets and of their neighbours at random, by as much as those tets are large.
static void scatter(Patch *p, unsigned char *mark, int seed) {
    const FaUnfoldInput *in = p->in;
    double volume = 0;
    int n = 0;
    memset(mark, 0, (size_t)in->n);
    for (int t = 0; t < in->ntet; t++)
        if (is_inverted(in, p->x, t))
            for (int k = 0; k < 4; k++) mark[in->tet[4 * (size_t)t + (size_t)k]] = 1;
    for (int t = 0; t < in->ntet; t++) {
        const int *v = in->tet + 4 * (size_t)t;
        if (mark[v[0]] != 1 && mark[v[1]] != 1 && mark[v[2]] != 1 && mark[v[3]] != 1) continue;
        double m[9];
        for (int k = 0; k < 4; k++)
            if (!mark[v[k]]) mark[v[k]] = 2;
        for (int k = 0; k < 3; k++) fai_v3_sub(in->x0 + 3 * (size_t)v[k + 1], in->x0 + 3 * (size_t)v[0], m + 3 * k);
        volume += fai_m3_det(m);
        n++;
    }
    const double by = SCATTER * cbrt(volume / FA_MAX(n, 1));
    for (int i = 0; i < in->n; i++)
        for (size_t c = 0; mark[i] && !in->fixed[i] && c < 3; c++)
            p->x[3 * (size_t)i + c] += by * (2 * fai_random_unit((uint64_t)seed, 3 * (uint64_t)i + c) - 1);
}

// The minimisation may end in a fold that has a way out elsewhere: begin again with the nodes around it scattered, and
// keep that where fewer tets are inverted then.
static FaCode try_elsewhere(Patch *p, unsigned char *mark, FaError *err) {
    const size_t size = 3 * (size_t)p->in->n * sizeof(double);
    double *best = FA_NEW(3 * (size_t)p->in->n, double);
    int least = count(p->in, p->x, is_inverted);
    FaCode rc = best ? FA_OK : FA_FAIL_MEMORY(err);
    p->trying = true;
    for (int try = 0; rc >= 0 && least && try < p->in->tries; try++) {
        memcpy(best, p->x, size);
        scatter(p, mark, try);
        rc = work(p, mark, TRY_RINGS, err);
        const int now = count(p->in, p->x, is_inverted);
        if (now < least)
            least = now;
        else
            memcpy(p->x, best, size);
    }
    p->trying = false;
    fa_free(best);
    return rc;
}

FaCode fai_unfold(const FaUnfoldInput *in, double *x, int *bad, int *left, FaError *err) {
    Patch p = {.in = in, .x = x};
    unsigned char *mark = FA_NEW(in->n, unsigned char);
    p.grad = FA_NEW(3 * (size_t)in->n, double);
    FaCode rc = mark && p.grad ? FA_OK : FA_FAIL_MEMORY(err);
    *bad = *left = 0;
    if (rc >= 0) {
        *bad = count(in, x, is_bad);
        rc = widen(&p, mark, err);
        *left = count(in, x, is_inverted);
    }
    if (rc >= 0 && *left && in->tries) {
        rc = try_elsewhere(&p, mark, err);
        if (rc >= 0 && count(in, x, is_inverted) < *left) rc = widen(&p, mark, err);
        *left = count(in, x, is_inverted);
    }
    fa_free(mark);
    fa_free(p.grad);
    return rc;
}

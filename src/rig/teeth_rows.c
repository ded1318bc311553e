#include "rig/teeth_rows.h"

#include <math.h>
#include <stdlib.h>

enum { STEPS = 64, GRID = 64 };
static const double NEAR_LIPS = 0.05, CELL = 0.03;   // of the face's width
static const double MOST_TILT = 0.5;                 // of the rows, y per z
static const double MOST_CUT = 0.2, LEAST_ROW = 0.1; // of all vertices: on the wrong side of the plane, in a row
static const double LEAST_STACKED = 0.5;             // of the lower row's: below the upper one's

typedef struct Pieces {
    int *of;            // piece of each vertex                          (n)
    double *y;          // height above the tilted plane through the middle  (n)
    int n;              //
    int *size, *below;  // vertices, those below the plane               (n)
    const float **sort; // scratch                                       (vertices)
} Pieces;

// --- pieces -------------------------------------------------------------------------------------------------------

static int by_place(const void *a, const void *b) {
    const float *p = *(const float *const *)a, *q = *(const float *const *)b;
    for (int k = 0; k < 3; k++)
        if (p[k] != q[k]) return p[k] < q[k] ? -1 : 1;
    return (p > q) - (p < q);
}

static int root(int *up, int i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

static void join(int *up, int a, int b) {
    a = root(up, a), b = root(up, b);
    up[FA_MAX(a, b)] = FA_MIN(a, b);
}

// What triangles and equal places join.
static void find_pieces(const FaTeeth *t, Pieces *p) {
    for (int i = 0; i < t->n; i++) p->of[i] = i, p->sort[i] = t->x + 3 * (size_t)i;
    qsort(p->sort, (size_t)t->n, sizeof *p->sort, by_place);
    for (int i = 1; i < t->n; i++)
        if (!memcmp(p->sort[i], p->sort[i - 1], 3 * sizeof(float)))
            join(p->of, (int)((p->sort[i] - t->x) / 3), (int)((p->sort[i - 1] - t->x) / 3));
    for (int i = 0; i < t->ntri; i++)
        for (int k = 1; k < 3; k++) join(p->of, t->tri[3 * i], t->tri[3 * i + k]);
    int *number = p->below;
    for (int i = 0; i < t->n; i++) p->of[i] = root(p->of, i);
    for (int i = 0; i < t->n; i++) { // roots come first
        int r = p->of[i];
        if (r == i) number[i] = p->n++;
        p->of[i] = number[r];
        p->size[p->of[i]]++;
    }
}

// --- the plane ----------------------------------------------------------------------------------------------------

// Heights without the tilt of the rows, and the lips' among them.
static double set_heights(const FaTeeth *t, double *y) {
    double mid[2] = {0}, yz = 0, zz = 0, front = -INFINITY;
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < 2; k++) mid[k] += (double)t->x[3 * i + 1 + k] / t->n;
    for (int i = 0; i < t->n; i++) {
        double dy = (double)t->x[3 * i + 1] - mid[0], dz = (double)t->x[3 * i + 2] - mid[1];
        yz += dy * dz, zz += dz * dz;
        front = fmax(front, dz);
    }
    double tilt = zz > 0 ? fmax(-MOST_TILT, fmin(MOST_TILT, yz / zz)) : 0;
    for (int i = 0; i < t->n; i++) y[i] = (double)t->x[3 * i + 1] - mid[0] - tilt * ((double)t->x[3 * i + 2] - mid[1]);
    return t->lips - mid[0] - tilt * front;
}

// How many vertices are on the other side than most of their piece; *low: vertices of pieces below.
static int cut_at(const FaTeeth *t, Pieces *p, double y, int *low) {
    int wrong = 0;
    *low = 0;
    memset(p->below, 0, (size_t)p->n * sizeof *p->below);
    for (int i = 0; i < t->n; i++) p->below[p->of[i]] += p->y[i] < y;
    for (int i = 0; i < p->n; i++) {
        bool is_low = 2 * p->below[i] > p->size[i];
        wrong += is_low ? p->size[i] - p->below[i] : p->below[i];
        *low += is_low ? p->size[i] : 0;
    }
    return wrong;
}

// Share of the lower row that has something of the upper one above it.
static double stacked(const FaTeeth *t, const unsigned char *lower) {
    static const int half = GRID / 2;
    bool upper[GRID][GRID] = {{false}};
    double mid[2] = {0}, cell = CELL * t->size;
    int all = 0, under = 0;
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < 2; k++) mid[k] += (double)t->x[3 * i + 2 * k] / t->n;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < t->n; i++) {
            int at[2];
            for (int k = 0; k < 2; k++) {
                double u = floor(((double)t->x[3 * i + 2 * k] - mid[k]) / cell) + half;
                at[k] = (int)fmax(0, fmin(GRID - 1, u));
            }
            if (!pass && !lower[i]) upper[at[0]][at[1]] = true;
            if (pass && lower[i]) all++, under += upper[at[0]][at[1]];
        }
    return all ? (double)under / all : 0;
}

static FaRows find_rows(const FaTeeth *t, Pieces *p, unsigned char *lower) {
    double lips = set_heights(t, p->y), reach = NEAR_LIPS * t->size, best_y = 0;
    int least = t->n + 1, low, run = 0, high_side = 0, low_side = 0;
    find_pieces(t, p);
    for (int s = 0; s <= STEPS; s++) { // of equally good ones the middle of the first run
        double y = lips + reach * (2.0 * s / STEPS - 1);
        int wrong = cut_at(t, p, y, &low);
        if (low < LEAST_ROW * t->n || t->n - low < LEAST_ROW * t->n) wrong = t->n;
        if (wrong < least) least = wrong, best_y = y, run = s;
        if (wrong == least && s == run + 1) best_y += reach / STEPS, run = s;
    }
    if (least <= MOST_CUT * t->n) {
        cut_at(t, p, best_y, &low);
        for (int i = 0; i < t->n; i++) lower[i] = 2 * p->below[p->of[i]] > p->size[p->of[i]];
        if (stacked(t, lower) >= LEAST_STACKED) return FA_ROWS_TWO;
    }
    memset(lower, 0, (size_t)t->n);
    for (int i = 0; i < t->n; i++) high_side += p->y[i] > lips + reach, low_side += p->y[i] < lips - reach;
    return FA_MIN(high_side, low_side) > LEAST_ROW * t->n ? FA_ROWS_JOINED : FA_ROWS_ONE;
}

FaCode fai_teeth_rows(const FaTeeth *t, unsigned char *lower, FaRows *rows, FaError *err) {
    *rows = FA_ROWS_ONE;
    if (t->n <= 0 || !(t->size > 0)) return FA_OK;
    FaArena *scratch = fai_arena_new(0);
    if (!scratch) return FA_FAIL_MEMORY(err);
    size_t n = (size_t)t->n;
    Pieces p = {.of = FA_PUSH(scratch, n, int),
                .y = FA_PUSH(scratch, n, double),
                .size = FA_PUSH(scratch, n, int),
                .below = FA_PUSH(scratch, n, int),
                .sort = FA_PUSH(scratch, n, const float *)};
    bool have = p.of && p.y && p.size && p.below && p.sort;
    if (have) *rows = find_rows(t, &p, lower);
    fai_arena_free(scratch);
    return have ? FA_OK : FA_FAIL_MEMORY(err);
}

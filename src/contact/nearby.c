// Rows of surfaces that lie on each other, from where they are alone: see fai_contact_nearby.
//
//   points -> their normals -> pairs of vertex and triangle within reach that face each other -> rows, of each vertex
//   shares of one
//
// A row's direction is the surface's own normal at the closest point, blended between the corners', so that it does not
// flip where the vertex is through. A vertex has rows with all triangles around it, whose shares fade with the distance
// along the surface, with the depth, and where the surfaces turn away from each other. So rows come, go and turn
// without a jump, and runs that differ a little stay close; what fai_contact_collect finds depends on which pair meets
// first.
#include "contact/contact_work.h"

#include "base/task.h"

#include <math.h>

static const double FACING[2] = {0.1, 0.5};    // cosine of facing normals: from where a row fades in, and is whole
static const double ALONG = 0.7, ACROSS = 0.6; // of the reach: where shares end, along the surface and across it
static const double JOINED = 4;                // reaches: what is closer than this along the surface has no rows
static const double FAINT = 1e-3;              // not worth a row

// --- what is joined -----------------------------------------------------------------------------------------------

enum { MOST_JOINED = 512 }; // of a point

typedef struct Reached {
    int n, point[MOST_JOINED];
    double path[MOST_JOINED]; // m, along edges at rest
} Reached;

static void reach(Reached *r, int point, double path) {
    for (int i = 0; i < r->n; i++)
        if (r->point[i] == point) {
            r->path[i] = fmin(r->path[i], path);
            return;
        }
    if (r->n == MOST_JOINED) return;
    r->point[r->n] = point;
    r->path[r->n++] = path;
}

// Points whose path from `from` is shorter than `most`, ascending: the nearest of those not done yet, again and again.
static void reach_all(const FaContact *c, int from, double most, Reached *r) {
    const FaPairs *p = &c->pairs;
    r->n = 0;
    reach(r, from, 0);
    for (int done = 0; done < r->n; done++) {
        int next = done;
        for (int i = done + 1; i < r->n; i++)
            if (r->path[i] < r->path[next]) next = i;
        int point = r->point[next];
        double path = r->path[next];
        r->point[next] = r->point[done], r->path[next] = r->path[done];
        r->point[done] = point, r->path[done] = path;
        for (int k = p->around_start[point]; k < p->around_start[point + 1]; k++) {
            const double *a = c->rest[point], *b = c->rest[p->around[k]];
            double d[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]},
                   longer = path + sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            if (longer < most || point == from) reach(r, p->around[k], longer);
        }
    }
    for (int i = 1; i < r->n; i++)
        for (int k = i; k > 0 && r->point[k] < r->point[k - 1]; k--) {
            int swap = r->point[k];
            r->point[k] = r->point[k - 1], r->point[k - 1] = swap;
        }
}

bool fai_contact_join(FaContact *c) {
    int n = c->pairs.nsurface, all = 0, room = 64 * n + MOST_JOINED;
    Reached *r = FA_NEW(1, Reached);
    c->joined_start = FA_NEW(n + 1, int);
    c->joined = FA_NEW(room, int);
    for (int i = 0; i < n && r && c->joined_start && c->joined; i++) {
        reach_all(c, i, JOINED * c->options.nearby, r);
        if (all + r->n > room) {
            room = 2 * room + MOST_JOINED;
            int *more = FA_NEW(room, int);
            if (more) memcpy(more, c->joined, (size_t)all * sizeof *more);
            fa_free(c->joined);
            c->joined = more;
            if (!more) break;
        }
        memcpy(c->joined + all, r->point, (size_t)r->n * sizeof *c->joined);
        c->joined_start[i + 1] = all += r->n;
    }
    bool good = r && c->joined_start && c->joined;
    fa_free(r);
    return good;
}

// --- pairs --------------------------------------------------------------------------------------------------------

// Are they close along the surface? A fold's flanks, and the corners of a mouth, always face each other.
static bool is_joined(const FaContact *c, const int point[4]) {
    for (int j = 1; j < 4 && point[j] < c->pairs.nsurface; j++) {
        const int *lo = c->joined + c->joined_start[point[0]], *hi = c->joined + c->joined_start[point[0] + 1];
        while (lo < hi) {
            const int *mid = lo + (hi - lo) / 2;
            if (*mid == point[j]) return true;
            if (*mid < point[j])
                lo = mid + 1;
            else
                hi = mid;
        }
    }
    return false;
}

static bool is_far(const FaPairs *p, const int point[4], double reach) {
    const double *x = p->to[point[0]], *a = p->to[point[1]], *b = p->to[point[2]], *c = p->to[point[3]];
    for (int k = 0; k < 3; k++)
        if (x[k] > fmax(fmax(a[k], b[k]), c[k]) + reach || x[k] < fmin(fmin(a[k], b[k]), c[k]) - reach) return true;
    return false;
}

// The surface's normal at a hit, and how much the vertex faces it.
static double facing(const FaContact *c, const int point[4], const double bary[4], double n[3]) {
    double size = 0, dot = 0;
    for (int k = 0; k < 3; k++) {
        n[k] = 0;
        for (int i = 0; i < 3; i++) n[k] += bary[i] * c->normal[point[1 + i]][k];
        size += n[k] * n[k];
    }
    size = sqrt(size);
    for (int k = 0; k < 3; k++) {
        n[k] = size > 0 ? n[k] / size : 0;
        dot -= n[k] * c->normal[point[0]][k];
    }
    return dot;
}

typedef struct Nearby {
    FaContact *c;
    int chunk;
} Nearby;

static double smooth(double t) { return t <= 0 ? 0 : t >= 1 ? 1 : t * t * (3 - 2 * t); }
static double fade(double square) { return square < 1 ? (1 - square) * (1 - square) : 0; }

// How much a pair is a contact. distance: of the closest points.
static double share_of(const FaContact *c, const FaPairHit *h, double distance, double toward) {
    const FaPairs *p = &c->pairs;
    double across = 0, reach = c->options.nearby;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++) across += h->weight[i] * p->to[h->point[i]][k] * h->normal[k];
    double along = fmax(distance * distance - across * across, 0);
    return smooth((toward - FACING[0]) / (FACING[1] - FACING[0])) * fade(along / (ALONG * ALONG * reach * reach)) *
           fade(across * across / (ACROSS * ACROSS * reach * reach));
}

static void consider(void *ctx, FaPairKind kind, int a, int b) {
    const Nearby *w = ctx;
    FaContact *c = w->c;
    FaPairs *p = &c->pairs;
    if (kind != FA_PAIR_VERTEX_TRIANGLE || a >= p->nsurface) return;
    FaPairHit hit = {.kind = kind, .a = a, .b = b, .near = true, .t = 1};
    fai_pair_points(p, kind, a, b, hit.point);
    if (is_far(p, hit.point, c->options.nearby) || is_joined(c, hit.point)) return;
    double x[4][3], bary[4], direction[3];
    for (int i = 0; i < 4; i++) memcpy(x[i], p->to[hit.point[i]], sizeof x[i]);
    double distance = fai_pair_distance(kind, (const double(*)[3])x, bary, direction, NULL);
    double toward = facing(c, hit.point, bary, hit.normal);
    if (!(distance < c->options.nearby) || !(toward > FACING[0])) return;
    fai_pair_weights(kind, bary, hit.weight);
    hit.depth = share_of(c, &hit, distance, toward);
    if (!(hit.depth > FAINT) || fai_keys_find(&p->left_out, fai_hit_key(&hit)) >= 0) return;
    if (p->nhit[w->chunk] < FA_PAIRS_HITS)
        p->hit[(size_t)w->chunk * FA_PAIRS_HITS + (size_t)p->nhit[w->chunk]++] = hit;
    else
        p->nover[w->chunk]++;
}

static void search_chunk(void *ctx, int begin, int end, int chunk) {
    FaContact *c = ctx;
    FaPairs *p = &c->pairs;
    Nearby w = {c, chunk};
    p->nhit[chunk] = p->nover[chunk] = 0;
    if (!p->listed) fai_pairs_list(p, begin, end, chunk);
    if (p->nlist[2 * chunk] < 0) {
        fai_pairs_walk(p, begin, end, chunk, consider, &w);
        return;
    }
    const FaPairId *id = fai_pairs_listed(p, chunk, FA_PAIR_VERTEX_TRIANGLE);
    for (int i = 0; i < p->nlist[2 * chunk]; i++) consider(&w, FA_PAIR_VERTEX_TRIANGLE, id[i].a, id[i].b);
}

// --- rows ---------------------------------------------------------------------------------------------------------

// Of a vertex, with the surface or with colliders: the sum.
static double *share_at(const FaContact *c, const FaPairHit *h) {
    return &c->shares[2 * h->a + (h->point[1] >= c->pairs.nsurface)];
}

static void add_row(FaContact *c, const FaPairHit *h, double sum) {
    if (c->nrow == c->options.max_rows) {
        c->stats.dropped++;
        return;
    }
    FaRow *row = &c->row[c->nrow];
    c->push[c->nrow++] = *h;
    fai_contact_write_push(c, h, row);
    row->stiffness *= (float)(h->depth / fmax(sum, 1));
    row->soft = (float)c->options.soft;
    row->gap = (float)(c->options.gap + c->options.soft);
}

int fai_contact_nearby(FaContact *c, const float *x) {
    FaPairs *p = &c->pairs;
    FA_ASSERT(c->options.nearby > 0);
    c->nrow = c->npull;
    fai_contact_load_points(c, x, p->to, p->from);
    memcpy(p->from, p->to, (size_t)p->nsurface * sizeof *p->from);
    fai_pairs_normals(p, (const double(*)[3])p->to, c->normal); // at the end of the way
    fai_pairs_refit(p, 0.5 * c->options.nearby);
    fai_parallel(p->nleaf, FA_PAIRS_LEAVES, search_chunk, c);
    p->listed = true;
    memset(c->shares, 0, 2 * (size_t)p->nsurface * sizeof *c->shares);
    for (int k = 0; k < p->nchunk; k++) {
        c->stats.dropped += p->nover[k];
        for (int i = 0; i < p->nhit[k]; i++) *share_at(c, fai_pairs_hit(p, k, i)) += fai_pairs_hit(p, k, i)->depth;
    }
    for (int k = 0; k < p->nchunk; k++)
        for (int i = 0; i < p->nhit[k]; i++) add_row(c, fai_pairs_hit(p, k, i), *share_at(c, fai_pairs_hit(p, k, i)));
    c->stats.rows = c->nrow;
    return c->nrow;
}

// What hangs free by its form alone: tentacles, horns, barbels. Cut the skin along lines of equal distance from the
// face: where a limb is, the line is a ring of small girth, and all that lies beyond it is long against that girth, no
// thicker, and bulges outwards. Pieces beyond a line are found from the far end inwards, so that a piece is whole by
// construction: nothing beyond a ring is joined to the face but through it.
#include "face/region_work.h"

enum { MOST_BANDS = 512 };

// The part of a piece that lies in its innermost band.
typedef struct Ring {
    int parent; // ring of the piece that this one becomes part of, one band further in; -1 = none
    int node;   // one of the piece
    int band;
    double area;      // m2
    double end;       // distance of the farthest node beyond, m
    double widest;    // largest area of a ring beyond and of this one, m2
    double beyond;    // area of all that is beyond, and of this one, m2
    double middle[3]; // mean of its nodes, by area
    double bulge;     // area-weighted normal . (x - middle), of all beyond too: negative in a pocket
    bool limb;
    double start, girth; // of the limb it belongs to, m
} Ring;

typedef struct Cut {
    const FaSurface *s;
    int *up;        // union-find; -1 = not reached yet           (n)
    int *band;      // of distance                                (n)
    int *ring;      // of each node                               (n)
    int *at;        // newest ring of the piece with this root    (n)
    FaByKey *order; // nodes, or rings without parent             (n)
    double *dist;   // from the face, m                           (n)
    Ring *r;        // from the far end inwards: children first   (n)
    int nring;
} Cut;

static int find_root(int *up, int i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
}

static void join(int *up, int a, int b) {
    a = find_root(up, a);
    b = find_root(up, b);
    if (a < b)
        up[b] = a;
    else
        up[a] = b;
}

// --- distances ----------------------------------------------------------------------------------------------------

// From one node of each part of the skin: the one nearest to the middle of the face. Returns how wide bands are, m.
static FaCode measure(const FaRegionWork *w, Cut *c, bool *start, const double at[3], double *step) {
    const FaSurface *s = c->s;
    for (int i = 0; i < s->n; i++) c->up[i] = i, c->at[i] = -1;
    for (int t = 0; t < s->ntri; t++)
        for (int k = 0; k < 2; k++) join(c->up, s->tri[3 * (size_t)t], s->tri[3 * (size_t)t + 1 + k]);
    for (int i = 0; i < s->n; i++) {
        double d[3];
        fai_v3_sub(s->x + 3 * (size_t)i, at, d);
        c->dist[i] = fai_v3_norm(d);
        int root = find_root(c->up, i);
        if (c->at[root] < 0 || c->dist[i] < c->dist[c->at[root]]) c->at[root] = i;
    }
    for (int i = 0; i < s->n; i++)
        if (c->at[i] >= 0) start[c->at[i]] = true;
    FA_TRY(fai_geodesic(s, start, INFINITY, c->dist, w->err));
    double far = 0;
    for (int i = 0; i < s->n; i++)
        if (isfinite(c->dist[i])) far = fmax(far, c->dist[i]);
    *step = fmax(fmax(1.6 * s->edge, 0.004 * w->scale), far / MOST_BANDS);
    for (int i = 0; i < s->n; i++) c->band[i] = isfinite(c->dist[i]) ? (int)(c->dist[i] / *step) : 0;
    return FA_OK;
}

// --- rings --------------------------------------------------------------------------------------------------------

static void add_node(Cut *c, int i) {
    int root = find_root(c->up, i), k = c->at[root];
    if (k < 0 || c->r[k].band != c->band[i]) {
        k = c->at[root] = c->nring++;
        c->r[k] = (Ring){.parent = -1, .node = i, .band = c->band[i]};
    }
    c->ring[i] = k;
    c->r[k].area += c->s->area[i];
    c->r[k].end = fmax(c->r[k].end, c->dist[i]);
    fai_v3_mad(c->r[k].middle, c->s->area[i], c->s->x + 3 * (size_t)i, c->r[k].middle);
}

// Band after band inwards: join the band's nodes to the pieces they touch, then make each piece's ring.
static void make_rings(Cut *c, int *orphan) {
    const FaSurface *s = c->s;
    int norphan = 0;
    for (int i = 0; i < s->n; i++) c->order[i] = (FaByKey){-c->band[i], i}, c->up[i] = -1, c->at[i] = -1;
    fai_sort_keys(c->order, s->n);
    for (int a = 0, b = 0; a < s->n; a = b) {
        while (b < s->n && c->order[b].key == c->order[a].key) b++;
        for (int k = a; k < b; k++) c->up[c->order[k].i] = c->order[k].i;
        for (int k = a; k < b; k++) {
            int i = c->order[k].i;
            for (int t = s->tri_start[i]; t < s->tri_start[i + 1]; t++)
                for (int j = 0; j < 3; j++)
                    if (c->up[s->tri[3 * (size_t)s->tri_at[t] + j]] >= 0)
                        join(c->up, i, s->tri[3 * (size_t)s->tri_at[t] + j]);
        }
        int first = c->nring, left = 0;
        for (int k = a; k < b; k++) add_node(c, c->order[k].i);
        // rings further out that are part of a piece with a new ring
        for (int k = 0; k < norphan; k++) {
            int ring = c->at[find_root(c->up, c->r[orphan[k]].node)];
            if (ring >= first)
                c->r[orphan[k]].parent = ring;
            else
                orphan[left++] = orphan[k];
        }
        for (norphan = left; first < c->nring; first++) orphan[norphan++] = first;
    }
}

static void sum_rings(Cut *c) {
    const FaSurface *s = c->s;
    for (int k = 0; k < c->nring; k++) {
        Ring *r = &c->r[k];
        if (r->area > 0) fai_v3_scale(1 / r->area, r->middle, r->middle);
        r->widest = r->beyond = r->area;
    }
    for (int i = 0; i < s->n; i++) {
        Ring *r = &c->r[c->ring[i]];
        double d[3];
        fai_v3_sub(s->x + 3 * (size_t)i, r->middle, d);
        r->bulge += s->area[i] * fai_v3_dot(d, s->normal + 3 * (size_t)i);
    }
    for (int k = 0; k < c->nring; k++) {
        const Ring *r = &c->r[k];
        if (r->parent < 0) continue;
        Ring *p = &c->r[r->parent];
        p->end = fmax(p->end, r->end);
        p->widest = fmax(p->widest, r->widest);
        p->beyond += r->beyond;
        p->bulge += r->bulge;
    }
}

// From the face outwards, the first ring of each limb: as thick as anything beyond, and a third of its length at most.
static int mark_limbs(Cut *c, double step, double total, double scale) {
    int limbs = 0;
    for (int k = c->nring; k-- > 0;) {
        Ring *r = &c->r[k];
        const Ring *p = r->parent >= 0 ? &c->r[r->parent] : NULL;
        if (!p) continue; // the face itself
        if (p->limb) {
            r->limb = true, r->start = p->start, r->girth = p->girth;
            continue;
        }
        double girth = r->area / step, across = girth / M_PI, from = r->band * step, length = r->end - from;
        bool thin = r->widest < 1.6 * r->area && r->beyond < 0.3 * total && across < 0.06 * scale;
        if (!thin || length < 3 * across || length < 3 * step || !(r->bulge > 0)) continue;
        r->limb = true, r->start = from, r->girth = girth;
        limbs++;
    }
    return limbs;
}

// --- all of it ----------------------------------------------------------------------------------------------------

FaCode fai_find_limbs(FaRegionWork *w, double *share) {
    int n = w->n, *orphan = FA_PUSH(w->arena, n, int);
    Cut c = {.s = &w->skin,
             .up = FA_PUSH(w->arena, n, int),
             .band = FA_PUSH(w->arena, n, int),
             .ring = FA_PUSH(w->arena, n, int),
             .at = FA_PUSH(w->arena, n, int),
             .order = FA_PUSH(w->arena, n, FaByKey),
             .dist = FA_PUSH(w->arena, n, double),
             .r = FA_PUSH(w->arena, n, Ring)};
    bool *start = FA_PUSH(w->arena, n, bool);
    if (!orphan || !c.up || !c.band || !c.ring || !c.at || !c.order || !c.dist || !c.r || !start)
        return FA_FAIL_MEMORY(w->err);
    double total = 0, at[3] = {0}, step;
    for (int i = 0; i < n; i++) {
        share[i] = 0;
        fai_v3_mad(at, w->skin.area[i], w->x + 3 * (size_t)i, at);
        total += w->skin.area[i];
    }
    if (!(total > 0)) return FA_OK;
    // the middle of the face: the mouth, else of all skin
    fai_v3_scale(1 / total, at, at);
    if (w->mouth) memcpy(at, w->centre, sizeof at);
    FA_TRY(measure(w, &c, start, at, &step));
    make_rings(&c, orphan);
    sum_rings(&c);
    int limbs = mark_limbs(&c, step, total, w->scale);
    for (int i = 0; i < n; i++) {
        const Ring *r = &c.r[c.ring[i]];
        if (r->limb) share[i] = fai_ramp(0, r->girth / M_PI, c.dist[i] - r->start);
    }
    if (limbs && w->notes)
        fai_note_count(w->notes, limbs, "limbs", NULL,
                       "paint the region \"free\" 0 to hold them, or give fascia drive --goals hanging=1",
                       "%d long thin parts of the skin are held by no bone", limbs);
    return FA_OK;
}

// From surfaces to markers: which vertices to mark, and their positions over a sequence.
//
// Choosing is farthest-point sampling: each step adds the vertex with the largest product of its distance to those
// chosen so far and a weight for how much the shapes move it. Skin that a shape tears apart is as far apart as then, so
// that both lips get markers though they touch at rest. Where the rig is symmetric, points come in pairs.
#include "io/markers.h"

#include "base/task.h"
#include "math/mat3.h"
#include "mesh/mesh.h"
#include "track/markers_face.h"

#include <math.h>
#include <stdlib.h>

enum { DEFAULT_COUNT = 80 };
static const double MOVING = 0.04;      // of the largest displacement: what moves less is not chosen
static const double SPREAD = 0.03;      // m: beyond this, being further away counts no more
static const double LEAST_WEIGHT = 0.6; // of a vertex that hardly moves
static const double FULL_MOVE = 0.005;  // m: a shape that moves a vertex by this counts fully; the jaw's swing must not
                                        // drown the brows
static const double BUSY = 0.5;         // of the largest activity: what is above weighs fully
static const double FACING = 0.25; // cosine to one of the cameras before and beside the face: no markers below the chin
static const double CHIN_BEHIND = 0.025; // m: how far the chin may lie behind the mouth; the throat lies deeper
static const double SIDE_BEHIND = 0.085; // m: ears and the angles of the jaw lie deeper behind the mouth
static const double MIRROR_REACH = 5e-4; // m: how well a partner must fit
static const double SYMMETRIC = 0.9;     // share of vertices with a partner that makes a rig symmetric

typedef struct Choice {
    const FaRig *rig;
    FaMarkerFace face;
    int n;          // vertices to choose from
    int *vert;      // increasing                                                    (n)
    double *p;      // canonical: x left, y up, z front, m                            (n x 3)
    double *weight; // 0..1                                                           (n)
    double *best;   // distance to those chosen, m                                    (n)
    int *mirror;    // partner, itself on the midline, -1 = none; NULL: not symmetric (n)
    double middle;  // x of the mirror plane
    int *order;     // scratch: by height                                             (n)
    unsigned char *taken;
    int *chosen; //                                                                (count)
    int nchosen, added;
} Choice;

// --- candidates ---------------------------------------------------------------------------------------------------

static bool facing(const Choice *c, int v) {
    static const double camera[3][3] = {{0, 0, 1}, {0.77, 0, 0.64}, {-0.77, 0, 0.64}};
    double n[3];
    fai_v3_load(c->face.normal, v, n);
    fai_m3_mulv(c->rig->axes, n, n);
    for (int i = 0; i < 3; i++)
        if (fai_v3_dot(n, camera[i]) >= FACING) return true;
    return false;
}

// How many shapes move a vertex, those that move it less than fully in part.
static double activity(const Choice *c, int v, double full) {
    double sum = 0;
    for (int e = c->face.shape_start[v]; e < c->face.shape_start[v + 1]; e++) {
        double d[3];
        fai_v3_load(c->face.delta, e, d);
        sum += fmin(1, fai_v3_norm(d) / full);
    }
    return sum;
}

// Shapes of the jaw pull at the neck and at the ears, where nobody glues markers: leave out what is below the chin or
// far behind the mouth. The mouth is where most shapes act; the chin is the lowest skin that is nearly as far in front.
static void keep_front(Choice *c, double busiest, int wanted) {
    double mouth = 0, chin = INFINITY;
    int busy = 0, kept = 0;
    for (int i = 0; i < c->n; i++)
        if (c->weight[i] >= 0.7 * busiest) mouth += c->p[3 * (size_t)i + 2], busy++;
    mouth /= busy;
    for (int i = 0; i < c->n; i++)
        if (c->p[3 * (size_t)i + 2] >= mouth - CHIN_BEHIND) chin = fmin(chin, c->p[3 * (size_t)i + 1]);
    for (int pass = 0; pass < 2; pass++) {
        kept = 0;
        for (int i = 0; i < c->n; i++) {
            const double *p = c->p + 3 * (size_t)i;
            if (p[1] < chin || p[2] < mouth - SIDE_BEHIND) continue;
            if (pass) {
                memmove(c->p + 3 * (size_t)kept, p, 3 * sizeof *p);
                c->vert[kept] = c->vert[i];
                c->weight[kept] = c->weight[i];
            }
            kept++;
        }
        if (kept < wanted) return; // a face of other proportions: then all of it
    }
    c->n = kept;
}

static FaCode find_candidates(Choice *c, int wanted, FaError *err) {
    const FaMesh *mesh = &c->rig->mesh;
    FaArena *arena = c->face.arena;
    if (!(c->face.most > 0))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rig with blendshapes",
                       "no shape moves the outside of the face: there is nothing to mark");
    c->vert = FA_PUSH(arena, mesh->nvert, int);
    if (!c->vert) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < mesh->nvert; v++)
        if (c->face.open[v] && (double)c->face.move[v] >= MOVING * (double)c->face.most && facing(c, v))
            c->vert[c->n++] = v;
    double full = fmin(FULL_MOVE, 0.5 * (double)c->face.most), busiest = 0;
    c->p = FA_PUSH(arena, 3 * (size_t)c->n, double);
    c->weight = FA_PUSH(arena, c->n, double);
    c->best = FA_PUSH(arena, c->n, double);
    c->order = FA_PUSH(arena, c->n, int);
    c->taken = FA_PUSH(arena, c->n, unsigned char);
    if (!c->p || !c->weight || !c->best || !c->order || !c->taken) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < c->n; i++) {
        double x[3];
        fai_v3_load(mesh->x, c->vert[i], x);
        fai_m3_mulv(c->rig->axes, x, c->p + 3 * (size_t)i);
        c->weight[i] = activity(c, c->vert[i], full);
        busiest = fmax(busiest, c->weight[i]);
        c->best[i] = SPREAD;
    }
    keep_front(c, busiest, wanted);
    for (int i = 0; i < c->n; i++) c->weight[i] = fmin(1, fmax(LEAST_WEIGHT, sqrt(c->weight[i] / (BUSY * busiest))));
    return FA_OK;
}

// --- symmetry -----------------------------------------------------------------------------------------------------

static int by_height(const void *a, const void *b, void *ctx) {
    const double *p = ctx;
    int i = *(const int *)a, j = *(const int *)b;
    double d = p[3 * (size_t)i + 1] - p[3 * (size_t)j + 1];
    return d < 0 ? -1 : d > 0 ? 1 : (i > j) - (i < j);
}

// The candidate nearest to where the mirror image of i is, -1 if none is within reach.
static int find_partner(const Choice *c, int i, double middle) {
    enum { MANY = 4096 }; // on a flat mesh all have the same height
    const double *p = c->p + 3 * (size_t)i;
    double image[3] = {2 * middle - p[0], p[1], p[2]}, nearest = MIRROR_REACH * MIRROR_REACH;
    int lo = 0, hi = c->n, found = -1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (c->p[3 * (size_t)c->order[mid] + 1] < image[1] - MIRROR_REACH)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (int k = lo, tried = 0; k < c->n && tried < MANY; k++, tried++) {
        const double *q = c->p + 3 * (size_t)c->order[k];
        if (q[1] > image[1] + MIRROR_REACH) break;
        double d[3];
        fai_v3_sub(q, image, d);
        double d2 = fai_v3_dot(d, d);
        if (d2 < nearest || (d2 == nearest && (found < 0 || c->order[k] < found))) nearest = d2, found = c->order[k];
    }
    return found;
}

static int find_mirrors(const Choice *c, double middle, int *mirror) {
    int matched = 0;
    for (int i = 0; i < c->n; i++) mirror[i] = find_partner(c, i, middle);
    for (int i = 0; i < c->n; i++) matched += mirror[i] >= 0 && mirror[mirror[i]] == i;
    return matched;
}

static FaCode find_symmetry(Choice *c, FaError *err) {
    int *mirror = FA_PUSH(c->face.arena, c->n, int);
    if (!mirror) return FA_FAIL_MEMORY(err);
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < c->n; i++) {
        c->order[i] = i;
        low = fmin(low, c->p[3 * (size_t)i]);
        high = fmax(high, c->p[3 * (size_t)i]);
    }
    qsort_r(c->order, (size_t)c->n, sizeof *c->order, by_height, c->p);
    double middle[2] = {0, (low + high) / 2};
    for (int k = 0; k < 2; k++) {
        if (find_mirrors(c, middle[k], mirror) < SYMMETRIC * c->n) continue;
        c->middle = middle[k];
        c->mirror = mirror;
        // one-sided matches are none
        for (int i = 0; i < c->n; i++)
            if (mirror[i] >= 0 && mirror[mirror[i]] != i) mirror[i] = -1;
        return FA_OK;
    }
    return FA_OK;
}

// --- farthest points ----------------------------------------------------------------------------------------------

static void update_best(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Choice *c = ctx;
    int to = c->vert[c->added];
    for (int i = begin; i < end; i++)
        c->best[i] = fmin(c->best[i], sqrt(fai_marker_apart2(c->rig, &c->face, c->vert[i], to)));
}

static void add(Choice *c, int i) {
    c->taken[i] = 1;
    c->chosen[c->nchosen++] = i;
    c->added = i;
    fai_parallel(c->n, 1024, update_best, c);
}

// May i be added, with its partner, when `left` more are wanted?
static bool fits(const Choice *c, int i, int left, bool pairs) {
    if (c->taken[i]) return false;
    if (!pairs) return true;
    int j = c->mirror[i];
    if (j < 0 || j == i) return j == i;
    if (left < 2 || c->p[3 * (size_t)i] < c->middle || c->taken[j]) return false;
    // partners must not sit on each other: half of the distance to all others at least
    double d[3];
    fai_v3_sub(c->p + 3 * (size_t)i, c->p + 3 * (size_t)j, d);
    return fai_v3_norm(d) >= 0.5 * c->best[i];
}

static void choose(Choice *c, int count) {
    while (c->nchosen < count) {
        int found = -1;
        for (int pairs = c->mirror != NULL; pairs >= 0 && found < 0; pairs--)
            for (int i = 0; i < c->n; i++)
                if (fits(c, i, count - c->nchosen, pairs) &&
                    (found < 0 || c->best[i] * c->weight[i] > c->best[found] * c->weight[found]))
                    found = i;
        FA_ASSERT(found >= 0);
        int partner = c->mirror && fits(c, found, count - c->nchosen, true) ? c->mirror[found] : found;
        add(c, found);
        if (partner != found) add(c, partner);
    }
}

static FaCode make_map(const Choice *c, FaMarkerMap **map, FaError *err) {
    const char **name = FA_PUSH(c->face.arena, c->nchosen, const char *);
    if (!name) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < c->nchosen; i++)
        if (!(name[i] = fai_arena_printf(c->face.arena, "v%d", c->vert[c->chosen[i]]))) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_marker_map_new(c->nchosen, name, map, err));
    int *first = fai_first_triangles(&c->rig->mesh);
    if (!first) {
        fa_marker_map_free(*map);
        *map = NULL;
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < c->nchosen; i++)
        (*map)->point[i] = fai_marker_vertex(&c->rig->mesh, first, c->vert[c->chosen[i]]);
    (*map)->mapped = c->nchosen;
    (*map)->mesh = (*map)->named = fai_mesh_print(&c->rig->mesh);
    fa_free(first);
    return FA_OK;
}

FaCode fa_markers_choose(const FaRig *rig, int count, FaMarkerMap **map, FaError *err) {
    FA_ASSERT(rig && map);
    *map = NULL;
    if (count < 0) return FA_FAIL(err, FA_E_ARG, NULL, "give a number above 0", "%d markers", count);
    if (count == 0) count = DEFAULT_COUNT;
    Choice c = {.rig = rig};
    FA_TRY(fai_marker_face(rig, &c.face, err));
    FaCode rc = find_candidates(&c, count, err);
    if (rc >= 0 && c.n < count)
        rc = FA_FAIL(err, FA_E_ARG, rig->path, FA_PLACE("ask for fewer: --count %d", c.n),
                     "%d markers on a face of which %d vertices move and are outside", count, c.n);
    if (rc >= 0 && !(c.chosen = FA_PUSH(c.face.arena, count, int))) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = find_symmetry(&c, err);
    if (rc >= 0) choose(&c, count);
    if (rc >= 0) rc = make_map(&c, map, err);
    fai_marker_face_free(&c.face);
    return rc;
}

// --- sampling -----------------------------------------------------------------------------------------------------

static FaCode check_sample(FaSequence *seq, const FaMarkerMap *map, double *fps, FaError *err) {
    int nvert = fa_sequence_nvert(seq);
    for (int i = 0; i < map->count; i++)
        for (int k = 0; map->point[i].vert[0] >= 0 && k < 3; k++)
            if (map->point[i].vert[k] < 0 || map->point[i].vert[k] >= nvert)
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("marker '%.80s'", map->name[i]), "use the rig of this sequence",
                               "vertex %d of a sequence of %d vertices", map->point[i].vert[k], nvert);
    if (map->mapped < 1) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "no marker of the map has a place on the surface");
    if (*fps == 0) *fps = fa_sequence_fps(seq);
    if (!(*fps > 0) || !isfinite(*fps))
        return FA_FAIL(err, FA_E_ARG, NULL, "give the frame rate (--fps)", "the sequence does not say its frame rate");
    return FA_OK;
}

static FaCode read_frames(FaSequence *seq, const FaMarkerMap *map, FaMarkerTake *take, float *x, FaError *err) {
    for (int f = 0; f < take->nframe; f++) {
        FA_TRY(fa_sequence_read(seq, f, x, err));
        for (int i = 0, m = 0; i < map->count; i++) {
            if (map->point[i].vert[0] < 0) continue;
            size_t to = (size_t)f * (size_t)take->nmarker + (size_t)m++;
            double p[3];
            fa_marker_point_at(&map->point[i], x, true, p);
            for (int k = 0; k < 3; k++) take->x[3 * to + (size_t)k] = (float)p[k];
            take->ok[to] = 1;
        }
    }
    return FA_OK;
}

FaCode fa_markers_sample(FaSequence *seq, const FaMarkerMap *map, double fps, FaMarkerTake **take, FaError *err) {
    FA_ASSERT(seq && map && take);
    *take = NULL;
    FA_TRY(check_sample(seq, map, &fps, err));
    const char **name = FA_NEW(map->count, const char *);
    float *x = FA_NEW(3 * (size_t)fa_sequence_nvert(seq), float);
    FaMarkerTake *t = NULL;
    FaCode rc = name && x ? FA_OK : FA_FAIL_MEMORY(err);
    int n = 0;
    for (int i = 0; rc >= 0 && i < map->count; i++)
        if (map->point[i].vert[0] >= 0) name[n++] = map->name[i];
    if (rc >= 0) rc = fa_markers_new(fa_sequence_nframe(seq), n, name, fps, &t, err);
    if (rc >= 0) t->mesh = map->named;
    if (rc >= 0) rc = read_frames(seq, map, t, x, err);
    const FaClip *clip = fa_sequence_clip(seq);
    if (rc >= 0 && clip && clip->head) {
        t->head = FA_NEW(t->nframe, FaPose);
        if (!t->head) rc = FA_FAIL_MEMORY(err);
    }
    double known = fa_sequence_fps(seq);
    for (int f = 0; rc >= 0 && f < t->nframe; f++) {
        // the sequence's own times where it has them, stretched to the rate that was asked for
        double time = fa_sequence_time(seq, f);
        if (t->head) fa_clip_sample(clip, time, NULL, &t->head[f]);
        if (known > 0) t->time[f] = fps == known ? time : time * (known / fps);
    }
    if (rc >= 0) rc = fa_markers_check(t, err);
    if (rc < 0)
        fa_markers_free(t);
    else
        *take = t;
    fa_free(name);
    fa_free(x);
    return rc;
}

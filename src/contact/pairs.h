// Which vertices and triangles, edges and edges of a moving surface and its colliders meet on their way: the broad
// phase around contact/ccd.h.
//
//   points -> swept boxes, and wider ones -> refit of a tree built once -> leaf against tree -> pairs of triangles ->
//   their own vertices and edges (each belongs to one triangle, so that no pair comes twice) -> list of pairs per chunk
//   of leaves -> those whose swept boxes meet -> obvious directions, some pairs at once -> continuous test -> hits
//
// The list holds as long as no point leaves its wide box, be it for many frames. Triangles that share a corner always
// meet: the pairs across them are a list of their own, made once. The order of the pairs is that of the walk, which
// does not depend on the boxes: what is found does not depend on when the list was made.
//
// Points are numbered apart from the surface's nodes: those that take part first, then the colliders' vertices. Left
// out are pairs that share a vertex (or a place at rest), and pairs that cross or touch at rest. A chunk keeps its hits
// in memory of its own and of a fixed size: full chunks keep the most urgent and say so. Nothing depends on the number
// of threads.
#ifndef FAI_PAIRS_H
#define FAI_PAIRS_H

#include "contact/ccd.h"
#include "contact/contact.h"
#include "contact/keys.h"
#include "mesh/box_tree.h"

#include <stdatomic.h>

// Leaves per chunk, what a chunk keeps; points per chunk.
enum { FA_PAIRS_LEAVES = 16, FA_PAIRS_HITS = 512, FA_PAIRS_LISTED = 4096, FA_PAIRS_POINTS = 512 };
// Pairs that a search tests at most, per triangle: when a surface goes by metres in a step all its boxes meet, and
// their number is the square of the triangles'.
enum { FA_PAIRS_MOST = 512, FA_PAIRS_CHUNK = 64 * FA_PAIRS_LISTED }; // the latter: of a chunk

typedef struct FaPairHit {
    FaPairKind kind;
    int a, b;         // vertex-triangle: point, triangle; edge-edge: edges, a < b
    int point[4];     // vertex, corners; or ends of a, ends of b
    bool near;        // does not meet on the way, but ends within reach
    double t;         // of impact; near: 1
    double weight[4]; // of the points in s: signed, the first side +, the other -
    double normal[3]; // unit; n . s > 0 where they have not crossed
    double depth;     // m: n . s at the end: the smaller, the more urgent
} FaPairHit;

typedef struct FaOwned { // what a triangle tests: each corner and each edge belongs to the first triangle that has it
    int npoint, point[3];
    int nedge, edge[3];
} FaOwned;

typedef struct FaPairId {
    int a, b;
} FaPairId;

typedef struct FaSpan { // a box; the fourth numbers are 0
    float lo[4], hi[4];
} FaSpan;

typedef struct FaPairs {
    int npoint, nsurface; // all, the surface's
    int *node;            // the surface's node of each point                     (nsurface)
    int *weld;            // first point with the same place at rest              (npoint)
    double (*from)[3];    // m, at the start and the end of the way               (npoint)
    double (*to)[3];
    int ntri, nsurface_tri;
    int (*tri)[3];      //                                                      (ntri)
    int (*tri_edge)[3]; // edge of corners 0 1, 1 2, 2 0                        (ntri)
    FaOwned *owned;     //                                                      (ntri)
    int (*corner)[3];   // weld of the corners                                  (ntri)
    int nedge, nsurface_edge;
    int (*edge)[2];    //                                                      (nedge)
    int *around_start; // neighbours of the surface's points                   (nsurface + 1)
    int *around;
    FaSpan *point_box;    // swept                                                (npoint)
    double size;          // m: no coordinate is larger
    bool simd;            // of fai_ccd_apart_many
    FaBoxTree tree[2];    // of the surface, of all colliders
    int *node_end;        // of tree 0: places in its order up to which a node reaches  (tree[0].nnode)
    unsigned char *moved; // points since the last search                         (npoint)
    // the list
    bool listed;                // it holds for the present boxes
    bool full;                  // more pairs than are tested: the last search tested none
    double most_pad;            // m: of all refits so far
    FaSpan *wide_box;           // of the points: as long as they stay inside           (npoint)
    FaSpan *edge_box, *tri_box; // around those                                      (nedge, ntri)
    FaSpan *place_box;          // tri_box in tree 0's order                            (nsurface_tri)
    FaPairId *list;             // of each chunk: vertices and triangles from the front, edges from the back
                                //                                                      (nchunk x FA_PAIRS_LISTED)
    int *nlist;                 // of each chunk and kind; -1: too many, walk instead   (nchunk x 2)
    int64_t *nmeet;             // pairs of each chunk; counted up to FA_PAIRS_CHUNK  (nchunk)
    int *close_start;           // of each chunk and kind in close, then the total      (nchunk x 2 + 1)
    FaPairId *close;            // pairs across triangles that share a corner
    bool *fit_inside;           // of chunks of points                                  (npoint / FA_PAIRS_POINTS + 1)
    float *fit_size;
    int nleaf;
    int *leaf;                 // of tree 0                                            (nleaf)
    FaKeys left_out;           // pairs that cross or touch at rest
    int crossed, touching;     // pairs of triangles, pairs of primitives
    unsigned char *in_crossed; // points of triangles that cross at rest               (npoint)
    unsigned char *parted;     // points that lay on others at rest: from is a little off there (contact/parted.c)
                               //                                                      (nsurface)
    double edge_length;        // m, mean at rest
    int nchunk;
    FaPairHit *hit;            // of each chunk                                        (nchunk x FA_PAIRS_HITS)
    int *nhit, *nover, *ntest; // kept, lost, tested                                 (nchunk)
    int *nnear;                // of those tested, that came near each other           (nchunk)
    atomic_llong met;          // pairs listed so far, of all chunks: where there are too many the rest is not walked
} FaPairs;

typedef struct FaPairSearch {
    double gap, keep; // of fai_ccd_pair
    double reach[2];  // m, of each kind; > 0: also pairs that end closer than this
    bool only_moved;  // pairs with a point in `moved`
} FaPairSearch;

// surface and colliders are copied. Colliders stand at rest as they are given. Free with fai_pairs_free, also after
// failure.
FaCode fai_pairs_new(const FaContactSurface *surface, int ncollider, const FaContactBody *collider, FaPairs *p,
                     FaError *err);
void fai_pairs_free(FaPairs *p);

// Boxes for the present from and to, and, where a point left its wide box, trees for a new list. pad: m, around each
// box.
void fai_pairs_refit(FaPairs *p, double pad);
// How many hits were kept, 0 where there are too many pairs (full); *over (nullable): how many were lost.
int fai_pairs_search(FaPairs *p, const FaPairSearch *search, int *over);
// Chunk by chunk: for (int c = 0; c < p->nchunk; c++) for (int i = 0; i < p->nhit[c]; i++) ...
static inline const FaPairHit *fai_pairs_hit(const FaPairs *p, int chunk, int i) {
    return &p->hit[(size_t)chunk * FA_PAIRS_HITS + (size_t)i];
}

static inline const FaPairId *fai_pairs_listed(const FaPairs *p, int chunk, FaPairKind kind) {
    const FaPairId *first = &p->list[(size_t)chunk * FA_PAIRS_LISTED];
    return kind == FA_PAIR_VERTEX_TRIANGLE ? first : first + (FA_PAIRS_LISTED - p->nlist[2 * chunk + 1]);
}

void fai_pairs_none(FaPairs *p); // as if a search had found nothing
// What the last search cost, in pairs tested: those that come near each other take several times as long. It depends on
// the ways alone, not on when the list was made.
int64_t fai_pairs_work(const FaPairs *p);

static inline int64_t fai_pairs_most(const FaPairs *p) { return (int64_t)FA_PAIRS_MOST * p->ntri; }

static inline uint64_t fai_hit_key(const FaPairHit *h) { return fai_pair_key(h->kind, h->a, h->b); }

static inline void fai_pair_points(const FaPairs *p, FaPairKind kind, int a, int b, int point[4]) {
    if (kind == FA_PAIR_VERTEX_TRIANGLE) {
        const int *corner = p->tri[b];
        point[0] = a;
        point[1] = corner[0];
        point[2] = corner[1];
        point[3] = corner[2];
    } else {
        const int *first = p->edge[a], *second = p->edge[b];
        point[0] = first[0];
        point[1] = first[1];
        point[2] = second[0];
        point[3] = second[1];
    }
}
// Of the points at x: sums over triangles, in order.
void fai_pairs_normals(const FaPairs *p, const double (*x)[3], double (*normal)[3]);
// In fai_pairs_new: what is closer than the gap at rest, and faces each other, is parted in from and to.
FaCode fai_pairs_part(FaPairs *p, double gap, FaError *err);
void fai_pair_weights(FaPairKind kind, const double bary[4], double weight[4]);

// All pairs whose wide boxes meet of a chunk of leaves [begin, end): one by one, or into its list.
typedef void FaPairSink(void *ctx, FaPairKind kind, int a, int b);
void fai_pairs_walk(FaPairs *p, int begin, int end, int chunk, FaPairSink *sink, void *ctx);
void fai_pairs_list(FaPairs *p, int begin, int end, int chunk);

#endif

// Which vertices and triangles, edges and edges of a moving surface and its colliders meet on their way: the broad
// phase around contact/ccd.h.
//
//   points -> swept boxes -> refit of a tree built once -> leaf against tree -> pairs of triangles -> their own vertices
//   and edges (each belongs to one triangle, so that no pair comes twice) -> continuous test -> hits per chunk of leaves
//
// Within a frame the same pairs are asked for several times: the first search of all takes wider boxes and lists the
// pairs; as long as no point leaves its wide box, later searches walk the list instead of the tree.
//
// Points are numbered apart from the surface's nodes: those that take part first, then the colliders' vertices. Left out
// are pairs that share a vertex (or a place at rest), and pairs that cross or touch at rest. A chunk keeps its hits in
// memory of its own and of a fixed size: full chunks keep the most urgent and say so. Nothing depends on the number of
// threads.
#ifndef FAI_PAIRS_H
#define FAI_PAIRS_H

#include "contact/ccd.h"
#include "contact/contact.h"
#include "contact/keys.h"
#include "mesh/box_tree.h"

enum { FA_PAIRS_LEAVES = 16, FA_PAIRS_HITS = 512, FA_PAIRS_LISTED = 2048 };  // leaves per chunk; what a chunk keeps

typedef struct FaPairHit {
    FaPairKind kind;
    int a, b;           // vertex-triangle: point, triangle; edge-edge: edges, a < b
    int point[4];       // vertex, corners; or ends of a, ends of b
    bool near;          // does not meet on the way, but ends within reach
    double t;           // of impact; near: 1
    double weight[4];   // of the points in s: signed, the first side +, the other -
    double normal[3];   // unit; n . s > 0 where they have not crossed
    double depth;       // m: n . s at the end: the smaller, the more urgent
} FaPairHit;

typedef struct FaOwned {  // what a triangle tests: each corner and each edge belongs to the first triangle that has it
    int npoint, point[3];
    int nedge, edge[3];
} FaOwned;

typedef struct FaPairId {
    int kind, a, b;
} FaPairId;

typedef struct FaPairs {
    int npoint, nsurface;     // all, the surface's
    int *node;                // the surface's node of each point                     (nsurface)
    int *weld;                // first point with the same place at rest              (npoint)
    double (*from)[3];        // m, at the start and the end of the way               (npoint)
    double (*to)[3];
    int ntri, nsurface_tri;
    int (*tri)[3];            //                                                      (ntri)
    int (*tri_edge)[3];       // edge of corners 0 1, 1 2, 2 0                        (ntri)
    FaOwned *owned;           //                                                      (ntri)
    unsigned char *dirty;     // to be looked at in the next search                   (ntri)
    int nedge, nsurface_edge;
    int (*edge)[2];           //                                                      (nedge)
    int *around_start;        // neighbours of the surface's points                   (nsurface + 1)
    int *around;
    FaBox *point_box, *edge_box, *tri_box;  // swept
    double size;              // m: no coordinate is larger
    FaBoxTree tree[2];        // of the surface, of all colliders
    int *node_end;            // of tree 0: places in its order up to which a node reaches  (tree[0].nnode)
    bool all_dirty;
    unsigned char *moved;     // points since the last search, where not all is dirty (npoint)
    bool listed, use_list;    // there is a list of this frame's pairs; it holds for the present boxes
    FaBox *wide_box;          // of the points: as long as they stay inside           (npoint)
    FaPairId *list;           //                                                      (nchunk x FA_PAIRS_LISTED)
    int *nlist;               //                                                      (nchunk)
    int nleaf;
    int *leaf;                // of tree 0                                            (nleaf)
    FaKeys left_out;          // pairs that cross or touch at rest
    int crossed, touching;    // pairs of triangles, pairs of primitives
    double edge_length;       // m, mean at rest
    int nchunk;
    FaPairHit *hit;           // of each chunk                                        (nchunk x FA_PAIRS_HITS)
    int *nhit, *nover, *ntest;  // kept, lost, tested                                 (nchunk)
} FaPairs;

typedef struct FaPairSearch {
    double gap, keep;  // of fai_ccd_pair
    double reach[2];   // m, of each kind; > 0: also pairs that end closer than this
} FaPairSearch;

// surface and colliders are copied. Colliders stand at rest as they are given. Free with fai_pairs_free, also after
// failure.
FaCode fai_pairs_new(const FaContactSurface *surface, int ncollider, const FaCollider *collider, FaPairs *p,
                     FaError *err);
void fai_pairs_free(FaPairs *p);

// Boxes and trees for the present from and to. pad: m, around each box. A new frame begins by listed = false.
void fai_pairs_refit(FaPairs *p, double pad);
// All pairs with a dirty triangle, or all. How many hits were kept; *over (nullable): how many were lost.
int fai_pairs_search(FaPairs *p, const FaPairSearch *search, int *over);
// Chunk by chunk: for (int c = 0; c < p->nchunk; c++) for (int i = 0; i < p->nhit[c]; i++) ...
static inline const FaPairHit *fai_pairs_hit(const FaPairs *p, int chunk, int i) {
    return &p->hit[(size_t)chunk * FA_PAIRS_HITS + (size_t)i];
}

static inline uint64_t fai_hit_key(const FaPairHit *h) { return fai_pair_key(h->kind, h->a, h->b); }
void fai_pair_points(const FaPairs *p, FaPairKind kind, int a, int b, int point[4]);
void fai_pair_weights(FaPairKind kind, const double bary[4], double weight[4]);

#endif

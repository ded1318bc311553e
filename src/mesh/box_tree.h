// A tree of boxes over anything that has boxes: what finds crossing triangles, closest points and ray hits.
//
// Built top-down by binned surface area, serially: the tree is a function of the boxes alone. Walk it with an explicit
// stack of FA_BOX_TREE_STACK nodes; no input makes it deeper.
#ifndef FAI_BOX_TREE_H
#define FAI_BOX_TREE_H

#include "base/base.h"

typedef struct FaBox {
    float lo[3], hi[3];
} FaBox;

enum { FA_BOX_TREE_LEAF = 4, FA_BOX_TREE_STACK = 96 };

// A leaf holds the items prim[first .. first + count); an inner node (count 0) has the children first and first + 1.
typedef struct FaBoxNode {
    float lo[3];
    int first;
    float hi[3];
    int count;
} FaBoxNode;

typedef struct FaBoxTree {
    int nprim, nnode; // no items: no nodes
    FaBoxNode *node;  // 0 is the root; children come after their parent        (nnode)
    int *prim;        // items in the order of the leaves                       (nprim)
} FaBoxTree;

// Bounds must be finite, lo <= hi. Free with fai_box_tree_free, also after failure.
FaCode fai_box_tree_build(int n, const FaBox *box, FaBoxTree *tree, FaError *err);
void fai_box_tree_free(FaBoxTree *tree);

static inline bool fai_boxes_meet(const float alo[3], const float ahi[3], const float blo[3], const float bhi[3]) {
    return alo[0] <= bhi[0] && blo[0] <= ahi[0] && alo[1] <= bhi[1] && blo[1] <= ahi[1] && alo[2] <= bhi[2] &&
           blo[2] <= ahi[2];
}

// Boxes of triangles tri (n x 3) at positions x; exact, since nothing is rounded. *bad (nullable) gets the first vertex
// that is not finite, or -1; its triangles' boxes then must not be used.
void fai_triangle_boxes(int n, const int *tri, const float *x, FaBox *box, int *bad);

#endif

#include "mesh/box_tree.h"

#include <float.h>
#include <math.h>

// BINS: candidate splits per node. DEPTH_SAH: below this, nodes are halved by count, so that items piled up on purpose
// end at depth DEPTH_SAH + 32 at most, which is what FA_BOX_TREE_STACK holds, and cost n * DEPTH_SAH at most.
enum { BINS = 16, DEPTH_SAH = 60 };
_Static_assert(DEPTH_SAH + 32 < FA_BOX_TREE_STACK, "a walk down the tree must fit its stack");

typedef struct Builder {
    const FaBox *box;
    float (*middle)[3]; // of each item
    FaBoxTree *tree;
} Builder;

typedef struct Job {
    int node, begin, end, depth;
} Job;

static const FaBox EMPTY = {{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}};

static void grow(FaBox *a, const FaBox *b) {
    for (int k = 0; k < 3; k++) {
        if (b->lo[k] < a->lo[k]) a->lo[k] = b->lo[k];
        if (b->hi[k] > a->hi[k]) a->hi[k] = b->hi[k];
    }
}

static double half_area(const FaBox *b) {
    double x = (double)b->hi[0] - b->lo[0], y = (double)b->hi[1] - b->lo[1], z = (double)b->hi[2] - b->lo[2];
    return x * y + y * z + z * x;
}

static int bin_of(float middle, float lo, double scale) {
    int bin = (int)(((double)middle - (double)lo) * scale);
    return FA_MIN(bin, BINS - 1);
}

// The cheapest of the splits between bins along one axis: items in bins below the result go left.
static int best_split(const Builder *b, int begin, int end, int axis, float lo, double scale) {
    FaBox bin[BINS];
    int count[BINS] = {0};
    for (int k = 0; k < BINS; k++) bin[k] = EMPTY;
    for (int i = begin; i < end; i++) {
        int item = b->tree->prim[i], k = bin_of(b->middle[item][axis], lo, scale);
        count[k]++;
        grow(&bin[k], &b->box[item]);
    }
    // cost of everything right of each split, then sweep from the left
    double right[BINS];
    FaBox box = EMPTY;
    int n = 0;
    for (int k = BINS - 1; k > 0; k--) {
        if (count[k]) grow(&box, &bin[k]);
        n += count[k];
        right[k] = n * half_area(&box);
    }
    double best = HUGE_VAL;
    int split = BINS / 2;
    box = EMPTY;
    n = 0;
    for (int k = 1; k < BINS; k++) {
        if (count[k - 1]) grow(&box, &bin[k - 1]);
        n += count[k - 1];
        double cost = n * half_area(&box) + right[k];
        if (cost < best) {
            best = cost;
            split = k;
        }
    }
    return split;
}

// Reorder the items of a node so that [begin, result) and [result, end) are its children.
static int divide(const Builder *b, const Job *job) {
    int *prim = b->tree->prim;
    float lo[3], hi[3];
    memcpy(lo, b->middle[prim[job->begin]], sizeof lo);
    memcpy(hi, lo, sizeof hi);
    for (int i = job->begin + 1; i < job->end; i++)
        for (int k = 0; k < 3; k++) {
            float m = b->middle[prim[i]][k];
            if (m < lo[k]) lo[k] = m;
            if (m > hi[k]) hi[k] = m;
        }
    double size[3];
    for (int k = 0; k < 3; k++) size[k] = (double)hi[k] - (double)lo[k];
    int axis = size[0] >= size[1] ? 0 : 1;
    if (size[2] > size[axis]) axis = 2;
    if (!(size[axis] > 0) || job->depth >= DEPTH_SAH) return job->begin + (job->end - job->begin) / 2;

    // the outermost items are in the first and the last bin, so neither side is empty
    double scale = BINS / size[axis];
    int split = best_split(b, job->begin, job->end, axis, lo[axis], scale);
    int left = job->begin, right = job->end - 1;
    while (left <= right) {
        int item = prim[left];
        if (bin_of(b->middle[item][axis], lo[axis], scale) < split) {
            left++;
        } else {
            prim[left] = prim[right];
            prim[right--] = item;
        }
    }
    return left;
}

static void build_nodes(const Builder *b) {
    FaBoxTree *tree = b->tree;
    Job stack[FA_BOX_TREE_STACK];
    int top = 0;
    tree->nnode = 1;
    stack[top++] = (Job){0, 0, tree->nprim, 0};
    while (top > 0) {
        Job job = stack[--top];
        FaBoxNode *node = &tree->node[job.node];
        FaBox box = EMPTY;
        for (int i = job.begin; i < job.end; i++) grow(&box, &b->box[tree->prim[i]]);
        memcpy(node->lo, box.lo, sizeof node->lo);
        memcpy(node->hi, box.hi, sizeof node->hi);
        if (job.end - job.begin <= FA_BOX_TREE_LEAF) {
            node->first = job.begin;
            node->count = job.end - job.begin;
            continue;
        }
        int middle = divide(b, &job);
        node->first = tree->nnode;
        tree->nnode += 2;
        stack[top++] = (Job){node->first + 1, middle, job.end, job.depth + 1};
        stack[top++] = (Job){node->first, job.begin, middle, job.depth + 1};
    }
}

FaCode fai_box_tree_build(int n, const FaBox *box, FaBoxTree *tree, FaError *err) {
    *tree = (FaBoxTree){.nprim = n};
    if (n == 0) return FA_OK;
    Builder b = {.box = box, .tree = tree, .middle = fai_alloc_array((size_t)n, 3 * sizeof(float))};
    // every split leaves two non-empty sides, so there are fewer leaves than items
    tree->node = FA_NEW(2 * (size_t)n, FaBoxNode);
    tree->prim = FA_NEW(n, int);
    if (!b.middle || !tree->node || !tree->prim) {
        fa_free(b.middle);
        fai_box_tree_free(tree);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < n; i++) {
        tree->prim[i] = i;
        for (int k = 0; k < 3; k++) b.middle[i][k] = 0.5f * box[i].lo[k] + 0.5f * box[i].hi[k];
    }
    build_nodes(&b);
    fa_free(b.middle);
    return FA_OK;
}

void fai_box_tree_free(FaBoxTree *tree) {
    fa_free(tree->node);
    fa_free(tree->prim);
    *tree = (FaBoxTree){0};
}

void fai_triangle_boxes(int n, const int *tri, const float *x, FaBox *box, int *bad) {
    if (bad) *bad = -1;
    for (int t = 0; t < n; t++) {
        box[t] = EMPTY;
        for (int c = 0; c < 3; c++) {
            int v = tri[3 * (size_t)t + c];
            FaBox point;
            memcpy(point.lo, x + 3 * (size_t)v, sizeof point.lo);
            memcpy(point.hi, x + 3 * (size_t)v, sizeof point.hi);
            grow(&box[t], &point);
            bool finite = isfinite(point.lo[0]) && isfinite(point.lo[1]) && isfinite(point.lo[2]);
            if (bad && !finite && *bad < 0) *bad = v;
        }
    }
}

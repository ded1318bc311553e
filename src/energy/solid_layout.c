// Where the elements of a solid are: near ones together, in tiles of FA_SOLID_CHUNK patches. A tile sums what its
// elements give to their nodes in a few kilobytes of its own; then every node sums over its tiles. So forces go through
// memory once per node and tile, not once per corner, and the order of the sums is that of the tiles, whatever thread
// makes them.
#include "energy/solid_work.h"

#include <math.h>

typedef struct Item {
    double at[3]; // centre of an element
    int element;
} Item;

// Partition: those before `nth` are not farther along the axis than those behind it.
static void select_nth(Item *item, int n, int nth, int axis) {
    int low = 0, high = n - 1;
    while (low < high) {
        double pivot = item[low + (high - low) / 2].at[axis];
        int i = low, j = high;
        while (i <= j) {
            while (item[i].at[axis] < pivot) i++;
            while (item[j].at[axis] > pivot) j--;
            if (i > j) break;
            Item swap = item[i];
            item[i++] = item[j];
            item[j--] = swap;
        }
        if (nth <= j)
            high = j;
        else if (nth >= i)
            low = i;
        else
            return;
    }
}

// Halves across the longest side, at borders of tiles, then of patches.
static void split(Item *item, int n) {
    int unit = n > FA_SOLID_PATCH * FA_SOLID_CHUNK ? FA_SOLID_PATCH * FA_SOLID_CHUNK : FA_SOLID_PATCH;
    if (n <= unit) return;
    double low[3], high[3];
    for (int k = 0; k < 3; k++) low[k] = high[k] = item[0].at[k];
    for (int i = 1; i < n; i++)
        for (int k = 0; k < 3; k++) low[k] = fmin(low[k], item[i].at[k]), high[k] = fmax(high[k], item[i].at[k]);
    int axis = 0, left = (n + unit - 1) / unit / 2 * unit;
    for (int k = 1; k < 3; k++)
        if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
    select_nth(item, n, left, axis);
    split(item, left);
    split(item + left, n - left);
}

// Corners by number, so that most blocks of a Hessian arrive the same way round; an even permutation, which keeps the
// volume's sign.
static void sort_corners(const int *tet, int corner[4]) {
    bool odd = false;
    for (int k = 0; k < 4; k++) {
        int at = k;
        for (; at > 0 && corner[at - 1] > tet[k]; at--) corner[at] = corner[at - 1], odd = !odd;
        corner[at] = tet[k];
    }
    if (!odd) return;
    int swap = corner[2];
    corner[2] = corner[3];
    corner[3] = swap;
}

// Nodes of each tile numbered as they come; the places of all tiles are consecutive.
static void fill_places(FaSolid *s, int *seen, int *number, int *node_of) {
    int n = 0;
    for (int e = 0; e < s->npatch * FA_SOLID_PATCH; e++) {
        int tile = e / (FA_SOLID_PATCH * FA_SOLID_CHUNK), l = e % FA_SOLID_PATCH;
        FaSolidPatch *p = &s->patch[e / FA_SOLID_PATCH];
        if (e % (FA_SOLID_PATCH * FA_SOLID_CHUNK) == 0) s->tile[tile] = n;
        for (int k = 0; k < 4 && e < s->ntet; k++) {
            int v = p->node[k][l];
            if (seen[v] != tile + 1) {
                seen[v] = tile + 1;
                node_of[n] = v;
                number[v] = n++ - s->tile[tile];
            }
            p->local[k][l] = number[v];
        }
    }
    s->tile[s->ntile] = n;
    for (int e = s->ntet; e < s->npatch * FA_SOLID_PATCH; e++) // a place that nobody gathers
        for (int k = 0; k < 4; k++)
            s->patch[e / FA_SOLID_PATCH].local[k][e % FA_SOLID_PATCH] = n - s->tile[s->ntile - 1];
    for (int i = 0; i < n; i++) s->start[node_of[i] + 1]++;
    for (int v = 0; v < s->nnode; v++) number[v] = s->start[v], s->start[v + 1] += s->start[v];
    for (int i = 0; i < n; i++) s->place[number[node_of[i]]++] = i;
}

FaCode fai_solid_layout(FaSolid *s, const double *x0, FaError *err) {
    Item *item = FA_NEW(s->ntet, Item);
    int *scratch = FA_NEW(2 * (size_t)s->nnode + 4 * (size_t)s->ntet, int);
    FaCode rc = item && scratch ? FA_OK : FA_FAIL_MEMORY(err);
    for (int e = 0; e < s->ntet && rc >= 0; e++) {
        item[e].element = e;
        for (size_t k = 0; k < 12; k++) item[e].at[k % 3] += x0[3 * (size_t)s->tet[4 * (size_t)e + k / 3] + k % 3];
    }
    if (rc >= 0) {
        split(item, s->ntet);
        for (int e = 0; e < s->ntet; e++) {
            int corner[4];
            s->order[e] = item[e].element;
            sort_corners(s->tet + 4 * (size_t)item[e].element, corner);
            for (int k = 0; k < 4; k++) s->patch[e / FA_SOLID_PATCH].node[k][e % FA_SOLID_PATCH] = corner[k];
        }
        fill_places(s, scratch, scratch + s->nnode, scratch + 2 * s->nnode);
    }
    fa_free(item);
    fa_free(scratch);
    return rc;
}

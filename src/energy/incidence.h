// Which entries name each node: the lists by which forces of elements are gathered at nodes, each by one thread, in the
// order of the elements.
#ifndef FAI_INCIDENCE_H
#define FAI_INCIDENCE_H

#include "base/base.h"

typedef struct FaIncidence {
    int nnode;
    int *start; // (nnode + 1)
    int *entry; // indices into the array of nodes, increasing within a node    (start[nnode])
} FaIncidence;

// node: n entries, each 0..nnode-1. Memory from the arena.
FaCode fai_incidence_build(FaArena *arena, int nnode, int n, const int *node, FaIncidence *out, FaError *err);

#endif

#include "energy/incidence.h"

FaCode fai_incidence_build(FaArena *arena, int nnode, int n, const int *node, FaIncidence *out, FaError *err) {
    *out = (FaIncidence){.nnode = nnode};
    out->start = FA_PUSH(arena, nnode + 1, int);
    out->entry = FA_PUSH(arena, n, int);
    if (!out->start || !out->entry) return FA_FAIL_MEMORY(err);
    // a counting sort; start[i] first points at the end of list i - 1, and is moved on as lists are filled
    for (int k = 0; k < n; k++) out->start[node[k]]++;
    int sum = 0;
    for (int i = 0; i <= nnode; i++) {
        int count = i < nnode ? out->start[i] : 0;
        out->start[i] = sum;
        sum += count;
    }
    for (int k = 0; k < n; k++) out->entry[out->start[node[k]]++] = k;
    for (int i = nnode; i > 0; i--) out->start[i] = out->start[i - 1];
    out->start[0] = 0;
    return FA_OK;
}

// Orders that keep the factor sparse: METIS's nested dissection, AMD, and our own minimum degree for builds without
// them.
//
// Based on: Amestoy, Davis, Duff, An approximate minimum degree ordering algorithm, 1996: the quotient graph,
// absorption, and a degree that is a bound. Left out here: merging of indistinguishable nodes; this is the fallback, n
// below 100,000.
#include "math/chol_work.h"

#ifdef FA_HAVE_METIS
#include <metis.h>
#include <pthread.h>
#endif
#ifdef FA_HAVE_AMD
#include <amd.h>
#endif

// --- nested dissection --------------------------------------------------------------------------------------------

#ifdef FA_HAVE_METIS
static FaCode order_metis(int n, const int *start, const int *neighbor, int *order, FaError *err) {
    // its own copies: METIS writes to the graph, and its integers may be wider than ours
    size_t m = (size_t)start[n];
    idx_t *xadj = FA_NEW((size_t)n + 1, idx_t), *adj = FA_NEW(m, idx_t), *perm = FA_NEW(n, idx_t),
          *inverse = FA_NEW(n, idx_t);
    int rc = METIS_ERROR_MEMORY;
    if (xadj && adj && perm && inverse) {
        for (int i = 0; i <= n; i++) xadj[i] = start[i];
        for (size_t i = 0; i < m; i++) adj[i] = neighbor[i];
        idx_t options[METIS_NOPTIONS], count = n;
        METIS_SetDefaultOptions(options);
        options[METIS_OPTION_SEED] = 1;
        options[METIS_OPTION_NUMBERING] = 0;
        // it draws from rand() of the whole process: two at a time would not give the same order twice
        static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&one_at_a_time);
        rc = METIS_NodeND(&count, xadj, adj, NULL, options, perm, inverse);
        pthread_mutex_unlock(&one_at_a_time);
        for (int i = 0; i < n && rc == METIS_OK; i++) order[i] = (int)perm[i];
    }
    fa_free(xadj);
    fa_free(adj);
    fa_free(perm);
    fa_free(inverse);
    if (rc == METIS_OK) return FA_OK;
    if (rc == METIS_ERROR_MEMORY) return FA_FAIL_MEMORY(err);
    return FA_FAIL(err, FA_E_NUMERIC, NULL, "choose another order", "METIS gave up with its code %d", rc);
}
#endif

#ifdef FA_HAVE_AMD
static FaCode order_amd(int n, const int *start, const int *neighbor, int *order, FaError *err) {
    int rc = amd_order(n, start, neighbor, order, NULL, NULL);
    if (rc == AMD_OK || rc == AMD_OK_BUT_JUMBLED) return FA_OK;
    if (rc == AMD_OUT_OF_MEMORY) return FA_FAIL_MEMORY(err);
    return FA_FAIL(err, FA_E_NUMERIC, NULL, "choose another order", "AMD gave up with its code %d", rc);
}
#endif

// --- minimum degree -----------------------------------------------------------------------------------------------

// The quotient graph. A node that is left has neighbours of two kinds: nodes, and elements, which are eliminated nodes
// standing for the clique of the nodes they touched. Its list holds elements first and never grows: what reaches a
// new element loses the pivot or an absorbed element for it.
typedef struct Degrees {
    int n;
    int *list;               // of the nodes left, each in place of its neighbours            (edges)
    const int *begin;        // of node i's list                                              (n)
    int *nelem, *nnode;      // elements and nodes in it                                      (n)
    int *degree;             // a bound on it; GONE: eliminated                               (n)
    int *head, *next, *prev; // nodes of each degree                                          (n)
    int *mark;               // == stamp: in the new element                                  (n)
    int *outside;            // of an element: its nodes that are not in the new one          (n)
    int *seen;               // == stamp: `outside` is counted                                (n)
    int *member;             // nodes of all elements, one after another
    int nmember, room;
    int *first, *count; // of an element in member; count 0: absorbed                    (n)
    int stamp;
} Degrees;

enum { GONE = -1 };

static void list_add(Degrees *d, int i) {
    int k = d->degree[i];
    d->next[i] = d->head[k];
    d->prev[i] = -1;
    if (d->head[k] >= 0) d->prev[d->head[k]] = i;
    d->head[k] = i;
}

static void list_drop(Degrees *d, int i) {
    if (d->next[i] >= 0) d->prev[d->next[i]] = d->prev[i];
    if (d->prev[i] >= 0)
        d->next[d->prev[i]] = d->next[i];
    else
        d->head[d->degree[i]] = d->next[i];
}

static void take_in(Degrees *d, int i) {
    if (d->degree[i] == GONE || d->mark[i] == d->stamp) return;
    d->mark[i] = d->stamp;
    d->member[d->nmember++] = i;
}

// Eliminate p: its neighbours, those in its elements included, become element p, and those elements are absorbed.
static bool make_element(Degrees *d, int p) {
    const int *list = d->list + d->begin[p];
    int64_t most = d->nnode[p];
    for (int k = 0; k < d->nelem[p]; k++) most += d->count[list[k]];
    if (most > INT32_MAX - d->nmember) return false;
    int *member = fai_grow_array(d->member, &d->room, d->nmember + (int)most, sizeof *member);
    if (!member) return false;
    d->member = member;
    d->stamp++;
    d->degree[p] = GONE;
    d->first[p] = d->nmember;
    for (int k = 0; k < d->nelem[p]; k++) {
        int e = list[k];
        for (int j = 0; j < d->count[e]; j++) take_in(d, d->member[d->first[e] + j]);
        d->count[e] = 0;
    }
    for (int k = 0; k < d->nnode[p]; k++) take_in(d, list[d->nelem[p] + k]);
    d->count[p] = d->nmember - d->first[p];
    return true;
}

// How many nodes of the elements around have no part in element p; elements wholly inside are absorbed.
static void count_outside(Degrees *d, int p) {
    for (int k = 0; k < d->count[p]; k++) {
        int i = d->member[d->first[p] + k];
        const int *list = d->list + d->begin[i];
        for (int j = 0; j < d->nelem[i]; j++) {
            int e = list[j];
            if (!d->count[e]) continue;
            if (d->seen[e] != d->stamp) {
                d->seen[e] = d->stamp;
                d->outside[e] = 0;
                for (int q = 0; q < d->count[e]; q++) d->outside[e] += d->degree[d->member[d->first[e] + q]] != GONE;
            }
            d->outside[e]--;
        }
    }
}

// The list of i, a node of element p: p, then live elements, then nodes that p does not speak for. Its new degree.
static void refresh(Degrees *d, int i, int p) {
    int *list = d->list + d->begin[i], ne = d->nelem[i], nn = d->nnode[i], keep = 0;
    int64_t degree = d->count[p] - 1;
    int *node = list + ne;
    // elements are packed to the front; at least one entry (p, or an element it absorbed) has gone
    for (int j = 0; j < ne; j++) {
        int e = list[j];
        if (!d->count[e]) continue;
        if (!d->outside[e]) continue; // inside p
        degree += d->outside[e];
        list[keep++] = e;
    }
    int kept_nodes = 0;
    for (int j = 0; j < nn; j++)
        if (d->degree[node[j]] != GONE && d->mark[node[j]] != d->stamp) node[kept_nodes++] = node[j];
    degree += kept_nodes;
    // [elements][p][nodes], nodes moved up or, at most by one place, down
    memmove(list + keep + 1, node, (size_t)kept_nodes * sizeof *list);
    list[keep] = p;
    d->nelem[i] = keep + 1;
    d->nnode[i] = kept_nodes;
    d->degree[i] = (int)FA_MIN(degree, d->n - 1);
}

static bool min_degree(Degrees *d, int *order) {
    for (int i = 0; i < d->n; i++) d->head[i] = -1;
    for (int i = d->n; i-- > 0;) list_add(d, i);
    for (int k = 0, least = 0; k < d->n; k++) {
        while (d->head[least] < 0) least++;
        int p = d->head[least];
        order[k] = p;
        list_drop(d, p);
        if (!make_element(d, p)) return false;
        count_outside(d, p);
        for (int j = 0; j < d->count[p]; j++) {
            int i = d->member[d->first[p] + j];
            list_drop(d, i);
            refresh(d, i, p);
            list_add(d, i);
            least = FA_MIN(least, d->degree[i]);
        }
    }
    return true;
}

static FaCode order_own(int n, const int *start, const int *neighbor, int *order, FaError *err) {
    FaArena *arena = fai_arena_new(0);
    if (!arena) return FA_FAIL_MEMORY(err);
    size_t m = (size_t)n + 1;
    Degrees d = {.n = n, .begin = start, .list = FA_PUSH(arena, start[n] + 1, int)};
    int **part[] = {&d.nelem, &d.nnode,   &d.degree, &d.head,  &d.next, &d.prev,
                    &d.mark,  &d.outside, &d.seen,   &d.first, &d.count};
    bool ok = d.list;
    for (int k = 0; k < FA_COUNT(part) && ok; k++) ok = (*part[k] = FA_PUSH(arena, m, int));
    if (ok) {
        if (start[n]) memcpy(d.list, neighbor, (size_t)start[n] * sizeof *d.list);
        for (int i = 0; i < n; i++) d.degree[i] = d.nnode[i] = start[i + 1] - start[i];
        ok = min_degree(&d, order);
    }
    fa_free(d.member);
    fai_arena_free(arena);
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

// --- choice -------------------------------------------------------------------------------------------------------

FaCode fai_chol_order(FaCholOrder how, int n, const int *start, const int *neighbor, int *order, FaError *err) {
    if (n < 2) how = FA_CHOL_NATURAL;
    if (how == FA_CHOL_NATURAL) {
        for (int i = 0; i < n; i++) order[i] = i;
        return FA_OK;
    }
#ifdef FA_HAVE_METIS
    if (how == FA_CHOL_BEST || how == FA_CHOL_METIS) return order_metis(n, start, neighbor, order, err);
#else
    if (how == FA_CHOL_METIS)
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "build with libmetis-dev, or choose another order",
                       "this build has no METIS");
#endif
#ifdef FA_HAVE_AMD
    if (how == FA_CHOL_BEST || how == FA_CHOL_AMD) return order_amd(n, start, neighbor, order, err);
#else
    if (how == FA_CHOL_AMD)
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "build with libsuitesparse-dev, or choose another order",
                       "this build has no AMD");
#endif
    return order_own(n, start, neighbor, order, err);
}

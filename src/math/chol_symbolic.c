// From a pattern to a plan: tree, supernodes, parts, and every index that factoring and solving will need.
//
// Based on: Liu, The role of elimination trees in sparse factorization, 1990 (tree, postorder); Duff and Reid, The
// multifrontal solution of indefinite sparse symmetric linear systems, 1983 (fronts). Supernodes are merged where a
// model of our own solver says that it is faster (`cost`): fewer, wider panels against more zeros.
#include "math/chol_work.h"

#include <stdlib.h>

// While the plan is made. Columns are numbered by the order first, then by the postorder of the tree, at last by parts.
typedef struct Making {
    const FaCsr *a;
    FaCholPlan *plan;
    FaArena *arena; // scratch
    int n, ninner;
    int *perm, *inverse; // unknown of a column, column of an unknown                        (n)
    int *parent;         // tree of the inner columns; -1: none                              (ninner)
    int *count;          // rows below each inner column, zone included                      (ninner)
    int nsuper;          // supernodes before merging, zone excluded
    int *first;          // column of each, then ninner                                      (nsuper + 1)
    int *up;             // parent; -1: none, ZONE                                           (nsuper)
    int *width, *nrow;   // after merging                                                    (nsuper)
    int *into;           // the supernode that this is part of now, itself if it is its own  (nsuper)
    int *head, *next;    // children                                                         (nsuper)
    double *work;        // cost of the subtree of what is not yet in a stage                (nsuper)
    int *bundle;         // number of the part, by stage                                     (nsuper)
    int nbundle;
    int stage[FA_CHOL_STAGES + 1], nstage;
    int *mark; //                                                                  (n)
} Making;

enum { ZONE = -2 };

#define PUSH_OR_FAIL(var, arena, count, T)                                                                             \
    do {                                                                                                               \
        if (!((var) = FA_PUSH(arena, count, T))) return FA_FAIL_MEMORY(err);                                           \
    } while (0)

// --- order --------------------------------------------------------------------------------------------------------

static FaCode check_pattern(const FaCsr *a, const FaCholOptions *o, Making *m, FaError *err) {
    // reading the matrix by columns must meet the entries in the order in which reading by rows left them
    int *next = m->mark;
    for (int i = 0; i < m->n; i++) next[i] = a->start[i];
    for (int i = 0; i < m->n; i++)
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            int j = a->col[k];
            if (next[j] < a->start[j + 1] && a->col[next[j]] == i)
                next[j]++;
            else
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("row %d, column %d", i, j), "give both triangles",
                               "the matrix has this entry but not its mirror image, or the other way round");
        }
    for (int i = 0; i < m->n; i++) m->mark[i] = -1;
    for (int k = 0; k < o->nzone; k++) {
        int i = o->zone[k];
        if (i < 0 || i >= m->n)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("zone, place %d", k), NULL, "unknown %d of %d", i, m->n);
        if (m->mark[i] >= 0)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("zone, place %d", k), NULL, "unknown %d is in the zone twice", i);
        m->mark[i] = k;
    }
    return FA_OK;
}

// Inner unknowns in a good order, the zone's last in the order given. (m->mark: places in the zone or -1.)
static FaCode order_unknowns(const FaCsr *a, const FaCholOptions *o, Making *m, FaError *err) {
    int *inner, *node, *start, *neighbor, *order; // inner: number of an unknown; node: the other way round
    PUSH_OR_FAIL(inner, m->arena, m->n, int);
    PUSH_OR_FAIL(node, m->arena, m->n, int);
    PUSH_OR_FAIL(start, m->arena, m->ninner + 1, int);
    PUSH_OR_FAIL(neighbor, m->arena, a->start[m->n], int);
    PUSH_OR_FAIL(order, m->arena, m->ninner, int);
    int n = 0, e = 0;
    for (int i = 0; i < m->n; i++)
        if (m->mark[i] < 0) {
            inner[i] = n;
            node[n++] = i;
        }
    for (int k = 0; k < n; k++) {
        for (int q = a->start[node[k]]; q < a->start[node[k] + 1]; q++)
            if (a->col[q] != node[k] && m->mark[a->col[q]] < 0) neighbor[e++] = inner[a->col[q]];
        start[k + 1] = e;
    }
    FA_TRY(fai_chol_order(o->order, n, start, neighbor, order, err));
    for (int k = 0; k < n; k++) m->perm[k] = node[order[k]];
    for (int k = 0; k < o->nzone; k++) m->perm[n + k] = o->zone[k];
    for (int k = 0; k < m->n; k++) m->inverse[m->perm[k]] = k;
    return FA_OK;
}

// --- the elimination tree -----------------------------------------------------------------------------------------

// parent[j]: the first inner row below column j of the factor. Paths to the root are shortened on the way.
static void grow_tree(Making *m, int *shortcut) {
    for (int i = 0; i < m->ninner; i++) {
        m->parent[i] = shortcut[i] = -1;
        for (int k = m->a->start[m->perm[i]]; k < m->a->start[m->perm[i] + 1]; k++)
            for (int j = m->inverse[m->a->col[k]], up; j >= 0 && j < i; j = up) {
                up = shortcut[j];
                shortcut[j] = i;
                if (up < 0) m->parent[j] = i;
            }
    }
}

// Renumber so that every subtree is contiguous, children before parents. stack, head, next, post: scratch.
static void renumber_by_tree(Making *m, int *stack, int *head, int *next, int *post) {
    int n = m->ninner, count = 0;
    for (int i = 0; i < n; i++) head[i] = -1;
    for (int i = n; i-- > 0;)
        if (m->parent[i] >= 0) {
            next[i] = head[m->parent[i]];
            head[m->parent[i]] = i;
        }
    for (int root = 0; root < n; root++) {
        if (m->parent[root] >= 0) continue;
        int top = 0;
        stack[top++] = root;
        while (top) {
            int i = stack[top - 1], c = head[i];
            if (c >= 0) {
                head[i] = next[c];
                stack[top++] = c;
            } else {
                post[i] = count++;
                top--;
            }
        }
    }
    for (int i = 0; i < n; i++) { // perm and parent in the new numbers, by way of scratch
        stack[post[i]] = m->perm[i];
        next[post[i]] = m->parent[i] < 0 ? -1 : post[m->parent[i]];
    }
    memcpy(m->perm, stack, (size_t)n * sizeof *stack);
    memcpy(m->parent, next, (size_t)n * sizeof *next);
    for (int i = 0; i < n; i++) m->inverse[m->perm[i]] = i;
}

// Rows below each inner column: row i is in the columns on the paths from its entries towards the root.
static void count_rows(Making *m) {
    for (int i = 0; i < m->n; i++) m->mark[i] = -1;
    for (int i = 0; i < m->n; i++)
        for (int k = m->a->start[m->perm[i]]; k < m->a->start[m->perm[i] + 1]; k++)
            for (int j = m->inverse[m->a->col[k]]; j >= 0 && j < FA_MIN(i, m->ninner) && m->mark[j] != i;
                 j = m->parent[j]) {
                m->mark[j] = i;
                m->count[j]++;
            }
}

// --- supernodes ---------------------------------------------------------------------------------------------------

static void find_supernodes(Making *m, int *super_of) {
    for (int j = 0; j < m->ninner; j++) {
        bool same = j && m->parent[j - 1] == j && m->count[j - 1] == m->count[j] + 1;
        if (!same) m->first[m->nsuper++] = j;
        super_of[j] = m->nsuper - 1;
    }
    m->first[m->nsuper] = m->ninner;
    for (int s = 0; s < m->nsuper; s++) {
        int last = m->first[s + 1] - 1, p = m->parent[last];
        m->up[s] = p >= 0 ? super_of[p] : m->count[last] ? ZONE : -1;
        m->width[s] = m->first[s + 1] - m->first[s];
        m->nrow[s] = m->count[last];
        m->into[s] = s;
    }
}

// Cycles that a supernode costs in one solve, both ways, as measured: each panel, each of its rows, each number of
// them.
static double cost(int width, int nrow) {
    double sum = 0;
    for (int k = 0; k < width; k += FA_CHOL_WIDTH) {
        int w = FA_MIN(FA_CHOL_WIDTH, width - k);
        sum += 40 + 8 * w + (width - k - w + nrow) * (3.0 + 0.5 * fai_even(w));
    }
    return sum;
}

// Children are merged into their parent as long as that saves anything, the one that saves most first.
static void merge_supernodes(Making *m) {
    for (int s = 0; s < m->nsuper; s++) m->head[s] = -1;
    for (int p = 0; p < m->nsuper; p++) {
        // its children are final; their list is complete since they have smaller numbers
        for (;;) {
            int best = -1, before = -1;
            double most = 0, own = cost(m->width[p], m->nrow[p]);
            for (int c = m->head[p], last = -1; c >= 0; last = c, c = m->next[c]) {
                double gain = own + cost(m->width[c], m->nrow[c]) - cost(m->width[p] + m->width[c], m->nrow[p]);
                if (gain > most) most = gain, best = c, before = last;
            }
            if (best < 0) break;
            if (before < 0)
                m->head[p] = m->next[best];
            else
                m->next[before] = m->next[best];
            m->into[best] = p;
            m->width[p] += m->width[best];
            for (int c = m->head[best]; c >= 0;) {
                int after = m->next[c];
                m->up[c] = p;
                m->next[c] = m->head[p];
                m->head[p] = c;
                c = after;
            }
        }
        if (m->up[p] >= 0) {
            m->next[p] = m->head[m->up[p]];
            m->head[m->up[p]] = p;
        }
    }
}

static int final_of(Making *m, int s) {
    while (m->into[s] != s) s = m->into[s] = m->into[m->into[s]];
    return s;
}

// --- parts --------------------------------------------------------------------------------------------------------

// Cut the subtrees of what is left (bundle < 0) so that none has more than 1 / target of the work; what is cut off at
// the top stays for the next stage. Small neighbours share a part. list: scratch. Returns if anything is left.
static bool cut_stage(Making *m, int target, int *list) {
    int n = 0;
    double total = 0;
    for (int s = 0; s < m->nsuper; s++) m->work[s] = 0;
    for (int s = 0; s < m->nsuper; s++) {
        if (m->into[s] != s || m->bundle[s] >= 0) continue;
        m->work[s] += cost(m->width[s], m->nrow[s]);
        if (m->up[s] >= 0)
            m->work[m->up[s]] += m->work[s];
        else
            list[n++] = s, total += m->work[s];
    }
    bool left = false;
    for (int at = 0; at < n && target > 1;) {
        // the list grows and is looked at once: a subtree that is too heavy gives way to its children
        int s = list[at], kids = 0;
        for (int c = m->head[s]; c >= 0; c = m->next[c]) kids += m->bundle[c] < 0;
        if (m->work[s] * target <= total || !kids) {
            at++;
            continue;
        }
        left = true;
        m->work[s] = -1; // stays
        list[at] = list[--n];
        for (int c = m->head[s]; c >= 0; c = m->next[c])
            if (m->bundle[c] < 0) list[n++] = c;
    }
    // siblings together up to the size of a part
    m->stage[m->nstage++] = m->nbundle;
    for (int i = 0; i < n; i++) {
        if (m->bundle[list[i]] >= 0) continue;
        double size = 0;
        int up = m->up[list[i]];
        for (int k = i; k < n; k++) {
            int s = list[k];
            if (m->bundle[s] >= 0 || m->up[s] != up || (k > i && (size + m->work[s]) * target > total)) continue;
            m->bundle[s] = m->nbundle;
            size += m->work[s];
        }
        m->nbundle++;
    }
    for (int s = m->nsuper; s-- > 0;) // the rest of each subtree follows its root
        if (m->into[s] == s && m->bundle[s] < 0 && m->work[s] >= 0 && m->up[s] >= 0) m->bundle[s] = m->bundle[m->up[s]];
    return left;
}

static void cut_parts(Making *m, int *list) {
    static const int target[] = {16, 6, 3};
    enum { TINY = 60000 }; // cycles: less is not worth a second thread
    double total = 0;
    for (int s = 0; s < m->nsuper; s++) {
        m->bundle[s] = -1;
        if (m->into[s] == s) total += cost(m->width[s], m->nrow[s]);
    }
    bool left = m->nsuper > 0;
    for (int k = 0; k < FA_COUNT(target) && left && total > TINY; k++) {
        left = cut_stage(m, target[k], list);
        total = 0;
        for (int s = 0; s < m->nsuper; s++)
            if (m->into[s] == s && m->bundle[s] < 0) total += cost(m->width[s], m->nrow[s]);
    }
    if (left) cut_stage(m, 1, list);
    m->stage[m->nstage] = m->nbundle;
}

// --- the plan -----------------------------------------------------------------------------------------------------

// Number supernodes and columns by parts, each part in the order of the tree, the zone last.
// super_of: supernode of each column, before merging; on return, in the final numbers.
static FaCode number_supernodes(Making *m, int *super_of, FaError *err) {
    FaCholPlan *p = m->plan;
    int zone = p->nzone > 0, *old, *fresh, *col, *perm;
    for (int s = 0; s < m->nsuper; s++) p->nsuper += m->into[s] == s;
    p->nsuper += zone;
    p->npart = m->nbundle + zone;
    p->nstage = m->nstage;
    memcpy(p->stage, m->stage, sizeof p->stage);
    PUSH_OR_FAIL(p->super, p->arena, p->nsuper, FaCholSuper);
    PUSH_OR_FAIL(p->part, p->arena, p->npart, FaCholPart);
    PUSH_OR_FAIL(old, m->arena, p->nsuper, int);
    PUSH_OR_FAIL(fresh, m->arena, m->nsuper + 1, int);
    PUSH_OR_FAIL(col, m->arena, p->nsuper + 1, int);
    PUSH_OR_FAIL(perm, m->arena, m->n, int);
    // count, then deal out
    for (int s = 0; s < m->nsuper; s++)
        if (m->into[s] == s) p->part[m->bundle[s]].super_end++;
    for (int k = 0, sum = 0; k < p->npart; k++) {
        p->part[k].super_begin = sum;
        sum += k < m->nbundle ? p->part[k].super_end : 1;
        p->part[k].super_end = p->part[k].super_begin;
    }
    for (int s = 0; s < m->nsuper; s++)
        if (m->into[s] == s) {
            int f = p->part[m->bundle[s]].super_end++;
            old[f] = s;
            fresh[s] = f;
            p->super[f] = (FaCholSuper){.width = m->width[s], .nrow = m->nrow[s], .part = m->bundle[s]};
        }
    if (zone) {
        p->part[p->npart - 1].super_end++;
        p->super[p->nsuper - 1] = (FaCholSuper){.width = p->nzone, .part = p->npart - 1, .parent = -1};
    }
    int sum = 0;
    for (int f = 0; f < p->nsuper; f++) {
        FaCholSuper *s = &p->super[f];
        if (f < p->nsuper - zone) {
            int up = m->up[old[f]];
            s->parent = up == ZONE ? p->nsuper - 1 : up < 0 ? -1 : fresh[up];
        }
        s->first = col[f] = sum;
        sum += s->width;
    }
    for (int j = 0; j < m->ninner; j++) perm[col[fresh[final_of(m, super_of[j])]]++] = m->perm[j];
    for (int j = m->ninner; j < m->n; j++) perm[j] = m->perm[j];
    for (int f = 0; f < p->nsuper; f++)
        for (int k = 0; k < p->super[f].width; k++) super_of[p->super[f].first + k] = f;
    PUSH_OR_FAIL(p->perm, p->arena, m->n, int);
    memcpy(p->perm, perm, (size_t)m->n * sizeof *perm);
    for (int j = 0; j < m->n; j++) m->inverse[perm[j]] = j;
    return FA_OK;
}

static int by_int(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

// Lists of children in order, from the parents. parent_of(k) through a stride, so that supernodes and parts share it.
static FaCode list_children(FaArena *arena, int n, const int *parent, size_t stride, int *begin, int *end, int **child,
                            FaError *err) {
#define AT(array, i) (*(int *)((char *)(array) + (size_t)(i)*stride))
#define PARENT(i) (*(const int *)((const char *)parent + (size_t)(i)*stride))
    PUSH_OR_FAIL(*child, arena, n, int);
    for (int i = 0; i < n; i++)
        if (PARENT(i) >= 0) AT(end, PARENT(i))++;
    for (int i = 0, sum = 0; i < n; i++) {
        int count = AT(end, i);
        AT(begin, i) = AT(end, i) = sum;
        sum += count;
    }
    for (int i = 0; i < n; i++)
        if (PARENT(i) >= 0) (*child)[AT(end, PARENT(i))++] = i;
    return FA_OK;
#undef AT
#undef PARENT
}

// The rows of every supernode: those of its columns and of its children, without its own columns.
static FaCode find_rows(Making *m, FaError *err) {
    FaCholPlan *p = m->plan;
    size_t rows = 0, locals = 0;
    for (int f = 0; f < p->nsuper; f++) {
        FaCholSuper *s = &p->super[f];
        s->row = rows;
        s->local = locals;
        rows += (size_t)s->nrow;
        locals += (size_t)(s->nrow + s->width);
    }
    PUSH_OR_FAIL(p->row, p->arena, rows, int);
    PUSH_OR_FAIL(p->place, p->arena, rows, int);
    PUSH_OR_FAIL(p->run, p->arena, rows, int);
    PUSH_OR_FAIL(p->local, p->arena, locals, int);
    for (int i = 0; i < m->n; i++) m->mark[i] = -1;
    for (int f = 0; f < p->nsuper; f++) {
        FaCholSuper *s = &p->super[f];
        int *row = p->row + s->row, n = 0, end = s->first + s->width;
        for (int j = s->first; j < end; j++)
            for (int k = m->a->start[p->perm[j]]; k < m->a->start[p->perm[j] + 1]; k++) {
                int r = m->inverse[m->a->col[k]];
                if (r < end || m->mark[r] == f) continue;
                FA_ASSERT(n < s->nrow);
                m->mark[r] = f;
                row[n++] = r;
            }
        for (int k = s->child_begin; k < s->child_end; k++) {
            const FaCholSuper *c = &p->super[p->child[k]];
            for (int i = 0; i < c->nrow; i++) {
                int r = p->row[c->row + (size_t)i];
                if (r < end || m->mark[r] == f) continue;
                FA_ASSERT(n < s->nrow);
                m->mark[r] = f;
                row[n++] = r;
            }
        }
        FA_ASSERT(n == s->nrow);
        qsort(row, (size_t)n, sizeof *row, by_int);
    }
    return FA_OK;
}

// Columns and tails of the parts, and where tails go.
static FaCode find_tails(Making *m, FaError *err) {
    FaCholPlan *p = m->plan;
    size_t room = 0;
    for (int i = 0; i < m->n; i++) m->mark[i] = -1;
    for (int k = 0; k < p->npart; k++) {
        FaCholPart *t = &p->part[k];
        const FaCholSuper *last = &p->super[t->super_end - 1];
        t->col_begin = p->super[t->super_begin].first;
        t->ncol = last->first + last->width - t->col_begin;
        t->parent = -1;
        for (int f = t->super_begin; f < t->super_end; f++) {
            const FaCholSuper *s = &p->super[f];
            if (s->parent < t->super_end) continue; // none, or in here
            t->parent = p->super[s->parent].part;
            for (int i = 0; i < s->nrow; i++) {
                int r = p->row[s->row + (size_t)i];
                t->ntail += m->mark[r] != k;
                m->mark[r] = k;
            }
        }
        room += (size_t)t->ntail;
    }
    PUSH_OR_FAIL(p->tail, p->arena, room, int);
    PUSH_OR_FAIL(p->tail_place, p->arena, room, int);
    room = 0;
    for (int k = 0; k < p->npart; k++) {
        FaCholPart *t = &p->part[k];
        int n = 0;
        t->tail = room;
        for (int f = t->super_begin; f < t->super_end; f++) {
            const FaCholSuper *s = &p->super[f];
            if (s->parent < t->super_end) continue;
            for (int i = 0; i < s->nrow; i++) {
                int r = p->row[s->row + (size_t)i];
                if (m->mark[r] != p->npart + k) p->tail[room + (size_t)n++] = r;
                m->mark[r] = p->npart + k;
            }
        }
        qsort(p->tail + room, (size_t)n, sizeof(int), by_int);
        room += (size_t)n;
        t->vec = p->nvec;
        p->nvec += (size_t)(t->ncol + t->ntail);
    }
    return FA_OK;
}

// Numbers of the part's vector for its columns and tail, into place (n).
static void number_part(const FaCholPlan *p, const FaCholPart *t, int *place) {
    for (int j = 0; j < t->ncol; j++) place[t->col_begin + j] = j;
    for (int i = 0; i < t->ntail; i++) place[p->tail[t->tail + (size_t)i]] = t->ncol + i;
}

static void find_places(Making *m) {
    FaCholPlan *p = m->plan;
    int *place = m->mark;
    for (int k = 0; k < p->npart; k++) {
        FaCholPart *t = &p->part[k];
        number_part(p, t, place);
        for (int f = t->super_begin; f < t->super_end; f++) {
            const FaCholSuper *s = &p->super[f];
            int *local = p->local + s->local;
            for (int j = 0; j < s->width; j++) local[j] = place[s->first + j];
            for (int i = 0; i < s->nrow; i++) local[s->width + i] = place[p->row[s->row + (size_t)i]];
        }
        for (int q = t->child_begin; q < t->child_end; q++) {
            const FaCholPart *c = &p->part[p->part_child[q]];
            for (int i = 0; i < c->ntail; i++) p->tail_place[c->tail + (size_t)i] = place[p->tail[c->tail + (size_t)i]];
        }
    }
}

// Places of children's rows and of the matrix's entries in each front.
static FaCode find_front_places(Making *m, FaError *err) {
    FaCholPlan *p = m->plan;
    PUSH_OR_FAIL(p->entry, p->arena, ((size_t)m->a->start[m->n] + (size_t)m->n) / 2 + 1, FaCholEntry);
    int *place = m->mark, n = 0;
    for (int f = 0; f < p->nsuper; f++) {
        FaCholSuper *s = &p->super[f];
        size_t stride = fai_front_stride(s);
        if (stride * (size_t)s->width > INT32_MAX)
            return FA_FAIL(err, FA_E_LIMIT, NULL, "use a smaller zone or mesh", "a front of %d x %d is too large",
                           s->width, s->width + s->nrow);
        for (int j = 0; j < s->width; j++) place[s->first + j] = j;
        for (int i = 0; i < s->nrow; i++) place[p->row[s->row + (size_t)i]] = s->width + i;
        for (int q = s->child_begin; q < s->child_end; q++) {
            const FaCholSuper *c = &p->super[p->child[q]];
            int *to = p->place + c->row, *run = p->run + c->row;
            for (int i = 0; i < c->nrow; i++) to[i] = place[p->row[c->row + (size_t)i]];
            for (int i = c->nrow - 1; i >= 0; i--)
                run[i] = i + 1 < c->nrow && to[i + 1] == to[i] + 1 ? run[i + 1] : i + 1;
        }
        s->entry_begin = n;
        for (int j = 0; j < s->width; j++) {
            int u = p->perm[s->first + j];
            for (int k = m->a->start[u]; k < m->a->start[u + 1]; k++) {
                int r = m->inverse[m->a->col[k]];
                if (r >= s->first + j) p->entry[n++] = (FaCholEntry){k, place[r] + j * (int)stride};
            }
        }
        s->entry_end = n;
    }
    return FA_OK;
}

// Panels, fronts and stacks, one after another. Children leave their update on the stack until the parent takes it.
static void lay_out(Making *m) {
    FaCholPlan *p = m->plan;
    for (int k = 0; k < p->npart; k++) {
        FaCholPart *t = &p->part[k];
        size_t front = 0, top = 0, most = 0;
        if (p->nzone && k == p->npart - 1) p->npanel_inner = p->npanel;
        for (int f = t->super_begin; f < t->super_end; f++) {
            FaCholSuper *s = &p->super[f];
            size_t size = (size_t)(s->width + s->nrow);
            front = FA_MAX(front, fai_front_stride(s) * ((size + 3) / 4 * 4)); // also by fours of rows
            for (int q = s->child_end; q-- > s->child_begin;)
                if (p->super[p->child[q]].part == k) top = p->super[p->child[q]].update;
            s->update = top;
            top += (size_t)s->nrow * (size_t)s->nrow;
            most = FA_MAX(most, top);
            s->panel = p->npanel;
            for (int j = 0; j < s->width; j += FA_CHOL_WIDTH) {
                int w = FA_MIN(FA_CHOL_WIDTH, s->width - j);
                s->last_panel = p->npanel;
                p->npanel += (size_t)fai_even(w) * (size_t)(s->width - j - w + s->nrow + fai_even(w));
            }
            p->npanel = (p->npanel + 15) / 16 * 16;
            for (int j = 0; j < s->width; j++) {
                double below = (double)(s->width - j - 1 + s->nrow);
                p->nnz += (size_t)below + 1;
                p->flops += 1 + below + below * (below + 1);
            }
        }
        t->front = p->ndense;
        t->stack = t->front + (front + 7) / 8 * 8;
        p->ndense = t->stack + (most + 7) / 8 * 8;
    }
    if (!p->nzone) p->npanel_inner = p->npanel;
}

static FaCode make_plan(const FaCsr *a, const FaCholOptions *o, Making *m, FaError *err) {
    FaCholPlan *p = m->plan;
    size_t n = (size_t)m->n + 1;
    int *super_of, *scratch[4];
    PUSH_OR_FAIL(m->mark, m->arena, n, int);
    PUSH_OR_FAIL(m->perm, m->arena, n, int);
    PUSH_OR_FAIL(m->inverse, m->arena, n, int);
    FA_TRY(check_pattern(a, o, m, err));
    FA_TRY(order_unknowns(a, o, m, err));
    int **array[] = {&m->parent, &m->count,  &m->first, &m->up,      &m->width,   &m->nrow,    &m->into,   &m->head,
                     &m->next,   &m->bundle, &super_of, &scratch[0], &scratch[1], &scratch[2], &scratch[3]};
    for (int k = 0; k < FA_COUNT(array); k++) PUSH_OR_FAIL(*array[k], m->arena, n, int);
    PUSH_OR_FAIL(m->work, m->arena, n, double);
    grow_tree(m, scratch[0]);
    renumber_by_tree(m, scratch[0], scratch[1], scratch[2], scratch[3]);
    count_rows(m);
    find_supernodes(m, super_of);
    merge_supernodes(m);
    cut_parts(m, scratch[0]);
    FA_TRY(number_supernodes(m, super_of, err));
    FA_TRY(list_children(p->arena, p->nsuper, &p->super->parent, sizeof(FaCholSuper), &p->super->child_begin,
                         &p->super->child_end, &p->child, err));
    FA_TRY(find_rows(m, err));
    FA_TRY(find_tails(m, err));
    FA_TRY(list_children(p->arena, p->npart, &p->part->parent, sizeof(FaCholPart), &p->part->child_begin,
                         &p->part->child_end, &p->part_child, err));
    find_places(m);
    FA_TRY(find_front_places(m, err));
    lay_out(m);
    return FA_OK;
}

FaCode fai_chol_plan(const FaCsr *a, const FaCholOptions *o, FaCholPlan **plan, FaError *err) {
    *plan = NULL;
    FaCholPlan *p = FA_NEW(1, FaCholPlan);
    if (!p) return FA_FAIL_MEMORY(err);
    Making m = {.a = a, .plan = p, .n = a->nrow, .ninner = a->nrow - o->nzone};
    atomic_init(&p->owners, 1);
    p->n = m.n;
    p->nzone = o->nzone;
    p->ninner = m.ninner;
    p->nnz_a = a->start[a->nrow];
    p->arena = fai_arena_new((size_t)1 << 18);
    m.arena = fai_arena_new((size_t)1 << 18);
    FaCode rc = p->arena && m.arena ? make_plan(a, o, &m, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(m.arena);
    if (rc < 0)
        fai_chol_plan_free(p);
    else
        *plan = p;
    return rc;
}

void fai_chol_plan_free(FaCholPlan *p) {
    if (!p || atomic_fetch_sub(&p->owners, 1) > 1) return;
    fai_arena_free(p->arena);
    fa_free(p);
}

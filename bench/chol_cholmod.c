// CHOLMOD behind the calls of chol.h: L L' in double, the reference of our own and of the benchmarks; its memory is its
// own. Only its permissive modules are called, which factor column by column, unless the build asks for FASCIA_GPL.
#include "math/chol_work.h"

#include "bench/chol_cholmod.h"

#ifndef FA_HAVE_CHOLMOD

bool fai_bench_cholmod(void) { return false; }

#else

#include "bench/peer_library.h"

#include <cholmod.h>

#define CALLS(X)                                                                                                       \
    X(allocate_dense) X(analyze) X(copy_factor) X(factorize) X(finish) X(free_dense) X(free_factor) X(solve2) X(start)
static struct {
#define X(name) __typeof__(cholmod_##name) *name;
    CALLS(X)
#undef X
} call;

static bool load(void) {
    bool all = true;
#define X(name) all = fai_peer_get(FA_CHOLMOD_PATH, "cholmod_" #name, &call.name) && all;
    CALLS(X)
#undef X
    return all;
}

#ifdef FA_CHOLMOD_SUPERNODAL
enum { SUPERNODAL = CHOLMOD_SUPERNODAL };
#else
enum { SUPERNODAL = CHOLMOD_SIMPLICIAL };
#endif

typedef struct Mod {
    cholmod_common common;
    cholmod_factor *factor;
    cholmod_dense *b, *x, *y, *e; // right-hand sides by columns, result, its scratch; kept from solve to solve
    int n, nnz_a;
} Mod;

// The lower triangle as CHOLMOD wants it: by columns, which for a symmetric matrix are the rows. Nothing is copied.
static cholmod_sparse view(const FaCsr *a) {
    return (cholmod_sparse){.nrow = (size_t)a->nrow,
                            .ncol = (size_t)a->nrow,
                            .nzmax = (size_t)a->start[a->nrow],
                            .p = a->start,
                            .i = a->col,
                            .x = a->val,
                            .stype = -1,
                            .itype = CHOLMOD_INT,
                            .xtype = CHOLMOD_REAL,
                            .dtype = CHOLMOD_DOUBLE,
                            .sorted = 1,
                            .packed = 1};
}

static void mod_close(void *it) {
    Mod *m = it;
    if (!m) return;
    call.free_factor(&m->factor, &m->common);
    call.free_dense(&m->b, &m->common);
    call.free_dense(&m->x, &m->common);
    call.free_dense(&m->y, &m->common);
    call.free_dense(&m->e, &m->common);
    call.finish(&m->common);
    fa_free(m);
}

static Mod *start(int n, int nnz_a) {
    Mod *m = FA_NEW(1, Mod);
    if (!m) return NULL;
    m->n = n;
    m->nnz_a = nnz_a;
    call.start(&m->common);
    m->common.print = 0;
    m->common.supernodal = SUPERNODAL;
    m->common.final_ll = 1;
    m->b = call.allocate_dense((size_t)n, 4, (size_t)n, CHOLMOD_REAL, &m->common);
    if (m->b) return m;
    mod_close(m);
    return NULL;
}

static FaCode mod_open(const FaCsr *a, FaCholOrder how, void **mod, FaError *err) {
    Mod *m = start(a->nrow, a->start[a->nrow]);
    if (!m) return FA_FAIL_MEMORY(err);
    static const int order[] = {CHOLMOD_METIS, CHOLMOD_METIS, CHOLMOD_AMD, CHOLMOD_AMD, CHOLMOD_NATURAL};
    m->common.nmethods = 1;
    m->common.method[0].ordering = order[how];
    cholmod_sparse v = view(a);
    m->factor = call.analyze(&v, &m->common);
    if (!m->factor) {
        int status = m->common.status;
        mod_close(m);
        return status == CHOLMOD_OUT_OF_MEMORY
                   ? FA_FAIL_MEMORY(err)
                   : FA_FAIL(err, FA_E_NUMERIC, NULL, "use our own", "CHOLMOD gave up with its code %d", status);
    }
    *mod = m;
    return FA_OK;
}

static FaCode mod_twin(const void *it, void **twin, FaError *err) {
    const Mod *mod = it;
    Mod *m = start(mod->n, mod->nnz_a);
    if (!m) return FA_FAIL_MEMORY(err);
    m->common.nmethods = 1;
    m->common.method[0] = mod->common.method[0];
    m->factor = call.copy_factor(mod->factor, &m->common);
    if (!m->factor) {
        mod_close(m);
        return FA_FAIL_MEMORY(err);
    }
    *twin = m;
    return FA_OK;
}

static FaCode mod_factor(void *it, const FaCsr *a, FaError *err) {
    Mod *m = it;
    if (a->nrow != m->n || a->ncol != m->n || a->start[a->nrow] != m->nnz_a)
        return FA_FAIL(err, FA_E_ARG, NULL, "analyze this matrix",
                       "the matrix has another pattern than the one analysed");
    cholmod_sparse v = view(a);
    call.factorize(&v, m->factor, &m->common);
    if (m->common.status == CHOLMOD_OUT_OF_MEMORY) return FA_FAIL_MEMORY(err);
    if (m->common.status == CHOLMOD_NOT_POSDEF || m->factor->minor < (size_t)m->n) {
        const int *perm = m->factor->Perm;
        size_t k = FA_MIN(m->factor->minor, (size_t)m->n - 1);
        return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("row %d", perm ? perm[k] : (int)k),
                       "check that the unknown is held and no weight is negative or not a number",
                       "the matrix is not positive definite");
    }
    if (m->common.status < 0)
        return FA_FAIL(err, FA_E_NUMERIC, NULL, "use our own", "CHOLMOD gave up with its code %d", m->common.status);
    return FA_OK;
}

static void mod_solve(void *it, const double *b, double *x) {
    Mod *m = it;
    size_t n = (size_t)m->n;
    double *to = m->b->x;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4; k++) to[k * n + i] = b[4 * i + k];
    bool ok = call.solve2(CHOLMOD_A, m->factor, m->b, NULL, &m->x, NULL, &m->y, &m->e, &m->common);
    FA_ASSERT(ok);
    const double *from = m->x->x;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 4; k++) x[4 * i + k] = from[k * n + i];
}

static FaCholStats mod_stats(const void *it) {
    const Mod *m = it;
    double nnz = 0, flops = 0;
    const int *count = m->factor->ColCount;
    for (int i = 0; i < m->n; i++) {
        nnz += count[i];
        flops += (double)count[i] * count[i];
    }
    return (FaCholStats){m->n, 0, 0, (size_t)nnz, (size_t)nnz * (sizeof(double) + sizeof(int)), flops};
}

bool fai_bench_cholmod(void) {
    static const FaCholPeer peer = {"cholmod", mod_open, mod_twin, mod_close, mod_factor, mod_solve, mod_stats};
    if (!load()) return false;
    fai_chol_set_peer(&peer);
    return true;
}

#endif

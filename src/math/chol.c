// The calls of chol.h that are neither ordering, planning, factoring nor solving: making, checking, sharing, freeing.
#include "math/chol_work.h"

#include "base/simd.h"

static const FaCholPeer *chol_peer;

void fai_chol_set_peer(const FaCholPeer *peer) { chol_peer = peer; }

static uint64_t pattern_of(const FaCsr *a) {
    uint64_t h = fai_hash64(a->start, ((size_t)a->nrow + 1) * sizeof *a->start, 1);
    return fai_hash64(a->col, (size_t)a->start[a->nrow] * sizeof *a->col, h);
}

// Memory of one numeric factor, all of it: factoring and solving allocate nothing.
static FaCode alloc_numbers(FaChol *c, FaError *err) {
    const FaCholPlan *p = c->plan;
    c->arena = fai_arena_new((size_t)1 << 12);
    if (!c->arena) return FA_FAIL_MEMORY(err);
    bool ok = (c->dense = FA_PUSH(c->arena, p->ndense, double)) && (c->fail = FA_PUSH(c->arena, p->npart, int));
    if (c->single)
        ok = ok &&
             (c->rough ? (c->panel_r = FA_PUSH(c->arena, p->npanel + FA_CHOL_WIDTH * FA_CHOL_WIDTH, uint16_t)) != NULL
                       : (c->panel_f = FA_PUSH(c->arena, p->npanel_inner + 8, float)) != NULL) &&
             (c->vec_f = FA_PUSH(c->arena, 4 * p->nvec, float));
    else
        ok = ok && (c->panel_d = FA_PUSH(c->arena, p->npanel, double)) &&
             (c->vec_d = FA_PUSH(c->arena, 4 * p->nvec, double));
    size_t n = (size_t)p->nzone, stride = (n + 3) / 4 * 4;
    if (n) ok = ok && (c->work = FA_PUSH(c->arena, stride * stride, double));
    if (n && c->single)
        ok = ok && (c->inverse = FA_PUSH(c->arena, n * n, float)) && (c->pairs = FA_PUSH(c->arena, 4 * (n + 1), float));
    return ok ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode check_options(const FaCsr *a, const FaCholOptions *o, FaError *err) {
    if (a->nrow != a->ncol)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "a matrix of %d x %d is not symmetric", a->nrow, a->ncol);
    FA_TRY(fai_csr_check(a, err));
    if (o->nzone < 0 || o->nzone > a->nrow || (o->nzone && !o->zone))
        return FA_FAIL(err, FA_E_ARG, "zone", NULL, "a zone of %d of %d unknowns", o->nzone, a->nrow);
    if ((unsigned)o->order > FA_CHOL_NATURAL || (unsigned)o->backend > FA_CHOL_PEER)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "there is no such order or backend");
    if (o->rough && (!o->single || o->nzone || o->drop > 0))
        return FA_FAIL(err, FA_E_ARG, NULL, "ask for single as well, and for nothing else",
                       "a rough factor has neither zone nor drop");
    if (o->backend == FA_CHOL_PEER && !chol_peer)
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "use our own", "no other library is here to factor with");
    if (o->backend == FA_CHOL_PEER && (o->single || o->nzone))
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "use our own",
                       "another library's factor is neither single nor has a zone here");
    return FA_OK;
}

FaCode fai_chol_analyze(const FaCsr *a, const FaCholOptions *options, FaChol **chol, FaError *err) {
    *chol = NULL;
    FaCholOptions o = options ? *options : (FaCholOptions){0};
    FA_TRY(check_options(a, &o, err));
    FaChol *c = FA_NEW(1, FaChol);
    if (!c) return FA_FAIL_MEMORY(err);
    c->single = o.single;
    c->rough = o.rough;
    c->drop = o.drop;
    c->avx2 = fai_simd_wanted();
    FaCode rc;
    if (o.backend == FA_CHOL_PEER) {
        c->peer = chol_peer;
        rc = c->peer->open(a, o.order, &c->mod, err);
    } else {
        rc = fai_chol_plan(a, &o, &c->plan, err);
        if (rc >= 0) {
            c->plan->pattern = pattern_of(a);
            rc = alloc_numbers(c, err);
        }
    }
    if (rc < 0)
        fai_chol_free(c);
    else
        *chol = c;
    return rc;
}

FaCode fai_chol_twin(const FaChol *chol, FaChol **twin, FaError *err) {
    *twin = NULL;
    FaChol *c = FA_NEW(1, FaChol);
    if (!c) return FA_FAIL_MEMORY(err);
    c->single = chol->single;
    c->rough = chol->rough;
    c->drop = chol->drop;
    c->avx2 = chol->avx2;
    FaCode rc;
    if (chol->mod) {
        c->peer = chol->peer;
        rc = c->peer->twin(chol->mod, &c->mod, err);
    } else {
        c->plan = chol->plan;
        atomic_fetch_add(&c->plan->owners, 1);
        rc = alloc_numbers(c, err);
    }
    if (rc < 0)
        fai_chol_free(c);
    else
        *twin = c;
    return rc;
}

void fai_chol_free(FaChol *c) {
    if (!c) return;
    if (c->mod) c->peer->close(c->mod);
    fai_chol_plan_free(c->plan);
    fai_arena_free(c->arena);
    fa_free(c);
}

FaCode fai_chol_factor(FaChol *c, const FaCsr *a, FaError *err) {
    c->ready = false;
    if (c->mod) {
        FA_TRY(c->peer->factor(c->mod, a, err));
        c->ready = true;
        return FA_OK;
    }
    const FaCholPlan *p = c->plan;
    if (a->nrow != p->n || a->ncol != p->n || a->start[a->nrow] != p->nnz_a || pattern_of(a) != p->pattern)
        return FA_FAIL(err, FA_E_ARG, NULL, "analyze this matrix",
                       "the matrix has another pattern than the one analysed");
    fai_chol_factor_own(c, a->val);
    for (int k = 0; k < p->npart; k++)
        if (c->fail[k] >= 0)
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("row %d", p->perm[c->fail[k]]),
                           "check that the unknown is held and no weight is negative or not a number",
                           "the matrix is not positive definite");
    c->ready = true;
    return FA_OK;
}

const float *fai_chol_zone_inverse(const FaChol *c) {
    FA_ASSERT(c->ready && c->inverse);
    return c->inverse;
}

FaCholStats fai_chol_stats(const FaChol *c) {
    if (c->mod) return c->peer->stats(c->mod);
    const FaCholPlan *p = c->plan;
    size_t zone = (size_t)p->nzone, bytes = c->rough    ? p->npanel * sizeof(uint16_t)
                                            : c->single ? (p->npanel_inner + zone * zone) * sizeof(float)
                                                        : p->npanel * sizeof(double);
    return (FaCholStats){p->n, p->nzone, p->nsuper, p->nnz, bytes, p->flops};
}

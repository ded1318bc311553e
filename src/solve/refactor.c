#include "solve/refactor.h"

#include "base/task.h"

#include <math.h>

enum { DELAY = 4 };            // solves from start to adoption: 66 ms at 60 Hz, more than a factor takes
static const double FAR = 0.2; // relative change of inertia that is worth a factor

struct FaRefactor {
    FaArena *arena;
    FaJob job;
    FaCsr a;      // without inertia
    FaCsr sum;    // the matrix that is factored: a's pattern, own values
    double *mass; // kg                                          (n)
    FaChol *spare;
    double used, made;    // inertia of the factor in use, of the one under way
    int patience, waited; // solves for which a need has persisted
    int due;              // solves until adoption, 0: nothing under way
    FaCode code;          // of the work
};

static bool copy_matrix(FaRefactor *r, const FaCsr *a, const double *mass) {
    size_t n = (size_t)a->nrow, nnz = (size_t)a->start[n];
    int *start = FA_PUSH(r->arena, n + 1, int), *col = FA_PUSH(r->arena, nnz, int);
    r->a = (FaCsr){a->nrow, a->ncol, start, col, FA_PUSH(r->arena, nnz, double)};
    r->sum = (FaCsr){a->nrow, a->ncol, start, col, FA_PUSH(r->arena, nnz, double)};
    r->mass = FA_PUSH(r->arena, n, double);
    if (!start || !col || !r->a.val || !r->sum.val || !r->mass) return false;
    memcpy(start, a->start, (n + 1) * sizeof *start);
    memcpy(col, a->col, nnz * sizeof *col);
    memcpy(r->a.val, a->val, nnz * sizeof *a->val);
    memcpy(r->mass, mass, n * sizeof *mass);
    return true;
}

FaCode fai_refactor_new(const FaCsr *a, const double *mass, const FaChol *like, double inertia, int patience,
                        FaRefactor **refactor, FaError *err) {
    *refactor = NULL;
    FaRefactor *r = FA_NEW(1, FaRefactor);
    if (!r) return FA_FAIL_MEMORY(err);
    r->arena = fai_arena_new(0);
    r->patience = FA_MAX(patience, 1);
    r->used = inertia;
    FaCode rc = r->arena && copy_matrix(r, a, mass) ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_chol_twin(like, &r->spare, err);
    if (rc < 0) {
        fai_refactor_free(r);
        return rc;
    }
    *refactor = r;
    return FA_OK;
}

void fai_refactor_free(FaRefactor *r) {
    if (!r) return;
    fai_job_free(&r->job);
    fai_chol_free(r->spare);
    fai_arena_free(r->arena);
    fai_resize(r, 0);
}

static void work(void *ctx) {
    FaRefactor *r = ctx;
    FaError err = {0};
    for (int i = 0; i < r->a.nrow; i++)
        for (int k = r->a.start[i]; k < r->a.start[i + 1]; k++)
            r->sum.val[k] = r->a.val[k] + (r->a.col[k] == i ? r->made * r->mass[i] : 0);
    r->code = fai_chol_factor(r->spare, &r->sum, &err);
}

bool fai_refactor_turn(FaRefactor *r, double inertia, FaChol **chol) {
    if (r->due > 0) {
        if (--r->due > 0) return false;
        fai_job_wait(&r->job);
        r->waited = 0;
        if (r->code < 0) return false; // A is positive definite, so this is rounding at its worst: keep what works
        FaChol *old = *chol;
        *chol = r->spare;
        r->spare = old;
        r->used = r->made;
        return true;
    }
    r->waited = fabs(inertia / r->used - 1) > FAR ? r->waited + 1 : 0;
    if (r->waited < r->patience) return false;
    r->made = inertia;
    r->due = DELAY;
    fai_job_start(&r->job, work, r);
    return false;
}

#include "energy/tet.h"

#include "base/simd.h"
#include "base/task.h"
#include "energy/tet_kernels.h"
#include "math/mat3.h"
#include "math/svd_kernels.h"

#include <math.h>

enum { GATHER = 4096 }; // nodes of a task

struct FaTets {
    int nnode, ntet;
    bool volume; // is any weight of volume not zero
    FaTetFn *run;
    FaTetDeformFn *deform;
    FaTetBlock *block;   // 64-byte aligned                                        (ntet / 8 rounded up)
    int *start;          // first slot of each node, then the end                  (nnode + 1)
    float *slot;         // gradients, 64-byte aligned; the last one is for fillers (4 ntet + 1 x 4)
    double *energy;      // of each chunk                                          (chunks)
    FaSvdShares *shares; //                                                        (chunks)
    int *clamped;        //                                                        (chunks)
    FaArena *arena;
};

// --- building -----------------------------------------------------------------------------------------------------

bool fai_tet_inverse(const double *x0, const int node[4], double dm_inv[9]) {
    double dm[9];
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 3; r++)
            dm[3 * r + k] = x0[3 * (size_t)node[1 + k] + (size_t)r] - x0[3 * (size_t)node[0] + (size_t)r];
    return fai_m3_inverse(dm, dm_inv);
}

static FaCode fill_blocks(FaTets *t, const FaElastic *e, FaError *err) {
    for (int i = 0; i < (t->ntet + 7) / 8 * 8; i++) {
        FaTetBlock *b = &t->block[i / 8];
        for (int k = 0; k < 4; k++) b->slot[k][i % 8] = 4 * t->ntet;
        if (i >= t->ntet) continue;
        double inverse[9];
        for (int k = 0; k < 4; k++) {
            int v = e->tet[i][k];
            if (v < 0 || v >= t->nnode)
                return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", i), "rebuild the face", "node %d of %d", v, t->nnode);
            b->node[k][i % 8] = v;
        }
        bool good = fai_tet_inverse(e->x0, e->tet[i], inverse);
        for (int k = 0; good && k < 9; k++) good = fabs(inverse[k]) < 1e15;
        if (!good)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("tet %d", i), "rebuild the face with a finite thickness everywhere",
                           "a tet has no volume at rest");
        for (int k = 0; k < 9; k++) b->inverse[k][i % 8] = (float)inverse[k];
        b->strain[i % 8] = (float)e->tet_strain[i];
        b->volume[i % 8] = (float)e->tet_volume[i];
        t->volume |= b->volume[i % 8] != 0;
    }
    return FA_OK;
}

// Slots of a node are consecutive, in the order of its tets: gathering reads memory once, in order.
static void fill_slots(FaTets *t, int *next) {
    for (int i = 0; i < t->ntet; i++)
        for (int k = 0; k < 4; k++) t->start[t->block[i / 8].node[k][i % 8] + 1]++;
    for (int v = 0; v < t->nnode; v++) next[v] = t->start[v], t->start[v + 1] += t->start[v];
    for (int i = 0; i < t->ntet; i++)
        for (int k = 0; k < 4; k++) t->block[i / 8].slot[k][i % 8] = next[t->block[i / 8].node[k][i % 8]]++;
}

static void pick_kernels(FaTets *t) {
    t->run = fai_tet_run_ref;
    t->deform = fai_tet_deform_ref;
#ifdef FA_SVD_HAVE_AVX2
    if (fai_fma_here()) t->run = fai_tet_run_ref_fma, t->deform = fai_tet_deform_ref_fma;
    if (!fai_simd_wanted()) return;
    t->run = fai_tet_run_avx2;
    t->deform = fai_tet_deform_avx2;
#endif
}

static FaCode build(FaTets *t, const FaElastic *e, FaError *err) {
    t->arena = fai_arena_new(0);
    if (!t->arena) return FA_FAIL_MEMORY(err);
    t->nnode = e->nnode;
    t->ntet = e->ntet;
    pick_kernels(t);
    int chunks = fai_chunks(t->ntet, FA_TET_CHUNK);
    t->block = FA_PUSH(t->arena, (size_t)(t->ntet + 7) / 8, FaTetBlock);
    t->start = FA_PUSH(t->arena, (size_t)t->nnode + 1, int);
    t->slot = FA_PUSH(t->arena, 16 * (size_t)t->ntet + 4, float);
    t->energy = FA_PUSH(t->arena, chunks, double);
    t->shares = FA_PUSH(t->arena, chunks, FaSvdShares);
    t->clamped = FA_PUSH(t->arena, chunks, int);
    if (!t->block || !t->start || !t->slot || !t->energy || !t->shares || !t->clamped) return FA_FAIL_MEMORY(err);
    FA_TRY(fill_blocks(t, e, err));
    int *next = FA_NEW(t->nnode, int);
    if (!next) return FA_FAIL_MEMORY(err);
    fill_slots(t, next);
    fa_free(next);
    return FA_OK;
}

FaCode fai_tets_new(const FaElastic *e, FaTets **tets, FaError *err) {
    *tets = NULL;
    if (e->ntet > INT32_MAX / 16 - 1)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use a coarser mesh", "%d tets are too many", e->ntet);
    FaTets *t = FA_NEW(1, FaTets);
    if (!t) return FA_FAIL_MEMORY(err);
    FaCode rc = build(t, e, err);
    if (rc < 0)
        fai_tets_free(t);
    else
        *tets = t;
    return rc;
}

void fai_tets_free(FaTets *tets) {
    if (!tets) return;
    fai_arena_free(tets->arena);
    fa_free(tets);
}

// --- energy -------------------------------------------------------------------------------------------------------

typedef struct Eval {
    FaTets *tets;
    FaTetJob job;
} Eval;

static void eval_chunk(void *ctx, int begin, int end, int chunk) {
    Eval *ev = ctx;
    FaSvdShares shares = {0};
    ev->tets->energy[chunk] = ev->tets->run(&ev->job, begin, end, &shares);
    ev->tets->shares[chunk] = shares;
}

double fai_tets_eval(FaTets *tets, const FaElasticFrame *frame, const float *u, bool gradient, FaSvdMemo *memo,
                     float tau0, float tau1, FaSvdShares *shares) {
    Eval ev = {tets,
               {.block = tets->block,
                .u = u,
                .slot = gradient ? tets->slot : NULL,
                .volume = tets->volume,
                .memo = memo,
                .tau0 = tau0,
                .tau1 = tau1}};
    if (frame) ev.job.rest = frame->tet_rest, ev.job.rest_stride = frame->tet_stride;
    fai_parallel(tets->ntet, FA_TET_CHUNK, eval_chunk, &ev);
    double energy = 0;
    FaSvdShares all = {0};
    for (int c = 0; c < fai_chunks(tets->ntet, FA_TET_CHUNK); c++) {
        energy += tets->energy[c];
        all.reused += tets->shares[c].reused;
        all.taylor += tets->shares[c].taylor;
        all.full += tets->shares[c].full;
    }
    if (shares) *shares = all;
    return energy;
}

typedef struct Gather {
    const FaTets *tets;
    float *g;
} Gather;

static void gather_chunk(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Gather *ga = ctx;
    const int *start = ga->tets->start;
    const float *slot = ga->tets->slot + 4 * (size_t)start[begin];
    for (int v = begin; v < end; v++) {
        float sum[4] = {0}, *g = ga->g + 4 * (size_t)v;
        for (int s = start[v]; s < start[v + 1]; s++, slot += 4)
            for (int k = 0; k < 4; k++) sum[k] += slot[k];
        for (int k = 0; k < 4; k++) g[k] += sum[k];
    }
}

void fai_tets_gather(const FaTets *tets, float *g) {
    Gather ga = {tets, g};
    fai_parallel(tets->nnode, GATHER, gather_chunk, &ga);
}

// --- posed rest shapes --------------------------------------------------------------------------------------------

typedef struct Pose {
    FaTets *tets;
    FaTetJob job;
    float floor;
    float *rest;
    int stride;
} Pose;

// Eight tets of which one may be crushed: raise what is too small. Others keep their bits.
static void pose_block(const Pose *p, int begin, int n, int *clamped) {
    _Alignas(32) float u[9][8], s[3][8], v[9][8];
    float *rest = p->rest + begin;
    size_t row = (size_t)p->stride;
    fai_svd3_many(n, rest, p->stride, &(FaSvd3){u[0], s[0], v[0], 8});
    for (int i = 0; i < n; i++) {
        if (s[2][i] >= p->floor) continue; // then all are
        *clamped += 1;
        float m[3];
        for (int k = 0; k < 3; k++) m[k] = s[k][i] > p->floor ? s[k][i] : p->floor;
        for (int e = 0; e < 9; e++) {
            float sum = 0;
            for (int k = 0; k < 3; k++) sum += u[e / 3 * 3 + k][i] * m[k] * v[e % 3 * 3 + k][i];
            rest[(size_t)e * row + (size_t)i] = sum;
        }
    }
}

static void pose_chunk(void *ctx, int begin, int end, int chunk) {
    Pose *p = ctx;
    bool far[FA_TET_CHUNK / 8];
    int clamped = 0;
    p->tets->deform(&p->job, begin, end, p->floor, p->rest, p->stride, far);
    for (int i = begin; i < end; i += 8)
        if (far[(i - begin) / 8]) pose_block(p, i, FA_MIN(8, end - i), &clamped);
    p->tets->clamped[chunk] = clamped;
}

void fai_tets_pose(FaTets *tets, const float *u_goal, float floor, float *rest, int *clamped) {
    if (floor < 0) floor = -1e6f; // far from everything that a tet can be
    Pose p = {tets, {.block = tets->block, .u = u_goal}, floor, rest, (tets->ntet + 7) / 8 * 8};
    fai_parallel(tets->ntet, FA_TET_CHUNK, pose_chunk, &p);
    *clamped = 0;
    for (int c = 0; c < fai_chunks(tets->ntet, FA_TET_CHUNK); c++) *clamped += tets->clamped[c];
}

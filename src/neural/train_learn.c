// Learning: batches by a shuffle per epoch, Adam with a rate that falls evenly, the running mean of the parameters
// judged a hundred times on samples that choose, the best kept. All that a later step depends on is in one file now and
// then, so that a run which was killed goes on and ends with the same bytes.
#include "base/file.h"
#include "base/task.h"
#include "neural/net_math.h"
#include "neural/pack.h"
#include "neural/train_work.h"

#include <float.h>
#include <math.h>

enum { POINTS = 100, CHOOSE = 1536 };
static const char SIGNATURE[8] = {'F', 'A', 'T', 'R', 'N', '1', '\n', 0x1a};
static const double NOTE_SECONDS = 10;

typedef struct Learn {
    FaTrain *t;
    int *order, *choose; // samples: learnt from, shuffled; that choose
    int n, nchoose, epoch;
    const int *row; // samples of the batch at hand
    double sum;     // of losses since the last point
    int nsum;
    double noted;
    uint64_t key;
} Learn;

// --- batches ------------------------------------------------------------------------------------------------------

static void some_rows(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Learn *l = ctx;
    FaTrain *t = l->t;
    const size_t nd = (size_t)t->net.nd, nc = (size_t)t->net.nc, nn = (size_t)t->net.nn;
    float z[FA_NET_WIDTH];
    for (int r = begin; r < end; r++) {
        const size_t s = (size_t)l->row[r];
        for (size_t k = 0; k < nd; k++) z[k] = fai_squash(t->raw[s * nd + k]);
        fai_mlp_row(&t->mlp, r, z, t->person + (size_t)t->set.owner[s] * nn, t->target + s * nc);
    }
}

static double batch(Learn *l, const float *param, const int *row, int rows, int turn, bool grad) {
    l->row = row;
    fai_parallel(rows, 8, some_rows, l);
    return fai_mlp_loss(&l->t->mlp, param, rows, turn, grad);
}

static void shuffle(Learn *l, int epoch) {
    const FaTrainSet *set = &l->t->set;
    const uint64_t seed = fai_random_u64((uint64_t)l->t->o.seed, 1000 + (uint64_t)epoch);
    int n = 0;
    for (int s = 0; s < set->nsample; s++)
        if (set->part[s] == FA_PART_LEARN) l->order[n++] = s;
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)(fai_random_u64(seed, (uint64_t)i) % ((uint64_t)i + 1)), swap = l->order[i];
        l->order[i] = l->order[j];
        l->order[j] = swap;
    }
    l->epoch = epoch;
}

static double learn_step(Learn *l, int *row) {
    FaTrain *t = l->t;
    for (int j = 0; j < t->o.batch; j++) {
        const int64_t i = (int64_t)t->step * t->o.batch + j;
        if (i / l->n != l->epoch) shuffle(l, (int)(i / l->n));
        row[j] = l->order[i % l->n];
    }
    const double loss = batch(l, t->mlp.param, row, t->o.batch, t->step, true), at = (double)t->step / t->o.steps;
    // a mean over a fiftieth of the whole, at most some 500 steps
    fai_mlp_adam(&t->mlp, t->o.rate + (t->o.last - t->o.rate) * at, t->o.decay, 1 / FA_MIN(500, 1 + t->o.steps / 50.0));
    return loss;
}

// --- choosing -----------------------------------------------------------------------------------------------------

static double judge(Learn *l) {
    double sum = 0;
    for (int at = 0; at < l->nchoose; at += l->t->o.batch) {
        const int rows = FA_MIN(l->t->o.batch, l->nchoose - at);
        sum += rows * batch(l, l->t->mlp.mean, l->choose + at, rows, at / l->t->o.batch, false);
    }
    return sum / l->nchoose;
}

static FaCode point(Learn *l, FaError *err) {
    FaTrain *t = l->t;
    const double is = judge(l);
    float *more = fai_grow_array(t->curve, &t->room, 3 * (t->npoint + 1), sizeof *more);
    if (!more) return FA_FAIL_MEMORY(err);
    t->curve = more;
    const float here[3] = {(float)t->step, (float)(l->nsum ? l->sum / l->nsum : is), (float)is};
    memcpy(more + 3 * t->npoint++, here, sizeof here);
    l->sum = l->nsum = 0;
    if (!isfinite(is))
        return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("step %d", t->step), "train with smaller steps (--rate)",
                       "learning blew up");
    if (t->npoint > 1 && is >= t->best) return FA_OK;
    t->best = is;
    t->best_step = t->step;
    memcpy(t->mlp.best, t->mlp.mean, t->mlp.count * sizeof(float));
    return FA_OK;
}

// --- going on -----------------------------------------------------------------------------------------------------

static uint64_t key_of(const FaTrain *t) {
    const FaTrainOptions *o = &t->o;
    const int number[] = {o->hidden, o->layers, o->components, o->inputs, o->neutrals, o->steps, o->batch, o->seed};
    const double real[] = {o->rate, o->last, o->decay, o->lips};
    uint64_t key = fai_hash64(number, sizeof number, t->set.key);
    key = fai_hash64(real, sizeof real, key);
    return fai_hash64(FA_VERSION_TEXT, sizeof FA_VERSION_TEXT, key);
}

static FaCode note(Learn *l, const char *path, FaError *err) {
    const FaTrain *t = l->t;
    const FaMlp *m = &t->mlp;
    const int number[4] = {t->step, t->best_step, t->npoint, l->nsum};
    const double real[4] = {m->beta1, m->beta2, t->best, l->sum};
    FaText text = {0};
    fai_pack_begin(&text, SIGNATURE);
    fai_text_bytes(&text, &l->key, sizeof l->key);
    fai_text_bytes(&text, number, sizeof number);
    fai_text_bytes(&text, real, sizeof real);
    fai_text_bytes(&text, t->curve, 3 * (size_t)t->npoint * sizeof(float));
    const float *const array[5] = {m->param, m->first, m->second, m->mean, m->best};
    for (int i = 0; i < 5; i++) fai_text_bytes(&text, array[i], m->count * sizeof(float));
    l->noted = fai_seconds();
    return fai_pack_write(&text, path, err);
}

static bool take(Learn *l, FaUnpack *u) {
    FaTrain *t = l->t;
    FaMlp *m = &t->mlp;
    if (fai_unpack_u64(u) != l->key) return false;
    const int step = fai_unpack_int(u, 0, t->o.steps), best = fai_unpack_int(u, 0, t->o.steps);
    const int npoint = fai_unpack_int(u, 1, 2 * POINTS), nsum = fai_unpack_int(u, 0, t->o.steps);
    double *real = fai_unpack_array(u, 4, sizeof *real);
    float *curve = fai_unpack_floats(u, 3 * (size_t)npoint, -FLT_MAX, FLT_MAX);
    float *to[5] = {m->param, m->first, m->second, m->mean, m->best}, *array[5] = {0};
    for (int i = 0; i < 5; i++) array[i] = fai_unpack_floats(u, m->count, -FLT_MAX, FLT_MAX);
    const bool good = !u->bad && !u->memory && u->at == u->end;
    if (good) {
        t->step = t->begun = step, t->best_step = best, t->npoint = npoint, l->nsum = nsum;
        m->beta1 = real[0], m->beta2 = real[1], t->best = real[2], l->sum = real[3];
        fa_free(t->curve);
        t->curve = curve, t->room = 3 * npoint;
        for (int i = 0; i < 5; i++) memcpy(to[i], array[i], m->count * sizeof(float));
    } else
        fa_free(curve);
    fa_free(real);
    for (int i = 0; i < 5; i++) fa_free(array[i]);
    return good;
}

// What is no such file, or another run's, is written over.
static void go_on(Learn *l, const char *path) {
    FaBytes bytes;
    FaUnpack u;
    if (l->t->o.fresh || fai_file_read_own(path, &bytes, NULL) < 0) return;
    if (fai_unpack_begin(&u, bytes.data, bytes.size, SIGNATURE)) take(l, &u);
    fai_bytes_free(&bytes);
}

// Where learning starts: the ridge part, or a share of it. It minimises squares, so that for distances it may be worse
// than nothing; the samples that choose say.
static FaCode start(Learn *l, FaError *err) {
    static const float share[4] = {0, 0.25f, 0.5f, 1};
    FaTrain *t = l->t;
    const size_t n = (size_t)t->net.nc * (size_t)t->net.nd;
    double least = INFINITY;
    int best = 3;
    float *part = FA_NEW(n, float);
    if (!part) return FA_FAIL_MEMORY(err);
    for (int k = 0; k <= 4; k++) {
        const int at = k < 4 ? k : best;
        for (size_t i = 0; i < n; i++) part[i] = share[at] * t->net.ridge[i];
        fai_mlp_start(&t->mlp, (uint64_t)t->o.seed, part);
        const double is = k < 4 ? judge(l) : least;
        if (is < least) least = is, best = k;
    }
    fa_free(part);
    return FA_OK;
}

// --- all ----------------------------------------------------------------------------------------------------------

static FaCode steps(Learn *l, int *row, const char *path, FaError *err) {
    FaTrain *t = l->t;
    const int every = FA_MAX(1, t->o.steps / POINTS);
    if (!t->npoint) FA_TRY(point(l, err));
    while (t->step < t->o.steps) {
        if (t->step % 8 == 0)
            FA_TRY(fai_progress(t->o.progress, t->o.progress_user, "learning", (double)t->step / t->o.steps,
                                "the same command goes on from a moment ago", err));
        l->sum += learn_step(l, row);
        l->nsum++;
        t->step++;
        if (t->step % every == 0 || t->step == t->o.steps) FA_TRY(point(l, err));
        if (t->o.keep ? t->step % t->o.keep == 0 : fai_seconds() - l->noted > NOTE_SECONDS) FA_TRY(note(l, path, err));
    }
    return FA_OK;
}

static FaCode prepare(Learn *l, FaError *err) {
    FaTrain *t = l->t;
    const FaTrainSet *set = &t->set;
    l->order = FA_NEW(set->count[FA_PART_LEARN], int);
    l->choose = FA_NEW(FA_MIN(CHOOSE, set->count[FA_PART_CHOOSE]) + 1, int);
    if (!l->order || !l->choose) return FA_FAIL_MEMORY(err);
    const int every = (set->count[FA_PART_CHOOSE] + CHOOSE - 1) / CHOOSE;
    for (int s = 0, seen = 0; s < set->nsample; s++)
        if (set->part[s] == FA_PART_CHOOSE && seen++ % FA_MAX(1, every) == 0) l->choose[l->nchoose++] = s;
    l->n = set->count[FA_PART_LEARN];
    l->epoch = -1;
    return FA_OK;
}

static FaCode begin(FaTrain *t, FaError *err) {
    const FaNet *net = &t->net;
    const size_t n3 = 3 * (size_t)net->nvert;
    float *basis = FA_NEW((size_t)net->nc * n3, float), *share = FA_NEW(net->nvert, float);
    FaCode rc = basis && share ? FA_OK : FA_FAIL_MEMORY(err);
    for (size_t c = 0; rc >= 0 && c < (size_t)net->nc; c++)
        for (size_t i = 0; i < n3; i++) basis[c * n3 + i] = 1000 * net->su[c] * net->u[c * n3 + i];
    for (int v = 0; rc >= 0 && v < net->nvert; v++) share[v] = t->set.moved[v] ? t->share[3 * v] * t->share[3 * v] : 0;
    if (rc >= 0) rc = fai_mlp_new(net->nlayer, net->width, net->nd, t->o.batch, net->nvert, basis, share, &t->mlp, err);
    fa_free(basis), fa_free(share);
    return rc;
}

FaCode fai_train_learn(FaTrain *t, const char *path, FaError *err) {
    Learn l = {.t = t, .noted = fai_seconds(), .key = key_of(t)};
    FaNet *net = &t->net;
    int *row = FA_NEW(t->o.batch, int);
    FaCode rc = row ? begin(t, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = prepare(&l, err);
    if (rc >= 0) rc = start(&l, err);
    if (rc >= 0) {
        go_on(&l, path);
        rc = steps(&l, row, path, err);
    }
    for (int i = 0; rc >= 0 && i < net->nlayer; i++) {
        net->weight[i] = FA_NEW((size_t)net->width[i] * (size_t)net->width[i + 1], float);
        net->bias[i] = FA_NEW(net->width[i + 1], float);
        if (!net->weight[i] || !net->bias[i]) rc = FA_FAIL_MEMORY(err);
    }
    if (rc >= 0) {
        fai_mlp_to_net(&t->mlp, t->mlp.best, net);
        fai_net_round(net);
    }
    fa_free(row), fa_free(l.order), fa_free(l.choose);
    return rc;
}

#include "neural/train_set.h"

#include "base/file.h"
#include "base/task.h"
#include "rig/names.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GROUP = 16 }; // shards in memory at a time

// --- the list -----------------------------------------------------------------------------------------------------

static int by_path(const void *a, const void *b) {
    return strcmp(((const FaTrainShard *)a)->path, ((const FaTrainShard *)b)->path);
}

static FaCode list(const char *dir, FaTrainSet *set, FaError *err) {
    DIR *d = opendir(dir);
    if (!d)
        return fai_fail_in(
            err, FA_FAIL(err, FA_E_FILE, NULL, "name a folder that fascia dataset made", "cannot be opened"), dir);
    int room = 0;
    FaCode rc = FA_OK;
    for (struct dirent *e; rc >= 0 && (e = readdir(d));) {
        if (!fai_path_has_ext(e->d_name, "shard") || e->d_name[0] == '.') continue;
        FaTrainShard *more = fai_grow_array(set->shard, &room, set->nshard + 1, sizeof *more);
        char *path = more ? fai_path_join(dir, e->d_name) : NULL;
        if (more) set->shard = more;
        if (path)
            set->shard[set->nshard++] = (FaTrainShard){.path = path};
        else
            rc = FA_FAIL_MEMORY(err);
    }
    closedir(d);
    if (rc >= 0 && set->nshard < 3)
        rc = fai_fail_in(err,
                         FA_FAIL(err, FA_E_FORMAT, NULL, "make more with fascia dataset --ids",
                                 "%d shards of samples: 3 people are needed, to learn, to choose and to test",
                                 set->nshard),
                         dir);
    if (rc >= 0) qsort(set->shard, (size_t)set->nshard, sizeof *set->shard, by_path);
    return rc;
}

// --- left and right -----------------------------------------------------------------------------------------------
// Of a template that is its own mirror image, shapes included, each sample is two: what flesh does on the left it does
// on the right. Those of people who are learnt from; nothing is chosen or measured by them.

static const float SAME = 1e-5f; // m

typedef struct Height {
    float y;
    int vertex;
} Height;

static int by_height(const void *a, const void *b) {
    const Height *p = a, *q = b;
    return p->y != q->y ? (p->y < q->y ? -1 : 1) : p->vertex - q->vertex;
}

static bool mirrors(const float *a, const float *b) {
    return fabsf(a[0] + b[0]) < SAME && fabsf(a[1] - b[1]) < SAME && fabsf(a[2] - b[2]) < SAME;
}

static int find_twin(const Height *h, int n, const float *mean, int vertex) {
    const float *at = mean + 3 * (size_t)vertex;
    int low = 0, high = n;
    while (low < high) {
        const int mid = (low + high) / 2;
        if (h[mid].y < at[1] - SAME)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < n && h[low].y <= at[1] + SAME; low++)
        if (mirrors(at, mean + 3 * (size_t)h[low].vertex)) return h[low].vertex;
    return -1;
}

static bool is_symmetric(const FaTemplate *mesh, const int *twin) {
    if (mesh->nweight != FA_ARKIT_COUNT) return false;
    for (int v = 0; v < mesh->nvert; v++)
        if (twin[v] < 0 || twin[twin[v]] != v) return false;
    for (int s = 0; s < mesh->nweight; s++) {
        const size_t n3 = 3 * (size_t)mesh->nvert;
        const float *shape = mesh->shape + n3 * (size_t)s, *other = mesh->shape + n3 * (size_t)fai_arkit_mirror(s);
        for (size_t v = 0; v < (size_t)mesh->nvert; v++)
            if (!mirrors(shape + 3 * v, other + 3 * (size_t)twin[v])) return false;
    }
    return true;
}

static FaCode find_twins(FaTrainSet *set, FaError *err) {
    const int n = set->mesh.nvert;
    Height *h = FA_NEW(n, Height);
    set->twin = FA_NEW(n, int);
    if (!h || !set->twin) {
        fa_free(h);
        return FA_FAIL_MEMORY(err);
    }
    for (int v = 0; v < n; v++) h[v] = (Height){set->mesh.mean[3 * (size_t)v + 1], v};
    qsort(h, (size_t)n, sizeof *h, by_height);
    for (int v = 0; v < n; v++) set->twin[v] = find_twin(h, n, set->mesh.mean, v);
    fa_free(h);
    if (is_symmetric(&set->mesh, set->twin)) return FA_OK;
    fa_free(set->twin);
    set->twin = NULL;
    return FA_OK;
}

// Each shard's mirror image behind it.
static FaCode add_mirrored(FaTrainSet *set, FaError *err) {
    if (!set->twin) return FA_OK;
    FaTrainShard *both = FA_NEW(2 * (size_t)set->nshard, FaTrainShard);
    bool good = both != NULL;
    for (int i = 0; good && i < set->nshard; i++) {
        both[2 * i] = both[2 * i + 1] = set->shard[i];
        both[2 * i + 1].mirrored = true;
        good = (both[2 * i + 1].path = fai_strdup(set->shard[i].path)) != NULL;
        if (!good)
            while (i-- > 0) fa_free(both[2 * i + 1].path);
    }
    if (!good) {
        fa_free(both);
        return FA_FAIL_MEMORY(err);
    }
    fa_free(set->shard);
    set->shard = both, set->nshard *= 2;
    return FA_OK;
}

static void mirror_halves(const FaTrainSet *set, uint16_t *x) {
    for (int v = 0; v < set->mesh.nvert; v++) {
        const int t = set->twin[v];
        if (t < v) continue;
        for (size_t k = 0; k < 3; k++) {
            const uint16_t keep = x[3 * (size_t)v + k], flip = k ? 0 : 0x8000;
            x[3 * (size_t)v + k] = x[3 * (size_t)t + k] ^ flip;
            if (t > v) x[3 * (size_t)t + k] = keep ^ flip;
        }
    }
}

static void mirror_shard(const FaTrainSet *set, FaShard *s) {
    const size_t n3 = 3 * (size_t)s->nvert;
    for (int v = 0; v < s->nvert; v++) {
        const int t = set->twin[v];
        if (t < v) continue;
        for (size_t k = 0; k < 3; k++) {
            const float keep = s->neutral[3 * (size_t)v + k], sign = k ? 1 : -1;
            s->neutral[3 * (size_t)v + k] = sign * s->neutral[3 * (size_t)t + k];
            s->neutral[3 * (size_t)t + k] = sign * keep;
        }
    }
    for (size_t p = 0; p < (size_t)s->npose; p++) {
        mirror_halves(set, s->difference + p * n3);
        mirror_halves(set, s->correction + p * n3);
    }
}

// --- groups of shards ---------------------------------------------------------------------------------------------

typedef struct Group {
    const FaTrainSet *set;
    int first, count;
    FaShard shard[GROUP];
    FaCode rc[GROUP];
    FaError err[GROUP];
} Group;

static void read_some(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Group *g = ctx;
    for (int i = begin; i < end; i++) {
        g->err[i] = (FaError){0};
        const FaTrainShard *known = &g->set->shard[g->first + i];
        g->rc[i] = fai_shard_read(known->path, &g->shard[i], &g->err[i]);
        if (g->rc[i] >= 0 && known->mirrored && g->shard[i].nvert == g->set->mesh.nvert)
            mirror_shard(g->set, &g->shard[i]);
    }
}

static void group_free(Group *g) {
    for (int i = 0; i < GROUP; i++) fai_shard_free(&g->shard[i]);
}

static FaCode group_read(Group *g, int first, FaError *err) {
    group_free(g);
    g->first = first;
    g->count = FA_MIN(GROUP, g->set->nshard - first);
    fai_parallel(g->count, 1, read_some, g);
    for (int i = 0; i < g->count; i++) {
        const FaShard *s = &g->shard[i];
        const FaTrainShard *known = &g->set->shard[first + i];
        if (g->rc[i] < 0) {
            if (err && !err->code) *err = g->err[i];
            return g->rc[i];
        }
        const FaTemplate *mesh = &g->set->mesh;
        if (s->key != mesh->key || s->nvert != mesh->nvert || s->nweight != mesh->nweight)
            return fai_fail_in(err,
                               FA_FAIL(err, FA_E_FORMAT, NULL, "remove it, or make the set again with fascia dataset",
                                       "a shard of another set of samples than the template beside it"),
                               known->path);
        if (g->set->part && (s->npose != known->npose || s->identity != known->identity))
            return fai_fail_in(
                err, FA_FAIL(err, FA_E_FORMAT, NULL, "train when nothing writes there", "changed while it was read"),
                known->path);
    }
    return FA_OK;
}

// --- what each sample is for --------------------------------------------------------------------------------------

typedef struct Lot {
    uint64_t value;
    int what;
} Lot;

static int by_lot(const void *a, const void *b) {
    const Lot *x = a, *y = b;
    return x->value != y->value ? (x->value < y->value ? -1 : 1) : x->what - y->what;
}

// By lot, but the same person has the same lot in any set of the same seed.
static FaCode draw_people(FaTrainSet *set, const FaTrainOptions *o, FaError *err) {
    Lot *lot = FA_NEW(set->nshard, Lot);
    if (!lot) return FA_FAIL_MEMORY(err);
    int people = 0;
    for (int i = 0; i < set->nshard; i++)
        if (!set->shard[i].mirrored)
            lot[people++] = (Lot){fai_random_u64((uint64_t)o->seed + 0x9e37, set->shard[i].identity), i};
    qsort(lot, (size_t)people, sizeof *lot, by_lot);
    const int test = FA_MAX(1, (int)(o->hold_identities * people + 0.5));
    const int choose = FA_MAX(1, (test + 1) / 2);
    for (int i = 0; i < people; i++)
        set->shard[lot[i].what].person = i < test ? FA_PART_PEOPLE : i < test + choose ? FA_PART_CHOOSE : FA_PART_LEARN;
    for (int i = 1; i < set->nshard; i++)
        if (set->shard[i].mirrored)
            set->shard[i].person = set->shard[i - 1].person == FA_PART_LEARN ? FA_PART_LEARN : FA_PART_NONE;
    fa_free(lot);
    if (people - test - choose < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "hold fewer", "nobody is left to learn from: %d people, %d held", people,
                       test + choose);
    return FA_OK;
}

static FaCode draw_clips(FaTrainSet *set, const FaTrainOptions *o, FaError *err) {
    const int n = set->mesh.nclip;
    set->held = FA_NEW(n, unsigned char);
    Lot *lot = FA_NEW(n, Lot);
    if (!set->held || !lot) {
        fa_free(lot);
        return FA_FAIL_MEMORY(err);
    }
    for (int i = 0; i < n; i++) {
        const char *name = set->mesh.clip[i];
        lot[i] = (Lot){fai_hash64(name, strlen(name), (uint64_t)o->seed), i};
    }
    qsort(lot, (size_t)n, sizeof *lot, by_lot);
    for (int i = 0; !o->hold_clips && i < FA_MAX(n / 4, n > 1); i++) set->held[lot[i].what] = 1;
    fa_free(lot);
    for (const char *at = o->hold_clips; at && *at;) {
        const size_t len = strcspn(at, ",");
        int found = 0;
        for (int i = 0; i < n; i++)
            if (strlen(set->mesh.clip[i]) == len && !strncmp(set->mesh.clip[i], at, len)) set->held[i] = 1, found++;
        if (!found && len)
            return FA_FAIL(err, FA_E_ARG, NULL, "see the names in dataset.json",
                           "no recording of the set is called %.*s", (int)len, at);
        at += len + (at[len] == ',');
    }
    return FA_OK;
}

static FaTrainPart part_of(const FaTrainSet *set, const FaTrainShard *s, int clip) {
    if (clip < 0 || !set->held[clip]) return (FaTrainPart)s->person;
    return s->person == FA_PART_PEOPLE ? FA_PART_CLIPS : FA_PART_NONE;
}

static uint64_t hash_shard(const FaShard *s, uint64_t key) {
    const size_t n = 3 * (size_t)s->nvert, np = (size_t)s->npose;
    key = fai_hash64(s->neutral, n * sizeof(float), key ^ s->identity);
    key = fai_hash64(s->clip, np * sizeof(int), key);
    key = fai_hash64(s->difference, n * np * sizeof(uint16_t), key);
    return fai_hash64(s->correction, n * np * sizeof(uint16_t), key);
}

static void see_moved(FaTrainSet *set, const FaShard *s) {
    const size_t n3 = 3 * (size_t)s->nvert;
    for (size_t p = 0; p < (size_t)s->npose; p++)
        for (size_t i = 0; i < n3; i++)
            if (s->correction[p * n3 + i] & 0x7fff) set->moved[i / 3] = true;
}

static FaCode same_person(const FaTrainSet *set, FaError *err) {
    Lot *lot = FA_NEW(set->nshard, Lot);
    if (!lot) return FA_FAIL_MEMORY(err);
    int people = 0;
    for (int i = 0; i < set->nshard; i++)
        if (!set->shard[i].mirrored) lot[people++] = (Lot){set->shard[i].identity, i};
    qsort(lot, (size_t)people, sizeof *lot, by_lot);
    int twice = -1;
    for (int i = 1; i < people; i++)
        if (lot[i].value == lot[i - 1].value) twice = lot[i].what;
    fa_free(lot);
    if (twice < 0) return FA_OK;
    return fai_fail_in(err,
                       FA_FAIL(err, FA_E_FORMAT, NULL, "remove one of the two",
                               "the person of another shard once more: the test would know whom it tests"),
                       set->shard[twice].path);
}

// Two rounds over the files: who and how many, then, the lots drawn, what each pose is for.
static FaCode look(FaTrainSet *set, const FaTrainOptions *o, Group *g, FaError *err) {
    int64_t total = 0;
    for (int at = 0; at < set->nshard; at += GROUP) {
        FA_TRY(fai_progress(o->progress, o->progress_user, "reading", (double)at / set->nshard, "nothing", err));
        FA_TRY(group_read(g, at, err));
        for (int i = 0; i < g->count; i++) {
            FaTrainShard *s = &set->shard[at + i];
            s->identity = g->shard[i].identity;
            s->npose = g->shard[i].npose;
            s->first = (int)total;
            total += s->npose;
            set->key = hash_shard(&g->shard[i], set->key);
            see_moved(set, &g->shard[i]);
            for (int p = 0; p < s->npose; p++)
                if (g->shard[i].clip[p] >= set->mesh.nclip)
                    return fai_fail_in(err,
                                       FA_FAIL(err, FA_E_FORMAT, NULL, "make the set again with fascia dataset",
                                               "pose %d is of a recording that the template does not know", p),
                                       s->path);
            if (total > INT32_MAX / 2) return FA_FAIL(err, FA_E_LIMIT, NULL, "use fewer", "more than 10^9 samples");
        }
    }
    set->nsample = (int)total;
    FA_TRY(same_person(set, err));
    FA_TRY(draw_people(set, o, err));
    FA_TRY(draw_clips(set, o, err));
    unsigned char *part = FA_NEW(total, unsigned char);
    set->owner = FA_NEW(total, int);
    if (!part || !set->owner) {
        fa_free(part);
        return FA_FAIL_MEMORY(err);
    }
    set->part = part;
    for (int at = 0; at < set->nshard; at += GROUP) {
        FA_TRY(group_read(g, at, err));
        for (int i = 0; i < g->count; i++)
            for (int p = 0; p < g->shard[i].npose; p++) {
                const FaTrainShard *s = &set->shard[at + i];
                set->owner[s->first + p] = at + i;
                part[s->first + p] = (unsigned char)part_of(set, s, g->shard[i].clip[p]);
                set->count[part[s->first + p]]++;
            }
    }
    set->key = fai_hash64(part, (size_t)total, set->key);
    return FA_OK;
}

FaCode fai_train_set_open(const char *dir, const FaTrainOptions *o, FaTrainSet *set, FaError *err) {
    *set = (FaTrainSet){0};
    Group *g = NULL;
    char *mesh = fai_path_join(dir, "template");
    FaCode rc = mesh ? fai_template_read(mesh, &set->mesh, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = list(dir, set, err);
    if (rc >= 0) rc = find_twins(set, err);
    if (rc >= 0) rc = add_mirrored(set, err);
    if (rc >= 0) {
        g = FA_NEW(1, Group);
        set->moved = FA_NEW(set->mesh.nvert, bool);
        if (!g || !set->moved) rc = FA_FAIL_MEMORY(err);
    }
    if (rc >= 0) {
        g->set = set;
        set->key = set->mesh.key;
        rc = look(set, o, g, err);
    }
    if (rc >= 0 && (!set->count[FA_PART_LEARN] || !set->count[FA_PART_CHOOSE]))
        rc = FA_FAIL(err, FA_E_FORMAT, dir, "make more samples with fascia dataset, or hold fewer",
                     "%d samples to learn from and %d to choose by", set->count[FA_PART_LEARN],
                     set->count[FA_PART_CHOOSE]);
    if (g) group_free(g);
    fa_free(g);
    fa_free(mesh);
    if (rc < 0) fai_train_set_close(set);
    return rc;
}

void fai_train_set_close(FaTrainSet *set) {
    for (int i = 0; i < set->nshard; i++) fa_free(set->shard[i].path);
    fa_free(set->shard), fa_free(set->part), fa_free(set->owner), fa_free(set->held), fa_free(set->moved);
    fa_free(set->twin);
    fai_template_free(&set->mesh);
    *set = (FaTrainSet){0};
}

// --- rows ---------------------------------------------------------------------------------------------------------

typedef struct Filling {
    const FaTrainSet *set;
    FaTrainRows rows;
    int sample[FA_TRAIN_ROWS];
    const uint16_t *difference[FA_TRAIN_ROWS], *correction[FA_TRAIN_ROWS];
    FaArena *arena;
} Filling;

static void fill_some(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Filling *f = ctx;
    const size_t n3 = 3 * (size_t)f->set->mesh.nvert;
    for (int r = begin; r < end; r++) {
        float *d = f->rows.difference + (size_t)r * f->rows.ld, *c = f->rows.correction + (size_t)r * f->rows.ld;
        for (size_t i = 0; i < n3; i++) {
            d[i] = fai_half_float(f->difference[r][i]);
            c[i] = fai_half_float(f->correction[r][i]);
        }
    }
}

static FaCode filling_new(Filling *f, const FaTrainSet *set, FaError *err) {
    f->set = set;
    f->arena = fai_arena_new(0);
    f->rows.ld = (3 * (size_t)set->mesh.nvert + 15) / 16 * 16;
    f->rows.sample = f->sample;
    if (f->arena) f->rows.difference = FA_PUSH(f->arena, FA_TRAIN_ROWS * f->rows.ld, float);
    if (f->arena) f->rows.correction = FA_PUSH(f->arena, FA_TRAIN_ROWS * f->rows.ld, float);
    return f->rows.difference && f->rows.correction ? FA_OK : FA_FAIL_MEMORY(err);
}

static FaCode flush(Filling *f, const FaTrainWalk *w, FaError *err) {
    if (!f->rows.count) return FA_OK;
    fai_parallel(f->rows.count, 4, fill_some, f);
    FaCode rc = w->fn(w->ctx, &f->rows, err);
    f->rows.count = 0;
    return rc;
}

static FaCode say(const FaTrainOptions *o, const FaTrainWalk *w, double done, FaError *err) {
    return fai_progress(o->progress, o->progress_user, w->stage, w->from + (w->to - w->from) * done,
                        "nothing: learning had not begun", err);
}

static FaCode walk_group(Filling *f, const Group *g, const FaTrainWalk *w, int *seen, FaError *err) {
    const size_t n3 = 3 * (size_t)f->set->mesh.nvert;
    for (int i = 0; i < g->count; i++)
        for (int p = 0; p < g->shard[i].npose; p++) {
            const int sample = f->set->shard[g->first + i].first + p, part = f->set->part[sample];
            if (!(w->parts >> part & 1) || seen[part]++ % FA_MAX(1, w->every[part])) continue;
            const int r = f->rows.count++;
            f->sample[r] = sample;
            f->difference[r] = g->shard[i].difference + (size_t)p * n3;
            f->correction[r] = g->shard[i].correction + (size_t)p * n3;
            if (f->rows.count == FA_TRAIN_ROWS) FA_TRY(flush(f, w, err));
        }
    return flush(f, w, err); // the shards go
}

static FaCode walk(Filling *f, Group *g, const FaTrainOptions *o, const FaTrainWalk *w, FaError *err) {
    int seen[FA_PART_NONE + 1] = {0};
    for (int at = 0; at < f->set->nshard; at += GROUP) {
        FA_TRY(say(o, w, (double)at / f->set->nshard, err));
        FA_TRY(group_read(g, at, err));
        FA_TRY(walk_group(f, g, w, seen, err));
    }
    return FA_OK;
}

static FaCode walk_people(Filling *f, Group *g, const FaTrainOptions *o, const FaTrainWalk *w, FaError *err) {
    const size_t n3 = 3 * (size_t)f->set->mesh.nvert;
    for (int at = 0; at < f->set->nshard; at += GROUP) {
        FA_TRY(say(o, w, (double)at / f->set->nshard, err));
        FA_TRY(group_read(g, at, err));
        for (int i = 0; i < g->count; i++) {
            if (!(w->parts >> f->set->shard[at + i].person & 1)) continue;
            const int r = f->rows.count++;
            f->sample[r] = at + i;
            float *x = f->rows.difference + (size_t)r * f->rows.ld;
            for (size_t k = 0; k < n3; k++) x[k] = g->shard[i].neutral[k] - f->set->mesh.mean[k];
        }
        if (f->rows.count) FA_TRY(w->fn(w->ctx, &f->rows, err));
        f->rows.count = 0;
    }
    return FA_OK;
}

static FaCode walk_any(const FaTrainSet *set, const FaTrainOptions *o, const FaTrainWalk *w, bool people,
                       FaError *err) {
    Filling *f = FA_NEW(1, Filling);
    Group *g = FA_NEW(1, Group);
    FaCode rc = f && g ? filling_new(f, set, err) : FA_FAIL_MEMORY(err);
    if (g) g->set = set;
    if (rc >= 0) rc = people ? walk_people(f, g, o, w, err) : walk(f, g, o, w, err);
    if (g) group_free(g);
    if (f) fai_arena_free(f->arena);
    fa_free(f), fa_free(g);
    return rc;
}

FaCode fai_train_walk(const FaTrainSet *set, const FaTrainOptions *o, const FaTrainWalk *w, FaError *err) {
    return walk_any(set, o, w, false, err);
}

FaCode fai_train_people(const FaTrainSet *set, const FaTrainOptions *o, const FaTrainWalk *w, FaError *err) {
    return walk_any(set, o, w, true, err);
}

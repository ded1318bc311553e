// fa_train: samples -> components -> ridge -> network -> figures -> file.
#include "base/file.h"
#include "neural/train_work.h"

#include <stdio.h>

FaTrainOptions fa_train_options_default(void) {
    return (FaTrainOptions){.hidden = 256,
                            .layers = 3,
                            .components = 192,
                            .inputs = 64,
                            .neutrals = 32,
                            .steps = 10000,
                            .batch = 128,
                            .seed = 1,
                            .rate = 2e-3,
                            .last = 2e-5,
                            .lips = 4,
                            .hold_identities = 0.1};
}

static FaCode limit(const char *what, double value, double least, double most, FaError *err) {
    if (value >= least && value <= most) return FA_OK;
    char low[32], high[32];
    snprintf(low, sizeof low, "%g", least), snprintf(high, sizeof high, "%g", most);
    return FA_FAIL(err, FA_E_ARG, NULL, NULL, "%s is to be from %s to %s", what, low, high);
}

static FaCode options_of(const FaTrainOptions *given, FaTrainOptions *o, FaError *err) {
    *o = fa_train_options_default();
    if (given) {
#define TAKE(field)                                                                                                    \
    if (given->field) o->field = given->field
        TAKE(hidden);
        TAKE(layers);
        TAKE(components);
        TAKE(inputs);
        TAKE(neutrals);
        TAKE(steps);
        TAKE(batch);
        TAKE(seed);
        TAKE(rate);
        TAKE(last);
        TAKE(decay);
        TAKE(lips);
        TAKE(hold_identities);
        TAKE(hold_clips);
        TAKE(curve);
        TAKE(made);
        TAKE(fresh);
        TAKE(keep);
        TAKE(progress);
        TAKE(progress_user);
#undef TAKE
    }
    FA_TRY(limit("the width of hidden layers", o->hidden, 1, FA_NET_WIDTH, err));
    FA_TRY(limit("the number of hidden layers", o->layers, 1, FA_NET_LAYERS - 1, err));
    FA_TRY(limit("the number of components", o->components, 1, 1024, err));
    FA_TRY(limit("the number of inputs", o->inputs, 1, 1024, err));
    FA_TRY(limit("the number of neutrals' components", o->neutrals, 1, 1024, err));
    FA_TRY(limit("the number of steps", o->steps, 1, 1e8, err));
    FA_TRY(limit("the batch", o->batch, 1, 8192, err));
    FA_TRY(limit("the rate", o->rate, 1e-9, 1, err));
    FA_TRY(limit("the last rate", o->last, 1e-9, 1, err));
    FA_TRY(limit("the decay", o->decay, 0, 10, err));
    FA_TRY(limit("the weight of lips and lids", o->lips, 1e-3, 1e3, err));
    FA_TRY(limit("the number of steps between notes", o->keep, 0, 1e8, err));
    return limit("the share of people for the test", o->hold_identities, 0, 0.6, err);
}

static FaCode copy(void **to, const void *from, size_t size, FaError *err) {
    *to = fai_alloc_array(size, 1);
    if (!*to) return FA_FAIL_MEMORY(err);
    memcpy(*to, from, size);
    return FA_OK;
}

// What the network keeps of the template.
static FaCode take_mesh(FaTrain *t, FaError *err) {
    const FaTemplate *mesh = &t->set.mesh;
    FaNet *net = &t->net;
    const size_t n3 = 3 * (size_t)mesh->nvert;
    net->key = mesh->key, net->nvert = mesh->nvert, net->ntri = mesh->ntri, net->nweight = mesh->nweight;
    snprintf(net->made, sizeof net->made, "%s", t->o.made ? t->o.made : "fascia " FA_VERSION_TEXT);
    FA_TRY(copy((void **)&net->mean, mesh->mean, n3 * sizeof(float), err));
    FA_TRY(copy((void **)&net->tri, mesh->tri, 3 * (size_t)mesh->ntri * sizeof(int), err));
    FA_TRY(copy((void **)&net->region, mesh->region, (size_t)mesh->nvert, err));
    FA_TRY(copy((void **)&net->shape, mesh->shape, (size_t)mesh->nweight * n3 * sizeof(float), err));
    t->share = FA_NEW(n3, float);
    if (!t->share) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n3; i++) t->share[i] = mesh->region[i / 3] ? (float)__builtin_sqrt(t->o.lips) : 1;
    return FA_OK;
}

static void take_widths(FaTrain *t) {
    FaNet *net = &t->net;
    net->nlayer = t->o.layers + 1;
    net->width[0] = net->nd + net->nn;
    for (int i = 1; i < net->nlayer; i++) net->width[i] = t->o.hidden;
    net->width[net->nlayer] = net->nc;
}

static void summary(const FaTrain *t, FaTrainReport *r) {
    const FaTrainSet *set = &t->set;
    r->used = set->count[FA_PART_LEARN];
    for (int i = 0; i < set->nshard; i++) {
        r->mirrored |= set->shard[i].mirrored;
        r->identities += !set->shard[i].mirrored;
        r->samples += set->shard[i].mirrored ? 0 : set->shard[i].npose;
        r->held += set->shard[i].person == FA_PART_PEOPLE;
        r->validating += set->shard[i].person == FA_PART_CHOOSE;
    }
    r->clips = set->mesh.nclip;
    for (int i = 0; i < set->mesh.nclip; i++) {
        if (!set->held[i]) continue;
        const size_t at = strlen(r->held_names);
        snprintf(r->held_names + at, sizeof r->held_names - at, "%s%s", at ? "," : "", set->mesh.clip[i]);
        r->held_clips++;
    }
    r->components = t->net.nc, r->inputs = t->net.nd, r->neutrals = t->net.nn;
    r->steps = t->step, r->begun = t->begun, r->best = t->best_step, r->chosen = t->best;
}

static FaCode make(FaTrain *t, const char *dir, const char *path, const char *part, FaTrainReport *r, FaError *err) {
    FaBytes bytes;
    FA_TRY(fai_train_set_open(dir, &t->o, &t->set, err));
    FA_TRY(take_mesh(t, err));
    FA_TRY(fai_train_components(t, err));
    FA_TRY(fai_train_ridge(t, err));
    take_widths(t);
    FA_TRY(fai_train_learn(t, part, err));
    FA_TRY(fai_train_measure(t, r, err));
    FA_TRY(fai_net_save(&t->net, path, err));
    if (t->o.curve) FA_TRY(fai_train_picture(t, t->o.curve, err));
    FA_TRY(fai_file_read_own(path, &bytes, err));
    r->bytes = bytes.size;
    fai_bytes_free(&bytes);
    remove(part);
    summary(t, r);
    return FA_OK;
}

FaCode fa_train(const char *dir, const char *path, const FaTrainOptions *options, FaTrainReport *report, FaError *err) {
    FaTrainReport own;
    FaTrainReport *r = report ? report : &own;
    *r = (FaTrainReport){0};
    FaTrain *t = FA_NEW(1, FaTrain);
    char *part = FA_NEW(strlen(path) + 6, char);
    const double begin = fai_seconds();
    FaCode rc = t && part ? options_of(options, &t->o, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        snprintf(part, strlen(path) + 6, "%s.part", path);
        rc = make(t, dir, path, part, r, err);
    }
    r->seconds = fai_seconds() - begin;
    if (t) {
        fai_train_set_close(&t->set);
        fai_net_free(&t->net);
        fai_mlp_free(&t->mlp);
        void *const array[] = {t->share, t->metric, t->raw, t->target, t->person, t->plain, t->curve};
        for (int i = 0; i < FA_COUNT(array); i++) fa_free(array[i]);
    }
    fa_free(t), fa_free(part);
    return rc;
}

// The list of methods, and what they share: opening, stepping in time, the state.
#include "method/method.h"
#include "base/text.h"
#include "face/face.h"
#include "method/bounds.h"

#include <math.h>
#include <stdlib.h>

static const FaMethodOps *const methods[] = {&fai_method_linear,     &fai_method_analytic,    &fai_method_projective,
                                             &fai_method_enrich,     &fai_method_blendforces, &fai_method_muscle,
                                             &fai_method_volumetric, &fai_method_neural};

enum { OWN = FA_COUNT(methods), MORE = 8 };
static const FaMethodOps *more[MORE]; // added later
static int nmore;

static const FaMethodOps *method_at(int i) {
    if (i < OWN) return methods[i];
    return i < OWN + nmore ? more[i - OWN] : NULL;
}

static const FaMethodOps *find(const char *name) {
    const FaMethodOps *ops;
    for (int i = 0; (ops = method_at(i)); i++)
        if (!strcmp(ops->name, name)) return ops;
    return NULL;
}

const FaMethodOps *fai_method_ops(const char *name) { return find(name); }

FaCode fai_method_add(const FaMethodOps *ops, FaError *err) {
    if (find(ops->name)) return FA_FAIL(err, FA_E_ARG, NULL, "give it another name", "'%s' is there", ops->name);
    if (nmore == MORE) return FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "%d methods were added already", MORE);
    more[nmore++] = ops;
    return FA_OK;
}

const char *const *fa_method_names(void) {
    static const char *names[OWN + MORE + 1];
    for (int i = 0; method_at(i); i++) names[i] = method_at(i)->name;
    return names;
}

const char *fa_method_help(const char *name) {
    const FaMethodOps *ops = find(name);
    return ops ? ops->help : NULL;
}

const FaParamInfo *fa_method_params(const char *name) {
    const FaMethodOps *ops = find(name);
    return ops ? ops->params : NULL;
}

unsigned fa_method_needs(const char *name) {
    const FaMethodOps *ops = find(name);
    return ops ? ops->needs : 0;
}

// --- opening ------------------------------------------------------------------------------------------------------

static FaCode check_setup(const FaMethodOps *ops, const FaMethodSetup *s, FaError *err) {
    if (!s->rig) return FA_FAIL(err, FA_E_ARG, "rig", "load one with fa_rig_load", "the setup has no rig");
    if (s->params && fai_params_table(s->params) != ops->params)
        return FA_FAIL(err, FA_E_ARG, "params", FA_PLACE("make them with fa_params_new(\"%s\", ...)", ops->name),
                       "the parameters are of another method than '%s'", ops->name);
    const struct {
        bool given;
        unsigned takes;
        const char *what;
    } part[] = {{s->face != NULL, FA_TAKES_FACE, "face"},
                {s->ncollider != 0, FA_TAKES_COLLIDERS, "colliders"},
                {s->maps != NULL, FA_TAKES_MAPS, "maps"},
                {s->markers != NULL, FA_TAKES_MARKERS, "markers"}};
    for (int i = 0; i < FA_COUNT(part); i++)
        if (part[i].given && !(ops->takes & part[i].takes))
            return FA_FAIL(err, FA_E_ARG, part[i].what, "leave it out of the setup",
                           "the method '%s' has no use for %s", ops->name, part[i].what);
    return s->face ? fa_face_fits(s->face, s->rig, err) : FA_OK;
}

static FaCode open_method(const FaMethodOps *ops, const FaMethodSetup *given, FaMethod **method, FaError *err) {
    FA_TRY(check_setup(ops, given, err));
    FaMethodSetup setup = *given;
    FaParams *defaults = NULL;
    if (!setup.params) FA_TRY(fa_params_new(ops->name, &defaults, err));
    if (!setup.params) setup.params = defaults;
    FaMethod *m = fai_alloc_array(1, ops->size);
    FaCode rc = m ? FA_OK : FA_FAIL_MEMORY(err);
    if (m) {
        m->ops = ops;
        m->rig = setup.rig;
        rc = ops->open(m, &setup, err);
        if (rc >= 0) rc = fai_bounds_new(m->rig, m->face, &m->bounds, err);
    }
    fa_params_free(defaults);
    if (rc < 0)
        fa_method_close(m);
    else
        *method = m;
    return rc;
}

FaCode fa_method_open(const char *name, const FaMethodSetup *setup, FaMethod **method, FaError *err) {
    *method = NULL;
    const FaMethodOps *ops = find(name);
    if (ops) return open_method(ops, setup, method, err);
    FaText known = {0};
    for (int i = 0; method_at(i); i++) fai_text_printf(&known, "%s%s", i ? ", " : "known are: ", method_at(i)->name);
    FaCode rc = FA_FAIL(err, FA_E_ARG, NULL, known.data, "there is no method '%s'", name);
    fai_text_free(&known);
    return rc;
}

FaCode fai_method_face(FaMethod *m, const FaMethodSetup *setup, int at, int flesh, FaError *err) {
    const char *file = fai_params_text_at(setup->params, at);
    FaFaceOptions options = fa_face_options_for(m->ops->needs);
    options.filled = flesh >= 0 && fai_params_at(setup->params, flesh) != 0;
    const FaFaceGet how = {.file = file[0] ? file : NULL, .options = &options};
    if (!setup->face) FA_TRY(fa_face_get(m->rig, m->ops->needs, &how, &m->own_face, err));
    m->face = setup->face ? setup->face : m->own_face;
    m->inputs = fai_face_hash(m->face);
    if (options.filled && !fai_face_filled(m->face))
        return FA_FAIL(err, FA_E_ARG, file, "build it with fascia build --flesh filled, or leave the option out",
                       "filled flesh is asked for, and the face has a layer below the skin");
    return fa_face_fits(m->face, m->rig, err);
}

void fa_method_close(FaMethod *m) {
    if (!m) return;
    m->ops->close(m);
    fai_bounds_free(m->bounds);
    fa_face_free(m->own_face);
    fai_notes_free(&m->notes);
    fa_free(m);
}

const char *fa_method_name(const FaMethod *m) { return m->ops->name; }
const FaRig *fa_method_rig(const FaMethod *m) { return m->rig; }
const FaNotes *fa_method_notes(const FaMethod *m) { return &m->notes; }

// --- stepping -----------------------------------------------------------------------------------------------------

// Methods move the rig's own frame; inputs speak of the canonical one, as clips do.
static FaInput in_rig_frame(const FaMethod *m, const FaInput *in, FaStats *stats) {
    FaInput own = *in;
    own.weights = fai_bounds_weights(m->bounds, in->weights, stats);
    const double *q = in->head.q;
    if (q[0] != 0 || q[1] != 0 || q[2] != 0 || q[3] != 0) own.head = fa_rig_pose(m->rig, &in->head);
    return own;
}

static FaCode start(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    if (!isfinite(in->time)) return FA_FAIL(err, FA_E_ARG, NULL, "give seconds", "the time is not a number");
    const FaInput own = in_rig_frame(m, in, stats);
    FaCode rc = m->ops->reset(m, &own, surface, err);
    if (rc < 0) return rc;
    FA_TRY(fai_bounds_check(m->bounds, m, &own, surface, stats, err));
    m->time = in->time;
    m->started = true;
    return rc;
}

FaCode fa_method_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    m->rested = (FaStats){0};
    return start(m, in, surface, &m->rested, err);
}

FaCode fa_method_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    FaStats none;
    if (!stats) stats = &none;
    *stats = (FaStats){0};
    double begin = fai_seconds();
    FaCode rc;
    if (!m->started)
        rc = start(m, in, surface, stats, err);
    else if (!(in->time > m->time))
        return FA_FAIL(err, FA_E_ARG, NULL, "give inputs in the order of time, each later than the last",
                       "time does not increase");
    else {
        const FaInput own = in_rig_frame(m, in, stats);
        rc = m->ops->step(m, &own, surface, stats, err);
        if (rc >= 0) FA_TRY(fai_bounds_check(m->bounds, m, &own, surface, stats, err));
    }
    if (rc >= 0) m->time = in->time;
    stats->seconds = fai_seconds() - begin;
    return rc;
}

FaInput fa_method_next(const FaMethod *m, const FaInput *in, const float *surface) {
    FaInput next = {.time = in->time, .weights = in->weights, .head = in->head};
    if (m->ops->found) m->ops->found(m, &next);
    next.target = surface;
    return next;
}

// --- state --------------------------------------------------------------------------------------------------------

void fai_stream(FaStream *s, void *data, size_t size) {
    switch (s->mode) {
    case FA_STREAM_SAVE: memcpy(s->at, data, size); break;
    case FA_STREAM_LOAD: memcpy(data, s->at, size); break;
    case FA_STREAM_HASH: s->hash = fai_hash64(data, size, s->hash); break;
    case FA_STREAM_SIZE: break;
    }
    if (s->at) s->at += size;
    s->size += size;
}

// Loading is the only mode that changes the method.
static void walk(FaMethod *m, FaStream *s) {
    fai_stream(s, &m->started, sizeof m->started);
    fai_stream(s, &m->time, sizeof m->time);
    m->ops->state(m, s);
}

size_t fa_method_state_size(const FaMethod *m) {
    FaStream s = {.mode = FA_STREAM_SIZE};
    walk((FaMethod *)m, &s);
    return s.size;
}

void fa_method_save(const FaMethod *m, void *state) {
    FaStream s = {.mode = FA_STREAM_SAVE, .at = state};
    walk((FaMethod *)m, &s);
}

FaCode fa_method_load(FaMethod *m, const void *state, size_t size, FaError *err) {
    if (size != fa_method_state_size(m))
        return FA_FAIL(err, FA_E_ARG, NULL, "load it into a method opened with the same rig and parameters",
                       "a state of %zu bytes does not fit: %zu are needed", size, fa_method_state_size(m));
    FaStream s = {.mode = FA_STREAM_LOAD, .at = (unsigned char *)state};
    walk(m, &s);
    return FA_OK;
}

double fai_method_distance(FaMethod *m, const void *state) {
    size_t size = fa_method_state_size(m);
    if (m->ops->distance) {
        FaStream s = {.mode = FA_STREAM_SIZE};
        m->ops->state(m, &s);
        return m->ops->distance(m, (const unsigned char *)state + (size - s.size)); // its own state comes last
    }
    unsigned char *now = FA_NEW(size, unsigned char);
    if (!now) return INFINITY;
    fa_method_save(m, now);
    bool same = !memcmp(now, state, size);
    fa_free(now);
    return same ? 0 : INFINITY;
}

uint64_t fa_method_hash(const FaMethod *m) {
    FaStream s = {.mode = FA_STREAM_HASH};
    walk((FaMethod *)m, &s);
    return s.hash;
}

#include "muscle/muscle_file.h"

#include "base/text.h"

#include <math.h>

// One walk over all that is kept serves writing and reading. Numbers are as this machine has them: another one makes
// them again.
typedef struct Stream {
    FaText *out;              // writing
    const unsigned char *at;  // reading
    const unsigned char *end; //
    bool bad;
    bool full; // no memory
} Stream;

static void bytes(Stream *s, void *data, size_t n) {
    if (s->out)
        fai_text_bytes(s->out, data, n);
    else if (s->bad || (size_t)(s->end - s->at) < n)
        s->bad = true;
    else {
        memcpy(data, s->at, n);
        s->at += n;
    }
}

// An array in an arena. Nothing is allocated for more than there is.
static void array(Stream *s, FaArena *arena, void *pointer, int count, size_t size) {
    void *data = NULL;
    if (s->out) {
        memcpy(&data, pointer, sizeof data);
        fai_text_bytes(s->out, data, (size_t)count * size);
        return;
    }
    if (s->bad || count < 0 || (size_t)(s->end - s->at) / size < (size_t)count) {
        s->bad = true;
        return;
    }
    if (!(data = fai_arena_push(arena, (size_t)count + 1, size))) {
        s->bad = s->full = true;
        return;
    }
    bytes(s, data, (size_t)count * size);
    memcpy(pointer, &data, sizeof data);
}

enum { VERSION = 2, ORDER = 0x01020304, MOST = INT32_MAX / 16 };

static void count(Stream *s, int *n) {
    bytes(s, n, sizeof *n);
    if (*n < 0 || *n > MOST) s->bad = true;
    if (s->bad && !s->out) *n = 0;
}

static void flag(Stream *s, bool *b) {
    int v = s->out ? *b : 0;
    bytes(s, &v, sizeof v);
    if (!s->out) *b = v == 1;
}

// All that flesh and muscles are made from.
static uint64_t key_of(const FaMuscleModel *m) {
    const int numbers[] = {VERSION, m->options.flesh_size ? m->options.flesh_size : FA_FLESH_SIZE};
    uint64_t h = fai_hash64(numbers, sizeof numbers, fai_face_hash(m->face));
    h = fai_hash64(m->rig->row, (size_t)m->rig->nentry * sizeof *m->rig->row, h);
    return fai_hash64(m->rig->delta, 3 * (size_t)m->rig->nentry * sizeof *m->rig->delta, h);
}

static void walk_head(Stream *s, const FaMuscleModel *m) {
    const uint32_t order = ORDER;
    const uint64_t key = key_of(m);
    uint32_t o = order;
    uint64_t k = key;
    int own = 0;
    for (int i = 0; i < m->muscles.n && s->out; i++) own += m->muscles.muscle[i].own;
    bytes(s, &o, sizeof o);
    bytes(s, &own, sizeof own); // outside of all that the key holds: fai_muscle_packed_own
    bytes(s, &k, sizeof k);
    if (o != order || k != key) s->bad = true;
}

static void walk_flesh(Stream *s, FaFilled *f) {
    int nride = s->out ? f->ride_start[f->nvert] : 0;
    FaFilledReport *r = &f->report;
    count(s, &f->nnode), count(s, &f->ntet), count(s, &f->nskin), count(s, &f->nvert), count(s, &nride);
    array(s, f->arena, &f->x, 3 * f->nnode, sizeof *f->x);
    array(s, f->arena, &f->tet, 4 * f->ntet, sizeof *f->tet);
    array(s, f->arena, &f->kind, f->nnode, sizeof *f->kind);
    array(s, f->arena, &f->tissue, f->ntet, sizeof *f->tissue);
    array(s, f->arena, &f->node_of_skin, f->nskin, sizeof *f->node_of_skin);
    array(s, f->arena, &f->skin_of_node, f->nnode, sizeof *f->skin_of_node);
    array(s, f->arena, &f->lip, f->nnode, sizeof *f->lip);
    array(s, f->arena, &f->ride_start, f->nvert + 1, sizeof *f->ride_start);
    array(s, f->arena, &f->ride_node, nride, sizeof *f->ride_node);
    array(s, f->arena, &f->ride_weight, nride, sizeof *f->ride_weight);
    if (!s->bad && !s->out && f->ride_start[f->nvert] != nride) s->bad = true;
    int *numbers[] = {&r->nodes, &r->free, &r->skull, &r->jaw, &r->tets, &r->skin, &r->lost, &r->pieces};
    double *values[] = {&r->worst, &r->mean, &r->volume, &r->spacing};
    for (int i = 0; i < FA_COUNT(numbers); i++) count(s, numbers[i]);
    for (int i = 0; i < FA_COUNT(values); i++) bytes(s, values[i], sizeof(double));
    flag(s, &r->bones), flag(s, &r->lips);
}

static bool sound_name(const char *name, size_t room) {
    size_t n = strnlen(name, room);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] <= ' ' || (unsigned char)name[i] > 126) return false;
    return n > 0 && n < room;
}

// added: it is none of the template's.
static void walk_muscle(Stream *s, FaArena *arena, FaMuscle *a, bool added) {
    FaBspline *b = &a->solid;
    for (int k = 0; k < 3; k++) {
        count(s, &b->n[k]);
        if (b->n[k] < 2 || b->n[k] > FA_BSPLINE_MAX) s->bad = true;
    }
    flag(s, &b->ring);
    if (b->ring && b->n[0] < 4) s->bad = true;
    if (s->bad) return;
    array(s, arena, &b->c, 3 * fai_bspline_points(b), sizeof *b->c);
    flag(s, &a->held[0]), flag(s, &a->held[1]);
    int form = a->form, bone[2] = {a->bone[0], a->bone[1]}, side = a->id.side + 1;
    count(s, &form), count(s, &bone[0]), count(s, &bone[1]), count(s, &side);
    if (form >= FA_MUSCLE_FORMS || bone[0] >= FA_MUSCLE_BONES || bone[1] >= FA_MUSCLE_BONES || side > 2) s->bad = true;
    if (s->bad) return;
    a->form = (FaMuscleForm)form, a->bone[0] = (FaMuscleBone)bone[0], a->bone[1] = (FaMuscleBone)bone[1];
    flag(s, &a->own);
    if (added) {
        a->id.entry = -1, a->id.side = side - 1;
        bytes(s, a->id.name, sizeof a->id.name);
        bytes(s, a->id.alias, sizeof a->id.alias);
        if (s->bad || !sound_name(a->id.name, sizeof a->id.name) || !sound_name(a->id.alias, sizeof a->id.alias))
            s->bad = true;
    }
    double *fit[] = {&a->fit_median, &a->fit_covered, &a->fit_volume};
    for (int i = 0; i < FA_COUNT(fit); i++) bytes(s, fit[i], sizeof(double));
    double *values[] = {&a->moved[0], &a->moved[1], &a->off, &a->length, &a->volume, &a->folded};
    for (int i = 0; i < FA_COUNT(values); i++) bytes(s, values[i], sizeof(double));
}

static void walk_muscles(Stream *s, FaMuscles *m) {
    count(s, &m->n);
    bytes(s, &m->unit, sizeof m->unit);
    if (m->n < fai_muscle_count() || m->n > FA_MUSCLES_MOST || s->bad) {
        s->bad = true;
        return;
    }
    if (!s->out && !(m->muscle = FA_PUSH(m->arena, m->n, FaMuscle))) {
        s->bad = s->full = true;
        return;
    }
    for (int i = 0; i < m->n && !s->bad; i++) {
        const bool added = i >= fai_muscle_count();
        if (!s->out && !added) m->muscle[i].id = fai_muscle_id(i);
        walk_muscle(s, m->arena, &m->muscle[i], added);
    }
}

static void walk_samples(Stream *s, FaMuscleSamples *p, int nmuscle) {
    count(s, &p->n);
    array(s, p->arena, &p->fibre, p->n, sizeof *p->fibre);
    array(s, p->arena, &p->uvw, 3 * p->n, sizeof *p->uvw);
    array(s, p->arena, &p->bary, 4 * p->n, sizeof *p->bary);
    array(s, p->arena, &p->start, nmuscle + 1, sizeof *p->start);
    array(s, p->arena, &p->inside, nmuscle, sizeof *p->inside);
    array(s, p->arena, &p->volume, nmuscle, sizeof *p->volume);
}

static void walk_all(Stream *s, FaMuscleModel *m) {
    walk_head(s, m);
    if (!s->bad) walk_flesh(s, &m->flesh);
    if (!s->bad) walk_muscles(s, &m->muscles);
    if (!s->bad) walk_samples(s, &m->samples, m->muscles.n);
}

// --- what is read is sound ----------------------------------------------------------------------------------------

static bool in(double v, double lo, double hi) { return v >= lo && v <= hi; }

static bool sound_flesh(const FaMuscleModel *m, bool *full) {
    const FaFilled *f = &m->flesh;
    if (f->nskin != m->face->nskin || f->nvert != m->rig->mesh.nvert || f->nnode < 4 || f->ntet < 1) return false;
    for (int i = 0; i < f->nnode; i++) {
        for (int k = 0; k < 3; k++)
            if (!in((double)f->x[3 * i + k], -1e3, 1e3)) return false;
        if (f->kind[i] >= FA_FILLED_KINDS || f->skin_of_node[i] < -2 || f->skin_of_node[i] >= f->nskin ||
            !in(f->lip[i], -1, 1))
            return false;
    }
    for (int t = 0; t < f->ntet; t++)
        if (f->tissue[t] >= FA_TISSUES) return false;
    if (f->ride_start[0] != 0) return false;
    for (int v = 0; v < f->nvert; v++)
        if (f->ride_start[v] > f->ride_start[v + 1]) return false;
    for (int e = 0; e < f->ride_start[f->nvert]; e++)
        if (f->ride_node[e] < 0 || f->ride_node[e] >= f->nnode || !in((double)f->ride_weight[e], -1e3, 1e3))
            return false;
    FaError ignored = {0};
    FaCode rc = fai_filled_check(f, &ignored);
    *full |= rc == FA_E_MEMORY;
    return rc >= 0;
}

static bool sound_muscles(const FaMuscles *m) {
    for (int i = 0; i < m->n; i++) {
        const FaMuscle *a = &m->muscle[i];
        if (!in(a->length, 0, 1e3) || !in(a->volume, 0, 1e3)) return false;
        for (int k = 0; k < 3 * fai_bspline_points(&a->solid); k++)
            if (!in(a->solid.c[k], -1e3, 1e3)) return false;
    }
    return in(m->unit, 1e-9, 1e3);
}

static bool sound_samples(const FaMuscleModel *m) {
    const FaMuscleSamples *p = &m->samples;
    const int n = m->muscles.n;
    if (p->start[0] != 0 || p->start[n] != p->n) return false;
    for (int i = 0; i < n; i++) {
        if (p->start[i] > p->start[i + 1] || !in((double)p->inside[i], 0, 1.001) || !in(p->volume[i], 0, 1e3))
            return false;
        for (int k = p->start[i]; k < p->start[i + 1]; k++) {
            const FaFibreSample *a = &p->fibre[k];
            const double *d = a->direction, size = fabs(d[0]) + fabs(d[1]) + fabs(d[2]);
            if (a->muscle != i || a->tet < 0 || a->tet >= m->flesh.ntet || !in(a->share, 0, 1) || !in(size, 1e-12, 1e6))
                return false;
        }
    }
    for (int k = 0; k < 4 * p->n; k++)
        if (!in((double)p->bary[k], -1, 2) || (k < 3 * p->n && !in((double)p->uvw[k], -1, 2))) return false;
    return true;
}

int fai_muscle_packed_own(const unsigned char *data, size_t size) {
    uint32_t order = 0;
    int own = 0;
    if (!data || size < sizeof order + sizeof own) return 0;
    memcpy(&order, data, sizeof order);
    memcpy(&own, data + sizeof order, sizeof own);
    return order == ORDER && own > 0 && own <= FA_MUSCLES_MOST ? own : 0;
}

// --- entry --------------------------------------------------------------------------------------------------------

FaCode fai_muscle_pack(const FaMuscleModel *model, unsigned char **data, size_t *size, FaError *err) {
    FaText text = {0};
    Stream s = {.out = &text};
    FaMuscleModel m = *model; // writing changes nothing
    walk_all(&s, &m);
    if (text.failed || s.bad) {
        fai_text_free(&text);
        return FA_FAIL_MEMORY(err);
    }
    *data = (unsigned char *)text.data;
    *size = text.size;
    return FA_OK;
}

static void forget(FaMuscleModel *m) {
    fai_muscle_samples_free(&m->samples);
    fai_muscles_free(&m->muscles);
    fai_filled_free(&m->flesh);
}

bool fai_muscle_unpack(FaMuscleModel *m, const unsigned char *data, size_t size) {
    Stream s = {.at = data, .end = data + size};
    m->flesh.arena = fai_arena_new(0), m->muscles.arena = fai_arena_new(0), m->samples.arena = fai_arena_new(0);
    bool good = m->flesh.arena && m->muscles.arena && m->samples.arena;
    s.full = !good;
    if (good) walk_all(&s, m);
    good = good && !s.bad && s.at == s.end && sound_flesh(m, &s.full) && sound_muscles(&m->muscles) && sound_samples(m);
    m->no_memory = s.full;
    if (!good) forget(m);
    return good;
}

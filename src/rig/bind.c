// Channels to shapes; the rule is in bind.h.
#include "rig/bind.h"

#include "rig/names.h"
#include "rig/rig_frame.h"

#include <stdlib.h>

enum { LEFT_HALF = 1, RIGHT_HALF = 2, WHOLE = 3, MAX_FAMILIES = 64, FAMILY_TOO_MANY = 8 };

// In which order shapes may claim a place.
typedef enum Claim {
    CLAIM_SAID,
    CLAIM_SPELLED,
    CLAIM_FAMILY,
    CLAIM_BOTH_SIDES,
    CLAIM_ONE_SIDE,
    CLAIM_EMPTY,
    CLAIM_NONE
} Claim;

typedef struct Candidate {
    Claim claim;
    int family;      // its rank, 0 covers most
    bool other_kind; // a half where the clip has the whole, or the other way
    int shape;
} Candidate;

typedef struct Binder {
    const FaClip *clip;
    const FaRig *rig;
    const FaNamesMap *map; // nullable
    FaBinding *out;
    int *slot; // channel + 1 by the hash of its name, 0: free             (mask + 1)
    uint64_t mask;
    FaNameMatch *mean;            // what the shapes' names say                           (nshape)
    Candidate *order;             //                                                      (nshape)
    bool *moves;                  // shape moves something, more than rounding errors (nshape)
    bool *used;                   // channel drives something                             (nchan)
    bool *is_shape;               // channel has the name of a shape                      (nchan)
    bool *hit;                    // entry of the map is a shape or a channel             (map->count)
    int arkit[FA_ARKIT_COUNT][3]; // first channel for the right half, all, the left half; -1 = none
    int pair[FA_ARKIT_COUNT];     // first channel that stands for both sides ("mouthSmile"); -1 = none
    unsigned char taken[FA_ARKIT_COUNT];
    uint64_t have, both;        // ARKit shapes that the rig has; that it has in shapes for both sides (bits)
    int holder[FA_ARKIT_COUNT]; // a shape that holds the place, -1 = none
    FaShapeParts parts;
} Binder;

bool fai_clip_is_own(const FaRig *rig, const FaClip *clip) {
    if (!clip || clip->nchan != rig->nshape) return false;
    if (clip == rig->clip) return true;
    if (!rig->clip || !clip->path || !rig->path || strcmp(clip->path, rig->path)) return false;
    for (int s = 0; s < rig->nshape; s++)
        if (strcmp(clip->name[s], rig->clip->name[s])) return false;
    return true;
}

// --- channels -----------------------------------------------------------------------------------------------------

static int *name_slot(const Binder *b, const char *name) {
    uint64_t h = fai_hash64(name, strlen(name), 0) & b->mask;
    while (b->slot[h] && strcmp(b->clip->name[b->slot[h] - 1], name)) h = (h + 1) & b->mask;
    return &b->slot[h];
}

static const FaNamesMapEntry *said_of(const Binder *b, const char *name) {
    const FaNamesMapEntry *e = fai_names_map_find(b->map, name);
    if (e) b->hit[e - b->map->entry] = true;
    return e;
}

// What a channel means. The map has a say where the name is no shape's, or says nothing by itself.
static FaNameMatch channel_meaning(const Binder *b, int c) {
    const FaNamesMapEntry *e = said_of(b, b->clip->name[c]);
    FaNameMatch m = fai_name_match(b->clip->name[c]);
    bool known = m.arkit >= 0 || m.pair[0] >= 0;
    if (e && (!b->is_shape[c] || (!known && e->arkit >= 0)))
        m = (FaNameMatch){.arkit = e->arkit, .half = e->half, .pair = {-1, -1}};
    return m;
}

static void index_names(Binder *b) {
    for (int c = 0; c < b->clip->nchan; c++) {
        int *s = name_slot(b, b->clip->name[c]);
        if (!*s) *s = c + 1;
    }
    for (int i = 0; i < b->rig->nshape; i++) {
        int c = *name_slot(b, b->rig->shape[i].name) - 1;
        if (c >= 0) b->is_shape[c] = true;
        said_of(b, b->rig->shape[i].name);
    }
}

static void index_meanings(Binder *b) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        b->arkit[i][0] = b->arkit[i][1] = b->arkit[i][2] = b->pair[i] = b->holder[i] = -1;
    for (int c = 0; c < b->clip->nchan; c++) {
        FaNameMatch m = channel_meaning(b, c);
        if (m.arkit >= 0 && b->arkit[m.arkit][m.half + 1] < 0) b->arkit[m.arkit][m.half + 1] = c;
        for (int k = 0; k < 2 && m.arkit < 0 && m.pair[0] >= 0; k++)
            if (b->pair[m.pair[k]] < 0) b->pair[m.pair[k]] = c;
    }
}

// The channel for one ARKit shape of one side: its own, or one that stands for both sides.
static int whole_channel(const Binder *b, int arkit) {
    return b->arkit[arkit][1] >= 0 ? b->arkit[arkit][1] : b->pair[arkit];
}

// The one or two channels that speak for what a shape means; -1 -1: none.
static void channels_for(const Binder *b, const FaNameMatch *m, int chan[2]) {
    chan[0] = chan[1] = -1;
    if (m->arkit >= 0 && m->half) {
        const int *c = b->arkit[m->arkit];
        chan[0] = c[m->half + 1] >= 0 ? c[m->half + 1] : whole_channel(b, m->arkit);
    } else if (m->arkit >= 0) {
        const int *c = b->arkit[m->arkit];
        chan[0] = whole_channel(b, m->arkit);
        if (chan[0] < 0) chan[0] = c[2], chan[1] = c[0];
    } else if (m->pair[0] >= 0) {
        chan[0] = whole_channel(b, m->pair[0]);
        chan[1] = whole_channel(b, m->pair[1]);
        if (chan[1] == chan[0]) chan[1] = -1;
    }
    if (chan[0] < 0) chan[0] = chan[1], chan[1] = -1;
}

// --- shapes -------------------------------------------------------------------------------------------------------

static double largest(const FaRig *rig, int s) {
    double most = 0;
    const FaShape *shape = &rig->shape[s];
    for (int i = shape->first; i < shape->first + shape->count; i++) {
        const float *d = rig->delta + 3 * (size_t)i;
        double m = (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
        if (m > most) most = m;
    }
    return most;
}

// Mark or look for the parts that a shape moves; what it moves by less than a twentieth of its most does not count.
static bool visit(FaShapeParts *p, const FaRig *rig, int s, bool mark) {
    const FaShape *shape = &rig->shape[s];
    double least = largest(rig, s) / 400;
    for (int i = shape->first; i < shape->first + shape->count; i++) {
        const float *d = rig->delta + 3 * (size_t)i;
        int part = p->topo.part[fai_weld(&rig->mesh, rig->row[i])];
        if (part < 0 || (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2] < least) continue;
        if (!mark && p->seen[part]) return true;
        if (mark) p->seen[part] = 1;
    }
    return false;
}

FaCode fai_shapes_apart(FaShapeParts *p, const FaRig *rig, int a, int b, bool *apart, FaError *err) {
    *apart = false;
    if (!rig->mesh.ntri || !rig->shape[a].count || !rig->shape[b].count) return FA_OK;
    if (!p->seen) {
        FA_TRY(fai_topology_build(&rig->mesh, &p->topo, err));
        p->seen = FA_NEW(p->topo.nparts, unsigned char);
        if (!p->seen) return FA_FAIL_MEMORY(err);
    }
    if (p->topo.nparts < 2) return FA_OK;
    memset(p->seen, 0, (size_t)p->topo.nparts);
    visit(p, rig, a, true);
    *apart = !visit(p, rig, b, false);
    return FA_OK;
}

void fai_shape_parts_free(FaShapeParts *p) {
    fai_topology_free(&p->topo);
    fa_free(p->seen);
    *p = (FaShapeParts){0};
}

static void find_moving(Binder *b) {
    double most = 0;
    for (int s = 0; s < b->rig->nshape; s++) most = FA_MAX(most, largest(b->rig, s));
    for (int s = 0; s < b->rig->nshape; s++)
        b->moves[s] = most > 0 && largest(b->rig, s) >= FA_NOISE_SHARE * FA_NOISE_SHARE * most;
}

// What a shape means: its ARKit place as the rig has it (with names.json in it), or both sides by its name.
static FaNameMatch shape_meaning(const FaShape *shape) {
    FaNameMatch m = fai_name_match(shape->name);
    bool free = shape->said == FA_SAID_NOTHING && shape->arkit < 0;
    m.arkit = shape->arkit;
    m.half = shape->half;
    if (!free) m.pair[0] = m.pair[1] = -1;
    return m;
}

static unsigned places(const FaNameMatch *m) { return m->half > 0 ? LEFT_HALF : m->half < 0 ? RIGHT_HALF : WHOLE; }

// A shape that holds what this one stands for, or a part of it; -1: it is free.
static int held_by(const Binder *b, const FaNameMatch *m) {
    if (m->arkit >= 0) return b->taken[m->arkit] & places(m) ? b->holder[m->arkit] : -1;
    for (int k = 0; k < 2 && m->pair[0] >= 0; k++)
        if (b->taken[m->pair[k]]) return b->holder[m->pair[k]];
    return -1;
}

static void take(Binder *b, int s) {
    const FaNameMatch *m = &b->mean[s];
    if (m->arkit >= 0) {
        b->taken[m->arkit] |= (unsigned char)places(m);
        b->holder[m->arkit] = s;
    }
    for (int k = 0; k < 2 && m->arkit < 0 && m->pair[0] >= 0; k++) {
        b->taken[m->pair[k]] = WHOLE;
        b->holder[m->pair[k]] = s;
    }
}

static void drive(Binder *b, int s, const int chan[2]) {
    b->out->chan[s] = chan[0];
    b->out->chan2[s] = chan[1];
    b->out->matched++;
    b->out->idle += !b->moves[s];
    for (int k = 0; k < 2; k++)
        if (chan[k] >= 0) b->used[chan[k]] = true;
}

// Does a shape move other parts of the mesh than its holder (-1: none) and all that these channels drive?
static FaCode is_apart(Binder *b, int s, const int chan[2], int holder, bool *apart, FaError *err) {
    *apart = b->moves[s];
    for (int i = 0; i < b->rig->nshape && *apart; i++) {
        bool rival = i == holder;
        for (int k = 0; k < 2; k++)
            rival |= chan[k] >= 0 && (b->out->chan[i] == chan[k] || b->out->chan2[i] == chan[k]);
        if (rival && i != s) FA_TRY(fai_shapes_apart(&b->parts, b->rig, s, i, apart, err));
    }
    return FA_OK;
}

// Rule 2. A shape that moves nothing holds no place.
static FaCode bind_same_names(Binder *b, FaError *err) {
    for (int s = 0; s < b->rig->nshape; s++) {
        const FaShape *shape = &b->rig->shape[s];
        int chan[2] = {*name_slot(b, shape->name) - 1, -1};
        bool apart = true;
        if (chan[0] < 0 || shape->said != FA_SAID_NOTHING) continue;
        if (b->used[chan[0]]) FA_TRY(is_apart(b, s, chan, -1, &apart, err));
        if (!apart) continue;
        drive(b, s, chan);
        if (b->moves[s]) take(b, s);
    }
    return FA_OK;
}

// Ranks of the shapes' families: by how many ARKit shapes they have, then by which comes first in the file.
static void rank_families(Binder *b) {
    struct {
        const char *name;
        uint64_t have; // a bit per ARKit shape
        int count, rank;
    } family[MAX_FAMILIES];
    int n = 0;
    for (int s = 0; s < b->rig->nshape; s++) {
        const FaNameMatch *m = &b->mean[s];
        int f = 0;
        while (f < n && strcmp(family[f].name, m->family)) f++;
        b->order[s].family = f;
        if (f == MAX_FAMILIES) continue; // no rig has as many; what comes later ranks last
        if (f == n) {
            memset(&family[n], 0, sizeof family[n]);
            family[n++].name = m->family;
        }
        if (!b->moves[s]) continue;
        if (m->arkit >= 0) family[f].have |= UINT64_C(1) << m->arkit;
        for (int k = 0; k < 2 && m->arkit < 0 && m->pair[0] >= 0; k++) family[f].have |= UINT64_C(1) << m->pair[k];
    }
    for (int f = 0; f < n; f++)
        for (int i = 0; i < FA_ARKIT_COUNT; i++) family[f].count += (int)(family[f].have >> i & 1);
    for (int f = 0; f < n; f++)
        for (int k = 0; k < n; k++)
            family[f].rank += family[k].count > family[f].count || (family[k].count == family[f].count && k < f);
    for (int s = 0; s < b->rig->nshape; s++)
        if (b->order[s].family < n) b->order[s].family = family[b->order[s].family].rank;
}

// A left shape without a right one, or the other way, where one shape does both: one eye alone would never close.
static bool lacks_partner(const Binder *b, const FaNameMatch *m) {
    int other = fai_arkit_mirror(m->arkit);
    return other != m->arkit && !(b->have >> other & 1) && (b->both >> m->arkit & 1);
}

static Claim claim_of(const Binder *b, int s) {
    const FaShape *shape = &b->rig->shape[s];
    const FaNameMatch *m = &b->mean[s];
    if (shape->said == FA_SAID_NULL || (m->arkit < 0 && m->pair[0] < 0)) return CLAIM_NONE;
    if (!b->moves[s]) return CLAIM_EMPTY;
    if (shape->said == FA_SAID_ARKIT) return CLAIM_SAID;
    if (m->arkit < 0) return CLAIM_BOTH_SIDES;
    if (lacks_partner(b, m)) return CLAIM_ONE_SIDE;
    return m->spelled ? CLAIM_SPELLED : CLAIM_FAMILY;
}

static int by_claim(const void *pa, const void *pb) {
    const Candidate *a = pa, *b = pb;
    if (a->claim != b->claim) return a->claim < b->claim ? -1 : 1;
    if (a->family != b->family) return a->family < b->family ? -1 : 1;
    if (a->other_kind != b->other_kind) return a->other_kind ? 1 : -1;
    return a->shape < b->shape ? -1 : a->shape > b->shape;
}

static void order_shapes(Binder *b) {
    rank_families(b);
    for (int s = 0; s < b->rig->nshape; s++) {
        const FaNameMatch *m = &b->mean[s];
        if (!b->moves[s]) continue;
        if (m->arkit >= 0) b->have |= UINT64_C(1) << m->arkit;
        for (int k = 0; k < 2 && m->arkit < 0 && m->pair[0] >= 0; k++) b->both |= UINT64_C(1) << m->pair[k];
    }
    for (int s = 0; s < b->rig->nshape; s++) {
        const FaNameMatch *m = &b->mean[s];
        Candidate *c = &b->order[s];
        c->shape = s;
        c->claim = claim_of(b, s);
        // said and spelled names have no family to agree with
        if (c->claim < CLAIM_FAMILY) c->family = 0;
        if (m->arkit >= 0) c->other_kind = (m->half != 0) != (b->arkit[m->arkit][1] < 0);
    }
    qsort(b->order, (size_t)b->rig->nshape, sizeof *b->order, by_claim);
}

// Rule 3. Left aside: shapes for which a channel speaks, but another shape stands there already.
static FaCode bind_meanings(Binder *b, FaError *err) {
    FaSome aside = {0};
    bool apart = false;
    for (int i = 0; i < b->rig->nshape && b->order[i].claim != CLAIM_NONE; i++) {
        int s = b->order[i].shape, chan[2], holder;
        if (b->out->chan[s] >= 0) continue;
        channels_for(b, &b->mean[s], chan);
        if (chan[0] < 0) continue;
        holder = held_by(b, &b->mean[s]);
        if (holder >= 0) FA_TRY(is_apart(b, s, chan, holder, &apart, err));
        if (holder >= 0 && !apart) {
            char text[120];
            snprintf(text, sizeof text, "%.40s (%.40s)", b->rig->shape[s].name, b->rig->shape[holder].name);
            fai_some_add(&aside, s, text);
            continue;
        }
        drive(b, s, chan);
        take(b, s);
    }
    b->out->aside = aside.count;
    fai_note_count(&b->out->notes, aside.count, "shapes-aside", "",
                   "none needed; to drive another one, map the one in brackets to null in the names file",
                   "%d shape%s left at rest, another one has the channel: %s", aside.count, aside.count == 1 ? "" : "s",
                   aside.list);
    return FA_OK;
}

// --- what is said -------------------------------------------------------------------------------------------------

static bool is_still(const FaClip *clip, int c) {
    for (int f = 0; f < clip->nframe; f++)
        if (clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c] != 0) return false;
    return true;
}

static void note_unused(Binder *b) {
    FaSome moving = {0}, absent = {0};
    for (int c = 0; c < b->clip->nchan; c++) {
        b->out->unused += !b->used[c];
        if (!b->used[c] && !is_still(b->clip, c)) fai_some_add(&moving, c, b->clip->name[c]);
    }
    fai_note_count(&b->out->notes, moving.count, "channels-unused", "",
                   "name them in the names file if the rig has their shapes", "%d of %d channels %s no shape: %s",
                   moving.count, b->clip->nchan, moving.count == 1 ? "moves and drives" : "move and drive",
                   moving.list);
    for (int i = 0; b->map && i < b->map->count; i++)
        if (!b->hit[i]) fai_some_add(&absent, i, b->map->entry[i].name);
    fai_note_count(&b->out->notes, absent.count, "map-unused", "",
                   "check the spelling; names are compared letter by letter",
                   "names of the names file that are neither a shape nor a channel: %s", absent.list);
}

// --- binding ------------------------------------------------------------------------------------------------------

static FaCode allocate(Binder *b, FaError *err) {
    int nchan = b->clip->nchan, nshape = b->rig->nshape;
    b->mask = 15;
    while (b->mask < 2 * (uint64_t)nchan) b->mask = 2 * b->mask + 1;
    b->slot = FA_NEW(b->mask + 1, int);
    b->mean = FA_NEW(nshape, FaNameMatch);
    b->order = FA_NEW(nshape, Candidate);
    b->moves = FA_NEW(nshape, bool);
    b->used = FA_NEW(nchan, bool);
    b->is_shape = FA_NEW(nchan, bool);
    b->hit = FA_NEW(b->map ? b->map->count : 0, bool);
    return b->slot && b->mean && b->order && b->moves && b->used && b->is_shape && b->hit ? FA_OK : FA_FAIL_MEMORY(err);
}

static void release(Binder *b) {
    fa_free(b->slot);
    fa_free(b->mean);
    fa_free(b->order);
    fa_free(b->moves);
    fa_free(b->used);
    fa_free(b->is_shape);
    fa_free(b->hit);
    fai_shape_parts_free(&b->parts);
}

static FaCode bind_names(const FaClip *clip, const FaRig *rig, FaBinding *binding, FaError *err) {
    Binder b = {.clip = clip, .rig = rig, .map = rig->names, .out = binding};
    FaCode rc = allocate(&b, err);
    if (rc >= 0) {
        for (int s = 0; s < rig->nshape; s++) b.mean[s] = shape_meaning(&rig->shape[s]);
        find_moving(&b);
        index_names(&b);
        index_meanings(&b);
        rc = bind_same_names(&b, err);
        order_shapes(&b);
        if (rc >= 0) rc = bind_meanings(&b, err);
        note_unused(&b);
    }
    release(&b);
    return rc;
}

FaCode fa_clip_bind(const FaClip *clip, const FaRig *rig, FaBinding *binding, FaError *err) {
    *binding = (FaBinding){.nshape = rig->nshape, .nchan = clip->nchan};
    binding->chan = FA_NEW(rig->nshape, int);
    binding->chan2 = FA_NEW(rig->nshape, int);
    FaCode rc = binding->chan && binding->chan2 ? FA_OK : FA_FAIL_MEMORY(err);
    for (int i = 0; rc >= 0 && i < rig->nshape; i++) binding->chan[i] = binding->chan2[i] = -1;
    if (rc >= 0 && !fai_clip_is_own(rig, clip)) {
        rc = bind_names(clip, rig, binding, err);
    } else if (rc >= 0) {
        for (int i = 0; i < rig->nshape; i++)
            if (rig->shape[i].said != FA_SAID_NULL) binding->chan[i] = i, binding->matched++;
        binding->unused = clip->nchan - binding->matched;
    }
    if (rc < 0) fa_binding_free(binding);
    return rc;
}

void fa_binding_free(FaBinding *binding) {
    fa_free(binding->chan);
    fa_free(binding->chan2);
    fai_notes_free(&binding->notes);
    *binding = (FaBinding){0};
}

void fa_binding_weights(const FaBinding *binding, const float *channels, float *out) {
    for (int i = 0; i < binding->nshape; i++) {
        int a = binding->chan[i], b = binding->chan2[i];
        out[i] = a < 0 ? 0 : b < 0 ? channels[a] : 0.5f * (channels[a] + channels[b]);
    }
}

// --- which shapes to fit ------------------------------------------------------------------------------------------

FaCode fai_shapes_to_fit(const FaRig *rig, unsigned char *use, int *left, FaError *err) {
    const char *name[FA_ARKIT_COUNT];
    FaClip *clip = NULL;
    FaBinding b = {0};
    int aside = 0, unused = 0;
    for (int i = 0; i < FA_ARKIT_COUNT; i++) name[i] = fa_arkit_name(i);
    FA_TRY(fa_clip_new(1, FA_ARKIT_COUNT, name, 30, &clip, err));
    FaCode rc = fa_clip_bind(clip, rig, &b, err);
    for (int s = 0; rc >= 0 && s < rig->nshape; s++) {
        FaNameMatch m = shape_meaning(&rig->shape[s]);
        bool repeats = b.chan[s] < 0 && (m.arkit >= 0 || m.pair[0] >= 0);
        use[s] = rig->shape[s].said != FA_SAID_NULL && !repeats;
        aside += repeats && rig->shape[s].count > 0;
    }
    for (int s = 0; rc >= 0 && s < rig->nshape; s++) {
        if (aside >= FAMILY_TOO_MANY && b.chan[s] < 0) use[s] = 0;
        unused += !use[s] && rig->shape[s].count > 0;
    }
    if (left) *left = unused;
    fa_binding_free(&b);
    fa_clip_free(clip);
    return rc;
}

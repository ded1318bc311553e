// From a draft in a file's coordinates to a finished rig.
#include "rig/rig_build.h"

#include "math/mat3.h"
#include "mesh/mesh.h"
#include "mesh/weld.h"
#include "rig/names.h"
#include "rig/rig_frame.h"
#include "rig/rig_hinge.h"

#include <limits.h>
#include <math.h>

struct FaRigDraft {
    FaArena *arena; // the rig's
    FaNotes notes;  // the rig's
    FaMesh mesh;
    FaDraftShape *shape; // row and delta are blocks of their own            (nshape)
    int nshape, room;
    int64_t nentry;
    int unnamed;
    const FaNamesMap *names; // in the arena; NULL: none
    FaFileMesh *file_mesh;   // in the arena                                   (nfile_mesh)
    int nfile_mesh, file_room;
    FaDraftJoint *joint; // in the arena                                   (njoint)
    int njoint, joint_room;
};

FaCode fai_draft_new(FaRigDraft **draft, FaError *err) {
    *draft = NULL;
    FaRigDraft *d = FA_NEW(1, FaRigDraft);
    if (!d) return FA_FAIL_MEMORY(err);
    d->arena = fai_arena_new(0);
    if (!d->arena) {
        fai_draft_free(d);
        return FA_FAIL_MEMORY(err);
    }
    *draft = d;
    return FA_OK;
}

static void free_shape(FaDraftShape *s) {
    fa_free(s->row);
    fa_free(s->delta);
    s->row = NULL;
    s->delta = NULL;
}

void fai_draft_free(FaRigDraft *draft) {
    if (!draft) return;
    for (int i = 0; i < draft->nshape; i++) free_shape(&draft->shape[i]);
    fa_free(draft->shape);
    fai_notes_free(&draft->notes);
    fai_arena_free(draft->arena);
    fa_free(draft);
}

FaArena *fai_draft_arena(FaRigDraft *draft) { return draft->arena; }
FaNotes *fai_draft_notes(FaRigDraft *draft) { return &draft->notes; }
void fai_draft_mesh(FaRigDraft *draft, const FaMesh *mesh) { draft->mesh = *mesh; }

// An array in the arena with room for one more than n; NULL: no memory.
static void *grow(FaArena *arena, void *old, int n, int *room, size_t size) {
    if (n < *room) return old;
    *room = 2 * *room + 8;
    void *grown = fai_arena_push(arena, (size_t)*room, size);
    if (grown && n) memcpy(grown, old, (size_t)n * size);
    return grown;
}

FaCode fai_draft_joint(FaRigDraft *d, const char *name, const double m[16], FaError *err) {
    // the joint's origin: where m takes to zero
    const double a[9] = {m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]};
    double inverse[9], at[3] = {0};
    if (!fai_m3_inverse(a, inverse)) return FA_OK;
    for (int i = 0; i < 9; i++) at[i / 3] -= inverse[i] * m[12 + i % 3];
    if (!isfinite(at[0]) || !isfinite(at[1]) || !isfinite(at[2])) return FA_OK;
    d->joint = grow(d->arena, d->joint, d->njoint, &d->joint_room, sizeof *d->joint);
    const char *copy = d->joint ? fai_arena_strndup(d->arena, name, strlen(name)) : NULL;
    if (!copy) return FA_FAIL_MEMORY(err);
    d->joint[d->njoint++] = (FaDraftJoint){copy, {at[0], at[1], at[2]}};
    return FA_OK;
}

FaCode fai_draft_file_mesh(FaRigDraft *d, const char *name, int64_t vertices, int shapes, bool taken, FaError *err) {
    d->file_mesh = grow(d->arena, d->file_mesh, d->nfile_mesh, &d->file_room, sizeof *d->file_mesh);
    if (!d->file_mesh) return FA_FAIL_MEMORY(err);
    const char *copy = fai_arena_strndup(d->arena, name, strlen(name));
    if (!copy) return FA_FAIL_MEMORY(err);
    d->file_mesh[d->nfile_mesh++] = (FaFileMesh){copy, (int)FA_MIN(vertices, INT_MAX), shapes, taken};
    return FA_OK;
}

// A mesh with half of the shapes and half of the vertices at least is no set of teeth: another head, or a second level
// of detail. Which one is meant nobody can tell.
static void note_second_head(FaRigDraft *d) {
    const FaFileMesh *own = NULL;
    for (int i = 0; i < d->nfile_mesh; i++)
        if (d->file_mesh[i].taken) own = &d->file_mesh[i];
    for (int i = 0; own && i < d->nfile_mesh; i++) {
        const FaFileMesh *m = &d->file_mesh[i];
        if (m->taken || m->shapes < 8 || 2 * m->shapes < own->shapes || m->vertices < own->vertices / 2) continue;
        fai_note(&d->notes, "second-head", "", "choose the other one with --mesh",
                 "the file may hold another head: '%.60s' (mesh %d) has %d shapes too; '%.60s' is taken", m->name, i,
                 m->shapes, own->name);
        return;
    }
}

// --- shapes -------------------------------------------------------------------------------------------------------

static bool is_zero(const float *d) { return d[0] == 0 && d[1] == 0 && d[2] == 0; }

static FaCode fail_delta(const char *name, int vertex, FaError *err) {
    return FA_FAIL(err, FA_E_MESH, FA_PLACE("shape '%.80s', vertex %d", name, vertex),
                   "repair the shape in a modelling program and export again",
                   "the displacement is not a finite number");
}

// A shape with room for `count` entries, added to the draft; its entries are filled in by the caller.
static FaCode push_shape(FaRigDraft *d, const char *name, int count, float rest_weight, FaDraftShape **out,
                         FaError *err) {
    if (d->nentry + count > INT_MAX / 4)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use fewer shapes or a smaller mesh", "more than %d displacements",
                       INT_MAX / 4);
    if (!isfinite(rest_weight))
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("shape '%.80s'", name), NULL,
                       "the weight at rest is not a finite number");
    FaDraftShape *grown = fai_grow_array(d->shape, &d->room, d->nshape + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(err);
    d->shape = grown;
    FaDraftShape s = {
        .arkit = -1, .weight = rest_weight, .row = FA_NEW(count, int), .delta = FA_NEW(3 * (size_t)count, float)};
    bool unnamed = !name || !name[0];
    s.name =
        unnamed ? fai_arena_printf(d->arena, "shape_%03d", d->nshape) : fai_arena_strndup(d->arena, name, strlen(name));
    if (!s.name || !s.row || !s.delta) {
        free_shape(&s);
        return FA_FAIL_MEMORY(err);
    }
    d->unnamed += unnamed;
    d->nentry += count;
    d->shape[d->nshape] = s;
    *out = &d->shape[d->nshape++];
    return FA_OK;
}

static void add_entry(FaDraftShape *s, int row, const float *delta) {
    s->row[s->count] = row;
    memcpy(s->delta + 3 * (size_t)s->count, delta, 3 * sizeof *delta);
    s->count++;
}

static bool is_finite(const float *d) { return isfinite(d[0]) && isfinite(d[1]) && isfinite(d[2]); }

FaCode fai_draft_shape_dense(FaRigDraft *draft, const char *name, const float *delta, float rest_weight, FaError *err) {
    int count = 0;
    for (int v = 0; v < draft->mesh.nvert; v++) {
        const float *d = delta + 3 * (size_t)v;
        if (!is_finite(d)) return fail_delta(name ? name : "", v, err);
        count += !is_zero(d);
    }
    FaDraftShape *s;
    FA_TRY(push_shape(draft, name, count, rest_weight, &s, err));
    for (int v = 0; v < draft->mesh.nvert; v++)
        if (!is_zero(delta + 3 * (size_t)v)) add_entry(s, v, delta + 3 * (size_t)v);
    return FA_OK;
}

FaCode fai_draft_shape_sparse(FaRigDraft *draft, const char *name, int count, const int *row, const float *delta,
                              float rest_weight, FaError *err) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const float *d = delta + 3 * (size_t)i;
        FA_ASSERT(row[i] >= 0 && row[i] < draft->mesh.nvert && (i == 0 || row[i] > row[i - 1]));
        if (!is_finite(d)) return fail_delta(name ? name : "", row[i], err);
        kept += !is_zero(d);
    }
    FaDraftShape *s;
    FA_TRY(push_shape(draft, name, kept, rest_weight, &s, err));
    for (int i = 0; i < count; i++)
        if (!is_zero(delta + 3 * (size_t)i)) add_entry(s, row[i], delta + 3 * (size_t)i);
    return FA_OK;
}

// --- names --------------------------------------------------------------------------------------------------------

// Names that occur twice, by a hash table: files with very many shapes must not make this slow.
static FaCode note_duplicates(FaRigDraft *d, FaError *err) {
    uint64_t mask = 15;
    while (mask < 2 * (uint64_t)d->nshape) mask = 2 * mask + 1;
    int *slot = FA_NEW(mask + 1, int);
    if (!slot) return FA_FAIL_MEMORY(err);
    int count = 0, first = -1;
    for (int i = 0; i < d->nshape; i++) {
        const char *name = d->shape[i].name;
        uint64_t h = fai_hash64(name, strlen(name), 0) & mask;
        while (slot[h] && strcmp(d->shape[slot[h] - 1].name, name)) h = (h + 1) & mask;
        if (slot[h] && count++ == 0) first = i;
        slot[h] = i + 1;
    }
    fa_free(slot);
    if (count)
        fai_note_count(&d->notes, count, "duplicate-shape-names", FA_PLACE("shape %d", first),
                       "give each shape a name of its own; by name only the first is found",
                       "%d shapes have the name of an earlier one, such as '%.80s'", count, d->shape[first].name);
    return FA_OK;
}

static void match_name(FaDraftShape *s, const FaNamesMapEntry *e) {
    s->arkit = e ? e->arkit : fa_arkit_match(s->name, &s->half);
    if (e) s->half = e->half;
    if (s->arkit < 0) s->half = 0;
    if (e) s->said = e->arkit >= 0 ? FA_SAID_ARKIT : FA_SAID_NULL;
    if (s->said == FA_SAID_NULL) s->weight = 0; // silent at rest too
}

static FaCode match_names(FaRigDraft *d, const FaRigOptions *options, FaError *err) {
    FaNamesMap map = {0};
    if (options && options->map) FA_TRY(fai_names_map_load(options->map, &map, err));
    int hits = 0;
    for (int i = 0; i < d->nshape; i++) {
        const FaNamesMapEntry *e = fai_names_map_find(&map, d->shape[i].name);
        hits += e != NULL;
        match_name(&d->shape[i], e);
    }
    int unused = FA_MAX(map.count - hits, 0);
    if (unused)
        fai_note_count(&d->notes, unused, "map-unused", "",
                       "none needed for channels of a clip; else check the spelling, letter by letter",
                       "%d names of the names file are no shape of this rig", unused);
    if (map.count) d->names = fai_names_map_copy(d->arena, &map);
    bool copied = !map.count || d->names;
    fai_names_map_free(&map);
    if (!copied) return FA_FAIL_MEMORY(err);
    if (d->unnamed)
        fai_note_count(&d->notes, d->unnamed, "unnamed-shapes", "",
                       "name the shapes (in glTF: mesh.extras.targetNames)",
                       "%d shapes have no name in the file; they are called shape_000 and so on", d->unnamed);
    return note_duplicates(d, err);
}

// --- seams --------------------------------------------------------------------------------------------------------

// Per vertex the list of its entries over all shapes, in shape order.
typedef struct Columns {
    int *start;          // (nvert + 1)
    const float **delta; // (nentry)
    int *shape;          // (nentry)
} Columns;

static FaCode build_columns(const FaRigDraft *d, Columns *c, FaError *err) {
    int n = d->mesh.nvert;
    c->start = FA_NEW((size_t)n + 2, int);
    c->delta = FA_NEW((size_t)d->nentry, const float *);
    c->shape = FA_NEW((size_t)d->nentry, int);
    if (!c->start || !c->delta || !c->shape) return FA_FAIL_MEMORY(err);
    // counts are kept two places on, so that filling leaves start[v] at the first entry of v
    for (int s = 0; s < d->nshape; s++)
        for (int i = 0; i < d->shape[s].count; i++) c->start[d->shape[s].row[i] + 2]++;
    for (int v = 0; v < n; v++) c->start[v + 2] += c->start[v + 1];
    for (int s = 0; s < d->nshape; s++)
        for (int i = 0; i < d->shape[s].count; i++) {
            int at = c->start[d->shape[s].row[i] + 1]++;
            c->delta[at] = d->shape[s].delta + 3 * (size_t)i;
            c->shape[at] = s;
        }
    return FA_OK;
}

// Position and deltas compared by value bits; the two zeros are one.
static bool same_number(const float *a, const float *b) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

static uint64_t mix_numbers(const float *d, uint64_t seed) {
    float key[3] = {d[0] + 0.0f, d[1] + 0.0f, d[2] + 0.0f};
    return fai_hash64(key, sizeof key, seed);
}

static uint64_t vertex_hash(const FaRigDraft *d, const Columns *c, int v) {
    uint64_t h = mix_numbers(d->mesh.x + 3 * (size_t)v, 1);
    for (int i = c->start[v]; i < c->start[v + 1]; i++) h = mix_numbers(c->delta[i], h + (uint64_t)c->shape[i]);
    return h;
}

static bool same_vertex(const FaRigDraft *d, const Columns *c, int a, int b) {
    int n = c->start[a + 1] - c->start[a];
    if (n != c->start[b + 1] - c->start[b]) return false;
    if (!same_number(d->mesh.x + 3 * (size_t)a, d->mesh.x + 3 * (size_t)b)) return false;
    for (int i = 0; i < n; i++) {
        int p = c->start[a] + i, q = c->start[b] + i;
        if (c->shape[p] != c->shape[q] || !same_number(c->delta[p], c->delta[q])) return false;
    }
    return true;
}

// Join vertices that a format has split: same place, same motion in every shape, and one surface.
static FaCode weld(FaRigDraft *d, FaError *err) {
    int n = d->mesh.nvert, joined = 0;
    Columns c = {0};
    uint64_t mask = 15;
    while (mask < 2 * (uint64_t)n) mask = 2 * mask + 1;
    int *slot = FA_NEW(mask + 1, int), *same = FA_NEW(n, int), *map = FA_PUSH(d->arena, n, int);
    FaCode rc = slot && same && map ? build_columns(d, &c, err) : FA_FAIL_MEMORY(err);
    for (int v = 0; rc >= 0 && v < n; v++) {
        uint64_t h = vertex_hash(d, &c, v) & mask;
        while (slot[h] && !same_vertex(d, &c, slot[h] - 1, v)) h = (h + 1) & mask;
        if (!slot[h]) slot[h] = v + 1;
        same[v] = slot[h] - 1;
        joined += same[v] != v;
    }
    if (rc >= 0 && joined) rc = fai_weld_points(&d->mesh, same, map, err);
    if (rc >= 0 && joined) d->mesh.weld = map;
    fa_free(slot);
    fa_free(same);
    fa_free(c.start);
    fa_free(c.delta);
    fa_free(c.shape);
    return rc;
}

// --- finish -------------------------------------------------------------------------------------------------------

static bool is_identity(const double m[9]) {
    for (int i = 0; i < 9; i++)
        if (m[i] != (i % 4 == 0)) return false;
    return true;
}

// One product and one rounding per number where the matrix is diagonal, as it nearly always is. No negative zeros come
// out: blending starts from the neutral, and its zeros must have one sign (see blend.h).
static void transform(const double m[9], float *x) {
    double p[3] = {(double)x[0], (double)x[1], (double)x[2]};
    for (int k = 0; k < 3; k++) x[k] = (float)(m[3 * k] * p[0] + m[3 * k + 1] * p[1] + m[3 * k + 2] * p[2]) + 0.0f;
}

static FaCode transform_mesh(FaRigDraft *d, const double local[9], FaError *err) {
    for (int v = 0; v < d->mesh.nvert; v++) {
        float *x = d->mesh.x + 3 * (size_t)v;
        transform(local, x);
        if (!is_finite(x))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("vertex %d", v),
                           "repair the vertex in a modelling program and export again", "the position is out of range");
    }
    return FA_OK;
}

// Entries of all shapes, one after another; each draft shape is given back once it is copied.
static FaCode collect_shapes(FaRigDraft *d, const double local[9], FaRig *rig, FaError *err) {
    rig->nshape = d->nshape;
    rig->nentry = (int)d->nentry;
    rig->shape = FA_PUSH(d->arena, d->nshape, FaShape);
    rig->weight = FA_PUSH(d->arena, d->nshape, float);
    rig->row = FA_PUSH(d->arena, (size_t)d->nentry, int);
    rig->delta = FA_PUSH(d->arena, 3 * (size_t)d->nentry, float);
    if (!rig->shape || !rig->weight || !rig->row || !rig->delta) return FA_FAIL_MEMORY(err);
    bool plain = is_identity(local);
    int first = 0;
    for (int i = 0; i < d->nshape; i++) {
        FaDraftShape *s = &d->shape[i];
        rig->shape[i] = (FaShape){s->name, s->arkit, s->half, first, s->count, s->said};
        rig->weight[i] = s->weight;
        if (s->count) memcpy(rig->row + first, s->row, (size_t)s->count * sizeof *s->row);
        float *delta = rig->delta + 3 * (size_t)first;
        if (s->count) memcpy(delta, s->delta, 3 * (size_t)s->count * sizeof *delta);
        for (int k = 0; k < s->count && !plain; k++) {
            transform(local, delta + 3 * (size_t)k);
            if (!is_finite(delta + 3 * (size_t)k)) return fail_delta(s->name, rig->row[first + k], err);
        }
        first += s->count;
        free_shape(s);
    }
    return FA_OK;
}

static FaCode check_draft(const FaRigDraft *d, FaError *err) {
    if (d->mesh.nvert < 1)
        return FA_FAIL(err, FA_E_MESH, NULL, "export the mesh of the face", "the mesh has no vertices");
    return fai_mesh_check(&d->mesh, err);
}

static const char *copy_or_empty(FaArena *arena, const char *s) {
    return s ? fai_arena_strndup(arena, s, strlen(s)) : "";
}

// Everything that may fail, on a rig that shares the draft's arena.
static FaCode build(FaRigDraft *d, const FaRigHints *hints, const FaRigOptions *options, FaRig *rig, FaError *err) {
    FA_TRY(check_draft(d, err));
    FA_TRY(match_names(d, options, err));
    FaFrameInput in = {.mesh = &d->mesh,
                       .shape = d->shape,
                       .nshape = d->nshape,
                       .hints = hints,
                       .options = options,
                       .arena = d->arena,
                       .notes = &d->notes};
    bool scaled = false;
    for (int i = 0; i < 9; i++) scaled |= hints->linear[i] != 0;
    for (int i = 0; i < 9; i++) in.scale[i] = scaled ? hints->linear[i] : i % 4 == 0;
    FaFrame frame;
    FA_TRY(fai_frame_find(&in, &frame, err));
    rig->unit = frame.unit;
    rig->file_unit = frame.unit * (hints->file_unit > 0 ? hints->file_unit : 1);
    rig->unit_how = frame.unit_how;
    rig->axes_how = frame.axes_how;
    memcpy(rig->axes, frame.axes, sizeof rig->axes);
    for (int i = 0; i < 9; i++) rig->local[i] = frame.unit * in.scale[i];

    if (hints->splits_seams) FA_TRY(weld(d, err));
    FA_TRY(transform_mesh(d, rig->local, err));
    int bad = 0;
    FA_TRY(fai_mesh_triangulate(&d->mesh, d->arena, &bad, err));
    if (bad)
        fai_note_count(&d->notes, bad, "bad-polygons", "", "triangulate them in a modelling program",
                       "%d polygons cross themselves or have no area: cut into a plain fan", bad);
    FA_TRY(collect_shapes(d, rig->local, rig, err));
    rig->mesh = d->mesh;
    FA_TRY(fai_rig_hinge(rig, d->joint, d->njoint, options ? options->hinge : NULL, d->arena, err));
    rig->names = d->names;
    note_second_head(d);
    rig->file_mesh = d->file_mesh;
    rig->nfile_mesh = d->nfile_mesh;
    rig->name = copy_or_empty(d->arena, hints->name);
    rig->path = copy_or_empty(d->arena, hints->path);
    if (!rig->name || !rig->path) return FA_FAIL_MEMORY(err);
    return fa_rig_check(rig, err);
}

FaCode fai_draft_finish(FaRigDraft *draft, const FaRigHints *hints, const FaRigOptions *options, FaRig **rig,
                        FaError *err) {
    *rig = NULL;
    FaRigHints none = {0};
    FaRig *made = FA_NEW(1, FaRig);
    FaCode rc = made ? build(draft, hints ? hints : &none, options, made, err) : FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fa_free(made);
    } else {
        made->arena = draft->arena;
        made->notes = draft->notes;
        draft->arena = NULL;
        draft->notes = (FaNotes){0};
        *rig = made;
    }
    fai_draft_free(draft);
    return rc;
}

// --- a finished rig -----------------------------------------------------------------------------------------------

void fa_rig_free(FaRig *rig) {
    if (!rig) return;
    fa_clip_free(rig->clip);
    if (rig->source && rig->source_free) rig->source_free(rig->source);
    fai_notes_free(&rig->notes);
    fai_arena_free(rig->arena);
    fa_free(rig);
}

static FaCode check_shape(const FaRig *rig, int i, FaError *err) {
    const FaShape *s = &rig->shape[i];
    if (!s->name) return FA_FAIL(err, FA_E_MESH, FA_PLACE("shape %d", i), NULL, "the shape has no name");
    if (s->first < 0 || s->count < 0 || s->first > rig->nentry || s->count > rig->nentry - s->first)
        return FA_FAIL(err, FA_E_MESH, FA_PLACE("shape '%.80s'", s->name), NULL, "its entries lie outside the rig's");
    if (s->arkit < -1 || s->arkit >= FA_ARKIT_COUNT || s->half < -1 || s->half > 1)
        return FA_FAIL(err, FA_E_MESH, FA_PLACE("shape '%.80s'", s->name), NULL, "its ARKit number is out of range");
    if (!isfinite(rig->weight[i]))
        return FA_FAIL(err, FA_E_MESH, FA_PLACE("shape '%.80s'", s->name), NULL,
                       "the weight at rest is not a finite number");
    for (int k = s->first; k < s->first + s->count; k++) {
        if (rig->row[k] < 0 || rig->row[k] >= rig->mesh.nvert || (k > s->first && rig->row[k] <= rig->row[k - 1]))
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("shape '%.80s', entry %d", s->name, k - s->first), NULL,
                           "vertex %d is out of range or out of order", rig->row[k]);
        if (!is_finite(rig->delta + 3 * (size_t)k)) return fail_delta(s->name, rig->row[k], err);
    }
    return FA_OK;
}

FaCode fa_rig_check(const FaRig *rig, FaError *err) {
    FA_TRY(fai_mesh_check(&rig->mesh, err));
    if (rig->nshape < 0 || rig->nentry < 0)
        return FA_FAIL(err, FA_E_MESH, NULL, NULL, "a count of the rig is negative");
    if ((rig->nshape && (!rig->shape || !rig->weight)) || (rig->nentry && (!rig->row || !rig->delta)))
        return FA_FAIL(err, FA_E_MESH, NULL, NULL, "the rig has counts but no arrays");
    for (int i = 0; i < rig->nshape; i++) FA_TRY(check_shape(rig, i, err));
    for (int i = 0; i < 9; i++)
        if (!isfinite(rig->local[i]) || !isfinite(rig->axes[i]))
            return FA_FAIL(err, FA_E_MESH, NULL, NULL, "the rig's axes are not finite numbers");
    return rig->clip ? fa_clip_check(rig->clip, err) : FA_OK;
}

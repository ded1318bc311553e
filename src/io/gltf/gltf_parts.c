// Which other meshes of a document belong to the face's head, and what each of them follows.
//
// A mesh belongs to the head if it lies in the head's box, which follows from what the face's shapes move; a mesh that
// shares shapes belongs to it if what they move lies there (a body's collar). So a second head a step aside, clothes
// and props stay what they are. Of those that belong:
//   shapes  it has some of the face's, by the rule of rig/bind.h with the face's shapes as channels: the same weights
//   jaw     lower teeth, tongue, by name; else where the skin next to it goes with the jaw; and no shape does that
//   skull   the others; of upper and lower teeth in one mesh the lower row goes with the jaw (rig/teeth_rows.h)
#include "io/gltf/gltf_parse.h"

#include "math/mat3.h"
#include "rig/names.h"
#include "rig/rig_frame.h"
#include "rig/teeth_rows.h"

#include <ctype.h>

enum { MAX_PARTS = 256, SAMPLES = 64, READ_BASE = 64 << 20, READ_PER_BYTE = 4 };

typedef struct Finder {
    FaGltf *doc;
    FaRig *rig;
    FaArena *scratch;
    double canon[16];    // canonical, m = canon * the document's world
    double lo[3], hi[3]; // the head's box, canonical, m
    double width;        // of what the shapes move, m
    float *with_jaw;     // share of the face's vertices in the jaw's motion; NULL: not asked yet (nvert)
    FaJaw jaw;
    size_t left; // bytes that may still be read: many nodes may show one mesh
} Finder;

// What was read of one mesh.
typedef struct Seen {
    int n;
    float *x;       // canonical, m                                              (n x 3)
    float *reach;   // how far a shape moves it at most, file units              (n)
    float *largest; // how far each target moves a vertex at most, file units    (ntarget)
} Seen;

bool fai_gltf_below(const FaGltf *doc, int node, int above) {
    while (node >= 0 && node != above) node = doc->node[node].parent;
    return above >= 0 && node == above;
}

// --- places -------------------------------------------------------------------------------------------------------

static void apply(const double m[16], const float *p, float *out) {
    double q[3];
    for (int k = 0; k < 3; k++)
        q[k] = m[k] * (double)p[0] + m[4 + k] * (double)p[1] + m[8 + k] * (double)p[2] + m[12 + k];
    for (int k = 0; k < 3; k++) out[k] = (float)q[k];
}

// world = face * file, rig = local * file, canonical = axes * rig.
static bool find_frame(Finder *f) {
    double face[16], back[16], to_rig[16] = {[15] = 1}, axes[16] = {[15] = 1};
    fai_gltf_face_world(f->doc, face);
    if (!fai_gltf_invert(face, back)) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            to_rig[4 * j + i] = f->rig->local[3 * i + j];
            axes[4 * j + i] = f->rig->axes[3 * i + j];
        }
    fai_gltf_multiply(to_rig, back, f->canon);
    fai_gltf_multiply(axes, f->canon, f->canon);
    return true;
}

// The box around what the shapes move, and what of a head is beside, above and behind it.
static FaCode find_box(Finder *f, FaError *err) {
    const FaRig *rig = f->rig;
    float *reach = FA_PUSH(f->scratch, rig->mesh.nvert, float), most = 0;
    if (!reach) return FA_FAIL_MEMORY(err);
    for (int e = 0; e < rig->nentry; e++) {
        double d[3];
        fai_v3_load(rig->delta, e, d);
        float *r = &reach[rig->row[e]];
        *r = FA_MAX(*r, (float)fai_v3_norm(d));
        most = FA_MAX(most, *r);
    }
    for (int k = 0; k < 3; k++) f->lo[k] = INFINITY, f->hi[k] = -INFINITY;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double p[3], q[3];
        if (reach[v] < 0.05f * most) continue;
        fai_v3_load(rig->mesh.x, v, p);
        fai_m3_mulv(rig->axes, p, q);
        for (int k = 0; k < 3; k++) f->lo[k] = fmin(f->lo[k], q[k]), f->hi[k] = fmax(f->hi[k], q[k]);
    }
    double w = f->hi[0] - f->lo[0];
    f->width = w;
    f->lo[0] -= 0.3 * w;
    f->hi[0] += 0.3 * w;
    f->lo[1] -= 0.2 * w;
    f->hi[1] += 0.8 * w;
    f->lo[2] = fmin(f->lo[2], f->hi[2] - 2 * w) - 0.1 * w;
    f->hi[2] += 0.3 * w;
    return FA_OK;
}

static bool in_box(const Finder *f, const float *x) {
    for (int k = 0; k < 3; k++)
        if (!((double)x[k] >= f->lo[k] && (double)x[k] <= f->hi[k])) return false;
    return true;
}

// Share of the vertices in the head's box: of all, or of those that shapes move.
static double share_inside(const Finder *f, const Seen *s, bool moved) {
    float most = 0;
    int all = 0, in = 0;
    for (int v = 0; v < s->n; v++) most = FA_MAX(most, s->reach[v]);
    for (int v = 0; v < s->n; v++) {
        if (moved && !(s->reach[v] > 0.05f * most)) continue;
        all++;
        in += in_box(f, s->x + 3 * (size_t)v);
    }
    return all ? (double)in / all : 0;
}

// --- reading ------------------------------------------------------------------------------------------------------

static bool readable(const FaGltf *doc, const FaGltfPrim *p) {
    if (p->mode < FA_GLTF_TRIANGLES || p->position < 0 || !fai_gltf_has_data(doc, p->position)) return false;
    return doc->accessor[p->position].view >= 0 || !fai_gltf_extension(p->json, "KHR_draco_mesh_compression");
}

static FaCode read_targets(const Finder *f, const FaGltfPrim *p, float *reach, float *largest, FaError *err) {
    size_t n = (size_t)f->doc->accessor[p->position].count;
    float *d = FA_NEW(3 * n, float);
    FaCode rc = d ? FA_OK : FA_FAIL_MEMORY(err);
    for (int t = 0; t < p->ntarget && rc >= 0; t++) {
        if (p->target[t] < 0 || !fai_gltf_has_data(f->doc, p->target[t])) continue;
        rc = fai_gltf_floats(f->doc, p->target[t], d, err);
        for (size_t v = 0; v < n && rc >= 0; v++) {
            double q[3];
            fai_v3_load(d, (int)v, q);
            float len = (float)fai_v3_norm(q);
            reach[v] = FA_MAX(reach[v], len);
            largest[t] = FA_MAX(largest[t], len);
        }
    }
    fa_free(d);
    return rc;
}

// s->n stays 0 where there is nothing to see, or too much to read.
static FaCode read_mesh(Finder *f, int mesh, const double world[16], Seen *s, FaError *err) {
    const FaGltf *doc = f->doc;
    const FaGltfMesh *m = &doc->mesh[mesh];
    double to[16];
    size_t n = 0, cost = 0;
    fai_gltf_multiply(f->canon, world, to);
    for (int i = 0; i < m->nprim; i++) {
        if (!readable(doc, &m->prim[i])) continue;
        size_t count = (size_t)doc->accessor[m->prim[i].position].count;
        n += count;
        cost += 12 * count * (1 + (size_t)m->prim[i].ntarget);
    }
    *s = (Seen){0};
    if (!n || cost > f->left || n > INT32_MAX / 64) return FA_OK;
    f->left -= cost;
    s->x = FA_PUSH(f->scratch, 3 * n, float);
    s->reach = FA_PUSH(f->scratch, n, float);
    s->largest = FA_PUSH(f->scratch, m->ntarget, float);
    if (!s->x || !s->reach || !s->largest) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < m->nprim; i++) {
        const FaGltfPrim *p = &m->prim[i];
        if (!readable(doc, p)) continue;
        int count = doc->accessor[p->position].count;
        float *x = s->x + 3 * (size_t)s->n;
        FA_TRY(fai_gltf_floats(doc, p->position, x, err));
        for (int v = 0; v < count; v++) apply(to, x + 3 * (size_t)v, x + 3 * (size_t)v);
        if (p->ntarget) FA_TRY(read_targets(f, p, s->reach + s->n, s->largest, err));
        s->n += count;
    }
    return FA_OK;
}

// What moves a mesh, and where it is at rest: its node, or the joint that holds most of it.
static FaCode find_carrier(const Finder *f, FaGltfPart *part, double world[16], FaError *err) {
    const FaGltf *doc = f->doc;
    const FaGltfNode *node = &doc->node[part->node];
    const FaGltfMesh *m = &doc->mesh[node->mesh];
    part->carrier = part->node;
    part->skinned = node->skin >= 0 && fai_gltf_skinned(m);
    if (part->skinned) {
        const FaGltfSkin *s = &doc->skin[node->skin];
        double *sum = FA_NEW(s->njoint, double), bind[16];
        FaCode rc = sum ? FA_OK : FA_FAIL_MEMORY(err);
        for (int i = 0; i < m->nprim && rc >= 0; i++)
            rc = fai_gltf_joint_sums(doc, &m->prim[i], NULL, s->njoint, sum, err);
        int best = 0;
        for (int i = 1; i < s->njoint && rc >= 0; i++)
            if (sum[i] > sum[best]) best = i;
        fa_free(sum);
        FA_TRY(rc);
        part->carrier = s->joint[best];
        fai_gltf_node_world(doc, part->carrier, world);
        if (fai_gltf_inverse_bind(doc, s, best, bind)) fai_gltf_multiply(world, bind, world);
        return FA_OK;
    }
    fai_gltf_node_world(doc, part->node, world);
    return FA_OK;
}

// --- shapes -------------------------------------------------------------------------------------------------------

static FaShape shape_of(const Finder *f, const char *name, int first, int count) {
    FaShape s = {.name = name, .first = first, .count = count};
    const FaNamesMapEntry *e = fai_names_map_find(f->rig->names, name);
    s.arkit = e ? e->arkit : fa_arkit_match(name, &s.half);
    if (e) s.half = e->half;
    if (s.arkit < 0) s.half = 0;
    if (e) s.said = e->arkit >= 0 ? FA_SAID_ARKIT : FA_SAID_NULL;
    return s;
}

// The targets as shapes of a rig that has no mesh: names, and one entry each that tells how far it moves.
static FaCode read_shapes(const Finder *f, int mesh, const Seen *s, FaRig **out, FaError *err) {
    int n = f->doc->mesh[mesh].ntarget;
    FaArena *arena = f->rig->arena;
    const char **name = FA_PUSH(f->scratch, n, const char *);
    FaRig *r = FA_PUSH(arena, 1, FaRig);
    if (!name || !r) return FA_FAIL_MEMORY(err);
    r->shape = FA_PUSH(arena, n, FaShape);
    r->row = FA_PUSH(arena, n, int);
    r->delta = FA_PUSH(arena, 3 * (size_t)n, float);
    r->weight = FA_PUSH(arena, n, float);
    if (!r->shape || !r->row || !r->delta || !r->weight) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_gltf_target_names(f->doc, mesh, arena, NULL, name, err));
    r->nshape = n;
    r->names = f->rig->names;
    for (int i = 0; i < n; i++) {
        bool moves = s->largest[i] > 0;
        r->shape[i] = shape_of(f, name[i], r->nentry, moves);
        if (moves) r->delta[3 * (size_t)r->nentry++] = s->largest[i];
    }
    *out = r;
    return FA_OK;
}

FaCode fai_gltf_part_binding(const FaRig *face, int nshape, const FaGltfPart *part, FaBinding *binding, FaError *err) {
    const char **name = FA_NEW(nshape, const char *);
    if (!name) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < nshape; i++) name[i] = face->shape[i].name;
    FaClip channels = {.nchan = nshape, .name = name};
    FaCode rc = fa_clip_bind(&channels, part->shapes, binding, err);
    fa_free(name);
    return rc;
}

// Whether it shares shapes, whether they move it, and whether the face's jawOpen is among those.
typedef struct Shared {
    bool any, moves, jaw;
} Shared;

static FaCode find_shared(const Finder *f, const FaGltfPart *part, Shared *shared, FaError *err) {
    FaBinding b;
    FA_TRY(fai_gltf_part_binding(f->rig, f->rig->nshape, part, &b, err));
    const FaRig *r = part->shapes;
    for (int i = 0; i < b.nshape; i++) {
        bool moves = r->shape[i].count > 0;
        if (b.chan[i] < 0) continue;
        shared->any = true;
        shared->moves |= moves;
        shared->jaw |= moves && r->shape[i].arkit == f->rig->shape[b.chan[i]].arkit &&
                       r->shape[i].arkit == fa_arkit_match("jawOpen", NULL);
        shared->jaw |= moves && f->jaw.found && b.chan[i] == f->jaw.shape[0];
    }
    fa_binding_free(&b);
    return FA_OK;
}

// --- names --------------------------------------------------------------------------------------------------------

// Names of the mesh and of what it hangs on below the face's own ancestors, in small letters, nothing between the
// words.
static void words_of(const FaGltf *doc, int node, char text[256]) {
    size_t n = 0;
    const char *name = doc->mesh[doc->node[node].mesh].name;
    for (int up = 0; up < 4; up++) {
        for (const char *s = name; *s && n < 250; s++)
            if (isalnum((unsigned char)*s)) text[n++] = (char)tolower((unsigned char)*s);
        if (n < 250) text[n++] = ' ';
        if (node < 0 || fai_gltf_below(doc, doc->face.node, node)) break;
        name = doc->node[node].name;
        node = doc->node[node].parent;
    }
    text[n] = 0;
}

static bool says(const char *text, const char *const *word) {
    for (; *word; word++)
        if (strstr(text, *word)) return true;
    return false;
}

static const char *const mouth_words[] = {"teeth", "tooth",  "dent",  "gum",   "tongue",  "mouth",
                                          "jaw",   "mandib", "zunge", "zaehn", "gengiva", NULL};
static const char *const lower_words[] = {"low", "bottom", "btm", "mandib", "inferior", "teethdown", "unten", NULL};
static const char *const upper_words[] = {"upp", "top", "maxill", "superior", "teethup", "oben", NULL};
static const char *const tongue_words[] = {"tongue", "zunge", "lingua", NULL};
static const char *const skull_words[] = {"eye", "brow", "lash", "hair", "hat", "ear", "glass", "iris", "cornea", NULL};
static const char *const hair_words[] = {"hair", "beard", "braid", "ponytail", "fringe", NULL};

static const char *name_of(const FaGltf *doc, int node) {
    const char *name = doc->mesh[doc->node[node].mesh].name;
    for (int up = 0; !name[0] && node >= 0 && up < 4; up++, node = doc->node[node].parent) name = doc->node[node].name;
    return name;
}

// --- the jaw ------------------------------------------------------------------------------------------------------

static FaCode need_jaw(Finder *f, FaError *err) {
    if (f->with_jaw) return FA_OK;
    f->with_jaw = FA_PUSH(f->scratch, f->rig->mesh.nvert, float);
    return f->with_jaw ? fai_fit_jaw(f->rig, &f->jaw, f->with_jaw, NULL, err) : FA_FAIL_MEMORY(err);
}

static float nearest_share(const Finder *f, const float *canonical) {
    const FaMesh *mesh = &f->rig->mesh;
    double c[3], p[3], best = INFINITY;
    int at = 0;
    fai_v3_load(canonical, 0, c);
    for (int k = 0; k < 3; k++) p[k] = f->rig->axes[k] * c[0] + f->rig->axes[3 + k] * c[1] + f->rig->axes[6 + k] * c[2];
    for (int v = 0; v < mesh->nvert; v++) {
        double q[3];
        fai_v3_load(mesh->x, v, q);
        fai_v3_sub(q, p, q);
        double d = fai_v3_dot(q, q);
        if (d < best) best = d, at = v;
    }
    return f->with_jaw[at];
}

// How much of the mesh lies next to skin that goes with the jaw, 0..1.
static double jaw_share(const Finder *f, const Seen *s) {
    int n = FA_MIN(s->n, SAMPLES), with = 0;
    for (int i = 0; i < n; i++) with += nearest_share(f, s->x + 3 * (size_t)((int64_t)i * s->n / n)) > 0.5f;
    return n ? (double)with / n : 0;
}

// Where the lips meet: as high as skin that goes with the jaw comes in the middle of what is in front of the teeth.
static double lips_of(const Finder *f, const Seen *s) {
    const FaRig *rig = f->rig;
    double w = f->width, front = -INFINITY, middle = 0, high = -INFINITY;
    for (int v = 0; v < s->n; v++) {
        front = fmax(front, (double)s->x[3 * v + 2]);
        middle += (double)s->x[3 * v] / s->n;
    }
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double p[3], q[3];
        if (!(f->with_jaw[v] > 0.5f)) continue;
        fai_v3_load(rig->mesh.x, v, p);
        fai_m3_mulv(rig->axes, p, q);
        if (q[2] > front && fabs(q[0] - middle) < 0.05 * w) high = fmax(high, q[1]);
    }
    return high;
}

// A node below the part's is turned rigidly: that needs one scale in all directions. And nobody else shows the mesh.
static bool can_be_parted(const Finder *f, const FaGltfPart *part) {
    const FaGltf *doc = f->doc;
    double w[16], r[9], stretch[9];
    int users = 0, mesh = doc->node[part->node].mesh;
    for (int i = 0; i < doc->nnode; i++) users += doc->node[i].mesh == mesh;
    fai_gltf_node_world(doc, part->node, w);
    if (users != 1 || doc->mesh[mesh].ntarget || part->skinned || !fai_gltf_split(w, r, stretch)) return false;
    for (int i = 0; i < 9; i++)
        if (fabs(stretch[i] - (i % 4 ? 0 : stretch[0])) > 1e-3 * fabs(stretch[0])) return false;
    return true;
}

// Only the vertices that triangles use: those of a row that was parted before are there still.
static FaCode pack_teeth(const Finder *f, const Seen *s, int *tri, FaTeeth *t, int **number, FaError *err) {
    float *x = FA_PUSH(f->scratch, 3 * (size_t)s->n, float);
    *number = FA_PUSH(f->scratch, s->n, int); // 1 + its place among those used
    if (!x || !*number) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < 3 * t->ntri; i++) {
        int *to = &(*number)[tri[i]];
        if (!*to) {
            memcpy(x + 3 * (size_t)t->n, s->x + 3 * (size_t)tri[i], 3 * sizeof *x);
            *to = ++t->n;
        }
        tri[i] = *to - 1;
    }
    t->x = x;
    t->tri = tri;
    return FA_OK;
}

static FaCode look_for_rows(const Finder *f, const Seen *s, int *tri, int ntri, unsigned char *lower, FaRows *rows,
                            FaError *err) {
    FaTeeth teeth = {.ntri = ntri, .lips = lips_of(f, s), .size = f->width};
    unsigned char *packed = FA_PUSH(f->scratch, s->n, unsigned char);
    int *number;
    if (!packed) return FA_FAIL_MEMORY(err);
    if (!isfinite(teeth.lips)) return FA_OK;
    FA_TRY(pack_teeth(f, s, tri, &teeth, &number, err));
    FA_TRY(fai_teeth_rows(&teeth, packed, rows, err));
    for (int v = 0; v < s->n; v++) lower[v] = number[v] && packed[number[v] - 1];
    return FA_OK;
}

static FaCode find_lower_row(Finder *f, FaGltfPart *part, const Seen *s, FaRows *rows, FaError *err) {
    int *tri, ntri;
    bool plain;
    *rows = FA_ROWS_ONE;
    FA_TRY(fai_gltf_mesh_triangles(f->doc, f->doc->node[part->node].mesh, &tri, &ntri, &plain, err));
    unsigned char *lower = FA_PUSH(f->rig->arena, s->n, unsigned char);
    FaCode rc = lower ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && plain) rc = look_for_rows(f, s, tri, ntri, lower, rows, err);
    fa_free(tri);
    FA_TRY(rc);
    if (*rows == FA_ROWS_TWO && !can_be_parted(f, part)) *rows = FA_ROWS_JOINED;
    if (*rows == FA_ROWS_TWO) part->lower = lower;
    return FA_OK;
}

// Does it go with the jaw, or its lower row? *split: it should.
static FaCode goes_with_jaw(Finder *f, FaGltfPart *part, const Seen *s, const char *words, bool *split, FaError *err) {
    *split = false;
    bool mouth = says(words, mouth_words), low = mouth && says(words, lower_words);
    FaRows rows = FA_ROWS_ONE;
    if (mouth && !low && says(words, upper_words)) return FA_OK;
    if (!mouth && says(words, skull_words) && !says(words, hair_words)) return FA_OK;
    FA_TRY(need_jaw(f, err));
    if (!f->jaw.found) return FA_OK;
    if (mouth && !low) FA_TRY(find_lower_row(f, part, s, &rows, err));
    if (rows == FA_ROWS_TWO) return FA_OK;
    part->jaw = low || says(words, tongue_words) || jaw_share(f, s) > 0.8;
    *split = !part->jaw && rows == FA_ROWS_JOINED;
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode look_at(Finder *f, FaGltfPart *part, FaRigPart *out, FaError *err) {
    FaGltf *doc = f->doc;
    int mesh = doc->node[part->node].mesh;
    double world[16];
    Seen s;
    Shared shared = {0};
    bool split;
    char words[256];
    *out = (FaRigPart){.name = name_of(doc, part->node), .node = part->node};
    if (mesh == doc->face.mesh) return FA_OK; // another head, which is the same
    FA_TRY(find_carrier(f, part, world, err));
    FA_TRY(read_mesh(f, mesh, world, &s, err));
    if (!s.n) return FA_OK;
    words_of(doc, part->node, words);
    double inside = share_inside(f, &s, false);
    bool here = inside >= 0.9 || (inside >= 0.3 && says(words, hair_words));
    bool held = !part->skinned || fai_gltf_below(doc, part->carrier, doc->face.carrier);
    if (doc->mesh[mesh].ntarget && share_inside(f, &s, true) >= (here ? 0 : 0.9)) {
        FA_TRY(need_jaw(f, err));
        FA_TRY(read_shapes(f, mesh, &s, &part->shapes, err));
        FA_TRY(find_shared(f, part, &shared, err));
    }
    if (!shared.any) part->shapes = NULL;
    if (!shared.moves && !(here && held)) return FA_OK;
    out->how = shared.moves ? FA_PART_SHAPES : FA_PART_SKULL;
    if (!here || shared.jaw || part->skinned) return FA_OK;
    FA_TRY(goes_with_jaw(f, part, &s, words, &split, err));
    out->split = split && !shared.moves;
    if (part->jaw) out->how = FA_PART_JAW;
    return FA_OK;
}

// The lowest node above the face and all parts that are moved by their nodes, if it is above nothing else.
static int find_mover(const FaGltf *doc, const FaRig *rig) {
    const FaGltfParts *parts = &doc->parts;
    int at = doc->face.carrier;
    if (at != doc->face.node) return at; // a joint
    for (int i = 0; i < parts->n && at >= 0; i++)
        while (at >= 0 && !parts->part[i].skinned && !fai_gltf_below(doc, parts->part[i].node, at))
            at = doc->node[at].parent;
    if (at < 0) return doc->face.carrier;
    for (int n = 0; n < doc->nnode; n++) {
        bool follows = n == doc->face.node || doc->node[n].mesh < 0;
        for (int i = 0; i < parts->n && !follows; i++) follows = parts->part[i].node == n;
        if (!follows && fai_gltf_below(doc, n, at)) return doc->face.carrier;
    }
    for (int s = 0; s < doc->nskin && rig; s++) // nor above the joints of something else
        for (int k = 0; k < doc->skin[s].njoint; k++)
            if (fai_gltf_below(doc, doc->skin[s].joint[k], at)) return doc->face.carrier;
    return at;
}

static FaCode name_lower_row(Finder *f, FaGltfPart *part, const FaRigPart *upper, FaError *err) {
    part->lower_name = fai_arena_printf(f->rig->arena, "%.100s.lower", upper->name[0] ? upper->name : "teeth");
    if (!part->lower_name) return FA_FAIL_MEMORY(err);
    f->rig->part[f->rig->npart++] =
        (FaRigPart){.name = part->lower_name, .node = part->node, .how = FA_PART_JAW, .lower = true};
    return FA_OK;
}

static FaCode look_at_all(Finder *f, FaError *err) {
    FaGltf *doc = f->doc;
    int n = 0, looked = 0;
    for (int i = 0; i < doc->nnode; i++) n += doc->node[i].mesh >= 0 && i != doc->face.node;
    n = FA_MIN(n, MAX_PARTS);
    f->rig->part = FA_PUSH(f->rig->arena, 2 * (size_t)n, FaRigPart); // each may have a lower row
    doc->parts.part = FA_PUSH(f->rig->arena, n, FaGltfPart);
    if (!f->rig->part || !doc->parts.part) return FA_FAIL_MEMORY(err);
    FA_TRY(find_box(f, err));
    for (int i = 0; i < doc->nnode && looked < n; i++) {
        if (doc->node[i].mesh < 0 || i == doc->face.node) continue;
        FaRigPart *out = &f->rig->part[f->rig->npart++];
        looked++;
        FaGltfPart part = {.node = i};
        FaMark mark = fai_arena_mark(f->scratch);
        bool had_jaw = f->with_jaw != NULL;
        FA_TRY(look_at(f, &part, out, err));
        if (had_jaw || !f->with_jaw) fai_arena_release(f->scratch, mark); // else the jaw's shares are above the mark
        if (part.lower) FA_TRY(name_lower_row(f, &part, out, err));
        if (out->how != FA_PART_ALONE) doc->parts.part[doc->parts.n++] = part;
    }
    doc->parts.jaw = f->jaw;
    doc->parts.mover = find_mover(doc, f->rig);
    return FA_OK;
}

FaCode fai_gltf_find_parts(FaGltf *doc, FaRig *rig, FaError *err) {
    doc->parts = (FaGltfParts){.mover = doc->face.carrier};
    Finder f = {.doc = doc, .rig = rig, .left = READ_BASE};
    size_t more;
    if (doc->face.node < 0 || !find_frame(&f)) return FA_OK;
    if (!__builtin_mul_overflow(doc->bytes, (size_t)READ_PER_BYTE, &more)) f.left += more;
    f.scratch = fai_arena_new(0);
    FaCode rc = f.scratch ? look_at_all(&f, err) : FA_FAIL_MEMORY(err);
    fai_arena_free(f.scratch);
    return rc;
}

// Bones: skull, jaw, teeth and eyeballs, told by name where meshes have one, by form and motion where they are parts of
// the rig's own mesh. Which of them go with the jaw is told by jawOpen where the rig has it, else by name.
#include "face/bones.h"

#include "base/file.h"
#include "math/mat3.h"
#include "render/subject.h"
#include "rig/jaw.h"

#include <ctype.h>
#include <math.h>

enum { MAX_BONES = 64 };
static const double JAW_MOVES = 2e-3; // m at jawOpen = 1: a part that moves more goes with the jaw

typedef struct Collector {
    const FaRig *rig;
    FaArena *arena;
    int count;
    FaBone *bone;
    FaNotes *notes;
} Collector;

static bool has(const char *name, const char *word) {
    size_t n = strlen(word);
    for (; *name; name++) {
        size_t i = 0;
        while (i < n && name[i] && tolower((unsigned char)name[i]) == word[i]) i++;
        if (i == n) return true;
    }
    return false;
}

bool fai_bone_kind_of_name(const char *name, FaBoneKind *kind) {
    bool lower = has(name, "lower") || has(name, "bottom") || has(name, "mandib");
    if (has(name, "teeth") || has(name, "tooth") || has(name, "dentur"))
        *kind = lower ? FA_BONE_TEETH_LOWER : FA_BONE_TEETH_UPPER;
    else if (has(name, "mandib") || (has(name, "jaw") && !has(name, "upper")))
        *kind = FA_BONE_JAW;
    else if (has(name, "skull") || has(name, "crani") || has(name, "maxill") || has(name, "jaw"))
        *kind = FA_BONE_SKULL;
    else if (fai_material_of_name(name) == FA_RENDER_EYE)
        *kind = FA_BONE_EYE;
    else
        return false;
    return true;
}

// --- taking triangles -----------------------------------------------------------------------------------------------

// Copy the triangles with keep[t] == key, vertices welded, as a bone. Nothing for none.
static FaCode take(Collector *c, const FaMesh *mesh, const int *keep, int key, const char *name, FaBoneKind kind,
                   bool with_jaw, FaError *err) {
    if (c->count >= MAX_BONES) return FA_OK;
    FaBone b = {.kind = kind, .with_jaw = with_jaw};
    snprintf(b.name, sizeof b.name, "%s", name);
    int *id = FA_NEW(mesh->nvert, int);
    FaCode rc = FA_OK;
    if (!id) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < mesh->ntri; t++) {
        if (keep && keep[t] != key) continue;
        const int v[3] = {fai_weld(mesh, mesh->tri[3 * (size_t)t]), fai_weld(mesh, mesh->tri[3 * (size_t)t + 1]),
                          fai_weld(mesh, mesh->tri[3 * (size_t)t + 2])};
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        b.ntri++;
        for (int k = 0; k < 3; k++)
            if (!id[v[k]]) id[v[k]] = ++b.nvert;
    }
    if (b.ntri == 0) goto done;
    b.x = FA_PUSH(c->arena, 3 * (size_t)b.nvert, float);
    b.tri = FA_PUSH(c->arena, 3 * (size_t)b.ntri, int);
    if (!b.x || !b.tri) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    for (int v = 0; v < mesh->nvert; v++)
        if (id[v]) memcpy(b.x + 3 * (size_t)(id[v] - 1), mesh->x + 3 * (size_t)v, 3 * sizeof(float));
    for (int t = 0, n = 0; t < mesh->ntri; t++) {
        if (keep && keep[t] != key) continue;
        int v[3];
        for (int k = 0; k < 3; k++) v[k] = id[fai_weld(mesh, mesh->tri[3 * (size_t)t + k])] - 1;
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
        memcpy(b.tri + 3 * (size_t)n++, v, sizeof v);
    }
    FaTopology topo;
    FA_TRY_GOTO(done, rc,
                fai_topology_build(&(FaMesh){.nvert = b.nvert, .x = b.x, .ntri = b.ntri, .tri = b.tri}, &topo, err));
    b.closed = topo.boundary == 0 && topo.nonmanifold == 0;
    fai_topology_free(&topo);
    c->bone[c->count++] = b;
done:
    fa_free(id);
    return rc;
}

// --- other meshes of a file -----------------------------------------------------------------------------------------

// Which parts of a mesh go with the jaw: those that jawOpen moves; where it says nothing (d NULL), the lower row if
// there are two: then all together are much taller than any part, and what lies below the middle is lower. lower: 0 or
// 1 (nparts).
static FaCode lower_parts(const Collector *c, const FaMesh *mesh, const FaTopology *topo, const float *d, int *lower,
                          FaError *err) {
    double *sum = FA_NEW(3 * (size_t)topo->nparts, double), *range = FA_NEW(2 * (size_t)topo->nparts, double);
    double low = INFINITY, high = -INFINITY, tall = 0;
    if (!sum || !range) {
        fa_free(sum);
        fa_free(range);
        return FA_FAIL_MEMORY(err);
    }
    for (int p = 0; p < topo->nparts; p++) range[2 * p] = INFINITY, range[2 * p + 1] = -INFINITY;
    for (int v = 0; v < mesh->nvert; v++) {
        int p = topo->part[fai_weld(mesh, v)];
        if (p < 0) continue;
        const float *x = mesh->x + 3 * (size_t)v, *e = d ? d + 3 * (size_t)v : NULL;
        double up = 0;
        for (int k = 0; k < 3; k++) up += c->rig->axes[3 + k] * (double)x[k];
        if (e) sum[3 * p] += sqrt((double)e[0] * e[0] + (double)e[1] * e[1] + (double)e[2] * e[2]);
        sum[3 * p + 1] += up;
        sum[3 * p + 2]++;
        range[2 * p] = fmin(range[2 * p], up);
        range[2 * p + 1] = fmax(range[2 * p + 1], up);
    }
    for (int p = 0; p < topo->nparts; p++) {
        low = fmin(low, range[2 * p]);
        high = fmax(high, range[2 * p + 1]);
        tall = fmax(tall, range[2 * p + 1] - range[2 * p]);
    }
    for (int p = 0; p < topo->nparts; p++) {
        double n = fmax(sum[3 * p + 2], 1);
        lower[p] = d ? sum[3 * p] > JAW_MOVES * n : high - low > 1.6 * tall && sum[3 * p + 1] < 0.5 * (low + high) * n;
    }
    fa_free(sum);
    fa_free(range);
    return FA_OK;
}

// One mesh may hold both rows of teeth.
static FaCode add_teeth(Collector *c, const FaMesh *mesh, const float *d, const char *name, FaError *err) {
    FaTopology topo;
    FA_TRY(fai_topology_build(mesh, &topo, err));
    FaCode rc = FA_OK;
    int *part = FA_NEW(mesh->ntri, int), *lower = FA_NEW(topo.nparts, int);
    if (!part || !lower) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, lower_parts(c, mesh, &topo, d, lower, err));
    for (int t = 0; t < mesh->ntri; t++) {
        int p = topo.part[fai_weld(mesh, mesh->tri[3 * (size_t)t])];
        part[t] = p < 0 ? -1 : lower[p];
    }
    bool both = false;
    for (int p = 1; p < topo.nparts; p++) both |= lower[p] != lower[0];
    for (int low = 0; low < 2 && rc >= 0; low++) {
        char text[64];
        snprintf(text, sizeof text, "%.50s%s", name, !both ? "" : low ? "_lower" : "_upper");
        rc = take(c, mesh, part, low, text, low ? FA_BONE_TEETH_LOWER : FA_BONE_TEETH_UPPER, low, err);
    }
done:
    fa_free(part);
    fa_free(lower);
    fai_topology_free(&topo);
    return rc;
}

// A mesh of its own, in the rig's frame; `own` has its shapes.
static FaCode add_mesh(Collector *c, const FaRig *own, const FaMesh *mesh, const char *name, FaBoneKind kind,
                       FaError *err) {
    bool teeth = kind == FA_BONE_TEETH_UPPER || kind == FA_BONE_TEETH_LOWER,
         named = has(name, "upper") || has(name, "lower");
    bool lower = kind == FA_BONE_JAW || kind == FA_BONE_TEETH_LOWER;
    if (!teeth || named) return take(c, mesh, NULL, 0, name, kind, lower, err);
    float *d = FA_NEW(3 * (size_t)mesh->nvert, float);
    if (!d) return FA_FAIL_MEMORY(err);
    bool told = own->nshape > 0 && own->mesh.nvert == mesh->nvert && fai_jaw_motion(own, d);
    FaCode rc = add_teeth(c, mesh, told ? d : NULL, name, err);
    fa_free(d);
    return rc;
}

// What most triangles of a part are made of.
static int main_material(const FaRenderPart *part) {
    int count[FA_RENDER_MATERIALS] = {0}, best = 0;
    for (int t = 0; t < part->mesh->ntri; t++) count[part->tri_material ? part->tri_material[t] : part->material]++;
    for (int m = 1; m < FA_RENDER_MATERIALS; m++)
        if (count[m] > count[best]) best = m;
    return best;
}

static FaCode add_companions(Collector *c, const FaRig *rig, FaError *err) {
    FaSubject *s = NULL;
    FaBoneKind kind;
    FA_TRY(fai_subject_new(rig, NULL, false, &s, err));
    FaCode rc = FA_OK;
    for (int i = 1; i < s->nparts && rc >= 0; i++) {
        const char *name = s->companion[i].rig->name;
        bool hard = fai_bone_kind_of_name(name, &kind);
        if (!hard) {
            // the mesh's name says nothing; its nodes and materials may
            int material = main_material(&s->part[i]);
            hard = material == FA_RENDER_EYE || material == FA_RENDER_TEETH || material == FA_RENDER_BONE;
            kind = material == FA_RENDER_EYE     ? FA_BONE_EYE
                   : material == FA_RENDER_TEETH ? FA_BONE_TEETH_UPPER
                                                 : FA_BONE_SKULL;
            if (hard) name = material == FA_RENDER_EYE ? "eye" : material == FA_RENDER_TEETH ? "teeth" : "bone";
        }
        if (hard) rc = add_mesh(c, s->companion[i].rig, &s->mesh[i], name, kind, err);
    }
    fai_subject_free(s);
    return rc;
}

// A file of the user's: its meshes by their names, the first by the file's name where its own says nothing.
static FaCode add_file(Collector *c, const char *path, FaError *err) {
    FaRigOptions options = {.unit = c->rig->file_unit, .any_size = true};
    FaRig *rig = NULL;
    FaBoneKind kind;
    FaCode rc = fa_rig_load(path, &options, &rig, err);
    if (rc < 0) return fai_fail_in(err, rc, path);
    const char *name = rig->name;
    if (!fai_bone_kind_of_name(name, &kind)) {
        name = fai_path_base(path);
        if (!fai_bone_kind_of_name(name, &kind)) {
            kind = FA_BONE_OTHER;
            fai_note(c->notes, "bone-unnamed", name, "call it skull, jaw, teeth_upper, teeth_lower or eye",
                     "the name of a bone does not tell what it is: it does not hold the flesh");
        }
    }
    rc = add_mesh(c, rig, &rig->mesh, name, kind, err);
    if (rc >= 0) rc = add_companions(c, rig, err);
    fa_rig_free(rig);
    return rc;
}

// --- parts of the rig's own mesh ------------------------------------------------------------------------------------

// Does jawOpen carry the part (mean over its vertices)?
static void jaw_parts(const FaRig *rig, const FaTopology *topo, const float *d, double *mean) {
    double *n = mean + topo->nparts;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        int p = topo->part[v];
        const float *e = d + 3 * (size_t)v;
        if (p >= 0) mean[p] += sqrt((double)e[0] * e[0] + (double)e[1] * e[1] + (double)e[2] * e[2]), n[p]++;
    }
    for (int p = 0; p < topo->nparts; p++) mean[p] /= fmax(n[p], 1);
}

// Eyeballs and teeth among the parts, by form (render/subject.h); keys: 0 none, 1 2 eyes left and right, 3 4 teeth.
static FaCode add_own_parts(Collector *c, const FaTopology *topo, int skin_part, FaError *err) {
    const FaMesh *mesh = &c->rig->mesh;
    static const struct {
        const char *name;
        FaBoneKind kind;
    } kinds[] = {{"", FA_BONE_OTHER},
                 {"eye_left", FA_BONE_EYE},
                 {"eye_right", FA_BONE_EYE},
                 {"teeth_upper", FA_BONE_TEETH_UPPER},
                 {"teeth_lower", FA_BONE_TEETH_LOWER}};
    if (topo->nparts < 2) return FA_OK;
    unsigned char *material = FA_NEW(mesh->ntri, unsigned char);
    int *key = FA_NEW(mesh->ntri, int);
    float *d = FA_NEW(3 * (size_t)mesh->nvert, float);
    double *mean = FA_NEW(2 * (size_t)topo->nparts, double);
    FaCode rc = FA_OK;
    if (!material || !key || !d || !mean) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    FA_TRY_GOTO(done, rc, fai_material_guess(mesh, c->rig->axes, material, err));
    fai_jaw_motion(c->rig, d);
    jaw_parts(c->rig, topo, d, mean);
    double middle = 0; // of the eyes, canonical x
    int eyes = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < mesh->ntri; t++) {
            int v = fai_weld(mesh, mesh->tri[3 * (size_t)t]), p = topo->part[v];
            const float *x = mesh->x + 3 * (size_t)v;
            double side =
                c->rig->axes[0] * (double)x[0] + c->rig->axes[1] * (double)x[1] + c->rig->axes[2] * (double)x[2];
            if (p < 0 || p == skin_part) continue;
            if (pass == 0) {
                if (material[t] == FA_RENDER_EYE) middle += side, eyes++;
            } else if (material[t] == FA_RENDER_EYE)
                key[t] = side > middle / eyes ? 1 : 2;
            else if (material[t] == FA_RENDER_TEETH)
                key[t] = mean[p] > JAW_MOVES ? 4 : 3;
        }
    for (int k = 1; k < FA_COUNT(kinds) && rc >= 0; k++)
        rc = take(c, mesh, key, k, kinds[k].name, kinds[k].kind, k == 4, err);
done:
    fa_free(material);
    fa_free(key);
    fa_free(d);
    fa_free(mean);
    return rc;
}

FaCode fai_bones_collect(const FaRig *rig, const FaTopology *topo, int skin_part, const FaFaceOptions *options,
                         FaFace *face, FaError *err) {
    Collector c = {.rig = rig, .arena = face->arena, .notes = &face->notes};
    face->nbone = 0;
    face->bone = c.bone = FA_PUSH(face->arena, MAX_BONES, FaBone);
    if (!c.bone) return FA_FAIL_MEMORY(err);
    if (!options->no_bones) {
        FA_TRY(add_companions(&c, rig, err));
        FA_TRY(add_own_parts(&c, topo, skin_part, err));
    }
    for (int i = 0; i < options->nbone; i++) FA_TRY(add_file(&c, options->bone[i], err));
    face->nbone = c.count;
    return FA_OK;
}

// --- the jaw's pose by its own bone --------------------------------------------------------------------------------

// Vertices of a file's other meshes that are mandible or lower teeth, one behind the other.
typedef struct Mandible {
    FaSubject *subject;
    float *weights, *x, *d; // of the rig's shapes; at rest, and how far they have gone, m
    int n, *part, *vertex;  // where each comes from                                     (n)
    int *list;              // 0..n-1
    double *w;              // scratch (2n)
} Mandible;

static bool may_be_mandible(const FaSubject *s, int i) {
    FaBoneKind kind;
    if (!s->companion[i].shared.nshape) return false;
    if (!fai_bone_kind_of_name(s->companion[i].rig->name, &kind)) return main_material(&s->part[i]) == FA_RENDER_TEETH;
    return kind == FA_BONE_JAW || kind == FA_BONE_TEETH_LOWER || kind == FA_BONE_TEETH_UPPER;
}

// Where a shape at weight 1 takes them.
static void move_to(Mandible *m, int shape) {
    m->weights[shape] = 1;
    fai_subject_pose(m->subject, NULL, NAN, m->weights);
    m->weights[shape] = 0;
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < 3; k++)
            m->d[3 * (size_t)i + (size_t)k] =
                m->subject->x[m->part[i]][3 * (size_t)m->vertex[i] + (size_t)k] - m->x[3 * (size_t)i + (size_t)k];
}

// Those that jawOpen carries about as far as the jaw of the skin goes: one mesh may have both rows of teeth.
static void keep_carried(Mandible *m, const FaJaw *jaw) {
    int n = 0;
    m->weights[jaw->shape[0]] = 1;
    const FaPose open = fai_jaw_pose(jaw, m->weights);
    move_to(m, jaw->shape[0]);
    for (int i = 0; i < m->n; i++) {
        double p[3], q[3], e[3], d[3];
        for (int k = 0; k < 3; k++) p[k] = (double)m->x[3 * (size_t)i + (size_t)k];
        for (int k = 0; k < 3; k++) d[k] = (double)m->d[3 * (size_t)i + (size_t)k];
        fai_pose_apply(&open, p, q);
        fai_v3_sub(q, p, q);
        fai_v3_sub(d, q, e);
        if (!(fai_v3_norm(q) > JAW_MOVES) || fai_v3_norm(e) > 0.25 * fai_v3_norm(q)) continue;
        memmove(m->x + 3 * (size_t)n, m->x + 3 * (size_t)i, 3 * sizeof *m->x);
        m->part[n] = m->part[i], m->vertex[n++] = m->vertex[i];
    }
    m->n = n;
}

static FaCode gather(Mandible *m, FaArena *arena, FaError *err) {
    const FaSubject *s = m->subject;
    size_t room = 0;
    for (int i = 1; i < s->nparts; i++) room += may_be_mandible(s, i) ? (size_t)s->mesh[i].nvert : 0;
    m->weights = FA_PUSH(arena, s->rig->nshape, float);
    m->x = FA_PUSH(arena, 3 * room, float), m->d = FA_PUSH(arena, 3 * room, float);
    m->part = FA_PUSH(arena, room, int), m->vertex = FA_PUSH(arena, room, int), m->list = FA_PUSH(arena, room, int);
    m->w = FA_PUSH(arena, 2 * room, double);
    if (!m->weights || !m->x || !m->d || !m->part || !m->vertex || !m->list || !m->w) return FA_FAIL_MEMORY(err);
    for (int i = 1; i < s->nparts; i++)
        for (int v = 0; may_be_mandible(s, i) && v < s->mesh[i].nvert; v++) {
            memcpy(m->x + 3 * (size_t)m->n, s->mesh[i].x + 3 * (size_t)v, 3 * sizeof *m->x);
            m->part[m->n] = i, m->vertex[m->n] = v;
            m->list[m->n] = m->n;
            m->n++;
        }
    return FA_OK;
}

// A mesh that has the shape tells of it, also that it leaves the jaw alone.
static bool has_shape(const Mandible *m, int shape) {
    for (int i = 0; i < m->n; i++) {
        if (i && m->part[i] == m->part[i - 1]) continue;
        const FaBinding *b = &m->subject->companion[m->part[i]].shared;
        for (int k = 0; k < b->nshape; k++)
            if (b->chan[k] == shape) return true;
    }
    return false;
}

static void set_shape(Mandible *m, int shape, FaJaw *jaw) {
    FaPose pose;
    if (shape < 0 || !has_shape(m, shape)) return;
    move_to(m, shape);
    if (fai_jaw_agreed(m->n, m->list, m->x, m->d, m->w, &pose)) fai_jaw_set_shape(jaw, shape, &pose);
}

static FaCode by_mandible(const FaRig *rig, FaJaw *jaw, FaArena *arena, Mandible *m, FaError *err) {
    FA_TRY(fai_subject_new(rig, NULL, false, &m->subject, err));
    FA_TRY(gather(m, arena, err));
    if (m->n) keep_carried(m, jaw);
    // the four first: what others open is told in units of jawOpen
    for (int i = 0; i < 4; i++) set_shape(m, jaw->shape[i], jaw);
    for (int s = 0; s < rig->nshape; s++)
        if (s != jaw->shape[0] && s != jaw->shape[1] && s != jaw->shape[2] && s != jaw->shape[3]) set_shape(m, s, jaw);
    return FA_OK;
}

FaCode fai_bones_jaw(const FaRig *rig, FaJaw *jaw, float *with_jaw, FaNotes *notes, FaError *err) {
    FA_TRY(fai_fit_jaw(rig, jaw, with_jaw, notes, err));
    if (!jaw->found) return FA_OK;
    Mandible m = {0};
    FaArena *arena = fai_arena_new(0);
    FaCode rc = arena ? by_mandible(rig, jaw, arena, &m, err) : FA_FAIL_MEMORY(err);
    fai_subject_free(m.subject);
    fai_arena_free(arena);
    return rc;
}

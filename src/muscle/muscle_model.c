#include "muscle/muscle_model.h"
#include "muscle/collide.h"

#include "math/mat3.h"
#include "muscle/direct.h"
#include "muscle/muscle_file.h"
#include "muscle/own.h"

#include <math.h>

FaMuscleOptions fa_muscle_options_default(void) { return (FaMuscleOptions){0}; }

// --- landmarks ----------------------------------------------------------------------------------------------------

const char *fa_muscle_mark_name(FaMuscleMark mark) {
    static const char *const name[FA_MUSCLE_MARKS] = {"corner_left", "corner_right", "brow_left",
                                                      "brow_right",  "lip_upper",    "lip_lower",
                                                      "chin",        "lid_left",     "lid_right"};
    return name[mark];
}

// How much of the skin around each vertex looks to the front, m2: the lining of mouth and lids looks back.
static void find_front(const FaMuscleModel *m, double *front) {
    const FaMesh *mesh = &m->rig->mesh;
    for (int t = 0; t < mesh->ntri; t++) {
        double n[3], c[3];
        fai_v3_tri_cross(mesh->x, mesh->tri + 3 * (size_t)t, n);
        fai_m3_mulv(m->rig->axes, n, c);
        for (int k = 0; k < 3; k++) front[mesh->tri[3 * t + k]] += c[2];
    }
}

// Held by bone: of the regions of the lips a tooth that hangs together with the skin.
static bool is_hard(const FaMuscleModel *m, int skin) {
    const int node = m->flesh.node_of_skin[skin];
    return node >= 0 && m->flesh.kind[node] != FA_FILLED_FREE;
}

// The vertex that goes with the flesh and looks to the front nearest to a point; of: its skin node has at least a half
// of this region and is soft (NULL: any).
static int nearest_vertex(const FaMuscleModel *m, const double *front, const double at[3], const float *of) {
    int best = -1;
    double least = INFINITY;
    for (int v = 0; v < m->rig->mesh.nvert; v++) {
        int skin = m->face->node_of_vertex[v];
        double d[3];
        if (m->flesh.ride_start[v] == m->flesh.ride_start[v + 1]) continue;
        if (of && (skin < 0 || of[skin] < 0.5f || is_hard(m, skin))) continue;
        if (!(front[v] > 0)) continue;
        fai_v3_load(m->rig->mesh.x, v, d);
        fai_v3_sub(d, at, d);
        double d2 = fai_v3_dot(d, d);
        if (d2 < least) least = d2, best = v;
    }
    return best;
}

static const double *mark_at(const FaMuscleModel *m, const char *name, bool right) {
    for (int i = 0; i < m->marks.n; i++)
        if (!strcmp(m->marks.name[i], name) && right == (m->marks.from[3 * i] < 0)) return m->marks.to + 3 * (size_t)i;
    return NULL;
}

static FaCode find_marks(FaMuscleModel *m, FaError *err) {
    static const struct {
        const char *name;
        bool right;
        int region;
    } from[FA_MUSCLE_MARKS] = {{"corner of the mouth", false, -1},
                               {"corner of the mouth", true, -1},
                               {"end of the brow", false, -1},
                               {"end of the brow", true, -1},
                               {"lips", false, FA_REGION_LIP_UPPER},
                               {"lips", false, FA_REGION_LIP_LOWER},
                               {"chin", false, -1},
                               {"lids", false, -1},
                               {"lids", true, -1}};
    double *front = FA_NEW(m->rig->mesh.nvert, double);
    if (!front) return FA_FAIL_MEMORY(err);
    find_front(m, front);
    for (int i = 0; i < FA_MUSCLE_MARKS; i++) {
        const double *at = mark_at(m, from[i].name, from[i].right);
        const float *of = from[i].region >= 0 ? m->face->region[from[i].region] : NULL;
        m->mark[i] = at ? nearest_vertex(m, front, at, of) : -1;
    }
    const double *chin = mark_at(m, "chin", false);
    for (int k = 0; k < 3; k++) m->chin[k] = chin ? chin[k] : NAN;
    fa_free(front);
    return FA_OK;
}

// --- making -------------------------------------------------------------------------------------------------------

static FaCode step(const FaMuscleModel *m, const char *stage, double done, FaError *err) {
    return fai_progress(m->options.progress, m->options.progress_user, stage, done, "nothing is kept", err);
}

// Nodes on bone are the points that muscles can begin at. What the face has kept is not placed again.
static FaCode place_muscles(FaMuscleModel *m, FaError *err) {
    const FaFilled *f = &m->flesh;
    double *bone = FA_PUSH(m->arena, 3 * (size_t)f->nnode + 1, double);
    unsigned char *kind = FA_PUSH(m->arena, f->nnode + 1, unsigned char);
    if (!bone || !kind) return FA_FAIL_MEMORY(err);
    m->ground = (FaMuscleGround){.skin = &m->rig->mesh,
                                 .npair = m->marks.n,
                                 .from = m->marks.from,
                                 .to = m->marks.to,
                                 .bone = bone,
                                 .kind = kind,
                                 .eye = {m->marks.eye[0], m->marks.eye[1]}};
    for (int i = 0; i < f->nnode; i++) {
        if (f->kind[i] == FA_FILLED_FREE) continue;
        fai_v3_load(f->x, i, bone + 3 * (size_t)m->ground.nbone);
        kind[m->ground.nbone++] = f->kind[i] == FA_FILLED_JAW ? FA_MUSCLE_JAW : FA_MUSCLE_SKULL;
    }
    if (m->muscles.n) return FA_OK;
    const FaMuscleFlesh flesh = {f->nnode, f->ntet, m->rest, f->tet};
    m->ground.flesh = &flesh;
    FaCode rc = fai_muscles_place(&m->ground, &m->muscles, err);
    m->ground.flesh = NULL;
    FA_TRY(rc);
    for (int i = 0; i < m->muscles.n; i++) {
        FaMuscle *a = &m->muscles.muscle[i];
        const FaMuscleEntry *e = fai_muscle_entry(a->id.entry);
        a->form = e->form, a->bone[0] = e->origin, a->bone[1] = e->insertion;
    }
    return fai_own_muscles(m, err);
}

static FaCode sample_muscles(FaMuscleModel *m, FaError *err) {
    FaBspline solid[FA_MUSCLES_MOST];
    FA_ASSERT(m->muscles.n <= FA_MUSCLES_MOST);
    for (int i = 0; i < m->muscles.n; i++) solid[i] = m->muscles.muscle[i].solid;
    const FaMuscleFlesh flesh = {m->flesh.nnode, m->flesh.ntet, m->rest, m->flesh.tet};
    return fai_muscle_sample(&flesh, m->muscles.n, solid, &m->samples, err);
}

static FaCode make_body(FaMuscleModel *m, FaError *err) {
    if (!(m->stuff.mu > 0)) m->stuff = fai_muscle_stuff_default();
    FaFace face;
    FA_TRY(fai_inner_find(m->rig, m->face, &m->flesh, m->arena, &m->inner, err));
    FA_TRY(fai_inner_face(&m->inner, m->face, 0, NULL, &face, err));
    FaCode rc =
        fai_muscle_body_of_face(&m->ground, &face, &m->flesh, m->muscles.n, &m->samples, &m->stuff, &m->body, err);
    fa_free(face.bone);
    return rc;
}

static FaCode allocate(FaMuscleModel *m, FaError *err) {
    size_t n = 3 * (size_t)m->flesh.nnode + 1;
    m->rest = FA_PUSH(m->arena, n, double);
    m->x = FA_PUSH(m->arena, n, double);
    m->at = FA_PUSH(m->arena, n, double);
    m->node = FA_PUSH(m->arena, n, float);
    if (!m->rest || !m->x || !m->at || !m->node) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i + 1 < n; i++) m->rest[i] = (double)m->flesh.x[i];
    return FA_OK;
}

static void count_built(FaMuscleModel *m, double begin) {
    const FaFilledReport *f = &m->flesh.report;
    FaMuscleBuilt *b = &m->built;
    *b = (FaMuscleBuilt){.nodes = f->nodes,
                         .free = f->free,
                         .tets = f->tets,
                         .inverted = f->inverted,
                         .lost = f->lost,
                         .worst_quality = f->worst,
                         .flesh_seconds = f->seconds,
                         .bones = f->bones,
                         .muscles = m->muscles.n,
                         .own_named = m->own_placed.named,
                         .own_scale = m->own_placed.scale,
                         .own_off = m->own_placed.off,
                         .own_worst = m->own_placed.worst,
                         .own_far = m->own_placed.farthest,
                         .least_share = 1,
                         .least = m->muscles.n ? m->muscles.muscle[0].id.name : ""};
    for (int i = 0; i < m->muscles.n; i++) {
        const FaMuscle *a = &m->muscles.muscle[i];
        const bool wanted[2] = {a->bone[0] != FA_MUSCLE_SOFT, a->bone[1] != FA_MUSCLE_SOFT};
        b->own += a->own;
        for (int k = 0; k < 2; k++) b->ends += wanted[k], b->held += wanted[k] && a->held[k];
        double share = (double)m->samples.inside[i];
        if (share < b->least_share) b->least_share = share, b->least = a->id.name;
    }
    b->seconds = fai_seconds() - begin;
}

// Names beside each other, as many as there is room for.
static void add_name(char *names, size_t size, const char *name) {
    size_t n = strlen(names);
    if (n + strlen(name) + 8 < size)
        snprintf(names + n, size - n, "%s%s", n ? ", " : "", name);
    else if (n > 3 && strcmp(names + n - 3, "...") != 0)
        snprintf(names + n, size - n, ", ...");
}

// What its user should know.
static void note_built(FaMuscleModel *m) {
    const FaMuscleBuilt *b = &m->built;
    char off[160] = "", out[160] = "", first[2][64] = {"", ""};
    int outside = 0;
    fai_filled_notes(&m->flesh, &m->notes);
    fai_note_count(&m->notes, m->own_lost, "muscle-own-lost", "", "build the face again with --own-muscles",
                   "the face or its rig has changed: %d muscles of your own are gone, those of the template are used",
                   m->own_lost);
    for (int i = 0; i < m->muscles.n; i++) {
        const FaMuscleInfo info = fa_muscle_info(m, i);
        if (!info.held) {
            if (!off[0]) snprintf(first[0], sizeof first[0], "%s", info.name);
            add_name(off, sizeof off, info.alias);
        }
        if (info.share >= 0.5) continue;
        if (!outside++) snprintf(first[1], sizeof first[1], "%s", info.name);
        add_name(out, sizeof out, info.alias);
    }
    fai_note_count(&m->notes, b->ends - b->held, "muscle-off-bone", first[0],
                   "give the face bones: fascia build --bone",
                   "%d of %d ends of muscles that belong on bone do not reach any, and pull less: %s",
                   b->ends - b->held, b->ends, off);
    fai_note_count(&m->notes, outside, "muscle-outside", first[1], "none needed if those places should stay still",
                   "%d muscles are for the most part outside of the flesh and hardly pull: %s", outside, out);
}

static FaCode make(FaMuscleModel *m, FaError *err) {
    double begin = fai_seconds();
    const FaFilledOptions o = {.size = m->options.flesh_size};
    if (!(m->arena = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    FA_TRY(fa_face_fits(m->face, m->rig, err));
    FA_TRY(fai_own_read(m, err));
    FA_TRY(step(m, "flesh", 0, err));
    FA_TRY(fai_muscle_marks(m->rig, &m->marks, err));
    // files given now are read now
    const bool kept =
        m->face->muscles && !m->options.nown && fai_muscle_unpack(m, m->face->muscles, m->face->muscles_size);
    if (m->no_memory) return FA_FAIL_MEMORY(err);
    m->own_lost = !kept && !m->options.nown ? fai_muscle_packed_own(m->face->muscles, m->face->muscles_size) : 0;
    if (!kept) FA_TRY(fai_filled_build(m->rig, m->face, &o, &m->flesh, err));
    if (!kept) FA_TRY(fai_filled_check(&m->flesh, err));
    FA_TRY(allocate(m, err));
    FA_TRY(step(m, "muscles", 0.6, err));
    FA_TRY(place_muscles(m, err));
    if (!kept) FA_TRY(sample_muscles(m, err));
    FA_TRY(step(m, "muscles", 0.9, err));
    FA_TRY(make_body(m, err));
    FA_TRY(find_marks(m, err));
    count_built(m, begin);
    note_built(m);
    return step(m, "muscles", 1, err);
}

FaCode fa_muscle_open(const FaRig *rig, const FaFace *face, const FaMuscleOptions *options, FaMuscleModel **model,
                      FaError *err) {
    return fai_muscle_open(rig, face, options, NULL, model, err);
}

FaCode fai_muscle_open(const FaRig *rig, const FaFace *face, const FaMuscleOptions *options, const FaMuscleStuff *stuff,
                       FaMuscleModel **model, FaError *err) {
    *model = NULL;
    FaMuscleModel *m = FA_NEW(1, FaMuscleModel);
    if (!m) return FA_FAIL_MEMORY(err);
    m->rig = rig, m->face = face;
    if (stuff) m->stuff = *stuff;
    m->options = options ? *options : fa_muscle_options_default();
    if (m->options.flesh_size == 0) m->options.flesh_size = face->flesh_size;
    FaCode rc = make(m, err);
    if (rc < 0)
        fa_muscle_close(m);
    else
        *model = m;
    return rc < 0 ? rc : FA_OK;
}

void fa_muscle_close(FaMuscleModel *m) {
    if (!m) return;
    if (m->director) fai_muscle_director_free(m->director);
    fai_muscle_colliders_free(m);
    fai_muscle_tracks_free(&m->tracks);
    fai_muscle_body_free(m->body);
    fai_muscle_samples_free(&m->samples);
    fai_muscles_free(&m->muscles);
    fai_filled_free(&m->flesh);
    fai_notes_free(&m->notes);
    fai_arena_free(m->arena);
    fa_free(m);
}

const FaMuscleBuilt *fa_muscle_built(const FaMuscleModel *m) { return &m->built; }
const FaNotes *fa_muscle_notes(const FaMuscleModel *m) { return &m->notes; }

FaCode fa_muscle_keep(const FaMuscleModel *m, FaFace *face, FaError *err) {
    unsigned char *data;
    size_t size;
    FA_TRY(fai_muscle_pack(m, &data, &size, err));
    unsigned char *copy = FA_PUSH(face->arena, size, unsigned char);
    if (copy) memcpy(copy, data, size);
    fa_free(data);
    if (!copy) return FA_FAIL_MEMORY(err);
    face->flesh_size = m->options.flesh_size ? m->options.flesh_size : FA_FLESH_SIZE;
    face->muscles = copy, face->muscles_size = size;
    return FA_OK;
}

bool fa_muscle_kept(const FaFace *face) { return face->flesh_size > 0; }

// --- the muscles --------------------------------------------------------------------------------------------------

int fa_muscle_count(const FaMuscleModel *m) { return m->muscles.n; }

FaMuscleInfo fa_muscle_info(const FaMuscleModel *m, int muscle) {
    const FaMuscle *a = &m->muscles.muscle[muscle];
    return (FaMuscleInfo){
        .name = a->id.name,
        .alias = a->id.alias,
        .side = a->id.side,
        .form = fai_muscle_form_name[a->form],
        .origin = fai_muscle_bone_name[a->bone[0]],
        .insertion = fai_muscle_bone_name[a->bone[1]],
        .held = (a->bone[0] == FA_MUSCLE_SOFT || a->held[0]) && (a->bone[1] == FA_MUSCLE_SOFT || a->held[1]),
        .own = a->own,
        .fit_median = a->fit_median,
        .fit_covered = a->fit_covered,
        .fit_volume = a->fit_volume,
        .share = (double)m->samples.inside[muscle],
        .folded = a->folded,
        .length = a->length,
        .volume = a->volume,
        .force = a->length > 0 ? m->stuff.sigma * fai_muscle_trait(muscle).strength * a->volume / a->length : 0};
}

#include "muscle/own.h"

#include "base/file.h"
#include "fascia/rig.h"
#include "io/obj.h"
#include "io/stl.h"
#include "math/mat3.h"
#include "mesh/mesh.h"
#include "muscle/fit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

// --- names --------------------------------------------------------------------------------------------------------

// Cuts a word off one end of a name, with what joins it; whole: it may stand alone after a dot or a bar only.
static bool cut_word(char *name, const char *word, bool front) {
    size_t n = strlen(name), k = strlen(word);
    if (n < k + 2) return false;
    char *at = front ? name : name + n - k;
    if (strncmp(at, word, k) || (front ? at[k] != '_' && at[k] != '.' : at[-1] != '_' && at[-1] != '.')) return false;
    if (front)
        memmove(name, name + k + 1, n - k);
    else
        name[n - k - 1] = 0;
    return true;
}

// The same between other words: "anterior_belly_of_left_digastric".
static bool cut_inner(char *name, const char *word) {
    char *at = strstr(name, word);
    if (!at) return false;
    memmove(at, at + strlen(word) - 1, strlen(at + strlen(word) - 1) + 1); // one bar stays
    return true;
}

// What atlases call muscles of the template.
static void use_name(char *name, size_t size) {
    static const char *const called[][2] = {{"anterior_belly_of_digastric", "digastric_anterior"},
                                            {"corrugator_supercilii", "corrugator"},
                                            {"superficial_part_of_masseter", "masseter"},
                                            {"levator_palpebrae_superioris", "levator_palpebrae"},
                                            {"orbital_part_of_orbicularis_oculi", "orbicularis_oculi_orbital"},
                                            {"palpebral_part_of_orbicularis_oculi", "orbicularis_oculi_palpebral"}};
    for (int i = 0; i < FA_COUNT(called); i++)
        if (!strcmp(name, called[i][0])) snprintf(name, size, "%s", called[i][1]);
}

FaMuscleId fai_own_name(const char *path) {
    FaMuscleId id = {.entry = -1};
    char name[256];
    snprintf(name, sizeof name, "%s", fai_path_base(path));
    char *dot = strrchr(name, '.');
    if (dot && dot != name) *dot = 0;
    for (char *c = name; *c; c++) {
        *c = (char)tolower((unsigned char)*c);
        if (!isalnum((unsigned char)*c) && *c != '.') *c = '_';
    }
    const size_t prefix = strcspn(name, "_"); // "fma46813_"
    if (name[prefix] && prefix > 3 && isdigit((unsigned char)name[prefix - 1]) &&
        isdigit((unsigned char)name[prefix - 2]))
        memmove(name, name + prefix + 1, strlen(name + prefix + 1) + 1);
    for (int front = 0; front < 2 && !id.side; front++) {
        if (cut_word(name, "left", front) || cut_word(name, "l", front))
            id.side = 1;
        else if (cut_word(name, "right", front) || cut_word(name, "r", front))
            id.side = -1;
    }
    if (!id.side && cut_inner(name, "_left_"))
        id.side = 1;
    else if (!id.side && cut_inner(name, "_right_"))
        id.side = -1;
    use_name(name, sizeof name);
    const char *tail = id.side == 0 ? "" : id.side > 0 ? ".L" : ".R";
    snprintf(id.name, sizeof id.name, "%.44s%s", name, tail);
    snprintf(id.alias, sizeof id.alias, "%.20s%s", name, tail);
    return id;
}

// --- files --------------------------------------------------------------------------------------------------------

static FaCode read_obj(const char *path, FaArena *arena, FaMesh *mesh, FaError *err) {
    FaObj obj;
    FaCode rc = fai_obj_load(path, arena, &obj, err);
    if (rc >= 0) {
        *mesh =
            (FaMesh){.nvert = obj.nvert, .nface = obj.nface, .face_start = obj.face_start, .face_vert = obj.face_vert};
        mesh->x = FA_PUSH(arena, 3 * (size_t)obj.nvert + 1, float);
        if (!mesh->x) rc = FA_FAIL_MEMORY(err);
        for (int i = 0; i < 3 * obj.nvert && rc >= 0; i++) mesh->x[i] = (float)obj.x[i];
        if (rc >= 0) rc = fai_mesh_triangulate(mesh, arena, NULL, err);
    }
    fai_obj_free(&obj);
    return rc;
}

static FaCode read_mesh(const char *path, FaArena *arena, FaMesh *mesh, FaError *err) {
    const char *dot = strrchr(path, '.');
    if (dot && !strcmp(dot, ".obj")) return read_obj(path, arena, mesh, err);
    FaBytes bytes;
    FA_TRY(fai_file_read(path, (size_t)1 << 30, &bytes, err));
    FaCode rc = fai_stl_parse(bytes.data, bytes.size, arena, mesh, err);
    fai_bytes_free(&bytes);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

// --- ends ---------------------------------------------------------------------------------------------------------

static const double REACH = 0.008; // m: an end so near to bone is on it

// Bone nearest to the middle of an end.
static double bone_near(const FaMuscleModel *m, const FaBspline *s, double u, FaMuscleBone *kind) {
    double x[3], best = INFINITY;
    fai_bspline_at(s, (double[]){u, 0.5, 0.5}, x, NULL);
    for (int b = 0; b < m->ground.nbone; b++) {
        double d[3];
        fai_v3_sub(m->ground.bone + 3 * (size_t)b, x, d);
        double far = fai_v3_norm(d);
        if (far < best) best = far, *kind = (FaMuscleBone)m->ground.kind[b];
    }
    return best;
}

// The end nearer to bone is the origin. One of the template keeps its bones: they say where the flesh is pulled from.
static void set_ends(const FaMuscleModel *m, bool known, FaMuscle *a) {
    FaMuscleBone bone[2] = {FA_MUSCLE_SOFT, FA_MUSCLE_SOFT};
    double far[2] = {bone_near(m, &a->solid, 0, &bone[0]), bone_near(m, &a->solid, 1, &bone[1])};
    if (far[1] < far[0] && !known) {
        fai_bspline_reverse(&a->solid);
        const double d = far[0];
        const FaMuscleBone b = bone[0];
        far[0] = far[1], far[1] = d, bone[0] = bone[1], bone[1] = b;
    }
    const FaMuscleEntry *e = a->id.entry >= 0 ? fai_muscle_entry(a->id.entry) : NULL;
    for (int k = 0; k < 2; k++) {
        a->held[k] = far[k] <= REACH;
        a->moved[k] = 0;
        a->bone[k] = e ? (k ? e->insertion : e->origin) : a->held[k] ? bone[k] : FA_MUSCLE_SOFT;
    }
}

// --- among the others ---------------------------------------------------------------------------------------------

static FaCode place_for(FaMuscleModel *m, const FaMuscleId *id, FaMuscle **out, FaError *err) {
    FaMuscles *all = &m->muscles;
    for (int i = 0; i < all->n; i++)
        if (fai_muscle_id_named(&all->muscle[i].id, id->name) && all->muscle[i].id.side == id->side) {
            *out = &all->muscle[i];
            if ((*out)->own)
                return FA_FAIL(err, FA_E_ARG, id->name, "give each muscle one file", "a muscle is given twice");
            return FA_OK;
        }
    if (all->n == FA_MUSCLES_MOST)
        return FA_FAIL(err, FA_E_LIMIT, id->name, "give fewer files", "more than %d muscles", (int)FA_MUSCLES_MOST);
    FaMuscle *grown = FA_PUSH(all->arena, all->n + 1, FaMuscle);
    if (!grown) return FA_FAIL_MEMORY(err);
    memcpy(grown, all->muscle, (size_t)all->n * sizeof *grown);
    all->muscle = grown;
    *out = &grown[all->n++];
    **out = (FaMuscle){.id = *id, .form = FA_MUSCLE_STRAP};
    return FA_OK;
}

static FaCode read_own(FaMuscleModel *m, const char *path, FaArena *arena, FaOwnMuscle *own, FaError *err) {
    FaMesh mesh;
    FA_TRY(read_mesh(path, arena, &mesh, err));
    const double unit = m->options.own_unit > 0 ? m->options.own_unit : m->rig->file_unit;
    for (int i = 0; i < 3 * mesh.nvert; i++) mesh.x[i] = (float)((double)mesh.x[i] * unit);
    FaCode rc = fai_fit_solid(&mesh, m->arena, &own->solid, &own->fit, err);
    return rc < 0 ? fai_fail_in(err, rc, path) : rc;
}

static FaCode put_own(FaMuscleModel *m, const FaOwnMuscle *own, FaError *err) {
    FaMuscle *a;
    FA_TRY(place_for(m, &own->id, &a, err));
    const FaMuscleForm form = a->form;
    const FaMuscleId kept = a->id;
    *a = (FaMuscle){
        .id = kept, .form = form == FA_MUSCLE_RING ? FA_MUSCLE_STRAP : form, .own = true, .solid = own->solid};
    a->fit_median = own->fit.median, a->fit_covered = own->fit.covered, a->fit_volume = own->fit.volume_error;
    set_ends(m, own->known, a);
    a->length = fai_bspline_length(&a->solid);
    a->volume = fai_bspline_volume(&a->solid, &a->folded);
    a->folded = fmin(a->folded, 1 - a->folded);
    return FA_OK;
}

FaCode fai_own_read(FaMuscleModel *m, FaError *err) {
    const int n = m->options.nown;
    if (n == 0) return FA_OK;
    if (!(m->own = FA_PUSH(m->arena, n, FaOwnMuscle))) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < n; i++) m->own[i].id = fai_own_name(m->options.own[i]);
    if (m->options.own_fit) FA_TRY(fai_own_named(n, m->own, err));
    for (int i = 0; i < n; i++) {
        FaArena *arena = fai_arena_new(0);
        FaCode rc = arena ? read_own(m, m->options.own[i], arena, &m->own[i], err) : FA_FAIL_MEMORY(err);
        fai_arena_free(arena);
        FA_TRY(rc);
        FA_TRY(fai_progress(m->options.progress, m->options.progress_user, "own muscles", (i + 1.0) / n,
                            "nothing is kept", err));
    }
    return FA_OK;
}

FaCode fai_own_muscles(FaMuscleModel *m, FaError *err) {
    const int n = m->options.nown;
    if (n && m->options.own_fit) FA_TRY(fai_own_place(m, n, m->own, err));
    for (int i = 0; i < n; i++) FA_TRY(put_own(m, &m->own[i], err));
    return FA_OK;
}

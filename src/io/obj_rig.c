// Rigs from OBJ files: one file, or a folder with a neutral and one file per shape.
#include "base/task.h"
#include "io/fileset.h"
#include "io/obj.h"
#include "rig/rig_build.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_FILES = 100000, BATCH = 16 };

// --- names --------------------------------------------------------------------------------------------------------

void fai_names_free(FaNames *names) {
    for (int i = 0; i < names->count; i++) fa_free(names->name[i]);
    fa_free(names->name);
    *names = (FaNames){0};
}

static FaCode add_name(FaNames *names, const char *name, FaError *err) {
    if (names->count == MAX_FILES)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "split the folder", "more than %d files in the folder", MAX_FILES);
    char **grown = fai_grow_array(names->name, &names->room, names->count + 1, sizeof *grown);
    if (!grown) return FA_FAIL_MEMORY(err);
    names->name = grown;
    grown[names->count] = fai_strdup(name);
    if (!grown[names->count]) return FA_FAIL_MEMORY(err);
    names->count++;
    return FA_OK;
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

FaCode fai_obj_list(const char *dir, FaNames *names, FaError *err) {
    *names = (FaNames){0};
    fai_fileset_recover(dir);
    DIR *d = opendir(dir);
    if (!d)
        return fai_fail_in(err,
                           FA_FAIL(err, FA_E_FILE, NULL, "check the name and the permissions",
                                   "cannot read the folder: %s", strerror(errno)),
                           dir);
    FaCode rc = FA_OK;
    for (struct dirent *e; rc >= 0 && (e = readdir(d));)
        if (e->d_name[0] != '.' && fai_path_has_ext(e->d_name, "obj")) rc = add_name(names, e->d_name, err);
    closedir(d);
    if (rc < 0)
        fai_names_free(names);
    else if (names->count > 1)
        qsort(names->name, (size_t)names->count, sizeof *names->name, by_bytes);
    return fai_fail_in(err, rc, dir);
}

// Length of a file name without its extension.
static size_t stem_size(const char *name) { return strlen(name) - strlen(fai_path_ext(name)) - 1; }

static bool stem_is(const char *name, const char *stem) {
    return stem_size(name) == strlen(stem) && !strncasecmp(name, stem, strlen(stem));
}

// --- numbered files -----------------------------------------------------------------------------------------------

// PREFIX DIGITS .obj: where the digits begin; -1 if there are none.
static int digits_at(const char *name) {
    int end = (int)stem_size(name), i = end;
    while (i > 0 && isdigit((unsigned char)name[i - 1])) i--;
    return i < end ? i : -1;
}

// Numbers of any length, without overflow: fewer digits after leading zeros come first.
static int by_number(const void *a, const void *b) {
    const char *s = *(char *const *)a, *t = *(char *const *)b;
    const char *ds = s + digits_at(s), *dt = t + digits_at(t), *es = s + stem_size(s), *et = t + stem_size(t);
    while (ds + 1 < es && *ds == '0') ds++;
    while (dt + 1 < et && *dt == '0') dt++;
    if (es - ds != et - dt) return es - ds < et - dt ? -1 : 1;
    int c = strncmp(ds, dt, (size_t)(es - ds));
    return c ? c : strcmp(s, t);
}

static bool fits_pattern(const char *name, const char *pattern) {
    size_t before = strcspn(pattern, "#"), hashes = strspn(pattern + before, "#");
    int at = digits_at(name);
    return at == (int)before && !strncmp(name, pattern, before) && stem_size(name) - before >= hashes &&
           !strcasecmp(name + stem_size(name), pattern + before + hashes);
}

FaCode fai_obj_list_frames(const char *dir, const char *pattern, FaNames *names, bool *found, FaError *err) {
    *found = false;
    FA_TRY(fai_obj_list(dir, names, err));
    int kept = 0;
    bool others = false;
    for (int i = 0; i < names->count; i++) {
        char *name = names->name[i];
        int at = digits_at(name);
        bool fits = pattern ? fits_pattern(name, pattern)
                            : at >= 0 && (kept == 0 || (at == digits_at(names->name[0]) &&
                                                        !strncmp(name, names->name[0], (size_t)at)));
        names->name[i] = NULL;
        if (fits)
            names->name[kept++] = name;
        else
            fa_free(name), others = true;
    }
    names->count = kept;
    *found = kept > 0 && (pattern || !others);
    if (!*found)
        fai_names_free(names);
    else if (kept > 1)
        qsort(names->name, (size_t)kept, sizeof *names->name, by_number);
    return FA_OK;
}

// --- the neutral --------------------------------------------------------------------------------------------------

static bool contains_neutral(const char *name) {
    for (size_t n = stem_size(name); n >= 7; n--, name++)
        if (!strncasecmp(name, "neutral", 7)) return true;
    return false;
}

// The only name that passes the test; -1 if there is none or more than one.
static int only(const FaNames *names, bool (*test)(const char *)) {
    int found = -1;
    for (int i = 0; i < names->count; i++) {
        if (!test(names->name[i])) continue;
        if (found >= 0) return -1;
        found = i;
    }
    return found;
}

// The stem that all others begin with: it can only be the shortest one.
static int common_stem(const FaNames *names) {
    int s = 0;
    for (int i = 1; i < names->count; i++)
        if (stem_size(names->name[i]) < stem_size(names->name[s])) s = i;
    size_t n = stem_size(names->name[s]);
    for (int i = 0; i < names->count; i++)
        if (stem_size(names->name[i]) < n || strncmp(names->name[i], names->name[s], n)) return -1;
    return s;
}

static FaCode find_neutral(const FaNames *names, const char *wanted, int *neutral, FaError *err) {
    static const char *const usual[] = {"neutral", "base", "basis", "rest", "generic_neutral_mesh"};
    if (wanted) {
        for (int i = 0; i < names->count; i++)
            if (stem_is(names->name[i], wanted) || !strcmp(names->name[i], wanted)) return *neutral = i, FA_OK;
        return FA_FAIL(err, FA_E_ARG, NULL, "give the stem of one of the .obj files", "no file '%s.obj' in the folder",
                       wanted);
    }
    for (int u = 0; u < FA_COUNT(usual); u++)
        for (int i = 0; i < names->count; i++)
            if (stem_is(names->name[i], usual[u])) return *neutral = i, FA_OK;
    int i = only(names, contains_neutral);
    if (i < 0) i = common_stem(names);
    if (i >= 0) return *neutral = i, FA_OK;

    char list[200] = "";
    size_t used = 0;
    for (int k = 0; k < names->count && k < 6 && used + 8 < sizeof list; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.30s", k ? ", " : "", names->name[k]);
    return FA_FAIL(err, FA_E_FORMAT, NULL, "rename the neutral to neutral.obj, or give its name with --mesh",
                   "which of the %d files is the neutral? (%s%s)", names->count, list, names->count > 6 ? ", ..." : "");
}

// --- drafts -------------------------------------------------------------------------------------------------------

static FaCode give_mesh(FaRigDraft *draft, FaObj *o, FaError *err) {
    if (o->nface == 0) return FA_FAIL(err, FA_E_MESH, NULL, "export it with its faces", "the mesh has no faces");
    fai_notes_copy(fai_draft_notes(draft), &o->notes);
    float *x = FA_PUSH(fai_draft_arena(draft), 3 * (size_t)o->nvert, float);
    if (!x) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < 3 * (size_t)o->nvert; i++) x[i] = (float)o->x[i];
    fai_draft_mesh(draft, &(FaMesh){.nvert = o->nvert,
                                    .nface = o->nface,
                                    .nuv = o->nuv,
                                    .x = x,
                                    .uv = o->uv,
                                    .face_start = o->face_start,
                                    .face_vert = o->face_vert,
                                    .face_uv = o->face_uv});
    return FA_OK;
}

static FaCode load_one(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    FaRigDraft *draft;
    FA_TRY(fai_draft_new(&draft, err));
    FaObj obj;
    char *stem = fai_path_stem(path);
    FaCode rc = fai_obj_load(path, fai_draft_arena(draft), &obj, err);
    fai_bytes_free(&obj.text);
    if (rc >= 0 && !stem) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = give_mesh(draft, &obj, err);
    fai_obj_free(&obj);
    if (rc >= 0)
        rc = fai_draft_finish(draft, &(FaRigHints){.name = stem, .path = path}, options, rig, err);
    else
        fai_draft_free(draft);
    fa_free(stem);
    return rc;
}

// --- shapes -------------------------------------------------------------------------------------------------------

// One file of a batch; batches are read in parallel and added in order, so that nothing depends on the threads.
typedef struct ShapeJob {
    const FaObj *neutral;
    char *path;
    double *x;    // scratch                                              (nvert x 3)
    float *delta; // file - neutral, taken in double                      (nvert x 3)
    FaCode rc;
    FaError err;
} ShapeJob;

static void read_shape(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    for (ShapeJob *job = (ShapeJob *)ctx + begin; job < (ShapeJob *)ctx + end; job++) {
        FaBytes bytes;
        job->rc = fai_file_read(job->path, 0, &bytes, &job->err);
        if (job->rc >= 0) job->rc = fai_obj_read_like(&bytes, job->neutral, "the neutral", job->x, &job->err);
        fai_fail_in(&job->err, job->rc, job->path);
        fai_bytes_free(&bytes);
        if (job->rc < 0) continue;
        const double *base = job->neutral->x;
        for (size_t i = 0; i < 3 * (size_t)job->neutral->nvert; i++) job->delta[i] = (float)(job->x[i] - base[i]);
    }
}

static FaCode add_shape(FaRigDraft *draft, const ShapeJob *job, FaError *err) {
    if (job->rc < 0) {
        if (err && err->code >= 0) *err = job->err;
        return job->rc;
    }
    char *stem = fai_path_stem(job->path);
    FaCode rc = stem ? fai_draft_shape_dense(draft, stem, job->delta, 0.0f, err) : FA_FAIL_MEMORY(err);
    fa_free(stem);
    return fai_fail_in(err, rc, job->path);
}

static FaCode run_batches(FaRigDraft *draft, ShapeJob *jobs, int room, const char *dir, const FaNames *names,
                          int neutral, FaError *err) {
    for (int next = 0; next < names->count;) {
        int n = 0;
        FaCode rc = FA_OK;
        for (; n < room && next < names->count; next++) {
            if (next == neutral) continue;
            jobs[n].path = fai_path_join(dir, names->name[next]);
            if (!jobs[n++].path) rc = FA_FAIL_MEMORY(err);
        }
        if (rc >= 0) fai_parallel(n, 1, read_shape, jobs);
        for (int i = 0; i < n; i++) {
            if (rc >= 0) rc = add_shape(draft, &jobs[i], err);
            fa_free(jobs[i].path);
            jobs[i].path = NULL;
        }
        FA_TRY(rc);
    }
    return FA_OK;
}

static FaCode add_shapes(FaRigDraft *draft, const FaObj *neutral_obj, const char *dir, const FaNames *names,
                         int neutral, FaError *err) {
    // as many at once as fit 64 MB of scratch, but one per thread in any case
    ShapeJob jobs[BATCH] = {0};
    size_t n = 3 * (size_t)neutral_obj->nvert, fit = ((size_t)64 << 20) / (n * (sizeof(double) + sizeof(float)));
    int room = FA_MAX((int)FA_MIN(fit, (size_t)BATCH), FA_MIN(fa_threads(), BATCH));
    room = FA_MIN(room, FA_MAX(names->count - 1, 1));
    double *x = FA_NEW(n * (size_t)room, double);
    float *delta = FA_NEW(n * (size_t)room, float);
    for (int i = 0; i < room && x && delta; i++)
        jobs[i] = (ShapeJob){.neutral = neutral_obj, .x = x + n * (size_t)i, .delta = delta + n * (size_t)i};
    FaCode rc = x && delta ? run_batches(draft, jobs, room, dir, names, neutral, err) : FA_FAIL_MEMORY(err);
    fa_free(x);
    fa_free(delta);
    return rc;
}

static FaCode load_folder(const char *dir, const FaNames *names, int neutral, const FaRigOptions *options, FaRig **rig,
                          FaError *err) {
    FaRigDraft *draft;
    FA_TRY(fai_draft_new(&draft, err));
    FaObj obj = {0};
    char *path = fai_path_join(dir, names->name[neutral]), *stem = fai_path_stem(names->name[neutral]);
    FaCode rc = path && stem ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fai_obj_load(path, fai_draft_arena(draft), &obj, err);
    if (rc >= 0) rc = fai_fail_in(err, give_mesh(draft, &obj, err), path);
    if (rc >= 0) rc = add_shapes(draft, &obj, dir, names, neutral, err);
    fai_obj_free(&obj);
    // options->mesh has done its work: it named the neutral
    FaRigOptions rest = options ? *options : (FaRigOptions){0};
    rest.mesh = NULL;
    if (rc >= 0)
        rc = fai_draft_finish(draft, &(FaRigHints){.name = stem, .path = dir}, &rest, rig, err);
    else
        fai_draft_free(draft);
    fa_free(path);
    fa_free(stem);
    return fai_fail_in(err, rc, dir);
}

FaCode fai_obj_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    if (!fai_dir_exists(path)) return fai_fail_in(err, load_one(path, options, rig, err), path);
    FaNames names;
    FA_TRY(fai_obj_list(path, &names, err));
    int neutral = 0;
    FaCode rc = names.count == 0
                    ? FA_FAIL(err, FA_E_FORMAT, NULL, "give a folder with a neutral and one .obj file per shape",
                              "no .obj files in the folder")
                    : find_neutral(&names, options ? options->mesh : NULL, &neutral, err);
    if (rc >= 0) rc = load_folder(path, &names, neutral, options, rig, err);
    fai_names_free(&names);
    return fai_fail_in(err, rc, path);
}

#include "io/obj_write.h"

#include "base/file.h"
#include "io/decimal.h"
#include "io/fileset.h"
#include "io/obj.h"

#include <math.h>
#include <strings.h>

// --- text ---------------------------------------------------------------------------------------------------------

static void put_comment(FaText *t, const char *comment) {
    fai_text_str(t, "# fascia " FA_VERSION_TEXT "\n");
    for (const char *p = comment; p && *p;) {
        size_t n = strcspn(p, "\r\n");
        // a backslash at the end of a line would join it with the next in some readers
        fai_text_str(t, "# ");
        fai_text_bytes(t, p, n);
        fai_text_str(t, n && p[n - 1] == '\\' ? " .\n" : "\n");
        p += n;
        p += strspn(p, "\r\n");
    }
}

static void put_vertices(FaText *t, const float *x, int nvert) {
    for (int v = 0; v < nvert; v++) fai_decimal_row(t, "v ", x + 3 * (size_t)v, 3, " ", "\n");
}

// Texture coordinates and faces: the same in all files of a set.
static void put_faces(FaText *t, const FaMesh *m) {
    bool uv = m->face_uv && m->nuv > 0;
    for (int i = 0; uv && i < m->nuv; i++) fai_decimal_row(t, "vt ", m->uv + 2 * (size_t)i, 2, " ", "\n");
    for (int f = 0; f < m->nface; f++) {
        fai_text_bytes(t, "f", 1);
        for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++) {
            if (uv && m->face_uv[c] >= 0)
                fai_text_printf(t, " %d/%d", m->face_vert[c] + 1, m->face_uv[c] + 1);
            else
                fai_text_printf(t, " %d", m->face_vert[c] + 1);
        }
        fai_text_bytes(t, "\n", 1);
    }
}

static FaCode add_file(FaFileSet *set, const char *name, const FaText *head, const FaText *faces, FaError *err) {
    if (head->failed || faces->failed) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_fileset_add(set, name, head->data, head->size, err));
    return fai_fileset_append(set, faces->data, faces->size, err);
}

// --- paths --------------------------------------------------------------------------------------------------------

bool fai_obj_names_folder(const char *path) {
    size_t n = strlen(path);
    return n > 0 && (path[n - 1] == '/' || fai_dir_exists(path) || !fai_path_ext(path)[0]);
}

// --- frames -------------------------------------------------------------------------------------------------------

struct FaObjWriter {
    const FaMesh *mesh;
    FaFileSet *set;
    FaText faces, frame;
    size_t comment;   // bytes of `frame` that are the same in each
    char prefix[256]; // PREFIX DIGITS .obj
    int digits;
    bool single; // name.obj, if there is only one
};

static FaCode split_path(const char *path, FaObjWriter *w, char **dir, FaError *err) {
    *dir = NULL;
    const char *base = fai_path_base(path);
    bool folder = fai_obj_names_folder(path);
    size_t stem = folder ? 0 : strlen(base) - strlen(fai_path_ext(base)) - 1, hash = strcspn(base, "#");
    if (folder) {
        snprintf(w->prefix, sizeof w->prefix, "frame_");
        w->digits = 4;
        *dir = fai_strdup(path);
    } else {
        bool marked = hash < stem;
        size_t keep = marked ? hash : stem;
        w->digits = marked ? (int)strspn(base + hash, "#") : 4;
        if (keep + 20 > sizeof w->prefix || w->digits > 9 || (marked && hash + (size_t)w->digits != stem))
            return FA_FAIL(err, FA_E_ARG, NULL, "name the frames like out/frame_####.obj",
                           "'%s' is no name for numbered files", base);
        w->single = !marked;
        snprintf(w->prefix, sizeof w->prefix, "%.*s%s", (int)keep, base, marked ? "" : "_");
        *dir = fai_path_dir(path);
    }
    return *dir ? FA_OK : FA_FAIL_MEMORY(err);
}

FaCode fai_obj_create(const char *path, const FaMesh *mesh, const char *comment, FaObjWriter **writer, FaError *err) {
    *writer = NULL;
    FaObjWriter *w = FA_NEW(1, FaObjWriter);
    if (!w) return FA_FAIL_MEMORY(err);
    w->mesh = mesh;
    char *dir = NULL;
    FaCode rc = split_path(path, w, &dir, err);
    if (rc >= 0) rc = fai_fileset_open(dir, &w->set, err);
    put_comment(&w->frame, comment);
    w->comment = w->frame.size;
    put_faces(&w->faces, mesh);
    if (rc >= 0 && (w->frame.failed || w->faces.failed)) rc = FA_FAIL_MEMORY(err);
    fa_free(dir);
    if (rc >= 0)
        *writer = w;
    else
        fai_obj_abandon(w);
    return fai_fail_in(err, rc, path);
}

FaCode fai_obj_push(FaObjWriter *w, const float *x, FaError *err) {
    char name[300];
    snprintf(name, sizeof name, "%s%0*d.obj", w->prefix, w->digits, fai_fileset_count(w->set));
    w->frame.size = w->comment;
    put_vertices(&w->frame, x, w->mesh->nvert);
    return add_file(w->set, name, &w->frame, &w->faces, err);
}

// Frames of an earlier, longer run would be read as part of this one: they are the user's, but not without a word.
static void warn_stale(const char *dir, const char *prefix, int count) {
    FaNames names;
    if (!fai_dir_exists(dir) || fai_obj_list(dir, &names, NULL) < 0) return;
    int stale = 0;
    size_t n = strlen(prefix);
    for (int i = 0; i < names.count; i++) {
        const char *s = names.name[i];
        if (strncmp(s, prefix, n)) continue;
        size_t digits = strspn(s + n, "0123456789");
        if (digits == 0 || digits > 9 || strcasecmp(s + n + digits, ".obj")) continue;
        int64_t number;
        if (fai_parse_int(s + n, s + n + digits, &number) && number >= count) stale++;
    }
    fai_names_free(&names);
    if (stale)
        fai_log(FA_LOG_WARN, "io", -1, "%s: %d older frames after the %d written remain in the folder; delete them",
                dir, stale, count);
}

FaCode fai_obj_finish(FaObjWriter *w, FaError *err) {
    FaCode rc = FA_OK;
    int count = fai_fileset_count(w->set);
    char name[300], *dir = fai_strdup(fai_fileset_dir(w->set));
    if (!dir)
        rc = FA_FAIL_MEMORY(err);
    else if (count == 0)
        rc = FA_FAIL(err, FA_E_ARG, NULL, "push at least one frame", "no frames to write");
    if (rc >= 0 && w->single && count == 1) {
        snprintf(name, sizeof name, "%.*s.obj", (int)strlen(w->prefix) - 1, w->prefix);
        rc = fai_fileset_rename(w->set, 0, name, err);
    }
    if (rc >= 0) {
        rc = fai_fileset_finish(w->set, err);
        w->set = NULL;
    }
    if (rc >= 0 && !(w->single && count == 1)) warn_stale(dir, w->prefix, count);
    fa_free(dir);
    fai_obj_abandon(w);
    return rc;
}

void fai_obj_abandon(FaObjWriter *w) {
    if (!w) return;
    fai_fileset_abandon(w->set);
    fai_text_free(&w->faces);
    fai_text_free(&w->frame);
    fa_free(w);
}

// --- rigs ---------------------------------------------------------------------------------------------------------

enum { NAME = 200, COMPARED = 4096 };

// A shape's name as a file name: what some file system refuses becomes '_'.
static bool file_name(const char *name, int number, char out[NAME]) {
    size_t n = 0;
    for (const char *p = name; *p && n < NAME - 20; p++)
        out[n++] = (unsigned char)*p < 0x20 || *p == 0x7f || strchr("/\\:*?\"<>|", *p) ? '_' : *p;
    while (n && ((unsigned char)out[n - 1] & 0xC0) == 0x80 && name[n]) n--; // do not cut a character in half
    out[n] = 0;
    if (out[0] == '.') out[0] = '_';
    if (n == 0) snprintf(out, NAME, "shape_%03d", number);
    return !strcmp(out, name);
}

static bool taken(char (*names)[NAME], int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcasecmp(names[i], name)) return true;
    return false;
}

// Unique in any case, since some file systems do not tell them apart. names[0] is the neutral.
static int choose_names(const FaRig *rig, char (*names)[NAME]) {
    int changed = 0;
    snprintf(names[0], NAME, "neutral");
    for (int s = 0; s < rig->nshape; s++) {
        char name[NAME], *out = names[s + 1];
        bool same = file_name(rig->shape[s].name, s, name);
        snprintf(out, NAME, "%s", name);
        if (rig->nshape > COMPARED)
            snprintf(out, NAME, "%05d_%.180s", s, name), same = false;
        else
            for (int k = 2; taken(names, s + 1, out); k++, same = false) snprintf(out, NAME, "%.180s_%d", name, k);
        changed += !same;
    }
    return changed;
}

// A coordinate with 14 decimals: 5e-15 m is finer than the last bit of any delta over 0.1 um.
static void put_fine(FaText *t, double v) {
    double scaled = rint(fabs(v) * 1e14);
    char text[40];
    if (!(scaled < 9e15)) {
        fai_text_double(t, v);
        return;
    }
    uint64_t m = (uint64_t)scaled;
    int n = snprintf(text, sizeof text, "%s%llu.%014llu", v < 0 && m ? "-" : "",
                     (unsigned long long)(m / 100000000000000u), (unsigned long long)(m % 100000000000000u));
    while (text[n - 1] == '0') n--;
    if (text[n - 1] == '.') n--;
    fai_text_bytes(t, text, (size_t)n);
}

// The value that a reader sees where the neutral was written as a float.
static double as_read(float v) {
    char text[FA_NUMBER_SIZE];
    int n = fai_decimal_float(text, v);
    double d = 0;
    fai_parse_double(text, text + n, &d);
    return d;
}

static void put_shape(FaText *t, const FaRig *rig, const FaShape *s) {
    int e = s->first, end = s->first + s->count;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        const float *x = rig->mesh.x + 3 * (size_t)v;
        if (e == end || rig->row[e] != v) {
            fai_decimal_row(t, "v ", x, 3, " ", "\n");
            continue;
        }
        fai_text_bytes(t, "v", 1);
        for (int k = 0; k < 3; k++) {
            fai_text_bytes(t, " ", 1);
            put_fine(t, as_read(x[k]) + (double)rig->delta[3 * (size_t)e + (size_t)k]);
        }
        fai_text_bytes(t, "\n", 1);
        e++;
    }
}

static FaCode write_rig(const FaRig *rig, FaFileSet *set, char (*names)[NAME], FaError *err) {
    FaText faces = {0}, head = {0};
    put_faces(&faces, &rig->mesh);
    FaCode rc = FA_OK;
    for (int s = -1; s < rig->nshape && rc >= 0; s++) {
        char file[NAME + 8];
        snprintf(file, sizeof file, "%s.obj", names[s + 1]);
        head.size = 0;
        put_comment(&head, s < 0 ? "neutral" : rig->shape[s].name);
        if (s < 0)
            put_vertices(&head, rig->mesh.x, rig->mesh.nvert);
        else
            put_shape(&head, rig, &rig->shape[s]);
        rc = add_file(set, file, &head, &faces, err);
    }
    fai_text_free(&faces);
    fai_text_free(&head);
    return rc;
}

// Other .obj files in the folder would be read as shapes of this rig.
static FaCode check_folder(const char *dir, char (*names)[NAME], int count, FaError *err) {
    FaNames there;
    if (!fai_dir_exists(dir)) return FA_OK;
    FA_TRY(fai_obj_list(dir, &there, err));
    FaCode rc = FA_OK;
    for (int i = 0; i < there.count && rc >= 0; i++) {
        char stem[NAME];
        snprintf(stem, sizeof stem, "%.*s", (int)strlen(there.name[i]) - 4, there.name[i]);
        if (!taken(names, count, stem))
            rc = FA_FAIL(err, FA_E_FILE, NULL, "name a new folder, or empty this one",
                         "the folder holds %s, which would become a shape of this rig", there.name[i]);
    }
    fai_names_free(&there);
    return rc;
}

FaCode fai_obj_save_rig(const FaRig *rig, const char *dir, FaError *err) {
    char(*names)[NAME] = fai_alloc_array((size_t)rig->nshape + 1, NAME);
    if (!names) return FA_FAIL_MEMORY(err);
    int changed = choose_names(rig, names);
    FaFileSet *set = NULL;
    FaCode rc = check_folder(dir, names, rig->nshape + 1, err);
    if (rc >= 0) rc = fai_fileset_open(dir, &set, err);
    if (rc >= 0) rc = write_rig(rig, set, names, err);
    if (rc >= 0)
        rc = fai_fileset_finish(set, err);
    else
        fai_fileset_abandon(set);
    fa_free(names);
    if (rc >= 0 && changed)
        fai_log(FA_LOG_WARN, "io", -1,
                "%s: %d shape names were changed to be file names; the first line of each file has the "
                "name as it was",
                dir, changed);
    return fai_fail_in(err, rc, dir);
}

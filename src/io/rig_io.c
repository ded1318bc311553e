// Which reader and which writer: by content where a format can be told by its first bytes, by extension else.
#include "base/file.h"
#include "fascia/sequence.h"
#include "io/foreign.h"
#include "io/gltf/gltf.h"
#include "io/gltf/gltf_write.h"
#include "io/obj.h"
#include "io/obj_write.h"
#include "io/pointcache.h"
#include "io/usda.h"

#include <strings.h>

typedef enum RigFormat { RIG_UNKNOWN, RIG_GLTF, RIG_OBJ, RIG_FOREIGN } RigFormat;

#define READABLE ".glb .gltf .vrm .obj, a folder of .obj files, .fbx .dae .blend .3ds .ply .stl"

// --- reading ------------------------------------------------------------------------------------------------------

// What is not a rig, but is often given for one.
static FaCode refuse(const char *path, const unsigned char *head, size_t n, FaError *err) {
    static const struct {
        const char *magic;
        int size;
        const char *what, *remedy;
    } archives[] = {
        {"\xFD"
         "7zXZ",
         5, "an .xz archive", "unpack it first: tar -xJf FILE -C FOLDER"},
        {"\x1F\x8B", 2, "a .gz archive", "unpack it first: tar -xzf FILE -C FOLDER, or gunzip FILE"},
        {"PK\x03\x04", 4, "a .zip archive", "unpack it first: unzip FILE -d FOLDER"},
        {"BZh", 3, "a .bz2 archive", "unpack it first: tar -xjf FILE -C FOLDER"},
        {"\x28\xB5\x2F\xFD", 4, "a .zst archive", "unpack it first: tar --zstd -xf FILE -C FOLDER"},
        {"7z\xBC\xAF", 4, "a .7z archive", "unpack it first"},
    };
    for (int i = 0; i < FA_COUNT(archives); i++)
        if (n >= (size_t)archives[i].size && !memcmp(head, archives[i].magic, (size_t)archives[i].size))
            return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, archives[i].remedy, "the file is %s", archives[i].what);
    if (fai_cache_sniff(head, n) || fai_path_has_ext(path, "mdd"))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "give the rig it was made with; compare and convert read caches",
                       "the file is a point cache: positions without faces or shapes");
    if (fai_path_has_ext(path, "csv") || fai_path_has_ext(path, "bvh"))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "give a rig, and this file as its clip",
                       "the file is an animation without a mesh");
    if (fai_path_has_ext(path, "usd") || fai_path_has_ext(path, "usda") || fai_path_has_ext(path, "usdc") ||
        fai_path_has_ext(path, "usdz") || fai_path_has_ext(path, "abc"))
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "export the rig as .glb",
                       "USD and Alembic files are written, not read");
    return FA_OK;
}

static RigFormat judge(const char *path, const unsigned char *head, size_t n) {
    static const char fbx[] = "Kaydara FBX Binary";
    size_t skip = n >= 3 && !memcmp(head, "\xEF\xBB\xBF", 3) ? 3 : 0;
    if (n >= 4 && !memcmp(head, "glTF", 4)) return RIG_GLTF;
    if (n >= sizeof fbx - 1 && !memcmp(head, fbx, sizeof fbx - 1)) return RIG_FOREIGN;
    if (n >= 5 + skip && !memcmp(head + skip, "; FBX", 5)) return RIG_FOREIGN;

    static const char *const gltf[] = {"glb", "gltf", "vrm"};
    for (int i = 0; i < FA_COUNT(gltf); i++)
        if (fai_path_has_ext(path, gltf[i])) return RIG_GLTF;
    if (fai_path_has_ext(path, "obj")) return RIG_OBJ;
    if (fai_foreign_reads(fai_path_ext(path))) return RIG_FOREIGN;

    // no known extension: text may still be what it looks like
    while (skip < n && strchr(" \t\r\n", head[skip]) && head[skip]) skip++;
    if (skip < n && head[skip] == '{') return RIG_GLTF;
    return n && fai_obj_sniff(head, n) ? RIG_OBJ : RIG_UNKNOWN;
}

static FaCode read_start(const char *path, unsigned char *head, size_t room, size_t *n, FaError *err) {
    FaBytes none;
    *n = fai_file_start(path, head, room);
    if (*n || fai_file_exists(path)) return FA_OK;
    return fai_file_read(path, 1, &none, err); // says why
}

FaRigOptions fa_rig_options_default(void) { return (FaRigOptions){0}; }

static FaCode load(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    if (fai_dir_exists(path)) return fai_obj_rig(path, options, rig, err);
    unsigned char head[4096 + 1];
    size_t n = 0;
    FA_TRY(read_start(path, head, sizeof head - 1, &n, err));
    head[n] = 0;
    if (n == 0) return FA_FAIL(err, FA_E_FORMAT, NULL, "export it again", "the file is empty");
    FA_TRY(refuse(path, head, n, err));
    switch (judge(path, head, n)) {
    case RIG_GLTF: return fai_gltf_load_rig(path, options, rig, err);
    case RIG_OBJ: return fai_obj_rig(path, options, rig, err);
    case RIG_FOREIGN: return fai_foreign_rig(path, options, rig, err);
    case RIG_UNKNOWN: break;
    }
    const char *ext = fai_path_ext(path);
    // what assimp could read as well, with readers that nobody has used for a face
    static const char *const other[] = {"lwo", "lws", "ase", "x",   "off",     "ac",  "x3d", "ms3d",
                                        "cob", "scn", "dxf", "b3d", "md5mesh", "mdl", "iqm"};
    for (int i = 0; i < FA_COUNT(other); i++)
        if (!strcasecmp(ext, other[i]))
            return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "open it in Blender and export it as .glb",
                           ".%.20s files hold no rigged faces and are not read", ext);
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "rigs are read from " READABLE, "%s%.20s files are not read as rigs",
                   *ext ? "." : "such", ext);
}

FaCode fa_rig_load(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    return fai_fail_in(err, load(path, options, rig, err), path);
}

// --- writing ------------------------------------------------------------------------------------------------------

static FaCode save_one_obj(const FaRig *rig, const char *path, FaError *err) {
    if (rig->nshape > 0)
        return FA_FAIL(err, FA_E_ARG, NULL, "name a folder: a neutral and one file per shape are written into it",
                       "one .obj file cannot hold %d shapes", rig->nshape);
    FaObjWriter *w;
    FA_TRY(fai_obj_create(path, &rig->mesh, rig->name, &w, err));
    FaCode rc = fai_obj_push(w, rig->mesh.x, err);
    if (rc >= 0) return fai_obj_finish(w, err);
    fai_obj_abandon(w);
    return rc;
}

static FaCode save(const FaRig *rig, const FaClip *clip, const char *path, FaError *err) {
    static const char *const gltf[] = {"glb", "gltf", "vrm"};
    for (int i = 0; i < FA_COUNT(gltf); i++)
        if (fai_path_has_ext(path, gltf[i])) return fai_gltf_save(rig, clip, path, err);
    if (fai_path_has_ext(path, "usda")) return fai_usda_save_rig(rig, clip ? clip : rig->clip, path, err);
    bool obj = fai_path_has_ext(path, "obj"), folder = !obj && fai_obj_names_folder(path);
    if (!obj && !folder)
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "rigs are written as .glb .gltf .usda or as a folder/ of OBJ files",
                       "rigs are not written as .%.20s", fai_path_ext(path));
    FA_TRY(obj ? save_one_obj(rig, path, err) : fai_obj_save_rig(rig, path, err));
    if (clip || rig->clip)
        fai_log(FA_LOG_WARN, "io", -1, "%s: OBJ holds no animation; save the clip as .json or .csv beside it", path);
    return FA_OK;
}

FaCode fa_rig_save(const FaRig *rig, const FaClip *clip, const char *path, FaError *err) {
    return fai_fail_in(err, save(rig, clip, path, err), path);
}

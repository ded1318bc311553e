#include "base/base.h"

#ifdef FA_HAVE_ASSIMP

#include "io/assimp_import.h"

#include "base/file.h"
#include "io/assimp_scene.h"

#include <assimp/cimport.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>

static const int64_t MAX_FILE = 512ll << 20;

// --- units and axes -----------------------------------------------------------------------------------------------

static double metadata(const struct aiScene *scene, const char *key, double absent) {
    const struct aiMetadata *md = scene->mMetaData;
    for (unsigned i = 0; md && i < md->mNumProperties; i++) {
        const struct aiMetadataEntry *e = &md->mValues[i];
        if (strcmp(md->mKeys[i].data, key) || !e->mData) continue;
        if (e->mType == AI_DOUBLE) return *(const double *)e->mData;
        if (e->mType == AI_FLOAT) return (double)*(const float *)e->mData;
        if (e->mType == AI_INT32) return *(const int32_t *)e->mData;
    }
    return absent;
}

// What the file says of its axes, as rows of the rotation to ours (x, up, front). False: nothing that can be used.
static bool declared_axes(const struct aiScene *ai, double turn[9]) {
    static const char *const key[3][2] = {
        {"CoordAxis", "CoordAxisSign"}, {"UpAxis", "UpAxisSign"}, {"FrontAxis", "FrontAxisSign"}};
    static const int usual[3] = {0, 1, 2};
    double m[9] = {0};
    for (int r = 0; r < 3; r++) {
        int axis = (int)metadata(ai, key[r][0], usual[r]), sign = (int)metadata(ai, key[r][1], 1);
        if (axis < 0 || axis > 2) return false;
        m[3 * r + axis] = sign < 0 ? -1 : 1;
    }
    // later versions of assimp turn the root so that y is up, and leave the statement as it was
    double root[16];
    fai_scene_columns(&ai->mRootNode->mTransformation, 1, root);
    double size = fabs(root[8]) + fabs(root[9]) + fabs(root[10]);
    if (m[3 + 2] == 1 && root[9] > 0.99 * size) {
        for (int i = 0; i < 9; i++) turn[i] = i % 4 == 0;
        return true;
    }
    double det =
        m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
    if (det != 1) { // left-handed or nonsense: only up is believed
        if (m[3 + 1] != 1 && m[3 + 2] != 1) return false;
        for (int i = 0; i < 9; i++) turn[i] = m[3 + 2] == 1 ? fai_upright[i] : i % 4 == 0;
        return true;
    }
    memcpy(turn, m, sizeof m);
    return true;
}

// What is said about the unit and the axes: by the user, else by the file.
static void find_place(const struct aiScene *ai, const char *path, const FaImportAsk *ask, FaImportDoc *doc) {
    bool fbx = metadata(ai, "UnitScaleFactor", 0) > 0; // only FBX says it, whatever the file is called
    bool settled = fai_path_has_ext(path, "dae") || fai_path_has_ext(path, "blend");
    double factor = metadata(ai, "UnitScaleFactor", 1); // in centimetres
    doc->origin = (FaGltfOrigin){.made = true};
    for (int i = 0; i < 9; i++) doc->place.turn[i] = i % 4 == 0;
    if (settled) { // assimp puts what such files say into the root's transform
        doc->origin.unit = 1;
        doc->origin.up = FA_UP_Y;
    } else if (fbx) {
        doc->origin.unit = isfinite(factor) ? 0.01 * factor : 0.01;
        doc->origin.up = declared_axes(ai, doc->place.turn) ? FA_UP_Y : FA_UP_AUTO;
    }
    if (ask->unit > 0 && isfinite(ask->unit)) doc->origin.unit = ask->unit;
    if (ask->up) {
        for (int i = 0; i < 9; i++) doc->place.turn[i] = ask->up == FA_UP_Z ? fai_upright[i] : i % 4 == 0;
        doc->origin.up = FA_UP_Y;
    }
    doc->place.unit = doc->origin.unit > 0 ? doc->origin.unit : 1;
}

// --- import -------------------------------------------------------------------------------------------------------

// Assimp's error text is shared by all threads.
static pthread_mutex_t import_lock = PTHREAD_MUTEX_INITIALIZER;

FaCode fai_assimp_open(const char *path, const struct aiScene **scene, FaError *err) {
    *scene = NULL;
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > MAX_FILE)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "export the rig alone, as .glb",
                       "files over 512 MB are not given to assimp");
    struct aiPropertyStore *props = aiCreatePropertyStore();
    if (!props) return FA_FAIL_MEMORY(err);
    aiSetImportPropertyInteger(props, "IMPORT_FBX_PRESERVE_PIVOTS", 0); // else a node becomes a chain of them
    FaCode rc = FA_OK;
    pthread_mutex_lock(&import_lock);
    *scene = aiImportFileExWithProperties(path, 0, NULL, props);
    const char *why = *scene ? "" : aiGetErrorString();
    if (strstr(why, "bad_alloc"))
        rc = FA_FAIL(err, FA_E_LIMIT, NULL, "open it in Blender and export the rig as .glb",
                     "assimp wants more memory for it than it may have");
    else if (!*scene)
        rc = FA_FAIL(err, FA_E_FORMAT, NULL, "export the rig as .glb", "assimp cannot read it: %.200s", why);
    pthread_mutex_unlock(&import_lock);
    aiReleasePropertyStore(props);
    return rc;
}

// The order of vertices is said once; where nothing was split or joined nobody asks.
static void note_order(const struct aiScene *ai, FaNotes *notes) {
    for (unsigned i = 0; i < ai->mNumMeshes; i++)
        if (fai_scene_faces(ai->mMeshes[i])) {
            fai_note(notes, "vertex-order", "", "convert it to .glb once, and use that where the order matters",
                     "vertices are numbered as in the .glb that fascia makes of it, not as in the file");
            return;
        }
}

FaCode fai_assimp_document(const struct aiScene *ai, const char *path, const FaImportAsk *ask, FaImportDoc *doc,
                           FaError *err) {
    *doc = (FaImportDoc){0};
    if (!ai->mRootNode)
        return FA_FAIL(err, FA_E_MESH, NULL, "export the mesh with its faces", "no mesh with faces in the file");
    if (ask->placed) {
        doc->place = ask->place;
        doc->origin = (FaGltfOrigin){.made = true, .unit = ask->origin_unit, .up = (FaUp)ask->origin_up};
    } else
        find_place(ai, path, ask, doc);
    FaCode rc = fai_scene_document(ai, path, &doc->place, &doc->own, &doc->notes, err);
    note_order(ai, &doc->notes);
    doc->glb = doc->own.data;
    doc->glb_size = doc->own.size;
    if (rc < 0) fai_import_doc_free(doc);
    return rc;
}

void fai_assimp_close(const struct aiScene *scene) { aiReleaseImport(scene); }

#endif

#include "io/assimp_import.h"

#include "base/file.h"

#include <strings.h>

bool fai_assimp_reads(const char *ext) {
    static const char *const known[] = {"fbx", "dae", "blend", "3ds", "ply", "stl"};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (!strcasecmp(ext, known[i])) return true;
    return false;
}

#ifndef FA_HAVE_ASSIMP

FaCode fai_assimp_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    (void)options;
    *rig = NULL;
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "install assimp and build fascia again, or export the rig as .glb",
                   ".%.20s is read through assimp, which is not built in", fai_path_ext(path));
}

#else

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

static const double upright[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0}; // z up to y up

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
        for (int i = 0; i < 9; i++) turn[i] = m[3 + 2] == 1 ? upright[i] : i % 4 == 0;
        return true;
    }
    memcpy(turn, m, sizeof m);
    return true;
}

typedef struct Import {
    const char *path;
    const struct aiScene *ai;
    FaScenePlace place;
    FaGltfOrigin origin;
    FaRigOptions options; // for the document
} Import;

// What is said about the unit and the axes: by the user, else by the file.
static void find_place(Import *im, const FaRigOptions *options) {
    bool fbx = metadata(im->ai, "UnitScaleFactor", 0) > 0; // only FBX says it, whatever the file is called
    bool settled = fai_path_has_ext(im->path, "dae") || fai_path_has_ext(im->path, "blend");
    double factor = metadata(im->ai, "UnitScaleFactor", 1); // in centimetres
    im->options = options ? *options : (FaRigOptions){0};
    im->origin.made = true;
    for (int i = 0; i < 9; i++) im->place.turn[i] = i % 4 == 0;
    if (settled) { // assimp puts what such files say into the root's transform
        im->origin.unit = 1;
        im->origin.up = FA_UP_Y;
    } else if (fbx) {
        im->origin.unit = isfinite(factor) ? 0.01 * factor : 0.01;
        im->origin.up = declared_axes(im->ai, im->place.turn) ? FA_UP_Y : FA_UP_AUTO;
    }
    if (im->options.unit > 0 && isfinite(im->options.unit)) {
        im->origin.unit = im->options.unit;
        im->options.unit = FA_UNIT_M;
    }
    if (im->options.up) {
        for (int i = 0; i < 9; i++) im->place.turn[i] = im->options.up == FA_UP_Z ? upright[i] : i % 4 == 0;
        im->origin.up = im->options.up = FA_UP_Y;
    }
    im->place.unit = im->origin.unit > 0 ? im->origin.unit : 1;
}

// --- import -------------------------------------------------------------------------------------------------------

// Assimp's error text is shared by all threads.
static pthread_mutex_t import_lock = PTHREAD_MUTEX_INITIALIZER;

static FaCode import_scene(const char *path, const struct aiScene **scene, FaError *err) {
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
    if (!*scene)
        rc = FA_FAIL(err, FA_E_FORMAT, NULL, "export the rig as .glb", "assimp cannot read it: %.200s",
                     aiGetErrorString());
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

static FaCode make(const Import *im, FaRig **rig, FaError *err) {
    FaText glb = {0};
    FaNotes notes = {0};
    FaCode rc = fai_scene_document(im->ai, im->path, &im->place, &glb, &notes, err);
    note_order(im->ai, &notes);
    if (rc >= 0) rc = fai_gltf_made_rig(glb.data, glb.size, im->path, &im->origin, &notes, &im->options, rig, err);
    fai_text_free(&glb);
    fai_notes_free(&notes);
    return rc;
}

// The rig was found to be in another unit, or to stand otherwise, than the document says. False: all is well.
static bool correct(Import *im, const FaRig *rig) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    bool scaled = fabs(rig->unit - 1) > 1e-9, turned = false;
    if (!im->origin.up) {
        double m[16], r[9], s[9], up[3] = {0};
        fai_gltf_face_world(doc, m);
        if (fai_gltf_split(m, r, s))
            for (int k = 0; k < 3; k++)
                up[k] = r[3 * k] * rig->axes[3] + r[3 * k + 1] * rig->axes[4] + r[3 * k + 2] * rig->axes[5];
        turned = up[2] > 0.9;
    }
    if (turned) memcpy(im->place.turn, upright, sizeof upright);
    im->origin.up = FA_UP_Y;
    im->place.unit *= rig->unit;
    im->origin.unit = im->place.unit;
    im->options.unit = FA_UNIT_M;
    return scaled || turned;
}

// How the unit was found, and what was said about it, stay with the rig that is made again.
static FaCode hand_on(const FaRig *from, FaRig *to, FaError *err) {
    to->unit_how = fai_arena_strndup(to->arena, from->unit_how, strlen(from->unit_how));
    if (!to->unit_how) return FA_FAIL_MEMORY(err);
    static const char *const code[] = {"unit-suspect", "unit-unknown"};
    for (int i = 0; i < FA_COUNT(code); i++) {
        const FaNote *n = fai_note_find(&from->notes, code[i]);
        if (n && !fai_note_find(&to->notes, code[i])) fai_note(&to->notes, n->code, n->where, n->remedy, "%s", n->text);
    }
    return FA_OK;
}

static FaCode build(Import *im, const FaRigOptions *options, FaRig **rig, FaError *err) {
    if (!im->ai->mRootNode)
        return FA_FAIL(err, FA_E_MESH, NULL, "export the mesh with its faces", "no mesh with faces in the file");
    find_place(im, options);
    FaRig *first;
    FA_TRY(make(im, &first, err));
    if (!correct(im, first)) {
        *rig = first;
        return FA_OK;
    }
    FaCode rc = make(im, rig, err);
    if (rc >= 0) rc = hand_on(first, *rig, err);
    fa_rig_free(first);
    if (rc < 0) {
        fa_rig_free(*rig);
        *rig = NULL;
    }
    return rc;
}

FaCode fai_assimp_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    Import im = {.path = path};
    FA_TRY(import_scene(path, &im.ai, err));
    FaCode rc = build(&im, options, rig, err);
    aiReleaseImport(im.ai);
    return rc;
}

#endif

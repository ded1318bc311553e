#include "io/foreign.h"

#include "base/file.h"

#include <strings.h>

bool fai_foreign_reads(const char *ext) {
    static const char *const known[] = {"fbx", "dae", "blend", "3ds", "ply", "stl"};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (!strcasecmp(ext, known[i])) return true;
    return false;
}

#ifndef FA_HAVE_ASSIMP

FaCode fai_foreign_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    (void)options;
    *rig = NULL;
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "install assimp and build fascia again, or export the rig as .glb",
                   ".%.20s is read through assimp, which is not built in", fai_path_ext(path));
}

#else

#include "io/assimp_import.h"
#include "io/import_box.h"

#include <math.h>

typedef struct Import {
    const char *path;
    const struct aiScene *scene; // in this process; NULL: in the box
    FaBox box;
    FaImportAsk ask;
    FaImportDoc doc;
    FaRigOptions options; // for the document
} Import;

static FaCode open_import(Import *im, FaError *err) {
    if (im->options.in_process) return fai_assimp_open(im->path, &im->scene, err);
    FaBoxLimits limits = fai_box_limits(im->path);
    return fai_box_open(&im->box, im->path, &limits, err);
}

static void close_import(Import *im) {
    fai_import_doc_free(&im->doc);
    if (im->options.in_process)
        fai_assimp_close(im->scene);
    else
        fai_box_close(&im->box);
}

// A document as the ask says, and the rig in it.
static FaCode make(Import *im, FaRig **rig, FaError *err) {
    FaImportDoc *doc = &im->doc;
    fai_import_doc_free(doc);
    FA_TRY(im->scene ? fai_assimp_document(im->scene, im->path, &im->ask, doc, err)
                     : fai_box_ask(&im->box, &im->ask, doc, err));
    return fai_gltf_made_rig(doc->glb, doc->glb_size, im->path, &doc->origin, &doc->notes, &im->options, rig, err);
}

// The rig was found to be in another unit, or to stand otherwise, than the document says. False: all is well.
static bool correct(Import *im, const FaRig *rig) {
    FaImportAsk *ask = &im->ask;
    bool scaled = fabs(rig->unit - 1) > 1e-9, turned = false;
    if (!im->doc.origin.up) {
        double m[16], r[9], s[9], up[3] = {0};
        fai_gltf_face_world(fai_gltf_of_rig(rig), m);
        if (fai_gltf_split(m, r, s))
            for (int k = 0; k < 3; k++)
                up[k] = r[3 * k] * rig->axes[3] + r[3 * k + 1] * rig->axes[4] + r[3 * k + 2] * rig->axes[5];
        turned = up[2] > 0.9;
    }
    ask->placed = 1;
    ask->place = im->doc.place;
    if (turned) memcpy(ask->place.turn, fai_upright, sizeof fai_upright);
    ask->place.unit *= rig->unit;
    ask->origin_unit = ask->place.unit;
    ask->origin_up = FA_UP_Y;
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

static FaCode build(Import *im, FaRig **rig, FaError *err) {
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

FaCode fai_foreign_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err) {
    *rig = NULL;
    Import im = {.path = path, .options = options ? *options : (FaRigOptions){0}};
    // what the user says holds for the file; the document then is in metres and upright
    if (im.options.unit > 0 && isfinite(im.options.unit)) {
        im.ask.unit = im.options.unit;
        im.options.unit = FA_UNIT_M;
    }
    if (im.options.up) {
        im.ask.up = im.options.up;
        im.options.up = FA_UP_Y;
    }
    FaCode rc = open_import(&im, err);
    if (rc >= 0) rc = build(&im, rig, err);
    close_import(&im);
    return rc;
}

#endif

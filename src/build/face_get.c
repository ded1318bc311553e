#include "build/face_get.h"

#include "base/file.h"
#include "base/text.h"
#include "face/bones.h"
#include "face/face.h"

#include <stdio.h>

enum { VOLUME_LAYERS = 2, VOLUME_VERTICES = 3500 };

FaFaceOptions fa_face_options_for(unsigned needs) {
    FaFaceOptions o = fa_face_options_default();
    if (needs & FA_NEED_VOLUMES) o.layers = VOLUME_LAYERS, o.simulate_vertices = VOLUME_VERTICES;
    return o;
}

FaFaceGet fa_face_get_default(void) { return (FaFaceGet){0}; }

unsigned fai_face_stages_for(const FaFace *face, const FaRig *rig) {
    unsigned stages = fa_face_stages(face) & ~(unsigned)FA_NEED_VOLUMES;
    if (fa_face_volumes_fit(face, rig)) stages |= FA_NEED_VOLUMES;
    if (rig->nshape == 0 && face->mu0) stages |= FA_NEED_MATERIALS; // no shapes, no columns: it has all there can be
    return stages;
}

typedef struct Getting {
    const FaRig *rig;
    unsigned needs;
    FaFaceGet how;
    FaFaceOptions options;
    FaFace *face;
    char *part; // file of volumes on their way; NULL: none
    FaFaceGot got;
} Getting;

static void drop(Getting *g) {
    fa_face_free(g->face);
    g->face = NULL;
}

// The user's own face, as it is: volumes of an earlier fascia can be used.
static FaCode load_file(Getting *g, FaError *err) {
    FA_TRY(fa_face_load(g->how.file, &g->face, err));
    FA_TRY(fai_fail_in(err, fa_face_fits(g->face, g->rig, err), g->how.file));
    g->got.loaded = fa_face_stages(g->face) | fai_face_stages_for(g->face, g->rig);
    return FA_OK;
}

// Was it built as is asked for, as far as one can see?
static bool as_asked(const FaFace *f, const FaFaceOptions *o) {
    return (o->filled || f->layers == FA_MAX(o->layers, 1)) &&
           (o->simulate_vertices == 0 || f->nskin <= o->simulate_vertices);
}

// The jaw is found again and compared: the user may say otherwise where it turns (--hinge), or fascia know better now.
static bool same_jaw(const Getting *g) {
    FaError ignored = {0};
    FaJaw jaw;
    const FaJaw *kept = &g->face->jaw;
    if (fai_bones_jaw(g->rig, &jaw, NULL, NULL, &ignored) < 0) return false;
    uint64_t now = 0, then = 0;
    for (int i = 0; i < jaw.nmore; i++) now = fai_jaw_shape_hash(&jaw.more[i], now);
    for (int i = 0; i < kept->nmore; i++) then = fai_jaw_shape_hash(&kept->more[i], then);
    return jaw.found == kept->found && !memcmp(jaw.hinge, kept->hinge, sizeof jaw.hinge) &&
           jaw.open_angle == kept->open_angle && now == then;
}

// What an earlier run kept. Anything odd: it is made again, and no error of it. Stages are made in the order of their
// numbers, each on top of those before it (volumes leave triangles out), and a face must not depend on what was there
// before: where one is missing or stale that a later one was made without, all of it is made again.
static void load_cache(Getting *g) {
    FaError ignored = {0};
    if (!fai_file_exists(g->how.cache) || fa_face_load(g->how.cache, &g->face, &ignored) < 0) return;
    const bool fits =
        fa_face_fits(g->face, g->rig, &ignored) >= 0 && same_jaw(g) && fai_face_filled(g->face) == g->options.filled;
    const unsigned there = fa_face_stages(g->face), good = fits ? fai_face_stages_for(g->face, g->rig) : 0;
    const unsigned missing = g->needs & ~good, first = missing & (~missing + 1);
    if (!fits || (missing && (!as_asked(g->face, &g->options) || (there & ~(first - 1)))))
        drop(g);
    else
        g->got.loaded = good;
}

static FaCode begin(const Getting *g, const char *stage, FaError *err) {
    return fai_progress(
        g->how.progress, g->how.progress_user, stage, 0,
        g->part ? "finished shapes are kept, and the same command goes on from there" : "nothing is kept", err);
}

static FaCode make_volumes(Getting *g, FaError *err) {
    const FaVolumeOptions o = {.partial = g->part,
                               .progress = g->how.progress,
                               .progress_user = g->how.progress_user,
                               .each = g->how.each,
                               .each_user = g->how.each_user};
    return fa_face_volumes(g->face, g->rig, &o, &g->got.volumes, err);
}

static FaCode make_equilibrium(Getting *g, FaError *err) {
    FaEquilibriumOptions o = g->how.equilibrium ? *g->how.equilibrium : (FaEquilibriumOptions){0};
    if (!o.progress) o.progress = g->how.progress, o.progress_user = g->how.progress_user;
    return fa_face_equilibrium(g->face, g->rig, &o, &g->got.equilibrium, err);
}

// The stages in their order, each on top of those before it.
static FaCode make_missing(Getting *g, FaError *err) {
    const unsigned missing = g->needs & ~g->got.loaded;
    if (missing & FA_NEED_FACE) {
        FA_TRY(begin(g, "face", err));
        FA_TRY(fa_face_build(g->rig, &g->options, &g->face, err));
    }
    if (missing & FA_NEED_MATERIALS) {
        FA_TRY(begin(g, "materials", err));
        FA_TRY(fa_face_materials(g->face, g->rig, g->how.materials, err));
    }
    if (missing & FA_NEED_VOLUMES) FA_TRY(make_volumes(g, err));
    if (missing & FA_NEED_EQUILIBRIUM) FA_TRY(make_equilibrium(g, err));
    g->got.made = missing;
    return FA_OK;
}

static FaCode keep(Getting *g, FaError *err) {
    if (!g->how.cache || g->got.made == 0) return FA_OK;
    FA_TRY(fa_face_save(g->face, g->how.cache, err));
    g->got.saved = true;
    remove(g->part);
    return FA_OK;
}

static FaCode get_all(Getting *g, FaError *err) {
    if (g->how.file) {
        FA_TRY(load_file(g, err));
        return make_missing(g, err);
    }
    if (g->how.cache) {
        FaText part = {0};
        fai_text_printf(&part, "%s.part", g->how.cache);
        if (part.failed) return FA_FAIL_MEMORY(err);
        g->part = part.data;
        if (!g->how.again) load_cache(g);
    }
    FA_TRY(make_missing(g, err));
    return keep(g, err);
}

FaCode fa_face_get(const FaRig *rig, unsigned needs, const FaFaceGet *get, FaFace **face, FaError *err) {
    Getting g = {.rig = rig, .needs = needs | FA_NEED_FACE, .how = get ? *get : fa_face_get_default()};
    *face = NULL;
    if (needs & ~(unsigned)FA_NEEDS)
        return FA_FAIL(err, FA_E_ARG, NULL, "give FA_NEED_... together", "there is no stage %#x of a face",
                       needs & ~(unsigned)FA_NEEDS);
    if (g.how.file) g.how.cache = NULL;
    g.options = g.how.options ? *g.how.options : fa_face_options_for(needs);
    FaCode rc = get_all(&g, err);
    fa_free(g.part);
    if (rc < 0) drop(&g);
    if (rc >= 0 && g.how.got)
        *g.how.got = g.got;
    else
        fa_equilibrium_report_free(&g.got.equilibrium);
    if (rc < 0 && g.how.got) *g.how.got = (FaFaceGot){0};
    *face = g.face;
    return rc;
}

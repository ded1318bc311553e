// The head as rigs and as a file.
#include "head/head_file.h"

#include "base/base.h"
#include "fascia/head.h"
#include "io/gltf/gltf.h"
#include "rig/rig_build.h"

static FaCode copy_mesh(const FaMesh *from, FaArena *arena, FaMesh *to, FaError *err) {
    int corners = from->face_start[from->nface];
    *to = (FaMesh){.nvert = from->nvert, .nface = from->nface, .nuv = from->nuv};
    to->x = FA_PUSH(arena, 3 * (size_t)from->nvert, float);
    to->face_start = FA_PUSH(arena, (size_t)from->nface + 1, int);
    to->face_vert = FA_PUSH(arena, corners, int);
    if (from->face_uv) {
        to->face_uv = FA_PUSH(arena, corners, int);
        to->uv = FA_PUSH(arena, 2 * (size_t)from->nuv, float);
        if (!to->face_uv || !to->uv) return FA_FAIL_MEMORY(err);
        memcpy(to->face_uv, from->face_uv, (size_t)corners * sizeof *to->face_uv);
        memcpy(to->uv, from->uv, 2 * (size_t)from->nuv * sizeof *to->uv);
    }
    if (!to->x || !to->face_start || !to->face_vert) return FA_FAIL_MEMORY(err);
    memcpy(to->x, from->x, 3 * (size_t)from->nvert * sizeof *to->x);
    memcpy(to->face_start, from->face_start, ((size_t)from->nface + 1) * sizeof *to->face_start);
    memcpy(to->face_vert, from->face_vert, (size_t)corners * sizeof *to->face_vert);
    return FA_OK;
}

FaCode fa_head_rig(const FaHead *head, int part, FaRig **rig, FaError *err) {
    *rig = NULL;
    if (part < 0 || part >= head->npart)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the head has %d parts, not %d", head->npart, part + 1);
    const FaHeadPart *p = &head->part[part];
    FaRigDraft *draft;
    FaMesh mesh;
    FA_TRY(fai_draft_new(&draft, err));
    FaCode rc = copy_mesh(&p->mesh, fai_draft_arena(draft), &mesh, err);
    if (rc >= 0) fai_draft_mesh(draft, &mesh);
    // the skin has all 52, also those that do not move it, so that rigs and clips agree by number; parts have their own
    for (int a = 0, s = 0; a < FA_ARKIT_COUNT && rc >= 0 && p->nshape; a++) {
        bool has = s < p->nshape && p->shape[s].arkit == a;
        const FaHeadShape none = {.name = fa_arkit_name(a)}, *shape = has ? &p->shape[s++] : &none;
        if (has || part == 0)
            rc = fai_draft_shape_sparse(draft, shape->name, shape->count, shape->row, shape->delta, 0, err);
    }
    if (rc < 0) {
        fai_draft_free(draft);
        return rc;
    }
    FaRigHints hints = {.unit = 1, .up = FA_UP_Y, .name = p->name, .path = ""};
    FaRigOptions options = {.unit = FA_UNIT_M, .up = FA_UP_Y, .any_size = true};
    return fai_draft_finish(draft, &hints, &options, rig, err);
}

FaGlbMaterial fai_head_material(const char *region) {
    static const FaGlbMaterial known[] = {
        {"skin", {0.72f, 0.46f, 0.36f}, 0.55f},   {"lip", {0.56f, 0.24f, 0.21f}, 0.42f},
        {"sclera", {0.86f, 0.84f, 0.80f}, 0.12f}, {"iris", {0.16f, 0.27f, 0.33f}, 0.10f},
        {"pupil", {0.01f, 0.01f, 0.01f}, 0.08f},  {"teeth", {0.80f, 0.75f, 0.64f}, 0.25f},
        {"gum", {0.50f, 0.18f, 0.17f}, 0.35f},    {"tongue", {0.48f, 0.17f, 0.16f}, 0.45f},
        {"bone", {0.76f, 0.70f, 0.56f}, 0.70f}};
    for (int i = 0; i < FA_COUNT(known); i++)
        if (!strcmp(known[i].name, region)) return known[i];
    FaGlbMaterial other = known[0];
    other.name = region;
    return other;
}

static bool is_bone(const FaHeadPart *p) { return p->nregion == 1 && !strcmp(p->region[0], "bone"); }

enum { MOST_PARTS = 32 };
typedef struct Parts {
    FaGlbPart part[MOST_PARTS];
    FaGlbMaterial material[MOST_PARTS][FA_COUNT(((FaHeadPart *)NULL)->region)];
    FaRig *rig[MOST_PARTS];
    int n;
} Parts;

static FaCode gather(const FaHead *head, bool bones, Parts *all, FaError *err) {
    FA_ASSERT(head->npart <= MOST_PARTS);
    all->n = 0;
    for (int i = 0; i < head->npart; i++) {
        const FaHeadPart *p = &head->part[i];
        int n = all->n;
        if (is_bone(p) && !bones) continue;
        FA_TRY(fa_head_rig(head, i, &all->rig[n], err));
        for (int k = 0; k < p->nregion; k++) all->material[n][k] = fai_head_material(p->region[k]);
        // the skin is one primitive: Blender splits vertices between primitives, and point caches must fit it
        all->part[n] = (FaGlbPart){all->rig[n], all->material[n], i ? p->nregion : 1, i ? p->face_region : NULL};
        all->n++;
    }
    return FA_OK;
}

static void scatter(Parts *all) {
    while (all->n > 0) fa_rig_free(all->rig[--all->n]);
}

FaCode fa_head_save(const FaHead *head, const FaClip *clip, bool bones, const char *generator, const char *path,
                    FaError *err) {
    Parts all;
    FaCode rc = gather(head, bones, &all, err);
    if (rc >= 0) rc = fai_glb_build(all.part, all.n, clip, generator, path, err);
    scatter(&all);
    return rc;
}

FaCode fai_head_file_rig(const FaHead *head, bool bones, FaRig **rig, FaError *err) {
    Parts all;
    FaText glb = {0};
    *rig = NULL;
    FaCode rc = gather(head, bones, &all, err);
    if (rc >= 0) rc = fai_glb_bytes(all.part, all.n, NULL, NULL, &glb, err);
    if (rc >= 0)
        rc = fai_gltf_made_rig(glb.data, glb.size, "", &(FaGltfOrigin){true, 1, FA_UP_Y}, NULL,
                               &(FaRigOptions){.any_size = true}, rig, err);
    scatter(&all);
    fai_text_free(&glb);
    return rc;
}

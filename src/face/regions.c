// Regions from the shapes: the shared ground, the cheeks, and what is held by no bone.
#include "face/regions.h"

#include "face/region_work.h"
#include "rig/jaw.h"

#include <stdlib.h>

// --- motions ------------------------------------------------------------------------------------------------------

bool fai_region_motion(FaRegionWork *w, const char *const *names, int n) {
    bool any = false;
    memset(w->d, 0, 3 * (size_t)w->rig->mesh.nvert * sizeof *w->d);
    for (int i = 0; i < n; i++) any |= fai_arkit_motion_add(w->rig, names[i], 1, w->d);
    for (int i = 0; i < w->n; i++) {
        double d[3];
        fai_v3_load(w->d, w->vertex[i], d);
        fai_m3_mulv(w->rig->axes, d, w->move + 3 * (size_t)i);
    }
    return any;
}

bool fai_region_centre(const FaRegionWork *w, const bool *keep, double out[3]) {
    double sum = 0, at[3] = {0};
    for (int i = 0; i < w->n; i++) {
        double len = fai_region_length(w->move, i), weight = w->skin.area[i] * len * len;
        if (keep && !keep[i]) continue;
        fai_v3_mad(at, weight, w->x + 3 * (size_t)i, at);
        sum += weight;
    }
    if (!(sum > 0)) return false;
    fai_v3_scale(1 / sum, at, out);
    return true;
}

// The root mean of length^8 over squared length^6: weighs the top without being one vertex.
double fai_region_most(const FaRegionWork *w) {
    double top = 0, hi = 0, lo = 0;
    for (int i = 0; i < w->n; i++) top = fmax(top, fai_region_length(w->move, i));
    if (!(top > 0)) return 0;
    for (int i = 0; i < w->n; i++) {
        double u = fai_region_length(w->move, i) / top, u2 = u * u, u6 = u2 * u2 * u2;
        hi += w->skin.area[i] * u6 * u2;
        lo += w->skin.area[i] * u6;
    }
    return lo > 0 ? top * sqrt(hi / lo) : 0;
}

static int by_key(const void *a, const void *b) {
    const FaByKey *p = a, *q = b;
    return p->key < q->key ? -1 : p->key > q->key ? 1 : (p->i > q->i) - (p->i < q->i);
}

void fai_sort_keys(FaByKey *item, int n) {
    if (n > 1) qsort(item, (size_t)n, sizeof *item, by_key);
}

// Eyes to mouth, against an average adult's 70 mm.
static double face_scale(FaRegionWork *w) {
    static const char *const eyes[] = {"eyeBlinkLeft", "eyeBlinkRight"};
    static const char *const lips[] = {"mouthPucker", "mouthRollUpper", "mouthRollLower"};
    double eye[3], lip[3];
    if (!fai_region_motion(w, eyes, 2) || !fai_region_centre(w, NULL, eye)) return 1;
    if (!fai_region_motion(w, lips, 3) || !fai_region_centre(w, NULL, lip)) return 1;
    fai_v3_sub(eye, lip, eye);
    return fmin(4, fmax(0.3, fai_v3_norm(eye) / 0.070));
}

// --- cheeks -------------------------------------------------------------------------------------------------------

// The pouches: what cheekPuff blows up, outside the corners of the mouth and not the lips themselves.
FaCode fai_find_cheeks(FaRegionWork *w) {
    static const char *const puff[] = {"cheekPuff"};
    static const char *const others[] = {"mouthSmileLeft", "mouthSmileRight", "mouthDimpleLeft", "mouthDimpleRight"};
    float *out = w->region[FA_REGION_CHEEKS];
    bool blown = fai_region_motion(w, puff, 1) && fai_region_most(w) > 1e-4;
    if (!blown && (!fai_region_motion(w, others, 4) || !(fai_region_most(w) > 1e-4))) {
        if (w->notes)
            fai_note(w->notes, "no-cheeks", NULL, "paint the region \"cheeks\"",
                     "no shape moves the cheeks: they are taken as held by bone");
        return FA_OK;
    }
    if (!blown && w->notes)
        fai_note(w->notes, "cheeks-guessed", NULL, "add a shape cheekPuff, or paint the region \"cheeks\"",
                 "no cheekPuff: cheeks are taken from smiles and dimples");
    double most = fai_region_most(w), from = 0.4, full = 0.8;
    for (int i = 0; i < w->n; i++) {
        const double *x = w->x + 3 * (size_t)i;
        double side = fabs(x[0] - w->centre[0]),
               lips = w->region[FA_REGION_LIP_UPPER][i] + w->region[FA_REGION_LIP_LOWER][i];
        double u = fai_ramp(from, full, fai_region_length(w->move, i) / most);
        if (w->mouth) u *= fai_ramp(0.6 * w->half_width, 1.15 * w->half_width, side) * (1 - fmin(1, lips));
        out[i] = (float)u;
    }
    return FA_OK;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode open_work(FaRegionWork *w, const int *tri, int ntri) {
    w->x = FA_PUSH(w->arena, 3 * (size_t)w->n, double);
    w->move = FA_PUSH(w->arena, 3 * (size_t)w->n, double);
    w->lower = FA_PUSH(w->arena, w->n, double);
    w->d = FA_PUSH(w->arena, 3 * (size_t)w->rig->mesh.nvert, float);
    if (!w->x || !w->move || !w->lower || !w->d) return FA_FAIL_MEMORY(w->err);
    for (int i = 0; i < w->n; i++) {
        double p[3];
        fai_v3_load(w->rig->mesh.x, w->vertex[i], p);
        fai_m3_mulv(w->rig->axes, p, w->x + 3 * (size_t)i);
        for (int k = 0; k < 3; k++)
            if (!isfinite(p[k]))
                return FA_FAIL(w->err, FA_E_NUMERIC, FA_PLACE("vertex %d", w->vertex[i]), "repair the neutral",
                               "a position is not finite");
    }
    FA_TRY(fai_surface_build(w->n, w->x, ntri, tri, w->arena, &w->skin, w->err));
    w->scale = face_scale(w);
    return FA_OK;
}

static FaCode find_all(FaRegionWork *w, const int *tri, int ntri) {
    FA_TRY(open_work(w, tri, ntri));
    FA_TRY(fai_find_mouth(w));
    FA_TRY(fai_find_lids(w));
    FA_TRY(fai_find_cheeks(w));
    double *limb = FA_PUSH(w->arena, w->n, double);
    if (!limb) return FA_FAIL_MEMORY(w->err);
    FA_TRY(fai_find_limbs(w, limb));
    for (int i = 0; i < w->n; i++) {
        double lips = (double)w->region[FA_REGION_LIP_UPPER][i] + (double)w->region[FA_REGION_LIP_LOWER][i];
        double u = fmax(lips, fmax((double)w->region[FA_REGION_CHEEKS][i], limb[i]));
        w->region[FA_REGION_FREE][i] = (float)fmin(1, u);
        w->region[FA_REGION_CHEEKS][i] *= (float)(1 - limb[i]); // a barbel that the cheek moves is none
    }
    return FA_OK;
}

FaCode fai_find_regions(const FaRig *rig, const FaPatch *skin, float *region[FA_REGIONS], FaNotes *notes,
                        FaError *err) {
    for (int r = 0; r < FA_REGIONS; r++) memset(region[r], 0, (size_t)skin->nskin * sizeof *region[r]);
    if (!skin->nskin) return FA_OK;
    FaRegionWork w = {.rig = rig,
                      .vertex = skin->skin_vertex,
                      .n = skin->nskin,
                      .scale = 1,
                      .region = region,
                      .notes = notes,
                      .arena = fai_arena_new(0),
                      .err = err};
    FaCode rc = w.arena ? find_all(&w, skin->tri, skin->ntri) : FA_FAIL_MEMORY(err);
    fai_arena_free(w.arena);
    return rc;
}

// From a rig to a physical face.
//
//   patch      which triangles are simulated            regions    lips, lids, cheeks, what hangs free
//   bones      what lies below                          jaw        its rigid motion, who goes with it
//   thickness  asked and allowed                        layer      the hypodermal surface, eq. 5.8-5.9
//   repair     no tet without volume                    attach     what holds the deepest nodes
//   coarse     fewer vertices, before all of these, where they are asked for
//
// Where no prism of positive volume exists below a triangle (skin folded onto itself), the triangle is left out, which
// moves the patch's edge; then patch to repair are done again. Each round leaves out at least one, so it ends.
#include "face/attach.h"
#include "face/bones.h"
#include "face/coarse.h"
#include "face/face.h"
#include "face/layer.h"
#include "face/patch.h"
#include "face/regions.h"
#include "face/skin_paint.h"
#include "face/tetra.h"
#include "face/thickness.h"
#include "fascia/face.h"
#include "mesh/intersect.h"
#include "rig/jaw.h"

#include <math.h>

enum { MAX_ROUNDS = 20 };
enum { UNCROSS_ROUNDS = 10, MAX_PAIRS = 1 << 15 };
static const double UNCROSS_BY = 0.82, UNCROSS_LEAST = 0.3e-3, UNCROSS_SLOPE = 40; // factor, m, 1/m
static const FaLayerOptions LAYER = {.w_smooth = 0.02, .w_lap = 0.1};
static const double MARGIN = 25e-3, DENSITY = 1100;

typedef struct Build {
    const FaRig *rig;
    FaFaceOptions options;
    FaFace *face;
    FaTopology topo; // of the rig
    FaPaint paint;
    float *with_jaw;         // per rig vertex                                  (nvert)
    unsigned char *banned;   // triangles of the rig                            (ntri)
    float *kept[FA_REGIONS]; // regions per rig vertex, found in the first round (nvert)
    bool regions_known;
    FaCoarse coarse;  // of the rig's patch, if fewer vertices are asked for than it has
    int part;         // of the rig that is skin
    FaArena *scratch; // lives as long as the build
    // of the present round
    FaArena *round;
    FaPatch patch;
    FaMesh skin;
    FaTopology near; // of the skin
    float *normal, *deep, *asked, *thickness, *scale;
    unsigned char *clamp, *hopeless;
    float *region[FA_REGIONS];
    FaRepair repair;
} Build;

FaFaceOptions fa_face_options_default(void) {
    return (FaFaceOptions){.layers = 1, .lip_thickness = FA_LIP_FOLD, .density = DENSITY, .margin = MARGIN};
}

static FaCode check_options(const FaFaceOptions *o, FaError *err) {
    if (o->layers < 0 || o->layers > FA_FACE_LAYERS)
        return FA_FAIL(err, FA_E_ARG, "layers", "1 is usual, 2 or 3 for close-ups", "%d layers are not in 1..%d",
                       o->layers, FA_FACE_LAYERS);
    const struct {
        const char *name;
        double value, max;
    } range[] = {{"thickness", o->thickness, 0.04},
                 {"lip thickness", o->lip_thickness, 0.04},
                 {"margin", o->margin, 10},
                 {"number of simulated vertices", o->simulate_vertices, 1e7},
                 {"density", o->density, 1e5}};
    for (int i = 0; i < FA_COUNT(range); i++)
        if (!(range[i].value >= 0 && range[i].value <= range[i].max))
            return FA_FAIL(err, FA_E_ARG, range[i].name, "0 takes the default",
                           "the %s is negative, too large or not a number", range[i].name);
    if (o->nbone < 0 || (o->nbone > 0 && !o->bone))
        return FA_FAIL(err, FA_E_ARG, "bone", NULL, "%d bone files", o->nbone);
    return FA_OK;
}

// --- one round ------------------------------------------------------------------------------------------------------

static FaCode allocate_round(Build *b, FaError *err) {
    const size_t n = (size_t)b->patch.nskin;
    float **array[] = {&b->asked, &b->thickness, &b->scale};
    for (int i = 0; i < FA_COUNT(array); i++)
        if (!(*array[i] = FA_PUSH(b->round, n, float))) return FA_FAIL_MEMORY(err);
    for (int r = 0; r < FA_REGIONS; r++)
        if (!(b->region[r] = FA_PUSH(b->round, n, float))) return FA_FAIL_MEMORY(err);
    b->normal = FA_PUSH(b->round, 3 * n, float);
    b->deep = FA_PUSH(b->round, 3 * n, float);
    b->clamp = FA_PUSH(b->round, n, unsigned char);
    b->hopeless = FA_PUSH(b->round, b->patch.ntri, unsigned char);
    b->skin = (FaMesh){
        .nvert = b->patch.nskin, .ntri = b->patch.ntri, .tri = b->patch.tri, .x = FA_PUSH(b->round, 3 * n, float)};
    if (!b->normal || !b->deep || !b->clamp || !b->hopeless || !b->skin.x) return FA_FAIL_MEMORY(err);
    for (size_t i = 0; i < n; i++)
        memcpy(b->skin.x + 3 * i, b->rig->mesh.x + 3 * (size_t)b->patch.skin_vertex[i], 3 * sizeof(float));
    return FA_OK;
}

// Lips and cheeks, which are free of bones.
static float loose_face(float *const region[FA_REGIONS], int i) {
    const float lips = region[FA_REGION_LIP_UPPER][i] + region[FA_REGION_LIP_LOWER][i];
    return fminf(fmaxf(lips, region[FA_REGION_CHEEKS][i]), 1);
}

// What hangs free beyond them (fai_face_hangs) stays so where lips and cheeks are painted otherwise; and what is
// painted free is no cheek, unless it is painted that.
static void keep_hanging(Build *b, float hangs, int v) {
    const float *free_paint = b->paint.region[FA_REGION_FREE], *cheek_paint = b->paint.region[FA_REGION_CHEEKS];
    float *free_part = &b->kept[FA_REGION_FREE][v], *cheek = &b->kept[FA_REGION_CHEEKS][v];
    if (!free_paint || !isfinite(free_paint[v]))
        *free_part = fminf(fmaxf(hangs, 0) + loose_face(b->kept, v), 1);
    else if (!cheek_paint || !isfinite(cheek_paint[v]))
        *cheek = fminf(*cheek, 1 - *free_part);
}

// Regions by the shapes, then as painted. Kept per rig vertex, since later rounds only lose vertices.
static FaCode find_regions(Build *b, FaError *err) {
    const FaPatch *p = &b->patch;
    if (!b->regions_known) {
        FA_TRY(fai_find_regions(b->rig, p, b->region, &b->face->notes, err));
        for (int r = 0; r < FA_REGIONS; r++)
            for (int i = 0; i < p->nskin; i++) {
                float v = b->region[r][i], painted = b->paint.region[r] ? b->paint.region[r][p->skin_vertex[i]] : NAN;
                b->kept[r][p->skin_vertex[i]] = fminf(fmaxf(isfinite(painted) ? painted : v, 0), 1);
            }
        for (int i = 0; b->options.paint && i < p->nskin; i++)
            keep_hanging(b, b->region[FA_REGION_FREE][i] - loose_face(b->region, i), p->skin_vertex[i]);
        b->regions_known = true;
    }
    for (int r = 0; r < FA_REGIONS; r++)
        for (int i = 0; i < p->nskin; i++) b->region[r][i] = b->kept[r][p->skin_vertex[i]];
    return FA_OK;
}

// Where the deepest layer of one wall crosses that of another all the same (walls that are not parallel: nostrils,
// corners of the eyes), shorten the columns of both, and smoothly their neighbours. Skin that crosses itself cannot be
// helped: columns stay UNCROSS_LEAST long.
static FaCode uncross(Build *b, FaError *err) {
    const int n = b->patch.nskin;
    int(*pair)[2] = (int(*)[2])fai_arena_push(b->round, MAX_PAIRS, sizeof *pair), count = 0;
    double *scale = FA_PUSH(b->round, n, double);
    if (!pair || !scale) return FA_FAIL_MEMORY(err);
    for (int round = 0; round < UNCROSS_ROUNDS; round++) {
        bool any = false;
        FA_TRY(fai_self_intersections(&b->skin, b->deep, NULL, pair, MAX_PAIRS, &count, err));
        if (count == 0) break;
        for (int i = 0; i < n; i++) scale[i] = 1;
        for (int k = 0; k < 6 * FA_MIN(count, MAX_PAIRS); k++) {
            int i = b->patch.tri[3 * (size_t)pair[k / 6][k % 2] + (size_t)(k / 2 % 3)];
            double size = 0;
            for (size_t j = 3 * (size_t)i; j < 3 * (size_t)i + 3; j++)
                size += pow((double)b->deep[j] - (double)b->skin.x[j], 2);
            if (sqrt(size) > UNCROSS_LEAST) scale[i] = UNCROSS_BY, any = true;
        }
        if (!any) break;
        FA_TRY(fai_spread_min(n, b->near.around_start, b->near.around, b->skin.x, UNCROSS_SLOPE, scale, err));
        for (size_t j = 0; j < 3 * (size_t)n; j++) {
            double x = (double)b->skin.x[j];
            b->deep[j] = (float)(x + scale[j / 3] * ((double)b->deep[j] - x));
        }
    }
    return FA_OK;
}

// The patch of this round, in vertices of the rig; triangles and what is banned are those of the coarse one, if any.
static FaCode find_patch(Build *b, FaError *err) {
    const FaPatchOptions how = {.whole = b->options.whole, .margin = b->options.margin, .banned = b->banned},
                         all = {.whole = true, .banned = b->banned};
    if (!b->coarse.rig) return fai_patch_find(b->rig, &b->topo, &how, b->round, &b->patch, err);
    FA_TRY(fai_patch_find(b->coarse.rig, &b->coarse.topo, &all, b->round, &b->patch, err));
    return fai_coarse_lift(&b->coarse, b->rig, b->part, b->round, &b->patch, err);
}

// Fewer vertices, if that is asked for. Regions are found on the full surface, which shows them best.
static FaCode coarsen(Build *b, FaError *err) {
    if (b->options.simulate_vertices == 0) return FA_OK;
    if (!(b->round = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
    FA_TRY(find_patch(b, err));
    if (b->patch.nskin <= b->options.simulate_vertices) return FA_OK;
    FA_TRY(allocate_round(b, err));
    FA_TRY(find_regions(b, err));
    FA_TRY(fai_coarse_new(b->rig, &b->patch, (const float *const *)b->region, b->options.simulate_vertices, &b->coarse,
                          err));
    fai_note(&b->face->notes, "skin-decimated", NULL, NULL,
             "%d of %d vertices of the skin are simulated, the others follow", b->coarse.rig->mesh.nvert,
             b->patch.nskin);
    return FA_OK;
}

static FaCode one_round(Build *b, FaError *err) {
    FA_TRY(find_patch(b, err));
    if (b->patch.nskin < 3)
        return FA_FAIL(err, FA_E_MESH, NULL, "check the mesh with fascia info",
                       "too little of the skin is left to simulate");
    FA_TRY(allocate_round(b, err));
    FA_TRY(fai_topology_build(&b->skin, &b->near, err));
    fai_mesh_normals(&b->skin, b->skin.x, b->normal);
    FA_TRY(find_regions(b, err));
    const FaFace *f = b->face;
    const FaThicknessInput in = {.rig = b->rig,
                                 .topo = &b->topo,
                                 .part = b->patch.part,
                                 .nskin = b->patch.nskin,
                                 .skin_vertex = b->patch.skin_vertex,
                                 .x = b->skin.x,
                                 .normal = b->normal,
                                 .start = b->near.around_start,
                                 .around = b->near.around,
                                 .region = (const float *const *)b->region,
                                 .painted = b->paint.thickness,
                                 .nbone = f->nbone,
                                 .bone = f->bone,
                                 .uniform = b->options.thickness,
                                 .lip = b->options.lip_thickness};
    FA_TRY(fai_thickness_find(&in, b->asked, b->thickness, b->clamp, err));
    FA_TRY(fai_layer_solve(&b->skin, b->normal, b->thickness, b->patch.rim, &LAYER, b->deep, err));
    FA_TRY(uncross(b, err));
    return fai_layer_repair(&b->skin, &b->near, b->options.layers, b->deep, b->scale, b->hopeless, &b->repair, err);
}

static FaCode rounds(Build *b, FaError *err) {
    int left_out = 0, first = -1;
    for (int round = 0;; round++) {
        fai_arena_free(b->round);
        fai_topology_free(&b->near);
        b->near = (FaTopology){0};
        if (!(b->round = fai_arena_new(0))) return FA_FAIL_MEMORY(err);
        FA_TRY(one_round(b, err));
        if (b->repair.hopeless == 0) break;
        if (round == MAX_ROUNDS)
            return FA_FAIL(err, FA_E_MESH, FA_PLACE("vertex %d", first),
                           "clean the mesh there, or give it a thickness with --paint",
                           "flesh below the skin stays inverted at %d triangles", b->repair.hopeless);
        for (int t = 0; t < b->patch.ntri; t++)
            if (b->hopeless[t]) {
                if (first < 0) first = b->patch.skin_vertex[b->patch.tri[3 * (size_t)t]];
                b->banned[b->patch.rig_tri[t]] = 1;
                left_out++;
            }
    }
    if (left_out)
        fai_note_count(&b->face->notes, left_out, "skin-left-out", FA_PLACE("vertex %d", first),
                       "clean the folds there if they should be flesh",
                       "%d triangles are folded so that no flesh fits below them: they follow the shapes alone",
                       left_out);
    return FA_OK;
}

// --- the result -----------------------------------------------------------------------------------------------------

static void place_nodes(const Build *b, FaFace *f) {
    const size_t n = (size_t)f->nskin;
    for (int l = 0; l <= f->layers; l++)
        for (size_t i = 0; i < 3 * n; i++) {
            double top = (double)b->skin.x[i], low = (double)b->deep[i];
            f->x0[3 * n * (size_t)l + i] =
                l == f->layers ? b->deep[i] : (float)(top + (double)l / f->layers * (low - top));
        }
    for (size_t i = 0; i < n; i++) {
        double d = 0;
        for (int k = 0; k < 3; k++)
            d += pow((double)b->deep[3 * i + (size_t)k] - (double)b->skin.x[3 * i + (size_t)k], 2);
        f->thickness[i] = (float)sqrt(d);
    }
}

// rho V / 4 of each tet to its corners.
FaCode fai_face_weigh(FaFace *f, double density, FaError *err) {
    double *mass = FA_NEW(f->nnode, double);
    if (!mass) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < f->ntet; t++) {
        double m = density * fai_tet_volume(f->x0, f->tet + 4 * (size_t)t) / 4;
        for (int k = 0; k < 4; k++) mass[f->tet[4 * (size_t)t + (size_t)k]] += m;
    }
    for (int i = 0; i < f->nnode; i++) f->mass[i] = (float)mass[i];
    fa_free(mass);
    return FA_OK;
}

static void note_clamps(const Build *b, FaNotes *notes) {
    const FaPatch *p = &b->patch;
    int count[4] = {0}, worst[4] = {-1, -1, -1, -1}, shrunk = -1;
    for (int i = 0; i < p->nskin; i++) {
        int c = b->clamp[i];
        count[c]++;
        if (worst[c] < 0 || b->thickness[i] / b->asked[i] < b->thickness[worst[c]] / b->asked[worst[c]]) worst[c] = i;
        if (b->scale[i] < 0.999f && (shrunk < 0 || b->scale[i] < b->scale[shrunk])) shrunk = i;
    }
    fai_note_count(notes, count[FA_CLAMP_WALL], "thickness-wall",
                   FA_PLACE("vertex %d", worst[FA_CLAMP_WALL] < 0 ? -1 : p->skin_vertex[worst[FA_CLAMP_WALL]]), NULL,
                   "%d columns are thinner than asked: the opposite wall is near (lips, lids, nostrils, ears)",
                   count[FA_CLAMP_WALL]);
    fai_note_count(notes, count[FA_CLAMP_BONE], "thickness-bone",
                   FA_PLACE("vertex %d", worst[FA_CLAMP_BONE] < 0 ? -1 : p->skin_vertex[worst[FA_CLAMP_BONE]]), NULL,
                   "%d columns are thinner than asked: a bone, tooth or eye is near", count[FA_CLAMP_BONE]);
    if (shrunk >= 0)
        fai_note_count(notes, b->repair.shrunk, "thickness-shrunk", FA_PLACE("vertex %d", p->skin_vertex[shrunk]),
                       "smooth the skin there, or ask for less thickness",
                       "%d columns were shortened so that no tet is inverted", b->repair.shrunk);
    fai_note_count(notes, p->flipped, "skin-turned", NULL, "recalculate the normals to face outwards",
                   "%d triangles faced inwards and were turned round", p->flipped);
    fai_note_count(notes, p->dropped, "skin-unusable", NULL, "clean the mesh: merge doubles, remove slivers",
                   "%d triangles have no area or are the third at an edge: they follow the shapes alone", p->dropped);
}

static FaCode finish(Build *b, FaError *err) {
    FaFace *f = b->face;
    const FaPatch *p = &b->patch;
    f->nskin = p->nskin;
    f->ntri = p->ntri;
    if ((int64_t)f->nskin * (f->layers + 1) > INT32_MAX / 4 || (int64_t)f->ntri * 3 * f->layers > INT32_MAX / 4)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "use fewer layers or a coarser mesh",
                       "the face would have too many nodes");
    f->nnode = f->nskin * (f->layers + 1);
    f->ntet = 3 * f->ntri * f->layers;
    FA_TRY(fai_face_allocate(f, FA_NEED_FACE, err));
    const size_t n = (size_t)f->nskin;
    memcpy(f->skin_vertex, p->skin_vertex, n * sizeof(int));
    memcpy(f->node_of_vertex, p->node_of_vertex, (size_t)f->nvert * sizeof(int));
    memcpy(f->tri, p->tri, 3 * (size_t)f->ntri * sizeof(int));
    memcpy(f->rim, p->rim, n);
    memcpy(f->thickness_asked, b->asked, n * sizeof(float));
    for (int r = 0; r < FA_REGIONS; r++) memcpy(f->region[r], b->region[r], n * sizeof(float));
    place_nodes(b, f);
    fai_prism_tets(f->nskin, f->layers, f->ntri, f->tri, f->tet);
    FA_TRY(fai_face_weigh(f, b->options.density, err));
    const FaAttachInput in = {.rig = b->rig,
                              .nskin = f->nskin,
                              .skin_vertex = f->skin_vertex,
                              .deep = b->deep,
                              .with_jaw = b->with_jaw,
                              .jaw_found = f->jaw.found,
                              .nbone = f->nbone,
                              .bone = f->bone,
                              .paint_skull = b->paint.skull,
                              .paint_jaw = b->paint.jaw,
                              .scale = fai_face_scale(b->rig)};
    FA_TRY(fai_attach_find(&in, (const float *const *)f->region, f->to_skull, f->to_jaw, err));
    FA_TRY(fai_ride_find(b->rig, &b->topo, p->part, f, err));
    if (b->coarse.rig) FA_TRY(fai_coarse_ride(&b->coarse, b->rig, f, err));
    if (!b->options.filled) note_clamps(b, &f->notes); // else prisms are only what it begins with
    return fai_face_check(f, err);
}

static FaCode build(Build *b, FaError *err) {
    const FaRig *rig = b->rig;
    FaFace *f = b->face;
    b->scratch = fai_arena_new(0);
    f->arena = fai_arena_new(0);
    if (!b->scratch || !f->arena) return FA_FAIL_MEMORY(err);
    b->with_jaw = FA_PUSH(b->scratch, rig->mesh.nvert, float);
    b->banned = FA_PUSH(b->scratch, rig->mesh.ntri, unsigned char);
    for (int r = 0; r < FA_REGIONS; r++)
        if (!(b->kept[r] = FA_PUSH(b->scratch, rig->mesh.nvert, float))) return FA_FAIL_MEMORY(err);
    if (!b->with_jaw || !b->banned) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_topology_build(&rig->mesh, &b->topo, err));
    if (b->options.paint) FA_TRY(fai_paint_load(b->options.paint, rig, &b->paint, err));
    FaPatch first; // tells which part is the skin
    const FaPatchOptions how = {.whole = true};
    FA_TRY(fai_patch_find(rig, &b->topo, &how, b->scratch, &first, err));
    FA_TRY(fai_bones_jaw(rig, &f->jaw, b->with_jaw, &f->notes, err));
    FA_TRY(fai_bones_collect(rig, &b->topo, first.part, &b->options, f, err));
    f->rig_hash = fai_face_rig_hash(rig);
    f->nvert = rig->mesh.nvert;
    if (rig->path && !(f->rig_path = fai_arena_strndup(f->arena, rig->path, strlen(rig->path))))
        return FA_FAIL_MEMORY(err);
    f->layers = b->options.layers;
    b->part = first.part;
    FA_TRY(coarsen(b, err));
    FA_TRY(rounds(b, err));
    return finish(b, err);
}

FaCode fai_face_build_prisms(const FaRig *rig, const FaFaceOptions *options, FaFace **face, FaError *err) {
    *face = NULL;
    Build b = {.rig = rig};
    if (options) b.options = *options;
    FA_TRY(check_options(&b.options, err));
    const FaFaceOptions usual = fa_face_options_default();
    if (b.options.layers == 0) b.options.layers = usual.layers;
    if (b.options.lip_thickness == 0) b.options.lip_thickness = usual.lip_thickness;
    if (b.options.margin == 0) b.options.margin = usual.margin;
    if (b.options.density == 0) b.options.density = usual.density;
    if (!(b.face = FA_NEW(1, FaFace))) return FA_FAIL_MEMORY(err);
    FaCode rc = build(&b, err);
    fai_topology_free(&b.topo);
    fai_topology_free(&b.near);
    fai_paint_free(&b.paint);
    fai_coarse_free(&b.coarse);
    fai_arena_free(b.scratch);
    fai_arena_free(b.round);
    if (rc < 0) {
        fa_face_free(b.face);
        return fai_fail_in(err, rc, rig->path ? rig->path : "");
    }
    *face = b.face;
    return FA_OK;
}

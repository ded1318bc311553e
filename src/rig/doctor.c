// The rig doctor: what is in a rig or a clip, and every defect with its remedy.
//
// Codes of notes are stable and meant for programs; docs/guide/messages.md lists them. What cannot be used at all (NaN,
// indices out of range, backward times) never gets here: the readers refuse it.
#include "rig/doctor.h"

#include "base/text.h"
#include "mesh/intersect.h"
#include "mesh/mesh.h"
#include "rig/bind.h"
#include "rig/jaw_opener.h"
#include "rig/names.h"

#include <float.h>
#include <math.h>

// --- mesh ---------------------------------------------------------------------------------------------------------

static void name_axis(const double d[3], char out[4]) {
    int k = fabs(d[1]) > fabs(d[0]) ? 1 : 0;
    if (fabs(d[2]) > fabs(d[k])) k = 2;
    snprintf(out, 4, "%s%c%c", fabs(d[k]) < 0.99 ? "~" : "", d[k] < 0 ? '-' : '+', "xyz"[k]);
}

static void canonical(const FaRig *rig, int v, double out[3]) {
    const float *x = rig->mesh.x + 3 * (size_t)v;
    for (int k = 0; k < 3; k++) {
        const double *a = rig->axes + 3 * k;
        out[k] = a[0] * (double)x[0] + a[1] * (double)x[1] + a[2] * (double)x[2];
    }
}

static void measure_box(const FaRig *rig, FaInfo *info) {
    const FaMesh *mesh = &rig->mesh;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    int corners = mesh->nface ? mesh->face_start[mesh->nface] : mesh->nvert;
    for (int c = 0; c < corners; c++) {
        double x[3];
        canonical(rig, mesh->nface ? mesh->face_vert[c] : c, x);
        for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], x[k]), hi[k] = fmax(hi[k], x[k]);
    }
    if (corners == 0) return;
    info->width_m = hi[0] - lo[0];
    info->height_m = hi[1] - lo[1];
    info->depth_m = hi[2] - lo[2];

    // no face, and no body that carries one, is 5 m across
    int far = 0, first = -1;
    for (int v = 0; v < mesh->nvert && fmax(fmax(info->width_m, info->height_m), info->depth_m) > 5; v++) {
        const float *x = mesh->x + 3 * (size_t)v, *o = mesh->x;
        if (fmaxf(fmaxf(fabsf(x[0] - o[0]), fabsf(x[1] - o[1])), fabsf(x[2] - o[2])) <= 5) continue;
        if (!far++) first = v;
    }
    if (far > 0 && far < mesh->nvert / 2)
        fai_note_count(&info->notes, far, "stray-vertices", FA_PLACE("vertex %d", first),
                       "delete or move them in a modelling program", "%d vertices lie more than 5 m from the rest",
                       far);
}

// The head is what shapes move and what stands above it, within a face's width of its middle: arms above the head and a
// hat's far brim are not of it.
static void measure_head(const FaRig *rig, FaInfo *info) {
    const FaMesh *mesh = &rig->mesh;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, top = -INFINITY, c[3];
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        double most = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int i = shape->first; i < shape->first + shape->count; i++) {
                const float *d = rig->delta + 3 * (size_t)i;
                double far = sqrt((double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
                if (pass == 0) most = fmax(most, far);
                // a fifth of what the shape moves most, and no rounding error
                if (pass == 0 || far < fmax(0.2 * most, 5e-4)) continue;
                canonical(rig, rig->row[i], c);
                for (int k = 0; k < 3; k++) lo[k] = fmin(lo[k], c[k]), hi[k] = fmax(hi[k], c[k]);
            }
    }
    double reach = fmax(hi[0] - lo[0], hi[1] - lo[1]);
    for (int v = 0; v < mesh->nvert && reach > 0; v++) {
        canonical(rig, v, c);
        if (fabs(c[0] - 0.5 * (lo[0] + hi[0])) < reach && c[1] >= lo[1] && c[1] < hi[1] + reach) top = fmax(top, c[1]);
    }
    info->head_m = top > lo[1] ? top - lo[1] : 0;
}

static void note_topology(const FaTopology *t, int coincident, FaInfo *info) {
    FaNotes *n = &info->notes;
    fai_note_count(n, t->degenerate, "degenerate-triangles", "", "dissolve degenerate faces in a modelling program",
                   "%d triangles have no area", t->degenerate);
    fai_note_count(n, t->duplicate, "duplicate-triangles", "", "delete doubled faces in a modelling program",
                   "%d triangles are there twice", t->duplicate);
    fai_note_count(n, coincident, "coincident-vertices", "", "merge them by distance where they belong together",
                   "%d vertices lie exactly on another one", coincident);
    fai_note_count(n, t->nonmanifold, "nonmanifold-edges", "", "split the parts that share only an edge",
                   "%d edges belong to more than two triangles", t->nonmanifold);
    fai_note_count(n, t->flipped, "flipped-winding", "", "recalculate normals to the outside",
                   "%d edges lie between triangles that face opposite ways", t->flipped);
    fai_note_count(n, t->unused, "unused-vertices", "", "delete loose vertices; they are kept as they are",
                   "%d vertices are in no face", t->unused);
    fai_note_count(n, t->boundary, "open-mesh", "", "none needed for a face with open neck, eyes and mouth",
                   "%d edges are open: the mesh is not closed", t->boundary);
    if (t->nparts >= FA_MANY_PARTS)
        fai_note_count(n, t->nparts, "many-components", "",
                       "none needed if teeth, eyes and lashes are parts of their own",
                       "the mesh falls into %d separate parts", t->nparts);
}

static FaCode note_inside_out(const FaMesh *mesh, const FaTopology *t, FaInfo *info, FaError *err) {
    double *volume = FA_NEW(t->nparts, double);
    bool *closed = FA_NEW(t->nparts, bool);
    FaCode rc = volume && closed ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        int count = 0, first = -1;
        fai_mesh_volumes(mesh, t, mesh->x, volume, closed);
        for (int p = 0; p < t->nparts; p++)
            if (closed[p] && volume[p] < 0 && count++ == 0) first = p;
        fai_note_count(&info->notes, count, "inside-out-parts", FA_PLACE("part %d", first), "flip their faces",
                       "%d closed parts face inwards", count);
    }
    fa_free(volume);
    fa_free(closed);
    return rc;
}

// --- crossings ----------------------------------------------------------------------------------------------------

// Vertices of the lips: moved by half of the most in the shapes that roll, press or close them.
static void mark_lips(const FaRig *rig, bool *lip) {
    for (int s = 0; s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        const char *name = shape->arkit >= 0 ? fa_arkit_name(shape->arkit) : "";
        if (strncmp(name, "mouthRoll", 9) && strcmp(name, "mouthClose")) continue;
        double most = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int i = shape->first; i < shape->first + shape->count; i++) {
                const float *d = rig->delta + 3 * (size_t)i;
                double m = (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
                if (pass == 0)
                    most = fmax(most, m);
                else if (m >= 0.25 * most)
                    lip[rig->row[i]] = true;
            }
    }
}

static bool touches(const FaMesh *mesh, int tri, const bool *mark) {
    const int *v = mesh->tri + 3 * (size_t)tri;
    return mark[v[0]] || mark[v[1]] || mark[v[2]];
}

static FaCode note_crossings(const FaRig *rig, const FaTopology *t, FaInfo *info, FaError *err) {
    enum { MOST = 20000 };
    const FaMesh *mesh = &rig->mesh;
    bool *lip = FA_NEW(mesh->nvert, bool);
    int(*pair)[2] = fai_alloc_array(MOST, sizeof *pair);
    FaCode rc = lip && pair ? fai_self_intersections(mesh, mesh->x, NULL, pair, MOST, &info->intersections, err)
                            : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        int lips = 0, first = -1;
        mark_lips(rig, lip);
        for (int i = 0; i < FA_MIN(info->intersections, MOST); i++) {
            const int *p = pair[i];
            bool same = t->part[fai_weld(mesh, mesh->tri[3 * (size_t)p[0]])] ==
                        t->part[fai_weld(mesh, mesh->tri[3 * (size_t)p[1]])];
            if (same && touches(mesh, p[0], lip) && touches(mesh, p[1], lip) && lips++ == 0) first = i;
        }
        fai_note_count(&info->notes, info->intersections, "self-intersections",
                       info->intersections ? FA_PLACE("triangles %d and %d", pair[0][0], pair[0][1]) : "",
                       "none needed where parts overlap on purpose (teeth in gums); else pull them apart",
                       "%d%s pairs of triangles cross at rest", info->intersections,
                       rc == FA_CLAMPED ? " or more" : "");
        fai_note_count(&info->notes, lips, "lips-cross-at-rest",
                       first >= 0 ? FA_PLACE("triangles %d and %d", pair[first][0], pair[first][1]) : "",
                       "part the lips of the neutral: contact cannot hold what already crosses",
                       "%d pairs of triangles cross between the lips at rest", lips);
    }
    fa_free(lip);
    fa_free(pair);
    return rc < 0 ? rc : FA_OK;
}

static FaCode examine_mesh(const FaRig *rig, bool deep, FaInfo *info, FaError *err) {
    const FaMesh *mesh = &rig->mesh;
    info->vertices = mesh->nvert;
    info->triangles = mesh->ntri;
    info->polygons = mesh->nface;
    for (int f = 0; f < mesh->nface; f++) info->quads += mesh->face_start[f + 1] - mesh->face_start[f] == 4;
    measure_box(rig, info);
    measure_head(rig, info);
    FaTopology topo = {0};
    FA_TRY(fai_topology_build(mesh, &topo, err));
    info->components = topo.nparts;
    info->boundary_edges = topo.boundary;
    info->nonmanifold_edges = topo.nonmanifold;
    info->coincident_vertices = fai_mesh_coincident(mesh);
    FaCode rc = info->coincident_vertices < 0 ? FA_FAIL_MEMORY(err) : FA_OK;
    if (rc >= 0) note_topology(&topo, info->coincident_vertices, info);
    if (rc >= 0) rc = note_inside_out(mesh, &topo, info, err);
    if (rc >= 0 && deep) rc = note_crossings(rig, &topo, info, err);
    fai_topology_free(&topo);
    return rc;
}

// --- shapes -------------------------------------------------------------------------------------------------------

static void note_some(FaInfo *info, const FaSome *s, const char *code, const char *remedy, const char *one,
                      const char *many) {
    fai_note_count(&info->notes, s->count, code, s->count ? FA_PLACE("shape %d", s->first) : "", remedy, "%d %s: %s",
                   s->count, s->count == 1 ? one : many, s->list);
}

// Denormal numbers, and displacements too small to be meant.
static void note_small(const FaRig *rig, FaInfo *info) {
    int tiny = 0, noise = 0, first = -1;
    for (int i = 0; i < rig->nentry; i++) {
        const float *d = rig->delta + 3 * (size_t)i;
        double most = fmax(fabs((double)d[0]), fmax(fabs((double)d[1]), fabs((double)d[2])));
        bool denormal = false;
        for (int k = 0; k < 3; k++) denormal |= d[k] != 0 && fabsf(d[k]) < FLT_MIN;
        if (denormal && tiny++ == 0) first = rig->row[i];
        noise += most < 1e-3 * FA_FAINT_MM;
    }
    fai_note_count(&info->notes, tiny, "tiny-deltas", tiny ? FA_PLACE("vertex %d", first) : "",
                   "set them to 0 when exporting", "%d displacements hold denormal numbers, too small to mean anything",
                   tiny);
    if (noise > rig->nentry / 10)
        fai_note_count(&info->notes, noise, "noise-deltas", "", "none needed; a cleaned file is smaller and faster",
                       "%d of %d displacements are below 0.01 mm", noise, rig->nentry);
}

// Shapes of one side whose peak lies on the other.
static bool on_wrong_side(const FaRig *rig, const FaInfo *info, int s, int peak, double middle) {
    const FaShape *shape = &rig->shape[s];
    if (shape->arkit < 0 || peak < 0 || info->shape[s].max_mm < FA_FAINT_MM) return false;
    const char *name = fa_arkit_name(shape->arkit);
    if (!strncmp(name, "jaw", 3) || !strcmp(name, "mouthLeft") || !strcmp(name, "mouthRight")) return false;
    int side = shape->half ? shape->half : strstr(name, "Left") ? 1 : strstr(name, "Right") ? -1 : 0;
    const float *x = rig->mesh.x + 3 * (size_t)peak;
    double at = rig->axes[0] * (double)x[0] + rig->axes[1] * (double)x[1] + rig->axes[2] * (double)x[2] - middle;
    return side && at * side < -0.04 * info->width_m;
}

static double middle_of(const FaRig *rig) {
    double lo = INFINITY, hi = -INFINITY;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        const float *x = rig->mesh.x + 3 * (size_t)v;
        double at = rig->axes[0] * (double)x[0] + rig->axes[1] * (double)x[1] + rig->axes[2] * (double)x[2];
        lo = fmin(lo, at);
        hi = fmax(hi, at);
    }
    return 0.5 * (lo + hi);
}

static void note_shapes(const FaRig *rig, const int *peak, FaInfo *info) {
    FaSome empty = {0}, faint = {0}, huge = {0}, lopsided = {0}, unmatched = {0}, wrong = {0}, resting = {0};
    double middle = middle_of(rig), most = 1e3 * FA_HUGE_SHARE * info->height_m;
    for (int s = 0; s < rig->nshape; s++) {
        const FaShapeInfo *i = &info->shape[s];
        if (i->max_mm == 0)
            fai_some_add(&empty, s, i->name);
        else if (i->max_mm < FA_FAINT_MM)
            fai_some_add(&faint, s, i->name);
        if (i->max_mm > most) fai_some_add(&huge, s, i->name);
        if (fai_shape_asymmetric(i)) fai_some_add(&lopsided, s, i->name);
        if (!i->arkit) fai_some_add(&unmatched, s, i->name);
        if (on_wrong_side(rig, info, s, peak[s], middle)) fai_some_add(&wrong, s, i->name);
        if (rig->weight[s] != 0) fai_some_add(&resting, s, i->name);
    }
    note_some(info, &empty, "empty-shapes", "delete them, or export them again with their displacements",
              "shape moves nothing", "shapes move nothing");
    note_some(info, &faint, "faint-shapes", "delete them, or check their scale",
              "shape moves nothing by more than 0.01 mm", "shapes move nothing by more than 0.01 mm");
    note_some(info, &huge, "huge-deltas", "check for a stray vertex or another unit in these shapes",
              "shape moves a vertex by more than half of the mesh's height",
              "shapes move a vertex by more than half of the mesh's height");
    note_some(info, &lopsided, "asymmetric-shape", "mirror them if they are meant to be mirror images",
              "shape differs from its mirrored partner", "shapes differ from their mirrored partners");
    note_some(info, &unmatched, "unmatched-shapes",
              "map them with --map names.json if they are ARKit shapes under other names",
              "shape has no ARKit counterpart", "shapes have no ARKit counterpart");
    if (!fai_note_find(&rig->notes, "mirrored"))
        note_some(info, &wrong, "wrong-side-shapes", "swap their names with --map names.json",
                  "shape moves the other side of the face", "shapes move the other side of the face");
    note_some(info, &resting, "rest-weights", "none needed; the neutral is taken without them",
              "shape has a weight at rest", "shapes have a weight at rest");
    note_small(rig, info);
}

// --- ARKit --------------------------------------------------------------------------------------------------------

// A name counts as covered by a whole shape, by two halves, or by a shape for both sides.
static void cover(bool (*half)[2], int arkit, int side, const char *name) {
    int pair[2];
    if (arkit >= 0) {
        if (side >= 0) half[arkit][0] = true;
        if (side <= 0) half[arkit][1] = true;
    } else if (fai_arkit_pair(name, pair)) {
        for (int k = 0; k < 2; k++) half[pair[k]][0] = half[pair[k]][1] = true;
    }
}

static void note_coverage(bool (*half)[2], int names, FaInfo *info) {
    FaSome missing = {0};
    for (int i = 0; i < FA_ARKIT_COUNT; i++) {
        if (half[i][0] && half[i][1])
            info->arkit_covered++;
        else
            fai_some_add(&missing, i, fa_arkit_name(i));
    }
    if (names && missing.count)
        fai_note_count(&info->notes, missing.count, "missing-arkit", "", "channels of these names will drive nothing",
                       "%d of ARKit's 52 shapes missing: %s", missing.count, missing.list);
}

// The jaw's hinge and the lips are found from this shape; without it a face has neither.
static void note_jaw(const FaRig *rig, FaInfo *info) {
    if (rig->nshape && fai_jaw_opener(rig) < 0)
        fai_note(
            &info->notes, "no-jaw", "", "name it in the names file if it has another name: {\"theirs\": \"jawOpen\"}",
            "no shape opens the jaw (jawOpen, mouthOpen, AU26, AU27, aa): the jaw and the mouth are not found by it");
}

// A jawOpen of the skin and one of the teeth in the same mesh are no duplicates.
static FaCode note_twice(const FaRig *rig, FaInfo *info, FaError *err) {
    int first[FA_ARKIT_COUNT][3];
    FaSome twice = {0};
    FaShapeParts parts = {0};
    FaCode rc = FA_OK;
    memset(first, -1, sizeof first);
    for (int s = 0; s < rig->nshape && rc >= 0; s++) {
        const FaShape *shape = &rig->shape[s];
        bool apart = false;
        if (shape->arkit < 0) continue;
        int *slot = &first[shape->arkit][shape->half + 1];
        if (*slot >= 0) rc = fai_shapes_apart(&parts, rig, *slot, s, &apart, err);
        if (*slot >= 0 && !apart) fai_some_add(&twice, s, shape->name);
        if (*slot < 0) *slot = s;
    }
    fai_shape_parts_free(&parts);
    note_some(info, &twice, "duplicate-arkit",
              "none needed: a channel drives the best name only; to choose, map the others to null",
              "shape matches an ARKit name that another has", "shapes match an ARKit name that another has");
    return rc;
}

// --- clips --------------------------------------------------------------------------------------------------------

// What the clip's reader did not note itself.
static void note_clip(const FaClip *clip, FaInfo *info) {
    fai_notes_copy(&info->notes, &clip->notes);
    int over = 0, under = 0, gaps = 0, first_over = -1, first_under = -1, first_gap = -1;
    for (int f = 0; f < clip->nframe; f++) {
        for (int c = 0; c < clip->nchan; c++) {
            float w = clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c];
            if (w > 1 && over++ == 0) first_over = f;
            if (w < 0 && under++ == 0) first_under = f;
        }
        if (f > 0 && (clip->time[f] - clip->time[f - 1]) * clip->fps > 1.5 && gaps++ == 0) first_gap = f;
    }
    if (!fai_note_find(&info->notes, "weights-over-1"))
        fai_note_count(&info->notes, over, "weights-over-1", over ? FA_PLACE("frame %d", first_over) : "",
                       "none needed: they are kept and played as they are", "%d weights are above 1", over);
    if (!fai_note_find(&info->notes, "weights-below-0"))
        fai_note_count(&info->notes, under, "weights-below-0", under ? FA_PLACE("frame %d", first_under) : "",
                       "none needed: they are kept and played as they are", "%d weights are below 0", under);
    if (!fai_note_find(&info->notes, "dropped-frames"))
        fai_note_count(&info->notes, gaps, "dropped-frames", gaps ? FA_PLACE("frame %d", first_gap) : "",
                       "resample with --fps for an even rate", "%d gaps in time: frames were dropped", gaps);
}

static void examine_clip(const FaClip *clip, FaInfo *info) {
    info->frames = clip->nframe;
    info->fps = clip->fps;
    info->seconds = clip->time[clip->nframe - 1];
    info->head_motion = clip->head != NULL;
    info->channels = clip->nchan;
    note_clip(clip, info);
}

static void used_range(const FaClip *clip, int chan, FaShapeInfo *s) {
    if (chan < 0) return;
    s->used_min = s->used_max = (double)clip->weight[chan];
    for (int f = 1; f < clip->nframe; f++) {
        double w = (double)clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)chan];
        s->used_min = fmin(s->used_min, w);
        s->used_max = fmax(s->used_max, w);
    }
}

FaCode fa_info_of_clip(const FaClip *clip, FaInfo *info, FaError *err) {
    *info = (FaInfo){.kind = "clip", .intersections = -1};
    FaShapeInfo *shape = FA_NEW(clip->nchan, FaShapeInfo);
    if (!shape) return FA_FAIL_MEMORY(err);
    info->shape = shape;
    info->nshape = clip->nchan;
    examine_clip(clip, info);
    bool half[FA_ARKIT_COUNT][2] = {0};
    for (int c = 0; c < clip->nchan; c++) {
        int side, arkit = fa_arkit_match(clip->name[c], &side);
        shape[c] = (FaShapeInfo){
            .name = clip->name[c], .arkit = fa_arkit_name(arkit), .half = arkit >= 0 ? side : 0, .symmetry_mm = -1};
        info->matched += arkit >= 0;
        cover(half, arkit, side, clip->name[c]);
        used_range(clip, c, &shape[c]);
        for (int f = 0; f < clip->nframe; f++)
            shape[c].nonzero += clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c] != 0;
    }
    note_coverage(half, 0, info);
    return FA_OK;
}

// --- rigs ---------------------------------------------------------------------------------------------------------

static void name_unit(double unit, char out[16]) {
    const char *name = unit == 1 ? "m" : unit == 0.1 ? "dm" : unit == 0.01 ? "cm" : unit == 0.001 ? "mm" : NULL;
    if (name)
        snprintf(out, 16, "%s", name);
    else {
        FaText t = {0};
        fai_text_double(&t, unit);
        snprintf(out, 16, "%s m", t.data ? t.data : "?");
        fai_text_free(&t);
    }
}

static FaCode examine_shapes(const FaRig *rig, FaInfo *info, FaError *err) {
    info->nshape = rig->nshape;
    info->shape = FA_NEW(rig->nshape, FaShapeInfo);
    int *peak = FA_NEW(rig->nshape, int);
    bool half[FA_ARKIT_COUNT][2] = {0};
    FaBinding binding = {0};
    FaCode rc = info->shape && peak ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0 && rig->clip) rc = fa_clip_bind(rig->clip, rig, &binding, err);
    for (int s = 0; rc >= 0 && s < rig->nshape; s++) {
        const FaShape *shape = &rig->shape[s];
        info->shape[s] = (FaShapeInfo){.name = shape->name, .arkit = fa_arkit_name(shape->arkit), .half = shape->half};
        info->matched += shape->arkit >= 0;
        cover(half, shape->arkit, shape->half, shape->name);
        if (rig->clip) used_range(rig->clip, binding.chan[s], &info->shape[s]);
    }
    if (rc >= 0) rc = fai_measure_shapes(rig, info->shape, peak, err);
    if (rc >= 0) {
        note_shapes(rig, peak, info);
        note_coverage(half, rig->nshape, info);
        note_jaw(rig, info);
        rc = note_twice(rig, info, err);
    }
    fa_binding_free(&binding);
    fa_free(peak);
    return rc;
}

FaCode fa_info_of_rig(const FaRig *rig, bool deep, FaInfo *info, FaError *err) {
    *info = (FaInfo){
        .kind = "rig", .intersections = -1, .unit = rig->file_unit, .nmesh = rig->nfile_mesh, .mesh = rig->file_mesh};
    name_unit(rig->file_unit, info->unit_name);
    name_axis(rig->axes + 3, info->up);
    name_axis(rig->axes + 6, info->front);
    fai_notes_copy(&info->notes, &rig->notes);
    FaCode rc = examine_mesh(rig, deep, info, err);
    if (rc >= 0) rc = examine_shapes(rig, info, err);
    if (rc >= 0 && rig->clip) examine_clip(rig->clip, info);
    if (rc < 0) fa_info_free(info);
    return rc;
}

bool fa_note_important(const FaNote *note) {
    static const char *const codes[] = {
        "lips-cross-at-rest", "no-jaw",       "unit-suspect",    "unit-unknown",          "mirrored",
        "wrong-side-shapes",  "axes-suspect", "axes-tilted",     "second-head",           "map-unused",
        "stray-vertices",     "huge-deltas",  "duplicate-arkit", "duplicate-shape-names", "unnamed-shapes"};
    for (int i = 0; i < FA_COUNT(codes); i++)
        if (!strcmp(note->code, codes[i])) return true;
    return false;
}

void fa_info_free(FaInfo *info) {
    fa_free(info->shape);
    fai_notes_free(&info->notes);
    *info = (FaInfo){0};
}

// Making a control: points, the jaw's frame, the shapes' solver, forces, the residual pass.
#include "blendforces/control_work.h"

#include "rig/bind.h"

#include <math.h>

// No sculptor means much over 1: markers that hardly see a shape must not drive it far. The prior as far as it does not
// cost an exact fit anything (docs/figures/strangers.md, "Markers of strangers").
static const double WEIGHT_MOST = 1.5, PRIOR = 3;

static const double NOISE = 0.1;  // of a marker against what the residual pass expects to spread
static const double RIDGE = 0.01; // of forces, against the median column (blendforces-notes)
static const double RIDGE_SHAPES =
    1e-3;                       // of shapes that are found with the residual: only what markers cannot tell apart
static const double KEEP = 0.5; // of the velocity (blendforces-notes)
static const double ELASTIC =
    5e-4; // m, le and lb: more costs right shapes their worth, wrong ones gain nothing (docs/figures/blendforces.md)
static const double STILL = 0.3; // of the mean motion: skin that no shape moves may be off by that

// --- points -------------------------------------------------------------------------------------------------------

static FaCode check(const FaRig *rig, const FaFace *face, const FaMarkerMap *map, const FaDriveOptions *o,
                    FaError *err) {
    if ((unsigned)o->kind >= FA_DRIVE_KINDS)
        return FA_FAIL(err, FA_E_ARG, NULL, "use auto, bf, sbs or rsbs", "unknown way to solve");
    if (!(o->fps >= 0) || !isfinite(o->fps) || !isfinite(o->smooth) || o->smooth > 100 || o->relinearise < 0 ||
        o->relinearise > 100)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0, a filter of up to 100 frames",
                       "rate, filter or relinearisations out of range");
    if (rig->nshape < 1)
        return FA_FAIL(err, FA_E_ARG, rig->path, "use a rig with blendshapes", "the rig has no shapes to solve with");
    if (map->count < 1 || map->mapped < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "map markers to the face, by hand or by fa_marker_map_new",
                       "no marker is mapped");
    for (int i = 0; o->trust && i < map->count; i++)
        if (!isfinite(o->trust[i]) || o->trust[i] < 0)
            return FA_FAIL(err, FA_E_ARG, FA_PLACE("marker %s", map->name[i]), "give a weight of 0 or more",
                           "its weight is not a weight");
    for (int i = 0; i < map->count; i++)
        for (int k = 0; k < 3 && map->point[i].vert[0] >= 0; k++)
            if (map->point[i].vert[k] < 0 || map->point[i].vert[k] >= rig->mesh.nvert)
                return FA_FAIL(err, FA_E_ARG, FA_PLACE("marker %s", map->name[i]), "make the map for this rig",
                               "vertex %d does not exist", map->point[i].vert[k]);
    bool forces = o->kind == FA_DRIVE_BF || o->kind == FA_DRIVE_AUTO;
    if (!face && (forces || !o->no_residual))
        return FA_FAIL(
            err, FA_E_ARG, NULL, "give the rig's face (fa_face_get), or use shapes alone: --method sbs --residual off",
            "%s needs the physical face", forces ? "driving by forces" : "spreading what the shapes cannot do");
    return face ? fa_face_fits(face, rig, err) : FA_OK;
}

static FaCode take_points(FaControl *c, const FaDriveOptions *o, FaError *err) {
    size_t n = (size_t)c->map->mapped;
    c->place = FA_PUSH(c->arena, n, int);
    c->point = FA_PUSH(c->arena, n, FaSurfacePoint);
    c->skin = FA_PUSH(c->arena, n, FaSpreadPoint);
    c->given = FA_PUSH(c->arena, n, float);
    c->trust = FA_PUSH(c->arena, n, float);
    c->offset = FA_PUSH(c->arena, 3 * n, float);
    c->rest = FA_PUSH(c->arena, 3 * n, double);
    if (!c->place || !c->point || !c->skin || !c->given || !c->trust || !c->offset || !c->rest)
        return FA_FAIL_MEMORY(err);
    for (int i = 0; i < c->map->count; i++) {
        const FaMarkerPoint *p = &c->map->point[i];
        if (p->vert[0] < 0 || c->npoint == c->map->mapped) continue;
        int at = c->npoint++;
        bool on = c->face != NULL;
        c->place[at] = i;
        c->given[at] = c->trust[at] = o->trust ? o->trust[i] : 1;
        double with[3], without[3];
        fa_marker_point_at(p, c->rig->mesh.x, true, with);
        fa_marker_point_at(p, c->rig->mesh.x, false, without);
        for (int k = 0; k < 3; k++) {
            c->point[at].vert[k] = p->vert[k];
            c->point[at].bary[k] = p->bary[k];
            c->skin[at].node[k] = c->face ? c->face->node_of_vertex[p->vert[k]] : -1;
            c->skin[at].bary[k] = p->bary[k];
            on &= c->skin[at].node[k] >= 0 || p->bary[k] == 0;
            c->rest[3 * (size_t)at + (size_t)k] = without[k];
            c->offset[3 * (size_t)at + (size_t)k] = (float)(with[k] - without[k]);
            c->offsets |= with[k] != without[k];
        }
        int some = FA_MAX(c->skin[at].node[0], FA_MAX(c->skin[at].node[1], c->skin[at].node[2]));
        for (int k = 0; k < 3; k++)
            if (!on || c->skin[at].node[k] < 0) c->skin[at].node[k] = on ? some : -1; // a corner of no weight
    }
    return FA_OK;
}

// --- columns ------------------------------------------------------------------------------------------------------

// The shapes at each corner of each point: by shape, then point, then corner (nshape x npoint x 9).
static FaCode corner_columns(const FaControl *c, const FaRig *basis, double *out, FaError *err) {
    float *dense = FA_NEW(3 * (size_t)basis->mesh.nvert, float);
    if (!dense) return FA_FAIL_MEMORY(err);
    for (int j = 0; j < basis->nshape; j++) {
        const FaShape *s = &basis->shape[j];
        for (int e = s->first; e < s->first + s->count; e++)
            memcpy(dense + 3 * (size_t)basis->row[e], basis->delta + 3 * (size_t)e, 3 * sizeof *dense);
        for (int i = 0; i < c->npoint; i++)
            for (int k = 0; k < 9; k++)
                out[9 * ((size_t)j * (size_t)c->npoint + (size_t)i) + (size_t)k] =
                    (double)dense[3 * (size_t)c->point[i].vert[k / 3] + (size_t)(k % 3)];
        for (int e = s->first; e < s->first + s->count; e++)
            memset(dense + 3 * (size_t)basis->row[e], 0, 3 * sizeof *dense);
    }
    fa_free(dense);
    return FA_OK;
}

static void point_columns(const FaControl *c, size_t all, const double *corner, double *columns) {
    for (size_t a = 0; a < all; a++)
        for (size_t k = 0; k < 9; k++)
            columns[3 * a + k % 3] += (double)c->point[a % (size_t)c->npoint].bary[k / 3] * corner[9 * a + k];
}

static FaCode add_arcs(FaControl *c, const FaRig *basis, FaError *err) {
    size_t all = (size_t)basis->nshape * (size_t)c->npoint;
    FA_TRY(fai_arcs_new(c->face, basis, &c->arcs, err));
    FA_TRY(fa_blender_new(&c->arcs->rig, &c->arc_blender, err));
    c->arc_columns = FA_PUSH(c->arena, 3 * all, double);
    c->surface2 = FA_PUSH(c->arena, 3 * (size_t)basis->mesh.nvert, float);
    double *corner = FA_NEW(9 * all, double);
    FaCode rc =
        c->arc_columns && c->surface2 && corner ? corner_columns(c, &c->arcs->rig, corner, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) point_columns(c, all, corner, c->arc_columns);
    fa_free(corner);
    return rc;
}

static FaCode shape_columns(FaControl *c, const FaRig *basis, FaError *err) {
    size_t all = (size_t)basis->nshape * (size_t)c->npoint;
    double *corner = FA_NEW(9 * all, double), *columns = FA_NEW(3 * all, double);
    FaCode rc = corner && columns ? corner_columns(c, basis, corner, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) point_columns(c, all, corner, columns);
    if (rc >= 0) rc = fai_command_fit_new(basis->nshape, c->npoint, columns, &c->command, err);
    if (rc >= 0 && c->offsets) {
        c->corner = FA_PUSH(c->arena, 9 * all, double);
        if (c->corner)
            memcpy(c->corner, corner, 9 * all * sizeof *corner);
        else
            rc = FA_FAIL_MEMORY(err);
    }
    fa_free(corner);
    fa_free(columns);
    return rc;
}

// How far off each node is thought to be: skin that shapes move far more than skin that they hardly move, by the root
// of it.
static void expected_error(const FaFace *f, const FaRig *basis, double *scale) {
    double mean = 0;
    for (int e = 0; e < basis->nentry; e++) {
        int node = f->node_of_vertex[basis->row[e]];
        if (node < 0 || f->skin_vertex[node] != basis->row[e]) continue;
        for (size_t k = 0; k < 3; k++)
            scale[node] += (double)basis->delta[3 * (size_t)e + k] * (double)basis->delta[3 * (size_t)e + k];
    }
    for (int i = 0; i < f->nskin; i++) mean += scale[i] / f->nskin;
    for (int i = 0; i < f->nskin; i++) scale[i] = mean > 0 ? pow(scale[i] / mean + STILL * STILL, 0.25) : 1;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode make_room(FaControl *c, FaError *err) {
    size_t n = (size_t)c->npoint, s = (size_t)c->rig->nshape, skin = c->face ? (size_t)c->face->nskin : 0;
    FaArena *a = c->arena;
    struct {
        float **to;
        size_t count;
    } f[] = {{&c->x, 3 * n},       {&c->belief, n}, {&c->weight, n},     {&c->guess, 3 * n},
             {&c->move, 4 * skin}, {&c->last, s},   {&c->arc_weight, s}, {&c->arc_gain, s}};
    struct {
        double **to;
        size_t count;
    } d[] = {{&c->frame, 12 * n},
             {&c->t, 3 * n},
             {&c->q, 3 * n},
             {&c->r, 3 * n},
             {&c->at, 3 * n},
             {&c->bow, 3 * n},
             {&c->noise_of, n},
             {&c->metric, n},
             {&c->metric_now, n},
             {&c->u, s},
             {&c->lo, s},
             {&c->hi, s},
             {&c->sort, n},
             {&c->last_coef, 3 * n},
             {&c->level, 3 * n},
             {&c->trend, 3 * n},
             {&c->pass, s * (size_t)c->relinearise}};
    for (int i = 0; i < FA_COUNT(f); i++)
        if (!(*f[i].to = FA_PUSH(a, f[i].count, float))) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < FA_COUNT(d); i++)
        if (!(*d[i].to = FA_PUSH(a, d[i].count, double))) return FA_FAIL_MEMORY(err);
    c->seen = FA_PUSH(a, n, unsigned char);
    if (!c->seen) return FA_FAIL_MEMORY(err);
    return fai_control_frame_new(c, a, &c->own, err);
}

static FaCode set_up(FaControl *c, const FaDriveOptions *o, const FaControlTuning *tune, FaError *err) {
    FA_TRY(take_points(c, o, err));
    c->use = FA_PUSH(c->arena, c->rig->nshape, unsigned char);
    if (!c->use) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_shapes_to_fit(c->rig, c->use, &c->left, err));
    if (!o->no_jaw && !c->literal) FA_TRY(fai_jaw_carry_new(c->rig, c->npoint, c->point, &c->jaw, err));
    if (c->jaw && !c->jaw->nshape) {
        fai_jaw_carry_free(c->jaw);
        c->jaw = NULL;
    }
    const FaRig *basis = c->jaw ? c->jaw->rest : c->rig;
    FaShapeSolveOptions so = c->kind == FA_DRIVE_RSBS ? fai_shape_options_rsbs() : fai_shape_options_sbs();
    c->l1 = so.l1;
    so.carrier = fai_jaw_carrier(c->jaw);
    so.upper = WEIGHT_MOST;
    so.prior = c->literal ? 0 : PRIOR;
    so.use = c->use;
    FA_TRY(fai_shape_solver_new(c->rig, c->npoint, c->point, &so, &c->shapes, err));
    FA_TRY(fa_blender_new(basis, &c->blender, err));
    FaSpreadOptions spread = tune->spread;
    double *scale = c->residual ? FA_NEW(c->face->nskin, double) : NULL;
    if (c->residual && !scale) return FA_FAIL_MEMORY(err);
    if (c->residual) {
        expected_error(c->face, basis, scale);
        spread.scale = scale;
        FaCode rc = fai_spread_new(c->face, c->npoint, c->skin, &spread, &c->spread, err);
        fa_free(scale);
        FA_TRY(rc);
    }
    if (c->joint && !tune->straight) FA_TRY(add_arcs(c, basis, err));
    if (c->kind != FA_DRIVE_BF) {
        FA_TRY(shape_columns(c, basis, err));
    } else {
        FaForceOptions fo = tune->forces;
        if (!c->literal && fo.body.edge == 0) fo.body.edge = ELASTIC;
        if (!c->literal && fo.body.bend == 0) fo.body.bend = ELASTIC;
        fo.fps = c->fps;
        FA_TRY(fai_forces_new(c->face, basis, c->npoint, c->skin, &fo, &c->forces, err));
        FA_TRY(fai_command_fit_new(c->rig->nshape, c->npoint, fai_forces_columns(c->forces), &c->command, err));
    }
    return make_room(c, err);
}

FaDriveOptions fa_drive_options_default(void) { return (FaDriveOptions){.relinearise = 2}; }

FaCode fai_control_open(const FaRig *rig, const FaFace *face, const FaMarkerMap *map, const FaDriveOptions *options,
                        const FaControlTuning *tuning, FaControl **control, FaError *err) {
    *control = NULL;
    FaDriveOptions o = options ? *options : (FaDriveOptions){0};
    FaControlTuning tune = tuning ? *tuning : (FaControlTuning){0};
    FA_TRY(check(rig, face, map, &o, err));
    FaControl *c = FA_NEW(1, FaControl);
    if (!c) return FA_FAIL_MEMORY(err);
    c->rig = rig;
    c->face = face;
    c->map = map;
    c->kind = o.kind == FA_DRIVE_AUTO ? FA_DRIVE_BF : o.kind;
    c->literal = o.literal && c->kind == FA_DRIVE_BF;
    c->residual = !o.no_residual && !c->literal;
    c->joint = c->residual && !tune.separate && (c->kind == FA_DRIVE_BF || o.refine);
    c->relinearise = !c->literal ? 1 : o.relinearise > 0 ? o.relinearise : fa_drive_options_default().relinearise;
    c->fps = o.fps > 0 ? o.fps : 60;
    c->smooth = o.smooth == 0 ? 1.5 : o.smooth;
    c->noise = tune.noise < 0 ? 0 : tune.noise > 0 ? tune.noise : NOISE;
    c->ridge = c->literal || tune.ridge < 0 ? 0
               : tune.ridge > 0             ? tune.ridge
               : c->kind == FA_DRIVE_BF     ? RIDGE
                                            : RIDGE_SHAPES;
    c->metric_fresh = true;
    c->keep = c->literal ? 1 : tune.keep > 0 ? tune.keep : KEEP;
    c->arena = fai_arena_new(0);
    FaCode rc = c->arena ? set_up(c, &o, &tune, err) : FA_FAIL_MEMORY(err);
    if (rc < 0) {
        fai_control_free(c);
        return rc;
    }
    fai_control_reset(c);
    *control = c;
    return FA_OK;
}

FaCode fai_control_frame_new(const FaControl *c, FaArena *arena, FaControlFrame *frame, FaError *err) {
    *frame = (FaControlFrame){.weights = FA_PUSH(arena, c->rig->nshape, float),
                              .carried = FA_PUSH(arena, c->rig->nshape, float),
                              .coef = FA_PUSH(arena, 3 * (size_t)c->npoint, double)};
    if (c->kind == FA_DRIVE_BF) frame->d = FA_PUSH(arena, 4 * (size_t)c->face->nskin, float);
    return frame->weights && frame->carried && frame->coef && (frame->d || c->kind != FA_DRIVE_BF)
               ? FA_OK
               : FA_FAIL_MEMORY(err);
}

void fai_control_free(FaControl *c) {
    if (!c) return;
    fai_jaw_carry_free(c->jaw);
    fai_shape_solver_free(c->shapes);
    fa_blender_free(c->blender);
    fa_blender_free(c->arc_blender);
    fai_arcs_free(c->arcs);
    fai_forces_free(c->forces);
    fai_spread_free(c->spread);
    fai_command_fit_free(c->command);
    fai_arena_free(c->arena);
    fa_free(c);
}

const char *fa_drive_kind_name(FaDriveKind kind) {
    static const char *const name[FA_DRIVE_KINDS] = {"auto", "bf", "sbs", "rsbs"};
    return (unsigned)kind < FA_DRIVE_KINDS ? name[kind] : "unknown";
}

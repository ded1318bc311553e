// Pictures of a face: cut open, and maps of thickness, regions and attachment.
#include "face/columns.h"
#include "face/face.h"
#include "fascia/face.h"
#include "fascia/render.h"
#include "math/mat3.h"
#include "mesh/mesh.h"
#include "render/renderer.h"
#include "render/sheet.h"

// --- meshes ---------------------------------------------------------------------------------------------------------

// Vertices and triangles that grow; memory from an arena, sized beforehand.
typedef struct Growing {
    FaMesh mesh;
} Growing;

static FaCode begin(Growing *g, FaArena *arena, size_t nvert, size_t ntri, FaError *err) {
    if (nvert > INT32_MAX / 4 || ntri > INT32_MAX / 4)
        return FA_FAIL(err, FA_E_LIMIT, NULL, NULL, "the face is too large for a picture");
    g->mesh = (FaMesh){.x = FA_PUSH(arena, 3 * nvert, float),
                       .tri = FA_PUSH(arena, 3 * ntri, int),
                       .tri_face = FA_PUSH(arena, ntri, int),
                       .face_start = FA_PUSH(arena, ntri + 1, int)};
    if (!g->mesh.x || !g->mesh.tri || !g->mesh.tri_face || !g->mesh.face_start) return FA_FAIL_MEMORY(err);
    return FA_OK;
}

static int add_point(Growing *g, const double x[3]) {
    for (int k = 0; k < 3; k++) g->mesh.x[3 * (size_t)g->mesh.nvert + k] = (float)x[k];
    return g->mesh.nvert++;
}

static void add_tri(Growing *g, int a, int b, int c) {
    int n = g->mesh.ntri++, *t = g->mesh.tri + 3 * (size_t)n;
    t[0] = a, t[1] = b, t[2] = c;
    g->mesh.tri_face[n] = n;
    g->mesh.face_start[n + 1] = 3 * (n + 1);
    g->mesh.face_vert = g->mesh.tri;
    g->mesh.nface = g->mesh.ntri;
}

typedef struct Plane {
    double normal[3], offset; // what has normal . x > offset is cut away
} Plane;

static double height(const Plane *p, const float *x, int v) {
    double q[3];
    fai_v3_load(x, v, q);
    return fai_v3_dot(p->normal, q) - p->offset;
}

static int cross_point(Growing *g, const float *x, int a, int b, double ha, double hb) {
    double p[3], q[3];
    fai_v3_load(x, a, p);
    fai_v3_load(x, b, q);
    double t = ha / (ha - hb);
    for (int k = 0; k < 3; k++) p[k] += t * (q[k] - p[k]);
    return add_point(g, p);
}

// The part of a surface behind the plane (plane NULL: all). skip (nullable): triangles to leave out.
static FaCode clip(FaArena *arena, const FaMesh *m, const unsigned char *skip, const Plane *plane, Growing *g,
                   FaError *err) {
    FA_TRY(begin(g, arena, (size_t)m->nvert + 2 * (size_t)m->ntri, 2 * (size_t)m->ntri, err));
    memcpy(g->mesh.x, m->x, 3 * (size_t)m->nvert * sizeof(float));
    g->mesh.nvert = m->nvert;
    for (int t = 0; t < m->ntri; t++) {
        if (skip && skip[t]) continue;
        const int *v = m->tri + 3 * (size_t)t;
        double h[3];
        int out = 0, n = 0, ring[4] = {0};
        for (int k = 0; k < 3; k++) out += (h[k] = plane ? height(plane, m->x, v[k]) : -1) > 0;
        if (out == 3) continue;
        for (int k = 0; k < 3; k++) {
            int next = (k + 1) % 3;
            if (h[k] <= 0) ring[n++] = v[k];
            if ((h[k] <= 0) != (h[next] <= 0)) ring[n++] = cross_point(g, m->x, v[k], v[next], h[k], h[next]);
        }
        add_tri(g, ring[0], ring[1], ring[2]);
        if (n == 4) add_tri(g, ring[0], ring[2], ring[3]);
    }
    return FA_OK;
}

// Where the plane goes through the tets.
static FaCode section(FaArena *arena, const FaFace *f, const Plane *plane, Growing *g, FaError *err) {
    int cut = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) FA_TRY(begin(g, arena, 4 * (size_t)cut, 2 * (size_t)cut, err));
        for (int t = 0; t < f->ntet; t++) {
            int in[4], out[4], nin = 0, nout = 0, p[4];
            double h[4];
            const int *v = f->tet + 4 * (size_t)t;
            for (int k = 0; k < 4; k++) {
                h[k] = height(plane, f->x0, v[k]);
                if (h[k] > 0)
                    out[nout++] = k;
                else
                    in[nin++] = k;
            }
            if (nin == 0 || nout == 0) continue;
            if (!pass) {
                cut++;
                continue;
            }
            int n = 0;
            if (nin == 2)
                for (int k = 0; k < 4; k++) { // around the quad: a-c, a-d, b-d, b-c
                    int a = in[k / 2], b = out[k == 1 || k == 2];
                    p[n++] = cross_point(g, f->x0, v[a], v[b], h[a], h[b]);
                }
            else
                for (int k = 0; k < 3; k++) {
                    int a = nin == 1 ? in[0] : in[k], b = nin == 1 ? out[k] : out[0];
                    p[n++] = cross_point(g, f->x0, v[a], v[b], h[a], h[b]);
                }
            add_tri(g, p[0], p[1], p[2]);
            if (n == 4) add_tri(g, p[0], p[2], p[3]);
        }
    }
    return FA_OK;
}

// --- scenes ---------------------------------------------------------------------------------------------------------

enum { MAX_PARTS = 8 };

typedef struct Scene {
    const FaFace *face;
    const FaRig *rig;
    FaArena *arena;
    Growing mesh[MAX_PARTS];
    FaRenderPart part[MAX_PARTS];
    const float *heat[MAX_PARTS];
    int n;
} Scene;

static FaCode add_surface(Scene *s, const FaMesh *mesh, const unsigned char *skip, const Plane *plane,
                          FaRenderMaterial material, FaError *err) {
    FA_ASSERT(s->n < MAX_PARTS);
    FA_TRY(clip(s->arena, mesh, skip, plane, &s->mesh[s->n], err));
    if (s->mesh[s->n].mesh.ntri == 0) return FA_OK;
    s->part[s->n] = (FaRenderPart){.mesh = &s->mesh[s->n].mesh, .material = material};
    s->n++;
    return FA_OK;
}

// What of the rig's mesh is not simulated, as far as a head reaches around what is: the rig may be a whole body.
static FaCode add_passive(Scene *s, const Plane *plane, FaError *err) {
    const FaMesh *m = &s->rig->mesh;
    unsigned char *skip = FA_PUSH(s->arena, m->ntri, unsigned char);
    if (!skip) return FA_FAIL_MEMORY(err);
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * (size_t)s->face->nskin; i++) {
        lo[i % 3] = fminf(lo[i % 3], s->face->x0[i]);
        hi[i % 3] = fmaxf(hi[i % 3], s->face->x0[i]);
    }
    const bool decimated = fai_note_find(&s->face->notes, "skin-decimated");
    float reach = 0.6f * fmaxf(hi[0] - lo[0], fmaxf(hi[1] - lo[1], hi[2] - lo[2]));
    for (int t = 0; t < m->ntri; t++) {
        bool simulated = true, far = false;
        for (int k = 0; k < 3; k++) {
            int v = m->tri[3 * (size_t)t + k];
            simulated &= s->face->node_of_vertex[v] >= 0 || (decimated && s->face->ride_node[3 * (size_t)v] >= 0);
            for (int j = 0; j < 3; j++)
                far |= m->x[3 * (size_t)v + j] < lo[j] - reach || m->x[3 * (size_t)v + j] > hi[j] + reach;
        }
        skip[t] = simulated || far;
    }
    return add_surface(s, m, skip, plane, FA_RENDER_OTHER, err);
}

// All bones in one mesh; three kinds of look would be three parts.
static FaCode add_bones(Scene *s, const Plane *plane, FaError *err) {
    const FaFace *f = s->face;
    FaMesh all = {0};
    int nvert = 0, ntri = 0;
    for (int i = 0; i < f->nbone; i++) nvert += f->bone[i].nvert, ntri += f->bone[i].ntri;
    all.x = FA_PUSH(s->arena, 3 * (size_t)nvert, float);
    all.tri = FA_PUSH(s->arena, 3 * (size_t)ntri, int);
    if (!all.x || !all.tri) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nbone; i++) {
        const FaBone *b = &f->bone[i];
        memcpy(all.x + 3 * (size_t)all.nvert, b->x, 3 * (size_t)b->nvert * sizeof(float));
        for (size_t k = 0; k < 3 * (size_t)b->ntri; k++) all.tri[3 * (size_t)all.ntri + k] = b->tri[k] + all.nvert;
        all.nvert += b->nvert;
        all.ntri += b->ntri;
    }
    return all.ntri ? add_surface(s, &all, NULL, plane, FA_RENDER_BONE, err) : FA_OK;
}

static FaCode draw(const Scene *s, const FaRenderView *view, int size, bool wire, double heat_max, FaImage *image,
                   FaError *err) {
    FaRenderOptions o = fa_render_options_default();
    FaRenderer *r = NULL;
    o.width = o.height = size;
    o.view = *view;
    o.wire = wire;
    o.heat_max_mm = heat_max;
    memcpy(o.axes, s->rig->axes, sizeof o.axes);
    FA_TRY(fa_renderer_new(s->part, s->n, &o, &r, err));
    r->no_legend = true;
    FaCode rc = fa_renderer_pose(r, NULL, heat_max > 0 ? s->heat : NULL, err);
    if (rc >= 0) rc = fa_renderer_draw(r, image, err);
    fa_renderer_free(r);
    return rc;
}

static FaCode draw_tile(const Scene *s, const FaRenderView *view, bool wire, double heat_max, FaSheet *sheet, int i,
                        const char *caption, FaError *err) {
    FaImage image = {0};
    FaCode rc = draw(s, view, sheet->tile_width, wire, heat_max, &image, err);
    if (rc >= 0) fai_sheet_put(sheet, i, &image, caption);
    fa_image_free(&image);
    return rc;
}

static FaRenderView view_of(const char *name, double zoom) {
    FaRenderView v = fa_render_options_default().view;
    fa_render_view(name, &v);
    if (zoom > 0) v.zoom = zoom;
    return v;
}

// --- the four pictures ----------------------------------------------------------------------------------------------

// The middle of the face: between the sides of the simulated skin.
static Plane middle(const FaFace *f, const FaRig *rig) {
    Plane p;
    double lo = INFINITY, hi = -INFINITY;
    memcpy(p.normal, rig->axes, sizeof p.normal);
    p.offset = 0;
    for (int i = 0; i < f->nskin; i++) {
        double h = height(&p, f->x0, i);
        lo = fmin(lo, h), hi = fmax(hi, h);
    }
    p.offset = 0.5 * (lo + hi) + 1e-5; // off the vertices of a symmetric mesh
    return p;
}

static FaMesh layer_of(const FaFace *f, int layer) {
    return (FaMesh){
        .nvert = f->nskin, .ntri = f->ntri, .tri = f->tri, .x = f->x0 + 3 * (size_t)f->nskin * (size_t)layer};
}

static FaCode picture_cut(Scene *s, FaSheet *sheet, int size, FaError *err) {
    const FaFace *f = s->face;
    const Plane plane = middle(f, s->rig);
    FA_TRY(section(s->arena, f, &plane, &s->mesh[0], err));
    s->part[0] = (FaRenderPart){.mesh = &s->mesh[0].mesh, .material = FA_RENDER_MOUTH};
    s->n = s->mesh[0].mesh.ntri > 0;
    const FaMesh skin = layer_of(f, 0), deep = layer_of(f, f->layers);
    FA_TRY(add_surface(s, &skin, NULL, &plane, FA_RENDER_SKIN, err));
    if (!fai_face_filled(f)) FA_TRY(add_surface(s, &deep, NULL, &plane, FA_RENDER_TEETH, err));
    FA_TRY(add_passive(s, &plane, err));
    FA_TRY(add_bones(s, &plane, err));
    FA_TRY(fai_sheet_new(sheet, 2, 2, size, size,
                         fai_face_filled(f) ? "cut in the middle: skin, filled flesh, bones"
                                            : "cut in the middle: skin, flesh, deepest layer, bones",
                         false, err));
    FaRenderView whole = view_of("profile", 1), mouth = view_of("profile", 3.2);
    whole.yaw = mouth.yaw = 78;
    FA_TRY(draw_tile(s, &whole, false, 0, sheet, 0, "whole", err));
    mouth.aim = fa_render_focus(s->rig, "mouth", mouth.focus);
    if (!mouth.aim) mouth.zoom = 1.5;
    return draw_tile(s, &mouth, true, 0, sheet, 1, "mouth, with its tets", err);
}

static FaCode add_map(Scene *s, const float *value, float scale, FaError *err) {
    const FaFace *f = s->face;
    float *heat = FA_PUSH(s->arena, f->nskin, float);
    if (!heat) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nskin; i++) heat[i] = scale * value[i];
    s->n = 0;
    const FaMesh skin = layer_of(f, 0);
    FA_TRY(add_surface(s, &skin, NULL, NULL, FA_RENDER_SKIN, err));
    s->heat[0] = heat;
    return add_passive(s, NULL, err);
}

static FaCode picture_thickness(Scene *s, FaSheet *sheet, int size, FaError *err) {
    static const char *const views[] = {"front", "three_quarter", "profile"};
    float most = 0;
    for (int i = 0; i < s->face->nskin; i++) most = fmaxf(most, 1e3f * s->face->thickness[i]);
    double end = ceil((double)most / 5) * 5;
    FA_TRY(add_map(s, s->face->thickness, 1e3f, err));
    FA_TRY(fai_sheet_new(sheet, FA_COUNT(views), FA_COUNT(views), size, size, "thickness of the flesh", true, err));
    fai_sheet_legend(sheet, end, "mm");
    for (int i = 0; i < FA_COUNT(views); i++) {
        FaRenderView v = view_of(views[i], 0);
        FA_TRY(draw_tile(s, &v, false, end, sheet, i, views[i], err));
    }
    return FA_OK;
}

static FaCode picture_maps(Scene *s, FaSheet *sheet, int size, const char *title, int n, const float *const *map,
                           const char *const *name, FaError *err) {
    FaRenderView view = view_of("three_quarter", 0);
    FA_TRY(fai_sheet_new(sheet, n, 3, size, size, title, true, err));
    fai_sheet_legend(sheet, 1, "weight");
    for (int i = 0; i < n; i++) {
        FA_TRY(add_map(s, map[i], 1, err));
        FA_TRY(draw_tile(s, &view, false, 1, sheet, i, name[i], err));
    }
    return FA_OK;
}

static FaCode picture_attachment(Scene *s, FaSheet *sheet, int size, FaError *err) {
    static const char *const name[] = {"held by the skull", "held by the jaw", "free"};
    const FaFace *f = s->face;
    float *free_part = FA_PUSH(s->arena, f->nskin, float);
    if (!free_part) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nskin; i++) free_part[i] = fmaxf(0, 1 - f->to_skull[i] - f->to_jaw[i]);
    const float *const map[] = {f->to_skull, f->to_jaw, free_part};
    return picture_maps(s, sheet, size, "attachment of the deepest layer", 3, map, name, err);
}

// mu at weight 1 of a shape (-1: of none) on the skin: the mean of the tets at each skin node, kPa.
static void stiffness_on_skin(const FaFace *f, int shape, double *mu, float *sum, float *count, float *out) {
    const FaColumns *c = &f->materials;
    for (int t = 0; t < f->ntet; t++) mu[t] = (double)f->mu0[t];
    for (int e = shape < 0 ? 0 : c->first[shape]; shape >= 0 && e < c->first[shape + 1]; e++)
        mu[c->item[e]] += (double)c->value[2 * (size_t)e];
    for (int i = 0; i < f->nskin; i++) sum[i] = count[i] = 0;
    for (size_t k = 0; k < 4 * (size_t)f->ntet; k++)
        if (f->tet[k] < f->nskin) sum[f->tet[k]] += (float)(1e-3 * mu[k / 4]), count[f->tet[k]]++;
    for (int i = 0; i < f->nskin; i++) out[i] = count[i] > 0 ? sum[i] / count[i] : 0;
}

// The base and the shapes that stiffen most, by the sum of what they add.
static FaCode picture_materials(Scene *s, FaSheet *sheet, int size, FaError *err) {
    enum { TILES = 12 };
    const FaFace *f = s->face;
    const FaColumns *c = &f->materials;
    int order[TILES], n = 1;
    double total[TILES] = {0}, most = 0;
    order[0] = -1;
    for (int i = 0; i < c->nshape; i++) {
        double sum = 0;
        for (int e = c->first[i]; e < c->first[i + 1]; e++) sum += fabs((double)c->value[2 * (size_t)e]);
        int at = n;
        while (at > 1 && sum > total[at - 1]) at--;
        if (sum == 0 || at == TILES) continue;
        for (int k = FA_MIN(n, TILES - 1); k > at; k--) order[k] = order[k - 1], total[k] = total[k - 1];
        order[at] = i;
        total[at] = sum;
        n = FA_MIN(n + 1, TILES);
    }
    double *mu = FA_PUSH(s->arena, f->ntet, double);
    float *work = FA_PUSH(s->arena, 3 * (size_t)f->nskin, float);
    if (!mu || !work) return FA_FAIL_MEMORY(err);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n; k++) {
            float *out = work + 2 * (size_t)f->nskin;
            stiffness_on_skin(f, order[k], mu, work, work + f->nskin, out);
            for (int i = 0; i < f->nskin; i++) most = fmax(most, (double)out[i]);
            if (pass == 0) continue;
            const char *name = order[k] < 0 ? "base" : s->rig->shape[order[k]].name;
            FaRenderView view = view_of("three_quarter", 0);
            if (k == 0) {
                FA_TRY(fai_sheet_new(sheet, n, FA_MIN(n, 4), size, size, "stiffness of the flesh, mu at weight 1", true,
                                     err));
                fai_sheet_legend(sheet, ceil(most / 5) * 5, "kPa");
            }
            FA_TRY(add_map(s, out, 1, err));
            FA_TRY(draw_tile(s, &view, false, ceil(most / 5) * 5, sheet, k, name, err));
        }
    return FA_OK;
}

const char *fa_face_picture_name(FaFacePicture what) {
    static const char *const name[FA_FACE_PICTURES] = {"cut", "thickness", "regions", "attachment"};
    if (what == FA_FACE_MATERIALS) return "materials";
    return what >= 0 && what < FA_FACE_PICTURES ? name[what] : "";
}

FaCode fa_face_volume_picture(const FaFace *face, const FaRig *rig, int shape, int size, const char *path,
                              FaError *err) {
    FA_TRY(fa_face_fits(face, rig, err));
    if (shape < 0 || shape >= face->volumes.nshape)
        return FA_FAIL(err, FA_E_ARG, NULL, "build the face with --volumes", "the face has no volume of shape %d",
                       shape);
    FaFace moved = *face;
    const FaColumns *c = &face->volumes;
    if (!(moved.x0 = FA_NEW(3 * (size_t)face->nnode, float))) return FA_FAIL_MEMORY(err);
    fai_columns_dense(c, shape, face->nnode, moved.x0);
    for (size_t i = 0; i < 3 * (size_t)face->nnode; i++) moved.x0[i] += face->x0[i];
    moved.nbone = 0; // they are where the neutral has them
    FaCode rc = fa_face_picture(&moved, rig, FA_FACE_CUT, size, path, err);
    fa_free(moved.x0);
    return rc;
}

FaCode fa_face_picture(const FaFace *face, const FaRig *rig, FaFacePicture what, int size, const char *path,
                       FaError *err) {
    FA_TRY(fa_face_fits(face, rig, err));
    if (size < 0 || size > 4096)
        return FA_FAIL(err, FA_E_ARG, NULL, "choose 64 to 4096 pixels", "a tile cannot be %d pixels high", size);
    if (size == 0) size = 720;
    Scene s = {.face = face, .rig = rig, .arena = fai_arena_new(0)};
    FaSheet sheet = {0};
    if (!s.arena) return FA_FAIL_MEMORY(err);
    FaCode rc = FA_OK;
    switch (what) {
    case FA_FACE_CUT: rc = picture_cut(&s, &sheet, size, err); break;
    case FA_FACE_THICKNESS: rc = picture_thickness(&s, &sheet, size, err); break;
    case FA_FACE_REGIONS:
        rc = picture_maps(&s, &sheet, size, "regions", FA_REGIONS, (const float *const *)face->region, fai_region_name,
                          err);
        break;
    case FA_FACE_ATTACHMENT: rc = picture_attachment(&s, &sheet, size, err); break;
    case FA_FACE_MATERIALS:
        rc = face->mu0
                 ? picture_materials(&s, &sheet, size, err)
                 : FA_FAIL(err, FA_E_ARG, NULL, "build the face with --materials auto", "the face has no materials");
        break;
    default: rc = FA_FAIL(err, FA_E_ARG, NULL, NULL, "there is no such picture");
    }
    if (rc >= 0) rc = fa_image_save(&sheet.image, path, "fascia " FA_VERSION_TEXT " build", err);
    fai_sheet_free(&sheet);
    fai_arena_free(s.arena);
    return rc;
}

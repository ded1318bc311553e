// Plates of a face's muscles: what lies below the skin drawn first, the skin laid over it (render/veil.h).
#include "math/mat3.h"
#include "muscle/muscle_shape.h"
#include "render/canvas.h"
#include "render/paint.h"
#include "render/portrait.h"
#include "render/shade.h"
#include "render/subject.h"
#include "render/veil.h"

#include <math.h>
#include <stdlib.h>

enum { VIEWS = 2, GAP = 8 };
static const double THIN = 0.16;

typedef struct Plate {
    FaMuscleModel *m;
    int size;
    FaSubject *subject;
    float *skin; // (nvert x 3)
    int nparts;
    FaRenderPart *part; // what lies below the skin
    const float **x;    // where it is; NULL: at rest
    FaMesh *mesh;       // of bones
    FaRenderer *over, *under;
    FaImage image;
    FaArena *arena;
} Plate;

// --- what is in the picture ---------------------------------------------------------------------------------------

static FaCode pose_skin(Plate *p, FaError *err) {
    const FaMuscleModel *m = p->m;
    size_t n = 3 * (size_t)m->rig->mesh.nvert;
    float *weights = FA_PUSH(p->arena, m->rig->nshape + 1, float);
    p->skin = FA_PUSH(p->arena, n + 1, float);
    if (!p->skin || !weights) return FA_FAIL_MEMORY(err);
    memcpy(p->skin, m->rig->mesh.x, n * sizeof *p->skin);
    if (m->posed) fai_filled_ride(&m->flesh, m->node, p->skin);
    FaPose jaw;
    FA_TRY(fai_muscle_jaw(m, &m->jaw, &jaw, NULL, err));
    if (m->posed) fai_inner_ride(&m->inner, &jaw, p->skin);
    FA_TRY(fa_muscle_jaw_weights(m, &m->jaw, weights, err));
    FA_TRY(fai_subject_new(m->rig, NULL, false, &p->subject, err));
    fai_subject_pose(p->subject, p->skin, NAN, weights);
    return FA_OK;
}

static bool has_bones(const FaSubject *s) {
    for (int i = 1; i < s->nparts; i++) {
        const FaRenderPart *p = &s->part[i];
        if ((p->tri_material && p->mesh->ntri ? p->tri_material[0] : (int)p->material) == FA_RENDER_BONE) return true;
    }
    return false;
}

// The rig's meshes without the skin of the face.
static FaCode add_subject(Plate *p, FaError *err) {
    const FaSubject *s = p->subject;
    for (int i = 0; i < s->nparts; i++) {
        FaRenderPart part = s->part[i];
        const int n = part.mesh->ntri;
        unsigned char *material = FA_PUSH(p->arena, n + 1, unsigned char);
        if (!material) return FA_FAIL_MEMORY(err);
        for (int t = 0; t < n; t++) {
            material[t] = part.tri_material ? part.tri_material[t] : (unsigned char)part.material;
            if (material[t] == FA_RENDER_SKIN) material[t] = FA_RENDER_HIDDEN;
        }
        part.tri_material = material;
        p->part[p->nparts] = part;
        p->x[p->nparts++] = s->x[i];
    }
    return FA_OK;
}

// Bones of the face that are no meshes of the rig's file.
static FaCode add_bones(Plate *p, FaError *err) {
    const FaMuscleModel *m = p->m;
    FaPose jaw;
    FA_TRY(fai_muscle_jaw(m, &m->jaw, &jaw, NULL, err));
    for (int b = 0; b < m->face->nbone; b++) {
        const FaBone *bone = &m->face->bone[b];
        FaMesh *mesh = &p->mesh[b];
        if (bone->kind == FA_BONE_EYE || bone->kind == FA_BONE_OTHER) continue;
        *mesh = (FaMesh){.nvert = bone->nvert, .ntri = bone->ntri, .x = bone->x, .tri = bone->tri};
        float *x = FA_PUSH(p->arena, 3 * (size_t)bone->nvert + 1, float);
        if (!x) return FA_FAIL_MEMORY(err);
        for (int v = 0; v < bone->nvert; v++) {
            double q[3];
            fai_v3_load(bone->x, v, q);
            if (bone->with_jaw) fai_pose_apply(&jaw, q, q);
            for (int k = 0; k < 3; k++) x[3 * v + k] = (float)q[k];
        }
        p->part[p->nparts] = (FaRenderPart){.mesh = mesh, .material = FA_RENDER_BONE};
        p->x[p->nparts++] = x;
    }
    return FA_OK;
}

static int by_face(const void *a, const void *b) {
    const int *x = a, *y = b;
    for (int k = 0; k < 3; k++)
        if (x[k] != y[k]) return (x[k] > y[k]) - (x[k] < y[k]);
    return 0;
}

// Where no bone was given: the sides of the flesh that are held, seen from outside.
static FaCode add_held(Plate *p, FaError *err) {
    static const int side[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}}; // outwards
    const FaFilled *f = &p->m->flesh;
    int(*face)[6] = fai_arena_push(p->arena, 4 * (size_t)f->ntet + 1, sizeof *face), n = 0;
    FaMesh *mesh = &p->mesh[p->m->face->nbone];
    mesh->tri = FA_PUSH(p->arena, 12 * (size_t)f->ntet + 1, int);
    if (!face || !mesh->tri) return FA_FAIL_MEMORY(err);
    mesh->x = f->x, mesh->nvert = f->nnode;
    for (int t = 0; t < f->ntet; t++)
        for (int s = 0; s < 4; s++) {
            bool held = true;
            for (int k = 0; k < 3; k++) {
                face[n][k] = face[n][3 + k] = f->tet[4 * t + side[s][k]];
                held &= f->kind[face[n][k]] != FA_FILLED_FREE;
            }
            for (int k = 0; k < 3 && held; k++) // sorted, to find the one on the other side
                for (int j = k + 1; j < 3; j++)
                    if (face[n][j] < face[n][k]) {
                        int swap = face[n][j];
                        face[n][j] = face[n][k], face[n][k] = swap;
                    }
            n += held;
        }
    qsort(face, (size_t)n, sizeof *face, by_face);
    for (int i = 0; i < n; i++) {
        if (i + 1 < n && by_face(face[i], face[i + 1]) == 0) {
            i++;
            continue;
        }
        // the flesh's outside is the bone's inside
        memcpy(mesh->tri + 3 * (size_t)mesh->ntri++, (int[]){face[i][3], face[i][5], face[i][4]}, 3 * sizeof(int));
    }
    p->part[p->nparts] = (FaRenderPart){.mesh = mesh, .material = FA_RENDER_BONE};
    p->x[p->nparts++] = p->m->posed ? p->m->node : NULL;
    return FA_OK;
}

static FaCode add_muscles(Plate *p, FaError *err) {
    FaMuscleModel *m = p->m;
    FA_TRY(fai_muscle_shapes(m, err));
    for (int i = 0; i < m->muscles.n; i++) {
        float *x = FA_PUSH(p->arena, 3 * (size_t)m->shape[i].mesh.nvert, float);
        if (!x) return FA_FAIL_MEMORY(err);
        FA_TRY(fai_muscle_shape_posed(m, i, x, err));
        p->part[p->nparts] = (FaRenderPart){.mesh = &m->shape[i].mesh,
                                            .material = FA_RENDER_MUSCLE,
                                            .pull = m->posed ? m->activation[i] : 0,
                                            .uvw = m->shape[i].uvw};
        p->x[p->nparts++] = x;
    }
    return FA_OK;
}

// --- drawing ------------------------------------------------------------------------------------------------------

// The face around the muscles fills the picture; neck and shoulders may be cut off.
static FaCode fit_face(Plate *p, FaError *err) {
    const FaMuscleModel *m = p->m;
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    unsigned char *keep = FA_PUSH(p->arena, m->rig->mesh.nvert + 1, unsigned char);
    if (!keep) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < m->muscles.n; i++)
        for (int v = 0; v < 3 * m->shape[i].mesh.nvert; v++) {
            double x = (double)m->shape[i].mesh.x[v];
            lo[v % 3] = fmin(lo[v % 3], x), hi[v % 3] = fmax(hi[v % 3], x);
        }
    for (int v = 0; v < m->rig->mesh.nvert; v++) {
        keep[v] = 1;
        for (int k = 0; k < 3; k++) {
            double x = (double)m->rig->mesh.x[3 * (size_t)v + (size_t)k], room = 0.08 * (hi[k] - lo[k]);
            keep[v] &= x > lo[k] - room && x < hi[k] + room;
        }
    }
    FA_TRY(fai_renderer_fit_parts(p->over, 1, err));
    fai_renderer_fit_only(p->over, keep);
    return FA_OK;
}

static FaCode draw_view(Plate *p, const FaCamera *camera, int at, FaError *err) {
    FaImage skin = {0}, below = {0};
    p->over->camera = p->under->camera = *camera;
    p->over->looked = p->under->looked = true;
    FaCode rc = fa_renderer_draw(p->over, &skin, err);
    if (rc >= 0) rc = fa_renderer_draw(p->under, &below, err);
    if (rc >= 0) rc = fai_veil(p->over, &skin, THIN, &below, err);
    if (rc >= 0) fai_canvas_place(&p->image, &below, at * (p->size + GAP), 0);
    fa_image_free(&skin);
    fa_image_free(&below);
    return rc;
}

// Scale of the colours, and what pulls.
static void draw_legend(Plate *p) {
    const FaMuscleModel *m = p->m;
    const float size = FA_MAX(7.0f, 0.016f * (float)p->size), h = (float)p->size, left = 1.4f * size;
    const FaInk white = {238, 239, 241, 1};
    enum { MOST = 14 };
    int n = 0;
    for (int i = 0; i < m->muscles.n && m->posed; i++) n += m->activation[i] > 0;
    float y = 2.4f * size;
    if (!n) {
        char text[80];
        snprintf(text, sizeof text, "%d muscles at rest", m->muscles.n);
        fai_canvas_label(&p->image, left, y, size, FA_ALIGN_LEFT, text, white);
    }
    for (int i = 0, shown = 0; i < m->muscles.n && n; i++) {
        char text[96];
        if (!(m->activation[i] > 0) || shown > MOST) continue;
        snprintf(text, sizeof text, "%s  %.2g", m->muscles.muscle[i].id.name, m->activation[i]);
        if (shown++ == MOST && n > MOST + 1) snprintf(text, sizeof text, "and %d more", n - MOST);
        fai_canvas_label(&p->image, left, y, size, FA_ALIGN_LEFT, text, white);
        y += 1.9f * size;
    }
    const float bottom = h - 3.2f * size, wide = 0.22f * h;
    for (int x = 0; x < (int)wide; x++) {
        FaVec c = fai_muscle_colour((float)x / wide);
        fai_canvas_rect(&p->image, left + (float)x, bottom - size, left + (float)x + 1, bottom,
                        (FaInk){fai_srgb8(c.x), fai_srgb8(c.y), fai_srgb8(c.z), 1});
    }
    fai_canvas_label(&p->image, left, bottom + 1.8f * size, size, FA_ALIGN_LEFT, "0", white);
    fai_canvas_label(&p->image, left + 0.5f * wide, bottom + 1.8f * size, size, FA_ALIGN_CENTRE, "activation", white);
    fai_canvas_label(&p->image, left + wide, bottom + 1.8f * size, size, FA_ALIGN_RIGHT, "1", white);
}

static FaCode gather(Plate *p, FaError *err) {
    const FaMuscleModel *m = p->m;
    FA_TRY(pose_skin(p, err));
    const int room = p->subject->nparts + m->face->nbone + m->muscles.n + 1;
    p->part = FA_PUSH(p->arena, room, FaRenderPart);
    p->x = FA_PUSH(p->arena, room, const float *);
    p->mesh = FA_PUSH(p->arena, m->face->nbone + 1, FaMesh);
    if (!p->part || !p->x || !p->mesh) return FA_FAIL_MEMORY(err);
    FA_TRY(add_subject(p, err));
    if (!has_bones(p->subject)) {
        const int before = p->nparts;
        FA_TRY(add_bones(p, err));
        if (p->nparts == before) FA_TRY(add_held(p, err));
    }
    return add_muscles(p, err);
}

static FaCode draw(Plate *p, bool profile, FaError *err) {
    FaRenderOptions o = fa_render_options_default();
    FaRenderView view[VIEWS] = {o.view, o.view};
    FaCamera camera[VIEWS];
    o.width = o.height = p->size;
    memcpy(o.axes, p->m->rig->axes, sizeof o.axes);
    fa_render_view("front", &view[0]);
    fa_render_view(profile ? "profile" : "three_quarter", &view[1]);
    FA_TRY(fa_renderer_new(p->subject->part, p->subject->nparts, &o, &p->over, err));
    FA_TRY(fa_renderer_new(p->part, p->nparts, &o, &p->under, err));
    FA_TRY(fa_renderer_pose(p->over, (const float *const *)p->subject->x, NULL, err));
    FA_TRY(fa_renderer_pose(p->under, p->x, NULL, err));
    FA_TRY(fit_face(p, err));
    FA_TRY(fai_renderer_look_all(p->over, view, VIEWS, camera, err));
    p->image = (FaImage){VIEWS * p->size + (VIEWS - 1) * GAP, p->size, NULL};
    p->image.rgb = FA_NEW(3 * (size_t)p->image.width * (size_t)p->image.height, unsigned char);
    if (!p->image.rgb) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < VIEWS; i++) FA_TRY(draw_view(p, &camera[i], i, err));
    draw_legend(p);
    return FA_OK;
}

FaCode fa_muscle_picture(FaMuscleModel *m, bool profile, int size, const char *comment, const char *path,
                         FaError *err) {
    Plate p = {.m = m, .size = size > 0 ? size : 900, .arena = fai_arena_new(0)};
    FaCode rc = p.arena ? gather(&p, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = draw(&p, profile, err);
    if (rc >= 0) rc = fa_image_save(&p.image, path, comment, err);
    fa_image_free(&p.image);
    fa_renderer_free(p.over);
    fa_renderer_free(p.under);
    fai_subject_free(p.subject);
    fai_arena_free(p.arena);
    return rc;
}

FaCode fa_muscle_cut(const FaMuscleModel *m, int size, const char *path, FaError *err) {
    return fai_filled_picture(&m->flesh, m->rig, m->face, NULL, size > 0 ? size : 900, path, err);
}

// The page: a template made at build time with the data of web/data.js put into it, gzipped and in base64.
#include "fascia/page.h"
#include "bake/bake.h"
#include "base/file.h"
#include "base/text.h"
#include "fascia/render.h"
#include "io/gltf/gltf.h"
#include "io/sequence.h"
#include "math/mat3.h"
#include "mesh/intersect.h"
#include "render/page_template.h"
#include "render/portrait.h"
#include "render/renderer.h"
#include "render/subject.h"

#include <math.h>
#include <stdlib.h>
#ifdef FA_HAVE_ZLIB
#include <zlib.h>
#endif

static const char mark[] = "<!--FASCIA-DATA-->";

typedef struct Page {
    FaText header;   // JSON
    FaText sections; // binary, each at a multiple of 8
    FaJsonWriter w;
    const FaRig **rig; // faces of the tracks, the page's own first                    (nrig)
    int nrig;
    FaPageJump *most; // where most triangles of each track cross; name NULL: none do    (ntrack)
} Page;

static void section(Page *p, const char *key, const char *type, const void *data, size_t count, size_t size) {
    static const char zeros[8];
    fai_jw_open(&p->w, key, '{');
    fai_jw_str(&p->w, "section", type);
    fai_jw_int(&p->w, "offset", (int64_t)p->sections.size);
    fai_jw_int(&p->w, "count", (int64_t)count);
    fai_jw_close(&p->w);
    fai_text_bytes(&p->sections, data, count * size);
    fai_text_bytes(&p->sections, zeros, (8 - p->sections.size % 8) % 8);
}

static void put_list(Page *p, const char *key, const double *x, int n) {
    fai_jw_open(&p->w, key, '[');
    for (int k = 0; k < n; k++) fai_jw_num(&p->w, NULL, x[k]);
    fai_jw_close(&p->w);
}

// --- the mesh -----------------------------------------------------------------------------------------------------

static int by_pair(const void *a, const void *b) {
    const int *x = a, *y = b;
    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

// Polygon edges, each once, for the wireframe.
static FaCode put_edges(Page *p, const FaMesh *mesh, FaError *err) {
    int n = mesh->face_start[mesh->nface];
    int(*edge)[2] = fai_alloc_array((size_t)n, sizeof *edge);
    if (!edge) return FA_FAIL_MEMORY(err);
    int m = 0;
    for (int f = 0; f < mesh->nface; f++) {
        int a = mesh->face_start[f], b = mesh->face_start[f + 1];
        for (int c = a; c < b; c++) {
            int u = mesh->face_vert[c], v = mesh->face_vert[c + 1 < b ? c + 1 : a];
            edge[m][0] = FA_MIN(u, v);
            edge[m++][1] = FA_MAX(u, v);
        }
    }
    qsort(edge, (size_t)m, sizeof *edge, by_pair);
    int kept = 0;
    for (int i = 0; i < m; i++)
        if (!i || by_pair(edge[i], edge[i - 1])) memmove(edge[kept++], edge[i], sizeof *edge);
    section(p, "edges", "u32", edge, 2 * (size_t)kept, sizeof(int));
    fa_free(edge);
    return FA_OK;
}

// One mesh of the page.
typedef struct Solid {
    const FaRig *rig;
    const FaRig *main; // the rig whose shape numbers the tracks' weights have; NULL: itself
    const char *material;
    const unsigned char *color; // nullable
    const double *place;        // face = place * own frame, rows of a 3x4 matrix; NULL: the same
    const FaBinding *shared;    // which of main's shapes drive its own; NULL: those of the same name
    bool own_frame;             // vertices stay in its own frame: tracks say where that is
    bool jaw;                   // goes with the face's jaw
    const float *share;         // of a body: how much goes with the head; NULL: all of it            (nvert)
} Solid;

static void put_placed(Page *p, const char *key, const float *v, int n, const double *m, bool points, float *scratch) {
    if (m) {
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 3; k++)
                scratch[3 * i + k] = (float)(m[4 * k] * (double)v[3 * i] + m[4 * k + 1] * (double)v[3 * i + 1] +
                                             m[4 * k + 2] * (double)v[3 * i + 2] + (points ? m[4 * k + 3] : 0));
        v = scratch;
    }
    section(p, key, "f32", v, 3 * (size_t)n, sizeof(float));
}

static void put_shapes(Page *p, const Solid *s) {
    fai_jw_open(&p->w, "shapes", '[');
    for (int i = 0; i < s->rig->nshape; i++) {
        const FaShape *shape = &s->rig->shape[i];
        int index = s->main ? -1 : i;
        if (s->shared && s->shared->nshape) index = s->shared->chan[i];
        for (int k = 0; s->main && !s->shared && k < s->main->nshape && index < 0; k++)
            if (!strcmp(s->main->shape[k].name, shape->name)) index = k;
        fai_jw_open(&p->w, NULL, '{');
        fai_jw_str(&p->w, "name", shape->name);
        fai_jw_int(&p->w, "index", index);
        if (s->shared && s->shared->nshape && s->shared->chan2[i] >= 0) // between left and right
            fai_jw_int(&p->w, "other", s->shared->chan2[i]);
        if (s->main && index < 0 && s->rig->weight[i] != 0) fai_jw_num(&p->w, "rest", (double)s->rig->weight[i]);
        fai_jw_int(&p->w, "first", shape->first);
        fai_jw_int(&p->w, "count", shape->count);
        fai_jw_close(&p->w);
    }
    fai_jw_close(&p->w);
}

static FaCode put_solid(Page *p, const Solid *s, FaError *err) {
    const FaMesh *m = &s->rig->mesh;
    float *scratch = FA_NEW(3 * (size_t)FA_MAX(m->nvert, s->rig->nentry), float);
    if (!scratch) return FA_FAIL_MEMORY(err);
    fai_jw_str(&p->w, "name", s->rig->name);
    fai_jw_str(&p->w, "material", s->material);
    const double *place = s->own_frame ? NULL : s->place;
    if (s->own_frame) { put_list(p, "place", s->place, 12); }
    if (s->jaw) fai_jw_bool(&p->w, "jaw", true);
    if (s->share) section(p, "share", "f32", s->share, (size_t)m->nvert, sizeof(float));
    put_placed(p, "base", m->x, m->nvert, place, true, scratch);
    section(p, "tri", "u32", m->tri, 3 * (size_t)m->ntri, sizeof(int));
    if (m->weld) section(p, "weld", "u32", m->weld, (size_t)m->nvert, sizeof(int));
    if (s->color) section(p, "colors", "u8", s->color, 3 * (size_t)m->nvert, 1);
    FaCode rc = put_edges(p, m, err);
    put_shapes(p, s);
    section(p, "rows", "u32", s->rig->row, (size_t)s->rig->nentry, sizeof(int));
    put_placed(p, "deltas", s->rig->delta, s->rig->nentry, place, false, scratch);
    fa_free(scratch);
    return rc;
}

// A pupil and an iris for eyes that bring no colours: by the angle from the front, seen from the middle of the ball.
static unsigned char *eye_colors(const FaMesh *m, const double *place, const double axes[9]) {
    unsigned char *c = FA_NEW(3 * (size_t)m->nvert, unsigned char);
    double mid[3] = {0}, front[3];
    for (int i = 0; i < m->nvert; i++)
        for (int k = 0; k < 3; k++) mid[k] += (double)m->x[3 * i + k] / m->nvert;
    // the front of the face in the ball's own frame
    for (int k = 0; k < 3; k++) front[k] = place[k] * axes[6] + place[4 + k] * axes[7] + place[8 + k] * axes[8];
    double length = sqrt(front[0] * front[0] + front[1] * front[1] + front[2] * front[2]);
    for (int i = 0; c && i < m->nvert; i++) {
        double d[3], along = 0, size = 0;
        for (int k = 0; k < 3; k++) {
            d[k] = (double)m->x[3 * i + k] - mid[k];
            along += d[k] * front[k] / length;
            size += d[k] * d[k];
        }
        double angle = acos(along / fmax(sqrt(size), 1e-12));
        static const unsigned char tone[3][3] = {{14, 12, 12}, {92, 128, 140}, {240, 237, 230}};
        memcpy(c + 3 * i, tone[angle < 0.21 ? 0 : angle < 0.5 ? 1 : 2], 3);
    }
    return c;
}

// What most of a part's triangles are.
static FaRenderMaterial main_material(const FaRenderPart *part) {
    int count[FA_RENDER_MATERIALS] = {0}, best = part->material;
    for (int t = 0; part->tri_material && t < part->mesh->ntri; t++)
        if (++count[part->tri_material[t]] > count[best]) best = part->tri_material[t];
    return (FaRenderMaterial)best;
}

static const char *const material_name[FA_RENDER_MATERIALS] = {"skin", "eye",   "teeth", "mouth",
                                                               "bone", "other", "other", NULL};

// The other meshes of the rig's own file, each in its own frame.
static FaCode put_companions(Page *p, const FaRig *rig, FaError *err) {
    FaSubject *subject;
    FA_TRY(fai_subject_new(rig, NULL, false, &subject, err));
    FaCode rc = FA_OK;
    for (int i = 1; i < subject->nparts && rc >= 0; i++) {
        const FaCompanion *c = &subject->companion[i];
        FaRenderMaterial material = main_material(&subject->part[i]);
        if (!material_name[material]) continue;
        unsigned char *color = material == FA_RENDER_EYE ? eye_colors(&c->rig->mesh, c->rest, rig->axes) : NULL;
        fai_jw_open(&p->w, NULL, '{');
        Solid solid = {.rig = c->rig,
                       .main = rig,
                       .material = material_name[material],
                       .color = color,
                       .place = c->rest,
                       .shared = &c->shared,
                       .own_frame = true,
                       .jaw = c->jaw,
                       .share = subject->share[i]};
        rc = put_solid(p, &solid, err);
        fai_jw_close(&p->w);
        fa_free(color);
    }
    fai_subject_free(subject);
    return rc;
}

FaPageOptions fa_page_options_default(void) { return (FaPageOptions){.bake_error_mm = 0.02}; }

// The box of a body's head: what the camera holds.
static FaCode put_head(Page *p, const FaRig *rig, FaError *err) {
    unsigned char *keep = FA_NEW(rig->mesh.nvert, unsigned char);
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    if (!keep) return FA_FAIL_MEMORY(err);
    bool body = fai_portrait(rig, keep);
    for (int v = 0; v < rig->mesh.nvert && body; v++)
        for (int k = 0; k < 3 && keep[v]; k++) {
            double x = (double)rig->mesh.x[3 * (size_t)v + (size_t)k];
            lo[k] = fmin(lo[k], x), hi[k] = fmax(hi[k], x);
        }
    fa_free(keep);
    if (!body) return FA_OK;
    fai_jw_open(&p->w, "headBox", '{');
    put_list(p, "lo", lo, 3);
    put_list(p, "hi", hi, 3);
    fai_jw_close(&p->w);
    return FA_OK;
}

// The jaw's motion, for sliders to move what goes with it (fai_jaw_pose in rig/jaw.h).
static void put_jaw(Page *p, const FaRig *rig) {
    const FaGltf *doc = fai_gltf_of_rig(rig);
    if (!doc || !doc->parts.jaw.found) return;
    const FaJaw *jaw = &doc->parts.jaw;
    fai_jw_open(&p->w, "jawMotion", '{');
    put_list(p, "hinge", jaw->hinge, 3);
    put_list(p, "axis", jaw->axis, 3);
    fai_jw_num(&p->w, "angle", jaw->open_angle);
    put_list(p, "slide", jaw->open_slide, 3);
    fai_jw_open(&p->w, "opens", '['); // [shape, how much of it]
    for (int i = -1; i < jaw->nmore; i++)
        if (i >= 0 || jaw->shape[0] >= 0)
            put_list(p, NULL, (double[]){i < 0 ? jaw->shape[0] : jaw->more[i].shape, i < 0 ? 1 : jaw->more[i].open}, 2);
    fai_jw_close(&p->w);
    fai_jw_open(&p->w, "moves", '['); // [shape, turn, slide]
    for (int i = 1; i < 4; i++) {
        const double *t = jaw->turn[i], *m = jaw->slide[i];
        if (jaw->shape[i] >= 0) put_list(p, NULL, (double[]){jaw->shape[i], t[0], t[1], t[2], m[0], m[1], m[2]}, 7);
    }
    for (int i = 0; i < jaw->nmore; i++) {
        const double *t = jaw->more[i].turn, *m = jaw->more[i].slide;
        if (fai_v3_norm(t) > 0 || fai_v3_norm(m) > 0)
            put_list(p, NULL, (double[]){jaw->more[i].shape, t[0], t[1], t[2], m[0], m[1], m[2]}, 7);
    }
    fai_jw_close(&p->w);
    fai_jw_close(&p->w);
}

// A body stands; its head turns about a joint.
static void put_body(Page *p, const FaRig *rig) {
    if (!rig->body) return;
    fai_jw_open(&p->w, "body", '{');
    put_list(p, "pivot", rig->pivot, 3);
    const double *q = rig->rest.q, *at = rig->rest.p;
    put_list(p, "rest", (double[]){q[0], q[1], q[2], q[3], at[0], at[1], at[2]}, 7);
    fai_jw_close(&p->w);
}

// One face with what comes along; main: the page's own.
static FaCode put_rig(Page *p, const FaRig *rig, bool main, const FaPageOptions *o, FaError *err) {
    // rows 1 and 2 of axes are the up and front directions in the mesh's frame
    for (int row = 1; row < 3; row++) put_list(p, row == 1 ? "up" : "front", rig->axes + 3 * row, 3);
    double mouth[3];
    if (fa_render_focus(rig, "mouth", mouth)) put_list(p, "mouth", mouth, 3);
    FA_TRY(put_head(p, rig, err));
    put_jaw(p, rig);
    put_body(p, rig);
    FA_TRY(put_solid(p, &(Solid){.rig = rig, .material = "skin", .color = o->color, .share = rig->head_share}, err));
    fai_jw_open(&p->w, "parts", '[');
    FaCode rc = main && o->parts ? FA_OK : put_companions(p, rig, err);
    for (int i = 0; main && i < o->nparts && rc >= 0; i++) {
        fai_jw_open(&p->w, NULL, '{');
        rc = put_solid(
            p,
            &(Solid){.rig = o->parts[i].rig, .main = rig, .material = o->parts[i].material, .color = o->parts[i].color},
            err);
        fai_jw_close(&p->w);
    }
    fai_jw_close(&p->w);
    return rc;
}

static int rig_number(const Page *p, const FaRig *rig) {
    int i = 0;
    while (i < p->nrig && p->rig[i] != rig) i++;
    return i;
}

// The page's own face, then those of tracks that have another, each once.
static FaCode put_rigs(Page *p, const FaRig *rig, const FaPageTrack *tracks, int ntrack, const FaPageOptions *o,
                       FaError *err) {
    p->rig = FA_NEW((size_t)ntrack + 1, const FaRig *);
    if (!p->rig) return FA_FAIL_MEMORY(err);
    p->rig[p->nrig++] = rig;
    for (int i = 0; i < ntrack; i++)
        if (tracks[i].rig && rig_number(p, tracks[i].rig) == p->nrig) p->rig[p->nrig++] = tracks[i].rig;
    FaCode rc = FA_OK;
    fai_jw_open(&p->w, "rigs", '[');
    for (int i = 0; i < p->nrig && rc >= 0; i++) {
        const FaMesh *mesh = &p->rig[i]->mesh;
        FaPageOptions own = *o;
        if (mesh->nvert != rig->mesh.nvert || mesh->ntri != rig->mesh.ntri) own.color = NULL;
        fai_jw_open(&p->w, NULL, '{');
        rc = put_rig(p, p->rig[i], i == 0, &own, err);
        fai_jw_close(&p->w);
    }
    fai_jw_close(&p->w);
    return rc;
}

static void put_sliders(Page *p, const FaPageOptions *o) {
    FaJsonWriter *w = &p->w;
    if (!o->nsliders) return;
    fai_jw_open(w, "sliders", '{');
    fai_jw_num(w, "mass", o->mass);
    fai_jw_num(w, "damping", o->damping);
    fai_jw_num(w, "stiffness", o->stiffness);
    fai_jw_open(w, "targets", '[');
    for (int i = 0; i < o->nsliders; i++) {
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "name", o->sliders[i].name);
        fai_jw_open(w, "shapes", '[');
        for (int k = 0; k < o->sliders[i].nshape; k++) fai_jw_int(w, NULL, o->sliders[i].shape[k]);
        fai_jw_close(w);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    fai_jw_close(w);
}

// --- muscles ------------------------------------------------------------------------------------------------------

static void put_muscles(Page *p, const FaPageOptions *o) {
    if (!o->nmuscles) return;
    fai_jw_open(&p->w, "muscles", '[');
    for (int i = 0; i < o->nmuscles; i++) {
        const FaPageMuscle *m = &o->muscles[i];
        fai_jw_open(&p->w, NULL, '{');
        fai_jw_str(&p->w, "name", m->name);
        fai_jw_str(&p->w, "bone", m->bone);
        fai_jw_num(&p->w, "force", m->force);
        section(p, "base", "f32", m->rest, 3 * (size_t)m->nvert, sizeof(float));
        section(p, "tri", "u32", m->tri, 3 * (size_t)m->ntri, sizeof(int));
        fai_jw_close(&p->w);
    }
    fai_jw_close(&p->w);
}

// Where they are in a track, and how strongly they pull.
static void put_pull(Page *p, const FaPageTrack *track, const FaPageOptions *o) {
    if (!o->nmuscles || (track->rig && track->rig != p->rig[0]) || (!track->muscle_x && !track->activation)) return;
    size_t n = 0;
    for (int i = 0; i < o->nmuscles; i++) n += (size_t)o->muscles[i].nvert;
    fai_jw_open(&p->w, "muscles", '{');
    if (track->muscle_x) section(p, "x", "f32", track->muscle_x, 3 * n, sizeof(float));
    if (track->activation) section(p, "activation", "f64", track->activation, (size_t)o->nmuscles, sizeof(double));
    if (track->muscles_rise) fai_jw_bool(&p->w, "rise", true);
    if (track->lines && track->nlines > 0 && track->line_points > 0) {
        fai_jw_int(&p->w, "nlines", track->nlines);
        section(p, "lines", "f32", track->lines,
                3 * (size_t)o->nmuscles * (size_t)track->nlines * (size_t)track->line_points, sizeof(float));
    }
    fai_jw_close(&p->w);
}

// --- tracks -------------------------------------------------------------------------------------------------------

// Residual of a track's frames against the rig under its weights.
typedef struct Residual {
    const FaRig *rig;
    FaBlender *blender;
    FaSequence *seq;
    float *weights; // (nframe x nshape)
    float *linear;  // scratch, nvert x 3
} Residual;

static FaCode read_residual(void *user, int frame, float *r, FaError *err) {
    Residual *s = user;
    FA_TRY(fa_sequence_read(s->seq, frame, r, err));
    fa_blender_eval(s->blender, s->weights + (size_t)frame * (size_t)s->rig->nshape, s->linear);
    for (size_t i = 0, n = 3 * (size_t)s->rig->mesh.nvert; i < n; i++) r[i] -= s->linear[i];
    return FA_OK;
}

// Shape weights at every frame of the sequence: the clip's own frames where they agree, sampled by time else.
static FaCode track_weights(const FaPageTrack *track, Residual *s, FaError *err) {
    if (!track->clip || !s->rig->nshape) return FA_OK;
    FaBinding binding;
    FA_TRY(fa_clip_bind(track->clip, s->rig, &binding, err));
    float *channels = FA_NEW(track->clip->nchan, float);
    int n = fa_sequence_nframe(track->seq);
    for (int f = 0; channels && f < n; f++) {
        fa_clip_sample(track->clip, fai_sequence_clip_time(track->seq, track->clip, f), channels, NULL);
        fa_binding_weights(&binding, channels, s->weights + (size_t)f * (size_t)s->rig->nshape);
    }
    fa_binding_free(&binding);
    if (!channels) return FA_FAIL_MEMORY(err);
    fa_free(channels);
    return FA_OK;
}

static FaCode put_motion(Page *p, const FaRig *rig, const FaPageTrack *track, FaError *err) {
    int n = fa_sequence_nframe(track->seq);
    double *time = FA_NEW(n, double);
    float *head = FA_NEW(7 * (size_t)n, float);
    if (!time || !head) {
        fa_free(time);
        fa_free(head);
        return FA_FAIL_MEMORY(err);
    }
    for (int f = 0; f < n; f++) {
        time[f] = fai_sequence_clip_time(track->seq, track->clip, f);
        if (!track->clip || !track->clip->head) continue;
        FaPose at, pose;
        fa_clip_sample(track->clip, time[f], NULL, &at);
        pose = fa_rig_pose(rig, &at); // the page moves the mesh's own frame
        for (int k = 0; k < 4; k++) head[7 * f + k] = (float)pose.q[k];
        for (int k = 0; k < 3; k++) head[7 * f + 4 + k] = (float)pose.p[k];
    }
    section(p, "times", "f64", time, (size_t)n, sizeof *time);
    if (track->clip && track->clip->head) section(p, "head", "f32", head, 7 * (size_t)n, sizeof *head);
    fa_free(time);
    fa_free(head);
    return FA_OK;
}

// What a companion does in a track: weights of its shapes (nframe x nshape), and where it is in the face's frame, rows
// of 3x4 matrices (nframe x 12), or left out where it never moves there.
static FaCode put_companion_motion(Page *p, FaSubject *subject, int i, const double *time, int n, FaError *err) {
    FaCompanion *c = &subject->companion[i];
    size_t nshape = (size_t)c->rig->nshape;
    float *weights = FA_NEW((size_t)n * nshape, float), *place = FA_NEW(12 * (size_t)n, float);
    bool moves = false, alone = !subject->own && !c->follows;
    for (size_t f = 0; weights && place && f < (size_t)n; f++) {
        fai_subject_follow(subject, time[f], NULL);
        if (nshape) memcpy(weights + f * nshape, c->weights, nshape * sizeof *weights);
        for (size_t k = 0; k < 12; k++) {
            place[12 * f + k] = (float)c->place[k];
            moves |= place[12 * f + k] != (float)c->rest[k];
        }
    }
    FaCode rc = weights && place ? FA_OK : FA_FAIL_MEMORY(err);
    fai_jw_open(&p->w, NULL, '{');
    if (rc >= 0 && nshape) section(p, "weights", "f32", weights, (size_t)n * nshape, sizeof *weights);
    if (rc >= 0 && moves) section(p, "place", "f32", place, 12 * (size_t)n, sizeof *place);
    if (alone) fai_jw_bool(&p->w, "alone", true);
    if (!subject->share[i]) fai_jw_bool(&p->w, "whole", true); // goes with the head of a body
    fai_jw_close(&p->w);
    fa_free(weights);
    fa_free(place);
    return rc;
}

static FaCode put_companion_motions(Page *p, const FaRig *rig, const FaPageTrack *track, FaError *err) {
    int n = fa_sequence_nframe(track->seq);
    bool same = track->clip && track->clip->nframe == n;
    FaSubject *subject;
    double *time = FA_NEW(n, double);
    if (!time) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < n; f++)
        time[f] = !track->clip ? NAN : same ? track->clip->time[f] : fa_sequence_time(track->seq, f);
    FaCode rc = fai_subject_new(rig, track->clip, false, &subject, err);
    if (rc >= 0) {
        fai_jw_open(&p->w, "parts", '[');
        for (int i = 1; i < subject->nparts && rc >= 0; i++)
            if (material_name[main_material(&subject->part[i])]) rc = put_companion_motion(p, subject, i, time, n, err);
        fai_jw_close(&p->w);
        fai_subject_free(subject);
    }
    fa_free(time);
    return rc;
}

// Markers: steps from frame to frame in units of a few micrometres, which pack well; one that is not seen keeps its
// place.
typedef struct Packed {
    double lo[3], step;  // m
    uint16_t *move;      // differences modulo 65536, the first frame's from 0            (nframe x n x 3)
    unsigned char *seen; //                                                             (nframe x n)
} Packed;

static void pack_markers(const FaMarkerTake *take, const int *frame, int nframe, Packed *d) {
    size_t n = (size_t)take->nmarker;
    double hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++) d->lo[k] = INFINITY;
    for (size_t i = 0; i < (size_t)take->nframe * n; i++)
        for (int k = 0; k < 3 && take->ok[i]; k++)
            d->lo[k] = fmin(d->lo[k], (double)take->x[3 * i + (size_t)k]),
            hi[k] = fmax(hi[k], (double)take->x[3 * i + (size_t)k]);
    d->step = 1e-5;
    for (int k = 0; k < 3; k++) {
        if (!(d->lo[k] <= hi[k])) d->lo[k] = hi[k] = 0;
        d->step = fmax(d->step, (hi[k] - d->lo[k]) / 65535);
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t last[3] = {0};
        for (int f = 0; f < nframe; f++) {
            size_t to = (size_t)f * n + i, from = frame[f] < 0 ? 0 : (size_t)frame[f] * n + i;
            d->seen[to] = frame[f] >= 0 && take->ok[from];
            for (size_t k = 0; k < 3 && d->seen[to]; k++) {
                uint16_t now = (uint16_t)floor(((double)take->x[3 * from + k] - d->lo[k]) / d->step + 0.5);
                d->move[3 * to + k] = (uint16_t)(now - last[k]);
                last[k] = now;
            }
        }
    }
}

// Three corners and their shares of each marker's surface point; those that are not mapped have shares of 0.
static FaCode put_marker_map(Page *p, const FaMarkerMap *map, FaError *err) {
    uint32_t *vert = FA_NEW(3 * (size_t)map->count, uint32_t);
    float *bary = FA_NEW(3 * (size_t)map->count, float);
    for (int i = 0; vert && bary && i < map->count; i++)
        for (int k = 0; k < 3 && map->point[i].vert[0] >= 0; k++)
            vert[3 * i + k] = (uint32_t)map->point[i].vert[k], bary[3 * i + k] = map->point[i].bary[k];
    if (vert && bary) {
        section(p, "vert", "u32", vert, 3 * (size_t)map->count, sizeof *vert);
        section(p, "bary", "f32", bary, 3 * (size_t)map->count, sizeof *bary);
    }
    FaCode rc = vert && bary ? FA_OK : FA_FAIL_MEMORY(err);
    fa_free(vert);
    fa_free(bary);
    return rc;
}

static FaCode put_markers(Page *p, const FaPageTrack *track, FaError *err) {
    const FaMarkerTake *take = track->markers;
    int n = fa_sequence_nframe(track->seq);
    if (!take) return FA_OK;
    if (track->map && track->map->count != take->nmarker)
        return FA_FAIL(err, FA_E_ARG, track->name, "map this take", "%d markers, but the map has %d", take->nmarker,
                       track->map->count);
    size_t count = (size_t)n * (size_t)take->nmarker;
    int *frame = FA_NEW(n, int);
    Packed d = {.move = FA_NEW(3 * count, uint16_t), .seen = FA_NEW(count, unsigned char)};
    FaCode rc = frame && d.move && d.seen ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        for (int f = 0; f < n; f++)
            frame[f] = fai_markers_frame(take, f, n, fai_sequence_clip_time(track->seq, track->clip, f));
        pack_markers(take, frame, n, &d);
        fai_jw_open(&p->w, "markers", '{');
        fai_jw_open(&p->w, "names", '[');
        for (int i = 0; i < take->nmarker; i++) fai_jw_str(&p->w, NULL, take->name[i]);
        fai_jw_close(&p->w);
        fai_jw_open(&p->w, "lo", '[');
        for (int k = 0; k < 3; k++) fai_jw_num(&p->w, NULL, d.lo[k]);
        fai_jw_close(&p->w);
        fai_jw_num(&p->w, "step", d.step);
        section(p, "move", "u16", d.move, 3 * count, sizeof *d.move);
        section(p, "seen", "u8", d.seen, count, 1);
        if (track->map) rc = put_marker_map(p, track->map, err);
        fai_jw_close(&p->w);
    }
    fa_free(frame);
    fa_free(d.move);
    fa_free(d.seen);
    return rc;
}

static const char crossing_name[] = "crossing triangle pairs";

// Which triangles cross in each frame, two for each pair: those of frame f are from first[f] to first[f + 1].
typedef struct Crossings {
    uint32_t *first; //                                                                   (nframe + 1)
    double *count;   // pairs, for the chart                                              (nframe)
    FaText tri;      // uint32_t, growing
} Crossings;

static FaCode find_crossings(const FaPageTrack *track, const FaMesh *mesh, int n, Crossings *c, FaError *err) {
    enum { MOST = 4096 }; // pairs painted in a frame; beyond, the whole mouth is red anyway
    float *x = FA_NEW(3 * (size_t)mesh->nvert, float);
    int(*pair)[2] = fai_alloc_array(MOST, sizeof *pair);
    FaCode rc = x && pair ? FA_OK : FA_FAIL_MEMORY(err);
    for (int f = 0; f < n && rc >= 0; f++) {
        int count = 0;
        rc = fa_sequence_read(track->seq, f, x, err);
        if (rc >= 0) rc = fai_self_intersections(mesh, x, NULL, pair, MOST, &count, err);
        if (rc < 0) break;
        size_t kept = (size_t)FA_MIN(count, (int)MOST);
        c->count[f] = count;
        c->first[f + 1] = c->first[f] + (uint32_t)(2 * kept);
        fai_text_bytes(&c->tri, pair, kept * sizeof *pair);
    }
    fa_free(x);
    fa_free(pair);
    return rc < 0 ? rc : c->tri.failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

static void crossings_free(Crossings *c) {
    fa_free(c->first);
    fa_free(c->count);
    fai_text_free(&c->tri);
}

static FaCode put_numbers(Page *p, const FaPageTrack *track, const FaMesh *mesh, FaPageJump *most, FaError *err) {
    int n = fa_sequence_nframe(track->seq);
    Crossings c = {0};
    if (track->crossings) {
        c.first = FA_NEW((size_t)n + 1, uint32_t);
        c.count = FA_NEW(n, double);
        FaCode rc = c.first && c.count ? find_crossings(track, mesh, n, &c, err) : FA_FAIL_MEMORY(err);
        if (rc < 0) return crossings_free(&c), rc;
        for (int f = 0; f < n; f++)
            if (c.count[f] > c.count[most->frame]) most->frame = f;
        if (c.count[most->frame] > 0) most->name = crossing_name;
        fai_jw_open(&p->w, "crossing", '{');
        section(p, "first", "u32", c.first, (size_t)n + 1, sizeof *c.first);
        section(p, "tri", "u32", c.tri.data, c.tri.size / sizeof *c.first, sizeof *c.first);
        fai_jw_close(&p->w);
    }
    fai_jw_open(&p->w, "numbers", '{');
    if (track->crossings) section(p, crossing_name, "f64", c.count, (size_t)n, sizeof *c.count);
    for (int i = 0; i < track->nnumbers; i++)
        section(p, track->numbers[i].name, "f64", track->numbers[i].value, (size_t)n, sizeof(double));
    fai_jw_close(&p->w);
    crossings_free(&c);
    return FA_OK;
}

static FaCode put_track(Page *p, const FaPageTrack *track, Residual *s, FaPageJump *most, const FaPageOptions *o,
                        FaError *err) {
    int n = fa_sequence_nframe(track->seq);
    if (fa_sequence_nvert(track->seq) != s->rig->mesh.nvert)
        return FA_FAIL(err, FA_E_ARG, track->name, NULL, "%d vertices, the rig has %d", fa_sequence_nvert(track->seq),
                       s->rig->mesh.nvert);
    FA_TRY(track_weights(track, s, err));
    FaBakeSource source = {s->rig->mesh.nvert, n, read_residual, s};
    FaBakeParams params = {
        .max_error = 1e-3 * (o->bake_error_mm > 0 ? o->bake_error_mm : fa_page_options_default().bake_error_mm),
        .max_targets = 1024,
        .progress = o->progress,
        .progress_user = o->progress_user};
    FaBake *bake;
    FA_TRY(fai_bake(&source, &params, &bake, err));
    fai_jw_open(&p->w, NULL, '{');
    fai_jw_str(&p->w, "name", track->name);
    fai_jw_int(&p->w, "rig", rig_number(p, s->rig));
    if (track->note) fai_jw_str(&p->w, "note", track->note);
    section(p, "weights", "f32", s->weights, (size_t)n * (size_t)s->rig->nshape, sizeof(float));
    if (bake->ntarget) {
        size_t entries = (size_t)bake->first[bake->ntarget];
        fai_jw_open(&p->w, "extra", '{');
        section(p, "first", "u32", bake->first, (size_t)bake->ntarget + 1, sizeof(int));
        section(p, "rows", "u32", bake->row, entries, sizeof(int));
        section(p, "deltas", "f32", bake->delta, 3 * entries, sizeof(float));
        section(p, "weights", "f32", bake->weight, (size_t)n * (size_t)bake->ntarget, sizeof(float));
        fai_jw_close(&p->w);
    }
    fai_bake_free(bake);
    FaCode rc = put_motion(p, s->rig, track, err);
    bool given = o->parts && s->rig == p->rig[0]; // the caller's parts know the tracks' weights by name
    if (rc >= 0 && !given) rc = put_companion_motions(p, s->rig, track, err);
    if (rc >= 0) rc = put_markers(p, track, err);
    put_pull(p, track, o);
    if (track->labels) fai_jw_open(&p->w, "labels", '[');
    for (int f = 0; track->labels && f < n; f++) fai_jw_str(&p->w, NULL, track->labels[f]);
    if (track->labels) fai_jw_close(&p->w);
    if (rc >= 0) rc = put_numbers(p, track, &s->rig->mesh, most, err);
    fai_jw_close(&p->w);
    return rc;
}

static FaCode put_tracks(Page *p, const FaPageTrack *tracks, int ntrack, const FaPageOptions *o, FaError *err) {
    FaCode rc = FA_OK;
    p->most = FA_NEW(ntrack, FaPageJump);
    if (!p->most) return FA_FAIL_MEMORY(err);
    fai_jw_open(&p->w, "tracks", '[');
    for (int i = 0; i < ntrack && rc >= 0; i++) {
        Residual s = {.rig = tracks[i].rig ? tracks[i].rig : p->rig[0], .seq = tracks[i].seq};
        rc = fa_blender_new(s.rig, &s.blender, err);
        s.linear = FA_NEW(3 * (size_t)s.rig->mesh.nvert, float);
        s.weights = FA_NEW((size_t)fa_sequence_nframe(s.seq) * (size_t)s.rig->nshape, float);
        if (rc >= 0)
            rc = s.linear && s.weights ? put_track(p, &tracks[i], &s, &p->most[i], o, err) : FA_FAIL_MEMORY(err);
        fa_free(s.weights);
        fa_free(s.linear);
        fa_blender_free(s.blender);
    }
    fai_jw_close(&p->w);
    return rc;
}

// --- pairs --------------------------------------------------------------------------------------------------------

static void put_jump(Page *p, const char *name, int frame) {
    fai_jw_open(&p->w, NULL, '{');
    fai_jw_str(&p->w, "name", name);
    fai_jw_int(&p->w, "frame", frame);
    fai_jw_close(&p->w);
}

// Where each of a track's numbers is largest; one that is 0 throughout tells nothing.
static void put_peaks(Page *p, const FaPageTrack *track) {
    int n = fa_sequence_nframe(track->seq);
    for (int i = 0; i < track->nnumbers; i++) {
        const double *v = track->numbers[i].value;
        int most = 0;
        for (int f = 1; f < n; f++)
            if (v[f] > v[most]) most = f;
        if (!(v[most] > 0)) continue;
        char name[160];
        snprintf(name, sizeof name, "largest %s: %.2g", track->numbers[i].name, v[most]);
        put_jump(p, name, most);
    }
}

static void put_pair(Page *p, const FaPagePair *pair, const FaPageTrack *tracks) {
    FaJsonWriter *w = &p->w;
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "name", pair->name);
    if (pair->sentence) fai_jw_str(w, "sentence", pair->sentence);
    fai_jw_int(w, "before", pair->before);
    fai_jw_int(w, "after", pair->after);
    fai_jw_str(w, "focus", pair->focus == FA_PAGE_MOUTH ? "mouth" : "head");
    fai_jw_num(w, "exaggerate", pair->exaggerate > 0 ? pair->exaggerate : 1);
    fai_jw_num(w, "speed", pair->speed > 0 ? pair->speed : 1);
    fai_jw_bool(w, "hold_head", pair->hold_head);
    fai_jw_open(w, "jumps", '[');
    for (int i = 0; i < pair->njumps; i++) put_jump(p, pair->jumps[i].name, pair->jumps[i].frame);
    if (!pair->jumps) {
        const FaPageJump *after = &p->most[pair->after], *before = &p->most[pair->before];
        if (before->name && before != after) put_jump(p, "most crossings before", before->frame);
        if (after->name) put_jump(p, "most crossings after", after->frame);
        put_peaks(p, &tracks[pair->after]);
    }
    fai_jw_close(w);
    fai_jw_close(w);
}

static FaCode put_pairs(Page *p, const FaPageTrack *tracks, int ntrack, const FaPageOptions *o, FaError *err) {
    fai_jw_open(&p->w, "pairs", '[');
    for (int i = 0; i < o->npairs; i++) {
        const FaPagePair *pair = &o->pairs[i];
        int b = pair->before, a = pair->after;
        if (b < 0 || a < 0 || b >= ntrack || a >= ntrack)
            return FA_FAIL(err, FA_E_ARG, pair->name, "number them from 0", "tracks %d and %d, but there are %d", b, a,
                           ntrack);
        for (int j = 0; j < pair->njumps; j++)
            if (pair->jumps[j].frame < 0 || pair->jumps[j].frame >= fa_sequence_nframe(tracks[a].seq))
                return FA_FAIL(err, FA_E_ARG, pair->name, "jump to a frame of the pair's after",
                               "there is no frame %d in '%s'", pair->jumps[j].frame, tracks[a].name);
        put_pair(p, pair, tracks);
    }
    for (int i = ntrack > 1; i < ntrack && !o->npairs; i++)
        put_pair(p, &(FaPagePair){.name = tracks[i].name, .after = i}, tracks);
    fai_jw_close(&p->w);
    return FA_OK;
}

// --- the file -----------------------------------------------------------------------------------------------------

#ifdef FA_HAVE_ZLIB
static FaCode gzip(const FaText *in, FaText *out, FaError *err) {
    z_stream z = {0};
    if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return FA_FAIL_MEMORY(err);
    unsigned char chunk[65536];
    size_t at = 0;
    int status = Z_OK;
    while (status == Z_OK) {
        if (!z.avail_in) {
            size_t n = FA_MIN(in->size - at, (size_t)1 << 30);
            z.next_in = (unsigned char *)in->data + at;
            z.avail_in = (unsigned)n;
            at += n;
        }
        z.next_out = chunk;
        z.avail_out = sizeof chunk;
        status = deflate(&z, at == in->size ? Z_FINISH : Z_NO_FLUSH);
        fai_text_bytes(out, chunk, sizeof chunk - z.avail_out);
    }
    deflateEnd(&z);
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}
#else
static FaCode gzip(const FaText *in, FaText *out, FaError *err) {
    (void)in, (void)out;
    return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "install zlib1g-dev and build again", "this build writes no pages");
}
#endif

static void base64(const FaText *in, FaText *out) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)in->data;
    char line[4096];
    size_t used = 0;
    for (size_t i = 0; i < in->size; i += 3) {
        size_t left = in->size - i;
        unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
        line[used++] = digit[v >> 18];
        line[used++] = digit[v >> 12 & 63];
        line[used++] = left > 1 ? digit[v >> 6 & 63] : '=';
        line[used++] = left > 2 ? digit[v & 63] : '=';
        if (used == sizeof line) {
            fai_text_bytes(out, line, used);
            used = 0;
        }
    }
    fai_text_bytes(out, line, used);
}

static FaCode write_page(const char *path, const Page *p, FaError *err) {
    const char *at = memmem(fai_page_template, fai_page_template_size, mark, strlen(mark));
    if (!at)
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "run tools/setup, then build again", "this build holds no viewer");
    FaText block = {0}, zipped = {0}, html = {0};
    uint32_t size = (uint32_t)p->header.size;
    fai_text_bytes(&block, "FASCIAPG", 8);
    fai_text_bytes(&block, &size, 4);
    fai_text_bytes(&block, p->header.data, p->header.size);
    fai_text_bytes(&block, "        ", (8 - block.size % 8) % 8);
    fai_text_bytes(&block, p->sections.data, p->sections.size);
    size_t before = (size_t)((const unsigned char *)at - fai_page_template);
    FaCode rc = block.failed ? FA_FAIL_MEMORY(err) : gzip(&block, &zipped, err);
    if (rc >= 0) {
        fai_text_bytes(&html, fai_page_template, before);
        fai_text_str(&html, "<script id=\"fascia-data\" type=\"text/plain\">");
        base64(&zipped, &html);
        fai_text_str(&html, "</script>");
        fai_text_bytes(&html, at + strlen(mark), fai_page_template_size - before - strlen(mark));
        rc = html.failed ? FA_FAIL_MEMORY(err) : fai_file_write(path, html.data, html.size, err);
    }
    fai_text_free(&block);
    fai_text_free(&zipped);
    fai_text_free(&html);
    return rc;
}

FaCode fa_page_save(const char *path, const FaRig *rig, const FaPageTrack *tracks, int ntrack,
                    const FaPageOptions *options, FaError *err) {
    FaPageOptions none = {0};
    const FaPageOptions *o = options ? options : &none;
    if (ntrack < 1) return FA_FAIL(err, FA_E_ARG, NULL, NULL, "a page needs at least one track");
    Page p = {0};
    p.w.text = &p.header;
    fai_jw_open(&p.w, NULL, '{');
    fai_jw_str(&p.w, "generator", "fascia " FA_VERSION_TEXT);
    fai_jw_str(&p.w, "title", o->title ? o->title : "fascia");
    if (o->facts) fai_jw_str(&p.w, "facts", o->facts);
    put_muscles(&p, o);
    put_sliders(&p, o);
    FaCode rc = put_rigs(&p, rig, tracks, ntrack, o, err);
    if (rc >= 0) rc = put_tracks(&p, tracks, ntrack, o, err);
    if (rc >= 0) rc = put_pairs(&p, tracks, ntrack, o, err);
    fai_jw_close(&p.w);
    if (rc >= 0 && (p.header.failed || p.sections.failed)) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = write_page(path, &p, err);
    fai_text_free(&p.header);
    fai_text_free(&p.sections);
    fa_free(p.rig);
    fa_free(p.most);
    return rc;
}

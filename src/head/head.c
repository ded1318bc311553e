// Putting the head together: mean skin and parts, one person's warp, the charts' tables, the 52 shapes.
#include "fascia/head.h"

#include "head/pose.h"
#include "head/shape_ids.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdlib.h>

FaHeadParams fa_head_params_default(void) { return (FaHeadParams){.level = 1, .shapes = true}; }

static FaCode check_params(const FaHeadParams *p, FaError *err) {
    if (p->level < 0 || p->level > 2)
        return FA_FAIL(err, FA_E_ARG, "level", "choose 0, 1 or 2", "there is no level %d", p->level);
    for (int i = 0; i < FA_HEAD_IDENTITY_COUNT; i++) {
        FaHeadInfo info = fa_head_identity(i);
        if (!(p->identity[i] >= info.min && p->identity[i] <= info.max)) {
            FaPlace remedy = fai_place("stay within %d to %d", (int)info.min, (int)info.max);
            return FA_FAIL(err, FA_E_ARG, info.name, remedy.text, "the identity value is out of range");
        }
    }
    return FA_OK;
}

// --- tables of the model --------------------------------------------------------------------------------------------

typedef struct Knot {
    double x, angle;
} Knot;

static int by_x(const void *a, const void *b) {
    double d = ((const Knot *)a)->x - ((const Knot *)b)->x;
    return (d > 0) - (d < 0);
}

// The edge of a lid of the mean head that meets the other: row 2.5 of the eye chart, the crest between lash line and
// eye.
static void find_edge(const FaiSkin *skin, bool upper, FaiLidEdge *edge) {
    Knot knot[FAI_LID_KNOTS];
    int n = 0;
    for (int v = 0; v < skin->mesh.nvert && n < FAI_LID_KNOTS; v++) {
        const double *c = skin->mesh.val + (size_t)v * CAGE_CHANNELS;
        if (c[CAGE_X] <= 0 || c[CAGE_EYE] < 0.99 || fabs(c[CAGE_EYE_V] - 2.5) > 1e-6) continue;
        if (upper ? c[CAGE_EYE_UP] < -1e-9 : c[CAGE_EYE_UP] > 1e-9) continue;
        knot[n++] = (Knot){c[CAGE_X] - EYE_X, atan2(c[CAGE_Y] - EYE_Y, c[CAGE_Z] - EYE_Z)};
    }
    FA_ASSERT(n >= 2);
    qsort(knot, (size_t)n, sizeof *knot, by_x);
    edge->n = n;
    for (int i = 0; i < n; i++) edge->x[i] = knot[i].x, edge->angle[i] = knot[i].angle;
    // rows beside the crest may reach further: the edge is what meets first
    double over[FAI_LID_KNOTS] = {0}, sign = upper ? 1 : -1;
    for (int v = 0; v < skin->mesh.nvert; v++) {
        const double *c = skin->mesh.val + (size_t)v * CAGE_CHANNELS;
        if (c[CAGE_X] <= 0 || c[CAGE_EYE] < 0.99 || c[CAGE_EYE_V] < 2 || c[CAGE_EYE_V] > 3.1 ||
            sign * c[CAGE_EYE_UP] < 0.05)
            continue;
        double x = (c[CAGE_X] - EYE_X) * 12.3 / (12.3 + 1.9 * fmax(0, 2.5 - c[CAGE_EYE_V])),
               more = sign * (fai_lid_angle(edge, x) - atan2(c[CAGE_Y] - EYE_Y, c[CAGE_Z] - EYE_Z));
        for (int i = 1; i + 1 < n; i++)
            if (x > edge->x[i - 1] && x < edge->x[i + 1]) over[i] = fmax(over[i], more);
    }
    for (int i = 0; i < n; i++) edge->angle[i] -= sign * over[i];
}

typedef struct LipSpot {
    int v, side;
    double row, col;
} LipSpot;

static int by_place(const void *a, const void *b) {
    const LipSpot *p = a, *q = b;
    if (p->side != q->side) return p->side - q->side;
    if (fabs(p->row - q->row) > 1e-6) return p->row < q->row ? -1 : 1;
    if (fabs(p->col - q->col) > 1e-6) return p->col < q->col ? -1 : 1;
    return 0;
}

// Spots of the two lips that face each other: same row, same distance from the corner.
static FaCode find_partners(FaArena *work, FaHeadModel *m, FaError *err) {
    LipSpot *up = FA_PUSH(work, m->nskin, LipSpot);
    if (!up) return FA_FAIL_MEMORY(err);
    int n = 0;
    for (int v = 0; v < m->nskin; v++) {
        const FaiSpot *s = m->spot + v;
        m->partner[v] = -1;
        if (s->mouth < 0.99f || s->mouth_v < 2.4f || s->mouth_v > 5.6f || s->mouth_u > 3.999f) continue;
        up[n++] = (LipSpot){v, s->mean[0] < -1e-9 ? -1 : s->mean[0] > 1e-9 ? 1 : 0, s->mouth_v, s->mouth_u};
    }
    qsort(up, (size_t)n, sizeof *up, by_place);
    for (int v = 0; v < m->nskin; v++) {
        const FaiSpot *s = m->spot + v;
        if (s->mouth < 0.99f || s->mouth_v < 2.4f || s->mouth_v > 5.6f || s->mouth_u < 4.001f) continue;
        LipSpot key = {v, s->mean[0] < -1e-9 ? -1 : s->mean[0] > 1e-9 ? 1 : 0, s->mouth_v, 8 - s->mouth_u};
        const LipSpot *hit = bsearch(&key, up, (size_t)n, sizeof *up, by_place);
        if (hit) m->partner[v] = hit->v, m->partner[hit->v] = v;
    }
    for (int v = 0; v < m->nskin; v++) {
        FaiSpot *s = m->spot + v;
        memcpy(s->pull, s->mean, sizeof s->pull);
        if (m->partner[v] < 0) continue;
        double alike = 0.5 * fai_smooth(2.6, 3.6, s->mouth_v) * fai_smooth(5.6, 5.1, s->mouth_v);
        for (int k = 0; k < 3; k++) s->pull[k] += alike * (m->spot[m->partner[v]].mean[k] - s->mean[k]);
    }
    return FA_OK;
}

static FaCode build_model(FaArena *arena, FaArena *work, const FaHeadParams *params, FaHeadModel *m, FaiSkin *skin,
                          FaError *err) {
    FaiSkin coarse;
    FA_TRY(fai_skin_build(arena, params->level, skin, err));
    FA_TRY(fai_skin_build(work, 0, &coarse, err));
    FA_TRY(fai_parts_build(arena, &coarse, params->level, m->part, err));
    fai_warp_begin(&m->warp, params->identity);
    fai_pose_pulls(m);
    m->nskin = skin->mesh.nvert;
    m->spot = FA_PUSH(arena, m->nskin, FaiSpot);
    m->partner = FA_PUSH(arena, m->nskin, int);
    if (!m->spot || !m->partner) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < m->nskin; v++) {
        const double *c = skin->mesh.val + (size_t)v * CAGE_CHANNELS;
        FaiSpot *s = m->spot + v;
        *s = (FaiSpot){.mouth_u = (float)c[CAGE_MOUTH_U],
                       .mouth_v = (float)c[CAGE_MOUTH_V],
                       .mouth = (float)c[CAGE_MOUTH],
                       .eye_v = (float)c[CAGE_EYE_V],
                       .eye_up = (float)c[CAGE_EYE_UP],
                       .eye = (float)c[CAGE_EYE],
                       .jaw = (float)c[CAGE_JAW]};
        memcpy(s->mean, c, sizeof s->mean);
        double inner = c[CAGE_MOUTH] * fai_smooth(5, 6.2, c[CAGE_MOUTH_V]);
        fai_warp_point(&m->warp, c, false, inner, c[CAGE_EAR], s->rest);
        if (c[CAGE_X] == 0) s->rest[0] = 0;
        s->give = (float)(1 - 0.1 * fmin(3, fmax(-1, fai_warp_fat(&m->warp, c))));
    }
    for (int i = 0; i < FAI_PARTS; i++) {
        const FaiPart *p = m->part + i;
        m->rest[i] = FA_PUSH(arena, (size_t)p->nvert * 3, double);
        if (!m->rest[i]) return FA_FAIL_MEMORY(err);
        bool bone = strcmp(p->region[0], "bone") == 0;
        for (int v = 0; v < p->nvert; v++) {
            if (p->follow == FOLLOW_EYE_L || p->follow == FOLLOW_EYE_R) {
                fai_warp_eye(&m->warp, p->follow == FOLLOW_EYE_L ? 1 : -1, p->x + 3 * v, m->rest[i] + 3 * v);
            } else {
                fai_warp_point(&m->warp, p->x + 3 * v, bone, 1, 0, m->rest[i] + 3 * v);
            }
        }
    }
    find_edge(skin, true, &m->upper);
    find_edge(skin, false, &m->lower);
    return find_partners(work, m, err);
}

// --- plain data for users -------------------------------------------------------------------------------------------

static FaCode part_mesh(FaArena *arena, FaHeadPart *part, int nvert, const double *x, int nface, const int *start,
                        const int *vert, FaError *err) {
    FaMesh *m = &part->mesh;
    m->nvert = nvert, m->nface = nface;
    m->x = FA_PUSH(arena, (size_t)nvert * 3, float);
    m->face_start = FA_PUSH(arena, nface + 1, int);
    m->face_vert = FA_PUSH(arena, start[nface], int);
    if (!m->x || !m->face_start || !m->face_vert) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < 3 * nvert; i++) m->x[i] = (float)(1e-3 * x[i]);
    memcpy(m->face_start, start, ((size_t)nface + 1) * sizeof *start);
    memcpy(m->face_vert, vert, (size_t)start[nface] * sizeof *vert);
    return fai_mesh_triangulate(m, arena, NULL, err);
}

static FaCode skin_part(FaArena *arena, FaArena *work, const FaHeadModel *m, const FaiSkin *skin, FaHeadPart *part,
                        FaError *err) {
    const FaiQuads *q = &skin->mesh;
    double *x = FA_PUSH(work, (size_t)q->nvert * 3, double);
    part->name = "skin", part->region[0] = "skin", part->region[1] = "lip", part->region[2] = "gum", part->nregion = 3;
    part->face_region = FA_PUSH(arena, q->nface, int);
    part->mirror = FA_PUSH(arena, q->nvert, int);
    if (!x || !part->face_region || !part->mirror) return FA_FAIL_MEMORY(err);
    memcpy(part->mirror, q->mirror, (size_t)q->nvert * sizeof(int));
    for (int v = 0; v < q->nvert; v++) memcpy(x + 3 * v, m->spot[v].rest, sizeof m->spot[v].rest);
    for (int f = 0; f < q->nface; f++) {
        double row = 0, in = 0;
        for (int k = 0; k < 4; k++) {
            const FaiSpot *s = m->spot + q->face_vert[4 * f + k];
            row += 0.25 * s->mouth_v, in += 0.25 * s->mouth;
        }
        part->face_region[f] = in < 0.9 || row < 2 ? 0 : row < 4.9 ? 1 : 2;
    }
    return part_mesh(arena, part, q->nvert, x, q->nface, q->face_start, q->face_vert, err);
}

// Keep what moves: a tenth of a micrometre is nothing.
static FaCode keep_shape(FaArena *arena, int arkit, int n, const double *rest, size_t stride, const double *x,
                         FaHeadShape *out, FaError *err) {
    int count = 0;
    for (int v = 0; v < n; v++) {
        const double *r = rest + stride * (size_t)v;
        count += fabs(x[3 * v] - r[0]) > 1e-4 || fabs(x[3 * v + 1] - r[1]) > 1e-4 || fabs(x[3 * v + 2] - r[2]) > 1e-4;
    }
    *out = (FaHeadShape){.name = fa_arkit_name(arkit), .arkit = arkit};
    out->row = FA_PUSH(arena, count, int);
    out->delta = FA_PUSH(arena, (size_t)count * 3, float);
    if (!out->row || !out->delta) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < n; v++) {
        const double *r = rest + stride * (size_t)v;
        double d[3] = {x[3 * v] - r[0], x[3 * v + 1] - r[1], x[3 * v + 2] - r[2]};
        if (!(fabs(d[0]) > 1e-4 || fabs(d[1]) > 1e-4 || fabs(d[2]) > 1e-4)) continue;
        for (int k = 0; k < 3; k++) out->delta[3 * out->count + k] = (float)(1e-3 * d[k]);
        out->row[out->count++] = v;
    }
    return FA_OK;
}

static FaCode make_shapes(FaHead *head, FaArena *work, FaError *err) {
    const FaHeadModel *m = head->model;
    int most = m->nskin;
    for (int i = 0; i < FAI_PARTS; i++) most = FA_MAX(most, m->part[i].nvert);
    double *x = FA_PUSH(work, (size_t)most * 3, double);
    if (!x) return FA_FAIL_MEMORY(err);
    for (int p = 0; p < head->npart; p++) {
        FaHeadPart *part = head->part + p;
        part->shape = FA_PUSH(head->arena, FA_ARKIT_COUNT, FaHeadShape);
        if (!part->shape) return FA_FAIL_MEMORY(err);
        for (int s = 0; s < FA_ARKIT_COUNT; s++) {
            if (p == 0 ? s == tongueOut : !fai_pose_moves(s, m->part[p - 1].follow)) continue;
            float w[FA_ARKIT_COUNT] = {0};
            w[s] = 1;
            if (p == 0)
                fai_pose_skin(m, w, x);
            else
                fai_pose_part(m, p - 1, w, x);
            const double *rest = p == 0 ? m->spot[0].rest : m->rest[p - 1];
            size_t stride = p == 0 ? sizeof(FaiSpot) / sizeof(double) : 3;
            FA_TRY(keep_shape(head->arena, s, part->mesh.nvert, rest, stride, x, &part->shape[part->nshape++], err));
        }
    }
    return FA_OK;
}
_Static_assert(sizeof(FaiSpot) % sizeof(double) == 0, "spots are walked in steps of double");

static FaCode assemble(FaHead *head, FaArena *work, FaError *err) {
    FaArena *arena = head->arena;
    FaHeadModel *m = head->model = FA_PUSH(arena, 1, FaHeadModel);
    head->npart = 1 + FAI_PARTS;
    head->part = FA_PUSH(arena, head->npart, FaHeadPart);
    if (!m || !head->part) return FA_FAIL_MEMORY(err);
    FaiSkin skin;
    FA_TRY(build_model(arena, work, &head->params, m, &skin, err));
    FA_TRY(skin_part(arena, work, m, &skin, &head->part[0], err));
    for (int i = 0; i < FAI_PARTS; i++) {
        const FaiPart *p = m->part + i;
        FaHeadPart *to = &head->part[1 + i];
        to->name = p->name, to->face_region = p->face_region, to->nregion = p->nregion;
        memcpy(to->region, p->region, sizeof to->region);
        FA_TRY(part_mesh(arena, to, p->nvert, m->rest[i], p->nface, p->face_start, p->face_vert, err));
    }
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < 3; k++) head->eye[side][k] = 1e-3 * (k == 0 && side ? -1 : 1) * m->warp.eye[k];
    head->eye_radius = 1e-3 * EYE_R * m->warp.eye_scale;
    head->condyle = 1e-3 * m->warp.joint;
    return head->params.shapes ? make_shapes(head, work, err) : FA_OK;
}

FaCode fa_head_new(const FaHeadParams *params, FaHead **out, FaError *err) {
    *out = NULL;
    FA_TRY(check_params(params, err));
    FaArena *arena = fai_arena_new(0), *work = fai_arena_new(0);
    FaHead *head = arena ? FA_PUSH(arena, 1, FaHead) : NULL;
    FaCode rc = FA_OK;
    if (!head || !work) {
        rc = FA_FAIL_MEMORY(err);
    } else {
        *head = (FaHead){.params = *params, .arena = arena};
        rc = assemble(head, work, err);
    }
    fai_arena_free(work);
    if (rc < 0)
        fai_arena_free(arena);
    else
        *out = head;
    return rc;
}

void fa_head_free(FaHead *head) {
    if (head) fai_arena_free(head->arena);
}

FaCode fa_head_truth(const FaHead *head, int part, const float weights[FA_ARKIT_COUNT], float *x, FaError *err) {
    FA_ASSERT(part >= 0 && part < head->npart);
    const FaHeadModel *m = head->model;
    int n = head->part[part].mesh.nvert;
    double *y = FA_NEW(3 * (size_t)n, double);
    if (!y) return FA_FAIL_MEMORY(err);
    if (part == 0)
        fai_pose_skin(m, weights, y);
    else
        fai_pose_part(m, part - 1, weights, y);
    for (int i = 0; i < 3 * n; i++) x[i] = (float)(1e-3 * y[i]);
    fa_free(y);
    return FA_OK;
}

void fa_head_jaw(const FaHead *head, const float weights[FA_ARKIT_COUNT], double rotation[9], double translation[3]) {
    const FaHeadModel *m = head->model;
    fai_pose_jaw(&m->warp, weights, 1, rotation, translation);
    for (int k = 0; k < 3; k++) translation[k] *= 1e-3;
}

#include "track/markers_face.h"

#include "base/task.h"
#include "math/mat3.h"
#include "mesh/closest.h"
#include "mesh/mesh.h"
#include "track/markers_align.h"

#include <math.h>

enum { RAYS = 32 };
static const double OPEN = 0.55;   // share of the half space that must be free
static const float NEAR = 2e-4f;   // m: where rays start
static const float FAR = 0.3f;     // m: what is further away covers nothing
static const double MOVING = 0.04; // of the largest displacement: what moves less is not the face
static const double BEHIND = 0.2;  // share of the moving skin that must be outside, else something covers the face

// --- which shapes move which vertex -------------------------------------------------------------------------------

static FaCode transpose(const FaRig *rig, FaMarkerFace *face, FaError *err) {
    int n = rig->mesh.nvert;
    int *start = face->shape_start = FA_PUSH(face->arena, n + 1, int);
    face->shape = FA_PUSH(face->arena, FA_MAX(rig->nentry, 1), int);
    face->delta = FA_PUSH(face->arena, 3 * FA_MAX((size_t)rig->nentry, 1), float);
    face->move = FA_PUSH(face->arena, n, float);
    if (!start || !face->shape || !face->delta || !face->move) return FA_FAIL_MEMORY(err);
    for (int e = 0; e < rig->nentry; e++) start[rig->row[e] + 1]++;
    for (int v = 0; v < n; v++) start[v + 1] += start[v];
    // filled in the order of the shapes; start[v] runs ahead to start[v + 1] and is shifted back afterwards
    for (int s = 0; s < rig->nshape; s++)
        for (int e = rig->shape[s].first; e < rig->shape[s].first + rig->shape[s].count; e++) {
            int to = start[rig->row[e]]++;
            const float *d = rig->delta + 3 * (size_t)e;
            face->shape[to] = s;
            memcpy(face->delta + 3 * (size_t)to, d, 3 * sizeof *d);
            float size = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            face->move[rig->row[e]] = fmaxf(face->move[rig->row[e]], size);
        }
    for (int v = n; v > 0; v--) start[v] = start[v - 1];
    start[0] = 0;
    return FA_OK;
}

double fai_marker_apart2(const FaRig *rig, const FaMarkerFace *face, int a, int b) {
    const double SHEETS = 3;
    double base[3], most = 0;
    for (int k = 0; k < 3; k++)
        base[k] = (double)rig->mesh.x[3 * (size_t)a + k] - (double)rig->mesh.x[3 * (size_t)b + k];
    double rest = fai_v3_dot(base, base);
    int i = face->shape_start[a], iend = face->shape_start[a + 1], j = face->shape_start[b],
        jend = face->shape_start[b + 1];
    while (i < iend || j < jend) {
        int si = i < iend ? face->shape[i] : INT32_MAX, sj = j < jend ? face->shape[j] : INT32_MAX;
        double d[3] = {base[0], base[1], base[2]};
        if (si <= sj) {
            for (int k = 0; k < 3; k++) d[k] += (double)face->delta[3 * (size_t)i + k];
            i++;
        }
        if (sj <= si) {
            for (int k = 0; k < 3; k++) d[k] -= (double)face->delta[3 * (size_t)j + k];
            j++;
        }
        most = fmax(most, fai_v3_dot(d, d));
    }
    return most > SHEETS * SHEETS * rest ? most : rest;
}

// --- where the face is --------------------------------------------------------------------------------------------

bool fai_face_place(const FaRig *rig, const float *move, double centre[3], double *radius) {
    const FaMesh *mesh = &rig->mesh;
    float most = 0;
    double sum = 0, square = 0;
    for (int v = 0; v < mesh->nvert; v++) most = fmaxf(most, move[v]);
    fai_v3_set(centre, 0, 0, 0);
    *radius = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < mesh->ntri; t++) {
            const int *v = mesh->tri + 3 * (size_t)t;
            double p[3][3], middle[3], a[3], b[3], n[3];
            double moved = ((double)move[v[0]] + (double)move[v[1]] + (double)move[v[2]]) / 3;
            if (!(moved > MOVING * (double)most)) continue; // rounding of an exporter is all over a body
            for (int k = 0; k < 3; k++) fai_v3_load(mesh->x, v[k], p[k]);
            for (int k = 0; k < 3; k++) middle[k] = (p[0][k] + p[1][k] + p[2][k]) / 3;
            fai_v3_sub(p[1], p[0], a);
            fai_v3_sub(p[2], p[0], b);
            fai_v3_cross(a, b, n);
            double weight = fai_v3_norm(n) * moved;
            if (pass == 0) {
                sum += weight;
                fai_v3_mad(centre, weight, middle, centre);
            } else {
                fai_v3_sub(middle, centre, middle);
                square += weight * fai_v3_dot(middle, middle);
            }
        }
        if (!(sum > 0)) return false;
        if (pass == 0) fai_v3_scale(1 / sum, centre, centre);
    }
    *radius = 2 * sqrt(square / sum);
    return true;
}

// --- what is outside ----------------------------------------------------------------------------------------------

typedef struct Sky {
    const FaClosest *closest;
    const float *x, *normal;
    unsigned char *open;
    double ray[RAYS][3]; // over the half space z > 0, evenly
} Sky;

static void look(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    const Sky *s = ctx;
    for (int v = begin; v < end; v++) {
        if (!s->open[v]) continue;
        double n[3], side[3], up[3];
        fai_v3_load(s->normal, v, n);
        if (!fai_v3_normalize(n)) {
            s->open[v] = 0;
            continue;
        }
        int axis = fabs(n[0]) < 0.6 ? 0 : 1;
        fai_v3_set(side, axis == 0, axis == 1, 0);
        fai_v3_cross(n, side, up);
        fai_v3_normalize(up);
        fai_v3_cross(up, n, side);
        int free = 0;
        for (int r = 0; r < RAYS; r++) {
            float origin[3], dir[3];
            for (int k = 0; k < 3; k++) {
                dir[k] = (float)(s->ray[r][0] * side[k] + s->ray[r][1] * up[k] + s->ray[r][2] * n[k]);
                origin[k] = (float)((double)s->x[3 * (size_t)v + k] + (double)NEAR * n[k]);
            }
            free += fai_closest_ray(s->closest, origin, dir, NEAR, FAR).tri < 0;
        }
        s->open[v] = free >= OPEN * RAYS;
    }
}

static void make_rays(Sky *s) {
    const double turn = 2.399963229728653; // the golden angle
    for (int r = 0; r < RAYS; r++) {
        double z = 0.08 + 0.92 * (r + 0.5) / RAYS, h = sqrt(1 - z * z);
        fai_v3_set(s->ray[r], h * cos(turn * r), h * sin(turn * r), z);
    }
}

// The part that the shapes move most; without shapes the one with most vertices.
static int main_part(const FaRig *rig, const FaMarkerFace *face, const FaTopology *topo, double *sum) {
    for (int v = 0; v < rig->mesh.nvert; v++) {
        int p = topo->part[fai_weld(&rig->mesh, v)];
        if (p >= 0) sum[p] += rig->nentry ? (double)face->move[v] : 1;
    }
    int best = -1;
    for (int p = 0; p < topo->nparts; p++)
        if (best < 0 || sum[p] > sum[best]) best = p;
    return best;
}

// Where markers could be if nothing covered the skin.
static void candidates(const FaRig *rig, FaMarkerFace *face, const FaTopology *topo, int part) {
    const FaMesh *mesh = &rig->mesh;
    for (int v = 0; v < mesh->nvert; v++)
        face->open[v] = fai_weld(mesh, v) == v && topo->part[v] >= 0 && topo->part[v] == part &&
                        fai_on_head(face->centre, face->radius, mesh->x + 3 * (size_t)v);
    for (int e = 0; e < topo->nedge; e++)
        if (topo->edge_tris[e] == 1) face->open[topo->edge[e][0]] = face->open[topo->edge[e][1]] = 0;
}

static int moving(const FaRig *rig, const FaMarkerFace *face) {
    float most = 0;
    int n = 0;
    for (int v = 0; v < rig->mesh.nvert; v++) most = fmaxf(most, face->move[v]);
    for (int v = 0; v < rig->mesh.nvert; v++) n += face->open[v] && (double)face->move[v] > MOVING * (double)most;
    return n;
}

static void look_at_sky(const FaRig *rig, FaMarkerFace *face, const FaClosest *cover) {
    Sky sky = {.closest = cover, .x = rig->mesh.x, .normal = face->normal, .open = face->open};
    make_rays(&sky);
    fai_parallel(rig->mesh.nvert, 256, look, &sky);
}

// The skin alone, as what covers itself: a visor or a mask before it does not count.
static FaCode skin_only(const FaMesh *mesh, const FaTopology *topo, int part, FaClosest **cover, FaError *err) {
    int *tri = FA_NEW(FA_MAX(mesh->ntri, 1), int), n = 0;
    if (!tri) return FA_FAIL_MEMORY(err);
    for (int t = 0; t < mesh->ntri; t++)
        if (topo->part[fai_weld(mesh, mesh->tri[3 * (size_t)t])] == part) tri[n++] = t;
    FaCode rc = fai_closest_of(mesh, tri, n, cover, err);
    fa_free(tri);
    return rc;
}

static FaCode find_open(const FaRig *rig, FaMarkerFace *face, FaError *err) {
    const FaMesh *mesh = &rig->mesh;
    FaTopology topo;
    FA_TRY(fai_topology_build(mesh, &topo, err));
    double *sum = FA_NEW(FA_MAX(topo.nparts, 1), double);
    FaClosest *all = NULL, *skin = NULL;
    FaCode rc = sum ? fai_closest_new(mesh, NULL, &all, err) : FA_FAIL_MEMORY(err);
    int part = rc >= 0 ? main_part(rig, face, &topo, sum) : -1;
    if (rc >= 0) {
        fai_mesh_normals(mesh, mesh->x, face->normal);
        candidates(rig, face, &topo, part);
        int could = moving(rig, face);
        look_at_sky(rig, face, all);
        if (moving(rig, face) < BEHIND * could) {
            rc = skin_only(mesh, &topo, part, &skin, err);
            candidates(rig, face, &topo, part);
            if (rc >= 0) look_at_sky(rig, face, skin);
        }
    }
    fai_closest_free(skin);
    fai_closest_free(all);
    fa_free(sum);
    fai_topology_free(&topo);
    return rc;
}

FaCode fai_marker_face(const FaRig *rig, FaMarkerFace *face, FaError *err) {
    const FaMesh *mesh = &rig->mesh;
    *face = (FaMarkerFace){.arena = fai_arena_new(0)};
    if (!face->arena) return FA_FAIL_MEMORY(err);
    FaCode rc = transpose(rig, face, err);
    if (rc >= 0) {
        face->open = FA_PUSH(face->arena, mesh->nvert, unsigned char);
        face->tri = FA_PUSH(face->arena, FA_MAX(mesh->ntri, 1), int);
        face->normal = FA_PUSH(face->arena, 3 * (size_t)mesh->nvert, float);
        fai_face_place(rig, face->move, face->centre, &face->radius);
        rc = face->open && face->tri && face->normal ? find_open(rig, face, err) : FA_FAIL_MEMORY(err);
    }
    if (rc < 0) {
        fai_marker_face_free(face);
        return rc;
    }
    for (int t = 0; t < mesh->ntri; t++) {
        bool open = true;
        for (int k = 0; k < 3; k++) open &= face->open[fai_weld(mesh, mesh->tri[3 * t + k])];
        if (open) face->tri[face->ntri++] = t;
    }
    for (int v = 0; v < mesh->nvert; v++)
        if (face->open[v]) face->most = fmaxf(face->most, face->move[v]);
    return FA_OK;
}

void fai_marker_face_free(FaMarkerFace *face) {
    fai_arena_free(face->arena);
    *face = (FaMarkerFace){0};
}

// --- points -------------------------------------------------------------------------------------------------------

int *fai_first_triangles(const FaMesh *mesh) {
    int *first = FA_NEW(mesh->nvert, int);
    for (int v = 0; first && v < mesh->nvert; v++) first[v] = -1;
    for (int i = 3 * mesh->ntri - 1; first && i >= 0; i--) first[mesh->tri[i]] = i / 3;
    return first;
}

FaMarkerPoint fai_marker_vertex(const FaMesh *mesh, const int *first_tri, int v) {
    int t = first_tri[v];
    FaMarkerPoint p = {.tri = t, .vert = {v, v, v}, .bary = {1, 0, 0}};
    for (int k = 0; t >= 0 && k < 3; k++)
        if (mesh->tri[3 * t + k] == v) {
            for (int j = 0; j < 3; j++) p.vert[j] = mesh->tri[3 * t + (k + j) % 3];
            break;
        }
    return p;
}

void fa_marker_point_at(const FaMarkerPoint *point, const float *x, bool offset, double out[3]) {
    double a[3], b[3], c[3];
    fai_v3_load(x, point->vert[0], a);
    fai_v3_load(x, point->vert[1], b);
    fai_v3_load(x, point->vert[2], c);
    for (int k = 0; k < 3; k++)
        out[k] = (double)point->bary[0] * a[k] + (double)point->bary[1] * b[k] + (double)point->bary[2] * c[k];
    const float *o = point->offset;
    if (!offset || (o[0] == 0 && o[1] == 0 && o[2] == 0)) return;
    double t[3], n[3], across[3];
    fai_v3_sub(b, a, t);
    fai_v3_sub(c, a, c);
    fai_v3_cross(t, c, n);
    if (point->tri < 0 || !fai_v3_normalize(t) || !fai_v3_normalize(n)) { // no frame: the mesh's
        for (int k = 0; k < 3; k++) out[k] += (double)o[k];
        return;
    }
    fai_v3_cross(n, t, across);
    for (int k = 0; k < 3; k++) out[k] += (double)o[0] * t[k] + (double)o[1] * across[k] + (double)o[2] * n[k];
}

FaCode fai_marker_map_new(int count, const char *const *name, FaMarkerMap **map, FaError *err) {
    *map = NULL;
    FaMarkerMap *m = FA_NEW(1, FaMarkerMap);
    if (!m) return FA_FAIL_MEMORY(err);
    size_t bytes = (size_t)count * sizeof *name;
    for (int i = 0; i < count; i++) bytes += strlen(name[i]) + 1;
    m->count = count;
    m->frame = -1;
    m->rig_from_take = fai_pose_identity();
    m->name = fai_alloc_array(bytes, 1);
    m->point = FA_NEW(count, FaMarkerPoint);
    m->distance = FA_NEW(count, float);
    if (!m->name || !m->point || !m->distance) {
        fa_marker_map_free(m);
        return FA_FAIL_MEMORY(err);
    }
    char *to = (char *)(m->name + count);
    for (int i = 0; i < count; i++) {
        size_t size = strlen(name[i]) + 1;
        m->name[i] = memcpy(to, name[i], size);
        to += size;
        m->point[i] = (FaMarkerPoint){.tri = -1, .vert = {-1, -1, -1}};
    }
    *map = m;
    return FA_OK;
}

void fa_marker_map_free(FaMarkerMap *map) {
    if (!map) return;
    fa_free(map->name);
    fa_free(map->point);
    fa_free(map->distance);
    fai_notes_free(&map->notes);
    fa_free(map);
}

// Traits of the mesh itself: fewer vertices, other proportions, other parts in it, hair.
#include "head/shape_ids.h"
#include "head/skin.h"
#include "head/zoo.h"
#include "math/mat3.h"
#include "mesh/decimate.h"
#include "mesh/mesh.h"

#include <math.h>

// --- fewer vertices -----------------------------------------------------------------------------------------------

// What must survive beside the surface: how jaw, lips and lids move.
static FaCode motion(FaZoo *zoo, FaZooMesh *m, int nattr, const int *arkit, float **attr, FaError *err) {
    *attr = FA_PUSH(zoo->arena, 3 * (size_t)nattr * (size_t)m->nvert, float);
    if (!*attr) return FA_FAIL_MEMORY(err);
    for (int a = 0; a < nattr; a++) {
        const FaZooShape *s = fai_zoo_driven(m, arkit[a]);
        for (int v = 0; s && v < m->nvert; v++)
            memcpy(*attr + 3 * ((size_t)v * (size_t)nattr + (size_t)a), s->delta + 3 * (size_t)v, 3 * sizeof **attr);
    }
    return FA_OK;
}

FaCode fai_zoo_low(FaZoo *zoo, int vertices, FaError *err) {
    static const int kept[] = {jawOpen, mouthFunnel, eyeBlinkLeft, eyeBlinkRight};
    FaZooMesh *m = &zoo->mesh[0];
    FaMesh mesh;
    float *attr;
    FA_TRY(fai_zoo_triangles(zoo, m, &mesh, err));
    FA_TRY(motion(zoo, m, FA_COUNT(kept), kept, &attr, err));
    int *home = FA_PUSH(zoo->arena, mesh.nvert, int), *tri = FA_PUSH(zoo->arena, 3 * (size_t)mesh.ntri, int);
    int *start = FA_PUSH(zoo->arena, mesh.ntri + 1, int), *region = FA_PUSH(zoo->arena, mesh.ntri, int);
    bool *all = FA_PUSH(zoo->arena, mesh.ntri, bool);
    if (!home || !tri || !start || !region || !all) return FA_FAIL_MEMORY(err);
    FaDecimateInput in = {.nvert = mesh.nvert,
                          .ntri = mesh.ntri,
                          .x = mesh.x,
                          .tri = mesh.tri,
                          .nattr = 3 * FA_COUNT(kept),
                          .attr = attr,
                          .target = vertices};
    int ntri, left;
    FA_TRY(fai_decimate(&in, home, tri, &ntri, &left, err));
    for (int t = 0; t < ntri; t++) all[t] = true, start[t + 1] = 3 * (t + 1);
    m->nface = ntri, m->face_start = start, m->face_vert = tri, m->face_region = region;
    return fai_zoo_keep_faces(zoo, m, all, err);
}

// --- proportions --------------------------------------------------------------------------------------------------

// Space around the eyes grows to twice its size, smooth and one to one. It is where a point is that counts, so that
// lids still meet on the eye.
static void grow_eyes(const FaHead *head, const float *from, float *to) {
    double p[3], moved[3];
    fai_v3_load(from, 0, p);
    memcpy(moved, p, sizeof p);
    for (int e = 0; e < 2; e++) {
        double d[3];
        fai_v3_sub(p, head->eye[e], d);
        double far = fai_v3_norm(d) / (2.4 * head->eye_radius);
        fai_v3_mad(moved, exp(-far * far), d, moved);
    }
    for (int k = 0; k < 3; k++) to[k] = (float)moved[k];
}

// How far forward the muzzle goes, m. It is where a point rests that counts, so that the jaw keeps its snout.
static float snout(const float *rest) {
    double x = (double)rest[0] / 0.030, y = ((double)rest[1] - 1e-3 * fai_seam_y(0) - 0.006) / 0.038;
    return (float)(0.045 * exp(-x * x - y * y) * fai_smooth(0.02, 0.075, (double)rest[2]));
}

void fai_zoo_stylise(FaZoo *zoo) {
    for (int i = 0; i < zoo->nmesh; i++) {
        FaZooMesh *m = &zoo->mesh[i];
        for (int v = 0; v < m->nvert; v++) {
            float *x = m->x + 3 * (size_t)v, rest[3];
            grow_eyes(zoo->head, x, rest);
            for (int s = 0; s < m->nshape; s++) {
                float *d = m->shape[s].delta + 3 * (size_t)v, pose[3] = {x[0] + d[0], x[1] + d[1], x[2] + d[2]};
                bool still = d[0] == 0 && d[1] == 0 && d[2] == 0;
                grow_eyes(zoo->head, pose, pose);
                for (int k = 0; k < 3 && !still; k++) d[k] = pose[k] - rest[k];
            }
            rest[2] += snout(x);
            memcpy(x, rest, sizeof rest);
        }
    }
}

// --- parts --------------------------------------------------------------------------------------------------------

FaCode fai_zoo_one_mesh(FaZoo *zoo, bool teeth_in_skin, FaError *err) {
    FaZooMesh *skin = &zoo->mesh[0];
    while (zoo->nmesh > 1) {
        FaZooMesh *part = &zoo->mesh[1];
        bool teeth = !strncmp(part->name, "teeth", 5) || !strncmp(part->name, "gum", 3);
        for (int v = 0; v < part->nvert && teeth && teeth_in_skin; v++) part->x[3 * v + 2] += 0.007f;
        FA_TRY(fai_zoo_join(zoo, skin, part, err));
        fai_zoo_remove_mesh(zoo, 1);
    }
    return FA_OK;
}

FaCode fai_zoo_seam(FaZoo *zoo, FaError *err) {
    FaZooMesh *m = &zoo->mesh[0];
    int nvert = m->nvert, n = 0, start = 0;
    int *copy = FA_PUSH(zoo->arena, nvert, int), *from = FA_PUSH(zoo->arena, nvert, int);
    float *x = FA_PUSH(zoo->arena, 3 * (size_t)nvert, float);
    if (!copy || !from || !x) return FA_FAIL_MEMORY(err);
    for (int v = 0; v < nvert; v++) {
        copy[v] = -1;
        if (m->x[3 * v] != 0) continue;
        memcpy(x + 3 * (size_t)n, m->x + 3 * (size_t)v, 3 * sizeof *x);
        from[n] = v;
        copy[v] = n++;
    }
    FA_TRY(fai_zoo_append(zoo, m, &(FaZooExtra){n, 0, x, from, &start, NULL, m->region[0]}, err));
    for (int f = 0; f < m->nface; f++) {
        float side = 0;
        for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++) side += m->x[3 * m->face_vert[c]];
        for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++) {
            int v = m->face_vert[c];
            if (side < 0 && v < nvert && copy[v] >= 0) m->face_vert[c] = nvert + copy[v];
        }
    }
    return FA_OK;
}

// --- hair ---------------------------------------------------------------------------------------------------------

static FaCode normals(FaZoo *zoo, FaZooMesh *m, float **normal, FaError *err) {
    FaMesh mesh;
    FA_TRY(fai_zoo_triangles(zoo, m, &mesh, err));
    *normal = FA_PUSH(zoo->arena, 3 * (size_t)m->nvert, float);
    if (!*normal) return FA_FAIL_MEMORY(err);
    fai_mesh_normals(&mesh, m->x, *normal);
    return FA_OK;
}

static bool on_scalp(const FaZooMesh *m, int v) {
    const float *x = m->x + 3 * (size_t)v;
    return m->spot[v] >= 0 && x[1] > 0.072f - 0.35f * FA_MAX(-x[2], 0.0f) && fabsf(x[0]) < 0.085f;
}

// One strand: a strip of two quads that hangs from a root, as a front side and a back side on the same places.
enum { STRAND = 6, STRANDS = 40 };

static void strand(const float *root, const float *normal, float *x) {
    float side[3] = {normal[2], 0, -normal[0]}, length = sqrtf(side[0] * side[0] + side[2] * side[2]);
    for (int k = 0; k < 3; k++) side[k] *= 0.005f / FA_MAX(length, 1e-6f);
    for (int row = 0; row < 3; row++)
        for (int edge = 0; edge < 2; edge++)
            for (int k = 0; k < 3; k++) {
                float out = (0.003f + 0.004f * (float)row) * normal[k], down = k == 1 ? -0.014f * (float)row : 0;
                x[3 * (2 * row + edge) + k] = root[k] + out + down + (edge ? side[k] : -side[k]);
            }
    memcpy(x + 3 * STRAND, x, 3 * STRAND * sizeof *x);
}

FaCode fai_zoo_cards(FaZoo *zoo, FaError *err) {
    static const int quad[2][4] = {{0, 1, 3, 2}, {2, 3, 5, 4}};
    FaZooMesh *m = &zoo->mesh[0];
    float x[3 * 2 * STRAND * STRANDS], *normal;
    int from[2 * STRAND * STRANDS], vert[16 * STRANDS], start[4 * STRANDS + 1] = {0}, n = 0;
    FA_TRY(normals(zoo, m, &normal, err));
    for (int v = 0; v < m->nvert && n < STRANDS; v++) { // every third place of the hairline
        float high = m->x[3 * v + 1];
        if (!on_scalp(m, v) || high > 0.095f || v % 3) continue;
        strand(m->x + 3 * (size_t)v, normal + 3 * (size_t)v, x + (size_t)n * 6 * STRAND);
        for (int i = 0; i < 2 * STRAND; i++) from[2 * STRAND * n + i] = v;
        for (int f = 0; f < 4; f++) {
            for (int c = 0; c < 4; c++) // the back side turns the other way
                vert[16 * n + 4 * f + c] = 2 * STRAND * n + (f < 2 ? quad[f][c] : STRAND + quad[f - 2][3 - c]);
            start[4 * n + f + 1] = 16 * n + 4 * (f + 1);
        }
        n++;
    }
    return fai_zoo_append(zoo, m, &(FaZooExtra){2 * STRAND * n, 4 * n, x, from, start, vert, "bone"}, err);
}

FaCode fai_zoo_hair_cap(FaZoo *zoo, FaError *err) {
    FaZooMesh *m = &zoo->mesh[0];
    int room = m->nvert, corners = m->face_start[m->nface], nv = 0, nf = 0, nc = 0;
    float *normal, *x = FA_PUSH(zoo->arena, 6 * (size_t)room, float);
    int *number = FA_PUSH(zoo->arena, room, int), *from = FA_PUSH(zoo->arena, 2 * (size_t)room, int);
    int *start = FA_PUSH(zoo->arena, 2 * (size_t)m->nface + 1, int);
    int *vert = FA_PUSH(zoo->arena, corners + 3 * (size_t)m->nface, int);
    if (!x || !number || !from || !start || !vert) return FA_FAIL_MEMORY(err);
    FA_TRY(normals(zoo, m, &normal, err));
    for (int f = 0; f < m->nface; f++) {
        bool inside = true;
        for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++) inside &= on_scalp(m, m->face_vert[c]);
        if (!inside) continue;
        int first = nc;
        for (int c = m->face_start[f]; c < m->face_start[f + 1]; c++) {
            int v = m->face_vert[c];
            if (!number[v]) { // a shell 4 mm off the scalp
                for (int k = 0; k < 3; k++) x[3 * nv + k] = m->x[3 * v + k] + 0.004f * normal[3 * v + k];
                from[nv++] = v;
                number[v] = nv;
            }
            vert[nc++] = number[v] - 1;
        }
        start[++nf] = nc;
        if (nf % 5) continue;
        // a fin on the face's first edge
        int a = vert[first], b = vert[first + 1], v = from[a];
        for (int k = 0; k < 3; k++) x[3 * nv + k] = 0.5f * (x[3 * a + k] + x[3 * b + k]) + 0.012f * normal[3 * v + k];
        from[nv] = v;
        vert[nc++] = a, vert[nc++] = b, vert[nc++] = nv++;
        start[++nf] = nc;
    }
    return fai_zoo_append(zoo, m, &(FaZooExtra){nv, nf, x, from, start, vert, "bone"}, err);
}

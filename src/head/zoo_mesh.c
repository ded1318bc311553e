// Editing an animal's meshes.
#include "head/zoo.h"
#include "mesh/mesh.h"

static void *copy(FaZoo *zoo, const void *from, size_t count, size_t size) {
    void *to = fai_arena_push(zoo->arena, FA_MAX(count, (size_t)1), size);
    if (to && count) memcpy(to, from, count * size);
    return to;
}
#define COPY(zoo, from, count, T) ((T *)copy((zoo), (from), (size_t)(count), sizeof(T)))

FaCode fai_zoo_add_part(FaZoo *zoo, const FaHead *head, int part, int which, FaError *err) {
    const FaHeadPart *p = &head->part[part];
    const FaMesh *from = &p->mesh;
    FA_ASSERT(zoo->nmesh < FAI_ZOO_MESHES);
    FaZooMesh *m = &zoo->mesh[zoo->nmesh++];
    *m = (FaZooMesh){.name = p->name, .nvert = from->nvert, .nface = from->nface, .head = which};
    m->x = COPY(zoo, from->x, 3 * (size_t)m->nvert, float);
    m->face_start = COPY(zoo, from->face_start, m->nface + 1, int);
    m->face_vert = COPY(zoo, from->face_vert, from->face_start[m->nface], int);
    m->face_region = COPY(zoo, p->face_region, m->nface, int);
    m->spot = FA_PUSH(zoo->arena, m->nvert, int);
    m->shape = FA_PUSH(zoo->arena, FA_MAX(p->nshape, 1), FaZooShape);
    if (!m->x || !m->face_start || !m->face_vert || !m->face_region || !m->spot || !m->shape)
        return FA_FAIL_MEMORY(err);
    // the skin is one primitive, as fa_head_save has it
    m->nregion = part ? p->nregion : 1;
    for (int i = 0; i < m->nregion; i++) m->region[i] = p->region[i];
    for (int f = 0; f < m->nface && !part; f++) m->face_region[f] = 0;
    for (int v = 0; v < m->nvert; v++) m->spot[v] = part == 0 && which == 0 ? v : -1;
    for (int s = 0; s < p->nshape; s++) {
        const FaHeadShape *shape = &p->shape[s];
        float *delta = FA_PUSH(zoo->arena, 3 * (size_t)m->nvert, float);
        if (!delta) return FA_FAIL_MEMORY(err);
        for (int i = 0; i < shape->count; i++)
            memcpy(delta + 3 * (size_t)shape->row[i], shape->delta + 3 * (size_t)i, 3 * sizeof *delta);
        m->shape[m->nshape++] = (FaZooShape){shape->name, shape->arkit, delta};
    }
    // the skin has all 52, as fa_head_rig gives them
    for (int a = 0; a < FA_ARKIT_COUNT && part == 0; a++)
        if (!fai_zoo_driven(m, a) && !fai_zoo_add_shape(zoo, m, fa_arkit_name(a), a)) return FA_FAIL_MEMORY(err);
    return FA_OK;
}

static void move_vertex(FaZooMesh *m, int from, int to) {
    memmove(m->x + 3 * (size_t)to, m->x + 3 * (size_t)from, 3 * sizeof *m->x);
    m->spot[to] = m->spot[from];
    for (int s = 0; s < m->nshape; s++)
        memmove(m->shape[s].delta + 3 * (size_t)to, m->shape[s].delta + 3 * (size_t)from, 3 * sizeof(float));
}

FaCode fai_zoo_keep_faces(FaZoo *zoo, FaZooMesh *m, const bool *keep, FaError *err) {
    int *number = FA_PUSH(zoo->arena, m->nvert, int);
    if (!number) return FA_FAIL_MEMORY(err);
    int nface = 0, corners = 0, nvert = 0;
    for (int f = 0; f < m->nface; f++) {
        if (!keep[f]) continue;
        int first = m->face_start[f], end = m->face_start[f + 1];
        m->face_region[nface] = m->face_region[f];
        m->face_start[nface++] = corners;
        for (int c = first; c < end; c++) number[m->face_vert[c]] = 1, m->face_vert[corners++] = m->face_vert[c];
    }
    m->face_start[nface] = corners;
    m->nface = nface;
    for (int v = 0; v < m->nvert; v++) {
        if (!number[v]) continue;
        move_vertex(m, v, nvert);
        number[v] = nvert++;
    }
    m->nvert = nvert;
    for (int c = 0; c < corners; c++) m->face_vert[c] = number[m->face_vert[c]];
    return FA_OK;
}

static int region_of(FaZooMesh *m, const char *name) {
    for (int i = 0; i < m->nregion; i++)
        if (!strcmp(m->region[i], name)) return i;
    if (m->nregion == FA_COUNT(m->region)) return 0;
    m->region[m->nregion] = name;
    return m->nregion++;
}

// Room for more vertices and faces: the old ones in new arrays, zeros after them.
static FaCode grow(FaZoo *zoo, FaZooMesh *m, int nvert, int nface, int ncorner, FaError *err) {
    size_t corners = (size_t)m->face_start[m->nface], v = (size_t)m->nvert, f = (size_t)m->nface;
    FaZooMesh old = *m;
    m->x = FA_PUSH(zoo->arena, 3 * (v + (size_t)nvert), float);
    m->spot = FA_PUSH(zoo->arena, v + (size_t)nvert, int);
    m->face_start = FA_PUSH(zoo->arena, f + (size_t)nface + 1, int);
    m->face_vert = FA_PUSH(zoo->arena, corners + (size_t)ncorner, int);
    m->face_region = FA_PUSH(zoo->arena, f + (size_t)nface, int);
    if (!m->x || !m->spot || !m->face_start || !m->face_vert || !m->face_region) return FA_FAIL_MEMORY(err);
    memcpy(m->x, old.x, 3 * v * sizeof *m->x);
    memcpy(m->spot, old.spot, v * sizeof *m->spot);
    memcpy(m->face_start, old.face_start, (f + 1) * sizeof *m->face_start);
    memcpy(m->face_vert, old.face_vert, corners * sizeof *m->face_vert);
    memcpy(m->face_region, old.face_region, f * sizeof *m->face_region);
    for (int s = 0; s < m->nshape; s++) {
        float *delta = FA_PUSH(zoo->arena, 3 * (v + (size_t)nvert), float);
        if (!delta) return FA_FAIL_MEMORY(err);
        memcpy(delta, m->shape[s].delta, 3 * v * sizeof *delta);
        m->shape[s].delta = delta;
    }
    return FA_OK;
}

FaCode fai_zoo_append(FaZoo *zoo, FaZooMesh *m, const FaZooExtra *e, FaError *err) {
    int ncorner = e->face_start[e->nface], corners = m->face_start[m->nface], nvert = m->nvert;
    FA_TRY(grow(zoo, m, e->nvert, e->nface, ncorner, err));
    if (e->nvert) memcpy(m->x + 3 * (size_t)nvert, e->x, 3 * (size_t)e->nvert * sizeof *m->x);
    for (int v = 0; v < e->nvert; v++) {
        m->spot[nvert + v] = -1;
        for (int s = 0; s < m->nshape && e->from[v] >= 0; s++)
            memcpy(m->shape[s].delta + 3 * (size_t)(nvert + v), m->shape[s].delta + 3 * (size_t)e->from[v],
                   3 * sizeof(float));
    }
    int region = region_of(m, e->region);
    for (int f = 0; f < e->nface; f++) {
        m->face_region[m->nface + f] = region;
        m->face_start[m->nface + f + 1] = corners + e->face_start[f + 1];
    }
    for (int c = 0; c < ncorner; c++) {
        int v = e->face_vert[c];
        m->face_vert[corners + c] = v < 0 ? -1 - v : nvert + v;
    }
    m->nvert += e->nvert;
    m->nface += e->nface;
    return FA_OK;
}

FaCode fai_zoo_join(FaZoo *zoo, FaZooMesh *to, const FaZooMesh *from, FaError *err) {
    int ncorner = from->face_start[from->nface], corners = to->face_start[to->nface];
    for (int s = 0; s < from->nshape; s++)
        if (!fai_zoo_driven(to, from->shape[s].drive) &&
            !fai_zoo_add_shape(zoo, to, from->shape[s].name, from->shape[s].drive))
            return FA_FAIL_MEMORY(err);
    FA_TRY(grow(zoo, to, from->nvert, from->nface, ncorner, err));
    memcpy(to->x + 3 * (size_t)to->nvert, from->x, 3 * (size_t)from->nvert * sizeof *to->x);
    for (int v = 0; v < from->nvert; v++) to->spot[to->nvert + v] = -1;
    for (int f = 0; f < from->nface; f++) {
        to->face_region[to->nface + f] = region_of(to, from->region[from->face_region[f]]);
        to->face_start[to->nface + f + 1] = corners + from->face_start[f + 1];
    }
    for (int c = 0; c < ncorner; c++) to->face_vert[corners + c] = to->nvert + from->face_vert[c];
    for (int s = 0; s < from->nshape; s++)
        memcpy(fai_zoo_driven(to, from->shape[s].drive)->delta + 3 * (size_t)to->nvert, from->shape[s].delta,
               3 * (size_t)from->nvert * sizeof(float));
    to->nvert += from->nvert;
    to->nface += from->nface;
    return FA_OK;
}

void fai_zoo_remove_mesh(FaZoo *zoo, int mesh) {
    zoo->nmesh--;
    for (int i = mesh; i < zoo->nmesh; i++) zoo->mesh[i] = zoo->mesh[i + 1];
}

FaZooShape *fai_zoo_add_shape(FaZoo *zoo, FaZooMesh *m, const char *name, int drive) {
    FaZooShape *list = FA_PUSH(zoo->arena, m->nshape + 1, FaZooShape);
    float *delta = FA_PUSH(zoo->arena, 3 * (size_t)m->nvert, float);
    if (!list || !delta || !name) return NULL;
    if (m->nshape) memcpy(list, m->shape, (size_t)m->nshape * sizeof *list);
    m->shape = list;
    list[m->nshape] = (FaZooShape){name, drive, delta};
    return &list[m->nshape++];
}

FaZooShape *fai_zoo_driven(FaZooMesh *m, int drive) {
    for (int s = 0; s < m->nshape; s++)
        if (drive >= 0 && m->shape[s].drive == drive) return &m->shape[s];
    return NULL;
}

FaCode fai_zoo_triangles(FaZoo *zoo, const FaZooMesh *m, FaMesh *mesh, FaError *err) {
    *mesh = (FaMesh){
        .nvert = m->nvert, .nface = m->nface, .x = m->x, .face_start = m->face_start, .face_vert = m->face_vert};
    return fai_mesh_triangulate(mesh, zoo->arena, NULL, err);
}

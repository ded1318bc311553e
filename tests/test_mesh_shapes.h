// Meshes that the mesh tests share. All memory is the arena's.
#ifndef TEST_MESH_SHAPES_H
#define TEST_MESH_SHAPES_H

#include "test.h"

#include "base/base.h"
#include "mesh/mesh.h"

static FaArena *arena;

static int set_up(void **state) {
    (void)state;
    arena = fai_arena_new(0);
    return arena ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    fai_arena_free(arena);
    return 0;
}

// A mesh of polygons with `size[f]` corners each; x and corners are copied.
static inline FaMesh shape_polygons(int nvert, const float *x, int nface, const int *size, const int *corner) {
    FaMesh m = {.nvert = nvert, .nface = nface};
    m.x = FA_PUSH(arena, 3 * (size_t)nvert, float);
    m.face_start = FA_PUSH(arena, nface + 1, int);
    for (int f = 0; f < nface; f++) m.face_start[f + 1] = m.face_start[f] + size[f];
    m.face_vert = FA_PUSH(arena, m.face_start[nface], int);
    if (nvert) memcpy(m.x, x, 3 * (size_t)nvert * sizeof(float));
    if (nface) memcpy(m.face_vert, corner, (size_t)m.face_start[nface] * sizeof(int));
    return m;
}

// A mesh of triangles only, triangulated.
static inline FaMesh shape_triangles(int nvert, const float *x, int ntri, const int *tri) {
    int *size = FA_PUSH(arena, ntri, int);
    for (int t = 0; t < ntri; t++) size[t] = 3;
    FaMesh m = shape_polygons(nvert, x, ntri, size, tri);
    assert_int_equal(fai_mesh_triangulate(&m, arena, NULL, NULL), FA_OK);
    return m;
}

// A sphere of `rings` x `around` quads with triangles at the poles, facing outwards; closed.
static inline FaMesh shape_sphere(int rings, int around, double radius) {
    int nvert = 2 + (rings - 1) * around, n = 0, c = 0;
    float *x = FA_PUSH(arena, 3 * (size_t)nvert, float);
    int *size = FA_PUSH(arena, rings * around, int), *corner = FA_PUSH(arena, 4 * (size_t)rings * around, int);
    const double pi = 3.14159265358979323846;
    for (int r = 1; r < rings; r++)
        for (int a = 0; a < around; a++) {
            double th = pi * r / rings, ph = 2 * pi * a / around;
            float *p = x + 3 * (size_t)((r - 1) * around + a);
            p[0] = (float)(radius * sin(th) * cos(ph));
            p[1] = (float)(radius * cos(th));
            p[2] = (float)(-radius * sin(th) * sin(ph));
        }
    x[3 * (size_t)(nvert - 2) + 1] = (float)radius;
    x[3 * (size_t)(nvert - 1) + 1] = (float)-radius;
    for (int r = 0; r < rings; r++)
        for (int a = 0; a < around; a++) {
            int b = (a + 1) % around, up = (r - 1) * around, down = r * around;
            if (r == 0) {
                memcpy(corner + c, (int[]){nvert - 2, down + a, down + b}, 3 * sizeof(int));
            } else if (r == rings - 1) {
                memcpy(corner + c, (int[]){nvert - 1, up + b, up + a}, 3 * sizeof(int));
            } else {
                memcpy(corner + c, (int[]){up + a, down + a, down + b, up + b}, 4 * sizeof(int));
            }
            size[n] = r == 0 || r == rings - 1 ? 3 : 4;
            c += size[n++];
        }
    FaMesh m = shape_polygons(nvert, x, n, size, corner);
    assert_int_equal(fai_mesh_triangulate(&m, arena, NULL, NULL), FA_OK);
    return m;
}

// n x n quads in the plane z = 0, side 1, jittered by `noise` of a cell inside.
static inline FaMesh shape_grid(int n, double noise, uint64_t seed) {
    int nvert = (n + 1) * (n + 1);
    float *x = FA_PUSH(arena, 3 * (size_t)nvert, float);
    int *size = FA_PUSH(arena, n * n, int), *corner = FA_PUSH(arena, 4 * (size_t)n * n, int);
    for (int j = 0; j <= n; j++)
        for (int i = 0; i <= n; i++) {
            int v = j * (n + 1) + i;
            bool inside = i > 0 && i < n && j > 0 && j < n;
            for (int k = 0; k < 2; k++) {
                double shift = inside ? noise * (fai_random_unit(seed, 2 * (uint64_t)v + (uint64_t)k) - 0.5) : 0;
                x[3 * (size_t)v + k] = (float)(((k ? j : i) + shift) / n);
            }
        }
    for (int q = 0; q < n * n; q++) {
        int v = q / n * (n + 1) + q % n;
        size[q] = 4;
        memcpy(corner + 4 * (size_t)q, (int[]){v, v + 1, v + n + 2, v + n + 1}, 4 * sizeof(int));
    }
    FaMesh m = shape_polygons(nvert, x, n * n, size, corner);
    assert_int_equal(fai_mesh_triangulate(&m, arena, NULL, NULL), FA_OK);
    return m;
}

// The neutral of ICT-FaceKit in its own unit (cm), False (with a message) where the data is absent.
static inline bool shape_ict_neutral(FaMesh *m) {
    const char *folder = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!folder) return false;
    FILE *in = fopen(fai_arena_printf(arena, "%s/generic_neutral_mesh.obj", folder), "r");
    assert_non_null(in);
    enum { VERTS = 30000, FACES = 30000 };
    float *x = FA_PUSH(arena, 3 * VERTS, float);
    int *size = FA_PUSH(arena, FACES, int), *corner = FA_PUSH(arena, 4 * FACES, int);
    int nvert = 0, nface = 0, ncorner = 0;
    char line[512];
    while (fgets(line, sizeof line, in)) {
        char *at = line + 1;
        if (line[0] == 'v' && line[1] == ' ' && nvert < VERTS) {
            for (int k = 0; k < 3; k++) x[3 * nvert + k] = strtof(at, &at);
            nvert++;
        } else if (line[0] == 'f' && line[1] == ' ' && nface < FACES) {
            for (char *word = strtok(at, " \r\n"); word; word = strtok(NULL, " \r\n")) {
                corner[ncorner++] = atoi(word) - 1;
                size[nface]++;
            }
            nface++;
        }
    }
    fclose(in);
    *m = shape_polygons(nvert, x, nface, size, corner);
    assert_int_equal(fai_mesh_triangulate(m, arena, NULL, NULL), FA_OK);
    return true;
}

#endif

// Meshes for pictures: a ball, a plane, in memory that lives as long as the program.
#ifndef TEST_RENDER_SHAPES_H
#define TEST_RENDER_SHAPES_H

#include "test.h"

#include "base/base.h"
#include "mesh/mesh.h"

// A ball of quads (rings x cols), facing outwards; its poles are triangles.
static inline FaMesh make_ball(FaArena *arena, double radius, const double at[3], int rings, int cols) {
    FaMesh m = {.nvert = rings * cols + 2};
    m.x = FA_PUSH(arena, 3 * m.nvert, float);
    m.face_start = FA_PUSH(arena, (rings + 1) * cols + 1, int);
    m.face_vert = FA_PUSH(arena, 4 * (rings + 1) * cols, int);
    for (int v = 0; v < m.nvert; v++) {
        double a = v < rings * cols ? M_PI * (v / cols + 0.5) / rings : v == rings * cols ? 0 : M_PI;
        double b = 2 * M_PI * (v % cols) / cols;
        m.x[3 * v] = (float)(at[0] + radius * sin(a) * sin(b));
        m.x[3 * v + 1] = (float)(at[1] + radius * cos(a));
        m.x[3 * v + 2] = (float)(at[2] + radius * sin(a) * cos(b));
    }
    int c = 0;
    for (int r = 0; r + 1 < rings; r++)
        for (int k = 0; k < cols; k++) {
            int n = (k + 1) % cols, q[4] = {r * cols + k, (r + 1) * cols + k, (r + 1) * cols + n, r * cols + n};
            for (int i = 0; i < 4; i++) m.face_vert[c++] = q[i];
            m.face_start[++m.nface] = c;
        }
    for (int k = 0; k < cols; k++) {
        int n = (k + 1) % cols, last = (rings - 1) * cols;
        int pole[6] = {rings * cols, k, n, rings * cols + 1, last + n, last + k};
        for (int i = 0; i < 6; i++) {
            m.face_vert[c++] = pole[i];
            if (i % 3 == 2) m.face_start[++m.nface] = c;
        }
    }
    FaError err = {0};
    CHECK_OK(fai_mesh_triangulate(&m, arena, NULL, &err), &err);
    return m;
}

// A square of n x n quads in the plane z = depth, facing +z.
static inline FaMesh make_square(FaArena *arena, double half, double depth, int n) {
    FaMesh m = {.nvert = (n + 1) * (n + 1), .nface = n * n};
    m.x = FA_PUSH(arena, 3 * m.nvert, float);
    m.face_start = FA_PUSH(arena, m.nface + 1, int);
    m.face_vert = FA_PUSH(arena, 4 * m.nface, int);
    for (int v = 0; v < m.nvert; v++) {
        m.x[3 * v] = (float)(half * (2.0 * (v % (n + 1)) / n - 1));
        m.x[3 * v + 1] = (float)(half * (2.0 * (v / (n + 1)) / n - 1));
        m.x[3 * v + 2] = (float)depth;
    }
    for (int f = 0; f < m.nface; f++) {
        int v = f / n * (n + 1) + f % n, q[4] = {v, v + 1, v + n + 2, v + n + 1};
        for (int i = 0; i < 4; i++) m.face_vert[4 * f + i] = q[i];
        m.face_start[f + 1] = 4 * f + 4;
    }
    FaError err = {0};
    CHECK_OK(fai_mesh_triangulate(&m, arena, NULL, &err), &err);
    return m;
}

// Mean brightness of a small square of pixels, 0..255.
static inline double brightness(const FaImage *image, int x, int y, int half) {
    double sum = 0;
    int n = 0;
    for (int j = y - half; j <= y + half; j++)
        for (int i = x - half; i <= x + half; i++, n++) {
            const unsigned char *p = image->rgb + 3 * (j * image->width + i);
            sum += 0.2126 * p[0] + 0.7152 * p[1] + 0.0722 * p[2];
        }
    return sum / n;
}

static inline const unsigned char *pixel(const FaImage *image, int x, int y) {
    return image->rgb + 3 * (y * image->width + x);
}

#endif

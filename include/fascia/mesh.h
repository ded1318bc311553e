// fascia/mesh.h: a surface mesh as plain data. Polygons are kept as the file has them; triangles are derived.
#ifndef FASCIA_MESH_H
#define FASCIA_MESH_H

#include "fascia/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Positions are metres in the mesh's own (head) frame. Read only for users of the library.
typedef struct FaMesh {
    int nvert;       //
    int nface;       //
    int ntri;        //
    int nuv;         //
    float *x;        // positions, m                                        (nvert x 3)
    int *face_start; // first corner of each polygon, then the total        (nface + 1)
    int *face_vert;  // vertex of each corner                               (face_start[nface])
    int *face_uv;    // uv of each corner, -1 = none; NULL: no uvs at all   (face_start[nface])
    float *uv;       // origin at the lower left, as OBJ has it             (nuv x 2)
    int *tri;        // triangles of the polygons, same winding             (ntri x 3)
    int *tri_face;   // polygon of each triangle                            (ntri)
    int *weld;       // vertex that stands for each: formats that split vertices at seams are joined
                     // by this map; NULL = identity                        (nvert)
} FaMesh;

#ifdef __cplusplus
}
#endif
#endif

// The part of a rig where markers can sit: the outside of the skin, and how much the shapes move it.
#ifndef FAI_MARKERS_FACE_H
#define FAI_MARKERS_FACE_H

#include "base/base.h"
#include "fascia/markers.h"

// A vertex is outside if most of the half space above it is free of the mesh: the mouth's inside, sockets, nostrils and
// what an eyeball covers are not. Of several parts (eyes, teeth, lashes) the one that the shapes move most is the skin.
typedef struct FaMarkerFace {
    unsigned char *open; // vertex is outside, on the skin, not at its rim, of the head          (nvert)
    float *normal;       // at the neutral                                                       (nvert x 3)
    float *move;         // largest displacement by one shape at weight 1, m                     (nvert)
    int *shape_start;    // the shapes that move each vertex                                     (nvert + 1)
    int *shape;          // increasing for each vertex                                           (shape_start[nvert])
    float *delta;        // m, likewise                                              (shape_start[nvert] x 3)
    int *tri;            // triangles whose corners are all open                                 (ntri)
    int ntri;
    float most;               // largest of move over the open ones, m
    double centre[3], radius; // of what the shapes move, m: where the face is, and its size (fai_face_place)
    FaArena *arena;
} FaMarkerFace;

// The head of a rig, which may be a whole body: what is no further from the middle of what the shapes move than twice
// its size. centre: the mean of the triangles by area times motion; radius: twice the root mean square distance from
// it. False where nothing moves: then all of the mesh is the head.
bool fai_face_place(const FaRig *rig, const float *move, double centre[3], double *radius);
static inline bool fai_on_head(const double centre[3], double radius, const float x[3]) {
    double d = 0;
    for (int k = 0; k < 3; k++) d += ((double)x[k] - centre[k]) * ((double)x[k] - centre[k]);
    return !(radius > 0) || d <= 4 * radius * radius;
}

FaCode fai_marker_face(const FaRig *rig, FaMarkerFace *face, FaError *err);
void fai_marker_face_free(FaMarkerFace *face);

// How far two vertices are from each other, squared, m2: at rest; or, where a shape tears them apart to over three
// times that, then: what tells the upper lip from the lower one.
double fai_marker_apart2(const FaRig *rig, const FaMarkerFace *face, int a, int b);

// A marker on a vertex: with the first triangle that has it, by first_tri (nvert; -1 = none).
FaMarkerPoint fai_marker_vertex(const FaMesh *mesh, const int *first_tri, int v);
int *fai_first_triangles(const FaMesh *mesh); // free with fa_free; NULL: no memory

FaCode fai_marker_map_new(int count, const char *const *name, FaMarkerMap **map, FaError *err); // nothing mapped

#endif

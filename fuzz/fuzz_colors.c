// Vertex colours of a painted mesh, as OBJ and as glTF: 0 to 1, one per vertex.
#include "fuzz.h"
#include "json_mutator.h"
#include "small_rig.h"

#include "face/vertex_color.h"

#include <math.h>
#include <stdlib.h>

static void check(const float *c) {
    for (int i = 0; c && i < 2 * small_rig()->mesh.nvert; i++)
        if (!isfinite(c[i])) abort();
}

void fuzz_one(const uint8_t *data, size_t size) {
    static const char *const name[] = {"paint.obj", "paint.gltf", "paint.glb"};
    int kind = size && data[0] == '{' ? 1 : size > 3 && !memcmp(data, "glTF", 4) ? 2 : 0;
    const char *path = fuzz_named_file(name[kind], data, size);
    FaVertexColors colors;
    FaError err = {0};
    FaCode rc = fai_vertex_colors_load(path, small_rig(), &colors, &err);
    if (rc < 0 && !err.what[0]) abort();
    if (rc >= 0) check(colors.whole);
    for (int s = 0; rc >= 0 && s < small_rig()->nshape; s++) check(colors.shape[s]);
    fai_vertex_colors_free(&colors);
}

// OBJ: the parser, the comparison with another file of the same mesh, and the rig that comes of it.
#include "fuzz.h"

#include "base/base.h"
#include "fascia/fascia.h"
#include "io/obj.h"

#include <stdlib.h>

static FaBytes copy_of(const uint8_t *data, size_t size) {
    FaBytes b = {fai_resize(NULL, size + 1), size};
    if (!b.data) abort();
    if (size) memcpy(b.data, data, size);
    b.data[size] = 0;
    return b;
}

// What was read once is read again as a file "like" itself: same positions, same faces.
static void parse_twice(const uint8_t *data, size_t size) {
    FaArena *arena = fai_arena_new(0);
    FaError err = {0};
    FaObj obj;
    FaBytes bytes = copy_of(data, size), again = copy_of(data, size);
    if (fai_obj_parse(&bytes, arena, &obj, &err) >= 0) {
        double *x = malloc(sizeof(double) * 3 * (size_t)obj.nvert);
        if (!x || fai_obj_read_like(&again, &obj, "itself", x, &err) < 0) abort();
        if (memcmp(x, obj.x, sizeof(double) * 3 * (size_t)obj.nvert)) abort();
        obj.tail = 0; // the same, without the short cut
        if (fai_obj_read_like(&again, &obj, "itself", x, &err) < 0) abort();
        free(x);
        for (int f = 0; f < obj.nface; f++)
            for (int c = obj.face_start[f]; c < obj.face_start[f + 1]; c++)
                if (obj.face_vert[c] < 0 || obj.face_vert[c] >= obj.nvert || (obj.face_uv && obj.face_uv[c] >= obj.nuv))
                    abort();
    } else if (!err.what[0])
        abort();
    fai_bytes_free(&again);
    fai_obj_free(&obj);
    fai_arena_free(arena);
}

static void load_rig(const uint8_t *data, size_t size) {
    FuzzFile file = fuzz_file(data, size);
    FaError err = {0};
    FaRig *rig;
    if (fai_obj_rig(file.path, &(FaRigOptions){.any_size = true}, &rig, &err) >= 0) {
        if (fa_rig_check(rig, &err) < 0) abort();
        fa_rig_free(rig);
    }
    fuzz_file_close(&file);
}

void fuzz_one(const uint8_t *data, size_t size) {
    parse_twice(data, size);
    load_rig(data, size);
}

// Painted faces: whatever is accepted is in range; whatever is not leaves nothing behind.
#include "fuzz.h"

#include "json_mutator.h"

#include "face/skin_paint.h"

#include <math.h>
#include <stdlib.h>

enum { VERTS = 24 };

static void check(const float *a, double min, double max) {
    if (!a) abort();
    for (int v = 0; v < VERTS; v++)
        if (!isnan(a[v]) && !((double)a[v] >= min && (double)a[v] <= max)) abort();
    if (memcmp(&a[3], &a[1], sizeof *a)) abort(); // copies of one vertex
}

void fuzz_one(const uint8_t *data, size_t size) {
    static float x[3 * VERTS], delta[] = {0.01f, 0, 0, 0, -0.02f, 0, 0.005f, 0, 0};
    static int row[] = {2, 5, 9}, weld[VERTS];
    static FaShape shape[] = {{"cheekPuff", 46, 0, 0, 3, FA_SAID_NOTHING}, {"still", -1, 0, 3, 0, FA_SAID_NOTHING}};
    for (int v = 0; v < VERTS; v++) weld[v] = v == 3 ? 1 : v;
    const FaRig rig = {.mesh = {.nvert = VERTS, .x = x, .weld = weld},
                       .nshape = 2,
                       .nentry = 3,
                       .shape = shape,
                       .row = row,
                       .delta = delta};
    FaPaint paint;
    FaError err = {0};
    FaCode rc = fai_paint_parse((const char *)data, size, &rig, &paint, &err);
    if (rc < 0) {
        if (!err.what[0] || paint.arena || paint.thickness) abort();
        return;
    }
    check(paint.thickness, 4.9e-5, 0.1001);
    check(paint.skull, 0, 1);
    check(paint.jaw, 0, 1);
    for (int r = 0; r < FA_REGIONS; r++) check(paint.region[r], 0, 1);
    fai_paint_free(&paint);
}

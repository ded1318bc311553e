// What benchmarks share: times, the machine, a rig and a clip to measure on. They are listed in bench/bench.c.
#include "bench/bench_tools.h"

#include "base/task.h"

#include "rig/names.h"

#include <math.h>
#include <stdlib.h>

// --- shared -------------------------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

FaBenchTimes fai_bench_times(double *ms, int n) {
    if (n < 1) return (FaBenchTimes){0, 0};
    qsort(ms, (size_t)n, sizeof *ms, by_value);
    return (FaBenchTimes){ms[n / 2], ms[0]};
}

void fai_bench_machine(FaText *t) {
    char line[256], model[200] = "";
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && !model[0] && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10) && strchr(line, ':'))
            snprintf(model, sizeof model, "%s", strchr(line, ':') + 2);
    if (f) fclose(f);
    model[strcspn(model, "\n")] = 0;
    fai_text_printf(t, "%s, %d cores, ", model[0] ? model : "unknown processor", fai_cores());
#ifdef __clang__
    fai_text_printf(t, "clang %s", __clang_version__);
#else
    fai_text_printf(t, "gcc %s", __VERSION__);
#endif
}

// --- a rig to measure on ------------------------------------------------------------------------------------------

enum { RINGS = 163, COLS = 164, VERTS = 26719, SHAPES = 57 };

// A ball of 0.24 m, in rings.
static void ball(FaMesh *mesh) {
    for (int v = 0; v < VERTS; v++) {
        double a = M_PI * (v / COLS + 0.5) / RINGS, b = 2 * M_PI * (v % COLS) / COLS;
        mesh->x[3 * v] = (float)(0.12 * sin(a) * cos(b));
        mesh->x[3 * v + 1] = (float)(0.12 * cos(a));
        mesh->x[3 * v + 2] = (float)(0.12 * sin(a) * sin(b));
    }
    int f = 0;
    for (int r = 0; r + 1 < RINGS; r++)
        for (int c = 0; c < COLS; c++) {
            int corner[4] = {r * COLS + c, (r + 1) * COLS + c, (r + 1) * COLS + (c + 1) % COLS,
                             r * COLS + (c + 1) % COLS};
            bool whole = true;
            for (int k = 0; k < 4; k++) whole &= corner[k] < VERTS;
            if (!whole) continue;
            for (int k = 0; k < 4; k++) mesh->face_vert[4 * f + k] = corner[k];
            f++;
            mesh->face_start[f] = 4 * f;
        }
    mesh->nface = f;
}

// A bump that covers a cap of the ball, with holes as numerical noise leaves them in real files.
static int bump(const FaMesh *mesh, int s, int *row, float *delta) {
    double c[3], n = 0;
    for (int k = 0; k < 3; k++) c[k] = fai_random_normal(7, (uint64_t)(3 * s + k)), n += c[k] * c[k];
    double reach = 0.085 + 0.138 * fai_random_unit(8, (uint64_t)s);
    int count = 0;
    for (int v = 0; v < VERTS; v++) {
        const float *x = mesh->x + 3 * v;
        double d2 = 0;
        for (int k = 0; k < 3; k++)
            d2 += ((double)x[k] - 0.12 * c[k] / sqrt(n)) * ((double)x[k] - 0.12 * c[k] / sqrt(n));
        double u = 1 - d2 / (reach * reach);
        if (u <= 0 || fai_random_unit(9, (uint64_t)s * VERTS + (uint64_t)v) < 0.1 * (1 - u)) continue;
        row[count] = v;
        for (int k = 0; k < 3; k++) delta[3 * count + k] = (float)(0.02 * u * u * c[(k + s) % 3] / sqrt(n));
        count++;
    }
    return count;
}

FaCode fai_bench_rig(FaRig **out, FaError *err) {
    *out = NULL;
    FaRig *rig = FA_NEW(1, FaRig);
    FaArena *a = rig ? fai_arena_new((size_t)1 << 20) : NULL;
    if (rig) rig->arena = a;
    size_t most = (size_t)SHAPES * VERTS;
    if (a) {
        rig->mesh = (FaMesh){.nvert = VERTS,
                             .x = FA_PUSH(a, 3 * VERTS, float),
                             .face_start = FA_PUSH(a, VERTS + 1, int),
                             .face_vert = FA_PUSH(a, 4 * VERTS, int)};
        rig->shape = FA_PUSH(a, SHAPES, FaShape);
        rig->weight = FA_PUSH(a, SHAPES, float);
        rig->row = FA_PUSH(a, most, int);
        rig->delta = FA_PUSH(a, 3 * most, float);
    }
    if (!a || !rig->mesh.x || !rig->mesh.face_start || !rig->mesh.face_vert || !rig->shape || !rig->weight ||
        !rig->row || !rig->delta) {
        fa_rig_free(rig);
        return FA_FAIL_MEMORY(err);
    }
    ball(&rig->mesh);
    for (int s = 0; s < SHAPES; s++) {
        const char *name = s < FA_ARKIT_COUNT ? fa_arkit_name(s) : fai_arena_printf(a, "extra_%d", s);
        int count = bump(&rig->mesh, s, rig->row + rig->nentry, rig->delta + 3 * (size_t)rig->nentry);
        rig->shape[s] =
            (FaShape){name ? name : "", s < FA_ARKIT_COUNT ? s : -1, 0, rig->nentry, count, FA_SAID_NOTHING};
        rig->nentry += count;
    }
    rig->nshape = SHAPES;
    rig->name = "ball";
    rig->path = "";
    rig->unit = 1;
    rig->unit_how = rig->axes_how = "given";
    for (int i = 0; i < 9; i++) rig->local[i] = rig->axes[i] = i % 4 == 0;
    *out = rig;
    return FA_OK;
}

FaCode fai_bench_clip(const FaRig *rig, int nframe, FaClip **clip, FaError *err) {
    *clip = NULL;
    const char **names = FA_NEW(rig->nshape, const char *);
    if (!names) return FA_FAIL_MEMORY(err);
    for (int s = 0; s < rig->nshape; s++) names[s] = rig->shape[s].name;
    FaCode rc = fa_clip_new(nframe, rig->nshape, names, 30, clip, err);
    fa_free(names);
    for (int f = 0; rc >= 0 && f < nframe; f++)
        for (int s = 0; s < rig->nshape; s++) {
            double rate = 0.2 + fai_random_unit(3, (uint64_t)s), phase = 2 * M_PI * fai_random_unit(4, (uint64_t)s);
            double v = 0.3 + 0.6 * sin(2 * M_PI * rate * f / 30 + phase);
            (*clip)->weight[(size_t)f * (size_t)rig->nshape + (size_t)s] = v > 0 ? (float)v : 0;
        }
    return rc;
}

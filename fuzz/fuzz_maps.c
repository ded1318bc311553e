// Maps of springs, and sculpting forces as a user writes them: every spring that comes of them is one.
#include "fuzz.h"
#include "json_mutator.h"
#include "small_rig.h"

#include "analytic/sculpt.h"

#include <math.h>
#include <stdlib.h>

static void maps(const uint8_t *data, size_t size) {
    const FaOscillator base = {.mass = 1, .damping = 10, .stiffness = 400};
    const FaRig *rig = small_rig();
    FuzzFile file = fuzz_file(data, size);
    FaMaps m;
    FaError err = {0};
    if (fa_analytic_maps_load(file.path, rig, &base, &m, &err) < 0) {
        if (!err.what[0] || m.vertex || m.shape || m.gain) abort();
    } else {
        for (int v = 0; v < rig->mesh.nvert; v++) {
            if (m.vertex && fa_oscillator_check(&m.vertex[v], &err) < 0) abort();
            if (m.gain && !isfinite(m.gain[v])) abort();
        }
        for (int s = 0; m.shape && s < rig->nshape; s++)
            if (fa_oscillator_check(&m.shape[s], &err) < 0) abort();
        fa_analytic_maps_free(&m);
    }
    fuzz_file_close(&file);
}

static void sculpts(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = 0;
    FaSculpts s = {0};
    FaError err = {0};
    FaCode rc = fai_sculpts_parse(text, small_rig(), &s, &err);
    if (rc < 0 && !err.what[0]) abort();
    for (int i = 0; rc >= 0 && i < s.count; i++)
        if (s.sculpt[i].shape < 0 || s.sculpt[i].shape >= small_rig()->nshape) abort();
    fai_sculpts_free(&s);
    free(text);
}

void fuzz_one(const uint8_t *data, size_t size) {
    maps(data, size);
    sculpts(data, size);
}

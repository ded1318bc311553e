// What the jobs of fascia blend share: shapes, numbers, the oscillator.
#include "blend_jobs.h"

#include <stdlib.h>
#include <string.h>

int blend_shape(const FaRig *rig, const char *name, size_t n) {
    for (int pass = 0; pass < 2; pass++)
        for (int s = 0; s < rig->nshape; s++) {
            const FaShape *shape = &rig->shape[s];
            const char *own = pass == 0                               ? shape->name
                              : shape->arkit >= 0 && shape->half == 0 ? fa_arkit_name(shape->arkit)
                                                                      : "";
            if (strlen(own) == n && !strncmp(own, name, n)) return s;
        }
    cli_usage("the rig has no shape '%.*s'; fascia info %s names them", (int)n, name, rig->path);
    return -1;
}

bool blend_number(const char *text, size_t n, double *v) {
    char copy[64], *end;
    if (n == 0 || n >= sizeof copy) return false;
    memcpy(copy, text, n);
    copy[n] = 0;
    *v = strtod(copy, &end); // the program never calls setlocale: "C" rules
    return !*end && *v - *v == 0;
}

static bool set_part(const char *name, const char *text, double *to) {
    if (!text || blend_number(text, strlen(text), to)) return true;
    cli_usage("--%s takes a number, not '%s'", name, text);
    return false;
}

bool blend_oscillator(FaOscillator *o) {
    *o = (FaOscillator){1.5, 8, 10}; // the paper's first example: close to linear interpolation
    if (blend.frequency || blend.ratio) {
        cli_usage("a still's time is not seconds: give --mass, --damping and --stiffness, not --frequency or --ratio");
        return false;
    }
    if (blend.preset && !fa_oscillator_preset(blend.preset, o)) {
        cli_usage("--preset takes soft, heavy, snappy, firm or jelly, not '%s'", blend.preset);
        return false;
    }
    return set_part("mass", blend.mass, &o->mass) && set_part("damping", blend.damping, &o->damping) &&
           set_part("stiffness", blend.stiffness, &o->stiffness);
}

FaParams *blend_params(FaError *err) {
    const struct {
        const char *name, *text;
    } given[] = {{"preset", blend.preset},       {"mass", blend.mass},           {"damping", blend.damping},
                 {"stiffness", blend.stiffness}, {"frequency", blend.frequency}, {"ratio", blend.ratio},
                 {"head", blend.head},           {"gravity", blend.gravity},     {"maps", blend.maps},
                 {"sculpt", blend.sculpt}};
    FaParams *p;
    if (fa_params_new("analytic", &p, err) < 0) return NULL;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].text && fa_params_set(p, given[i].name, given[i].text, err) < 0) {
            fa_params_free(p);
            return NULL;
        }
    return p;
}

int blend_clip(const char *rig_path, const char *clip_path) {
    FaError err = {0};
    FaParams *params = blend_params(&err);
    if (!params) return cli_fail(&err);
    int code = simulate_clip(&(Simulation){.verb = "blend",
                                           .method = "analytic",
                                           .rig_path = rig_path,
                                           .clip_path = clip_path,
                                           .params = params,
                                           .no_clip = "a CLIP, or --weights"});
    fa_params_free(params);
    return code;
}

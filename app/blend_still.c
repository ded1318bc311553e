// fascia blend RIG --weights ...: the paper's sliders: one source, several targets, each with a weight and a moment.
#include "blend_jobs.h"

#include <stdlib.h>
#include <string.h>

typedef struct Still {
    FaRig *rig;
    FaClip *clip; // one channel per shape
    FaOscillator o;
    int n;
    int *target;    // (n)
    double *weight; // (n)
    double *time;   // (n)
} Still;

// "jawOpen=0.5,mouthSmileLeft=1@0.4"; moments that are not given are --time's.
static bool parse_weights(Still *s) {
    double moment = 1;
    if (blend.time && (!blend_number(blend.time, strlen(blend.time), &moment) || moment < 0)) {
        cli_usage("--time takes one number from 0 (source) on, not '%s'", blend.time);
        return false;
    }
    size_t room = strlen(blend.weights) + 1;
    s->target = malloc(room * sizeof *s->target);
    s->weight = malloc(room * sizeof *s->weight);
    s->time = malloc(room * sizeof *s->time);
    if (!s->target || !s->weight || !s->time) return false;
    for (const char *at = blend.weights; *at;) {
        size_t n = strcspn(at, ","), name = strcspn(at, "="), end = strcspn(at, "@");
        end = end < n ? end : n;
        double w = 0, t = moment;
        bool good = name < end && blend_number(at + name + 1, end - name - 1, &w);
        if (good && end < n) good = blend_number(at + end + 1, n - end - 1, &t) && t >= 0;
        if (!good) return cli_usage("--weights takes NAME=VALUE or NAME=VALUE@MOMENT, not '%.*s'", (int)n, at), false;
        s->target[s->n] = blend_shape(s->rig, at, name);
        if (s->target[s->n] < 0) return false;
        s->weight[s->n] = w;
        s->time[s->n++] = t;
        at += n + (at[n] == ',');
    }
    return true;
}

// One frame, or --slider frames from the source to the moment, as a clip of the rig's shapes.
static FaCode make_clip(Still *s, FaError *err) {
    int nframe = blend.slider > 0 ? blend.slider : 1, nshape = s->rig->nshape;
    const char **names = malloc((size_t)(nshape + 1) * sizeof *names);
    float *out = malloc((size_t)(s->n + 1) * sizeof *out);
    double *time = malloc((size_t)(s->n + 1) * sizeof *time);
    FaCode rc = names && out && time ? FA_OK : FA_E_MEMORY;
    for (int i = 0; rc >= 0 && i < nshape; i++) names[i] = s->rig->shape[i].name;
    if (rc >= 0) rc = fa_clip_new(nframe, nshape, names, common.fps > 0 ? common.fps : 30, &s->clip, err);
    for (int f = 0; rc >= 0 && f < nframe; f++) {
        for (int i = 0; i < s->n; i++) time[i] = nframe > 1 ? s->time[i] * f / (nframe - 1) : s->time[i];
        rc = fa_analytic_slider(&s->o, s->n, s->weight, time, out, err);
        for (int i = 0; rc >= 0 && i < s->n; i++) s->clip->weight[f * nshape + s->target[i]] += out[i];
    }
    free(names);
    free(out);
    free(time);
    return rc;
}

// One OBJ file holds one surface: the rig without its shapes, in the blended place.
static FaCode save_obj(const Still *s, FaSequence *seq, FaError *err) {
    FaRig posed = *s->rig;
    posed.nshape = posed.nentry = 0;
    posed.source = NULL;
    posed.clip = NULL;
    posed.mesh.x = malloc(3 * (size_t)posed.mesh.nvert * sizeof(float));
    FaCode rc = posed.mesh.x ? fa_sequence_read(seq, 0, posed.mesh.x, err) : FA_E_MEMORY;
    if (rc >= 0) rc = fa_rig_save(&posed, NULL, common.output, err);
    free(posed.mesh.x);
    return rc;
}

static FaCode write_out(const Still *s, FaBakeReport *bake, FaError *err) {
    const char *path = common.output;
    char generator[200];
    snprintf(generator, sizeof generator, "fascia %s blend --weights %.120s", fa_version(), blend.weights);
    if (path_has_ext(path, "csv") || path_has_ext(path, "json")) return fa_clip_save(s->clip, path, err);
    FaSequence *seq = NULL;
    FaCode rc = fa_sequence_of_clip(s->rig, s->clip, &seq, err);
    if (rc >= 0 && path_has_ext(path, "obj") && !strchr(path, '#') && s->clip->nframe == 1)
        rc = save_obj(s, seq, err);
    else if (rc >= 0) {
        OutFrames frames = {.rig = s->rig,
                            .verb = "blend",
                            .seq = seq,
                            .clip = s->clip,
                            .name = "still",
                            .generator = generator,
                            .sheet = s->clip->nframe > 1};
        rc = out_save(&frames, path, bake, err);
    }
    fa_sequence_close(seq);
    return rc;
}

static void report(const Still *s, double seconds) {
    double over = fa_analytic_overshoot(&s->o);
    if (common.json) {
        printf("{\"frames\":%d,\"seconds\":%.6f,\"overshoot\":%.9g,\"weights\":{", s->clip->nframe, seconds, over);
        for (int i = 0; i < s->n; i++) {
            printf("%s", i ? "," : "");
            cli_json_string(s->rig->shape[s->target[i]].name);
            printf(":%.9g", (double)s->clip->weight[(s->clip->nframe - 1) * s->rig->nshape + s->target[i]]);
        }
        printf("},\"output\":");
        if (common.output && !common.dry_run)
            cli_json_string(common.output);
        else
            printf("null");
        printf("}\n");
        return;
    }
    for (int i = 0; i < s->n; i++)
        cli_say("%-24s weight %g at %g: %.6f", s->rig->shape[s->target[i]].name, s->weight[i], s->time[i],
                (double)s->clip->weight[(s->clip->nframe - 1) * s->rig->nshape + s->target[i]]);
    if (over > 2) cli_say("note: on its way it goes %.1f times as far as the target; raise the damping", over);
    if (common.output && !common.dry_run) cli_say("wrote %s", common.output);
}

int blend_still(const char *rig_path) {
    FaError err = {0};
    Still s = {0};
    FaBakeReport bake = {0};
    double begin = cli_seconds();
    int code = EXIT_OK;
    if (!blend_oscillator(&s.o)) return EXIT_USAGE;
    FaCode rc = load_rig(rig_path, &s.rig, &err);
    if (rc >= 0 && !parse_weights(&s)) code = EXIT_USAGE;
    if (rc >= 0 && code == EXIT_OK) rc = make_clip(&s, &err);
    if (rc >= 0 && code == EXIT_OK && common.output && !common.dry_run) rc = write_out(&s, &bake, &err);
    if (rc < 0)
        code = err.code ? cli_fail(&err) : cli_usage("out of memory");
    else if (code == EXIT_OK)
        report(&s, cli_seconds() - begin);
    fa_clip_free(s.clip);
    fa_rig_free(s.rig);
    free(s.target);
    free(s.weight);
    free(s.time);
    return code;
}

#include "method/stepper.h"

#include "math/pose_cut.h"

#include <math.h>

static const double SLACK = 0.01; // of a step: times of even frames differ in their last digits
static const double LONGEST = 5;  // s between two inputs: by then flesh is at rest, whatever was before

FaCode fai_stepper_init(FaStepper *s, const FaRig *rig, double rate, double share, double gravity, FaArena *arena,
                        FaError *err) {
    s->rig = rig;
    s->rate = rate;
    s->head = fai_felt_head(rig, share, gravity);
    s->weights = FA_PUSH(arena, (size_t)rig->nshape + 1, float);
    s->last_weights = FA_PUSH(arena, (size_t)rig->nshape + 1, float);
    return s->weights && s->last_weights ? FA_OK : FA_FAIL_MEMORY(err);
}

void fai_stepper_reset(FaStepper *s, const FaMethod *m, const FaInput *in) {
    memset(s->last_weights, 0, (size_t)s->rig->nshape * sizeof(float));
    fai_felt_reset(&s->head, m->motion, in);
}

void fai_stepper_weights(FaStepper *s, const FaInput *in, double part, FaStats *stats) {
    for (int i = 0; i < s->rig->nshape; i++) {
        bool good = isfinite(in->weights[i]);
        double was = (double)s->last_weights[i], to = good ? (double)in->weights[i] : was;
        if (!good && stats) stats->clamped++;
        s->weights[i] = part == 1 ? (float)to : (float)(was + part * (to - was));
    }
}

FaStep fai_stepper_begin(const FaStepper *s, const FaMethod *m, const FaInput *in) {
    double span = in->time - m->time, skipped = fmax(span - LONGEST, 0);
    FaPose from = s->head.head, to = fai_felt_at(&s->head, m->motion, in, &from, in->time, 1);
    bool jumps = skipped > 0 || (!m->motion && fai_pose_jumps(&from, &to, span)); // the latter: a tracker's
    return (FaStep){.in = in,
                    .motion = m->motion,
                    .from = jumps ? to : from,
                    .cut = jumps,
                    .begin = m->time + skipped,
                    .end = in->time,
                    .skipped = skipped,
                    .n = (int)fmax(ceil((span - skipped) * s->rate - SLACK), 1),
                    .head = s->head.head};
}

bool fai_stepper_next(FaStepper *s, FaStep *step, FaStats *stats) {
    if (step->i == step->n) return false;
    step->i++;
    step->last = step->i == step->n;
    double span = step->end - step->begin, part = step->last ? 1 : (double)step->i / step->n;
    step->h = span / step->n;
    double before = step->i == 1 ? step->begin : step->time;
    step->time = step->begin + part * span;
    step->cut = (step->cut && step->i == 1) || (step->motion && fai_pose_curve_cut(step->motion, before, step->time));
    if (stats && step->last) stats->skipped = step->skipped;
    step->share = 1.0 / (step->n - step->i + 1);
    step->head = fai_felt_at(&s->head, step->motion, step->in, &step->from, step->time, part);
    fai_stepper_weights(s, step->in, part, step->last ? stats : NULL);
    return true;
}

void fai_stepper_felt(FaStepper *s, const FaPose *felt, const FaPose *head) {
    s->head.felt = *felt;
    s->head.head = *head;
}

void fai_stepper_end(FaStepper *s) { memcpy(s->last_weights, s->weights, (size_t)s->rig->nshape * sizeof(float)); }

void fai_stepper_stream(FaStepper *s, FaStream *stream) {
    fai_stream(stream, s->last_weights, (size_t)s->rig->nshape * sizeof(float));
    fai_stream(stream, &s->head.head, sizeof s->head.head);
    fai_stream(stream, &s->head.felt, sizeof s->head.felt);
}

// The time between two inputs, cut into steps: for methods that integrate. Each step has its share of the weights' way,
// the head where it is then, and how much of its motion the flesh feels.
//
//     input k                                   input k + 1
//        |------- h ------|------- h ------|------- h ------|
//                       step 1           step 2           step 3: exactly the input's weights and pose
//
// Inputs further apart than 5 s: the weights go their way in the last 5 s, after a cut of the head.
//
//     FaStep s = fai_stepper_begin(&stepper, m, in);
//     while (fai_stepper_next(&stepper, &s, stats)) { aim at stepper.weights; advance by s.h with the head at s.head }
//     fai_stepper_end(&stepper);
#ifndef FAI_STEPPER_H
#define FAI_STEPPER_H

#include "method/felt_head.h"
#include "method/method.h"

typedef struct FaStepper {
    const FaRig *rig;
    double rate;    // steps per second, at least
    float *weights; // of the step at hand                              (nshape)
    // the state
    FaFeltHead head;     // of the last step
    float *last_weights; // of the last input                           (nshape)
} FaStepper;

typedef struct FaStep {
    const FaInput *in;
    const struct FaPoseCurve *motion;
    FaPose from;       // the head at the last input
    double begin, end; // s, of the two inputs; or of the last 5 s before the second
    double skipped;    // s between the inputs that no step is made for: a gap in a clip is not simulated
    int i, n;          // this step, from 1; how many
    // of this step
    double h;     // s
    double time;  // s, its end
    double share; // of what is left to the input: 1 in the last step
    bool last;
    bool cut;    // the head has jumped on the way: what it did before counts no more (fai_felt_restart)
    FaPose head; // at its end
} FaStep;

// Arrays come from the arena. share, gravity: fai_felt_head.
FaCode fai_stepper_init(FaStepper *s, const FaRig *rig, double rate, double share, double gravity, FaArena *arena,
                        FaError *err);
// Back to the head of an input, with weights of 0 as the last ones.
void fai_stepper_reset(FaStepper *s, const FaMethod *m, const FaInput *in);
// Weights `part` (0..1) of the way from the last input's to this one's; one that is not a number counts as the last
// that was, and in stats (nullable) as clamped.
void fai_stepper_weights(FaStepper *s, const FaInput *in, double part, FaStats *stats);
FaStep fai_stepper_begin(const FaStepper *s, const FaMethod *m, const FaInput *in);
bool fai_stepper_next(FaStepper *s, FaStep *step, FaStats *stats);           // false: the last step was made
void fai_stepper_felt(FaStepper *s, const FaPose *felt, const FaPose *head); // a step was made
void fai_stepper_end(FaStepper *s);                                          // the input's weights are the last
void fai_stepper_stream(FaStepper *s, FaStream *stream);                     // its state

#endif

// fascia/neural_train.h: a network from the samples of `fascia dataset`.
//
//     FaTrainReport report;
//     fa_train("data", "face.net", NULL, &report, &err);   // NULL: the defaults
// The same samples, options and seed give the same bytes, for any number of threads, interrupted or not.
#ifndef FASCIA_NEURAL_TRAIN_H
#define FASCIA_NEURAL_TRAIN_H

#include "fascia/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// 0 and NULL mean the default.
typedef struct FaTrainOptions {
    int hidden;             // width of each hidden layer; 256
    int layers;             // hidden layers; 3, at most 7
    int components;         // of corrections; 192. Differences and neutrals get what inputs and neutrals say
    int inputs;             // of differences; 64
    int neutrals;           // of neutrals; 32
    int steps;              // of Adam; 10,000
    int batch;              // samples per step; 128
    int seed;               // 1
    double rate;            // of Adam at the start; 2e-3
    double last;            // and at the end, falling evenly; 2e-5
    double decay;           // of weights, times the rate; 0 is none
    double lips;            // how many times more the square of an error at lips and lids weighs; 4
    double hold_identities; // share of people that are kept for the test; 0.1. Half as many again choose the best step
    const char
        *hold_clips; // recordings kept for the test, "a,b"; NULL: one in four, by the seed, if there are two; "": none
    const char *curve; // where the picture of the learning curve goes (.svg); NULL: nowhere
    const char *made;  // what the file records as its command
    bool fresh;        // do not go on from an interrupted run
    int keep;          // steps between two notes of how far it is, for the run that goes on; 0: some 10 s
    FaProgressFn *progress;
    void *progress_user;
} FaTrainOptions;
FA_API FaTrainOptions fa_train_options_default(void);

/// Distances per vertex between what physics adds and what is said instead, mm, over vertices that any physics moved.
typedef struct FaTrainSpread {
    double mean, p95, p99, max;
} FaTrainSpread;
typedef struct FaTrainFigures {
    int samples;
    FaTrainSpread all, lips, lids;
} FaTrainFigures;
enum { FA_TRAIN_TRAIN, FA_TRAIN_IDENTITIES, FA_TRAIN_CLIPS, FA_TRAIN_PARTS }; // learnt from; new people; and new clips
enum { FA_TRAIN_NET, FA_TRAIN_RIDGE, FA_TRAIN_ZERO, FA_TRAIN_WAYS };

typedef struct FaTrainReport {
    int identities, held, validating; // people: all, of the test, of choosing
    int samples, used;                // all, learnt from
    bool mirrored;                    // and each of these, left and right exchanged, is one more of them
    int clips, held_clips;
    char held_names[256];
    int components, inputs, neutrals; // as many as the samples have
    int steps, begun, best;           // begun: from where an interrupted run went on; best: the step that was kept
    FaTrainFigures error[FA_TRAIN_WAYS][FA_TRAIN_PARTS];
    double chosen; // mm: of the samples that choose, at the step that was kept; settings are compared by it
    double basis;  // mm: what the components cannot express of the test's corrections, mean
    size_t bytes;
    double seconds;
} FaTrainReport;

/// Samples in dir -> a network at path. Goes on where an interrupted run (path.part) of the same samples and options
/// stopped. options and report are nullable.
FA_API FaCode fa_train(const char *dir, const char *path, const FaTrainOptions *options, FaTrainReport *report,
                       FaError *err);

/// A network (F.net) as ONNX: difference, neutral [1, 3 n] -> correction, m, of the template's n vertices.
FA_API FaCode fa_network_onnx(const char *net, const char *onnx, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

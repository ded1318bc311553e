// What fa_train holds between its stages: components, the ridge parts, learning, measuring.
#ifndef FAI_TRAIN_WORK_H
#define FAI_TRAIN_WORK_H

#include "neural/train_mlp.h"
#include "neural/train_set.h"

typedef struct FaTrain {
    FaTrainOptions o; // no defaults left
    FaTrainSet set;
    FaNet net;
    float *share;  // root of each number's weight in the loss                   (3 nvert)
    float *metric; // components of corrections in that metric, unit columns    (nc x 3 nvert)
    float *raw;    // components of differences over sd, not squashed           (nsample x nd)
    float *target; // of corrections over su                                    (nsample x nc)
    float *person; // q of each shard                                           (nshard x nn)
    double *plain; // the ridge that the network is measured against: from raw  (nc x nd)
    double lost;   // of the test's corrections by the components, mm, mean
    FaMlp mlp;
    float *curve; // step, loss of learning, of choosing                       (3 x npoint)
    int npoint, room;
    int step, best_step, begun;
    double best;
} FaTrain;

FaCode fai_train_components(FaTrain *t, FaError *err);              // bases and their coefficients
FaCode fai_train_ridge(FaTrain *t, FaError *err);                   // net.ridge, plain
FaCode fai_train_learn(FaTrain *t, const char *part, FaError *err); // part: file of an interrupted run
FaCode fai_train_measure(FaTrain *t, FaTrainReport *report, FaError *err);
FaCode fai_train_picture(const FaTrain *t, const char *path, FaError *err);

#endif

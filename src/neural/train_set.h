// The samples of a folder, read again and again in few rows at a time: what is held in memory does not grow with them.
#ifndef FAI_TRAIN_SET_H
#define FAI_TRAIN_SET_H

#include "fascia/neural_train.h"
#include "neural/net_template.h"
#include "neural/shard.h"

// What a sample is for. The test's people and clips never choose anything.
typedef enum FaTrainPart { FA_PART_LEARN, FA_PART_CHOOSE, FA_PART_PEOPLE, FA_PART_CLIPS, FA_PART_NONE } FaTrainPart;

typedef struct FaTrainShard {
    char *path;
    uint64_t identity;
    int npose, first;     // poses; the first one's number among all samples
    unsigned char person; // FaTrainPart of the person: learn, choose or people
    bool mirrored;        // the one before it once more, left and right exchanged
} FaTrainShard;

typedef struct FaTrainSet {
    FaTemplate mesh;
    FaTrainShard *shard; // in the order of their names      (nshard)
    int nshard, nsample;
    int *twin;           // vertex on the other side; NULL: the template is not symmetric  (mesh.nvert)
    unsigned char *part; // FaTrainPart                       (nsample)
    int *owner;          // shard                             (nsample)
    int count[FA_PART_NONE + 1];
    unsigned char *held; // clip is the test's                (mesh.nclip)
    bool *moved;         // vertex that any correction moves  (mesh.nvert)
    uint64_t key;        // of all that is in it, and of the split
} FaTrainSet;

FaCode fai_train_set_open(const char *dir, const FaTrainOptions *o, FaTrainSet *set, FaError *err);
void fai_train_set_close(FaTrainSet *set); // empty is fine

// Rows of samples of the parts in the mask (1 << FaTrainPart), in their order; every `every`-th of each part.
enum { FA_TRAIN_ROWS = 96 };
typedef struct FaTrainRows {
    int count;
    const int *sample; // numbers                              (count)
    float *difference; // m, rows of ld floats, the rest 0     (FA_TRAIN_ROWS x ld)
    float *correction; //                                      (FA_TRAIN_ROWS x ld)
    size_t ld;
} FaTrainRows;
typedef FaCode FaTrainRowsFn(void *ctx, const FaTrainRows *rows, FaError *err);
typedef struct FaTrainWalk {
    unsigned parts;
    int every[FA_PART_NONE + 1]; // 0: 1
    const char *stage;
    double from, to; // of the stage's progress
    FaTrainRowsFn *fn;
    void *ctx;
} FaTrainWalk;
FaCode fai_train_walk(const FaTrainSet *set, const FaTrainOptions *o, const FaTrainWalk *walk, FaError *err);

// The people's neutrals less the mean, the same way: sample is the shard.
FaCode fai_train_people(const FaTrainSet *set, const FaTrainOptions *o, const FaTrainWalk *walk, FaError *err);

#endif

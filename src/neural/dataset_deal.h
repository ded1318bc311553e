// The dealer: which person is next. People that another run is making are asked for again later.
#ifndef FAI_DATASET_DEAL_H
#define FAI_DATASET_DEAL_H

#include "neural/dataset_work.h"

enum { FA_DEAL_WAIT = -1, FA_DEAL_NONE = -2 };

typedef struct FaDeal {
    int ids, share, shares; // as in FaDatasetOptions, from 1
    int next;               // of those not dealt yet
    int people, done;       // in this run's share; that are there
    int nlater, *later;     // asked for again                                 (people at most)
    double when;            // the time from which on
    const FaWork *work;     // whose report and sums are kept
} FaDeal;

FaCode fai_deal_open(FaDeal *deal, const FaWork *work, FaError *err);
void fai_deal_close(FaDeal *deal);
int fai_deal_next(FaDeal *deal); // a person; FA_DEAL_WAIT: ask again; FA_DEAL_NONE: all are there
void fai_deal_done(FaDeal *deal, const FaOutcomeOf *outcome);

#endif

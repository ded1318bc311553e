// Words between the processes of a team: who asks for people, who has made one, who is still there.
//
//     process n  --ask-->   0       0  --give--> n     a person, or that there is none now
//                --done-->          0  --stop--> n     all are there
//                --alive-->           <--alive--
#ifndef FAI_DATASET_TEAM_H
#define FAI_DATASET_TEAM_H

#include "neural/dataset_deal.h"

typedef struct FaTeam {
    const FaDatasetTeam *t;
    uint64_t key;
    double *heard; // s: when of each process (size)
    double said;   // when this one said that it is there
    bool asked;    // for a person, and no answer yet
    double pause;  // s: when to ask again
    bool stopped;  // all are there
    int got;       // a person given to this process; below 0: none
} FaTeam;

FaCode fai_team_open(FaTeam *team, const FaDatasetTeam *t, uint64_t key, FaError *err);
void fai_team_close(FaTeam *team);
// What has come; deal: of process 0, else NULL. Fails where a process has not been heard of for too long.
FaCode fai_team_listen(FaTeam *team, FaDeal *deal, FaError *err);
// Of the others: a person, FA_DEAL_WAIT, or FA_DEAL_NONE.
FaCode fai_team_next(FaTeam *team, int *person, FaError *err);
FaCode fai_team_done(FaTeam *team, const FaOutcomeOf *outcome, FaError *err);
FaCode fai_team_stop(FaTeam *team, FaError *err); // of process 0: tell all

#endif

// Who makes whom: people are dealt to workers, threads of this process or of a team's processes, until all are there.
#ifndef FAI_DATASET_WORK_H
#define FAI_DATASET_WORK_H

#include "neural/dataset_folder.h"
#include "neural/samples.h"

// What has become of a person. Also the message that says so.
typedef enum FaOutcome {
    FA_OUT_MADE,
    FA_OUT_THERE,    // it was whole
    FA_OUT_ELSEWHERE // another run is making it
} FaOutcome;
typedef struct FaOutcomeOf {
    int person, outcome; // FaOutcome
    int samples, dropped, drop[FA_DROPS];
    uint64_t sum;
    double bytes, busy;
} FaOutcomeOf;

typedef struct FaWork {
    const FaFolder *folder;
    const FaTeacher *teacher;
    const FaDatasetTeam *team; // NULL: alone
    int share, shares;         // as in FaDatasetOptions
    int workers;               // of this process
    FaDatasetProgressFn *progress;
    void *progress_user;
    FaDatasetReport *report; // filled as work goes on
    uint64_t *sum;           // of each person's shard, of the process that leads            (ids)
} FaWork;

// Until all people of this run are there, or one failed. Leads: process 0, or alone.
FaCode fai_work_run(const FaWork *work, FaError *err);
// One person, on this thread.
FaCode fai_work_person(const FaWork *work, const FaTeacher *teacher, int person, FaOutcomeOf *outcome, FaError *err);

#endif

// Several processes that make one set of samples: `mpirun -n N fascia dataset ...`.
//
// MPI is in a program of its own, fascia-mpi: the same verbs, linked with MPI's library, which would make every start
// of fascia ten times as slow. `fascia dataset` becomes that program (exec) where mpirun has started it.
#ifndef FASCIA_DATASET_TEAM_H
#define FASCIA_DATASET_TEAM_H

#include "fascia/dataset.h"

extern const FaDatasetTeam *dataset_team; // of fascia-mpi; NULL: this process is alone

// In a process that mpirun has started: becomes fascia-mpi. Returns where that is not needed (0), or cannot be (the
// exit code; it was said why).
int dataset_team_join(void);

#endif

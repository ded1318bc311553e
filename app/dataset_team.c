#include "dataset_team.h"

#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const FaDatasetTeam *dataset_team;

// How many processes mpirun has started: Open MPI, and what others have in common.
static int team_size(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (int i = 0; i < 2; i++) {
        const char *n = getenv(names[i]);
        if (n && atoi(n) > 1) return atoi(n);
    }
    return 1;
}

// The program beside this one, else where it was installed.
static bool beside(char *path, size_t size) {
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    if (n <= 0) return false;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) + 16 > size) return false;
    strcpy(slash + 1, "fascia-mpi");
    return access(path, X_OK) == 0;
}

int dataset_team_join(void) {
    char path[4096];
    int size = team_size();
    if (dataset_team || size == 1) return EXIT_OK;
    if (!beside(path, sizeof path))
        return cli_usage("mpirun has started %d processes, and fascia-mpi is not beside this program: install "
                         "libopenmpi-dev and build again, or use --shard k/n",
                         size);
    execv(path, cli_arguments());
    fprintf(stderr, "fascia: %s: cannot be started: %s\n", path, strerror(errno));
    return EXIT_FAILED;
}

// The program fascia-mpi: fascia, linked with MPI. `fascia dataset` becomes it where mpirun has started several
// processes (app/dataset_team.h); by itself it does all that fascia does, starting slower.
//
// MPI is used for short messages alone, from one thread: shards go through the file system that all processes share.
#include "cli.h"
#include "dataset_team.h"

#include <mpi.h>

enum { TAG = 1 };

static FaCode fail(FaError *err, const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING];
    int n;
    MPI_Error_string(code, text, &n);
    *err = (FaError){.code = FA_E_CANCELLED};
    snprintf(err->what, sizeof err->what, "MPI cannot %s: %s", what, text);
    snprintf(err->remedy, sizeof err->remedy, "start the same command again: it goes on from what is there");
    return FA_E_CANCELLED;
}

static FaCode send_bytes(void *user, int to, const void *bytes, int size, FaError *err) {
    (void)user;
    int rc = MPI_Send(bytes, size, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    return rc == MPI_SUCCESS ? FA_OK : fail(err, "send", rc);
}

static int receive_bytes(void *user, int *from, void *bytes, int room, FaError *err) {
    (void)user;
    MPI_Status status;
    int there, size;
    int rc = MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &status);
    if (rc != MPI_SUCCESS) return fail(err, "listen", rc);
    if (!there) return 0;
    *from = status.MPI_SOURCE;
    rc = MPI_Recv(bytes, room, MPI_BYTE, *from, TAG, MPI_COMM_WORLD, &status);
    if (rc != MPI_SUCCESS || MPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS) return fail(err, "receive", rc);
    return size;
}

int main(int argc, char **argv) {
    FaDatasetTeam team = {.send = send_bytes, .receive = receive_bytes};
    int level;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) return EXIT_FAILED;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team.size);
    dataset_team = team.size > 1 ? &team : NULL;
    int code = cli_main(verbs, argc, argv);
    // a process that fails ends all: the others would wait for it
    if (code != EXIT_OK && team.size > 1) MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Finalize();
    return code;
}

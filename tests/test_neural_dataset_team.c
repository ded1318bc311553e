// labels: unit
// Processes that make one set: the same samples for any number of them, and a word where one is lost. Under MPI
// (mpirun, fascia-mpi) and, for what can go wrong, over plain sockets.
#include "test.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4 };

// --- over sockets --------------------------------------------------------------------------------------------------

typedef struct Wire {
    int size, rank;
    int fd[MOST][MOST]; // of i, to j
} Wire;

static FaCode send_bytes(void *user, int to, const void *bytes, int size, FaError *err) {
    const Wire *w = user;
    (void)err;
    send(w->fd[w->rank][to], bytes, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT); // nobody there: as with a dead machine
    return FA_OK;
}

static int receive_bytes(void *user, int *from, void *bytes, int room, FaError *err) {
    const Wire *w = user;
    (void)err;
    for (int i = 0; i < w->size; i++) {
        if (i == w->rank) continue;
        ssize_t n = recv(w->fd[w->rank][i], bytes, (size_t)room, MSG_DONTWAIT);
        if (n > 0) return *from = i, (int)n;
    }
    return 0;
}

// What each process ended with.
typedef struct Ended {
    FaCode code;
    uint64_t hash;
    int made;
    double seconds;
    FaError err;
} Ended;

typedef enum Trouble { NONE, SILENT, OTHER_SET } Trouble;

// silence: s. Where a process is lost, less than the work takes one alone, or it would be done before it notices.
static void process(Wire *wire, const char *dir, const FaDatasetOptions *options, Trouble trouble, double silence,
                    Ended *ended) {
    FaDatasetTeam team = {wire, wire->rank, wire->size, send_bytes, receive_bytes, silence};
    FaDatasetOptions o = *options;
    FaDatasetReport r;
    double start = fai_seconds();
    o.team = &team;
    if (trouble == SILENT) _exit(0);
    if (trouble == OTHER_SET) o.poses++;
    ended->code = fa_dataset_make(dir, &o, &r, &ended->err);
    ended->hash = r.hash;
    ended->made = r.made;
    ended->seconds = fai_seconds() - start;
    _exit(0);
}

// Starts `size` processes, the last one (of several) with trouble; all have ended when it returns.
static void team(int size, const char *dir, Trouble trouble, int troubled, Ended ended[MOST]) {
    Wire wire = {.size = size};
    FaDatasetOptions o = fa_dataset_options_default();
    pid_t pid[MOST];
    char path[400];
    snprintf(path, sizeof path, "%s", test_path(dir));
    o.method = "linear", o.ids = 4, o.poses = 1, o.workers = 1;
    Ended *shared = mmap(NULL, MOST * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < i; j++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
            wire.fd[i][j] = pair[0], wire.fd[j][i] = pair[1];
        }
    for (int i = 0; i < size; i++)
        if ((pid[i] = fork()) == 0) {
            wire.rank = i;
            process(&wire, path, &o, i == troubled ? trouble : NONE, trouble == SILENT ? 0.05 : 20, &shared[i]);
        }
    for (int i = 0; i < size; i++) waitpid(pid[i], NULL, 0);
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++)
            if (i != j) close(wire.fd[i][j]);
    memcpy(ended, shared, MOST * sizeof *ended);
    munmap(shared, MOST * sizeof *shared);
}

static void test_any_number_of_processes_makes_the_same(void **state) {
    (void)state;
    Ended one[MOST], ended[MOST];
    team(1, "one", NONE, -1, one);
    CHECK_OK(one[0].code, &one[0].err);
    assert_true(one[0].hash != 0);
    for (int size = 2; size <= MOST; size += 2) {
        team(size, size == 2 ? "two" : "four", NONE, -1, ended);
        for (int i = 0; i < size; i++) CHECK_OK(ended[i].code, &ended[i].err);
        assert_true(ended[0].hash == one[0].hash);
        assert_int_equal(ended[0].made, 4); // counted by the one that leads
    }
}

static void test_a_lost_process_ends_the_work(void **state) {
    (void)state;
    Ended ended[MOST];
    for (int lost = 1; lost >= 0; lost--) {
        team(2, lost ? "lost" : "headless", SILENT, lost, ended);
        Ended *left = &ended[1 - lost];
        assert_int_equal(left->code, FA_E_CANCELLED);
        assert_true(left->seconds < 30);
        assert_non_null(strstr(left->err.place, lost ? "process 1 of 2" : "process 0 of 2"));
        assert_true(left->err.remedy[0]);
    }
    // it goes on, to the same
    Ended whole[MOST];
    team(1, "one", NONE, -1, whole);
    team(2, "lost", NONE, -1, ended);
    CHECK_OK(ended[0].code, &ended[0].err);
    assert_true(ended[0].hash == whole[0].hash);
}

static void test_processes_that_mean_other_sets_say_so(void **state) {
    (void)state;
    Ended ended[MOST];
    team(2, "other", OTHER_SET, 1, ended);
    assert_int_equal(ended[0].code, FA_E_ARG);
    assert_non_null(strstr(ended[0].err.what, "another set"));
    assert_true(ended[1].code < 0); // nobody leads it
}

// --- MPI -----------------------------------------------------------------------------------------------------------

static bool have_mpi(void) {
    bool there = test_program("mpirun") && access(FASCIA_BINARY_DIR "/fascia-mpi", X_OK) == 0;
    if (!there) print_message("no mpirun, or no fascia-mpi: skipped (tools/setup test)\n");
    return there;
}

static const char *const MPI[] = {"mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "-n"};
static const char *const WORK[] = {FASCIA_BINARY_DIR "/fascia",
                                   "dataset",
                                   "--ids",
                                   "4",
                                   "--poses",
                                   "2",
                                   "--physics",
                                   "linear",
                                   "--threads",
                                   "1",
                                   "--json",
                                   "-o"};

static int mpi_arguments(const char **argv, const char *ranks, const char *dir, const char *ids) {
    int n = 0;
    for (int i = 0; ranks && i < FA_COUNT(MPI); i++) argv[n++] = MPI[i];
    if (ranks) argv[n++] = ranks;
    for (int i = 0; i < FA_COUNT(WORK); i++) argv[n++] = WORK[i];
    argv[n++] = dir;
    if (ids) argv[n++] = "--ids", argv[n++] = ids;
    argv[n] = NULL;
    return n;
}

// The hash that --json tells; empty: none.
static void read_hash(const char *path, char hash[20]) {
    char text[8192] = "";
    FILE *f = fopen(path, "r");
    if (f) text[fread(text, 1, sizeof text - 1, f)] = 0, fclose(f);
    const char *at = strstr(text, "\"hash\":\"");
    snprintf(hash, 20, "%.16s", at ? at + 8 : "");
}

static void test_mpirun_makes_the_same(void **state) {
    (void)state;
    if (!have_mpi()) skip();
    static const char *const all[] = {NULL, "2", "4", "1"};
    char first[20] = "", hash[20];
    for (int i = 0; i < (getenv("FASCIA_FULL") ? 4 : 2); i++) {
        char dir[400], out[400];
        const char *argv[40];
        snprintf(dir, sizeof dir, "%s%s", test_path("mpi"), all[i] ? all[i] : "0");
        snprintf(out, sizeof out, "%s.json", dir);
        mpi_arguments(argv, all[i], dir, NULL);
        assert_int_equal(test_run(argv, out), 0);
        read_hash(out, hash);
        assert_int_equal(strlen(hash), 16);
        if (i == 0) strcpy(first, hash);
        assert_string_equal(hash, first);
    }
}

// The process of fascia-mpi that works in `dir` and is not the first: by its command line.
static pid_t find_rank(const char *dir) {
    pid_t found = 0;
    FILE *ps = popen("ps -eo pid,args", "r");
    char line[2000];
    while (ps && fgets(line, sizeof line, ps))
        if (strstr(line, dir) && strstr(line, "fascia") && !strstr(line, "mpirun")) found = atoi(line);
    if (ps) pclose(ps);
    return found;
}

static void test_a_killed_rank_ends_the_job_and_it_goes_on(void **state) {
    (void)state;
    if (!have_mpi() || !getenv("FASCIA_FULL")) {
        print_message("with FASCIA_FULL=1 only\n");
        skip();
    }
    char dir[400], out[400], one[400], first[20], hash[20];
    const char *argv[40];
    snprintf(dir, sizeof dir, "%s", test_path("mpi_killed"));
    snprintf(one, sizeof one, "%s", test_path("mpi_whole"));
    snprintf(out, sizeof out, "%s.json", dir);
    mpi_arguments(argv, NULL, one, "60");
    assert_int_equal(test_run(argv, out), 0);
    read_hash(out, first);
    mpi_arguments(argv, "2", dir, "60");
    pid_t job = fork();
    if (job == 0) _exit(test_run(argv, out) & 255);
    char shard[500];
    snprintf(shard, sizeof shard, "%s/000004.shard", dir);
    for (int i = 0; i < 600 && access(shard, R_OK) != 0; i++) usleep(100000);
    pid_t rank = find_rank(dir);
    assert_true(rank > 1);
    double start = fai_seconds();
    kill(rank, SIGKILL);
    int status;
    waitpid(job, &status, 0);
    assert_true(fai_seconds() - start < 30);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 0);
    print_message("the job ended %.1f s after a rank was killed\n", fai_seconds() - start);
    assert_int_equal(test_run(argv, out), 0);
    read_hash(out, hash);
    assert_string_equal(hash, first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_processes_makes_the_same),
        cmocka_unit_test(test_a_lost_process_ends_the_work),
        cmocka_unit_test(test_processes_that_mean_other_sets_say_so),
        cmocka_unit_test(test_mpirun_makes_the_same),
        cmocka_unit_test(test_a_killed_rank_ends_the_job_and_it_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Parallel loops and jobs: every chunk once, whoever calls from wherever, and nobody left waiting.
#include "test.h"

#include "base/base.h"
#include "base/sanitized.h"
#include "base/task.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// --- every chunk once ---------------------------------------------------------------------------------------------

typedef struct Cover {
    int n, size;
    int *hits; // (n)
    atomic_int calls, bad;
} Cover;

static void cover(void *ctx, int begin, int end, int chunk) {
    Cover *c = ctx;
    atomic_fetch_add(&c->calls, 1);
    bool right = begin == chunk * c->size && end == (begin + c->size < c->n ? begin + c->size : c->n) && begin < end;
    if (!right) atomic_fetch_add(&c->bad, 1);
    for (int i = begin; i < end; i++) c->hits[i]++;
}

static void covers(void **state) {
    (void)state;
    int threads[] = {1, 2, 3, 8, 64}, sizes[] = {1, 3, 64, 1000};
    static int hits[1001];
    for (int t = 0; t < FA_COUNT(threads); t++) {
        fa_threads_set(threads[t]);
        assert_int_equal(fa_threads(), threads[t]);
        for (int s = 0; s < FA_COUNT(sizes); s++)
            for (int n = 0; n <= 1001; n = n < 10 ? n + 1 : n * 10 + 1) {
                if (n > 1001) break;
                memset(hits, 0, sizeof hits);
                Cover c = {n, sizes[s], hits, 0, 0};
                fai_parallel(n, sizes[s], cover, &c);
                assert_int_equal(atomic_load(&c.calls), fai_chunks(n, sizes[s]));
                assert_int_equal(atomic_load(&c.bad), 0);
                for (int i = 0; i < n; i++) assert_int_equal(hits[i], 1);
            }
    }
    fa_threads_set(0);
    assert_true(fa_threads() >= 1 && fa_threads() == fai_cores());
    fa_threads_set(-3);
    assert_int_equal(fa_threads(), fai_cores());
    fai_parallel(-5, 1, cover, NULL); // no call
}

static void count_end(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    long long *sum = ctx;
    *sum += (long long)end - begin;
}

// The last chunk of the largest loop ends at n, not beyond what an int holds.
static void largest(void **state) {
    (void)state;
    long long sum = 0;
    fa_threads_set(1);
    fai_parallel(INT32_MAX, INT32_MAX / 2, count_end, &sum);
    assert_true(sum == INT32_MAX);
    assert_int_equal(fai_chunks(INT32_MAX, INT32_MAX / 2), 3);
    assert_int_equal(fai_chunks(INT32_MAX, 1), INT32_MAX);
    fa_threads_set(0);
}

// --- loops back to back: late helpers must not meddle with the next one --------------------------------------------

typedef struct Small {
    int round;
    int seen[4];
} Small;

static void mark_round(void *ctx, int begin, int end, int chunk) {
    (void)end, (void)chunk;
    Small *s = ctx;
    s->seen[begin] = s->round;
}

static void back_to_back(void **state) {
    (void)state;
    int threads[] = {2, 8, 3};
    for (int round = 1; round <= 30000; round++) {
        if (round % 1000 == 1) fa_threads_set(threads[round / 1000 % 3]);
        if (round % 5000 == 0) usleep(2000); // long enough for the helpers to sleep
        int n = 2 + round % 3;
        Small s = {round, {0}}; // on the stack: anyone late would write into another loop's
        fai_parallel(n, 1, mark_round, &s);
        for (int i = 0; i < 4; i++) assert_int_equal(s.seen[i], i < n ? round : 0);
    }
    fa_threads_set(0);
}

// Threads really help: two chunks that wait for each other.
static void meet(void *ctx, int begin, int end, int chunk) {
    (void)begin, (void)end, (void)chunk;
    atomic_int *here = ctx;
    atomic_fetch_add(here, 1);
    while (atomic_load(here) < 3) sched_yield();
}

static void helps(void **state) {
    (void)state;
    fa_threads_set(3);
    for (int k = 0; k < 20; k++) {
        atomic_int here = 0;
        fai_parallel(3, 1, meet, &here);
        assert_int_equal(atomic_load(&here), 3);
    }
    fa_threads_set(0);
}

// --- inside each other and beside each other ----------------------------------------------------------------------

typedef struct Outer {
    _Alignas(64) int sum[16][32];
    atomic_int strangers;
} Outer;

typedef struct Inner {
    int *sum;
    pthread_t caller;
    atomic_int *strangers;
} Inner;

static void inner(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Inner *in = ctx;
    if (!pthread_equal(pthread_self(), in->caller)) atomic_fetch_add(in->strangers, 1);
    for (int i = begin; i < end; i++) in->sum[i] += i;
}

static void outer(void *ctx, int begin, int end, int chunk) {
    (void)end, (void)chunk;
    Outer *o = ctx;
    fai_parallel(32, 1, inner, &(Inner){o->sum[begin], pthread_self(), &o->strangers});
}

static void nested_is_serial(void **state) {
    (void)state;
    fa_threads_set(4);
    static Outer o;
    memset(&o, 0, sizeof o);
    for (int k = 0; k < 200; k++) fai_parallel(16, 1, outer, &o);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 32; j++) assert_int_equal(o.sum[i][j], 200 * j);
    assert_int_equal(atomic_load(&o.strangers), 0);
    fa_threads_set(0);
}

static void add_up(void *ctx, int begin, int end, int chunk) {
    long long *part = ctx, sum = 0;
    for (int i = begin; i < end; i++) sum += i;
    part[chunk] = sum;
}

static void *many_loops(void *arg) {
    (void)arg;
    for (int k = 0; k < 2000; k++) {
        long long part[20] = {0}, sum = 0;
        fai_parallel(2000, 100, add_up, part);
        for (int c = 0; c < 20; c++) sum += part[c];
        if (sum != 1999000) return (void *)"wrong sum";
    }
    return NULL;
}

static void several_callers(void **state) {
    (void)state;
    fa_threads_set(3);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, many_loops, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(pthread_join(t[i], &wrong), 0);
        assert_null(wrong);
    }
    fa_threads_set(0);
}

// --- forks --------------------------------------------------------------------------------------------------------

static void child_works(void) {
    alarm(20); // a child that hangs is a child that fails
    long long part[20] = {0}, sum = 0;
    for (int k = 0; k < 100; k++) fai_parallel(2000, 100, add_up, part);
    for (int c = 0; c < 20; c++) sum += part[c];
    atomic_int here = 0;
    fa_threads_set(3);
    fai_parallel(3, 1, meet, &here); // its own helpers
    _exit(sum == 1999000 ? 0 : 1);
}

static void forks(void **state) {
    (void)state;
#if FA_SANITIZED_THREADS
    print_message("the thread sanitizer does not follow forks\n");
    skip();
#endif
    fa_threads_set(3);
    for (int k = 0; k < 10; k++) {
        long long part[20];
        fai_parallel(2000, 100, add_up, part);
        if (k % 2) usleep(1000); // helpers awake, helpers asleep
        pid_t child = fork();
        if (child == 0) child_works();
        assert_true(child > 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        fai_parallel(2000, 100, add_up, part);
    }
    fa_threads_set(0);
}

// --- jobs ---------------------------------------------------------------------------------------------------------

typedef struct Work {
    atomic_int go;
    int runs;
    pthread_t thread;
    long long part[20];
} Work;

static void work(void *ctx) {
    Work *w = ctx;
    while (!atomic_load(&w->go)) sched_yield();
    w->thread = pthread_self();
    atomic_int strangers = 0;
    int sum[32] = {0};
    fai_parallel(32, 1, inner, &(Inner){sum, pthread_self(), &strangers});
    fai_parallel(2000, 100, add_up, w->part);
    w->runs += atomic_load(&strangers) ? 1000 : 1;
}

static void jobs(void **state) {
    (void)state;
    fa_threads_set(2);
    FaJob job = {0};
    assert_true(fai_job_done(&job));
    fai_job_wait(&job);
    fai_job_free(&job);
    Work w = {0};
    for (int round = 1; round <= 5; round++) {
        atomic_store(&w.go, 0);
        fai_job_start(&job, work, &w);
        assert_false(fai_job_done(&job));
        long long part[20];
        fai_parallel(2000, 100, add_up, part); // the caller goes on, with helpers
        atomic_store(&w.go, 1);
        if (round % 2)
            while (!fai_job_done(&job)) sched_yield();
        else
            fai_job_wait(&job);
        assert_true(fai_job_done(&job));
        assert_int_equal(w.runs, round);
        assert_false(pthread_equal(w.thread, pthread_self()));
        assert_memory_equal(w.part, part, sizeof part);
    }
    fai_job_start(&job, work, &w);
    fai_job_start(&job, work, &w); // waits for the one before
    fai_job_free(&job);            // and this for both
    assert_int_equal(w.runs, 7);
    fai_job_start(&job, work, &w);
    fai_job_free(&job);
    assert_int_equal(w.runs, 8);
    fa_threads_set(0);
}

static void jobs_and_forks(void **state) {
    (void)state;
#if FA_SANITIZED_THREADS
    skip();
#endif
    FaJob job = {0};
    Work w = {.go = 1};
    fai_job_start(&job, work, &w);
    fai_job_wait(&job);
    atomic_store(&w.go, 0);
    fai_job_start(&job, work, &w);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        fai_job_wait(&job); // lost, but no hang
        atomic_store(&w.go, 1);
        fai_job_start(&job, work, &w);
        fai_job_free(&job);
        _exit(w.runs == 2 ? 0 : 1);
    }
    atomic_store(&w.go, 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fai_job_free(&job);
    assert_int_equal(w.runs, 2);
}

// Signals of the program are not delivered to our threads.
static atomic_int wrong_thread;
static pthread_t main_thread;
static void on_signal(int s) {
    (void)s;
    if (!pthread_equal(pthread_self(), main_thread)) atomic_store(&wrong_thread, 1);
}

static void signals_stay(void **state) {
    (void)state;
    main_thread = pthread_self();
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    sigaction(SIGUSR1, &act, &old);
    FaJob job = {0};
    Work w = {0};
    fai_job_start(&job, work, &w);
    for (int k = 0; k < 20; k++) kill(getpid(), SIGUSR1);
    atomic_store(&w.go, 1);
    fai_job_free(&job);
    sigaction(SIGUSR1, &old, NULL);
    assert_int_equal(atomic_load(&wrong_thread), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(covers),
        cmocka_unit_test(largest),
        cmocka_unit_test(back_to_back),
        cmocka_unit_test(helps),
        cmocka_unit_test(nested_is_serial),
        cmocka_unit_test(several_callers),
        cmocka_unit_test(forks),
        cmocka_unit_test(jobs),
        cmocka_unit_test(jobs_and_forks),
        cmocka_unit_test(signals_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

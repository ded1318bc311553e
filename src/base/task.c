// One loop at a time has the helpers. Everything that decides is in one 64-bit word:
//
//     ticket   |  loop number (32 bits)  |  chunks not yet taken (32 bits)  |
//
// To take a chunk is to count the ticket down by compare-and-swap. Success proves that the loop read before is the loop
// still running, since its fields are overwritten only after its last chunk was taken and the number never comes back;
// so a helper that wakes late, or is preempted anywhere, can neither take part in a loop that is over nor hold one up.
// The caller takes chunks like everybody, and at the end waits for the chunks that helpers took and have not finished.
#include "base/task.h"

#include "base/base.h"

#include <signal.h>
#include <time.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <unistd.h>
#endif

enum {
    HELPERS_MAX = 255,
    SPIN_NS = 200000,     // a helper looks for the next loop, then sleeps
    SPIN_END_NS = 100000, // the caller looks for the end of the last chunks, then sleeps
};

typedef struct Helper {
    _Alignas(64) atomic_int asleep; // 1: waits on this word; whoever sets it to 0 wakes it
    pthread_t thread;
} Helper;

static struct {
    _Alignas(64) _Atomic uint64_t ticket;
    // the loop; written while no chunk is left
    _Atomic(FaTaskFn *) fn;
    _Atomic(void *) ctx;
    atomic_int n, chunk_size, chunks, helpers;
    _Alignas(64) atomic_int finished; // chunks that helpers ended
    atomic_int caller_asleep;         // on `finished`
    _Alignas(64) atomic_int busy;     // a loop has the helpers
    atomic_int quit;
    int started; // helpers alive; guarded by busy
    Helper helper[HELPERS_MAX];
} pool;

static atomic_int thread_limit;   // 0: all cores
static atomic_int cores_known;    // 0: not asked yet
static atomic_int forks;          // above this process
static _Thread_local bool inside; // a chunk or a job: loops run serially
static pthread_once_t once = PTHREAD_ONCE_INIT;

// --- sleeping and waiting -----------------------------------------------------------------------------------------

#ifdef __linux__
// Sleep while *word is `value`; may return early.
static void sleep_on(atomic_int *word, int value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
static void wake_all(atomic_int *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0); }
#else
static pthread_mutex_t sleep_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sleep_cond = PTHREAD_COND_INITIALIZER;
static void sleep_on(atomic_int *word, int value) {
    pthread_mutex_lock(&sleep_lock);
    if (atomic_load(word) == value) pthread_cond_wait(&sleep_cond, &sleep_lock);
    pthread_mutex_unlock(&sleep_lock);
}
static void wake_all(atomic_int *word) {
    (void)word;
    pthread_mutex_lock(&sleep_lock);
    pthread_cond_broadcast(&sleep_cond);
    pthread_mutex_unlock(&sleep_lock);
}
#endif

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// A wait of some time, then false for good. No time passes where threads share cores: others need them.
typedef struct Spin {
    int64_t end;
    int count;
} Spin;

static bool spin(Spin *s, int64_t ns) {
    if (++s->count % 16 == 1) {
        int64_t t = now_ns();
        if (!s->end) s->end = t + ns;
        if (t >= s->end) return false;
    }
    relax();
    return true;
}

// --- cores and limits ---------------------------------------------------------------------------------------------

int fai_cores(void) {
    int n = atomic_load_explicit(&cores_known, memory_order_relaxed);
    if (n) return n;
#ifdef __linux__
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) n = CPU_COUNT(&set);
#endif
    if (n < 1) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    n = FA_MAX(n, 1);
    atomic_store_explicit(&cores_known, n, memory_order_relaxed);
    return n;
}

void fa_threads_set(int count) { atomic_store(&thread_limit, FA_MAX(count, 0)); }

int fa_threads(void) {
    int limit = atomic_load_explicit(&thread_limit, memory_order_relaxed);
    return limit ? limit : fai_cores();
}

int fai_chunks(int n, int chunk_size) { return n <= 0 ? 0 : (n - 1) / chunk_size + 1; }

// --- threads ------------------------------------------------------------------------------------------------------

// Signals are for the program's own threads.
static bool start_thread(pthread_t *thread, void *(*fn)(void *), void *arg) {
    sigset_t all, old;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old)) return false;
    bool ok = !pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}

// A forked child has one thread, and whatever the others were at is gone: begin anew.
static void forget_threads(void) {
    atomic_fetch_add(&forks, 1);
    pool.started = 0;
    atomic_store(&pool.busy, 0);
    atomic_store(&pool.caller_asleep, 0);
    uint64_t number = (atomic_load(&pool.ticket) >> 32) + 1;
    atomic_store(&pool.ticket, number << 32);
    for (int i = 0; i < HELPERS_MAX; i++) atomic_store(&pool.helper[i].asleep, 0);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_threads); }

// At exit, or when the library is unloaded, no thread may be left in its code.
__attribute__((destructor)) static void end_helpers(void) {
    if (inside || atomic_exchange(&pool.busy, 1))
        return; // called from, or beside, a running loop: they end with the process
    atomic_store(&pool.quit, 1);
    for (int i = 0; i < pool.started; i++)
        if (atomic_exchange(&pool.helper[i].asleep, 0)) wake_all(&pool.helper[i].asleep);
    for (int i = 0; i < pool.started; i++) pthread_join(pool.helper[i].thread, NULL);
    pool.started = 0;
}

// --- loops --------------------------------------------------------------------------------------------------------

static inline void run_chunk(FaTaskFn *fn, void *ctx, int n, int chunk_size, int c) {
    int begin = c * chunk_size; // below n
    fn(ctx, begin, n - begin > chunk_size ? begin + chunk_size : n, c);
}

// Take and run one chunk, if any is left.
static bool take_chunk(void) {
    uint64_t t = atomic_load_explicit(&pool.ticket, memory_order_acquire);
    for (;;) {
        uint32_t left = (uint32_t)t;
        if (!left) return false;
        FaTaskFn *fn = atomic_load_explicit(&pool.fn, memory_order_relaxed);
        void *ctx = atomic_load_explicit(&pool.ctx, memory_order_relaxed);
        int n = atomic_load_explicit(&pool.n, memory_order_relaxed);
        int chunk_size = atomic_load_explicit(&pool.chunk_size, memory_order_relaxed);
        int chunks = atomic_load_explicit(&pool.chunks, memory_order_relaxed);
        if (atomic_compare_exchange_weak(&pool.ticket, &t, t - 1)) {
            run_chunk(fn, ctx, n, chunk_size, chunks - (int)left);
            return true;
        }
    }
}

static bool work_for(int helper) {
    return (uint32_t)atomic_load(&pool.ticket) && helper < atomic_load_explicit(&pool.helpers, memory_order_relaxed);
}

static void help_out(int h) {
    while (work_for(h) && take_chunk()) {
        atomic_fetch_add(&pool.finished, 1);
        if (atomic_load(&pool.caller_asleep)) wake_all(&pool.finished);
    }
}

static void *helper_main(void *arg) {
    int h = (int)(intptr_t)arg;
    atomic_int *asleep = &pool.helper[h].asleep;
    inside = true;
    while (!atomic_load(&pool.quit)) {
        help_out(h);
        Spin s = {0, 0};
        bool crowded = h + 1 >= fai_cores();
        while (!crowded && !work_for(h) && !atomic_load_explicit(&pool.quit, memory_order_relaxed) &&
               spin(&s, SPIN_NS)) {}
        if (work_for(h)) continue;
        // say so first, look again, then sleep: the caller does it the other way round
        atomic_store(asleep, 1);
        if (work_for(h) || atomic_load(&pool.quit)) {
            atomic_store(asleep, 0);
            continue;
        }
        while (atomic_load(asleep)) sleep_on(asleep, 1);
    }
    return NULL;
}

// As many as can be had; fewer is no failure.
static int start_helpers(int want) {
    pthread_once(&once, watch_forks);
    want = FA_MIN(want, HELPERS_MAX);
    while (pool.started < want &&
           start_thread(&pool.helper[pool.started].thread, helper_main, (void *)(intptr_t)pool.started))
        pool.started++;
    return FA_MIN(pool.started, want);
}

static void wait_finished(int want) {
    Spin s = {0, 0};
    bool crowded = atomic_load(&pool.helpers) >= fai_cores();
    while (atomic_load_explicit(&pool.finished, memory_order_acquire) != want)
        if (crowded || !spin(&s, SPIN_END_NS)) break;
    if (atomic_load(&pool.finished) == want) return;
    atomic_store(&pool.caller_asleep, 1);
    for (int f; (f = atomic_load(&pool.finished)) != want;) sleep_on(&pool.finished, f);
    atomic_store(&pool.caller_asleep, 0);
}

void fai_parallel(int n, int chunk_size, FaTaskFn *fn, void *ctx) {
    int chunks = fai_chunks(n, chunk_size), threads = FA_MIN(fa_threads(), chunks);
    if (threads <= 1 || inside || atomic_exchange(&pool.busy, 1)) {
        for (int c = 0; c < chunks; c++) run_chunk(fn, ctx, n, chunk_size, c);
        return;
    }
    int helpers = start_helpers(threads - 1);
    atomic_store_explicit(&pool.fn, fn, memory_order_relaxed);
    atomic_store_explicit(&pool.ctx, ctx, memory_order_relaxed);
    atomic_store_explicit(&pool.n, n, memory_order_relaxed);
    atomic_store_explicit(&pool.chunk_size, chunk_size, memory_order_relaxed);
    atomic_store_explicit(&pool.chunks, chunks, memory_order_relaxed);
    atomic_store_explicit(&pool.helpers, helpers, memory_order_relaxed);
    atomic_store_explicit(&pool.finished, 0, memory_order_relaxed);
    uint64_t number = (atomic_load_explicit(&pool.ticket, memory_order_relaxed) >> 32) + 1;
    atomic_store(&pool.ticket, number << 32 | (uint32_t)chunks);
    for (int h = 0; h < helpers; h++)
        if (atomic_load(&pool.helper[h].asleep) && atomic_exchange(&pool.helper[h].asleep, 0))
            wake_all(&pool.helper[h].asleep);

    inside = true;
    int own = 0;
    while (take_chunk()) own++;
    inside = false;
    wait_finished(chunks - own);
    atomic_store_explicit(&pool.busy, 0, memory_order_release);
}

// --- jobs ---------------------------------------------------------------------------------------------------------

enum { IDLE, RUN, DONE, QUIT }; // DONE and IDLE differ for nobody but the reader

static void *job_main(void *arg) {
    FaJob *job = arg;
    inside = true;
    for (;;) {
        int s = atomic_load(&job->state);
        if (s == QUIT) return NULL;
        if (s != RUN) {
            sleep_on(&job->state, s);
            continue;
        }
        job->fn(job->ctx);
        atomic_store(&job->state, DONE);
        wake_all(&job->state);
    }
}

// In a forked child the thread is not there any more.
static bool has_thread(const FaJob *job) { return job->alive && job->process == atomic_load(&forks); }

bool fai_job_done(FaJob *job) { return !has_thread(job) || atomic_load(&job->state) != RUN; }

void fai_job_wait(FaJob *job) {
    if (!has_thread(job)) return;
    while (atomic_load(&job->state) == RUN) sleep_on(&job->state, RUN);
}

void fai_job_start(FaJob *job, FaJobFn *fn, void *ctx) {
    fai_job_wait(job);
    job->fn = fn;
    job->ctx = ctx;
    if (has_thread(job)) {
        atomic_store(&job->state, RUN);
        wake_all(&job->state);
        return;
    }
    pthread_once(&once, watch_forks);
    job->process = atomic_load(&forks);
    atomic_store(&job->state, RUN);
    job->alive = start_thread(&job->thread, job_main, job);
    if (job->alive) return;
    atomic_store(&job->state, IDLE);
    bool was = inside;
    inside = true; // the same bits, and no surprise, either way
    fn(ctx);
    inside = was;
}

void fai_job_free(FaJob *job) {
    fai_job_wait(job);
    if (has_thread(job)) {
        atomic_store(&job->state, QUIT);
        wake_all(&job->state);
        pthread_join(job->thread, NULL);
    }
    *job = (FaJob){0};
}

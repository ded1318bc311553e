// Parallel loops whose result does not depend on the number of threads: chunks depend on n only, each chunk writes
// its own memory, and partial results are combined by the caller in chunk order. And jobs: work beside the caller's.
//
// The loops are made for real time. The caller takes chunks itself and waits only for chunks that a helper has begun,
// never for helpers that are asleep or preempted, so that a busy machine costs help and not a frame. Helpers look out
// for the next loop for some 50 us before they sleep: loops that follow each other start within 1 us.
#ifndef FAI_TASK_H
#define FAI_TASK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef void FaTaskFn(void *ctx, int begin, int end, int chunk);

int fai_cores(void);                   // that this process may use, at least 1
int fai_chunks(int n, int chunk_size); // how many calls fai_parallel makes
// fn(ctx, begin, end, chunk) for each chunk of [0, n), chunk_size > 0. Runs in order on the caller's thread alone
// inside another parallel loop, inside a job, and while another thread's loop has the helpers. Any thread may call it.
// A process forked from within fn must not return from it.
void fai_parallel(int n, int chunk_size, FaTaskFn *fn, void *ctx);

// Work that goes on beside the caller's, on a thread of its own that lives from the first start to fai_job_free and
// sleeps in between. Zero an FaJob before the first use; one thread owns it, and it stays where it is. Parallel loops
// inside run on the job's thread alone.
typedef void FaJobFn(void *ctx);
typedef struct FaJob {
    FaJobFn *fn;
    void *ctx;
    pthread_t thread;
    atomic_int state; // see task.c
    int process;      // forks before the thread was made: a forked child has no threads
    bool alive;
} FaJob;

void fai_job_start(FaJob *job, FaJobFn *fn,
                   void *ctx); // waits for the work before it; runs at once where threads are refused
bool fai_job_done(FaJob *job); // true also if nothing was started; what it wrote may then be read
void fai_job_wait(FaJob *job); // returns when done; in a forked child, at once (the work is lost)
void fai_job_free(FaJob *job); // waits, ends the thread; may be started anew

#endif

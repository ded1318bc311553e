#include "neural/dataset_work.h"

#include "base/file.h"
#include "base/scratch.h"
#include "base/task.h"
#include "neural/dataset_deal.h"
#include "neural/dataset_team.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MOST = 256 };
static const double PAUSE = 0.02; // s between two looks at what has happened
static const double SHOW = 0.2;   // s between two words on progress

// --- one person ----------------------------------------------------------------------------------------------------

static FaCode make(const FaWork *w, const FaTeacher *t, const char *path, int person, FaOutcomeOf *o, FaError *err) {
    FaShard shard;
    FaTaught taught;
    FaFolderShard found;
    FA_TRY(fai_samples_make(t, (uint64_t)person, w->folder->poses, &shard, &taught, err));
    unlink(path); // what is there is no whole shard of this set
    FaCode rc = fai_shard_write(path, &shard, err);
    fai_shard_free(&shard);
    FA_TRY(rc);
    FA_TRY(rc = fai_folder_look(w->folder, person, &found, err));
    if (rc != FA_OK)
        return fai_fail_in(err, FA_FAIL(err, FA_E_FILE, NULL, "check the disk", "what was written cannot be read back"),
                           path);
    *o = (FaOutcomeOf){person, FA_OUT_MADE, found.samples, found.dropped, {0}, found.sum, found.bytes, taught.seconds};
    memcpy(o->drop, taught.drop, sizeof o->drop);
    return FA_OK;
}

// With the claim: another run may have made it while this one looked.
static FaCode look_or_make(const FaWork *w, const FaTeacher *t, const char *path, int person, FaOutcomeOf *o,
                           FaError *err) {
    FaFolderShard found;
    FaClaim *claim;
    FaError words = {0};
    bool taken;
    FaCode rc = fai_folder_look(w->folder, person, &found, err);
    FA_TRY(rc);
    if (rc == FA_STALLED) {
        rc = fai_claim_new(path, "fascia dataset", &claim, &taken, &words);
        if (taken) return o->outcome = FA_OUT_ELSEWHERE, FA_OK;
        if (rc < 0) {
            if (err) *err = words;
            return rc;
        }
        rc = fai_folder_look(w->folder, person, &found, err);
        if (rc == FA_STALLED) {
            rc = make(w, t, path, person, o, err);
            fa_claim_free(claim);
            return rc;
        }
        fa_claim_free(claim);
        FA_TRY(rc);
    }
    *o = (FaOutcomeOf){person, FA_OUT_THERE, found.samples, found.dropped, {0}, found.sum, found.bytes, 0};
    return FA_OK;
}

FaCode fai_work_person(const FaWork *w, const FaTeacher *t, int person, FaOutcomeOf *o, FaError *err) {
    *o = (FaOutcomeOf){.person = person};
    char *path = fai_folder_shard(w->folder, person);
    if (!path) return FA_FAIL_MEMORY(err);
    FaCode rc = look_or_make(w, t, path, person, o, err);
    fa_free(path);
    return rc;
}

// --- threads -------------------------------------------------------------------------------------------------------

// Workers take from `give` and put into `got`; the thread that called does the rest.
typedef struct Crew {
    const FaWork *work;
    FaTeacher teacher;
    pthread_mutex_t mutex;
    pthread_cond_t change, news; // for workers; for the caller
    int ngive, give[WORKERS_MOST];
    int ngot;
    FaOutcomeOf got[2 * WORKERS_MOST];
    int out; // people given and not yet back
    bool over;
    atomic_bool stop;
    FaCode code; // of the first failure
    FaError err;
} Crew;

static bool take(Crew *c, int *person) {
    pthread_mutex_lock(&c->mutex);
    while (!c->over && c->ngive == 0) pthread_cond_wait(&c->change, &c->mutex);
    bool got = !c->over;
    if (got) {
        *person = c->give[0];
        memmove(c->give, c->give + 1, (size_t)--c->ngive * sizeof *c->give);
    }
    pthread_mutex_unlock(&c->mutex);
    return got;
}

static void put(Crew *c, FaCode rc, const FaOutcomeOf *o, const FaError *err) {
    pthread_mutex_lock(&c->mutex);
    c->out--;
    if (rc >= 0)
        c->got[c->ngot++] = *o;
    else if (c->code >= 0)
        c->code = rc, c->err = *err;
    pthread_cond_signal(&c->news);
    pthread_mutex_unlock(&c->mutex);
}

static void worker(void *ctx) {
    Crew *c = ctx;
    int person;
    while (take(c, &person)) {
        FaOutcomeOf o;
        FaError err = {0};
        FaCode rc = fai_work_person(c->work, &c->teacher, person, &o, &err);
        put(c, rc, &o, &err);
    }
}

// --- the caller ----------------------------------------------------------------------------------------------------

typedef struct Lead {
    const FaWork *work;
    FaTeam team;
    FaDeal deal;
    bool leads;
    double shown;
} Lead;

static FaCode next_person(Lead *l, int *person, FaError *err) {
    if (!l->leads) return fai_team_next(&l->team, person, err);
    *person = fai_deal_next(&l->deal);
    return FA_OK;
}

static FaCode tell(Lead *l, const FaOutcomeOf *o, FaError *err) {
    if (!l->leads) return fai_team_done(&l->team, o, err);
    fai_deal_done(&l->deal, o);
    return FA_OK;
}

static FaCode show(Lead *l, FaError *err) {
    const FaWork *w = l->work;
    double now = fai_seconds();
    if (!l->leads || !w->progress || now - l->shown < SHOW) return FA_OK;
    l->shown = now;
    if (w->progress(w->progress_user, w->report, l->deal.people)) return FA_OK;
    return FA_FAIL(err, FA_E_CANCELLED, NULL, "start the same command again: it goes on from what is there",
                   "stopped; %d of %d people are there", l->deal.done, l->deal.people);
}

static FaCode give_and_take(Lead *l, Crew *c, bool *none, FaError *err) {
    FaOutcomeOf got[2 * WORKERS_MOST];
    pthread_mutex_lock(&c->mutex);
    int n = c->ngot, room = l->work->workers - c->out;
    memcpy(got, c->got, (size_t)n * sizeof *got);
    c->ngot = 0;
    FaCode rc = c->code;
    if (rc < 0 && err) *err = c->err;
    pthread_mutex_unlock(&c->mutex);
    FA_TRY(rc);
    for (int i = 0; i < n; i++) FA_TRY(tell(l, &got[i], err));
    for (; room > 0; room--) {
        int person;
        FA_TRY(next_person(l, &person, err));
        *none = person == FA_DEAL_NONE;
        if (person < 0) break;
        pthread_mutex_lock(&c->mutex);
        c->give[c->ngive++] = person;
        c->out++;
        pthread_cond_signal(&c->change);
        pthread_mutex_unlock(&c->mutex);
    }
    return FA_OK;
}

static void wait_for_news(Crew *c) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(1e9 * PAUSE);
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&c->mutex);
    if (c->ngot == 0 && c->code >= 0) pthread_cond_timedwait(&c->news, &c->mutex, &until);
    pthread_mutex_unlock(&c->mutex);
}

static FaCode lead_crew(Lead *l, Crew *c, FaError *err) {
    for (bool none = false;;) {
        FA_TRY(give_and_take(l, c, &none, err));
        if (l->work->team) FA_TRY(fai_team_listen(&l->team, l->leads ? &l->deal : NULL, err));
        FA_TRY(show(l, err));
        if (none && c->out == 0) break;
        wait_for_news(c);
    }
    return l->leads && l->work->team ? fai_team_stop(&l->team, err) : FA_OK;
}

static FaCode with_crew(Lead *l, FaError *err) {
    const FaWork *w = l->work;
    Crew *c = FA_NEW(1, Crew);
    FaJob *job = FA_NEW(w->workers, FaJob);
    FaCode rc = c && job ? FA_OK : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        c->work = w;
        c->teacher = *w->teacher;
        c->teacher.stop = &c->stop;
        c->teacher.alone = false;
        pthread_mutex_init(&c->mutex, NULL);
        pthread_cond_init(&c->change, NULL);
        pthread_cond_init(&c->news, NULL);
        for (int i = 0; i < w->workers; i++) fai_job_start(&job[i], worker, c);
        rc = lead_crew(l, c, err);
        pthread_mutex_lock(&c->mutex);
        c->over = true;
        atomic_store(&c->stop, true);
        pthread_cond_broadcast(&c->change);
        pthread_mutex_unlock(&c->mutex);
        for (int i = 0; i < w->workers; i++) fai_job_free(&job[i]);
        pthread_cond_destroy(&c->news);
        pthread_cond_destroy(&c->change);
        pthread_mutex_destroy(&c->mutex);
    }
    fa_free(job);
    fa_free(c);
    return rc;
}

// One at a time on this thread: loops inside have all threads.
static FaCode by_myself(Lead *l, FaError *err) {
    for (;;) {
        int person = fai_deal_next(&l->deal);
        FaOutcomeOf o;
        FA_TRY(show(l, err));
        if (person == FA_DEAL_NONE) return FA_OK;
        if (person == FA_DEAL_WAIT) {
            usleep((useconds_t)(1e6 * PAUSE));
            continue;
        }
        FA_TRY(fai_work_person(l->work, l->work->teacher, person, &o, err));
        fai_deal_done(&l->deal, &o);
    }
}

FaCode fai_work_run(const FaWork *w, FaError *err) {
    Lead l = {.work = w, .leads = !w->team || w->team->rank == 0};
    FA_ASSERT(w->workers >= 1 && w->workers <= WORKERS_MOST);
    FaCode rc = w->team ? fai_team_open(&l.team, w->team, w->folder->key, err) : FA_OK;
    if (rc >= 0 && l.leads) rc = fai_deal_open(&l.deal, w, err);
    if (rc >= 0) rc = w->workers > 1 || w->team ? with_crew(&l, err) : by_myself(&l, err);
    fai_deal_close(&l.deal);
    fai_team_close(&l.team);
    return rc;
}

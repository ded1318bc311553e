#include "neural/dataset_team.h"

typedef enum Word { ASK, GIVE, DONE, ALIVE, STOP } Word;

typedef struct Message {
    int word, person; // person: or FA_DEAL_WAIT
    uint64_t key;     // of the set: all must mean the same
    FaOutcomeOf outcome;
} Message;
_Static_assert(sizeof(Message) <= 256, "a short message");

static const double SILENCE = 20; // s
static const double PAUSE = 0.1;  // s until a process asks again that was told to wait
enum { WORDS = 10 };              // of being alive, within the silence that is allowed

static double silence(const FaTeam *team) { return team->t->silence > 0 ? team->t->silence : SILENCE; }

FaCode fai_team_open(FaTeam *team, const FaDatasetTeam *t, uint64_t key, FaError *err) {
    *team = (FaTeam){.t = t, .key = key, .said = fai_seconds(), .got = FA_DEAL_WAIT};
    team->heard = FA_NEW(t->size, double);
    if (!team->heard) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < t->size; i++) team->heard[i] = fai_seconds();
    return FA_OK;
}

void fai_team_close(FaTeam *team) {
    fa_free(team->heard);
    *team = (FaTeam){0};
}

static FaCode say(FaTeam *team, int to, Message m, FaError *err) {
    m.key = team->key;
    return team->t->send(team->t->user, to, &m, sizeof m, err);
}

static FaCode other_set(const FaTeam *team, int from, FaError *err) {
    return FA_FAIL(err, FA_E_ARG, FA_PLACE("process %d of %d", from, team->t->size),
                   "give all processes the same program, options and files", "it makes another set than process %d",
                   team->t->rank);
}

static FaCode hear(FaTeam *team, FaDeal *deal, int from, const Message *m, FaError *err) {
    if (m->key != team->key) return other_set(team, from, err);
    team->heard[from] = fai_seconds();
    if (deal && m->word == ASK) {
        int person = fai_deal_next(deal);
        return say(team, from, (Message){.word = GIVE, .person = person == FA_DEAL_NONE ? FA_DEAL_WAIT : person}, err);
    }
    bool sane = m->outcome.person >= 0 && m->outcome.person < (deal ? deal->ids : 1);
    if (deal && m->word == DONE && sane) fai_deal_done(deal, &m->outcome);
    if (!deal && m->word == STOP) team->stopped = true;
    if (!deal && m->word == GIVE) {
        team->asked = false;
        team->got = m->person;
        if (m->person < 0) team->pause = fai_seconds() + PAUSE;
    }
    return FA_OK;
}

static FaCode lost(const FaTeam *team, int who, double since, FaError *err) {
    return FA_FAIL(err, FA_E_CANCELLED, FA_PLACE("process %d of %d", who, team->t->size),
                   "start the same command again: it goes on from what is there",
                   "nothing was heard from it for %.0f s: it or its machine has stopped", since);
}

// Process 0 and each of the others look after each other.
static FaCode look_after(FaTeam *team, FaError *err) {
    double now = fai_seconds();
    int first = team->t->rank == 0 ? 1 : 0, last = team->t->rank == 0 ? team->t->size - 1 : 0;
    bool speak = now - team->said > silence(team) / WORDS;
    if (speak) team->said = now;
    for (int i = first; i <= last; i++) {
        if (speak) FA_TRY(say(team, i, (Message){.word = ALIVE}, err));
        if (now - team->heard[i] > silence(team)) return lost(team, i, now - team->heard[i], err);
    }
    return FA_OK;
}

FaCode fai_team_listen(FaTeam *team, FaDeal *deal, FaError *err) {
    Message m;
    int from, n;
    while ((n = team->t->receive(team->t->user, &from, &m, sizeof m, err)) != 0) {
        if (n < 0) return (FaCode)n;
        if (n != sizeof m || from < 0 || from >= team->t->size) return other_set(team, from, err);
        FA_TRY(hear(team, deal, from, &m, err));
    }
    return look_after(team, err);
}

FaCode fai_team_next(FaTeam *team, int *person, FaError *err) {
    *person = FA_DEAL_WAIT;
    if (team->stopped) return *person = FA_DEAL_NONE, FA_OK;
    if (team->got >= 0) {
        *person = team->got;
        team->got = FA_DEAL_WAIT;
        return FA_OK;
    }
    if (team->asked || fai_seconds() < team->pause) return FA_OK;
    team->asked = true;
    return say(team, 0, (Message){.word = ASK}, err);
}

FaCode fai_team_done(FaTeam *team, const FaOutcomeOf *outcome, FaError *err) {
    return say(team, 0, (Message){.word = DONE, .outcome = *outcome}, err);
}

FaCode fai_team_stop(FaTeam *team, FaError *err) {
    for (int i = 1; i < team->t->size; i++) FA_TRY(say(team, i, (Message){.word = STOP}, err));
    return FA_OK;
}

#include "neural/dataset_deal.h"

static const double AGAIN = 0.5; // s until another run is asked again

static int first_after(const FaDeal *d, int person) {
    while (person < d->ids && person % d->shares != d->share - 1) person++;
    return person;
}

FaCode fai_deal_open(FaDeal *d, const FaWork *work, FaError *err) {
    *d = (FaDeal){.ids = work->folder->ids, .share = work->share, .shares = work->shares, .work = work};
    for (int i = first_after(d, 0); i < d->ids; i = first_after(d, i + 1)) d->people++;
    d->next = first_after(d, 0);
    d->later = FA_NEW(d->people, int);
    return d->later ? FA_OK : FA_FAIL_MEMORY(err);
}

void fai_deal_close(FaDeal *d) {
    fa_free(d->later);
    *d = (FaDeal){0};
}

int fai_deal_next(FaDeal *d) {
    int person = d->next;
    if (d->done == d->people) return FA_DEAL_NONE;
    if (person < d->ids) {
        d->next = first_after(d, person + 1);
        return person;
    }
    if (d->nlater == 0 || fai_seconds() < d->when) return FA_DEAL_WAIT;
    person = d->later[0];
    memmove(d->later, d->later + 1, (size_t)--d->nlater * sizeof *d->later);
    return person;
}

void fai_deal_done(FaDeal *d, const FaOutcomeOf *o) {
    FaDatasetReport *r = d->work->report;
    if (o->outcome == FA_OUT_ELSEWHERE) {
        d->later[d->nlater++] = o->person;
        d->when = fai_seconds() + AGAIN;
        return;
    }
    d->done++;
    r->people++;
    r->samples += o->samples;
    r->dropped += o->dropped;
    r->bytes += o->bytes;
    d->work->sum[o->person] = o->sum;
    if (o->outcome != FA_OUT_MADE) return;
    r->made++;
    r->busy += o->busy;
    for (int i = 0; i < FA_DROPS; i++) r->drop[i] += o->drop[i];
}

// What a body of muscles remembers from one frame to the next, as bytes.
#include "muscle/muscle_body_work.h"

bool fai_muscle_body_worn(const FaMuscleBody *b) { return fai_newton_worn(b->newton); }

// Activations, and where the flesh was solved: a frame goes on from there, not from where what crossed was put.
static size_t own_size(const FaMuscleBody *b) {
    return (size_t)b->nmuscle * sizeof *b->active + 3 * (size_t)b->nnode * sizeof *b->solved;
}

size_t fai_muscle_body_state_size(const FaMuscleBody *b) {
    return own_size(b) + (b->owned ? fai_muscle_touch_state_size(b->owned) : 0);
}

void fai_muscle_body_save(const FaMuscleBody *b, void *state) {
    const size_t active = (size_t)b->nmuscle * sizeof *b->active;
    memcpy(state, b->active, active);
    memcpy((unsigned char *)state + active, b->solved, own_size(b) - active);
    if (b->owned) fai_muscle_touch_save(b->owned, (unsigned char *)state + own_size(b));
}

FaCode fai_muscle_body_load(FaMuscleBody *b, const void *state, const double *x, FaError *err) {
    const size_t active = (size_t)b->nmuscle * sizeof *b->active;
    memcpy(b->active, state, active);
    memcpy(b->solved, (const unsigned char *)state + active, own_size(b) - active);
    memcpy(b->x, x, 3 * (size_t)b->nnode * sizeof *b->x);
    memcpy(b->pull_y, b->pull_to, 3 * (size_t)b->nsample * sizeof *b->pull_y);
    b->pull_known = b->pulled;
    return b->owned ? fai_muscle_touch_load(b->owned, (const unsigned char *)state + own_size(b), err) : FA_OK;
}

void fai_muscle_body_rest(FaMuscleBody *b) {
    memset(b->active, 0, (size_t)b->nmuscle * sizeof *b->active);
    memcpy(b->x, b->rest_x, 3 * (size_t)b->nnode * sizeof *b->x);
    memcpy(b->solved, b->rest_x, 3 * (size_t)b->nnode * sizeof *b->x);
    b->pull_known = false;
    if (b->touch) fai_muscle_touch_begin(b->touch, b->x);
}

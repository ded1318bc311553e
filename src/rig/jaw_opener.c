// Which shape opens the jaw.
#include "rig/jaw_opener.h"

#include "math/mat3.h"
#include "rig/names.h"

static const double MOVES = 1e-3; // m: what opens a jaw moves the chin by this at least

static double most_of(const FaRig *rig, int s) {
    double most = 0;
    for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++) {
        double d[3];
        fai_v3_load(rig->delta, i, d);
        most = fmax(most, fai_v3_norm(d));
    }
    return most;
}

// Does the shape, as a whole, go down?
static bool falls(const FaRig *rig, int s) {
    double sum = 0;
    for (int i = rig->shape[s].first; i < rig->shape[s].first + rig->shape[s].count; i++) {
        double d[3];
        fai_v3_load(rig->delta, i, d);
        sum += fai_v3_norm(d) * fai_v3_dot(rig->axes + 3, d);
    }
    return sum < 0;
}

// The shape that opens the jaw: jawOpen by any of its names; else one that opens the mouth; else a vowel that does.
// Names of a tier are tried before those of the next.
int fai_jaw_opener(const FaRig *rig) {
    static const struct {
        int tier;
        const char *end; // of the name
    } openers[] = {{1, "mouthopen"}, {1, "mouthopened"}, {1, "openmouth"}, {1, "jawdown"},          {1, "openjaw"},
                   {1, "jaw"},       {1, "mthopen"},     {2, "au27"},      {2, "au27mouthstretch"}, {3, "aa"},
                   {3, "ah"},        {3, "mtha"},        {3, "moutha"},    {3, "visemea"},          {3, "vowela"},
                   {3, "va"},        {3, "phonemea"}};
    int arkit = fa_arkit_match("jawOpen", NULL), silent = -1;
    for (int s = 0; s < rig->nshape; s++) {
        if (rig->shape[s].arkit != arkit || rig->shape[s].half || !rig->shape[s].count) continue;
        if (most_of(rig, s) > MOVES) return s;
        silent = s;
    }
    for (int tier = 1; tier <= 3; tier++)
        for (int s = 0; s < rig->nshape; s++) {
            const FaShape *shape = &rig->shape[s];
            if (shape->arkit >= 0 || shape->said == FA_SAID_NULL || most_of(rig, s) < MOVES || !falls(rig, s)) continue;
            bool named = tier == 3 && fai_name_is(shape->name, "a");
            for (int k = 0; k < FA_COUNT(openers); k++)
                named |= openers[k].tier == tier && fai_name_ends(shape->name, openers[k].end);
            if (named) return s;
        }
    return silent;
}

// Muscles of a pose as a page shows them.
#ifndef FASCIA_MUSCLE_PAGE_H
#define FASCIA_MUSCLE_PAGE_H

#include "fascia/muscle.h"
#include "fascia/page.h"
#include "muscle.h"

typedef struct MusclePage {
    int n;
    FaPageMuscle muscle[FA_MUSCLES_MOST];                       // arrays are the model's
    float *x;                                                   // as the model is posed now, one after another
    double activation[FA_MUSCLES_MOST], slack[FA_MUSCLES_MOST]; // of the pose; at rest
} MusclePage;

// activation: of the pose that the model is in (count). Free with muscle_page_free, also after failure.
FaCode muscle_page_fill(FaMuscleModel *model, const double *activation, MusclePage *page, FaError *err);
// A pair at rest and posed, with the muscles of both.
void muscle_page_tracks(const MusclePage *page, FaPageTrack *rest, FaPageTrack *posed);
void muscle_page_free(MusclePage *page);

// A page that steps from the neutral to m->directed, beside the neutral, or beside `before` (nullable), with the tracks
// of the muscle that is picked; to -o.
FaCode muscle_page_ways(Muscle *m, const FaDirected *before, FaError *err);

#endif

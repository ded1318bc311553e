// How far along a direction (Armijo, thesis 001 eq. 6.7, c = 0.1), and how much the energy fell.
//
// Energies are sums of tens of thousands of rounded numbers. Close to the minimum a step gains less than their
// rounding, and a search that only compares sums stops at about the square root of it. Where two energies differ by
// less than NOISE we therefore ask the gradients, which lose no digits (the approximate Wolfe condition of Hager and
// Zhang 2005): the mean slope of both ends times the length is the fall, exactly so for a quadratic.
#include "solve/solver.h"

#include <math.h>

enum { MOST_TRIALS = 40, MOST_EVALUATIONS = 10 }; // of the thesis's search, which costs nothing; of ours
static const double ARMIJO = 0.1;
static const double NOISE = 1e-6; // relative

static double evaluate(FaProjective *p, double length) {
    bool there = length == 1 && p->options.kind == FA_SOLVE_QUICK; // the direction's last pass made it: global_step.c
    if (!there) fai_field_sum(&p->shape, 1, p->u, 1, &length, &(const float *){p->d}, p->u_next);
    double start = fai_seconds(), energy = fai_total_energy(p, p->in, p->u_next, p->g_next, p->active_next);
    p->report->seconds_local += fai_seconds() - start;
    return energy;
}

// Ours: the trial point's true energy and gradient.
static bool search_quick(FaProjective *p, FaStep *s) {
    s->length = 1;
    for (int trial = 0; trial < MOST_EVALUATIONS; trial++) {
        s->energy = evaluate(p, s->length);
        s->fall = s->energy - p->energy;
        if (s->fall <= ARMIJO * s->length * s->slope) return true;
        double slope = fai_field_dot(&p->shape, p->g_next, p->d);
        if (fabs(s->fall) <= NOISE * fabs(p->energy) && slope <= (2 * ARMIJO - 1) * s->slope) {
            s->fall = 0.5 * s->length * (s->slope + slope);
            return true;
        }
        // to where the slope would vanish if it changed evenly, within reason
        double share = s->slope / (s->slope - slope);
        s->length *= share > 0.1 && share < 0.5 ? share : share <= 0.1 && share > 0 ? 0.1 : 0.5;
        p->report->backtracks++;
    }
    return false;
}

// The true energy lies below the one with projections held, by a bound that can be computed to the last digit. `bound`
// is the fall with projections held; a sum that says otherwise within its rounding is overruled, beyond it believed.
static void arrive(FaProjective *p, FaStep *s, double bound) {
    s->energy = evaluate(p, s->length);
    s->fall = s->energy - p->energy;
    if (s->fall > bound && s->fall - bound <= NOISE * fabs(p->energy)) s->fall = bound;
}

// Alg. 3, lines 10-20: the energy with projections held is the quadratic  e0 + a g.d + a^2/2 d'Ad,  so that line 14 is
// a number. Line 15 prints the halving before the test of line 17, which then compares the energy at a with the bound
// of a/2: against eq. 6.7, and of no use. We test with the a of the trial and halve after.
static bool search_gs(FaProjective *p, FaStep *s) {
    fai_sweeper_mul(p->sweeper, p->d, p->r);
    double curve = fai_field_dot(&p->shape, p->d, p->r), change = 0;
    int trial = 0;
    for (s->length = 1; trial < MOST_TRIALS; trial++, s->length *= 0.5) {
        change = s->length * s->slope + 0.5 * s->length * s->length * curve;
        if (change <= ARMIJO * s->length * s->slope) break;
        p->report->backtracks++;
    }
    if (trial > 0 && !p->options.gs_fixed) p->sweeps = FA_MIN(2 * p->sweeps, 1024); // lines 18-20
    if (trial == MOST_TRIALS) return false;
    arrive(p, s, change);
    return s->fall < 0;
}

static bool search_pd(FaProjective *p, FaStep *s) {
    s->length = 1;
    arrive(p, s, 0.5 * s->slope);
    return true;
}

bool fai_search(FaProjective *p, FaStep *s) {
    if (p->options.kind == FA_SOLVE_GS) return search_gs(p, s);
    if (p->options.kind == FA_SOLVE_PD) return search_pd(p, s);
    return search_quick(p, s);
}

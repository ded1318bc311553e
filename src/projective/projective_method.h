// Inside of the projective method that tests and benches see.
#ifndef FAI_PROJECTIVE_METHOD_H
#define FAI_PROJECTIVE_METHOD_H

#include "contact/contact.h"
#include "fascia/projective.h"
#include "method/method.h"
#include "projective/flesh.h"
#include "solve/projective.h"

// The last step's minimisation, to be repeated with other solvers: borrowed from the method, valid until its next step.
typedef struct FaProjectiveProblem {
    const FaFlesh *flesh;
    FaProjectiveOptions options;
    FaProjectiveInput input;
    const float *start; // where the solve began       (nnode x 4)
} FaProjectiveProblem;
FaProjectiveProblem fai_projective_problem(const FaMethod *m);

// Where the last step's time went, s, and what it found.
typedef struct FaProjectiveTimes {
    double goal, contact, solve, output;
    FaContactStats touching;   // at the end of the last step
    FaProjectiveReport report; // of its last solve
} FaProjectiveTimes;
const FaProjectiveTimes *fai_projective_times(const FaMethod *m);

#endif

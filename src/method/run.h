// Inside of runs: what a clip gives a method in a frame.
#ifndef FAI_RUN_H
#define FAI_RUN_H

#include "fascia/method.h"

// The input of a frame; its pointers are valid until the next call.
void fai_run_input(FaRun *run, int frame, FaInput *in);
int fai_run_nframe(const FaRun *run);

#endif

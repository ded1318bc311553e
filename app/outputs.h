// What a verb writes: looked at before the work begins, held while it lasts, cleaned up when it is stopped.
#ifndef FASCIA_OUTPUTS_H
#define FASCIA_OUTPUTS_H

#include "cli.h"

// Every file that the command line names as an output: of a format that the verb writes, no input of the same run, no
// file of another kind (but with --force), not being written by another run. The exit code; says what is wrong.
int outputs_claim(const Command *cmd, const char *verb, int argc, const char **argv);
// A file that the command line does not name is about to be read, such as the rig of a face: it is none of the outputs.
FaCode outputs_spare(const char *path, FaError *err);
void outputs_release(void);
// INT, TERM and HUP end the program: half files go, what a long job has made stays, and `resume` is said.
void outputs_on_signals(void);
extern const char *volatile outputs_resume; // nullable

#endif

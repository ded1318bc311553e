// The verbs of the program, in the order of its help.
#include "cli.h"

const Command *const verbs[] = {&cmd_info,    &cmd_head,  &cmd_build,      &cmd_blend,   &cmd_drive,   &cmd_enrich,
                                &cmd_muscle,  &cmd_run,   &cmd_markers,    &cmd_convert, &cmd_compare, &cmd_render,
                                &cmd_dataset, &cmd_train, &cmd_fit_skulls, &cmd_bench,   &cmd_demo,    NULL};

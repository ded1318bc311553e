#include "cli.h"

int main(int argc, char **argv) {
    static const Command *const commands[] = {&cmd_info,   &cmd_head,    &cmd_build,   &cmd_blend,   &cmd_drive,
                                              &cmd_enrich, &cmd_markers, &cmd_convert, &cmd_compare, &cmd_render,
                                              &cmd_bench,  &cmd_demo,    NULL};
    return cli_main(commands, argc, argv);
}

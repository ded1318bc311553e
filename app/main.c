#include "cli.h"

int main(int argc, char **argv) { return cli_main(verbs, argc, argv); }

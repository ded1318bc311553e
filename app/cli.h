// The command line's own small framework: one table of options per verb, shared options everywhere, help that opens
// with examples, exit codes that scripts can rely on (docs/guide/cli.md).
#ifndef FASCIA_CLI_H
#define FASCIA_CLI_H

#include "fascia/fascia.h"

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_INPUT, EXIT_CONVERGE, EXIT_FILE };

// OPT_OUT: a file that is written (app/outputs.h)
typedef enum OptionKind { OPT_FLAG, OPT_INT, OPT_NUM, OPT_TEXT, OPT_OUT, OPT_CHOICE, OPT_UNIT, OPT_GROUP } OptionKind;

typedef struct Option {
    const char *name; // without dashes
    char letter;      // short form, 0 = none
    OptionKind kind;
    void *to;        // bool, int, double, const char *; for a choice: int, the index; for a unit: FaUnit
    const char *arg; // "FILE"; for a choice: "m|cm|mm", the words
    double min, max; // numbers; both 0 = any
    const char *help;
} Option;
// A heading in the help, over the rows that follow.
#define OPTION_GROUP(title)                                                                                            \
    { "", 0, OPT_GROUP, NULL, NULL, 0, 0, title }

// What every verb has; filled before the verb runs.
typedef struct Common {
    int threads;
    int seed;
    double fps;
    const char *frames; // "A-B"
    FaUnit unit;
    bool quiet, verbose, dry_run, json, force;
    int progress; // 0 auto, 1 always, 2 never
    const char *output;
} Common;
extern Common common;

typedef struct Command {
    const char *name;
    const char *line;                   // one line for the list of verbs
    const char *usage;                  // "info FILE"
    const char *examples;               // lines of "fascia ..."
    const char *notes;                  // further paragraphs, nullable
    const struct Command *const *verbs; // sub-verbs, ended by NULL: then all below is theirs; nullable
    const Option *options;              // ends with a NULL name
    const char *method;                 // nullable: its parameters are options too, gathered in cli_params
    int min_args, max_args;
    const char *writes; // extensions of the output, "glb pc2"; NULL: not checked before the verb runs
    bool shared;        // several runs may write one output together: it is not claimed
    int out_arg;        // which argument is the output where -o is not given; 0: none
    int (*run)(int argc, const char **argv);
} Command;

extern const Command cmd_info, cmd_bench, cmd_blend, cmd_build, cmd_compare, cmd_convert, cmd_dataset, cmd_demo,
    cmd_drive, cmd_enrich, cmd_fit_skulls, cmd_head, cmd_markers, cmd_muscle, cmd_render, cmd_run, cmd_train;
extern const Command *const verbs[]; // all of them, ended by NULL

extern FaParams *cli_params;       // of the verb's method, as given; owned by the framework
bool cli_has(const char *param);   // whether the verb's method has it
bool cli_given(const char *param); // whether the user set it
// A verb that works in several ways: whatever the user gave must act in this one. acts: names of options and parameters
// ("time slider mass"), @method for all parameters of the verb's method; those of every verb and of reading a rig need
// not be listed, but seed, fps and frames do. !rig: no rig is read; !json: that one does nothing either. Says what does
// not act; the exit code.
int cli_only(const char *mode, const char *acts);

// The first of these that the user gave, by its name in the help; NULL: none.
const char *cli_named(const char *names);

int cli_main(const Command *const *commands, int argc, char **argv);
char *const *cli_arguments(void); // of the program, ended by NULL
// Names that mean two things: an option of a verb that is also a parameter of its method or an option of every verb.
// Says each on stderr; how many there are.
int cli_check(const Command *const *commands);

// Print the failure; its exit code.
int cli_fail(const FaError *err);
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// The same as an error to pass up: exit code 2.
FaCode cli_wrong(FaError *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
FaCode cli_no_memory(FaError *err);
// Lines for people, on stderr, silent with --quiet.
void cli_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
// "A-B", "A-", "A": the frames asked for, clipped to 0..count-1.
FaCode cli_frames(int count, int *first, int *last, FaError *err);
// An FaProgressFn for stderr.
bool cli_progress(void *user, const char *stage, double done);
// The same with words of the caller's behind it, in place of the time that is left.
void cli_progress_words(const char *stage, double done, const char *words);
void cli_progress_end(void);
double cli_seconds(void);

#define TRY(expr)                                                                                                      \
    do {                                                                                                               \
        FaCode try_ = (expr);                                                                                          \
        if (try_ < 0) return try_;                                                                                     \
    } while (0)

#endif

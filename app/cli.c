#include "cli.h"

#include "fascia/output.h"
#include "outputs.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Common common;

static const Option common_options[] = {
    {"output", 'o', OPT_TEXT, &common.output, "FILE", 0, 0, "the file to write; its extension decides the format"},
    {"json", 0, OPT_FLAG, &common.json, NULL, 0, 0, "print the result as one JSON object, for programs"},
    {"unit", 0, OPT_UNIT, &common.unit, "auto|m|cm|mm|in|ft|N", 0, 0,
     "unit of the file's coordinates, or metres per unit (auto: a head is about 25 cm high)"},
    {"fps", 0, OPT_NUM, &common.fps, "N", 0.001, 100000, "frames per second, where the file does not say or is wrong"},
    {"frames", 0, OPT_TEXT, &common.frames, "A-B", 0, 0, "only these frames, counted from 0"},
    {"threads", 0, OPT_INT, &common.threads, "N", 0, 1024,
     "threads to use (0: all cores); results do not depend on it"},
    {"seed", 0, OPT_INT, &common.seed, "N", 0, 2147483647,
     "decides everything random; the same number gives the same result"},
    {"dry-run", 0, OPT_FLAG, &common.dry_run, NULL, 0, 0, "read and check everything, write nothing"},
    {"force", 0, OPT_FLAG, &common.force, NULL, 0, 0, "replace a file of another kind that has the output's name"},
    {"quiet", 'q', OPT_FLAG, &common.quiet, NULL, 0, 0, "print errors only"},
    {"verbose", 'v', OPT_FLAG, &common.verbose, NULL, 0, 0, "print more"},
    {"progress", 0, OPT_CHOICE, &common.progress, "auto|always|never", 0, 0, "progress bar (auto: on a terminal)"},
    {0}};

// --- words for people ---------------------------------------------------------------------------------------------

int cli_usage(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fputs("fascia: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_USAGE;
}

void cli_say(const char *fmt, ...) {
    if (common.quiet) return;
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
}

int cli_fail(const FaError *err) {
    cli_progress_end();
    fa_error_print(err, stderr);
    switch (err->code) {
    case FA_E_FILE: return EXIT_FILE;
    case FA_E_ARG: return EXIT_USAGE;
    case FA_E_FORMAT:
    case FA_E_UNSUPPORTED:
    case FA_E_LIMIT:
    case FA_E_MESH: return EXIT_INPUT;
    case FA_STALLED: return EXIT_CONVERGE;
    default: return EXIT_FAILED;
    }
}

FaCode cli_wrong(FaError *err, const char *fmt, ...) {
    va_list args;
    *err = (FaError){.code = FA_E_ARG};
    va_start(args, fmt);
    vsnprintf(err->what, sizeof err->what, fmt, args);
    va_end(args);
    return FA_E_ARG;
}

FaCode cli_no_memory(FaError *err) {
    *err = (FaError){.code = FA_E_MEMORY, .what = "out of memory"};
    return FA_E_MEMORY;
}

double cli_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// --- progress -----------------------------------------------------------------------------------------------------

static struct {
    bool shown;
    double start, last;
    char stage[64];
} bar;

// words NULL: the time that is left.
static void show_progress(const char *stage, double done, const char *words) {
    bool on = common.progress == 1 || (common.progress == 0 && isatty(2));
    if (common.quiet || !on) return;
    double now = cli_seconds();
    if (!bar.shown || strcmp(bar.stage, stage)) {
        bar.start = now;
        snprintf(bar.stage, sizeof bar.stage, "%s", stage);
    } else if (now - bar.last < 0.1 && done < 1)
        return;
    bar.shown = true;
    bar.last = now;
    int width = 30, full = (int)(done * width + 0.5);
    fprintf(stderr, "\r%-16.16s [", stage);
    for (int i = 0; i < width; i++) fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", 100 * done);
    if (words)
        fprintf(stderr, "  %-40.60s", words);
    else if (done > 0.02 && done < 1)
        fprintf(stderr, "  %.0f s left   ", (now - bar.start) * (1 - done) / done);
    else
        fputs("               ", stderr);
    fflush(stderr);
}

bool cli_progress(void *user, const char *stage, double done) {
    (void)user;
    show_progress(stage, done, NULL);
    return true;
}

void cli_progress_words(const char *stage, double done, const char *words) { show_progress(stage, done, words); }

void cli_progress_end(void) {
    if (bar.shown) fputc('\n', stderr);
    bar.shown = false;
}

// --- options ------------------------------------------------------------------------------------------------------

FaCode cli_frames(int count, int *first, int *last, FaError *err) {
    *first = 0;
    *last = count - 1;
    if (!common.frames) return FA_OK;
    char *end;
    long a = strtol(common.frames, &end, 10), b = a;
    bool ok = end != common.frames && a >= 0;
    if (ok && *end == '-') {
        const char *from = end + 1;
        b = *from ? strtol(from, &end, 10) : count - 1;
        if (!*from) end = (char *)from;
    }
    if (ok && a >= count)
        return cli_wrong(err, "--frames %s starts after the last frame, %d", common.frames, count - 1);
    if (!ok || *end || b < a) return cli_wrong(err, "--frames %s is not a range; write A-B, A- or A", common.frames);
    *first = (int)a;
    *last = (int)(b < count - 1 ? b : count - 1);
    return FA_OK;
}

static const Option *find_option(const Option *table, const char *name, size_t n) {
    for (const Option *o = table; o && o->name; o++)
        if (o->kind != OPT_GROUP && strlen(o->name) == n && !strncmp(o->name, name, n)) return o;
    return NULL;
}

// Edit distance, for "did you mean".
static int distance(const char *a, const char *b) {
    int row[64], nb = (int)strlen(b);
    if (nb > 62) return 99;
    for (int j = 0; j <= nb; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int diag = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int best = diag + (*a != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diag = row[j];
            row[j] = best;
        }
    }
    return row[nb];
}

static int set_choice(const Option *o, const char *value) {
    int i = 0;
    for (const char *w = o->arg; *w; i++) {
        size_t n = strcspn(w, "|");
        if (strlen(value) == n && !strncmp(w, value, n)) return *(int *)o->to = i, EXIT_OK;
        w += n + (w[n] == '|');
    }
    return cli_usage("--%s takes %s, not '%s'", o->name, o->arg, value);
}

static int set_number(const Option *o, const char *value) {
    char *end;
    double v = strtod(value, &end); // the program never calls setlocale: "C" rules
    if (end == value || *end || v != v) return cli_usage("--%s takes a number, not '%s'", o->name, value);
    if (o->kind == OPT_INT && v != (double)(int)v)
        return cli_usage("--%s takes a whole number, not '%s'", o->name, value);
    if ((o->min != 0 || o->max != 0) && (v < o->min || v > o->max))
        return cli_usage("--%s takes %g to %g, not %s", o->name, o->min, o->max, value);
    if (o->kind == OPT_INT)
        *(int *)o->to = (int)v;
    else
        *(double *)o->to = v;
    return EXIT_OK;
}

static int set_unit(const Option *o, const char *value) {
    FaUnit unit = strcmp(value, "auto") ? fa_unit_named(value) : FA_UNIT_AUTO;
    if (unit < 0 || (unit > 0 && !(unit >= 1e-6 && unit <= 1e6)))
        return cli_usage("--%s takes m, dm, cm, mm, in, ft or metres per unit, not '%s'", o->name, value);
    return *(FaUnit *)o->to = unit, EXIT_OK;
}

static int set_option(const Option *o, const char *value) {
    switch (o->kind) {
    case OPT_FLAG: *(bool *)o->to = true; return EXIT_OK;
    case OPT_TEXT:
    case OPT_OUT: *(const char **)o->to = value; return EXIT_OK;
    case OPT_CHOICE: return set_choice(o, value);
    case OPT_UNIT: return set_unit(o, value);
    default: return set_number(o, value);
    }
}

// --- options that are parameters of a method -----------------------------------------------------------------------

enum { MOST_GIVEN = 128 };
FaParams *cli_params;
static const FaParamInfo *given[MOST_GIVEN];
static int ngiven;

bool cli_given(const char *param) {
    for (int i = 0; i < ngiven; i++)
        if (!strcmp(given[i]->name, param)) return true;
    return false;
}

// Every option on the command line, by its name in the help.
static const char *named[MOST_GIVEN];
static char param_names[MOST_GIVEN][64];
static int nnamed;

static bool is_listed(const char *name, const char *list) {
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return true;
    return false;
}

static const Command *running;
bool cli_has(const char *param) {
    const FaParamInfo *p = running && running->method ? fa_method_params(running->method) : NULL;
    while (p && p->name && strcmp(p->name, param)) p++;
    return p && p->name;
}

// By its name in the help.
static bool is_param(const char *name) {
    char param[64];
    snprintf(param, sizeof param, "%s", name);
    for (char *at = param; *at; at++)
        if (*at == '-') *at = '_';
    return cli_has(param);
}

const char *cli_named(const char *names) {
    for (int i = 0; i < nnamed; i++)
        if (is_listed(named[i], names)) return named[i];
    return NULL;
}

int cli_only(const char *mode, const char *acts) {
    static const char always[] = "output json threads quiet verbose progress dry-run force",
                      reading[] = "unit map names mesh up any-size";
    bool all = is_listed("@method", acts), rig = !is_listed("!rig", acts);
    for (int i = 0; i < nnamed; i++) {
        char not [80];
        snprintf(not, sizeof not, "!%s", named[i]);
        bool listed = is_listed(named[i], always) || (rig && is_listed(named[i], reading)) ||
                      is_listed(named[i], acts) || (all && is_param(named[i]));
        if (!listed || is_listed(not, acts)) return cli_usage("--%s does nothing %s: leave it out", named[i], mode);
    }
    return EXIT_OK;
}

// The method's rows that are options of the verb: all but the seed, which --seed of every verb gives it.
static const FaParamInfo *next_param(const Command *cmd, const FaParamInfo *p) {
    p = p ? p + 1 : cmd->method ? fa_method_params(cmd->method) : NULL;
    while (p && p->name && !strcmp(p->name, "seed")) p++;
    return p && p->name ? p : NULL;
}

// "sticky_length" is --sticky-length.
static void option_name(const FaParamInfo *p, char *name, size_t size) {
    snprintf(name, size, "%s", p->name);
    for (char *c = name; *c; c++)
        if (*c == '_') *c = '-';
}

static const FaParamInfo *find_param(const Command *cmd, const char *name, size_t n) {
    for (const FaParamInfo *p = NULL; (p = next_param(cmd, p));) {
        char own[64];
        option_name(p, own, sizeof own);
        if (strlen(own) == n && !strncmp(own, name, n)) return p;
    }
    return NULL;
}

// What the value of a parameter looks like: "on|off", "FILE.json", "kg", "N".
static const char *param_arg(const FaParamInfo *p) {
    return p->type == FA_PARAM_FLAG   ? "on|off"
           : p->choices               ? p->choices
           : p->type == FA_PARAM_TEXT ? "TEXT"
           : *p->unit                 ? p->unit
                                      : "N";
}

// A row of help: what to write on the left, what it does on the right, over as many lines as that takes.
static void print_row(const char *left, const char *help, const char *more) {
    enum { COLUMN = 31, WIDTH = 110 };
    char text[1024];
    snprintf(text, sizeof text, "%s%s", help, more);
    int at = printf("  %-29s", left);
    if (at > COLUMN) at = printf("\n%*s", COLUMN, "") - 1;
    for (const char *word = text; *word;) {
        int n = (int)strcspn(word, " ");
        if (at + 1 + n > WIDTH) at = printf("\n%*s", COLUMN, "") - 1;
        at += printf(" %.*s", n, word);
        word += n + (word[n] == ' ');
    }
    putchar('\n');
}

static void print_params(const Command *cmd) {
    for (const FaParamInfo *p = NULL; (p = next_param(cmd, p));) {
        char left[128], name[64], was[64] = "";
        option_name(p, name, sizeof name);
        snprintf(left, sizeof left, "    --%s %s", name, param_arg(p));
        if (p->type == FA_PARAM_FLAG)
            snprintf(was, sizeof was, " (%s)", p->value != 0 ? "on" : "off");
        else if (p->type == FA_PARAM_CHOICE && p->choices)
            snprintf(was, sizeof was, " (%.*s)", (int)strcspn(p->choices, "|"), p->choices);
        else if (p->type != FA_PARAM_TEXT && p->value == p->value)
            snprintf(was, sizeof was, " (%g)", p->value);
        print_row(left, p->help, was);
    }
}

// --- one option ---------------------------------------------------------------------------------------------------

static char verb_path[128]; // "muscle build": the verb that runs, as it was called

static int unknown_option(const Command *cmd, const char *arg) {
    char best[64] = "", word[64];
    int least = 3;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(arg + strspn(arg, "-"), "="), arg + strspn(arg, "-"));
    const Option *tables[] = {cmd->options, common_options};
    for (int t = 0; t < 2; t++)
        for (const Option *o = tables[t]; o && o->name; o++) {
            int d = o->kind == OPT_GROUP ? least : distance(word, o->name);
            if (d < least) least = d, snprintf(best, sizeof best, "%s", o->name);
        }
    for (const FaParamInfo *p = NULL; (p = next_param(cmd, p));) {
        char name[64];
        option_name(p, name, sizeof name);
        int d = distance(word, name);
        if (d < least) least = d, snprintf(best, sizeof best, "%s", name);
    }
    if (best[0]) return cli_usage("%s has no option %s; did you mean --%s?", verb_path, arg, best);
    return cli_usage("%s has no option %s; see fascia %s --help", verb_path, arg, verb_path);
}

// -o, --frames: another option where a value is expected; -3 and -30,10 are values.
static bool is_option(const char *arg) { return arg[0] == '-' && (arg[1] == '-' || isalpha((unsigned char)arg[1])); }

// The value after an option: NULL, and a message, if there is none.
static const char *take_value(const char *name, const char *arg, const char *next, int *used) {
    if (next && !is_option(next)) return ++*used, next;
    if (next)
        cli_usage("--%s needs a value (%s), and %s is another option", name, arg, next);
    else
        cli_usage("--%s needs a value: %s", name, arg);
    return NULL;
}

static int set_param(const FaParamInfo *p, const char *value, const char *next, int *used) {
    FaError err = {0};
    char name[64];
    option_name(p, name, sizeof name);
    if (!value && p->type == FA_PARAM_FLAG && (!next || is_option(next)))
        value = "on";
    else if (!value && !(value = take_value(name, param_arg(p), next, used)))
        return EXIT_USAGE;
    if (ngiven < MOST_GIVEN) given[ngiven++] = p;
    if (nnamed < MOST_GIVEN) named[nnamed] = strcpy(param_names[nnamed], name), nnamed++;
    return fa_params_set(cli_params, p->name, value, &err) < 0 ? cli_fail(&err) : EXIT_OK;
}

// One argument that starts with a dash; *used grows when the value is the next argument.
static int parse_option(const Command *cmd, const char *arg, const char *next, int *used) {
    const Option *o = NULL;
    const char *value = NULL;
    if (arg[1] == '-') {
        size_t n = strcspn(arg + 2, "=");
        if (arg[2 + n] == '=') value = arg + 3 + n;
        o = find_option(cmd->options, arg + 2, n);
        if (!o) o = find_option(common_options, arg + 2, n);
        const FaParamInfo *p = o ? NULL : find_param(cmd, arg + 2, n);
        if (p) return set_param(p, value, next, used);
    } else if (!arg[2]) {
        for (const Option *t = common_options; t->name; t++)
            if (t->letter == arg[1]) o = t;
        for (const Option *t = cmd->options; t && t->name; t++)
            if (t->letter == arg[1]) o = t;
    }
    if (!o) return unknown_option(cmd, arg);
    if (nnamed < MOST_GIVEN) named[nnamed++] = o->name;
    if (o->kind == OPT_FLAG) return value ? cli_usage("--%s takes no value", o->name) : set_option(o, NULL);
    if (!value && !(value = take_value(o->name, o->arg, next, used))) return EXIT_USAGE;
    return set_option(o, value);
}

static int check_verb(const Command *cmd, const char *path) {
    int clashes = 0;
    for (const Option *o = cmd->options; o && o->name; o++) {
        if (o->kind == OPT_GROUP) continue;
        if (find_option(common_options, o->name, strlen(o->name)))
            clashes++, cli_usage("%s: --%s is an option of every verb too", path, o->name);
        if (find_param(cmd, o->name, strlen(o->name)))
            clashes++, cli_usage("%s: --%s is a parameter of the method '%s' too", path, o->name, cmd->method);
        for (const Option *b = o + 1; b->name; b++)
            if (!strcmp(b->name, o->name) || (o->letter && o->letter == b->letter))
                clashes++, cli_usage("%s: --%s is there twice", path, o->name);
        for (const Option *c = common_options; o->letter && c->name; c++)
            if (c->letter == o->letter) clashes++, cli_usage("%s: -%c is --%s already", path, o->letter, c->name);
    }
    for (const FaParamInfo *p = NULL; (p = next_param(cmd, p));) {
        char name[64];
        option_name(p, name, sizeof name);
        if (find_option(common_options, name, strlen(name)))
            clashes++, cli_usage("%s: the parameter --%s is an option of every verb too", path, name);
    }
    return clashes;
}

int cli_check(const Command *const *commands) {
    int clashes = 0;
    for (; *commands; commands++)
        clashes += (*commands)->verbs ? cli_check((*commands)->verbs) : check_verb(*commands, (*commands)->name);
    return clashes;
}

// --- help ---------------------------------------------------------------------------------------------------------

// Rows up to a heading or the end; the row there.
static const Option *print_options(const Option *o) {
    for (; o && o->name && o->kind != OPT_GROUP; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "", o->letter ? o->letter : ' ',
                 o->letter ? ", " : "   ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        print_row(left, o->help, "");
    }
    return o;
}

static void print_list(const Command *const *commands, FILE *out) {
    for (; *commands; commands++) fprintf(out, "  %-10s %s\n", (*commands)->name, (*commands)->line);
}

static void print_help(const Command *cmd) {
    printf("%s\n\nExamples:\n%s\nUsage: fascia %s\n", cmd->line, cmd->examples, cmd->usage);
    if (cmd->verbs) {
        printf("\nVerbs:\n");
        print_list(cmd->verbs, stdout);
        printf("\nFor all options: fascia %s VERB --help\n", cmd->name);
        if (cmd->notes) printf("\n%s", cmd->notes);
        return;
    }
    const Option *rest = cmd->options;
    if (rest && rest->name && rest->kind != OPT_GROUP) {
        printf("\nOptions:\n");
        rest = print_options(rest);
    }
    if (next_param(cmd, NULL)) {
        printf("\nHow it moves (method '%s'):\n", cmd->method);
        print_params(cmd);
    }
    while (rest && rest->name) {
        printf("\n%s:\n", rest->help);
        rest = print_options(rest + 1);
    }
    printf("\nOptions of every verb:\n");
    print_options(common_options);
    if (cmd->notes) printf("\n%s", cmd->notes);
}

static void print_verbs(const Command *const *commands, FILE *out) {
    fprintf(out, "fascia %s: physics for blendshape faces\n\n", fa_version());
    fprintf(out,
            "  fascia info head.glb               what is in it, what is wrong with it, how to fix it\n"
            "  fascia convert shapes/ head.glb    a folder of OBJ files becomes one rig\n"
            "  fascia demo                        every method on the shipped head, with files to open\n\nVerbs:\n");
    print_list(commands, out);
    fprintf(out, "\nFor examples and all options: fascia VERB --help\n"
                 "Exit codes: 0 ok, 1 failed, 2 wrong usage, 3 bad input, 4 an error goal was missed, 5 cannot read or "
                 "write.\n");
}

// --- main ---------------------------------------------------------------------------------------------------------

static void log_line(void *user, const FaLogRec *rec) {
    (void)user;
    FaLevel most = common.quiet ? FA_LOG_ERROR : common.verbose ? FA_LOG_DEBUG : FA_LOG_WARN;
    if (rec->level <= most) fprintf(stderr, "fascia: %s: %s\n", rec->topic, rec->text);
}

static bool is_help(const char *arg) { return !strcmp(arg, "--help") || !strcmp(arg, "-h"); }

// Options into their places, the rest into args (*n of them).
static int parse(const Command *cmd, int argc, char **argv, const char **args, int *n) {
    bool only_files = false;
    for (int i = 0; i < argc; i++) {
        int rc = EXIT_OK;
        if (!only_files && !strcmp(argv[i], "--"))
            only_files = true;
        else if (!only_files && argv[i][0] == '-' && argv[i][1])
            rc = parse_option(cmd, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &i);
        else
            args[(*n)++] = argv[i];
        if (rc != EXIT_OK) return rc;
    }
    if (*n >= cmd->min_args && *n <= cmd->max_args) return EXIT_OK;
    return cli_usage("usage: fascia %s (for all options: fascia %s --help)", cmd->usage, verb_path);
}

static int run_command(const Command *cmd, int argc, char **argv) {
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (is_help(argv[i])) return print_help(cmd), EXIT_OK;
    const char **args = calloc((size_t)argc + 1, sizeof *args);
    FaError err = {0};
    int n = 0, rc = args ? EXIT_OK : EXIT_FAILED;
    ngiven = nnamed = 0;
    running = cmd;
    if (rc == EXIT_OK && cmd->method && fa_params_new(cmd->method, &cli_params, &err) < 0) rc = cli_fail(&err);
    if (rc == EXIT_OK) rc = parse(cmd, argc, argv, args, &n);
    if (rc == EXIT_OK && cli_has("seed") && fa_params_set_number(cli_params, "seed", common.seed, &err) < 0)
        rc = cli_fail(&err);
    if (rc == EXIT_OK) {
        fa_log_set(log_line, NULL);
        fa_threads_set(common.threads);
        rc = outputs_claim(cmd, verb_path, n, args);
    }
    if (rc == EXIT_OK) {
        rc = cmd->run(n, args);
        outputs_release();
        cli_progress_end();
        if (fflush(stdout) != 0 || ferror(stdout)) rc = rc == EXIT_OK ? EXIT_FILE : rc;
    }
    free(args);
    fa_params_free(cli_params);
    cli_params = NULL;
    return rc;
}

// argv: a verb, or what follows the word that groups verbs. `above`: that word, "" at the top.
static int dispatch(const Command *const *commands, const char *above, int argc, char **argv) {
    const char *verb = argv[0], *space = *above ? " " : "";
    const Command *near = NULL;
    int least = 3;
    for (int i = 0; commands[i]; i++) {
        const Command *cmd = commands[i];
        int d = distance(verb, cmd->name);
        if (d < least) least = d, near = cmd;
        if (d > 0) continue;
        snprintf(verb_path, sizeof verb_path, "%s%s%s", above, space, cmd->name);
        if (!cmd->verbs) return run_command(cmd, argc - 1, argv + 1);
        if (argc == 1) return cli_usage("usage: fascia %s (for all options: fascia %s --help)", cmd->usage, verb_path);
        if (is_help(argv[1])) return print_help(cmd), EXIT_OK;
        return dispatch(cmd->verbs, cmd->name, argc - 1, argv + 1);
    }
    if (near)
        return cli_usage("there is no verb '%s%s%s'; did you mean %s%s%s?", above, space, verb, above, space,
                         near->name);
    return cli_usage("there is no verb '%s%s%s'; fascia %s%s--help lists them", above, space, verb, above, space);
}

static const Command *find_verb(const Command *const *commands, const char *name) {
    while (*commands && strcmp((*commands)->name, name)) commands++;
    return *commands;
}

// fascia help [VERB [VERB]]
static int help(const Command *const *commands, int argc, char **argv) {
    const Command *cmd = argc > 0 ? find_verb(commands, argv[0]) : NULL;
    const Command *sub = cmd && cmd->verbs && argc > 1 ? find_verb(cmd->verbs, argv[1]) : NULL;
    if (cmd)
        print_help(sub ? sub : cmd);
    else
        print_verbs(commands, stdout);
    return EXIT_OK;
}

static char **arguments;
char *const *cli_arguments(void) { return arguments; }

int cli_main(const Command *const *commands, int argc, char **argv) {
    arguments = argv;
    if (argc < 2) return print_verbs(commands, stderr), EXIT_USAGE;
    const char *verb = argv[1];
    fa_inputs_protect(true);
    outputs_on_signals();
    if (!strcmp(verb, "--version") || !strcmp(verb, "version")) return printf("fascia %s\n", fa_version()), EXIT_OK;
    if (is_help(verb) || !strcmp(verb, "help")) return help(commands, argc - 2, argv + 2);
    return dispatch(commands, "", argc - 1, argv + 1);
}

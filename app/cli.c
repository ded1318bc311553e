#include "cli.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Common common;

static const Option common_options[] = {
    {"output", 'o', OPT_TEXT, &common.output, "FILE", 0, 0, "where the result goes; the extension names the format"},
    {"json", 0, OPT_FLAG, &common.json, NULL, 0, 0, "one JSON object on stdout"},
    {"unit", 0, OPT_CHOICE, &common.unit, "auto|m|cm|mm", 0, 0,
     "unit of the file's coordinates (auto: by the size of a head)"},
    {"fps", 0, OPT_NUM, &common.fps, "N", 0.001, 100000, "frame rate, where the file's own is missing or wrong"},
    {"frames", 0, OPT_TEXT, &common.frames, "A-B", 0, 0, "only these frames, counted from 0"},
    {"threads", 0, OPT_INT, &common.threads, "N", 0, 1024,
     "threads to use (0: all cores); results do not depend on it"},
    {"seed", 0, OPT_INT, &common.seed, "N", 0, 2147483647, "seed of everything random"},
    {"dry-run", 0, OPT_FLAG, &common.dry_run, NULL, 0, 0, "read and check, write nothing"},
    {"quiet", 'q', OPT_FLAG, &common.quiet, NULL, 0, 0, "errors only"},
    {"verbose", 'v', OPT_FLAG, &common.verbose, NULL, 0, 0, "say more"},
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

void cli_json_string(const char *s) {
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            printf("\\u%04x", (unsigned)*s);
        else
            putchar(*s);
    }
    putchar('"');
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

bool cli_progress(void *user, const char *stage, double done) {
    (void)user;
    bool on = common.progress == 1 || (common.progress == 0 && isatty(2));
    if (common.quiet || !on) return true;
    double now = cli_seconds();
    if (!bar.shown || strcmp(bar.stage, stage)) {
        bar.start = now;
        snprintf(bar.stage, sizeof bar.stage, "%s", stage);
    } else if (now - bar.last < 0.1 && done < 1)
        return true;
    bar.shown = true;
    bar.last = now;
    int width = 30, full = (int)(done * width + 0.5);
    fprintf(stderr, "\r%-16.16s [", stage);
    for (int i = 0; i < width; i++) fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %3.0f %%", 100 * done);
    if (done > 0.02 && done < 1)
        fprintf(stderr, "  %.0f s left   ", (now - bar.start) * (1 - done) / done);
    else
        fputs("               ", stderr);
    fflush(stderr);
    return true;
}

void cli_progress_end(void) {
    if (bar.shown) fputc('\n', stderr);
    bar.shown = false;
}

// --- options ------------------------------------------------------------------------------------------------------

bool cli_frames(int count, int *first, int *last) {
    *first = 0;
    *last = count - 1;
    if (!common.frames) return true;
    char *end;
    long a = strtol(common.frames, &end, 10), b = a;
    bool ok = end != common.frames && a >= 0;
    if (ok && *end == '-') {
        const char *from = end + 1;
        b = *from ? strtol(from, &end, 10) : count - 1;
        if (!*from) end = (char *)from;
    }
    if (!ok || *end || b < a) {
        cli_usage("--frames %s is not a range; write A-B, A- or A", common.frames);
        return false;
    }
    if (a >= count) {
        cli_usage("--frames %s starts after the last frame, %d", common.frames, count - 1);
        return false;
    }
    *first = (int)a;
    *last = (int)(b < count - 1 ? b : count - 1);
    return true;
}

static const Option *find_option(const Option *table, const char *name, size_t n) {
    for (const Option *o = table; o && o->name; o++)
        if (strlen(o->name) == n && !strncmp(o->name, name, n)) return o;
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

static int unknown_option(const Command *cmd, const char *arg) {
    const char *best = NULL;
    int least = 3;
    const Option *tables[] = {cmd->options, common_options};
    for (int t = 0; t < 2; t++)
        for (const Option *o = tables[t]; o && o->name; o++) {
            int d = distance(arg + strspn(arg, "-"), o->name);
            if (d < least) least = d, best = o->name;
        }
    if (best) return cli_usage("%s has no option %s; did you mean --%s?", cmd->name, arg, best);
    return cli_usage("%s has no option %s; see fascia %s --help", cmd->name, arg, cmd->name);
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

static int set_option(const Option *o, const char *value) {
    switch (o->kind) {
    case OPT_FLAG: *(bool *)o->to = true; return EXIT_OK;
    case OPT_TEXT: *(const char **)o->to = value; return EXIT_OK;
    case OPT_CHOICE: return set_choice(o, value);
    default: return set_number(o, value);
    }
}

// --- options that are parameters of a method -----------------------------------------------------------------------

FaParams *cli_params;

// "sticky_length" is --sticky-length.
static const FaParamInfo *find_param(const Command *cmd, const char *name, size_t n) {
    for (const FaParamInfo *p = cmd->method ? fa_method_params(cmd->method) : NULL; p && p->name; p++) {
        size_t i = 0;
        while (i < n && p->name[i] && (p->name[i] == name[i] || (p->name[i] == '_' && name[i] == '-'))) i++;
        if (i == n && !p->name[i]) return p;
    }
    return NULL;
}

static int set_param(const FaParamInfo *p, const char *arg, const char *value, const char *next, int *used) {
    FaError err = {0};
    if (!value && p->type == FA_PARAM_FLAG && (!next || (strcmp(next, "on") && strcmp(next, "off"))))
        value = "on";
    else if (!value) {
        if (!next) return cli_usage("%s needs a value", arg);
        value = next;
        (*used)++;
    }
    return fa_params_set(cli_params, p->name, value, &err) < 0 ? cli_fail(&err) : EXIT_OK;
}

static void print_params(const FaParamInfo *p) {
    for (; p->name; p++) {
        char left[64], name[48], was[64] = "";
        snprintf(name, sizeof name, "%s", p->name);
        for (char *c = name; *c; c++)
            if (*c == '_') *c = '-';
        const char *arg = p->type == FA_PARAM_FLAG   ? "on|off"
                          : p->choices               ? p->choices
                          : p->type == FA_PARAM_TEXT ? "FILE"
                          : *p->unit                 ? p->unit
                                                     : "N";
        snprintf(left, sizeof left, "    --%s %s", name, arg);
        if (p->type == FA_PARAM_FLAG)
            snprintf(was, sizeof was, " (%s)", p->value != 0 ? "on" : "off");
        else if (p->choices)
            snprintf(was, sizeof was, " (%.*s)", (int)strcspn(p->choices, "|"), p->choices);
        else if (p->type != FA_PARAM_TEXT && p->value == p->value)
            snprintf(was, sizeof was, " (%g)", p->value);
        printf(strlen(left) > 29 ? "  %s\n  %-29s %s%s\n" : "  %.0s%-29s %s%s\n", left, strlen(left) > 29 ? "" : left,
               p->help, was);
    }
}

// One argument that starts with a dash; *used grows when the value is the next argument.
static int parse_option(const Command *cmd, const char *arg, const char *next, int *used) {
    const Option *o = NULL;
    const char *value = NULL;
    if (arg[1] == '-') {
        size_t n = strcspn(arg + 2, "=");
        o = find_option(cmd->options, arg + 2, n);
        if (!o) o = find_option(common_options, arg + 2, n);
        if (o && arg[2 + n] == '=') value = arg + 3 + n;
    } else if (!arg[2]) {
        for (const Option *t = common_options; t->name; t++)
            if (t->letter == arg[1]) o = t;
        for (const Option *t = cmd->options; t && t->name; t++)
            if (t->letter == arg[1]) o = t;
    }
    if (!o && arg[1] == '-') {
        size_t n = strcspn(arg + 2, "=");
        const FaParamInfo *p = find_param(cmd, arg + 2, n);
        if (p) return set_param(p, arg, arg[2 + n] == '=' ? arg + 3 + n : NULL, next, used);
    }
    if (!o) return unknown_option(cmd, arg);
    if (o->kind == OPT_FLAG) return value ? cli_usage("--%s takes no value", o->name) : set_option(o, NULL);
    if (!value) {
        if (!next) return cli_usage("--%s needs a value: %s", o->name, o->arg);
        value = next;
        (*used)++;
    }
    return set_option(o, value);
}

// --- help ---------------------------------------------------------------------------------------------------------

static void print_options(const Option *table) {
    for (const Option *o = table; o && o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : "", o->letter ? o->letter : ' ',
                 o->letter ? ", " : "   ", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
        printf(strlen(left) > 29 ? "  %s\n  %-29s %s\n" : "  %.0s%-29s %s\n", left, strlen(left) > 29 ? "" : left,
               o->help);
    }
}

static void print_help(const Command *cmd) {
    printf("%s\n\nExamples:\n%s\nUsage: fascia %s\n", cmd->line, cmd->examples, cmd->usage);
    if (cmd->options && cmd->options->name) {
        printf("\nOptions:\n");
        print_options(cmd->options);
    }
    if (cmd->method) {
        printf("\nThe method '%s':\n", cmd->method);
        print_params(fa_method_params(cmd->method));
    }
    printf("\nOptions of every verb:\n");
    print_options(common_options);
    if (cmd->notes) printf("\n%s", cmd->notes);
}

static void print_verbs(const Command *const *commands, FILE *out) {
    fprintf(out, "fascia %s: physics for blendshape faces\n\n", fa_version());
    fprintf(out, "  fascia info head.glb               what is in it, what is wrong with it, how to fix it\n"
                 "  fascia convert shapes/ head.glb    a folder of OBJ files becomes one rig\n"
                 "  fascia demo                        everything on one rig, with files to open\n\nVerbs:\n");
    for (; *commands; commands++) fprintf(out, "  %-10s %s\n", (*commands)->name, (*commands)->line);
    fprintf(out,
            "\nfascia VERB --help says more. Exit codes: 0 ok, 1 failed, 2 usage, 3 bad input, 4 did not converge,\n"
            "5 cannot read or write.\n");
}

// --- main ---------------------------------------------------------------------------------------------------------

static void log_line(void *user, const FaLogRec *rec) {
    (void)user;
    FaLevel most = common.quiet ? FA_LOG_ERROR : common.verbose ? FA_LOG_DEBUG : FA_LOG_WARN;
    if (rec->level <= most) fprintf(stderr, "fascia: %s: %s\n", rec->topic, rec->text);
}

static int run_command(const Command *cmd, int argc, char **argv) {
    const char **args = calloc((size_t)argc + 1, sizeof *args);
    if (!args) return EXIT_FAILED;
    int n = 0, rc = EXIT_OK;
    bool only_files = false;
    FaError err = {0};
    if (cmd->method && fa_params_new(cmd->method, &cli_params, &err) < 0) rc = cli_fail(&err);
    for (int i = 0; i < argc && rc == EXIT_OK; i++) {
        if (!only_files && !strcmp(argv[i], "--"))
            only_files = true;
        else if (!only_files && (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))) {
            print_help(cmd);
            argc = 0;
            n = -1;
        } else if (!only_files && argv[i][0] == '-' && argv[i][1]) {
            rc = parse_option(cmd, argv[i], i + 1 < argc ? argv[i + 1] : NULL, &i);
        } else
            args[n++] = argv[i];
    }
    if (n < 0) { // help was asked for
        free(args);
        fa_params_free(cli_params);
        return EXIT_OK;
    }
    if (rc == EXIT_OK && (n < cmd->min_args || n > cmd->max_args))
        rc = cli_usage("usage: fascia %s (fascia %s --help says more)", cmd->usage, cmd->name);
    if (rc == EXIT_OK) {
        fa_log_set(log_line, NULL);
        fa_threads_set(common.threads);
        rc = cmd->run(n, args);
        cli_progress_end();
        if (fflush(stdout) != 0 || ferror(stdout)) rc = rc == EXIT_OK ? EXIT_FILE : rc;
    }
    free(args);
    fa_params_free(cli_params);
    return rc;
}

int cli_main(const Command *const *commands, int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "--help";
    if (!strcmp(verb, "--version") || !strcmp(verb, "version")) return printf("fascia %s\n", fa_version()), EXIT_OK;
    if (!strcmp(verb, "--help") || !strcmp(verb, "-h") || !strcmp(verb, "help")) {
        for (int i = 0; argc > 2 && commands[i]; i++)
            if (!strcmp(commands[i]->name, argv[2])) return print_help(commands[i]), EXIT_OK;
        print_verbs(commands, argc > 1 ? stdout : stderr);
        return argc > 1 ? EXIT_OK : EXIT_USAGE;
    }
    const Command *near = NULL;
    for (int i = 0; commands[i]; i++) {
        if (!strcmp(commands[i]->name, verb)) return run_command(commands[i], argc - 2, argv + 2);
        if (distance(verb, commands[i]->name) < 3) near = commands[i];
    }
    if (near) return cli_usage("there is no verb '%s'; did you mean %s?", verb, near->name);
    return cli_usage("there is no verb '%s'; fascia --help lists them", verb);
}

#include "outputs.h"

#include "fascia/output.h"
#include "job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 16 };
static FaClaim *claim[MOST];
static int nclaim;
static const char *named[MOST]; // outputs of this run
static int nnamed;

void outputs_release(void) {
    while (nclaim > 0) fa_claim_free(claim[--nclaim]);
}

// --- what is named ------------------------------------------------------------------------------------------------

static bool same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// The file itself, or the folder that it lies in: shapes and muscles come as folders of meshes.
static bool holds_file(const char *input, const char *path) {
    char in[4096];
    const char *slash = strrchr(path, '/');
    if (same_file(input, path)) return true;
    if (!is_folder(input) || access(path, F_OK) != 0 || !(path_has_ext(path, "obj") || path_has_ext(path, "stl")))
        return false;
    struct stat x, y;
    snprintf(in, sizeof in, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    return stat(in, &x) == 0 && stat(input, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// Does a value of the command line name this file? It may be a list, FILE,FILE, and FILE:word.
static bool names_file(const char *value, const char *path) {
    if (holds_file(value, path)) return true;
    int n;
    char **item = split_list(value, &n);
    bool found = false;
    for (int i = 0; item && i < n; i++) {
        char *word = strrchr(item[i], ':');
        found |= holds_file(item[i], path);
        if (word) *word = 0, found |= holds_file(item[i], path);
    }
    free(item);
    return found;
}

static bool is_written(const char *ext, const char *list) {
    for (size_t n; *list; list += n + (list[n] == ' ')) {
        n = strcspn(list, " ");
        if (strlen(ext) == n && !strncasecmp(ext, list, n)) return true;
    }
    return false;
}

static int check_format(const Command *cmd, const char *verb, const char *path) {
    const char *base = path_base(path), *dot = strrchr(base, '.');
    struct stat st;
    size_t n = strlen(path);
    bool folder = (n && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
    bool device = stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
    if (!cmd->writes || folder || device || (dot && is_written(dot + 1, cmd->writes))) return EXIT_OK;
    return cli_usage("%s: %s does not write %s; the name may end in: %s", path, verb,
                     dot ? dot : "a file without an ending", cmd->writes);
}

static int check_inputs(const Command *cmd, const char *path, int argc, const char **argv) {
    bool read = false;
    for (int i = 0; i < argc; i++) read |= argv[i] != path && holds_file(argv[i], path);
    for (const Option *o = cmd->options; o && o->name; o++)
        if (o->kind == OPT_TEXT && *(const char **)o->to) read |= names_file(*(const char **)o->to, path);
    for (const FaParamInfo *p = cmd->method ? fa_method_params(cmd->method) : NULL; p && p->name; p++)
        if (p->type == FA_PARAM_TEXT) read |= names_file(fa_params_text(cli_params, p->name), path);
    return read ? cli_usage("%s: this run reads it, so it is not replaced: name another output", path) : EXIT_OK;
}

FaCode outputs_spare(const char *path, FaError *err) {
    for (int i = 0; i < nnamed; i++)
        if (holds_file(path, named[i]))
            return cli_wrong(err, "%s: this run reads it, so it is not replaced: name another output", named[i]);
    return FA_OK;
}

// ext: of what is written; NULL: the name says.
static int take(const Command *cmd, const char *verb, const char *path, const char *ext, int argc, const char **argv) {
    FaError err = {0};
    int rc = check_inputs(cmd, path, argc, argv);
    if (rc != EXIT_OK) return rc;
    if (nnamed < MOST) named[nnamed++] = path;
    if (!common.force && fa_output_fits(path, ext, &err) < 0) return cli_fail(&err);
    if (common.dry_run || nclaim == MOST) return EXIT_OK;
    char who[64];
    snprintf(who, sizeof who, "fascia %s", verb);
    if (fa_claim_new(path, who, &claim[nclaim], &err) < 0) return cli_fail(&err);
    nclaim += claim[nclaim] != NULL;
    return EXIT_OK;
}

int outputs_claim(const Command *cmd, const char *verb, int argc, const char **argv) {
    const char *main = common.output ? common.output : cmd->out_arg && argc > cmd->out_arg ? argv[cmd->out_arg] : NULL;
    int rc = main ? check_format(cmd, verb, main) : EXIT_OK;
    if (rc == EXIT_OK && main && !cmd->shared) rc = take(cmd, verb, main, NULL, argc, argv);
    for (const Option *o = cmd->options; rc == EXIT_OK && o && o->name; o++) {
        const char *path = o->kind == OPT_OUT ? *(const char **)o->to : NULL;
        if (path && path != main)
            rc = take(cmd, verb, path, strchr(o->arg, '.') ? strrchr(o->arg, '.') + 1 : NULL, argc, argv);
    }
    if (rc != EXIT_OK) outputs_release();
    return rc;
}

// --- signals ------------------------------------------------------------------------------------------------------

const char *volatile outputs_resume;

static void say(const char *text) {
    if (write(2, text, strlen(text)) < 0) return; // nobody reads it
}

static void stop(int sig) {
    fa_scratch_remove();
    const char *resume = outputs_resume;
    if (!common.quiet) {
        say("\nfascia: stopped; ");
        say(resume ? resume : "nothing was written");
        say("\n");
    }
    signal(sig, SIG_DFL);
    raise(sig);
}

void outputs_on_signals(void) {
    static const int sigs[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < (int)(sizeof sigs / sizeof *sigs); i++) {
        struct sigaction old, act = {.sa_handler = stop};
        if (sigaction(sigs[i], NULL, &old) == 0 && old.sa_handler == SIG_IGN) continue; // as nohup wants it
        sigemptyset(&act.sa_mask);
        act.sa_flags = (int)SA_NODEFER;
        sigaction(sigs[i], &act, NULL);
    }
}

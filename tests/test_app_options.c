// The tables of the verbs: no name that means two things, examples in every help; sub-verbs, and what the framework
// says when a name or a value is wrong.
#include "test.h"

#include "app/cli.h"

#include <fcntl.h>
#include <unistd.h>

static char said[1 << 16]; // both streams of the last call

// cli_main with both streams in a file; its exit code.
static int call(const Command *const *commands, const char *const *args) {
    char *argv[16] = {(char *)"fascia"};
    int argc = 1;
    for (; args[argc - 1] && argc < 16; argc++) argv[argc] = (char *)args[argc - 1];
    const char *path = test_path("said.txt");
    fflush(stdout), fflush(stderr);
    int out = dup(1), err = dup(2), file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    dup2(file, 1), dup2(file, 2);
    common = (Common){0};
    int code = cli_main(commands, argc, argv);
    fflush(stdout), fflush(stderr);
    dup2(out, 1), dup2(err, 2);
    close(out), close(err), close(file);
    FILE *f = fopen(path, "rb");
    said[f ? fread(said, 1, sizeof said - 1, f) : 0] = 0;
    if (f) fclose(f);
    return code;
}
#define CALL(commands, ...) call(commands, (const char *const[]){__VA_ARGS__, NULL})
#define SAID(text) (strstr(said, text) ? (void)0 : (print_error("%s\n", said), assert_non_null(strstr(said, text))))

// --- the program's own tables -------------------------------------------------------------------------------------

static void no_name_means_two_things(void **state) {
    (void)state;
    int n = 0;
    while (verbs[n]) n++;
    assert_true(n >= 12);
    assert_int_equal(cli_check(verbs), 0);
}

static void check_help(const Command *const *commands) {
    for (; *commands; commands++) {
        const Command *c = *commands;
        assert_true(c->line[0] && c->usage[0]);
        if (strncmp(c->examples, "  fascia ", 9)) fail_msg("%s: its help does not begin with an example", c->name);
        if (c->verbs) check_help(c->verbs);
    }
}

static void help_opens_with_examples(void **state) {
    (void)state;
    check_help(verbs);
    for (int i = 0; verbs[i]; i++) {
        assert_int_equal(CALL(verbs, verbs[i]->name, "--help"), EXIT_OK);
        char *examples = strstr(said, "\n\nExamples:\n  fascia "), *usage = strstr(said, "Usage: fascia ");
        assert_non_null(examples);
        assert_non_null(usage);
        assert_true(examples == strchr(said, '\n') && examples < usage);
    }
}

// What a text holds is said, not FILE for everything.
static void help_of_parameters(void **state) {
    (void)state;
    CALL(verbs, "blend", "--help");
    SAID("--maps FILE.json");
    SAID("--sculpt NAME=FORCE,...");
    CALL(verbs, "enrich", "--help");
    SAID("--face FILE.face");
    SAID("--strength REGION=X,...");
    CALL(verbs, "drive", "--help");
    SAID("--model volume|surface");
    SAID("--face-model RIG");
    SAID("--sticky on|off");
    assert_null(strstr(said, "dots"));
}

// --- clashes, in tables made for it -------------------------------------------------------------------------------

static const char *text;
static int number;
static int shown(int argc, const char **argv) {
    printf("args %d %s, text %s, number %d\n", argc, argc ? argv[0] : "-", text ? text : "-", number);
    if (cli_params) printf("sticky %g, given %d\n", fa_params_get(cli_params, "sticky"), cli_given("sticky"));
    return EXIT_OK;
}

static const Option good[] = {{"text", 't', OPT_TEXT, &text, "TEXT", 0, 0, "a text"},
                              {"number", 0, OPT_INT, &number, "N", 0, 9, "a number"},
                              {0}};
static const Option shadows[] = {{"model", 0, OPT_TEXT, &text, "RIG", 0, 0, "shadows a parameter"},
                                 {"json", 0, OPT_TEXT, &text, "FILE", 0, 0, "shadows an option of every verb"},
                                 {"query", 'q', OPT_TEXT, &text, "FILE", 0, 0, "shadows a letter"},
                                 {"query", 0, OPT_TEXT, &text, "FILE", 0, 0, "is there twice"},
                                 {0}};

static void clashes_are_found(void **state) {
    (void)state;
    static const Command bad = {.name = "bad", .options = shadows, .method = "projective"};
    const Command group = {.name = "group", .verbs = (const Command *const[]){&bad, NULL}};
    static const Command fine = {.name = "fine", .options = good, .method = "projective"};
    assert_int_equal(cli_check((const Command *const[]){&fine, NULL}), 0);
    assert_int_equal(cli_check((const Command *const[]){&fine, &bad, NULL}), 4);
    assert_int_equal(cli_check((const Command *const[]){&group, NULL}), 4); // of sub-verbs too
}

// --- sub-verbs ----------------------------------------------------------------------------------------------------

static const Command sub_build = {.name = "build",
                                  .line = "makes one",
                                  .usage = "muscle build RIG",
                                  .examples = "  fascia muscle build head.glb\n",
                                  .options = good,
                                  .method = "projective",
                                  .min_args = 1,
                                  .max_args = 1,
                                  .run = shown};
static const Command sub_list = {.name = "list",
                                 .line = "lists them",
                                 .usage = "muscle list",
                                 .examples = "  fascia muscle list\n",
                                 .options = good,
                                 .max_args = 1,
                                 .run = shown};
static const Command muscle = {.name = "muscle",
                               .line = "filled flesh and muscles",
                               .usage = "muscle VERB ...",
                               .examples = "  fascia muscle build head.glb\n",
                               .verbs = (const Command *const[]){&sub_build, &sub_list, NULL}};
static const Command *const tree[] = {&muscle, &sub_list, NULL};

static void sub_verbs(void **state) {
    (void)state;
    assert_int_equal(CALL(tree, "muscle", "build", "head.glb", "--number", "3"), EXIT_OK);
    SAID("args 1 head.glb, text -, number 3");
    assert_int_equal(CALL(tree, "muscle", "list"), EXIT_OK);
    assert_int_equal(CALL(tree, "list"), EXIT_OK); // a verb of the same name at the top
    assert_int_equal(CALL(tree, "muscle"), EXIT_USAGE);
    SAID("fascia muscle --help");
    assert_int_equal(CALL(tree, "muscle", "biuld"), EXIT_USAGE);
    SAID("did you mean muscle build?");
    assert_int_equal(CALL(tree, "muscle", "nothing"), EXIT_USAGE);
    SAID("fascia muscle --help lists them");
    assert_int_equal(CALL(tree, "musle", "build"), EXIT_USAGE);
    SAID("did you mean muscle?");
    assert_int_equal(CALL(tree, "muscle", "build"), EXIT_USAGE);
    SAID("usage: fascia muscle build RIG (for all options: fascia muscle build --help)");
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--nuber", "3"), EXIT_USAGE);
    SAID("muscle build has no option --nuber; did you mean --number?");
}

static void help_of_sub_verbs(void **state) {
    (void)state;
    static const char *const ways[3][3] = {
        {"muscle", "--help", NULL}, {"help", "muscle", NULL}, {"muscle", "-h", NULL}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(CALL(tree, ways[i][0], ways[i][1]), EXIT_OK);
        SAID("build      makes one");
        SAID("list       lists them");
    }
    assert_int_equal(CALL(tree, "muscle", "build", "--help"), EXIT_OK);
    SAID("Usage: fascia muscle build RIG");
    SAID("--shear");
    assert_int_equal(CALL(tree, "help", "muscle", "list"), EXIT_OK);
    SAID("Usage: fascia muscle list");
}

// --- names and values that are wrong ------------------------------------------------------------------------------

static void wrong_values(void **state) {
    (void)state;
    // a parameter is known to "did you mean"
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--stiky", "on"), EXIT_USAGE);
    SAID("did you mean --sticky?");
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--stiky-length=3"), EXIT_USAGE);
    SAID("did you mean --sticky-length?");
    // a flag takes its value; what is no value is not a file
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--sticky", "abc"), EXIT_USAGE);
    SAID("sticky cannot be 'abc' (it takes on or off)");
    assert_int_equal(CALL(tree, "muscle", "build", "--sticky", "off", "x"), EXIT_OK);
    SAID("args 1 x");
    SAID("sticky 0, given 1");
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--sticky"), EXIT_OK);
    SAID("sticky 1, given 1");
    assert_int_equal(CALL(tree, "muscle", "build", "x"), EXIT_OK);
    SAID("sticky 1, given 0");
    // a number that is none, or is not there
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--shear", "abc"), EXIT_USAGE);
    SAID("shear cannot be 'abc' (it takes a number, Pa");
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--shear", "-o", "y"), EXIT_USAGE);
    SAID("--shear needs a value (Pa), and -o is another option");
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--shear"), EXIT_USAGE);
    SAID("--shear needs a value: Pa");
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--text", "--number", "3"), EXIT_USAGE);
    SAID("--text needs a value (TEXT), and --number is another option");
    // a value may begin with a dash
    assert_int_equal(CALL(tree, "list", "--text", "-30,10"), EXIT_OK);
    SAID("text -30,10");
    assert_int_equal(CALL(tree, "list", "--text=--odd"), EXIT_OK);
    SAID("text --odd");
    // --seed of every verb is the method's
    assert_int_equal(CALL(tree, "muscle", "build", "x", "--seed", "-4"), EXIT_USAGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_name_means_two_things),
        cmocka_unit_test(help_opens_with_examples),
        cmocka_unit_test(help_of_parameters),
        cmocka_unit_test(clashes_are_found),
        cmocka_unit_test(sub_verbs),
        cmocka_unit_test(help_of_sub_verbs),
        cmocka_unit_test(wrong_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

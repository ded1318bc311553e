// labels: heavy
// An option that is accepted changes something, or is refused by name: every option and parameter of `fascia blend`, in
// each of the ways it works.
#include "test_app_tools.h"

#include "app/cli.h"

static char rig[4200], clip[4200], captured[4200], maps[4200];

static int make_files(void **state) {
    (void)state;
    snprintf(rig, sizeof rig, "%s", test_path("rig.glb"));
    snprintf(clip, sizeof clip, "%s", test_path("clip.csv"));
    snprintf(captured, sizeof captured, "%s", test_path("captured.pc2"));
    snprintf(maps, sizeof maps, "%s", test_path("maps.json"));
    assert_int_equal(RUN("head", "--level", "0", "--bones", "-o", rig), 0);
    FILE *f = fopen(clip, "wb"), *m = fopen(maps, "wb");
    fputs("time,jawOpen,mouthSmileLeft,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", f);
    for (int i = 0; i < 20; i++)
        fprintf(f, "%.6f,%g,%g,%g,0,0,1,0,%g,0\n", i / 30.0, 0.05 * i, i > 8 ? 0.8 : 0.0, 0.002 * i, 0.002 * i * i);
    fputs("{\"shapes\": {\"jawOpen\": \"firm\"}}", m);
    fclose(f);
    fclose(m);
    assert_int_equal(RUN("blend", rig, clip, "--frequency", "6", "-o", captured), 0);
    return 0;
}

// A value unlike the default; NULL: the option takes none. Options that this table does not know fail the test.
typedef struct Value {
    const char *name, *value;
} Value;
static const Value values[] = {
    {"weights", "jawOpen=0.5"},
    {"time", "0.4"},
    {"slider", "4"},
    {"explore", "2"},
    {"random", "3"},
    {"targets", "jawOpen,cheekPuff"},
    {"raw", NULL},
    {"limit", "2"},
    {"pick", "1"},
    {"estimate", captured},
    {"per-vertex", NULL},
    {"head-motion", "2"},
    {"world", NULL},
    {"bake-error", "3"},
    {"max-targets", "1"},
    {"check", NULL},
    {"map", NULL},
    {"mesh", NULL},
    {"up", NULL},
    {"any-size", NULL},
    {"head-units", "deg"},
    {"joint", "Head"},
    {"preset", "jelly"},
    {"frequency", "2"},
    {"ratio", "0.1"},
    {"mass", "3"},
    {"damping", "30"},
    {"stiffness", "700"},
    {"head", "3"},
    {"gravity", "0"},
    {"rate", "20"},
    {"maps", maps},
    {"sculpt", "jawOpen=constant:0.5"},
    {"seed", "5"},
    {"fps", "12"},
    {"frames", "2-3"},
};

static const Value *value_of(const char *name) {
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name)) return &values[i];
    fail_msg("no value for --%s: add it to the table of this test", name);
    return NULL;
}

typedef struct Mode {
    const char *const *args; // without the output
    const char *ext;
    const char *quiet; // options that act only on other files than these, and say so in the guide
} Mode;
static const Mode modes[] = {
    {(const char *const[]){"blend", rig, clip, NULL}, "glb", "head-units joint"},
    {(const char *const[]){"blend", rig, "--weights", "jawOpen=1,mouthSmileLeft=0.4", "--time", "0.5", NULL}, "pc2",
     "fps bake-error max-targets"},
    {(const char *const[]){"blend", rig, "--explore", "3", "--targets", "jawOpen,cheekPuff", "--time", "0.5", NULL},
     "pc2", "fps bake-error max-targets limit pick"},
    {(const char *const[]){"blend", rig, "--random", "4", "--targets", "jawOpen,cheekPuff", "--time", "0.5", NULL},
     "pc2", "fps bake-error max-targets limit pick"},
    {(const char *const[]){"blend", rig, clip, "--estimate", captured, "--per-vertex", NULL}, "json",
     "head-units joint mass fps"},
};

static size_t bytes_of(const char *path, char **data) {
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    *data = malloc(1 << 24);
    if (f) n = fread(*data, 1, 1 << 24, f);
    if (f) fclose(f);
    return n;
}

static bool is_in(const char *name, const char *list) {
    const char *at = strstr(list, name);
    size_t n = strlen(name);
    return at && (at == list || at[-1] == ' ') && (!at[n] || at[n] == ' ');
}

// The output of a mode with one more option; the exit code.
static int play(const Mode *m, const char *option, const char *value, const char *out) {
    const char *args[24];
    int n = 0;
    char dashed[80];
    while (m->args[n]) args[n] = m->args[n], n++;
    args[n++] = "-o", args[n++] = out;
    if (option) {
        snprintf(dashed, sizeof dashed, "--%s", option);
        args[n++] = dashed;
        if (value) args[n++] = value;
    }
    args[n] = NULL;
    remove(out);
    return run(args);
}

static bool takes_no_value(const char *name) { return is_in(name, "raw per-vertex world check any-size"); }

static int nacts, nrefused;

static void try_option(const Mode *m, const char *name, const char *base, const char *out) {
    const Value *v = value_of(name);
    if (is_in(name, "map mesh up any-size") || is_in(name, m->quiet)) return;
    for (int i = 0; m->args[i]; i++)
        if (!strncmp(m->args[i], "--", 2) && !strcmp(m->args[i] + 2, name)) return; // given already
    int code = play(m, name, takes_no_value(name) ? NULL : v->value, out);
    if (code == 2) {
        if (!strstr(output, name)) fail_msg("refused without naming --%s: %s", name, output);
        nrefused++;
        return;
    }
    if (code != 0 && code != 4) fail_msg("--%s: exit code %d: %s", name, code, output);
    char *a, *b;
    size_t na = bytes_of(base, &a), nb = bytes_of(out, &b);
    bool same = na == nb && !memcmp(a, b, na);
    free(a);
    free(b);
    if (same && !strcmp(name, "check")) same = !strstr(output, "triangles that cross");
    if (same)
        fail_msg("%s %s %s: --%s is accepted and does nothing", m->args[0], m->args[2], m->args[3] ? m->args[3] : "",
                 name);
    nacts++;
}

static void every_option_of_blend(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char base[4200], out[4200], name[64];
        snprintf(name, sizeof name, "base_%zu.%s", i, modes[i].ext);
        snprintf(base, sizeof base, "%s", test_path(name));
        snprintf(name, sizeof name, "out_%zu.%s", i, modes[i].ext);
        snprintf(out, sizeof out, "%s", test_path(name));
        assert_int_equal(play(&modes[i], NULL, NULL, base), 0);
        for (const Option *o = cmd_blend.options; o->name; o++)
            if (o->kind != OPT_GROUP) try_option(&modes[i], o->name, base, out);
        for (const FaParamInfo *p = fa_method_params("analytic"); p->name; p++) {
            char dashed[64];
            snprintf(dashed, sizeof dashed, "%s", p->name);
            for (char *c = dashed; *c; c++)
                if (*c == '_') *c = '-';
            try_option(&modes[i], dashed, base, out);
        }
        static const char *const more[] = {"seed", "fps", "frames"};
        for (int k = 0; k < 3; k++) try_option(&modes[i], more[k], base, out);
    }
    print_message("%d options act, %d are refused\n", nacts, nrefused);
    assert_true(nacts > 20 && nrefused > 60);
}

static void what_is_named(void **state) {
    (void)state;
    assert_int_equal(RUN("blend", rig, "--weights", "jawOpen=1", "--maps", "nofile.json", "-o", test_path("x.pc2")), 2);
    SAID("--maps does nothing with --weights");
    assert_int_equal(RUN("blend", rig, "--targets", "jawOpen,cheekPuff", "--explore", "3", "--pick", "3"), 2);
    SAID("-o more.glb");
    assert_int_equal(RUN("blend", rig, "--targets", "jawOpen,cheekPuff", "--explore", "3", "--pick", "3,3", "-o",
                         test_path("x.glb")),
                     2);
    SAID("picked twice");
    assert_int_equal(RUN("blend", rig, clip, "--estimate", captured, "--mass", "abc"), 2);
    // picked from a rig that has such shapes already: names stay apart
    const char *one = test_path("one.glb");
    assert_int_equal(RUN("blend", rig, "--targets", "jawOpen,cheekPuff", "--explore", "3", "--pick", "3", "-o", one),
                     0);
    const char *two = test_path("two.glb");
    assert_int_equal(RUN("blend", one, "--targets", "jawOpen,cheekPuff", "--explore", "3", "--pick", "3", "-o", two),
                     0);
    assert_int_equal(RUN("info", two, "--json"), 0);
    SAID("\"blend_3_2\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_option_of_blend), cmocka_unit_test(what_is_named)};
    return cmocka_run_group_tests(tests, make_files, NULL);
}

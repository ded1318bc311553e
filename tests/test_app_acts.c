// labels: heavy
// An option that is accepted changes something, or is refused by name: every option and parameter of `fascia blend`,
// `fascia drive` and `fascia markers`, in each of the ways they work.
#include "test_app_tools.h"

#include "app/cli.h"

static char rig[4200], clip[4200], captured[4200], maps[4200], take[4200], trust[4200], other[4200];

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
    assert_int_equal(RUN("blend", rig, clip, "--frequency", "6", "--regions", "off", "-o", captured), 0);
    snprintf(take, sizeof take, "%s", test_path("take.csv"));
    snprintf(trust, sizeof trust, "%s", test_path("trust.csv"));
    snprintf(other, sizeof other, "%s", test_path("other.glb"));
    assert_int_equal(RUN("markers", rig, clip, "--count", "40", "--frames", "0-11", "-o", take), 0);
    assert_int_equal(RUN("head", "--level", "0", "--identity", "nose_width=2,face_width=1", "-o", other), 0);
    FILE *taken = fopen(take, "rb"), *trusted = fopen(trust, "wb");
    char name[64] = "";
    assert_int_equal(fscanf(taken, "time,%60[^.]", name), 1);
    fprintf(trusted, "%s,0\n", name);
    fclose(taken);
    fclose(trusted);
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
    {"rate", "100"},
    {"maps", maps},
    {"sculpt", "jawOpen=constant:0.5"},
    {"regions", "off"},
    {"loop-motion", NULL},
    {"hinge", "0,0.02,0.01"},
    {"head-smooth", "3"},
    {"names", NULL},
    {"flesh", "full"},
    {"from", other},
    {"count", "12"},
    {"method", "sbs"},
    {"residual", "off"},
    {"jaw", "off"},
    {"smooth", "3"},
    {"retarget", NULL},
    {"neutral", "7"},
    {"reach", "0.02"},
    {"trust", trust},
    {"report", NULL},
    {"truth", NULL},
    {"literal", NULL},
    {"image", "640x480"},
    {"focal", "900"},
    {"overlay", NULL},
    {"face-model", other},
    {"face-model-unit", "cm"},
    {"landmarks", maps},
    {"identities", maps},
    {"face", NULL},
    {"model", "surface"},
    {"solver", "gs"},
    {"svd", "taylor"},
    {"iterations", "3"},
    {"integrator", "euler"},
    {"shear", "900"},
    {"bulk", "5000"},
    {"goal", "4"},
    {"bone", "10"},
    {"drag", "90"},
    {"follow", "off"},
    {"contact", "off"},
    {"contact-stiffness", "20"},
    {"friction", "0"},
    {"sticky", "on"},
    {"sticky-stiffness", "2"},
    {"sticky-length", "5"},
    {"teeth", "off"},
    {"save-map", NULL},
    {"other", other},
    {"picture", NULL},
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
    const Command *cmd;
    const char *const *args; // without the output
    const char *ext;
    const char *quiet; // options that act only on other files than these, and say so in the guide
} Mode;
#define ARGS (const char *const[])
static const Mode modes[] = {
    {&cmd_blend, ARGS{"blend", rig, clip, NULL}, "glb", "head-units joint head-smooth"},
    {&cmd_blend, ARGS{"blend", rig, "--weights", "jawOpen=1,mouthSmileLeft=0.4", "--time", "0.5", NULL}, "pc2",
     "fps bake-error max-targets"},
    {&cmd_blend, ARGS{"blend", rig, "--explore", "3", "--targets", "jawOpen,cheekPuff", "--time", "0.5", NULL}, "pc2",
     "fps bake-error max-targets limit pick"},
    {&cmd_blend, ARGS{"blend", rig, "--random", "4", "--targets", "jawOpen,cheekPuff", "--time", "0.5", NULL}, "pc2",
     "fps bake-error max-targets limit pick"},
    {&cmd_blend, ARGS{"blend", rig, clip, "--estimate", captured, "--per-vertex", NULL}, "json",
     "head-units joint mass fps"},
    // lips that never touch do not stick; markers that are right on the skin of this very face need no reach
    {&cmd_drive, ARGS{"drive", rig, clip, NULL}, "pc2",
     "head-units joint head-smooth bake-error max-targets seed fps sticky sticky-stiffness sticky-length"},
    {&cmd_drive, ARGS{"drive", rig, take, "--method", "bf", NULL}, "pc2",
     "bake-error max-targets seed fps world smooth sticky sticky-stiffness sticky-length friction contact "
     "contact-stiffness teeth head gravity svd neutral literal hinge retarget reach"},
    {&cmd_drive, ARGS{"drive", rig, take, "--literal", NULL}, "pc2",
     "bake-error max-targets fps world smooth neutral method jaw residual retarget hinge flesh reach"},
    {&cmd_drive, ARGS{"drive", rig, clip, "--from", other, "--method", "sbs", NULL}, "pc2",
     "head-units joint head-smooth bake-error max-targets fps world smooth neutral reach trust flesh hinge literal "
     "residual jaw"},
    {&cmd_markers, ARGS{"markers", rig, clip, NULL}, "csv", "head-units joint head-smooth reach"},
    {&cmd_markers, ARGS{"markers", rig, take, NULL}, "json", "fps neutral reach"},
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
    size_t n = strlen(name);
    for (const char *at = list; (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return true;
    return false;
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

static bool takes_no_value(const char *name) {
    return is_in(name, "raw per-vertex world check any-size retarget literal loop-motion");
}

static int nacts, nrefused, nwrong;

static void try_option(const Mode *m, const char *name, const char *base, const char *out) {
    const Value *v = value_of(name);
    if (is_in(name, "map mesh up any-size names report truth overlay face save-map picture") || is_in(name, m->quiet))
        return;
    for (int i = 0; m->args[i]; i++)
        if (!strncmp(m->args[i], "--", 2) && !strcmp(m->args[i] + 2, name)) return; // given already
    int code = play(m, name, takes_no_value(name) ? NULL : v->value, out);
    if (code == 2) {
        if (!strstr(output, name)) {
            print_message("refused without naming --%s: %s\n", name, output);
            nwrong++;
        }
        nrefused++;
        return;
    }
    if (code != 0 && code != 4) {
        print_message("%s %s: --%s: exit code %d: %s\n", m->args[0], m->args[2], name, code, output);
        nwrong++;
        return;
    }
    char *a, *b;
    size_t na = bytes_of(base, &a), nb = bytes_of(out, &b);
    bool same = na == nb && !memcmp(a, b, na);
    free(a);
    free(b);
    if (same && !strcmp(name, "check")) same = !strstr(output, "triangles that cross");
    if (same) {
        print_message("%s %s %s: --%s is accepted and does nothing\n", m->args[0], m->args[2],
                      m->args[3] ? m->args[3] : "", name);
        nwrong++;
        return;
    }
    nacts++;
}

static void every_option(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        char base[4200], out[4200], name[64];
        snprintf(name, sizeof name, "base_%zu.%s", i, modes[i].ext);
        snprintf(base, sizeof base, "%s", test_path(name));
        snprintf(name, sizeof name, "out_%zu.%s", i, modes[i].ext);
        snprintf(out, sizeof out, "%s", test_path(name));
        if (play(&modes[i], NULL, NULL, base) != 0) fail_msg("%s %s: %s", modes[i].args[0], modes[i].args[2], output);
        for (const Option *o = modes[i].cmd->options; o->name; o++)
            if (o->kind != OPT_GROUP) try_option(&modes[i], o->name, base, out);
        const char *method = modes[i].cmd->method;
        for (const FaParamInfo *p = method ? fa_method_params(method) : NULL; p && p->name; p++) {
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
    assert_int_equal(nwrong, 0);
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
    assert_int_equal(RUN("drive", rig, take, "--literal", "--sticky", "on", "-o", test_path("x.pc2")), 2);
    SAID("--sticky does nothing without flesh");
    assert_int_equal(RUN("drive", rig, clip, "--model", "nonsense", "-o", test_path("x.pc2")), 2);
    SAID("model cannot be 'nonsense'");
    assert_int_equal(RUN("drive", rig, clip, "--jaw", "off", "-o", test_path("x.pc2")), 2);
    SAID("--jaw does nothing for a clip");
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_option), cmocka_unit_test(what_is_named)};
    return cmocka_run_group_tests(tests, make_files, NULL);
}

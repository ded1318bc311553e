// labels: heavy
// An option that is accepted changes something, or is refused by name: every option and parameter of every verb, in
// each of the ways they work. What a verb takes is read from its own table, so that a new option without a value here
// fails.
#include "test_app_tools.h"

#include "app/cli.h"

#include <math.h>

static char rig[4200], clip[4200], captured[4200], maps[4200], take[4200], trust[4200], other[4200], face[4200],
    hand[4200], hand_moves[4200], nod[4200], muscles[4200], pose[4200], edits[4200], places[4200], forces[4200];

// A box before the left cheek, and how it comes nearer.
static void make_hand(void) {
    snprintf(hand, sizeof hand, "%s", test_path("hand.obj"));
    snprintf(hand_moves, sizeof hand_moves, "%s", test_path("hand.csv"));
    FILE *f = fopen(hand, "wb"), *m = fopen(hand_moves, "wb");
    for (int i = 0; i < 8; i++)
        fprintf(f, "v %g %g %g\n", i & 1 ? 0.09 : 0.02, i & 2 ? 0.02 : -0.04, i & 4 ? 0.16 : 0.082);
    fputs("f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n", f);
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", m);
    for (int i = 0; i < 8; i++)
        fprintf(m, "%.6f,0,0,0,1,%g,%g,%g\n", i / 30.0, -0.0005 * i, 0.002 * i * i, -0.0005 * i);
    fclose(f);
    fclose(m);
}

// A face with muscles, a pose of it, and what is changed in that.
static void make_forces(void) {
    snprintf(forces, sizeof forces, "%s", test_path("forces.json"));
    FILE *f = fopen(forces, "wb");
    fputs("{\"gravity\": {\"size\": 3, \"direction\": [0, -1, 0]}}", f);
    fclose(f);
}

static void make_muscles(void) {
    snprintf(muscles, sizeof muscles, "%s", test_path("muscles.face"));
    snprintf(pose, sizeof pose, "%s", test_path("smile.pose"));
    snprintf(edits, sizeof edits, "%s", test_path("edits.json"));
    assert_int_equal(RUN("muscle", "build", rig, "--flesh-size", "500", "-o", muscles), 0);
    assert_int_equal(RUN("muscle", "pose", muscles, "--act", "zyg_maj=.3", "-o", pose), 0);
    FILE *f = fopen(edits, "wb");
    fputs("{\"edits\": [{\"muscle\": \"zyg_maj.*\", \"u\": 1, \"move\": {\"up\": 2}, \"key\": 1}]}", f);
    fclose(f);
}

static int make_files(void **state) {
    (void)state;
    snprintf(rig, sizeof rig, "%s", test_path("rig.glb"));
    snprintf(clip, sizeof clip, "%s", test_path("clip.csv"));
    snprintf(captured, sizeof captured, "%s", test_path("captured.pc2"));
    snprintf(maps, sizeof maps, "%s", test_path("maps.json"));
    assert_int_equal(RUN("head", "--level", "0", "--bones", "-o", rig), 0);
    FILE *f = fopen(clip, "wb"), *m = fopen(maps, "wb");
    fputs("time,jawOpen,mouthSmileLeft,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", f);
    for (int i = 0; i < 8; i++)
        fprintf(f, "%.6f,%g,%g,%g,0,0,1,0,%g,0\n", i / 30.0, 0.1 * i, i > 3 ? 0.8 : 0.0, 0.002 * i, 0.002 * i * i);
    fputs("{\"shapes\": {\"jawOpen\": \"firm\"}}", m);
    fclose(f);
    fclose(m);
    assert_int_equal(RUN("blend", rig, clip, "--frequency", "6", "--regions", "off", "-o", captured), 0);
    snprintf(take, sizeof take, "%s", test_path("take.csv"));
    snprintf(trust, sizeof trust, "%s", test_path("trust.csv"));
    snprintf(other, sizeof other, "%s", test_path("other.glb"));
    snprintf(places, sizeof places, "%s", test_path("places.json"));
    assert_int_equal(RUN("markers", rig, clip, "--count", "40", "-o", take, "--save-map", places), 0);
    assert_int_equal(RUN("head", "--level", "0", "--identity", "nose_width=2,face_width=1", "-o", other), 0);
    FILE *taken = fopen(take, "rb"), *trusted = fopen(trust, "wb");
    char name[64] = "";
    assert_int_equal(fscanf(taken, "time,%60[^.]", name), 1);
    fprintf(trusted, "%s,0\n", name);
    fclose(taken);
    fclose(trusted);
    make_hand();
    snprintf(face, sizeof face, "%s", test_path("tiny.face"));
    assert_int_equal(RUN("build", rig, "--volumes", "--simulate-vertices", "200", "-o", face), 0);
    snprintf(nod, sizeof nod, "%s", test_path("nod.csv"));
    FILE *n = fopen(nod, "wb");
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", n);
    for (int i = 0; i < 4; i++) fprintf(n, "%.6f,0,0,0,1,0,%g,0\n", i / 30.0, 0.01 * (i % 2));
    fclose(n);
    make_muscles();
    make_forces();
    return 0;
}

// A value unlike the default; NULL: the option takes none. Options that this table does not know fail the test.
// VERB:NAME where verbs mean different things by a name.
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
    {"every", "2"},
    {"tiles", "4"},
    {"page", "2"},
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
    {"hit", "4"},
    {"goals", "cheeks=0.2"},
    {"sticks", "cheeks"},
    {"hinge", "0,0.02,0.01"},
    {"head-smooth", "3"},
    {"names", NULL},
    {"physics", "full"},
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
    {"stream", "weights"},
    {"truth", NULL},
    {"literal", NULL},
    {"image", "640x480"},
    {"focal", "900"},
    {"overlay", NULL},
    {"face-model", other},
    {"face-model-unit", "cm"},
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
    {"unit", "0.9"},
    {"cache-unit", "mm"},
    {"enrich:head-motion", nod},
    {"muscle play:head-motion", nod},
    {"enrich:rate", "100"},
    {"enrich:solver", "jacobi"},
    {"enrich:contact", "off"},
    {"out-fps", "50"},
    {"preroll", "0.1"},
    {"loop", NULL},
    {"keep", NULL},
    {"collider", hand},
    {"collider-motion", hand_moves},
    {"collider-frame", "head"},
    {"alpha", "0"},
    {"softness", "3"},
    {"material", "uniform"},
    {"law", "neo"},
    {"forces", forces},
    {"strength", "all=0.5"},
    {"strict", "on"},
    {"collider-stiffness", "20"},
    {"collider-friction", "1"},
    {"tolerance", "0.1"},
    {"clip", clip},
    {"rig", rig},
    {"head:clip", "smile"},
    {"level", "1"},
    {"identity", "nose_width=2"},
    {"head:bones", NULL},
    {"list", NULL},
    {"zoo", NULL},
    {"list-zoo", NULL},
    {"frame", "3"},
    {"view", "profile"},
    {"focus", "mouth"},
    {"zoom", "2"},
    {"size", "40x40"},
    {"samples", "2"},
    {"sheet", NULL},
    {"views", NULL},
    {"strip", NULL},
    {"columns", "3"},
    {"turntable", NULL},
    {"heat", captured},
    {"displacement", NULL},
    {"heat-max", "3"},
    {"wire", NULL},
    {"flat", NULL},
    {"hold-head", NULL},
    {"label", NULL},
    {"alone", NULL},
    {"max-mm", "1000"},
    {"no-intersections", NULL},
    {"shapes", NULL},
    {"deep", NULL},
    {"flesh", "filled"},
    {"flesh-size", "900"},
    {"layers", "2"},
    {"thickness", "6"},
    {"lip-thickness", "3"},
    {"build:bone", hand},
    {"no-bones", NULL},
    {"whole", NULL},
    {"margin", "5"},
    {"simulate-vertices", "300"},
    {"density", "900"},
    {"paint", NULL},
    {"materials", "auto"},
    {"materials-preview", NULL},
    {"volumes", NULL},
    {"pictures", NULL},
    {"equilibrium", NULL},
    {"floor", "0.5"},
    {"act", "inc_*=.4"},
    {"muscle pose:jaw", "open=3"},
    {"part", "0.5"},
    {"on", muscles},
    {"show", "muscles"},
    {"cut", NULL},
    {"curves", NULL},
    {"muscle target:rounds", "2"},
    {"spring", "5e10"},
    {"snap", "0.5"},
    {"muscle target:snap", "all"},
    {"no-contact", NULL},
    {"bones", "on"},
    {"landmarks", maps},
    {"muscle target:landmarks", places},
    {"to", captured},
    {"to-unit", "cm"},
    {"markers", take},
    {"muscle target:frame", "5"},
    {"muscle target:neutral", "0"},
    {"marker-map", maps},
    {"edits", edits},
    {"by", "skin"},
    {"motion", "dynamic"},
    {"muscle play:contact", "off"},
    {"jaw-poses", clip},
};

static const Value *value_of(const char *verb, const char *name) {
    char own[80];
    snprintf(own, sizeof own, "%s:%s", verb, name);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, own)) return &values[i];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name)) return &values[i];
    fail_msg("no value for --%s: add it to the table of this test", name);
    return NULL;
}

typedef struct Mode {
    const Command *cmd;
    const char *const *args; // without the output
    const char *ext;         // NULL: what is printed counts
    const char *quiet;       // options that act only on other files than these, and say so in the guide
} Mode;
#define ARGS (const char *const[])
#define QUIET "head-units joint head-smooth fps world cache-unit bake-error max-targets hinge collider "
static const Mode modes[] = {
    {&cmd_blend, ARGS{"blend", rig, clip, NULL}, "glb", "head-units joint head-smooth"},
    {&cmd_blend, ARGS{"blend", rig, "--weights", "jawOpen=1,mouthSmileLeft=0.4", "--time", "0.5", NULL}, "pc2", "fps"},
    {&cmd_blend, ARGS{"blend", rig, "--explore", "3", "--targets", "jawOpen,cheekPuff", "--time", "0.5", NULL}, "pc2",
     "fps limit pick"},
    {&cmd_blend, ARGS{"blend", rig, "--random", "4", "--targets", "jawOpen,cheekPuff", "--time", "0.5", NULL}, "pc2",
     "fps limit pick"},
    {&cmd_blend, ARGS{"blend", rig, clip, "--estimate", captured, "--per-vertex", NULL}, "json",
     "head-units joint mass fps"},
    // lips that never touch do not stick; markers that are right on the skin of this very face need no reach
    {&cmd_drive, ARGS{"drive", rig, clip, "--face", face, NULL}, "pc2",
     "head-units joint head-smooth seed fps sticky sticks sticky-stiffness sticky-length hinge"},
    {&cmd_drive, ARGS{"drive", rig, take, "--method", "bf", "--face", face, NULL}, "pc2",
     "seed fps world smooth sticky sticks sticky-stiffness sticky-length friction contact "
     "contact-stiffness teeth head gravity svd neutral literal hinge retarget reach"},
    {&cmd_drive, ARGS{"drive", rig, take, "--literal", NULL}, "pc2",
     "fps world smooth neutral method jaw residual retarget hinge physics reach"},
    {&cmd_drive, ARGS{"drive", rig, clip, "--from", other, "--method", "sbs", NULL}, "pc2",
     "head-units joint head-smooth fps world smooth neutral reach trust physics hinge literal residual jaw"},
    {&cmd_markers, ARGS{"markers", rig, clip, NULL}, "csv", "head-units joint head-smooth reach"},
    {&cmd_markers, ARGS{"markers", rig, take, NULL}, "json", "fps neutral reach unit"},
    {&cmd_enrich, ARGS{"enrich", rig, clip, "--face", face, NULL}, "pc2",
     "head-units joint head-smooth hinge fps strict contact contact-stiffness teeth"},
    {&cmd_enrich, ARGS{"enrich", rig, clip, "--face", face, "--collider", hand, "--collider-motion", hand_moves, NULL},
     "pc2", "= collider-motion collider-frame collider-stiffness collider-friction"},
    {&cmd_convert, ARGS{"convert", rig, "--clip", clip, NULL}, "pc2", "head-units joint head-smooth hinge fps"},
    {&cmd_convert, ARGS{"convert", rig, "--clip", clip, NULL}, "glb", "head-units joint head-smooth hinge"},
    {&cmd_convert, ARGS{"convert", rig, NULL}, "gltf", "fps frames unit"},
    {&cmd_convert, ARGS{"convert", clip, NULL}, "json", "head-units joint head-smooth unit"},
    {&cmd_convert, ARGS{"convert", captured, "--rig", rig, NULL}, "glb", "hinge world unit"},
    {&cmd_convert, ARGS{"convert", captured, NULL}, "mdd", "rig clip"},
    {&cmd_render, ARGS{"render", rig, "--size", "48x48", "--clip", clip, NULL}, "png",
     "head-units joint head-smooth unit"},
    {&cmd_render, ARGS{"render", captured, "--samples", "1", "--size", "48x48", "--rig", rig, NULL}, "png",
     "unit clip"},
    {&cmd_render, ARGS{"render", rig, "--sheet", "--samples", "1", "--size", "32x32", NULL}, "png",
     "clip head-units joint head-smooth unit"},
    {&cmd_render, ARGS{"render", rig, "--clip", clip, "--strip", "--samples", "1", "--size", "32x32", NULL}, "png",
     "head-units joint head-smooth unit"},
    {&cmd_render, ARGS{"render", rig, "--clip", clip, "--views", "--samples", "1", "--size", "32x32", NULL}, "png",
     "head-units joint head-smooth unit"},
    {&cmd_render, ARGS{"render", rig, "--clip", clip, "--turntable", "--samples", "1", "--size", "32x32", NULL}, "png",
     "head-units joint head-smooth unit"},
    {&cmd_render, ARGS{"render", rig, "--clip", clip, NULL}, "html", "head-units joint head-smooth"},
    {&cmd_compare, ARGS{"compare", rig, captured, NULL}, NULL, "unit max-mm rig"},
    {&cmd_compare, ARGS{"compare", rig, other, NULL}, NULL, "max-mm frames"},
    {&cmd_info, ARGS{"info", rig, NULL}, NULL, ""},
    {&cmd_info, ARGS{"info", clip, NULL}, NULL, "unit head-units joint"},
    {&cmd_info, ARGS{"info", captured, NULL}, NULL, ""},
    {&cmd_info, ARGS{"info", take, NULL}, NULL, ""},
    {&cmd_info, ARGS{"info", face, NULL}, NULL, ""},
    {&cmd_build, ARGS{"build", rig, "--simulate-vertices", "200", NULL}, "face", ""},
    {&cmd_muscle, ARGS{"muscle", "list", muscles, NULL}, NULL, "head-units joint head-smooth unit hinge"},
    // one frame: no head moves in a clip, and the mesh has no joints; a pose of a mesh in metres is in metres
    {&cmd_muscle, ARGS{"muscle", "pose", muscles, "--act", "zyg_maj=.5", NULL}, "obj", QUIET "spring"},
    {&cmd_muscle, ARGS{"muscle", "pose", pose, NULL}, "obj", QUIET "on"},
    {&cmd_muscle, ARGS{"muscle", "target", muscles, "--weights", "mouthSmileLeft=.6", "--rounds", "1", NULL}, "obj",
     QUIET},
    {&cmd_muscle, ARGS{"muscle", "edit", pose, "--edits", edits, NULL}, "obj", QUIET "on"},
    {&cmd_muscle, ARGS{"muscle", "retarget", muscles, pose, muscles, NULL}, "obj", QUIET "snap by"},
    {&cmd_muscle, ARGS{"muscle", "play", muscles, clip, "--frames", "3-5", NULL}, "pc2",
     "head-units joint head-smooth hinge fps"},
    {&cmd_head, ARGS{"head", "--level", "0", NULL}, "glb", "truth"},
    {&cmd_head, ARGS{"head", "--list", NULL}, NULL, ""},
};

// "muscle pose" for a verb of a verb; its command.
static const char *verb_of(const Mode *m, const Command **cmd) {
    static char both[64];
    *cmd = m->cmd;
    if (!m->cmd->verbs) return m->args[0];
    for (const Command *const *v = m->cmd->verbs; *v; v++)
        if (!strcmp((*v)->name, m->args[1])) *cmd = *v;
    snprintf(both, sizeof both, "%s %s", m->args[0], m->args[1]);
    return both;
}

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
    if (out) args[n++] = "-o", args[n++] = out;
    if (option) {
        snprintf(dashed, sizeof dashed, "--%s", option);
        args[n++] = dashed;
        if (value) args[n++] = value;
    }
    args[n] = NULL;
    if (out) remove(out);
    return run(args);
}

static bool takes_no_value(const char *name, const Command *cmd) {
    for (const Option *o = cmd->options; o->name; o++)
        if (!strcmp(o->name, name)) return o->kind == OPT_FLAG;
    return is_in(name,
                 "raw per-vertex world check any-size retarget literal loop-motion loop bones list list-zoo sheet "
                 "views strip turntable displacement wire flat hold-head label alone no-intersections shapes deep "
                 "no-bones whole volumes equilibrium");
}

static bool same_bytes(const char *one, const char *two) {
    char *a, *b;
    size_t na = bytes_of(one, &a), nb = bytes_of(two, &b);
    bool same = na == nb && !memcmp(a, b, na);
    free(a);
    free(b);
    return same;
}

static char printed[1 << 20]; // by a mode without an output
static int nacts, nrefused, nwrong;

static bool writes_another_file(const char *name, const Command *cmd) {
    for (const Option *o = cmd->options; o->name; o++)
        if (!strcmp(o->name, name)) return o->kind == OPT_OUT;
    return false;
}

// With FASCIA_SHORT=1 an option is tried in the first mode of its verb only.
static bool is_tried(const char *verb, const char *name) {
    static char tried[1 << 14] = " ";
    char both[160];
    snprintf(both, sizeof both, " %s:%s ", verb, name);
    if (getenv("FASCIA_SHORT") && strstr(tried, both)) return true;
    if (strlen(tried) + strlen(both) < sizeof tried) strcat(tried, both + 1);
    return false;
}

static void try_option(const Mode *m, const char *name, const char *base, const char *out) {
    const Command *cmd;
    const Value *v = value_of(verb_of(m, &cmd), name);
    if (writes_another_file(name, cmd)) return;
    if (is_in(
            name,
            "map mesh up any-size names report overlay face save-map picture keep materials-preview pictures paint zoo "
            "truth") ||
        is_in(name, m->quiet) != (m->quiet[0] == '='))
        return;
    for (int i = 0; m->args[i]; i++)
        if (!strncmp(m->args[i], "--", 2) && !strcmp(m->args[i] + 2, name)) return; // given already
    if (is_tried(m->args[0], name)) return;
    int code = play(m, name, takes_no_value(name, cmd) ? NULL : v->value, out);
    if (!strcmp(name, "unit") && code != 0) return; // refused, or in that unit it is no head
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
    bool same = out ? same_bytes(base, out) : !strcmp(printed, output);
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
        const char *only = getenv("FASCIA_VERBS"); // while one works on them
        if (only && !strstr(only, modes[i].args[0])) continue;
        char base[4200], out[4200], name[64];
        bool file = modes[i].ext != NULL;
        snprintf(name, sizeof name, "base_%zu.%s", i, file ? modes[i].ext : "");
        snprintf(base, sizeof base, "%s", test_path(name));
        snprintf(name, sizeof name, "out_%zu.%s", i, file ? modes[i].ext : "");
        snprintf(out, sizeof out, "%s", test_path(name));
        int code = play(&modes[i], NULL, NULL, file ? base : NULL);
        if (code != 0 && code != 4) fail_msg("%s %s: %s", modes[i].args[0], modes[i].args[1], output);
        memcpy(printed, output, sizeof printed);
        const char *to = file ? out : NULL;
        const Command *cmd;
        verb_of(&modes[i], &cmd);
        for (const Option *o = cmd->options; o->name; o++)
            if (o->kind != OPT_GROUP) try_option(&modes[i], o->name, base, to);
        const char *method = cmd->method;
        for (const FaParamInfo *p = method ? fa_method_params(method) : NULL; p && p->name; p++) {
            char dashed[64];
            snprintf(dashed, sizeof dashed, "%s", p->name);
            for (char *c = dashed; *c; c++)
                if (*c == '_') *c = '-';
            try_option(&modes[i], dashed, base, to);
        }
        static const char *const more[] = {"seed", "fps", "frames", "unit"};
        for (int k = 0; k < 4; k++) try_option(&modes[i], more[k], base, to);
    }
    print_message("%d options act, %d are refused\n", nacts, nrefused);
    assert_int_equal(nwrong, 0);
    assert_true(nacts > 20 && nrefused > (getenv("FASCIA_SHORT") ? 20 : 60));
}

static void what_is_named(void **state) {
    (void)state;
    assert_int_equal(RUN("blend", rig, "--weights", "jawOpen=1", "--maps", "nofile.json", "-o", test_path("x.pc2")), 5);
    SAID("nofile.json");
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

// What the default blend makes, with lids and lips that keep the clip's timing, tells its spring.
static void captures_of_blend(void **state) {
    (void)state;
    char smiling[4200], seen[4200];
    snprintf(smiling, sizeof smiling, "%s", test_path("smiling.glb"));
    snprintf(seen, sizeof seen, "%s", test_path("seen.pc2"));
    assert_int_equal(RUN("head", "--level", "0", "--clip", "smile", "-o", smiling), 0);
    assert_int_equal(RUN("blend", smiling, "--frequency", "5", "--ratio", "0.4", "-o", seen), 0);
    assert_int_equal(RUN("blend", smiling, "--estimate", seen, "--json"), 0);
    assert_true(fabs(said_number("frequency_hz") - 5) < 0.05 && fabs(said_number("ratio") - 0.4) < 0.01);
}

// Verbs that are too slow to play once per option.
static void refused_at_once(void **state) {
    (void)state;
    static const char *const demo[] = {"--json", "--dry-run", "--unit=cm", "--fps=3", "--frames=2-3"},
                             *const bench[] = {"--seed=3", "--frames=2-3", "--dry-run", "-o=x.json", "--mesh=2"};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(RUN("demo", demo[i], "-o", test_path("demo")), 2);
        assert_int_equal(i == 3 ? RUN("bench", "svd", "-o", "x.json") : RUN("bench", "svd", bench[i]), 2);
        SAID("does nothing");
    }
    assert_int_equal(RUN("enrich", rig, clip, "--collider-frame", "head", "-o", test_path("x.pc2")), 2);
    SAID("goes with --collider");
    assert_int_equal(RUN("render", rig, "--sheet", "--strip", "-o", test_path("x.png")), 2);
    SAID("choose one");
    assert_int_equal(RUN("render", rig, "--label", "-o", test_path("x.png")), 2);
    assert_int_equal(RUN("render", rig, "--wire", "-o", test_path("x.html")), 2);
    SAID("--wire does nothing for a page");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_option), cmocka_unit_test(what_is_named),
                                       cmocka_unit_test(captures_of_blend), cmocka_unit_test(refused_at_once)};
    return cmocka_run_group_tests(tests, make_files, NULL);
}

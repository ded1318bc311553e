// What no rig and no clip should have: a shape that collapses to a point, one that turns the face inside out, a head
// shaken with 90 g, one that jumps 10 m, weights of 1e30. Whatever the verb, the face stays a face, or the user is told
// with the frame, and the exit code says so.
// labels: heavy
#include "test_app_tools.h"

#include "fascia/head.h"
#include "fascia/sequence.h"
#include "mesh/mesh.h"
#include "test_head_tools.h"

enum { FRAMES = 24, JUMP = 12 };

typedef enum Trouble { COLLAPSE, INSIDE_OUT, SHAKEN, JUMPED, HUGE_WEIGHTS } Trouble;
static const char *const trouble_name[] = {"collapse", "inside-out", "shaken", "jumped", "huge"};

static char rig_path[5][600], clip_path[5][600], face_path[5][600];

// The corners of the mouth, the chin and all that the jaw moves: into one point, or through it.
static void spoil(FaRig *rig, Trouble t) {
    for (int s = 0; s < rig->nshape && t <= INSIDE_OUT; s++) {
        FaShape *shape = &rig->shape[s];
        if (strcmp(shape->name, "jawOpen")) continue;
        double c[3] = {0};
        for (int64_t i = shape->first; i < shape->first + shape->count; i++)
            for (int k = 0; k < 3; k++) c[k] += (double)rig->mesh.x[3 * rig->row[i] + k] / (double)shape->count;
        for (int64_t i = shape->first; i < shape->first + shape->count; i++)
            for (int k = 0; k < 3; k++)
                rig->delta[3 * i + k] =
                    (float)((t == COLLAPSE ? 1 : 2) * (c[k] - (double)rig->mesh.x[3 * rig->row[i] + k]));
    }
}

static FaClip *troubled(Trouble t) {
    static const char *const names[] = {"jawOpen", "mouthPucker"};
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(FRAMES, 2, names, 60, &clip, &err), &err);
    clip->head = t == SHAKEN || t == JUMPED ? fai_alloc_array(FRAMES, sizeof *clip->head) : NULL;
    for (int f = 0; f < FRAMES; f++) {
        double w = f < 4 || f >= 16 ? 0 : t <= INSIDE_OUT ? 1 : 0.3;
        clip->weight[2 * f] = (float)(t == HUGE_WEIGHTS && f == JUMP ? 1e30 : w);
        clip->weight[2 * f + 1] = 0.3f;
        if (!clip->head) continue;
        clip->head[f] = (FaPose){.q = {0, 0, 0, 1}};
        // 60 frames per second: up and down from frame to frame by 0.125 m are 4 A / h^2 = 90 g
        if (t == SHAKEN && f > 3 && f < 20) clip->head[f].p[1] = f % 2 ? 0.0307 : -0.0307;
        if (t == JUMPED && f >= JUMP) clip->head[f].p[0] = 10;
    }
    return clip;
}

static int make(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    for (int t = 0; t < 5; t++) {
        FaRig *rig;
        CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
        spoil(rig, (Trouble)t);
        FaClip *clip = troubled((Trouble)t);
        char name[64];
        snprintf(name, sizeof name, "%s.glb", trouble_name[t]);
        snprintf(rig_path[t], sizeof rig_path[t], "%s", test_path(name));
        snprintf(name, sizeof name, "%s.json", trouble_name[t]);
        snprintf(clip_path[t], sizeof clip_path[t], "%s", test_path(name));
        snprintf(name, sizeof name, "%s.face", trouble_name[t]);
        snprintf(face_path[t], sizeof face_path[t], "%s", test_path(name));
        CHECK_OK(fa_rig_save(rig, NULL, rig_path[t], &err), &err);
        CHECK_OK(fa_clip_save(clip, clip_path[t], &err), &err);
        fa_clip_free(clip);
        fa_rig_free(rig);
    }
    fa_head_free(head);
    return 0;
}

typedef struct Seen {
    double far;     // m: from linear blending, beyond what that is from rest
    double stretch; // of an edge over 0.3 mm: over linear blending's, or a third of that at rest
    bool finite;
} Seen;

// Against the rig's own surface, in the head's frame.
static Seen look(Trouble t, const char *out) {
    FaError err = {0};
    FaRig *rig;
    FaClip *clip;
    FaSequence *frames, *own;
    FaTopology topo;
    Seen s = {.finite = true, .stretch = 1};
    CHECK_OK(fa_rig_load(rig_path[t], NULL, &rig, &err), &err);
    CHECK_OK(fa_clip_load(clip_path[t], NULL, &clip, &err), &err);
    CHECK_OK(fa_sequence_open(out, NULL, &frames, &err), &err);
    CHECK_OK(fa_sequence_of_clip(rig, clip, &own, &err), &err);
    CHECK_OK(fai_topology_build(&rig->mesh, &topo, &err), &err);
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), *linear = malloc(n * sizeof *x);
    for (int f = 0; f < FRAMES; f++) {
        CHECK_OK(fa_sequence_read(frames, f, x, &err), &err);
        CHECK_OK(fa_sequence_read(own, f, linear, &err), &err);
        if (t == HUGE_WEIGHTS && f >= JUMP) continue; // no surface to compare with
        for (size_t i = 0; i < n; i++) s.finite &= isfinite(x[i]) != 0;
        for (int v = 0; v < rig->mesh.nvert; v++) {
            double moved = head_distance(linear + 3 * v, rig->mesh.x + 3 * v);
            s.far = fmax(s.far, head_distance(x + 3 * v, linear + 3 * v) - moved);
        }
        for (int e = 0; e < topo.nedge; e++) {
            const int *v = topo.edge[e];
            double rest = head_distance(rig->mesh.x + 3 * v[0], rig->mesh.x + 3 * v[1]),
                   least = fmax(head_distance(linear + 3 * v[0], linear + 3 * v[1]), rest / 3);
            if (least > 3e-4) s.stretch = fmax(s.stretch, head_distance(x + 3 * v[0], x + 3 * v[1]) / least);
        }
    }
    free(x);
    free(linear);
    fai_topology_free(&topo);
    fa_sequence_close(frames);
    fa_sequence_close(own);
    fa_clip_free(clip);
    fa_rig_free(rig);
    return s;
}

// limited: the program says so, names the first frame and exits with 4.
static void check(const char *verb, Trouble t, bool limited) {
    const char *out = test_path("out.pc2");
    int code = !strcmp(verb, "enrich")
                   ? RUN(verb, rig_path[t], clip_path[t], "-o", out, "--face", face_path[t], "--threads", "2")
                   : RUN(verb, rig_path[t], clip_path[t], "-o", out, "--threads", "2");
    int want = t == HUGE_WEIGHTS ? 3 : limited ? 4 : 0;
    if (code != want) print_error("%s\n", output);
    assert_int_equal(code, want);
    if (t == HUGE_WEIGHTS) { // refused by name, and nothing is written
        SAID("frame 12, channel 'jawOpen'");
        SAID("no rig means that");
        return;
    }
    if (limited) SAID("blended back towards linear blending");
    if (limited) SAID("note: frame ");
    if (t == JUMPED) SAID("jumps as no neck does");
    Seen s = look(t, out);
    print_message("| %s | %s | exit %d | %.1f mm more than the rig itself moves | stretch %.2f |\n", verb,
                  trouble_name[t], code, 1e3 * s.far, s.stretch);
    assert_true(s.finite && s.far < 0.04 && s.stretch < 3.1);
}

static void attack(const char *verb, Trouble t, bool limited) {
    check(verb, t, limited);
    test_attack("extreme clips and rigs on a method", 1);
}

static void drive(void **state) {
    (void)state;
    for (int t = 0; t < 5; t++) attack("drive", (Trouble)t, t != JUMPED); // a cut: the flesh begins anew
}

static void blend(void **state) {
    (void)state;
    for (int t = 0; t < 5; t++) attack("blend", (Trouble)t, t != SHAKEN && t != JUMPED);
}

// It leaves the artist's shapes alone, whatever they are; volumes of spoilt ones cost minutes: FASCIA_FULL=1.
static void enrich(void **state) {
    (void)state;
    const char *first = NULL;
    for (int t = getenv("FASCIA_FULL") ? 0 : SHAKEN; t < 5; t++) {
        if (t <= SHAKEN)
            assert_int_equal(RUN("build", rig_path[t], "--volumes", "--simulate-vertices", "400", "-o", face_path[t],
                                 "--threads", "2"),
                             0);
        if (t == SHAKEN) first = face_path[t];
        if (t > SHAKEN) snprintf(face_path[t], sizeof face_path[t], "%s", first); // the same rig
        attack("enrich", (Trouble)t, t > JUMPED);
    }
}

// What no rig means, wherever a number is given: refused by name.
static void numbers_that_nobody_means(void **state) {
    (void)state;
    char *rig = rig_path[HUGE_WEIGHTS], *clip = clip_path[HUGE_WEIGHTS], out[600], pc2[600], face[600], tusk[600];
    snprintf(out, sizeof out, "%s", test_path("far.obj"));
    snprintf(pc2, sizeof pc2, "%s", test_path("far.pc2"));
    snprintf(face, sizeof face, "%s", test_path("muscle.face"));
    snprintf(tusk, sizeof tusk, "%s", test_path("tusk.obj"));
    FILE *f = fopen(tusk, "wb");
    fputs("v 1e30 -0.1 0.2\nv 0.05 -0.1 0.2\nv 0 0.05 0.2\nv 0 0 0.25\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 3 1 4\n", f);
    fclose(f);
    assert_int_equal(RUN("muscle", "build", rig, "--flesh-size", "500", "-o", face), 0);
    const struct {
        int code;
        const char *said, *args[12];
    } runs[] = {
        {3, "no rig means that", {"convert", rig, pc2, "--clip", clip}},
        {3, "no rig means that", {"render", rig, "--clip", clip, "-o", test_path("far.png")}},
        {3, "no rig means that", {"markers", rig, clip, "-o", test_path("far.csv")}},
        {3, "no rig means that", {"drive", rig, clip, "--from", rig, "-o", pc2}},
        {3, "no rig means that", {"muscle", "play", face, clip, "-o", pc2}},
        {2, "no rig means that", {"blend", rig, "--weights", "jawOpen=1e30", "-o", out}},
        {2, "no rig means that", {"render", rig, "--weights", "jawOpen=1e30", "-o", test_path("far.png")}},
        {2, "no rig means that", {"muscle", "target", face, "--weights", "jawOpen=1e30", "-o", out}},
        {2, "no rig means that", {"muscle", "retarget", face, face, "--weights", "jawOpen=1e30", "-o", out}},
        {2, "is no activation", {"muscle", "pose", face, "--act", "zyg_maj=1e30", "-o", out}},
        {2, "no jaw goes there", {"muscle", "pose", face, "--jaw", "open=1e30", "-o", out}},
        {3, "a collider 1e+30 m away", {"muscle", "pose", face, "--act", "zyg_maj=.1", "--collider", tusk, "-o", out}},
        {2, "--unit takes", {"drive", rig, "--unit", "1e30", "-o", pc2}},
        {2, "--cache-unit takes", {"convert", rig, pc2, "--cache-unit", "1e30"}},
        {2, "far outside of the head", {"drive", rig, clip, "--hinge", "1e30,0,0", "-o", pc2}},
    };
    for (int i = 0; i < FA_COUNT(runs); i++) {
        int code = run(runs[i].args);
        if (code != runs[i].code || !strstr(output, runs[i].said))
            fail_msg("%s %s: %d: %s", runs[i].args[0], runs[i].args[1], code, output);
        test_attack("extreme clips and rigs on a method", 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(drive), cmocka_unit_test(blend), cmocka_unit_test(enrich),
                                       cmocka_unit_test(numbers_that_nobody_means)};
    return cmocka_run_group_tests(tests, make, NULL);
}

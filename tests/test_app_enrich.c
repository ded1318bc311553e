// fascia enrich as a user meets it: one command, killed and run again, edited and run again, loops, refusals.
#include "test_app_tools.h"

#include "base/base.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char rig[4096], face[4096], clip_path[4096];

static void save_clip(FaClip *clip, const char *path) {
    FaError err = {0};
    CHECK_OK(fa_clip_save(clip, path, &err), &err);
}

// A small head with four shapes: the flesh of each costs a second.
static int make_head(void **state) {
    (void)state;
    static const char *const keep[] = {"jawOpen.obj", "mouthSmileLeft.obj", "mouthSmileRight.obj", "mouthPucker.obj"};
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaClip *clip, *cut;
    params.level = 0;
    snprintf(rig, sizeof rig, "%s", test_path("rig"));
    snprintf(face, sizeof face, "%s", test_path("rig.face"));
    snprintf(clip_path, sizeof clip_path, "%s", test_path("clip.json"));
    FaRig *skin;
    if (fa_head_new(&params, &head, &err) < 0 || fa_head_rig(head, 0, &skin, &err) < 0) return -1;
    if (fa_rig_save(skin, NULL, rig, &err) < 0) return -1;
    char **files = test_list(rig, ".obj");
    for (int i = 0; files[i]; i++) {
        const char *name = strrchr(files[i], '/') + 1;
        bool kept = !strncmp(name, "neutral", 7);
        for (int k = 0; k < 4; k++) kept |= !strcmp(name, keep[k]);
        if (!kept) remove(files[i]);
    }
    test_list_free(files);
    if (fa_head_clip("run", &clip, &err) < 0 || fa_clip_slice(clip, 0, 59, &cut, &err) < 0) return -1;
    memset(cut->weight, 0, (size_t)cut->nframe * (size_t)cut->nchan * sizeof(float));
    for (int c = 0; c < cut->nchan; c++)
        for (int f = 0; f < cut->nframe && strstr(cut->name[c], "mouthSmile"); f++) cut->weight[f * cut->nchan + c] = (float)(0.5 - 0.5 * cos(0.15 * f));
    save_clip(cut, clip_path);
    fa_clip_free(cut);
    fa_clip_free(clip);
    fa_rig_free(skin);
    fa_head_free(head);
    return 0;
}

static void first_run(void **state) {
    (void)state;
    // the face is made on the way and kept; the second time it is used
    assert_int_equal(RUN("enrich", rig, clip_path, "-o", test_path("a.pc2"), "--json", "--frames", "0-29", "--unit", "m", "--rate", "120"), 0);
    assert_true(said_number("frames") == 30);
    assert_true(said_number("max_displacement_mm") > 0.3 && said_number("max_displacement_mm") < 30);
    assert_int_equal(access(test_path("rig.enrich.face"), F_OK), 0);
    assert_true(access(test_path("a.pc2.take"), F_OK) != 0);  // removed when all is done
    snprintf(face, sizeof face, "%s", test_path("rig.enrich.face"));
}

static void read_all(const char *path, unsigned char **data, size_t *size) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    *data = malloc(*size);
    assert_int_equal(fread(*data, 1, *size, f), *size);
    fclose(f);
}

// kill -9 in the middle, then the same command: the same bytes as without.
static void killed(void **state) {
    (void)state;
    const char *whole = test_path("whole.pc2"), *broken = test_path("broken.pc2"), *part = test_path("broken.pc2.take.part");
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "-o", whole, "--unit", "m", "--rate", "120"), 0);
    SAID("60 frames");
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        execl(PROGRAM, PROGRAM, "enrich", rig, clip_path, "--face", face, "-o", broken, "--unit", "m", "--rate", "120", NULL);
        _exit(127);
    }
    struct stat info = {0};
    for (int i = 0; i < 60000; i++) {
        if (stat(part, &info) == 0 && info.st_size > 2500000) break;
        usleep(2000);
    }
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_true(access(broken, F_OK) != 0);
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "-o", broken, "--unit", "m", "--rate", "120"), 0);
    SAID("went on at frame");
    unsigned char *a, *b;
    size_t na, nb;
    read_all(whole, &a, &na);
    read_all(broken, &b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
}

// `run` again and again.
static FaClip *long_run(int nframe) {
    FaError err = {0};
    FaClip *run, *clip;
    CHECK_OK(fa_head_clip("run", &run, &err), &err);
    CHECK_OK(fa_clip_new(nframe, run->nchan, (const char *const *)run->name, run->fps, &clip, &err), &err);
    clip->head = FA_NEW(nframe, FaPose);
    assert_non_null(clip->head);
    for (int f = 0; f < nframe; f++) {
        size_t from = (size_t)(f % run->nframe), row = (size_t)run->nchan * sizeof(float);
        clip->head[f] = run->head[from];
        memcpy((char *)clip->weight + (size_t)f * row, (const char *)run->weight + from * row, row);
    }
    fa_clip_free(run);
    return clip;
}

// One key of the middle changes: less than a third is made again, and the frames are those of a full run.
static void edited(void **state) {
    (void)state;
    FaClip *longer = long_run(600);
    const char *path = test_path("edit.json"), *keep = test_path("edit.sim"), *out = test_path("edit.pc2"), *full = test_path("edit_full.pc2");
    save_clip(longer, path);
    assert_int_equal(RUN("enrich", rig, path, "--face", face, "-o", out, "--keep", keep, "--unit", "m", "--json", "--rate", "120"), 0);
    assert_true(said_number("made") == 600);
    for (int c = 0; c < longer->nchan; c++)
        if (strstr(longer->name[c], "mouthSmileLeft")) longer->weight[300 * longer->nchan + c] += 0.2f;
    save_clip(longer, path);
    assert_int_equal(RUN("enrich", rig, path, "--face", face, "-o", out, "--keep", keep, "--unit", "m", "--json", "--rate", "120"), 0);
    print_message("one key of 600: %g of 600 frames made again, changed at %g, rejoined at %g\n", said_number("made"), said_number("changed_at"), said_number("rejoined_at"));
    assert_true(said_number("made") < 200 && said_number("changed_at") == 300 && said_number("rejoined_at") > 300);
    assert_int_equal(RUN("enrich", rig, path, "--face", face, "-o", full, "--unit", "m", "-q", "--rate", "120"), 0);
    unsigned char *a, *b;
    size_t na, nb;
    read_all(out, &a, &na);
    read_all(full, &b, &nb);
    assert_int_equal(na, nb);
    double worst = 0;
    for (size_t i = 32; i + 4 <= na; i += 4) {
        float x, y;
        memcpy(&x, a + i, 4);
        memcpy(&y, b + i, 4);
        worst = fmax(worst, fabs((double)x - (double)y));
    }
    print_message("largest difference from a full run: %.2g m\n", worst);
    assert_true(worst < 1e-6);
    free(a);
    free(b);
    fa_clip_free(longer);
}

static void others(void **state) {
    (void)state;
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "-o", test_path("loop.pc2"), "--loop", "--rate", "120", "--unit", "m", "--json", "--frames", "0-10"), 0);
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "-o", test_path("pre.glb"), "--preroll", "0.2", "--rate", "120", "--unit", "m", "--strength", "cheeks=2", "--frames", "0-19"), 0);
    SAID("morph targets");
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "-o", test_path("x.pc2"), "--unit", "m", "--strength", "nose=2"), 2);
    SAID("regions are");
    assert_int_equal(RUN("enrich", rig, "-o", test_path("x.pc2"), "--unit", "m"), 2);
    SAID("no animation");
    assert_int_equal(RUN("enrich", rig, clip_path, "--unit", "m"), 2);
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", clip_path, "-o", test_path("x.pc2"), "--unit", "m"), 3);
    assert_int_equal(RUN("enrich", "--help"), 0);
    SAID("fascia enrich head.glb");
}

// A box beside the left cheek, 6 mm in, and a head that jitters: both reach the simulation, and the program says what it made of them.
static void colliders_and_heads(void **state) {
    (void)state;
    const char *box = test_path("box.obj"), *push = test_path("push.csv"), *bvh = test_path("nod.bvh");
    FILE *f = fopen(box, "w");
    for (int i = 0; i < 8; i++) fprintf(f, "v %g %g %g\n", 0.041 + 0.02 * (i & 1), -0.04 + 0.02 * (i >> 1 & 1), 0.06 + 0.03 * (i >> 2));
    fputs("f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n", f);
    fclose(f);
    f = fopen(push, "w");
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n0,0,0,0,1,0.03,0,0\n0.1,0,0,0,1,0.03,0,0\n", f);
    fclose(f);
    f = fopen(bvh, "w");
    fputs("HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\nJOINT Head\n{\nOFFSET 0 60 0\n"
          "CHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 20 0\n}\n}\n}\nMOTION\nFrames: 24\nFrame Time: 0.00833333\n", f);
    for (int i = 0; i < 24; i++) fprintf(f, "0 90 0 0 0 0 0 0 %g\n", i % 2 ? 0.5 : -0.5);
    fclose(f);
    // the face itself as the subject; the box stands in the cheek
    assert_int_equal(RUN("enrich", face, clip_path, "--collider", box, "-o", test_path("box.pc2"), "--json", "--frames", "0-2", "--rate", "60", "--unit", "m"), 0);
    assert_true(said_number("colliders") == 1 && said_number("max_displacement_mm") > 2);
    assert_true(said_number("collider_depth_mm") > 0 && said_number("collider_depth_mm") < 1);
    // carried away by its motion, it touches nothing; the head's motion is calmed, and that is said
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider", box, "--collider-motion", push, "--collider-frame", "head", "--head-motion", bvh, "-o",
                         test_path("calm.pc2"), "--frames", "0-5", "--rate", "60", "--unit", "m"), 0);
    SAID("smoothed below 10 Hz");
    SAID("at most 0.00 mm inside");
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider", box, "--collider-frame", "moon", "-o", test_path("x.pc2"), "--unit", "m"), 2);
    SAID("head or world");
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider-motion", push, "-o", test_path("x.pc2"), "--unit", "m"), 2);
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider", test_path("none.obj"), "-o", test_path("x.pc2"), "--unit", "m"), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_run), cmocka_unit_test(killed), cmocka_unit_test(edited), cmocka_unit_test(others), cmocka_unit_test(colliders_and_heads)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}

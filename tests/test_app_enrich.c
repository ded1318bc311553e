// fascia enrich as a user meets it: one command, killed and run again, edited and run again, loops, refusals.
#include "test_app_tools.h"

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

// One key of the middle changes: less than a third is made again, and the frames are those of a full run.
static void edited(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip, *longer;
    const char *path = test_path("edit.json"), *keep = test_path("edit.sim"), *out = test_path("edit.pc2"), *full = test_path("edit_full.pc2");
    CHECK_OK(fa_head_clip("run", &clip, &err), &err);
    CHECK_OK(fa_clip_slice(clip, 0, 179, &longer, &err), &err);
    save_clip(longer, path);
    assert_int_equal(RUN("enrich", rig, path, "--face", face, "-o", out, "--keep", keep, "--unit", "m", "--json", "--rate", "120", "--tolerance", "1e-5"), 0);
    assert_true(said_number("made") == 180);
    for (int c = 0; c < longer->nchan; c++)
        if (strstr(longer->name[c], "mouthSmileLeft")) longer->weight[90 * longer->nchan + c] += 0.2f;
    save_clip(longer, path);
    assert_int_equal(RUN("enrich", rig, path, "--face", face, "-o", out, "--keep", keep, "--unit", "m", "--json", "--rate", "120", "--tolerance", "1e-5"), 0);
    print_message("one key of 180: %g of 180 frames made again, changed at %g, rejoined at %g\n", said_number("made"), said_number("changed_at"), said_number("rejoined_at"));
    assert_true(said_number("made") < 60 && said_number("changed_at") == 90 && said_number("rejoined_at") > 90);
    assert_int_equal(RUN("enrich", rig, path, "--face", face, "-o", full, "--unit", "m", "-q", "--rate", "120", "--tolerance", "1e-5"), 0);
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
    fa_clip_free(clip);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(first_run), cmocka_unit_test(killed), cmocka_unit_test(edited), cmocka_unit_test(others)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}

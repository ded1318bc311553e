// fascia enrich as a user meets it: one command, killed and run again, edited and run again, loops, refusals.
// labels: heavy
#include "test_app_tools.h"
#include "test_gltf_fixture.h"
#include "test_motion.h"

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
        for (int f = 0; f < cut->nframe && strstr(cut->name[c], "mouthSmile"); f++)
            cut->weight[f * cut->nchan + c] = (float)(0.5 - 0.5 * cos(0.15 * f));
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
    assert_int_equal(RUN("enrich", rig, clip_path, "-o", test_path("a.pc2"), "--json", "--frames", "0-29", "--unit",
                         "m", "--rate", "120"),
                     0);
    assert_true(said_number("frames") == 30);
    assert_true(said_number("max_displacement_mm") > 0.3 && said_number("max_displacement_mm") < 30);
    assert_int_equal(access(test_path("rig.enrich.face"), F_OK), 0);
    assert_true(access(test_path("a.pc2.run"), F_OK) != 0); // removed when all is done
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

// fascia build --volumes makes the face that enrich makes by itself.
static void same_face(void **state) {
    (void)state;
    unsigned char *a, *b;
    size_t na, nb;
    assert_int_equal(RUN("build", rig, "--volumes", "-o", test_path("built.face"), "--unit", "m"), 0);
    SAID("the flesh of 4 shapes");
    read_all(face, &a, &na);
    read_all(test_path("built.face"), &b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
}

// kill -9 in the middle, then the same command: the same bytes as without.
static void kill_and_go_on(const char *const *more, off_t enough) {
    const char *whole = test_path("whole.pc2"), *broken = test_path("broken.pc2"),
               *part = test_path("broken.pc2.run.part");
    const char *args[32] = {PROGRAM, "enrich", rig, clip_path, "--face", face, "--unit", "m", "--rate", "120"};
    int n = 10;
    while (more && *more) args[n++] = *more++;
    args[n] = "-o", args[n + 1] = whole;
    remove(broken);
    assert_int_equal(run(args + 1), 0);
    SAID("60 frames");
    args[n + 1] = broken;
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        execv(PROGRAM, (char *const *)args);
        _exit(127);
    }
    struct stat info = {0};
    for (int i = 0; i < 60000; i++) {
        if (stat(part, &info) == 0 && info.st_size > enough) break;
        usleep(2000);
    }
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_true(access(broken, F_OK) != 0);
    assert_int_equal(run(args + 1), 0);
    SAID("continued at frame");
    unsigned char *a, *b;
    size_t na, nb;
    read_all(whole, &a, &na);
    read_all(broken, &b, &nb);
    assert_int_equal(na, nb);
    assert_memory_equal(a, b, na);
    free(a);
    free(b);
}

static void killed(void **state) {
    (void)state;
    kill_and_go_on(NULL, 2500000);
}

// The largest difference of two .pc2; *most: how far anything moves in the first.
static double pc2_difference(const char *a, const char *b, double *most) {
    unsigned char *x, *y;
    size_t nx, ny;
    read_all(a, &x, &nx);
    read_all(b, &y, &ny);
    assert_int_equal(nx, ny);
    double worst = 0;
    int points;
    memcpy(&points, x + 16, 4);
    size_t frame = 12 * (size_t)points;
    if (most) *most = 0;
    for (size_t i = 32; i + 4 <= nx; i += 4) {
        float p, q, first;
        memcpy(&p, x + i, 4);
        memcpy(&q, y + i, 4);
        memcpy(&first, x + 32 + (i - 32) % frame, 4);
        worst = fmax(worst, fabs((double)p - (double)q));
        if (most) *most = fmax(*most, fabs((double)p - (double)first));
    }
    free(x);
    free(y);
    return worst;
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
    const char *path = test_path("edit.json"), *keep = test_path("edit.sim"), *out = test_path("edit.pc2"),
               *full = test_path("edit_full.pc2");
    save_clip(longer, path);
    assert_int_equal(
        RUN("enrich", rig, path, "--face", face, "-o", out, "--keep", keep, "--unit", "m", "--json", "--rate", "60"),
        0);
    assert_true(said_number("made") == 600);
    for (int c = 0; c < longer->nchan; c++)
        if (strstr(longer->name[c], "mouthSmileLeft")) longer->weight[300 * longer->nchan + c] += 0.2f;
    save_clip(longer, path);
    assert_int_equal(
        RUN("enrich", rig, path, "--face", face, "-o", out, "--keep", keep, "--unit", "m", "--json", "--rate", "60"),
        0);
    print_message("one key of 600: %g of 600 frames made again, changed at %g, rejoined at %g\n", said_number("made"),
                  said_number("changed_at"), said_number("rejoined_at"));
    assert_true(said_number("made") < 200 && said_number("changed_at") == 300 && said_number("rejoined_at") > 300);
    assert_int_equal(RUN("enrich", rig, path, "--face", face, "-o", full, "--unit", "m", "-q", "--rate", "60"), 0);
    double worst = pc2_difference(out, full, NULL);
    print_message("largest difference from a full run: %.2g m\n", worst);
    assert_true(worst < 1e-6);
    fa_clip_free(longer);
}

static void others(void **state) {
    (void)state;
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "-o", test_path("loop.pc2"), "--loop", "--rate",
                         "120", "--unit", "m", "--json", "--frames", "0-10"),
                     0);
    SAID("the first and the last frame are"); // smiling at the end, not at the start
    SAID(" mm apart");
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "-o", test_path("pre.glb"), "--preroll", "0.2",
                         "--rate", "120", "--unit", "m", "--strength", "cheeks=2", "--frames", "0-19"),
                     0);
    SAID("morph targets");
    assert_int_equal(
        RUN("enrich", rig, clip_path, "--face", face, "-o", test_path("x.pc2"), "--unit", "m", "--strength", "nose=2"),
        2);
    SAID("regions are");
    assert_int_equal(RUN("enrich", rig, "-o", test_path("x.pc2"), "--unit", "m"), 2);
    SAID("no animation");
    assert_int_equal(RUN("enrich", rig, clip_path, "--unit", "m"), 2);
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", clip_path, "-o", test_path("x.pc2"), "--unit", "m"), 3);
    assert_int_equal(RUN("enrich", "--help"), 0);
    SAID("fascia enrich head.glb");
}

// A box beside the left cheek, 6 mm in, and a head that jitters: both reach the simulation, and the program says what
// it made of them.
static void colliders_and_heads(void **state) {
    (void)state;
    const char *box = test_path("box.obj"), *push = test_path("push.csv"), *bvh = test_path("nod.bvh");
    FILE *f = fopen(box, "w");
    for (int i = 0; i < 8; i++)
        fprintf(f, "v %g %g %g\n", 0.041 + 0.02 * (i & 1), -0.04 + 0.02 * (i >> 1 & 1), 0.06 + 0.03 * (i >> 2));
    fputs("f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n", f);
    fclose(f);
    f = fopen(push, "w");
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n0,0,0,0,1,0.03,0,0\n0.1,0,0,0,1,0.03,0,0\n",
          f);
    fclose(f);
    f = fopen(bvh, "w");
    fputs("HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation "
          "Xrotation\nJOINT Head\n{\nOFFSET 0 60 0\n"
          "CHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET 0 20 0\n}\n}\n}\nMOTION\nFrames: 24\nFrame "
          "Time: 0.00833333\n",
          f);
    for (int i = 0; i < 24; i++) fprintf(f, "0 90 0 0 0 0 0 0 %g\n", i % 2 ? 0.5 : -0.5);
    fclose(f);
    // the face itself as the subject; the box stands in the cheek
    assert_int_equal(RUN("enrich", face, clip_path, "--collider", box, "-o", test_path("box.pc2"), "--json", "--frames",
                         "0-2", "--rate", "60", "--unit", "m"),
                     0);
    assert_true(said_number("colliders") == 1 && said_number("max_displacement_mm") > 2);
    assert_true(said_number("collider_depth_mm") > 0 && said_number("collider_depth_mm") < 1);
    // carried away by its motion, it touches nothing; the head's motion is calmed, and that is said
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider", box, "--collider-motion", push,
                         "--collider-frame", "head", "--head-motion", bvh, "-o", test_path("calm.pc2"), "--frames",
                         "0-5", "--rate", "60", "--unit", "m"),
                     0);
    SAID("smoothed below 10 Hz");
    SAID("at most 0.00 mm inside");
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider", box, "--collider-frame", "moon", "-o",
                         test_path("x.pc2"), "--unit", "m"),
                     2);
    SAID("head or world");
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider-motion", push, "-o", test_path("x.pc2"),
                         "--unit", "m"),
                     2);
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--collider", test_path("none.obj"), "-o",
                         test_path("x.pc2"), "--unit", "m"),
                     5);
}

// A motion that is too short comes to a stop or is repeated, a longer one is cut, and a jump is no motion: all said.
static void head_motions(void **state) {
    (void)state;
    const char *bvh = test_path("short.bvh"), *jump = test_path("jump.json"), *out = test_path("moved.pc2");
#define MOVED(clip, ...)                                                                                               \
    RUN("enrich", rig, clip, "--face", face, "-o", out, "--frames", "0-5", "--rate", "60", "--unit", "m", __VA_ARGS__)
    write_runner(bvh, 61, 0);
    assert_int_equal(MOVED(clip_path, "--head-motion", bvh), 0);
    SAID("the rest pose of frame 0 is left out");
    SAID("the head moves as short.bvh says, not as clip.json");
    SAID("the head comes to a stop there (--loop-motion repeats it)");
    assert_int_equal(MOVED(clip_path, "--head-motion", bvh, "--loop-motion"), 0);
    SAID("it is repeated");
    write_runner(bvh, 1201, 0);
    assert_int_equal(MOVED(clip_path, "--head-motion", bvh), 0);
    SAID("the rest of the motion is left out");
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(12, 0, NULL, 30, &clip, &err), &err);
    clip->head = FA_NEW(12, FaPose);
    for (int f = 0; f < 12; f++) clip->head[f] = (FaPose){{0, 0, 0, 1}, {f >= 3, 0, 0}};
    save_clip(clip, jump);
    fa_clip_free(clip);
    assert_int_equal(MOVED(jump, "--json"), 0);
    SAID("head-cut");
    SAID("after frame 2 (0.07 s)");
    assert_true(said_number("max_displacement_mm") < 0.1);
#undef MOVED
}

// --- colliders' motions: the same push told by every kind of file gives the same frames ----------------------------

static char box_path[4096], still_path[4096];
enum { PUSH_KEYS = 13 };

static double push_at(int key) { return 0.024 - 0.002 * key; } // m along x; in the cheek from key 7 on

static void write_box(const char *path) {
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 8; i++)
        fprintf(f, "v %g %g %g\n", 0.041 + 0.02 * (i & 1), -0.04 + 0.02 * (i >> 1 & 1), 0.06 + 0.03 * (i >> 2));
    fputs("f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n", f);
    fclose(f);
}

// The push in the animation of a node: with the box in it, or with something small that only moves.
static void write_push_glb(const char *path, bool box, float start) {
    static Fixture f;
    f = (Fixture){0};
    float x[24], time[PUSH_KEYS], move[3 * PUSH_KEYS] = {0};
    static const uint16_t quad[24] = {0, 2, 3, 1, 4, 5, 7, 6, 0, 1, 5, 4, 2, 6, 7, 3, 0, 4, 6, 2, 1, 3, 7, 5};
    uint16_t tri[36];
    for (int i = 0; i < 8; i++) {
        x[3 * i] = (float)(box ? 0.041 + 0.02 * (i & 1) : 0.01 * (i & 1));
        x[3 * i + 1] = (float)(box ? -0.04 + 0.02 * (i >> 1 & 1) : 0.01 * (i >> 1 & 1));
        x[3 * i + 2] = (float)(box ? 0.06 + 0.03 * (i >> 2) : 0.01 * (i >> 2));
    }
    for (int q = 0; q < 6; q++)
        for (int k = 0; k < 6; k++) tri[6 * q + k] = quad[4 * q + (int[]){0, 1, 2, 0, 2, 3}[k]];
    for (int k = 0; k < PUSH_KEYS; k++) time[k] = start + (float)k / 60, move[3 * k] = (float)push_at(k);
    char bounds[200], rest[1000];
    snprintf(bounds, sizeof bounds, ",'min':[%.9g,%.9g,%.9g],'max':[%.9g,%.9g,%.9g]", (double)x[0], (double)x[1],
             (double)x[2], (double)x[21], (double)x[22], (double)x[23]);
    int at = fixture_add(&f, FA_GLTF_F32, "VEC3", 8, x, sizeof x, bounds),
        index = fixture_add(&f, FA_GLTF_U16, "SCALAR", 36, tri, sizeof tri, "");
    int times = fixture_times(&f, time, PUSH_KEYS), moves = fixture_floats(&f, "VEC3", PUSH_KEYS, move, 3 * PUSH_KEYS);
    snprintf(rest, sizeof rest,
             "'scene':0,'scenes':[{'nodes':[0]}],'nodes':[{'name':'hand','mesh':0}],'meshes':[{'primitives':[{'"
             "attributes':{'POSITION':%d},'indices':%d}]}],"
             "'animations':[{'channels':[{'sampler':0,'target':{'node':0,'path':'translation'}}],'samplers':[{'input':%"
             "d,'output':%d}]}]",
             at, index, times, moves);
    Bytes b = fixture_done(&f, rest);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(b.data, 1, b.size, file), b.size);
    fclose(file);
    free(b.data);
}

static void write_push_csv(const char *path, int fps, double start) {
    FILE *f = fopen(path, "w");
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", f);
    for (int k = 0; k < (PUSH_KEYS - 1) * fps / 60 + 1; k++) {
        int key = k * 60 / fps;
        double part = k * 60.0 / fps - key;
        fprintf(f, "%.9f,0,0,0,1,%.9g,0,0\n", start + (double)k / fps,
                push_at(key) + part * (push_at(FA_MIN(key + 1, PUSH_KEYS - 1)) - push_at(key)));
    }
    fclose(f);
}

// rest: the first frame is one, a hand turned far away.
static void write_push_bvh(const char *path, int frames, bool rest) {
    FILE *f = fopen(path, "w");
    fputs("HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Xposition Yposition Zposition\nJOINT Head\n{\nOFFSET 0 "
          "1.5 0\nCHANNELS 0\nEnd Site\n{\nOFFSET 0 0.1 0\n}\n}\n"
          "JOINT LeftHand\n{\nOFFSET 0 0 0.3\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation "
          "Xrotation\nEnd Site\n{\nOFFSET 0.1 0 0\n}\n}\n}\nMOTION\n",
          f);
    fprintf(f, "Frames: %d\nFrame Time: 0.016666666667\n", frames + rest);
    if (rest) fputs("0.5 1 0 -0.5 -1 0 60 0 0\n", f);
    for (int k = 0; k < frames; k++) fprintf(f, "0.5 1 0 %.9g -1 0 0 0 0\n", push_at(k) - 0.5);
    fclose(f);
}

#define PUSHED(out, ...)                                                                                               \
    RUN("enrich", rig, still_path, "--face", face, "-o", out, "--unit", "m", "--rate", "60", "--contact", "off",       \
        "--tolerance", "1e-6", __VA_ARGS__)

static void motions(void **state) {
    (void)state;
    FaError err = {0};
    FaClip *clip;
    char csv[4096], fast[4096], late[4096], json[4096], bvh[4096], bvh_hand[4200], glb[4096], box_glb[4096],
        late_glb[4096], ref[4096], out[4096], two[8300], three[8300];
    snprintf(box_path, sizeof box_path, "%s", test_path("push_box.obj"));
    snprintf(still_path, sizeof still_path, "%s", test_path("still.json"));
    snprintf(csv, sizeof csv, "%s", test_path("p60.csv"));
    snprintf(fast, sizeof fast, "%s", test_path("p120.csv"));
    snprintf(late, sizeof late, "%s", test_path("late.csv"));
    snprintf(json, sizeof json, "%s", test_path("p.json"));
    snprintf(bvh, sizeof bvh, "%s", test_path("p.BVH"));
    snprintf(bvh_hand, sizeof bvh_hand, "%s:LeftHand", bvh);
    snprintf(glb, sizeof glb, "%s", test_path("p.glb"));
    snprintf(box_glb, sizeof box_glb, "%s", test_path("push_box.glb"));
    snprintf(late_glb, sizeof late_glb, "%s", test_path("late_box.glb"));
    snprintf(ref, sizeof ref, "%s", test_path("ref.pc2"));
    snprintf(out, sizeof out, "%s", test_path("other.pc2"));
    CHECK_OK(fa_clip_new(PUSH_KEYS, 1, (const char *const[]){"jawOpen"}, 60, &clip, &err), &err);
    save_clip(clip, still_path);
    fa_clip_free(clip);
    write_box(box_path);
    write_push_csv(csv, 60, 0);
    write_push_csv(fast, 120, 0);
    write_push_csv(late, 60, 0.05);
    write_push_bvh(bvh, PUSH_KEYS, false);
    write_push_glb(glb, false, 0);
    write_push_glb(box_glb, true, 0);
    write_push_glb(late_glb, true, 0.05f);
    CHECK_OK(fa_clip_load(csv, NULL, &clip, &err), &err);
    save_clip(clip, json);
    fa_clip_free(clip);
    double most;
    assert_int_equal(PUSHED(ref, "--collider", box_path, "--collider-motion", csv), 0);
    const struct {
        const char *what, *collider, *motion;
    } same[] = {{"120 frames a second", box_path, fast},
                {"JSON", box_path, json},
                {"BVH joint", box_path, bvh_hand},
                {".glb", box_path, glb},
                {".glb of its own", box_glb, NULL}};
    for (int i = 0; i < FA_COUNT(same); i++) {
        if (same[i].motion)
            assert_int_equal(PUSHED(out, "--collider", same[i].collider, "--collider-motion", same[i].motion), 0);
        else
            assert_int_equal(PUSHED(out, "--collider", same[i].collider), 0);
        double off = pc2_difference(ref, out, &most);
        print_message("the same push by %s: %.2g m off, of %.2g\n", same[i].what, off, most);
        assert_true(off < 2e-6 && most > 0.002);
    }
    // the clip's rate is not the motion's; a rest pose is no motion, and that is said
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", fast, "--fps", "60"), 0);
    assert_true(pc2_difference(ref, out, NULL) < 2e-6);
    write_push_bvh(bvh, PUSH_KEYS, true);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", bvh_hand), 0);
    SAID("looks like a rest pose");
    assert_true(pc2_difference(ref, out, NULL) < 2e-6);
    // what begins later in its file begins later here, whichever file it is
    assert_int_equal(PUSHED(ref, "--collider", box_path, "--collider-motion", late), 0);
    assert_int_equal(PUSHED(out, "--collider", late_glb), 0);
    assert_true(pc2_difference(ref, out, &most) < 2e-6 && most > 0.001);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", csv), 0);
    assert_true(pc2_difference(ref, out, NULL) > 0.0005);
    // a loop is as long as the clip, whatever the motion's rate; held before it begins
    assert_int_equal(PUSHED(ref, "--collider", box_path, "--collider-motion", csv, "--loop"), 0);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", fast, "--loop"), 0);
    double off = pc2_difference(ref, out, &most);
    print_message("a loop of a motion of 60 and of 120 frames a second: %.2g m apart, of %.2g\n", off, most);
    assert_true(off < 2e-6 && most > 0.002);
    assert_int_equal(PUSHED(ref, "--collider", box_path, "--collider-motion", csv), 0);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", fast, "--preroll", "0.1"), 0);
    assert_true(pc2_difference(ref, out, NULL) < 2e-6);
    // one of three moves; the others stand where they touch nothing, one of them with the head
    const char *far = test_path("far.obj");
    FILE *f = fopen(far, "w");
    fputs("v 1 0 0\nv 1.1 0 0\nv 1 0.1 0\nv 1 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", f);
    fclose(f);
    snprintf(three, sizeof three, "%s,%s,%s", far, box_path, far);
    snprintf(two, sizeof two, ",%s", csv);
    assert_int_equal(
        PUSHED(out, "--collider", three, "--collider-motion", two, "--collider-frame", "world,,head", "--json"), 0);
    assert_true(said_number("colliders") == 3 && pc2_difference(ref, out, NULL) == 0);
}

// The same with a box that rubs up and down the cheek: what sticks where is part of the state.
static void killed_while_rubbing(void **state) {
    (void)state;
    if (!getenv("FASCIA_FULL")) skip(); // in make soak
    const char *rub = test_path("rub.csv"), *free_of = test_path("slides.pc2");
    FILE *f = fopen(rub, "w");
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", f);
    for (int k = 0; k < 60; k++) fprintf(f, "%.9f,0,0,0,1,0.004,%.9g,0\n", k / 60.0, 0.006 * sin(0.3 * k));
    fclose(f);
    kill_and_go_on((const char *const[]){"--collider", box_path, "--collider-motion", rub, "--collider-frame", "head",
                                         "--collider-friction", "0.6", NULL},
                   2500000);
    assert_int_equal(RUN("enrich", rig, clip_path, "--face", face, "--unit", "m", "--rate", "120", "--collider",
                         box_path, "--collider-motion", rub, "--collider-frame", "head", "--collider-friction", "0",
                         "-o", free_of),
                     0);
    double apart = pc2_difference(test_path("whole.pc2"), free_of, NULL);
    print_message("friction of 0.6 against none: up to %.2f mm\n", 1e3 * apart);
    assert_true(apart > 0.0005);
}

static void bad_motions(void **state) {
    (void)state;
    char text[8300], bvh[4096], bad[4096], out[4096], many[17 * 8] = "";
    snprintf(out, sizeof out, "%s", test_path("x.pc2"));
    snprintf(bvh, sizeof bvh, "%s", test_path("p.BVH"));
    snprintf(bad, sizeof bad, "%s", test_path("bad.csv"));
    snprintf(text, sizeof text, "%s:Tail", bvh);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", text), 2);
    SAID("no joint called 'Tail'");
    SAID("LeftHand");
    SAID("p.BVH");
    write_push_bvh(bvh, 0, false);
    snprintf(text, sizeof text, "%s:LeftHand", bvh);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", text), 3);
    SAID("no frames");
    FILE *f = fopen(bad, "w");
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", f);
    fclose(f);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", bad), 3);
    SAID("bad.csv");
    f = fopen(bad, "w");
    fputs("time,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n0,0,0,0,1,0.1,0,0\n0.1,0,0,0,1,nan,0,0\n", f);
    fclose(f);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", bad), 3);
    SAID("bad.csv");
    SAID("line 3");
    f = fopen(bad, "w");
    fputs("time,jawOpen\n0,0\n0.1,1\n", f);
    fclose(f);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", bad), 2);
    SAID("has no poses");
    snprintf(text, sizeof text, "%s,%s", bad, bad);
    assert_int_equal(PUSHED(out, "--collider", box_path, "--collider-motion", text), 2);
    SAID("has 2 entries");
    for (int i = 0; i < 17; i++) strcat(many, i ? ",a.obj" : "a.obj");
    assert_int_equal(PUSHED(out, "--collider", many), 2);
    SAID("names 17 meshes");
    snprintf(text, sizeof text, "%s,,%s", box_path, box_path);
    assert_int_equal(PUSHED(out, "--collider", text), 2);
    SAID("entry 2 of --collider is empty");
    f = fopen(test_path("none.obj"), "w");
    fputs("v 0 0 0\nv 0 0 1\nv 0 1 0\n", f);
    fclose(f);
    assert_int_equal(PUSHED(out, "--collider", test_path("none.obj")), 3);
    SAID("none.obj");
    remove(test_path("none.obj"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_run),    cmocka_unit_test(same_face), cmocka_unit_test(killed),
        cmocka_unit_test(edited),       cmocka_unit_test(others),    cmocka_unit_test(colliders_and_heads),
        cmocka_unit_test(head_motions), cmocka_unit_test(motions),   cmocka_unit_test(killed_while_rubbing),
        cmocka_unit_test(bad_motions)};
    return cmocka_run_group_tests(tests, make_head, NULL);
}

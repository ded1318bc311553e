// labels: heavy
// Nothing of the user's is lost: outputs never replace inputs or files of another kind, two runs never share one file,
// a kill before any call that changes files leaves the old set of files or the new one, a full disk loses no frames.
#include "test_app_tools.h"

#include "fascia/rig.h"
#include "fascia/sequence.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAULTS FASCIA_BINARY_DIR "/libfault_calls.so"

static char rig[4200], other[4200], smile[4200];

static int make_files(void **state) {
    (void)state;
    snprintf(rig, sizeof rig, "%s", test_path("rig.glb"));
    snprintf(other, sizeof other, "%s", test_path("other.glb"));
    snprintf(smile, sizeof smile, "%s", test_path("smile.csv"));
    assert_int_equal(RUN("head", "--level", "0", "--clip", "talk", "-o", rig), 0);
    assert_int_equal(RUN("head", "--level", "0", "--seed", "3", "-o", other), 0);
    FILE *f = fopen(smile, "wb");
    fputs("time,jawOpen,head.qx,head.qy,head.qz,head.qw,head.px,head.py,head.pz\n", f);
    for (int i = 0; i < 12; i++) fprintf(f, "%g,%g,0,0,0,1,0,%g,0\n", i / 30.0, 0.04 * i, 0.01 * (i % 3));
    fclose(f);
    return 0;
}

static char *read_all(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    char *data = NULL;
    *size = 0;
    if (!f) return NULL;
    for (size_t n = 1; n;) {
        data = realloc(data, *size + 65536);
        n = fread(data + *size, 1, 65536, f);
        *size += n;
    }
    fclose(f);
    return data;
}

static bool same_bytes(const char *a, const char *b) {
    size_t na, nb;
    char *x = read_all(a, &na), *y = read_all(b, &nb);
    bool same = x && y && na == nb && !memcmp(x, y, na);
    free(x);
    free(y);
    return same;
}

static void copy(const char *from, const char *to) {
    size_t n;
    char *data = read_all(from, &n);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
    free(data);
}

// Names in the scratch folder that hold `part`.
static int count_named(const char *part) {
    DIR *d = opendir(test_dir());
    int n = 0;
    for (struct dirent *e; (e = readdir(d));) n += strstr(e->d_name, part) != NULL;
    closedir(d);
    return n;
}

// --- inputs and files of another kind ------------------------------------------------------------------------------

static void inputs_stay(void **state) {
    (void)state;
    char keep[4200], mine[4200];
    snprintf(keep, sizeof keep, "%s", test_path("keep.glb"));
    snprintf(mine, sizeof mine, "%s", test_path("mine.glb"));
    copy(rig, keep);
    copy(rig, mine);
    char out[4200], csv[4200], png[4200]; // test_path's own are few
    snprintf(out, sizeof out, "%s", test_path("o.glb"));
    snprintf(csv, sizeof csv, "%s", test_path("m.csv"));
    snprintf(png, sizeof png, "%s", test_path("p.png"));
    const char *const runs[][12] = {
        {"enrich", mine, smile, "--keep", mine, "-o", out},
        {"enrich", mine, smile, "--keep", other, "-o", out},
        {"build", mine, "-o", mine},
        {"build", mine, "-o", other},
        {"markers", mine, "-o", csv, "--save-map", mine},
        {"markers", mine, "-o", csv, "--save-map", other},
        {"convert", mine, mine},
        {"blend", mine, "-o", mine},
        {"drive", mine, smile, "-o", mine},
        {"drive", mine, smile, "-o", smile},
        {"render", mine, "-o", mine},
    };
    copy(other, test_path("other_before.glb"));
    copy(smile, test_path("smile_before.csv"));
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        assert_int_equal(run(runs[i]), 2);
        assert_true(same_bytes(mine, keep));
    }
    assert_true(same_bytes(other, test_path("other_before.glb")));
    assert_true(same_bytes(smile, test_path("smile_before.csv")));
    // a file of another kind under the output's name: only when asked
    copy(rig, png);
    assert_int_equal(RUN("render", rig, "--size", "32x32", "-o", png), 2);
    SAID("--force");
    assert_true(same_bytes(png, rig));
    assert_int_equal(RUN("render", rig, "--size", "32x32", "-o", png, "--force"), 0);
    assert_false(same_bytes(png, rig));
}

// Neither is what a run reads without being told: the rig of a face, the face of a pose, a file of a folder.
static void inputs_of_inputs_stay(void **state) {
    (void)state;
    char mine[4200], keep[4200], face[4200], pose[4200], edits[4200], tusk[4200], folder[4200];
    snprintf(mine, sizeof mine, "%s", test_path("inner.glb"));
    snprintf(keep, sizeof keep, "%s", test_path("inner_keep.glb"));
    snprintf(face, sizeof face, "%s", test_path("inner.face"));
    snprintf(pose, sizeof pose, "%s", test_path("inner.pose"));
    snprintf(edits, sizeof edits, "%s", test_path("edits.json"));
    snprintf(tusk, sizeof tusk, "%s", test_path("tusk.obj"));
    snprintf(folder, sizeof folder, "%s", test_path("shapes"));
    copy(rig, mine);
    copy(rig, keep);
    assert_int_equal(RUN("muscle", "build", mine, "--flesh-size", "500", "-o", face), 0);
    assert_int_equal(RUN("muscle", "pose", face, "--act", "zyg_maj=.2", "-o", pose), 0);
    FILE *f = fopen(edits, "wb"), *o = fopen(tusk, "wb");
    fputs("{\"edits\": [{\"muscle\": \"zyg_maj.*\", \"u\": 1, \"move\": {\"up\": 1}, \"key\": 1}]}", f);
    fputs("v -0.05 -0.1 0.2\nv 0.05 -0.1 0.2\nv 0 0.05 0.2\nv 0 0 0.25\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 3 1 4\n", o);
    fclose(f);
    fclose(o);
    char with[4300], shape[4300], inside[4300];
    snprintf(inside, sizeof inside, "%s/", folder);
    assert_int_equal(RUN("convert", mine, inside), 0);
    snprintf(with, sizeof with, "%s:jaw", tusk);
    snprintf(shape, sizeof shape, "%s/jawOpen.obj", folder);
    assert_int_equal(access(shape, F_OK), 0);
    const char *const runs[][12] = {
        {"drive", face, smile, "-o", mine},
        {"muscle", "pose", face, "--act", "zyg_maj=.2", "-o", mine},
        {"muscle", "pose", pose, "-o", mine},
        {"muscle", "edit", pose, "--edits", edits, "-o", pose},
        {"muscle", "edit", pose, "--edits", edits, "-o", mine},
        {"muscle", "build", face, "-o", face},
        {"muscle", "target", face, "--weights", "jawOpen=.1", "-o", mine},
        {"muscle", "play", face, smile, "-o", mine},
        {"muscle", "retarget", face, pose, face, "-o", mine},
        {"muscle", "retarget", face, pose, face, "-o", pose},
        {"muscle", "pose", face, "--act", "zyg_maj=.2", "--collider", with, "-o", tusk},
        {"blend", folder, "--weights", "jawOpen=1", "--time", "0.5", "-o", shape},
    };
    copy(pose, test_path("pose_before"));
    copy(face, test_path("face_before"));
    copy(shape, test_path("shape_before"));
    copy(tusk, test_path("tusk_before"));
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int code = run(runs[i]);
        if (code != 2) fail_msg("%s %s: %d: %s", runs[i][0], runs[i][1], code, output);
        SAID("this run reads it");
    }
    assert_true(same_bytes(mine, keep) && same_bytes(pose, test_path("pose_before")));
    assert_true(same_bytes(face, test_path("face_before")) && same_bytes(shape, test_path("shape_before")));
    assert_true(same_bytes(tusk, test_path("tusk_before")));
}

static void formats_are_refused_before_the_work(void **state) {
    (void)state;
    assert_int_equal(RUN("enrich", rig, smile, "-o", test_path("x.xyz")), 2);
    SAID("does not write .xyz");
    assert_int_equal(RUN("drive", rig, smile, "-o", "no/such/folder/x.glb"), 5);
}

static void links_and_pipes(void **state) {
    (void)state;
    struct stat st;
    char link[4200], target[4200], pipe[4200];
    snprintf(link, sizeof link, "%s", test_path("link.pc2"));
    snprintf(target, sizeof target, "%s", test_path("target.pc2"));
    snprintf(pipe, sizeof pipe, "%s", test_path("pipe.csv"));
    assert_int_equal(symlink("target.pc2", link), 0); // points to nothing yet
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN("convert", rig, link), 0);
        assert_true(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
        assert_true(lstat(target, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 1000);
    }
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(RUN("info", pipe), 5);
    SAID("pipe");
    assert_int_equal(RUN("drive", rig, pipe, "-o", test_path("o.glb")), 5);
    assert_true(lstat(pipe, &st) == 0 && S_ISFIFO(st.st_mode));
    unlink(pipe);
    assert_int_equal(RUN("blend", rig, "-o", "/dev/null"), 5);
    assert_true(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
}

// --- two at once, signals, left-overs ------------------------------------------------------------------------------

static pid_t start(const char *const *args) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid) return pid;
    const char *argv[16] = {PROGRAM};
    int n = 1, fd = open("/dev/null", O_WRONLY);
    while (args[n - 1]) argv[n] = args[n - 1], n++;
    dup2(fd, 1);
    dup2(fd, 2);
    signal(SIGINT, SIG_DFL); // a shell ignores it for what runs in the background, and so do its children
    execv(PROGRAM, (char *const *)argv);
    _exit(127);
}

static int end_of(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void wait_for(const char *path) {
    struct stat st;
    for (int i = 0; i < 3000 && stat(path, &st) != 0; i++) usleep(10000);
    assert_int_equal(stat(path, &st), 0);
}

static void two_runs_one_output(void **state) {
    (void)state;
    char out[4200], alone[4200], lock[4200];
    snprintf(out, sizeof out, "%s", test_path("both.pc2"));
    snprintf(alone, sizeof alone, "%s", test_path("alone.pc2"));
    snprintf(lock, sizeof lock, "%s", test_path(".both.pc2.lock"));
    assert_int_equal(RUN("enrich", rig, smile, "-o", alone), 0); // makes the rig's flesh, too
    pid_t first = start((const char *const[]){"enrich", rig, smile, "-o", out, NULL});
    wait_for(lock);
    assert_int_equal(RUN("enrich", rig, smile, "--alpha", "0.5", "-o", out), 5);
    SAID("another run is writing it: process");
    SAID("fascia enrich");
    assert_int_equal(end_of(first), 0);
    assert_true(same_bytes(out, alone));
    assert_int_equal(access(lock, F_OK), -1);
    assert_int_equal(count_named(".run"), 0);
}

static void a_signal_leaves_nothing_half(void **state) {
    (void)state;
    char out[4200], part[4200], whole[4200];
    snprintf(out, sizeof out, "%s", test_path("stopped.pc2"));
    snprintf(part, sizeof part, "%s", test_path("stopped.pc2.run.part"));
    snprintf(whole, sizeof whole, "%s", test_path("whole.pc2"));
    assert_int_equal(RUN("enrich", rig, "-o", whole, "--frames", "0-40"), 0);
    static const int sigs[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        pid_t pid = start((const char *const[]){"enrich", rig, "-o", out, "--frames", "0-40", NULL});
        wait_for(part);
        kill(pid, sigs[i]);
        assert_int_equal(end_of(pid), 128 + sigs[i]);
        assert_int_equal(access(part, F_OK), 0); // what resumes
    }
    assert_int_equal(access(out, F_OK), -1);
    assert_int_equal(count_named(".part-"), 0);
    assert_int_equal(count_named(".lock"), 0);
    // left by a run that was killed: the next one to write there removes it
    char dead[4200];
    snprintf(dead, sizeof dead, "%s", test_path("stopped.pc2.part-aB3xYz"));
    copy(rig, dead);
    assert_int_equal(RUN("enrich", rig, "-o", out, "--frames", "0-40"), 0);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(count_named("stopped.pc2."), 0);
    assert_true(same_bytes(out, whole));
}

// --- kills and full disks -----------------------------------------------------------------------------------------

static int faulty(const char *kind, long n, const char *const *args) {
    char value[32];
    snprintf(value, sizeof value, "%ld", n);
    setenv("LD_PRELOAD", FAULTS, 1);
    setenv(kind, value, 1);
    int code = run(args);
    unsetenv("LD_PRELOAD");
    unsetenv(kind);
    return code;
}

typedef struct Faults {
    const char *const *old, *const *new; // what wrote the set that is there, and what replaces it
    const char *check;                   // the file that names the set: it must be readable, and equal one of the two
    const char *shown;                   // its frames or rig as a .pc2, written by each check
} Faults;

// What a user finds: 0 the old, 1 the new; fails on all else.
static int found(const Faults *f, const char *const made[2]) {
    assert_int_equal(RUN("convert", f->check, f->shown, "--any-size"), 0);
    for (int i = 0; i < 2; i++)
        if (same_bytes(f->shown, made[i])) return i;
    fail_msg("%s: neither the old set nor the new one", f->check);
    return -1;
}

// Calls that change files in a whole run of it.
static long count_calls(const char *const *args) {
    long n = 0;
    setenv("LD_PRELOAD", FAULTS, 1);
    setenv("FASCIA_COUNT_TO", test_path("count.txt"), 1);
    assert_int_equal(run(args), 0);
    unsetenv("LD_PRELOAD");
    unsetenv("FASCIA_COUNT_TO");
    FILE *f = fopen(test_path("count.txt"), "rb");
    assert_int_equal(fscanf(f, "%ld", &n), 1);
    fclose(f);
    return n;
}

// The first call, the last ones, where files get their names, and one between; with FASCIA_FULL=1 all.
static bool is_tried(long n, long calls) { return getenv("FASCIA_FULL") || n == 1 || n > calls - 4 || n == calls / 2; }

static void kill_everywhere(const Faults *f) {
    char made[2][4200];
    const char *const names[2] = {made[0], made[1]};
    for (int i = 0; i < 2; i++) {
        snprintf(made[i], sizeof made[i], "%s", test_path(i ? "made_new.pc2" : "made_old.pc2"));
        assert_int_equal(run(i ? f->new : f->old), 0);
        assert_int_equal(RUN("convert", f->check, made[i], "--any-size"), 0);
    }
    assert_false(same_bytes(made[0], made[1]));
    long kills = 0, news = 0, calls = count_calls(f->new);
    for (long n = 1;; n++) {
        if (n <= calls && !is_tried(n, calls)) continue;
        assert_int_equal(run(f->old), 0);
        assert_int_equal(found(f, names), 0);
        int code = faulty("FASCIA_KILL_AT", n, f->new);
        if (code == 0) break;
        assert_int_equal(code, 128 + SIGKILL);
        kills++;
        news += found(f, names);
        assert_true(n < 400);
    }
    assert_int_equal(found(f, names), 1);
    assert_int_equal(run(f->new), 0); // cleans up after the last kill
    assert_int_equal(count_named(".part-"), 0);
    print_message("%s: killed before %ld of %ld calls, %ld times the new set was there already\n", f->new[0], kills,
                  calls, news);
    assert_true(kills > 4);
}

static void sets_survive_a_kill(void **state) {
    (void)state;
    if (access(FAULTS, R_OK) != 0) skip();
    char gltf[4200], frames[4200], first[4200], shown[4200];
    snprintf(gltf, sizeof gltf, "%s", test_path("set.gltf"));
    snprintf(frames, sizeof frames, "%s", test_path("frames/f_####.obj"));
    snprintf(first, sizeof first, "%s", test_path("frames"));
    snprintf(shown, sizeof shown, "%s", test_path("shown.pc2"));
    kill_everywhere(&(Faults){(const char *const[]){"convert", rig, gltf, NULL},
                              (const char *const[]){"convert", other, gltf, NULL}, gltf, shown});
    mkdir(first, 0755);
    kill_everywhere(&(Faults){(const char *const[]){"convert", rig, frames, "--frames", "0-3", NULL},
                              (const char *const[]){"convert", rig, frames, "--frames", "20-23", NULL}, first, shown});
}

// A verb that replaces what it wrote before. Killed before its first call, its last ones and some between (all with
// FASCIA_FULL=1), it leaves the old or the new, never some of each; of files that belong together one may be missing.
typedef struct Verb {
    const char *const *old, *const *new;
    const char *files[3]; // ended by NULL
} Verb;

static bool all_same(const Verb *v, const char *tag) {
    bool same = true;
    int missing = 0;
    for (int i = 0; v->files[i]; i++) {
        char kept[64];
        snprintf(kept, sizeof kept, "%s_%d", tag, i);
        if (access(v->files[i], F_OK) != 0)
            missing++;
        else
            same &= same_bytes(v->files[i], test_path(kept));
    }
    return same && missing <= (v->files[1] ? 1 : 0);
}

static void kill_verb(const Verb *v) {
    char kept[64];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(run(k ? v->new : v->old), 0);
        for (int i = 0; v->files[i]; i++) {
            snprintf(kept, sizeof kept, "%s_%d", k ? "new" : "old", i);
            copy(v->files[i], test_path(kept));
        }
    }
    assert_false(all_same(v, "old"));
    long calls = count_calls(v->new), kills = 0;
    for (long n = 1; n <= calls; n++) {
        if (!is_tried(n, calls)) continue;
        assert_int_equal(run(v->old), 0);
        assert_true(all_same(v, "old"));
        assert_int_equal(faulty("FASCIA_KILL_AT", n, v->new), 128 + SIGKILL);
        kills++;
        if (!all_same(v, "old") && !all_same(v, "new"))
            fail_msg("%s: killed before call %ld of %ld: neither the old nor the new", v->new[0], n, calls);
    }
    assert_int_equal(run(v->new), 0); // goes on, and cleans up
    assert_true(all_same(v, "new"));
    assert_int_equal(count_named(".part-"), 0);
    assert_int_equal(count_named(".new-"), 0);
    print_message("%s: killed before %ld of %ld calls\n", v->new[0], kills, calls);
}

static void verbs_survive_a_kill(void **state) {
    (void)state;
    if (access(FAULTS, R_OK) != 0) skip();
    char path[10][4200];
    static const char *const name[] = {"k_enrich.pc2", "k.face",      "k_markers.csv", "k_map.json",    "k_blend.gltf",
                                       "k_flesh.face", "k_shown.pc2", "k_muscle.face", "k_muscle.pose", "k_play.pc2"};
    for (int i = 0; i < 10; i++) snprintf(path[i], sizeof path[i], "%s", test_path(name[i]));
    assert_int_equal(RUN("build", rig, "--volumes", "--simulate-vertices", "200", "-o", path[5]), 0);
#define ARGS(...) (const char *const[]){__VA_ARGS__, NULL}
    kill_verb(&(Verb){ARGS("enrich", rig, smile, "--face", path[5], "--head", "0.2", "-o", path[0]),
                      ARGS("enrich", rig, smile, "--face", path[5], "--head", "0.1", "-o", path[0]),
                      {path[0]}});
    kill_verb(&(Verb){ARGS("build", rig, "--simulate-vertices", "200", "-o", path[1]),
                      ARGS("build", rig, "--simulate-vertices", "300", "-o", path[1]),
                      {path[1]}});
    kill_verb(&(Verb){ARGS("markers", rig, smile, "--count", "40", "-o", path[2], "--save-map", path[3]),
                      ARGS("markers", rig, smile, "--count", "12", "-o", path[2], "--save-map", path[3]),
                      {path[2], path[3]}});
    kill_everywhere(&(Faults){ARGS("blend", rig, smile, "-o", path[4]),
                              ARGS("blend", rig, smile, "--preset", "jelly", "-o", path[4]), path[4], path[6]});
    assert_int_equal(RUN("muscle", "build", rig, "--flesh-size", "500", "-o", path[7]), 0);
    kill_verb(&(Verb){ARGS("muscle", "pose", path[7], "--act", "zyg_maj=.1", "-o", path[8]),
                      ARGS("muscle", "pose", path[7], "--act", "zyg_maj=.2", "-o", path[8]),
                      {path[8]}});
    kill_verb(&(Verb){ARGS("muscle", "play", path[7], smile, "--frames", "0-1", "-o", path[9]),
                      ARGS("muscle", "play", path[7], smile, "--frames", "0-1", "--snap", "0", "-o", path[9]),
                      {path[9]}});
#undef ARGS
}

// A rig of a few small shapes, which have their muscles in seconds; those that tell where eyes and mouth are.
static void make_few(const char *path) {
    static const char *const kept[] = {"eyeBlinkLeft", "eyeBlinkRight", "mouthPucker", "browOuterUpLeft"};
    FaError err = {0};
    FaRig *r;
    int n = 0;
    CHECK_OK(fa_rig_load(other, NULL, &r, &err), &err);
    for (int s = 0; s < r->nshape; s++)
        for (int k = 0; k < 4; k++)
            if (!strcmp(r->shape[s].name, kept[k])) r->shape[n++] = r->shape[s];
    assert_int_equal(n, 4);
    r->nshape = n;
    for (int i = 0; i < 3 * r->nentry; i++) r->delta[i] *= 0.3f;
    mkdir(path, 0755);
    CHECK_OK(fa_rig_save(r, NULL, path, &err), &err);
    fa_rig_free(r);
}

// Killed before a call that changes files, again and again, farther on each time: the shapes that have their muscles
// are kept, and in the end it is the face of a run that nobody disturbed, to the byte, with nothing beside it. With
// FASCIA_FULL=1 before every call, of both: from the rig, and from a face with flesh.
static void muscles_survive_a_kill(void **state) {
    (void)state;
    if (access(FAULTS, R_OK) != 0) skip();
    char few[4200], plain[4200], whole[4200], face[4200], part[4200];
    snprintf(few, sizeof few, "%s", test_path("few"));
    snprintf(plain, sizeof plain, "%s", test_path("m_plain.face"));
    snprintf(whole, sizeof whole, "%s", test_path("m_whole.face"));
    snprintf(face, sizeof face, "%s", test_path("m_killed.face"));
    snprintf(part, sizeof part, "%s", test_path("m_killed.face.part"));
    make_few(few);
    const bool full = getenv("FASCIA_FULL");
    const char *const flesh[] = {"muscle", "build", few, "--unit", "m", "--flesh-size", "500", "-o", face, NULL};
    const char *const shapes[] = {"muscle", "build", plain, "--shapes", "-o", face, "--json", NULL};
    assert_int_equal(RUN("muscle", "build", few, "--unit", "m", "--flesh-size", "500", "-o", plain), 0);
    for (long n = 1; full || n == 1; n++) {
        unlink(face);
        if (faulty("FASCIA_KILL_AT", n, flesh) == 0) break;
        assert_true(access(face, F_OK) != 0 || same_bytes(face, plain));
    }
    assert_true(!full || same_bytes(face, plain));
    assert_int_equal(RUN("muscle", "build", plain, "--shapes", "-o", whole, "--json"), 0);
    assert_true(said_number("made") == 4);
    int kills = 0, went_on = 0;
    unlink(face);
    for (long n = 1;; n += full ? 1 : 7) {
        if (full) unlink(part);
        const bool there = access(part, F_OK) == 0;
        const int code = faulty("FASCIA_KILL_AT", n, shapes);
        if (code == 0) {
            went_on += there && said_number("made") < 4;
            break;
        }
        assert_int_equal(code, 128 + SIGKILL);
        kills++;
        if (access(face, F_OK) == 0) { // it was finished already
            assert_true(same_bytes(face, whole));
            unlink(face);
        } else if (full && access(part, F_OK) == 0) {
            assert_int_equal(run(shapes), 0);
            went_on += said_number("made") < 4;
            assert_true(same_bytes(face, whole));
            unlink(face);
        }
    }
    print_message("muscle build --shapes: killed %d times, went on %d times\n", kills, went_on);
    assert_true(kills > 2 && went_on > 0);
    assert_true(same_bytes(face, whole));
    assert_int_equal(count_named("m_killed.face"), 1); // nothing beside it
}

// A .bin of the user's own beside the output is nobody else's.
static void others_files_stay(void **state) {
    (void)state;
    char bin[4200];
    snprintf(bin, sizeof bin, "%s", test_path("beside.bin"));
    copy(smile, bin);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(RUN("convert", rig, test_path("beside.gltf")), 0);
        assert_true(same_bytes(bin, smile));
        assert_int_equal(count_named("beside"), 3); // theirs, the .gltf and one .bin of it
    }
}

static void a_full_disk_loses_no_frames(void **state) {
    (void)state;
    if (access(FAULTS, R_OK) != 0) skip();
    char out[4200], whole[4200];
    snprintf(out, sizeof out, "%s", test_path("full.pc2"));
    snprintf(whole, sizeof whole, "%s", test_path("whole_smile.pc2"));
    assert_int_equal(RUN("enrich", rig, smile, "-o", whole), 0);
    const char *const args[] = {"enrich", rig, smile, "-o", out, "--json", NULL};
    int kept = 0;
    for (long n = 3;; n += 9) {
        int code = faulty("FASCIA_FAIL_AT", n, args);
        if (code == 0) break;
        assert_int_equal(code, 5);
        assert_int_equal(access(out, F_OK), -1);
        assert_int_equal(run(args), 0);
        kept += said_number("kept") > 0;
        assert_true(same_bytes(out, whole));
        unlink(out);
        assert_true(n < 400);
    }
    assert_true(kept > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_survive_a_kill),
        cmocka_unit_test(muscles_survive_a_kill),
        cmocka_unit_test(inputs_stay),
        cmocka_unit_test(inputs_of_inputs_stay),
        cmocka_unit_test(formats_are_refused_before_the_work),
        cmocka_unit_test(links_and_pipes),
        cmocka_unit_test(two_runs_one_output),
        cmocka_unit_test(others_files_stay),
        cmocka_unit_test(a_signal_leaves_nothing_half),
        cmocka_unit_test(sets_survive_a_kill),

        cmocka_unit_test(a_full_disk_loses_no_frames),
    };
    return cmocka_run_group_tests(tests, make_files, NULL);
}

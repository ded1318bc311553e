// labels: unit hash
// Sets of samples: the same for any threads, shares and restarts; other parameters refused; damage, kills, a full disk.
#include "test.h"

#include "base/file.h"
#include "method/method.h"
#include "neural/dataset_folder.h"
#include "neural/people.h"
#include "neural/poses.h"
#include "neural/samples.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// --- a physics to learn from: a bump that grows with the square of how far the skin moves
// -------------------------------

typedef struct Bump {
    FaMethod m;
    FaBlender *blender;
    double factor, stall;
    int jaw; // jawOpen
} Bump;

#define BUMP_PARAMS(X)                                                                                                 \
    X(NUMBER, factor, 4, 0, 100, "1/m", NULL, "how much")                                                              \
    X(NUMBER, stall, 0.9, 0, 10, "", NULL, "jawOpen from which it does not come to rest")
FAI_PARAMS(bump_params, BUMP_PARAMS);

static FaCode bump_open(FaMethod *m, const FaMethodSetup *setup, FaError *err) {
    Bump *b = (Bump *)m;
    b->factor = fai_params_at(setup->params, P_factor);
    b->stall = fai_params_at(setup->params, P_stall);
    for (int s = 0; s < m->rig->nshape; s++)
        if (m->rig->shape[s].arkit == fa_arkit_match("jawOpen", NULL)) b->jaw = s;
    return fa_blender_new(m->rig, &b->blender, err);
}

static FaCode bump_reset(FaMethod *m, const FaInput *in, float *surface, FaError *err) {
    Bump *b = (Bump *)m;
    (void)err;
    fa_blender_eval(b->blender, in->weights, surface);
    for (int i = 0; i < 3 * m->rig->mesh.nvert; i++) {
        float d = surface[i] - m->rig->mesh.x[i];
        surface[i] += (float)b->factor * d * d;
    }
    return (double)in->weights[b->jaw] > b->stall ? FA_STALLED : FA_OK;
}

static FaCode bump_step(FaMethod *m, const FaInput *in, float *surface, FaStats *stats, FaError *err) {
    (void)stats;
    return bump_reset(m, in, surface, err);
}
static void bump_state(FaMethod *m, FaStream *s) { (void)m, (void)s; }
static void bump_close(FaMethod *m) { fa_blender_free(((Bump *)m)->blender); }

static const FaMethodOps bump = {.name = "bump",
                                 .help = "a bump",
                                 .params = bump_params,
                                 .size = sizeof(Bump),
                                 .open = bump_open,
                                 .reset = bump_reset,
                                 .step = bump_step,
                                 .state = bump_state,
                                 .close = bump_close};

static int add_bump(void **state) {
    (void)state;
    return fai_method_add(&bump, NULL) < 0;
}

static FaDatasetOptions small(void) {
    FaDatasetOptions o = fa_dataset_options_default();
    o.method = "bump";
    o.ids = 3, o.poses = 4, o.workers = 2;
    return o;
}

static FaDatasetReport make(const char *dir, const FaDatasetOptions *o) {
    FaDatasetReport r;
    FaError err = {0};
    CHECK_OK(fa_dataset_make(test_path(dir), o, &r, &err), &err);
    fa_notes_free(&r.notes);
    return r;
}

static const char *shard_of(const char *dir, int person) {
    char name[100];
    snprintf(name, sizeof name, "%s/%06d.shard", dir, person);
    return test_path(name);
}

static int count(const char *dir, const char *part) {
    char **all = test_list(test_path(dir), "");
    int n = 0;
    for (char **f = all; *f; f++) n += strstr(*f, part) != NULL;
    test_list_free(all);
    return n;
}

// --- poses ---------------------------------------------------------------------------------------------------------

static float at(const float *w, const char *name) { return w[fa_arkit_match(name, NULL)]; }

static void test_poses_obey_the_rules_and_are_of_three_kinds(void **state) {
    (void)state;
    enum { PEOPLE = 40, POSES = 30 };
    FaPoses poses, again;
    FaError err = {0};
    bool has[FA_ARKIT_COUNT];
    for (int i = 0; i < FA_ARKIT_COUNT; i++) has[i] = i != 51;
    CHECK_OK(fai_poses_open(3, NULL, 0, has, &poses, &err), &err);
    CHECK_OK(fai_poses_open(3, NULL, 0, has, &again, &err), &err);
    assert_true(poses.nclip >= 6);
    int kinds[3] = {0}, both = 0, one = 0, over = 0;
    for (int id = PEOPLE - 1; id >= 0; id--)
        for (int p = POSES - 1; p >= 0; p--) {
            float w[FA_ARKIT_COUNT], same[FA_ARKIT_COUNT], left = 0, right = 0;
            FaSampleKind kind, kind2;
            int clip, clip2, moves = 0;
            fai_pose_draw(&poses, (uint64_t)id, p, w, &kind, &clip);
            fai_pose_draw(&again, (uint64_t)id, p, same, &kind2, &clip2);
            assert_memory_equal(w, same, sizeof w);
            kinds[kind]++;
            assert_true((clip >= 0) == (kind != FA_SAMPLE_RANDOM) && clip < poses.nclip);
            for (int i = 0; i < FA_ARKIT_COUNT; i++) {
                assert_true(w[i] >= 0 && w[i] <= 1.2f);
                moves += w[i] > 0, over += w[i] > 1;
            }
            assert_true(at(w, "mouthClose") <= at(w, "jawOpen"));
            if (kind == FA_SAMPLE_CLIP) continue;
            assert_true(fminf(at(w, "jawLeft"), at(w, "jawRight")) <= 0);
            assert_true(fminf(at(w, "eyeBlinkLeft"), at(w, "eyeWideLeft")) <= 0);
            assert_true(fminf(at(w, "eyeLookInRight"), at(w, "eyeLookOutRight")) <= 0);
            if (kind != FA_SAMPLE_RANDOM) continue;
            assert_true(moves <= 10); // 5, on both sides
            left = at(w, "cheekSquintLeft"), right = at(w, "cheekSquintRight");
            if (left > 0 || right > 0) left > 0 && right > 0 ? both++ : one++;
        }
    for (int k = 0; k < 3; k++) assert_int_equal(kinds[k], PEOPLE * POSES / 3);
    assert_true(over > 50);
    assert_true(both > one); // 70 % are mirrored
    fai_poses_close(&poses);
    fai_poses_close(&again);
}

static void test_poses_of_clips_are_their_frames(void **state) {
    (void)state;
    const char *path = test_path("take.csv"), *name[] = {"jawOpen", "mouthClose", "mouthSmile_L", "elbow"};
    FaClip *clip;
    FaPoses poses;
    FaError err = {0};
    bool has[FA_ARKIT_COUNT];
    for (int i = 0; i < FA_ARKIT_COUNT; i++) has[i] = true;
    CHECK_OK(fa_clip_new(3, 4, name, 30, &clip, &err), &err);
    clip->weight[4] = 0.5f, clip->weight[5] = 0.75f, clip->weight[6] = 1.7f; // frame 1; frames 0 and 2 are at rest
    CHECK_OK(fa_clip_save(clip, path, &err), &err);
    CHECK_OK(fai_poses_open(1, &path, 1, has, &poses, &err), &err);
    assert_int_equal(poses.nclip, 1);
    assert_int_equal(poses.clip[0].nframe, 1);
    assert_string_equal(poses.clip[0].name, "take.csv");
    for (int p = 0; p < 30; p++) {
        float w[FA_ARKIT_COUNT];
        FaSampleKind kind;
        int from;
        fai_pose_draw(&poses, 5, p, w, &kind, &from);
        if (kind != FA_SAMPLE_CLIP) continue;
        CHECK_NEAR((double)at(w, "jawOpen"), 0.5, 0);
        CHECK_NEAR((double)at(w, "mouthClose"), 0.5, 0); // no more than the jaw
        CHECK_NEAR((double)at(w, "mouthSmileLeft"), (double)1.2f, 0);
    }
    fai_poses_close(&poses);
    memset(clip->weight, 0, 12 * sizeof *clip->weight);
    CHECK_OK(fa_clip_save(clip, path, &err), &err);
    assert_int_equal(fai_poses_open(1, &path, 1, has, &poses, &err), FA_E_ARG); // nobody moves
    fa_clip_free(clip);
}

// --- people --------------------------------------------------------------------------------------------------------

static void test_people_are_the_same_by_number(void **state) {
    (void)state;
    FaPeopleSource source = {.source = "head", .seed = 2};
    FaPeople people;
    FaError err = {0};
    FaRig *a, *b, *c;
    CHECK_OK(fai_people_open(&source, &people, &err), &err);
    CHECK_OK(fai_people_get(&people, 7, &a, &err), &err);
    CHECK_OK(fai_people_get(&people, 7, &b, &err), &err);
    CHECK_OK(fai_people_get(&people, 8, &c, &err), &err);
    size_t n = 3 * (size_t)a->mesh.nvert * sizeof(float);
    assert_int_equal(a->mesh.nvert, people.mean->mesh.nvert);
    assert_int_equal(a->nshape, people.mean->nshape);
    assert_memory_equal(a->mesh.x, b->mesh.x, n);
    assert_memory_not_equal(a->mesh.x, c->mesh.x, n);
    assert_memory_not_equal(a->mesh.x, people.mean->mesh.x, n);
    fai_people_put(&people, a);
    fai_people_put(&people, b);
    fai_people_put(&people, c);
    fai_people_close(&people);
}

// The head in memory is the head's file, bones included.
static void test_a_head_is_as_its_file(void **state) {
    (void)state;
    FaPeopleSource source = {.source = "head"};
    FaPeople people;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaRig *rig;
    FaFace *face[2];
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("bones.glb"), &err), &err);
    CHECK_OK(fa_rig_load(test_path("bones.glb"), NULL, &rig, &err), &err);
    CHECK_OK(fai_people_open(&source, &people, &err), &err);
    assert_int_equal(rig->nentry, people.mean->nentry);
    assert_memory_equal(rig->mesh.x, people.mean->mesh.x, 3 * (size_t)rig->mesh.nvert * sizeof(float));
    char *report[2];
    for (int i = 0; i < 2; i++) {
        CHECK_OK(fa_face_build(i ? people.mean : rig, NULL, &face[i], &err), &err);
        CHECK_OK(fa_face_report(face[i], &report[i], &err), &err);
    }
    assert_non_null(strstr(report[0], "mandible"));
    assert_non_null(strstr(report[1], "mandible"));
    for (int i = 0; i < 2; i++) fa_face_free(face[i]), fa_free(report[i]);
    fa_rig_free(rig);
    fa_head_free(head);
    fai_people_close(&people);
}

static void save_obj(const FaRig *rig, const float *x, const char *path) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int v = 0; v < rig->mesh.nvert; v++)
        fprintf(f, "v %.9g %.9g %.9g\n", (double)x[3 * v], (double)x[3 * v + 1], (double)x[3 * v + 2]);
    for (int i = 0; i < rig->mesh.nface; i++) {
        fputc('f', f);
        for (int c = rig->mesh.face_start[i]; c < rig->mesh.face_start[i + 1]; c++)
            fprintf(f, " %d", rig->mesh.face_vert[c] + 1);
        fputc('\n', f);
    }
    fclose(f);
}

// A rig with two modes: broader by a hundredth, higher by a hundredth.
static void test_people_of_a_morphable_model(void **state) {
    (void)state;
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaRig *rig, *who;
    FaPeople people;
    FaError err = {0};
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_save(head, NULL, false, NULL, test_path("model.glb"), &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    mkdir(test_path("modes"), 0777);
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = malloc(n * sizeof *x), c[2];
    for (int m = 0; m < 2; m++) {
        for (size_t i = 0; i < n; i++) x[i] = rig->mesh.x[i] * ((int)(i % 3) == m ? 1.01f : 1);
        save_obj(rig, x, test_path(m ? "modes/b.obj" : "modes/a.obj"));
    }
    const char *modes = test_path("modes"), *alien = test_path("alien.obj");
    FaPeopleSource source = {.source = test_path("model.glb"), .identity = &modes, .nidentity = 1, .seed = 5};
    CHECK_OK(fai_people_open(&source, &people, &err), &err);
    assert_int_equal(people.nmode, 2);
    CHECK_OK(fai_people_get(&people, 3, &who, &err), &err);
    fai_people_coefficients(&people, 3, c);
    assert_true(fabsf(c[0]) <= 2.5f && fabsf(c[0]) > 0 && c[0] != c[1]);
    for (size_t i = 0; i < n; i++) {
        double want = (double)rig->mesh.x[i] * (1 + (i % 3 < 2 ? 0.01 * (double)c[i % 3] : 0));
        CHECK_NEAR((double)who->mesh.x[i], want, 2e-6);
    }
    float most = 0;
    for (int i = 0; i < who->nentry; i++) most = fmaxf(most, fabsf(who->delta[3 * i + 1]));
    assert_true(most > 0.01f); // it got the shapes: a jaw that opens
    fai_people_put(&people, who);
    fai_people_close(&people);

    save_obj(rig, rig->mesh.x, alien);
    FILE *f = fopen(alien, "a");
    fputs("v 0 0 0\nf 1 2 3\n", f);
    fclose(f);
    source.identity = &alien;
    assert_int_equal(fai_people_open(&source, &people, &err), FA_E_MESH);
    assert_non_null(strstr(err.path, "alien.obj"));
    free(x);
    fa_rig_free(rig);
    fa_head_free(head);
}

// --- a set ---------------------------------------------------------------------------------------------------------

static void test_same_samples_for_any_threads_shares_and_restarts(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    FaDatasetReport first = make("one", &o);
    assert_true(first.whole && first.lead && first.hash && first.made == 3);
    assert_int_equal(first.samples + first.dropped, 12);
    assert_true(first.samples > 6);
    o.workers = 1;
    assert_true(make("two", &o).hash == first.hash);

    for (int k = 2; k >= 1; k--) {
        o.share = k, o.shares = 2;
        FaDatasetReport r = make("shares", &o);
        assert_int_equal(r.made, k == 1 ? 2 : 1);
        assert_true(r.whole == (k == 1) && r.hash == (k == 1 ? first.hash : 0));
    }
    // one goes missing, one is damaged: these two are made again, and nothing else
    o = small();
    assert_int_equal(unlink(shard_of("one", 1)), 0);
    FILE *f = fopen(shard_of("one", 2), "r+");
    fseek(f, 2000, SEEK_SET);
    fputc(fgetc(f) ^ 1, f);
    fclose(f);
    FaDatasetReport again = make("one", &o);
    assert_int_equal(again.made, 2);
    assert_true(again.hash == first.hash && again.samples == first.samples && again.dropped == first.dropped);
    // more people: those that are there stay
    o.ids = 4;
    FaDatasetReport more = make("one", &o);
    assert_int_equal(more.made, 1);
    assert_true(more.hash != first.hash);
    assert_int_equal(count("one", ".part-"), 0);
    assert_int_equal(count("one", ".lock"), 0);
}

static void test_samples_are_what_the_physics_adds(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    FaDatasetReport r = make("one", &o);
    FaPeopleSource source = {.source = "head", .seed = o.seed};
    FaPeople people;
    FaPoses poses;
    FaError err = {0};
    FaShard s;
    FaTemplate t;
    FaRig *rig;
    CHECK_OK(fai_people_open(&source, &people, &err), &err);
    CHECK_OK(fai_poses_open(o.seed, NULL, 0, people.has, &poses, &err), &err);
    CHECK_OK(fai_people_get(&people, 2, &rig, &err), &err);
    CHECK_OK(fai_shard_read(shard_of("one", 2), &s, &err), &err);
    CHECK_OK(fai_template_read(test_path("one/template"), &t, &err), &err);
    assert_true(t.key == s.key && t.nvert == s.nvert && t.nclip == r.nclip && t.nweight == FA_ARKIT_COUNT);
    size_t n = 3 * (size_t)s.nvert;
    assert_memory_equal(s.neutral, rig->mesh.x, n * sizeof(float));
    float *w = calloc((size_t)rig->nshape, sizeof *w), *x = malloc(n * sizeof *x), most = 0;
    int kept = 0;
    for (int p = 0; p < o.poses; p++) {
        float arkit[FA_ARKIT_COUNT];
        FaSampleKind kind;
        int clip;
        fai_pose_draw(&poses, 2, p, arkit, &kind, &clip);
        if (kept >= s.npose || memcmp(arkit, s.weight + (size_t)kept * FA_ARKIT_COUNT, sizeof arkit) != 0) continue;
        assert_true(s.kind[kept] == (int)kind && s.clip[kept] == clip);
        assert_true((double)at(arkit, "jawOpen") <= 0.9); // others stall
        fa_binding_weights(&people.binding, arkit, w);
        fa_rig_blend(rig, w, x);
        for (size_t i = 0; i < n; i++) {
            double d = (double)x[i] - (double)rig->mesh.x[i],
                   got = (double)fai_half_float(s.correction[(size_t)kept * n + i]);
            CHECK_NEAR((double)fai_half_float(s.difference[(size_t)kept * n + i]), d, 1e-6 + 1e-3 * fabs(d));
            CHECK_NEAR(got, 4 * d * d, 1e-6 + 2e-3 * fabs(got));
            most = fmaxf(most, (float)fabs(got));
        }
        kept++;
    }
    assert_int_equal(kept, s.npose);
    assert_true(most > 1e-4f);
    int lips = 0, lids = 0;
    for (int v = 0; v < t.nvert; v++)
        lips += t.region[v] == FA_REGION_UPPER_LIP, lids += t.region[v] == FA_REGION_LOWER_LID;
    assert_true(lips > 10 && lids > 10);
    free(w);
    free(x);
    fai_shard_free(&s);
    fai_template_free(&t);
    fai_people_put(&people, rig);
    fai_poses_close(&poses);
    fai_people_close(&people);
}

static void test_poses_that_stall_are_dropped_and_counted(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    FaParams *params;
    FaError err = {0};
    CHECK_OK(fa_params_new("bump", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "stall", "0", &err), &err); // any open jaw
    o.params = params, o.ids = 2, o.poses = 12;
    FaDatasetReport r = make("stall", &o);
    assert_true(r.drop[FA_DROP_STALLED] > 2 && r.drop[FA_DROP_STALLED] <= r.dropped);
    assert_int_equal(r.samples + r.dropped, 24);
    FaPoses poses;
    bool has[FA_ARKIT_COUNT];
    for (int i = 0; i < FA_ARKIT_COUNT; i++) has[i] = i != 51;
    CHECK_OK(fai_poses_open(o.seed, NULL, 0, has, &poses, &err), &err);
    int64_t open = 0;
    for (int id = 0; id < 2; id++)
        for (int p = 0; p < 12; p++) {
            float w[FA_ARKIT_COUNT];
            FaSampleKind kind;
            int clip;
            fai_pose_draw(&poses, (uint64_t)id, p, w, &kind, &clip);
            open += at(w, "jawOpen") > 0;
        }
    assert_int_equal(r.drop[FA_DROP_STALLED], open);
    fai_poses_close(&poses);
    fa_params_free(params);
}

static void refused(const char *dir, const FaDatasetOptions *o, const char *word) {
    FaError err = {0};
    assert_int_equal(fa_dataset_make(test_path(dir), o, NULL, &err), FA_E_ARG);
    if (!strstr(err.what, word) && !strstr(err.place, word)) fail_msg("'%s' does not name %s", err.what, word);
}

static void test_other_parameters_are_refused_by_name(void **state) {
    (void)state;
    FaDatasetOptions o = small(), other = o;
    make("one", &o);
    other.seed = 2, refused("one", &other, "seed");
    other = o, other.poses = 7, refused("one", &other, "poses");
    other = o, other.level = 1, refused("one", &other, "level");
    other = o, other.method = "linear", refused("one", &other, "physics");
    FaParams *params;
    FaError err = {0};
    CHECK_OK(fa_params_new("bump", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "factor", "5", &err), &err);
    other = o, other.params = params, refused("one", &other, "factor");
    fa_params_free(params);
    mkdir(test_path("mine"), 0777);
    CHECK_OK(fai_file_write(test_path("mine/letter.txt"), "x", 1, &err), &err);
    refused("mine", &o, "letter.txt");
    other = o, other.ids = 0, refused("none", &other, "ids");
    other = o, other.share = 3, other.shares = 2, refused("none", &other, "share");
    other = o, other.method = "magic", refused("none", &other, "magic");
    assert_false(fai_dir_exists(test_path("none")));
}

// Two runs on one folder share the people; both end with all of them.
static void test_two_runs_share_a_folder(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    o.ids = 5, o.workers = 1;
    uint64_t hash = make("alone", &o).hash;
    pid_t pid = fork();
    if (pid == 0) {
        FaDatasetReport r;
        FaError err = {0};
        _exit(fa_dataset_make(test_path("shared"), &o, &r, &err) >= 0 && r.hash == hash ? 0 : 1);
    }
    FaDatasetReport r = make("shared", &o);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(r.hash == hash);
    assert_int_equal(count("shared", ".lock"), 0);
}

static void test_a_kill_loses_nothing(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    o.ids = 4;
    uint64_t hash = make("whole", &o).hash;
    int rounds = getenv("FASCIA_FULL") ? 20 : 3, kept = 0;
    for (int i = 0; i < rounds; i++) {
        pid_t pid = fork();
        if (pid == 0) _exit(fa_dataset_make(test_path("killed"), &o, NULL, NULL) < 0);
        usleep(60000 + 40000 * (useconds_t)i);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
    }
    kept = count("killed", ".shard");
    FaDatasetReport r = make("killed", &o);
    assert_true(r.hash == hash);
    assert_true(r.made == 4 - kept);
    assert_int_equal(count("killed", ".part-"), 0);
    test_attack("kills", rounds);
}

static void test_a_full_disk_loses_nothing(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    uint64_t hash = make("one", &o).hash;
    o.ids = 1;
    make("full", &o);
    o.ids = 3;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 16, 1 << 16});
        FaError err = {0};
        FaCode rc = fa_dataset_make(test_path("full"), &o, NULL, &err);
        _exit(rc == FA_E_FILE && strstr(err.path, ".shard") ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(count("full", ".part-"), 0);
    FaDatasetReport r = make("full", &o);
    assert_int_equal(r.made, 2);
    assert_true(r.hash == hash);
}

static bool stop_it(void *user, const FaDatasetReport *now, int people) {
    (void)now;
    assert_int_equal(people, 3);
    return ++*(int *)user < 2;
}

static void test_progress_can_stop_it(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    FaError err = {0};
    int asked = 0;
    o.poses = 400, o.progress = stop_it, o.progress_user = &asked;
    assert_int_equal(fa_dataset_make(test_path("stopped"), &o, NULL, &err), FA_E_CANCELLED);
    assert_int_equal(asked, 2);
    assert_true(err.remedy[0]);
}

static void test_an_estimate_writes_nothing(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    FaDatasetEstimate e;
    FaError err = {0};
    CHECK_OK(fa_dataset_estimate(&o, &e, &err), &err);
    FaDatasetReport r = make("one", &o);
    assert_true(e.seconds > 0 && e.sample > 0 && e.setup > 0);
    assert_int_equal(e.vertices, r.vertices);
    CHECK_NEAR(e.bytes, r.bytes, 0.5 * e.bytes); // dropped poses take no room
    fa_notes_free(&e.notes);
}

static FaCode make_all(void *user, FaError *err) { return fa_dataset_make(test_path("starved"), user, NULL, err); }

static FaCode open_folder(void *user, FaError *err) {
    FaFolder f = {.parameters = "{\"seed\":1}", .clips = "[]", .command = "", .ids = 1, .poses = 1};
    FaCode rc = fai_folder_name(&f, test_path(user), err);
    if (rc >= 0) rc = fai_folder_open(&f, err);
    if (rc >= 0) rc = fai_folder_record(&f, &(FaFolderCounts){.people = 1, .hash = 1}, err);
    fai_folder_close(&f);
    return rc;
}

static FaCode open_poses(void *user, FaError *err) {
    FaPoses poses;
    const char *path = user;
    bool has[FA_ARKIT_COUNT] = {[17] = true};
    FaCode rc = fai_poses_open(1, &path, 1, has, &poses, err);
    fai_poses_close(&poses);
    return rc;
}

static void test_memory_runs_out(void **state) {
    (void)state;
    FaDatasetOptions o = small();
    const char *name = "jawOpen";
    char path[400];
    snprintf(path, sizeof path, "%s", test_path("open.csv"));
    FaClip *clip;
    FaError err = {0};
    CHECK_OK(fa_clip_new(3, 1, &name, 30, &clip, &err), &err);
    clip->weight[1] = 1;
    CHECK_OK(fa_clip_save(clip, path, &err), &err);
    fa_clip_free(clip);
    mkdir(test_path("recorded"), 0777);
    assert_true(test_starve(open_folder, "recorded") > 0);
    assert_true(test_starve(open_poses, path) > 0);
    o.ids = o.poses = o.workers = 1;
    if (getenv("FASCIA_FULL")) assert_true(test_starve(make_all, &o) > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poses_obey_the_rules_and_are_of_three_kinds),
        cmocka_unit_test(test_poses_of_clips_are_their_frames),
        cmocka_unit_test(test_people_are_the_same_by_number),
        cmocka_unit_test(test_a_head_is_as_its_file),
        cmocka_unit_test(test_people_of_a_morphable_model),
        cmocka_unit_test(test_same_samples_for_any_threads_shares_and_restarts),
        cmocka_unit_test(test_samples_are_what_the_physics_adds),
        cmocka_unit_test(test_poses_that_stall_are_dropped_and_counted),
        cmocka_unit_test(test_other_parameters_are_refused_by_name),
        cmocka_unit_test(test_two_runs_share_a_folder),
        cmocka_unit_test(test_a_kill_loses_nothing),
        cmocka_unit_test(test_a_full_disk_loses_nothing),
        cmocka_unit_test(test_progress_can_stop_it),
        cmocka_unit_test(test_an_estimate_writes_nothing),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, add_bump, NULL);
}

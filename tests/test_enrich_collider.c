// Colliders of the user's: a ball pushed into the cheek dents it, nothing passes through, the cheek comes back; frames,
// takes, threads.
// labels: heavy
#include "test_face_tools.h"
#include "test_gltf_fixture.h"

#include "enrich/collider.h"
#include "enrich/enrich.h"
#include "face/face.h"
#include "fascia/enrich.h"
#include "fascia/run_file.h"
#include "math/mat3.h"
#include "mesh/mesh.h"

typedef struct Scene {
    FaRig *rig;
    FaFace *face;
    double cheek[3], out[3]; // a point of the cheek, its normal
    int node;
    char ball[4096];
} Scene;

static const double RADIUS = 0.02;

static void write_ball(const char *path, double radius, const double centre[3], bool inwards) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    enum { RINGS = 24, AROUND = 48 };
    for (int i = 0; i <= RINGS; i++)
        for (int j = 0; j < AROUND; j++) {
            double a = M_PI * i / RINGS, b = 2 * M_PI * j / AROUND;
            fprintf(f, "v %.9f %.9f %.9f\n", centre[0] + radius * sin(a) * cos(b), centre[1] + radius * cos(a),
                    centre[2] + radius * sin(a) * sin(b));
        }
    for (int i = 0; i < RINGS; i++)
        for (int j = 0; j < AROUND; j++) {
            int a = i * AROUND + j + 1, b = i * AROUND + (j + 1) % AROUND + 1;
            fprintf(f, inwards ? "f %d %d %d\nf %d %d %d\n" : "f %3$d %2$d %1$d\nf %6$d %5$d %4$d\n", a, a + AROUND, b,
                    b, a + AROUND, b + AROUND);
        }
    fclose(f);
}

static int set_up(void **state) {
    FaError err = {0};
    Scene *s = calloc(1, sizeof *s);
    FaHead *head = head_at(0, 0, true);
    s->rig = skin_rig(head);
    fa_head_free(head);
    FaFaceOptions o = {.layers = 2};
    CHECK_OK(fa_face_build(s->rig, &o, &s->face, &err), &err);
    // only the neutral is played: volumes that add nothing are volumes enough
    s->face->volumes = (FaColumns){.nshape = s->rig->nshape,
                                   .width = 3,
                                   .first = fai_arena_push(s->face->arena, (size_t)s->rig->nshape + 1, sizeof(int))};
    float *normal = malloc(12 * (size_t)s->face->nskin);
    FaMesh skin = {.nvert = s->face->nskin, .ntri = s->face->ntri, .x = s->face->x0, .tri = s->face->tri};
    fai_mesh_normals(&skin, skin.x, normal);
    double best = -1;
    for (int i = 0; i < s->face->nskin; i++) { // the middle of the left cheek: most in the region, deep flesh
        double much = (double)s->face->region[FA_REGION_CHEEKS][i] * (double)s->face->thickness[i];
        if (s->face->x0[3 * i] > 0.02f && much > best) best = much, s->node = i;
    }
    for (int k = 0; k < 3; k++)
        s->cheek[k] = (double)s->face->x0[3 * s->node + k], s->out[k] = (double)normal[3 * s->node + k];
    free(normal);
    snprintf(s->ball, sizeof s->ball, "%s", test_path("ball.obj"));
    write_ball(s->ball, RADIUS, (double[]){0, 0, 0}, false);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    Scene *s = *state;
    fa_face_free(s->face);
    fa_rig_free(s->rig);
    free(s);
    return 0;
}

// How deep the ball is in the cheek as it was: out of it, in by `deep`, out again.
static double depth_at(double time, double deep) {
    double in = fmin(fmax((time - 0.05) / 0.15, 0), 1), out = fmin(fmax((time - 0.3) / 0.1, 0), 1);
    double part = in * in * (3 - 2 * in) - out * out * (3 - 2 * out);
    return -0.003 + part * (deep + 0.003);
}

static void centre_at(const Scene *s, double time, double deep, double c[3]) {
    for (int k = 0; k < 3; k++) c[k] = s->cheek[k] + s->out[k] * (RADIUS - depth_at(time, deep));
}

static FaClip *ball_motion(const Scene *s, double deep, int n, double fps) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(n, 0, NULL, fps, &clip, &err), &err);
    clip->head = FA_NEW(n, FaPose);
    for (int f = 0; f < n; f++) {
        clip->head[f] = fai_pose_identity();
        centre_at(s, clip->time[f], deep, clip->head[f].p);
    }
    return clip;
}

// A collider by its file.
typedef struct Pusher {
    const char *path;
    const FaClip *motion;
    bool in_file;
    FaColliderFrame frame;
} Pusher;

static FaRig *mesh_of(const FaRig *rig, const char *path) {
    FaError err = {0};
    FaRig *mesh;
    CHECK_OK(fa_collider_load(path, rig, &mesh, &err), &err);
    return mesh;
}

static FaCollider collider_of(const Pusher *p, const FaRig *mesh) {
    return (FaCollider){.mesh = mesh, .motion = p->motion, .in_file = p->in_file, .frame = p->frame};
}

static FaMethod *open_with(const Scene *s, const Pusher *c, const char *stiffness) {
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    CHECK_OK(fa_params_new("enrich", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "rate", "120", &err), &err);
    CHECK_OK(fa_params_set(params, "contact", "off", &err), &err);
    if (stiffness) CHECK_OK(fa_params_set(params, "collider_stiffness", stiffness, &err), &err);
    FaRig *mesh = mesh_of(s->rig, c->path);
    FaCollider collider = collider_of(c, mesh);
    FaMethodSetup o = {.rig = s->rig, .face = s->face, .params = params, .ncollider = 1, .collider = &collider};
    CHECK_OK(fa_method_open("enrich", &o, &m, &err), &err);
    fa_rig_free(mesh); // it was read while opening
    fa_params_free(params);
    return m;
}

static FaClip *still_clip(int n, double fps) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(n, 0, NULL, fps, &clip, &err), &err);
    return clip;
}

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// How far the skin is displaced at the cheek, along its normal, and the nearest vertex of all to the ball's centre.
static void look(const Scene *s, const float *x, const double c[3], double *in, double *nearest, double *most) {
    *nearest = INFINITY, *most = 0;
    for (int i = 0; i < s->face->nskin; i++) {
        const float *p = x + 3 * (size_t)s->face->skin_vertex[i],
                    *rest = s->rig->mesh.x + 3 * (size_t)s->face->skin_vertex[i];
        double d[3], e[3];
        for (int k = 0; k < 3; k++) d[k] = (double)p[k] - c[k], e[k] = (double)p[k] - (double)rest[k];
        *nearest = fmin(*nearest, sqrt(dot3(d, d)));
        *most = fmax(*most, sqrt(dot3(e, e)));
        if (i == s->node) *in = -dot3(e, s->out);
    }
}

// Pressed 6 mm into the cheek, held, taken away.
static void test_dent(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    enum { N = 37 };
    const double deep = 0.006;
    FaClip *motion = ball_motion(s, deep, 73, 120), *clip = still_clip(N, 60);
    Pusher c = {.path = s->ball, .motion = motion};
    FaMethod *m = open_with(s, &c, NULL);
    FaRun *run;
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    float *x = malloc(12 * (size_t)s->rig->mesh.nvert);
    double held = 0, least = INFINITY, last = 0, jump = 0, before = 0, after = 0;
    for (int f = 0; f < N; f++) {
        double centre[3], in, nearest, most, time = f / 60.0;
        CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        centre_at(s, time, deep, centre);
        look(s, x, centre, &in, &nearest, &most);
        if (depth_at(time, deep) < -0.0006 && f < 10)
            assert_memory_equal(x, s->rig->mesh.x, 12 * (size_t)s->rig->mesh.nvert); // not touched yet: no bit
        if (f < 5) before = fmax(before, most);
        if (time > 0.25 && time < 0.3) held = fmax(held, in);
        least = fmin(least, nearest);
        jump = fmax(jump, fabs(in - last));
        last = in;
        after = most;
    }
    double inside = fa_enrich_collider_depth(m);
    print_message("ball 6 mm into the cheek: it gives %.2f mm, skin at most %.3f mm inside, vertices %.3f mm; %.2f mm "
                  "per frame at most; 0.2 s after: %.3f mm\n",
                  1e3 * held, 1e3 * inside, 1e3 * (RADIUS - least), 1e3 * jump, 1e3 * after);
    assert_true(before == 0);
    // a node may stand off the ball, so that the flat triangles between nodes do not cut into it
    assert_true(held > 0.9 * deep && held < 1.15 * deep);
    assert_true(inside < 0.0002 && RADIUS - least < 0.0002);
    // the ball itself moves by up to 1.5 mm per frame inwards and 2.25 mm outwards; the skin follows without a jump
    assert_true(jump < 0.003);
    assert_true(after < 0.0005);
    free(x);
    fa_run_free(run);
    fa_method_close(m);
    fa_clip_free(motion);
    fa_clip_free(clip);
}

// Through the whole head: stiffer or softer, the skin never lets a ball in deeper than a share of the push; and a sharp
// thing, smaller than the triangles, does not slip between the nodes.
static void test_small_and_soft(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    const char *tip = test_path("tip.obj");
    write_ball(tip, 0.0015, (double[]){0, 0, 0}, true); // and inside out: it is turned round
    Pusher c = {.path = tip, .frame = FA_COLLIDER_HEAD};
    FaClip *motion = still_clip(7, 60);
    motion->head = FA_NEW(7, FaPose);
    // the middle of a triangle of the cheek
    int t = 0;
    while (s->face->tri[3 * t] != s->node && s->face->tri[3 * t + 1] != s->node && s->face->tri[3 * t + 2] != s->node)
        t++;
    double middle[3] = {0};
    for (int k = 0; k < 9; k++)
        middle[k % 3] += (double)s->face->x0[3 * (size_t)s->face->tri[3 * t + k / 3] + (size_t)(k % 3)] / 3;
    for (int f = 0; f < 7; f++) {
        motion->head[f] = fai_pose_identity();
        for (int k = 0; k < 3; k++) motion->head[f].p[k] = middle[k] + s->out[k] * (0.0015 - 0.002 * f / 6.0);
    }
    c.motion = motion;
    FaMethod *m = open_with(s, &c, NULL);
    bool turned = false;
    for (int i = 0; i < fa_method_notes(m)->count; i++)
        turned |= !strcmp(fa_method_notes(m)->note[i].code, "collider-turned");
    assert_true(turned);
    FaRun *run;
    FaClip *clip = still_clip(7, 60);
    CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
    float *x = malloc(12 * (size_t)s->rig->mesh.nvert);
    double in, nearest, most;
    CHECK_OK(fa_sequence_read(fa_run_sequence(run), 6, x, &err), &err);
    look(s, x, motion->head[6].p, &in, &nearest, &most);
    print_message("tip of 1.5 mm, 2 mm in, between nodes: skin gives %.2f mm, at most %.2f mm inside\n", 1e3 * most,
                  1e3 * fa_enrich_collider_depth(m));
    assert_true(most > 0.0008 && fa_enrich_collider_depth(m) < 0.0008);
    fa_run_free(run);
    fa_method_close(m);
    free(x);
    fa_clip_free(clip);
    fa_clip_free(motion);
}

// Static colliders: one that goes with the head never meets it; one in the world is met when the head moves; one that
// is in the skin from the start is rested on.
static void test_frames(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    enum { N = 10 };
    double centre[3];
    const char *path = test_path("placed.obj");
    for (int k = 0; k < 3; k++) centre[k] = s->cheek[k] + s->out[k] * (RADIUS + 0.001);
    write_ball(path, RADIUS, centre, false);
    FaClip *clip = still_clip(N, 60);
    clip->head = FA_NEW(N, FaPose);
    for (int f = 0; f < N; f++) { // 4 mm towards the ball, and turned: a frame mixed up would show
        double part = fmin(f / 8.0, 1), r[3] = {0, 0, 0};
        part = part * part * (3 - 2 * part);
        clip->head[f] = fai_pose_identity();
        fai_q_exp(r, clip->head[f].q);
        for (int k = 0; k < 3; k++) clip->head[f].p[k] = 0.005 * part * s->out[k];
    }
    float *x = malloc(12 * (size_t)s->rig->mesh.nvert);
    double dent[2];
    for (int world = 0; world < 2; world++) {
        Pusher c = {.path = path, .frame = world ? FA_COLLIDER_WORLD : FA_COLLIDER_AUTO};
        FaMethod *m = open_with(s, &c, NULL);
        FaRun *run;
        double nearest, most, at[3];
        CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
        for (int f = 0; f < N; f++) CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
        for (int k = 0; k < 3; k++) at[k] = centre[k] - (world ? clip->head[N - 1].p[k] : 0);
        look(s, x, at, &dent[world], &nearest, &most);
        assert_true(RADIUS - nearest < 0.0005);
        fa_run_free(run);
        fa_method_close(m);
    }
    print_message("head 5 mm towards a ball 1 mm away: %.2f mm with the head, %.2f mm in the world\n", 1e3 * dent[0],
                  1e3 * dent[1]);
    assert_true(fabs(dent[0]) < 0.0025 && dent[1] > 0.003 && dent[1] < 0.006);
    // in the skin at the start
    for (int k = 0; k < 3; k++) centre[k] = s->cheek[k] + s->out[k] * (RADIUS - 0.004);
    write_ball(path, RADIUS, centre, false);
    Pusher c = {.path = path};
    FaMethod *m = open_with(s, &c, NULL);
    float *w = calloc((size_t)s->rig->nshape, sizeof *w);
    FaInput in = {.weights = w};
    double give, nearest, most, later;
    CHECK_OK(fa_method_reset(m, &in, x, &err), &err);
    look(s, x, centre, &give, &nearest, &most);
    for (int f = 1; f < 4; f++) {
        in.time = f / 60.0;
        CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
    }
    double again, most_later;
    look(s, x, centre, &later, &again, &most_later);
    print_message("begun 4 mm in: gives %.3f mm at once, %.3f mm after three frames\n", 1e3 * give, 1e3 * later);
    assert_true(give > 0.0036 && give < 0.0046 && RADIUS - nearest < 0.0003);
    assert_true(fabs(later - give) < 5e-5 && fabs(most_later - most) < 1e-4);
    fa_method_close(m);
    free(x);
    free(w);
    fa_clip_free(clip);
}

// The same take with the same ball is taken from the file; another motion, or another ball, makes it anew. One and five
// threads agree.
static void test_take(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    const char *path = test_path("ball.take");
    FaClip *clip = still_clip(4, 60);
    uint64_t hash[2] = {0};
    for (int round = 0; round < 4; round++) {
        FaClip *motion = ball_motion(s, round < 2 ? 0.006 : 0.0055, 73, 120);
        Pusher c = {.path = s->ball, .motion = motion};
        if (round == 3) c.frame = FA_COLLIDER_HEAD, write_ball(s->ball, RADIUS + 0.001, (double[]){0, 0, 0}, false);
        for (int f = 0; f < 73; f++) // already in contact
            for (int k = 0; k < 3; k++) motion->head[f].p[k] -= 0.004 * s->out[k];
        fa_threads_set(round == 2 ? 5 : 1);
        FaMethod *m = open_with(s, &c, NULL);
        FaRunFile *take;
        FaRunFileReport report;
        CHECK_OK(fa_run_file_open(m, clip, path, NULL, &take, &report, &err), &err);
        assert_int_equal(report.made, round == 1 ? 0 : 4);
        assert_true((report.fresh[0] != 0) == (round > 1));
        if (round == 2) { // and with one thread
            hash[0] = fa_method_hash(m);
            FaMethod *one = open_with(s, &c, NULL);
            FaRun *run;
            float *x = malloc(12 * (size_t)s->rig->mesh.nvert);
            fa_threads_set(1);
            CHECK_OK(fa_run_new(one, clip, &run, &err), &err);
            CHECK_OK(fa_sequence_read(fa_run_sequence(run), 3, x, &err), &err);
            hash[1] = fa_method_hash(one);
            free(x);
            fa_run_free(run);
            fa_method_close(one);
        }
        fa_run_file_close(take);
        fa_method_close(m);
        fa_clip_free(motion);
    }
    fa_threads_set(0);
    assert_true(hash[0] == hash[1]);
    fa_clip_free(clip);
}

// --- motions: every file that gives one, against closed form ---------------------------------------------------------

// A quarter turn per second about a slanted axis, and a straight way: what all the files below hold, 61 frames a
// second.
static FaPose moving(double t) {
    FaPose pose;
    fai_q_exp((double[]){0.6 * 1.5 * t, 0, 0.8 * 1.5 * t}, pose.q);
    fai_v3_set(pose.p, 0.01 + 0.2 * t, -0.03 * t, 0.05);
    return pose;
}

static void check_pose(const char *what, const FaPose *is, const FaPose *want, double tolerance) {
    static const double corner[4][3] = {{0, 0, 0}, {0.1, 0, 0}, {0, 0.1, 0}, {0, 0, 0.1}};
    double worst = 0;
    for (int i = 0; i < 4; i++) {
        double a[3], b[3], d[3];
        fai_pose_apply(is, corner[i], a);
        fai_pose_apply(want, corner[i], b);
        fai_v3_sub(a, b, d);
        worst = fmax(worst, fai_v3_norm(d));
    }
    if (!(worst < tolerance)) print_error("%s: %g m off\n", what, worst);
    assert_true(worst < tolerance);
}

static void write_bytes(const char *path, Bytes b) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.size, f), b.size);
    fclose(f);
    free(b.data);
}

enum { KEYS = 61 };

// A tetrahedron below a node that stands somewhere, turned; with keys its node moves by moving(), from `start` s on.
static void write_glb(const char *path, bool animated, float start) {
    static const float x[12] = {0, 0, 0, 0.02f, 0, 0, 0, 0.02f, 0, 0, 0, 0.02f};
    static const uint16_t tri[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    static Fixture f;
    f = (Fixture){0};
    float time[KEYS], move[3 * KEYS], turn[4 * KEYS];
    int at = fixture_add(&f, FA_GLTF_F32, "VEC3", 4, x, sizeof x, ",'min':[0,0,0],'max':[0.02,0.02,0.02]");
    int index = fixture_add(&f, FA_GLTF_U16, "SCALAR", 12, tri, sizeof tri, "");
    for (int k = 0; k < KEYS; k++) {
        FaPose pose = moving(k / 60.0);
        time[k] = start + (float)k / 60;
        for (int i = 0; i < 3; i++) move[3 * k + i] = (float)pose.p[i];
        for (int i = 0; i < 4; i++) turn[4 * k + i] = (float)pose.q[i];
    }
    int times = fixture_times(&f, time, KEYS), moves = fixture_floats(&f, "VEC3", KEYS, move, 3 * KEYS),
        turns = fixture_floats(&f, "VEC4", KEYS, turn, 4 * KEYS);
    char rest[1000], anim[400] = "";
    if (animated)
        snprintf(anim, sizeof anim,
                 ",'animations':[{'channels':[{'sampler':0,'target':{'node':0,'path':'translation'}},"
                 "{'sampler':1,'target':{'node':0,'path':'rotation'}}],"
                 "'samplers':[{'input':%d,'output':%d},{'input':%d,'output':%d}]}]",
                 times, moves, times, turns);
    snprintf(rest, sizeof rest,
             "'scene':0,'scenes':[{'nodes':[0]}],'nodes':[{'name':'hand','mesh':0,'translation':[0.3,0.2,0.1],"
             "'rotation':[0,0.6,0,0.8]}],'meshes':[{'primitives':[{'attributes':{'POSITION':%d},'indices':%d}]}]%s",
             at, index, anim);
    write_bytes(path, fixture_done(&f, rest));
}

// A skeleton of 1.6 m whose hand hangs off a turned root: the root undoes its own turn, so that the hand moves by
// moving().
static void write_bvh(const char *path, bool z_up) {
    FILE *f = fopen(path, "w");
    fprintf(f,
            "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Xposition Yposition Zposition\n"
            "JOINT Head\n{\nOFFSET %s\nCHANNELS 3 Zrotation Yrotation Xrotation\nEnd Site\n{\nOFFSET %s\n}\n}\n"
            "JOINT Hand\n{\nOFFSET 0 0 0.3\nCHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation\n"
            "End Site\n{\nOFFSET 0.1 0 0\n}\n}\n}\nMOTION\nFrames: %d\nFrame Time: 0.0166666666667\n",
            z_up ? "0 0 1.5" : "0 1.5 0", z_up ? "0 0 0.1" : "0 0.1 0", KEYS);
    for (int k = 0; k < KEYS; k++) {
        FaPose pose = moving(k / 60.0);
        if (z_up) { // the same motion told by a world that stands along z: x, -z, y
            FaPose turn = fai_pose_identity(), back;
            fai_q_exp((double[]){M_PI / 2, 0, 0}, turn.q);
            back = fai_pose_inverse(&turn);
            pose = fai_pose_mul(&turn, &pose);
            pose = fai_pose_mul(&pose, &back);
        }
        double r[9];
        fai_q_to_m3(pose.q, r);
        // Z Y X angles
        double y = asin(-r[6]), z = atan2(r[3], r[0]), x = atan2(r[7], r[8]), deg = 180 / M_PI;
        fprintf(f, "%.12g %.12g %.12g 0 0 0 %.12g %.12g %.12g %.12g %.12g %.12g\n", 0.25, 0.5, -0.125, pose.p[0] - 0.25,
                pose.p[1] - 0.5, pose.p[2] + 0.125, z * deg, y * deg, x * deg);
    }
    fclose(f);
}

static FaColliders *colliders_of(const Scene *s, const FaRig *rig, const Pusher *c, int n) {
    FaError err = {0};
    FaColliders *made;
    uint64_t key = 0;
    FaNotes notes = {0};
    FaRig *mesh[16];
    FaCollider collider[16];
    for (int i = 0; i < n; i++) collider[i] = collider_of(&c[i], mesh[i] = mesh_of(rig, c[i].path));
    FaMethodSetup o = {.rig = rig, .ncollider = n, .collider = collider};
    CHECK_OK(fai_colliders_new(s->face, &o, 200, 0, &made, &key, &notes, &err), &err);
    for (int i = 0; i < n; i++) fa_rig_free(mesh[i]);
    fai_notes_free(&notes);
    return made;
}

// The animation of a .glb's node as poses of the mesh's own frame, as in_file has them.
static FaClip *node_motion(const char *path) {
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.unit = FA_UNIT_M, .any_size = true}, &rig, &err), &err);
    FaClip *clip = rig->clip;
    assert_true(clip && clip->head);
    for (int f = 0; f < clip->nframe; f++) clip->head[f] = fa_rig_pose(rig, &clip->head[f]);
    rig->clip = NULL;
    fa_rig_free(rig);
    return clip;
}

// CSV, JSON, BVH and .glb tell the same motion; the collider is where closed form has it, on frames and between them,
// held before and after.
static void test_motions(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    const char *csv = test_path("move.csv"), *json = test_path("move.json"), *bvh = test_path("move.bvh"),
               *lying = test_path("lying.bvh"), *glb = test_path("move.glb");
    FaClip *clip;
    CHECK_OK(fa_clip_new(KEYS, 0, NULL, 60, &clip, &err), &err);
    clip->head = FA_NEW(KEYS, FaPose);
    for (int k = 0; k < KEYS; k++) clip->head[k] = moving(k / 60.0);
    CHECK_OK(fa_clip_save(clip, csv, &err), &err);
    CHECK_OK(fa_clip_save(clip, json, &err), &err);
    fa_clip_free(clip);
    write_bvh(bvh, false);
    write_bvh(lying, true);
    write_glb(glb, true, 0);
    const struct {
        const char *path;
        bool in_file;
        double tolerance;
    } file[] = {{csv, false, 1e-9}, {json, false, 1e-9}, {bvh, false, 1e-8}, {lying, false, 1e-8}, {glb, true, 1e-6}};
    for (int i = 0; i < FA_COUNT(file); i++)
        for (int head = 0; head < 2; head++) {
            FaClip *motion = file[i].in_file ? node_motion(file[i].path) : NULL;
            if (!motion)
                CHECK_OK(fa_clip_load(file[i].path, &(FaClipOptions){.joint = "Hand", .unit = 1}, &motion, &err), &err);
            Pusher c = {.path = s->ball,
                        .motion = motion,
                        .in_file = file[i].in_file,
                        .frame = head ? FA_COLLIDER_HEAD : FA_COLLIDER_AUTO};
            FaColliders *made = colliders_of(s, s->rig, &c, 1);
            // the head has gone somewhere and turned: what is in the world is seen from there, the rest goes along
            FaPose at = {{0, 0.28, 0, 0.96}, {0.1, 1.5, -0.2}}, back = fai_pose_inverse(&at);
            const double time[] = {-0.5, 0, 0.25, 0.258, 0.7301, 1, 4};
            for (int k = 0; k < FA_COUNT(time); k++) {
                FaPose want = moving(fmin(fmax(time[k], 0), 1)), is;
                if (!head) want = fai_pose_mul(&back, &want);
                fai_colliders_begin(made, time[k], &at);
                is = fai_colliders_pose(made, 0);
                // turns at a constant rate are no spline's own: 1e-6 m between frames
                bool frame = fabs(60 * time[k] - round(60 * time[k])) < 1e-9 || time[k] < 0 || time[k] > 1;
                check_pose(file[i].path, &is, &want, fmax(frame ? 0 : 2e-6, file[i].tolerance));
            }
            fai_colliders_free(made);
            fa_clip_free(motion);
        }
}

// A .glb that stands still is where its node is; the rig's own node counts as well: both files share a world.
static void test_nodes(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    const char *path = test_path("hand.glb"), *moves = test_path("hand_moves.glb"), *face = test_path("face.glb");
    write_glb(path, false, 0);
    write_glb(moves, true, 0.5f);
    write_bytes(face, face_glb("'translation':[1,2,3]", "'translation':[1,2,3],'rotation':[0,0,0.6,0.8]"));
    FaRig *rig;
    CHECK_OK(fa_rig_load(face, &(FaRigOptions){.unit = FA_UNIT_M, .any_size = true}, &rig, &err), &err);
    FaPose node = {{0, 0, 0.6, 0.8}, {1, 2, 3}}, hand = {{0, 0.6, 0, 0.8}, {0.3, 0.2, 0.1}},
           out = fai_pose_inverse(&node);
    // still, in the head's frame and in a world in which the head stands still: the same place
    for (int world = 0; world < 2; world++) {
        Pusher c = {.path = path, .frame = world ? FA_COLLIDER_WORLD : FA_COLLIDER_AUTO};
        FaColliders *made = colliders_of(s, rig, &c, 1);
        FaPose want = fai_pose_mul(&out, &hand), is;
        fai_colliders_begin(made, 0.3, NULL);
        is = fai_colliders_pose(made, 0);
        check_pose("a still node", &is, &want, 1e-6);
        fai_colliders_free(made);
    }
    // its own animation, in the world of both files; the head's own clip moves the head in the same one
    FaClip *motion = node_motion(moves);
    assert_true(fabs(motion->start - 0.5) < 1e-6);
    Pusher c = {.path = moves, .motion = motion, .in_file = true};
    FaColliders *made = colliders_of(s, rig, &c, 1);
    FaPose at = {{0, 0.28, 0, 0.96}, {0.1, 1.5, -0.2}}, back = fai_pose_inverse(&at), want = moving(0.5), is;
    fai_colliders_begin(made, 0.5, &at);
    is = fai_colliders_pose(made, 0);
    want = fai_pose_mul(&back, &want);
    check_pose("a node and a head that move", &is, &want, 1e-6);
    fai_colliders_free(made);
    // what stands in the world stands by the head where its file leaves it, whatever clip plays
    c = (Pusher){.path = path, .frame = FA_COLLIDER_WORLD};
    made = colliders_of(s, rig, &c, 1);
    fai_colliders_begin(made, 0.5, &at);
    is = fai_colliders_pose(made, 0);
    want = fai_pose_mul(&back, &hand);
    check_pose("a still node, a head that moves", &is, &want, 1e-6);
    fai_colliders_free(made);
    fa_clip_free(motion);
    fa_rig_free(rig);
}

// --- friction ------------------------------------------------------------------------------------------------------

// A block of flesh, free, on a plate: nodes, its bottom's triangles as the skin, a body that moves.
typedef struct Block {
    FaFace face;
    int n, ntet;
    int *tet;
    double *x, *mass, *mu, *lambda;
    FaSolid *solid;
    FaRebalance *body;
    FaColliders *colliders;
    FaClip *motion;
    FaRow row[FA_COLLIDER_ROWS];
} Block;

static int block_rows(void *user, const double *x, const FaRow **row) {
    Block *b = user;
    int n = fai_colliders_collect(b->colliders, x, b->row);
    *row = b->row;
    return n + fai_colliders_late(b->colliders, b->row + n);
}

static void block_mesh(Block *b, int nx, int ny, int nz, double step, double mu) {
    static const int path[6][2] = {{1, 3}, {1, 5}, {2, 3}, {2, 6}, {4, 5}, {4, 6}};
    b->n = (nx + 1) * (ny + 1) * (nz + 1);
    size_t n = (size_t)b->n, cubes = (size_t)(nx * ny * nz);
    b->x = calloc(3 * n, sizeof(double)), b->mass = calloc(n, sizeof(double)), b->tet = calloc(24 * cubes, sizeof(int));
    b->mu = calloc(6 * cubes, sizeof(double)), b->lambda = calloc(6 * cubes, sizeof(double));
    b->face = (FaFace){.nskin = b->n,
                       .nnode = b->n,
                       .x0 = calloc(3 * n, sizeof(float)),
                       .tri = calloc(6 * (size_t)(nx * nz), sizeof(int))};
    int row = nx + 1, slice = row * (ny + 1);
    for (int k = 0, i = 0; k <= nz; k++)
        for (int j = 0; j <= ny; j++)
            for (int a = 0; a <= nx; a++, i++)
                fai_v3_set(b->x + 3 * i, (a - 0.5 * nx) * step, j * step + 4.93e-5,
                           (k - 0.5 * nz) * step); // at its weight
    for (size_t i = 0; i < 3 * n; i++) b->face.x0[i] = (float)b->x[i], b->x[i] = (double)b->face.x0[i];
    for (int k = 0; k < nz; k++)
        for (int j = 0; j < ny; j++)
            for (int a = 0; a < nx; a++) {
                int c[8];
                for (int q = 0; q < 8; q++) c[q] = a + (q & 1) + (j + (q >> 1 & 1)) * row + (k + (q >> 2)) * slice;
                for (int t = 0; t < 6; t++) {
                    int v[4] = {c[0], c[path[t][0]], c[path[t][1]], c[7]};
                    double e[3][3], cross[3];
                    for (int q = 0; q < 3; q++) fai_v3_sub(b->x + 3 * v[q + 1], b->x + 3 * v[0], e[q]);
                    fai_v3_cross(e[0], e[1], cross);
                    if (fai_v3_dot(cross, e[2]) < 0) v[1] = c[path[t][1]], v[2] = c[path[t][0]];
                    for (int q = 0; q < 4; q++) b->mass[v[q]] += 1100 * step * step * step / 24;
                    b->mu[b->ntet] = mu, b->lambda[b->ntet] = 0.8 * mu;
                    memcpy(b->tet + 4 * b->ntet++, v, sizeof v);
                }
                if (j) continue;
                int down[6] = {c[0], c[1], c[5], c[0], c[5], c[4]};
                memcpy(b->face.tri + 3 * b->face.ntri, down, sizeof down);
                b->face.ntri += 2;
            }
}

// Where a plate is: pulled along x with so much from the start; or pressed up by 1 mm, then along by as much.
static void plate_at(double t, double accel, bool pressed, double p[3]) {
    double up = fmin(t / 0.05, 1), along = fmin(fmax((t - 0.05) / 0.05, 0), 1);
    fai_v3_set(p, 0.5 * accel * t * t, 0, 0);
    if (pressed) fai_v3_set(p, 0.001 * along * along * (3 - 2 * along), 0.001 * up * up * (3 - 2 * up), 0);
}

// plate: m/s2; held: soft, with its top held, and pressed.
static Block *block_new(const Scene *s, double friction, double plate, bool held) {
    FaError err = {0};
    Block *b = calloc(1, sizeof *b);
    block_mesh(b, 6, 3, 4, 0.005, held ? 3e3 : 3e5);
    const char *path = test_path("plate.obj");
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 8; i++) fprintf(f, "v %g %g %g\n", i & 1 ? 0.6 : -0.6, i & 2 ? 0.0 : -0.05, i & 4 ? 0.1 : -0.1);
    fputs("f 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n", f);
    fclose(f);
    if (plate != 0 || held) {
        b->motion = still_clip(601, 600);
        b->motion->head = FA_NEW(601, FaPose);
        for (int k = 0; k <= 600; k++)
            b->motion->head[k] = fai_pose_identity(), plate_at(k / 600.0, plate, held, b->motion->head[k].p);
    }
    FaRig *mesh = mesh_of(s->rig, path);
    FaCollider c = {.mesh = mesh, .motion = b->motion, .frame = FA_COLLIDER_HEAD};
    FaMethodSetup o = {.rig = s->rig, .ncollider = 1, .collider = &c};
    uint64_t key = 0;
    FaNotes notes = {0};
    CHECK_OK(fai_colliders_new(&b->face, &o, 200, friction, &b->colliders, &key, &notes, &err), &err);
    fa_rig_free(mesh);
    CHECK_OK(fai_solid_new(b->n, b->ntet, b->tet, b->x, FA_SOLID_STVK, &b->solid, &err), &err);
    FaRebalanceOptions r = {.newton = {.max_rows = FA_COLLIDER_ROWS},
                            .scheme = FA_SCHEME_BDF2,
                            .alpha = 1,
                            .beta = 1e-3,
                            .tolerance = 1e-6};
    unsigned char *fixed = calloc((size_t)b->n, 1);
    for (int i = 0; i < b->n; i++) fixed[i] = held && b->x[3 * i + 1] > 0.0149;
    CHECK_OK(fai_rebalance_new(b->solid, fixed, b->mass, &r, &b->body, &err), &err);
    free(fixed);
    FaPose pose = fai_pose_identity();
    CHECK_OK(
        fai_rebalance_reset(b->body, b->x, b->mu, b->lambda, &pose, (double[]){0, 0, 0}, (double[]){0, 0, 0}, &err),
        &err);
    // what touches at the start sticks from the start, as enrich has it
    const FaRow *row;
    fai_colliders_begin(b->colliders, 0, NULL);
    block_rows(b, b->x, &row);
    fai_colliders_end(b->colliders, b->x, fai_rebalance_d(b->body));
    return b;
}

static void block_free(Block *b) {
    fai_colliders_free(b->colliders);
    fai_rebalance_free(b->body);
    fai_solid_free(b->solid);
    fa_clip_free(b->motion);
    free(b->x), free(b->mass), free(b->tet), free(b->mu), free(b->lambda), free(b->face.x0), free(b->face.tri);
    free(b);
}

// Steps up to a time; how far the block is along x then, on average.
static double block_run(Block *b, double *time, double until, double h, const double accel[3]) {
    FaError err = {0};
    FaRebalanceReport report;
    while (*time < until - 0.5 * h) {
        *time += h;
        FaRebalanceInput in = {.h = h,
                               .X = b->x,
                               .mu = b->mu,
                               .lambda = b->lambda,
                               .pose = fai_pose_identity(),
                               .collect = block_rows,
                               .collect_user = b,
                               .base = b->x};
        memcpy(in.accel, accel, sizeof in.accel);
        fai_colliders_begin(b->colliders, *time, NULL);
        CHECK_OK(fai_rebalance_step(b->body, &in, &report, &err), &err);
        fai_colliders_end(b->colliders, b->x, fai_rebalance_d(b->body));
        FaColliderForce f = fai_colliders_force(b->colliders);
        assert_true(f.friction <= f.limit * (1 + 1e-9));
        for (int i = 1; i <= FA_MIN(report.dynamic.iterations, FA_NEWTON_LOG); i++)
            assert_true(report.dynamic.energy[i] <= report.dynamic.energy[i - 1]);
    }
    double sum = 0, mass = 0;
    for (int i = 0; i < b->n; i++) sum += b->mass[i] * fai_rebalance_d(b->body)[3 * i], mass += b->mass[i];
    return sum / mass;
}

// Coulomb's law: on a slope of 0.6 a block slides with g (sin - mu cos), or does not stir; on a plate that is pulled
// away it goes along, or is dragged with mu g.
static void test_coulomb(void **state) {
    const Scene *s = *state;
    double angle = atan(0.6), g = 9.81, down[3] = {g * sin(angle), -g * cos(angle), 0}, flat[3] = {0, -g, 0}, way[2];
    for (int fine = 0; fine < 2; fine++) {
        Block *b = block_new(s, 0.3, 0, false);
        double time = 0, h = 1.0 / (fine ? 600 : 300), want = 0.5 * g * (sin(angle) - 0.3 * cos(angle)) * 0.09;
        way[fine] = block_run(b, &time, 0.3, h, down);
        FaColliderForce f = fai_colliders_force(b->colliders);
        print_message("slope 0.6, friction 0.3, 1/%d s: slid %.2f mm in 0.3 s, by Coulomb %.2f; drag / push %.4f\n",
                      fine ? 600 : 300, 1e3 * way[fine], 1e3 * want, f.drag[0] / f.push[1]);
        assert_true(fabs(way[fine] / want - 1) < 0.03 && f.sliding == f.touching);
        block_free(b);
    }
    assert_true(fabs(way[1] / way[0] - 1) < 0.02);
    Block *b = block_new(s, 0.7, 0, false);
    double time = 0, early = block_run(b, &time, 0.2, 1.0 / 300, down), late = block_run(b, &time, 2, 1.0 / 300, down);
    FaColliderForce f = fai_colliders_force(b->colliders);
    print_message("slope 0.6, friction 0.7: %.4f mm after 0.2 s, %.2g mm more after 2 s; drag / push %.4f\n",
                  1e3 * early, 1e3 * (late - early), f.drag[0] / f.push[1]);
    assert_true(early > 0 && early < 2e-4 && fabs(late - early) < 1e-7 && f.sliding == 0);
    assert_true(fabs(f.drag[0] / f.push[1] + 0.6) < 0.01);
    block_free(b);
    for (int fast = 0; fast < 2; fast++) {
        double plate = fast ? 6 : 1.5, want = 0.5 * fmin(plate, 0.3 * g) * 0.16;
        b = block_new(s, 0.3, plate, false);
        time = 0;
        double moved = block_run(b, &time, 0.4, 1.0 / 300, flat);
        print_message("plate pulled with %.1f m/s2, friction 0.3: block %.2f mm after 0.4 s, by Coulomb %.2f\n", plate,
                      1e3 * moved, 1e3 * want);
        assert_true(fabs(moved / want - 1) < 0.03);
        block_free(b);
    }
}

// Materials and rest shape that change under what sticks: friction is carried through the rebalancing, and nothing
// creeps.
static void test_balance(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    Block *b = block_new(s, 0.8, 0, true);
    double time = 0, h = 1.0 / 300, bottom[4] = {0}, *X = malloc(3 * (size_t)b->n * sizeof(double)),
           *mu = malloc((size_t)b->ntet * sizeof(double)), *lambda = malloc((size_t)b->ntet * sizeof(double));
    const double until[] = {0.2, 0.5, 0.6, 0.9}; // stuck; all changes, to and fro; as it was; still so
    FaColliderForce force[4];
    for (int part = 0; part < 4; part++) {
        for (; time < until[part] - 0.5 * h; time += h) {
            double swing = part == 1 ? sin(2 * M_PI * 10 * (time + h - 0.2)) : 0;
            for (int i = 0; i < 3 * b->n; i++)
                X[i] = b->x[i] + (i % 3 == 0 && b->x[i + 1] > 0.004 && b->x[i + 1] < 0.014 ? 2e-4 * swing : 0);
            for (int t = 0; t < b->ntet; t++)
                mu[t] = b->mu[t] * (1 + 0.2 * swing), lambda[t] = b->lambda[t] * (1 - 0.1 * swing);
            FaRebalanceInput in = {.h = h,
                                   .X = X,
                                   .mu = mu,
                                   .lambda = lambda,
                                   .pose = fai_pose_identity(),
                                   .collect = block_rows,
                                   .collect_user = b,
                                   .base = b->x};
            fai_colliders_begin(b->colliders, time + h, NULL);
            CHECK_OK(fai_rebalance_step(b->body, &in, NULL, &err), &err);
            fai_colliders_end(b->colliders, X, fai_rebalance_d(b->body));
        }
        int count = 0;
        for (int i = 0; i < b->n; i++)
            if (b->x[3 * i + 1] < 0.001)
                bottom[part] += X[3 * i] + fai_rebalance_d(b->body)[3 * i] - b->x[3 * i], count++;
        bottom[part] /= count;
        force[part] = fai_colliders_force(b->colliders);
    }
    print_message("stuck to a plate, dragged 1 mm: bottom at %.4f mm (drag %.4f N of %.4f N); after three swings of "
                  "rest shape and stiffness %.4f, %.4f, %.4f mm\n",
                  1e3 * bottom[0], force[0].drag[0], force[0].limit, 1e3 * bottom[1], 1e3 * bottom[2], 1e3 * bottom[3]);
    assert_true(bottom[0] > 0.00085 && force[0].drag[0] > 0.3 * force[0].limit && force[0].sliding < force[0].touching);
    for (int part = 1; part < 4; part++) assert_true(fabs(bottom[part] - bottom[0]) < 2e-5);
    assert_true(fabs(bottom[3] - bottom[2]) < 1e-6);
    free(X), free(mu), free(lambda);
    block_free(b);
}

// Pressed in within 0.1 s, slid sideways by 15 mm from 0.15 s to 0.35 s, then held.
static FaClip *slide_motion(const Scene *s, double deep, const double side[3], double far, int n) {
    FaClip *clip = still_clip(n, 120);
    clip->head = FA_NEW(n, FaPose);
    for (int f = 0; f < n; f++) {
        double t = clip->time[f], in = fmin(t / 0.1, 1), along = fmin(fmax((t - 0.15) / 0.2, 0), 1);
        in = in * in * (3 - 2 * in), along = along * along * (3 - 2 * along);
        clip->head[f] = fai_pose_identity();
        for (int k = 0; k < 3; k++)
            clip->head[f].p[k] =
                s->cheek[k] + s->out[k] * (RADIUS + 0.001 - in * (deep + 0.001)) + side[k] * far * along;
    }
    return clip;
}

static FaMethod *open_friction(const Scene *s, const Pusher *c, const char *friction, const char *rate) {
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    CHECK_OK(fa_params_new("enrich", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "rate", rate, &err), &err);
    CHECK_OK(fa_params_set(params, "contact", "off", &err), &err);
    CHECK_OK(fa_params_set(params, "collider_friction", friction, &err), &err);
    FaRig *mesh = mesh_of(s->rig, c->path);
    FaCollider collider = collider_of(c, mesh);
    FaMethodSetup o = {.rig = s->rig, .face = s->face, .params = params, .ncollider = 1, .collider = &collider};
    CHECK_OK(fa_method_open("enrich", &o, &m, &err), &err);
    fa_rig_free(mesh); // it was read while opening
    fa_params_free(params);
    return m;
}

// Up and along the cheek.
static void sideways(const Scene *s, double side[3]) {
    fai_v3_set(side, 0, 1, 0);
    fai_v3_mad(side, -fai_v3_dot(side, s->out), s->out, side);
    fai_v3_normalize(side);
}

// The skin goes along with a ball that slides over it; more friction, further; what is held stays.
static void test_drag(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    enum { N = 34, RUNS = 6 };
    static const struct {
        const char *friction, *rate;
        double far;
    } run_of[RUNS] = {{"0", "300", 0.015},   {"0.3", "300", 0.015}, {"0.5", "300", 0.015},
                      {"0.5", "600", 0.015}, {"0", "120", 0.0015},  {"1", "120", 0.0015}};
    double side[3], peak[RUNS] = {0}, end[RUNS], before[RUNS];
    sideways(s, side);
    FaClip *clip = still_clip(N, 60);
    float *x = malloc(12 * (size_t)s->rig->mesh.nvert);
    FaColliderForce last = {0};
    for (int i = 0; i < RUNS; i++) {
        FaClip *motion = slide_motion(s, 0.004, side, run_of[i].far, 85);
        Pusher c = {.path = s->ball, .motion = motion};
        FaMethod *m = open_friction(s, &c, run_of[i].friction, run_of[i].rate);
        FaRun *run;
        FaColliderForce most = {0};
        double ratio = 0;
        CHECK_OK(fa_run_new(m, clip, &run, &err), &err);
        for (int f = 0; f < N; f++) {
            CHECK_OK(fa_sequence_read(fa_run_sequence(run), f, x, &err), &err);
            double far = 0;
            for (int v = 0; v < s->face->nskin; v++) {
                size_t at = 3 * (size_t)s->face->skin_vertex[v];
                double d[3];
                for (int k = 0; k < 3; k++) d[k] = (double)x[at + (size_t)k] - (double)s->rig->mesh.x[at + (size_t)k];
                far = fmax(far, fai_v3_dot(d, side));
            }
            peak[i] = fmax(peak[i], far);
            if (f == 24) before[i] = far; // held from 0.35 s on: frame 21
            end[i] = far;
            last = fai_colliders_force(fai_enrich_colliders(m));
            if (last.friction > most.friction) most = last;
            if (last.normal > 0) ratio = fmax(ratio, last.friction / last.normal);
            assert_true(last.friction <= last.limit * (1 + 1e-9));
        }
        print_message("friction %s at %s Hz: skin dragged by up to %.2f mm; peak friction %.3f N of normal %.3f N (%d "
                      "of %d samples slide), ratio at most %.3f; "
                      "held for 0.15 s: %.4f mm more; inside %.3f mm, stalled %d\n",
                      run_of[i].friction, run_of[i].rate, 1e3 * peak[i], most.friction, most.normal, most.sliding,
                      most.touching, ratio, 1e3 * (end[i] - before[i]), 1e3 * fa_enrich_collider_depth(m),
                      fai_enrich_totals(m)->stalled);
        // the lag: friction is of the normal force a step ago
        assert_true(ratio <= 1.05 * strtod(run_of[i].friction, NULL));
        fa_run_free(run);
        fa_method_close(m);
        fa_clip_free(motion);
    }
    assert_true(peak[1] > peak[0] + 0.0008 && peak[2] > peak[1] + 0.0003);
    assert_true(fabs(peak[3] / peak[2] - 1) < 0.03);
    for (int i = 1; i < RUNS; i++) assert_true(fabs(end[i] - before[i]) < 1e-5);
    // 1.5 mm are within the cone: the skin goes along and most of it does not slip
    assert_true(peak[5] > 0.9 * 0.0015 && peak[4] < 0.7 * peak[5] && last.sliding < last.touching / 4);
    free(x);
    fa_clip_free(clip);
}

// In the middle of a slide: saved and gone on with, on any number of threads, to the same bits; and not touched, not a
// bit of difference to no friction at all.
static void test_friction_state(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    double side[3];
    sideways(s, side);
    FaClip *motion = slide_motion(s, 0.004, side, 0.015, 85), *clip = still_clip(15, 60);
    Pusher c = {.path = s->ball, .motion = motion};
    float *x = malloc(12 * (size_t)s->rig->mesh.nvert), *y = malloc(12 * (size_t)s->rig->mesh.nvert);
    float *w = calloc((size_t)s->rig->nshape, sizeof *w);
    uint64_t hash[4];
    void *saved = NULL;
    for (int round = 0; round < 4; round++) {
        static const int threads[] = {1, 1, 3, 8};
        fa_threads_set(threads[round]);
        FaMethod *m = open_friction(s, &c, "0.5", "120");
        FaInput in = {.weights = w};
        if (!saved) saved = malloc(fa_method_state_size(m));
        if (round == 1) {
            CHECK_OK(fa_method_load(m, saved, fa_method_state_size(m), &err), &err);
            size_t size = fa_method_state_size(m);
            void *again = malloc(size);
            fa_method_save(m, again);
            assert_memory_equal(again, saved, size);
            free(again);
        } else
            CHECK_OK(fa_method_reset(m, &in, x, &err), &err);
        for (int f = round == 1 ? 14 : 1; f <= 18; f++) {
            in.time = f / 60.0;
            CHECK_OK(fa_method_step(m, &in, x, NULL, &err), &err);
            if (round == 0 && f == 13) fa_method_save(m, saved);
        }
        assert_true(fai_colliders_force(fai_enrich_colliders(m)).sliding > 0);
        hash[round] = fa_method_hash(m);
        if (round == 0) memcpy(y, x, 12 * (size_t)s->rig->mesh.nvert);
        assert_memory_equal(x, y, 12 * (size_t)s->rig->mesh.nvert);
        assert_true(hash[round] == hash[0]);
        fa_method_close(m);
    }
    free(saved);
    fa_threads_set(0);
    free(x);
    free(y);
    free(w);
    fa_clip_free(motion);
    fa_clip_free(clip);
}

static void test_refused(void **state) {
    const Scene *s = *state;
    FaError err = {0};
    FaMethod *m;
    const char *empty = test_path("points.obj");
    FILE *f = fopen(empty, "w");
    fputs("v 0 0 0\nv 0 0 1\nv 0 1 0\n", f);
    fclose(f);
    FaRig *mesh = mesh_of(s->rig, s->ball), *other = NULL;
    FaCollider c = {0};
    FaMethodSetup o = {.rig = s->rig, .face = s->face, .ncollider = 1, .collider = &c};
    assert_int_equal(fa_method_open("enrich", &o, &m, &err), FA_E_ARG); // no mesh
    assert_non_null(strstr(err.remedy, "fa_collider_load"));
    err = (FaError){0};
    assert_true(fa_collider_load(empty, s->rig, &other, &err) < 0 && err.remedy[0]);
    err = (FaError){0};
    assert_int_equal(fa_collider_load("/nonexistent/hand.obj", s->rig, &other, &err), FA_E_FILE);
    FaClip *clip = still_clip(2, 60);
    c = (FaCollider){.mesh = mesh, .motion = clip};
    err = (FaError){0};
    assert_int_equal(fa_method_open("enrich", &o, &m, &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "no poses"));
    o.ncollider = 17;
    err = (FaError){0};
    assert_int_equal(fa_method_open("enrich", &o, &m, &err), FA_E_LIMIT);
    assert_true(err.remedy[0] && strstr(err.what, "17"));
    // a pose that is none: the motion's file is named, not the mesh's
    o.ncollider = 1;
    clip->head = FA_NEW(2, FaPose);
    clip->head[0] = clip->head[1] = fai_pose_identity();
    clip->head[1].p[1] = NAN;
    clip->path = fai_strdup("hand.csv");
    err = (FaError){0};
    assert_int_equal(fa_method_open("enrich", &o, &m, &err), FA_E_ARG);
    assert_string_equal(err.path, "hand.csv");
    assert_true(strstr(err.place, "1") && err.what[0]);
    fa_clip_free(clip);
    // vertices that are none
    f = fopen(empty, "w");
    fputs("v 0 0 0\nv 0 nan 1\nv 0 1 0\nf 1 2 3\n", f);
    fclose(f);
    err = (FaError){0};
    assert_true(fa_collider_load(empty, s->rig, &other, &err) < 0);
    assert_string_equal(err.path, empty);
    assert_true(err.what[0] && err.remedy[0]);
    // all on one line: no side to push to
    f = fopen(empty, "w");
    fputs("v 0 0 0\nv 0 0 1\nv 0 0 2\nf 1 2 3\n", f);
    fclose(f);
    other = mesh_of(s->rig, empty);
    c = (FaCollider){.mesh = other};
    err = (FaError){0};
    assert_int_equal(fa_method_open("enrich", &o, &m, &err), FA_E_FORMAT);
    assert_string_equal(err.path, empty);
    assert_non_null(strstr(err.what, "no faces"));
    fa_rig_free(other);
    fa_rig_free(mesh);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dent),           cmocka_unit_test(test_small_and_soft), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_motions),        cmocka_unit_test(test_nodes),          cmocka_unit_test(test_take),
        cmocka_unit_test(test_coulomb),        cmocka_unit_test(test_balance),        cmocka_unit_test(test_drag),
        cmocka_unit_test(test_friction_state), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

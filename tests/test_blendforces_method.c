// The method "blendforces": the control's own bits, its state, names, markers that lie and go, weights in their place,
// the head taken out of markers in the world, and flesh that takes its surface as the goal.
// labels: unit hash
#include "test_blendforces_tools.h"

#include "fascia/projective.h"
#include "math/mat3.h"
#include "test_face_tools.h"

typedef struct Way {
    const char *name;
    const char *set[4][2]; // parameters
    FaDriveOptions o;      // the same for the control
} Way;

static const Way ways[] = {
    {"bf", {{"head_frame", "on"}}, {.kind = FA_DRIVE_BF}},
    {"sbs refined",
     {{"solve", "sbs"}, {"jaw", "on"}, {"residual", "on"}, {"refine", "on"}},
     {.kind = FA_DRIVE_SBS, .refine = true}},
    {"rsbs", {{"solve", "rsbs"}}, {.kind = FA_DRIVE_RSBS, .no_jaw = true, .no_residual = true}},
    {"bf without filter", {{"solve", "bf"}, {"smooth", "0"}}, {.kind = FA_DRIVE_BF, .smooth = -1}},
    {"literal",
     {{"literal", "on"}, {"relinearise", "3"}},
     {.kind = FA_DRIVE_BF, .literal = true, .no_jaw = true, .no_residual = true, .relinearise = 3}},
};

static FaMethod *open_way(const Marked *s, const Way *way, bool world) {
    FaError err = {0};
    FaParams *p;
    FaMethod *m;
    CHECK_OK(fa_params_new("blendforces", &p, &err), &err);
    for (int i = 0; i < 4 && way->set[i][0]; i++)
        CHECK_OK(fa_params_set(p, way->set[i][0], way->set[i][1], &err), &err);
    CHECK_OK(fa_params_set(p, "head_frame", world ? "off" : "on", &err), &err);
    FaMethodSetup setup = {.rig = s->rig, .face = s->face, .params = p, .markers = s->map};
    CHECK_OK(fa_method_open("blendforces", &setup, &m, &err), &err);
    fa_params_free(p);
    return m;
}

static size_t bytes(const Marked *s) { return 3 * (size_t)s->rig->mesh.nvert * sizeof(float); }
static double time_of(int f) { return f / 60.0 + (f % 3 == 1 ? 0.004 : 0); } // not quite even

// A frame's markers, with what trackers do to them.
static void spoil(Marked *s, int f) {
    memset(s->ok, 1, (size_t)s->n);
    s->ok[3] = f != 4;
    if (f == 6) s->x[30] += 0.1f;
    if (f == 8) s->x[41] = NAN;
    if (f >= 10 && f < 13) memset(s->ok, 0, (size_t)s->n);
}

static void frame_of(Marked *s, int f) {
    marked_pose(s, 5 * f);
    marked_truth(s);
    spoil(s, f);
}

static void it_is_the_control(void **state) {
    (void)state;
    Marked s = marked_open(0, 60);
    FaError err = {0};
    float *weights = FA_NEW(s.rig->nshape, float);
    for (int w = 0; w < FA_COUNT(ways); w++) {
        FaMethod *m = open_way(&s, &ways[w], false);
        FaControl *c;
        CHECK_OK(fai_control_open(s.rig, s.face, s.map, &ways[w].o, NULL, &c, &err), &err);
        for (int f = 0; f < 18; f++) {
            frame_of(&s, f);
            FaMarkers markers = marked_markers(&s);
            FaInput in = {.time = time_of(f), .markers = &markers};
            FaStats stats;
            FaCode rc = fai_control_step(c, &markers, time_of(f), s.mesh, weights, NULL, &err);
            assert_int_equal(fa_method_step(m, &in, s.out, &stats, &err), rc);
            assert_int_equal(rc, f >= 10 && f < 13 ? FA_CLAMPED : FA_OK);
            assert_memory_equal(s.out, s.mesh, bytes(&s));
            FaInput next = fa_method_next(m, &in, s.out);
            assert_memory_equal(next.weights, weights, (size_t)s.rig->nshape * sizeof *weights);
            assert_ptr_equal(next.target, s.out);
            assert_null(next.markers);
            assert_int_equal(stats.clamped > 0, f && (f == 8 || (f >= 10 && f < 13)));
        }
        fai_control_free(c);
        fa_method_close(m);
    }
    fa_free(weights);
    marked_close(&s);
}

// Markers are found by their names, in whatever order, among others that the map does not know.
static void names_are_bound(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    FaError err = {0};
    enum { MORE = 5 };
    int n = s.n + MORE;
    const char **name = FA_NEW(n, const char *);
    float *x = FA_NEW(3 * (size_t)n, float);
    FaMethod *plain = open_way(&s, &ways[0], false), *mixed = open_way(&s, &ways[0], false);
    FaMethod *bare = open_way(&s, &ways[0], false);
    for (int f = 0; f < 4; f++) {
        marked_pose(&s, 9 * f);
        marked_truth(&s);
        for (int i = 0; i < n; i++) {
            int from = (7 * i + f) % n; // n and 7 have no common factor
            name[i] = from < s.n ? s.map->name[from] : "hat";
            for (int k = 0; k < 3; k++) x[3 * i + k] = from < s.n ? s.x[3 * from + k] : 5.0f;
        }
        FaMarkers a = marked_markers(&s), b = {.count = n, .name = name, .x = x}, c = {.count = s.n, .x = s.x};
        FaInput in = {.time = time_of(f), .markers = &a};
        CHECK_OK(fa_method_step(plain, &in, s.mesh, NULL, &err), &err);
        in.markers = &b;
        CHECK_OK(fa_method_step(mixed, &in, s.out, NULL, &err), &err);
        assert_memory_equal(s.out, s.mesh, bytes(&s));
        in.markers = &c;
        CHECK_OK(fa_method_step(bare, &in, s.out, NULL, &err), &err);
        assert_memory_equal(s.out, s.mesh, bytes(&s));
    }
    assert_true(n % 7 != 0);
    // nothing that the map knows is nothing at all
    FaMarkers hats = {.count = MORE, .name = (const char *[]){"a", "b", "c", "d", "e"}, .x = x};
    FaInput in = {.time = 10, .markers = &hats};
    FaStats stats;
    assert_int_equal(fa_method_step(mixed, &in, s.out, &stats, &err), FA_CLAMPED);
    assert_int_equal(stats.clamped, 1);
    fa_method_close(plain);
    fa_method_close(mixed);
    fa_method_close(bare);
    fa_free(name);
    fa_free(x);
    marked_close(&s);
}

// --- the head -----------------------------------------------------------------------------------------------------

static FaPose pose_of(int f) {
    double turn[3] = {0.3 * sin(0.1 * f), 0.5, 0.05 * f};
    FaPose pose = {.p = {0.2, 1.6 + 0.01 * f, -0.3}};
    fai_q_exp(turn, pose.q);
    return pose;
}

static void to_world(int n, const FaPose *pose, const float *from, float *to) {
    for (int i = 0; i < n; i++) {
        double x[3];
        fai_v3_load(from, i, x);
        fai_pose_apply(pose, x, x);
        for (int k = 0; k < 3; k++) to[3 * i + k] = (float)x[k];
    }
}

// The same take with the head held still, and with the head moving in the world.
static void the_head_is_taken_out(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaError err = {0};
    Take t = make_take(&s, "talk", 4, 60);
    FaMethod *still = open_way(&s, &ways[0], false), *moving = open_way(&s, &ways[0], true);
    size_t nv = (size_t)s.rig->mesh.nvert;
    double ms[2] = {0}, between = 0, worst = 0, turn = 0, shift = 0, truth[2] = {0};
    for (int f = 0; f < t.nframe; f++) {
        const float *x = t.take->x + 3 * (size_t)f * (size_t)s.n, *want = t.truth + 3 * nv * (size_t)f;
        FaMarkers m = {.count = s.n, .name = s.map->name, .x = x};
        FaInput in = {.time = f / 60.0, .markers = &m};
        FaStats stats;
        CHECK_OK(fa_method_step(still, &in, s.mesh, &stats, &err), &err);
        ms[0] += 1e3 * stats.seconds / t.nframe;
        FaPose pose = pose_of(f), back = fai_pose_inverse(&pose);
        to_world(s.n, &pose, x, s.x);
        m.x = s.x;
        CHECK_OK(fa_method_step(moving, &in, s.out, &stats, &err), &err);
        ms[1] += 1e3 * stats.seconds / t.nframe;
        FaPose found = fa_method_next(moving, &in, s.out).head, own = fa_rig_pose(s.rig, &found);
        FaPose off = fai_pose_mul(&back, &own);
        turn = fmax(turn, 2 * asin(fmin(sqrt(off.q[0] * off.q[0] + off.q[1] * off.q[1] + off.q[2] * off.q[2]), 1)));
        shift = fmax(shift, fai_v3_norm(off.p));
        for (size_t v = 0; v < nv; v++) {
            double d = head_distance(s.out + 3 * v, s.mesh + 3 * v);
            between += d / (double)(nv * (size_t)t.nframe);
            worst = fmax(worst, d);
            truth[0] += head_distance(s.mesh + 3 * v, want + 3 * v) / (double)(nv * (size_t)t.nframe);
            truth[1] += head_distance(s.out + 3 * v, want + 3 * v) / (double)(nv * (size_t)t.nframe);
        }
    }
    print_message(
        "head taken out live: surfaces %.4f mm apart (worst %.3f), pose off by %.4f degrees and %.3f mm at most; "
        "error %.4f mm with the head still, %.4f moving; %.2f and %.2f ms per frame\n",
        1e3 * between, 1e3 * worst, turn * 180 / M_PI, 1e3 * shift, 1e3 * truth[0], 1e3 * truth[1], ms[0], ms[1]);
    assert_true(between < 5e-5 && worst < 1e-3);
    assert_true(turn < 0.2 * M_PI / 180 && shift < 5e-4);
    assert_true(truth[1] < 1.6 * truth[0]);
    fa_method_close(still);
    fa_method_close(moving);
    free_take(&t);
    marked_close(&s);
}

// Too few markers to know the head by: not a guess but the neutral; once known, it is kept.
static void a_head_that_cannot_be_found(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    FaError err = {0};
    FaMethod *m = open_way(&s, &ways[0], true);
    FaMarkers markers = marked_markers(&s);
    FaInput in = {.markers = &markers};
    marked_pose(&s, 20);
    marked_truth(&s);
    FaPose pose = pose_of(7);
    to_world(s.n, &pose, s.x, s.x);
    memset(s.ok, 0, (size_t)s.n);
    s.ok[4] = s.ok[5] = 1;
    assert_int_equal(fa_method_step(m, &in, s.out, NULL, &err), FA_CLAMPED);
    assert_memory_equal(s.out, s.rig->mesh.x, bytes(&s));
    memset(s.ok, 1, (size_t)s.n);
    in.time = 0.1;
    CHECK_OK(fa_method_step(m, &in, s.out, NULL, &err), &err);
    FaPose found = fa_method_next(m, &in, s.out).head;
    memset(s.ok, 0, (size_t)s.n);
    in.time = 0.2;
    assert_int_equal(fa_method_step(m, &in, s.out, NULL, &err), FA_CLAMPED);
    FaPose kept = fa_method_next(m, &in, s.out).head;
    assert_memory_equal(&kept, &found, sizeof kept);
    // canonical: what the rig's axes are is divided out
    static const double z_up[9] = {1, 0, 0, 0, 0, 1, 0, -1, 0};
    FaPose own = fa_rig_pose(s.rig, &found);
    memcpy(s.rig->axes, z_up, sizeof z_up);
    FaPose turned = fa_method_next(m, &in, s.out).head, back = fa_rig_pose(s.rig, &turned);
    assert_true(fabs(fai_q_dot(turned.q, found.q)) < 0.8);
    CHECK_NEAR(fabs(fai_q_dot(back.q, own.q)), 1, 1e-12);
    for (int k = 0; k < 3; k++) CHECK_NEAR(back.p[k], own.p[k], 1e-12);
    fa_method_close(m);
    marked_close(&s);
}

// --- the state ----------------------------------------------------------------------------------------------------

enum { KINDS = FA_COUNT(ways) + 2, BY_WEIGHTS = FA_COUNT(ways), IN_WORLD };

static FaMethod *open_kind(const Marked *s, int kind) {
    return open_way(s, &ways[kind < FA_COUNT(ways) ? kind : 0], kind == IN_WORLD);
}

static FaCode step_kind(FaMethod *m, Marked *s, int kind, int f, int other) {
    FaError err = {0};
    frame_of(s, f + 37 * other);
    if (kind == IN_WORLD) {
        FaPose pose = pose_of(f + 11 * other);
        to_world(s->n, &pose, s->x, s->x);
    }
    FaMarkers markers = marked_markers(s);
    FaInput in = {.time = time_of(f), .markers = &markers};
    if (kind == BY_WEIGHTS) in = (FaInput){.time = time_of(f), .weights = s->w};
    FaCode rc = fa_method_step(m, &in, s->out, NULL, &err);
    if (rc < 0) fail_msg("%s", err.what);
    return rc;
}

static void a_state_goes_on(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    enum { AT = 9, END = 15 };
    float *want = fai_alloc_array(END, bytes(&s));
    uint64_t hash[END];
    for (int kind = 0; kind < KINDS; kind++) {
        FaMethod *m = open_kind(&s, kind), *n = open_kind(&s, kind);
        size_t size = fa_method_state_size(m);
        unsigned char *saved = FA_NEW(size, unsigned char);
        FaError err = {0};
        for (int f = 0; f < END; f++) {
            step_kind(m, &s, kind, f, 0);
            memcpy(want + (size_t)f * bytes(&s) / sizeof *want, s.out, bytes(&s));
            hash[f] = fa_method_hash(m);
            if (f == AT) fa_method_save(m, saved);
            if (f) assert_true(hash[f] != hash[f - 1]);
        }
        // into itself, and into another that has lived through something else
        for (int f = 0; f < 20; f++) step_kind(n, &s, kind, f, 1);
        FaMethod *both[] = {m, n};
        for (int i = 0; i < 2; i++) {
            CHECK_OK(fa_method_load(both[i], saved, size, &err), &err);
            assert_true(fa_method_hash(both[i]) == hash[AT]);
            for (int f = AT + 1; f < END; f++) {
                step_kind(both[i], &s, kind, f, 0);
                assert_memory_equal(s.out, want + (size_t)f * bytes(&s) / sizeof *want, bytes(&s));
                assert_true(fa_method_hash(both[i]) == hash[f]);
            }
        }
        assert_int_equal(fa_method_load(m, saved, size - 1, &err), FA_E_ARG);
        fa_free(saved);
        fa_method_close(m);
        fa_method_close(n);
    }
    fa_free(want);
    marked_close(&s);
}

static void nothing_is_allocated_in_a_step(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    for (int kind = 0; kind < KINDS; kind++) {
        FaMethod *m = open_kind(&s, kind);
        step_kind(m, &s, kind, 0, 0);
        for (int f = 1; f < 14; f++) {
            frame_of(&s, f); // the truth allocates: not in between
            FaMarkers markers = marked_markers(&s);
            FaPose pose = pose_of(f);
            if (kind == IN_WORLD) to_world(s.n, &pose, s.x, s.x);
            FaInput in = {.time = time_of(f), .markers = &markers};
            if (kind == BY_WEIGHTS) in = (FaInput){.time = time_of(f), .weights = s.w};
            test_fail_alloc(1);
            FaCode rc = fa_method_step(m, &in, s.out, NULL, NULL);
            bool any = test_alloc_failed();
            test_fail_alloc(0);
            assert_true(rc >= 0);
            assert_false(any);
        }
        fa_method_close(m);
    }
    marked_close(&s);
}

static void the_same_for_any_number_of_threads(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    int threads = fa_threads();
    for (int kind = 0; kind < KINDS; kind += kind ? 1 : BY_WEIGHTS) {
        uint64_t want = 0;
        for (int t = 1; t <= 7; t += 3) {
            fa_threads_set(t);
            FaMethod *m = open_kind(&s, kind);
            uint64_t hash = 0;
            for (int f = 0; f < 8; f++) {
                step_kind(m, &s, kind, f, 0);
                hash = fai_hash64(s.out, bytes(&s), hash);
            }
            if (t == 1) want = hash;
            assert_true(hash == want);
            fa_method_close(m);
        }
        print_message("%s: hash %016llx\n",
                      kind == BY_WEIGHTS ? "weights"
                      : kind == IN_WORLD ? "world"
                                         : "markers",
                      (unsigned long long)want); // the same for every compiler
    }
    fa_threads_set(threads);
    marked_close(&s);
}

// --- what drives --------------------------------------------------------------------------------------------------

static void weights_drive_where_there_are_no_markers(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    FaError err = {0};
    FaMethod *m = open_way(&s, &ways[0], true);
    FaPose lean = pose_of(3);
    s.w[marked_shape(&s, "mouthSmileLeft")] = 0.8f;
    s.w[marked_shape(&s, "browInnerUp")] = 0.5f;
    s.w[marked_shape(&s, "jawOpen")] = 0.4f;
    marked_blend(&s);
    FaInput in = {.time = 1, .weights = s.w, .head = lean};
    CHECK_OK(fa_method_reset(m, &in, s.out, &err), &err);
    FaInput next = fa_method_next(m, &in, s.out);
    assert_ptr_equal(next.weights, s.w);
    assert_memory_equal(&next.head, &lean, sizeof lean);
    // at rest, near the shapes
    double near = marked_error(&s), moved = 0, drift = 0;
    float *rest = FA_NEW(3 * (size_t)s.rig->mesh.nvert, float);
    memcpy(rest, s.out, bytes(&s));
    for (int f = 1; f < 30; f++) {
        in.time = 1 + f / 60.0;
        CHECK_OK(fa_method_step(m, &in, s.out, NULL, &err), &err);
        for (int i = 0; i < 3 * s.rig->mesh.nvert; i++) drift = fmax(drift, fabs((double)s.out[i] - (double)rest[i]));
    }
    for (int v = 0; v < s.rig->mesh.nvert; v++)
        moved = fmax(moved, head_distance(s.out + 3 * v, s.rig->mesh.x + 3 * v));
    print_message("weights: %.3f mm from the shapes on average, %.1f mm moved, %.1e m of drift at rest\n", 1e3 * near,
                  1e3 * moved, drift);
    assert_true(moved > 8e-3 && near < 5e-4 && drift < 2e-7);
    // one that is not a number is the last that was
    FaStats stats;
    uint64_t before = fa_method_hash(m);
    float keep = s.w[2];
    s.w[2] = NAN;
    in.time += 0.1;
    CHECK_OK(fa_method_step(m, &in, s.out, &stats, &err), &err);
    s.w[2] = keep;
    assert_int_equal(stats.clamped, 1);
    for (int i = 0; i < 3 * s.rig->mesh.nvert; i++) CHECK_NEAR(s.out[i], rest[i], 1e-6);
    // backwards: refused, and nothing changed
    assert_true(fa_method_hash(m) != before);
    before = fa_method_hash(m);
    in.time -= 0.2;
    assert_int_equal(fa_method_step(m, &in, s.out, NULL, &err), FA_E_ARG);
    assert_true(fa_method_hash(m) == before);
    // neither: it eases off, without a jump
    double last = moved, start = in.time + 0.2;
    for (int f = 0; f < 90; f++) {
        in = (FaInput){.time = start + (f + 1) / 60.0};
        assert_int_equal(fa_method_step(m, &in, s.out, NULL, &err), FA_CLAMPED);
        double now = 0;
        for (int v = 0; v < s.rig->mesh.nvert; v++)
            now = fmax(now, head_distance(s.out + 3 * v, s.rig->mesh.x + 3 * v));
        assert_true(f == 0 || (now < last && now > 0.9 * last));
        last = now;
    }
    assert_true(last < 0.05 * moved);
    fa_free(rest);
    fa_method_close(m);
    marked_close(&s);
}

// A first frame of markers comes from the neutral; what then still settles is little.
static void a_first_frame_is_nearly_at_rest(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaError err = {0};
    FaMethod *m = open_way(&s, &ways[0], false);
    double drift = 0;
    marked_pose(&s, 20);
    marked_truth(&s);
    FaMarkers markers = marked_markers(&s);
    FaInput in = {.markers = &markers};
    CHECK_OK(fa_method_reset(m, &in, s.mesh, &err), &err);
    for (int f = 1; f < 60; f++) {
        in.time = f / 60.0;
        CHECK_OK(fa_method_step(m, &in, s.out, NULL, &err), &err);
    }
    for (int v = 0; v < s.rig->mesh.nvert; v++) drift = fmax(drift, head_distance(s.out + 3 * v, s.mesh + 3 * v));
    print_message("a first frame of markers: up to %.3f mm from where it settles, %.4f on average\n", 1e3 * drift,
                  1e3 * marked_error(&s));
    assert_true(drift < 1e-3);
    fa_method_close(m);
    marked_close(&s);
}

// Without a map the markers are those that fa_markers_choose places; the setup of another method refuses a map.
static void maps_are_part_of_the_setup(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaError err = {0};
    FaMethod *m, *own;
    FaParams *p;
    CHECK_OK(fa_params_new("blendforces", &p, &err), &err);
    CHECK_OK(fa_params_set(p, "head_frame", "on", &err), &err);
    CHECK_OK(fa_method_open("blendforces", &(FaMethodSetup){.rig = s.rig, .face = s.face, .params = p}, &own, &err),
             &err);
    CHECK_OK(fa_marker_map_save(s.map, test_path("map.json"), &err), &err);
    CHECK_OK(fa_params_set(p, "map", test_path("map.json"), &err), &err);
    CHECK_OK(fa_method_open("blendforces", &(FaMethodSetup){.rig = s.rig, .face = s.face, .params = p}, &m, &err),
             &err);
    frame_of(&s, 3);
    FaMarkers markers = marked_markers(&s);
    FaInput in = {.markers = &markers};
    CHECK_OK(fa_method_step(own, &in, s.out, NULL, &err), &err);
    CHECK_OK(fa_method_step(m, &in, s.mesh, NULL, &err), &err);
    assert_memory_equal(s.out, s.mesh, bytes(&s));
    assert_memory_not_equal(s.out, s.rig->mesh.x, bytes(&s));
    fa_method_close(m);
    fa_method_close(own);
    fa_params_free(p);
    assert_int_equal(fa_method_open("linear", &(FaMethodSetup){.rig = s.rig, .markers = s.map}, &m, &err), FA_E_ARG);
    assert_string_equal(err.place, "markers");
    assert_null(m);
    marked_close(&s);
}

// A tracker's names bound to the rig: by vertex, and by nearness wherever the head was.
static void a_tracker_is_bound(void **state) {
    (void)state;
    Marked s = marked_open(0, 60);
    FaError err = {0};
    memcpy(s.mesh, s.rig->mesh.x, bytes(&s));
    marked_read(&s);
    FaMarkers m = marked_markers(&s);
    FaMarkerMap *map;
    CHECK_OK(fa_marker_map_bind(&m, s.rig, NULL, &map, &err), &err);
    assert_int_equal(map->mapped, s.n);
    for (int i = 0; i < s.n; i++) assert_int_equal(map->point[i].vert[0], s.map->point[i].vert[0]);
    fa_marker_map_free(map);
    char text[64][8];
    const char *name[64];
    for (int i = 0; i < s.n; i++) {
        snprintf(text[i], sizeof text[i], "m%d", i);
        name[i] = text[i];
    }
    FaPose pose = pose_of(5);
    to_world(s.n, &pose, s.x, s.x);
    s.ok[9] = 0;
    m.name = name;
    CHECK_OK(fa_marker_map_bind(&m, s.rig, NULL, &map, &err), &err);
    assert_int_equal(map->mapped, s.n - 1);
    assert_int_equal(map->point[9].vert[0], -1);
    double worst = 0;
    for (int i = 0; i < s.n; i++) {
        double x[3], want[3];
        if (i == 9) continue;
        fa_marker_point_at(&map->point[i], s.rig->mesh.x, true, x);
        fa_marker_point_at(&s.map->point[i], s.rig->mesh.x, true, want);
        fai_v3_sub(x, want, x);
        worst = fmax(worst, fai_v3_norm(x));
    }
    print_message("bound by nearness: within %.4f mm\n", 1e3 * worst);
    assert_true(worst < 5e-4);
    fa_marker_map_free(map);
    m.name = NULL;
    assert_int_equal(fa_marker_map_bind(&m, s.rig, NULL, &map, &err), FA_E_ARG);
    assert_null(map);
    marked_close(&s);
}

static void memory_may_run_out(void **state) {
    (void)state;
    Marked s = marked_open(0, 20);
    for (long k = 1, done = 0; !done; k += 1 + k / 5) {
        FaMethod *m;
        FaError err = {0};
        FaMethodSetup setup = {.rig = s.rig, .face = s.face, .markers = s.map};
        long before = test_alloc_balance();
        test_fail_alloc(k);
        FaCode rc = fa_method_open("blendforces", &setup, &m, &err);
        done = !test_alloc_failed();
        if (rc < 0) assert_int_equal(rc, FA_E_MEMORY);
        if (rc < 0) assert_null(m);
        fa_method_close(m);
        assert_int_equal(test_alloc_balance(), before);
        test_fail_alloc(0);
    }
    marked_close(&s);
}

// --- flesh --------------------------------------------------------------------------------------------------------

// Markers in the world to lips that do not cross: the head's pose goes along.
static void flesh_takes_the_surface(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaError err = {0};
    FaMethod *control = open_way(&s, &ways[0], true), *flesh;
    FaParams *p;
    CHECK_OK(fa_params_new("projective", &p, &err), &err);
    CHECK_OK(fa_projective_contact(p, &err), &err);
    CHECK_OK(fa_method_open("projective", &(FaMethodSetup){.rig = s.rig, .face = s.face, .params = p}, &flesh, &err),
             &err);
    int crossed[2] = {0}, limited = 0;
    double far = 0;
    assert_int_equal(lip_crossings(s.face, &s.rig->mesh, s.rig->mesh.x), 0);
    for (int f = 0; f < 40; f++) {
        FaPose pose = pose_of(f);
        // lips that would close on an open jaw go through each other on a closed one
        s.w[marked_shape(&s, "mouthClose")] = (float)(0.06 * (1 - cos(0.15 * f)));
        marked_blend(&s);
        to_world(s.n, &pose, s.x, s.x);
        FaMarkers m = marked_markers(&s);
        FaInput in = {.time = f / 60.0, .markers = &m};
        CHECK_OK(fa_method_step(control, &in, s.mesh, NULL, &err), &err);
        FaInput then = fa_method_next(control, &in, s.mesh);
        CHECK_NEAR(then.head.p[1], pose.p[1], 2e-3);
        FaStats stats = {0};
        CHECK_OK(fa_method_step(flesh, &then, s.out, &stats, &err), &err);
        limited += stats.limited > 0;
        const float *x[] = {s.mesh, s.out};
        for (int i = 0; i < 2; i++) {
            int count = lip_crossings(s.face, &s.rig->mesh, x[i]);
            crossed[i] = FA_MAX(crossed[i], count);
        }
        far = fmax(far, marked_error(&s));
    }
    print_message("lips closed on a shut jaw: %d pairs cross in the control's worst frame, %d in the flesh's; %.3f mm "
                  "between them at most; %d frames limited\n",
                  crossed[0], crossed[1], 1e3 * far, limited);
    assert_true(crossed[0] > 0); // or there is nothing to keep apart
    assert_int_equal(crossed[1], 0);
    assert_int_equal(limited, 0); // goals this firm squeezed the lips centimetres out where they are kept apart
    assert_true(far < 0.3e-3);
    fa_params_free(p);
    fa_method_close(flesh);
    fa_method_close(control);
    marked_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_control),
        cmocka_unit_test(names_are_bound),
        cmocka_unit_test(the_head_is_taken_out),
        cmocka_unit_test(a_head_that_cannot_be_found),
        cmocka_unit_test(a_state_goes_on),
        cmocka_unit_test(nothing_is_allocated_in_a_step),
        cmocka_unit_test(the_same_for_any_number_of_threads),
        cmocka_unit_test(weights_drive_where_there_are_no_markers),
        cmocka_unit_test(a_first_frame_is_nearly_at_rest),
        cmocka_unit_test(maps_are_part_of_the_setup),
        cmocka_unit_test(a_tracker_is_bound),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(flesh_takes_the_surface),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// A take driven: dense error against the truth beside every baseline, the head found, markers lost, doubted, absent;
// going back.
// labels: heavy
#include "test_blendforces_tools.h"

#include "math/mat3.h"
#include "rig/transfer.h"

// Mean distance on the simulated vertices without a marker that some shape moves, m.
static double dense_error(const Marked *s, const Take *t, FaDrive *d) {
    FaError err = {0};
    int nv = s->rig->mesh.nvert;
    unsigned char *use = FA_NEW(nv, unsigned char);
    for (int e = 0; e < s->rig->nentry; e++) {
        const float zero[3] = {0};
        if (head_distance(s->rig->delta + 3 * e, zero) > 1e-4 && s->face->node_of_vertex[s->rig->row[e]] >= 0)
            use[s->rig->row[e]] = 1;
    }
    for (int i = 0; i < s->n; i++) use[s->map->point[i].vert[0]] = 0;
    double sum = 0;
    long count = 0;
    for (int f = 0; f < t->nframe; f++) {
        CHECK_OK(fa_sequence_read(fa_drive_sequence(d), f, s->out, &err), &err);
        for (int v = 0; v < nv; v++) {
            if (!use[v]) continue;
            sum += head_distance(s->out + 3 * v, t->truth + 3 * ((size_t)f * (size_t)nv + (size_t)v));
            count++;
        }
    }
    fa_free(use);
    return sum / (double)count;
}

static FaDrive *open_drive(const FaRig *rig, const Marked *s, const FaMarkerTake *take, FaDriveOptions o) {
    FaDrive *d;
    FaError err = {0};
    CHECK_OK(fa_drive_open(rig, s->face, take, s->map, &o, &d, &err), &err);
    return d;
}

// With the head's own shapes, and with those of somebody else moved over.
static void auto_is_better_than_shapes(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaError err = {0};
    FaHead *other = head_at(0, 11, true);
    FaRig *theirs, *moved;
    CHECK_OK(fa_head_rig(other, 0, &theirs, &err), &err);
    CHECK_OK(fai_transfer(theirs, &s.rig->mesh, NULL, &moved, NULL, &err), &err);
    static const char *const clips[] = {"talk", "press"};
    static const struct {
        const char *name;
        FaDriveOptions o;
    } way[] = {{"sbs", {.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true, .head_frame = true}},
               {"sbs+res", {.kind = FA_DRIVE_SBS, .no_jaw = true, .head_frame = true}},
               {"sbs jaw+res", {.kind = FA_DRIVE_SBS, .head_frame = true}},
               {"auto", {.kind = FA_DRIVE_AUTO, .head_frame = true}}};
    for (int c = 0; c < 2; c++) {
        Take t = make_take(&s, clips[c], 2, 150);
        for (int shapes = 0; shapes < 2; shapes++) {
            if (shapes == c && !getenv("FASCIA_FULL")) continue; // each clip and each set of shapes once
            double e[FA_COUNT(way)];
            for (int w = 0; w < FA_COUNT(way); w++) {
                FaDrive *d = open_drive(shapes ? moved : s.rig, &s, t.take, way[w].o);
                e[w] = dense_error(&s, &t, d);
                print_message("%s, %s shapes, %s: %.4f mm, %.2f of sbs; %s\n", clips[c], shapes ? "moved" : "own",
                              way[w].name, 1e3 * e[w], e[w] / e[0], fa_drive_report(d).why);
                fa_drive_close(d);
            }
            assert_true(e[3] < 0.65 * e[0]);
            assert_true(e[3] < e[1] && e[3] < e[2]);
        }
        free_take(&t);
    }
    fa_rig_free(moved);
    fa_rig_free(theirs);
    fa_head_free(other);
    marked_close(&s);
}

static void noise_does_not_make_it_worse(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    Take t = make_take(&s, "talk", 2, 120);
    for (int i = 0; i < 3 * t.nframe * s.n; i++) t.take->x[i] += (float)(3e-4 * fai_random_normal(4, (uint64_t)i));
    FaDriveOptions shapes = {.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true, .head_frame = true};
    FaDrive *d = open_drive(s.rig, &s, t.take, shapes);
    double plain = dense_error(&s, &t, d);
    fa_drive_close(d);
    d = open_drive(s.rig, &s, t.take, (FaDriveOptions){.head_frame = true});
    double ours = dense_error(&s, &t, d);
    print_message("markers with 0.3 mm of noise: sbs %.3f mm, auto %.3f mm\n", 1e3 * plain, 1e3 * ours);
    assert_true(ours < 0.8 * plain);
    // the markers that it solved are smoother than those given, and nearer to the truth
    double given = 0, used = 0;
    for (int i = 0; i < 3 * t.nframe * s.n; i++) {
        double noise = 3e-4 * fai_random_normal(4, (uint64_t)i),
               off = (double)fa_drive_markers(d)->x[i] - ((double)t.take->x[i] - noise);
        given += noise * noise;
        used += off * off;
    }
    print_message("markers smoothed: %.2f of their noise is left\n", sqrt(used / given));
    assert_true(used < 0.6 * given);
    fa_drive_close(d);
    free_take(&t);
    marked_close(&s);
}

// The filter's width is the take's: none for clean markers however fast they move, some where there is noise; what is
// given wins.
static void the_filter_follows_the_noise(void **state) {
    (void)state;
    static const double noise[] = {0, 1e-5, 1e-4, 3e-4};
    Marked s = marked_open(0, 80);
    double last = 0;
    for (int k = 0; k < FA_COUNT(noise); k++) {
        Take t = make_take(&s, "press", 2, 60);
        for (int i = 0; i < 3 * t.nframe * s.n; i++)
            t.take->x[i] += (float)(noise[k] * fai_random_normal(4, (uint64_t)i));
        for (int i = 30 * s.n + 5; i <= 31 * s.n + 5; i += s.n) {
            t.take->ok[i] = 0;
            for (int c = 0; c < 3; c++) t.take->x[3 * i + c] = NAN;
        }
        FaDrive *d = open_drive(s.rig, &s, t.take, (FaDriveOptions){.kind = FA_DRIVE_SBS, .head_frame = true});
        double now = fa_drive_report(d).smooth;
        print_message("noise %.2f mm: filter of %.2f frames\n", 1e3 * noise[k], now);
        assert_true(now >= last);
        if (k == 0) CHECK_NEAR(now, 0, 1e-9);
        last = now;
        fa_drive_close(d);
        d = open_drive(s.rig, &s, t.take,
                       (FaDriveOptions){.kind = FA_DRIVE_SBS, .head_frame = true, .smooth = k == 1 ? -1 : 2});
        CHECK_NEAR(fa_drive_report(d).smooth, k == 1 ? 0 : 2, 1e-9);
        fa_drive_close(d);
        free_take(&t);
    }
    assert_true(last > 0.7);
    marked_close(&s);
}

// The same take in the world, turned and shifted: the head's motion is found, the face is the same.
static void the_head_is_found(void **state) {
    (void)state;
    Marked s = marked_open(0, 80);
    FaError err = {0};
    Take t = make_take(&s, "talk", 4, 60);
    FaDriveOptions o = {.kind = FA_DRIVE_SBS};
    FaMarkerTake *world;
    CHECK_OK(fa_markers_new(t.nframe, s.n, s.map->name, 60, &world, &err), &err);
    for (int f = 0; f < t.nframe; f++) {
        double turn[3] = {0.3 * sin(0.1 * f), 0.5, 0.05 * f};
        FaPose pose = {.p = {0.2, 1.6 + 0.01 * f, -0.3}};
        fai_q_exp(turn, pose.q);
        for (int i = 0; i < s.n; i++) {
            double x[3];
            fai_v3_load(t.take->x, f * s.n + i, x);
            fai_pose_apply(&pose, x, x);
            for (int k = 0; k < 3; k++) world->x[3 * (f * s.n + i) + k] = (float)x[k];
            world->ok[f * s.n + i] = 1;
        }
    }
    FaDrive *d = open_drive(s.rig, &s, world, o);
    const FaClip *clip = fa_drive_clip(d);
    assert_non_null(clip->head);
    assert_int_equal(clip->nframe, t.nframe);
    double worst = 0;
    for (int f = 0; f < t.nframe; f++)
        for (int i = 0; i < s.n; i++) {
            const float *a = fa_drive_markers(d)->x + 3 * (f * s.n + i), *b = t.take->x + 3 * (f * s.n + i);
            double x[3], y[3];
            worst = fmax(worst, head_distance(a, b));
            fai_v3_load(fa_drive_markers(d)->x, f * s.n + i, x);
            fai_m3_mulv(s.rig->axes, x, x);
            fai_pose_apply(&clip->head[f], x, y); // world = head(axes x)
            for (int k = 0; k < 3; k++) CHECK_NEAR(y[k], world->x[3 * (f * s.n + i) + k], 1e-5);
        }
    print_message("head found: markers within %.3f mm of where they are on it\n", 1e3 * worst);
    assert_true(worst < 5e-4);
    assert_true(dense_error(&s, &t, d) < 1.5e-4);
    FaDrive *given = open_drive(s.rig, &s, t.take, (FaDriveOptions){.kind = FA_DRIVE_SBS, .head_frame = true});
    double e[2] = {1e3 * dense_error(&s, &t, given), 1e3 * dense_error(&s, &t, d)};
    print_message("dense error with the head's pose given %.4f mm, found %.4f mm\n", e[0], e[1]);
    assert_true(e[1] < 1.6 * e[0]);
    fa_drive_close(given);
    fa_drive_close(d);
    fa_markers_free(world);
    free_take(&t);
    marked_close(&s);
}

static void markers_are_lost_and_doubted(void **state) {
    (void)state;
    Marked s = marked_open(0, 60);
    Take t = make_take(&s, "talk", 3, 60);
    for (int f = 0; f < t.nframe; f++)
        for (int i = 0; i < s.n; i++) {
            size_t at = (size_t)(f * s.n + i);
            if ((f >= 20 && f < 26) || i == 5 || (i + f) % 7 == 0) {
                t.take->ok[at] = 0;
                for (size_t k = 0; k < 3; k++) t.take->x[3 * at + k] = NAN;
            }
            if (i == 11 && f > 40) t.take->x[3 * at] += 0.04f;
        }
    FaDrive *d = open_drive(s.rig, &s, t.take, (FaDriveOptions){.kind = FA_DRIVE_BF, .head_frame = true});
    FaDriveReport r = fa_drive_report(d);
    assert_int_equal(r.lost, 6);
    assert_int_equal(r.nmarker, s.n);
    assert_true(r.missing > t.nframe * s.n / 8);
    assert_true(r.frame_before_mm[22] == 0 && r.frame_before_mm[10] > 0);
    assert_non_null(fai_note_find(fa_drive_notes(d), "frames-without-markers"));
    const FaNote *doubt = fai_note_find(fa_drive_notes(d), "marker-doubted");
    assert_non_null(doubt);
    assert_non_null(strstr(doubt->where, s.map->name[11]));
    assert_true(dense_error(&s, &t, d) < 2e-3);
    // any order, the same bits
    FaError err = {0};
    int nv = 3 * s.rig->mesh.nvert;
    static const int order[] = {30, 31, 7, 59, 30};
    uint64_t first = 0;
    for (int i = 0; i < FA_COUNT(order); i++) {
        CHECK_OK(fa_sequence_read(fa_drive_sequence(d), order[i], s.out, &err), &err);
        uint64_t hash = fai_hash64(s.out, (size_t)nv * sizeof(float), 0);
        if (i == 0) first = hash;
        if (order[i] == 30) assert_true(hash == first);
    }
    print_message("a frame of a take: hash %016llx\n", (unsigned long long)first); // the same for every compiler
    fa_drive_close(d);
    free_take(&t);
    marked_close(&s);
}

static void replay_is_what_was_solved(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    FaError err = {0};
    Take t = make_take(&s, "press", 6, 40);
    for (int literal = 0; literal < 2; literal++) {
        // the jaw of a take is learnt, a live one is the rig's: without it both are the same
        FaDriveOptions o = {.kind = FA_DRIVE_BF,
                            .literal = literal,
                            .no_jaw = true,
                            .no_residual = true,
                            .head_frame = true,
                            .fps = 60};
        FaDrive *d = open_drive(s.rig, &s, t.take, o);
        FaControl *c;
        CHECK_OK(fai_control_open(s.rig, s.face, s.map, &o, NULL, &c, &err), &err);
        for (int f = 0; f < t.nframe; f++) {
            FaMarkers m = {
                .count = s.n, .name = t.take->name, .x = t.take->x + 3 * f * s.n, .ok = t.take->ok + f * s.n};
            CHECK_OK(fai_control_step(c, &m, t.take->time[f], s.mesh, NULL, NULL, &err), &err);
            CHECK_OK(fa_sequence_read(fa_drive_sequence(d), f, s.out, &err), &err);
            assert_memory_equal(s.mesh, s.out, 3 * (size_t)s.rig->mesh.nvert * sizeof(float));
        }
        fai_control_free(c);
        fa_drive_close(d);
    }
    free_take(&t);
    marked_close(&s);
}

static bool stop_soon(void *user, const char *stage, double done) {
    (void)stage;
    ++*(int *)user;
    return done < 0.3;
}

static void bad_takes_are_refused(void **state) {
    (void)state;
    Marked s = marked_open(0, 40);
    FaError err = {0};
    Take t = make_take(&s, "press", 10, 10);
    FaDrive *d;
    FaDriveOptions o = {.kind = FA_DRIVE_SBS, .no_residual = true, .head_frame = true};
    // cancelled
    int calls = 0;
    FaDriveOptions p = o;
    p.progress = stop_soon;
    p.progress_user = &calls;
    assert_int_equal(fa_drive_open(s.rig, s.face, t.take, s.map, &p, &d, &err), FA_E_CANCELLED);
    assert_null(d);
    assert_in_range(calls, 1, 5);
    // none of the names
    FaMarkerTake *none;
    static const char *const names[] = {"a", "b"};
    err = (FaError){0};
    CHECK_OK(fa_markers_new(3, 2, names, 60, &none, &err), &err);
    assert_int_equal(fa_drive_open(s.rig, s.face, none, s.map, &o, &d, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "map"));
    fa_markers_free(none);
    // nothing seen
    memset(t.take->ok, 0, (size_t)(t.nframe * s.n));
    for (int i = 0; i < 3 * t.nframe * s.n; i++) t.take->x[i] = NAN;
    err = (FaError){0};
    assert_int_equal(fa_drive_open(s.rig, s.face, t.take, s.map, &o, &d, &err), FA_E_FORMAT);
    o.head_frame = false;
    err = (FaError){0};
    assert_true(fa_drive_open(s.rig, s.face, t.take, s.map, &o, &d, &err) < 0);
    free_take(&t);
    marked_close(&s);
}

static void speed(void **state) {
    (void)state;
    Marked s = marked_open(1, 80);
    FaError err = {0};
    static const struct {
        const char *name;
        FaDriveOptions o;
    } way[] = {{"sbs", {.kind = FA_DRIVE_SBS, .no_jaw = true, .no_residual = true}},
               {"shapes of auto", {.kind = FA_DRIVE_SBS, .refine = true}},
               {"bf", {.kind = FA_DRIVE_BF}},
               {"bf literal", {.kind = FA_DRIVE_BF, .literal = true}}};
    for (int w = 0; w < FA_COUNT(way); w++) {
        FaControl *c;
        double best = 1, sum = 0;
        CHECK_OK(fai_control_open(s.rig, s.face, s.map, &way[w].o, NULL, &c, &err), &err);
        for (int f = 0; f < 60; f++) {
            FaControlFit fit;
            marked_pose(&s, f);
            marked_blend(&s);
            FaMarkers m = marked_markers(&s);
            CHECK_OK(fai_control_step(c, &m, f / 60.0, s.out, NULL, &fit, &err), &err);
            if (f > 4) best = fmin(best, fit.seconds), sum += fit.seconds / 55;
        }
        print_message("%s: %.2f ms per frame at best, %.2f on average (%d skin nodes, %d markers)\n", way[w].name,
                      1e3 * best, 1e3 * sum, s.face->nskin, s.n);
        fai_control_free(c);
    }
    marked_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_better_than_shapes),   cmocka_unit_test(noise_does_not_make_it_worse),
        cmocka_unit_test(the_filter_follows_the_noise), cmocka_unit_test(the_head_is_found),
        cmocka_unit_test(markers_are_lost_and_doubted), cmocka_unit_test(replay_is_what_was_solved),
        cmocka_unit_test(bad_takes_are_refused),        cmocka_unit_test(speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

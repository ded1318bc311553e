// Shapes moved to another face: nothing changes on the same face, everything turns and scales with it, and other
// identities get nearly the shapes that the head itself would give them.
// labels: heavy
#include "test_head_tools.h"

#include "math/mat3.h"
#include "rig/transfer.h"

static FaRig *rig_of(int level, uint64_t seed) {
    FaError err = {0};
    FaHead *head = head_at(level, seed, true);
    FaRig *rig;
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    return rig;
}

static FaRig *transfer(const FaRig *source, const FaMesh *target, const FaTransferOptions *o, FaTransferReport *rep) {
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fai_transfer(source, target, o, &rig, rep, &err), &err);
    CHECK_OK(fa_rig_check(rig, &err), &err);
    assert_int_equal(rig->nshape, source->nshape);
    for (int s = 0; s < rig->nshape; s++) {
        assert_string_equal(rig->shape[s].name, source->shape[s].name);
        assert_int_equal(rig->shape[s].arkit, source->shape[s].arkit);
    }
    assert_int_equal(rig->mesh.nvert, target->nvert);
    assert_memory_equal(rig->mesh.x, target->x, 12 * (size_t)target->nvert);
    return rig;
}

static void dense(const FaRig *r, int s, float *d) {
    memset(d, 0, 12 * (size_t)r->mesh.nvert);
    for (int i = r->shape[s].first; i < r->shape[s].first + r->shape[s].count; i++)
        memcpy(d + 3 * (size_t)r->row[i], r->delta + 3 * (size_t)i, 12);
}

typedef struct Error {
    double share, worst; // root mean square over all shapes, of that of the expected; m
} Error;

// Of got against want, whose deltas are first turned and scaled (NULL: not).
static Error compare(const FaRig *got, const FaRig *want, const double turn[9], double scale) {
    int n = got->mesh.nvert;
    float *a = FA_NEW(6 * (size_t)n, float), *b = a + 3 * (size_t)n;
    double sum = 0, size = 0;
    Error e = {0};
    for (int s = 0; s < got->nshape; s++) {
        dense(got, s, a);
        dense(want, s, b);
        for (int v = 0; v < n; v++) {
            double p[3], q[3];
            fai_v3_load(a, v, p);
            fai_v3_load(b, v, q);
            if (turn) fai_m3_mulv(turn, q, q);
            fai_v3_scale(scale, q, q);
            size += fai_v3_dot(q, q);
            fai_v3_sub(p, q, p);
            sum += fai_v3_dot(p, p);
            e.worst = fmax(e.worst, fai_v3_norm(p));
        }
    }
    e.share = sqrt(sum / size);
    fa_free(a);
    return e;
}

static FaMesh moved(const FaMesh *mesh, const double turn[9], double scale, FaArena *arena) {
    FaMesh m = *mesh;
    m.x = FA_PUSH(arena, 3 * (size_t)m.nvert, float);
    for (int v = 0; v < m.nvert; v++) {
        double p[3];
        fai_v3_load(mesh->x, v, p);
        fai_m3_mulv(turn, p, p);
        for (int k = 0; k < 3; k++) m.x[3 * v + k] = (float)(scale * p[k] + 0.3 * k);
    }
    return m;
}

static void the_same_face_keeps_its_shapes(void **state) {
    (void)state;
    FaRig *rig = rig_of(0, 2);
    FaTransferReport rep;
    uint64_t before = fai_hash64(rig->delta, 12 * (size_t)rig->nentry, 0);
    FaRig *got = transfer(rig, &rig->mesh, NULL, &rep);
    Error e = compare(got, rig, NULL, 1);
    print_message("itself: %.1e of the shapes, worst %.1e m, %d vertices fixed\n", e.share, e.worst, rep.fixed);
    assert_true(rep.same_topology && rep.fixed > 100);
    assert_true(e.share < 1e-6 && e.worst < 3e-7); // worst: below what is left out of the rig
    CHECK_NEAR(rep.scale, 1, 1e-12);
    CHECK_NEAR(rep.turn, 0, 1e-12);
    assert_true(got->nentry > 0.9 * rig->nentry && got->nentry < 1.1 * rig->nentry);
    assert_true(before == fai_hash64(rig->delta, 12 * (size_t)rig->nentry, 0));
    fa_rig_free(got);
    fa_rig_free(rig);
}

static void turned_and_scaled(void **state) {
    (void)state;
    FaRig *rig = rig_of(0, 0);
    FaArena *arena = fai_arena_new(0);
    double q[4], turn[9], axis[3] = {0.7, -1.9, 0.4};
    fai_q_exp(axis, q);
    fai_q_to_m3(q, turn);
    FaMesh target = moved(&rig->mesh, turn, 1.7, arena);
    FaTransferReport rep;
    FaRig *got = transfer(rig, &target, NULL, &rep);
    Error e = compare(got, rig, turn, 1.7);
    print_message("turned by %.2f rad, scaled by %.2f: %.1e of the shapes\n", rep.turn, rep.scale, e.share);
    CHECK_NEAR(rep.scale, 1.7, 1e-6);
    CHECK_NEAR(rep.turn, fai_v3_norm(axis), 1e-6);
    assert_true(e.share < 1e-5);
    fa_rig_free(got);
    fa_rig_free(rig);
    fai_arena_free(arena);
}

static void other_identities(void **state) {
    (void)state;
    FaRig *rig[3];
    for (int i = 0; i < 3; i++) rig[i] = rig_of(0, i == 2 ? 7 : (uint64_t)i);
    for (int i = 0; i < 3; i++) {
        const FaRig *to = rig[(i + 1) % 3];
        FaTransferReport rep;
        FaRig *got = transfer(rig[i], &to->mesh, NULL, &rep);
        assert_true(rep.same_topology);
        Error e = compare(got, to, NULL, 1), plain = compare(rig[i], to, NULL, 1);
        print_message("identity %d to %d: %.2f %% of the shapes, worst %.2f mm (deltas copied: %.2f %%, %.2f mm)\n", i,
                      (i + 1) % 3, 100 * e.share, 1e3 * e.worst, 100 * plain.share, 1e3 * plain.worst);
        assert_true(e.share < 0.065 && e.worst < 0.005);
        fa_rig_free(got);
    }
    for (int i = 0; i < 3; i++) fa_rig_free(rig[i]);
}

enum { PAIRS = 40 };

// Vertices at lips, lids and brows: of the coarse mesh, and the nearest of the fine one, at the same identity.
static void find_pairs(const FaRig *coarse, const FaRig *fine, int *from, int *to) {
    float *move = FA_NEW(3 * (size_t)coarse->mesh.nvert, float), zero[3] = {0};
    int *moved_by = FA_NEW(coarse->mesh.nvert, int), count = 0, n = 0;
    static const char *const names[] = {"mouthPucker",  "mouthRollUpper", "mouthRollLower",
                                        "eyeBlinkLeft", "eyeBlinkRight",  "browInnerUp"};
    for (int s = 0; s < coarse->nshape; s++)
        for (int k = 0; k < FA_COUNT(names); k++) {
            if (strcmp(coarse->shape[s].name, names[k])) continue;
            dense(coarse, s, move);
            for (int v = 0; v < coarse->mesh.nvert; v++) moved_by[v] |= head_distance(move + 3 * v, zero) > 0.0035;
        }
    for (int v = 0; v < coarse->mesh.nvert; v++) count += moved_by[v];
    assert_true(count >= PAIRS);
    for (int v = 0, seen = 0; v < coarse->mesh.nvert && n < PAIRS; v++) {
        if (!moved_by[v] || seen++ * PAIRS / count < n) continue;
        int best = 0;
        for (int f = 0; f < fine->mesh.nvert; f++)
            if (head_distance(fine->mesh.x + 3 * f, coarse->mesh.x + 3 * v) <
                head_distance(fine->mesh.x + 3 * best, coarse->mesh.x + 3 * v))
                best = f;
        from[n] = v;
        to[n++] = best;
    }
    assert_int_equal(n, PAIRS);
    fa_free(move);
    fa_free(moved_by);
}

static void other_topologies(void **state) {
    (void)state;
    FaRig *coarse = rig_of(0, 1), *fine = rig_of(1, 1), *other = rig_of(0, 7);
    int from[PAIRS], to[PAIRS];
    find_pairs(coarse, fine, from, to);
    struct {
        const FaRig *from, *to, *want;
        bool closest;
        int npair;
        double limit;
        const char *what;
    } run[] = {{coarse, fine, fine, false, 0, 0.03, "the same face, finer"},
               {fine, coarse, coarse, false, 0, 0.03, "the same face, coarser"},
               {coarse, coarse, coarse, true, 0, 0.002, "the same mesh by closest points"},
               {other, fine, fine, false, 0, 0.09, "another face, finer"},
               {other, fine, fine, false, PAIRS, 0.08, "another face, finer, by pairs"}};
    for (int i = 0; i < FA_COUNT(run); i++) {
        FaTransferOptions o = {.force_closest = run[i].closest, .npair = run[i].npair, .from = from, .to = to};
        FaTransferReport rep;
        double at = fai_seconds();
        FaRig *got = transfer(run[i].from, &run[i].to->mesh, &o, &rep);
        Error e = compare(got, run[i].want, NULL, 1);
        print_message(
            "%s: %.2f %% of the shapes, worst %.2f mm; fit %.2f mm, worst %.2f mm, %d of %d unmatched; %.1f s\n",
            run[i].what, 100 * e.share, 1e3 * e.worst, 1e3 * rep.fit_rms, 1e3 * rep.fit_max, rep.unmatched,
            run[i].to->mesh.nvert, fai_seconds() - at);
        assert_false(rep.same_topology);
        assert_true(e.share < run[i].limit);
        assert_true(rep.fit_rms < 0.001 && rep.unmatched < run[i].to->mesh.nvert / 20);
        fa_rig_free(got);
    }
    fa_rig_free(coarse);
    fa_rig_free(fine);
    fa_rig_free(other);
}

// Far apart, turned round and of another size: three pairs of vertices are enough.
static void pairs_bring_faces_together(void **state) {
    (void)state;
    FaRig *from = rig_of(0, 1), *to = rig_of(0, 1);
    FaArena *arena = fai_arena_new(0);
    double q[4], turn[9], axis[3] = {0.3, 2.6, 0.1};
    fai_q_exp(axis, q);
    fai_q_to_m3(q, turn);
    FaMesh target = moved(&to->mesh, turn, 10, arena);
    int pair[6] = {10, 400, 800, 1200, 1900, 2300};
    FaTransferOptions o = {.force_closest = true, .npair = 6, .from = pair, .to = pair};
    FaTransferReport rep;
    FaRig *got = transfer(from, &target, &o, &rep);
    Error e = compare(got, from, turn, 10);
    print_message("by six pairs: %.2f %% of the shapes, scale %.3f, turn %.3f rad\n", 100 * e.share, rep.scale,
                  rep.turn);
    CHECK_NEAR(rep.scale, 10, 0.05);
    assert_true(e.share < 0.02);
    fa_rig_free(got);
    fa_rig_free(from);
    fa_rig_free(to);
    fai_arena_free(arena);
}

// Turned by 30 degrees, nothing given: found.
static void a_turned_face_is_found(void **state) {
    (void)state;
    FaRig *rig = rig_of(0, 1);
    FaArena *arena = fai_arena_new(0);
    double q[4], turn[9], axis[3] = {0.15, 0.5, 0};
    fai_q_exp(axis, q);
    fai_q_to_m3(q, turn);
    FaMesh target = moved(&rig->mesh, turn, 1.1, arena);
    FaTransferOptions o = {.force_closest = true};
    FaTransferReport rep;
    FaRig *got = transfer(rig, &target, &o, &rep);
    Error e = compare(got, rig, turn, 1.1);
    print_message("turned by 30 degrees: found %.1f, %.2f %% of the shapes\n", rep.turn * 180 / M_PI, 100 * e.share);
    CHECK_NEAR(rep.turn, fai_v3_norm(axis), 0.02);
    assert_true(e.share < 0.02);
    fa_rig_free(got);
    fa_rig_free(rig);
    fai_arena_free(arena);
}

static void same_bits_for_any_thread_count(void **state) {
    (void)state;
    FaRig *a = rig_of(0, 1), *b = rig_of(0, 2);
    uint64_t hash[2][3];
    for (int closest = 0; closest < 2; closest++)
        for (int t = 0; t < 3; t++) {
            fa_threads_set(1 << t);
            FaTransferOptions o = {.force_closest = closest};
            FaRig *got = transfer(a, &b->mesh, &o, NULL);
            hash[closest][t] = fai_hash64(got->delta, 12 * (size_t)got->nentry, 0);
            fa_rig_free(got);
        }
    fa_threads_set(0);
    for (int c = 0; c < 2; c++) assert_true(hash[c][0] == hash[c][1] && hash[c][0] == hash[c][2]);
    assert_true(hash[0][0] != hash[1][0]);
    fa_rig_free(a);
    fa_rig_free(b);
}

static void bad_input(void **state) {
    (void)state;
    FaRig *rig = rig_of(0, 0), *got;
    FaError err = {0};
    FaMesh empty = rig->mesh;
    empty.ntri = empty.nface = 0;
    assert_int_equal(fai_transfer(rig, &empty, NULL, &got, NULL, &err), FA_E_MESH);
    assert_null(got);
    int bad = rig->mesh.nvert, good = 0;
    FaTransferOptions o = {.npair = 1, .from = &bad, .to = &good};
    err = (FaError){0};
    assert_int_equal(fai_transfer(rig, &rig->mesh, &o, &got, NULL, &err), FA_E_ARG);
    assert_true(strlen(err.remedy) > 5);
    o = (FaTransferOptions){.screen = NAN};
    assert_int_equal(fai_transfer(rig, &rig->mesh, &o, &got, NULL, NULL), FA_E_ARG);
    FaMesh flat = rig->mesh;
    flat.x = FA_NEW(3 * (size_t)flat.nvert, float);
    assert_int_equal(fai_transfer(rig, &flat, NULL, &got, NULL, NULL), FA_E_MESH);
    flat.x[5] = NAN;
    assert_true(fai_transfer(rig, &flat, NULL, &got, NULL, NULL) < 0);
    // a face with a triangle folded to a line, in source and target: still finite
    memcpy(flat.x, rig->mesh.x, 12 * (size_t)flat.nvert);
    memcpy(flat.x + 3 * flat.tri[0], flat.x + 3 * flat.tri[1], 12);
    err = (FaError){0};
    CHECK_OK(fai_transfer(rig, &flat, NULL, &got, NULL, &err), &err);
    fa_rig_free(got);
    float keep[3];
    memcpy(keep, rig->mesh.x + 3 * flat.tri[0], 12);
    memcpy(rig->mesh.x + 3 * flat.tri[0], rig->mesh.x + 3 * flat.tri[1], 12);
    CHECK_OK(fai_transfer(rig, &flat, NULL, &got, NULL, &err), &err);
    fa_rig_free(got);
    memcpy(rig->mesh.x + 3 * flat.tri[0], keep, 12);
    fa_free(flat.x);
    // memory that runs out at any place, sampled: no leak, no half rig
    FaTransferOptions both[2] = {{0}, {.force_closest = true}};
    test_fail_alloc(0);
    for (int c = 0; c < 2; c++)
        for (long k = 1;; k += 1 + k / 2) {
            err = (FaError){0};
            long alive = test_alloc_balance();
            test_fail_alloc(k);
            FaCode rc = fai_transfer(rig, &rig->mesh, &both[c], &got, NULL, &err);
            bool hit = test_alloc_failed();
            test_fail_alloc(0);
            if (hit && rc >= 0) print_message("allocation %ld was not missed\n", k); // notes may be dropped
            fa_rig_free(got);
            assert_int_equal(test_alloc_balance(), alive);
            if (!hit) break;
        }
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_face_keeps_its_shapes),
        cmocka_unit_test(turned_and_scaled),
        cmocka_unit_test(other_identities),
        cmocka_unit_test(other_topologies),
        cmocka_unit_test(pairs_bring_faces_together),
        cmocka_unit_test(a_turned_face_is_found),
        cmocka_unit_test(same_bits_for_any_thread_count),
        cmocka_unit_test(bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The paper's blending: the response from source to target, sliders, forces, and combinations to choose from.
#include "test_rig_head.h"

#include "fascia/analytic.h"

#include <sys/resource.h>

// --- response -----------------------------------------------------------------------------------------------------

static void test_table(void **state) {
    (void)state;
    static const struct {
        FaOscillator o;
        double s[4];
    } table[] = {
        {{1.5, 8, 10}, {0.131892, 0.380430, 0.629243, 0.838236}},
        {{0.8, 7.5, 20}, {0.278480, 0.631902, 0.849409, 0.955353}},
        {{1, 4, 4}, {0.103624, 0.321902, 0.567973, 0.799787}},
    };
    FaError err = {0};
    double s;
    for (int i = 0; i < FA_COUNT(table); i++) {
        for (int j = 0; j < 4; j++) {
            CHECK_OK(fa_analytic_response(&table[i].o, 0.2 * (j + 1), &s, &err), &err);
            CHECK_NEAR(s, table[i].s[j], 1e-6);
        }
        // boundary conditions, exactly
        CHECK_OK(fa_analytic_response(&table[i].o, 0, &s, &err), &err);
        assert_true(s == 0);
        CHECK_OK(fa_analytic_response(&table[i].o, 1, &s, &err), &err);
        assert_true(s == 1);
        CHECK_OK(fa_analytic_response(&table[i].o, 1e-9, &s, &err), &err);
        assert_true(s < 1e-16); // it starts at rest
        CHECK_NEAR(fa_analytic_overshoot(&table[i].o), 1, 1e-12);
    }
}

static void test_refusal(void **state) {
    (void)state;
    double s, w2 = 4 * M_PI * M_PI;
    // one full swing in exactly 1 s: back at the source, no force reaches the target
    FaOscillator ill = {1, 0, w2};
    FaError err = {0};
    assert_true(fa_analytic_response(&ill, 0.5, &s, &err) == FA_E_NUMERIC);
    assert_non_null(strstr(err.what, "39.478"));
    assert_non_null(strstr(err.what, "mass 1"));
    assert_true(fa_analytic_overshoot(&ill) == 0);
    // the damping it names is valid, close, and overshoots no more than twice
    const char *at = strstr(err.remedy, "damping to ");
    assert_non_null(at);
    FaOscillator better = {1, strtod(at + 11, NULL), w2};
    CHECK_OK(fa_analytic_response(&better, 0.5, &s, NULL), NULL);
    assert_true(fa_analytic_overshoot(&better) <= 2 && fa_analytic_overshoot(&better) > 1.5);
    // on either side of the limit
    for (double c = 0; c < 0.01; c += 1e-4) {
        FaOscillator o = {1, c, w2};
        double g1 = 1 - exp(-c / 2), share = g1 / 2; // g(1) and max g, nearly
        if (fabs(share - 1e-3) < 5e-5) continue;
        assert_int_equal(fa_analytic_response(&o, 0.5, &s, NULL) == FA_OK, share > 1e-3);
    }
    // legal, but far beyond the target: said by the overshoot
    FaOscillator wild = {1, 0.4, 40};
    CHECK_OK(fa_analytic_response(&wild, 0.5, &s, NULL), NULL);
    assert_true(fa_analytic_overshoot(&wild) > 8 && fa_analytic_overshoot(&wild) < 11);
    CHECK_NEAR(s, fa_analytic_overshoot(&wild), 0.05);
    static const FaOscillator wrong[] = {{0, 1, 1}, {1, -1, 1}, {1, 1, -1}, {NAN, 1, 1}, {1, INFINITY, 1}};
    for (int i = 0; i < FA_COUNT(wrong); i++) assert_true(fa_analytic_response(&wrong[i], 0.5, &s, NULL) == FA_E_ARG);
    assert_true(fa_analytic_response(&better, -0.1, &s, NULL) == FA_E_ARG);
    assert_true(fa_analytic_response(&better, NAN, &s, NULL) == FA_E_ARG);
    // no spring, no damper: t^2
    CHECK_OK(fa_analytic_response(&(FaOscillator){3, 0, 0}, 0.3, &s, NULL), NULL);
    CHECK_NEAR(s, 0.09, 1e-15);
}

// Three targets, each with its own weight and moment.
static void test_slider(void **state) {
    (void)state;
    FaError err = {0};
    FaOscillator o = {1, 4, 4};
    double weight[] = {0.5, 1, -0.25}, time[] = {0.2, 1, 0.6};
    float out[3];
    CHECK_OK(fa_analytic_slider(&o, 3, weight, time, out, &err), &err);
    CHECK_NEAR((double)out[0], 0.5 * 0.103624, 1e-6);
    CHECK_NEAR((double)out[1], 1, 0);
    CHECK_NEAR((double)out[2], -0.25 * 0.567973, 1e-6);
    time[1] = NAN;
    assert_true(fa_analytic_slider(&o, 3, weight, time, out, &err) == FA_E_ARG);
    assert_string_equal(err.place, "target 1");
}

// --- forces -------------------------------------------------------------------------------------------------------

static double force_at(const FaForce *f, double t) {
    return f->kind == FA_FORCE_CONSTANT ? f->size
           : f->kind == FA_FORCE_LINEAR ? f->size * t
                                        : f->size * sin(2 * M_PI * f->rate * t + f->phase);
}

static double integrate(const FaOscillator *o, const FaForce *f, double end, int n) {
    long double x = 0, v = 0, h = (long double)end / n;
#define ACC(t, px, pv) ((o->stiffness * force_at(f, (double)(t)) - o->damping * (pv)-o->stiffness * (px)) / o->mass)
    for (int i = 0; i < n; i++) {
        long double t = h * i, k1x = v, k1v = ACC(t, x, v), k2x = v + h / 2 * k1v,
                    k2v = ACC(t + h / 2, x + h / 2 * k1x, k2x);
        long double k3x = v + h / 2 * k2v, k3v = ACC(t + h / 2, x + h / 2 * k2x, k3x), k4x = v + h * k3v,
                    k4v = ACC(t + h, x + h * k3x, k4x);
        x += h / 6 * (k1x + 2 * k2x + 2 * k3x + k4x);
        v += h / 6 * (k1v + 2 * k2v + 2 * k3v + k4v);
    }
#undef ACC
    return (double)x;
}

static void test_forces(void **state) {
    (void)state;
    double w = 2 * M_PI * 3, worst = 0;
    // under, over, critical and undamped; the sine below, above and at resonance
    FaOscillator all[] = {{1, 2, 26},       {1, 9, 8},     {2, 8, 8},        {1, 0, w * w},
                          {1, 1e-9, w * w}, {0.5, 3, 900}, {1, 2 * w, w * w}};
    for (int i = 0; i < FA_COUNT(all); i++) {
        FaForce forces[] = {{FA_FORCE_CONSTANT, 0.7, 0, 0}, {FA_FORCE_LINEAR, -0.4, 0, 0},
                            {FA_FORCE_SINE, 0.6, 3, 0},     {FA_FORCE_SINE, 0.6, 3 + 1e-9, 1},
                            {FA_FORCE_SINE, 1, 0.2, 2},     {FA_FORCE_SINE, 1, 11, -1},
                            {FA_FORCE_SINE, 1, 0, M_PI / 2}};
        for (int j = 0; j < FA_COUNT(forces); j++)
            for (double t = 0.01; t < 4; t *= 4.9) {
                double got = fa_analytic_force(&all[i], &forces[j], t), want = integrate(&all[i], &forces[j], t, 20000);
                worst = fmax(worst, fabs(got - want) / (1 + fabs(want)));
                CHECK_NEAR(got, want, 2e-10 * (1 + fabs(want)));
            }
        assert_true(fa_analytic_force(&all[i], &forces[0], 0) == 0);
    }
    print_message("forces: worst error %.1e\n", worst);
    // a constant force of size 1 settles at 1, a slow sine of phase 90 degrees is the constant one
    CHECK_NEAR(fa_analytic_force(&all[0], &(FaForce){FA_FORCE_CONSTANT, 1, 0, 0}, 60), 1, 1e-12);
    CHECK_NEAR(fa_analytic_force(&all[0], &(FaForce){FA_FORCE_SINE, 1, 0, M_PI / 2}, 0.5),
               fa_analytic_force(&all[0], &(FaForce){FA_FORCE_CONSTANT, 1, 0, 0}, 0.5), 1e-14);
    FaForce f;
    CHECK_OK(fa_force_parse("sine:0.2:4:90", &f, NULL), NULL);
    assert_true(f.kind == FA_FORCE_SINE && f.size == 0.2 && f.rate == 4 && fabs(f.phase - M_PI / 2) < 1e-15);
}

// --- combinations -------------------------------------------------------------------------------------------------

static void test_explore(void **state) {
    (void)state;
    assert_true(fa_explore_count(5, 3) == 242);
    assert_true(fa_explore_count(5, 11) == 161050);
    assert_true(fa_explore_count(60, 11) == 0 && fa_explore_count(63, 2) == ((uint64_t)1 << 63) - 1 &&
                fa_explore_count(0, 3) == 0);
    // all different, all normalised; raw ones on the levels
    double w[5], sum = 0;
    bool seen[243] = {false};
    for (uint64_t i = 0; i < 242; i++) {
        fa_explore_weights(5, 3, i, true, w);
        int code = 0, place = 1;
        for (int t = 0; t < 5; t++, place *= 3) {
            assert_true(w[t] == 0 || w[t] == 0.5 || w[t] == 1);
            code += place * (int)(2 * w[t]);
        }
        assert_true(code > 0 && !seen[code]);
        seen[code] = true;
        fa_explore_weights(5, 3, i, false, w);
        sum = 0;
        for (int t = 0; t < 5; t++) sum += w[t];
        CHECK_NEAR(sum, 1, 1e-15);
    }
}

static void test_permutations(void **state) {
    (void)state;
    assert_true(fa_permutation_count(5) == 325 && fa_permutation_count(1) == 1 && fa_permutation_count(3) == 15);
    assert_true(fa_permutation_count(20) == 6613313319248080000u && fa_permutation_count(21) == 0);
    // the paper's examples
    static const struct {
        uint64_t i;
        int n[5];
    } known[] = {{1, {1, 0, 0, 0, 0}}, {2, {0, 2, 0, 0, 0}},  {5, {0, 0, 0, 0, 5}},
                 {6, {1, 2, 0, 0, 0}}, {25, {5, 4, 0, 0, 0}}, {325, {5, 4, 3, 2, 1}}};
    int p[20];
    for (int i = 0; i < FA_COUNT(known); i++) {
        fa_permutation_at(5, known[i].i, p);
        assert_memory_equal(p, known[i].n, sizeof known[i].n);
    }
    // in order, without repetition, each number at most once
    int last[5] = {0};
    for (uint64_t i = 6; i <= 325; i++) {
        fa_permutation_at(5, i, p);
        int used = 0, r = 0, lr = 0;
        for (int k = 0; k < 5; k++) {
            assert_true(p[k] == 0 || !(used >> p[k] & 1));
            used |= 1 << p[k];
            r += p[k] != 0;
            lr += last[k] != 0;
        }
        assert_true(i == 6 || r == lr + 1 || (r == lr && memcmp(p, last, sizeof last) != 0));
        if (r == lr) {
            int k = 0;
            while (p[k] == last[k]) k++;
            assert_true(p[k] > last[k]);
        }
        memcpy(last, p, sizeof last);
    }
    fa_permutation_at(20, fa_permutation_count(20), p);
    for (int k = 0; k < 20; k++) assert_int_equal(p[k], 20 - k);
    fa_permutation_at(5, 326, p);
    for (int k = 0; k < 5; k++) assert_int_equal(p[k], 0);
}

static void test_draws(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        bool seen[326] = {false};
        for (uint64_t i = 0; i < 325; i++) {
            uint64_t d = fa_draw(seed, 325, i);
            assert_true(d >= 1 && d <= 325 && !seen[d]);
            seen[d] = true;
        }
    }
    // spread evenly, different for different seeds, and as far as the numbers go
    int bin[8] = {0}, same = 0;
    for (uint64_t i = 0; i < 8000; i++) {
        bin[(fa_draw(7, 1000000, i) - 1) / 125000]++;
        same += fa_draw(7, 1000000, i) == fa_draw(8, 1000000, i);
    }
    for (int b = 0; b < 8; b++) assert_true(bin[b] > 880 && bin[b] < 1120);
    assert_true(same < 5);
    uint64_t most = fa_permutation_count(20);
    for (uint64_t i = 0; i < 100; i++) assert_true(fa_draw(1, most, i) <= most);
    assert_true(fa_draw(5, 1, 0) == 1);
}

// --- candidates ---------------------------------------------------------------------------------------------------

static const int five[] = {2, 3, 4, 5, 6};

static void test_candidates(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaOscillator o = {1, 4, 4};
    double moments[] = {0, 0.2, 0.4, 0.6, 0.8, 1};
    FaCandidateOptions opt = {.target = five, .ntarget = 5, .levels = 3, .time = moments, .ntime = 6};
    FaCandidates *c;
    CHECK_OK(fa_candidates_new(rig, &o, &opt, &c, &err), &err);
    assert_true(fa_candidates_count(c) == 1452); // as the paper counts
    FaSequence *seq = fa_candidates_sequence(c);
    assert_int_equal(fa_sequence_nframe(seq), 1452);
    // number 6 * 4 + 2: combination 5 = (2, 1, 0, 0, 0) / 2 -> 2/3, 1/3; moment 0.4
    float w[HEAD_SHAPES], *x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *x),
                          *want = malloc(3 * (size_t)rig->mesh.nvert * sizeof *x);
    fa_candidates_weights(c, 26, w);
    CHECK_NEAR((double)w[2], 0.321902 * 2 / 3, 1e-6);
    CHECK_NEAR((double)w[3], 0.321902 / 3, 1e-6);
    assert_true(w[0] == 0 && w[1] == 0 && w[4] == 0);
    char label[80];
    fa_candidates_label(c, 26, label, sizeof label);
    assert_string_equal(label, "26: browInnerUp 0.67, mouthSmileLeft 0.33, t 0.40");
    CHECK_OK(fa_sequence_read(seq, 26, x, &err), &err);
    fa_rig_blend(rig, w, want);
    assert_memory_equal(x, want, 3 * (size_t)rig->mesh.nvert * sizeof *x);
    fa_candidates_free(c);

    // random: seeded, repeatable, normalised
    opt = (FaCandidateOptions){.target = five, .ntarget = 5, .seed = 4, .draws = 50};
    CHECK_OK(fa_candidates_new(rig, &o, &opt, &c, &err), &err);
    assert_true(fa_candidates_count(c) == 50);
    for (uint64_t i = 0; i < 50; i++) {
        double sum = 0;
        fa_candidates_weights(c, i, w);
        for (int s = 0; s < HEAD_SHAPES; s++) sum += (double)w[s];
        CHECK_NEAR(sum, 1, 1e-6);
    }
    fa_candidates_free(c);

    // refusals
    opt = (FaCandidateOptions){.target = five, .ntarget = 5, .levels = 11, .limit = 100000};
    assert_true(fa_candidates_new(rig, &o, &opt, &c, &err) == FA_E_LIMIT && !c);
    assert_non_null(strstr(err.what, "161050"));
    int twice[] = {1, 1}, none[] = {99};
    opt = (FaCandidateOptions){.target = twice, .ntarget = 2, .levels = 3};
    assert_true(fa_candidates_new(rig, &o, &opt, &c, NULL) == FA_E_ARG);
    opt = (FaCandidateOptions){.target = none, .ntarget = 1, .levels = 3};
    assert_true(fa_candidates_new(rig, &o, &opt, &c, NULL) == FA_E_ARG);
    opt = (FaCandidateOptions){.target = five, .ntarget = 5, .levels = 1};
    assert_true(fa_candidates_new(rig, &o, &opt, &c, NULL) == FA_E_ARG);
    opt = (FaCandidateOptions){.target = five, .ntarget = 5, .levels = 3};
    assert_true(fa_candidates_new(rig, &(FaOscillator){1, 0, 4 * M_PI * M_PI}, &opt, &c, NULL) == FA_E_NUMERIC);
    fa_rig_free(rig);
    free(x), free(want);
}

static long peak_kb(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

static long calls;
static void *counting(void *user, void *old, size_t size) {
    (void)user;
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (size) return realloc(old, size);
    free(old);
    return NULL;
}

// 161,050 shapes come and go one at a time: nothing is allocated for them, and the process does not grow.
static void test_streaming(void **state) {
    (void)state;
    FaError err = {0};
    fa_allocator_set(&(FaAllocator){counting, NULL});
    FaRig *rig = head_rig(NULL);
    FaCandidateOptions opt = {.target = five, .ntarget = 5, .levels = 11};
    FaCandidates *c;
    CHECK_OK(fa_candidates_new(rig, &(FaOscillator){1.5, 8, 10}, &opt, &c, &err), &err);
    assert_true(fa_candidates_count(c) == 161050);
    float *x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *x);
    long before = 0;
    uint64_t hash = 0;
    for (int i = 0; i < 161050; i++) {
        CHECK_OK(fa_sequence_read(fa_candidates_sequence(c), i, x, &err), &err);
        hash = fai_hash64(x + 1500, 300, hash);
        if (i == 1000) before = peak_kb(), calls = 0;
    }
    assert_int_equal(calls, 0);
    assert_true(peak_kb() - before < 1024);
    assert_true(hash != 0);
    fa_candidates_free(c);
    fa_rig_free(rig);
    fa_allocator_set(NULL);
    free(x);
}

// Picked ones become shapes of the rig: the same positions at weight 1, under their names, next to the user's own.
static void check_saved(const char *path, const FaRig *rig, const FaCandidates *c, const uint64_t *pick, int n) {
    FaError err = {0};
    FaRig *again;
    CHECK_OK(fa_rig_load(path, &(FaRigOptions){.unit = FA_UNIT_M}, &again, &err), &err);
    assert_int_equal(again->nshape, rig->nshape + n);
    assert_int_equal(again->mesh.nvert, rig->mesh.nvert);
    size_t nvert = (size_t)rig->mesh.nvert;
    float w[HEAD_SHAPES], v[HEAD_SHAPES + 8], *x = malloc(3 * nvert * sizeof *x), *y = malloc(3 * nvert * sizeof *y);
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "blend_%d", (int)pick[i]);
        int at = 0;
        while (at < again->nshape && strcmp(again->shape[at].name, name)) at++;
        if (at == again->nshape) print_error("%s has no %s but %s\n", path, name, again->shape[again->nshape - 1].name);
        assert_true(at < again->nshape);
        memset(v, 0, sizeof v);
        v[at] = 1;
        fa_candidates_weights(c, pick[i], w);
        fa_rig_blend(rig, w, x);
        fa_rig_blend(again, v, y);
        double moved = 0;
        for (size_t k = 0; k < 3 * nvert; k++) {
            CHECK_NEAR((double)y[k], (double)x[k], 1e-7);
            moved = fmax(moved, fabs((double)y[k] - (double)rig->mesh.x[k]));
        }
        assert_true(moved > 1e-3);
    }
    for (int s = 0; s < rig->nshape; s++) {
        bool kept = false;
        for (int t = 0; t < again->nshape; t++) kept |= !strcmp(again->shape[t].name, rig->shape[s].name);
        assert_true(kept);
    }
    fa_rig_free(again);
    free(x), free(y);
}

static void test_pick(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *made = head_rig(NULL), *rig = NULL;
    FaOscillator o = {1.5, 8, 10};
    FaCandidateOptions opt = {.target = five, .ntarget = 5, .levels = 3, .raw = true};
    uint64_t pick[] = {3, 17, 40};
    FaCandidates *c;
    CHECK_OK(fa_candidates_new(made, &o, &opt, &c, &err), &err);
    const char *first = test_path("picks.glb"), *second = test_path("picks2.glb"), *folder = test_path("picks/");
    CHECK_OK(fa_candidates_save(c, pick, 3, first, &err), &err);
    check_saved(first, made, c, pick, 3);
    CHECK_OK(fa_candidates_save(c, pick, 3, folder, &err), &err);
    check_saved(folder, made, c, pick, 3);
    uint64_t beyond[] = {242};
    assert_true(fa_candidates_save(c, beyond, 1, first, &err) == FA_E_ARG);
    err = (FaError){0};
    fa_candidates_free(c);
    // from a glTF file: its own document grows
    const char *plain = test_path("plain.glb");
    CHECK_OK(fa_rig_save(made, NULL, plain, &err), &err);
    CHECK_OK(fa_rig_load(plain, NULL, &rig, &err), &err);
    CHECK_OK(fa_candidates_new(rig, &o, &opt, &c, &err), &err);
    CHECK_OK(fa_candidates_save(c, pick, 3, second, &err), &err);
    check_saved(second, rig, c, pick, 3);
    fa_candidates_free(c);
    fa_rig_free(rig);
    fa_rig_free(made);
}

// Every allocation fails once: candidates, slider, and the picked ones written into a glTF file and into a new one.
static void torture(const FaRig *rig) {
    FaOscillator o = {1.5, 8, 10};
    FaCandidateOptions opt = {.target = five, .ntarget = 5, .levels = 3};
    uint64_t pick[] = {3, 100};
    const char *path = test_path("torture.glb");
    int failures = 0;
    for (long n = 1, done = 0; !done; n++) {
        FaError err = {0};
        FaCandidates *c = NULL;
        FaSlider *s = NULL;
        long before = test_alloc_balance();
        test_fail_alloc(n);
        FaCode rc = fa_slider_new(rig, &o, 5, five, &s, &err);
        if (rc >= 0) rc = fa_candidates_new(rig, &o, &opt, &c, &err);
        if (rc >= 0) rc = fa_candidates_save(c, pick, 2, path, &err);
        done = !test_alloc_failed();
        if (done) CHECK_OK(rc, &err);
        // notes are dropped when memory runs out, everything else reports it
        else if (rc < 0)
            assert_true(rc == FA_E_MEMORY && ++failures);
        fa_candidates_free(c);
        fa_slider_free(s);
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
    }
    assert_true(failures > 20);
    fa_allocator_set(NULL);
}

static void test_torture(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *made = head_rig(NULL), *loaded;
    torture(made);
    const char *plain = test_path("plain2.glb");
    CHECK_OK(fa_rig_save(made, NULL, plain, &err), &err);
    CHECK_OK(fa_rig_load(plain, NULL, &loaded, &err), &err);
    torture(loaded);
    fa_rig_free(loaded);
    fa_rig_free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),  cmocka_unit_test(test_refusal),    cmocka_unit_test(test_slider),
        cmocka_unit_test(test_forces), cmocka_unit_test(test_explore),    cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_draws),  cmocka_unit_test(test_candidates), cmocka_unit_test(test_streaming),
        cmocka_unit_test(test_pick),   cmocka_unit_test(test_torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

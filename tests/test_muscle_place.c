// The muscles of the template, their names, and where they come to lie on heads.
// labels: unit hash
#include "base/task.h"
#include "fascia/head.h"
#include "math/mat3.h"
#include "mesh/closest.h"
#include "muscle/marks.h"
#include "muscle/place.h"

#include "test.h"

static void test_template(void **state) {
    (void)state;
    int n = fai_muscle_count(), found;
    assert_true(n >= 49);
    for (int i = 0; i < n; i++) {
        FaMuscleId id = fai_muscle_id(i);
        const FaMuscleEntry *e = fai_muscle_entry(id.entry);
        assert_true(e->nplace >= 2 && e->half_width > 0 && e->thickness > 0);
        if (e->form == FA_MUSCLE_HALF_RING) assert_true(e->place[e->nplace - 1].x == 0 && !e->paired);
        found = 0;
        for (int k = 0; k < n; k++) found += fai_muscle_named(k, id.name);
        assert_int_equal(found, 1);
        found = 0;
        for (int k = 0; k < n; k++) found += fai_muscle_named(k, id.alias);
        assert_int_equal(found, 1);
        for (int k = i + 1; k < n; k++) assert_string_not_equal(id.name, fai_muscle_id(k).name);
    }
    const struct {
        const char *name;
        int count;
    } ask[] = {{"zygomaticus_major.L", 1},
               {"zygomaticus_major", 2},
               {"zyg_maj", 2},
               {"ZYG_MAJ.r", 1},
               {"zyg*", 4},
               {"inc_*", 4},
               {"oo_marg_sup", 1},
               {"orbicularis_oris*", 4},
               {"*.L", (n - 5) / 2},
               {"*", n},
               {"gluteus", 0},
               {"", 0},
               {"levator_palpebrae", 2},
               {"temporalis", 2},
               {"mylohyoid", 2},
               {"digastric", 2},
               {"platysma_medial", 2}};
    for (int k = 0; k < FA_COUNT(ask); k++) {
        found = 0;
        for (int i = 0; i < n; i++) found += fai_muscle_named(i, ask[k].name);
        assert_int_equal(found, ask[k].count);
    }
}

typedef struct Scene {
    FaHead *head;
    double from[24], to[24];
    double *bone;
    unsigned char *kind;
    FaMuscleGround ground;
} Scene;

// The shipped head, whose frame is the template's; all of it made larger, turned and moved where asked.
static void scene_new(Scene *s, uint64_t seed, double size, const double turn[3]) {
    *s = (Scene){0};
    FaHeadParams p = fa_head_params_default();
    p.level = 0, p.shapes = false;
    fa_head_params_seed(&p, seed);
    FaError err = {0};
    CHECK_OK(fa_head_new(&p, &s->head, &err), &err);
    double q[4];
    fai_q_exp(turn, q);
    for (int part = 0; part < s->head->npart; part++) {
        FaMesh *m = &s->head->part[part].mesh;
        for (int v = 0; v < m->nvert; v++) {
            double x[3], y[3];
            fai_v3_load(m->x, v, x);
            fai_q_rotate(q, x, y);
            for (int k = 0; k < 3; k++) m->x[3 * v + k] = (float)(size * y[k]);
        }
        bool skull = strcmp(s->head->part[part].name, "skull") == 0,
             jaw = strcmp(s->head->part[part].name, "mandible") == 0;
        if (!skull && !jaw) continue;
        size_t n = (size_t)s->ground.nbone + (size_t)m->nvert;
        s->bone = realloc(s->bone, 3 * n * sizeof(double)), s->kind = realloc(s->kind, n);
        for (int v = 0; v < m->nvert; v++) {
            fai_v3_load(m->x, v, s->bone + 3 * s->ground.nbone);
            s->kind[s->ground.nbone++] = jaw ? FA_MUSCLE_JAW : FA_MUSCLE_SKULL;
        }
    }
    assert_true(s->ground.nbone > 100);
    for (int i = 0; i < 8; i++) {
        double at[3], y[3];
        for (int k = 0; k < 3; k++) s->from[3 * i + k] = i >> k & 1 ? 100 : -100, at[k] = s->from[3 * i + k];
        fai_q_rotate(q, at, y);
        for (int k = 0; k < 3; k++) s->to[3 * i + k] = 1e-3 * size * y[k];
    }
    s->ground.skin = &s->head->part[0].mesh;
    s->ground.npair = 8, s->ground.from = s->from, s->ground.to = s->to;
    s->ground.bone = s->bone, s->ground.kind = s->kind;
}

static void scene_free(Scene *s) {
    fa_head_free(s->head);
    free(s->bone), free(s->kind);
}

static const FaMuscle *named(const FaMuscles *m, const char *name) {
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->muscle[i].id.name, name) == 0) return &m->muscle[i];
    fail_msg("no muscle %s", name);
    return NULL;
}

// On the head that ships: ends where anatomy has them, origins on bone, both sides alike, nothing folded.
static void test_head(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, 0, 1, (double[]){0, 0, 0});
    FaMuscles m;
    FaError err = {0};
    CHECK_OK(fai_muscles_place(&s.ground, &m, &err), &err);
    assert_int_equal(m.n, fai_muscle_count());
    CHECK_NEAR(m.unit, 1e-3, 1e-9);
    FaClosest *skin;
    CHECK_OK(fai_closest_new(s.ground.skin, NULL, &skin, &err), &err);
    double far = 0;
    int bad = 0;
    for (int i = 0; i < m.n; i++) {
        const FaMuscle *a = &m.muscle[i];
        const FaMuscleEntry *e = fai_muscle_entry(a->id.entry);
        bool sound = a->length > 0.008 && a->length < 0.2 && a->volume > 1e-7 && a->volume < 2e-5 && a->folded <= 0.02;
        if (!sound)
            print_message("%s: %.1f mm long, %.2f cm3, %.0f %% folded\n", a->id.name, 1e3 * a->length, 1e6 * a->volume,
                          100 * a->folded);
        bad += !sound;
        assert_int_equal(a->held[0], e->origin != FA_MUSCLE_SOFT);
        assert_int_equal(a->held[1], e->insertion != FA_MUSCLE_SOFT);
        far = fmax(far, fmax(a->moved[0], a->moved[1]));
        if (a->off > 0.012) print_message("%s: %.1f mm off\n", a->id.name, 1e3 * a->off), bad++;
        double x[3], y[3];
        fai_bspline_at(&a->solid, (double[]){e->form == FA_MUSCLE_HALF_RING ? 0.5 : 0.9, 0.5, 0.5}, x, NULL);
        if (e->form != FA_MUSCLE_RING && e->insertion == FA_MUSCLE_SOFT) { // at its depth, below the skin or its lining
            float p[3] = {(float)x[0], (float)x[1], (float)x[2]};
            double depth = (double)fai_closest_point(skin, p, INFINITY).distance;
            if (!(depth > 0.0002 && depth < 1e-3 * (e->place[e->nplace - 1].depth + 4)))
                print_message("%s: %.1f mm below the skin\n", a->id.name, 1e3 * depth), bad++;
        }
        if (a->id.side <= 0) continue;
        fai_bspline_at(&m.muscle[i + 1].solid, (double[]){0.9, 0.5, 0.5}, y, NULL);
        y[0] = -y[0];
        for (int k = 0; k < 3; k++) CHECK_NEAR(x[k], y[k], 1e-3);
    }
    assert_int_equal(bad, 0);
    printf("%d muscles, farthest from bone %.1f mm\n", m.n, 1e3 * far);
    double x[3];
    fai_bspline_at(&named(&m, "zygomaticus_major.L")->solid, (double[]){1, 0.5, 0.5}, x, NULL);
    assert_true(fabs(x[0] - 0.028) < 0.006 && fabs(x[1] + 0.040) < 0.006 && x[2] > 0.062 && x[2] < 0.08);
    CHECK_NEAR(named(&m, "zygomaticus_major.L")->length, 0.05, 0.008);
    fai_bspline_at(&named(&m, "orbicularis_oris_superior")->solid, (double[]){0.5, 0.5, 0.5}, x, NULL);
    assert_true(fabs(x[0]) < 0.001 && fabs(x[1] + 0.03) < 0.006);
    assert_true(named(&m, "orbicularis_oculi_orbital.R")->solid.ring);
    fai_closest_free(skin);
    fai_muscles_free(&m);
    scene_free(&s);
}

// A head twice as large and turned has the same muscles, twice as large and turned; any number of threads has the bits
// of one. Other people have all muscles as well.
static void test_map(void **state) {
    (void)state;
    Scene a, b;
    double turn[3] = {0.3, -0.8, 0.2}, q[4], worst = 0;
    scene_new(&a, 0, 1, (double[]){0, 0, 0});
    scene_new(&b, 0, 2, turn);
    fai_q_exp(turn, q);
    FaMuscles m, n;
    FaError err = {0};
    CHECK_OK(fai_muscles_place(&a.ground, &m, &err), &err);
    CHECK_OK(fai_muscles_place(&b.ground, &n, &err), &err);
    int off = 0;
    for (int i = 0; i < m.n; i++) {
        double x[3], y[3], z[3];
        for (int k = 0; k < 5; k++) {
            fai_bspline_at(&m.muscle[i].solid, (double[]){0.25 * k, 0.5, 0.5}, x, NULL);
            fai_bspline_at(&n.muscle[i].solid, (double[]){0.25 * k, 0.5, 0.5}, y, NULL);
            fai_q_rotate(q, x, z);
            fai_v3_mad(y, -2, z, y);
            worst = fmax(worst, fai_v3_norm(y));
            off += fai_v3_norm(y) > 1e-4;
        }
    }
    printf("turned: worst %.2f mm, %d points off by more than 0.1\n", 1e3 * worst, off);
    assert_true(off <= 5); // a ray along an edge, the nearest of two bones
    uint64_t hash[2];
    for (int t = 0; t < 2; t++) {
        fa_threads_set(t ? 3 : 1);
        FaMuscles again;
        CHECK_OK(fai_muscles_place(&a.ground, &again, &err), &err);
        hash[t] = 0;
        for (int i = 0; i < again.n; i++)
            hash[t] = fai_hash64(again.muscle[i].solid.c,
                                 3 * (size_t)fai_bspline_points(&again.muscle[i].solid) * sizeof(double), hash[t]);
        fai_muscles_free(&again);
    }
    fa_threads_set(0);
    printf("%016llx\n", (unsigned long long)hash[0]);
    assert_true(hash[0] == hash[1]);
    fai_muscles_free(&m), fai_muscles_free(&n);
    scene_free(&a), scene_free(&b);
}

// Landmarks of the shipped head are where the template has them; other people's, and a turned one's, where theirs are.
static void test_marks(void **state) {
    (void)state;
    FaError err = {0};
    for (uint64_t seed = 0; seed < 4; seed++) {
        FaHeadParams p = fa_head_params_default();
        FaHead *head;
        FaRig *rig;
        p.level = 0;
        fa_head_params_seed(&p, seed);
        CHECK_OK(fa_head_new(&p, &head, &err), &err);
        CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
        FaMuscleMarks m;
        CHECK_OK(fai_muscle_marks(rig, &m, &err), &err);
        assert_true(m.n >= 15 && m.dropped <= 2);
        double worst = 0;
        for (int i = 0; i < m.n; i++) {
            double d[3];
            for (int k = 0; k < 3; k++) d[k] = 1e3 * m.to[3 * i + k] - m.from[3 * i + k];
            worst = fmax(worst, fai_v3_norm(d));
        }
        printf("identity %d: %d landmarks, %d dropped, up to %.1f mm from the mean head's\n", (int)seed, m.n, m.dropped,
               worst);
        if (seed == 0) assert_true(worst < 3);
        FaMuscles muscles;
        FaMuscleGround ground = {.skin = &rig->mesh, .npair = m.n, .from = m.from, .to = m.to, .noise = 0.05};
        CHECK_OK(fai_muscles_place(&ground, &muscles, &err), &err);
        int bad = 0;
        for (int i = 0; i < muscles.n; i++) {
            const FaMuscle *a = &muscles.muscle[i];
            if (a->off < 0.015 && a->folded < 0.05) continue;
            print_message("%s: %.1f mm off, %.0f %% folded\n", a->id.name, 1e3 * a->off, 100 * a->folded);
            bad++;
        }
        assert_int_equal(bad, 0);
        fai_muscles_free(&muscles);
        // without the lids nothing is known
        for (int s = 0; s < rig->nshape; s++)
            if (rig->shape[s].arkit == fa_arkit_match("eyeBlinkLeft", NULL)) rig->shape[s].arkit = -1;
        err = (FaError){0};
        assert_int_equal(fai_muscle_marks(rig, &m, &err), FA_E_ARG);
        err = (FaError){0};
        fa_rig_free(rig);
        fa_head_free(head);
    }
}

// A box of flesh, as six tets around its diagonal.
static const double box_x[24] = {-1, -1, -1, 1, -1, -1, -1, 1, -1, 1, 1, -1, -1, -1, 1, 1, -1, 1, -1, 1, 1, 1, 1, 1};
static const int box_tet[24] = {0, 1, 3, 7, 0, 3, 2, 7, 0, 2, 6, 7, 0, 6, 4, 7, 0, 4, 5, 7, 0, 5, 1, 7};

// A strap, most of whose thickness is in front of the flesh, is moved in, is not folded, keeps most of its volume; what
// bone holds stays. One that is inside keeps its bits.
static void test_settle(void **state) {
    (void)state;
    double x[24], c[3 * 56], before[3 * 56], *work;
    for (int i = 0; i < 24; i++) x[i] = 0.05 * box_x[i];
    const FaMuscleFlesh flesh = {8, 6, x, box_tet};
    FaBspline s = {{7, 4, 2}, false, c};
    FaFleshInside *inside;
    FaMuscleSettled out;
    FaError err = {0};
    CHECK_OK(fai_flesh_inside_new(&flesh, &inside, &err), &err);
    work = malloc(fai_muscle_settle_work(&s) * sizeof *work);
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < 56; i++) {
            double u = i % 7 / 6.0, v = i / 7 % 4 / 3.0, w = i / 28;
            c[3 * i] = 0.06 * u - 0.03, c[3 * i + 1] = 0.01 * v, c[3 * i + 2] = way == 2 ? 0 : 0.0535 - 0.004 * u;
            c[3 * i + 2] -= 0.004 * w;
        }
        memcpy(before, c, sizeof c);
        double volume = fai_bspline_volume(&s, NULL);
        fai_muscle_settle(inside, 1e-3, (const bool[2]){false, way == 1}, 0.1, &s, work, &out);
        print_message("settled: %.2f > %.2f in flesh\n", out.before, out.after);
        CHECK_NEAR(fai_muscle_share(inside, &s), out.after, 1e-12);
        assert_true(fai_muscle_folded(&s) <= 0.01 && fai_bspline_volume(&s, NULL) > 0.3 * volume);
        if (way == 2) assert_memory_equal(before, c, sizeof c);
        if (way < 2) assert_true(out.before < 0.8 && out.after > 0.95);
        double d[3];
        fai_v3_sub(c + 3 * 6, before + 3 * 6, d);
        if (way == 1) assert_true(fai_v3_norm(d) < 1e-3);
    }
    free(work);
    fai_flesh_inside_free(inside);
}

static void test_bad_input(void **state) {
    (void)state;
    Scene s;
    scene_new(&s, 0, 1, (double[]){0, 0, 0});
    FaMuscles m;
    FaError err = {0};
    // without bones nothing is bent
    s.ground.nbone = 0;
    CHECK_OK(fai_muscles_place(&s.ground, &m, &err), &err);
    for (int i = 0; i < m.n; i++) assert_true(!m.muscle[i].held[0] && m.muscle[i].moved[0] == 0);
    fai_muscles_free(&m);
    // without a jaw those that begin there are told
    s.ground.nbone = 0;
    while (s.kind[s.ground.nbone] == FA_MUSCLE_SKULL) s.ground.nbone++;
    CHECK_OK(fai_muscles_place(&s.ground, &m, &err), &err);
    for (int i = 0; i < m.n; i++) {
        FaMuscleBone origin = fai_muscle_entry(m.muscle[i].id.entry)->origin;
        assert_int_equal(m.muscle[i].held[0], origin == FA_MUSCLE_SKULL);
        assert_true(isinf(m.muscle[i].gap[0]) == (origin == FA_MUSCLE_JAW));
    }
    fai_muscles_free(&m);
    s.ground.npair = 0;
    assert_int_equal(fai_muscles_place(&s.ground, &m, &err), FA_E_ARG);
    assert_null(m.muscle);
    // all landmarks at one place
    s.ground.npair = 8, err = (FaError){0};
    for (int i = 0; i < 24; i++) s.to[i] = 0.1;
    assert_true(fai_muscles_place(&s.ground, &m, &err) < 0);
    scene_free(&s);
}

static void test_memory(void **state) {
    (void)state;
    Scene s;
    double x[24];
    for (int i = 0; i < 24; i++) x[i] = 0.3 * box_x[i];
    const FaMuscleFlesh flesh = {8, 6, x, box_tet};
    scene_new(&s, 0, 1, (double[]){0, 0, 0});
    s.ground.flesh = &flesh;
    for (int k = 1;; k++) {
        FaMuscles m;
        FaError err = {0};
        test_fail_alloc(k);
        FaCode rc = fai_muscles_place(&s.ground, &m, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (!failed) {
            CHECK_OK(rc, &err);
            assert_true(k > 5);
            fai_muscles_free(&m);
            break;
        }
        assert_int_equal(rc, FA_E_MEMORY);
        assert_null(m.muscle);
    }
    scene_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template), cmocka_unit_test(test_head),   cmocka_unit_test(test_map),
        cmocka_unit_test(test_marks),    cmocka_unit_test(test_settle), cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests_name("muscle_place", tests, NULL, NULL);
}

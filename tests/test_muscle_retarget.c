// A directed pose of the shipped head on other heads. Quick: a funnel on another person, and what is refused or said.
// FASCIA_FULL=1: the table of docs/figures/muscle.md, six shapes on five people, and strangers where their files are.
// labels: heavy
#include "test_head_tools.h"

#include "math/mat3.h"
#include "muscle/muscle_retarget.h"
#include "rig/transfer.h"

#include <stdlib.h>

typedef struct Head {
    FaRig *rig;
    FaFace *face;
    FaMuscleModel *model;
    float *weights, *goal, *surface; // (nshape), (nvert x 3), (nvert x 3)
} Head;

static Head first, second;

static void open_rig(const char *path, int flesh, Head *h) {
    FaError err = {0};
    CHECK_OK(fa_rig_load(path, NULL, &h->rig, &err), &err);
    CHECK_OK(fa_face_get(h->rig, FA_NEED_FACE, NULL, &h->face, &err), &err);
    CHECK_OK(fa_muscle_open(h->rig, h->face, &(FaMuscleOptions){.flesh_size = flesh}, &h->model, &err), &err);
    h->weights = FA_NEW(h->rig->nshape + 1, float);
    h->goal = FA_NEW(3 * (size_t)h->rig->mesh.nvert, float);
    h->surface = FA_NEW(3 * (size_t)h->rig->mesh.nvert, float);
}

static void open_seed(int seed, int flesh, Head *h) {
    FaError err = {0};
    FaHead *head = head_at(0, (uint64_t)seed, true);
    char name[32];
    snprintf(name, sizeof name, "seed_%d.glb", seed);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path(name), &err), &err);
    fa_head_free(head);
    open_rig(test_path(name), flesh, h);
}

static void close_head(Head *h) {
    fa_muscle_close(h->model);
    fa_face_free(h->face);
    fa_rig_free(h->rig);
    fa_free(h->weights);
    fa_free(h->goal);
    fa_free(h->surface);
    *h = (Head){0};
}

static bool full(void) { return getenv("FASCIA_FULL") != NULL; }

static int set_up(void **state) {
    (void)state;
    open_seed(0, full() ? 0 : 1500, &first);
    open_seed(1, full() ? 0 : 1500, &second);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    close_head(&first);
    close_head(&second);
    return 0;
}

// "a+b": both at 1, by ARKit's names; false where the rig has not all of them.
static bool goal_of(Head *h, const char *names) {
    char text[200];
    snprintf(text, sizeof text, "%s", names);
    memset(h->weights, 0, (size_t)h->rig->nshape * sizeof *h->weights);
    for (char *at = strtok(text, "+"); at; at = strtok(NULL, "+")) {
        int i = 0, arkit = fa_arkit_match(at, NULL);
        while (i < h->rig->nshape && h->rig->shape[i].arkit != arkit) i++;
        if (i == h->rig->nshape) return false;
        h->weights[i] = 1;
    }
    fa_rig_blend(h->rig, h->weights, h->goal);
    return true;
}

// rms of the skin that is looked at, m.
static double off(Head *h, const float *x) {
    FaError err = {0};
    FaMuscleDirector *d;
    double sum = 0;
    CHECK_OK(fai_muscle_director(h->model, &d, &err), &err);
    for (int i = 0; i < d->nseen; i++)
        for (int k = 0; k < 3; k++) {
            double e = (double)x[3 * d->seen[i] + k] - (double)h->goal[3 * d->seen[i] + k];
            sum += e * e;
        }
    return 1e3 * sqrt(sum / d->nseen);
}

static double retargeted(Head *a, const FaDirected *pose, Head *b, const FaMuscleRetargetOptions *o,
                         FaMuscleRetargeted *r) {
    FaError err = {0};
    FaDirected *there;
    CHECK_OK(fa_muscle_retarget(a->model, pose, b->model, o, &there, r, &err), &err);
    FaCode rc = fa_muscle_direct(b->model, there, 1, b->surface, NULL, &err);
    CHECK_OK(rc, &err);
    fa_directed_free(there);
    return off(b, b->surface);
}

static FaDirected *target(Head *h, FaMuscleTargeted *hit) {
    FaError err = {0};
    FaDirected *pose;
    CHECK_OK(fa_muscle_target(h->model, h->goal, h->weights, NULL, h->surface, &pose, hit, &err), &err);
    return pose;
}

// One row of the table.
static void measure(Head *a, const FaDirected *pose, Head *b, const char *who, const char *names, double got[3]) {
    FaMuscleTargeted own;
    FaMuscleRetargeted r, none;
    if (!goal_of(b, names)) {
        print_message("| %s | %s | the rig has no such shape |\n", who, names);
        return;
    }
    const double rest = off(b, b->rig->mesh.x);
    got[0] = retargeted(a, pose, b, &(FaMuscleRetargetOptions){.raw = true}, &none);
    got[1] = retargeted(a, pose, b, NULL, &r);
    fa_directed_free(target(b, &own));
    got[2] = 1e3 * own.played;
    print_message("| %s | %s | %.2f | %.2f | %.2f | %.2f | %d of %d | %.1f s |\n", who, names, rest, got[0], got[1],
                  got[2], r.tracks, r.muscles, r.seconds);
}

static void another_person(void **state) {
    (void)state;
    FaMuscleTargeted hit;
    double got[3];
    assert_true(goal_of(&first, "mouthFunnel"));
    FaDirected *pose = target(&first, &hit);
    measure(&first, pose, &second, "seed_1", "mouthFunnel", got);
    assert_true(got[1] < 0.6 * got[0] && got[1] < 1.5);
    fa_directed_free(pose);
}

// On the head itself nothing changes but what the lattice's fit loses.
static void the_head_itself(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleTargeted hit;
    FaMuscleRetargeted r;
    FaDirected *there;
    assert_true(goal_of(&first, "mouthFunnel"));
    FaDirected *pose = target(&first, &hit);
    CHECK_OK(fa_muscle_retarget(first.model, pose, first.model, &(FaMuscleRetargetOptions){.inside = 0.01}, &there, &r,
                                &err),
             &err);
    FaMuscleDirector *d;
    double worst = 0, most = 0;
    const size_t last = 3 * (size_t)pose->npoint * (size_t)(pose->nlevel - 1);
    CHECK_OK(fai_muscle_director(first.model, &d, &err), &err);
    const int n = 3 * d->tracks.nsample; // where the flesh is drawn to
    double *want = FA_NEW(n, double), *got = FA_NEW(n, double);
    fai_muscle_tracks_at(&d->tracks, pose->track + last, want);
    fai_muscle_tracks_at(&d->tracks, there->track + last, got);
    for (int i = 0; i < n; i++) worst = fmax(worst, fabs(got[i] - want[i])), most = fmax(most, fabs(want[i]));
    fa_free(want);
    fa_free(got);
    print_message("the head itself: tracks within %.3f mm of %.1f; %d tracks\n", 1e3 * worst, 1e3 * most, r.tracks);
    assert_true(r.size == 1 && r.jaw_ratio == 1 && !r.missing && r.tracks == r.muscles);
    assert_memory_equal(there->activation, pose->activation, (size_t)pose->nmuscle * sizeof *pose->activation);
    assert_true(worst < 0.25 * most);
    fa_directed_free(there);
    fa_directed_free(pose);
}

// A pose of another face is refused, with the way out; muscles that the other head lacks are named.
static void refused_and_said(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleDirector *d;
    FaDirected *pose, *there;
    FaMuscleRetargeted r;
    CHECK_OK(fai_muscle_director(first.model, &d, &err), &err);
    CHECK_OK(fai_directed_new(d, 0, &pose, &err), &err);
    pose->activation[3] = 0.5;
    strcpy(pose->name[3], "elsewhere.L");
    assert_int_equal(fa_muscle_direct(second.model, pose, 1, second.surface, NULL, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "fascia muscle retarget"));
    assert_int_equal(fa_muscle_retarget(first.model, pose, second.model, NULL, &there, &r, &err), FA_E_ARG);
    assert_null(there);
    assert_int_equal(
        fa_muscle_retarget(first.model, pose, second.model, &(FaMuscleRetargetOptions){.snap = 2}, &there, &r, &err),
        FA_E_ARG);
    // the first head has a muscle of that name, the second has not
    char *name = first.model->muscles.muscle[3].id.name, kept[48];
    snprintf(kept, sizeof kept, "%s", name);
    strcpy(name, "elsewhere.L");
    CHECK_OK(fa_muscle_retarget(first.model, pose, second.model, NULL, &there, &r, &err), &err);
    snprintf(name, sizeof kept, "%s", kept);
    assert_true(r.missing == 1 && !strcmp(r.missing_names, "elsewhere.L") && r.muscles == pose->nmuscle - 1);
    fa_directed_free(there);
    fa_directed_free(pose);
}

// A surface that is turned and scaled, and one that grows along with it: both are met.
static void small_surfaces(void **state) {
    (void)state;
    FaError err = {0};
    FaMuscleMesh mesh;
    CHECK_OK(fa_muscle_mesh(first.model, 0, &mesh, &err), &err);
    const size_t n = (size_t)mesh.nvert;
    const double r[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1};
    FaMesh source = {.nvert = mesh.nvert, .ntri = mesh.ntri, .x = (float *)mesh.x, .tri = (int *)mesh.tri};
    float *to = FA_NEW(3 * n, float);
    double *delta = FA_NEW(3 * n, double), worst = 0;
    for (size_t v = 0; v < n; v++) {
        double x[3], y[3], d[3];
        fai_v3_load(mesh.x, (int)v, x);
        fai_m3_mulv(r, x, y);
        for (size_t k = 0; k < 3; k++) to[3 * v + k] = (float)(2 * y[k]), d[k] = 0.3 * x[k] + 0.01;
        memcpy(delta + 3 * v, d, sizeof d);
    }
    CHECK_OK(fai_transfer_surface(&source, delta, to, NULL, delta, &err), &err);
    for (size_t v = 0; v < n; v++) {
        double x[3], d[3], want[3];
        fai_v3_load(mesh.x, (int)v, x);
        for (int k = 0; k < 3; k++) d[k] = 2 * (0.3 * x[k] + 0.01);
        fai_m3_mulv(r, d, want);
        for (size_t k = 0; k < 3; k++) worst = fmax(worst, fabs(want[k] - delta[3 * v + k]));
    }
    print_message("a turned, scaled surface: %g m off\n", worst);
    assert_true(worst < 1e-5);
    fa_free(to);
    fa_free(delta);
}

static void the_table(void **state) {
    (void)state;
    static const char *const shapes[] = {"mouthSmileLeft+mouthSmileRight", "mouthFunnel", "mouthPucker",
                                         "browInnerUp+browOuterUpLeft+browOuterUpRight", "jawOpen"};
    if (!full()) skip();
    const char *only = getenv("RETARGET_TO"); // one rig in place of all
    FaDirected *pose[FA_COUNT(shapes)];
    FaMuscleTargeted hit;
    double got[3];
    for (int i = 0; i < FA_COUNT(shapes); i++) {
        assert_true(goal_of(&first, shapes[i]));
        pose[i] = target(&first, &hit);
        print_message("the shipped head, %s: %.2f at rest, %.2f by activations, %.2f\n", shapes[i], 1e3 * hit.neutral,
                      1e3 * hit.rms[0], 1e3 * hit.played);
    }
    print_message("| head | shape | at rest | activations | retargeted | its own | tracks | |\n");
    for (int seed = 1; seed <= 5 && !only; seed++) {
        Head head = {0};
        char name[16];
        snprintf(name, sizeof name, "seed_%d", seed);
        open_seed(seed, 0, &head);
        for (int i = 0; i < FA_COUNT(shapes); i++) measure(&first, pose[i], &head, name, shapes[i], got);
        close_head(&head);
    }
    if (only) {
        Head head = {0};
        open_rig(only, 0, &head);
        for (int i = 0; i < FA_COUNT(shapes); i++)
            measure(&first, pose[i], &head, strrchr(only, '/') ? strrchr(only, '/') + 1 : only, shapes[i], got);
        close_head(&head);
    }
    for (int i = 0; i < FA_COUNT(shapes); i++) fa_directed_free(pose[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_surfaces),   cmocka_unit_test(the_head_itself), cmocka_unit_test(another_person),
        cmocka_unit_test(refused_and_said), cmocka_unit_test(the_table),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

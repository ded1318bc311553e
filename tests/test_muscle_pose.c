// Muscles of the shipped head in its filled flesh: what single ones move, lips and lids that touch, a jaw that opens,
// mirror images. All muscles as a table, and twice the nodes: FASCIA_FULL=1.
// labels: heavy
#include "test_head_tools.h"

#include "math/mat3.h"
#include "math/rbf.h"
#include "mesh/intersect.h"
#include "muscle/marks.h"
#include "muscle/muscle_body.h"

typedef struct Model {
    FaFilled flesh;
    FaMuscleMarks marks;
    FaMuscles muscles;
    FaMuscleSamples samples;
    FaMuscleBody *body;
    double *rest, *x, *at; // (nnode x 3)
    float *node, *vert;    // (nnode x 3), (nvert x 3)
    FaMuscleReport report;
} Model;

static FaRig *rig;
static FaFace *face;
static Model model;
static FaRbf *warp;

// Places on the mean head, mm.
enum {
    CORNER,
    CORNER_RIGHT,
    BROW,
    INNER_BROW,
    GLABELLA,
    UPPER_LIP,
    LOWER_LIP,
    CHIN,
    UPPER_LID,
    LOWER_LID,
    ALA,
    PLACES
};
static const double place_at[PLACES][3] = {{25.5, -43, 80}, {-25.5, -43, 80}, {24, 54, 83},   {10, 50, 85},
                                           {0, 45, 88},     {12, -34, 93},    {0, -52, 93.5}, {0, -70, 88.5},
                                           {33, 31, 73},    {33, 22, 72},     {18, -11, 85.5}};
static const char *const place_name[PLACES] = {"corner",    "corner, right", "brow",      "inner brow",
                                               "glabella",  "upper lip",     "lower lip", "chin",
                                               "upper lid", "lower lid",     "ala"};
static int place[PLACES]; // vertices of the rig
enum { DOUBLE_OFF = 5 };  // places that twice the nodes change more: docs/figures/muscle.md

// --- a head with muscles ------------------------------------------------------------------------------------------

static void model_new(Model *m, int size) {
    FaError err = {0};
    FaFilledOptions o = fai_filled_options_default();
    o.size = size;
    CHECK_OK(fai_filled_build(rig, face, &o, &m->flesh, &err), &err);
    const FaFilled *f = &m->flesh;
    CHECK_OK(fai_muscle_marks(rig, &m->marks, &err), &err);
    double *bone = calloc(3 * (size_t)f->nnode, sizeof(double));
    unsigned char *kind = calloc((size_t)f->nnode, 1);
    size_t n = 3 * (size_t)f->nnode;
    m->rest = calloc(n, sizeof(double)), m->x = calloc(n, sizeof(double)), m->at = calloc(n, sizeof(double));
    for (size_t i = 0; i < n; i++) m->rest[i] = (double)f->x[i];
    FaMuscleFlesh flesh = {f->nnode, f->ntet, m->rest, f->tet};
    FaMuscleGround ground = {&rig->mesh, m->marks.n, m->marks.from, m->marks.to, 0.05, 0, bone, kind, &flesh, {1, 1}};
    for (int i = 0; i < f->nnode; i++) {
        if (f->kind[i] == FA_FILLED_FREE || f->skin_of_node[i] >= 0) continue;
        fai_v3_load(f->x, i, bone + 3 * (size_t)ground.nbone);
        kind[ground.nbone++] = f->kind[i] == FA_FILLED_JAW ? FA_MUSCLE_JAW : FA_MUSCLE_SKULL;
    }
    CHECK_OK(fai_muscles_place(&ground, &m->muscles, &err), &err);
    m->node = calloc(n, sizeof(float)), m->vert = calloc(3 * (size_t)rig->mesh.nvert, sizeof(float));
    FaBspline solid[100];
    assert_true(m->muscles.n <= 100);
    for (int i = 0; i < m->muscles.n; i++) solid[i] = m->muscles.muscle[i].solid;
    CHECK_OK(fai_muscle_sample(&flesh, m->muscles.n, solid, &m->samples, &err), &err);
    CHECK_OK(fai_muscle_body_of_face(&ground, face, f, m->muscles.n, &m->samples, NULL, &m->body, &err), &err);
    if (!warp)
        CHECK_OK(fai_rbf_new(ground.npair, ground.from, ground.to, &(FaRbfOptions){.lambda = 0.05}, &warp, &err), &err);
    free(bone);
    free(kind);
}

static void model_free(Model *m) {
    fai_muscle_body_free(m->body);
    fai_muscle_samples_free(&m->samples);
    fai_muscles_free(&m->muscles);
    fai_filled_free(&m->flesh);
    free(m->rest), free(m->x), free(m->at), free(m->node), free(m->vert);
}

static int nearest(const double p[3]) {
    int best = 0;
    double least = INFINITY, x[3];
    for (int v = 0; v < rig->mesh.nvert; v++) {
        fai_v3_load(rig->mesh.x, v, x);
        fai_v3_sub(x, p, x);
        if (fai_v3_norm(x) < least) least = fai_v3_norm(x), best = v;
    }
    return best;
}

static int make(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    FaHead *head = NULL;
    params.level = 0;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("head.glb"), &err), &err);
    fa_head_free(head);
    CHECK_OK(fa_rig_load(test_path("head.glb"), NULL, &rig, &err), &err);
    FaFaceOptions o = fa_face_options_default();
    o.simulate_vertices = 3500;
    CHECK_OK(fa_face_build(rig, &o, &face, &err), &err);
    model_new(&model, 0);
    for (int i = 0; i < PLACES; i++) {
        double p[3];
        fai_rbf_point(warp, place_at[i], p);
        place[i] = nearest(p);
    }
    return 0;
}

static int drop(void **state) {
    (void)state;
    model_free(&model);
    fai_rbf_free(warp);
    fa_face_free(face);
    fa_rig_free(rig);
    return 0;
}

// --- posing -------------------------------------------------------------------------------------------------------

// From rest: all muscles with these names (NULL-terminated) at `share`, the jaw open by so many degrees.
static void pose(Model *m, const char *const *names, double share, double jaw) {
    double act[100] = {0};
    float weights[512] = {0};
    FaError err = {0};
    for (; *names; names++)
        for (int i = 0; i < m->muscles.n; i++)
            if (fai_muscle_named(i, *names)) act[i] = share;
    FaJaw open = face->jaw;
    double part = jaw * acos(-1) / 180 / open.open_angle;
    open.open_angle *= part;
    for (int k = 0; k < 3; k++) open.open_slide[k] *= part;
    weights[open.shape[0]] = 1;
    FaPose turn = fai_jaw_pose(&open, weights);
    size_t n = 3 * (size_t)m->flesh.nnode;
    memcpy(m->x, m->rest, n * sizeof(double));
    memcpy(m->at, m->rest, n * sizeof(double));
    for (int i = 0; i < m->flesh.nnode && jaw > 0; i++)
        if (m->flesh.kind[i] == FA_FILLED_JAW) fai_pose_apply(&turn, m->rest + 3 * i, m->at + 3 * i);
    CHECK_OK(fai_muscle_body_pose(m->body, act, m->at, m->x, &m->report, &err), &err);
    for (size_t i = 0; i < n; i++) m->node[i] = (float)m->x[i];
    memcpy(m->vert, rig->mesh.x, 3 * (size_t)rig->mesh.nvert * sizeof(float));
    fai_filled_ride(&m->flesh, m->node, m->vert);
    assert_int_equal(m->report.rises, 0);
}
#define POSE(share, jaw, ...) pose(&model, (const char *const[]){__VA_ARGS__, NULL}, share, jaw)

// mm: x to the head's left, y up, z forward.
static void moved(const Model *m, int vertex, double d[3]) {
    double a[3], b[3];
    fai_v3_load(m->vert, vertex, a);
    fai_v3_load(rig->mesh.x, vertex, b);
    fai_v3_sub(a, b, b);
    fai_m3_mulv(rig->axes, b, d);
    fai_v3_scale(1e3, d, d);
}

static double moved_by(const Model *m, int at) {
    double d[3];
    moved(m, place[at], d);
    return fai_v3_norm(d);
}

// Pairs of triangles of the skin that cross at vert.
static int crossings(const Model *m, bool lips) {
    FaError err = {0};
    static int pair[4096][2];
    int n = 0, all = 0;
    float *skin = calloc(3 * (size_t)face->nskin, sizeof(float));
    int *weld = calloc((size_t)face->nskin, sizeof(int));
    for (int i = 0; i < face->nskin; i++) {
        weld[i] = i;
        memcpy(skin + 3 * i, m->vert + 3 * (size_t)face->skin_vertex[i], 3 * sizeof(float));
    }
    FaMesh mesh = {.nvert = face->nskin, .ntri = face->ntri, .x = face->x0, .tri = face->tri, .weld = weld};
    CHECK_OK(fai_self_intersections(&mesh, skin, NULL, pair, 4096, &all, &err), &err);
    for (int i = 0; i < all && i < 4096; i++) {
        int of_lip = 0;
        for (int k = 0; k < 2; k++) {
            int v = face->tri[3 * pair[i][k]];
            of_lip |= face->region[FA_REGION_LIP_UPPER][v] > 0.1f || face->region[FA_REGION_LIP_LOWER][v] > 0.1f;
        }
        n += !lips || of_lip;
    }
    free(skin);
    free(weld);
    return n;
}

// How much deeper in an eye than at rest, or than its surface, any vertex is that was within 4 mm of one, mm.
static double in_eyes(const Model *m) {
    double worst = 0;
    for (int b = 0; b < face->nbone; b++) {
        const FaBone *bone = &face->bone[b];
        double mid[3] = {0}, r = INFINITY, x[3];
        if (bone->kind != FA_BONE_EYE) continue;
        for (int v = 0; v < bone->nvert; v++) {
            fai_v3_load(bone->x, v, x);
            fai_v3_mad(mid, 1.0 / bone->nvert, x, mid);
        }
        for (int v = 0; v < bone->nvert; v++) {
            fai_v3_load(bone->x, v, x);
            fai_v3_sub(x, mid, x);
            r = fmin(r, fai_v3_norm(x));
        }
        for (int i = 0; i < face->nskin; i++) {
            fai_v3_load(face->x0, i, x);
            fai_v3_sub(x, mid, x);
            double before = fai_v3_norm(x);
            fai_v3_load(m->vert, face->skin_vertex[i], x);
            fai_v3_sub(x, mid, x);
            if (before < r + 4e-3) worst = fmax(worst, fmin(before, r) - fai_v3_norm(x));
        }
    }
    return 1e3 * worst;
}

static void say(const char *what) {
    const FaMuscleReport *r = &model.report;
    print_message(
        "%s: %d solves, %d iterations, %.2f s, %d inverted, volume %.3f, deep %.2f mm, %d stopped, %d cross\n", what,
        r->solves, r->iterations, r->seconds, r->inverted, r->volume, 1e3 * r->deep, r->stopped,
        crossings(&model, false));
    assert_true(r->status == FA_NEWTON_CONVERGED);
}

// --- tests --------------------------------------------------------------------------------------------------------

static void test_rest(void **state) {
    (void)state;
    POSE(0, 0, "zyg_maj");
    for (int i = 0; i < 3 * model.flesh.nnode; i++) CHECK_NEAR(model.x[i], model.rest[i], 1e-7);
    assert_int_equal(crossings(&model, false), 0);
}

static void test_smile(void **state) {
    (void)state;
    double d[3];
    POSE(1, 0, "zygomaticus_major");
    say("smile");
    moved(&model, place[CORNER], d);
    print_message("corner %.1f out, %.1f up, %.1f forward\n", d[0], d[1], d[2]);
    assert_true(fai_v3_norm(d) >= 8 && d[0] > 3 && d[1] > 5);
    assert_int_equal(crossings(&model, true), 0);
    assert_int_equal(model.report.inverted, 0);
}

static void test_purse(void **state) {
    (void)state;
    double l[3], r[3];
    POSE(1, 0, "orbicularis_oris*");
    say("purse");
    moved(&model, place[CORNER], l);
    moved(&model, place[CORNER_RIGHT], r);
    print_message("corners %.1f %.1f in, %.1f %.1f forward\n", -l[0], r[0], l[2], r[2]);
    assert_true(l[0] < -6 && r[0] > 6 && l[2] > 6 && r[2] > 6);
    assert_int_equal(crossings(&model, true), 0);
    assert_true(model.report.inverted == 0 && model.report.deep < 3e-4);
    POSE(1, 0, "orbicularis_oris*", "mentalis");
    say("press");
    assert_int_equal(crossings(&model, true), 0);
}

static void test_brow_chin_lids(void **state) {
    (void)state;
    double d[3], up[3], low[3], open[3], a[3];
    POSE(1, 0, "frontalis*");
    moved(&model, place[BROW], d);
    moved(&model, place[UPPER_LID], up);
    print_message("frontalis: brow %.1f up, upper lid %.1f\n", d[1], up[1]);
    assert_true(d[1] > 8 && up[1] < 0.6 * d[1]); // the lid stays on the eye
    POSE(1, 0, "mentalis");
    moved(&model, place[CHIN], d);
    print_message("mentalis: chin %.1f up\n", d[1]);
    assert_true(d[1] > 3);
    POSE(1, 0, "orbicularis_oculi*");
    say("blink");
    fai_v3_load(rig->mesh.x, place[UPPER_LID], open);
    fai_v3_load(rig->mesh.x, place[LOWER_LID], a);
    fai_v3_sub(open, a, a);
    fai_m3_mulv(rig->axes, a, open);
    moved(&model, place[UPPER_LID], up);
    moved(&model, place[LOWER_LID], low);
    print_message("lids %.1f mm apart at rest, %.1f now; %.2f mm into the eyes\n", 1e3 * open[1],
                  1e3 * open[1] + up[1] - low[1], in_eyes(&model));
    assert_true(1e3 * open[1] + up[1] - low[1] < 1.5);
    assert_true(in_eyes(&model) < 0.5);
    assert_int_equal(crossings(&model, false), 0);
}

static void test_jaw(void **state) {
    (void)state;
    double d[3];
    POSE(0, 25, "zyg_maj");
    say("jaw 25");
    moved(&model, place[CHIN], d);
    print_message("chin %.1f down\n", -d[1]);
    assert_true(d[1] < -20 && model.report.inverted <= 6);
    assert_int_equal(crossings(&model, true), 0);
}

// One side's muscle against the other's: vertices and their mirror images, mm rms and worst over the face.
static void test_mirror(void **state) {
    (void)state;
    int n = rig->mesh.nvert, count = 0;
    float *left = malloc(3 * (size_t)n * sizeof(float));
    double sum = 0, worst = 0, q[3], p[3], a[3], b[3];
    POSE(1, 0, "zygomaticus_major.L");
    memcpy(left, model.vert, 3 * (size_t)n * sizeof(float));
    POSE(1, 0, "zygomaticus_major.R");
    for (int v = 0; v < n; v++) {
        if (face->node_of_vertex[v] < 0) continue;
        fai_v3_load(rig->mesh.x, v, p);
        fai_m3_mulv(rig->axes, p, q);
        q[0] = -q[0];
        fai_m3_tmulv(rig->axes, q, p);
        int w = nearest(p);
        fai_v3_load(rig->mesh.x, w, a);
        fai_v3_sub(a, p, a);
        if (fai_v3_norm(a) > 1e-5) continue;
        moved(&model, w, b);
        for (int k = 0; k < 3; k++) a[k] = 1e3 * ((double)left[3 * v + k] - (double)rig->mesh.x[3 * v + k]);
        fai_m3_mulv(rig->axes, a, p);
        b[0] = -b[0];
        fai_v3_sub(p, b, b);
        sum += fai_v3_dot(b, b), worst = fmax(worst, fai_v3_norm(b)), count++;
    }
    print_message("mirror image: %d vertices, %.3f mm rms, %.2f worst\n", count, sqrt(sum / count), worst);
    assert_true(count > 1000 && sqrt(sum / count) < 0.25 && worst < 2);
    free(left);
}

static void test_threads(void **state) {
    (void)state;
    size_t n = 3 * (size_t)model.flesh.nnode * sizeof(double);
    double *first = malloc(n);
    for (int t = 0; t < 3; t++) {
        fa_threads_set((int[]){1, 2, 8}[t]);
        fai_muscle_body_free(model.body);
        FaError err = {0};
        FaMuscleGround ground = {
            .skin = &rig->mesh, .npair = model.marks.n, .from = model.marks.from, .to = model.marks.to, .noise = 0.05};
        CHECK_OK(fai_muscle_body_of_face(&ground, face, &model.flesh, model.muscles.n, &model.samples, NULL,
                                         &model.body, &err),
                 &err);
        POSE(0.5, 0, "orbicularis_oris*");
        if (t == 0) memcpy(first, model.x, n);
        assert_memory_equal(first, model.x, n);
    }
    fa_threads_set(0);
    free(first);
}

// Its name for both sides, as --act takes it, and as pages write it.
static bool both_sides(FaMuscleId id, char both[64], char shown[64]) {
    if (id.side < 0) return false;
    snprintf(both, 64, "%.*s", (int)strcspn(id.name, "."), id.name);
    snprintf(shown, 64, "%s", both);
    for (char *c = shown; *c; c++)
        if (*c == '_') *c = ' ';
    return true;
}

// What an earlier study of the same head had, with another mesher and crude contact.
static const char *prototype(const char *muscle) {
    static const char *const had[][2] = {{"frontalis_medial", "brow 10 (both parts)"},
                                         {"corrugator", "brow 8"},
                                         {"levator_labii_superioris", "lip 7.1"},
                                         {"levator_anguli_oris", "corner 4.3"},
                                         {"zygomaticus_major", "corner 8.0"},
                                         {"buccinator", "corner 8.3"},
                                         {"incisivus_superior", "corner 2"},
                                         {"depressor_anguli_oris", "corner 8.1"},
                                         {"mentalis", "chin 7"}};
    for (int i = 0; i < FA_COUNT(had); i++)
        if (!strcmp(had[i][0], muscle)) return had[i][1];
    return "";
}

// Every muscle at 1, both sides: the table of docs/figures/muscle.md.
static void test_table(void **state) {
    (void)state;
    if (!getenv("FASCIA_FULL")) skip();
    print_message("| muscle | moves | prototype | inverted | cross |\n|---|---|---|---|---|\n");
    for (int i = 0; i < model.muscles.n; i++) {
        char both[64], shown[64];
        const char *before = "";
        if (!both_sides(model.muscles.muscle[i].id, both, shown)) continue;
        POSE(1, 0, both);
        print_message("| %s | ", shown);
        for (int k = 0; k < PLACES; k++) {
            double d[3];
            moved(&model, place[k], d);
            if (k == CORNER_RIGHT || fai_v3_norm(d) < 1) continue;
            print_message("%s%s %.1f (%.1f %.1f %.1f)", before, place_name[k], fai_v3_norm(d), d[0], d[1], d[2]);
            before = "; ";
        }
        print_message("%s | %s | %d | %d |\n", *before ? "" : "below 1", prototype(both), model.report.inverted,
                      crossings(&model, false));
    }
}

// mm that each place moves with both sides of a muscle at 1.
static void move_places(Model *m, const char *both, double mm[PLACES]) {
    pose(m, (const char *const[]){both, NULL}, 1, 0);
    for (int k = 0; k < PLACES; k++) mm[k] = moved_by(m, k);
}

static double changed(const double *a, const double *b, int k) { return b[k] / a[k] - 1; }

// Twice the nodes: every muscle at 1, and every place that it moves by more than 2 mm; the table has the one that it
// moves most, and the one that changes most.
static void test_double(void **state) {
    (void)state;
    if (!getenv("FASCIA_FULL")) skip();
    Model fine = {0};
    int count = 0, places = 0, off = 0, most_off = 0;
    model_new(&fine, 2 * model.flesh.report.free);
    print_message("%d free nodes and %d\n", model.flesh.report.free, fine.flesh.report.free);
    print_message(
        "| muscle | moves most | mm | twice the nodes | change | changes most | mm | twice the nodes | change "
        "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < model.muscles.n; i++) {
        char both[64], shown[64];
        double a[PLACES], b[PLACES];
        int most = 0, worst = -1;
        if (!both_sides(model.muscles.muscle[i].id, both, shown)) continue;
        move_places(&model, both, a);
        for (int k = 1; k < PLACES; k++)
            if (a[k] > a[most]) most = k;
        if (a[most] <= 2) continue;
        move_places(&fine, both, b);
        for (int k = 0; k < PLACES; k++) {
            if (a[k] <= 2) continue;
            if (worst < 0 || fabs(changed(a, b, k)) > fabs(changed(a, b, worst))) worst = k;
            bool far = fabs(a[k] - b[k]) >= 0.15 * fmax(a[k], b[k]);
            places++, off += far, most_off += far && k == most;
        }
        print_message("| %s | %s | %.2f | %.2f | %+.0f %% | %s | %.2f | %.2f | %+.0f %% |\n", shown, place_name[most],
                      a[most], b[most], 100 * changed(a, b, most), place_name[worst], a[worst], b[worst],
                      100 * changed(a, b, worst));
        count++;
    }
    print_message("%d muscles, %d of %d places change by 15 %% or more\n", count, off, places);
    assert_true(count >= 20 && most_off == 0 && off <= DOUBLE_OFF);
    model_free(&fine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rest),           cmocka_unit_test(test_smile),  cmocka_unit_test(test_purse),
        cmocka_unit_test(test_brow_chin_lids), cmocka_unit_test(test_jaw),    cmocka_unit_test(test_mirror),
        cmocka_unit_test(test_table),          cmocka_unit_test(test_double), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, make, drop);
}

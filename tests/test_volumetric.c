// The method volumetric: layers without inverted tets, energies with true gradients, the neutral and single shapes as
// sculpted, nothing crossed, phi after phi+ the identity, one head's flesh on another, filled flesh refused.
#include "test.h"

#include "energy/membrane.h"
#include "face/skin_motion.h"
#include "mesh/intersect.h"
#include "neural/poses.h"
#include "volumetric/flesh_from.h"
#include "volumetric/forward.h"

enum { COARSE = 600 };

static struct {
    FaRig *rig;
    FaFace *face;  // coarse
    FaFace *whole; // every vertex
    float *weights, *x, *linear;
} scene;

static FaRig *head_of(uint64_t seed, const char *save) {
    FaError err = {0};
    FaHead *head;
    FaRig *rig;
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    fa_head_params_seed(&params, seed);
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    if (save) CHECK_OK(fa_head_save(head, NULL, false, NULL, save, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    return rig;
}

static int set_up(void **state) {
    (void)state;
    FaError err = {0};
    scene.rig = head_of(3, NULL);
    const FaFaceOptions o = {.layers = 1, .simulate_vertices = COARSE};
    CHECK_OK(fa_face_build(scene.rig, &o, &scene.face, &err), &err);
    CHECK_OK(fa_face_build(scene.rig, NULL, &scene.whole, &err), &err);
    size_t n = 3 * (size_t)scene.rig->mesh.nvert;
    scene.weights = calloc((size_t)scene.rig->nshape, sizeof(float));
    scene.x = calloc(n, sizeof(float));
    scene.linear = calloc(n, sizeof(float));
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fa_face_free(scene.face);
    fa_face_free(scene.whole);
    fa_rig_free(scene.rig);
    free(scene.weights);
    free(scene.x);
    free(scene.linear);
    return 0;
}

static int shape_of(const char *arkit) {
    for (int s = 0; s < scene.rig->nshape; s++)
        if (scene.rig->shape[s].arkit >= 0 && !strcmp(fa_arkit_name(scene.rig->shape[s].arkit), arkit)) return s;
    fail_msg("no shape %s", arkit);
    return -1;
}

static void set(const char *arkit, double weight) { scene.weights[shape_of(arkit)] = (float)weight; }
static void clear(void) { memset(scene.weights, 0, (size_t)scene.rig->nshape * sizeof(float)); }

static FaMethod *open_with(const FaFace *face, const char *name, const char *value) {
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    CHECK_OK(fa_params_new("volumetric", &params, &err), &err);
    if (name) CHECK_OK(fa_params_set(params, name, value, &err), &err);
    const FaMethodSetup setup = {.rig = scene.rig, .face = face, .params = params};
    CHECK_OK(fa_method_open("volumetric", &setup, &m, &err), &err);
    fa_params_free(params);
    return m;
}

static void pose(FaMethod *m) {
    FaError err = {0};
    FaInput in = {.weights = scene.weights};
    CHECK_OK(fa_method_reset(m, &in, scene.x, &err), &err);
    fa_rig_blend(scene.rig, scene.weights, scene.linear);
}

// Mean over the simulated vertices, mm.
static double off(const float *a, const float *b) {
    double sum = 0;
    int n = 0;
    for (int v = 0; v < scene.rig->mesh.nvert; v++) {
        double d = 0;
        if (scene.face->node_of_vertex[v] < 0) continue;
        for (size_t k = 0; k < 3; k++) d += pow((double)a[3 * (size_t)v + k] - (double)b[3 * (size_t)v + k], 2);
        sum += sqrt(d), n++;
    }
    return 1e3 * sum / n;
}

static int crossings(const float *x) {
    FaError err = {0};
    int n;
    CHECK_OK(fai_self_intersections(&scene.rig->mesh, x, NULL, NULL, 0, &n, &err), &err);
    return n;
}

// --- energies -------------------------------------------------------------------------------------------------------

static void membranes_have_true_gradients(void **state) {
    (void)state;
    for (int k = 0; k < 200; k++) {
        double x0[9], u[3][3], g[9], up[3][3];
        const int node[3] = {0, 1, 2};
        const double far = k % 4 == 0 ? 0 : k % 4 == 1 ? 1e-3 : k % 4 == 2 ? 0.3 : 3;
        for (int i = 0; i < 9; i++) {
            x0[i] = fai_random_normal(5, (uint64_t)(20 * k + i));
            u[i / 3][i % 3] = far * fai_random_normal(6, (uint64_t)(20 * k + i));
        }
        const double e = fai_membrane_energy_ref(x0, node, 2, (const double(*)[3])u, g);
        assert_true(e >= 0);
        if (far == 0) CHECK_NEAR(e, 0, 1e-28);
        for (int i = 0; i < 9; i++) {
            const double h = 1e-6;
            double d[2];
            for (int side = 0; side < 2; side++) {
                memcpy(up, u, sizeof up);
                up[i / 3][i % 3] += side ? h : -h;
                d[side] = fai_membrane_energy_ref(x0, node, 2, (const double(*)[3])up, NULL);
            }
            CHECK_NEAR(g[i], (d[1] - d[0]) / (2 * h), 1e-5 * (1 + fabs(g[i])));
        }
    }
}

// A turned triangle costs nothing, one crushed to a line or a point is finite.
static void membranes_turn_and_collapse(void **state) {
    (void)state;
    const double x0[9] = {0, 0, 0, 1, 0, 0, 0.3, 0.8, 0};
    const int node[3] = {0, 1, 2};
    double turned[3][3], flat[3][3], point[3][3], g[9];
    for (int c = 0; c < 3; c++) {
        const double *p = x0 + 3 * c, to[3] = {p[2], p[0], p[1]};
        for (int k = 0; k < 3; k++) turned[c][k] = to[k] - p[k], point[c][k] = -p[k], flat[c][k] = k ? -p[k] : 0;
    }
    CHECK_NEAR(fai_membrane_energy_ref(x0, node, 1, (const double(*)[3])turned, g), 0, 1e-28);
    for (int k = 0; k < 9; k++) CHECK_NEAR(g[k], 0, 1e-14);
    assert_true(isfinite(fai_membrane_energy_ref(x0, node, 1, (const double(*)[3])flat, g)));
    for (int k = 0; k < 9; k++) assert_true(isfinite(g[k]));
    CHECK_NEAR(fai_membrane_energy_ref(x0, node, 1, (const double(*)[3])point, g), 1, 1e-6);
    for (int k = 0; k < 9; k++) assert_true(isfinite(g[k]));
}

// What the solver minimises under the paper's physics, against the same in double.
static void the_papers_energy_has_a_true_gradient(void **state) {
    (void)state;
    FaError err = {0};
    FaPhysics *p;
    const FaPhysicsOptions o = fai_physics_options(FA_PHYSICS_PAPER);
    CHECK_OK(fai_physics_new(scene.rig, scene.face, &o, &p, &err), &err);
    assert_true(p->e.nmembrane > COARSE && p->e.nbend > 0);
    clear(), set("jawOpen", 0.5), set("mouthSmileLeft", 1);
    fa_rig_blend(scene.rig, scene.weights, scene.linear);
    fai_face_skin_to(scene.face, scene.linear, p->lifted);
    FaStats stats = {0};
    CHECK_OK(fai_physics_pose(p, scene.weights, &stats, &err), &err);
    const size_t n = (size_t)p->layered->nnode;
    double *u = calloc(3 * n, sizeof *u), *y = calloc(3 * n, sizeof *y), *anchor = calloc(6 * n, sizeof *anchor);
    double *want = calloc(3 * n, sizeof *want), worst = 0, size = 0;
    float *g = aligned_alloc(64, (16 * n + 127) / 64 * 64);
    memset(g, 0, 16 * n);
    for (size_t i = 0; i < 3 * n; i++)
        u[i] = (double)p->u[4 * (i / 3) + i % 3], y[i] = (double)p->input.y[4 * (i / 3) + i % 3];
    for (size_t i = 0; i < 3 * (size_t)p->e.nanchor; i++) anchor[i] = (double)p->anchor[4 * (i / 3) + i % 3];
    const FaReferenceInput in = {.y = y, .inertia = p->input.inertia, .anchor = anchor};
    const double e0 = fai_reference_energy(&p->e, &in, u, want);
    const double e1 = fai_projective_energy(p->solver, &p->input, p->u, g);
    CHECK_NEAR(e1 / e0, 1, 1e-4);
    for (size_t i = 0; i < 3 * n; i++) {
        worst = fmax(worst, fabs((double)g[4 * (i / 3) + i % 3] - want[i]));
        size = fmax(size, fabs(want[i]));
    }
    print_message("energy %g J, gradient up to %g N, off by %g\n", e0, size, worst);
    assert_true(worst < 2e-3 * fmax(size, 1e-3));
    free(u), free(y), free(anchor), free(want), free(g);
    fai_physics_free(p);
}

// --- the layered head -----------------------------------------------------------------------------------------------

static void layers_are_sound(void **state) {
    (void)state;
    FaError err = {0};
    for (uint64_t seed = 0; seed < 3; seed++) {
        FaRig *rig = head_of(seed, NULL);
        FaFace *face;
        FaLayered *l;
        CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
        CHECK_OK(fai_layered_new(face, &l, &err), &err);
        int muscle = 0;
        for (int t = 0; t < l->ntet; t++) {
            assert_true(l->volume[t] > 0);
            muscle += l->muscle[t];
        }
        assert_int_equal(2 * muscle, l->ntet);
        assert_true(l->left_out * 200 < face->ntri);
        for (int i = 0; i < l->nskin; i++) assert_true(l->share[i] > 0.05 && l->share[i] < 0.95);
        fai_layered_free(l);
        fa_face_free(face);
        fa_rig_free(rig);
    }
}

static void filled_flesh_is_refused(void **state) {
    (void)state;
    FaError err = {0};
    FaFace filled = {.layers = 0};
    FaLayered *l;
    assert_int_equal(fai_layered_new(&filled, &l, &err), FA_E_ARG);
    assert_non_null(strstr(err.remedy, "--flesh"));
    assert_null(l);
}

// --- poses ----------------------------------------------------------------------------------------------------------

static void sculpted_shapes_stay(void **state) {
    (void)state;
    FaMethod *m = open_with(scene.face, NULL, NULL);
    clear();
    pose(m);
    assert_memory_equal(scene.x, scene.rig->mesh.x, 3 * (size_t)scene.rig->mesh.nvert * sizeof(float));
    double worst = 0;
    for (int s = 0; s < scene.rig->nshape; s++) {
        const int arkit = scene.rig->shape[s].arkit;
        if (arkit >= 0 && !strcmp(fa_arkit_name(arkit), "mouthClose")) continue; // means nothing without jawOpen
        clear();
        scene.weights[s] = 1;
        pose(m);
        worst = fmax(worst, off(scene.x, scene.linear));
        assert_true(crossings(scene.x) <= crossings(scene.linear));
    }
    print_message("single shapes change by %.4f mm at most\n", worst);
    assert_true(worst <= 0.1);
    // half of a jaw is not what was sculpted: blending goes straight where a jaw turns
    clear(), set("jawOpen", 0.5);
    pose(m);
    print_message("half a jaw: %.4f mm\n", off(scene.x, scene.linear));
    assert_true(off(scene.x, scene.linear) <= 0.1);
    // left and right together are one shape
    clear(), set("mouthSmileLeft", 1), set("mouthSmileRight", 1);
    pose(m);
    assert_true(off(scene.x, scene.linear) <= 0.01);
    fa_method_close(m);
}

static double volume_in(const FaLayered *l, int tet, const float *u) {
    const int *v = l->tet[tet];
    double e[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            e[i][k] =
                l->x0[3 * v[i + 1] + k] - l->x0[3 * v[0] + k] + (double)u[4 * v[i + 1] + k] - (double)u[4 * v[0] + k];
    return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) - e[0][1] * (e[1][0] * e[2][2] - e[1][2] * e[2][0]) +
            e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
           6;
}

// What several shapes press beyond the strongest of them gives way; no tet turns over that the lift leaves whole.
static void sums_are_taken_back(void **state) {
    (void)state;
    static const char *const smile[] = {"mouthSmileLeft", "mouthDimpleLeft", "cheekSquintLeft", "noseSneerLeft"};
    FaError err = {0};
    FaPhysics *p;
    const FaPhysicsOptions o = fai_physics_options(FA_PHYSICS_LIMITED);
    CHECK_OK(fai_physics_new(scene.rig, scene.whole, &o, &p, &err), &err);
    double last = -1;
    for (int n = 1; n <= 4; n++) {
        FaStats stats = {0};
        double sum = 0;
        clear();
        for (int k = 0; k < n; k++) set(smile[k], 1);
        fa_rig_blend(scene.rig, scene.weights, scene.linear);
        fai_face_skin_to(scene.whole, scene.linear, p->lifted);
        CHECK_OK(fai_physics_pose(p, scene.weights, &stats, &err), &err);
        for (int i = 0; i < p->layered->nskin; i++) {
            double d = 0;
            for (int k = 0; k < 3; k++) d += pow((double)p->u[4 * i + k] - (double)p->lifted[4 * i + k], 2);
            sum += 1e3 * sqrt(d) / p->layered->nskin;
        }
        for (int t = 0; t < p->layered->ntet; t++)
            if (volume_in(p->layered, t, p->lifted) > 2e-3 * p->layered->volume[t])
                assert_true(volume_in(p->layered, t, p->u) > 0);
        print_message("%d shapes: %d tets clamped, %.3f mm\n", n, p->clamped, sum);
        assert_true(n == 1 ? p->clamped == 0 && sum == 0 : sum > last);
        last = sum;
    }
    fai_physics_free(p);
}

typedef struct Field {
    double moved, change, linear, limited, even; // mm, sums over nodes: of S, of what is added; distances to truth
    long n;
} Field;

// One pose: beside the head's own nonlinear one, and the linear one weakened as much everywhere.
static void add_pose(const FaPhysics *p, const FaRig *rig, const float *truth, Field *f) {
    const FaFace *face = p->layered->face;
    double ab = 0, aa = 0;
    for (int i = 0; i < 4 * face->nskin; i++)
        if (i % 4 < 3) ab += (double)p->u[i] * (double)p->lifted[i], aa += pow((double)p->lifted[i], 2);
    const double share = aa > 0 ? ab / aa : 1;
    for (int i = 0; i < face->nskin; i++) {
        double d[5] = {0};
        for (int k = 0; k < 3; k++) {
            const int at = 3 * face->skin_vertex[i] + k;
            const double s = (double)p->lifted[4 * i + k], u = (double)p->u[4 * i + k];
            const double t = (double)truth[at] - (double)rig->mesh.x[at];
            d[0] += s * s, d[1] += (u - s) * (u - s);
            d[2] += (s - t) * (s - t), d[3] += (u - t) * (u - t), d[4] += (share * s - t) * (share * s - t);
        }
        f->moved += 1e3 * sqrt(d[0]), f->change += 1e3 * sqrt(d[1]), f->linear += 1e3 * sqrt(d[2]);
        f->limited += 1e3 * sqrt(d[3]), f->even += 1e3 * sqrt(d[4]), f->n++;
    }
}

static void take_person(int person, const FaPoses *poses, double margin, Field *f) {
    FaError err = {0};
    FaHead *head;
    FaRig *rig;
    FaFace *face;
    FaPhysics *p;
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    fa_head_params_seed(&params, 100 + (uint64_t)person);
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_face_build(rig, NULL, &face, &err), &err);
    FaPhysicsOptions o = fai_physics_options(FA_PHYSICS_LIMITED);
    o.margin = margin;
    CHECK_OK(fai_physics_new(rig, face, &o, &p, &err), &err);
    float *x = malloc(3 * sizeof *x * (size_t)rig->mesh.nvert), *w = calloc((size_t)rig->nshape, sizeof *w);
    for (int k = 0; k < 12; k++) {
        float arkit[FA_ARKIT_COUNT];
        FaSampleKind kind;
        int clip;
        FaStats stats = {0};
        fai_pose_draw(poses, (uint64_t)person, k, arkit, &kind, &clip);
        for (int s = 0; s < rig->nshape; s++) w[s] = rig->shape[s].arkit < 0 ? 0 : arkit[rig->shape[s].arkit];
        fa_rig_blend(rig, w, x);
        fai_face_skin_to(face, x, p->lifted);
        CHECK_OK(fai_physics_pose(p, w, &stats, &err), &err);
        CHECK_OK(fa_head_truth(head, 0, arkit, x, &err), &err);
        add_pose(p, rig, x, f);
    }
    free(x), free(w);
    fai_physics_free(p), fa_face_free(face), fa_rig_free(rig), fa_head_free(head);
}

// The table of docs/method/volumetric.md; minutes.
static void what_is_taken_back(void **state) {
    (void)state;
    if (!getenv("FASCIA_FULL")) skip();
    static const char *const takes[] = {NULL, "clips/livelink/dao_decoded.csv", "clips/livelink/alex_rom_3.csv"};
    static const double margin[] = {0.05, 0.01, 0};
    for (int i = 0; i < 3; i++)
        for (int m = 0; m < 3; m++) {
            const char *take = takes[i] ? test_data(takes[i]) : NULL;
            if (takes[i] && !take) continue;
            bool has[FA_ARKIT_COUNT];
            FaPoses poses;
            FaError err = {0};
            Field f = {0};
            memset(has, 1, sizeof has);
            CHECK_OK(fai_poses_open(7, &take, take != NULL, has, &poses, &err), &err);
            for (int person = 0; person < 6; person++) take_person(person, &poses, margin[m], &f);
            fai_poses_close(&poses);
            const double n = (double)f.n;
            print_message(
                "%s, %g %% wider: moved %.2f mm, changed %.3f; to truth: linear %.3f, limited %.3f, evenly %.3f\n",
                take ? takes[i] : "own clips", 100 * margin[m], f.moved / n, f.change / n, f.linear / n, f.limited / n,
                f.even / n);
            assert_true(f.change > 0 && f.limited < f.linear);
        }
}

// Lids and lips of sums of shapes cross; neither physics lets them.
static void nothing_ends_crossed(void **state) {
    (void)state;
    static const char *const physics[] = {"limited", "paper"};
    for (int p = 0; p < 2; p++) {
        FaMethod *m = open_with(scene.whole, "physics", physics[p]);
        int before = 0, after = 0;
        double c = 0;
        for (int k = 0; k < 4; k++) {
            clear();
            set("eyeBlinkLeft", 0.6 + 0.1 * k), set("eyeSquintLeft", 0.7), set("cheekSquintLeft", 0.5 + 0.1 * k);
            set("eyeBlinkRight", 1.1), set("eyeSquintRight", 0.9), set("mouthPucker", 0.9);
            pose(m);
            c += off(scene.x, scene.linear) / 4;
            before += crossings(scene.linear), after += crossings(scene.x);
        }
        print_message("%s: crossing pairs %d -> %d, %.3f mm\n", physics[p], before, after, c);
        assert_true(before > 0 && after == 0 && c > 0);
        fa_method_close(m);
    }
}

static void a_pose_depends_on_its_input_alone(void **state) {
    (void)state;
    FaError err = {0};
    FaMethod *m = open_with(scene.face, NULL, NULL);
    size_t bytes = 3 * (size_t)scene.rig->mesh.nvert * sizeof(float);
    clear(), set("jawOpen", 0.4), set("eyeBlinkLeft", 1.1), set("mouthPucker", 0.8);
    pose(m);
    float *want = malloc(bytes);
    memcpy(want, scene.x, bytes);
    set("mouthFunnel", 1), set("eyeBlinkRight", 1.2);
    FaInput in = {.time = 1, .weights = scene.weights};
    CHECK_OK(fa_method_step(m, &in, scene.x, NULL, &err), &err);
    set("mouthFunnel", 0), set("eyeBlinkRight", 0);
    in.time = 2;
    CHECK_OK(fa_method_step(m, &in, scene.x, NULL, &err), &err);
    assert_memory_equal(scene.x, want, bytes);
    free(want);
    fa_method_close(m);
}

// --- phi ------------------------------------------------------------------------------------------------------------

// phi finds what phi+ found from its gradients alone, from the neutral.
static void phi_after_phi_plus_is_the_identity(void **state) {
    (void)state;
    FaError err = {0};
    FaPhysics *p;
    FaForward *forward;
    const FaPhysicsOptions o = fai_physics_options(FA_PHYSICS_PAPER);
    CHECK_OK(fai_physics_new(scene.rig, scene.face, &o, &p, &err), &err);
    CHECK_OK(fai_forward_new(p->layered, &(FaForwardOptions){0}, &forward, &err), &err);
    clear(), set("mouthSmileLeft", 1), set("jawOpen", 0.4), set("browInnerUp", 0.7);
    fa_rig_blend(scene.rig, scene.weights, scene.linear);
    fai_face_skin_to(scene.face, scene.linear, p->lifted);
    FaStats stats = {0};
    CHECK_OK(fai_physics_pose(p, scene.weights, &stats, &err), &err);
    fai_physics_gradients(p);
    const size_t n = (size_t)p->layered->nnode, skin = (size_t)p->layered->nskin;
    float *u = aligned_alloc(64, (16 * n + 127) / 64 * 64);
    const int rounds[] = {6, 150};
    double miss[2];
    for (int k = 0; k < 2; k++) {
        memset(u, 0, 16 * n);
        CHECK_OK(fai_forward(forward, p->tet_rest, p->u + 8 * skin, rounds[k], u, NULL, &err), &err);
        miss[k] = 0;
        for (size_t i = 0; i < skin; i++) {
            double d = 0;
            for (size_t c = 0; c < 3; c++) d += pow((double)u[4 * i + c] - (double)p->u[4 * i + c], 2);
            miss[k] += 1e3 * sqrt(d) / (double)skin;
        }
    }
    print_message("phi(phi+): off by %.3f mm after 6 iterations from the neutral, %.4f after 150\n", miss[0], miss[1]);
    assert_true(miss[1] <= 0.05);
    free(u);
    fai_forward_free(forward);
    fai_physics_free(p);
}

// Another identity's flesh moves this face nearly as its own shapes do; from itself, exactly so.
static void flesh_of_another_head(void **state) {
    (void)state;
    FaError err = {0};
    static const struct {
        uint64_t seed;
        const char *passive;
        double most; // of what moves
    } tries[] = {{3, "off", 0.1}, {3, "on", 0.35}, {7, "off", 0.25}, {7, "on", 0.4}};
    for (int k = 0; k < 4; k++) {
        const char *path = test_path(tries[k].seed == 3 ? "own.glb" : "other.glb");
        fa_rig_free(head_of(tries[k].seed, path));
        FaParams *params;
        FaMethod *m;
        CHECK_OK(fa_params_new("volumetric", &params, &err), &err);
        CHECK_OK(fa_params_set(params, "from", path, &err), &err);
        CHECK_OK(fa_params_set(params, "physics", "paper", &err), &err);
        CHECK_OK(fa_params_set(params, "passive", tries[k].passive, &err), &err);
        const FaMethodSetup setup = {.rig = scene.rig, .face = scene.whole, .params = params};
        CHECK_OK(fa_method_open("volumetric", &setup, &m, &err), &err);
        clear();
        pose(m);
        assert_memory_equal(scene.x, scene.rig->mesh.x, 3 * (size_t)scene.rig->mesh.nvert * sizeof(float));
        set("mouthSmileLeft", 1), set("mouthSmileRight", 1), set("jawOpen", 0.3);
        pose(m);
        const double moved = off(scene.linear, scene.rig->mesh.x), miss = off(scene.x, scene.linear);
        print_message("a smile of %.2f mm by the flesh of head %d, passive %s: off by %.2f mm\n", moved,
                      (int)tries[k].seed, tries[k].passive, miss);
        assert_true(miss < tries[k].most * moved);
        fa_method_close(m);
        fa_params_free(params);
    }
}

static void a_stranger_has_no_counterpart(void **state) {
    (void)state;
    FaError err = {0};
    FaParams *params;
    FaMethod *m;
    CHECK_OK(fa_params_new("volumetric", &params, &err), &err);
    CHECK_OK(fa_params_set(params, "from", test_animal("low"), &err), &err);
    FaCode rc = fa_method_open("volumetric", &(FaMethodSetup){.rig = scene.rig, .face = scene.face, .params = params},
                               &m, &err);
    assert_true(rc < 0 && !m && err.what[0]);
    fa_params_free(params);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(membranes_have_true_gradients),
        cmocka_unit_test(membranes_turn_and_collapse),
        cmocka_unit_test(the_papers_energy_has_a_true_gradient),
        cmocka_unit_test(layers_are_sound),
        cmocka_unit_test(filled_flesh_is_refused),
        cmocka_unit_test(sculpted_shapes_stay),
        cmocka_unit_test(sums_are_taken_back),
        cmocka_unit_test(what_is_taken_back),
        cmocka_unit_test(nothing_ends_crossed),
        cmocka_unit_test(a_pose_depends_on_its_input_alone),
        cmocka_unit_test(phi_after_phi_plus_is_the_identity),
        cmocka_unit_test(flesh_of_another_head),
        cmocka_unit_test(a_stranger_has_no_counterpart),
    };
    return cmocka_run_group_tests_name("volumetric", tests, set_up, tear_down);
}

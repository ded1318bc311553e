// Filled flesh of the shipped head and of strangers' rigs: nothing inverted, lips and lids apart, nearly all of the
// skin in it. The rest of the rigs: FASCIA_FULL=1.
// labels: heavy
#include "test_face_tools.h"

#include "build/filled.h"
#include "build/filled_domain.h"
#include "energy/solid.h"
#include "head/zoo.h"
#include "mesh/box_tree.h"
#include "solve/newton.h"

static FaFace *face_of(const FaRig *rig) {
    FaError err = {0};
    FaFace *face = NULL;
    FaFaceOptions o = fa_face_options_default();
    o.simulate_vertices = 3500;
    CHECK_OK(fa_face_build(rig, &o, &face, &err), &err);
    return face;
}

static double across(const FaRig *rig, const float *x) {
    return rig->axes[0] * (double)x[0] + rig->axes[1] * (double)x[1] + rig->axes[2] * (double)x[2];
}

static bool of_lip(const FaFace *face, int i) {
    return fmaxf(face->region[FA_REGION_LIP_UPPER][i], face->region[FA_REGION_LIP_LOWER][i]) > 0.9f;
}

// Tets within 6 mm of a lip that join both: how near to the middle of the mouth, as a share of the half width of the
// lips; 1: none does. Where a mouth has no bag, flesh meets again behind it.
static double nearest_bridge(const FaRig *rig, const FaFace *face, const FaFilled *f) {
    double lo = INFINITY, hi = -INFINITY, least = 1;
    for (int i = 0; i < face->nskin; i++) {
        if (!of_lip(face, i)) continue;
        lo = fmin(lo, across(rig, face->x0 + 3 * i));
        hi = fmax(hi, across(rig, face->x0 + 3 * i));
    }
    for (int t = 0; t < f->ntet; t++) {
        int sides = 0;
        float mid[3] = {0};
        for (int k = 0; k < 4; k++) {
            int v = f->tet[4 * t + k];
            sides |= f->lip[v] > 0 ? 1 : f->lip[v] < 0 ? 2 : 0;
            for (int j = 0; j < 3; j++) mid[j] += 0.25f * f->x[3 * v + j];
        }
        if (sides != 3) continue;
        double near = INFINITY;
        for (int i = 0; i < face->nskin; i++)
            if (of_lip(face, i)) near = fmin(near, head_distance(mid, face->x0 + 3 * i));
        if (near < 6e-3) least = fmin(least, fabs(across(rig, mid) - 0.5 * (lo + hi)) / (0.5 * (hi - lo)));
    }
    return least;
}

// The jaw opened by 14 degrees as the shapes have it: how much longer an edge between skin nodes of a tet becomes, at
// most; only edges that grow by 5 mm and more count.
static double opened(const FaRig *rig, const FaFace *face, const FaFilled *f) {
    if (!face->jaw.found || !(face->jaw.open_angle > 0.05)) return 0;
    const double share = fmin(14 / 57.29578 / face->jaw.open_angle, 1);
    double most = 0;
    float *d = calloc(3 * (size_t)rig->mesh.nvert, sizeof(float));
    assert_true(d && fai_jaw_motion(rig, d));
    for (int t = 0; t < f->ntet; t++)
        for (int e = 0; e < 6; e++) {
            static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
            int a = f->skin_of_node[f->tet[4 * t + ends[e][0]]], b = f->skin_of_node[f->tet[4 * t + ends[e][1]]];
            if (a < 0 || b < 0) continue;
            double now = 0, then = 0;
            for (int k = 0; k < 3; k++) {
                double x = (double)face->x0[3 * a + k] - (double)face->x0[3 * b + k];
                double y =
                    x + share * ((double)d[3 * face->skin_vertex[a] + k] - (double)d[3 * face->skin_vertex[b] + k]);
                now += x * x, then += y * y;
            }
            if (sqrt(then) - sqrt(now) > 5e-3) most = fmax(most, sqrt(then / now));
        }
    free(d);
    return most;
}

typedef struct Want {
    int free_least, free_most;
    double lost;   // share of the skin, at most
    double bridge; // of the half width: nothing joins the lips nearer to the middle
} Want;
static const Want usual = {5000, 8500, 0.06, 0.5};

static void check_rig(const char *name, const FaRig *rig, const Want *want, FaFilled *keep) {
    FaError err = {0};
    FaFilled f;
    FaFace *face = face_of(rig);
    CHECK_OK(fai_filled_build(rig, face, NULL, &f, &err), &err);
    CHECK_OK(fai_filled_check(&f, &err), &err);
    const FaFilledReport *r = &f.report;
    int rim = 0;
    for (int i = 0; i < face->nskin; i++) rim += f.node_of_skin[i] < 0 && face->rim[i];
    double bridge = nearest_bridge(rig, face, &f), stretch = opened(rig, face, &f);
    print_message(
        "%-20s skin %d, lost %d (edge %d); nodes %d, free %d, skull %d, jaw %d; tets %d, worst %.3f, mean %.3f; "
        "%.0f cm3; dropped: bridges %d, lids %d, slivers %d, crumbs %d; lips join at %.2f; edge x%.1f; %.2f s\n",
        name, r->skin, r->lost, rim, r->nodes, r->free, r->skull, r->jaw, r->tets, r->worst, r->mean, r->volume * 1e6,
        r->bridges, r->lids, r->slivers, r->crumbs, bridge, stretch, r->seconds);
    assert_true(r->inverted == 0 && r->worst >= 0.02 && r->mean > 0.65);
    assert_true(r->free >= want->free_least && r->free <= want->free_most && r->skull > 0);
    assert_true(r->lost - rim <= want->lost * r->skin);
    assert_true(bridge >= want->bridge);
    char file[64];
    snprintf(file, sizeof file, "%s.png", name);
    CHECK_OK(fai_filled_picture(&f, rig, face, NULL, 200, test_path(file), &err), &err);
    if (keep)
        *keep = f;
    else
        fai_filled_free(&f);
    fa_face_free(face);
}

static FaRig *load(const char *path) {
    FaError err = {0};
    FaRig *rig = NULL;
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    return rig;
}

static bool in_tet(const FaFilled *f, int t, const double p[3]) {
    for (int k = 0; k < 4; k++) {
        double c[4][3], n[3];
        for (int i = 0; i < 4; i++) {
            fai_v3_load(f->x, f->tet[4 * t + i], c[i]);
            if (i == k) memcpy(c[i], p, sizeof c[i]);
        }
        for (int i = 1; i < 4; i++) fai_v3_sub(c[i], c[0], c[i]);
        fai_v3_cross(c[1], c[2], n);
        if (fai_v3_dot(n, c[3]) < 0) return false;
    }
    return true;
}

static bool in_flesh(const FaFilled *f, const FaBoxTree *tree, const double p[3]) {
    const float at[3] = {(float)p[0], (float)p[1], (float)p[2]};
    int stack[FA_BOX_TREE_STACK], n = 0;
    stack[n++] = 0;
    while (n) {
        const FaBoxNode *b = &tree->node[stack[--n]];
        if (!fai_boxes_meet(at, at, b->lo, b->hi)) continue;
        for (int k = 0; k < b->count; k++)
            if (in_tet(f, tree->prim[b->first + k], p)) return true;
        if (!b->count) stack[n++] = b->first, stack[n++] = b->first + 1;
    }
    return false;
}

// No void: of the places that should be flesh (1 mm off bone), around the lips, what share is in a tet.
static double filled_share(const FaRig *rig, const FaFilled *f) {
    FaError err = {0};
    FaFace *face = face_of(rig);
    FaFilledDomain d;
    FaBoxTree tree;
    CHECK_OK(fai_filled_domain(rig, face, &d, &err), &err);
    FaBox *box = malloc((size_t)f->ntet * sizeof *box);
    assert_non_null(box);
    for (int t = 0; t < f->ntet; t++)
        for (int k = 0; k < 3; k++) {
            box[t].lo[k] = INFINITY, box[t].hi[k] = -INFINITY;
            for (int i = 0; i < 4; i++) {
                box[t].lo[k] = fminf(box[t].lo[k], f->x[3 * f->tet[4 * t + i] + k]);
                box[t].hi[k] = fmaxf(box[t].hi[k], f->x[3 * f->tet[4 * t + i] + k]);
            }
        }
    CHECK_OK(fai_box_tree_build(f->ntet, box, &tree, &err), &err);
    int all = 0, in = 0;
    for (uint64_t i = 0; i < 60000; i++) {
        double q[3], p[3];
        for (int k = 0; k < 3; k++)
            q[k] = d.lip_lo[k] - 3e-3 + (d.lip_hi[k] - d.lip_lo[k] + 6e-3) * fai_random_unit(5, 3 * i + (uint64_t)k);
        fai_m3_tmulv(rig->axes, q, p);
        FaHit wall = fai_filled_wall(&d, p, INFINITY);
        FaFilledPlace at = fai_filled_place(&d, p, &wall);
        if (!at.inside || at.bone > -1e-3) continue;
        all++;
        in += in_flesh(f, &tree, p);
    }
    fai_box_tree_free(&tree);
    fai_filled_domain_free(&d);
    fa_face_free(face);
    free(box);
    assert_true(all > 1000);
    return (double)in / all;
}

// Jaw nodes turned about the hinge, by degrees.
static void turn_jaw(const FaFace *face, const FaFilled *f, double degrees, double *x) {
    double q[4], r[9], v[3], turn[3];
    fai_v3_scale(degrees / 57.29578, face->jaw.axis, turn);
    fai_q_exp(turn, q);
    fai_q_to_m3(q, r);
    for (int i = 0; i < f->nnode; i++) {
        if (f->kind[i] != FA_FILLED_JAW) continue;
        fai_v3_load(f->x, i, v);
        fai_v3_sub(v, face->jaw.hinge, v);
        fai_m3_mulv(r, v, v);
        fai_v3_add(v, face->jaw.hinge, x + 3 * i);
    }
}

// How far apart the lips are between the corners: mean over nodes of the upper one to the nearest of the lower one.
static double lip_gap(const FaRig *rig, const FaFilled *f, const double *x) {
    double sum = 0, lo = INFINITY, hi = -INFINITY;
    int n = 0;
    for (int i = 0; i < f->nnode; i++)
        if (f->lip[i]) lo = fmin(lo, across(rig, f->x + 3 * i)), hi = fmax(hi, across(rig, f->x + 3 * i));
    for (int i = 0; i < f->nnode; i++) {
        if (f->lip[i] != 1 || f->skin_of_node[i] < 0) continue;
        if (fabs(across(rig, f->x + 3 * i) - 0.5 * (lo + hi)) > 0.15 * (hi - lo)) continue;
        double best = INFINITY, d[3];
        for (int j = 0; j < f->nnode; j++) {
            if (f->lip[j] != -1 || f->skin_of_node[j] < 0) continue;
            fai_v3_sub(x + 3 * i, x + 3 * j, d);
            best = fmin(best, fai_v3_norm(d));
        }
        sum += best, n++;
    }
    return sum / n;
}

// Flesh at rest under an opened jaw: the lips part, and next to nothing is turned inside out.
static void open_jaw(const FaRig *rig, const FaFilled *f) {
    FaError err = {0};
    FaFace *face = face_of(rig);
    FaSolid *solid;
    FaSolidRest *rest;
    FaNewton *newton;
    FaNewtonReport report = {0};
    const FaNewtonOptions options = {.kind = FA_NEWTON_PCG};
    double *x0 = malloc(24 * (size_t)f->nnode), *x = malloc(24 * (size_t)f->nnode), *m = malloc(16 * (size_t)f->ntet);
    assert_true(x0 && x && m && face->jaw.found);
    for (int i = 0; i < 3 * f->nnode; i++) x[i] = x0[i] = (double)f->x[i];
    for (int t = 0; t < f->ntet; t++) m[t] = 5e3, m[f->ntet + t] = 100e3;
    CHECK_OK(fai_solid_new(f->nnode, f->ntet, f->tet, x0, FA_SOLID_NEO, &solid, &err), &err);
    CHECK_OK(fai_solid_rest_new(solid, &rest, &err), &err);
    CHECK_OK(fai_solid_rest_set(rest, x0, m, m + f->ntet, NULL, &err), &err);
    CHECK_OK(fai_newton_new(solid, f->kind, NULL, &options, &newton, &err), &err);
    double before = lip_gap(rig, f, x), begin = fai_seconds();
    for (int degrees = 2; degrees <= 14; degrees += 2) {
        turn_jaw(face, f, degrees, x);
        const FaNewtonInput in = {.rest = rest, .tolerance = 1e-2, .iterations = 30};
        FaCode rc = fai_newton_solve(newton, &in, x, &report, &err);
        assert_true(rc >= 0);
    }
    double after = lip_gap(rig, f, x);
    print_message("jaw opened by 14 degrees: lips %.1f > %.1f mm apart, %d inverted, %.2f s\n", 1e3 * before,
                  1e3 * after, report.inverted, fai_seconds() - begin);
    assert_true(after > before + 10e-3 && report.inverted <= f->ntet / 2000);
    float *now = malloc(12 * (size_t)f->nnode);
    for (int i = 0; i < 3 * f->nnode; i++) now[i] = (float)x[i];
    CHECK_OK(fai_filled_picture(f, rig, face, now, 400, test_path("open.png"), &err), &err);
    free(now);
    free(x0);
    free(x);
    free(m);
    fai_newton_free(newton);
    fai_solid_rest_free(rest);
    fai_solid_free(solid);
    fa_face_free(face);
}

// One thread makes the same flesh.
static void same_bits(const FaRig *rig, const FaFilled *f) {
    FaError err = {0};
    FaFilled one;
    FaFace *face = face_of(rig);
    fa_threads_set(1);
    CHECK_OK(fai_filled_build(rig, face, NULL, &one, &err), &err);
    fa_threads_set(0);
    assert_true(one.nnode == f->nnode && one.ntet == f->ntet);
    assert_memory_equal(one.x, f->x, 12 * (size_t)f->nnode);
    assert_memory_equal(one.tet, f->tet, 16 * (size_t)f->ntet);
    assert_memory_equal(one.kind, f->kind, (size_t)f->nnode);
    fai_filled_free(&one);
    fa_face_free(face);
}

// Twice the nodes where they are asked for.
static void twice(const FaRig *rig) {
    FaError err = {0};
    FaFilled f;
    FaFace *face = face_of(rig);
    CHECK_OK(fai_filled_build(rig, face, &(FaFilledOptions){.size = 12000}, &f, &err), &err);
    CHECK_OK(fai_filled_check(&f, &err), &err);
    print_message("12000 asked for: %d free of %d nodes, %d tets, %.2f mm, mean %.3f, %d lost, %.2f s\n", f.report.free,
                  f.nnode, f.ntet, 1e3 * f.report.spacing, f.report.mean, f.report.lost, f.report.seconds);
    assert_true(f.report.free > 10000 && f.report.free < 14000);
    fai_filled_free(&f);
    fa_face_free(face);
}

// With skull and jaw. The mean head is its own mirror image, so its flesh must be too, nearly.
static void shipped_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    CHECK_OK(fa_head_save(head, NULL, true, NULL, test_path("filled.glb"), &err), &err);
    FaRig *rig = load(test_path("filled.glb"));
    FaFilled f;
    check_rig("head", rig, &(Want){5000, 7500, 0.01, 0.6}, &f);
    assert_true(f.report.bones && f.report.lips && f.report.pieces == 1 && f.report.jaw > 100);
    double sum = 0;
    int left = 0, right = 0;
    for (int i = 0; i < f.nnode; i += 7) {
        const float m[3] = {-f.x[3 * i], f.x[3 * i + 1], f.x[3 * i + 2]};
        double best = INFINITY;
        for (int j = 0; j < f.nnode; j++) best = fmin(best, head_distance(m, f.x + 3 * j));
        sum += best / ((f.nnode + 6) / 7);
    }
    for (int i = 0; i < f.nnode; i++) left += f.x[3 * i] > 1e-4f, right += f.x[3 * i] < -1e-4f;
    print_message("mirrored: mean %.3f mm off, %d nodes left, %d right\n", 1e3 * sum, left, right);
    assert_true(sum < 0.1 * f.report.spacing && abs(left - right) < 0.01 * f.nnode);
    double share = filled_share(rig, &f);
    print_message("%.1f %% of the lips' inside is in a tet\n", 100 * share);
    assert_true(share > 0.96);
    open_jaw(rig, &f);
    same_bits(rig, &f);
    twice(rig);
    fai_filled_free(&f);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void facecap(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/facecap/facecap.glb");
    FaRig *rig = load(path);
    check_rig("facecap", rig, &usual, NULL);
    fa_rig_free(rig);
}

static void ict(void **state) {
    (void)state;
    const char *path = getenv("FASCIA_FULL") ? test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz") : NULL;
    if (!path) skip();
    FaRig *rig = load(path);
    check_rig("ict", rig, &(Want){5000, 8500, 0.06, 0.5}, NULL);
    fa_rig_free(rig);
}

// Female_Adult_16 and Police_Female_01 move a few dozen vertices: whatever comes of them, it is sound.
static void wild(void **state) {
    (void)state;
    static const struct {
        const char *name;
        Want want;
    } rigs[] = {{"FaceCapLiveMode.fbx", {5000, 8500, 0.06, 0.4}},
                {"Female_Adult_01.fbx", {4500, 8500, 0.2, 0.4}},
                {"Male_Adult_12.fbx", {4500, 8500, 0.2, 0.4}},
                {"Police_Female_01.fbx", {100, 8500, 0.2, 0}},
                {"Female_Adult_16.fbx", {1, 8500, 1, 0}}};
    for (int i = 0; i < FA_COUNT(rigs) && getenv("FASCIA_FULL"); i++) {
        char rel[100];
        snprintf(rel, sizeof rel, "rigs/wild/%s", rigs[i].name);
        const char *path = test_data(rel);
        if (!path) continue;
        FaRig *rig = load(path);
        check_rig(rigs[i].name, rig, &rigs[i].want, NULL);
        fa_rig_free(rig);
    }
}

// Male_Adult_12's teeth and gums are of one surface with its skin: hard, and no lips. Of other rigs' skin nothing is.
static void teeth_of_the_skin(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "rigs/wild/Male_Adult_12.fbx");
    FaError err = {0};
    FaHead *head = head_at(0, 0, true);
    CHECK_OK(fa_head_save(head, NULL, false, NULL, test_path("no_teeth.glb"), &err), &err);
    fa_head_free(head);
    for (int k = 0; k < 2; k++) {
        int hard[FA_FILLED_KINDS] = {0};
        FaRig *rig = load(k ? test_path("no_teeth.glb") : path);
        FaFace *face = face_of(rig);
        FaFilledDomain d;
        CHECK_OK(fai_filled_domain(rig, face, &d, &err), &err);
        for (int i = 0; i < face->nskin; i++) {
            hard[d.hard[i]]++;
            assert_true(!d.hard[i] || (!d.lip[i] && !d.exposed[i]));
        }
        print_message("hard nodes of %d: %d above, %d below\n", face->nskin, hard[FA_FILLED_SKULL],
                      hard[FA_FILLED_JAW]);
        if (k)
            assert_true(hard[FA_FILLED_SKULL] + hard[FA_FILLED_JAW] == 0);
        else
            assert_true(hard[FA_FILLED_SKULL] > 60 && hard[FA_FILLED_JAW] > 60 &&
                        3 * hard[FA_FILLED_FREE] > 2 * face->nskin);
        fai_filled_domain_free(&d);
        fa_face_free(face);
        fa_rig_free(rig);
    }
}

static void zoo(void **state) {
    (void)state;
    static const char *const quick[] = {"no_bag"};
    const bool full = getenv("FASCIA_FULL") != NULL;
    FaError err = {0};
    for (int i = 0; i < fa_zoo_count(); i++) {
        FaZooAnimal a = fa_zoo_animal(i);
        bool taken = full;
        for (int k = 0; k < FA_COUNT(quick); k++) taken |= !strcmp(a.name, quick[k]);
        if (!taken) continue;
        char file[200];
        snprintf(file, sizeof file, "%s%s", a.name, a.ext);
        CHECK_OK(fa_zoo_save(i, 0, NULL, test_path(file), &err), &err);
        FaRig *rig = load(test_path(file));
        check_rig(a.name, rig, &usual, NULL);
        fa_rig_free(rig);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_head), cmocka_unit_test(facecap), cmocka_unit_test(teeth_of_the_skin),
        cmocka_unit_test(zoo),          cmocka_unit_test(wild),    cmocka_unit_test(ict)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// The jaw of every animal of the zoo: found, and where. All of them are the shipped head, whose hinge is known: the
// origin, or where the animal's head stands. The rows are the table of docs/figures/face.md.
#include "test_face_tools.h"

#include "fascia/head.h"
#include "fascia/report.h"

#include "base/base.h"
#include "math/mat3.h"
#include "rig/jaw.h"

typedef struct Row {
    const char *name;
    double hinge, angle, chin; // off the truth: mm, degrees, mm
    double residual;           // mm
} Row;

static const double CHIN[3] = {0, -0.080, 0.080};

// How far the bone of the chin ends from where the true jaw, or the part f of its way, takes it.
static double chin_error(const FaRig *rig, const FaJaw *jaw, const double hinge[3], double scale, double f) {
    FaError err = {0};
    FaHead *head;
    FaHeadParams params = fa_head_params_default();
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    float *w = calloc((size_t)rig->nshape, sizeof *w), all[FA_ARKIT_COUNT] = {0};
    w[jaw->shape[0]] = 1;
    all[fa_arkit_match("jawOpen", NULL)] = 1;
    double r[9], t[3], goes[3], x[3], q[3], back[9];
    fa_head_jaw(head, all, r, t);
    fai_m3_mulv(r, CHIN, goes);
    for (int k = 0; k < 3; k++) goes[k] = f * (goes[k] + t[k] - CHIN[k]);
    FaPose pose = fai_jaw_pose(jaw, w);
    for (int k = 0; k < 9; k++) back[k] = rig->axes[3 * (k % 3) + k / 3];
    fai_m3_mulv(back, CHIN, x);
    for (int k = 0; k < 3; k++) x[k] = hinge[k] + scale * x[k];
    fai_pose_apply(&pose, x, q);
    fai_v3_sub(q, x, q);
    fai_m3_mulv(rig->axes, q, x);
    for (int k = 0; k < 3; k++) x[k] = x[k] / scale - goes[k];
    free(w);
    fa_head_free(head);
    return 1e3 * fai_v3_norm(x);
}

static Row measure(const FaZooAnimal *a, const char *path) {
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    FaJaw jaw;
    CHECK_OK(fai_fit_jaw(rig, &jaw, NULL, NULL, &err), &err);
    if (!jaw.found) fail_msg("%s: no jaw", a->name);
    double lo = INFINITY, hi = -INFINITY, truth[3] = {0};
    for (int v = 0; v < rig->mesh.nvert; v++) {
        double x[3];
        fai_v3_load(rig->mesh.x, v, x);
        lo = fmin(lo, fai_v3_dot(rig->axes + 3, x));
        hi = fmax(hi, fai_v3_dot(rig->axes + 3, x));
    }
    // heads on bodies stand 1.62 m high; what was read in a wrong unit is not the jaw's fault
    double scale = hi - lo < 0.15 ? 0.3937 : 1;
    if (hi > 1) fai_v3_scale(1.62, rig->axes + 3, truth);
    bool weak = !strcmp(a->name, "weak_jaw") || !strcmp(a->name, "mask");
    // a fraction f of a turn's displacement turns by atan(f sin / (1 + f (cos - 1)))
    double full = 25.33 * M_PI / 180, f = weak ? 0.15 : 1, angle = atan2(f * sin(full), 1 + f * (cos(full) - 1));
    double off[3];
    fai_v3_sub(jaw.hinge, truth, off);
    double across = fai_v3_dot(rig->axes, off); // anywhere along the axis is the same hinge
    fai_v3_mad(off, -across, rig->axes, off);
    Row row = {a->name, 1e3 * fai_v3_norm(off) / scale, (jaw.open_angle - angle) * 180 / M_PI,
               chin_error(rig, &jaw, truth, scale, f), 1e3 * jaw.residual};
    fa_rig_free(rig);
    return row;
}

static void every_animal_has_a_jaw(void **state) {
    (void)state;
    FaError err = {0};
    char dir[512], path[1200];
    snprintf(dir, sizeof dir, "%s/zoo", test_dir());
    CHECK_OK(fa_zoo_save_all(0, NULL, dir, NULL, NULL, &err), &err);
    print_message("| animal | hinge, mm | angle, degrees | chin, mm | residual, mm |\n");
    for (int i = 0; i < fa_zoo_count(); i++) {
        FaZooAnimal a = fa_zoo_animal(i);
        snprintf(path, sizeof path, "%s/%s%s", dir, a.name, a.ext);
        Row row = measure(&a, path);
        print_message("| `%s` | %.1f | %+.1f | %.1f | %.2f |\n", row.name, row.hinge, row.angle, row.chin,
                      row.residual);
        // what loose_jaw's shape does to the chin is not what the true jaw does, and stylised chins have other places
        bool other = !strcmp(a.name, "loose_jaw") || !strcmp(a.name, "stylised") || !strcmp(a.name, "toon_avatar");
        // on a jaw twice as long a hinge elsewhere, with another slide, moves the chin alike
        const bool muzzle = !strcmp(a.name, "snout");
        // tentacles have as much skin as the chin they hang on, and those of the cheeks follow it in part
        const bool hung = !strcmp(a.name, "tentacles");
        assert_true(row.hinge < (muzzle ? 25
                                 : hung ? 12
                                        : 5) &&
                    fabs(row.angle) < 7 && row.chin < (other ? 15 : 4) && row.residual < 2);
    }
}

// A body's head is measured, not the body.
static void a_head_on_a_body(void **state) {
    (void)state;
    static const char *const name[] = {"plain", "body", "crowd_avatar", "web_avatar"};
    FaError err = {0};
    double head[4];
    for (int i = 0; i < 4; i++) {
        char path[1200];
        FaInfo info;
        snprintf(path, sizeof path, "%s/zoo/%s.glb", test_dir(), name[i]);
        FaRig *rig;
        CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
        CHECK_OK(fa_info_of_rig(rig, false, &info, &err), &err);
        head[i] = info.head_m;
        print_message("%s: %.3f m high, the head %.3f m\n", name[i], info.height_m, info.head_m);
        assert_true(i == 0 || info.height_m > 1.2);
        CHECK_NEAR(head[i], head[0], 0.01);
        fa_info_free(&info);
        fa_rig_free(rig);
    }
    assert_true(head[0] > 0.2 && head[0] < 0.26);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_animal_has_a_jaw), cmocka_unit_test(a_head_on_a_body)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

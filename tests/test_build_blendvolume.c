// Blendvolumes: skin to the bit, nothing inverted, the same for any number of threads, for a run that was cancelled and
// for one that was killed; and unfolding by itself.
// labels: heavy
#include "test_face_made.h"

#include "base/file.h"
#include "build/blendvolume.h"
#include "build/unfold.h"
#include "face/columns.h"
#include "face/face_file.h"
#include "fascia/face.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// --- unfolding ------------------------------------------------------------------------------------------------------

enum { SIDE = 6, NODES = SIDE * SIDE * SIDE, CELLS = (SIDE - 1) * (SIDE - 1) * (SIDE - 1) };

// A block of cubes of six tets each around a diagonal; its surface is fixed.
static void block(double *x, int *tet, unsigned char *fixed) {
    static const int way[6][2] = {{1, 3}, {3, 2}, {2, 6}, {6, 4}, {4, 5}, {5, 1}};
    for (int i = 0; i < NODES; i++) {
        const int c[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
        fixed[i] = 0;
        for (int k = 0; k < 3; k++) x[3 * i + k] = 1e-3 * c[k], fixed[i] |= c[k] == 0 || c[k] == SIDE - 1;
    }
    int n = 0;
    for (int i = 0; i < NODES; i++) {
        const int c[3] = {i % SIDE, i / SIDE % SIDE, i / SIDE / SIDE};
        if (c[0] == SIDE - 1 || c[1] == SIDE - 1 || c[2] == SIDE - 1) continue;
        for (int k = 0; k < 6; k++, n++) {
            const int corner[4] = {0, way[k][0], way[k][1], 7};
            for (int j = 0; j < 4; j++)
                tet[4 * n + j] = i + (corner[j] & 1) + SIDE * (corner[j] >> 1 & 1) + SIDE * SIDE * (corner[j] >> 2);
        }
    }
    assert_int_equal(n, 6 * CELLS);
}

static double least_of(const double *x0, const double *x, const int *tet) {
    double least = 1e9, F[9];
    for (int t = 0; t < 6 * CELLS; t++) least = fmin(least, fai_tet_gradient(x0, x, tet + 4 * t, F));
    return least;
}

static void test_unfold(void **state) {
    (void)state;
    static double x0[3 * NODES], x[3 * NODES], was[3 * NODES];
    static int tet[24 * CELLS];
    static unsigned char fixed[NODES];
    FaError err = {0};
    int bad, left;
    block(x0, tet, fixed);
    const FaUnfoldInput in = {.n = NODES, .ntet = 6 * CELLS, .tet = tet, .x0 = x0, .fixed = fixed};
    CHECK_NEAR(least_of(x0, x0, tet), 1, 1e-12);
    // nothing to do: nothing moves
    memcpy(x, x0, sizeof x);
    for (int i = 0; i < NODES; i++)
        if (!fixed[i]) x[3 * i] += 1e-4 * sin(i);
    memcpy(was, x, sizeof x);
    CHECK_OK(fai_unfold(&in, x, &bad, &left, &err), &err);
    assert_int_equal(bad, 0);
    assert_memory_equal(x, was, sizeof x);
    // one node thrown through its neighbours: put right, the far ones keep their bits
    int middle = 2 + SIDE * 2 + SIDE * SIDE * 2;
    x[3 * middle] += 2.2e-3;
    CHECK_OK(fai_unfold(&in, x, &bad, &left, &err), &err);
    assert_true(bad > 0);
    assert_int_equal(left, 0);
    assert_true(least_of(x0, x, tet) > 0.05);
    // all of the inside scrambled
    for (int seed = 0; seed < 5; seed++) {
        for (int i = 0; i < NODES; i++)
            for (int k = 0; k < 3; k++)
                x[3 * i + k] = fixed[i] ? x0[3 * i + k] : 5e-3 * fai_random_unit((uint64_t)seed, (uint64_t)(3 * i + k));
        CHECK_OK(fai_unfold(&in, x, &bad, &left, &err), &err);
        assert_true(bad > 150);
        assert_int_equal(left, 0);
        for (int i = 0; i < 3 * NODES; i++)
            if (fixed[i / 3]) assert_true(x[i] == x0[i]);
    }
    // folded between fixed nodes: said, not hidden, however often it is tried
    memcpy(x, x0, sizeof x);
    x[0] = 5e-3;
    CHECK_OK(fai_unfold(&in, x, &bad, &left, &err), &err);
    assert_true(left > 0);
    FaUnfoldInput often = in;
    often.tries = 3;
    int still;
    CHECK_OK(fai_unfold(&often, x, &bad, &still, &err), &err);
    assert_true(still > 0 && still <= left);
    for (int i = 1; i < NODES; i++)
        if (fixed[i]) assert_memory_equal(x + 3 * i, x0 + 3 * i, 24);
}

// --- a small face: a sheet with ten shapes --------------------------------------------------------------------------

typedef struct Fixture {
    FaRig *rig;
    FaFace *face;
    uint64_t hash; // of the volumes
    double least;
} Fixture;
static Fixture fix;

enum { SHAPES = 10 };

static FaFace *sheet_face(void) {
    FaError err = {0};
    FaFace *face;
    const FaFaceOptions o = {.layers = 2, .thickness = 8e-3, .whole = true, .no_bones = true};
    CHECK_OK(fa_face_build(fix.rig, &o, &face, &err), &err);
    return face;
}

static int make(void **state) {
    (void)state;
    Made m = {0};
    made_sheet(&m, 12, 4e-3);
    fix.rig = made_rig_shapes(&m, SHAPES, made_move_sheet);
    made_free(&m);
    fix.face = sheet_face();
    return 0;
}

static int drop(void **state) {
    (void)state;
    fa_face_free(fix.face);
    fa_rig_free(fix.rig);
    return 0;
}

static uint64_t hash_of(const FaFace *f) {
    const FaColumns *c = &f->volumes;
    const size_t n = (size_t)c->first[c->nshape];
    uint64_t h = fai_hash64(c->first, ((size_t)c->nshape + 1) * sizeof(int), 1);
    h = fai_hash64(c->item, n * sizeof(int), h);
    return fai_hash64(c->value, 3 * n * sizeof(float), h);
}

static void test_shapes(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = fix.face;
    FaVolumesReport report;
    CHECK_OK(fa_face_volumes(f, fix.rig, NULL, &report, &err), &err);
    assert_int_equal(report.nshape, SHAPES);
    assert_int_equal(report.inverted, 0);
    assert_int_equal(report.resumed, 0);
    assert_true(report.gap < 1e-6);
    assert_true(report.least > 0 && report.least < 1);
    assert_true(report.mixed_clamped >= 0 && report.mixed_clamped < 0.05);
    float *dense = malloc(12 * (size_t)f->nnode), *w = calloc((size_t)fix.rig->nshape, sizeof *w);
    double *X = malloc(24 * (size_t)f->nnode);
    for (int s = 0; s < SHAPES; s++) {
        fai_columns_dense(&f->volumes, s, f->nnode, dense);
        // the rig's own deltas to the bit
        float *skin = calloc(3 * (size_t)f->nvert, sizeof *skin);
        const FaShape *sh = &fix.rig->shape[s];
        for (int e = sh->first; e < sh->first + sh->count; e++)
            memcpy(skin + 3 * (size_t)fix.rig->row[e], fix.rig->delta + 3 * (size_t)e, 12);
        double deep = 0;
        for (int i = 0; i < f->nnode; i++) {
            if (i < f->nskin)
                assert_memory_equal(dense + 3 * i, skin + 3 * (size_t)f->skin_vertex[i], 12);
            else
                deep = fmax(deep, fabs((double)dense[3 * i]) + fabs((double)dense[3 * i + 1]));
        }
        assert_true(deep > 1e-4); // flesh goes along
        free(skin);
        memset(w, 0, (size_t)fix.rig->nshape * sizeof *w);
        w[s] = 1;
        fai_volume_at(f, w, X);
        FaVolumeQuality q = fai_volume_quality(f, X);
        assert_int_equal(q.inverted, 0);
        assert_true(q.least > 0 && q.most < 20);
    }
    // the neutral is the neutral
    memset(w, 0, (size_t)fix.rig->nshape * sizeof *w);
    fai_volume_at(f, w, X);
    for (int i = 0; i < 3 * f->nnode; i++) assert_true(X[i] == (double)f->x0[i]);
    FaVolumeQuality q = fai_volume_quality(f, X);
    CHECK_NEAR(q.least, 1, 1e-9);
    CHECK_NEAR(q.most, 1, 1e-9);
    fix.hash = hash_of(f);
    fix.least = report.least;
    free(dense);
    free(w);
    free(X);
}

static void test_threads(void **state) {
    (void)state;
    for (int n = 1; n <= 8; n += n == 1 ? 2 : 5) {
        FaError err = {0};
        FaFace *f = sheet_face();
        fa_threads_set(n);
        CHECK_OK(fa_face_volumes(f, fix.rig, NULL, NULL, &err), &err);
        fa_threads_set(0);
        assert_true(hash_of(f) == fix.hash);
        fa_face_free(f);
    }
}

static void test_file(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *back;
    CHECK_OK(fa_face_save(fix.face, test_path("sheet.face"), &err), &err);
    CHECK_OK(fa_face_load(test_path("sheet.face"), &back, &err), &err);
    assert_true(hash_of(back) == fix.hash);
    fa_face_free(back);
    CHECK_OK(fa_face_volume_picture(fix.face, fix.rig, 0, 96, test_path("sheet.png"), &err), &err);
    assert_int_equal(fa_face_volume_picture(fix.face, fix.rig, SHAPES, 96, test_path("sheet.png"), &err), FA_E_ARG);
}

// --- a shape that folds the skin ------------------------------------------------------------------------------------

// A corner of a square goes over its diagonal: one of its triangles turns over onto the other. The node below the end
// of the diagonal, the last column of both, would have to be below the one and above the other.
static FaRig *folding_rig(void) {
    Made m = {0};
    made_sheet(&m, 12, 4e-3);
    const int corner = 6 * 13 + 5;
    memset(m.d, 0, 12 * (size_t)m.nvert);
    m.d[3 * corner] = 0.7f * 4e-3f, m.d[3 * corner + 1] = -0.8f * 4e-3f;
    FaRig *rig = made_rig(&m);
    made_free(&m);
    return rig;
}

static void test_folded(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = folding_rig();
    for (int layers = 1; layers <= 2; layers++) {
        FaFace *f, *again, *back;
        FaVolumesReport report;
        FaVolumeModel *m;
        FaVolumeShape shape;
        const FaFaceOptions o = {.layers = layers, .thickness = 8e-3, .whole = true, .no_bones = true};
        CHECK_OK(fa_face_build(rig, &o, &f, &err), &err);
        CHECK_OK(fa_face_build(rig, &o, &again, &err), &err);
        const int ntri = f->ntri;
        float *d = malloc(12 * (size_t)f->nnode), w = 1;
        CHECK_OK(fai_volume_model_new(f, rig, &m, &err), &err);
        CHECK_OK(fai_volume_shape(m, 0, NULL, d, &shape, &err), &err);
        assert_true(shape.inverted > 0); // said, not hidden
        fai_volume_model_free(m);
        CHECK_OK(fa_face_materials(f, rig, NULL, &err), &err);
        const char *part = test_path("folded.part");
        remove(part);
        const FaVolumeOptions keep = {.partial = part};
        CHECK_OK(fa_face_volumes(f, rig, &keep, &report, &err), &err);
        print_message("%d layers: %d inverted, %d of %d triangles left out, least %.3f\n", layers, shape.inverted,
                      report.left_out, ntri, report.least);
        assert_int_equal(report.inverted, 0);
        assert_true(report.left_out > 0 && report.left_out < 8 && report.least > 0);
        assert_int_equal(f->ntri, ntri - report.left_out);
        assert_int_equal(f->volumes_made.left_out, report.left_out);
        const FaNote *note = fai_note_find(&f->notes, "volume-folded");
        assert_true(note && note->count == report.left_out && strstr(note->where, "move"));
        CHECK_OK(fai_face_check(f, &err), &err);
        assert_true(fa_face_volumes_fit(f, rig));
        double *X = malloc(24 * (size_t)f->nnode);
        fai_volume_at(f, &w, X);
        assert_int_equal(fai_volume_quality(f, X).inverted, 0);
        // the skin as the shape has it
        fai_columns_dense(&f->volumes, 0, f->nnode, d);
        const FaShape *s = &rig->shape[0];
        for (int e = s->first; e < s->first + s->count; e++) {
            const int i = f->node_of_vertex[rig->row[e]];
            if (i >= 0) assert_memory_equal(d + 3 * i, rig->delta + 3 * e, 12);
        }
        // from the partial file, and from the face's own: the same
        CHECK_OK(fa_face_materials(again, rig, NULL, &err), &err);
        CHECK_OK(fa_face_volumes(again, rig, &keep, &report, &err), &err);
        assert_int_equal(report.resumed, 1);
        assert_true(hash_of(again) == hash_of(f) && again->ntri == f->ntri &&
                    again->volumes_made.key == f->volumes_made.key);
        assert_memory_equal(again->mass, f->mass, (size_t)f->nnode * sizeof(float));
        CHECK_OK(fa_face_save(f, test_path("folded.face"), &err), &err);
        CHECK_OK(fa_face_load(test_path("folded.face"), &back, &err), &err);
        assert_true(hash_of(back) == hash_of(f) && fa_face_volumes_fit(back, rig));
        // once they are gone nothing more is
        CHECK_OK(fa_face_volumes(back, rig, NULL, &report, &err), &err);
        assert_int_equal(report.left_out, 0);
        assert_int_equal(report.inverted, 0);
        free(d);
        free(X);
        fa_face_free(f);
        fa_face_free(again);
        fa_face_free(back);
    }
    fa_rig_free(rig);
}

// --- teeth ----------------------------------------------------------------------------------------------------------

// A closed ball below the flesh, which a shape presses down onto it.
static void add_ball(FaFace *f, const double centre[3], double radius) {
    enum { RINGS = 8, AROUND = 16 };
    FaBone *b = f->bone = FA_PUSH(f->arena, 1, FaBone);
    assert_non_null(b);
    f->nbone = 1;
    *b = (FaBone){.name = "ball", .kind = FA_BONE_TEETH_UPPER, .closed = true, .nvert = 2 + (RINGS - 1) * AROUND};
    b->x = FA_PUSH(f->arena, 3 * b->nvert, float);
    b->tri = FA_PUSH(f->arena, 6 * RINGS * AROUND, int);
    assert_true(b->x && b->tri);
    for (int v = 0; v < b->nvert; v++) {
        double pi = 3.14159265358979323846,
               a = v == 0              ? 0
                   : v == b->nvert - 1 ? pi
                                       : pi * (1 + (v - 1) / AROUND) / RINGS,
               c = 2 * pi * ((v - 1) % AROUND) / AROUND;
        const double n[3] = {sin(a) * cos(c), sin(a) * sin(c), cos(a)};
        for (int k = 0; k < 3; k++) b->x[3 * v + k] = (float)(centre[k] + radius * n[k]);
    }
    for (int i = 0; i < AROUND; i++) {
        int next = (i + 1) % AROUND, last = b->nvert - 1;
        for (int j = 0; j < RINGS - 2; j++) {
            int a = 1 + j * AROUND + i, c = 1 + j * AROUND + next;
            const int t[6] = {a, a + AROUND, c + AROUND, a, c + AROUND, c};
            memcpy(b->tri + 3 * b->ntri, t, sizeof t);
            b->ntri += 2;
        }
        const int ends[6] = {0, 1 + i, 1 + next, last, last - AROUND + next, last - AROUND + i};
        memcpy(b->tri + 3 * b->ntri, ends, sizeof ends);
        b->ntri += 2;
    }
}

// A wavy bone a little below the sheet's flesh, open.
static double floor_at(double x) { return -9e-3 + 0.8e-3 * sin(x / 4e-3); }

static void add_floor(FaFace *f) {
    enum { N = 61 };
    FaBone *b = f->bone = FA_PUSH(f->arena, 1, FaBone);
    assert_non_null(b);
    f->nbone = 1;
    *b = (FaBone){.name = "skull", .kind = FA_BONE_SKULL, .nvert = N * N};
    b->x = FA_PUSH(f->arena, 3 * b->nvert, float);
    b->tri = FA_PUSH(f->arena, 6 * N * N, int);
    assert_true(b->x && b->tri);
    for (int v = 0; v < N * N; v++) {
        const double x = 1e-3 * (v % N - N / 2), y = 1e-3 * (v / N - N / 2);
        b->x[3 * v] = (float)x, b->x[3 * v + 1] = (float)y, b->x[3 * v + 2] = (float)floor_at(x);
        if (v % N == N - 1 || v / N == N - 1) continue;
        const int t[6] = {v, v + 1, v + N + 1, v, v + N + 1, v + N};
        memcpy(b->tri + 3 * b->ntri, t, sizeof t);
        b->ntri += 2;
    }
}

// Flesh slides over the bone's own surface, up and down its waves, and stays as far from it as it was.
static void test_on_bone(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = sheet_face();
    FaVolumeModel *m;
    FaVolumeShape report;
    float *d = malloc(12 * (size_t)f->nnode);
    for (int i = 0; i < f->nskin; i++) f->to_skull[i] = 1, f->to_jaw[i] = 0;
    add_floor(f);
    CHECK_OK(fai_volume_model_new(f, fix.rig, &m, &err), &err);
    CHECK_OK(fai_volume_shape(m, 2, NULL, d, &report, &err), &err); // sideways
    double slid = 0, rms = 0;
    int count = 0;
    for (int i = f->nskin * f->layers; i < f->nnode; i++) {
        const double x0 = (double)f->x0[3 * i], z0 = (double)f->x0[3 * i + 2], x = x0 + (double)d[3 * i],
                     z = z0 + (double)d[3 * i + 2];
        if (d[3 * i] == 0 && d[3 * i + 2] == 0) continue;
        slid = fmax(slid, fabs(x - x0));
        rms += pow((z - floor_at(x)) - (z0 - floor_at(x0)), 2);
        count++;
    }
    rms = sqrt(rms / FA_MAX(count, 1));
    print_message("%d nodes on the bone slide by up to %.2f mm: %.3f mm off after the first solve, %.4f mm in the end; "
                  "height above it changes by %.3f mm rms; volume %+.1f %%\n",
                  report.on_bone, 1e3 * slid, 1e3 * report.off_bone_first, 1e3 * report.off_bone, 1e3 * rms,
                  100 * (report.volume - 1));
    assert_true(report.on_bone > 50 && report.inverted == 0 && slid > 0.5e-3);
    assert_true(report.off_bone < 0.02e-3 && report.off_bone_first > 4 * report.off_bone);
    assert_true(rms < 0.1e-3);
    assert_true(report.volume > 0.9 && report.volume < 1.15 && report.volume_rms > 0 && report.volume_rms < 0.5);
    fai_volume_model_free(m);
    // the caches know what volumes were made from
    CHECK_OK(fa_face_volumes(f, fix.rig, NULL, NULL, &err), &err);
    assert_true(fa_face_volumes_fit(f, fix.rig));
    const float kept = fix.rig->delta[0];
    fix.rig->delta[0] += 1e-4f;
    assert_false(fa_face_volumes_fit(f, fix.rig));
    fix.rig->delta[0] = kept;
    f->volumes_made.version--;
    assert_false(fa_face_volumes_fit(f, fix.rig));
    free(d);
    fa_face_free(f);
}

static void test_teeth(void **state) {
    (void)state;
    FaError err = {0};
    double depth[2];
    // "move0" lifts its middle by 7 mm; turned round it presses
    for (int e = fix.rig->shape[0].first; e < fix.rig->shape[0].first + fix.rig->shape[0].count; e++)
        fix.rig->delta[3 * e + 2] *= -0.6f;
    const double centre[3] = {8e-3, 0, -13.4e-3}, radius = 5e-3;
    for (int with = 0; with < 2; with++) {
        FaFace *f = sheet_face();
        FaVolumeModel *m;
        FaVolumeShape report;
        float *d = malloc(12 * (size_t)f->nnode);
        for (int i = 0; i < f->nskin; i++) f->to_skull[i] = f->to_jaw[i] = 0;
        if (with) add_ball(f, centre, radius);
        CHECK_OK(fai_volume_model_new(f, fix.rig, &m, &err), &err);
        CHECK_OK(fai_volume_shape(m, 0, NULL, d, &report, &err), &err);
        depth[with] = 0;
        for (int i = f->nskin; i < f->nnode; i++) {
            double r = 0;
            for (int k = 0; k < 3; k++) r += pow((double)f->x0[3 * i + k] + (double)d[3 * i + k] - centre[k], 2);
            depth[with] = fmax(depth[with], radius - sqrt(r));
        }
        assert_int_equal(report.inverted, 0);
        assert_true(with ? report.pushed > 0 : report.pushed == 0);
        fai_volume_model_free(m);
        fa_face_free(f);
        free(d);
    }
    for (int e = fix.rig->shape[0].first; e < fix.rig->shape[0].first + fix.rig->shape[0].count; e++)
        fix.rig->delta[3 * e + 2] /= -0.6f;
    print_message("depth in the tooth: %.2f mm without it, %.3f mm with it\n", 1e3 * depth[0], 1e3 * depth[1]);
    assert_true(depth[0] > 1e-3);
    assert_true(depth[1] < 0.25e-3); // the ball is made of flat triangles
}

// --- stopped and resumed --------------------------------------------------------------------------------------------

static bool stop_after_first(void *user, const char *stage, double done) {
    (void)stage;
    *(int *)user += 1;
    return done == 0;
}

static void test_cancel(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = sheet_face();
    int calls = 0;
    FaVolumesReport report;
    const char *part = test_path("cancel.part");
    FaVolumeOptions o = {.partial = part, .progress = stop_after_first, .progress_user = &calls};
    assert_int_equal(fa_face_volumes(f, fix.rig, &o, &report, &err), FA_E_CANCELLED);
    assert_non_null(strstr(err.what, "finished shapes are kept"));
    assert_int_equal(f->volumes.nshape, 0);
    assert_int_equal(calls, 2);
    assert_true(fai_file_exists(part));
    o.progress = NULL;
    err = (FaError){0};
    CHECK_OK(fa_face_volumes(f, fix.rig, &o, &report, &err), &err);
    assert_true(report.resumed > 0 && report.resumed < SHAPES);
    assert_true(hash_of(f) == fix.hash);
    fa_face_free(f);
}

// A damaged or foreign partial file is not used, and is no error.
static void test_damaged(void **state) {
    (void)state;
    FaError err = {0};
    FaBytes b;
    const char *part = test_path("damaged.part");
    FaFace *f = sheet_face();
    FaVolumeOptions o = {.partial = part};
    FaVolumesReport report;
    CHECK_OK(fa_face_volumes(f, fix.rig, &o, NULL, &err), &err);
    CHECK_OK(fai_file_read(part, 0, &b, &err), &err);
    CHECK_OK(fa_face_volumes(f, fix.rig, &o, &report, &err), &err);
    assert_int_equal(report.resumed, SHAPES);
    assert_true(hash_of(f) == fix.hash && report.least == fix.least);
    b.data[b.size / 2] ^= 1;
    CHECK_OK(fai_file_write(part, b.data, b.size, &err), &err);
    CHECK_OK(fa_face_volumes(f, fix.rig, &o, &report, &err), &err);
    assert_int_equal(report.resumed, 0);
    assert_true(hash_of(f) == fix.hash);
    CHECK_OK(fai_file_write(part, b.data, b.size / 3, &err), &err);
    CHECK_OK(fa_face_volumes(f, fix.rig, &o, &report, &err), &err);
    assert_int_equal(report.resumed, 0);
    // another face's
    f->to_jaw[0] = 0.25f * f->to_jaw[0] + 0.01f;
    CHECK_OK(fa_face_volumes(f, fix.rig, &o, &report, &err), &err);
    assert_int_equal(report.resumed, 0);
    fai_bytes_free(&b);
    fa_face_free(f);
}

// Killed outright after the first shapes are on disk.
static void test_killed(void **state) {
    (void)state;
    FaError err = {0};
    const char *part = test_path("killed.part");
    FaVolumeOptions o = {.partial = part};
    FaVolumesReport report;
    FaFace *f = sheet_face();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fa_face_volumes(f, fix.rig, &o, NULL, NULL);
        _exit(0);
    }
    for (int i = 0; i < 20000 && !fai_file_exists(part); i++) usleep(1000);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(fai_file_exists(part));
    CHECK_OK(fa_face_volumes(f, fix.rig, &o, &report, &err), &err);
    assert_true(report.resumed > 0);
    assert_true(hash_of(f) == fix.hash);
    fa_face_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unfold), cmocka_unit_test(test_shapes),  cmocka_unit_test(test_threads),
        cmocka_unit_test(test_file),   cmocka_unit_test(test_cancel),  cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_killed), cmocka_unit_test(test_on_bone), cmocka_unit_test(test_teeth),
        cmocka_unit_test(test_folded),
    };
    return cmocka_run_group_tests(tests, make, drop);
}

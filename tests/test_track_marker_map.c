// Markers on a surface: which vertices to mark, sampling a sequence, where markers sit (by name, by file, by nearness).
#include "test.h"
#include "test_rig_head.h"

#include "base/file.h"
#include "base/text.h"
#include "math/mat3.h"
#include "track/markers_align.h"
#include "track/markers_face.h"
#include "track/markers_neutral.h"

static const float *at(const FaMarkerTake *t, int f, int m) {
    return t->x + 3 * ((size_t)f * (size_t)t->nmarker + (size_t)m);
}

// --- from surfaces to markers -------------------------------------------------------------------------------------

static FaClip *talk_clip(int nframe) {
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_new(nframe, 2, (const char *const[]){"jawOpen", "mouthSmileLeft"}, 25, &clip, &err), &err);
    for (int f = 0; f < nframe; f++) clip->weight[2 * f] = (float)f / (float)nframe, clip->weight[2 * f + 1] = 0.5f;
    return clip;
}

static void test_choose(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    static const int counts[] = {1, 24, 41, 60};
    for (int c = 0; c < 4; c++) {
        FaMarkerMap *map, *again;
        CHECK_OK(fa_markers_choose(rig, counts[c], &map, &err), &err);
        CHECK_OK(fa_markers_choose(rig, counts[c], &again, &err), &err);
        assert_int_equal(map->count, counts[c]);
        assert_int_equal(map->mapped, counts[c]);
        assert_memory_equal(map->point, again->point, (size_t)map->count * sizeof *map->point);
        int paired = 0;
        double nearest = INFINITY;
        for (int i = 0; i < map->count; i++) {
            const float *a = rig->mesh.x + 3 * map->point[i].vert[0];
            char name[16];
            snprintf(name, sizeof name, "v%d", map->point[i].vert[0]);
            assert_string_equal(map->name[i], name);
            bool twin = false;
            for (int j = 0; j < map->count; j++) {
                const float *b = rig->mesh.x + 3 * map->point[j].vert[0];
                double d = sqrt((double)((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) +
                                         (a[2] - b[2]) * (a[2] - b[2])));
                if (i != j) nearest = fmin(nearest, d);
                twin |= fabsf(a[0] + b[0]) < 1e-5f && fabsf(a[1] - b[1]) < 1e-5f && fabsf(a[2] - b[2]) < 1e-5f;
            }
            paired += twin;
        }
        assert_true(paired >= counts[c] - 1); // an odd one may be left over
        if (counts[c] == 60) assert_true(nearest > 0.004);
        fa_marker_map_free(map);
        fa_marker_map_free(again);
    }
    FaMarkerMap *map;
    assert_int_equal(fa_markers_choose(rig, 100000, &map, &err), FA_E_ARG);
    assert_null(map);
    fa_rig_free(rig);
    rig = head_rig(&(HeadOptions){.no_shapes = true});
    err = (FaError){0};
    assert_int_equal(fa_markers_choose(rig, 10, &map, &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "no shape moves"));
    fa_rig_free(rig);
}

// The shipped head: both lips, no mouth, no eyes.
static void test_choose_head(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    FaHead *head;
    FaRig *rig;
    FaMarkerMap *map;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_markers_choose(rig, 0, &map, &err), &err);
    assert_int_equal(map->count, 80);
    int jaw = -1, lower = 0, upper = 0;
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, "jawOpen")) jaw = s;
    assert_true(jaw >= 0);
    float *weights = FA_NEW(rig->nshape, float), *open = FA_NEW(3 * rig->mesh.nvert, float);
    weights[jaw] = 1;
    fa_rig_blend(rig, weights, open);
    const int *mirror = head->part[0].mirror;
    int paired = 0;
    for (int i = 0; i < map->count; i++) {
        int v = map->point[i].vert[0];
        const float *x = rig->mesh.x + 3 * v;
        // nothing inside of the eyeballs' radius, nothing behind the front of the face
        for (int e = 0; e < 2; e++) {
            double d2 = 0;
            for (int k = 0; k < 3; k++) d2 += ((double)x[k] - head->eye[e][k]) * ((double)x[k] - head->eye[e][k]);
            assert_true(sqrt(d2) > head->eye_radius);
        }
        double drop = (double)x[1] - (double)open[3 * v + 1];
        lower += drop > 0.01;
        upper += drop < 0.002;
        for (int j = 0; j < map->count; j++) paired += map->point[j].vert[0] == mirror[v];
    }
    print_message("lower %d, upper %d, paired %d\n", lower, upper, paired);
    assert_true(lower >= 8 && upper >= 20);
    assert_true(paired >= 78);
    fa_free(weights);
    fa_free(open);
    fa_marker_map_free(map);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void test_sample(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaClip *clip = talk_clip(6);
    clip->head = FA_NEW(6, FaPose);
    for (int f = 0; f < 6; f++) clip->head[f] = (FaPose){{0, 0, 0, 1}, {f, 0, 0}};
    FaSequence *seq;
    FaMarkerMap *map;
    FaMarkerTake *t;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    CHECK_OK(fa_markers_choose(rig, 20, &map, &err), &err);
    map->point[3].vert[0] = -1; // not mapped: left out
    map->mapped--;
    CHECK_OK(fa_markers_sample(seq, map, 0, &t, &err), &err);
    assert_int_equal(t->nmarker, 19);
    assert_true(t->fps == 25 && t->head && t->head[5].p[0] == 5);
    float *x = FA_NEW(3 * rig->mesh.nvert, float);
    CHECK_OK(fa_sequence_read(seq, 4, x, &err), &err);
    double moved = 0;
    for (int i = 0, m = 0; i < 20; i++) {
        if (i == 3) continue;
        for (int k = 0; k < 3; k++) {
            assert_true(at(t, 4, m)[k] == x[3 * map->point[i].vert[0] + k]);
            moved = fmax(moved, fabs((double)at(t, 4, m)[k] - (double)rig->mesh.x[3 * map->point[i].vert[0] + k]));
        }
        m++;
    }
    assert_true(moved > 0.005);
    fa_markers_free(t);
    CHECK_OK(fa_markers_sample(seq, map, 50, &t, &err), &err);
    CHECK_NEAR(t->time[5], 0.1, 1e-12);
    fa_markers_free(t);
    map->point[0].vert[1] = 1 << 20;
    assert_int_equal(fa_markers_sample(seq, map, 0, &t, &err), FA_E_ARG);
    assert_null(t);
    fa_free(x);
    fa_sequence_close(seq);
    fa_marker_map_free(map);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// --- maps ---------------------------------------------------------------------------------------------------------

// An offset turns with its triangle.
static void test_point(void **state) {
    (void)state;
    const float x[] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, turned[] = {0, 0, 0, 0, 1, 0, 0, 0, 1}; // x to y, y to z, z to x
    FaMarkerPoint p = {.tri = 0, .vert = {0, 1, 2}, .bary = {0.5f, 0.25f, 0.25f}, .offset = {0.1f, 0.2f, 0.3f}};
    double out[3];
    fa_marker_point_at(&p, x, true, out);
    CHECK_NEAR(out[0], 0.35, 1e-7), CHECK_NEAR(out[1], 0.45, 1e-7), CHECK_NEAR(out[2], 0.3, 1e-7);
    fa_marker_point_at(&p, turned, true, out);
    CHECK_NEAR(out[1], 0.35, 1e-7), CHECK_NEAR(out[2], 0.45, 1e-7), CHECK_NEAR(out[0], 0.3, 1e-7);
    fa_marker_point_at(&p, x, false, out);
    CHECK_NEAR(out[0], 0.25, 1e-7), CHECK_NEAR(out[2], 0, 0);
}

static void write_file(const char *name, const char *text) {
    FaError err = {0};
    CHECK_OK(fai_file_write(test_path(name), text, strlen(text), &err), &err);
}

static void test_map_file(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMarkerMap *map, *again;
    write_file("map.json",
               "{\"a\": 5, \"b\": {\"tri\": 7, \"bary\": [0.2, 0.3, 0.5], \"offset\": [0, 0.001, 0.002]}, \"c\": null,"
               " \"d\": {\"vertex\": 9, \"offset\": [0, 0, 0.003]}}");
    CHECK_OK(fa_marker_map_load(test_path("map.json"), rig, &map, &err), &err);
    assert_int_equal(map->count, 4);
    assert_int_equal(map->mapped, 3);
    assert_int_equal(map->point[0].vert[0], 5);
    assert_int_equal(map->point[1].vert[2], rig->mesh.tri[3 * 7 + 2]);
    assert_true(map->point[1].bary[2] == 0.5f && map->point[1].offset[2] == 0.002f &&
                map->point[3].offset[2] == 0.003f);
    assert_true(map->point[2].vert[0] < 0);
    CHECK_OK(fa_marker_map_save(map, test_path("again.json"), &err), &err);
    CHECK_OK(fa_marker_map_load(test_path("again.json"), rig, &again, &err), &err);
    assert_memory_equal(map->point, again->point, 4 * sizeof *map->point);
    fa_marker_map_free(map);
    fa_marker_map_free(again);
    static const struct {
        const char *text, *what;
    } bad[] = {{"[]", "names no markers"},
               {"{}", "names no markers"},
               {"{\"a\": 1e9}", "no vertex"},
               {"{\"a\": -1}", "no vertex"},
               {"{\"a\": 1.5}", "no vertex"},
               {"{\"a\": \"x\"}", "neither a vertex"},
               {"{\"a\": {}}", "neither a vertex"},
               {"{\"a\": {\"tri\": 1, \"vertex\": 1}}", "both"},
               {"{\"a\": {\"tri\": 1, \"bary\": [1, 1, 1]}}", "outside of its triangle"},
               {"{\"a\": {\"tri\": 1, \"bary\": [2, -1, 0]}}", "outside of its triangle"},
               {"{\"a\": {\"tri\": 1, \"bary\": [1]}}", ""},
               {"{\"a\": {\"tri\": 1, \"offset\": [5, 0, 0]}}", "over a metre"},
               {"{\"a\": 1, \"a\": 2}", "twice"},
               {"{\"a\": 1", ""}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file("bad.json", bad[i].text);
        err = (FaError){0};
        assert_true(fa_marker_map_load(test_path("bad.json"), rig, &map, &err) < 0);
        assert_null(map);
        if (!err.what[0] || !strstr(err.what, bad[i].what)) fail_msg("%s: '%s'", bad[i].text, err.what);
        assert_string_equal(err.path, test_path("bad.json"));
    }
    fa_rig_free(rig);
}

// A take of a known map, moved rigidly and lifted off the skin, with names that tell nothing.
static FaMarkerTake *moved_take(const FaRig *rig, const FaMarkerMap *map, const FaPose *pose, double lift,
                                double noise) {
    FaError err = {0};
    FaClip *clip = talk_clip(4);
    FaSequence *seq;
    FaMarkerTake *t;
    FaMarkerMap *copy;
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    for (int f = 0; f < 4; f++) clip->weight[2 * f + 1] = 0;
    CHECK_OK(fai_marker_map_new(map->count, map->name, &copy, &err), &err);
    for (int i = 0; i < map->count; i++) {
        copy->point[i] = map->point[i];
        copy->point[i].offset[2] = (float)lift;
        ((char *)copy->name[i])[0] = 'm';
    }
    copy->mapped = map->count;
    CHECK_OK(fa_markers_sample(seq, copy, 0, &t, &err), &err);
    for (int i = 0; i < t->nframe * t->nmarker; i++) {
        double x[3];
        fai_v3_load(t->x, i, x);
        for (int k = 0; k < 3; k++) x[k] += noise * fai_random_normal(3, (uint64_t)(3 * i + k));
        fai_pose_apply(pose, x, x);
        for (int k = 0; k < 3; k++) t->x[3 * i + k] = (float)x[k];
    }
    fa_marker_map_free(copy);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    return t;
}

// Largest distance of the surface points of two maps but for one of them, and their mean.
static double worst_point(const FaRig *rig, const FaMarkerMap *a, const FaMarkerMap *b, int but, double *mean,
                          int *compared) {
    double worst = 0;
    *compared = 0;
    *mean = 0;
    for (int i = 0; i < a->count; i++) {
        double p[3], q[3];
        if (b->point[i].vert[0] < 0 || i == but) continue;
        fa_marker_point_at(&a->point[i], rig->mesh.x, false, p);
        fa_marker_point_at(&b->point[i], rig->mesh.x, false, q);
        fai_v3_sub(p, q, p);
        worst = fmax(worst, fai_v3_norm(p));
        *mean += fai_v3_norm(p);
        ++*compared;
    }
    *mean /= *compared;
    return worst;
}

// The shipped head's markers come back from any pose, without names.
static void test_map_auto(void **state) {
    (void)state;
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    FaHead *head;
    FaRig *rig;
    FaMarkerMap *truth, *map;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    CHECK_OK(fa_markers_choose(rig, 70, &truth, &err), &err);
    for (int trial = 0; trial < 6; trial++) {
        FaPose pose = {.p = {1.5, -0.4, 2}};
        double r[3];
        for (int k = 0; k < 3; k++)
            r[k] = 2.5 * (fai_random_unit(9, (uint64_t)(3 * trial + k)) - 0.5) * (trial ? 2 : 0);
        fai_q_exp(r, pose.q);
        FaMarkerTake *t = moved_take(rig, truth, &pose, 0.002, 1e-4);
        t->ok[5] = 0; // one is not seen at first, and has moved with the jaw when it is
        for (int k = 0; k < 3; k++) t->x[15 + k] = NAN;
        CHECK_OK(fa_marker_map_new(t, rig, NULL, &map, &err), &err);
        int n;
        double mean, worst = worst_point(rig, truth, map, 5, &mean, &n);
        print_message("pose %d: %d mapped, off by %.2f mm on average, %.2f mm at most; rms %.2f mm\n", trial, n,
                      1e3 * mean, 1e3 * worst, 1e3 * map->rms);
        assert_int_equal(map->frame, 0);
        assert_int_equal(map->mapped, 70);
        assert_true(worst < 0.002 && mean < 5e-4);
        CHECK_NEAR(map->rms, 0.002, 5e-4);
        assert_non_null(fai_note_find(&map->notes, "marker-carried"));
        assert_null(fai_note_find(&map->notes, "marker-far"));
        assert_null(fai_note_find(&map->notes, "alignment-ambiguous"));
        // the offsets bring the markers back to where they were, through the pose
        for (int i = 0; i < 70; i++) {
            double x[3], y[3];
            if (i == 5) continue;
            fai_v3_load(t->x, i, x);
            fai_pose_apply(&map->rig_from_take, x, x);
            fa_marker_point_at(&map->point[i], rig->mesh.x, true, y);
            fai_v3_sub(x, y, x);
            assert_true(fai_v3_norm(x) < 1e-6);
        }
        fa_marker_map_free(map);
        fa_markers_free(t);
    }
    fa_marker_map_free(truth);
    fa_rig_free(rig);
    fa_head_free(head);
}

static void test_map_names(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMarkerMap *map;
    // five markers on vertices, one elsewhere on the surface, one far away, one in no map but named
    static const int v[] = {250, 300, 420, 433, 510};
    const char *name[] = {"v250", "v300", "v420", "x", "y", "near", "far", "out"};
    FaMarkerTake *t;
    CHECK_OK(fa_markers_new(1, 8, name, 30, &t, &err), &err);
    FaPose pose = {{0, 0.6, 0, 0.8}, {1, 2, 3}};
    for (int i = 0; i < 8; i++) {
        double x[3];
        fai_v3_load(rig->mesh.x, i < 5 ? v[i] : 434, x);
        if (i == 6) x[2] += 0.05;
        fai_pose_apply(&pose, x, x);
        for (int k = 0; k < 3; k++) t->x[3 * i + k] = (float)x[k];
        t->ok[i] = 1;
    }
    write_file("names.json", "{\"x\": 433, \"y\": 510, \"out\": null, \"other\": 3}");
    char *file = fai_strdup(test_path("names.json"));
    FaMapOptions o = fa_map_options_default();
    o.file = file;
    CHECK_OK(fa_marker_map_new(t, rig, &o, &map, &err), &err);
    for (int i = 0; i < 5; i++) assert_int_equal(map->point[i].vert[0], v[i]);
    double p[3], q[3];
    fa_marker_point_at(&map->point[5], rig->mesh.x, false, p);
    fai_v3_load(rig->mesh.x, 434, q);
    fai_v3_sub(p, q, p);
    assert_true(fai_v3_norm(p) < 1e-5);
    assert_true(map->point[6].vert[0] < 0 && map->point[7].vert[0] < 0);
    assert_int_equal(map->mapped, 6);
    assert_non_null(strstr(fai_note_find(&map->notes, "marker-far")->text, "far"));
    assert_string_equal(fai_note_find(&map->notes, "map-unused")->where, "other");
    fa_marker_map_free(map);
    // names only
    o.names_only = true;
    CHECK_OK(fa_marker_map_new(t, rig, &o, &map, &err), &err);
    assert_int_equal(map->mapped, 5);
    assert_int_equal(map->frame, -1);
    assert_int_equal(fai_note_find(&map->notes, "marker-unnamed")->count, 2);
    fa_marker_map_free(map);
    fa_markers_free(t);
    // a vertex that is not there; too few to align; nothing to map
    CHECK_OK(fa_markers_new(1, 2, (const char *const[]){"v99999", "b"}, 30, &t, &err), &err);
    for (int i = 0; i < 6; i++) t->x[i] = 0.1f * (float)i;
    t->ok[0] = t->ok[1] = 1;
    assert_int_equal(fa_marker_map_new(t, rig, NULL, &map, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "another rig"));
    assert_null(map);
    t->name[0] = "a";
    err = (FaError){0};
    assert_int_equal(fa_marker_map_new(t, rig, NULL, &map, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "too few"));
    err = (FaError){0};
    o = (FaMapOptions){.frame = 7};
    assert_int_equal(fa_marker_map_new(t, rig, &o, &map, &err), FA_E_ARG);
    err = (FaError){0};
    o = (FaMapOptions){.frame = -1, .names_only = true};
    assert_int_equal(fa_marker_map_new(t, rig, &o, &map, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "none of the 2 markers"));
    fa_markers_free(t);
    fa_free(file);
    fa_rig_free(rig);
}

// Names v123 of another mesh do not bind: the take remembers its mesh, or, without that, the places tell.
static void test_names_of_another_rig(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMarkerMap *chosen, *map;
    FaMarkerTake *t;
    FaClip *clip = talk_clip(3);
    FaSequence *seq;
    clip->weight[1] = 0; // it begins at rest
    CHECK_OK(fa_markers_choose(rig, 40, &chosen, &err), &err);
    CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
    CHECK_OK(fa_markers_sample(seq, chosen, 0, &t, &err), &err);
    assert_true(t->mesh && t->mesh == chosen->mesh);
    for (int way = 0; way < 5; way++) {
        // 0: as it is; 1: nothing known, the places fit; 2: known to be another's; 3: nothing known, the names are each
        // the next one's; 4: nothing known, vertices that are not there
        const char *kept[40];
        bool ours = way < 2;
        memcpy(kept, t->name, sizeof kept);
        uint64_t mesh = t->mesh;
        if (way) t->mesh = way == 2 ? mesh + 1 : 0;
        for (int m = 0; m < 40 && way == 3; m++) t->name[m] = kept[(m + 7) % 40];
        if (way == 4) t->name[5] = "v99999";
        CHECK_OK(fa_marker_map_new(t, rig, NULL, &map, &err), &err);
        assert_int_equal(fai_note_find(&map->notes, "marker-names-other") != NULL, !ours);
        assert_true(map->mapped >= 39);
        double worst = 0;
        for (int m = 0; m < 40; m++) {
            double a[3], b[3];
            if (map->point[m].vert[0] < 0) continue;
            if (ours) assert_memory_equal(&map->point[m], &chosen->point[m], sizeof map->point[m]);
            fa_marker_point_at(&map->point[m], rig->mesh.x, true, a);
            fa_marker_point_at(&chosen->point[m], rig->mesh.x, true, b);
            fai_v3_sub(a, b, a);
            worst = fmax(worst, fai_v3_norm(a));
        }
        print_message("way %d: %.2f mm\n", way, 1e3 * worst);
        assert_true(worst < 1e-3);
        fa_marker_map_free(map);
        memcpy(t->name, kept, sizeof kept);
        t->mesh = mesh;
    }
    // the map's file remembers it too
    CHECK_OK(fa_marker_map_save(chosen, test_path("of_rig.json"), &err), &err);
    CHECK_OK(fa_marker_map_load(test_path("of_rig.json"), rig, &map, &err), &err);
    assert_true(map->count == 40 && map->named == chosen->mesh);
    fa_marker_map_free(map);
    rig->mesh.ntri--;
    assert_int_equal(fa_marker_map_load(test_path("of_rig.json"), rig, &map, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "another rig"));
    assert_non_null(strstr(err.path, "of_rig.json"));
    rig->mesh.ntri++;
    fa_markers_free(t);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_marker_map_free(chosen);
    fa_rig_free(rig);
}

static FaRig *shipped_head(void) {
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    FaHead *head;
    FaRig *rig;
    CHECK_OK(fa_head_new(&params, &head, &err), &err);
    CHECK_OK(fa_head_rig(head, 0, &rig, &err), &err);
    fa_head_free(head);
    return rig;
}

// Nameless markers of a take that begins with an open, smiling mouth: its neutral frame is found; where there is none,
// they are placed with the expression.
static void test_begins_in_mid_expression(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = shipped_head();
    FaMarkerMap *chosen, *map;
    CHECK_OK(fa_markers_choose(rig, 80, &chosen, &err), &err);
    for (int way = 0; way < 3;
         way++) { // 0: at rest from the middle on; 1: never; 2: likewise, and frame 0 is said to be
        FaClip *clip = talk_clip(12);
        FaSequence *seq;
        FaMarkerTake *t;
        char text[80][8];
        for (int f = 0; f < 12; f++) clip->weight[2 * f] = clip->weight[2 * f + 1] = way || f < 6 ? 0.7f : 0;
        CHECK_OK(fa_sequence_of_clip(rig, clip, &seq, &err), &err);
        CHECK_OK(fa_markers_sample(seq, chosen, 0, &t, &err), &err);
        for (int m = 0; m < 80; m++) {
            snprintf(text[m], sizeof text[m], "m%d", m);
            t->name[m] = text[m];
        }
        FaMapOptions o = fa_map_options_default();
        if (way == 2) o.frame = 0;
        CHECK_OK(fa_marker_map_new(t, rig, &o, &map, &err), &err);
        double sum = 0;
        for (int m = 0; m < 80; m++) {
            double a[3], b[3];
            if (map->point[m].vert[0] < 0) continue;
            fa_marker_point_at(&map->point[m], rig->mesh.x, true, a);
            fa_marker_point_at(&chosen->point[m], rig->mesh.x, true, b);
            fai_v3_sub(a, b, a);
            sum += fai_v3_dot(a, a) / map->mapped;
        }
        print_message("way %d: frame %d, %d mapped, %.2f mm rms off\n", way, map->frame, map->mapped, 1e3 * sqrt(sum));
        assert_int_equal(fai_note_find(&map->notes, "neutral-found") != NULL, way == 0);
        assert_int_equal(fai_note_find(&map->notes, "neutral-expression") != NULL, way == 1);
        if (way == 0) assert_true(map->frame >= 6 && sqrt(sum) < 0.5e-3);
        if (way == 1) assert_true(strstr(fai_note_find(&map->notes, "neutral-expression")->text, "jawOpen"));
        if (way == 1) assert_true(sqrt(sum) < 4e-3);
        if (way == 2) assert_true(sqrt(sum) > 6e-3); // as it was
        fa_marker_map_free(map);
        fa_markers_free(t);
        fa_sequence_close(seq);
        fa_clip_free(clip);
    }
    fa_marker_map_free(chosen);
    fa_rig_free(rig);
}

// "none of the 2 markers": of which file?
static void test_error_names_the_take(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMarkerTake *t;
    FaMarkerMap *map;
    write_file("far.csv", "time,a.x,a.y,a.z,b.x,b.y,b.z\n0,0,0,0,0.1,0,0\n");
    CHECK_OK(fa_markers_load(test_path("far.csv"), NULL, &t, &err), &err);
    FaMapOptions o = {.frame = -1, .names_only = true};
    assert_int_equal(fa_marker_map_new(t, rig, &o, &map, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.path, "far.csv"));
    assert_non_null(strstr(err.remedy, "--map"));
    fa_markers_free(t);
    fa_rig_free(rig);
}

static void test_map_no_memory(void **state) {
    (void)state;
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMarkerMap *truth, *map;
    CHECK_OK(fa_markers_choose(rig, 12, &truth, &err), &err);
    FaPose still = fai_pose_identity();
    FaMarkerTake *t = moved_take(rig, truth, &still, 0.001, 0);
    long failures = 0;
    for (long n = 1; n < 3000; n += n < 40 ? 1 : 7) {
        for (int what = 0; what < 2; what++) {
            test_fail_alloc(n);
            long before = test_alloc_balance();
            err = (FaError){0};
            FaCode rc = what ? fa_markers_choose(rig, 12, &map, &err) : fa_marker_map_new(t, rig, NULL, &map, &err);
            bool failed = test_alloc_failed();
            if (rc < 0) assert_int_equal(rc, FA_E_MEMORY);
            failures += failed && rc < 0;
            fa_marker_map_free(map);
            assert_int_equal(test_alloc_balance(), before);
            test_fail_alloc(0);
            if (!failed && !what) n = 3000;
        }
    }
    assert_true(failures > 20);
    fa_marker_map_free(truth);
    fa_markers_free(t);
    fa_rig_free(rig);
}

static void test_procrustes(void **state) {
    (void)state;
    double p[24], q[24];
    FaPose pose = {{0.1, -0.5, 0.3, 0}, {1, 2, 3}}, found;
    pose.q[3] = sqrt(1 - 0.35);
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) p[3 * i + k] = fai_random_unit(1, (uint64_t)(3 * i + k));
        fai_pose_apply(&pose, p + 3 * i, q + 3 * i);
    }
    assert_true(fai_procrustes(8, p, q, &found));
    CHECK_NEAR(fabs(fai_q_dot(pose.q, found.q)), 1, 1e-12);
    for (int k = 0; k < 3; k++) CHECK_NEAR(found.p[k], pose.p[k], 1e-12);
    for (int i = 0; i < 24; i++) p[i] = i / 3; // on a line
    assert_false(fai_procrustes(8, p, q, &found));
    assert_false(fai_procrustes(2, p, q, &found));
}

// A large map costs as much as it is long.
static void test_map_large(void **state) {
    (void)state;
    FaText text = {0};
    FaError err = {0};
    FaRig *rig = head_rig(NULL);
    FaMarkerMap *map;
    fai_text_str(&text, "{\"first\": 0");
    for (int i = 0; i < 100000; i++) fai_text_printf(&text, ",\"m%d\":0", i);
    fai_text_str(&text, "}");
    CHECK_OK(fai_file_write(test_path("large.json"), text.data, text.size, &err), &err);
    double begin = fai_seconds();
    CHECK_OK(fa_marker_map_load(test_path("large.json"), rig, &map, &err), &err);
    assert_true(fai_seconds() - begin < 5);
    assert_int_equal(map->mapped, 100001);
    fa_marker_map_free(map);
    fa_rig_free(rig);
    fai_text_free(&text);
}

static struct {
    FaRig *rig;
    FaMarkerTake *take;
} starved;

static FaCode neutral_again(void *user, FaError *err) {
    (void)user;
    int frame;
    return fai_neutral_frame(starved.take, starved.rig, false, &frame, err);
}

// A take that begins in mid-expression, so that more than its first frame is looked at.
static void test_neutral_no_memory(void **state) {
    (void)state;
    FaError err = {0};
    FaMarkerMap *chosen;
    FaSequence *seq;
    FaClip *clip = talk_clip(3);
    starved.rig = head_rig(NULL);
    CHECK_OK(fa_markers_choose(starved.rig, 30, &chosen, &err), &err);
    for (int f = 0; f < 3; f++) clip->weight[2 * f] = clip->weight[2 * f + 1] = f < 2 ? 0.7f : 0;
    CHECK_OK(fa_sequence_of_clip(starved.rig, clip, &seq, &err), &err);
    CHECK_OK(fa_markers_sample(seq, chosen, 0, &starved.take, &err), &err);
    assert_true(test_starve(neutral_again, NULL) > 20);
    fa_markers_free(starved.take);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    fa_marker_map_free(chosen);
    fa_rig_free(starved.rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_choose_head),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_point),
        cmocka_unit_test(test_map_file),
        cmocka_unit_test(test_map_auto),
        cmocka_unit_test(test_names_of_another_rig),
        cmocka_unit_test(test_error_names_the_take),
        cmocka_unit_test(test_begins_in_mid_expression),
        cmocka_unit_test(test_map_names),
        cmocka_unit_test(test_map_large),
        cmocka_unit_test(test_map_no_memory),
        cmocka_unit_test(test_neutral_no_memory),
        cmocka_unit_test(test_procrustes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

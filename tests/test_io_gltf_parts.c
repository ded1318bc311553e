// The other meshes of a head follow in what is written: teeth and tongue the jaw, eyes the skull, shapes the weights; a
// second head and what is elsewhere stay. labels: unit
#include "test.h"

#include "fascia/head.h"
#include "fascia/sequence.h"
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_write.h"
#include "math/mat3.h"
#include "render/subject.h"

enum { FRAMES = 11 };
static FaHead *head;

static FaRig *load(const char *path) {
    FaRig *rig;
    FaError err = {0};
    CHECK_OK(fa_rig_load(path, NULL, &rig, &err), &err);
    return rig;
}

// The mouth opens, the head turns and moves.
static FaClip *turning(void) {
    static const char *const names[] = {"jawOpen", "jawLeft", "eyeLookUpLeft"};
    FaClip *clip;
    FaError err = {0};
    CHECK_OK(fa_clip_new(FRAMES, 3, (const char **)names, 30, &clip, &err), &err);
    clip->head = FA_NEW(FRAMES, FaPose);
    for (int f = 0; f < FRAMES; f++) {
        double u = f / (FRAMES - 1.0), a = 0.35 * u;
        clip->time[f] = f / 30.0;
        clip->weight[3 * f] = clip->weight[3 * f + 2] = (float)u;
        clip->head[f] = (FaPose){{0, sin(a), 0, cos(a)}, {0.05 * u, 0.02 * u, 0.1 * u}};
    }
    return clip;
}

static bool of_the_jaw(const char *name) {
    return !strcmp(name, "teeth_lower") || !strcmp(name, "gum_lower") || !strcmp(name, "tongue");
}

// As many exporters write a head: all meshes are roots, and what goes with the jaw has no shapes.
static const char *loose_file(void) {
    static char path[1024];
    FaError err = {0};
    FaGltf *doc;
    FaGltfOut out;
    snprintf(path, sizeof path, "%s", test_path("loose.glb"));
    const char *whole = test_path("whole.glb");
    CHECK_OK(fa_head_save(head, NULL, false, NULL, whole, &err), &err);
    CHECK_OK(fai_gltf_load(whole, &doc, &err), &err);
    CHECK_OK(fai_gltf_out_open(&out, doc, path, &err), &err);
    FaJson *meshes = fai_json_get(out.root, "meshes"), *nodes = fai_json_get(out.root, "nodes");
    for (int i = 0; i < doc->nmesh; i++) {
        if (!of_the_jaw(doc->mesh[i].name)) continue;
        FaJson *m = fai_json_at(meshes, i);
        fai_json_remove(m, "extras");
        fai_json_remove(m, "weights");
        for (FaJson *p = fai_json_get(m, "primitives")->first; p; p = p->next) fai_json_remove(p, "targets");
    }
    fai_json_remove(fai_json_at(nodes, 0), "children");
    FaJson *roots = fai_out_array(&out, fai_json_at(fai_json_get(out.root, "scenes"), 0), "nodes");
    for (int i = 1; i < doc->nnode; i++) fai_out_push_int(&out, roots, i);
    CHECK_OK(fai_gltf_out_write(&out, &err), &err);
    fai_gltf_out_close(&out);
    fai_gltf_free(doc);
    return path;
}

static FaPartHow how_of(const FaRig *rig, const char *name) {
    for (int i = 0; i < rig->npart; i++)
        if (!strcmp(rig->part[i].name, name)) return rig->part[i].how;
    fail_msg("no part %s", name);
    return FA_PART_ALONE;
}

static void parts_are_told(void **state) {
    (void)state;
    FaRig *rig = load(loose_file());
    assert_int_equal(rig->npart, 7);
    assert_int_equal(how_of(rig, "eye_left"), FA_PART_SHAPES);
    assert_int_equal(how_of(rig, "teeth_upper"), FA_PART_SKULL);
    assert_int_equal(how_of(rig, "teeth_lower"), FA_PART_JAW);
    assert_int_equal(how_of(rig, "tongue"), FA_PART_JAW);
    FaNotes notes = {0};
    fa_rig_part_notes(rig, "out.glb", &notes);
    assert_int_equal(notes.count, 1);
    assert_string_equal(notes.note[0].text,
                        "7 other meshes follow: eye_left, eye_right (shapes); teeth_lower, gum_lower, tongue (jaw); "
                        "teeth_upper, gum_upper (skull)");
    fa_notes_free(&notes);
    fa_rig_part_notes(rig, "out.pc2", &notes);
    assert_string_equal(notes.note[0].code, "parts-left-out");
    fa_notes_free(&notes);
    fa_rig_free(rig);
}

// A second head, a step aside, is not ours to move.
static void second_head_stays(void **state) {
    (void)state;
    FaError err = {0};
    const char *path = test_path("two.glb"), *out = test_path("two_out.glb");
    for (int i = 0; i < fa_zoo_count(); i++)
        if (!strcmp(fa_zoo_animal(i).name, "two_heads")) CHECK_OK(fa_zoo_save(i, 0, NULL, path, &err), &err);
    FaRig *rig = load(path);
    assert_int_equal(rig->npart, 15);
    int alone = 0;
    for (int i = 0; i < rig->npart; i++) alone += rig->part[i].how == FA_PART_ALONE;
    assert_int_equal(alone, 8);
    // its animation is what it was
    FaClip *clip = turning();
    CHECK_OK(fai_gltf_save(rig, clip, out, &err), &err);
    FaRig *again = load(out);
    const FaGltf *a = fai_gltf_of_rig(rig), *b = fai_gltf_of_rig(again);
    for (int i = 0; i < rig->npart; i++) {
        if (rig->part[i].how != FA_PART_ALONE) continue;
        for (int c = 0; c < a->anim[0].nchannel; c++) {
            if (a->anim[0].channel[c].node != rig->part[i].node) continue;
            bool kept = false;
            for (int d = 0; d < b->anim[0].nchannel; d++)
                kept |= b->anim[0].channel[d].node == rig->part[i].node &&
                        b->anim[0].sampler[b->anim[0].channel[d].sampler].output ==
                            a->anim[0].sampler[a->anim[0].channel[c].sampler].output;
            assert_true(kept);
        }
    }
    fa_clip_free(clip);
    fa_rig_free(again);
    fa_rig_free(rig);
}

static double farthest(const float *a, const float *b, int n) {
    double most = 0;
    for (int i = 0; i < n; i++) {
        double p[3], q[3];
        fai_v3_load(a, i, p);
        fai_v3_load(b, i, q);
        fai_v3_sub(p, q, p);
        most = fmax(most, fai_v3_norm(p));
    }
    return most;
}

// What is written is what was meant, and the lower teeth are where the head itself has them.
static void written_parts_follow(void **state) {
    (void)state;
    FaError err = {0};
    const char *out = test_path("loose_out.glb"), *twice = test_path("loose_twice.glb");
    FaRig *rig = load(loose_file());
    FaClip *clip = turning();
    CHECK_OK(fai_gltf_save(rig, clip, out, &err), &err);
    FaRig *again = load(out);
    FaSubject *meant, *got;
    CHECK_OK(fai_subject_new(rig, clip, false, &meant, &err), &err);
    CHECK_OK(fai_subject_new(again, again->clip, false, &got, &err), &err);
    assert_int_equal(meant->nparts, got->nparts);
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float), *y = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    float weights[FA_ARKIT_COUNT] = {0};
    weights[fa_arkit_match("jawOpen", NULL)] = weights[fa_arkit_match("eyeLookUpLeft", NULL)] = 1;
    double time = clip->time[FRAMES - 1];
    fai_subject_pose(meant, x, time, NULL);
    fai_subject_pose(got, y, time, NULL);
    for (int i = 1; i < meant->nparts; i++) {
        const FaRig *part = meant->companion[i].rig;
        assert_true(farthest(meant->x[i], got->x[i], part->mesh.nvert) < 1e-6);
        if (strcmp(part->name, "teeth_lower") && strcmp(part->name, "teeth_upper")) continue;
        bool lower = !strcmp(part->name, "teeth_lower");
        int number = 0;
        float *truth = FA_NEW(3 * (size_t)part->mesh.nvert, float);
        while (strcmp(head->part[number].name, part->name)) number++;
        CHECK_OK(fa_head_truth(head, number, weights, truth, &err), &err);
        double moved = farthest(truth, part->mesh.x, part->mesh.nvert);
        assert_true(lower ? moved > 0.01 : moved < 1e-6);
        assert_true(farthest(got->x[i], truth, part->mesh.nvert) < 0.002);
        fa_free(truth);
    }
    // written once more: the same channels, none of them twice
    CHECK_OK(fai_gltf_save(again, clip, twice, &err), &err);
    FaRig *third = load(twice);
    assert_int_equal(fai_gltf_of_rig(third)->anim[0].nchannel, fai_gltf_of_rig(again)->anim[0].nchannel);
    fa_rig_free(third);
    fa_free(x);
    fa_free(y);
    fai_subject_free(meant);
    fai_subject_free(got);
    fa_clip_free(clip);
    fa_rig_free(again);
    fa_rig_free(rig);
}

// Where one node is above all of the head, and above nothing else, it alone has the head's motion.
static void one_node_moves_all(void **state) {
    (void)state;
    FaError err = {0};
    const char *path = test_path("kept.glb"), *out = test_path("kept_out.glb");
    FaClip *clip = turning();
    CHECK_OK(fa_head_save(head, NULL, false, NULL, path, &err), &err);
    FaRig *rig = load(path);
    CHECK_OK(fai_gltf_save(rig, clip, out, &err), &err);
    FaRig *again = load(out);
    const FaGltf *doc = fai_gltf_of_rig(again);
    int weights = 0;
    for (int c = 0; c < doc->anim[0].nchannel; c++) {
        const FaGltfChannel *ch = &doc->anim[0].channel[c];
        weights += ch->path == FA_GLTF_WEIGHTS;
        assert_int_equal(ch->path == FA_GLTF_WEIGHTS || ch->node == 0, true);
    }
    assert_int_equal(weights, 6); // skin, eyes, lower teeth and gum, tongue
    FaPose a, b;
    fa_clip_sample(clip, clip->time[7], NULL, &a);
    fa_clip_sample(again->clip, clip->time[7], NULL, &b);
    for (int k = 0; k < 3; k++) CHECK_NEAR(a.p[k], b.p[k], 1e-6);
    for (int k = 0; k < 4; k++) CHECK_NEAR(a.q[k], b.q[k], 1e-6);
    fa_clip_free(clip);
    fa_rig_free(again);
    fa_rig_free(rig);
}

int main(void) {
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    if (fa_head_new(&params, &head, &err) < 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told),
        cmocka_unit_test(second_head_stays),
        cmocka_unit_test(written_parts_follow),
        cmocka_unit_test(one_node_moves_all),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    fa_head_free(head);
    return rc;
}

// The other meshes of a head follow in what is written: teeth and tongue the jaw, eyes the skull, shapes the weights; a
// second head and what is elsewhere stay.
#include "test.h"

#include "fascia/head.h"
#include "fascia/sequence.h"
#include "head/zoo.h"
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_write.h"
#include "math/mat3.h"
#include "mesh/mesh.h"
#include "render/subject.h"
#include "rig/teeth_rows.h"

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
    const char *out = test_path("two_out.glb");
    FaRig *rig = load(test_animal("two_heads"));
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

// --- both rows of teeth in one mesh -------------------------------------------------------------------------------

static bool of_the_teeth(const char *name) { return !strncmp(name, "teeth", 5) || !strncmp(name, "gum", 3); }

// The head with teeth and gums in one mesh without shapes; glued: a triangle joins the rows.
static const char *joined_file(bool glued) {
    static char path[1024];
    FaError err = {0};
    FaArena *arena = fai_arena_new(0);
    FaZoo *zoo = FA_PUSH(arena, 1, FaZoo);
    *zoo = (FaZoo){.head = head, .nhead = 1, .arena = arena, .file = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    CHECK_OK(fa_head_clip("talk", &zoo->clip, &err), &err);
    for (int p = 0; p < head->npart; p++)
        if (strcmp(head->part[p].region[0], "bone")) CHECK_OK(fai_zoo_add_part(zoo, head, p, 0, &err), &err);
    int to = 0;
    while (!of_the_teeth(zoo->mesh[to].name)) to++;
    zoo->mesh[to].name = "teeth";
    for (int i = zoo->nmesh - 1; i > to; i--) {
        if (!of_the_teeth(zoo->mesh[i].name)) continue;
        CHECK_OK(fai_zoo_join(zoo, &zoo->mesh[to], &zoo->mesh[i], &err), &err);
        fai_zoo_remove_mesh(zoo, i);
    }
    FaZooMesh *m = &zoo->mesh[to];
    m->nshape = 0;
    int all[4096], n = 0;
    for (int v = 0; glued && v < m->nvert; v += 7) all[n++] = -1 - v; // every piece, more or less
    const int start[2] = {0, n};
    FaZooExtra glue = {.nface = 1, .face_start = start, .face_vert = all, .region = m->region[0]};
    if (glued) CHECK_OK(fai_zoo_append(zoo, m, &glue, &err), &err);
    snprintf(path, sizeof path, "%s", test_path(glued ? "glued.glb" : "joined.glb"));
    CHECK_OK(fai_zoo_glb(zoo, NULL, path, &err), &err);
    fa_clip_free(zoo->clip);
    fai_arena_free(arena);
    return path;
}

static long size_of(const char *path) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    fclose(f);
    return n;
}

// How far the points of one mesh are from the nearest of another, at most.
static double apart(const float *a, int na, const float *b, int nb) {
    double most = 0;
    for (int i = 0; i < na; i++) {
        double best = INFINITY, p[3], q[3];
        fai_v3_load(a, i, p);
        for (int j = 0; j < nb; j++) {
            fai_v3_load(b, j, q);
            fai_v3_sub(p, q, q);
            best = fmin(best, fai_v3_dot(q, q));
        }
        most = fmax(most, sqrt(best));
    }
    return most;
}

// Vertices that a part's triangles use, packed; their number.
static int used(const FaSubject *s, int part, float *x) {
    const FaMesh *m = s->part[part].mesh;
    bool *seen = FA_NEW(m->nvert, bool);
    int n = 0;
    for (int i = 0; i < 3 * m->ntri; i++) {
        if (seen[m->tri[i]]) continue;
        seen[m->tri[i]] = true;
        memcpy(x + 3 * (size_t)n++, s->x[part] + 3 * (size_t)m->tri[i], 3 * sizeof *x);
    }
    fa_free(seen);
    return n;
}

// The row that is drawn is where the head itself has it.
static void check_row(const FaSubject *s, const char *name, const char *truth_name) {
    FaError err = {0};
    float weights[FA_ARKIT_COUNT] = {0};
    weights[fa_arkit_match("jawOpen", NULL)] = 1;
    int i = 1, k = 0;
    while (i < s->nparts && strcmp(s->companion[i].rig->name, name)) i++;
    assert_true(i < s->nparts);
    while (strcmp(head->part[k].name, truth_name)) k++;
    int nvert = head->part[k].mesh.nvert;
    float *truth = FA_NEW(3 * (size_t)nvert, float), *x = FA_NEW(3 * (size_t)s->part[i].mesh->nvert, float);
    CHECK_OK(fa_head_truth(head, k, weights, truth, &err), &err);
    double off = apart(truth, nvert, x, used(s, i, x));
    if (off > 0.002) fail_msg("%s is %.4f m from %s", name, off, truth_name);
    fa_free(truth);
    fa_free(x);
}

static void lower_row_follows_jaw(void **state) {
    (void)state;
    FaError err = {0};
    const char *out = test_path("joined_out.glb"), *twice = test_path("joined_twice.glb");
    FaRig *rig = load(joined_file(false));
    assert_int_equal(how_of(rig, "teeth"), FA_PART_SKULL);
    assert_int_equal(how_of(rig, "teeth.lower"), FA_PART_JAW);
    FaNotes notes = {0};
    fa_rig_part_notes(rig, "out.glb", &notes);
    assert_int_equal(notes.count, 1); // nothing is odd about it
    fa_notes_free(&notes);
    FaClip *clip = turning();
    for (int f = 0; f < FRAMES; f++) clip->weight[3 * f + 2] = 0;
    CHECK_OK(fai_gltf_save(rig, clip, out, &err), &err);
    FaRig *again = load(out);
    const FaGltf *doc = fai_gltf_of_rig(again), *before = fai_gltf_of_rig(rig);
    assert_int_equal(doc->nnode, before->nnode + 1);
    for (int i = 0; i < before->nnode; i++) assert_string_equal(doc->node[i].name, before->node[i].name);
    assert_string_equal(doc->node[doc->nnode - 1].name, "teeth.lower");
    assert_string_equal(doc->node[doc->node[doc->nnode - 1].parent].name, "teeth");
    FaSubject *s;
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    for (int pass = 0; pass < 2; pass++) { // what was meant, what was written
        CHECK_OK(fai_subject_new(pass ? again : rig, pass ? again->clip : clip, false, &s, &err), &err);
        fai_subject_pose(s, x, clip->time[FRAMES - 1], NULL);
        check_row(s, "teeth", "teeth_upper");
        check_row(s, "teeth", "gum_upper");
        check_row(s, "teeth.lower", "teeth_lower");
        check_row(s, "teeth.lower", "gum_lower");
        fai_subject_free(s);
    }
    // written once more: the same nodes, and no more bytes
    CHECK_OK(fai_gltf_save(again, clip, twice, &err), &err);
    FaRig *third = load(twice);
    assert_int_equal(fai_gltf_of_rig(third)->nnode, doc->nnode);
    assert_in_range(size_of(twice), size_of(out) - 64, size_of(out) + 64);
    fa_rig_free(third);
    fa_free(x);
    fa_clip_free(clip);
    fa_rig_free(again);
    fa_rig_free(rig);
}

static void glued_rows_are_said(void **state) {
    (void)state;
    FaRig *rig = load(joined_file(true));
    FaNotes notes = {0};
    assert_int_equal(how_of(rig, "teeth"), FA_PART_SKULL);
    fa_rig_part_notes(rig, "out.glb", &notes);
    assert_int_equal(notes.count, 2);
    assert_string_equal(notes.note[1].code, "parts-split");
    fa_notes_free(&notes);
    fa_rig_free(rig);
}

// The published face has its lower teeth in the skin: the mesh called teeth is a lone row.
static void lone_row_stays(void **state) {
    (void)state;
    const char *path = test_data("rigs/facecap/facecap_decoded.glb");
    if (!path) skip();
    FaRig *rig = load(path);
    FaNotes notes = {0};
    assert_int_equal(how_of(rig, "teeth"), FA_PART_SKULL);
    fa_rig_part_notes(rig, "out.glb", &notes);
    assert_int_equal(notes.count, 1);
    fa_notes_free(&notes);
    fa_rig_free(rig);
}

// size (nullable): of the mesh's pieces; only the small ones are taken.
static void add_teeth(const FaRig *rig, const FaMesh *m, const int *part, const int *size, float *x, int *tri,
                      FaTeeth *t) {
    int first = t->n;
    for (int v = 0; v < m->nvert; v++, t->n++) {
        double p[3], q[3];
        fai_v3_load(m->x, v, p);
        fai_m3_mulv(rig->axes, p, q);
        for (int k = 0; k < 3; k++) x[3 * t->n + k] = (float)q[k];
    }
    for (int i = 0; i < m->ntri; i++)
        for (int k = 0; k < 3 && (!size || size[part[m->tri[3 * i]]] < 60); k++)
            tri[3 * t->ntri + k] = first + m->tri[3 * i + k], t->ntri += k == 2;
}

// Its teeth put together: they lean to the front, and the upper ones bite over the lower ones.
static void real_rows_are_told(void **state) {
    (void)state;
    enum { MOST = 20000 };
    const char *path = test_data("rigs/facecap/facecap_decoded.glb");
    if (!path) skip();
    static float x[3 * MOST];
    static int tri[3 * MOST];
    static unsigned char lower[MOST];
    FaRig *rig = load(path);
    FaError err = {0};
    FaSubject *s;
    FaTopology topo;
    FaRows rows;
    CHECK_OK(fai_subject_new(rig, NULL, false, &s, &err), &err);
    CHECK_OK(fai_topology_build(&rig->mesh, &topo, &err), &err);
    int *size = FA_NEW(topo.nparts, int), upper = 0;
    for (int v = 0; v < topo.nvert; v++)
        if (topo.part[v] >= 0) size[topo.part[v]]++;
    FaTeeth t = {.x = x, .tri = tri, .size = 0.15, .lips = -INFINITY};
    for (int i = 1; i < s->nparts; i++)
        if (s->part[i].mesh->nvert == 614) add_teeth(rig, s->part[i].mesh, NULL, NULL, x, tri, &t);
    upper = t.n;
    assert_int_equal(upper, 614);
    add_teeth(rig, &rig->mesh, topo.part, size, x, tri, &t);
    // pack what is used
    int number[MOST] = {0}, n = 0;
    double front = -INFINITY;
    static float packed[3 * MOST];
    for (int i = 0; i < 3 * t.ntri; i++) {
        if (!number[tri[i]]) {
            memcpy(packed + 3 * (size_t)n, x + 3 * (size_t)tri[i], 3 * sizeof *x);
            number[tri[i]] = ++n;
            if (tri[i] >= upper) front = fmax(front, (double)packed[3 * n - 1]);
        }
        tri[i] = number[tri[i]] - 1;
    }
    for (int v = upper; v < n; v++)
        if ((double)packed[3 * v + 2] > front - 0.005) t.lips = fmax(t.lips, (double)packed[3 * v + 1]);
    t.x = packed, t.n = n;
    for (int off = -2; off <= 2; off++) { // lips are where they are, give or take 2 mm
        FaTeeth moved = t;
        moved.lips += 1e-3 * off;
        CHECK_OK(fai_teeth_rows(&moved, lower, &rows, &err), &err);
        assert_int_equal(rows, FA_ROWS_TWO);
        for (int v = 0; v < upper; v++) assert_int_equal(lower[number[v] - 1], 0);
        int below = 0;
        for (int v = 0; v < n; v++) below += lower[v];
        assert_int_equal(below, n - upper);
    }
    fa_free(size);
    fai_topology_free(&topo);
    fai_subject_free(s);
    fa_rig_free(rig);
}

// --- a part of the file's own animation ---------------------------------------------------------------------------

// Have the file move its upper teeth as no jaw does: 1 cm more in each frame.
static void move_teeth(const char *from, const char *to) {
    FaError err = {0};
    FaGltf *doc;
    FaGltfOut out;
    CHECK_OK(fai_gltf_load(from, &doc, &err), &err);
    CHECK_OK(fai_gltf_out_open(&out, doc, to, &err), &err);
    for (int c = 0; c < doc->anim[0].nchannel; c++) {
        const FaGltfChannel *ch = &doc->anim[0].channel[c];
        if (ch->path != FA_GLTF_TRANSLATION || strcmp(doc->node[ch->node].name, "teeth_upper") != 0) continue;
        float x[3 * FRAMES];
        CHECK_OK(fai_gltf_floats(doc, doc->anim[0].sampler[ch->sampler].output, x, &err), &err);
        for (int f = 0; f < FRAMES; f++) x[3 * f] += 0.01f * (float)f;
        FaJson *samplers = fai_json_get(fai_json_at(fai_json_get(out.root, "animations"), 0), "samplers");
        fai_out_int(&out, fai_json_at(samplers, ch->sampler), "output", fai_out_floats(&out, x, FRAMES, 3, false));
    }
    CHECK_OK(fai_gltf_out_write(&out, &err), &err);
    fai_gltf_out_close(&out);
    fai_gltf_free(doc);
}

// Frames of the file's own: its parts do what they do there, at those times.
static void cut_clip_keeps_parts(void **state) {
    (void)state;
    enum { FIRST = 4, LAST = 8 };
    FaError err = {0};
    const char *led = test_path("cut_led.glb"), *whole = test_path("cut_from.glb"), *out = test_path("cut.glb");
    FaRig *rig = load(loose_file());
    FaClip *clip = turning(), *cut;
    CHECK_OK(fai_gltf_save(rig, clip, led, &err), &err);
    move_teeth(led, whole);
    FaRig *own = load(whole);
    CHECK_OK(fa_clip_slice(own->clip, FIRST, LAST, &cut, &err), &err);
    CHECK_OK(fai_gltf_save(own, cut, out, &err), &err);
    FaRig *again = load(out);
    assert_int_equal(again->clip->nframe, LAST - FIRST + 1);
    assert_int_equal(fai_gltf_of_rig(again)->anim[0].nchannel, fai_gltf_of_rig(own)->anim[0].nchannel);
    FaSubject *meant, *got;
    CHECK_OK(fai_subject_new(own, own->clip, false, &meant, &err), &err);
    CHECK_OK(fai_subject_new(again, again->clip, false, &got, &err), &err);
    float *x = FA_NEW(3 * (size_t)rig->mesh.nvert, float), *y = FA_NEW(3 * (size_t)rig->mesh.nvert, float);
    for (int f = FIRST; f <= LAST; f++) {
        FaPose a = own->clip->head[f], b = again->clip->head[f - FIRST];
        for (int k = 0; k < 3; k++) CHECK_NEAR(a.p[k], b.p[k], 1e-6);
        fai_subject_pose(meant, x, own->clip->time[f], NULL);
        fai_subject_pose(got, y, again->clip->time[f - FIRST], NULL);
        for (int i = 1; i < meant->nparts; i++)
            assert_true(farthest(meant->x[i], got->x[i], meant->part[i].mesh->nvert) < 1e-6);
    }
    fa_free(x);
    fa_free(y);
    fai_subject_free(meant);
    fai_subject_free(got);
    fa_clip_free(cut);
    fa_clip_free(clip);
    fa_rig_free(again);
    fa_rig_free(own);
    fa_rig_free(rig);
}

// Read and written with all its parts: the other meshes of a head, and one on a body.
typedef struct Trip {
    const char *from, *to;
    FaClip *clip;
} Trip;

static FaCode there_and_back(void *user, FaError *err) {
    const Trip *t = user;
    FaRig *rig;
    FaNotes notes = {0};
    FaCode rc = fa_rig_load(t->from, NULL, &rig, err);
    if (rc >= 0) fa_rig_part_notes(rig, "out.glb", &notes);
    if (rc >= 0) rc = fai_gltf_save(rig, t->clip, t->to, err);
    fa_notes_free(&notes);
    fa_rig_free(rig);
    return rc;
}

static void memory_runs_out(void **state) {
    (void)state;
    Trip trip = {.from = loose_file(), .to = test_path("starved.glb"), .clip = turning()};
    assert_true(test_starve(there_and_back, &trip) > 25);
    trip.from = joined_file(false);
    assert_true(test_starve(there_and_back, &trip) > 25);
    trip.from = test_animal("body");
    assert_true(test_starve(there_and_back, &trip) > 25);
    fa_clip_free(trip.clip);
}

int main(void) {
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    if (fa_head_new(&params, &head, &err) < 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_told),        cmocka_unit_test(second_head_stays),
        cmocka_unit_test(written_parts_follow),  cmocka_unit_test(one_node_moves_all),
        cmocka_unit_test(lower_row_follows_jaw), cmocka_unit_test(glued_rows_are_said),
        cmocka_unit_test(lone_row_stays),        cmocka_unit_test(real_rows_are_told),
        cmocka_unit_test(cut_clip_keeps_parts),  cmocka_unit_test(memory_runs_out),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    fa_head_free(head);
    return rc;
}

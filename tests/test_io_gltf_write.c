// glTF written back: untouched bytes stay, converted containers hold the same data, baked motion is where it should be.
// labels: heavy
#include "test_gltf_fixture.h"

#include "base/file.h"
#include "io/gltf/gltf_edit.h"
#include "io/gltf/gltf_write.h"

#include <sys/stat.h>
#include <unistd.h>

// A path of the data folder that stays valid, or the test is skipped.
#define DATA_OR_SKIP(var, rel)                                                                                         \
    char var[1024];                                                                                                    \
    do {                                                                                                               \
        const char *found_ = test_data(rel);                                                                           \
        if (!found_) skip();                                                                                           \
        snprintf(var, sizeof var, "%s", found_);                                                                       \
    } while (0)

// --- helpers ------------------------------------------------------------------------------------------------------

static FaRig *load_rig(const char *path) {
    FaRigOptions options = {.any_size = true, .unit = FA_UNIT_M};
    FaError err = {0};
    FaRig *rig = NULL;
    CHECK_OK(fa_rig_load(path, &options, &rig, &err), &err);
    return rig;
}

static FaGltf *load_doc(const char *path) {
    FaError err = {0};
    FaGltf *doc = NULL;
    CHECK_OK(fai_gltf_load(path, &doc, &err), &err);
    return doc;
}

static FaBytes read_all(const char *path) {
    FaError err = {0};
    FaBytes bytes;
    CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
    return bytes;
}

static size_t file_size(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return (size_t)st.st_size;
}

// A path in a folder of its own below the scratch folder: files that go along do not meet.
static char *place(const char *folder, int i, const char *name) {
    static char path[8][1024];
    static int at;
    char *p = path[at++ % 8];
    mkdir(test_path(folder), 0777);
    snprintf(p, 1024, "%s/%d", test_path(folder), i);
    mkdir(p, 0777);
    snprintf(p + strlen(p), 1024 - strlen(p), "/%s", name);
    return p;
}

static void check_same_file(const char *a, const char *b) {
    FaBytes x = read_all(a), y = read_all(b);
    assert_int_equal(x.size, y.size);
    assert_memory_equal(x.data, y.data, x.size);
    fai_bytes_free(&x);
    fai_bytes_free(&y);
}

// Every number of every accessor, bit for bit.
static void check_same_data(const FaGltf *a, const FaGltf *b) {
    assert_int_equal(a->naccessor, b->naccessor);
    assert_int_equal(a->nmesh, b->nmesh);
    assert_int_equal(a->nnode, b->nnode);
    assert_int_equal(a->nanim, b->nanim);
    for (int i = 0; i < a->naccessor; i++) {
        size_t n = (size_t)a->accessor[i].count * (size_t)a->accessor[i].width;
        assert_int_equal(a->accessor[i].count, b->accessor[i].count);
        assert_int_equal(a->accessor[i].comp, b->accessor[i].comp);
        float *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
        FaCode ra = fai_gltf_floats(a, i, x, NULL), rb = fai_gltf_floats(b, i, y, NULL);
        assert_int_equal(ra, rb);
        if (ra >= 0) assert_memory_equal(x, y, n * sizeof *x);
        free(x);
        free(y);
    }
}

// Run the Khronos validator on a list of files; false where it is not installed.
static bool validate(const char *list) {
    char arg[1100], log[1100];
    snprintf(arg, sizeof arg, "@%s", list);
    snprintf(log, sizeof log, "%s.log", list);
    const char *argv[] = {"node", FASCIA_SOURCE_DIR "/tests/web/validate.mjs", arg, NULL};
    if (!test_program("node")) return false;
    int code = test_run(argv, log);
    if (code == 77) {
        print_message("skipped: gltf-validator is not installed\n");
        return false;
    }
    if (code) {
        FaBytes text = read_all(log);
        print_error("the validator says:\n%.*s\n", (int)FA_MIN(text.size, 6000), (const char *)text.data);
        fai_bytes_free(&text);
    }
    assert_int_equal(code, 0);
    return true;
}

static void note_file(FILE *list, const char *path) { fprintf(list, "%s\n", path); }

// --- frames that no shape can make --------------------------------------------------------------------------------

typedef struct Frames {
    const FaRig *rig;
    const FaClip *clip;
    double size;   // m
    double amount; // share of the size that vertices move by
} Frames;

static double rig_size(const FaRig *rig) {
    double low[3] = {1e30, 1e30, 1e30}, high[3] = {-1e30, -1e30, -1e30}, size = 0;
    for (int i = 0; i < 3 * rig->mesh.nvert; i++) {
        low[i % 3] = fmin(low[i % 3], (double)rig->mesh.x[i]);
        high[i % 3] = fmax(high[i % 3], (double)rig->mesh.x[i]);
    }
    for (int k = 0; k < 3; k++) size = fmax(size, high[k] - low[k]);
    return size;
}

static FaCode exact_frame(void *user, int frame, float *x, FaError *err) {
    (void)err;
    const Frames *f = user;
    const FaRig *rig = f->rig;
    float *w = calloc((size_t)rig->nshape + 1, sizeof *w);
    for (int i = 0; i < rig->nshape; i++)
        w[i] = f->clip ? f->clip->weight[(size_t)frame * (size_t)f->clip->nchan + (size_t)i] : rig->weight[i];
    fa_rig_blend(rig, w, x);
    free(w);
    double k = 6 / f->size, a = f->amount * f->size;
    for (int v = 0; v < rig->mesh.nvert; v++) {
        const float *p = rig->mesh.x + 3 * v;
        double s = k * (double)p[0] + 1.7 * k * (double)p[1] - 0.6 * k * (double)p[2];
        x[3 * v] += (float)(a * sin(s + 0.31 * frame));
        x[3 * v + 1] += (float)(0.5 * a * sin(0.7 * s - 0.17 * frame) * cos(0.05 * frame));
        x[3 * v + 2] += (float)(0.3 * a * sin(0.11 * frame * frame));
    }
    return FA_OK;
}

// Bake such frames; the error allowed is a thousandth of the size.
static FaBakeReport bake(const FaRig *rig, int nframe, double amount, const char *out) {
    Frames f = {rig, rig->clip, rig_size(rig), amount};
    if (rig->clip) nframe = rig->clip->nframe;
    FaSinkOptions o = {.rig = rig, .clip = rig->clip, .fps = 30, .bake_error_mm = f.size, .generator = "test --seed 1"};
    FaBakeReport report = {0};
    FaError err = {0};
    FaCode rc = fai_gltf_save_frames(out, rig->mesh.nvert, nframe, exact_frame, &f, &o, &report, &err);
    CHECK_OK(rc, &err);
    assert_int_equal(rc, FA_OK);
    assert_true(report.max_mm <= f.size);
    return report;
}

// Evaluate a written file and compare with the exact frames; the largest distance in mm.
static double measure(const FaRig *rig, double amount, int nframe, const char *path) {
    FaRig *back = load_rig(path);
    Frames f = {rig, rig->clip, rig_size(rig), amount};
    size_t n = 3 * (size_t)rig->mesh.nvert;
    float *x = calloc(n, sizeof *x), *y = calloc(n, sizeof *y);
    double worst = 0;
    assert_int_equal(back->mesh.nvert, rig->mesh.nvert);
    assert_non_null(back->clip);
    float *w = calloc((size_t)back->clip->nchan, sizeof *w);
    if (rig->clip) nframe = rig->clip->nframe;
    if (rig->clip) assert_int_equal(back->clip->nframe, nframe);
    for (int i = 0; i < nframe; i++) {
        if (rig->clip) CHECK_NEAR(back->clip->time[i], rig->clip->time[i], 1e-6 * (1 + rig->clip->time[i]));
        exact_frame(&f, i, x, NULL);
        // by number; where other nodes have keys of their own, by time
        if (back->clip->nframe == nframe)
            memcpy(w, back->clip->weight + (size_t)i * (size_t)back->clip->nchan,
                   (size_t)back->clip->nchan * sizeof *w);
        else
            fa_clip_sample(back->clip, (double)(float)(i / 30.0), w, NULL);
        fa_rig_blend(back, w, y);
        for (size_t k = 0; k < n; k += 3)
            worst = fmax(worst, hypot(hypot((double)(x[k] - y[k]), (double)(x[k + 1] - y[k + 1])),
                                      (double)(x[k + 2] - y[k + 2])));
    }
    free(x);
    free(y);
    free(w);
    fa_rig_free(back);
    return 1e3 * worst;
}

// A triangle, a target of it, two key times, and six numbers.
static const float many_bin[26] = {0,     0, 0, 1, 0, 0, 0, 1, 0,    0, 0, 0,     0,
                                   -0.5f, 0, 0, 0, 0, 0, 1, 1, 0.5f, 2, 3, 0.25f, 4};

// --- unchanged ----------------------------------------------------------------------------------------------------

static void copy_files(FaGltf *doc, const char *from, const char *to) {
    char a[1200], b[1200];
    for (int i = 0; i < doc->nbuffer; i++) {
        if (doc->buffer[i].home != FA_GLTF_IN_FILE) continue;
        snprintf(a, sizeof a, "%.*s/%s", (int)(strrchr(from, '/') - from), from, doc->buffer[i].path);
        snprintf(b, sizeof b, "%.*s/%s", (int)(strrchr(to, '/') - to), to, doc->buffer[i].path);
        check_same_file(a, b);
    }
}

static void test_suite_round_trip(void **state) {
    (void)state;
    DATA_OR_SKIP(models, "suites/gltf-sample-assets/Models");
    static const char *const ext[] = {".gltf", ".glb"};
    char list[1100];
    snprintf(list, sizeof list, "%s", test_path("written.txt"));
    FILE *out = fopen(list, "w");
    int n = 0;
    for (int e = 0; e < 2; e++) {
        char **files = test_list(models, ext[e]);
        for (int i = 0; files[i]; i++, n++) {
            FaError err = {0};
            FaGltf *doc = load_doc(files[i]);
            const char *name = strrchr(files[i], '/') + 1;
            // the same container: the same bytes, here and in the files that go along
            char *same = place("same", n, name);
            CHECK_OK(fai_gltf_copy(doc, same, &err), &err);
            check_same_file(files[i], same);
            copy_files(doc, files[i], same);
            note_file(out, same);
            // the other container: the same data
            char *other = place("other", n, e ? "a model.gltf" : "a model.glb");
            CHECK_OK(fai_gltf_copy(doc, other, &err), &err);
            FaGltf *back = load_doc(other);
            assert_int_equal(back->is_glb, !e);
            check_same_data(doc, back);
            note_file(out, other);
            // and back again
            char *again = place("again", n, e ? "m.glb" : "m.gltf");
            CHECK_OK(fai_gltf_copy(back, again, &err), &err);
            FaGltf *third = load_doc(again);
            check_same_data(doc, third);
            note_file(out, again);
            fai_gltf_free(third);
            fai_gltf_free(back);
            fai_gltf_free(doc);
        }
        test_list_free(files);
    }
    fclose(out);
    assert_true(n >= 52);
    if (validate(list)) print_message("%d files, each written three times, pass the validator\n", n);
}

static void count_warnings(void *user, const FaLogRec *rec) { *(int *)user += rec->level == FA_LOG_WARN; }

// A .gltf that takes its images along into a GLB, and several buffers that become one.
static void test_pack_buffers_and_images(void **state) {
    (void)state;
    static const char json[] =
        "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"a%20b.bin\",\"byteLength\":12},{\"uri\":\"sub/"
        "c.bin\",\"byteLength\":5}],"
        "\"bufferViews\":[{\"buffer\":0,\"byteLength\":12},{\"buffer\":1,\"byteOffset\":1,\"byteLength\":4}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":1,\"type\":\"VEC3\"},{\"bufferView\":1,"
        "\"componentType\":5121,\"count\":4,\"type\":\"SCALAR\"}],"
        "\"images\":[{\"uri\":\"t.png\"},{\"uri\":\"missing.png\"},{\"uri\":\"data:image/"
        "png;base64,AAAA\"}],\"extras\": [1.50, 2e0 ]}\n";
    float x[3] = {1, 2, 3};
    unsigned char c[5] = {9, 1, 2, 3, 4}, png[11] = "\x89PNG\r\n\x1a\nxy";
    char *path = place("pack", 0, "m.gltf"), file[1200];
    FaError err = {0};
    size_t n = strlen(path) - strlen("m.gltf");
    snprintf(file, sizeof file, "%.*ssub", (int)n, path);
    mkdir(file, 0777);
    snprintf(file, sizeof file, "%.*sa b.bin", (int)n, path);
    CHECK_OK(fai_file_write(file, x, sizeof x, &err), &err);
    snprintf(file, sizeof file, "%.*ssub/c.bin", (int)n, path);
    CHECK_OK(fai_file_write(file, c, sizeof c, &err), &err);
    snprintf(file, sizeof file, "%.*st.png", (int)n, path);
    CHECK_OK(fai_file_write(file, png, sizeof png, &err), &err);
    CHECK_OK(fai_file_write(path, json, sizeof json - 1, &err), &err);

    int warnings = 0;
    fa_log_set(count_warnings, &warnings);
    FaGltf *doc = load_doc(path);
    char *glb = place("pack", 1, "m.glb");
    CHECK_OK(fai_gltf_copy(doc, glb, &err), &err);
    FaGltf *back = load_doc(glb);
    check_same_data(doc, back);
    assert_int_equal(back->nbuffer, 1);
    assert_int_equal(back->nview, 3);
    assert_memory_equal(back->view[2].data, png, sizeof png);
    const FaJson *images = fai_json_get(back->json->root, "images");
    assert_string_equal(fai_json_get(fai_json_at(images, 0), "mimeType")->string, "image/png");
    assert_null(fai_json_get(fai_json_at(images, 0), "uri"));
    assert_string_equal(fai_json_get(fai_json_at(images, 1), "uri")->string, "missing.png");
    assert_non_null(strstr(back->json->text, "[1.50, 2e0 ]")); // what is not touched keeps its spelling
    fai_gltf_free(back);

    // to another folder: files go along, also those in folders; a different file that is there already is not replaced
    char *moved = place("pack", 2, "m.gltf");
    CHECK_OK(fai_gltf_copy(doc, moved, &err), &err);
    check_same_file(path, moved);
    snprintf(file, sizeof file, "%.*ssub/c.bin", (int)(strlen(moved) - strlen("m.gltf")), moved);
    assert_int_equal(file_size(file), 5);
    CHECK_OK(fai_gltf_copy(doc, moved, &err), &err); // the same one is fine
    CHECK_OK(fai_file_write(file, "other", 5, &err), &err);
    FaCode rc = fai_gltf_copy(doc, moved, &err);
    assert_int_equal(rc, FA_E_FILE);
    assert_non_null(strstr(err.path, "sub/c.bin"));
    assert_true(err.remedy[0] != 0);
    assert_true(warnings > 0); // the image that is missing
    fa_log_set(NULL, NULL);
    fai_gltf_free(doc);
}

// A GLB with a buffer outside of it, after its BIN chunk or in place of it.
static void test_glb_with_other_buffers(void **state) {
    (void)state;
    static const char *const json[] = {
        "{'asset':{'version':'2.0'},'scene':0,'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],"
        "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':1}]}]}],"
        "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]},"
        "{'bufferView':1,'componentType':5126,'count':3,'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]}],"
        "'bufferViews':[{'buffer':0,'byteLength':36},{'buffer':1,'byteLength':36}],"
        "'buffers':[{'byteLength':36},{'uri':'other.bin','byteLength':36}]}",
        "{'asset':{'version':'2.0'},'scene':0,'scenes':[{'nodes':[0]}],'nodes':[{'mesh':0}],"
        "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':1}]}]}],"
        "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]},"
        "{'bufferView':1,'componentType':5126,'count':3,'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]}],"
        "'bufferViews':[{'buffer':0,'byteLength':36},{'buffer':0,'byteOffset':36,'byteLength':36}],"
        "'buffers':[{'uri':'other.bin','byteLength':72}]}"};
    for (int k = 0; k < 2; k++) {
        char *in = place(k ? "other-only" : "other-too", 0, "in.glb"), file[1200],
             *text = fixture_json(json[k], NULL, NULL);
        FaError err = {0};
        snprintf(file, sizeof file, "%.*sother.bin", (int)(strlen(in) - strlen("in.glb")), in);
        CHECK_OK(fai_file_write(file, many_bin + (k ? 0 : 9), k ? 72 : 36, &err), &err);
        Bytes glb = fixture_glb(text, k ? NULL : many_bin, 36);
        CHECK_OK(fai_file_write(in, glb.data, glb.size, &err), &err);
        free(text);
        free(glb.data);
        FaRig *rig = load_rig(in);
        char *same = place(k ? "other-only" : "other-too", 1, "same.glb");
        CHECK_OK(fai_gltf_save(rig, NULL, same, &err), &err);
        check_same_file(in, same);
        fa_rig_free(load_rig(same)); // the file beside it went along
        char *path = place(k ? "other-only" : "other-too", 2, "out.glb");
        FaBakeReport r = bake(rig, 8, 0.1, path);
        assert_true(r.targets > 0);
        assert_true(measure(rig, 0.1, 8, path) <= rig_size(rig) * 1.0001);
        FaGltf *doc = load_doc(path);
        assert_int_equal(doc->nbuffer, k ? 1 : 2);
        assert_int_equal(doc->buffer[0].home, FA_GLTF_IN_GLB);
        fai_gltf_free(doc);
        fa_rig_free(rig);
    }
}

// Unknown chunks and bytes after the end stay in a GLB.
static void test_glb_oddities(void **state) {
    (void)state;
    DATA_OR_SKIP(model, "suites/gltf-sample-assets/Models/AnimatedMorphCube/glTF-Binary/AnimatedMorphCube.glb");
    FaBytes b = read_all(model);
    unsigned char *odd = malloc(b.size + 16);
    memcpy(odd, b.data, b.size);
    memcpy(odd + b.size, "\4\0\0\0ABCDwxyz", 12);
    put_u32(odd + 8, (uint32_t)(b.size + 12));
    memcpy(odd + b.size + 12, "tail", 4);
    FaError err = {0};
    char *in = place("odd", 0, "in.glb"), *same = place("odd", 1, "same.glb"), *baked = place("odd", 2, "baked.glb");
    CHECK_OK(fai_file_write(in, odd, b.size + 16, &err), &err);
    FaRig *rig = load_rig(in);
    CHECK_OK(fai_gltf_save(rig, NULL, same, &err), &err);
    check_same_file(in, same);
    bake(rig, 10, 0.02, baked);
    FaGltf *doc = load_doc(baked);
    assert_int_equal(doc->nchunk, 3);
    assert_memory_equal(doc->chunk[2].data, "wxyz", 4);
    fai_gltf_free(doc);
    fa_rig_free(rig);
    free(odd);
    fai_bytes_free(&b);
}

// --- baked --------------------------------------------------------------------------------------------------------

// What the user had: targets, names, weights and other attributes of the mesh are where they were.
static void check_user_part(const FaGltf *a, const FaGltf *b, int added) {
    int mesh = b->nmesh ? a->face.mesh : 0;
    const FaGltfMesh *x = &a->mesh[mesh], *y = &b->mesh[mesh];
    assert_int_equal(y->ntarget, x->ntarget + added);
    for (int p = 0; p < x->nprim; p++) {
        assert_int_equal(x->prim[p].position, y->prim[p].position);
        assert_int_equal(x->prim[p].indices, y->prim[p].indices);
        for (int t = 0; t < x->prim[p].ntarget; t++)
            if (x->prim[p].target[t] >= 0) assert_int_equal(x->prim[p].target[t], y->prim[p].target[t]);
        if (x->prim[p].position >= 0) assert_int_equal(y->prim[p].ntarget, x->ntarget + added);
    }
    for (int i = 0; i < a->naccessor; i++) {
        size_t n = (size_t)a->accessor[i].count * (size_t)a->accessor[i].width;
        float *u = calloc(n, sizeof *u), *v = calloc(n, sizeof *v);
        FaCode ra = fai_gltf_floats(a, i, u, NULL), rb = fai_gltf_floats(b, i, v, NULL);
        assert_int_equal(ra, rb);
        assert_memory_equal(u, v, n * sizeof *u);
        free(u);
        free(v);
    }
    if (a->is_glb && b->is_glb && a->nchunk > 1 && a->chunk[1].type == FA_GLB_BIN)
        assert_memory_equal(a->chunk[1].data, b->chunk[1].data, a->chunk[1].size);
    const FaJson *names = fai_json_get(fai_json_get(y->json, "extras"), "targetNames");
    if (added) {
        char last[32];
        snprintf(last, sizeof last, "fascia_%03d", added - 1);
        assert_int_equal(fai_json_count(names), y->ntarget);
        assert_string_equal(fai_json_at(names, y->ntarget - 1)->string, last);
    }
}

static void test_suite_baked(void **state) {
    (void)state;
    DATA_OR_SKIP(models, "suites/gltf-sample-assets/Models");
    static const char *const ext[] = {".gltf", ".glb"};
    char list[1100];
    snprintf(list, sizeof list, "%s", test_path("baked.txt"));
    FILE *out = fopen(list, "w");
    int n = 0;
    for (int e = 0; e < 2; e++) {
        char **files = test_list(models, ext[e]);
        for (int i = 0; files[i]; i++) {
            FaRigOptions options = {.any_size = true, .unit = FA_UNIT_M};
            FaRig *rig = NULL;
            if (strstr(files[i], "Draco") && fa_rig_load(files[i], &options, &rig, NULL) < 0)
                continue; // named as unsupported
            if (!rig) rig = load_rig(files[i]);
            for (int k = 0; k < 2; k++) {
                char *path = place("baked", n++, k ? "m.gltf" : "m.glb");
                FaBakeReport r = bake(rig, 12, 0.03, path);
                assert_true(r.targets > 0);
                double mm = measure(rig, 0.03, 12, path);
                // what the report says is what is in the file, to the last rounding of a float
                CHECK_NEAR(mm, r.max_mm, 1e-3 * rig_size(rig));
                assert_true(mm <= rig_size(rig) * (1 + 1e-4));
                FaGltf *back = load_doc(path);
                check_user_part(fai_gltf_of_rig(rig), back, r.targets);
                fai_gltf_free(back);
                note_file(out, path);
            }
            fa_rig_free(rig);
        }
        test_list_free(files);
    }
    fclose(out);
    assert_true(n >= 80);
    if (validate(list)) print_message("%d baked files pass the validator\n", n);
}

// The published file: compressed, quantised, with head motion in an animation of its own.
static void test_facecap(void **state) {
    (void)state;
    DATA_OR_SKIP(published, "rigs/facecap/facecap.glb");
    FaRig *rig = load_rig(published);
    FaGltf *src = fai_gltf_of_rig(rig);
    assert_non_null(rig->clip->head);
    char *path = place("facecap", 0, "baked.glb");
    Frames f = {rig, rig->clip, rig_size(rig), 0.01};
    FaSinkOptions o = {.rig = rig, .clip = rig->clip, .fps = 30};
    FaBakeReport r;
    FaError err = {0};
    CHECK_OK(fai_gltf_save_frames(path, rig->mesh.nvert, rig->clip->nframe, exact_frame, &f, &o, &r, &err), &err);
    assert_true(r.targets > 2 && r.max_mm <= 0.05 && r.max_mm > 0);
    double mm = measure(rig, 0.01, 0, path);
    assert_true(mm <= 0.0501);
    print_message("facecap: %d targets, %.4f mm (read back: %.4f), %zu bytes added\n", r.targets, r.max_mm, mm,
                  r.bytes);
    FaGltf *doc = load_doc(path);
    check_user_part(src, doc, r.targets);
    FaRig *back = load_rig(path);
    for (int i = 0; i < rig->clip->nframe; i++)
        for (int k = 0; k < 3; k++) CHECK_NEAR(back->clip->head[i].p[k], rig->clip->head[i].p[k], 1e-9);
    for (int i = 0; i < 52; i++) assert_string_equal(back->shape[i].name, rig->shape[i].name);
    fa_rig_free(back);
    // as three.js decompresses and plays it, against the exact frames
    char *cache = place("facecap", 0, "exact.pc2");
    FaSequence *seq = NULL;
    CHECK_OK(fa_sequence_custom(rig->mesh.nvert, rig->clip->nframe, 30, exact_frame, &f, &seq, &err), &err);
    CHECK_OK(fa_sequence_save(seq, cache, &o, NULL, &err), &err);
    fa_sequence_close(seq);
    char log[1100], start[32];
    snprintf(log, sizeof log, "%s.log", path);
    snprintf(start, sizeof start, "%.9g", rig->clip->start);
    const char *argv[] = {"node",
                          FASCIA_SOURCE_DIR "/tests/web/three_check.mjs",
                          path,
                          cache,
                          "--tolerance-mm",
                          "0.0505",
                          "--frames",
                          "0,7,100,334",
                          "--start",
                          start,
                          NULL};
    int code = test_program("node") ? test_run(argv, log) : 77;
    FaBytes said = {0};
    if (code != 77) said = read_all(log);
    if (code != 77) print_message("three.js: %.*s", (int)said.size, (const char *)said.data);
    fai_bytes_free(&said);
    assert_true(code == 0 || code == 77);
    fai_gltf_free(doc);
    fa_rig_free(rig);
}

// Baking what was baked before replaces it: neither targets nor bytes pile up, and nothing to add takes all away.
static void test_bake_again(void **state) {
    (void)state;
    DATA_OR_SKIP(model, "suites/gltf-sample-assets/Models/AnimatedMorphCube/glTF-Binary/AnimatedMorphCube.glb");
    for (int k = 0; k < 2; k++) {
        char *path[4];
        FaRig *rig = load_rig(model);
        size_t size[3] = {0};
        FaBakeReport r[3];
        int nuser = rig->nshape;
        for (int i = 0; i < 4; i++) path[i] = place(k ? "again-gltf" : "again-glb", i, k ? "m.gltf" : "m.glb");
        for (int i = 0; i < 3; i++) {
            // each time from the file written before, with its own clip: the old targets must not count
            FaRig *from = i ? load_rig(path[i - 1]) : rig;
            Frames f = {rig, rig->clip, rig_size(rig), i == 1 ? 0.02 : 0.04};
            FaSinkOptions o = {.rig = from, .clip = from->clip, .fps = 30, .bake_error_mm = f.size};
            FaError err = {0};
            CHECK_OK(
                fai_gltf_save_frames(path[i], rig->mesh.nvert, rig->clip->nframe, exact_frame, &f, &o, &r[i], &err),
                &err);
            size[i] = file_size(path[i]);
            FaRig *back = load_rig(path[i]);
            assert_int_equal(back->nshape, nuser + r[i].targets);
            assert_true(measure(rig, f.amount, 0, path[i]) <= f.size * 1.0001);
            fa_rig_free(back);
            if (i) fa_rig_free(from);
        }
        assert_int_equal(r[0].targets, r[2].targets);
        assert_true(size[2] <= size[0] + 64);
        // nothing to add: the targets of before go, the user's motion is what it was
        FaRig *from = load_rig(path[2]);
        Frames f = {rig, rig->clip, rig_size(rig), 0};
        FaSinkOptions o = {.rig = from, .clip = from->clip, .fps = 30, .bake_error_mm = f.size};
        FaBakeReport none;
        FaError err = {0};
        CHECK_OK(fai_gltf_save_frames(path[3], rig->mesh.nvert, rig->clip->nframe, exact_frame, &f, &o, &none, &err),
                 &err);
        assert_int_equal(none.targets, 0);
        FaRig *plain = load_rig(path[3]);
        assert_int_equal(plain->nshape, nuser);
        assert_memory_equal(plain->clip->weight, rig->clip->weight,
                            (size_t)rig->clip->nframe * (size_t)nuser * sizeof(float));
        fa_rig_free(plain);
        fa_rig_free(from);
        fa_rig_free(rig);
    }
}

// Frames that the rig can make by itself add nothing, whether its weights are given or have to be found.
static void test_within_span(void **state) {
    (void)state;
    DATA_OR_SKIP(model, "rigs/facecap/facecap_decoded.glb");
    FaRig *rig = load_rig(model);
    Frames f = {rig, rig->clip, rig_size(rig), 0};
    for (int k = 0; k < 2; k++) {
        char *path = place("span", k, "m.glb");
        FaSinkOptions o = {.rig = rig, .clip = k ? NULL : rig->clip, .fps = 30};
        FaBakeReport r;
        FaError err = {0};
        CHECK_OK(fai_gltf_save_frames(path, rig->mesh.nvert, 100, exact_frame, &f, &o, &r, &err), &err);
        assert_int_equal(r.targets, 0);
        assert_true(r.max_mm < 0.05);
    }
    fa_rig_free(rig);
}

// Other animations of the mesh, also cubic ones, other nodes that show it, and weights at rest go along.
static const char many_json[] =
    "{'asset':{'version':'2.0','extras':{'mine':1}},'scene':0,'scenes':[{'nodes':[0,1]}],"
    "'nodes':[{'name':'a','mesh':0,'weights':[0.5]},{'name':'b','mesh':0}],"
    "'meshes':[{'name':'face','primitives':[{'attributes':{'POSITION':0,'NORMAL':0},'targets':[{'POSITION':1,'NORMAL':"
    "1}]},"
    "{'attributes':{'POSITION':0},'mode':0,'targets':[{'POSITION':1}]}],'weights':[0.25],'extras':{'targetNames':['"
    "jawOpen'],'more':true}}],"
    "'animations':[{'name':'one','channels':[{'sampler':0,'target':{'node':0,'path':'weights'}},{'sampler':0,'target':{"
    "'node':1,'path':'weights'}}],"
    "'samplers':[{'input':2,'output':3}]},"
    "{'name':'two','channels':[{'sampler':0,'target':{'node':0,'path':'weights'}}],'samplers':[{'input':2,'output':4,'"
    "interpolation':'CUBICSPLINE'}]}],"
    "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]},"
    "{'bufferView':1,'componentType':5126,'count':3,'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]},"
    "{'bufferView':2,'componentType':5126,'count':2,'type':'SCALAR','min':[0],'max':[1]},"
    "{'bufferView':2,'componentType':5126,'count':2,'type':'SCALAR'},"
    "{'bufferView':3,'componentType':5126,'count':6,'type':'SCALAR'}],"
    "'bufferViews':[{'buffer':0,'byteLength':36},{'buffer':0,'byteOffset':36,'byteLength':36},{'buffer':0,'byteOffset':"
    "72,'byteLength':8},"
    "{'buffer':0,'byteOffset':80,'byteLength':24}],'buffers':[{'byteLength':104}]}";

static FaRig *rig_of_fixture(const char *text, const float *bin, size_t nbin, const char *path) {
    char *json = fixture_json(text, NULL, NULL);
    Bytes glb = fixture_glb(json, bin, nbin);
    FaError err = {0};
    CHECK_OK(fai_file_write(path, glb.data, glb.size, &err), &err);
    free(json);
    free(glb.data);
    return load_rig(path);
}

static void test_everything_goes_along(void **state) {
    (void)state;
    char *path = place("many", 1, "out.glb");
    FaRig *rig = rig_of_fixture(many_json, many_bin, sizeof many_bin, place("many", 0, "in.glb"));
    FaBakeReport r = bake(rig, 2, 0.05, path);
    int k = r.targets;
    assert_true(k > 0);
    FaGltf *doc = load_doc(path); // which checks all counts against each other
    const FaJson *root = doc->json->root;
    assert_int_equal(doc->mesh[0].nweight, 1 + k);
    assert_int_equal(doc->node[0].nweight, 1 + k);
    CHECK_NEAR((double)doc->mesh[0].weight[0], 0.25, 0);
    CHECK_NEAR((double)doc->node[0].weight[0], 0.5, 0);
    assert_int_equal(doc->node[1].nweight, 0);
    // the second node shared the sampler that plays the bake: it has its own now, with zeros for the new targets
    const FaGltfAnim *one = &doc->anim[0], *two = &doc->anim[1];
    assert_int_not_equal(one->channel[0].sampler, one->channel[1].sampler);
    float w[256], c[256];
    CHECK_OK(fai_gltf_floats(doc, one->sampler[one->channel[1].sampler].output, w, NULL), NULL);
    for (int i = 0; i < 2 * (1 + k); i++) CHECK_NEAR((double)w[i], i == 1 + k ? 1 : 0, 0);
    // three blocks per key: in-tangents, values, out-tangents
    assert_int_equal(two->sampler[0].interp, FA_GLTF_CUBIC);
    CHECK_OK(fai_gltf_floats(doc, two->sampler[0].output, c, NULL), NULL);
    for (int i = 0; i < 6 * (1 + k); i++)
        CHECK_NEAR((double)c[i], i % (1 + k) ? 0 : (double)many_bin[20 + i / (1 + k)], 0);
    // primitives of the first kind have normals in their targets: the new ones do, too, and they are zero
    const FaJson *targets = fai_json_get(doc->mesh[0].prim[0].json, "targets");
    for (int t = 0; t < 1 + k; t++) assert_non_null(fai_json_get(fai_json_at(targets, t), "NORMAL"));
    int zeros = (int)fai_json_get(fai_json_at(targets, 1), "NORMAL")->number;
    assert_int_equal(doc->accessor[zeros].view, -1);
    assert_int_equal(doc->mesh[0].prim[1].ntarget, 1 + k); // points: the same number of targets
    // extras: what was there stays, what we add says who and how
    assert_int_equal((int)fai_json_get(fai_json_get(fai_json_get(root, "asset"), "extras"), "mine")->number, 1);
    const FaJson *record = fai_json_get(fai_json_get(fai_json_get(root, "asset"), "extras"), "fascia");
    assert_string_equal(fai_json_get(record, "version")->string, fa_version());
    assert_string_equal(fai_json_get(record, "generator")->string, "test --seed 1");
    CHECK_NEAR(fai_json_get(fai_json_get(record, "bake"), "max_mm")->number, r.max_mm, 1e-12);
    assert_true(fai_json_is(fai_json_get(fai_json_get(doc->mesh[0].json, "extras"), "more"), FA_JSON_TRUE));
    assert_non_null(strstr(doc->json->text, "{\"name\":\"b\",\"mesh\":0}")); // untouched JSON as it was spelled
    fai_gltf_free(doc);
    fa_rig_free(rig);
}

// A mesh without targets, animation or even a node gets all that it needs.
static void test_from_nothing(void **state) {
    (void)state;
    static const char json[] =
        "{'asset':{'version':'2.0'},'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],"
        "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]}],"
        "'bufferViews':[{'buffer':0,'byteLength':36}],'buffers':[{'byteLength':36}]}";
    FaRig *rig = rig_of_fixture(json, many_bin, 36, place("nothing", 0, "in.glb"));
    char *path = place("nothing", 1, "out.glb");
    FaBakeReport r = bake(rig, 9, 0.1, path);
    assert_true(r.targets > 0);
    assert_true(measure(rig, 0.1, 9, path) <= 1e3 * rig_size(rig) * 1e-3 * 1.0001);
    FaGltf *doc = load_doc(path);
    assert_int_equal(doc->nnode, 1);
    assert_string_equal(doc->anim[0].name, "fascia");
    char list[1100];
    snprintf(list, sizeof list, "%s", test_path("nothing.txt"));
    FILE *f = fopen(list, "w");
    note_file(f, path);
    fclose(f);
    validate(list);
    fai_gltf_free(doc);
    fa_rig_free(rig);
}

// --- another clip -------------------------------------------------------------------------------------------------

static FaClip *make_clip(int nframe, bool head) {
    static const char *const name[] = {"JawOpen", "mouthSmile_L", "nobody"};
    FaClip *clip = NULL;
    FaError err = {0};
    CHECK_OK(fa_clip_new(nframe, 3, name, 25, &clip, &err), &err);
    if (head) clip->head = fai_alloc_array((size_t)nframe, sizeof *clip->head);
    for (int i = 0; i < nframe; i++) {
        clip->weight[3 * i] = 0.1f * (float)i;
        clip->weight[3 * i + 1] = 1 - 0.1f * (float)i;
        double a = 0.1 * i;
        if (head) clip->head[i] = (FaPose){{0.6 * sin(a), 0.8 * sin(a), 0, cos(a)}, {0.01 * i, 1.5, -0.2}};
    }
    return clip;
}

static void check_head(const FaClip *a, const FaClip *b, double tol) {
    for (int f = 0; f < a->nframe; f++) {
        double dot = 0;
        for (int i = 0; i < 4; i++) dot += a->head[f].q[i] * b->head[f].q[i];
        CHECK_NEAR(fabs(dot), 1, 1e-6);
        for (int i = 0; i < 3; i++) CHECK_NEAR(a->head[f].p[i], b->head[f].p[i], tol);
    }
}

// Clips in place of the file's own, one after the other; its head's motion, on a node above and in an animation of its
// own, makes room.
static void test_other_clip(void **state) {
    (void)state;
    DATA_OR_SKIP(model, "rigs/facecap/facecap.glb");
    char list[1100];
    snprintf(list, sizeof list, "%s", test_path("clips.txt"));
    FILE *out = fopen(list, "w");
    for (int k = 0; k < 2; k++) {
        FaRig *rig = load_rig(model);
        int jaw = -1, nshape = rig->nshape;
        for (int i = 0; i < rig->nshape; i++)
            if (rig->shape[i].arkit == fa_arkit_match("jawOpen", NULL)) jaw = i;
        assert_true(jaw >= 0);
        size_t size = 0;
        for (int turn = 0; turn < 4; turn++) {
            FaError err = {0};
            FaClip *clip = make_clip(turn % 2 ? 4 : 7, turn != 2);
            char *path = place(k ? "clip-gltf" : "clip-glb", turn, k ? "m.gltf" : "m.glb");
            CHECK_OK(fai_gltf_save(rig, clip, path, &err), &err);
            FaRig *back = load_rig(path);
            assert_int_equal(back->nshape, nshape);
            assert_int_equal(back->clip->nframe, clip->nframe);
            for (int f = 0; f < clip->nframe; f++) {
                CHECK_NEAR(back->clip->time[f], f / 25.0, 1e-7);
                CHECK_NEAR((double)back->clip->weight[f * nshape + jaw], (double)clip->weight[3 * f], 0);
            }
            if (clip->head)
                check_head(clip, back->clip, 1e-6);
            else
                assert_null(back->clip->head);
            // what an earlier clip added goes: the file does not grow
            if (turn == 1) size = file_size(path);
            if (turn == 3) assert_true(file_size(path) <= size + 64);
            note_file(out, path);
            fa_clip_free(clip);
            fa_rig_free(rig);
            rig = back; // the next clip replaces this one
        }
        fa_rig_free(rig);
    }
    fclose(out);
}

// Only the head moves: the face goes on with what it does.
static void test_head_only(void **state) {
    (void)state;
    DATA_OR_SKIP(model, "suites/gltf-sample-assets/Models/AnimatedMorphCube/glTF-Binary/AnimatedMorphCube.glb");
    FaRig *rig = load_rig(model);
    FaClip *clip = NULL;
    FaError err = {0};
    CHECK_OK(fa_clip_new(90, 0, NULL, 30, &clip, &err), &err);
    clip->head = fai_alloc_array(90, sizeof *clip->head);
    for (int i = 0; i < 90; i++) clip->head[i] = (FaPose){{0, sin(0.01 * i), 0, cos(0.01 * i)}, {0, 0.1 * i, 0}};
    char *path = place("head", 0, "m.glb");
    CHECK_OK(fai_gltf_save(rig, clip, path, &err), &err);
    FaRig *back = load_rig(path);
    FaPose pose;
    float a[2], b[2];
    for (int i = 0; i < 90; i += 10) {
        fa_clip_sample(back->clip, i / 30.0, a, &pose);
        fa_clip_sample(rig->clip, i / 30.0, b, NULL);
        for (int w = 0; w < 2; w++) CHECK_NEAR((double)a[w], (double)b[w], 1e-5);
        CHECK_NEAR(pose.p[1], 0.1 * i, 1e-5);
    }
    fa_rig_free(back);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// On a skinned mesh the joint that carries the face is moved.
static void test_head_of_skin(void **state) {
    (void)state;
    DATA_OR_SKIP(model, "suites/gltf-sample-assets/Models/SimpleSkin/glTF/SimpleSkin.gltf");
    FaRig *rig = load_rig(model);
    FaClip *clip = make_clip(5, true);
    FaError err = {0};
    char *path = place("skin", 0, "m.glb");
    CHECK_OK(fai_gltf_save(rig, clip, path, &err), &err);
    FaRig *back = load_rig(path);
    const FaGltf *doc = fai_gltf_of_rig(back);
    assert_int_not_equal(doc->face.carrier, doc->face.node);
    for (int f = 0; f < 5; f++) {
        FaPose pose;
        double dot = 0;
        fa_clip_sample(back->clip, f / 25.0, NULL, &pose);
        for (int i = 0; i < 4; i++) dot += pose.q[i] * clip->head[f].q[i];
        CHECK_NEAR(fabs(dot), 1, 1e-6);
        for (int i = 0; i < 3; i++) CHECK_NEAR(pose.p[i], clip->head[f].p[i], 1e-5);
    }
    fa_rig_free(back);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// A node that is a matrix, below a turned and scaled parent: the head's motion finds its way.
static void test_head_below_parents(void **state) {
    (void)state;
    static const char json[] =
        "{'asset':{'version':'2.0'},'scene':0,'scenes':[{'nodes':[0]}],"
        "'nodes':[{'children':[1],'rotation':[0,0.6,0,0.8],'translation':[5,0,1],'scale':[2,2,2]},"
        "{'mesh':0,'matrix':[0,0.5,0,0,-0.5,0,0,0,0,0,0.5,0,1,2,3,1]}],"
        "'meshes':[{'primitives':[{'attributes':{'POSITION':0},'targets':[{'POSITION':1}]}],'extras':{'targetNames':['"
        "jawOpen']}}],"
        "'accessors':[{'bufferView':0,'componentType':5126,'count':3,'type':'VEC3','min':[0,0,0],'max':[1,1,0]},"
        "{'bufferView':1,'componentType':5126,'count':3,'type':'VEC3','min':[0,-0.5,0],'max':[0,0,0]}],"
        "'bufferViews':[{'buffer':0,'byteLength':36},{'buffer':0,'byteOffset':36,'byteLength':36}],'buffers':[{'"
        "byteLength':104}]}";
    FaRig *rig = rig_of_fixture(json, many_bin, sizeof many_bin, place("parents", 0, "in.glb"));
    const char *name[] = {"jawOpen"};
    FaClip *clip = NULL;
    FaError err = {0};
    CHECK_OK(fa_clip_new(3, 1, name, 30, &clip, &err), &err);
    clip->head = fai_alloc_array(3, sizeof *clip->head);
    for (int i = 0; i < 3; i++) clip->head[i] = (FaPose){{0.6 * sin(i), 0, 0.8 * sin(i), cos(i)}, {i, -i, 0.5}};
    char *path = place("parents", 1, "out.glb");
    CHECK_OK(fai_gltf_save(rig, clip, path, &err), &err);
    FaRig *back = load_rig(path);
    for (int f = 0; f < 3; f++) {
        double dot = 0;
        for (int i = 0; i < 4; i++) dot += back->clip->head[f].q[i] * clip->head[f].q[i];
        CHECK_NEAR(fabs(dot), 1, 1e-6);
        for (int i = 0; i < 3; i++) CHECK_NEAR(back->clip->head[f].p[i], clip->head[f].p[i], 1e-5);
    }
    fa_rig_free(back);
    fa_clip_free(clip);
    fa_rig_free(rig);
}

// --- rigs from elsewhere, sinks -----------------------------------------------------------------------------------

static const char obj_text[] = "v -0.1 -0.1 0\nv 0.1 -0.1 0\nv 0.1 0.1 0.02\nv -0.1 0.1 0\nv 0 0.15 0.05\nvt 0 0\nvt 1 "
                               "0\nvt 1 1\nvt 0 1\nvt 0.5 0.5\nvt 0.9 0.1\n"
                               "f 1/1 2/2 3/3 4/4\nf 3/6 5/5 4/4\n";

static void test_rig_of_obj(void **state) {
    (void)state;
    char *in = place("obj", 0, "m.obj"), *path = place("obj", 1, "m.glb");
    FaError err = {0};
    CHECK_OK(fai_file_write(in, obj_text, sizeof obj_text - 1, &err), &err);
    FaRigOptions options = {.any_size = true, .unit = FA_UNIT_M, .up = FA_UP_Y};
    FaRig *rig = NULL;
    CHECK_OK(fa_rig_load(in, &options, &rig, &err), &err);
    // through the sink: frames come once
    Frames f = {rig, NULL, rig_size(rig), 0.05};
    FaSinkOptions o = {.rig = rig, .fps = 24, .bake_error_mm = 0.01};
    FaGltfSink *sink = NULL;
    CHECK_OK(fai_gltf_sink_open(path, rig->mesh.nvert, &o, &sink, &err), &err);
    float x[15];
    for (int i = 0; i < 20; i++) {
        exact_frame(&f, i, x, NULL);
        CHECK_OK(fai_gltf_sink_push(sink, x, &err), &err);
    }
    FaBakeReport r;
    CHECK_OK(fai_gltf_sink_finish(sink, &r, &err), &err);
    assert_true(r.targets > 0 && r.max_mm <= 0.01);
    // the first vertices are those of the OBJ, in order; the copy at the seam follows
    FaRig *back = load_rig(path);
    assert_int_equal(back->mesh.nvert, 6);
    assert_int_equal(back->clip->nframe, 20);
    float y[18];
    double worst = 0;
    for (int i = 0; i < 20; i++) {
        exact_frame(&f, i, x, NULL);
        fa_rig_blend(back, back->clip->weight + (size_t)i * (size_t)back->nshape, y);
        for (int k = 0; k < 15; k++) worst = fmax(worst, fabs((double)(x[k] - y[k])));
        for (int k = 0; k < 3; k++) CHECK_NEAR((double)y[15 + k], (double)y[6 + k], 0);
        CHECK_NEAR(back->clip->time[i], i / 24.0, 1e-6);
    }
    assert_true(worst <= 1.01e-5);
    fa_rig_free(back);
    fa_rig_free(rig);
}

// More frames than stay in memory go to a file without a name, and come out the same.
static void test_many_frames(void **state) {
    (void)state;
    FaRig *rig = rig_of_fixture(many_json, many_bin, sizeof many_bin, place("frames", 0, "in.glb"));
    Frames f = {rig, NULL, rig_size(rig), 0.05};
    char *path[2] = {place("frames", 1, "out.glb"), place("frames", 2, "out.glb")};
    size_t usual = fai_gltf_sink_memory;
    for (int k = 0; k < 2; k++) {
        FaSinkOptions o = {.rig = rig, .fps = 30, .bake_error_mm = 1};
        FaBakeReport r;
        FaError err = {0};
        if (k) fai_gltf_sink_memory = 100; // two frames
        CHECK_OK(fai_gltf_save_frames(path[k], 3, 40, exact_frame, &f, &o, &r, &err), &err);
    }
    check_same_file(path[0], path[1]);
    char **files = test_list(test_path("frames/2"), "");
    assert_non_null(files[0]);
    assert_null(files[1]); // nothing is left beside it
    test_list_free(files);
    FaSinkOptions o = {.rig = rig, .fps = 30};
    FaGltfSink *sink;
    FaError err = {0};
    float x[9] = {0};
    fai_gltf_sink_memory = 0;
    CHECK_OK(fai_gltf_sink_open("/nowhere/at/all/x.glb", 3, &o, &sink, &err), &err);
    assert_int_equal(fai_gltf_sink_push(sink, x, &err), FA_E_FILE);
    fai_gltf_sink_abandon(sink);
    fai_gltf_sink_memory = usual;
    fa_rig_free(rig);
}

static void test_wrong_arguments(void **state) {
    (void)state;
    FaRig *rig = rig_of_fixture(many_json, many_bin, sizeof many_bin, place("args", 0, "in.glb"));
    FaSinkOptions o = {.rig = rig, .fps = 30}, none = {.fps = 30};
    Frames f = {rig, rig->clip, 1, 0.1};
    FaGltfSink *sink = NULL;
    FaError err = {0};
    assert_int_equal(fai_gltf_sink_open("x.glb", 3, &none, &sink, &err), FA_E_ARG);
    assert_int_equal(fai_gltf_sink_open("x.glb", 4, &o, &sink, NULL), FA_E_ARG);
    assert_int_equal(fai_gltf_save_frames("x.glb", 3, 0, exact_frame, &f, &o, NULL, NULL), FA_E_ARG);
    o.bake_error_mm = -1;
    assert_int_equal(fai_gltf_save_frames("x.glb", 3, 2, exact_frame, &f, &o, NULL, NULL), FA_E_ARG);
    o.bake_error_mm = 0;
    err = (FaError){0};
    assert_int_equal(fai_gltf_save_frames("/nowhere/at/all/x.glb", 3, 2, exact_frame, &f, &o, NULL, &err), FA_E_FILE);
    assert_non_null(strstr(err.path, "/nowhere/at/all"));
    fa_rig_free(rig);
}

// --- every allocation fails once ----------------------------------------------------------------------------------

static void test_out_of_memory(void **state) {
    (void)state;
    FaRig *rig = rig_of_fixture(many_json, many_bin, sizeof many_bin, place("memory", 0, "in.glb"));
    char *glb = place("memory", 1, "out.glb"), *gltf = place("memory", 2, "out.gltf");
    Frames f = {rig, rig->clip, 1, 0.1};
    FaSinkOptions o = {.rig = rig, .clip = rig->clip, .fps = 30, .bake_error_mm = 1};
    long n = 1;
    for (;; n++) {
        long before = test_alloc_balance();
        test_fail_alloc(n);
        FaError err = {0};
        FaCode rc = fai_gltf_save_frames(n % 2 ? glb : gltf, 3, 2, exact_frame, &f, &o, NULL, &err);
        bool hit = test_alloc_failed();
        test_fail_alloc(0);
        assert_int_equal(test_alloc_balance(), before);
        if (!hit) {
            CHECK_OK(rc, &err);
            break;
        }
        if (rc < 0) assert_int_equal(rc, FA_E_MEMORY);
    }
    assert_true(n > 50);
    fa_rig_free(rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suite_round_trip),
        cmocka_unit_test(test_pack_buffers_and_images),
        cmocka_unit_test(test_glb_with_other_buffers),
        cmocka_unit_test(test_many_frames),
        cmocka_unit_test(test_glb_oddities),
        cmocka_unit_test(test_suite_baked),
        cmocka_unit_test(test_facecap),
        cmocka_unit_test(test_bake_again),
        cmocka_unit_test(test_within_span),
        cmocka_unit_test(test_everything_goes_along),
        cmocka_unit_test(test_from_nothing),
        cmocka_unit_test(test_other_clip),
        cmocka_unit_test(test_head_only),
        cmocka_unit_test(test_head_of_skin),
        cmocka_unit_test(test_head_below_parents),
        cmocka_unit_test(test_rig_of_obj),
        cmocka_unit_test(test_wrong_arguments),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

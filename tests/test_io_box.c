// Files of others: assimp in a process of its own. Whatever that process does, and whatever file it is given, this one
// lives, in bounded memory and time, and has an error with a remedy.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "base/sanitized.h"
#include "io/import_box.h"

#ifndef FA_HAVE_ASSIMP
int main(void) {
    printf("skipped: built without assimp\n");
    return 0;
}
#else

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const char child[] = FASCIA_BINARY_DIR "/box_child";

static const char *file_of(const char *name, const void *data, size_t size) {
    FaError err = {0};
    const char *path = test_path(name);
    CHECK_OK(fai_file_write(path, data, size, &err), &err);
    return path;
}

// --- a helper that fails in every way ------------------------------------------------------------------------------

static FaError ask(const char *act, double wall) {
    FaBoxLimits limits = {.memory = 1 << 30, .answer = 1 << 20, .cpu = 5, .wall = wall, .tool = child};
    FaBox box;
    FaImportDoc doc = {0};
    FaError err = {0};
    FaCode rc = fai_box_open(&box, act, &limits, &err);
    if (rc >= 0) rc = fai_box_ask(&box, &(FaImportAsk){0}, &doc, &err);
    assert_int_equal(rc, err.code);
    if (rc >= 0) {
        assert_int_equal(doc.notes.count, 1);
        assert_string_equal(doc.notes.note[0].text, "a text with  [31m colours"); // one line, nothing for the terminal
        assert_string_equal(doc.glb, "not a GLB at all");
    } else
        assert_true(!doc.glb && err.what[0] && strstr(err.remedy, ".glb"));
    fai_import_doc_free(&doc);
    fai_box_close(&box);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // nobody is left
    return err;
}

static void hostile_helpers(void **state) {
    (void)state;
    static const struct {
        const char *act;
        FaCode code;
        const char *says;
    } cases[] = {
        {"honest", FA_OK, ""},
        {"crash", FA_E_FORMAT, "crashed"},
        {"abort", FA_E_FORMAT, "crashed"},
        {"exit", FA_E_FORMAT, "without an answer"},
        {"misused", FA_E_FILE, "another version"},
        {"deaf", FA_E_FORMAT, "without an answer"},
        {"shut", FA_E_FORMAT, "crashed"}, // by us
        {"garbage", FA_E_FORMAT, "no sense"},
        {"flood", FA_E_FORMAT, "no sense"},
        {"sum", FA_E_FORMAT, "no sense"},
        {"code", FA_E_FORMAT, "no sense"},
        {"nan", FA_E_FORMAT, "no sense"},
        {"version", FA_E_FORMAT, "no sense"},
        {"large", FA_E_FORMAT, "no sense"},
        {"over", FA_E_LIMIT, "over 1 MB"},
        {"cut", FA_E_FORMAT, "without an answer"},
    };
    for (int i = 0; i < FA_COUNT(cases); i++) {
        double start = fai_seconds();
        FaError err = ask(cases[i].act, 20);
        print_message("%-8s %.60s\n", cases[i].act, err.what);
        assert_int_equal(err.code, cases[i].code);
        assert_non_null(strstr(err.what, cases[i].says));
        assert_true(fai_seconds() - start < 10);
    }
    static const char *const slow[] = {"hang", "drip"};
    for (int i = 0; i < FA_COUNT(slow); i++) {
        double start = fai_seconds();
        FaError err = ask(slow[i], 0.3);
        assert_int_equal(err.code, FA_E_LIMIT);
        assert_non_null(strstr(err.what, "stopped"));
        assert_true(fai_seconds() - start < 5);
    }
}

// What the helper can still do once it has confined itself: read the model's folder. On kernels without Landlock it
// could read more.
static void confinement(void **state) {
    (void)state;
    const char *argv[] = {child, file_of("confined.fbx", "x", 1), NULL};
    int got = test_run(argv, NULL);
    if (got == 64 + 1) print_message("this kernel has no Landlock: other files can be read, not written\n");
    assert_true(got == 64 || got == 64 + 1);
}

static void missing_helper(void **state) {
    (void)state;
    static const char stl[] = "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0.2 0 0\nvertex 0 0.2 0\n"
                              "endloop\nendfacet\nendsolid a\n";
    const char *path = file_of("one.stl", stl, sizeof stl - 1);
    FaRigOptions options = {.any_size = true, .unit = FA_UNIT_M};
    FaError err = {0};
    FaRig *rig;
    setenv("FASCIA_IMPORT", "/nowhere/fascia-import", 1);
    assert_int_equal(fa_rig_load(path, &options, &rig, &err), FA_E_UNSUPPORTED);
    assert_non_null(strstr(err.remedy, "FASCIA_IMPORT"));
    options.in_process = true;
    err = (FaError){0};
    CHECK_OK(fa_rig_load(path, &options, &rig, &err), &err);
    assert_int_equal(rig->mesh.nvert, 3);
    fa_rig_free(rig);
    options.in_process = false;
    setenv("FASCIA_IMPORT", child, 1); // named by the user: taken, and believed no more than any other
    assert_true(fa_rig_load(path, &options, &rig, &err) < 0);
    unsetenv("FASCIA_IMPORT");
    CHECK_OK(fa_rig_load(path, &options, &rig, &err), &err);
    fa_rig_free(rig);
}

// --- files that blow up -------------------------------------------------------------------------------------------

static long peak_mb(int who) {
    struct rusage r;
    getrusage(who, &r);
    return r.ru_maxrss / 1024;
}

static void refused(const char *path, const char *says) {
    FaError err = {0};
    FaRig *rig;
    double start = fai_seconds();
    assert_true(fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err) < 0);
    print_message("%-10s %4.0f ms, helpers up to %ld MB: %.90s\n", fai_path_base(path), 1000 * (fai_seconds() - start),
                  peak_mb(RUSAGE_CHILDREN), err.what);
    assert_null(rig);
    assert_true(err.remedy[0] && strstr(err.path, fai_path_base(path)));
    if (says) assert_non_null(strstr(err.what, says));
    assert_true(fai_seconds() - start < 30);
}

// As deep as no parser that calls itself can go.
static void deep(const char *name, const char *head, const char *open, const char *close, const char *tail) {
    FaText t = {0};
    fai_text_str(&t, head);
    for (int i = 0; i < 200000; i++) fai_text_str(&t, open);
    for (int i = 0; i < 200000; i++) fai_text_str(&t, close);
    fai_text_str(&t, tail);
    assert_false(t.failed);
    refused(file_of(name, t.data, t.size), "crashed");
    fai_text_free(&t);
}

#define PLY(format)                                                                                                    \
    "ply\nformat " format " 1.0\nelement vertex 400000000\nproperty float x\nproperty float y\nproperty float z\n"     \
    "element face 400000000\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n"
#define DAE "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">"

static void bombs(void **state) {
    (void)state;
    deep("deep.fbx", "; FBX 7.4.0 project file\n", "A:  {\n", "", "");
    deep("deep.dae", DAE "<library_visual_scenes><visual_scene id=\"s\">", "<node id=\"n\">", "</node>",
         "</visual_scene></library_visual_scenes></COLLADA>");
#if !FA_SANITIZED // which hold what is used, not what is asked for
    static const char binary[] = PLY("binary_little_endian"), ascii[] = PLY("ascii");
    static const char array[] = DAE "<library_geometries><geometry id=\"g\"><mesh><source id=\"p\"><float_array "
                                    "id=\"pa\" count=\"2000000000\">0 0 0</float_array></source></mesh></geometry>"
                                    "</library_geometries></COLLADA>";
    refused(file_of("huge_b.ply", binary, sizeof binary - 1), "memory");
    refused(file_of("huge_a.ply", ascii, sizeof ascii - 1), "memory");
    refused(file_of("huge.dae", array, sizeof array - 1), "memory");
#endif
    char stl[134] = {0};
    memcpy(stl + 80, "\xff\xff\xff\x7f", 4);
    refused(file_of("huge.stl", stl, sizeof stl), NULL);
}

// --- mutants ------------------------------------------------------------------------------------------------------

// Cut, or with 1 to 8 bytes changed: in a quarter of the mutants near the beginning, where a file says what follows.
static size_t mutate(unsigned char *data, size_t size, uint64_t seed) {
    uint64_t n = 0;
    int changes = 1 + (int)(fai_random_u64(seed, n++) % 8);
    size_t reach = fai_random_u64(seed, n++) % 4 ? size : FA_MIN(size, (size_t)4096);
    for (int i = 0; i < changes; i++) {
        uint64_t r = fai_random_u64(seed, n++);
        size_t at = (size_t)(fai_random_u64(seed, n++) % reach);
        static const unsigned char odd[] = {0, 0xff, 0x7f, 0x80};
        data[at] = r % 3 == 0   ? odd[(r >> 8) % 4]
                   : r % 3 == 1 ? (unsigned char)(r >> 8)
                                : data[at] ^ 1u << (r >> 8) % 8;
    }
    return fai_random_u64(seed, n++) % 8 ? size : (size_t)(fai_random_u64(seed, n++) % size);
}

typedef struct Tally {
    int read, refused, crashed, memory, late;
    double worst; // s
} Tally;

static void one_mutant(const FaBytes *from, uint64_t seed, Tally *t) {
    unsigned char *copy = malloc(from->size);
    assert_non_null(copy);
    memcpy(copy, from->data, from->size);
    size_t size = mutate(copy, from->size, seed);
    const char *path = file_of("mutant.fbx", copy, size);
    free(copy);
    FaError err = {0};
    FaRig *rig;
    double start = fai_seconds();
    FaCode rc = fa_rig_load(path, &(FaRigOptions){.any_size = true}, &rig, &err);
    double took = fai_seconds() - start;
    t->worst = fmax(t->worst, took);
    if (rc >= 0) {
        CHECK_OK(fa_rig_check(rig, &err), &err);
        t->read++;
    } else {
        assert_true(err.what[0]);
        t->refused++;
        t->crashed += strstr(err.what, "crashed") != NULL;
        t->memory += strstr(err.what, "memory") != NULL;
        t->late += strstr(err.what, "stopped") != NULL;
    }
    fa_rig_free(rig);
}

static void report(int n, const Tally *t, double seconds) {
    print_message(
        "%d mutants of FBX files in %.0f s: %d read, %d refused (%d crashes of assimp, %d over its memory, %d "
        "over its time); slowest %.1f s; helper up to %ld MB, this process %ld MB\n",
        n, seconds, t->read, t->refused, t->crashed, t->memory, t->late, t->worst, peak_mb(RUSAGE_CHILDREN),
        peak_mb(RUSAGE_SELF));
    fflush(stdout);
}

// FASCIA_FULL=1: 10,000 of them.
static void mutants(void **state) {
    (void)state;
    static const char *const rigs[] = {"rigs/wild/FaceCapLiveMode.fbx", "rigs/wild/Female_Adult_16.fbx",
                                       "rigs/wild/Male_Adult_12.fbx",   "rigs/facecap/FaceCapHeadGeneric.fbx",
                                       "rigs/wild/Female_Adult_01.fbx", "rigs/wild/Police_Female_01.fbx"};
    const char *full = getenv("FASCIA_FULL");
    int n = full && full[0] == '1' ? 10000 : 100, nrig = 0;
    if (FA_SANITIZED) n /= 4;
    FaBytes rig[FA_COUNT(rigs)];
    for (int i = 0; i < FA_COUNT(rigs); i++) {
        const char *path = test_data(rigs[i]);
        if (path && fai_file_read(path, 0, &rig[nrig], NULL) >= 0) nrig++;
    }
    if (!nrig) skip();
    Tally t = {0};
    double start = fai_seconds();
    for (int i = 0; i < n; i++) { // the small one most often
        one_mutant(&rig[i % 3 ? 0 : i / 3 % nrig], (uint64_t)i, &t);
        if ((i + 1) % 500 == 0 || i + 1 == n) report(i + 1, &t, fai_seconds() - start);
    }
    for (int i = 0; i < nrig; i++) fai_bytes_free(&rig[i]);
    test_attack("mutants of FBX files through the importer's box", n);
    assert_true(peak_mb(RUSAGE_CHILDREN) < 2048);
    assert_true(peak_mb(RUSAGE_SELF) < 2048);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(hostile_helpers), cmocka_unit_test(confinement),
                                       cmocka_unit_test(missing_helper), cmocka_unit_test(bombs),
                                       cmocka_unit_test(mutants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

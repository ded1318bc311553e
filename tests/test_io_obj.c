// OBJ: the reader's forms and refusals, folders as rigs, and rigs written as folders.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "base/task.h"
#include "io/obj.h"
#include "io/obj_write.h"

#include <sys/stat.h>
#include <time.h>

// --- helpers ------------------------------------------------------------------------------------------------------

static FaCode parse(const char *text, size_t size, FaArena *arena, FaObj *obj, FaError *err) {
    FaBytes bytes = {fai_resize(NULL, size + 1), size};
    assert_non_null(bytes.data);
    memcpy(bytes.data, text, size);
    bytes.data[size] = 0;
    return fai_obj_parse(&bytes, arena, obj, err);
}

static FaObj parse_ok(const char *text, FaArena *arena) {
    FaError err = {0};
    FaObj obj;
    CHECK_OK(parse(text, strlen(text), arena, &obj, &err), &err);
    return obj;
}

// The text is refused, the error has this place and contains these words.
static void check_refused(const char *text, size_t size, const char *place, const char *words) {
    FaArena *arena = fai_arena_new(0);
    FaError err = {0};
    FaObj obj;
    assert_true(parse(text, size, arena, &obj, &err) < 0);
    assert_string_equal(err.place, place);
    if (!strstr(err.what, words) && !strstr(err.remedy, words)) {
        print_error("'%s' (%s) does not say '%s'\n", err.what, err.remedy, words);
        fail();
    }
    assert_true(err.remedy[0] != 0);
    fai_obj_free(&obj);
    fai_arena_free(arena);
}
#define REFUSED(text, place, words) check_refused(text, strlen(text), place, words)

static void write_file(const char *path, const char *text) {
    FaError err = {0};
    CHECK_OK(fai_file_write(path, text, strlen(text), &err), &err);
}

static const char *make_dir(const char *name) {
    const char *dir = test_path(name);
    assert_int_equal(mkdir(dir, 0777), 0);
    return dir;
}

static void write_in(const char *dir, const char *name, const char *text) {
    char *path = fai_path_join(dir, name);
    assert_non_null(path);
    write_file(path, text);
    fa_free(path);
}

#define CUBE_V "v 0 0 0\nv 0.2 0 0\nv 0.2 0.2 0\nv 0 0.2 0\nv 0 0 0.2\nv 0.2 0 0.2\nv 0.2 0.2 0.2\nv 0 0.2 0.2\n"
#define CUBE_F "f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"
static const FaRigOptions metres = {.unit = FA_UNIT_M, .up = FA_UP_Y, .any_size = true};

// --- the reader ---------------------------------------------------------------------------------------------------

static void test_forms(void **state) {
    (void)state;
    FaArena *arena = fai_arena_new(0);
    FaObj o = parse_ok("\xEF\xBB\xBF# comment with a path C:\\\n"
                       "mtllib x.mtl\no thing\ng a b\ns off\n"
                       "v 1 2 3\r\n"
                       "v -1.5e-3 +.5 7. 1.0\n"             // w
                       "  v 0 1 0 0.5 0.25 1  # coloured\n" // colours, leading blanks, a comment behind
                       "v\t4 5\t6\n"
                       "v 7 \\\n 8 \\\r\n 9\n"
                       "vt 0.25 0.75\nvt 0.5\nvt 1 0 0\nvn 0 0 1\n"
                       "usemtl skin\n"
                       "f 1 2 3\n"
                       "f 1/1 2/2 3/3 4/1\n"
                       "f 1//1 2//1 3//1\n"
                       "f 1/3/1 2/2/1 -3/-3/-1 -2 5/1/ \n"
                       "f -5 -4 \\\n -3\n"
                       "l 1 2\np 1\n",
                       arena);
    assert_int_equal(o.nvert, 5);
    assert_int_equal(o.nface, 5);
    assert_int_equal(o.nuv, 3);
    const double x[15] = {1, 2, 3, -0.0015, 0.5, 7, 0, 1, 0, 4, 5, 6, 7, 8, 9};
    assert_memory_equal(o.x, x, sizeof x);
    const int start[6] = {0, 3, 7, 10, 15, 18};
    assert_memory_equal(o.face_start, start, sizeof start);
    const int vert[18] = {0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2};
    assert_memory_equal(o.face_vert, vert, sizeof vert);
    const int uv[18] = {-1, -1, -1, 0, 1, 2, 0, -1, -1, -1, 2, 1, 0, -1, 0, -1, -1, -1};
    assert_memory_equal(o.face_uv, uv, sizeof uv);
    const float uvs[6] = {0.25f, 0.75f, 0.5f, 0, 1, 0};
    assert_memory_equal(o.uv, uvs, sizeof uvs);
    assert_int_equal(fai_note_find(&o.notes, "materials-dropped")->count, 1);
    assert_string_equal(fai_note_find(&o.notes, "materials-dropped")->where, "line 17");
    assert_int_equal(fai_note_find(&o.notes, "lines-and-points-dropped")->count, 2);
    assert_null(fai_note_find(&o.notes, "unknown-statements"));
    fai_obj_free(&o);

    // old line ends; no texture coordinates at all; a face before its vertices
    o = parse_ok("f 1 2 3\rv 1 0 0\rv 0 1 0\rv 0 0 1", arena);
    assert_int_equal(o.nvert, 3);
    assert_int_equal(o.nface, 1);
    assert_null(o.face_uv);
    fai_obj_free(&o);
    fai_arena_free(arena);
}

static void test_odd_faces(void **state) {
    (void)state;
    FaArena *arena = fai_arena_new(0);
    FaObj o = parse_ok(
        "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 2\nf 1 2\nf\nf 3\nf 1 2 3 4 1\nf 1 2 3\nwhat is this\n", arena);
    assert_int_equal(o.nface, 3); // faces that repeat a vertex stay, faces without area go
    assert_int_equal(fai_note_find(&o.notes, "degenerate-faces")->count, 2);
    assert_string_equal(fai_note_find(&o.notes, "degenerate-faces")->where, "face 0");
    assert_int_equal(fai_note_find(&o.notes, "faces-without-area")->count, 3);
    assert_string_equal(fai_note_find(&o.notes, "faces-without-area")->where, "line 6");
    assert_int_equal(fai_note_find(&o.notes, "unknown-statements")->count, 1);
    fai_obj_free(&o);
    o = parse_ok("v 0 0 0\nv 1 0 0\nv 1 1 0\nvt nan 1\nvt a b\nf 1/1 2/2 3/1\n", arena);
    assert_true(o.uv[0] == 0 && o.uv[1] == 1 && o.uv[2] == 0);
    assert_int_equal(fai_note_find(&o.notes, "bad-uvs")->count, 3);
    fai_obj_free(&o);
    fai_arena_free(arena);
}

static void test_refusals(void **state) {
    (void)state;
    REFUSED("", "", "no vertices");
    REFUSED("hello\nworld\n", "", "no vertices");
    REFUSED("v 0 0 0\nv 1 0 0\nv 0 1 0\n\nf 1 2 4\n", "line 5", "vertex 4, but there are only 3");
    REFUSED("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n", "line 4", "vertex -4 of 3");
    REFUSED("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "line 4", "OBJ counts from 1");
    REFUSED("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1/1 2 3\n", "line 4", "texture coordinate 1, but there are only 0");
    REFUSED("v 0 0 0\nf 99999999999999999999 1 1\n", "line 2", "malformed");
    REFUSED("v 0 0 0\nf 2147483648 1 1\n", "line 2", "vertex 2147483648");
    REFUSED("v 0 0 0\nf /1 1 1\n", "line 2", "malformed");
    REFUSED("v 0 0 0\nf 1.5 1 1\n", "line 2", "malformed");
    REFUSED("v 0 0 0\nf 1/x 1 1\n", "line 2", "malformed");
    REFUSED("v 0 0 0\n# c\nv 1 2\n", "line 3", "ends too early");
    REFUSED("v 0 0 0\nv 1 2", "line 2", "ends too early");
    REFUSED("v 0,5 0,1 0,2\n", "line 1", "decimal point");
    REFUSED("v 0 0 0\r\nv 1 2 x7\r\n", "line 2", "'x7'");
    REFUSED("v nan 0 0\n", "line 1", "not a number");
    REFUSED("v 0 0 0\nv 0 -inf 0\n", "line 2", "infinite");
    REFUSED("v 0 0 0\nv 0 1e39 0\n", "line 2", "infinite");
    check_refused("\xFF\xFEv\0 \0001\0", 8, "line 1", "UTF-16");
}

// Whatever a file is cut to or turned into, the reader ends with a result or an error; ASan watches.
static void test_cut_and_flipped(void **state) {
    (void)state;
    static const char text[] = "\xEF\xBB\xBF# c\nv 1 2 3\\\n\nv 4 5 6 1\nv 7 8 9e-2\nvt 0 1\nvn 0 0 1\nusemtl a\n"
                               "f 1/1/1 2//1 3\nf -1 -2 \\\r\n -3/-1\nl 1 2\ncstype x\ncurv 1\\\n 2\n";
    int size = (int)sizeof text - 1;
    FaArena *arena = fai_arena_new(0);
    for (int n = 0; n <= size; n++) {
        FaError err = {0};
        FaObj o;
        FaMark mark = fai_arena_mark(arena);
        FaCode rc = parse(text, (size_t)n, arena, &o, &err);
        assert_true(rc >= 0 || err.what[0]);
        fai_obj_free(&o);
        fai_arena_release(arena, mark);
    }
    char copy[sizeof text];
    for (int i = 0; i < size * 8; i++) {
        memcpy(copy, text, sizeof text);
        copy[i / 8] = (char)(copy[i / 8] ^ (1 << (i % 8)));
        FaError err = {0};
        FaObj o;
        FaMark mark = fai_arena_mark(arena);
        FaCode rc = parse(copy, (size_t)size, arena, &o, &err);
        assert_true(rc >= 0 || err.what[0]);
        fai_obj_free(&o);
        fai_arena_release(arena, mark);
    }
    fai_arena_free(arena);
}

// Time is linear: long lines, faces with very many corners, many unknown lines (each of which could cost a line count).
static void test_hostile_time(void **state) {
    (void)state;
    enum { N = 400000 };
    char *text = malloc(16 * N), *p = text;
    p += sprintf(p, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf");
    for (int i = 0; i < N; i++) p += sprintf(p, " %d", i % 3 + 1);
    for (int i = 0; i < N; i++) p += sprintf(p, "\n?");
    for (int i = 0; i < N; i++) p += sprintf(p, "\\ ");
    for (int i = 0; i < N; i++) p += sprintf(p, "\nf 1");
    FaArena *arena = fai_arena_new(0);
    FaObj o;
    FaError err = {0};
    clock_t t = clock(); // quadratic time would be minutes
    CHECK_OK(parse(text, (size_t)(p - text), arena, &o, &err), &err);
    assert_true(clock() - t < 5 * CLOCKS_PER_SEC);
    assert_int_equal(o.face_start[1], N);
    assert_int_equal(fai_note_find(&o.notes, "faces-without-area")->count,
                     N - 1); // the first is joined to the line before
    fai_obj_free(&o);
    fai_arena_free(arena);
    free(text);
}

static FaCode like(const FaObj *o, const char *text, double *x, FaError *err) {
    *err = (FaError){0};
    FaBytes bytes = {(unsigned char *)(uintptr_t)text, strlen(text)};
    return fai_obj_read_like(&bytes, o, "the neutral", x, err);
}

static void test_read_like(void **state) {
    (void)state;
    FaArena *arena = fai_arena_new(0);
    FaObj o = parse_ok("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nf 1/1 2/1 3/1\nf 1 3 4\n", arena);
    assert_true(o.tail > 0);
    double x[12];
    FaError err;
    const char *moved = "# other\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 2.5\n";
    char text[400];
    const char *tails[] = {"vt 0 0\nf 1/1 2/1 3/1\nf 1 3 4\n",      // word for word
                           "f 1 2 3\nf -4/-1 -2/9 -1\n",            // the same faces in other words
                           "s 1\nf 1 2\nf 1//1 2//1 3//1\nf 1 3 4", // what has no area does not count
                           ""};                                     // vertices alone
    for (int i = 0; i < FA_COUNT(tails); i++) {
        snprintf(text, sizeof text, "%s%s", moved, tails[i]);
        memset(x, 0, sizeof x);
        CHECK_OK(like(&o, text, x, &err), &err);
        assert_true(x[2] == 1 && x[3] == 1 && x[11] == 2.5);
    }
    snprintf(text, sizeof text, "%s%s", moved, "f 1 2 3\nf 1 4 3\n");
    assert_int_equal(like(&o, text, x, &err), FA_E_FORMAT);
    assert_string_equal(err.place, "line 7");
    assert_non_null(strstr(err.what, "face 2 differs from the same face of the neutral"));
    snprintf(text, sizeof text, "%s%s", moved, "f 1 2 3\nf 1 3 4 2\n");
    assert_int_equal(like(&o, text, x, &err), FA_E_FORMAT);
    snprintf(text, sizeof text, "%s%s", moved, "f 1 2 3\nf 1 3 4\nf 1 2 4\n");
    assert_int_equal(like(&o, text, x, &err), FA_E_FORMAT);
    snprintf(text, sizeof text, "%s%s", moved, "f 1 2 3\n");
    assert_int_equal(like(&o, text, x, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "1 faces, the neutral has 2"));
    assert_int_equal(like(&o, "v 0 0 0\nv 1 1 1\n", x, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "2 vertices, the neutral has 4"));
    snprintf(text, sizeof text, "%sv 9 9 9\n", moved);
    assert_int_equal(like(&o, text, x, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "5 vertices, the neutral has 4"));
    fai_obj_free(&o);

    // with a face before the last vertex the rest of the text says nothing about all faces
    o = parse_ok("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\nv 0 1 0\nf 1 3 4\n", arena);
    assert_int_equal(o.tail, 0);
    assert_int_equal(like(&o, "v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 3 2\nv 0 1 0\nf 1 3 4\n", x, &err), FA_E_FORMAT);
    fai_obj_free(&o);
    fai_arena_free(arena);
}

static void test_suites(void **state) {
    (void)state;
    static const char *const folders[] = {"suites/tinyobjloader", "suites/ufbx"};
    // what is known of some of them: -1 = refused, else vertices
    static const struct {
        const char *name;
        int vertices;
    } known[] = {{"/cube.obj", 8},
                 {"cube-vertexcol.obj", 8},
                 {"test-nan.obj", -1},
                 {"issue-140-zero-face-idx.obj", -1},
                 {"invalid-relative-vertex-index.obj", -1},
                 {"synthetic_missing_position_fail_0_obj.obj", -1},
                 {"synthetic_empty_face_0_obj.obj", -1},
                 {"synthetic_obj_zoo_0_obj.obj", 3},
                 {"blender_282_suzanne.obj", 507}};
    int found = 0, read = 0, refused = 0;
    for (int k = 0; k < FA_COUNT(folders); k++) {
        TEST_DATA_OR_SKIP(dir, folders[k]);
        char **files = test_list(dir, ".obj");
        for (char **f = files; *f; f++) {
            FaArena *arena = fai_arena_new(0);
            FaError err = {0};
            FaObj o;
            FaCode rc = fai_obj_load(*f, arena, &o, &err);
            if (rc < 0 && !(err.what[0] && err.path[0] && err.remedy[0])) {
                print_error("%s: refused without a reason or a remedy\n", *f);
                fail();
            }
            for (int i = 0; i < FA_COUNT(known); i++) {
                size_t n = strlen(*f), m = strlen(known[i].name);
                if (n < m || strcmp(*f + n - m, known[i].name)) continue;
                found++;
                if ((rc < 0 ? -1 : o.nvert) != known[i].vertices) {
                    print_error("%s: %d vertices, expected %d\n", *f, rc < 0 ? -1 : o.nvert, known[i].vertices);
                    fail();
                }
            }
            rc < 0 ? refused++ : read++;
            fai_obj_free(&o);
            fai_arena_free(arena);
        }
        test_list_free(files);
    }
    print_message("%d files read, %d refused\n", read, refused);
    assert_int_equal(found, FA_COUNT(known));
    assert_true(read > 200);
}

// --- folders ------------------------------------------------------------------------------------------------------

static void test_folder(void **state) {
    (void)state;
    const char *dir = make_dir("folder");
    write_in(dir, "Neutral.obj", CUBE_V CUBE_F "usemtl x\n");
    write_in(
        dir, "smile.obj",
        "v 0 0 0\nv 0.2 0 0\nv 0.2 0.2 0\nv 0 0.2 0\nv 0 0 0.2\nv 0.2 0 0.2\nv 0.2 0.2 0.25\nv 0 0.2 0.2\n" CUBE_F);
    write_in(dir, "Zebra.obj", CUBE_V);
    write_in(dir, "._smile.obj", "not this one");
    write_in(dir, "readme.txt", "nor this");
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(dir, &metres, &rig, &err), &err);
    assert_int_equal(rig->nshape, 2);
    assert_string_equal(rig->shape[0].name, "Zebra"); // bytewise: capitals first
    assert_string_equal(rig->shape[1].name, "smile");
    assert_int_equal(rig->shape[0].count, 0);
    assert_int_equal(rig->shape[1].count, 1);
    assert_int_equal(rig->row[rig->shape[1].first], 6);
    CHECK_NEAR(rig->delta[3 * rig->shape[1].first + 2], (float)(0.25 - 0.2), 0); // taken in double
    assert_int_equal(rig->mesh.nface, 6);
    assert_int_equal(rig->mesh.ntri, 12);
    assert_non_null(fai_note_find(&rig->notes, "materials-dropped"));
    fa_rig_free(rig);

    // a shape that does not fit is named, with both counts
    write_in(dir, "odd.obj", "v 0 0 0\n");
    assert_int_equal(fa_rig_load(dir, &metres, &rig, &err), FA_E_FORMAT);
    assert_null(rig);
    assert_non_null(strstr(err.path, "odd.obj"));
    assert_non_null(strstr(err.what, "1 vertices, the neutral has 8"));
}

static void check_neutral(const char *name, const char *const *files, const char *wanted, const char *neutral) {
    const char *dir = make_dir(name);
    int n = 0;
    for (; files[n]; n++) write_in(dir, files[n], CUBE_V CUBE_F);
    FaError err = {0};
    FaRigOptions o = metres;
    o.mesh = wanted;
    FaRig *rig;
    FaCode rc = fa_rig_load(dir, &o, &rig, &err);
    if (!neutral) {
        assert_int_equal(rc, wanted ? FA_E_ARG : FA_E_FORMAT);
        assert_true(err.remedy[0] != 0);
        return;
    }
    CHECK_OK(rc, &err);
    assert_string_equal(rig->name, neutral);
    assert_int_equal(rig->nshape, n - 1);
    fa_rig_free(rig);
}

static void test_which_neutral(void **state) {
    (void)state;
    check_neutral("n1", (const char *[]){"a.obj", "BASIS.obj", "b.obj", NULL}, NULL, "BASIS");
    check_neutral("n2", (const char *[]){"base.obj", "neutral.obj", "b.obj", NULL}, NULL, "neutral");
    check_neutral("n3", (const char *[]){"a.obj", "head_Neutral_v2.obj", "b.obj", NULL}, NULL, "head_Neutral_v2");
    check_neutral("n4", (const char *[]){"head.obj", "head_smile.obj", "headOpen.obj", NULL}, NULL, "head");
    check_neutral("n5", (const char *[]){"x.obj", NULL}, NULL, "x");
    check_neutral("n6", (const char *[]){"a.obj", "b.obj", NULL}, NULL, NULL);
    check_neutral("n7", (const char *[]){"a_neutral.obj", "b_neutral.obj", NULL}, NULL, NULL);
    check_neutral("n8", (const char *[]){"a.obj", "b.obj", NULL}, "b", "b");
    check_neutral("n9", (const char *[]){"a.obj", "b.obj", NULL}, "c", NULL);
    FaError err = {0};
    FaRig *rig;
    assert_int_equal(fa_rig_load(make_dir("n10"), NULL, &rig, &err), FA_E_FORMAT);
    assert_non_null(strstr(err.what, "no .obj files"));
}

static void test_one_file(void **state) {
    (void)state;
    const char *path = test_path("one.obj");
    write_file(path, CUBE_V CUBE_F);
    FaError err = {0};
    FaRig *rig;
    CHECK_OK(fa_rig_load(path, &metres, &rig, &err), &err);
    assert_int_equal(rig->nshape, 0);
    assert_int_equal(rig->mesh.nvert, 8);
    fa_rig_free(rig);
    write_file(path, CUBE_V);
    assert_int_equal(fa_rig_load(path, &metres, &rig, &err), FA_E_MESH);
    assert_non_null(strstr(err.what, "no faces"));
}

static void test_allocation_failure(void **state) {
    (void)state;
    const char *dir = make_dir("alloc");
    write_in(dir, "neutral.obj", CUBE_V "vt 0 0\n" CUBE_F "usemtl x\n");
    write_in(dir, "a.obj",
             "v 0 0 0.1\n"
             "v 0.2 0 0\nv 0.2 0.2 0\nv 0 0.2 0\nv 0 0 0.2\nv 0.2 0 0.2\nv 0.2 0.2 0.2\nv 0 0.2 0.2\n");
    write_in(dir, "b.obj", CUBE_V CUBE_F);
    fa_threads_set(1);
    test_fail_alloc(0);
    long before = test_alloc_balance();
    bool done = false;
    for (long n = 1; n < 2000 && !done; n++) {
        FaError err = {0};
        FaRig *rig = NULL;
        test_fail_alloc(n);
        FaCode rc = fa_rig_load(dir, &metres, &rig, &err);
        done = !test_alloc_failed();
        test_fail_alloc(0);
        if (rc < 0)
            assert_int_equal(rc, FA_E_MEMORY);
        else
            assert_int_equal(rig->nshape, 2); // a note may be dropped, never the work
        fa_rig_free(rig);
        assert_int_equal(test_alloc_balance(), before);
    }
    assert_true(done);
    fa_allocator_set(NULL);
    fa_threads_set(0);
}

// --- the real one -------------------------------------------------------------------------------------------------

static void test_ict(void **state) {
    (void)state;
    const char *dir = test_unpack("rigs/ict_facekit/expressions_57_obj.tar.xz");
    if (!dir) skip();
    FaError err = {0};
    FaRig *rig, *one;
    double t = fai_seconds();
    CHECK_OK(fa_rig_load(dir, NULL, &rig, &err), &err);
    print_message("ICT-FaceKit loaded in %.3f s with %d threads\n", fai_seconds() - t, fa_threads());
    assert_int_equal(rig->mesh.nvert, 26719);
    assert_int_equal(rig->mesh.nface, 26384);
    assert_int_equal(rig->nshape, 57);
    assert_string_equal(rig->name, "generic_neutral_mesh");
    assert_string_equal(rig->shape[0].name, "PupilDilate_L");
    CHECK_NEAR(rig->unit, 0.01, 0);

    // the same bytes with one thread
    fa_threads_set(1);
    CHECK_OK(fa_rig_load(dir, NULL, &one, &err), &err);
    fa_threads_set(0);
    assert_int_equal(one->nentry, rig->nentry);
    assert_memory_equal(one->row, rig->row, sizeof(int) * (size_t)rig->nentry);
    assert_memory_equal(one->delta, rig->delta, sizeof(float) * 3 * (size_t)rig->nentry);
    fa_rig_free(one);

    // one shape against its file, read the slow way
    char path[4300];
    snprintf(path, sizeof path, "%s/jawOpen.obj", dir);
    FaArena *arena = fai_arena_new(0);
    FaObj open, neutral;
    CHECK_OK(fai_obj_load(path, arena, &open, &err), &err);
    snprintf(path, sizeof path, "%s/generic_neutral_mesh.obj", dir);
    CHECK_OK(fai_obj_load(path, arena, &neutral, &err), &err);
    const FaShape *jaw = NULL;
    for (int s = 0; s < rig->nshape; s++)
        if (!strcmp(rig->shape[s].name, "jawOpen")) jaw = &rig->shape[s];
    assert_non_null(jaw);
    int moved = 0;
    double worst = 0;
    for (int v = 0, e = jaw->first; v < open.nvert; v++) {
        double d[3], size = 0;
        for (int k = 0; k < 3; k++) d[k] = 0.01 * (open.x[3 * v + k] - neutral.x[3 * v + k]), size += fabs(d[k]);
        if (size == 0) continue;
        moved++;
        assert_int_equal(rig->row[e], v);
        for (int k = 0; k < 3; k++) worst = fmax(worst, fabs(d[k] - (double)rig->delta[3 * e + k]));
        e++;
    }
    assert_true(moved > 1000);
    assert_int_equal(moved, jaw->count);
    CHECK_NEAR(worst, 0, 1e-8);
    fai_obj_free(&open);
    fai_obj_free(&neutral);
    fai_arena_free(arena);
    fa_rig_free(rig);
}

// --- writing ------------------------------------------------------------------------------------------------------

static void test_rig_round_trip(void **state) {
    (void)state;
    const char *dir = make_dir("trip");
    write_in(dir, "neutral.obj",
             CUBE_V "vt 0.1 0.2\nvt 0.3 0.9\n"
                    "f 1/1 4/2 3/1 2/2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5\n");
    write_in(dir, "jawOpen.obj",
             "v 0.00001 0 0\nv 0.2 0 1.5e-7\nv 0.2 0.2 0\nv 0 0.2 0\nv 0 0 0.2\nv 0.2 0 0.2\nv 0.21234567 0.2 0.2\nv 0 "
             "0.2 0.2\n");
    write_in(dir, "a b.obj", CUBE_V);
    FaError err = {0};
    FaRig *rig, *back;
    CHECK_OK(fa_rig_load(dir, &metres, &rig, &err), &err);
    char out[4300];
    snprintf(out, sizeof out, "%s/", test_path("trip-out"));
    CHECK_OK(fa_rig_save(rig, NULL, out, &err), &err);
    CHECK_OK(fa_rig_load(out, &metres, &back, &err), &err);
    assert_int_equal(back->nshape, rig->nshape);
    assert_int_equal(back->nentry, rig->nentry);
    assert_memory_equal(back->mesh.x, rig->mesh.x, sizeof(float) * 24);
    assert_memory_equal(back->delta, rig->delta, sizeof(float) * 3 * (size_t)rig->nentry);
    assert_memory_equal(back->mesh.face_vert, rig->mesh.face_vert,
                        sizeof(int) * (size_t)rig->mesh.face_start[rig->mesh.nface]);
    assert_memory_equal(back->mesh.face_uv, rig->mesh.face_uv,
                        sizeof(int) * (size_t)rig->mesh.face_start[rig->mesh.nface]);
    assert_string_equal(back->shape[0].name, "a b");
    fa_rig_free(back);
    // again into the same folder is fine; with a stranger in it, it is not
    CHECK_OK(fa_rig_save(rig, NULL, out, &err), &err);
    write_in(out, "stranger.obj", CUBE_V);
    assert_int_equal(fa_rig_save(rig, NULL, out, &err), FA_E_FILE);
    assert_non_null(strstr(err.what, "stranger.obj"));
    err = (FaError){0};
    assert_int_equal(fa_rig_save(rig, NULL, test_path("one-file.obj"), &err), FA_E_ARG);
    fa_rig_free(rig);
}

static void quiet(void *user, const FaLogRec *rec) {
    if (rec->level <= FA_LOG_WARN) ++*(int *)user;
}

// Names that file systems refuse, or do not tell apart.
static void test_file_names(void **state) {
    (void)state;
    static const char *const names[] = {"a/b", "a\\b", "JawOpen", "jawopen", "neutral", "", ".x", "ok"};
    FaShape shapes[FA_COUNT(names)] = {0};
    for (int i = 0; i < FA_COUNT(names); i++) shapes[i].name = names[i];
    float x[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0}, weight[FA_COUNT(names)] = {0};
    int start[2] = {0, 3}, vert[3] = {0, 1, 2};
    FaRig rig = {.mesh = {.nvert = 3, .nface = 1, .x = x, .face_start = start, .face_vert = vert},
                 .nshape = FA_COUNT(names),
                 .shape = shapes,
                 .weight = weight,
                 .name = "",
                 .path = ""};
    FaError err = {0};
    int warnings = 0;
    fa_log_set(quiet, &warnings);
    const char *dir = test_path("names");
    CHECK_OK(fai_obj_save_rig(&rig, dir, &err), &err);
    fa_log_set(NULL, NULL);
    assert_int_equal(warnings, 1);
    FaNames list;
    CHECK_OK(fai_obj_list(dir, &list, &err), &err);
    static const char *const expect[] = {"JawOpen.obj", "_x.obj",        "a_b.obj", "a_b_2.obj",    "jawopen_2.obj",
                                         "neutral.obj", "neutral_2.obj", "ok.obj",  "shape_005.obj"};
    assert_int_equal(list.count, FA_COUNT(expect));
    for (int i = 0; i < list.count; i++) assert_string_equal(list.name[i], expect[i]);
    fai_names_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_odd_faces),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_cut_and_flipped),
        cmocka_unit_test(test_hostile_time),
        cmocka_unit_test(test_read_like),
        cmocka_unit_test(test_suites),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_which_neutral),
        cmocka_unit_test(test_one_file),
        cmocka_unit_test(test_allocation_failure),
        cmocka_unit_test(test_ict),
        cmocka_unit_test(test_rig_round_trip),
        cmocka_unit_test(test_file_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

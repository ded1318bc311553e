// The .face file: what is written is read back to the bit, damage is noticed wherever it is, later versions are told
// apart.
#include "test_face_made.h"

#include "base/file.h"
#include "face/face.h"
#include "face/face_file.h"
#include "fascia/face.h"

#include <sys/stat.h>
#include <unistd.h>

static FaRig *rig;
static FaFace *face;
static unsigned char *packed;
static size_t packed_size;

static FaRig *small_rig(void) {
    Made m = {0};
    made_creature(&m, 12, 0.1, 4, 0.1, 0.006);
    FaRig *r = made_rig(&m);
    made_free(&m);
    return r;
}

static int setup(void **state) {
    (void)state;
    FaError err = {0};
    rig = small_rig();
    CHECK_OK(fa_face_build(rig, &(FaFaceOptions){.whole = true, .layers = 2}, &face, &err), &err);
    // two bones and a jaw, so that every kind of chunk is there
    face->nbone = 2;
    face->bone = FA_PUSH(face->arena, 2, FaBone);
    for (int i = 0; i < 2; i++) {
        FaBone *b = &face->bone[i];
        *b = (FaBone){.kind = i ? FA_BONE_JAW : FA_BONE_SKULL, .with_jaw = i, .closed = true, .nvert = 4, .ntri = 4};
        snprintf(b->name, sizeof b->name, "bone %d", i);
        b->x = FA_PUSH(face->arena, 12, float);
        b->tri = FA_PUSH(face->arena, 12, int);
        for (int k = 0; k < 12; k++) b->x[k] = 0.01f * (float)(k * k % 7), b->tri[k] = (k + k / 3) % 4;
    }
    face->jaw = (FaJaw){.found = true,
                        .shape = {0, -1, -1, -1},
                        .hinge = {0.01, 0.02, 0.03},
                        .axis = {1, 0, 0},
                        .open_angle = 0.4,
                        .residual = 1e-4,
                        .nmore = 2,
                        .more = {{.open = 0.5}, {.open = 0.25, .turn = {0, 0.1, 0}, .slide = {0, 0, -0.002}}}};
    // optimised stiffness and a rig's path
    face->stiff_edges = 7;
    face->stiff_anchor = FA_PUSH(face->arena, face->nskin, float);
    face->stiff_bend = FA_PUSH(face->arena, face->nskin, float);
    face->stiff_edge = FA_PUSH(face->arena, 7, float);
    for (int i = 0; i < face->nskin; i++) face->stiff_anchor[i] = 1 + 0.01f * (float)i, face->stiff_bend[i] = 0.5f;
    for (int i = 0; i < 7; i++) face->stiff_edge[i] = 0.25f * (float)(i + 1);
    face->rig_path = "/somewhere/r\xc3\xaeg.glb";
    fai_note(&face->notes, "a-note", "vertex 3", "do this", "text with %s", "\xc3\xa4 quotes \"\"");
    CHECK_OK(fai_face_pack(face, &packed, &packed_size, &err), &err);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    fa_free(packed);
    fa_face_free(face);
    fa_rig_free(rig);
    return 0;
}

// Set size and checksum right after a change.
static void seal(unsigned char *data, size_t size) {
    uint64_t total = size, sum;
    uint32_t version;
    memcpy(&version, data + 8, 4);
    memcpy(data + 16, &total, 8);
    sum = fai_hash64(data + 32, size - 32, version);
    memcpy(data + 24, &sum, 8);
}

static unsigned char *copy_of(size_t extra) {
    unsigned char *c = calloc(1, packed_size + extra);
    assert_non_null(c);
    memcpy(c, packed, packed_size);
    return c;
}

// Byte offset of a chunk's head.
static size_t chunk_at(const unsigned char *data, size_t size, const char *tag) {
    for (size_t at = 32; at + 16 <= size;) {
        uint64_t n;
        if (!memcmp(data + at, tag, 4)) return at;
        memcpy(&n, data + at + 8, 8);
        at += 16 + (n + 7) / 8 * 8;
    }
    fail_msg("no chunk %s", tag);
    return 0;
}

static void expect_failure(const unsigned char *data, size_t size, FaCode code, const char *text) {
    FaError err = {0};
    FaFace *f = (FaFace *)&err;
    FaCode rc = fai_face_unpack(data, size, &f, &err);
    assert_null(f);
    if (rc != code || !err.what[0] || (text && !strstr(err.what, text)))
        fail_msg("%d (%s), expected %d (%s)", rc, err.what, code, text ? text : "");
}

static void round_trip(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = NULL;
    const char *path = test_path("small.face");
    CHECK_OK(fai_file_write(path, packed, packed_size, &err), &err);
    CHECK_OK(fa_face_load(path, &f, &err), &err);
    CHECK_OK(fa_face_fits(f, rig, &err), &err);
    unsigned char *again;
    size_t size;
    CHECK_OK(fai_face_pack(f, &again, &size, &err), &err);
    assert_int_equal(size, packed_size);
    assert_memory_equal(again, packed, size);
    // and field by field, in case packing forgets one
    assert_memory_equal(f->x0, face->x0, 12 * (size_t)f->nnode);
    assert_memory_equal(f->tet, face->tet, 16 * (size_t)f->ntet);
    assert_memory_equal(f->mass, face->mass, 4 * (size_t)f->nnode);
    assert_memory_equal(f->to_skull, face->to_skull, 4 * (size_t)f->nskin);
    assert_memory_equal(f->thickness_asked, face->thickness_asked, 4 * (size_t)f->nskin);
    assert_int_equal(f->stiff_edges, 7);
    assert_memory_equal(f->stiff_anchor, face->stiff_anchor, 4 * (size_t)f->nskin);
    assert_memory_equal(f->stiff_bend, face->stiff_bend, 4 * (size_t)f->nskin);
    assert_memory_equal(f->stiff_edge, face->stiff_edge, 4 * 7);
    assert_string_equal(fa_face_rig_path(f), face->rig_path);
    assert_memory_equal(f->rim, face->rim, (size_t)f->nskin);
    assert_memory_equal(f->ride_node, face->ride_node, 12 * (size_t)f->nvert);
    for (int r = 0; r < FA_REGIONS; r++) assert_memory_equal(f->region[r], face->region[r], 4 * (size_t)f->nskin);
    assert_true(f->jaw.found && f->jaw.open_angle == face->jaw.open_angle && f->jaw.hinge[2] == 0.03 &&
                f->jaw.shape[0] == 0 && f->jaw.shape[1] == -1);
    assert_true(f->jaw.nmore == 2 && f->jaw.more[1].shape == 0 && f->jaw.more[1].open == 0.25 &&
                f->jaw.more[1].turn[1] == 0.1 && f->jaw.more[1].slide[2] == -0.002);
    assert_int_equal(f->nbone, 2);
    assert_string_equal(f->bone[1].name, "bone 1");
    assert_true(f->bone[1].with_jaw && !f->bone[0].with_jaw && f->bone[1].kind == FA_BONE_JAW);
    assert_int_equal(f->notes.count, face->notes.count);
    const FaNote *n = fai_note_find(&f->notes, "a-note");
    assert_non_null(n);
    assert_string_equal(n->text, "text with \xc3\xa4 quotes \"\"");
    assert_string_equal(n->remedy, "do this");
    fa_free(again);
    fa_face_free(f);
}

static void any_cut_is_noticed(void **state) {
    (void)state;
    const size_t fine = chunk_at(packed, packed_size, "stif"), end = chunk_at(packed, packed_size, "rigp");
    for (size_t n = 0; n < packed_size; n += n < 600 || n > FA_MAX(fine + 400, end) - 400 ? 1 : 997) {
        expect_failure(packed, n, FA_E_FORMAT, NULL);
        if (n < 40) continue;
        unsigned char *c = copy_of(0);
        seal(c, n); // also with a header that agrees
        FaError err = {0};
        FaFace *f;
        // whole without the last chunks, and without the zeros that fill up the one before
        bool whole = (n <= fine && n + 8 > fine) || (n <= end && n + 8 > end) || n + 8 > packed_size;
        if (fai_face_unpack(c, n, &f, &err) >= 0 && !whole) fail_msg("cut off at %zu of %zu", n, packed_size);
        fa_face_free(f);
        free(c);
    }
}

static void any_flip_is_noticed(void **state) {
    (void)state;
    for (size_t at = 0; at < packed_size; at += at < 200 ? 1 : 331) {
        if (at >= 12 && at < 16) continue; // not used
        unsigned char *c = copy_of(0);
        c[at] ^= (unsigned char)(1 << at % 8);
        FaError err = {0};
        FaFace *f;
        assert_true(fai_face_unpack(c, packed_size, &f, &err) < 0);
        assert_true(err.what[0]);
        test_attack("bytes changed in a file that we read back", 1);
        free(c);
    }
}

static void newer_versions(void **state) {
    (void)state;
    unsigned char *c = copy_of(0);
    c[8] = FA_FACE_VERSION + 1;
    seal(c, packed_size);
    expect_failure(c, packed_size, FA_E_UNSUPPORTED, "newer fascia");
    c[8] = 0;
    seal(c, packed_size);
    expect_failure(c, packed_size, FA_E_FORMAT, "version");
    free(c);
    // a chunk that may be passed over, and one that may not
    c = copy_of(24);
    memcpy(c + packed_size, "xtra", 4);
    c[packed_size + 8] = 5;
    seal(c, packed_size + 24);
    FaError err = {0};
    FaFace *f = NULL;
    CHECK_OK(fai_face_unpack(c, packed_size + 24, &f, &err), &err);
    fa_face_free(f);
    c[packed_size] = 'X';
    seal(c, packed_size + 24);
    expect_failure(c, packed_size + 24, FA_E_UNSUPPORTED, "does not know");
    free(c);
    expect_failure((const unsigned char *)"glTF\2\0\0\0 and more bytes than a header has", 44, FA_E_FORMAT,
                   "no .face file");
    c = copy_of(0);
    memmove(c + 5, c + 6, packed_size - 6); // \r\n became \n
    expect_failure(c, packed_size - 1, FA_E_FORMAT, "as text");
    free(c);
}

// Counts that do not fit the bytes, indices and numbers that are no such: each with a checksum that is right.
static void hostile_values(void **state) {
    (void)state;
    const struct {
        const char *tag;
        size_t at;
        uint32_t value;
    } bad[] = {{"HEAD", 8, 0x7fffffff},  {"HEAD", 12, 0x7fffffff},
               {"HEAD", 12, 0},          {"HEAD", 16, 0},
               {"HEAD", 16, 0xffffffff}, {"HEAD", 20, 0x01ffffff},
               {"HEAD", 24, 3},          {"HEAD", 28, 0x01ffffff},
               {"HEAD", 28, 1},          {"SKIN", 0, 0xffffffff},
               {"SKIN", 0, 7},           {"NODE", 0, 0x7fffffff},
               {"TRIS", 0, 0xfffffff0},  {"TETS", 8, 0x00ffffff},
               {"REST", 0, 0x7fc00000},  {"REST", 4, 0x7f800000},
               {"MASS", 0, 0},           {"MASS", 0, 0xbf800000},
               {"THIC", 0, 0x7fc00000},  {"SKUL", 0, 0x40000000},
               {"TJAW", 4, 0xbf800000},  {"RIDN", 0, 5},
               {"RIDW", 0, 0x7fc00000},  {"RIM ", 0, 0x09090909},
               {"JAW ", 24, 0xffffffff}, {"JAW ", 4, 0x80000000},
               {"BONE", 76, 0x01ffffff}, {"BONE", 80, 0x01ffffff},
               {"REGN", 32, 0x7fc00000}, {"stif", 4, 0x01ffffff},
               {"stif", 4, 8},           {"stif", 8, 0x7fc00000},
               {"stif", 8, 0},           {"stif", 12, 0x7f800000},
               {"rigp", 0, 0x7fffffff},  {"rigp", 0, 0},
               {"rigp", 4, 0x0a0a0a0a},  {"rigp", 4, 0}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        unsigned char *c = copy_of(0);
        size_t at = chunk_at(c, packed_size, bad[i].tag) + 16 + bad[i].at;
        if (!strcmp(bad[i].tag, "JAW ") && bad[i].at == 24) memset(c + at, 0xff, 8);
        memcpy(c + at, &bad[i].value, 4);
        seal(c, packed_size);
        FaError err = {0};
        FaFace *f = NULL;
        FaCode rc = fai_face_unpack(c, packed_size, &f, &err);
        if (rc >= 0) fail_msg("case %d: %s + %zu was accepted", i, bad[i].tag, bad[i].at);
        assert_null(f);
        free(c);
    }
    // a turned tet
    unsigned char *c = copy_of(0);
    size_t at = chunk_at(c, packed_size, "TETS") + 16;
    unsigned char swap[4];
    memcpy(swap, c + at, 4);
    memcpy(c + at, c + at + 4, 4);
    memcpy(c + at + 4, swap, 4);
    seal(c, packed_size);
    expect_failure(c, packed_size, FA_E_MESH, "volume");
    // a chunk whose size runs past the end
    at = chunk_at(packed, packed_size, "MASS") + 8;
    memcpy(c, packed, packed_size);
    memset(c + at, 0xff, 8);
    seal(c, packed_size);
    expect_failure(c, packed_size, FA_E_FORMAT, "longer than the file");
    free(c);
}

static void fits_its_rig_only(void **state) {
    (void)state;
    FaError err = {0};
    Made m = {0};
    made_creature(&m, 12, 0.1, 4, 0.1, 0.006);
    m.x[7] += 1e-4f;
    FaRig *other = made_rig(&m);
    assert_int_equal(fa_face_fits(face, other, &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "another rig"));
    fa_rig_free(other);
    made_vert(&m, 0, 0, 0, 0, 0, 0);
    other = made_rig(&m);
    err = (FaError){0};
    assert_int_equal(fa_face_fits(face, other, &err), FA_E_ARG);
    assert_non_null(strstr(err.what, "vertices"));
    fa_rig_free(other);
    made_free(&m);
}

static void files(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f;
    assert_int_equal(fa_face_load(test_path("absent.face"), &f, &err), FA_E_FILE);
    assert_non_null(strstr(err.path, "absent.face"));
    // a write that fails leaves the old file
    const char *path = test_path("kept.face");
    err = (FaError){0};
    CHECK_OK(fa_face_save(face, path, &err), &err);
    err = (FaError){0};
    assert_true(fa_face_save(face, test_path("no/such/folder/x.face"), &err) == FA_E_FILE);
    FaBytes bytes;
    err = (FaError){0};
    CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
    assert_true(bytes.size > 0 && bytes.size <= packed_size); // the path of a rig that is not there is left out
    fai_bytes_free(&bytes);
}

// Beside its rig a face remembers the bare name, so that both can move; elsewhere the whole path. Old files have
// neither.
static void where_the_rig_is(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f;
    const char *was = face->rig_path;
    char rig_file[512], here[512], moved[512], folder[512];
    snprintf(rig_file, sizeof rig_file, "%s", test_path("made.glb"));
    snprintf(here, sizeof here, "%s", test_path("beside.face"));
    snprintf(folder, sizeof folder, "%s", test_path("other"));
    mkdir(folder, 0777);
    snprintf(moved, sizeof moved, "%s/moved.face", folder);
    face->rig_path = rig_file;
    CHECK_OK(fa_face_save(face, here, &err), &err);
    CHECK_OK(fa_face_load(here, &f, &err), &err);
    assert_string_equal(fa_face_rig_path(f), rig_file);
    fa_face_free(f);
    assert_int_equal(rename(here, moved), 0);
    CHECK_OK(fa_face_load(moved, &f, &err), &err);
    snprintf(here, sizeof here, "%s/made.glb", folder);
    assert_string_equal(fa_face_rig_path(f), here);
    fa_face_free(f);
    CHECK_OK(fa_face_save(face, moved, &err), &err); // another folder: the whole path
    CHECK_OK(fa_face_load(moved, &f, &err), &err);
    assert_true(fa_face_rig_path(f)[0] == '/' && strstr(fa_face_rig_path(f), "/made.glb"));
    assert_null(strstr(fa_face_rig_path(f), "/other/"));
    fa_face_free(f);
    // neither chunk: a file of before
    unsigned char *c = copy_of(0);
    size_t at = chunk_at(c, packed_size, "stif");
    seal(c, at);
    CHECK_OK(fai_face_unpack(c, at, &f, &err), &err);
    assert_string_equal(fa_face_rig_path(f), "");
    assert_null(f->stiff_edge);
    fa_face_free(f);
    // stiffness of another version is passed over, with a note
    memcpy(c, packed, packed_size);
    c[at + 16] = 9;
    seal(c, packed_size);
    CHECK_OK(fai_face_unpack(c, packed_size, &f, &err), &err);
    assert_null(f->stiff_edge);
    assert_non_null(fai_note_find(&f->notes, "stiffness-version"));
    fa_face_free(f);
    free(c);
    face->rig_path = was;
}

static void no_memory(void **state) {
    (void)state;
    bool done = false;
    long before = test_alloc_balance();
    for (long n = 1; !done && n < 10000; n++) {
        FaError err = {0};
        FaFace *f = NULL;
        unsigned char *data = NULL;
        size_t size;
        test_fail_alloc(n);
        FaCode rc = fai_face_unpack(packed, packed_size, &f, &err);
        if (rc >= 0) rc = fai_face_pack(f, &data, &size, &err);
        done = !test_alloc_failed();
        test_fail_alloc(0);
        assert_true(rc == FA_OK || rc == FA_E_MEMORY);
        fa_free(data);
        fa_face_free(f);
        assert_int_equal(test_alloc_balance(), before);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),     cmocka_unit_test(any_cut_is_noticed), cmocka_unit_test(any_flip_is_noticed),
        cmocka_unit_test(newer_versions), cmocka_unit_test(hostile_values),     cmocka_unit_test(fits_its_rig_only),
        cmocka_unit_test(files),          cmocka_unit_test(no_memory),          cmocka_unit_test(where_the_rig_is),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

// Every row of the table of the face's arrays is allocated, saved, loaded, held to its range, packed by leaving out and
// part of the fingerprint. Nothing here names an array but where it says why: a new row is covered by itself.
#include "test_face_made.h"

#include "base/file.h"
#include "face/columns.h"
#include "face/face.h"
#include "face/face_file.h"
#include "face/leave_out.h"
#include "mesh/mesh.h"

enum { SIDE = 8, LAYERS = 2 }; // squares of the sheet

// A number that a row may have, other ones for other entries and rows.
static float number_for(const FaFaceArray *a, size_t i) {
    const double least = (double)a->values.least, most = fmin((double)a->values.most, least + 1e3);
    const size_t salt = (size_t)(a - fai_face_array);
    return (float)(least + (most - least) * (0.1 + 0.8 * (double)((i * 37 + salt * 11) % 997) / 997));
}

static void fill_row(FaFace *f, const FaFaceArray *a) {
    void *data = fai_face_array_get(f, a);
    for (size_t i = 0, n = fai_face_numbers(f, a); i < n; i++) {
        if (a->values.of < FA_PERS)
            ((int *)data)[i] = (int)(i % (size_t)fai_face_count(f, a->values.of));
        else if (a->type == FA_ARRAY_FLOAT)
            ((float *)data)[i] = number_for(a, i);
        else if (a->type == FA_ARRAY_INT)
            ((int *)data)[i] = (int)number_for(a, i);
        else
            ((unsigned char *)data)[i] = (unsigned char)(i % 2);
    }
}

static void fill_columns(FaFace *f, const FaFaceColumns *c) {
    FaError err = {0};
    FaColumnsMaker maker = {.width = c->width};
    const int n = fai_face_count(f, c->per);
    float *dense = calloc((size_t)n * (size_t)c->width, sizeof *dense);
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < n * c->width; i++)
            dense[i] = i / c->width % 3 == s ? c->most * (float)(i % 101) / 200 : 0; // some of the entries
        CHECK_OK(fai_columns_push(&maker, n, dense, 0, &err), &err);
    }
    CHECK_OK(fai_columns_finish(&maker, f->arena, fai_face_columns_get(f, c), &err), &err);
    free(dense);
}

// A sheet's face with all that a face may have.
static FaFace *full_face(void) {
    FaError err = {0};
    Made m = {0};
    FaFace *f;
    FaTopology topo;
    made_sheet(&m, SIDE, 4e-3);
    FaRig *rig = made_rig(&m);
    made_free(&m);
    const FaFaceOptions o = {.layers = LAYERS, .thickness = 6e-3, .whole = true, .no_bones = true};
    CHECK_OK(fa_face_build(rig, &o, &f, &err), &err);
    CHECK_OK(fai_topology_build(&(FaMesh){.nvert = f->nskin, .ntri = f->ntri, .tri = f->tri, .x = f->x0}, &topo, &err),
             &err);
    f->stiff_edges = topo.nedge;
    fai_topology_free(&topo);
    assert_int_equal(fa_face_stages(f), FA_NEED_FACE);
    for (unsigned stage = FA_NEED_FACE << 1; stage <= FA_STAGES; stage <<= 1)
        CHECK_OK(fai_face_allocate(f, stage, &err), &err);
    for (int i = 0; i < FA_FACE_NARRAY; i++)
        if (fai_face_array[i].stage != FA_NEED_FACE) fill_row(f, &fai_face_array[i]);
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++) fill_columns(f, &fai_face_columns[i]);
    for (int v = 0; v < f->nvert; v += 5) f->rim[f->node_of_vertex[v]] = 1; // else it is all 0 or all 1
    CHECK_OK(fai_face_check(f, &err), &err);
    assert_int_equal(fa_face_stages(f), FA_NEEDS);
    fa_rig_free(rig);
    return f;
}

static void expect_same(const FaFace *a, const FaFace *b) {
    for (int i = 0; i < FA_FACE_NARRAY; i++) {
        const FaFaceArray *row = &fai_face_array[i];
        const size_t n = fai_face_numbers(a, row);
        if (fai_face_numbers(b, row) != n || !fai_face_array_get(b, row) ||
            memcmp(fai_face_array_get(a, row), fai_face_array_get(b, row), n * row->size) != 0)
            fail_msg("%s: '%s' is not what it was", row->tag, row->what);
    }
    for (int i = 0; i < FA_FACE_NCOLUMNS; i++) {
        const FaColumns *c = fai_face_columns_get(a, &fai_face_columns[i]),
                        *d = fai_face_columns_get(b, &fai_face_columns[i]);
        assert_true(c->nshape == d->nshape && c->width == d->width && c->first[c->nshape] == d->first[c->nshape]);
        const size_t n = (size_t)c->first[c->nshape];
        assert_memory_equal(c->first, d->first, ((size_t)c->nshape + 1) * sizeof(int));
        assert_memory_equal(c->item, d->item, n * sizeof(int));
        assert_memory_equal(c->value, d->value, n * (size_t)c->width * sizeof(float));
    }
}

static void saved_and_loaded(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = full_face(), *back;
    unsigned char *data, *again;
    size_t size, same;
    CHECK_OK(fai_face_pack(f, &data, &size, &err), &err);
    CHECK_OK(fai_face_unpack(data, size, &back, &err), &err);
    expect_same(f, back);
    assert_true(fai_face_hash(f) == fai_face_hash(back));
    CHECK_OK(fai_face_pack(back, &again, &same, &err), &err);
    assert_int_equal(size, same);
    assert_memory_equal(data, again, size);
    fa_free(data);
    fa_free(again);
    fa_face_free(back);
    fa_face_free(f);
}

// A file of the first version, kept with the repository.
static void old_file(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f;
    FaBytes bytes;
    unsigned char *data;
    size_t size;
    CHECK_OK(fai_file_read(FASCIA_SOURCE_DIR "/tests/data/fuzz/sheet.face", 0, &bytes, &err), &err);
    CHECK_OK(fai_face_unpack(bytes.data, bytes.size, &f, &err), &err);
    assert_int_equal(fa_face_stages(f), FA_NEED_FACE);
    CHECK_OK(fai_face_pack(f, &data, &size, &err), &err);
    assert_int_equal(size, bytes.size);
    assert_memory_equal(data, bytes.data, size);
    fa_free(data);
    fai_bytes_free(&bytes);
    fa_face_free(f);
}

static void set_number(const FaFaceArray *a, void *data, size_t i, double v) {
    if (a->type == FA_ARRAY_FLOAT)
        ((float *)data)[i] = (float)v;
    else if (a->type == FA_ARRAY_INT)
        ((int *)data)[i] = (int)v;
    else
        ((unsigned char *)data)[i] = (unsigned char)v;
}

// The check refuses it, and so does the reader.
static void expect_refused(const FaFace *f, const FaFaceArray *a, double v) {
    FaError err = {0};
    FaFace *back;
    unsigned char *data;
    size_t size;
    if (fai_face_check(f, &err) >= 0) fail_msg("%s: %g is no '%s'", a->tag, v, a->what);
    assert_true(err.what[0] && err.remedy[0]);
    assert_non_null(strstr(err.place, a->what));
    CHECK_OK(fai_face_pack(f, &data, &size, &err), &err);
    assert_true(fai_face_unpack(data, size, &back, &err) < 0);
    assert_null(back);
    fa_free(data);
}

static void held_to_their_range(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = full_face();
    for (int r = 0; r < FA_FACE_NARRAY; r++) {
        const FaFaceArray *a = &fai_face_array[r];
        const size_t n = fai_face_numbers(f, a);
        char *data = fai_face_array_get(f, a), keep[8];
        const double least = (double)a->values.least, most = (double)a->values.most;
        const bool index = a->values.of < FA_PERS, whole = a->type != FA_ARRAY_FLOAT;
        const double bad[] = {index   ? fai_face_count(f, a->values.of)
                              : whole ? most + 1
                                      : most * 1.001 + 1e-6,
                              whole ? least - 1 : least - fabs(least) * 1e-3 - 1e-20, NAN};
        for (int k = 0; k < 3; k++) {
            if (k == 2 && whole) continue;
            if (k == 1 && a->type == FA_ARRAY_BYTE && least == 0) continue; // a byte has no less
            const size_t at = k == 0 ? n - 1 : k == 1 ? 0 : n / 2;
            memcpy(keep, data + at * a->size, a->size);
            set_number(a, data, at, bad[k]);
            expect_refused(f, a, bad[k]);
            memcpy(data + at * a->size, keep, a->size);
        }
    }
    for (int c = 0; c < FA_FACE_NCOLUMNS; c++) {
        FaColumns *columns = fai_face_columns_get(f, &fai_face_columns[c]);
        const int entry = columns->first[columns->nshape] - 1, item = columns->item[entry];
        const float value = columns->value[entry];
        columns->item[entry] = fai_face_count(f, fai_face_columns[c].per);
        assert_int_equal(fai_face_check(f, &err), FA_E_FORMAT);
        columns->item[entry] = item;
        columns->value[entry] = fai_face_columns[c].most * 1.01f;
        assert_int_equal(fai_face_check(f, &err), FA_E_FORMAT);
        columns->value[entry] = value;
    }
    CHECK_OK(fai_face_check(f, &err), &err);
    fa_face_free(f);
}

// Every face has the arrays of its first stage; of a later one all or none.
static void whole_or_not_at_all(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = full_face();
    for (int r = 0; r < FA_FACE_NARRAY; r++) {
        const FaFaceArray *a = &fai_face_array[r];
        void *data = fai_face_array_get(f, a);
        int others = 0;
        for (int i = 0; i < FA_FACE_NARRAY; i++) others += i != r && fai_face_array[i].stage == a->stage;
        for (int i = 0; i < FA_FACE_NCOLUMNS; i++) others += fai_face_columns[i].stage == a->stage;
        fai_face_array_set(f, a, NULL);
        err = (FaError){0};
        assert_int_equal(fai_face_check(f, &err) >= 0, others == 0);
        if (others) assert_string_equal(err.place, a->what);
        assert_false(fa_face_stages(f) & a->stage);
        fai_face_array_set(f, a, data);
    }
    assert_int_equal(fa_face_stages(f), FA_NEEDS);
    fa_face_free(f);
}

// A chunk that ends too early or too late, with a checksum that is right.
static void cut_chunks(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *f = full_face(), *back;
    unsigned char *data;
    size_t size;
    int seen = 0;
    CHECK_OK(fai_face_pack(f, &data, &size, &err), &err);
    for (size_t at = 32; at + 16 <= size;) {
        uint64_t n, sum;
        memcpy(&n, data + at + 8, 8);
        bool table = false;
        for (int r = 0; r < FA_FACE_NARRAY; r++) table |= !memcmp(data + at, fai_face_array[r].tag, 4);
        for (int c = 0; c < FA_FACE_NCOLUMNS; c++) table |= !memcmp(data + at, fai_face_columns[c].tag, 4);
        for (int k = -1; table && k <= 1; k += 2) {
            const uint64_t wrong = n + (uint64_t)(8 * k);
            memcpy(data + at + 8, &wrong, 8);
            sum = fai_hash64(data + 32, size - 32, FA_FACE_VERSION);
            memcpy(data + 24, &sum, 8);
            assert_int_equal(fai_face_unpack(data, size, &back, &err), FA_E_FORMAT);
            memcpy(data + at + 8, &n, 8);
            seen++;
        }
        at += 16 + (n + 7) / 8 * 8;
    }
    assert_true(seen >= 2 * FA_FACE_NCOLUMNS + 2 * FA_REGIONS);
    fa_free(data);
    fa_face_free(f);
}

static void part_of_the_fingerprint(void **state) {
    (void)state;
    FaFace *f = full_face();
    const uint64_t hash = fai_face_hash(f);
    for (int r = 0; r < FA_FACE_NARRAY; r++) {
        const FaFaceArray *a = &fai_face_array[r];
        unsigned char *data = fai_face_array_get(f, a);
        const size_t n = fai_face_numbers(f, a) * a->size, at[] = {0, n / 2, n - 1};
        for (int k = 0; k < FA_COUNT(at); k++) {
            data[at[k]] ^= 1;
            if (fai_face_hash(f) == hash) fail_msg("%s, byte %zu: not in the fingerprint", a->tag, at[k]);
            data[at[k]] ^= 1;
        }
        fai_face_array_set(f, a, NULL);
        assert_true(fai_face_hash(f) != hash);
        fai_face_array_set(f, a, data);
    }
    for (int c = 0; c < FA_FACE_NCOLUMNS; c++) {
        FaColumns *columns = fai_face_columns_get(f, &fai_face_columns[c]);
        columns->value[0] += 1;
        assert_true(fai_face_hash(f) != hash);
        columns->value[0] -= 1;
    }
    f->jaw.turn[3][2] += 1;
    assert_true(fai_face_hash(f) != hash);
    f->jaw.turn[3][2] -= 1;
    // what a simulation does not see
    f->rig_path = "elsewhere.glb";
    fai_note(&f->notes, "a-note", "", "", "text");
    assert_true(fai_face_hash(f) == hash);
    fa_face_free(f);
}

// --- leaving out ----------------------------------------------------------------------------------------------------

// New numbers of the skin's edges, by their ends.
static void number_edges(const FaFace *was, const FaFace *f, const int *node, int *to) {
    FaError err = {0};
    FaTopology old, new;
    CHECK_OK(fai_topology_build(&(FaMesh){.nvert = was->nskin, .ntri = was->ntri, .tri = was->tri, .x = was->x0}, &old,
                                &err),
             &err);
    CHECK_OK(fai_topology_build(&(FaMesh){.nvert = f->nskin, .ntri = f->ntri, .tri = f->tri, .x = f->x0}, &new, &err),
             &err);
    for (int e = 0; e < old.nedge; e++) {
        to[e] = -1;
        for (int k = 0; k < new.nedge &&to[e] < 0; k++)
            if (new.edge[k][0] == node[old.edge[e][0]] && new.edge[k][1] == node[old.edge[e][1]]) to[e] = k;
    }
    assert_int_equal(f->stiff_edges, new.nedge);
    fai_topology_free(&old);
    fai_topology_free(&new);
}

static void expect_packed(const FaFace *was, const FaFace *f, const FaFaceArray *a, const int *const to[FA_PERS]) {
    const int *entry = to[a->per], *index = a->values.of < FA_PERS ? to[a->values.of] : NULL;
    const char *before = fai_face_array_get(was, a), *after = fai_face_array_get(f, a);
    const int width = a->width;
    int kept = 0;
    for (int i = 0; i < fai_face_count(was, a->per); i++) {
        const int at = entry ? entry[i] : i;
        if (at < 0) continue;
        kept++;
        for (int k = 0; k < width; k++) {
            const size_t from = (size_t)(i * width + k), there = (size_t)(at * width + k);
            const int *old = (const int *)before + from, *now = (const int *)after + there;
            const bool same = index ? *now == (*old < 0 ? -1 : index[*old])
                                    : !memcmp(before + from * a->size, after + there * a->size, a->size);
            if (!same) fail_msg("%s %d: '%s' did not move along", a->tag, i, a->what);
        }
    }
    assert_int_equal(kept, fai_face_count(f, a->per));
}

static void packed_by_leaving_out(void **state) {
    (void)state;
    FaError err = {0};
    FaFace *was = full_face(), *f = full_face();
    unsigned char out[2 * SIDE * SIDE] = {0};
    int count, *node = malloc((size_t)f->nnode * sizeof *node), tri_to[2 * SIDE * SIDE],
               tet_to[2 * SIDE * SIDE * 3 * LAYERS], *edge_to = malloc((size_t)f->stiff_edges * sizeof *edge_to);
    for (int k = 0; k < 4; k++) // a cut across the corner, which goes with it
        for (int half = 0; half < 2; half++) out[2 * ((3 - k) * SIDE + k) + half] = 1;
    CHECK_OK(fai_leave_out_more(f, out, &count, &err), &err);
    CHECK_OK(fai_leave_out(f, out, node, &err), &err);
    CHECK_OK(fai_face_check(f, &err), &err);
    assert_true(f->nskin < was->nskin && f->ntri < was->ntri);
    for (int t = 0, n = 0; t < was->ntri; t++) tri_to[t] = out[t] ? -1 : n++;
    for (int t = 0; t < was->ntet; t++) {
        const int tri = tri_to[t / (3 * LAYERS)];
        tet_to[t] = tri < 0 ? -1 : 3 * LAYERS * tri + t % (3 * LAYERS);
    }
    number_edges(was, f, node, edge_to);
    const int *const to[FA_PERS] = {[FA_PER_SKIN] = node,
                                    [FA_PER_NODE] = node,
                                    [FA_PER_TRI] = tri_to,
                                    [FA_PER_TET] = tet_to,
                                    [FA_PER_EDGE] = edge_to};
    for (int r = 0; r < FA_FACE_NARRAY; r++) // masses are weighed again: test_face_leave_out.c
        if (fai_face_array_get(f, &fai_face_array[r]) != (void *)f->mass) expect_packed(was, f, &fai_face_array[r], to);
    for (int c = 0; c < FA_FACE_NCOLUMNS; c++) {
        const FaFaceColumns *row = &fai_face_columns[c];
        const FaColumns *old = fai_face_columns_get(was, row), *now = fai_face_columns_get(f, row);
        const int n = fai_face_count(was, row->per), width = row->width;
        float *a = malloc((size_t)(n * width) * sizeof *a), *b = malloc((size_t)(n * width) * sizeof *b);
        for (int s = 0; s < old->nshape; s++) {
            fai_columns_dense(old, s, n, a);
            fai_columns_dense(now, s, fai_face_count(f, row->per), b);
            for (int i = 0; i < n; i++)
                if (to[row->per][i] >= 0)
                    assert_memory_equal(a + width * i, b + width * to[row->per][i], (size_t)width * sizeof *a);
        }
        free(a);
        free(b);
    }
    free(node);
    free(edge_to);
    fa_face_free(f);
    fa_face_free(was);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saved_and_loaded),     cmocka_unit_test(old_file),   cmocka_unit_test(held_to_their_range),
        cmocka_unit_test(whole_or_not_at_all),  cmocka_unit_test(cut_chunks), cmocka_unit_test(part_of_the_fingerprint),
        cmocka_unit_test(packed_by_leaving_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

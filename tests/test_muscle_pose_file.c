// Files of directed poses: what is written reads back to the same bits, faces are named so that folders can move, and
// what is wrong is told with its place.
// labels: unit
#include "test.h"

#include "muscle/directed.h"

#include <math.h>
#include <sys/stat.h>

static const char GOOD[] =
    "{\"format\":\"fascia pose\",\"version\":1,\"face\":\"faces/head.face\",\"vertices\":2,\"levels\":2,\"muscles\":["
    "{\"name\":\"a.L\",\"activation\":0.25,\"sprung\":true,\"points\":8},{\"name\":\"b\",\"points\":12}]}";

static FaDirected *example(void) {
    FaDirected *d = NULL;
    FaError err = {0};
    CHECK_OK(fai_directed_parse(GOOD, strlen(GOOD), NULL, &d, &err), &err);
    for (size_t i = 0; i < 3 * (size_t)d->npoint * (size_t)d->nlevel; i++)
        d->track[i] = 0.1 * (fai_random_unit(3, i) - 0.5);
    for (size_t i = 0; i < 3 * (size_t)d->nvert; i++) d->snap[i] = (float)(1e-3 * fai_random_unit(4, i));
    d->snap_weight[1] = 1.f / 3;
    d->jaw = (FaPose){{sin(0.1), 0, 0, cos(0.1)}, {0, 1e-3 / 3, -2e-3 / 7}};
    d->cranium.p[2] = 1. / 3;
    d->spring = 1e10 / 3, d->mesh = 0x123456789abcdef0u;
    return d;
}

static void same_bits(void **state) {
    (void)state;
    FaError err = {0};
    FaDirected *a = example(), *b = NULL;
    CHECK_OK(fa_directed_save(a, NULL, test_path("a.pose"), &err), &err);
    CHECK_OK(fa_directed_load(test_path("a.pose"), &b, &err), &err);
    assert_true(a->nmuscle == b->nmuscle && a->npoint == b->npoint && a->nlevel == b->nlevel && a->nvert == b->nvert);
    assert_memory_equal(a->track, b->track, 3 * (size_t)a->npoint * (size_t)a->nlevel * sizeof *a->track);
    assert_memory_equal(a->snap, b->snap, 3 * (size_t)a->nvert * sizeof *a->snap);
    assert_memory_equal(a->snap_weight, b->snap_weight, (size_t)a->nvert * sizeof *a->snap_weight);
    assert_memory_equal(a->activation, b->activation, (size_t)a->nmuscle * sizeof *a->activation);
    assert_memory_equal(a->start, b->start, ((size_t)a->nmuscle + 1) * sizeof *a->start);
    assert_true(!memcmp(&a->jaw, &b->jaw, sizeof a->jaw) && !memcmp(&a->cranium, &b->cranium, sizeof a->cranium));
    assert_true(a->spring == b->spring && a->mesh == b->mesh);
    for (int i = 0; i < a->nmuscle; i++) {
        assert_string_equal(a->name[i], b->name[i]);
        assert_int_equal(a->sprung[i], b->sprung[i]);
    }
    fa_directed_free(a);
    fa_directed_free(b);
}

// The face is named from the folder of the pose.
static void face_beside(void **state) {
    (void)state;
    FaError err = {0};
    FaDirected *a = example(), *b = NULL;
    char face[512], pose[512];
    mkdir(test_path("faces"), 0755), mkdir(test_path("poses"), 0755);
    snprintf(face, sizeof face, "%s", test_path("faces/head.face"));
    FILE *f = fopen(face, "wb");
    assert_non_null(f);
    fclose(f);
    snprintf(pose, sizeof pose, "%s", test_path("poses/a.pose"));
    CHECK_OK(fa_directed_save(a, face, pose, &err), &err);
    CHECK_OK(fa_directed_load(pose, &b, &err), &err);
    const char *end = "poses/../faces/head.face";
    assert_true(strlen(fa_directed_face(b)) > strlen(end));
    assert_string_equal(fa_directed_face(b) + strlen(fa_directed_face(b)) - strlen(end), end);
    fa_directed_free(b);
    CHECK_OK(fa_directed_save(a, face, test_path("faces/a.pose"), &err), &err);
    CHECK_OK(fa_directed_load(test_path("faces/a.pose"), &b, &err), &err);
    assert_string_equal(strrchr(fa_directed_face(b), '/'), "/head.face");
    assert_null(strstr(fa_directed_face(b), ".."));
    fa_directed_free(a);
    fa_directed_free(b);
}

// One bit of any digit changed: noticed, or the values are those that were written.
static void changed_bytes(void **state) {
    (void)state;
    FaError err = {0};
    FaDirected *a = example(), *b;
    FaText text = {0}, again = {0};
    long noticed = 0;
    CHECK_OK(fai_directed_write(a, "faces/head.face", &text, &err), &err);
    for (size_t i = 0; i < text.size; i++)
        for (int bit = 0; bit < 8; bit += 3) {
            text.data[i] ^= (char)(1 << bit);
            if (fai_directed_parse(text.data, text.size, NULL, &b, &err) < 0) {
                noticed++;
            } else {
                again.size = 0;
                CHECK_OK(fai_directed_write(b, fa_directed_face(b), &again, &err), &err);
                text.data[i] ^= (char)(1 << bit); // as it was
                assert_int_equal(again.size, text.size);
                assert_memory_equal(again.data, text.data, text.size);
                text.data[i] ^= (char)(1 << bit);
                fa_directed_free(b);
            }
            text.data[i] ^= (char)(1 << bit);
        }
    test_attack("bytes changed in a file that we read back", (long)(3 * text.size));
    print_message("%ld of %zu changes noticed, the others are of no value\n", noticed, 3 * text.size);
    assert_true(noticed > (long)(2 * text.size));
    // by hand: without the sum
    char *sum = strstr(text.data, "\"sum\"");
    assert_non_null(sum);
    memcpy(sum, "\"hum\"", 5);
    *strstr(text.data, "0.25") = '1';
    assert_int_equal(fai_directed_parse(text.data, text.size, NULL, &b, &err), FA_E_FORMAT); // 1.25 is out of range
    *strstr(text.data, "1.25") = '0', *(strstr(text.data, "0.25") + 2) = '7';
    CHECK_OK(fai_directed_parse(text.data, text.size, NULL, &b, &err), &err);
    assert_true(b->activation[0] == 0.75);
    fa_directed_free(b);
    memcpy(sum, "\"sum\"", 5);
    err = (FaError){0};
    assert_int_equal(fai_directed_parse(text.data, text.size, NULL, &b, &err), FA_E_FORMAT);
    assert_true(strstr(err.what, "check sum") && strstr(err.remedy, "by hand"));
    fa_directed_free(a);
    fai_text_free(&text);
    fai_text_free(&again);
}

static void refuses(const char *from, const char *to, const char *place, const char *what) {
    char text[2000];
    const char *at = strstr(GOOD, from);
    FaDirected *d;
    FaError err = {0};
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - GOOD), GOOD, to, at + strlen(from));
    assert_int_equal(fai_directed_parse(text, strlen(text), NULL, &d, &err), FA_E_FORMAT);
    assert_null(d);
    if (!strstr(err.place, place) || !strstr(err.what, what) || !err.remedy[0])
        fail_msg("%s: %s (%s)", err.place, err.what, err.remedy);
}

static void wrong_files(void **state) {
    (void)state;
    refuses("fascia pose", "glTF", "/format", "no pose of muscles");
    refuses("\"version\":1", "\"version\":9", "/version", "reads up to 1");
    refuses("\"levels\":2", "\"levels\":200", "/levels", "");
    refuses("\"vertices\":2", "\"vertices\":1e9", "/vertices", "");
    refuses("\"points\":12", "\"points\":99999999", "/muscles/1", "");
    refuses("\"points\":12", "\"points\":12,\"track\":[[0],[0]]", "/muscles/1/track/0", "a list of 36");
    refuses("0.25", "1.5", "/muscles/0", "activation");
    refuses("true", "7", "/muscles/0/sprung", "sprung is 7");
    refuses("\"a.L\"", "\"\"", "/muscles/0", "name");
    refuses("\"vertices\":2", "\"vertices\":2,\"snap\":[0,0,0,0,0,9]", "/snap/5", "from -1 to 1");
    refuses("\"vertices\":2", "\"vertices\":2,\"jaw\":{\"q\":[0,0,0,0.5],\"p\":[0,0,0]}", "/jaw/q", "length 1");
    refuses("\"vertices\":2", "\"vertices\":2,\"spring\":-1", "/spring", "springs of -1");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits), cmocka_unit_test(face_beside),
                                       cmocka_unit_test(changed_bytes), cmocka_unit_test(wrong_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

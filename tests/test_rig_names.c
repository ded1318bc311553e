// Matching of blendshape names, the three channel orders, names.json.
#include "test.h"

#include "base/base.h"
#include "rig/names.h"

#include <locale.h>

static void expect(const char *name, const char *arkit, int half) {
    int got_half = 7, got = fa_arkit_match(name, &got_half);
    const char *got_name = got >= 0 ? fa_arkit_name(got) : "none";
    if (strcmp(got_name, arkit ? arkit : "none") || got_half != half)
        fail_msg("'%s' -> %s half %d, expected %s half %d", name, got_name, got_half, arkit ? arkit : "none", half);
}

static void arkit_order_is_that_of_the_udp_packets(void **state) {
    (void)state;
    assert_string_equal(fa_arkit_name(0), "eyeBlinkLeft");
    assert_string_equal(fa_arkit_name(7), "eyeBlinkRight");
    assert_string_equal(fa_arkit_name(14), "jawForward");
    assert_string_equal(fa_arkit_name(15), "jawLeft");
    assert_string_equal(fa_arkit_name(16), "jawRight");
    assert_string_equal(fa_arkit_name(17), "jawOpen");
    assert_string_equal(fa_arkit_name(43), "browInnerUp");
    assert_string_equal(fa_arkit_name(51), "tongueOut");
    assert_null(fa_arkit_name(52));
    assert_null(fa_arkit_name(-1));
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        for (int j = 0; j < i; j++) assert_string_not_equal(fa_arkit_name(i), fa_arkit_name(j));
}

// Every one of the 52 in every spelling that rigs use.
static void all_spellings_of_all_52(void **state) {
    (void)state;
    for (int i = 0; i < FA_ARKIT_COUNT; i++) {
        const char *name = fa_arkit_name(i);
        char s[200];
        expect(name, name, 0);
        snprintf(s, sizeof s, "shapes.%s", name), expect(s, name, 0);
        snprintf(s, sizeof s, "blendShape1.%s", name), expect(s, name, 0);
        snprintf(s, sizeof s, "Face.M_F00_000_00_%s", name), expect(s, name, 0);
        snprintf(s, sizeof s, "CTRL_expressions_%s", name), expect(s, name, 0);
        snprintf(s, sizeof s, "ns:head|geo:%s", name), expect(s, name, 0);
        snprintf(s, sizeof s, "%sShape", name), expect(s, name, 0);
        snprintf(s, sizeof s, "%c%s", name[0] - 'a' + 'A', name + 1), expect(s, name, 0); // Live Link CSV
        size_t n = 0;
        for (const char *c = name; *c; c++) { // eye_blink_left
            if (*c >= 'A' && *c <= 'Z') s[n++] = '_';
            s[n++] = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
        }
        s[n] = 0, expect(s, name, 0);
        for (n = 0; name[n]; n++) s[n] = (char)(name[n] & ~32);
        s[n] = 0, expect(s, name, 0); // EYEBLINKLEFT
        for (n = 0; name[n]; n++) s[n] = (char)(name[n] | 32);
        s[n] = 0, expect(s, name, 0); // eyeblinkleft

        size_t len = strlen(name);
        bool left = len > 4 && !strcmp(name + len - 4, "Left"), right = len > 5 && !strcmp(name + len - 5, "Right");
        if (!left && !right) continue;
        char base[64];
        snprintf(base, sizeof base, "%.*s", (int)(len - (left ? 4 : 5)), name);
        char c = left ? 'L' : 'R';
        snprintf(s, sizeof s, "%s_%c", base, c), expect(s, name, 0);
        snprintf(s, sizeof s, "%s.%c", base, c), expect(s, name, 0);
        snprintf(s, sizeof s, "%s-%c", base, c), expect(s, name, 0);
        snprintf(s, sizeof s, "%s_%c", base, c | 32), expect(s, name, 0);
        snprintf(s, sizeof s, "shapes.%s_%c", base, c), expect(s, name, 0);
        snprintf(s, sizeof s, "%c_%s", c, base), expect(s, name, 0);
        snprintf(s, sizeof s, "%s_%s", left ? "Left" : "Right", base), expect(s, name, 0);
        snprintf(s, sizeof s, "%s_%s", base, left ? "left" : "right"), expect(s, name, 0);
    }
}

static void ict_facekit(void **state) {
    (void)state;
    expect("browInnerUp_L", "browInnerUp", 1);
    expect("browInnerUp_R", "browInnerUp", -1);
    expect("cheekPuff_L", "cheekPuff", 1);
    expect("cheekPuff_R", "cheekPuff", -1);
    expect("cheekSquint_L", "cheekSquintLeft", 0);
    expect("cheekRaiser_L", NULL, 0); // another shape than cheekSquint: ICT has both
    expect("PupilDilate_L", NULL, 0);
    expect("mouthLeft", "mouthLeft", 0);
    expect("jawOpen", "jawOpen", 0);
}

static void vrm(void **state) {
    (void)state;
    int pair[2];
    expect("blink_l", "eyeBlinkLeft", 0);
    expect("Blink_R", "eyeBlinkRight", 0);
    expect("blinkLeft", "eyeBlinkLeft", 0);
    expect("Face.M_F00_000_00_Fcl_EYE_Close_R", "eyeBlinkRight", 0);
    static const char *const none[] = {
        "a",       "i",      "u",        "e",      "o",         "aa",          "ih",       "ou",      "ee",
        "oh",      "joy",    "angry",    "sorrow", "fun",       "happy",       "sad",      "relaxed", "surprised",
        "neutral", "lookUp", "lookleft", "blink",  "Fcl_MTH_A", "Fcl_ALL_Joy", "viseme_PP"};
    for (int i = 0; i < FA_COUNT(none); i++) expect(none[i], NULL, 0);
    assert_true(fai_arkit_pair("blink", pair));
    assert_string_equal(fa_arkit_name(pair[0]), "eyeBlinkLeft");
    assert_string_equal(fa_arkit_name(pair[1]), "eyeBlinkRight");
    assert_true(fai_arkit_pair("mouthSmile", pair));
    assert_false(fai_arkit_pair("jawOpen", pair));
    assert_false(fai_arkit_pair("mouthSmileLeft", pair));
    assert_false(fai_arkit_pair("joy", pair));
}

static void facs(void **state) {
    (void)state;
    expect("AU12L", "mouthSmileLeft", 0);
    expect("AU_12_Left", "mouthSmileLeft", 0);
    expect("au12_r", "mouthSmileRight", 0);
    expect("L_AU12", "mouthSmileLeft", 0);
    expect("AU12_LipCornerPuller_R", "mouthSmileRight", 0);
    expect("lipCornerPuller_L", "mouthSmileLeft", 0);
    expect("AU26 jaw drop", "jawOpen", 0);
    expect("AU01_L", "browInnerUp", 1);
    expect("AU1", "browInnerUp", 0);
    expect("AU06L", "cheekSquintLeft", 0);
    expect("AU6 cheek raiser left", "cheekSquintLeft", 0);
    expect("AU30R", "jawRight", 0);
    expect("AU34", "cheekPuff", 0);
    expect("AU45_L", "eyeBlinkLeft", 0);
    int pair[2];
    assert_true(fai_arkit_pair("AU12 lip corner puller", pair));
    assert_string_equal(fa_arkit_name(pair[1]), "mouthSmileRight");
    // combinations, intensities, units without one counterpart
    static const char *const none[] = {"AU6+12",        "AU6_AU12_L", "AU12C", "AU12_50",     "AU28",
                                       "AU27",          "AU30",       "AU61",  "AU46L",       "AU99L",
                                       "AU12 jaw drop", "AU",         "AUL",   "cheek raiser"};
    for (int i = 0; i < FA_COUNT(none); i++) expect(none[i], NULL, 0);
}

static void makehuman(void **state) {
    (void)state;
    expect("eye-left-closure", "eyeBlinkLeft", 0);
    expect("eyebrows-right-down", "browDownRight", 0);
    expect("eyebrows-left-extern-up", "browOuterUpLeft", 0);
    expect("eyebrows-left-inner-up", "browInnerUp", 1);
    expect("mouth-corner-puller", NULL, 0);
}

// A wrong match moves the wrong part of a face: better none.
static void what_must_not_match(void **state) {
    (void)state;
    static const char *const none[] = {"",
                                       "_",
                                       "L",
                                       "R_",
                                       "left",
                                       "mouth",
                                       "jaw",
                                       "corrective_jawOpen",
                                       "jawOpen_corrective",
                                       "mouthSmileLeft_jawOpen",
                                       "jawOpen_mouthSmileLeft",
                                       "combo_jawOpen_mouthClose",
                                       "inv_jawOpen",
                                       "jawOpen.001",
                                       "jawOpen_50",
                                       "jawOpen2",
                                       "notJawOpen",
                                       "upperMouthSmileLeft",
                                       "mouthFunnelUL",
                                       "jawOpen_L",
                                       "tongueOut_R",
                                       "mouthSmile_L_R",
                                       "smile",
                                       "L_face_jawOpen",
                                       "half_mouthPucker",
                                       "\xff\xfe\xfd",
                                       "eyeBlink",
                                       "browDown"};
    for (int i = 0; i < FA_COUNT(none); i++) expect(none[i], NULL, 0);
    char longest[5000];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    expect(longest, NULL, 0);
    for (size_t i = 1; i < sizeof longest - 1; i += 2) longest[i] = '_';
    expect(longest, NULL, 0);
    assert_int_equal(fa_arkit_match(NULL, NULL), -1);
    // names made to be slow are not
    double begin = fai_seconds();
    for (int i = 0; i < 4000; i++) expect("a_b_c_d_e_f_g_h_i_j_k_m_n_o_p_q", NULL, 0);
    assert_true(fai_seconds() - begin < 2);
}

static void partners(void **state) {
    (void)state;
    for (int i = 0; i < FA_ARKIT_COUNT; i++) {
        int j = fai_arkit_mirror(i);
        assert_int_equal(fai_arkit_mirror(j), i);
        const char *name = fa_arkit_name(i);
        assert_int_equal(j != i, strstr(name, "Left") || strstr(name, "Right"));
    }
    static const char *const pairs[][2] = {{"Foo_L", "Foo_R"},        {"brow.left", "brow.right"},
                                           {"LeftBrow", "RightBrow"}, {"L_x", "R_x"},
                                           {"FOO_LEFT", "FOO_RIGHT"}, {"eye-left-slit", "eye-right-slit"}};
    char out[64];
    for (int i = 0; i < FA_COUNT(pairs); i++)
        for (int k = 0; k < 2; k++) {
            assert_true(fai_name_mirror(pairs[i][k], out, sizeof out));
            assert_string_equal(out, pairs[i][1 - k]);
        }
    assert_false(fai_name_mirror("roller", out, sizeof out));
    assert_false(fai_name_mirror("", out, sizeof out));
    assert_false(fai_name_mirror("Foo_L", out, 5)); // no room
}

static void three_orders(void **state) {
    (void)state;
    int seen[3][FA_ARKIT_COUNT] = {{0}};
    for (int c = 0; c < FA_ARKIT_COUNT; c++) {
        int i[3] = {fai_order_udp(c), fai_order_csv(c), fai_order_mediapipe(c)};
        for (int k = 0; k < 3; k++)
            if (i[k] >= 0) seen[k][i[k]]++;
    }
    for (int a = 0; a < FA_ARKIT_COUNT; a++) {
        assert_int_equal(seen[0][a], 1);
        assert_int_equal(seen[1][a], 1);
        assert_int_equal(seen[2][a], strcmp(fa_arkit_name(a), "tongueOut") != 0);
    }
    assert_string_equal(fa_arkit_name(fai_order_csv(15)), "jawRight"); // the swap
    assert_string_equal(fa_arkit_name(fai_order_csv(16)), "jawLeft");
    assert_string_equal(fa_arkit_name(fai_order_udp(15)), "jawLeft");
    assert_string_equal(fa_arkit_name(fai_order_csv(21)), "mouthRight");
    assert_int_equal(fai_order_mediapipe(0), -1);
    assert_string_equal(fa_arkit_name(fai_order_mediapipe(1)), "browDownLeft");
    assert_string_equal(fa_arkit_name(fai_order_mediapipe(51)), "noseSneerRight");
    for (int c = 2; c < FA_ARKIT_COUNT; c++)
        assert_true(strcmp(fa_arkit_name(fai_order_mediapipe(c - 1)), fa_arkit_name(fai_order_mediapipe(c))) < 0);
    assert_int_equal(fai_order_csv(52), -1);
    assert_int_equal(fai_order_mediapipe(52), -1);
}

// The header of a real take, byte for byte, against our table.
static void csv_order_is_that_of_a_real_take(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "clips/livelink/alex_rom_3.csv");
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char line[4096];
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    int column = -2;
    for (char *cell = strtok(line, ","); cell && column < FA_ARKIT_COUNT; cell = strtok(NULL, ","), column++)
        if (column >= 0) expect(cell, fa_arkit_name(fai_order_csv(column)), 0);
    assert_int_equal(column, FA_ARKIT_COUNT);
}

static void aliases_lead_to_shapes(void **state) {
    (void)state;
    int count;
    const FaNameAlias *a = fai_name_aliases(&count);
    assert_true(count > 90);
    for (int i = 0; i < count; i++) {
        if (!a[i].arkit || strlen(a[i].name) < 3) continue;
        char name[80];
        snprintf(name, sizeof name, "%s_L", a[i].name);
        bool single = strchr(a[i].arkit, '*') == NULL;
        if (fa_arkit_match(single ? a[i].name : name, NULL) < 0) fail_msg("alias '%s' leads nowhere", a[i].name);
        for (int k = 0; k < i; k++) assert_string_not_equal(a[i].name, a[k].name);
    }
}

static FaCode parse(const char *text, FaNamesMap *map, FaError *err) {
    *err = (FaError){0};
    return fai_names_map_parse(text, strlen(text), map, err);
}

static void names_json(void **state) {
    (void)state;
    FaNamesMap map;
    FaError err;
    CHECK_OK(parse("{\"Mund auf\": \"jawOpen\", \"b\": {\"arkit\": \"browInnerUp\", \"half\": \"left\"}, \"c\": null,"
                   " \"d\": {\"arkit\": \"cheekPuff\", \"half\": \"right\"}, \"e\": \"cheekPuff_L\"}",
                   &map, &err),
             &err);
    assert_int_equal(map.count, 5);
    assert_int_equal(fai_names_map_find(&map, "Mund auf")->arkit, 17);
    assert_int_equal(fai_names_map_find(&map, "b")->half, 1);
    assert_int_equal(fai_names_map_find(&map, "c")->arkit, -1);
    assert_int_equal(fai_names_map_find(&map, "d")->half, -1);
    assert_int_equal(fai_names_map_find(&map, "e")->half, 1);
    assert_null(fai_names_map_find(&map, "x"));
    fai_names_map_free(&map);
    CHECK_OK(parse("{}", &map, &err), &err);
    assert_null(fai_names_map_find(&map, "x"));
    fai_names_map_free(&map);

    static const struct {
        const char *text, *place;
    } bad[] = {{"[]", ""},
               {"{\"a\": \"jawOpne\"}", "/a"},
               {"{\"a\": 3}", "/a"},
               {"{\"a\": {\"half\": \"left\"}}", "/a"},
               {"{\"a\": {\"arkit\": \"browInnerUp\", \"half\": \"top\"}}", "/a/half"},
               {"{\"a\": {\"arkit\": \"browInnerUp\", \"halff\": \"left\"}}", "/a/halff"},
               {"{\"a\": {\"arkit\": \"jawLeft\", \"half\": \"left\"}}", "/a/half"},
               {"{\"a\": \"jawOpen\", \"a\": null}", "a"},
               {"{\"a\": \"jawOpen\\u0000x\"}", "/a"},
               {"{\"a\"", NULL},
               {"", NULL}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        assert_int_equal(parse(bad[i].text, &map, &err), FA_E_FORMAT);
        if (bad[i].place) assert_string_equal(err.place, bad[i].place);
        if (bad[i].place && bad[i].place[0]) assert_string_not_equal(err.remedy, "");
    }
    err = (FaError){0};
    assert_int_equal(fai_names_map_load(test_path("absent.json"), &map, &err), FA_E_FILE);
    assert_non_null(strstr(err.path, "absent.json"));
}

static void names_json_without_memory(void **state) {
    (void)state;
    const char *text = "{\"x\": \"jawOpen\", \"b\": {\"arkit\": \"browInnerUp\", \"half\": \"left\"}}";
    for (long n = 1;; n++) {
        FaNamesMap map;
        FaError err;
        test_fail_alloc(n);
        long before = test_alloc_balance();
        FaCode rc = parse(text, &map, &err);
        bool failed = test_alloc_failed();
        test_fail_alloc(0);
        if (rc >= 0) fai_names_map_free(&map);
        assert_int_equal(test_alloc_balance(), before);
        if (!failed) {
            CHECK_OK(rc, &err);
            break;
        }
        assert_int_equal(rc, FA_E_MEMORY);
    }
    fa_allocator_set(NULL);
}

int main(void) {
    setlocale(LC_ALL, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arkit_order_is_that_of_the_udp_packets),
        cmocka_unit_test(all_spellings_of_all_52),
        cmocka_unit_test(ict_facekit),
        cmocka_unit_test(vrm),
        cmocka_unit_test(facs),
        cmocka_unit_test(makehuman),
        cmocka_unit_test(what_must_not_match),
        cmocka_unit_test(partners),
        cmocka_unit_test(three_orders),
        cmocka_unit_test(csv_order_is_that_of_a_real_take),
        cmocka_unit_test(aliases_lead_to_shapes),
        cmocka_unit_test(names_json),
        cmocka_unit_test(names_json_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

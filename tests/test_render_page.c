// The page's file: pairs as given or made, faces of tracks, crossings; what is refused. What a browser makes of it is
// tests/web/check_pairs.mjs.
#include "test.h"

#include "base/base.h"
#include "base/file.h"
#include "base/json.h"
#include "fascia/head.h"
#include "fascia/page.h"

#ifdef FA_HAVE_ZLIB
#include <zlib.h>

enum { FRAMES = 12, TRACKS = 3 };

typedef struct Job {
    FaHead *head, *other_head;
    FaRig *rig, *other;
    FaClip *all, *clip;
    FaSequence *seq[TRACKS]; // two of the rig, one of the other face
    double number[FRAMES];   // largest at frame 7
    FaPageNumbers numbers[1];
    FaPageTrack track[TRACKS];
} Job;

static void job_open(Job *j) {
    FaError err = {0};
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    *j = (Job){0};
    CHECK_OK(fa_head_new(&params, &j->head, &err), &err);
    fa_head_params_seed(&params, 5);
    CHECK_OK(fa_head_new(&params, &j->other_head, &err), &err);
    CHECK_OK(fa_head_rig(j->head, 0, &j->rig, &err), &err);
    CHECK_OK(fa_head_rig(j->other_head, 0, &j->other, &err), &err);
    CHECK_OK(fa_head_clip("plosive", &j->all, &err), &err);
    CHECK_OK(fa_clip_slice(j->all, 8, 8 + FRAMES - 1, &j->clip, &err), &err); // the lips close, then cross
    for (int i = 0; i < TRACKS; i++)
        CHECK_OK(fa_sequence_of_clip(i < 2 ? j->rig : j->other, j->clip, &j->seq[i], &err), &err);
    for (int f = 0; f < FRAMES; f++) j->number[f] = 10 - abs(f - 7);
    j->numbers[0] = (FaPageNumbers){"distance, mm", j->number};
    for (int i = 0; i < TRACKS; i++) j->track[i] = (FaPageTrack){.name = "track", .seq = j->seq[i], .clip = j->clip};
    j->track[1].numbers = j->numbers;
    j->track[1].nnumbers = 1;
    j->track[2].rig = j->other;
}

static void job_close(Job *j) {
    for (int i = 0; i < TRACKS; i++) fa_sequence_close(j->seq[i]);
    fa_clip_free(j->clip);
    fa_clip_free(j->all);
    fa_rig_free(j->other);
    fa_rig_free(j->rig);
    fa_head_free(j->other_head);
    fa_head_free(j->head);
}

// --- reading a page back ------------------------------------------------------------------------------------------

static size_t unbase64(const char *from, const char *to, unsigned char *out) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    uint32_t bits = 0;
    int have = 0;
    for (; from < to && *from != '='; from++) {
        const char *d = strchr(digit, *from);
        assert_non_null(d);
        bits = bits << 6 | (uint32_t)(d - digit), have += 6;
        if (have >= 8) out[n++] = (unsigned char)(bits >> (have -= 8));
    }
    return n;
}

// The header of the page's data, and all of the data behind it (both to be freed).
static FaJsonDoc *read_page(const char *path, unsigned char **block) {
    enum { ROOM = 1 << 26 };
    FaError err = {0};
    FaBytes page;
    CHECK_OK(fai_file_read(path, 0, &page, &err), &err);
    const char *html = (const char *)page.data;
    const char *open = "<script id=\"fascia-data\" type=\"text/plain\">", *from = strstr(html, open);
    assert_non_null(from);
    from += strlen(open);
    unsigned char *zipped = malloc(page.size);
    size_t n = unbase64(from, strstr(from, "</script>"), zipped);
    *block = malloc(ROOM);
    z_stream z = {.next_in = zipped, .avail_in = (unsigned)n, .next_out = *block, .avail_out = ROOM};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    inflateEnd(&z);
    assert_memory_equal(*block, "FASCIAPG", 8);
    uint32_t header;
    memcpy(&header, *block + 8, 4);
    FaJsonDoc *doc;
    CHECK_OK(fai_json_parse((const char *)*block + 12, header, &doc, NULL, &err), &err);
    free(zipped);
    fai_bytes_free(&page);
    return doc;
}

static int64_t whole(const FaJson *object, const char *key) {
    FaError err = {0};
    int64_t value;
    CHECK_OK(fai_json_int(object, key, -1000000000, 1000000000, &value, &err), &err);
    return value;
}

// --- tests --------------------------------------------------------------------------------------------------------

static void pairs_are_made(void **state) {
    (void)state;
    FaError err = {0};
    Job j;
    job_open(&j);
    j.track[0].crossings = j.track[1].crossings = true;
    j.track[0].numbers = j.numbers, j.track[0].nnumbers = 1;
    CHECK_OK(fa_page_save(test_path("made.html"), j.rig, j.track, TRACKS, NULL, &err), &err);
    unsigned char *block;
    FaJsonDoc *doc = read_page(test_path("made.html"), &block);
    const FaJson *pairs = fai_json_get(doc->root, "pairs");
    assert_int_equal(fai_json_count(pairs), TRACKS - 1);
    for (int i = 0; i < TRACKS - 1; i++) {
        assert_int_equal(whole(fai_json_at(pairs, i), "before"), 0);
        assert_int_equal(whole(fai_json_at(pairs, i), "after"), i + 1);
    }
    // jumps of the first: where most triangles of both cross, and the peak of the numbers of `after` alone
    const FaJson *jumps = fai_json_get(fai_json_at(pairs, 0), "jumps");
    assert_int_equal(fai_json_count(jumps), 3);
    assert_int_equal(whole(fai_json_at(jumps, 2), "frame"), 7);
    assert_non_null(strstr(fai_json_get(fai_json_at(jumps, 2), "name")->string, "distance, mm"));
    int most = (int)whole(fai_json_at(jumps, 0), "frame");
    assert_int_equal(most, whole(fai_json_at(jumps, 1), "frame"));
    // the triangles painted in that frame are those that fa_compare counts there, two to a pair
    FaCompare c;
    CHECK_OK(fa_compare(j.seq[0], j.seq[1], &(FaCompareOptions){.intersections = true}, &c, &err), &err);
    assert_true(c.intersections_a > 0 && c.frame_intersections_a[0] == 0);
    assert_int_equal(c.frame_intersections_a[most], c.intersections_a);
    const FaJson *crossing = fai_json_get(fai_json_at(fai_json_get(doc->root, "tracks"), 0), "crossing");
    uint32_t header;
    memcpy(&header, block + 8, 4);
    const unsigned char *sections = block + (12 + header + 7) / 8 * 8;
    const uint32_t *first = (const void *)(sections + whole(fai_json_get(crossing, "first"), "offset"));
    for (int f = 0; f < FRAMES; f++) assert_int_equal(first[f + 1] - first[f], 2 * c.frame_intersections_a[f]);
    fa_compare_free(&c);
    fai_json_free(doc);
    free(block);
    job_close(&j);
}

static void pairs_are_kept(void **state) {
    (void)state;
    FaError err = {0};
    Job j;
    job_open(&j);
    FaPageTrack track[4] = {j.track[0], j.track[1], j.track[2], j.track[2]}; // the other face twice
    FaPageJump jump[] = {{"there", 5}, {"here", 0}};
    FaPagePair pair[] = {{.name = "one",
                          .sentence = "Look at it.",
                          .before = 1,
                          .after = 0,
                          .jumps = jump,
                          .njumps = 2,
                          .focus = FA_PAGE_MOUTH,
                          .exaggerate = 3,
                          .speed = 0.5,
                          .hold_head = true},
                         {.name = "two", .before = 2, .after = 3}};
    FaPageOptions o = {.title = "kept", .pairs = pair, .npairs = 2};
    CHECK_OK(fa_page_save(test_path("kept.html"), j.rig, track, 4, &o, &err), &err);
    unsigned char *block;
    FaJsonDoc *doc = read_page(test_path("kept.html"), &block);
    const FaJson *pairs = fai_json_get(doc->root, "pairs"), *one = fai_json_at(pairs, 0), *two = fai_json_at(pairs, 1);
    assert_int_equal(fai_json_count(pairs), 2);
    assert_string_equal(fai_json_get(one, "sentence")->string, "Look at it.");
    assert_string_equal(fai_json_get(one, "focus")->string, "mouth");
    assert_int_equal(whole(one, "before"), 1);
    assert_int_equal(whole(one, "exaggerate"), 3);
    assert_true(fai_json_get(one, "speed")->number == 0.5);
    assert_true(fai_json_is(fai_json_get(one, "hold_head"), FA_JSON_TRUE));
    assert_int_equal(whole(fai_json_at(fai_json_get(one, "jumps"), 0), "frame"), 5);
    assert_null(fai_json_get(two, "sentence"));
    assert_int_equal(whole(two, "exaggerate"), 1);
    // each face once, its tracks know it, and its neutral is its own
    const FaJson *rigs = fai_json_get(doc->root, "rigs"), *tracks = fai_json_get(doc->root, "tracks");
    static const int rig_of[] = {0, 0, 1, 1};
    assert_int_equal(fai_json_count(rigs), 2);
    for (int i = 0; i < 4; i++) assert_int_equal(whole(fai_json_at(tracks, i), "rig"), rig_of[i]);
    uint32_t header;
    memcpy(&header, block + 8, 4);
    const unsigned char *sections = block + (12 + header + 7) / 8 * 8;
    const FaJson *base = fai_json_get(fai_json_at(rigs, 1), "base");
    assert_memory_equal(sections + whole(base, "offset"), j.other->mesh.x, 12 * (size_t)j.other->mesh.nvert);
    fai_json_free(doc);
    free(block);
    job_close(&j);
}

static void bad_pairs_are_refused(void **state) {
    (void)state;
    Job j;
    job_open(&j);
    FaPageJump past = {"past the end", FRAMES}, before = {"before the start", -1};
    FaPagePair bad[] = {{.name = "no such track", .after = TRACKS},
                        {.name = "no such track", .before = -1},
                        {.name = "late", .after = 1, .jumps = &past, .njumps = 1},
                        {.name = "early", .after = 1, .jumps = &before, .njumps = 1}};
    for (int i = 0; i < FA_COUNT(bad); i++) {
        FaError err = {0};
        FaPageOptions o = {.pairs = &bad[i], .npairs = 1};
        assert_int_equal(fa_page_save(test_path("bad.html"), j.rig, j.track, TRACKS, &o, &err), FA_E_ARG);
        assert_false(fai_file_exists(test_path("bad.html")));
    }
    job_close(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_are_made), cmocka_unit_test(pairs_are_kept),
                                       cmocka_unit_test(bad_pairs_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
    puts("skipped: this build writes no pages (zlib)");
    return 0;
}
#endif

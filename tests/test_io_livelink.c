// Live Link Face takes: exact times from time codes, head angles, repairs and refusals, the way back.
#include "test_io_clip_tools.h"

#include "base/file.h"
#include "io/clip_tools.h"
#include "io/livelink.h"
#include <time.h>

// --- makers -------------------------------------------------------------------------------------------------------

static FaCode parse(const char *text, const FaClipOptions *options, FaClip **clip, FaError *err) {
    *err = (FaError){0};
    FaCode rc = fai_livelink_parse(text, strlen(text), options, clip, err);
    if (rc >= 0)
        CHECK_OK(fa_clip_check(*clip, err), err);
    else
        assert_null(*clip);
    return rc;
}

static FaClip *load(const char *text, const FaClipOptions *options) {
    FaError err;
    FaClip *clip;
    CHECK_OK(parse(text, options, &clip, &err), &err);
    return clip;
}

static void check_refused(const char *text, const char *place, const char *what) {
    FaError err;
    FaClip *clip;
    assert_int_equal(parse(text, NULL, &clip, &err), FA_E_FORMAT);
    assert_string_equal(err.place, place);
    assert_non_null(strstr(err.what, what));
    assert_true(err.remedy[0]);
}

static int note(const FaClip *clip, const char *code) {
    for (int i = 0; i < clip->notes.count; i++)
        if (!strcmp(clip->notes.note[i].code, code)) return clip->notes.note[i].count;
    return 0;
}

static const char *note_where(const FaClip *clip, const char *code) {
    for (int i = 0; i < clip->notes.count; i++)
        if (!strcmp(clip->notes.note[i].code, code)) return clip->notes.note[i].where;
    return "";
}

static int channel(const FaClip *clip, const char *name) {
    for (int i = 0; i < clip->nchan; i++)
        if (!strcmp(clip->name[i], name)) return i;
    fail_msg("no channel %s", name);
    return -1;
}

// A take of two columns: a time code per line, the value counts up.
static FaClip *load_stamps(const char *const *stamp, int n) {
    static char text[1 << 20];
    size_t at = (size_t)sprintf(text, "Timecode,BlendshapeCount,JawOpen\n");
    for (int i = 0; i < n; i++) at += (size_t)sprintf(text + at, "%s,61,%d\n", stamp[i], i);
    return load(text, NULL);
}

// Frame numbers of a time code at `rate`, as text.
static void stamp_text(char *out, int rate, double frame, char separator) {
    int64_t t = llround(frame * 1000);
    int64_t whole = t / 1000, second = whole / rate;
    sprintf(out, "%02d:%02d:%02d%c%02d.%03d", (int)(second / 3600 % 24), (int)(second / 60 % 60), (int)(second % 60),
            separator, (int)(whole % rate), (int)(t % 1000));
}

// n rows from `first`, every `step` frames of a time code at `rate`.
static FaClip *load_regular(int rate, double first, double step, int n) {
    static char stamp[4096][24];
    static const char *list[4096];
    for (int i = 0; i < n; i++) {
        stamp_text(stamp[i], rate, first + i * step, ':');
        list[i] = stamp[i];
    }
    return load_stamps(list, n);
}

// --- a real take --------------------------------------------------------------------------------------------------

static void test_real_take(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "clips/livelink/alex_rom_3.csv");
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_load(path, NULL, &clip, &err), &err);
    assert_int_equal(clip->nframe, 4030);
    assert_int_equal(clip->nchan, 58); // 52 weights and six eye angles
    assert_true(clip->fps == 30);
    assert_null(clip->head);
    assert_int_equal(note(clip, "head-still"), 1);
    assert_int_equal(note(clip, "weights-over-1"), 1);
    assert_string_equal(note_where(clip, "weights-over-1"), "frame 543, eyeLookInRight");
    assert_int_equal(note(clip, "weights-below-0"), 0);
    assert_int_equal(note(clip, "dropped-frames"), 3);
    assert_string_equal(note_where(clip, "dropped-frames"), "line 598");
    assert_true(clip->weight[channel(clip, "eyeBlinkLeft")] == 0.1236470118f);
    assert_true(clip->weight[channel(clip, "jawRight")] == 0.0185036063f);
    assert_true(clip->weight[channel(clip, "jawLeft")] == 0);

    // every time against whole thousandths of 1/60 s, counted here
    FaBytes bytes;
    CHECK_OK(fai_file_read(path, 0, &bytes, &err), &err);
    const char *line = strchr((const char *)bytes.data, '\n') + 1;
    int64_t first = 0;
    for (int f = 0; f < clip->nframe; f++) {
        int h, m, s, frame, part;
        assert_int_equal(sscanf(line, "%d:%d:%d:%d.%d", &h, &m, &s, &frame, &part), 5);
        int64_t t = (((int64_t)h * 60 + m) * 60 + s) * 60000 + frame * 1000 + part;
        if (f == 0) first = t;
        assert_true(clip->time[f] == (double)(t - first) / 60000);
        line = strchr(line, '\n') + 1;
    }
    assert_true(clip->start == (double)first / 60000);
    fai_bytes_free(&bytes);
    fa_clip_free(clip);
}

static void test_real_round_trip(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "clips/livelink/alex_rom_3.csv");
    FaError err = {0};
    FaClip *a, *b;
    CHECK_OK(fa_clip_load(path, NULL, &a, &err), &err);
    CHECK_OK(fa_clip_save(a, test_path("take.csv"), &err), &err);
    CHECK_OK(fa_clip_load(test_path("take.csv"), NULL, &b, &err), &err);
    assert_int_equal(a->nframe, b->nframe);
    assert_int_equal(a->nchan, b->nchan);
    assert_true(a->fps == b->fps && a->start == b->start);
    for (int c = 0; c < a->nchan; c++) assert_string_equal(a->name[c], b->name[c]);
    assert_memory_equal(a->time, b->time, (size_t)a->nframe * sizeof *a->time);
    assert_memory_equal(a->weight, b->weight, (size_t)a->nframe * (size_t)a->nchan * sizeof *a->weight);
    // the header is the app's own, byte for byte but for the spelling of the count
    FaBytes x, y;
    CHECK_OK(fai_file_read(path, 0, &x, &err), &err);
    CHECK_OK(fai_file_read(test_path("take.csv"), 0, &y, &err), &err);
    size_t n = (size_t)(strchr((char *)x.data, '\n') - (char *)x.data);
    x.data[strlen("Timecode,Blend")] = 's';
    assert_memory_equal(x.data, y.data, n + 1);
    fai_bytes_free(&x);
    fai_bytes_free(&y);
    fa_clip_free(a);
    fa_clip_free(b);
}

// Decoded packets of the app's stream: frame, subframe and rate instead of a time code; the head turns.
static void test_real_head(void **state) {
    (void)state;
    TEST_DATA_OR_SKIP(path, "clips/livelink/dao_decoded.csv");
    FaError err = {0};
    FaClip *clip;
    CHECK_OK(fa_clip_load(path, NULL, &clip, &err), &err);
    assert_int_equal(clip->nframe, 180);
    assert_non_null(clip->head);
    CHECK_NEAR(clip->time[1], (1 + 0.12253952 - 0.121925354) / 60, 1e-10);
    assert_int_equal(note(clip, "dropped-frames"), 7);
    // radians, as the eyes show: yaw 0.0598, pitch 0.0185, roll -0.1137 at first
    double r[9];
    fai_pose_matrix(&clip->head[0], r);
    CHECK_NEAR(atan2(r[2], r[8]), 0.059837658, 1e-7);
    CHECK_NEAR(asin(-r[5]), 0.0184870791, 1e-7);
    CHECK_NEAR(atan2(r[3], r[4]), -0.113728248, 1e-7);
    fa_clip_free(clip);
}

// --- time codes ---------------------------------------------------------------------------------------------------

static void test_rates(void **state) {
    (void)state;
    static const struct {
        int rate;
        double step, fps;
    } cases[] = {{24, 1, 24}, {25, 1, 25}, {30, 1, 30},   {30, 0.5, 60}, {48, 2, 24},          {50, 2, 25},
                 {60, 1, 60}, {60, 2, 30}, {120, 1, 120}, {120, 2, 60},  {1000, 33.367, 29.97}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FaClip *clip = load_regular(cases[i].rate, 7 * cases[i].rate + 3, cases[i].step, 300);
        CHECK_NEAR(clip->fps, cases[i].fps, 1e-3);
        for (int f = 0; f < clip->nframe; f++)
            CHECK_NEAR(clip->time[f], f * cases[i].step / cases[i].rate, 1e-3 / cases[i].rate);
        assert_int_equal(note(clip, "timecode-rate-assumed"), 0);
        assert_int_equal(note(clip, "dropped-frames"), 0);
        fa_clip_free(clip);
    }
    // under a second there is nothing to tell the rate from: 60, and a note
    FaClip *clip = load_regular(60, 3, 2, 10);
    assert_int_equal(note(clip, "timecode-rate-assumed"), 1);
    assert_true(clip->fps == 30 && clip->time[1] == 2.0 / 60);
    fa_clip_free(clip);
}

static void test_dropped(void **state) {
    (void)state;
    const char *stamp[60];
    int n = 0;
    static char all[60][24];
    for (int i = 0; i < 60; i++) {
        if (i == 10 || i == 20 || i == 21 || i == 30) continue; // the second change (30) is one of the gaps
        stamp_text(all[n], 30, i, ':');
        stamp[n] = all[n];
        n++;
    }
    FaClip *clip = load_stamps(stamp, n);
    assert_int_equal(clip->nframe, 56);
    assert_true(clip->fps == 30);
    assert_int_equal(note(clip, "dropped-frames"), 4);
    assert_string_equal(note_where(clip, "dropped-frames"), "line 12");
    assert_true(clip->time[10] == 11.0 / 30 && clip->time[55] == 59.0 / 30);
    fa_clip_free(clip);
}

// 29.97 drop-frame counting: 00:00:59;29 is followed by 00:01:00;02.
static void test_drop_frame(void **state) {
    (void)state;
    static char all[200][24];
    static const char *list[200];
    for (int marked = 0; marked < 2; marked++) {
        for (int i = 0; i < 200; i++) {
            int frame = 1700 + i; // across the first minute, which has frames 0..1799
            int number = frame < 1800 ? frame : frame + 2;
            stamp_text(all[i], 30, number, marked ? ';' : ':');
            list[i] = all[i];
        }
        FaClip *clip = load_stamps(list, 200);
        assert_int_equal(note(clip, "drop-frame-timecode"), 1);
        assert_int_equal(note(clip, "dropped-frames"), 0);
        CHECK_NEAR(clip->fps, 30000 / 1001.0, 1e-9);
        for (int i = 0; i < 200; i++) CHECK_NEAR(clip->time[i], i * 1001 / 30000.0, 1e-12);
        fa_clip_free(clip);
    }
    // two frames that are really missing somewhere else are no drop-frame counting
    for (int i = 0; i < 200; i++) {
        stamp_text(all[i], 30, i < 100 ? 1500 + i : 1502 + i, ':');
        list[i] = all[i];
    }
    FaClip *clip = load_stamps(list, 200);
    assert_int_equal(note(clip, "drop-frame-timecode"), 0);
    assert_int_equal(note(clip, "dropped-frames"), 2);
    fa_clip_free(clip);
}

static void test_midnight(void **state) {
    (void)state;
    static const char *const stamp[] = {"23:59:59:28.000", "23:59:59:29.000", "00:00:00:00.000", "00:00:00:01.000",
                                        "00:00:00:02.500"};
    FaClip *clip = load_stamps(stamp, 5);
    assert_int_equal(note(clip, "midnight-wrap"), 1);
    assert_string_equal(note_where(clip, "midnight-wrap"), "line 4");
    assert_true(clip->time[2] == 2.0 / 30 && clip->time[4] == 4.5 / 30);
    assert_true(clip->start == 86399 + 28.0 / 30);
    fa_clip_free(clip);
}

static void test_clock(void **state) {
    (void)state;
    static const char *const stamp[] = {"1:02:03.25", "1:02:03.5", "1:02:03.75", "1:02:04"};
    FaClip *clip = load_stamps(stamp, 4);
    assert_true(clip->time[3] == 0.75 && clip->fps == 4 && clip->start == 3723.25);
    fa_clip_free(clip);
}

static void test_equal_and_backward(void **state) {
    (void)state;
    FaClip *clip =
        load("Timecode,JawOpen\n00:00:00:58.0,0.1\n00:00:00:59.0,0.2\n00:00:00:59.0,0.3\n00:00:01:00.0,0.4\n", NULL);
    assert_int_equal(clip->nframe, 3);
    assert_int_equal(note(clip, "equal-stamps"), 1);
    assert_string_equal(note_where(clip, "equal-stamps"), "line 4, column 1");
    assert_true(clip->weight[1] == 0.2f && clip->weight[2] == 0.4f); // the first of the two is kept
    fa_clip_free(clip);
    check_refused("Timecode,JawOpen\n00:00:00:58.0,0.1\n00:00:00:57.9,0.2\n", "line 3, column 1",
                  "time goes backwards");
    // the same stamp in most rows: times were lost on the way, as by a spreadsheet
    check_refused("Timecode,JawOpen\n13:13:04,1\n13:13:04,1\n13:13:04,1\n13:13:05,1\n13:13:05,1\n", "line 3, column 1",
                  "most rows");
}

static void test_bad_stamps(void **state) {
    (void)state;
    static const char *const bad[] = {"",
                                      "x",
                                      "12",
                                      "12:30",
                                      "24:00:00:00",
                                      "00:60:00:00",
                                      "00:00:60:00",
                                      "00:00:00:",
                                      "00:00:00:00.",
                                      "00:00:00:00.1x",
                                      "00:00:00:0000",
                                      "-1:00:00:00",
                                      "000:00:00:00",
                                      "00:00:00:00:00"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "Timecode,JawOpen\n00:00:00:00.5,0\n%s,1\n", bad[i]);
        check_refused(text, "line 3, column 1 (Timecode)", "is no time code");
    }
    check_refused("Timecode,JawOpen\n00:00:00:00,0\n00:00:00.5,1\n", "line 3, column 1 (Timecode)",
                  "is no time code"); // two kinds
    check_refused("frame,subframe,fps_num,JawOpen\n1,0,0,1\n", "line 2, column 1 (fps_num)", "no rate");
    check_refused("frame,subframe,fps_num,JawOpen\n1,0,-30,1\n", "line 2, column 1 (fps_num)", "no rate");
    check_refused("frame,subframe,fps_num,JawOpen\n1,0,nan,1\n", "line 2, column 5 (fps_num)", "no number");
    check_refused("frame,subframe,fps_num,JawOpen\n1.5,0,30,1\n", "line 2, column 1 (frame)", "no frame number");
}

// --- columns ------------------------------------------------------------------------------------------------------

static void test_columns(void **state) {
    (void)state;
    // any order, any case, either spelling of the count, a column of the user's own, a separator too many
    FaClip *clip = load("mouthclose,BLENDSHAPECOUNT,timecode,JAWOPEN,MyShape_7,\n0.1,61,00:00:00:00,0.2,0.3,\n0.4,61,"
                        "00:00:01:00,0.5,0.6,\n",
                        NULL);
    assert_int_equal(clip->nchan, 3);
    assert_string_equal(clip->name[0], "mouthClose");
    assert_string_equal(clip->name[1], "jawOpen");
    assert_string_equal(clip->name[2], "MyShape_7");
    assert_true(clip->weight[3] == 0.4f && clip->weight[4] == 0.5f && clip->weight[5] == 0.6f);
    fa_clip_free(clip);
    check_refused("Timecode,JawOpen,jawOpen\n00:00:00:00,0,0\n", "channels 0 and 1",
                  "two channels are called 'jawOpen'");
    check_refused("Timecode,HeadYaw,headyaw\n00:00:00:00,0,0\n", "line 1, column 18", "two columns are called headYaw");
    check_refused("Timecode,Timecode,JawOpen\n00:00:00:00,0,0\n", "line 1, column 10",
                  "two columns are called Timecode");
    static const struct {
        const char *text;
        bool is_take;
    } header[] = {{"Timecode,BlendshapeCount,X\n", true},
                  {"\xEF\xBB\xBFtimecode;jawopen\n", true},
                  {"time,jawOpen\n", false},
                  {"Timecode,x\n", false},
                  {"", false},
                  {"\"Timecode", false}};
    for (size_t i = 0; i < sizeof header / sizeof *header; i++) {
        bool is_take;
        CHECK_OK(fai_livelink_sniff(header[i].text, strlen(header[i].text), &is_take, NULL), NULL);
        assert_int_equal(is_take, header[i].is_take);
    }
}

static void test_cells(void **state) {
    (void)state;
#define HEAD_LINE "Timecode,BlendshapeCount,JawOpen,MouthClose\n00:00:00:58,61,0.5,0.25\n"
    check_refused(HEAD_LINE "00:00:00:59,61,NaN,0\n", "line 3, column 16 (jawOpen)", "'NaN' is no finite number");
    check_refused(HEAD_LINE "00:00:00:59,61,0,-inf\n", "line 3, column 18 (mouthClose)", "no finite number");
    check_refused(HEAD_LINE "00:00:00:59,61,0,1e39\n", "line 3, column 18 (mouthClose)", "'1e39' is too large");
    check_refused(HEAD_LINE "00:00:00:59,61,abc,0\n", "line 3, column 16 (jawOpen)", "'abc' is no number");
    check_refused(HEAD_LINE "00:00:00:59,61,0.5\n00:00:01:00,61,0,0\n", "line 3",
                  "the row has 3 cells, the header has 4");
    check_refused(HEAD_LINE "00:00:00:59,61,0.5,0,0\n", "line 3", "the row has 5 cells");
    check_refused("Timecode,BlendshapeCount,JawOpen\n", "line 2", "no frames");
    check_refused("Timecode,BlendshapeCount,JawOpen", "line 1", "no frames");
    check_refused("Timecode,BlendshapeCount,JawOpen\n00:00:00:00,0,\n", "line 2, column 1", "no row has a face");

    // empty cells hold; at the start the first value known is taken
    FaClip *clip = load("Timecode,BlendshapeCount,JawOpen,MouthClose\n00:00:00:58,61,,0.25\n00:00:00:59,61,0.5,\n00:00:"
                        "01:00,61, ,0.75\n",
                        NULL);
    assert_int_equal(note(clip, "empty-cells"), 3);
    assert_string_equal(note_where(clip, "empty-cells"), "line 2, column 16 (jawOpen)");
    const float held[] = {0.5f, 0.25f, 0.5f, 0.25f, 0.5f, 0.75f};
    assert_memory_equal(clip->weight, held, sizeof held);
    fa_clip_free(clip);

    // rows without a face, short or with zeros
    clip = load(HEAD_LINE "00:00:00:59,0\n00:00:01:00,0,0,0\n00:00:01:01,61,0.75,1\n", NULL);
    assert_int_equal(note(clip, "face-lost"), 2);
    assert_int_equal(clip->nframe, 4);
    assert_true(clip->weight[2] == 0.5f && clip->weight[5] == 0.25f && clip->weight[6] == 0.75f);
    fa_clip_free(clip);

    // a recording that broke off
    clip = load(HEAD_LINE "00:00:00:59,61,0.7", NULL);
    assert_int_equal(clip->nframe, 1);
    assert_int_equal(note(clip, "last-row-cut"), 1);
    fa_clip_free(clip);

    // one frame
    clip = load(HEAD_LINE, NULL);
    assert_true(clip->nframe == 1 && clip->time[0] == 0 && clip->fps == 60);
    fa_clip_free(clip);

    // decimal commas between semicolons
    clip = load("Timecode;BlendshapeCount;JawOpen\n00:00:00:59,500;61;0,125\n00:00:01:00,500;61;0,25\n", NULL);
    assert_int_equal(note(clip, "decimal-comma"), 1);
    assert_true(clip->weight[0] == 0.125f && clip->weight[1] == 0.25f && clip->time[1] == 1.0 / 60);
    fa_clip_free(clip);
}

static void test_odd_weights(void **state) {
    (void)state;
    FaClip *clip =
        load("Timecode,JawOpen,MouthClose\n00:00:00:58,1.5,-0.25\n00:00:00:59,1e38,1e-40\n00:00:01:00,-1,1\n", NULL);
    assert_int_equal(note(clip, "weights-over-1"), 2);
    assert_string_equal(note_where(clip, "weights-over-1"), "frame 0, jawOpen");
    assert_int_equal(note(clip, "weights-below-0"), 2);
    assert_int_equal(note(clip, "huge-weights"), 1);
    assert_int_equal(note(clip, "denormal-weights"), 1);
    assert_true(clip->weight[2] == 1e38f && clip->weight[3] == 1e-40f); // all kept
    fa_clip_free(clip);
}

// --- angles -------------------------------------------------------------------------------------------------------

// A turning head, and eyes that follow their weights at 0.61 rad per unit; angles divided by `unit`.
static char *angle_take(double unit, bool eyes, double yaw, double pitch, double roll) {
    static char text[16384];
    size_t at = (size_t)sprintf(text, "Timecode,EyeLookDownLeft,EyeLookUpLeft,HeadYaw,HeadPitch,HeadRoll%s\n",
                                eyes ? ",LeftEyePitch" : "");
    for (int i = 0; i < 120; i++) {
        double w = 0.5 * sin(0.2 * i);
        char stamp[24];
        stamp_text(stamp, 60, i, ':');
        at += (size_t)sprintf(text + at, "%s,%.9f,%.9f,%.9f,%.9f,%.9f", stamp, fmax(w, 0), fmax(-w, 0), yaw / unit,
                              pitch / unit, roll / unit);
        if (eyes) at += (size_t)sprintf(text + at, ",%.9f", 0.61 * w / unit);
        at += (size_t)sprintf(text + at, "\n");
    }
    return text;
}

static void check_turn(const FaClip *clip, const double from[3], const double to[3]) {
    double r[9];
    assert_non_null(clip->head);
    fai_pose_matrix(&clip->head[5], r);
    for (int k = 0; k < 3; k++)
        CHECK_NEAR(r[3 * k] * from[0] + r[3 * k + 1] * from[1] + r[3 * k + 2] * from[2], to[k], 1e-6);
}

static void test_head_axes(void **state) {
    (void)state;
    const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1}, down[3] = {0, -1, 0};
    const FaClipOptions rad = {.head_units = FA_HEAD_RAD};
    FaClip *clip = load(angle_take(1, false, M_PI / 2, 0, 0), &rad);
    check_turn(clip, z, x); // yaw: to the subject's left
    fa_clip_free(clip);
    clip = load(angle_take(1, false, 0, M_PI / 2, 0), &rad);
    check_turn(clip, z, down); // pitch: down
    fa_clip_free(clip);
    clip = load(angle_take(1, false, 0, 0, M_PI / 2), &rad);
    check_turn(clip, x, y); // roll: the left side up
    fa_clip_free(clip);
    // order: roll first, then pitch, then yaw: x goes up by the roll, stays up under yaw alone
    clip = load(angle_take(1, false, M_PI / 2, M_PI / 2, 0), &rad);
    check_turn(clip, z, down); // down by the pitch; the yaw about y leaves it there
    check_turn(clip, y, x);    // y goes to z by the pitch, to x by the yaw
    fa_clip_free(clip);
}

static void test_head_units(void **state) {
    (void)state;
    static const struct {
        double unit;
        FaHeadUnits given;
        const char *name;
    } cases[] = {
        {1, FA_HEAD_RAD, "radians"}, {M_PI, FA_HEAD_NORM180, "half turns"}, {M_PI / 180, FA_HEAD_DEG, "degrees"}};
    for (int i = 0; i < 3; i++)
        for (int eyes = 0; eyes < 2; eyes++)
            for (int told = 0; told < 2; told++) {
                if (!eyes && !told && i == 1) continue; // nothing in the file could tell
                FaClipOptions options = {.head_units = told ? cases[i].given : FA_HEAD_AUTO};
                FaClip *clip = load(angle_take(cases[i].unit, eyes, 0.4, -0.2, 0.1), &options);
                double r[9];
                fai_pose_matrix(&clip->head[0], r);
                CHECK_NEAR(atan2(r[2], r[8]), 0.4, 1e-6);
                CHECK_NEAR(asin(-r[5]), -0.2, 1e-6);
                CHECK_NEAR(atan2(r[3], r[4]), 0.1, 1e-6);
                assert_int_equal(note(clip, "head-units"), 1);
                const char *said = "";
                for (int k = 0; k < clip->notes.count; k++)
                    if (!strcmp(clip->notes.note[k].code, "head-units")) said = clip->notes.note[k].text;
                assert_non_null(strstr(said, cases[i].name));
                if (eyes)
                    CHECK_NEAR(clip->weight[5 * 3 + channel(clip, "leftEyePitch")], 0.61 * 0.5 * sin(1.0),
                               1e-6); // radians too
                fa_clip_free(clip);
            }
    check_refused("Timecode,HeadYaw\n00:00:00:00,1e9\n", "line 2 (headYaw)", "more than 720 degrees");
    // still angles leave nothing behind
    FaClip *clip = load(angle_take(1, false, 0, 0, 0), NULL);
    assert_null(clip->head);
    assert_int_equal(note(clip, "head-still"), 1);
    fa_clip_free(clip);
}

// --- writing ------------------------------------------------------------------------------------------------------

static uint32_t bits_of(float v) {
    uint32_t u;
    memcpy(&u, &v, 4);
    return u;
}

static void test_write(void **state) {
    (void)state;
    static const char *const name[] = {"jawOpen", "browInnerUp", "tongueOut", "rightEyeRoll", "jawLeft"};
    enum { N = 500, C = 5 };
    FaError err = {0};
    FaClip *a, *b;
    CHECK_OK(fa_clip_new(N, C, name, 24, &a, &err), &err);
    a->head = FA_NEW(N, FaPose);
    assert_non_null(a->head);
    for (int f = 0; f < N; f++) {
        double r[9], turn[9];
        fai_mat3_axis(1, 1.5 * sin(0.01 * f), r);
        fai_mat3_axis(0, 0.7 * cos(0.013 * f), turn);
        fai_mat3_mul(r, turn, r);
        fai_mat3_axis(2, 2.5 * sin(0.017 * f), turn);
        fai_mat3_mul(r, turn, r);
        fai_pose_rotate(&a->head[f], r, f ? &a->head[f - 1] : NULL);
        for (int c = 0; c < C; c++) {
            // any finite float, denormals and negative zero included
            uint32_t u = (uint32_t)(f * C + c) * 2654435761u;
            if ((u >> 23 & 255) == 255) u &= ~(1u << 30);
            if (c == 3) u = bits_of((float)sin(f));
            memcpy(&a->weight[f * C + c], &u, 4);
        }
    }
    a->start = 3600.5;
    assert_true(fai_livelink_fits(a));
    FaText text = {0};
    CHECK_OK(fai_livelink_write(a, &text, &err), &err);
    CHECK_OK(fai_livelink_parse(text.data, text.size, NULL, &b, &err), &err);
    assert_int_equal(b->nframe, N);
    assert_int_equal(b->nchan, 53); // all 52, and the one eye angle that moves
    assert_true(b->fps == 24);
    CHECK_NEAR(b->start, 3600.5, 1e-9);
    for (int f = 0; f < N; f++) {
        CHECK_NEAR(b->time[f], f / 24.0, 1e-12);
        for (int c = 0; c < C; c++)
            assert_int_equal(bits_of(a->weight[f * C + c]), bits_of(b->weight[f * b->nchan + channel(b, name[c])]));
        double dot = 0;
        for (int k = 0; k < 4; k++) dot += a->head[f].q[k] * b->head[f].q[k];
        CHECK_NEAR(fabs(dot), 1, 1e-12);
        CHECK_NEAR(b->weight[f * b->nchan + channel(b, "mouthClose")], 0, 0);
    }
    fai_text_free(&text);
    fa_clip_free(b);
    // frames that a time code cannot tell apart
    a->time[1] = a->time[0] + 1e-6;
    assert_int_equal(fai_livelink_write(a, &text, &err), FA_E_UNSUPPORTED);
    assert_string_equal(err.place, "frame 1");
    fai_text_free(&text);
    fa_clip_free(a);
    // a channel of another name has no column
    static const char *const other[] = {"jawOpen", "myShape"};
    err = (FaError){0};
    CHECK_OK(fa_clip_new(1, 2, other, 30, &a, &err), &err);
    assert_false(fai_livelink_fits(a));
    fa_clip_free(a);
    // other spellings have one, unless two want the same or one is half a shape
    static const struct {
        const char *name[2];
        bool fits;
    } cases[] = {{{"eyeBlink_L", "shapes.jawOpen"}, true},
                 {{"eyeBlink_L", "eyeBlinkLeft"}, false},
                 {{"jawOpen", "browInnerUp_L"}, false},
                 {{"jawOpen", "headYaw"}, false}};
    for (int i = 0; i < 4; i++) {
        CHECK_OK(fa_clip_new(1, 2, cases[i].name, 30, &a, &err), &err);
        assert_int_equal(fai_livelink_fits(a), cases[i].fits);
        fa_clip_free(a);
    }
}

// --- bad input ----------------------------------------------------------------------------------------------------

static const char small[] =
    "Timecode,BlendshapeCount,EyeLookDownLeft,EyeLookUpLeft,HeadYaw,LeftEyePitch,x\n"
    "23:59:59:59.000,61,0.5,\"0\",0.1,0.3,\"a\"\n00:00:00:00.5,0\n00:00:00:01.5,61,,1.5,.1,-0.6,1\n";

static void test_truncated(void **state) {
    (void)state;

    for (size_t n = 0; n < sizeof small; n++) {
        char *copy = calloc(n ? n : 1, 1);
        memcpy(copy, small, n);
        for (size_t i = n > 60 ? n - 60 : 0; i <= n; i++) {
            FaError err = {0};
            FaClip *clip;
            if (i < n) copy[i] ^= 1 << (i % 8);
            if (fai_livelink_parse(copy, n, NULL, &clip, &err) >= 0)
                CHECK_OK(fa_clip_check(clip, &err), &err);
            else
                assert_true(err.what[0]);
            fa_clip_free(clip);
            if (i < n) copy[i] ^= 1 << (i % 8);
        }
        free(copy);
    }
}

static FaCode read_text(const char *text, FaClip **clip, FaError *err) {
    return fai_livelink_parse(text, strlen(text), NULL, clip, err);
}

static void test_no_memory(void **state) {
    (void)state;
    static const char text[] =
        "Timecode,BlendshapeCount,EyeLookDownLeft,EyeLookUpLeft,HeadYaw,LeftEyePitch,own\n"
        "23:59:59:59.000,61,0.5,\"0\",0.1,0.3,1\n00:00:00:00.5,0\n00:00:00:01.5,61,,1.5,.1,-0.6,1\n";
    starve_clip_reader(read_text, text, 15);
}

static void test_speed(void **state) {
    (void)state;
    enum { ROWS = 10000 };
    char *text = malloc((size_t)ROWS * 900 + 4096);
    size_t at = (size_t)sprintf(text, "Timecode,BlendshapeCount");
    for (int c = 0; c < 61; c++) at += (size_t)sprintf(text + at, ",c%d", c);
    for (int f = 0; f < ROWS; f++) {
        char stamp[24];
        stamp_text(stamp, 60, f, ':');
        at += (size_t)sprintf(text + at, "\n%s,61", stamp);
        for (int c = 0; c < 61; c++) at += (size_t)sprintf(text + at, ",0.%010u", (unsigned)(f * 61 + c) * 2654435761u);
    }
    FaClip *clip;
    FaError err = {0};
    clock_t start = clock();
    CHECK_OK(fai_livelink_parse(text, at, NULL, &clip, &err), &err);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("%d rows, %.1f MB: %.0f ms\n", ROWS, (double)at / 1e6, seconds * 1e3);
    assert_int_equal(clip->nframe, ROWS);
#ifdef NDEBUG
    assert_true(seconds < 0.5); // 0.1 s alone on a machine
#endif
    fa_clip_free(clip);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_take),
        cmocka_unit_test(test_real_round_trip),
        cmocka_unit_test(test_real_head),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_drop_frame),
        cmocka_unit_test(test_midnight),
        cmocka_unit_test(test_clock),
        cmocka_unit_test(test_equal_and_backward),
        cmocka_unit_test(test_bad_stamps),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_odd_weights),
        cmocka_unit_test(test_head_axes),
        cmocka_unit_test(test_head_units),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

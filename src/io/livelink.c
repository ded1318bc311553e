#include "io/livelink.h"

#include "base/number.h"
#include "fascia/rig.h"
#include "io/clip_tools.h"
#include "io/csv.h"
#include "io/decimal.h"
#include "io/timecode.h"
#include "rig/names.h"

#include <math.h>
#include <strings.h>

enum { HEAD = 3, EYES = 6, ANGLES = 9, VALUES = FA_ARKIT_COUNT + ANGLES };

// As ARKit would spell them; the file has a capital first.
static const char *const angle_name[ANGLES] = {"headYaw",     "headPitch",     "headRoll",
                                               "leftEyeYaw",  "leftEyePitch",  "leftEyeRoll",
                                               "rightEyeYaw", "rightEyePitch", "rightEyeRoll"};

int fai_livelink_angle(const char *name) {
    for (int i = 0; i < ANGLES; i++)
        if (!strcasecmp(name, angle_name[i])) return i;
    return -1;
}

static int arkit_of(const FaCsvCell *cell) {
    for (int i = 0; i < FA_ARKIT_COUNT; i++)
        if (fai_csv_is(cell, fa_arkit_name(i))) return i;
    return -1;
}

// --- columns ------------------------------------------------------------------------------------------------------

// What a column holds: a channel (its number, from 0), or one of these.
enum {
    COL_SKIP = -1,
    COL_TIMECODE = -2,
    COL_COUNT = -3,
    COL_FRAME = -4,
    COL_SUBFRAME = -5,
    COL_NUM = -6,
    COL_DEN = -7,
    COL_HEAD = -10, // -10, -9, -8: yaw, pitch, roll
};

typedef struct Take {
    FaCsv csv;
    const FaClipOptions *options;
    size_t size;
    FaArena *arena;
    int ncolumn;
    int *column;       // what each holds                                     (ncolumn)
    int nchan;         //
    const char **name; // of the channels                                     (ncolumn)
    int at_timecode, at_count, at_frame, at_subframe, at_num, at_den; // column or -1
    int eye_column[EYES];                                             // or -1
    bool eye_moves[EYES];
    bool has_head;
    int nrow; // whole rows
    FaTimecode tc;
    int64_t *stamp; //                                                     (nframe)
    int *line;      // in the file                                         (nframe)
    float *angle;   // head yaw, pitch, roll as in the file; NULL: none    (nframe x 3)
    int *known;     // first frame with a value, -1: none so far           (nchan + 3)
    FaClip *clip;
    // what was seen
    int empty, lost, equal;
    FaPlace first_empty, first_lost, first_equal;
    bool comma;
} Take;

// A column with a fixed meaning: its code, 0 if it has none.
static int special_column(const FaCsvCell *cell) {
    static const struct {
        const char *name;
        int code;
    } special[] = {{"timecode", COL_TIMECODE}, {"blendshapecount", COL_COUNT}, {"frame", COL_FRAME},
                   {"subframe", COL_SUBFRAME}, {"fps_num", COL_NUM},           {"fps_den", COL_DEN}};
    for (int i = 0; i < FA_COUNT(special); i++)
        if (fai_csv_is(cell, special[i].name)) return special[i].code;
    for (int i = 0; i < HEAD; i++)
        if (fai_csv_is(cell, angle_name[i])) return COL_HEAD + i;
    return 0;
}

FaCode fai_livelink_sniff(const void *data, size_t size, bool *is_take, FaError *err) {
    FaCsv csv;
    bool more, timed = false, face = false;
    // the header is one line: no need to look further
    FaCode rc = fai_csv_open(&csv, data, FA_MIN(size, (size_t)65536), NULL);
    if (rc >= 0) rc = fai_csv_row(&csv, &more, NULL);
    for (int i = 0; rc >= 0 && i < csv.ncell; i++) {
        int code = special_column(&csv.cell[i]);
        timed |= code == COL_TIMECODE || code == COL_SUBFRAME;
        face |= code == COL_COUNT || code <= COL_HEAD + HEAD - 1 || arkit_of(&csv.cell[i]) >= 0;
    }
    fai_csv_close(&csv);
    *is_take = timed && face;
    return rc == FA_E_MEMORY ? FA_FAIL_MEMORY(err) : FA_OK;
}

static FaCode add_channel(Take *t, int column, FaError *err) {
    const FaCsvCell *cell = &t->csv.cell[column];
    int arkit = arkit_of(cell);
    const char *name = arkit >= 0 ? fa_arkit_name(arkit) : NULL;
    for (int i = HEAD; i < ANGLES && !name; i++)
        if (fai_csv_is(cell, angle_name[i])) name = angle_name[i];
    if (!name) {
        if (memchr(cell->text, 0, (size_t)cell->size))
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, NULL).text, "save it as plain text",
                           "a zero byte in a column's name");
        name = fai_clip_name(t->arena, cell->text, (size_t)cell->size, !cell->quoted);
        if (!name) return FA_FAIL_MEMORY(err);
    }
    int angle = fai_livelink_angle(name);
    if (angle >= HEAD) t->eye_column[angle - HEAD] = column;
    t->column[column] = t->nchan;
    t->name[t->nchan++] = name;
    return FA_OK;
}

static FaCode set_special(Take *t, int column, int code, FaError *err) {
    int *place[] = {[-COL_TIMECODE] = &t->at_timecode, [-COL_COUNT] = &t->at_count, [-COL_FRAME] = &t->at_frame,
                    [-COL_SUBFRAME] = &t->at_subframe, [-COL_NUM] = &t->at_num,     [-COL_DEN] = &t->at_den};
    if (code <= COL_HEAD + HEAD - 1) {
        for (int i = 0; i < column; i++)
            if (t->column[i] == code)
                return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(&t->csv.cell[column], NULL).text, "keep one of them",
                               "two columns are called %s", angle_name[code - COL_HEAD]);
        t->has_head = true;
    } else {
        if (*place[-code] >= 0)
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(&t->csv.cell[column], NULL).text, "keep one of them",
                           "two columns are called %s", fai_csv_show(&t->csv.cell[column]).text);
        *place[-code] = column;
    }
    t->column[column] = code;
    return FA_OK;
}

static FaCode read_header(Take *t, FaError *err) {
    bool more;
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    t->ncolumn = t->csv.ncell;
    t->at_timecode = t->at_count = t->at_frame = t->at_subframe = t->at_num = t->at_den = -1;
    for (int i = 0; i < EYES; i++) t->eye_column[i] = -1;
    t->column = FA_PUSH(t->arena, t->ncolumn, int);
    t->name = FA_PUSH(t->arena, t->ncolumn, const char *);
    if (!t->column || !t->name) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < t->ncolumn; i++) {
        int code = special_column(&t->csv.cell[i]);
        if (fai_csv_blank(&t->csv.cell[i]))
            t->column[i] = COL_SKIP; // a separator at the end of the header
        else if (code)
            FA_TRY(set_special(t, i, code, err));
        else
            FA_TRY(add_channel(t, i, err));
    }
    if (t->at_timecode < 0 && (t->at_frame < 0 || t->at_num < 0))
        return FA_FAIL(err, FA_E_FORMAT, "the header",
                       "a take starts with the columns Timecode,BlendshapeCount,EyeBlinkLeft,...",
                       "there is no column called Timecode");
    int i = -1, j = -1;
    FA_TRY(fai_equal_names(t->name, t->nchan, &i, &j, err));
    if (i >= 0)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("channels %d and %d", i, j), "keep one of them",
                       "two channels are called '%.60s'", t->name[i]);
    return FA_OK;
}

// --- rows ---------------------------------------------------------------------------------------------------------

// A row that says that no face was seen: a count of 0, or nothing after the first columns.
static bool face_is_lost(const Take *t) {
    const FaCsv *csv = &t->csv;
    double count;
    if (t->at_count < 0 || t->at_count >= csv->ncell) return false;
    if (fai_csv_number(csv, &csv->cell[t->at_count], &count, NULL) && count == 0) return true;
    return false;
}

// Eye angles that never move carry nothing; anything but 0 and empty counts as moving.
static void watch_eyes(Take *t) {
    for (int i = 0; i < EYES; i++) {
        int c = t->eye_column[i];
        double v = 0;
        if (c < 0 || c >= t->csv.ncell || t->eye_moves[i] || fai_csv_blank(&t->csv.cell[c])) continue;
        t->eye_moves[i] = !fai_csv_number(&t->csv, &t->csv.cell[c], &v, NULL) || v != 0;
    }
}

static void drop_still_eyes(Take *t) {
    int kept = 0;
    for (int i = 0; i < t->ncolumn; i++) {
        if (t->column[i] < 0) continue;
        const char *name = t->name[t->column[i]];
        int angle = fai_livelink_angle(name);
        bool still = angle >= HEAD && !t->eye_moves[angle - HEAD];
        t->column[i] = still ? COL_SKIP : kept;
        if (!still) t->name[kept++] = name;
    }
    t->nchan = kept;
}

// Count the whole rows, so that memory is asked for once. A last row that is cut off is left out.
static FaCode count_rows(Take *t, bool *cut, FaError *err) {
    *cut = false;
    for (bool more = true;;) {
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        if (!more) return FA_OK;
        if (t->csv.ncell != t->ncolumn && !face_is_lost(t)) {
            *cut = !t->csv.ended && t->csv.ncell < t->ncolumn;
            return *cut ? FA_OK : fai_csv_ragged(&t->csv, t->ncolumn, err);
        }
        watch_eyes(t);
        if (++t->nrow == INT32_MAX) return FA_FAIL(err, FA_E_LIMIT, NULL, "split the file", "too many rows");
    }
}

static FaCode number_at(const Take *t, int column, const char *name, double *value, FaError *err) {
    const FaCsvCell *cell = column >= 0 && column < t->csv.ncell ? &t->csv.cell[column] : NULL;
    if (cell && fai_csv_number(&t->csv, cell, value, NULL) && isfinite(*value)) return FA_OK;
    return FA_FAIL(err, FA_E_FORMAT, cell ? fai_csv_place(cell, name).text : "the header", "a number must stand there",
                   "%s is no number", cell ? fai_csv_show(cell).text : name);
}

// When a row was taken. *keep false: at the time of the row before.
static FaCode read_stamp(Take *t, int frame, int64_t *day, bool *keep, FaError *err) {
    int64_t stamp;
    const FaCsvCell *cell;
    if (t->at_timecode >= 0) {
        if (t->at_timecode >= t->csv.ncell) return fai_csv_ragged(&t->csv, t->ncolumn, err);
        cell = &t->csv.cell[t->at_timecode];
        const char *a = cell->text, *b = a + cell->size;
        while (a < b && *a == ' ') a++;
        while (b > a && b[-1] == ' ') b--;
        if (!fai_timecode_parse(a, b, &t->tc, &stamp))
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "Timecode").text,
                           "write it as HH:MM:SS:FF.mmm, in all rows alike", "'%s' is no time code",
                           fai_csv_show(cell).text);
        // a jump back by more than half a day is midnight
        stamp += *day * FA_STAMP_DAY;
        if (frame > 0 && t->stamp[frame - 1] - stamp > FA_STAMP_DAY / 2) {
            ++*day;
            stamp += FA_STAMP_DAY;
            fai_note(&t->clip->notes, "midnight-wrap", FA_PLACE("line %d", cell->line), "",
                     "the take runs through midnight");
        }
        if (*day > 30)
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "Timecode").text, "check the time codes",
                           "a take of a month");
    } else {
        double number, sub = 0, num, den = 1;
        FA_TRY(number_at(t, t->at_frame, "frame", &number, err));
        if (t->at_subframe >= 0) FA_TRY(number_at(t, t->at_subframe, "subframe", &sub, err));
        FA_TRY(number_at(t, t->at_num, "fps_num", &num, err));
        if (t->at_den >= 0) FA_TRY(number_at(t, t->at_den, "fps_den", &den, err));
        cell = &t->csv.cell[t->at_frame];
        if (!fai_timecode_frames(number, sub, &stamp))
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "frame").text,
                           "a whole frame, and a subframe from 0 to 1", "no frame number");
        if (!(num > 0 && den > 0 && num / den >= 1e-3 && num / den <= 1e6) ||
            (frame > 0 && (num != t->tc.num || den != t->tc.den)))
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, "fps_num").text, "one rate above 0 for all rows",
                           "the frame rate is no rate");
        t->tc = (FaTimecode){.kind = FA_STAMP_FRAMES, .num = num, .den = den};
    }
    *keep = true;
    if (frame > 0 && stamp < t->stamp[frame - 1])
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, NULL).text,
                       "sort the rows by time, or split the take there", "time goes backwards: %s",
                       fai_csv_show(cell).text);
    if (frame > 0 && stamp == t->stamp[frame - 1]) {
        *keep = false;
        if (!t->equal++) t->first_equal = fai_csv_place(cell, NULL);
    }
    t->stamp[frame] = stamp;
    t->line[frame] = cell->line;
    return FA_OK;
}

// Where a slot's values live: channels first, then the head's angles.
static float *slot_at(const Take *t, int frame, int slot) {
    if (slot < t->nchan) return &t->clip->weight[(size_t)frame * (size_t)t->nchan + (size_t)slot];
    return &t->angle[(size_t)frame * HEAD + (size_t)(slot - t->nchan)];
}

// No value here: hold the one before. Until a first one is known, 0 stands; read_value fills it in later.
static void hold(const Take *t, int frame, int slot) {
    if (frame > 0) *slot_at(t, frame, slot) = *slot_at(t, frame - 1, slot);
}

static FaCode read_value(Take *t, int frame, int slot, const FaCsvCell *cell, FaError *err) {
    const char *name = slot < t->nchan ? t->name[slot] : angle_name[slot - t->nchan];
    double v;
    if (!fai_csv_number(&t->csv, cell, &v, &t->comma)) {
        if (!fai_csv_blank(cell))
            return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "a number must stand there",
                           "'%s' is no number", fai_csv_show(cell).text);
        if (!t->empty++) t->first_empty = fai_csv_place(cell, name);
        hold(t, frame, slot);
        return FA_OK;
    }
    float w = (float)v;
    if (!isfinite(w))
        return FA_FAIL(err, FA_E_FORMAT, fai_csv_place(cell, name).text, "export the take again, or mend the cell",
                       isfinite(v) ? "'%s' is too large" : "'%s' is no finite number", fai_csv_show(cell).text);
    if (t->known[slot] < 0)
        for (int f = t->known[slot] = 0; f < frame; f++) *slot_at(t, f, slot) = w;
    *slot_at(t, frame, slot) = w;
    return FA_OK;
}

static FaCode read_rows(Take *t, FaError *err) {
    bool more;
    int frame = 0;
    int64_t day = 0;
    fai_csv_rewind(&t->csv);
    FA_TRY(fai_csv_row(&t->csv, &more, err));
    for (int row = 0; row < t->nrow; row++) {
        bool keep = false;
        FA_TRY(fai_csv_row(&t->csv, &more, err));
        FA_TRY(read_stamp(t, frame, &day, &keep, err));
        if (!keep) continue;
        bool lost = face_is_lost(t);
        if (lost && !t->lost++) t->first_lost = fai_csv_place(&t->csv.cell[0], NULL);
        for (int i = 0; i < t->ncolumn; i++) {
            int c = t->column[i];
            int slot = c >= 0 ? c : c <= COL_HEAD + HEAD - 1 ? t->nchan + c - COL_HEAD : -1;
            if (slot < 0) continue;
            if (lost)
                hold(t, frame, slot);
            else
                FA_TRY(read_value(t, frame, slot, &t->csv.cell[i], err));
        }
        frame++;
    }
    t->clip->nframe = frame;
    if (t->equal > t->nrow / 2)
        return FA_FAIL(err, FA_E_FORMAT, t->first_equal.text, "export the take with full time codes, HH:MM:SS:FF.mmm",
                       "most rows have the time of the row before (%d of %d)", t->equal, t->nrow);
    return FA_OK;
}

// --- times --------------------------------------------------------------------------------------------------------

static FaCode note_gaps(Take *t, double step, FaError *err) {
    FaClip *clip = t->clip;
    FaText where = {0};
    int64_t missing = 0;
    int gaps = 0, first = 0;
    for (int i = 1; i < clip->nframe; i++) {
        double n = (clip->time[i] - clip->time[i - 1]) / step;
        if (n <= 1.5) continue;
        missing += n < 1e9 ? llround(n) - 1 : 1000000000;
        if (!gaps++) first = t->line[i];
        if (gaps <= 8) fai_text_printf(&where, "%s%d", gaps > 1 ? ", " : "", t->line[i]);
        if (gaps == 9) fai_text_str(&where, ", ...");
    }
    if (where.failed) {
        fai_text_free(&where);
        return FA_FAIL_MEMORY(err);
    }
    int count = (int)FA_MIN(missing, INT32_MAX);
    if (gaps)
        fai_note_count(&clip->notes, count, "dropped-frames", FA_PLACE("line %d", first),
                       "nothing: the times keep the gaps", "%d frame%s missing, before line%s %s", count,
                       count == 1 ? " is" : "s are", gaps == 1 ? "" : "s", where.data);
    fai_text_free(&where);
    return FA_OK;
}

static FaCode set_times(Take *t, FaError *err) {
    FaClip *clip = t->clip;
    FA_TRY(fai_timecode_times(&t->tc, t->stamp, clip->nframe, clip->time, &clip->start, err));
    double step, alone = 30; // the rate of a single frame
    if (t->tc.kind == FA_STAMP_FRAMES) alone = t->tc.num / t->tc.den;
    if (t->tc.kind == FA_STAMP_TIMECODE) alone = t->tc.rate;
    FA_TRY(fai_median_step(clip->time, clip->nframe, &step, err));
    FA_TRY(fai_clip_find_fps(clip, alone, err));
    if (t->tc.assumed)
        fai_note(&clip->notes, "timecode-rate-assumed", "", "give the take's frame rate if it is another",
                 "the take is too short to tell what its time code counts at; %d per second was assumed", t->tc.rate);
    if (t->tc.drop)
        fai_note(&clip->notes, "drop-frame-timecode", "", "", "the time code is drop-frame, %s frames per second",
                 t->tc.rate == 30 ? "29.97" : "59.94");
    return clip->nframe > 1 ? note_gaps(t, step, err) : FA_OK;
}

// --- angles -------------------------------------------------------------------------------------------------------

static int channel_of(const FaClip *clip, const char *name) {
    for (int i = 0; i < clip->nchan; i++)
        if (!strcmp(clip->name[i], name)) return i;
    return -1;
}

// How far the eyes turn, in the file's unit, per unit of eyeLookDown - eyeLookUp: least squares through 0 over both
// eyes. 0: the columns are not there, hardly move, or do not go together.
static double eye_slope(const FaClip *clip) {
    static const char *const side[2][3] = {{"leftEyePitch", "eyeLookDownLeft", "eyeLookUpLeft"},
                                           {"rightEyePitch", "eyeLookDownRight", "eyeLookUpRight"}};
    double aw = 0, aa = 0, ww = 0, peak = 0;
    for (int s = 0; s < 2; s++) {
        int angle = channel_of(clip, side[s][0]), down = channel_of(clip, side[s][1]),
            up = channel_of(clip, side[s][2]);
        if (angle < 0 || down < 0 || up < 0) continue;
        for (int f = 0; f < clip->nframe; f++) {
            const float *v = clip->weight + (size_t)f * (size_t)clip->nchan;
            double a = v[angle], w = (double)v[down] - v[up];
            aw += a * w, aa += a * a, ww += w * w;
            peak = FA_MAX(peak, fabs(w));
        }
    }
    if (peak < 0.05 || aw < 0.9 * sqrt(aa * ww)) return 0;
    return aw / ww;
}

// Radians per unit of the file's angles; says in a note what was decided and why.
static double angle_unit(Take *t, float largest) {
    static const struct {
        FaHeadUnits unit;
        double radians;
        const char *name;
    } kind[] = {{FA_HEAD_NORM180, M_PI, "half turns (degrees / 180)"},
                {FA_HEAD_RAD, 1, "radians"},
                {FA_HEAD_DEG, M_PI / 180, "degrees"}};
    FaHeadUnits unit = t->options ? t->options->head_units : FA_HEAD_AUTO;
    const char *why = "as asked for";
    if (unit == FA_HEAD_AUTO) {
        // the eye turns 0.61 rad, 0.19 half turns or 35 degrees per unit; the borders are the geometric means
        double slope = eye_slope(t->clip);
        unit = slope == 0 ? FA_HEAD_RAD : slope < 0.34 ? FA_HEAD_NORM180 : slope < 4.6 ? FA_HEAD_RAD : FA_HEAD_DEG;
        why = slope == 0 ? "their range allows it" : "the eyes' angles and weights agree with that";
        if ((unit == FA_HEAD_NORM180 && largest > 1) || (unit == FA_HEAD_RAD && largest > (float)M_PI)) {
            unit = largest > (float)M_PI ? FA_HEAD_DEG : FA_HEAD_RAD;
            why = "they are too large for a smaller unit";
        }
    }
    for (int i = 0; i < FA_COUNT(kind); i++) {
        if (kind[i].unit != unit) continue;
        fai_note(&t->clip->notes, "head-units", "", "give the unit of the head's angles if it is another",
                 "angles were taken as %s: %s", kind[i].name, why);
        return kind[i].radians;
    }
    return 1;
}

static FaCode set_head(Take *t, double unit, FaError *err) {
    FaClip *clip = t->clip;
    FA_ASSERT(t->angle);
    clip->head = FA_NEW(clip->nframe, FaPose);
    if (!clip->head) return FA_FAIL_MEMORY(err);
    for (int f = 0; f < clip->nframe; f++) {
        static const int axis[HEAD] = {1, 0, 2}; // yaw about y, pitch about x, roll about z, in this order
        double r[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, turn[9];
        for (int i = 0; i < HEAD; i++) {
            double a = unit * (double)t->angle[(size_t)f * HEAD + (size_t)i];
            if (fabs(a) > 4 * M_PI)
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d (%s)", t->line[f], angle_name[i]),
                               "check the cell, or give the unit of the angles",
                               "the head turns by more than 720 degrees");
            fai_mat3_axis(axis[i], a, turn);
            fai_mat3_mul(r, turn, r);
        }
        fai_pose_rotate(&clip->head[f], r, f ? &clip->head[f - 1] : NULL);
    }
    return FA_OK;
}

static void set_eyes(FaClip *clip, double unit) {
    for (int c = 0; c < clip->nchan && unit != 1; c++) {
        if (fai_livelink_angle(clip->name[c]) < HEAD) continue;
        for (int f = 0; f < clip->nframe; f++) {
            float *v = &clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c];
            *v = (float)(unit * (double)*v);
        }
    }
}

static FaCode set_angles(Take *t, FaError *err) {
    FaClip *clip = t->clip;
    float head = 0, eyes = 0;
    for (size_t i = 0; t->angle && i < (size_t)clip->nframe * HEAD; i++) head = FA_MAX(head, fabsf(t->angle[i]));
    for (int c = 0; c < clip->nchan; c++) {
        if (fai_livelink_angle(clip->name[c]) < HEAD) continue;
        for (int f = 0; f < clip->nframe; f++)
            eyes = FA_MAX(eyes, fabsf(clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c]));
    }
    if (t->angle && head == 0)
        fai_note(&clip->notes, "head-still", "", "record with head rotation switched on if the head should move",
                 "the head's angles are all 0");
    if (head == 0 && eyes == 0) return FA_OK;
    double unit = angle_unit(t, FA_MAX(head, eyes));
    set_eyes(clip, unit);
    return head > 0 ? set_head(t, unit, err) : FA_OK;
}

// --- all together -------------------------------------------------------------------------------------------------

static void note_all(Take *t, bool cut) {
    FaNotes *notes = &t->clip->notes;
    if (cut)
        fai_note(notes, "last-row-cut", FA_PLACE("line %d", t->csv.line), "record or copy the take again",
                 "the last row is incomplete and was left out");
    if (t->comma) fai_note(notes, "decimal-comma", "", "", "numbers with a decimal comma were read");
    fai_note_count(notes, t->equal, "equal-stamps", t->first_equal.text, "check the device's clock",
                   "%d row%s at the time of the row before %s left out", t->equal, t->equal == 1 ? "" : "s",
                   t->equal == 1 ? "was" : "were");
    fai_note_count(notes, t->lost, "face-lost", t->first_lost.text, "record again if it shows",
                   "in %d row%s no face was seen; the values before were held", t->lost, t->lost == 1 ? "" : "s");
    fai_note_count(notes, t->empty, "empty-cells", t->first_empty.text, "fill them in if it matters",
                   "%d cell%s empty; the value before was held", t->empty, t->empty == 1 ? " is" : "s are");
    fai_clip_note_weights(t->clip);
}

static FaCode parse_take(Take *t, FaError *err) {
    bool cut;
    FA_TRY(read_header(t, err));
    FA_TRY(count_rows(t, &cut, err));
    if (t->nrow == 0)
        return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("line %d", t->csv.line), "record the take again",
                       "the take has a header and no frames");
    drop_still_eyes(t);
    FA_TRY(fai_clip_room(t->size, t->nrow, t->nchan, true, err));
    FA_TRY(fa_clip_new(t->nrow, t->nchan, t->name, 30, &t->clip, err));
    t->stamp = FA_NEW(t->nrow, int64_t);
    t->line = FA_NEW(t->nrow, int);
    t->known = FA_PUSH(t->arena, t->nchan + HEAD, int);
    if (t->has_head) t->angle = FA_NEW((size_t)t->nrow * HEAD, float);
    if (!t->stamp || !t->line || !t->known || (t->has_head && !t->angle)) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < t->nchan + HEAD; i++) t->known[i] = -1;
    FA_TRY(read_rows(t, err));
    if (t->lost == t->clip->nframe)
        return FA_FAIL(err, FA_E_FORMAT, t->first_lost.text, "record the take again", "no row has a face");
    FA_TRY(set_times(t, err));
    FA_TRY(set_angles(t, err));
    note_all(t, cut);
    return FA_OK;
}

FaCode fai_livelink_parse(const void *data, size_t size, const FaClipOptions *options, FaClip **clip, FaError *err) {
    *clip = NULL;
    Take t = {.options = options, .size = size, .arena = fai_arena_new(0)};
    if (!t.arena) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_csv_open(&t.csv, data, size, err);
    if (rc >= 0) rc = parse_take(&t, err);
    if (rc >= 0)
        *clip = t.clip;
    else
        fa_clip_free(t.clip);
    fa_free(t.stamp);
    fa_free(t.line);
    fa_free(t.angle);
    fai_csv_close(&t.csv);
    fai_arena_free(t.arena);
    return rc;
}

// --- writing ------------------------------------------------------------------------------------------------------

// Which channel fills each of the 61 columns, -1: none. False: a channel has no column, or two have the same.
static bool map_columns(const FaClip *clip, int chan[VALUES]) {
    for (int i = 0; i < VALUES; i++) chan[i] = -1;
    for (int c = 0; c < clip->nchan; c++) {
        int half = 0, angle = fai_livelink_angle(clip->name[c]),
            arkit = angle < 0 ? fa_arkit_match(clip->name[c], &half) : -1;
        int column = angle >= HEAD ? FA_ARKIT_COUNT + angle : -1;
        for (int i = 0; i < FA_ARKIT_COUNT && arkit >= 0 && !half; i++)
            if (fai_order_csv(i) == arkit) column = i;
        if (column < 0 || chan[column] >= 0) return false;
        chan[column] = c;
    }
    return clip->nchan > 0;
}

bool fai_livelink_fits(const FaClip *clip) {
    int chan[VALUES];
    return map_columns(clip, chan);
}

// Yaw, pitch and roll of R = Ry Rx Rz; at the poles, where yaw and roll turn alike, roll is 0.
static void head_angles(const FaPose *pose, double angle[HEAD]) {
    double r[9];
    fai_pose_matrix(pose, r);
    double c = hypot(r[2], r[8]);
    angle[1] = atan2(-r[5], c);
    bool pole = c < 1e-12;
    angle[0] = pole ? atan2(-r[6], r[0]) : atan2(r[2], r[8]);
    angle[2] = pole ? 0 : atan2(r[3], r[4]);
}

FaCode fai_livelink_write(const FaClip *clip, FaText *out, FaError *err) {
    int chan[VALUES];
    if (!map_columns(clip, chan))
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "save it as .json", "a channel has no column in a Live Link take");
    double start = clip->start >= 0 && clip->start < 1e7 ? clip->start : 0;
    if (clip->nframe && !(clip->time[clip->nframe - 1] < 1e7))
        return FA_FAIL(err, FA_E_UNSUPPORTED, NULL, "save it as .json", "a take of %.0f days has no time code",
                       clip->time[clip->nframe - 1] / 86400);
    fai_text_str(out, "Timecode,BlendshapeCount");
    for (int i = 0; i < VALUES; i++) {
        const char *name = i < FA_ARKIT_COUNT ? fa_arkit_name(fai_order_csv(i)) : angle_name[i - FA_ARKIT_COUNT];
        fai_text_printf(out, ",%c%s", name[0] - 'a' + 'A', name + 1);
    }
    fai_text_str(out, "\n");
    bool moved = false;
    int64_t last = -1;
    for (int f = 0; f < clip->nframe; f++) {
        int64_t stamp = fai_timecode_write(out, start + clip->time[f]);
        if (stamp <= last)
            return FA_FAIL(err, FA_E_UNSUPPORTED, FA_PLACE("frame %d", f), "save it as .json",
                           "two frames are closer in time than a time code can tell apart");
        last = stamp;
        fai_text_printf(out, ",%d", VALUES);
        double angle[HEAD] = {0};
        if (clip->head) head_angles(&clip->head[f], angle);
        if (clip->head) moved |= memcmp(clip->head[f].p, clip->head[0].p, sizeof clip->head[f].p) != 0;
        for (int i = 0; i < VALUES; i++) {
            char text[FA_NUMBER_SIZE];
            float v = chan[i] >= 0 ? clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)chan[i]] : 0;
            fai_text_bytes(out, ",", 1);
            int a = i - FA_ARKIT_COUNT;
            if (a >= 0 && a < HEAD)
                fai_text_double(out, angle[a]);
            else
                fai_text_bytes(out, text, (size_t)fai_decimal_float(text, v));
        }
        fai_text_bytes(out, "\n", 1);
    }
    if (moved)
        fai_log(FA_LOG_WARN, "io", -1,
                "a Live Link file holds only the head's rotation: write .json to keep its position too");
    return out->failed ? FA_FAIL_MEMORY(err) : FA_OK;
}

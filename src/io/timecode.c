#include "io/timecode.h"

#include "io/clip_tools.h"

#include <math.h>

enum { WRITE_RATE = 60 };

// --- parsing ------------------------------------------------------------------------------------------------------

// One or two digits (frames: up to three); returns the byte after them or NULL.
static const char *parse_field(const char *s, const char *end, int digits, int max, int *value) {
    int v = 0, n = 0;
    for (; s < end && *s >= '0' && *s <= '9'; s++, n++) {
        if (n >= digits) return NULL;
        v = v * 10 + (*s - '0');
    }
    if (!n || v > max) return NULL;
    *value = v;
    return s;
}

// ".652" or ",652" to billionths; digits beyond the ninth are dropped.
static const char *parse_fraction(const char *s, const char *end, int64_t *billionths) {
    *billionths = 0;
    if (s >= end || (*s != '.' && *s != ',')) return s;
    const char *first = ++s;
    int64_t place = FA_STAMP_UNIT / 10;
    for (; s < end && *s >= '0' && *s <= '9'; s++, place /= 10) *billionths += (*s - '0') * place;
    return s > first ? s : NULL;
}

bool fai_timecode_parse(const char *s, const char *end, FaTimecode *tc, int64_t *stamp) {
    int hour, minute, second, frame = 0;
    int64_t fraction;
    if (!(s = parse_field(s, end, 2, 23, &hour)) || s >= end || *s++ != ':') return false;
    if (!(s = parse_field(s, end, 2, 59, &minute)) || s >= end || *s++ != ':') return false;
    if (!(s = parse_field(s, end, 2, 59, &second))) return false;
    FaStampKind kind = FA_STAMP_CLOCK;
    if (s < end && (*s == ':' || *s == ';')) {
        kind = FA_STAMP_TIMECODE;
        if (*s == ';') tc->semicolon = true;
        if (!(s = parse_field(s + 1, end, 3, FA_STAMP_FRAME_MAX, &frame))) return false;
    }
    if (!(s = parse_fraction(s, end, &fraction)) || s != end) return false;
    if (tc->kind && tc->kind != kind) return false; // one take, one kind
    tc->kind = kind;
    *stamp = ((hour * 3600 + minute * 60 + second) * 1000LL + frame) * FA_STAMP_UNIT + fraction;
    return true;
}

bool fai_timecode_frames(double frame, double subframe, int64_t *stamp) {
    if (!(fabs(frame) <= 4e9) || frame != floor(frame) || !(subframe >= 0 && subframe < 1)) return false;
    *stamp = (int64_t)frame * FA_STAMP_UNIT + (int64_t)(subframe * (double)FA_STAMP_UNIT + 0.5);
    return true;
}

// --- the rate -----------------------------------------------------------------------------------------------------

static int64_t second_of(int64_t stamp) { return stamp / FA_STAMP_SECOND; }
static int64_t frame_of(int64_t stamp) { return stamp % FA_STAMP_SECOND; } // in billionths

// The rate at which the frame field counts: where a second ends at frame a and the next starts at frame b, the usual
// step is b + rate - a. The median over all such places is not disturbed by dropped frames. step: the usual one in
// frames, 0 unknown.
static FaCode find_rate(FaTimecode *tc, const int64_t *stamp, int n, double *step, FaError *err) {
    static const int usual[] = {24, 25, 30, 48, 50, 60, 90, 100, 120, 240, 1000};
    double *d = FA_NEW(n, double); // steps within a second from the front, those across its end from the back
    if (!d) return FA_FAIL_MEMORY(err);
    int nwithin = 0, nacross = 0;
    int64_t largest = 0;
    for (int i = 0; i < n; i++) {
        largest = FA_MAX(largest, frame_of(stamp[i]) / FA_STAMP_UNIT);
        if (i == 0) continue;
        double diff = (double)(frame_of(stamp[i]) - frame_of(stamp[i - 1])) / (double)FA_STAMP_UNIT;
        int64_t seconds = second_of(stamp[i]) - second_of(stamp[i - 1]);
        if (seconds == 0) d[nwithin++] = diff;
        if (seconds == 1) d[n - ++nacross] = diff;
    }
    const double *across = d + n - nacross;
    fai_sort_doubles(d, nwithin);
    fai_sort_doubles(d + n - nacross, nacross);
    *step = nwithin ? d[(nwithin - 1) / 2] : 0;
    tc->assumed = !nwithin || !nacross;
    double wanted = tc->assumed ? WRITE_RATE : *step - across[(nacross - 1) / 2];
    tc->rate = 0;
    for (int i = 0; i < FA_COUNT(usual); i++)
        if (usual[i] > largest && (!tc->rate || fabs(usual[i] - wanted) < fabs(tc->rate - wanted))) tc->rate = usual[i];
    fa_free(d);
    return FA_OK;
}

// Numbers that drop-frame counting leaves out at the start of each minute but every tenth.
static int dropped_numbers(int rate) { return rate == 30 ? 2 : rate == 60 ? 4 : 0; }

// Drop-frame counting shows at the minutes: every change of minute but the tenth skips those numbers, and none of them
// is ever seen there.
static bool find_drop(const FaTimecode *tc, const int64_t *stamp, int n, double step) {
    int skip = dropped_numbers(tc->rate), seen = 0;
    if (!skip) return false;
    if (tc->semicolon) return true;
    for (int i = 0; i < n; i++) {
        int64_t second = second_of(stamp[i]);
        if (second % 60 != 0 || second / 60 % 10 == 0) continue;
        if (frame_of(stamp[i]) < skip * FA_STAMP_UNIT) return false;
        if (i == 0 || second - second_of(stamp[i - 1]) != 1) continue;
        double d = (double)(frame_of(stamp[i]) - frame_of(stamp[i - 1])) / (double)FA_STAMP_UNIT + tc->rate;
        if (fabs(d - step - skip) > 0.5) return false;
        seen++;
    }
    return seen > 0;
}

// Billionths of a frame since midnight.
static int64_t ticks_of(const FaTimecode *tc, int64_t stamp) {
    int64_t second = second_of(stamp), number = second * tc->rate + frame_of(stamp) / FA_STAMP_UNIT;
    if (tc->drop) number -= dropped_numbers(tc->rate) * (second / 60 - second / 600);
    return number * FA_STAMP_UNIT + stamp % FA_STAMP_UNIT;
}

FaCode fai_timecode_times(FaTimecode *tc, const int64_t *stamp, int n, double *time, double *start, FaError *err) {
    *start = 0;
    if (n < 1) return FA_OK;
    double step = 0, num = tc->num, den = tc->den;
    if (tc->kind != FA_STAMP_FRAMES) {
        tc->rate = 1;
        if (tc->kind == FA_STAMP_TIMECODE) FA_TRY(find_rate(tc, stamp, n, &step, err));
        tc->drop = tc->kind == FA_STAMP_TIMECODE && find_drop(tc, stamp, n, step);
        num = tc->drop ? tc->rate * 1000 : tc->rate;
        den = tc->drop ? 1001 : 1;
    }
    int64_t first = 0;
    for (int i = 0; i < n; i++) {
        int64_t ticks = tc->kind == FA_STAMP_FRAMES ? stamp[i] : ticks_of(tc, stamp[i]);
        if (i == 0) first = ticks;
        // exact integers up to here; den is 1 or small, so there is one rounding, in the division
        time[i] = (double)(ticks - first) * den / (num * (double)FA_STAMP_UNIT);
        if (i > 0 && !(time[i] > time[i - 1]))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", i), "check the time codes", "time does not increase");
    }
    *start = (double)first * den / (num * (double)FA_STAMP_UNIT);
    return FA_OK;
}

// --- writing ------------------------------------------------------------------------------------------------------

int64_t fai_timecode_write(FaText *out, double seconds) {
    int64_t all = llround(seconds * (WRITE_RATE * 1000.0)), t = all;
    int part = (int)(t % 1000), frame = (int)(t / 1000 % WRITE_RATE);
    t = t / 1000 / WRITE_RATE;
    fai_text_printf(out, "%02d:%02d:%02d:%02d.%03d", (int)(t / 3600 % 24), (int)(t / 60 % 60), (int)(t % 60), frame,
                    part);
    return all;
}

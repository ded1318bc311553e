#include "io/clip_tools.h"

#include "base/number.h"
#include "io/livelink.h"

#include <float.h>
#include <math.h>

// --- rates --------------------------------------------------------------------------------------------------------

double fai_fps_snap(double fps) {
    static const double common[] = {12,
                                    15,
                                    24000 / 1001.0,
                                    24,
                                    25,
                                    30000 / 1001.0,
                                    30,
                                    48000 / 1001.0,
                                    48,
                                    50,
                                    60000 / 1001.0,
                                    60,
                                    72,
                                    75,
                                    90,
                                    100,
                                    120000 / 1001.0,
                                    120,
                                    144,
                                    200,
                                    240};
    double best = fps, nearest = 0.005;
    for (int i = 0; i < FA_COUNT(common); i++) {
        double off = fabs(fps / common[i] - 1);
        if (off <= nearest) nearest = off, best = common[i];
    }
    return best;
}

// Heapsort: no memory, and no input that makes it slow.
static void sift_down(double *a, int root, int n) {
    double v = a[root];
    for (int child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[child] <= v) break;
        a[root] = a[child];
    }
    a[root] = v;
}

void fai_sort_doubles(double *a, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) sift_down(a, i, n);
    for (int i = n - 1; i > 0; i--) {
        double v = a[0];
        a[0] = a[i];
        a[i] = v;
        sift_down(a, 0, i);
    }
}

FaCode fai_median_step(const double *time, int nframe, double *step, FaError *err) {
    *step = 0;
    if (nframe < 2) return FA_OK;
    double *sorted = FA_NEW(nframe - 1, double);
    if (!sorted) return FA_FAIL_MEMORY(err);
    for (int i = 0; i + 1 < nframe; i++) sorted[i] = time[i + 1] - time[i];
    fai_sort_doubles(sorted, nframe - 1);
    *step = sorted[(nframe - 2) / 2];
    fa_free(sorted);
    return FA_OK;
}

FaCode fai_clip_find_fps(FaClip *clip, double alone, FaError *err) {
    double step;
    FA_TRY(fai_median_step(clip->time, clip->nframe, &step, err));
    double fps = step > 0 ? 1 / step : alone;
    if (!isfinite(fps))
        return FA_FAIL(err, FA_E_FORMAT, NULL, "times are in seconds",
                       "the frames are too close to each other in time");
    clip->fps = fai_fps_snap(fps);
    return FA_OK;
}

// Times that were moved or scaled must still increase.
static FaCode check_times(const FaClip *clip, FaCode code, const char *remedy, FaError *err) {
    for (int i = 0; i < clip->nframe; i++)
        if (!isfinite(clip->time[i]) || (i > 0 && !(clip->time[i] > clip->time[i - 1])))
            return FA_FAIL(err, code, FA_PLACE("frame %d", i), remedy,
                           "the frames are too close in time, or too far apart");
    return FA_OK;
}

FaCode fai_times_apart(const double *time, int nframe, FaError *err) {
    const double least = 1e-6; // s
    for (int i = 1; i < nframe; i++)
        if (time[i] - time[i - 1] < least)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", i), "drop one of the two; times are seconds",
                           "frames %d and %d are %.3g s apart, which is no step of a motion", i - 1, i,
                           time[i] - time[i - 1]);
    return FA_OK;
}

FaCode fai_clip_override_fps(FaClip *clip, double fps, FaError *err) {
    if (!(fps > 0) || !isfinite(fps))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0", "the frame rate is not a rate");
    double scale = clip->fps / fps;
    for (int i = 0; i < clip->nframe && scale != 1; i++) clip->time[i] *= scale;
    clip->fps = fps;
    return check_times(clip, FA_E_ARG, "give a usual frame rate", err);
}

FaCode fai_clip_room(size_t file_size, int64_t nframe, int64_t nchan, bool head, FaError *err) {
    if (nframe > INT32_MAX || nchan > INT32_MAX)
        return FA_FAIL(err, FA_E_LIMIT, NULL, "split the file", "more than %d frames or channels", INT32_MAX);
    // weights, time and one scratch number per frame, pose and angles
    double bytes = (double)nframe * ((double)nchan * sizeof(float) + 16 + (head ? sizeof(FaPose) + 24 : 0));
    if (bytes <= 4.0 * (double)file_size + 0x1p26) return FA_OK;
    return FA_FAIL(err, FA_E_LIMIT, NULL, "check that the file is complete, or split it",
                   "%lld frames of %lld channels are more than the file can hold", (long long)nframe, (long long)nchan);
}

FaCode fai_clip_from_zero(FaClip *clip, FaError *err) {
    double first = clip->time[0];
    clip->start += first;
    for (int i = 0; i < clip->nframe; i++) clip->time[i] -= first;
    return check_times(clip, FA_E_FORMAT, "times are seconds", err);
}

// --- names --------------------------------------------------------------------------------------------------------

FaCode fai_equal_names(const char *const *name, int n, int *i, int *j, FaError *err) {
    *i = *j = -1;
    uint64_t mask = 15;
    while (mask < 2 * (uint64_t)n) mask = 2 * mask + 1;
    int *slot = FA_NEW(mask + 1, int); // name's number + 1, 0: free
    if (!slot) return FA_FAIL_MEMORY(err);
    for (int k = 0; k < n && *i < 0; k++) {
        uint64_t h = fai_hash64(name[k], strlen(name[k]), 0) & mask;
        while (slot[h] && strcmp(name[slot[h] - 1], name[k])) h = (h + 1) & mask;
        if (slot[h]) *i = slot[h] - 1, *j = k;
        slot[h] = k + 1;
    }
    fa_free(slot);
    return FA_OK;
}

FaCode fai_clip_note_names(FaClip *clip, FaError *err) {
    int i = -1, j = -1;
    FA_TRY(fai_equal_names(clip->name, clip->nchan, &i, &j, err));
    if (i >= 0)
        fai_note(&clip->notes, "duplicate-names", FA_PLACE("channels %d and %d", i, j), "rename one of them",
                 "more than one channel is called '%.60s'; the first is used", clip->name[i]);
    return FA_OK;
}

// Is it well-formed UTF-8? (RFC 3629: no overlong forms, no surrogates)
static bool is_utf8(const unsigned char *s, size_t n) {
    for (size_t i = 0; i < n;) {
        unsigned char c = s[i++];
        if (c < 0x80) continue;
        int more = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
        if (!more || i + (size_t)more > n) return false;
        if ((c == 0xE0 && s[i] < 0xA0) || (c == 0xED && s[i] > 0x9F) || (c == 0xF0 && s[i] < 0x90) ||
            (c == 0xF4 && s[i] > 0x8F))
            return false;
        for (; more; more--, i++)
            if ((s[i] & 0xC0) != 0x80) return false;
    }
    return true;
}

char *fai_clip_name(FaArena *arena, const char *text, size_t size, bool trim) {
    while (trim && size && (*text == ' ' || *text == '\t')) text++, size--;
    while (trim && size && (text[size - 1] == ' ' || text[size - 1] == '\t')) size--;
    if (size && memchr(text, 0, size)) return NULL;
    if (is_utf8((const unsigned char *)text, size)) return fai_arena_strndup(arena, text, size);
    char *name = FA_PUSH(arena, 2 * size + 1, char), *to = name;
    for (size_t i = 0; name && i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x80) *to++ = (char)(0xC0 | c >> 6);
        *to++ = (char)(c < 0x80 ? c : 0x80 | (c & 63));
    }
    return name;
}

// --- weights ------------------------------------------------------------------------------------------------------

// One kind of odd weight: how many, the first, the one furthest out.
typedef struct Odd {
    int64_t count;
    int frame, chan;
    float worst;
} Odd;

static void add_odd(Odd *odd, int frame, int chan, float w) {
    if (!odd->count++) odd->frame = frame, odd->chan = chan, odd->worst = w;
    if (fabsf(w) > fabsf(odd->worst)) odd->worst = w;
}

static void note_odd(FaClip *clip, const Odd *odd, const char *code, const char *remedy, const char *what) {
    if (!odd->count) return;
    char worst[FA_NUMBER_SIZE];
    fai_format_float(worst, odd->worst);
    int count = (int)FA_MIN(odd->count, INT32_MAX);
    fai_note_count(&clip->notes, count, code, FA_PLACE("frame %d, %.60s", odd->frame, clip->name[odd->chan]), remedy,
                   "%d weight%s %s %s, the furthest is %s", count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
                   what, worst);
}

void fai_clip_note_weights(FaClip *clip) {
    enum { HUGE_WEIGHT = 100 };
    Odd over = {0}, below = {0}, huge = {0}, denormal = {0};
    for (int f = 0; f < clip->nframe; f++) {
        const float *w = clip->weight + (size_t)f * (size_t)clip->nchan;
        for (int c = 0; c < clip->nchan; c++) {
            if (w[c] == 0 || (w[c] >= FLT_MIN && w[c] <= 1)) continue;
            if (fai_livelink_angle(clip->name[c]) >= 0) continue; // an angle, not a weight
            if (w[c] > 1) add_odd(&over, f, c, w[c]);
            if (w[c] < 0) add_odd(&below, f, c, w[c]);
            if (fabsf(w[c]) > HUGE_WEIGHT) add_odd(&huge, f, c, w[c]);
            if (fabsf(w[c]) < FLT_MIN) add_odd(&denormal, f, c, w[c]);
        }
    }
    note_odd(clip, &over, "weights-over-1",
             over.worst >= 10 ? "divide them by 100 if they are percentages"
                              : "nothing if meant: shapes are extrapolated",
             "above 1");
    note_odd(clip, &below, "weights-below-0", "nothing if meant: shapes are extrapolated", "below 0");
    note_odd(clip, &huge, "huge-weights", "check the export: faces use 0 to 1", "over 100 in size");
    note_odd(clip, &denormal, "denormal-weights", "nothing: they act as 0", "too small to matter");
}

// --- poses --------------------------------------------------------------------------------------------------------

void fai_mat3_mul(const double a[9], const double b[9], double out[9]) {
    double m[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) m[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
    memcpy(out, m, sizeof m);
}

void fai_mat3_axis(int axis, double radians, double out[9]) {
    double c = cos(radians), s = sin(radians);
    int i = (axis + 1) % 3, j = (axis + 2) % 3;
    memset(out, 0, 9 * sizeof *out);
    out[4 * axis] = 1;
    out[4 * i] = out[4 * j] = c;
    out[3 * i + j] = -s;
    out[3 * j + i] = s;
}

void fai_pose_rotate(FaPose *pose, const double r[9], const FaPose *before) {
    // the largest of the four components is found from the diagonal, the others divided by it: never by something small
    double d[4] = {r[0] - r[4] - r[8], r[4] - r[0] - r[8], r[8] - r[0] - r[4], r[0] + r[4] + r[8]};
    int big = 0;
    for (int i = 1; i < 4; i++)
        if (d[i] > d[big]) big = i;
    double *q = pose->q, v = 0.5 * sqrt(1 + d[big]), k = 0.25 / v;
    q[big] = v;
    if (big == 3) {
        q[0] = (r[7] - r[5]) * k, q[1] = (r[2] - r[6]) * k, q[2] = (r[3] - r[1]) * k;
    } else {
        int i = big, j = (i + 1) % 3, l = (i + 2) % 3;
        q[j] = (r[3 * j + i] + r[3 * i + j]) * k;
        q[l] = (r[3 * l + i] + r[3 * i + l]) * k;
        q[3] = (r[3 * l + j] - r[3 * j + l]) * k;
    }
    double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    double sign = 1;
    if (before)
        sign = q[0] * before->q[0] + q[1] * before->q[1] + q[2] * before->q[2] + q[3] * before->q[3] < 0 ? -1 : 1;
    else if (q[3] < 0)
        sign = -1;
    for (int i = 0; i < 4; i++) q[i] *= sign / n;
}

bool fai_pose_unit(FaPose *pose, FaNotes *notes, const char *where) {
    double *q = pose->q, n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(n >= 1e-3 && n <= 1e6)) return false;
    if (fabs(n - 1) <= 1e-6) return true;
    for (int i = 0; i < 4; i++) q[i] /= n;
    fai_note(notes, "quaternion-length", where, "write unit quaternions",
             "quaternions of the head were brought to length 1");
    return true;
}

void fai_pose_matrix(const FaPose *pose, double r[9]) {
    double x = pose->q[0], y = pose->q[1], z = pose->q[2], w = pose->q[3];
    const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                         2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                         2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    memcpy(r, m, sizeof m);
}

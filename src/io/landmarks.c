// Landmarks over time: making, checking, finishing what a reader has read, files.
#include "io/landmarks.h"

#include "base/file.h"
#include "base/number.h"
#include "io/clip_tools.h"

#include <math.h>

int fai_landmark_count(FaLandmarkLayout layout) {
    return layout == FA_LANDMARKS_68 ? 68 : layout == FA_LANDMARKS_468 ? 468 : 478;
}

bool fai_landmark_layout(int count, FaLandmarkLayout *layout) {
    for (int l = FA_LANDMARKS_68; l <= FA_LANDMARKS_478; l++)
        if (fai_landmark_count((FaLandmarkLayout)l) == count) {
            *layout = (FaLandmarkLayout)l;
            return true;
        }
    return false;
}

// --- making and checking ------------------------------------------------------------------------------------------

FaCode fa_landmarks_new(FaLandmarkLayout layout, int dims, int nframe, double fps, FaLandmarkTake **take,
                        FaError *err) {
    *take = NULL;
    if (layout < FA_LANDMARKS_68 || layout > FA_LANDMARKS_478 || dims < 2 || dims > 3 || nframe < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "give a layout, 2 or 3 dimensions and at least one frame",
                       "landmarks of %d dimensions and %d frames", dims, nframe);
    if (!(fps > 0) || !isfinite(fps))
        return FA_FAIL(err, FA_E_ARG, NULL, "give a rate above 0", "the frame rate is no rate");
    FaLandmarkTake *t = FA_NEW(1, FaLandmarkTake);
    if (!t) return FA_FAIL_MEMORY(err);
    *t = (FaLandmarkTake){.layout = layout,
                          .count = fai_landmark_count(layout),
                          .dims = dims,
                          .nframe = nframe,
                          .fps = fps,
                          .width = 1,
                          .height = 1};
    size_t n = (size_t)nframe * (size_t)t->count;
    t->time = FA_NEW(nframe, double);
    t->x = FA_NEW(n * (size_t)dims, float);
    t->visibility = FA_NEW(n, float);
    if (!t->time || !t->x || !t->visibility) {
        fa_landmarks_free(t);
        return FA_FAIL_MEMORY(err);
    }
    for (int f = 0; f < nframe; f++) t->time[f] = f / fps;
    for (size_t i = 0; i < n * (size_t)dims; i++) t->x[i] = NAN;
    *take = t;
    return FA_OK;
}

void fa_landmarks_free(FaLandmarkTake *take) {
    if (!take) return;
    fa_free(take->time);
    fa_free(take->x);
    fa_free(take->visibility);
    fa_free(take->path);
    fai_notes_free(&take->notes);
    fa_free(take);
}

FaCode fa_landmarks_check(const FaLandmarkTake *take, FaError *err) {
    if (take->nframe < 1 || take->dims < 2 || take->dims > 3 || take->count != fai_landmark_count(take->layout))
        return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the landmarks have no frames, or counts that fit no layout");
    if (!take->time || !take->x || !take->visibility)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "the landmarks have counts but no arrays");
    if (!(take->fps > 0) || !isfinite(take->fps) || !isfinite(take->start))
        return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the frame rate is no rate");
    if (!(take->width > 0) || !(take->height > 0) || !isfinite(take->width) || !isfinite(take->height))
        return FA_FAIL(err, FA_E_FORMAT, NULL, NULL, "the image has no size");
    for (int f = 0; f < take->nframe; f++) {
        double t = take->time[f];
        if (!isfinite(t) || (f == 0 ? t != 0 : !(t > take->time[f - 1])))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), NULL, "times must start at 0 and increase");
        for (int i = 0; i < take->count; i++) {
            size_t at = (size_t)f * (size_t)take->count + (size_t)i;
            float v = take->visibility[at];
            bool good = v >= 0 && v <= 1;
            for (int k = 0; k < take->dims; k++) {
                float x = take->x[at * (size_t)take->dims + (size_t)k];
                good &= v > 0 ? isfinite(x) : isnan(x);
            }
            if (!good)
                return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d, point %d", f, i), NULL,
                               "visibility must be 0 to 1, the position finite where it is above 0 and NAN else");
        }
    }
    return FA_OK;
}

FaCode fai_landmarks_room(size_t file_size, int64_t nframe, int count, int dims, FaError *err) {
    double bytes = (double)nframe * ((double)count * (dims + 1) * sizeof(float) + 16);
    if (nframe <= INT32_MAX && bytes <= 4.0 * (double)file_size + 0x1p26) return FA_OK;
    // frames without a face are short and hold as many numbers as others
    return FA_FAIL(err, FA_E_LIMIT, NULL, "leave out the frames without a face, or split the file",
                   "%lld frames of %d points are more than the file can hold", (long long)nframe, count);
}

// --- finishing ----------------------------------------------------------------------------------------------------

static FaCode find_times(FaLandmarkTake *t, const FaLandmarkFacts *facts, const FaLandmarkOptions *o, FaError *err) {
    double asked = o ? o->fps : 0, step;
    if (!facts->timed) {
        double fps = asked > 0 ? asked : facts->fps > 0 ? facts->fps : 30;
        if (!(asked > 0) && !(facts->fps > 0) && t->nframe > 1)
            fai_note(&t->notes, "rate-unknown", "", "give the frame rate (--fps)",
                     "the file has neither times nor a rate; 30 frames per second were taken");
        t->fps = fps;
        for (int f = 0; f < t->nframe; f++) t->time[f] = f / fps;
        return FA_OK;
    }
    for (int f = 1; f < t->nframe; f++)
        if (!(t->time[f] > t->time[f - 1]))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), "sort the frames by time, one per time",
                           "the time is not after the frame before");
    double first = t->time[0];
    for (int f = 0; f < t->nframe; f++) t->time[f] -= first;
    t->start = first;
    FA_TRY(fai_median_step(t->time, t->nframe, &step, err));
    double scale = facts->stamps && step >= 1 ? 0.001 : 1;
    t->start *= scale;
    double fps = step > 0 ? 1 / (step * scale) : facts->fps > 0 ? facts->fps : asked > 0 ? asked : 30;
    t->fps = facts->fps > 0 && fabs(fps / facts->fps - 1) <= 0.02 ? facts->fps : fai_fps_snap(fps);
    if (asked > 0) {
        scale *= t->fps / asked;
        t->fps = asked;
    }
    for (int f = 0; f < t->nframe; f++) {
        t->time[f] *= scale;
        bool rate = t->fps > 1e-6 && t->fps < 1e6; // as the readers take it
        if (!isfinite(t->time[f]) || (f && !(t->time[f] > t->time[f - 1])) || !rate || !isfinite(t->start))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %d", f), "times are seconds",
                           "the frames are too close in time, or too far apart");
    }
    return FA_OK;
}

// To pixels. Beyond float range is an error.
static FaCode to_pixels(FaLandmarkTake *t, const FaLandmarkFacts *facts, const FaLandmarkOptions *o, FaError *err) {
    size_t n = (size_t)t->nframe * (size_t)t->count, dims = (size_t)t->dims;
    if (t->metric) return FA_OK;
    double width = o && o->width > 0 ? o->width : facts->width, height = o && o->height > 0 ? o->height : facts->height;
    bool normalized = facts->normalized == 1, sized = width > 0 && height > 0;
    if (facts->normalized < 0) {
        normalized = true;
        for (size_t i = 0; i < n && normalized; i++)
            for (size_t k = 0; t->visibility[i] > 0 && k < 2; k++)
                normalized &= t->x[i * dims + k] >= -1 && t->x[i * dims + k] <= 2;
    }
    if (sized) {
        t->width = width;
        t->height = height;
    } else
        fai_note(&t->notes, "image-size", "", "give the width and height of the image (--image WxH)",
                 normalized ? "the size of the image is not known; a square was taken"
                            : "the size of the image is not known");
    if (!normalized || !sized) return FA_OK;
    double scale[3] = {width, height, width};
    for (size_t i = 0; i < n * dims; i++) {
        if (isnan(t->x[i])) continue;
        t->x[i] = (float)((double)t->x[i] * scale[i % dims]);
        if (!isfinite(t->x[i]))
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("frame %zu", i / dims / (size_t)t->count),
                           "check the size of the image", "a coordinate is too large");
    }
    return FA_OK;
}

FaCode fai_landmarks_finish(FaLandmarkTake *take, const FaLandmarkFacts *facts, const FaLandmarkOptions *options,
                            FaError *err) {
    size_t n = (size_t)take->nframe * (size_t)take->count;
    int64_t missing = 0;
    for (size_t i = 0; i < n; i++) {
        bool all = true;
        float *x = take->x + i * (size_t)take->dims;
        for (int k = 0; k < take->dims; k++) all &= isfinite(x[k]);
        if (all && take->visibility[i] > 0) continue;
        missing++;
        take->visibility[i] = 0;
        for (int k = 0; k < take->dims; k++) x[k] = NAN;
    }
    if (missing == (int64_t)n)
        return FA_FAIL(err, FA_E_FORMAT, NULL, "check that the tracker saw the face",
                       "there is no face in any of the %d frame%s", take->nframe, take->nframe == 1 ? "" : "s");
    FA_TRY(find_times(take, facts, options, err));
    FA_TRY(to_pixels(take, facts, options, err));
    fai_note_count(&take->notes, facts->lost, "face-lost", FA_PLACE("frame %d", facts->first_lost), "",
                   "%d frame%s no face", facts->lost, facts->lost == 1 ? " has" : "s have");
    int64_t single = missing - (int64_t)facts->lost * take->count;
    int count = (int)FA_MIN(FA_MAX(single, 0), INT32_MAX);
    fai_note_count(&take->notes, count, "missing-samples", "", "nothing is filled in: they do not count",
                   "%d point%s missing in frames with a face", count, count == 1 ? " is" : "s are");
    fai_note_count(&take->notes, facts->several, "several-faces", "", "crop the picture to one face",
                   "%d frame%s more than one face; one was taken", facts->several,
                   facts->several == 1 ? " has" : "s have");
    return FA_OK;
}

// --- files --------------------------------------------------------------------------------------------------------

static bool bad_size(double v) { return !isfinite(v) || v < 0; }

FaCode fai_landmarks_parse(const void *data, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                           FaError *err) {
    *take = NULL;
    if (options && (bad_size(options->fps) || bad_size(options->width) || bad_size(options->height)))
        return FA_FAIL(err, FA_E_ARG, NULL, "give numbers above 0", "the frame rate or the image's size is none");
    const char *s = data, *end = s + size;
    if (size >= 3 && !memcmp(s, "\xEF\xBB\xBF", 3)) s += 3;
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n')) s++;
    if (s == end) return FA_FAIL(err, FA_E_FORMAT, NULL, "check that it was saved", "the file is empty");
    bool json = *s == '{' || *s == '[';
    return json ? fai_landmarks_json_parse(data, size, options, take, err)
                : fai_landmarks_csv_parse(data, size, options, take, err);
}

FaLandmarkOptions fa_landmark_options_default(void) { return (FaLandmarkOptions){0}; }

FaCode fa_landmarks_load(const char *path, const FaLandmarkOptions *options, FaLandmarkTake **take, FaError *err) {
    FA_ASSERT(path && take);
    *take = NULL;
    FaBytes bytes = {0};
    FaCode rc = fai_file_read(path, 0, &bytes, err);
    if (rc >= 0) rc = fai_landmarks_parse(bytes.data, bytes.size, options, take, err);
    fai_bytes_free(&bytes);
    if (rc >= 0 && !((*take)->path = fai_strdup(path))) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fa_landmarks_check(*take, err);
    if (rc >= 0) rc = fai_times_apart((*take)->time, (*take)->nframe, err);
    if (rc >= 0) return rc;
    fa_landmarks_free(*take);
    *take = NULL;
    return fai_fail_in(err, rc, path);
}

FaCode fa_landmarks_frame(const char *text, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                          FaError *err) {
    const char *end = text + size;
    *take = NULL;
    while (text < end && strchr(" \t\r\n", *text) && *text) text++;
    while (text < end && strchr(" \t\r\n", end[-1]) && end[-1]) end--;
    if (end - text == 4 && !memcmp(text, "null", 4)) return FA_OK;
    FA_TRY(fai_landmarks_json_frame(text, (size_t)(end - text), options, take, err));
    FaCode rc = *take ? fa_landmarks_check(*take, err) : FA_OK;
    if (rc >= 0) return rc;
    fa_landmarks_free(*take);
    *take = NULL;
    return rc;
}

FaCode fa_landmarks_save(const FaLandmarkTake *take, const char *path, FaError *err) {
    FA_ASSERT(take && path);
    FaText text = {0};
    FaCode rc = fa_landmarks_check(take, err);
    if (rc < 0) return fai_fail_in(err, rc, path);
    if (fai_path_has_ext(path, "json"))
        rc = fai_landmarks_json_write(take, &text, err);
    else if (fai_path_has_ext(path, "csv"))
        rc = fai_landmarks_csv_write(take, &text, err);
    else
        rc = FA_FAIL(err, FA_E_ARG, NULL, "end the name in .json or .csv",
                     "landmarks are saved as .json or .csv, not .%s", fai_path_ext(path));
    if (rc >= 0) rc = fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    return fai_fail_in(err, rc, path);
}

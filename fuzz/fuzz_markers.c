// Markers (CSV, TRC, C3D) and landmarks (JSON, CSV) on the same bytes. What is accepted must hold the take's
// invariants, and survive being written and read again.
#include "fuzz.h"

#include "base/base.h"
#include "io/landmarks.h"
#include "io/markers.h"

#include <math.h>
#include <stdlib.h>

typedef FaCode ParseFn(const void *data, size_t size, const FaMarkerOptions *options, FaMarkerTake **take,
                       FaError *err);
typedef FaCode WriteFn(const FaMarkerTake *take, FaText *out, FaError *err);

static const FaMarkerOptions lenient = {.unit = FA_UNIT_M, .fps = 0, .any_size = true};

// In metres and without loss: the same bits come back, but for times that are moved and names that cannot be said.
static void again(const FaMarkerTake *a) {
    FaText text = {0};
    FaError err = {0};
    FaMarkerTake *b;
    if (fai_markers_csv_write(a, &text, &err) < 0) abort();
    if (fai_markers_csv_parse(text.data, text.size, &lenient, &b, &err) < 0) abort();
    if (a->nframe != b->nframe || a->nmarker != b->nmarker) abort();
    size_t n = (size_t)a->nframe * (size_t)a->nmarker;
    if (memcmp(a->ok, b->ok, n)) abort();
    for (size_t i = 0; i < 3 * n; i++)
        if (a->ok[i / 3] && a->x[i] != b->x[i]) abort();
    for (int m = 0; m < a->nmarker; m++)
        if (strcmp(a->name[m], b->name[m])) abort();
    fa_markers_free(b);
    fai_text_free(&text);
    // the other two need only be readable
    static WriteFn *const write[] = {fai_markers_trc_write, fai_markers_c3d_write};
    static ParseFn *const parse[] = {fai_markers_trc_parse, fai_markers_c3d_parse};
    for (int i = 0; i < 2; i++) {
        FaText out = {0};
        err = (FaError){0};
        if (write[i](a, &out, &err) >= 0) {
            FaCode rc =
                parse[i](out.data, out.size, &(FaMarkerOptions){.unit = FA_UNIT_MM, .any_size = true}, &b, &err);
            // a marker at 0 0 0 is a lost one there
            if (rc < 0 && !strstr(err.what, "no marker is seen")) abort();
            if (rc >= 0 && (a->nframe != b->nframe || a->nmarker != b->nmarker)) abort();
            fa_markers_free(b);
        } else if (!err.what[0])
            abort();
        fai_text_free(&out);
    }
}

static void landmarks(const uint8_t *data, size_t size) {
    FaLandmarkTake *a, *b;
    FaError err = {0}, bad = {0};
    FaCode rc = fa_landmarks_frame((const char *)data, size, NULL, &a, &err);
    if (rc < 0 ? a || !err.what[0] : a && (a->nframe != 1 || fa_landmarks_check(a, &bad) < 0)) abort();
    fa_landmarks_free(a);
    err = (FaError){0};
    rc = fai_landmarks_parse(data, size, NULL, &a, &err);
    if (rc < 0 ? a || !err.what[0] : fa_landmarks_check(a, &bad) < 0) abort();
    if (rc < 0) return;
    FaText text = {0};
    if (fai_landmarks_json_write(a, &text, &bad) < 0) abort();
    if (fai_landmarks_json_parse(text.data, text.size, NULL, &b, &bad) < 0) abort();
    if (a->nframe != b->nframe || a->count != b->count || a->dims != b->dims) abort();
    if (memcmp(a->visibility, b->visibility, (size_t)a->nframe * (size_t)a->count * sizeof *a->visibility)) abort();
    fai_text_free(&text);
    fa_landmarks_free(a);
    fa_landmarks_free(b);
}

void fuzz_one(const uint8_t *data, size_t size) {
    static ParseFn *const parse[] = {fai_markers_csv_parse, fai_markers_trc_parse, fai_markers_c3d_parse};
    static const FaMarkerOptions options[] = {{0}, {.unit = FA_UNIT_CM, .fps = 60}};
    for (int p = 0; p < 3; p++)
        for (int o = 0; o < 2; o++) {
            FaMarkerTake *take;
            FaError err = {0}, bad = {0};
            FaCode rc = parse[p](data, size, &options[o], &take, &err);
            if (rc < 0 ? take || !err.what[0] : fa_markers_check(take, &bad) < 0) abort();
            if (rc >= 0 && o == 0) again(take);
            fa_markers_free(take);
        }
    landmarks(data, size);
}

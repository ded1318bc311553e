// The size of the pictures that landmarks are from, where their file does not say. Pixels: the smallest usual picture
// that holds them. Shares of the picture's sides: the usual shape in which they look most like a face, tried on some
// frames.
#include "base/base.h"
#include "fascia/camera.h"

#include <math.h>

enum { LOOKS = 12 }; // frames that decide
static const double TRUST =
    0.004; // error of a landmark over the size of a face that weighs like a standard deviation of identity

static void scale(FaLandmarkTake *t, double width, double height) {
    double by[3] = {width, height, width};
    size_t n = (size_t)t->nframe * (size_t)t->count * (size_t)t->dims;
    for (size_t i = 0; i < n; i++) t->x[i] = (float)(by[i % (size_t)t->dims] * (double)t->x[i]);
    t->width = width;
    t->height = height;
}

static FaCode some_frames(const FaLandmarkTake *t, FaLandmarkTake **some, FaError *err) {
    int n = FA_MIN(t->nframe, LOOKS);
    size_t count = (size_t)t->count, row = count * (size_t)t->dims;
    FA_TRY(fa_landmarks_new(t->layout, t->dims, n, t->fps, some, err));
    for (int i = 0; i < n; i++) {
        size_t to = (size_t)i, from = (size_t)((int64_t)i * t->nframe / n);
        memcpy((*some)->x + to * row, t->x + from * row, row * sizeof *t->x);
        memcpy((*some)->visibility + to * count, t->visibility + from * count, count * sizeof *t->visibility);
    }
    return FA_OK;
}

// How unlike a face the landmarks are in a picture of this shape; INFINITY: no face at all.
static FaCode unlike(const FaFaceModel *model, const FaLandmarkTake *t, double width, double height, double *score,
                     FaError *err) {
    FaLandmarkTake *some = NULL;
    FaCameraFit *fit = NULL;
    FaError why = {0};
    *score = INFINITY;
    FA_TRY(some_frames(t, &some, err));
    scale(some, width, height);
    FaCameraOptions o = fa_camera_options_default();
    o.smooth = 0;
    FaCode rc = fa_camera_fit(model, some, &o, &fit, &why);
    if (rc >= 0) {
        double error = fit->error_rms / (TRUST * fmax(fit->face_px, 1e-9)), frames = some->nframe;
        *score = error * error * frames * t->count / (1 + t->count / 100.0); // landmarks that lie close err alike
        for (int k = 0; k < fit->nid; k++) *score += sqrt(frames) * (double)fit->identity[k] * (double)fit->identity[k];
    }
    fa_camera_fit_free(fit);
    fa_landmarks_free(some);
    return rc == FA_E_MEMORY ? FA_FAIL_MEMORY(err) : FA_OK;
}

// What was taken, in place of what the reader said.
static void say(FaNotes *notes, const char *taken, const char *why) {
    FaNotes old = *notes;
    *notes = (FaNotes){0};
    for (int i = 0; i < old.count; i++) {
        const FaNote *n = &old.note[i];
        if (strcmp(n->code, "image-size"))
            fai_note_count(notes, n->count, n->code, n->where, n->remedy, "%s", n->text);
        else
            fai_note(notes, n->code, n->where, n->remedy, "the size of the pictures is not known; %s was taken, %s",
                     taken, why);
    }
    fai_notes_free(&old);
}

static void of_pixels(FaLandmarkTake *t, const double far[2]) {
    static const int SIZE[][2] = {{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}, {7680, 4320}};
    t->width = far[0];
    t->height = far[1];
    for (int i = 0; i < 2 * FA_COUNT(SIZE); i++) {
        double w = SIZE[i / 2][i % 2], h = SIZE[i / 2][1 - i % 2];
        if (far[0] > w || far[1] > h) continue;
        t->width = w;
        t->height = h;
        break;
    }
    say(&t->notes, FA_PLACE("%g x %g", t->width, t->height), "which holds all landmarks");
}

FaCode fa_camera_picture(const FaFaceModel *model, FaLandmarkTake *t, FaError *err) {
    static const struct {
        const char *name;
        double width, height;
    } SHAPE[] = {{"16:9", 1280, 720}, {"4:3", 960, 720}, {"1:1", 720, 720}, {"3:4", 720, 960}, {"9:16", 720, 1280}};
    FA_ASSERT(model && t);
    if (t->metric || t->width > 1 || t->height > 1 || !fa_face_model_has(model, t->layout)) return FA_OK;
    double far[2] = {1, 1}, best = INFINITY;
    for (size_t i = 0; i < (size_t)t->nframe * (size_t)t->count; i++)
        for (size_t k = 0; k < 2; k++) far[k] = fmax(far[k], (double)t->x[i * (size_t)t->dims + k]); // NAN: missing
    if (far[0] > 2 || far[1] > 2) {
        of_pixels(t, far);
        return FA_OK;
    }
    int found = -1;
    for (int i = 0; i < FA_COUNT(SHAPE); i++) {
        double score;
        FA_TRY(unlike(model, t, SHAPE[i].width, SHAPE[i].height, &score, err));
        if (score < best) best = score, found = i;
    }
    if (found < 0) return FA_OK; // the fit will say so
    scale(t, SHAPE[found].width, SHAPE[found].height);
    say(&t->notes, SHAPE[found].name, "in which the landmarks look most like a face");
    return FA_OK;
}

// A film of the shipped head: landmarks as a tracker finds them in pictures.
#ifndef FASCIA_TEST_FILM_H
#define FASCIA_TEST_FILM_H

#include "base/base.h"
#include "math/mat3.h"
#include "test.h"
#include "track/face_model.h"

enum { LOOKS = 24 };

// The shipped head as a camera of 1280 x 720 sees it: the jaw opens and closes, a smile, the head turns a little.
// mirror: x exchanged.
static inline void film(const FaFaceModel *model, FaLandmarkLayout layout, bool mirror, const char *path,
                        FaClip **clip) {
    FaError err = {0};
    FaLandmarkTake *take;
    const FaModelRows *rows = fai_model_rows(model, layout);
    CHECK_OK(fa_landmarks_new(layout, 2, LOOKS, 30, &take, &err), &err);
    CHECK_OK(fa_clip_new(LOOKS, model->nexp, model->exp_name, 30, clip, &err), &err);
    take->width = 1280;
    take->height = 720;
    for (int i = 0; i < LOOKS; i++) {
        float *w = (*clip)->weight + (size_t)i * (size_t)model->nexp;
        double turn[3] = {0.1 * sin(0.2 * i), 0.3 * sin(0.15 * i), 0}, half[4] = {1, 0, 0, 0}, q[4];
        for (int j = 0; j < model->nexp; j++) {
            if (!strcmp(model->exp_name[j], "jawOpen")) w[j] = (float)(0.4 - 0.4 * cos(0.3 * i));
            if (!strncmp(model->exp_name[j], "mouthSmile", 10)) w[j] = (float)(0.3 - 0.3 * cos(0.2 * i));
        }
        fai_q_exp(turn, q);
        fai_q_mul(half, q, q);
        for (int k = 0; k < rows->n; k++) {
            size_t at = (size_t)i * (size_t)take->count + (size_t)rows->index[k];
            double x[3];
            fai_model_landmark(model, rows, k, NULL, w, x);
            fai_q_rotate(q, x, x);
            x[2] += 0.65;
            take->x[2 * at] = (float)(640 + (mirror ? -1100 : 1100) * x[0] / x[2] + 0.3 * fai_random_normal(4, 2 * at));
            take->x[2 * at + 1] = (float)(360 + 1100 * x[1] / x[2] + 0.3 * fai_random_normal(4, 2 * at + 1));
            take->visibility[at] = 1;
        }
    }
    CHECK_OK(fa_landmarks_save(take, path, &err), &err);
    fa_landmarks_free(take);
}

#endif

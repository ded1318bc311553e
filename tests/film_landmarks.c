// film_landmarks OUT.json: the landmarks of test_film.h as a file, for checks that run programs.
#include "test_film.h"

int main(int argc, char **argv) {
    FaError err = {0};
    FaFaceModel *model;
    FaClip *clip;
    if (argc != 2) return 2;
    CHECK_OK(fa_face_model_head(&model, &err), &err);
    film(model, FA_LANDMARKS_68, false, argv[1], &clip);
    fa_clip_free(clip);
    fa_face_model_free(model);
    return 0;
}

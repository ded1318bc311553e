// A face fitted to landmarks of a photograph: reprojection errors, the landmarks that fit worst, an overlay picture.
// usage: fit_photo OUT NAME.json...; NAME.png beside it is the photograph. Exit 1 where a fit is worse than it should
// be.
#include "base/base.h"
#include "fascia/camera.h"
#include "head/head_landmarks.h"
#include "math/mat3.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 478 };
static const double LIMIT = 0.015; // error by trust over the height from chin to forehead (landmarks 152, 10)

typedef struct Residuals {
    double sum[COUNT][2]; // pixels over the face's height, in the picture's axes
    double square[COUNT];
    int n;
} Residuals;

static void measure(const FaFaceModel *model, const FaCameraFit *fit, const FaLandmarkTake *take,
                    const FaMarkerPoint *point, const float *weight, Residuals *all, double *height, double *rms) {
    float *x = FA_NEW(3 * (size_t)model->rig->mesh.nvert, float);
    fa_face_model_face(model, fit->identity, fit->weight, x);
    const float *top = take->x + 10 * take->dims, *chin = take->x + 152 * take->dims;
    double sum = 0, total = 0;
    *height = hypot((double)top[0] - (double)chin[0], (double)top[1] - (double)chin[1]);
    for (int i = 0; i < take->count; i++) {
        if (!(weight[i] > 0)) continue;
        double p[3], q[3];
        fa_marker_point_at(&point[i], x, true, p);
        fai_pose_apply(&fit->pose[0], p, q);
        double at[2] = {0.5 * fit->width + fit->focal * q[0] / q[2], 0.5 * fit->height + fit->focal * q[1] / q[2]},
               s = 0;
        for (int k = 0; k < 2; k++) {
            double e = ((double)take->x[take->dims * i + k] - at[k]) / *height;
            all->sum[i][k] += e, s += e * e;
        }
        all->square[i] += s;
        sum += (double)weight[i] * s, total += (double)weight[i];
    }
    all->n++;
    *rms = sqrt(sum / total);
    fa_free(x);
}

static Residuals *ranked;
static int by_error(const void *a, const void *b) {
    double d = ranked->square[*(const int *)b] - ranked->square[*(const int *)a];
    return (d > 0) - (d < 0);
}

static int stop(const char *what, const FaError *err) {
    printf("%s: %s\n", what, err->what);
    return 1;
}

int main(int argc, char **argv) {
    static FaMarkerPoint point[COUNT];
    static float weight[COUNT];
    static Residuals all;
    FaError err = {0};
    FaFaceModel *model = NULL;
    FaHead *head = NULL;
    FaHeadParams params = fa_head_params_default();
    int bad = 0;
    if (argc < 3) return 2;
    if (fa_face_model_head(&model, &err) < 0) return stop("model", &err);
    params.shapes = false;
    for (params.level = 0; params.level < 3; params.level++) {
        if (fa_head_new(&params, &head, &err) < 0) return stop("head", &err);
        if (head->part[0].mesh.nvert == model->rig->mesh.nvert) break;
        fa_head_free(head), head = NULL;
    }
    if (!head || fai_head_landmarks(head, FA_LANDMARKS_478, point, weight, &err) < 0) return stop("landmarks", &err);
    for (int i = 2; i < argc; i++) {
        FaLandmarkTake *take = NULL;
        FaCameraFit *fit = NULL;
        char photo[1024], out[1024];
        const char *name = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
        snprintf(photo, sizeof photo, "%.*s.png", (int)strlen(argv[i]) - 5, argv[i]);
        snprintf(out, sizeof out, "%s/%.*s_fit.png", argv[1], (int)strlen(name) - 5, name);
        if (fa_landmarks_load(argv[i], NULL, &take, &err) < 0) return stop(argv[i], &err);
        if (fa_camera_fit(model, take, NULL, &fit, &err) < 0) return stop(argv[i], &err);
        double height, rms;
        measure(model, fit, take, point, weight, &all, &height, &rms);
        printf("%-12s reprojection %.2f px rms over %d landmarks; by trust %.2f %% of the face's %.0f px; focal %.0f "
               "px; weights",
               name, (double)fit->error[0], fit->used[0], 100 * rms, height, fit->focal);
        for (int e = 0; e < fit->nexp; e++)
            if (fit->weight[e] > 0.25f) printf(" %s %.2f", model->exp_name[e], (double)fit->weight[e]);
        printf("\n");
        bad += !(rms < LIMIT);
        if (fa_camera_overlay(fit, model, take, 0, photo, out, &err) < 0) return stop(out, &err);
        fa_camera_fit_free(fit);
        fa_landmarks_free(take);
    }
    // which landmarks are weak: off in all faces alike means that they are somewhere else on our head
    int order[COUNT], n = 0;
    ranked = &all;
    for (int i = 0; i < COUNT; i++)
        if (weight[i] > 0) order[n++] = i;
    qsort(order, (size_t)n, sizeof *order, by_error);
    printf("weakest (%% of the face: rms, mean right, mean down; trust):");
    for (int k = 0; k < 24; k++) {
        int i = order[k];
        printf(" %d (%.1f %.1f %.1f; %g)", i, 100 * sqrt(all.square[i] / all.n), 100 * all.sum[i][0] / all.n,
               100 * all.sum[i][1] / all.n, (double)weight[i]);
    }
    printf("\n");
    fa_head_free(head);
    fa_face_model_free(model);
    return bad > 0;
}

// A picture of one frame of the fit: landmarks as seen, those of the model, and the face that was found, to judge it
// by.
#include "io/png.h"
#include "math/mat3.h"
#include "render/canvas.h"
#include "track/camera_fit.h"

#include <math.h>

static const FaInk SEEN = {255, 214, 64, 1}, MODEL = {64, 224, 255, 1}, WIRE = {120, 190, 220, 0.28F},
                   OFF = {255, 80, 80, 0.9F};

typedef struct View {
    const FaCameraFit *fit;
    int frame;
    double scale; // of the picture against the landmarks' pixels
    double shift[2];
} View;

static bool project(const View *v, const double x[3], float px[2]) {
    const FaCameraFit *f = v->fit;
    double c[3];
    fai_q_rotate(f->pose[v->frame].q, x, c);
    fai_v3_add(c, f->pose[v->frame].p, c);
    if (!f->metric && c[2] < 0.03) return false;
    double k = f->metric ? 1 : f->focal / c[2];
    px[0] = (float)((k * c[0] + (f->metric ? 0 : f->width / 2)) * v->scale + v->shift[0]);
    px[1] = (float)((k * c[1] + (f->metric ? 0 : f->height / 2)) * v->scale + v->shift[1]);
    return true;
}

// Edges of triangles that look at the camera.
static void draw_wires(FaImage *image, const View *v, const FaMesh *mesh, const float *x) {
    for (int t = 0; t < mesh->ntri; t++) {
        float p[3][2];
        bool fine = true;
        for (int k = 0; k < 3; k++) {
            double y[3];
            fai_v3_load(x, mesh->tri[3 * (size_t)t + (size_t)k], y);
            fine = fine && project(v, y, p[k]);
        }
        if (!fine) continue;
        float area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]);
        if (area > 0) continue; // y down: outsides turn the other way
        for (int k = 0; k < 3; k++) {
            int a = mesh->tri[3 * (size_t)t + (size_t)k], b = mesh->tri[3 * (size_t)t + (size_t)((k + 1) % 3)];
            if (a > b) continue; // each edge once
            const float *q = p[(k + 1) % 3];
            fai_canvas_line(image, p[k][0], p[k][1], q[0], q[1], 1, WIRE);
        }
    }
}

static void draw_points(FaImage *image, const View *v, const FaFaceModel *model, const FaModelRows *rows,
                        const FaLandmarkTake *take) {
    float r = fmaxf(1.2F, (float)image->height / 420);
    for (int i = 0; i < rows->n; i++) {
        int l = rows->index[i];
        double p[3];
        float m[2];
        fai_model_landmark(model, rows, i, v->fit->identity, v->fit->weight + (size_t)v->frame * (size_t)v->fit->nexp,
                           p);
        if (!project(v, p, m)) continue;
        const float *s = take->x + ((size_t)v->frame * (size_t)take->count + (size_t)l) * (size_t)take->dims;
        if (l < take->count && isfinite(s[0] + s[1])) {
            float u = (float)((double)s[0] * v->scale + v->shift[0]),
                  w = (float)((double)s[1] * v->scale + v->shift[1]);
            fai_canvas_line(image, u, w, m[0], m[1], 1, OFF);
            fai_canvas_rect(image, u - r, w - r, u + r, w + r, SEEN);
        }
        fai_canvas_line(image, m[0] - 2 * r, m[1], m[0] + 2 * r, m[1], 1, MODEL);
        fai_canvas_line(image, m[0], m[1] - 2 * r, m[0], m[1] + 2 * r, 1, MODEL);
    }
}

static FaCode open_picture(const FaCameraFit *fit, const char *background, FaImage *image, View *view, FaError *err) {
    if (background) {
        FA_TRY(fai_png_read(background, &image->rgb, &image->width, &image->height, err));
        view->scale = fit->metric ? FA_FIT_METRIC_PX : image->width / fit->width;
    } else {
        double w = fit->metric ? 800 : fit->width, h = fit->metric ? 800 : fit->height;
        view->scale = fit->metric ? FA_FIT_METRIC_PX : fmin(fmax(1, 720 / fmax(w, h)), 1920 / fmax(w, h));
        image->width = (int)(w * (fit->metric ? 1 : view->scale));
        image->height = (int)(h * (fit->metric ? 1 : view->scale));
        if (image->width < 1 || image->height < 1)
            return FA_FAIL(err, FA_E_ARG, NULL, "give the picture's size", "the picture has no size");
        image->rgb = FA_NEW((size_t)image->width * (size_t)image->height * 3, unsigned char);
        if (!image->rgb) return FA_FAIL_MEMORY(err);
        memset(image->rgb, 28, (size_t)image->width * (size_t)image->height * 3);
    }
    if (fit->metric) { // the head in the middle
        const FaPose *p = &fit->pose[view->frame];
        view->shift[0] = image->width / 2.0 - p->p[0] * view->scale;
        view->shift[1] = image->height / 2.0 - p->p[1] * view->scale;
    }
    return FA_OK;
}

FaCode fa_camera_overlay(const FaCameraFit *fit, const FaFaceModel *model, const FaLandmarkTake *take, int frame,
                         const char *background, const char *path, FaError *err) {
    FA_ASSERT(fit && model && take && path && fit->nexp == model->nexp && fit->nid == model->nid);
    const FaModelRows *rows = fai_model_rows(model, fit->layout);
    if (frame < 0 || frame >= fit->nframe || frame >= take->nframe || !rows)
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", frame), "give one of the take",
                       "there is no such frame to draw");
    View view = {.fit = fit, .frame = frame};
    FaImage image = {0};
    float *x = FA_NEW(3 * (size_t)model->rig->mesh.nvert, float);
    FaCode rc = x ? open_picture(fit, background, &image, &view, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) {
        fa_face_model_face(model, fit->identity, fit->weight + (size_t)frame * (size_t)fit->nexp, x);
        draw_wires(&image, &view, &model->rig->mesh, x);
        draw_points(&image, &view, model, rows, take);
        char text[160];
        float size = fmaxf(9, (float)image.height / 60);
        if (fit->ok[frame])
            snprintf(text, sizeof text, "frame %d: rms %.2f %s, %d landmarks in use", frame, (double)fit->error[frame],
                     fit->metric ? "mm" : "px", fit->used[frame]);
        else
            snprintf(text, sizeof text, "frame %d: no face found", frame);
        fai_canvas_label(&image, size, (float)image.height - size, size, FA_ALIGN_LEFT, text,
                         (FaInk){240, 240, 240, 1});
        rc = fa_image_save(&image, path, NULL, err);
    }
    fa_free(x);
    fa_image_free(&image);
    return rc;
}

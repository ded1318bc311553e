// From a sequence to a file: stills, films, turntables, contact sheets.
#include "fascia/render.h"

#include "base/base.h"
#include "base/file.h"
#include "base/text.h"
#include "io/sequence.h"
#include "render/heat.h"
#include "render/movie.h"
#include "render/portrait.h"
#include "render/renderer.h"
#include "render/sheet.h"
#include "render/subject.h"

#include <math.h>
#include <stdlib.h>

FaRenderJob fa_render_job(void) { return (FaRenderJob){.look = fa_render_options_default(), .last = -1}; }

typedef struct Work {
    const FaRenderJob *job;
    FaSequence *seq;
    const FaRig *rig;
    const FaClip *clip; // nullable
    const char *path;
    FaPicture picture;
    FaSubject *subject;
    FaRenderer *renderer;
    float *x, *other;        // face positions, those to compare with                  (nvert x 3)
    float *heat;             //                                                        (nvert)
    const float **heats;     // per part                                               (nparts)
    float *weights;          // scratch                                                (nshape)
    FaRenderMarker *markers; // scratch                                                (nmarker)
    int first, last;
    double focus[3]; // where the camera looks: the view's, or the middle of the head; mesh's own frame, m
    bool follow;     // the camera goes with it
    bool held;       // the head is kept still while the camera is placed
    FaText comment;
} Work;

static FaCode step(const Work *w, const char *stage, double done, FaError *err) {
    return fai_progress(w->job->progress, w->job->progress_user, stage, done, "no file is written", err);
}

// --- posing -------------------------------------------------------------------------------------------------------

static void compare(Work *w, const float *other) {
    for (int v = 0; v < w->rig->mesh.nvert; v++) {
        const float *a = w->x + 3 * v, *b = other + 3 * v;
        double d[3] = {(double)a[0] - b[0], (double)a[1] - b[1], (double)a[2] - b[2]};
        w->heat[v] = (float)(1000 * sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
    }
}

// A cache knows no times: its clip does.
static double time_of(const Work *w, int frame) { return fai_sequence_clip_time(w->seq, w->clip, frame); }

// Where the place that the camera looks at goes with the head, in the mesh's own frame.
static void focus_at(const Work *w, double time, double focus[3]) {
    const double *p = w->focus;
    double m[12];
    memcpy(focus, p, 3 * sizeof *p);
    if (!w->follow || w->held || !fai_subject_motion(w->subject, time, m)) return;
    for (int k = 0; k < 3; k++) focus[k] = m[4 * k] * p[0] + m[4 * k + 1] * p[1] + m[4 * k + 2] * p[2] + m[4 * k + 3];
}

// Show the face as it is in w->x; other (nullable): what to measure from.
static FaCode show(Work *w, double time, const float *weights, const float *other, FaError *err) {
    if (other) compare(w, other);
    fai_subject_pose(w->subject, w->x, time, weights);
    if (w->job->world && !w->held) fai_subject_turn(w->subject, time);
    if (w->follow) {
        double focus[3];
        focus_at(w, time, focus);
        fai_renderer_aim(w->renderer, focus);
    }
    w->heats[0] = other ? w->heat : NULL;
    return fa_renderer_pose(w->renderer, (const float *const *)w->subject->x, other ? w->heats : NULL, err);
}

// Frame of the other sequence that is compared with this one: the same number, or the last there is.
static FaCode read_other(Work *w, int frame, const float **other, FaError *err) {
    *other = NULL;
    if (w->job->against) {
        FA_TRY(
            fa_sequence_read(w->job->against, FA_MIN(frame, fa_sequence_nframe(w->job->against) - 1), w->other, err));
        *other = w->other;
    } else if (w->job->heat) {
        *other = w->rig->mesh.x;
    }
    return FA_OK;
}

// Markers of the frame that is shown, and the surface points they belong to.
static FaCode show_markers(Work *w, int frame, double time, FaError *err) {
    const FaMarkerTake *take = w->job->markers;
    if (!take) return FA_OK;
    int f = fai_markers_frame(take, frame, fa_sequence_nframe(w->seq), time);
    double motion[12];
    bool turn = w->job->world && fai_subject_motion(w->subject, time, motion);
    for (int i = 0; i < take->nmarker && f >= 0; i++) {
        FaRenderMarker *d = &w->markers[i];
        size_t at = (size_t)f * (size_t)take->nmarker + (size_t)i;
        *d = (FaRenderMarker){.x = {NAN, NAN, NAN}, .to = {NAN, NAN, NAN}, .rgb = {64, 200, 232}};
        if (!take->ok[at]) continue;
        memcpy(d->x, take->x + 3 * at, sizeof d->x);
        for (int k = 0; turn && k < 3; k++)
            d->x[k] =
                (float)(motion[4 * k] * (double)take->x[3 * at] + motion[4 * k + 1] * (double)take->x[3 * at + 1] +
                        motion[4 * k + 2] * (double)take->x[3 * at + 2] + motion[4 * k + 3]);
        const FaMarkerMap *map = w->job->marker_map;
        double to[3];
        if (!map || map->point[i].vert[0] < 0) continue;
        fa_marker_point_at(&map->point[i], w->x, false, to);
        for (int k = 0; k < 3; k++) d->to[k] = (float)to[k];
    }
    return fa_renderer_markers(w->renderer, w->markers, f < 0 ? 0 : take->nmarker, 0, err);
}

static FaCode show_weights(Work *w, const float *weights, FaError *err) {
    const float *other;
    fa_rig_blend(w->rig, weights, w->x);
    FA_TRY(fa_renderer_markers(w->renderer, NULL, 0, 0, err));
    FA_TRY(read_other(w, 0, &other, err));
    return show(w, NAN, weights, other, err);
}

static FaCode show_frame(Work *w, int frame, FaError *err) {
    const float *other;
    if (w->job->weights) return show_weights(w, w->job->weights, err);
    FA_TRY(fa_sequence_read(w->seq, frame, w->x, err));
    FA_TRY(read_other(w, frame, &other, err));
    double time = time_of(w, frame);
    FA_TRY(show(w, time, NULL, other, err));
    return show_markers(w, frame, time, err);
}

static FaCode show_shape(Work *w, int shape, FaError *err) {
    memset(w->weights, 0, (size_t)w->rig->nshape * sizeof(float));
    w->weights[shape] = 1;
    return show_weights(w, w->weights, err);
}

// One camera for all pictures: it holds the neutral (unless the head moves away from it) and what is to be shown. One
// that follows is as far away as from a head that is kept still: how far the head travels has no say.
static FaCode fit(Work *w, FaError *err) {
    enum { STOPS = 9 };
    bool away = w->job->world && w->clip && w->clip->head && !w->held;
    fai_renderer_fit_none(w->renderer);
    if (!away || w->picture == FA_PICTURE_SHAPES) {
        memcpy(w->x, w->rig->mesh.x, 3 * (size_t)w->rig->mesh.nvert * sizeof(float));
        FA_TRY(show(w, NAN, NULL, NULL, err));
        FA_TRY(fai_renderer_fit_pose(w->renderer, err));
    }
    bool many = w->picture == FA_PICTURE_MOVIE || w->picture == FA_PICTURE_FRAMES;
    for (int i = 0; i < (many ? STOPS : 1) && w->picture != FA_PICTURE_SHAPES; i++) {
        FA_TRY(show_frame(w, many ? w->first + (int)((int64_t)(w->last - w->first) * i / (STOPS - 1)) : w->job->frame,
                          err));
        FA_TRY(fai_renderer_fit_pose(w->renderer, err));
    }
    FaRenderView view = w->job->look.view;
    if (w->follow) { // the camera keeps its distance, and what it looks at its place in the picture
        view.aim = true;
        memcpy(view.focus, w->focus, sizeof view.focus);
    }
    return fai_renderer_look_fit(w->renderer, &view, err);
}

static FaCode look(Work *w, FaError *err) {
    w->held = w->follow;
    FaCode rc = fit(w, err);
    w->held = false;
    return rc;
}

// The view for the frame of a still, turned by yaw degrees.
static FaRenderView view_of_still(const Work *w, double yaw) {
    FaRenderView view = w->job->look.view;
    view.yaw += yaw;
    if (view.aim) focus_at(w, w->job->weights ? NAN : time_of(w, w->job->frame), view.focus);
    return view;
}

// One scale for all pictures of a film or sheet.
static FaCode find_scale(Work *w, int count, int (*frame_of)(const Work *, int), FaError *err) {
    if (!w->job->against && !w->job->heat) return FA_OK;
    if (w->job->look.heat_max_mm > 0) return FA_OK;
    double most = 0;
    for (int i = 0; i < count; i++) {
        const float *other;
        int frame = frame_of(w, i);
        FA_TRY(fa_sequence_read(w->seq, frame, w->x, err));
        FA_TRY(read_other(w, frame, &other, err));
        compare(w, other);
        for (int v = 0; v < w->rig->mesh.nvert; v++) most = FA_MAX(most, (double)w->heat[v]);
    }
    w->renderer->heat_max_mm = fai_heat_scale(most);
    return FA_OK;
}

// --- the kinds of picture -----------------------------------------------------------------------------------------

static FaCode save(const Work *w, const FaImage *image, FaError *err) {
    return fa_image_save(image, w->path, w->comment.data, err);
}

static void report(const Work *w, int pictures, int width, int height) {
    if (w->job->rendered) *w->job->rendered = (FaRendered){pictures, width, height};
}

// The sides of an .mp4 are made even.
static void report_film(const Work *w, int count) {
    const FaRenderOptions *o = &w->renderer->options;
    int odd = fai_path_has_ext(w->path, "mp4");
    report(w, count, o->width + (odd & o->width), o->height + (odd & o->height));
}

static FaCode draw_still(Work *w, FaError *err) {
    FaImage image;
    FA_TRY(look(w, err));
    FA_TRY(show_frame(w, w->job->frame, err));
    FA_TRY(fa_renderer_draw(w->renderer, &image, err));
    FaCode rc = save(w, &image, err);
    report(w, 1, image.width, image.height);
    fa_image_free(&image);
    return rc;
}

static void frame_label(const Work *w, int frame, FaText *text) {
    fai_text_printf(text, "frame %d", frame);
    double time = time_of(w, frame);
    if (fa_sequence_nframe(w->seq) > 1 && isfinite(time)) {
        int64_t ms = (int64_t)floor(time * 1000 + 0.5);
        fai_text_printf(text, "  %lld.%03lld s", (long long)(ms / 1000), (long long)llabs(ms % 1000));
    }
}

// Frames of a film: all, or, where the film's rate is lower, those nearest to its moments.
static double film_rate(const Work *w) {
    double fps = w->job->fps > 0 ? w->job->fps : fa_sequence_fps(w->seq);
    if (!(fps > 0)) fps = 30;
    return fai_movie_rate(w->path, fps);
}

static int film_frame(const Work *w, int i) {
    double own = w->job->fps > 0 ? w->job->fps : fa_sequence_fps(w->seq) > 0 ? fa_sequence_fps(w->seq) : 30;
    return w->first + (int)floor(i * own / film_rate(w) + 0.5);
}

static FaCode draw_movie(Work *w, FaError *err) {
    int count = 0;
    while (film_frame(w, count) <= w->last) count++;
    FA_TRY(look(w, err));
    FA_TRY(find_scale(w, count, film_frame, err));
    FaMovie *movie;
    const FaRenderOptions *o = &w->renderer->options;
    FA_TRY(fai_movie_open(w->path, o->width, o->height, film_rate(w), w->comment.data, &movie, err));
    report_film(w, count);
    FaCode rc = FA_OK;
    for (int i = 0; i < count && rc >= 0; i++) {
        int frame = film_frame(w, i);
        FaImage image = {0};
        FaText label = {0};
        if (w->job->label) {
            if (w->job->look.caption) fai_text_printf(&label, "%s  ", w->job->look.caption);
            frame_label(w, frame, &label);
            w->renderer->options.caption = label.data;
        }
        rc = step(w, "render", (double)i / count, err);
        if (rc >= 0) rc = show_frame(w, frame, err);
        if (rc >= 0) rc = fa_renderer_draw(w->renderer, &image, err);
        if (rc >= 0) rc = fai_movie_frame(movie, &image, err);
        fa_image_free(&image);
        w->renderer->options.caption = w->job->look.caption;
        fai_text_free(&label);
    }
    if (rc >= 0) return fai_movie_finish(movie, err);
    fai_movie_abandon(movie);
    return rc;
}

static FaCode draw_turntable(Work *w, FaError *err) {
    double fps = fai_movie_rate(w->path, w->job->fps > 0 ? w->job->fps : 24),
           seconds = w->job->seconds > 0 ? w->job->seconds : 4;
    if (!(seconds * fps < 10000))
        return FA_FAIL(err, FA_E_LIMIT, NULL, "choose a shorter one", "a turntable of that length is too long");
    int count = FA_MAX(2, (int)(seconds * fps + 0.5));
    FaRenderView *view = FA_NEW(count, FaRenderView);
    FaCamera *camera = FA_NEW(count, FaCamera);
    FaMovie *movie = NULL;
    FaCode rc = FA_OK;
    if (!view || !camera) FA_TRY_GOTO(done, rc, FA_FAIL_MEMORY(err));
    for (int i = 0; i < count; i++) view[i] = view_of_still(w, 360.0 * i / count);
    FA_TRY_GOTO(done, rc, show_frame(w, w->job->frame, err));
    FA_TRY_GOTO(done, rc, fai_renderer_look_all(w->renderer, view, count, camera, err));
    const FaRenderOptions *o = &w->renderer->options;
    FA_TRY_GOTO(done, rc, fai_movie_open(w->path, o->width, o->height, fps, w->comment.data, &movie, err));
    report_film(w, count);
    w->renderer->looked = true;
    for (int i = 0; i < count && rc >= 0; i++) {
        FaImage image = {0};
        w->renderer->camera = camera[i];
        rc = step(w, "render", (double)i / count, err);
        if (rc >= 0) rc = fa_renderer_draw(w->renderer, &image, err);
        if (rc >= 0) rc = fai_movie_frame(movie, &image, err);
        fa_image_free(&image);
    }
    if (rc >= 0)
        rc = fai_movie_finish(movie, err);
    else
        fai_movie_abandon(movie);
done:
    fa_free(view);
    fa_free(camera);
    return rc;
}

// --- sheets -------------------------------------------------------------------------------------------------------

static int sheet_tiles(const Work *w) {
    int frames = w->last - w->first + 1;
    return FA_MIN(w->job->tiles > 0 ? w->job->tiles : 24, frames);
}

static int sheet_frame(const Work *w, int i) {
    int n = sheet_tiles(w);
    return n < 2 ? w->first : w->first + (int)((int64_t)(w->last - w->first) * i / (n - 1));
}

static int still_frame(const Work *w, int i) {
    (void)i;
    return w->job->frame;
}

static const struct {
    const char *name;
    double yaw;
} around[] = {{"front", 0},  {"three quarters left", 45}, {"left", 90},   {"back left", 135},
              {"back", 180}, {"back right", 225},         {"right", 270}, {"three quarters right", 315}};
static const int four[] = {0, 1, 2, 4};

static int view_of_tile(const Work *w, int i) { return w->picture == FA_PICTURE_VIEWS ? four[i] : i; }

static FaCode draw_tile(Work *w, int i, const FaCamera *camera, FaSheet *sheet, FaError *err) {
    FaText caption = {0};
    FaImage image = {0};
    FaCode rc = FA_OK;
    if (w->picture == FA_PICTURE_SHAPES) {
        fai_text_str(&caption, w->rig->shape[i].name);
        rc = show_shape(w, i, err);
    } else if (w->picture == FA_PICTURE_FRAMES) {
        if (w->job->captions)
            fai_text_str(&caption, w->job->captions[sheet_frame(w, i)]);
        else
            frame_label(w, sheet_frame(w, i), &caption);
        rc = show_frame(w, sheet_frame(w, i), err);
    } else {
        fai_text_str(&caption, around[view_of_tile(w, i)].name);
        w->renderer->camera = camera[i];
    }
    if (rc >= 0 && caption.failed) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fa_renderer_draw(w->renderer, &image, err);
    if (rc >= 0) fai_sheet_put(sheet, i, &image, caption.data);
    fa_image_free(&image);
    fai_text_free(&caption);
    return rc;
}

static double largest_delta_mm(const FaRig *rig) {
    double most = 0;
    for (int e = 0; e < rig->nentry; e++) {
        const float *d = rig->delta + 3 * (size_t)e;
        most = FA_MAX(most, (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2]);
    }
    return 1000 * sqrt(most);
}

static FaCode draw_sheet(Work *w, FaError *err) {
    FaCamera camera[FA_COUNT(around)];
    FaRenderView view[FA_COUNT(around)];
    int count = w->picture == FA_PICTURE_SHAPES   ? w->rig->nshape
                : w->picture == FA_PICTURE_FRAMES ? sheet_tiles(w)
                : w->picture == FA_PICTURE_VIEWS  ? FA_COUNT(four)
                                                  : FA_COUNT(around);
    if (count < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, "ask for a sheet of frames or views",
                       "the rig has no shapes to make a sheet of");
    FA_TRY(look(w, err));
    w->renderer->options.caption = NULL; // it is the sheet's title
    FA_TRY(find_scale(w, w->picture == FA_PICTURE_FRAMES ? count : 1,
                      w->picture == FA_PICTURE_FRAMES ? sheet_frame : still_frame, err));
    if (w->picture == FA_PICTURE_SHAPES && w->job->heat && !w->job->against && !(w->job->look.heat_max_mm > 0))
        w->renderer->heat_max_mm = fai_heat_scale(largest_delta_mm(w->rig));
    if (w->picture == FA_PICTURE_VIEWS || w->picture == FA_PICTURE_TURNTABLE) {
        for (int i = 0; i < count; i++) view[i] = view_of_still(w, around[view_of_tile(w, i)].yaw);
        FA_TRY(show_frame(w, w->job->frame, err));
        FA_TRY(fai_renderer_look_all(w->renderer, view, count, camera, err));
    }
    FaSheet sheet;
    const FaRenderOptions *o = &w->renderer->options;
    double scale = w->renderer->heat_max_mm;
    bool legend = (w->job->against || w->job->heat) && scale > 0;
    w->renderer->no_legend = legend; // one for all
    int lines = 1;
    for (int i = 0; i < count && w->job->captions && w->picture == FA_PICTURE_FRAMES; i++)
        lines = FA_MAX(lines, fai_caption_lines(w->job->captions[sheet_frame(w, i)]));
    FA_TRY(fai_sheet_new_lines(&sheet, count, w->job->columns, o->width, o->height, w->job->look.caption, legend, lines,
                               err));
    FaCode rc = FA_OK;
    if (legend) fai_sheet_legend(&sheet, scale, o->heat_title ? o->heat_title : "mm");
    for (int i = 0; i < count && rc >= 0; i++) {
        rc = step(w, "render", (double)i / count, err);
        if (rc >= 0) rc = draw_tile(w, i, camera, &sheet, err);
    }
    if (rc >= 0) rc = save(w, &sheet.image, err);
    if (rc >= 0) report(w, count, sheet.image.width, sheet.image.height);
    fai_sheet_free(&sheet);
    return rc;
}

// --- all of it ----------------------------------------------------------------------------------------------------

static FaCode decide(Work *w, FaError *err) {
    const FaRenderJob *job = w->job;
    bool film = fai_movie_path(w->path);
    int frames = fa_sequence_nframe(w->seq);
    if (!film && !fai_path_has_ext(w->path, "png"))
        return FA_FAIL(err, FA_E_ARG, NULL, "name the output .png, .mp4 or .gif", "no picture can be written to '%s'",
                       w->path);
    w->rig = job->rig ? job->rig : fa_sequence_rig(w->seq);
    if (!w->rig)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the rig it was made with", "a point cache has no faces to draw");
    if (w->rig->mesh.nvert != fa_sequence_nvert(w->seq))
        return FA_FAIL(err, FA_E_ARG, NULL, "give the rig it was made with",
                       "the rig has %d vertices, the animation %d", w->rig->mesh.nvert, fa_sequence_nvert(w->seq));
    if (job->against && fa_sequence_nvert(job->against) != w->rig->mesh.nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, "compare animations of the same mesh",
                       "the animation to compare with has %d vertices, this one %d", fa_sequence_nvert(job->against),
                       w->rig->mesh.nvert);
    if (w->rig->mesh.ntri < 1) return FA_FAIL(err, FA_E_MESH, NULL, NULL, "the mesh has no triangles");
    if (job->markers && job->marker_map && job->marker_map->count != job->markers->nmarker)
        return FA_FAIL(err, FA_E_ARG, NULL, "map this take", "%d markers, but the map has %d", job->markers->nmarker,
                       job->marker_map->count);
    w->clip = job->clip ? job->clip : fa_sequence_clip(w->seq);
    w->first = FA_MAX(job->first, 0);
    w->last = job->last < 0 || job->last >= frames ? frames - 1 : job->last;
    if (w->first > w->last)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "there are no frames from %d on: the last is %d", w->first,
                       frames - 1);
    if (job->frame < 0 || job->frame >= frames)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "there is no frame %d: the last is %d", job->frame, frames - 1);
    w->picture = job->picture;
    if (w->picture == FA_PICTURE_AUTO)
        w->picture = !film ? FA_PICTURE_STILL : w->last > w->first ? FA_PICTURE_MOVIE : FA_PICTURE_TURNTABLE;
    if (film && w->picture != FA_PICTURE_MOVIE && w->picture != FA_PICTURE_TURNTABLE)
        return FA_FAIL(err, FA_E_ARG, NULL, "name the output .png", "a still or a sheet is no film");
    if (!film && w->picture == FA_PICTURE_MOVIE)
        return FA_FAIL(err, FA_E_ARG, NULL, "name the output .mp4 or .gif", "a film cannot be a .png");
    return FA_OK;
}

// Record how the picture was made.
static void set_comment(Work *w, const FaRenderOptions *o) {
    const FaRenderView *v = &o->view;
    FaText *t = &w->comment;
    fai_text_printf(t, "%s%sframe %d, %d x %d, samples %d, yaw ", w->job->generator ? w->job->generator : "",
                    w->job->generator ? "; " : "", w->job->frame, o->width, o->height, o->samples);
    fai_text_double(t, v->yaw);
    fai_text_str(t, ", pitch ");
    fai_text_double(t, v->pitch);
    fai_text_str(t, ", zoom ");
    fai_text_double(t, v->zoom);
    fai_text_str(t, ", lens ");
    fai_text_double(t, v->fov);
}

// What the camera holds, and whether it goes along: with a place that is aimed at always, with a head that travels in
// films, so that a walk does not make it small.
static FaCode find_head(Work *w, FaError *err) {
    unsigned char *keep = FA_NEW(w->rig->mesh.nvert, unsigned char);
    if (!keep) return FA_FAIL_MEMORY(err);
    FaCode rc = fai_renderer_fit_parts(w->renderer, 1, err);
    if (rc >= 0 && !w->job->whole && fai_portrait(w->rig, keep)) fai_renderer_fit_only(w->renderer, keep);
    fa_free(keep);
    FA_TRY(rc);
    const FaRenderView *view = &w->job->look.view;
    bool moves = w->job->world && w->clip && w->clip->head;
    bool many = w->picture == FA_PICTURE_MOVIE || w->picture == FA_PICTURE_FRAMES;
    double size = 2 * fai_renderer_fit_box(w->renderer, w->focus);
    w->follow = moves && (view->aim || (many && fai_portrait_travels(w->rig, w->clip, w->focus, size)));
    if (view->aim) memcpy(w->focus, view->focus, sizeof w->focus);
    return FA_OK;
}

static FaCode prepare(Work *w, FaError *err) {
    FaRenderOptions o = w->job->look;
    bool film = fai_movie_path(w->path);
    bool sheet = !film && w->picture != FA_PICTURE_STILL;
    if (!o.width) o.width = o.height ? o.height : sheet ? 256 : film ? 720 : 1024;
    if (!o.height) o.height = o.width;
    if (!o.samples) o.samples = sheet || film ? 6 : 8;
    memcpy(o.axes, w->rig->axes, sizeof o.axes);
    set_comment(w, &o);
    size_t nvert = (size_t)w->rig->mesh.nvert;
    w->x = FA_NEW(3 * nvert, float);
    w->other = FA_NEW(3 * nvert, float);
    w->heat = FA_NEW(nvert, float);
    w->weights = FA_NEW(w->rig->nshape, float);
    if (w->job->markers && !(w->markers = FA_NEW(w->job->markers->nmarker, FaRenderMarker))) return FA_FAIL_MEMORY(err);
    if (!w->x || !w->other || !w->heat || !w->weights || w->comment.failed) return FA_FAIL_MEMORY(err);
    FA_TRY(fai_subject_new(w->rig, w->clip, w->job->alone, &w->subject, err));
    w->heats = FA_NEW(w->subject->nparts, const float *);
    if (!w->heats) return FA_FAIL_MEMORY(err);
    FA_TRY(fa_renderer_new(w->subject->part, w->subject->nparts, &o, &w->renderer, err));
    return find_head(w, err);
}

FaCode fa_render_file(FaSequence *seq, const FaRenderJob *job, const char *path, FaError *err) {
    FaRenderJob defaults = fa_render_job();
    Work w = {.job = job ? job : &defaults, .seq = seq, .path = path};
    FaCode rc = decide(&w, err);
    if (rc >= 0) rc = prepare(&w, err);
    if (rc >= 0) {
        bool film = fai_movie_path(path);
        rc = w.picture == FA_PICTURE_STILL   ? draw_still(&w, err)
             : w.picture == FA_PICTURE_MOVIE ? draw_movie(&w, err)
             : film                          ? draw_turntable(&w, err)
                                             : draw_sheet(&w, err);
    }
    if (rc >= 0) rc = step(&w, "render", 1, err);
    fa_renderer_free(w.renderer);
    fai_subject_free(w.subject);
    fa_free(w.x);
    fa_free(w.other);
    fa_free(w.heat);
    fa_free(w.heats);
    fa_free(w.weights);
    fa_free(w.markers);
    fai_text_free(&w.comment);
    return rc;
}

// --- where to look ------------------------------------------------------------------------------------------------

bool fa_render_focus(const FaRig *rig, const char *name, double focus[3]) {
    static const struct {
        const char *name, *shape[3];
    } places[] = {
        {"eyes", {"eyeBlinkLeft", "eyeBlinkRight", NULL}},
        {"mouth", {"mouthPucker", "mouthFunnel", "mouthClose"}},
        {"eye_left", {"eyeBlinkLeft", "eyeWideLeft", NULL}},
        {"eye_right", {"eyeBlinkRight", "eyeWideRight", NULL}},
        {"nose", {"noseSneerLeft", "noseSneerRight", NULL}},
        {"jaw", {"jawOpen", "jawForward", NULL}},
        {"brow", {"browInnerUp", "browDownLeft", "browDownRight"}},
    };
    for (int i = 0; i < FA_COUNT(places); i++) {
        if (strcmp(name, places[i].name) != 0) continue;
        // the middle of what the shapes move, weighed by how much
        double sum[4] = {0};
        for (int k = 0; k < 3 && places[i].shape[k]; k++) {
            int arkit = fa_arkit_match(places[i].shape[k], NULL);
            for (int s = 0; s < rig->nshape; s++)
                for (int e = rig->shape[s].first;
                     rig->shape[s].arkit == arkit && e < rig->shape[s].first + rig->shape[s].count; e++) {
                    const float *d = rig->delta + 3 * e, *x = rig->mesh.x + 3 * rig->row[e];
                    double w = (double)d[0] * d[0] + (double)d[1] * d[1] + (double)d[2] * d[2];
                    for (int c = 0; c < 3; c++) sum[c] += w * x[c];
                    sum[3] += w;
                }
        }
        if (!(sum[3] > 0)) return false;
        for (int c = 0; c < 3; c++) focus[c] = sum[c] / sum[3];
        return true;
    }
    return false;
}

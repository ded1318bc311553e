// fascia drive RIG -: landmarks come line by line on standard input, frames go out line by line on standard output, as
// fast as they come: camera fit, the rig's shapes under its weights, flesh with contact and inertia (thesis 001,
// chapter 6).
#include "drive_markers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4 << 20 }; // bytes of a line: a face of 478 points takes 30,000

typedef struct Stream {
    Job job;
    FaFaceModel *model;
    FaCameraTracker *tracker; // made for the first face
    FaLandmarkOptions in;
    FaBinding binding; // of the model's expressions to the rig
    char *line;        // (LONGEST + 1)
    int count;         // landmarks of a frame
    float *nowhere;    // of a frame without a face                         (count x dims)
    float *weights, *x;
    double last, step; // s
    int lines, faces, bad, frames;
    double ms, worst;
} Stream;

// Where landmarks sit on the face that is fitted, and what its expressions move on the rig.
static FaCode load(Job *job, FaError *err) {
    Stream *s = (Stream *)job;
    TRY(fa_face_model_head(&s->model, err));
    TRY(drive_image_size(&s->in.width, &s->in.height, err));
    s->in.fps = common.fps;
    s->step = 1 / (common.fps > 0 ? common.fps : 30);
    s->last = -s->step;
    FaClip *clip;
    TRY(fa_clip_new(1, s->model->nexp, s->model->exp_name, 30, &clip, err));
    FaCode rc = fa_clip_bind(clip, job->rig, &s->binding, err);
    fa_clip_free(clip);
    TRY(rc);
    if (!s->binding.matched)
        return cli_wrong(err, "%s has no shape that a camera's expressions drive: name them with --names names.json",
                         job->rig->path);
    s->line = malloc(LONGEST + 1);
    s->weights = calloc((size_t)job->rig->nshape + 1, sizeof *s->weights);
    s->x = malloc(3 * (size_t)job->rig->mesh.nvert * sizeof *s->x);
    return s->line && s->weights && s->x ? FA_OK : cli_no_memory(err);
}

static FaCode open_method(Stream *s, FaError *err) {
    const char *given = fa_params_text(cli_params, "face");
    FaFaceOptions options = job_face_options(fa_method_needs("projective"));
    const FaFaceGet how = {.file = *given ? given : NULL, .options = &options, .progress = cli_progress};
    TRY(fa_face_get(s->job.rig, fa_method_needs("projective"), &how, &s->job.face, err));
    cli_progress_end();
    return job_method(&s->job, "projective", (FaMethodSetup){0}, err);
}

// A line without its end; what is longer is cut, and bad. False at the end of the stream.
static bool read_line(Stream *s, size_t *size, bool *whole) {
    int c;
    *size = 0;
    *whole = true;
    while ((c = getchar()) != EOF && c != '\n') {
        if (*size < LONGEST)
            s->line[(*size)++] = (char)c;
        else
            *whole = false;
    }
    return c != EOF || *size;
}

// The first face tells what there is to follow.
static FaCode make_tracker(Stream *s, FaLandmarkTake *take, FaError *err) {
    FaCameraOptions o = fa_camera_options_default();
    TRY(fa_camera_picture(s->model, take, err));
    s->in.width = take->width;
    s->in.height = take->height;
    o.focal_px = drive_settings.focal;
    const FaCameraInput in = {.layout = take->layout,
                              .dims = take->dims,
                              .metric = take->metric,
                              .width = take->width,
                              .height = take->height,
                              .fps = 1 / s->step};
    return fa_camera_tracker_new(s->model, &in, &o, &s->tracker, err);
}

static FaCode start(Stream *s, FaLandmarkTake *take, FaError *err) {
    size_t n = (size_t)take->count * (size_t)take->dims;
    TRY(make_tracker(s, take, err));
    s->count = take->count;
    s->nowhere = malloc(n * sizeof *s->nowhere);
    if (!s->nowhere) return cli_no_memory(err);
    for (size_t i = 0; i < n; i++) s->nowhere[i] = NAN;
    return FA_OK;
}

// What the lines that follow mean: names of the weights, and what the points are.
static void write_head(const Stream *s) {
    FaJsonWriter *w;
    char *json;
    FaError err;
    if (fa_json_new(&w, &err) < 0) return;
    fa_json_begin(w, NULL, '{');
    fa_json_text(w, "generator", "fascia drive");
    fa_json_text(w, "head", "x, y, z, w of a unit quaternion, then x, y, z in m: world from head");
    fa_json_int(w, "vertices", s->job.rig->mesh.nvert);
    fa_json_text(w, "unit", "m");
    fa_json_begin(w, "shapes", '[');
    for (int i = 0; i < s->job.rig->nshape; i++) fa_json_text(w, NULL, s->job.rig->shape[i].name);
    fa_json_end(w);
    fa_json_end(w);
    if (fa_json_finish(w, &json, &err) < 0) return;
    puts(json);
    fflush(stdout);
    fa_free(json);
}

static void write_numbers(const char *name, const float *v, int n) {
    printf(",\"%s\":[", name);
    for (int i = 0; i < n; i++) printf(i ? ",%.6g" : "%.6g", (double)v[i]);
    putchar(']');
}

static void write_frame(const Stream *s, double time, const FaCameraState *state, double ms) {
    const FaPose *p = &state->world;
    printf("{\"frame\":%d,\"time\":%.6f,\"face\":%s,\"ms\":%.2f,\"head\":[%.7g,%.7g,%.7g,%.7g,%.7g,%.7g,%.7g]",
           s->frames, time, state->ok ? "true" : "false", ms, p->q[0], p->q[1], p->q[2], p->q[3], p->p[0], p->p[1],
           p->p[2]);
    write_numbers("weights", s->weights, s->job.rig->nshape);
    if (drive_settings.stream == STREAM_POINTS) write_numbers("points", s->x, 3 * s->job.rig->mesh.nvert);
    puts("}");
    fflush(stdout);
}

// take nullable: no face is seen, and what was seen last eases off.
static FaCode step(Stream *s, const FaLandmarkTake *take, FaError *err) {
    double begin = cli_seconds(), time = s->last + s->step;
    FaCameraState state;
    if (take && take->start > s->last) time = take->start;
    FaCameraFrame frame = {.time = time, .x = take ? take->x : NULL, .visibility = take ? take->visibility : NULL};
    if (!take) frame.x = s->nowhere;
    fa_camera_tracker_step(s->tracker, &frame, &state);
    fa_binding_weights(&s->binding, state.weight, s->weights);
    FaInput in = {.time = time, .weights = s->weights, .head = state.world};
    TRY(s->frames ? fa_method_step(s->job.method, &in, s->x, NULL, err)
                  : fa_method_reset(s->job.method, &in, s->x, err));
    double ms = 1e3 * (cli_seconds() - begin);
    if (s->frames) s->ms += ms, s->worst = fmax(s->worst, ms); // the first one comes to rest
    s->last = time;
    s->faces += state.ok;
    write_frame(s, time, &state, ms);
    s->frames++;
    return FA_OK;
}

// One line. A bad one is said once and counts as a frame without a face: a stream goes on.
static FaCode one_line(Stream *s, size_t size, bool whole, FaError *err) {
    FaLandmarkTake *take = NULL;
    FaError own = {0};
    FaCode rc = whole ? fa_landmarks_frame(s->line, size, &s->in, &take, &own) : FA_E_LIMIT;
    if (rc >= 0 && take && s->tracker && take->count != s->count) {
        snprintf(own.what, sizeof own.what, "%d landmarks after %d", take->count, s->count);
        rc = FA_E_FORMAT;
    }
    if (rc == FA_E_MEMORY) return cli_no_memory(err);
    if (rc < 0 && !s->bad++)
        cli_say("note: line %d is left out: %s%s%s", s->lines + 1, whole ? own.what : "it is longer than 4 MB",
                own.place[0] ? ", " : "", own.place);
    if (rc < 0) {
        fa_landmarks_free(take);
        take = NULL;
    }
    rc = FA_OK;
    if (take && !s->tracker) rc = start(s, take, err);
    if (rc >= 0 && s->tracker) rc = step(s, take, err);
    fa_landmarks_free(take);
    return rc;
}

static FaCode make(Job *job, FaError *err) {
    Stream *s = (Stream *)job;
    size_t size;
    bool whole;
    TRY(open_method(s, err));
    write_head(s);
    for (; read_line(s, &size, &whole); s->lines++) TRY(one_line(s, size, whole, err));
    if (!s->tracker) {
        *err = (FaError){.code = FA_E_FORMAT};
        snprintf(err->what, sizeof err->what, "no line has a face");
        snprintf(err->path, sizeof err->path, "standard input");
        snprintf(err->remedy, sizeof err->remedy,
                 "write one frame per line: {\"width\": 640, \"height\": 480, \"points\": [[x, y, z], ...]}");
        return FA_E_FORMAT;
    }
    return FA_OK;
}

static FaCode write_nothing(Job *job, FaError *err) {
    (void)job, (void)err;
    return FA_OK;
}

static void say(Job *job) {
    const Stream *s = (const Stream *)job;
    cli_say("%d lines, %d frames, a face in %d; %.1f ms per frame, %.1f at most%s", s->lines, s->frames, s->faces,
            s->frames > 1 ? s->ms / (s->frames - 1) : 0, s->worst, s->bad ? "; some lines were left out" : "");
}

static void stream_free(Job *job) {
    Stream *s = (Stream *)job;
    fa_camera_tracker_free(s->tracker);
    fa_face_model_free(s->model);
    fa_binding_free(&s->binding);
    free(s->line);
    free(s->weights);
    free(s->nowhere);
    free(s->x);
}

int drive_stream(const char *rig_path) {
    Stream s = {.job = {.verb = "drive",
                        .doctor = true,
                        .track = "projective",
                        .rig_path = rig_path,
                        .load = load,
                        .make = make,
                        .write = write_nothing,
                        .say = say,
                        .free = stream_free}};
    return job_walk(&s.job);
}

// A face driven by markers: what drives it becomes a take of markers with a place on the rig each; the control finds
// the surface (fascia/drive.h); flesh keeps the lips apart and swings, where it is wanted; one walk for files, pages
// and figures.
//
//     markers ──────────────────────────▶ map ─┐
//     markers of another face ── warp ─────────┼─▶ control ─▶ flesh ─▶ file
//     another rig's animation ── sampled, warp ┤
//     landmarks ── camera fit ── sampled ──────┘
#include "drive_markers.h"

#include "marker_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static FaCode fail(FaError *err, FaCode code, const char *path, const char *remedy, const char *what) {
    *err = (FaError){.code = code};
    snprintf(err->what, sizeof err->what, "%s", what);
    snprintf(err->path, sizeof err->path, "%s", path ? path : "");
    snprintf(err->remedy, sizeof err->remedy, "%s", remedy ? remedy : "");
    return code;
}

// --- settings -----------------------------------------------------------------------------------------------------

static bool on(int choice, bool by_default) { return choice < 0 ? by_default : choice == 0; }

static void settle(DriveJob *j) {
    const DriveSettings *s = &drive_settings;
    bool ours = s->method == FA_DRIVE_AUTO || s->method == FA_DRIVE_BF;
    j->options = (FaDriveOptions){.kind = (FaDriveKind)s->method,
                                  .literal = s->literal,
                                  .no_jaw = s->literal || !on(s->jaw, ours),
                                  .no_residual = s->literal || !on(s->residual, ours),
                                  .smooth = isfinite(s->smooth) ? (s->smooth > 0 ? s->smooth : -1) : 0,
                                  .progress = cli_progress};
    if (s->literal) j->options.kind = FA_DRIVE_BF;
    j->physics = s->physics >= 0                  ? s->physics
                 : s->literal || !ours            ? PHYSICS_OFF
                 : j->kind == FA_MOTION_LANDMARKS ? PHYSICS_FULL
                                                  : PHYSICS_CONTACT;
}

// The face: given, or built; where none can be, shapes alone still work.
static FaCode get_face(DriveJob *j, FaError *err) {
    FaDriveOptions *o = &j->options;
    Job *job = &j->job;
    const char *given = fa_params_text(cli_params, "face"), *file = given[0] ? given : NULL;
    bool forces = o->kind == FA_DRIVE_AUTO || o->kind == FA_DRIVE_BF;
    if (!file && !forces && o->no_jaw && o->no_residual && j->physics == PHYSICS_OFF) return FA_OK;
    const FaFaceOptions options = job_face_options(FA_NEED_FACE);
    const FaFaceGet how = {.file = file, .options = &options, .progress = cli_progress};
    if (!file) job_say_long(job->rig, ", then fascia drive light.face TAKE -o OUT");
    FaCode rc = fa_face_get(job->rig, FA_NEED_FACE, &how, &job->face, err);
    if (rc >= 0 || file || rc == FA_E_MEMORY || o->kind == FA_DRIVE_BF || drive_settings.jaw == 0 ||
        drive_settings.residual == 0 || drive_settings.physics > 0)
        return rc;
    cli_say("note: no flesh can be built on %s (%s): shapes alone move it, without rigid jaw, contact and residual",
            job->rig->path, err->what);
    *err = (FaError){0};
    if (o->kind == FA_DRIVE_AUTO) o->kind = FA_DRIVE_SBS;
    o->no_jaw = o->no_residual = true;
    j->physics = PHYSICS_OFF;
    return FA_OK;
}

// --- what drives --------------------------------------------------------------------------------------------------

static FaCode retarget(DriveJob *j, const FaMarkerTake *take, bool head_frame, FaError *err) {
    FaRetargetOptions o = fa_retarget_options_default();
    FaMarkerMap *to = NULL;
    o.source = j->source;
    o.from = j->source_map;
    o.frame = drive_settings.neutral;
    o.reach = 1e-3 * drive_settings.reach;
    o.head_frame = head_frame;
    // with --from, --map says where the markers are on the source
    if (drive_settings.map && !j->source) TRY(fa_marker_map_load(drive_settings.map, j->job.rig, &to, err));
    o.to = to;
    FaCode rc = fa_retarget(take, j->job.rig, &o, &j->take, &j->map, &j->warp, err);
    fa_marker_map_free(to);
    return rc;
}

static FaCode load_markers(DriveJob *j, FaError *err) {
    FaMarkerOptions mopt = load_marker_options();
    TRY(fa_markers_load(j->motion, &mopt, &j->loaded, err));
    FaMapOptions opt = fa_map_options_default();
    opt.file = drive_settings.map;
    opt.frame = drive_settings.neutral;
    opt.reach = 1e-3 * drive_settings.reach;
    if (drive_settings.from) { // where they are on the face that they are of
        TRY(load_rig(drive_settings.from, &j->source, err));
        TRY(fa_marker_map_new(j->loaded, j->source, &opt, &j->source_map, err));
        return retarget(j, j->loaded, false, err);
    }
    if (drive_settings.retarget) return retarget(j, j->loaded, false, err);
    j->take = j->loaded;
    return fa_marker_map_new(j->take, j->job.rig, &opt, &j->map, err);
}

// Another rig's animation: markers on it, carried over.
static FaCode load_source(DriveJob *j, FaError *err) {
    TRY(load_rig(drive_settings.from, &j->source, err));
    if (fa_file_kind(j->motion) == FA_KIND_CLIP) {
        TRY(load_clip(j->motion, &j->source_clip, err));
        TRY(job_check_weights(j->source_clip, j->motion, err));
        TRY(fa_sequence_of_clip(j->source, j->source_clip, &j->source_seq, err));
    } else
        TRY(open_frames(j->motion, j->source, &j->source_seq, err));
    if (fa_sequence_nvert(j->source_seq) != j->source->mesh.nvert)
        return fail(err, FA_E_ARG, j->motion, "name the rig it belongs to with --from",
                    "the animation has other vertices than the source rig");
    if (drive_settings.map)
        TRY(fa_marker_map_load(drive_settings.map, j->source, &j->source_map, err));
    else
        TRY(fa_markers_choose(j->source, drive_settings.count, &j->source_map, err));
    double fps = fa_sequence_fps(j->source_seq) > 0 ? 0 : common.fps > 0 ? common.fps : 30;
    TRY(fa_markers_sample(j->source_seq, j->source_map, fps, &j->loaded, err));
    return retarget(j, j->loaded, true, err);
}

// --image WxH
static FaCode image_size(const char *text, double *width, double *height, FaError *err) {
    char *end;
    if (!text) return FA_OK;
    *width = strtod(text, &end);
    *height = *end == 'x' ? strtod(end + 1, &end) : 0;
    if (!*end && *width >= 1 && *height >= 1 && *width <= 1e6 && *height <= 1e6) return FA_OK;
    return fail(err, FA_E_ARG, NULL, "give the size of the pictures in pixels: --image 1280x720", "--image takes WxH");
}

FaCode drive_image_size(double *width, double *height, FaError *err) {
    return image_size(drive_settings.image, width, height, err);
}

static FaCode load_landmarks(DriveJob *j, FaError *err) {
    const DriveSettings *s = &drive_settings;
    FaLandmarkOptions lopt = {.fps = common.fps};
    FaRigOptions ropt = load_rig_options();
    ropt.unit = s->model_unit;
    ropt.mesh = NULL;
    TRY(image_size(s->image, &lopt.width, &lopt.height, err));
    FaFaceModelOptions mopt = {.rig = s->model, .how = &ropt, .identities = s->identities, .landmarks = s->points};
    FaCameraOptions copt = fa_camera_options_default();
    copt.progress = cli_progress;
    copt.focal_px = s->focal;
    TRY(fa_landmarks_load(j->motion, &lopt, &j->landmarks, err));
    mopt.layout = j->landmarks->layout;
    if (s->model && !s->points)
        return fail(err, FA_E_ARG, s->model, "give --landmarks FILE: {\"0\": vertex, ...}",
                    "where the landmarks are on the model is not known");
    if (!s->model && (s->points || s->identities))
        return fail(err, FA_E_ARG, s->points ? s->points : s->identities, "give --face-model RIG",
                    "it belongs to a face that is not named");
    TRY(s->model ? fa_face_model_load(&mopt, &j->model, err) : fa_face_model_head(&j->model, err));
    TRY(fa_camera_picture(j->model, j->landmarks, err));
    TRY(fa_camera_fit(j->model, j->landmarks, &copt, &j->fit, err));
    cli_progress_end();
    TRY(s->map ? fa_marker_map_load(s->map, j->job.rig, &j->map, err)
               : fa_markers_choose(j->job.rig, s->count, &j->map, err));
    TRY(fa_camera_markers(j->fit, j->model, j->job.rig, j->map, false, &j->take, err));
    int frame = 0;
    while (frame + 1 < j->fit->nframe && !j->fit->ok[frame]) frame++;
    if (s->overlay && !common.dry_run)
        TRY(fa_camera_overlay(j->fit, j->model, j->landmarks, frame, NULL, s->overlay, err));
    return FA_OK;
}

static FaCode load_trust(DriveJob *j, const char *path, FaError *err) {
    j->trust = malloc(sizeof *j->trust * (size_t)j->map->count);
    if (!j->trust) return fail(err, FA_E_MEMORY, NULL, NULL, "out of memory");
    return fa_marker_trust_load(path, j->map, j->trust, err);
}

// --- words --------------------------------------------------------------------------------------------------------

static void say_camera(const DriveJob *j) {
    const FaCameraFit *f = j->fit;
    int found = 0;
    for (int i = 0; i < f->nframe; i++) found += f->ok[i];
    cli_say("%s: %d landmarks, %d frame%s at %g per second; a face in %d of them", j->motion, j->landmarks->count,
            f->nframe, f->nframe == 1 ? "" : "s", f->fps, found);
    cli_say("camera: reprojection error %.2f %s rms, the worst frame %d with %.2f; focal length %.0f pixels%s",
            f->error_rms, f->metric ? "mm" : "pixels", f->worst_frame, f->error_worst, f->focal,
            f->focal_found ? ", estimated" : "");
}

static void say_motion(DriveJob *j) {
    Job *job = &j->job;
    if (j->fit && !common.json) say_camera(j);
    if (j->loaded && !common.json)
        cli_say("%s: %d marker%s, %d frame%s at %g per second", j->motion, j->loaded->nmarker,
                j->loaded->nmarker == 1 ? "" : "s", j->loaded->nframe, j->loaded->nframe == 1 ? "" : "s",
                j->loaded->fps);
    if (j->loaded) job_note(job, &j->loaded->notes);
    if (j->landmarks) job_note(job, &j->landmarks->notes);
    if (j->model) job_note(job, &j->model->notes);
    if (j->fit) job_note(job, &j->fit->notes);
    if (j->warp.how && !common.json)
        cli_say(
            "retargeted %s: %d of %d markers; size %.3f, proportions %.1f mm apart; motion %.2f mm rms becomes %.2f",
            j->warp.how, j->warp.used, j->warp.markers, j->warp.scale, j->warp.shape_mm, j->warp.before_mm,
            j->warp.after_mm);
    if (j->source_map) job_note(job, &j->source_map->notes);
    if (!common.json) say_map(j->map);
    job_note(job, &j->map->notes);
}

static const char *physics_name(const DriveJob *j) {
    static const char *const name[] = {"off", "contact", "full"};
    return name[j->physics];
}

static void say(Job *job) {
    const DriveJob *j = (const DriveJob *)job;
    const FaDriveReport *r = &j->rep;
    double samples = (double)r->nframe * r->nmarker;
    if (r->missing || r->lost)
        cli_say("missing: %d samples of mapped markers (%.1f %%); %d frames without a usable marker", r->missing,
                samples > 0 ? 100 * r->missing / samples : 0, r->lost);
    cli_say("method %s%s%s%s%s", fa_drive_kind_name(r->kind), j->options.literal ? ", as published" : "",
            r->jaw ? ", rigid jaw" : "", r->residual ? ", the rest spread over the skin" : "",
            j->physics ? ", flesh" : "");
    if (r->why && *r->why) cli_say("  why: %s", r->why);
    cli_say(
        "%s %s the markers by %.2f mm on average; of their motion the shapes can make %.2f mm and cannot make %.2f mm",
        r->kind == FA_DRIVE_BF ? "forces" : "shapes", r->residual ? "alone miss" : "miss", r->before_mm, r->inside_mm,
        r->outside_mm);
    if (r->residual) cli_say("  after the rest is spread: %.2f mm", r->after_mm);
    if (job->run)
        cli_say("control %.2f ms per frame, flesh (%s) %.1f ms", job->ms, physics_name(j),
                1e3 * job->stats.seconds / (job->stats.frames ? job->stats.frames : 1));
    if (drive_settings.report && !common.dry_run) cli_say("wrote %s", drive_settings.report);
}

static void json_control(const DriveJob *j, FaJsonWriter *w) {
    const FaDriveReport *r = &j->rep;
    fa_json_begin(w, "control", '{');
    fa_json_text(w, "asked", fa_drive_kind_name(r->asked));
    fa_json_text(w, "method", fa_drive_kind_name(r->kind));
    fa_json_text(w, "why", r->why ? r->why : "");
    fa_json_bool(w, "literal", j->options.literal);
    fa_json_bool(w, "jaw", r->jaw);
    fa_json_bool(w, "residual", r->residual);
    fa_json_int(w, "missing", r->missing);
    fa_json_int(w, "lost", r->lost);
    fa_json_number(w, "before_mm", r->before_mm);
    fa_json_number(w, "after_mm", r->after_mm);
    fa_json_number(w, "inside_mm", r->inside_mm);
    fa_json_number(w, "outside_mm", r->outside_mm);
    fa_json_number(w, "held_out_mm", r->held_out_mm);
    fa_json_number(w, "held_out_shapes_mm", r->held_out_shapes_mm);
    fa_json_number(w, "held_out_forces_mm", r->held_out_forces_mm);
    fa_json_number(w, "ms_per_frame", j->job.ms);
    fa_json_end(w);
}

static void json_warp(const FaRetargetReport *r, FaJsonWriter *w) {
    fa_json_begin(w, "retarget", '{');
    fa_json_text(w, "how", r->how);
    fa_json_int(w, "markers", r->markers);
    fa_json_int(w, "used", r->used);
    fa_json_number(w, "scale", r->scale);
    fa_json_number(w, "turn", r->turn);
    fa_json_number(w, "shape_mm", r->shape_mm);
    fa_json_number(w, "before_mm", r->before_mm);
    fa_json_number(w, "after_mm", r->after_mm);
    fa_json_end(w);
}

static void json_camera(const DriveJob *j, FaJsonWriter *w) {
    fa_json_begin(w, "camera", '{');
    fa_json_int(w, "landmarks", j->landmarks->count);
    fa_json_text(w, "unit", j->fit->metric ? "mm" : "pixels");
    fa_json_number(w, "error_rms", j->fit->error_rms);
    fa_json_number(w, "error_worst", j->fit->error_worst);
    fa_json_number(w, "focal", j->fit->focal);
    fa_json_end(w);
}

static void json(Job *job, FaJsonWriter *w) {
    const DriveJob *j = (const DriveJob *)job;
    json_map(j->map, "markers", w);
    json_control(j, w);
    if (j->warp.how) json_warp(&j->warp, w);
    if (j->fit) json_camera(j, w);
    fa_json_text(w, "physics", physics_name(j));
    if (j->tracks.count) drive_report_json(&j->tracks, "tracks", w);
}

// --- the walk -----------------------------------------------------------------------------------------------------

static FaCode load(Job *job, FaError *err) {
    DriveJob *j = (DriveJob *)job;
    settle(j);
    TRY(get_face(j, err));
    if (j->kind == FA_MOTION_LANDMARKS)
        TRY(load_landmarks(j, err));
    else if (j->kind == FA_MOTION_MARKERS)
        TRY(load_markers(j, err));
    else
        TRY(load_source(j, err));
    if (drive_settings.trust) TRY(load_trust(j, drive_settings.trust, err));
    j->options.trust = j->trust;
    // what was warped or made here holds the head still; its poses, if any, are in the take
    j->options.head_frame = j->take != j->loaded && !j->take->head;
    cli_progress_end();
    say_motion(j);
    return cli_frames(j->take->nframe, &job->first, &job->last, err);
}

// Eyes have no markers: where they look is the camera's own finding.
static void set_gaze(const DriveJob *j, FaClip *clip) {
    bool irises = j->fit && j->landmarks->layout == FA_LANDMARKS_478;
    for (int c = 0; irises && c < clip->nchan; c++) {
        int half, at = fa_arkit_match(clip->name[c], &half);
        const char *name = at >= 0 && half == 0 ? fa_arkit_name(at) : "";
        for (int k = 0; !strncmp(name, "eyeLook", 7) && k < j->model->nexp; k++) {
            if (strcmp(j->model->exp_name[k], name)) continue;
            for (int f = 0; f < clip->nframe; f++)
                clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c] =
                    j->fit->weight[(size_t)f * (size_t)j->fit->nexp + (size_t)k];
        }
    }
}

// What contact alone needs, but for what the user gave: that may be the method's own default.
static FaCode contact_alone(FaError *err) {
    FaParams *asked;
    TRY(fa_params_new("projective", &asked, err));
    const FaParamInfo *p = fa_method_params("projective");
    FaCode rc = FA_OK;
    for (int i = 0; p[i].name && rc >= 0; i++)
        if (p[i].type != FA_PARAM_TEXT && cli_given(p[i].name))
            rc = fa_params_set_number(asked, p[i].name, fa_params_get(cli_params, p[i].name), err);
    if (rc >= 0) rc = fa_projective_contact(cli_params, err);
    for (int i = 0; p[i].name && rc >= 0; i++)
        if (p[i].type != FA_PARAM_TEXT && cli_given(p[i].name))
            rc = fa_params_set_number(cli_params, p[i].name, fa_params_get(asked, p[i].name), err);
    fa_params_free(asked);
    return rc;
}

// Flesh on top of the control's frames, which are its goal.
static FaCode add_flesh(DriveJob *j, FaError *err) {
    Job *job = &j->job;
    const FaClip *clip = fa_drive_clip(j->drive);
    bool all = drive_settings.report || drive_settings.truth; // those are of the whole take
    TRY(job_method(job, "projective", (FaMethodSetup){0}, err));
    TRY(fa_run_new_target(job->method, clip, j->control.seq, &job->run, err));
    TRY(record_new(fa_run_sequence(job->run), all ? clip->nframe - 1 : job->last, job->rig, clip, &job->record, err));
    job->frames = job->record.seq;
    return FA_OK;
}

static FaCode make(Job *job, FaError *err) {
    DriveJob *j = (DriveJob *)job;
    TRY(fa_drive_open(job->rig, job->face, j->take, j->map, &j->options, &j->drive, err));
    cli_progress_end();
    const FaClip *clip = fa_drive_clip(j->drive);
    TRY(record_new(fa_drive_sequence(j->drive), clip->nframe - 1, job->rig, clip, &j->control, err));
    j->rep = fa_drive_report(j->drive);
    job_note(job, fa_drive_notes(j->drive));
    job->ms = 1e3 * j->rep.seconds / (j->rep.nframe ? j->rep.nframe : 1);
    job->track = fa_drive_kind_name(j->rep.kind);
    job->frames = j->control.seq;
    if (j->physics == PHYSICS_CONTACT) TRY(contact_alone(err));
    if (j->physics != PHYSICS_OFF)
        TRY(add_flesh(j, err));
    else
        TRY(job_parameters(job, err));
    snprintf(job->generator, sizeof job->generator, "fascia %s drive --method %s%s%s%s --physics %s %s", fa_version(),
             job->track, j->options.literal ? " --literal" : "", j->rep.jaw ? "" : " --jaw off",
             j->rep.residual ? "" : " --residual off", physics_name(j), j->physics == PHYSICS_OFF ? "" : job->params);
    TRY(fa_sequence_of_clip(job->rig, clip, &job->linear, err));
    TRY(fa_clip_slice(clip, 0, clip->nframe - 1, &j->played, err));
    set_gaze(j, j->played);
    TRY(job_on_body(job, job->rig, &j->played, NULL, err));
    job->played = j->played;
    bool page = drive_settings.report || drive_settings.truth;
    return page ? drive_report(j, common.dry_run ? NULL : drive_settings.report, err) : FA_OK;
}

static void drive_free(Job *job) {
    DriveJob *j = (DriveJob *)job;
    record_free(&j->control);
    fa_drive_close(j->drive);
    fa_clip_free(j->played);
    free(j->trust);
    if (j->take != j->loaded) fa_markers_free(j->take);
    fa_markers_free(j->loaded);
    fa_marker_map_free(j->map);
    fa_camera_fit_free(j->fit);
    fa_face_model_free(j->model);
    fa_landmarks_free(j->landmarks);
    fa_sequence_close(j->source_seq);
    fa_marker_map_free(j->source_map);
    fa_clip_free(j->source_clip);
    fa_rig_free(j->source);
}

int drive_markers(const char *rig_path, const char *motion, FaMotionKind kind) {
    DriveJob j = {.motion = motion,
                  .kind = kind,
                  .job = {.verb = "drive",
                          .doctor = true,
                          .rig_path = rig_path,
                          .load = load,
                          .make = make,
                          .say = say,
                          .json = json,
                          .free = drive_free,
                          .simulated = true}};
    return job_walk(&j.job);
}

// A face driven by dots: what drives it becomes a take of markers with a place on the rig each; the control finds the
// surface (fascia/drive.h); flesh keeps the lips apart and swings, where it is wanted; one walk for files, pages and
// figures.
//
//     markers ──────────────────────────▶ map ─┐
//     markers of another face ── warp ─────────┼─▶ control ─▶ flesh ─▶ file
//     another rig's animation ── dots, warp ───┤
//     landmarks ── camera fit ── virtual dots ─┘
#include "drive_markers.h"

#include "fascia/projective.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void job_free(DotsJob *j) {
    fa_compare_free(&j->compare);
    recording_free(&j->result);
    recording_free(&j->control);
    fa_sequence_close(j->linear);
    fa_run_free(j->run);
    fa_method_close(j->method);
    fa_drive_free(j->drive);
    fa_free(j->json);
    free(j->trust);
    if (j->take != j->loaded) fa_markers_free(j->take);
    fa_markers_free(j->loaded);
    fa_marker_map_free(j->map);
    fa_camera_free(j->fit);
    fa_face_model_free(j->model);
    fa_landmarks_free(j->landmarks);
    fa_sequence_close(j->source_seq);
    fa_marker_map_free(j->source_map);
    fa_clip_free(j->source_clip);
    fa_rig_free(j->source);
    fa_face_free(j->face);
    fa_rig_free(j->rig);
}

static FaCode fail(FaError *err, FaCode code, const char *path, const char *remedy, const char *what) {
    *err = (FaError){.code = code};
    snprintf(err->what, sizeof err->what, "%s", what);
    snprintf(err->path, sizeof err->path, "%s", path ? path : "");
    snprintf(err->remedy, sizeof err->remedy, "%s", remedy ? remedy : "");
    return code;
}

// --- settings -----------------------------------------------------------------------------------------------------

static bool on(int choice, bool by_default) { return choice < 0 ? by_default : choice == 0; }

static void settle(DotsJob *j) {
    const DriveSettings *s = &drive_settings;
    bool ours = s->method == FA_DRIVE_AUTO || s->method == FA_DRIVE_BF;
    j->options = (FaDriveOptions){.kind = (FaDriveKind)s->method,
                                  .literal = s->literal,
                                  .no_jaw = s->literal || !on(s->jaw, ours),
                                  .no_residual = s->literal || !on(s->residual, ours),
                                  .smooth = isfinite(s->smooth) ? (s->smooth > 0 ? s->smooth : -1) : 0,
                                  .progress = cli_progress};
    if (s->literal) j->options.kind = FA_DRIVE_BF;
    j->flesh = s->flesh >= 0                    ? s->flesh
               : s->literal || !ours            ? FLESH_OFF
               : j->kind == FA_MOTION_LANDMARKS ? FLESH_FULL
                                                : FLESH_CONTACT;
}

// The face: given, or built; where none can be, shapes alone still work.
static FaCode load_face(DotsJob *j, const char *path, FaError *err) {
    FaDriveOptions *o = &j->options;
    bool forces = o->kind == FA_DRIVE_AUTO || o->kind == FA_DRIVE_BF;
    if (!path && !forces && o->no_jaw && j->flesh == FLESH_OFF) return FA_OK;
    const FaFaceGet how = {.file = path};
    FaCode rc = fa_face_get(j->rig, FA_NEED_FACE, &how, &j->face, err);
    if (rc >= 0 || path || rc == FA_E_MEMORY || o->kind == FA_DRIVE_BF || drive_settings.jaw == 0 ||
        drive_settings.flesh > 0)
        return rc;
    cli_say("note: no flesh can be built on %s (%s): shapes alone, without jaw frame and contact", j->rig->path,
            err->what);
    *err = (FaError){0};
    if (o->kind == FA_DRIVE_AUTO) o->kind = FA_DRIVE_SBS;
    o->no_jaw = true;
    j->flesh = FLESH_OFF;
    return FA_OK;
}

// --- what drives --------------------------------------------------------------------------------------------------

static FaCode retarget(DotsJob *j, const FaMarkerTake *take, bool head_frame, FaError *err) {
    FaRetargetOptions o = fa_retarget_options_default();
    FaMarkerMap *to = NULL;
    o.source = j->source;
    o.from = j->source_map;
    o.frame = drive_settings.neutral;
    o.reach = 1e-3 * drive_settings.reach;
    o.head_frame = head_frame;
    // with --from, --map says where the dots are on the source
    if (drive_settings.map && !j->source) TRY(fa_marker_map_load(drive_settings.map, j->rig, &to, err));
    o.to = to;
    FaCode rc = fa_retarget(take, j->rig, &o, &j->take, &j->map, &j->warp, err);
    fa_marker_map_free(to);
    return rc;
}

static FaCode load_markers(DotsJob *j, FaError *err) {
    FaMarkerOptions mopt = load_marker_options();
    TRY(fa_markers_load(j->motion, &mopt, &j->loaded, err));
    if (drive_settings.retarget) return retarget(j, j->loaded, false, err);
    FaMapOptions opt = fa_map_options_default();
    opt.file = drive_settings.map;
    opt.frame = drive_settings.neutral;
    opt.reach = 1e-3 * drive_settings.reach;
    j->take = j->loaded;
    return fa_marker_map_make(j->take, j->rig, &opt, &j->map, err);
}

// Another rig's animation: dots on it, carried over.
static FaCode load_source(DotsJob *j, FaError *err) {
    FaRigOptions ropt = load_rig_options();
    FaClipOptions copt = load_clip_options();
    TRY(fa_rig_load(drive_settings.from, &ropt, &j->source, err));
    if (fa_file_kind(j->motion) == FA_KIND_CLIP) {
        TRY(fa_clip_load(j->motion, &copt, &j->source_clip, err));
        TRY(fa_sequence_of_clip(j->source, j->source_clip, &j->source_seq, err));
    } else
        TRY(fa_sequence_open(j->motion, &ropt, &j->source_seq, err));
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

static FaCode load_landmarks(DotsJob *j, FaError *err) {
    const DriveSettings *s = &drive_settings;
    FaLandmarkOptions lopt = {.fps = common.fps};
    FaRigOptions ropt = load_rig_options();
    ropt.unit = (FaUnit)s->model_unit;
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
        return fail(err, FA_E_ARG, s->points ? s->points : s->identities, "give --model RIG",
                    "it belongs to a face that is not named");
    TRY(s->model ? fa_face_model_load(&mopt, &j->model, err) : fa_face_model_head(&j->model, err));
    TRY(fa_camera_picture(j->model, j->landmarks, err));
    TRY(fa_camera_fit(j->model, j->landmarks, &copt, &j->fit, err));
    cli_progress_end();
    TRY(s->map ? fa_marker_map_load(s->map, j->rig, &j->map, err) : fa_markers_choose(j->rig, s->count, &j->map, err));
    TRY(fa_camera_markers(j->fit, j->model, j->rig, j->map, false, &j->take, err));
    int frame = 0;
    while (frame + 1 < j->fit->nframe && !j->fit->ok[frame]) frame++;
    if (s->overlay && !common.dry_run)
        TRY(fa_camera_overlay(j->fit, j->model, j->landmarks, frame, NULL, s->overlay, err));
    return FA_OK;
}

// Lines of NAME,WEIGHT.
static FaCode load_trust(DotsJob *j, const char *path, FaError *err) {
    j->trust = malloc(sizeof *j->trust * (size_t)j->map->count);
    FILE *file = fopen(path, "rb");
    FaCode rc = FA_OK;
    char line[512];
    if (!file) return fail(err, FA_E_FILE, path, NULL, strerror(errno));
    if (!j->trust) rc = fail(err, FA_E_MEMORY, NULL, NULL, "out of memory");
    for (int i = 0; rc >= 0 && i < j->map->count; i++) j->trust[i] = 1;
    for (int n = 1; rc >= 0 && fgets(line, sizeof line, file); n++) {
        char *comma = strrchr(line, ','), *end = NULL;
        line[strcspn(line, "\r\n")] = 0;
        if (!line[0] || line[0] == '#') continue;
        double weight = comma ? strtod(comma + 1, &end) : NAN;
        int at = -1;
        if (comma) *comma = 0;
        for (int i = 0; i < j->map->count; i++)
            if (!strcmp(j->map->name[i], line)) at = i;
        if (end && *end == 0 && end != comma + 1 && weight >= 0 && weight <= 1e6 && at >= 0) {
            j->trust[at] = (float)weight;
            continue;
        }
        rc = fail(err, FA_E_FORMAT, path,
                  at < 0 && comma ? "use the take's names" : "write NAME,WEIGHT, the weight 0 or more",
                  at < 0 && comma ? "no such marker" : "no weight of a marker");
        snprintf(err->place, sizeof err->place, "line %d", n);
    }
    fclose(file);
    return rc;
}

static FaCode load_motion(DotsJob *j, FaError *err) {
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
    return FA_OK;
}

// --- frames -------------------------------------------------------------------------------------------------------

static FaCode make_frames(DotsJob *j, FaError *err) {
    TRY(fa_drive_open(j->rig, j->face, j->take, j->map, &j->options, &j->drive, err));
    cli_progress_end();
    const FaClip *clip = fa_drive_clip(j->drive);
    TRY(recording_make(fa_drive_sequence(j->drive), j->rig, clip, &j->control, err));
    j->rep = fa_drive_report(j->drive);
    if (j->flesh == FLESH_CONTACT) TRY(fa_projective_contact(cli_params, err));
    TRY(fa_params_json(cli_params, &j->json, err));
    snprintf(j->generator, sizeof j->generator, "fascia %s drive --method %s%s%s%s --flesh %s %s", fa_version(),
             fa_drive_kind_name(j->rep.kind), j->options.literal ? " --literal" : "",
             j->options.no_jaw ? " --jaw off" : "", j->options.no_residual ? " --residual off" : "",
             j->flesh == FLESH_OFF       ? "off"
             : j->flesh == FLESH_CONTACT ? "contact"
                                         : "full",
             j->flesh == FLESH_OFF ? "" : j->json);
    if (j->flesh != FLESH_OFF) {
        TRY(fa_method_open("projective", &(FaMethodSetup){.rig = j->rig, .face = j->face, .params = cli_params},
                           &j->method, err));
        TRY(fa_run_new_target(j->method, clip, j->control.seq, &j->run, err));
        TRY(recording_make(fa_run_sequence(j->run), j->rig, clip, &j->result, err));
    }
    TRY(fa_sequence_of_clip(j->rig, clip, &j->linear, err));
    FaCompareOptions opt = {.rig = j->rig, .intersections = out_options.check, .progress = cli_progress};
    TRY(fa_compare(j->linear, j->result.seq ? j->result.seq : j->control.seq, &opt, &j->compare, err));
    cli_progress_end();
    return FA_OK;
}

// Eyes have no dots: where they look is the camera's own finding. clip: frames from `first` on.
static void set_gaze(const DotsJob *j, int first, FaClip *clip) {
    bool irises = j->fit && j->landmarks->layout == FA_LANDMARKS_478;
    for (int c = 0; irises && c < clip->nchan; c++) {
        int half, at = fa_arkit_match(clip->name[c], &half);
        const char *name = at >= 0 && half == 0 ? fa_arkit_name(at) : "";
        for (int k = 0; !strncmp(name, "eyeLook", 7) && k < j->model->nexp; k++) {
            if (strcmp(j->model->exp_name[k], name)) continue;
            for (int f = 0; f < clip->nframe; f++)
                clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c] =
                    j->fit->weight[(size_t)(first + f) * (size_t)j->fit->nexp + (size_t)k];
        }
    }
}

static FaCode write_out(const DotsJob *j, int first, int last, FaBakeReport *bake, FaError *err) {
    FaSequence *seq = j->result.seq ? j->result.seq : j->control.seq, *cut = NULL, *before = NULL, *world = NULL;
    const FaClip *whole = fa_drive_clip(j->drive);
    FaClip *clip = NULL;
    FaCode rc = FA_OK;
    if (out_options.world && whole->head) {
        rc = fa_sequence_world(seq, j->rig, whole, &world, err);
        seq = world;
    }
    if (rc >= 0) rc = fa_sequence_slice(seq, first, last, &cut, err);
    if (rc >= 0) rc = fa_sequence_slice(j->linear, first, last, &before, err);
    if (rc >= 0) rc = fa_clip_slice(whole, first, last, &clip, err);
    if (rc >= 0) set_gaze(j, first, clip);
    OutFrames frames = {.rig = j->rig,
                        .seq = cut,
                        .before = before,
                        .clip = clip,
                        .name = fa_drive_kind_name(j->rep.kind),
                        .verb = "drive",
                        .generator = j->generator,
                        .sheet = true};
    if (rc >= 0) rc = out_save(&frames, common.output, bake, err);
    cli_progress_end();
    fa_clip_free(clip);
    fa_sequence_close(before);
    fa_sequence_close(cut);
    fa_sequence_close(world);
    return rc;
}

// --- words --------------------------------------------------------------------------------------------------------

static void say_motion(const DotsJob *j) {
    if (j->landmarks) {
        const FaCameraFit *f = j->fit;
        int found = 0;
        for (int i = 0; i < f->nframe; i++) found += f->ok[i];
        cli_say("%s: %d landmarks, %d frame%s at %g per second; a face in %d of them", j->motion, j->landmarks->count,
                f->nframe, f->nframe == 1 ? "" : "s", f->fps, found);
        cli_say("camera: reprojection error %.2f %s rms, the worst frame %d with %.2f; focal length %.0f pixels%s",
                f->error_rms, f->metric ? "mm" : "pixels", f->worst_frame, f->error_worst, f->focal,
                f->focal_found ? ", estimated" : "");
        say_notes("", &j->landmarks->notes);
        say_notes("", &j->model->notes);
        say_notes("", &f->notes);
    } else
        cli_say("%s: %d marker%s, %d frame%s at %g per second", j->motion, j->loaded->nmarker,
                j->loaded->nmarker == 1 ? "" : "s", j->loaded->nframe, j->loaded->nframe == 1 ? "" : "s",
                j->loaded->fps);
    if (j->loaded) say_notes("", &j->loaded->notes);
    if (j->warp.how)
        cli_say(
            "retargeted %s: %d of %d markers; size %.3f, proportions %.1f mm apart; motion %.2f mm rms becomes %.2f",
            j->warp.how, j->warp.used, j->warp.markers, j->warp.scale, j->warp.shape_mm, j->warp.before_mm,
            j->warp.after_mm);
    say_map(j->map);
    say_notes("", &j->map->notes);
}

static void say_result(const DotsJob *j, int frames, double seconds, const FaBakeReport *bake) {
    const FaDriveReport *r = &j->rep;
    double samples = (double)r->nframe * r->nmarker;
    if (r->missing || r->lost)
        cli_say("missing: %d samples of mapped markers (%.1f %%); %d frames without a usable marker", r->missing,
                samples > 0 ? 100 * r->missing / samples : 0, r->lost);
    cli_say("method %s%s%s%s%s", fa_drive_kind_name(r->kind), j->options.literal ? ", as the thesis prints it" : "",
            j->options.no_jaw ? "" : ", jaw frame", j->options.no_residual ? "" : ", residual pass",
            j->flesh ? ", flesh" : "");
    if (r->why && *r->why) cli_say("  why: %s", r->why);
    cli_say(
        "markers missed by %.2f mm on average%s; their motion is %.2f mm rms inside the shapes' span, %.2f mm outside",
        r->before_mm, j->options.no_residual ? "" : " before the residual pass", r->inside_mm, r->outside_mm);
    if (!j->options.no_residual) cli_say("  after it by %.2f mm", r->after_mm);
    say_notes("", fa_drive_notes(j->drive));
    if (j->run) {
        FaRunStats stats = fa_run_stats(j->run);
        cli_say("flesh (%s): %.1f ms per frame", j->flesh == FLESH_CONTACT ? "contact" : "full",
                1e3 * stats.seconds / (stats.frames ? stats.frames : 1));
    }
    cli_say("%d frame%s in %.1f s, control %.2f ms each; up to %.2f mm from linear blending, %.3f mm on average",
            frames, frames == 1 ? "" : "s", seconds, 1e3 * r->seconds / (r->nframe ? r->nframe : 1), j->compare.max_mm,
            j->compare.mean_mm);
    if (out_options.check)
        cli_say("triangles that cross: %d, of linear blending %d", j->compare.intersections_b,
                j->compare.intersections_a);
    if (common.output && !common.dry_run) cli_say("wrote %s", common.output);
    if (bake->targets) cli_say("baked %d morph targets, largest error %.4f mm", bake->targets, bake->max_mm);
    if (drive_settings.report && !common.dry_run) cli_say("wrote %s", drive_settings.report);
}

static void print_field(const char *name, double value) {
    printf(",\"%s\":", name);
    print_number(value);
}

static void print_control(const DotsJob *j) {
    const FaDriveReport *r = &j->rep;
    printf("{\"asked\":\"%s\",\"method\":\"%s\",\"why\":", fa_drive_kind_name(r->asked), fa_drive_kind_name(r->kind));
    cli_json_string(r->why ? r->why : "");
    printf(",\"literal\":%s,\"jaw\":%s,\"residual\":%s,\"missing\":%d,\"lost\":%d",
           j->options.literal ? "true" : "false", j->options.no_jaw ? "false" : "true",
           j->options.no_residual ? "false" : "true", r->missing, r->lost);
    print_field("before_mm", r->before_mm);
    print_field("after_mm", r->after_mm);
    print_field("inside_mm", r->inside_mm);
    print_field("outside_mm", r->outside_mm);
    print_field("held_out_mm", r->held_out_mm);
    print_field("held_out_shapes_mm", r->held_out_shapes_mm);
    print_field("held_out_forces_mm", r->held_out_forces_mm);
    print_field("ms_per_frame", 1e3 * r->seconds / (r->nframe ? r->nframe : 1));
    printf("}");
}

static void print_json(const DotsJob *j, int frames, double seconds, const FaBakeReport *bake,
                       const DotsReport *tracks) {
    FaRunStats stats = j->run ? fa_run_stats(j->run) : (FaRunStats){0};
    double ms = 1e3 * j->rep.seconds / (j->rep.nframe ? j->rep.nframe : 1) +
                (stats.frames ? 1e3 * stats.seconds / stats.frames : 0);
    printf("{\"frames\":%d,\"seconds\":%.6f,\"ms_per_frame\":%.6f,\"max_displacement_mm\":%.9g,\"mean_displacement_"
           "mm\":%.9g,"
           "\"intersections\":%d,\"clamped\":%d,\"warnings\":",
           frames, seconds, ms, j->compare.max_mm, j->compare.mean_mm,
           out_options.check ? j->compare.intersections_b : -1, stats.clamped);
    const FaNotes *notes[] = {j->loaded ? &j->loaded->notes : NULL,
                              &j->map->notes,
                              fa_drive_notes(j->drive),
                              j->landmarks ? &j->landmarks->notes : NULL,
                              j->model ? &j->model->notes : NULL,
                              j->fit ? &j->fit->notes : NULL,
                              j->method ? fa_method_notes(j->method) : NULL};
    print_notes(notes, 7);
    printf(",\"markers\":");
    print_map(j->map);
    printf(",\"control\":");
    print_control(j);
    if (j->warp.how)
        printf(",\"retarget\":{\"how\":\"%s\",\"markers\":%d,\"used\":%d,\"scale\":%.9g,\"turn\":%.9g,"
               "\"shape_mm\":%.9g,\"before_mm\":%.9g,\"after_mm\":%.9g}",
               j->warp.how, j->warp.markers, j->warp.used, j->warp.scale, j->warp.turn, j->warp.shape_mm,
               j->warp.before_mm, j->warp.after_mm);
    if (j->fit) {
        printf(",\"camera\":{\"landmarks\":%d,\"unit\":\"%s\"", j->landmarks->count, j->fit->metric ? "mm" : "pixels");
        print_field("error_rms", j->fit->error_rms);
        print_field("error_worst", j->fit->error_worst);
        print_field("focal", j->fit->focal);
        printf("}");
    }
    printf(",\"flesh\":\"%s\",\"parameters\":%s",
           j->flesh == FLESH_OFF       ? "off"
           : j->flesh == FLESH_CONTACT ? "contact"
                                       : "full",
           j->json);
    if (tracks->count) {
        printf(",\"tracks\":");
        print_dots_report(tracks);
    }
    printf(",\"output\":");
    if (common.output && !common.dry_run)
        cli_json_string(common.output);
    else
        printf("null");
    printf(",\"bake\":{\"targets\":%d,\"max_mm\":%.9g}}\n", bake->targets, bake->max_mm);
}

// --- the walk -----------------------------------------------------------------------------------------------------

int drive_dots(const char *rig_path, const char *face_path, const char *motion, FaMotionKind kind) {
    FaError err = {0};
    DotsJob j = {.motion = motion, .kind = kind};
    FaBakeReport bake = {0};
    static DotsReport tracks;
    int first = 0, last = 0, usage = EXIT_OK;
    double begin = cli_seconds();
    settle(&j);
    FaCode rc = load_rig(rig_path, &j.rig, &err);
    if (rc >= 0) rc = load_face(&j, face_path, &err);
    if (rc >= 0) rc = load_motion(&j, &err);
    cli_progress_end();
    if (rc >= 0 && !cli_frames(j.take->nframe, &first, &last)) usage = EXIT_USAGE;
    if (rc >= 0 && usage == EXIT_OK && !common.json) say_motion(&j);
    if (rc >= 0 && usage == EXIT_OK) rc = make_frames(&j, &err);
    FaCode baked = FA_OK;
    if (rc >= 0 && usage == EXIT_OK && common.output && !common.dry_run)
        rc = baked = write_out(&j, first, last, &bake, &err);
    if (rc >= 0 && usage == EXIT_OK && (drive_settings.report || drive_settings.truth))
        rc = drive_report(&j, common.dry_run ? NULL : drive_settings.report, &tracks, &err);
    cli_progress_end();
    int code = rc < 0 ? cli_fail(&err) : usage;
    if (rc >= 0 && usage == EXIT_OK) {
        double seconds = cli_seconds() - begin;
        if (common.json)
            print_json(&j, last - first + 1, seconds, &bake, &tracks);
        else
            say_result(&j, last - first + 1, seconds, &bake);
    }
    if (rc >= 0 && baked == FA_STALLED) {
        cli_say("warning: %d targets leave an error of %.4f mm; raise --max-targets or --bake-error", bake.targets,
                bake.max_mm);
        code = EXIT_CONVERGE;
    }
    job_free(&j);
    return code;
}

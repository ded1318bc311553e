// fascia muscle: a face that moves by its muscles: build, list, pose; target and play have files of their own.
#include "muscle.h"
#include "muscle_page.h"
#include "outputs.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int flesh_size;
static const char *act, *jaw_text, *sheet, *picture, *cut_open, *on_face;
static double part_asked = 1;
static int show;
static bool shapes;
static const char *own_text;
const char *muscle_colliders;
static FaUnit own_unit;
static bool own_fit;

static const Option build_options[] = {
    {"flesh-size", 0, OPT_INT, &flesh_size, "N", 500, 200000,
     "free points of the flesh, about; more is finer and slower (6000)"},
    {"own-muscles", 0, OPT_TEXT, &own_text, "DIR|FILE,...", 0, 0,
     "muscles of your own: closed meshes (.stl, .obj) in the rig's place"},
    {"own-fit", 0, OPT_FLAG, &own_fit, NULL, 0, 0,
     "they stand elsewhere, as in an atlas: move them to where those of the same names are"},
    {"own-unit", 0, OPT_UNIT, &own_unit, "auto|m|cm|mm|in|ft|N", 0, 0,
     "the unit of those files (auto: as the rig's own file)"},
    {"shapes", 0, OPT_FLAG, &shapes, NULL, 0, 0,
     "also the muscles of every shape of the rig, for clips: some seconds for each"},
    {"picture", 0, OPT_OUT, &picture, "OUT.png", 0, 0,
     "a picture of the muscles under transparent skin, front and profile"},
    {"cut", 0, OPT_OUT, &cut_open, "OUT.png", 0, 0, "a picture of the flesh cut open, with what bones hold of it"},
    LOAD_OPTIONS("map"),
    {0}};
static const char *curves;
static const Option list_options[] = {{"curves", 0, OPT_OUT, &curves, "OUT.json", 0, 0,
                                       "how long each muscle is for how strongly it pulls, as a table; minutes"},
                                      LOAD_OPTIONS("map"),
                                      {0}};
static const Option pose_options[] = {
    {"act", 0, OPT_TEXT, &act, "NAME=V,...", 0, 0,
     "muscles and how strongly they pull, 0 to 1; without .L or .R both sides, * for any letters"},
    {"jaw", 0, OPT_TEXT, &jaw_text, "open=DEG,...", 0, 0,
     "where the jaw is: open=8 (degrees) or open=20mm (of the chin), forward=MM, side=MM (to the left)"},
    MUSCLE_COLLIDER_OPTION,
    {"part", 0, OPT_NUM, &part_asked, "X", 0, 1, "of a .pose: how much of the way from the neutral, 0 to 1 (1)"},
    {"on", 0, OPT_TEXT, &on_face, "FACE", 0, 0, "of a .pose: its face, where that is not where the pose says"},
    {"show", 0, OPT_CHOICE, &show, "skin|muscles", 0, 0, ".png: the skin, or the muscles under transparent skin"},
    {"sheet", 0, OPT_OUT, &sheet, "OUT.png", 0, 0, "a picture of every muscle at full strength, one by one"},
    OUT_OPTIONS,
    LOAD_OPTIONS("map"),
    {0}};

// --- muscles of one's own -----------------------------------------------------------------------------------------

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

// The meshes of a folder, by name; or the files that were given.
static FaCode list_own(Muscle *m, FaError *err) {
    DIR *dir = own_text ? opendir(own_text) : NULL;
    if (!own_text) return FA_OK;
    if (!dir) {
        m->own = split_list(own_text, &m->nown);
        return m->own ? FA_OK : cli_no_memory(err);
    }
    m->own = calloc(FA_MUSCLES_MOST + 1, sizeof *m->own);
    FaCode rc = m->own ? FA_OK : cli_no_memory(err);
    for (struct dirent *e; rc >= 0 && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.' || !(path_has_ext(e->d_name, "stl") || path_has_ext(e->d_name, "obj"))) continue;
        if (m->nown == FA_MUSCLES_MOST)
            rc = cli_wrong(err, "--own-muscles: more than %d files in %s", (int)FA_MUSCLES_MOST, own_text);
        size_t n = strlen(own_text) + strlen(e->d_name) + 2;
        char *path = rc >= 0 ? malloc(n) : NULL;
        if (rc >= 0 && !path) rc = cli_no_memory(err);
        if (rc < 0) break;
        snprintf(path, n, "%s/%s", own_text, e->d_name);
        m->own[m->nown++] = path;
    }
    closedir(dir);
    m->own_listed = true;
    if (rc >= 0 && !m->nown) rc = cli_wrong(err, "--own-muscles: no .stl or .obj in %s", own_text);
    if (rc >= 0) qsort(m->own, (size_t)m->nown, sizeof *m->own, by_name);
    return rc;
}

static void say_own(const FaMuscleModel *model) {
    const FaMuscleBuilt *b = fa_muscle_built(model);
    if (b->own_named)
        cli_say("  your muscles were moved here by %d names, %.3f times as large: %.1f mm off before they were bent, "
                "%s most (%.1f)",
                b->own_named, b->own_scale, 1e3 * b->own_off, b->own_far, 1e3 * b->own_worst);
    for (int i = 0; i < fa_muscle_count(model); i++) {
        const FaMuscleInfo f = fa_muscle_info(model, i);
        if (f.own)
            cli_say(
                "  your %s: %.0f mm long, held by %s; solid within %.2f mm of it (median), %.0f %% met, volume %+.1f "
                "%%",
                f.name, 1e3 * f.length, strcmp(f.origin, "none") ? f.origin : f.insertion, 1e3 * f.fit_median,
                100 * f.fit_covered, 100 * f.fit_volume);
    }
}

// --- the face -----------------------------------------------------------------------------------------------------

// "tusk.obj,pipe.obj:jaw"
static FaCode add_colliders(Muscle *m, FaError *err) {
    int n = 0;
    char **list = muscle_colliders ? split_list(muscle_colliders, &n) : NULL;
    FaCode rc = muscle_colliders && !list ? cli_no_memory(err) : FA_OK;
    for (int i = 0; i < n && rc >= 0; i++) {
        FaRig *mesh = NULL;
        const size_t size = strlen(list[i]);
        const bool jaw = size > 4 && !strcmp(list[i] + size - 4, ":jaw");
        if (jaw) list[i][size - 4] = 0;
        rc = fa_collider_load(list[i], m->job.rig, &mesh, err);
        if (rc >= 0) rc = fa_muscle_collide(m->model, mesh, jaw, err);
        fa_rig_free(mesh);
    }
    free(list);
    return rc;
}

FaCode muscle_open(Job *j, FaError *err) {
    Muscle *m = (Muscle *)j;
    TRY(list_own(m, err));
    const FaMuscleOptions o = {.flesh_size = flesh_size,
                               .own = (const char *const *)m->own,
                               .nown = m->nown,
                               .own_unit = own_unit,
                               .own_fit = own_fit,
                               .progress = cli_progress};
    if (path_has_ext(m->path, "face"))
        TRY(fa_face_load(m->path, &m->face, err));
    else
        TRY(fa_face_get(j->rig, FA_NEED_FACE, NULL, &m->face, err));
    TRY(fa_muscle_open(j->rig, m->face, &o, &m->model, err));
    TRY(add_colliders(m, err));
    cli_progress_end();
    // what is odd was said when it was built
    if (!m->again || !fa_muscle_kept(m->face) || common.verbose)
        job_note(j, fa_muscle_notes(m->model));
    else if (fa_muscle_notes(m->model)->count)
        j->notes[j->nnotes++] = fa_muscle_notes(m->model);
    return FA_OK;
}

void muscle_free(Job *j) {
    Muscle *m = (Muscle *)j;
    fa_sequence_close(m->seq);
    fa_sequence_close(m->rest);
    fa_clip_free(m->clip);
    for (int i = 0; i < m->nown && m->own_listed; i++) free(m->own[i]);
    free(m->own);
    free(m->x);
    fa_directed_free(m->directed);
    fa_muscle_close(m->model);
    fa_face_free(m->face);
}

// --- .pose files --------------------------------------------------------------------------------------------------

FaCode muscle_load_pose(Muscle *m, const char *pose, const char *on, FaError *err) {
    TRY(fa_directed_load(pose, &m->directed, err));
    m->path = m->job.rig_path = on ? on : fa_directed_face(m->directed);
    if (!*m->path) return cli_wrong(err, "%s does not say which face it is of: name it with --on FACE", pose);
    FaError there = {0};
    if (check_readable(m->path, &there) < 0)
        return cli_wrong(err, "%s is of the face %s, which is not there: name it with --on FACE", pose, m->path);
    return outputs_spare(m->path, err);
}

FaCode muscle_play_pose(Muscle *m, double part, FaError *err) {
    const FaRig *rig = m->job.rig;
    m->pose.jaw = fa_directed_jaw(m->model, m->directed, part);
    if (!(m->x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *m->x))) return cli_no_memory(err);
    FaCode rc = fa_muscle_direct(m->model, m->directed, part, m->x, &m->posed, err);
    TRY(rc);
    m->stalled = rc == FA_STALLED;
    for (int i = 0; i < fa_directed_count(m->directed); i++)
        m->activation[i] = part * fa_directed_activation(m->directed)[i];
    TRY(muscle_posed(m, err));
    TRY(muscle_clip(rig, 1, &m->clip, err));
    m->job.played = m->clip;
    return fa_muscle_jaw_weights(m->model, &m->pose.jaw, m->clip->weight, err);
}

FaCode muscle_save_pose(const Muscle *m, FaError *err) {
    return fa_directed_save(m->directed, m->path, m->job.output, err);
}

// --- build --------------------------------------------------------------------------------------------------------

// Every shape once; what is finished stays beside the output until all are.
static FaCode make_built(Job *j, FaError *err) {
    Muscle *m = (Muscle *)j;
    char part[4096];
    TRY(muscle_open(j, err));
    if (!shapes) return FA_OK;
    snprintf(part, sizeof part, "%s.part", j->output ? j->output : "");
    const FaMuscleShapesOptions o = {.partial = output_wanted() ? part : NULL, .progress = cli_progress};
    if (o.partial) outputs_resume = "finished shapes are kept, and the same command goes on from there";
    FaCode rc = fa_muscle_shapes(m->model, m->face, &o, &m->shapes, err);
    cli_progress_end();
    return rc;
}

static FaCode write_face(Job *j, FaError *err) {
    Muscle *m = (Muscle *)j;
    TRY(fa_muscle_keep(m->model, m->face, err));
    if (picture) TRY(fa_muscle_picture(m->model, true, 0, "fascia muscle build --picture", picture, err));
    if (picture) cli_say("wrote %s: look where the muscles lie", picture);
    if (cut_open) TRY(fa_muscle_cut(m->model, 0, cut_open, err));
    if (cut_open) cli_say("wrote %s: the flesh cut open", cut_open);
    if (!j->output) return FA_OK;
    TRY(fa_face_save(m->face, j->output, err));
    char part[4096];
    snprintf(part, sizeof part, "%s.part", j->output);
    if (shapes) remove(part);
    return FA_OK;
}

static void say_built(Job *j) {
    const FaMuscleBuilt *b = fa_muscle_built(((Muscle *)j)->model);
    cli_say("flesh: %d points, %d of them free, %d tets, worst quality %.3f; %d vertices of the skin ride; %.1f s",
            b->nodes, b->free, b->tets, b->worst_quality, b->lost, b->flesh_seconds);
    cli_say("muscles: %d; %d of %d ends are on bone; least of one in the flesh: %.0f %% of %s; %.1f s in all",
            b->muscles, b->held, b->ends, 100 * b->least_share, b->least, b->seconds);
    say_own(((Muscle *)j)->model);
    const FaMuscleShapesReport *s = &((const Muscle *)j)->shapes;
    if (s->shapes)
        cli_say(
            "shapes: %d, %d of them made now; skin against the shape, rms: %.2f mm at rest, %.2f as muscles make it, "
            "worst %s with %.2f; %d move no flesh; %.0f s",
            s->shapes, s->made, 1e3 * s->neutral, 1e3 * s->rms, s->worst ? s->worst : "none", 1e3 * s->worst_rms,
            s->plain, s->seconds);
}

static void json_built(Job *j, FaJsonWriter *w) {
    const FaMuscleBuilt *b = fa_muscle_built(((Muscle *)j)->model);
    fa_json_begin(w, "flesh", '{');
    fa_json_int(w, "nodes", b->nodes);
    fa_json_int(w, "free", b->free);
    fa_json_int(w, "tets", b->tets);
    fa_json_number(w, "worst_quality", b->worst_quality);
    fa_json_int(w, "inverted", b->inverted);
    fa_json_int(w, "lost", b->lost);
    fa_json_bool(w, "bones", b->bones);
    fa_json_number(w, "seconds", b->flesh_seconds);
    fa_json_end(w);
    fa_json_begin(w, "muscles", '{');
    fa_json_int(w, "count", b->muscles);
    fa_json_int(w, "own", b->own);
    fa_json_int(w, "ends", b->ends);
    fa_json_int(w, "held", b->held);
    fa_json_number(w, "least_share", b->least_share);
    fa_json_text(w, "least", b->least);
    fa_json_end(w);
    if (b->own_named) {
        fa_json_begin(w, "own_fit", '{');
        fa_json_int(w, "named", b->own_named);
        fa_json_number(w, "scale", b->own_scale);
        fa_json_number(w, "off_mm", 1e3 * b->own_off);
        fa_json_number(w, "worst_mm", 1e3 * b->own_worst);
        fa_json_text(w, "worst", b->own_far);
        fa_json_end(w);
    }
    const FaMuscleShapesReport *s = &((const Muscle *)j)->shapes;
    if (!s->shapes) return;
    fa_json_begin(w, "shapes", '{');
    fa_json_int(w, "count", s->shapes);
    fa_json_int(w, "made", s->made);
    fa_json_int(w, "plain", s->plain);
    fa_json_number(w, "neutral_rms_mm", 1e3 * s->neutral);
    fa_json_number(w, "rms_mm", 1e3 * s->rms);
    fa_json_text(w, "worst", s->worst);
    fa_json_number(w, "worst_rms_mm", 1e3 * s->worst_rms);
    fa_json_number(w, "seconds", s->seconds);
    fa_json_end(w);
}

static int run_build(int argc, const char **argv) {
    (void)argc;
    if (!common.output && !picture && !cut_open && !common.dry_run) return output_missing("head.face");
    int code = cli_only("for muscles", "flesh-size own-muscles own-unit own-fit shapes picture cut hinge");
    if (code != EXIT_OK) return code;
    Muscle m = {.path = argv[0],
                .job = {.verb = "muscle",
                        .rig_path = argv[0],
                        .make = make_built,
                        .write = write_face,
                        .say = say_built,
                        .json = json_built,
                        .free = muscle_free}};
    return job_walk(&m.job);
}

// --- list ---------------------------------------------------------------------------------------------------------

static const char *bone_of(const FaMuscleInfo *i) { return strcmp(i->origin, "none") ? i->origin : i->insertion; }

static FaCode write_curves(Job *j, FaError *err) {
    if (!curves) return FA_OK;
    TRY(fa_muscle_curves_save(((Muscle *)j)->model, cli_progress, NULL, curves, err));
    cli_progress_end();
    cli_say("wrote %s: for fascia muscle edit --curves", curves);
    return FA_OK;
}

// The list is what the verb is asked for: on stdout.
static void say_list(Job *j) {
    const FaMuscleModel *m = ((Muscle *)j)->model;
    printf("%-34s %-16s %-10s %-6s %5s %7s %7s %7s\n", "name", "short", "form", "bone", "in", "mm", "cm3", "N");
    for (int k = 0; k < fa_muscle_count(m); k++) {
        const FaMuscleInfo i = fa_muscle_info(m, k);
        printf("%-34s %-16s %-10s %-6s %3.0f %% %7.1f %7.2f %7.2f%s\n", i.name, i.alias, i.form, bone_of(&i),
               100 * i.share, 1e3 * i.length, 1e6 * i.volume, i.force, i.held ? "" : "  does not reach its bone");
    }
    FaMuscleJawLimits l;
    FaError none = {0};
    if (fa_muscle_jaw_limits(m, &l, &none) >= 0)
        printf("jaw, as far as the rig's shapes take it: open %.1f to %.1f degrees, forward %.1f to %.1f mm, "
               "side %.1f to %.1f mm\n",
               l.open[0], l.open[1], 1e3 * l.forward[0], 1e3 * l.forward[1], 1e3 * l.side[0], 1e3 * l.side[1]);
}

static void json_list(Job *j, FaJsonWriter *w) {
    const FaMuscleModel *m = ((Muscle *)j)->model;
    fa_json_begin(w, "muscles", '[');
    for (int k = 0; k < fa_muscle_count(m); k++) {
        const FaMuscleInfo i = fa_muscle_info(m, k);
        fa_json_begin(w, NULL, '{');
        fa_json_text(w, "name", i.name);
        fa_json_text(w, "alias", i.alias);
        fa_json_text(w, "form", i.form);
        fa_json_text(w, "origin", i.origin);
        fa_json_text(w, "insertion", i.insertion);
        fa_json_bool(w, "held", i.held);
        fa_json_number(w, "share", i.share);
        fa_json_number(w, "folded", i.folded);
        fa_json_number(w, "length_mm", 1e3 * i.length);
        fa_json_number(w, "volume_cm3", 1e6 * i.volume);
        fa_json_number(w, "force_n", i.force);
        fa_json_bool(w, "own", i.own);
        if (i.own) fa_json_number(w, "fit_median_mm", 1e3 * i.fit_median);
        if (i.own) fa_json_number(w, "fit_covered", i.fit_covered);
        if (i.own) fa_json_number(w, "fit_volume", i.fit_volume);
        fa_json_end(w);
    }
    fa_json_end(w);
    FaMuscleJawLimits l;
    FaError none = {0};
    if (fa_muscle_jaw_limits(m, &l, &none) < 0) return;
    const struct {
        const char *name;
        double from, to;
    } row[] = {{"open", l.open[0], l.open[1]},
               {"forward_mm", 1e3 * l.forward[0], 1e3 * l.forward[1]},
               {"side_mm", 1e3 * l.side[0], 1e3 * l.side[1]}};
    fa_json_begin(w, "jaw", '{');
    for (int k = 0; k < 3; k++) {
        fa_json_begin(w, row[k].name, '[');
        fa_json_number(w, NULL, row[k].from);
        fa_json_number(w, NULL, row[k].to);
        fa_json_end(w);
    }
    fa_json_end(w);
}

static int run_list(int argc, const char **argv) {
    (void)argc;
    int code = cli_only("for a list", "curves hinge");
    if (code != EXIT_OK) return code;
    if (common.output) return cli_usage("the list goes to stdout: fascia muscle list FACE > muscles.txt");
    Muscle m = {.path = argv[0],
                .again = true,
                .job = {.verb = "muscle",
                        .rig_path = argv[0],
                        .make = muscle_open,
                        .write = write_curves,
                        .say = say_list,
                        .json = json_list,
                        .free = muscle_free}};
    return job_walk(&m.job);
}

// --- pose ---------------------------------------------------------------------------------------------------------

// "open=8,forward=2": degrees and mm; "open=20mm": of the chin.
static FaCode read_jaw(FaMuscleJaw *jaw, FaError *err) {
    for (const char *at = jaw_text; at && *at;) {
        size_t n = strcspn(at, ","), name = strcspn(at, "=");
        char *end = NULL;
        double v = name < n ? strtod(at + name + 1, &end) : 0;
        bool mm = end && at + n == end + 2 && !strncmp(end, "mm", 2);
        bool good = name < n && end != at + name + 1 && (mm || end == at + n) && v - v == 0;
        if (good && name == 4 && !strncmp(at, "open", 4))
            *(mm ? &jaw->open_by : &jaw->open) = mm ? 1e-3 * v : v;
        else if (good && name == 7 && !strncmp(at, "forward", 7))
            jaw->forward = 1e-3 * v;
        else if (good && name == 4 && !strncmp(at, "side", 4))
            jaw->side = 1e-3 * v;
        else
            return cli_wrong(err, "--jaw takes open=DEGREES or open=20mm, forward=MM, side=MM; not '%.*s'", (int)n, at);
        at += n + (at[n] == ',');
    }
    return FA_OK;
}

static FaCode read_pose(void *user, int frame, float *x, FaError *err) {
    const Muscle *m = user;
    (void)err;
    memcpy(x, frame ? m->x : m->job.rig->mesh.x, 3 * (size_t)m->job.rig->mesh.nvert * sizeof *x);
    return FA_OK;
}

static FaCode read_posed(void *user, int frame, float *x, FaError *err) {
    (void)frame;
    return read_pose(user, 1, x, err);
}

FaCode muscle_posed(Muscle *m, FaError *err) {
    FaCompare found;
    const FaCompareOptions o = {.rig = m->job.rig, .intersections = true};
    TRY(fa_sequence_custom(m->job.rig->mesh.nvert, 1, 30, read_posed, m, &m->seq, err));
    TRY(fa_sequence_custom(m->job.rig->mesh.nvert, 1, 30, read_pose, m, &m->rest, err));
    TRY(fa_compare(m->rest, m->seq, &o, &found, err));
    m->crossings_rest = found.intersections_a, m->crossings = found.intersections_b;
    fa_compare_free(&found);
    m->job.frames = m->seq;
    m->job.last = 0;
    m->job.one_picture = true;
    return FA_OK;
}

FaCode muscle_clip(const FaRig *rig, int nframe, FaClip **clip, FaError *err) {
    const char **names = malloc(((size_t)rig->nshape + 1) * sizeof *names);
    if (!names) return cli_no_memory(err);
    for (int i = 0; i < rig->nshape; i++) names[i] = rig->shape[i].name;
    FaCode rc = fa_clip_new(nframe, rig->nshape, names, 30, clip, err);
    free(names);
    return rc;
}

// Teeth and tongue go with the rig's own shapes: a clip says how far these are, the same in all frames.
static FaCode jaw_clip(const Muscle *m, int nframe, FaClip **clip, FaError *err) {
    const size_t n = (size_t)m->job.rig->nshape;
    FaCode rc = muscle_clip(m->job.rig, nframe, clip, err);
    if (rc >= 0) rc = fa_muscle_jaw_weights(m->model, &m->pose.jaw, (*clip)->weight, err);
    for (int f = 1; f < nframe && rc >= 0; f++)
        memcpy((*clip)->weight + (size_t)f * n, (*clip)->weight, n * sizeof(float));
    return rc;
}

static FaCode make_pose(Job *j, FaError *err) {
    Muscle *m = (Muscle *)j;
    TRY(read_jaw(&m->pose.jaw, err));
    TRY(muscle_open(j, err));
    if (m->directed) {
        snprintf(j->generator, sizeof j->generator, "fascia %s muscle pose --part %g", fa_version(), part_asked);
        return muscle_play_pose(m, part_asked, err);
    }
    m->pose.activation = m->activation;
    if (act) TRY(fa_muscle_activate(m->model, act, m->activation, err));
    if (!(m->x = malloc(3 * (size_t)j->rig->mesh.nvert * sizeof *m->x))) return cli_no_memory(err);
    FaCode rc = fa_muscle_pose(m->model, &m->pose, m->x, &m->posed, err);
    TRY(rc);
    m->stalled = rc == FA_STALLED;
    TRY(muscle_posed(m, err));
    TRY(jaw_clip(m, 1, &m->clip, err));
    snprintf(j->generator, sizeof j->generator, "fascia %s muscle pose --act %.400s --jaw %.200s", fa_version(),
             act ? act : "", jaw_text ? jaw_text : "");
    j->played = m->clip;
    return FA_OK;
}

static double length(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

void muscle_say(Job *j) {
    const Muscle *m = (const Muscle *)j;
    const FaMusclePosed *p = &m->posed;
    cli_say("%d steps in %.2f s; %d tets inside out; volume of the flesh %+.2f %%; triangles that cross: %d, at rest "
            "%d",
            p->iterations, p->seconds, p->inverted, 100 * p->volume_change, m->crossings, m->crossings_rest);
    for (int i = 0; i < FA_MUSCLE_MARKS; i++)
        if (isfinite(p->mark[i][0]))
            cli_say("  %-13s %5.1f mm (left %+.1f, up %+.1f, front %+.1f)", fa_muscle_mark_name((FaMuscleMark)i),
                    1e3 * length(p->mark[i]), 1e3 * p->mark[i][0], 1e3 * p->mark[i][1], 1e3 * p->mark[i][2]);
    if (isfinite(p->mouth_width))
        cli_say("  mouth         %5.1f mm wide, lips %.1f mm farther apart than at rest", 1e3 * p->mouth_width,
                1e3 * p->mouth_open);
    if (muscle_colliders) cli_say("colliders: the skin is %.2f mm deep in them at most", 1e3 * p->collider_depth);
    if (m->crossings > m->crossings_rest)
        cli_say(
            "warning: skin passes through skin (%d pairs of triangles, %d at rest): pull less, or give the rig finer "
            "lips",
            m->crossings, m->crossings_rest);
    if (m->stalled)
        cli_say("warning: the flesh is not quite at rest (%.2g N are left): pull less, or open less", p->residual);
}

void muscle_json(Job *j, FaJsonWriter *w) {
    const Muscle *m = (const Muscle *)j;
    const FaMusclePosed *p = &m->posed;
    fa_json_int(w, "iterations", p->iterations);
    fa_json_number(w, "residual", p->residual);
    fa_json_int(w, "inverted", p->inverted);
    fa_json_int(w, "intersections", m->crossings);
    fa_json_int(w, "intersections_rest", m->crossings_rest);
    fa_json_number(w, "volume_change", p->volume_change);
    fa_json_number(w, "jaw_open", p->open);
    fa_json_number(w, "mouth_width_mm", 1e3 * p->mouth_width);
    fa_json_number(w, "mouth_open_mm", 1e3 * p->mouth_open);
    fa_json_number(w, "collider_depth_mm", 1e3 * p->collider_depth);
    fa_json_begin(w, "landmarks", '{');
    for (int i = 0; i < FA_MUSCLE_MARKS; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s_mm", fa_muscle_mark_name((FaMuscleMark)i));
        fa_json_number(w, key, 1e3 * length(p->mark[i]));
    }
    fa_json_end(w);
    fa_json_number(w, "pose_seconds", p->seconds);
}

// --- sheet --------------------------------------------------------------------------------------------------------

// Every muscle at 1, one after the other, both sides together.
typedef struct Sheet {
    int count;
    char caption[FA_MUSCLES_MOST][64];
    const char *captions[FA_MUSCLES_MOST];
    float *from, *x; // without a muscle (nvert x 3); with one (count x nvert x 3)
    int nvert;
} Sheet;

static FaCode read_tile(void *user, int frame, float *x, FaError *err) {
    const Sheet *s = user;
    (void)err;
    memcpy(x, s->x + 3 * (size_t)frame * (size_t)s->nvert, 3 * (size_t)s->nvert * sizeof *x);
    return FA_OK;
}

static double farthest_mm(const float *x, const float *from, int nvert) {
    double most = 0;
    for (int v = 0; v < nvert; v++) {
        double d[3];
        for (int k = 0; k < 3; k++) d[k] = (double)x[3 * v + k] - (double)from[3 * v + k];
        most = fmax(most, length(d));
    }
    return 1e3 * most;
}

// How far it pulls is told against the jaw alone.
static FaCode pose_tile(const Muscle *m, int muscle, Sheet *s, FaError *err) {
    enum { ROOM = 33 }; // letters below a tile
    char mm[32];
    double one[FA_MUSCLES_MOST] = {0};
    const FaMuscleInfo info = fa_muscle_info(m->model, muscle);
    float *x = s->x + 3 * (size_t)s->count * (size_t)s->nvert;
    one[muscle] = 1;
    if (info.side > 0) one[muscle + 1] = 1;
    const FaMusclePose pose = {.activation = one, .jaw = m->pose.jaw};
    TRY(fa_muscle_pose(m->model, &pose, x, NULL, err));
    const size_t tail = (size_t)snprintf(mm, sizeof mm, "  %.1f mm", farthest_mm(x, s->from, s->nvert));
    const char *name = strcspn(info.name, ".") + tail > ROOM ? info.alias : info.name;
    s->captions[s->count] = s->caption[s->count];
    snprintf(s->caption[s->count++], sizeof s->caption[0], "%.*s%s", (int)strcspn(name, "."), name, mm);
    return FA_OK;
}

static FaCode pose_tiles(Muscle *m, Sheet *s, FaError *err) {
    int n = fa_muscle_count(m->model);
    const FaMusclePose still = {.jaw = m->pose.jaw};
    TRY(fa_muscle_pose(m->model, &still, s->from, NULL, err));
    for (int i = 0; i < n; i++) {
        if (fa_muscle_info(m->model, i).side < 0) continue; // with its left one
        cli_progress(NULL, "poses", (double)i / n);
        TRY(pose_tile(m, i, s, err));
    }
    cli_progress_end();
    return FA_OK;
}

static FaCode draw_sheet(const Muscle *m, Sheet *s, FaError *err) {
    FaRenderJob job = fa_render_job();
    FaRenderView *view = &job.look.view;
    FaSequence *seq = NULL;
    FaClip *clip = NULL;
    job.rig = m->job.rig;
    job.picture = FA_PICTURE_FRAMES;
    job.tiles = s->count;
    job.captions = s->captions;
    job.look.width = job.look.height = 256;
    job.generator = "fascia muscle pose --sheet";
    job.progress = cli_progress;
    fa_render_view("front", view);
    view->yaw = 20;
    view->aim = fa_render_focus(m->job.rig, "nose", view->focus);
    view->zoom = view->aim ? 1.45 : 1;
    FaCode rc = jaw_clip(m, s->count, &clip, err);
    if (rc >= 0) rc = fa_sequence_custom(s->nvert, s->count, 30, read_tile, s, &seq, err);
    job.clip = clip;
    if (rc >= 0) rc = fa_render_file(seq, &job, sheet, err);
    fa_sequence_close(seq);
    fa_clip_free(clip);
    cli_progress_end();
    return rc;
}

static FaCode write_sheet(Muscle *m, FaError *err) {
    static Sheet s;
    s = (Sheet){.nvert = m->job.rig->mesh.nvert};
    s.from = malloc(3 * (size_t)s.nvert * sizeof *s.from);
    s.x = malloc(3 * (size_t)s.nvert * (size_t)fa_muscle_count(m->model) * sizeof *s.x);
    FaCode rc = s.x && s.from ? pose_tiles(m, &s, err) : cli_no_memory(err);
    if (rc >= 0) rc = draw_sheet(m, &s, err);
    free(s.x);
    free(s.from);
    return rc;
}

// --- the page -----------------------------------------------------------------------------------------------------

static FaCode save_page(Muscle *m, FaError *err) {
    Job *j = &m->job;
    static MusclePage muscles;
    FaClip *still = NULL;
    FaCode rc = muscle_page_fill(m->model, m->activation, &muscles, err);
    if (rc >= 0) rc = fa_clip_slice(m->clip, 0, 0, &still, err);
    if (rc >= 0) memset(still->weight, 0, (size_t)still->nchan * sizeof *still->weight);
    FaPageTrack track[2] = {{.name = "at rest", .seq = m->rest, .clip = still},
                            {.name = "posed", .note = act, .seq = m->seq, .clip = m->clip}};
    const FaPagePair pair = {
        .name = "Muscles",
        .sentence = "Click a muscle: its name, its bone, how strongly it pulls. More (right): the skin, which muscles.",
        .after = 1};
    const FaPageOptions opt = {.title = "fascia muscle",
                               .facts = j->generator,
                               .pairs = &pair,
                               .npairs = 1,
                               .muscles = muscles.muscle,
                               .nmuscles = muscles.n,
                               .progress = cli_progress};
    muscle_page_tracks(&muscles, &track[0], &track[1]);
    if (rc >= 0) rc = fa_page_save(j->output, j->rig, track, 2, &opt, err);
    cli_progress_end();
    fa_clip_free(still);
    muscle_page_free(&muscles);
    return rc;
}

static FaCode write_pose(Job *j, FaError *err) {
    Muscle *m = (Muscle *)j;
    if (sheet) TRY(write_sheet((Muscle *)j, err));
    if (sheet) cli_say("wrote %s: look at it", sheet);
    if (show && j->output && path_has_ext(j->output, "png"))
        return fa_muscle_picture(((Muscle *)j)->model, false, 0, j->generator, j->output, err);
    if (j->output && path_has_ext(j->output, "html"))
        return m->directed ? muscle_page_ways(m, NULL, err) : save_page(m, err);
    if (!j->output || !path_has_ext(j->output, "pose")) return job_save_still(j, err);
    if (!m->directed) TRY(fa_muscle_directed(m->model, &m->pose, &m->directed, err));
    return muscle_save_pose(m, err);
}

static int run_pose(int argc, const char **argv) {
    (void)argc;
    if (!common.output && !sheet && !common.dry_run && !common.json) return output_missing("smile.glb");
    const bool file = path_has_ext(argv[0], "pose");
    int code =
        file ? cli_only("for a .pose; change it with fascia muscle edit",
                        "part on show collider hinge world cache-unit bake-error max-targets")
             : cli_only("for a pose", "act jaw show sheet collider hinge world cache-unit bake-error max-targets");
    if (code != EXIT_OK) return code;
    if (show && !(common.output && path_has_ext(common.output, "png"))) return cli_usage("--show goes with -o OUT.png");
    if (file && part_asked < 1 && common.output && path_has_ext(common.output, "pose"))
        return cli_usage("--part is for pictures and meshes: a .pose is played to any part of the way");
    Muscle m = {.path = argv[0],
                .again = true,
                .job = {.verb = "muscle",
                        .track = "muscles",
                        .rig_path = argv[0],
                        .make = make_pose,
                        .write = write_pose,
                        .say = muscle_say,
                        .json = muscle_json,
                        .free = muscle_free}};
    FaError err = {0};
    if (file && muscle_load_pose(&m, argv[0], on_face, &err) < 0) {
        fa_directed_free(m.directed);
        return cli_fail(&err);
    }
    code = job_walk(&m.job);
    return code == EXIT_OK && (m.stalled || m.crossings > m.crossings_rest) ? EXIT_CONVERGE : code;
}

// --- the verbs ----------------------------------------------------------------------------------------------------

static const Command cmd_muscle_build = {
    .name = "build",
    .line = "fill a face with flesh and place its muscles",
    .usage = "muscle build RIG|FACE -o OUT.face [options]",
    .examples =
        "  fascia muscle build head.glb -o head.face                      with the bones of the file, if it has any\n"
        "  fascia muscle build bones.face -o head.face                    on a face made by fascia build --bone ...\n"
        "  fascia muscle build head.glb -o fine.face --flesh-size 12000   finer flesh\n"
        "  fascia muscle build head.glb -o head.face --shapes             and muscles of every shape, for clips\n"
        "  fascia muscle build head.glb -o head.face --picture muscles.png  see where the muscles lie\n"
        "  fascia muscle build head.glb --own-muscles muscles/ -o own.face  muscles of your own: "
        "zygomaticus_major.L.stl ...\n"
        "  fascia muscle build head.glb --own-muscles risorius.L.obj --own-unit mm -o own.face  one of them, in mm\n"
        "  fascia muscle build head.glb --cut flesh.png                   the flesh cut open\n"
        "  fascia muscle build head.glb --dry-run --json                  the figures alone\n",
    .notes =
        "The face keeps flesh and muscles; list and pose open it at once. docs/guide/muscle.md says what the figures\n"
        "mean.\n",
    .options = build_options,
    .writes = "face",
    .min_args = 1,
    .max_args = 1,
    .run = run_build,
};

static const Command cmd_muscle_list = {
    .name = "list",
    .line = "the muscles of a face: bone, share in the flesh, length, volume, force",
    .usage = "muscle list FACE [options]",
    .examples = "  fascia muscle list head.face\n"
                "  fascia muscle list head.face --json | jq '.muscles[].name'\n"
                "  fascia muscle list head.face --curves curves.json            activation by length, for edits\n",
    .notes = "FACE may also be a rig. in: how much of the muscle is in the flesh; N: force at full strength.\n",
    .options = list_options,
    .min_args = 1,
    .max_args = 1,
    .run = run_list,
};

static const Command cmd_muscle_pose = {
    .name = "pose",
    .line = "a pose by muscles and jaw",
    .usage = "muscle pose FACE --act NAME=V,... [--jaw open=DEG] -o OUT [options]\n"
             "       fascia muscle pose POSE [--part X] -o OUT [options]",
    .examples =
        "  fascia muscle pose head.face --act zygomaticus_major=.7 -o smile.glb          a smile\n"
        "  fascia muscle pose head.face --act zyg_maj.L=1,frontalis*=.5 -o wry.png       one side; brows up\n"
        "  fascia muscle pose head.face --act dli=.5 --jaw open=8 -o talk.obj            with the jaw open\n"
        "  fascia muscle pose head.face --act zyg_maj=1 --show muscles -o plate.png      muscles below the skin\n"
        "  fascia muscle pose head.face --act zyg_maj=1 -o smile.html                    a page: click the muscles\n"
        "  fascia muscle pose head.face --act inc_*=1 -o narrow.pose                     a pose to be edited\n"
        "  fascia muscle pose smile.pose -o smile.glb                                    of fascia muscle target, "
        "edit\n"
        "  fascia muscle pose smile.pose --part .5 --on other/head.face -o half.png      half of it; its face has "
        "moved\n"
        "  fascia muscle pose head.face --sheet muscles.png                              every muscle, one by one\n"
        "  fascia muscle pose head.face --act masseter=1 --json                          the figures alone\n",
    .notes =
        "Out: .glb (a morph target is added), .obj, .png, .pc2, .mdd, .usda, .html, .pose. FACE may also be a rig.\n"
        "fascia muscle list FACE names the muscles.\n",
    .options = pose_options,
    .writes = "glb gltf vrm obj png pc2 mdd usda html pose",
    .min_args = 1,
    .max_args = 1,
    .run = run_pose,
};

static const Command *const muscle_verbs[] = {
    &cmd_muscle_build, &cmd_muscle_list, &cmd_muscle_pose,     &cmd_muscle_target,
    &cmd_muscle_edit,  &cmd_muscle_play, &cmd_muscle_retarget, NULL};

const Command cmd_muscle = {
    .name = "muscle",
    .line = "a face that moves by its muscles: build, list, pose, target, edit, play, retarget",
    .usage = "muscle build|list|pose|target|edit|play|retarget ...",
    .examples = "  fascia muscle build head.glb -o head.face\n"
                "  fascia muscle list head.face\n"
                "  fascia muscle pose head.face --act zygomaticus_major=.7 --jaw open=8 -o smile.glb\n"
                "  fascia muscle target head.face --weights mouthFunnel=1 -o funnel.glb\n"
                "  fascia muscle edit smile.pose --edits lips.json -o better.pose\n"
                "  fascia muscle play head.face clip.csv -o clip.glb\n",
    .verbs = muscle_verbs,
};

// The walk that every verb makes: rig, clip, frames, figures, file, report.
#include "job.h"

#include "outputs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// --- loading ------------------------------------------------------------------------------------------------------

LoadOptions load_options = {.head_smooth = -1};
OutOptions out_options;

FaRigOptions load_rig_options(void) {
    return (FaRigOptions){.unit = common.unit,
                          .up = (FaUp)load_options.up,
                          .mesh = load_options.mesh,
                          .map = load_options.names,
                          .hinge = load_options.hinge,
                          .any_size = load_options.any_size};
}

FaClipOptions load_clip_options(void) {
    return (FaClipOptions){.head_units = (FaHeadUnits)load_options.head_units,
                           .joint = load_options.joint,
                           .unit = common.unit,
                           .fps = common.fps};
}

FaMarkerOptions load_marker_options(void) {
    return (FaMarkerOptions){.unit = common.unit, .fps = common.fps, .any_size = load_options.any_size};
}

FaCode load_rig(const char *path, FaRig **rig, FaError *err) {
    FaRigOptions opt = load_rig_options();
    TRY(outputs_spare(path, err));
    return fa_rig_load(path, &opt, rig, err);
}

FaCode load_clip(const char *path, FaClip **clip, FaError *err) {
    FaClipOptions opt = load_clip_options();
    TRY(fa_clip_load(path, &opt, clip, err));
    FaCode rc = fa_clip_prepare_head(clip, load_options.head_smooth, NULL, err);
    if (rc >= 0) return rc;
    fa_clip_free(*clip);
    *clip = NULL;
    return rc;
}

// --- units of caches ----------------------------------------------------------------------------------------------

// How large the points' cloud is, whichever way it is turned: the root mean square distance from its middle.
static double cloud_size(const float *x, int n, const double m[9]) {
    double sum[3] = {0}, squares = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            double p = 0;
            for (int l = 0; l < 3; l++) p += m[3 * k + l] * (double)x[3 * i + l];
            sum[k] += p;
            squares += p * p;
        }
    for (int k = 0; k < 3; k++) squares -= sum[k] * sum[k] / n;
    return n > 0 && squares > 0 ? sqrt(squares / n) : 0;
}

static double determinant(const double m[9]) {
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

// Which side out the triangles are about the points' middle: its sign tells a mirrored mesh, however it is turned.
static double signed_volume(const FaMesh *mesh, const float *x) {
    double mid[3] = {0}, sum = 0;
    for (int i = 0; i < 3 * mesh->nvert; i++) mid[i % 3] += (double)x[i] / mesh->nvert;
    for (int t = 0; t < mesh->ntri; t++) {
        double c[9];
        for (int i = 0; i < 9; i++) c[i] = (double)x[3 * mesh->tri[3 * t + i / 3] + i % 3] - mid[i % 3];
        sum += determinant(c);
    }
    return sum;
}

static void scale_of(double unit, double m[9]) {
    for (int i = 0; i < 9; i++) m[i] = i % 4 == 0 ? unit : 0;
}

// What the points of a cache are to be multiplied with to lie on the rig; in doubt the rig's own file's.
static void fit_cache(const float *x, const FaRig *rig, double best[9], bool *own) {
    static const double SURE = 0.05; // of a logarithm: another explanation must be this much better
    double may[4][9], one[9], least = INFINITY;
    int n = rig->mesh.nvert;
    scale_of(1, one);
    fa_rig_from_file(rig, may[0]);
    scale_of(1, may[1]);
    scale_of(rig->file_unit, may[2]); // in the world, where the node's scale is undone
    scale_of(common.unit > 0 ? common.unit : 1, may[3]);
    double want = cloud_size(rig->mesh.x, n, one),
           side = signed_volume(&rig->mesh, x) * signed_volume(&rig->mesh, rig->mesh.x);
    for (int i = 0; i < 4; i++) {
        double off = fabs(log(cloud_size(x, n, may[i]) / want)) + (i ? SURE : 0) + (determinant(may[i]) * side < 0);
        if (!(off < least)) continue;
        least = off;
        *own = i == 0 || i == 2;
        memcpy(best, may[i], sizeof may[i]);
    }
}

// Without a rig the size alone tells, and not always: heads in mm are as large as bodies in cm.
static FaCode guess_cache(const char *path, const float *x, int n, double m[9], FaError *err) {
    double size = 0;
    for (int k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; i++) low = fminf(low, x[3 * i + k]), high = fmaxf(high, x[3 * i + k]);
        size = fmax(size, (double)(high - low));
    }
    scale_of(1, m);
    if (size < 3 || load_options.any_size) return FA_OK;
    if (size > 100)
        return cli_wrong(
            err, "%s: %.0f units large, and no cache says its unit: name the rig with --rig, or the unit with --unit",
            path, size);
    scale_of(0.01, m);
    return FA_OK;
}

// Opened in metres as they stand; m: what makes them so.
static FaCode find_unit(const char *path, FaSequence *seq, const FaRig *rig, double m[9], bool *own, FaError *err) {
    int n = fa_sequence_nvert(seq);
    float *x = malloc(3 * (size_t)n * sizeof *x);
    if (!x) return cli_no_memory(err);
    FaCode rc = fa_sequence_read(seq, 0, x, err);
    *own = false;
    if (rc >= 0 && rig)
        fit_cache(x, rig, m, own);
    else if (rc >= 0)
        rc = guess_cache(path, x, n, m, err);
    free(x);
    return rc;
}

FaCode open_frames(const char *path, const FaRig *rig, FaSequence **seq, FaError *err) {
    FaRigOptions opt = load_rig_options();
    if (fa_file_kind(path) != FA_KIND_CACHE || (!rig && common.unit > 0)) return fa_sequence_open(path, &opt, seq, err);
    double m[9];
    bool own;
    opt.unit = FA_UNIT_M;
    TRY(fa_sequence_open(path, &opt, seq, err));
    if (rig && fa_sequence_nvert(*seq) != rig->mesh.nvert) return FA_OK; // said by who uses it
    TRY(find_unit(path, *seq, rig, m, &own, err));
    double unit = cbrt(fabs(determinant(m)));
    if (!own && fabs(unit - 1) > 1e-9)
        cli_say("note: %s is taken to be in units of %g m, %s", path_base(path), unit,
                rig ? "which lays it on the rig" : "by its size (--unit says otherwise)");
    // once more, so that the mesh of numbered files is as large as their frames
    opt.unit = unit;
    fa_sequence_close(*seq);
    *seq = NULL;
    TRY(fa_sequence_open(path, &opt, seq, err));
    for (int i = 0; i < 9; i++) m[i] /= unit;
    fa_sequence_transform(*seq, m);
    return FA_OK;
}

bool path_has_ext(const char *path, const char *ext) {
    const char *dot = strrchr(path, '.');
    return dot && !strcasecmp(dot + 1, ext);
}

const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

FaCode check_readable(const char *path, FaError *err) {
    if (strchr(path, '#') || access(path, R_OK) == 0) return FA_OK; // name_####.obj: many files
    *err = (FaError){.code = FA_E_FILE};
    snprintf(err->what, sizeof err->what, "cannot open: %s", strerror(errno));
    snprintf(err->path, sizeof err->path, "%s", path);
    snprintf(err->remedy, sizeof err->remedy, "check %s",
             errno == ENOENT ? "the name and the folder" : "the permissions");
    return FA_E_FILE;
}

bool output_wanted(void) { return common.output && !common.dry_run; }

int output_missing(const char *example) { return cli_usage("no output file: add -o OUT, for example -o %s", example); }

char **split_list(const char *text, int *count) {
    *count = 0;
    if (!text) return NULL;
    int n = 1;
    for (const char *p = text; *p; p++) n += *p == ',';
    char **item = malloc((size_t)n * sizeof *item + strlen(text) + 1);
    if (!item) return NULL;
    char *at = strcpy((char *)(item + n), text);
    for (; *count < n; ++*count) {
        item[*count] = at;
        if ((at = strchr(at, ','))) *at++ = 0;
    }
    return item;
}

static void say_note(const FaNote *n) {
    bool act = n->remedy[0] && strncmp(n->remedy, "none needed", 11);
    cli_say("note: %s%s%s%s%s%s", n->where, n->where[0] ? ": " : "", n->text, act ? " (" : "", act ? n->remedy : "",
            act ? ")" : "");
}

// RIG may be a .face: it knows its rig's file, and is the face of a method that has one.
static FaCode load_subject(Job *j, FaError *err) {
    static char rig_path[4096];
    FaFace *face;
    const char *path = j->rig_path, *other = cli_has("face") ? fa_params_text(cli_params, "face") : "";
    if (!path_has_ext(path, "face")) return load_rig(path, &j->rig, err);
    if (*other) return cli_wrong(err, "two faces are named: %s and %s", path, other);
    TRY(fa_face_load(path, &face, err));
    snprintf(rig_path, sizeof rig_path, "%s", fa_face_rig_path(face));
    fa_face_free(face);
    if (!rig_path[0])
        return cli_wrong(err, "%s does not say which rig it was built from: give the rig, and --face %s", path, path);
    if (cli_has("face")) TRY(fa_params_set(cli_params, "face", path, err));
    j->rig_path = rig_path;
    return load_rig(rig_path, &j->rig, err);
}

// Where --map is a map of markers, the names file is --names.
static const char *names_option(const Job *j) {
    return !strcmp(j->verb, "drive") || !strcmp(j->verb, "markers") ? "--names" : "--map";
}

static void say_binding(const FaBinding *b, const char *clip) {
    char idle[64] = "";
    if (b->idle) snprintf(idle, sizeof idle, ", of which %d move nothing", b->idle);
    cli_say("%s: %d of %d channels drive %d of %d shapes%s", clip, b->nchan - b->unused, b->nchan, b->matched,
            b->nshape, idle);
}

FaCode job_bind(Job *j, const FaClip *clip, const char *clip_path, const FaRig *rig, FaError *err) {
    FaBinding *b = &j->binding;
    TRY(fa_clip_bind(clip, rig, b, err));
    if (!b->matched && !clip->head)
        return cli_wrong(
            err, "no channel of %s drives a shape of %s; name them with %s names.json, such as {\"%s\": \"%s\"}",
            clip_path, rig->path, names_option(j), clip->nchan ? clip->name[0] : "channel", "jawOpen");
    if (!b->matched)
        cli_say("note: no channel of %s drives a shape; only the head moves", clip_path);
    else if (!common.json)
        say_binding(b, path_base(clip_path));
    job_note(j, &b->notes);
    return FA_OK;
}

// --- the head's motion --------------------------------------------------------------------------------------------

static const FaNote *find_note(const FaNotes *notes, const char *code) {
    for (int i = 0; notes && i < notes->count; i++)
        if (!strcmp(notes->note[i].code, code)) return &notes->note[i];
    return NULL;
}

FaCode job_on_body(Job *j, const FaRig *rig, FaClip **clip, FaClip **felt, FaError *err) {
    FaClip *shown = NULL, *all = NULL;
    if (felt) *felt = NULL;
    if (!rig || !*clip) return FA_OK;
    TRY(fa_clip_on_body(rig, *clip, &shown, &all, err));
    if (!shown) return FA_OK;
    job_note(j, &shown->notes);
    fa_clip_free(*clip);
    *clip = shown;
    if (felt)
        *felt = all;
    else
        fa_clip_free(all);
    return FA_OK;
}

// What was done with a recording; and whose head motion is played, if there are two.
static FaCode head_of_clip(Job *j, FaError *err) {
    if (!j->loaded) return FA_OK;
    const FaNote *done = find_note(&j->loaded->notes, "head-motion");
    const FaClip *own = j->rig ? j->rig->clip : NULL;
    bool another = own && own->head && (!own->path || !j->loaded->path || strcmp(own->path, j->loaded->path));
    if (done && !common.json && j->no_clip) say_note(done);
    if (another && j->loaded->head && !common.json)
        cli_say("note: the head moves as %s says, not as the animation in %s", path_base(j->clip_path),
                path_base(j->rig_path));
    return job_on_body(j, j->rig, &j->loaded, &j->felt, err);
}

// --- the rig's own notes ------------------------------------------------------------------------------------------

// What the binding has said is not said again.
static bool worth_saying(const Job *j, const FaNote *note) {
    bool bound = j->binding.nchan > 0;
    if (bound && (!strcmp(note->code, "map-unused") || !strcmp(note->code, "duplicate-arkit"))) return false;
    return fa_note_important(note);
}

// What may change the result, in a few lines; all that `fascia info` knows with -v.
static FaCode examine(Job *j, FaError *err) {
    if (!j->doctor || !j->rig) return FA_OK;
    TRY(fa_info_of_rig(j->rig, true, &j->info, err));
    const FaNotes *all = &j->info.notes;
    j->picked.note = malloc((size_t)(all->count + 1) * sizeof *j->picked.note);
    if (!j->picked.note) return cli_no_memory(err);
    for (int i = 0; i < all->count; i++)
        if (common.verbose || worth_saying(j, &all->note[i])) j->picked.note[j->picked.count++] = all->note[i];
    FaNotes said = {.note = j->picked.note, .count = j->picked.count};
    int most = 6 - (j->binding.nchan > 0) - j->binding.notes.count; // lines of all this together
    if (said.count > most && !common.verbose) said.count = most - 1;
    for (int i = 0; i < said.count && !common.json; i++) say_note(&said.note[i]);
    if (said.count < j->picked.count && !common.json)
        cli_say("note: %d more; -v says all, fascia info %s what to do", j->picked.count - said.count, j->rig_path);
    if (j->picked.count) j->notes[j->nnotes++] = &j->picked;
    return FA_OK;
}

// The rig's own animation at the rate of --fps, as a clip of another file would be.
static void set_fps(FaClip *clip) {
    clip->fps = common.fps;
    for (int f = 0; f < clip->nframe; f++) clip->time[f] = f / common.fps;
}

// A file that is converted as it is needs no word about its meshes, unless they are lost.
static bool writes_motion(const Job *j) {
    if (!j->rig || !j->output) return false;
    bool whole = path_has_ext(j->output, "glb") || path_has_ext(j->output, "gltf") || path_has_ext(j->output, "vrm");
    return j->doctor || (!strcmp(j->verb, "convert") && (j->clip_path || !whole));
}

// Artists go to 2, some channels are degrees; what is far beyond is a mistake that no frame can show.
bool job_is_weight(double w) { return w <= 1e4 && w >= -1e4; }

FaCode job_check_weights(const FaClip *clip, const char *path, FaError *err) {
    for (int f = 0; f < clip->nframe; f++)
        for (int c = 0; c < clip->nchan; c++) {
            float w = clip->weight[(size_t)f * (size_t)clip->nchan + (size_t)c];
            if (job_is_weight((double)w)) continue;
            *err = (FaError){.code = FA_E_FORMAT};
            snprintf(err->what, sizeof err->what, "a weight of %g: no rig means that", (double)w);
            snprintf(err->path, sizeof err->path, "%s", path);
            snprintf(err->place, sizeof err->place, "frame %d, channel '%.80s'", f, clip->name[c]);
            snprintf(err->remedy, sizeof err->remedy, "mend the weight there; 1 is a whole shape");
            return FA_E_FORMAT;
        }
    return FA_OK;
}

static FaCode load(Job *j, FaError *err) {
    if (j->rig_path) TRY(load_subject(j, err));
    if (j->clip_path)
        TRY(load_clip(j->clip_path, &j->loaded, err));
    else if (j->simulated && common.fps > 0 && j->rig && j->rig->clip)
        set_fps(j->rig->clip);
    TRY(head_of_clip(j, err));
    j->clip = j->loaded ? j->loaded : j->rig ? j->rig->clip : NULL;
    if (j->no_clip && !j->clip) return cli_wrong(err, "%s has no animation: give %s", j->rig_path, j->no_clip);
    if (j->no_clip || (j->rig && j->clip_path))
        TRY(job_check_weights(j->clip, j->clip_path ? j->clip_path : j->rig_path, err));
    if (j->no_clip && j->clip_path) TRY(job_bind(j, j->clip, j->clip_path, j->rig, err));
    TRY(examine(j, err));
    if (writes_motion(j)) fa_rig_part_notes(j->rig, j->output, &j->parts);
    job_note(j, &j->parts);
    return j->load ? j->load(j, err) : FA_OK;
}

// --- making -------------------------------------------------------------------------------------------------------

FaCode record_new(FaSequence *frames, int last, const FaRig *rig, const FaClip *clip, Record *rec, FaError *err) {
    static int made;
    const char *out = common.output ? common.output : "", *slash = strrchr(out, '/'), *tmp = getenv("TMPDIR");
    char dir[4000];
    FaSequence *wanted;
    if (common.output)
        snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - out + 1) : 2, slash ? out : "./");
    else
        snprintf(dir, sizeof dir, "%s/", tmp && *tmp ? tmp : "/tmp");
    TRY(fa_sequence_slice(frames, 0, last, &wanted, err));
    char path[4096];
    snprintf(path, sizeof path, "%s.fascia-%ld-%d.pc2", dir, (long)getpid(), made++);
    double fps = fa_sequence_fps(frames);
    FaSinkOptions opt = {.rig = rig, .clip = clip, .fps = fps > 0 ? fps : 30, .progress = cli_progress};
    FaCode rc = fa_sequence_save(wanted, path, &opt, NULL, err);
    fa_sequence_close(wanted);
    cli_progress_end();
    if (rc >= 0) rc = fa_sequence_open(path, NULL, &rec->seq, err);
    remove(path);
    return rc;
}

void record_free(Record *rec) {
    fa_sequence_close(rec->seq);
    *rec = (Record){0};
}

FaCode job_parameters(Job *j, FaError *err) {
    TRY(fa_params_json(cli_params, &j->params, err));
    snprintf(j->generator, sizeof j->generator, "fascia %s %s %s", fa_version(), j->verb, j->params);
    return FA_OK;
}

// A face that is given keeps what it was built with: the parameter says so, and one that contradicts it is refused.
static FaCode settle_flesh(const Job *j, FaError *err) {
    if (!j->face || !cli_has("flesh") || !fa_face_filled(j->face)) return FA_OK;
    if (cli_given("flesh") && fa_params_get(cli_params, "flesh") == 0)
        return cli_wrong(err,
                         "--flesh layer is asked for, and %s has filled flesh: leave the option out, or give the rig",
                         fa_params_text(cli_params, "face"));
    return fa_params_set(cli_params, "flesh", "filled", err);
}

FaCode job_method(Job *j, const char *method, FaMethodSetup setup, FaError *err) {
    setup.rig = j->rig;
    setup.face = j->face;
    setup.params = cli_params;
    TRY(settle_flesh(j, err));
    TRY(job_parameters(j, err));
    TRY(fa_method_open(method, &setup, &j->method, err));
    job_note(j, fa_method_notes(j->method));
    return FA_OK;
}

// About 0.18 ms per vertex on a core of today: 29 s for 160,000, of which closest points, layers and the factor's order
// are most. What takes less is a face of fewer vertices.
void job_say_long(const FaRig *rig, const char *then) {
    double seconds = 1.8e-4 * rig->mesh.nvert;
    if (seconds < 20) return;
    cli_say("note: making the flesh of %d vertices takes about %.0f s, and frames of it a second or more each; much "
            "sooner: fascia build %s --simulate-vertices 5000 -o light.face%s",
            rig->mesh.nvert, seconds, rig->path, then);
}

FaFaceOptions job_face_options(unsigned needs) {
    FaFaceOptions o = fa_face_options_for(needs);
    o.filled = cli_has("flesh") && fa_params_get(cli_params, "flesh") > 0;
    return o;
}

// The face with progress, which the method would get without a word.
static FaCode get_face(Job *j, FaError *err) {
    const char *file = cli_has("face") ? fa_params_text(cli_params, "face") : "";
    unsigned needs = fa_method_needs(j->track);
    if (!needs) return FA_OK;
    FaFaceOptions options = job_face_options(needs);
    const FaFaceGet how = {.file = *file ? file : NULL, .options = &options, .progress = cli_progress};
    if (!*file) job_say_long(j->rig, ", then fascia drive light.face CLIP -o OUT");
    TRY(fa_face_get(j->rig, needs, &how, &j->face, err));
    cli_progress_end();
    return FA_OK;
}

// --frames cuts the result, but what came before still acts: frames are made from the first on.
FaCode job_play(Job *j, FaError *err) {
    TRY(cli_frames(j->clip->nframe, &j->first, &j->last, err));
    TRY(get_face(j, err));
    TRY(job_method(j, j->track, (FaMethodSetup){0}, err));
    TRY(fa_run_new(j->method, j->felt ? j->felt : j->clip, &j->run, err));
    j->frames = fa_run_sequence(j->run);
    j->played = j->clip;
    // comparing, baking and pages read frames several times
    if (j->slow) TRY(record_new(j->frames, j->last, j->rig, j->clip, &j->record, err));
    if (j->slow) j->frames = j->record.seq;
    return FA_OK;
}

// --- frames asked for ----------------------------------------------------------------------------------------------

const FaClip *job_clip(const Job *j) { return j->cut_clip ? j->cut_clip : j->played; }

static FaCode cut(Job *j, FaError *err) {
    const FaClip *clip = j->played;
    int n = fa_sequence_nframe(j->frames);
    bool all = j->first == 0 && j->last == (j->simulated ? clip->nframe : n) - 1;
    // frames that know no times are the clip's, one by one; else one of another length goes along as it is
    bool in_step = clip && (clip->nframe == n || (!(fa_sequence_fps(j->frames) > 0) && n < clip->nframe));
    bool fits = clip && (j->simulated || in_step);
    // a simulation of all of the file's own animation leaves that as it stands; a names file may silence shapes of it
    bool stands = all && j->simulated && !(common.fps > 0) && !load_options.names;
    if (fits && !stands) TRY(fa_clip_slice(clip, j->first, j->last, &j->cut_clip, err));
    if (j->simulated && !j->linear) TRY(fa_sequence_of_clip(j->rig, clip, &j->linear, err));
    if (j->linear) TRY(fa_sequence_slice(j->linear, j->first, j->last, &j->before, err));
    if (out_options.world && clip && clip->head) TRY(fa_sequence_world(j->frames, j->rig, clip, &j->moved, err));
    return fa_sequence_slice(j->moved ? j->moved : j->frames, j->first, j->last, &j->cut, err);
}

static FaCode compare(Job *j, FaError *err) {
    FaCompareOptions opt = {.rig = j->rig, .intersections = out_options.check, .progress = cli_progress};
    FaSequence *own = NULL; // in the head's frame, as linear blending is
    TRY(fa_sequence_slice(j->frames, j->first, j->last, &own, err));
    FaCode rc = fa_compare(j->before, own, &opt, &j->compare, err);
    fa_sequence_close(own);
    cli_progress_end();
    if (rc >= 0 && j->run) j->stats = fa_run_stats(j->run);
    if (rc >= 0 && j->run) job_note(j, fa_run_notes(j->run));
    return rc;
}

// --- writing ------------------------------------------------------------------------------------------------------

// Beside linear blending, with how far each frame is from it.
static FaCode save_page(const Job *j, FaError *err) {
    FaPageTrack tracks[2];
    int n = 0;
    FaPageNumbers numbers[] = {{"distance to linear, max mm", j->compare.frame_max_mm}};
    bool measured = j->compare.frame_max_mm && j->compare.frames == fa_sequence_nframe(j->cut);
    if (j->before)
        tracks[n++] =
            (FaPageTrack){.name = "linear", .note = "the rig as it is", .seq = j->before, .clip = job_clip(j)};
    tracks[n++] =
        (FaPageTrack){.name = j->track, .seq = j->cut, .clip = job_clip(j), .numbers = numbers, .nnumbers = measured};
    for (int i = 0; i < n; i++) tracks[i].crossings = out_options.check;
    tracks[n - 1].labels = j->labels;
    char title[64];
    snprintf(title, sizeof title, "fascia %s", j->verb);
    FaPageOptions opt = {.title = title, .facts = j->generator, .progress = cli_progress};
    return fa_page_save(j->output, j->rig, tracks, n, &opt, err);
}

static FaCode save_picture(const Job *j, FaError *err) {
    FaRenderJob job = fa_render_job();
    job.rig = j->rig;
    job.clip = job_clip(j);
    job.world = true;
    job.generator = j->generator;
    job.progress = cli_progress;
    if (path_has_ext(j->output, "png") && !j->one_picture) {
        int n = fa_sequence_nframe(j->cut);
        job.picture = FA_PICTURE_FRAMES;
        job.tiles = j->captions || n < 120 ? n : 120;
        job.captions = j->captions;
        job.look.width = job.look.height = 200;
    }
    return fa_render_file(j->cut, &job, j->output, err);
}

bool path_is_cache(const char *path) {
    static const char *const not [] = {"glb", "gltf", "vrm", "usda", "html", "png",
                                       "mp4", "m4v",  "mov", "gif",  "csv",  "json"};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (path_has_ext(path, not [i])) return false;
    return true;
}

// Files of points alone name no unit: they are in the coordinates of the mesh that they go on, or as asked for.
void job_cache_frame(const FaRig *rig, double m[9]) {
    FaUnit unit = out_options.cache_unit > 0 ? out_options.cache_unit
                  : !rig                     ? 1
                  : out_options.world        ? rig->file_unit
                                             : 0;
    if (unit > 0)
        scale_of(1 / unit, m);
    else
        fa_rig_to_file(rig, m);
}

static FaCode place_cache(Job *j, FaError *err) {
    double m[9];
    if (!path_is_cache(j->output)) return FA_OK;
    if (out_options.cache_unit > 0 && !j->rig && !(common.unit > 0))
        return cli_wrong(err, "--cache-unit: %s does not say its own unit: add --unit, or --rig RIG", j->track);
    job_cache_frame(j->rig, m);
    fa_sequence_transform(j->cut, m);
    double unit = j->cache_unit = 1 / cbrt(fabs(determinant(m)));
    if (j->rig && fabs(unit - 1) > 1e-6 && !(out_options.cache_unit > 0) && !common.json)
        cli_say("note: %s is in units of %g m, as the rig's own file (--cache-unit m: metres)", path_base(j->output),
                unit);
    return FA_OK;
}

FaCode job_save(Job *j, FaError *err) {
    const char *path = j->output;
    const FaClip *clip = job_clip(j);
    if (path_has_ext(path, "html")) return save_page(j, err);
    if (path_has_ext(path, "png") || path_has_ext(path, "mp4") || path_has_ext(path, "gif"))
        return save_picture(j, err);
    if (clip && (path_has_ext(path, "csv") || path_has_ext(path, "json"))) return fa_clip_save(clip, path, err);
    double fps = j->fps > 0 ? j->fps : fa_sequence_fps(j->frames);
    if (!(fps > 0) && clip) fps = clip->fps; // a cache does not know it
    FaSinkOptions opt = {.rig = j->rig,
                         .clip = clip,
                         .fps = fps,
                         .start = j->start,
                         .bake_error_mm = out_options.bake_error,
                         .max_targets = out_options.max_targets,
                         .generator = j->generator,
                         .progress = cli_progress};
    TRY(place_cache(j, err));
    FaCode rc = fa_sequence_save(j->cut, path, &opt, &j->bake, err);
    j->stalled = rc == FA_STALLED;
    return rc;
}

// One OBJ file holds one surface: the rig without its shapes, as the first frame has it.
static FaCode save_obj(const Job *j, FaError *err) {
    FaRig posed = *j->rig;
    posed.nshape = posed.nentry = 0;
    posed.source = NULL;
    posed.clip = NULL;
    posed.mesh.x = malloc(3 * (size_t)posed.mesh.nvert * sizeof(float));
    FaCode rc = posed.mesh.x ? FA_OK : cli_no_memory(err);
    double m[9];
    job_cache_frame(j->rig, m);
    if (rc >= 0) fa_sequence_transform(j->frames, m);
    if (rc >= 0) rc = fa_sequence_read(j->frames, 0, posed.mesh.x, err);
    if (rc >= 0) rc = fa_rig_save(&posed, NULL, j->output, err);
    free(posed.mesh.x);
    return rc;
}

FaCode job_save_still(Job *j, FaError *err) {
    if (!j->output) return FA_OK;
    bool one = path_has_ext(j->output, "obj") && !strchr(j->output, '#') && j->last == 0;
    return one ? save_obj(j, err) : job_save(j, err);
}

// --- weights ------------------------------------------------------------------------------------------------------

// One NAME=VALUE for all shapes that the name means.
static FaCode set_weight(const FaRig *rig, const char *name, float v, float *out, FaError *err) {
    int shape[FA_NAMED_MOST], n;
    TRY(fa_rig_shapes_named(rig, name, shape, FA_NAMED_MOST, &n, err));
    for (int i = 0; i < n; i++) out[shape[i]] = v;
    return FA_OK;
}

FaCode job_weights(const FaRig *rig, const char *text, float *weights, FaError *err) {
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "=,");
        char name[200], *end = NULL;
        if (at[n] != '=' || n >= sizeof name) return cli_wrong(err, "--weights takes NAME=VALUE,..., not '%s'", at);
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        double v = strtod(at + n + 1, &end);
        if (end == at + n + 1 || (*end && *end != ',') || v - v != 0)
            return cli_wrong(err, "--weights takes NAME=VALUE,..., not '%s'", at);
        if (!job_is_weight(v))
            return cli_wrong(err, "--weights: %s=%g: no rig means that; 1 is a whole shape", name, v);
        TRY(set_weight(rig, name, (float)v, weights, err));
        at = *end ? end + 1 : end;
    }
    return FA_OK;
}

// --- reporting ----------------------------------------------------------------------------------------------------

void job_note(Job *j, const FaNotes *notes) {
    if (!notes || !notes->count) return;
    if (j->nnotes < JOB_NOTES) j->notes[j->nnotes++] = notes;
    for (int i = 0; i < notes->count && !common.json; i++) say_note(&notes->note[i]);
}

static double frame_ms(const Job *j) {
    return j->ms + (j->stats.frames ? 1e3 * j->stats.seconds / j->stats.frames : 0);
}

static void say_report(Job *j) {
    int n = j->last - j->first + 1;
    if (j->say) j->say(j);
    if (j->simulated) {
        cli_say("%d frame%s in %.1f s, %.4g ms each; up to %.2f mm from linear blending, %.3f mm on average", n,
                n == 1 ? "" : "s", j->seconds, frame_ms(j), j->compare.max_mm, j->compare.mean_mm);
        if (out_options.check)
            cli_say("triangles that cross: %d, with linear blending %d", j->compare.intersections_b,
                    j->compare.intersections_a);
    }
    if (j->output) cli_say("%s %s", common.dry_run ? "would write" : "wrote", j->output);
    if (j->bake.targets) cli_say("baked %d morph targets, largest error %.4f mm", j->bake.targets, j->bake.max_mm);
}

void json_warnings(FaJsonWriter *w, const FaNotes *const *notes, int nnotes) {
    fa_json_begin(w, "warnings", '[');
    for (int k = 0; k < nnotes; k++)
        for (int i = 0; i < notes[k]->count; i++) {
            const FaNote *note = &notes[k]->note[i];
            fa_json_begin(w, NULL, '{');
            fa_json_text(w, "code", note->code);
            fa_json_text(w, "text", note->text);
            fa_json_text(w, "where", note->where);
            fa_json_end(w);
        }
    fa_json_end(w);
}

static void json_simulation(const Job *j, FaJsonWriter *w) {
    fa_json_int(w, "frames", j->last - j->first + 1);
    fa_json_number(w, "seconds", j->seconds);
    fa_json_number(w, "ms_per_frame", frame_ms(j));
    fa_json_number(w, "max_displacement_mm", j->compare.max_mm);
    fa_json_number(w, "mean_displacement_mm", j->compare.mean_mm);
    fa_json_int(w, "intersections", out_options.check ? j->compare.intersections_b : -1);
    fa_json_int(w, "clamped", j->stats.clamped);
}

static void json_channels(const FaBinding *b, FaJsonWriter *w) {
    if (!b->nchan) return;
    fa_json_begin(w, "channels", '{');
    fa_json_int(w, "used", b->nchan - b->unused);
    fa_json_int(w, "unused", b->unused);
    fa_json_int(w, "shapes", b->matched);
    fa_json_int(w, "idle", b->idle);
    fa_json_int(w, "aside", b->aside);
    fa_json_end(w);
}

static void json_parts(const FaRig *rig, FaJsonWriter *w) {
    static const char *const how[] = {"alone", "skull", "jaw", "shapes"};
    if (!rig || !rig->npart) return;
    fa_json_begin(w, "parts", '[');
    for (int i = 0; i < rig->npart; i++) {
        fa_json_begin(w, NULL, '{');
        fa_json_text(w, "name", rig->part[i].name);
        fa_json_text(w, "follows", how[rig->part[i].how]);
        fa_json_end(w);
    }
    fa_json_end(w);
}

static void json_bake(const FaBakeReport *bake, FaJsonWriter *w) {
    fa_json_begin(w, "bake", '{');
    fa_json_int(w, "targets", bake->targets);
    fa_json_number(w, "max_mm", bake->max_mm);
    fa_json_number(w, "mean_mm", bake->mean_mm);
    fa_json_int(w, "bytes", (int64_t)bake->bytes);
    fa_json_end(w);
}

static FaCode print_report(Job *j, FaError *err) {
    FaJsonWriter *w;
    char *json;
    TRY(fa_json_new(&w, err));
    fa_json_begin(w, NULL, '{');
    if (j->simulated)
        json_simulation(j, w);
    else
        fa_json_number(w, "seconds", j->seconds);
    if (j->json) j->json(j, w);
    json_channels(&j->binding, w);
    if (j->parts.count) json_parts(j->rig, w);
    if (!j->own_notes) json_warnings(w, j->notes, j->nnotes);
    if (j->params) fa_json_raw(w, "parameters", j->params);
    fa_json_text(w, "output", common.dry_run ? NULL : j->output);
    if (j->cache_unit > 0) fa_json_number(w, "cache_unit", j->cache_unit);
    json_bake(&j->bake, w);
    fa_json_end(w);
    TRY(fa_json_finish(w, &json, err));
    puts(json);
    fa_free(json);
    return FA_OK;
}

// --- the walk -----------------------------------------------------------------------------------------------------

static void job_free(Job *j) {
    fa_compare_free(&j->compare);
    fa_sequence_close(j->cut);
    fa_sequence_close(j->before);
    fa_sequence_close(j->moved);
    fa_sequence_close(j->linear);
    record_free(&j->record);
    fa_run_free(j->run);
    if (j->free) j->free(j);
    fa_method_close(j->method);
    fa_free(j->params);
    fa_clip_free(j->cut_clip);
    fa_clip_free(j->felt);
    fa_clip_free(j->loaded);
    fa_binding_free(&j->binding);
    fa_info_free(&j->info);
    free(j->picked.note);
    fa_notes_free(&j->parts);
    fa_face_free(j->face);
    fa_rig_free(j->rig);
}

// Options of one kind of output. --world is for files of points alone: others have the head's motion beside the points,
// and would apply it twice.
static FaCode check_output(const Job *j, FaError *err) {
    static const char *const beside[] = {"glb", "gltf", "vrm", "usda", "html", "png", "mp4", "gif", "csv", "json"};
    bool bakes = !j->output || path_has_ext(j->output, "glb") || path_has_ext(j->output, "gltf") ||
                 path_has_ext(j->output, "vrm");
    if (!bakes && (out_options.bake_error > 0 || out_options.max_targets > 0))
        return cli_wrong(err, "--bake-error and --max-targets are for .glb: %s has the frames themselves",
                         path_base(j->output));
    if (out_options.cache_unit > 0 && j->output && !path_is_cache(j->output))
        return cli_wrong(err, "--cache-unit is for .pc2, .mdd and .obj: %s says its unit itself", path_base(j->output));
    for (size_t i = 0; out_options.world && j->output && i < sizeof beside / sizeof *beside; i++)
        if (path_has_ext(j->output, beside[i]))
            return cli_wrong(err, "--world is for .pc2, .mdd and .obj: .%s has the head's motion beside the points",
                             beside[i]);
    return FA_OK;
}

static FaCode walk(Job *j, FaError *err) {
    TRY(check_output(j, err));
    TRY(load(j, err));
    cli_progress_end();
    if (j->make) TRY(j->make(j, err));
    cli_progress_end();
    if (j->frames) TRY(cut(j, err));
    if (j->simulated) TRY(compare(j, err));
    if (!common.dry_run && j->write)
        TRY(j->write(j, err));
    else if (!common.dry_run && j->output && j->cut)
        TRY(job_save(j, err));
    cli_progress_end();
    j->written = true;
    j->seconds = cli_seconds() - j->begin;
    if (common.json) return print_report(j, err);
    say_report(j);
    return FA_OK;
}

int job_walk(Job *j) {
    FaError err = {0};
    j->begin = cli_seconds();
    if (!j->output) j->output = common.output;
    FaCode rc = walk(j, &err);
    cli_progress_end();
    int code = rc < 0 ? cli_fail(&err) : EXIT_OK;
    if (rc >= 0 && j->stalled) {
        cli_say(
            "warning: with %d morph targets the error is %.4f mm: raise --max-targets, or allow more with --bake-error",
            j->bake.targets, j->bake.max_mm);
        code = EXIT_CONVERGE;
    }
    if (rc >= 0 && (j->stats.limited || j->stats.held)) code = EXIT_CONVERGE; // said by its note
    job_free(j);
    return code;
}

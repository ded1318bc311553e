// bench muscle: how long flesh takes to come to rest for given activations, on the shipped head at level 0 with its
// bones (about 6,000 free nodes), by our solver and by plain Newton with a factor of CHOLMOD's per iteration.
//
//   pose    from rest, all at once: six poses, each twice
//   frame   the next of 20 frames at 30 Hz: a smile comes and goes, then the lips are pursed, while the brows rise
//   drag    one muscle changed by 0.05, the others held: 10 changes along a smile with raised brows
//   smile, purse, eyes   the next of 20 frames from rest to zygomaticus_major=1, oo_*=1, orbicularis_oculi_*=1;
//                        contact only
//   edit    ends of the incisivi's tracks dragged inwards by a millimetre, to 8 and back (fa_muscle_drag, with
//           contact); accuracy: of the farthest one against the same pose made from rest, of the skin
//
// The same energy, start and tolerance for both, without contact: Newton on CHOLMOD has no room for rows between nodes
// that no tet joins. Ours with contact is timed beside them. Accuracy: the largest distance of any node from the same
// problem solved to 1e-7, mm; with contact, from the same steps solved so. cpu_ms: mean processor time, all threads.
#include "bench/bench_list.h"
#include "bench/chol_cholmod.h"
#include "fascia/head.h"
#include "math/mat3.h"
#include "muscle/muscle_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { POSES = 6, REPEATS = 2, FRAMES = 20, DRAGS = 10, MOST = FRAMES };
static const double VERIFIED = 1e-7;
static const char *const poses[POSES] = {"zygomaticus_major=1",
                                         "oo_*=1",
                                         "orbicularis_oculi_*=0.7",
                                         "frontalis*=1",
                                         "depressor_anguli_oris=1,mentalis=0.5",
                                         "levator_labii_superioris=0.7,corrugator=0.7"};

typedef enum Kind { POSE, FRAME, DRAG, SMILE, PURSE, EYES, KINDS, EDIT = KINDS } Kind;
static const char *const kind_name[KINDS + 1] = {"pose", "frame", "drag", "smile", "purse", "eyes", "edit"};
static const int kind_count[KINDS] = {POSES, FRAMES, DRAGS, FRAMES, FRAMES, FRAMES};
static const char *const goes_to[KINDS + 1] = {
    [SMILE] = "zygomaticus_major", [PURSE] = "oo_*", [EYES] = "orbicularis_oculi_*"};

typedef struct Bench {
    FaHead *head;
    FaRig *own_rig;
    const FaRig *rig;
    FaFace *face;
    FaMuscleModel *model;
    double *track[2][KINDS]; // of the verified run, apart and touching: where the flesh is          (count x nnode x 3)
    double *x;               //                                                                      (nnode x 3)
    double ms[POSES * REPEATS + MOST];
    double cpu; // of the processor, all threads, ms: the sum over what ms has
    double act[MOST][FA_MUSCLES_MOST];
} Bench;

typedef struct Case {
    const char *suffix, *note;
    FaNewtonKind kind;
    FaCholBackend backend;
    bool touches;
} Case;

// --- what is played -----------------------------------------------------------------------------------------------

static double bump(double t, double from, double to) {
    double u = (t - from) / (to - from);
    return u > 0 && u < 1 ? 0.5 - 0.5 * cos(2 * M_PI * u) : 0;
}

static FaCode script(Bench *b, Kind kind, FaError *err) {
    memset(b->act, 0, sizeof b->act);
    for (int f = 0; f < kind_count[kind]; f++) {
        char text[200];
        double t = f / 30.0;
        if (kind == POSE)
            snprintf(text, sizeof text, "%s", poses[f]);
        else if (goes_to[kind])
            snprintf(text, sizeof text, "%s=%.6f", goes_to[kind], (f + 1.0) / FRAMES);
        else if (kind == FRAME)
            snprintf(text, sizeof text, "zygomaticus_major=%.6f,oo_*=%.6f,frontalis*=%.6f", 0.9 * bump(t, -0.2, 0.5),
                     0.7 * bump(t, 0.3, 1), 0.8 * bump(t, 0, 0.8));
        else
            snprintf(text, sizeof text, "frontalis*=0.5,zygomaticus_major=%.6f", 0.05 * (f < 5 ? f + 6 : 14 - f));
        FA_TRY(fa_muscle_activate(b->model, text, b->act[f], err));
    }
    return FA_OK;
}

static FaCode new_body(const Bench *b, const Case *c, double tolerance, FaMuscleBody **body, FaError *err) {
    const FaMuscleModel *m = b->model;
    FaMuscleStuff stuff = fai_muscle_stuff_default();
    stuff.kind = c->kind, stuff.backend = c->backend, stuff.apart = !c->touches;
    if (tolerance > 0) stuff.tolerance = tolerance, stuff.iterations = 100;
    return fai_muscle_body_of_face(&m->ground, m->face, &m->flesh, m->muscles.n, &m->samples, &stuff, body, err);
}

static double distance(const Bench *b, const double *at) {
    double most = 0;
    for (size_t i = 0; i < 3 * (size_t)b->model->flesh.nnode; i += 3) {
        double off[3];
        fai_v3_sub(b->x + i, at + i, off);
        most = fmax(most, fai_v3_norm(off));
    }
    return most;
}

static double processor_ms(void) { return 1e3 * (double)clock() / CLOCKS_PER_SEC; }

// Plays what act has with one body. keep: into the track; else *gap is how far it is from that at most. Times of each
// into ms.
static FaCode play(Bench *b, FaMuscleBody *body, Kind kind, double *track, bool keep, double *ms, double *gap,
                   FaError *err) {
    size_t n = 3 * (size_t)b->model->flesh.nnode;
    *gap = 0;
    memcpy(b->x, b->model->rest, n * sizeof *b->x);
    for (int f = 0; f < kind_count[kind]; f++) {
        double begin = fai_seconds(), cpu = processor_ms();
        if (kind == POSE) memcpy(b->x, b->model->rest, n * sizeof *b->x);
        FA_TRY((kind == POSE ? fai_muscle_body_pose : fai_muscle_body_frame)(body, b->act[f], NULL, b->x, NULL, err));
        ms[f] = 1e3 * (fai_seconds() - begin);
        if (kind != DRAG || f) b->cpu += processor_ms() - cpu;
        if (keep) memcpy(track + (size_t)f * n, b->x, n * sizeof *b->x);
        *gap = fmax(*gap, distance(b, track + (size_t)f * n));
    }
    return FA_OK;
}

// Returns the mean, of frames to a pose the median, ms. The first frame of a drag begins at rest: it is not counted.
static double write_case(Bench *b, const Case *c, Kind kind, int n, double gap, FaJsonWriter *w) {
    FaText name = {0};
    double mean = 0, *ms = b->ms + (kind == DRAG);
    n -= kind == DRAG;
    for (int i = 0; i < n; i++) mean += ms[i] / n;
    FaBenchTimes t = fai_bench_times(ms, n);
    fai_text_printf(&name, "%s%s", kind_name[kind], c->suffix);
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "case", name.data ? name.data : "");
    fai_jw_int(w, "threads", fa_threads());
    fai_jw_num(w, "ms_med", t.med);
    fai_jw_num(w, "ms_min", t.min);
    fai_jw_num(w, "accuracy", 1e3 * gap);
    fai_jw_str(w, "note", c->note);
    fai_jw_num(w, "ms_mean", mean);
    fai_jw_num(w, "ms_max", ms[n - 1]);
    fai_jw_num(w, "cpu_ms", b->cpu / n);
    fai_jw_close(w);
    fai_text_free(&name);
    return goes_to[kind] ? t.med : mean;
}

// mean: ms, as write_case has it
static FaCode run_case(Bench *b, const Case *c, Kind kind, FaJsonWriter *w, double *mean, FaError *err) {
    FaMuscleBody *body;
    double gap = 0;
    int n = 0;
    FA_TRY(script(b, kind, err));
    FA_TRY(new_body(b, c, 0, &body, err));
    FaCode rc = FA_OK;
    b->cpu = 0;
    for (int r = 0; r < (kind == POSE ? REPEATS : 1) && rc >= 0; r++, n += kind_count[kind])
        rc = play(b, body, kind, b->track[c->touches][kind], false, b->ms + n, &gap, err);
    fai_muscle_body_free(body);
    if (rc >= 0) *mean = write_case(b, c, kind, n, gap, w);
    return rc;
}

// --- edits --------------------------------------------------------------------------------------------------------

enum { EDITS = 16 };

// A step of a drag as a tool would make it: edits of the pose, then the flesh.
static FaCode drag_edit(Bench *b, const FaDirected *pose, double mm, float *surface, double *ms, FaError *err) {
    char json[200];
    FaDirected *edited;
    const double begin = fai_seconds(), cpu = processor_ms();
    snprintf(json, sizeof json, "{\"edits\":[{\"muscle\":\"inc_*\",\"move\":{\"medial\":%g}}]}", mm);
    FA_TRY(fa_directed_edit(b->model, pose, json, &edited, err));
    FaCode rc = fa_muscle_drag(b->model, edited, surface, NULL, err);
    *ms = 1e3 * (fai_seconds() - begin);
    b->cpu += processor_ms() - cpu;
    fa_directed_free(edited);
    return rc;
}

static FaCode drag_edits(Bench *b, const FaDirected *pose, float *surface, float *again, double *gap, FaError *err) {
    const size_t n = 3 * (size_t)b->rig->mesh.nvert;
    FaDirected *far = NULL;
    double none;
    FA_TRY(fa_muscle_direct(b->model, pose, 1, surface, NULL, err));
    FA_TRY(drag_edit(b, pose, 0.5, surface, &none, err)); // springs that were not there
    b->cpu = 0;
    for (int i = 0; i < EDITS; i++) {
        FA_TRY(drag_edit(b, pose, i < EDITS / 2 ? i + 1 : EDITS - 1 - i, surface, &b->ms[i], err));
        if (i == EDITS / 2 - 1) memcpy(again, surface, n * sizeof *again);
    }
    FA_TRY(fa_directed_edit(b->model, pose, "{\"edits\":[{\"muscle\":\"inc_*\",\"move\":{\"medial\":8}}]}", &far, err));
    FaCode rc = fa_muscle_direct(b->model, far, 1, surface, NULL, err);
    fa_directed_free(far);
    *gap = 0;
    for (size_t i = 0; i < n; i++) *gap = fmax(*gap, fabs((double)surface[i] - (double)again[i]));
    return rc;
}

static FaCode run_edits(Bench *b, FaJsonWriter *w, double *mean, FaError *err) {
    double act[FA_MUSCLES_MOST] = {0}, gap = 0;
    const size_t n = 3 * (size_t)b->rig->mesh.nvert;
    FaDirected *pose = NULL;
    float *surface = FA_NEW(2 * n, float);
    FaCode rc = surface ? fa_muscle_activate(b->model, "inc_*=1", act, err) : FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = fa_muscle_directed(b->model, &(FaMusclePose){.activation = act}, &pose, err);
    if (rc >= 0) rc = drag_edits(b, pose, surface, surface + n, &gap, err);
    const Case c = {"", "a track dragged by a millimetre, with contact", FA_NEWTON_PCG, FA_CHOL_OWN, true};
    if (rc >= 0) *mean = write_case(b, &c, EDIT, EDITS, gap, w);
    fa_directed_free(pose);
    fa_free(surface);
    return rc;
}

// --- all of it ----------------------------------------------------------------------------------------------------

enum { OURS, TOUCHING, NEWTON };
static const Case cases[] = {
    [OURS] = {"", "ours, nothing touches", FA_NEWTON_PCG, FA_CHOL_OWN, false},
    [TOUCHING] = {"_contact", "ours, skin touches skin, teeth and eyes; accuracy against the same steps solved further",
                  FA_NEWTON_PCG, FA_CHOL_OWN, true},
#ifdef FA_HAVE_CHOLMOD
    [NEWTON] = {"_newton",
#ifdef FA_CHOLMOD_SUPERNODAL
                "Newton on CHOLMOD, supernodal; nothing touches: it has no room for rows",
#else
                "Newton on CHOLMOD, simplicial, one thread (FASCIA_GPL for its best); nothing touches: it has no room "
                "for rows",
#endif
                FA_NEWTON_CHOL, FA_CHOL_PEER, false},
#endif
};

static FaCode verify(Bench *b, bool touches, FaError *err) {
    FaMuscleBody *body;
    size_t n = 3 * (size_t)b->model->flesh.nnode;
    double gap;
    FA_TRY(new_body(b, &cases[touches ? TOUCHING : OURS], VERIFIED, &body, err));
    FaCode rc = FA_OK;
    for (int k = 0; k < KINDS && rc >= 0; k++) {
        if (goes_to[k] && !touches) continue;
        double *track = b->track[touches][k] = FA_NEW((size_t)kind_count[k] * n, double);
        rc = track ? script(b, (Kind)k, err) : FA_FAIL_MEMORY(err);
        if (rc >= 0) rc = play(b, body, (Kind)k, track, true, b->ms, &gap, err);
    }
    fai_muscle_body_free(body);
    return rc;
}

static FaCode run(Bench *b, FaJsonWriter *w, FaError *err) {
    double mean[FA_COUNT(cases)][KINDS] = {{0}}, edit = 0;
    for (int i = 0; i < 2; i++) FA_TRY(verify(b, i == 1, err));
    fai_jw_open(w, "rows", '[');
    FaCode rc = FA_OK;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < FA_COUNT(cases) && rc >= 0; i++)
            if (!goes_to[k] || i == TOUCHING) rc = run_case(b, &cases[i], (Kind)k, w, &mean[i][k], err);
    if (rc >= 0) rc = run_edits(b, w, &edit, err);
    fai_jw_close(w);
    fai_jw_int(w, "nodes", b->model->built.nodes);
    fai_jw_int(w, "free", b->model->built.free);
    fai_jw_int(w, "tets", b->model->built.tets);
    fai_jw_open(w, "ratios", '{');
#ifdef FA_HAVE_CHOLMOD
    fai_jw_num(w, "newton", mean[NEWTON][POSE] / mean[OURS][POSE]);
    fai_jw_num(w, "newton_frame", mean[NEWTON][FRAME] / mean[OURS][FRAME]);
    fai_jw_num(w, "newton_drag", mean[NEWTON][DRAG] / mean[OURS][DRAG]);
#endif
    fai_jw_num(w, "goal_pose", 300 / mean[TOUCHING][POSE]);
    fai_jw_num(w, "goal_frame", 60 / mean[TOUCHING][FRAME]);
    for (int k = SMILE; k <= EYES; k++) {
        char name[16];
        snprintf(name, sizeof name, "goal_%s", kind_name[k]);
        fai_jw_num(w, name, 60 / mean[TOUCHING][k]);
    }
    fai_jw_num(w, "goal_edit", 50 / edit);
    fai_jw_close(w);
    return rc;
}

// The head with its bones, which a rig has from its file.
static FaCode load_head(Bench *b, FaError *err) {
    const char *tmp = getenv("TMPDIR");
    char dir[512], path[544];
    FaHeadParams params = fa_head_params_default();
    params.level = 0;
    snprintf(dir, sizeof dir, "%s/fascia-bench-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return FA_FAIL(err, FA_E_FILE, dir, "set TMPDIR to a folder that can be written", "no folder for the head");
    snprintf(path, sizeof path, "%s/head.glb", dir);
    FaCode rc = fa_head_new(&params, &b->head, err);
    if (rc >= 0) rc = fa_head_save(b->head, NULL, true, NULL, path, err);
    if (rc >= 0) rc = fa_rig_load(path, NULL, &b->own_rig, err);
    if (rc >= 0) rc = fa_face_get(b->rig = b->own_rig, FA_NEED_FACE, NULL, &b->face, err);
    remove(path);
    rmdir(dir);
    return rc;
}

FaCode fai_bench_muscle(const FaRig *rig, const FaClip *clip, FaJsonWriter *w, FaError *err) {
    (void)clip;
    Bench *b = FA_NEW(1, Bench);
    if (!b) return FA_FAIL_MEMORY(err);
    b->rig = rig;
    FaCode rc = rig ? fa_face_get(rig, FA_NEED_FACE, NULL, &b->face, err) : load_head(b, err);
    if (rc >= 0) rc = fa_muscle_open(b->rig, b->face, NULL, &b->model, err);
    if (rc >= 0 && !(b->x = FA_NEW(3 * (size_t)b->model->flesh.nnode, double))) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) rc = run(b, w, err);
    for (int i = 0; i < 2 * KINDS; i++) fa_free(b->track[i / KINDS][i % KINDS]);
    fa_free(b->x);
    fa_muscle_close(b->model);
    fa_face_free(b->face);
    fa_rig_free(b->own_rig);
    fa_head_free(b->head);
    fa_free(b);
    return rc;
}

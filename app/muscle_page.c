#include "muscle_page.h"

#include <stdlib.h>
#include <string.h>

FaCode muscle_page_fill(FaMuscleModel *model, const double *activation, MusclePage *page, FaError *err) {
    *page = (MusclePage){.n = fa_muscle_count(model)};
    size_t nvert = 0, at = 0;
    for (int i = 0; i < page->n; i++) {
        const FaMuscleInfo info = fa_muscle_info(model, i);
        FaMuscleMesh mesh;
        FaCode rc = fa_muscle_mesh(model, i, &mesh, err);
        if (rc < 0) return rc;
        page->muscle[i] = (FaPageMuscle){.name = info.name,
                                         .bone = strcmp(info.origin, "none") ? info.origin : info.insertion,
                                         .force = info.force,
                                         .nvert = mesh.nvert,
                                         .ntri = mesh.ntri,
                                         .rest = mesh.x,
                                         .tri = mesh.tri};
        page->activation[i] = activation[i];
        nvert += (size_t)mesh.nvert;
    }
    if (!(page->x = malloc((3 * nvert + 1) * sizeof *page->x))) return cli_no_memory(err);
    for (int i = 0; i < page->n; i++) {
        FaCode rc = fa_muscle_mesh_posed(model, i, page->x + at, err);
        if (rc < 0) return rc;
        at += 3 * (size_t)page->muscle[i].nvert;
    }
    return FA_OK;
}

void muscle_page_tracks(const MusclePage *page, FaPageTrack *rest, FaPageTrack *posed) {
    rest->activation = page->slack;
    posed->activation = page->activation, posed->muscle_x = page->x;
}

void muscle_page_free(MusclePage *page) {
    free(page->x);
    page->x = NULL;
}

// --- the way of a pose --------------------------------------------------------------------------------------------

enum { PARTS = 9, POINTS = 9 }; // frames; points of a muscle's middle

typedef struct Way {
    int nvert;
    float *x, *lines; // (PARTS x nvert x 3), (muscles x PARTS x POINTS x 3)
    FaSequence *seq;
    FaClip *clip;
    MusclePage muscles; // in the end
} Way;

static FaCode read_part(void *user, int frame, float *x, FaError *err) {
    const Way *w = user;
    (void)err;
    memcpy(x, w->x + 3 * (size_t)frame * (size_t)w->nvert, 3 * (size_t)w->nvert * sizeof *x);
    return FA_OK;
}

// pose NULL: it stays at rest.
static FaCode fill_part(Muscle *m, const FaDirected *pose, int frame, Way *w, FaError *err) {
    const FaRig *rig = m->job.rig;
    const double part = (double)frame / (PARTS - 1);
    float *x = w->x + 3 * (size_t)frame * (size_t)w->nvert;
    if (!pose) {
        memcpy(x, rig->mesh.x, 3 * (size_t)w->nvert * sizeof *x);
        return FA_OK;
    }
    const FaMuscleJaw jaw = fa_directed_jaw(m->model, pose, part);
    TRY(fa_muscle_direct(m->model, pose, part, x, NULL, err));
    for (int i = 0; i < fa_muscle_count(m->model); i++)
        TRY(fa_directed_line(m->model, pose, i, part, POINTS, w->lines + 3 * (size_t)((i * PARTS + frame) * POINTS),
                             err));
    return fa_muscle_jaw_weights(m->model, &jaw, w->clip->weight + (size_t)frame * (size_t)w->clip->nchan, err);
}

static FaCode fill_way(Muscle *m, const FaDirected *pose, Way *w, FaError *err) {
    const FaRig *rig = m->job.rig;
    const double slack[FA_MUSCLES_MOST] = {0};
    w->nvert = rig->mesh.nvert;
    w->x = malloc(3 * (size_t)PARTS * (size_t)w->nvert * sizeof *w->x);
    w->lines = malloc(3 * (size_t)(PARTS * POINTS * fa_muscle_count(m->model)) * sizeof *w->lines);
    if (!w->x || !w->lines) return cli_no_memory(err);
    TRY(muscle_clip(rig, PARTS, &w->clip, err));
    for (int f = 0; f < PARTS; f++) {
        cli_progress(NULL, "poses", (double)f / PARTS);
        TRY(fill_part(m, pose, f, w, err));
    }
    TRY(muscle_page_fill(m->model, pose ? fa_directed_activation(pose) : slack, &w->muscles, err));
    return fa_sequence_custom(w->nvert, PARTS, 30, read_part, w, &w->seq, err);
}

static FaPageTrack track_of(const Way *w, const char *name, bool moves) {
    return (FaPageTrack){.name = name,
                         .seq = w->seq,
                         .clip = w->clip,
                         .muscle_x = moves ? w->muscles.x : NULL,
                         .muscles_rise = moves,
                         .lines = moves ? w->lines : NULL,
                         .nlines = moves ? PARTS : 0,
                         .line_points = moves ? POINTS : 0,
                         .activation = w->muscles.activation};
}

static FaCode save_ways(Muscle *m, const Way *a, const Way *b, bool edited, FaError *err) {
    static const FaPageJump jump[] = {{"all of it", PARTS - 1}, {"half of the way", PARTS / 2}};
    const FaPageTrack track[2] = {track_of(a, edited ? "before" : "at rest", edited),
                                  track_of(b, edited ? "edited" : "posed", true)};
    const FaPagePair pair = {.name = edited ? "Edit" : "Pose",
                             .sentence = "Step from the neutral to the pose below. Click a muscle, here or under More: "
                                         "the way it goes is drawn, pale to gold.",
                             .after = 1,
                             .jumps = jump,
                             .njumps = 2,
                             .speed = 0.25};
    const FaPageOptions opt = {.title = "fascia muscle",
                               .facts = m->job.generator,
                               .pairs = &pair,
                               .npairs = 1,
                               .muscles = b->muscles.muscle,
                               .nmuscles = b->muscles.n,
                               .progress = cli_progress};
    return fa_page_save(m->job.output, m->job.rig, track, 2, &opt, err);
}

static void free_way(Way *w) {
    fa_sequence_close(w->seq);
    fa_clip_free(w->clip);
    muscle_page_free(&w->muscles);
    free(w->x);
    free(w->lines);
}

FaCode muscle_page_ways(Muscle *m, const FaDirected *before, FaError *err) {
    static Way way[2];
    memset(way, 0, sizeof way);
    FaCode rc = fill_way(m, before, &way[0], err);
    if (rc >= 0) rc = fill_way(m, m->directed, &way[1], err);
    if (rc >= 0) rc = save_ways(m, &way[0], &way[1], before != NULL, err);
    cli_progress_end();
    for (int i = 0; i < 2; i++) free_way(&way[i]);
    return rc;
}

// A goal from one frame of markers: the head's motion is taken out of it, and what is left moves the vertices that
// markers are nearest to; nothing is said of others (FaMuscleAim.known).
#include "math/mat3.h"
#include "muscle/direct.h"
#include "track/head_stabiliser.h"

#include <math.h>
#include <string.h>

static const double REACH = 0.01; // m: from where a marker sits to a vertex that moves

// Markers of the frame in the rig's own frame.
static FaCode bring(const FaRig *rig, const FaMarkerTake *take, const FaMarkerMap *map, int frame, float *x,
                    FaError *err) {
    const size_t first = (size_t)frame * (size_t)take->nmarker;
    const unsigned char *ok = take->ok + first;
    FaHeadStabiliser *s;
    FaPose pose;
    memcpy(x, take->x + 3 * first, 3 * (size_t)take->nmarker * sizeof *x);
    if (take->head) return FA_OK;
    FA_TRY(fai_head_stabiliser_new(rig, map, &s, err));
    const bool found = fai_head_stabiliser_find(s, x, ok, &pose, NULL);
    if (found) fai_bring_to_head(&pose, take->nmarker, ok, x);
    fai_head_stabiliser_free(s);
    return found ? FA_OK
                 : FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", frame), "choose a frame that shows forehead and nose",
                           "too few markers that hold still are seen: the head's motion is not known");
}

static int place(const FaMuscleDirector *d, const FaMarkerMap *map, const unsigned char *ok, const float *x,
                 float *goal, unsigned char *known) {
    const float *rest = d->model->rig->mesh.x;
    int used = 0;
    for (int i = 0; i < map->count; i++) {
        double at[3];
        if (!ok[i] || map->point[i].vert[0] < 0) continue;
        fa_marker_point_at(&map->point[i], rest, false, at);
        const int seen = fai_muscle_seen_near(d, at, REACH);
        if (seen < 0 || known[d->seen[seen]]) continue;
        const int v = d->seen[seen];
        fa_marker_point_at(&map->point[i], rest, true, at);
        for (int k = 0; k < 3; k++)
            goal[3 * (size_t)v + (size_t)k] =
                rest[3 * (size_t)v + (size_t)k] + x[3 * (size_t)i + (size_t)k] - (float)at[k];
        known[v] = 1, used++;
    }
    return used;
}

FaCode fa_muscle_goal_markers(FaMuscleModel *m, const FaMarkerTake *take, const FaMarkerMap *map, int frame,
                              float *goal, unsigned char *known, int *used, FaError *err) {
    FaMuscleDirector *d;
    if (frame < 0 || frame >= take->nframe)
        return FA_FAIL(err, FA_E_ARG, NULL, "frames count from 0", "the take has %d frames, not %d", take->nframe,
                       frame + 1);
    if (map->count != take->nmarker)
        return FA_FAIL(err, FA_E_ARG, NULL, "map the markers of this take", "%d markers are mapped, the take has %d",
                       map->count, take->nmarker);
    FA_TRY(fai_muscle_director(m, &d, err));
    float *x = FA_NEW(3 * (size_t)take->nmarker + 3, float);
    FaCode rc = x ? bring(m->rig, take, map, frame, x, err) : FA_FAIL_MEMORY(err);
    int n = 0;
    if (rc >= 0) {
        memcpy(goal, m->rig->mesh.x, 3 * (size_t)m->rig->mesh.nvert * sizeof *goal);
        memset(known, 0, (size_t)m->rig->mesh.nvert);
        n = place(d, map, take->ok + (size_t)frame * (size_t)take->nmarker, x, goal, known);
    }
    if (rc >= 0 && n < 8)
        rc = FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", frame), "choose another frame, or say where they are: --map",
                     "%d markers on the moving face are too few", n);
    if (used) *used = n;
    fa_free(x);
    return rc;
}

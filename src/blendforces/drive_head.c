// The head taken out of a take: markers in the rig's own frame, and where the head was.
#include "blendforces/drive_work.h"

#include "blendforces/head_refine.h"
#include "math/mat3.h"
#include "math/procrustes.h"
#include "track/head_stabiliser.h"

#include <math.h>

static const double BEYOND = 500; // m: no marker of a face is there
static const double HEAD_SHARE =
    0.5; // of the frames: if fewer decide the head's pose the take is not usable in the world

// Rows of the take that the map's markers are, by name; the same order is the usual case. found: how many there are.
static int match_names(FaDrive *d, const FaMarkerTake *take, int *row) {
    int found = 0;
    for (int i = 0; i < d->map->count; i++) {
        bool same = i < take->nmarker && !strcmp(take->name[i], d->map->name[i]);
        row[i] = same ? i : fa_markers_find(take, d->map->name[i]);
        if (d->map->point[i].vert[0] < 0) continue;
        found += row[i] >= 0;
        if (row[i] < 0)
            fai_note(&d->notes, "marker-absent", d->map->name[i], "check the names in map and take",
                     "markers of the map that the take does not have");
    }
    return found;
}

static void copy_samples(FaDrive *d, const FaMarkerTake *take, const int *row, const FaPose *bring) {
    FaMarkerTake *to = d->take;
    int beyond = 0, first = 0;
    for (int f = 0; f < take->nframe; f++)
        for (int i = 0; i < to->nmarker; i++) {
            if (row[i] < 0) continue;
            size_t from = (size_t)f * (size_t)take->nmarker + (size_t)row[i],
                   at = (size_t)f * (size_t)to->nmarker + (size_t)i;
            double x[3];
            fai_v3_load(take->x, (int)from, x);
            bool ok = take->ok[from] && isfinite(x[0]) && isfinite(x[1]) && isfinite(x[2]);
            if (ok && !(fai_v3_norm(x) < BEYOND)) {
                if (!beyond++) first = f;
                ok = false;
            }
            if (ok && bring) fai_pose_apply(bring, x, x);
            to->ok[at] = ok;
            for (size_t k = 0; k < 3; k++) to->x[3 * at + k] = ok ? (float)x[k] : NAN;
        }
    fai_note_count(&d->notes, beyond, "marker-beyond", FA_PLACE("frame %d", first), "look at the take there",
                   "%d samples are over %g m away: taken as missing", beyond, BEYOND);
}

// Poses from the markers that hold still; the samples brought to the head.
static FaCode stabilise(FaDrive *d, FaPose *head, FaError *err) {
    FaMarkerTake *t = d->take;
    size_t n = (size_t)t->nmarker;
    float *rest = FA_NEW(3 * n, float), *trust = FA_NEW(n, float), *still = FA_NEW(n, float);
    unsigned char *found = FA_NEW(t->nframe, unsigned char);
    FaStillReport report = {0};
    FaCode rc = rest && trust && still && found ? fai_head_rest(d->rig, d->map, rest, trust, err) : FA_FAIL_MEMORY(err);
    FaStillTake in = {.nframe = t->nframe, .nmarker = t->nmarker, .x = t->x, .rest = rest, .trust = trust};
    if (rc >= 0) rc = fai_still_poses(&in, head, found, still, &report, err);
    if (rc >= 0 && report.frames_found < HEAD_SHARE * t->nframe)
        rc = FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d", report.first_lost),
                     "use a take with three or more markers off the jaw",
                     "the head's pose can be found in %d of %d frames only", report.frames_found, t->nframe);
    if (rc >= 0)
        fai_note_count(&d->notes, t->nframe - report.frames_found, "head-held", FA_PLACE("frame %d", report.first_lost),
                       "look at those frames",
                       "%d frames have too few markers for the head's pose: that of the frame before is kept",
                       t->nframe - report.frames_found);
    for (size_t f = 0; rc >= 0 && f < (size_t)t->nframe; f++)
        fai_bring_to_head(&head[f], t->nmarker, t->ok + f * n, t->x + 3 * f * n);
    fa_free(rest);
    fa_free(trust);
    fa_free(still);
    fa_free(found);
    return rc;
}

// Poses and weights together, frame by frame (head_refine.h).
static FaCode refine(FaDrive *d, FaPose *head, FaError *err) {
    FaMarkerTake *t = d->take;
    FaHeadRefine *r;
    FA_TRY(fai_head_refine_new(d->rig, d->face, d->map, d->o.trust, &r, err));
    FaCode rc = FA_OK;
    for (int f = 0; rc >= 0 && f < t->nframe; f++) {
        size_t at = (size_t)f * (size_t)t->nmarker;
        rc = fai_head_refine(r, FA_HEAD_TURNS, t->x + 3 * at, t->ok + at, &head[f], err);
    }
    fai_head_refine_free(r);
    return rc;
}

FaCode fai_drive_head(FaDrive *d, const FaMarkerTake *take, FaPose *head, bool *known, FaError *err) {
    int *row = FA_NEW(d->map->count, int);
    if (!row) return FA_FAIL_MEMORY(err);
    int found = match_names(d, take, row);
    FaCode rc = FA_OK;
    bool world = !d->o.head_frame && !take->head;
    if (found && found < 3 && world)
        rc = FA_FAIL(err, FA_E_FORMAT, take->path,
                     "use three or more markers, off the jaw, or a take with the head's pose",
                     "%d marker%s of the take %s on the face: too few for the head's pose", found,
                     found == 1 ? "" : "s", found == 1 ? "is" : "are");
    if (!found)
        rc = FA_FAIL(err, FA_E_ARG, take->path, "make the map from this take",
                     "none of the map's markers is in the take");
    const FaPose *bring = &d->map->rig_from_take;
    double size = fai_q_dot(bring->q, bring->q);
    FaPose none = fai_pose_identity();
    if (!(size > 0.5)) bring = &none; // a map that says nothing of it
    if (rc >= 0) copy_samples(d, take, row, world ? NULL : bring);
    fa_free(row);
    *known = false;
    if (rc < 0) return rc;
    if (world) {
        FA_TRY(stabilise(d, head, err));
        FA_TRY(refine(d, head, err));
        *known = true;
        for (int f = 0; f < take->nframe; f++) head[f] = fa_rig_head(d->rig, &head[f]);
    } else if (take->head && !d->o.head_frame) {
        // what brought the take to the rig is of the rig's own frame
        FaPose back = fai_pose_inverse(bring);
        *known = true;
        for (int f = 0; f < take->nframe; f++) {
            FaPose at = fa_rig_pose(d->rig, &take->head[f]);
            at = fai_pose_mul(&at, &back);
            head[f] = fa_rig_head(d->rig, &at);
        }
    }
    return FA_OK;
}

#include "muscle/clip_edits.h"

#include "base/file.h"
#include "muscle/edit.h"

#include <math.h>
#include <string.h>

static FaCode check(const FaEdits *edits, FaError *err) {
    if (edits->spring > 0)
        return FA_FAIL(err, FA_E_FORMAT, "/spring", "leave it out here, and give --spring",
                       "a clip has one spring for all of its frames");
    for (int i = 0; i < edits->n; i++) {
        const FaEdit *e = &edits->edit[i];
        const bool jaw = e->jaw[0] || e->jaw[1] || e->jaw[2];
        const char *what = jaw                              ? "the jaw"
                           : e->nretime                     ? "retiming"
                           : e->how == FA_ACTIVATION_LENGTH ? "an activation by length"
                           : e->moves && e->key != 1        ? "a key"
                                                            : NULL;
        if (what)
            return FA_FAIL(err, FA_E_FORMAT, FA_PLACE("/edits/%d", i),
                           jaw          ? "change the clip's own weights of the jaw (jawOpen)"
                           : e->nretime ? "change the clip's weights, or edit a .pose: fascia muscle edit"
                           : e->moves   ? "say when with \"frames\": [40, 60] and \"ease\""
                                        : "give a number from 0 to 1",
                           "%s is an edit of a pose, not of a clip", what);
    }
    return FA_OK;
}

static FaCode make(FaMuscleDirector *d, const FaEdits *edits, FaArena *arena, FaClipEdits *out, FaError *err) {
    out->nmuscle = d->tracks.nmuscle, out->npoint = d->tracks.npoint;
    if (!(out->edit = FA_PUSH(arena, edits->n + 1, FaClipEdit))) return FA_FAIL_MEMORY(err);
    for (; out->n < edits->n; out->n++) {
        FaClipEdit *e = &out->edit[out->n];
        e->edit = edits->edit[out->n];
        if (e->edit.moves && !(e->track = FA_PUSH(arena, 3 * (size_t)out->npoint + 1, double)))
            return FA_FAIL_MEMORY(err);
        FA_TRY(fai_edit_named(d->model, &e->edit, out->n, e->named, err));
        if (e->track) FA_TRY(fai_edit_field(d, &e->edit, e->named, e->track, err));
    }
    return FA_OK;
}

// Read and checked, without a face.
static FaCode read(const char *path, FaEdits *edits, uint64_t *hash, FaError *err) {
    FaBytes bytes = {0};
    *edits = (FaEdits){0};
    FaCode rc = fai_file_read(path, (size_t)1 << 26, &bytes, err);
    if (rc >= 0) rc = fai_edits_parse((const char *)bytes.data, bytes.size, edits, err);
    if (rc >= 0) rc = check(edits, err);
    if (rc >= 0) *hash = fai_hash64(bytes.data, bytes.size, 0);
    fai_bytes_free(&bytes);
    return fai_fail_in(err, rc, path);
}

FaCode fa_muscle_clip_edits_check(const FaMuscleModel *model, const char *path, FaError *err) {
    unsigned char named[FA_MUSCLES_MOST];
    FaEdits edits;
    uint64_t hash;
    FaCode rc = read(path, &edits, &hash, err);
    for (int i = 0; i < edits.n && rc >= 0; i++)
        rc = fai_fail_in(err, fai_edit_named(model, &edits.edit[i], i, named, err), path);
    fai_edits_free(&edits);
    return rc;
}

FaCode fai_clip_edits_load(FaMuscleDirector *d, const char *path, FaArena *arena, FaClipEdits *out, FaError *err) {
    FaEdits edits;
    *out = (FaClipEdits){0};
    FaCode rc = read(path, &edits, &out->hash, err);
    if (rc >= 0) rc = fai_fail_in(err, make(d, &edits, arena, out, err), path);
    fai_edits_free(&edits);
    return rc;
}

double fai_clip_edit_share(const FaEdit *e, double time) {
    if (!e->timed) return 1;
    const double off = fmax(e->from - time, time - e->to);
    const double s = off <= e->slack ? 1 : e->ease > 0 ? fmax(0, 1 - off / e->ease) : 0;
    return s * s * (3 - 2 * s);
}

bool fai_clip_edits_apply(const FaClipEdits *edits, double time, double *activation, double *track) {
    bool any = false;
    for (int i = 0; i < edits->n; i++) {
        const FaClipEdit *e = &edits->edit[i];
        const double share = fai_clip_edit_share(&e->edit, time);
        if (!(share > 0)) continue;
        any = true;
        for (int k = 0; k < 3 * edits->npoint && e->track; k++) track[k] += share * e->track[k];
        for (int k = 0; k < edits->nmuscle && e->edit.how == FA_ACTIVATION_SET; k++)
            if (e->named[k]) activation[k] += share * (e->edit.activation - activation[k]);
    }
    return any;
}

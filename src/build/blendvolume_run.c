// The volumes of all shapes: in parallel, kept on disk as they come, so that a build that was stopped goes on.
#include "build/blendvolume.h"

#include "base/file.h"
#include "base/task.h"
#include "base/text.h"
#include "build/unfold.h"
#include "build/volume_part.h"
#include "face/columns.h"
#include "face/leave_out.h"

#include <math.h>
#include <stdio.h>

enum { BATCH = 8, DRAWS = 64 };
static const double LEAST =
    1e-6; // J of a tet: what has less counts as inverted, whoever measures it and however it rounds

typedef struct Run {
    const FaFace *face;
    const FaRig *rig;
    FaVolumeModel *model;
    FaVolumeColumn *column; // (nshape)
    int pending[BATCH], npending;
    FaError error[BATCH];
    FaCode code[BATCH];
    uint64_t key;
    int left_out, first; // pieces left out in the end; a vertex of the first, -1: none
} Run;

// --- the partial file -----------------------------------------------------------------------------------------------

static uint64_t key_of(const FaFace *f, const FaRig *rig) {
    const int counts[] = {FA_VOLUMES_VERSION, f->nskin, f->layers, f->ntet, rig->nshape, rig->nentry};
    uint64_t h = fai_hash64(counts, sizeof counts, f->rig_hash);
    h = fai_hash64(f->x0, 3 * (size_t)f->nnode * sizeof(float), h);
    h = fai_hash64(f->tet, 4 * (size_t)f->ntet * sizeof(int), h);
    h = fai_hash64(f->skin_vertex, (size_t)f->nskin * sizeof(int), h);
    h = fai_hash64(f->to_skull, (size_t)f->nskin * sizeof(float), h);
    h = fai_hash64(f->to_jaw, (size_t)f->nskin * sizeof(float), h);
    if (fai_face_filled(f)) h = fai_hash64(f->carrier, (size_t)f->nnode, h);
    h = fai_hash64(f->jaw.hinge, sizeof f->jaw.hinge, h);
    h = fai_hash64(&f->jaw.open_angle, sizeof f->jaw.open_angle, h);
    for (int i = 0; i < f->jaw.nmore; i++) h = fai_jaw_shape_hash(&f->jaw.more[i], h);
    for (int i = 0; i < f->nbone; i++) h = fai_hash64(f->bone[i].x, 3 * (size_t)f->bone[i].nvert * sizeof(float), h);
    h = fai_hash64(rig->row, (size_t)rig->nentry * sizeof(int), h);
    return fai_hash64(rig->delta, 3 * (size_t)rig->nentry * sizeof(float), h);
}

static FaCode keep(const Run *r, const char *path, FaError *err) {
    FaText text = {0};
    fai_volume_part_pack(r->key, r->rig->nshape, r->column, &text);
    FaCode rc = text.failed ? FA_FAIL_MEMORY(err) : fai_file_write(path, text.data, text.size, err);
    fai_text_free(&text);
    return rc;
}

// What an earlier run left. Anything odd: nothing is taken, and no error made of it.
static void resume(Run *r, const char *path) {
    FaBytes b = {0};
    FaError ignored = {0};
    if (!fai_file_exists(path) || fai_file_read_own(path, &b, &ignored) < 0) return;
    fai_volume_part_unpack(b.data, b.size, r->key, r->rig->nshape, r->face->nnode, r->column);
    fai_bytes_free(&b);
}

// --- a batch --------------------------------------------------------------------------------------------------------

// Dense again (nnode x 3).
static void spread(const FaVolumeColumn *c, float *dense) {
    for (int i = 0; i < c->count; i++)
        memcpy(dense + 3 * (size_t)c->node[i], c->value + 3 * (size_t)i, 3 * sizeof(float));
}

static FaCode fill(const Run *r, int s, FaError *err) {
    const int n = r->face->nnode, on = fai_volume_base(r->model, s);
    FaVolumeColumn *c = &r->column[s];
    float *dense = FA_NEW(6 * (size_t)n, float), *base = dense ? dense + 3 * (size_t)n : NULL;
    if (!dense) return FA_FAIL_MEMORY(err);
    if (on >= 0) spread(&r->column[on], base);
    FaCode rc = fai_volume_shape(r->model, s, on >= 0 ? base : NULL, dense, &c->report, err);
    int count = 0;
    for (int i = 0; rc >= 0 && i < n; i++) count += dense[3 * i] != 0 || dense[3 * i + 1] != 0 || dense[3 * i + 2] != 0;
    if (rc >= 0) {
        c->node = FA_NEW(count, int);
        c->value = FA_NEW(3 * (size_t)count, float);
        if (!c->node || !c->value) rc = FA_FAIL_MEMORY(err);
    }
    for (int i = 0; rc >= 0 && i < n; i++) {
        const float *d = dense + 3 * (size_t)i;
        if (d[0] == 0 && d[1] == 0 && d[2] == 0) continue;
        c->node[c->count] = i;
        memcpy(c->value + 3 * (size_t)c->count++, d, 3 * sizeof *d);
    }
    fa_free(dense);
    if (rc >= 0) c->done = true;
    return rc;
}

static void batch(void *ctx, int begin, int end, int chunk) {
    Run *r = ctx;
    (void)chunk;
    for (int i = begin; i < end; i++) r->code[i] = fill(r, r->pending[i], &r->error[i]);
}

// Shapes that are left, those on top of another only once that is there.
static void next_batch(Run *r) {
    r->npending = 0;
    for (int s = 0; s < r->rig->nshape && r->npending < BATCH; s++) {
        int on = fai_volume_base(r->model, s);
        if (!r->column[s].done && (on < 0 || r->column[on].done)) r->pending[r->npending++] = s;
    }
}

static FaCode all_shapes(Run *r, const FaVolumeOptions *o, FaError *err) {
    for (;;) {
        int done = 0;
        for (int s = 0; s < r->rig->nshape; s++) done += r->column[s].done;
        if (o)
            FA_TRY(fai_progress(o->progress, o->progress_user, "volumes",
                                r->rig->nshape ? (double)done / r->rig->nshape : 1,
                                o->partial ? "finished shapes are kept, and the same command goes on from there"
                                           : "the face is as it was",
                                err));
        next_batch(r);
        if (r->npending == 0) return FA_OK;
        memset(r->error, 0, sizeof r->error);
        fai_parallel(r->npending, 1, batch, r);
        for (int i = 0; i < r->npending; i++)
            if (r->code[i] < 0) {
                const FaError *e = &r->error[i];
                return FA_FAIL(err, e->code, FA_PLACE("shape '%.80s'", r->rig->shape[r->pending[i]].name), e->remedy,
                               "%s", e->what);
            }
        if (o && o->partial) FA_TRY(keep(r, o->partial, err));
    }
}

// --- what no flesh fits below ---------------------------------------------------------------------------------------

// Rest position of all nodes at weight 1 of a shape, on top of the one that it goes on, from the numbers that are kept.
static void place_shape(const Run *r, int s, double *X) {
    const int on = fai_volume_base(r->model, s);
    for (size_t i = 0; i < 3 * (size_t)r->face->nnode; i++) X[i] = (double)r->face->x0[i];
    for (int k = 0; k < 2; k++) {
        const FaVolumeColumn *c = k ? on >= 0 ? &r->column[on] : NULL : &r->column[s];
        for (int i = 0; c && i < 3 * c->count; i++)
            X[3 * (size_t)c->node[i / 3] + (size_t)(i % 3)] += (double)c->value[i];
    }
}

// Pieces of which some shape leaves a tet inverted. r->column[].left_out counts them by shape.
static void find_folded(Run *r, const double *X0, double *X, unsigned char *out) {
    const FaFace *f = r->face;
    const int below = fai_face_piece(f);
    for (int s = 0; s < r->rig->nshape; s++) {
        place_shape(r, s, X);
        for (int t = 0, last = -1; t < f->ntet; t++) {
            double F[9];
            if (fai_tet_gradient(X0, X, f->tet + 4 * (size_t)t, F) > LEAST) continue;
            r->column[s].left_out += last != t / below;
            out[last = t / below] = 1;
        }
    }
}

static void renumber(FaVolumeColumn *c, const int *node) {
    int n = 0;
    for (int i = 0; i < c->count; i++) {
        if (node[c->node[i]] < 0) continue;
        memmove(c->value + 3 * (size_t)n, c->value + 3 * (size_t)i, 3 * sizeof(float));
        c->node[n++] = node[c->node[i]];
    }
    c->count = n;
}

// What is inverted in the volume of a shape is left out of the face, so that nothing is.
static FaCode leave_out(Run *r, FaFace *face, FaError *err) {
    const size_t n = 3 * (size_t)face->nnode;
    double *X = FA_NEW(2 * n, double);
    unsigned char *out = FA_NEW(fai_face_pieces(face), unsigned char);
    int *node = FA_NEW(face->nnode, int);
    FaCode rc = X && out && node ? FA_OK : FA_FAIL_MEMORY(err);
    for (size_t i = 0; rc >= 0 && i < n; i++) X[i] = (double)face->x0[i];
    if (rc >= 0) find_folded(r, X, X + n, out);
    if (rc >= 0) rc = fai_leave_out_more(face, out, &r->left_out, err);
    for (int t = 0; rc >= 0 && t < face->ntet && r->first < 0; t++)
        if (out[t / fai_face_piece(face)]) r->first = face->skin_vertex[fai_face_above(face, face->tet[4 * (size_t)t])];
    if (rc >= 0 && r->left_out) {
        rc = fai_leave_out(face, out, node, err);
        for (int s = 0; rc >= 0 && s < r->rig->nshape; s++) renumber(&r->column[s], node);
    }
    fa_free(X);
    fa_free(out);
    fa_free(node);
    return rc;
}

// --- the result -----------------------------------------------------------------------------------------------------

static FaCode store(const Run *r, FaArena *arena, FaColumns *out, FaError *err) {
    FaColumnsMaker maker = {.width = 3};
    float *dense = FA_NEW(3 * (size_t)r->face->nnode, float);
    FaCode rc = dense ? FA_OK : FA_FAIL_MEMORY(err);
    for (int s = 0; rc >= 0 && s < r->rig->nshape; s++) {
        memset(dense, 0, 3 * (size_t)r->face->nnode * sizeof *dense);
        spread(&r->column[s], dense);
        rc = fai_columns_push(&maker, r->face->nnode, dense, 0, err);
    }
    fa_free(dense);
    if (rc >= 0) rc = fai_columns_finish(&maker, arena, out, err);
    fai_columns_drop(&maker);
    return rc;
}

// Weights as faces have them: a few shapes at a time, up to 1.
static void draw_weights(const FaRig *rig, int draw, float *weights) {
    for (int s = 0; s < rig->nshape; s++) {
        uint64_t at = (uint64_t)draw * 4096 + 2 * (uint64_t)s;
        bool on = fai_random_unit(7, at) < 5.0 / (rig->nshape > 5 ? rig->nshape : 5);
        weights[s] = on ? (float)fai_random_unit(7, at + 1) : 0;
    }
}

FaCode fai_volume_draws(const FaFace *face, const FaRig *rig, int draws, FaVolumesReport *report, FaError *err) {
    double *X = FA_NEW(3 * (size_t)face->nnode, double);
    float *weights = FA_NEW(rig->nshape, float);
    FaCode rc = X && weights ? FA_OK : FA_FAIL_MEMORY(err);
    double clamped = 0, inverted = 0;
    report->mixed_least = INFINITY;
    for (int d = 0; rc >= 0 && d < draws; d++) {
        draw_weights(rig, d, weights);
        fai_volume_at(face, weights, X);
        FaVolumeQuality q = fai_volume_quality(face, X);
        report->mixed_least = fmin(report->mixed_least, q.least);
        clamped += q.clamped, inverted += q.inverted;
    }
    report->mixed_clamped = clamped / ((double)draws * face->ntet);
    report->mixed_inverted = inverted / ((double)draws * face->ntet);
    fa_free(X);
    fa_free(weights);
    return rc;
}

// What there is to say of the tets of shapes as they are kept, so that the face does not depend on who made it: of all
// if something was left out, else of those that were resumed.
static void measure(void *ctx, int begin, int end, int chunk) {
    const Run *r = ctx;
    (void)chunk;
    for (int s = begin; s < end; s++) {
        FaVolumeColumn *c = &r->column[s];
        if (!c->resumed && !r->left_out) continue;
        double *X = FA_NEW(3 * (size_t)r->face->nnode, double);
        if (!(c->measured = X != NULL)) continue;
        place_shape(r, s, X);
        FaVolumeQuality q = fai_volume_quality(r->face, X);
        c->report.least = q.least;
        c->report.inverted = q.inverted;
        c->report.active = c->count;
        fai_volume_change(r->face, X, &c->report.volume, &c->report.volume_rms);
        fa_free(X);
    }
}

static void set_name(char to[64], const Run *r, int shape) {
    if (shape >= 0) snprintf(to, 64, "%s", r->rig->shape[shape].name);
}

// "vertex 5915; mouthLeft 3, mouthPucker 3, ...": the shapes that fold triangles, as many as fit.
static void list_folded(const Run *r, char *text, size_t size) {
    size_t at = r->left_out ? (size_t)snprintf(text, size, "vertex %d; ", r->first) : 0;
    for (int s = 0, before = 0; s < r->rig->nshape; s++) {
        const int n = r->column[s].left_out;
        if (!n) continue;
        if (at + strlen(r->rig->shape[s].name) + 20 > size) {
            snprintf(text + at, size - at, ", ...");
            return;
        }
        at += (size_t)snprintf(text + at, size - at, "%s%s %d", before++ ? ", " : "", r->rig->shape[s].name, n);
    }
}

// What the face keeps of the report. Only what a resumed run knows as well: the file must not depend on who made it.
static void keep_report(const Run *r, FaFace *face, const FaVolumesReport *report) {
    FaVolumesMade m = {.version = FA_VOLUMES_VERSION,
                       .key = r->key,
                       .inverted = report->inverted,
                       .left_out = r->left_out,
                       .least = report->least,
                       .volume = report->volume};
    int most = 0, folded = -1;
    for (int s = 0; s < r->rig->nshape; s++)
        if (r->column[s].left_out > most) most = r->column[s].left_out, folded = s;
    set_name(m.folded, r, folded);
    if (report->worst) snprintf(m.worst, sizeof m.worst, "%s", report->worst);
    if (report->swollen) snprintf(m.swollen, sizeof m.swollen, "%s", report->swollen);
    face->volumes_made = m;
}

static FaCode tell(Run *r, FaFace *face, const FaVolumeOptions *o, FaVolumesReport *report, FaError *err) {
    *report = (FaVolumesReport){.nshape = r->rig->nshape, .least = 1, .volume = 1, .left_out = r->left_out};
    int worst = -1, swollen = -1, measured = 0;
    fai_parallel(r->rig->nshape, 1, measure, r);
    for (int s = 0; s < r->rig->nshape; s++) {
        const FaVolumeShape *v = &r->column[s].report;
        report->resumed += r->column[s].resumed;
        if ((r->column[s].resumed || r->left_out) && !r->column[s].measured) return FA_FAIL_MEMORY(err);
        report->unfolded += v->unfolded;
        report->inverted += v->inverted;
        report->pushed += v->pushed;
        report->gap = fmax(report->gap, v->gap);
        report->on_bone += v->on_bone;
        if (v->active && fabs(v->volume - 1) > fabs(report->volume - 1)) report->volume = v->volume, swollen = s;
        if (v->active && !r->column[s].resumed) {
            report->off_bone_first += v->off_bone_first, report->off_bone += v->off_bone;
            measured++;
        }
        if (o && o->each && v->active) {
            const FaVolumeShapeReport shape = {.name = r->rig->shape[s].name,
                                               .resumed = r->column[s].resumed,
                                               .volume = v->volume,
                                               .volume_rms = v->volume_rms,
                                               .on_bone = v->on_bone,
                                               .off_bone_first_mm = 1e3 * v->off_bone_first,
                                               .off_bone_mm = 1e3 * v->off_bone,
                                               .folded = v->folded,
                                               .inverted = v->inverted,
                                               .least = v->least,
                                               .seconds = v->seconds};
            o->each(o->each_user, &shape);
        }
        if (v->active && v->least < report->least) report->least = v->least, worst = s;
    }
    if (worst >= 0) report->worst = r->rig->shape[worst].name;
    if (swollen >= 0) report->swollen = r->rig->shape[swollen].name;
    report->off_bone_first /= FA_MAX(measured, 1), report->off_bone /= FA_MAX(measured, 1);
    keep_report(r, face, report);
    char where[256] = "";
    list_folded(r, where, sizeof where);
    fai_note_count(
        &face->notes, r->left_out, "volume-folded", where, "smooth the shapes where they fold the skin",
        fai_face_filled(face)
            ? "%d pieces of flesh are turned inside out by some shape and are left out"
            : "%d triangles are folded by some shape so that no flesh fits below them: they follow the shapes alone",
        r->left_out);
    return fai_volume_draws(face, r->rig, DRAWS, report, err);
}

bool fa_face_volumes_fit(const FaFace *face, const FaRig *rig) {
    const FaVolumesMade *m = &face->volumes_made;
    return face->volumes.nshape == rig->nshape && m->version == FA_VOLUMES_VERSION && m->key == key_of(face, rig);
}

FaVolumeOptions fa_volume_options_default(void) { return (FaVolumeOptions){0}; }

FaCode fa_face_volumes(FaFace *face, const FaRig *rig, const FaVolumeOptions *options, FaVolumesReport *report,
                       FaError *err) {
    Run r = {.face = face, .rig = rig, .first = -1};
    double t0 = fai_seconds();
    FaColumns columns = {0};
    FaVolumesReport own;
    FaCode rc = fai_volume_model_new(face, rig, &r.model, err);
    if (rc >= 0 && !(r.column = FA_NEW(rig->nshape, FaVolumeColumn))) rc = FA_FAIL_MEMORY(err);
    if (rc >= 0) r.key = key_of(face, rig);
    if (rc >= 0 && options && options->partial) resume(&r, options->partial);
    if (rc >= 0) rc = all_shapes(&r, options, err);
    if (rc >= 0) {
        face->volumes = (FaColumns){0}; // of before
        rc = leave_out(&r, face, err);
    }
    if (rc >= 0) rc = store(&r, face->arena, &columns, err);
    if (rc >= 0) {
        face->volumes = columns;
        if (r.left_out) r.key = key_of(face, rig);
        rc = tell(&r, face, options, report ? report : &own, err);
        if (report) report->seconds = fai_seconds() - t0;
    }
    fai_volume_columns_free(rig->nshape, r.column);
    fa_free(r.column);
    fai_volume_model_free(r.model);
    return rc;
}

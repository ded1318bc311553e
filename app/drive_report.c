// The page of fascia drive --report: the result beside the other methods, like with like, the markers drawn, figures
// per frame and, where the truth is known, the error of every vertex.
#include "drive_markers.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 4 };
static const double MOVES = 1e-4; // m: vertices that no shape moves as far are not judged

typedef struct Track {
    FaDrive *drive; // owned; NULL: the result's own
    const FaDrive *own;
    Record rec;
    FaSequence *seq;
    double *dense; // mm, mean per frame                                          (nframe)
    FaPageNumbers number[NUMBERS];
    int nnumber;
} Track;

typedef struct Page {
    DriveJob *job;
    FaSequence *truth;
    float *weight; // 1: judged (moves, carries no marker)                         (nvert)
    float *region; // of each region in turn                                      (nregion x nvert)
    int nregion;
    Track track[DRIVE_TRACKS];
    DriveTracks *rep;
} Page;

// --- dense error --------------------------------------------------------------------------------------------------

static FaCode load_truth(Page *p, FaError *err) {
    const DriveJob *j = p->job;
    const FaRig *rig = j->job.rig;
    size_t n = (size_t)rig->mesh.nvert;
    if (!drive_settings.truth) return FA_OK;
    TRY(open_frames(drive_settings.truth, rig, &p->truth, err));
    if (fa_sequence_nvert(p->truth) != rig->mesh.nvert || fa_sequence_nframe(p->truth) < j->take->nframe) {
        *err = (FaError){.code = FA_E_ARG};
        snprintf(err->what, sizeof err->what, "the truth has %d frames of %d vertices, the result %d of %d",
                 fa_sequence_nframe(p->truth), fa_sequence_nvert(p->truth), j->take->nframe, rig->mesh.nvert);
        snprintf(err->path, sizeof err->path, "%s", drive_settings.truth);
        return FA_E_ARG;
    }
    p->nregion = j->job.face ? fa_face_regions() : 0;
    if (p->nregion > DRIVE_REGIONS) p->nregion = DRIVE_REGIONS;
    p->weight = calloc(n, sizeof *p->weight);
    p->region = calloc(n * (size_t)(p->nregion ? p->nregion : 1), sizeof *p->region);
    if (!p->weight || !p->region) return cli_no_memory(err);
    for (int i = 0; i < rig->nentry; i++) {
        const float *d = rig->delta + 3 * (size_t)i;
        if ((double)(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) > MOVES * MOVES) p->weight[rig->row[i]] = 1;
    }
    for (int i = 0; i < j->map->count; i++) {
        const FaMarkerPoint *at = &j->map->point[i];
        if (at->vert[0] >= 0 && at->bary[0] > 0.999f) p->weight[at->vert[0]] = 0;
    }
    for (int r = 0; r < p->nregion; r++) fa_face_region(j->job.face, r, p->region + n * (size_t)r);
    return FA_OK;
}

// Mean over the judged vertices, per frame, whole and by region.
static FaCode measure(Page *p, Track *t, DriveTrack *out, FaError *err) {
    int nframe = p->job->take->nframe, nvert = p->job->job.rig->mesh.nvert;
    size_t n = (size_t)nvert;
    out->dense_mm = out->dense_max_mm = NAN;
    out->regions = p->nregion;
    if (!p->truth) return FA_OK;
    float *a = malloc(3 * n * sizeof *a), *b = malloc(3 * n * sizeof *b);
    t->dense = calloc((size_t)nframe, sizeof *t->dense);
    FaCode rc = a && b && t->dense ? FA_OK : cli_no_memory(err);
    double total = 0, weight = 0, region[DRIVE_REGIONS] = {0}, share[DRIVE_REGIONS] = {0}, worst = 0;
    for (int f = 0; f < nframe && rc >= 0; f++) {
        double sum = 0, count = 0;
        rc = fa_sequence_read(t->seq, f, a, err);
        if (rc >= 0) rc = fa_sequence_read(p->truth, f, b, err);
        for (size_t v = 0; v < n && rc >= 0; v++) {
            if (!(p->weight[v] > 0)) continue;
            double d[3], e = 0;
            for (size_t k = 0; k < 3; k++) {
                d[k] = (double)a[3 * v + k] - (double)b[3 * v + k];
                e += d[k] * d[k];
            }
            e = 1e3 * sqrt(e);
            sum += e;
            count++;
            if (e > worst) worst = e;
            for (int r = 0; r < p->nregion; r++) {
                double w = (double)p->region[n * (size_t)r + v];
                region[r] += w * e;
                share[r] += w;
            }
        }
        if (count > 0) t->dense[f] = sum / count;
        total += sum;
        weight += count;
    }
    out->dense_mm = weight > 0 ? total / weight : NAN;
    out->dense_max_mm = worst;
    for (int r = 0; r < p->nregion; r++) out->region_mm[r] = share[r] > 0 ? region[r] / share[r] : NAN;
    free(a);
    free(b);
    return rc;
}

// --- tracks -------------------------------------------------------------------------------------------------------

static FaCode add(Page *p, const char *name, const FaDrive *own, FaSequence *seq, FaError *err) {
    Track *t = &p->track[p->rep->count];
    DriveTrack *out = &p->rep->track[p->rep->count++];
    FaDriveReport r = fa_drive_report(own);
    snprintf(out->name, sizeof out->name, "%s", name);
    t->own = own;
    t->seq = seq;
    out->before_mm = r.before_mm;
    out->after_mm = r.after_mm;
    out->inside_mm = r.inside_mm;
    out->outside_mm = r.outside_mm;
    TRY(measure(p, t, out, err));
    t->number[t->nnumber++] = (FaPageNumbers){"marker error, mean mm", r.frame_after_mm};
    t->number[t->nnumber++] = (FaPageNumbers){"inside the shapes' span, mm rms", r.frame_inside_mm};
    t->number[t->nnumber++] = (FaPageNumbers){"outside the shapes' span, mm rms", r.frame_outside_mm};
    if (t->dense) t->number[t->nnumber++] = (FaPageNumbers){"dense error, mean mm", t->dense};
    return FA_OK;
}

// Another way to solve the same take.
static FaCode add_way(Page *p, FaDriveKind kind, bool plain, FaError *err) {
    DriveJob *j = p->job;
    Track *t = &p->track[p->rep->count];
    FaDriveOptions o = j->options;
    char name[40];
    o.kind = kind;
    o.literal = false;
    if (plain) o.no_jaw = o.no_residual = true;
    snprintf(name, sizeof name, "%s%s%s", fa_drive_kind_name(kind), o.no_jaw ? "" : " jaw",
             o.no_residual ? "" : " residual");
    TRY(fa_drive_open(j->job.rig, j->job.face, j->take, j->map, &o, &t->drive, err));
    const FaClip *clip = fa_drive_clip(t->drive);
    TRY(record_new(fa_drive_sequence(t->drive), clip->nframe - 1, j->job.rig, clip, &t->rec, err));
    return add(p, name, t->drive, t->rec.seq, err);
}

static FaCode add_tracks(Page *p, FaError *err) {
    DriveJob *j = p->job;
    const FaDriveOptions *o = &j->options;
    char name[40];
    snprintf(name, sizeof name, "%s%s%s%s", fa_drive_kind_name(j->rep.kind), o->literal ? " literal" : "",
             j->rep.jaw ? " jaw" : "", j->rep.residual ? " residual" : "");
    TRY(add(p, name, j->drive, j->control.seq, err));
    if (j->job.record.seq) {
        snprintf(name, sizeof name, "%s, flesh", fa_drive_kind_name(j->rep.kind));
        TRY(add(p, name, j->drive, j->job.record.seq, err));
    }
    static const FaDriveKind others[] = {FA_DRIVE_BF, FA_DRIVE_SBS, FA_DRIVE_RSBS};
    for (int i = 0; i < 3; i++) {
        if (others[i] == FA_DRIVE_BF && !j->job.face) continue;
        if (others[i] != j->rep.kind || o->literal) TRY(add_way(p, others[i], false, err));
    }
    bool plain = o->no_jaw && o->no_residual && !o->literal; // then SBS is plain already
    if (!plain) TRY(add_way(p, FA_DRIVE_SBS, true, err));
    return FA_OK;
}

// --- the page -----------------------------------------------------------------------------------------------------

static void line(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void line(char *text, size_t size, const char *fmt, ...) {
    size_t at = strlen(text);
    va_list args;
    va_start(args, fmt);
    vsnprintf(text + at, size - at, fmt, args);
    va_end(args);
}

// What was asked for and found, for the page; then the table.
static void facts(const Page *p, char *text, size_t size) {
    const DriveJob *j = p->job;
    line(text, size, "%s\n%s: %d markers with a place, %d samples missing, %d frames lost\n%s\n\n", j->job.generator,
         j->motion, j->map->mapped, j->rep.missing, j->rep.lost, j->rep.why ? j->rep.why : "");
}

static void table(const Page *p, char *text, size_t size) {
    const DriveTracks *rep = p->rep;
    line(text, size, "%-22s %12s %12s%s\n", "mm", "markers, raw", "markers, end",
         p->truth ? "  dense mean   dense max   of plain" : "");
    double plain = rep->track[rep->count - 1].dense_mm;
    for (int i = 0; i < rep->count; i++) {
        const DriveTrack *t = &rep->track[i];
        line(text, size, "%-22s %12.3f %12.3f", t->name, t->before_mm, t->after_mm);
        if (p->truth) line(text, size, " %11.3f %11.2f %10.2f", t->dense_mm, t->dense_max_mm, t->dense_mm / plain);
        line(text, size, "\n");
    }
    for (int r = 0; r < (p->truth ? p->nregion : 0); r++) {
        line(text, size, "%s%-22s", r ? "" : "\ndense error by region, mm\n", fa_face_region_name(r));
        for (int i = 0; i < rep->count; i++) line(text, size, " %8.3f", rep->track[i].region_mm[r]);
        line(text, size, "\n");
    }
}

static FaCode write_page(Page *p, const char *path, FaError *err) {
    FaPageTrack tracks[DRIVE_TRACKS + 1];
    int n = 0;
    char text[8192] = "";
    for (int i = 0; i < p->rep->count; i++) {
        Track *t = &p->track[i];
        tracks[n++] = (FaPageTrack){.name = p->rep->track[i].name,
                                    .seq = t->seq,
                                    .clip = fa_drive_clip(t->own),
                                    .numbers = t->number,
                                    .nnumbers = t->nnumber,
                                    .markers = fa_drive_markers(t->own),
                                    .map = p->job->map};
    }
    FaSequence *cut = NULL;
    if (p->truth) {
        TRY(fa_sequence_slice(p->truth, 0, p->job->take->nframe - 1, &cut, err));
        tracks[n++] = (FaPageTrack){.name = "truth",
                                    .seq = cut,
                                    .clip = fa_drive_clip(p->job->drive),
                                    .markers = fa_drive_markers(p->job->drive),
                                    .map = p->job->map};
    }
    facts(p, text, sizeof text);
    table(p, text, sizeof text);
    FaPageOptions opt = {.title = "fascia drive", .facts = text, .progress = cli_progress};
    FaCode rc = fa_page_save(path, p->job->job.rig, tracks, n, &opt, err);
    fa_sequence_close(cut);
    return rc;
}

FaCode drive_report(DriveJob *j, const char *path, FaError *err) {
    Page p = {.job = j, .rep = &j->tracks};
    FaCode rc = load_truth(&p, err);
    if (rc >= 0) rc = add_tracks(&p, err);
    if (rc >= 0 && path) rc = write_page(&p, path, err);
    cli_progress_end();
    if (rc >= 0 && !common.json && !common.quiet) {
        char text[8192] = "";
        table(&p, text, sizeof text);
        cli_say("%s", text);
    }
    for (int i = 0; i < DRIVE_TRACKS; i++) {
        record_free(&p.track[i].rec);
        fa_drive_close(p.track[i].drive);
        free(p.track[i].dense);
    }
    free(p.weight);
    free(p.region);
    fa_sequence_close(p.truth);
    return rc;
}

static void json_track(const DriveTrack *t, FaJsonWriter *w) {
    fa_json_begin(w, NULL, '{');
    fa_json_text(w, "name", t->name);
    fa_json_number(w, "before_mm", t->before_mm);
    fa_json_number(w, "after_mm", t->after_mm);
    fa_json_number(w, "inside_mm", t->inside_mm);
    fa_json_number(w, "outside_mm", t->outside_mm);
    fa_json_number(w, "dense_mm", t->dense_mm);
    fa_json_number(w, "dense_max_mm", t->dense_max_mm);
    fa_json_begin(w, "regions", '{');
    for (int r = 0; r < (isfinite(t->dense_mm) ? t->regions : 0); r++)
        fa_json_number(w, fa_face_region_name(r), t->region_mm[r]);
    fa_json_end(w);
    fa_json_end(w);
}

void drive_report_json(const DriveTracks *tracks, const char *key, FaJsonWriter *w) {
    fa_json_begin(w, key, '[');
    for (int i = 0; i < tracks->count; i++) json_track(&tracks->track[i], w);
    fa_json_end(w);
}

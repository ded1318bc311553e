// How far two animations are apart: distances, crossing triangles, volumes, frame by frame.
#include "base/task.h"
#include "base/text.h"
#include "fascia/report.h"
#include "mesh/intersect.h"
#include "mesh/mesh.h"
#include "rig/stats.h"

#include <math.h>

enum {
    EXACT_SAMPLES = 1 << 24, // up to this many distances the overall p99 is exact
    BIN_BITS = 20,           // beyond, a histogram by the leading bits of the float: 1 part in 2048
};

// One of the two animations with what is measured on it alone.
typedef struct Side {
    FaSequence *seq;
    const FaMesh *mesh; // faces, NULL: none known
    FaTopology topo;
    float *x, *next;       // a frame, and one more to go between          (nvert x 3)
    int in_x, in_next;     // which frames these are, -1 = none
    float *at;             // where this frame's positions are: x, or `between`
    float *between;        // (nvert x 3)
    double *volume, *rest; // of each part, now and in the first frame      (nparts)
    bool *closed;          // (nparts)
    double change;         // largest relative change of a volume
    uint64_t counted;      // fingerprint of the frame counted last
    int count, worst;      // crossing pairs of it; the most so far
    int *crossing;         // crossing pairs of every frame; NULL: not counted       (frames)
} Side;

typedef struct Work {
    Side side[2];
    int nvert;
    bool by_time;
    float *distance; // m                                        (nvert)
    float *sample;   // all distances, NULL: too many            (frames x nvert)
    uint32_t *bin;   // the histogram then                       (1 << BIN_BITS)
    const FaCompareOptions *options;
} Work;

// --- frames -------------------------------------------------------------------------------------------------------

static FaCode read_frame(Side *s, int frame, float *x, int *in, FaError *err) {
    if (*in == frame) return FA_OK;
    *in = -1;
    FA_TRY(fa_sequence_read(s->seq, frame, x, err));
    *in = frame;
    return FA_OK;
}

// Positions at a time: straight lines between frames.
static FaCode read_time(Side *s, double time, int nvert, FaError *err) {
    int lo = 0, hi = fa_sequence_nframe(s->seq) - 1;
    while (lo < hi) {
        int mid = lo + (hi - lo + 1) / 2;
        if (fa_sequence_time(s->seq, mid) <= time)
            lo = mid;
        else
            hi = mid - 1;
    }
    // going forward, the later frame of the last pair is the earlier one of the next
    if (s->in_x != lo && s->in_next == lo) {
        float *t = s->x;
        s->x = s->next;
        s->next = t;
        s->in_next = s->in_x;
        s->in_x = lo;
    }
    FA_TRY(read_frame(s, lo, s->x, &s->in_x, err));
    s->at = s->x;
    if (lo + 1 >= fa_sequence_nframe(s->seq)) return FA_OK;
    double t0 = fa_sequence_time(s->seq, lo), step = fa_sequence_time(s->seq, lo + 1) - t0;
    double u = step > 0 ? (time - t0) / step : 0;
    if (u < 1e-6) return FA_OK;
    FA_TRY(read_frame(s, lo + 1, s->next, &s->in_next, err));
    s->at = s->next;
    if (u > 1 - 1e-6) return FA_OK;
    for (size_t i = 0; i < 3 * (size_t)nvert; i++)
        s->between[i] = (float)((1 - u) * (double)s->x[i] + u * (double)s->next[i]);
    s->at = s->between;
    return FA_OK;
}

static FaCode read_both(Work *w, int frame, FaError *err) {
    Side *a = &w->side[0], *b = &w->side[1];
    FA_TRY(read_frame(a, frame, a->x, &a->in_x, err));
    a->at = a->x;
    if (w->by_time) return read_time(b, fa_sequence_time(a->seq, frame), w->nvert, err);
    FA_TRY(read_frame(b, frame, b->x, &b->in_x, err));
    b->at = b->x;
    return FA_OK;
}

// By number unless both rates are known and differ; a's frames past b's end are left out.
static int match_frames(Work *w) {
    const FaSequence *a = w->side[0].seq, *b = w->side[1].seq;
    double fa = fa_sequence_fps(a), fb = fa_sequence_fps(b);
    int na = fa_sequence_nframe(a), nb = fa_sequence_nframe(b);
    w->by_time = fa > 0 && fb > 0 && fabs(fa - fb) > 0.005 * fa && na > 1 && nb > 1;
    if (!w->by_time) return FA_MIN(na, nb);
    double end = fa_sequence_time(b, nb - 1) + 1e-3 / fa;
    int n = 0;
    while (n < na && fa_sequence_time(a, n) <= end) n++;
    return n;
}

// --- distances ----------------------------------------------------------------------------------------------------

static void distances(void *ctx, int begin, int end, int chunk) {
    (void)chunk;
    Work *w = ctx;
    const float *a = w->side[0].at, *b = w->side[1].at;
    for (size_t v = (size_t)begin; v < (size_t)end; v++) {
        double d[3];
        for (size_t k = 0; k < 3; k++) d[k] = (double)a[3 * v + k] - (double)b[3 * v + k];
        w->distance[v] = (float)sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    }
}

// The sample that 99 of 100 do not exceed.
static size_t rank_99(size_t n) { return n - 1 - n / 100; }

static uint32_t bin_of(float d) {
    uint32_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits >> (31 - BIN_BITS); // the sign is 0
}

static float bin_value(uint32_t bin) {
    uint32_t bits = (bin << (31 - BIN_BITS)) | 1u << (30 - BIN_BITS);
    float d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static FaCode measure_frame(Work *w, int frame, FaCompare *out, FaError *err) {
    fai_parallel(w->nvert, 8192, distances, w);
    double sum = 0, most = -1;
    int worst = 0;
    for (int v = 0; v < w->nvert; v++) {
        float d = w->distance[v];
        if (!isfinite(d))
            return FA_FAIL(err, FA_E_NUMERIC, FA_PLACE("frame %d, vertex %d", out->first + frame, v),
                           "find out which of the two files is damaged",
                           "a position is not a finite number, or out of range");
        sum += (double)d;
        if ((double)d > most) most = (double)d, worst = v;
        if (w->bin) w->bin[bin_of(d)] += w->bin[bin_of(d)] != UINT32_MAX;
    }
    if (w->sample)
        memcpy(w->sample + (size_t)frame * (size_t)w->nvert, w->distance, (size_t)w->nvert * sizeof *w->distance);
    out->frame_max_mm[frame] = 1e3 * most;
    out->frame_mean_mm[frame] = 1e3 * sum / w->nvert;
    out->frame_p99_mm[frame] = 1e3 * (double)fai_select(w->distance, (size_t)w->nvert, rank_99((size_t)w->nvert));
    if (frame == 0 || 1e3 * most > out->max_mm) {
        out->max_mm = 1e3 * most;
        out->worst_frame = out->first + frame;
        out->worst_vertex = worst;
    }
    return FA_OK;
}

static void overall(Work *w, FaCompare *out) {
    for (int f = 0; f < out->frames; f++) out->mean_mm += out->frame_mean_mm[f] / out->frames;
    size_t n = (size_t)out->frames * (size_t)w->nvert;
    if (w->sample) {
        out->p99_mm = 1e3 * (double)fai_select(w->sample, n, rank_99(n));
        return;
    }
    uint64_t seen = 0, total = 0, rank;
    for (uint32_t i = 0; i < 1u << BIN_BITS; i++) total += w->bin[i];
    rank = rank_99((size_t)total);
    for (uint32_t i = 0; i < 1u << BIN_BITS; i++) {
        seen += w->bin[i];
        if (seen <= rank) continue;
        out->p99_mm = i ? FA_MIN(1e3 * (double)bin_value(i), out->max_mm) : 0;
        return;
    }
}

// --- what needs faces ---------------------------------------------------------------------------------------------

static FaCode find_faces(Side *s, const FaRig *rig, int nvert, FaError *err) {
    if (!rig || rig->mesh.nvert != nvert || rig->mesh.ntri == 0) return FA_OK;
    FA_TRY(fai_topology_build(&rig->mesh, &s->topo, err));
    s->mesh = &rig->mesh;
    s->worst = 0;
    s->volume = FA_NEW(s->topo.nparts, double);
    s->rest = FA_NEW(s->topo.nparts, double);
    s->closed = FA_NEW(s->topo.nparts, bool);
    return s->volume && s->rest && s->closed ? FA_OK : FA_FAIL_MEMORY(err);
}

static void measure_volumes(Side *s, bool first) {
    const double least = 1e-9; // m3: a cubic millimetre; smaller parts are lashes and splinters
    fai_mesh_volumes(s->mesh, &s->topo, s->at, first ? s->rest : s->volume, s->closed);
    for (int p = 0; p < s->topo.nparts && !first; p++)
        if (s->closed[p] && fabs(s->rest[p]) >= least) s->change = fmax(s->change, fabs(s->volume[p] / s->rest[p] - 1));
}

static FaCode count_crossings(Side *s, int nvert, int frame, FaError *err) {
    // a frame that stands still is counted once
    uint64_t print = fai_hash64(s->at, 3 * (size_t)nvert * sizeof *s->at, 1) | 1;
    if (print != s->counted) FA_TRY(fai_self_intersections(s->mesh, s->at, NULL, NULL, 0, &s->count, err));
    s->counted = print;
    s->worst = FA_MAX(s->worst, s->count);
    s->crossing[frame] = s->count;
    return FA_OK;
}

static double edge_length(const float *x, const int *edge) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        double d = (double)x[3 * (size_t)edge[0] + (size_t)k] - (double)x[3 * (size_t)edge[1] + (size_t)k];
        sum += d * d;
    }
    return sqrt(sum);
}

// How much longer the edges of b are than those of a. Where a crushes an edge, a third of its length at rest counts:
// else a hair's breadth would be a tear.
static void measure_stretch(const Work *w, int frame, FaCompare *out) {
    const double least = 1e-5; // m: shorter edges are rounding
    const Side *a = &w->side[0], *b = &w->side[1];
    const FaMesh *mesh = a->mesh ? a->mesh : b->mesh;
    const FaTopology *topo = a->mesh ? &a->topo : &b->topo;
    for (int e = 0; mesh && e < topo->nedge; e++) {
        double own = fmax(edge_length(a->at, topo->edge[e]), edge_length(mesh->x, topo->edge[e]) / 3);
        double ratio = own > least ? edge_length(b->at, topo->edge[e]) / own : 0;
        if (ratio <= out->stretch) continue;
        out->stretch = ratio;
        out->stretch_frame = out->first + frame;
        out->stretch_vertex = topo->edge[e][0];
    }
}

static FaCode measure_faces(Work *w, int frame, FaError *err) {
    for (int i = 0; i < 2; i++) {
        Side *s = &w->side[i];
        if (!s->mesh) continue;
        measure_volumes(s, frame == 0);
        if (w->options->intersections) FA_TRY(count_crossings(s, w->nvert, frame, err));
    }
    return FA_OK;
}

// --- all together -------------------------------------------------------------------------------------------------

static FaCode set_up(Work *w, FaCompare *out, FaError *err) {
    const FaRig *given = w->options->rig;
    if (given && given->mesh.nvert != w->nvert)
        return FA_FAIL(err, FA_E_ARG, NULL, "give the rig that the frames were made with",
                       "the rig has %d vertices, the frames have %d", given->mesh.nvert, w->nvert);
    for (int i = 0; i < 2; i++) {
        Side *s = &w->side[i];
        size_t n = 3 * (size_t)w->nvert;
        s->in_x = s->in_next = s->worst = -1;
        s->x = FA_NEW(n, float);
        s->next = w->by_time ? FA_NEW(n, float) : NULL;
        s->between = w->by_time ? FA_NEW(n, float) : NULL;
        if (!s->x || (w->by_time && (!s->next || !s->between))) return FA_FAIL_MEMORY(err);
        const FaRig *rig = fa_sequence_rig(s->seq);
        if (!rig) rig = given ? given : fa_sequence_rig(w->side[1 - i].seq);
        FA_TRY(find_faces(s, rig, w->nvert, err));
        if (!s->mesh || !w->options->intersections) continue;
        s->crossing = FA_NEW(out->frames, int);
        if (!s->crossing) return FA_FAIL_MEMORY(err);
    }
    out->frame_max_mm = FA_NEW(out->frames, double);
    out->frame_mean_mm = FA_NEW(out->frames, double);
    out->frame_p99_mm = FA_NEW(out->frames, double);
    w->distance = FA_NEW(w->nvert, float);
    bool exact = (int64_t)out->frames * w->nvert <= EXACT_SAMPLES;
    if (exact)
        w->sample = FA_NEW((size_t)out->frames * (size_t)w->nvert, float);
    else
        w->bin = FA_NEW((size_t)1 << BIN_BITS, uint32_t);
    if (!out->frame_max_mm || !out->frame_mean_mm || !out->frame_p99_mm || !w->distance || (!w->sample && !w->bin))
        return FA_FAIL_MEMORY(err);
    return FA_OK;
}

static void tear_down(Work *w) {
    for (int i = 0; i < 2; i++) {
        Side *s = &w->side[i];
        fai_topology_free(&s->topo);
        fa_free(s->x);
        fa_free(s->next);
        fa_free(s->between);
        fa_free(s->volume);
        fa_free(s->rest);
        fa_free(s->closed);
        fa_free(s->crossing);
    }
    fa_free(w->distance);
    fa_free(w->sample);
    fa_free(w->bin);
}

static FaCode compare(Work *w, FaCompare *out, FaError *err) {
    FA_TRY(set_up(w, out, err));
    for (int f = 0; f < out->frames; f++) {
        FA_TRY(read_both(w, out->first + f, err));
        FA_TRY(measure_frame(w, f, out, err));
        FA_TRY(measure_faces(w, f, err));
        measure_stretch(w, f, out);
        const FaCompareOptions *o = w->options;
        FA_TRY(fai_progress(o->progress, o->progress_user, "compare", (f + 1.0) / out->frames, "nothing is kept", err));
    }
    overall(w, out);
    bool counted = w->options->intersections;
    out->intersections_a = counted ? w->side[0].worst : -1;
    out->intersections_b = counted ? w->side[1].worst : -1;
    out->frame_intersections_a = w->side[0].crossing;
    out->frame_intersections_b = w->side[1].crossing;
    w->side[0].crossing = w->side[1].crossing = NULL; // theirs now
    out->volume_change_a = w->side[0].change;
    out->volume_change_b = w->side[1].change;
    return FA_OK;
}

FaCompareOptions fa_compare_options_default(void) { return (FaCompareOptions){0}; }

FaCode fa_compare(FaSequence *a, FaSequence *b, const FaCompareOptions *options, FaCompare *out, FaError *err) {
    static const FaCompareOptions plain = {0};
    int na = fa_sequence_nvert(a), nb = fa_sequence_nvert(b);
    *out = (FaCompare){.vertices = na, .intersections_a = -1, .intersections_b = -1};
    if (na != nb)
        return FA_FAIL(err, FA_E_ARG, NULL, "compare frames of the same mesh, with vertices in the same order",
                       "the first has %d vertices, the second %d", na, nb);
    if (na < 1 || fa_sequence_nframe(a) < 1 || fa_sequence_nframe(b) < 1)
        return FA_FAIL(err, FA_E_ARG, NULL, NULL, "there is nothing to compare: one of the two is empty");
    Work w = {.side = {{.seq = a}, {.seq = b}}, .nvert = na, .options = options ? options : &plain};
    int matched = match_frames(&w), first = w.options->first, count = w.options->count;
    if (first < 0 || count < 0 || first >= matched)
        return FA_FAIL(err, FA_E_ARG, FA_PLACE("frame %d", first), "ask for frames that both have",
                       "the two have frames 0 to %d in common", matched - 1);
    out->first = first;
    out->by_time = w.by_time;
    out->frames = count > 0 ? FA_MIN(count, matched - first) : matched - first;
    FaCode rc = compare(&w, out, err);
    tear_down(&w);
    if (rc < 0) fa_compare_free(out);
    return rc;
}

void fa_compare_free(FaCompare *c) {
    fa_free(c->frame_max_mm);
    fa_free(c->frame_mean_mm);
    fa_free(c->frame_p99_mm);
    fa_free(c->frame_intersections_a);
    fa_free(c->frame_intersections_b);
    *c = (FaCompare){.intersections_a = -1, .intersections_b = -1};
}

static void json_list(FaJsonWriter *w, const char *key, const double *v, int n) {
    fai_jw_open(w, key, '[');
    for (int i = 0; i < n; i++) fai_jw_num(w, NULL, v[i]);
    fai_jw_close(w);
}

static void json_count(FaJsonWriter *w, const char *key, int n) {
    if (n < 0)
        fai_jw_raw(w, key, "null", 4);
    else
        fai_jw_int(w, key, n);
}

static void json_counts(FaJsonWriter *w, const char *key, const int *v, int n) {
    if (!v) {
        fai_jw_raw(w, key, "null", 4);
        return;
    }
    fai_jw_open(w, key, '[');
    for (int i = 0; i < n; i++) fai_jw_int(w, NULL, v[i]);
    fai_jw_close(w);
}

FaCode fa_compare_json(const FaCompare *c, char **json, FaError *err) {
    *json = NULL;
    FaText text = {0};
    FaJsonWriter w = {.text = &text};
    fai_jw_open(&w, NULL, '{');
    fai_jw_int(&w, "frames", c->frames);
    fai_jw_int(&w, "vertices", c->vertices);
    fai_jw_num(&w, "max_mm", c->max_mm);
    fai_jw_num(&w, "mean_mm", c->mean_mm);
    fai_jw_num(&w, "p99_mm", c->p99_mm);
    fai_jw_int(&w, "worst_frame", c->worst_frame);
    fai_jw_int(&w, "worst_vertex", c->worst_vertex);
    json_count(&w, "intersections_a", c->intersections_a);
    json_count(&w, "intersections_b", c->intersections_b);
    fai_jw_num(&w, "stretch", c->stretch);
    fai_jw_int(&w, "stretch_frame", c->stretch_frame);
    fai_jw_int(&w, "stretch_vertex", c->stretch_vertex);
    fai_jw_num(&w, "volume_change_a", c->volume_change_a);
    fai_jw_num(&w, "volume_change_b", c->volume_change_b);
    json_list(&w, "frame_max_mm", c->frame_max_mm, c->frames);
    json_list(&w, "frame_mean_mm", c->frame_mean_mm, c->frames);
    json_list(&w, "frame_p99_mm", c->frame_p99_mm, c->frames);
    json_counts(&w, "frame_intersections_a", c->frame_intersections_a, c->frames);
    json_counts(&w, "frame_intersections_b", c->frame_intersections_b, c->frames);
    fai_jw_close(&w);
    if (text.failed) {
        fai_text_free(&text);
        return FA_FAIL_MEMORY(err);
    }
    *json = text.data;
    return FA_OK;
}

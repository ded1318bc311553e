// The quality report of a face, as JSON.
#include "base/text.h"
#include "face/face.h"
#include "face/material.h"
#include "face/tetra.h"
#include "fascia/face.h"
#include "mesh/mesh.h"

#include <math.h>
#include <stdlib.h>

enum { BINS = 10 };

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void write_point(FaJsonWriter *w, const char *key, const double x[3]) {
    fai_jw_open(w, key, '[');
    for (int k = 0; k < 3; k++) fai_jw_float(w, NULL, (float)x[k]);
    fai_jw_close(w);
}

static FaCode write_quality(FaJsonWriter *w, const FaFace *f, FaError *err) {
    float *q = FA_NEW(f->ntet, float);
    if (!q) return FA_FAIL_MEMORY(err);
    int bin[BINS] = {0}, worst = 0;
    double volume = 0;
    for (int t = 0; t < f->ntet; t++) {
        q[t] = (float)fai_tet_quality(f->x0, f->tet + 4 * (size_t)t);
        volume += fai_tet_volume(f->x0, f->tet + 4 * (size_t)t);
        bin[FA_MIN(FA_MAX((int)(q[t] * BINS), 0), BINS - 1)]++;
        if (q[t] < q[worst]) worst = t;
    }
    int at = f->skin_vertex[fai_face_above(f, f->tet[4 * (size_t)worst])];
    qsort(q, (size_t)f->ntet, sizeof *q, compare_floats);
    fai_jw_open(w, "quality", '{');
    fai_jw_str(w, "measure", "mean ratio: 1 regular, 0 flat");
    fai_jw_float(w, "min", q[0]);
    fai_jw_int(w, "min_vertex", at);
    fai_jw_float(w, "p1", q[f->ntet / 100]);
    fai_jw_float(w, "median", q[f->ntet / 2]);
    fai_jw_int(w, "inverted", 0); // fai_face_check refuses such a face
    fai_jw_open(w, "histogram", '[');
    for (int i = 0; i < BINS; i++) fai_jw_int(w, NULL, bin[i]);
    fai_jw_close(w);
    fai_jw_close(w);
    fai_jw_float(w, "volume_cm3", (float)(1e6 * volume));
    fa_free(q);
    return FA_OK;
}

static FaCode write_thickness(FaJsonWriter *w, const FaFace *f, FaError *err) {
    const int n = f->nskin;
    float *t = FA_NEW(n, float);
    if (!t) return FA_FAIL_MEMORY(err);
    fai_jw_open(w, "thickness", '{');
    for (int asked = 0; asked < 2; asked++) {
        memcpy(t, asked ? f->thickness_asked : f->thickness, (size_t)n * sizeof *t);
        qsort(t, (size_t)n, sizeof *t, compare_floats);
        if (asked) fai_jw_open(w, "asked", '{');
        fai_jw_float(w, "min_mm", 1e3f * t[0]);
        fai_jw_float(w, "median_mm", 1e3f * t[n / 2]);
        fai_jw_float(w, "max_mm", 1e3f * t[n - 1]);
        if (asked) fai_jw_close(w);
    }
    fai_jw_close(w);
    fa_free(t);
    return FA_OK;
}

// Name of the region a node is most in, "other" if it is in none.
static const char *region_of(const FaFace *f, int i) {
    int best = -1;
    for (int r = 0; r < FA_REGIONS; r++)
        if (f->region[r][i] > 0.3f && (best < 0 || f->region[r][i] > f->region[best][i])) best = r;
    return best < 0 ? "other" : fai_region_name[best];
}

// Where the flesh is thinner than asked, by region: how many columns, and the worst of them.
static void write_clamped(FaJsonWriter *w, const FaFace *f) {
    int total = 0;
    for (int i = 0; i < f->nskin; i++) total += f->thickness[i] < 0.95f * f->thickness_asked[i];
    fai_jw_open(w, "clamped", '{');
    fai_jw_int(w, "count", total);
    fai_jw_open(w, "where", '[');
    for (int r = 0; r <= FA_REGIONS; r++) {
        const char *name = r < FA_REGIONS ? fai_region_name[r] : "other";
        int count = 0, worst = -1;
        for (int i = 0; i < f->nskin; i++) {
            if (!(f->thickness[i] < 0.95f * f->thickness_asked[i]) || strcmp(region_of(f, i), name) != 0) continue;
            count++;
            if (worst < 0 || f->thickness[i] < f->thickness[worst]) worst = i;
        }
        if (!count) continue;
        double x[3] = {f->x0[3 * (size_t)worst], f->x0[3 * (size_t)worst + 1], f->x0[3 * (size_t)worst + 2]};
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "region", name);
        fai_jw_int(w, "count", count);
        fai_jw_float(w, "least_mm", 1e3f * f->thickness[worst]);
        fai_jw_int(w, "vertex", f->skin_vertex[worst]);
        write_point(w, "at_m", x);
        fai_jw_close(w);
    }
    fai_jw_close(w);
    fai_jw_close(w);
}

static FaCode write_regions(FaJsonWriter *w, const FaFace *f, FaError *err) {
    float *area = FA_NEW(f->nskin, float);
    if (!area) return FA_FAIL_MEMORY(err);
    const FaMesh skin = {.nvert = f->nskin, .ntri = f->ntri, .tri = f->tri, .x = f->x0};
    fai_mesh_areas(&skin, f->x0, area);
    double all = 0, held[2] = {0};
    for (int i = 0; i < f->nskin; i++) {
        all += (double)area[i];
        held[0] += (double)area[i] * (double)f->to_skull[i];
        held[1] += (double)area[i] * (double)f->to_jaw[i];
    }
    fai_jw_float(w, "skin_cm2", (float)(1e4 * all));
    fai_jw_open(w, "attachment", '{');
    fai_jw_float(w, "skull", (float)(held[0] / all));
    fai_jw_float(w, "jaw", (float)(held[1] / all));
    fai_jw_float(w, "free", (float)fmax(0, 1 - (held[0] + held[1]) / all));
    fai_jw_close(w);
    fai_jw_open(w, "regions", '{');
    for (int r = 0; r < FA_REGIONS; r++) {
        int count = 0;
        double sum = 0;
        for (int i = 0; i < f->nskin; i++)
            count += f->region[r][i] > 0.5f, sum += (double)area[i] * (double)f->region[r][i];
        fai_jw_open(w, fai_region_name[r], '{');
        fai_jw_int(w, "nodes", count);
        fai_jw_float(w, "cm2", (float)(1e4 * sum));
        fai_jw_close(w);
    }
    fai_jw_close(w);
    fa_free(area);
    return FA_OK;
}

static void write_jaw(FaJsonWriter *w, const FaJaw *jaw) {
    fai_jw_open(w, "jaw", '{');
    fai_jw_bool(w, "found", jaw->found);
    if (jaw->found) {
        write_point(w, "hinge", jaw->hinge);
        write_point(w, "axis", jaw->axis);
        fai_jw_float(w, "open_angle_deg", (float)(jaw->open_angle * 180 / 3.14159265358979323846));
        const double mm[3] = {1e3 * jaw->open_slide[0], 1e3 * jaw->open_slide[1], 1e3 * jaw->open_slide[2]};
        write_point(w, "open_slide_mm", mm);
        fai_jw_float(w, "residual_mm", (float)(1e3 * jaw->residual));
        fai_jw_int(w, "other_shapes", jaw->nmore);
    }
    fai_jw_close(w);
}

static void write_bones(FaJsonWriter *w, const FaFace *f) {
    fai_jw_open(w, "bones", '[');
    for (int i = 0; i < f->nbone; i++) {
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "name", f->bone[i].name);
        fai_jw_str(w, "kind", fai_bone_kind_name[f->bone[i].kind]);
        fai_jw_str(w, "moves_with", f->bone[i].with_jaw ? "jaw" : "skull");
        fai_jw_bool(w, "closed", f->bone[i].closed);
        fai_jw_int(w, "vertices", f->bone[i].nvert);
        fai_jw_int(w, "triangles", f->bone[i].ntri);
        fai_jw_close(w);
    }
    fai_jw_close(w);
}

static void write_counts(FaJsonWriter *w, const FaFace *f) {
    int rim = 0, riding = 0, passive = 0;
    double mass = 0;
    for (int i = 0; i < f->nskin; i++) rim += f->rim[i];
    for (int v = 0; v < f->nvert; v++) {
        bool rides = f->ride_node[3 * (size_t)v] >= 0;
        riding += rides;
        passive += !rides && f->node_of_vertex[v] < 0;
    }
    for (int i = 0; i < f->nnode; i++) mass += (double)f->mass[i];
    fai_jw_int(w, "vertices", f->nvert);
    fai_jw_int(w, "nodes", f->nnode);
    fai_jw_int(w, "tets", f->ntet);
    fai_jw_int(w, "skin", f->nskin);
    fai_jw_int(w, "triangles", f->ntri);
    fai_jw_str(w, "flesh", fai_face_filled(f) ? "filled" : "layer");
    fai_jw_int(w, "layers", f->layers);
    fai_jw_int(w, "rim", rim);
    fai_jw_int(w, "riding", riding);
    fai_jw_int(w, "passive", passive);
    fai_jw_float(w, "mass_kg", (float)mass);
}

// How many nodes or tets a shape's column has, on average over those that have any; how many do.
static int columns_filled(const FaColumns *c, double *mean) {
    int filled = 0;
    for (int s = 0; s < c->nshape; s++) filled += c->first[s + 1] > c->first[s];
    *mean = filled ? (double)c->first[c->nshape] / filled : 0;
    return filled;
}

static void write_volumes(FaJsonWriter *w, const FaFace *f) {
    const FaVolumesMade *m = &f->volumes_made;
    double mean;
    const int moving = columns_filled(&f->volumes, &mean);
    fai_jw_open(w, "volumes", '{');
    fai_jw_int(w, "shapes", f->volumes.nshape);
    fai_jw_int(w, "moving", moving);
    fai_jw_float(w, "nodes_per_shape", (float)mean);
    if (f->volumes.nshape && m->version) {
        fai_jw_int(w, "inverted", m->inverted);
        fai_jw_int(w, "left_out", m->left_out);
        if (m->folded[0]) fai_jw_str(w, "most_folded", m->folded);
        fai_jw_str(w, "worst", m->worst);
        fai_jw_float(w, "least_stretch", (float)m->least);
        fai_jw_str(w, "swollen", m->swollen);
        fai_jw_float(w, "swollen_volume", (float)m->volume);
    }
    fai_jw_close(w);
}

static void write_materials(FaJsonWriter *w, const FaFace *f) {
    const FaMaterialRange r = fai_materials_range(f);
    double mean;
    const int stiffening = columns_filled(&f->materials, &mean);
    fai_jw_open(w, "materials", '{');
    fai_jw_int(w, "shapes", f->materials.nshape);
    fai_jw_int(w, "changing", stiffening);
    fai_jw_float(w, "tets_per_shape", (float)mean);
    for (int i = 0; i < 2; i++) {
        fai_jw_open(w, i ? "lambda_pa" : "mu_pa", '[');
        for (int k = 0; k < 2; k++) fai_jw_float(w, NULL, (float)(i ? r.lambda[k] : r.mu[k]));
        fai_jw_close(w);
    }
    fai_jw_close(w);
}

static void write_stiffness(FaJsonWriter *w, const FaFace *f) {
    const FaStiffMade *m = &f->stiff_made;
    if (!f->stiff_anchor) return;
    fai_jw_open(w, "equilibrium", '{');
    fai_jw_int(w, "shapes", m->nshape);
    if (m->nshape > 0) {
        fai_jw_int(w, "iterations", m->iterations);
        fai_jw_float(w, "before_mm", m->before);
        fai_jw_float(w, "uniform_mm", m->uniform);
        fai_jw_float(w, "after_mm", m->after);
        fai_jw_open(w, "mean_stiffness", '{');
        for (int q = 0; q < 3; q++) fai_jw_float(w, q == 0 ? "anchors" : q == 1 ? "edges" : "bending", m->mean[q]);
        fai_jw_close(w);
    }
    fai_jw_close(w);
}

FaCode fa_face_report(const FaFace *face, char **json, FaError *err) {
    FaText text = {0};
    FaJsonWriter w = {.text = &text};
    *json = NULL;
    fai_jw_open(&w, NULL, '{');
    write_counts(&w, face);
    FaCode rc = write_quality(&w, face, err);
    if (rc >= 0) rc = write_thickness(&w, face, err);
    if (rc >= 0) rc = write_regions(&w, face, err);
    write_clamped(&w, face);
    write_jaw(&w, &face->jaw);
    write_bones(&w, face);
    write_volumes(&w, face);
    write_materials(&w, face);
    write_stiffness(&w, face);
    fai_jw_notes(&w, "warnings", &face->notes);
    fai_jw_close(&w);
    if (rc >= 0 && text.failed) rc = FA_FAIL_MEMORY(err);
    if (rc < 0)
        fai_text_free(&text);
    else
        *json = text.data;
    return rc;
}

// --- for people -----------------------------------------------------------------------------------------------------

// One decimal is enough for people; ours, since printf's would follow the locale.
static void put_tenths(FaText *t, double v) {
    long long tenths = llround(fabs(v) * 10);
    fai_text_printf(t, "%s%lld.%lld", v < 0 ? "-" : "", tenths / 10, tenths % 10);
}

static void put_line(FaText *t, const char *head) { fai_text_printf(t, "%s  %-10s ", t->size ? "\n" : "", head); }

static void put_quality(FaText *t, const FaFace *f, float *q) {
    for (int i = 0; i < f->ntet; i++) q[i] = (float)fai_tet_quality(f->x0, f->tet + 4 * (size_t)i);
    qsort(q, (size_t)f->ntet, sizeof *q, compare_floats);
    put_line(t, "quality");
    fai_text_printf(t,
                    "of the pieces of flesh: worst 0.%03d, typical 0.%03d (1 is perfect, 0 is flat); none inside out",
                    (int)(1000 * q[0]), (int)(1000 * q[f->ntet / 2]));
}

static void put_thickness(FaText *t, const FaFace *f, float *q) {
    int clamped = 0;
    memcpy(q, f->thickness, (size_t)f->nskin * sizeof *q);
    qsort(q, (size_t)f->nskin, sizeof *q, compare_floats);
    for (int i = 0; i < f->nskin; i++) clamped += f->thickness[i] < 0.95f * f->thickness_asked[i];
    put_line(t, "thickness");
    put_tenths(t, 1e3 * (double)q[0]);
    fai_text_str(t, " to ");
    put_tenths(t, 1e3 * (double)q[f->nskin - 1]);
    fai_text_str(t, " mm, typical ");
    put_tenths(t, 1e3 * (double)q[f->nskin / 2]);
    if (!fai_face_filled(f)) fai_text_printf(t, "; thinner than asked at %d of %d points", clamped, f->nskin);
}

static void put_made(FaText *t, const FaFace *f) {
    const FaVolumesMade *m = &f->volumes_made;
    const FaMaterialRange r = fai_materials_range(f);
    double mean;
    if (f->volumes.nshape) {
        put_line(t, "volumes");
        fai_text_printf(t, "the flesh of %d shapes", columns_filled(&f->volumes, &mean));
        if (m->version) {
            fai_text_printf(t, "; %d pieces inside out, %d %s left out%s%s; most squeezed: %s, to ", m->inverted,
                            m->left_out, fai_face_filled(f) ? "pieces" : "triangles", m->folded[0] ? ", most in " : "",
                            m->folded, m->worst);
            put_tenths(t, 100 * m->least);
            fai_text_printf(t, " %%; volume changes most in %s, by ", m->swollen);
            put_tenths(t, 100 * (m->volume - 1));
            fai_text_str(t, " %");
        }
    }
    if (f->mu0) {
        put_line(t, "materials");
        fai_text_printf(t, "stiffness mu %.0f to %.0f Pa, lambda %.0f to %.0f Pa; %d shapes change it", r.mu[0],
                        r.mu[1], r.lambda[0], r.lambda[1], columns_filled(&f->materials, &mean));
    }
}

// Micrometres, whole, so that no decimal point is needed.
static void put_stiffness(FaText *t, const FaFace *f) {
    const FaStiffMade *m = &f->stiff_made;
    if (!f->stiff_anchor) return;
    put_line(t, "stiffness");
    if (m->nshape > 0 && m->after > 0) {
        fai_text_printf(
            t, "full shapes (%d) come to rest %lld um off, with the usual stiffness %lld; %d iterations; edges ",
            m->nshape, llround(1e3 * (double)m->after), llround(1e3 * (double)m->before), m->iterations);
        put_tenths(t, (double)m->mean[1]);
        fai_text_str(t, ", bending ");
        put_tenths(t, (double)m->mean[2]);
        fai_text_str(t, " of the usual on average");
    } else
        fai_text_str(t, "optimised (--equilibrium); what it is worth was not measured");
}

FaCode fa_face_summary(const FaFace *f, char **text, FaError *err) {
    FaText t = {0};
    double mass = 0;
    *text = NULL;
    float *q = FA_NEW(FA_MAX(f->ntet, f->nskin), float);
    if (!q) return FA_FAIL_MEMORY(err);
    for (int i = 0; i < f->nnode; i++) mass += (double)f->mass[i];
    put_line(&t, "flesh");
    fai_text_printf(&t, "%d points (%d of the skin), %d pieces, ", f->nnode, f->nskin, f->ntet);
    if (fai_face_filled(f))
        fai_text_str(&t, "filled");
    else
        fai_text_printf(&t, "%d layer%s", f->layers, f->layers == 1 ? "" : "s");
    fai_text_printf(&t, ", %d g", (int)(1000 * mass + 0.5));
    put_quality(&t, f, q);
    put_thickness(&t, f, q);
    put_line(&t, "jaw");
    if (f->jaw.found) {
        fai_text_str(&t, "opens ");
        put_tenths(&t, f->jaw.open_angle * 180 / 3.14159265358979323846);
        int hundredths = (int)FA_MIN(99999, llround(1e5 * f->jaw.residual));
        fai_text_printf(&t, " degrees; its shape bends it by %d.%02d mm", hundredths / 100, hundredths % 100);
        if (f->jaw.nmore) fai_text_printf(&t, "; other shapes that move it: %d", f->jaw.nmore);
    } else
        fai_text_str(&t, "none found");
    put_line(&t, "bones");
    for (int i = 0; i < f->nbone; i++) fai_text_printf(&t, "%s%s", i ? ", " : "", f->bone[i].name);
    if (f->nbone == 0) fai_text_str(&t, "none: the deepest layer of flesh takes their place");
    put_made(&t, f);
    put_stiffness(&t, f);
    put_line(&t, "regions");
    for (int r = 0; r < FA_REGIONS; r++) {
        int n = 0;
        for (int i = 0; i < f->nskin; i++) n += f->region[r][i] > 0.5f;
        fai_text_printf(&t, "%s%s %d", r ? ", " : "", fai_region_name[r], n);
    }
    for (int i = 0; i < f->notes.count; i++) {
        const FaNote *n = &f->notes.note[i];
        fai_text_printf(&t, "\n  - %s%s%s%s [%s]", n->text, n->where[0] ? " (" : "", n->where, n->where[0] ? ")" : "",
                        n->code);
        if (n->remedy[0]) fai_text_printf(&t, "\n    -> %s", n->remedy);
    }
    fa_free(q);
    if (t.failed) {
        fai_text_free(&t);
        return FA_FAIL_MEMORY(err);
    }
    *text = t.data;
    return FA_OK;
}

// --- regions ------------------------------------------------------------------------------------------------------

int fa_face_regions(void) { return FA_REGIONS; }

const char *fa_face_region_name(int region) {
    FA_ASSERT(region >= 0 && region < FA_REGIONS);
    return fai_region_name[region];
}

void fa_face_region(const FaFace *f, int region, float *weight) {
    FA_ASSERT(region >= 0 && region < FA_REGIONS);
    for (int v = 0; v < f->nvert; v++) {
        int node = f->node_of_vertex[v];
        const int *ride = f->ride_node + 3 * (size_t)v;
        weight[v] = node >= 0 ? f->region[region][node] : 0;
        for (size_t k = 0; node < 0 && ride[0] >= 0 && k < 3; k++)
            weight[v] += f->ride_weight[3 * (size_t)v + k] * f->region[region][ride[k]];
    }
}

// The doctor's report: JSON for programs, a page of text for a terminal.
#include "base/number.h"
#include "base/text.h"
#include "rig/doctor.h"

#include <math.h>

// --- JSON ---------------------------------------------------------------------------------------------------------

static void json_meshes(FaJsonWriter *w, const FaInfo *info) {
    fai_jw_open(w, "meshes", '[');
    for (int i = 0; i < info->nmesh; i++) {
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "name", info->mesh[i].name);
        fai_jw_int(w, "vertices", info->mesh[i].vertices);
        fai_jw_int(w, "shapes", info->mesh[i].shapes);
        fai_jw_bool(w, "taken", info->mesh[i].taken);
        fai_jw_close(w);
    }
    fai_jw_close(w);
}

static void json_shapes(FaJsonWriter *w, const FaInfo *info) {
    fai_jw_open(w, "shapes", '[');
    for (int i = 0; i < info->nshape; i++) {
        const FaShapeInfo *s = &info->shape[i];
        fai_jw_open(w, NULL, '{');
        fai_jw_str(w, "name", s->name);
        fai_jw_str(w, "arkit", s->arkit);
        fai_jw_str(w, "half", s->half > 0 ? "left" : s->half < 0 ? "right" : NULL);
        fai_jw_num(w, "max_mm", s->max_mm);
        fai_jw_int(w, "nonzero", s->nonzero);
        fai_jw_num(w, "locality_mm", s->locality_mm);
        fai_jw_num(w, "symmetry_mm", s->symmetry_mm < 0 ? NAN : s->symmetry_mm);
        fai_jw_num(w, "used_min", s->used_min);
        fai_jw_num(w, "used_max", s->used_max);
        fai_jw_close(w);
    }
    fai_jw_close(w);
}

FaCode fa_info_json(const FaInfo *info, char **json, FaError *err) {
    *json = NULL;
    FaText text = {0};
    FaJsonWriter writer = {.text = &text, .pretty = true}, *w = &writer;
    fai_jw_open(w, NULL, '{');
    fai_jw_str(w, "kind", info->kind);
    fai_jw_int(w, "vertices", info->vertices);
    fai_jw_int(w, "triangles", info->triangles);
    fai_jw_int(w, "polygons", info->polygons);
    fai_jw_int(w, "quads", info->quads);
    fai_jw_int(w, "components", info->components);
    fai_jw_int(w, "boundary_edges", info->boundary_edges);
    fai_jw_int(w, "nonmanifold_edges", info->nonmanifold_edges);
    fai_jw_int(w, "coincident_vertices", info->coincident_vertices);
    if (info->intersections < 0)
        fai_jw_raw(w, "intersections", "null", 4);
    else
        fai_jw_int(w, "intersections", info->intersections);
    fai_jw_str(w, "unit", info->unit_name);
    fai_jw_num(w, "unit_m", info->unit);
    fai_jw_str(w, "up", info->up);
    fai_jw_str(w, "front", info->front);
    fai_jw_num(w, "height_m", info->height_m);
    fai_jw_num(w, "width_m", info->width_m);
    fai_jw_num(w, "depth_m", info->depth_m);
    fai_jw_num(w, "head_m", info->head_m);
    fai_jw_int(w, "frames", info->frames);
    fai_jw_num(w, "fps", info->fps);
    fai_jw_num(w, "seconds", info->seconds);
    fai_jw_int(w, "channels", info->channels);
    fai_jw_bool(w, "head_motion", info->head_motion);
    fai_jw_int(w, "matched", info->matched);
    fai_jw_int(w, "arkit_covered", info->arkit_covered);
    json_shapes(w, info);
    json_meshes(w, info);
    fai_jw_notes(w, "warnings", &info->notes);
    fai_jw_close(w);
    if (text.failed) {
        fai_text_free(&text);
        return FA_FAIL_MEMORY(err);
    }
    *json = text.data;
    return FA_OK;
}

// --- text ---------------------------------------------------------------------------------------------------------

enum { WIDTH = 96, LABEL = 13, NAME = 26, FIGURES = 54, RANGE = 13, MOST_MESHES = 12 };

// A number with thousands apart and a fixed number of decimals, the same in every locale.
typedef struct Shown {
    char text[80];
} Shown;

static Shown shown(double v, int decimals) {
    Shown s = {""};
    double unit = pow(10, decimals);
    if (!isfinite(v) || fabs(v) >= 1e12) {
        char wide[FA_NUMBER_SIZE];
        fai_format_double(wide, v);
        snprintf(s.text, sizeof s.text, "%s", wide);
        return s;
    }
    int64_t n = llround(fabs(v) * unit), whole = n / (int64_t)unit, part = n % (int64_t)unit;
    char digits[24], grouped[32];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)whole), at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) grouped[at++] = ',';
        grouped[at++] = digits[i];
    }
    grouped[at] = 0;
    const char *sign = v < 0 && n ? "-" : "";
    if (decimals)
        snprintf(s.text, sizeof s.text, "%s%s.%0*lld", sign, grouped, decimals, (long long)part);
    else
        snprintf(s.text, sizeof s.text, "%s%s", sign, grouped);
    return s;
}
#define SHOW(v, decimals) (shown((double)(v), (decimals)).text)

// Letters of a UTF-8 text, so that columns line up for names in any alphabet.
static int letters(const char *s) {
    int n = 0;
    for (; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

static void pad(FaText *t, int n) {
    for (; n > 0; n--) fai_text_str(t, " ");
}

// A name cut or padded to a column; control characters do not reach the terminal.
static void column(FaText *t, const char *s, int width) {
    int n = 0, total = letters(s);
    for (; *s; s++) {
        bool begins = ((unsigned char)*s & 0xC0) != 0x80;
        if (begins && total > width && n == width - 2) {
            fai_text_str(t, "..");
            n += 2;
            break;
        }
        n += begins;
        char c = (unsigned char)*s < 32 || *s == 127 ? '?' : *s;
        fai_text_bytes(t, &c, 1);
    }
    pad(t, width - n);
}

static void right(FaText *t, const char *s, int width) {
    pad(t, width - letters(s));
    fai_text_str(t, s);
}

static void label(FaText *t, const char *s) {
    fai_text_str(t, "  ");
    column(t, s, LABEL - 2);
}

// Words wrapped to the page, from column `indent` on; the first line stands at `at` already.
static void wrapped(FaText *t, const char *s, int at, int indent) {
    bool first = true;
    while (*s) {
        size_t n = strcspn(s, " ");
        char word[200];
        snprintf(word, sizeof word, "%.*s", (int)FA_MIN(n, sizeof word - 1), s);
        int wide = letters(word);
        if (!first && at + 1 + wide > WIDTH) {
            fai_text_str(t, "\n");
            pad(t, indent);
            at = indent;
            first = true;
        }
        if (!first) fai_text_str(t, " ");
        column(t, word, wide);
        at += wide + !first;
        first = false;
        s += n;
        while (*s == ' ') s++;
    }
    fai_text_str(t, "\n");
}

// "none" instead of zero, plural instead of one.
static void counted(FaText *t, int n, const char *one, const char *many, const char *end) {
    if (n)
        fai_text_printf(t, "%s %s%s", SHOW(n, 0), n == 1 ? one : many, end);
    else
        fai_text_printf(t, "no %s%s", many, end);
}

static void text_mesh(FaText *t, const FaInfo *info) {
    label(t, "mesh");
    counted(t, info->vertices, "vertex", "vertices", ", ");
    counted(t, info->polygons, "polygon", "polygons", "");
    if (info->quads) fai_text_printf(t, " (%s quads)", SHOW(info->quads, 0));
    fai_text_str(t, ", ");
    counted(t, info->triangles, "triangle", "triangles", "\n");
    label(t, "topology");
    counted(t, info->components, "component", "components", ", ");
    counted(t, info->boundary_edges, "boundary edge", "boundary edges", ", ");
    counted(t, info->nonmanifold_edges, "non-manifold edge", "non-manifold edges", "\n");
    if (info->intersections >= 0) {
        label(t, "crossings");
        counted(t, info->intersections, "pair of crossing triangles", "pairs of crossing triangles", "\n");
    }
    label(t, "size");
    fai_text_printf(t, "%s m high, ", SHOW(info->height_m, 3));
    fai_text_printf(t, "%s wide, ", SHOW(info->width_m, 3));
    fai_text_printf(t, "%s deep", SHOW(info->depth_m, 3));
    if (info->head_m > 0 && info->height_m > 1.5 * info->head_m)
        fai_text_printf(t, "; the head on it %s m high", SHOW(info->head_m, 3));
    fai_text_str(t, "\n");
    label(t, "file");
    fai_text_printf(t, "in %s, %s up, %s front\n", info->unit_name, info->up, info->front);
}

// Which meshes there are, by the numbers and names that --mesh takes. The one that is alone needs no list.
static void text_meshes(FaText *t, const FaInfo *info) {
    for (int i = 0; i < info->nmesh && info->nmesh > 1; i++) {
        const FaFileMesh *m = &info->mesh[i];
        if (i >= MOST_MESHES && !m->taken) continue;
        label(t, i ? "" : "meshes");
        char number[16];
        snprintf(number, sizeof number, "%d", i);
        right(t, number, 2);
        fai_text_str(t, " ");
        column(t, m->name, NAME);
        fai_text_str(t, " ");
        right(t, SHOW(m->vertices, 0), 8);
        fai_text_str(t, " vertices ");
        right(t, SHOW(m->shapes, 0), 4);
        fai_text_printf(t, " shapes%s\n", m->taken ? ", taken" : "");
    }
    if (info->nmesh > MOST_MESHES) {
        label(t, "");
        fai_text_printf(t, "(%d in all)\n", info->nmesh);
    }
}

static void text_animation(FaText *t, const FaInfo *info) {
    label(t, "animation");
    if (!info->frames) {
        fai_text_str(t, "none\n");
        return;
    }
    counted(t, info->frames, "frame", "frames", "");
    if (info->fps > 0) {
        fai_text_printf(t, " at %s fps", SHOW(info->fps, fabs(info->fps - round(info->fps)) < 5e-4 ? 0 : 3));
        fai_text_printf(t, ", %s s", SHOW(info->seconds, 2));
    }
    if (strcmp(info->kind, "cache")) fai_text_str(t, info->head_motion ? ", head moves" : ", head is still");
    fai_text_str(t, "\n");
}

static bool remarkable(const FaInfo *info, const FaShapeInfo *s) {
    if (s->used_min < 0 || s->used_max > 1) return true;
    if (!strcmp(info->kind, "clip")) return !s->arkit;
    return !s->arkit || s->max_mm < FA_FAINT_MM || fai_shape_asymmetric(s) ||
           s->max_mm > 1e3 * FA_HUGE_SHARE * info->height_m;
}

static void text_shape(FaText *t, const FaInfo *info, const FaShapeInfo *s, int width, bool clip) {
    fai_text_str(t, "  ");
    column(t, s->name, width - 1);
    fai_text_str(t, " ");
    char arkit[64];
    snprintf(arkit, sizeof arkit, "%s%s", s->arkit ? s->arkit : "-",
             s->half > 0   ? " (left)"
             : s->half < 0 ? " (right)"
                           : "");
    column(t, arkit, 21);
    if (!clip) {
        right(t, SHOW(s->max_mm, 1), 7);
        right(t, SHOW(s->locality_mm, 0), 7);
        right(t, s->symmetry_mm < 0 ? "-" : SHOW(s->symmetry_mm, 1), 7);
        right(t, SHOW(s->nonzero, 0), 10);
    } else {
        right(t, SHOW(s->nonzero, 0), 10);
    }
    if (info->frames) {
        right(t, SHOW(s->used_min, 2), 7);
        right(t, SHOW(s->used_max, 2), 6);
    }
    fai_text_str(t, "\n");
}

static void text_shapes(FaText *t, const FaInfo *info, bool all) {
    bool clip = !strcmp(info->kind, "clip");
    int listed = 0, width = NAME, most = WIDTH - FIGURES - (info->frames ? RANGE : 0);
    for (int i = 0; i < info->nshape; i++) {
        if (!all && !remarkable(info, &info->shape[i])) continue;
        listed++;
        width = FA_MAX(width, FA_MIN(letters(info->shape[i].name) + 1, most));
    }
    if (!listed) return;
    fai_text_str(t, "\n  ");
    column(t, clip ? "channel" : "shape", width);
    column(t, "ARKit", 21);
    fai_text_str(t, clip ? "    frames" : " max mm  reach uneven  vertices");
    if (info->frames) fai_text_str(t, "    min   max");
    fai_text_str(t, "\n");
    for (int i = 0; i < info->nshape; i++)
        if (all || remarkable(info, &info->shape[i])) text_shape(t, info, &info->shape[i], width, clip);
    if (listed < info->nshape) fai_text_printf(t, "  (%d more are as they should be)\n", info->nshape - listed);
    if (!clip)
        fai_text_str(
            t, "  reach: 90 % of the motion is within so many mm of its peak; uneven: mm from its mirrored partner\n");
}

static void text_notes(FaText *t, const FaNotes *notes) {
    if (!notes->count) {
        fai_text_str(t, "\n  Nothing odd was found.\n");
        return;
    }
    fai_text_printf(t, "\n  %d thing%s to know:\n", notes->count, notes->count == 1 ? "" : "s");
    for (int i = 0; i < notes->count; i++) {
        const FaNote *n = &notes->note[i];
        int indent = 4;
        fai_text_str(t, "  - ");
        FaText line = {0};
        fai_text_str(&line, n->text);
        if (n->where[0]) fai_text_printf(&line, " (%s)", n->where);
        fai_text_printf(&line, "  [%s]", n->code);
        t->failed |= line.failed;
        if (line.data) wrapped(t, line.data, indent, indent);
        fai_text_free(&line);
        if (n->remedy[0]) {
            fai_text_str(t, "    -> ");
            wrapped(t, n->remedy, 7, 7);
        }
    }
}

FaCode fa_info_text(const FaInfo *info, bool all_shapes, char **text, FaError *err) {
    *text = NULL;
    FaText out = {0}, *t = &out;
    bool clip = !strcmp(info->kind, "clip"), rig = !strcmp(info->kind, "rig");
    fai_text_printf(t, "%s\n", rig ? "Rig" : clip ? "Clip" : "Vertex cache");
    if (rig) {
        text_mesh(t, info);
        text_meshes(t, info);
    } else if (!clip) {
        label(t, "mesh");
        counted(t, info->vertices, "vertex", "vertices", "\n");
        label(t, "size");
        fai_text_printf(t, "%s m high in frame 0\n", SHOW(info->height_m, 3));
    }
    if (rig || clip) {
        label(t, clip ? "channels" : "shapes");
        if (info->nshape)
            fai_text_printf(t, "%s, of which %s match ARKit; %d of its 52 are covered\n", SHOW(info->nshape, 0),
                            SHOW(info->matched, 0), info->arkit_covered);
        else
            fai_text_str(t, "none\n");
    }
    text_animation(t, info);
    text_shapes(t, info, all_shapes);
    text_notes(t, &info->notes);
    if (out.failed) {
        fai_text_free(&out);
        return FA_FAIL_MEMORY(err);
    }
    *text = out.data;
    return FA_OK;
}

#include "muscle_goal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *goal_name(const Goal *g) { return g->weights_text ? g->weights_text : g->to ? g->to : g->markers; }

// --- meshes -------------------------------------------------------------------------------------------------------

// A mesh of other vertices.
static FaCode read_scan(Goal *g, const FaRig *rig, FaMuscleModel *model, FaError *err) {
    FaRigOptions how = {.unit = g->to_unit, .any_size = true, .one_mesh = true};
    FaRig *scan;
    TRY(fa_rig_load(g->to, &how, &scan, err));
    g->known = calloc((size_t)rig->mesh.nvert, 1);
    FaCode rc = g->known ? FA_OK : cli_no_memory(err);
    if (rc >= 0) rc = fa_muscle_goal_scan(model, &scan->mesh, g->x, g->known, g->weights, &g->scan, err);
    if (rc < 0 && !err->path[0]) snprintf(err->path, sizeof err->path, "%s", g->to);
    g->scanned = rc >= 0;
    fa_rig_free(scan);
    return rc;
}

static FaCode read_mesh(Goal *g, const FaRig *rig, FaMuscleModel *model, FaError *err) {
    FaSequence *seq = NULL;
    TRY(open_frames(g->to, rig, &seq, err));
    const int n = fa_sequence_nvert(seq);
    const bool cache = fa_file_kind(g->to) == FA_KIND_CACHE;
    FaCode rc = FA_OK;
    if (n == rig->mesh.nvert && g->to_unit > 0)
        rc = cli_wrong(err, "--to-unit does nothing with the rig's own vertices: leave it out");
    else if (n == rig->mesh.nvert)
        rc = fa_sequence_read(seq, 0, g->x, err);
    fa_sequence_close(seq);
    if (rc < 0 || n == rig->mesh.nvert) {
        free(g->weights); // they are not known
        g->weights = NULL;
        return rc;
    }
    if (cache)
        return cli_wrong(err, "%s has %d points and no triangles, the rig %d: give a mesh (.obj, .glb, .stl)", g->to, n,
                         rig->mesh.nvert);
    return read_scan(g, rig, model, err);
}

// --- markers ------------------------------------------------------------------------------------------------------

static FaCode read_markers(Goal *g, const FaRig *rig, FaMuscleModel *model, FaError *err) {
    FaMarkerOptions how = load_marker_options();
    FaMapOptions options = fa_map_options_default();
    FaMarkerTake *take = NULL;
    FaMarkerMap *map = NULL;
    options.file = g->map;
    options.frame = g->neutral;
    g->known = calloc((size_t)rig->mesh.nvert, 1);
    free(g->weights);
    g->weights = NULL;
    FaCode rc = g->known ? fa_markers_load(g->markers, &how, &take, err) : cli_no_memory(err);
    if (rc >= 0) rc = fa_marker_map_new(take, rig, &options, &map, err);
    if (rc >= 0) rc = fa_muscle_goal_markers(model, take, map, g->frame, g->x, g->known, &g->used, err);
    if (rc < 0 && !err->path[0]) snprintf(err->path, sizeof err->path, "%s", g->markers);
    fa_marker_map_free(map);
    fa_markers_free(take);
    return rc;
}

// --- landmarks ----------------------------------------------------------------------------------------------------

// A file as `fascia markers` makes it: the nearest vertex of each point.
static FaCode landmarks_of_map(Goal *g, const FaRig *rig, FaError *err) {
    FaMarkerMap *map;
    TRY(fa_marker_map_load(g->landmarks, rig, &map, err));
    g->landmark = malloc(((size_t)map->count + 1) * sizeof *g->landmark);
    for (int i = 0; g->landmark && i < map->count; i++) {
        const FaMarkerPoint *p = &map->point[i];
        int best = 0;
        for (int k = 1; k < 3; k++)
            if (p->bary[k] > p->bary[best]) best = k;
        if (p->vert[0] >= 0) g->landmark[g->nlandmark++] = p->vert[best];
    }
    fa_marker_map_free(map);
    return g->landmark ? FA_OK : cli_no_memory(err);
}

// "v12,v88" or "12,88", or a file.
static FaCode read_landmarks(Goal *g, const FaRig *rig, FaError *err) {
    int n = 0;
    if (!g->landmarks) return FA_OK;
    if (path_has_ext(g->landmarks, "json")) return landmarks_of_map(g, rig, err);
    char **list = split_list(g->landmarks, &n);
    g->landmark = malloc(((size_t)n + 1) * sizeof *g->landmark);
    FaCode rc = list && g->landmark ? FA_OK : cli_no_memory(err);
    for (int i = 0; rc >= 0 && i < n; i++) {
        char *end;
        const char *from = list[i] + (list[i][0] == 'v');
        const long v = strtol(from, &end, 10);
        if (end == from || *end || v < 0 || v >= rig->mesh.nvert)
            rc = cli_wrong(err, "--landmarks: '%s' is no vertex of the rig: give v12,v88,... (0 to %d) or a .json map",
                           list[i], rig->mesh.nvert - 1);
        else
            g->landmark[g->nlandmark++] = (int)v;
    }
    free(list);
    return rc;
}

// --- all of it ----------------------------------------------------------------------------------------------------

FaCode goal_read(Goal *g, const FaRig *rig, FaMuscleModel *model, FaError *err) {
    g->x = malloc(3 * (size_t)rig->mesh.nvert * sizeof *g->x);
    g->weights = calloc((size_t)rig->nshape + 1, sizeof *g->weights);
    if (!g->x || !g->weights) return cli_no_memory(err);
    TRY(read_landmarks(g, rig, err));
    if (g->to) return read_mesh(g, rig, model, err);
    if (g->markers) return read_markers(g, rig, model, err);
    TRY(job_weights(rig, g->weights_text, g->weights, err));
    fa_rig_blend(rig, g->weights, g->x);
    return FA_OK;
}

void goal_say(const Goal *g) {
    if (g->scanned)
        cli_say("scan: turned by %.1f degrees and moved by %.1f mm onto the face; %.2f mm rms from it, "
                "%.0f %% of the face without counterpart (%.2f mm in its own shapes; size %.3f)",
                g->scan.turn, 1e3 * g->scan.move, 1e3 * g->scan.residual, 100 * g->scan.without, 1e3 * g->scan.shapes,
                g->scan.scale);
    if (g->scanned && g->scan.without > 0.15)
        cli_say("warning: %.0f %% of the face has no counterpart on the scan: there the flesh decides",
                100 * g->scan.without);
    if (g->markers) cli_say("goal: %d markers of frame %d", g->used, g->frame);
}

void goal_json(const Goal *g, FaJsonWriter *w) {
    if (g->markers) fa_json_int(w, "markers", g->used);
    if (g->nlandmark) fa_json_int(w, "landmarks", g->nlandmark);
    if (!g->scanned) return;
    fa_json_begin(w, "scan", '{');
    fa_json_number(w, "residual_mm", 1e3 * g->scan.residual);
    fa_json_number(w, "without", g->scan.without);
    fa_json_number(w, "shapes_mm", 1e3 * g->scan.shapes);
    fa_json_number(w, "scale", g->scan.scale);
    fa_json_number(w, "turn", g->scan.turn);
    fa_json_number(w, "move_mm", 1e3 * g->scan.move);
    fa_json_end(w);
}

void goal_free(Goal *g) {
    free(g->x);
    free(g->weights);
    free(g->known);
    free(g->landmark);
}

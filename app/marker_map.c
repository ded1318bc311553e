#include "marker_map.h"

#include <string.h>

// The mapped marker furthest from the surface; -1: none is off it.
static int worst_of(const FaMarkerMap *map) {
    int worst = -1;
    for (int i = 0; i < map->count; i++)
        if (map->point[i].vert[0] >= 0 && map->distance[i] > 0 &&
            (worst < 0 || map->distance[i] > map->distance[worst]))
            worst = i;
    return worst;
}

void say_map(const FaMarkerMap *map) {
    int worst = worst_of(map);
    char how[200] = "";
    if (worst >= 0)
        snprintf(how, sizeof how, "; found by nearness: %.2f mm rms off the surface, the worst %.2f mm ('%.60s')",
                 1e3 * map->rms, 1e3 * (double)map->distance[worst], map->name[worst]);
    cli_say("%d of %d markers have a place on the face%s", map->mapped, map->count, how);
}

void json_map(const FaMarkerMap *map, const char *key, FaJsonWriter *w) {
    int worst = worst_of(map);
    fa_json_begin(w, key, '{');
    fa_json_int(w, "count", map->count);
    fa_json_int(w, "mapped", map->mapped);
    fa_json_int(w, "neutral_frame", map->frame);
    fa_json_number(w, "rms_mm", 1e3 * map->rms);
    fa_json_number(w, "worst_mm", worst >= 0 ? 1e3 * (double)map->distance[worst] : 0);
    fa_json_text(w, "worst", worst >= 0 ? map->name[worst] : NULL);
    fa_json_end(w);
}

// --- a picture ----------------------------------------------------------------------------------------------------

static FaCode read_neutral(void *user, int frame, float *x, FaError *err) {
    const FaRig *rig = user;
    (void)frame, (void)err;
    memcpy(x, rig->mesh.x, 3 * (size_t)rig->mesh.nvert * sizeof *x);
    return FA_OK;
}

static void turn(const FaPose *pose, const float x[3], float out[3]) {
    const double *q = pose->q;
    double v[3] = {(double)x[0], (double)x[1], (double)x[2]}, t[3], u[3];
    for (int k = 0; k < 3; k++) t[k] = 2 * (q[(k + 1) % 3] * v[(k + 2) % 3] - q[(k + 2) % 3] * v[(k + 1) % 3]);
    for (int k = 0; k < 3; k++) u[k] = q[(k + 1) % 3] * t[(k + 2) % 3] - q[(k + 2) % 3] * t[(k + 1) % 3];
    for (int k = 0; k < 3; k++) out[k] = (float)(v[k] + q[3] * t[k] + u[k] + pose->p[k]);
}

// One frame of markers: where the take's are at the neutral frame, else the map's points.
static FaCode place_markers(const FaRig *rig, const FaMarkerMap *map, const FaMarkerTake *take, FaMarkerTake **shown,
                            FaError *err) {
    TRY(fa_markers_new(1, map->count, map->name, 30, shown, err));
    for (int i = 0; i < map->count; i++) {
        double x[3];
        float *to = (*shown)->x + 3 * (size_t)i;
        size_t at = take && map->frame >= 0 ? (size_t)map->frame * (size_t)take->nmarker + (size_t)i : 0;
        bool seen = take && map->frame >= 0 && take->nmarker == map->count && take->ok[at];
        if (!seen && map->point[i].vert[0] < 0) continue;
        (*shown)->ok[i] = 1;
        if (seen) {
            turn(&map->rig_from_take, take->x + 3 * at, to);
            continue;
        }
        fa_marker_point_at(&map->point[i], rig->mesh.x, true, x);
        for (int k = 0; k < 3; k++) to[k] = (float)x[k];
    }
    return FA_OK;
}

FaCode draw_map(const FaRig *rig, const FaMarkerMap *map, const FaMarkerTake *take, const char *path, FaError *err) {
    FaMarkerTake *shown = NULL;
    FaSequence *seq = NULL;
    FaCode rc = place_markers(rig, map, take, &shown, err);
    if (rc >= 0) rc = fa_sequence_custom(rig->mesh.nvert, 1, 30, read_neutral, (void *)rig, &seq, err);
    FaRenderJob job = fa_render_job();
    job.picture = FA_PICTURE_VIEWS;
    job.rig = rig;
    job.look.width = job.look.height = 640;
    job.columns = 2;
    job.markers = shown;
    job.marker_map = map;
    job.generator = "fascia " FA_VERSION_TEXT " markers";
    if (rc >= 0) rc = fa_render_file(seq, &job, path, err);
    fa_sequence_close(seq);
    fa_markers_free(shown);
    return rc;
}

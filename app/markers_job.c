#include "markers_job.h"

#include "fascia/render.h"

#include <math.h>
#include <string.h>

FaMarkerOptions load_marker_options(void) {
    return (FaMarkerOptions){.unit = (FaUnit)common.unit, .fps = common.fps, .any_size = load_options.any_size};
}

void say_notes(const char *of, const FaNotes *notes) {
    for (int i = 0; i < notes->count; i++) {
        const FaNote *n = &notes->note[i];
        cli_say("note: %s%s%s%s%s%s", of, *of ? ": " : "", n->text, n->remedy[0] ? " (" : "", n->remedy,
                n->remedy[0] ? ")" : "");
    }
}

void print_notes(const FaNotes *const *notes, int n) {
    int shown = 0;
    printf("[");
    for (int k = 0; k < n; k++)
        for (int i = 0; notes[k] && i < notes[k]->count; i++) {
            const FaNote *note = &notes[k]->note[i];
            printf("%s{\"code\":", shown++ ? "," : "");
            cli_json_string(note->code);
            printf(",\"text\":");
            cli_json_string(note->text);
            printf(",\"where\":");
            cli_json_string(note->where);
            printf("}");
        }
    printf("]");
}

void print_number(double value) {
    if (isfinite(value))
        printf("%.9g", value);
    else
        printf("null");
}

int map_worst(const FaMarkerMap *map) {
    int worst = -1;
    for (int i = 0; i < map->count; i++)
        if (map->point[i].vert[0] >= 0 && map->distance[i] > 0 &&
            (worst < 0 || map->distance[i] > map->distance[worst]))
            worst = i;
    return worst;
}

void say_map(const FaMarkerMap *map) {
    int worst = map_worst(map);
    char how[200] = "";
    if (worst >= 0)
        snprintf(how, sizeof how, "; found by nearness: %.2f mm rms off the surface, the worst %.2f mm ('%.60s')",
                 1e3 * map->rms, 1e3 * (double)map->distance[worst], map->name[worst]);
    cli_say("%d of %d markers have a place on the face%s", map->mapped, map->count, how);
}

void print_map(const FaMarkerMap *map) {
    int worst = map_worst(map);
    printf("{\"count\":%d,\"mapped\":%d,\"neutral_frame\":%d,\"rms_mm\":%.9g,\"worst_mm\":%.9g,\"worst\":", map->count,
           map->mapped, map->frame, 1e3 * map->rms, worst >= 0 ? 1e3 * (double)map->distance[worst] : 0);
    if (worst >= 0)
        cli_json_string(map->name[worst]);
    else
        printf("null");
    printf("}");
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

FaCode draw_map(const FaRig *rig, const FaMarkerMap *map, const FaMarkerTake *take, const char *path, FaError *err) {
    FaMarkerTake *dots = NULL;
    FaSequence *seq = NULL;
    FaCode rc = fa_markers_new(1, map->count, map->name, 30, &dots, err);
    for (int i = 0; rc >= 0 && i < map->count; i++) {
        double x[3];
        size_t at = take && map->frame >= 0 ? (size_t)map->frame * (size_t)take->nmarker + (size_t)i : 0;
        bool shown = take && map->frame >= 0 && take->nmarker == map->count && take->ok[at];
        if (!shown && map->point[i].vert[0] < 0) continue;
        dots->ok[i] = 1;
        if (shown) {
            turn(&map->rig_from_take, take->x + 3 * at, dots->x + 3 * (size_t)i);
            continue;
        }
        fa_marker_point_at(&map->point[i], rig->mesh.x, true, x);
        for (int k = 0; k < 3; k++) dots->x[3 * i + k] = (float)x[k];
    }
    if (rc >= 0) rc = fa_sequence_custom(rig->mesh.nvert, 1, 30, read_neutral, (void *)rig, &seq, err);
    FaRenderJob job = fa_render_job();
    job.picture = FA_PICTURE_VIEWS;
    job.rig = rig;
    job.look.width = job.look.height = 640;
    job.columns = 2;
    job.dots = dots;
    job.dot_map = map;
    job.generator = "fascia " FA_VERSION_TEXT " markers";
    if (rc >= 0) rc = fa_render_file(seq, &job, path, err);
    fa_sequence_close(seq);
    fa_markers_free(dots);
    return rc;
}

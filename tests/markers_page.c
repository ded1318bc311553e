// A page with markers on it: the shipped head talking, 80 markers a little off its skin, some samples missing.
// usage: markers_page PAGE.html MARKERS.csv FRAMES.pc2 [STILL.png]
#include "base/base.h"
#include "fascia/head.h"
#include "fascia/page.h"
#include "fascia/render.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES = 90 };
static FaError err;
#define DO(expr)                                                                                                       \
    do {                                                                                                               \
        if ((expr) < 0) return printf("%s\n", err.what), 1;                                                            \
    } while (0)

typedef struct Show {
    const FaHead *head;
    const FaClip *clip;
} Show;

static FaCode truth(void *user, int frame, float *x, FaError *e) {
    const Show *s = user;
    return fa_head_truth(s->head, 0, s->clip->weight + (size_t)(frame + 60) * (size_t)s->clip->nchan, x, e);
}

int main(int argc, char **argv) {
    FaHeadParams params = fa_head_params_default();
    FaHead *head;
    FaClip *clip;
    FaRig *rig;
    FaSequence *seq;
    FaMarkerMap *map;
    FaMarkerTake *take;
    if (argc < 4) return 2;
    params.level = 0;
    DO(fa_head_new(&params, &head, &err));
    DO(fa_head_rig(head, 0, &rig, &err));
    DO(fa_head_clip("talk", &clip, &err));
    Show show = {head, clip};
    DO(fa_sequence_custom(rig->mesh.nvert, FRAMES, 60, truth, &show, &seq, &err));
    DO(fa_markers_choose(rig, 80, &map, &err));
    DO(fa_markers_sample(seq, map, 60, &take, &err));
    // off the skin by up to 2 mm, in waves; every eleventh sample is lost
    for (int f = 0; f < take->nframe; f++)
        for (int i = 0; i < take->nmarker; i++) {
            size_t at = (size_t)f * (size_t)take->nmarker + (size_t)i;
            take->x[3 * at + 2] += (float)(1e-3 * (1 + sin(0.1 * f + i)));
            if ((f + i) % 11 == 3) take->ok[at] = 0, take->x[3 * at] = take->x[3 * at + 1] = take->x[3 * at + 2] = NAN;
        }
    DO(fa_markers_save(take, argv[2], &err));
    FaPageTrack track = {.name = "truth", .seq = seq, .markers = take, .map = map};
    FaPageOptions options = {.title = "markers"};
    DO(fa_page_save(argv[1], rig, &track, 1, &options, &err));
    DO(fa_sequence_save(seq, argv[3], &(FaSinkOptions){.rig = rig, .fps = 60}, NULL, &err));
    if (argc > 4) {
        FaRenderJob job = fa_render_job();
        job.rig = rig, job.frame = 40, job.markers = take, job.marker_map = map, job.look.width = 700,
        job.look.view.yaw = 25;
        DO(fa_render_file(seq, &job, argv[4], &err));
    }
    fa_sequence_close(seq);
    fa_marker_map_free(map);
    fa_markers_free(take);
    fa_clip_free(clip);
    fa_rig_free(rig);
    fa_head_free(head);
    return 0;
}

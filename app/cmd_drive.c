// fascia drive: the flesh of a face follows a clip, an actor's markers, a camera's landmarks, or another face.
#include "drive_markers.h"

#include <math.h>

DriveSettings drive_settings = {.residual = -1, .jaw = -1, .flesh = -1, .smooth = NAN, .count = 80, .neutral = -1};

#define S drive_settings
static const Option options[] = {
    {"method", 0, OPT_CHOICE, &S.method, "auto|bf|sbs|rsbs", 0, 0,
     "markers: forces, shapes, sparse shapes; auto: by the fit it sees"},
    {"residual", 0, OPT_CHOICE, &S.residual, "on|off", 0, 0, "spread what the markers still miss (on for auto and bf)"},
    {"jaw", 0, OPT_CHOICE, &S.jaw, "on|off", 0, 0, "a rigid jaw, not a linear shape (on for auto and bf)"},
    {"literal", 0, OPT_FLAG, &S.literal, NULL, 0, 0, "blendforces as the thesis prints them"},
    {"flesh", 0, OPT_CHOICE, &S.flesh, "off|contact|full", 0, 0,
     "markers: lips that touch, or inertia too (contact; landmarks full)"},
    {"map", 0, OPT_TEXT, &S.map, "map.json", 0, 0,
     "where the markers are: {\"name\": vertex, ...}; with a CLIP as --names"},
    {"trust", 0, OPT_TEXT, &S.trust, "FILE", 0, 0, "weights of markers: lines of NAME,WEIGHT"},
    {"neutral", 0, OPT_INT, &S.neutral, "N", 0, 100000000,
     "frame of a take that shows the neutral face (the first that shows all)"},
    {"reach", 0, OPT_NUM, &S.reach, "MM", 0.01, 1000, "how far a marker may be from the surface (10; retargeting 30)"},
    {"smooth", 0, OPT_NUM, &S.smooth, "FRAMES", 0, 100, "filter of the residual in time (by the noise; 0: none)"},
    {"retarget", 0, OPT_FLAG, &S.retarget, NULL, 0, 0,
     "the markers are another face's: warped to this one's proportions"},
    {"from", 0, OPT_TEXT, &S.from, "RIG2", 0, 0, "the animation is of this face: its markers drive RIG"},
    {"count", 0, OPT_INT, &S.count, "N", 4, 4096, "markers on that face, or of a camera's face (80)"},
    {"report", 0, OPT_TEXT, &S.report, "page.html", 0, 0, "a page that compares with SBS, RSBS and BF"},
    {"truth", 0, OPT_TEXT, &S.truth, "FILE", 0, 0, "frames of the same vertices: errors of every vertex"},
    {"face-model", 0, OPT_TEXT, &S.model, "RIG", 0, 0, "landmarks: the face to fit (the shipped head)"},
    {"identities", 0, OPT_TEXT, &S.identities, "DIR", 0, 0, "landmarks: that face's identities, one .obj each"},
    {"landmarks", 0, OPT_TEXT, &S.points, "FILE", 0, 0, "landmarks: where they are on that face, {\"0\": vertex, ...}"},
    {"face-model-unit", 0, OPT_CHOICE, &S.model_unit, "auto|m|cm|mm", 0, 0,
     "landmarks: of that face (--unit is the RIG's)"},
    {"image", 0, OPT_TEXT, &S.image, "WxH", 0, 0,
     "landmarks: size of the pictures, pixels (as the file says, else guessed)"},
    {"focal", 0, OPT_NUM, &S.focal, "PX", 1, 1e6, "landmarks: focal length of the camera, pixels (found)"},
    {"overlay", 0, OPT_TEXT, &S.overlay, "PNG", 0, 0, "landmarks: draw the fit of the first face found"},
    OUT_OPTIONS,
    CHECK_OPTION,
    LOAD_OPTIONS("names"),
    {0}};
#undef S

static int drive_clip(const char *rig, const char *clip) {
    if (drive_settings.report || drive_settings.truth)
        return cli_usage("--report and --truth are for markers; a clip's page is -o page.html");
    if (drive_settings.map) load_options.names = drive_settings.map;
    return job_walk(&(Job){.verb = "drive",
                           .track = "projective",
                           .rig_path = rig,
                           .clip_path = clip,
                           .no_clip = "a CLIP",
                           .make = job_play,
                           .slow = true,
                           .simulated = true});
}

static int run(int argc, const char **argv) {
    const char *rig = argv[0], *motion = argc > 1 ? argv[1] : NULL;
    const DriveSettings *s = &drive_settings;
    if (!common.output && !s->report && !common.dry_run && !common.json) return output_missing("out.glb");
    if (s->literal && (s->method == FA_DRIVE_SBS || s->method == FA_DRIVE_RSBS))
        return cli_usage("--literal is a form of --method bf");
    if (s->literal && (s->jaw == 0 || s->residual == 0))
        return cli_usage("--literal has no jaw frame and no residual pass");
    FaMotionKind kind = motion ? fa_motion_kind(motion) : FA_MOTION_OTHER;
    if (s->from && (kind != FA_MOTION_OTHER || !motion))
        return cli_usage("--from takes an animation of that rig: a clip, a PC2 or a GLB");
    if (kind != FA_MOTION_LANDMARKS && motion &&
        (s->model || s->points || s->identities || s->image || s->overlay || s->focal > 0))
        return cli_usage("--face-model, --identities, --landmarks, --image, --focal and --overlay are for landmarks, "
                         "which %s does not hold",
                         motion);
    if (s->retarget && kind != FA_MOTION_MARKERS)
        return cli_usage("--retarget takes markers; for an animation of another rig use --from RIG2");
    if (kind == FA_MOTION_OTHER && !s->from) return drive_clip(rig, motion);
    return drive_markers(rig, motion, kind);
}

const Command cmd_drive = {
    .name = "drive",
    .line = "flesh in real time, driven by a clip, by markers, by a camera's landmarks or by another face",
    .usage = "drive RIG|FACE [CLIP|MARKERS|LANDMARKS] -o OUT [options]",
    .examples = "  fascia drive head.glb take.csv -o out.glb                 a take with flesh, in your own file\n"
                "  fascia drive head.glb take.csv -o compare.html            beside linear blending, in a browser\n"
                "  fascia drive head.glb actor.c3d -o out.glb --report page.html    an actor's markers; every method "
                "beside it\n"
                "  fascia drive head.glb actor.c3d --retarget -o out.glb     an actor of other proportions\n"
                "  fascia drive head.glb other.glb --from other.glb -o out.glb      another face's animation\n"
                "  fascia drive head.glb webcam.json -o out.glb              landmarks of MediaPipe or OpenFace\n"
                "  fascia build head.glb -o head.face                        once; look at its report, paint, keep it\n"
                "  fascia drive head.face take.csv -o out.pc2 --shear 2000 --sticky off\n",
    .notes =
        "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif.\n"
        "Without CLIP the rig's own animation is played. docs/guide/drive.md says what to turn, "
        "docs/guide/markers.md and\n"
        "docs/guide/camera.md for markers and landmarks. fascia markers --picture shows where the markers of a take "
        "sit.\n",
    .options = options,
    .method = "projective",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};

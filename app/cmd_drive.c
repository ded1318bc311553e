// fascia drive: the flesh of a face follows a clip, an actor's markers, a camera's landmarks, or another face.
#include "drive_markers.h"

#include <math.h>
#include <string.h>

DriveSettings drive_settings = {.residual = -1, .jaw = -1, .physics = -1, .smooth = NAN, .count = 80, .neutral = -1};

#define S drive_settings
static const Option options[] = {
    {"physics", 0, OPT_CHOICE, &S.physics, "off|contact|full", 0, 0,
     "markers, landmarks, --from. contact: lips stop each other. full: flesh swings and lips stick too (contact; "
     "landmarks: full)"},
    {"from", 0, OPT_TEXT, &S.from, "RIG2", 0, 0, "the animation or the markers are of this other face, RIG2"},
    {"count", 0, OPT_INT, &S.count, "N", 4, 4096, "--from and landmarks: how many points carry the motion over (80)"},
    OPTION_GROUP("Markers"),
    {"method", 0, OPT_CHOICE, &S.method, "auto|bf|sbs|rsbs", 0, 0,
     "auto tries shapes and forces and takes the better. bf: forces, sbs: shapes, rsbs: few shapes"},
    {"residual", 0, OPT_CHOICE, &S.residual, "on|off", 0, 0,
     "spread what the shapes cannot do over the skin (on for auto and bf)"},
    {"jaw", 0, OPT_CHOICE, &S.jaw, "on|off", 0, 0, "the jaw turns as a bone (on for auto and bf)"},
    {"smooth", 0, OPT_NUM, &S.smooth, "FRAMES", 0, 100,
     "smooth what the shapes cannot do over so many frames (chosen by the noise; 0: none)"},
    {"retarget", 0, OPT_FLAG, &S.retarget, NULL, 0, 0,
     "the markers are of a face with other proportions: they are fitted to this one"},
    {"map", 0, OPT_TEXT, &S.map, "map.json", 0, 0,
     "which vertex of the rig each marker is: {\"name\": vertex, ...}; with a CLIP the same as --names"},
    {"neutral", 0, OPT_INT, &S.neutral, "N", 0, 100000000,
     "the frame with a neutral face (found: the first, or one with less expression)"},
    {"reach", 0, OPT_NUM, &S.reach, "MM", 0.01, 1000, "how far a marker may be from the skin (10; with --retarget 30)"},
    {"trust", 0, OPT_TEXT, &S.trust, "FILE", 0, 0,
     "how much each marker counts: lines of NAME,WEIGHT; 0 leaves it out"},
    {"report", 0, OPT_OUT, &S.report, "page.html", 0, 0, "also write a page that compares all methods"},
    {"truth", 0, OPT_TEXT, &S.truth, "FILE", 0, 0, "exact frames to compare with; prints the error of every vertex"},
    {"literal", 0, OPT_FLAG, &S.literal, NULL, 0, 0, "blendforces exactly as published, for comparison"},
    OPTION_GROUP("Landmarks"),
    {"image", 0, OPT_TEXT, &S.image, "WxH", 0, 0, "size of the video, pixels (default: as the file says, or guessed)"},
    {"focal", 0, OPT_NUM, &S.focal, "PX", 1, 1e6, "focal length of the camera, pixels (default: found)"},
    {"overlay", 0, OPT_OUT, &S.overlay, "PNG", 0, 0, "a picture of how well the face fits"},
    {"face-model", 0, OPT_TEXT, &S.model, "RIG", 0, 0, "the face that is fitted to the picture (the shipped head)"},
    {"face-model-unit", 0, OPT_UNIT, &S.model_unit, "auto|m|cm|mm|in|ft|N", 0, 0,
     "unit of that face (--unit is the unit of RIG)"},
    {"landmarks", 0, OPT_TEXT, &S.points, "FILE", 0, 0,
     "which vertex of that face each landmark is: {\"0\": vertex, ...}"},
    {"identities", 0, OPT_TEXT, &S.identities, "DIR", 0, 0,
     "how faces differ from that one: a folder with one .obj each"},
    {"stream", 0, OPT_CHOICE, &S.stream, "points|weights", 0, 0,
     "with - in place of a file: what each line of standard output holds; weights: without the points (points)"},
    OUT_OPTIONS,
    CHECK_OPTION,
    LOAD_OPTIONS("names"),
    {0}};
#undef S

// What acts in each way to work; the rest is refused by name.
#define ALL "world cache-unit bake-error max-targets check fps frames hinge "
#define CONTROL "physics method residual jaw smooth trust report truth literal map face " ALL
#define LANDMARKS "count image focal overlay face-model face-model-unit landmarks identities "
#define MARKERS "from retarget neutral reach "
#define SOURCE "from count neutral reach head-units joint head-smooth "
static int check_options(FaMotionKind kind) {
    const DriveSettings *s = &drive_settings;
    bool shapes = s->literal || s->method == FA_DRIVE_SBS || s->method == FA_DRIVE_RSBS,
         physics = s->physics > PHYSICS_OFF || (s->physics < 0 && !shapes);
    if (kind == FA_MOTION_OTHER && !s->from)
        return cli_only("for a clip", ALL "@method seed map head-units joint head-smooth");
    int code = kind == FA_MOTION_LANDMARKS ? cli_only("for landmarks", CONTROL LANDMARKS "@method seed")
               : kind == FA_MOTION_MARKERS ? cli_only("for markers", CONTROL MARKERS "@method seed")
                                           : cli_only("with --from", CONTROL SOURCE "@method seed");
    if (code != EXIT_OK || physics) return code;
    return cli_only("without flesh (--physics contact gives some)", CONTROL LANDMARKS MARKERS SOURCE);
}
#undef LANDMARKS
#undef MARKERS
#undef SOURCE
#undef CONTROL
#undef ALL

static int drive_clip(const char *rig, const char *clip) {
    if (drive_settings.map) load_options.names = drive_settings.map;
    return job_walk(&(Job){.verb = "drive",
                           .doctor = true,
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
    if (motion && !strcmp(motion, "-")) {
        int use = cli_only("for a stream of landmarks", "@method image focal stream fps !output !json");
        return use == EXIT_OK ? drive_stream(rig) : use;
    }
    if (!common.output && !s->report && !common.dry_run && !common.json) return output_missing("out.glb");
    if (s->literal && (s->method == FA_DRIVE_SBS || s->method == FA_DRIVE_RSBS))
        return cli_usage("--literal goes with --method bf only");
    if (s->literal && (s->jaw == 0 || s->residual == 0))
        return cli_usage("--literal cannot be used with --jaw on or --residual on");
    FaError err = {0};
    if (motion && check_readable(motion, &err) < 0) return cli_fail(&err);
    FaMotionKind kind = motion ? fa_motion_kind(motion) : FA_MOTION_OTHER;
    if (s->from && (kind == FA_MOTION_LANDMARKS || !motion))
        return cli_usage("--from takes an animation of that rig: a clip, a PC2, a GLB or markers");
    if (kind != FA_MOTION_LANDMARKS && motion &&
        (s->model || s->points || s->identities || s->image || s->overlay || s->focal > 0))
        return cli_usage("--face-model, --identities, --landmarks, --image, --focal and --overlay are for landmarks, "
                         "which %s does not hold",
                         motion);
    if (s->retarget && kind != FA_MOTION_MARKERS)
        return cli_usage("--retarget takes markers; for an animation of another rig use --from RIG2");
    if (kind == FA_MOTION_OTHER && !s->from && (s->report || s->truth))
        return cli_usage("--report and --truth need markers; for a clip write -o page.html");
    int code = check_options(kind);
    if (code != EXIT_OK) return code;
    if (kind == FA_MOTION_OTHER && !s->from) return drive_clip(rig, motion);
    return drive_markers(rig, motion, kind);
}

const Command cmd_drive = {
    .name = "drive",
    .line = "flesh and lips that touch, in real time: from a clip, markers, a webcam's landmarks or another face",
    .usage = "drive RIG|FACE [CLIP|MARKERS|LANDMARKS|-] -o OUT [options]",
    .examples =
        "  fascia drive head.glb clip.csv -o out.glb                     a clip with flesh, in your own file\n"
        "  fascia drive head.glb clip.csv -o compare.html                before and after, in a browser\n"
        "  fascia drive head.glb clip.csv -o out.pc2 --sticky off        exact frames; lips do not stick\n"
        "  fascia drive head.glb actor.c3d -o out.glb                    an actor's markers\n"
        "  fascia drive head.glb actor.c3d --retarget -o out.glb         an actor with other proportions\n"
        "  fascia drive head.glb webcam.json -o out.glb                  landmarks of MediaPipe or OpenFace\n"
        "  tracker | fascia drive head.glb - > frames.jsonl              live: a line per frame in, a line out\n"
        "  fascia drive head.glb other.glb --from other.glb -o out.glb   the animation of another face\n"
        "  fascia drive head.face clip.csv -o out.glb                    with a face made by fascia build\n",
    .notes =
        "Out: .glb .gltf .pc2 .mdd .usda, name_####.obj, .html; pictures .png .mp4 .gif.\n"
        "Without CLIP the rig's own animation is played. fascia markers RIG TAKE --picture look.png shows where the\n"
        "markers of a take are. Guides: docs/guide/drive.md, docs/guide/markers.md, docs/guide/camera.md\n",
    .options = options,
    .writes = "glb gltf vrm pc2 mdd usda obj html png mp4 m4v mov gif csv json",
    .method = "projective",
    .min_args = 1,
    .max_args = 2,
    .run = run,
};

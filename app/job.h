// The walk every verb takes, and what is loaded, measured, written and reported on it. A verb is a table of options
// and the steps that are its own.
//
//     rig, clip ──▶ load ──▶ make ──▶ frames A-B ──▶ compare ──▶ write ──▶ report ──▶ free
//
// Figures are of the frames asked for and no others: what a verb prints is what `fascia compare` finds between linear
// blending and its output.
#ifndef FASCIA_JOB_H
#define FASCIA_JOB_H

#include "cli.h"

// --- options that several verbs have -------------------------------------------------------------------------------

typedef struct LoadOptions {
    const char *mesh, *names, *joint, *hinge;
    double head_smooth; // Hz; below 0: 10 for a BVH
    int up;             // FaUp
    int head_units;     // FaHeadUnits
    bool any_size;
} LoadOptions;
extern LoadOptions load_options;

typedef struct OutOptions {
    double bake_error;
    int max_targets;
    FaUnit cache_unit; // AUTO: of the rig's own file
    bool world, check;
} OutOptions;
extern OutOptions out_options;

// For rigs and clips. names: "map", or "names" where --map is a map of markers.
#define LOAD_OPTIONS(names_option)                                                                                     \
    OPTION_GROUP("Reading files"),                                                                                     \
        LOAD_ROW(names_option, OPT_TEXT, names, "names.json", "your shape names: {\"theirName\": \"jawOpen\", ...}"),  \
        LOAD_ROW("mesh", OPT_TEXT, mesh, "NAME",                                                                       \
                 "which mesh of the file is the face, by name or number (default: the one with most shapes)"),         \
        LOAD_ROW("up", OPT_CHOICE, up, "auto|y|z", "which axis of the file points up"),                                \
        LOAD_ROW(                                                                                                      \
            "hinge", OPT_TEXT, hinge, "x,y,z|JOINT",                                                                   \
            "where the jaw turns: a point in the mesh's own coordinates, or a joint of its skin (default: found)"),    \
        LOAD_ROW("any-size", OPT_FLAG, any_size, NULL, "do not check that it is the size of a head"),                  \
        LOAD_ROW("head-units", OPT_CHOICE, head_units, "auto|norm180|rad|deg",                                         \
                 "unit of the head's angles in a Live Link file, if the head turns too much or too little"),           \
        LOAD_ROW("joint", OPT_TEXT, joint, "NAME", "which joint of a BVH is the head"), {                              \
        "head-smooth", 0, OPT_NUM, &load_options.head_smooth, "HZ", 0, 1000,                                           \
            "remove jitter faster than this from the head's motion (10 for a BVH; 0: leave it as it is)"               \
    }
#define LOAD_ROW(name, kind, to, arg, help)                                                                            \
    { name, 0, kind, &load_options.to, arg, 0, 0, help }
// For frames that are written.
#define OUT_OPTIONS                                                                                                    \
    OPTION_GROUP("Writing files"),                                                                                     \
        OUT_ROW("world", OPT_FLAG, world, NULL, 0, 0, ".pc2, .mdd and .obj: apply the head's motion to the points"),   \
        OUT_ROW("cache-unit", OPT_UNIT, cache_unit, "auto|m|cm|mm|in|ft|N", 0, 0,                                      \
                ".pc2, .mdd and .obj: the unit of the points (auto: as the mesh in the rig's own file)"),              \
        OUT_ROW("bake-error", OPT_NUM, bake_error, "MM", 1e-6, 1000,                                                   \
                ".glb: largest error of the motion that is written (0.05)"),                                           \
        OUT_ROW("max-targets", OPT_INT, max_targets, "N", 1, 2000, ".glb: add at most this many morph targets (512)")
#define OUT_ROW(name, kind, to, arg, min, max, help)                                                                   \
    { name, 0, kind, &out_options.to, arg, min, max, help }
// For frames that are simulated.
#define CHECK_OPTION                                                                                                   \
    OUT_ROW("check", OPT_FLAG, check, NULL, 0, 0, "also count triangles that cross each other (slower)")

FaRigOptions load_rig_options(void);
FaClipOptions load_clip_options(void);
FaMarkerOptions load_marker_options(void);
FaCode load_rig(const char *path, FaRig **rig, FaError *err);
// A clip, its head's motion fit to be played (fa_clip_prepare_head).
FaCode load_clip(const char *path, FaClip **clip, FaError *err);

// Frames of a file. A cache says no unit: with the rig it belongs to (nullable) it is in the coordinates of the mesh in
// the rig's file, as ours are, in metres or in --unit, whichever lays it on the rig; without, metres or what its size
// tells. What is neither metres nor the rig's own is said.
FaCode open_frames(const char *path, const FaRig *rig, FaSequence **seq, FaError *err);

bool path_has_ext(const char *path, const char *ext);
bool path_is_cache(const char *path);                  // frames written there are points alone: .pc2, .mdd, .obj
const char *path_base(const char *path);               // what follows the last '/'
FaCode check_readable(const char *path, FaError *err); // FA_E_FILE: the file cannot be opened
bool output_wanted(void);                              // -o is given, and this is no dry run
int output_missing(const char *example);               // says so; the exit code
char **split_list(const char *text, int *count);       // "a,b,,d": free with free; NULL (and count 0) without a text

// --- the walk ------------------------------------------------------------------------------------------------------

// Frames that cost time, made once: in a file beside the output that has lost its name, and so goes with the process.
typedef struct Record {
    FaSequence *seq; // reads it
} Record;
FaCode record_new(FaSequence *frames, int last, const FaRig *rig, const FaClip *clip, Record *rec, FaError *err);
void record_free(Record *rec);

enum { JOB_NOTES = 12 };

typedef struct Job Job;
struct Job {
    // what the verb gives; all nullable but the verb
    const char *verb;                    // "drive"
    const char *rig_path;                // RIG, or the FACE that names it
    const char *clip_path;               // NULL: the rig's own animation
    const char *no_clip;                 // a clip is needed: what to give where there is none
    const char *output;                  // where it goes; NULL: -o
    FaCode (*load)(Job *, FaError *);    // what else is given
    FaCode (*make)(Job *, FaError *);    // frames and played, or what the verb makes
    FaCode (*write)(Job *, FaError *);   // NULL: the frames
    void (*say)(Job *);                  // lines for people, before "wrote OUT"
    void (*json)(Job *, FaJsonWriter *); // members of the object
    void (*free)(Job *);                 // what is its own
    bool slow;                           // of job_play: frames cost time and are recorded
    bool simulated;                      // the report is a simulation's
    bool own_notes;                      // json has the warnings among its members
    bool doctor;                         // what is odd about the rig is said

    FaRig *rig;
    FaFace *face;       // NULL: the method gets one by itself
    FaClip *loaded;     // of clip_path
    FaClip *felt;       // that, as the flesh feels it; NULL: as it is shown
    const FaClip *clip; // that, or the rig's own
    FaBinding binding;  // of a clip to the rig; nchan 0: none was bound
    FaInfo info;        // of the rig, if the doctor looked at it
    FaNotes parts;      // what its other meshes do
    FaNotes picked;     // what is important of that; the texts are the report's

    const char *track;    // name of the result on pages: "analytic"
    char generator[1024]; // what outputs record
    char *params;         // of the method, JSON
    FaMethod *method;
    FaRun *run;
    Record record;
    FaRunStats stats;
    double ms;                   // per frame, beside the method's own
    FaSequence *frames;          // the result
    const FaClip *played;        // goes with them; nullable
    FaSequence *linear;          // linear blending, frame by frame; NULL: of played
    int first, last;             // the frames asked for
    double fps, start;           // of the output; 0: as the frames and the clip say, 0 s
    bool one_picture;            // a picture shows one frame, not a sheet of them
    const char *const *captions; // under the tiles of a sheet of frames; NULL: number and time
    const char *const *labels;   // of frames on a page, to pick from; nullable

    FaSequence *moved, *cut, *before; // those frames: in the world; as written; of linear blending
    FaClip *cut_clip;                 // of them; NULL: played
    FaCompare compare;
    FaBakeReport bake;
    double cache_unit; // of the points that were written, m; 0: no cache
    bool stalled;      // the bake missed its goal
    bool written;      // all of the output
    const FaNotes *notes[JOB_NOTES];
    int nnotes;
    double begin, seconds;
};

int job_walk(Job *job); // the program's exit code

// Steps that several verbs share.
FaCode job_play(Job *job, FaError *err); // make: the clip through the verb's method
// Says what a face of this many vertices will take, and what takes less; then: how to go on with that.
void job_say_long(const FaRig *rig, const char *then);
FaCode job_parameters(Job *job, FaError *err); // params and generator, of cli_params
// What a face for these needs is built with, as the verb's parameters have it (--flesh).
FaFaceOptions job_face_options(unsigned needs);
// The method, with those parameters and the job's rig and face; setup: what else it has.
FaCode job_method(Job *job, const char *method, FaMethodSetup setup, FaError *err);
// How a clip of another file drives a rig: an error if it does not. Said, and in the report.
FaCode job_bind(Job *job, const FaClip *clip, const char *clip_path, const FaRig *rig, FaError *err);
// What points in metres are multiplied with to be those of a cache.
void job_cache_frame(const FaRig *rig, double m[9]);
FaCode job_save(Job *job, FaError *err); // write: the frames, in the format of the path
// "jawOpen=0.5,...", all shapes that a name means (fa_rig_shapes_named), into weights of 0 (nshape).
FaCode job_weights(const FaRig *rig, const char *text, float *weights, FaError *err);
bool job_is_weight(double w); // else no rig means it, and it is refused
FaCode job_check_weights(const FaClip *clip, const char *path, FaError *err);
FaCode job_save_still(Job *job, FaError *err); // the same of one frame: an .obj is a mesh, not a sequence of them
// A clip on a rig that is a body: it is replaced by what is shown there, *felt (nullable) is what the flesh feels;
// NULL: the same. Said.
FaCode job_on_body(Job *job, const FaRig *rig, FaClip **clip, FaClip **felt, FaError *err);
const FaClip *job_clip(const Job *job); // that goes with the frames as written; nullable
void json_warnings(FaJsonWriter *w, const FaNotes *const *notes, int nnotes); // the member "warnings"
void job_note(Job *job, const FaNotes *notes); // says them; the report has them too. They must outlive the walk.

#endif

// fascia/muscle.h: a face that moves by its muscles: filled flesh, muscles placed in it, and poses by activations.
//
// Typical order:
//     FaMuscleModel *model;  fa_muscle_open(rig, face, NULL, &model, &err);
//     double act[FA_MUSCLES_MOST] = {0};  fa_muscle_activate(model, "zygomaticus_major=0.7,frontalis*=1", act, &err);
//     FaMusclePose pose = {.activation = act, .jaw = {.open = 8}};
//     fa_muscle_pose(model, &pose, surface, &report, &err);      surface: the rig's vertices, nvert x 3
//     fa_muscle_close(model);
// Results do not depend on the number of threads, nor on the poses before. One thread per model.
#ifndef FASCIA_MUSCLE_H
#define FASCIA_MUSCLE_H

#include "fascia/face.h"
#include "fascia/markers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FA_MUSCLES_MOST = 128 }; // of a model

typedef struct FaMuscleModel FaMuscleModel;

typedef struct FaMuscleOptions {
    int flesh_size; // free nodes of the flesh, about; 0: as the face was made, else 6,000
    // muscles of your own, closed meshes (.stl, .obj) in the rig's place: straps, sheets, halves of rings, one to a
    // file. Named by their files ("zygomaticus_major.L.stl", "left risorius.obj"): in place of the one of that name, or
    // added
    const char *const *own; // paths, borrowed until fa_muscle_open is done                        (nown)
    int nown;
    double own_unit;        // metres per unit of those files; 0: as the rig's own file
    bool own_fit;           // they stand elsewhere, as in an atlas: turn, move and size them as one so that those named
                            // like muscles of the template (three at least) lie where those do, then bend them there
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaMuscleOptions;
FA_API FaMuscleOptions fa_muscle_options_default(void); // all 0

/// How flesh and muscles came out.
typedef struct FaMuscleBuilt {
    int nodes, free, tets; // of the flesh
    int inverted, lost;    // tets without volume: 0; vertices of the skin that are no nodes and ride
    double worst_quality;  // of a tet: 1 regular, 0 flat
    double flesh_seconds;  // 0: it was kept in the face
    int muscles;           // with both sides
    int own;               // of them from files of yours
    int own_named;         // own_fit: of those, how many told where all belong
    double own_scale;      // what their size was multiplied with
    double own_off;        // m: then from their middle lines to the template's, root mean square,
    double own_worst;      // and that of the worst muscle,
    const char *own_far;   // which is this
    int ends, held;        // ends that belong on bone, and those that reach it
    double least_share;    // smallest share of a muscle that is in the flesh
    const char *least;     // that muscle
    bool bones;            // the face has bones; else skull and jaw are guessed below the skin
    double seconds;        // all of it
} FaMuscleBuilt;

/// Fill the face with flesh and place the muscles. rig: the one the face was built from; both are borrowed and must
/// outlive the model. options NULL: defaults. Seconds. *model is NULL on failure: FA_E_ARG (no shapes that tell where
/// eyes and mouth are), FA_E_MESH (nothing to fill), FA_E_MEMORY, FA_E_CANCELLED. Close with fa_muscle_close.
FA_API FaCode fa_muscle_open(const FaRig *rig, const FaFace *face, const FaMuscleOptions *options,
                             FaMuscleModel **model, FaError *err);
FA_API void fa_muscle_close(FaMuscleModel *model); // NULL is fine
FA_API const FaMuscleBuilt *fa_muscle_built(const FaMuscleModel *model);
FA_API const FaNotes *fa_muscle_notes(const FaMuscleModel *model);
/// Keep flesh and muscles in the face: once saved and loaded it opens with them at once. What is kept is checked, and
/// made again, to the same bits, where face or rig have changed since.
FA_API FaCode fa_muscle_keep(const FaMuscleModel *model, FaFace *face, FaError *err);
/// Does the face say that it has muscles?
FA_API bool fa_muscle_kept(const FaFace *face);

// --- the muscles --------------------------------------------------------------------------------------------------

typedef struct FaMuscleInfo {
    const char *name, *alias;       // "zygomaticus_major.L", "zyg_maj.L"; of the model
    int side;                       // 1 left, -1 right, 0 in the middle
    const char *form;               // "strap", "sheet", "half ring", "ring"
    const char *origin, *insertion; // the bone that they are on: "skull", "jaw"; "none"
    bool held;                      // all its ends that belong on bone reach it
    double share;                   // of it in the flesh, 0..1
    double folded;                  // of it that is inside out: 0
    double length, volume;          // m, m3
    double force;                   // N at full activation: largest stress times cross-section
    bool own;                       // from a file of yours; then how well its solid fits:
    double fit_median;              // m: from the mesh to the solid's surface, median
    double fit_covered;             // share of the mesh that is in the solid
    double fit_volume;              // of the solid against the mesh, relative: 0.03 is 3 % too large
} FaMuscleInfo;
FA_API int fa_muscle_count(const FaMuscleModel *model); // at most FA_MUSCLES_MOST
FA_API FaMuscleInfo fa_muscle_info(const FaMuscleModel *model, int muscle);

/// "zygomaticus_major=0.7,zyg_min.L=1,inc_*=0.5": sets those in `activation` (count). Full names or aliases; without
/// .L or .R both sides; '*' for any letters. FA_E_ARG for an unknown name (the nearest are named) or a value outside
/// 0..1; activation may then be half set.
FA_API FaCode fa_muscle_activate(const FaMuscleModel *model, const char *text, double *activation, FaError *err);

/// A muscle as a closed mesh at rest, edges and ends rounded off; arrays are the model's.
typedef struct FaMuscleMesh {
    int nvert, ntri;
    const int *tri; // (ntri x 3)
    const float *x; // m, head frame (nvert x 3)
} FaMuscleMesh;
FA_API FaCode fa_muscle_mesh(FaMuscleModel *model, int muscle, FaMuscleMesh *mesh, FaError *err);
/// Its vertices as the model was posed last, or at rest before any pose (nvert x 3).
FA_API FaCode fa_muscle_mesh_posed(FaMuscleModel *model, int muscle, float *x, FaError *err);

// --- pictures -----------------------------------------------------------------------------------------------------

/// The muscles under transparent skin as the model was posed last (before any pose: at rest), coloured by how strongly
/// they pull: front and profile, or front and three quarters. size: pixels of a side of one view, 0: 900. comment
/// (nullable) is kept in the PNG. FA_E_UNSUPPORTED: a build without Embree.
FA_API FaCode fa_muscle_picture(FaMuscleModel *model, bool profile, int size, const char *comment, const char *path,
                                FaError *err);
/// The flesh cut open, at rest: through the middle, the mouth, its corner. size as above.
FA_API FaCode fa_muscle_cut(const FaMuscleModel *model, int size, const char *path, FaError *err);

// --- poses --------------------------------------------------------------------------------------------------------

/// Where the jaw is, against rest: turned about the hinge that the rig's own shapes show, then moved.
typedef struct FaMuscleJaw {
    double open;          // degrees, -5..45; forward slide of the condyles goes with it as in the rig's jawOpen
    double open_by;       // m: opened until the chin has gone so far, in place of `open`; 0..0.1
    double forward, side; // m; side: to the subject's left; each -0.03..0.03
} FaMuscleJaw;

typedef struct FaMusclePose {
    const double *activation; // 0..1; NULL: none                                            (count)
    FaMuscleJaw jaw;
} FaMusclePose;

typedef enum FaMuscleMark {
    FA_MUSCLE_CORNER_LEFT,
    FA_MUSCLE_CORNER_RIGHT,
    FA_MUSCLE_BROW_LEFT,
    FA_MUSCLE_BROW_RIGHT,
    FA_MUSCLE_LIP_UPPER,
    FA_MUSCLE_LIP_LOWER,
    FA_MUSCLE_CHIN,
    FA_MUSCLE_LID_LEFT,
    FA_MUSCLE_LID_RIGHT,
    FA_MUSCLE_MARKS
} FaMuscleMark;
FA_API const char *fa_muscle_mark_name(FaMuscleMark mark); // "corner_left"

typedef struct FaMusclePosed {
    int iterations;                  // of Newton
    double residual;                 // N: root of the sum of squares of the forces left over
    int inverted;                    // tets
    double volume_change;            // of the flesh, relative
    double mark[FA_MUSCLE_MARKS][3]; // how far landmarks went, m: to the subject's left, up, front; NAN: not found
    double open;                     // of the jaw, degrees
    double mouth_width;              // m, between its corners; NAN: not found
    double mouth_open;               // m: how much farther apart the middles of both lips are than at rest; NAN
    double collider_depth;           // m: how deep the skin is in a collider at most; 0: it is not
    double seconds;
} FaMusclePosed;

enum { FA_MUSCLE_COLLIDERS_MOST = 6 };
/// A rigid mesh that the skin may not enter, for all poses that follow: a tusk, a pipe. mesh: closed, of
/// fa_collider_load; copied. with_jaw: it goes with the jaw, else with the skull. Skin that is inside of it at rest is
/// pushed out. FA_E_MESH: it has no volume. FA_E_LIMIT: too many.
FA_API FaCode fa_muscle_collide(FaMuscleModel *model, const FaRig *mesh, bool with_jaw, FaError *err);

/// The surface at rest under these activations, m, head frame (nvert x 3); always from the neutral on. report is
/// nullable. FA_STALLED: not quite at rest, usable. FA_E_ARG: a value out of range, or a jaw that the rig does not
/// have. No allocation after the first call.
FA_API FaCode fa_muscle_pose(FaMuscleModel *model, const FaMusclePose *pose, float *surface, FaMusclePosed *report,
                             FaError *err);
/// Weights of the rig's shapes at which its jaw is nearest to this one, for what goes with the jaw beside the flesh:
/// teeth, tongue. Others are 0 (nshape).
FA_API FaCode fa_muscle_jaw_weights(const FaMuscleModel *model, const FaMuscleJaw *jaw, float *weights, FaError *err);

// --- directed poses: you say where, the flesh says how ------------------------------------------------------------

enum { FA_MUSCLE_ROUNDS_MOST = 32 };

/// May targeting move the bones, too?
typedef enum FaMuscleBones {
    FA_MUSCLE_BONES_HELD,  // the skull stands; the jaw is found with the activations
    FA_MUSCLE_BONES_FOUND, // flesh is let go of them once, and they are put where it went: a turned head, a jaw beyond
                           // its shapes
    FA_MUSCLE_BONES_LIMITED, // the same, but the jaw stays within limits: those given, or what the rig's own shapes do
} FaMuscleBones;

/// How far a jaw goes: degrees; m forward and to the subject's left.
typedef struct FaMuscleJawLimits {
    double open[2], forward[2], side[2]; // least, most
} FaMuscleJawLimits;

typedef struct FaMuscleTargetOptions {
    int rounds;                 // at most; 0: 5
    double spring;              // N/m4: how firmly muscles drag the flesh along their tracks; 0: 5e9
    bool untouched;             // lips, lids and teeth do not touch: for comparison
    const float *snap;          // 0..1: how much of what no muscle makes is added in the end; NULL: none        (nvert)
    int nlandmark;              // vertices that activations and jaw are found by; 0: 480, far from each other
    const int *landmark;        //                                                                           (nlandmark)
    const unsigned char *known; // nonzero where the goal is known (markers, half a scan); NULL: everywhere  (nvert)
    FaMuscleBones bones;
    const FaMuscleJawLimits *limits; // with FA_MUSCLE_BONES_LIMITED; NULL: fa_muscle_jaw_limits
    FaProgressFn *progress;          // nullable
    void *progress_user;
} FaMuscleTargetOptions;
FA_API FaMuscleTargetOptions fa_muscle_target_options_default(void); // all 0

typedef struct FaMuscleTargeted {
    double activation[FA_MUSCLES_MOST];
    double open;                           // of the jaw, degrees
    double neutral;                        // m: rms of the face's skin, at rest against the goal
    double rms[FA_MUSCLE_ROUNDS_MOST + 1]; // by activations alone, then after each round
    int rounds, best;                      // the best one is what you get
    double played;                         // m: rms of that as it is made from rest, where lips may lie otherwise
    int inverted;                          // tets
    double volume_change;                  // of the flesh, relative
    double turned, moved;                  // of the head: degrees, and m at the jaw's hinge; 0 with bones held
    int seen;                              // vertices that rms is over
    double seconds;
} FaMuscleTargeted;

/// A directed pose: how strongly muscles pull, where the jaw is, the tracks that muscles go along from the neutral, and
/// what of a sculpt no muscle makes. Of one face.
typedef struct FaDirected FaDirected;
FA_API void fa_directed_free(FaDirected *pose); // NULL is fine
/// A .pose file: JSON, with numbers that read back to the same bits. face: the file of the face (or rig) that it is of;
/// written so that both can move together where they lie in one folder or near each other; NULL: as the pose says.
FA_API FaCode fa_directed_save(const FaDirected *pose, const char *face, const char *path, FaError *err);
/// *pose is NULL on failure: FA_E_FILE, FA_E_FORMAT with the JSON path of what is wrong. Whether it fits a face is
/// checked where it is used.
FA_API FaCode fa_directed_load(const char *path, FaDirected **pose, FaError *err);
FA_API const char *fa_directed_face(const FaDirected *pose); // file of its face or rig, "" if unknown; of the pose
FA_API int fa_directed_count(const FaDirected *pose);        // of its muscles: as the model's
FA_API const double *fa_directed_activation(const FaDirected *pose); // 0..1, of the pose                    (count)
/// Where its jaw is at `part` of the way.
FA_API FaMuscleJaw fa_directed_jaw(const FaMuscleModel *model, const FaDirected *pose, double part);
/// A pose by activations and jaw as a directed one: tracks are those of the flesh as its controls rise, and nothing is
/// drawn to them; fa_muscle_direct makes the same surface as fa_muscle_pose. A second or so. Free with
/// fa_directed_free.
FA_API FaCode fa_muscle_directed(FaMuscleModel *model, const FaMusclePose *pose, FaDirected **directed, FaError *err);

/// Muscles that bring the skin to a goal: activations and a jaw by which the face comes nearest, then rounds in which
/// what is missing is carried into the flesh and added to the tracks that muscles pull it along. goal: the rig's
/// vertices, m, head frame (nvert x 3). weights: those of the goal where it is a pose of the rig's shapes, for its jaw
/// (nshape); NULL: the jaw is found. surface: where the flesh brings the skin (nvert x 3); what goal - surface still
/// is, is the sculpt that no muscle makes: add it, or a part of it (options->snap), for the exact shape. pose:
/// nullable; to be freed with fa_directed_free. options and report are nullable. Seconds. FA_E_ARG: a goal that is no
/// pose of this face, more than a head away.
FA_API FaCode fa_muscle_target(FaMuscleModel *model, const float *goal, const float *weights,
                               const FaMuscleTargetOptions *options, float *surface, FaDirected **pose,
                               FaMuscleTargeted *report, FaError *err);
/// What a file of lines makes of a rig's vertices: how much of a snap each gets.
typedef struct FaMuscleSnapReport {
    int line;    // vertices on lines, inside the region
    int outside; // on lines, outside of it: they do nothing
    int touched; // with a weight above 0
} FaMuscleSnapReport;
/// Where a sculpt shows on top of flesh: lines on its features and a region around them (JSON, docs/guide/muscle.md).
/// weight: 0..1, exactly 0 outside the region, for FaMuscleTargetOptions.snap (nvert). report is nullable.
FA_API FaCode fa_muscle_snap_load(FaMuscleModel *model, const char *path, float *weight, FaMuscleSnapReport *report,
                                  FaError *err);

/// How far the rig's own shapes take the jaw, each at weight 1. FA_E_ARG: the rig's shapes move no jaw.
FA_API FaCode fa_muscle_jaw_limits(const FaMuscleModel *model, FaMuscleJawLimits *limits, FaError *err);
/// The same from poses of your own: begin with limits that are all 0, the jaw at rest, and widen them by the jaw of
/// each pose: of weights of the rig's shapes (nshape), of a posed surface (nvert x 3, m, head frame: opened as far as
/// the skin on it is, in steps of a degree), of a directed pose (fa_directed_jaw).
FA_API void fa_muscle_jaw_widen(FaMuscleJawLimits *limits, const FaMuscleJaw *jaw);
FA_API FaMuscleJaw fa_muscle_jaw_of_weights(const FaMuscleModel *model, const float *weights);
FA_API FaMuscleJaw fa_muscle_jaw_of_surface(const FaMuscleModel *model, const float *x);

// --- goals of other kinds -----------------------------------------------------------------------------------------

/// How a scan was laid on a face.
typedef struct FaMuscleScan {
    double scale;          // how much larger than the face it is: near 1
    double turn, move;     // of the scan, to lie on the face: degrees, m
    double shapes;         // m: rms from the face in its own shapes to the scan, before it is bent to it
    double residual;       // m: rms of what found its place, in the end
    double without;        // share of the face that found none, 0..1
    int vertices, matched; // of the moving face
} FaMuscleScan;
/// A goal from a surface of any topology: rigid alignment, the rig's own shapes nearest to it, then a smooth bend to
/// the closest points that face the same way, lips and lids each to their own side. scan: m, as the rig stands, within
/// some 30 degrees and a head's size. goal: (nvert x 3); known: nonzero where it is (nvert); weights: of the shapes
/// (nshape); all for fa_muscle_target. report is nullable. FA_E_ARG with what to do: not finite, of another size, not
/// this face, too much of the face without a counterpart.
FA_API FaCode fa_muscle_goal_scan(FaMuscleModel *model, const FaMesh *scan, float *goal, unsigned char *known,
                                  float *weights, FaMuscleScan *report, FaError *err);
/// A goal from one frame of markers: known where they sit. map: of this take on this rig. The head's motion is taken
/// out by the markers that hold still. *used (nullable): markers that say something. FA_E_ARG: too few are seen.
FA_API FaCode fa_muscle_goal_markers(FaMuscleModel *model, const FaMarkerTake *take, const FaMarkerMap *map, int frame,
                                     float *goal, unsigned char *known, int *used, FaError *err);

/// The surface of a directed pose at `part` of the way from the neutral, 0..1, made from rest (nvert x 3, m, head
/// frame). report is nullable. FA_E_ARG: a pose of another face. FA_STALLED: not quite at rest, usable.
FA_API FaCode fa_muscle_direct(FaMuscleModel *model, const FaDirected *pose, double part, float *surface,
                               FaMusclePosed *report, FaError *err);

// --- edits --------------------------------------------------------------------------------------------------------

enum { FA_MUSCLE_CURVE_MOST = 32 };
/// How long a muscle is for how strongly it pulls alone, from the neutral: activations rise, lengths do not.
typedef struct FaMuscleCurve {
    int n;                                   // at least 2
    double activation[FA_MUSCLE_CURVE_MOST]; // 0..1
    double length[FA_MUSCLE_CURVE_MOST];     // m: of the fibre in its middle
} FaMuscleCurve;
/// Found when first asked for (six poses), or of a file that was loaded.
FA_API FaCode fa_muscle_curve(FaMuscleModel *model, int muscle, FaMuscleCurve *curve, FaError *err);
FA_API double fa_muscle_curve_activation(const FaMuscleCurve *curve, double length); // 0..1
/// The curves of all muscles as a table to be looked at and changed (JSON): {"muscles": {"risorius.L": [[0, 41.2], ...,
/// [1, 30.5]]}}, activation and mm. Minutes where none is known yet. progress is nullable.
FA_API FaCode fa_muscle_curves_save(FaMuscleModel *model, FaProgressFn *progress, void *user, const char *path,
                                    FaError *err);
/// Those of a file in place of ours; muscles that it does not name keep theirs.
FA_API FaCode fa_muscle_curves_load(FaMuscleModel *model, const char *path, FaError *err);

/// A pose with edits: JSON as docs/guide/muscle.md has it: {"unit": "mm", "edits": [{"muscle": "inc_*", "move":
/// {"medial": 8}}, ...]}. Muscles whose tracks are edited are sprung from then on; those that were, stay so. Nothing is
/// simulated but for activations by length. FA_E_FORMAT and FA_E_ARG name the place in the JSON. Free with
/// fa_directed_free.
FA_API FaCode fa_directed_edit(FaMuscleModel *model, const FaDirected *pose, const char *json, FaDirected **edited,
                               FaError *err);
FA_API FaCode fa_directed_edit_file(FaMuscleModel *model, const FaDirected *pose, const char *path, FaDirected **edited,
                                    FaError *err);
FA_API void fa_directed_spring(FaDirected *pose, double spring); // N/m4: how firmly its muscles drag the flesh
/// A pose while it is dragged: from where fa_muscle_direct or fa_muscle_drag left the flesh, and so soon, but not to
/// the bits of fa_muscle_direct. Before any pose: from rest. No allocation after the first call.
FA_API FaCode fa_muscle_drag(FaMuscleModel *model, const FaDirected *pose, float *surface, FaMusclePosed *report,
                             FaError *err);
/// The middle of a muscle as its track has it at `part` of the way: a line of n points from origin to insertion, m (n x
/// 3).
FA_API FaCode fa_directed_line(FaMuscleModel *model, const FaDirected *pose, int muscle, double part, int n, float *x,
                               FaError *err);

/// Are these edits that a clip can have (fa_method_open("muscle"), parameter `edits`), of muscles that there are?
/// FA_E_FILE, FA_E_FORMAT with the JSON path, FA_E_ARG.
FA_API FaCode fa_muscle_clip_edits_check(const FaMuscleModel *model, const char *path, FaError *err);

// --- all shapes of a rig, for clips -------------------------------------------------------------------------------

typedef struct FaMuscleShapesOptions {
    const unsigned char *wanted; // nonzero: of these shapes; NULL: of all                            (nshape)
    const char *partial;         // a file that finished shapes are kept in, and taken from; NULL: none
    FaProgressFn *progress;      // nullable
    void *progress_user;
} FaMuscleShapesOptions;
FA_API FaMuscleShapesOptions fa_muscle_shapes_options_default(void); // all 0

typedef struct FaMuscleShapesReport {
    int shapes, made;    // that the face has now; of them made by this call
    int plain;           // of them move nothing that muscles could: they are added as they are
    double neutral, rms; // m: skin against the shape, mean over shapes: at rest, and as muscles make it
    const char *worst;   // the shape that muscles come least near to; of the rig; NULL: none
    double worst_rms;    // m
    double seconds;
} FaMuscleShapesReport;

/// Target each shape of the rig once, at weight 1 (fa_muscle_target), and keep what came out in the face, with its
/// muscles: what the method "muscle" plays clips with (fascia/method.h). Shapes that the face or the partial file has
/// already are not made again. As many at once as there are threads, at most 4; the bits do not depend on it, nor on
/// what was there. Seconds for each. model: of this face. options, report: nullable.
FA_API FaCode fa_muscle_shapes(FaMuscleModel *model, FaFace *face, const FaMuscleShapesOptions *options,
                               FaMuscleShapesReport *report, FaError *err);
/// Which shapes the face has muscles for, as they are now (nshape): 1, else 0.
FA_API FaCode fa_muscle_shapes_kept(FaMuscleModel *model, const FaFace *face, unsigned char *kept, FaError *err);

// --- the same pose on another head ----------------------------------------------------------------------------------

typedef struct FaMuscleRetargetOptions {
    bool raw;               // activations and jaw alone, without tracks: for comparison
    double inside;          // share of a muscle in the flesh, on both heads, from which on it follows a track; 0: 0.93
    double snap;            // 0..1: how much of the sculpt that no muscle makes goes along
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaMuscleRetargetOptions;
FA_API FaMuscleRetargetOptions fa_muscle_retarget_options_default(void); // all 0

typedef struct FaMuscleRetargeted {
    int muscles;             // of the second face that the pose has
    int tracks;              // of them along tracks of their own
    int outside;             // of them that follow their activation alone: not enough of them is in the flesh
    int missing;             // muscles that pull in the pose and that the second face does not have:
    char missing_names[400]; //   "risorius.L, ..."
    double size;             // of the second head against the first
    double jaw_ratio;        // of its jaw's opening against the first one's
    bool jaw_lost;           // the pose moves the jaw, and no shape of the second rig shows how its jaw turns
    double open;             // of its jaw, degrees
    double snap_fit;         // m: rms distance of the two skins as they were laid over each other; 0: the same mesh
    char snap_lost[320];     // why the snap could not be taken along; "": it was, or was not asked for
    double seconds;
} FaMuscleRetargeted;

/// A directed pose of one face as one of another: activations by the names of muscles, the jaw by the ratio of the two
/// rigs' own about the second one's hinge, tracks by how the muscles' surfaces deform. out: of `to`, for
/// fa_muscle_direct; free with fa_directed_free. Nothing is simulated. options and report are nullable. FA_E_ARG: the
/// pose is not of `from`.
FA_API FaCode fa_muscle_retarget(FaMuscleModel *from, const FaDirected *pose, FaMuscleModel *to,
                                 const FaMuscleRetargetOptions *options, FaDirected **out, FaMuscleRetargeted *report,
                                 FaError *err);
/// The same by deformation transfer of the skin alone, without muscles: for comparison. posed: vertices of the first
/// rig; surface: of the second (m, head frame). closest: even where both are the same mesh, what lies nearest
/// corresponds. fit: nullable. FA_E_MESH: the skins cannot be laid over each other.
FA_API FaCode fa_muscle_retarget_skin(const FaMuscleModel *from, const float *posed, const FaMuscleModel *to,
                                      bool closest, float *surface, double *fit, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

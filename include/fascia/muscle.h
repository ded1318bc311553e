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
    double seconds;
} FaMusclePosed;

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

typedef struct FaMuscleTargetOptions {
    int rounds;             // at most; 0: 5
    double spring;          // N/m4: how firmly muscles drag the flesh along their tracks; 0: 5e9
    bool untouched;         // lips, lids and teeth do not touch: for comparison
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaMuscleTargetOptions;
FA_API FaMuscleTargetOptions fa_muscle_target_options_default(void); // all 0

typedef struct FaMuscleTargeted {
    double activation[FA_MUSCLES_MOST];
    double open;                           // of the jaw, degrees
    double neutral;                        // m: rms of the face's skin, at rest against the goal
    double rms[FA_MUSCLE_ROUNDS_MOST + 1]; // by activations alone, then after each round
    int rounds, best;                      // the best one is what you get
    int inverted;                          // tets
    double volume_change;                  // of the flesh, relative
    double seconds;
} FaMuscleTargeted;

/// Muscles that bring the skin to a goal: activations and a jaw by which the face comes nearest, then rounds in which
/// what is missing is carried into the flesh and added to the tracks that muscles pull it along. goal: the rig's
/// vertices, m, head frame (nvert x 3). weights: those of the goal where it is a pose of the rig's shapes, for its jaw
/// (nshape); NULL: the jaw is found. surface: where the flesh brings the skin (nvert x 3); what goal - surface still
/// is, is the sculpt that no muscle makes: add it, or a part of it, for the exact shape. options and report are
/// nullable. Seconds. FA_E_ARG: a goal that is no pose of this face, more than a head away.
FA_API FaCode fa_muscle_target(FaMuscleModel *model, const float *goal, const float *weights,
                               const FaMuscleTargetOptions *options, float *surface, FaMuscleTargeted *report,
                               FaError *err);

#ifdef __cplusplus
}
#endif
#endif

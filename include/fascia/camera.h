// fascia/camera.h: a face and its head's motion from landmarks that a camera's pictures gave: who it is, what it does,
// where.
//
// A take, offline:  fa_face_model_head (or _load), fa_landmarks_load, fa_camera_fit, then fa_camera_clip (weights and
// head
//                   motion), fa_camera_markers (virtual markers on a rig) or fa_camera_overlay (a picture to judge it
//                   by); fa_camera_fit_free, fa_face_model_free.
// Live:             fa_camera_tracker_new, fa_camera_tracker_step per frame (no allocation), fa_camera_tracker_free.
//
// The model is linear (thesis 001 eq. 6.1): mean + identities x who + expressions x what; a pinhole camera looks at it.
// The fit minimises the distance of its landmarks to those seen (eq. 6.3) with priors (eq. 6.2): Gauss-Newton on pose,
// expression in 0..1 and one identity for the whole take, robust against landmarks that are wrong. The camera's frame:
// x to the right, y down, z away from the camera, metres; the principal point is the picture's middle. One picture
// cannot tell a large head from a near one: the size is the prior's, and distances are as right as that is.
#ifndef FASCIA_CAMERA_H
#define FASCIA_CAMERA_H

#include "fascia/head.h"
#include "fascia/markers.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- the model ----------------------------------------------------------------------------------------------------

/// A parametric face. Read only for users; const once its landmarks are set, then any thread may use it.
typedef struct FaFaceModel {
    const char *name;      // "the shipped head", or the rig's path
    int nid;               // identities; 0: the face is the rig's own
    int nexp;              // expressions
    const char **id_name;  //                                                                        (nid)
    const char **exp_name; // ARKit's name where the whole shape has one, else the rig's              (nexp)
    const float *id_lo;    // range in standard deviations                                           (nid)
    const float *id_hi;    //                                                                        (nid)
    const float *identity; // m per standard deviation                                               (nid x nvert x 3)
    const FaRig *rig;      // the mean face, and the expressions as its shapes, in this order
    FaNotes notes;         // what was odd: landmarks that are missing, identities that do not fit
    struct FaModelRows *rows[2]; // what the landmarks see: 68, and 468/478
    FaRig *own;                  // the rig, where the model made it
    struct FaArena *arena;
} FaFaceModel;

/// The shipped head: its 40 identity parameters, made linear at the mean, and its 52 ARKit shapes; all landmark
/// layouts. Takes a tenth of a second.
FA_API FaCode fa_face_model_head(FaFaceModel **model, FaError *err);

typedef struct FaFaceModelOptions {
    const char *rig;         // file or folder: neutral + expression shapes, as fa_rig_load reads
    const FaRigOptions *how; // of that; nullable
    const char *identities;  // a folder of .obj, or one file: the same vertices, neutral + one standard deviation each;
                             // NULL: the face is the neutral
    int max_identities;      // in order of name; 0: all
    const char
        *landmarks; // where landmarks sit. JSON: {"0": 123 | {"tri": .., "bary": ..}, "1": ..}, as marker maps, names
                    // ending in the landmark's number; an array of vertices; or ICT-FaceKit's vertex_indices.json
    FaLandmarkLayout layout; // of that file
    const char *landmarks2;  // a second one, of the other layout; nullable
} FaFaceModelOptions;
FA_API FaFaceModelOptions fa_face_model_options_default(void); // all 0; a rig has to be named
/// The user's own. Identities whose vertices do not match are an error.
FA_API FaCode fa_face_model_load(const FaFaceModelOptions *options, FaFaceModel **model, FaError *err);

/// From what is in memory: rig is borrowed and must outlive the model; identity (nid x nvert x 3, m) and names are
/// copied.
FA_API FaCode fa_face_model_new(const FaRig *rig, int nid, const char *const *id_name, const float *identity,
                                FaFaceModel **model, FaError *err);
/// Say where the landmarks of a layout sit: points on the rig's mesh, vert[0] < 0 where there is none; weight: trust,
/// >= 0, NULL: all 1. Both: as many as the layout has. At least six points. 468 and 478 share one table (give 478 or
/// 468 points).
FA_API FaCode fa_face_model_landmarks(FaFaceModel *model, FaLandmarkLayout layout, const FaMarkerPoint *point,
                                      const float *weight, FaError *err);
FA_API bool fa_face_model_has(const FaFaceModel *model, FaLandmarkLayout layout);

/// How much of each expression these landmarks can see, 0..1: the share of a weight's prior variance that one frontal
/// picture with half a pixel of noise on a face 400 pixels high removes (dims 3: metric points with a noise of 0.25
/// mm). Below 0.5 a weight is mostly the prior: tongueOut, cheekPuff, and what differs from another shape only where no
/// landmark is. (nexp)
FA_API FaCode fa_face_model_seen(const FaFaceModel *model, FaLandmarkLayout layout, int dims, float *seen,
                                 FaError *err);
/// The face of this identity and expression, head frame, m. identity and weight are nullable (0). x: rig->mesh.nvert
/// x 3.
FA_API void fa_face_model_face(const FaFaceModel *model, const float *identity, const float *weight, float *x);
FA_API void fa_face_model_free(FaFaceModel *model); // NULL is fine

// --- the fit ------------------------------------------------------------------------------------------------------

typedef struct FaCameraOptions {
    double focal_px;        // of the camera; 0: estimated once for the take (live: from width and height)
    double smooth;          // how still a still face is: 1; 0: every frame by itself; 2: twice as slow to follow
    double id_prior;        // weight of the identity's prior (eq. 6.2): 1
    double exp_prior;       // weight of the expression's prior: 1
    double sparse;          // weight of an L1 term on expressions, in favour of few: 1
    double z_weight;        // trust in MediaPipe's z against x and y: 0.1; 0: not used
    int id_frames;          // frames that decide the identity: 24
    const float *identity;  // known already, kept; NULL: found                                       (nid)
    double hold;            // s: live, how long a lost face keeps its expression: 0.3
    double ease;            // s: how slowly it then relaxes, and how it comes back: 0.4
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaCameraOptions;
FA_API FaCameraOptions fa_camera_options_default(void);

/// A take whose file does not say how large the pictures are (1 x 1): a usual size or shape is taken, a note says
/// which, and shares of the sides become pixels. Of shares, the shape is the one in which some frames look most like a
/// face: tell it if you know.
FA_API FaCode fa_camera_picture(const FaFaceModel *model, FaLandmarkTake *take, FaError *err);

/// What was found. Plain data.
typedef struct FaCameraFit {
    int nframe;
    int nexp, nid;
    FaLandmarkLayout layout;
    bool metric; // from metric landmarks: no camera
    double fps, width, height;
    double focal;      // pixels
    bool focal_found;  // estimated, not given
    double *time;      // s                                                                      (nframe)
    FaPose *pose;      // camera from head                                                       (nframe)
    float *weight;     // expressions, 0..1                                                      (nframe x nexp)
    float *identity;   // standard deviations                                                    (nid)
    unsigned char *ok; // 1: fitted; 0: no face there, the frames around it are joined smoothly  (nframe)
    float *error; // reprojection, root mean square over the landmarks in use, pixels (metric: mm); NAN: lost  (nframe)
    int *used;    // landmarks in use, outliers not counted                                 (nframe)
    double error_rms;   // over all frames, the same unit
    double error_worst; // worst frame
    int worst_frame;    // -1: none
    double noise;       // of the landmarks from frame to frame, the same unit
    double face_px;     // size of the face in the pictures (median), pixels
    double seconds;     // it took
    FaNotes notes;      // "face-lost", "fit-poor", "focal-unsure", "landmarks-outlying", ...
} FaCameraFit;

/// Fit a take. options NULL: defaults. Fails where the model lacks the layout or no frame shows six landmarks.
/// FA_STALLED: some frames fit badly (see the notes). *fit is NULL on failure. Same bits for any thread count.
FA_API FaCode fa_camera_fit(const FaFaceModel *model, const FaLandmarkTake *take, const FaCameraOptions *options,
                            FaCameraFit **fit, FaError *err);
FA_API void fa_camera_fit_free(FaCameraFit *fit); // NULL is fine

// --- live ---------------------------------------------------------------------------------------------------------

typedef struct FaCameraFrame {
    double time;             // s; increasing, else the nominal step is taken
    const float *x;          // as in FaLandmarkTake; not finite: missing                            (count x dims)
    const float *visibility; // 0..1; NULL: all 1                                                    (count)
} FaCameraFrame;

typedef struct FaCameraState {
    FaPose pose;         // camera from head
    FaPose world;        // world from head, as in fa_camera_clip: y up, z towards the camera, first frame at the origin
    const float *weight; // valid until the next step                                              (nexp)
    const float *identity; //                                                                        (nid)
    bool ok;               // a face was fitted; else held or easing
    int used;              // landmarks, outliers not counted
    double error;          // reprojection, rms, pixels (metric: mm)
    double settled;        // of the identity, 0..1; 1: it changes no more
} FaCameraState;

/// What its landmarks are.
typedef struct FaCameraInput {
    FaLandmarkLayout layout;
    int dims;             // 2 or 3
    bool metric;          // m, not pixels
    double width, height; // of the pictures, pixels; metric: ignored
    double fps;           // the nominal step
} FaCameraInput;

typedef struct FaCameraTracker FaCameraTracker;
/// options NULL: defaults. The model must outlive it. One thread per tracker.
FA_API FaCode fa_camera_tracker_new(const FaFaceModel *model, const FaCameraInput *input,
                                    const FaCameraOptions *options, FaCameraTracker **tracker, FaError *err);
/// One frame. No allocation. Returns FA_CLAMPED when no face could be fitted (the state is held or easing).
FA_API FaCode fa_camera_tracker_step(FaCameraTracker *tracker, const FaCameraFrame *frame, FaCameraState *state);
FA_API void fa_camera_tracker_reset(FaCameraTracker *tracker, bool keep_identity); // another person, or a cut
FA_API void fa_camera_tracker_free(FaCameraTracker *tracker);                      // NULL is fine

// --- what it is good for ------------------------------------------------------------------------------------------

/// Weights by the model's expression names, and the head's motion: world from head, y up, z towards the camera, metres,
/// the head's origin at 0 in the first frame that shows a face.
FA_API FaCode fa_camera_clip(const FaCameraFit *fit, const FaFaceModel *model, FaClip **clip, FaError *err);

/// Virtual markers (eq. 6.4) where the map's points are on the rig, in the rig's frame; head poses in take->head. A rig
/// with the model's expressions (by name or by ARKit) moves its own points; for another one (names unlike, or `warp`)
/// the model's surface at those places moves, and a thin-plate warp takes its proportions to the rig's
/// (thesis 5.2.2.3).
FA_API FaCode fa_camera_markers(const FaCameraFit *fit, const FaFaceModel *model, const FaRig *rig,
                                const FaMarkerMap *map, bool warp, FaMarkerTake **take, FaError *err);

/// A PNG of one frame: landmarks as seen (discs, yellow), the model's (crosses, cyan) joined to them, and the fitted
/// face's wires. background: a PNG of the picture itself, nullable (dark grey then, at the take's size).
FA_API FaCode fa_camera_overlay(const FaCameraFit *fit, const FaFaceModel *model, const FaLandmarkTake *take, int frame,
                                const char *background, const char *path, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

// One frame of the camera's fit (thesis 001 eq. 6.2, 6.3): pose and expression of a face whose identity is known, and
// what the frame says about that identity.
//
//     E = sum_i a_i rho(|Pi(Q s_i + t) - l_i|)  +  s^2 ( id_prior |id|^2 + exp_prior |exp|^2 / 0.5^2 + 2 sparse 3
//     |exp|_1 )
//
// in pixels; rho: Geman-McClure, so that a landmark that is wrong loses its say; s: noise of the landmarks, what they
// miss on the model included; 0 <= exp <= 1. Metric landmarks: Pi scales metres to pixels of a face that is 400 high.
// Gauss-Newton with damping; the step is a quadratic program with bounds (math/nnls.h).
//
// Unknowns of a frame, in order: 3 of a small rotation (camera axes, rad), 3 of a translation (m), the expressions;
// then those shared by all frames: the identities and the log of the focal length.
#ifndef FAI_CAMERA_FIT_H
#define FAI_CAMERA_FIT_H

#include "math/nnls.h"
#include "track/face_model.h"

enum { FA_FIT_MIN = 6 };        // landmarks that a frame must show
#define FA_FIT_METRIC_PX 2000.0 // pixels per metre of metric landmarks
#define FA_FIT_FOCAL_SD 0.25    // of the log of an unknown focal length

// What does not change over a take.
typedef struct FaFitSetup {
    const FaFaceModel *model;
    const FaModelRows *rows;
    int n;    // landmarks in use
    int dims; // of the input
    bool metric;
    double cx, cy; // principal point, pixels
    double focal0; // given, or where the prior is, pixels
    bool focal_free;
    bool id_fixed; // given by the caller
    double id_prior, exp_prior, sparse,
        z_weight; // the first three times n / 100 where that is over 1: errors of landmarks that lie
                  // close are alike, and count as often as there are landmarks
} FaFitSetup;

// What all frames share.
typedef struct FaFitShared {
    double focal;
    double sigma;  // noise with mismatch, pixels per coordinate
    double jitter; // the part of it that changes from frame to frame; 0: not known
    double *id;    // (nid)
    double *face;  // the landmarks of this identity without expression, m    (n x 3)
} FaFitShared;

typedef struct FaFitSeen { // the landmarks of one frame
    double *x;             // pixels, or m                                         (n x 3)
    double *a;             // trust x visibility; 0: missing                       (n)
    int count;             // with a > 0
    double size;           // twice the root mean square distance from their middle, pixels (metric: scaled)
} FaFitSeen;

typedef struct FaFitPose {
    double r[9], t[3]; // camera from head
} FaFitPose;

typedef struct FaFitVars {
    FaFitPose pose;
    double *w; // expressions                                       (nexp)
} FaFitVars;

typedef struct FaFitReport {
    bool ok;       // enough landmarks, and it looks like a face
    bool behind;   // it fits from behind only: the landmarks are a mirror image
    double cost;   // E of the frame, pixels^2
    double rms;    // distance over those used, pixels
    double median; // of the distances of all, pixels
    int used;      // landmarks whose say is over a quarter
    int steps;
} FaFitReport;

typedef struct FaFitWork FaFitWork; // scratch of one thread
FaCode fai_fit_work_new(const FaFitSetup *setup, FaFitWork **work, FaError *err);
void fai_fit_work_free(FaFitWork *work);

FaCode fai_fit_setup(const FaFaceModel *model, const FaCameraInput *in, const FaCameraOptions *options,
                     FaFitSetup *setup, FaError *err);                 // fps is not looked at
void fai_fit_shared_set(const FaFitSetup *setup, FaFitShared *shared); // face from id
// Take in a frame: x is layout count x dims, visibility nullable.
void fai_fit_see(const FaFitSetup *setup, int count, const float *x, const float *visibility, FaFitSeen *seen);

// From nothing: several starts where the first does not fit. From vars: a few steps.
FaFitReport fai_fit_cold(FaFitWork *work, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                         FaFitVars *vars);
FaFitReport fai_fit_warm(FaFitWork *work, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                         FaFitVars *vars, int steps);
FaFitReport fai_fit_judge(FaFitWork *work, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                          const FaFitVars *vars); // no step

// What the frame says about the shared unknowns (ns = nid + 1) once pose and the expressions off their bounds are
// solved for: minimise 1/2 d'Sd - g'd over their change d. s: ns x ns, g: ns; no prior inside. False: nothing.
bool fai_fit_shared_info(FaFitWork *work, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                         const FaFitVars *vars, double *s, double *g);

// The data part of the equations at vars, for tests: energy with every landmark at full say (1/2 sum a |r|^2), its
// gradient by all unknowns (6 + nexp + nid + 1), and the residuals at vars (3n, pixels).
double fai_fit_gradient(FaFitWork *work, const FaFitSetup *setup, const FaFitShared *shared, const FaFitSeen *seen,
                        const FaFitVars *vars, double *grad, double *residual);
void fai_fit_turn(FaFitPose *pose,
                  const double w[3]); // rotation by the vector w in camera axes, about the head's origin

// --- in time (camera_fit_filter.c) --------------------------------------------------------------------------------

// A value's smoothing follows its own noise: still, it averages over long; moving faster than the noise explains, it
// follows.
typedef struct FaFitFilter {
    int n;    // 3 groups of the pose (rotation, place across, depth), then the expressions
    int seen; // frames so far
    double smooth;
    double *noise;  // standard deviation per channel                      (n)
    double *edge;   // of whole takes: bends that are no noise             (n)
    double *state;  // quaternion 4, centre 3, expressions: what is shown  (7 + nexp)
    double *raw[2]; // the last two frames as fitted
    double *speed;  // per frame, slow                                     (7 + nexp)
} FaFitFilter;

bool fai_filter_new(FaFitFilter *filter, int nexp, double smooth, FaArena *arena);
void fai_filter_reset(FaFitFilter *filter);
// in, out: quaternion (camera from head), centre of the face (camera frame, m), expressions: 7 + nexp. learn: also
// measure the noise. rate: frames per second.
void fai_filter_step(FaFitFilter *filter, const double *in, double rate, bool learn, double *out);
// Noise of a whole take: lower quartiles of second differences. raw: nframe x (7 + nexp), ok: nframe.
void fai_filter_noise(FaFitFilter *filter, int nframe, const double *raw, const unsigned char *ok, double *scratch);

// A whole take, looking ahead: no lag. out: nframe x (7 + nexp); scratch: 2 (7 + nexp).
void fai_filter_take(FaFitFilter *filter, int nframe, const double *raw, double rate, double *out, double *scratch);
void fai_filter_mix(int nexp, const double *a, const double *b, double share,
                    double *out); // from a (0) to b (1); out may be a

// Where the irises are seen, a closed eye does not tell where it looks. channel[side]: the lid's expression, then the
// four of the gaze; -1: there is none. False: no irises.
bool fai_gaze_channels(const FaFitSetup *setup, int channel[2][5]);
bool fai_gaze_hidden(const int channel[5], const double *value); // value: 7 + nexp
void fai_gaze_take(const FaFitSetup *setup, int nframe, double *raw,
                   FaFitFilter *filter); // joined over blinks, edges kept
void fai_gaze_keep(const int channel[5], const double *from, double *to);

void fai_fit_pack(const FaFitSetup *setup, const FaFitVars *vars, double *value);          // vars to 7 + nexp
void fai_fit_unpack(const FaFitSetup *setup, const double *value, FaPose *pose, float *w); // and to what is given out
void fai_fit_load(const FaFitSetup *setup, const double *value, FaFitVars *vars);          // 7 + nexp to vars
// Sum of fai_fit_shared_info over frames (s: ns x ns, g: ns, destroyed) and the priors, for as many frames: the new id
// and focal, within bounds and not too far. *unsure: standard deviation of the focal's log. Returns the largest change.
double fai_fit_shared_step(const FaFitSetup *setup, FaFitShared *shared, double *s, double *g, double frames,
                           FaNnls *nnls, double *scratch, double *unsure); // scratch: 3 ns
double fai_fit_sigma(const FaFitSetup *setup, double median, double size); // from a median distance
// How unlike two frames are: turns of 10 degrees, expressions of 0.3 (a, b: 7 + nexp).
double fai_fit_unlike(int nexp, const double *a, const double *b);
void fai_fit_world(const FaPose *camera, const FaPose *first, bool up, FaPose *world); // y up, the first at 0

#endif

// The control: markers or weights to a surface, frame by frame, as the method "blendforces" does it live and a drive
// (fascia/drive.h) over a whole take.
//
//     fai_control_step        one frame as it comes
//     fai_control_solve ->    FaControlFrame (weights, skin, coefficients of the residual)  -> fai_control_surface
//                             the same in two halves, so that the residual may be filtered over frames that come later
#ifndef FAI_CONTROL_H
#define FAI_CONTROL_H

#include "base/base.h"
#include "blendforces/control_forces.h"
#include "blendforces/jaw_carry.h"
#include "blendforces/spread.h"
#include "fascia/drive.h"
#include "method/method.h"

// What experiments turn; 0: the default.
typedef struct FaControlTuning {
    bool separate; // the residual pass after an ordinary least squares: no joint metric, no arcs (the baselines)
    bool straight; // no arcs
    double noise;  // variance of a marker's error against the residual's own; < 0: none, the markers are met
    FaSpreadOptions spread;
    FaForceOptions forces;
    double ridge; // of forces; < 0: none
    double keep;  // share of the velocity that is kept
} FaControlTuning;

typedef struct FaControl FaControl;

// What a frame's solve found.
typedef struct FaControlFit {
    int used;       // markers
    double before;  // m, mean distance of the used markers before the residual pass
    double after;   // m, after it
    double inside;  // m, rms of the markers' motion that the shapes can make (their non-negative span)
    double outside; // m, rms of what they cannot
    int held;       // 1: no marker was usable, the last frame is held and eases off
    double seconds;
} FaControlFit;

// A solved frame; its arrays are the caller's (fai_control_frame_new).
typedef struct FaControlFrame {
    float *weights; // of the shapes                                             (nshape)
    float *carried; // those that pose the jaw: weights of all shapes            (nshape)
    float *d;       // skin in the rest frame, displacements; NULL: the shapes'  (nskin x 4)
    double *coef;   // of the residual, in the rest frame, unfiltered            (npoint x 3)
    FaControlFit fit;
} FaControlFrame;

// rig, face and map are needed while it is open; face may be NULL for SBS and RSBS without the residual pass. AUTO: as
// BF. options (fps 0: 60; smooth 0: 1.5) and tuning NULL: defaults. *control is NULL on failure.
FaCode fai_control_open(const FaRig *rig, const FaFace *face, const FaMarkerMap *map, const FaDriveOptions *options,
                        const FaControlTuning *tuning, FaControl **control, FaError *err);
void fai_control_free(FaControl *control);  // NULL is fine
void fai_control_reset(FaControl *control); // the next frame is a first one: the face at rest
// One frame as it comes, without allocation. markers: in the map's order, head frame, m; those that are not ok or not
// finite are missing. time: s, increasing. surface: nvert x 3, m, head frame. weights (nullable): nshape, the shapes'
// own best account of the frame; fit is nullable. The residual is filtered as frames come: level and trend, without lag
// for what changes steadily. FA_CLAMPED: no marker is usable.
FaCode fai_control_step(FaControl *control, const FaMarkers *markers, double time, float *surface, float *weights,
                        FaControlFit *fit, FaError *err);
// The same from weights (nshape) that go from `was` at `from` to `weights` at `time`: they are the commands of the
// forces, or the shapes' own; what was left of a residual eases off.
FaCode fai_control_follow(FaControl *control, double from, const float *was, double time, const float *weights,
                          float *surface, FaError *err);
// From the neutral to where these weights would hold it for ever.
void fai_control_settle(FaControl *control, const float *weights, double time, float *surface);
const float *fai_control_weights(const FaControl *control);    // of the last frame                            (nshape)
void fai_control_stream(FaControl *control, FaStream *stream); // all that is kept between frames
FaCode fai_control_frame_new(const FaControl *control, FaArena *arena, FaControlFrame *frame, FaError *err);
// trust: weight of each marker of the map from now on; NULL: the options'.
void fai_control_trust(FaControl *control, const float *trust);
// Markers in the map's order. FA_CLAMPED: none is usable.
FaCode fai_control_solve(FaControl *control, const FaMarkers *markers, double time, FaControlFrame *frame,
                         FaError *err);
// coef: filtered ones (npoint x 3); NULL: none.
void fai_control_surface(FaControl *control, const FaControlFrame *frame, const double *coef, float *surface);
int fai_control_npoint(const FaControl *control);        // markers that are mapped
int fai_control_left(const FaControl *control);          // shapes that repeat others and stay at rest (rig/bind.h)
const int *fai_control_points(const FaControl *control); // their places in the map                         (npoint)
// How little each marker was believed in the last frame: 1 fully .. 0, by its distance from where the others put it
// (npoint).
const float *fai_control_belief(const FaControl *control);
// Arcs (control_arc.h): the share of each shape's that is used, 0 to begin with (nshape). And what a solved frame says
// about them: normal equations of the residual against the arcs at the frame's weights, added to g (nshape x nshape)
// and right (nshape).
bool fai_control_has_arcs(const FaControl *control);
void fai_control_set_arcs(FaControl *control, const double *gain);
void fai_control_arc_evidence(FaControl *control, const FaControlFrame *frame, double *g, double *right);
void fai_control_set_noise(FaControl *control, double noise); // as in the tuning, > 0
// What a weight off 0 costs, m2: the variance of what the shapes leave over that of a weight (until set: by the size of
// the columns).
void fai_control_set_ridge(FaControl *control, double ridge);
// The jaw of the take (fai_jaw_set_more); nothing where there is no frame of the jaw.
bool fai_control_has_jaw(const FaControl *control);
void fai_control_set_jaw(FaControl *control, const double more[3]);
// Markers less their points at the shapes' own solve, times the root of their weights, m (npoint x 3). Returns the
// weight of the shape that opens the jaw.
double fai_control_miss(FaControl *control, const FaMarkers *markers, FaControlFrame *frame, double *miss);
// The residual pass with all markers there and their noise as the control's (0) or the one given; NULL: there is none.
// The next frame makes its own again.
const FaSpread *fai_control_even_metric(FaControl *control, double noise);
double fai_control_noise_of(const FaControl *control, int point); // of a marker that is believed
// Commands of the last frame, pass after pass, and a frame made again from them: the same d as solved, without markers.
int fai_control_passes(const FaControl *control);             // 0: shapes alone, nothing to replay
const double *fai_control_commands(const FaControl *control); //                                 (passes x nshape)
void fai_control_replay(FaControl *control, const double *commands, double time,
                        FaControlFrame *frame); // sets frame->d
// Where a solved frame puts the markers' points, offsets included (npoint x 3). coef: filtered; NULL: none.
void fai_control_predict(FaControl *control, const FaControlFrame *frame, const double *coef, double *at);

#endif

// What the files of the control share: its state.
#ifndef FAI_CONTROL_WORK_H
#define FAI_CONTROL_WORK_H

#include "blendforces/control.h"
#include "blendforces/control_arc.h"
#include "blendforces/control_fit.h"
#include "blendforces/shape_solve.h"

struct FaControl {
    const FaRig *rig;
    const FaFace *face; // NULL: none
    const FaMarkerMap *map;
    FaDriveKind kind; // never AUTO
    bool literal, joint, residual;
    int relinearise;
    double fps, smooth, noise, ridge, keep, l1;

    // made once
    int npoint;
    int *place;            // in the map                                          (npoint)
    FaSurfacePoint *point; //                                                     (npoint)
    FaSpreadPoint *skin;   // the same on the face's nodes                        (npoint)
    float *given, *trust;  // weights of the markers: options', now               (npoint)
    bool offsets;          // some marker is off the surface
    double *rest;          // points of the neutral                               (npoint x 3)
    double *corner;        // shapes at the points' corners, where there are offsets (nshape x npoint x 9)
    unsigned char *use;    // 0: a shape that repeats others (rig/bind.h), stays at 0 (nshape)
    int left;              // how many of those
    FaJawCarry *jaw;       // NULL: none
    FaShapeSolver *shapes;
    FaBlender *blender; // of the rest frame's shapes
    FaArcs *arcs;       // NULL: shapes on straight lines
    FaBlender *arc_blender;
    float *arc_gain;       // share of each shape's arc that is used, 0 at first   (nshape)
    double *arc_columns;   // arcs at the points                                  (nshape x npoint x 3)
    FaForces *forces;      // BF
    FaSpread *spread;      // NULL: no residual pass, and no joint metric
    FaCommandFit *command; // columns of forces, or of shapes in the rest frame

    // of a frame
    float *x;                               // surface points wanted: markers less their offsets   (npoint x 3)
    float *offset;                          // as the skin turns them now                          (npoint x 3)
    unsigned char *seen;                    //                                                     (npoint)
    float *belief, *weight;                 // and trust times belief                              (npoint)
    float *guess;                           // points at the shapes' solution                      (npoint x 3)
    double *frame;                          // of the jaw                                          (npoint x 12)
    double *t, *q, *r, *at;                 // rest frame, displacements                           (npoint x 3)
    double *bow;                            // what the arcs add at the points                     (npoint x 3)
    float *arc_weight;                      //                                                     (nshape)
    float *surface2;                        // what they add to the surface                        (nvert x 3)
    double *noise_of, *metric, *metric_now; //                                      (npoint)
    bool metric_fresh;                      // the command's metric was never made
    double *u, *lo, *hi;                    //                                                     (nshape)
    double *pass; // commands of each pass                               (relinearise x nshape)
    double *sort; //                                                     (npoint)
    float *move;  // skin against the shapes' surface, rest frame        (nskin x 4)
    FaJawTable table;

    // between frames
    bool started;
    double time, step;     // s: of the last frame, before it
    float *last;           // weights                                             (nshape)
    double *last_coef;     //                                                     (npoint x 3)
    double *level, *trend; // of the live filter                                  (npoint x 3)
    bool filtering;
    FaControlFrame own;
    FaArena *arena;
};

#endif

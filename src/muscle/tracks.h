// Tracks: where the control points of every muscle go, and the places in the flesh that follow them.
//
// A track is a displacement of control points from rest, c; a sample s of a muscle is to go to
//     y_s = x_s(rest) + B(u_s) c                      displacements, never positions of the solid: where a sample lies
//                                                     and where the solid says it does differ at rest already
// and back: c that moves the samples as a pose does, by least squares over the samples in flesh; second differences of
// the lattice keep control points that no sample tells of in line.
// Based on paper 002, section 4. Deviation: springs act on samples of (tet, muscle), not on the nodes of the flesh, few
// of which lie in a muscle.
#ifndef FAI_TRACKS_H
#define FAI_TRACKS_H

#include "muscle/place.h"
#include "muscle/sample.h"

typedef struct FaMuscleTracks {
    int nsample, nmuscle, npoint; // npoint: control points of all muscles
    int *start;                   // first control point of each muscle, then their number   (nmuscle + 1)
    int *first;                   // first sample of each muscle, then their number           (nmuscle + 1)
    int *entry;                   // first weight of each sample, then their number           (nsample + 1)
    int *point;                   // control point of each weight
    double *weight;
    double *volume;  // m3 that each sample stands for                                         (nsample)
    int *corner;     // nodes of its tet                                                       (nsample x 4)
    double *bary;    //                                                                        (nsample x 4)
    double **factor; // Cholesky of each muscle's normal matrix; NULL: it has no samples       (nmuscle)
    double *scratch; // (npoint)
    FaArena *arena;
} FaMuscleTracks;

// All zero after failure. Free with fai_muscle_tracks_free. Copies what it needs.
FaCode fai_muscle_tracks_new(const FaMuscleFlesh *flesh, const FaMuscles *muscles, const FaMuscleSamples *samples,
                             FaMuscleTracks *out, FaError *err);
void fai_muscle_tracks_free(FaMuscleTracks *tracks);

// A field on the nodes (nnode x 3) at the samples (nsample x 3).
void fai_muscle_tracks_sample(const FaMuscleTracks *t, const double *field, double *at);
// Control points whose samples move like that, best: c (npoint x 3) from d (nsample x 3).
void fai_muscle_tracks_fit(const FaMuscleTracks *t, const double *d, double *c);
// The same for one muscle: its control points alone; d of all samples.
void fai_muscle_tracks_fit_one(const FaMuscleTracks *t, int muscle, const double *d, double *c);
// How samples move with control points: d (nsample x 3) from c (npoint x 3).
void fai_muscle_tracks_at(const FaMuscleTracks *t, const double *c, double *d);

#endif

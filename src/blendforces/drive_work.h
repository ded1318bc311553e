// What the files of the drive share: a take being driven.
#ifndef FAI_DRIVE_WORK_H
#define FAI_DRIVE_WORK_H

#include "blendforces/control.h"

struct FaDrive {
    const FaRig *rig;
    const FaFace *face;
    const FaMarkerMap *map;
    FaDriveOptions o;
    FaMarkerTake *take; // the map's markers in the head frame; never seen where the take has none of that name
    FaClip *clip;       // weights and head motion
    FaControl *control;
    FaControlFrame frame;
    double *commands;    // of every frame, where there are forces                       (nframe x passes x nshape)
    float *coef;         // of the residual, unfiltered                                  (nframe x npoint x 3)
    double *filtered;    // of the frame read                                            (npoint x 3)
    float *carried;      // weights that pose the jaw                                    (nframe x nshape)
    double *arc_gain;    // learnt from the take                                         (nshape)
    double jaw_more[3];  // of the take's jaw, learnt (jaw_carry.h)
    double left;         // noise of a coordinate after the markers were smoothed, m; 0: they were not
    double ridge;        // of the commands, m2; 0: the control's own
    double sigma, noise; // of a coordinate, m; as the control wants it, 0: its default
    double smooth;       // width of the residual's filter, frames; 0: none
    int at;              // the forces are those of this frame; -1: at rest
    FaSequence *seq;
    FaDriveReport report;
    double *per_frame;          //                                                              (4 x nframe)
    int *doubted, *first_doubt; // per marker of the map: frames in which it was not believed, the first (map->count)
    char why[320];
    FaNotes notes;
    FaArena *arena;
};

static inline FaMarkers fai_drive_markers_of(const FaDrive *d, int frame) {
    size_t at = (size_t)frame * (size_t)d->take->nmarker;
    return (FaMarkers){
        .count = d->take->nmarker, .name = d->take->name, .x = d->take->x + 3 * at, .ok = d->take->ok + at};
}

// The take in the head frame, and the head's motion into `head` (nframe; *known false: the head is still). drive_head.c
FaCode fai_drive_head(FaDrive *d, const FaMarkerTake *take, FaPose *head, bool *known, FaError *err);
// Gains of the arcs and the markers' noise, learnt from sampled frames; into d and the control. Nothing where it has no
// arcs. drive_arc.c
FaCode fai_drive_learn_arcs(FaDrive *d, FaControl *control, FaError *err);
// How the take's jaw turns and slides, from sampled frames; into d and the control. Nothing where it has no frame of
// the jaw. drive_jaw.c
FaCode fai_drive_learn_jaw(FaDrive *d, FaControl *control, FaError *err);
static inline void fai_drive_apply_learnt(const FaDrive *d, FaControl *c) {
    fai_control_set_jaw(c, d->jaw_more);
    if (!fai_control_has_arcs(c)) return;
    if (d->ridge > 0) fai_control_set_ridge(c, d->ridge);
    fai_control_set_arcs(c, d->arc_gain);
    if (d->noise > 0) fai_control_set_noise(c, d->noise);
}
// Standard deviation of a coordinate's noise, m; 0 where the take is too short to tell. drive_arc.c
FaCode fai_drive_marker_noise(const FaDrive *d, double *sigma, FaError *err);
// Noisy markers of d->take made smooth in time; sets d->left. drive_smooth.c
FaCode fai_drive_smooth_markers(FaDrive *d, FaError *err);
// The width of the filter, from the coefficients of all frames: sets d->smooth. drive_filter.c
FaCode fai_drive_choose_filter(FaDrive *d, FaError *err);
double fai_kernel_at(double smooth, int frames); // the filter's weight so many frames away, before it is normalised
// Shapes or forces: sets report.kind, why and the figures it was decided by. drive_auto.c
FaCode fai_drive_decide(FaDrive *d, FaError *err);

#endif

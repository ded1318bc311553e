// Rigid and similarity alignment of point sets, and what holds still in a take: the head's pose from markers on a face.
//
// y = scale * R x + t, R a proper rotation: never a reflection, even where one would fit better. Points with a
// coordinate that is not finite, on either side, are missing and skipped. Positions in m, arrays n x 3.
#ifndef FAI_PROCRUSTES_H
#define FAI_PROCRUSTES_H

#include "base/base.h"
#include "fascia/clip.h"

// How much of the alignment the points decide; the rest is chosen as said.
typedef enum FaAlignKind {
    FA_ALIGN_NONE,        // no usable point: the identity
    FA_ALIGN_TRANSLATION, // one point, or all in one place: no rotation, scale 1
    FA_ALIGN_AXIS,        // all in one line: the shortest rotation that turns it to its counterpart
    FA_ALIGN_AMBIGUOUS,   // several rotations fit equally well (a mirrored set that is symmetric): one of them
    FA_ALIGN_FULL,
} FaAlignKind;

typedef struct FaAlign {
    FaAlignKind kind;
    int used; // points that counted
    double scale;
    double rotation[9]; // row-major
    double translation[3];
    double rms, worst; // weighted root mean square and largest distance after alignment, m
} FaAlign;

// Least squares over pairs from[i] -> to[i]. weight NULL: all 1; weights <= 0 or not finite: not used.
FaAlign fai_align(int n, const double *from, const double *to, const double *weight, bool scaled);
static inline void fai_align_apply(const FaAlign *a, const double x[3], double y[3]) {
    double in[3] = {a->scale * x[0], a->scale * x[1], a->scale * x[2]};
    for (int k = 0; k < 3; k++)
        y[k] = a->rotation[3 * k] * in[0] + a->rotation[3 * k + 1] * in[1] + a->rotation[3 * k + 2] * in[2] +
               a->translation[k];
}
FaPose fai_align_pose(const FaAlign *a); // without its scale

// The same with outliers: Geman-McClure by reweighting, its width brought down from the largest distance to `width` (m)
// by halves, so that far outliers (swapped markers, expression) lose their say before near ones decide. own: scratch
// and the final weight of each point, 0..1 times the given one (n). No allocation.
FaAlign fai_align_robust(int n, const double *from, const double *to, const double *weight, bool scaled, double width,
                         double *own);

// --- a take -------------------------------------------------------------------------------------------------------

typedef struct FaStillTake {
    int nframe, nmarker;
    const float *x;     // markers in the world, m; not finite: missing           (nframe x nmarker x 3)
    const float *rest;  // where they are on the head at rest, m                  (nmarker x 3)
    const float *trust; // 0: never use (jaw); NULL: all 1                        (nmarker)
    double floor;       // motion below this is noise, m; 0: 0.0005
} FaStillTake;

typedef struct FaStillReport {
    int frames_found; // with a full pose
    int first_lost;   // first frame without, -1: none
    double motion;    // weighted root mean square of what the markers move against the head, m
    double effective; // how many markers the weights amount to: (sum w)^2 / sum w^2
} FaStillReport;

// The head's pose per frame: world = pose(head). Markers are trusted by how little they move against each other: first
// by how steady their distances to the others are, then by what each moves against the head that the others agree on (a
// few rounds), and within a frame by fai_align_robust. still: the weights found, 0..1 (nmarker). found: 1 where the
// frame decided its pose; where it is 0 (fewer than three usable markers, or all in a line) the pose is that of the
// nearest earlier frame that has one (the first found before that): held, never interpolated. FA_E_ARG (bad counts),
// FA_E_NUMERIC (no frame can be posed), FA_E_MEMORY.
FaCode fai_still_poses(const FaStillTake *take, FaPose *pose, unsigned char *found, float *still, FaStillReport *report,
                       FaError *err);

#endif

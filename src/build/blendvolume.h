// Blendvolumes (paper 000, section 6.1): the flesh of every shape, so that X(w) = X0 + B_X w.
//
// For each shape the neutral flesh is deformed into it. First (eq. 13, with the spring energy added) springs pull the
// skin nodes to the sculpted surface, stiffened step by step, the rest shape advanced after each while volumes are
// still measured against the neutral (V(X) = V(X0), weakly: lambda is 100 Pa); inner nodes are free and slide over the
// bones. Then, with the skin where the artist has it and the neutral as rest shape, nodes that bones hold are drawn
// back to the bone that they lay on, which the jaw's pose carries, and put on it: as far from its surface as in the
// neutral. Where the face has no bones, its deepest layer stands for them. Whatever is still folded is unfolded.
// Result: skin nodes have the rig's own deltas to the bit. A shape may fold the skin so that no place of the inner
// nodes leaves every tet positive; fai_volume_shape says how many are not, and fa_face_volumes leaves the triangles
// above them out of the face, once all shapes are made. So no tet of the face is inverted in the volume of any shape:
// by construction, for every rig.
#ifndef FAI_BLENDVOLUME_H
#define FAI_BLENDVOLUME_H

#include "energy/solid.h"
#include "face/face.h"
#include "fascia/face.h"

typedef struct FaVolumeShape {
    int active; // nodes that were solved for
    int steps, iterations;
    int unfolded; // tets that the solves left inverted or nearly flat, and local moves put right
    int folded;   // inverted tets among them, before those moves
    int inverted; // tets that stay inverted: the shape folds the skin there
    int pushed;   // inner nodes pushed out of teeth or bones
    double least; // smallest singular value of F against the neutral, negative if inverted
    double off_bone_first,
        off_bone; // root mean square distance of bone nodes to the bone after the first solve, in the end, m
    int on_bone;  // of them, nodes next to a bone's own surface
    double volume, volume_rms; // of fai_volume_change
    double gap;                // largest distance of a skin node to the shape before it is put there, m
    double seconds;
} FaVolumeShape;

// Everything that shapes share; const once made, used by several threads at a time.
typedef struct FaVolumeModel FaVolumeModel;
FaCode fai_volume_model_new(const FaFace *face, const FaRig *rig, FaVolumeModel **model, FaError *err);
void fai_volume_model_free(FaVolumeModel *model); // NULL is fine

// Some shapes make sense only on top of another: mouthClose alone pushes the lower lip through the upper one; it closes
// the mouth that jawOpen opens. Their volume is what they add to the other's. -1: none.
int fai_volume_base(const FaVolumeModel *model, int shape);
// Displacement of all nodes at weight 1 of a shape, m (nnode x 3). base: that of fai_volume_base's shape, NULL if it is
// -1; the report then tells of both together.
FaCode fai_volume_shape(const FaVolumeModel *model, int shape, const float *base, float *delta, FaVolumeShape *report,
                        FaError *err);

// Rest shape of a frame: X = X0 + B_X w, m (nnode x 3); X0 for a face without volumes. No allocation.
void fai_volume_at(const FaFace *face, const float *weights, double *X);

// How far the rest shape is from the neutral: singular values of F against X0 over all tets.
typedef struct FaVolumeQuality {
    double least, most; // least is negative where a tet is inverted
    int inverted;       // tets
    int clamped;        // tets with a value under 0.2, which a simulation raises
} FaVolumeQuality;
FaVolumeQuality fai_volume_quality(const FaFace *face, const double *X);
// Volume of the tets that are not as in the neutral, against it, and the root mean square of their own changes; 1 and 0
// where nothing differs. Either may be NULL.
void fai_volume_change(const FaFace *face, const double *X, double *volume, double *rms);
// Worst of random mixtures of a few shapes each; fills the mixed_ fields.
FaCode fai_volume_draws(const FaFace *face, const FaRig *rig, int draws, FaVolumesReport *report, FaError *err);

#endif

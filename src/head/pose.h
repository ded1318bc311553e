// What the face does: all parts at any weights of the 52 shapes, nonlinearly.
#ifndef FAI_HEAD_POSE_H
#define FAI_HEAD_POSE_H

#include "head/identity.h"
#include "head/parts.h"

enum { FAI_LID_KNOTS = 256 };

// One vertex's place in the charts, and on the mean head.
typedef struct FaiSpot {
    double mean[3];                // mm, mean head
    double rest[3];                // mm, this person's neutral
    double pull[3];                // mean place as muscles see it: facing lips are pulled alike
    float mouth_u, mouth_v, mouth; // see CAGE_*
    float eye_v, eye_up, eye, jaw;
    float give; // how much of a muscle's pull reaches the skin: less through fat
} FaiSpot;

enum { FAI_PULLS = 64 }; // at most

// Elevation of one lid's inner edge over the sideways coordinate of the eye's frame, both in the mean eye.
typedef struct FaiLidEdge {
    int n;
    double x[FAI_LID_KNOTS], angle[FAI_LID_KNOTS];
} FaiLidEdge;

typedef struct FaHeadModel {
    FaiWarp warp;
    int nskin;
    FaiSpot *spot; // (nskin)
    int *partner;  // vertex of the other lip that faces this one, -1 = none   (nskin)
    FaiLidEdge upper, lower;
    double pull[FAI_PULLS][3]; // mm at weight 1, along this person's own muscles (fai_pose_pulls)
    FaiPart part[FAI_PARTS];
    double *rest[FAI_PARTS]; // neutral of each inner part, mm                       (nvert x 3)
} FaHeadModel;

double fai_lid_angle(const FaiLidEdge *edge, double x);

void fai_pose_pulls(FaHeadModel *m); // once the warp is set
// weights: 52, ARKit order. x: nskin x 3, mm.
void fai_pose_skin(const FaHeadModel *m, const float *weights, double *x);
void fai_pose_part(const FaHeadModel *m, int part, const float *weights, double *x);                  // nvert x 3, mm
void fai_pose_jaw(const FaiWarp *warp, const float *weights, double share, double r[9], double t[3]); // mm
bool fai_pose_moves(int shape, FaiFollow follow); // can this shape move such a part

#endif

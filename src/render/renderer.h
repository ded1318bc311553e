// Inside of FaRenderer: what the file-level pictures need besides the public calls.
#ifndef FAI_RENDERER_H
#define FAI_RENDERER_H

#include "render/camera.h"
#include "render/scene.h"

struct FaRenderer {
    FaScene *scene;
    FaRenderOptions options;
    FaCamera camera;
    int *fit; // vertices the camera fits: those drawn of the first fit_parts parts   (nfit)
    int nfit;
    float *fit_x; // their positions, of all poses that are to fit                        (nfit_x x 3)
    int nfit_x, fit_room;
    double heat_max_mm; // scale of all pictures from now on; 0: each its own
    bool posed, looked;
    bool no_legend;          // the heat map is explained elsewhere
    FaRenderMarker *markers; // over the picture                                                     (nmarkers)
    int nmarkers, marker_room;
    double marker_radius; // m
};

// Let the camera fit the first n parts only.
FaCode fai_renderer_fit_parts(FaRenderer *r, int nparts, FaError *err);
// Of those, fit only the vertices of the first part that are marked (nvert of it).
void fai_renderer_fit_only(FaRenderer *r, const unsigned char *keep);
// The middle and half the longest side of the box of what the camera fits at rest; the first part's own frame, m.
double fai_renderer_fit_box(const FaRenderer *r, double middle[3]);
// Poses that the camera is to hold: forget all, add the present one, look at those added.
void fai_renderer_fit_none(FaRenderer *r);
FaCode fai_renderer_fit_pose(FaRenderer *r, FaError *err);
FaCode fai_renderer_look_fit(FaRenderer *r, const FaRenderView *view, FaError *err);
// Aim the camera at another place, m, in the mesh's own frame; distance and scale stay.
void fai_renderer_aim(FaRenderer *r, const double focus[3]);
// Cameras for n views of the present pose that are drawn one after another: all of the same scale and centre.
FaCode fai_renderer_look_all(FaRenderer *r, const FaRenderView *view, int n, FaCamera *camera, FaError *err);

// --- render_markers.c -----------------------------------------------------------------------------------------------
void fai_markers_draw(const FaRenderer *r, FaImage *image);
// The frame of a take that goes with frame f of n frames at this time, s; -1: none. Where both have as many frames they
// go in step; else the nearest in time, not further than a step off.
int fai_markers_frame(const FaMarkerTake *take, int f, int n, double time);

#endif

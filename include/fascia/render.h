// fascia/render.h: pictures to judge a face by: a clay look with ambient occlusion and soft shadows.
//
// One call does it all:
//     FaRenderJob job = fa_render_job();
//     fa_render_file(seq, &job, "out.png", &err);
// By hand: fa_renderer_new (once per set of meshes), fa_renderer_pose, fa_renderer_look, fa_renderer_draw per picture,
// fa_image_save, fa_renderer_free.
// The same input gives the same pixels for any number of threads.
#ifndef FASCIA_RENDER_H
#define FASCIA_RENDER_H

#include "fascia/markers.h"
#include "fascia/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum FaRenderMaterial {
    FA_RENDER_SKIN,
    FA_RENDER_EYE, // glossy; iris and pupil are painted on each ball-shaped part
    FA_RENDER_TEETH,
    FA_RENDER_MOUTH, // tongue, gums, inside of the mouth
    FA_RENDER_BONE,
    FA_RENDER_OTHER,  // grey
    FA_RENDER_MUSCLE, // pale at rest, deep red where it pulls; fibres where the part has coordinates
    FA_RENDER_HIDDEN, // not drawn, throws no shadow
    FA_RENDER_MATERIALS
} FaRenderMaterial;

/// 8-bit sRGB, rows from the top.
typedef struct FaImage {
    int width, height;
    unsigned char *rgb; // (height x width x 3)
} FaImage;
FA_API void fa_image_free(FaImage *image);
/// Write a PNG; `comment` (nullable) is stored in it. Atomic.
FA_API FaCode fa_image_save(const FaImage *image, const char *path, const char *comment, FaError *err);

/// Where to look from. Angles in degrees; yaw turns the viewer to the subject's left, pitch upwards.
typedef struct FaRenderView {
    double yaw, pitch, roll;
    double zoom;     // 1: the whole subject fits
    double fov;      // vertical angle of the lens; 0: orthographic
    bool aim;        // look at `focus`, not at the middle of the subject
    double focus[3]; // m, in the mesh's own frame; pictures of a moving head go with it
} FaRenderView;

typedef struct FaRenderOptions {
    int width, height; // of a picture, or of one tile of a sheet; 0: 1024, tiles 256, films 720
    int samples;       // rays per pixel, 1..256: antialiasing and light together; 0: 8, films and tiles 6
    FaRenderView view;
    double axes[9];         // canonical (x subject's left, y up, z front) = axes * mesh frame; all 0: identity
    bool flat;              // facets, not smooth normals
    bool wire;              // draw the polygons' edges
    bool backfaces;         // tint what is seen from behind, to find flipped polygons
    double heat_max_mm;     // end of the heat map's scale; 0: a round number that holds the data
    const char *heat_title; // above the legend's bar; NULL: "mm"; borrowed
    const char *caption;    // in the lower left corner; nullable; borrowed
} FaRenderOptions;

FA_API FaRenderOptions fa_render_options_default(void);
/// front, three_quarter, profile, back, top (and left, right, below). False if there is no such preset.
FA_API bool fa_render_view(const char *name, FaRenderView *view);

/// One mesh of the scene; everything is borrowed and must outlive the renderer.
typedef struct FaRenderPart {
    const FaMesh *mesh;
    FaRenderMaterial material;
    const unsigned char *tri_material; // one FaRenderMaterial per triangle; NULL: `material` for all  (ntri)
    double pull;                       // of a muscle: how strongly, 0..1
    const float *uvw;                  // of a muscle: along, across, inwards; nullable                (nvert x 3)
} FaRenderPart;

typedef struct FaRenderer FaRenderer;
/// options NULL: defaults. Free with fa_renderer_free.
FA_API FaCode fa_renderer_new(const FaRenderPart *parts, int nparts, const FaRenderOptions *options,
                              FaRenderer **renderer, FaError *err);
/// Pose the parts: x[i] are nvert x 3, m; heat[i] are mm per vertex. x, heat and their entries may be NULL: the mesh's
/// own positions; no heat. With heat the picture is a heat map with its legend.
FA_API FaCode fa_renderer_pose(FaRenderer *r, const float *const *x, const float *const *heat, FaError *err);
/// Point the camera so that the present pose fits. Later poses keep it. Without a call: options.view, at the first
/// picture.
FA_API FaCode fa_renderer_look(FaRenderer *r, const FaRenderView *view, FaError *err);
/// A marker drawn over a picture, and where it should be.
typedef struct FaRenderMarker {
    float x[3];           // m, in the mesh's own frame; not finite: left out
    float to[3];          // the end of a line from it; not finite: no line
    unsigned char rgb[3]; // sRGB
    const char *label;    // beside it; nullable; borrowed
} FaRenderMarker;
/// Draw these markers over the pictures that follow, where the scene does not hide them (a marker up to 3 mm under the
/// skin shows). radius in m, 0: chosen. Markers are copied; count 0: none.
FA_API FaCode fa_renderer_markers(FaRenderer *r, const FaRenderMarker *markers, int count, double radius, FaError *err);
/// Draw into image (allocated here; free with fa_image_free).
FA_API FaCode fa_renderer_draw(FaRenderer *r, FaImage *image, FaError *err);
FA_API void fa_renderer_free(FaRenderer *r);

typedef enum FaPicture {
    FA_PICTURE_AUTO,      // .png: a still; .mp4, .gif: the animation, or a turntable where nothing moves
    FA_PICTURE_STILL,     // one frame
    FA_PICTURE_MOVIE,     // the frames as a film
    FA_PICTURE_TURNTABLE, // one turn as a film, or eight views as a sheet
    FA_PICTURE_SHAPES,    // a sheet: every shape of the rig at weight 1
    FA_PICTURE_FRAMES,    // a sheet: frames spread over the animation
    FA_PICTURE_VIEWS,     // a sheet: front, three quarters, profile, back
} FaPicture;

/// What fa_render_file wrote.
typedef struct FaRendered {
    int pictures;      // frames of a film, tiles of a sheet, 1
    int width, height; // of the file, pixels
} FaRendered;

typedef struct FaRenderJob {
    FaRenderOptions look; // its axes are set from the rig
    FaPicture picture;
    int frame;                     // of a still
    const float *weights;          // shape weights to show in place of that frame; nullable   (nshape)
    int first, last;               // frames of a film or sheet; last < 0: the end
    int tiles, columns;            // of a sheet of frames; columns of any sheet; 0: chosen
    const char *const *captions;   // of the frames in a sheet of them, lines parted by '\n'; NULL: number and time
                                   //                                                           (frames)
    double fps;                    // of a film; 0: the sequence's, 24 for a turntable
    double seconds;                // of a turntable; 0: 4
    bool label;                    // frame number and time in each picture of a film
    bool world;                    // move with the head; else it is held still
    FaSequence *against;           // heat map: distance from these positions; nullable
    bool heat;                     // heat map: distance from the neutral (without `against`)
    const FaRig *rig;              // the faces, when the sequence is a cache; nullable
    const FaClip *clip;            // what else moves (eyes, teeth, the head) when the sequence is a cache; nullable
    const FaMarkerTake *markers;   // drawn too, in the mesh's own frame; nullable. Frame by frame where there are as
                                   // many as in the sequence, else by time
    const FaMarkerMap *marker_map; // the surface points they belong to: a line to each; nullable
    bool whole;                    // of a body show all, not its head
    bool alone;                    // only the face's own mesh, not the others of its file
    const char *generator;         // recorded in the picture: program, parameters; nullable
    FaRendered *rendered;          // filled; nullable
    FaProgressFn *progress;        // nullable
    void *progress_user;
} FaRenderJob;

FA_API FaRenderJob fa_render_job(void);
/// Render a sequence to .png, .mp4 or .gif (films need the program ffmpeg). Atomic. Parts of the mesh, and other meshes
/// of a glTF file, are told apart as skin, eyes, teeth and mouth by name, else by form.
FA_API FaCode fa_render_file(FaSequence *seq, const FaRenderJob *job, const char *path, FaError *err);

/// A place to aim at, by the shapes that move it: mouth, eyes, eye_left, eye_right, nose, jaw, brow. False if the rig
/// has none of the shapes needed. focus is in the mesh's own frame.
FA_API bool fa_render_focus(const FaRig *rig, const char *name, double focus[3]);

#ifdef __cplusplus
}
#endif
#endif

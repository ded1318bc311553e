// fascia/markers.h: markers on an actor's face (motion capture), where they sit on a rig, and landmarks found in
// pictures.
//
// Markers:   fa_markers_load, fa_marker_map_new (which surface point each marker is; live: fa_marker_map_bind), use,
// fa_marker_map_free,
//            fa_markers_free. Or the other way round: fa_markers_choose, fa_markers_sample, fa_markers_save.
// Landmarks: fa_landmarks_load, use, fa_landmarks_free.
//
// A sample that is missing stays missing: it is NAN, its `ok` is 0, and the notes say how many there are and where.
// Nothing is interpolated.
#ifndef FASCIA_MARKERS_H
#define FASCIA_MARKERS_H

#include "fascia/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What a file that could drive a face holds, by its name and its beginning. OTHER: a clip, a rig, or unknown.
typedef enum FaMotionKind { FA_MOTION_OTHER, FA_MOTION_MARKERS, FA_MOTION_LANDMARKS } FaMotionKind;
FA_API FaMotionKind fa_motion_kind(const char *path);

// --- takes --------------------------------------------------------------------------------------------------------

/// Named points over time. Times start at 0 and increase strictly; names differ. Plain data; made by fa_markers_load,
/// fa_markers_new or fa_markers_sample.
typedef struct FaMarkerTake {
    int nframe;
    int nmarker;
    double fps;           // nominal rate: the file's, else the median step's inverse, snapped to a common rate
    double *time;         // s from the first frame                                      (nframe)
    const char **name;    //                                                             (nmarker)
    float *x;             // m; NAN where it was not seen                                (nframe x nmarker x 3)
    unsigned char *ok;    // 1: seen, and x is finite; 0: missing                        (nframe x nmarker)
    FaPose *head;         // world from head, canonical, x being in the rig's own frame; NULL: not known, x is in
                          // whatever frame the file has                                 (nframe)
    double start;         // s: time of frame 0 in the file
    double unit;          // metres per unit of the file
    const char *unit_how; // "given", "declared by the file", "by size", "metres by convention"
    uint64_t mesh;        // fingerprint of the mesh that names like v123 are vertices of; 0: not known
    FaNotes notes;        // what was odd in the file
    char *path;           // the file it came from, or NULL
} FaMarkerTake;

typedef struct FaMarkerOptions {
    FaUnit unit;   // AUTO: as the file declares, else by the size of a face; an error where that is impossible
    double fps;    // override the file's rate (needed where it is no rate); 0: keep
    bool any_size; // accept what is not the size of a face (metres where nothing is declared)
} FaMarkerOptions;
FA_API FaMarkerOptions fa_marker_options_default(void); // all 0

/// Load .csv (`time,NAME.x,NAME.y,NAME.z,...`), .trc or .c3d; known by content where the name does not tell.
/// options NULL: defaults. *take is NULL on failure. Free with fa_markers_free.
FA_API FaCode fa_markers_load(const char *path, const FaMarkerOptions *options, FaMarkerTake **take, FaError *err);
/// Save as .csv (metres, lossless), .trc (mm, lossless but for head and start) or .c3d (mm, Intel floats). Atomic.
FA_API FaCode fa_markers_save(const FaMarkerTake *take, const char *path, FaError *err);

/// A take in which nothing is seen yet: times at 1/fps, x NAN, ok 0, no head motion. Names are copied.
FA_API FaCode fa_markers_new(int nframe, int nmarker, const char *const *names, double fps, FaMarkerTake **take,
                             FaError *err);
FA_API FaCode fa_markers_check(const FaMarkerTake *take, FaError *err); // the invariants above
FA_API void fa_markers_free(FaMarkerTake *take);                        // NULL is fine
FA_API int fa_markers_find(const FaMarkerTake *take, const char *name); // -1: there is none

/// 3D points seen by a tracker in one frame. Plain data.
typedef struct FaMarkers {
    int count;
    const char *const *name; // NULL: in the order of the map                              (count)
    const float *x;          // m; in the world, or in the rig's own frame, as the method is told (count x 3)
    const unsigned char *ok; // 0: not seen in this frame; NULL: all seen                  (count)
} FaMarkers;

// --- where markers sit --------------------------------------------------------------------------------------------

/// A point on, or a little off, a rig's surface: sum of bary[k] x[vert[k]], plus offset in the triangle's own frame
/// (along vert[0] -> vert[1]; across it in the plane; along the normal), so that it turns with the skin.
typedef struct FaMarkerPoint {
    int tri;         // triangle of the rig's mesh; -1: a vertex without faces (then offset is in the mesh's frame)
    int vert[3];     // its corners; for a marker on a vertex that vertex comes first; vert[0] < 0: not mapped
    float bary[3];   // sums to 1; {1, 0, 0} on a vertex
    float offset[3]; // m
} FaMarkerPoint;

typedef struct FaMarkerMap {
    int count;
    const char **name;    //                                                             (count)
    FaMarkerPoint *point; //                                                             (count)
    float *distance;      // m from the marker to the surface where it was found by nearness; 0 else  (count)
    int mapped;           // points with vert[0] >= 0
    FaPose rig_from_take; // how the take at `frame` was brought to the rig's neutral; identity if it was not
    int frame;            // the take's neutral frame; -1: not used
    double rms;           // m, of the distances at that pose; 0 if it was not used
    uint64_t mesh;        // fingerprint of the rig's vertex count and triangles
    uint64_t named;       // of the mesh that names like v123 are vertices of; 0: not known
    FaNotes notes;        // "marker-far", "marker-ambiguous", "alignment-ambiguous", ... with names
} FaMarkerMap;

typedef struct FaMapOptions {
    const char *file; // JSON {"name": 123 | {"tri": t, "bary": [a, b, c], "offset": [..]} | null}; NULL: none
    int frame;        // the take's neutral frame; -1: found: the first one that shows (nearly) all markers, or a later
                      // one with clearly less expression ("neutral-found"); where none is neutral the markers are
                      // placed with the expression ("neutral-expression")
    double reach;     // m: markers further than this from the aligned surface are not mapped; 0: 10 mm
    bool aligned;     // the take is in the rig's own frame already: no alignment
    bool no_offset;   // put the markers on the surface: leave out how far off they were
    bool names_only;  // do not map by nearness what neither the file nor a name v123 maps
} FaMapOptions;

/// Find the surface point of each marker of a take, in the take's order: those in the file as it says (null: left
/// out), those called v123 on that vertex if the take is of this mesh, all others by the nearest point of the face
/// after rigid alignment of the neutral frame to the rig. The take is of this mesh if its fingerprint says so; where it
/// has none, if the vertices so named lie as the markers do. Else the names mean nothing here ("marker-names-other").
/// Markers that are too far, never seen or ambiguous are named in the notes; the first two kinds are not mapped.
/// options NULL: frame -1 and defaults. Fails if nothing can be mapped. *map is NULL on failure.
FA_API FaCode fa_marker_map_new(const FaMarkerTake *take, const FaRig *rig, const FaMapOptions *options,
                                FaMarkerMap **map, FaError *err);
FA_API FaMapOptions fa_map_options_default(void); // frame -1, reach
/// The same from what a tracker sends, once: its names are bound to the rig by a frame that shows the neutral face. For
/// FaMethodSetup.markers.
FA_API FaCode fa_marker_map_bind(const FaMarkers *neutral, const FaRig *rig, const FaMapOptions *options,
                                 FaMarkerMap **map, FaError *err);
/// Every point that a JSON file names, in its order; and the file. Atomic; bary and offset are kept to the bit. Fails
/// with FA_E_FORMAT where the file says that it was made for another mesh.
FA_API FaCode fa_marker_map_load(const char *path, const FaRig *rig, FaMarkerMap **map, FaError *err);
FA_API FaCode fa_marker_map_save(const FaMarkerMap *map, const char *path, FaError *err);
FA_API void fa_marker_map_free(FaMarkerMap *map); // NULL is fine
/// How much each marker counts, for FaDriveOptions.trust: a file with lines of NAME,WEIGHT, 0 to 1e6; # begins a
/// remark. trust (map->count): 1 for those that are not named. Names that the map does not have are an error.
FA_API FaCode fa_marker_trust_load(const char *path, const FaMarkerMap *map, float *trust, FaError *err);
/// Where a mapped marker is for vertex positions x (nvert x 3): out in the same frame. offset false: its surface point.
FA_API void fa_marker_point_at(const FaMarkerPoint *point, const float *x, bool offset, double out[3]);

// --- from surfaces to markers -------------------------------------------------------------------------------------

/// `count` vertices (0: 80) well spread over the outside of the moving face, denser where the shapes move it more, on
/// both lips, none inside the mouth, on the eyeballs or on loose parts; in mirrored pairs where the rig is symmetric.
/// Named v123. Deterministic. Fails if the face has fewer vertices to choose from.
FA_API FaCode fa_markers_choose(const FaRig *rig, int count, FaMarkerMap **map, FaError *err);

/// Positions of the map's points over a sequence of a mesh with the same vertices: any clip, PC2 or GLB animation
/// becomes markers, in the sequence's frame. fps (0: the sequence's own; needed where that is unknown). Head poses of
/// the sequence's clip are kept in `head`; a sequence of fa_sequence_world gives positions in
/// the world and no poses. Points that are not mapped are left out.
FA_API FaCode fa_markers_sample(FaSequence *seq, const FaMarkerMap *map, double fps, FaMarkerTake **take, FaError *err);

// --- landmarks ----------------------------------------------------------------------------------------------------

typedef enum FaLandmarkLayout {
    FA_LANDMARKS_68,  // the iBUG 68 points: jaw line, brows, nose, eyes, lips
    FA_LANDMARKS_468, // MediaPipe face mesh
    FA_LANDMARKS_478, // the same with ten points of the irises
} FaLandmarkLayout;

/// Landmarks over time. Image coordinates: x to the right and y down in pixels, z (dims 3) in pixels too, smaller is
/// nearer, its origin arbitrary. Metric ones (`metric`): metres in the camera's frame as the file has it.
typedef struct FaLandmarkTake {
    FaLandmarkLayout layout;
    int count; // 68, 468 or 478
    int dims;  // 2 or 3
    bool metric;
    int nframe;
    double fps;
    double width; // of the image, pixels; 1 x 1 where the file does not say (see the notes)
    double height;
    double *time;      // s from the first frame                                         (nframe)
    float *x;          // NAN where it was not found                                     (nframe x count x dims)
    float *visibility; // 0 (missing) .. 1                                               (nframe x count)
    double start;      // s: time of frame 0 in the file
    FaNotes notes;
    char *path;
} FaLandmarkTake;

typedef struct FaLandmarkOptions {
    double width, height; // of the image, pixels; 0: as the file says
    double fps;           // 0: as the file says
    bool metric;          // of a file that has both (OpenFace), take the metric points
} FaLandmarkOptions;
FA_API FaLandmarkOptions fa_landmark_options_default(void); // all 0

/// Load JSON or CSV, known by content. JSON: {"layout", "width", "height", "fps", "frames": [{"time", "points": [[x, y,
/// z], ...]}, ...]}, or the arrays that MediaPipe's users dump ([[{x, y, z}, ...], ...], {"faceLandmarks": ...}).
/// CSV: OpenFace (x_0 .. x_67, y_0 .., X_0 ..), or columns of x, y, z and a number in any spelling and order.
/// options NULL: defaults. *take is NULL on failure. Free with fa_landmarks_free.
FA_API FaCode fa_landmarks_load(const char *path, const FaLandmarkOptions *options, FaLandmarkTake **take,
                                FaError *err);
/// One frame of a stream: JSON text, a frame of the above or the list of its points, with "time", "width" and "height"
/// where it has them. A frame without a face is *take NULL and FA_OK.
FA_API FaCode fa_landmarks_frame(const char *text, size_t size, const FaLandmarkOptions *options, FaLandmarkTake **take,
                                 FaError *err);
/// Save as .json or .csv; what is read back has the same bits (.csv: but for width, height, metric). Atomic.
FA_API FaCode fa_landmarks_save(const FaLandmarkTake *take, const char *path, FaError *err);
FA_API FaCode fa_landmarks_new(FaLandmarkLayout layout, int dims, int nframe, double fps, FaLandmarkTake **take,
                               FaError *err); // nothing seen yet, 1 x 1 image
FA_API FaCode fa_landmarks_check(const FaLandmarkTake *take, FaError *err);
FA_API void fa_landmarks_free(FaLandmarkTake *take); // NULL is fine

#ifdef __cplusplus
}
#endif
#endif

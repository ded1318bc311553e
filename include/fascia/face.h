// fascia/face.h: the physical face: a rig's skin with flesh below it, bones, attachments and regions, ready to
// simulate.
//
// Typical order: fa_rig_load, fa_face_get with what a method needs, then the method opened on it. Built once, const.
// fa_face_build and the calls of the later stages are what fa_face_get is made of.
#ifndef FASCIA_FACE_H
#define FASCIA_FACE_H

#include "fascia/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaFace FaFace;

/// Stages of a face: what a method needs of it (fa_method_needs), and what fa_face_get makes where it is missing.
typedef enum FaFaceNeed {
    FA_NEED_FACE = 1,        // flesh, bones, attachments, regions: fa_face_build
    FA_NEED_MATERIALS = 2,   // stiffness of the flesh by place and shape: fa_face_materials
    FA_NEED_VOLUMES = 4,     // the flesh of every shape: fa_face_volumes; minutes
    FA_NEED_EQUILIBRIUM = 8, // stiffness of the skin under which full shapes rest: fa_face_equilibrium; minutes
    FA_NEEDS = 15,           // all of them
} FaFaceNeed;

typedef struct FaFaceOptions {
    bool filled;      // flesh all through, from skin to bone (docs/method/face.md), not a layer below the skin
    int flesh_size;   // points of filled flesh that are free, about; 0: 6000. Rigs with many vertices have more
    int layers;       // prism layers through the thickness; 0: 1. Filled flesh has none
    double thickness; // m, everywhere; 0: by the bones where there are any, else a smooth map (6 mm forehead .. 15 mm
                      // cheeks)
    double lip_thickness; // m; 0: 1.5 mm in the folds of the lips
    double density;       // kg/m3; 0: 1100
    const char *paint;    // JSON file that overrides thickness, attachment and regions per vertex; NULL: none
    const char *const
        *bone;             // files of bones in the rig's frame and unit: skull, jaw, teeth by their names; NULL: those
    int nbone;             // of the rig's own file, else none
    bool no_bones;         // ignore bones that the rig's file has
    bool whole;            // simulate all of the skin, not only what the shapes move and its surroundings
    double margin;         // m around what the shapes move; 0: 25 mm
    int simulate_vertices; // at most so many vertices of the skin, chosen among the rig's; the others follow. 0: all of
                           // them
} FaFaceOptions;
FA_API FaFaceOptions
fa_face_options_default(void); // layers, lip_thickness, density, margin; thickness 0: by the bones or the map

/// options NULL: defaults. *face is NULL on failure. Free with fa_face_free.
FA_API FaCode fa_face_build(const FaRig *rig, const FaFaceOptions *options, FaFace **face, FaError *err);
FA_API void fa_face_free(FaFace *face);                                         // NULL is fine
FA_API FaCode fa_face_save(const FaFace *face, const char *path, FaError *err); // atomic, versioned, checksummed
FA_API FaCode fa_face_load(const char *path, FaFace **face, FaError *err);
/// Does the face belong to this rig? FA_E_ARG with what differs if not.
FA_API FaCode fa_face_fits(const FaFace *face, const FaRig *rig, FaError *err);
/// The file of the rig it was built from: as it was opened, or, of a loaded face, beside that face's own file where it
/// was saved beside it, else the whole path. "" if unknown. It may have moved since. Belongs to the face.
FA_API const char *fa_face_rig_path(const FaFace *face);
/// Stiffness of the flesh and what each shape adds to it, kept in the face. paint: a JSON file (docs/guide/face.md);
/// NULL: by how much each shape compresses the skin. Replaces what was there. The rig is the one the face was built
/// from.
FA_API FaCode fa_face_materials(FaFace *face, const FaRig *rig, const char *paint, FaError *err);
FA_API const FaNotes *fa_face_notes(const FaFace *face);
FA_API bool fa_face_filled(const FaFace *face); // built with FaFaceOptions.filled

// --- blendvolumes: once per rig, after fa_face_build ----------------------------------------------------------------

/// One shape's volume, as it came out.
typedef struct FaVolumeShapeReport {
    const char *name;  // of the rig
    bool resumed;      // taken from the partial file: only `inverted`, `least`, `volume` and `volume_rms` are known
    double volume;     // of the flesh around what moves, against the neutral's: 1 if it is kept
    double volume_rms; // root mean square of the tets' own changes
    int on_bone;       // nodes put on skull or jaw; 0: the face has none there
    double off_bone_first_mm, off_bone_mm; // how far bone nodes are off after the first solve; in the end
    int folded, inverted;                  // inverted tets after the solves; in the end
    double least;                          // smallest singular value of a tet against the neutral
    double seconds;
} FaVolumeShapeReport;
typedef void FaVolumeShapeFn(void *user, const FaVolumeShapeReport *shape);

typedef struct FaVolumeOptions {
    const char *partial; // file that keeps what is done, so that a stopped run goes on; the caller removes it once the
                         // face is saved. NULL: none
    FaProgressFn *progress; // nullable
    void *progress_user;
    FaVolumeShapeFn *each; // nullable; called for every shape that moves the skin, in their order, once all are made
    void *each_user;
} FaVolumeOptions;
FA_API FaVolumeOptions fa_volume_options_default(void); // all 0

typedef struct FaVolumesReport {
    int nshape;
    int resumed;  // shapes taken from the partial file; unfolded, pushed and gap are of the others
    int unfolded; // tets that solves left folded and local moves put right
    int left_out; // triangles of the skin below which no flesh fits in some shape: they are no longer part of the face.
                  // Of filled flesh: tets
    int inverted; // tets that stay inverted: 0
    int pushed;   // inner nodes pushed out of teeth and bones
    int on_bone;  // inner nodes put on skull and jaw
    double off_bone_first,
        off_bone;        // m: how far bone nodes are off after the first solve and in the end; means over the shapes
    double volume;       // of the flesh of the shape that changes it most, against the neutral's
    const char *swollen; // that shape, or NULL; of the rig
    double gap;          // m: largest distance of the skin to a shape before it was put there
    double least;        // smallest singular value of a tet against the neutral, over all shapes
    const char *worst;   // the shape that has it, or NULL; of the rig
    double mixed_least, mixed_clamped,
        mixed_inverted; // the same over random mixtures of shapes; shares of tets under 0.2, inverted
    double seconds;
} FaVolumesReport;

/// The flesh of every shape, kept in the face: skin nodes as the shape has them, inner ones by static solves
/// (docs/method/face.md). Minutes for dense faces; parallel over shapes, same bits for any number of threads and after
/// a resume. options, report: nullable. Triangles that some shape folds so that no flesh fits below them are left out
/// of the face then, as fa_face_build does for the neutral: nodes and tets may be fewer than before, and what was
/// opened on the face has to be opened again. FA_E_CANCELLED: progress returned false; what is done is in
/// `partial`, where it was given.
FA_API FaCode fa_face_volumes(FaFace *face, const FaRig *rig, const FaVolumeOptions *options, FaVolumesReport *report,
                              FaError *err);
/// The stages it has, FA_NEED_... together. Whether volumes are of this rig: fa_face_volumes_fit.
FA_API unsigned fa_face_stages(const FaFace *face);
/// It has them, and they are what fa_face_volumes would make now: of this rig's shapes, by this version.
FA_API bool fa_face_volumes_fit(const FaFace *face, const FaRig *rig);
/// Quality: nodes, tets, element quality, thickness, clamping, regions, jaw, bones. JSON text; free with fa_free.
FA_API FaCode fa_face_report(const FaFace *face, char **json, FaError *err);
/// The same for people, a few lines, notes included; free with fa_free.
FA_API FaCode fa_face_summary(const FaFace *face, char **text, FaError *err);

// --- equilibrium: once per rig, after fa_face_build -----------------------------------------------------------------

typedef struct FaEquilibriumOptions {
    double floor; // least stiffness of edges and bending, relative to their usual one, and one over the largest; 0: 0.1
    double anchor_floor; // the same of anchors; 0: 1, they stay what they are (literal: always 0.05)
    double prior;        // how firmly stiffness stays what it was; 0: 0.1 (literal: 0.001)
    int iterations;      // at most; 0: 20 (literal: 10)
    bool even; // every edge and every bend counts alike in the means held; else by its usual stiffness (a bend by its
               // area)
    bool literal;           // least forces as the thesis prints it, not least distances: these stay what they were
    bool no_distances;      // do not measure the distances
    FaProgressFn *progress; // nullable
    void *progress_user;
} FaEquilibriumOptions;
FA_API FaEquilibriumOptions
fa_equilibrium_options_default(void); // not those of `literal`: set prior and iterations to 0 for them

/// One shape at full weight under its own unit force: how far from rest with the usual stiffness, with anchors, edges
/// and bending each uniformly as stiff as those found are on average (arithmetic mean; the geometric one is held, so
/// that for it this is `before`), and with the stiffness found.
typedef struct FaEquilibriumShape {
    const char *name;                       // of the rig
    double size_mm;                         // mean motion of the nodes it moves
    double before_mm, uniform_mm, after_mm; // mean distance of those nodes to the model's rest, nonlinear
    double force_before, force_after;       // literal: |force left over| / |B_j|
} FaEquilibriumShape;

enum { FA_EQUILIBRIUM_LOG = 64 };
typedef struct FaEquilibriumReport {
    int nshape;                // those that move the skin
    FaEquilibriumShape *shape; //                                                              (nshape)
    int nnode, nterm;          // weights looked for
    int held;                  // within 5 % of a bound in the end
    double share;              // 1, or 0.5 or 0 of the way to the weights found where the distances did not allow more
    double mean[3];            // relative stiffness of anchors, edges, bending: means by the usual stiffness
    int iterations, evaluations;
    double energy[FA_EQUILIBRIUM_LOG +
                  1]; // before the first and after each iteration; of the distance 1 is that at the start
    double before_mm, uniform_mm, after_mm; // means over the shapes
    double seconds, seconds_distances;      // of the optimisation; of the measuring
} FaEquilibriumReport;

/// Find a stiffness of the skin's springs under which the full shapes are equilibria of their unit blendforces (thesis
/// 001 section 4.3.2, docs/method/face.md), and keep it in the face. rig: the one it was built from. options NULL:
/// defaults. report is nullable; free what it holds with fa_equilibrium_report_free.
FA_API FaCode fa_face_equilibrium(FaFace *face, const FaRig *rig, const FaEquilibriumOptions *options,
                                  FaEquilibriumReport *report, FaError *err);
FA_API void fa_equilibrium_report_free(FaEquilibriumReport *report); // empty is fine

// --- one call that gets a face --------------------------------------------------------------------------------------

/// What a face for these needs is built with where nothing else is asked for: volumes cost with the number of nodes, so
/// that faces with them have at most 3,500 simulated vertices, and 2 layers, which bend; others one layer below every
/// vertex.
FA_API FaFaceOptions fa_face_options_for(unsigned needs);

/// What fa_face_get did.
typedef struct FaFaceGot {
    unsigned loaded, made;           // stages: from a file; made now
    bool saved;                      // to the cache
    FaVolumesReport volumes;         // if they were made
    FaEquilibriumReport equilibrium; // likewise; free with fa_equilibrium_report_free
} FaFaceGot;

typedef struct FaFaceGet {
    const char *file;  // the user's own face: must be there and fit the rig; never written. NULL: none
    const char *cache; // without a file: where the face is kept. Used if it is there and fits, else replaced; volumes
                       // on their way are in CACHE.part, so that a stopped run goes on. NULL: nowhere
    bool again;        // make all of it, whatever the cache has
    const FaFaceOptions *options; // NULL: fa_face_options_for
    const char *materials;        // paint, as for fa_face_materials
    FaVolumeShapeFn *each;        // as in FaVolumeOptions
    void *each_user;
    const FaEquilibriumOptions *equilibrium; // NULL: defaults
    FaProgressFn *progress;                  // nullable; also asked before each stage
    void *progress_user;
    FaFaceGot *got; // nullable
} FaFaceGet;
FA_API FaFaceGet fa_face_get_default(void); // all 0

/// A face of this rig with the stages that are needed (FA_NEED_...; FA_NEED_FACE goes without saying): loaded, what is
/// missing made, and kept. get NULL: made, kept nowhere. *face is NULL on failure; free it with fa_face_free.
///
/// A cache fits if it is of this rig, its volumes are what fa_face_volumes would make now, and, should stages be
/// missing, these are its last ones and it has the layers and vertices that are asked for; filled or not as asked for.
/// Other options are not recorded in a face: give `again` with them. FA_E_ARG: the file is of another rig.
/// FA_E_CANCELLED: progress returned false.
FA_API FaCode fa_face_get(const FaRig *rig, unsigned needs, const FaFaceGet *get, FaFace **face, FaError *err);

/// Parts of the face: how many there are, their names ("lip_upper", ...), and how far each vertex of the rig belongs to
/// one, 0..1 (nvert).
FA_API int fa_face_regions(void);
FA_API const char *fa_face_region_name(int region);
FA_API void fa_face_region(const FaFace *face, int region, float *weight);

typedef enum FaFacePicture {
    FA_FACE_CUT,        // cut open in the middle: skin, flesh, bones; whole, and the mouth closer with its tets
    FA_FACE_THICKNESS,  // heat map, mm
    FA_FACE_REGIONS,    // a sheet, one tile per region
    FA_FACE_ATTACHMENT, // what skull and jaw hold, what is free
    FA_FACE_PICTURES,   // those that every face has
    FA_FACE_MATERIALS =
        FA_FACE_PICTURES, // stiffness at weight 1 of the shapes that change it most; needs fa_face_materials
} FaFacePicture;
FA_API const char *fa_face_picture_name(FaFacePicture what); // "cut", "thickness", "regions", "attachment"
/// Draw a picture of a face built from this rig to a PNG. size: height of a tile in pixels; 0: 720.
FA_API FaCode fa_face_picture(const FaFace *face, const FaRig *rig, FaFacePicture what, int size, const char *path,
                              FaError *err);

/// The cut of the flesh as one shape has it at weight 1 (needs blendvolumes).
FA_API FaCode fa_face_volume_picture(const FaFace *face, const FaRig *rig, int shape, int size, const char *path,
                                     FaError *err);

#ifdef __cplusplus
}
#endif
#endif

// fascia/face.h: the physical face: a rig's skin with flesh below it, bones, attachments and regions, ready to simulate.
//
// Typical order: fa_rig_load, fa_face_build (or fa_face_load), fa_face_save, then a method opened on it. Built once, const.
#ifndef FASCIA_FACE_H
#define FASCIA_FACE_H

#include "fascia/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FaFace FaFace;

typedef struct FaFaceOptions {
    int layers;             // prism layers through the thickness; 0: 1
    double thickness;       // m, everywhere; 0: by the bones where there are any, else a smooth map (6 mm forehead .. 15 mm cheeks)
    double lip_thickness;   // m; 0: 1.5 mm in the folds of the lips
    double density;         // kg/m3; 0: 1100
    const char *paint;      // JSON file that overrides thickness, attachment and regions per vertex; NULL: none
    const char *const *bone; // files of bones in the rig's frame and unit: skull, jaw, teeth by their names; NULL: those
    int nbone;               // of the rig's own file, else none
    bool no_bones;          // ignore bones that the rig's file has
    bool whole;             // simulate all of the skin, not only what the shapes move and its surroundings
    double margin;          // m around what the shapes move; 0: 25 mm
} FaFaceOptions;

/// options NULL: defaults. *face is NULL on failure. Free with fa_face_free.
FA_API FaCode fa_face_build(const FaRig *rig, const FaFaceOptions *options, FaFace **face, FaError *err);
FA_API void fa_face_free(FaFace *face);  // NULL is fine
FA_API FaCode fa_face_save(const FaFace *face, const char *path, FaError *err);  // atomic, versioned, checksummed
FA_API FaCode fa_face_load(const char *path, FaFace **face, FaError *err);
/// Does the face belong to this rig? FA_E_ARG with what differs if not.
FA_API FaCode fa_face_fits(const FaFace *face, const FaRig *rig, FaError *err);
FA_API const FaNotes *fa_face_notes(const FaFace *face);
/// Quality: nodes, tets, element quality, thickness, clamping, regions, jaw, bones. JSON text; free with fa_free.
FA_API FaCode fa_face_report(const FaFace *face, char **json, FaError *err);
/// The same for people, a few lines, notes included; free with fa_free.
FA_API FaCode fa_face_summary(const FaFace *face, char **text, FaError *err);


typedef enum FaFacePicture {
    FA_FACE_CUT,         // cut open in the middle: skin, flesh, bones; whole, and the mouth closer with its tets
    FA_FACE_THICKNESS,   // heat map, mm
    FA_FACE_REGIONS,     // a sheet, one tile per region
    FA_FACE_ATTACHMENT,  // what skull and jaw hold, what is free
    FA_FACE_PICTURES
} FaFacePicture;
FA_API const char *fa_face_picture_name(FaFacePicture what);  // "cut", "thickness", "regions", "attachment"
/// Draw a picture of a face built from this rig to a PNG. size: height of a tile in pixels; 0: 720.
FA_API FaCode fa_face_picture(const FaFace *face, const FaRig *rig, FaFacePicture what, int size, const char *path, FaError *err);

#ifdef __cplusplus
}
#endif
#endif

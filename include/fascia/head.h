// fascia/head.h: the parametric human head that ships with fascia: skin, eyes, teeth, gums, tongue, skull, mandible,
// the 52 ARKit shapes, a nonlinear evaluation of them, and clips to play on it. Everything is made by code.
//
// Typical order: fa_head_params_default, change what matters, fa_head_new, read parts (or fa_head_truth per frame),
// fa_head_free. Frame: metres, +y up, +z front, +x the subject's left; the jaw's axis is the x axis (y = z = 0).
#ifndef FASCIA_HEAD_H
#define FASCIA_HEAD_H

#include "fascia/clip.h"
#include "fascia/mesh.h"
#include "fascia/rig.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Identity parameters in standard deviations of adults; 0 is the mean.
///        name              min max  help
#define FA_HEAD_IDENTITY(X)                                                                                            \
    X(head_width, -3, 3, "breadth of the whole head (5.5 mm per unit)")                                                \
    X(head_depth, -3, 3, "length from forehead to back (7 mm)")                                                        \
    X(head_height, -3, 3, "height of the skull above the eyes (5 mm)")                                                 \
    X(face_height, -3, 3, "eyes to chin (5 mm)")                                                                       \
    X(face_width, -3, 3, "breadth across the cheekbones (5 mm)")                                                       \
    X(jaw_width, -3, 3, "breadth across the angles of the jaw (8 mm)")                                                 \
    X(jaw_angle, -3, 3, "height of the angles of the jaw (3.5 mm)")                                                    \
    X(chin_height, -3, 3, "length of the chin (3 mm)")                                                                 \
    X(chin_projection, -3, 3, "how far the chin stands forward (3 mm)")                                                \
    X(chin_width, -3, 3, "breadth of the chin (10 %)")                                                                 \
    X(forehead_slope, -3, 3, "how far the forehead leans back (3.5 mm)")                                               \
    X(temple_width, -3, 3, "fullness of the temples (1.6 mm)")                                                         \
    X(brow_ridge, -3, 3, "how far the brow stands forward (1.6 mm)")                                                   \
    X(brow_height, -3, 3, "height of the brow above the eye (1.4 mm)")                                                 \
    X(eye_size, -3, 3, "size of eyes and lids (2.5 %)")                                                                \
    X(eye_spacing, -3, 3, "distance between the eyes (3.4 mm)")                                                        \
    X(eye_depth, -3, 3, "how deep the eyes are set (1 mm)")                                                            \
    X(eye_tilt, -3, 3, "outer corners of the eyes raised (1.6 degrees)")                                               \
    X(nose_bridge, -3, 3, "height of the root of the nose (1.8 mm)")                                                   \
    X(nose_hump, -3, 3, "convexity of the back of the nose (0.9 mm)")                                                  \
    X(nose_length, -3, 3, "length of the nose (2.2 mm)")                                                               \
    X(nose_projection, -3, 3, "how far the tip stands forward (2.2 mm)")                                               \
    X(nose_tip, -3, 3, "tip turned up (1.4 mm)")                                                                       \
    X(nose_width, -3, 3, "breadth across the wings (3.4 mm)")                                                          \
    X(cheekbone, -3, 3, "prominence of the cheekbones (1.6 mm)")                                                       \
    X(cheek_fullness, -3, 3, "fat of the cheeks (1.8 mm)")                                                             \
    X(mouth_width, -3, 3, "distance between the corners (4 mm)")                                                       \
    X(mouth_height, -3, 3, "length of the upper lip: mouth lower (1.6 mm)")                                            \
    X(lip_upper, -3, 3, "fullness of the upper lip (1 mm)")                                                            \
    X(lip_lower, -3, 3, "fullness of the lower lip (1 mm)")                                                            \
    X(lip_projection, -3, 3, "how far both lips stand forward (1.4 mm)")                                               \
    X(ear_size, -3, 3, "size of the ears (6 %)")                                                                       \
    X(ear_angle, -3, 3, "how far the ears stand out (4 degrees)")                                                      \
    X(neck_width, -3, 3, "thickness of the neck (4 %)")                                                                \
    X(age, -1, 3, "sagging of cheeks, jowls and lids (1.5 mm)")                                                        \
    X(fat_temples, -1, 3, "fat of the temples, thin to full (1.3 mm)")                                                 \
    X(fat_cheekbones, -1, 3, "fat over the cheekbones (1.5 mm)")                                                       \
    X(fat_jowls, -1, 3, "fat along the jaw (2.5 mm)")                                                                  \
    X(fat_chin, -1, 3, "fat under the chin (2.5 mm)")                                                                  \
    X(fat_brows, -1, 3, "fat of brows and upper lids' folds (0.8 mm)")

typedef enum FaHeadId {
#define X(name, min, max, help) FA_HEAD_##name,
    FA_HEAD_IDENTITY(X)
#undef X
        FA_HEAD_IDENTITY_COUNT
} FaHeadId;

typedef struct FaHeadInfo {
    const char *name;
    double min, max;
    const char *help;
} FaHeadInfo;
/// Name, range and meaning of an identity parameter; i in [0, FA_HEAD_IDENTITY_COUNT).
FA_API FaHeadInfo fa_head_identity(int i);
/// Its index by name, -1 if there is none.
FA_API int fa_head_identity_find(const char *name);

typedef struct FaHeadParams {
    int level; // 0, 1, 2: about 2.5k, 10k, 40k skin vertices of the same surface
    double identity[FA_HEAD_IDENTITY_COUNT];
    bool shapes; // make the 52 shapes (else parts have none; fa_head_truth works all the same)
} FaHeadParams;
FA_API FaHeadParams fa_head_params_default(void); // level 1, the mean, with shapes
/// A random plausible identity: the same for the same seed on every machine; seed 0 is the mean. Other fields are kept.
FA_API void fa_head_params_seed(FaHeadParams *params, uint64_t seed);

/// A shape of a part: vertex rows in increasing order and their displacements at weight 1.
typedef struct FaHeadShape {
    const char *name; // the ARKit name
    int arkit;        // its index
    int count;
    int *row;     // (count)
    float *delta; // m                                     (count x 3)
} FaHeadShape;

typedef struct FaHeadPart {
    const char *name;      // "skin", "eye_left", "teeth_upper", ...
    FaMesh mesh;           // neutral, m
    int *face_region;      // index into region                 (mesh.nface)
    const char *region[4]; // materials: "skin", "lip", "sclera", "iris", "pupil", "teeth", "gum", "tongue", "bone"
    int nregion;
    int *mirror;        // the vertex on the other side; skin only, else NULL  (mesh.nvert)
    int nshape;         // shapes that move this part
    FaHeadShape *shape; // in ARKit order                    (nshape)
} FaHeadPart;

typedef struct FaHead {
    FaHeadParams params;
    int npart; // the skin comes first
    FaHeadPart *part;
    double eye[2][3];  // centres of the left and right eye, m
    double eye_radius; // m
    double condyle;    // the jaw turns about the x axis; its joints are at +- this x, m
    struct FaHeadModel *model;
    struct FaArena *arena;
} FaHead;

/// Make a head. Fails on values out of range. *head is NULL on failure. Free with fa_head_free. Same bits for any
/// thread count. Level 2 with shapes takes about a second.
FA_API FaCode fa_head_new(const FaHeadParams *params, FaHead **head, FaError *err);
FA_API void fa_head_free(FaHead *head);

/// What skin does at these 52 weights (ARKit order), part by part, nonlinearly: the jaw turns on its hinge at every
/// weight, lids slide on the eye, muscle pulls saturate when they combine, lips stop each other. At neutral and at any
/// single shape of weight 1 it equals the linear sum. x: mesh.nvert x 3, m, head frame. Any thread.
FA_API FaCode fa_head_truth(const FaHead *head, int part, const float weights[FA_ARKIT_COUNT], float *x, FaError *err);

/// The mandible's rigid motion at these weights: x' = R x + t, row-major, m.
FA_API void fa_head_jaw(const FaHead *head, const float weights[FA_ARKIT_COUNT], double rotation[9],
                        double translation[3]);

/// One part as a rig, as if loaded from a file. Free with fa_rig_free; it may outlive the head.
FA_API FaCode fa_head_rig(const FaHead *head, int part, FaRig **rig, FaError *err);
/// Write .glb or .gltf: one mesh per part below one node that carries the head's motion. clip is nullable. bones: also
/// the skull and the mandible. generator (nullable) is recorded in the file.
FA_API FaCode fa_head_save(const FaHead *head, const FaClip *clip, bool bones, const char *generator, const char *path,
                           FaError *err);

/// A clip over the 52 shapes with head motion, 60 frames per second: "talk" (10 s of speech-like movement), "rom"
/// (every shape in turn), "run" (a runner's head, 2-3 g), "shake", "nod", "press" (lips pressed and released),
/// "plosive"
/// ("pa pa ma", closed too far, as trackers do), "smile" (on and off at once) and "laugh".
FA_API FaCode fa_head_clip(const char *name, FaClip **clip, FaError *err);
FA_API const char *const *fa_head_clip_names(void); // NULL-terminated

// --- the zoo: the head with traits that files of strangers have, for tests and bug reports
// -----------------------------

typedef struct FaZooAnimal {
    const char *name; // "lips_touch"
    const char *help; // its trait, in a line
    const char *ext;  // of its file: ".glb", "" of a folder of OBJ files
} FaZooAnimal;
FA_API int fa_zoo_count(void);
FA_API FaZooAnimal fa_zoo_animal(int i); // i in [0, fa_zoo_count())

/// Write one, with a second and a half of speech in it (a folder's as PATH.json). level as of FaHeadParams; 0 is meant.
/// generator is nullable.
FA_API FaCode fa_zoo_save(int animal, int level, const char *generator, const char *path, FaError *err);
/// Write all of them to a folder (made if need be), with README.md and zoo.json that say which is what. progress is
/// nullable.
FA_API FaCode fa_zoo_save_all(int level, const char *generator, const char *dir, FaProgressFn *progress, void *user,
                              FaError *err);

#ifdef __cplusplus
}
#endif
#endif

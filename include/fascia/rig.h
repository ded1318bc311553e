// fascia/rig.h: a neutral mesh with sparse blendshapes, and linear blending.
//
// Typical order: fa_rig_load, fa_rig_blend per frame, fa_rig_free. A rig is const once loaded and may be shared by
// threads.
#ifndef FASCIA_RIG_H
#define FASCIA_RIG_H

#include "fascia/clip.h"
#include "fascia/mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FA_ARKIT_COUNT = 52 };

/// What names.json says of a shape: nothing, which ARKit shape it is, or null: nothing drives it, ever.
typedef enum FaSaid { FA_SAID_NOTHING, FA_SAID_ARKIT, FA_SAID_NULL } FaSaid;

/// One blendshape: the entries [first, first + count) of the rig's `row` and `delta`.
typedef struct FaShape {
    const char *name; // as in the file
    int arkit;        // index into the ARKit names, -1 = not matched
    int half;         // -1 / +1: only the right / left half of that ARKit shape (e.g. browInnerUp_L); 0: all of it
    int first;
    int count;
    FaSaid said; // by names.json
} FaShape;

/// Metres per unit of a file: any number above 0, or one of these.
typedef double FaUnit;
#define FA_UNIT_AUTO 0.0
#define FA_UNIT_M 1.0
#define FA_UNIT_CM 0.01
#define FA_UNIT_MM 0.001
/// The unit of a text: "m", "dm", "cm", "mm", "in", "ft", ..., or metres per unit as a number ("0.01"). Below 0:
/// neither.
FA_API FaUnit fa_unit_named(const char *text);
typedef enum FaUp { FA_UP_AUTO, FA_UP_Y, FA_UP_Z } FaUp;

/// A mesh of a file, one of which became the rig.
typedef struct FaFileMesh {
    const char *name;
    int vertices; // as the file counts them
    int shapes;
    bool taken;
} FaFileMesh;

/// How another mesh of a glTF file goes with the face, in what is written, drawn and shown on pages.
typedef enum FaPartHow {
    FA_PART_ALONE, // it is left alone: a body, clothes, a second head
    FA_PART_SKULL, // rigidly with the head: eyes, upper teeth, hair
    FA_PART_JAW,   // rigidly with the jaw: lower teeth, tongue
    FA_PART_SHAPES // by the shapes that it shares with the face, under the same weights
} FaPartHow;

typedef struct FaRigPart {
    const char *name; // of its mesh, else of a node above it
    int node;         // of the document
    FaPartHow how;
    bool split; // upper and lower teeth in one mesh that cannot be told apart: all of it stays with the skull
    bool lower; // the lower row of the part before it, of the same node: it gets a node of its own where it moves
} FaRigPart;

typedef struct FaRig {
    FaMesh mesh;          // the neutral
    int nshape;           //
    int nentry;           // non-zero vertex deltas over all shapes
    FaShape *shape;       //                                                          (nshape)
    int *row;             // vertex of each entry, increasing within a shape          (nentry)
    float *delta;         // displacement at weight 1, m                              (nentry x 3)
    float *weight;        // weights at rest as the file has them, usually 0          (nshape)
    const char *name;     // name of the mesh in the file, or ""
    const char *path;     // the file or folder, or ""
    double local[9];      // rig = local * file coordinates (row-major): unit and node scale
    double axes[9];       // canonical (x subject's left, y up, z front) = axes * rig: a rotation (row-major)
    double unit;          // metres per unit of `local`'s file coordinates (0.01 for cm), node scale not included
    double file_unit;     // metres per unit of the file; differs where it was brought to metres on the way (FBX)
    const char *unit_how; // "given", "by height 0.24 m", "declared by the file"
    const char *axes_how; // likewise
    bool body;            // the head is part of a body (glTF): a joint carries it, and turns it about
    double pivot[3];      //   its own place: rig's frame, m
    FaPose rest;          //   where the file's rest pose puts the rig's frame in the world
    float *head_share;    //   how much of a vertex goes with that joint, 0..1 (nvert); NULL: all of it
    const char *joint;    //   its name, or ""
    FaClip *clip;         // animation found in the same file, channels = shapes; NULL if none
    FaNotes notes;        // what was odd in the file
    double hinge[3];      // where the jaw turns: a point between its joints, m, if known from elsewhere than the shapes
    const char *hinge_how; // "given", "joint MJaw"; NULL: it is not
    int nfile_mesh;
    FaFileMesh *file_mesh; // meshes of the file, by the numbers of --mesh (nfile_mesh); none: it has but one
    int npart;
    FaRigPart *part;   // other meshes that the file shows beside this one        (npart)
    const void *names; // names.json as read, for the channels of clips; NULL: none was given
    void *source;      // the document it came from, kept so that it can be written back whole
    void (*source_free)(void *source);
    struct FaArena *arena; // owns all of the above but clip and source
} FaRig;

typedef struct FaRigOptions {
    FaUnit unit;       // AUTO: found from the head's height; an error where that is impossible
    FaUp up;           // AUTO: by the format, then by the shapes
    const char *mesh;  // name or number of the mesh to take; NULL: the one with most blendshapes
    const char *map;   // names.json: {"theirName": "jawOpen" | null, ...}, shapes and channels of clips; NULL: none
    const char *hinge; // where the jaw turns: "x,y,z" in the coordinates of the mesh in its file, or the name of a
                       // joint of its skin; NULL: a joint called jaw or mandible if there is one, else by the shapes
    bool one_mesh;     // do not look for parts among the file's other meshes
    bool any_size;     // accept what is not the size of a head (metres assumed when the unit cannot be found)
    bool in_process;   // FBX and the like: read them in this process, without a box; only for files that you trust
} FaRigOptions;
FA_API FaRigOptions fa_rig_options_default(void); // all 0

/// The rig's frame from the coordinates of its mesh in its file: rig = m * file (row-major); unit and node scale are in
/// it, and what brought an FBX to metres. And back.
FA_API void fa_rig_from_file(const FaRig *rig, double m[9]);
FA_API void fa_rig_to_file(const FaRig *rig, double m[9]);

/// Where a head's pose (of a clip or a take, canonical: fascia/clip.h) puts the rig's own vertices: world from the
/// rig's frame, which is what moves mesh.x. And back. A rig whose axes are canonical has both the same. rig NULL:
/// likewise.
FA_API FaPose fa_rig_pose(const FaRig *rig, const FaPose *head);
FA_API FaPose fa_rig_head(const FaRig *rig, const FaPose *pose);

/// Head motion of another file on a body (rig->body), which stands where it stands: the head turns about its joint and
/// stays on its neck. *shown is the clip with that motion; *felt the one with all of it, steps and jumps included,
/// which is what the flesh feels: the clip for a method. Both are NULL (and FA_OK) where there is nothing to do: no
/// body, no head motion, or the rig's own animation, whose head is where it is. Notes of *shown say what was done.
FA_API FaCode fa_clip_on_body(const FaRig *rig, const FaClip *clip, FaClip **shown, FaClip **felt, FaError *err);

/// Load .glb/.gltf/.vrm, a folder of OBJ files (neutral + shapes) or one .obj, .fbx and others (through assimp, in a
/// process of its own: the program fascia-import, looked for in $FASCIA_IMPORT, beside the running program, and where
/// fascia was installed; where it is not, those formats are refused unless options->in_process).
/// options NULL: defaults. *rig is NULL on failure. Free with fa_rig_free.
FA_API FaCode fa_rig_load(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err);
FA_API void fa_rig_free(FaRig *rig);
/// What is to be said of the other meshes when a motion is written to `path`: which follow and how, which are left
/// alone; formats that hold the face alone: which are not in it. "parts-follow", "parts-alone", "parts-split",
/// "parts-left-out".
FA_API void fa_rig_part_notes(const FaRig *rig, const char *path, FaNotes *notes);
FA_API FaCode fa_rig_check(const FaRig *rig, FaError *err); // indices in range, numbers finite, entries sorted

/// The 52 names in ARKit's own order (eyeBlinkLeft first, tongueOut last).
FA_API const char *fa_arkit_name(int i);
/// Match any naming in use (ARKit, _L/_R, ICT-FaceKit, VRM 0/1, FACS AUs, prefixes like "shapes.") to ARKit:
/// its index, or -1. *half (nullable) as in FaShape.
FA_API int fa_arkit_match(const char *name, int *half);
/// The shapes that a name means, in order: those that a clip's channel of this name would drive, such as both halves
/// where the rig has only those ("cheekPuff" for cheekPuff_L and cheekPuff_R), and the teeth's own. At least one, or
/// FA_E_ARG. shape: at most `most` of them.
FA_API FaCode fa_rig_shapes_named(const FaRig *rig, const char *name, int *shape, int most, int *count, FaError *err);
#define FA_NAMED_MOST 16 // what one name can mean is not more than this

/// x = neutral + sum of weights[i] * shape i. weights: nshape; x: nvert x 3, m. Any thread; same bits for any thread
/// count.
FA_API void fa_rig_blend(const FaRig *rig, const float *weights, float *x);

/// The same, prepared: deltas laid out for streaming. Build once, use per frame; about 10x faster on large rigs.
typedef struct FaBlender FaBlender;
FA_API FaCode fa_blender_new(const FaRig *rig, FaBlender **blender, FaError *err);
FA_API void fa_blender_eval(const FaBlender *blender, const float *weights, float *x);
FA_API size_t fa_blender_bytes(const FaBlender *blender,
                               const float *weights); // bytes eval must touch for these weights
FA_API void fa_blender_free(FaBlender *blender);

/// Which clip channels drive which shapes. A channel drives one shape (or its two halves, or a left and a right one):
/// the one of the same name, else the best that means the same; src/rig/bind.h has the rule. The file's own animation
/// drives all of its shapes.
typedef struct FaBinding {
    int nshape, nchan;
    int *chan;     // first channel per shape, -1 = none                           (nshape)
    int *chan2;    // second one, averaged with the first, -1 = none               (nshape)
    int matched;   // shapes driven
    int idle;      // of them, shapes that move nothing
    int unused;    // channels that drive nothing
    int aside;     // shapes at rest because another one has their channel
    FaNotes notes; // "channels-unused", "shapes-aside", "map-unused"
} FaBinding;
FA_API FaCode fa_clip_bind(const FaClip *clip, const FaRig *rig, FaBinding *binding, FaError *err);
FA_API void fa_binding_free(FaBinding *binding);
/// Shape weights of one frame from channel values (e.g. clip->weight + frame * nchan). out: nshape.
FA_API void fa_binding_weights(const FaBinding *binding, const float *channels, float *out);

#ifdef __cplusplus
}
#endif
#endif

// glTF 2.0 and GLB: the whole document is kept, so that what is not changed can be written back byte for byte.
//
// Typical order: fai_gltf_load (or fai_gltf_parse_memory), fai_gltf_rig (the rig takes the document), fai_gltf_clip.
// Or all three at once: fai_gltf_load_rig. A writer gets the document back with fai_gltf_of_rig.
//
// Loading checks everything that is read later: references, ranges, lengths, loops, numbers. Past that point indices
// and sizes below are safe to use without further checks. Errors name the JSON path of the offending value.
// The parsed structs describe the file as loaded and are const; a writer that edits JSON parses `text` again.
#ifndef FAI_GLTF_H
#define FAI_GLTF_H

#include "base/base.h"
#include "base/file.h"
#include "base/json.h"
#include "fascia/rig.h"
#include "rig/jaw.h"

enum { FA_GLB_MAGIC = 0x46546C67, FA_GLB_JSON = 0x4E4F534A, FA_GLB_BIN = 0x004E4942 };

typedef enum FaGltfComp {
    FA_GLTF_I8 = 5120,
    FA_GLTF_U8 = 5121,
    FA_GLTF_I16 = 5122,
    FA_GLTF_U16 = 5123,
    FA_GLTF_U32 = 5125,
    FA_GLTF_F32 = 5126
} FaGltfComp;

typedef enum FaGltfType {
    FA_GLTF_SCALAR,
    FA_GLTF_VEC2,
    FA_GLTF_VEC3,
    FA_GLTF_VEC4,
    FA_GLTF_MAT2,
    FA_GLTF_MAT3,
    FA_GLTF_MAT4
} FaGltfType;

typedef enum FaGltfMode {
    FA_GLTF_POINTS,
    FA_GLTF_LINES,
    FA_GLTF_LINE_LOOP,
    FA_GLTF_LINE_STRIP,
    FA_GLTF_TRIANGLES,
    FA_GLTF_TRIANGLE_STRIP,
    FA_GLTF_TRIANGLE_FAN
} FaGltfMode;

typedef enum FaGltfPath {
    FA_GLTF_OTHER,
    FA_GLTF_TRANSLATION,
    FA_GLTF_ROTATION,
    FA_GLTF_SCALE,
    FA_GLTF_WEIGHTS
} FaGltfPath;
typedef enum FaGltfInterp { FA_GLTF_LINEAR, FA_GLTF_STEP, FA_GLTF_CUBIC } FaGltfInterp;
typedef enum FaGltfHome { FA_GLTF_NOWHERE, FA_GLTF_IN_GLB, FA_GLTF_IN_URI, FA_GLTF_IN_FILE } FaGltfHome;

typedef struct FaGltfChunk {
    uint32_t type;             // FA_GLB_JSON, FA_GLB_BIN or one that nobody knows
    size_t offset;             // of its 8-byte header in the file
    const unsigned char *data; // in `file`
    size_t size;               // as its header says, padding included
} FaGltfChunk;

typedef struct FaGltfBuffer {
    const FaJson *json;
    FaGltfHome home;           // NOWHERE: a placeholder whose views are all compressed elsewhere
    const unsigned char *data; // NULL where home is NOWHERE
    size_t size;               // byteLength
    size_t have;               // bytes at data, size or more (chunks and files may be padded)
    const char *path;          // IN_FILE: relative path below the document's folder, percent-decoded; else NULL
} FaGltfBuffer;

typedef struct FaGltfFile {
    const char *path; // relative, as in FaGltfBuffer
    FaBytes bytes;
} FaGltfFile;

typedef struct FaGltfView {
    const FaJson *json;
    int buffer;
    size_t offset;
    size_t size;
    int stride;                // bytes; 0: tightly packed
    int target;                // 34962, 34963 or 0
    const unsigned char *data; // its bytes, decompressed if need be; NULL: unavailable (see FA_GLTF_NOWHERE)
} FaGltfView;

typedef struct FaGltfAccessor {
    const FaJson *json;
    int view;      // -1: zeros
    size_t offset; // in the view
    FaGltfComp comp;
    FaGltfType type;
    bool normalized;
    int count;      // elements
    int width;      // components per element, 1..16
    int stride;     // bytes between elements (also where the view gives none)
    int nsparse;    // elements replaced; 0: not sparse
    int index_view; // of the sparse indices
    size_t index_offset;
    FaGltfComp index_comp;
    int value_view; // of the sparse values
    size_t value_offset;
} FaGltfAccessor;

typedef struct FaGltfPrim {
    const FaJson *json;
    FaGltfMode mode;
    int indices; // accessors, -1 = none
    int position;
    int texcoord; // TEXCOORD_0
    int njoints;  // sets of JOINTS_n / WEIGHTS_n
    int *joints;  //                                        (njoints)
    int *weights; //                                        (njoints)
    int ntarget;  //
    int *target;  // POSITION accessor per target, -1 = the target does not move positions  (ntarget)
} FaGltfPrim;

typedef struct FaGltfMesh {
    const FaJson *json;
    const char *name; // "" if none
    int nprim;
    FaGltfPrim *prim; // (nprim)
    int ntarget;      // targets of its primitives (0 of those without any)
    int nweight;      // entries of `weights`, 0 or ntarget
    float *weight;    // (nweight)
} FaGltfMesh;

typedef struct FaGltfNode {
    const FaJson *json;
    const char *name; // "" if none
    int parent;       // -1: a root
    int mesh;         // -1: none
    int skin;         // -1: none
    int nweight;      // 0 or the mesh's ntarget
    float *weight;    // (nweight)
    bool has_matrix;
    double matrix[16];       // column-major, given or made of t, r, s
    double t[3], r[4], s[3]; // translation, rotation x y z w, scale; not set where has_matrix
} FaGltfNode;

typedef struct FaGltfSkin {
    const FaJson *json;
    int njoint;
    int *joint;       // nodes                              (njoint)
    int inverse_bind; // accessor of MAT4, -1 = identities
} FaGltfSkin;

typedef struct FaGltfSampler {
    const FaJson *json;
    int input, output; // accessors
    FaGltfInterp interp;
} FaGltfSampler;

typedef struct FaGltfChannel {
    const FaJson *json;
    int sampler;
    int node; // -1: something else is animated (an extension)
    FaGltfPath path;
} FaGltfChannel;

typedef struct FaGltfAnim {
    const FaJson *json;
    const char *name; // "" if none
    int nsampler;
    FaGltfSampler *sampler;
    int nchannel;
    FaGltfChannel *channel;
} FaGltfAnim;

// Where the rig's vertices lie in the document; set by fai_gltf_rig.
typedef struct FaGltfFacePrim {
    int first; // rig vertices [first, first + count) are the entries of its POSITION accessor, in order;
    int count; // first -1, count 0: not taken (points or lines)
    int owner; // the earlier primitive whose vertices these are, or its own number
} FaGltfFacePrim;

typedef struct FaGltfFace {
    int mesh;             // -1: fai_gltf_rig was not called
    int node;             // the node that carries it, -1 = none does
    int nprim;            //
    FaGltfFacePrim *prim; // (nprim)
    bool mirrored;        // the node mirrors: triangles were turned round
    int carrier;          // the node whose motion is the head's: `node`, or on a skinned mesh the joint that carries
                          // most of what the shapes move; -1 = none
    double offset[16];    // world position = world(carrier) * offset * file position (column-major); identity or the
                          // joint's inverse bind matrix
} FaGltfFace;

// Another mesh of the head; the list is the rig's FaRigPart without those left alone and without lower rows, which are
// with the part that they are a row of. Set by fai_gltf_find_parts.
typedef struct FaGltfPart {
    int node;
    int carrier;   // what moves it: its node, or the joint that holds most of it
    bool skinned;  // it is a joint, which is not ours to move
    bool jaw;      // goes with the jaw
    FaRig *shapes; // its targets as shapes, without a mesh; NULL: none shares a name or a meaning with the face's
    const char *lower_name;     // of its lower row, which goes with the jaw while it stays with the skull; NULL: none
    const unsigned char *lower; // 1 = of that row; vertices of its triangle primitives, one after the other
} FaGltfPart;

typedef struct FaGltfParts {
    int n;
    FaGltfPart *part; // (n)
    int mover; // the node that the head's motion is best put on: above all parts, and above nothing else, or else
               // the face's carrier
    FaJaw jaw; // of the face; found only where a part goes with it
} FaGltfParts;

// A document that was made from a file of another format (FBX), and what that file said.
typedef struct FaGltfOrigin {
    bool made;   // else it is the file
    double unit; // metres per unit of that file, which the document has in metres; 0: it did not say, lengths are as
                 // they were
    FaUp up;     // of the document's world; AUTO: it did not say
} FaGltfOrigin;

typedef struct FaGltf {
    FaGltfOrigin origin;
    char *path; // as given, or NULL (from memory)
    bool is_glb;
    FaBytes file;     // GLB: all of its bytes, as read. glTF: empty, `text` is the file
    const char *text; // the JSON as it stands in the file (a byte order mark left out), not terminated
    size_t text_size;
    FaJsonDoc *json;    // parsed; do not change it (rigs are shared by threads)
    int nchunk;         // of a GLB
    FaGltfChunk *chunk; // all of them, in order                          (nchunk)

    int nbuffer, nview, naccessor, nmesh, nnode, nskin, nanim;
    FaGltfBuffer *buffer;
    FaGltfView *view;
    FaGltfAccessor *accessor;
    FaGltfMesh *mesh;
    FaGltfNode *node;
    FaGltfSkin *skin;
    FaGltfAnim *anim;
    FaGltfFace face;
    FaGltfParts parts;

    FaNotes notes;          // what was odd; fai_gltf_rig copies them to the rig
    FaArena *arena;         // owns the parsed arrays
    size_t bytes;           // the document's size: file, external buffers, decompressed views
    size_t spent;           // parsed arrays and copies made so far, against a limit that follows from `bytes`
    int chunk_room;         // of chunk
    int nmaterial, ncamera; // things that are only counted
    bool quantized;         // the file uses KHR_mesh_quantization
    int nexternal, external_room;
    FaGltfFile *external; // external files, as read                        (nexternal)
} FaGltf;

// --- documents ----------------------------------------------------------------------------------------------------
FaCode fai_gltf_load(const char *path, FaGltf **doc, FaError *err);
// From memory (copied). dir: where external buffers may be read from; NULL: they are refused.
FaCode fai_gltf_parse_memory(const void *data, size_t size, const char *dir, FaGltf **doc, FaError *err);
void fai_gltf_free(FaGltf *doc); // NULL is fine

// Percent-decode a relative URI and check that it stays below the document's folder: no scheme, no absolute path, no
// "..", no backslash, no zero byte. *path is a new string (fa_free). Symbolic links are the user's own.
FaCode fai_gltf_uri_path(const char *uri, char **path, FaError *err);

// --- accessors ----------------------------------------------------------------------------------------------------
int fai_gltf_comp_size(FaGltfComp comp);                     // bytes
int fai_gltf_element_size(FaGltfComp comp, FaGltfType type); // bytes, with the padding of matrix columns
// All elements as floats (count x width), normalised integers scaled, sparse elements replaced.
FaCode fai_gltf_floats(const FaGltf *doc, int accessor, float *out, FaError *err);
// All elements as unsigned integers (count x width); the accessor is not FLOAT.
FaCode fai_gltf_uints(const FaGltf *doc, int accessor, uint32_t *out, FaError *err);
// Only the sparse elements: rows (nsparse) and values (nsparse x width). Without a view this is all there is.
FaCode fai_gltf_sparse(const FaGltf *doc, int accessor, int *row, float *value, FaError *err);
const void *fai_gltf_bytes(const FaGltf *doc, int accessor); // first element as stored, NULL = zeros; see stride

// --- the scene ----------------------------------------------------------------------------------------------------
void fai_gltf_node_world(const FaGltf *doc, int node, double m[16]); // at rest, column-major
void fai_gltf_face_world(const FaGltf *doc, double m[16]);           // what carries the face's mesh, at rest; likewise
// Split the 3x3 part of a column-major 4x4 into a rotation and a stretch (row-major): m = r s. Where m mirrors, s is
// the symmetric stretch with its first row negated. Returns false if m is singular (r is then the identity, s = m).
bool fai_gltf_split(const double m[16], double r[9], double s[9]);

// --- rig and clip -------------------------------------------------------------------------------------------------
// The mesh with most targets (or options->mesh). On success the rig owns doc (rig->source); on failure the caller does.
FaCode fai_gltf_rig(FaGltf *doc, const FaRigOptions *options, FaRig **rig, FaError *err);
// The weights of the rig's mesh and the motion of what carries it; *clip is NULL (and FA_OK) where nothing moves.
FaCode fai_gltf_clip(const FaGltf *doc, const FaRig *rig, FaClip **clip, FaError *err);
// Which animations make up that clip: the first that moves the face's weights (or else its carrier), and every other
// one that moves either and has no target (node and path) in common with those taken, since such files mean them to
// play together (facecap.glb has one per object). taken: nanim; *first: -1 (and all false) where nothing moves the
// face.
FaCode fai_gltf_clip_anims(const FaGltf *doc, bool *taken, int *first, FaError *err);
// Which of the face's first nshape shapes drive which of the part's (part->shapes is not NULL). Free the binding.
FaCode fai_gltf_part_binding(const FaRig *face, int nshape, const FaGltfPart *part, FaBinding *binding, FaError *err);
// gltf_rows.c. The triangles of a mesh's triangle primitives, one after the other, over their vertices: tri (ntri x 3,
// fa_free). *plain is false, and there are none, where a primitive is a strip, a fan or cannot be read.
FaCode fai_gltf_mesh_triangles(const FaGltf *doc, int mesh, int **tri, int *ntri, bool *plain, FaError *err);
// Which vertices of the rig that was made of the part's mesh (doc: the rig's own) are of its lower row (nvert, 0 or 1).
void fai_gltf_lower_of_rig(const FaGltf *doc, const FaGltfPart *part, unsigned char *lower);
FaCode fai_gltf_load_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err); // with its clip
// Another rig from a document that is at hand, which stays as it is: another of its meshes (options->mesh).
FaCode fai_gltf_another_rig(const FaGltf *doc, const FaRigOptions *options, FaRig **rig, FaError *err);
// From the bytes of a document that was made of the file at `path`. notes (nullable): added to the rig's.
FaCode fai_gltf_made_rig(const void *glb, size_t size, const char *path, const FaGltfOrigin *origin,
                         const FaNotes *notes, const FaRigOptions *options, FaRig **rig, FaError *err);
// gltf_body.c: whether the face is a body's head, in the rig (FaRig.body).
FaCode fai_gltf_set_body(FaRig *rig, FaError *err);
// How much of the face's vertices (nvert) goes with a joint and what hangs on it, by its skin or its node: 0..1.
FaCode fai_gltf_joint_share(const FaGltf *doc, int joint, float *share, FaError *err);
// What carries the face at rest, without its stretch: world from the rig's frame. Identity for other files.
FaPose fai_gltf_rest_pose(const FaRig *rig);
bool fai_gltf_invert(const double m[16], double out[16]); // of an affine column-major 4x4; false: it is singular
FaGltf *fai_gltf_of_rig(const FaRig *rig);                // NULL if it came from elsewhere

#endif

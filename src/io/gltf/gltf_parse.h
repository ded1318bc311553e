// Between the files of the glTF reader: helpers to read JSON, and the stages of loading in their order.
#ifndef FAI_GLTF_PARSE_H
#define FAI_GLTF_PARSE_H

#include "io/gltf/gltf.h"

// return FAIL_AT(err, code, json, remedy, "..."): the place is the JSON path of a value.
#define FAIL_AT(err, code, json, remedy, ...) FA_FAIL((err), (code), fai_json_path(json).text, (remedy), __VA_ARGS__)
#define BAD_AT(err, json, ...)                                                                                         \
    FAIL_AT((err), FA_E_FORMAT, (json), "export the file again, or see what the Khronos validator says", __VA_ARGS__)

// A note whose place is a JSON path; the path, which costs a walk, is only made for the first of its code.
#define NOTE_AT(doc, code, json, remedy, ...)                                                                          \
    fai_note(&(doc)->notes, (code), fai_note_find(&(doc)->notes, (code)) ? "" : fai_json_path(json).text, (remedy),    \
             __VA_ARGS__)

// Memory for parsed arrays, against the document's budget: a small file must not ask for a lot of it.
void *fai_gltf_push(FaGltf *doc, size_t count, size_t size);
#define PUSH(doc, count, T) ((T *)fai_gltf_push((doc), (size_t)(count), sizeof(T)))
FaCode fai_gltf_no_room(const FaGltf *doc, const FaJson *json, FaError *err); // why PUSH gave NULL
// Account for a copy of data that several parts of a file may share (so that its size follows from no byte count).
FaCode fai_gltf_spend(FaGltf *doc, size_t count, size_t size, const FaJson *json, FaError *err);

// A top-level array of objects: *array is NULL and *count 0 where it is absent.
FaCode fai_gltf_collection(FaGltf *doc, const char *key, bool may_be_empty, FaJson **array, int *count, FaError *err);
// An index into a collection of `count` things called `what`; -1 where the key is absent.
FaCode fai_gltf_ref_or(const FaJson *object, const char *key, int count, const char *what, int *index, FaError *err);
FaCode fai_gltf_ref(const FaJson *object, const char *key, int count, const char *what, int *index, FaError *err);
FaCode fai_gltf_ref_value(const FaJson *value, int count, const char *what, int *index, FaError *err);
FaCode fai_gltf_name(const FaJson *object, const char **name, FaError *err);
FaCode fai_gltf_weights(FaGltf *doc, const FaJson *object, int ntarget, int *nweight, float **weight, FaError *err);
const FaJson *fai_gltf_extension(const FaJson *object, const char *name); // NULL if absent
FaCode fai_gltf_misplaced(const FaJson *object, FaError *err); // fails where one stands that would be overlooked

// The stages.
FaCode fai_gltf_parse_views(FaGltf *doc, FaError *err);
FaCode fai_gltf_decompress(FaGltf *doc, FaError *err); // EXT_meshopt_compression
FaCode fai_gltf_parse_accessors(FaGltf *doc, FaError *err);
FaCode fai_gltf_parse_scene(FaGltf *doc, FaError *err); // meshes, skins, nodes, scenes
FaCode fai_gltf_parse_anims(FaGltf *doc, FaError *err);
FaCode fai_gltf_check_data(FaGltf *doc, FaError *err); // the numbers themselves

// As fai_gltf_floats, of an accessor that has its data; a changed copy of one may be given.
void fai_gltf_floats_of(const FaGltf *doc, const FaGltfAccessor *a, float *out);
bool fai_gltf_has_data(const FaGltf *doc, int accessor); // false: some of its bytes are nowhere

// gltf_rig.c: names of a mesh's targets (ntarget, all NULL before); notes NULL: what is odd about them is not said.
FaCode fai_gltf_target_names(FaGltf *doc, int mesh, FaArena *arena, FaNotes *notes, const char **name, FaError *err);
bool fai_gltf_skinned(const FaGltfMesh *m);
// Add the skin weights of a primitive to the sum of each joint (njoint). counts (nullable): vertices that do (its own).
FaCode fai_gltf_joint_sums(const FaGltf *doc, const FaGltfPrim *p, const unsigned char *counts, int njoint, double *sum,
                           FaError *err);
// The joint's inverse bind matrix, column-major; false, and out untouched, where none is given.
bool fai_gltf_inverse_bind(const FaGltf *doc, const FaGltfSkin *s, int joint, double out[16]);
// gltf_parts.c: which other meshes go with the face, and how: rig->part and doc->parts. The rig has not got the doc
// yet.
FaCode fai_gltf_find_parts(FaGltf *doc, FaRig *rig, FaError *err);
bool fai_gltf_below(const FaGltf *doc, int node, int above); // node is `above`, or below it
// gltf_head.c: a node's own scale, false where its matrix shears or flattens.
bool fai_gltf_own_scale(const FaGltfNode *n, double s[3]);

// gltf_clip.c: what a sampler gives at these times (increasing): *x (ntime x *width, fa_free).
FaCode fai_gltf_sample(const FaGltf *doc, const FaGltfSampler *s, FaGltfPath path, int ntime, const double *time,
                       float **x, int *width, FaError *err);

// Column-major 4x4; out may be one of the factors.
void fai_gltf_multiply(const double a[16], const double b[16], double out[16]);
void fai_gltf_compose(const double t[3], const double q[4], const double s[3], double m[16]);

// gltf_body.c. The head among the joints of a skin: the lowest that, with all that hangs below it (jaw, eyes, a face's
// own joints), carries most of what the shapes move. sum: skin weights of each joint there (njoint).
FaCode fai_gltf_head_joint(const FaGltf *doc, const FaGltfSkin *skin, const double *sum, int *best, FaError *err);
// The carrier of a face that no skin moves, where it hangs on a joint.
FaCode fai_gltf_joint_above(FaGltf *doc, FaError *err);

#endif

// Changing the motion of a document: its weights, its head's motion, and baked morph targets. Internal to gltf_*.c.
#ifndef FAI_GLTF_EDIT_H
#define FAI_GLTF_EDIT_H

#include "bake/bake.h"
#include "fascia/sequence.h"
#include "io/gltf/gltf_out.h"

// What a document is to play.
typedef struct FaGltfMotion {
    int nframe;
    const double *time;     // s, as the file counts it                                        (nframe)
    const float *weight;    // of the user's own targets (fai_gltf_user_targets)               (nframe x nuser)
                            // NULL, without a bake: what moves the weights stays
    const double *own_time; // the clip is a part of the file's own: what else its animations move goes along, as it is
                            // at these times of the file; NULL: it is not, or is all of it        (nframe)
    bool new_head;          // the head's motion is replaced: by `head`, or by none; else it stays as it is
    bool on_neck;           // it turns the head of a body, which stays on its neck: no translation
    const FaPose *head;     // nullable                                                        (nframe)
    const FaBake *bake;     // targets to add, in the file's coordinates; NULL: none
    double allowed_mm;      // the error asked for, recorded with the bake
    const char *generator;  // recorded; nullable
} FaGltfMotion;

// Targets of the face's mesh that are the user's: all, but for the fascia_000... at the end that an earlier bake added.
int fai_gltf_user_targets(const FaGltf *doc);
// Write the document with that motion. An earlier bake is replaced. *added (nullable): bytes that it grew by.
FaCode fai_gltf_save_motion(const FaGltf *doc, const FaRig *rig, const FaGltfMotion *motion, const char *path,
                            size_t *added, FaError *err);

// gltf_write.c: bake frames that can be read again at will (several passes, increasing frames in each, one thread).
// options are complete and checked.
FaCode fai_gltf_bake_frames(const char *path, int nframe, FaSequenceReadFn *read, void *user,
                            const FaSinkOptions *options, FaBakeReport *report, FaError *err);

// gltf_head.c: local translations (nframe x 3) and rotations (nframe x 4) of the node that carries the face. A node
// whose transform is a matrix is changed to the three parts. *possible is false where it cannot be moved that way.
FaCode fai_gltf_head_keys(FaGltfOut *out, const FaRig *rig, int nframe, const FaPose *head, float *translation,
                          float *rotation, bool *possible, FaError *err);

// gltf_head.c: keys of a node below a parent that stays at `parent`, from where it stands in the world in each frame
// (nframe x 16); its scale stays. *sheared: how far what is left is from a rotation; infinite: the parent is flat.
FaCode fai_gltf_local_keys(int node, int nframe, const double *world, const double parent[16], const double scale[3],
                           float *translation, float *rotation, double *sheared, FaError *err);
void fai_gltf_parent_world(const FaGltf *doc, int node, double m[16]); // of what it hangs on, at rest
// gltf_head.c: animated nodes are not allowed a matrix; s: its own scale.
void fai_gltf_split_matrix(FaGltfOut *out, int node, const FaGltfNode *n, const double s[3]);

// gltf_follow.c. Motions in the document's world, against rest: nframe column-major 4x4, rigid.
// Keys that move a node by them, its parents at rest; *possible as above.
FaCode fai_gltf_node_keys(FaGltfOut *out, int node, int nframe, const double *move, float *translation, float *rotation,
                          bool *possible, FaError *err);
// The same for a new node that hangs on this one and has no transform of its own.
FaCode fai_gltf_child_keys(const FaGltf *doc, int node, int nframe, const double *move, float *translation,
                           float *rotation, bool *possible, FaError *err);
// The head's, from the keys of its carrier; the jaw's against the head, from the face's weights (nframe x nweight, its
// first shapes). False: they cannot be told.
bool fai_gltf_head_moves(const FaGltf *doc, int nframe, const float *translation, const float *rotation, double *move);
bool fai_gltf_jaw_moves(const FaGltf *doc, const FaRig *rig, int nframe, const float *weight, int nweight,
                        double *move);

// gltf_rows.c: give the lower row of a part (part->lower) a mesh and a node of their own, which hangs on the part's.
// Data are shared but for the indices. *node: its number.
FaCode fai_gltf_part_rows(FaGltfOut *out, const FaGltfPart *part, int *node, FaError *err);

#endif

// A scene of assimp as a glTF document: all nodes, meshes, shapes, skins, materials, textures and animations. Internal
// to assimp_*.c; only built with assimp.
//
// Nothing is merged or moved: a node stays a node, a mesh its mesh, a part of one material a primitive. What changes is
// the unit, everywhere at once (positions, translations, inverse bind matrices: a uniform scale of all three changes
// nothing else), and the root is turned so that y is up. What glTF cannot hold is said in the notes.
#ifndef FAI_ASSIMP_SCENE_H
#define FAI_ASSIMP_SCENE_H

#include "io/gltf/gltf_out.h"
#include "io/import_answer.h"

#include <assimp/scene.h>

enum { FA_SCENE_DEPTH = 512 };

// Pictures that could not be had.
typedef struct FaSceneLost {
    int count;
    FaText names;
} FaSceneLost;

typedef struct FaScene {
    const struct aiScene *ai;
    const char *path;
    FaScenePlace place;
    FaGltfOut out;
    FaNotes *notes;
    FaArena *work;
    int nnode;
    const struct aiNode **node; // parents first, in the order of the file                    (nnode)
    int *parent;                //                                                            (nnode)
    int *by_name;               // numbers of nodes, by their names                           (nnode)
    int *mesh, *skin;           // of each node, -1 = none                                    (nnode)
    bool *moves;                // nodes that an animation moves                              (nnode)
    int nmesh, nskin;
    const char **texture; // pictures taken so far, by their paths; and those that cannot be (ntexture)
    int *texture_at;      // number of each, -1 = not taken
    int ntexture, ngot;
    FaSceneLost missing, unfit;
} FaScene;

// assimp_scene.c: the document as the bytes of a GLB. glb: fai_text_free. notes: added to.
FaCode fai_scene_document(const struct aiScene *ai, const char *path, const FaScenePlace *place, FaText *glb,
                          FaNotes *notes, FaError *err);
const char *fai_scene_name(const FaScene *s, const struct aiString *name);        // as UTF-8; NULL: no memory
int fai_scene_node(const FaScene *s, const char *name);                           // -1: none has this name
bool fai_scene_faces(const struct aiMesh *m);                                     // has some
void fai_scene_columns(const struct aiMatrix4x4 *m, double unit, double out[16]); // column-major, in metres

// assimp_mesh.c: the mesh of a node, and its skin. Fills in mesh and skin of the node.
FaCode fai_scene_mesh(FaScene *s, int node, FaError *err);
// The common beginning of shape names that is no part of them ("shapes.browInnerUp"), in bytes; and all names of a
// node's shapes, over its parts. *shape is in s->work.
FaCode fai_scene_shape_names(FaScene *s, const struct aiNode *node, const char ***shape, int *nshape, size_t *prefix,
                             FaError *err);

// assimp_material.c: all materials of the scene, by their numbers.
FaCode fai_scene_materials(FaScene *s, FaError *err);

// assimp_motion.c: all animations; marks what moves first, since such nodes must not be matrices.
void fai_scene_mark_moving(FaScene *s);
FaCode fai_scene_motion(FaScene *s, FaError *err);

#endif

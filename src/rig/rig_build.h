// From what a file holds to a finished rig: every importer fills a draft in the file's own coordinates and calls
// finish, so that units, axes, names, triangles, seams and defects are decided in one place.
#ifndef FAI_RIG_BUILD_H
#define FAI_RIG_BUILD_H

#include "base/base.h"
#include "fascia/rig.h"

typedef struct FaRigDraft FaRigDraft;

// What the format itself says; zero means that it says nothing.
typedef struct FaRigHints {
    double unit;         // metres per file unit if the format declares or implies one (glTF: 1, FBX: its factor)
    double file_unit;    // metres per unit of the file, where it is not read as it stands but was brought to metres
                         // first (FBX): names what is said of its lengths; 0: `unit` is all there is
    bool unit_is_custom; // that statement is often wrong (glTF exported in cm): check it against the head's height
    FaUp up;             // FA_UP_Y for glTF
    double linear[9]; // row-major node scale/shear S (symmetric, or identity): rig = unit * S * file; all 0 = identity
    double
        rest[9]; // row-major rotation of the node at rest: world = rest * rig. `up` speaks of the world (facecap.glb:
                 // the node turns -z of the mesh to +y), so canonical axes start from it; all 0 = identity
    bool splits_seams; // the format splits vertices at seams (glTF, FBX): weld coincident ones with equal deltas
    const char *name;  // mesh name
    const char *path;  // file
} FaRigHints;

FaCode fai_draft_new(FaRigDraft **draft, FaError *err);
void fai_draft_free(FaRigDraft *draft);      // NULL is fine
FaArena *fai_draft_arena(FaRigDraft *draft); // the future rig's arena
FaNotes *fai_draft_notes(FaRigDraft *draft); // the future rig's notes
// Give the mesh: arrays live in the draft's arena; x in file coordinates; tri and weld are made by finish (n-gons and
// triangles alike come as faces). Indices must be in range.
void fai_draft_mesh(FaRigDraft *draft, const FaMesh *mesh);
// Say which meshes the file has, `count` times in order of their numbers; names are copied. taken: this draft's.
FaCode fai_draft_file_mesh(FaRigDraft *draft, const char *name, int64_t vertices, int shapes, bool taken, FaError *err);
// A joint of the mesh's skin, by the matrix (column-major) that takes the mesh at rest to the joint's own coordinates.
// The name is copied. For hinges of jaws.
FaCode fai_draft_joint(FaRigDraft *draft, const char *name, const double inverse_bind[16], FaError *err);
// Add a shape from dense deltas (nvert x 3, file coordinates) or from sparse ones (rows strictly increasing). Copies.
// A delta that is exactly zero is dropped. Duplicate names are kept and noted ("duplicate-shape-names").
FaCode fai_draft_shape_dense(FaRigDraft *draft, const char *name, const float *delta, float rest_weight, FaError *err);
FaCode fai_draft_shape_sparse(FaRigDraft *draft, const char *name, int count, const int *row, const float *delta,
                              float rest_weight, FaError *err);
// Decide unit, axes, names (options->map), weld, triangulate, check. Consumes the draft, also on failure.
// Non-finite positions or deltas are an error that names the vertex and the shape.
FaCode fai_draft_finish(FaRigDraft *draft, const FaRigHints *hints, const FaRigOptions *options, FaRig **rig,
                        FaError *err);

#endif

// Writing OBJ: numbered frames, and rigs as a folder. All files of a set are written aside first and renamed at the
// end, so that a failure or a full disk leaves what was there before. A folder that did not exist appears whole.
#ifndef FAI_OBJ_WRITE_H
#define FAI_OBJ_WRITE_H

#include "base/base.h"
#include "fascia/rig.h"

// Frames of a mesh. `path` is one of
//   frames/           a folder, made if need be: frames/frame_0000.obj, ...
//   name_####.obj     as many digits as there are signs, or more
//   name.obj          that file if there is one frame, else name_0000.obj, ...
// Frames count from 0. The mesh must outlive the writer. comment (nullable) goes to the top of each file.
typedef struct FaObjWriter FaObjWriter;
FaCode fai_obj_create(const char *path, const FaMesh *mesh, const char *comment, FaObjWriter **writer, FaError *err);
FaCode fai_obj_push(FaObjWriter *writer, const float *x, FaError *err); // nvert x 3
FaCode fai_obj_finish(FaObjWriter *writer, FaError *err);               // frees the writer, also on failure
void fai_obj_abandon(FaObjWriter *writer);                              // NULL is fine

// neutral.obj and one file per shape, named as the shapes are as far as file systems allow. Read back, the deltas are
// the same to the last bit (if over 0.1 um): shapes are written with more digits than a float has.
FaCode fai_obj_save_rig(const FaRig *rig, const char *dir, FaError *err);

// Whether a path means OBJ frames or an OBJ folder.
bool fai_obj_names_folder(const char *path); // ends in a slash, is a folder, or has no extension

#endif

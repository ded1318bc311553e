// Wavefront OBJ as the file has it: no vertex is merged, moved or renumbered, polygons stay polygons.
//
// Read: v (w and colours ignored), vt, f in all its forms, negative indices, lines joined by a backslash, LF, CRLF or
// CR line ends, a byte order mark. Passed over: normals, groups, materials (noted), points and lines (noted), free-form
// surfaces (noted). Refused with the line: indices out of range, coordinates that are not numbers.
#ifndef FAI_OBJ_H
#define FAI_OBJ_H

#include "base/base.h"
#include "base/file.h"
#include "fascia/rig.h"

typedef struct FaObj {
    int nvert;
    int nface;
    int nuv;
    double *x;       // positions, file units                               (nvert x 3), owned
    float *uv;       //                                                     (nuv x 2), in the arena like the rest
    int *face_start; // first corner of each polygon, then the total        (nface + 1)
    int *face_vert;  //                                                     (face_start[nface])
    int *face_uv;    // -1 = none; NULL: no corner has one                  (face_start[nface])
    FaNotes notes;   // what was odd
    FaBytes text;    // the file, kept for fai_obj_read_like; owned
    size_t tail;     // where the text after the last vertex begins; 0 if a face stands before it
} FaObj;

// Take over the bytes and parse them; arrays but x come from the arena. Free with fai_obj_free, also after a failure.
FaCode fai_obj_parse(FaBytes *bytes, FaArena *arena, FaObj *obj, FaError *err);
FaCode fai_obj_load(const char *path, FaArena *arena, FaObj *obj, FaError *err);
void fai_obj_free(FaObj *obj);

// The positions (nvert x 3) of another file of the same mesh. Its vertex count must agree, and so must its faces, if
// it has any. Much faster than fai_obj_parse. Any thread. `what` names the other one in errors: "the neutral".
FaCode fai_obj_read_like(const FaBytes *bytes, const FaObj *like, const char *what, double *x, FaError *err);

// Whether the first bytes of a file look like OBJ.
bool fai_obj_sniff(const void *data, size_t size);

// --- rigs (obj_rig.c) ---------------------------------------------------------------------------------------------
// One file (a rig without shapes), or a folder: one neutral and a file per shape. Shapes are named by their stems and
// sorted by name, bytewise. The neutral is the first of:
//   1. the stem given as options->mesh
//   2. a stem that is, in any case, one of: neutral, base, basis, rest, generic_neutral_mesh (in this order)
//   3. the only stem that contains "neutral"
//   4. the one stem that all others begin with (head.obj beside head_smile.obj, head_jawOpen.obj)
//   5. the only file
FaCode fai_obj_rig(const char *path, const FaRigOptions *options, FaRig **rig, FaError *err);

// The .obj files of a folder, sorted bytewise; hidden ones are left out. Free with fai_names_free.
typedef struct FaNames {
    char **name;
    int count;
    int room;
} FaNames;
FaCode fai_obj_list(const char *dir, FaNames *names, FaError *err);
void fai_names_free(FaNames *names);

// Numbered files of one sequence: PREFIX DIGITS .obj, in numerical order. False (and no names) if the folder holds none
// or something else besides. `pattern` (nullable) restricts them to a name like frame_####.obj.
FaCode fai_obj_list_frames(const char *dir, const char *pattern, FaNames *names, bool *found, FaError *err);

#endif

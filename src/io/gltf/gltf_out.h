// A glTF document on its way out: a copy of its JSON to change, its bytes as they were, and new bytes after them.
//
// Typical order: fai_gltf_out_open, the add functions and changes of out->root, fai_gltf_out_write, fai_gltf_out_close.
// The JSON functions below keep quiet about a lack of memory; fai_gltf_out_write reports it.
#ifndef FAI_GLTF_OUT_H
#define FAI_GLTF_OUT_H

#include "io/gltf/gltf.h"

typedef struct FaGltfSegment {
    const void *data;
    size_t size, at; // at: offset in the packed buffer, a multiple of 4
} FaGltfSegment;

typedef struct FaGltfOut {
    const FaGltf *src;
    const char *path;
    bool glb;        // else JSON with files beside it
    FaJsonDoc *json; // its own copy
    FaJson *root;
    bool failed; // out of memory somewhere
    int nview, naccessor;
    int zeros[4], zero_count[4]; // accessors of zeros by width - 1, if any, and their length

    bool packed;            // the first buffer is written anew: as BIN chunk, or as NAME.bin
    FaGltfSegment *segment; // what it holds of the source                       (nsegment)
    int nsegment, segment_room;
    FaBytes *file; // images that were read for it                      (nfile)
    int nfile, file_room;
    int buffer;   // the one that new bytes go to
    size_t base;  // and where they begin in it
    size_t had;   // bytes of the packed buffer that came from the source
    FaText bin;   // new bytes
    size_t added; // bytes that the document grew by, after writing
} FaGltfOut;

// gltf_pack.c. The extension of `path` (which must outlive out) tells the container; where it differs from the
// source's, what is there already is packed anew: a GLB takes all buffers and images in, a .gltf has its buffer beside
// it.
FaCode fai_gltf_out_open(FaGltfOut *out, const FaGltf *src, const char *path, FaError *err);
void fai_gltf_out_close(FaGltfOut *out);
// Forget the last bytes of the packed buffer, from `size` on. False if that cannot be.
bool fai_gltf_out_shorten(FaGltfOut *out, size_t size);
// Write. What is unchanged comes out as it was. Files that the document refers to are copied along to another folder,
// but never replace other files.
FaCode fai_gltf_out_write(FaGltfOut *out, FaError *err);
// The same into memory, as a GLB; for documents whose source has no buffers. glb: fai_text_free.
FaCode fai_gltf_out_bytes(FaGltfOut *out, FaText *glb, FaError *err);
// The document as it is: in its own kind of container the same byte for byte, else only the container changes.
FaCode fai_gltf_copy(const FaGltf *src, const char *path, FaError *err);

// --- JSON ---------------------------------------------------------------------------------------------------------
// The member of an object, made if absent; NULL if it is something else.
FaJson *fai_out_object(FaGltfOut *out, FaJson *parent, const char *key);
FaJson *fai_out_array(FaGltfOut *out, FaJson *parent, const char *key);
FaJson *fai_out_push(FaGltfOut *out, FaJson *array); // a new object at its end
void fai_out_int(FaGltfOut *out, FaJson *object, const char *key, int64_t v);
void fai_out_num(FaGltfOut *out, FaJson *object, const char *key, double v);
void fai_out_str(FaGltfOut *out, FaJson *object, const char *key, const char *s);
void fai_out_bool(FaGltfOut *out, FaJson *object, const char *key, bool v);
void fai_out_push_int(FaGltfOut *out, FaJson *array, int64_t v);
void fai_out_push_float(FaGltfOut *out, FaJson *array, float v);
void fai_out_push_str(FaGltfOut *out, FaJson *array, const char *s);
// Drop what an array (the member of parent) has beyond its first n; the member itself goes where nothing is left.
void fai_out_truncate(FaGltfOut *out, FaJson *parent, const char *key, int n);

// --- data ---------------------------------------------------------------------------------------------------------
// Room for `size` new bytes, 4-byte aligned, as a view; where to put them, or NULL. stride 0, target 0: none.
void *fai_out_view(FaGltfOut *out, size_t size, int stride, int target, int *view);
int fai_out_accessor(FaGltfOut *out, int view, FaGltfComp comp, int count, const char *type); // of a whole view
// Plain accessors of floats; bounds: with min and max. Number of the accessor.
int fai_out_floats(FaGltfOut *out, const float *x, int count, int width, bool bounds);
int fai_out_zeros(FaGltfOut *out, int count, int width); // no data; the same one when asked again
// Fields of `total` vectors that are zero but for some rows (increasing), several at once so that they share views:
// each becomes sparse or dense, whichever is smaller. Entries of field i are [first[i], first[i + 1]). accessor: out,
// one per field. Fields without entries all get the same accessor.
void fai_out_fields(FaGltfOut *out, int n, int total, const int *first, const int *row, const float *value,
                    int *accessor);

#endif

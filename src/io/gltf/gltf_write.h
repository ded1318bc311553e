// Writing glTF: a document back as it was, with another clip, or with exact frames baked into extra morph targets;
// and a new document for rigs that came from elsewhere. All outputs are atomic.
//
// The format follows the extension of `path`: .gltf writes JSON with its buffers beside it, anything else (.glb, .vrm)
// one binary file.
#ifndef FAI_GLTF_WRITE_H
#define FAI_GLTF_WRITE_H

#include "base/base.h"
#include "fascia/sequence.h"

// Write a rig. clip NULL or rig->clip: the document as it stands, byte for byte where the container is the same.
// Another clip: its weights (bound by name) and head motion replace those of the animation that rig->clip came from;
// a document without animation gets one named "fascia". Rigs that are not from glTF become a new document.
FaCode fai_gltf_save(const FaRig *rig, const FaClip *clip, const char *path, FaError *err);

// Bake exact frames: options->rig with options->clip's weights, plus as few morph targets as keep every vertex of
// every frame within options->bake_error_mm. Frame i is the clip's frame i where the counts agree, else the clip at
// time i / fps. Without a clip the rig's weights are fitted to the frames first.
// Returns FA_STALLED where max_targets was reached first: the file is written and the report holds the true error.

// Frames that are there already: each is read once, in order, by one thread. report is nullable.
FaCode fai_gltf_save_frames(const char *path, int nvert, int nframe, FaSequenceReadFn *read, void *user,
                            const FaSinkOptions *options, FaBakeReport *report, FaError *err);

// Frames that come once, one after the other: they are kept in memory up to 256 MB, then in an unnamed file beside
// `path`. What options points to (rig, clip, generator) must outlive the sink.
typedef struct FaGltfSink FaGltfSink;
FaCode fai_gltf_sink_open(const char *path, int nvert, const FaSinkOptions *options, FaGltfSink **sink, FaError *err);
FaCode fai_gltf_sink_push(FaGltfSink *sink, const float *x, FaError *err);
FaCode fai_gltf_sink_finish(FaGltfSink *sink, FaBakeReport *report, FaError *err); // frees the sink, also on failure
void fai_gltf_sink_abandon(FaGltfSink *sink);                                      // NULL is fine
extern size_t fai_gltf_sink_memory; // bytes of frames that stay in memory; tests lower it

#endif
